//! Rows of result documents from counts: streams, groups and ports, of the whole trial or of an interval.

use crate::capture::CaptureOutcome;
use crate::control::commands::RateCommand;
use crate::control::neighbours::NeighbourMove;
use crate::counts::interval::PortCounts;
use crate::observer::View;
use crate::outages::Instants;
use crate::session::LinkEvent;
use crate::session_rows::sessions;
use crate::sums::{Since, Sums, WorkerTime};
use crate::trial::{Trial, TrialStream};
use fragment::FragmentCounts;
use histogram::SparseHistogram;
use measure::{
    Counts, DamageCounts, DelayVariation, Jitter, Moments, PathCounts, Span, StreamTotals, Undisturbed,
};
use port::DriverDrops;
use replay::CaptureReport;
use result::{
    CaptureResult, ClearedResult, Counters, DamageResult, DamagedPlace, EgressResult, INTERVAL_SCHEMA,
    IntervalDocument, JitterResult, KernelRxResult, LatencyResult, Named, NeighbourMoveResult, OutagesResult,
    PacingResult, PathResult, PortResult, RateChange, ReplayResult, SpreadResult, StampsResult, StreamResult,
    TotalDocument, UndisturbedResult, WorkerResult,
};
use sched::{Pace, PacingRecord};
use std::borrow::Cow;
use units::{L1_OVERHEAD_BYTES, Mac, Nanos};
use wire::integrity::Damage;

impl From<CaptureOutcome> for CaptureResult {
    fn from(outcome: CaptureOutcome) -> Self {
        Self {
            files: outcome.files.iter().map(|path| path.display().to_string()).collect(),
            seen: outcome.seen,
            matched: outcome.matched,
            captured: outcome.captured,
            dropped: outcome.dropped,
            displaced: outcome.displaced,
            error: outcome.error,
        }
    }
}

/// A change of rates that takes effect `at` this time.
pub(crate) fn rate_change(command: &RateCommand, at: Nanos) -> RateChange {
    RateChange { at_s: at.as_secs_f64(), stream: command.stream.clone(), to: command.speed.to_string() }
}

/// Since when counters of a trial of `span` count, if they were set to zero.
pub(crate) fn cleared(sums: &Sums, span: Nanos) -> Option<ClearedResult> {
    let Since { at, times, is_inexact, .. } = &sums.since;
    (*times > 0).then(|| ClearedResult {
        times: u64::from(*times),
        at_s: at.as_secs_f64(),
        counted_s: span.since(*at).as_secs_f64(),
        exact: !*is_inexact,
    })
}

/// Bits at layer 1 of `packets` frames of `bytes` in all.
pub(crate) fn l1_bits(bytes: u64, packets: u64) -> f64 {
    (bytes as f64 + packets as f64 * f64::from(L1_OVERHEAD_BYTES)) * 8.0
}

/// Latencies from moments and, if kept, a histogram; `None` if nothing was measured.
pub(crate) fn latency(moments: &Moments, histogram: Option<&SparseHistogram>) -> Option<LatencyResult> {
    // A bucket's end may lie beyond the largest value in it.
    let quantile = |q| histogram.and_then(|h| h.quantile(q)).map(|v| v.clamp(moments.min, moments.max));
    Some(LatencyResult {
        min: moments.min,
        mean: moments.mean()?,
        stddev: moments.stddev()?,
        p50: quantile(0.5),
        p90: quantile(0.9),
        p95: quantile(0.95),
        p99: quantile(0.99),
        p99_9: quantile(0.999),
        p99_99: quantile(0.9999),
        max: moments.max,
        samples: moments.samples,
    })
}

pub(crate) fn jitter(change: &DelayVariation, jitter: Option<Jitter>) -> Option<JitterResult> {
    let rfc3550 = jitter.and_then(Jitter::ns);
    Some(JitterResult { rfc3550, rfc4689_mean: change.mean()?, rfc4689_max: change.max })
}

pub(crate) fn spread(m: &Moments) -> Option<SpreadResult> {
    Some(SpreadResult { min: m.min, mean: m.mean()?, stddev: m.stddev()?, max: m.max })
}

