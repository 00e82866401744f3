//! Bounds for what DPDK does with a vhost-user peer.
//!
//! The virtio-user driver accepts a connection and waits for replies without a limit, on the thread that opens or
//! closes the port and with EAL locked: a peer that connects and sends nothing, or does not connect, would stop every
//! other port of the process. So a second thread shuts the port's sockets down when their time is over, and the driver
//! gives up.
//!
//! Invariant: only Unix sockets bound or connected to the port's own path are shut down.

use crate::open::LOOK_EVERY;
use rustix::io::fcntl_dupfd_cloexec;
use rustix::net::{self, AddressFamily, Shutdown, SocketAddrAny, SocketAddrUnix};
use std::fs;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Time for which the driver may wait for a connection at a time; EAL is locked meanwhile.
pub(crate) const ACCEPT: Duration = Duration::from_millis(300);

/// Time for all replies of a peer when a port opens, or closes.
pub(crate) const ANSWERS: Duration = Duration::from_secs(5);

/// Runs `work`; what it does with sockets at `path` has an end.
pub(crate) fn bounded<T>(path: Option<&str>, work: impl FnOnce() -> T) -> T {
    let Some(path) = path else { return work() };
    let _silence = NoPipeSignal::new();
    let (done, over) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let watch = move || watch(Path::new(path), &over);
        // Without a thread there is no bound, as there is none without this module.
        let _ = std::thread::Builder::new().name("watchdog".to_owned()).spawn_scoped(scope, watch);
        let result = work();
        drop(done);
        result
    })
}

fn watch(path: &Path, over: &mpsc::Receiver<()>) {
    let begun = Instant::now();
    while over.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        let age = begun.elapsed();
        if age >= ACCEPT {
            for socket in sockets_at(path) {
                let listens = net::sockopt::socket_acceptconn(&socket).unwrap_or(false);
                if listens || age >= ANSWERS {
                    let _ = net::shutdown(&socket, Shutdown::Both);
                }
            }
        }
    }
}

/// This process's Unix sockets that are bound or connected to `path`: duplicates of their descriptors, so that none can
/// become another socket meanwhile.
fn sockets_at(path: &Path) -> Vec<OwnedFd> {
    known_at(path).map(|(_, socket)| socket).collect()
}

/// The same by the numbers under which others have them open.
pub(crate) fn descriptors_at(path: &Path) -> Vec<RawFd> {
    known_at(path).map(|(number, _)| number).collect()
}

fn known_at(path: &Path) -> impl Iterator<Item = (RawFd, OwnedFd)> {
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<RawFd>().ok());
    let is_here = move |socket: &OwnedFd| {
        net::sockopt::socket_domain(socket) == Ok(AddressFamily::UNIX)
            && (net::getsockname(socket).is_ok_and(|name| is(name, path))
                || net::getpeername(socket).ok().flatten().is_some_and(|name| is(name, path)))
    };
    numbers
        .filter_map(|number| {
            // SAFETY: the number is used for one system call, which refuses one that is not open any more.
            let open = unsafe { BorrowedFd::borrow_raw(number) };
            Some((number, fcntl_dupfd_cloexec(open, 0).ok()?))
        })
        .filter(move |(_, socket)| is_here(socket))
}

fn is(name: SocketAddrAny, path: &Path) -> bool {
    let name = SocketAddrUnix::try_from(name);
    name.is_ok_and(|name| name.path_bytes() == path.to_str().map(str::as_bytes))
}

/// Keeps SIGPIPE from this thread while it lives: the driver writes to sockets that may have been shut down.
struct NoPipeSignal {
    before: libc::sigset_t,
}

impl NoPipeSignal {
    fn new() -> Self {
        // SAFETY: a set of zeros is a valid one, which the calls fill in; both outlive the calls.
        unsafe {
            let (mut pipe, mut before): (libc::sigset_t, libc::sigset_t) = std::mem::zeroed();
            libc::sigemptyset(&mut pipe);
            libc::sigaddset(&mut pipe, libc::SIGPIPE);
            libc::pthread_sigmask(libc::SIG_BLOCK, &pipe, &mut before);
            Self { before }
        }
    }
}

impl Drop for NoPipeSignal {
    fn drop(&mut self) {
        // SAFETY: as above. Takes a signal that waits for this thread, and lets others come again.
        unsafe {
            let mut pipe: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut pipe);
            libc::sigaddset(&mut pipe, libc::SIGPIPE);
            let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            if libc::sigismember(&self.before, libc::SIGPIPE) == 0 {
                while libc::sigtimedwait(&pipe, std::ptr::null_mut(), &now) == libc::SIGPIPE {}
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::{UnixListener, UnixStream};

    #[test]
    fn a_peer_that_says_nothing_is_given_up() {
        let path = std::env::temp_dir().join(format!("dpdk-watchdog-{}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        let begun = Instant::now();
        let (accepted, read) = bounded(path.to_str(), || {
            let accepted = listener.accept().map(drop);
            let mut silent = UnixStream::connect(&path);
            // It listens no more.
            if let Ok(stream) = &mut silent {
                let _ = stream.write_all(b"?");
                return (accepted, stream.read(&mut [0; 1]).map(|_| ()));
            }
            (accepted, Ok(()))
        });
        assert!(accepted.is_err() && read.is_ok());
        assert!((ACCEPT..ANSWERS + Duration::from_secs(5)).contains(&begun.elapsed()));
        assert_eq!(bounded(None, || 7), 7);
        fs::remove_file(&path).unwrap();
    }
}
