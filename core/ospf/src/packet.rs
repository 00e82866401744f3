//! OSPF packets (RFC 2328 appendix A.3) in Ethernet frames: their header, their bodies, authentication by nothing, a simple password or
//! MD5 (appendix D).
//!
//! Invariant: what was read has lengths that fit its frame, and a right checksum.

use crate::Mac;
use crate::lsa::{LSA_HEADER, LsaHeader, LsaKey, address, is_right, pair, word};
use md5::{Digest, Md5};
use std::net::Ipv4Addr;
use wire::checksum;
use wire::control::{ETHERTYPE_AT, tags};

/// The IP protocol.
pub const PROTOCOL: u8 = 89;
/// All OSPF routers, and all that are designated (appendix A.1).
pub(crate) const ALL_ROUTERS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 5);
pub(crate) const ALL_DESIGNATED: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 6);
/// Bytes of a packet's header.
pub(crate) const HEADER: usize = 24;
pub(crate) const IPV4: usize = 20;
/// Bytes of a description's body without headers, and of an entry of a request.
pub(crate) const DESCRIPTION: usize = 8;
pub(crate) const REQUEST: usize = 12;
/// Bytes of an update's body without LSAs.
pub(crate) const UPDATE: usize = 4;

const TAG: usize = 4;
const TYPE_IPV4: u16 = 0x0800;
const VERSION: u8 = 2;
const CHECKSUM_AT: usize = 12;
const AUTHENTICATION_AT: usize = 16;
const SIMPLE: u16 = 1;
const CRYPTOGRAPHIC: u16 = 2;
/// Bytes of a digest, which is behind its packet (appendix D.4.3).
pub(crate) const DIGEST: usize = 16;
/// Precedence: internetwork control (appendix A.1).
const TOS: u8 = 0xc0;
const HELLO: usize = 20;

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
    /// Outermost first; without those that only tell a priority.
    pub(crate) vlans: Vec<u16>,
    pub(crate) from: Ipv4Addr,
    pub(crate) to: Ipv4Addr,
    pub(crate) packet: Result<Packet<'f>, Malformed>,
}

/// A packet (appendix A.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'f> {
    /// Who sends it.
    pub router: Ipv4Addr,
    /// In which area.
    pub area: Ipv4Addr,
    /// How it is authenticated, and by what.
    pub(crate) authentication: (u16, [u8; 8]),
    /// It itself, and the digest behind it.
    digest: Option<(&'f [u8], &'f [u8; DIGEST])>,
    /// What it says.
    pub body: Body<'f>,
}

