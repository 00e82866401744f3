//! Test methods and campaigns.

use crate::State;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A test method.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// What it finds.
    pub about: String,
    /// What it consists of, with what can be set.
    pub parts: Vec<MethodPart>,
}

/// A part of a method.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct MethodPart {
    /// Its name, as settings are given for it: `throughput.resolution`.
    pub name: String,
    /// Its settings and their usual values.
    #[schema(value_type = Object)]
    pub settings: Map<String, Value>,
}

/// A campaign to be started.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewCampaign {
    /// The method.
    pub method: String,
    /// YAML or JSON text, or the document itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = crate::profiles::written)]
    pub profile: Option<Value>,
    /// Or the name of one that is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_name: Option<String>,
    /// The lease that has the ports; without one they are leased for the campaign itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<String>,
    /// What to call it; the profile's name if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 100)]
    pub name: Option<String>,
    /// Minutes instead of hours.
    #[serde(default)]
    pub quick: bool,
    /// Length of every trial that counts, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0.001)]
    pub trial_s: Option<f64>,
    /// Frame lengths and mixes: `64B`, `imix`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<String>>,
    /// Settings by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// Pseudorandom addresses and ports (RFC 4814).
    #[serde(default)]
    pub random_stimuli: bool,
    /// Destinations over so many networks (RFC 2544 section 12).
    #[serde(default)]
    pub networks: u16,
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
}

/// A campaign.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Campaign {
    /// Its name here and in the store.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// The method.
    pub method: String,
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
    /// Seed of everything random.
    pub seed: u64,
    /// What is odd about it.
    pub warnings: Vec<String>,
    /// How much of the running part is done, from 0 to 1.
    pub fraction: f64,
    /// Trials that have ended.
    pub trials_done: u64,
    /// Trials it has before it, if the device goes on as it seems.
    pub trials_left: u64,
    /// How long that takes, s.
    pub left_s: f64,
    /// The part that runs.
    pub part: Option<String>,
    /// The trial that runs.
    pub label: Option<String>,
    /// Trials that have ended.
    pub points: Vec<Point>,
    /// What was found, in sentences.
    pub found: Vec<String>,
}

/// A trial that has ended, as a point of a curve.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Point {
    /// Its number in its part.
    pub number: u64,
    /// The part.
    pub part: String,
    /// What it was.
    pub label: String,
    /// Frame length or mix.
    pub frame: String,
    /// Packets per second offered, all streams together.
    pub offered_pps: f64,
    /// Length, s.
    pub duration_s: f64,
    /// Packets sent.
    pub sent: u64,
    /// Packets received.
    pub received: u64,
    /// Packets lost.
    pub lost: u64,
    /// Their share of those sent.
    pub loss_ratio: f64,
    /// Median latency, ns.
    pub latency_p50_ns: Option<u64>,
    /// 99th percentile, ns.
    pub latency_p99_ns: Option<u64>,
    /// Whether to believe it.
    pub valid: bool,
    /// Whether the tester was the limit.
    pub generator_limited: bool,
    /// What came of sessions.
    pub sessions: Option<PointSessions>,
}

/// What came of a trial's sessions.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
pub struct PointSessions {
    /// Established.
    pub established: u64,
    /// Responses.
    pub transactions: u64,
    /// Those that failed.
    pub transactions_failed: u64,
}
