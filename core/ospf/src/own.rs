//! The LSAs that a router originates (RFC 2328 section 12.4, RFC 5340 section 4.4.3): its own, LSAs of the routers
//! generated behind it, and the LSAs of its routes that are not links. In OSPFv3 also its link LSA, and LSAs with
//! prefixes of the router and of generated ones, which are in the LSAs of routers in OSPFv2. Each group of them has one
//! sequence number and one age; an LSA is built on demand.

use crate::lsa::{
    EXTERNAL, FLAG_AREA_BORDER, FLAG_EXTERNAL, Link, LinkTo, LsaHeader, LsaKey, MAX_AGE, OPTION_EXTERNAL,
    ROUTER, SUMMARY, put_external, put_lsa, put_router, put_summary,
};
use crate::lsa3;
use crate::router::RouterConfig;
use crate::routes::{RouteKind, RouteRange, Topology};
use crate::version::Version;
use linkstate::{Changes, Originations, Pace, Place, Wish};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use units::Nanos;

/// Time between two instances of an LSA, at least (RFC 2328 appendix B).
pub const MIN_LS_INTERVAL: Nanos = Nanos::from_secs(5);
/// Routers take no second instance of an LSA within this time (appendix B).
pub const MIN_LS_ARRIVAL: Nanos = Nanos::from_secs(1);
/// Increment of an LSA's age by a transmission, s.
const TRANSMIT_DELAY_S: u64 = 1;

/// The router's own LSA.
pub(crate) const OWN: usize = 0;
/// Those of generated routers.
pub(crate) const GENERATED: usize = 1;
/// That of the router's link, in OSPFv3.
const LINK: usize = 2;
/// That with the router's own prefixes, in OSPFv3.
const OWN_PREFIXES: usize = 3;
/// Those with prefixes of generated routers, in OSPFv3.
const GENERATED_PREFIXES: usize = 4;
/// Those of the first range of routes.
const RANGES: usize = 5;

/// The router's number of its link, and of that to the first generated router (RFC 5340 section 3.1.3).
pub(crate) const INTERFACE: u32 = 1;
const TOPOLOGY_LINK: u32 = 1;

/// LSAs of a router.
#[derive(Debug)]
pub(crate) struct Own {
    version: Version,
    id: Ipv4Addr,
    /// Its address on the link, and the link's prefix, in OSPFv3.
    link_local: Ipv6Addr,
    network: Option<(Ipv6Addr, u8)>,
    /// The router's number within its entry.
    number: u32,
    routes: Arc<[RouteRange]>,
    topology: Option<Topology>,
    pub(crate) originations: Originations<i32>,
    /// The links in the router's own LSA.
    links: Vec<Link>,
    /// Cost of the link's prefix in the LSA with the router's own prefixes, if it is there.
    own_network: Option<u16>,
}

impl Own {
    pub(crate) fn new(config: &RouterConfig) -> Self {
        let RouterConfig { version, routes, topology, .. } = config;
        let generated = topology.map_or(0, |topology| topology.routers);
        let has_internal = routes.iter().any(|range| range.kind == RouteKind::Internal);
        let of_v3 = match version {
            Version::V2 => [0; 3],
            Version::V3 => [1, 1, if has_internal { generated } else { 0 }],
        };
        let lsas = routes.iter().map(|range| range.kind.lsa(*version).map_or(0, |_| range.count));
        let network = match config.local {
            IpAddr::V6(ip) if !ip.is_unicast_link_local() => {
                let mask = u128::MAX.checked_shl(128 - u32::from(config.prefix_len.min(128))).unwrap_or(0);
                Some((Ipv6Addr::from(u128::from(ip) & mask), config.prefix_len))
            }
            _ => None,
        };
        Self {
            version: *version,
            id: config.id,
            link_local: config.link_local,
            network,
            number: config.number,
            originations: Originations::new(
                Pace {
                    interval: MIN_LS_INTERVAL,
                    arrival: MIN_LS_ARRIVAL,
                    spaces_unsent: false,
                    refresh: Nanos::from_secs(config.refresh_s.into()),
                },
                [1, generated].into_iter().chain(of_v3).chain(lsas),
                internal(*version, topology.is_some()),
                routes.iter().map(|range| range.kind == RouteKind::Internal).collect(),
            ),
            links: Vec::new(),
            own_network: None,
            routes: routes.clone(),
            topology: *topology,
        }
    }

