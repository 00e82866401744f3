//! Hosts of a port whose control plane is in a network namespace.

use super::{ControlText, OneOrMany};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The network namespace that is the control plane of a port's hosts. Each host has an interface there, with the host's name,
/// MAC address and IP addresses; frames of control protocols pass between it and the port while traffic runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Punt")]
pub struct PuntDoc {
    /// Name of the namespace, as 'ip netns' knows it. Default: one of the port's own, which ends with the run.
    #[schemars(length(min = 1))]
    pub namespace: Option<String>,
    /// Protocols that pass, both ways; ARP, ICMP and ICMPv6 always do. Default: all control protocols that have a name here.
    #[serde(rename = "match")]
    pub matches: Option<OneOrMany<ControlText>>,
}
