//! Routes as a function of their index, and the routers that are generated behind a router.
//!
//! Nothing of them is stored: an LSA is built when it is sent.

use crate::lsa::{EXTERNAL, LSA_HEADER, Link, LinkTo, SUMMARY, mask};
use crate::lsa3;
use crate::version::Version;
use linkstate::{Shape, share};
use std::net::{IpAddr, Ipv4Addr};
use units::{Schedule, nth_prefix};

/// Links that a router's LSA of OSPFv2 has at most, networks among them, so that it fits a packet of 1,500 bytes.
pub const LINKS_MAX: u32 = 115;
/// Bytes of an update's body without LSAs.
const UPDATE: usize = 4;

/// Links that a router's LSA of OSPFv3 has at most, so that it fits a packet of `mtu` bytes.
pub fn links_max(mtu: u16) -> u32 {
    ((Version::V3.room(mtu) - UPDATE - LSA_HEADER - lsa3::ROUTER_BODY) / lsa3::ROUTER_LINK) as u32
}

/// Maximum number of prefixes of this length in an OSPFv3 LSA, so that it fits a packet of `mtu` bytes.
pub fn prefixes_max(mtu: u16, prefix_len: u8) -> u32 {
    let room = Version::V3.room(mtu) - UPDATE - LSA_HEADER - lsa3::INTRA_AREA_BODY;
    (room / (4 + lsa3::prefix_bytes(prefix_len))) as u32
}

/// Kind of routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteKind {
    /// External ones of type 1: their metric and the way to the router that knows them add up (RFC 2328 section 16.4).
    External1,
    /// External ones of type 2: their metric alone counts.
    External2,
    /// Networks of other areas, which the router knows as an area border router (section 12.4.3).
    InterArea,
    /// Stub networks of generated routers; of the router itself if there are none.
    Internal,
}

impl RouteKind {
    /// The type of the LSA that each of them has; `None` if they are links of a router.
    pub fn lsa(self, version: Version) -> Option<u16> {
        match (self, version) {
            (Self::External1 | Self::External2, Version::V2) => Some(EXTERNAL),
            (Self::External1 | Self::External2, Version::V3) => Some(lsa3::EXTERNAL),
            (Self::InterArea, Version::V2) => Some(SUMMARY),
            (Self::InterArea, Version::V3) => Some(lsa3::INTER_AREA_PREFIX),
            (Self::Internal, _) => None,
        }
    }
}

/// Routes that differ by their prefix alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteRange {
    /// Name in commands; empty if it has no name.
    pub name: String,
    /// Kind.
    pub kind: RouteKind,
    /// The first prefix's address: of IPv4 in OSPFv2, of IPv6 in OSPFv3.
    pub first: IpAddr,
    /// Bits of every prefix.
    pub prefix_len: u8,
    /// Prefixes of a router.
    pub count: u32,
    /// From one prefix to the next, in prefixes.
    pub step: u32,
    /// Whether all routers advertise the same prefixes; if not, each has the next ones.
    pub same: bool,
    /// Metric of external and inter-area routes; cost of a stub network.
    pub metric: u32,
    /// Tag of external routes (RFC 1403).
    pub tag: u32,
    /// When they are advertised, since the start of traffic.
    pub schedule: Schedule,
}

impl RouteRange {
    /// From one prefix's address to the next one's, in OSPFv2.
    fn far(&self) -> Option<u64> {
        u64::from(self.step).checked_mul(1 << (32 - u32::from(self.prefix_len.min(32))))
    }

    /// The first address, in OSPFv2.
    fn first_v4(&self) -> Option<u32> {
        match self.first {
            IpAddr::V4(ip) => Some(ip.into()),
            IpAddr::V6(_) => None,
        }
    }

    /// Prefixes that other routers have before the router number `router`.
    fn before(&self, router: u32) -> u64 {
        if self.same { 0 } else { u64::from(router) * u64::from(self.count) }
    }

