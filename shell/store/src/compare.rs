//! Several campaigns side by side.
//!
//! A difference is beyond the noise if it is larger than the noise of both sides together ([`Finding::noise`]). Where a
//! side's noise is not known, neither is that.

use crate::figures::Figures;
use crate::{Finding, Loaded, Summary, TrialRow};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Campaigns side by side; the first is what the others are compared with.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Comparison {
    /// The campaigns, in the order asked for.
    pub campaigns: Vec<Summary>,
    /// A row for each frame length and goal that any of them has.
    pub rows: Vec<ComparisonRow>,
}

/// A frame length and a goal.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ComparisonRow {
    /// Frame length or mix.
    pub frame: String,
    /// What was to be found out.
    pub goal: String,
    /// Unit of the values.
    pub unit: String,
    /// A cell for each campaign; `None` if it has no such finding.
    pub cells: Vec<Option<Cell>>,
}

/// What a campaign found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ComparisonCell")]
pub struct Cell {
    /// The value; `None` if the method found none.
    pub value: Option<f64>,
    /// How far it may be off either way.
    pub noise: Option<f64>,
    /// Compared with the first campaign; `None` for itself, and where one of the two is missing.
    pub difference: Option<Difference>,
}

/// How far a value is from that of the first campaign.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// (value − first) / first; `None` if the first is zero and this is not.
    pub ratio: Option<f64>,
    /// Whether it is more than noise; `None` if the noise is not known.
    pub beyond_noise: Option<bool>,
}

/// One goal at one frame length, by two tags: routers down, configurations across.
#[derive(Debug, Clone, Serialize)]
pub struct Matrix {
    /// Frame length or mix.
    pub frame: String,
    /// What was found out.
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
                Some(Cell { value: own.value, noise: own.noise(), difference })
            })
            .collect();
    }
    Comparison { campaigns: campaigns.iter().map(Loaded::summary).collect(), rows }
}

fn difference(first: &Finding, own: &Finding) -> Option<Difference> {
    let (was, is) = (first.value?, own.value?);
    let ratio = match was {
        0.0 if is == 0.0 => Some(0.0),
        0.0 => None,
        was => Some((is - was) / was),
    };
    let noise = first.noise().zip(own.noise()).map(|(a, b)| a + b);
    Some(Difference { ratio, beyond_noise: noise.map(|noise| (is - was).abs() > noise) })
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
    /// The campaign as it stands in a list.
    pub fn summary(&self) -> Summary {
        let campaign = &self.campaign;
        let count = |which: fn(&TrialRow) -> bool| {
            u32::try_from(self.trials.iter().filter(|trial| which(trial)).count()).unwrap_or(u32::MAX)
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
        }
    }
}

/// What is read from trials if no method has drawn a conclusion.
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

/// What a campaign found: its findings, or, if it has none, means over its trials with equal keys and their spread.
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
        assert_eq!(difference(0), Some(Difference { ratio: Some(0.09), beyond_noise: Some(false) }));
        assert_eq!(difference(1), Some(Difference { ratio: Some(0.1), beyond_noise: Some(true) }));
        assert_eq!((comparison.rows[2].cells[0].as_ref(), difference(2)), (None, None));
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
