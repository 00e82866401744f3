//! Summary for the reader: the result in plain words, and whether to trust it.

use super::front::{self, Band};
use super::words;
use crate::{Loaded, State, TrialRow, percent, quantity};
use maud::{Markup, html};
use units::whole as count;

/// Sentences that are not folded.
const SENTENCES_MAX: usize = 4;

/// Tone of a message: good or bad news.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mood {
    Good,
    Warn,
    Bad,
}

impl Mood {
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }
}

/// The first screen.
pub(super) fn answer(loaded: &Loaded) -> Markup {
    let sentences = sentences(loaded);
    let shown = sentences.len().min(SENTENCES_MAX);
    let (tiles, matrix) = (front::tiles(loaded), front::matrix(loaded));
    // The figures say the same.
    let folded = (tiles.is_some() || matrix.is_some()) && !sentences.is_empty();
    let cause = Band::of(loaded).cause;
    html! {
        (front::band(loaded))
        @if let Some(tiles) = tiles { (tiles) }
        @if let Some(matrix) = matrix { (matrix) }
        @for sentence in where_lost(loaded) { p.answer { (sentence) } }
        @if folded {
            details { summary { "In words" } @for sentence in &sentences { p { (sentence) } } }
        } @else {
            @for sentence in &sentences[..shown] { p.answer { (sentence) } }
            @if sentences.len() > shown {
                details {
                    summary { (sentences.len() - shown) " more" }
                    @for sentence in &sentences[shown..] { p { (sentence) } }
                }
            }
        }
        (front::reasons_and_notes(loaded, cause.as_deref()))
    }
}

/// Meanings of the goals on the page.
pub(super) fn terms(loaded: &Loaded) -> Option<Markup> {
    let mut defined: Vec<(String, &str)> = Vec::new();
    for goal in loaded.findings.iter().map(|finding| finding.goal.as_str()) {
        let definition =
            words::definition(goal).map(|definition| (words::name(words::plain(goal)), definition));
        defined.extend(definition.filter(|definition| !defined.contains(definition)));
    }
    (!defined.is_empty()).then(|| {
        html! { ul { @for (name, definition) in &defined { li { strong { (name) } ": " (definition) "." } } } }
    })
}

fn sentences(loaded: &Loaded) -> Vec<String> {
    let summaries = loaded.method_results.iter().flat_map(|result| result.summary.iter().cloned());
    let summaries: Vec<String> = summaries.collect();
    if !summaries.is_empty() {
        return summaries;
    }
    if !loaded.findings.is_empty() {
        return loaded.findings.iter().map(words::sentence).collect();
    }
    match &loaded.trials[..] {
        [] => vec!["No finished trials.".to_owned()],
        [trial] => of_trial(trial),
        trials => {
            vec![format!("{} finished trials, no findings.", trials.len())]
        }
    }
}

/// Places named in the summary.
const PLACES_MAX: usize = 3;

/// Where most was lost, by the counters of the devices along the path: the place in most trials first, with the trial that
/// lost most there and the counter or the rule that shows it.
fn where_lost(loaded: &Loaded) -> Vec<String> {
    struct Place<'a> {
        hop: &'a str,
        trials: usize,
        most: u64,
        trial: u32,
        sentence: &'a str,
    }
    let mut places: Vec<Place<'_>> = Vec::new();
    let mut read = 0;
    for (trial, result) in loaded.trials.iter().zip(&loaded.results) {
        if !result["path"].is_object() {
            continue;
        }
        read += 1;
        let weakest = &result["path"]["weakest"];
        let (Some(hop), Some(sentence)) = (weakest["hop"].as_str(), weakest["sentence"].as_str()) else {
            continue;
        };
        let lost = weakest["lost"].as_u64().unwrap_or(0);
        match places.iter_mut().find(|place| place.hop == hop) {
            Some(place) => {
                place.trials += 1;
                if lost > place.most {
                    (place.most, place.trial, place.sentence) = (lost, trial.ordinal, sentence);
                }
            }
            None => places.push(Place { hop, trials: 1, most: lost, trial: trial.ordinal, sentence }),
        }
    }
    places.sort_by_key(|place| std::cmp::Reverse(place.trials));
    let said = |place: &Place<'_>| match read {
        1 => place.sentence.to_owned(),
        _ => format!(
            "{} lost most in {} of {read} trials. Trial {}: {}",
            place.hop, place.trials, place.trial, place.sentence
        ),
    };
    places.iter().take(PLACES_MAX).map(said).collect()
}

