//! Ports and their leases.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kind of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PortKind {
    /// Kernel interface.
    Interface,
    /// Network card that is bound to a DPDK driver.
    Pci,
    /// End of a link inside the process.
    InProcess,
}

/// A port of this machine.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Port {
    /// Name to lease it by.
    pub name: String,
    /// Device to write in a profile.
    pub device: String,
    /// Kind.
    pub kind: PortKind,
    /// Whether the link is up.
    pub up: bool,
    /// Speed at layer 1, bits per second.
    pub speed_bps: Option<u64>,
    /// MTU, bytes.
    pub mtu: Option<u32>,
    /// Driver.
    pub driver: Option<String>,
    /// Whether the operator allows its use.
    pub allowed: bool,
    /// Remark.
    pub note: Option<String>,
    /// Current lease.
    pub lease: Option<PortLease>,
}

/// The lease of a port.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PortLease {
    /// Holder.
    pub holder: String,
    /// When it expires, unless it is renewed.
    pub expires: String,
    /// Time until then, s.
    pub seconds_left: f64,
}

/// Ports to lease.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewLease {
    /// Names of ports, or devices as profiles write them.
    #[schemars(length(min = 1, max = 256))]
    pub ports: Vec<String>,
    /// Time until the lease expires, s; from 1 to 86,400.
    #[serde(default = "NewLease::usual_ttl_s")]
    #[schemars(range(min = 1, max = 86400))]
    pub ttl_s: f64,
    /// Purpose, shown to others behind the caller's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub holder: Option<String>,
}

impl NewLease {
    fn usual_ttl_s() -> f64 {
        60.0
    }
}

/// Renewal of a lease.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Renewal {
    /// Time from now until the lease expires, s. Default: the time it was taken for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86400))]
    pub ttl_s: Option<f64>,
}

/// A lease of ports. When it ends, the runs and campaigns that use it are stopped.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Lease {
    /// Secret id: its bearer may start traffic on the ports. Shown only to the holder and to admins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Names of the ports.
    pub ports: Vec<String>,
    /// Holder.
    pub holder: String,
    /// When it was taken.
    pub begun: String,
    /// When it expires, unless it is renewed.
    pub expires: String,
    /// Duration after each renewal, s.
    pub ttl_s: f64,
    /// Time until it expires, s.
    pub seconds_left: f64,
}
