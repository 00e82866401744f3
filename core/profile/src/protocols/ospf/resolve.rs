//! OSPF routers of a port's hosts, their routes, and what is generated behind them.

use crate::document::{OspfDoc, OspfNetworkDoc, OspfRouteDoc, OspfRouterDoc, OspfRoutesDoc};
use crate::plan::{HostPlan, OspfPlan};
use crate::resolve::ids::{Identifiers, Taken};
use crate::resolve::{Resolver, whole_seconds};
use ::ospf::{
    Authentication, LINKS_MAX, MAX_AGE, MIN_LS_ARRIVAL, MIN_LS_INTERVAL, NetworkType, RouteKind, RouteRange,
    RouterConfig, Shape, Topology, Version, links_max, prefixes_max,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use units::{Flap, Nanos, Schedule};

/// Routers of a port.
const ROUTERS_MAX: usize = 1_024;
/// LSAs of all routers of a port that are kept.
const KEPT_MAX: u64 = 100_000;
/// Maximum cost of a stub network.
const INTERNAL_METRIC_MAX: u32 = 65_535;

/// Links that a router has itself: to its neighbour, and its network.
const OWN_LINKS: u32 = 2;
/// The lowest MTU of a link with IPv6 (RFC 8200 section 5).
const IPV6_MTU: u32 = 1_280;
/// The longest dead interval of OSPFv3, s: it has 16 bits.
const DEAD_MAX_V3: u32 = 65_535;

const ROUTERS: Identifiers =
    Identifiers { what: "router identifier", last: u32::MAX as u64, show: show_router };

fn show_router(number: u64) -> String {
    Ipv4Addr::from(number as u32).to_string()
}

/// A text's bytes, filled up with zeros.
fn filled<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.iter_mut().zip(text.bytes()).for_each(|(to, byte)| *to = byte);
    bytes
}

/// The version of the routers of an entry.
fn version(doc: &OspfRouterDoc) -> Version {
    if doc.version == 3 { Version::V3 } else { Version::V2 }
}

/// A host's address for routers of a version, the bits of its network, and its link-local one, if it is of IPv6: that is known once the
/// port is if it is made of the hardware address, and unspecified until then.
fn addresses(version: Version, host: &HostPlan) -> Option<(IpAddr, u8, Ipv6Addr)> {
    if version == Version::V2 {
        return host.address(true).map(|own| (own.ip, own.prefix_len, Ipv6Addr::UNSPECIFIED));
    }
    let is_local = |ip: &IpAddr| matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local());
    let all = || host.addresses.iter().filter(|own| own.ip.is_ipv6());
    let link_local = all().find_map(|own| match own.ip {
        IpAddr::V6(ip) if ip.is_unicast_link_local() => Some(ip),
        _ => None,
    });
    let own = all().find(|own| !is_local(&own.ip)).or_else(|| all().next())?;
    Some((own.ip, own.prefix_len, link_local.unwrap_or(Ipv6Addr::UNSPECIFIED)))
}

/// Internal routes of each router that has some.
fn internal_networks(ranges: &[RouteRange], shape: Option<(Shape, u32)>) -> u32 {
    let among = shape.map_or(1, |(_, generated)| generated);
    let internal = ranges.iter().filter(|range| range.kind == RouteKind::Internal);
    internal.map(|range| range.count.div_ceil(among)).fold(0, u32::saturating_add)
}

/// Owner of the internal routes, and the remedy if they are too many.
fn whose(shape: Option<(Shape, u32)>) -> (&'static str, &'static str) {
    match shape {
        Some(_) => ("each generated router", "let there be more routers"),
        None => ("the router itself", "give the router a 'topology', whose routers share them"),
    }
}

