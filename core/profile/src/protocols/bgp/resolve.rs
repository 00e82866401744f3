//! BGP sessions of a port's hosts, and their routes.

use crate::document::{
    BgpDoc, BgpFamilyDoc, BgpMrtDoc, BgpOriginDoc, BgpPathWaysDoc, BgpPeerDoc, BgpRoutesDoc, Network,
    OneOrMany,
};
use crate::plan::{BgpPlan, HostPlan};
use crate::resolve::{Resolver, family, same_family};
use ::bgp::{
    AddPath, Attributes, Family, Flap, Identity, Origin, PathSegment, PeerConfig, RESTART_TIME_MAX, Restart,
    RouteRange, RouteTable, Tables,
};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use units::Nanos;

/// Peers of a port.
const PEERS_MAX: usize = 4_096;
/// Routes of all peers of a port that are kept.
const KEPT_MAX: u64 = 100_000;
/// AS numbers of a segment of a path (RFC 4271 section 4.3).
const SEGMENT_MAX: usize = 255;
/// Hold times that are not allowed (RFC 4271 section 4.2): above zero and below this.
const HOLD_MIN: Nanos = Nanos::from_secs(3);

impl Resolver<'_> {
    pub(crate) fn bgp(&mut self, port: &str, bgp: &BgpDoc, hosts: &[HostPlan], has_punt: bool) -> BgpPlan {
        let path = format!("ports.{port}.bgp");
        if has_punt {
            let reason = "the port's hosts have their control plane in a namespace ('punt'): run a BGP daemon there, or leave                           'punt' out";
            self.reading.fail(&path, reason);
        }
        self.within_a_year(&format!("{path}.timeout"), bgp.timeout.0);
        self.within_a_year(&format!("{path}.settle"), bgp.settle.0);
        let mut plan = BgpPlan {
            peers: Vec::new(),
            hops: Vec::new(),
            rate: self.per_second(&format!("{path}.rate"), bgp.rate.0),
            timeout: bgp.timeout.0,
            settle: bgp.settle.0,
            may_fail: false,
            seed: self.seed_of(&path, "bgp"),
        };
        let mut taken = HashMap::new();
        for (index, doc) in bgp.peers.iter().enumerate() {
            let path = format!("{path}.peers[{index}]");
            if !self.reading.is_dropped(&path) {
                self.bgp_peers(&path, doc, hosts, &mut plan, &mut taken);
            }
        }
        if plan.peers.len() > PEERS_MAX {
            let reason = format!("{} peers; a port has {PEERS_MAX} at most", plan.peers.len());
            self.reading.fail(format!("{path}.peers"), reason);
        }
        let kept = u64::from(bgp.keep) * plan.peers.len() as u64;
        if kept > KEPT_MAX {
            let reason =
                format!("{kept} routes of {} peers; a port keeps {KEPT_MAX} at most", plan.peers.len());
            self.reading.fail(format!("{path}.keep"), reason);
        }
        plan.peers.iter_mut().for_each(|peer| peer.keep = bgp.keep);
        plan
    }

    /// Adds the peers of one entry.
    fn bgp_peers(
        &mut self,
        path: &str,
        doc: &BgpPeerDoc,
        hosts: &[HostPlan],
        plan: &mut BgpPlan,
        taken: &mut HashMap<(usize, IpAddr), String>,
    ) {
        let Some(speakers) = self.hosts_called(path, doc.host.as_ref(), hosts) else { return };
        self.bgp_times(path, doc);
        let (routes, entries) = self.bgp_routes(path, doc, speakers.len() as u32);
        for (number, host) in (0u32..).zip(speakers) {
            match peer(doc, number, host, &hosts[host], (&routes, &entries)) {
                Ok((config, hop)) => {
                    if let Some(other) = taken.insert((host, config.remote), path.to_owned()) {
                        let reason = format!(
                            "host '{}' already has a session with {}, from {other}; two sessions need two addresses",
                            hosts[host].name, config.remote
                        );
                        return self.reading.fail(format!("{path}.peer"), reason);
                    }
                    if hosts.iter().flat_map(|host| &host.addresses).any(|own| own.ip == config.remote) {
                        let reason = format!(
                            "{} is an address of the port's own hosts, not the device's",
                            config.remote
                        );
                        return self.reading.fail(format!("{path}.peer"), reason);
                    }
                    plan.peers.push(config);
                    plan.hops.push(hop);
                }
                Err((key, reason)) => return self.reading.fail(format!("{path}.{key}"), reason),
            }
        }
    }

    fn bgp_times(&mut self, path: &str, doc: &BgpPeerDoc) {
        let hold = doc.hold_time.0;
        let whole = Nanos::from_secs(1).0;
        if hold > Nanos::ZERO && hold < HOLD_MIN
            || !hold.0.is_multiple_of(whole)
            || hold.0 / whole > u16::MAX.into()
        {
            let reason = "must be whole seconds from 3s to 65535s, or 0s (RFC 4271 section 4.2)";
            self.reading.fail(format!("{path}.hold_time"), reason);
        }
        if let Some(restart) = &doc.graceful_restart
            && (!restart.time.0.0.is_multiple_of(whole) || restart.time.0.0 / whole > RESTART_TIME_MAX.into())
        {
            let reason = format!("must be whole seconds from 0s to {RESTART_TIME_MAX}s (RFC 4724 section 3)");
            self.reading.fail(format!("{path}.graceful_restart.time"), reason);
        }
        if doc.retry.0 == Nanos::ZERO {
            self.reading.fail(format!("{path}.retry"), "must be longer than 0");
        }
        self.within_a_year(&format!("{path}.retry"), doc.retry.0);
    }

    /// Ranges of routes, and the number of the entry that each of them is from.
    fn bgp_routes(&mut self, path: &str, doc: &BgpPeerDoc, peers: u32) -> (Arc<[RouteRange]>, Vec<usize>) {
        let is_internal = Some(doc.asn) == doc.peer_as && doc.as_step == 0;
        let (mut all, mut entries) = (Vec::new(), Vec::new());
        for (index, routes) in doc.routes.iter().enumerate() {
            let path = format!("{path}.routes[{index}]");
            if self.reading.is_dropped(&path) {
                continue;
            }
            let sends = doc.add_path.as_ref().is_some_and(|doc| doc.ways != BgpPathWaysDoc::Receive);
            if routes.path_id.is_some() && !sends {
                let reason = "needs 'add_path' of the peer, which enables several paths";
                self.reading.fail(format!("{path}.path_id"), reason);
            }
            if routes.local_pref.is_some() && !is_internal {
                let reason = "applies to internal sessions only: 'as' and 'peer_as' differ";
                self.reading.fail(format!("{path}.local_pref"), reason);
            }
            self.bgp_route_times(&path, routes);
            let first = all.len();
            match (&routes.prefixes, &routes.mrt) {
                (Some(prefixes), None) => all.push(self.bgp_range(&path, routes, prefixes, peers)),
                (None, Some(mrt)) => all.extend(self.bgp_tables(&path, routes, mrt)),
                (None, None) => self.reading.fail(path, "needs 'prefixes' or 'mrt'"),
                (Some(_), Some(_)) => {
                    self.reading.fail(format!("{path}.mrt"), "can't be used with 'prefixes'");
                }
            }
            let path_id = routes.path_id.unwrap_or(index as u32 + 1);
            all[first..].iter_mut().for_each(|range| range.path_id = path_id);
            entries.resize(all.len(), index);
        }
        (all.into(), entries)
    }

    fn bgp_route_times(&mut self, path: &str, doc: &BgpRoutesDoc) {
        self.within_a_year(&format!("{path}.advertise"), doc.advertise.0);
        if doc.withdraw.as_ref().is_some_and(|withdraw| withdraw.0 <= doc.advertise.0) {
            self.reading.fail(format!("{path}.withdraw"), "must be later than 'advertise'");
        }
        if let Some(flap) = &doc.flap {
            self.within_a_year(&format!("{path}.flap.every"), flap.every.0);
            if flap.down.0 == Nanos::ZERO || flap.down.0 >= flap.every.0 {
                let reason = "must be longer than 0 and shorter than 'every'";
                self.reading.fail(format!("{path}.flap.down"), reason);
            }
        }
    }

    fn bgp_range(&mut self, path: &str, doc: &BgpRoutesDoc, prefixes: &Network, peers: u32) -> RouteRange {
        let (first, _) = prefixes.0.network();
        if let Some(hop) = doc.next_hop.as_ref().filter(|hop| !same_family(hop.0, first)) {
            let reason = format!("{} is no {} address, and the prefixes are", hop.0, family(first));
            self.reading.fail(format!("{path}.next_hop"), reason);
        }
        for (at, part) in doc.as_path.iter().enumerate() {
            for (within, _) in part.with_paths().into_iter().filter(|(_, asn)| **asn == 0) {
                self.reading.fail(format!("{path}.as_path[{at}]{within}"), "must be from 1 to 4294967295");
            }
            if let OneOrMany::Many(set) = part
                && !(1..=SEGMENT_MAX).contains(&set.len())
            {
                self.reading.fail(format!("{path}.as_path[{at}]"), "a set has 1 to 255 AS numbers");
            }
        }
        let range = RouteRange {
            prefix_len: prefixes.0.prefix_len,
            count: doc.count,
            step: doc.step,
            same: doc.same,
            ..range(doc, first)
        };
        if !range.attributes.fit() {
            let reason =
                "the AS path and the communities leave no room for prefixes in a message of 4,096 bytes";
            self.reading.fail(path, reason);
        }
        if range.prefix(peers.saturating_sub(1), doc.count.saturating_sub(1)).is_none() {
            let whose =
                if peers > 1 && !doc.same { format!(" for each of {peers} peers") } else { String::new() };
            let reason = format!(
                "{} prefixes of /{} with step {}{whose} from {first} on exceed the address space",
                doc.count, range.prefix_len, doc.step
            );
            self.reading.fail(format!("{path}.count"), reason);
        }
        let all = if doc.same { doc.count.into() } else { u64::from(doc.count) * u64::from(peers) };
        for (block, inside) in dropped(&range, all) {
            self.warnings.push(format!(
                "{path}.prefixes: {} of them are in {block}: routers silently drop such routes (BIRD in {}; FRR in 224.0.0.0/4)",
                units::count(inside),
                DROPPED.map(|(block, ..)| block).join(", ")
            ));
        }
        range
    }

    /// Ranges with the routes of a file: one for each family.
    fn bgp_tables(&mut self, path: &str, doc: &BgpRoutesDoc, mrt: &BgpMrtDoc) -> Vec<RouteRange> {
        let of_file = [
            ("count", doc.count != 1),
            ("step", doc.step != 1),
            ("same", doc.same),
            ("as_path", !doc.as_path.is_empty()),
            ("origin", doc.origin != BgpOriginDoc::default()),
            ("communities", !doc.communities.is_empty()),
            ("large_communities", !doc.large_communities.is_empty()),
            ("med", doc.med.is_some()),
        ];
        for (key, _) in of_file.iter().filter(|(_, is_given)| *is_given) {
            self.reading
                .fail(format!("{path}.{key}"), "goes with 'prefixes', not with 'mrt': the file has it");
        }
        let at = format!("{path}.mrt.file");
        let Some(bytes) = self.file(&at, &mrt.file) else { return Vec::new() };
        let only = mrt.family.map(|family| match family {
            BgpFamilyDoc::Ipv4 => Family::Ipv4,
            BgpFamilyDoc::Ipv6 => Family::Ipv6,
        });
        let read = match Tables::read(&bytes, only, mrt.limit as usize) {
            Ok(read) => read,
            Err(why) => {
                self.reading.fail(at, format!("'{}' {why}", mrt.file));
                return Vec::new();
            }
        };
        if read.left_out > 0 {
            let left_out = units::count(read.left_out);
            self.warnings.push(format!(
                "{at}: {left_out} prefixes of '{}' are left out: their attributes are malformed, too long, or of a confederation",
                mrt.file
            ));
        }
        if read.replaced > 0 {
            self.warnings.push(format!(
                "{at}: '{}' has several tables of a family, one after the other, of which the last one is advertised; earlier ones left out: {}",
                mrt.file,
                units::count(read.replaced)
            ));
        }
        let hop = doc.next_hop.as_ref().map(|hop| hop.0);
        if let Some(hop) =
            hop.filter(|hop| read.tables.iter().all(|table| table.family() != Family::of(*hop)))
        {
            let reason = format!("{hop} is an {} address, and the file has no such routes", Family::of(hop));
            self.reading.fail(format!("{path}.next_hop"), reason);
        }
        let range = |table: Arc<RouteTable>| {
            let (first, prefix_len) = table.prefix(0)?;
            let (mut made, count) = (range(doc, first), table.count());
            made.attributes.next_hop = hop.filter(|hop| Family::of(*hop) == table.family());
            Some(RouteRange { prefix_len, count, same: true, table: Some(table), ..made })
        };
        read.tables.into_iter().filter_map(range).collect()
    }
}

