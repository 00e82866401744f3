//! Profiles: check, store, list.

use crate::ProblemPlace;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A profile in a request: its text, or the document itself.
pub(crate) fn profile(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "oneOf": [
            {"type": "string", "description": "YAML or JSON text"},
            {"type": "object", "description": "The document: 'eagre schema profile'"},
        ],
    })
}

/// A profile to check.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewCheck {
    /// YAML or JSON text, or the document itself.
    #[schemars(schema_with = "profile")]
    pub profile: Value,
}

/// Outcome of a check: what the profile contains, or its errors.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Whether the profile can run.
    pub good: bool,
    /// Number of streams.
    pub streams: usize,
    /// Number of entries under `sessions`.
    pub sessions: usize,
    /// Ports.
    pub ports: Vec<CheckedPort>,
    /// Duration of traffic, s.
    pub duration_s: Option<f64>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// Errors.
    pub errors: Vec<ProblemPlace>,
}

/// A port of a checked profile.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CheckedPort {
    /// Name in the profile.
    pub name: String,
    /// Device.
    pub device: String,
}

/// A profile to start a common test from.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ProfileKind {
    /// Kind of device or test.
    pub name: String,
    /// Purpose.
    pub about: String,
    /// The profile, with comments: change devices, addresses and rates.
    pub profile: String,
    /// Test method to run it by; without one it is a run.
    pub method: Option<String>,
}

/// A profile in the list.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ProfileEntry {
    /// Name.
    pub name: String,
    /// First line of the profile's comment.
    pub about: String,
    /// Whether it is an example that comes with the program.
    pub built_in: bool,
    /// Time of the last change.
    pub changed: Option<String>,
}

/// A profile to store.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewProfile {
    /// YAML or JSON text, or the document itself.
    #[schemars(schema_with = "profile")]
    pub profile: Value,
}

/// A stored profile.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StoredProfile {
    /// Name.
    pub name: String,
    /// Text.
    pub profile: String,
}
