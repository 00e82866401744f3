//! Whether a result can be trusted: the tester's own latency, the verdict, the figures that hold, the criteria.

mod criteria;
mod delays;
mod evidence;
mod findings;
mod holds;
mod moves;
mod pauses;
mod servers;
mod unsaid;

pub(crate) use criteria::judge_criteria;
pub(crate) use evidence::Evidence;
pub(crate) use pauses::disturbances;

use crate::counts::interval::Shape;
use crate::counts::sessions::SessionCounts;
use crate::rows;
use crate::sums::Sums;
use crate::trial::hosts::EmulatedHosts;
use crate::trial::session_endpoints::{ChecksumsLeft, checksums_left};
use crate::worker::Worker;
use crate::worker::arrivals::{ANY_PORT, Expected};
use crate::worker::flows::Local;
use crate::worker::receive::Receiver;
use crate::worker::template::{Blocks, Template};
use crate::worker::transmit::{Signer, Transmitter, TxLoad, TxStream};
use crate::worker::varied::TxContent;
use evidence::{BEFORE_SENT_MAX, DRIFT_PPM_MAX};
use findings::Findings;
use measure::Recorder;
use os::link_watch::LinkChange;
use port::{Clock, Port, PortRequest, TxOffload, ring};
use result::{LatencyResult, Verdict};
use sched::{Pace, Schedule, Share, StreamLoad};
use session::Reason;
use session::plan::{OpenRate, Side};
use std::sync::Arc;
use units::{FrameLen, Nanos, Pps, count};
use wire::signature::{Mark, Stamp};
use wire::{Header, PacketSpec, protocol};

/// Share of packets due but not sent above which the tester is the limit.
const SHORTFALL_MAX: f64 = 0.001;
/// Share of busy time above which a worker is the limit.
const FULL: f64 = 0.95;
/// Share of foreign frames that may look damaged by chance: the mark has 24 bits.
const LOOKALIKES: f64 = 1e-6;
/// Text for an interface whose other end is down or unplugged, which some tests do to a device.
pub const CARRIER_LOST: &str = "lost its carrier";
/// Length and rate of the loop-back that measures the tester itself.
const SELF_TEST: Nanos = Nanos::from_millis(5);
const SELF_TEST_RATE: Pps = Pps::new(200_000);

/// Whether a reason of a verdict is only a disturbance by other processes, or the tester's machine.
pub fn is_disturbance(reason: &str) -> bool {
    reason.starts_with("worker ") || reason.contains(" left back to back ")
}

/// The tester's own share of a latency: a minimum frame sent and received by this thread over an in-process link.
pub fn self_latency<C: Clock>(clock: &C) -> Option<LatencyResult> {
    let len = FrameLen::MIN.without_fcs() as u16;
    let expected = [Expected { port: ANY_PORT, shortest: len, longest: len, egress: 0 }];
    let request = PortRequest { queues: 1, frame_len_max: 64, confined: false };
    let mut port = ring::looped("ring:self", request).ok()?;
    let mut queues = port.take_queues();
    let mark = Mark::of_run(0);
    let headers = ["ethernet", "ipv4", "udp"].map(|name| protocol(name).map(Header::new));
    let spec = PacketSpec { headers: headers.into_iter().flatten().collect(), ..PacketSpec::default() };
    let mut packet = spec.build(FrameLen::MIN).ok()?;
    let stamp = Stamp::prepare(&mut packet, &mark.lane(0, 0))?;
    let mut blocks = Blocks::default();
    let template = Template::new(&mut blocks, &packet, Some(stamp), TxOffload::default());
    let stream = TxStream::new(0, TxContent::Same(template), true);
    let load =
        StreamLoad { pace: Pace::Even(SELF_TEST_RATE), group: 1, count: None, start_delay: Nanos::ZERO };
    let schedule = Schedule::new(&[(0, load)], &[], Nanos::ZERO, SELF_TEST, Share::WHOLE);
    let shape = Shape::new(1, 1, 0, true);
    let signer = Signer { mark, lane: 0 };
    let load = TxLoad { streams: vec![stream], blocks, schedule, ..TxLoad::default() };
    let transmitter = Transmitter::new(queues.tx[0].as_mut(), 0, signer, load, shape);
    let receiver = Receiver::new(queues.rx[0].as_mut(), 0, mark, 1_500);
    let recorder = Recorder::new(shape.table(), 1);
    let interval = Box::new(shape.interval());
    let mut worker = Worker::new(
        vec![transmitter],
        vec![receiver],
        vec![Local::default()],
        Arc::new(EmulatedHosts::none()),
        Arc::new(expected),
        recorder,
        interval,
        Nanos::ZERO,
    );
    worker.attach(clock.now()).ok()?;
    let deadline = clock.now() + SELF_TEST + SELF_TEST;
    while (worker.turn(clock) || !worker.is_done_sending()) && clock.now() < deadline {}
    let last = worker.finish(clock.now(), Box::new(shape.interval()));
    let mut sums = Sums::new(shape, 1);
    sums.add(0, &last.interval);
    let stream = &sums.arrivals.streams[0];
    rows::latency(&stream.counts.latency, stream.latency.as_ref())
}

