//! Roles, the caller, the audit log.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rights of a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Read everything.
    Watch,
    /// Also lease ports and send traffic.
    Run,
    /// Also stop other people's runs, delete results, and read the audit log.
    Admin,
}

impl Role {
    /// The role as token files name it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Watch => "watch",
            Self::Run => "run",
            Self::Admin => "admin",
        }
    }
}

/// The caller.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Whoami {
    /// Name of the token, or `local`.
    pub name: String,
    /// Role.
    pub role: Role,
}

/// An entry of the audit log.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AuditEntry {
    /// Time.
    pub at: String,
    /// Name of the token, `local`, or `-` if the caller is unknown.
    pub who: String,
    /// Role of the caller.
    pub role: Option<Role>,
    /// Address of the caller.
    pub from: String,
    /// The request.
    pub what: String,
    /// HTTP status of the response.
    pub status: u16,
    /// Details: the run that was started, the reason of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}