    /// The address of prefix `index` of the router number `router`; `None` beyond the last address there is.
    pub fn prefix(&self, router: u32, index: u32) -> Option<IpAddr> {
        let place = self.before(router).checked_add(index.into())?;
        nth_prefix(self.first, self.prefix_len, u128::from(place) * u128::from(self.step))
    }

    /// Some of them as prefixes of the router number `router`, with their bits and their metric.
    pub(crate) fn prefixes(
        &self,
        router: u32,
        some: std::ops::Range<u32>,
    ) -> impl Iterator<Item = (IpAddr, u8, u16)> + '_ {
        some.filter_map(move |index| Some((self.prefix(router, index)?, self.prefix_len, self.link_metric())))
    }

    /// Cost as networks of a router.
    fn link_metric(&self) -> u16 {
        self.metric.min(u16::MAX.into()) as u16
    }

    /// Some of them, as stub networks of OSPFv2 of the router number `router`.
    pub(crate) fn stubs(&self, router: u32, some: std::ops::Range<u32>) -> impl Iterator<Item = Link> + '_ {
        some.filter_map(move |index| {
            let IpAddr::V4(id) = self.prefix(router, index)? else { return None };
            let (data, cost) = (mask(self.prefix_len), self.link_metric());
            Some(Link { to: LinkTo::Stub, id, data, cost, theirs: 0 })
        })
    }

    /// The first address that is both a prefix's of this range and of another one, for the router number `router`: there can be one LSA of
    /// OSPFv2 for it. Those of OSPFv3 have numbers.
    pub fn meets(&self, other: &Self, router: u32) -> Option<IpAddr> {
        let begins = |range: &Self| match range.prefix(router, 0)? {
            IpAddr::V4(ip) => Some(i128::from(u32::from(ip))),
            IpAddr::V6(_) => None,
        };
        let (a, b) = (begins(self)?, begins(other)?);
        let (s, t) = (i128::from(self.far()?), i128::from(other.far()?));
        // Both are where a + i * s = b + j * t: every t / g-th i from one on, if there is any.
        let (g, inverse) = inverse(s, t);
        if (b - a) % g != 0 {
            return None;
        }
        let every = t / g;
        let first = ((b - a) / g * inverse).rem_euclid(every);
        let short = (b - a - first * s).max(0);
        let i = first + (short + every * s - 1) / (every * s) * every;
        let j = (a + i * s - b) / t;
        let is_in = i < i128::from(self.count) && (0..i128::from(other.count)).contains(&j);
        is_in.then(|| self.prefix(router, i as u32)).flatten()
    }

    /// The index of the prefix of the router number `router` that begins at `address`, in OSPFv2.
    pub fn index_of(&self, router: u32, address: Ipv4Addr) -> Option<u32> {
        let far = self.far()?;
        let offset = u64::from(u32::from(address)).checked_sub(self.first_v4()?.into())?;
        let place = offset.is_multiple_of(far).then_some(offset / far)?;
        u32::try_from(place.checked_sub(self.before(router))?).ok().filter(|index| *index < self.count)
    }
}

/// The greatest common divisor of two numbers, and what times the first leaves it, modulo the second (Euclid).
fn inverse(s: i128, t: i128) -> (i128, i128) {
    let (mut a, mut b, mut x, mut y) = (s, t, 1, 0);
    while b != 0 {
        let q = a / b;
        (a, b) = (b, a - q * b);
        (x, y) = (y, x - q * y);
    }
    (a, x)
}

/// Routers that are generated behind a router, by point-to-point links without addresses. The first is the router's neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Topology {
    /// Topology.
    pub shape: Shape,
    /// Number of routers.
    pub routers: u32,
    /// Cost of each link, in both directions.
    pub cost: u16,
    /// Identifier of the first one; each other has the next.
    pub first: Ipv4Addr,
}