fn pacing(record: &PacingRecord) -> Option<PacingResult> {
    Some(PacingResult {
        error_p50: record.errors.quantile(0.5)?,
        error_p99: record.errors.quantile(0.99)?,
        error_p99_9: record.errors.quantile(0.999)?,
        back_to_back_ratio: record.back_to_back_ratio()?,
        late_max: record.late_max,
    })
}

/// A worker's time, without what only the system knows of it.
pub(crate) fn worker(time: &WorkerTime) -> WorkerResult {
    let busy_ratio = time.busy_ns as f64 / time.total_ns.max(1) as f64;
    WorkerResult {
        core: None,
        moves: Vec::new(),
        priority: None,
        busy_ratio,
        cpu_s: None,
        waited_s: None,
        stall_max_ns: time.stall_max_ns,
        paused_s: None,
        slept_s: (time.slept_ns > 0).then_some(time.slept_ns as f64 / 1e9),
        overslept_max_ns: (time.slept_ns > 0).then_some(time.overslept_max_ns),
    }
}

fn errors(pairs: &[(&str, u64)]) -> Counters {
    pairs.iter().filter(|(_, n)| *n > 0).map(|(reason, n)| ((*reason).to_owned(), *n)).collect()
}

/// Fragments to a port's hosts, and to those inside tunnels.
fn fragments(counts: &PortCounts) -> FragmentCounts {
    let mut all = counts.fragments;
    all.merge(&counts.tunnels.fragments);
    all
}

/// Ports of `sums` over `seconds`; `ends` has what is known only at the end.
pub(crate) fn ports(
    trial: &Trial<'_>,
    sums: &Sums,
    seconds: f64,
    ends: Option<&[PortEnd]>,
) -> Named<PortResult> {
    let mut all = Named::with_capacity(sums.ports.len());
    for (index, (plan, n)) in trial.plan.ports.iter().zip(&sums.ports).enumerate() {
        // Snapshots are often: they leave out ports of other machines of the run.
        if ends.is_none() && !trial.has_port(index) {
            continue;
        }
        let end = ends.map(|ends| &ends[index]);
        let mut rx_errors = errors(&[
            ("damaged_signature", n.rx_damaged),
            ("misrouted", n.rx_misrouted),
            ("wrong_length", n.rx_wrong_length),
            ("unknown_stream", n.rx_unknown_stream),
            ("before_sent", n.rx_before_sent),
            ("not_steered", n.rx_not_steered),
            ("hosts_busy", n.rx_hosts_busy),
        ]);
        rx_errors.extend(errors(end.map_or(&[], |e| &e.drops.rx)));
        let port = PortResult {
            tx_packets: n.tx_packets,
            tx_bytes: n.tx_bytes,
            rx_packets: n.rx_packets,
            rx_bytes: n.rx_bytes,
            tx_unsent: end.map(|e| e.unsent),
            tx_pps: n.tx_packets as f64 / seconds,
            rx_pps: n.rx_packets as f64 / seconds,
            tx_bps_l1: l1_bits(n.tx_bytes, n.tx_packets) / seconds,
            rx_bps_l1: l1_bits(n.rx_bytes, n.rx_packets) / seconds,
            rx_other: n.rx_other,
            xdp_mode: end.and_then(|end| end.xdp_mode.clone()),
            kernel_rx: end.and_then(|end| end.recording.as_ref()).map(|recording| KernelRxResult {
                packets: n.rx_recorded,
                clock_error_max_ns: (n.rx_recorded > 0).then_some(n.rx_clock_error_ns),
                off: recording.clone().err(),
            }),
            stamps: plan.stamps.map(|by| StampsResult {
                by: by.name().to_owned(),
                packets: n.rx_stamped,
                clock_error_max_ns: (n.rx_stamped > 0).then_some(n.rx_clock_error_ns),
            }),
            tx_answers: n.tx_answers,
            rx_punted: plan.punt.as_ref().map(|_| n.rx_punted),
            rx_punt_dropped: plan
                .punt
                .as_ref()
                .map(|_| n.rx_punt_dropped + end.map_or(0, |end| end.punts_dropped.0)),
            tx_punted: plan.punt.as_ref().map(|_| n.tx_punted),
            tx_punt_dropped: plan
                .punt
                .as_ref()
                .map(|_| n.tx_punt_dropped + end.map_or(0, |end| end.punts_dropped.1)),
            rx_errors,
            tx_errors: errors(end.map_or(&[], |e| &e.drops.tx)),
            fragments: errors(&fragments(n).each()),
            tunnels: errors(&n.tunnels.each()),
            neighbour_moves: end.map_or_else(Vec::new, |end| end.moves.iter().map(neighbour_move).collect()),
            pacing_ns: pacing(&port_pacing(trial, sums, index)),
            // Control protocols are filled in by who runs them.
            ..PortResult::default()
        };
        all.insert(plan.name.clone(), port);
    }
    all
}

