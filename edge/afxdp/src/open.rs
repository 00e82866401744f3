//! Program, sockets and queues of a port.
//!
//! Invariant: opening ends. The wait for the kernel to release a queue is bounded and can be cancelled.

use crate::live;
use crate::queue::{Channel, Program, Shared, XdpPort, XdpRx, XdpTx};
use crate::refused;
use crate::socket::{Binding, Membership, Rings, Socket};
use crate::umem::{CHUNK_FRAME_MAX, FRAME_MAX, Form, Umem};
use os::ethtool;
use os::interface_lock::InterfaceLock;
use os::link::LinkFacts;
use os::open_interface::OpenInterface;
use port::{Port, PortError, PortErrorKind, PortFacts, PortRequest, Queues, RxQueue, TxQueue};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};
use xdp::{Intake, LiveCounts, Mode, Redirect, SocketMap};

/// The driver's name.
const DRIVER: &str = "af_xdp";

/// Bytes of Ethernet header and FCS.
const ETHERNET_BYTES: u32 = 18;
/// Bytes of the frame check sequence.
const FCS_BYTES: u32 = 4;
/// Bytes of one VLAN tag, which the kernel lets pass beyond the MTU.
const VLAN_BYTES: u32 = 4;

/// Maximum time for the kernel to release a queue after its socket was closed: a work item does it, which waits for
/// concurrent changes of interfaces, such as ending namespaces, and until then the queue counts as in use.
const RELEASE_WAIT: Duration = Duration::from_secs(5);
/// Interval of checks while waiting.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Options of the port string.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The first queue of the interface to take.
    pub first_queue: u16,
    /// Whether the kernel copies frames even where the card could read and write them itself.
    pub copies: bool,
    /// Frames at a time that a receiving worker takes out of the driver itself; `None`: interrupts do.
    pub busy_budget: Option<u32>,
    /// Whether bursts are sent, and test packets recorded, by programs that the kernel runs (`xdp:`).
    pub live: bool,
}

/// Opens a port on an interface that was checked: it is there, up, and large enough, and no program is on it. The calling thread
/// is in its network namespace.
///
/// # Errors
/// The kernel or the interface does not support it, or it was `cancelled`.
pub fn open(
    text: &str,
    request: PortRequest,
    options: Options,
    interface: OpenInterface,
    locks: Vec<InterfaceLock>,
    cancelled: &mut dyn FnMut() -> bool,
) -> Result<Box<dyn Port>, PortError> {
    let at = &interface.at_open;
    let plan = Plan { text, at, options };
    let lengths = Lengths::new(request, at.mtu);
    let queues = request.queues.max(1).min(plan.queues()?);
    let first = u32::from(options.first_queue);
    let map = SocketMap::new(first + u32::from(queues)).map_err(|error| plan.not_loaded(&error))?;
    let (program, mode, no_records) = plan.attach(&map, u32::from(queues), lengths)?;
    let mut channels = Vec::new();
    let mut rings = Vec::new();
    let mut several_buffers = lengths.wants_several();
    for queue in first..first + u32::from(queues) {
        let copies = options.copies || mode == Mode::Stack;
        let binding = Binding { interface: at.index, queue, copies, several_buffers };
        let (socket, umem, of_socket) = plan.socket(binding, lengths, cancelled)?;
        several_buffers &= of_socket.several_buffers;
        map.set(queue, socket.as_fd())
            .map_err(|error| plan.failed("the socket's queue can't be taken", &error))?;
        let is_zero_copy = socket.is_zero_copy();
        let Rings { rx, fill, tx, completion, memory } = of_socket.rings;
        channels.push(Channel { socket, umem, _rings: memory, is_zero_copy });
        rings.push((rx, fill, tx, completion));
    }
    let is_zero_copy = channels.iter().all(|channel| channel.is_zero_copy);
    let shared = Arc::new(Shared {
        program,
        channels,
        _sockets: map,
        tx_bytes_max: (at.mtu + ETHERNET_BYTES - FCS_BYTES + VLAN_BYTES)
            .min(lengths.longest(several_buffers)),
        rx_too_long: AtomicU64::new(0),
        tx_too_long: AtomicU64::new(0),
        tx_too_short: AtomicU64::new(0),
        link_down: AtomicU64::new(0),
        // Ours alone, and gone with this process.
        _membership: Membership::join(at.index).ok(),
        _locks: locks,
    });
    let mut all = Queues { tx: Vec::new(), rx: Vec::new() };
    for (channel, (rx, fill, tx, completion)) in rings.into_iter().enumerate() {
        let polls = options.busy_budget.is_some();
        all.tx.push(Box::new(XdpTx::new(tx, completion, channel, shared.clone())) as Box<dyn TxQueue>);
        all.rx.push(Box::new(XdpRx::new(rx, fill, polls, channel, shared.clone())) as Box<dyn RxQueue>);
    }
    let mut live = None;
    if options.live {
        let counts = Arc::new(LiveCounts::default());
        let intake = match &shared.program {
            Program::Records(intake) => Ok(intake),
            Program::Redirects(_) => Err(no_records),
        };
        all = live::wrap(text, at, all, intake, &counts)?;
        live = Some(counts);
    }
    let place = if mode == Mode::Driver { "native" } else { "generic" };
    let how = if is_zero_copy { "zero-copy" } else { "copy" };
    let buffers = if several_buffers { ", several buffers" } else { "" };
    let carried =
        |tag: u32| (at.mtu + ETHERNET_BYTES + tag).min(lengths.longest(several_buffers) + FCS_BYTES);
    let facts = PortFacts {
        device: text.to_owned(),
        driver: if options.live { live::DRIVER } else { DRIVER }.to_owned(),
        mac: at.mac,
        frame_len_max: carried(0),
        vlan_bytes: carried(VLAN_BYTES) - carried(0),
        speed_bps: None,
        netdev: Some(at.name.clone()),
        numa_node: None,
        tx_checksum_offload: false,
        tells_unfinished_checksums: false,
        is_in_process: false,
        rx_spread: if queues > 1 { "rss" } else { "none" },
        xdp_mode: Some(format!("{place}, {how}{buffers}")),
    };
    Ok(Box::new(XdpPort { facts, queues: all, shared, interface, live }))
}

