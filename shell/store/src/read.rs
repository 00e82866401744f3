//! Reading: lists, campaigns, trials.

use crate::figures::Figures;
use crate::model::date;
use crate::{
    Campaign, CampaignId, Filter, Finding, Loaded, NewTrial, State, Store, StoreError, StoredResult, Summary,
    TrialRow,
};
use rusqlite::types::Value as Sql;
use rusqlite::{OptionalExtension, Row, params_from_iter};
use serde_json::Value;

/// Columns of the table `trial` before the figures, as they are read.
const ABOUT: &str = "number, key, label, part, phase, frame, frame_bytes, line_pps, started, valid,
    generator_limited, interrupted, reasons, disturbed, load, load_unit";
/// Number of them.
const ABOUT_COUNT: usize = 16;

impl Store {
    /// The campaigns `filter` lets through, newest first.
    ///
    /// # Errors
    /// `since` is no date; the store can't be read.
    pub fn list(&self, filter: &Filter) -> Result<Vec<Summary>, StoreError> {
        let (conditions, values) = conditions(filter)?;
        let limit = filter.limit.map_or(-1, i64::from);
        let sql = format!(
            "SELECT id, name, method, started, ended, state,
                    (SELECT count(*) FROM trial WHERE campaign = id),
                    (SELECT count(*) FROM trial WHERE campaign = id AND NOT valid),
                    (SELECT count(*) FROM trial WHERE campaign = id AND generator_limited),
                    (SELECT count(*) FROM trial WHERE campaign = id AND disturbed),
                    (SELECT reasons ->> '$[0]' FROM trial WHERE campaign = id AND (NOT valid OR generator_limited)
                     ORDER BY valid, number LIMIT 1),
                    (SELECT min(overall) FROM trial WHERE campaign = id
                     AND NOT EXISTS (SELECT 1 FROM method_result WHERE campaign = id) HAVING count(*) = 1)
             FROM campaign WHERE {conditions} ORDER BY started DESC, rowid DESC LIMIT {limit}"
        );
        let mut query = self.connection.prepare(&sql)?;
        let rows = query.query_map(params_from_iter(values), |row| {
            Ok(Summary {
                id: CampaignId(row.get(0)?),
                name: row.get(1)?,
                method: row.get(2)?,
                started: row.get(3)?,
                ended: row.get(4)?,
                state: State::parse(&row.get::<_, String>(5)?),
                tags: Vec::new(),
                trials: row.get(6)?,
                invalid: row.get(7)?,
                generator_limited: row.get(8)?,
                disturbed: row.get(9)?,
                reason: row.get(10)?,
                outcome: row.get(11)?,
            })
        })?;
        let mut all = rows.collect::<Result<Vec<_>, _>>()?;
        for summary in &mut all {
            summary.tags = self.tags(&summary.id)?;
        }
        Ok(all)
    }

    /// The campaign a user means: an id, its beginning, its six last digits, a name, of which the latest is meant, or `latest`.
    ///
    /// # Errors
    /// There is none, or several; the store can't be read.
    pub fn find(&self, reference: &str) -> Result<CampaignId, StoreError> {
        let texts = |sql: &str, values: &[&str]| -> Result<Vec<String>, StoreError> {
            let mut query = self.connection.prepare(sql)?;
            let rows = query.query_map(params_from_iter(values), |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        };
        let mut matches = if reference == "latest" {
            texts("SELECT id FROM campaign ORDER BY started DESC, rowid DESC LIMIT 1", &[])?
        } else {
            texts(
                "SELECT id FROM campaign WHERE id = ?1 OR (length(?1) > 0 AND
                     (substr(id, 1, length(?1)) = ?1 OR substr(id, -6) = ?1)) ORDER BY id LIMIT 8",
                &[reference],
            )?
        };
        if matches.is_empty() {
            let latest = "SELECT id FROM campaign WHERE name = ?1 ORDER BY started DESC, rowid DESC LIMIT 1";
            matches = texts(latest, &[reference])?;
        }
        match matches.len() {
            0 => {
                let names = texts("SELECT DISTINCT name FROM campaign", &[])?;
                let like = spelling::did_you_mean(reference, names.iter().map(String::as_str));
                Err(StoreError::NoCampaign { reference: reference.to_owned(), like })
            }
            1 => Ok(CampaignId(matches.swap_remove(0))),
            _ if matches.iter().any(|id| id == reference) => Ok(CampaignId(reference.to_owned())),
            _ => Err(StoreError::Ambiguous { reference: reference.to_owned(), matches }),
        }
    }

