//! From readings to the weakest link. Pure: the same readings give the same report.
//!
//! A **hop** loses what enters it and does not leave, each direction by itself; or what its own counters say it dropped, if
//! that is more (a network card drops before it counts). A **link** loses what left one hop and did not enter the next,
//! less what the counters of either hop account for. With the tester's counts there are two links more, from it and to it.
//!
//! Packets that are nobody's test (address resolution, routing protocols, the polling itself) pass all these counters too.
//! So a place is named only for a loss above its *tolerance*: 100 packets or 0.01 % of what entered, whichever is more, and
//! twice what this very poller asked the hop. And a place cannot explain more than the tester has lost.

use crate::reading::{self, Flow, Key, Reading, Source};
use crate::words::{packets, thousands};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the tester has sent and received, all streams and directions together, packets.
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

/// A counter of dropped packets that has grown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drop {
    /// What it is called: `nft rule 'udp dport 9 … drop' (inet filter forward, handle 3)`, `ifInDiscards of eth0`.
    pub counter: String,
    /// By how many packets.
    pub count: u64,
}

/// What went on at a hop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HopReport {
    /// Its name.
    pub name: String,
    /// Packets that entered by either interface; absent if not known, and a remark says why.
    pub in_packets: Option<u64>,
    /// Packets that left by either interface.
    pub out_packets: Option<u64>,
    /// Packets that entered and did not leave, each direction by itself.
    pub lost: Option<u64>,
    /// Counters of drops that have grown, the largest first.
    pub drops: Vec<Drop>,
    /// Other counters that have grown, and levels as last read (connections tracked, speed of links in Mbit/s).
    pub counters: BTreeMap<String, u64>,
    /// How busy the processors of its machine were, 0 to 1.
    pub cpu_busy: Option<f64>,
    /// The share of time they spent in soft interrupts, where Linux forwards packets, 0 to 1.
    pub softirq: Option<f64>,
    /// What limits these figures.
    pub remarks: Vec<String>,
}

/// What a hop had counted at an instant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Name of the hop.
    pub hop: String,
    /// When it was read: seconds since `begin` ended. What an SNMP agent says may be older by its refresh time.
    pub at_s: f64,
    /// Packets that had entered since the beginning.
    pub in_packets: Option<u64>,
    /// Packets that had left.
    pub out_packets: Option<u64>,
    /// Packets dropped by then, by those counters that are read every interval.
    pub drops: u64,
    /// How busy processors were since the sample before, 0 to 1.
    pub cpu_busy: Option<f64>,
}

/// The place that lost most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weakest {
    /// A hop's name, or two names for the link between them: `r1 - r2`.
    pub hop: String,
    /// Packets lost there.
    pub lost: u64,
    /// The counters that say so; none on a link, or if no counter does.
    pub counters: Vec<Drop>,
    /// All of this in words.
    pub sentence: String,
}

/// What went on along the path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathReport {
    /// The hops in order.
    pub hops: Vec<HopReport>,
    /// The place that lost most; none if nothing lost more than its tolerance.
    pub weakest: Option<Weakest>,
    /// What the tester has sent and received, if it was told.
    pub offered: Option<Offered>,
    /// Packets of the tester's loss that places on the path account for.
    pub explained: Option<u64>,
    /// Other places that lost packets, and what limits the report.
    pub remarks: Vec<String>,
    /// The hops over time, hop by hop.
    pub samples: Vec<Sample>,
    /// Time from the first readings to the last, s.
    pub duration_s: f64,
}

/// All that was read of a hop.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) inside: String,
    pub(crate) outside: String,
    /// Before the traffic; full.
    pub(crate) before: Option<Reading>,
    /// While it ran; only what is cheap.
    pub(crate) during: Vec<Reading>,
    /// After it; full.
    pub(crate) after: Option<Reading>,
    /// Requests this poller has sent to the hop meanwhile.
    pub(crate) asked: u64,
    /// Whatever the reader of the counters has to say.
    pub(crate) remarks: Vec<String>,
}

/// Least loss that is named, packets.
const TOLERANCE_PACKETS: u64 = 100;
/// Least loss that is named, as a part of what entered: one in so many.
const TOLERANCE_PART: u64 = 10_000;
/// Busier processors are remarked upon.
const BUSY: f64 = 0.95;
/// Most counters in a sentence.
const COUNTERS_MAX: usize = 3;

/// Loss up to which a place is not named.
pub(crate) fn tolerance(entered: u64, asked: u64) -> u64 {
    TOLERANCE_PACKETS.max(entered / TOLERANCE_PART) + 2 * asked
}

/// A drop counter with what it is worth as evidence.
type Grown = (Key, u64);

