//! Faults of a testbed, detected from outcomes: nothing sent, nothing arrives, wrong cable, loop.
//!
//! A DUT that forwards nothing under full load may well forward under less, so silence is believed only after
//! [`PROBES`] trials at [`PROBE_SHARE`] of the line rate.

use crate::outcome::{GroupOutcome, TrialOutcome};
use crate::text::{grouped, percent};
use crate::trial::{Phase, TrialKind, TrialRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Share of the line rate at which a silent DUT is probed.
pub const PROBE_SHARE: f64 = 0.01;
/// Probes before silence is believed.
pub const PROBES: u32 = 3;

/// Why a method stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fault {
    /// Kind of fault.
    pub kind: FaultKind,
    /// Description, one sentence.
    pub sentence: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

/// Kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The tester sent no frame.
    NothingSent,
    /// No frame of a group arrives.
    Silent,
    /// A group arrives at a wrong port.
    WrongPort,
    /// More frames arrive than were sent.
    Loop,
    /// A trial was interrupted repeatedly.
    Interrupted,
    /// An outcome lacks a part of its request.
    Unanswered,
}

impl Fault {
    pub(crate) fn new(kind: FaultKind, sentence: impl Into<String>) -> Self {
        Self { kind, sentence: sentence.into() }
    }
}

/// Observations of the testbed's health.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Health {
    /// The highest share of the line rate at which anything of a group arrived.
    heard: Vec<Option<f64>>,
    /// Groups of which nothing arrived where something should have.
    silent: Vec<bool>,
    probes: u32,
    sessions_heard: bool,
    deaf_sessions: u32,
}

impl Health {
    /// A probe is due before anything else.
    pub(crate) fn wants_probe(&self) -> bool {
        self.silent.contains(&true)
    }

    /// Looks at an outcome.
    pub(crate) fn examine(&mut self, request: &TrialRequest, outcome: &TrialOutcome) -> Result<(), Fault> {
        outcome.answers(&request.kind).map_err(|part| {
            Fault::new(
                FaultKind::Unanswered,
                format!("The outcome of trial {} lacks '{part}'.", request.number),
            )
        })?;
        if let Some(sessions) = &outcome.sessions {
            return self.examine_sessions(sessions.attempted, sessions.established);
        }
        if outcome.groups.is_empty() {
            return Ok(());
        }
        if outcome.sent() == 0 && (0..outcome.groups.len()).any(|i| request.frames_due(i) > 0) {
            let why = outcome.reasons.join("; ");
            let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
            return Err(Fault::new(FaultKind::NothingSent, format!("The tester sent no frame at all{why}.")));
        }
        outcome.groups.iter().try_for_each(|group| misdirected(request, group))?;
        // What comes back of tests of addresses and groups says nothing about cables: flooding is what they look for. Nor does what is lost
        // because a device ends the session that it has its routes by, or because a port is congested on purpose.
        let kind = &request.kind;
        if matches!(
            kind,
            TrialKind::Addresses { .. }
                | TrialKind::Multicast { .. }
                | TrialKind::Routes { .. }
                | TrialKind::Flows { .. }
        ) {
            return Ok(());
        }
        self.listen(request, outcome);
        self.silence(request, outcome)
    }

    /// No received packets are suspect if none were ever received, or if some were received at this load or a higher
    /// one.
    fn listen(&mut self, request: &TrialRequest, outcome: &TrialOutcome) {
        self.heard.resize(outcome.groups.len(), None);
        self.silent.resize(outcome.groups.len(), false);
        let states = self.heard.iter_mut().zip(&mut self.silent);
        for ((heard, silent), (i, group)) in states.zip(outcome.groups.iter().enumerate()) {
            let share = request.offered.get(i).map_or(1.0, |load| load.share);
            if group.received > 0 {
                *heard = Some(heard.map_or(share, |before| before.max(share)));
                *silent = false;
            } else if group.sent > 0 {
                *silent |= heard.is_none_or(|before| share <= before);
            }
        }
    }

    fn silence(&mut self, request: &TrialRequest, outcome: &TrialOutcome) -> Result<(), Fault> {
        if !self.wants_probe() {
            self.probes = 0;
            return Ok(());
        }
        self.probes += u32::from(request.phase == Phase::Probe);
        if self.probes < PROBES {
            return Ok(());
        }
        let silent = self.silent.iter().zip(&outcome.groups).filter(|(silent, _)| **silent);
        let names: Vec<_> = silent.map(|(_, group)| format!("'{}'", group.group)).collect();
        let sentence = if names.len() < outcome.groups.len() {
            let names = names.join(" and ");
            format!(
                "Nothing of {names} arrives, while the rest does. Does the DUT know the way in that direction?"
            )
        } else if self.heard.contains(&None) {
            format!(
                "Nothing arrives: not one of {} frames sent at {} of the line rate came back. Is the DUT up, are its \
                 addresses and routes right, is the cable in?",
                grouped(outcome.sent()),
                percent(PROBE_SHARE)
            )
        } else {
            format!(
                "Nothing arrives any more, though it did before: not one of {} frames sent at {} of the line rate came \
                 back. Has the DUT crashed?",
                grouped(outcome.sent()),
                percent(PROBE_SHARE)
            )
        };
        Err(Fault::new(FaultKind::Silent, sentence))
    }

    fn examine_sessions(&mut self, attempted: u64, established: u64) -> Result<(), Fault> {
        if established > 0 {
            self.deaf_sessions = 0;
            self.sessions_heard = true;
            return Ok(());
        }
        if self.sessions_heard || attempted == 0 {
            return Ok(());
        }
        self.deaf_sessions += 1;
        if self.deaf_sessions < PROBES {
            return Ok(());
        }
        let sentence = format!(
            "No session was established in {PROBES} trials in a row ({} attempted in the last). Is the server \
             listening, does the DUT let sessions through?",
            grouped(attempted)
        );
        Err(Fault::new(FaultKind::Silent, sentence))
    }
}

/// Frames at the wrong port, or more frames than were sent.
fn misdirected(request: &TrialRequest, group: &GroupOutcome) -> Result<(), Fault> {
    let arrived = group.received + group.duplicates;
    if group.wrong_port > group.received && group.wrong_port >= group.sent / 2 && group.sent > 0 {
        return Err(Fault::new(
            FaultKind::WrongPort,
            format!(
                "Wrong cable: of {} frames of '{}', {} arrived at a wrong port and {} at the right one.",
                grouped(group.sent),
                group.group,
                grouped(group.wrong_port),
                grouped(group.received)
            ),
        ));
    }
    // A DUT may send a frame twice now and then; a loop sends every frame again and again.
    if arrived > group.sent + group.sent / 10 + 10 {
        return Err(Fault::new(
            FaultKind::Loop,
            format!(
                "A loop: {} frames of '{}' were sent in trial {}, and {} arrived.",
                grouped(group.sent),
                group.group,
                request.number,
                grouped(arrived)
            ),
        ));
    }
    Ok(())
}
