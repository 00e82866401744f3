//! Figures that `eagre ci` compares: which of a result, between which bounds, and in which direction they get worse.

use result::{ResultDocument, Standing};
use serde::{Deserialize, Serialize};

/// Figures of each measured stream, below `streams.NAME.`.
const OF_STREAMS: [&str; 5] =
    ["loss_ratio", "reordered", "latency_ns.p50", "latency_ns.p95", "latency_ns.p99"];
/// Figures of each entry of sessions, below `sessions.NAME.`.
const OF_SESSIONS: [&str; 8] = [
    "failed_ratio",
    "open_per_s",
    "transactions_per_s",
    "rx_bps_goodput",
    "setup_ns.p95",
    "ttfb_ns.p95",
    "ttlb_ns.p50",
    "ttlb_ns.p95",
];
/// Student's t for 95% (two-sided), by degrees of freedom from 1 on; of more, the last.
const T_95: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];

/// Between which values a figure lies: where one more run would be in 19 of 20 cases.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Interval {
    pub(super) lower: f64,
    pub(super) upper: f64,
    /// Mean of the runs.
    pub(super) mean: f64,
    /// Runs in which the figure could be judged.
    pub(super) runs: u32,
}

/// A figure of some runs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    pub(super) path: String,
    /// The interval; without one, why it can't be judged and what to do.
    pub(super) interval: Result<Interval, String>,
}

/// Whether large values of a figure are good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Better {
    More,
    Less,
}

impl Better {
    /// Of the figure at `path`: rates and counts of what succeeded are better if they are more, times and losses if they are less.
    pub(super) fn of(path: &str) -> Self {
        let ends = [
            "_per_s",
            "_pps",
            "_goodput",
            ".rx",
            ".tx",
            ".completed",
            ".established",
            ".transactions",
            "_bps_l1",
        ];
        if ends.iter().any(|end| path.ends_with(end)) { Self::More } else { Self::Less }
    }
}

/// The figures that are compared: those that were measured, or those that `wanted` names, with `*` for any text.
pub(super) fn paths(document: &ResultDocument, wanted: &[String]) -> Vec<String> {
    let streams = document.streams.iter().filter(|(_, stream)| stream.lost.is_some());
    let streams = streams.flat_map(|(name, _)| OF_STREAMS.map(|figure| format!("streams.{name}.{figure}")));
    let sessions = document
        .sessions
        .keys()
        .flat_map(|name| OF_SESSIONS.map(|figure| format!("sessions.{name}.{figure}")));
    let usual = streams.chain(sessions).filter(|path| is_known(document, path));
    match wanted {
        [] => usual.collect(),
        wanted => {
            let all = every_number(document);
            all.into_iter().filter(|path| wanted.iter().any(|pattern| matches(pattern, path))).collect()
        }
    }
}

fn is_known(document: &ResultDocument, path: &str) -> bool {
    !matches!(document.standing(path), Standing::Holds { value: None, .. })
}

/// The paths of all numbers of a document.
fn every_number(document: &ResultDocument) -> Vec<String> {
    fn walk(part: &serde_json::Value, path: String, all: &mut Vec<String>) {
        let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        match part {
            serde_json::Value::Object(fields) => {
                fields.iter().for_each(|(name, inner)| walk(inner, below(name), all))
            }
            serde_json::Value::Number(_) => all.push(path),
            _ => {}
        }
    }
    let mut all = Vec::new();
    walk(&serde_json::to_value(document).unwrap_or_default(), String::new(), &mut all);
    all
}

/// Whether a path matches a pattern with `*`.
fn matches(pattern: &str, path: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| path.strip_prefix(first)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// The figures at `paths` of some runs.
pub(super) fn figures(documents: &[ResultDocument], paths: &[String]) -> Vec<Figure> {
    paths.iter().map(|path| Figure { path: path.clone(), interval: interval(documents, path) }).collect()
}

fn interval(documents: &[ResultDocument], path: &str) -> Result<Interval, String> {
    let mut values = Vec::new();
    let mut doubt = None;
    for document in documents {
        match document.standing(path) {
            Standing::Holds { value: Some(value), .. } => values.push((value, value)),
            Standing::Holds { value: None, .. } => {}
            Standing::Bounds { lower: Some(lower), upper: Some(upper), .. } => values.push((lower, upper)),
            other => doubt = other.doubt().map(|doubt| format!("{}; {}", doubt.reason, doubt.remedy)),
        }
    }
    combine(&values).ok_or_else(|| doubt.unwrap_or_else(|| "it was not measured".to_owned()))
}

/// The interval of values that each lie between two; `None` of none.
fn combine(values: &[(f64, f64)]) -> Option<Interval> {
    let runs = u32::try_from(values.len()).ok().filter(|runs| *runs > 0)?;
    let n = f64::from(runs);
    let middle = |(lower, upper): &(f64, f64)| (lower + upper) / 2.0;
    let mean = values.iter().map(middle).sum::<f64>() / n;
    let half = match runs {
        1 => 0.0,
        _ => {
            let squares: f64 = values.iter().map(|value| (middle(value) - mean).powi(2)).sum();
            let t = T_95[(runs as usize - 2).min(T_95.len() - 1)];
            t * (squares / (n - 1.0)).sqrt() * (1.0 + 1.0 / n).sqrt()
        }
    };
    let lowest = values.iter().map(|(lower, _)| *lower).fold(f64::INFINITY, f64::min);
    let highest = values.iter().map(|(_, upper)| *upper).fold(f64::NEG_INFINITY, f64::max);
    // No figure is negative that was not seen to be.
    let floor = if lowest >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
    Some(Interval {
        lower: (mean - half).min(lowest).max(floor),
        upper: (mean + half).max(highest),
        mean,
        runs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_name_figures() {
        assert!(matches("streams.*.latency_ns.p99", "streams.a.b.latency_ns.p99"));
        assert!(matches("*", "x") && matches("a.b", "a.b") && matches("*.lost", "streams.a.lost"));
        assert!(
            !matches("streams.*.p99", "streams.a.p99_9") && !matches("a", "ab") && !matches("*x*y", "yx")
        );
    }

    #[test]
    fn intervals_cover_every_run_and_the_next() {
        assert_eq!(combine(&[]), None);
        assert_eq!(combine(&[(5.0, 5.0)]), Some(Interval { lower: 5.0, upper: 5.0, mean: 5.0, runs: 1 }));
        let three = combine(&[(9.0, 9.0), (10.0, 10.0), (11.0, 11.0)]).unwrap();
        let half = 4.303 * (4.0f64 / 3.0).sqrt();
        assert!(
            (three.upper - 10.0 - half).abs() < 1e-9 && (10.0 - three.lower - half).abs() < 1e-9,
            "{three:?}"
        );
        let wide = combine(&[(0.0, 8.0), (0.0, 0.0)]).unwrap();
        assert!(wide.lower == 0.0 && wide.upper >= 8.0, "{wide:?}");
    }

    #[test]
    fn times_and_losses_get_worse_upwards() {
        assert_eq!(Better::of("streams.a.latency_ns.p99"), Better::Less);
        assert_eq!(Better::of("streams.a.loss_ratio"), Better::Less);
        assert_eq!(Better::of("sessions.web.open_per_s"), Better::More);
        assert_eq!(Better::of("sessions.web.rx_bps_goodput"), Better::More);
    }
}