/// Facts about a port that are known only at the end.
#[derive(Debug, Clone, Default)]
pub(crate) struct PortEnd {
    pub(crate) unsent: u64,
    pub(crate) drops: DriverDrops,
    /// Frames for its hosts' namespace, and of it, that were dropped behind the workers.
    pub(crate) punts_dropped: (u64, u64),
    /// Queues it sends with.
    pub(crate) queues: usize,
    /// Changes of its link meanwhile.
    pub(crate) links: Vec<LinkEvent>,
    /// Neighbours of its hosts that were followed.
    pub(crate) moves: Vec<NeighbourMove>,
    /// Whether the kernel recorded its test packets, or why not; `None` if its ports have no such thing.
    pub(crate) recording: Option<Result<(), String>>,
    /// AF_XDP mode there; `None` if it is not used.
    pub(crate) xdp_mode: Option<String>,
}

fn neighbour_move(step: &NeighbourMove) -> NeighbourMoveResult {
    NeighbourMoveResult {
        ip: step.ip.to_string(),
        from: Mac(step.from).to_string(),
        to: Mac(step.to).to_string(),
        at_s: step.at.as_secs_f64(),
        asked: step.was_asked,
        took_s: step.took.map(Nanos::as_secs_f64),
        lost: step.lost,
    }
}

fn port_pacing(trial: &Trial<'_>, sums: &Sums, port: usize) -> PacingRecord {
    if !trial.shape.paces_streams {
        return sums.pacing[port].clone();
    }
    let mut all = PacingRecord::default();
    let own = trial.streams.iter().zip(&sums.pacing).filter(|(stream, _)| stream.from == port);
    own.for_each(|(_, record)| all.merge(record));
    all
}

/// RFC 3550's jitter of each stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Jitters<'a> {
    pub(crate) all: &'a [Jitter],
    /// Without what pauses of the tester did.
    pub(crate) undisturbed: &'a [Jitter],
}

