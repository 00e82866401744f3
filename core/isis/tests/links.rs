//! Two sides of routers with a link between them, on virtual time.

#[path = "../../linkstate/tests/common/mod.rs"]
mod common;

use common::{CLEAN, Link, SECOND};
use isis::{
    Area, Failure, LevelCounts, Levels, LspPart, NeighbourState, NetworkType, Password, RouteKind,
    RouteRange, Router, RouterConfig, Shape, SystemId, Topology, parts,
};
use linkstate::Router as _;
use proptest::prelude::*;
use std::collections::BTreeMap;
use units::{Flap, Nanos, Schedule};

type World = common::World<Router>;

fn routes(first: &str, prefix_len: u8, count: u32) -> RouteRange {
    RouteRange {
        name: String::new(),
        kind: RouteKind::Internal,
        first: first.parse().unwrap(),
        prefix_len,
        count,
        step: 1,
        same: false,
        metric: 20,
        down: false,
        schedule: Schedule::default(),
    }
}

fn area(text: &str) -> Area {
    text.parse().unwrap()
}

fn router(side: u8, routes: &[RouteRange]) -> RouterConfig {
    RouterConfig {
        name: String::new(),
        host: 0,
        local: [10, 0, 0, side].into(),
        prefix_len: 24,
        ipv6: None,
        link_local: None,
        system: SystemId([side; 6]),
        area: area("49.0001"),
        levels: Levels::Two,
        network: NetworkType::PointToPoint,
        priority: 0,
        hello_s: 3,
        hold_s: 30,
        metric: 10,
        mtu: None,
        padding: true,
        hostname: "edge".to_owned(),
        overload: false,
        attached: false,
        te_router_id: Some([192, 0, 2, 9].into()),
        lifetime_s: isis::MAX_AGE_S,
        refresh_s: isis::REFRESH_S,
        password: None,
        lsp_password: None,
        number: 0,
        routes: routes.into(),
        topology: None,
        keep: 100,
    }
}

impl World {
    fn new(seed: u64, link: Link, routers: [RouterConfig; 2]) -> Self {
        Self::between(seed, link, routers, isis::may_concern)
    }

    /// Runs until `until`; `watch` sees what each side sends.
    fn run_watched(&mut self, until: Nanos, mut watch: impl FnMut(usize, &[u8])) {
        let mut known = self.sent;
        self.run(until, |world| {
            world
                .air
                .iter()
                .filter(|((_, number), _)| *number > known)
                .for_each(|(_, (to, frame))| watch(1 - to, frame));
            known = world.sent;
            false
        });
    }

    /// Prefixes of a side that the other holds.
    fn held(&self, side: usize) -> usize {
        let databases = self.sides[side].router(0).databases();
        databases.flat_map(|(_, database)| database.known(self.now)).map(|lsp| prefixes(lsp.body)).sum()
    }

    fn lsps(&self, side: usize) -> LevelCounts {
        self.sides[side].router(0).held()
    }
}

/// Prefixes in LSPs, without the link's.
fn prefixes(mut tlvs: &[u8]) -> usize {
    let mut all = 0;
    while let [kind, len, rest @ ..] = tlvs {
        let (mut value, behind) = rest.split_at((*len).into());
        while matches!(kind, 135 | 236) && !value.is_empty() {
            let (bits, header) = if *kind == 135 { (value[4] & 63, 5) } else { (value[5], 6) };
            let subs = *kind == 135 && value[4] & 64 != 0;
            let prefix = &value[header..header + usize::from(bits).div_ceil(8)];
            all += usize::from(prefix != [10, 0, 0]);
            value = &value[header + prefix.len()..];
            value = if subs { &value[1 + usize::from(value[0])..] } else { value };
        }
        tlvs = behind;
    }
    all
}

#[test]
fn adjacencies_come_up_and_routes_are_told() {
    let external = RouteRange { kind: RouteKind::External, ..routes("32.0.0.0", 25, 500) };
    let own = [routes("16.0.0.0", 24, 3_000), external, routes("2001:db8::", 48, 700)];
    let mut world = World::new(1, CLEAN, [router(1, &own), router(2, &[])]);
    world.settle(Nanos::from_secs(10));
    assert_eq!((world.held(1), world.held(0)), (4_200, 0));
    let [west, east] = world.counts();
    assert_eq!((west.advertised, west.up, west.flaps, west.retransmitted), (4_200, 1, 0, 0));
    assert_eq!((east.malformed, east.mismatched, east.left_out), (0, 0, 0));
    assert_eq!(world.lsps(1).all(), west.sent.all(), "each LSP is sent once");
    assert!(west.sent.all() < 35, "routes share LSPs: {west:?}");
    let seen = world.sides[1].router(0).neighbour().unwrap();
    assert_eq!(
        (seen.state, seen.area, world.sides[1].router(0).is_mutual()),
        (NeighbourState::Up, Some(area("49.0001")), true)
    );
    assert_eq!(world.sides[1].set_up_times().samples(), 1);
}