impl Resolver<'_> {
    pub(crate) fn ospf(
        &mut self,
        port: &str,
        ospf: &OspfDoc,
        hosts: &[HostPlan],
        has_punt: bool,
    ) -> OspfPlan {
        let path = format!("ports.{port}.ospf");
        if has_punt {
            let reason = "the port's hosts have their control plane in a namespace ('punt'): run an OSPF daemon there, or leave \
                          'punt' out";
            self.reading.fail(&path, reason);
        }
        self.within_a_year(&format!("{path}.timeout"), ospf.timeout.0);
        self.within_a_year(&format!("{path}.settle"), ospf.settle.0);
        let mut plan = OspfPlan {
            routers: Vec::new(),
            rate: self.per_second(&format!("{path}.rate"), ospf.rate.0),
            timeout: ospf.timeout.0,
            settle: ospf.settle.0,
            seed: self.seed_of(&path, "ospf"),
        };
        // Routers of two versions may have the same identifiers: they never meet.
        let mut taken = [Taken::new(), Taken::new()];
        for (index, doc) in ospf.routers.iter().enumerate() {
            let path = format!("{path}.routers[{index}]");
            if !self.reading.is_dropped(&path) {
                let taken = &mut taken[usize::from(version(doc) == Version::V3)];
                self.ospf_routers(&path, doc, hosts, &mut plan, taken);
            }
        }
        if plan.routers.len() > ROUTERS_MAX {
            let reason = format!("{} routers; a port has {ROUTERS_MAX} at most", plan.routers.len());
            self.reading.fail(format!("{path}.routers"), reason);
        }
        let kept = u64::from(ospf.keep) * plan.routers.len() as u64;
        if kept > KEPT_MAX {
            let reason =
                format!("{kept} LSAs of {} routers; a port keeps {KEPT_MAX} at most", plan.routers.len());
            self.reading.fail(format!("{path}.keep"), reason);
        }
        plan.routers.iter_mut().for_each(|router| router.keep = ospf.keep);
        plan
    }

    /// Adds the routers of one entry.
    fn ospf_routers(
        &mut self,
        path: &str,
        doc: &OspfRouterDoc,
        hosts: &[HostPlan],
        plan: &mut OspfPlan,
        taken: &mut Taken,
    ) {
        let Some(speakers) = self.hosts_called(path, doc.host.as_ref(), hosts) else { return };
        let version = version(doc);
        self.ospf_version(path, doc);
        let count = speakers.len() as u32;
        let (hello_s, dead_s) = self.ospf_times(path, doc);
        let refresh_s = self.ospf_refresh(path, doc);
        let authentication = self.ospf_authentication(path, doc);
        let shape = doc.topology.as_ref().and_then(|topology| {
            let said = (topology.grid.as_ref(), topology.ring, topology.tree.as_ref());
            self.topology_shape(&format!("{path}.topology"), said)
        });
        let routes = self.ospf_routes(path, doc, count, shape);
        let first = match self.ospf_id(&format!("{path}.router_id"), doc, &hosts[speakers[0]]) {
            Some(first) => first,
            None => return,
        };
        let generated = self.ospf_generated(path, doc, (first, count), shape);
        for (number, host) in (0u32..).zip(speakers) {
            let Some((local, prefix_len, link_local)) = addresses(version, &hosts[host]) else {
                let family = if version == Version::V2 { "IPv4" } else { "IPv6" };
                let reason = format!("host '{}' has no {family} address", hosts[host].name);
                return self.reading.fail(format!("{path}.host"), reason);
            };
            let is_kin = |router: &&RouterConfig| router.version == version;
            let link = |router: &&RouterConfig| hosts[router.host].vlans == hosts[host].vlans;
            let network = match doc.network {
                OspfNetworkDoc::Broadcast => NetworkType::Broadcast,
                OspfNetworkDoc::PointToPoint => NetworkType::PointToPoint,
            };
            if let Some(other) = plan.routers.iter().filter(is_kin).find(|router| router.host == host) {
                let reason = format!("host '{}' is router {} already", hosts[host].name, other.id);
                return self.reading.fail(format!("{path}.host"), reason);
            }
            let is_alone = |router: &RouterConfig| {
                router.network == NetworkType::PointToPoint || network == NetworkType::PointToPoint
            };
            if plan.routers.iter().filter(is_kin).filter(link).any(is_alone) {
                let reason = format!(
                    "a point-to-point link has one router of the port, and host '{}' is on the link of another: give them separate \
                     VLANs, or make the network broadcast",
                    hosts[host].name
                );
                return self.reading.fail(format!("{path}.network"), reason);
            }
            let id = match (&doc.router_id, number) {
                (None, 1..) => match hosts[host].address(true).map(|own| own.ip) {
                    Some(IpAddr::V4(own)) => own,
                    _ => return self.ospf_id_missing(&format!("{path}.router_id"), &hosts[host]),
                },
                _ => Ipv4Addr::from(u32::from(first).wrapping_add(number)),
            };
            if !self.take_ids(&format!("{path}.router_id"), &ROUTERS, (u32::from(id).into(), 1), taken) {
                return;
            }
            let topology = generated.map(|(shape, routers, cost, first)| Topology {
                shape,
                routers,
                cost,
                first: Ipv4Addr::from(u32::from(first).wrapping_add(number.wrapping_mul(routers))),
            });
            if let Some(topology) = topology {
                let range = (u32::from(topology.first).into(), topology.routers.into());
                if !self.take_ids(&format!("{path}.topology.router_id"), &ROUTERS, range, taken) {
                    return;
                }
            }
            plan.routers.push(RouterConfig {
                name: doc.name.as_ref().map(|name| name.0.clone()).unwrap_or_default(),
                version,
                host,
                local,
                link_local,
                instance: doc.instance.min(u8::MAX.into()) as u8,
                prefix_len,
                id,
                area: doc.area.0,
                network,
                hello_s,
                dead_s,
                cost: doc.cost.min(u16::MAX.into()) as u16,
                mtu: doc.mtu.map(|mtu| mtu.min(u16::MAX.into()) as u16),
                any_mtu: doc.ignore_mtu,
                authentication,
                refresh_s,
                number,
                routes: routes.clone(),
                topology,
                keep: 0,
            });
        }
    }

    /// The router identifier of the first host of an entry.
    fn ospf_id(&mut self, path: &str, doc: &OspfRouterDoc, host: &HostPlan) -> Option<Ipv4Addr> {
        let id = match (&doc.router_id, host.address(true).map(|own| own.ip)) {
            (Some(id), _) => id.0,
            (None, Some(ip)) => ip,
            (None, None) => {
                self.ospf_id_missing(path, host);
                return None;
            }
        };
        match id {
            IpAddr::V4(id) if !id.is_unspecified() => Some(id),
            _ => {
                self.reading.fail(path, "must look like an IPv4 address above 0.0.0.0");
                None
            }
        }
    }

    fn ospf_id_missing(&mut self, path: &str, host: &HostPlan) {
        let reason = format!("is missing: host '{}' has no IPv4 address to take it from", host.name);
        self.reading.fail(path, reason);
    }

    /// Checks what only one of both versions has.
    fn ospf_version(&mut self, path: &str, doc: &OspfRouterDoc) {
        if version(doc) == Version::V2 {
            if doc.instance != 0 {
                self.reading.fail(format!("{path}.instance"), "only OSPFv3 has instances: set 'version: 3'");
            }
            return;
        }
        for (name, is_given) in [("password", doc.password.is_some()), ("md5", doc.md5.is_some())] {
            if is_given {
                let reason = "OSPFv3 packets have neither passwords nor digests (RFC 5340 section 2.6): leave this out";
                self.reading.fail(format!("{path}.{name}"), reason);
            }
        }
        if doc.mtu.is_some_and(|mtu| mtu < IPV6_MTU) {
            let reason = format!("must be {IPV6_MTU} at least with version 3: no link with IPv6 has less");
            self.reading.fail(format!("{path}.mtu"), reason);
        }
    }

    fn ospf_times(&mut self, path: &str, doc: &OspfRouterDoc) -> (u16, u32) {
        let hello = whole_seconds(doc.hello.0, u16::MAX.into());
        if hello.is_none() {
            self.reading.fail(format!("{path}.hello"), "must be whole seconds from 1s to 65535s");
        }
        let hello = hello.unwrap_or(1);
        let dead = match &doc.dead {
            None => Some(4 * hello),
            Some(dead) => whole_seconds(dead.0, 1 << 24).filter(|dead| *dead > hello),
        };
        if version(doc) == Version::V3 && dead.is_some_and(|dead| dead > DEAD_MAX_V3.into()) {
            let reason = format!("must be {DEAD_MAX_V3}s at most with version 3");
            self.reading.fail(format!("{path}.dead"), reason);
        }
        if dead.is_none() {
            self.reading.fail(format!("{path}.dead"), "must be whole seconds, and longer than 'hello'");
        }
        (hello as u16, dead.unwrap_or(hello + 1) as u32)
    }

    fn ospf_refresh(&mut self, path: &str, doc: &OspfRouterDoc) -> u16 {
        let refresh = whole_seconds(doc.refresh.0, u64::from(MAX_AGE) - 1);
        let refresh = refresh.filter(|refresh| Nanos::from_secs(*refresh) >= MIN_LS_INTERVAL);
        if refresh.is_none() {
            let reason = format!("must be whole seconds from {MIN_LS_INTERVAL} to {}s", MAX_AGE - 1);
            self.reading.fail(format!("{path}.refresh"), reason);
        }
        refresh.unwrap_or(0) as u16
    }

    fn ospf_authentication(&mut self, path: &str, doc: &OspfRouterDoc) -> Authentication {
        let md5 = doc.md5.as_ref();
        for (name, text) in [("password", doc.password.as_ref()), ("md5.key", md5.map(|md5| &md5.key))] {
            if text.is_some_and(|text| !text.is_ascii()) {
                self.reading.fail(format!("{path}.{name}"), "must be of ASCII characters");
            }
        }
        match (md5, &doc.password) {
            (None, None) => Authentication::None,
            (None, Some(password)) => Authentication::Simple(filled(password)),
            (Some(md5), None) => Authentication::Md5 { id: md5.id as u8, key: filled(&md5.key) },
            (Some(_), Some(_)) => {
                let reason = "packets have a password or a digest: leave this out, or 'password'";
                self.reading.fail(format!("{path}.md5"), reason);
                Authentication::None
            }
        }
    }

    /// Generated routers of an entry: how they are connected, how many there are behind each of its routers, what links cost, and the
    /// first one's identifier.
    fn ospf_generated(
        &mut self,
        path: &str,
        doc: &OspfRouterDoc,
        (first, count): (Ipv4Addr, u32),
        shape: Option<(Shape, u32)>,
    ) -> Option<(Shape, u32, u16, Ipv4Addr)> {
        let (topology, (shape, routers)) = (doc.topology.as_ref()?, shape?);
        let own = match topology.router_id.as_ref().map(|id| id.0) {
            None => u32::from(first).checked_add(count).map(Ipv4Addr::from),
            Some(IpAddr::V4(id)) => Some(id).filter(|id| !id.is_unspecified()),
            Some(IpAddr::V6(_)) => None,
        };
        if own.is_none() {
            let reason = "must look like an IPv4 address above 0.0.0.0";
            self.reading.fail(format!("{path}.topology.router_id"), reason);
        }
        Some((shape, routers, topology.cost.min(u16::MAX.into()) as u16, own?))
    }

    fn ospf_routes(
        &mut self,
        path: &str,
        doc: &OspfRouterDoc,
        routers: u32,
        shape: Option<(Shape, u32)>,
    ) -> Arc<[RouteRange]> {
        let mut all: Vec<(usize, RouteRange)> = Vec::new();
        for (index, routes) in doc.routes.iter().enumerate() {
            let path = format!("{path}.routes[{index}]");
            if self.reading.is_dropped(&path) {
                continue;
            }
            self.ospf_route_times(&path, routes);
            if let Some(range) = self.ospf_range(&path, version(doc), routes, routers) {
                let lsa = |range: &RouteRange| range.kind.lsa(version(doc));
                let kind = lsa(&range);
                let before = all.iter().filter(|(_, other)| kind.is_some() && lsa(other) == kind);
                let met = before.filter_map(|(other, it)| {
                    let both = (0..routers).find_map(|router| range.meets(it, router));
                    both.map(|both| (*other, both))
                });
                if let Some((other, both)) = met.take(1).next() {
                    let reason = format!(
                        "{both} is the address of a prefix of routes[{other}] as well: an LSA is known by the address of its prefix"
                    );
                    self.reading.fail(format!("{path}.prefixes"), reason);
                }
                all.push((index, range));
            }
        }
        let ranges: Arc<[RouteRange]> = all.into_iter().map(|(_, range)| range).collect();
        match version(doc) {
            Version::V2 => self.ospf_room(path, doc, &ranges, shape),
            Version::V3 => self.ospf_room_v3(path, doc, &ranges, shape),
        }
        ranges
    }

    /// Checks that LSAs with internal routes fit a packet: they are links of routers.
    fn ospf_room(
        &mut self,
        path: &str,
        doc: &OspfRouterDoc,
        ranges: &[RouteRange],
        shape: Option<(Shape, u32)>,
    ) {
        let networks = internal_networks(ranges, shape);
        let links = shape.map_or(OWN_LINKS, |(shape, _)| shape.links_max());
        let room = LINKS_MAX * doc.mtu.unwrap_or(1_500).min(1_500) / 1_500;
        if networks + links > room {
            let (whose, instead) = whose(shape);
            let reason = format!(
                "{networks} networks and {links} links of {whose}; there is room for {room} in all: {instead}"
            );
            let field = if shape.is_some() { "topology" } else { "routes" };
            self.reading.fail(format!("{path}.{field}"), reason);
        }
    }

    /// The same for OSPFv3, whose routers have their links and their prefixes in separate LSAs, and whose LSAs of
    /// routes are numbered.
    fn ospf_room_v3(
        &mut self,
        path: &str,
        doc: &OspfRouterDoc,
        ranges: &[RouteRange],
        shape: Option<(Shape, u32)>,
    ) {
        let mtu = doc.mtu.unwrap_or(1_500).clamp(IPV6_MTU, 1_500) as u16;
        let (links, room) = (shape.map_or(0, |(shape, _)| shape.links_max()), links_max(mtu));
        if links > room {
            let reason = format!("{links} links of each generated router; there is room for {room}");
            self.reading.fail(format!("{path}.topology"), reason);
        }
        let longest = ranges.iter().filter(|range| range.kind == RouteKind::Internal);
        let longest = longest.map(|range| range.prefix_len).max().unwrap_or(0);
        // The router itself has the prefix of its link as well, which may be longer.
        let (own, longest) = if shape.is_some() { (0, longest) } else { (1, 128) };
        let (networks, room) = (internal_networks(ranges, shape), prefixes_max(mtu, longest) - own);
        if networks > room {
            let (whose, instead) = whose(shape);
            let reason = format!("{networks} prefixes of {whose}; there is room for {room}: {instead}");
            let field = if shape.is_some() { "topology" } else { "routes" };
            self.reading.fail(format!("{path}.{field}"), reason);
        }
        for kind in [RouteKind::External2, RouteKind::InterArea] {
            let lsa = kind.lsa(Version::V3);
            let of_kind = ranges.iter().filter(|range| range.kind.lsa(Version::V3) == lsa);
            if of_kind.map(|range| u64::from(range.count)).sum::<u64>() >= u32::MAX.into() {
                self.reading.fail(format!("{path}.routes"), "there are not enough numbers for these LSAs");
            }
        }
    }

    fn ospf_route_times(&mut self, path: &str, doc: &OspfRoutesDoc) {
        self.within_a_year(&format!("{path}.advertise"), doc.advertise.0);
        let early = |withdraw: Nanos| withdraw < doc.advertise.0.saturating_add(MIN_LS_ARRIVAL);
        if doc.withdraw.as_ref().is_some_and(|withdraw| early(withdraw.0) && doc.advertise.0 > Nanos::ZERO) {
            let reason =
                format!("must be {MIN_LS_ARRIVAL} later than 'advertise': routers take no second LSA before");
            self.reading.fail(format!("{path}.withdraw"), reason);
        }
        if let Some(flap) = &doc.flap {
            self.within_a_year(&format!("{path}.flap.every"), flap.every.0);
            if flap.every.0 < MIN_LS_INTERVAL {
                let reason = format!(
                    "must be {MIN_LS_INTERVAL} at least: a router sends an LSA no more often (RFC 2328 appendix B)"
                );
                self.reading.fail(format!("{path}.flap.every"), reason);
            }
            if flap.down.0 < MIN_LS_ARRIVAL || flap.down.0 >= flap.every.0 {
                let reason = format!("must be {MIN_LS_ARRIVAL} at least, and shorter than 'every'");
                self.reading.fail(format!("{path}.flap.down"), reason);
            }
        }
    }

    fn ospf_range(
        &mut self,
        path: &str,
        version: Version,
        doc: &OspfRoutesDoc,
        routers: u32,
    ) -> Option<RouteRange> {
        let (first, prefix_len) = (doc.prefixes.0.network().0, doc.prefixes.0.prefix_len);
        let reason = match (version, first) {
            (Version::V2, IpAddr::V6(_)) => {
                Some("must be an IPv4 network: OSPFv2 has no others; OSPFv3 has, with 'version: 3'")
            }
            (Version::V3, IpAddr::V4(_)) => Some("must be an IPv6 network: the router is one of OSPFv3"),
            _ => None,
        };
        if let Some(reason) = reason {
            self.reading.fail(format!("{path}.prefixes"), reason);
            return None;
        }
        let kind = match doc.kind {
            OspfRouteDoc::External1 => RouteKind::External1,
            OspfRouteDoc::External2 => RouteKind::External2,
            OspfRouteDoc::InterArea => RouteKind::InterArea,
            OspfRouteDoc::Internal => RouteKind::Internal,
        };
        if kind == RouteKind::Internal && doc.metric > INTERNAL_METRIC_MAX {
            let reason = format!("must be {INTERNAL_METRIC_MAX} at most for internal routes");
            self.reading.fail(format!("{path}.metric"), reason);
        }
        if matches!(kind, RouteKind::Internal | RouteKind::InterArea) && doc.tag != 0 {
            self.reading.fail(format!("{path}.tag"), "only external routes have a tag");
        }
        let range = RouteRange {
            name: doc.name.as_ref().map(|name| name.0.clone()).unwrap_or_default(),
            kind,
            first,
            prefix_len,
            count: doc.count,
            step: doc.step,
            same: doc.same,
            metric: doc.metric,
            tag: doc.tag,
            schedule: Schedule {
                from: doc.advertise.0,
                until: doc.withdraw.as_ref().map(|withdraw| withdraw.0),
                again: None,
                flap: doc.flap.as_ref().map(|flap| Flap { every: flap.every.0, down: flap.down.0 }),
            },
        };
        if range.prefix(routers.saturating_sub(1), doc.count.saturating_sub(1)).is_none() {
            let whose = if routers > 1 && !doc.same {
                format!(" for each of {routers} routers")
            } else {
                String::new()
            };
            let reason = format!(
                "{} prefixes of /{prefix_len} with step {}{whose} from {first} on exceed the address space",
                doc.count, doc.step
            );
            self.reading.fail(format!("{path}.count"), reason);
            return None;
        }
        Some(range)
    }
}
