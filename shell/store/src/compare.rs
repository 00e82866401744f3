//! Several campaigns side by side.
//!
//! A difference is beyond the noise if the intervals of both sides do not overlap. A finding's interval reaches from
//! the largest value that was reached to the smallest that was not, by all trials, and covers two standard deviations
//! of its repeats either way. Where a side has neither, the difference is not judged.

use crate::figures::Figures;
use crate::{Finding, Loaded, Summary, TrialRow};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Campaigns side by side; the first is what the others are compared with.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Comparison {
    /// The campaigns, in the requested order.
    pub campaigns: Vec<Summary>,
    /// A row for each frame length and goal that any of them has.
    pub rows: Vec<ComparisonRow>,
    /// Display names: the campaigns' names, with a distinguishing addition where those are alike.
    #[serde(default)]
    pub names: Vec<String>,
    /// Which is faster than the first, and how sure that is: a sentence for each of the others.
    #[serde(default)]
    pub sentences: Vec<String>,
}

/// A frame length and a goal.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ComparisonRow {
    /// Frame length or mix.
    pub frame: String,
    /// Goal.
    pub goal: String,
    /// Unit of the values.
    pub unit: String,
    /// A cell for each campaign; `None` if it has no such finding.
    pub cells: Vec<Option<Cell>>,
}

/// Finding of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ComparisonCell")]
pub struct Cell {
    /// The value; `None` if the method found none.
    pub value: Option<f64>,
    /// Uncertainty either way.
    pub noise: Option<f64>,
    /// Where its interval begins; absent if it has none, or no such end.
    #[serde(default)]
    pub lower: Option<f64>,
    /// Where its interval ends.
    #[serde(default)]
    pub upper: Option<f64>,
    /// Why the value is not certain: trials that contradict it.
    #[serde(default)]
    pub doubt: Option<String>,
    /// Compared with the first campaign; `None` for itself, and where one of the two is missing.
    pub difference: Option<Difference>,
}

/// Distance of a value from that of the first campaign.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// (value − first) / first; `None` if the first is zero and this is not.
    pub ratio: Option<f64>,
    /// Whether it is more than noise, because the intervals do not overlap; `None` if one has no interval.
    pub beyond_noise: Option<bool>,
    /// Distance of the intervals, as a share of the first's nearer end; absent where they overlap.
    #[serde(default)]
    pub at_least: Option<f64>,
}

/// One goal at one frame length, by two tags: routers down, configurations across.
#[derive(Debug, Clone, Serialize)]
pub struct Matrix {
    /// Frame length or mix.
    pub frame: String,
    /// Goal.
    pub goal: String,
    /// Unit of the values.
    pub unit: String,
    /// Names of the rows.
    pub rows: Vec<String>,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// By row and column: the newest campaign's value.
    pub cells: Vec<Vec<Option<Cell>>>,
}

/// Puts campaigns side by side.
pub fn compare(campaigns: &[Loaded]) -> Comparison {
    let answers: Vec<Vec<Finding>> =
        campaigns.iter().map(|loaded| answers(&loaded.findings, &loaded.trials)).collect();
    let mut rows: Vec<ComparisonRow> = Vec::new();
    for f in answers.iter().flatten() {
        let is_there =
            |row: &ComparisonRow| (&row.frame, &row.goal, &row.unit) == (&f.frame, &f.goal, &f.unit);
        if !rows.iter().any(is_there) {
            let (frame, goal, unit) = (f.frame.clone(), f.goal.clone(), f.unit.clone());
            rows.push(ComparisonRow { frame, goal, unit, cells: Vec::new() });
        }
    }
    for row in &mut rows {
        let of = |all: &Vec<Finding>| {
            let fits = |f: &&Finding| (&f.frame, &f.goal, &f.unit) == (&row.frame, &row.goal, &row.unit);
            all.iter().find(fits).cloned()
        };
        let found: Vec<Option<Finding>> = answers.iter().map(of).collect();
        let first = found.first().cloned().flatten();
        row.cells = found
            .iter()
            .enumerate()
            .map(|(index, own)| {
                let own = own.as_ref()?;
                let difference =
                    first.as_ref().filter(|_| index > 0).and_then(|first| difference(first, own));
                let (lower, upper) = interval(own).unwrap_or_default();
                let doubt = own.doubt.clone();
                Some(Cell { value: own.value, noise: own.noise(), lower, upper, doubt, difference })
            })
            .collect();
    }
    let names = names(campaigns);
    let sentences = (1..names.len()).map(|index| in_words(&rows, index, &names)).collect();
    Comparison { campaigns: campaigns.iter().map(Loaded::summary).collect(), rows, names, sentences }
}