#[test]
fn both_levels_have_databases_of_their_own() {
    let both = |side| RouterConfig { levels: Levels::Both, ..router(side, &[routes("16.0.0.0", 24, 100)]) };
    let mut world = World::new(1, CLEAN, [both(1), both(2)]);
    world.settle(Nanos::from_secs(10));
    let each = |n| LevelCounts { level_1: n, level_2: n };
    assert_eq!((world.lsps(1), world.counts()[0].advertised), (each(2), 100));
    // One hello for both levels, sequence numbers PDUs for each.
    let [west, east] = world.counts();
    assert_eq!((west.hellos_at.0, east.hellos_at.1), (each(west.hellos.0), each(west.hellos.0)));
    assert_eq!((west.csnps.0, west.psnps.0), (east.csnps.1, east.psnps.1));
    assert!(west.csnps.0.level_1 > 0 && west.csnps.0 == each(west.csnps.0.level_1), "{west:?}");
    assert_eq!(world.sides[0].router(0).adjacencies(), each(1));
    let kept: Vec<LspPart<'_>> = {
        let databases = world.sides[1].router(0).databases();
        databases
            .flat_map(|(_, database)| database.known(world.now))
            .flat_map(|lsp| parts(lsp.body))
            .collect()
    };
    let routes: usize =
        kept.iter().map(|part| if let LspPart::Ipv4(all) = part { all.len() } else { 0 }).sum();
    // At each level, its hundred and the network of the link.
    assert_eq!(routes, 2 * 101);
    assert_eq!(kept.iter().filter(|part| **part == LspPart::Hostname(b"edge")).count(), 2);
}

#[test]
fn lsps_live_and_are_refreshed_as_configured() {
    let quick = RouterConfig { lifetime_s: 60, refresh_s: 20, ..router(1, &[routes("16.0.0.0", 24, 50)]) };
    let mut world = World::new(1, CLEAN, [quick, router(2, &[])]);
    world.settle(Nanos::from_secs(10));
    let lifetimes = |world: &World| -> Vec<u64> {
        let databases = world.sides[1].router(0).databases();
        databases.flat_map(|(_, database)| database.known(world.now)).map(|lsp| lsp.lifetime_s).collect()
    };
    assert!(lifetimes(&world).iter().all(|lifetime| (40..=60).contains(lifetime)), "{:?}", lifetimes(&world));
    world.pass(Nanos::from_secs(210));
    let [west, _] = world.counts();
    assert_eq!((world.held(1), west.refreshed), (50, 10 * 2));
    assert!(lifetimes(&world).iter().all(|lifetime| (40..=60).contains(lifetime)), "{:?}", lifetimes(&world));
}

#[test]
fn adjacencies_last_and_lsps_are_refreshed() {
    let mut world = World::new(1, CLEAN, [router(1, &[routes("16.0.0.0", 24, 50)]), router(2, &[])]);
    world.settle(Nanos::from_secs(10));
    world.pass(Nanos::from_secs(7_300));
    let [west, east] = world.counts();
    assert_eq!((world.held(1), west.flaps, east.flaps), (50, 0, 0));
    // Every 15 minutes, with the router's own.
    assert_eq!(west.refreshed, 8 * 2);
    assert!((2_400..=2_450).contains(&west.hellos.1), "{}", west.hellos.1);
}

#[test]
fn a_schedule_is_kept() {
    let schedule = |from, until| Schedule {
        from: Nanos::from_secs(from),
        until: Some(Nanos::from_secs(until)),
        ..Schedule::default()
    };
    let later = RouteRange { schedule: schedule(2, 9), ..routes("17.0.0.0", 24, 500) };
    let flap = Flap { every: Nanos::from_secs(20), down: Nanos::from_secs(6) };
    let flaps = RouteRange {
        schedule: Schedule { flap: Some(flap), ..Schedule::default() },
        ..routes("18.0.0.0", 24, 10)
    };
    let mut world = World::new(1, CLEAN, [router(1, &[later, flaps]), router(2, &[])]);
    world.settle(Nanos::from_secs(10));
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
        assert_eq!(world.held(1), expected, "after {at_ms} ms");
    }
    let [west, _] = world.counts();
    assert_eq!((west.advertised, west.withdrawn), (10 + 500 + 10 + 10, 500 + 10 + 10));
    assert_eq!(west.first_advertisement, Some(Nanos::from_secs(2)));
    assert_eq!(west.first_withdrawal, Some(Nanos::from_secs(9)));
}

