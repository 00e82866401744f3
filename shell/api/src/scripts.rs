//! Scripts.

use crate::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Range of a script's longest frame with FCS, bytes. The lower bound is the default.
pub const SCRIPT_FRAME_LENGTHS: RangeInclusive<u32> = 1_518..=9_600;

/// A Lua script to run. It must have an end: `run_time_s`, `deadline_s` or both.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewScript {
    /// The script's text.
    pub text: String,
    /// Devices of its ports, as the script numbers them from 0.
    #[schemars(length(min = 1, max = 256))]
    pub ports: Vec<String>,
    /// The script's own arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// Name. Default: script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub name: Option<String>,
    /// Lease of the ports. Without one, the script leases them for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<String>,
    /// Time after which the script is requested to stop, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.001))]
    pub run_time_s: Option<f64>,
    /// Time after which the script is ended unconditionally, s. Default: 5 s after the request to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.001))]
    pub deadline_s: Option<f64>,
    /// Longest frame with FCS that it sends and receives, bytes. Default: 1518. Interfaces need an MTU of 18 bytes less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1518, max = 9600))]
    pub frame_length: Option<u32>,
}

/// A script.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Script {
    /// Id.
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
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Start time.
    pub started: String,
    /// End time.
    pub ended: Option<String>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// The end of what it printed, at most 256 KiB. Empty in lists.
    pub output: String,
    /// Bytes printed before that.
    pub output_skipped: u64,
    /// Files it wrote. Empty in lists.
    pub files: Vec<ScriptFile>,
}

/// A file that a script wrote.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ScriptFile {
    /// Name.
    pub name: String,
    /// Size.
    pub bytes: u64,
}
