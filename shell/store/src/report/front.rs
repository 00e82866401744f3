//! The first screen: whether it passed, with one cause and one remedy, the figures that matter, large, and a table of frame
//! lengths by figures.

use super::answer::{Mood, Reason, headline, reasons, state_notes};
use super::tables::{Column, table};
use super::words;
use crate::{Finding, Loaded, State, percent, quantity};
use maud::{Markup, html};
use methods::{MethodResult, Status};
use result::{CriterionResult, Outcome, Overall, ResultDocument, Standing};
use units::whole as count;

/// Large figures, at most.
const TILES_MAX: usize = 6;
/// Rows of the table of frame lengths.
const ROWS_MAX: usize = 32;
/// Criteria listed in the band; all are in their table.
const CRITERIA_MAX: usize = 6;

/// Outcome, in words.
pub(super) struct Band {
    pub(super) mood: Mood,
    pub(super) word: &'static str,
    pub(super) cause: Option<String>,
    pub(super) remedy: Option<String>,
}

impl Band {
    fn new(mood: Mood, word: &'static str, cause: Option<String>, remedy: Option<&str>) -> Self {
        Self { mood, word, cause, remedy: remedy.map(str::to_owned) }
    }

    /// For a single run, decided by its criteria. For a method: whether it found a result.
    pub(super) fn of(loaded: &Loaded) -> Self {
        match loaded.only().filter(|_| loaded.method_results.is_empty()) {
            Some(document) => Self::of_run(loaded, &document),
            None => Self::of_campaign(loaded),
        }
    }

    fn of_run(loaded: &Loaded, document: &ResultDocument) -> Self {
        if let (State::Failed, reason) = (loaded.campaign.state, &loaded.campaign.reason) {
            return Self::new(Mood::Bad, FAILED, reason.clone(), None);
        }
        let overall = document.overall.clone().unwrap_or_else(|| document.decide());
        let (mood, word) = match overall.overall() {
            Overall::Passed => (Mood::Good, PASSED),
            Overall::Failed => (Mood::Bad, FAILED),
            Overall::CannotJudge => (Mood::Warn, CANNOT_JUDGE),
        };
        Self { mood, word, cause: overall.reason.map(without_stop), remedy: overall.remedy.map(without_stop) }
    }

    fn of_campaign(loaded: &Loaded) -> Self {
        let typed: Vec<MethodResult> = loaded.method_results.iter().filter_map(|r| r.typed().ok()).collect();
        let fault = typed.iter().find_map(|result| match &result.status {
            Status::Failed(fault) => Some(fault.sentence.clone()),
            _ => None,
        });
        if loaded.campaign.state == State::Failed || fault.is_some() {
            let cause = fault.or_else(|| loaded.campaign.reason.clone()).map(without_stop);
            return Self::new(Mood::Bad, FAILED, cause, None);
        }
        let total = loaded.trials.iter().filter(|trial| trial.counts()).count();
        if total == 0 {
            return Self::new(Mood::Warn, CANNOT_JUDGE, Some("no trial has ended".to_owned()), None);
        }
        let reasons = reasons(&loaded.trials);
        let most = reasons
            .iter()
            .max_by_key(|reason| reason.trials.len())
            .map(|r| without_stop(r.reason.to_owned()));
        let limited = loaded.trials.iter().any(|trial| trial.generator_limited);
        let remedy = if limited { STRONGER } else { QUIETER };
        if let Some(failed) = typed.iter().find(|result| result.findings.has_failed()) {
            return Self::new(Mood::Bad, FAILED, failed.summary.first().cloned().map(without_stop), None);
        }
        let not_met = loaded
            .documents()
            .iter()
            .flat_map(|d| d.criteria.clone())
            .filter(|c| c.outcome() == Outcome::NotMet)
            .count();
        if not_met > 0 && typed.is_empty() {
            return Self::new(Mood::Bad, FAILED, Some(format!("criteria not met: {not_met}")), None);
        }
        let (mood, sentence) = headline(loaded);
        if typed.iter().any(|result| result.findings.is_unjudged()) || mood == Mood::Bad {
            let cause = most.unwrap_or_else(|| without_stop(sentence));
            return Self::new(Mood::Warn, CANNOT_JUDGE, Some(cause), Some(remedy));
        }
        if !typed.is_empty() && typed.iter().all(|result| result.findings.nothing_found()) {
            let note = loaded.findings.iter().find_map(|finding| finding.note.clone()).or(most);
            return Self::new(Mood::Bad, "Nothing found", note.map(without_stop), None);
        }
        if loaded.campaign.state != State::Done {
            return Self::new(Mood::Warn, "Not complete", Some(without_stop(sentence)), None);
        }
        match mood {
            Mood::Good => Self::new(Mood::Good, if judges(&typed) { PASSED } else { "Measured" }, None, None),
            _ => Self::new(Mood::Warn, "Measured, with doubt", Some(without_stop(sentence)), Some(remedy)),
        }
    }
}

