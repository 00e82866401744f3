//! Findings of a class of traffic, as values and in sentences.

use super::stages::Class;
use crate::climb::nothing_known;
use crate::draft::Limit;
use crate::finding::Finding;
use crate::result::bounded_by;
use crate::settings::Row;
use crate::testbed::Frames;
use crate::text::{grouped, percent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::quantity;

/// Sum of what classes pass by themselves, in relation to what passes of all at once, up to which they share nothing.
const APART: f64 = 0.9;
/// Loss of a class beside which others lose much more: it goes first.
const FIRST_LOSS: f64 = 0.02;
const LAST_LOSS: f64 = 0.2;
/// Shares that differ by less than this part are equal.
const EQUAL: f64 = 0.05;

/// Treatment of a class that is sent above its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Treatment {
    /// It passes everything.
    Unlimited,
    /// It drops what exceeds the rate at once.
    Policer,
    /// It lets frames wait for their turn.
    Shaper,
}

/// A class by itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alone {
    /// Load sent under overload, bits/s of frames with FCS.
    pub offered_bps: f64,
    /// False: the tester was the limit or disturbed, so nothing is known.
    pub judged: bool,
    /// Treatment by the device.
    pub treatment: Option<Treatment>,
    /// Rate that passes, bits/s of frames with FCS; where everything passes, the load.
    pub rate_bps: Option<f64>,
    /// Its error either way.
    pub rate_error_bps: Option<f64>,
    /// Bytes that pass in addition.
    pub bucket_bytes: Option<f64>,
    /// Their error either way.
    pub bucket_error_bytes: Option<f64>,
    /// Bytes that wait at most; of a shaper.
    pub queue_bytes: Option<f64>,
    /// Whether frames were lost, so that the queue was full.
    pub queue_is_full: bool,
    /// The longest wait, but for the slowest thousandth, ns; of a shaper.
    pub wait_ns: Option<f64>,
    /// Shortest latency at a low load, ns.
    pub idle_ns: Option<f64>,
    /// Share of frames lost under overload.
    pub loss_ratio: Option<f64>,
}

impl Alone {
    pub(super) fn unjudged(offered_bps: f64) -> Self {
        Self { offered_bps, ..Self::default() }
    }

    /// Seconds that fill the bucket and empty the queue.
    pub(super) fn refill_s(&self) -> f64 {
        let bytes = self.bucket_bytes.unwrap_or(0.0) + self.queue_bytes.unwrap_or(0.0);
        self.rate_bps.map_or(0.0, |rate| bytes * 8.0 / rate.max(1.0))
    }
}

/// The longest burst without loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BurstSize {
    /// Its frames; absent: none.
    pub frames: Option<u64>,
    /// The same in bytes with FCS.
    pub bytes: Option<f64>,
    /// Bytes of the shortest burst with loss.
    pub failed_bytes: Option<f64>,
    /// Limit of the burst from above.
    pub limit: Limit,
}

/// A class among all, each with the same part of the overload.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Together {
    /// Load sent, bits/s of frames with FCS.
    pub offered_bps: f64,
    /// False: the tester was the limit or disturbed, so nothing is known.
    pub judged: bool,
    /// Received, bits/s of frames with FCS.
    pub received_bps: Option<f64>,
    /// Share in what was received of all.
    pub share: Option<f64>,
    /// Share of its frames that were lost.
    pub loss_ratio: Option<f64>,
}

/// A class at a low load beside all others, which overload the device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Beside {
    /// False: the tester was the limit or disturbed, so nothing is known.
    pub judged: bool,
    /// Share of its frames that were lost.
    pub loss_ratio: Option<f64>,
    /// Mean latency, ns.
    pub latency_mean_ns: Option<f64>,
    /// 99th percentile of the latency, ns.
    pub latency_p99_ns: Option<f64>,
}

