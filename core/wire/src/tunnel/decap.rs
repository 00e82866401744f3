//! From a received frame to the frame or packet in its tunnel.
//!
//! Outer UDP checksums are not checked: RFC 7348 section 4.3 allows it, and a kernel leaves inner ones to a card. Inner TCP and UDP
//! have their own.

use super::{
    ETHERNET, GTPU, GTPU_ECHO_REQUEST, GTPU_ECHO_RESPONSE, GTPU_OPTIONAL, GTPU_PACKET, GTPU_VERSION, IPV4,
    IPV6, PROTOCOL_GRE, PROTOCOL_IPV4, PROTOCOL_IPV6, PROTOCOL_UDP, PppoeLinks, TAG, TYPE_ETHERNET,
    TYPE_IPV4, TYPE_IPV6, Tags, Teids, Tunnel, TunnelKind, UDP, VXLAN_VALID, ip_ends, put16, tags, u16_at,
    u32_at,
};
use crate::{checksum, is_vlan_type};
use std::net::IpAddr;
use std::sync::Arc;

/// IPv6 extension headers that are passed over (RFC 8200 section 4): Linux limits how deep tunnels are by one (RFC 2473).
const HOP_BY_HOP: u8 = 0;
const DESTINATION: u8 = 60;
const EXTENSIONS_MAX: usize = 4;
/// GRE: checksum, sequence number; what must be zero, and the version (RFC 2784 section 2, RFC 2890 section 2).
const GRE_CHECKSUM: u16 = 0x8000;
const GRE_KEY: u16 = super::GRE_KEY;
const GRE_SEQUENCE: u16 = 0x1000;
const GRE_REFUSED: u16 = 0x4c07;
/// GENEVE: a control message, or options that must be understood (RFC 8926 section 3.4).
const GENEVE_REFUSED: u8 = 0xc0;
/// GTP-U: version and protocol type.
const GTPU_VERSION_BITS: u8 = 0xf0;
/// GTP-U: extension headers, or sequence and N-PDU numbers.
const GTPU_MORE: u8 = 0x07;
const GTPU_HAS_EXTENSIONS: u8 = 0x04;
const GTPU_EXTENSIONS_MAX: usize = 8;
/// GTP-U: the recovery element (TS 29.281 section 8.2).
const GTPU_RECOVERY: u8 = 14;
/// IPv4: fragments.
const FRAGMENT: u16 = 0x3fff;

/// An end of a tunnel here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecapEntry {
    /// The tunnel, whose frames arrive at its `from`, from any sender.
    pub tunnel: Tunnel,
    /// This end's hardware address.
    pub mac: [u8; 6],
    /// VLANs of outer frames, outermost first.
    pub vlans: Vec<u16>,
    /// Number of the network inside.
    pub network: u32,
}

/// Content of a tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inner<'f> {
    /// The inner frame. Of a bare packet the first 14 bytes, where Ethernet's header would be, mean nothing.
    pub frame: &'f [u8],
    /// Whether it is a bare packet.
    pub is_bare: bool,
    /// Number of the network it is in.
    pub network: u32,
    /// Sender: the other end of the tunnel; unspecified in PPPoE sessions.
    pub peer: IpAddr,
    /// Whether a router on the way marked the outer packet (RFC 6040 section 4.2).
    pub is_congested: bool,
}

/// Meaning of a received frame for the tunnels of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrived<'f> {
    /// Nothing.
    Foreign,
    /// To one of their ends, with another identifier.
    Unknown,
    /// To one of their ends, with impossible lengths, or something that must be understood and is not.
    Malformed,
    /// A GTP-U echo request, with the frame that replies to it.
    Echo(Vec<u8>),
    /// A frame inside.
    Inner(Inner<'f>),
}

/// The ends of tunnels at one port, and the PPPoE sessions of its clients.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decap {
    entries: Vec<DecapEntry>,
    /// Sessions, and the number of the network inside.
    sessions: Option<(Arc<PppoeLinks>, u32)>,
}

/// An outer IP packet.
#[derive(Clone, Copy)]
struct Outer<'f> {
    vlans: Tags,
    from: IpAddr,
    to: IpAddr,
    protocol: u8,
    is_congested: bool,
    /// Where its payload begins in `bytes`, which ends where the packet does.
    at: usize,
    bytes: &'f [u8],
}

/// Content after the outer IP header.
struct Behind {
    /// Where what is inside begins.
    at: usize,
    name: NetworkName,
}

