//! Finds the weakest link from readings. Pure: the same readings give the same report.
//!
//! A **hop** loses packets that enter it and do not leave, per direction; or those that its drop counters have, if more (a
//! network card drops before it counts). A **link** loses packets that left one hop and did not enter the next, less those
//! in the drop counters of either hop. The tester's counts add two links, from it and to it.
//!
//! Background packets (address resolution, routing protocols, polling) pass all these counters too. So a hop or link is
//! reported only for a loss above its *tolerance*: 100 packets or 0.01 % of what entered, whichever is more, plus twice
//! the requests of this poller. Drops that background packets do not cause need no tolerance: drops of firewall rules,
//! connection tracking and full queues. No hop or link can explain more than the tester has lost.

use crate::reading::{self, Flow, Key, Reading, Source};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::count;

/// Packets that the tester has sent and received, over all streams and directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offered {
    /// Test packets sent.
    pub sent: u64,
    /// Test packets received.
    pub received: u64,
}

impl Offered {
    /// Packets that did not arrive.
    pub fn lost(self) -> u64 {
        self.sent.saturating_sub(self.received)
    }
}

/// A drop counter that has grown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drop {
    /// Its name: `nft rule 'udp dport 9 … drop' (inet filter forward, handle 3)`, `ifInDiscards of eth0`.
    pub counter: String,
    /// Packets dropped.
    pub count: u64,
}

/// Report of a hop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HopReport {
    /// Its name.
    pub name: String,
    /// Packets that entered by either interface; absent if unknown, with a remark why.
    pub in_packets: Option<u64>,
    /// Packets that left by either interface.
    pub out_packets: Option<u64>,
    /// Packets that entered and did not leave, per direction.
    pub lost: Option<u64>,
    /// Drop counters that have grown, largest first.
    pub drops: Vec<Drop>,
    /// Other counters that have grown, and current levels (tracked connections, link speed in Mbit/s).
    pub counters: BTreeMap<String, u64>,
    /// CPU load of its machine, 0 to 1.
    pub cpu_busy: Option<f64>,
    /// Share of CPU time in soft interrupts, where Linux forwards packets, 0 to 1.
    pub softirq: Option<f64>,
    /// Limitations of these figures.
    pub remarks: Vec<String>,
}

/// A hop's counts at one time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Name of the hop.
    pub hop: String,
    /// Time of the reading: seconds since `begin` ended. Values of an SNMP agent can be older by its refresh time.
    pub at_s: f64,
    /// Packets that have entered since the start.
    pub in_packets: Option<u64>,
    /// Packets that have left since the start.
    pub out_packets: Option<u64>,
    /// Packets dropped since the start, by the counters that are read every interval.
    pub drops: u64,
    /// Packets per second that have entered since the previous sample.
    #[serde(default)]
    pub in_pps: Option<f64>,
    /// Packets per second that have left since the previous sample.
    #[serde(default)]
    pub out_pps: Option<f64>,
    /// Packets per second dropped since the previous sample, by the counters that are read every interval.
    #[serde(default)]
    pub drops_pps: Option<f64>,
    /// CPU load since the previous sample, 0 to 1.
    pub cpu_busy: Option<f64>,
}

/// The hop or link that lost most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weakest {
    /// A hop's name, or two names for the link between them: `r1 - r2`.
    pub hop: String,
    /// Packets lost there.
    pub lost: u64,
    /// Its drop counters; empty for a link, or if no counter explains the loss.
    pub counters: Vec<Drop>,
    /// The finding as a sentence.
    pub sentence: String,
}

/// Report of a path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathReport {
    /// The hops in order.
    pub hops: Vec<HopReport>,
    /// The hop or link that lost most; none if no loss exceeds the tolerance.
    pub weakest: Option<Weakest>,
    /// Packets that the tester has sent and received, if known.
    pub offered: Option<Offered>,
    /// Packets of the tester's loss that hops and links account for.
    pub explained: Option<u64>,
    /// Other hops and links that lost packets, and limitations of the report.
    pub remarks: Vec<String>,
    /// The hops over time, hop by hop.
    pub samples: Vec<Sample>,
    /// Time from the first readings to the last, s.
    pub duration_s: f64,
}

