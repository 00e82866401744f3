//! OSPF packets (RFC 2328 appendix A.3, RFC 5340 appendix A.3) in Ethernet frames: their header, their bodies, authentication by nothing, a
//! simple password or MD5 (RFC 2328 appendix D), which OSPFv3 has not.
//!
//! Invariant: what was read has lengths that fit its frame, and a right checksum.

use crate::Mac;
use crate::lsa::{LSA_HEADER, LsaHeader, LsaKey, address, is_right, pair, word};
use crate::version::Version;
use md5::{Digest, Md5};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::control::{ETHERTYPE_AT, tags};
use wire::{Vlans, checksum, is_vlan_type};

/// The IP protocol.
pub const PROTOCOL: u8 = 89;
/// Bytes of an entry of a request.
pub(crate) const REQUEST: usize = 12;
/// Bytes of an update's body without LSAs.
pub(crate) const UPDATE: usize = 4;

const TAG: usize = 4;
const TYPE_IPV4: u16 = 0x0800;
const TYPE_IPV6: u16 = 0x86dd;
/// The header of a fragment of IPv6.
const FRAGMENT_HEADER: u8 = 44;
/// Bytes of the header of a packet of OSPFv2.
const HEADER: usize = 24;
/// Where a packet's checksum is, in both versions.
const CHECKSUM_AT: usize = 12;
/// Where the instance is in OSPFv3.
const INSTANCE_AT: usize = 14;
const AUTHENTICATION_AT: usize = 16;
const SIMPLE: u16 = 1;
const CRYPTOGRAPHIC: u16 = 2;
/// Bytes of a digest, which is after its packet (appendix D.4.3).
pub(crate) const DIGEST: usize = 16;
/// Precedence: internetwork control (appendix A.1).
const TOS: u8 = 0xc0;
const HELLO: usize = 20;
/// Options are the lower three bytes of a word of OSPFv3.
const OPTIONS: u32 = 0x00ff_ffff;

/// Flags of a description (appendix A.3.3): the sender is master, more follow, the first.
pub(crate) const MASTER: u8 = 1;
pub(crate) const MORE: u8 = 2;
pub(crate) const INIT: u8 = 4;

/// Why a packet is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// It ends before its fields do.
    Short,
    /// It is of another version.
    Version,
    /// Its checksum is wrong.
    Checksum,
    /// It is of a type that does not exist.
    Kind,
}

/// A packet, and how it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received<'f> {
    pub(crate) from_mac: Mac,
    /// Outermost first; without priority tags.
    pub(crate) vlans: Vec<u16>,
    pub(crate) version: Version,
    pub(crate) from: IpAddr,
    pub(crate) to: IpAddr,
    pub(crate) packet: Result<Packet<'f>, Malformed>,
}

/// A packet (RFC 2328 appendix A.3.1, RFC 5340 appendix A.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'f> {
    /// Sender.
    pub router: Ipv4Addr,
    /// In which area.
    pub area: Ipv4Addr,
    /// Of which instance of OSPFv3 on its link it is; 0 of OSPFv2.
    pub instance: u8,
    /// Its authentication: type and data.
    pub(crate) authentication: (u16, [u8; 8]),
    /// It itself, and the digest after it.
    digest: Option<(&'f [u8], &'f [u8; DIGEST])>,
    /// Content.
    pub body: Body<'f>,
}

