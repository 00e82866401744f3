//! The result document, `eagre.result/1`: what a trial found and how far it can be trusted.
//!
//! Absent means not measured; zero means measured and zero. Byte counts have the FCS. Rates are over the time traffic
//! was sent.

use crate::capture::CaptureOutcome;
use crate::session_result::{SessionResult, sessions};
use crate::sums::{Sums, WorkerTime};
use crate::trial::{Trial, TrialStream};
use crate::watch::View;
use crate::{Change as RateOrder, Speed};
use histogram::Timing;
use measure::{Change, Counts, Jitter, Moments, Span, Spans, StreamTotals};
use port::DriverDrops;
use sched::{Pace, PacingRecord};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use units::{L1_OVERHEAD_BYTES, Load, Nanos};

/// Results in the order the profile has their names.
pub(crate) type Named = serde_json::Map<String, serde_json::Value>;

/// Name of the document's format.
pub const SCHEMA: &str = "eagre.result/1";
/// Name of the interval document's format.
pub const INTERVAL_SCHEMA: &str = "eagre.interval/1";

/// What a trial found.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ResultDocument {
    /// `eagre.result/1`.
    pub schema: &'static str,
    /// Version of the program.
    pub version: &'static str,
    /// Seed of everything random.
    pub seed: u64,
    /// SHA-256 of the profile's text.
    pub profile_sha256: String,
    /// When traffic started (RFC 3339); a simulated trial has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// How long traffic was sent, s.
    pub duration_s: f64,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// The clock that stamped the packets.
    pub clock: ClockResult,
    /// `software`, `hardware-rx`, `hardware`, or `simulated`.
    pub timestamp_class: &'static str,
    /// What the tester itself adds to a latency, measured on an in-process link before the trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_latency_ns: Option<LatencyResult>,
    /// Whether to believe it.
    pub verdict: Verdict,
    /// What really happened to frames in a simulated trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sim: Option<SimResult>,
    /// Changes of rates while it ran, in their order. `requested_pps` is what the profile says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rate_changes: Vec<RateChange>,
    /// How varying fields were written: `compiled`, or `interpreted`, much slower, where the system lets no program make
    /// machine code. Absent if nothing varied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_programs: Option<&'static str>,
    /// Captures by port name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub captures: BTreeMap<String, CaptureResult>,
    /// Conditions the profile set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<CriterionResult>,
    /// By port name.
    #[schemars(with = "BTreeMap<String, PortResult>")]
    pub ports: Named,
    /// By stream name.
    #[schemars(with = "BTreeMap<String, StreamResult>")]
    pub streams: Named,
    /// By group and row: streams added up, as the profile's 'groups' say.
    #[serde(skip_serializing_if = "Named::is_empty")]
    #[schemars(with = "Option<BTreeMap<String, BTreeMap<String, StreamResult>>>")]
    pub groups: Named,
    /// By name of the profile's entry under 'sessions'.
    #[serde(skip_serializing_if = "Named::is_empty")]
    #[schemars(with = "Option<BTreeMap<String, SessionResult>>")]
    pub sessions: Named,
    /// The cores that did the work.
    pub workers: Vec<WorkerResult>,
}

/// What happened since the last look: one line of a `--jsonl` file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct IntervalDocument {
    /// `eagre.interval/1`.
    pub schema: &'static str,
    /// End of the interval, s since traffic started.
    pub at_s: f64,
    /// Its length, s.
    pub interval_s: f64,
    /// Whether sending is over and late packets are waited for.
    pub draining: bool,
    /// By port name.
    #[schemars(with = "BTreeMap<String, PortResult>")]
    pub ports: Named,
    /// By stream name. `lost` is absent: what is under way at the end of an interval is not lost.
    #[schemars(with = "BTreeMap<String, StreamResult>")]
    pub streams: Named,
    /// By group and row: streams added up, as the profile's 'groups' say.
    #[serde(skip_serializing_if = "Named::is_empty")]
    #[schemars(with = "Option<BTreeMap<String, BTreeMap<String, StreamResult>>>")]
    pub groups: Named,
    /// By name of the profile's entry under 'sessions'.
    #[serde(skip_serializing_if = "Named::is_empty")]
    #[schemars(with = "Option<BTreeMap<String, SessionResult>>")]
    pub sessions: Named,
}