impl PathReport {
    /// The most of the tester's packets that the path can have lost: the tester may have lost the rest itself. `None` unless the path is one
    /// hop that counted both ways.
    pub fn lost_at_most(&self) -> Option<u64> {
        let ([hop], Some(offered)) = (&self.hops[..], self.offered) else { return None };
        let entered = hop.in_packets?;
        let dropped: u64 = hop.drops.iter().map(|drop| drop.count).sum();
        // Packets of its own that the hop sent hide as many that it lost.
        let hidden = tolerance(entered, 0);
        Some(hop.lost?.max(dropped) + offered.sent.saturating_sub(entered) + hidden)
    }
}

/// All readings of a hop.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) inside: String,
    pub(crate) outside: String,
    /// Before the traffic, full.
    pub(crate) before: Option<Reading>,
    /// During the traffic, light.
    pub(crate) during: Vec<Reading>,
    /// After the traffic, full.
    pub(crate) after: Option<Reading>,
    /// Requests of this poller to the hop.
    pub(crate) requests_sent: u64,
    /// Remarks of the reader.
    pub(crate) remarks: Vec<String>,
}

/// Minimum tolerance, packets.
const TOLERANCE_PACKETS: u64 = 100;
/// Tolerance as a fraction of the entered packets: one in this many.
const TOLERANCE_PART: u64 = 10_000;
/// CPU load above which a remark is added.
const BUSY: f64 = 0.95;
/// Maximum counters in a sentence.
const COUNTERS_MAX: usize = 3;

/// Loss up to which a hop or link is not reported.
pub(crate) fn tolerance(entered: u64, requests_sent: u64) -> u64 {
    TOLERANCE_PACKETS.max(entered / TOLERANCE_PART) + 2 * requests_sent
}

/// A drop counter and its growth.
type GrownDrop = (Key, u64);

/// The analysis of a hop.
struct HopAnalysis {
    report: HopReport,
    flow: Option<Flow>,
    grown: Vec<GrownDrop>,
    uncounted: Vec<String>,
    tolerance: u64,
}

impl HopAnalysis {
    /// Packets in the hop's drop counters. Those of driver and interface count the same packets.
    fn evidence(&self) -> u64 {
        let of = |source: Source| -> u64 {
            self.grown.iter().filter(|((at, _), _)| *at == source).map(|(_, count)| count).sum()
        };
        let own: u64 = [Source::Nft, Source::Conntrack, Source::Qdisc, Source::Ip].map(of).iter().sum();
        own + of(Source::Link).max(of(Source::Ethtool))
    }

    fn through(&self) -> u64 {
        self.flow.map_or(0, Flow::lost)
    }

    /// Packets lost. If both counts agree up to background traffic, the packet counters are more exact.
    fn lost(&self) -> u64 {
        if self.uncounted_drops() > self.tolerance { self.evidence() } else { self.through() }
    }

    /// Drops that the packet counters do not show, such as a card's drops before it counts.
    fn uncounted_drops(&self) -> u64 {
        self.evidence().saturating_sub(self.through())
    }

    /// Drops that background packets do not cause.
    fn certain(&self) -> u64 {
        let is_certain = |source: Source| matches!(source, Source::Nft | Source::Conntrack | Source::Qdisc);
        self.grown.iter().filter(|((at, _), _)| is_certain(*at)).map(|(_, count)| count).sum()
    }

    /// Whether the loss is only apparent: packets were merged, and no counter shows drops.
    fn is_only_merged(&self) -> bool {
        self.flow.is_some_and(Flow::looks_merged) && self.evidence() < self.through() / 2
    }
}

