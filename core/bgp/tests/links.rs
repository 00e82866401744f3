//! Two sides of speakers with a link between them that loses, copies, delays and reorders, on virtual time.

use bgp::{
    AddPath, Attributes, BgpCounts, Failure, Family, Flap, GracefulRestart, GroupConfig, Identity,
    Notification, PeerConfig, Restart, RouteRange, Speaker, SpeakerConfig,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use units::Nanos;

const MACS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];
const ASES: [u32; 2] = [65_001, 65_000];
const SECOND: Nanos = Nanos::from_secs(1);

#[derive(Debug, Clone, Copy)]
struct Link {
    loss_percent: u64,
    copies_percent: u64,
    delay: Nanos,
    jitter: Nanos,
    /// Delay of each connection's frames in each direction in addition to that, at most.
    spread: Nanos,
}

const CLEAN: Link = Link {
    loss_percent: 0,
    copies_percent: 0,
    delay: Nanos::from_micros(100),
    jitter: Nanos::ZERO,
    spread: Nanos::ZERO,
};

struct World {
    sides: [Speaker; 2],
    link: Link,
    /// Frames under way: when they arrive, a number, the side they arrive at.
    air: BTreeMap<(Nanos, u64), (usize, Vec<u8>)>,
    now: Nanos,
    sent: u64,
    seed: u64,
    is_cut: bool,
}

fn routes(first: &str, prefix_len: u8, count: u32) -> RouteRange {
    RouteRange {
        name: String::new(),
        first: first.parse().unwrap(),
        prefix_len,
        count,
        step: 1,
        same: false,
        path_id: 1,
        attributes: Attributes::default(),
        table: None,
        advertise: Nanos::ZERO,
        withdraw: None,
        flap: None,
    }
}

fn peers(side: usize, count: u32, routes: &[RouteRange]) -> Vec<PeerConfig> {
    let routes: Arc<[RouteRange]> = routes.into();
    let address =
        |side: usize, n: u32| IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + (side as u32 + 1) * 0x1_0000 + n));
    let peer = |number| PeerConfig {
        name: String::new(),
        host: 0,
        local: address(side, number),
        remote: address(1 - side, number),
        identity: Identity {
            own_as: ASES[side],
            peer_as: ASES[1 - side],
            identifier: Ipv4Addr::from(0x0100_0000 * (side as u32 + 1) + number),
            hold_s: 9,
            families: [true, true],
            own: [Some(address(side, number)), "2001:db8::1".parse().ok()],
            number,
            restart: None,
            add_path: [AddPath::default(); 2],
        },
        passive: false,
        retry: SECOND,
        routes: routes.clone(),
        keep: 100,
    };
    (0..count).map(peer).collect()
}

impl World {
    fn new(seed: u64, link: Link, peers: [Vec<PeerConfig>; 2]) -> Self {
        let mut side = 0;
        let sides = peers.map(|peers| {
            let hosts = vec![GroupConfig { own_mac: MACS[side], ..GroupConfig::default() }];
            let count = peers.len();
            let mut speaker =
                Speaker::new(SpeakerConfig { hosts, peers, rate: 500, seed: seed ^ side as u64 });
            (0..count).for_each(|peer| speaker.set_hop(peer, MACS[1 - side]));
            speaker.begin(Nanos(1));
            side += 1;
            speaker
        });
        Self { sides, link, air: BTreeMap::new(), now: Nanos(1), sent: 0, seed, is_cut: false }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.sent += 1;
        random::below(random::word(random::key(self.seed), self.sent), below)
    }

    /// Delay added by a frame's connection and direction.
    fn delay_of(&self, from: usize, frame: &[u8]) -> Nanos {
        let ports = u32::from_be_bytes(frame[34..38].try_into().unwrap());
        let word = random::word(random::other_key(self.seed), (from as u64) << 32 | u64::from(ports));
        Nanos(random::below(word, self.link.spread.0 + 1))
    }

    fn transmit(&mut self, from: usize) {
        let mut frames = Vec::new();
        self.sides[from].poll(self.now, &mut frames);
        for frame in frames {
            assert!(bgp::may_concern(&frame) && frame.len() <= 1_514);
            let copies = 1 + u64::from(self.draw(100) < self.link.copies_percent);
            for _ in 0..copies {
                let is_lost = self.draw(100) < self.link.loss_percent || self.is_cut;
                let delay = self.link.delay + self.delay_of(from, &frame);
                let at = self.now + delay + Nanos(self.draw(self.link.jitter.0 + 1));
                if !is_lost {
                    self.air.insert((at, self.sent), (1 - from, frame.clone()));
                }
            }
        }
    }