/// Content of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body<'f> {
    /// A Hello (appendix A.3.2).
    Hello(Hello<'f>),
    /// A description of a database (appendix A.3.3).
    Description(Description<'f>),
    /// Which LSAs are wanted: 12 bytes each (appendix A.3.4).
    Request(&'f [u8]),
    /// LSAs, and how many (appendix A.3.5).
    Update(u32, &'f [u8]),
    /// Headers of LSAs that arrived (appendix A.3.6).
    Acknowledgment(&'f [u8]),
}

/// A Hello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello<'f> {
    /// The network's mask, in OSPFv2.
    pub(crate) mask: Ipv4Addr,
    /// The sender's number of its interface, in OSPFv3.
    pub(crate) interface: u32,
    pub(crate) interval_s: u16,
    pub(crate) options: u32,
    pub(crate) priority: u8,
    pub(crate) dead_s: u32,
    /// An address in OSPFv2, an identifier in OSPFv3.
    pub(crate) designated: Ipv4Addr,
    pub(crate) backup: Ipv4Addr,
    /// Identifiers of the routers it lists, four bytes each.
    pub(crate) heard: &'f [u8],
}

/// A description of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Description<'f> {
    pub(crate) mtu: u16,
    pub(crate) options: u32,
    pub(crate) flags: u8,
    pub(crate) sequence: u32,
    /// Headers of LSAs.
    pub(crate) headers: &'f [u8],
}

/// Whether a frame may be for a router here, or hold a fragment that may be: a look at its type and protocol alone.
pub fn may_concern(frame: &[u8]) -> bool {
    let mut at = ETHERTYPE_AT;
    while pair(frame, at).is_some_and(is_vlan_type) && at < ETHERTYPE_AT + 2 * TAG {
        at += TAG;
    }
    let protocol_at = match pair(frame, at) {
        Some(TYPE_IPV4) => 9,
        // In a fragment, the protocol is where its header begins (RFC 8200 section 4.5).
        Some(TYPE_IPV6) if frame.get(at + 2 + 6) == Some(&FRAGMENT_HEADER) => Version::V3.ip_header(),
        Some(TYPE_IPV6) => 6,
        _ => return false,
    };
    frame.get(at + 2 + protocol_at) == Some(&PROTOCOL)
}

impl<'f> Received<'f> {
    /// The packet of a frame; `None` if it has none, or a fragment of one.
    pub fn read(frame: &'f [u8]) -> Option<Self> {
        let (ids, n) = tags(frame)?;
        let at = ETHERTYPE_AT + TAG * n;
        let ip = frame.get(at + 2..)?;
        let (version, from, to, payload) = match pair(frame, at)? {
            TYPE_IPV4 => ipv4(ip)?,
            TYPE_IPV6 => ipv6(ip)?,
            _ => return None,
        };
        let read = |payload| match (from, to) {
            (IpAddr::V6(from), IpAddr::V6(to)) => Packet::read_v3(payload, from, to),
            _ => Packet::read(payload),
        };
        Some(Self {
            from_mac: *frame.get(6..)?.first_chunk()?,
            vlans: ids[..n].iter().copied().filter(|id| *id != 0).collect(),
            version,
            from,
            to,
            packet: payload.ok_or(Malformed::Short).and_then(read),
        })
    }
}

/// Data on an OSPF packet from its IP packet: version, source and destination, and its bytes, if it is whole.
type Inside<'f> = (Version, IpAddr, IpAddr, Option<&'f [u8]>);

/// Content of an IPv4 packet; `None` if that is not OSPF, or a fragment.
fn ipv4(ip: &[u8]) -> Option<Inside<'_>> {
    let header = usize::from(ip.first()? & 15) * 4;
    let is_whole = pair(ip, 6)? & 0x3fff == 0;
    if ip[0] >> 4 != 4 || header < Version::V2.ip_header() || !is_whole || *ip.get(9)? != PROTOCOL {
        return None;
    }
    let payload = ip.get(header..usize::from(pair(ip, 2)?));
    Some((Version::V2, address(ip, 12)?.into(), address(ip, 16)?.into(), payload))
}

/// Content of an IPv6 packet from a neighbour's link-local address (RFC 5340 section 4.2.1).
fn ipv6(ip: &[u8]) -> Option<Inside<'_>> {
    let (header, at) = (Version::V3.ip_header(), |at: usize| ip.get(at..)?.first_chunk::<16>());
    let (from, to) = (Ipv6Addr::from(*at(8)?), Ipv6Addr::from(*at(24)?));
    if ip[0] >> 4 != 6 || ip[6] != PROTOCOL || !from.is_unicast_link_local() {
        return None;
    }
    let payload = ip.get(header..header + usize::from(pair(ip, 4)?));
    Some((Version::V3, from.into(), to.into(), payload))
}

