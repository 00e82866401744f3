//! Campaigns for other programs: CSV, JSON, documents for trending, Parquet.

mod trending;

#[cfg(feature = "parquet")]
mod parquet;

pub use trending::trending;

#[cfg(feature = "parquet")]
pub use parquet::parquet;

use crate::compare::answers;
use crate::figures::{Column, Figures, Kind};
use crate::{Archive, ArchivedTrial, CampaignId, Loaded, Store, StoreError, TrialRow};
use serde_json::{Value, json};
use std::io::Write;

/// Name of the format of [`archive`].
pub const ARCHIVE_SCHEMA: &str = "eagre.archive/1";

macro_rules! about {
    ($($name:literal: $kind:ident, $about:literal;)*) => {
        &[$(Column { name: $name, kind: Kind::$kind, about: $about }),*]
    };
}

/// Columns before the figures.
const ABOUT: &[Column] = about! {
    "campaign": Text, "id of the campaign";
    "name": Text, "its name";
    "method": Text, "its method";
    "tags": Text, "its tags, separated by spaces";
    "trial": Integer, "place of the trial in the campaign: 1, 2, 3 …, as reports call it";
    "number": Integer, "number of the trial as its method counts";
    "key": Text, "fingerprint of the request; repeats have the same";
    "label": Text, "what the trial is, for people";
    "part": Text, "method that requested it, where a campaign has several";
    "phase": Text, "warm_up, probe, explore or measure";
    "frame": Text, "frame length or mix";
    "frame_bytes": Integer, "frame length with FCS, bytes";
    "line_pps": Real, "theoretical maximum of the load, packets/s";
    "started": Text, "when traffic started (RFC 3339)";
    "valid": Boolean, "whether the figures can be believed";
    "generator_limited": Boolean, "whether the tester was the limit";
    "interrupted": Boolean, "whether it was stopped before its end";
    "disturbed": Boolean, "whether something on the tester's machine disturbed it";
    "reasons": Text, "why not valid, why limited, or what disturbed the tester, separated by '; '";
    "load": Real, "for a trial of sessions: the requested load, in load_unit";
    "load_unit": Text, "connections/s, connections, transactions/s or bits/s";
};

/// Columns of [`findings`].
const FINDINGS: [&str; 18] = [
    "campaign",
    "name",
    "method",
    "tags",
    "frame",
    "frame_bytes",
    "goal",
    "unit",
    "value",
    "lower",
    "upper",
    "resolution",
    "spread",
    "line",
    "share_of_line",
    "note",
    "doubt",
    "indicative",
];

/// The columns of CSV and Parquet, in order.
pub fn columns() -> impl Iterator<Item = &'static Column> {
    ABOUT.iter().chain(Figures::COLUMNS)
}

/// A trial's values for [`columns`]; what was not measured is null.
fn record(loaded: &Loaded, trial: &TrialRow) -> Vec<Value> {
    let campaign = &loaded.campaign;
    let mut values = vec![
        json!(campaign.id),
        json!(campaign.name),
        json!(campaign.method),
        json!(campaign.tags.join(" ")),
        json!(trial.ordinal),
        json!(trial.number),
        json!(trial.key),
        json!(trial.label),
        json!(trial.part),
        json!(trial.phase),
        json!(trial.frame),
        json!(trial.frame_bytes),
        json!(trial.line_pps),
        json!(trial.started),
        json!(trial.valid),
        json!(trial.generator_limited),
        json!(trial.interrupted),
        json!(trial.disturbed),
        json!(trial.reasons.join("; ")),
        json!(trial.load),
        json!(trial.load_unit),
    ];
    values.extend(Figures::COLUMNS.iter().zip(trial.figures.values()).map(|(column, value)| match value {
        Some(value) if column.kind == Kind::Integer => json!(value as i64),
        value => json!(value),
    }));
    values
}

/// Trials as CSV: a header, then a row for each trial of each campaign; what was not measured is empty.
///
/// # Errors
/// `out` can't be written.
pub fn csv(campaigns: &[Loaded], out: impl Write) -> Result<(), StoreError> {
    let failed = |e: csv::Error| StoreError::Export(e.to_string());
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(columns().map(|column| column.name)).map_err(failed)?;
    for loaded in campaigns {
        for trial in &loaded.trials {
            let cells = record(loaded, trial).into_iter().map(|value| match value {
                Value::Null => String::new(),
                Value::String(text) => text,
                other => other.to_string(),
            });
            writer.write_record(cells).map_err(failed)?;
        }
    }
    Ok(writer.flush()?)
}

/// Findings as CSV: a header, then a row for each finding of each campaign, or of its trials if no method found anything;
/// what is not known is empty.
///
/// # Errors
/// `out` can't be written.
pub fn findings(campaigns: &[Loaded], out: impl Write) -> Result<(), StoreError> {
    let failed = |e: csv::Error| StoreError::Export(e.to_string());
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(FINDINGS).map_err(failed)?;
    for loaded in campaigns {
        let campaign = &loaded.campaign;
        for f in answers(&loaded.findings, &loaded.trials) {
            let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
            let share = f.value.zip(f.line).filter(|(_, line)| *line > 0.0).map(|(value, line)| value / line);
            let cells = [
                campaign.id.to_string(),
                campaign.name.clone(),
                campaign.method.clone(),
                campaign.tags.join(" "),
                f.frame,
                f.frame_bytes.map_or_else(String::new, |bytes| bytes.to_string()),
                f.goal,
                f.unit,
                number(f.value),
                number(f.lower),
                number(f.upper),
                number(f.resolution),
                number(f.spread),
                number(f.line),
                number(share),
                f.note.unwrap_or_default(),
                f.doubt.unwrap_or_default(),
                number(f.indicative),
            ];
            writer.write_record(cells).map_err(failed)?;
        }
    }
    Ok(writer.flush()?)
}

/// A whole campaign: what the store has, documents and intervals too.
///
/// # Errors
/// There is no such campaign; the store can't be read.
pub fn archive(store: &Store, id: &CampaignId) -> Result<Archive, StoreError> {
    let Loaded { campaign, trials, mut intervals, method_results, findings, .. } = store.load(id)?;
    let trials = trials.into_iter().zip(store.finished(id)?).map(|(row, trial)| {
        let own = intervals.iter().position(|(number, _)| *number == row.number);
        let intervals = own.map_or_else(Vec::new, |place| intervals.swap_remove(place).1);
        ArchivedTrial { row, request: trial.request, outcome: trial.outcome, result: trial.result, intervals }
    });
    let trials = trials.collect();
    Ok(Archive { schema: ARCHIVE_SCHEMA, campaign, method_results, findings, trials })
}
