//! Ports of lags.

use crate::document::{Duration, Mac, Name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Port of a link aggregation group that runs LACP (IEEE 802.1AX). Hosts and traffic start when all such ports are
/// distributing. Streams name the port they leave by; they are not distributed over the LAG.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Lacp")]
pub struct LacpDoc {
    /// LAG of the port: ports with the same name form one LAG.
    #[serde(default = "lag")]
    pub lag: Name,
    /// System ID of the LAG. Default: the MAC address of its first port.
    pub system: Option<Mac>,
    /// System priority of the LAG. Default: 32768.
    pub system_priority: Option<u16>,
    /// Key of the LAG. Default: 1 for the first LAG of the profile, 2 for the next, and so on.
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
    /// LACP timeout: time after which a silent partner expires, 3 s or 90 s. It determines the interval at which the
    /// partner sends.
    #[serde(default)]
    pub timeout: LacpTimeoutDoc,
    /// Time limit for the port to be distributing. After it, traffic starts anyway, and the result is not valid; if no
    /// port of the LAG is distributing, the run ends with an error.
    #[serde(default = "wait")]
    pub wait: Duration,
}

/// LACP activity of a port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum LacpActivityDoc {
    /// It sends LACPDUs regardless of its partner.
    #[default]
    Active,
    /// It sends LACPDUs only to an active partner.
    Passive,
}

/// LACP timeout: time after which a silent partner expires.
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