    /// Runs until `until`, or until `is_done`; returns whether it is.
    fn run(&mut self, until: Nanos, mut is_done: impl FnMut(&mut [Speaker; 2]) -> bool) -> bool {
        loop {
            (0..2).for_each(|side| self.transmit(side));
            if is_done(&mut self.sides) {
                return true;
            }
            let arrival = self.air.keys().next().map_or(Nanos::MAX, |(at, _)| *at);
            let due = self.sides.iter().map(Speaker::next_due).min().unwrap();
            let next = arrival.min(due.max(Nanos(self.now.0 + 1)));
            if next > until {
                self.now = until;
                return false;
            }
            self.now = self.now.max(next);
            while let Some(entry) = self.air.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let (to, frame) = entry.remove();
                assert!(self.sides[to].take(self.now, &frame));
            }
        }
    }

    fn settle(&mut self, within: Nanos) {
        let until = self.now + within;
        let is_settled = self.run(until, |sides| sides.iter_mut().all(Speaker::is_settled));
        let said: Vec<_> =
            self.sides.iter().map(|side| (side.state(0), side.failure(0), side.counts())).collect();
        assert!(is_settled, "after {within}: {said:?}");
    }
}

#[test]
fn routes_of_both_families_are_told() {
    let own = [routes("16.0.0.0", 24, 1_000), routes("2001:db8:1::", 64, 1_500)];
    let mut world = World::new(1, CLEAN, [peers(0, 3, &own), peers(1, 3, &[])]);
    world.settle(SECOND);
    let [west, east] = world.sides.each_ref().map(Speaker::counts);
    assert_eq!((west.advertised, west.withdrawn, west.established), (7_500, 0, 3));
    assert_eq!((east.received_ipv4, east.received_ipv6, east.received_withdrawn), (3_000, 4_500, 0));
    assert_eq!(world.sides[0].set_up_times().samples(), 3);
    assert_eq!((east.ends_of_rib, west.ends_of_rib), ((3, 3), (3, 3)));
    let heard = world.sides[1].heard(2).unwrap();
    assert_eq!((heard.routes().len(), heard.left_out()), (100, 2_400));
    assert!(west.updates.0 < 100, "prefixes are packed: {} messages", west.updates.0);
}

#[test]
fn the_end_of_routes_is_said_of_families_that_both_sides_have() {
    let mut east = peers(1, 2, &[]);
    east[0].identity.families = [true, false];
    let mut world = World::new(1, CLEAN, [peers(0, 2, &[]), east]);
    world.settle(SECOND);
    let [west, east] = world.sides.each_ref().map(Speaker::counts);
    assert_eq!((west.ends_of_rib, east.ends_of_rib), ((2, 1), (2, 1)));
    assert_eq!(world.sides[1].counts_of(0).ends_of_rib, (1, 0));
}

#[test]
fn sessions_last_while_nothing_is_said() {
    let mut world = World::new(1, CLEAN, [peers(0, 2, &[]), peers(1, 2, &[])]);
    world.settle(SECOND);
    world.run(Nanos::from_secs(600), |_| false);
    let counts = world.sides[0].counts();
    assert_eq!((world.sides[0].established(), counts.flaps), (2, 0));
    // One in three seconds, and the first.
    assert!((390..=410).contains(&counts.keep_alives.1), "{}", counts.keep_alives.1);
}

#[test]
fn a_schedule_is_kept() {
    let later = RouteRange {
        advertise: Nanos::from_secs(2),
        withdraw: Some(Nanos::from_secs(4)),
        ..routes("17.0.0.0", 24, 500)
    };
    let flap = Flap { every: Nanos::from_secs(10), down: SECOND };
    let flaps = RouteRange { flap: Some(flap), ..routes("18.0.0.0", 24, 10) };
    let mut world = World::new(1, CLEAN, [peers(0, 1, &[later, flaps]), peers(1, 1, &[])]);
    world.settle(SECOND);
    let epoch = world.now;
    world.sides.iter_mut().for_each(|side| side.start(epoch));
    let received = |world: &World| {
        let counts = world.sides[1].counts();
        (counts.received_ipv4, counts.received_withdrawn)
    };
    for (at_ms, expected) in [
        (1_900, (10, 0)),
        (2_100, (510, 0)),
        (3_900, (510, 0)),
        (4_100, (510, 500)),
        (9_900, (510, 500)),
        (10_100, (510, 510)),
        (11_100, (520, 510)),
        (31_500, (540, 530)),
    ] {
        world.run(epoch + Nanos::from_millis(at_ms), |_| false);
        assert_eq!(received(&world), expected, "after {at_ms} ms");
    }
}