/// Maximum length of frames, without FCS, bytes.
#[derive(Debug, Clone, Copy)]
struct Lengths {
    /// Frames to be sent, with a VLAN tag.
    tx: u32,
    /// Frames that the other side may send, with a VLAN tag.
    rx: u32,
    /// Frames that the trial has, with a VLAN tag.
    needed: u32,
}

impl Lengths {
    fn new(request: PortRequest, mtu: u32) -> Self {
        let needed = request.buffer_bytes() - FCS_BYTES + VLAN_BYTES;
        Self { tx: needed, rx: (mtu + ETHERNET_BYTES - FCS_BYTES + VLAN_BYTES).max(needed), needed }
    }

    /// Whether a frame may need several buffers.
    fn wants_several(self) -> bool {
        self.rx > CHUNK_FRAME_MAX
    }

    /// Whether a frame of the trial does.
    fn needs_several(self) -> bool {
        self.needed > CHUNK_FRAME_MAX
    }

    /// Longest frame there can be, with several buffers or without.
    fn longest(self, several_buffers: bool) -> u32 {
        if several_buffers { FRAME_MAX } else { CHUNK_FRAME_MAX }
    }
}

/// The rings of a bound socket.
struct Bound {
    rings: Rings,
    several_buffers: bool,
}

/// A port to be opened.
struct Plan<'a> {
    text: &'a str,
    at: &'a LinkFacts,
    options: Options,
}