/// A hop or link that lost packets.
struct LossCandidate {
    location: String,
    lost: u64,
    tolerance: u64,
    counters: Vec<Drop>,
    /// Text after 'Of 12 packets lost, 10 were '.
    with_offered: String,
    /// Text of a separate sentence, before the counters.
    own_sentence: String,
    /// The counters, or why there are none.
    reason: String,
}

impl LossCandidate {
    /// Whether the loss can be, or contain, the tester's loss.
    fn can_be_test_loss(&self, lost: u64) -> bool {
        self.lost <= lost.saturating_mul(2).saturating_add(self.tolerance) && lost > 0
    }
}

/// The report.
pub(crate) fn report(records: &[Record], offered: Option<Offered>) -> PathReport {
    let analyses: Vec<HopAnalysis> = records.iter().map(analyse).collect();
    let mut candidates: Vec<LossCandidate> = analyses.iter().filter_map(hop_candidate).collect();
    candidates.extend(link_candidates(records, &analyses));
    candidates.extend(offered.into_iter().flat_map(|offered| end_candidates(&analyses, offered)));
    let mut remarks = Vec::new();
    let mut named = keep_test_losses(candidates, offered, &mut remarks);
    named.sort_by_key(|candidate| std::cmp::Reverse(candidate.lost));
    let explained = offered.map(|o| named.iter().map(|candidate| candidate.lost).sum::<u64>().min(o.lost()));
    remarks.extend(named.iter().skip(1).map(|candidate| sentence(candidate, offered)));
    remarks.extend(unexplained(&analyses, offered, explained));
    let weakest = named.into_iter().next().map(|first| Weakest {
        sentence: sentence(&first, offered),
        hop: first.location,
        lost: first.lost,
        counters: first.counters,
    });
    let samples = records.iter().flat_map(samples).collect();
    let duration_s = records.iter().map(duration_s).fold(0.0, f64::max);
    let hops = analyses.into_iter().map(|hop| hop.report).collect();
    PathReport { hops, weakest, offered, explained, remarks, samples, duration_s }
}

fn duration_s(record: &Record) -> f64 {
    match (&record.before, &record.after) {
        (Some(before), Some(after)) => after.at.since(before.at).as_secs_f64(),
        _ => 0.0,
    }
}

/// The readings of a record in order.
fn series(record: &Record) -> Vec<&Reading> {
    record.before.iter().chain(&record.during).chain(&record.after).collect()
}

fn analyse(record: &Record) -> HopAnalysis {
    let mut remarks = record.remarks.clone();
    let readings = series(record);
    let restarted = readings.windows(2).any(|pair| reading::restarted(pair[0], pair[1]));
    if restarted {
        remarks.push(
            "the SNMP agent restarted during the test: its counters before and after cannot be compared"
                .to_owned(),
        );
    }
    let complete = record.before.is_some() && record.after.is_some() && !restarted;
    let one_armed = record.inside == record.outside;
    let flow = if complete { reading::flow(&readings, one_armed) } else { None };
    if complete && flow.is_none() {
        remarks.push(no_flow(record));
    }
    let grown = if complete { grown(record, &mut remarks) } else { Vec::new() };
    let report = hop_report(record, flow, &grown, remarks);
    let after = record.after.iter().flat_map(|reading| reading.uncounted.clone()).collect();
    let tolerance = tolerance(flow.map_or(0, Flow::entered), record.requests_sent);
    HopAnalysis { report, flow, grown, uncounted: after, tolerance }
}

/// Why a hop that was read has no traffic counts.
fn no_flow(record: &Record) -> String {
    let after = record.after.as_ref();
    for (name, is_there) in [
        (&record.inside, after.is_some_and(|reading| reading.inside.is_some())),
        (&record.outside, after.is_some_and(|reading| reading.outside.is_some())),
    ] {
        if !is_there {
            return format!("interface {name} no longer existed after the test");
        }
    }
    "a packet counter decreased during the test: it was cleared, or the interface was recreated".to_owned()
}

