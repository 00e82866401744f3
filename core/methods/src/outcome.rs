//! Outcomes of trials.

use crate::balancer::BalancerOutcome;
use crate::natxy::NatOutcome;
use crate::text::{AsNanos, AsPps};
use crate::trial::{Objective, TrialKind, TrialRequest};
use histogram::SparseHistogram;
use measure::{Counts, StreamTotals};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Pps};

/// The outcome of a trial, as the tester reports it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TrialOutcome {
    /// Duration of traffic.
    #[serde(rename = "duration_ns", with = "AsNanos")]
    pub duration: Nanos,
    /// One for each group of the request, in its order.
    pub groups: Vec<GroupOutcome>,
    /// Whether the figures can be trusted.
    pub valid: bool,
    /// The tester did not reach the requested load, or could not receive everything.
    pub generator_limited: bool,
    /// Something on the tester's machine disturbed it.
    pub disturbed: bool,
    /// Not valid, but only because the tester was disturbed: the DUT did no worse than what was counted.
    pub only_worse: bool,
    /// Maximum loss in the DUT, by its own counters; absent: not read, or inconclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dut_lost_most: Option<u64>,
    /// Why it is not valid, or limited, or what disturbed the tester.
    pub reasons: Vec<String>,
    /// Stopped early.
    pub interrupted: bool,
    /// Counters of lost frames or failed sessions: name and growth.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drops: Vec<(String, u64)>,
    /// Of an overload trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// Of a reset trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outage: Option<Outage>,
    /// Of a convergence trial: one for each stream.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub convergence: Vec<StreamConvergence>,
    /// Of a trial in which a multicast group is joined and left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multicast: Option<GroupChange>,
    /// Of a trial of services: one for each, as `groups`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceOutcome>,
    /// Of a trial of DHCP clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leases: Option<LeaseOutcome>,
    /// Of a trial of a NATxy gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nat: Option<NatOutcome>,
    /// Of a trial of a load balancer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balancer: Option<BalancerOutcome>,
    /// Of a trial of routes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub routes: Option<RouteOutcome>,
    /// Of a session trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<SessionOutcome>,
    /// Of a trial of a mix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mix: Option<MixOutcome>,
    /// Of a path trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathOutcome>,
    /// Of a TCP trial: one for each sender.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tcp: Vec<TcpOutcome>,
}

/// Outcome of DHCP or DHCPv6 clients.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LeaseOutcome {
    /// Clients that were to begin.
    pub clients: u64,
    /// Clients with all requested leases at the end.
    pub bound: u64,
    /// Messages repeated because no reply arrived.
    pub repeated: u64,
    /// Leases of what another client had.
    pub conflicts: u64,
    /// Clients that began per second.
    pub begun_per_s: Option<f64>,
    /// Leases per second, from the first message to the last first lease.
    pub bound_per_s: Option<f64>,
    /// Time from a client's first message to its lease, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bind: Option<LatencySummary>,
}

/// Outcome of the sessions and adjacencies that advertise routes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RouteOutcome {
    /// Routes advertised; those that were advertised again count again.
    pub advertised: u64,
    /// Sessions and adjacencies that ended while they should not have.
    pub sessions_lost: u64,
    /// Reason for the end of the first of them.
    pub why: Option<String>,
    /// From the first connection or hello until every route was acknowledged, s.
    pub announced_after_s: Option<f64>,
}

/// The outcome for one group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GroupOutcome {
    /// The group's name.
    pub group: String,
    /// Requested rate, frames/s.
    #[serde(rename = "requested_pps", with = "AsPps")]
    pub requested: Pps,
    /// Rate sent, frames/s.
    #[serde(rename = "achieved_pps", with = "AsPps")]
    pub achieved: Pps,
    /// Frames sent.
    pub sent: u64,
    /// Frames received at the right port, each counted once.
    pub received: u64,
    /// Frames lost.
    pub lost: u64,
    /// Frames that the DUT lost at least, if the tester may have lost the others; absent: nothing is known of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_least: Option<u64>,
    /// Frames received again.
    pub duplicates: u64,
    /// Frames received out of order (RFC 4737).
    pub reordered: u64,
    /// Frames received at a wrong port.
    pub wrong_port: u64,
    /// Frames that came to other ports because the DUT did not know their address (RFC 2889).
    pub flooded: u64,
    /// Latency, ns.
    #[serde(rename = "latency_ns", skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencySummary>,
    /// Jitter, ns.
    #[serde(rename = "jitter_ns", skip_serializing_if = "Option::is_none")]
    pub jitter: Option<JitterSummary>,
}

