//! The sender: one session with a reflector.

use super::{PACKET, TimeOfDay, has_packet, now};
use crate::udp::{any, bound, mark, resolve};
use crate::{Wrong, reason};
use os::{clock, sockets};
use stamp::{Form, Format, Mode, Plan, Probe, Report, Session};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use units::Nanos;

/// Attempts to find out a reflector's mode.
const PROBES: usize = 3;
/// Time for the replies of an attempt.
const PROBE_WAIT: Duration = Duration::from_secs(1);
/// Time after which an attempt's second packet leaves if the first has no reply.
const SECOND_PROBE: Duration = Duration::from_millis(200);
/// Time within which the sender sees that it is to stop.
const NOW_AND_THEN: Duration = Duration::from_millis(50);
/// Time between two reports of progress.
const PROGRESS: Duration = Duration::from_secs(1);
/// Socket buffer for replies that are not yet read.
const ROOM: u32 = 1 << 20;
/// A time of day that is off a monotonic clock by more was set: steps of at most this, and this rate, are steered.
const STEP: Duration = Duration::from_millis(1);
const STEERED: f64 = 1e-3;

/// Parameters of a test.
#[derive(Debug, Clone)]
pub struct Order {
    /// Name or address of the reflector.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Address to send from.
    pub bind: Option<IpAddr>,
    /// Addresses of this family only: true for IPv6.
    pub v6: Option<bool>,
    /// Number of packets.
    pub packets: u32,
    /// Time from packet to packet.
    pub interval: Nanos,
    /// Time to wait for replies after the last packet.
    pub wait: Nanos,
    /// Octets of UDP payload.
    pub length: usize,
    /// Format of timestamps.
    pub format: Format,
    /// DSCP of the packets.
    pub dscp: u8,
    /// Form of the packets.
    pub form: Form,
}

/// Figures since the last report.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress {
    /// Time since the beginning, s.
    pub at_s: f64,
    /// Packets sent in all.
    pub sent: u64,
    /// Packets with a reply in all.
    pub received: u64,
    /// Round trips in this time: shortest, mean, longest, ns.
    pub round_trip_ns: Option<[f64; 3]>,
}

/// The result, and what this host had to do with it.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Figures.
    pub report: Report,
    /// Replies that came, and that this program did not read in time.
    pub unread: u64,
    /// Whether it was interrupted.
    pub is_interrupted: bool,
}

/// Runs the test. `began` gets the reflector's address and mode, `tell` the progress.
///
/// # Errors
/// The reflector can't be reached, or does not reply.
pub fn measure(
    order: &Order,
    stop: &AtomicBool,
    began: &mut dyn FnMut(SocketAddr, Mode),
    tell: &mut dyn FnMut(&Progress),
) -> Result<Outcome, Wrong> {
    let peer = resolve(&order.host, order.port, order.bind, order.v6)?;
    let probe = probed(order, peer, stop)?;
    began(peer, probe.mode());
    let mut random = [0; 2];
    // Any number does; sessions have different ports anyway.
    let _ = getrandom::fill(&mut random);
    let session = Session::new(Plan {
        form: order.form.clone(),
        packets: order.packets,
        interval: order.interval,
        length: order.length,
        ssid: u16::from_be_bytes(random).max(1),
        format: order.format,
        mode: probe.mode(),
        first_number: probe.first_number(),
    });
    let socket = opened(order, peer).map_err(Wrong::io(&peer.to_string()))?;
    Sending::new(order, session, socket).run(stop, tell)
}