/// Display names of campaigns: their names; where those are alike, with method and configuration; else with their ids.
fn names(campaigns: &[Loaded]) -> Vec<String> {
    let unique = |names: &[String]| (1..names.len()).all(|n| !names[..n].contains(&names[n]));
    let plain = |(index, loaded): (usize, &Loaded)| match loaded.campaign.name.as_str() {
        "" => format!("run {}", index + 1),
        name => name.to_owned(),
    };
    let short: Vec<String> = campaigns.iter().enumerate().map(plain).collect();
    if unique(&short) {
        return short;
    }
    let with = |more: &dyn Fn(usize, &Loaded) -> String| {
        let all = short.iter().zip(campaigns).enumerate();
        all.map(|(index, (name, loaded))| format!("{name} ({})", more(index, loaded))).collect::<Vec<_>>()
    };
    let described = with(&|_, loaded| {
        let campaign = &loaded.campaign;
        let tags = ["dut", "config"].iter().filter_map(|key| campaign.tag(key));
        std::iter::once(campaign.method.as_str()).chain(tags).collect::<Vec<_>>().join(", ")
    });
    if unique(&described) {
        return described;
    }
    with(&|index, loaded| match loaded.campaign.id.as_str() {
        "" => (index + 1).to_string(),
        id => id.to_owned(),
    })
}

/// Words for a comparison: the word for more, the word for less, and which of both is good.
struct Kind {
    /// Name of the findings.
    plural: &'static str,
    better: &'static str,
    worse: &'static str,
    more_is_better: bool,
}

const RATES: Kind = Kind { plural: "rates", better: "faster", worse: "slower", more_is_better: true };
const TIMES: Kind = Kind { plural: "times", better: "quicker", worse: "less quick", more_is_better: false };
const LOSSES: Kind =
    Kind { plural: "loss ratios", better: "less lossy", worse: "more lossy", more_is_better: false };

/// Whether a row rates a device, and how: offered load does not.
fn is_of(kind: &Kind, row: &ComparisonRow) -> bool {
    let loss = row.goal.contains("loss");
    match row.unit.as_str() {
        "pps" | "bps" | "/s" | "frames" | "sessions" => kind.more_is_better && row.goal != "offered",
        "ns" | "s" => kind.plural == TIMES.plural,
        "ratio" => loss && kind.plural == LOSSES.plural,
        _ => false,
    }
}

/// Findings named in a sentence.
const NAMED_MAX: usize = 4;

/// Which of two campaigns is faster, and how sure that is.
fn in_words(rows: &[ComparisonRow], index: usize, names: &[String]) -> String {
    let all: Vec<String> =
        [RATES, TIMES, LOSSES].iter().filter_map(|kind| of_kind(kind, rows, index, names)).collect();
    if all.is_empty() {
        return format!("{} and {} have no values in common.", names[index], names[0]);
    }
    all.join(" ")
}

