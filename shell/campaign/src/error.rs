//! Errors of campaigns.

use engine::EngineError;
use methods::{ConfigError, ReplayError};
use store::StoreError;

/// Why a campaign cannot run or continue.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// There is no such method; the sentence names those there are.
    #[error("{0}")]
    Unknown(String),
    /// The profile does not suit the method.
    #[error("{place}: {reason}")]
    Profile {
        /// Which part of the profile.
        place: String,
        /// Description of the mismatch, and the requirement.
        reason: String,
    },
    /// A setting of the method makes no sense.
    #[error("{method}: {error}")]
    Config {
        /// The method.
        method: String,
        /// Which setting, and why.
        error: ConfigError,
    },
    /// A setting can't be read.
    #[error("{setting}: {reason}")]
    Setting {
        /// As it was written.
        setting: String,
        /// Why.
        reason: String,
    },
    /// A trial can't be made of the profile.
    #[error("trial '{label}': {reason}")]
    Trial {
        /// The trial.
        label: String,
        /// Why.
        reason: String,
    },
    /// A hook failed.
    #[error("{0}")]
    Hook(#[from] lab::HookError),
    /// The stored data do not fit.
    #[error("cannot resume the campaign: {0}")]
    Replay(#[from] ReplayError),
    /// The stored data can't be read.
    #[error("cannot resume the campaign: {0}")]
    Stored(String),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Packets of a trial could not be recorded, or not be read.
    #[error("packets of the trial: {0}")]
    Captured(String),
    /// Counters along the path.
    #[error(transparent)]
    Counters(#[from] counters::CounterError),
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl CampaignError {
    pub(crate) fn profile(place: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Profile { place: place.into(), reason: reason.into() }
    }

    /// Whether the user's input is at fault, and not the machine.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Engine(error) => error.is_bad_input(),
            Self::Counters(error) => error.is_bad_input(),
            Self::Store(_) | Self::Captured(_) => false,
            Self::Hook(error) => matches!(error, lab::HookError::Template { .. }),
            _ => true,
        }
    }
}
