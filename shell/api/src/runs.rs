//! Runs.

use crate::Names;
use result::{AchievedResult, OverallResult, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A run to start.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRun {
    /// YAML or JSON text, or the document itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::profiles::profile")]
    pub profile: Option<Value>,
    /// Name of a stored profile, instead of `profile`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_name: Option<String>,
    /// Name of the run. Default: the profile's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub name: Option<String>,
    /// Lease of the ports. Without one, the run leases them for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<String>,
    /// Rate of every stream, instead of the profile's: `1Mpps`, `2.5Gbps`, `40%`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<String>,
    /// Duration of traffic, s, instead of the profile's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.001))]
    pub duration_s: Option<f64>,
    /// Seed of everything random, instead of the profile's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Number of worker cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 256))]
    pub cores: Option<u16>,
    /// Tags in the store.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Whether to store the result. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<bool>,
}

/// State of a run or campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Opens ports, resolves neighbours.
    Starting,
    /// Sends traffic.
    Running,
    /// Waits for late packets.
    Draining,
    /// Ended as planned.
    Done,
    /// Ended by an error.
    Failed,
    /// Stopped by a user, or because its lease ended.
    Stopped,
    /// The server ended first, or a machine of the run was lost: then the reason begins with `incomplete`.
    Interrupted,
}

impl State {
    /// Whether it is final.
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Stopped | Self::Interrupted)
    }
}

/// A run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Id, here and in the store.
    pub id: String,
    /// Name.
    pub name: String,
    /// State.
    pub state: State,
    /// Why it failed or was stopped.
    pub reason: Option<String>,
    /// Name of the caller that started it.
    pub holder: String,
    /// Names of its ports, as they are leased.
    pub ports: Vec<String>,
    /// Start time.
    pub started: String,
    /// End time.
    pub ended: Option<String>,
    /// Planned duration of traffic, s.
    pub duration_s: f64,
    /// Time since traffic started, s.
    pub at_s: f64,
    /// Seed of everything random.
    pub seed: u64,
    /// Warnings.
    pub warnings: Vec<String>,
    /// The result's verdict, once there is one.
    pub verdict: Option<Verdict>,
    /// Share of the requested load that succeeded, once there is a result.
    pub achieved: Option<AchievedResult>,
    /// Outcome of the run, once there is a result.
    pub overall: Option<OverallResult>,
    /// The last 100 changes of rates and streams, one sentence each.
    pub rate_changes: Vec<String>,
    /// Total number of rate and stream changes.
    #[serde(default)]
    pub rate_changes_in_all: u64,
    /// The last 100 changes that were refused, with the reason.
    pub refused_changes: Vec<String>,
    /// Total number of refused changes.
    #[serde(default)]
    pub refused_changes_in_all: u64,
    /// Names of the columns of live figures.
    pub names: Names,
    /// Ports with a capture.
    pub captures: Vec<String>,
}

/// A rate change. Either `rate` or `scale`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRate {
    /// Name of the stream, or of the entry of sessions; the name of a stream with copies means all of them. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// Rate: `2Mpps`; for sessions `500/s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<String>,
    /// Factor on the profile's rate: 0 pauses, 1 resumes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 4000))]
    pub scale: Option<f64>,
}

/// Streams to add to a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewStreams {
    /// Profile with the run's `ports` and the streams to add: YAML or JSON text, or the document itself. Names of streams
    /// must be new to the run. Times, and `load.duration`, count from the moment they are added.
    #[schemars(schema_with = "crate::profiles::profile")]
    pub profile: Value,
}

/// Streams to remove from a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemovedStreams {
    /// Names of streams, at least one; the name of a stream with copies means all of them. Default: all streams there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<Vec<String>>,
    /// Time of removal, s since traffic started. Default: immediately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub when_s: Option<f64>,
}

/// A ping to send from a port of a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPing {
    /// Name of the port in the profile.
    pub port: String,
    /// Destination address.
    pub to: String,
    /// Name of the sending host behind the port; the port's own host has the port's name. Clients are `dhcp[3]` and
    /// `pppoe[3]` by number, `dhcp` and `pppoe` are any of them. Default: any host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Source address. Default: the host's address on the destination's network, else its first of that IP version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Maximum number of echo requests. Default: 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub attempts: Option<u16>,
    /// Time between echo requests, s. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.01, max = 60))]
    pub timeout_s: Option<f64>,
}

/// Outcome of a protocol change.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ProtocolChange {
    /// Ranges of routes, sessions, clients or ports with agents that were changed.
    pub changed: u64,
}

/// Outcome of a ping.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PingResult {
    /// Name of the port in the profile.
    pub port: String,
    /// Source address; null if the port has none.
    pub from: Option<String>,
    /// Destination address.
    pub to: String,
    /// Next hop: the destination itself, or a gateway.
    pub via: Option<String>,
    /// Whether a reply arrived.
    pub answered: bool,
    /// Echo requests sent.
    pub sent: u16,
    /// Round-trip time, ns.
    pub rtt_ns: Option<u64>,
    /// Why there is no reply.
    pub reason: Option<String>,
}
