//! Virtual routers among a port's hosts.

use crate::document::{Duration, Ip, Name, no_time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Virtual routers of a port: its hosts elect an Active router with the other VRRP routers of the link (RFC 9568). Traffic starts
/// when each is Active, or watches an Active router that it will not replace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Vrrp")]
pub struct VrrpDoc {
    /// The virtual routers; at most 1,024.
    #[schemars(length(min = 1))]
    pub routers: Vec<VrrpRouterDoc>,
    /// Time limit for the election. After it, traffic starts anyway, and the result is not valid.
    #[serde(default = "timeout")]
    pub timeout: Duration,
}

/// A virtual router on a host, or one on each of several hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "VrrpRouter")]
pub struct VrrpRouterDoc {
    /// Name for commands to a running trial. Several can have one name.
    pub name: Option<Name>,
    /// Host of the port that takes part. The name of an entry of 'hosts' with 'count' stands for all of its hosts, which get
    /// consecutive VRIDs and addresses. Default: the port's first host.
    pub host: Option<Name>,
    /// Virtual router identifier: of routers of one link and IP version, those with the same elect one.
    #[schemars(range(min = 1))]
    pub vrid: u8,
    /// Virtual addresses, all IPv4 or all IPv6. Of IPv6, the first must be link-local (RFC 9568 section 5.2.9). They must not
    /// be addresses of the host.
    #[schemars(length(min = 1, max = 255))]
    pub addresses: Vec<Ip>,
    /// Priority; 255 is that of the owner of the addresses, which is Active immediately.
    #[serde(default = "priority")]
    #[schemars(range(min = 1))]
    pub priority: u8,
    /// Time between advertisements, in hundredths of a second up to 40.95s; with version 2 in whole seconds up to 255s.
    #[serde(default = "interval")]
    pub interval: Duration,
    /// Replace an Active router of a lower priority.
    #[serde(default = "yes")]
    pub preempt: bool,
    /// Time for which such a router stays Active, from its first advertisement on.
    #[serde(default = "no_time")]
    pub preempt_delay: Duration,
    /// Reply to echo requests to the virtual addresses while Active ('Accept_Mode').
    #[serde(default = "yes")]
    pub accept: bool,
    /// Version of the protocol: 3 (RFC 9568), or 2 (RFC 3768) for IPv4 without authentication.
    #[serde(default = "version")]
    #[schemars(range(min = 2, max = 3))]
    pub version: u8,
    /// Include the pseudo-header in checksums of version 3 over IPv4, as keepalived and FRR do by default. Received
    /// advertisements may have either.
    #[serde(default = "yes")]
    pub pseudo_header: bool,
    /// Advertise priority 0 when leaving. Without it, leaving looks like a failure: the others wait for the Active_Down
    /// interval.
    #[serde(default = "yes")]
    pub resign: bool,
    /// Time since traffic started at which it leaves.
    pub leave: Option<Duration>,
    /// Time since traffic started at which it takes part again; after 'leave'.
    pub rejoin: Option<Duration>,
}

fn yes() -> bool {
    true
}

fn priority() -> u8 {
    100
}

fn version() -> u8 {
    3
}

fn interval() -> Duration {
    Duration(Nanos::from_secs(1))
}

fn timeout() -> Duration {
    Duration(Nanos::from_secs(30))
}