/// A hop, weighed.
struct Weighed {
    report: HopReport,
    flow: Option<Flow>,
    grown: Vec<Grown>,
    uncounted: Vec<String>,
    tolerance: u64,
}

impl Weighed {
    /// What the hop's own counters say it dropped. Those of a driver and of the interface count the same packets.
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

    /// Of two counts that differ by no more than background, that of what went through is the better one.
    fn lost(&self) -> u64 {
        if self.beside() > self.tolerance { self.evidence() } else { self.through() }
    }

    /// What it dropped beside what its packet counters show, such as a card's drops before it counts.
    fn beside(&self) -> u64 {
        self.evidence().saturating_sub(self.through())
    }

    /// A loss that is none: packets were joined, and no counter speaks of drops.
    fn only_joined(&self) -> bool {
        self.flow.is_some_and(Flow::looks_joined) && self.evidence() < self.through() / 2
    }
}

/// A place that lost packets.
struct Suspect {
    place: String,
    lost: u64,
    tolerance: u64,
    counters: Vec<Drop>,
    /// Behind 'Of 12 packets lost, 10 '.
    with_offered: String,
    /// On its own, in front of the counters.
    alone: String,
    /// The counters, or why there are none.
    because: String,
}

impl Suspect {
    /// Whether what was lost here may be what the tester lost, or most of it.
    fn can_be_the_tests(&self, lost: u64) -> bool {
        self.lost <= lost.saturating_mul(2).saturating_add(self.tolerance) && lost > 0
    }
}