const PASSED: &str = "Passed";
const FAILED: &str = "Failed";
const CANNOT_JUDGE: &str = "Can't be judged here";
const STRONGER: &str = "use more cores (--cores) or a lower load, so that the tester is not the limit";
const QUIETER: &str = "repeat it on a machine with fewer disturbances ('eagre doctor' lists them), or with '--on-disturbed repeat'";

/// Whether the methods judge what was agreed, and do not only measure.
fn judges(typed: &[MethodResult]) -> bool {
    !typed.is_empty() && typed.iter().all(|result| !result.findings.services().is_empty())
}

fn without_stop(text: String) -> String {
    text.trim_end_matches('.').to_owned()
}

/// The band on top, with the criteria of a run.
pub(super) fn band(loaded: &Loaded) -> Markup {
    let band = Band::of(loaded);
    let ResultDocument { criteria, .. } = loaded.only().unwrap_or_default();
    let (mood, mut headline) = headline(loaded);
    if band.mood == Mood::Good && mood == Mood::Bad {
        headline =
            "The tester was disturbed, but the requirements are met; other figures may not hold.".to_owned();
    }
    let state = state_notes(loaded);
    let sign = match band.mood {
        Mood::Good => "✓",
        Mood::Warn => "?",
        Mood::Bad => "✕",
    };
    html! {
        div class=(format!("verdict {}", band.mood.class())) role="note" {
            p.band { strong { (sign) " " (band.word) } @if let Some(cause) = &band.cause { ": " (cause) } "." }
            @if let Some(remedy) = &band.remedy { p { "To judge it: " (remedy) "." } }
            p { (headline) @for note in &state { " " (note) } }
            @if !criteria.is_empty() {
                p { (criteria_met(&criteria)) @if criteria.len() > CRITERIA_MAX { " " a href="#criteria" { "All pass criteria" } } }
                ul.plain { @for one in criteria.iter().take(CRITERIA_MAX) { li { (criterion(one)) } } }
            }
        }
    }
}

fn criterion(one: &CriterionResult) -> Markup {
    let (class, word) = outcome(one);
    html! {
        span class=(class) { (word) } ": " code { (one.path) " " (one.bound) }
        @match one.value { Some(value) => { ", was " (words::measured(&one.path, value)) }, None => ", was not measured" }
    }
}

/// Outcome of a criterion: a class of the style sheet, and a word with its sign.
pub(super) fn outcome(one: &CriterionResult) -> (&'static str, &'static str) {
    match one.outcome() {
        Outcome::Met => ("good", "✓ met"),
        Outcome::NotMet => ("bad", "✕ not met"),
        Outcome::CannotJudge => ("warn", "? can't be judged"),
    }
}

