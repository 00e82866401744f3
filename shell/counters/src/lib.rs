//! Polls device counters along a path during a trial and finds the hop that lost most packets.
//!
//! A [`PathConfig`] names the hops in the order packets travel, and where to read the counters of each: by SNMP, or with the
//! programs of a Linux host, locally, in a network namespace or by ssh. A [`Poller`] reads them just before the traffic,
//! every interval while it runs, and after it; its [`PathReport`] has the packets that each hop received, sent and dropped,
//! and the weakest link.
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
//! Cost for a device on the tester's machine: a Linux hop is one open shell. An interval starts two small programs in it;
//! the full reading before and after the traffic up to fifteen, of which listing thousands of firewall rules takes
//! longest. An SNMP hop gets two or three requests per interval. `docs/path.md` has measured times.
//!
//! Not here: traffic, verdicts about the tester, the terminal, files. [`report`] interprets the counters; it is pure.
//!
//! Invariants: a poller changes nothing on a device; counts are never estimated (absent means unknown, with a remark why);
//! a poller's threads and processes end with it.

#![forbid(unsafe_code)]

mod config;
mod error;
mod hop;
mod local;
mod poller;
mod reading;
pub mod report;
mod snmp;

pub use config::{
    AuthProtocol, Authentication, Cipher, HopConfig, Local, LocalSource, PathConfig, Privacy, Secret, Snmp,
    Version,
};
pub use error::CounterError;
pub use poller::Poller;
pub use report::{Drop, HopReport, Offered, PathReport, Sample, Weakest};
