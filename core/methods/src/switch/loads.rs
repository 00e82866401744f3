//! Trials at one load each: incast under constant load, head-of-line blocking, frames that are too long.

use super::flows::{Incast, congestion, time_of};
use super::row::{Blocking, CongestionFound, FlowFound, LoadFound, OversizeFound};
use super::searches::Bed;
use crate::draft::{Draft, Seen, Stage};
use crate::outcome::{GroupOutcome, TrialOutcome};
use crate::testbed::Frames;
use crate::text::percent;
use units::{Nanos, Pps};

/// Share of the line rate above which a port is no bottleneck: it took more than it should be able to.
const BEYOND_LINE: f64 = 1.02;
/// Share of the time that frames to the congested port wait, from which on those to the other port wait for them.
const SAME_WAIT: f64 = 0.25;
/// Load of frames that are too long, and the longest time they are sent.
const OVERSIZE_SHARE: f64 = 0.1;
const OVERSIZE_TIME: Nanos = Nanos::from_secs(1);

fn flow(group: &GroupOutcome) -> FlowFound {
    FlowFound {
        flow: group.group.clone(),
        sent: group.sent,
        received: group.received,
        loss_ratio: group.loss_ratio(),
        latency_mean_ns: group.latency.as_ref().map(|latency| latency.mean),
        latency_max_ns: group.latency.as_ref().map(|latency| latency.max),
    }
}

/// Jain's index of what flows received: 1 if all received as much, 1 ÷ n if one of n received everything.
fn fairness(flows: &[FlowFound]) -> Option<f64> {
    let sum = |of: fn(f64) -> f64| flows.iter().map(|flow| of(flow.received as f64)).sum::<f64>();
    let squares = sum(|received| received * received);
    (squares > 0.0).then(|| sum(|received| received).powi(2) / (flows.len() as f64 * squares))
}

/// Some ports send at line rate to one for the trial's duration.
#[derive(Debug, Clone)]
pub(super) struct ConstantLoad {
    bed: Bed,
    incast: Incast,
    asked: bool,
    pub(super) found: Option<LoadFound>,
}

impl ConstantLoad {
    pub(super) fn new(bed: &Bed, incast: Incast) -> Self {
        Self { bed: bed.clone(), incast, asked: false, found: None }
    }
}

impl Stage for ConstantLoad {
    fn next(&mut self) -> Option<Draft> {
        if std::mem::replace(&mut self.asked, true) {
            return None;
        }
        let label = match self.incast.senders.len() {
            1 => "one sender to one port, constant load".to_owned(),
            senders => format!("{senders} senders to one port, constant load"),
        };
        Some(self.bed.draft(self.incast.flows(self.bed.line, None), self.bed.duration, &label))
    }

    fn take(&mut self, _: &Draft, seen: &Seen<'_>) {
        let senders = self.incast.senders.len() as u64;
        if seen.limited {
            self.found = Some(LoadFound { senders, judged: false, ..LoadFound::default() });
            return;
        }
        let flows: Vec<FlowFound> = seen.outcome.groups.iter().map(flow).collect();
        let received_pps = seen.outcome.forwarding_rate();
        self.found = Some(LoadFound {
            senders,
            judged: true,
            loss_ratio: Some(seen.loss_ratio()),
            fairness: fairness(&flows),
            received_pps: Some(received_pps),
            beyond_line: received_pps > self.bed.line.as_f64() * BEYOND_LINE,
            flows,
        });
    }
}

/// Head-of-line blocking: the first port's frames to an idle port by themselves, then with the other flows.
#[derive(Debug, Clone)]
pub(super) struct Congestion {
    bed: Bed,
    asked: u32,
    /// Latency of frames to the idle port by themselves, ns.
    alone_ns: Option<f64>,
    pub(super) found: Option<CongestionFound>,
}

impl Congestion {
    pub(super) fn new(bed: &Bed) -> Self {
        Self { bed: bed.clone(), asked: 0, alone_ns: None, found: None }
    }

    /// Finding of the trial. The flows are the one to the idle port, and the two to the congested one.
    fn judge(&self, outcome: &TrialOutcome) -> CongestionFound {
        let flows: Vec<FlowFound> = outcome.groups.iter().map(flow).collect();
        let [idle, beside, other] = &flows[..] else { return CongestionFound::default() };
        let seconds = outcome.duration.as_secs_f64().max(1e-9);
        let beyond_line =
            (beside.received + other.received) as f64 / seconds > self.bed.line.as_f64() * BEYOND_LINE;
        let waits = |flow: &FlowFound| Some((flow.latency_mean_ns? - self.alone_ns?).max(0.0));
        let waits_too = waits(idle).zip(waits(beside)).map(|(idle, beside)| idle > beside * SAME_WAIT);
        let is_congested = beside.received + other.received < beside.sent + other.sent;
        let blocking = match (is_congested, waits_too) {
            _ if beyond_line => None,
            (false, _) => Some(Blocking::NoLoss),
            (true, Some(true)) => Some(Blocking::HeadOfLine),
            (true, Some(false)) if idle.received < idle.sent => Some(Blocking::SharedBuffer),
            (true, Some(false)) => Some(Blocking::Absent),
            (true, None) => None,
        };
        CongestionFound { judged: true, beyond_line, blocking, alone_ns: self.alone_ns, flows }
    }
}

impl Stage for Congestion {
    fn next(&mut self) -> Option<Draft> {
        self.asked += 1;
        let flows = congestion(self.bed.line);
        let (flows, label) = match self.asked {
            1 => (flows.into_iter().take(1).collect(), "to the idle port alone"),
            2 => (flows, "one port idle, one congested"),
            _ => return None,
        };
        Some(self.bed.draft(flows, self.bed.duration, label))
    }

    fn take(&mut self, _: &Draft, seen: &Seen<'_>) {
        match (self.asked, seen.limited) {
            (1, true) => {}
            (1, false) => {
                let first = seen.outcome.groups.first().and_then(|group| group.latency.as_ref());
                self.alone_ns = first.map(|latency| latency.mean);
            }
            (_, true) => self.found = Some(CongestionFound::default()),
            (_, false) => self.found = Some(self.judge(seen.outcome)),
        }
    }
}

/// Frames longer than the device is to forward (RFC 2889 section 5.9).
#[derive(Debug, Clone)]
pub(super) struct Oversize {
    bed: Bed,
    asked: bool,
    pub(super) found: Option<OversizeFound>,
}

impl Oversize {
    pub(super) fn new(bed: &Bed, frames: &Frames, line: Pps) -> Self {
        Self { bed: Bed { frames: frames.clone(), line, ..bed.clone() }, asked: false, found: None }
    }
}

impl Stage for Oversize {
    fn next(&mut self) -> Option<Draft> {
        if std::mem::replace(&mut self.asked, true) {
            return None;
        }
        let rate = Pps::from_micro((self.bed.line.micro() as f64 * OVERSIZE_SHARE) as u64);
        let flows = Incast::of(1).flows(rate, None);
        let label = format!("frames that are too long, {} of the line rate", percent(OVERSIZE_SHARE));
        let duration = self.bed.duration.min(OVERSIZE_TIME).max(time_of(1, rate));
        Some(self.bed.draft(flows, duration, &label))
    }

    fn take(&mut self, _: &Draft, seen: &Seen<'_>) {
        let frames = self.bed.frames.clone();
        let judged = !seen.limited;
        self.found = Some(OversizeFound {
            frames,
            sent: seen.outcome.sent(),
            received: judged.then(|| seen.outcome.received()),
        });
    }
}