/// What a packet says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body<'f> {
    /// Who is there (appendix A.3.2).
    Hello(Hello<'f>),
    /// What a database has (appendix A.3.3).
    Description(Description<'f>),
    /// Which LSAs are wanted: 12 bytes each (appendix A.3.4).
    Request(&'f [u8]),
    /// LSAs, and how many (appendix A.3.5).
    Update(u32, &'f [u8]),
    /// Headers of LSAs that arrived (appendix A.3.6).
    Acknowledgment(&'f [u8]),
}

/// Who is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello<'f> {
    pub(crate) mask: Ipv4Addr,
    pub(crate) interval_s: u16,
    pub(crate) options: u8,
    pub(crate) priority: u8,
    pub(crate) dead_s: u32,
    pub(crate) designated: Ipv4Addr,
    pub(crate) backup: Ipv4Addr,
    /// Identifiers of routers that were heard, four bytes each.
    pub(crate) heard: &'f [u8],
}

/// What a database has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Description<'f> {
    pub(crate) mtu: u16,
    pub(crate) options: u8,
    pub(crate) flags: u8,
    pub(crate) sequence: u32,
    /// Headers of LSAs.
    pub(crate) headers: &'f [u8],
}

/// Whether a frame may be for a router here: a look at its type and protocol alone.
pub fn may_concern(frame: &[u8]) -> bool {
    let mut at = ETHERTYPE_AT;
    while matches!(pair(frame, at), Some(0x8100 | 0x88a8)) && at < ETHERTYPE_AT + 2 * TAG {
        at += TAG;
    }
    pair(frame, at) == Some(TYPE_IPV4) && frame.get(at + 2 + 9) == Some(&PROTOCOL)
}

impl<'f> Received<'f> {
    /// The packet of a frame; `None` if it has none, or a fragment of one.
    pub fn read(frame: &'f [u8]) -> Option<Self> {
        let (ids, n) = tags(frame)?;
        let at = ETHERTYPE_AT + TAG * n;
        let ip = frame.get(at + 2..)?;
        let header = usize::from(ip.first()? & 15) * 4;
        let is_whole = pair(ip, 6)? & 0x3fff == 0;
        if pair(frame, at)? != TYPE_IPV4 || ip[0] >> 4 != 4 || header < IPV4 || !is_whole {
            return None;
        }
        if *ip.get(9)? != PROTOCOL {
            return None;
        }
        let payload = ip.get(header..usize::from(pair(ip, 2)?));
        Some(Self {
            from_mac: *frame.get(6..)?.first_chunk()?,
            vlans: ids[..n].iter().copied().filter(|id| *id != 0).collect(),
            from: address(ip, 12)?,
            to: address(ip, 16)?,
            packet: payload.ok_or(Malformed::Short).and_then(Packet::read),
        })
    }
}

impl<'f> Packet<'f> {
    /// The packet that `bytes` are.
    ///
    /// # Errors
    /// Why they are none.
    pub fn read(bytes: &'f [u8]) -> Result<Self, Malformed> {
        let short = || Malformed::Short;
        let len = usize::from(pair(bytes, 2).ok_or_else(short)?);
        if bytes[0] != VERSION {
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
            authentication: (kind, by),
            digest: match kind {
                CRYPTOGRAPHIC => Some((packet, bytes[len..].first_chunk().ok_or_else(short)?)),
                _ => None,
            },
            body: Body::read(packet[1], &packet[HEADER..])?,
        })
    }
}

impl Packet<'_> {
    /// The sequence number of its digest (appendix D.3); 0 without one.
    pub(crate) fn digest_number(&self) -> u32 {
        self.digest.and_then(|_| word(&self.authentication.1, 4)).unwrap_or(0)
    }

    /// Whether it is authenticated as `by` says.
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

/// How packets of a link are authenticated (RFC 2328 appendix D).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authentication {
    /// They are not.
    None,
    /// By a password in them.
    Simple([u8; 8]),
    /// By a digest behind them.
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

    /// Bytes behind each packet.
    pub(crate) fn trailer(&self) -> usize {
        if matches!(self, Self::Md5 { .. }) { DIGEST } else { 0 }
    }
}

/// The digest of a packet (appendix D.4.3).
fn digest_of(packet: &[u8], key: &[u8; DIGEST]) -> [u8; DIGEST] {
    Md5::new().chain_update(packet).chain_update(key).finalize().into()
}

impl<'f> Body<'f> {
    fn read(kind: u8, body: &'f [u8]) -> Result<Self, Malformed> {
        let whole = |part: &'f [u8], size: usize| match part.len().is_multiple_of(size) {
            true => Ok(part),
            false => Err(Malformed::Short),
        };
        Ok(match kind {
            1 => Self::Hello(Hello::read(body).ok_or(Malformed::Short)?),
            2 => {
                let read = Description::read(body).ok_or(Malformed::Short)?;
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
    fn read(body: &'f [u8]) -> Option<Self> {
        Some(Self {
            mask: address(body, 0)?,
            interval_s: pair(body, 4)?,
            options: *body.get(6)?,
            priority: *body.get(7)?,
            dead_s: word(body, 8)?,
            designated: address(body, 12)?,
            backup: address(body, 16)?,
            heard: body.get(HELLO..)?,
        })
    }

    /// Whether it names a router as one that was heard.
    pub(crate) fn names(&self, id: Ipv4Addr) -> bool {
        self.heard.chunks_exact(4).any(|one| one == id.octets())
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.mask.octets());
        out.extend(self.interval_s.to_be_bytes());
        out.extend([self.options, self.priority]);
        out.extend(self.dead_s.to_be_bytes());
        out.extend(self.designated.octets());
        out.extend(self.backup.octets());
        out.extend(self.heard);
    }
}

impl<'f> Description<'f> {
    fn read(body: &'f [u8]) -> Option<Self> {
        Some(Self {
            mtu: pair(body, 0)?,
            options: *body.get(2)?,
            flags: *body.get(3)?,
            sequence: word(body, 4)?,
            headers: body.get(DESCRIPTION..)?,
        })
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.mtu.to_be_bytes());
        out.extend([self.options, self.flags]);
        out.extend(self.sequence.to_be_bytes());
        out.extend(self.headers);
    }
}

/// Headers one after the other.
pub(crate) fn headers(bytes: &[u8]) -> impl Iterator<Item = LsaHeader> + '_ {
    bytes.chunks_exact(LSA_HEADER).filter_map(LsaHeader::read)
}