fn grown(record: &Record, remarks: &mut Vec<String>) -> Vec<GrownDrop> {
    let (Some(before), Some(after)) = (&record.before, &record.after) else { return Vec::new() };
    let mut grown = Vec::new();
    for (key, later) in &after.drops {
        let (count, set_back) = reading::growth(before.drops.get(key).copied(), *later);
        if set_back {
            remarks.push(format!(
                "{} decreased during the test: it can have counted more than {}",
                key.1,
                units::count(count)
            ));
        }
        if count > 0 {
            grown.push((key.clone(), count));
        }
    }
    // Stable: of equal counts the most specific source stays first; machine-wide counters come last.
    grown.sort_by_key(|((source, _), count)| (*source == Source::Softnet, std::cmp::Reverse(*count)));
    grown
}

fn hop_report(
    record: &Record,
    flow: Option<Flow>,
    grown: &[GrownDrop],
    mut remarks: Vec<String>,
) -> HopReport {
    // The reading after the test can have waited for an agent; the last sample marks the end of the traffic.
    let end = record.during.iter().rfind(|reading| reading.ticks.is_some()).or(record.after.as_ref());
    let ticks = record.before.as_ref().zip(end).and_then(|(before, end)| reading::busy(before, end));
    let busy = ticks.map(|(busy, _)| busy).or(record.after.as_ref().and_then(|reading| reading.load));
    if let Some(busy) = busy.filter(|busy| *busy > BUSY) {
        remarks.push(format!("CPU {:.0}% busy", busy * 100.0));
    }
    if flow.is_some_and(|flow| flow.looks_merged() && flow.lost() > 0) {
        remarks.push(
            "packets leave longer than they enter: receive offload may merge them, so its packet counters can differ \
             without a loss"
                .to_owned(),
        );
    }
    HopReport {
        name: record.name.clone(),
        in_packets: flow.map(Flow::entered),
        out_packets: flow.map(Flow::left),
        lost: flow.map(Flow::lost),
        drops: grown.iter().map(as_drop).collect(),
        counters: others(record),
        cpu_busy: busy,
        softirq: ticks.map(|(_, softirq)| softirq),
        remarks,
    }
}

fn as_drop(((_, counter), count): &GrownDrop) -> Drop {
    Drop { counter: counter.clone(), count: *count }
}

fn others(record: &Record) -> BTreeMap<String, u64> {
    let (Some(before), Some(after)) = (&record.before, &record.after) else { return BTreeMap::new() };
    let grown = after.others.iter().filter_map(|(name, later)| {
        let (count, _) = reading::growth(before.others.get(name).copied(), *later);
        (count > 0).then(|| (name.clone(), count))
    });
    after.gauges.iter().map(|(name, level)| (name.clone(), *level)).chain(grown).collect()
}

/// The hop, if its loss exceeds the tolerance.
fn hop_candidate(hop: &HopAnalysis) -> Option<LossCandidate> {
    let lost = match hop.lost() {
        lost if lost > hop.tolerance => lost,
        _ => hop.certain(),
    };
    if lost == 0 || hop.is_only_merged() {
        return None;
    }
    let name = &hop.report.name;
    let significant = |grown: &&GrownDrop| grown.1.saturating_mul(100) >= lost;
    let counters: Vec<Drop> = hop.grown.iter().filter(significant).take(COUNTERS_MAX).map(as_drop).collect();
    let own_sentence = match hop.flow {
        Some(flow) if flow.lost() == lost => {
            format!("{name} lost {} of {} that entered it", count(lost), packets(flow.entered()))
        }
        _ => format!("{name} dropped {} according to its counters", packets(lost)),
    };
    let verb = if counters.is_empty() { "lost in" } else { "dropped by" };
    let reason = reason(hop, &counters);
    Some(LossCandidate {
        location: name.clone(),
        lost,
        tolerance: hop.tolerance,
        counters,
        with_offered: format!("{verb} {name}"),
        own_sentence,
        reason,
    })
}

