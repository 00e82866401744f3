//! Who may do what, and who has which port.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a client may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Look at everything.
    Watch,
    /// Also reserve ports and send traffic.
    Run,
    /// Also end what others have begun, delete results, and read the audit log.
    Admin,
}

impl Role {
    /// As tokens have it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Watch => "watch",
            Self::Run => "run",
            Self::Admin => "admin",
        }
    }
}

/// What answers.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Version {
    /// Version of the program.
    pub version: String,
    /// Version of the API, the number in its paths.
    pub api: String,
    /// Version of DPDK.
    pub dpdk: String,
}

/// Who asks.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Whoami {
    /// The name the token has, or `local`.
    pub name: String,
    /// What it may do.
    pub role: Role,
}

/// What a port is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PortKind {
    /// A kernel interface.
    Interface,
    /// A network card that the kernel has given away.
    Pci,
    /// An end of a link inside the process.
    InProcess,
}

/// A port that can be used here.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Port {
    /// Its name: ports are leased by it.
    pub name: String,
    /// What to write for it in a profile.
    pub device: String,
    /// What it is.
    pub kind: PortKind,
    /// Whether it is up.
    pub up: bool,
    /// Bits per second at layer 1, if known.
    pub speed_bps: Option<u64>,
    /// Longest payload, bytes.
    pub mtu: Option<u32>,
    /// Its driver.
    pub driver: Option<String>,
    /// Whether the operator lets it be used.
    pub allowed: bool,
    /// What is special about it.
    pub note: Option<String>,
    /// Who has it.
    pub lease: Option<LeaseOfPort>,
}

/// Who has a port, and for how long.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct LeaseOfPort {
    /// Who.
    pub holder: String,
    /// Until when, unless it is renewed.
    pub expires: String,
    /// How long that is, s.
    pub seconds_left: f64,
}

/// Ports to be reserved.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLease {
    /// Their names, or devices as profiles have them.
    #[schema(min_items = 1, max_items = 256)]
    pub ports: Vec<String>,
    /// How long, s; from 1 to 86,400.
    #[serde(default = "NewLease::usual_ttl_s")]
    #[schema(minimum = 1.0, maximum = 86400.0)]
    pub ttl_s: f64,
    /// What for, for others to read; the caller's name stands before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 100)]
    pub holder: Option<String>,
}

impl NewLease {
    fn usual_ttl_s() -> f64 {
        60.0
    }
}

/// More time.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Renewal {
    /// How long from now, s; as at first if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1.0, maximum = 86400.0)]
    pub ttl_s: Option<f64>,
}

/// Reserved ports. When it ends, so does what was started with it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Lease {
    /// Who knows it may start traffic on the ports. Shown to its holder and to admins only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Names of the ports.
    pub ports: Vec<String>,
    /// Who has them.
    pub holder: String,
    /// Since when.
    pub begun: String,
    /// Until when, unless it is renewed.
    pub expires: String,
    /// How long it lasts from a renewal on, s.
    pub ttl_s: f64,
    /// How long that still is, s.
    pub seconds_left: f64,
}

/// Who did what.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    /// When.
    pub at: String,
    /// Name of the token, `local`, or `-` for nobody known.
    pub who: String,
    /// What that name may do.
    pub role: Option<Role>,
    /// Address it came from.
    pub from: String,
    /// What was asked for.
    pub what: String,
    /// The status it was answered with.
    pub status: u16,
    /// What came of it, where there is more to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}