/// Blocks of IPv4 in which routers take no route: name, first and last address.
const DROPPED: [(&str, u32, u32); 3] = [
    ("0.0.0.0/8", 0, 0x00ff_ffff),
    ("127.0.0.0/8", 0x7f00_0000, 0x7fff_ffff),
    ("224.0.0.0/4", 0xe000_0000, 0xefff_ffff),
];

/// Blocks of IPv4 in which routers take no route, with the number of such prefixes among `all` of a range. The default route is none.
fn dropped(range: &RouteRange, all: u64) -> impl Iterator<Item = (&'static str, u64)> {
    let first = match range.first {
        IpAddr::V4(first) if range.prefix_len > 0 => Some(u64::from(u32::from(first))),
        _ => None,
    };
    let step = u64::from(range.step) << (32 - u32::from(range.prefix_len.min(32)));
    // Prefixes from the first one that end before an address.
    let before = move |first: u64, address: u64| address.saturating_sub(first).div_ceil(step.max(1)).min(all);
    DROPPED.into_iter().filter_map(move |(block, low, high)| {
        let first = first?;
        let inside = before(first, u64::from(high) + 1) - before(first, low.into());
        (inside > 0).then_some((block, inside))
    })
}

/// The segments of an AS path: numbers that follow each other are one, or several if they are too many for one.
fn segments(path: &[OneOrMany<u32>]) -> Vec<PathSegment> {
    let mut all: Vec<PathSegment> = Vec::new();
    let mut is_open = false;
    for part in path {
        match (part, all.last_mut()) {
            (OneOrMany::One(asn), Some(last)) if is_open && last.numbers.len() < SEGMENT_MAX => {
                last.numbers.push(*asn)
            }
            (OneOrMany::One(asn), _) => all.push(PathSegment::sequence(vec![*asn])),
            (OneOrMany::Many(set), _) => all.push(PathSegment::set(set.clone())),
        }
        is_open = matches!(part, OneOrMany::One(_));
    }
    all
}