fn reason(hop: &HopAnalysis, counters: &[Drop]) -> String {
    if !counters.is_empty() {
        let one = |drop: &Drop| format!("{} ({})", drop.counter, count(drop.count));
        return format!(": {}", counters.iter().map(one).collect::<Vec<_>>().join(", "));
    }
    match hop.uncounted.as_slice() {
        [] => "; no drop counter explains it".to_owned(),
        uncounted => format!(
            "; no drop counter explains it, but this drops without counting: {}",
            uncounted[..uncounted.len().min(COUNTERS_MAX)].join(", ")
        ),
    }
}

/// The links between hops whose loss exceeds the tolerance.
fn link_candidates<'a>(
    records: &'a [Record],
    analyses: &'a [HopAnalysis],
) -> impl Iterator<Item = LossCandidate> + 'a {
    records.windows(2).zip(analyses.windows(2)).filter_map(|(records, hops)| {
        let [near, far] = [hops[0].flow?, hops[1].flow?];
        // A one-armed hop counts everything on its one interface.
        let (out, back) = if near.one_armed { (near.tx_in, near.rx_in) } else { (near.tx_out, near.rx_out) };
        let gaps = out.saturating_sub(far.rx_in) + far.tx_in.saturating_sub(back);
        let lost = gaps.saturating_sub(hops[0].uncounted_drops() + hops[1].uncounted_drops());
        let [a, b] = [&records[0], &records[1]];
        let ends = format!("the link from {} ({}) to {} ({})", a.name, a.outside, b.name, b.inside);
        let left = out + far.tx_in;
        link(format!("{} - {}", a.name, b.name), lost, left, ends)
    })
}

fn link(location: String, lost: u64, left: u64, ends: String) -> Option<LossCandidate> {
    let tolerance = tolerance(left, 0);
    (lost > tolerance).then(|| LossCandidate {
        location,
        lost,
        tolerance,
        counters: Vec::new(),
        with_offered: format!("lost on {ends}"),
        own_sentence: format!("{ends} lost {} of {} that were sent over it", count(lost), packets(left)),
        reason: String::new(),
    })
}

/// The links between the tester and the path's ends.
fn end_candidates(analyses: &[HopAnalysis], offered: Offered) -> Vec<LossCandidate> {
    let (Some(first), Some(last)) = (analyses.first(), analyses.last()) else { return Vec::new() };
    let (Some(near), Some(far)) = (first.flow, last.flow) else { return Vec::new() };
    let (back_in, out) = if far.one_armed { (0, far.tx_in) } else { (far.rx_out, far.tx_out) };
    // Only directions with traffic reach the tester; packets in the other direction are not test packets.
    let forward = near.rx_in > first.tolerance;
    let backward = back_in > last.tolerance;
    let left = out * u64::from(forward) + near.tx_in * u64::from(backward && !far.one_armed);
    let uncounted_drops =
        first.uncounted_drops() + if analyses.len() > 1 { last.uncounted_drops() } else { 0 };
    let ends = if analyses.len() > 1 {
        format!("{} and {}", first.report.name, last.report.name)
    } else {
        first.report.name.clone()
    };
    let to = offered.sent.saturating_sub(near.rx_in + back_in).saturating_sub(uncounted_drops);
    let from = left.saturating_sub(offered.received);
    let to =
        link(format!("tester - {ends}"), to, offered.sent, format!("the link from the tester to {ends}"));
    let from = link(format!("{ends} - tester"), from, left, format!("the link from {ends} to the tester"));
    // A loss larger than the test's is other traffic on the path.
    [to, from].into_iter().flatten().filter(|way| way.can_be_test_loss(offered.lost())).collect()
}

/// Removes losses that cannot be the test's, with a remark; the others explain no more than the test lost.
fn keep_test_losses(
    candidates: Vec<LossCandidate>,
    offered: Option<Offered>,
    remarks: &mut Vec<String>,
) -> Vec<LossCandidate> {
    let Some(lost) = offered.map(Offered::lost) else { return candidates };
    let mut named = Vec::new();
    for mut candidate in candidates {
        if !candidate.can_be_test_loss(lost) {
            let test = if lost == 0 { "none".to_owned() } else { format!("only {}", count(lost)) };
            let LossCandidate { own_sentence, reason, .. } = &candidate;
            remarks.push(capitalised(&format!(
                "{own_sentence}{reason}; the test lost {test}, so these are other packets"
            )));
        } else {
            candidate.lost = candidate.lost.min(lost);
            named.push(candidate);
        }
    }
    named
}

