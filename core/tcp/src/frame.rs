//! From the bytes of a frame to addresses and the bytes of its transport protocol: Ethernet, up to two VLAN tags, IPv4 or
//! IPv6.
//!
//! Not here: the contents of segments and datagrams (their owners read them), and headers that a stack need not know.
//!
//! Invariant: returned slices lie inside the frame, for any lengths in it.

use crate::icmp::Problem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{checksum, is_vlan_type};

/// Ethernet's addresses and type.
pub(crate) const ETHERNET: usize = 14;
/// One VLAN tag.
pub(crate) const TAG: usize = 4;
/// An IPv4 header without options.
pub(crate) const IPV4: usize = 20;
/// An IPv6 header without extensions.
pub(crate) const IPV6: usize = 40;

/// Protocol numbers (IANA).
pub(crate) const ICMP: u8 = 1;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
pub(crate) const ICMPV6: u8 = 58;
pub(crate) const IGMP: u8 = 2;
/// IPv6: nothing follows.
const NOTHING: u8 = 59;
/// In the place of a protocol: an IPv6 extension header that is not understood (IANA: reserved).
const REFUSED: u8 = 255;

/// IPv6 extension headers (RFC 8200 section 4).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;

/// Ethernet types (IEEE 802.3, 802.1Q).
pub(crate) const TYPE_IPV4: u16 = 0x0800;
pub(crate) const TYPE_IPV6: u16 = 0x86dd;

/// More of them than this are no traffic but an attack (RFC 8504 section 5.3 allows a limit).
const EXTENSIONS_MAX: usize = 8;

/// Two addresses of one family, as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Addresses {
    V4 { from: u32, to: u32 },
    V6 { from: u128, to: u128 },
}

impl Addresses {
    /// The other way round.
    pub(crate) fn swapped(self) -> Self {
        match self {
            Self::V4 { from, to } => Self::V4 { from: to, to: from },
            Self::V6 { from, to } => Self::V6 { from: to, to: from },
        }
    }

    /// The second.
    pub(crate) fn to(&self) -> IpAddr {
        match *self {
            Self::V4 { to, .. } => IpAddr::V4(Ipv4Addr::from_bits(to)),
            Self::V6 { to, .. } => IpAddr::V6(Ipv6Addr::from_bits(to)),
        }
    }

    /// Whether the source is an address that a host can have: packets that claim to come from others get no reply.
    pub(crate) fn is_to_host(&self) -> bool {
        match self {
            Self::V4 { to, .. } => {
                let to = Ipv4Addr::from_bits(*to);
                !(to.is_multicast() || to.is_loopback() || to.octets()[0] == 0 || to.octets()[0] >= 240)
            }
            Self::V6 { to, .. } => {
                let to = Ipv6Addr::from_bits(*to);
                !(to.is_multicast() || to.is_loopback() || to.is_unspecified())
            }
        }
    }

    /// Sum of the pseudo-header of a checksum (RFC 9293 section 3.1, RFC 8200 section 8.1), unfolded.
    #[inline]
    pub(crate) fn pseudo_sum(&self, protocol: u8, len: usize) -> u64 {
        let rest = u64::from(protocol) + len as u64;
        match self {
            Self::V4 { from, to } => rest + u64::from(*from) + u64::from(*to),
            Self::V6 { from, to } => rest + sum_of(*from) + sum_of(*to),
        }
    }
}

/// Sum of the words of an IPv6 address: 2^32 leaves the rest 1.
#[inline]
pub(crate) fn sum_of(address: u128) -> u64 {
    let half = |half: u64| (half & 0xffff_ffff) + (half >> 32);
    half(address as u64) + half((address >> 64) as u64)
}

/// The network a frame is in, in one number. In the lower half how many VLAN tags it has, and their identifiers; a tag of priority
/// only is none (IEEE 802.1Q clause 6.9). In the upper half the network inside a tunnel, zero for the link itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tags(pub(crate) u64);

/// Spreads numbers of networks, so that flows in different networks have different hashes; odd.
const SPREAD: u32 = 0x9e37_79b1;

impl Tags {
    /// None, in the network inside a tunnel.
    pub(crate) fn inside(network: u32) -> Self {
        Self(u64::from(network.wrapping_mul(SPREAD)) << 32)
    }