/// Findings of a class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrafficRow {
    /// The class: a stream.
    pub class: String,
    /// Its frames.
    pub frames: Frames,
    /// By itself.
    pub alone: Option<Alone>,
    /// The longest burst.
    pub burst: Option<BurstSize>,
    /// Among all.
    pub together: Option<Together>,
    /// Beside the others.
    pub beside: Option<Beside>,
}

const UNJUDGED: &str = "can't be judged: the tester was the limit or disturbed";

impl TrafficRow {
    pub(super) fn new(class: &Class) -> Self {
        Self {
            class: class.name.clone(),
            frames: class.frames.clone(),
            alone: None,
            burst: None,
            together: None,
            beside: None,
        }
    }

    fn at(&self, goal: &str, unit: &str) -> Finding {
        Finding { frame: self.class.clone(), ..Finding::new(goal, unit) }
    }

    fn of_alone(&self, found: &Alone) -> Vec<Finding> {
        let note = match (found.judged, found.treatment) {
            (false, _) => Some(UNJUDGED),
            (_, Some(Treatment::Unlimited)) => Some("all of the load passed; the device may do more"),
            (_, Some(Treatment::Policer)) => Some("policer"),
            (_, Some(Treatment::Shaper)) => Some("shaper"),
            (_, None) => None,
        };
        let bounded = |goal: &str, unit: &str, value: Option<f64>, error: Option<f64>| {
            let bound = |sign: f64| value.zip(error).map(|(value, error)| (value + sign * error).max(0.0));
            Finding { value, lower: bound(-1.0), upper: bound(1.0), ..self.at(goal, unit) }
        };
        let mut all = vec![bounded("traffic_rate", "bps", found.rate_bps, found.rate_error_bps).note(note)];
        if found.bucket_bytes.is_some() {
            all.push(bounded("traffic_bucket", "bytes", found.bucket_bytes, found.bucket_error_bytes));
        }
        if found.queue_bytes.is_some() {
            let note = (!found.queue_is_full).then_some("it was not full: longer trials may fill it");
            all.push(self.at("traffic_queue", "bytes").value(found.queue_bytes).note(note));
        }
        all
    }

    /// Findings in sentences.
    pub(super) fn sentences(&self) -> Vec<String> {
        let alone = self.alone.iter().map(|found| alone_sentence(&self.class, found));
        let burst = self.burst.iter().filter(|found| found.limit != Limit::Open || found.frames.is_some());
        let burst = burst.map(|found| burst_sentence(&self.class, found));
        alone.chain(burst).collect()
    }
}

impl Row for TrafficRow {
    fn findings(&self) -> Vec<Finding> {
        let alone = self.alone.iter().flat_map(|found| self.of_alone(found));
        let burst = self.burst.iter().map(|found| Finding {
            value: found.bytes,
            lower: found.bytes,
            upper: found.failed_bytes,
            ..self.at("traffic_burst", "bytes").note(found.limit.note_of(found.bytes))
        });
        let note = |judged: bool| (!judged).then_some(UNJUDGED);
        let together = self
            .together
            .iter()
            .map(|found| self.at("traffic_share", "ratio").value(found.share).note(note(found.judged)));
        let beside = self.beside.iter().flat_map(|found| {
            let at = |goal: &str, unit: &str| self.at(goal, unit).note(note(found.judged));
            [
                at("traffic_congested_loss", "ratio").value(found.loss_ratio),
                at("traffic_congested_latency", "ns").value(found.latency_p99_ns),
            ]
        });
        alone.chain(burst).chain(together).chain(beside).collect()
    }

    fn limits(&self) -> Vec<Limit> {
        self.burst.iter().map(|found| found.limit).collect()
    }

    fn is_unjudged(&self) -> bool {
        self.limits().contains(&Limit::Disturbed)
            || self.alone.as_ref().is_some_and(|found| !found.judged)
            || self.together.as_ref().is_some_and(|found| !found.judged)
            || self.beside.as_ref().is_some_and(|found| !found.judged)
    }
}

fn bytes(value: f64) -> String {
    format!("{} bytes", grouped(value.round() as u64))
}

