//! Capacity of a path in one direction, at the IP layer (RFC 9097), by the UDP Speed Test Protocol (RFC 9946): a
//! client, and a server for many concurrent clients.

mod client;
mod receiving;
mod sending;
mod server;
pub mod text;

use crate::{Wrong, reason};
use os::sockets;
use rustix::net::RecvFlags;
use socket2::SockRef;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};
use udpst::{Interval, Keys};
use units::Nanos;

pub use client::{Order, measure};
pub use server::{Event, ServerOptions, serve};

/// A test, or what comes before it, is over when nothing comes for so long.
const SILENCE: Nanos = Nanos::from_secs(3);
/// Interval at which a thread that waits for its socket wakes up.
const LOOK_UP: Duration = Duration::from_millis(1);
/// Socket buffer for load that is not yet received, or not yet sent.
const ROOM: u32 = 8 << 20;
/// Time by which a server extends a test, so that the last interval is whole wherever it is counted.
const LONGER: Nanos = Nanos::from_millis(500);
/// Number of end packets: any of them may be lost.
const FAREWELLS: usize = 3;

/// A shared key, and its number.
#[derive(Clone)]
pub struct SharedKey {
    /// Which it is, 0 to 255.
    pub number: u8,
    /// The key.
    pub secret: String,
}

impl std::fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SharedKey {{ number: {} }}", self.number)
    }
}

/// A monotonic time of day, unaffected by changes of the host's clock.
#[derive(Debug, Clone, Copy)]
struct Clock {
    began: Instant,
    at: Nanos,
}

impl Clock {
    fn new() -> Self {
        let at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { began: Instant::now(), at: Nanos(at.as_nanos() as u64) }
    }

    fn now(&self) -> Nanos {
        self.at.saturating_add(Nanos(self.began.elapsed().as_nanos() as u64))
    }

    fn seconds(&self) -> u32 {
        (self.now().0 / 1_000_000_000) as u32
    }
}

/// An end of a test: a socket that has a peer.
struct End<'a> {
    socket: UdpSocket,
    is_v6: bool,
    clock: Clock,
    stop: &'a AtomicBool,
    /// Replies to repeated requests: a request, and its last reply.
    again: Option<(udpst::Kind, Vec<u8>)>,
}

/// Receiver of intervals.
type Tell<'t> = &'t mut dyn FnMut(&Interval);

/// Outcome of a test at this end.
#[derive(Debug, Default)]
struct Outcome {
    intervals: Vec<Interval>,
    round_trip_ms: Option<u32>,
    limited_by: Option<String>,
}

impl<'a> End<'a> {
    fn new(socket: UdpSocket, stop: &'a AtomicBool, clock: Clock) -> io::Result<Self> {
        let is_v6 = matches!(socket.peer_addr()?.ip(), IpAddr::V6(ip) if ip.to_ipv4_mapped().is_none());
        sockets::enlarge_receive_buffer(&socket, ROOM);
        // A buffer of the usual size does, too.
        let _ = SockRef::from(&socket).set_send_buffer_size(ROOM as usize / 4);
        socket.set_read_timeout(Some(LOOK_UP))?;
        socket.set_write_timeout(Some(20 * LOOK_UP))?;
        Ok(Self { socket, is_v6, clock, stop, again: None })
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Number of octets received, if any.
    fn hear(&self, into: &mut [u8]) -> Result<Option<usize>, Wrong> {
        match rustix::net::recv(&self.socket, into, RecvFlags::DONTWAIT) {
            Ok((length, _)) => Ok(Some(length)),
            Err(error) => refuse(error.into()).map(|()| None),
        }
    }

    /// Answers a request that comes again.
    fn repeat(&self, packet: &[u8]) {
        if let Some((kind, answer)) = &self.again
            && udpst::Kind::of(packet) == Some(*kind)
        {
            // If this one is lost, too, the next one is answered.
            let _ = self.socket.send(answer);
        }
    }
}

/// An error that waiting does not mend: the other end has gone.
fn refuse(error: io::Error) -> Result<(), Wrong> {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(()),
        ErrorKind::ConnectionRefused => {
            Err(Wrong::Refused("the other end has closed its port during the test".to_owned()))
        }
        _ => Err(Wrong::Refused(reason(&error))),
    }
}

/// A control packet, with proof of who sends it if there are keys.
fn sealed<const N: usize>(mut packet: [u8; N], proof: Option<(&[u8; 32], u8)>, clock: &Clock) -> [u8; N] {
    if let Some((key, number)) = proof {
        udpst::Sealed::seal(&mut packet, key, clock.seconds(), number);
    }
    packet
}

/// Both keys of a test, and the number of the shared one.
#[derive(Debug, Clone)]
struct Proof {
    keys: Keys,
    number: u8,
}

/// Share of an interval's skipped packets from which on it is reported.
const GIVEN_UP: f64 = 0.02;

fn given_up(ratio: f64) -> Option<String> {
    (ratio > GIVEN_UP).then(|| {
        format!("this host, which was too late for {} of the bursts it was to send", units::percent(ratio))
    })
}