/// A socket for a session with the reflector.
fn opened(order: &Order, peer: SocketAddr) -> io::Result<UdpSocket> {
    let socket = bound(SocketAddr::new(order.bind.unwrap_or(any(peer.ip())), 0))?;
    sockets::enlarge_receive_buffer(&socket, ROOM);
    datagram::note_arrivals(&socket, peer.is_ipv6())?;
    mark(&socket, peer.is_ipv6(), order.dscp << 2)?;
    socket.connect(peer)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Finds out whether the reflector is there, and how it numbers its replies.
fn probed(order: &Order, peer: SocketAddr, stop: &AtomicBool) -> Result<Probe, Wrong> {
    let mut found = Probe::default();
    for _ in 0..PROBES {
        let probe = probed_once(order, peer, stop)?;
        let is_complete = probe.is_complete();
        if probe.has_reply() || probe.has_unauthentic() && !found.has_reply() {
            found = probe;
        }
        if is_complete {
            break;
        }
    }
    if found.has_reply() {
        return Ok(found);
    }
    if found.has_unauthentic() {
        return Err(Wrong::Refused(format!(
            "{peer} replies, but not with the code of this key: give both ends the same key, and the reflector authenticated mode"
        )));
    }
    Err(Wrong::Refused(format!(
        "{peer} does not reply; does a STAMP or TWAMP Light reflector listen there, and does every firewall let UDP to this port and back pass?"
    )))
}

fn probed_once(order: &Order, peer: SocketAddr, stop: &AtomicBool) -> Result<Probe, Wrong> {
    let socket = opened(order, peer).map_err(Wrong::io(&peer.to_string()))?;
    let gone = |error: &io::Error| {
        Wrong::Refused(match error.kind() {
            ErrorKind::ConnectionRefused => {
                format!("{peer}: no reflector listens there; start 'eagre path-delay --reflect' on that host")
            }
            _ => format!("{peer}: {}", reason(error)),
        })
    };
    let (began, tai_ahead_s) = (Instant::now(), datagram::tai_ahead_s());
    let (mut probe, mut packet, mut sent) = (Probe::new(order.form.clone()), vec![0; order.form.base()], 0);
    while began.elapsed() < PROBE_WAIT && !probe.is_complete() {
        if stop.load(Ordering::Relaxed) {
            return Err(Wrong::Interrupted);
        }
        if sent == 0 || sent == 1 && (probe.has_reply() || began.elapsed() >= SECOND_PROBE) {
            probe.write(sent, now(), order.format, tai_ahead_s, &mut packet);
            socket.send(&packet).map_err(|error| gone(&error))?;
            sent += 1;
        }
        if !has_packet(&socket, NOW_AND_THEN) {
            continue;
        }
        let mut reply = [0; PACKET];
        match socket.recv(&mut reply) {
            Ok(length) => {
                probe.take(&reply[..length]);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(gone(&error)),
        }
    }
    Ok(probe)
}

/// A session under way.
struct Sending<'o> {
    order: &'o Order,
    session: Session,
    socket: UdpSocket,
    time: TimeOfDay,
    began: Instant,
    /// Time of day minus the monotonic clock at the beginning, ns.
    ahead: i128,
    trips: Trips,
}

/// Round trips since the last report of progress, ns.
#[derive(Debug, Default)]
struct Trips {
    number: u32,
    sum: f64,
    ends: Option<[f64; 2]>,
}

impl Trips {
    fn add(&mut self, ns: f64) {
        let [least, most] = self.ends.unwrap_or([ns; 2]);
        self.ends = Some([least.min(ns), most.max(ns)]);
        self.number += 1;
        self.sum += ns;
    }

    fn take(&mut self) -> Option<[f64; 3]> {
        let trips = std::mem::take(self);
        let [least, most] = trips.ends?;
        Some([least, trips.sum / f64::from(trips.number), most])
    }
}

fn ahead() -> i128 {
    i128::from(datagram::time_of_day_ns()) - i128::from(clock::monotonic_ns())
}

impl<'o> Sending<'o> {
    fn new(order: &'o Order, session: Session, socket: UdpSocket) -> Self {
        let (time, began) = (TimeOfDay::new(), Instant::now());
        Self { order, session, socket, time, began, ahead: ahead(), trips: Trips::default() }
    }

    fn run(mut self, stop: &AtomicBool, tell: &mut dyn FnMut(&Progress)) -> Result<Outcome, Wrong> {
        let (mut next_progress, mut last_sent) = (PROGRESS, Duration::ZERO);
        let wait = Duration::from_nanos(self.order.wait.0);
        loop {
            let elapsed = self.began.elapsed();
            let due = self.session.next_due().map(|due| Duration::from_nanos(due.0));
            if due.is_some_and(|due| due <= elapsed) {
                self.send()?;
                last_sent = elapsed;
                self.hear()?;
                continue;
            }
            let is_interrupted = stop.load(Ordering::Relaxed);
            let is_over = due.is_none() && (self.session.is_complete() || elapsed >= last_sent + wait);
            if elapsed >= next_progress || is_over || is_interrupted {
                next_progress += PROGRESS;
                tell(&self.progress(elapsed));
            }
            if is_over || is_interrupted {
                return Ok(self.outcome(is_interrupted));
            }
            let until = due.unwrap_or(last_sent + wait).min(next_progress).min(elapsed + NOW_AND_THEN);
            if has_packet(&self.socket, until.saturating_sub(elapsed)) {
                self.hear()?;
            }
        }
    }

    fn send(&mut self) -> Result<(), Wrong> {
        self.time.refresh();
        let mut packet = [0; PACKET];
        let packet = &mut packet[..self.order.length];
        self.session.write(now(), self.time.error_max_ns, self.time.tai_ahead_s, packet);
        match self.socket.send(packet) {
            // A packet that found no room, or whose predecessor was refused, is one without a reply.
            Err(error) if !is_passing(&error) => Err(Wrong::Refused(reason(&error))),
            _ => Ok(()),
        }
    }

    /// Takes all that has come.
    fn hear(&mut self) -> Result<(), Wrong> {
        let mut packet = [0; PACKET];
        loop {
            match datagram::receive(&self.socket, &mut packet) {
                Ok(arrival) => {
                    let at = arrival.at_ns.map_or_else(now, Nanos);
                    let packet = &packet[..arrival.length.min(PACKET)];
                    let tai_s = self.time.tai_ahead_s;
                    // The session counts those that are none of its replies.
                    if let Ok(Some(trip)) = self.session.take(packet, at, arrival.hops, tai_s) {
                        self.trips.add(trip.0 as f64);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(Wrong::Refused(reason(&error))),
            }
        }
    }

    fn progress(&mut self, elapsed: Duration) -> Progress {
        let (sent, received) = self.session.progress();
        Progress { at_s: elapsed.as_secs_f64(), sent, received, round_trip_ns: self.trips.take() }
    }

    fn outcome(self, is_interrupted: bool) -> Outcome {
        let mut report = self.session.report();
        let unread = sockets::dropped(&self.socket).unwrap_or(0);
        if unread > 0 {
            report.notes.push(format!(
                "{unread} packets came that this program did not read in time: they count as lost"
            ));
        }
        let moved = (ahead() - self.ahead).unsigned_abs() as f64;
        let steered = STEP.as_nanos() as f64 + STEERED * self.began.elapsed().as_nanos() as f64;
        if moved > steered {
            report.notes.push("this host's time of day was set during the test: delays are wrong".to_owned());
        }
        Outcome { report, unread, is_interrupted }
    }
}

/// An error of one packet. The reflector may come back: it is no end of the session.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock
            | ErrorKind::Interrupted
            | ErrorKind::ConnectionRefused
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
    ) || error.raw_os_error() == Some(rustix::io::Errno::NOBUFS.raw_os_error())
}