impl Default for GroupOutcome {
    fn default() -> Self {
        Self {
            group: String::new(),
            requested: Pps::ZERO,
            achieved: Pps::ZERO,
            sent: 0,
            received: 0,
            lost: 0,
            lost_least: None,
            duplicates: 0,
            reordered: 0,
            wrong_port: 0,
            flooded: 0,
            latency: None,
            jitter: None,
        }
    }
}

/// A distribution of latencies, ns. The tester defines the two instants (RFC 1242 section 3.8).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LatencySummary {
    /// Frames measured.
    pub samples: u64,
    /// Smallest.
    pub min: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation.
    pub stddev: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile; absent: an older version measured it, which had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile: the worst case of RFC 8219.
    pub p99_9: f64,
    /// 99.99th percentile.
    pub p99_99: f64,
    /// Largest.
    pub max: f64,
    /// Buckets that are not empty: highest value, ns, and count. Optional.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub histogram: Vec<(u64, u64)>,
}

impl LatencySummary {
    /// Summary of a recorder's samples; `None` without samples. Percentiles need the histogram.
    pub fn of(counts: &Counts, histogram: Option<&SparseHistogram>, with_histogram: bool) -> Option<Self> {
        let moments = counts.latency;
        let mean = moments.mean()?;
        let at = |q: f64| histogram.and_then(|h| h.quantile(q)).map_or(0.0, |v| v.min(moments.max) as f64);
        Some(Self {
            samples: moments.samples,
            min: moments.min as f64,
            mean,
            stddev: moments.stddev().unwrap_or(0.0),
            p50: at(0.5),
            p90: at(0.9),
            p95: Some(at(0.95)),
            p99: at(0.99),
            p99_9: at(0.999),
            p99_99: at(0.9999),
            max: moments.max as f64,
            histogram: if with_histogram { histogram.map(buckets).unwrap_or_default() } else { Vec::new() },
        })
    }

    /// Delay variation of RFC 8219 section 7.3 and RFC 5481: the 99.9th percentile less the minimum, ns.
    pub fn pdv(&self) -> f64 {
        self.p99_9 - self.min
    }
}

/// Buckets that are not empty.
fn buckets(histogram: &SparseHistogram) -> Vec<(u64, u64)> {
    let mut below = 0;
    let mut out = Vec::new();
    let scale = histogram.scale();
    // The count of a bucket is what the rank gains from one quantile to the next.
    while below < histogram.total() {
        let q = (below as f64 + 0.5) / histogram.total() as f64;
        let Some(highest) = histogram.quantile(q) else { break };
        let count = up_to(histogram, scale.highest(scale.index(highest)), below) - below;
        out.push((highest, count));
        below += count;
    }
    out
}

/// Number of values that are at most `highest`, by bisection over ranks above `known`.
fn up_to(histogram: &SparseHistogram, highest: u64, known: u64) -> u64 {
    let total = histogram.total();
    let (mut low, mut high) = (known + 1, total);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        match histogram.quantile((middle as f64 - 0.5) / total as f64) {
            Some(value) if value <= highest => low = middle,
            _ => high = middle - 1,
        }
    }
    low
}

/// Jitter, ns.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct JitterSummary {
    /// The running estimate of RFC 3550 section 6.4.1.
    pub rfc3550: f64,
    /// Mean of |D(i) − D(i−1)| over consecutive received frames (RFC 4689 section 3.2.5).
    pub rfc4689_mean: f64,
    /// The largest of them.
    pub rfc4689_max: f64,
}

/// Recovery of the DUT from overload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Recovery {
    /// From the drop of the load to the last frame that was lost, both by the time of sending: the instant B less the
    /// instant A. `None`: nothing was lost after the drop.
    pub last_loss_after_ns: Option<u64>,
    /// Frames lost after the drop.
    pub lost_after_drop: u64,
}

/// Time for which the DUT forwarded nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Outage {
    /// From the last frame before to the first frame after, by arrival (RFC 6201 section 4.2, timestamps).
    pub between_arrivals_ns: Option<u64>,
    /// Whether frames arrived again before the trial ended.
    pub came_back: bool,
}

/// A multicast group that was joined and left. Instants count from the start of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GroupChange {
    /// When the report left that joins it, ns.
    pub join_ns: Option<u64>,
    /// When the report left that leaves it, ns.
    pub leave_ns: Option<u64>,
    /// When its first packet arrived, ns.
    pub first_arrival_ns: Option<u64>,
    /// When its last packet arrived, ns.
    pub last_arrival_ns: Option<u64>,
}

