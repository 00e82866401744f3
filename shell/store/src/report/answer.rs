//! What a reader wants to know first: the answer in plain words, and whether to believe it.

use super::words;
use crate::{Loaded, State, TrialRow, percent, quantity};
use maud::{Markup, html};
use result::{CriterionResult, Outcome, Overall, OverallResult, ResultDocument};
use units::whole as count;

/// Sentences more than these are in the table only.
const SENTENCES_MAX: usize = 8;

/// How good the news is.
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

pub(super) fn answer(loaded: &Loaded) -> Markup {
    let sentences = sentences(loaded);
    let goals: Vec<&str> = loaded.findings.iter().map(|finding| finding.goal.as_str()).collect();
    let mut defined: Vec<(String, &str)> = Vec::new();
    for goal in goals {
        let definition =
            words::definition(goal).map(|definition| (words::name(words::plain(goal)), definition));
        defined.extend(definition.filter(|definition| !defined.contains(definition)));
    }
    html! {
        (verdict(loaded))
        @for sentence in sentences.iter().take(SENTENCES_MAX) { p.answer { (sentence) } }
        @for sentence in where_lost(loaded) { p.answer { (sentence) } }
        @if sentences.len() > SENTENCES_MAX {
            p.soft { "… and " (sentences.len() - SENTENCES_MAX) " more in the tables below." }
        }
        @if !defined.is_empty() {
            ul.soft { @for (name, definition) in &defined { li { strong { (name) } ": " (definition) "." } } }
        }
    }
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

/// The band on top: whether what was asked holds, with one cause and one remedy; below it the verdict with its reasons, and
/// notes last.
pub(super) fn verdict(loaded: &Loaded) -> Markup {
    let (mut mood, headline) = headline(loaded);
    let failed = failed_criteria(loaded);
    // A method asks for more than a device can do, and says what it found.
    let ResultDocument { achieved, verdict, overall, criteria, .. } = loaded.only().unwrap_or_default();
    if failed > 0 || achieved.as_ref().is_some_and(|achieved| !achieved.success) {
        mood = Mood::Bad;
    }
    let band = overall.as_ref().map(band);
    if let Some(band) = &band {
        mood = band.mood;
    }
    let summary = achieved.as_ref().map(|achieved| achieved.summary.as_str());
    let summary = summary.filter(|summary| band.as_ref().is_none_or(|band| band.cause != Some(*summary)));
    let reasons = reasons(&loaded.trials);
    let cause = band.as_ref().and_then(|band| band.cause);
    let reasons: Vec<&Shared<'_>> = reasons.iter().filter(|shared| Some(shared.reason) != cause).collect();
    let remarks: Vec<&String> = loaded.method_results.iter().flat_map(|result| &result.remarks).collect();
    let state = state_notes(loaded);
    html! {
        div class=(format!("verdict {}", mood.class())) role="note" {
            @if let Some(band) = &band {
                p.band { strong { (band.word) } @if let Some(cause) = band.cause { ": " (cause) } "." }
                @if let Some(remedy) = band.remedy { p { "To judge it: " (remedy) "." } }
            }
            @if let Some(summary) = summary { p { (summary) "." } }
            p { (headline) }
            @if !criteria.is_empty() {
                p { (criteria_met(&criteria)) " " a href="#criteria" { "Pass criteria" } }
            }
            @let has_items = !(state.is_empty() && verdict.notes.is_empty() && remarks.is_empty() && reasons.is_empty());
            @if has_items { ul {
                @for note in &state { li { (note) } }
                @for shared in &reasons {
                    li { (shared.reason) @if loaded.trials.len() > 1 { " " span.soft { "(" (in_trials(shared)) ")" } } }
                }
                @for remark in &remarks { li { (remark) } }
                @for note in &verdict.notes { li.soft { "Note: " (note) } }
            } }
        }
    }
}

/// Whether what was asked holds, in words.
struct Band<'a> {
    mood: Mood,
    word: &'static str,
    cause: Option<&'a str>,
    remedy: Option<&'a str>,
}

fn band(overall: &OverallResult) -> Band<'_> {
    let (mood, word) = match overall.overall() {
        Overall::Passed => (Mood::Good, "Passed"),
        Overall::Failed => (Mood::Bad, "Failed"),
        Overall::CannotJudge => (Mood::Warn, "Can't be judged here"),
    };
    Band { mood, word, cause: overall.reason.as_deref(), remedy: overall.remedy.as_deref() }
}

/// `1 of 3 criteria is not met; 1 can't be judged.`
fn criteria_met(criteria: &[CriterionResult]) -> String {
    let with = |outcome| criteria.iter().filter(|criterion| criterion.outcome() == outcome).count();
    let (not_met, unknown, all) = (with(Outcome::NotMet), with(Outcome::CannotJudge), criteria.len());
    let verb = |n: usize| if n == 1 { "is" } else { "are" };
    let word = if all == 1 { "criterion" } else { "criteria" };
    match (not_met, unknown) {
        (0, 0) => format!("{all} of {all} pass {word} {} met.", verb(all)),
        (0, n) => format!("{n} of {all} pass {word} can't be judged."),
        (n, 0) => format!("{n} of {all} pass {word} {} not met.", verb(n)),
        (n, more) => format!("{n} of {all} pass {word} {} not met; {more} can't be judged.", verb(n)),
    }
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

/// Conditions the profile set that did not hold in its run. A method asks for more than a device can do.
fn failed_criteria(loaded: &Loaded) -> usize {
    let document = loaded.only().unwrap_or_default();
    document.criteria.iter().filter(|criterion| criterion.outcome() == Outcome::NotMet).count()
}

fn state_notes(loaded: &Loaded) -> Vec<String> {
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
struct Shared<'a> {
    kind: String,
    reason: &'a str,
    trials: Vec<u32>,
    /// Whether its figures are not the same everywhere.
    differs: bool,
}

/// Reasons and the trials that have them, in order of appearance. Those that differ in figures only are one: the first
/// stands for all.
fn reasons(trials: &[TrialRow]) -> Vec<Shared<'_>> {
    let mut all: Vec<Shared<'_>> = Vec::new();
    for trial in trials {
        for reason in &trial.reasons {
            let kind = without_figures(reason);
            let Some(known) = all.iter_mut().find(|known| known.kind == kind) else {
                all.push(Shared { kind, reason, trials: vec![trial.ordinal], differs: false });
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

fn in_trials(shared: &Shared<'_>) -> String {
    let numbers = &shared.trials;
    let shown: Vec<String> = numbers.iter().take(10).map(u32::to_string).collect();
    let more = numbers.len().saturating_sub(shown.len());
    let word = if numbers.len() == 1 { "trial" } else { "trials" };
    let first = if shared.differs { "; figures are the first one's" } else { "" };
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{word} {}{rest}{first}", shown.join(", "))
}
