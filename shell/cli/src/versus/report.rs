//! The outcome of a comparison, in words and as a document.

use super::{Compared, Figure};
use methods::{Answer, Measured, Pair, Paired, PairedConfig, Question, Scale, Side};
use serde::Serialize;
use std::fmt::Write;
use units::{percent, signed_percent};

/// Name of the document's format.
const SCHEMA: &str = "eagre.versus/1";

/// Output of `--json`.
#[derive(Debug, Serialize)]
pub(crate) struct VersusDocument<'a> {
    /// `eagre.versus/1`.
    schema: &'static str,
    /// Version of the program.
    version: &'static str,
    /// Seed of order and traffic.
    seed: u64,
    /// The two sides.
    sides: [SideDocument<'a>; 2],
    /// The number that was compared.
    figure: String,
    /// `a` or `b` is better, `alike` (no difference larger than the margin), or `unknown`.
    answer: Answer,
    /// The result in words.
    sentence: String,
    /// Whether it was stopped before its end.
    interrupted: bool,
    /// Smallest difference of interest: a share; of ratios, a difference.
    margin: f64,
    /// Minimum probability that the result is right.
    confidence: f64,
    /// B's advantage over A: a share of the lesser value; of ratios, a difference. Negative if A is better.
    #[serde(skip_serializing_if = "Option::is_none")]
    advantage: Option<AdvantageDocument>,
    /// Pairs used for the result.
    pairs: u32,
    /// Pairs that were disturbed.
    disturbed_pairs: u32,
    /// Whether the result also uses disturbed pairs: as such pairs favour no side, they can show a difference, but
    /// never that there is none.
    uses_disturbed_pairs: bool,
    /// The most frequent reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    disturbed_by: Option<String>,
    /// All pairs in the order they were measured in.
    measured: &'a [Pair],
}

#[derive(Debug, Serialize)]
struct SideDocument<'a> {
    name: &'static str,
    label: &'a str,
    /// Median of its trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    median: Option<f64>,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct AdvantageDocument {
    estimate: f64,
    /// Absent of too few pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    lower: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper: Option<f64>,
}

impl<'a> VersusDocument<'a> {
    pub(crate) fn new(
        config: &PairedConfig,
        figure: &Figure,
        labels: [&'a str; 2],
        compared: &'a Compared,
    ) -> Self {
        let (result, pairs) = (&compared.result, compared.paired.pairs());
        let side = |name, label, side| SideDocument { name, label, median: median(pairs, side) };
        let finite = |value: f64| Some(config.share(value)).filter(|share| share.is_finite());
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            seed: config.seed,
            sides: [side("a", labels[0], Side::A), side("b", labels[1], Side::B)],
            figure: figure.to_string(),
            answer: result.answer,
            sentence: sentence(config, figure, compared),
            interrupted: compared.interrupted,
            margin: match config.question {
                Question::Differ { margin } => margin,
                Question::Worse { threshold } => threshold,
            },
            confidence: config.confidence,
            advantage: result.advantage.map(|found| AdvantageDocument {
                estimate: config.share(found.estimate),
                lower: finite(found.lower),
                upper: finite(found.upper),
            }),
            pairs: result.pairs,
            disturbed_pairs: result.disturbed,
            uses_disturbed_pairs: result.uses_disturbed,
            disturbed_by: result.trouble.clone(),
            measured: pairs,
        }
    }

    /// The outcome for people.
    pub(crate) fn text(&self, figure: &Figure, compared: &Compared) -> String {
        let mut text = format!("\n  {}\n", figure.noun());
        text += &measured_sides([self.sides[0].label, self.sides[1].label], figure, compared);
        let _ = writeln!(text, "\n  {}", self.sentence);
        text += &disturbed(compared);
        let _ = writeln!(text, "  seed {}", self.seed);
        text
    }
}

/// The median of each side's trials.
fn measured_sides(labels: [&str; 2], figure: &Figure, compared: &Compared) -> String {
    let mut text = String::new();
    for (side, name, label) in [(Side::A, "A", labels[0]), (Side::B, "B", labels[1])] {
        let value =
            median(compared.paired.pairs(), side).map_or_else(|| "-".to_owned(), |value| figure.show(value));
        let label = if label.is_empty() { String::new() } else { format!("   {label}") };
        let _ = writeln!(text, "    {name}   {value}{label}");
    }
    text
}