/// What happened since the start, while it runs.
#[derive(Debug, Clone, Serialize)]
pub struct TotalDocument {
    /// By port name.
    pub ports: Named,
    /// By stream name. `lost` is what was sent and has not arrived.
    pub streams: Named,
    /// By group and row.
    #[serde(skip_serializing_if = "Named::is_empty")]
    pub groups: Named,
    /// By name of the profile's entry under 'sessions'.
    #[serde(skip_serializing_if = "Named::is_empty")]
    pub sessions: Named,
}

/// The clock that stamped the packets.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ClockResult {
    /// `tsc`, `monotonic` or `virtual`.
    pub source: &'static str,
    /// Ticks per second.
    pub hz: u64,
    /// Bound on the rate's error at calibration, parts per million.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncertainty_ppm: Option<f64>,
    /// Error against the system's clock over the trial, parts per million.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift_ppm: Option<f64>,
    /// Time one reading takes, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_cost_ns: Option<f64>,
    /// Largest offset between two workers' clocks that could be seen, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core_skew_ns: Option<u64>,
}

/// What simulated links and device really did, as opposed to what was measured.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct SimResult {
    /// Frames lost on links.
    pub lost_on_links: u64,
    /// Frames delivered once more than sent.
    pub duplicated: u64,
    /// Frames delayed on links.
    pub delayed: u64,
    /// Frames delivered after one sent later on the same port.
    pub overtaken: u64,
    /// Frames dropped by the device because its buffer was full.
    pub dropped_by_device: u64,
    /// Frames the device had no way for.
    pub no_route: u64,
}

/// A capture on a port.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CaptureResult {
    /// The files that are left, oldest first.
    pub files: Vec<String>,
    /// Packets that went past.
    pub seen: u64,
    /// Those of them that the filter let through: `captured` and `dropped`.
    pub matched: u64,
    /// Those of them that were taken.
    pub captured: u64,
    /// Those of them for which memory or disk had no room.
    pub dropped: u64,
    /// Captured packets that newer ones have displaced, and that are in no file any more.
    pub displaced: u64,
    /// Why the capture ended early; absent if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

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

/// A change of rates while a trial ran.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RateChange {
    /// When it took effect, s since traffic started.
    pub at_s: f64,
    /// The stream; absent if it was all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// The new rate: `2Mpps`, or `50% of the profile's rate`.
    pub to: String,
}

impl RateChange {
    pub(crate) fn new(change: &RateOrder, at: Nanos) -> Self {
        let to = match change.speed {
            Speed::Share(ppm) => format!("{} of the profile's rate", Load::LinkShare(ppm)),
            Speed::Rate(load) => load.to_string(),
        };
        Self { at_s: at.as_secs_f64(), stream: change.stream.clone(), to }
    }
}

/// Whether to believe a result.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Verdict {
    /// Whether the figures can be believed.
    pub valid: bool,
    /// Whether the tester, and not the device under test, was the limit.
    pub generator_limited: bool,
    /// Why not valid, or why limited.
    pub reasons: Vec<String>,
}

/// A condition and whether it held.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CriterionResult {
    /// Path of the value in this document.
    pub path: String,
    /// The bound, as the profile writes it.
    pub bound: String,
    /// The value; absent if it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Whether it held. What was not measured did not hold.
    pub passed: bool,
}

