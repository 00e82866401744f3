//! Campaigns: run test methods on the engine, trial by trial, with hooks and waits around each trial.
//!
//! A method requests a trial; [`shape`](fn@shape) makes a Plan of the request and the profile; a [`Tester`] runs the Plan;
//! the outcome goes to the store and to the method, before it requests the next trial. So a campaign whose process was
//! killed resumes where it was, and no finished trial runs again.
//!
//! Not here: the terminal, files, how simulated ports are made. The engine does not know the method, nor the method the
//! engine.

#![forbid(unsafe_code)]

mod about;
mod addresses;
mod balancer;
mod choice;
mod convergence;
mod directions;
pub mod document;
mod drive;
mod error;
mod leases;
mod multicast;
mod nat;
mod outcome;
mod routes;
mod services;
mod sessions;
mod shape;
mod stimuli;
mod switch;
mod tester;

pub use about::{CampaignDocument, CampaignEnd, environment, findings};
pub use choice::{Choice, Part, Settings, choices, sizes};
pub use directions::{Direction, Directions};
pub use drive::{Campaign, Ended, Observer, Report, Running, StoredCampaign};
pub use error::CampaignError;
pub use nat::MappingFile;
pub use shape::shape;
pub use tester::{PortTester, Tester};
