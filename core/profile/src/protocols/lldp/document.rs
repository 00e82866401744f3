//! Data that a port and its hosts advertise by LLDP.

use crate::document::{Duration, Hex, Ip};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// LLDP agent of a port's first host, or one for each host (IEEE 802.1AB). It advertises from before traffic until
/// after it, and then sends a shutdown LLDPDU; the result lists the neighbours. In texts, '{n}' is the number of the
/// host, from 0. An identifier is a MAC address, an IP address, or a text; 'interface:' or 'local:' before a text sets
/// its type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Lldp")]
pub struct LldpDoc {
    /// Chassis identifier. A text is locally assigned unless prefixed. Default: the host's MAC address.
    #[schemars(length(min = 1))]
    pub chassis_id: Option<String>,
    /// Port identifier. A text is the name of an interface unless prefixed. Default: the host's name.
    #[schemars(length(min = 1))]
    pub port_id: Option<String>,
    /// Description of the port.
    #[schemars(length(min = 1))]
    pub port_description: Option<String>,
    /// Name of the system. Default: the host's name.
    #[schemars(length(min = 1))]
    pub system_name: Option<String>,
    /// Description of the system.
    #[schemars(length(min = 1))]
    pub system_description: Option<String>,
    /// Capabilities of the system.
    #[serde(default)]
    pub capabilities: Vec<LldpCapabilityDoc>,
    /// Those that are enabled. Default: all of them.
    pub enabled: Option<Vec<LldpCapabilityDoc>>,
    /// Management addresses. Default: the host's addresses.
    pub management: Option<Vec<Ip>>,
    /// TLVs of organizations.
    #[serde(default)]
    pub tlvs: Vec<LldpTlvDoc>,
    /// Time from one LLDPDU to the next. After the first of a new neighbour, four follow a second apart.
    #[serde(default = "interval")]
    pub interval: Duration,
    /// Number of intervals that neighbours keep the information; one second more is the time to live, at most 65,535 s.
    #[serde(default = "hold")]
    #[schemars(range(min = 1, max = 100))]
    pub hold: u32,
    /// Time that neighbours keep the information, in whole seconds. Default: `hold` intervals and one second more.
    pub hold_time: Option<Duration>,
    /// Whether each host of the port is an agent, with its own MAC address, and not just the first.
    #[serde(default)]
    pub each_host: bool,
}

/// System capabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum LldpCapabilityDoc {
    /// Something else.
    Other,
    /// Repeater.
    Repeater,
    /// MAC bridge.
    Bridge,
    /// WLAN access point.
    WlanAccessPoint,
    /// Router.
    Router,
    /// Telephone.
    Telephone,
    /// DOCSIS cable device.
    Docsis,
    /// Only an end station.
    Station,
    /// C-VLAN component of a bridge.
    CVlan,
    /// S-VLAN component of a bridge.
    SVlan,
    /// Two-port MAC relay.
    TwoPortMacRelay,
}

/// TLV of an organization.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LldpTlv")]
pub struct LldpTlvDoc {
    /// Organizationally unique identifier: three bytes.
    pub oui: Hex,
    /// Subtype, of the organization.
    #[serde(default)]
    pub subtype: u8,
    /// Information string; at most 507 bytes.
    pub value: Option<Hex>,
}

impl Default for LldpDoc {
    fn default() -> Self {
        Self {
            chassis_id: None,
            port_id: None,
            port_description: None,
            system_name: None,
            system_description: None,
            capabilities: Vec::new(),
            enabled: None,
            management: None,
            tlvs: Vec::new(),
            interval: interval(),
            hold: hold(),
            hold_time: None,
            each_host: false,
        }
    }
}

fn interval() -> Duration {
    Duration(Nanos::from_secs(30))
}

fn hold() -> u32 {
    4
}