#[test]
fn generated_routers_and_their_networks_come_and_go() {
    let inside = RouteRange { kind: RouteKind::Generated, ..routes("20.0.0.0", 24, 24) };
    let topology = Topology {
        shape: Shape::Grid { columns: 4 },
        routers: 12,
        metric: 5,
        first: SystemId([9, 0, 0, 0, 0, 1]),
    };
    let west = RouterConfig { topology: Some(topology), ..router(1, &[inside]) };
    let mut world = World::new(1, CLEAN, [west, router(2, &[])]);
    world.settle(Nanos::from_secs(10));
    world.start();
    assert_eq!((world.held(1), world.lsps(1).level_2, world.counts()[0].advertised), (24, 13, 24));
    world.pass(Nanos::from_secs(6));
    world.sides[0].set_range(0, 0, false);
    world.settle(Nanos::from_secs(2));
    assert_eq!((world.held(1), world.lsps(1).level_2, world.counts()[0].withdrawn), (0, 13, 24));
    world.sides[0].set_range(0, 0, true);
    world.settle(Nanos::from_secs(7));
    assert_eq!((world.held(1), world.counts()[0].advertised), (24, 48));
}

#[test]
fn what_does_not_fit_is_named() {
    let base = || router(2, &[]);
    let one = || RouterConfig { levels: Levels::One, ..base() };
    let ring = Topology { shape: Shape::Ring, routers: 5, metric: 5, first: SystemId([2; 6]) };
    let password = |text: &str, is_digest| Some(Password { text: text.to_owned(), is_digest });
    let cases = [
        (
            RouterConfig { levels: Levels::One, ..router(1, &[]) },
            RouterConfig { area: area("49.0002"), ..one() },
            "is in area 49.0002, but 'area' is 49.0001",
        ),
        (router(1, &[]), one(), "has no level 2 on this link"),
        (
            router(1, &[]),
            RouterConfig { system: SystemId([1; 6]), ..base() },
            "has the same system identifier",
        ),
        (
            RouterConfig { topology: Some(ring), ..router(1, &[]) },
            base(),
            "has the system identifier of a router that is generated behind this one",
        ),
        (
            router(1, &[]),
            RouterConfig { network: NetworkType::Broadcast, ..base() },
            "has a broadcast network",
        ),
        (
            router(1, &[]),
            RouterConfig { password: password("tide", false), ..base() },
            "has a clear password as authentication of hellos, not none",
        ),
        (
            RouterConfig { password: password("eagre", true), ..router(1, &[]) },
            RouterConfig { password: password("tide", true), ..base() },
            "has another password in hellos",
        ),
        (
            RouterConfig { lsp_password: password("eagre", true), ..router(1, &[]) },
            RouterConfig { lsp_password: password("tide", true), ..base() },
            "has another password in LSPs and SNPs",
        ),
    ];
    for (west, east, expected) in cases {
        let mut world = World::new(1, CLEAN, [west, east]);
        world.pass(Nanos::from_secs(60));
        let said = world.sides[0].router(0).failure().map(|why| why.to_string()).unwrap_or_default();
        assert!(said.starts_with("10.0.0.2 (0") && said.contains(expected), "{said:?}, not {expected:?}");
    }
    let mut world = World::new(1, CLEAN, [router(1, &[]), RouterConfig { mtu: Some(1_400), ..base() }]);
    world.longest = 1_414;
    world.pass(Nanos::from_secs(60));
    assert!(matches!(
        world.sides[0].router(0).failure(),
        Some(Failure::Mtu { is: 1_400, expected: 1_500, .. })
    ));
    let lan = |side| RouterConfig { network: NetworkType::Broadcast, ..router(side, &[]) };
    let mut world = World::new(1, CLEAN, [lan(1), lan(2)]);
    world.pass(Nanos::from_secs(60));
    assert!(matches!(world.sides[0].router(0).failure(), Some(Failure::NoDesignated(_))));
    let mut world = World::new(1, CLEAN, [router(1, &[]), router(2, &[])]);
    world.is_cut = true;
    world.pass(Nanos::from_secs(60));
    assert_eq!(world.sides[0].router(0).failure(), Some(Failure::Nobody));
}

#[test]
fn who_knows_the_passwords_gets_in() {
    for is_digest in [false, true] {
        let password = |text: &str| Some(Password { text: text.to_owned(), is_digest });
        let with = |side| RouterConfig {
            password: password("of hellos"),
            lsp_password: password("of LSPs"),
            ..router(side, &[routes("16.0.0.0", 24, 1_000)])
        };
        let mut world = World::new(1, CLEAN, [with(1), with(2)]);
        world.settle(Nanos::from_secs(10));
        assert_eq!((world.held(0), world.held(1)), (1_000, 1_000));
    }
}

