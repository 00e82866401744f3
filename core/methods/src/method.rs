//! The interface of a method to the driver of its trials.

use crate::fault::Fault;
use crate::outcome::TrialOutcome;
use crate::result::MethodResult;
use crate::trial::TrialRequest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A test method: it requests trials, processes their outcomes, and at the end interprets them.
///
/// Invariant: the state depends on the outcomes recorded and on nothing else, so a campaign is resumed by recording the
/// stored outcomes again ([`replay`]).
pub trait Method: Send {
    /// Its name, as in results.
    fn name(&self) -> &'static str;
    /// The trial to run next; the same one until its outcome is recorded.
    fn next_trial(&mut self) -> Step;
    /// Records the outcome of the trial requested by [`Method::next_trial`].
    ///
    /// # Panics
    /// If no trial is due.
    fn record(&mut self, outcome: &TrialOutcome);
    /// Remaining trials and time, if the DUT behaves as expected.
    fn estimate(&self) -> Estimate;
    /// Current progress.
    fn progress(&self) -> Progress;
    /// Findings so far, and at the end the result.
    fn result(&self) -> MethodResult;
}

/// Next action.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Run this trial and record its outcome.
    Trial(Box<TrialRequest>),
    /// No more trials; the result is complete.
    Done,
    /// Going on makes no sense.
    Failed(Fault),
}

impl Step {
    /// The trial, if one is due.
    pub fn trial(self) -> Option<TrialRequest> {
        match self {
            Self::Trial(request) => Some(*request),
            Self::Done | Self::Failed(_) => None,
        }
    }
}

/// Remaining trials and time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Trials.
    pub trials: u64,
    /// Seconds of traffic.
    pub traffic_s: f64,
    /// Seconds with all that surrounds the traffic.
    pub wall_s: f64,
}

/// Progress of a method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// Outcomes recorded.
    pub trials: u64,
    /// Seconds of traffic so far.
    pub traffic_s: f64,
    /// Done ÷ (done + estimated), by wall time, 0 to 1.
    pub fraction: f64,
    /// The label of the trial that is due, or of the last one.
    pub label: String,
}

/// A trial as a store keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StoredTrial {
    /// [`TrialRequest::number`].
    pub number: u64,
    /// [`TrialRequest::key`].
    pub key: String,
    /// Its outcome.
    pub outcome: TrialOutcome,
}

impl StoredTrial {
    /// A request and its outcome.
    pub fn new(request: &TrialRequest, outcome: &TrialOutcome) -> Self {
        Self { number: request.number, key: request.key.clone(), outcome: outcome.clone() }
    }
}

/// Why stored outcomes do not belong to a method.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The trial with this number is not the one that was stored.
    #[error("trial {number} ({label}) differs from the stored one: the configuration has changed")]
    Other {
        /// Its number.
        number: u64,
        /// Current trial or search.
        label: String,
    },
    /// More outcomes than the method requested.
    #[error("the method ends after {number} trials, but more are stored")]
    TooMany {
        /// Number of requested trials.
        number: u64,
    },
}

/// Brings a fresh method to where it was: records `stored` again, in order.
///
/// # Errors
/// If an outcome belongs to a trial that the method does not request.
pub fn replay(method: &mut dyn Method, stored: &[StoredTrial]) -> Result<(), ReplayError> {
    for (number, trial) in (0..).zip(stored) {
        let Some(request) = method.next_trial().trial() else {
            return Err(ReplayError::TooMany { number });
        };
        if (request.number, &request.key) != (trial.number, &trial.key) {
            return Err(ReplayError::Other { number, label: request.label });
        }
        method.record(&trial.outcome);
    }
    Ok(())
}