/// One prefix, with the attributes of an entry's routes.
fn range(doc: &BgpRoutesDoc, first: IpAddr) -> RouteRange {
    let mut range = RouteRange {
        name: doc.name.as_ref().map(|name| name.0.clone()).unwrap_or_default(),
        first,
        prefix_len: 0,
        count: 1,
        step: 1,
        same: false,
        path_id: 0,
        attributes: Attributes {
            origin: match doc.origin {
                BgpOriginDoc::Igp => Origin::Igp,
                BgpOriginDoc::Egp => Origin::Egp,
                BgpOriginDoc::Incomplete => Origin::Incomplete,
            },
            next_hop: doc.next_hop.as_ref().map(|hop| hop.0),
            without_own_as: !doc.own_as,
            med: doc.med,
            local_pref: doc.local_pref,
            communities: doc.communities.iter().map(|community| community.0).collect(),
            large_communities: doc.large_communities.iter().map(|community| community.0).collect(),
            ..Attributes::default()
        },
        table: None,
        advertise: doc.advertise.0,
        withdraw: doc.withdraw.as_ref().map(|withdraw| withdraw.0),
        flap: doc.flap.as_ref().map(|flap| Flap { every: flap.every.0, down: flap.down.0 }),
    };
    range.attributes.set_path(segments(&doc.as_path));
    range
}