/// One port.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PortResult {
    /// Test packets sent.
    pub tx_packets: u64,
    /// Their bytes.
    pub tx_bytes: u64,
    /// Everything received.
    pub rx_packets: u64,
    /// Its bytes.
    pub rx_bytes: u64,
    /// Packets that were due and not sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_unsent: Option<u64>,
    /// Packets per second sent.
    pub tx_pps: f64,
    /// Packets per second received.
    pub rx_pps: f64,
    /// Bits per second sent, layer 1.
    pub tx_bps_l1: f64,
    /// Bits per second received, layer 1.
    pub rx_bps_l1: f64,
    /// Received, but no test packet of this run.
    pub rx_other: u64,
    /// ARP, ND and echo replies sent.
    pub tx_answers: u64,
    /// Frames received or lost in the tester that do not count as they should, by reason.
    pub rx_errors: BTreeMap<String, u64>,
    /// Frames the driver took and did not send, by reason.
    pub tx_errors: BTreeMap<String, u64>,
    /// How evenly all its paced streams left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing_ns: Option<PacingResult>,
}

/// One stream.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StreamResult {
    /// Packets per second asked for; absent for `max`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_pps: Option<f64>,
    /// Packets per second sent.
    pub offered_pps: f64,
    /// Packets sent.
    pub tx: u64,
    /// Packets received, each once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx: Option<u64>,
    /// Packets sent and not received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// `lost` / `tx`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_ratio: Option<f64>,
    /// Packets received again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<u64>,
    /// Packets received after one sent later (RFC 4737).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordered: Option<u64>,
    /// Farthest a reordered packet was behind, in packets of its stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorder_distance_max: Option<u64>,
    /// Packets too far behind to tell late from duplicate; among the lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<u64>,
    /// One-way delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ns: Option<LatencyResult>,
    /// Change of delay from packet to packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter_ns: Option<JitterResult>,
    /// Time between arrivals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interarrival_ns: Option<SpreadResult>,
    /// When the first packet arrived, from the start of traffic on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_arrival_ns: Option<u64>,
    /// When the last one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_arrival_ns: Option<u64>,
    /// How evenly it left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing_ns: Option<PacingResult>,
}

/// A distribution of delays, ns. Percentiles are absent if no histogram was kept.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[allow(missing_docs, reason = "the names say it")]
pub struct LatencyResult {
    pub min: u64,
    pub mean: f64,
    pub stddev: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_9: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_99: Option<u64>,
    pub max: u64,
    pub samples: u64,
}

/// Change of delay from packet to packet, ns.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct JitterResult {
    /// Smoothed estimate (RFC 3550 section 6.4.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rfc3550: Option<f64>,
    /// Mean of |D(i) − D(i−1)| (RFC 4689 section 3.2.5).
    pub rfc4689_mean: f64,
    /// Largest of them.
    pub rfc4689_max: u64,
}

/// A quantity's spread, ns.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[allow(missing_docs, reason = "the names say it")]
pub struct SpreadResult {
    pub min: u64,
    pub mean: f64,
    pub stddev: f64,
    pub max: u64,
}

/// Departures compared with the schedule: the error of a gap is how much it differs from the one intended, ns.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[allow(missing_docs, reason = "the names say it")]
pub struct PacingResult {
    pub error_p50: u64,
    pub error_p99: u64,
    pub error_p99_9: u64,
    /// Share of gaps of which nothing was left.
    pub back_to_back_ratio: f64,
    /// Longest time from due to departure.
    pub late_max: u64,
}

/// One core that did the work.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkerResult {
    /// Which; absent in a simulated trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core: Option<usize>,
    /// Share of its time it found something to do.
    pub busy_ratio: f64,
    /// Processor time it had, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_s: Option<f64>,
    /// Time something else had its core, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_s: Option<f64>,
    /// Longest time between two turns of its loop, ns.
    pub stall_max_ns: u64,
}

