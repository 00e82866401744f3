//! Trials of sessions: how many a second, how many at a time, how much they carry (RFC 9411); what a path is like and
//! what TCP makes of it (RFC 6349).
//!
//! The profile defines the ends: ports, addresses, TLS, options of TCP. The trial defines the application, its rate and
//! its times. One entry under `sessions:` is used for each trial, the others are left out; a mix uses all, unmodified.
//!
//! Not here: which value is tried next (`methods`), and how sessions run (`session`).

mod app;
mod bulk;
mod entry;
mod load;
mod mix;
mod path;
mod sustain;

use crate::CampaignError;
use crate::directions::Directions;
use crate::shape::without_schedule;
use methods::{TrialKind, TrialOutcome, TrialRequest};
use profile::Plan;
use profile::plan::SessionEntry;
use result::{IntervalDocument, ResultDocument};

/// The plan of a trial of sessions.
///
/// # Errors
/// The profile has no entry that can carry the trial's application.
pub(crate) fn shape(
    plan: &Plan,
    directions: &Directions,
    request: &TrialRequest,
) -> Result<Plan, CampaignError> {
    let mut shaped = without_streams(plan, request);
    let made = match &request.kind {
        TrialKind::Sessions(load) => load::shape(&mut shaped, load),
        TrialKind::Mix(load) => mix::shape(&mut shaped, plan, load),
        TrialKind::Path => path::shape(&mut shaped),
        TrialKind::Tcp { senders, connections, window_bytes } => {
            bulk::shape(&mut shaped, directions, senders, *connections, *window_bytes)
        }
        _ => Err("this is no trial of sessions".to_owned()),
    };
    made.map_err(|reason| CampaignError::Trial { label: request.label.clone(), reason })?;
    Ok(shaped)
}

/// Outcome.
pub(crate) fn outcome(
    plan: &Plan,
    directions: &Directions,
    request: &TrialRequest,
    document: &ResultDocument,
    intervals: &[IntervalDocument],
) -> TrialOutcome {
    let mut outcome = crate::outcome::of_any(document);
    match &request.kind {
        TrialKind::Sessions(load) => sustain::report(&mut outcome, plan, load, document, intervals),
        TrialKind::Mix(load) => mix::report(&mut outcome, plan, load, document, intervals),
        TrialKind::Path => path::report(&mut outcome, plan, document),
        TrialKind::Tcp { senders, .. } => bulk::report(&mut outcome, plan, directions, senders, document),
        _ => {}
    }
    outcome
}

/// The profile with the trial's times and none of its streams.
fn without_streams(plan: &Plan, request: &TrialRequest) -> Plan {
    let mut shaped = without_schedule(plan, request);
    shaped.streams.clear();
    shaped.groups.clear();
    shaped
}

/// Keeps these entries alone.
fn keep(shaped: &mut Plan, entries: Vec<SessionEntry>) {
    shaped.sessions = entries;
}
