//! Tunnels around frames of flows: VXLAN (RFC 7348), GENEVE (RFC 8926), GRE (RFC 2784, RFC 2890), IP in IP (RFC 2003, RFC 2473, RFC
//! 4213) and GTP-U (3GPP TS 29.281), and PPPoE sessions (RFC 2516). [`OuterHeaders`] are put before a frame that is written; [`Decap`]
//! finds the inner frame in one that is received.
//!
//! Not here: hardware addresses and how they are found, fragments of outer packets, and streams, whose packets are lists of headers.
//!
//! Invariants: only headers are copied; returned slices lie inside the frame, for any lengths in it.

mod decap;
mod encap;
mod pppoe;

pub use decap::{Arrived, Decap, DecapEntry, Inner};
pub use encap::{Encap, EncapLink, OuterHeaders};
pub use pppoe::{PppoeEncap, PppoeLink, PppoeLinks};

use crate::is_vlan_type;
use std::net::IpAddr;
use std::ops::RangeInclusive;

/// Bytes of headers.
const ETHERNET: usize = 14;
const TAG: usize = 4;
const IPV4: usize = 20;
const IPV6: usize = 40;
const UDP: usize = 8;

/// Ethernet types.
const TYPE_IPV4: u16 = 0x0800;
const TYPE_IPV6: u16 = 0x86dd;
/// Transparent Ethernet bridging (RFC 1701).
const TYPE_ETHERNET: u16 = 0x6558;

/// Protocol numbers (IANA).
const PROTOCOL_IPV4: u8 = 4;
const PROTOCOL_UDP: u8 = 17;
const PROTOCOL_IPV6: u8 = 41;
const PROTOCOL_GRE: u8 = 47;

/// VXLAN: the identifier is valid (RFC 7348 section 5).
const VXLAN_VALID: u8 = 0x08;
/// GRE: a key is present (RFC 2890 section 2).
const GRE_KEY: u16 = 0x2000;
/// GTP-U version 1, and its message types (TS 29.281 sections 5.1 and 6.1).
const GTPU_VERSION: u8 = 0x30;
const GTPU_EXTENDED: u8 = 0x04;
const GTPU_ECHO_REQUEST: u8 = 1;
const GTPU_ECHO_RESPONSE: u8 = 2;
const GTPU_PACKET: u8 = 255;
/// Bytes of GTP-U's header, and of what follows it where there is a sequence number or an extension.
const GTPU: usize = 8;
const GTPU_OPTIONAL: usize = 4;
/// The extension with the QoS flow (TS 38.415 section 5.5.2).
const GTPU_PDU_SESSION: u8 = 0x85;

/// Kind of tunnel, and its identifier between the same two ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TunnelKind {
    /// Ethernet in UDP.
    Vxlan {
        /// Network identifier, 24 bits.
        vni: u32,
    },
    /// Ethernet in UDP, without options.
    Geneve {
        /// Network identifier, 24 bits.
        vni: u32,
    },
    /// IP or Ethernet in GRE.
    Gre {
        /// Its key, if it has one.
        key: Option<u32>,
        /// Whether it carries Ethernet.
        ethernet: bool,
    },
    /// IP in IP.
    Ip,
    /// IP in GTP-U.
    Gtpu {
        /// Identifiers of what is sent.
        send: Teids,
        /// Identifiers of what is received.
        receive: Teids,
        /// Type of the PDU (0 downlink, 1 uplink) and QoS flow identifier, if packets name one.
        qos_flow: Option<(u8, u8)>,
    },
}

impl TunnelKind {
    /// Whether IP packets are in it without Ethernet.
    pub fn is_bare(&self) -> bool {
        match self {
            Self::Vxlan { .. } | Self::Geneve { .. } => false,
            Self::Gre { ethernet, .. } => !ethernet,
            Self::Ip | Self::Gtpu { .. } => true,
        }
    }

    /// The registered UDP port, if it is over UDP.
    pub fn udp_port(&self) -> Option<u16> {
        match self {
            Self::Vxlan { .. } => Some(4_789),
            Self::Geneve { .. } => Some(6_081),
            Self::Gtpu { .. } => Some(2_152),
            Self::Gre { .. } | Self::Ip => None,
        }
    }

    /// Bytes between the outer IP header and the inner frame or packet.
    fn shim(&self) -> usize {
        match self {
            Self::Vxlan { .. } | Self::Geneve { .. } => UDP + 8,
            Self::Gre { key, .. } => 4 + if key.is_some() { 4 } else { 0 },
            Self::Ip => 0,
            Self::Gtpu { qos_flow, .. } => {
                UDP + GTPU + if qos_flow.is_some() { GTPU_OPTIONAL + 4 } else { 0 }
            }
        }
    }
}