fn sentence(candidate: &LossCandidate, offered: Option<Offered>) -> String {
    let LossCandidate { lost, with_offered, own_sentence, reason, .. } = candidate;
    match offered {
        Some(offered) => {
            let verb = if *lost == 1 { "was" } else { "were" };
            let all = packets(offered.lost());
            format!("Of {all} lost, {} {verb} {with_offered}{reason}.", count(*lost))
        }
        None => capitalised(&format!("{own_sentence}{reason}.")),
    }
}

/// A hop's name at the start of a sentence is not capitalized.
fn capitalised(text: &str) -> String {
    text.strip_prefix("the ").map_or_else(|| text.to_owned(), |rest| format!("The {rest}"))
}

/// The rest of the tester's loss.
fn unexplained(analyses: &[HopAnalysis], offered: Option<Offered>, explained: Option<u64>) -> Option<String> {
    let (offered, explained) = (offered?, explained?);
    let rest = offered.lost() - explained;
    if rest <= tolerance(offered.sent, 0) {
        return None;
    }
    let unknown: Vec<&str> =
        analyses.iter().filter(|hop| hop.flow.is_none()).map(|hop| hop.report.name.as_str()).collect();
    let why = if unknown.is_empty() {
        String::new()
    } else {
        format!("; no packet counts for {}", unknown.join(", "))
    };
    let (rest, all) = (count(rest), packets(offered.lost()));
    Some(format!("{rest} of {all} lost are not explained by any counter on the path{why}"))
}

/// The time series of a hop.
fn samples(record: &Record) -> Vec<Sample> {
    let Some(first) = record.before.as_ref() else { return Vec::new() };
    let one_armed = record.inside == record.outside;
    // The last reading is full; use only the counters that the others have.
    let counts = |key: &Key| record.during.first().is_none_or(|reading| reading.drops.contains_key(key));
    let (mut earlier, mut sum) = (first, Some(Flow::default()));
    let mut samples: Vec<Sample> = Vec::new();
    for now in record.during.iter().chain(&record.after) {
        if reading::restarted(earlier, now) {
            sum = None;
        }
        sum = sum.and_then(|sum| Some(sum.plus(reading::flow(&[earlier, now], one_armed)?)));
        let grown = now.drops.iter().filter(|(key, _)| key.0 != Source::Softnet && counts(key));
        let drops = grown.map(|(key, later)| reading::growth(first.drops.get(key).copied(), *later).0).sum();
        let before = samples.last();
        let seconds = now.at.since(earlier.at).as_secs_f64();
        let rate = |now: Option<u64>, before: Option<u64>| {
            (seconds > 0.0).then_some(now?.saturating_sub(before?) as f64 / seconds)
        };
        // The counts begin at zero.
        let (in_before, out_before) =
            before.map_or((Some(0), Some(0)), |one| (one.in_packets, one.out_packets));
        let (in_packets, out_packets) = (sum.map(Flow::entered), sum.map(Flow::left));
        samples.push(Sample {
            hop: record.name.clone(),
            at_s: now.at.since(first.at).as_secs_f64(),
            in_packets,
            out_packets,
            drops,
            in_pps: rate(in_packets, in_before),
            out_pps: rate(out_packets, out_before),
            drops_pps: rate(Some(drops), Some(before.map_or(0, |one| one.drops))),
            cpu_busy: reading::busy(earlier, now).map(|(busy, _)| busy),
        });
        earlier = now;
    }
    samples
}

/// `1 packet`, `12,345 packets`.
fn packets(number: u64) -> String {
    format!("{} packet{}", count(number), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests;
