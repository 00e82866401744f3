//! Tunnels around the sessions of an end, as written.

use super::Ip;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A tunnel around all sessions of an end, from an address of the port to the device's. One of 'vxlan', 'geneve',
/// 'gre', 'ipip' and 'gtpu' selects the kind. Received packets are decapsulated; ARP, neighbor discovery and ping
/// inside the tunnel get replies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "EndTunnel")]
pub struct EndTunnelDoc {
    /// VXLAN (RFC 7348): Ethernet over UDP.
    pub vxlan: Option<OverlayDoc>,
    /// GENEVE (RFC 8926): Ethernet over UDP, without options.
    pub geneve: Option<OverlayDoc>,
    /// GRE (RFC 2784): IP, or Ethernet.
    pub gre: Option<GreDoc>,
    /// IP in IP (RFC 2003, RFC 4213, RFC 2473): the outer version is the version of 'to', the inner one the sessions'
    /// version.
    pub ipip: Option<IpIpDoc>,
    /// GTP-U (3GPP TS 29.281): IP over UDP. Echo requests get responses.
    pub gtpu: Option<GtpuDoc>,
    /// Address of the other end of the tunnel: the device's.
    pub to: Ip,
    /// Address of this end, of a host of the port; outer packets have that host's MAC address, VLANs and gateway. Default: an address
    /// of the port on the network of 'to', or its first of that IP version.
    pub from: Option<Ip>,
    /// Router inside the tunnel that clients send to; for tunnels that carry Ethernet. Default: servers are on the clients' own network.
    pub gateway: Option<Ip>,
    /// Differentiated services code point of outer packets (RFC 2474).
    #[serde(default)]
    #[schemars(range(min = 0, max = 63))]
    pub dscp: u8,
    /// Time to live, or hop limit, of outer packets.
    #[serde(default = "ttl")]
    #[schemars(range(min = 1, max = 255))]
    pub ttl: u8,
}

fn ttl() -> u8 {
    64
}

/// An overlay network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Overlay")]
pub struct OverlayDoc {
    /// Network identifier (VNI).
    #[schemars(range(min = 0, max = 16_777_215))]
    pub vni: u32,
    /// UDP destination port. Default: 4789 for vxlan, 6081 for geneve.
    #[schemars(range(min = 1, max = 65_535))]
    pub udp_port: Option<u16>,
    /// UDP source port of all packets. Default: 49152..65535, depending on the flow, so that routers spread flows (RFC 7348
    /// section 5).
    #[schemars(range(min = 1, max = 65_535))]
    pub source_port: Option<u16>,
}

/// Generic routing encapsulation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Gre")]
pub struct GreDoc {
    /// Key of sent and received packets (RFC 2890). Default: they have none.
    #[schemars(range(min = 0, max = 4_294_967_295_u32))]
    pub key: Option<u32>,
    /// Carry Ethernet (protocol type 0x6558) instead of IP.
    #[serde(default)]
    pub ethernet: bool,
}

/// IP in IP.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "IpIp")]
pub struct IpIpDoc {}

/// User plane of a mobile network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Gtpu")]
pub struct GtpuDoc {
    /// Tunnel endpoint identifier (TEID) of sent packets.
    #[schemars(range(min = 0, max = 4_294_967_295_u32))]
    pub teid: u32,
    /// TEID of received packets. Default: the same.
    #[schemars(range(min = 0, max = 4_294_967_295_u32))]
    pub own_teid: Option<u32>,
    /// One TEID in each direction for each client address, counting on from 'teid' and 'own_teid' in the order of the addresses.
    #[serde(default)]
    pub per_client: bool,
    /// QoS flow identifier, sent in a PDU session container (3GPP TS 38.415): uplink by clients, downlink by servers. Default: no
    /// container.
    #[schemars(range(min = 0, max = 63))]
    pub qfi: Option<u8>,
    /// UDP destination port. Default: 2152.
    #[schemars(range(min = 1, max = 65_535))]
    pub udp_port: Option<u16>,
    /// UDP source port of all packets. Default: 49152..65535, depending on the flow.
    #[schemars(range(min = 1, max = 65_535))]
    pub source_port: Option<u16>,
}