/// Traffic carried for a service.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServiceOutcome {
    /// Its stream.
    pub stream: String,
    /// Sent, bits/s of frames with FCS.
    pub offered_bps: f64,
    /// Received, bits/s of frames with FCS.
    pub received_bps: f64,
    /// Share of the seconds in which it was available.
    pub availability: Option<f64>,
    /// Behaviour of the device once it dropped frames; absent: it dropped none, or for too short a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policed: Option<Policed>,
}

/// A rate that was held by dropping frames.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Policed {
    /// From when on frames were dropped, s since traffic started.
    pub from_s: f64,
    /// Received from then on, bits/s of frames with FCS.
    pub bps: f64,
    /// Received beyond that rate in all: the size of the device's bucket, bytes of frames with FCS.
    pub burst_bytes: f64,
}

impl Policed {
    /// From what was sent and received in each interval: its length (s), frames sent and received, bytes received.
    pub fn of(intervals: &[(f64, u64, u64, u64)]) -> Option<Self> {
        let mut missing = 0i64;
        // The last interval at whose end nothing was missing but what was under way.
        let mut clean = 0;
        for (index, (_, sent, received, _)) in intervals.iter().enumerate() {
            missing += *sent as i64 - *received as i64;
            if missing <= (*sent as i64 / UNDER_WAY).max(1) {
                clean = index + 1;
            }
        }
        let (before, after) = intervals.split_at(clean);
        // In the first interval with drops the bucket runs empty.
        let held = after.get(1..).filter(|held| held.len() >= HELD_LEAST)?;
        let seconds = |part: &[(f64, u64, u64, u64)]| part.iter().map(|interval| interval.0).sum::<f64>();
        let bytes =
            |part: &[(f64, u64, u64, u64)]| part.iter().map(|interval| interval.3).sum::<u64>() as f64;
        let bps = bytes(held) * 8.0 / seconds(held).max(1e-9);
        let burst_bytes = (bytes(intervals) - bps / 8.0 * seconds(intervals)).max(0.0);
        Some(Self { from_s: seconds(before), bps, burst_bytes })
    }
}

/// Inverse share of an interval's frames that may be in flight at its end.
const UNDER_WAY: i64 = 50;
/// Intervals that show a rate.
const HELD_LEAST: usize = 2;

/// Switch of a stream to another path, and back. Instants count from the start of traffic.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StreamConvergence {
    /// The stream.
    pub stream: String,
    /// From one of its packets to the next, ns.
    pub gap_ns: f64,
    /// After its routes were withdrawn: to the other path.
    pub withdrawal: PathChange,
    /// After they were advertised again: back to the first path.
    pub advertisement: PathChange,
}

/// A change from an old path to a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PathChange {
    /// Departure of the first message that announces it, ns.
    pub event_ns: Option<u64>,
    /// Packets that were due from then to the end of this part of the trial.
    pub sent: u64,
    /// Packets of this part that arrived by the new path.
    pub moved: u64,
    /// Packets of this part that arrived by neither path.
    pub lost: u64,
    /// When the first packet left that arrived by the new path, ns.
    pub first_new_ns: Option<u64>,
    /// When the last packet left that arrived by the old path, ns.
    pub last_old_ns: Option<u64>,
}

/// The outcome of sessions; of the sustain phase, unless stated otherwise.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SessionOutcome {
    /// Sessions attempted.
    pub attempted: u64,
    /// Sessions established.
    pub established: u64,
    /// Transactions attempted.
    pub transactions: u64,
    /// Transactions that failed, including transactions of sessions that were never established.
    pub transactions_failed: u64,
    /// Unexpected resets.
    pub resets: u64,
    /// Sessions opened per second, mean.
    pub open_per_s: f64,
    /// Sessions open at the same time, mean.
    pub concurrent_mean: f64,
    /// Most sessions open at the same time.
    pub concurrent_max: u64,
    /// Transactions per second, mean.
    pub transactions_per_s: f64,
    /// Application bytes received, bits/s, mean.
    pub goodput_bps: f64,
    /// Largest deviation of the forwarding rate from its mean over samples of at most 2 s, as a share of the mean.
    pub rate_deviation: f64,
    /// The same of the number of open sessions.
    pub concurrent_deviation: f64,
    /// SYN to established, ns.
    #[serde(rename = "setup_ns", skip_serializing_if = "Option::is_none")]
    pub setup: Option<LatencySummary>,
    /// SYN to the first application byte received, ns.
    #[serde(rename = "ttfb_ns", skip_serializing_if = "Option::is_none")]
    pub ttfb: Option<LatencySummary>,
    /// SYN to the last application byte received, ns.
    #[serde(rename = "ttlb_ns", skip_serializing_if = "Option::is_none")]
    pub ttlb: Option<LatencySummary>,
}

