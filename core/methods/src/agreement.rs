//! Whether trials agree: a load at which more was lost than at a higher one.
//!
//! A search trusts each trial. Where a device, or the machine it shares with the tester, behaves differently from one
//! trial to the next, results contradict each other; this module reports such contradictions, with both trials.

use crate::result::{MethodResult, Standing, TrialNote, ordinal};
use crate::testbed::Frames;
use crate::text::percent;

/// Loss ratios nearer to each other than this agree.
const ALIKE: f64 = 1e-4;
/// So do those whose difference is less than this share of the larger one.
const ALIKE_SHARE: f64 = 0.1;
/// Shares of the line rate nearer to each other than this are one load.
const SAME_LOAD: f64 = 1e-9;

/// A trial of an even load that counts.
struct Load<'a> {
    method: &'a str,
    note: &'a TrialNote,
    frames: &'a Frames,
    loss: f64,
}

/// For each frame length with contradicting trials, a sentence with the two that differ most, and the loads between
/// which nothing is certain. `results` are the results of all methods that ran on one configuration of a device.
pub(crate) fn disagreements(results: &[MethodResult]) -> Vec<String> {
    let loads: Vec<Load<'_>> = results.iter().flat_map(loads).collect();
    let mut told: Vec<&Frames> = Vec::new();
    let mut sentences = Vec::new();
    for load in &loads {
        if told.contains(&load.frames) {
            continue;
        }
        told.push(load.frames);
        let of_these: Vec<&Load<'_>> = loads.iter().filter(|other| other.frames == load.frames).collect();
        sentences.extend(worst(&of_these).map(|(lossy, clean)| sentence(lossy, clean, results)));
    }
    sentences
}

fn loads(result: &MethodResult) -> impl Iterator<Item = Load<'_>> {
    // Bounds of a loss contradict nothing.
    let exact = |note: &&TrialNote| note.loss_ratio_least() >= note.loss_ratio();
    let counted = result.trials.iter().filter(|note| note.counts() && note.sent > 0).filter(exact);
    counted.filter_map(|note| {
        let loss = note.lost as f64 / note.sent as f64;
        Some(Load { method: &result.method, note, frames: note.frames.as_ref()?, loss })
    })
}

/// Whether two loss ratios are so far apart that one trial contradicts the other.
pub(crate) fn differ(one: f64, other: f64) -> bool {
    (one - other).abs() > ALIKE.max(ALIKE_SHARE * one.max(other))
}

/// The pair that disagrees most: one lost more than the other, at the same load or a lower one.
fn worst<'a>(loads: &[&'a Load<'a>]) -> Option<(&'a Load<'a>, &'a Load<'a>)> {
    let pairs = loads.iter().flat_map(|lossy| loads.iter().map(move |clean| (*lossy, *clean)));
    let disagree = |(lossy, clean): &(&Load<'_>, &Load<'_>)| {
        lossy.note.magnitude <= clean.note.magnitude + SAME_LOAD
            && lossy.loss > clean.loss
            && differ(lossy.loss, clean.loss)
    };
    let by = |(lossy, clean): &(&Load<'_>, &Load<'_>)| lossy.loss - clean.loss;
    pairs.filter(disagree).max_by(|a, b| by(a).total_cmp(&by(b)))
}

fn sentence(lossy: &Load<'_>, clean: &Load<'_>, results: &[MethodResult]) -> String {
    let one = |load: &Load<'_>| {
        format!(
            "{} at {} of the line rate ({}, trial {})",
            percent(load.loss),
            percent(load.note.magnitude),
            load.method,
            ordinal(results, load.note)
        )
    };
    let [low, high] = [lossy, clean].map(|load| load.note.magnitude);
    let uncertain = if high - low <= SAME_LOAD {
        format!("what was found near {} is uncertain", percent(low))
    } else {
        format!("what was found between {} and {} is uncertain", percent(low), percent(high))
    };
    let spoilt = results.iter().flat_map(|result| &result.trials);
    let spoilt = spoilt.filter(|note| note.standing == Standing::Invalid).count();
    let why = match spoilt {
        0 => "longer trials or more repeats are more certain".to_owned(),
        1 => "the tester was disturbed too: 1 trial was not valid".to_owned(),
        n => format!("the tester was disturbed too: {n} trials were not valid"),
    };
    format!(
        "{}: trials disagree. {} was lost, but {}; {uncertain}; {why}.",
        lossy.frames,
        one(lossy),
        one(clean)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::Findings;
    use crate::result::Status;
    use crate::testbed::Testbed;
    use crate::trial::Phase;
    use units::Nanos;

    fn note(number: u64, share: f64, lost: u64, standing: Standing) -> TrialNote {
        TrialNote {
            number,
            key: String::new(),
            phase: Phase::Measure,
            label: String::new(),
            frames: Frames::bytes(512),
            magnitude: share,
            duration: Nanos::from_secs(1),
            sent: 10_000,
            lost,
            lost_least: None,
            standing,
            reasons: Vec::new(),
        }
    }

    fn result(method: &str, trials: Vec<TrialNote>) -> MethodResult {
        MethodResult {
            method: method.into(),
            status: Status::Complete,
            summary: Vec::new(),
            remarks: Vec::new(),
            testbed: Testbed::one_way(1_000_000_000),
            findings: Findings::Throughput(Vec::new()),
            intervals: Vec::new(),
            traffic_s: 0.0,
            trials,
        }
    }

    #[test]
    fn what_a_device_with_a_limit_does_agrees() {
        use Standing::Counted;
        let search = result(
            "throughput",
            vec![note(0, 1.0, 4_000, Counted), note(1, 0.5, 0, Counted), note(2, 0.7, 900, Counted)],
        );
        let curve = result("frame-loss", vec![note(0, 0.9, 3_000, Counted), note(1, 0.6, 0, Counted)]);
        assert_eq!(disagreements(&[search, curve]), Vec::<String>::new());
    }

    #[test]
    fn the_worst_pair_is_told_with_the_loads_between() {
        use Standing::{Counted, Invalid};
        let search = result("throughput", vec![note(0, 1.0, 0, Counted), note(1, 0.5, 0, Counted)]);
        let curve = result(
            "frame-loss",
            vec![note(0, 1.0, 400, Counted), note(1, 0.9, 875, Counted), note(2, 0.2, 9_000, Invalid)],
        );
        assert_eq!(
            disagreements(&[search.clone(), curve]),
            [
                "512B: trials disagree. 8.75% at 90% of the line rate (frame-loss, trial 4) was lost, but 0% at 100% of the \
                 line rate (throughput, trial 1); what was found between 90% and 100% is uncertain; the tester was \
                 disturbed too: 1 trial was not valid."
            ]
        );
        let again = result("latency", vec![note(0, 0.5, 10, Counted)]);
        let told = disagreements(&[search, again]);
        assert!(
            told[0].contains("what was found near 50% is uncertain") || told[0].contains("between 50%"),
            "{told:?}"
        );
    }
}
