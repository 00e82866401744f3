//! Link state advertisements (RFC 2328 section 12 and appendix A.4): headers, which of two is newer and checksums, as both versions have
//! them, and the bodies that routers of OSPFv2 originate.
//!
//! Not here: bodies of OSPFv3 (`lsa3`), who originates them when (`own`), and what of the device's is held (`database`).

use crate::contents::LsaLink;
use crate::version::Version;
use linkstate::{fletcher, sums};
use std::cmp::Ordering;
use std::net::Ipv4Addr;

/// Bytes of an LSA's header.
pub const LSA_HEADER: usize = 20;
/// The age at which an LSA is flushed, s (appendix B).
pub const MAX_AGE: u16 = 3_600;
/// Ages that differ by more are of different instances, s (appendix B).
const MAX_AGE_DIFF: u16 = 900;
/// The sequence number that an LSA begins with (section 12.1.6).
pub const INITIAL_SEQUENCE: i32 = i32::MIN + 1;
/// This router's area can have external routes (appendix A.2).
pub(crate) const OPTION_EXTERNAL: u8 = 0x02;
/// The highest metric of an external route or a summary: it can't be reached (appendix B).
pub const LS_INFINITY: u32 = 0x00ff_ffff;

/// Types of LSAs (appendix A.4.1).
pub(crate) const ROUTER: u16 = 1;
pub(crate) const NETWORK: u16 = 2;
/// The type of a summary of a network.
pub const SUMMARY: u16 = 3;
pub(crate) const BORDER: u16 = 4;
/// The type of an AS-external LSA.
pub const EXTERNAL: u16 = 5;
/// Others that are taken in: NSSA (RFC 3101), and opaque ones of a link, an area, and everywhere (RFC 5250).
pub(crate) const NSSA: u16 = 7;
pub(crate) const OPAQUE_LINK: u16 = 9;
pub(crate) const OPAQUE_AREA: u16 = 10;
pub(crate) const OPAQUE_DOMAIN: u16 = 11;

/// Where in the LSA its checksum is, and where the bytes it covers begin: it leaves the age out.
const CHECKSUM_AT: usize = 16;
const COVERED_FROM: usize = 2;

/// Which LSA one is (section 12.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LsaKey {
    /// Type; in OSPFv3 with what a router does with it that does not know it, and how far it is flooded (RFC 5340 appendix A.4.2.1).
    pub kind: u16,
    /// Link state identifier.
    pub id: Ipv4Addr,
    /// Advertising router.
    pub router: Ipv4Addr,
}

/// The header of an LSA (appendix A.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LsaHeader {
    /// Seconds since it was originated.
    pub age: u16,
    /// Options; OSPFv3 has none here.
    pub options: u8,
    /// Which one it is.
    pub key: LsaKey,
    /// Sequence number.
    pub sequence: i32,
    /// Checksum.
    pub checksum: u16,
    /// Bytes with this header.
    pub len: u16,
}

pub(crate) fn pair(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(crate) fn address(bytes: &[u8], at: usize) -> Option<Ipv4Addr> {
    word(bytes, at).map(Ipv4Addr::from)
}

impl LsaHeader {
    /// That at the start of `bytes`.
    pub fn read(version: Version, bytes: &[u8]) -> Option<Self> {
        let kind = pair(bytes, 2)?;
        let (options, kind) = match version {
            Version::V2 => ((kind >> 8) as u8, kind & 0xff),
            Version::V3 => (0, kind),
        };
        Some(Self {
            age: pair(bytes, 0)?,
            options,
            key: LsaKey { kind, id: address(bytes, 4)?, router: address(bytes, 8)? },
            sequence: word(bytes, 12)? as i32,
            checksum: pair(bytes, CHECKSUM_AT)?,
            len: pair(bytes, 18)?,
        })
    }

    /// Appends it.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.age.to_be_bytes());
        out.extend((u16::from(self.options) << 8 | self.key.kind).to_be_bytes());
        out.extend(self.key.id.octets());
        out.extend(self.key.router.octets());
        out.extend(self.sequence.to_be_bytes());
        out.extend(self.checksum.to_be_bytes());
        out.extend(self.len.to_be_bytes());
    }

    /// Whether it is being flushed.
    pub fn is_flushed(&self) -> bool {
        self.age >= MAX_AGE
    }

    /// Age compared with another instance of the same LSA (section 13.1): `Greater` is newer, `Equal` the same
    /// instance.
    pub fn against(&self, other: &Self) -> Ordering {
        let by_age = || match (self.is_flushed(), other.is_flushed()) {
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            _ if self.age.abs_diff(other.age) > MAX_AGE_DIFF => other.age.cmp(&self.age),
            _ => Ordering::Equal,
        };
        let by_number = self.sequence.cmp(&other.sequence).then(self.checksum.cmp(&other.checksum));
        by_number.then_with(by_age)
    }
}

