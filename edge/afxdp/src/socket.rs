//! AF_XDP sockets: linux/if_xdp.h, and a packet socket's membership of an interface.

use crate::ring::{Consumer, Place, Producer};
use crate::umem::{RX_FRAMES, TX_FRAMES, Umem};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};
use std::ffi::{c_int, c_void};
use std::io;
use std::mem::offset_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

/// Not in the libc crate: frames that one call may send where the kernel copies (Linux 6.17).
const XDP_MAX_TX_SKB_BUDGET: c_int = 9;
/// More than the frames of any ring take.
const SEND_BYTES: c_int = 64 << 20;
/// Time that a call may look for frames in the driver, with `busy_budget`, us.
const BUSY_POLL_US: c_int = 20;

/// `struct xdp_desc`
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Descriptor {
    pub at: u64,
    pub len: u32,
    pub options: u32,
}

/// `XDP_PKT_CONTD`: the next descriptor has more of the same frame.
pub(crate) const CONTINUED: u32 = 1;

const _: () = {
    assert!(size_of::<Descriptor>() == size_of::<libc::xdp_desc>());
    assert!(offset_of!(Descriptor, len) == offset_of!(libc::xdp_desc, len));
    assert!(offset_of!(Descriptor, options) == offset_of!(libc::xdp_desc, options));
};

/// `struct xdp_statistics`: what AF_XDP lost. Zero where the kernel does not count it.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Statistics {
    /// Received frames dropped for other reasons.
    pub rx_dropped: u64,
    /// Receive buffers with an address outside the UMEM.
    pub rx_invalid_descs: u64,
    /// Frames to be sent whose address or length the kernel did not take.
    pub tx_invalid_descs: u64,
    /// Received frames dropped because the receive ring was full.
    pub rx_ring_full: u64,
    /// Received frames dropped because there was no buffer.
    pub rx_fill_ring_empty: u64,
    /// Times the kernel looked for frames to send and found none; no loss.
    pub tx_ring_empty: u64,
}

/// Binding of a socket to its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Binding {
    pub interface: u32,
    pub queue: u32,
    /// The kernel copies frames even where the card could read and write them itself.
    pub copies: bool,
    /// A frame may have several buffers (Linux 6.6).
    pub several_buffers: bool,
}

/// A socket.
#[derive(Debug)]
pub(crate) struct Socket {
    fd: OwnedFd,
}

