//! What methods write, read as JSON: requests become trials, results become findings.
//!
//! The store does not know the methods: a document it can't read makes no findings, and its sentences and rows are shown
//! as they are.

use crate::figures::number;
use crate::{Finding, NewTrial};
use serde_json::Value;

impl NewTrial {
    /// A trial of a method, from its request: number, key, label, method, phase, frames, line rate.
    pub fn of_request(request: &Value, outcome: Value, result: Value, intervals: Vec<Value>) -> Self {
        let text = |key: &str| request[key].as_str().unwrap_or_default().to_owned();
        let frame = text("frames");
        Self {
            number: request["number"].as_u64().and_then(|n| u32::try_from(n).ok()).unwrap_or(0),
            key: text("key"),
            label: text("label"),
            part: text("method"),
            phase: text("phase"),
            frame_bytes: bytes(&frame),
            frame,
            line_pps: line(&request["offered"]),
            request: request.clone(),
            outcome,
            result,
            intervals,
        }
    }
}

/// Bytes of `64B`; `None` for a mix.
fn bytes(frames: &str) -> Option<u32> {
    frames.strip_suffix('B')?.parse().ok()
}

/// Line rate of all groups: each offers `rate_pps`, which is `share` of its line.
fn line(groups: &Value) -> Option<f64> {
    let one = |group: &Value| Some(number(group, "rate_pps")? / number(group, "share").filter(|s| *s > 0.0)?);
    groups.as_array()?.iter().map(one).reduce(|a, b| Some(a? + b?))?
}

impl Finding {
    /// What a method's result says as values: a finding for each of its rows and goals.
    pub fn of_method(document: &Value) -> Vec<Self> {
        let findings = &document["findings"];
        let read: fn(&Value) -> Vec<Finding> = match findings["type"].as_str() {
            Some("throughput") => throughput,
            Some("latency") => latency,
            Some("frame_loss") => frame_loss,
            Some("back_to_back") => back_to_back,
            Some("recovery") => recovery,
            Some("reset") => reset,
            Some("mlr") => mlr,
            Some("mrr") => mrr,
            Some("soak") => soak,
            Some("sweep") => sweep,
            Some("addresses") => addresses,
            Some("sessions") => sessions,
            Some("session_latency") => session_latency,
            Some("self_test") => self_test,
            _ => return Vec::new(),
        };
        findings["rows"].as_array().into_iter().flatten().flat_map(read).collect()
    }
}

/// A finding about a row's frames.
fn about(row: &Value, goal: &str, unit: &str) -> Finding {
    let frame = row["frames"].as_str().unwrap_or_default();
    Finding {
        frame: frame.to_owned(),
        frame_bytes: bytes(frame),
        goal: goal.to_owned(),
        unit: unit.to_owned(),
        document: row.clone(),
        ..Finding::default()
    }
}

/// Mean and standard deviation of a spread of repeats.
fn repeats(finding: Finding, spread: &Value) -> Finding {
    let several = number(spread, "samples").is_none_or(|n| n > 1.0);
    let stddev = number(spread, "stddev").filter(|_| several);
    Finding { value: number(spread, "mean"), spread: stddev, ..finding }
}

/// What bounds a figure from above, if it is not the device.
fn limit(row: &Value) -> Option<String> {
    let text = match row["limit"].as_str()? {
        "maximum" => "it is the most that was to be tried",
        "tester" => "the tester was the limit; the device may do more",
        "impossible" => "the device failed at the smallest value already",
        "open" => "the search has not ended",
        _ => return None,
    };
    Some(text.to_owned())
}

/// A rate of all groups with its line, and how much of it is the first group's.
fn rate(finding: Finding, found: &Value) -> (Finding, f64) {
    let total = number(found, "total_pps");
    let first = found["groups"].get(0).and_then(|group| number(group, "rate_pps")).filter(|pps| *pps > 0.0);
    let all = total.zip(first).map_or(1.0, |(total, first)| total / first);
    (Finding { value: total, line: line(&found["groups"]), ..finding }, all)
}

fn throughput(row: &Value) -> Vec<Finding> {
    let (found, all) = rate(about(row, "throughput", "pps"), &row["throughput"]);
    let line = found.line.or_else(|| number(row, "line_rate_pps"));
    let upper = number(row, "failed_pps").map(|pps| pps * all);
    vec![Finding { lower: found.value, upper, line, note: limit(row), ..found }]
}

fn latency(row: &Value) -> Vec<Finding> {
    let share = number(row, "share_of_rate").unwrap_or(1.0);
    let at = |goal: &str| {
        if share == 1.0 { goal.to_owned() } else { format!("{goal} at {}", crate::percent(share)) }
    };
    let mean = repeats(about(row, &at("latency_mean"), "ns"), &row["mean_ns"]);
    let groups = || row["groups"].as_array().into_iter().flatten();
    let most = |key: &str| groups().filter_map(|group| number(group, key)).reduce(f64::max);
    let quantile =
        |goal: &str, key: &str| Some(Finding { value: Some(most(key)?), ..about(row, &at(goal), "ns") });
    let quantiles = [
        quantile("latency_p50", "p50_ns"),
        quantile("latency_p99", "p99_ns"),
        quantile("latency_p99_9", "p99_9_ns"),
        quantile("latency_max", "max_ns"),
    ];
    let lost = number(row, "loss_ratio");
    let lost = lost.map(|ratio| Finding { value: Some(ratio), ..about(row, &at("loss"), "ratio") });
    [Some(mean)].into_iter().chain(quantiles).chain([lost]).flatten().collect()
}