#[test]
fn the_wrong_as_is_told_on_both_sides() {
    let mut west = peers(0, 1, &[]);
    west[0].identity.peer_as = 65_009;
    west[0].passive = true;
    let mut world = World::new(1, CLEAN, [west, peers(1, 1, &[])]);
    world.settle(SECOND);
    let failures = world.sides.each_ref().map(|side| side.failure(0).unwrap());
    assert_eq!(failures[0], Failure::OtherAs { is: 65_000, expected: 65_009 });
    assert_eq!(failures[0].to_string(), "is AS 65000, but 'peer_as' is 65009");
    let Failure::RefusedBy(said) = failures[1] else { panic!("{:?}", failures[1]) };
    assert_eq!(said, Notification { code: 2, subcode: 2 });
    assert_eq!(world.sides[0].established(), 0);
}

#[test]
fn a_peer_that_falls_silent_is_found_out_and_comes_back() {
    let own = [routes("16.0.0.0", 24, 5_000)];
    let mut world = World::new(1, CLEAN, [peers(0, 1, &own), peers(1, 1, &[])]);
    world.settle(SECOND);
    world.is_cut = true;
    let is_down = |sides: &mut [Speaker; 2]| sides.iter().all(|side| side.failure(0).is_some());
    let begun = world.now;
    assert!(world.run(begun + Nanos::from_secs(20), is_down));
    assert_eq!(world.sides[0].failure(0), Some(Failure::Silent(Nanos::from_secs(9))));
    assert_eq!(world.sides[0].first_loss(), Some((0, Failure::Silent(Nanos::from_secs(9)))));
    // The last KEEPALIVE was up to a third of the hold time ago.
    assert!((6..=10).contains(&((world.now - begun).0 / SECOND.0)));
    world.is_cut = false;
    world.settle(Nanos::from_secs(60));
    let [west, east] = world.sides.each_ref().map(Speaker::counts);
    assert_eq!((west.flaps, east.flaps, world.sides[0].set_up_times().samples()), (1, 1, 1));
    assert_eq!((west.advertised, east.received_ipv4), (10_000, 10_000));
}

#[test]
fn sessions_end_in_good_order() {
    let mut world = World::new(1, CLEAN, [peers(0, 20, &[]), peers(1, 20, &[])]);
    world.settle(SECOND);
    let now = world.now;
    world.sides[0].shut(now);
    assert!(world.run(now + SECOND, |sides| sides[0].is_over()));
    let shutdown = Failure::RefusedBy(Notification { code: 6, subcode: 2 });
    assert!((0..20).all(|peer| world.sides[1].failure(peer) == Some(shutdown)));
    assert_eq!((world.sides[0].counts().flaps, world.sides[1].counts().flaps), (0, 20));
}

#[test]
fn what_is_commanded_comes_before_the_times() {
    let own = [routes("16.0.0.0", 24, 300), routes("17.0.0.0", 24, 20)];
    let mut world = World::new(1, CLEAN, [peers(0, 2, &own), peers(1, 2, &[])]);
    world.settle(SECOND);
    let epoch = world.now;
    world.sides.iter_mut().for_each(|side| side.start(epoch));
    let received = |world: &World, peer| world.sides[1].heard(peer).map(|heard| heard.routes().len());
    let pass = |world: &mut World| {
        let until = world.now + SECOND;
        world.run(until, |_| false);
    };
    world.sides[0].set_range(1, 0, false);
    pass(&mut world);
    // Those of the second range found no room before.
    assert_eq!((received(&world, 0), received(&world, 1)), (Some(100), Some(0)));
    assert_eq!(world.sides[1].counts_of(1).received_withdrawn, 300);
    world.sides[0].set_range(1, 0, true);
    world.sides[0].set_range(1, 1, true);
    pass(&mut world);
    assert_eq!((received(&world, 1), world.sides[1].counts().received_ipv4), (Some(100), 940));
    // Down, and it stays so; the other side tries to connect in vain.
    let now = world.now;
    assert!(world.sides[0].set_peer(now, 0, false) && !world.sides[0].set_peer(now, 0, false));
    for _ in 0..5 {
        pass(&mut world);
    }
    assert_eq!(
        (world.sides[0].established(), world.sides[0].is_down(0), received(&world, 0)),
        (1, true, None)
    );
    let shutdown = Notification { code: 6, subcode: 2 };
    assert_eq!(world.sides[1].first_loss(), Some((0, Failure::RefusedBy(shutdown))));
    assert!(world.sides[0].is_settled());
    let now = world.now;
    assert!(world.sides[0].set_peer(now, 0, true));
    world.settle(Nanos::from_secs(3));
    assert_eq!((world.sides[0].established(), world.sides[0].counts().flaps), (2, 0));
    assert_eq!(world.sides[0].counts_of(0).advertised, 640);
}

