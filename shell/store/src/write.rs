//! Writing: one transaction for each thing that has happened.

use crate::figures::Figures;
use crate::model::{instant, sha256};
use crate::{Campaign, CampaignId, NewCampaign, NewTrial, State, Store, StoreError, TrialRow};
use methods::MethodResult;
use rusqlite::types::Value as Sql;
use rusqlite::{ErrorCode, Transaction, TransactionBehavior, params, params_from_iter};
use std::time::Duration;

/// Columns of the table `trial` before the figures.
const ABOUT: &[&str] = &[
    "campaign",
    "number",
    "key",
    "label",
    "part",
    "phase",
    "frame",
    "frame_bytes",
    "line_pps",
    "started",
    "valid",
    "generator_limited",
    "interrupted",
    "reasons",
    "disturbed",
    "load",
    "load_unit",
    "overall",
    "request",
    "outcome",
    "result",
];

impl Store {
    /// Begins a campaign.
    ///
    /// # Errors
    /// `started` is no instant; the store can't be written.
    pub fn begin(&mut self, campaign: &NewCampaign) -> Result<CampaignId, StoreError> {
        let started = instant(&campaign.started)?;
        let transaction = self.writing()?;
        let id = unused_id(&transaction, campaign, &started)?;
        transaction.execute(
            "INSERT INTO campaign (id, name, method, config, profile, profile_sha256, seed, version, command,
                                   started, state, environment)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'running', ?11)",
            params![
                id.0,
                campaign.name,
                campaign.method,
                campaign.config.to_string(),
                campaign.profile,
                sha256(&campaign.profile),
                campaign.seed.to_string(),
                campaign.version,
                campaign.command,
                started,
                campaign.environment.to_string(),
            ],
        )?;
        for tag in &campaign.tags {
            transaction.execute("INSERT OR IGNORE INTO tag VALUES (?1, ?2)", params![id.0, tag])?;
        }
        transaction.commit()?;
        Ok(id)
    }

    /// Keeps a finished trial and its intervals: when this returns, they are on the disk.
    ///
    /// # Errors
    /// The trial is there already; there is no such campaign; the store can't be written.
    pub fn record(&mut self, campaign: &CampaignId, trial: &NewTrial) -> Result<(), StoreError> {
        let transaction = self.writing()?;
        insert_trial(&transaction, campaign, trial, "")?;
        insert_intervals(&transaction, campaign, trial, 0)?;
        Ok(transaction.commit()?)
    }

    /// Stores the current state of an active trial, or its end: its row replaces the one from before, and its intervals
    /// the ones from place `from` on. When this returns, they are on the disk.
    ///
    /// # Errors
    /// There is no such campaign; the store can't be written.
    pub fn extend(&mut self, campaign: &CampaignId, trial: &NewTrial, from: usize) -> Result<(), StoreError> {
        let transaction = self.writing()?;
        let columns = ABOUT.iter().copied().chain(Figures::COLUMNS.iter().map(|column| column.name));
        let replaced = columns.map(|name| format!("{name} = excluded.{name}")).collect::<Vec<_>>();
        let replaced = format!("ON CONFLICT (campaign, number) DO UPDATE SET {}", replaced.join(", "));
        insert_trial(&transaction, campaign, trial, &replaced)?;
        transaction.execute(
            "DELETE FROM interval WHERE campaign = ?1 AND trial = ?2 AND position >= ?3",
            params![campaign.0, trial.number, from as i64],
        )?;
        insert_intervals(&transaction, campaign, trial, from)?;
        Ok(transaction.commit()?)
    }

    /// Sets how long to wait for another program that writes, before a call fails with [`StoreError::Busy`].
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn wait_for_others(&self, at_most: Duration) -> Result<(), StoreError> {
        Ok(self.connection.busy_timeout(at_most)?)
    }

    /// Keeps what the methods found, instead of what they had found before: their documents and the findings in them.
    ///
    /// # Errors
    /// There is no such campaign; the store can't be written.
    pub fn conclude(&mut self, campaign: &CampaignId, results: &[MethodResult]) -> Result<(), StoreError> {
        let transaction = self.writing()?;
        must_be(&transaction, campaign)?;
        transaction.execute("DELETE FROM method_result WHERE campaign = ?1", [&campaign.0])?;
        transaction.execute("DELETE FROM finding WHERE campaign = ?1", [&campaign.0])?;
        let mut findings = Vec::new();
        for (position, result) in results.iter().enumerate() {
            transaction.execute(
                "INSERT INTO method_result VALUES (?1, ?2, ?3)",
                params![campaign.0, position as i64, serde_json::to_string(result)?],
            )?;
            findings.extend(result.values()?);
        }
        for (position, f) in findings.iter().enumerate() {
            transaction.execute(
                "INSERT INTO finding VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
                params![
                    campaign.0,
                    position as i64,
                    f.frame,
                    f.frame_bytes,
                    f.goal,
                    f.unit,
                    f.value,
                    f.lower,
                    f.upper,
                    f.spread,
                    f.line,
                    f.note,
                    f.document.to_string(),
                    f.resolution,
                    f.doubt,
                    f.indicative,
                ],
            )?;
        }
        Ok(transaction.commit()?)
    }

    /// Ends a campaign at the instant `ended` (RFC 3339, UTC), if that is known; `reason` is the reason of its failure.
    ///
    /// # Errors
    /// `ended` is no instant; there is no such campaign; the store can't be written.
    pub fn end(
        &mut self,
        campaign: &CampaignId,
        state: State,
        ended: Option<&str>,
        reason: Option<&str>,
    ) -> Result<(), StoreError> {
        let ended = ended.map(instant).transpose()?;
        let changed = self.connection.execute(
            "UPDATE campaign SET state = ?2, ended = ?3, reason = ?4 WHERE id = ?1",
            params![campaign.0, state.as_str(), ended, reason],
        )?;
        found(changed, campaign)
    }

    /// Goes on with a campaign: it is running again. Returns it with its finished trials and their results, by number.
    ///
    /// # Errors
    /// There is no such campaign; the store can't be written.
    pub fn resume(&mut self, campaign: &CampaignId) -> Result<(Campaign, Vec<NewTrial>), StoreError> {
        let changed = self.connection.execute(
            "UPDATE campaign SET state = 'running', ended = NULL, reason = NULL, resumed = resumed + 1
             WHERE id = ?1",
            [&campaign.0],
        )?;
        found(changed, campaign)?;
        Ok((self.campaign(campaign)?, self.finished(campaign)?))
    }

    /// Removes a campaign with all it has, and gives the room back.
    ///
    /// # Errors
    /// There is no such campaign; the store can't be written.
    pub fn delete(&mut self, campaign: &CampaignId) -> Result<(), StoreError> {
        let changed = self.connection.execute("DELETE FROM campaign WHERE id = ?1", [&campaign.0])?;
        found(changed, campaign)?;
        // A step of the statement frees a page.
        let mut vacuum = self.connection.prepare("PRAGMA incremental_vacuum")?;
        let mut steps = vacuum.query([])?;
        while steps.next()?.is_some() {}
        Ok(())
    }

    fn writing(&mut self) -> Result<Transaction<'_>, StoreError> {
        Ok(self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?)
    }
}