/// The four rings of a socket.
#[derive(Debug)]
pub(crate) struct Rings {
    /// Received frames.
    pub rx: Consumer<Descriptor>,
    /// Chunks for frames to come.
    pub fill: Producer<u64>,
    /// Frames to be sent.
    pub tx: Producer<Descriptor>,
    /// Frames that were sent.
    pub completion: Consumer<u64>,
    /// Their memory.
    pub memory: Vec<Mapping>,
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Socket {
    /// A socket of no interface yet.
    pub(crate) fn new() -> io::Result<Self> {
        let fd = net::socket_with(AddressFamily::XDP, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        Ok(Self { fd })
    }

    fn raw(&self) -> c_int {
        self.fd.as_raw_fd()
    }

    /// Lets the kernel use `umem`. The kernel locks its pages.
    pub(crate) fn register(&self, umem: &Umem) -> io::Result<()> {
        /// `struct xdp_umem_reg`; kernels read as much of it as they know.
        #[repr(C)]
        #[derive(Clone, Copy)]
        struct Registration {
            address: u64,
            bytes: u64,
            chunk: u32,
            headroom: u32,
            flags: u32,
            metadata_bytes: u32,
        }
        let (base, bytes) = umem.bytes();
        let registration = Registration {
            address: base.as_ptr().addr() as u64,
            bytes: bytes as u64,
            chunk: umem.form().chunk,
            headroom: 0,
            flags: 0,
            metadata_bytes: 0,
        };
        self.set(libc::SOL_XDP, libc::XDP_UMEM_REG, &registration)
    }

    /// Makes the four rings.
    pub(crate) fn share_rings(&self) -> io::Result<Rings> {
        let sizes = [
            (libc::XDP_UMEM_FILL_RING, RX_FRAMES),
            (libc::XDP_UMEM_COMPLETION_RING, TX_FRAMES),
            (libc::XDP_RX_RING, RX_FRAMES),
            (libc::XDP_TX_RING, TX_FRAMES),
        ];
        for (ring, size) in sizes {
            self.set(libc::SOL_XDP, ring, &size)?;
        }
        let offsets: [[u64; 4]; 4] = self.option(libc::SOL_XDP, libc::XDP_MMAP_OFFSETS)?;
        let [rx, tx, fill, completion] = offsets;
        let mut memory = Vec::new();
        // SAFETY: the sizes and kinds of entries are those of the rings, and each end is made once.
        unsafe {
            let rx = Consumer::new(self.map(rx, RX_FRAMES, libc::XDP_PGOFF_RX_RING as u64, &mut memory)?);
            let tx = Producer::new(self.map(tx, TX_FRAMES, libc::XDP_PGOFF_TX_RING as u64, &mut memory)?);
            let fill =
                Producer::new(self.map(fill, RX_FRAMES, libc::XDP_UMEM_PGOFF_FILL_RING, &mut memory)?);
            let at = libc::XDP_UMEM_PGOFF_COMPLETION_RING;
            let completion = Consumer::new(self.map(completion, TX_FRAMES, at, &mut memory)?);
            Ok(Rings { rx, fill, tx, completion, memory })
        }
    }

    /// Maps a ring of `size` entries, `offsets` (`struct xdp_ring_offset`) being where its parts are.
    fn map<T>(
        &self,
        offsets: [u64; 4],
        size: u32,
        at: u64,
        memory: &mut Vec<Mapping>,
    ) -> io::Result<Place<T>> {
        let [producer, consumer, entries, flags] = offsets.map(|offset| offset as usize);
        let bytes = entries + size as usize * size_of::<T>();
        let (protection, flags_of) =
            (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::POPULATE);
        // SAFETY: a new mapping at an address of the kernel's choice, of a socket that is open.
        let base = unsafe { mmap(std::ptr::null_mut(), bytes, protection, flags_of, &self.fd, at)? };
        let base = NonNull::new(base.cast::<u8>()).expect("a mapping is not at address 0");
        memory.push(Mapping { base, bytes });
        // SAFETY: the kernel's offsets are inside the ring, and aligned.
        unsafe {
            Ok(Place {
                producer: base.add(producer).cast(),
                consumer: base.add(consumer).cast(),
                flags: base.add(flags).cast(),
                entries: base.add(entries).cast(),
                size,
            })
        }
    }

    /// Binds it. Frames come once the program hands them over.
    pub(crate) fn bind(&self, binding: Binding) -> io::Result<()> {
        let mut flags = libc::XDP_USE_NEED_WAKEUP;
        if binding.copies {
            flags |= libc::XDP_COPY;
        }
        if binding.several_buffers {
            flags |= libc::XDP_USE_SG;
        }
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: flags,
            sxdp_ifindex: binding.interface,
            sxdp_queue_id: binding.queue,
            sxdp_shared_umem_fd: 0,
        };
        let length = size_of::<libc::sockaddr_xdp>() as libc::socklen_t;
        // SAFETY: the address is as long as said.
        done(unsafe { libc::bind(self.raw(), (&raw const address).cast(), length) })
    }

    /// Whether the card itself reads and writes frames.
    pub(crate) fn is_zero_copy(&self) -> bool {
        self.option::<u32>(libc::SOL_XDP, libc::XDP_OPTIONS)
            .is_ok_and(|options| options & libc::XDP_OPTIONS_ZEROCOPY != 0)
    }

    /// Room for all frames the rings can hold, regardless of the machine's limit for others. With less, a socket waits
    /// until the other end of a veth pair has taken a frame: a slow device would hold the tester back and lose nothing.
    /// And as many frames a call as there are; older kernels take 32.
    pub(crate) fn send_freely(&self) {
        let _ = self.set(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SEND_BYTES);
        let _ = self.set(libc::SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &TX_FRAMES);
    }

    /// Lets calls do the driver's work, up to this number of frames at a time (Linux 5.11).
    pub(crate) fn poll_busily(&self, budget: u32) -> io::Result<()> {
        self.set::<c_int>(libc::SOL_SOCKET, libc::SO_PREFER_BUSY_POLL, &1)?;
        self.set::<c_int>(libc::SOL_SOCKET, libc::SO_BUSY_POLL, &BUSY_POLL_US)?;
        self.set(libc::SOL_SOCKET, libc::SO_BUSY_POLL_BUDGET, &budget)
    }

    /// Makes the kernel look at what is to be sent.
    #[inline]
    pub(crate) fn kick(&self) -> io::Result<()> {
        // SAFETY: no bytes and no address are passed.
        let code =
            unsafe { libc::sendto(self.raw(), std::ptr::null(), 0, libc::MSG_DONTWAIT, std::ptr::null(), 0) };
        if code < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Makes the kernel look for buffers, and for frames that came.
    #[inline]
    pub(crate) fn wake(&self) {
        let (nothing, none) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: no bytes and no address are passed. What fails will be tried again.
        let _ =
            unsafe { libc::recvfrom(self.raw(), nothing, 0, libc::MSG_DONTWAIT, std::ptr::null_mut(), none) };
    }

    pub(crate) fn statistics(&self) -> Statistics {
        self.option(libc::SOL_XDP, libc::XDP_STATISTICS).unwrap_or_default()
    }

    fn set<T: Copy>(&self, level: c_int, name: c_int, value: &T) -> io::Result<()> {
        set(&self.fd, level, name, value)
    }

    /// Reads an option that is plain numbers; what the kernel does not fill stays zero.
    fn option<T: Default>(&self, level: c_int, name: c_int) -> io::Result<T> {
        let mut value = T::default();
        let mut length = size_of::<T>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes into `value`, whose types here are arrays of plain integers.
        done(unsafe {
            libc::getsockopt(self.raw(), level, name, (&raw mut value).cast::<c_void>(), &mut length)
        })?;
        Ok(value)
    }
}

/// Memory of a ring.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: it only keeps the memory.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: what was mapped; whoever has it drops it after the rings' ends.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// Promiscuous membership of a packet socket: all frames, for any address. The kernel removes it with the socket,
/// however this process ends.
#[derive(Debug)]
pub(crate) struct Membership {
    _socket: OwnedFd,
}

impl Membership {
    /// Joins the interface with this number, in the calling thread's network namespace.
    pub(crate) fn join(index: u32) -> io::Result<Self> {
        /// `struct packet_mreq`
        #[repr(C)]
        #[derive(Clone, Copy)]
        struct Request {
            interface: c_int,
            kind: u16,
            address_bytes: u16,
            address: [u8; 8],
        }
        // Without a protocol it receives nothing.
        let socket = net::socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        let kind = libc::PACKET_MR_PROMISC as u16;
        let request = Request { interface: index as c_int, kind, address_bytes: 0, address: [0; 8] };
        set(&socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)?;
        Ok(Self { _socket: socket })
    }
}

fn set<T: Copy>(socket: &OwnedFd, level: c_int, name: c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    let value: *const T = value;
    // SAFETY: the value is as long as said; the kernel only reads it.
    done(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, value.cast(), length) })
}

fn done(code: c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