/// Network identifier of a packet in a tunnel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NetworkName {
    Vxlan(u32),
    Geneve(u32),
    Gre {
        key: Option<u32>,
        ethernet: bool,
    },
    Ip,
    Gtpu(u32),
    /// It has none.
    Missing,
}

impl NetworkName {
    fn is_bare(self) -> bool {
        matches!(self, Self::Ip | Self::Gtpu(_) | Self::Gre { ethernet: false, .. })
    }

    /// Whether it is that of a tunnel, for a packet with these ends inside.
    fn is_of(self, kind: &TunnelKind, ends: Option<(IpAddr, IpAddr)>) -> bool {
        match (self, kind) {
            (Self::Vxlan(own), TunnelKind::Vxlan { vni })
            | (Self::Geneve(own), TunnelKind::Geneve { vni }) => own == *vni,
            (Self::Gre { key: own, ethernet: carries }, TunnelKind::Gre { key, ethernet }) => {
                (own, carries) == (*key, *ethernet)
            }
            (Self::Ip, TunnelKind::Ip) => true,
            (Self::Gtpu(teid), TunnelKind::Gtpu { receive, .. }) => is_teid(receive, teid, ends),
            _ => false,
        }
    }
}

impl Decap {
    /// Those ends.
    pub fn new(entries: Vec<DecapEntry>) -> Self {
        Self { entries, sessions: None }
    }

    /// The same with the sessions of a port's PPPoE clients, which are the network with that number.
    #[must_use]
    pub fn with_sessions(self, links: Arc<PppoeLinks>, network: u32) -> Self {
        Self { sessions: Some((links, network)), ..self }
    }

    /// Looks into a frame (without FCS).
    #[inline]
    pub fn read<'f>(&self, frame: &'f [u8]) -> Arrived<'f> {
        let Some(outer) = Outer::read(frame) else {
            let found = self.sessions.as_ref().and_then(|(links, network)| links.read(frame, *network));
            return found.map_or(Arrived::Foreign, Arrived::Inner);
        };
        // Those of the ends that it is to.
        let ends = self.entries.iter().filter(|entry| {
            entry.tunnel.from == outer.to && frame[..6] == entry.mac && entry.vlans == outer.vlans.as_slice()
        });
        let Some(first) = ends.clone().find(|entry| outer.may_be_in(&entry.tunnel)) else {
            return Arrived::Foreign;
        };
        let Some(whole) = outer.without_padding() else { return Arrived::Malformed };
        let behind = match first.tunnel.kind {
            TunnelKind::Vxlan { .. } => whole.vxlan(),
            TunnelKind::Geneve { .. } => whole.geneve(),
            TunnelKind::Gre { .. } => whole.gre(),
            TunnelKind::Ip => Some(Behind { at: whole.at, name: NetworkName::Ip }),
            TunnelKind::Gtpu { .. } => match whole.gtpu_message() {
                Some(GTPU_PACKET) => whole.gtpu(),
                Some(GTPU_ECHO_REQUEST) => {
                    return whole.answer_echo(frame).map_or(Arrived::Malformed, Arrived::Echo);
                }
                Some(_) => return Arrived::Unknown,
                None => None,
            },
        };
        let Some(Behind { at, name }) = behind else { return Arrived::Malformed };
        // A whole Ethernet header; in the place of one before a bare packet lies the end of the outer headers.
        let start = if name.is_bare() { at - ETHERNET } else { at };
        let Some(inner) = whole.bytes.get(start..).filter(|inner| inner.len() > ETHERNET) else {
            return Arrived::Malformed;
        };
        let inner_ends = if name.is_bare() { ip_ends(&inner[ETHERNET..]) } else { None };
        let mut fits = ends.filter(|entry| outer.may_be_in(&entry.tunnel));
        let Some(entry) = fits.find(|entry| name.is_of(&entry.tunnel.kind, inner_ends)) else {
            return Arrived::Unknown;
        };
        Arrived::Inner(Inner {
            frame: inner,
            is_bare: name.is_bare(),
            network: entry.network,
            peer: outer.from,
            is_congested: outer.is_congested,
        })
    }
}

/// Whether an identifier is that of the client at an end of an inner packet.
fn is_teid(teids: &Teids, teid: u32, ends: Option<(IpAddr, IpAddr)>) -> bool {
    let Some((from, to)) = ends else { return teids.clients.is_empty() && teids.first == teid };
    teids.of(if teids.clients_here { to } else { from }) == Some(teid)
}

