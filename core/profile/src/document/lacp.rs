//! Ports of lags.

use super::{Duration, Mac, Name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Port of a link aggregation group that runs LACP (IEEE 802.1AX). Hosts and traffic start when all such ports are
/// distributing. Streams name the port they leave by; they are not distributed over the LAG.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Lacp")]
pub struct LacpDoc {
    /// Lag of the port: ports that name the same one belong together.
    #[serde(default = "lag")]
    pub lag: Name,
    /// Identifier of the lag's system. Default: the MAC address of the lag's first port.
    pub system: Option<Mac>,
    /// Priority of the lag's system. Default: 32768.
    pub system_priority: Option<u16>,
    /// Key of the lag. Default: 1 for the first lag of the profile, 2 for the next, and so on.
    #[schemars(range(min = 1))]
    pub key: Option<u16>,
    /// Number of the port in its system. Default: 1 for the first port of the profile, 2 for the next, and so on.
    #[schemars(range(min = 1))]
    pub port: Option<u16>,
    /// Priority of the port.
    #[serde(default = "priority")]
    pub port_priority: u16,
    /// Whether the port sends LACPDUs first (active) or only to an active partner (passive).
    #[serde(default)]
    pub activity: LacpActivityDoc,
    /// How soon a silent partner is given up: after 3 s or 90 s. It follows how often the partner is to send.
    #[serde(default)]
    pub timeout: LacpTimeoutDoc,
    /// How long to wait until the port distributes. Traffic then starts all the same, and the result is not valid; if no port of the lag
    /// distributes, the run ends with an error.
    #[serde(default = "wait")]
    pub wait: Duration,
}

/// LACP activity of a port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum LacpActivityDoc {
    /// It sends LACPDUs whatever its partner does.
    #[default]
    Active,
    /// It sends LACPDUs only to an active partner.
    Passive,
}

/// How soon a silent partner is given up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum LacpTimeoutDoc {
    /// After 3 s: the partner sends every second.
    #[default]
    Short,
    /// After 90 s: the partner sends every 30 s.
    Long,
}

fn lag() -> Name {
    Name("lag".to_owned())
}

fn priority() -> u16 {
    32_768
}

fn wait() -> Duration {
    Duration(Nanos::from_secs(10))
}