/// Streams of `sums` over `span`. Loss is known only at the end, and so is the jitter estimate.
pub(crate) fn streams(
    trial: &Trial<'_>,
    sums: &Sums,
    span: Nanos,
    jitters: Option<Jitters<'_>>,
    instants: Option<Instants<'_>>,
    final_counts: bool,
) -> Named<StreamResult> {
    let mut all = Named::with_capacity(trial.streams.len());
    for (index, (plan, stream)) in trial.plan.streams.iter().zip(&trial.streams).enumerate() {
        // Other machines of the run have rows of theirs.
        if !trial.has_stream(plan) {
            continue;
        }
        let totals = &sums.arrivals.streams[index];
        let counts = is_counted(stream, totals).then_some(&totals.counts);
        let epoch = instants.map(|at| at.epoch);
        let egress = egress(trial, sums, index, epoch, !is_of_another_clock(trial, sums));
        let paths = instants.map_or_else(Named::new, |at| paths(trial, sums, index, at.epoch));
        let outages = instants.and_then(|at| at.outages.row(index, at.epoch)).map(Box::new);
        let arrived = instants.and_then(|at| since(counts.and_then(|_| at.spans.of(index))?, at.epoch));
        let window = match (trial.plan.sent_elsewhere, arrived) {
            (Some(_), Some(arrived)) => sent_within(arrived, sums.sent[index]),
            _ if final_counts => active_since(stream, span, &sums.since, index),
            _ => span,
        };
        let is_cleared = sums.since.times > 0;
        let row = Row {
            requested_pps: requested(stream, sums.since.at, span, final_counts),
            before: is_cleared.then(|| sums.since.sent.get(index).copied().unwrap_or(0)),
            passed: Some(sums.passed[index]).filter(|n| is_cleared && stream.measured || *n > 0),
            stream: Some(stream),
            window,
            tx: sums.sent[index],
            measured_tx: sums.sent[index],
            tx_bytes: sent_bytes(trial, sums, index),
            counts,
            is_measured: stream.measured,
            latency: totals.latency.as_ref().filter(|_| stream.measured),
            one_clock: !is_of_another_clock(trial, sums),
            jitter: jitters.map(|jitters| jitters.all[index]),
            undisturbed: totals.undisturbed.as_deref(),
            undisturbed_jitter: jitters.map(|jitters| jitters.undisturbed[index]),
            arrived,
            paths,
            outages,
            egress,
            integrity: (stream.measured && final_counts).then(|| match plan.integrity {
                true => "full".into(),
                false => "signature".into(),
            }),
            damaged: damages(trial, sums, index).map(|(counts, _)| counts.packets()),
            damage: damages(trial, sums, index).filter(|_| final_counts).map(damage).map(Box::new),
            pacing: trial.shape.paces_streams.then(|| pacing(&sums.pacing[index])).flatten().map(Box::new),
            replay: plan
                .capture
                .as_deref()
                .filter(|report| final_counts && !report.is_plain())
                .map(replayed)
                .map(Box::new),
        };
        all.insert(plan.name.clone(), row.result(final_counts));
    }
    all
}

/// A delay that is not the network's: the sender's clock began at another time.
const DELAY_MAX: Nanos = Nanos::from_secs(2);

/// Whether the streams' sender, in another process, has another clock: another machine.
pub(crate) fn is_of_another_clock(trial: &Trial<'_>, sums: &Sums) -> bool {
    trial.plan.sent_elsewhere.is_some()
        && (sums.ports.iter().any(|port| port.rx_before_sent > 0)
            || sums
                .arrivals
                .streams
                .iter()
                .any(|stream| stream.counts.received > 0 && stream.counts.latency.min > DELAY_MAX.0))
}

/// The time in which a stream was sent elsewhere, by its arrivals: from the first packet until one gap after the last.
pub(crate) fn sent_within(arrived: Span, sent: u64) -> Nanos {
    let span = u128::from(arrived.last.since(arrived.first).0);
    let whole = span * u128::from(sent) / u128::from(sent.saturating_sub(1).max(1));
    Nanos(u64::try_from(whole).unwrap_or(u64::MAX))
}

/// Bytes of a stream's packets that were sent, with FCS.
fn sent_bytes(trial: &Trial<'_>, sums: &Sums, index: usize) -> u64 {
    let sizes = &trial.plan.streams[index].sizes;
    match &sizes.lengths[..] {
        [only] => sums.sent[index] * u64::from(only.bytes()),
        _ if trial.plan.sent_elsewhere.is_some() => {
            // Which packets were lost, their numbers do not say to the packet: on average, as the profile has them.
            let lengths = sizes.lengths.iter().zip(&sizes.weights);
            let bytes: u128 = lengths.map(|(len, n)| u128::from(len.bytes()) * u128::from(*n)).sum();
            let weights: u128 = sizes.weights.iter().map(|n| u128::from(*n)).sum();
            (bytes * u128::from(sums.sent[index]) / weights.max(1)) as u64
        }
        _ => sums.sent_bytes[index],
    }
}

/// Whether a stream's arrivals are meaningful: it should come back here, or it did.
pub(crate) fn is_counted(stream: &TrialStream, totals: &StreamTotals) -> bool {
    stream.is_counted() && (stream.to.is_some() || totals.counts.received > 0)
}

/// Groups of streams over `span`, by group and row.
pub(crate) fn groups(
    trial: &Trial<'_>,
    sums: &Sums,
    span: Nanos,
    final_counts: bool,
) -> Named<Named<StreamResult>> {
    let row = |(name, members): &(String, Vec<u32>)| {
        let members = members.iter().map(|member| *member as usize);
        (name.clone(), sum(trial, sums, members, span, final_counts))
    };
    trial.plan.groups.iter().map(|group| (group.name.clone(), group.rows.iter().map(row).collect())).collect()
}