/// Schema of a document as it is written: what may be left out is optional.
fn written<T: JsonSchema>() -> serde_json::Value {
    let settings = schemars::generate::SchemaSettings::default().for_serialize();
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// JSON Schema of the result document.
pub fn schema() -> serde_json::Value {
    written::<ResultDocument>()
}

/// JSON Schema of the interval document.
pub fn interval_schema() -> serde_json::Value {
    written::<IntervalDocument>()
}

/// Bits at layer 1 of `packets` frames of `bytes` in all.
pub(crate) fn l1_bits(bytes: u64, packets: u64) -> f64 {
    (bytes as f64 + packets as f64 * f64::from(L1_OVERHEAD_BYTES)) * 8.0
}

impl LatencyResult {
    /// From moments and, if kept, a histogram; `None` if nothing was measured.
    pub(crate) fn new(moments: &Moments, histogram: Option<&histogram::Histogram>) -> Option<Self> {
        // A bucket's end may lie beyond the largest value in it.
        let quantile = |q| histogram.and_then(|h| h.quantile(q)).map(|v| v.clamp(moments.min, moments.max));
        Some(Self {
            min: moments.min,
            mean: moments.mean()?,
            stddev: moments.stddev()?,
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p99_9: quantile(0.999),
            p99_99: quantile(0.9999),
            max: moments.max,
            samples: moments.samples,
        })
    }

    /// Of times sessions measured; `None` if there are none.
    pub(crate) fn of_timing(times: &Timing) -> Option<Self> {
        let quantile = |q| times.histogram.quantile(q).map(|v| v.clamp(times.min, times.max));
        Some(Self {
            min: times.min,
            mean: times.mean()?,
            stddev: times.stddev()?,
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p99_9: quantile(0.999),
            p99_99: quantile(0.9999),
            max: times.max,
            samples: times.samples(),
        })
    }
}

impl JitterResult {
    fn new(change: &Change, jitter: Option<Jitter>) -> Option<Self> {
        let rfc3550 = jitter.and_then(Jitter::ns);
        Some(Self { rfc3550, rfc4689_mean: change.mean()?, rfc4689_max: change.max })
    }
}

impl SpreadResult {
    fn new(m: &Moments) -> Option<Self> {
        Some(Self { min: m.min, mean: m.mean()?, stddev: m.stddev()?, max: m.max })
    }
}

impl PacingResult {
    fn new(record: &PacingRecord) -> Option<Self> {
        Some(Self {
            error_p50: record.errors.quantile(0.5)?,
            error_p99: record.errors.quantile(0.99)?,
            error_p99_9: record.errors.quantile(0.999)?,
            back_to_back_ratio: record.back_to_back_ratio()?,
            late_max: record.late_max,
        })
    }
}

impl WorkerResult {
    pub(crate) fn new(time: &WorkerTime) -> Self {
        let busy_ratio = time.busy_ns as f64 / time.total_ns.max(1) as f64;
        Self { core: None, busy_ratio, cpu_s: None, waited_s: None, stall_max_ns: time.stall_max_ns }
    }
}

pub(crate) fn object<T: Serialize>(value: &T) -> serde_json::Value {
    // These types have string keys and finite numbers only.
    serde_json::to_value(value).unwrap_or(serde_json::Value::Null)
}

fn errors(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
    pairs.iter().filter(|(_, n)| *n > 0).map(|(reason, n)| ((*reason).to_owned(), *n)).collect()
}

/// Ports of `sums` over `seconds`; `ends` has what is known only at the end.
pub(crate) fn ports(trial: &Trial<'_>, sums: &Sums, seconds: f64, ends: Option<&[PortEnd]>) -> Named {
    let mut all = Named::new();
    for (index, (plan, n)) in trial.plan.ports.iter().zip(&sums.ports).enumerate() {
        let end = ends.map(|ends| &ends[index]);
        let mut rx_errors = errors(&[
            ("misrouted", n.rx_misrouted),
            ("wrong_length", n.rx_wrong_length),
            ("unknown_stream", n.rx_unknown_stream),
            ("before_sent", n.rx_before_sent),
            ("not_steered", n.rx_not_steered),
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
            tx_answers: n.tx_answers,
            rx_errors,
            tx_errors: errors(end.map_or(&[], |e| &e.drops.tx)),
            pacing_ns: PacingResult::new(&port_pacing(trial, sums, index)),
        };
        all.insert(plan.name.clone(), object(&port));
    }
    all
}

/// What is known of a port only at the end.
#[derive(Debug, Clone, Default)]
pub(crate) struct PortEnd {
    pub(crate) unsent: u64,
    pub(crate) drops: DriverDrops,
}

fn port_pacing(trial: &Trial<'_>, sums: &Sums, port: usize) -> PacingRecord {
    if !trial.shape.paces_streams() {
        return sums.pacing[port].clone();
    }
    let mut all = PacingRecord::default();
    let own = trial.streams.iter().zip(&sums.pacing).filter(|(stream, _)| stream.from == port);
    own.for_each(|(_, record)| all.merge(record));
    all
}

/// Streams of `sums` over `span`. Loss is known only at the end, and so is the jitter estimate.
pub(crate) fn streams(
    trial: &Trial<'_>,
    sums: &Sums,
    span: Nanos,
    jitter: Option<&[Jitter]>,
    arrived: Option<(&Spans, Nanos)>,
    final_counts: bool,
) -> Named {
    let mut all = Named::new();
    for (index, (plan, stream)) in trial.plan.streams.iter().zip(&trial.streams).enumerate() {
        let totals = &sums.arrivals.streams[index];
        let counts = is_counted(stream, totals).then_some(&totals.counts);
        let row = Row {
            requested_pps: requested(stream, span, final_counts),
            window: if final_counts { active(stream, span) } else { span },
            tx: sums.sent[index],
            measured_tx: sums.sent[index],
            counts,
            latency: totals.latency.as_ref(),
            jitter: jitter.map(|jitter| jitter[index]),
            arrived: arrived.and_then(|(spans, epoch)| since(counts.and_then(|_| spans.of(index))?, epoch)),
            pacing: trial.shape.paces_streams().then(|| PacingResult::new(&sums.pacing[index])).flatten(),
        };
        all.insert(plan.name.clone(), object(&row.result(final_counts)));
    }
    all
}

/// Whether a stream's arrivals say something: it should come back here, or it did.
pub(crate) fn is_counted(stream: &TrialStream, totals: &StreamTotals) -> bool {
    stream.measured && (stream.to.is_some() || totals.counts.received > 0)
}

/// Groups of streams over `span`, by group and row.
pub(crate) fn groups(trial: &Trial<'_>, sums: &Sums, span: Nanos, final_counts: bool) -> Named {
    let mut all = Named::new();
    for group in &trial.plan.groups {
        let rows = group.rows.iter().map(|(name, members)| {
            (name.clone(), object(&group_row(trial, sums, members, span, final_counts)))
        });
        all.insert(group.name.clone(), serde_json::Value::Object(rows.collect()));
    }
    all
}

/// Streams added up.
fn group_row(
    trial: &Trial<'_>,
    sums: &Sums,
    members: &[u32],
    span: Nanos,
    final_counts: bool,
) -> StreamResult {
    let (mut tx, mut measured_tx) = (0, 0);
    let (mut counts, mut latency) = (None::<Counts>, None::<histogram::Histogram>);
    let mut requested_pps = Some(0.0);
    for index in members.iter().map(|member| *member as usize) {
        let (stream, totals) = (&trial.streams[index], &sums.arrivals.streams[index]);
        requested_pps = requested_pps.zip(requested(stream, span, final_counts)).map(|(sum, pps)| sum + pps);
        tx += sums.sent[index];
        if !is_counted(stream, totals) {
            continue;
        }
        measured_tx += sums.sent[index];
        counts.get_or_insert_with(Counts::default).merge(&totals.counts);
        match (&mut latency, &totals.latency) {
            (Some(sum), Some(own)) => sum.merge(own),
            (None, Some(own)) => latency = Some(own.clone()),
            (_, None) => {}
        }
    }
    let row = Row {
        requested_pps,
        window: span,
        tx,
        measured_tx,
        counts: counts.as_ref(),
        latency: latency.as_ref(),
        jitter: None,
        arrived: None,
        pacing: None,
    };
    row.result(final_counts)
}

/// What a row of the result is made of.
struct Row<'a> {
    requested_pps: Option<f64>,
    /// The time in which packets were due.
    window: Nanos,
    tx: u64,
    /// Those of them that should have come back.
    measured_tx: u64,
    /// Absent if arrivals say nothing.
    counts: Option<&'a Counts>,
    latency: Option<&'a histogram::Histogram>,
    jitter: Option<Jitter>,
    /// Since the start of traffic.
    arrived: Option<Span>,
    pacing: Option<PacingResult>,
}

/// A span of the workers' clock, from the start of traffic on.
fn since(span: Span, epoch: Nanos) -> Option<Span> {
    let first = Nanos(span.first.0.checked_sub(epoch.0)?);
    Some(Span { first, last: span.last.since(epoch) })
}

impl Row<'_> {
    fn result(self, final_counts: bool) -> StreamResult {
        let (tx, counts) = (self.tx, self.counts);
        let count = |n: fn(&Counts) -> u64| counts.map(n);
        let sent = self.measured_tx;
        let lost = counts.filter(|_| final_counts).map(|c| sent.saturating_sub(c.received));
        StreamResult {
            requested_pps: self.requested_pps,
            offered_pps: tx as f64 / self.window.as_secs_f64().max(1e-9),
            tx,
            rx: count(|c| c.received),
            lost,
            loss_ratio: lost.map(|lost| if sent == 0 { 0.0 } else { lost as f64 / sent as f64 }),
            duplicates: count(|c| c.duplicates),
            reordered: count(|c| c.reordered),
            reorder_distance_max: count(|c| c.reorder_distance_max),
            stale: count(|c| c.stale),
            latency_ns: counts.and_then(|c| LatencyResult::new(&c.latency, self.latency)),
            jitter_ns: counts.and_then(|c| JitterResult::new(&c.delay_change, self.jitter)),
            interarrival_ns: counts.and_then(|c| SpreadResult::new(&c.interarrival)),
            first_arrival_ns: self.arrived.map(|span| span.first.0),
            last_arrival_ns: self.arrived.map(|span| span.last.0),
            pacing_ns: self.pacing,
        }
    }
}

