//! Delay and loss of a path in each direction, by the Simple Two-way Active Measurement Protocol (RFC 8762): a sender, and a reflector for
//! any number of senders. Packets and their evaluation are in `stamp`.

mod reflecting;
mod sending;
pub mod text;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::net::UdpSocket;
use std::time::{Duration, Instant};
use units::Nanos;

pub use reflecting::{Event, ReflectOptions, reflect};
pub use sending::{Order, Outcome, Progress, measure};

/// Room for the largest packet.
const PACKET: usize = 9_216;
/// Time after which the state of the host's clock is read again.
const CLOCK_STATE: Duration = Duration::from_secs(1);

/// The time of day, and what the kernel states about it.
#[derive(Debug)]
struct TimeOfDay {
    error_max_ns: Option<u64>,
    tai_ahead_s: u64,
    read: Instant,
}

impl TimeOfDay {
    fn new() -> Self {
        let error_max_ns =
            os::clock::synchronized().map(|state| state.error_max_ns.saturating_add(state.window_ns));
        Self { error_max_ns, tai_ahead_s: datagram::tai_ahead_s(), read: Instant::now() }
    }

    fn refresh(&mut self) {
        if self.read.elapsed() >= CLOCK_STATE {
            *self = Self::new();
        }
    }
}

/// The time of day, ns since 1970.
fn now() -> Nanos {
    Nanos(datagram::time_of_day_ns())
}

/// Waits until the socket has something, for at most this long; whether it has.
fn has_packet(socket: &UdpSocket, wait: Duration) -> bool {
    let wait = Timespec {
        tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: wait.subsec_nanos().into(),
    };
    // An interrupted wait is a short one.
    poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&wait)).is_ok_and(|ready| ready > 0)
}
