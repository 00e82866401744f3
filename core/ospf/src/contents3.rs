//! Content of an OSPFv3 LSA, read from its body (RFC 5340 appendix A.4).
//!
//! Not here: what a router does with it (`exchange`); LSAs of other types than RFC 5340 has.

use crate::lsa::{LS_INFINITY, address, pair, word};
use crate::lsa3::{
    EXTERNAL, EXTERNAL_FORWARDING, EXTERNAL_TAG, EXTERNAL_TYPE_2, INTER_AREA_PREFIX, INTER_AREA_ROUTER,
    INTRA_AREA_BODY, INTRA_AREA_PREFIX, LINK, NETWORK, NSSA, ROUTER, ROUTER_BODY, links, prefix_bytes,
};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Bytes before a prefix's address.
const PREFIX: usize = 4;
/// Bytes of a link's LSA before its prefixes.
const LINK_BODY: usize = 24;

/// Content of an OSPFv3 LSA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LsaContents3 {
    /// Links of a router (type 0x2001).
    Router(Vec<LsaLink3>),
    /// The routers on a network (type 0x2002).
    Network(Vec<Ipv4Addr>),
    /// A prefix of another area, and its metric (type 0x2003).
    InterAreaPrefix(LsaPrefix, u32),
    /// A router at the border of the autonomous system in another area, and its metric (type 0x2004).
    InterAreaRouter(Ipv4Addr, u32),
    /// A prefix of another autonomous system (types 0x4005 and 0x2007).
    External(LsaExternal3),
    /// A router's address on a link, and the link's prefixes (type 0x0008).
    Link(Ipv6Addr, Vec<LsaPrefix>),
    /// Prefixes of a router or a network, each with its metric (type 0x2009).
    IntraAreaPrefix(Vec<(LsaPrefix, u16)>),
}

/// A prefix: its address and its bits.
pub type LsaPrefix = (Ipv6Addr, u8);

/// A link of a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LsaLink3 {
    /// Where it leads: 1 is to another router, 2 to a network with a designated router, 4 is virtual.
    pub kind: u8,
    /// Cost.
    pub cost: u16,
    /// The router's number of the interface.
    pub interface: u32,
    /// The neighbour's, or the designated router's.
    pub neighbour_interface: u32,
    /// Identifier of the neighbour, or of the designated router.
    pub neighbour: Ipv4Addr,
}

/// A prefix of another autonomous system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LsaExternal3 {
    /// The prefix.
    pub prefix: LsaPrefix,
    /// Metric.
    pub metric: u32,
    /// Whether the metric is one of type 2: it alone counts.
    pub is_type_2: bool,
    /// The type of an LSA that it refers to; 0 is none.
    pub referenced: u16,
    /// Forwarding address, if not the originator.
    pub forwarding: Option<Ipv6Addr>,
    /// Its tag.
    pub tag: Option<u32>,
}

impl LsaContents3 {
    /// Content of the body of an LSA of type `kind`; `None` if its type is another one, or it is truncated.
    pub fn read(kind: u16, body: &[u8]) -> Option<Self> {
        Some(match kind {
            ROUTER => {
                body.get(..ROUTER_BODY)?;
                Self::Router(links(body).collect())
            }
            NETWORK => {
                let routers = body.get(4..)?.chunks_exact(4).filter_map(|one| address(one, 0));
                Self::Network(routers.collect())
            }
            INTER_AREA_PREFIX => {
                let (prefix, ..) = prefix(body.get(4..)?)?;
                Self::InterAreaPrefix(prefix, word(body, 0)? & LS_INFINITY)
            }
            INTER_AREA_ROUTER => Self::InterAreaRouter(address(body, 8)?, word(body, 4)? & LS_INFINITY),
            EXTERNAL | NSSA => Self::External(external(body)?),
            LINK => {
                let ip = ipv6(body.get(4..)?)?;
                let all = prefixes(body.get(LINK_BODY..)?, word(body, 20)?)?;
                Self::Link(ip, all.into_iter().map(|(prefix, _)| prefix).collect())
            }
            INTRA_AREA_PREFIX => {
                Self::IntraAreaPrefix(prefixes(body.get(INTRA_AREA_BODY..)?, pair(body, 0)?.into())?)
            }
            _ => return None,
        })
    }
}

fn ipv6(bytes: &[u8]) -> Option<Ipv6Addr> {
    bytes.first_chunk::<16>().map(|octets| Ipv6Addr::from(*octets))
}