fn of_kind(kind: &Kind, rows: &[ComparisonRow], index: usize, names: &[String]) -> Option<String> {
    let (name, first) = (&names[index], &names[0]);
    let (mut better, mut worse, mut same, mut unknown) = (Vec::new(), Vec::new(), 0, 0);
    for row in rows.iter().filter(|row| is_of(kind, row)) {
        let Some(difference) = row.cells[index].as_ref().and_then(|cell| cell.difference) else { continue };
        match (difference.beyond_noise, difference.ratio) {
            (None, _) => unknown += 1,
            (Some(false), _) => same += 1,
            (Some(true), ratio) => {
                let is_more = ratio.is_none_or(|ratio| ratio > 0.0);
                let list = if is_more == kind.more_is_better { &mut better } else { &mut worse };
                list.push(described(row, difference));
            }
        }
    }
    let total = better.len() + worse.len() + same + unknown;
    if total == 0 {
        return None;
    }
    let mut parts = Vec::new();
    for (list, word) in [(&better, kind.better), (&worse, kind.worse)] {
        if list.is_empty() {
            continue;
        }
        let more = list.len().saturating_sub(NAMED_MAX);
        let named = list[..list.len() - more].join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        parts.push(format!(
            "{name} is {word} than {first} in {} of {total} {} ({named}{more})",
            list.len(),
            kind.plural
        ));
    }
    if same > 0 && parts.is_empty() && unknown == 0 {
        let intervals = if same == 1 { "the intervals overlap" } else { "all their intervals overlap" };
        parts.push(format!(
            "no difference shown between {name} and {first} in {same} of {total} {}: {intervals}",
            kind.plural
        ));
    } else if same > 0 {
        parts.push(format!("no difference shown in {same}"));
    }
    if unknown > 0 {
        let which = if parts.is_empty() { format!("{name} against {first}: ") } else { String::new() };
        parts.push(format!(
            "{which}{unknown} of {total} {} can't be distinguished from noise: repeat the trials",
            kind.plural
        ));
    }
    Some(capitalised(&format!("{}.", parts.join("; "))))
}

/// A sentence begins with a capital; a device keeps its name.
fn capitalised(sentence: &str) -> String {
    match sentence.strip_prefix("no ") {
        Some(rest) => format!("No {rest}"),
        None => sentence.to_owned(),
    }
}

/// `64B throughput +62%, at least +60%`.
fn described(row: &ComparisonRow, difference: Difference) -> String {
    let what = [row.frame.as_str(), &row.goal.replace('_', " ")].map(str::to_owned);
    let what: Vec<String> = what.into_iter().filter(|part| !part.is_empty()).collect();
    let signed = |ratio: Option<f64>| ratio.map_or_else(|| "from zero".to_owned(), units::signed_percent);
    let at_least =
        difference.at_least.map_or_else(String::new, |r| format!(", at least {}", units::signed_percent(r)));
    format!("{} {}{at_least}", what.join(" "), signed(difference.ratio))
}

/// Between which values a finding lies; an end that is not known is open. `None` if nothing is known.
fn interval(f: &Finding) -> Option<(Option<f64>, Option<f64>)> {
    let repeats = f.value.zip(f.spread).map(|(value, spread)| (value - 2.0 * spread, value + 2.0 * spread));
    let bounds = Some((f.lower, f.upper))
        .filter(|(lower, upper)| (lower.is_some() || upper.is_some()) && (lower != upper || lower.is_none()));
    match (bounds, repeats) {
        (Some((lower, upper)), Some((low, high))) => {
            Some((lower.map(|lower| lower.min(low)), upper.map(|upper| upper.max(high))))
        }
        (Some(bounds), None) => Some(bounds),
        (None, Some((low, high))) => Some((Some(low), Some(high))),
        (None, None) => None,
    }
}

/// Distance of `own` from `first`, as a share of the nearer end of `first`; `None` if they overlap.
fn apart(first: (Option<f64>, Option<f64>), own: (Option<f64>, Option<f64>)) -> Option<f64> {
    let above = first.1.zip(own.0).filter(|(was, is)| is > was);
    let below = first.0.zip(own.1).filter(|(was, is)| is < was);
    let (was, is) = above.or(below)?;
    Some(if was == 0.0 { 0.0 } else { (is - was) / was.abs() })
}

fn difference(first: &Finding, own: &Finding) -> Option<Difference> {
    let (was, is) = (first.value?, own.value?);
    let ratio = match was {
        0.0 if is == 0.0 => Some(0.0),
        0.0 => None,
        was => Some((is - was) / was),
    };
    let at_least = interval(first).zip(interval(own)).map(|(first, own)| apart(first, own));
    let beyond_noise = at_least.map(|apart| apart.is_some());
    Some(Difference { ratio, beyond_noise, at_least: at_least.flatten().filter(|ratio| *ratio != 0.0) })
}