fn frame_loss(row: &Value) -> Vec<Finding> {
    let points = row["points"].as_array().into_iter().flatten();
    let one = |point: &Value| {
        let load = number(point, "load_percent")?;
        let value = number(point, "loss_percent").map(|percent| percent / 100.0);
        Some(Finding { value, ..about(row, &format!("loss at {load}% of line rate"), "ratio") })
    };
    points.filter_map(one).collect()
}

fn back_to_back(row: &Value) -> Vec<Finding> {
    let skipped = row["skipped"].as_str().map(str::to_owned);
    let burst = Finding { note: skipped, ..about(row, "back_to_back", "frames") };
    let buffer = Finding { value: number(row, "corrected_buffer_s"), ..about(row, "buffer_time", "s") };
    let buffer = Some(buffer).filter(|finding| finding.value.is_some());
    [Some(repeats(burst, &row["burst_frames"])), buffer].into_iter().flatten().collect()
}

fn recovery(row: &Value) -> Vec<Finding> {
    let never = number(row, "not_recovered").filter(|n| *n > 0.0);
    let note = never.map(|n| format!("in {n} trials it did not recover"));
    vec![repeats(Finding { note, ..about(row, "recovery", "ns") }, &row["recovery_ns"])]
}

fn reset(row: &Value) -> Vec<Finding> {
    let how = row["how"].as_str().map(str::to_owned);
    vec![repeats(Finding { note: how, ..about(row, "reset", "s") }, &row["by_loss_s"])]
}

/// A finding for each goal of MLRsearch: its relevant lower bound, between its bounds.
fn mlr(row: &Value) -> Vec<Finding> {
    let one = |goal: &Value| {
        let name = goal["name"].as_str().unwrap_or("mlr").to_lowercase();
        let found = rate(about(row, &name, "pps"), &goal["lower"]["load"]).0;
        let upper = rate(Finding::default(), &goal["upper"]["load"]).0;
        let note = limit(goal).or_else(|| irregular(goal));
        Finding {
            lower: found.value,
            upper: upper.value,
            line: found.line.or(upper.line),
            note,
            document: goal.clone(),
            ..found
        }
    };
    row["goals"].as_array().into_iter().flatten().map(one).collect()
}

fn irregular(goal: &Value) -> Option<String> {
    (goal["regular"] == false).then(|| "the bounds are farther apart than the goal's width".to_owned())
}

fn mrr(row: &Value) -> Vec<Finding> {
    let found = repeats(about(row, "mrr", "pps"), &row["received_pps"]);
    vec![Finding { line: number(row, "line_rate_pps"), ..found }]
}

fn soak(row: &Value) -> Vec<Finding> {
    vec![Finding { value: number(row, "loss_ratio"), ..about(row, "loss", "ratio") }]
}

fn sweep(row: &Value) -> Vec<Finding> {
    let found = number(row, "loss_free").map(|share| Finding {
        value: Some(share),
        lower: Some(share),
        upper: number(row, "first_loss"),
        ..about(row, "loss-free share of line rate", "ratio")
    });
    found.into_iter().collect()
}

fn addresses(row: &Value) -> Vec<Finding> {
    let what = row["what"].as_str().unwrap_or("addresses");
    let value = number(row, "value");
    vec![Finding {
        value,
        lower: value,
        upper: number(row, "failed"),
        note: limit(row),
        ..about(row, what, "")
    }]
}

/// A row about an application: its name and the bytes of a response stand where others have frames.
fn of_app(row: &Value, goal: &str, unit: &str) -> Finding {
    let app = &row["app"];
    let name = app["name"].as_str().unwrap_or_default();
    let bytes = number(app, "response_bytes").map_or_else(String::new, |bytes| format!(" {bytes}B"));
    Finding { frame: format!("{name}{bytes}"), ..about(row, goal, unit) }
}

fn sessions(row: &Value) -> Vec<Finding> {
    let (goal, unit) = match row["objective"].as_str() {
        Some("connections_per_second") => ("connections_per_s", "/s"),
        Some("concurrent_connections") => ("concurrent_connections", "sessions"),
        Some("transactions_per_second") => ("transactions_per_s", "/s"),
        Some("goodput_bps") => ("goodput", "bps"),
        _ => ("sessions", ""),
    };
    let value = number(row, "best.reached");
    let (lower, upper) = (number(row, "best.value"), number(row, "failed.value"));
    vec![Finding { value, lower, upper, note: limit(row), ..of_app(row, goal, unit) }]
}