/// The report.
pub(crate) fn report(records: &[Record], offered: Option<Offered>) -> PathReport {
    let weighed: Vec<Weighed> = records.iter().map(weigh).collect();
    let mut suspects: Vec<Suspect> = weighed.iter().filter_map(hop_suspect).collect();
    suspects.extend(link_suspects(records, &weighed));
    suspects.extend(offered.into_iter().flat_map(|offered| end_suspects(&weighed, offered)));
    let mut remarks = Vec::new();
    let mut named = keep_those_of_the_test(suspects, offered, &mut remarks);
    named.sort_by_key(|suspect| std::cmp::Reverse(suspect.lost));
    let explained = offered.map(|o| named.iter().map(|suspect| suspect.lost).sum::<u64>().min(o.lost()));
    remarks.extend(named.iter().skip(1).map(|suspect| sentence(suspect, offered)));
    remarks.extend(unexplained(&weighed, offered, explained));
    let weakest = named.into_iter().next().map(|first| Weakest {
        sentence: sentence(&first, offered),
        hop: first.place,
        lost: first.lost,
        counters: first.counters,
    });
    let samples = records.iter().flat_map(samples).collect();
    let duration_s = records.iter().map(duration_s).fold(0.0, f64::max);
    let hops = weighed.into_iter().map(|hop| hop.report).collect();
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

fn weigh(record: &Record) -> Weighed {
    let mut remarks = record.remarks.clone();
    let readings = series(record);
    let anew = readings.windows(2).any(|pair| reading::restarted(pair[0], pair[1]));
    if anew {
        remarks.push(
            "the agent began anew during the test, so what it counted before and after does not belong together"
                .to_owned(),
        );
    }
    let complete = record.before.is_some() && record.after.is_some() && !anew;
    let one_armed = record.inside == record.outside;
    let flow = if complete { reading::flow(&readings, one_armed) } else { None };
    if complete && flow.is_none() {
        remarks.push(no_flow(record));
    }
    let grown = if complete { grown(record, &mut remarks) } else { Vec::new() };
    let report = hop_report(record, flow, &grown, remarks);
    let after = record.after.iter().flat_map(|reading| reading.uncounted.clone()).collect();
    let tolerance = tolerance(flow.map_or(0, Flow::entered), record.asked);
    Weighed { report, flow, grown, uncounted: after, tolerance }
}

/// Why what went through a hop is not known though it was read.
fn no_flow(record: &Record) -> String {
    let after = record.after.as_ref();
    for (name, is_there) in [
        (&record.inside, after.is_some_and(|reading| reading.inside.is_some())),
        (&record.outside, after.is_some_and(|reading| reading.outside.is_some())),
    ] {
        if !is_there {
            return format!("interface {name} was gone after the test, and its counters with it");
        }
    }
    "a packet counter went back during the test: it was set to zero, or the interface made anew".to_owned()
}

fn grown(record: &Record, remarks: &mut Vec<String>) -> Vec<Grown> {
    let (Some(before), Some(after)) = (&record.before, &record.after) else { return Vec::new() };
    let mut grown = Vec::new();
    for (key, later) in &after.drops {
        let (count, set_back) = reading::growth(before.drops.get(key).copied(), *later);
        if set_back {
            remarks.push(format!(
                "{} went back during the test: it may have counted more than {}",
                key.1,
                thousands(count)
            ));
        }
        if count > 0 {
            grown.push((key.clone(), count));
        }
    }
    // Stable: of equal counts the most telling source stays first; what is only the machine's comes last.
    grown.sort_by_key(|((source, _), count)| (*source == Source::Softnet, std::cmp::Reverse(*count)));
    grown
}

fn hop_report(record: &Record, flow: Option<Flow>, grown: &[Grown], mut remarks: Vec<String>) -> HopReport {
    // The reading after the test may have waited for an agent; the last sample was the end of the traffic.
    let end = record.during.iter().rfind(|reading| reading.ticks.is_some()).or(record.after.as_ref());
    let ticks = record.before.as_ref().zip(end).and_then(|(before, end)| reading::busy(before, end));
    let busy = ticks.map(|(busy, _)| busy).or(record.after.as_ref().and_then(|reading| reading.load));
    if let Some(busy) = busy.filter(|busy| *busy > BUSY) {
        remarks.push(format!("its processors were {:.0} % busy", busy * 100.0));
    }
    if flow.is_some_and(|flow| flow.looks_joined() && flow.lost() > 0) {
        remarks.push(
            "packets left it longer than they came: it may join them (receive offload), and then its packet counters \
             differ without a loss"
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

fn as_drop(((_, counter), count): &Grown) -> Drop {
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

/// The hop, if it lost more than its tolerance.
fn hop_suspect(hop: &Weighed) -> Option<Suspect> {
    let lost = hop.lost();
    if lost <= hop.tolerance || hop.only_joined() {
        return None;
    }
    let name = &hop.report.name;
    let telling = |grown: &&Grown| grown.1.saturating_mul(100) >= lost;
    let counters: Vec<Drop> = hop.grown.iter().filter(telling).take(COUNTERS_MAX).map(as_drop).collect();
    let alone = match hop.flow {
        Some(flow) if flow.lost() == lost => {
            format!("{name} lost {} of {} that entered it", thousands(lost), packets(flow.entered()))
        }
        _ => format!("{name} dropped {}, by its own counters", packets(lost)),
    };
    let verb = if counters.is_empty() { "lost in" } else { "dropped by" };
    let because = because(hop, &counters);
    Some(Suspect {
        place: name.clone(),
        lost,
        tolerance: hop.tolerance,
        counters,
        with_offered: format!("{verb} {name}"),
        alone,
        because,
    })
}

fn because(hop: &Weighed, counters: &[Drop]) -> String {
    if !counters.is_empty() {
        let one = |drop: &Drop| format!("{} ({})", drop.counter, thousands(drop.count));
        return format!(": {}", counters.iter().map(one).collect::<Vec<_>>().join(", "));
    }
    match hop.uncounted.as_slice() {
        [] => "; none of its counters says why".to_owned(),
        uncounted => format!(
            "; none of its counters says why, but this drops without counting: {}",
            uncounted[..uncounted.len().min(COUNTERS_MAX)].join(", ")
        ),
    }
}

/// The links between hops that lost more than their tolerance.
fn link_suspects<'a>(records: &'a [Record], weighed: &'a [Weighed]) -> impl Iterator<Item = Suspect> + 'a {
    records.windows(2).zip(weighed.windows(2)).filter_map(|(records, hops)| {
        let [near, far] = [hops[0].flow?, hops[1].flow?];
        // A one-armed hop has all it counts under its one interface.
        let (out, back) = if near.one_armed { (near.tx_in, near.rx_in) } else { (near.tx_out, near.rx_out) };
        let gaps = out.saturating_sub(far.rx_in) + far.tx_in.saturating_sub(back);
        let lost = gaps.saturating_sub(hops[0].beside() + hops[1].beside());
        let [a, b] = [&records[0], &records[1]];
        let ends = format!("the link from {} ({}) to {} ({})", a.name, a.outside, b.name, b.inside);
        let left = out + far.tx_in;
        link(format!("{} - {}", a.name, b.name), lost, left, ends)
    })
}

fn link(place: String, lost: u64, left: u64, ends: String) -> Option<Suspect> {
    let tolerance = tolerance(left, 0);
    (lost > tolerance).then(|| Suspect {
        place,
        lost,
        tolerance,
        counters: Vec::new(),
        with_offered: format!("lost on {ends}"),
        alone: format!("{ends} lost {} of {} that were sent over it", thousands(lost), packets(left)),
        because: String::new(),
    })
}

/// The links between the tester and the path's ends.
fn end_suspects(weighed: &[Weighed], offered: Offered) -> Vec<Suspect> {
    let (Some(first), Some(last)) = (weighed.first(), weighed.last()) else { return Vec::new() };
    let (Some(near), Some(far)) = (first.flow, last.flow) else { return Vec::new() };
    let (back_in, out) = if far.one_armed { (0, far.tx_in) } else { (far.rx_out, far.tx_out) };
    // The tester hears only where traffic goes; what is said the other way is no test packet.
    let forward = near.rx_in > first.tolerance;
    let backward = back_in > last.tolerance;
    let left = out * u64::from(forward) + near.tx_in * u64::from(backward && !far.one_armed);
    let beside = first.beside() + if weighed.len() > 1 { last.beside() } else { 0 };
    let ends = if weighed.len() > 1 {
        format!("{} and {}", first.report.name, last.report.name)
    } else {
        first.report.name.clone()
    };
    let to = offered.sent.saturating_sub(near.rx_in + back_in).saturating_sub(beside);
    let from = left.saturating_sub(offered.received);
    let to = link(format!("tester - {ends}"), to, offered.sent, format!("the way from the tester to {ends}"));
    let from = link(format!("{ends} - tester"), from, left, format!("the way from {ends} to the tester"));
    // More than the test can have lost is others' traffic, which the path has besides.
    [to, from].into_iter().flatten().filter(|way| way.can_be_the_tests(offered.lost())).collect()
}

/// Takes out losses that cannot be the test's, and says so; the others explain no more than the test lost.
fn keep_those_of_the_test(
    suspects: Vec<Suspect>,
    offered: Option<Offered>,
    remarks: &mut Vec<String>,
) -> Vec<Suspect> {
    let Some(lost) = offered.map(Offered::lost) else { return suspects };
    let mut named = Vec::new();
    for mut suspect in suspects {
        if !suspect.can_be_the_tests(lost) {
            let test = if lost == 0 { "none".to_owned() } else { format!("only {}", thousands(lost)) };
            let Suspect { alone, because, .. } = &suspect;
            remarks
                .push(capitalised(&format!("{alone}{because}; the test lost {test}, so these were others")));
        } else {
            suspect.lost = suspect.lost.min(lost);
            named.push(suspect);
        }
    }
    named
}

fn sentence(suspect: &Suspect, offered: Option<Offered>) -> String {
    let Suspect { lost, with_offered, alone, because, .. } = suspect;
    match offered {
        Some(offered) => {
            let verb = if *lost == 1 { "was" } else { "were" };
            let all = packets(offered.lost());
            format!("Of {all} lost, {} {verb} {with_offered}{because}.", thousands(*lost))
        }
        None => capitalised(&format!("{alone}{because}.")),
    }
}

/// A sentence may begin with a hop's name, which stays as it is.
fn capitalised(text: &str) -> String {
    text.strip_prefix("the ").map_or_else(|| text.to_owned(), |rest| format!("The {rest}"))
}

/// What is left of the tester's loss.
fn unexplained(weighed: &[Weighed], offered: Option<Offered>, explained: Option<u64>) -> Option<String> {
    let (offered, explained) = (offered?, explained?);
    let rest = offered.lost() - explained;
    if rest <= tolerance(offered.sent, 0) {
        return None;
    }
    let unknown: Vec<&str> =
        weighed.iter().filter(|hop| hop.flow.is_none()).map(|hop| hop.report.name.as_str()).collect();
    let why = if unknown.is_empty() {
        String::new()
    } else {
        format!("; what went through {} is not known", unknown.join(", "))
    };
    let (rest, all) = (thousands(rest), packets(offered.lost()));
    Some(format!("{rest} of the {all} lost are not explained by any counter of the path{why}"))
}

/// The readings of a hop as its time series.
fn samples(record: &Record) -> Vec<Sample> {
    let Some(first) = record.before.as_ref() else { return Vec::new() };
    let one_armed = record.inside == record.outside;
    // The last reading is a full one; in a series it counts what the others count.
    let counts = |key: &Key| record.during.first().is_none_or(|reading| reading.drops.contains_key(key));
    let (mut earlier, mut sum) = (first, Some(Flow::default()));
    let mut samples = Vec::new();
    for now in record.during.iter().chain(&record.after) {
        if reading::restarted(earlier, now) {
            sum = None;
        }
        sum = sum.and_then(|sum| Some(sum.plus(reading::flow(&[earlier, now], one_armed)?)));
        let grown = now.drops.iter().filter(|(key, _)| key.0 != Source::Softnet && counts(key));
        samples.push(Sample {
            hop: record.name.clone(),
            at_s: now.at.since(first.at).as_secs_f64(),
            in_packets: sum.map(Flow::entered),
            out_packets: sum.map(Flow::left),
            drops: grown.map(|(key, later)| reading::growth(first.drops.get(key).copied(), *later).0).sum(),
            cpu_busy: reading::busy(earlier, now).map(|(busy, _)| busy),
        });
        earlier = now;
    }
    samples
}

#[cfg(test)]
mod tests;
