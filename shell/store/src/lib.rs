//! The results store: campaigns, their trials, intervals and findings in one SQLite file; exports and report pages.
//!
//! A **campaign** is one use of a method on one profile; a single run is a campaign of one trial. Each finished trial
//! is one committed transaction, so however the process ends, the file opens and has all finished trials. An active
//! trial may be there in part ([`Store::extend`]).
//!
//! Not here: clocks (instants come in as RFC 3339 text), the engine (results are JSON documents), the terminal (what is
//! to be shown is returned). Absent means not measured; zero means measured and zero.

#![forbid(unsafe_code)]

mod chart;
mod compare;
mod error;
pub mod export;
mod figures;
mod model;
mod read;

pub mod report;
mod schema;
mod stored;
mod trend;
mod write;

pub use compare::{Cell, Comparison, ComparisonRow, Difference, Matrix, compare};
pub use error::StoreError;
pub use figures::{Column, Figures, Kind};
pub use methods::Finding;
pub use model::{
    Archive, ArchivedTrial, Campaign, CampaignId, Filter, Loaded, NewCampaign, NewTrial, State, Summary,
    TrialRow, sha256,
};
pub use stored::StoredResult;
pub use trend::{Trend, TrendPoint, TrendQuery};
pub(crate) use units::{percent, quantity};

use rusqlite::Connection;
use std::path::Path;

/// An open store.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
}

impl Store {
    /// Opens the store at `path` and makes it, and its folder, if there is none. An older one is brought up to date.
    ///
    /// # Errors
    /// The file is no store, is newer than this program, or can't be read or written.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            // Why there is none shows when the file in it is opened.
            let _ = std::fs::create_dir_all(folder);
        }
        Ok(Self { connection: schema::open(path, true)? })
    }

    /// Opens the store at `path`, which must be there.
    ///
    /// # Errors
    /// As for [`Store::open`]; and [`StoreError::Missing`] if there is no such file.
    pub fn open_existing(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { connection: schema::open(path, false)? })
    }

    /// Opens the store at `path` to read it. It must be there; the file, its folder, or both may be such that they can't be written.
    ///
    /// # Errors
    /// As for [`Store::open_existing`]; and [`StoreError::ReadOnly`] if it can't be read without being written.
    pub fn open_to_read(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { connection: schema::open_to_read(path)? })
    }

    /// Version of the tables in the file: the value of `PRAGMA user_version`.
    ///
    /// # Errors
    /// The file can't be read.
    pub fn version(&self) -> Result<u32, StoreError> {
        Ok(self.connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
    }
}
