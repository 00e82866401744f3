//! The machine: versions and the doctor's checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Versions.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Version {
    /// Version of the program.
    pub version: String,
    /// Version of the API, the number in its paths.
    pub api: String,
    /// Version of DPDK; null until a port opens it.
    pub dpdk: Option<String>,
}

/// Severity of a finding of the doctor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    /// Nothing to do.
    Good,
    /// Worth knowing.
    Note,
    /// Affects measurements.
    Bad,
}

/// A check of the doctor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorCheck {
    /// Name of the check.
    pub check: String,
    /// Severity.
    pub status: CheckStatus,
    /// Finding on this machine.
    pub found: String,
    /// Effect on measurements.
    pub why: String,
    /// Remedy: a command where there is one.
    pub remedy: Option<String>,
}
