//! Routes as a function of their index, and the routers that are generated behind a router.
//!
//! Nothing of them is stored: an LSP is built when it is sent.

use crate::pdu::{IPV4_ROUTES, IPV6_ROUTES, LSP_HEADER, NEIGHBOURS, SystemId, put};
use linkstate::{Shape, share};
use std::net::IpAddr;
use units::{Schedule, nth_prefix};

/// Bytes of a TLV's value.
const TLV_MAX: usize = 255;
/// Bits of the control byte of an IPv4 route (RFC 5305 section 4) and of an IPv6 route (RFC 5308 section 2).
pub(crate) const DOWN: u8 = 0x80;
pub(crate) const IPV4_SUB_TLVS: u8 = 0x40;
pub(crate) const IPV6_EXTERNAL: u8 = 0x40;
pub(crate) const IPV6_SUB_TLVS: u8 = 0x20;
/// The sub-TLV of a route's attributes (RFC 7794 section 2.1).
pub(crate) const ATTRIBUTES: u8 = 4;
/// The sub-TLV of an external IPv4 route (RFC 7794 section 2.1), with its length before it.
const IPV4_EXTERNAL: [u8; 4] = [3, ATTRIBUTES, 1, 0x80];
/// Bytes of a generated router's LSP for everything besides links and networks.
const GENERATED_REST: usize = 120;
pub(crate) const LINK: usize = 11;

/// Kind of routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteKind {
    /// The router's own.
    Internal,
    /// The router's, from another protocol.
    External,
    /// Networks of generated routers.
    Generated,
}

/// Routes that differ by their prefix alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteRange {
    /// Name in commands; empty if it has no name.
    pub name: String,
    /// Kind.
    pub kind: RouteKind,
    /// The first prefix's address.
    pub first: IpAddr,
    /// Bits of every prefix.
    pub prefix_len: u8,
    /// Prefixes of a router.
    pub count: u32,
    /// From one prefix to the next, in prefixes.
    pub step: u32,
    /// Whether all routers advertise the same prefixes; if not, each has the next ones.
    pub same: bool,
    /// Metric at their router.
    pub metric: u32,
    /// Up/down bit: whether they come from level 2 (RFC 5305 section 4.1).
    pub down: bool,
    /// When they are advertised, since the start of traffic.
    pub schedule: Schedule,
}

impl RouteRange {
    /// Whether they are in LSPs of generated routers.
    pub fn is_generated(&self) -> bool {
        self.kind == RouteKind::Generated
    }

    /// The address of prefix `index` of the router number `router`; `None` beyond the last address there is.
    pub fn prefix(&self, router: u32, index: u32) -> Option<IpAddr> {
        let before = if self.same { 0 } else { u64::from(router) * u64::from(self.count) };
        nth_prefix(self.first, self.prefix_len, u128::from(before + u64::from(index)) * u128::from(self.step))
    }

    /// Bytes of each of them in an LSP.
    fn entry(&self) -> usize {
        let prefix = usize::from(self.prefix_len).div_ceil(8);
        match (self.first, self.kind) {
            (IpAddr::V4(_), RouteKind::External) => 5 + prefix + IPV4_EXTERNAL.len(),
            (IpAddr::V4(_), _) => 5 + prefix,
            (IpAddr::V6(_), _) => 6 + prefix,
        }
    }

    /// Number of those that `room` bytes of an LSP hold.
    pub(crate) fn fitting(&self, room: usize) -> u32 {
        let (entry, in_tlv) = (self.entry(), TLV_MAX / self.entry());
        let full = 2 + in_tlv * entry;
        (room / full * in_tlv + (room % full).saturating_sub(2) / entry) as u32
    }

    /// LSPs that they fill, of which each has `room` bytes.
    pub fn fragments(&self, room: usize) -> u32 {
        if self.is_generated() { 0 } else { self.count.div_ceil(self.fitting(room).max(1)) }
    }

    /// Appends those with these indices of the router number `router`.
    pub(crate) fn put(&self, out: &mut Vec<u8>, router: u32, indices: std::ops::Range<u32>) {
        let per_tlv = (TLV_MAX / self.entry()) as u32;
        let mut from = indices.start;
        while from < indices.end {
            let to = indices.end.min(from + per_tlv);
            let mut value = Vec::with_capacity(TLV_MAX);
            for prefix in (from..to).filter_map(|index| self.prefix(router, index)) {
                let is_external = self.kind == RouteKind::External;
                put_prefix(&mut value, (prefix, self.prefix_len), self.metric, self.down, is_external);
            }
            put(out, routes_tlv(&self.first), &value);
            from = to;
        }
    }
}

/// The TLV that has routes of a family.
pub(crate) fn routes_tlv(address: &IpAddr) -> u8 {
    if address.is_ipv4() { IPV4_ROUTES } else { IPV6_ROUTES }
}