/// Whether a prefix of a family can have several paths, as it is offered.
fn add_path(doc: &BgpPeerDoc, family: BgpFamilyDoc) -> AddPath {
    match &doc.add_path {
        Some(doc) if doc.families.is_empty() || doc.families.contains(&family) => {
            AddPath { send: doc.ways != BgpPathWaysDoc::Receive, receive: doc.ways != BgpPathWaysDoc::Send }
        }
        _ => AddPath::default(),
    }
}

/// The peer number `number` of an entry, whose speaker is `host`, and the neighbour that leads to it. The key that is wrong, and
/// why, if there is none.
fn peer(
    doc: &BgpPeerDoc,
    number: u32,
    host: usize,
    plan: &HostPlan,
    (routes, entries): (&Arc<[RouteRange]>, &[usize]),
) -> Result<(PeerConfig, IpAddr), (&'static str, String)> {
    let first = doc.peer.0;
    let by = doc.peer_step.as_ref().filter(|step| step.0.v4.is_none_or(|v4| v4 == first.is_ipv4()));
    let far = by.map_or(Some(0), |step| step.0.by.checked_mul(number.into()));
    let remote = far
        .and_then(|far| crate::resolve::hosts::plus(first, far))
        .ok_or_else(|| ("peer_step", format!("{first} leaves too few addresses after it")))?;
    let kin = plan.addresses.iter().filter(|own| same_family(own.ip, remote));
    let own = kin.clone().find(|own| own.is_next_to(remote)).or_else(|| kin.clone().next());
    let own = own.ok_or_else(|| {
        ("peer", format!("host '{}' has no {} address to reach {remote} from", plan.name, family(remote)))
    })?;
    let hop = if own.is_next_to(remote) { Some(remote) } else { plan.gateway(own) };
    let hop = hop.ok_or_else(|| {
        ("peer", format!("{remote} is on no network of host '{}', which has no 'gateway'", plan.name))
    })?;
    let own_as = number.checked_mul(doc.as_step).and_then(|far| doc.asn.checked_add(far));
    let own_as =
        own_as.ok_or_else(|| ("as_step", "leads beyond the last AS number, 4294967295".to_owned()))?;
    let address = |v4: bool| if own.ip.is_ipv4() == v4 { Some(*own) } else { plan.address(v4) };
    let addresses = [address(true), address(false)].map(|own| own.map(|own| own.ip));
    for (at, range) in entries.iter().zip(routes.iter()) {
        if range.attributes.next_hop.is_none() && addresses[range.family() as usize].is_none() {
            let reason = format!(
                "needs 'next_hop': host '{}' has no {} address for routes[{at}]",
                plan.name,
                family(range.first)
            );
            return Err(("routes", reason));
        }
    }
    let said = |family: BgpFamilyDoc| doc.families.contains(&family);
    let used = |family: Family| {
        doc.families.is_empty()
            && (Family::of(remote) == family || routes.iter().any(|range| range.family() == family))
    };
    let families =
        [said(BgpFamilyDoc::Ipv4) || used(Family::Ipv4), said(BgpFamilyDoc::Ipv6) || used(Family::Ipv6)];
    if let Some(range) = routes.iter().find(|range| !families[range.family() as usize]) {
        return Err(("families", format!("lacks that of the routes from {} on", range.first)));
    }
    let identifier = match (&doc.router_id, addresses[0]) {
        (Some(id), _) => match id.0 {
            IpAddr::V4(first) => u32::from(first).checked_add(number).map(Ipv4Addr::from),
            IpAddr::V6(_) => None,
        },
        (None, Some(IpAddr::V4(ip))) => Some(ip),
        _ => None,
    };
    let identifier = identifier.filter(|id| !id.is_unspecified()).ok_or_else(|| {
        let reason = match doc.router_id {
            Some(_) => "must be an IPv4 address above 0.0.0.0".to_owned(),
            None => format!("is missing: host '{}' has no IPv4 address to take it from", plan.name),
        };
        ("router_id", reason)
    })?;
    let identity = Identity {
        own_as,
        peer_as: doc.peer_as.unwrap_or(0),
        identifier,
        hold_s: (doc.hold_time.0.0 / Nanos::from_secs(1).0).min(u16::MAX.into()) as u16,
        families,
        own: addresses,
        number,
        restart: doc.graceful_restart.as_ref().map(|restart| Restart {
            time_s: (restart.time.0.0 / Nanos::from_secs(1).0).min(RESTART_TIME_MAX.into()) as u16,
            notification: restart.notification,
            forwards: restart.forwarding,
        }),
        add_path: [BgpFamilyDoc::Ipv4, BgpFamilyDoc::Ipv6].map(|family| add_path(doc, family)),
    };
    let config = PeerConfig {
        name: doc.name.as_ref().map(|name| name.0.clone()).unwrap_or_default(),
        host,
        local: own.ip,
        remote,
        identity,
        passive: doc.passive,
        retry: doc.retry.0,
        routes: routes.clone(),
        keep: 0,
    };
    Ok((config, hop))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_follow_each_other_are_a_segment() {
        let one = OneOrMany::One;
        let path = [one(1), one(2), OneOrMany::Many(vec![3, 4]), OneOrMany::Many(vec![5]), one(6)];
        let (sequence, set) = (PathSegment::sequence, PathSegment::set);
        assert_eq!(segments(&path), [sequence(vec![1, 2]), set(vec![3, 4]), set(vec![5]), sequence(vec![6])]);
        let long: Vec<OneOrMany<u32>> = (1..=300).map(one).collect();
        assert_eq!(segments(&long), [sequence((1..=255).collect()), sequence((256..=300).collect())]);
        assert_eq!(segments(&[]), []);
    }

    #[test]
    fn prefixes_that_routers_drop_are_named() {
        let warnings = |route: &str| {
            let peers = format!("[{{peer: 10.0.0.1, as: 65001, routes: [{route}]}}]");
            let text = format!(
                "ports: {{a: {{device: \"ring:a\", ip: 10.0.0.2/24, bgp: {{peers: {peers}}}}}}}\nstreams: []\n"
            );
            crate::load(&text).expect(route).warnings
        };
        for fine in [
            "{prefixes: 16.0.0.0/24, count: 1000000}",
            "{prefixes: 0.0.0.0/0}",
            "{prefixes: 240.0.0.0/8, count: 15}",
            "{prefixes: 126.0.0.0/8, count: 2, step: 2}",
            "{prefixes: \"2001:db8::/48\", count: 10, next_hop: \"2001:db8::9\"}",
        ] {
            assert_eq!(warnings(fine), [""; 0], "{fine}");
        }
        let all = warnings("{prefixes: 126.255.0.0/24, count: 65793}");
        assert_eq!(all.len(), 1, "{all:?}");
        assert!(
            all[0].starts_with("ports.a.bgp.peers[0].routes[0].prefixes: 65,536 of them are in 127.0.0.0/8:"),
            "{all:?}"
        );
        assert_eq!(warnings("{prefixes: 0.0.1.0/24, count: 3}").len(), 1);
        assert_eq!(warnings("{prefixes: 223.255.255.0/24, count: 2}").len(), 1);
    }

    #[test]
    fn a_set_has_numbers_and_room_for_them() {
        let refused = |path: &str| {
            let routes = format!("[{{prefixes: 16.0.0.0/24, as_path: {path}}}]");
            let peers = format!("[{{peer: 10.0.0.1, as: 65001, routes: {routes}}}]");
            let text = format!(
                "ports: {{a: {{device: \"ring:a\", ip: 10.0.0.2/24, bgp: {{peers: {peers}}}}}}}\nstreams: []\n"
            );
            let errors = crate::load(&text).expect_err(path);
            errors
                .iter()
                .map(|error| format!("{}: {}", error.path, error.reason))
                .collect::<Vec<_>>()
                .join("; ")
        };
        let at = "ports.a.bgp.peers[0].routes[0].as_path";
        assert!(
            refused("[5, []]").contains(&format!("{at}[1]: a set has 1 to 255 AS numbers")),
            "{}",
            refused("[5, []]")
        );
        let long = format!("[{:?}]", vec![7; 256]);
        assert!(
            refused(&long).contains(&format!("{at}[0]: a set has 1 to 255 AS numbers")),
            "{}",
            refused(&long)
        );
        assert!(
            refused("[5, [7, 0]]").contains(&format!("{at}[1][1]: must be from 1 to 4294967295")),
            "{}",
            refused("[5, [7, 0]]")
        );
    }
}