    /// A campaign.
    ///
    /// # Errors
    /// There is none; the store can't be read.
    pub fn campaign(&self, id: &CampaignId) -> Result<Campaign, StoreError> {
        let sql = "SELECT name, method, config, profile, profile_sha256, seed, version, command, started, ended, state,
                          reason, resumed, environment FROM campaign WHERE id = ?1";
        let found = self.connection.query_row(sql, [&id.0], |row| {
            let campaign = Campaign {
                id: id.clone(),
                name: row.get(0)?,
                method: row.get(1)?,
                config: Value::Null,
                profile: row.get(3)?,
                profile_sha256: row.get(4)?,
                seed: row.get::<_, String>(5)?.parse().unwrap_or_default(),
                version: row.get(6)?,
                command: row.get(7)?,
                started: row.get(8)?,
                ended: row.get(9)?,
                state: State::parse(&row.get::<_, String>(10)?),
                reason: row.get(11)?,
                resumed: row.get(12)?,
                environment: Value::Null,
                tags: Vec::new(),
            };
            Ok((campaign, row.get::<_, String>(2)?, row.get::<_, String>(13)?))
        });
        let (mut campaign, config, environment) =
            found.optional()?.ok_or_else(|| StoreError::no_campaign(id))?;
        campaign.config = serde_json::from_str(&config)?;
        campaign.environment = serde_json::from_str(&environment)?;
        campaign.tags = self.tags(id)?;
        Ok(campaign)
    }

