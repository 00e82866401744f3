//! The program that hands the frames of an interface's queues to AF_XDP sockets, and its place on the interface.
//!
//! Frames of queues without a socket pass on to the kernel, as if there were no program.

use crate::assembler::{Assembler, R1, R2, R3, Size, XDP_PASS};
use crate::bpf::{self, Instruction, Mode};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Offset in `struct xdp_md`.
const RX_QUEUE: i16 = 16;
/// A function of the kernel (linux/bpf.h).
const REDIRECT_MAP: i32 = 51;

/// From queues to AF_XDP sockets.
#[derive(Debug)]
pub struct SocketMap {
    map: OwnedFd,
}

impl SocketMap {
    /// A map for queues below `queues`, without sockets.
    ///
    /// # Errors
    /// The process may make no such maps.
    pub fn new(queues: u32) -> io::Result<Self> {
        Ok(Self { map: bpf::socket_map(queues)? })
    }

    /// Puts a bound socket in the place of `queue`. It leaves the map when it is closed.
    ///
    /// # Errors
    /// There is no such queue.
    pub fn set(&self, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
        bpf::set_socket(self.map.as_fd(), queue, socket)
    }
}

impl AsFd for SocketMap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}

/// Hands frames to sockets.
#[derive(Debug)]
pub struct Redirect {
    program: OwnedFd,
    /// Keeps the program on the interface.
    link: Option<OwnedFd>,
}

impl Redirect {
    /// Loads the program for the sockets of a map. `is_for_long`: frames may have several buffers, as those that do not fit in a page.
    ///
    /// # Errors
    /// The kernel has no such programs (those for long frames are of Linux 5.18), or the process may not load them.
    pub fn new(sockets: &SocketMap, is_for_long: bool) -> io::Result<Self> {
        let program = bpf::load_with("eagre_redirect", &program(sockets.map.as_raw_fd()), is_for_long)?;
        Ok(Self { program, link: None })
    }

    /// The program, to be tried on an interface.
    pub fn program(&self) -> BorrowedFd<'_> {
        self.program.as_fd()
    }

    /// Puts it on the interface `index` of the calling thread's network namespace, until this is dropped or the process ends.
    ///
    /// # Errors
    /// There is a program already, the driver takes none, or the kernel is older than 5.9.
    pub fn attach(&mut self, index: u32, mode: Mode) -> io::Result<()> {
        self.link = Some(bpf::attach(self.program.as_fd(), index, mode)?);
        Ok(())
    }
}

fn program(sockets: i32) -> Vec<Instruction> {
    let mut a = Assembler::default();
    a.load(Size::Four, R2, R1, RX_QUEUE);
    a.map(R1, sockets);
    a.set(R3, XDP_PASS);
    a.call(REDIRECT_MAP);
    a.exit();
    a.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_without_a_socket_pass() {
        let map = match SocketMap::new(4) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                eprintln!("skipped: it needs root");
                return;
            }
            map => map.unwrap(),
        };
        let redirect = Redirect::new(&map, true).unwrap();
        let frame = [7; 60];
        assert_eq!(bpf::run_once(redirect.program(), &frame).unwrap(), (XDP_PASS as u32, frame.to_vec()));
        // What is no AF_XDP socket does not go in.
        assert!(map.set(0, redirect.program()).is_err() && map.set(4, redirect.program()).is_err());
    }
}