fn session_latency(row: &Value) -> Vec<Finding> {
    let of =
        |goal: &str, path: &str| Some(Finding { value: Some(number(row, path)?), ..of_app(row, goal, "ns") });
    let all = [
        of("ttfb_p50", "point.sessions.ttfb_ns.p50"),
        of("ttfb_p99", "point.sessions.ttfb_ns.p99"),
        of("ttlb_p50", "point.sessions.ttlb_ns.p50"),
        of("ttlb_p99", "point.sessions.ttlb_ns.p99"),
    ];
    all.into_iter().flatten().collect()
}

fn self_test(row: &Value) -> Vec<Finding> {
    let most = about(row, "most the tester can do", "pps");
    vec![Finding { value: number(row, "most_pps"), line: number(row, "line_rate_pps"), ..most }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result(kind: &str, rows: Value) -> Vec<Finding> {
        Finding::of_method(&json!({"method": kind, "findings": {"type": kind, "rows": rows}}))
    }

    #[test]
    fn throughput_of_two_groups_is_added_up() {
        let group = |name: &str| json!({"group": name, "rate_pps": 5e5, "share": 0.5});
        let rows = json!([
            {"frames": "64B", "throughput": {"groups": [group("a"), group("b")], "share": 0.5, "total_pps": 1e6},
             "line_rate_pps": 1e6, "failed_pps": 6e5, "limit": "dut"},
            {"frames": "imix", "throughput": null, "line_rate_pps": 1e6, "failed_pps": 1e3, "limit": "impossible"}]);
        let found = result("throughput", rows);
        assert_eq!((found[0].frame_bytes, found[0].value, found[0].line), (Some(64), Some(1e6), Some(2e6)));
        assert_eq!((found[0].lower, found[0].upper, found[0].note.as_ref()), (Some(1e6), Some(1.2e6), None));
        assert_eq!((found[1].value, found[1].frame_bytes, found[1].note.is_some()), (None, None, true));
    }

    #[test]
    fn latency_has_its_percentiles() {
        let rows = json!([{"frames": "64B", "share_of_rate": 0.5, "loss_ratio": 0.001,
            "mean_ns": {"samples": 20, "mean": 10.0, "stddev": 1.0},
            "groups": [{"p50_ns": 9.0, "p99_ns": 20.0}, {"p50_ns": 8.0, "p99_ns": 30.0}]}]);
        let found: Vec<_> =
            result("latency", rows).into_iter().map(|f| (f.goal, f.value, f.spread)).collect();
        let expected = [
            ("latency_mean at 50%".to_owned(), Some(10.0), Some(1.0)),
            ("latency_p50 at 50%".to_owned(), Some(9.0), None),
            ("latency_p99 at 50%".to_owned(), Some(30.0), None),
            ("loss at 50%".to_owned(), Some(0.001), None),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_goal_of_mlrsearch_lies_between_its_bounds() {
        let load =
            |pps: f64| json!({"load": {"groups": [{"rate_pps": pps, "share": pps / 1e7}], "total_pps": pps}});
        let goal = |name: &str, lower: Value| json!({"name": name, "regular": true, "lower": lower, "upper": load(1e6), "limit": "dut"});
        let rows = json!([{"frames": "64B", "goals": [goal("NDR", load(9.9e5)), goal("PDR", Value::Null)]}]);
        let found = result("mlr", rows);
        assert_eq!((found[0].goal.as_str(), found[0].value, found[0].upper), ("ndr", Some(9.9e5), Some(1e6)));
        assert!((found[0].line.unwrap() - 1e7).abs() < 1.0);
        assert_eq!((found[1].value, found[1].upper), (None, Some(1e6)));
    }

    #[test]
    fn documents_that_are_not_known_make_no_findings() {
        assert!(result("something new", json!([{"frames": "64B"}])).is_empty());
        assert!(Finding::of_method(&Value::Null).is_empty());
        for kind in ["throughput", "latency", "mlr", "sessions", "back_to_back", "frame_loss", "sweep"] {
            assert!(result(kind, json!("not rows")).is_empty());
            let _ = result(kind, json!([null, 7, {}, {"points": 3, "groups": {}}]));
        }
    }

    #[test]
    fn a_request_makes_a_trial() {
        let request = json!({"number": 3, "key": "k", "label": "64B at 10%", "method": "throughput", "phase": "measure",
            "frames": "64B", "offered": [{"rate_pps": 10.0, "share": 0.1}, {"rate_pps": 20.0, "share": 0.1}]});
        let trial = NewTrial::of_request(&request, Value::Null, Value::Null, Vec::new());
        assert_eq!((trial.number, trial.frame_bytes, trial.line_pps), (3, Some(64), Some(300.0)));
        assert_eq!((trial.part.as_str(), trial.phase.as_str()), ("throughput", "measure"));
        assert_eq!(NewTrial::of_request(&Value::Null, Value::Null, Value::Null, Vec::new()).line_pps, None);
    }
}
