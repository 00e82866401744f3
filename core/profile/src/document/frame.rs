//! A frame given byte by byte, as written.

use crate::document::quantity::{ChecksumAt, Hex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A frame given byte by byte. Nothing of it is computed but the checksums listed, and what 'vary' writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Frame")]
pub struct FrameDoc {
    /// The bytes from the destination MAC address on, without FCS. Frames below 60 bytes are padded with zeros.
    pub hex: Hex,
    /// Checksums to compute in every packet, each by its header and the header's first byte: 'ipv4@14', 'udp@34',
    /// 'tcp@34', 'icmp@34', 'icmpv6@54'. 'udp@58 over 38' also gives the offset of the IP header around it; without it,
    /// that is the one after Ethernet and VLAN tags. They cover the length in the IP header. All others stay as given,
    /// right or wrong.
    #[serde(default)]
    pub checksums: Vec<ChecksumAt>,
    /// Source MAC address: as given in 'hex', or the port's own.
    #[serde(default)]
    pub src_mac: SourceMacDoc,
    /// Destination MAC address: as given in 'hex', or that of the port's gateway or, without one, of port 'to'.
    #[serde(default)]
    pub dst_mac: DestinationMacDoc,
}

/// Where a frame's source MAC address is from.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum SourceMacDoc {
    /// As given.
    #[default]
    Given,
    /// The port's.
    Port,
}

/// Where a frame's destination MAC address is from.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum DestinationMacDoc {
    /// As given.
    #[default]
    Given,
    /// The next hop's.
    NextHop,
}