#[test]
fn a_neighbour_that_falls_silent_is_found_out_and_comes_back() {
    let mut world = World::new(1, CLEAN, [router(1, &[routes("16.0.0.0", 24, 300)]), router(2, &[])]);
    world.settle(Nanos::from_secs(10));
    world.is_cut = true;
    world.pass(Nanos::from_secs(26));
    assert_eq!(world.sides[0].up(), 1, "not before the hold time");
    world.pass(Nanos::from_secs(5));
    let [west, east] = world.counts();
    assert_eq!((west.flaps, east.flaps, world.sides[0].up()), (1, 1, 0));
    assert!(matches!(world.sides[0].first_loss(), Some((0, Failure::Silent(_, 30)))));
    world.is_cut = false;
    world.settle(Nanos::from_secs(20));
    assert_eq!((world.held(1), world.counts()[0].advertised), (300, 600));
}

#[test]
fn what_a_run_before_has_left_is_taken_over_or_purged() {
    let mut world = World::new(1, CLEAN, [router(1, &[routes("16.0.0.0", 24, 2_000)]), router(2, &[])]);
    world.settle(Nanos::from_secs(10));
    // The run before had another metric, and more routes: the same sequence numbers say something else.
    let old = [RouteRange { metric: 9, ..routes("16.0.0.0", 24, 3_000) }];
    let lsps = {
        let mut other = World::new(1, CLEAN, [router(1, &old), router(2, &[])]);
        other.settle(Nanos::from_secs(10));
        let now = other.now;
        let mut frames = Vec::new();
        other.sides[0].set_router(now, 0, false);
        other.sides[0].poll(now, &mut frames);
        other.sides[0].set_router(now, 0, true);
        let mut seen = Vec::new();
        let until = other.now + Nanos::from_secs(8);
        other.run_watched(until, |from, frame| {
            if from == 0 && matches!(frame.get(21), Some(18 | 20)) {
                seen.push(frame.to_vec());
            }
        });
        seen
    };
    assert!(lsps.len() >= 17, "{} LSPs", lsps.len());
    for mut lsp in lsps {
        // It is the device that sends them.
        lsp[11] = 2;
        let now = world.now;
        assert!(world.sides[0].take(now, &lsp));
    }
    world.pass(Nanos::from_secs(30));
    world.settle(Nanos::from_secs(10));
    assert_eq!((world.held(1), world.sides[0].counts().flaps), (2_000, 0));
    assert!(world.counts()[0].outdated >= 17, "{:?}", world.counts()[0]);
}

#[test]
fn at_the_end_all_is_purged() {
    let mut world = World::new(1, CLEAN, [router(1, &[routes("16.0.0.0", 24, 2_000)]), router(2, &[])]);
    world.settle(Nanos::from_secs(10));
    let now = world.now;
    world.sides[0].shut(now);
    let until = world.now + Nanos::from_secs(3);
    assert!(world.run(until, |world| world.sides[0].is_over()));
    world.pass(Nanos::from_millis(10));
    let [west, east] = world.counts();
    assert_eq!((world.sides[1].up(), west.flaps, east.flaps), (0, 0, 1));
    assert!(east.received_purged >= 12, "{east:?}");
    assert_eq!(world.sides[1].router(0).neighbour().unwrap().state, NeighbourState::Initializing);
}

/// Where a frame has the value of a TLV; the PDU's TLVs begin at `at`.
fn tlv(frame: &[u8], mut at: usize, kind: u8) -> usize {
    while frame[at] != kind {
        at += 2 + usize::from(frame[at + 1]);
    }
    at + 2
}

/// The last frame with a PDU of this kind that the side `from` sends within `within`.
fn last_of(world: &mut World, from: usize, kind: u8, within: Nanos) -> Vec<u8> {
    let mut last = Vec::new();
    let until = world.now + within;
    world.run_watched(until, |side, frame| {
        if side == from && frame[21] & 31 == kind {
            last = frame.to_vec();
        }
    });
    assert!(!last.is_empty(), "no PDU of kind {kind}");
    last
}

#[test]
fn hellos_about_other_adjacencies_change_nothing() {
    let mut world = World::new(1, CLEAN, [router(1, &[]), router(2, &[])]);
    world.settle(Nanos::from_secs(10));
    let hello = last_of(&mut world, 1, 17, Nanos::from_secs(5));
    world.pass(SECOND);
    let at = tlv(&hello, 17 + 20, 240);
    assert_eq!(hello[at..at + 15], [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1], "state, circuits, system");
    let state = |world: &World| world.sides[0].router(0).neighbour().map(|one| (one.state, one.lost_at));
    let before = state(&world);
    for (place, byte) in [(0, 3), (5, 9), (14, 2)] {
        let mut other = hello.clone();
        other[at + place] = byte;
        let (now, mismatched) = (world.now, world.counts()[0].mismatched);
        assert!(world.sides[0].take(now, &other));
        assert_eq!((state(&world), world.counts()[0].mismatched), (before, mismatched + 1), "byte {place}");
    }
    // Nor does one for no level.
    let mut other = hello.clone();
    other[17 + 8] = 0;
    let now = world.now;
    assert!(world.sides[0].take(now, &other));
    assert_eq!((state(&world), world.counts()[0].malformed), (before, 1));
    assert!(world.sides[0].take(now, &hello));
    assert_ne!(state(&world), before, "the hello itself counts");
}

