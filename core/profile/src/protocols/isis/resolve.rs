//! IS-IS routers of a port's hosts, their routes, and what is generated behind them.

use crate::document::{IsisDoc, IsisLevelDoc, IsisNetworkDoc, IsisRouteDoc, IsisRouterDoc, IsisRoutesDoc};
use crate::plan::{HostPlan, IsisPlan};
use crate::resolve::ids::{Identifiers, Taken};
use crate::resolve::{Resolver, whole_seconds};
use ::isis::{
    LSP_MAX, Levels, MIN_LSP_INTERVAL, NetworkType, Password, RouteKind, RouteRange, RouterConfig, Shape,
    SystemId, Topology, fragment_room, networks_max,
};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use units::{Flap, Nanos, Schedule};

/// Routers of a port.
const ROUTERS_MAX: usize = 1_024;
/// LSPs of all routers of a port that are kept.
const KEPT_MAX: u64 = 100_000;
/// LSPs that a router has for its routes at a level.
const FRAGMENTS_MAX: u32 = 255;
/// From one withdrawal of flapping routes to the next, at least: two instances of an LSP.
const FLAP_MIN: Nanos = Nanos(2 * MIN_LSP_INTERVAL.0);
/// Bytes of LLC.
const LLC: usize = 3;
const SYSTEMS: Identifiers =
    Identifiers { what: "system identifier", last: (1 << 48) - 1, show: show_system };

fn show_system(number: u64) -> String {
    system(number).to_string()
}

fn system(number: u64) -> SystemId {
    let mut id = SystemId::default();
    id.0.copy_from_slice(&number.to_be_bytes()[2..]);
    id
}

