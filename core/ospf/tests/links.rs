//! Two sides of routers with a link between them, on virtual time.

#[path = "../../linkstate/tests/common/mod.rs"]
mod common;

use common::{CLEAN, Link, SECOND};
use linkstate::Router as _;
use ospf::{
    Authentication, Failure, LsaContents, LsaContents3, LsaRoute, NeighbourState, NetworkType, OspfCounts,
    RouteKind, RouteRange, Router, RouterConfig, Shape, Topology, Version,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use units::{Flap, Nanos, Schedule};

const VERSIONS: [Version; 2] = [Version::V2, Version::V3];

type World = common::World<Router>;

fn routes(first: [u8; 4], count: u32) -> RouteRange {
    RouteRange {
        name: String::new(),
        kind: RouteKind::External2,
        first: first.into(),
        prefix_len: 24,
        count,
        step: 1,
        same: false,
        metric: 20,
        tag: 0,
        schedule: Schedule::default(),
    }
}

fn router(side: u8, routes: &[RouteRange]) -> RouterConfig {
    RouterConfig {
        name: String::new(),
        version: Version::V2,
        host: 0,
        local: IpAddr::from([10, 0, 0, side]),
        link_local: Ipv6Addr::UNSPECIFIED,
        instance: 0,
        prefix_len: 24,
        id: [side; 4].into(),
        area: [0; 4].into(),
        network: NetworkType::PointToPoint,
        hello_s: 10,
        dead_s: 40,
        cost: 10,
        mtu: None,
        any_mtu: false,
        authentication: Authentication::None,
        refresh_s: 1_800,
        number: 0,
        routes: routes.into(),
        topology: None,
        keep: 100,
    }
}

/// A router as one of this version: with OSPFv3, its addresses and prefixes are of IPv6.
fn of(version: Version, config: RouterConfig) -> RouterConfig {
    if version == Version::V2 {
        return config;
    }
    let base = u128::from("2001:db8::".parse::<Ipv6Addr>().unwrap());
    // As many networks of 64 bits apart as those of 24 bits were.
    let six = |range: &RouteRange| match range.first {
        IpAddr::V4(ip) => {
            let first = Ipv6Addr::from(base | u128::from(u32::from(ip) >> 8) << 64);
            RouteRange { first: first.into(), prefix_len: 64, ..range.clone() }
        }
        IpAddr::V6(_) => range.clone(),
    };
    let side = u16::from(config.id.octets()[0]);
    RouterConfig {
        version,
        local: Ipv6Addr::new(0x2001, 0xdb8, 0xffff, 0, 0, 0, 0, side).into(),
        link_local: Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, side),
        prefix_len: 64,
        routes: config.routes.iter().map(six).collect(),
        ..config
    }
}

impl World {
    fn new(seed: u64, link: Link, routers: [RouterConfig; 2]) -> Self {
        Self::between(seed, link, routers, ospf::may_concern)
    }

    /// External and router LSAs that a side holds of the other.
    fn held(&self, side: usize) -> (u64, u64) {
        let counts = self.sides[side].router(0).held();
        (counts.external, counts.router)
    }
}

#[test]
fn adjacencies_become_full_and_routes_are_told() {
    VERSIONS.into_iter().for_each(check_adjacency);
}

fn check_adjacency(version: Version) {
    let own = [routes([16, 0, 0, 0], 1_000), routes([32, 0, 0, 0], 500)];
    let mut world = World::new(1, CLEAN, [of(version, router(1, &own)), of(version, router(2, &[]))]);
    world.settle(SECOND);
    assert_eq!((world.held(1), world.held(0)), ((1_500, 1), (0, 1)));
    let [west, east] = world.counts();
    assert_eq!((west.advertised, west.full, west.flaps, west.retransmitted), (1_500, 1, 0, 0));
    assert!(west.updates.0 < 60, "LSAs share packets: {} packets", west.updates.0);
    assert_eq!((east.received.external, east.malformed, east.mismatched), (1_500, 0, 0));
    let seen = world.sides[1].router(0).neighbour().unwrap();
    assert_eq!((seen.state, seen.is_mutual), (NeighbourState::Full, true));
    assert_eq!(
        (world.sides[1].router(0).database().kept(), world.sides[1].set_up_times().samples()),
        (100, 1)
    );
}

#[test]
fn adjacencies_last_and_lsas_are_refreshed() {
    let mut world = World::new(1, CLEAN, [router(1, &[routes([16, 0, 0, 0], 50)]), router(2, &[])]);
    world.settle(SECOND);
    world.pass(Nanos::from_secs(7_200));
    let [west, east] = world.counts();
    assert_eq!((world.held(1), west.flaps, east.flaps), ((50, 1), 0, 0));
    // Every 30 minutes, with the router's own.
    assert_eq!(west.refreshed, 3 * 51 + 51 * u64::from(west.refreshed > 3 * 51));
    assert!((715..=730).contains(&west.hellos.1), "{}", west.hellos.1);
}

#[test]
fn a_schedule_is_kept() {
    VERSIONS.into_iter().for_each(check_schedule);
}

