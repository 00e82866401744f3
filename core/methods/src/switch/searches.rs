//! The searches: highest rate without loss, and longest burst without loss.

use super::flows::{FlowLoad, Incast, Pattern, broadcast, held, time_of};
use super::row::{BurstFound, RateFound};
use crate::bisect::Bisect;
use crate::climb::doubling;
use crate::draft::{Draft, Seen, Stage, Verdict};
use crate::outcome::{GroupOutcome, LatencySummary};
use crate::testbed::Frames;
use crate::text::grouped;
use crate::trial::TrialKind;
use units::{Nanos, Pps};

/// Parts of the line rate: searches distinguish no finer loads.
const PARTS: u64 = 1_000_000;
/// The first burst tried, frames of a sender.
const FIRST_BURST: u64 = 16;

/// Common data of the trials at one frame length.
#[derive(Debug, Clone)]
pub(super) struct Bed {
    /// Number of ports.
    pub(super) ports: u16,
    /// Line rate of each port.
    pub(super) line: Pps,
    pub(super) frames: Frames,
    pub(super) duration: Nanos,
    /// Number of times that a loss is seen again before it is accepted.
    pub(super) verification: u32,
}

impl Bed {
    /// A trial of flows.
    pub(super) fn draft(&self, flows: Vec<FlowLoad>, duration: Nanos, label: &str) -> Draft {
        let label = format!("{}: {label}", self.frames);
        let draft = Draft::special(TrialKind::Flows { flows }, duration).label(label);
        Draft { frames: self.frames.clone(), ..draft }
    }

    /// A part of the line rate.
    fn part(&self, parts: u64) -> Pps {
        Pps::from_micro((u128::from(self.line.micro()) * u128::from(parts) / u128::from(PARTS)) as u64)
    }

    /// Bytes of this number of frames, all of one length.
    fn bytes(&self, frames: u64) -> u64 {
        frames * u64::from(self.frames.one_length().unwrap_or(0))
    }
}

/// Repeats of trials that lost frames.
#[derive(Debug, Clone, Default)]
struct Verification {
    seen: u32,
}

impl Verification {
    /// Whether the trial is run again before the verdict counts.
    fn again(&mut self, verdict: Verdict, most: u32) -> bool {
        let again = verdict == Verdict::Fail && self.seen < most;
        self.seen = if again { self.seen + 1 } else { 0 };
        again
    }
}

/// Traffic whose rate is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Traffic {
    Pattern(Pattern),
    Broadcast,
}

impl Traffic {
    fn flows(self, ports: u16, rate: Pps) -> Vec<FlowLoad> {
        match self {
            Self::Pattern(pattern) => pattern.flows(ports, rate),
            Self::Broadcast => broadcast(rate),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Pattern(pattern) => pattern.words(),
            Self::Broadcast => "broadcast",
        }
    }
}

/// A search for the highest rate without loss; it begins with the line rate.
#[derive(Debug, Clone)]
pub(super) struct RateSearch {
    pub(super) traffic: Traffic,
    bed: Bed,
    bisect: Bisect,
    verification: Verification,
    resolution: f64,
    /// Share lost at the line rate; absent: nothing is known.
    loss_at_line: Option<f64>,
    /// Most frames forwarded per second in any trial.
    forwarding_pps: Option<f64>,
    flooded: u64,
    /// Of the highest rate that passed.
    latency: Option<LatencySummary>,
}

impl RateSearch {
    /// From `minimum` on, until the bounds are `resolution` apart: shares of the line rate.
    pub(super) fn new(bed: &Bed, traffic: Traffic, minimum: f64, resolution: f64) -> Self {
        let parts = |share: f64| ((share * PARTS as f64) as u64).clamp(1, PARTS);
        Self {
            traffic,
            bed: bed.clone(),
            bisect: Bisect::new(parts(minimum), PARTS, parts(resolution)),
            verification: Verification::default(),
            resolution,
            loss_at_line: None,
            forwarding_pps: None,
            flooded: 0,
            latency: None,
        }
    }

    /// Frames per second of all flows at a part of the line rate. A broadcast counts once.
    fn pps(&self, parts: u64) -> f64 {
        let flows = self.traffic.flows(self.bed.ports, self.bed.part(parts));
        flows.iter().map(|flow| flow.rate.as_f64()).sum()
    }

    pub(super) fn found(&self) -> RateFound {
        let (passed, failed) = (self.bisect.passed(), self.bisect.failed_by_dut());
        RateFound {
            traffic: match self.traffic {
                Traffic::Pattern(pattern) => pattern.as_str().into(),
                Traffic::Broadcast => "broadcast".into(),
            },
            words: self.traffic.words().into(),
            share: passed.map(|parts| parts as f64 / PARTS as f64),
            rate_pps: passed.map(|parts| self.pps(parts)),
            failed_pps: failed.map(|parts| self.pps(parts)),
            line_pps: self.pps(PARTS),
            limit: self.bisect.limit(),
            resolution: self.resolution,
            loss_at_line: self.loss_at_line,
            forwarding_pps: self.forwarding_pps,
            flooded: self.flooded,
            latency_ns: self.latency.clone(),
        }
    }
}

impl Stage for RateSearch {
    fn next(&mut self) -> Option<Draft> {
        let parts = self.bisect.probe()?;
        let flows = self.traffic.flows(self.bed.ports, self.bed.part(parts));
        let label =
            format!("{}, {}% of the line rate", self.traffic.words(), parts as f64 * 100.0 / PARTS as f64);
        Some(self.bed.draft(flows, self.bed.duration, &label))
    }