/// Streams added up.
fn sum(
    trial: &Trial<'_>,
    sums: &Sums,
    members: impl Iterator<Item = usize> + Clone,
    span: Nanos,
    final_counts: bool,
) -> StreamResult {
    let (mut tx, mut measured_tx, mut tx_bytes) = (0, 0, 0);
    let (mut before, mut passed) = (0, 0);
    let is_cleared = sums.since.times > 0;
    let (mut counts, mut latency) = (None::<Counts>, None::<SparseHistogram>);
    let (mut requested_pps, mut is_measured) = (Some(0.0), true);
    let (mut undisturbed, mut damaged) = (None::<Undisturbed>, None);
    let is_split = members.clone().any(|index| sums.arrivals.streams[index].undisturbed.is_some());
    for index in members {
        let (stream, totals) = (&trial.streams[index], &sums.arrivals.streams[index]);
        requested_pps = requested_pps
            .zip(requested(stream, sums.since.at, span, final_counts))
            .map(|(sum, pps)| sum + pps);
        tx += sums.sent[index];
        before += sums.since.sent.get(index).copied().unwrap_or(0);
        passed += sums.passed[index];
        tx_bytes += sent_bytes(trial, sums, index);
        if !is_counted(stream, totals) {
            continue;
        }
        measured_tx += sums.sent[index];
        is_measured &= stream.measured;
        if let Some((counts, _)) = damages(trial, sums, index) {
            damaged = Some(damaged.unwrap_or(0) + counts.packets());
        }
        counts.get_or_insert_with(Counts::default).merge(&totals.counts);
        if is_split {
            undisturbed = Some(join(undisturbed, totals));
        }
        match (&mut latency, &totals.latency) {
            (Some(sum), Some(own)) => sum.merge(own),
            (None, Some(own)) => latency = Some(own.clone()),
            (_, None) => {}
        }
    }
    let row = Row {
        requested_pps,
        before: is_cleared.then_some(before),
        passed: Some(passed).filter(|n| is_cleared && is_measured || *n > 0),
        stream: None,
        window: span.since(sums.since.at),
        tx,
        measured_tx,
        tx_bytes,
        counts: counts.as_ref(),
        is_measured,
        latency: latency.as_ref().filter(|_| is_measured),
        one_clock: !is_of_another_clock(trial, sums),
        jitter: None,
        undisturbed: undisturbed.as_ref(),
        undisturbed_jitter: None,
        arrived: None,
        paths: Named::new(),
        outages: None,
        egress: Named::new(),
        integrity: None,
        damaged,
        damage: None,
        pacing: None,
        replay: None,
    };
    row.result(final_counts)
}

/// Undisturbed packets of several streams.
fn join(sum: Option<Undisturbed>, of: &StreamTotals) -> Undisturbed {
    let all = || Undisturbed { counts: of.counts, latency: of.latency.clone() };
    let own = of.undisturbed.as_deref().cloned().unwrap_or_else(all);
    let Some(mut sum) = sum else { return own };
    sum.counts.merge(&own.counts);
    if let (Some(sum), Some(own)) = (&mut sum.latency, &own.latency) {
        sum.merge(own);
    }
    sum
}

/// Data of a row of the result.
struct Row<'a> {
    requested_pps: Option<f64>,
    /// Packets sent before counters were set to zero, if they were, and the ones of them that arrived later.
    before: Option<u64>,
    passed: Option<u64>,
    /// Absent for the sum of several.
    stream: Option<&'a TrialStream>,
    /// The time in which packets were due.
    window: Nanos,
    tx: u64,
    /// Those of them that should have come back.
    measured_tx: u64,
    tx_bytes: u64,
    /// Absent if arrivals are meaningless.
    counts: Option<&'a Counts>,
    /// Whether more than their number is known of arrivals.
    is_measured: bool,
    latency: Option<&'a SparseHistogram>,
    /// Whether departures and arrivals were timed by one clock: if not, the delay is not known.
    one_clock: bool,
    jitter: Option<Jitter>,
    /// Packets that no pause touched, if some were.
    undisturbed: Option<&'a Undisturbed>,
    undisturbed_jitter: Option<Jitter>,
    /// Since the start of traffic.
    arrived: Option<Span>,
    paths: Named<PathResult>,
    outages: Option<Box<OutagesResult>>,
    egress: Named<EgressResult>,
    integrity: Option<Cow<'static, str>>,
    damaged: Option<u64>,
    damage: Option<Box<DamageResult>>,
    pacing: Option<Box<PacingResult>>,
    replay: Option<Box<ReplayResult>>,
}

