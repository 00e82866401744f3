//! Sockets and queues of a port.

use crate::queue::{PacketPort, PacketRx, PacketTx, Shared};
use crate::ring::Ring;
use crate::socket::{Hears, RingRequest, Socket};
use crate::tx_ring::{self, TxRing};
use os::interface_lock::InterfaceLock;
use os::open_interface::OpenInterface;
use port::memory::FreeFrames;
use port::{BURST, Port, PortError, PortErrorKind, PortFacts, PortRequest, Queues, RxQueue, TxQueue};
use rustix::mm::{MapFlags, ProtFlags, mmap};
use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

/// The driver's name.
pub(crate) const DRIVER: &str = "af_packet";

/// Bytes of Ethernet header and FCS.
const ETHERNET_BYTES: u32 = 18;
/// An 802.1Q tag, which the kernel lets pass beyond the MTU (`packet_extra_vlan_len_allowed`).
const VLAN_BYTES: u32 = 4;

/// Overhead of a frame's slot, bytes: the kernel's header, and a VLAN tag.
const BESIDE: u32 = 128;
/// Minimum bytes of a slot: room for the other side's requests.
const SLOT_BYTES_MIN: u32 = 2048;
/// Bytes of a receive ring, about.
const RING_BYTES: u32 = 4 << 20;
/// The kernel gets its memory in blocks; large ones spare it thousands of small allocations.
const BLOCK_BYTES: u32 = 65_536;

/// Options of the port string.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Slots of a receive ring, a power of two.
    pub slots: Option<u32>,
    /// Whether frames go past the interface's queueing discipline.
    pub bypass_qdisc: bool,
    /// Whether TCP segments in a row are sent as one long packet, for the card or the kernel to cut.
    pub segmentation_offload: bool,
}

/// Opens a port on an interface that was checked: it is there, up, and large enough. The calling thread is in its network
/// namespace.
pub fn open(
    text: &str,
    request: PortRequest,
    options: Options,
    interface: OpenInterface,
    locks: Vec<InterfaceLock>,
) -> Result<Box<dyn Port>, PortError> {
    let failed = |what: &str, error: &io::Error| {
        let (kind, remedy) = match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => {
                (PortErrorKind::Privilege, "run as root, or with CAP_NET_RAW")
            }
            Some(libc::ENOMEM | libc::ENOBUFS) => {
                (PortErrorKind::Resource, "free some memory, or use a shorter ring with framecnt=256")
            }
            _ => (PortErrorKind::State, ""),
        };
        PortError::new(text, kind, format!("{what}: {error}"), remedy)
    };
    let index = interface.at_open.index;
    let count = request.queues.max(1);
    let form = form(request.frame_len_max, options.slots);
    let mut sockets = Vec::new();
    for _ in 0..count {
        let socket = receiver(index, form, count > 1)
            .map_err(|error| failed("the kernel gives no packet socket with a ring", &error))?;
        sockets.push(socket);
    }
    let rings: io::Result<Vec<Ring>> = sockets.iter().map(|socket| map(socket, form)).collect();
    let rings = rings.map_err(|error| failed("the kernel's ring can't be mapped", &error))?;
    share(&sockets).map_err(|error| failed("the sockets can't share the interface's frames", &error))?;
    sockets[0]
        .be_promiscuous(index)
        .map_err(|error| failed("the interface does not receive frames for other addresses", &error))?;
    let shared = Arc::new(Shared {
        sockets,
        interface: interface.at_open.name.clone(),
        card: OnceLock::new(),
        too_long: AtomicU64::new(0),
        too_long_to_send: AtomicU64::new(0),
        joined: AtomicU64::new(0),
        link_down: AtomicU64::new(0),
        refused: AtomicU64::new(0),
        _locks: locks,
    });
    let mut queues = Queues { tx: Vec::new(), rx: Vec::new() };
    for (number, ring) in rings.into_iter().enumerate() {
        queues.rx.push(Box::new(PacketRx::new(ring, number, shared.clone())) as Box<dyn RxQueue>);
        let socket =
            sender(index, options).map_err(|error| failed("the kernel gives no packet socket", &error))?;
        let ring = request.confined.then(|| tx_ring(index, options, request.frame_len_max)).transpose();
        let ring = ring.map_err(|error| failed("the kernel gives no ring to send from", &error))?;
        // What is sent is the kernel's copy: there are no more frames than are written at a time.
        let frames = FreeFrames::new(16 * BURST, request.buffer_bytes() as usize).ok_or_else(|| {
            PortError::new(text, PortErrorKind::Resource, "there is no memory for frames", "free some memory")
        })?;
        let offload = options.segmentation_offload;
        queues
            .tx
            .push(Box::new(PacketTx::new(socket, ring, frames, offload, shared.clone())) as Box<dyn TxQueue>);
    }
    let facts = PortFacts {
        device: text.to_owned(),
        driver: DRIVER.to_owned(),
        mac: interface.at_open.mac,
        frame_len_max: interface.at_open.mtu + ETHERNET_BYTES,
        vlan_bytes: VLAN_BYTES,
        speed_bps: None,
        netdev: Some(interface.at_open.name.clone()),
        numa_node: None,
        tx_checksum_offload: false,
        tells_unfinished_checksums: true,
        is_in_process: false,
        rx_spread: if count > 1 { "rss" } else { "none" },
        xdp_mode: None,
    };
    Ok(Box::new(PacketPort { facts, queues, shared, interface, ring_full: 0 }))
}