    /// The same with one more inside.
    pub(crate) fn with(self, id: u16) -> Self {
        let id = u64::from(id & 0xfff);
        let (network, count, last) = (self.0 >> 32, self.0 >> 28 & 0xf, self.0 & 0xfff);
        if id == 0 { self } else { Self(network << 32 | (count + 1) << 28 | last << 12 | id) }
    }
}

/// A frame with an IP packet in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packet {
    pub addresses: Addresses,
    /// Number of the protocol after the IP header and its extensions.
    pub protocol: u8,
    /// The two ECN bits (RFC 3168 section 5).
    pub ecn: u8,
    /// A piece of a packet: nothing after the IP header can be read.
    pub is_fragment: bool,
    pub tags: Tags,
    /// Where the IP header begins in the frame.
    pub ip: u32,
    /// Where the transport protocol's header begins in the frame.
    pub start: u32,
    /// Where the IP packet ends in the frame; after it is padding.
    pub end: u32,
}

/// Why there is no packet for a stack in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    /// Something else than IP, or on its way to somewhere else.
    Foreign,
    /// An IP header that cannot be right: its lengths, its version or its checksum.
    Malformed,
}

#[inline(always)]
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[inline(always)]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Reads `frame` (without FCS) as far as the transport protocol's header.
#[inline(always)]
pub(crate) fn read(frame: &[u8]) -> Result<Packet, Unread> {
    read_in(frame, Tags::default())
}

/// Reads a frame that was in a tunnel.
#[inline]
pub(crate) fn read_inside(inside: &Inside<'_>) -> Result<Packet, Unread> {
    let tags = Tags::inside(inside.network);
    let mut packet = match (inside.is_bare, inside.frame.get(ETHERNET).map(|first| first >> 4)) {
        (false, _) => read_in(inside.frame, tags),
        (true, Some(4)) => read_v4(inside.frame, ETHERNET, tags),
        (true, Some(6)) => read_v6(inside.frame, ETHERNET, tags),
        (true, _) => Err(Unread::Foreign),
    }?;
    // RFC 6040 section 4.2: a mark outside is one inside, for who understands it.
    if inside.is_congested && packet.ecn != 0 {
        packet.ecn = 0b11;
    }
    Ok(packet)
}

/// A frame that was in a tunnel.
#[derive(Debug, Clone, Copy)]
pub struct Inside<'f> {
    /// The frame; of a bare IP packet the first 14 bytes, in the place of Ethernet's header, mean nothing.
    pub frame: &'f [u8],
    /// Whether it is a bare IP packet.
    pub is_bare: bool,
    /// Number of the network inside the tunnel, not zero.
    pub network: u32,
    /// Whether a router marked the outer packet (RFC 3168: CE).
    pub is_congested: bool,
    /// Whether the port reports that its checksum was left to a card.
    pub is_unfinished: bool,
}

#[inline(always)]
fn read_in(frame: &[u8], mut tags: Tags) -> Result<Packet, Unread> {
    let mut kind = u16_at(frame, ETHERNET - 2).ok_or(Unread::Foreign)?;
    let mut at = ETHERNET;
    while is_vlan_type(kind) {
        if at == ETHERNET + 2 * TAG {
            return Err(Unread::Foreign);
        }
        tags = tags.with(u16_at(frame, at).ok_or(Unread::Foreign)?);
        kind = u16_at(frame, at + 2).ok_or(Unread::Foreign)?;
        at += TAG;
    }
    match kind {
        TYPE_IPV4 => read_v4(frame, at, tags),
        TYPE_IPV6 => read_v6(frame, at, tags),
        _ => Err(Unread::Foreign),
    }
}