impl<'f> Outer<'f> {
    /// Reads a frame as far as the payload of its IP packet; `None` of what is no whole packet, or a fragment.
    #[inline]
    fn read(frame: &'f [u8]) -> Option<Self> {
        let (at, vlans, kind) = tags(frame)?;
        match kind {
            TYPE_IPV4 => Self::read_v4(frame, at, vlans),
            TYPE_IPV6 => Self::read_v6(frame, at, vlans),
            _ => None,
        }
    }

    fn read_v4(frame: &'f [u8], at: usize, vlans: Tags) -> Option<Self> {
        let ip = frame.get(at..)?;
        let (first, len) = (*ip.first()?, usize::from(u16_at(ip, 2)?));
        let header = usize::from(first & 0xf) * 4;
        let is_whole = first >> 4 == 4 && header >= IPV4 && len >= header && len <= ip.len();
        if !is_whole
            || checksum::fold(checksum::sum(&ip[..header], 0)) != 0xffff
            || u16_at(ip, 6)? & FRAGMENT != 0
        {
            return None;
        }
        let (from, to) = ip_ends(ip)?;
        let is_congested = ip[1] & 0b11 == 0b11;
        let bytes = &frame[..at + len];
        Some(Self { vlans, from, to, protocol: ip[9], is_congested, at: at + header, bytes })
    }

    fn read_v6(frame: &'f [u8], at: usize, vlans: Tags) -> Option<Self> {
        let ip = frame.get(at..)?;
        let end = at + IPV6 + usize::from(u16_at(ip, 4)?);
        let bytes = frame.get(..end).filter(|_| ip[0] >> 4 == 6)?;
        let (from, to) = ip_ends(ip)?;
        let (mut protocol, mut at) = (ip[6], at + IPV6);
        for _ in 0..EXTENSIONS_MAX {
            if !matches!(protocol, HOP_BY_HOP | DESTINATION) {
                break;
            }
            protocol = *bytes.get(at)?;
            at += (usize::from(*bytes.get(at + 1)?) + 1) * 8;
        }
        let is_congested = ip[1] >> 4 & 0b11 == 0b11;
        (at <= end).then_some(Self { vlans, from, to, protocol, is_congested, at, bytes })
    }

    /// Whether it can be in a tunnel, by its protocol and its port.
    #[inline]
    fn may_be_in(&self, tunnel: &Tunnel) -> bool {
        match tunnel.kind {
            TunnelKind::Gre { .. } => self.protocol == PROTOCOL_GRE,
            TunnelKind::Ip => matches!(self.protocol, PROTOCOL_IPV4 | PROTOCOL_IPV6),
            _ => self.protocol == PROTOCOL_UDP && u16_at(self.bytes, self.at + 2) == Some(tunnel.udp_port),
        }
    }

    /// The same as far as its datagram reaches, if it is one; `None` if that is beyond its end.
    #[inline]
    fn without_padding(self) -> Option<Self> {
        if self.protocol != PROTOCOL_UDP {
            return Some(self);
        }
        let len = usize::from(u16_at(self.bytes, self.at + 4)?);
        let bytes = self.bytes.get(..self.at + len).filter(|_| len >= UDP)?;
        Some(Self { bytes, ..self })
    }

