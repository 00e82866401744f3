//! Outer headers, prepared for a tunnel and written for each frame.
//!
//! Invariant: [`Decap`](super::Decap) reads every written frame, with right lengths and checksums: of IPv4 headers, and
//! of UDP over IPv6; UDP over IPv4 has none (RFC 7348 section 5, RFC 8926 section 3.3, TS 29.281 section 4.4.2).

use super::{
    ETHERNET, GRE_KEY, GTPU, GTPU_EXTENDED, GTPU_PACKET, GTPU_PDU_SESSION, GTPU_VERSION, IPV4, IPV6,
    PROTOCOL_GRE, PROTOCOL_IPV4, PROTOCOL_IPV6, PROTOCOL_UDP, PppoeEncap, TAG, TYPE_ETHERNET, TYPE_IPV4,
    TYPE_IPV6, Tunnel, TunnelKind, UDP, VXLAN_VALID, ip_ends, put16, u32_at,
};
use crate::{Vlans, checksum, is_vlan_type};
use std::net::IpAddr;

/// Most bytes of outer headers: two tags, IPv6, UDP, GTP-U with an extension.
const HEAD_MAX: usize = ETHERNET + 2 * TAG + IPV6 + UDP + GTPU + 8;
/// The lowest of the source ports that depend on the flow, and the bits that do: 49152..65535 (RFC 7348 section 5).
const SOURCE_PORTS: u16 = 49_152;
const SOURCE_BITS: u16 = 0x3fff;
/// IPv4: never in fragments (RFC 2003 section 3.1).
const DONT_FRAGMENT: u8 = 0x40;

/// The link that outer packets leave by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncapLink {
    /// This end's hardware address.
    pub own_mac: [u8; 6],
    /// That of the next hop.
    pub hop_mac: [u8; 6],
    /// VLANs, outermost first, two at most.
    pub vlans: Vlans,
}

/// Puts outer headers before frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encap {
    tunnel: Tunnel,
    head: [u8; HEAD_MAX],
    /// Bytes of it.
    len: usize,
    /// Where the outer IP header begins.
    ip: usize,
    /// Sum of the words of the IPv4 header that do not change.
    ip_sum: u64,
    /// Sum of IPv6's pseudo-header for UDP, but for the length.
    pseudo_sum: u64,
}

impl Encap {
    /// For frames of `tunnel` that leave by `link`. More than two VLANs are cut off.
    pub fn new(tunnel: Tunnel, link: &EncapLink) -> Self {
        let mut head = Vec::with_capacity(HEAD_MAX);
        head.extend(link.hop_mac);
        head.extend(link.own_mac);
        link.vlans.tags().take(2).for_each(|tag| head.extend(tag));
        head.extend(if tunnel.from.is_ipv4() { TYPE_IPV4 } else { TYPE_IPV6 }.to_be_bytes());
        let ip = head.len();
        let protocol = match tunnel.kind {
            TunnelKind::Gre { .. } => PROTOCOL_GRE,
            // That of the inner packet's version.
            TunnelKind::Ip => 0,
            _ => PROTOCOL_UDP,
        };
        let (from, to) = (tunnel.from, tunnel.to);
        let mut pseudo_sum = 0;
        match (from, to) {
            (std::net::IpAddr::V4(from), std::net::IpAddr::V4(to)) => {
                head.extend([
                    0x45,
                    tunnel.dscp << 2,
                    0,
                    0,
                    0,
                    0,
                    DONT_FRAGMENT,
                    0,
                    tunnel.ttl,
                    protocol,
                    0,
                    0,
                ]);
                head.extend(from.octets());
                head.extend(to.octets());
            }
            (from, to) => {
                let class = tunnel.dscp << 2;
                head.extend([0x60 | class >> 4, class << 4, 0, 0, 0, 0, protocol, tunnel.ttl]);
                head.extend(octets(from));
                head.extend(octets(to));
                pseudo_sum = checksum::sum(&head[ip + 8..], u64::from(PROTOCOL_UDP));
            }
        }
        let ip_sum = checksum::sum(&head[ip..ip + IPV4], 0);
        head.extend(shim(&tunnel));
        let len = head.len();
        head.resize(HEAD_MAX, 0);
        let mut all = [0; HEAD_MAX];
        all.copy_from_slice(&head);
        Self { tunnel, head: all, len, ip, ip_sum, pseudo_sum }
    }

    /// Bytes to leave before an inner frame, which begins with an Ethernet header in any case: a tunnel that carries none writes over
    /// it.
    #[inline(always)]
    pub fn before(&self) -> usize {
        if self.tunnel.kind.is_bare() { self.len - ETHERNET } else { self.len }
    }