impl<'f> Packet<'f> {
    /// The packet of OSPFv2 that `bytes` are.
    ///
    /// # Errors
    /// Why they are none.
    pub fn read(bytes: &'f [u8]) -> Result<Self, Malformed> {
        let short = || Malformed::Short;
        let len = usize::from(pair(bytes, 2).ok_or_else(short)?);
        if bytes[0] != Version::V2.number() {
            return Err(Malformed::Version);
        }
        // What is behind belongs to the link, or to a digest (RFC 2328 appendix D.3).
        let packet = bytes.get(..len).filter(|packet| packet.len() >= HEADER).ok_or_else(short)?;
        let kind = pair(packet, AUTHENTICATION_AT - 2).ok_or_else(short)?;
        let by = packet[AUTHENTICATION_AT..].first_chunk().copied().ok_or_else(short)?;
        if kind <= SIMPLE && sum_of(packet) != 0 {
            return Err(Malformed::Checksum);
        }
        Ok(Self {
            router: address(packet, 4).ok_or_else(short)?,
            area: address(packet, 8).ok_or_else(short)?,
            instance: 0,
            authentication: (kind, by),
            digest: match kind {
                CRYPTOGRAPHIC => Some((packet, bytes[len..].first_chunk().ok_or_else(short)?)),
                _ => None,
            },
            body: Body::read(Version::V2, packet[1], &packet[HEADER..])?,
        })
    }

    /// The packet of OSPFv3 that `bytes` are, which came with these addresses.
    ///
    /// # Errors
    /// Why they are none.
    pub fn read_v3(bytes: &'f [u8], from: Ipv6Addr, to: Ipv6Addr) -> Result<Self, Malformed> {
        let (short, header) = (|| Malformed::Short, Version::V3.header());
        let len = usize::from(pair(bytes, 2).ok_or_else(short)?);
        if bytes[0] != Version::V3.number() {
            return Err(Malformed::Version);
        }
        // What is behind belongs to an authentication trailer (RFC 7166), which nobody here understands.
        let packet = bytes.get(..len).filter(|packet| packet.len() >= header).ok_or_else(short)?;
        if sum_v3(packet, from, to) != 0 {
            return Err(Malformed::Checksum);
        }
        Ok(Self {
            router: address(packet, 4).ok_or_else(short)?,
            area: address(packet, 8).ok_or_else(short)?,
            instance: packet[INSTANCE_AT],
            authentication: (0, [0; 8]),
            digest: None,
            body: Body::read(Version::V3, packet[1], &packet[header..])?,
        })
    }
}

impl Packet<'_> {
    /// The sequence number of its digest (appendix D.3); 0 without one.
    pub(crate) fn digest_number(&self) -> u32 {
        self.digest.and_then(|_| word(&self.authentication.1, 4)).unwrap_or(0)
    }

    /// Whether it is authenticated as in `by`.
    pub(crate) fn is_by(&self, by: &Authentication) -> bool {
        let (kind, said) = self.authentication;
        match by {
            Authentication::None => kind == by.kind(),
            Authentication::Simple(password) => kind == by.kind() && said == *password,
            Authentication::Md5 { id, key } => {
                let is_right = |(packet, digest): (&[u8], &[u8; DIGEST])| digest_of(packet, key) == *digest;
                said[2] == *id && self.digest.is_some_and(is_right)
            }
        }
    }
}

/// Authentication of packets on a link (RFC 2328 appendix D).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authentication {
    /// They are not.
    None,
    /// By a password in them.
    Simple([u8; 8]),
    /// By a digest after them.
    Md5 {
        /// Which key it is.
        id: u8,
        /// The key, filled up with zeros.
        key: [u8; DIGEST],
    },
}

impl Authentication {
    /// Its number in packets.
    pub(crate) fn kind(&self) -> u16 {
        match self {
            Self::None => 0,
            Self::Simple(_) => SIMPLE,
            Self::Md5 { .. } => CRYPTOGRAPHIC,
        }
    }