/// The outcome of a mix of applications.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MixOutcome {
    /// Entries with clients, in the profile's order.
    pub entries: Vec<MixEntry>,
    /// The profile's own criteria that were not met, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unmet: Vec<String>,
}

/// The outcome of an entry of a mix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MixEntry {
    /// Its name under `sessions:`.
    pub entry: String,
    /// Objective of its load.
    pub objective: Objective,
    /// Requested amount.
    pub asked: f64,
    /// Amount reached.
    pub reached: f64,
    /// Result.
    pub sessions: SessionOutcome,
}

impl MixEntry {
    /// Reached ÷ requested.
    pub(crate) fn share(&self) -> f64 {
        if self.asked > 0.0 { self.reached / self.asked } else { 1.0 }
    }
}

/// An idle path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PathOutcome {
    /// The largest IP packet it carries, bytes (RFC 4821).
    pub mtu_bytes: u32,
    /// The smallest round-trip time, ns.
    pub rtt_min_ns: u64,
}

/// The outcome of one sender's TCP connections.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TcpOutcome {
    /// The group that sent.
    pub group: String,
    /// Application bytes that arrived.
    pub delivered_bytes: u64,
    /// Bytes sent, including retransmissions.
    pub sent_bytes: u64,
    /// Bytes retransmitted.
    pub retransmitted_bytes: u64,
    /// Mean round-trip time during the transfer, ns.
    pub rtt_mean_ns: f64,
}

impl GroupOutcome {
    /// A group's outcome from what its recorder counted. `sent` frames left at `achieved`;
    /// `rfc3550_ns` is the receiver's running jitter.
    pub fn measured(
        group: &str,
        requested: Pps,
        achieved: Pps,
        sent: u64,
        seen: &StreamTotals,
        rfc3550_ns: Option<f64>,
    ) -> Self {
        let counts = &seen.counts;
        let jitter = counts.delay_change.mean().map(|mean| JitterSummary {
            rfc3550: rfc3550_ns.unwrap_or(0.0),
            rfc4689_mean: mean,
            rfc4689_max: counts.delay_change.max as f64,
        });
        Self {
            group: group.into(),
            requested,
            achieved,
            sent,
            received: counts.received,
            lost: sent.saturating_sub(counts.received),
            duplicates: counts.duplicates,
            reordered: counts.reordered,
            latency: LatencySummary::of(counts, seen.latency.as_ref(), false),
            jitter,
            ..Self::default()
        }
    }

    /// Lost ÷ sent, 0 to 1; of nothing sent, 1.
    pub fn loss_ratio(&self) -> f64 {
        if self.sent == 0 { 1.0 } else { self.lost as f64 / self.sent as f64 }
    }
}

impl TrialOutcome {
    /// Outcome of a tester that sent the whole requested load: `received(group, sent)` packets came back.
    pub fn forwarded(request: &TrialRequest, received: impl Fn(usize, u64) -> u64) -> Self {
        let flows = match &request.kind {
            TrialKind::Flows { flows } => flows.iter().map(|flow| (flow.name(), flow.rate)).collect(),
            _ => request.offered.iter().map(|load| (load.group.clone(), load.rate)).collect::<Vec<_>>(),
        };
        let group = |(i, (name, rate)): (usize, (String, Pps))| {
            let sent = request.frames_due(i);
            let received = received(i, sent);
            GroupOutcome {
                group: name,
                requested: rate,
                achieved: rate,
                sent,
                received,
                lost: sent.saturating_sub(received),
                ..GroupOutcome::default()
            }
        };
        Self {
            duration: request.duration,
            groups: flows.into_iter().enumerate().map(group).collect(),
            valid: true,
            ..Self::default()
        }
    }

    /// Sent ÷ requested, all groups; `None` if nothing was requested.
    pub fn share_achieved(&self) -> Option<f64> {
        let sum =
            |of: fn(&GroupOutcome) -> Pps| self.groups.iter().map(|group| of(group).as_f64()).sum::<f64>();
        let requested = sum(|group| group.requested);
        (requested > 0.0).then(|| sum(|group| group.achieved) / requested)
    }

    /// Frames sent, all groups.
    pub fn sent(&self) -> u64 {
        self.groups.iter().map(|group| group.sent).sum()
    }

    /// Frames received, all groups.
    pub fn received(&self) -> u64 {
        self.groups.iter().map(|group| group.received).sum()
    }

    /// Frames lost, all groups.
    pub fn lost(&self) -> u64 {
        self.groups.iter().map(|group| group.lost).sum()
    }