    /// Writes the outer headers of `frame`, in which an inner frame follows [`before`](Self::before) bytes. `inner_ip`:
    /// where the inner IP header begins in `frame`, if there is one.
    ///
    /// # Panics
    /// If the frame is not longer than what is before its inner IP header.
    #[inline]
    pub fn wrap(&self, frame: &mut [u8], inner_ip: Option<usize>) {
        frame[..self.len].copy_from_slice(&self.head[..self.len]);
        let (hash, ecn) = match inner_ip {
            Some(at) => (flow_hash(&frame[at..]), inner_ecn(&frame[at..])),
            None => (0, 0),
        };
        let total = frame.len() - self.ip;
        let is_v4 = self.tunnel.from.is_ipv4();
        let mut ip_sum = self.ip_sum;
        match self.tunnel.kind {
            TunnelKind::Ip => {
                let is_inner_v4 = frame[self.len] >> 4 == 4;
                let protocol = if is_inner_v4 { PROTOCOL_IPV4 } else { PROTOCOL_IPV6 };
                frame[self.ip + if is_v4 { 9 } else { 6 }] = protocol;
                ip_sum += u64::from(protocol);
            }
            TunnelKind::Gre { ethernet: false, .. } => {
                let kind = if frame[self.len] >> 4 == 4 { TYPE_IPV4 } else { TYPE_IPV6 };
                put16(frame, self.ip + self.ip_len() + 2, kind);
            }
            TunnelKind::Gtpu { .. } => self.put_teid(frame),
            _ => {}
        }
        if is_v4 {
            frame[self.ip + 1] |= ecn;
            put16(frame, self.ip + 2, total as u16);
            let sum = ip_sum + total as u64 + u64::from(ecn);
            put16(frame, self.ip + 10, checksum::finish(sum));
        } else {
            // RFC 6438: the flow label spreads flows where the outer packet has no ports.
            frame[self.ip + 1] |= ecn << 4 | (hash >> 16) as u8 & 0xf;
            put16(frame, self.ip + 2, hash as u16);
            put16(frame, self.ip + 4, (total - IPV6) as u16);
        }
        if self.tunnel.kind.udp_port().is_some() {
            self.finish_udp(frame, hash);
        }
    }

    fn ip_len(&self) -> usize {
        if self.tunnel.from.is_ipv4() { IPV4 } else { IPV6 }
    }

    #[inline]
    fn finish_udp(&self, frame: &mut [u8], hash: u32) {
        let udp = self.ip + self.ip_len();
        let len = (frame.len() - udp) as u16;
        put16(frame, udp, self.tunnel.source_port.unwrap_or(SOURCE_PORTS + (hash as u16 & SOURCE_BITS)));
        put16(frame, udp + 4, len);
        if self.tunnel.from.is_ipv6() {
            let sum = checksum::sum(&frame[udp..], self.pseudo_sum + u64::from(len));
            // Zero means that there is none.
            let sum = if checksum::finish(sum) == 0 { 0xffff } else { checksum::finish(sum) };
            put16(frame, udp + 6, sum);
        }
    }

    #[inline]
    fn put_teid(&self, frame: &mut [u8]) {
        let TunnelKind::Gtpu { send, .. } = &self.tunnel.kind else { return };
        let at = self.ip + self.ip_len() + UDP;
        put16(frame, at + 2, (frame.len() - at - GTPU) as u16);
        if !send.clients.is_empty()
            && let Some((from, to)) = ip_ends(&frame[self.len..])
            && let Some(teid) = send.of(if send.clients_here { from } else { to })
        {
            frame[at + 4..at + 8].copy_from_slice(&teid.to_be_bytes());
        }
    }
}

/// Headers before frames or packets of flows on their way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OuterHeaders {
    /// A tunnel's headers.
    Tunnel(Encap),
    /// Those of PPPoE sessions.
    Pppoe(PppoeEncap),
}

impl OuterHeaders {
    /// Bytes to leave before an inner frame, which begins with an Ethernet header in any case: where none is carried it is written
    /// over.
    #[inline(always)]
    pub fn before(&self) -> usize {
        match self {
            Self::Tunnel(encap) => encap.before(),
            Self::Pppoe(encap) => encap.before(),
        }
    }

    /// Writes the outer headers of `frame`, in which an inner frame follows [`before`](Self::before) bytes. `inner_ip`:
    /// where the inner IP header begins in `frame`, if there is one.
    ///
    /// # Panics
    /// If the frame is not longer than what is before its inner IP header.
    #[inline]
    pub fn wrap(&self, frame: &mut [u8], inner_ip: Option<usize>) {
        match self {
            Self::Tunnel(encap) => encap.wrap(frame, inner_ip),
            Self::Pppoe(encap) => encap.wrap(frame),
        }
    }