impl Comparison {
    /// The rows as tables by two tags' values, for the campaigns that have both. Empty if none has.
    pub fn matrices(&self, down: &str, across: &str) -> Vec<Matrix> {
        let value = |summary: &Summary, key: &str| {
            let tag = summary.tags.iter().find_map(|tag| tag.strip_prefix(key)?.strip_prefix('='));
            tag.map(str::to_owned)
        };
        let places: Vec<Option<(String, String)>> =
            self.campaigns.iter().map(|c| value(c, down).zip(value(c, across))).collect();
        let mut rows: Vec<String> = places.iter().flatten().map(|(row, _)| row.clone()).collect();
        let mut columns: Vec<String> = places.iter().flatten().map(|(_, column)| column.clone()).collect();
        for names in [&mut rows, &mut columns] {
            let mut seen = std::collections::BTreeSet::new();
            names.retain(|name| seen.insert(name.clone()));
        }
        if rows.is_empty() {
            return Vec::new();
        }
        // Of several campaigns in one place, the newest that has an answer: methods differ in what they find.
        let newest = |cells: &[Option<Cell>], row: &String, column: &String| {
            let fits = |index: &usize| {
                cells[*index].is_some()
                    && places[*index].as_ref().is_some_and(|(r, c)| (r, c) == (row, column))
            };
            let place = (0..places.len()).filter(fits).max_by_key(|index| &self.campaigns[*index].started);
            place.and_then(|index| cells[index].clone())
        };
        let table = |row: &ComparisonRow| {
            let line =
                |name: &String| columns.iter().map(|column| newest(&row.cells, name, column)).collect();
            Matrix {
                frame: row.frame.clone(),
                goal: row.goal.clone(),
                unit: row.unit.clone(),
                rows: rows.clone(),
                columns: columns.clone(),
                cells: rows.iter().map(line).collect(),
            }
        };
        self.rows.iter().map(table).collect()
    }
}

impl Loaded {
    /// The campaign as an entry of a list.
    pub fn summary(&self) -> Summary {
        let campaign = &self.campaign;
        let count = |which: fn(&TrialRow) -> bool| {
            u32::try_from(self.trials.iter().filter(|trial| which(trial)).count()).unwrap_or(u32::MAX)
        };
        let first = |which: fn(&TrialRow) -> bool| {
            self.trials.iter().filter(|trial| which(trial)).find_map(|trial| trial.reasons.first().cloned())
        };
        Summary {
            id: campaign.id.clone(),
            name: campaign.name.clone(),
            method: campaign.method.clone(),
            started: campaign.started.clone(),
            ended: campaign.ended.clone(),
            state: campaign.state,
            tags: campaign.tags.clone(),
            trials: count(|_| true),
            invalid: count(|trial| !trial.valid),
            generator_limited: count(|trial| trial.generator_limited),
            disturbed: count(|trial| trial.disturbed),
            reason: first(|trial| !trial.valid).or_else(|| first(|trial| trial.generator_limited)),
            outcome: self
                .only()
                .filter(|_| self.method_results.is_empty())
                .and_then(|run| Some(run.overall?.outcome.into_owned())),
        }
    }
}

/// A value read from trials if no method has drawn a conclusion.
type Reading = (&'static str, &'static str, fn(&Figures) -> Option<f64>);
const READINGS: &[Reading] = &[
    ("offered", "pps", |f| f.offered_pps),
    ("received", "pps", |f| f.rx_pps),
    ("loss", "ratio", |f| f.loss_ratio),
    ("latency_p50", "ns", |f| f.latency_p50_ns),
    ("latency_p99", "ns", |f| f.latency_p99_ns),
    ("latency_max", "ns", |f| f.latency_max_ns),
    ("sessions_opened", "/s", |f| f.open_per_s),
    ("transactions", "/s", |f| f.transactions_per_s),
    ("goodput", "bps", |f| f.goodput_bps),
    ("setup_p99", "ns", |f| f.setup_p99_ns),
    ("ttfb_p99", "ns", |f| f.ttfb_p99_ns),
];