/// Number of pairs that were disturbed, by what, and what became of them.
fn disturbed(compared: &Compared) -> String {
    let result = &compared.result;
    let Some(trouble) = result.trouble.as_ref().filter(|_| result.disturbed > 0) else {
        return String::new();
    };
    let fate = match (result.uses_disturbed, result.answer) {
        (true, _) => "the result uses these too: they favour no side",
        (false, Answer::Unknown) => "they do not count",
        (false, _) => "they do not count and were repeated",
    };
    let all = compared.paired.pairs().len();
    format!("  {} of {all} pairs were disturbed; {fate}: {trouble}\n", result.disturbed)
}

/// The result in words, with its interval and confidence.
pub(crate) fn sentence(config: &PairedConfig, figure: &Figure, compared: &Compared) -> String {
    let result = &compared.result;
    let size = |share: f64| match config.scale {
        Scale::Relative if share.is_infinite() => "any factor".to_owned(),
        Scale::Relative => percent(share.abs()),
        Scale::Absolute => format!("{} points", percent(share.abs())),
    };
    let sure = format!("{} confidence, {} pairs of trials", percent(config.confidence), result.pairs);
    if compared.interrupted {
        return "Interrupted: no result yet.".to_owned();
    }
    let margin = match config.question {
        Question::Differ { margin } => margin,
        Question::Worse { threshold } => threshold,
    };
    let Some(found) = result.advantage else { return "Can't be judged: no trial has the figure.".to_owned() };
    let [low, mid, high] = [found.lower, found.estimate, found.upper].map(|value| config.share(value));
    let between = format!("{} to {}", signed(config, low), signed(config, high));
    match result.answer {
        Answer::Alike => {
            format!("No difference larger than {}: B against A {between} ({sure}).", size(margin))
        }
        Answer::A => {
            format!(
                "A is {} by {} ({} to {}; {sure}).",
                figure.comparative(),
                size(mid),
                size(high),
                size(low)
            )
        }
        Answer::B => {
            format!(
                "B is {} by {} ({} to {}; {sure}).",
                figure.comparative(),
                size(mid),
                size(low),
                size(high)
            )
        }
        Answer::Unknown if low.is_finite() && high.is_finite() => format!(
            "Can't be judged: B against A {between} ({sure}). Use longer trials (--trial), more pairs (--pairs), or a larger --margin."
        ),
        Answer::Unknown => format!(
            "Can't be judged: only {} of {} pairs were undisturbed. Use a quieter machine, or a load that the tester can send.",
            result.pairs,
            compared.paired.pairs().len()
        ),
    }
}

fn signed(config: &PairedConfig, share: f64) -> String {
    match config.scale {
        _ if share.is_infinite() => "any".to_owned(),
        Scale::Relative => signed_percent(share),
        Scale::Absolute => format!("{} points", signed_percent(share)),
    }
}

/// Prints the newest pair to standard error.
pub(super) fn progress(paired: &Paired, figure: &Figure) {
    let pairs = paired.pairs();
    let Some(pair) = pairs.last() else { return };
    let show =
        |measured: &Measured| measured.value().map_or_else(|| "-".to_owned(), |value| figure.show(value));
    let trouble = [&pair.a, &pair.b].into_iter().find_map(|measured| match measured {
        Measured::Disturbed { reason, .. } => Some(format!("   disturbed: {reason}")),
        Measured::Value(_) => None,
    });
    eprintln!(
        "  pair {:>3}: A {}, B {}{}",
        pairs.len(),
        show(&pair.a),
        show(&pair.b),
        trouble.unwrap_or_default()
    );
}

/// The median of a side's undisturbed trials; of all, if there are none.
fn median(pairs: &[Pair], side: Side) -> Option<f64> {
    let of = |pair: &Pair| if side == Side::A { pair.a.value() } else { pair.b.value() };
    let clean: Vec<f64> = pairs.iter().filter(|pair| pair.is_undisturbed()).filter_map(of).collect();
    let mut values = if clean.is_empty() { pairs.iter().filter_map(of).collect() } else { clean };
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