impl std::fmt::Display for TunnelKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Vxlan { vni } => write!(f, "VXLAN {vni}"),
            Self::Geneve { vni } => write!(f, "GENEVE {vni}"),
            Self::Gre { key: Some(key), .. } => write!(f, "GRE with key {key}"),
            Self::Gre { key: None, .. } => f.write_str("GRE"),
            Self::Ip => f.write_str("IP-in-IP"),
            Self::Gtpu { .. } => f.write_str("GTP-U"),
        }
    }
}

/// Tunnel endpoint identifiers of GTP-U: one for all, or one for each client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Teids {
    /// The only one, or that of the first client.
    pub first: u32,
    /// Clients' addresses in the order in which identifiers count on, of one family; without any, all have the same.
    pub clients: Vec<RangeInclusive<IpAddr>>,
    /// Whether clients are at this end: the source of what is sent, the destination of what is received.
    pub clients_here: bool,
}

impl Teids {
    /// That of a client; `None` if it is none of them.
    fn of(&self, client: IpAddr) -> Option<u32> {
        if self.clients.is_empty() {
            return Some(self.first);
        }
        let mut before = 0;
        for range in &self.clients {
            let (first, last, ip) = (bits(*range.start()), bits(*range.end()), bits(client));
            if range.contains(&client) {
                return Some(self.first.wrapping_add(before + (ip - first) as u32));
            }
            before += (last - first) as u32 + 1;
        }
        None
    }
}

fn bits(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => u32::from(ip).into(),
        IpAddr::V6(ip) => ip.into(),
    }
}

/// A tunnel between two ends, as one of them sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tunnel {
    /// Kind.
    pub kind: TunnelKind,
    /// The address of this end.
    pub from: IpAddr,
    /// The address of the other end, of the same family.
    pub to: IpAddr,
    /// Differentiated services code point of outer packets. The ECN bits are copied from inner ones (RFC 6040).
    pub dscp: u8,
    /// Time to live, or hop limit, of outer packets.
    pub ttl: u8,
    /// The other end's UDP port, and this end's; without meaning where there is no UDP.
    pub udp_port: u16,
    /// UDP source port; `None` depends on the flow (RFC 7348 section 5).
    pub source_port: Option<u16>,
}

impl Tunnel {
    /// Bytes that it puts before an inner IP packet, from the outer IP header on: with an inner Ethernet header where it carries
    /// Ethernet.
    pub fn overhead(&self) -> usize {
        let ip = if self.from.is_ipv4() { IPV4 } else { IPV6 };
        ip + self.kind.shim() + if self.kind.is_bare() { 0 } else { ETHERNET }
    }

    /// Whether what arrives in both is in one network, where the same address is the same host.
    pub fn shares_network(&self, other: &Self) -> bool {
        (&self.kind, self.from, self.udp_port) == (&other.kind, other.from, other.udp_port)
    }
}

impl std::fmt::Display for Tunnel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} to {}", self.kind, self.to)
    }
}

#[inline(always)]
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[inline(always)]
fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[inline(always)]
fn put16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// VLAN identifiers of a frame, outermost first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Tags {
    ids: [u16; 2],
    count: usize,
}

impl Tags {
    #[inline(always)]
    fn as_slice(&self) -> &[u16] {
        &self.ids[..self.count]
    }
}

/// Where what follows the tags of a frame begins, their identifiers, and the Ethernet type after them. `None` if there
/// are more than two: identifier zero is none.
#[inline(always)]
fn tags(frame: &[u8]) -> Option<(usize, Tags, u16)> {
    let (mut at, mut tags) = (ETHERNET, Tags::default());
    let mut kind = u16_at(frame, at - 2)?;
    while is_vlan_type(kind) {
        let id = u16_at(frame, at)? & 0xfff;
        if id != 0 {
            *tags.ids.get_mut(tags.count)? = id;
            tags.count += 1;
        }
        kind = u16_at(frame, at + 2)?;
        at += TAG;
    }
    Some((at, tags, kind))
}

/// Source and destination of an IP packet.
fn ip_ends(ip: &[u8]) -> Option<(IpAddr, IpAddr)> {
    let v6 = |at: usize| Some(IpAddr::from(*ip.get(at..)?.first_chunk::<16>()?));
    match ip.first()? >> 4 {
        4 => Some((IpAddr::from(u32_at(ip, 12)?.to_be_bytes()), IpAddr::from(u32_at(ip, 16)?.to_be_bytes()))),
        6 => Some((v6(8)?, v6(24)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
