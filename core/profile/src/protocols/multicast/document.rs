//! Multicast groups of a port's host.

use crate::document::{Duration, Groups, Ip, SessionRate, no_time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Pps;

/// Multicast groups that the port's first host is a member of. It joins them before traffic starts or while it runs,
/// responds to queries, and leaves them at the end (IGMP, MLD).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Multicast")]
pub struct MulticastDoc {
    /// The groups.
    #[schemars(length(min = 1))]
    pub groups: Vec<MembershipDoc>,
    /// Version of IGMP. With a querier of version 2, hosts of version 3 use version 2.
    #[serde(default = "igmp")]
    #[schemars(range(min = 2, max = 3))]
    pub igmp: u8,
    /// Version of MLD. With a querier of version 1, hosts of version 2 use version 1.
    #[serde(default = "mld")]
    #[schemars(range(min = 1, max = 2))]
    pub mld: u8,
    /// Rate at which groups are joined and left.
    #[serde(default = "join_rate")]
    pub rate: SessionRate,
}

/// Groups, each with the sources that the host requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Membership")]
pub struct MembershipDoc {
    /// Group, or a range: '239.1.0.0..239.1.3.231', 'ff15::1'.
    pub group: Groups,
    /// Sources to receive from, or with 'exclude' not to receive from; IGMPv3 and MLDv2. Default: all.
    #[serde(default)]
    pub sources: Vec<Ip>,
    /// Whether 'sources' are those not to receive from.
    #[serde(default)]
    pub exclude: bool,
    /// When to join, after the start of traffic. At 0s, traffic starts once the join was sent.
    #[serde(default = "no_time")]
    pub join: Duration,
    /// When to leave, after the start of traffic. Default: when traffic has ended.
    pub leave: Option<Duration>,
}

fn igmp() -> u8 {
    3
}

fn mld() -> u8 {
    2
}

fn join_rate() -> SessionRate {
    SessionRate(Pps::new(1_000))
}
