//! One tester at a time on an interface.
//!
//! Two testers on one interface would take each other's packets and count it as the device's loss. The lock is a
//! listening Unix socket with an abstract name: the name belongs to one network namespace, as the interface's number
//! does, and goes with its holder, however that ends. The kernel reports the listener.
//!
//! Not here: what keeps other programs from an interface. Nothing does.

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::io;
use std::os::fd::OwnedFd;

/// An interface of the network namespace it was taken in, until this is dropped.
#[derive(Debug)]
pub struct InterfaceLock {
    _socket: OwnedFd,
}

/// Why there is no lock.
#[derive(Debug)]
pub enum LockError {
    /// Another tester has the interface: its process, if the kernel reports it.
    Held(Option<u32>),
    /// The kernel refuses.
    Io(io::Error),
}

impl InterfaceLock {
    /// Takes the interface with this number, in the calling thread's network namespace.
    ///
    /// # Errors
    /// Somebody has it.
    pub fn take(index: u32) -> Result<Self, LockError> {
        let failed = |error: Errno| LockError::Io(error.into());
        let socket = socket().map_err(failed)?;
        match net::bind(&socket, &name(index).map_err(failed)?) {
            Ok(()) => {}
            Err(Errno::ADDRINUSE) => return Err(LockError::Held(holder(index))),
            Err(error) => return Err(failed(error)),
        }
        net::listen(&socket, 8).map_err(failed)?;
        Ok(Self { _socket: socket })
    }
}

/// The process that has the interface with this number, in the calling thread's network namespace.
pub fn holder(index: u32) -> Option<u32> {
    let socket = socket().ok()?;
    net::connect(&socket, &name(index).ok()?).ok()?;
    let process = net::sockopt::socket_peercred(&socket).ok()?.pid;
    u32::try_from(process.as_raw_nonzero().get()).ok()
}

fn socket() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

fn name(index: u32) -> Result<SocketAddrUnix, Errno> {
    SocketAddrUnix::new_abstract_name(format!("eagre/interface/{index}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_it_until_it_is_dropped() {
        // No interface has this number.
        let index = u32::MAX - std::process::id();
        assert_eq!(holder(index), None);
        let lock = InterfaceLock::take(index).unwrap();
        assert_eq!(holder(index), Some(std::process::id()));
        assert!(
            matches!(InterfaceLock::take(index), Err(LockError::Held(Some(pid))) if pid == std::process::id())
        );
        let _other = InterfaceLock::take(index - 1).unwrap();
        drop(lock);
        assert_eq!(holder(index), None);
        InterfaceLock::take(index).unwrap();
    }
}