impl Evidence<'_> {
    /// Whether the figures can be trusted, and whether the tester was the limit.
    pub(crate) fn verdict(&self) -> Verdict {
        let mut verdict = Findings::new();
        self.judge_sender(&mut verdict);
        self.judge_sending(&mut verdict);
        self.judge_max_rates(&mut verdict);
        self.judge_receiving(&mut verdict);
        self.judge_numbers(&mut verdict);
        self.judge_delays(&mut verdict);
        self.judge_pauses(&mut verdict);
        self.judge_bursts(&mut verdict);
        self.judge_links(&mut verdict);
        self.note_moves(&mut verdict);
        self.judge_queues(&mut verdict);
        self.judge_sessions(&mut verdict);
        self.judge_session_frames(&mut verdict);
        self.note_servers_limits(&mut verdict);
        self.judge_captures(&mut verdict);
        self.judge_marks(&mut verdict);
        self.judge_clearing(&mut verdict);
        self.tls_notes().into_iter().for_each(|note| verdict.note(note));
        self.device_notes().into_iter().for_each(|note| verdict.note(note));
        if let Some(ppm) = self.drift_ppm.filter(|ppm| ppm.abs() > DRIFT_PPM_MAX) {
            verdict.fault(format!(
                "the clock drifted {ppm:.0} ppm from the system clock; rates and latencies are off by as much"
            ));
        }
        verdict.end()
    }

    /// Counters that were not set to zero at one instant.
    fn judge_clearing(&self, verdict: &mut Findings) {
        if self.sums.since.is_inexact {
            verdict.fault(
                "counters were not set to zero at one instant: a worker was held up, and packets may count as sent and \
                 not as received"
                    .to_owned(),
            );
        }
    }

    fn judge_sending(&self, verdict: &mut Findings) {
        let sums = self.sums;
        let has_sent = (0..sums.sent.len()).any(|stream| sums.sent_in_all(stream) > 0);
        if !self.trial.is_part() && !sums.sent.is_empty() && !has_sent {
            verdict.lack(match self.trial.plan.sent_elsewhere {
                None => "no packet was sent".to_owned(),
                Some(_) => "no packet of the profile arrived: is it sent, with the same seed, to this port?"
                    .to_owned(),
            });
        }
        for (port, end) in self.ends.iter().enumerate() {
            let paced = self.trial.streams.iter().zip(&self.sums.sent);
            let sent: u64 =
                paced.filter(|(s, _)| s.from == port && s.load.pace.is_paced()).map(|(_, sent)| sent).sum();
            let due = sent + end.unsent;
            if end.unsent as f64 > due as f64 * SHORTFALL_MAX && self.lacks_time() {
                // The cause is that others had the core.
                verdict.limit_silently();
            } else if end.unsent as f64 > due as f64 * SHORTFALL_MAX {
                let share = 100.0 * end.unsent as f64 / due as f64;
                let why = match self.trial.plan.ports[port].rate_max {
                    Some(limit) => {
                        format!("the load exceeds the port's limit of {limit}, or what its worker can send")
                    }
                    None => "the load exceeds what this port and its worker can send".to_owned(),
                };
                verdict.limit(format!(
                    "port {}: {} of {due} packets due ({share:.2}%) were not sent: {why}",
                    self.port_name(port),
                    end.unsent
                ));
            }
            for (reason, n) in end.drops.tx.iter().filter(|(_, n)| *n > 0) {
                verdict.fault(format!(
                    "port {}: the driver accepted {n} packets and did not send them ({reason}); the loss includes them",
                    self.port_name(port)
                ));
            }
        }
    }

    /// Traffic sent by another process is known by its arrivals.
    fn judge_sender(&self, verdict: &mut Findings) {
        if self.trial.plan.sent_elsewhere.is_none() {
            return;
        }
        verdict.note(
            "the streams were sent by another process: 'sent' is derived from the sequence numbers of the packets that arrived; lost packets \
             after the last arrival, and what that process found, are in its own result"
                .to_owned(),
        );
        if rows::is_of_another_clock(self.trial, self.sums) {
            verdict.note(
                "the sender has another clock (another machine): latency and jitter are not measured; loss, order and time \
                 between arrivals are"
                    .to_owned(),
            );
        } else if let Some(ppm) = self.drift_ppm {
            verdict.note(format!(
                "latency is from one process's clock to another's on this machine; both follow the system's clock, this one \
                 within {:.1} ppm: within {:.1} us for each second since the processes began",
                ppm.abs(),
                ppm.abs()
            ));
        }
    }

    /// Streams at rate `max` without loss measure the tester, not the device.
    fn judge_max_rates(&self, verdict: &mut Findings) {
        if !self.trial.is_alone() {
            return;
        }
        let at_max = |index: usize| !self.trial.streams[index].load.pace.is_paced();
        let lossless = |index: usize| {
            let stream = &self.trial.streams[index];
            let got = self.sums.arrivals.streams[index].counts.received;
            !(stream.is_counted() && stream.to.is_some()) || got >= self.sums.sent[index]
        };
        let mut own = (0..self.trial.streams.len()).filter(|i| at_max(*i)).peekable();
        if own.peek().is_some() && own.all(lossless) {
            verdict.limit("rate 'max' without loss: the tester, not the device, was the limit".to_owned());
        }
    }

    /// Sessions due but not opened, or not possible for lack of the tester's own resources.
    fn judge_sessions(&self, verdict: &mut Findings) {
        for (index, entry) in self.trial.plan.sessions.iter().enumerate() {
            let plan = &entry.session;
            if plan.client.as_ref().is_none_or(|client| !self.trial.here[client.port]) {
                continue;
            }
            let counts = self.sums.sessions(index, Side::Client);
            let (name, opened) = (&plan.name, counts.app.attempted);
            let entry = ("sessions", name.as_str());
            let due = opened + counts.unopened.max(0) as u64;
            let before = self.sums.since.attempted.get(SessionCounts::index(index, Side::Client));
            if due == 0 && before.is_none_or(|attempted| *attempted == 0) {
                verdict.lack(format!("sessions {name}: no session was opened"));
            }
            if counts.unopened as f64 > due as f64 * SHORTFALL_MAX {
                let lacks_time = self.lacks_time();
                verdict.limit_of(
                    entry,
                    "unopened",
                    [counts.unopened as u64, due, 0],
                    move |[unopened, due, _]| {
                        let share = 100.0 * unopened as f64 / due as f64;
                        let why = match lacks_time {
                            true => "a worker waited for its core",
                            false => "the rate exceeds what the workers can open",
                        };
                        format!("{unopened} of {due} sessions due ({share:.2}%) were not opened: {why}")
                    },
                );
            }
            let no_port = counts.app.failed(Reason::NoPort);
            if no_port > 0 {
                verdict.limit(format!(
                    "sessions {name}: {no_port} sessions found no free address and port; add client addresses or ports, or \
                     shorten time_wait"
                ));
            }
            if plan.load.open == OpenRate::Max && counts.app.failed_in_all() == 0 && self.workers_are_full() {
                verdict.limit(format!(
                    "sessions {name}: all cores of the tester were busy at rate 'max' and nothing failed: the tester, not the \
                     device, was the limit"
                ));
            }
        }
    }

    /// Frames of sessions that were taken although a card should have finished them, and those that were refused.
    fn judge_session_frames(&self, verdict: &mut Findings) {
        for (index, entry) in self.trial.plan.sessions.iter().enumerate() {
            let plan = &entry.session;
            let sides = [(Side::Client, &plan.client, "clients"), (Side::Server, &plan.server, "servers")];
            for (side, played, who) in sides {
                let kind = |of_clients: &'static str, of_servers| match side {
                    Side::Client => of_clients,
                    Side::Server => of_servers,
                };
                let Some(played) = played else { continue };
                let frames = self.sums.sessions(index, side).frames;
                let name = &plan.name;
                let port = self.port_name(played.port);
                let left = checksums_left(&self.trial.plan, played.port, &self.facts[played.port]);
                let entry = ("sessions", name.as_str());
                if left == ChecksumsLeft::Link && frames.unfinished_checksum > 0 {
                    verdict.note_of(entry, kind("linked to clients", "linked to servers"), [0; 3], move |_| {
                        format!(
                            "frames to the {who} came without TCP and UDP checksums: the link is within this process and \
                             damages nothing; with a capture on a port they are computed"
                        )
                    });
                } else if frames.unfinished_checksum > 0 {
                    let numbers = [frames.unfinished_checksum, 0, 0];
                    verdict.note_of(entry, kind("left to clients", "left to servers"), numbers, move |[n, ..]| {
                        format!(
                            "{} frames to the {who} had a checksum that the kernel at the other end left to a card; they count \
                             as good",
                            count(n)
                        )
                    });
                }
                if frames.bad_checksum > 0 {
                    let numbers = [frames.bad_checksum, frames.frames_in, frames.unfinished_untold];
                    verdict.note_of(entry, kind("bad to clients", "bad to servers"), numbers, move |numbers| {
                        let untold = match numbers[2] {
                            0 => String::new(),
                            untold => format!(
                                ": {} of them look as if they were left to a card, and a program in between passed them on \
                                 as they were; switch that off at the other end: ethtool -K INTERFACE tx off",
                                count(untold)
                            ),
                        };
                        let [n, of, _] = numbers.map(count);
                        format!("{n} of {of} frames to the {who} were refused because of a wrong checksum{untold}")
                    });
                }
                if frames.bad_cut_short > 0 {
                    verdict.fault(format!(
                        "port {port}: {} packets of sessions {name} were longer than the port's buffers and were lost: the \
                         other end leaves segmentation to a card; switch that off there: ethtool -K INTERFACE tso off gso off \
                         gro off",
                        count(frames.bad_cut_short)
                    ));
                }
            }
        }
    }

    /// Whether some worker was busy all the time.
    fn workers_are_full(&self) -> bool {
        self.sums.workers.iter().any(|time| time.busy_ns as f64 > time.total_ns as f64 * FULL)
    }

    /// Changes of the ports' own interfaces are not the device's loss.
    fn judge_links(&self, verdict: &mut Findings) {
        for (port, end) in self.ends.iter().enumerate() {
            for event in &end.links {
                let (name, link, at) = (self.port_name(port), &event.interface, event.at.as_secs_f64());
                let happened = match event.change {
                    LinkChange::Running => continue,
                    LinkChange::SetDown => "was set down on this machine".to_owned(),
                    LinkChange::CarrierLost => CARRIER_LOST.to_owned(),
                    LinkChange::Deleted => "was deleted".to_owned(),
                    LinkChange::Moved => "was moved to another network namespace".to_owned(),
                    LinkChange::Program { before, after } => match (before, after) {
                        (Some(_), Some(after)) => {
                            format!("got another XDP program ({after}), which took the packets")
                        }
                        (None, Some(after)) => {
                            format!("got an XDP program ({after}), which can take packets")
                        }
                        _ => "lost its XDP program, without which AF_XDP receives nothing".to_owned(),
                    },
                    LinkChange::Mtu { before, after } if after > before => {
                        verdict.note(format!(
                            "port {name}: the MTU of {link} was raised from {before} to {after} bytes {at:.3} s after the start"
                        ));
                        continue;
                    }
                    LinkChange::Mtu { before, after } => {
                        format!("got an MTU of {after} bytes instead of {before}")
                    }
                    LinkChange::Speed { before, after } => {
                        let [before, after] = [before, after].map(|bps| bps as f64 / 1e9);
                        format!("went from {before} to {after} Gbit/s")
                    }
                    LinkChange::Queues { before, after } => {
                        let told = |(rx, tx): (u32, u32)| format!("{rx} receive and {tx} transmit queues");
                        format!("got {} instead of {}", told(after), told(before))
                    }
                };
                verdict.fault(format!(
                    "port {name}: {link} {happened} {at:.3} s after the start; the loss includes packets lost by that"
                ));
            }
        }
    }

    /// Workers that could not help, because a queue, and a session, belongs to one of them; and what several workers can't know.
    fn judge_queues(&self, verdict: &mut Findings) {
        let workers = self.sums.workers.len();
        let mut streams = self.trial.streams.iter().filter(|stream| stream.measured);
        let is_asked =
            self.trial.plan.criteria.iter().any(|criterion| criterion.path.ends_with(".reordered"));
        if is_asked && streams.any(|stream| self.trial.here[stream.from] && self.ends[stream.from].queues > 1)
        {
            verdict.note(
                "several workers sent each stream: 'reordered' counts packets that arrived after a later one of the same worker; packets of \
                 different workers that overtook each other are not counted"
                    .to_owned(),
            );
        }
        let own = self.ends.iter().enumerate().filter(|(port, _)| self.trial.here[*port]);
        let ports = own.map(|(port, end)| (port, end.queues));
        let (sessions, streams): (Vec<_>, Vec<_>) =
            ports.partition(|(port, _)| self.trial.has_sessions(*port));
        let queues = |of: &[(usize, usize)]| of.iter().map(|(_, queues)| *queues).sum::<usize>();
        let few = sessions.iter().min_by_key(|(_, queues)| *queues).filter(|(_, queues)| *queues < workers);
        let used = queues(&streams).max(sessions.iter().map(|(_, queues)| *queues).max().unwrap_or(0));
        if used < workers && used > 0 {
            verdict.note(format!(
                "{} of {workers} workers had nothing to do: a queue belongs to one worker, and the ports have too few{}",
                workers - used,
                if sessions.is_empty() { "" } else { "; sessions on ports with one queue each run on one worker" }
            ));
        } else if let Some((port, queues)) = few {
            verdict.note(format!(
                "sessions ran on {queues} of {workers} workers: port {} has no more queues, and a session belongs to one worker",
                self.port_name(*port)
            ));
        }
    }

    fn judge_receiving(&self, verdict: &mut Findings) {
        for (port, end) in self.ends.iter().enumerate() {
            let (name, n) = (self.port_name(port), &self.sums.ports[port]);
            for (reason, n) in end.drops.rx.iter().filter(|(_, n)| *n > 0) {
                verdict.reject(format!(
                    "port {name}: the tester dropped {n} received frames ({reason}); the loss includes them"
                ));
            }
            if n.rx_damaged as f64 > n.rx_other as f64 * LOOKALIKES {
                verdict.fault(format!(
                    "port {name}: {} test packets arrived with a damaged or forged signature and do not count as received; the \
                     loss includes them",
                    n.rx_damaged
                ));
            }
            if n.rx_misrouted > 0 {
                verdict.fault(format!(
                    "port {name}: received {} test packets meant for another port; check the cabling",
                    n.rx_misrouted
                ));
            }
            if n.rx_unknown_stream > 0 {
                verdict.fault(format!(
                    "port {name}: received {} test packets of unknown streams; does another tester use the same seed?",
                    n.rx_unknown_stream
                ));
            }
            if n.rx_not_steered > 0 {
                verdict.reject(format!(
                    "port {name}: {} frames of sessions could not be passed to the worker that owns their flow; losses \
                     include them",
                    n.rx_not_steered
                ));
            }
            if n.rx_hosts_busy > 0 {
                verdict.note_of(("port", name), "hosts", [n.rx_hosts_busy, 0, 0], |[n, ..]| {
                    format!(
                        "{n} frames for the port's hosts came faster than the tester looks at them and were dropped; \
                         protocols send again, which takes time"
                    )
                });
            }
            let here = self.trial.is_alone();
            if here && n.rx_before_sent as f64 > n.rx_packets as f64 * BEFORE_SENT_MAX {
                verdict.fault(format!(
                    "port {name}: {} packets arrived before they were sent, by the cores' clocks: the clocks differ",
                    n.rx_before_sent
                ));
            }
        }
    }
}

impl Evidence<'_> {
    /// Test packets whose numbers can't be right, or are too old to be identified.
    fn judge_numbers(&self, verdict: &mut Findings) {
        let counted = |count: fn(&measure::Counts) -> u64| {
            let streams = self.sums.arrivals.streams.iter().map(|stream| count(&stream.counts));
            let mut some = streams.enumerate().filter(|(_, n)| *n > 0);
            let (first, n) = some.next()?;
            let (others, n) = some.fold((0, n), |(others, sum), (_, n)| (others + 1, sum + n));
            let name = &self.trial.plan.streams[first].name;
            let streams = match others {
                0 => format!("stream {name}"),
                more => format!("stream {name} and {more} more"),
            };
            Some((streams, n))
        };
        if let Some((streams, n)) = counted(|counts| counts.stale) {
            verdict.fault(format!(
                "{streams}: {n} packets arrived more than {} numbers late, so late and duplicate can't be distinguished; \
                 the loss includes them",
                measure::WINDOW
            ));
        }
        if let Some((streams, n)) = counted(|counts| counts.rejected) {
            verdict.fault(format!(
                "{streams}: {n} packets had sequence numbers that were not sent yet; they do not count as received"
            ));
        }
    }
}