    /// Its trials without their documents, by number.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn trials(&self, id: &CampaignId) -> Result<Vec<TrialRow>, StoreError> {
        let names: Vec<_> = Figures::COLUMNS.iter().map(|column| column.name).collect();
        let sql =
            format!("SELECT {ABOUT}, {} FROM trial WHERE campaign = ?1 ORDER BY number", names.join(", "));
        let mut query = self.connection.prepare(&sql)?;
        let rows = query.query_map([&id.0], trial_row)?;
        let mut all = rows.collect::<Result<Vec<_>, _>>()?;
        for (ordinal, row) in (1..).zip(&mut all) {
            row.ordinal = ordinal;
        }
        Ok(all)
    }

    /// The result document of a trial; `None` if there is no such trial.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn result(&self, id: &CampaignId, number: u32) -> Result<Option<Value>, StoreError> {
        let sql = "SELECT result FROM trial WHERE campaign = ?1 AND number = ?2";
        let text: Option<String> =
            self.connection.query_row(sql, (&id.0, number), |row| row.get(0)).optional()?;
        Ok(text.map(|text| serde_json::from_str(&text)).transpose()?)
    }

    /// The interval documents of a trial, in order.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn intervals(&self, id: &CampaignId, number: u32) -> Result<Vec<Value>, StoreError> {
        let sql = "SELECT document FROM interval WHERE campaign = ?1 AND trial = ?2 ORDER BY position";
        let mut query = self.connection.prepare(sql)?;
        let rows = query.query_map((&id.0, number), |row| row.get::<_, String>(0))?;
        rows.map(|text| Ok(serde_json::from_str(&text?)?)).collect()
    }

    /// Findings of its methods.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn method_results(&self, id: &CampaignId) -> Result<Vec<StoredResult>, StoreError> {
        let sql = "SELECT document FROM method_result WHERE campaign = ?1 ORDER BY position";
        let mut query = self.connection.prepare(sql)?;
        let rows = query.query_map([&id.0], |row| row.get::<_, String>(0))?;
        rows.map(|text| Ok(serde_json::from_str::<Value>(&text?)?.into())).collect()
    }

    /// Findings of its methods, as values.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn findings(&self, id: &CampaignId) -> Result<Vec<Finding>, StoreError> {
        let sql = "SELECT frame, frame_bytes, goal, unit, value, lower, upper, spread, line, note, document,
                          resolution, doubt, indicative
                   FROM finding WHERE campaign = ?1 ORDER BY position";
        let mut query = self.connection.prepare(sql)?;
        let rows = query.query_map([&id.0], |row| {
            let finding = Finding {
                frame: row.get(0)?,
                frame_bytes: row.get(1)?,
                goal: row.get(2)?,
                unit: row.get(3)?,
                value: row.get(4)?,
                lower: row.get(5)?,
                upper: row.get(6)?,
                spread: row.get(7)?,
                line: row.get(8)?,
                note: row.get(9)?,
                document: Value::Null,
                resolution: row.get(11)?,
                doubt: row.get(12)?,
                indicative: row.get(13)?,
                ..Finding::default()
            };
            Ok((finding, row.get::<_, String>(10)?))
        })?;
        rows.map(|row| {
            let (finding, text) = row?;
            Ok(Finding { document: serde_json::from_str(&text)?, ..finding })
        })
        .collect()
    }

    /// Its finished trials with request and result, by number; without intervals.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn finished(&self, id: &CampaignId) -> Result<Vec<NewTrial>, StoreError> {
        let sql = "SELECT request, outcome, result FROM trial WHERE campaign = ?1 ORDER BY number";
        let mut query = self.connection.prepare(sql)?;
        let documents = query.query_map([&id.0], |row| -> rusqlite::Result<[String; 3]> {
            Ok([row.get(0)?, row.get(1)?, row.get(2)?])
        })?;
        let rows = self.trials(id)?;
        rows.into_iter()
            .zip(documents)
            .map(|(row, documents)| {
                let [request, outcome, result] = documents?;
                Ok(NewTrial {
                    number: row.number,
                    key: row.key,
                    label: row.label,
                    part: row.part,
                    phase: row.phase,
                    frame: row.frame,
                    frame_bytes: row.frame_bytes,
                    line_pps: row.line_pps,
                    request: serde_json::from_str(&request)?,
                    outcome: serde_json::from_str(&outcome)?,
                    result: serde_json::from_str(&result)?,
                    intervals: Vec::new(),
                })
            })
            .collect()
    }

    /// A campaign with all it has.
    ///
    /// # Errors
    /// There is none; the store can't be read.
    pub fn load(&self, id: &CampaignId) -> Result<Loaded, StoreError> {
        // One transaction: a campaign that is running would otherwise grow between the queries.
        let reading = self.connection.unchecked_transaction()?;
        let campaign = self.campaign(id)?;
        let trials = self.trials(id)?;
        let results = self.finished(id)?.into_iter().map(|trial| trial.result).collect();
        let mut intervals = Vec::new();
        for trial in &trials {
            let own = self.intervals(id, trial.number)?;
            if !own.is_empty() {
                intervals.push((trial.number, own));
            }
        }
        let method_results = self.method_results(id)?;
        let findings = self.findings(id)?;
        reading.finish()?;
        Ok(Loaded { campaign, trials, results, intervals, method_results, findings })
    }

    fn tags(&self, id: &CampaignId) -> Result<Vec<String>, StoreError> {
        let mut query = self.connection.prepare("SELECT tag FROM tag WHERE campaign = ?1 ORDER BY tag")?;
        let rows = query.query_map([&id.0], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// The condition of a query, and its values.
fn conditions(filter: &Filter) -> Result<(String, Vec<Sql>), StoreError> {
    let mut all = vec!["TRUE".to_owned()];
    let mut values = Vec::new();
    let since = filter.since.as_deref().map(date).transpose()?;
    let plain = [("method =", &filter.method), ("name =", &filter.name), ("started >=", &since)];
    for (column, value) in plain {
        if let Some(value) = value {
            all.push(format!("{column} ?"));
            values.push(Sql::Text(value.clone()));
        }
    }
    for tag in &filter.tags {
        all.push("EXISTS (SELECT 1 FROM tag WHERE campaign = id AND tag = ?)".to_owned());
        values.push(Sql::Text(tag.clone()));
    }
    Ok((all.join(" AND "), values))
}

fn trial_row(row: &Row<'_>) -> rusqlite::Result<TrialRow> {
    let mut figures = Vec::with_capacity(Figures::COLUMNS.len());
    for index in ABOUT_COUNT..ABOUT_COUNT + Figures::COLUMNS.len() {
        figures.push(match row.get(index)? {
            Sql::Integer(value) => Some(value as f64),
            Sql::Real(value) => Some(value),
            _ => None,
        });
    }
    let mut figures = figures.into_iter();
    let reasons: String = row.get(12)?;
    Ok(TrialRow {
        number: row.get(0)?,
        ordinal: 0,
        key: row.get(1)?,
        label: row.get(2)?,
        part: row.get(3)?,
        phase: row.get(4)?,
        frame: row.get(5)?,
        frame_bytes: row.get(6)?,
        line_pps: row.get(7)?,
        started: row.get(8)?,
        valid: row.get(9)?,
        generator_limited: row.get(10)?,
        interrupted: row.get(11)?,
        disturbed: row.get(13)?,
        load: row.get(14)?,
        load_unit: row.get(15)?,
        reasons: serde_json::from_str(&reasons).unwrap_or_default(),
        figures: Figures::from_values(|| figures.next().flatten()),
    })
}