    /// Lost ÷ sent over all groups, 0 to 1; of nothing sent, 1.
    pub fn loss_ratio(&self) -> f64 {
        if self.sent() == 0 { 1.0 } else { self.lost() as f64 / self.sent() as f64 }
    }

    /// Bounds of the share of frames that the DUT lost, all groups; `None`: nothing is known, or nothing was sent.
    pub fn loss_bounds(&self) -> Option<(f64, f64)> {
        let sent = self.sent();
        if sent == 0 || !(self.valid || self.only_worse) {
            return None;
        }
        if self.valid {
            return Some((self.loss_ratio(), self.loss_ratio()));
        }
        let most = self.lost().min(self.dut_lost_most.unwrap_or(u64::MAX));
        let least: u64 = self.groups.iter().map(|group| group.lost_least.unwrap_or(0).min(group.lost)).sum();
        let ratio = |lost: u64| lost as f64 / sent as f64;
        Some((ratio(least.min(most)), ratio(most)))
    }

    /// Frames forwarded per second by all groups.
    pub fn forwarding_rate(&self) -> f64 {
        self.received() as f64 / self.duration.as_secs_f64().max(1e-9)
    }

    /// Whether it has the parts that `kind` requires.
    pub(crate) fn answers(&self, kind: &TrialKind) -> Result<(), &'static str> {
        let (there, part) = match kind {
            TrialKind::Sessions(_) => (self.sessions.is_some(), "sessions"),
            TrialKind::Mix(_) => (self.sessions.is_some() && self.mix.is_some(), "mix"),
            TrialKind::Leases { .. } => (self.leases.is_some(), "leases"),
            TrialKind::Nat { .. } => (self.nat.is_some(), "nat"),
            TrialKind::Balancer { .. } => (self.balancer.is_some(), "balancer"),
            TrialKind::Routes { .. } => (!self.groups.is_empty() && self.routes.is_some(), "routes"),
            TrialKind::Path => (self.path.is_some(), "path"),
            TrialKind::Tcp { .. } => (!self.tcp.is_empty(), "tcp"),
            TrialKind::Overload { .. } => (self.recovery.is_some(), "recovery"),
            TrialKind::Reset { .. } => (self.outage.is_some(), "outage"),
            TrialKind::Multicast { join, .. } if *join > Nanos::ZERO => {
                (self.multicast.is_some(), "multicast")
            }
            TrialKind::Services { .. } => (!self.services.is_empty(), "services"),
            TrialKind::Convergence { .. } => (!self.convergence.is_empty(), "convergence"),
            _ => (!self.groups.is_empty(), "groups"),
        };
        if there { Ok(()) } else { Err(part) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use histogram::Scale;
    use measure::{Arrival, Recorder, Table, Totals};

    #[test]
    fn a_histogram_becomes_its_buckets() {
        let mut h = SparseHistogram::new(Scale::FINE);
        for (value, count) in [(3, 5), (10, 1), (1000, 7)] {
            h.add(Scale::FINE.index(value), count);
        }
        assert_eq!(buckets(&h), [(3, 5), (10, 1), (1000, 7)]);
    }

    #[test]
    fn a_group_is_what_its_recorder_counted() {
        let table = || Table::new(1, Some(Scale::FINE));
        let mut recorder = Recorder::new(table(), 1);
        let arrival = |sequence, latency| Arrival { sequence, bytes: 60, latency, ..Arrival::default() };
        let arrivals = [arrival(0, 100), arrival(1, 300), arrival(1, 300), arrival(3, 200)];
        recorder.record(&arrivals, Nanos::from_secs(1));
        let mut counted = table();
        recorder.swap(&mut counted);
        let mut totals = Totals::new(1, Some(Scale::FINE));
        totals.add(&counted);
        let rate = Pps::new(4);
        let group = GroupOutcome::measured("forward", rate, rate, 4, &totals.streams[0], Some(7.0));
        assert_eq!((group.sent, group.received, group.lost, group.duplicates), (4, 3, 1, 1));
        assert!((group.loss_ratio() - 0.25).abs() < 1e-12);
        let latency = group.latency.unwrap();
        assert_eq!((latency.samples, latency.min, latency.mean, latency.max), (3, 100.0, 200.0, 300.0));
        assert_eq!((latency.p50, latency.p99), (200.0, 300.0));
        assert_eq!(group.jitter.map(|jitter| jitter.rfc3550), Some(7.0));
    }

    #[test]
    fn nothing_sent_is_all_lost() {
        assert_eq!(TrialOutcome::default().loss_ratio(), 1.0);
        assert_eq!(GroupOutcome::default().loss_ratio(), 1.0);
    }
}