/// Packets of a capture that were not sent unmodified.
fn replayed(report: &CaptureReport) -> ReplayResult {
    let (wrong, repaired) = report.wrong_checksums();
    let fitted = &report.fitted;
    ReplayResult {
        packets: report.packets,
        unsendable: report.unsendable(),
        too_long: fitted.skipped,
        cut: fitted.cut + fitted.shortened,
        segmented: fitted.segmented,
        fragmented: fitted.fragmented,
        pieces: fitted.pieces,
        lengths_filled: report.lengths,
        checksums_wrong: wrong,
        checksums_repaired: repaired,
        pauses_shortened: report.gaps.0,
    }
}

/// Arrivals of a stream by port, if it may arrive at several, since traffic started at `epoch`.
fn paths(trial: &Trial<'_>, sums: &Sums, stream: usize, epoch: Nanos) -> Named<PathResult> {
    if trial.plan.streams[stream].also_to.is_empty() {
        return Named::new();
    }
    let row = |(port, row): (usize, &PathCounts)| {
        let since = |at: Nanos| at.since(epoch).0;
        let path = PathResult {
            rx: row.received,
            first_arrival_ns: since(row.first_arrival),
            last_arrival_ns: since(row.last_arrival),
            first_departure_ns: since(row.first_departure),
            last_departure_ns: since(row.last_departure),
        };
        (trial.plan.ports[port].name.clone(), path)
    };
    sums.paths.of(stream).map(row).collect()
}

/// Arrivals of a stream by the value of the bits it tracks; when they came, if traffic started at `epoch`.
fn egress(
    trial: &Trial<'_>,
    sums: &Sums,
    stream: usize,
    epoch: Option<Nanos>,
    one_clock: bool,
) -> Named<EgressResult> {
    let number = trial.expected.get(stream).map_or(0, |expected| usize::from(expected.egress));
    let Some(tracker) = number.checked_sub(1).and_then(|number| trial.trackers.get(number)) else {
        return Named::new();
    };
    let row = |(row, name): (u32, String)| {
        let counts = sums.egress.row(row)?;
        let result = EgressResult {
            rx: counts.latency.samples,
            rx_bytes: counts.bytes,
            first_arrival_ns: epoch.map(|epoch| counts.first_arrival.since(epoch).0),
            last_arrival_ns: epoch.map(|epoch| counts.last_arrival.since(epoch).0),
            latency_ns: latency(&counts.latency, None).filter(|_| one_clock),
        };
        Some((name, result))
    };
    tracker.named_rows().filter_map(row).collect()
}

/// Damaged packets of a stream whose payloads are compared, and the bytes of a place that their wrong bits are counted by.
pub(crate) fn damages<'s>(
    trial: &Trial<'_>,
    sums: &'s Sums,
    stream: usize,
) -> Option<(&'s DamageCounts, usize)> {
    let (row, width) = trial.integrity.as_ref()?.row(stream)?;
    Some((sums.damages.row(row), width))
}

/// Kinds of damage that packets had, with how many had each.
pub(crate) fn damage_kinds(counts: &DamageCounts) -> Vec<(&'static str, u64)> {
    let kinds = Damage::ALL.map(Damage::name).into_iter().zip(counts.kinds);
    kinds.filter(|(_, packets)| *packets > 0).collect()
}