    /// Bytes after each packet.
    pub(crate) fn trailer(&self) -> usize {
        if matches!(self, Self::Md5 { .. }) { DIGEST } else { 0 }
    }
}

/// The digest of a packet (appendix D.4.3).
fn digest_of(packet: &[u8], key: &[u8; DIGEST]) -> [u8; DIGEST] {
    Md5::new().chain_update(packet).chain_update(key).finalize().into()
}

impl<'f> Body<'f> {
    fn read(version: Version, kind: u8, body: &'f [u8]) -> Result<Self, Malformed> {
        let whole = |part: &'f [u8], size: usize| match part.len().is_multiple_of(size) {
            true => Ok(part),
            false => Err(Malformed::Short),
        };
        Ok(match kind {
            1 => Self::Hello(Hello::read(version, body).ok_or(Malformed::Short)?),
            2 => {
                let read = Description::read(version, body).ok_or(Malformed::Short)?;
                Self::Description(Description { headers: whole(read.headers, LSA_HEADER)?, ..read })
            }
            3 => Self::Request(whole(body, REQUEST)?),
            4 => Self::Update(word(body, 0).ok_or(Malformed::Short)?, &body[UPDATE..]),
            5 => Self::Acknowledgment(whole(body, LSA_HEADER)?),
            _ => return Err(Malformed::Kind),
        })
    }
}

impl<'f> Hello<'f> {
    fn read(version: Version, body: &'f [u8]) -> Option<Self> {
        let both = Self {
            mask: Ipv4Addr::UNSPECIFIED,
            interface: 0,
            interval_s: 0,
            options: 0,
            priority: 0,
            dead_s: 0,
            designated: address(body, 12)?,
            backup: address(body, 16)?,
            heard: body.get(HELLO..)?,
        };
        Some(match version {
            Version::V2 => Self {
                mask: address(body, 0)?,
                interval_s: pair(body, 4)?,
                options: body[6].into(),
                priority: body[7],
                dead_s: word(body, 8)?,
                ..both
            },
            Version::V3 => Self {
                interface: word(body, 0)?,
                priority: body[4],
                options: word(body, 4)? & OPTIONS,
                interval_s: pair(body, 8)?,
                dead_s: pair(body, 10)?.into(),
                ..both
            },
        })
    }

    /// Whether it lists a router.
    pub(crate) fn names(&self, id: Ipv4Addr) -> bool {
        self.heard.chunks_exact(4).any(|one| one == id.octets())
    }

    pub(crate) fn put(&self, version: Version, out: &mut Vec<u8>) {
        match version {
            Version::V2 => {
                out.extend(self.mask.octets());
                out.extend(self.interval_s.to_be_bytes());
                out.extend([self.options as u8, self.priority]);
                out.extend(self.dead_s.to_be_bytes());
            }
            Version::V3 => {
                out.extend(self.interface.to_be_bytes());
                out.extend((u32::from(self.priority) << 24 | self.options).to_be_bytes());
                out.extend(self.interval_s.to_be_bytes());
                out.extend((self.dead_s as u16).to_be_bytes());
            }
        }
        out.extend(self.designated.octets());
        out.extend(self.backup.octets());
        out.extend(self.heard);
    }
}

impl<'f> Description<'f> {
    fn read(version: Version, body: &'f [u8]) -> Option<Self> {
        let (headers, sequence_at) = (body.get(version.description()..)?, version.description() - 4);
        let sequence = word(body, sequence_at)?;
        Some(match version {
            Version::V2 => {
                Self { mtu: pair(body, 0)?, options: body[2].into(), flags: body[3], sequence, headers }
            }
            Version::V3 => Self {
                mtu: pair(body, 4)?,
                options: word(body, 0)? & OPTIONS,
                flags: body[7],
                sequence,
                headers,
            },
        })
    }

    pub(crate) fn put(&self, version: Version, out: &mut Vec<u8>) {
        match version {
            Version::V2 => {
                out.extend(self.mtu.to_be_bytes());
                out.extend([self.options as u8, self.flags]);
            }
            Version::V3 => {
                out.extend(self.options.to_be_bytes());
                out.extend(self.mtu.to_be_bytes());
                out.extend([0, self.flags]);
            }
        }
        out.extend(self.sequence.to_be_bytes());
        out.extend(self.headers);
    }
}

