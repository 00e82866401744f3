//! Commands to the control protocols of a running trial's hosts: one document from all front doors to the engine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Action on the protocols of a run's hosts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProtocolAction {
    #[doc = concat!("Advertises ", hosts_in_words!(routing), " routes, regardless of their times in the profile.")]
    #[default]
    Advertise,
    #[doc = concat!("Withdraws ", hosts_in_words!(routing), " routes.")]
    Withdraw,
    #[doc = concat!("Brings up ", hosts_in_words!(sessions), " that were taken down; virtual routers take part again.")]
    Up,
    #[doc = concat!("Takes ", hosts_in_words!(sessions), " down until `up`; virtual routers leave.")]
    Down,
    #[doc = concat!("Ends ", hosts_in_words!(restarts), ", like a restarting speaker, and establishes them again after `delay_s`.")]
    Restart,
    #[doc = concat!("Renews ", hosts_in_words!(renewed), ".")]
    Renew,
    #[doc = concat!("Releases ", hosts_in_words!(released), ".")]
    Release,
    #[doc = concat!("Enables ", hosts_in_words!(enabled), " that were disabled.")]
    Enable,
    #[doc = concat!("Disables ", hosts_in_words!(disabled), ".")]
    Disable,
    /// Sets the priority of virtual routers to `priority`.
    Priority,
}

/// A change to the control protocols of a run's hosts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewProtocolChange {
    /// Action.
    pub action: ProtocolAction,
    /// Name of the port in the profile. Default: every port with a protocol that the action applies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    #[doc = concat!(hosts_in_words!(peers), ": their names in the profile, or addresses of their hosts. Default: all.")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<String>,
    /// Names of routes in the profile. Default: all of the peers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<String>,
    /// Time after which sessions may come up again after a restart, s. Default: `retry` of the peer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 3600))]
    pub delay_s: Option<f64>,
    /// New priority of virtual routers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 254))]
    pub priority: Option<u8>,
}

impl ProtocolAction {
    /// All actions.
    pub const ALL: [Self; 10] = [
        Self::Advertise,
        Self::Withdraw,
        Self::Up,
        Self::Down,
        Self::Restart,
        Self::Renew,
        Self::Release,
        Self::Enable,
        Self::Disable,
        Self::Priority,
    ];

    /// Its name, as documents and commands have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Advertise => "advertise",
            Self::Withdraw => "withdraw",
            Self::Up => "up",
            Self::Down => "down",
            Self::Restart => "restart",
            Self::Renew => "renew",
            Self::Release => "release",
            Self::Enable => "enable",
            Self::Disable => "disable",
            Self::Priority => "priority",
        }
    }
}