    /// Routes of a range.
    pub(crate) fn routes(&self, range: usize) -> u64 {
        self.routes[range].count.into()
    }

    /// Flags of the router's own LSA.
    fn flags(&self) -> u8 {
        let flag = |range: &RouteRange| match range.kind {
            RouteKind::Internal => 0,
            RouteKind::InterArea => FLAG_AREA_BORDER,
            RouteKind::External1 | RouteKind::External2 => FLAG_EXTERNAL,
        };
        self.routes.iter().fold(0, |flags, range| flags | flag(range))
    }

    /// Whether a router is this one, or generated behind it.
    pub(crate) fn is_mine(&self, router: Ipv4Addr) -> bool {
        router == self.id || self.topology.is_some_and(|topology| topology.number(router).is_some())
    }

    /// Where the LSA with a key is, if it is one of these.
    pub(crate) fn find(&self, key: &LsaKey) -> Option<Place> {
        let place = match self.version {
            Version::V2 => self.find_v2(key),
            Version::V3 => self.find_v3(key),
        };
        place.filter(|(group, index)| *index < self.originations.count(*group as usize))
    }

    fn find_v2(&self, key: &LsaKey) -> Option<Place> {
        match key.kind {
            ROUTER if key.id != key.router => None,
            ROUTER => self.find_router(key.id, OWN, GENERATED),
            EXTERNAL | SUMMARY if key.router == self.id => {
                let mut ranges = self.ranges_of(key.kind);
                ranges.find_map(|(range, routes)| {
                    Some(((RANGES + range) as u32, routes.index_of(self.number, key.id)?))
                })
            }
            _ => None,
        }
    }

    fn find_v3(&self, key: &LsaKey) -> Option<Place> {
        let number = u32::from(key.id);
        match key.kind {
            lsa3::ROUTER if number == 0 => self.find_router(key.router, OWN, GENERATED),
            lsa3::INTRA_AREA_PREFIX if number == 0 => {
                self.find_router(key.router, OWN_PREFIXES, GENERATED_PREFIXES)
            }
            lsa3::LINK if number == INTERFACE && key.router == self.id => Some((LINK as u32, 0)),
            lsa3::EXTERNAL | lsa3::INTER_AREA_PREFIX if key.router == self.id => {
                let mut before = u64::from(number).checked_sub(1)?;
                for (range, routes) in self.ranges_of(key.kind) {
                    match before.checked_sub(routes.count.into()) {
                        Some(rest) => before = rest,
                        None => return Some(((RANGES + range) as u32, before as u32)),
                    }
                }
                None
            }
            _ => None,
        }
    }

    /// Where the LSA of a router is: in one group if it is this one, in another if it is generated.
    fn find_router(&self, router: Ipv4Addr, own: usize, generated: usize) -> Option<Place> {
        if router == self.id {
            return Some((own as u32, 0));
        }
        Some((generated as u32, self.topology?.number(router)?))
    }

    /// Ranges of routes whose LSAs are of a type.
    fn ranges_of(&self, kind: u16) -> impl Iterator<Item = (usize, &RouteRange)> {
        let is_it = move |(_, range): &(usize, &RouteRange)| range.kind.lsa(self.version) == Some(kind);
        self.routes.iter().enumerate().filter(is_it)
    }

    /// The identifier of the LSA of an OSPFv3 route: its number within the type, from 1 on (RFC 5340 section 4.4.3).
    fn numbered(&self, range: usize, index: u32) -> Ipv4Addr {
        let kind = self.routes[range].kind.lsa(self.version);
        let before = self.routes[..range].iter().filter(|other| other.kind.lsa(self.version) == kind);
        let first = before.fold(1u32, |sum, other| sum.saturating_add(other.count));
        first.saturating_add(index).into()
    }