#[test]
fn older_systems_and_others_at_the_end_of_the_link_are_known() {
    let mut world = World::new(1, CLEAN, [router(1, &[]), router(2, &[])]);
    let mut hello = last_of(&mut world, 1, 17, Nanos::from_secs(5));
    // Without a state it is one of an older system: a kind of TLV that there is not.
    let at = tlv(&hello, 17 + 20, 240);
    hello[at - 2] = 255;
    let mut world = World::new(1, CLEAN, [router(1, &[]), router(2, &[])]);
    world.is_cut = true;
    let up = |world: &World| {
        world.sides[0].router(0).neighbours().map(|one| (one.system, one.state)).collect::<Vec<_>>()
    };
    let now = world.now;
    assert!(world.sides[0].take(now, &hello));
    assert_eq!(up(&world), [(SystemId([2; 6]), NeighbourState::Up)]);
    hello[17 + 9..17 + 15].fill(7);
    assert!(world.sides[0].take(now, &hello));
    assert_eq!((up(&world), world.counts()[0].flaps), (vec![(SystemId([7; 6]), NeighbourState::Up)], 1));
    world.pass(SECOND);
    hello[at - 2] = 240;
    hello[at] = 2;
    let now = world.now;
    assert!(world.sides[0].take(now, &hello));
    assert_eq!(up(&world), [(SystemId([7; 6]), NeighbourState::Initializing)]);
    assert_eq!(world.counts()[0].flaps, 2);
}

#[test]
fn purges_are_not_made_of_live_lsps() {
    let lsp_password = Some(Password { text: "tideless".to_owned(), is_digest: true });
    let with = |side, routes: &[RouteRange]| RouterConfig {
        lsp_password: lsp_password.clone(),
        refresh_s: 5,
        ..router(side, routes)
    };
    let own = [routes("16.0.0.0", 24, 50)];
    let mut world = World::new(1, CLEAN, [with(1, &own), with(2, &[])]);
    world.settle(Nanos::from_secs(10));
    let mut purge = last_of(&mut world, 0, 20, Nanos::from_secs(12));
    // The digest does not cover the lifetime.
    purge[17 + 10..17 + 12].fill(0);
    let (now, before) = (world.now, world.lsps(1));
    assert!(world.sides[1].take(now, &purge));
    assert_eq!((world.lsps(1), world.held(1), world.counts()[1].mismatched), (before, 50, 1));
    // A purge by whom the LSP is from has no contents.
    world.sides[0].set_range(0, 0, false);
    world.settle(Nanos::from_secs(5));
    assert_eq!((world.held(1), world.counts()[1].mismatched), (0, 1));
    assert!(world.counts()[1].received_purged > 0);
}

#[test]
fn lsps_that_are_not_acknowledged_are_sent_again_after_five_seconds() {
    let short = |side, routes: &[RouteRange]| RouterConfig { padding: false, ..router(side, routes) };
    let own = [routes("16.0.0.0", 24, 400)];
    let mut world = World::new(1, CLEAN, [short(1, &own), short(2, &[])]);
    // Two LSPs are full, and lost.
    world.longest = 1_000;
    assert!(world.run(Nanos::from_secs(10), |world| world.sides.iter().all(|side| side.up() == 1)));
    world.pass(SECOND);
    world.longest = 1_514;
    assert_eq!(world.held(1), 400 - 2 * 181);
    world.pass(Nanos::from_millis(3_500));
    assert_eq!((world.held(1), world.counts()[0].retransmitted), (400 - 2 * 181, 0));
    world.pass(SECOND);
    assert_eq!((world.held(1), world.counts()[0].retransmitted), (400, 2));
    assert_eq!(world.counts()[0].psnps.1.all(), world.counts()[1].psnps.0.all());
}

/// A frame of a side to all systems of level 2, with a PDU of this kind; its header has `header` bytes.
fn frame_of(side: u8, kind: u8, header: u8, rest: &[u8]) -> Vec<u8> {
    let mut pdu = vec![0x83, header, 1, 0, kind, 1, 0, 0];
    pdu.extend(rest);
    let len_at = if kind == 16 { 17 } else { 8 };
    let len = pdu.len() as u16;
    pdu[len_at..len_at + 2].copy_from_slice(&len.to_be_bytes());
    let mut frame = vec![1, 0x80, 0xc2, 0, 0, 0x15, 2, 0, 0, 0, 0, side];
    frame.extend((len + 3).to_be_bytes());
    frame.extend([0xfe, 0xfe, 3]);
    frame.extend(pdu);
    frame
}

