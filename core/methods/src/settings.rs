//! Definition of a method in its file: its name, its settings, its rows.
//!
//! [`crate::list`] is the only place that names the methods. Campaigns, the store and reports use
//! [`crate::MethodConfig`] and [`crate::Findings`], which dispatch to the traits here.

use crate::MethodConfig;
use crate::draft::Limit;
use crate::finding::{Finding, GoalMeaning};
use crate::method::Method;
use crate::rates::{KnownRate, RateSource};
use crate::testbed::{Frames, Testbed};
use units::Nanos;

/// An error in a configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct ConfigError {
    /// The setting.
    pub field: String,
    /// Description of the error.
    pub reason: String,
}

impl ConfigError {
    pub(crate) fn new(field: &str, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }
}

/// A method's names, and its descriptions for reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// Name on the command line, in campaign documents and in the API: `throughput`.
    pub name: &'static str,
    /// Purpose, in one line.
    pub about: &'static str,
    /// Names in requests and results: `rfc2544-throughput`. More than one if settings make different tests of it.
    pub result_names: &'static [&'static str],
    /// Whether its trials are points of curves over the offered load.
    pub makes_curves: bool,
    /// Meanings of its findings.
    pub goals: &'static [GoalMeaning],
}

/// A requirement of a method besides streams or sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requirement {
    /// A command that resets the DUT, by its name.
    Reset(String),
    /// Ports that teach and watch addresses (RFC 2889 section 5.7).
    AddressPorts,
    /// At least this number of ports of a switch, of one speed and in one network, each of which sends a stream (RFC 2889, RFC
    /// 8239).
    SwitchPorts(usize),
    /// Streams that can take a second path when the routes of the first are withdrawn (RFC 7747).
    TwoPaths,
    /// A stream to a multicast group that its receiver joins (RFC 3918).
    GroupMembers,
    /// DHCP or DHCPv6 clients of one port.
    LeaseClients,
    /// A stream from the inside of a NATxy gateway to its outside, both on ports of the tester (RFC 9693).
    BothSidesOfNat,
    /// Sessions of clients to a load balancer, and backends behind it, both on ports of the tester.
    BothSidesOfBalancer {
        /// Number of backends that weights are given for; 0: any.
        backends: usize,
        /// The backend that changes.
        changed: Option<u16>,
        /// Whether cookies are needed.
        cookies: bool,
    },
    /// Streams to ports that advertise routes.
    Routes,
    /// A stream that can be sent by itself.
    Stream {
        /// The setting that names it.
        setting: &'static str,
        /// Its name.
        name: String,
        /// Frames to use instead of the profile's.
        frames: Option<Frames>,
        /// Bytes of a burst that hold at least one of its frames.
        burst_bytes: Option<u64>,
        /// Bit/s that it is sent with at the most, which its port's line must be able to carry.
        most_bps: Option<u64>,
    },
}

/// The settings of a method, as its file defines them.
pub(crate) trait Settings {
    /// # Errors
    /// The first setting that makes no sense.
    fn check(&self, testbed: &Testbed) -> Result<(), ConfigError>;

    /// The method at its beginning; the settings have been checked.
    fn start(&self, testbed: &Testbed) -> Box<dyn Method>;

    /// Minutes instead of hours.
    fn quicken(&mut self);

    /// Changes the length of every trial that counts.
    fn set_trial(&mut self, trial: Nanos);

    /// The frames it sends.
    fn sizes(&self) -> Vec<Frames> {
        Vec::new()
    }

    /// Changes the frames, if they can be chosen.
    fn set_sizes(&mut self, _: &[Frames]) {}

    /// Where it takes the rates from that it begins at.
    fn rates(&mut self) -> Option<&mut RateSource> {
        None
    }

    fn requirements(&self) -> Vec<Requirement> {
        Vec::new()
    }

    /// A method that usually runs after it, at the rates it found.
    fn followed_by(&self) -> Option<MethodConfig> {
        None
    }
}

/// A row of a method's findings.
pub(crate) trait Row {
    /// The same as values.
    fn findings(&self) -> Vec<Finding>;

    /// The rate found, for methods that begin at one.
    fn known_rate(&self) -> Option<KnownRate> {
        None
    }

    /// Limits of its results from above.
    fn limits(&self) -> Vec<Limit> {
        Vec::new()
    }

    /// Whether a result is missing because trials can't be judged: by default, where a search was disturbed.
    fn is_unjudged(&self) -> bool {
        self.limits().contains(&Limit::Disturbed)
    }

    /// Whether the DUT is too good for there to be a result.
    fn needs_none(&self) -> bool {
        false
    }

    /// Whether the DUT failed: by default, at the smallest value already.
    fn has_failed(&self) -> bool {
        self.limits().contains(&Limit::Impossible)
    }
}