fn check_schedule(version: Version) {
    let schedule = |from, until| Schedule {
        from: Nanos::from_secs(from),
        until: Some(Nanos::from_secs(until)),
        ..Schedule::default()
    };
    let later = RouteRange { schedule: schedule(2, 9), ..routes([17, 0, 0, 0], 500) };
    let flap = Flap { every: Nanos::from_secs(20), down: Nanos::from_secs(6) };
    let flaps = RouteRange {
        schedule: Schedule { flap: Some(flap), ..Schedule::default() },
        ..routes([18, 0, 0, 0], 10)
    };
    let mut world =
        World::new(1, CLEAN, [of(version, router(1, &[later, flaps])), of(version, router(2, &[]))]);
    world.settle(SECOND);
    world.start();
    let epoch = world.now;
    for (at_ms, expected) in [
        (1_900, 10),
        (2_200, 510),
        (8_900, 510),
        (9_200, 10),
        (19_900, 10),
        (20_200, 0),
        (26_200, 10),
        (40_200, 0),
        (46_200, 10),
    ] {
        world.run(epoch + Nanos::from_millis(at_ms), |_| false);
        assert_eq!(world.held(1).0, expected, "after {at_ms} ms");
    }
    let [west, _] = world.counts();
    assert_eq!((west.advertised, west.withdrawn), (10 + 500 + 10 + 10, 500 + 10 + 10));
    assert_eq!(west.first_advertisement, Some(Nanos::from_secs(2)));
    assert_eq!(west.first_withdrawal, Some(Nanos::from_secs(9)));
}

#[test]
fn generated_routers_and_their_networks_come_and_go() {
    VERSIONS.into_iter().for_each(check_generated);
}

fn check_generated(version: Version) {
    let internal = RouteRange { kind: RouteKind::Internal, name: "in".into(), ..routes([20, 0, 0, 0], 24) };
    let topology =
        Topology { shape: Shape::Grid { columns: 4 }, routers: 12, cost: 5, first: [9, 0, 0, 1].into() };
    let west = RouterConfig { topology: Some(topology), ..router(1, &[internal]) };
    let mut world = World::new(1, CLEAN, [of(version, west), of(version, router(2, &[]))]);
    world.settle(SECOND);
    world.start();
    assert_eq!((world.held(1), world.counts()[0].advertised), ((0, 13), 24));
    let prefixes = |world: &World| {
        let known = world.sides[1].router(0).database().known(world.now);
        let of = |lsa: ospf::KnownLsa<'_>| match LsaContents3::read(lsa.header.key.kind, lsa.body) {
            Some(LsaContents3::IntraAreaPrefix(all)) if lsa.header.key.router.octets()[0] == 9 => all.len(),
            _ => 0,
        };
        known.map(of).sum::<usize>()
    };
    let stubs = |world: &World| {
        if version == Version::V3 {
            return prefixes(world);
        }
        let known = world.sides[1].router(0).database().known(world.now);
        let of = |body: &[u8]| body[4..].chunks(12).filter(|link| link[8] == 3 && link[0] == 20).count();
        known.filter(|lsa| lsa.header.key.kind == 1).map(|lsa| of(lsa.body)).sum::<usize>()
    };
    assert_eq!(stubs(&world), 24);
    world.pass(Nanos::from_secs(6));
    world.sides[0].set_range(0, 0, false);
    world.settle(SECOND);
    assert_eq!((stubs(&world), world.held(1), world.counts()[0].withdrawn), (0, (0, 13), 24));
    world.sides[0].set_range(0, 0, true);
    world.settle(Nanos::from_secs(7));
    assert_eq!((stubs(&world), world.counts()[0].advertised), (24, 48));
}

#[test]
fn routes_of_other_areas_have_summaries_and_internal_ones_are_links_of_the_router() {
    let other = |kind, first| RouteRange { kind, ..routes(first, 40) };
    let own = [other(RouteKind::InterArea, [30, 0, 0, 0]), other(RouteKind::Internal, [20, 0, 0, 0])];
    let mut world = World::new(1, CLEAN, [router(1, &own), router(2, &[])]);
    world.settle(SECOND);
    world.start();
    let known = |world: &World| {
        let database = world.sides[1].router(0).database();
        let contents = database.known(world.now).map(|lsa| LsaContents::read(lsa.header.key.kind, lsa.body));
        let (mut summaries, mut stubs) = (Vec::new(), 0);
        for contents in contents.flatten() {
            match contents {
                LsaContents::Summary(route) => summaries.push(route),
                LsaContents::Router(links) => {
                    stubs += links.iter().filter(|link| link.id.octets()[0] == 20).count()
                }
                _ => {}
            }
        }
        (summaries, stubs)
    };
    let route = LsaRoute { mask: [255, 255, 255, 0].into(), metric: 20, is_type_2: false };
    assert_eq!(known(&world), (vec![route; 40], 40));
    assert_eq!((world.counts()[0].advertised, world.sides[1].router(0).held().summary), (80, 40));
    world.pass(Nanos::from_secs(6));
    (0..2).for_each(|range| world.sides[0].set_range(0, range, false));
    world.settle(Nanos::from_secs(2));
    assert_eq!((known(&world), world.counts()[0].withdrawn), ((Vec::new(), 0), 80));
    (0..2).for_each(|range| world.sides[0].set_range(0, range, true));
    world.settle(Nanos::from_secs(7));
    assert_eq!((known(&world).1, world.counts()[0].advertised), (40, 160));
}