/// A LAN hello of level 2 of a side, with the designated system it believes in; it lists the west, or no router.
fn lan_hello(side: u8, priority: u8, designated: u8, lists: bool) -> Vec<u8> {
    let mut rest = vec![2];
    rest.extend([side; 6]);
    rest.extend([0, 30, 0, 0, priority]);
    rest.extend([designated; 6]);
    rest.extend([1, 1, 4, 3, 0x49, 0, 1, 129, 1, 0xcc, 132, 4, 10, 0, 0, side]);
    if lists {
        rest.extend([6, 12, 2, 0, 0, 0, 0, 7, 2, 0, 0, 0, 0, 1]);
    }
    frame_of(side, 16, 27, &rest)
}

/// A router of a LAN alone, and what it sends.
struct Lan(World);

impl Lan {
    fn new(routes: &[RouteRange]) -> Self {
        let west = RouterConfig { network: NetworkType::Broadcast, ..router(1, routes) };
        Self(World::new(1, CLEAN, [west, router(2, &[])]))
    }

    fn take(&mut self, frame: &[u8]) {
        let now = self.0.now;
        assert!(self.0.sides[0].take(now, frame));
    }

    /// PDUs sent within `within`, by kind.
    fn sends(&mut self, within: Nanos) -> BTreeMap<u8, Vec<Vec<u8>>> {
        let until = self.0.now + within;
        let mut frames = Vec::new();
        while self.0.now < until {
            let now = self.0.now;
            self.0.sides[0].poll(now, &mut frames);
            self.0.now = now + Nanos::from_millis(10);
        }
        let mut sent = BTreeMap::<u8, Vec<Vec<u8>>>::new();
        frames
            .into_iter()
            .for_each(|frame| sent.entry(frame[21] & 31).or_default().push(frame[17..].to_vec()));
        sent
    }
}

#[test]
fn the_designated_system_is_the_one_that_says_so() {
    let mut lan = Lan::new(&[]);
    let designated = |lan: &Lan| lan.0.sides[0].router(0).designated();
    lan.take(&lan_hello(9, 64, 9, false));
    let state = |lan: &Lan| lan.0.sides[0].router(0).neighbours().next().map(|one| one.state);
    assert_eq!(
        (designated(&lan), state(&lan)),
        (None, Some(NeighbourState::Initializing)),
        "it hears nobody"
    );
    let hello = lan.sends(SECOND).remove(&16).unwrap().pop().unwrap();
    assert_eq!(hello[tlv(&hello, 27, 6)..][..6], [2, 0, 0, 0, 0, 9], "it is listed by its address");
    assert_eq!((hello[19], &hello[20..27]), (0, &[0; 7][..]), "priority and designated system");
    lan.take(&lan_hello(9, 64, 8, true));
    assert_eq!((designated(&lan), state(&lan)), (None, Some(NeighbourState::Up)), "nobody says so");
    lan.take(&lan_hello(9, 64, 9, true));
    assert_eq!(designated(&lan).as_deref(), Some("0909.0909.0909.01"));
    let hello = lan.sends(Nanos::from_secs(4)).remove(&16).unwrap().pop().unwrap();
    assert_eq!(hello[20..27], [9, 9, 9, 9, 9, 9, 1]);
    lan.take(&lan_hello(7, 100, 7, true));
    assert_eq!(designated(&lan).as_deref(), Some("0707.0707.0707.01"), "the highest priority");
    lan.take(&lan_hello(8, 100, 8, true));
    assert_eq!(designated(&lan).as_deref(), Some("0808.0808.0808.01"), "then the highest address");
    let lsp = lan.sends(Nanos::from_secs(2)).remove(&20).unwrap().pop().unwrap();
    assert_eq!(lsp[tlv(&lsp, 27, 22)..][..7], [8, 8, 8, 8, 8, 8, 1], "the link leads to the pseudonode");
}

/// A CSNP of the designated system about all LSPs, of which it has these.
fn csnp(entries: &[u8]) -> Vec<u8> {
    let mut rest = vec![0, 0, 9, 9, 9, 9, 9, 9, 0];
    rest.extend([0; 8]);
    rest.extend([0xff; 8]);
    if !entries.is_empty() {
        rest.extend([9, entries.len() as u8]);
    }
    rest.extend(entries);
    frame_of(9, 25, 33, &rest)
}