impl Topology {
    /// The identifier of a generated router.
    pub fn id(&self, number: u32) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.first).wrapping_add(number))
    }

    /// The number of the generated router with this identifier.
    pub fn number(&self, id: Ipv4Addr) -> Option<u32> {
        u32::from(id).checked_sub(u32::from(self.first)).filter(|number| *number < self.routers)
    }

    /// Generated routers that `number` has a link to, in the order of its links.
    pub fn neighbours(&self, number: u32) -> Vec<u32> {
        self.shape.neighbours(self.routers, number)
    }

    /// A link from one of these routers to a router, with its own link number `place` and the other's `theirs`.
    pub(crate) fn link(&self, to: Ipv4Addr, place: u32, theirs: u32) -> Link {
        // A link without addresses has the number of its interface (RFC 2328 appendix A.4.2).
        let data = Ipv4Addr::from(place + 1);
        Link { to: LinkTo::Router, id: to, data, cost: self.cost, theirs: theirs + 1 }
    }

    /// The link from the router before the first one, with its number `place`.
    pub(crate) fn root_link(&self, place: u32) -> Link {
        self.link(self.id(0), place, 0)
    }

    /// Which link of `from` leads to the generated router `to`. The first router's own first one leads to the router before it.
    fn place(&self, from: u32, to: u32) -> u32 {
        let place = self.neighbours(from).iter().position(|other| *other == to).unwrap_or(0) as u32;
        place + u32::from(from == 0)
    }

    /// Which routes of a range of `count` the generated router `number` has as stub networks: equal shares, in order.
    pub fn share(&self, number: u32, count: u32) -> std::ops::Range<u32> {
        share(self.routers, number, count)
    }

    /// The links of the generated router `number` to others. `root` is the router before the first one, with the number of its link to it.
    pub(crate) fn links(&self, number: u32, root: (Ipv4Addr, u32)) -> impl Iterator<Item = Link> + '_ {
        let root = (number == 0).then_some(root);
        let others = self.neighbours(number).into_iter();
        let others = others.map(move |other| (self.id(other), self.place(other, number)));
        root.into_iter().chain(others).zip(0..).map(|((to, theirs), place)| self.link(to, place, theirs))
    }

    /// The routes of these ranges that the generated router `number` has as stub networks of OSPFv2; `router` is the number of the router
    /// before the first one.
    pub(crate) fn stubs<'a>(
        &'a self,
        number: u32,
        router: u32,
        ranges: impl Iterator<Item = &'a RouteRange> + 'a,
    ) -> impl Iterator<Item = Link> + 'a {
        ranges.flat_map(move |range| range.stubs(router, self.share(number, range.count)))
    }

    /// The same as prefixes of OSPFv3.
    pub(crate) fn prefixes<'a>(
        &'a self,
        number: u32,
        router: u32,
        ranges: impl Iterator<Item = &'a RouteRange> + 'a,
    ) -> impl Iterator<Item = (IpAddr, u8, u16)> + 'a {
        ranges.flat_map(move |range| range.prefixes(router, self.share(number, range.count)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(step: u32, same: bool) -> RouteRange {
        RouteRange {
            name: String::new(),
            kind: RouteKind::External2,
            first: IpAddr::from([16, 0, 0, 0]),
            prefix_len: 24,
            count: 1_000,
            step,
            same,
            metric: 20,
            tag: 0,
            schedule: Schedule::default(),
        }
    }

    fn v4(ip: Option<IpAddr>) -> Ipv4Addr {
        match ip {
            Some(IpAddr::V4(ip)) => ip,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn prefixes_are_found_by_their_address() {
        for (range, router) in [(range(1, false), 3), (range(2, false), 2), (range(1, true), 9)] {
            for index in [0, 1, 500, 999] {
                let prefix = v4(range.prefix(router, index));
                assert_eq!(range.index_of(router, prefix), Some(index));
            }
            let beyond = v4(range.prefix(router, 1_000));
            assert_eq!(range.index_of(router, beyond), None);
            assert_eq!(range.index_of(router, [16, 0, 0, 1].into()), None);
            assert_eq!(range.index_of(router, [15, 0, 0, 0].into()), None);
        }
        let all = RouteRange { first: IpAddr::from([0; 4]), prefix_len: 0, count: 1, ..range(1, true) };
        assert_eq!((all.prefix(0, 0), all.prefix(0, 1)), (Some(IpAddr::from([0; 4])), None));
        assert_eq!(all.index_of(7, [0; 4].into()), Some(0));
    }

    #[test]
    fn ranges_meet_where_a_prefix_of_both_begins() {
        let other = |first: [u8; 4], prefix_len, step, count| RouteRange {
            first: first.into(),
            prefix_len,
            count,
            ..range(step, true)
        };
        let one = other([16, 0, 0, 0], 24, 6, 200);
        for second in [
            other([16, 0, 4, 0], 24, 1, 200),
            other([16, 0, 1, 0], 24, 4, 200),
            other([16, 0, 2, 0], 24, 4, 200),
            other([16, 0, 0, 0], 16, 1, 9),
            other([16, 1, 0, 0], 16, 1, 9),
            other([16, 2, 4, 128], 25, 10, 900),
            other([15, 0, 0, 0], 24, 5, 20_000),
            other([16, 4, 200, 0], 22, 1, 5),
            other([17, 0, 0, 0], 24, 1, 5),
        ] {
            let both = (0..one.count)
                .filter_map(|index| one.prefix(0, index))
                .find(|address| second.index_of(0, v4(Some(*address))).is_some());
            assert_eq!(one.meets(&second, 0), both, "{second:?}");
            assert_eq!(second.meets(&one, 0), both, "{second:?}, the other way round");
        }
    }

    #[test]
    fn the_first_generated_router_is_the_routers_neighbour() {
        let topology = Topology { shape: Shape::Ring, routers: 3, cost: 5, first: [9, 0, 0, 1].into() };
        let ranges = [RouteRange { kind: RouteKind::Internal, count: 4, ..range(1, true) }];
        let root = ([1, 1, 1, 1].into(), 0);
        let links = topology.links(0, root).chain(topology.stubs(0, 0, ranges.iter()));
        let links: Vec<Link> = links.collect();
        let ids: Vec<Ipv4Addr> = links.iter().map(|link| link.id).collect();
        let expected: [[u8; 4]; 4] = [[1, 1, 1, 1], [9, 0, 0, 3], [9, 0, 0, 2], [16, 0, 0, 0]];
        assert_eq!(ids, expected.map(Ipv4Addr::from));
        assert_eq!((links[3].data, links[3].cost), ([255, 255, 255, 0].into(), 20));
    }

    #[test]
    fn both_ends_of_a_link_have_the_numbers_of_both() {
        for (shape, routers) in [
            (Shape::Grid { columns: 3 }, 9),
            (Shape::Ring, 2),
            (Shape::Ring, 5),
            (Shape::Tree { children: 3 }, 14),
        ] {
            let topology = Topology { shape, routers, cost: 5, first: [9, 0, 0, 0].into() };
            let root: (Ipv4Addr, u32) = ([1, 1, 1, 1].into(), 1);
            let mut all: Vec<(Ipv4Addr, Link)> = vec![(root.0, topology.root_link(root.1))];
            for number in 0..routers {
                all.extend(topology.links(number, root).map(|link| (topology.id(number), link)));
            }
            for (from, link) in &all {
                let back = |(other, back): &&(Ipv4Addr, Link)| {
                    *other == link.id && back.id == *from && u32::from(back.data) == link.theirs
                };
                let back = all.iter().find(back).unwrap_or_else(|| panic!("{shape:?}: {from} {link:?}"));
                assert_eq!(back.1.theirs, u32::from(link.data), "{shape:?}: {from} {link:?}");
            }
        }
    }

    #[test]
    fn prefixes_of_ipv6_follow_each_other() {
        let first = "2001:db8::".parse().unwrap();
        let range = RouteRange { first: IpAddr::V6(first), prefix_len: 64, ..range(1, false) };
        assert_eq!(range.prefix(2, 5).unwrap().to_string(), "2001:db8:0:7d5::");
        assert_eq!((range.index_of(0, [16, 0, 0, 0].into()), range.meets(&range, 0)), (None, None));
        assert_eq!((links_max(1_500), prefixes_max(1_500, 64), prefixes_max(1_280, 128)), (88, 117, 59));
    }
}