    /// The eight bytes after a datagram's header.
    fn shim(&self) -> Option<&'f [u8; 8]> {
        self.bytes.get(self.at + UDP..)?.first_chunk()
    }

    fn vxlan(&self) -> Option<Behind> {
        let shim = self.shim()?;
        let vni = u32_at(shim, 4)? >> 8;
        let name = if shim[0] & VXLAN_VALID == 0 { NetworkName::Missing } else { NetworkName::Vxlan(vni) };
        Some(Behind { at: self.at + UDP + shim.len(), name })
    }

    fn geneve(&self) -> Option<Behind> {
        let shim = self.shim()?;
        if shim[0] >> 6 != 0 || shim[1] & GENEVE_REFUSED != 0 || u16_at(shim, 2)? != TYPE_ETHERNET {
            return None;
        }
        let options = usize::from(shim[0] & 0x3f) * 4;
        let name = NetworkName::Geneve(u32_at(shim, 4)? >> 8);
        Some(Behind { at: self.at + UDP + shim.len() + options, name })
    }

    fn gre(&self) -> Option<Behind> {
        let header = &self.bytes[self.at..];
        let (flags, kind) = (u16_at(header, 0)?, u16_at(header, 2)?);
        if flags & GRE_REFUSED != 0 || !matches!(kind, TYPE_IPV4 | TYPE_IPV6 | TYPE_ETHERNET) {
            return None;
        }
        let mut at = 4 + if flags & GRE_CHECKSUM != 0 { 4 } else { 0 };
        let key = if flags & GRE_KEY != 0 { Some(u32_at(header, at)?) } else { None };
        at += if key.is_some() { 4 } else { 0 } + if flags & GRE_SEQUENCE != 0 { 4 } else { 0 };
        let name = NetworkName::Gre { key, ethernet: kind == TYPE_ETHERNET };
        Some(Behind { at: self.at + at, name })
    }

    /// The type of a message of GTP-U that is whole.
    fn gtpu_message(&self) -> Option<u8> {
        let shim = self.shim()?;
        let end = self.at + UDP + GTPU + usize::from(u16_at(shim, 2)?);
        (shim[0] & GTPU_VERSION_BITS == GTPU_VERSION && end <= self.bytes.len()).then_some(shim[1])
    }

    /// A user's packet in GTP-U (TS 29.281 section 5).
    fn gtpu(&self) -> Option<Behind> {
        let shim = self.shim()?;
        let mut at = self.at + UDP + GTPU;
        if shim[0] & GTPU_MORE != 0 {
            at += GTPU_OPTIONAL;
            let mut next = *self.bytes.get(at - 1)?;
            if shim[0] & GTPU_HAS_EXTENSIONS == 0 {
                next = 0;
            }
            for _ in 0..GTPU_EXTENSIONS_MAX {
                if next == 0 {
                    break;
                }
                let len = usize::from(*self.bytes.get(at)?) * 4;
                at += len;
                next = *self.bytes.get(at - 1).filter(|_| len > 0)?;
            }
        }
        Some(Behind { at, name: NetworkName::Gtpu(u32_at(shim, 4)?) })
    }

    /// The reply to an echo request, sent back the way it came (TS 29.281 section 7.2).
    fn answer_echo(&self, frame: &[u8]) -> Option<Vec<u8>> {
        let udp = self.at;
        let ip_len = if self.to.is_ipv4() { IPV4 } else { IPV6 };
        let ip = self.ip_start(frame)?;
        // Extension headers of the request are not repeated.
        let request = self.bytes.get(udp + UDP..).filter(|request| request.len() >= GTPU + GTPU_OPTIONAL)?;
        let mut answer = frame[..ip + ip_len].to_vec();
        answer[..12].rotate_left(6);
        let addresses = if ip_len == IPV4 { 12..20 } else { 8..40 };
        let half = addresses.len() / 2;
        answer[ip..][addresses].rotate_left(half);
        answer.extend([&self.bytes[udp + 2..udp + 4], &self.bytes[udp..udp + 2], &[0; 4]].concat());
        let sequence = [request[8], request[9]];
        answer.extend([GTPU_VERSION | 0x02, GTPU_ECHO_RESPONSE, 0, 6, 0, 0, 0, 0]);
        answer.extend([sequence[0], sequence[1], 0, 0, GTPU_RECOVERY, 0]);
        let (at, len) = (ip + ip_len, answer.len() - ip - ip_len);
        put16(&mut answer, at + 4, len as u16);
        if ip_len == IPV4 {
            answer[ip] = 0x45;
            put16(&mut answer, ip + 2, (IPV4 + len) as u16);
            put16(&mut answer, ip + 10, 0);
            let sum = checksum::finish(checksum::sum(&answer[ip..at], 0));
            put16(&mut answer, ip + 10, sum);
        } else {
            put16(&mut answer, ip + 4, len as u16);
            answer[ip + 6] = PROTOCOL_UDP;
            let pseudo = checksum::sum(&answer[ip + 8..at], u64::from(PROTOCOL_UDP) + len as u64);
            let sum = checksum::finish(checksum::sum(&answer[at..], pseudo));
            put16(&mut answer, at + 6, if sum == 0 { 0xffff } else { sum });
        }
        Some(answer)
    }

    /// Where the outer IP header begins.
    fn ip_start(&self, frame: &[u8]) -> Option<usize> {
        let mut at = ETHERNET;
        while is_vlan_type(u16_at(frame, at - 2)?) {
            at += TAG;
        }
        (at < self.at).then_some(at)
    }
}