/// Appends an LSA whose body `put` appends; fills in its length and checksum. `header` has the other fields.
pub(crate) fn put_lsa(out: &mut Vec<u8>, header: &LsaHeader, put: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    LsaHeader { checksum: 0, len: 0, ..*header }.put(out);
    put(out);
    let len = (out.len() - start) as u16;
    out[start + 18..start + 20].copy_from_slice(&len.to_be_bytes());
    let checksum = fletcher(&out[start + COVERED_FROM..], CHECKSUM_AT - COVERED_FROM);
    out[start + CHECKSUM_AT..start + CHECKSUM_AT + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// Whether the checksum of a whole LSA is right.
pub(crate) fn is_right(lsa: &[u8]) -> bool {
    lsa.get(COVERED_FROM..).is_some_and(|covered| sums(covered) == (0, 0))
}

/// A link of a router (RFC 2328 appendix A.4.2, RFC 5340 appendix A.4.3). A network with no other router is none in OSPFv3: it stands for
/// the prefix of the router's own link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    /// Where it leads.
    pub(crate) to: LinkTo,
    /// Its identifier, by type: a neighbour, a designated router, or a network.
    pub(crate) id: Ipv4Addr,
    /// Its data, by type: the router's address or number of the link, or a mask.
    pub(crate) data: Ipv4Addr,
    /// Cost.
    pub(crate) cost: u16,
    /// The neighbour's number of the link, in OSPFv3.
    pub(crate) theirs: u32,
}

/// Where a router's link leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkTo {
    /// To another router.
    Router = 1,
    /// To a network with a designated router.
    Transit = 2,
    /// To a network with no other router.
    Stub = 3,
}

/// Bytes of a router's LSA without links, and of each link.
pub(crate) const ROUTER_BODY: usize = 4;
pub(crate) const LINK: usize = 12;
/// Flags of a router: it knows networks of other areas, it knows external routes.
pub(crate) const FLAG_AREA_BORDER: u8 = 0x01;
pub(crate) const FLAG_EXTERNAL: u8 = 0x02;

/// Appends the body of a router's LSA.
pub(crate) fn put_router(out: &mut Vec<u8>, flags: u8, links: impl Iterator<Item = Link>) {
    let at = out.len();
    out.extend([flags, 0, 0, 0]);
    let mut count = 0u16;
    for link in links {
        out.extend(link.id.octets());
        out.extend(link.data.octets());
        out.extend([link.to as u8, 0]);
        out.extend(link.cost.to_be_bytes());
        count += 1;
    }
    out[at + 2..at + 4].copy_from_slice(&count.to_be_bytes());
}

/// Appends the body of an external LSA (appendix A.4.5): mask, kind and metric, no forwarding address, tag.
pub(crate) fn put_external(out: &mut Vec<u8>, prefix_len: u8, is_type_2: bool, metric: u32, tag: u32) {
    out.extend(mask(prefix_len).octets());
    out.extend((u32::from(is_type_2) << 31 | metric.min(LS_INFINITY)).to_be_bytes());
    out.extend([0; 4]);
    out.extend(tag.to_be_bytes());
}

/// Appends the body of a summary LSA (appendix A.4.4): mask and metric.
pub(crate) fn put_summary(out: &mut Vec<u8>, prefix_len: u8, metric: u32) {
    out.extend(mask(prefix_len).octets());
    out.extend(metric.min(LS_INFINITY).to_be_bytes());
}