/// Packets per second a stream asked for; `None` if it takes what there is, if others decide when its turn is, or, of a
/// rate that changes, over a part of the trial.
fn requested(stream: &TrialStream, span: Nanos, whole: bool) -> Option<f64> {
    let rest = span.since(stream.load.start_delay).as_secs_f64();
    match &stream.load.pace {
        Pace::Even(rate) => Some(rate.as_f64()),
        _ if stream.chained || !whole || rest == 0.0 => None,
        _ => stream.load.packets_in(span).map(|packets| packets as f64 / rest),
    }
}

/// The part of `span` in which a stream had packets due.
fn active(stream: &TrialStream, span: Nanos) -> Nanos {
    if stream.chained {
        return span;
    }
    let rest = span.since(stream.load.start_delay);
    match (stream.load.count, &stream.load.pace) {
        (Some(count), Pace::Even(rate)) if rate.micro() > 0 => {
            let all = u128::from(count) * 1_000_000_000_000_000 / u128::from(rate.micro());
            rest.min(Nanos(u64::try_from(all).unwrap_or(u64::MAX)))
        }
        _ => rest,
    }
}

pub(crate) fn interval_document(view: &View<'_>) -> IntervalDocument {
    let seconds = view.span.as_secs_f64().max(1e-9);
    IntervalDocument {
        schema: INTERVAL_SCHEMA,
        at_s: view.at.as_secs_f64(),
        interval_s: view.span.as_secs_f64(),
        draining: view.draining,
        ports: ports(view.trial, view.interval, seconds, None),
        streams: streams(view.trial, view.interval, view.span, None, None, false),
        groups: groups(view.trial, view.interval, view.span, false),
        sessions: sessions(view.trial, view.interval, view.span, false),
    }
}

pub(crate) fn total_document(view: &View<'_>) -> TotalDocument {
    let span = view.at.min(view.duration());
    TotalDocument {
        ports: ports(view.trial, view.total, span.as_secs_f64().max(1e-9), None),
        streams: streams(view.trial, view.total, span, None, Some((view.spans, view.epoch)), true),
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
    LatencyResult::new(&moments, Some(&histogram))
}