/// Appends a prefix as it is in a TLV of routes.
pub(crate) fn put_prefix(
    out: &mut Vec<u8>,
    (prefix, len): (IpAddr, u8),
    metric: u32,
    down: bool,
    is_external: bool,
) {
    let bytes = usize::from(len).div_ceil(8);
    let down = if down { DOWN } else { 0 };
    out.extend(metric.to_be_bytes());
    match prefix {
        IpAddr::V4(ip) => {
            out.push(down | if is_external { IPV4_SUB_TLVS } else { 0 } | len);
            out.extend(&ip.octets()[..bytes]);
            out.extend(is_external.then_some(IPV4_EXTERNAL).iter().flatten());
        }
        IpAddr::V6(ip) => {
            out.extend([down | if is_external { IPV6_EXTERNAL } else { 0 }, len]);
            out.extend(&ip.octets()[..bytes]);
        }
    }
}

/// Bytes for TLVs of an LSP of a router whose link has this MTU, with a password of this length.
pub fn fragment_room(lsp_bytes: usize, password: Option<&crate::Password>) -> usize {
    lsp_bytes - LSP_HEADER - password.map_or(0, crate::Password::len)
}

/// Networks of a range that the LSP of a generated router has room for, `room` bytes in all, besides its links.
pub fn networks_max(range: &RouteRange, room: usize, shape: Shape) -> u32 {
    let links = shape.links_max() as usize;
    let links = links * LINK + 2 * links.div_ceil(TLV_MAX / LINK);
    range.fitting(room.saturating_sub(GENERATED_REST + links))
}

/// Routers that are generated behind a router, by point-to-point links. The first is the router's neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Topology {
    /// Topology.
    pub shape: Shape,
    /// Number of routers.
    pub routers: u32,
    /// Metric of each link, in both directions.
    pub metric: u32,
    /// Identifier of the first one; each other has the next.
    pub first: SystemId,
}

impl Topology {
    /// The identifier of a generated router.
    pub fn id(&self, number: u32) -> SystemId {
        self.first.plus(number)
    }

    /// The number of the generated router with this identifier.
    pub fn number(&self, id: SystemId) -> Option<u32> {
        let far = id.number().checked_sub(self.first.number())?;
        u32::try_from(far).ok().filter(|number| *number < self.routers)
    }

    /// Which routes of a range of `count` a generated router has: equal shares, in order.
    pub(crate) fn share(&self, number: u32, count: u32) -> std::ops::Range<u32> {
        share(self.routers, number, count)
    }

    /// Appends the links of the generated router `number`, whose `root` is the router before the first one.
    pub(crate) fn put_links(&self, out: &mut Vec<u8>, number: u32, root: SystemId) {
        let root = (number == 0).then_some(root);
        let others = self.shape.neighbours(self.routers, number);
        let links = root.into_iter().chain(others.into_iter().map(|other| self.id(other)));
        put_links(out, &links.map(|to| (to, 0, self.metric)).collect::<Vec<_>>());
    }
}

/// Appends links: to whom, the number of a pseudonode, what they cost (RFC 5305 section 3).
pub(crate) fn put_links(out: &mut Vec<u8>, links: &[(SystemId, u8, u32)]) {
    for some in links.chunks(TLV_MAX / LINK) {
        let mut value = Vec::with_capacity(TLV_MAX);
        for (to, pseudonode, metric) in some {
            value.extend(to.0);
            value.push(*pseudonode);
            value.extend(&metric.to_be_bytes()[1..]);
            value.push(0);
        }
        put(out, NEIGHBOURS, &value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_fill_the_room_there_is_and_no_more() {
        for (first, prefix_len, kind) in [
            ("16.0.0.0", 24, RouteKind::Internal),
            ("16.0.0.0", 32, RouteKind::External),
            ("0.0.0.0", 0, RouteKind::Internal),
            ("2001:db8::", 48, RouteKind::External),
            ("2001:db8::", 128, RouteKind::Internal),
        ] {
            let range = RouteRange {
                name: String::new(),
                kind,
                first: first.parse().unwrap(),
                prefix_len,
                count: 10_000,
                step: 1,
                same: true,
                metric: 10,
                down: false,
                schedule: Schedule::default(),
            };
            for room in [40, 300, 1_446, 1_465] {
                let (fits, mut out) = (range.fitting(room), Vec::new());
                let range = RouteRange { step: 0, ..range.clone() };
                range.put(&mut out, 0, 0..fits);
                assert!(out.len() <= room, "{first}/{prefix_len}: {fits} in {room}");
                out.clear();
                range.put(&mut out, 0, 0..fits + 1);
                assert!(out.len() > room, "{first}/{prefix_len}: {fits} are too few in {room}");
            }
        }
    }
}