fn found(changed: usize, campaign: &CampaignId) -> Result<(), StoreError> {
    if changed == 0 { Err(StoreError::no_campaign(campaign)) } else { Ok(()) }
}

fn must_be(transaction: &Transaction<'_>, campaign: &CampaignId) -> Result<(), StoreError> {
    let count =
        transaction.query_row("SELECT count(*) FROM campaign WHERE id = ?1", [&campaign.0], |row| {
            row.get::<_, i64>(0)
        })?;
    found(usize::from(count > 0), campaign)
}

/// `20261130-235959-3fa9c1`: sorts by time, and is short enough to be read aloud.
fn unused_id(
    transaction: &Transaction<'_>,
    campaign: &NewCampaign,
    started: &str,
) -> Result<CampaignId, StoreError> {
    let digits: String = started.chars().filter(char::is_ascii_digit).take(14).collect();
    let about = format!("{}\n{}\n{started}\n{}", campaign.name, campaign.method, campaign.profile);
    for salt in 0_u32.. {
        let hash = sha256(&format!("{about}\n{salt}"));
        let id = CampaignId(format!("{}-{}-{}", &digits[..8], &digits[8..], &hash[..6]));
        match must_be(transaction, &id) {
            Ok(()) => {}
            Err(StoreError::NoCampaign { .. }) => return Ok(id),
            Err(error) => return Err(error),
        }
    }
    Err(StoreError::Busy)
}

/// Intervals of a trial, the first of them at place `from`.
fn insert_intervals(
    transaction: &Transaction<'_>,
    campaign: &CampaignId,
    trial: &NewTrial,
    from: usize,
) -> Result<(), StoreError> {
    let mut insert = transaction.prepare("INSERT INTO interval VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for (position, document) in (from..).zip(&trial.intervals) {
        let at_s = document["at_s"].as_f64();
        insert.execute(params![campaign.0, trial.number, position as i64, at_s, document.to_string()])?;
    }
    Ok(())
}

/// The row of a trial; `on_conflict` defines the action if there is one.
fn insert_trial(
    transaction: &Transaction<'_>,
    campaign: &CampaignId,
    trial: &NewTrial,
    on_conflict: &str,
) -> Result<(), StoreError> {
    must_be(transaction, campaign)?;
    let row = TrialRow::new(trial);
    let text = |text: &str| Sql::Text(text.to_owned());
    let flag = |flag: bool| Sql::Integer(i64::from(flag));
    let mut values = vec![
        text(&campaign.0),
        Sql::Integer(i64::from(row.number)),
        text(&row.key),
        text(&row.label),
        text(&row.part),
        text(&row.phase),
        text(&row.frame),
        row.frame_bytes.map_or(Sql::Null, |bytes| Sql::Integer(i64::from(bytes))),
        row.line_pps.map_or(Sql::Null, Sql::Real),
        row.started.as_deref().map_or(Sql::Null, text),
        flag(row.valid),
        flag(row.generator_limited),
        flag(row.interrupted),
        Sql::Text(serde_json::to_string(&row.reasons)?),
        flag(row.disturbed),
        row.load.map_or(Sql::Null, Sql::Real),
        row.load_unit.as_deref().map_or(Sql::Null, text),
        trial.result["overall"]["outcome"].as_str().map_or(Sql::Null, text),
        Sql::Text(trial.request.to_string()),
        Sql::Text(trial.outcome.to_string()),
        Sql::Text(trial.result.to_string()),
    ];
    values.extend(Figures::COLUMNS.iter().zip(row.figures.values()).map(|(column, value)| column.sql(value)));
    let names: Vec<_> = ABOUT.iter().copied().chain(Figures::COLUMNS.iter().map(|c| c.name)).collect();
    let marks = vec!["?"; names.len()].join(", ");
    let sql = format!("INSERT INTO trial ({}) VALUES ({marks}) {on_conflict}", names.join(", "));
    match transaction.execute(&sql, params_from_iter(values)) {
        Err(e) if e.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            Err(StoreError::TrialExists { campaign: campaign.0.clone(), number: trial.number })
        }
        done => Ok(done.map(drop)?),
    }
}