#[inline(always)]
fn read_v4(frame: &[u8], at: usize, tags: Tags) -> Result<Packet, Unread> {
    let header: &[u8; IPV4] = frame.get(at..).and_then(|ip| ip.first_chunk()).ok_or(Unread::Malformed)?;
    let header_len = usize::from(header[0] & 0xf) * 4;
    let len = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if header[0] >> 4 != 4 || header_len < IPV4 || len < header_len || at + len > frame.len() {
        return Err(Unread::Malformed);
    }
    let mut whole = short_sum(header);
    if header_len > IPV4 {
        whole = checksum::sum(&frame[at + IPV4..at + header_len], whole);
    }
    if checksum::fold(whole) != 0xffff {
        return Err(Unread::Malformed);
    }
    let from = u32::from_be_bytes([header[12], header[13], header[14], header[15]]);
    let to = u32::from_be_bytes([header[16], header[17], header[18], header[19]]);
    Ok(Packet {
        addresses: Addresses::V4 { from, to },
        protocol: header[9],
        ecn: header[1] & 0b11,
        // "More fragments", or an offset (RFC 791 section 3.1).
        is_fragment: u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0,
        tags,
        ip: at as u32,
        start: (at + header_len) as u32,
        end: (at + len) as u32,
    })
}

/// Sum of an IPv4 header without options, unfolded.
#[inline]
fn short_sum(header: &[u8; IPV4]) -> u64 {
    let (words, _) = header.as_chunks::<4>();
    words.iter().map(|word| u64::from(u32::from_be_bytes(*word))).sum()
}

#[inline]
fn read_v6(frame: &[u8], at: usize, tags: Tags) -> Result<Packet, Unread> {
    let header: &[u8; IPV6] = frame.get(at..).and_then(|ip| ip.first_chunk()).ok_or(Unread::Malformed)?;
    let end = at + IPV6 + usize::from(u16::from_be_bytes([header[4], header[5]]));
    if header[0] >> 4 != 6 || end > frame.len() {
        return Err(Unread::Malformed);
    }
    let address = |at: usize| {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&header[at..at + 16]);
        u128::from_be_bytes(bytes)
    };
    let mut packet = Packet {
        addresses: Addresses::V6 { from: address(8), to: address(24) },
        protocol: header[6],
        // The traffic class lies across the first two bytes.
        ecn: header[1] >> 4 & 0b11,
        is_fragment: false,
        tags,
        ip: at as u32,
        start: (at + IPV6) as u32,
        end: end as u32,
    };
    if packet.protocol != TCP && packet.protocol != UDP {
        skip_extensions(&frame[..end], &mut packet)?;
    }
    Ok(packet)
}

/// Moves the beginning after extension headers (RFC 8200 section 4).
fn skip_extensions(packet_bytes: &[u8], packet: &mut Packet) -> Result<(), Unread> {
    for number in 0..EXTENSIONS_MAX {
        let at = packet.start as usize;
        let is_extension =
            matches!(packet.protocol, HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION);
        if !is_extension {
            return Ok(());
        }
        let extension = packet_bytes.get(at..at + 8).ok_or(Unread::Malformed)?;
        let units = usize::from(extension[1]);
        let len = match packet.protocol {
            FRAGMENT => 8,
            AUTHENTICATION => (units + 2) * 4,
            _ => (units + 1) * 8,
        };
        let rest = packet_bytes.get(at..at + len).ok_or(Unread::Malformed)?;
        if wrong_extension(packet.protocol, rest, number == 0).is_some() {
            packet.protocol = REFUSED;
            return Ok(());
        }
        // Offset and "more fragments" of zero are a whole packet (RFC 6946).
        if packet.protocol == FRAGMENT && u16::from_be_bytes([extension[2], extension[3]]) & 0xfff9 != 0 {
            packet.is_fragment = true;
        }
        packet.protocol = extension[0];
        packet.start = (at + len) as u32;
        if packet.is_fragment {
            return Ok(());
        }
    }
    Err(Unread::Malformed)
}

/// A host's reaction to an extension header it does not understand: only drop the packet, or report a problem.
type Refusal = Option<Problem>;

/// Whether an extension header must not be passed over; `at` of the problem counts from its beginning.
fn wrong_extension(kind: u8, extension: &[u8], is_first: bool) -> Option<Refusal> {
    match kind {
        // RFC 8200 section 4.1: right behind the IPv6 header only.
        HOP_BY_HOP if !is_first => Some(Some(Problem::Header { code: 1, at: 0 })),
        HOP_BY_HOP | DESTINATION => wrong_option(extension),
        // Section 4.4: of no type that is known here, and not at its last node.
        ROUTING if extension[3] != 0 => Some(Some(Problem::Header { code: 0, at: 2 })),
        _ => None,
    }
}

