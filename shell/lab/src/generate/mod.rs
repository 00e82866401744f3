//! Generates large routing tables and access lists in the syntax of several routers and switches.
//!
//! The n-th entry is a function of n, so that a profile can send to exactly the addresses that have a route, and devices
//! with different syntaxes get the same table.

mod pfsense;
mod prefix;
mod routes;
mod rules;

pub use prefix::Prefix;
pub use routes::{Hop, RouteOptions, routes};
pub use rules::{RuleOptions, rules};

use std::fmt;
use std::str::FromStr;

/// Output syntax.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// `ip -batch FILE`, for IPv6 `ip -6 -batch FILE`.
    IpBatch,
    /// `nft -f FILE`.
    Nftables,
    /// FRRouting's configuration.
    Frr,
    /// BIRD 2's configuration.
    Bird,
    /// `vppctl exec FILE`.
    Vpp,
    /// `ovs-ofctl add-flows BRIDGE FILE`.
    Ovs,
    /// Cisco IOS' configuration.
    Cisco,
    /// Junos' configuration, as `set` commands.
    Junos,
    /// The configuration of switches with ArubaOS-Switch, HP ProCurve before.
    Procurve,
    /// The configuration of switches and routers with Comware 7, by HPE and H3C.
    Comware,
    /// Sections of pfSense's `config.xml`.
    Pfsense,
}

impl Syntax {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::IpBatch,
        Self::Nftables,
        Self::Frr,
        Self::Bird,
        Self::Vpp,
        Self::Ovs,
        Self::Cisco,
        Self::Junos,
        Self::Procurve,
        Self::Comware,
        Self::Pfsense,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::IpBatch => "ip-batch",
            Self::Nftables => "nftables",
            Self::Frr => "frr",
            Self::Bird => "bird",
            Self::Vpp => "vpp",
            Self::Ovs => "ovs",
            Self::Cisco => "cisco",
            Self::Junos => "junos",
            Self::Procurve => "procurve",
            Self::Comware => "comware",
            Self::Pfsense => "pfsense",
        }
    }
}

impl fmt::Display for Syntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Syntax {
    type Err = GenerateError;

    fn from_str(text: &str) -> Result<Self, GenerateError> {
        let known = Self::ALL.into_iter().find(|syntax| syntax.name() == text);
        known.ok_or_else(|| GenerateError::UnknownSyntax { text: text.to_owned() })
    }
}

/// An error of generating a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GenerateError {
    /// No such syntax.
    #[error("{}", spelling::unknown("syntax", text, &Syntax::ALL.map(Syntax::name)))]
    UnknownSyntax {
        /// The request.
        text: String,
    },
    /// The device does not support it.
    #[error("{syntax} has no {what}; {instead}")]
    Unsupported {
        /// The syntax.
        syntax: Syntax,
        /// The request.
        what: &'static str,
        /// Replacement in its paths.
        instead: &'static str,
    },
    /// Not a prefix.
    #[error("'{text}' is not a prefix such as 16.0.0.0/24 or 2001:2::/48: {why}")]
    BadPrefix {
        /// The text.
        text: String,
        /// The reason.
        why: &'static str,
    },
    /// More entries than addresses.
    #[error("{count} prefixes starting at {first} exceed the address space")]
    TooMany {
        /// Requested number.
        count: u64,
        /// The first.
        first: Prefix,
    },
    /// IPv4 and IPv6 in one table.
    #[error("{0} and {1} are of different address families")]
    MixedFamilies(String, String),
    /// More rules than the device has numbers for.
    #[error("{syntax} has {most} rules in a list at most, not {count}")]
    TooManyRules {
        /// The syntax.
        syntax: Syntax,
        /// Requested number.
        count: u32,
        /// The device's.
        most: u32,
    },
    /// A list without entries.
    #[error("{0}")]
    Nothing(&'static str),
    /// Rules that must not match would match.
    #[error("the {count} rules starting at {first} must not match the traffic, but overlap {permitted}")]
    Overlap {
        /// Number of rules that must not match.
        count: u64,
        /// The first of them.
        first: Prefix,
        /// The traffic's source.
        permitted: Prefix,
    },
}

#[cfg(test)]
mod tests;