/// The mask of this number of bits.
pub(crate) fn mask(prefix_len: u8) -> Ipv4Addr {
    Ipv4Addr::from(u32::MAX.checked_shl(32 - u32::from(prefix_len.min(32))).unwrap_or(0))
}

/// The links in a router's LSA (its body), up to its count and length.
pub(crate) fn links(body: &[u8]) -> impl Iterator<Item = LsaLink> + '_ {
    let mut left = pair(body, 2).unwrap_or(0);
    let mut rest = body.get(ROUTER_BODY..).unwrap_or_default();
    std::iter::from_fn(move || {
        left = left.checked_sub(1)?;
        let cost = pair(rest, 10)?;
        let link = LsaLink { kind: rest[8], id: address(rest, 0)?, data: address(rest, 4)?, cost };
        // Metrics of other kinds of service (RFC 1583) are four bytes each.
        rest = rest.get(LINK + 4 * usize::from(rest[9])..)?;
        Some(link)
    })
}

/// Whether a router's LSA (its body) has a link to the router `to`.
pub(crate) fn links_to(body: &[u8], to: Ipv4Addr) -> bool {
    links(body).any(|link| link.id == to && link.kind == LinkTo::Router as u8)
}

/// Whether a network's LSA (its body) names the router `whom`.
pub(crate) fn names(body: &[u8], whom: Ipv4Addr) -> bool {
    body.get(4..).is_some_and(|all| all.chunks_exact(4).any(|one| one == whom.octets()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(age: u16, sequence: i32) -> LsaHeader {
        let key = LsaKey { kind: ROUTER, id: [1, 1, 1, 1].into(), router: [1, 1, 1, 1].into() };
        LsaHeader { age, options: OPTION_EXTERNAL, key, sequence, checksum: 0, len: 0 }
    }

    fn link(n: u8) -> Link {
        Link { to: LinkTo::Router, id: [9, 9, 9, n].into(), data: [0, 0, 0, n].into(), cost: 7, theirs: 0 }
    }

    #[test]
    fn what_is_built_has_a_right_checksum_and_is_read_back() {
        for links in 0..200u8 {
            let mut out = vec![0xaa];
            put_lsa(&mut out, &header(u16::from(links), 5), |out| {
                put_router(out, FLAG_EXTERNAL, (0..links).map(link));
            });
            let lsa = &out[1..];
            assert!(is_right(lsa), "{links} links");
            let read = LsaHeader::read(Version::V2, lsa).unwrap();
            assert_eq!((read.sequence, usize::from(read.len)), (5, lsa.len()));
            let body = &lsa[LSA_HEADER..];
            assert_eq!(links_to(body, [9, 9, 9, 0].into()), links > 0);
            assert!(!links_to(body, [9, 9, 9, 250].into()));
            for at in COVERED_FROM..lsa.len() {
                let mut spoilt = lsa.to_vec();
                spoilt[at] ^= 0x10;
                assert!(!is_right(&spoilt), "byte {at} of {links} links");
            }
            let mut older = lsa.to_vec();
            older[0] = 1;
            assert!(is_right(&older), "the age is not covered");
        }
    }

    #[test]
    fn the_newer_of_two_is_found() {
        let same = header(10, 5);
        assert_eq!(header(900, 5).against(&same), Ordering::Equal);
        assert_eq!(header(950, 5).against(&same), Ordering::Less);
        assert_eq!(header(10, 6).against(&same), Ordering::Greater);
        assert_eq!(header(MAX_AGE, 5).against(&same), Ordering::Greater);
        assert_eq!(header(10, i32::MIN + 1).against(&header(10, i32::MAX)), Ordering::Less);
        assert_eq!(LsaHeader { checksum: 7, ..header(3_000, 5) }.against(&same), Ordering::Greater);
    }

    #[test]
    fn masks_have_their_bits() {
        let masks = [0, 1, 24, 32].map(mask);
        let expected: [Ipv4Addr; 4] =
            [[0; 4].into(), [128, 0, 0, 0].into(), [255, 255, 255, 0].into(), [255; 4].into()];
        assert_eq!(masks, expected);
    }
}