/// `1 of 3 pass criteria is not met; 1 can't be judged.`
pub(super) fn criteria_met(criteria: &[CriterionResult]) -> String {
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

/// Reasons and notes, each under its own name, folded: none of them is the other.
pub(super) fn reasons_and_notes(loaded: &Loaded, cause: Option<&str>) -> Markup {
    let reasons = reasons(&loaded.trials);
    let reasons: Vec<&Reason<'_>> =
        reasons.iter().filter(|r| Some(r.reason.trim_end_matches('.')) != cause).collect();
    let ResultDocument { verdict, .. } = loaded.only().unwrap_or_default();
    let mut remarks: Vec<&String> = Vec::new();
    for remark in loaded.method_results.iter().flat_map(|result| &result.remarks) {
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }
    let folded = |title: String, items: Vec<Markup>| {
        html! { @if !items.is_empty() { details { summary { (title) } ul { @for item in &items { li { (item) } } } } } }
    };
    let several = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    let of_trials = loaded.trials.len() > 1;
    let why = |reason: &&Reason<'_>| {
        html! { (reason.reason) @if of_trials { " " span.soft { "(" (reason.in_trials()) ")" } } }
    };
    let text = |text: &&String| html! { (text) };
    html! {
        (folded(several(reasons.len(), "reason") + " for doubt in trials", reasons.iter().map(why).collect()))
        (folded(several(verdict.notes.len(), "note"), verdict.notes.iter().map(|note| text(&note)).collect()))
        (folded(several(remarks.len(), "remark") + " on the method", remarks.iter().map(text).collect()))
    }
}

/// A large figure.
struct Tile {
    name: String,
    value: String,
    more: Option<String>,
}

/// The figures that matter, large, with their bounds.
pub(super) fn tiles(loaded: &Loaded) -> Option<Markup> {
    let tiles = match loaded.only() {
        Some(document) if loaded.findings.is_empty() => of_run(loaded, &document),
        _ => of_findings(&loaded.findings),
    };
    let drawn = &tiles[..tiles.len().min(TILES_MAX)];
    (!drawn.is_empty()).then(|| {
        html! {
            dl.tiles {
                @for tile in drawn {
                    div {
                        dt { (tile.name) }
                        dd { (tile.value) @if let Some(more) = &tile.more { small { (more) } } }
                    }
                }
            }
        }
    })
}

/// Confidence in the figure at a path of any stream or entry, if it does not hold.
fn doubt<'a>(
    document: &ResultDocument,
    mut names: impl Iterator<Item = &'a String>,
    of: &str,
    unit: &str,
) -> Option<String> {
    names.find_map(|name| match document.standing(&of.replace('*', name)) {
        Standing::Holds { .. } => None,
        Standing::Bounds { lower, upper, .. } => bounds(lower, upper, unit),
        Standing::CannotJudge(_) => Some("can't be judged".to_owned()),
    })
}

fn bounds(lower: Option<f64>, upper: Option<f64>, unit: &str) -> Option<String> {
    let at = |value| quantity(value, unit);
    match (lower, upper) {
        (Some(lower), Some(upper)) if lower < upper => {
            Some(format!("between {} and {}", at(lower), at(upper)))
        }
        (Some(lower), None) => Some(format!("at least {}", at(lower))),
        (None, Some(upper)) => Some(format!("at most {}", at(upper))),
        _ => None,
    }
}

