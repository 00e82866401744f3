//! Whether a result can be trusted: the tester's own latency, the verdict, the criteria.

use crate::counts::interval::Shape;
use crate::rows::{self, PortEnd};
use crate::sums::Sums;
use crate::trial::Trial;
use crate::worker::Worker;
use crate::worker::flows::Local;
use crate::worker::receive::{ANY_PORT, Expected, Receiver};
use crate::worker::template::{Blocks, Template};
use crate::worker::transmit::{Transmitter, TxStream};
use crate::worker::varied::TxContent;
use measure::Recorder;
use neighbour::Hosts;
use port::{Clock, Port, PortRequest, TxOffload, ring};
use profile::plan::{Comparison, Criterion};
use result::{CriterionResult, LatencyResult, Numbers, ResultDocument, Verdict};
use sched::{Pace, Schedule, Share, StreamLoad};
use session::Reason;
use session::plan::{OpenRate, Side};
use units::{FrameLen, Nanos, Pps};
use wire::signature::{self, Stamp};
use wire::{Header, PacketSpec, protocol};

/// Share of packets due but not sent above which the tester is the limit.
const SHORTFALL_MAX: f64 = 0.001;
/// Share of busy time above which a worker is the limit.
const FULL: f64 = 0.95;
/// Clock drift above which a result is not valid, parts per million.
const DRIFT_PPM_MAX: f64 = 500.0;
/// Share of packets that may arrive before they were sent: clocks of two cores differ by some nanoseconds.
const BEFORE_SENT_MAX: f64 = 0.001;
/// Length and rate of the loop-back that measures the tester itself.
const SELF_TEST: Nanos = Nanos::from_millis(5);
const SELF_TEST_RATE: Pps = Pps::new(200_000);