/// Headers one after the other.
pub(crate) fn headers(version: Version, bytes: &[u8]) -> impl Iterator<Item = LsaHeader> + '_ {
    bytes.chunks_exact(LSA_HEADER).filter_map(move |one| LsaHeader::read(version, one))
}

/// The keys of a request.
pub(crate) fn keys(bytes: &[u8]) -> impl Iterator<Item = LsaKey> + '_ {
    let key = |bytes: &[u8]| {
        let kind = u16::try_from(word(bytes, 0)?).ok()?;
        Some(LsaKey { kind, id: address(bytes, 4)?, router: address(bytes, 8)? })
    };
    bytes.chunks_exact(REQUEST).filter_map(key)
}

/// The LSAs of an update, up to its count and length: each whole, and whether its checksum is right.
pub(crate) fn lsas(
    version: Version,
    count: u32,
    mut bytes: &[u8],
) -> impl Iterator<Item = (LsaHeader, &[u8], bool)> {
    let mut left = count;
    std::iter::from_fn(move || {
        left = left.checked_sub(1)?;
        let header = LsaHeader::read(version, bytes)?;
        let len = usize::from(header.len);
        let lsa = bytes.get(..len).filter(|lsa| lsa.len() >= LSA_HEADER)?;
        bytes = &bytes[len..];
        Some((header, lsa, is_right(lsa)))
    })
}

/// The checksum of a packet, which leaves the authentication out: zero if the one in it is right.
fn sum_of(packet: &[u8]) -> u16 {
    let before = checksum::sum(&packet[..AUTHENTICATION_AT], 0);
    checksum::finish(checksum::sum(&packet[HEADER..], before))
}

/// The checksum of a packet of OSPFv3 with the pseudo header of IPv6 (RFC 8200 section 8.1): zero if the one in it is right.
fn sum_v3(packet: &[u8], from: Ipv6Addr, to: Ipv6Addr) -> u16 {
    let pseudo = checksum::sum(&from.octets(), packet.len() as u64 + u64::from(PROTOCOL));
    checksum::finish(checksum::sum(packet, checksum::sum(&to.octets(), pseudo)))
}

/// Sender of packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sender {
    pub(crate) mac: Mac,
    pub(crate) vlans: Vlans,
    /// Its address on the link; determines the version, too.
    pub(crate) ip: IpAddr,
    pub(crate) router: Ipv4Addr,
    pub(crate) area: Ipv4Addr,
    /// The instance of OSPFv3.
    pub(crate) instance: u8,
    pub(crate) authentication: Authentication,
    /// The number of digests; it never falls (appendix D.3).
    pub(crate) number: u32,
}

impl Sender {
    /// A frame with the packet whose type is `kind` and whose body is `body`; to a group, or to the neighbour with `mac`.
    pub(crate) fn frame(&self, (to, mac): (IpAddr, Mac), kind: u8, body: &[u8]) -> Vec<u8> {
        let mut frame = Vec::with_capacity(14 + TAG * self.vlans.len() + 56 + body.len() + DIGEST);
        frame.extend(mac);
        frame.extend(self.mac);
        self.vlans.tags().for_each(|tag| frame.extend(tag));
        match (self.ip, to) {
            (IpAddr::V4(from), IpAddr::V4(to)) => self.put_v2(&mut frame, (from, to), kind, body),
            (IpAddr::V6(from), IpAddr::V6(to)) => self.put_v3(&mut frame, (from, to), kind, body),
            _ => debug_assert!(false, "{} and {to} differ in IP version", self.ip),
        }
        frame
    }