/// The form of a ring whose slots hold frames of this length.
fn form(frame_len_max: u32, slots: Option<u32>) -> RingRequest {
    let slot_bytes = (frame_len_max + BESIDE).next_power_of_two().max(SLOT_BYTES_MIN);
    let slots = slots.unwrap_or((RING_BYTES / slot_bytes).clamp(256, 1024));
    let block_bytes = BLOCK_BYTES.max(slot_bytes).min(slot_bytes * slots);
    RingRequest { block_bytes, blocks: slot_bytes * slots / block_bytes, slot_bytes, slots }
}

/// A socket with a ring. One of several receives nothing until all share the interface's frames.
fn receiver(index: u32, form: RingRequest, is_one_of_several: bool) -> io::Result<Socket> {
    let socket = Socket::new()?;
    socket.share_ring(form)?;
    socket.receive_freely();
    // What older kernels deliver is passed over.
    let _ = socket.ignore_outgoing();
    if is_one_of_several {
        socket.shut_ears()?;
    }
    socket.bind(index, Hears::Everything)?;
    Ok(socket)
}

/// Spreads the interface's frames over several sockets, each flow to one.
fn share(sockets: &[Socket]) -> io::Result<()> {
    if sockets.len() < 2 {
        return Ok(());
    }
    let mut group = None;
    for socket in sockets {
        group = Some(socket.share_flows(group)?);
    }
    sockets.iter().try_for_each(Socket::open_ears)
}

fn sender(index: u32, options: Options) -> io::Result<Socket> {
    let socket = sender_unbound(options)?;
    if options.segmentation_offload {
        socket.tell_offload()?;
    }
    socket.bind(index, Hears::Nothing)?;
    Ok(socket)
}

/// A ring to send from. Packets for segmentation by the card are sent otherwise.
fn tx_ring(index: u32, options: Options, frame_len_max: u32) -> io::Result<TxRing> {
    let (socket, form) = (sender_unbound(options)?, tx_ring::form(frame_len_max));
    socket.share_tx_ring(form)?;
    let base = map_bytes(&socket, form)?;
    socket.bind(index, Hears::Nothing)?;
    // SAFETY: mapped just now, for this ring alone.
    Ok(unsafe { TxRing::new(socket, base, form) })
}

fn sender_unbound(options: Options) -> io::Result<Socket> {
    let socket = Socket::new()?;
    if options.bypass_qdisc {
        socket.bypass_qdisc()?;
    }
    socket.send_freely();
    Ok(socket)
}

fn map(socket: &Socket, form: RingRequest) -> io::Result<Ring> {
    let base = map_bytes(socket, form)?;
    // SAFETY: the ring that the socket shares in this form; the queue that gets it unmaps it last.
    Ok(unsafe { Ring::new(base, form.slot_bytes as usize, form.slots as usize) })
}

/// Maps the ring that the socket shares in this form.
fn map_bytes(socket: &Socket, form: RingRequest) -> io::Result<NonNull<u8>> {
    let bytes = form.slot_bytes as usize * form.slots as usize;
    let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::POPULATE);
    // SAFETY: a new mapping at an address of the kernel's choice, of a socket that is open.
    let base = unsafe {
        let socket = BorrowedFd::borrow_raw(socket.raw());
        mmap(std::ptr::null_mut(), bytes, protection, flags, socket, 0)?
    };
    Ok(NonNull::new(base.cast::<u8>()).expect("a mapping is not at address 0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_hold_the_longest_frame_in_about_the_same_memory() {
        let form = |len, slots| {
            let RingRequest { block_bytes, blocks, slot_bytes, slots } = form(len, slots);
            assert_eq!(block_bytes * blocks, slot_bytes * slots);
            (slot_bytes, slots, block_bytes)
        };
        assert_eq!(form(64, None), (2048, 1024, 65_536));
        assert_eq!(form(9018, None), (16_384, 256, 65_536));
        assert_eq!(form(1518, Some(16)), (2048, 16, 32_768));
        assert_eq!(form(65_553, None), (131_072, 256, 131_072));
    }
}