fn alone_sentence(class: &str, found: &Alone) -> String {
    let (Some(treatment), Some(rate)) = (found.treatment, found.rate_bps) else {
        return format!("{class}: {UNJUDGED}.");
    };
    let rate = quantity(rate, "bps");
    let bucket = bytes(found.bucket_bytes.unwrap_or(0.0));
    match treatment {
        Treatment::Unlimited => format!("{class}: everything passed, at {rate}."),
        Treatment::Policer => {
            format!("{class}: policed to {rate}, after {bucket}; what exceeds that is dropped at once.")
        }
        Treatment::Shaper => {
            let wait = quantity(found.wait_ns.unwrap_or(0.0), "ns");
            let queue = bytes(found.queue_bytes.unwrap_or(0.0));
            let full = if found.queue_is_full { "" } else { ", which was not full" };
            format!(
                "{class}: shaped to {rate}, after {bucket}; frames wait for up to {wait} in a queue of {queue}{full}."
            )
        }
    }
}

fn burst_sentence(class: &str, found: &BurstSize) -> String {
    let what = format!("{class}: longest burst without loss");
    match (found.frames, found.bytes) {
        (Some(frames), Some(size)) => {
            let failed = found.failed_bytes.map(|failed| grouped(failed.round() as u64));
            format!("{what}: {} frames, {}{}.", grouped(frames), bytes(size), bounded_by(found.limit, failed))
        }
        _ if found.limit.is_testers() => format!("{what}: {}.", nothing_known(found.limit)),
        _ => format!("{what}: none; a burst of one frame was lost."),
    }
}

/// How the device divides what passes among the classes, in a sentence; `None` if not all is known.
pub(super) fn scheduling(rows: &[TrafficRow]) -> Option<String> {
    let all: Vec<&Together> = rows.iter().map(|row| row.together.as_ref()).collect::<Option<_>>()?;
    if all.len() < 2 {
        return None;
    }
    let received: Vec<f64> =
        all.iter().map(|one| one.received_bps).collect::<Option<_>>().unwrap_or_default();
    if received.is_empty() {
        return Some(format!("All classes at once: {UNJUDGED}."));
    }
    let (total, losses) = (received.iter().sum::<f64>(), || all.iter().filter_map(|one| one.loss_ratio));
    let told = format!("All classes at once: {}", quantity(total, "bps"));
    if losses().all(|loss| loss <= FIRST_LOSS) {
        return Some(format!("{told} passed, all that was sent; the device was not overloaded."));
    }
    let by_themselves = |row: &TrafficRow| row.alone.as_ref().and_then(|alone| alone.rate_bps);
    let sum: f64 = rows.iter().filter_map(by_themselves).sum();
    let shares: Vec<String> = rows
        .iter()
        .zip(&received)
        .map(|(row, bps)| format!("{} {}", row.class, percent(bps / total.max(1.0))))
        .collect();
    let shares = shares.join(", ");
    if sum > 0.0 && total >= sum * APART {
        return Some(format!(
            "{told} ({shares}): as much as by themselves, so each class has a separate limit."
        ));
    }
    let names = |is: fn(f64) -> bool| -> Vec<&str> {
        let those = rows.iter().zip(&all).filter(|(_, one)| one.loss_ratio.is_some_and(is));
        those.map(|(row, _)| row.class.as_str()).collect()
    };
    let (first, last) = (names(|loss| loss <= FIRST_LOSS), names(|loss| loss >= LAST_LOSS));
    if !first.is_empty() && !last.is_empty() {
        return Some(format!(
            "{told} ({shares}): {} first, the others share what is left.",
            first.join(", ")
        ));
    }
    let most = received.iter().fold(0.0_f64, |most, bps| most.max(*bps));
    let least = received.iter().fold(f64::MAX, |least, bps| least.min(*bps));
    match least >= most * (1.0 - EQUAL) {
        true => Some(format!(
            "{told} ({shares}): equal shares of equal loads, as one queue for all gives them, too."
        )),
        false => Some(format!("{told} ({shares}): shares by weight.")),
    }
}
