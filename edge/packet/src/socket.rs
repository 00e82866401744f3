//! Packet sockets: packet(7), linux/if_packet.h.

use rustix::net::{self, AddressFamily, SocketFlags, SocketType};
use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

const PACKET_FANOUT_FLAG_IGNORE_OUTGOING: u32 = 0x4000;
const PACKET_FANOUT_FLAG_UNIQUEID: u32 = 0x2000;
const PACKET_IGNORE_OUTGOING: c_int = 23;
/// Room for frames under way: more than any queue of the kernel takes. With less, a socket waits until the other end of a veth
/// pair has taken a frame: a slow device would hold the tester back and lose nothing.
const BUFFER_BYTES: c_int = 64 << 20;

/// Frames received by a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hears {
    Nothing,
    Everything,
}

/// A packet socket.
#[derive(Debug)]
pub(crate) struct Socket {
    fd: OwnedFd,
}

/// `struct tpacket_req`
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct RingRequest {
    pub block_bytes: u32,
    pub blocks: u32,
    pub slot_bytes: u32,
    pub slots: u32,
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Socket {
    /// A socket that receives nothing yet.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        Ok(Self { fd: net::socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)? })
    }

    pub(crate) fn raw(&self) -> c_int {
        self.fd.as_raw_fd()
    }

    /// Binds it to the interface with this number, in the calling thread's network namespace.
    pub(crate) fn bind(&self, index: u32, hears: Hears) -> io::Result<()> {
        let protocol = match hears {
            Hears::Nothing => 0,
            Hears::Everything => (libc::ETH_P_ALL as u16).to_be(),
        };
        // SAFETY: an address of zeros is valid: plain numbers.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol;
        address.sll_ifindex = index as c_int;
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the address is as long as said.
        done(unsafe { libc::bind(self.raw(), (&raw const address).cast(), length) })
    }

    /// Sets an option of packet sockets.
    fn set<T: Copy>(&self, level: c_int, name: c_int, value: &T) -> io::Result<()> {
        let length = size_of::<T>() as libc::socklen_t;
        let value: *const T = value;
        // SAFETY: the value is as long as said; the kernel only reads it.
        done(unsafe { libc::setsockopt(self.raw(), level, name, value.cast(), length) })
    }

    /// Frames do not pass the interface's queueing discipline.
    pub(crate) fn bypass_qdisc(&self) -> io::Result<()> {
        self.set(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1)
    }

    /// Buffer for sent frames, as large as this process may set.
    pub(crate) fn send_freely(&self) {
        self.room(libc::SO_SNDBUFFORCE, libc::SO_SNDBUF);
    }

    /// Buffer for received frames that are longer than a slot, as large as this process may set.
    pub(crate) fn receive_freely(&self) {
        self.room(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF);
    }

    /// The first needs CAP_NET_ADMIN, the second is bounded by the machine's settings.
    fn room(&self, force: c_int, ask: c_int) {
        if self.set(libc::SOL_SOCKET, force, &BUFFER_BYTES).is_err() {
            let _ = self.set(libc::SOL_SOCKET, ask, &BUFFER_BYTES);
        }
    }

    /// Puts a `virtio_net_hdr` before each frame, sent or received.
    pub(crate) fn tell_offload(&self) -> io::Result<()> {
        self.set(libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1)
    }

    /// Makes the kernel share a receive ring of this form, with a `virtio_net_hdr` before each frame. Frames longer than a
    /// slot are kept whole in the socket's queue beside.
    pub(crate) fn share_ring(&self, request: RingRequest) -> io::Result<()> {
        let version = libc::tpacket_versions::TPACKET_V2 as c_int;
        self.set(libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        self.tell_offload()?;
        self.set(libc::SOL_PACKET, libc::PACKET_COPY_THRESH, &1)?;
        self.set(libc::SOL_PACKET, libc::PACKET_RX_RING, &request)
    }

    /// Has slots hold arrival times by the network card, where frames have them.
    pub(crate) fn stamp_by_card(&self) -> io::Result<()> {
        const SOF_TIMESTAMPING_RAW_HARDWARE: c_int = 1 << 6;
        self.set(libc::SOL_PACKET, libc::PACKET_TIMESTAMP, &SOF_TIMESTAMPING_RAW_HARDWARE)
    }

    /// Makes the kernel share a transmit ring of this form.
    pub(crate) fn share_tx_ring(&self, request: RingRequest) -> io::Result<()> {
        let version = libc::tpacket_versions::TPACKET_V2 as c_int;
        self.set(libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        self.set(libc::SOL_PACKET, libc::PACKET_TX_RING, &request)
    }

    /// Receives frames for all addresses while it is open: the kernel ends that with the socket, however this process
    /// ends.
    pub(crate) fn be_promiscuous(&self, index: u32) -> io::Result<()> {
        /// `struct packet_mreq`
        #[repr(C)]
        #[derive(Clone, Copy)]
        struct Request {
            interface: c_int,
            kind: u16,
            address_bytes: u16,
            address: [u8; 8],
        }
        let kind = libc::PACKET_MR_PROMISC as u16;
        let request = Request { interface: index as c_int, kind, address_bytes: 0, address: [0; 8] };
        self.set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
    }

    /// Ignores frames that this machine sends over the interface. Kernels before 4.20 do not support it.
    pub(crate) fn ignore_outgoing(&self) -> io::Result<()> {
        self.set(libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1)
    }

    /// Shares the interface's frames with the other sockets of a group, each flow to one of them; the first, without a
    /// number, makes the group. Nothing is joined before. Returns the group's number.
    pub(crate) fn share_flows(&self, group: Option<u16>) -> io::Result<u16> {
        let join = |flags: u32| {
            let unique = if group.is_none() { PACKET_FANOUT_FLAG_UNIQUEID } else { 0 };
            let how = libc::PACKET_FANOUT_HASH | flags | unique;
            self.set(libc::SOL_PACKET, libc::PACKET_FANOUT, &(u32::from(group.unwrap_or(0)) | how << 16))
        };
        // Kernels before 5.15 do not know this flag; what they hear of their own is passed over.
        join(PACKET_FANOUT_FLAG_IGNORE_OUTGOING).or_else(|_| join(0))?;
        match group {
            Some(group) => Ok(group),
            None => Ok(self.option::<u32>(libc::SOL_PACKET, libc::PACKET_FANOUT)? as u16),
        }
    }

    /// Hears nothing until [`open_ears`](Self::open_ears).
    pub(crate) fn shut_ears(&self) -> io::Result<()> {
        let mut nothing = [libc::sock_filter { code: 6, jt: 0, jf: 0, k: 0 }];
        let program = libc::sock_fprog { len: 1, filter: nothing.as_mut_ptr() };
        self.set(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
    }

    /// Hears everything again.
    pub(crate) fn open_ears(&self) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, libc::SO_DETACH_FILTER, &0)
    }

    /// Frames that were dropped since the last call because the ring was full: reading resets the kernel's count.
    pub(crate) fn drops(&self) -> u64 {
        // `struct tpacket_stats`: frames seen, of which dropped.
        let read = self.option::<[u32; 2]>(libc::SOL_PACKET, libc::PACKET_STATISTICS);
        read.map_or(0, |[_, dropped]| u64::from(dropped))
    }

    /// Reads an option that is plain numbers.
    fn option<T: Default + Copy>(&self, level: c_int, name: c_int) -> io::Result<T> {
        let mut value = T::default();
        let mut length = size_of::<T>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes into `value`, whose types here are plain integers.
        done(unsafe {
            libc::getsockopt(self.raw(), level, name, (&raw mut value).cast::<c_void>(), &mut length)
        })?;
        Ok(value)
    }

    /// Takes the next frame out of the socket's queue, with the `virtio_net_hdr` before it, into `room` bytes at `to`; returns
    /// its bytes, which may be more than there is room for.
    ///
    /// # Safety
    /// These bytes are the caller's alone.
    pub(crate) unsafe fn receive(&self, to: *mut u8, room: usize) -> io::Result<usize> {
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: the caller says that the bytes may be written.
        let n = unsafe { libc::recv(self.raw(), to.cast(), room, flags) };
        usize::try_from(n).map_err(|_| io::Error::last_os_error())
    }
}

pub(crate) fn done(code: c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
