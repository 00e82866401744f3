//! VLANs of clients behind a port.

use super::{VlanRange, VlanType};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// VLANs of which each client has its own, like subscribers of an access network (1:1 VLANs, TR-101): those from the first
/// inner one to the last in the first outer one, then in the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ClientVlans")]
pub struct ClientVlansDoc {
    /// Outer VLANs (IEEE 802.1ad). Default: none, clients have a single VLAN.
    pub outer: Option<VlanRange>,
    /// Inner VLANs.
    pub inner: VlanRange,
    /// Type of the outermost tag. Default: 0x88a8 for the outer of two, 0x8100 for a single one.
    pub vlan_type: Option<VlanType>,
}