    /// Appends the LSA at a place, as it is at `now`.
    pub(crate) fn put(&self, now: Nanos, (group, index): Place, out: &mut Vec<u8>) {
        let instance = self.originations.instance(group as usize);
        let age_s = self.originations.age_s(now, group as usize);
        let age = match instance.is_up {
            true => (age_s + TRANSMIT_DELAY_S).min(u64::from(MAX_AGE) - 1) as u16,
            false => MAX_AGE,
        };
        let header = |kind, id, router| LsaHeader {
            age,
            options: if self.version == Version::V2 { OPTION_EXTERNAL } else { 0 },
            key: LsaKey { kind, id, router },
            sequence: instance.sequence,
            checksum: 0,
            len: 0,
        };
        match self.version {
            Version::V2 => self.put_v2((group as usize, index), header, out),
            Version::V3 => self.put_v3((group as usize, index), header, out),
        }
    }

    fn put_v2(
        &self,
        (group, index): (usize, u32),
        header: impl Fn(u16, Ipv4Addr, Ipv4Addr) -> LsaHeader,
        out: &mut Vec<u8>,
    ) {
        match (group, self.topology) {
            (OWN, _) => {
                let ranges = self.shown_ranges().filter(|_| self.topology.is_none());
                let stubs = ranges.flat_map(|range| range.stubs(self.number, 0..range.count));
                put_lsa(out, &header(ROUTER, self.id, self.id), |out| {
                    put_router(out, self.flags(), self.links.iter().copied().chain(stubs))
                });
            }
            (GENERATED, Some(topology)) => {
                let id = topology.id(index);
                let links = topology.links(index, (self.id, 0));
                let stubs = topology.stubs(index, self.number, self.shown_ranges());
                put_lsa(out, &header(ROUTER, id, id), |out| put_router(out, 0, links.chain(stubs)));
            }
            _ => {
                let range = &self.routes[group - RANGES];
                let id = match range.prefix(self.number, index) {
                    Some(IpAddr::V4(id)) => id,
                    _ => Ipv4Addr::UNSPECIFIED,
                };
                let kind = range.kind.lsa(self.version).unwrap_or(EXTERNAL);
                put_lsa(out, &header(kind, id, self.id), |out| match range.kind {
                    RouteKind::InterArea => put_summary(out, range.prefix_len, range.metric),
                    kind => {
                        let is_type_2 = kind == RouteKind::External2;
                        put_external(out, range.prefix_len, is_type_2, range.metric, range.tag)
                    }
                });
            }
        }
    }

    fn put_v3(
        &self,
        (group, index): (usize, u32),
        header: impl Fn(u16, Ipv4Addr, Ipv4Addr) -> LsaHeader,
        out: &mut Vec<u8>,
    ) {
        let none = Ipv4Addr::UNSPECIFIED;
        match (group, self.topology) {
            (OWN, _) => put_lsa(out, &header(lsa3::ROUTER, none, self.id), |out| {
                lsa3::put_router(out, self.flags(), self.links.iter().copied())
            }),
            (GENERATED, Some(topology)) => {
                let links = topology.links(index, (self.id, TOPOLOGY_LINK));
                let header = header(lsa3::ROUTER, none, topology.id(index));
                put_lsa(out, &header, |out| lsa3::put_router(out, 0, links));
            }
            (LINK, _) => put_lsa(out, &header(lsa3::LINK, INTERFACE.into(), self.id), |out| {
                lsa3::put_link(out, self.link_local, self.network)
            }),
            (OWN_PREFIXES, _) => {
                let network = self.network.zip(self.own_network);
                let network = network.map(|((ip, len), metric)| (ip.into(), len, metric));
                let ranges = self.shown_ranges().filter(|_| self.topology.is_none());
                let shown = ranges.flat_map(|range| range.prefixes(self.number, 0..range.count));
                put_lsa(out, &header(lsa3::INTRA_AREA_PREFIX, none, self.id), |out| {
                    lsa3::put_prefixes(out, self.id, network.into_iter().chain(shown))
                });
            }
            (GENERATED_PREFIXES, Some(topology)) => {
                let id = topology.id(index);
                let prefixes = topology.prefixes(index, self.number, self.shown_ranges());
                put_lsa(out, &header(lsa3::INTRA_AREA_PREFIX, none, id), |out| {
                    lsa3::put_prefixes(out, id, prefixes)
                });
            }
            _ => {
                let number = group - RANGES;
                let range = &self.routes[number];
                let ip = match range.prefix(self.number, index) {
                    Some(IpAddr::V6(ip)) => ip,
                    _ => Ipv6Addr::UNSPECIFIED,
                };
                let (prefix, kind) = ((ip, range.prefix_len), range.kind.lsa(self.version));
                let header = header(kind.unwrap_or(lsa3::EXTERNAL), self.numbered(number, index), self.id);
                put_lsa(out, &header, |out| match range.kind {
                    RouteKind::InterArea => lsa3::put_inter_area(out, prefix, range.metric),
                    kind => {
                        let is_type_2 = kind == RouteKind::External2;
                        lsa3::put_external(out, prefix, is_type_2, range.metric, range.tag)
                    }
                });
            }
        }
    }