/// The keys of a request.
pub(crate) fn keys(bytes: &[u8]) -> impl Iterator<Item = LsaKey> + '_ {
    let key = |bytes: &[u8]| {
        let kind = u8::try_from(word(bytes, 0)?).ok()?;
        Some(LsaKey { kind, id: address(bytes, 4)?, router: address(bytes, 8)? })
    };
    bytes.chunks_exact(REQUEST).filter_map(key)
}

/// The LSAs of an update, as many as it says and has: each whole, and whether its checksum is right.
pub(crate) fn lsas(count: u32, mut bytes: &[u8]) -> impl Iterator<Item = (LsaHeader, &[u8], bool)> {
    let mut left = count;
    std::iter::from_fn(move || {
        left = left.checked_sub(1)?;
        let header = LsaHeader::read(bytes)?;
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

/// Who sends packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sender {
    pub(crate) mac: Mac,
    pub(crate) vlans: Vec<u16>,
    pub(crate) ip: Ipv4Addr,
    pub(crate) router: Ipv4Addr,
    pub(crate) area: Ipv4Addr,
    pub(crate) authentication: Authentication,
    /// The number of digests; it never falls (appendix D.3).
    pub(crate) number: u32,
}

impl Sender {
    /// A frame with the packet whose type is `kind` and whose body is `body`; to a group, or to the neighbour with `mac`.
    pub(crate) fn frame(&self, to: (Ipv4Addr, Mac), kind: u8, body: &[u8]) -> Vec<u8> {
        let (to, mac) = to;
        let mut frame = Vec::with_capacity(14 + TAG * self.vlans.len() + IPV4 + HEADER + body.len() + DIGEST);
        frame.extend(mac);
        frame.extend(self.mac);
        for id in &self.vlans {
            frame.extend(0x8100u16.to_be_bytes());
            frame.extend(id.to_be_bytes());
        }
        frame.extend(TYPE_IPV4.to_be_bytes());
        let (ip, len) = (frame.len(), (HEADER + body.len()) as u16);
        let trailer = self.authentication.trailer();
        frame.extend([0x45, TOS]);
        frame.extend((IPV4 as u16 + len + trailer as u16).to_be_bytes());
        // It goes no further than the link: its TTL is 1 (appendix A.1).
        frame.extend([0, 0, 0, 0, 1, PROTOCOL, 0, 0]);
        frame.extend(self.ip.octets());
        frame.extend(to.octets());
        let sum = checksum::finish(checksum::sum(&frame[ip..], 0));
        frame[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
        let start = frame.len();
        frame.extend([VERSION, kind]);
        frame.extend(len.to_be_bytes());
        frame.extend(self.router.octets());
        frame.extend(self.area.octets());
        frame.extend([0, 0]);
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
        frame
    }
}

/// The hardware address of a group (RFC 1112 section 6.4).
pub(crate) fn group_mac(group: Ipv4Addr) -> Mac {
    let [_, b, c, d] = group.octets();
    [0x01, 0x00, 0x5e, b & 0x7f, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(authentication: Authentication) -> Sender {
        Sender {
            mac: [2, 0, 0, 0, 0, 1],
            vlans: vec![7],
            ip: [10, 0, 0, 2].into(),
            router: [1, 1, 1, 1].into(),
            area: [0; 4].into(),
            authentication,
            number: 7,
        }
    }

    fn hello() -> Vec<u8> {
        let mut body = Vec::new();
        let hello = Hello {
            mask: [255, 255, 255, 0].into(),
            interval_s: 10,
            options: 2,
            priority: 0,
            dead_s: 40,
            designated: [0; 4].into(),
            backup: [0; 4].into(),
            heard: &[2, 2, 2, 2],
        };
        hello.put(&mut body);
        body
    }

    #[test]
    fn what_is_sent_is_read_back_and_nothing_spoilt_is() {
        let all = (ALL_ROUTERS, group_mac(ALL_ROUTERS));
        let md5 = |id| Authentication::Md5 { id, key: *b"sixteen letters." };
        for by in [Authentication::None, Authentication::Simple(*b"tideless"), md5(3)] {
            let frame = sender(by).frame(all, 1, &hello());
            assert!(may_concern(&frame));
            let read = Received::read(&frame).unwrap();
            assert_eq!((read.vlans, read.from, read.to), (vec![7], [10, 0, 0, 2].into(), ALL_ROUTERS));
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
}