#[test]
fn only_newer_lsps_are_requested_not_older_or_purged_ones() {
    let mut lan = Lan::new(&[]);
    lan.take(&lan_hello(9, 64, 9, true));
    lan.sends(Nanos::from_secs(2));
    let entry = |lifetime_s: u16, sequence: u8, checksum: [u8; 2]| {
        [&lifetime_s.to_be_bytes()[..], &[8, 8, 8, 8, 8, 8, 0, 0, 0, 0, 0, sequence], &checksum].concat()
    };
    let is_requested = |lan: &mut Lan, entry: Vec<u8>| {
        lan.take(&csnp(&entry));
        lan.sends(SECOND).contains_key(&27)
    };
    assert!(!is_requested(&mut lan, entry(0, 5, [1, 2])), "it is unknown, and purged");
    assert!(!is_requested(&mut lan, entry(900, 0, [1, 2])), "nobody has it: the number is 0");
    let mut lsp = frame_of(9, 20, 27, &[&[0, 0][..], &entry(900, 5, [0, 0]), &[3]].concat());
    let checksum = linkstate::fletcher(&lsp[17 + 12..], 12).to_be_bytes();
    lsp[17 + 24..17 + 26].copy_from_slice(&checksum);
    lan.take(&lsp);
    assert_eq!(lan.0.lsps(0).level_2, 1, "it is kept");
    for (sequence, expected) in [(5, false), (4, false), (6, true)] {
        assert_eq!(is_requested(&mut lan, entry(900, sequence, checksum)), expected, "{sequence}");
    }
}