    /// Whether IP packets are after them without Ethernet.
    pub fn is_bare(&self) -> bool {
        match self {
            Self::Tunnel(encap) => encap.tunnel.kind.is_bare(),
            Self::Pppoe(_) => true,
        }
    }

    /// The other end of the tunnel; `None` of PPPoE sessions.
    pub fn other_end(&self) -> Option<IpAddr> {
        match self {
            Self::Tunnel(encap) => Some(encap.tunnel.to),
            Self::Pppoe(_) => None,
        }
    }

    /// A frame around `inner`, which begins with an Ethernet header; `None` if it is too short to be a frame.
    pub fn around(&self, inner: &[u8]) -> Option<Vec<u8>> {
        let mut frame = vec![0; self.before()];
        frame.extend(inner);
        let ip = inner_ip(inner).map(|at| at + self.before());
        if inner.len() <= ETHERNET || self.is_bare() && ip.is_none() {
            return None;
        }
        self.wrap(&mut frame, ip);
        Some(frame)
    }
}

fn octets(ip: std::net::IpAddr) -> [u8; 16] {
    match ip {
        std::net::IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        std::net::IpAddr::V6(ip) => ip.octets(),
    }
}

/// Where a whole IP header begins in a frame.
fn inner_ip(frame: &[u8]) -> Option<usize> {
    let mut at = ETHERNET;
    while is_vlan_type(super::u16_at(frame, at - 2)?) {
        at += TAG;
    }
    let len = match super::u16_at(frame, at - 2)? {
        TYPE_IPV4 => IPV4,
        TYPE_IPV6 => IPV6,
        _ => return None,
    };
    (frame.len() >= at + len).then_some(at)
}

/// Bytes between the outer IP header and the inner frame.
fn shim(tunnel: &Tunnel) -> Vec<u8> {
    let mut bytes = Vec::new();
    if tunnel.kind.udp_port().is_some() {
        bytes.extend(tunnel.source_port.unwrap_or(0).to_be_bytes());
        bytes.extend(tunnel.udp_port.to_be_bytes());
        bytes.extend([0; 4]);
    }
    match &tunnel.kind {
        TunnelKind::Vxlan { vni } => {
            bytes.extend([VXLAN_VALID, 0, 0, 0]);
            bytes.extend((vni << 8).to_be_bytes());
        }
        TunnelKind::Geneve { vni } => {
            bytes.extend([0, 0]);
            bytes.extend(TYPE_ETHERNET.to_be_bytes());
            bytes.extend((vni << 8).to_be_bytes());
        }
        TunnelKind::Gre { key, .. } => {
            bytes.extend(if key.is_some() { GRE_KEY } else { 0 }.to_be_bytes());
            bytes.extend(TYPE_ETHERNET.to_be_bytes());
            bytes.extend(key.iter().flat_map(|key| key.to_be_bytes()));
        }
        TunnelKind::Ip => {}
        TunnelKind::Gtpu { send, qos_flow, .. } => {
            let extended = if qos_flow.is_some() { GTPU_EXTENDED } else { 0 };
            bytes.extend([GTPU_VERSION | extended, GTPU_PACKET, 0, 0]);
            bytes.extend(send.first.to_be_bytes());
            if let Some((kind, flow)) = qos_flow {
                // No sequence number; one extension of four bytes, and no other.
                bytes.extend([0, 0, 0, GTPU_PDU_SESSION, 1, kind << 4, flow & 0x3f, 0]);
            }
        }
    }
    bytes
}

/// The two ECN bits of an IP packet.
#[inline]
fn inner_ecn(ip: &[u8]) -> u8 {
    let shift = if ip[0] >> 4 == 4 { 0 } else { 4 };
    ip[1] >> shift & 0b11
}

/// A hash of an inner packet's addresses and ports.
#[inline]
fn flow_hash(ip: &[u8]) -> u32 {
    let word = |at: usize| u64::from(u32_at(ip, at).unwrap_or(0));
    let (addresses, ports) = if ip[0] >> 4 == 4 {
        (word(12) << 32 | word(16), usize::from(ip[0] & 0xf) * 4)
    } else {
        let half = |at: usize| word(at) << 32 | word(at + 4);
        let folded = half(8).wrapping_mul(random::FACTORS[0]) ^ half(16);
        let folded = folded.wrapping_mul(random::FACTORS[1]) ^ half(24);
        (folded.wrapping_mul(random::FACTORS[0]) ^ half(32), IPV6)
    };
    random::mix(addresses ^ word(ports).wrapping_mul(random::STEP)) as u32
}
