//! Large routing tables and access lists as text for many routers and switches.
//!
//! Tables are regular on purpose: the n-th entry follows from n, so that a profile can send to exactly the addresses
//! that have a route, and two devices get the same table in two syntaxes.

mod prefix;
mod routes;
mod rules;

pub use prefix::Prefix;
pub use routes::{Hop, RouteOptions, routes};
pub use rules::{RuleOptions, rules};

use std::fmt;
use std::str::FromStr;

/// What a text is written for.
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
}

impl Syntax {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::IpBatch,
        Self::Nftables,
        Self::Frr,
        Self::Bird,
        Self::Vpp,
        Self::Ovs,
        Self::Cisco,
        Self::Junos,
    ];

    /// The word it is chosen by.
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

/// Why a text can't be generated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GenerateError {
    /// No such syntax.
    #[error("'{text}' is no syntax; there are {}", Syntax::ALL.map(Syntax::name).join(", "))]
    UnknownSyntax {
        /// What was asked for.
        text: String,
    },
    /// The device has no such thing.
    #[error("{syntax} has no {what}; {instead}")]
    NotThere {
        /// The syntax.
        syntax: Syntax,
        /// What was asked for.
        what: &'static str,
        /// What to use in its place.
        instead: &'static str,
    },
    /// A text that is no prefix.
    #[error("'{text}' is no prefix such as 16.0.0.0/24 or 2001:2::/48: {why}")]
    BadPrefix {
        /// The text.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// More entries than addresses.
    #[error("{count} prefixes from {first} on go beyond the last address")]
    TooMany {
        /// How many were asked for.
        count: u64,
        /// The first.
        first: Prefix,
    },
    /// IPv4 and IPv6 in one table.
    #[error("{0} and {1} are not both IPv4 or both IPv6")]
    MixedFamilies(String, String),
    /// A list without entries.
    #[error("{0}")]
    Nothing(&'static str),
    /// Rules that should not match would match.
    #[error("the {count} rules from {first} on, which must not match the traffic, reach into {permitted}")]
    Overlap {
        /// How many rules must not match.
        count: u64,
        /// The first of them.
        first: Prefix,
        /// The traffic's source.
        permitted: Prefix,
    },
}

#[cfg(test)]
mod tests;
