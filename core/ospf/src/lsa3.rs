//! Bodies of OSPFv3 LSAs that routers here originate (RFC 5340 appendix A.4). Their headers are the same as in OSPFv2,
//! except for the type.
//!
//! Links of a router have no addresses: these are in separate LSAs, which refer to their router or network.

use crate::contents3::LsaLink3;
use crate::lsa::{LS_INFINITY, Link, LinkTo, word};
use crate::version::Version;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Types of LSAs (appendix A.4.2.1).
pub(crate) const ROUTER: u16 = 0x2001;
pub(crate) const NETWORK: u16 = 0x2002;
pub(crate) const INTER_AREA_PREFIX: u16 = 0x2003;
pub(crate) const INTER_AREA_ROUTER: u16 = 0x2004;
/// The type of an AS-external LSA.
pub const EXTERNAL: u16 = 0x4005;
pub(crate) const NSSA: u16 = 0x2007;
pub(crate) const LINK: u16 = 0x0008;
pub(crate) const INTRA_AREA_PREFIX: u16 = 0x2009;

/// Bytes of a router's LSA without links, and of each link.
pub(crate) const ROUTER_BODY: usize = 4;
pub(crate) const ROUTER_LINK: usize = 16;
/// Bytes of an intra-area-prefix-LSA without prefixes.
pub(crate) const INTRA_AREA_BODY: usize = 12;
/// Flags of an AS-external LSA (appendix A.4.7): its metric is of type 2, it has a forwarding address, it has a tag.
pub(crate) const EXTERNAL_TYPE_2: u8 = 4;
pub(crate) const EXTERNAL_FORWARDING: u8 = 2;
pub(crate) const EXTERNAL_TAG: u8 = 1;

/// Whether a type has the reserved flooding scope (appendix A.4.2.1).
pub(crate) fn is_reserved(kind: u16) -> bool {
    kind & 0x6000 == 0x6000
}

/// Bytes of a prefix's address: whole words (appendix A.4.1).
pub(crate) fn prefix_bytes(prefix_len: u8) -> usize {
    usize::from(prefix_len.min(128)).div_ceil(32) * 4
}

/// Appends a prefix (appendix A.4.1) with what is between its options and its address: a metric or a type of LSA, by place.
pub(crate) fn put_prefix(out: &mut Vec<u8>, (ip, len): (Ipv6Addr, u8), between: u16) {
    out.extend([len, 0]);
    out.extend(between.to_be_bytes());
    out.extend(&ip.octets()[..prefix_bytes(len)]);
}

/// Appends the body of a router's LSA (appendix A.4.3). Its own network is no link.
pub(crate) fn put_router(out: &mut Vec<u8>, flags: u8, links: impl Iterator<Item = Link>) {
    out.extend((u32::from(flags) << 24 | Version::V3.options()).to_be_bytes());
    for link in links.filter(|link| link.to != LinkTo::Stub) {
        out.extend([link.to as u8, 0]);
        out.extend(link.cost.to_be_bytes());
        out.extend(link.data.octets());
        out.extend(link.theirs.to_be_bytes());
        out.extend(link.id.octets());
    }
}

/// Appends the body of a link's LSA (appendix A.4.9) of a router that is never designated.
pub(crate) fn put_link(out: &mut Vec<u8>, ip: Ipv6Addr, network: Option<(Ipv6Addr, u8)>) {
    out.extend(Version::V3.options().to_be_bytes());
    out.extend(ip.octets());
    out.extend(u32::from(network.is_some()).to_be_bytes());
    network.into_iter().for_each(|prefix| put_prefix(out, prefix, 0));
}

/// Appends the body of an intra-area-prefix-LSA (appendix A.4.10) with the prefixes of a router, each with its metric.
pub(crate) fn put_prefixes(
    out: &mut Vec<u8>,
    router: Ipv4Addr,
    prefixes: impl Iterator<Item = (IpAddr, u8, u16)>,
) {
    let at = out.len();
    out.extend([0; 2]);
    out.extend(ROUTER.to_be_bytes());
    out.extend([0; 4]);
    out.extend(router.octets());
    let mut count = 0u16;
    for (ip, len, metric) in prefixes {
        if let IpAddr::V6(ip) = ip {
            put_prefix(out, (ip, len), metric);
            count += 1;
        }
    }
    out[at..at + 2].copy_from_slice(&count.to_be_bytes());
}

/// Appends the body of an inter-area-prefix-LSA (appendix A.4.5).
pub(crate) fn put_inter_area(out: &mut Vec<u8>, prefix: (Ipv6Addr, u8), metric: u32) {
    out.extend(metric.min(LS_INFINITY).to_be_bytes());
    put_prefix(out, prefix, 0);
}

/// Appends the body of an AS-external LSA (appendix A.4.7) without a forwarding address; with a tag if there is one.
pub(crate) fn put_external(
    out: &mut Vec<u8>,
    prefix: (Ipv6Addr, u8),
    is_type_2: bool,
    metric: u32,
    tag: u32,
) {
    let flags = if is_type_2 { EXTERNAL_TYPE_2 } else { 0 } | if tag != 0 { EXTERNAL_TAG } else { 0 };
    out.extend((u32::from(flags) << 24 | metric.min(LS_INFINITY)).to_be_bytes());
    put_prefix(out, prefix, 0);
    if tag != 0 {
        out.extend(tag.to_be_bytes());
    }
}

/// The links in a router's LSA (its body).
pub(crate) fn links(body: &[u8]) -> impl Iterator<Item = LsaLink3> + '_ {
    let link = |link: &[u8]| {
        Some(LsaLink3 {
            kind: *link.first()?,
            cost: (word(link, 0)? & 0xffff) as u16,
            interface: word(link, 4)?,
            neighbour_interface: word(link, 8)?,
            neighbour: word(link, 12)?.into(),
        })
    };
    body.get(ROUTER_BODY..).unwrap_or_default().chunks_exact(ROUTER_LINK).filter_map(link)
}

/// Whether a router's LSA (its body) has a link to the router `to`.
pub(crate) fn links_to(body: &[u8], to: Ipv4Addr) -> bool {
    links(body).any(|link| link.neighbour == to && link.kind == LinkTo::Router as u8)
}