/// The tester's own share of a latency: a minimum frame sent and received by this thread over an in-process link.
pub fn self_latency<C: Clock>(clock: &C) -> Option<LatencyResult> {
    let hosts = [Hosts::new(Vec::new(), Vec::new())];
    let len = FrameLen::MIN.without_fcs() as u16;
    let expected = [Expected { port: ANY_PORT, shortest: len, longest: len }];
    let request = PortRequest { queues: 1, frame_len_max: 64 };
    let mut port = ring::looped("ring:self", request).ok()?;
    let mut queues = port.take_queues();
    let mark = signature::run_mark(0);
    let headers = ["ethernet", "ipv4", "udp"].map(|name| protocol(name).map(Header::new));
    let spec = PacketSpec { headers: headers.into_iter().flatten().collect(), ..PacketSpec::default() };
    let mut packet = spec.build(FrameLen::MIN).ok()?;
    let stamp = Stamp::prepare(&mut packet, mark, 0, 0)?;
    let mut blocks = Blocks::default();
    let template = Template::new(&mut blocks, &packet, Some(stamp), TxOffload::default());
    let stream = TxStream::new(0, TxContent::Same(template), true);
    let load =
        StreamLoad { pace: Pace::Even(SELF_TEST_RATE), group: 1, count: None, start_delay: Nanos::ZERO };
    let schedule = Schedule::new(&[(0, load)], &[], Nanos::ZERO, SELF_TEST, Share::WHOLE);
    let shape = Shape::new(1, 1, 0, true);
    let transmitter =
        Transmitter::new(queues.tx[0].as_mut(), 0, schedule, vec![stream], blocks, Vec::new(), shape);
    let receiver = Receiver::new(queues.rx[0].as_mut(), 0, mark);
    let recorder = Recorder::new(shape.table(), 1);
    let interval = Box::new(shape.interval());
    let mut worker = Worker::new(
        vec![transmitter],
        vec![receiver],
        vec![Local::default()],
        &hosts,
        &expected,
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

/// What the verdict is made from.
pub(crate) struct Evidence<'a> {
    pub(crate) trial: &'a Trial<'a>,
    pub(crate) sums: &'a Sums,
    pub(crate) ends: &'a [PortEnd],
    pub(crate) drift_ppm: Option<f64>,
}

impl Evidence<'_> {
    /// Whether the figures can be trusted, and whether the tester was the limit.
    pub(crate) fn verdict(&self) -> Verdict {
        let mut verdict = Findings(Verdict { valid: true, ..Verdict::default() });
        self.judge_sending(&mut verdict);
        self.judge_max_rates(&mut verdict);
        self.judge_receiving(&mut verdict);
        self.judge_sessions(&mut verdict);
        if let Some(ppm) = self.drift_ppm.filter(|ppm| ppm.abs() > DRIFT_PPM_MAX) {
            verdict.reject(format!(
                "the clock drifted {ppm:.0} ppm from the system clock; rates and latencies are off by as much"
            ));
        }
        verdict.0
    }

    fn port_name(&self, port: usize) -> &str {
        &self.trial.plan.ports[port].name
    }

    fn judge_sending(&self, verdict: &mut Findings) {
        if !self.sums.sent.is_empty() && self.sums.sent.iter().all(|sent| *sent == 0) {
            verdict.reject("no packet was sent".to_owned());
        }
        for (port, end) in self.ends.iter().enumerate() {
            let paced = self.trial.streams.iter().zip(&self.sums.sent);
            let sent: u64 =
                paced.filter(|(s, _)| s.from == port && s.load.pace.is_paced()).map(|(_, sent)| sent).sum();
            let due = sent + end.unsent;
            if end.unsent as f64 > due as f64 * SHORTFALL_MAX {
                let share = 100.0 * end.unsent as f64 / due as f64;
                verdict.limit(format!(
                    "port {}: {} of {due} packets due ({share:.2}%) were not sent: the load exceeds what this port and \
                     its worker can send",
                    self.port_name(port),
                    end.unsent
                ));
            }
            for (reason, n) in end.drops.tx.iter().filter(|(_, n)| *n > 0) {
                verdict.reject(format!(
                    "port {}: the driver accepted {n} packets and did not send them ({reason}); the loss includes them",
                    self.port_name(port)
                ));
            }
        }
    }

    /// Streams at rate `max` without loss measure the tester, not the device.
    fn judge_max_rates(&self, verdict: &mut Findings) {
        let at_max = |index: usize| !self.trial.streams[index].load.pace.is_paced();
        let lossless = |index: usize| {
            let stream = &self.trial.streams[index];
            let got = self.sums.arrivals.streams[index].counts.received;
            !(stream.measured && stream.to.is_some()) || got >= self.sums.sent[index]
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
            if plan.client.is_none() {
                continue;
            }
            let counts = self.sums.sessions(index, Side::Client);
            let (name, opened) = (&plan.name, counts.app.attempted);
            let due = opened + counts.unopened.max(0) as u64;
            if due == 0 {
                verdict.reject(format!("sessions {name}: no session was opened"));
            }
            if counts.unopened as f64 > due as f64 * SHORTFALL_MAX {
                let share = 100.0 * counts.unopened as f64 / due as f64;
                verdict.limit(format!(
                    "sessions {name}: {} of {due} sessions due ({share:.2}%) were not opened: the rate exceeds what the workers can \
                     open",
                    counts.unopened
                ));
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

    /// Whether some worker was busy all the time.
    fn workers_are_full(&self) -> bool {
        self.sums.workers.iter().any(|time| time.busy_ns as f64 > time.total_ns as f64 * FULL)
    }

    fn judge_receiving(&self, verdict: &mut Findings) {
        for (port, end) in self.ends.iter().enumerate() {
            let (name, n) = (self.port_name(port), &self.sums.ports[port]);
            for (reason, n) in end.drops.rx.iter().filter(|(_, n)| *n > 0) {
                verdict.reject(format!(
                    "port {name}: the tester dropped {n} received frames ({reason}); the loss includes them"
                ));
            }
            if n.rx_misrouted > 0 {
                verdict.reject(format!(
                    "port {name}: received {} test packets meant for another port; check the cabling",
                    n.rx_misrouted
                ));
            }
            if n.rx_unknown_stream > 0 {
                verdict.reject(format!(
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
            if n.rx_before_sent as f64 > n.rx_packets as f64 * BEFORE_SENT_MAX {
                verdict.reject(format!(
                    "port {name}: {} packets arrived before they were sent, by the cores' clocks: the clocks differ",
                    n.rx_before_sent
                ));
            }
        }
    }
}

/// A verdict in the making.
struct Findings(Verdict);

impl Findings {
    fn reject(&mut self, reason: String) {
        self.0.valid = false;
        self.0.reasons.push(reason);
    }

    fn limit(&mut self, reason: String) {
        self.0.generator_limited = true;
        self.0.reasons.push(reason);
    }
}

/// Compares the profile's criteria with a finished document.
pub(crate) fn judge_criteria(criteria: &[Criterion], document: &ResultDocument) -> Vec<CriterionResult> {
    criteria.iter().map(|criterion| judge(criterion, document)).collect()
}

fn judge(criterion: &Criterion, document: &impl Numbers) -> CriterionResult {
    let value = document.number(&criterion.path);
    let passed = value.is_some_and(|value| match criterion.comparison {
        Comparison::Less => value < criterion.bound,
        Comparison::AtMost => value <= criterion.bound,
        Comparison::Greater => value > criterion.bound,
        Comparison::AtLeast => value >= criterion.bound,
        Comparison::Equal => value == criterion.bound,
    });
    CriterionResult { path: criterion.path.clone(), bound: criterion.text.clone(), value, passed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::{Named, StreamResult};

    fn criterion(path: &str, comparison: Comparison, bound: f64) -> Criterion {
        Criterion { path: path.to_owned(), comparison, bound, text: String::new() }
    }

    #[test]
    fn criteria_are_held_against_the_document() {
        let stream = |loss_ratio| StreamResult { loss_ratio: Some(loss_ratio), ..StreamResult::default() };
        let streams = [("a", 0.5), ("a.b", 0.25)].map(|(name, ratio)| (name.to_owned(), stream(ratio)));
        let document = ResultDocument { streams: Named::from(streams), ..ResultDocument::default() };
        let passed = |path, comparison, bound| judge(&criterion(path, comparison, bound), &document).passed;
        assert!(passed("streams.a.loss_ratio", Comparison::Equal, 0.5));
        assert!(passed("streams.a.b.loss_ratio", Comparison::Less, 0.3));
        assert!(!passed("streams.a.b.loss_ratio", Comparison::Greater, 0.3));
        assert!(
            !passed("streams.c.loss_ratio", Comparison::AtMost, 1.0),
            "what was not measured did not hold"
        );
    }
}