#[test]
fn a_restart_is_no_failure_and_is_said_to_the_peer() {
    let own = [routes("16.0.0.0", 24, 300), routes("17.0.0.0", 24, 20)];
    let mut west = peers(0, 2, &own);
    west[0].identity.restart = Some(Restart { time_s: 120, notification: false, forwards: true });
    west[1].passive = true;
    west.iter_mut().for_each(|peer| peer.retry = Nanos::from_secs(3));
    let mut world = World::new(1, CLEAN, [west, peers(1, 2, &[])]);
    world.settle(SECOND);
    let offered =
        GracefulRestart { has_restarted: false, time_s: 120, notification: false, families: [Some(true); 2] };
    assert_eq!(world.sides[1].their_restart(0), Some(&offered));
    assert_eq!((world.sides[1].their_restart(1), world.sides[0].their_restart(0)), (None, None));
    let (now, said) = (world.now, world.sides[0].counts().notifications);
    assert!((0..2).all(|peer| world.sides[0].restart_peer(now, peer, None)));
    assert!(!world.sides[0].restart_peer(now, 0, None));
    // The peers want to come back at once, and may not.
    world.run(now + Nanos::from_millis(2_900), |_| false);
    assert_eq!((world.sides[0].established(), world.sides[1].established()), (0, 0));
    assert_eq!(world.sides[1].first_loss().map(|(_, why)| why), Some(Failure::Closed));
    assert_eq!(world.sides[0].counts().notifications, said);
    world.settle(Nanos::from_secs(3));
    assert_eq!(world.sides[1].their_restart(0), Some(&GracefulRestart { has_restarted: true, ..offered }));
    let [west, east] = world.sides.each_ref().map(Speaker::counts);
    assert_eq!((west.flaps, west.restarts, west.established), (0, 2, 4));
    assert_eq!((east.flaps, east.ends_of_rib), (2, (4, 4)));
    // A restart can take longer.
    let now = world.now;
    assert!(world.sides[0].restart_peer(now, 0, Some(Nanos::from_secs(9))));
    world.run(now + Nanos::from_millis(8_900), |_| false);
    assert_eq!(world.sides[0].established(), 1);
    world.settle(Nanos::from_secs(3));
    // It is said of the first session after a restart, and no other.
    let now = world.now;
    world.sides[0].set_peer(now, 0, false);
    world.run(now + SECOND, |_| false);
    world.sides[0].set_peer(now + SECOND, 0, true);
    world.settle(Nanos::from_secs(3));
    assert_eq!(world.sides[1].their_restart(0), Some(&offered));
}

/// A peer that retains routes after a NOTIFICATION is instructed to retain none (RFC 8538 section 3.1).
#[test]
fn a_session_that_ends_for_good_is_reset_hard_where_routes_would_be_kept() {
    for theirs in [true, false] {
        let restart = |notification| Some(Restart { time_s: 120, notification, forwards: true });
        let (mut west, mut east) = (peers(0, 1, &[]), peers(1, 1, &[]));
        (west[0].identity.restart, east[0].identity.restart) = (restart(true), restart(theirs));
        let mut world = World::new(1, CLEAN, [west, east]);
        world.settle(SECOND);
        let now = world.now;
        world.sides[0].set_peer(now, 0, false);
        world.run(now + SECOND, |_| false);
        let why = Notification { code: 6, subcode: if theirs { 9 } else { 2 } };
        assert_eq!(world.sides[1].first_loss(), Some((0, Failure::RefusedBy(why))));
    }
}