#[test]
fn on_a_lan_csnps_show_what_is_lacking() {
    let mut lan = Lan::new(&[routes("16.0.0.0", 24, 10)]);
    lan.take(&lan_hello(9, 64, 9, true));
    let sent = lan.sends(Nanos::from_secs(2));
    let lsps = &sent[&20];
    assert_eq!(
        (lsps.len(), sent.get(&27), sent.get(&25)),
        (2, None, None),
        "each once, without acknowledgments"
    );
    let entry = |lsp: &Vec<u8>| [&lsp[10..12], &lsp[12..24], &lsp[24..26]].concat();
    lan.take(&csnp(&[entry(&lsps[0]), entry(&lsps[1])].concat()));
    assert_eq!(lan.sends(SECOND).get(&20), None, "it has both");
    lan.take(&csnp(&entry(&lsps[0])));
    let again = lan.sends(SECOND).remove(&20).unwrap();
    assert_eq!((again.len(), &again[0][12..20]), (1, &lsps[1][12..20]));
    let mut other = csnp(&[]);
    other[11] = 5;
    lan.take(&other);
    assert_eq!(lan.sends(SECOND).get(&20), None, "there is no adjacency with its sender");
    let mut older = entry(&lsps[0]);
    older[13] = 0;
    lan.take(&csnp(&[older, entry(&lsps[1])].concat()));
    assert_eq!(lan.sends(SECOND).remove(&20).map(|all| all.len()), Some(1), "it has an older one");
    // An LSP that is lacking here is requested by its identifier, with the number 0, until it comes.
    let other = [3, 0x84, 8, 8, 8, 8, 8, 8, 0, 0, 0, 0, 0, 5, 0x12, 0x34];
    lan.take(&csnp(&[&entry(&lsps[0])[..], &entry(&lsps[1]), &other].concat()));
    let psnps = lan.sends(Nanos::from_secs(7)).remove(&27).unwrap();
    let wanted = [0, 0, 8, 8, 8, 8, 8, 8, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(psnps.len(), 2);
    assert!(psnps.iter().all(|psnp| psnp[tlv(psnp, 17, 9)..] == wanted));
}

#[test]
fn hellos_are_as_long_as_the_link_takes() {
    for (mtu, padding, len) in [(None, true, 1_514), (Some(1_400), true, 1_414), (None, false, 0)] {
        let one = |side| RouterConfig { mtu, padding, ..router(side, &[]) };
        let mut world = World::new(1, CLEAN, [one(1), one(2)]);
        let hello = last_of(&mut world, 0, 17, Nanos::from_secs(5));
        assert!(hello.len() == len || hello.len() < 100 && !padding, "{} bytes", hello.len());
        assert_eq!(usize::from(hello[12]) << 8 | usize::from(hello[13]), hello.len() - 14);
        assert_eq!(hello[..6], [9, 0, 0x2b, 0, 0, 5], "all intermediate systems");
    }
}

#[test]
fn csnps_are_about_all_lsps_without_a_gap() {
    let own = [routes("16.0.0.0", 24, 46_000)];
    let mut world = World::new(1, CLEAN, [router(1, &own), router(2, &[])]);
    let mut csnps: Vec<Vec<u8>> = Vec::new();
    world.run_watched(Nanos::from_secs(10), |side, frame| {
        if side == 0 && frame[21] & 31 == 25 {
            csnps.push(frame[17..].to_vec());
        }
    });
    let number = |id: &[u8]| u64::from_be_bytes(*id.first_chunk().unwrap());
    let mut from = 0;
    let mut entries = Vec::new();
    for csnp in &csnps {
        assert_eq!(number(&csnp[17..]), from);
        let to = number(&csnp[25..]);
        let mut tlvs = &csnp[33..];
        while let [9, len, rest @ ..] = tlvs {
            let (value, behind) = rest.split_at((*len).into());
            entries.extend(value.chunks(16).map(|entry| number(&entry[2..])));
            tlvs = behind;
        }
        assert!(entries.last().is_none_or(|last| *last <= to));
        from = to.wrapping_add(1);
    }
    assert_eq!((csnps.len(), entries.len(), from), (3, 256, 0), "the last is about all behind it");
    assert!(entries.is_sorted(), "in the order of their identifiers");
}

#[test]
fn what_an_lsp_is_said_to_be_is_in_its_bits() {
    let west = RouterConfig { levels: Levels::Both, overload: true, attached: true, ..router(1, &[]) };
    let east = RouterConfig { levels: Levels::Both, ..router(2, &[]) };
    let mut world = World::new(1, CLEAN, [west, east]);
    world.settle(Nanos::from_secs(10));
    let flags = |side: usize, level: u8| -> Vec<u8> {
        let mut databases = world.sides[side].router(0).databases();
        let (_, database) = databases.find(|(number, _)| *number == level).unwrap();
        database.known(world.now).map(|lsp| lsp.flags).collect()
    };
    // Level, overload (4), attached by the default metric (8): at level 1 alone.
    assert_eq!([flags(1, 1), flags(1, 2)], [[1 | 4 | 8], [3 | 4]]);
    assert_eq!([flags(0, 1), flags(0, 2)], [[1], [3]]);
}

#[test]
fn routers_go_down_and_up_by_command() {
    let mut world = World::new(1, CLEAN, [router(1, &[routes("16.0.0.0", 24, 20)]), router(2, &[])]);
    world.settle(Nanos::from_secs(10));
    let now = world.now;
    assert!(world.sides[0].set_router(now, 0, false) && !world.sides[0].set_router(now, 0, false));
    world.pass(SECOND);
    assert_eq!((world.sides[0].up(), world.sides[1].up(), world.counts()[0].flaps), (0, 0, 0));
    world.pass(Nanos::from_secs(100));
    let now = world.now;
    assert!(world.sides[0].set_router(now, 0, true));
    world.settle(Nanos::from_secs(20));
    assert_eq!((world.held(1), world.counts()[0].advertised), (20, 40));
}

#[test]
fn as_many_routes_as_fragments_hold_are_told() {
    let mut world = World::new(1, CLEAN, [router(1, &[routes("16.0.0.0", 24, 46_000)]), router(2, &[])]);
    world.settle(Nanos::from_secs(60));
    assert_eq!((world.lsps(1).level_2, world.sides[1].counts().left_out), (256, 0));
}

#[test]
fn routes_that_a_smaller_mtu_leaves_no_room_for_are_known() {
    let west = RouterConfig { mtu: Some(1_000), ..router(1, &[routes("16.0.0.0", 24, 46_000)]) };
    let mut world = World::new(1, CLEAN, [west, RouterConfig { mtu: Some(1_000), ..router(2, &[]) }]);
    world.settle(Nanos::from_secs(60));
    assert_eq!((world.lsps(1).level_2, world.sides[1].router(0).unfitting()), (256, 0));
    assert!(
        (10_000..20_000).contains(&world.sides[0].router(0).unfitting()),
        "{}",
        world.sides[0].router(0).unfitting()
    );
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
        (west, east) in (0u32..2_000, 0u32..900),
        routers in 0u32..20,
    ) {
        let link = Link {
            loss_percent,
            copies_percent,
            delay: Nanos::from_micros(500),
            jitter: Nanos::from_micros(jitter_us),
        };
        let topology = (routers > 0).then_some(Topology {
            shape: Shape::Tree { children: 3 },
            routers,
            metric: 5,
            first: SystemId([9, 0, 0, 0, 0, 1]),
        });
        let later = Schedule { from: Nanos::from_secs(30), ..Schedule::default() };
        let gone = Schedule { until: Some(Nanos::from_secs(20)), ..Schedule::default() };
        let own = [
            routes("16.0.0.0", 24, west),
            RouteRange { schedule: later, ..routes("2001:db8::", 64, 50) },
            RouteRange { schedule: gone, ..routes("24.0.0.0", 24, 60) },
        ];
        let west_config = RouterConfig { topology, ..router(1, &own) };
        let mut world = World::new(seed, link, [west_config, router(2, &[routes("40.0.0.0", 24, east)])]);
        world.settle(Nanos::from_secs(600));
        world.start();
        world.pass(Nanos::from_secs(60));
        world.settle(Nanos::from_secs(600));
        prop_assert_eq!(world.held(1) as u32, west + 50);
        prop_assert_eq!(world.held(0) as u32, east);
        prop_assert_eq!(world.lsps(0).all(), 1 + u64::from(east.div_ceil(181)));
    }
}