impl Resolver<'_> {
    pub(crate) fn isis(
        &mut self,
        port: &str,
        isis: &IsisDoc,
        hosts: &[HostPlan],
        has_punt: bool,
    ) -> IsisPlan {
        let path = format!("ports.{port}.isis");
        if has_punt {
            let reason = "the port's hosts have their control plane in a namespace ('punt'): run an IS-IS daemon there, or leave \
                          'punt' out";
            self.reading.fail(&path, reason);
        }
        self.within_a_year(&format!("{path}.timeout"), isis.timeout.0);
        self.within_a_year(&format!("{path}.settle"), isis.settle.0);
        let mut plan = IsisPlan {
            routers: Vec::new(),
            rate: self.per_second(&format!("{path}.rate"), isis.rate.0),
            timeout: isis.timeout.0,
            settle: isis.settle.0,
            seed: self.seed_of(&path, "isis"),
        };
        let mut taken = Taken::new();
        for (index, doc) in isis.routers.iter().enumerate() {
            let path = format!("{path}.routers[{index}]");
            if !self.reading.is_dropped(&path) {
                self.isis_routers(&path, doc, hosts, &mut plan, &mut taken);
            }
        }
        if plan.routers.len() > ROUTERS_MAX {
            let reason = format!("{} routers; a port has {ROUTERS_MAX} at most", plan.routers.len());
            self.reading.fail(format!("{path}.routers"), reason);
        }
        let kept = u64::from(isis.keep) * plan.routers.len() as u64;
        if kept > KEPT_MAX {
            let reason =
                format!("{kept} LSPs of {} routers; a port keeps {KEPT_MAX} at most", plan.routers.len());
            self.reading.fail(format!("{path}.keep"), reason);
        }
        plan.routers.iter_mut().for_each(|router| router.keep = isis.keep);
        plan
    }

    /// Adds the routers of one entry.
    fn isis_routers(
        &mut self,
        path: &str,
        doc: &IsisRouterDoc,
        hosts: &[HostPlan],
        plan: &mut IsisPlan,
        taken: &mut Taken,
    ) {
        let Some(speakers) = self.hosts_called(path, doc.host.as_ref(), hosts) else { return };
        let count = speakers.len() as u32;
        let (hello_s, hold_s) = self.isis_times(path, doc);
        let (lifetime_s, refresh_s) = self.isis_ages(path, doc);
        let te_router_id = match doc.te_router_id.as_ref().map(|id| id.0) {
            Some(IpAddr::V4(id)) => Some(id),
            Some(IpAddr::V6(_)) => {
                return self.reading.fail(format!("{path}.te_router_id"), "must be an IPv4 address");
            }
            None => None,
        };
        let password = |text: &Option<String>| {
            text.as_ref().map(|text| Password { text: text.clone(), is_digest: doc.digest })
        };
        let (hello_password, lsp_password) = (password(&doc.password), password(&doc.lsp_password));
        if doc.digest && hello_password.is_none() && lsp_password.is_none() {
            self.reading.fail(format!("{path}.digest"), "needs 'password' or 'lsp_password'");
        }
        let shape = doc.topology.as_ref().and_then(|topology| {
            let said = (topology.grid.as_ref(), topology.ring, topology.tree.as_ref());
            self.topology_shape(&format!("{path}.topology"), said)
        });
        let room = fragment_room(LSP_MAX.min(doc.mtu.unwrap_or(1_500) as usize - LLC), lsp_password.as_ref());
        let routes = self.isis_routes(path, doc, count, (room, shape));
        let network = match doc.network {
            IsisNetworkDoc::Broadcast => NetworkType::Broadcast,
            IsisNetworkDoc::PointToPoint => NetworkType::PointToPoint,
        };
        let mut first = None;
        for (number, host) in (0u32..).zip(speakers) {
            let (own, name) = (hosts[host].address(true), &hosts[host].name);
            let (Some(IpAddr::V4(local)), prefix_len) =
                (own.map(|own| own.ip), own.map_or(32, |own| own.prefix_len))
            else {
                return self
                    .reading
                    .fail(format!("{path}.host"), format!("host '{name}' has no IPv4 address"));
            };
            if let Some(other) = plan.routers.iter().find(|router| router.host == host) {
                let reason = format!("host '{name}' is router {} already", other.system);
                return self.reading.fail(format!("{path}.host"), reason);
            }
            let is_on_link = |router: &&RouterConfig| hosts[router.host].vlans == hosts[host].vlans;
            let is_alone = |router: &RouterConfig| {
                router.network == NetworkType::PointToPoint || network == NetworkType::PointToPoint
            };
            if plan.routers.iter().filter(is_on_link).any(is_alone) {
                let reason = format!(
                    "a point-to-point link has one router of the port, and host '{name}' is on the link of another: give them separate \
                     VLANs, or make the network broadcast"
                );
                return self.reading.fail(format!("{path}.network"), reason);
            }
            let id = match &doc.system_id {
                Some(id) => id.0.plus(number),
                None => SystemId::of_address(local),
            };
            let first = *first.get_or_insert(id);
            if !self.take_ids(&format!("{path}.system_id"), &SYSTEMS, (id.number(), 1), taken) {
                return;
            }
            let topology = doc.topology.as_ref().zip(shape).map(|(topology, (shape, routers))| Topology {
                shape,
                routers,
                metric: topology.metric,
                first: match &topology.system_id {
                    Some(id) => id.0.plus(number.wrapping_mul(routers)),
                    None => first.plus(count).plus(number.wrapping_mul(routers)),
                },
            });
            if let Some(topology) = topology {
                let range = (topology.first.number(), topology.routers.into());
                if !self.take_ids(&format!("{path}.topology.system_id"), &SYSTEMS, range, taken) {
                    return;
                }
            }
            let addresses = hosts[host].addresses.iter();
            let v6: Vec<(Ipv6Addr, u8)> = addresses
                .filter_map(|own| match own.ip {
                    IpAddr::V6(ip) => Some((ip, own.prefix_len)),
                    IpAddr::V4(_) => None,
                })
                .collect();
            let is_local = |(ip, _): &&(Ipv6Addr, u8)| ip.is_unicast_link_local();
            let speaks_v6 = !v6.is_empty() || routes.iter().any(|range| range.first.is_ipv6());
            // The one that its hardware address makes is known once the port is.
            let made = speaks_v6.then_some(Ipv6Addr::UNSPECIFIED);
            plan.routers.push(RouterConfig {
                name: doc.name.as_ref().map(|name| name.0.clone()).unwrap_or_default(),
                host,
                local,
                prefix_len,
                ipv6: v6.iter().find(|own| !is_local(own)).copied(),
                link_local: v6.iter().find(is_local).map(|(ip, _)| *ip).or(made),
                system: id,
                area: doc.area.0,
                levels: match doc.level {
                    IsisLevelDoc::One => Levels::One,
                    IsisLevelDoc::Two => Levels::Two,
                    IsisLevelDoc::Both => Levels::Both,
                },
                network,
                priority: doc.priority,
                hello_s,
                hold_s,
                metric: doc.metric,
                mtu: doc.mtu.map(|mtu| mtu as u16),
                padding: doc.padding,
                hostname: doc.hostname.clone().unwrap_or_else(|| name.chars().take(50).collect()),
                overload: doc.overload,
                attached: doc.attached,
                te_router_id,
                lifetime_s,
                refresh_s,
                password: hello_password.clone(),
                lsp_password: lsp_password.clone(),
                number,
                routes: routes.clone(),
                topology,
                keep: 0,
            });
        }
    }

    fn isis_times(&mut self, path: &str, doc: &IsisRouterDoc) -> (u16, u16) {
        let max = u64::from(u16::MAX);
        let hello = whole_seconds(doc.hello.0, max / 10);
        if hello.is_none() {
            self.reading.fail(format!("{path}.hello"), "must be whole seconds from 1s to 6553s");
        }
        let hello = hello.unwrap_or(1);
        let hold = match &doc.hold {
            None => Some(10 * hello),
            Some(hold) => whole_seconds(hold.0, max).filter(|hold| *hold > hello),
        };
        if hold.is_none() {
            self.reading
                .fail(format!("{path}.hold"), "must be whole seconds up to 65535s, and longer than 'hello'");
        }
        for (key, text) in [("password", &doc.password), ("lsp_password", &doc.lsp_password)] {
            if text.as_ref().is_some_and(|text| !text.is_ascii()) {
                self.reading.fail(format!("{path}.{key}"), "must be of ASCII characters");
            }
        }
        if doc.hostname.as_ref().is_some_and(|text| !text.is_ascii()) {
            self.reading.fail(format!("{path}.hostname"), "must be of ASCII characters");
        }
        (hello as u16, hold.unwrap_or(hello + 1) as u16)
    }

    /// The lifetime of LSPs, and the age at which they are originated again, s.
    fn isis_ages(&mut self, path: &str, doc: &IsisRouterDoc) -> (u16, u16) {
        let lifetime = whole_seconds(doc.lifetime.0, u16::MAX.into());
        if lifetime.is_none() {
            self.reading.fail(format!("{path}.lifetime"), "must be whole seconds from 1s to 65535s");
        }
        let lifetime = lifetime.unwrap_or(u16::MAX.into());
        let refresh = whole_seconds(doc.refresh.0, lifetime.saturating_sub(1));
        if refresh.is_none() {
            let reason = "must be whole seconds from 1s on, and shorter than 'lifetime'";
            self.reading.fail(format!("{path}.refresh"), reason);
        }
        (lifetime as u16, refresh.unwrap_or(1) as u16)
    }

    fn isis_routes(
        &mut self,
        path: &str,
        doc: &IsisRouterDoc,
        routers: u32,
        (room, shape): (usize, Option<(Shape, u32)>),
    ) -> Arc<[RouteRange]> {
        let mut all: Vec<RouteRange> = Vec::new();
        let mut fragments = 0u32;
        // Of what an LSP of a generated router has room for, how much is taken, in parts per million.
        let mut taken = 0u64;
        for (index, routes) in doc.routes.iter().enumerate() {
            let path = format!("{path}.routes[{index}]");
            if self.reading.is_dropped(&path) {
                continue;
            }
            self.isis_route_times(&path, routes);
            let Some(range) = self.isis_range(&path, routes, routers) else { continue };
            if range.is_generated() && doc.topology.is_none() {
                let reason = "these are networks of generated routers: give the router a 'topology'";
                self.reading.fail(format!("{path}.type"), reason);
            }
            if let (true, Some((shape, generated))) = (range.is_generated(), shape) {
                let (networks, room) = (range.count.div_ceil(generated), networks_max(&range, room, shape));
                taken += u64::from(networks) * 1_000_000 / u64::from(room.max(1));
                if taken > 1_000_000 {
                    let reason = format!(
                        "{networks} networks of each generated router; there is room for {room} in all: let there be more routers"
                    );
                    self.reading.fail(format!("{path}.count"), reason);
                }
            }
            fragments = fragments.saturating_add(range.fragments(room));
            if fragments > FRAGMENTS_MAX {
                let reason = format!(
                    "the routes fill {fragments} LSPs up to here; a router has at most {FRAGMENTS_MAX}: use more routers, or \
                     networks of a topology"
                );
                self.reading.fail(format!("{path}.count"), reason);
            }
            all.push(range);
        }
        all.into()
    }

    fn isis_route_times(&mut self, path: &str, doc: &IsisRoutesDoc) {
        self.within_a_year(&format!("{path}.advertise"), doc.advertise.0);
        if doc.withdraw.as_ref().is_some_and(|withdraw| withdraw.0 <= doc.advertise.0) {
            self.reading.fail(format!("{path}.withdraw"), "must be later than 'advertise'");
        }
        if let Some(flap) = &doc.flap {
            self.within_a_year(&format!("{path}.flap.every"), flap.every.0);
            if flap.every.0 < FLAP_MIN {
                let reason = format!(
                    "must be {FLAP_MIN} at least: a router originates an LSP no more often than every {MIN_LSP_INTERVAL}"
                );
                self.reading.fail(format!("{path}.flap.every"), reason);
            }
            if flap.down.0 == Nanos::ZERO || flap.down.0 >= flap.every.0 {
                self.reading
                    .fail(format!("{path}.flap.down"), "must be longer than 0, and shorter than 'every'");
            }
        }
    }

    fn isis_range(&mut self, path: &str, doc: &IsisRoutesDoc, routers: u32) -> Option<RouteRange> {
        let (first, prefix_len) = (doc.prefixes.0.network().0, doc.prefixes.0.prefix_len);
        let range = RouteRange {
            name: doc.name.as_ref().map(|name| name.0.clone()).unwrap_or_default(),
            kind: match doc.kind {
                IsisRouteDoc::Internal => RouteKind::Internal,
                IsisRouteDoc::External => RouteKind::External,
                IsisRouteDoc::Topology => RouteKind::Generated,
            },
            first,
            prefix_len,
            count: doc.count,
            step: doc.step,
            same: doc.same,
            metric: doc.metric,
            down: doc.down,
            schedule: Schedule {
                from: doc.advertise.0,
                until: doc.withdraw.as_ref().map(|withdraw| withdraw.0),
                again: None,
                flap: doc.flap.as_ref().map(|flap| Flap { every: flap.every.0, down: flap.down.0 }),
            },
        };
        if range.prefix(routers.saturating_sub(1), doc.count.saturating_sub(1)).is_none() {
            let many = routers > 1 && !doc.same;
            let whose = if many { format!(" for each of {routers} routers") } else { String::new() };
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
