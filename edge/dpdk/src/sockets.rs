//! The kernel sockets behind DPDK's AF_XDP driver, which does not report some of its losses, and signals no arrivals;
//! nor does the driver of TAP interfaces.
//!
//! The drivers do not expose their descriptors, so they are found among the process's: new ones of the right family, or
//! of the right device.
//!
//! Invariant: a descriptor is only used after its inode was seen to be the one it had when it was found, or, to be polled, by a
//! queue, which keeps the port open and so what its driver opened.

use std::ffi::{c_int, c_void};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const SOL_XDP: c_int = 283;
const XDP_STATISTICS: c_int = 7;
/// More than the frames of any ring take.
const SEND_BYTES: c_int = 64 << 20;

/// A socket of this process with another owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Socket {
    descriptor: c_int,
    inode: u64,
}

/// `struct xdp_statistics`: what AF_XDP lost. Zero where the kernel does not count it.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct XdpStatistics {
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

/// This process's descriptors.
fn descriptors() -> impl Iterator<Item = c_int> {
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Descriptors of TAP interfaces' queues that this process has open.
pub(crate) fn tap_queues_now() -> Vec<c_int> {
    let is_tap = |descriptor: &c_int| {
        fs::read_link(format!("/proc/self/fd/{descriptor}"))
            .is_ok_and(|path| path == Path::new("/dev/net/tun"))
    };
    descriptors().filter(is_tap).collect()
}

/// All AF_XDP sockets that this process has open.
pub(crate) fn open_now() -> Vec<Socket> {
    descriptors()
        .filter(|&descriptor| {
            option::<c_int>(descriptor, libc::SOL_SOCKET, libc::SO_DOMAIN).ok() == Some(libc::AF_XDP)
        })
        .filter_map(|descriptor| Some(Socket { descriptor, inode: inode(descriptor)? }))
        .collect()
}

impl Socket {
    /// Descriptor that becomes readable when frames arrive, while the port is open.
    pub(crate) fn descriptor(self) -> c_int {
        self.descriptor
    }

    fn is_still_there(self) -> bool {
        inode(self.descriptor) == Some(self.inode)
    }

    pub(crate) fn xdp_statistics(self) -> Option<XdpStatistics> {
        if !self.is_still_there() {
            return None;
        }
        option(self.descriptor, SOL_XDP, XDP_STATISTICS).ok()
    }

    /// Room for all frames the rings can hold, regardless of the machine's limit for others. With less, a socket waits
    /// until the other end of a veth pair has taken a frame: a slow device would hold the tester back and lose nothing.
    pub(crate) fn send_freely(self) -> io::Result<()> {
        let bytes: c_int = SEND_BYTES;
        // SAFETY: the value is as long as said.
        let code = unsafe {
            let value: *const c_int = &bytes;
            let length = size_of::<c_int>() as libc::socklen_t;
            libc::setsockopt(self.descriptor, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, value.cast(), length)
        };
        if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Closes the descriptor if it is still that socket: for a driver that has forgotten it.
    pub(crate) fn close_if_forgotten(self) {
        if self.is_still_there() {
            // SAFETY: the driver that opened it is closed, and nobody else knew of it.
            unsafe { libc::close(self.descriptor) };
        }
    }
}

fn inode(descriptor: c_int) -> Option<u64> {
    fs::metadata(format!("/proc/self/fd/{descriptor}")).ok().map(|meta| meta.ino())
}

/// Reads a socket option that is plain numbers; what the kernel does not fill stays zero.
fn option<T: Default>(descriptor: c_int, level: c_int, name: c_int) -> io::Result<T> {
    let mut value = T::default();
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `value`, whose types here are arrays of plain integers.
    let code = unsafe {
        let to: *mut T = &mut value;
        libc::getsockopt(descriptor, level, name, to.cast::<c_void>(), &mut length)
    };
    if code == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}