/// Findings of a campaign, or, if it has none, means over its trials with equal keys and their spread.
pub(crate) fn answers(findings: &[Finding], trials: &[TrialRow]) -> Vec<Finding> {
    if !findings.is_empty() {
        return findings.to_vec();
    }
    let mut keys: Vec<&str> = Vec::new();
    for trial in trials.iter().filter(|trial| trial.counts()) {
        if !keys.contains(&trial.key.as_str()) {
            keys.push(&trial.key);
        }
    }
    let mut all = Vec::new();
    for key in &keys {
        let repeats: Vec<&TrialRow> =
            trials.iter().filter(|trial| trial.key == *key && trial.counts()).collect();
        // The only key of a campaign is its name in other words: it would match no other campaign's.
        let name = if keys.len() == 1 { &repeats[0].frame } else { repeats[0].name() };
        for (goal, unit, of) in READINGS {
            let values: Vec<f64> = repeats.iter().filter_map(|trial| of(&trial.figures)).collect();
            let Some((mean, spread)) = mean_and_spread(&values) else { continue };
            all.push(Finding {
                frame: name.to_owned(),
                frame_bytes: repeats[0].frame_bytes,
                goal: (*goal).to_owned(),
                unit: (*unit).to_owned(),
                value: Some(mean),
                spread,
                document: Value::Null,
                ..Finding::default()
            });
        }
    }
    all
}