fn of_trial(trial: &TrialRow) -> Vec<String> {
    let f = &trial.figures;
    let mut all = Vec::new();
    if let (Some(tx), Some(offered)) = (f.tx.filter(|tx| *tx > 0.0), f.offered_pps) {
        let during = f.duration_s.map_or_else(String::new, |s| format!(" for {}", quantity(s, "s")));
        all.push(format!("{} packets were sent, at {}{during}.", count(tx), quantity(offered, "pps")));
    }
    match (f.lost, f.loss_ratio) {
        (Some(0.0), _) => all.push("No packet was lost: the frame loss rate is zero.".into()),
        (Some(lost), Some(ratio)) => all.push(format!(
            "{} packets were lost: a frame loss rate of {} (RFC 1242 section 3.6).",
            count(lost),
            percent(ratio)
        )),
        _ => {}
    }
    if let (Some(p50), Some(p99), Some(max)) = (f.latency_p50_ns, f.latency_p99_ns, f.latency_max_ns) {
        let [p50, p99, max] = [p50, p99, max].map(|ns| quantity(ns, "ns"));
        all.push(format!("One-way delay: {p50} median, {p99} for 99% of the packets, {max} at most."));
    }
    if let Some(attempted) = f.sessions_attempted {
        let part =
            |n: f64| format!("{} ({})", count(n), percent(if attempted > 0.0 { n / attempted } else { 0.0 }));
        let mut text = format!("Of {} sessions attempted", count(attempted));
        let parts = [
            (f.sessions_established, "were established"),
            (f.sessions_completed, "completed"),
            (f.sessions_failed, "failed"),
        ];
        let parts: Vec<String> =
            parts.into_iter().filter_map(|(n, word)| Some(format!("{} {word}", part(n?)))).collect();
        text += &if parts.is_empty() { String::new() } else { format!(", {}", parts.join(", ")) };
        all.push(text + ".");
    }
    if all.is_empty() {
        all.push("Nothing was measured.".to_owned());
    }
    all
}

/// The verdict in a sentence, and its mood.
pub(super) fn headline(loaded: &Loaded) -> (Mood, String) {
    let trials: Vec<&TrialRow> = loaded.trials.iter().filter(|trial| trial.counts()).collect();
    let total = trials.len();
    let invalid = trials.iter().filter(|trial| !trial.valid).count();
    let limited = trials.iter().filter(|trial| trial.generator_limited).count();
    let disturbed = trials.iter().filter(|trial| trial.valid && trial.disturbed).count();
    let unfinished = loaded.campaign.state != State::Done;
    match (total, invalid, limited) {
        (1, 0, 0) if disturbed > 0 => (Mood::Warn, "Valid, but the tester was disturbed.".into()),
        (_, 0, 0) if disturbed > 0 => (
            Mood::Warn,
            format!("All {total} trials are valid; in {disturbed} of them the tester was disturbed."),
        ),
        (0, _, _) => (Mood::Bad, "No results yet.".into()),
        (1, 1, _) => (Mood::Bad, "Not valid: do not use these figures.".into()),
        (1, _, 1) => (Mood::Warn, "Valid, but the tester was the limit: the device may do more.".into()),
        (1, _, _) if unfinished => (Mood::Warn, "Valid as far as it went.".into()),
        (1, _, _) => (Mood::Good, "Valid.".into()),
        (_, 0, 0) if unfinished => (Mood::Warn, format!("All {total} trials so far are valid.")),
        (_, 0, 0) => (Mood::Good, format!("All {total} trials are valid.")),
        (_, 0, _) => (
            Mood::Warn,
            format!("All {total} trials are valid; in {limited} of them the tester was the limit."),
        ),
        _ if invalid == total => (Mood::Bad, format!("None of the {total} trials is valid.")),
        _ => (Mood::Warn, format!("{invalid} of {total} trials are not valid and do not count.")),
    }
}

pub(super) fn state_notes(loaded: &Loaded) -> Vec<String> {
    let campaign = &loaded.campaign;
    let mut notes = Vec::new();
    match campaign.state {
        State::Done => {}
        State::Running => {
            notes.push("The campaign is still running; these are its results so far.".to_owned())
        }
        State::Interrupted => notes.push("It was interrupted.".to_owned()),
        State::Failed => notes.push(match &campaign.reason {
            Some(reason) => format!("It failed: {reason}"),
            None => "It failed.".to_owned(),
        }),
    }
    notes
}

/// A reason and the trials that have it.
pub(super) struct Reason<'a> {
    kind: String,
    pub(super) reason: &'a str,
    pub(super) trials: Vec<u32>,
    /// Whether its figures are not the same everywhere.
    differs: bool,
}

/// Reasons and the trials that have them, in order of appearance. Those that differ in figures only are one: the first
/// stands for all.
pub(super) fn reasons(trials: &[TrialRow]) -> Vec<Reason<'_>> {
    let mut all: Vec<Reason<'_>> = Vec::new();
    for trial in trials {
        for reason in &trial.reasons {
            let kind = without_figures(reason);
            let Some(known) = all.iter_mut().find(|known| known.kind == kind) else {
                all.push(Reason { kind, reason, trials: vec![trial.ordinal], differs: false });
                continue;
            };
            known.differs |= known.reason != reason;
            if known.trials.last() != Some(&trial.ordinal) {
                known.trials.push(trial.ordinal);
            }
        }
    }
    all
}

/// A sentence without its figures.
fn without_figures(sentence: &str) -> String {
    sentence.chars().filter(|c| !c.is_ascii_digit()).collect()
}

impl Reason<'_> {
    /// Which trials have it.
    pub(super) fn in_trials(&self) -> String {
        let numbers = &self.trials;
        let shown: Vec<String> = numbers.iter().take(10).map(u32::to_string).collect();
        let more = numbers.len().saturating_sub(shown.len());
        let word = if numbers.len() == 1 { "trial" } else { "trials" };
        let first = if self.differs { "; figures are the first one's" } else { "" };
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{word} {}{rest}{first}", shown.join(", "))
    }
}