    fn put_v2(&self, frame: &mut Vec<u8>, (from, to): (Ipv4Addr, Ipv4Addr), kind: u8, body: &[u8]) {
        frame.extend(TYPE_IPV4.to_be_bytes());
        let (ip, len) = (frame.len(), (HEADER + body.len()) as u16);
        let trailer = self.authentication.trailer();
        frame.extend([0x45, TOS]);
        frame.extend((Version::V2.ip_header() as u16 + len + trailer as u16).to_be_bytes());
        // It goes no further than the link: its TTL is 1 (appendix A.1).
        frame.extend([0, 0, 0, 0, 1, PROTOCOL, 0, 0]);
        frame.extend(from.octets());
        frame.extend(to.octets());
        let sum = checksum::finish(checksum::sum(&frame[ip..], 0));
        frame[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
        let start = self.put_header(frame, (Version::V2, kind), len);
        frame.extend(self.authentication.kind().to_be_bytes());
        frame.extend([0; 8]);
        frame.extend(body);
        let mut by = [0; 8];
        match &self.authentication {
            Authentication::None => {}
            Authentication::Simple(password) => by = *password,
            Authentication::Md5 { id, .. } => {
                (by[2], by[3]) = (*id, DIGEST as u8);
                by[4..].copy_from_slice(&self.number.to_be_bytes());
            }
        }
        // Packets with a digest have no checksum (appendix D.4.3).
        if trailer == 0 {
            let sum = sum_of(&frame[start..]);
            frame[start + CHECKSUM_AT..start + CHECKSUM_AT + 2].copy_from_slice(&sum.to_be_bytes());
        }
        frame[start + AUTHENTICATION_AT..start + HEADER].copy_from_slice(&by);
        if let Authentication::Md5 { key, .. } = &self.authentication {
            let digest = digest_of(&frame[start..], key);
            frame.extend(digest);
        }
    }

    fn put_v3(&self, frame: &mut Vec<u8>, (from, to): (Ipv6Addr, Ipv6Addr), kind: u8, body: &[u8]) {
        frame.extend(TYPE_IPV6.to_be_bytes());
        let len = (Version::V3.header() + body.len()) as u16;
        frame.extend((6 << 28 | u32::from(TOS) << 20).to_be_bytes());
        frame.extend(len.to_be_bytes());
        // It goes no further than the link: its hop limit is 1 (RFC 5340 appendix A.1).
        frame.extend([PROTOCOL, 1]);
        frame.extend(from.octets());
        frame.extend(to.octets());
        let start = self.put_header(frame, (Version::V3, kind), len);
        frame.extend([self.instance, 0]);
        frame.extend(body);
        let sum = sum_v3(&frame[start..], from, to);
        frame[start + CHECKSUM_AT..start + CHECKSUM_AT + 2].copy_from_slice(&sum.to_be_bytes());
    }

    /// Appends what headers of both versions begin with, without a checksum; returns where it is.
    fn put_header(&self, frame: &mut Vec<u8>, (version, kind): (Version, u8), len: u16) -> usize {
        let start = frame.len();
        frame.extend([version.number(), kind]);
        frame.extend(len.to_be_bytes());
        frame.extend(self.router.octets());
        frame.extend(self.area.octets());
        frame.extend([0, 0]);
        start
    }
}

/// The hardware address of a group (RFC 1112 section 6.4, RFC 2464 section 7).
pub(crate) fn group_mac(group: IpAddr) -> Mac {
    match group {
        IpAddr::V4(group) => {
            let [_, b, c, d] = group.octets();
            [0x01, 0x00, 0x5e, b & 0x7f, c, d]
        }
        IpAddr::V6(group) => {
            let [.., a, b, c, d] = group.octets();
            [0x33, 0x33, a, b, c, d]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: IpAddr = IpAddr::V4(Ipv4Addr::new(224, 0, 0, 5));

    fn sender(authentication: Authentication) -> Sender {
        Sender {
            mac: [2, 0, 0, 0, 0, 1],
            vlans: [7].into(),
            ip: IpAddr::V4([10, 0, 0, 2].into()),
            router: [1, 1, 1, 1].into(),
            area: [0; 4].into(),
            instance: 0,
            authentication,
            number: 7,
        }
    }

    fn hello(version: Version) -> Vec<u8> {
        let mut body = Vec::new();
        let hello = Hello {
            mask: [255, 255, 255, 0].into(),
            interface: 5,
            interval_s: 10,
            options: 2,
            priority: 0,
            dead_s: 40,
            designated: [0; 4].into(),
            backup: [0; 4].into(),
            heard: &[2, 2, 2, 2],
        };
        hello.put(version, &mut body);
        body
    }

    #[test]
    fn what_is_sent_is_read_back_and_nothing_spoilt_is() {
        let all = (ALL, group_mac(ALL));
        let md5 = |id| Authentication::Md5 { id, key: *b"sixteen letters." };
        for by in [Authentication::None, Authentication::Simple(*b"tideless"), md5(3)] {
            let frame = sender(by).frame(all, 1, &hello(Version::V2));
            assert!(may_concern(&frame));
            let read = Received::read(&frame).unwrap();
            assert_eq!((read.vlans, read.from, read.to), (vec![7], IpAddr::V4([10, 0, 0, 2].into()), ALL));
            let packet = read.packet.unwrap();
            assert!(packet.is_by(&by) && !packet.is_by(&md5(4)));
            assert_eq!(packet.digest_number(), if by == md5(3) { 7 } else { 0 });
            let Body::Hello(hello) = packet.body else { panic!("no Hello") };
            assert!(hello.names([2, 2, 2, 2].into()) && !hello.names([2, 2, 2, 3].into()));
            for at in 38..frame.len() {
                let mut spoilt = frame.clone();
                spoilt[at] ^= 0x40;
                let read = Received::read(&spoilt).unwrap().packet;
                assert!(
                    read != Ok(packet) && !(by == md5(3) && read.is_ok_and(|it| it.is_by(&by))),
                    "byte {at}"
                );
            }
            for len in 0..frame.len() {
                let cut = &frame[..len];
                let _ = may_concern(cut);
                assert!(Received::read(cut).is_none_or(|read| read.packet.is_err()), "{len} bytes");
            }
        }
    }

    #[test]
    fn packets_of_ospfv3_are_read_back_and_nothing_spoilt_is() {
        let from: Ipv6Addr = "fe80::2".parse().unwrap();
        let ours = Sender { ip: from.into(), instance: 9, ..sender(Authentication::None) };
        let all = Version::V3.all_routers();
        let frame = ours.frame((all, group_mac(all)), 1, &hello(Version::V3));
        assert!(may_concern(&frame));
        assert_eq!(
            (&frame[..6], frame[18 + 7]),
            (&[0x33, 0x33, 0, 0, 0, 5][..], 1),
            "the group and the hop limit"
        );
        let read = Received::read(&frame).unwrap();
        assert_eq!((read.version, read.from, read.to), (Version::V3, from.into(), all));
        let packet = read.packet.unwrap();
        assert_eq!((packet.router, packet.instance), ([1, 1, 1, 1].into(), 9));
        let Body::Hello(said) = packet.body else { panic!("no Hello") };
        assert_eq!((said.interface, said.interval_s, said.dead_s, said.options), (5, 10, 40, 2));
        assert!(said.names([2, 2, 2, 2].into()));
        // A flow label and a traffic class are not covered, nor a hop limit.
        for at in 26..frame.len() {
            let mut spoilt = frame.clone();
            spoilt[at] ^= 0x40;
            assert!(Received::read(&spoilt).is_none_or(|read| read.packet != Ok(packet)), "byte {at}");
        }
        for len in 0..frame.len() {
            let cut = &frame[..len];
            let _ = may_concern(cut);
            assert!(Received::read(cut).is_none_or(|read| read.packet.is_err()), "{len} bytes");
        }
    }

    #[test]
    fn descriptions_of_both_versions_are_read_back() {
        for (version, options) in [(Version::V2, 0x42), (Version::V3, 0x0001_0213)] {
            let headers = &[7; 40];
            let said = Description { mtu: 1_500, options, flags: MASTER | MORE, sequence: 77, headers };
            let mut body = Vec::new();
            said.put(version, &mut body);
            assert_eq!(body.len(), version.description() + 40);
            assert_eq!(Body::read(version, 2, &body), Ok(Body::Description(said)));
        }
    }
}