fn of_run(loaded: &Loaded, document: &ResultDocument) -> Vec<Tile> {
    let [trial] = &loaded.trials[..] else { return Vec::new() };
    let f = &trial.figures;
    let mut tiles = Vec::new();
    let mut add = |name: &str, value: Option<String>, more: Option<String>| {
        tiles.extend(value.map(|value| Tile { name: name.to_owned(), value, more }));
    };
    let part =
        |n: Option<f64>, of: Option<f64>, word: &str| Some(format!("{} of {} {word}", count(n?), count(of?)));
    let only = document.streams.len() == 1;
    let held = |of: &str, unit| doubt(document, document.streams.keys(), of, unit);
    if !document.streams.is_empty() {
        add("Sent", f.offered_pps.map(|v| quantity(v, "pps")), f.tx.map(|n| format!("{} packets", count(n))));
        let lost = held("streams.*.lost", "").filter(|_| only);
        add("Lost", f.loss_ratio.map(percent), lost.or_else(|| part(f.lost, f.tx, "packets")));
        let latency = held("streams.*.latency_ns.p99", "ns");
        let of_streams = || (!only).then(|| "largest of the streams'".to_owned());
        for (name, value) in [
            ("Latency, median", f.latency_p50_ns),
            ("Latency, 99%", f.latency_p99_ns),
            ("Latency, longest", f.latency_max_ns),
        ] {
            add(name, value.map(|ns| quantity(ns, "ns")), latency.clone().or_else(of_streams));
        }
    }
    if !document.sessions.is_empty() {
        let held = |of: &str, unit| doubt(document, document.sessions.keys(), of, unit);
        let share = f
            .sessions_completed
            .zip(f.sessions_attempted.filter(|n| *n > 0.0))
            .map(|(n, of)| percent(n / of));
        add("Sessions completed", share, part(f.sessions_completed, f.sessions_attempted, "sessions"));
        add(
            "Opened",
            f.open_per_s.map(|v| quantity(v, "/s")),
            f.sessions_active_max.map(|n| format!("{} open at most", count(n))),
        );
        add("Goodput", f.goodput_bps.map(|v| quantity(v, "bps")), None);
        for (name, value, of) in [
            ("Set-up, 99%", f.setup_p99_ns, "sessions.*.setup_ns.p99"),
            ("First byte, 99%", f.ttfb_p99_ns, "sessions.*.ttfb_ns.p99"),
            ("Last byte, 99%", f.ttlb_p99_ns, "sessions.*.ttlb_ns.p99"),
        ] {
            add(name, value.map(|ns| quantity(ns, "ns")), held(of, "ns"));
        }
    }
    tiles
}

/// Whether a goal is one of many alike, as the loss at each load is.
fn is_detail(finding: &Finding) -> bool {
    finding.goal.contains(" at ")
}

/// Goals that a first look needs: rates, then times – median and 99% if there are such –, then counts and shares.
fn main_goals(findings: &[Finding]) -> Vec<(&str, &str)> {
    let mut all: Vec<(&str, &str)> = Vec::new();
    for finding in findings.iter().filter(|finding| finding.value.is_some() && !is_detail(finding)) {
        let goal = (finding.goal.as_str(), finding.unit.as_str());
        if !all.contains(&goal) {
            all.push(goal);
        }
    }
    let is_time = |unit: &str| matches!(unit, "ns" | "s");
    let quantiles = |goal: &str| goal.ends_with("_p50") || goal.ends_with("_p99");
    let has_quantiles = all.iter().any(|(goal, unit)| is_time(unit) && quantiles(goal));
    let wanted = |(goal, unit): &(&str, &str)| !has_quantiles || *unit != "ns" || quantiles(goal);
    let rank = |unit: &str| match unit {
        "pps" | "bps" | "/s" | "sessions" => 0,
        "ns" => 1,
        "frames" | "" => 2,
        "s" => 3,
        _ => 4,
    };
    all.retain(wanted);
    all.sort_by_key(|(_, unit)| rank(unit));
    all
}

/// A value's share of the line rate, and between which bounds it lies.
fn about(finding: &Finding) -> Vec<String> {
    let value = finding.value.unwrap_or_default();
    let line = finding
        .line
        .filter(|line| *line > 0.0)
        .map(|line| format!("{} of the line rate", percent(value / line)));
    let at = |value| quantity(value, &finding.unit);
    let bounds =
        match (finding.lower.filter(|lower| *lower < value), finding.upper.filter(|upper| *upper > value)) {
            (Some(lower), Some(upper)) => Some(format!("between {} and {}", at(lower), at(upper))),
            (None, Some(upper)) => Some(format!("below {}", at(upper))),
            (Some(lower), None) => Some(format!("at least {}", at(lower))),
            (None, None) => {
                finding.spread.filter(|spread| *spread > 0.0).map(|spread| format!("± {}", at(2.0 * spread)))
            }
        };
    line.into_iter().chain(bounds).collect()
}