impl Plan<'_> {
    fn error(&self, kind: PortErrorKind, reason: String, remedy: impl Into<String>) -> PortError {
        PortError::new(self.text, kind, reason, remedy)
    }

    fn failed(&self, what: &str, error: &io::Error) -> PortError {
        self.error(PortErrorKind::State, format!("{what}: {error}"), "")
    }

    /// Queues that the interface has for this port.
    fn queues(&self) -> Result<u16, PortError> {
        let (name, first) = (&self.at.name, self.options.first_queue);
        let all = ethtool::queues(name).map_or(1, |(rx, tx)| rx.min(tx).clamp(1, 1024) as u16);
        all.checked_sub(first).filter(|queues| *queues > 0).ok_or_else(|| {
            let all = if all == 1 { "1 queue".to_owned() } else { format!("{all} queues") };
            let reason = format!("there is no queue {first}: {name} has {all}, numbered from 0");
            let remedy = format!("lower start_queue, or ethtool -L {name} combined {}", first + 1);
            self.error(PortErrorKind::State, reason, remedy)
        })
    }

    /// Puts the program on the interface: in its driver, or else in the kernel's stack. Returns where, and of a port that could
    /// record test packets why it doesn't.
    fn attach(
        &self,
        map: &SocketMap,
        queues: u32,
        lengths: Lengths,
    ) -> Result<(Program, Mode, String), PortError> {
        let mut no_records = String::new();
        if self.options.live {
            match self.record(map, queues, lengths) {
                Ok(intake) => return Ok((Program::Records(intake), Mode::Driver, no_records)),
                Err(reason) => no_records = reason,
            }
        }
        let mut redirect = Redirect::new(map, false).map_err(|error| self.not_loaded(&error))?;
        let index = self.at.index;
        let mut attached = match lengths.wants_several() {
            true => Err(io::Error::from_raw_os_error(libc::ERANGE)),
            false => redirect.attach(index, Mode::Driver),
        };
        // Where the other end of a veth pair may send long frames. A program for these lets the kernel there also leave it to us to
        // cut segments, so it is not used where it need not be.
        if attached.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::ERANGE)) {
            match Redirect::new(map, true) {
                Ok(for_long) => {
                    redirect = for_long;
                    attached = redirect.attach(index, Mode::Driver);
                }
                Err(error) if lengths.needs_several() => return Err(self.not_loaded(&error)),
                Err(_) => attached = redirect.attach(index, Mode::Driver),
            }
        }
        let mode = match attached {
            Ok(()) => Mode::Driver,
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                redirect.attach(index, Mode::Stack).map_err(|error| self.not_attached(&redirect, &error))?;
                Mode::Stack
            }
            Err(error) => return Err(self.not_attached(&redirect, &error)),
        };
        Ok((Program::Redirects(redirect), mode, no_records))
    }

    /// The program that records test packets, on the interface, or why that can't be.
    fn record(&self, map: &SocketMap, queues: u32, lengths: Lengths) -> Result<Intake, String> {
        let name = &self.at.name;
        if lengths.needs_several() {
            return Err(format!("there are frames of more than {CHUNK_FRAME_MAX} bytes"));
        }
        let refused = |error| format!("the kernel does not take the program: {error}");
        let first = u32::from(self.options.first_queue);
        let mut intake = Intake::new(map.as_fd(), first, queues).map_err(refused)?;
        intake.attach(self.at.index).map_err(|error| match error.raw_os_error() {
            Some(libc::EOPNOTSUPP) => format!("the driver of {name} runs no XDP programs itself"),
            Some(libc::ERANGE) => format!("the MTU at the other end of {name} is too long for the program"),
            _ => format!("the program can't be put on {name}: {error}"),
        })?;
        Ok(intake)
    }

    /// Program or map can't be made.
    fn not_loaded(&self, error: &io::Error) -> PortError {
        let reason = format!("the kernel takes no XDP program from this process: {error}");
        let instead = format!("use afpacket:{}", self.at.name);
        match error.kind() {
            io::ErrorKind::PermissionDenied => {
                let remedy =
                    format!("run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW, or {instead}");
                self.error(PortErrorKind::Privilege, reason, remedy)
            }
            _ => self.error(PortErrorKind::Driver, reason, instead),
        }
    }

    /// The program can't be put on the interface.
    fn not_attached(&self, redirect: &Redirect, error: &io::Error) -> PortError {
        if let Some((reason, remedy)) = refused::why(self.at, redirect.program()) {
            return self.error(PortErrorKind::State, reason, remedy);
        }
        let name = &self.at.name;
        let remedy = match error.raw_os_error() {
            Some(libc::EBUSY | libc::EEXIST) => {
                format!("end the program that uses it, or: ip link set {name} xdp off")
            }
            Some(libc::EINVAL) => format!("AF_XDP ports need Linux 5.9; use afpacket:{name}"),
            _ => format!("use afpacket:{name}"),
        };
        self.error(PortErrorKind::State, format!("the XDP program can't be put on {name}: {error}"), remedy)
    }

    /// A bound socket with its memory.
    fn socket(
        &self,
        mut binding: Binding,
        lengths: Lengths,
        cancelled: &mut dyn FnMut() -> bool,
    ) -> Result<(Socket, Umem, Bound), PortError> {
        let begun = Instant::now();
        loop {
            let (socket, umem, rings) = self.unbound(lengths)?;
            let error = match socket.bind(binding) {
                Ok(()) => {
                    socket.send_freely();
                    if let Some(budget) = self.options.busy_budget {
                        socket
                            .poll_busily(budget)
                            .map_err(|error| self.failed("busy_budget needs Linux 5.11", &error))?;
                    }
                    return Ok((socket, umem, Bound { rings, several_buffers: binding.several_buffers }));
                }
                Err(error) => error,
            };
            match error.raw_os_error() {
                // Perhaps only because the last owner of the queue has just left.
                Some(libc::EBUSY) if begun.elapsed() < RELEASE_WAIT => std::thread::sleep(LOOK_EVERY),
                Some(libc::EINVAL | libc::EOPNOTSUPP)
                    if binding.several_buffers && !lengths.needs_several() =>
                {
                    binding.several_buffers = false;
                }
                _ => return Err(self.not_bound(binding, lengths, &error)),
            }
            if cancelled() {
                let reason = "it was stopped while the port opened".to_owned();
                return Err(self.error(PortErrorKind::State, reason, ""));
            }
        }
    }

    /// A socket with its memory, of no interface yet.
    fn unbound(&self, lengths: Lengths) -> Result<(Socket, Umem, Rings), PortError> {
        let resource = |what: &str, error: &io::Error| {
            let remedy = match error.raw_os_error() {
                // What is locked counts against a limit, unless the process has CAP_IPC_LOCK.
                Some(libc::ENOBUFS) => {
                    "raise the limit of locked memory (ulimit -l), or run with CAP_IPC_LOCK"
                }
                _ => "free some memory, or use fewer workers (--cores)",
            };
            self.error(PortErrorKind::Resource, format!("{what}: {error}"), remedy)
        };
        let socket =
            Socket::new().map_err(|error| self.failed("the kernel gives no AF_XDP socket", &error))?;
        let umem = Umem::new(Form::new(lengths.tx, lengths.rx))
            .map_err(|error| resource("there is no memory for frames", &error))?;
        socket
            .register(&umem)
            .map_err(|error| resource("the kernel can't lock the memory for frames", &error))?;
        let rings = socket.share_rings().map_err(|error| resource("the kernel gives no rings", &error))?;
        Ok((socket, umem, rings))
    }

    fn not_bound(&self, binding: Binding, lengths: Lengths, error: &io::Error) -> PortError {
        let (name, queue) = (&self.at.name, binding.queue);
        match error.raw_os_error() {
            Some(libc::EBUSY) => self.error(
                PortErrorKind::State,
                format!("queue {queue} of {name} is in use by another AF_XDP socket"),
                "end the program that uses it, or take another queue with start_queue",
            ),
            Some(libc::EINVAL | libc::EOPNOTSUPP) if binding.several_buffers => self.error(
                PortErrorKind::State,
                format!(
                    "AF_XDP takes frames of up to {} bytes here; longer ones have several buffers, which needs Linux 6.6 \
                     and a driver that can, and the trial has frames of {}",
                    CHUNK_FRAME_MAX + FCS_BYTES,
                    lengths.needed - VLAN_BYTES + FCS_BYTES
                ),
                format!("use afpacket:{name} for longer ones"),
            ),
            Some(libc::ENETDOWN) => self.error(
                PortErrorKind::State,
                format!("the interface {name} went down"),
                format!("ip link set {name} up"),
            ),
            _ => self.failed(&format!("an AF_XDP socket can't be had on queue {queue} of {name}"), error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumbo_frames_want_several_buffers_and_ordinary_ones_do_not_need_them() {
        let lengths =
            |frame_len_max, mtu| Lengths::new(PortRequest { queues: 1, frame_len_max, confined: false }, mtu);
        let of =
            |lengths: Lengths| (lengths.tx, lengths.rx, lengths.wants_several(), lengths.needs_several());
        assert_eq!(of(lengths(64, 1500)), (1518, 1518, false, false));
        assert_eq!(of(lengths(1518, 9000)), (1518, 9018, true, false));
        assert_eq!(of(lengths(9018, 9000)), (9018, 9018, true, true));
        assert_eq!(of(lengths(3840, 3822)), (3840, 3840, false, false));
        assert!(lengths(3841, 3823).needs_several());
    }
}