#[test]
fn digests_are_of_one_key_and_never_go_back() {
    let by = |id, key: [u8; 16]| Authentication::Md5 { id, key };
    let with =
        |side, authentication, routes: &[RouteRange]| RouterConfig { authentication, ..router(side, routes) };
    let own = [routes([16, 0, 0, 0], 1_000)];
    let right = by(7, *b"sixteen letters.");
    let mut world = World::new(1, CLEAN, [with(1, right, &own), with(2, right, &[])]);
    world.settle(SECOND);
    assert_eq!((world.held(1), world.counts()[1].mismatched), ((1_000, 1), 0));
    for wrong in [by(8, *b"sixteen letters."), by(7, *b"fifteen letters."), Authentication::None] {
        let mut world = World::new(1, CLEAN, [with(1, right, &own), with(2, wrong, &[])]);
        world.pass(Nanos::from_secs(20));
        let why = world.sides[0].router(0).failure();
        assert!(matches!(why, Some(Failure::Authentication { expected: 2, .. })), "{why:?}");
        assert_eq!(world.sides[0].up() + world.sides[1].up(), 0);
    }
    // What was overheard says nothing later.
    let before = world.counts()[1].mismatched;
    let overheard = world.last[0].clone();
    world.pass(Nanos::from_secs(15));
    let now = world.now;
    assert!(world.sides[1].take(now, &overheard));
    assert_eq!((world.counts()[1].mismatched, world.sides[1].up()), (before + 1, 1));
}