/// A figure of each main goal: the worst of all frame lengths, and of the first goal the best, too.
fn of_findings(findings: &[Finding]) -> Vec<Tile> {
    let mut tiles = Vec::new();
    for (number, (goal, unit)) in main_goals(findings).into_iter().enumerate() {
        let mut own: Vec<&Finding> =
            findings.iter().filter(|f| f.goal == goal && f.unit == unit && f.value.is_some()).collect();
        let more_is_worse = matches!(unit, "ns" | "s");
        own.sort_by(|a, b| a.value.unwrap_or(0.0).total_cmp(&b.value.unwrap_or(0.0)));
        if more_is_worse {
            own.reverse();
        }
        let shown = match &own[..] {
            [first, .., last] if number == 0 => vec![*first, *last],
            [first, ..] => vec![*first],
            [] => Vec::new(),
        };
        for finding in shown {
            let of = if finding.frame.is_empty() { String::new() } else { format!(", {}", finding.frame) };
            let more = about(finding);
            tiles.push(Tile {
                name: format!("{}{of}", words::name(goal)),
                value: quantity(finding.value.unwrap_or_default(), unit),
                more: (!more.is_empty()).then(|| more.join(", ")),
            });
        }
    }
    tiles
}

/// Frame lengths by figures, as reports of RFC 2544 have always had it; `None` without rates or times at frame lengths.
pub(super) fn matrix(loaded: &Loaded) -> Option<Markup> {
    let findings = &loaded.findings[..];
    let goals = main_goals(findings);
    let mut frames: Vec<&str> = Vec::new();
    for finding in findings.iter().filter(|finding| !finding.frame.is_empty() && !is_detail(finding)) {
        if !frames.contains(&finding.frame.as_str()) {
            frames.push(&finding.frame);
        }
    }
    frames.truncate(ROWS_MAX);
    if goals.len() < 2 && frames.len() < 2 {
        return None;
    }
    let find = |frame: &str, goal: (&str, &str)| {
        findings.iter().find(|f| f.frame == frame && (f.goal.as_str(), f.unit.as_str()) == goal)
    };
    let mut columns = vec![Column::text(first_column(findings), &frames, |frame| Some((*frame).to_owned()))];
    for goal in goals {
        let cells = frames.iter().map(|frame| {
            let finding = find(frame, goal)?;
            let value = finding.value;
            let bounds: Vec<String> =
                about(finding).into_iter().filter(|text| !text.ends_with("line rate")).collect();
            Some(html! {
                @match value { Some(value) => (quantity(value, &finding.unit)), None => span.bad { "none" } }
                @if value.is_some() && !bounds.is_empty() { small { (bounds.join(", ")) } }
                @if finding.doubt.is_some() { small.warn { "in doubt" } }
            })
        });
        columns.push(Column { head: words::name(goal.0), is_text: false, cells: cells.collect() });
        columns.push(Column::new("of line rate", &frames, |frame| {
            let finding = find(frame, goal)?;
            Some(percent(finding.value? / finding.line.filter(|line| *line > 0.0)?))
        }));
    }
    table("Findings; bounds below each value", &columns)
}

/// Kind of the rows of findings: frame lengths, or other items that a method tested one by one.
pub(super) fn first_column(findings: &[Finding]) -> &'static str {
    let is_mix = |frame: &str| frame.to_ascii_lowercase().contains("imix");
    match findings.iter().any(|finding| finding.frame_bytes.is_some() || is_mix(&finding.frame)) {
        true => "frames",
        false => "what",
    }
}
