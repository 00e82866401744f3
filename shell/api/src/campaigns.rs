//! Test methods and campaigns.

use crate::State;
use result::OverallResult;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A test method.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Method {
    /// Name.
    pub name: String,
    /// Purpose of the method.
    pub about: String,
    /// Parts, with their settings.
    pub parts: Vec<MethodPart>,
}

/// A part of a method.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MethodPart {
    /// Name, as settings are given: `throughput.resolution`.
    pub name: String,
    /// Settings and their defaults.
    pub settings: Map<String, Value>,
}

/// A campaign to start.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewCampaign {
    /// Name of the method.
    pub method: String,
    /// YAML or JSON text, or the document itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::profiles::profile")]
    pub profile: Option<Value>,
    /// Name of a stored profile, instead of `profile`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_name: Option<String>,
    /// Lease of the ports. Without one, the campaign leases them for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<String>,
    /// Name of the campaign. Default: the profile's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub name: Option<String>,
    /// Take minutes instead of hours.
    #[serde(default)]
    pub quick: bool,
    /// Duration of every measuring trial, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.001))]
    pub trial_s: Option<f64>,
    /// Frame lengths and mixes: `64B`, `imix`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<String>>,
    /// Settings by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// Use pseudorandom addresses and ports (RFC 4814).
    #[serde(default)]
    pub random_stimuli: bool,
    /// Number of destination networks (RFC 2544 section 12).
    #[serde(default)]
    pub networks: u16,
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
}

/// A campaign.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Campaign {
    /// Id, here and in the store.
    pub id: String,
    /// Name.
    pub name: String,
    /// Name of the method.
    pub method: String,
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
    /// Seed of everything random.
    pub seed: u64,
    /// Warnings.
    pub warnings: Vec<String>,
    /// Completed share of the running part, from 0 to 1.
    pub fraction: f64,
    /// Completed trials.
    pub trials_done: u64,
    /// Estimated number of trials left.
    pub trials_left: u64,
    /// Estimated time left, s.
    pub left_s: f64,
    /// Running part.
    pub part: Option<String>,
    /// Running trial.
    pub label: Option<String>,
    /// Completed trials.
    pub points: Vec<Point>,
    /// Findings, one sentence each.
    pub found: Vec<String>,
    /// Whether the method found what it looks for and, where it judges, passed; once it has ended.
    #[serde(default)]
    pub overall: Option<OverallResult>,
}

/// A completed trial, as a point of a curve.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Number within its part.
    pub number: u64,
    /// Part.
    pub part: String,
    /// Label.
    pub label: String,
    /// Frame length or mix.
    pub frame: String,
    /// Offered load of all streams, packets per second.
    pub offered_pps: f64,
    /// Duration of traffic, s.
    pub duration_s: f64,
    /// Packets sent.
    pub sent: u64,
    /// Packets received.
    pub received: u64,
    /// Packets lost.
    pub lost: u64,
    /// `lost` / `sent`.
    pub loss_ratio: f64,
    /// Median latency, ns.
    pub latency_p50_ns: Option<u64>,
    /// 99th percentile of latency, ns.
    pub latency_p99_ns: Option<u64>,
    /// Whether its figures are valid.
    pub valid: bool,
    /// Whether the tester was the limit.
    pub generator_limited: bool,
    /// Whether something on the tester's machine disturbed it.
    #[serde(default)]
    pub disturbed: bool,
    /// Why it is not valid, why the tester was the limit, or what disturbed it.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// Standard deviation of latency, ns.
    #[serde(default)]
    pub latency_stddev_ns: Option<f64>,
    /// Mean jitter (RFC 4689), ns.
    #[serde(default)]
    pub jitter_mean_ns: Option<f64>,
    /// Sessions of the trial.
    pub sessions: Option<PointSessions>,
}

/// Sessions of a trial.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PointSessions {
    /// Load requested, in `unit`.
    #[serde(default)]
    pub load: f64,
    /// Unit of the load: `connections/s`, `connections`, `transactions/s`, `bits/s`.
    #[serde(default)]
    pub unit: String,
    /// Sessions attempted.
    #[serde(default)]
    pub attempted: u64,
    /// Sessions established.
    pub established: u64,
    /// Responses received.
    pub transactions: u64,
    /// Transactions failed.
    pub transactions_failed: u64,
    /// `transactions_failed` / `transactions`.
    #[serde(default)]
    pub failed_ratio: f64,
    /// 99th percentile of the time to open a session, ns.
    #[serde(default)]
    pub setup_p99_ns: Option<u64>,
    /// 99th percentile of the time to the first byte, ns.
    #[serde(default)]
    pub ttfb_p99_ns: Option<u64>,
    /// 99th percentile of the time to the last byte, ns.
    #[serde(default)]
    pub ttlb_p99_ns: Option<u64>,
}