#[test]
fn the_mtu_of_a_neighbour_may_not_matter() {
    let large = RouterConfig { mtu: Some(9_000), ..router(2, &[]) };
    for any_mtu in [false, true] {
        let mut world = World::new(1, CLEAN, [RouterConfig { any_mtu, ..router(1, &[]) }, large.clone()]);
        world.pass(Nanos::from_secs(10));
        assert_eq!(world.sides[0].up(), usize::from(any_mtu));
        let is_mtu = matches!(world.sides[0].router(0).failure(), Some(Failure::Mtu { .. }));
        assert_eq!(is_mtu, !any_mtu);
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let base = || router(2, &[]);
    let from = IpAddr::from([10, 0, 0, 2]);
    let cases = [
        (
            RouterConfig { area: [0, 0, 0, 1].into(), ..base() },
            Failure::Area { from, is: [0, 0, 0, 1].into(), expected: [0; 4].into() },
        ),
        (RouterConfig { hello_s: 5, ..base() }, Failure::HelloInterval { from, is: 5, expected: 10 }),
        (RouterConfig { dead_s: 20, ..base() }, Failure::DeadInterval { from, is: 20, expected: 40 }),
        (RouterConfig { id: [1; 4].into(), ..base() }, Failure::SameId(from)),
        (
            RouterConfig { authentication: Authentication::Simple(*b"tideless"), ..base() },
            Failure::Authentication { from, is: 1, expected: 0 },
        ),
        (RouterConfig { mtu: Some(9_000), ..base() }, Failure::Mtu { from, is: 9_000, expected: 1_500 }),
        (RouterConfig { mtu: Some(1_400), ..base() }, Failure::Mtu { from, is: 1_400, expected: 1_500 }),
    ];
    for (east, expected) in cases {
        let mut world = World::new(1, CLEAN, [router(1, &[]), east]);
        world.pass(Nanos::from_secs(60));
        assert_eq!((world.sides[0].router(0).failure(), world.sides[0].up()), (Some(expected), 0));
        assert!(expected.to_string().starts_with("10.0.0.2 "), "{expected}");
    }
    let ring = Topology { shape: Shape::Ring, routers: 5, cost: 5, first: base().id };
    let mut world = World::new(1, CLEAN, [RouterConfig { topology: Some(ring), ..router(1, &[]) }, base()]);
    world.pass(Nanos::from_secs(60));
    assert_eq!(world.sides[0].router(0).failure(), Some(Failure::GeneratedId(from)));
    let broadcast = |side| RouterConfig { network: NetworkType::Broadcast, ..router(side, &[]) };
    let mut world = World::new(1, CLEAN, [broadcast(1), broadcast(2)]);
    world.pass(Nanos::from_secs(60));
    assert_eq!(world.sides[0].router(0).failure(), Some(Failure::NoDesignated(from)));
    let mut world = World::new(1, CLEAN, [broadcast(1), RouterConfig { prefix_len: 16, ..broadcast(2) }]);
    world.pass(Nanos::from_secs(60));
    assert!(matches!(world.sides[0].router(0).failure(), Some(Failure::Mask { .. })));
    let mut world = World::new(1, CLEAN, [router(1, &[]), router(2, &[])]);
    world.is_cut = true;
    world.pass(Nanos::from_secs(60));
    assert_eq!(world.sides[0].router(0).failure(), Some(Failure::Nobody));
}

#[test]
fn a_neighbour_that_falls_silent_is_found_out_and_comes_back() {
    let mut world = World::new(1, CLEAN, [router(1, &[routes([16, 0, 0, 0], 300)]), router(2, &[])]);
    world.settle(SECOND);
    world.is_cut = true;
    world.pass(Nanos::from_secs(29));
    assert_eq!(world.sides[0].up(), 1, "not before the dead interval");
    world.pass(Nanos::from_secs(12));
    let [west, east] = world.counts();
    assert_eq!((west.flaps, east.flaps, world.sides[0].up()), (1, 1, 0));
    assert_eq!(world.sides[0].first_loss(), Some((0, Failure::Silent([10, 0, 0, 2].into()))));
    world.is_cut = false;
    world.settle(Nanos::from_secs(20));
    assert_eq!((world.held(1), world.counts()[0].advertised), ((300, 1), 600));
}

#[test]
fn at_the_end_all_is_flushed() {
    VERSIONS.into_iter().for_each(check_end);
}

fn check_end(version: Version) {
    let internal = RouteRange { kind: RouteKind::Internal, ..routes([20, 0, 0, 0], 9) };
    let own = [routes([16, 0, 0, 0], 2_000), internal];
    let mut world = World::new(1, CLEAN, [of(version, router(1, &own)), of(version, router(2, &[]))]);
    world.settle(SECOND);
    let now = world.now;
    world.sides[0].shut(now);
    let until = world.now + Nanos::from_secs(3);
    assert!(world.run(until, |world| world.sides[0].is_over()));
    world.pass(Nanos::from_millis(10));
    let [west, east] = world.counts();
    assert_eq!((world.sides[1].up(), west.flaps, east.flaps), (0, 0, 1));
    assert!(east.received_flushed >= 2_001, "{east:?}");
    assert_eq!(world.held(1), (0, 0), "no LSA is left");
    assert_eq!(world.sides[1].router(0).neighbour().unwrap().state, NeighbourState::Init);
}

#[test]
fn routes_of_all_types_come_and_go_in_ospfv3() {
    let other = |kind, first, tag| RouteRange { kind, tag, ..routes(first, 40) };
    let own = [
        other(RouteKind::External1, [16, 0, 0, 0], 7),
        other(RouteKind::InterArea, [30, 0, 0, 0], 0),
        other(RouteKind::External2, [17, 0, 0, 0], 0),
        other(RouteKind::Internal, [20, 0, 0, 0], 0),
    ];
    let [west, east] = [router(1, &own), router(2, &[])].map(|one| of(Version::V3, one));
    let mut world = World::new(1, CLEAN, [west, RouterConfig { keep: 1_000, ..east }]);
    world.settle(SECOND);
    world.start();
    let known = |world: &World| {
        let known = world.sides[1].router(0).database().known(world.now);
        let contents = known.filter_map(|lsa| LsaContents3::read(lsa.header.key.kind, lsa.body));
        let mut all = [0; 5];
        for contents in contents {
            match contents {
                LsaContents3::External(route) => {
                    all[usize::from(route.is_type_2)] += 1;
                    assert_eq!(route.tag, (!route.is_type_2).then_some(7));
                }
                LsaContents3::InterAreaPrefix(_, 20) => all[2] += 1,
                LsaContents3::IntraAreaPrefix(prefixes) => all[3] += prefixes.len(),
                LsaContents3::Link(ip, prefixes) => {
                    assert_eq!((ip.to_string(), prefixes.len()), ("fe80::1".to_owned(), 1));
                    all[4] += 1;
                }
                _ => {}
            }
        }
        all
    };
    // The prefix of the link is there as well.
    assert_eq!((known(&world), world.counts()[0].advertised), ([40, 40, 40, 41, 1], 160));
    let held = *world.sides[1].router(0).held();
    assert_eq!((held.link, held.intra_area_prefix, held.inter_area_prefix, held.external), (1, 1, 40, 80));
    world.pass(Nanos::from_secs(6));
    (0..4).for_each(|range| world.sides[0].set_range(0, range, false));
    world.settle(Nanos::from_secs(2));
    assert_eq!((known(&world), world.counts()[0].withdrawn), ([0, 0, 0, 1, 1], 160));
    (0..4).for_each(|range| world.sides[0].set_range(0, range, true));
    world.settle(Nanos::from_secs(7));
    assert_eq!(known(&world), [40, 40, 40, 41, 1]);
}

#[test]
fn what_does_not_fit_is_named_in_ospfv3() {
    let base = || of(Version::V3, router(2, &[]));
    let from = IpAddr::from("fe80::2".parse::<Ipv6Addr>().unwrap());
    let cases = [
        (RouterConfig { instance: 3, ..base() }, Failure::Instance { from, is: 3, expected: 0 }),
        (
            RouterConfig { area: [0, 0, 0, 1].into(), ..base() },
            Failure::Area { from, is: [0, 0, 0, 1].into(), expected: [0; 4].into() },
        ),
        (RouterConfig { hello_s: 5, ..base() }, Failure::HelloInterval { from, is: 5, expected: 10 }),
        (RouterConfig { mtu: Some(9_000), ..base() }, Failure::Mtu { from, is: 9_000, expected: 1_500 }),
        (RouterConfig { mtu: Some(1_400), ..base() }, Failure::Mtu { from, is: 1_400, expected: 1_500 }),
        (router(2, &[]), Failure::Nobody),
    ];
    for (east, expected) in cases {
        let mut world = World::new(1, CLEAN, [of(Version::V3, router(1, &[])), east]);
        world.is_deaf = true;
        world.pass(Nanos::from_secs(60));
        assert_eq!((world.sides[0].router(0).failure(), world.sides[0].up()), (Some(expected), 0));
    }
    let broadcast =
        |side| RouterConfig { network: NetworkType::Broadcast, ..of(Version::V3, router(side, &[])) };
    let mut world = World::new(1, CLEAN, [broadcast(1), broadcast(2)]);
    world.pass(Nanos::from_secs(60));
    assert_eq!(world.sides[0].router(0).failure(), Some(Failure::NoDesignated(from)));
}

/// A frame with a packet of a side, of OSPFv2.
fn packet_of(side: u8, kind: u8, body: &[u8]) -> Vec<u8> {
    let mut packet = vec![2, kind];
    packet.extend((24 + body.len() as u16).to_be_bytes());
    packet.extend([side; 4]);
    packet.extend([0; 16]);
    packet.extend(body);
    let sum = wire::checksum::finish(wire::checksum::sum(&packet, 0));
    packet[12..14].copy_from_slice(&sum.to_be_bytes());
    let mut frame = vec![1, 0, 0x5e, 0, 0, 5, 2, 0, 0, 0, 0, side, 8, 0, 0x45, 0xc0];
    frame.extend((20 + packet.len() as u16).to_be_bytes());
    frame.extend([0, 0, 0, 0, 1, 89, 0, 0, 10, 0, 0, side, 224, 0, 0, 5]);
    frame.extend(packet);
    frame
}

/// An external LSA of the west for 16.0.0.0/24.
fn external(age: u16, sequence: i32, metric: u32) -> Vec<u8> {
    let mut lsa = age.to_be_bytes().to_vec();
    lsa.extend([2, 5, 16, 0, 0, 0, 1, 1, 1, 1]);
    lsa.extend(sequence.to_be_bytes());
    lsa.extend([0, 0, 0, 36, 255, 255, 255, 0]);
    lsa.extend((1 << 31 | metric).to_be_bytes());
    lsa.extend([0; 8]);
    let checksum = linkstate::fletcher(&lsa[2..], 14);
    lsa[16..18].copy_from_slice(&checksum.to_be_bytes());
    lsa
}

/// The sequence number and the metric of the west's only external LSA in the east.
fn external_in_the_east(world: &World) -> Option<(i32, u32)> {
    let mut known = world.sides[1].router(0).database().known(world.now);
    known.find_map(|lsa| match LsaContents::read(lsa.header.key.kind, lsa.body) {
        Some(LsaContents::External(route, _)) => Some((lsa.header.sequence, route.metric)),
        _ => None,
    })
}

#[test]
fn the_last_sequence_number_is_flushed_first() {
    for metric in 1..19 {
        let mut world = World::new(1, CLEAN, [router(1, &[routes([16, 0, 0, 0], 1)]), router(2, &[])]);
        world.settle(SECOND);
        world.pass(Nanos::from_secs(10));
        let update = [&1u32.to_be_bytes()[..], &external(1, i32::MAX, metric)].concat();
        let now = world.now;
        assert!(world.sides[1].take(now, &packet_of(1, 4, &update)));
        assert_eq!(external_in_the_east(&world), Some((i32::MAX, metric)));
        assert!(world.sides[0].take(now, &packet_of(2, 4, &update)));
        world.pass(Nanos::from_secs(30));
        world.settle(SECOND);
        let after = external_in_the_east(&world);
        assert!(after.is_some_and(|(sequence, metric)| sequence < 0 && metric == 20), "{metric}: {after:?}");
        assert_eq!((world.counts()[0].outdated, world.counts()[0].flaps), (1, 0));
        // A neighbour that has flushed it may still have it, and take nothing else until it has not.
        let update = [&1u32.to_be_bytes()[..], &external(3_600, i32::MAX, metric)].concat();
        let now = world.now;
        assert!(world.sides[0].take(now, &packet_of(2, 4, &update)));
        world.settle(Nanos::from_secs(10));
        let again = external_in_the_east(&world);
        assert_eq!(again, after.map(|(sequence, metric)| (sequence + 1, metric)));
    }
}

#[test]
fn a_newer_instance_of_an_own_lsa_is_followed_by_one_that_is_newer_still() {
    let mut world = World::new(1, CLEAN, [router(1, &[routes([16, 0, 0, 0], 1)]), router(2, &[])]);
    world.settle(SECOND);
    world.pass(Nanos::from_secs(10));
    let update = [&1u32.to_be_bytes()[..], &external(1, 77, 5)].concat();
    let now = world.now;
    (0..2).for_each(|to| assert!(world.sides[to].take(now, &packet_of(2 - to as u8, 4, &update))));
    assert_eq!(external_in_the_east(&world), Some((77, 5)));
    world.settle(Nanos::from_secs(10));
    assert_eq!(external_in_the_east(&world), Some((78, 20)));
}

#[test]
fn requests_for_lsas_that_are_not_there_begin_the_exchange_anew() {
    let mut world = World::new(1, CLEAN, [router(1, &[routes([16, 0, 0, 0], 1)]), router(2, &[])]);
    world.settle(SECOND);
    let now = world.now;
    let there = [0, 0, 0, 5, 16, 0, 0, 0, 1, 1, 1, 1];
    assert!(world.sides[0].take(now, &packet_of(2, 3, &there)));
    assert_eq!((world.sides[0].up(), world.counts()[0].flaps), (1, 0));
    let missing = [0, 0, 0, 5, 99, 0, 0, 0, 1, 1, 1, 1];
    assert!(world.sides[0].take(now, &packet_of(2, 3, &missing)));
    assert_eq!(world.sides[0].first_loss(), Some((0, Failure::BadRequest([10, 0, 0, 2].into()))));
    assert_eq!(world.sides[0].router(0).neighbour().map(|one| one.state), Some(NeighbourState::ExStart));
    world.settle(Nanos::from_secs(10));
}

#[test]
fn descriptions_out_of_sequence_begin_the_exchange_anew() {
    let description = |mtu: u16, options: u8, flags: u8, sequence: u32| {
        [&mtu.to_be_bytes()[..], &[options, flags], &sequence.to_be_bytes()].concat()
    };
    let cases = [
        description(1_500, 2, 1, 0xdead_beef),
        description(1_500, 2, 7, 0xdead_beef),
        description(1_500, 0x42, 0, 7),
    ];
    for body in cases {
        let mut world = World::new(1, CLEAN, [router(1, &[]), router(2, &[])]);
        world.settle(SECOND);
        let now = world.now;
        assert!(world.sides[0].take(now, &packet_of(2, 2, &body)));
        assert_eq!(world.sides[0].first_loss(), Some((0, Failure::Restarted([10, 0, 0, 2].into()))));
        world.settle(Nanos::from_secs(10));
    }
    let mut world = World::new(1, CLEAN, [router(1, &[]), router(2, &[])]);
    world.settle(SECOND);
    let now = world.now;
    let too_large = description(9_000, 2, 7, 1);
    assert!(world.sides[0].take(now, &packet_of(2, 2, &too_large)));
    assert_eq!((world.sides[0].up(), world.counts()[0].flaps), (1, 0), "the MTU is checked first");
}

#[test]
fn packets_of_unknown_routers_and_to_other_groups_change_nothing() {
    let mut world = World::new(1, CLEAN, [router(1, &[]), router(2, &[])]);
    world.settle(SECOND);
    let description = [5, 220, 2, 7, 0, 0, 0, 9];
    let mut to_designated = packet_of(2, 2, &description);
    to_designated[33] = 6;
    let mut other_version = packet_of(2, 2, &description);
    other_version[34] = 3;
    let before = world.counts()[0];
    for frame in [packet_of(7, 2, &description), to_designated, other_version] {
        let now = world.now;
        assert!(world.sides[0].take(now, &frame));
        let after = world.counts()[0];
        let malformed = after.malformed;
        assert_eq!(OspfCounts { malformed, ..before }, after);
    }
    assert_eq!((world.counts()[0].malformed, world.sides[0].up()), (1, 1));
}

#[test]
fn what_comes_twice_is_acknowledged_twice() {
    let mut world = World::new(1, CLEAN, [router(1, &[]), router(2, &[routes([16, 0, 0, 0], 1)])]);
    world.settle(SECOND);
    world.pass(SECOND);
    let mut lsa = external(1, 5, 20);
    lsa[8..12].fill(9);
    let checksum = {
        lsa[16..18].fill(0);
        linkstate::fletcher(&lsa[2..], 14)
    };
    lsa[16..18].copy_from_slice(&checksum.to_be_bytes());
    let mut take = |lsa: &[u8]| {
        let update = [&1u32.to_be_bytes()[..], lsa].concat();
        let (now, before) = (world.now, world.counts()[0]);
        assert!(world.sides[0].take(now, &packet_of(2, 4, &update)));
        let at_once = world.counts()[0].acknowledged.0 - before.acknowledged.0;
        world.pass(SECOND);
        let all = world.counts()[0].acknowledged.0 - before.acknowledged.0;
        (at_once, all, world.held(0).0)
    };
    assert_eq!(take(&lsa), (0, 1, 2), "what is new is acknowledged with others");
    assert_eq!(take(&lsa), (1, 1, 2), "what is known is acknowledged at once");
    let mut spoilt = lsa.clone();
    spoilt[30] ^= 1;
    assert_eq!(take(&spoilt), (0, 0, 2), "a wrong checksum is not acknowledged");
    let mut unknown = lsa.clone();
    unknown[3] = 6;
    unknown[16..18].fill(0);
    let checksum = linkstate::fletcher(&unknown[2..], 14);
    unknown[16..18].copy_from_slice(&checksum.to_be_bytes());
    assert_eq!(take(&unknown), (0, 0, 2), "nor is an unknown type");
    let mut flushed = lsa.clone();
    flushed[..2].copy_from_slice(&3_600u16.to_be_bytes());
    assert_eq!(take(&flushed), (0, 1, 1), "a flush removes it");
    assert_eq!(take(&flushed), (1, 1, 1), "a flush of what is not there is acknowledged at once");
}

/// The Database Description packets that each side sends within `within`.
fn descriptions_of(world: &mut World, within: Nanos) -> [Vec<Vec<u8>>; 2] {
    let until = world.now + within;
    let mut seen = BTreeMap::new();
    while world.now < until {
        let next = world.now + Nanos::from_micros(50);
        world.run(next, |_| false);
        let descriptions = world.air.iter().filter(|(_, (_, frame))| frame[35] == 2);
        seen.extend(descriptions.map(|(key, frame)| (*key, frame.clone())));
    }
    let of =
        |side: usize| seen.values().filter(move |(to, _)| *to == 1 - side).map(|(_, frame)| frame.clone());
    [of(0).collect(), of(1).collect()]
}

#[test]
fn a_description_that_comes_twice_is_answered_again_by_the_slave() {
    let own = [routes([16, 0, 0, 0], 200)];
    let mut world = World::new(1, CLEAN, [router(1, &own), router(2, &[])]);
    let [west, east] = descriptions_of(&mut world, Nanos::from_millis(500));
    world.settle(SECOND);
    let flags = |frame: &Vec<u8>| frame[61];
    // Both claim to be the master, with no headers; the east has the higher identifier.
    assert_eq!((flags(&west[0]), flags(&east[0]), west[0].len(), east[0].len()), (7, 7, 66, 66));
    assert!(west[1..].iter().all(|frame| flags(frame) & 5 == 0), "the west follows");
    assert!(east[1..].iter().all(|frame| flags(frame) & 5 == 1), "the east leads");
    let number = |frame: &Vec<u8>| u32::from_be_bytes(*frame[62..].first_chunk().unwrap());
    assert!(west[1..].iter().all(|frame| east.iter().any(|other| number(other) == number(frame))));
    assert!(east[1..].windows(2).all(|two| number(&two[1]) == number(&two[0]).wrapping_add(1)));
    let (now, before) = (world.now, world.counts());
    assert!(
        world.sides[0].take(now, &east[east.len() - 1]) && world.sides[1].take(now, &west[west.len() - 1])
    );
    world.pass(Nanos::from_millis(10));
    let after = world.counts();
    let sent = |side: usize| after[side].descriptions.0 - before[side].descriptions.0;
    assert_eq!((sent(0), sent(1), after[0].flaps, after[1].flaps), (1, 0, 0, 0));
}

#[test]
fn instances_of_an_lsa_are_five_seconds_apart() {
    let mut world = World::new(1, CLEAN, [router(1, &[routes([16, 0, 0, 0], 1)]), router(2, &[])]);
    world.settle(SECOND);
    let known = world.sides[1].router(0).database().known(world.now);
    assert!(known.into_iter().all(|lsa| lsa.header.age == 1), "the delay of a transmission");
    world.pass(Nanos::from_secs(10));
    let from = world.now;
    let held_at = |world: &mut World, at_ms: u64| {
        world.run(from + Nanos::from_millis(at_ms), |_| false);
        world.held(1).0
    };
    world.sides[0].set_range(0, 0, false);
    assert_eq!(held_at(&mut world, 100), 0);
    world.sides[0].set_range(0, 0, true);
    // No router takes two instances within a second.
    assert_eq!([900, 1_100].map(|at_ms| held_at(&mut world, at_ms)), [0, 1]);
    world.sides[0].set_range(0, 0, false);
    assert_eq!([1_900, 2_100].map(|at_ms| held_at(&mut world, at_ms)), [1, 0]);
    world.sides[0].set_range(0, 0, true);
    assert_eq!([5_900, 6_100].map(|at_ms| held_at(&mut world, at_ms)), [0, 1]);
    assert_eq!(external_in_the_east(&world).map(|(sequence, _)| sequence), Some(i32::MIN + 3));
}

#[test]
fn hellos_of_other_kinds_of_networks_and_areas_are_refused() {
    let from = IpAddr::from([10, 0, 0, 2]);
    let mut stub = hello_of(2, 0, [0; 4], [0; 4]);
    stub[14 + 20 + 24 + 6] = 0;
    stub[46..48].fill(0);
    let sum = wire::checksum::finish(wire::checksum::sum(&stub[34..], 0));
    stub[46..48].copy_from_slice(&sum.to_be_bytes());
    let cases =
        [(stub, Failure::StubArea(from)), (hello_of(2, 1, [10, 0, 0, 2], [0; 4]), Failure::Elects(from))];
    for (hello, expected) in cases {
        let mut world = World::new(1, CLEAN, [router(1, &[]), router(2, &[])]);
        let now = world.now;
        assert!(world.sides[0].take(now, &hello));
        assert_eq!((world.sides[0].router(0).failure(), world.counts()[0].mismatched), (Some(expected), 1));
    }
    // The mask does not matter between two routers.
    let mut world = World::new(1, CLEAN, [RouterConfig { prefix_len: 30, ..router(1, &[]) }, router(2, &[])]);
    world.settle(SECOND);
}

/// A Hello of a side on a broadcast network that lists the other.
fn hello_of(side: u8, priority: u8, designated: [u8; 4], backup: [u8; 4]) -> Vec<u8> {
    let mut body = vec![255, 255, 255, 0, 0, 10, 2, priority, 0, 0, 0, 40];
    body.extend(designated);
    body.extend(backup);
    body.extend([1; 4]);
    packet_of(side, 1, &body)
}

#[test]
fn lsas_that_a_neighbour_describes_are_requested_if_they_are_lacking() {
    let mut world = World::new(1, CLEAN, [router(1, &[]), router(2, &[])]);
    world.is_cut = true;
    let header = |age: u16, router: u8, number: u8, sequence: u8| {
        let id = [2, 5, 16, 0, number, 0, router, router, router, router];
        [&age.to_be_bytes()[..], &id, &[0x80, 0, 0, sequence, 0, 0, 0, 36]].concat()
    };
    let described = |flags: u8, sequence: u8, headers: &[Vec<u8>]| {
        packet_of(2, 2, &[&[5, 220, 2, flags, 0, 0, 0, sequence][..], &headers.concat()].concat())
    };
    let from_east = [
        hello_of(2, 1, [0; 4], [0; 4]),
        described(7, 1, &[]),
        // One that is not there, one that is flushed, and two instances of a third.
        described(3, 2, &[header(0, 9, 1, 1), header(3_600, 9, 2, 1), header(0, 9, 3, 1)]),
        // Two that call the west their router: it flushes the one that lives.
        described(1, 3, &[header(0, 9, 3, 2), header(0, 1, 4, 1), header(3_600, 1, 5, 1)]),
    ];
    let (now, mut sent) = (world.now, Vec::new());
    for frame in from_east {
        assert!(world.sides[0].take(now, &frame));
        world.sides[0].poll(now, &mut sent);
    }
    let requests: Vec<_> = sent.iter().filter(|frame| frame[35] == 3).collect();
    assert_eq!(requests.len(), 1);
    let wanted: Vec<_> = requests[0][58..].chunks(12).map(|key| (key[6], key[8])).collect();
    assert_eq!(wanted, [(1, 9), (3, 9), (4, 1)]);
}

#[test]
fn the_designated_routers_are_those_that_say_so() {
    let west = RouterConfig { network: NetworkType::Broadcast, ..router(1, &[]) };
    let mut world = World::new(1, CLEAN, [west, router(2, &[])]);
    world.is_cut = true;
    let ip = |side| [10, 0, 0, side];
    let mut hear = |side, priority, designated, backup| {
        let now = world.now;
        assert!(world.sides[0].take(now, &hello_of(side, priority, designated, backup)));
        let (designated, backup) = world.sides[0].router(0).designated();
        (designated.octets()[3], backup.octets()[3])
    };
    assert_eq!(hear(2, 1, [0; 4], [0; 4]), (0, 0), "it waits");
    assert_eq!(hear(2, 1, ip(2), [0; 4]), (2, 0));
    assert_eq!(hear(3, 1, ip(2), ip(3)), (2, 3));
    assert_eq!(hear(4, 9, ip(2), ip(3)), (2, 3), "a higher priority changes nothing");
    assert_eq!(hear(5, 1, ip(2), ip(5)), (2, 5), "of two with the same priority, the higher identifier");
    assert_eq!(hear(5, 0, ip(2), ip(5)), (2, 3), "none with priority 0");
    assert_eq!(hear(4, 9, ip(4), ip(3)), (4, 3), "of two that say so, the higher priority");
    assert_eq!(hear(3, 1, ip(3), [0; 4]), (4, 0), "a designated router is no backup");
    let now = world.now;
    let mut frames = Vec::new();
    world.sides[0].poll(now, &mut frames);
    let descriptions = |to: u8| {
        let is_it = |frame: &&Vec<u8>| frame[35] == 2 && frame[30..34] == [10, 0, 0, to];
        frames.iter().filter(is_it).count()
    };
    assert!(descriptions(4) > 0 && descriptions(2) > 0, "each that was designated was described to");
    assert_eq!(world.sides[0].router(0).neighbour().map(|one| (one.ip, one.state)), {
        Some((ip(4).into(), NeighbourState::ExStart))
    });
    let other = RouterConfig {
        network: NetworkType::Broadcast,
        local: IpAddr::from([10, 0, 1, 1]),
        ..router(1, &[])
    };
    let mut world = World::new(1, CLEAN, [other, router(2, &[])]);
    world.is_cut = true;
    let now = world.now;
    assert!(world.sides[0].take(now, &hello_of(2, 1, ip(2), [0; 4])));
    assert_eq!(world.sides[0].router(0).failure(), Some(Failure::OtherNetwork(ip(2).into())));
}

#[test]
fn hellos_stay_on_the_link_and_want_no_designation() {
    let mut world = World::new(1, CLEAN, [router(1, &[]), router(2, &[])]);
    let now = world.now;
    let mut frames = Vec::new();
    world.sides[0].poll(now, &mut frames);
    let hello = &frames[0];
    assert_eq!((hello[15], hello[22], hello[23]), (0xc0, 1, 89), "precedence, TTL and protocol");
    assert_eq!((&hello[26..30], &hello[30..34]), (&[10, 0, 0, 1][..], &[224, 0, 0, 5][..]));
    assert_eq!(
        (&hello[62..64], hello[64], hello[65]),
        (&[0, 10][..], 2, 0),
        "interval, options and priority"
    );
}

#[test]
fn routers_go_down_and_up_by_command() {
    let mut world = World::new(1, CLEAN, [router(1, &[routes([16, 0, 0, 0], 20)]), router(2, &[])]);
    world.settle(SECOND);
    let now = world.now;
    assert!(world.sides[0].set_router(now, 0, false) && !world.sides[0].set_router(now, 0, false));
    world.pass(SECOND);
    assert_eq!((world.sides[0].up(), world.sides[1].up(), world.counts()[0].flaps), (0, 0, 0));
    world.pass(Nanos::from_secs(100));
    let now = world.now;
    assert!(world.sides[0].set_router(now, 0, true));
    world.settle(Nanos::from_secs(20));
    assert_eq!((world.held(1).0, world.counts()[0].advertised), (20, 40));
}

#[test]
fn hundreds_of_thousands_of_routes_are_told() {
    let mut world = World::new(1, CLEAN, [router(1, &[routes([16, 0, 0, 0], 300_000)]), router(2, &[])]);
    world.settle(Nanos::from_secs(60));
    assert_eq!(world.held(1), (300_000, 1));
    assert_eq!(world.sides[1].counts().left_out, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// Regardless of loss, copies and jitter, both sides end up with what the other advertises, and only that.
    #[test]
    fn both_sides_hold_the_same(
        seed: u64,
        loss_percent in 0u64..25,
        copies_percent in 0u64..10,
        jitter_us in 0u64..20_000,
        (west, east) in (0u32..700, 0u32..300),
        routers in 0u32..20,
        is_v3: bool,
    ) {
        let version = VERSIONS[usize::from(is_v3)];
        let link = Link {
            loss_percent,
            copies_percent,
            delay: Nanos::from_micros(500),
            jitter: Nanos::from_micros(jitter_us),
        };
        let topology = (routers > 0).then_some(Topology {
            shape: Shape::Tree { children: 3 },
            routers,
            cost: 5,
            first: [9, 0, 0, 1].into(),
        });
        let later = Schedule { from: Nanos::from_secs(30), ..Schedule::default() };
        let gone = Schedule { until: Some(Nanos::from_secs(20)), ..Schedule::default() };
        let own = [
            routes([16, 0, 0, 0], west),
            RouteRange { schedule: later, ..routes([20, 0, 0, 0], 50) },
            RouteRange { schedule: gone, ..routes([24, 0, 0, 0], 60) },
            RouteRange { kind: RouteKind::Internal, ..routes([28, 0, 0, 0], 20) },
        ];
        let west_config = RouterConfig { topology, ..router(1, &own) };
        let east_config = of(version, router(2, &[routes([40, 0, 0, 0], east)]));
        let mut world = World::new(seed, link, [of(version, west_config), east_config]);
        // Hello packets may be lost four times in a row: then there is a new adjacency.
        world.settle(Nanos::from_secs(600));
        prop_assert_eq!(world.held(1), (u64::from(west + 60), 1 + u64::from(routers)));
        prop_assert_eq!(world.held(0), (u64::from(east), 1));
        world.start();
        world.pass(Nanos::from_secs(120));
        world.settle(Nanos::from_secs(600));
        prop_assert_eq!(world.held(1), (u64::from(west + 50), 1 + u64::from(routers)));
    }
}