/// Two paths for each of forty prefixes, to a peer that takes them in one family and to one that takes none.
#[test]
fn a_prefix_has_several_paths_where_both_sides_want_them() {
    let both = AddPath { receive: true, send: true };
    let hop = |range: RouteRange, path_id, med| RouteRange {
        path_id,
        attributes: Attributes { med: Some(med), ..Attributes::default() },
        ..range
    };
    let of =
        |first: &str, bits| [hop(routes(first, bits, 20), 1, 10), hop(routes(first, bits, 20), 70_000, 20)];
    let own = [of("16.0.0.0", 24), of("2001:db8:16::", 64)].concat();
    let (mut west, mut east) = (peers(0, 2, &own), peers(1, 2, &[]));
    west.iter_mut().for_each(|peer| peer.identity.add_path = [both; 2]);
    east[0].identity.add_path = [AddPath { receive: true, send: false }, AddPath::default()];
    let mut world = World::new(3, CLEAN, [west, east]);
    world.settle(SECOND);
    let [west, east] = &world.sides;
    let sent = |peer| (west.add_path(peer), west.lacks_paths(peer));
    assert_eq!(sent(0), (AddPath { send: true, receive: false }, Some(Family::Ipv6)));
    assert_eq!(sent(1), (AddPath::default(), Some(Family::Ipv4)));
    assert_eq!(east.add_path(0), AddPath { send: false, receive: true });
    assert_eq!((east.lacks_paths(0), east.counts_of(0).received_ipv4), (None, 40));
    let heard = |peer: usize, v4: bool| {
        let routes = east.heard(peer).unwrap().routes().filter(move |(key, _)| key.prefix.0.is_ipv4() == v4);
        routes.map(|(key, said)| (key.path_id, said.med)).collect::<Vec<_>>()
    };
    let pairs = [(Some(1), Some(10)), (Some(70_000), Some(20))];
    assert_eq!(heard(0, true), pairs.repeat(20), "both paths of each prefix");
    assert_eq!(heard(0, false), [(None, Some(20))].repeat(20), "the path that was sent last");
    assert_eq!(heard(1, true), [(None, Some(20))].repeat(20));
    // One path goes, the other stays.
    let [west, _] = &mut world.sides;
    west.set_range(0, 0, false);
    let until = world.now + SECOND;
    world.run(until, |_| false);
    let left: Vec<_> =
        world.sides[1].heard(0).unwrap().routes().map(|(key, said)| (key.path_id, said.med)).collect();
    assert_eq!(left, [[(Some(70_000), Some(20))].repeat(20), [(None, Some(20))].repeat(20)].concat());
}

#[test]
fn a_million_routes_take_no_room() {
    let own = [routes("16.0.0.0", 28, 1_000_000)];
    let mut world = World::new(1, CLEAN, [peers(0, 1, &own), peers(1, 1, &[])]);
    world.settle(Nanos::from_secs(60));
    assert_eq!(world.sides[1].counts().received_ipv4, 1_000_000);
}

#[test]
fn peers_nobody_expects_are_refused() {
    // Somebody else's address: no one is there, and nothing is said of it.
    let (mut west, east) = (peers(0, 1, &[]), peers(1, 1, &[]));
    west[0].remote = "10.9.9.9".parse().unwrap();
    west[0].passive = true;
    let mut world = World::new(1, CLEAN, [west, east]);
    world.run(Nanos::from_secs(3), |_| false);
    let failure = world.sides[1].failure(0).map(|failure| failure.to_string());
    assert_eq!(
        failure.as_deref(),
        Some("resets connections to TCP port 179; check that it has this neighbor")
    );
    assert!(world.sides[0].is_over());
}

/// RFC 4271 section 10: from a failure to the next attempt three quarters of the time to all of it pass.
#[test]
fn attempts_are_spread() {
    let (mut west, east) = (peers(0, 1, &[]), peers(1, 1, &[]));
    west[0].remote = "10.9.9.9".parse().unwrap();
    west[0].passive = true;
    let mut world = World::new(1, CLEAN, [west, east]);
    world.run(Nanos::from_secs(300), |_| false);
    // All would be 300, three quarters 400.
    let attempts = world.sides[1].counts().connections;
    assert!((320..380).contains(&attempts), "{attempts} attempts in 300 s");
}

/// RFC 4271 appendix E and RFC 5082.
#[test]
fn segments_are_network_control_from_a_neighbour() {
    let mut world = World::new(1, CLEAN, [peers(0, 1, &[]), peers(1, 1, &[])]);
    let mut seen = 0;
    while world.sides[0].established() == 0 {
        let mut frames = Vec::new();
        world.sides[0].poll(world.now, &mut frames);
        for frame in &frames {
            assert_eq!((frame[15], frame[22]), (0xc0, 255));
            world.sides[1].take(world.now, frame);
        }
        seen += frames.len();
        frames.clear();
        world.sides[1].poll(world.now, &mut frames);
        frames.iter().for_each(|frame| _ = world.sides[0].take(world.now, frame));
        world.now += Nanos::from_millis(1);
    }
    assert!(seen >= 3, "{seen}");
}