fn damage((counts, width): (&DamageCounts, usize)) -> DamageResult {
    let place = |(place, bits): (usize, &u64)| DamagedPlace {
        from_byte: (place * width) as u64,
        to_byte: ((place + 1) * width - 1) as u64,
        bit_errors: *bits,
    };
    DamageResult {
        kinds: errors(&damage_kinds(counts)),
        bit_errors: counts.bits.iter().sum(),
        places: counts.bits.iter().enumerate().filter(|(_, bits)| **bits > 0).map(place).collect(),
    }
}

/// A span of the workers' clock, from the start of traffic on.
fn since(span: Span, epoch: Nanos) -> Option<Span> {
    let first = Nanos(span.first.0.checked_sub(epoch.0)?);
    Some(Span { first, last: span.last.since(epoch) })
}

impl Row<'_> {
    /// Times of packets that no pause touched.
    fn undisturbed(&self, all: &Counts) -> Option<Box<UndisturbedResult>> {
        let Undisturbed { counts, latency: histogram } = self.undisturbed?;
        let delays = Some(counts).filter(|_| self.one_clock);
        Some(Box::new(UndisturbedResult {
            ratio: counts.received as f64 / all.received.max(1) as f64,
            latency_ns: delays.and_then(|c| latency(&c.latency, histogram.as_ref())),
            jitter_ns: delays.and_then(|c| jitter(&c.delay_change, self.undisturbed_jitter)),
            interarrival_ns: spread(&counts.interarrival),
        }))
    }

    fn result(self, final_counts: bool) -> StreamResult {
        let (tx, counts) = (self.tx, self.counts);
        let measured = counts.filter(|_| self.is_measured);
        let count = |n: fn(&Counts) -> u64| measured.map(n);
        let sent = self.measured_tx;
        let delays = measured.filter(|_| self.one_clock);
        let undisturbed = measured.and_then(|all| self.undisturbed(all));
        // Duplicates of packets without a signature can't be told from packets.
        let hides_losses = |c: &Counts| !self.is_measured && c.received > sent;
        // Nor can those sent before counters were set to zero.
        let mixes = !self.is_measured && self.before.is_some();
        let known = counts.filter(|c| final_counts && !mixes && !hides_losses(c));
        let lost = known.map(|c| sent.saturating_sub(c.received));
        StreamResult {
            requested_pps: self.requested_pps,
            added_s: self.stream.filter(|stream| stream.added > Nanos::ZERO).map(|s| s.added.as_secs_f64()),
            removed_s: self.stream.and_then(|stream| stream.removed).map(Nanos::as_secs_f64),
            tx_before_clear: self.before,
            rx_before_clear: self.passed,
            offered_pps: tx as f64 / self.window.as_secs_f64().max(1e-9),
            tx,
            tx_bytes: self.tx_bytes,
            rx: counts.map(|c| c.received),
            rx_bytes: counts.map(|c| c.bytes),
            lost,
            loss_ratio: lost.map(|lost| if sent == 0 { 0.0 } else { lost as f64 / sent as f64 }),
            duplicates: count(|c| c.duplicates),
            reordered: count(|c| c.reordered),
            reorder_distance_max: count(|c| c.reorder_distance_max),
            stale: count(|c| c.stale),
            rejected: count(|c| c.rejected),
            integrity: self.integrity.filter(|_| measured.is_some()),
            damaged: self.damaged.filter(|_| measured.is_some()),
            damage: self.damage.filter(|_| measured.is_some()),
            latency_ns: delays.and_then(|c| latency(&c.latency, self.latency)),
            jitter_ns: delays.and_then(|c| jitter(&c.delay_change, self.jitter)),
            // Whose clocks are compared adds it.
            latency_uncertainty_ns: None,
            latency_clock: None,
            interarrival_ns: measured.and_then(|c| spread(&c.interarrival)),
            undisturbed,
            first_arrival_ns: self.arrived.map(|span| span.first.0),
            last_arrival_ns: self.arrived.map(|span| span.last.0),
            paths: self.paths,
            outages: self.outages,
            egress: self.egress,
            pacing_ns: self.pacing,
            replay: self.replay,
        }
    }
}

