//! Errors of a store, and their origin.

use crate::model::CampaignId;
use std::path::PathBuf;

/// Why a request to a store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such file.
    #[error("{}: there is no store; 'eagre bench' and 'eagre serve' make one, and --store names another", .0.display())]
    Missing(PathBuf),
    /// The file is something else.
    #[error("{}: this is no results store", .0.display())]
    NotAStore(PathBuf),
    /// A newer program has written it.
    #[error(
        "{}: the store has version {found} and this program knows up to {known}; use a newer eagre",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Version of its tables.
        found: u32,
        /// Newest version this program knows.
        known: u32,
    },
    /// The file can't be opened, read or written.
    #[error("{}: {reason}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The machine's message.
        reason: String,
    },
    /// It can't be written, and not be read without that.
    #[error("{}: can't be read without permission to write: {reason}", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        reason: String,
    },
    /// No campaign is called so.
    #[error("no campaign '{reference}'{like}; 'eagre results list' shows what there is")]
    NoCampaign {
        /// The request.
        reference: String,
        /// The name that may be meant, as the sentence has it; empty if none is like it.
        like: String,
    },
    /// Several campaigns begin so.
    #[error("'{reference}' is not one campaign: {}", matches.join(", "))]
    Ambiguous {
        /// The request.
        reference: String,
        /// The campaigns it may mean, at most eight.
        matches: Vec<String>,
    },
    /// The trial has been recorded before; it is not overwritten.
    #[error("trial {number} of campaign {campaign} is recorded already")]
    TrialExists {
        /// The campaign.
        campaign: String,
        /// The trial's number in it.
        number: u32,
    },
    /// Not an instant.
    #[error("'{0}' is not an instant in UTC as in 2026-11-30T23:59:59.5Z")]
    Instant(String),
    /// Not a beginning of an instant.
    #[error("'{0}' is not a date as in 2026-11-30, with or without a time after it")]
    Date(String),
    /// A document in the store is damaged.
    #[error("a document in the store is not JSON: {0}")]
    Document(#[from] serde_json::Error),
    /// An export could not be written.
    #[error("the export could not be written: {0}")]
    Export(String),
    /// Another program holds the store.
    #[error("the store is locked by another program")]
    Busy,
    /// Any other error of SQLite.
    #[error("the store: {0}")]
    Sqlite(rusqlite::Error),
}

impl StoreError {
    /// There is no campaign of this id.
    pub(crate) fn no_campaign(id: &CampaignId) -> Self {
        Self::NoCampaign { reference: id.0.clone(), like: String::new() }
    }

    /// Whether the caller's request is wrong, rather than the machine refusing.
    pub fn is_bad_input(&self) -> bool {
        use StoreError as E;
        match self {
            E::Missing(_)
            | E::NotAStore(_)
            | E::Newer { .. }
            | E::NoCampaign { .. }
            | E::Ambiguous { .. } => true,
            E::TrialExists { .. } | E::Instant(_) | E::Date(_) => true,
            E::Open { .. } | E::ReadOnly { .. } | E::Document(_) | E::Export(_) | E::Busy | E::Sqlite(_) => {
                false
            }
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => Self::Busy,
            _ => Self::Sqlite(error),
        }
    }
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        Self::Export(error.to_string())
    }
}
