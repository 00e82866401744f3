//! Campaigns: test methods driven on the engine, trial after trial, with what surrounds a trial.
//!
//! A method asks for a trial; [`shape`](fn@shape) makes a Plan of it and of the profile; a [`Tester`] runs the Plan; what
//! came of it is told to the method and kept in the store, before the next trial is asked for. So a campaign whose process
//! was killed goes on where it was, and no trial that has finished is run again.
//!
//! Not here: the terminal, files, how simulated ports are made. Which method asks is all the same to the engine, and
//! which engine serves it all the same to the method.

#![forbid(unsafe_code)]

mod about;
mod addresses;
mod choice;
mod directions;
pub mod document;
mod drive;
mod error;
mod outcome;
mod sessions;
mod shape;
mod stimuli;
mod tester;

pub use about::{environment, findings};
pub use choice::{Choice, Part, Settings, choices, sizes};
pub use directions::{Direction, Directions};
pub use drive::{Campaign, Ended, Observer, Report, Running, StoredCampaign};
pub use error::CampaignError;
pub use shape::shape;
pub use tester::{PortTester, Tester};
