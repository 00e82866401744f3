//! Runs.

use crate::Names;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A run to be started.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRun {
    /// YAML or JSON text, or the document itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = crate::profiles::written)]
    pub profile: Option<Value>,
    /// Or the name of one that is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_name: Option<String>,
    /// What to call it; the profile's name if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 100)]
    pub name: Option<String>,
    /// The lease that has the ports; without one they are leased for the run itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<String>,
    /// Rate of every stream, instead of the profile's: `1Mpps`, `2.5Gbps`, `40%`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<String>,
    /// How long, s, instead of the profile's duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0.001)]
    pub duration_s: Option<f64>,
    /// Seed of everything random, instead of the profile's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Worker cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 256)]
    pub cores: Option<u16>,
    /// Words to find it by in the store.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Whether the result is kept in the store; yes if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<bool>,
}

/// How far something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Ports are opened, neighbours asked for.
    Starting,
    /// Traffic flows.
    Running,
    /// Late packets are waited for.
    Draining,
    /// Ended as planned.
    Done,
    /// Ended by an error.
    Failed,
    /// Ended by somebody, or with its lease.
    Stopped,
    /// The server ended before it did.
    Interrupted,
}

impl State {
    /// Whether nothing more happens.
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Stopped | Self::Interrupted)
    }
}

/// A run.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Run {
    /// Its name here and in the store.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// How far it is.
    pub state: State,
    /// Why it failed or was stopped.
    pub reason: Option<String>,
    /// Who started it.
    pub holder: String,
    /// Its ports, by the names they are leased by.
    pub ports: Vec<String>,
    /// When it was started.
    pub started: String,
    /// When it ended.
    pub ended: Option<String>,
    /// How long it sends, s.
    pub duration_s: f64,
    /// How long it has sent, s.
    pub at_s: f64,
    /// Seed of everything random.
    pub seed: u64,
    /// What is odd about it.
    pub warnings: Vec<String>,
    /// Whether to believe it: the result's verdict, once there is one.
    #[schema(value_type = Option<Object>)]
    pub verdict: Option<Value>,
    /// Changes of rates, in words.
    pub rate_changes: Vec<String>,
    /// Changes that could not be made, and why.
    pub refused_changes: Vec<String>,
    /// Names in the order of the columns of live figures.
    pub names: Names,
    /// Ports that are captured.
    pub captures: Vec<String>,
}

/// A change of rates.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The stream, or one with copies for all of them; all streams if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// A rate of its own: `2Mpps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<String>,
    /// Times what the profile says: 0 pauses, 1 resumes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0.0, maximum = 4000.0)]
    pub scale: Option<f64>,
}

/// A ping to be sent from a port of a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPing {
    /// The port's name in the profile.
    pub port: String,
    /// The address that is to answer.
    pub to: String,
    /// Name of the host behind the port that asks; the port's own host has the port's name. Any if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Which of the hosts' addresses asks. If left out, one on the target's network, else the first of its IP version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Echo requests at most; 3 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 100)]
    pub attempts: Option<u16>,
    /// From one to the next, s; 1 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0.01, maximum = 60.0)]
    pub timeout_s: Option<f64>,
}

/// What came of a ping.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Pinged {
    /// The port's name in the profile.
    pub port: String,
    /// The address that asked, if the port has one.
    pub from: Option<String>,
    /// The address that was to answer.
    pub to: String,
    /// The neighbour it went through: the target itself, or a gateway.
    pub via: Option<String>,
    /// Whether it answered.
    pub answered: bool,
    /// Echo requests sent.
    pub sent: u16,
    /// From a request's departure to its answer's arrival, ns.
    pub rtt_ns: Option<u64>,
    /// Why there is no answer.
    pub reason: Option<String>,
}
