//! What goals are called and what they mean, in the words of the RFCs.

use crate::{Finding, percent, quantity};

/// A goal's name and its definition.
struct Meaning {
    goal: &'static str,
    name: &'static str,
    definition: &'static str,
}

const MEANINGS: &[Meaning] = &[
    Meaning {
        goal: "throughput",
        name: "Throughput",
        definition: "the highest rate at which none of the offered frames was dropped (RFC 1242 section 3.17, \
                     RFC 2544 section 26.1)",
    },
    Meaning {
        goal: "ndr",
        name: "Non-drop rate",
        definition: "the highest load without loss that MLRsearch found",
    },
    Meaning {
        goal: "pdr",
        name: "Partial drop rate",
        definition: "the highest load with a loss ratio within the goal's that MLRsearch found",
    },
    Meaning {
        goal: "mrr",
        name: "Maximum receive rate",
        definition: "the rate forwarded when the line is filled, whatever is lost",
    },
    Meaning {
        goal: "latency_mean",
        name: "Mean latency",
        definition: "one-way delay (RFC 2544 section 26.2); the mean over repeated trials",
    },
    Meaning {
        goal: "latency_p50",
        name: "Typical latency",
        definition: "one-way delay that half of the packets do not exceed",
    },
    Meaning {
        goal: "latency_p99",
        name: "Latency, 99%",
        definition: "one-way delay that 99% of the packets do not exceed",
    },
    Meaning {
        goal: "latency_p99_9",
        name: "Latency, 99.9%",
        definition: "one-way delay that 99.9% of the packets do not exceed: the worst case of RFC 8219",
    },
    Meaning {
        goal: "latency_max",
        name: "Longest latency",
        definition: "one-way delay of the slowest packet",
    },
    Meaning {
        goal: "loss",
        name: "Frame loss rate",
        definition: "share of the frames offered that were not forwarded (RFC 1242 section 3.6, RFC 2544 section 26.3)",
    },
    Meaning {
        goal: "back_to_back",
        name: "Back-to-back frames",
        definition: "the longest burst with the smallest gaps that was forwarded whole (RFC 2544 section 26.4, RFC 9004)",
    },
    Meaning {
        goal: "buffer_time",
        name: "Buffer time",
        definition: "the buffer the longest burst implies, corrected for what is forwarded meanwhile (RFC 9004)",
    },
    Meaning {
        goal: "recovery",
        name: "System recovery",
        definition: "time from the end of the overload to the last lost frame (RFC 2544 section 26.5)",
    },
    Meaning {
        goal: "reset",
        name: "Reset",
        definition: "how long nothing was forwarded (RFC 2544 section 26.6, RFC 6201)",
    },
    Meaning {
        goal: "connections_per_s",
        name: "TCP/HTTP connections per second",
        definition: "the highest sustained rate that meets the criteria (RFC 9411 section 7.2)",
    },
    Meaning {
        goal: "concurrent_connections",
        name: "Concurrent connections",
        definition: "the most that can be held while the criteria are met (RFC 9411 section 7.5)",
    },
    Meaning { goal: "offered", name: "Offered load", definition: "packets sent per second" },
    Meaning { goal: "received", name: "Received", definition: "test packets that arrived per second" },
];

/// A goal's name: that of the RFC, or its own with spaces.
pub(super) fn name(goal: &str) -> String {
    match (meaning(goal), goal.split_once(' ')) {
        (Some(meaning), None) => meaning.name.to_owned(),
        (Some(meaning), Some((_, rest))) => format!("{} {rest}", meaning.name),
        (None, _) => goal.replace('_', " "),
    }
}

/// What a goal means.
pub(super) fn definition(goal: &str) -> Option<&'static str> {
    meaning(goal).map(|meaning| meaning.definition)
}

/// A goal without what it was measured at: `latency_mean at 50%` is a `latency_mean`, `pdr 0.1%` a `pdr`.
pub(super) fn plain(goal: &str) -> &str {
    goal.split(' ').next().unwrap_or(goal)
}

fn meaning(goal: &str) -> Option<&'static Meaning> {
    let goal = plain(goal);
    MEANINGS.iter().find(|meaning| meaning.goal.eq_ignore_ascii_case(goal))
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
        let why = finding.note.as_deref().unwrap_or("no trial answers it");
        return format!("{name}{frame}: none found; {why}.");
    };
    let mut text = format!("{name}{frame}: {}", quantity(value, &finding.unit));
    if let Some(line) = finding.line.filter(|line| *line > 0.0) {
        text += &format!(", {} of the line rate", percent(value / line));
    }
    if let Some(noise) = finding.noise().filter(|noise| *noise > 0.0) {
        text += &format!(", give or take {}", quantity(noise, &finding.unit));
    }
    text += ".";
    if let Some(note) = &finding.note {
        text += &format!(" {}", note.trim_end_matches('.'));
        text += ".";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let text = "Throughput with 64B frames: 1 Mpps, 50% of the line rate, give or take 5 kpps.";
        assert_eq!(sentence(&finding), text);
        let none = Finding { value: None, note: Some("every load lost frames".into()), ..finding };
        assert_eq!(sentence(&none), "Throughput with 64B frames: none found; every load lost frames.");
        assert_eq!(name("some_thing"), "some thing");
        assert_eq!(name("pdr 0.1%"), "Partial drop rate 0.1%");
        assert!(definition("NDR").is_some() && definition("some_thing").is_none());
    }
}