    fn take(&mut self, _: &Draft, seen: &Seen<'_>) {
        let Some(parts) = self.bisect.probe() else { return };
        if !seen.limited {
            let rate = seen.outcome.forwarding_rate();
            self.forwarding_pps = Some(self.forwarding_pps.map_or(rate, |most| most.max(rate)));
            self.flooded = self.flooded.max(seen.outcome.groups.iter().map(|group| group.flooded).sum());
            if parts == PARTS {
                self.loss_at_line = Some(seen.loss_ratio());
            }
        }
        let verdict = seen.verdict(0.0);
        if self.verification.again(verdict, self.bed.verification) {
            return;
        }
        if verdict == Verdict::Pass && self.bisect.passed().is_none_or(|passed| passed < parts) {
            self.latency = combined(&seen.outcome.groups);
        }
        self.bisect.judge(parts, verdict);
    }

    fn decides(&self, _: &Draft, seen: &Seen<'_>) -> bool {
        seen.verdict(0.0).is_known()
    }
}

/// Latency of all flows: mean, smallest and largest. Quantiles of several can't be combined, so the largest is given.
pub(super) fn combined(groups: &[GroupOutcome]) -> Option<LatencySummary> {
    let all: Vec<&LatencySummary> = groups.iter().filter_map(|group| group.latency.as_ref()).collect();
    let samples: u64 = all.iter().map(|one| one.samples).sum();
    let first = *all.first()?;
    let most = |of: fn(&LatencySummary) -> f64| all.iter().map(|one| of(one)).fold(0.0, f64::max);
    let mean = all.iter().map(|one| one.mean * one.samples as f64).sum::<f64>() / samples.max(1) as f64;
    Some(LatencySummary {
        samples,
        min: all.iter().map(|one| one.min).fold(first.min, f64::min),
        mean,
        p50: most(|one| one.p50),
        p90: most(|one| one.p90),
        p95: first.p95.map(|_| most(|one| one.p95.unwrap_or(0.0))),
        p99: most(|one| one.p99),
        p99_9: most(|one| one.p99_9),
        p99_99: most(|one| one.p99_99),
        max: most(|one| one.max),
        ..LatencySummary::default()
    })
}

/// A search for the longest burst without loss that several ports send at once to each of some ports.
#[derive(Debug, Clone)]
pub(super) struct BurstSearch {
    incasts: Vec<Incast>,
    bed: Bed,
    wait: Nanos,
    bisect: Bisect,
    verification: Verification,
    /// Largest latency in the longest burst without loss, ns.
    latency_max_ns: Option<f64>,
}

impl BurstSearch {
    /// Bursts of up to `longest`; then `wait`, for the device to send what it holds.
    pub(super) fn new(bed: &Bed, incasts: Vec<Incast>, longest: Nanos, wait: Nanos) -> Self {
        let most = bed.line.packets_in(longest).max(1);
        Self {
            incasts,
            bed: bed.clone(),
            wait,
            bisect: Bisect::new(1, most, 1).climbing(doubling(FIRST_BURST.min(most), most)),
            verification: Verification::default(),
            latency_max_ns: None,
        }
    }

    fn senders(&self) -> u64 {
        self.incasts.first().map_or(0, |incast| incast.senders.len() as u64)
    }

    /// Frames inside the device, of all receivers.
    fn held(&self, burst: u64) -> u64 {
        held(self.senders(), burst) * self.incasts.len() as u64
    }

    /// Whether frames of the longest burst without loss waited for less than half of the time that a receiver takes at its line
    /// rate to send what it would have held.
    fn is_beyond_line(&self) -> bool {
        let held = self.bisect.passed().map(|burst| time_of(held(self.senders(), burst), self.bed.line));
        held.zip(self.latency_max_ns).is_some_and(|(held, waited)| waited < held.0 as f64 / 2.0)
    }

    pub(super) fn found(&self) -> BurstFound {
        let (passed, failed) = (self.bisect.passed(), self.bisect.failed_by_dut());
        let bytes = |burst: Option<u64>| burst.map(|burst| self.bed.bytes(self.held(burst)));
        BurstFound {
            senders: self.senders(),
            receivers: self.incasts.len() as u64,
            burst_frames: passed,
            failed_frames: failed,
            held_frames: passed.map(|burst| self.held(burst)),
            held_bytes: bytes(passed),
            failed_bytes: bytes(failed),
            limit: self.bisect.limit(),
            latency_max_ns: self.latency_max_ns,
            beyond_line: self.is_beyond_line(),
        }
    }
}

impl Stage for BurstSearch {
    fn next(&mut self) -> Option<Draft> {
        let burst = self.bisect.probe()?;
        let flows: Vec<FlowLoad> =
            self.incasts.iter().flat_map(|incast| incast.flows(self.bed.line, Some(burst))).collect();
        let drained = time_of(burst.saturating_mul(self.senders()), self.bed.line);
        let receivers = match self.incasts.len() {
            1 => "one port".to_owned(),
            more => format!("each of {more} ports"),
        };
        let label = format!("{} senders to {receivers}, bursts of {}", self.senders(), grouped(burst));
        Some(self.bed.draft(flows, drained.saturating_add(self.wait), &label))
    }

    fn take(&mut self, _: &Draft, seen: &Seen<'_>) {
        let Some(burst) = self.bisect.probe() else { return };
        // A pause within a burst lets the device send what it holds.
        let verdict = seen.verdict_if_valid(seen.outcome.lost() == 0);
        if self.verification.again(verdict, self.bed.verification) {
            return;
        }
        if verdict == Verdict::Pass && self.bisect.passed().is_none_or(|passed| passed < burst) {
            self.latency_max_ns = combined(&seen.outcome.groups).map(|latency| latency.max);
        }
        self.bisect.judge(burst, verdict);
    }
}