/// The prefix at the start of `bytes`, what is before its address, and what follows it.
fn prefix(bytes: &[u8]) -> Option<(LsaPrefix, u16, &[u8])> {
    let (len, between) = (*bytes.first()?, pair(bytes, 2)?);
    if len > 128 {
        return None;
    }
    let (said, rest) = bytes.get(PREFIX..)?.split_at_checked(prefix_bytes(len))?;
    let mut octets = [0; 16];
    octets[..said.len()].copy_from_slice(said);
    Some(((octets.into(), len), between, rest))
}

/// This number of prefixes, as far as there are bytes for them.
fn prefixes(mut bytes: &[u8], count: u32) -> Option<Vec<(LsaPrefix, u16)>> {
    let mut all = Vec::new();
    for _ in 0..count {
        let (one, between, rest) = prefix(bytes)?;
        all.push((one, between));
        bytes = rest;
    }
    Some(all)
}

fn external(body: &[u8]) -> Option<LsaExternal3> {
    let (first, (prefix, referenced, mut rest)) = (word(body, 0)?, prefix(body.get(4..)?)?);
    let has = |flag: u8| first >> 24 & u32::from(flag) != 0;
    let mut forwarding = None;
    if has(EXTERNAL_FORWARDING) {
        forwarding = Some(ipv6(rest)?);
        rest = &rest[16..];
    }
    let tag = if has(EXTERNAL_TAG) { Some(word(rest, 0)?) } else { None };
    Some(LsaExternal3 {
        prefix,
        metric: first & LS_INFINITY,
        is_type_2: has(EXTERNAL_TYPE_2),
        referenced,
        forwarding,
        tag,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsa::{FLAG_EXTERNAL, Link, LinkTo};
    use crate::lsa3::{put_external, put_inter_area, put_link, put_prefixes, put_router};

    #[test]
    fn what_is_built_is_read_and_what_is_cut_off_is_not() {
        let at = |text: &str| text.parse::<Ipv6Addr>().unwrap();
        let built = |put: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            put(&mut out);
            out
        };
        let id: Ipv4Addr = [9, 9, 9, 9].into();
        let link = Link { to: LinkTo::Router, id, data: [0, 0, 0, 1].into(), cost: 7, theirs: 4 };
        let stub = Link { to: LinkTo::Stub, ..link };
        let read = LsaLink3 { kind: 1, cost: 7, interface: 1, neighbour_interface: 4, neighbour: id };
        let external = LsaExternal3 {
            prefix: (at("2001:db8:1::"), 48),
            metric: 20,
            is_type_2: true,
            referenced: 0,
            forwarding: None,
            tag: Some(5),
        };
        let (whole, none) = ((at("2001:db8::1"), 128), (at("::"), 0));
        let both = [(whole.0.into(), whole.1, 3), (none.0.into(), none.1, 9)];
        for (kind, body, expected) in [
            (
                ROUTER,
                built(&|out| put_router(out, FLAG_EXTERNAL, [link, stub].into_iter())),
                LsaContents3::Router(vec![read]),
            ),
            (NETWORK, vec![0, 0, 0, 0x13, 1, 1, 1, 1], LsaContents3::Network(vec![[1; 4].into()])),
            (
                INTER_AREA_PREFIX,
                built(&|out| put_inter_area(out, (at("2001:db8::"), 33), 9)),
                LsaContents3::InterAreaPrefix((at("2001:db8::"), 33), 9),
            ),
            (
                INTER_AREA_ROUTER,
                vec![0, 0, 0, 0, 0, 0, 0, 7, 2, 2, 2, 2],
                LsaContents3::InterAreaRouter([2; 4].into(), 7),
            ),
            (
                EXTERNAL,
                built(&|out| put_external(out, external.prefix, true, 20, 5)),
                LsaContents3::External(external),
            ),
            (
                LINK,
                built(&|out| put_link(out, at("fe80::1"), Some(whole))),
                LsaContents3::Link(at("fe80::1"), vec![whole]),
            ),
            (
                INTRA_AREA_PREFIX,
                built(&|out| put_prefixes(out, id, both.into_iter())),
                LsaContents3::IntraAreaPrefix(vec![(whole, 3), (none, 9)]),
            ),
        ] {
            assert_eq!(LsaContents3::read(kind, &body), Some(expected.clone()));
            for len in 0..body.len() {
                assert_ne!(
                    LsaContents3::read(kind, &body[..len]),
                    Some(expected.clone()),
                    "type {kind:#x}, {len} bytes"
                );
            }
        }
        assert_eq!(LsaContents3::read(3, &[0; 40]), None);
        assert_eq!(LsaContents3::read(INTER_AREA_PREFIX, &[0, 0, 0, 1, 129, 0, 0, 0]), None);
    }
}