/// Requested packets per second of a stream from `since` on; `None` at maximum rate, if other streams trigger it, or, for a changing
/// rate, over a part of the trial.
fn requested(stream: &TrialStream, since: Nanos, span: Nanos, whole: bool) -> Option<f64> {
    let rest = |span| stream.time_in(span).since(stream.load.start_delay);
    let rest = rest(span).since(rest(since));
    let seconds = rest.as_secs_f64();
    match &stream.load.pace {
        Pace::Even(rate) => Some(rate.as_f64()),
        _ if stream.chained || !whole || rest == Nanos::ZERO => None,
        _ => {
            let due = |span| stream.load.packets_in(stream.time_in(span));
            Some(due(span)?.saturating_sub(due(since)?) as f64 / seconds)
        }
    }
}

/// The part of `span` in which a stream had packets due.
fn active(stream: &TrialStream, span: Nanos) -> Nanos {
    if stream.chained {
        return stream.time_in(span);
    }
    let rest = stream.time_in(span).since(stream.load.start_delay);
    match (stream.load.count, &stream.load.pace) {
        (Some(count), Pace::Even(rate)) if rate.micro() > 0 => {
            let all = u128::from(count) * 1_000_000_000_000_000 / u128::from(rate.micro());
            rest.min(Nanos(u64::try_from(all).unwrap_or(u64::MAX)))
        }
        _ => rest,
    }
}

/// The part of the time from when counters were set to zero until `span` in which the rest of a stream's packets was due.
fn active_since(stream: &TrialStream, span: Nanos, since: &Since, index: usize) -> Nanos {
    if since.times == 0 {
        return active(stream, span);
    }
    let begun = |span| stream.time_in(span).since(stream.load.start_delay);
    let rest = begun(span).since(begun(since.at));
    match (stream.load.count, &stream.load.pace) {
        (Some(count), Pace::Even(rate)) if rate.micro() > 0 && !stream.chained => {
            let left = count.saturating_sub(since.sent.get(index).copied().unwrap_or(0));
            let all = u128::from(left) * 1_000_000_000_000_000 / u128::from(rate.micro());
            rest.min(Nanos(u64::try_from(all).unwrap_or(u64::MAX)))
        }
        _ => rest,
    }
}

/// With a row of each stream if `each`, or else with their sum.
pub(crate) fn interval_document(view: &View<'_>, each: bool) -> IntervalDocument {
    let seconds = view.span.as_secs_f64().max(1e-9);
    let added = || sum(view.trial, view.interval, 0..view.trial.streams.len(), view.span, false);
    IntervalDocument {
        schema: INTERVAL_SCHEMA.into(),
        at_s: view.at.as_secs_f64(),
        interval_s: view.span.as_secs_f64(),
        draining: view.draining,
        disturbances: view.disturbances(),
        late: Vec::new(),
        ports: ports(view.trial, view.interval, seconds, None),
        streams: match each {
            true => streams(view.trial, view.interval, view.span, None, None, false),
            false => Named::new(),
        },
        all_streams: (!each).then(added),
        groups: groups(view.trial, view.interval, view.span, false),
        sessions: sessions(view.trial, view.interval, view.span, false),
    }
}

/// With rows of streams if `each`.
pub(crate) fn total_document(view: &View<'_>, each: bool) -> TotalDocument {
    let span = view.at.min(view.duration());
    let seconds = span.since(view.total.since.at).as_secs_f64().max(1e-9);
    let mut ports = ports(view.trial, view.total, seconds, None);
    view.emulation.fill(&mut ports);
    TotalDocument {
        cleared: cleared(view.total, span),
        ports,
        streams: match each {
            true => streams(view.trial, view.total, span, None, Some(view.instants), true),
            false => Named::new(),
        },
        groups: groups(view.trial, view.total, span, true),
        sessions: sessions(view.trial, view.total, span, true),
    }
}

/// Latencies of all streams together; `None` if there are none or histograms are not kept.
pub(crate) fn latency_of_all(streams: &[StreamTotals]) -> Option<LatencyResult> {
    let mut measured = streams.iter().filter(|stream| stream.counts.latency.samples > 0);
    let first = measured.next()?;
    let (mut moments, mut histogram) = (first.counts.latency, first.latency.clone()?);
    for stream in measured {
        moments.merge(&stream.counts.latency);
        histogram.merge(stream.latency.as_ref()?);
    }
    latency(&moments, Some(&histogram))
}