/// RFC 8200 section 4.2: action of the two highest bits of an unknown option.
fn wrong_option(extension: &[u8]) -> Option<Refusal> {
    const PAD_1: u8 = 0;
    const PAD_N: u8 = 1;
    const ROUTER_ALERT: u8 = 5;
    let mut at = 2;
    while let Some(kind) = extension.get(at) {
        match (*kind, kind >> 6) {
            (PAD_1, _) => {
                at += 1;
                continue;
            }
            (PAD_N | ROUTER_ALERT, _) | (_, 0) => {}
            (_, 1) => return Some(None),
            _ => return Some(Some(Problem::Header { code: 2, at: at as u32 })),
        }
        at += 2 + usize::from(*extension.get(at + 1)?);
    }
    None
}

/// Problem to report for an IPv6 packet in which [`read`] found no known protocol; `None` if none.
#[cold]
pub(crate) fn problem_v6(packet: &[u8]) -> Refusal {
    // Where the number of the header at `at` stands.
    let (mut field, mut at) = (6, IPV6);
    for number in 0..EXTENSIONS_MAX {
        let kind = *packet.get(field)?;
        let len = match (kind, packet.get(at + 1)) {
            (NOTHING, _) => return None,
            (FRAGMENT, _) => 8,
            (AUTHENTICATION, Some(units)) => (usize::from(*units) + 2) * 4,
            (HOP_BY_HOP | ROUTING | DESTINATION, Some(units)) => (usize::from(*units) + 1) * 8,
            _ => return Some(Problem::Header { code: 1, at: field as u32 }),
        };
        match wrong_extension(kind, packet.get(at..at + len)?, number == 0) {
            // The number itself is what is not known there.
            Some(Some(Problem::Header { code: 1, .. })) => {
                return Some(Problem::Header { code: 1, at: field as u32 });
            }
            Some(Some(Problem::Header { code, at: inside })) => {
                return Some(Problem::Header { code, at: at as u32 + inside });
            }
            Some(refusal) => return refusal,
            None => (field, at) = (at, at + len),
        }
    }
    None
}

impl Packet {
    /// The transport protocol's header and what follows it.
    #[inline]
    pub(crate) fn transport<'a>(&self, frame: &'a [u8]) -> &'a [u8] {
        &frame[self.start as usize..self.end as usize]
    }
}

/// Whether a segment or datagram has a checksum that the sender left to its card: the sum of the pseudo-header, which the
/// card adds the rest to. Linux passes frames on like that over links that have no card: veth, tap, virtio.
#[cold]
pub(crate) fn is_sum_unfinished(addresses: &Addresses, protocol: u8, transport: &[u8]) -> bool {
    let at = if protocol == UDP { 6 } else { 16 };
    let pseudo = checksum::fold(addresses.pseudo_sum(protocol, transport.len()));
    // Zero is written in two ways.
    u16_at(transport, at).is_some_and(|field| field % 0xffff == pseudo % 0xffff)
}

/// Whether the IP packet in `frame` is longer than the frame: it did not fit a buffer.
#[cold]
pub(crate) fn is_cut_short(frame: &[u8]) -> bool {
    let mut at = ETHERNET;
    let mut kind = u16_at(frame, at - 2);
    while kind.is_some_and(is_vlan_type) && at < ETHERNET + 2 * TAG {
        kind = u16_at(frame, at + 2);
        at += TAG;
    }
    let end = match kind {
        Some(TYPE_IPV4) => u16_at(frame, at + 2).map(|len| at + usize::from(len)),
        Some(TYPE_IPV6) => u16_at(frame, at + 4).map(|len| at + IPV6 + usize::from(len)),
        _ => None,
    };
    end.is_some_and(|end| end > frame.len())
}

/// Whether the checksum of a segment, datagram or ICMPv6 message is right. The order of the addresses does not matter.
#[inline]
pub(crate) fn is_sum_right(addresses: &Addresses, protocol: u8, transport: &[u8]) -> bool {
    let pseudo = addresses.pseudo_sum(protocol, transport.len());
    checksum::fold(checksum::sum(transport, pseudo)) == 0xffff
}

#[cfg(test)]
mod tests;