/// Both sides connect, each connection has its own delay in each direction: there is one session, and it stays.
fn sessions_that_collide(seed: u64) -> [BgpCounts; 2] {
    let draw = |number, below| random::below(random::word(random::key(seed), number), below);
    let spread = Nanos([0, 1_000_000, 200_000_000][draw(0, 3) as usize]);
    let mut both = [peers(0, 1, &[routes("16.0.0.0", 24, 10)]), peers(1, 1, &[routes("99.0.0.0", 20, 7)])];
    if draw(1, 8) == 0 {
        // Of two with the same identifier, the AS number decides.
        both[1][0].identity.identifier = both[0][0].identity.identifier;
    }
    both.iter_mut().flatten().for_each(|peer| peer.identity.hold_s = [0, 90][draw(2, 2) as usize]);
    let mut world = World::new(seed, Link { spread, ..CLEAN }, both);
    // One side begins later, by up to three times the delay.
    let late = draw(3, 2) as usize;
    world.sides[late].begin(Nanos(1 + draw(4, 3 * spread.0 + 1)));
    world.settle(Nanos::from_secs(10));
    let until = world.now + Nanos::from_secs(20);
    world.run(until, |_| false);
    let counts = world.sides.each_ref().map(Speaker::counts);
    for (side, counts) in world.sides.iter().zip(&counts) {
        let said = (side.established(), counts.established, counts.flaps, side.failure(0));
        assert_eq!(said, (1, 1, 0, None), "seed {seed}: {counts:?}");
    }
    counts
}

#[test]
fn of_two_connections_one_stays() {
    let both = (0..5_000).map(sessions_that_collide).filter(|[west, _]| west.opens.0 == 2).count();
    assert!(both > 500, "only {both} times there were two");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// For any behaviour of the link: sessions come up, each route is advertised once in each session, and both sides
    /// agree.
    #[test]
    fn routes_arrive_over_a_bad_link(
        seed: u64,
        loss_percent in 0u64..20,
        copies_percent in 0u64..5,
        jitter_us in 0u64..5_000,
        count in 1u32..6,
        v4 in 1u32..3_000,
        v6 in 1u32..500,
        passive in 0usize..3,
    ) {
        let own = [routes("16.0.0.0", 24, v4), routes("2001:db8:1::", 64, v6)];
        let mut both = [peers(0, count, &own), peers(1, count, &[routes("99.0.0.0", 20, 7)])];
        // None is passive, or one side's are.
        both.iter_mut().take(passive.min(1)).flatten().for_each(|peer| peer.passive = true);
        both.iter_mut().flatten().for_each(|peer| peer.identity.hold_s = 90);
        let link = Link { loss_percent, copies_percent, delay: Nanos::from_micros(300), jitter: Nanos::from_micros(jitter_us), spread: Nanos::ZERO };
        let mut world = World::new(seed, link, both);
        world.settle(Nanos::from_secs(300));
        for side in 0..2 {
            prop_assert_eq!(world.sides[side].established(), count as usize);
        }
        let losses = world.sides.each_ref().map(|side| side.first_loss().map(|(_, why)| why));
        if losses != [None; 2] {
            // Nothing but a link that let nothing through for so long ends a session: one side said so, and the other may have heard it.
            let silent = Failure::Silent(Nanos::from_secs(90));
            let expired = Failure::RefusedBy(Notification { code: 4, subcode: 0 });
            prop_assert!(losses.iter().flatten().any(|why| [silent, expired].contains(why)), "{losses:?}");
            prop_assert!(loss_percent > 5);
            return Ok(());
        }
        let [west, east] = world.sides.each_ref().map(Speaker::counts);
        let all = u64::from(count);
        prop_assert_eq!([west.established, west.flaps, east.established, east.flaps], [all, 0, all, 0]);
        prop_assert_eq!((west.advertised, east.advertised), (all * u64::from(v4 + v6), all * 7));
        prop_assert_eq!((east.received_ipv4, east.received_ipv6), (all * u64::from(v4), all * u64::from(v6)));
        prop_assert_eq!((west.received_ipv4, west.received_withdrawn), (all * 7, 0));
    }
}
