//! Where the packets went: counters of the devices along a path, read beside a trial, and the hop that lost most.
//!
//! A [`PathConfig`] names the hops in the order packets travel, and where the counters of each are read: by SNMP, or by the
//! programs of a Linux host, here, in a network namespace or by ssh. A [`Poller`] reads them just before the traffic, every
//! interval while it runs, and after it; its [`PathReport`] has what each hop took in, let out and dropped, and the
//! weakest link.
//!
//! ```no_run
//! # fn main() -> Result<(), counters::CounterError> {
//! # let config: counters::PathConfig = serde_json::from_str("{}").unwrap();
//! let mut poller = counters::Poller::start(&config)?;
//! poller.begin();
//! // the trial
//! let report = poller.finish(Some(counters::Offered { sent: 1_000_000, received: 987_655 }));
//! if let Some(weakest) = &report.weakest {
//!     assert!(weakest.sentence.contains("lost"));
//! }
//! # Ok(()) }
//! ```
//!
//! What it costs a device that shares the machine with the tester: a Linux hop is one shell that stays open. An interval
//! starts two small programs in it; the full reading before and after the traffic up to fifteen, and where there are
//! thousands of firewall rules listing them takes longest. An SNMP hop is asked two or three requests an interval. What
//! that is in time stands in `docs/path.md`.
//!
//! Not here: traffic, verdicts about the tester, the terminal, files. What the counters mean is decided in [`report`],
//! which touches nothing.
//!
//! Invariants: nothing on a device is changed; a count is never made up (absent means not known, and a remark says why); a
//! poller's threads and processes end with it.

#![forbid(unsafe_code)]

mod config;
mod error;
mod hop;
mod local;
mod poller;
mod reading;
pub mod report;
mod snmp;
mod words;

pub use config::{
    AuthProtocol, Authentication, Cipher, HopConfig, Local, LocalSource, PathConfig, Privacy, Secret, Snmp,
    Version,
};
pub use error::CounterError;
pub use poller::Poller;
pub use report::{Drop, HopReport, Offered, PathReport, Sample, Weakest};