    /// The link from the router to the first generated one.
    pub(crate) fn root_link(&self) -> Option<Link> {
        let place = if self.version == Version::V2 { 0 } else { TOPOLOGY_LINK };
        self.topology.map(|topology| topology.root_link(place))
    }

    /// The header of the LSA at a place.
    pub(crate) fn header(&self, now: Nanos, place: Place) -> Option<LsaHeader> {
        let mut out = Vec::new();
        self.put(now, place, &mut out);
        LsaHeader::read(self.version, &out)
    }

    /// Originates, refreshes and flushes LSAs that are due. `since` is the time since the start of traffic, `links` are
    /// the router's own and `None` before any adjacency; `is_shut`: flush all.
    pub(crate) fn step(
        &mut self,
        now: Nanos,
        since: Nanos,
        links: Option<&[Link]>,
        is_shut: bool,
    ) -> Changes {
        let mut changes = Changes::default();
        self.originations.follow(since, is_shut, self.routes.iter().map(|range| &range.schedule));
        for group in 0..self.originations.groups() {
            let wish = self.wish(group, links, is_shut);
            if self.originations.step(now, group, wish, &mut changes) && wish.is_wanted {
                match group {
                    OWN => self.links = links.unwrap_or_default().to_vec(),
                    OWN_PREFIXES => self.own_network = network_cost(links),
                    _ => {}
                }
            }
        }
        changes
    }

    /// When a step has something to do; `epoch` is the start of traffic.
    pub(crate) fn next_due(&self, epoch: Nanos, links: Option<&[Link]>, is_shut: bool) -> Nanos {
        let due = |group: usize| self.originations.due(group, self.wish(group, links, is_shut));
        (0..self.originations.groups()).map(due).fold(self.originations.next_change(epoch), Nanos::min)
    }

    /// Whether all groups are as they are to be: nothing waits for its time.
    pub(crate) fn is_current(&self, links: Option<&[Link]>, is_shut: bool) -> bool {
        let is_current = |group| self.originations.is_current(group, self.wish(group, links, is_shut));
        (0..self.originations.groups()).all(is_current)
    }

    /// Ranges that are stub networks of routers.
    fn shown_ranges(&self) -> impl Iterator<Item = &RouteRange> {
        self.originations.shown().map(|range| &self.routes[range])
    }

    /// How a group is to be.
    fn wish(&self, group: usize, links: Option<&[Link]>, is_shut: bool) -> Wish {
        let (own, has_topology) = (&self.originations, self.topology.is_some());
        let shows_others = own.shows_others(group);
        let (is_wanted, differs) = match group {
            OWN => (links.is_some(), shows_others || links.is_some_and(|links| links != self.links)),
            LINK => (true, false),
            OWN_PREFIXES => {
                let network = self.network.and_then(|_| network_cost(links));
                let has_own = network.is_some() || !has_topology && own.shows_any();
                (links.is_some() && has_own, shows_others || network_cost(links) != self.own_network)
            }
            GENERATED_PREFIXES => (has_topology && own.shows_any(), shows_others),
            GENERATED => (has_topology, shows_others),
            _ => return Wish { is_wanted: own.wants(group), differs: false },
        };
        Wish { is_wanted: is_wanted && !is_shut, differs }
    }
}

/// The group whose LSAs have internal routes.
fn internal(version: Version, has_topology: bool) -> usize {
    match (version, has_topology) {
        (Version::V2, false) => OWN,
        (Version::V2, true) => GENERATED,
        (Version::V3, false) => OWN_PREFIXES,
        (Version::V3, true) => GENERATED_PREFIXES,
    }
}

/// Cost of the network of the router's link, if it has no designated router.
fn network_cost(links: Option<&[Link]>) -> Option<u16> {
    links?.iter().find(|link| link.to == LinkTo::Stub).map(|link| link.cost)
}