/// Mean and, of two or more, standard deviation.
fn mean_and_spread(values: &[f64]) -> Option<(f64, Option<f64>)> {
    let n = values.len() as f64;
    if values.is_empty() {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    Some((mean, (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NewCampaign;

    fn campaign(name: &str, tags: &[&str], findings: &[(&str, f64, f64)]) -> Loaded {
        let about = NewCampaign {
            name: name.to_owned(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            ..NewCampaign::default()
        };
        let finding = |(frame, value, noise): &(&str, f64, f64)| Finding {
            frame: (*frame).to_owned(),
            goal: "throughput".to_owned(),
            unit: "pps".to_owned(),
            value: Some(*value),
            lower: Some(value - noise),
            upper: Some(value + noise),
            ..Finding::default()
        };
        let findings = findings.iter().map(finding).collect();
        Loaded { findings, ..Loaded::single(about, Value::Null, Vec::new()) }
    }

    #[test]
    fn differences_are_told_from_noise() {
        let all = [
            campaign("first", &[], &[("64B", 100.0, 5.0), ("1518B", 10.0, 0.1)]),
            campaign("second", &[], &[("64B", 109.0, 5.0), ("1518B", 11.0, 0.1), ("imix", 50.0, 1.0)]),
        ];
        let comparison = compare(&all);
        let difference = |row: usize| comparison.rows[row].cells[1].as_ref().unwrap().difference;
        assert_eq!(
            difference(0),
            Some(Difference { ratio: Some(0.09), beyond_noise: Some(false), at_least: None })
        );
        let second = difference(1).unwrap();
        assert_eq!((second.ratio, second.beyond_noise), (Some(0.1), Some(true)));
        assert!((second.at_least.unwrap() - (10.9 - 10.1) / 10.1).abs() < 1e-9);
        assert_eq!((comparison.rows[2].cells[0].as_ref(), difference(2)), (None, None));
    }

    #[test]
    fn the_faster_one_is_named_only_where_intervals_lie_apart() {
        let sentence = |first: Finding, own: Finding| {
            let with = |name: &str, finding: Finding| Loaded {
                findings: vec![finding],
                ..Loaded::single(
                    NewCampaign { name: name.into(), ..NewCampaign::default() },
                    Value::Null,
                    Vec::new(),
                )
            };
            compare(&[with("frr", first), with("vpp", own)]).sentences[0].clone()
        };
        let rate = |value: f64, lower: Option<f64>, upper: Option<f64>, spread: Option<f64>| Finding {
            frame: "64B".to_owned(),
            goal: "throughput".to_owned(),
            unit: "pps".to_owned(),
            value: Some(value),
            lower,
            upper,
            spread,
            ..Finding::default()
        };
        let narrow = |value: f64| rate(value, Some(value), Some(value * 1.01), None);
        let faster = "vpp is faster than frr in 1 of 1 rates (64B throughput +100%, at least +98.02%).";
        assert_eq!(sentence(narrow(1e6), narrow(2e6)), faster);
        assert!(sentence(narrow(2e6), narrow(1e6)).starts_with("vpp is slower than frr in 1 of 1 rates"));
        // One per cent more, but the first may reach it, too.
        let same = "No difference shown between vpp and frr in 1 of 1 rates: the intervals overlap.";
        assert_eq!(sentence(narrow(1e6), narrow(1.005e6)), same);
        // Repeats that scatter hide what single values seem to show.
        assert_eq!(sentence(rate(1e6, None, None, Some(1e5)), rate(1.2e6, None, None, Some(1e5))), same);
        let shown = sentence(rate(1e6, None, None, Some(1e4)), rate(1.2e6, None, None, Some(1e4)));
        assert!(shown.starts_with("vpp is faster"), "{shown}");
        // What is at least so much may be as much as the other.
        assert_eq!(sentence(rate(1e6, Some(1e6), None, None), narrow(2e6)), same);
        assert!(sentence(narrow(1e6), rate(2e6, Some(2e6), None, None)).starts_with("vpp is faster"));
        assert!(
            sentence(rate(1.0, None, None, None), rate(2.0, None, None, None)).contains("repeat the trials")
        );
        let time = |ns: f64| Finding {
            goal: "latency_p99".into(),
            unit: "ns".into(),
            ..rate(ns, None, None, Some(1.0))
        };
        assert!(sentence(time(100.0), time(50.0)).starts_with("vpp is quicker than frr in 1 of 1 times"));
    }

    #[test]
    fn tags_make_a_table_of_routers_and_configurations() {
        let all = [
            campaign("a", &["dut=frr", "config=plain"], &[("64B", 1.0, 0.0)]),
            campaign("b", &["dut=frr", "config=nat"], &[("64B", 2.0, 0.0)]),
            campaign("c", &["dut=vpp", "config=nat"], &[("64B", 3.0, 0.0)]),
            campaign("d", &["dut=other"], &[("64B", 4.0, 0.0)]),
        ];
        let matrices = compare(&all).matrices("dut", "config");
        assert_eq!(matrices.len(), 1);
        assert_eq!(
            (matrices[0].rows.join(" "), matrices[0].columns.join(" ")),
            ("frr vpp".into(), "plain nat".into())
        );
        let values = |line: &Vec<Option<Cell>>| line.iter().map(|c| c.as_ref()?.value).collect::<Vec<_>>();
        let values: Vec<_> = matrices[0].cells.iter().map(values).collect();
        assert_eq!(values, [vec![Some(1.0), Some(2.0)], vec![None, Some(3.0)]]);
        assert!(compare(&all).matrices("dut", "kernel").is_empty());
    }

    #[test]
    fn trials_speak_for_themselves_where_no_method_has_concluded() {
        let trial = |number, key: &str, offered_pps| TrialRow {
            figures: Figures { offered_pps: Some(offered_pps), ..Figures::default() },
            ..TrialRow::new(&crate::NewTrial { number, key: key.to_owned(), ..crate::NewTrial::default() })
        };
        let found = answers(&[], &[trial(1, "a", 10.0), trial(2, "b", 7.0), trial(3, "a", 14.0)]);
        let found: Vec<_> = found.iter().map(|f| (f.frame.as_str(), f.value, f.spread)).collect();
        assert_eq!(found, [("a", Some(12.0), Some(8.0_f64.sqrt())), ("b", Some(7.0), None)]);
        assert_eq!(answers(&[], &[trial(1, "whatever", 1.0)])[0].frame, "");
    }
}
