//! Names and meanings of goals, in the words of the RFCs.

use crate::{Finding, percent, quantity};
use methods::GoalMeaning;
use units::whole;

/// Goals of single runs, which no method explains.
const OF_RUNS: [GoalMeaning; 2] = [
    GoalMeaning { goal: "offered", name: "Offered load", definition: "packets sent per second" },
    GoalMeaning { goal: "received", name: "Received", definition: "test packets that arrived per second" },
];

/// A goal's name: that of the RFC, or its own with spaces.
pub(super) fn name(goal: &str) -> String {
    match (meaning(goal), goal.split_once(' ')) {
        (Some(meaning), None) => meaning.name.to_owned(),
        (Some(meaning), Some((_, rest))) => format!("{} {rest}", meaning.name),
        (None, _) => goal.replace('_', " "),
    }
}

/// Meaning of a goal.
pub(super) fn definition(goal: &str) -> Option<&'static str> {
    meaning(goal).map(|meaning| meaning.definition)
}

/// A goal without what it was measured at: `latency_mean at 50%` is a `latency_mean`, `pdr 0.1%` a `pdr`.
pub(super) fn plain(goal: &str) -> &str {
    goal.split(' ').next().unwrap_or(goal)
}

fn meaning(goal: &str) -> Option<GoalMeaning> {
    methods::meaning(goal).or_else(|| OF_RUNS.into_iter().find(|meaning| meaning.goal == plain(goal)))
}

/// A figure of a document in the unit of its name: `streams.a.latency_ns.p99`, `loss_ratio`.
pub fn measured(path: &str, value: f64) -> String {
    let unit = path.rsplit('.').find_map(|name| match name {
        _ if name.ends_with("_ns") || name == "ns" => Some("ns"),
        _ if name.ends_with("ratio") || name == "share" => Some("ratio"),
        _ if name.ends_with("_pps") => Some("pps"),
        _ if name.ends_with("_per_s") => Some("/s"),
        _ if name.contains("_bps") => Some("bps"),
        _ if name.ends_with("_bytes") || name.starts_with("bytes") => Some("B"),
        _ if name.ends_with("_s") => Some("s"),
        _ => None,
    });
    match unit {
        Some("B") => format!("{} B", whole(value)),
        Some(unit) => quantity(value, unit),
        None if value.fract() == 0.0 && value.abs() < 1e15 => whole(value),
        None => quantity(value, ""),
    }
}

/// A finding in a sentence.
pub(super) fn sentence(finding: &Finding) -> String {
    let name = name(&finding.goal);
    let frame = match finding.frame.as_str() {
        "" => String::new(),
        frame if finding.frame_bytes.is_some() => format!(" with {frame} frames"),
        frame => format!(" ({frame})"),
    };
    let Some(value) = finding.value else {
        let why = finding.note.as_deref().unwrap_or("no trial found it");
        return format!("{name}{frame}: none found; {why}.");
    };
    let mut text = format!("{name}{frame}: {}", quantity(value, &finding.unit));
    if let Some(line) = finding.line.filter(|line| *line > 0.0) {
        text += &format!(", {} of the line rate", percent(value / line));
    }
    let at = |value| quantity(value, &finding.unit);
    text += &match (finding.lower.filter(|lower| *lower < value), finding.upper) {
        (Some(lower), Some(upper)) => format!(", between {} and {}", at(lower), at(upper)),
        (None, Some(upper)) if upper > value => format!(", below {}", at(upper)),
        (Some(lower), None) => format!(", at least {}", at(lower)),
        _ => String::new(),
    };
    if let Some(spread) = finding.spread.filter(|spread| *spread > 0.0) {
        text += &format!(", ± {}", at(2.0 * spread));
    }
    text += ".";
    if let Some(note) = &finding.note {
        text += &format!(" {}", note.trim_end_matches('.'));
        text += ".";
    }
    if let Some(doubt) = &finding.doubt {
        text += &format!(" Trials disagree: {}.", doubt.trim_end_matches('.'));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_unit_of_their_name() {
        let all = [
            measured("streams.a.latency_ns.p99", 12_500.0),
            measured("streams.a.loss_ratio", 0.0008),
            measured("sessions.web.open_per_s", 1_500.0),
            measured("ports.west.tx_bps_l1", 3.4e9),
            measured("duration_s", 0.25),
            measured("streams.a.tx_bytes", 64_000.0),
            measured("streams.a.lost", 1_234.0),
        ];
        assert_eq!(all, ["12.5 µs", "0.08%", "1.5 k/s", "3.4 Gbps", "250 ms", "64,000 B", "1,234"]);
    }

    #[test]
    fn findings_are_said_in_sentences() {
        let finding = Finding {
            frame: "64B".into(),
            frame_bytes: Some(64),
            goal: "throughput".into(),
            unit: "pps".into(),
            value: Some(1e6),
            lower: Some(1e6),
            upper: Some(1.01e6),
            line: Some(2e6),
            ..Finding::default()
        };
        let text = "Throughput with 64B frames: 1 Mpps, 50% of the line rate, below 1.01 Mpps.";
        assert_eq!(sentence(&finding), text);
        let none = Finding { value: None, note: Some("every load lost frames".into()), ..finding };
        assert_eq!(sentence(&none), "Throughput with 64B frames: none found; every load lost frames.");
        assert_eq!(name("some_thing"), "some thing");
        assert_eq!(name("pdr 0.1%"), "Partial drop rate 0.1%");
        assert!(definition("NDR").is_some() && definition("some_thing").is_none());
    }
}
