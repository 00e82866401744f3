//! Clients and a model of a server, with a network between them that loses, repeats and reorders.

use super::*;
use crate::ClientVlans;
use crate::pool::tests::{Network, Serve, common};
use std::collections::{BTreeMap, BTreeSet};
use wire::Vlans;

const SECOND: Nanos = Nanos::from_secs(1);
const SERVER_MAC: Mac = [2, 0, 0, 0, 0, 0xfe];

fn config(clients: u32) -> Dhcp6Config {
    Dhcp6Config {
        pool: common(clients),
        address: true,
        slaac: false,
        prefix_len: Some(56),
        rapid_commit: false,
        check: false,
        ask_for: vec![23],
    }
}

/// A client's message as a server reads it.
struct Asked {
    kind: u8,
    xid: [u8; 3],
    mac: Mac,
    server: Option<Vec<u8>>,
    is_rapid: bool,
    elapsed: u16,
    ip: Option<Ipv6Addr>,
    prefix: Option<Ipv6Addr>,
}

fn read(frame: &[u8]) -> Asked {
    assert_eq!(frame[..6], [0x33, 0x33, 0, 1, 0, 2], "to all servers");
    assert_eq!(frame[12..18], [0x81, 0, 0, 7, 0x86, 0xdd], "tagged");
    let udp = &frame[58..];
    let pseudo = wire::checksum::sum(&frame[26..58], 17 + udp.len() as u64);
    assert_eq!(wire::checksum::finish(wire::checksum::sum(udp, pseudo)), 0);
    assert_eq!(udp[..4], [2, 34, 2, 35], "from 546 to 547");
    let message = &udp[8..];
    let mut asked = Asked {
        kind: message[0],
        xid: *message[1..].first_chunk().unwrap(),
        mac: [0; 6],
        server: None,
        is_rapid: false,
        elapsed: 0,
        ip: None,
        prefix: None,
    };
    let ip = |bytes: &[u8]| Ipv6Addr::from(*bytes.first_chunk::<16>().unwrap());
    let mut rest = &message[4..];
    while !rest.is_empty() {
        let (number, len) =
            (u16::from_be_bytes([rest[0], rest[1]]), usize::from(u16::from_be_bytes([rest[2], rest[3]])));
        let value = &rest[4..4 + len];
        match number {
            1 => asked.mac = *value[4..].first_chunk().unwrap(),
            2 => asked.server = Some(value.to_vec()),
            3 if len > 12 => asked.ip = Some(ip(&value[16..])),
            8 => asked.elapsed = u16::from_be_bytes([value[0], value[1]]),
            14 => asked.is_rapid = true,
            25 => asked.prefix = Some(ip(&value[25..])),
            _ => {}
        }
        rest = &rest[4 + len..];
    }
    asked
}

/// A server with leases of some seconds.
struct Server {
    number: u8,
    preference: u8,
    valid_s: u32,
    /// Holder of an address.
    leases: BTreeMap<Mac, Ipv6Addr>,
    released: u32,
    declined: u32,
    requested: u32,
    /// Replies with this status instead of the requested leases.
    status: u16,
    silent: bool,
    /// Gives all the same address and prefix, until one is declined, or always.
    is_mad: bool,
    stays_mad: bool,
    rapid: bool,
    without_prefixes: bool,
}

impl Server {
    fn new(valid_s: u32) -> Self {
        Self {
            number: 1,
            preference: 255,
            valid_s,
            leases: BTreeMap::new(),
            released: 0,
            declined: 0,
            requested: 0,
            status: 0,
            silent: false,
            is_mad: false,
            stays_mad: false,
            rapid: false,
            without_prefixes: false,
        }
    }

    fn duid(&self) -> Vec<u8> {
        vec![0, 2, 0, 0, 0, 9, self.number]
    }

    fn take(&mut self, frame: &[u8]) -> Option<Vec<u8>> {
        let asked = read(frame);
        if self.silent || asked.server.as_ref().is_some_and(|server| *server != self.duid()) {
            return None;
        }
        let number = if self.is_mad { 9_999 } else { u16::from_be_bytes([asked.mac[4], asked.mac[5]]) };
        let ip = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 1, number);
        let prefix = Ipv6Addr::new(0x2001, 0xdb8, 0x7000 | number >> 8, number << 8, 0, 0, 0, 0);
        let mut status = self.status;
        let kind = match asked.kind {
            1 if asked.is_rapid && self.rapid => {
                self.leases.insert(asked.mac, ip);
                7
            }
            1 => 2,
            3 => {
                self.requested += 1;
                let prefix = (!self.without_prefixes).then_some(prefix);
                assert!(asked.ip.is_none_or(|asked| asked == ip), "what was offered");
                assert_eq!(asked.prefix, prefix, "what was offered");
                if status == 0 {
                    self.leases.insert(asked.mac, ip);
                }
                7
            }
            5 | 6 => {
                assert_eq!(asked.server.is_some(), asked.kind == 5);
                if !self.leases.contains_key(&asked.mac) {
                    status = 3;
                }
                7
            }
            8 => {
                self.released += u32::from(self.leases.remove(&asked.mac).is_some());
                7
            }
            9 => {
                self.declined += 1;
                assert!(asked.ip.is_some() && asked.prefix.is_none(), "only addresses are declined");
                self.is_mad = self.stays_mad;
                7
            }
            other => panic!("message {other}"),
        };
        let mut bytes = vec![kind, asked.xid[0], asked.xid[1], asked.xid[2]];
        let mut put = |number: u16, value: &[u8]| {
            bytes.extend(number.to_be_bytes());
            bytes.extend((value.len() as u16).to_be_bytes());
            bytes.extend(value);
        };
        put(1, &[&[0, 3, 0, 1], &asked.mac[..]].concat());
        put(2, &self.duid());
        put(7, &[self.preference]);
        if kind == 7 && asked.is_rapid {
            put(14, &[]);
        }
        let association = |of: u16, value: &[u8]| {
            let mut ia = [1, 0, 0].map(u32::to_be_bytes).concat();
            if status == 0 {
                ia.extend(of.to_be_bytes());
                ia.extend((value.len() as u16).to_be_bytes());
                ia.extend(value);
            } else {
                ia.extend([0, 13, 0, 2]);
                ia.extend(status.to_be_bytes());
            }
            ia
        };
        if asked.kind < 8 {
            let times = [self.valid_s, self.valid_s].map(u32::to_be_bytes).concat();
            put(3, &association(5, &[&ip.octets()[..], &times].concat()));
            if !self.without_prefixes {
                put(25, &association(26, &[&times[..], &[56], &prefix.octets()].concat()));
            }
        }
        Some(answer(asked.mac, &bytes))
    }
}

/// A server's message in a frame.
fn answer(to: Mac, message: &[u8]) -> Vec<u8> {
    let mut frame = Link::dhcp6(SERVER_MAC, &[7].into(), message);
    frame[..6].copy_from_slice(&to);
    frame[42..58].copy_from_slice(&link_local(to).octets());
    frame[58..62].copy_from_slice(&[2, 35, 2, 34]);
    frame
}

impl Serve for Vec<Server> {
    const SPREAD: Nanos = Nanos::from_millis(40);

    fn serve(&mut self, _: Nanos, frame: &[u8], replies: &mut Vec<Vec<u8>>) {
        replies.extend(self.iter_mut().filter_map(|server| server.take(frame)));
    }
}

/// Clients and servers over a network.
type World = Network<Dhcp6Protocol, Vec<Server>>;

impl World {
    fn new(config: Dhcp6Config, valid_s: u32, lost: u64, twice: u64) -> Self {
        Self::between(Dhcp6Clients::new(config), vec![Server::new(valid_s)], lost, twice)
    }

    /// Clients hold the leases that the server granted, and none twice.
    fn check(&self) {
        let leases: Vec<Lease6> = self.clients.leases().collect();
        let addresses: BTreeSet<Option<Ipv6Addr>> = leases.iter().map(|lease| lease.ip).collect();
        assert_eq!((addresses.len(), self.clients.up() as usize), (leases.len(), leases.len()));
        for lease in &leases {
            let given = self.server.iter().find_map(|server| server.leases.get(&lease.mac).copied());
            assert_eq!(given, lease.ip);
            assert_eq!(self.clients.mac_of_ip(lease.ip.unwrap()), Some(lease.mac));
            assert_eq!(self.clients.mac_of_ip(lease.link_local), Some(lease.mac));
            assert_eq!(lease.prefix.map(|(_, len)| len), Some(56));
        }
    }
}

#[test]
fn all_are_bound_at_the_rate_without_loss() {
    let mut world = World::new(config(2_000), 3_600, 0, 0);
    world.run_for(Nanos::from_secs(1));
    let begun = world.clients.begun;
    assert!((950..=1_065).contains(&begun), "{begun} began in a second");
    world.run_for(Nanos::from_secs(2));
    world.check();
    assert!(world.clients.all_up());
    let counts = world.clients.counts();
    assert_eq!(
        (counts.solicits, counts.advertises, counts.requests, counts.replies),
        (2_000, 2_000, 2_000, 2_000)
    );
    assert_eq!((counts.repeated, counts.refused, counts.bind.samples()), (0, 0, 2_000));
    let took = world.clients.set_up_time().unwrap();
    assert!(took > Nanos::from_millis(1_900) && took < Nanos::from_millis(2_200), "{took:?}");
    world.clients.release(world.now);
    world.run_for(Nanos::from_secs(4));
    assert_eq!((world.server[0].released, world.server[0].leases.len()), (2_000, 0));
    assert_eq!((world.clients.up(), world.clients.next_due()), (0, Nanos::MAX));
}

/// 20 % of frames lost, some twice, all out of order: all are bound, stay so, and give back what they have.
#[test]
fn all_are_bound_over_a_network_that_loses_and_reorders() {
    for seed in 0..8 {
        let config = Dhcp6Config { pool: PoolConfig { seed, outstanding: 50, ..common(300) }, ..config(300) };
        let mut world = World::new(config, 600, 200, 100);
        world.run_for(Nanos::from_secs(900));
        world.check();
        assert!(world.clients.all_up(), "{} of 300", world.clients.up());
        assert!(world.outstanding_max <= 50);
        for _ in 0..20 {
            world.run_for(Nanos::from_secs(300));
            world.check();
        }
        let counts = world.clients.counts();
        assert!(counts.repeated > 0 && counts.renewed > 1_000 && counts.lost < 5, "{} lost", counts.lost);
        world.clients.release(world.now);
        world.run_for(Nanos::from_secs(30));
        let left = world.server[0].leases.len();
        assert!(left < 5 && world.clients.next_due() == Nanos::MAX, "{left} not released: four tries each");
    }
}

#[test]
fn a_lease_is_renewed_then_rebound_then_lost() {
    let mut world = World::new(config(1), 1_000, 0, 0);
    world.run_for(Nanos::from_secs(499));
    assert_eq!(world.clients.counts().renewed, 0);
    world.run_for(Nanos::from_secs(3));
    assert_eq!((world.clients.counts().renewed, world.clients.counts().renews), (1, 1), "at T1: half");
    world.server[0].silent = true;
    world.run_for(Nanos::from_secs(797));
    assert_eq!(world.clients.clients[0].state, State::Renewing);
    let renews = world.clients.counts().renews;
    assert!((5..=7).contains(&renews), "{renews}: after 10 s, then twice as long each time");
    world.run_for(Nanos::from_secs(10));
    assert_eq!(world.clients.clients[0].state, State::Rebinding, "at T2: four fifths");
    world.server[0].silent = false;
    world.run_for(Nanos::from_secs(65));
    assert_eq!((world.clients.counts().rebound, world.clients.up()), (1, 1));
    world.server[0].silent = true;
    world.run_for(Nanos::from_secs(1_010));
    assert_eq!((world.clients.counts().lost, world.clients.up()), (1, 0));
    assert_eq!(world.clients.clients[0].state, State::Soliciting);
    world.server[0].silent = false;
    world.run_for(Nanos::from_secs(200));
    assert!(world.clients.all_up());
}

#[test]
fn a_server_that_forgot_is_asked_anew_and_one_that_refuses_less_and_less() {
    let mut world = World::new(config(1), 1_000, 0, 0);
    world.run_for(Nanos::from_secs(10));
    world.server[0].leases.clear();
    world.run_for(Nanos::from_secs(495));
    world.check();
    let counts = world.clients.counts();
    assert_eq!(
        (counts.lost, counts.requests, counts.solicits, world.clients.up()),
        (1, 2, 1, 1),
        "NoBinding"
    );
    let mut world = World::new(config(1), 1_000, 0, 0);
    world.server[0].status = 2;
    world.run_for(Nanos::from_secs(100));
    let counts = world.clients.counts().clone();
    assert!((5..=9).contains(&counts.solicits) && counts.refused == counts.advertises, "{counts:?}");
    world.server[0].status = 0;
    world.run_for(Nanos::from_secs(130));
    assert!(world.clients.all_up());
}

/// The server of a lease is silent, and another one has no binding for it: a request goes to that one, immediately (RFC
/// 8415 section 18.2.10.1).
#[test]
fn a_server_without_the_binding_is_asked_for_one() {
    let mut world = World::new(config(1), 1_000, 0, 0);
    world.run_for(Nanos::from_secs(10));
    world.server.push(Server { number: 2, preference: 1, ..Server::new(1_000) });
    world.server[0].silent = true;
    world.run_for(Nanos::from_secs(800));
    let counts = world.clients.counts();
    assert_eq!((counts.rebinds, counts.requests, counts.refused), (1, 2, 1));
    assert_eq!((world.server[1].requested, world.server[1].leases.len()), (1, 1));
    assert!(world.clients.all_up());
    // From now on it is the client's.
    world.run_for(Nanos::from_secs(510));
    assert_eq!(world.clients.counts().renewed, 1);
    world.clients.release(world.now);
    world.run_for(Nanos::from_secs(10));
    assert_eq!(world.server[1].released, 1);
}

#[test]
fn the_preferred_server_is_chosen_after_the_first_wait() {
    let mut world = World::new(config(1), 1_000, 0, 0);
    world.server[0].preference = 10;
    world.server.push(Server { number: 2, preference: 20, ..Server::new(1_000) });
    world.server.push(Server { number: 3, preference: 15, ..Server::new(1_000) });
    world.run_for(Nanos::from_secs(3));
    assert!(world.clients.all_up());
    let requested: Vec<u32> = world.server.iter().map(|server| server.requested).collect();
    assert_eq!(requested, [0, 1, 0]);
    let bind = &world.clients.counts().bind;
    assert!(bind.min > 1_000_000_000 && bind.max < 1_300_000_000, "{bind:?}");
}

#[test]
fn rapid_commit_takes_two_messages() {
    let mut world = World::new(Dhcp6Config { rapid_commit: true, ..config(5) }, 1_000, 0, 0);
    world.server[0].rapid = true;
    world.run_for(Nanos::from_secs(2));
    world.check();
    let counts = world.clients.counts();
    assert_eq!((counts.solicits, counts.replies, counts.requests, counts.bind.samples()), (5, 5, 0, 5));
}

#[test]
fn what_another_client_has_is_declined() {
    let mut world = World::new(config(2), 1_000, 0, 0);
    world.server[0].is_mad = true;
    world.run_for(Nanos::from_secs(20));
    world.check();
    let counts = world.clients.counts();
    assert_eq!((counts.conflicts, counts.declines, world.server[0].declined), (1, 1, 1));
    assert!(world.clients.all_up());
}

/// A server that gives the same again and again is not kept busy by a client that can't use it (RFC 8415 section 14.1).
/// Prefixes are released (section 18.2.8).
#[test]
fn conflicts_without_end_are_met_less_and_less() {
    for address in [true, false] {
        let mut world = World::new(Dhcp6Config { address, ..config(2) }, 100_000, 0, 0);
        (world.server[0].is_mad, world.server[0].stays_mad) = (true, true);
        world.run_for(Nanos::from_secs(120));
        let counts = world.clients.counts();
        assert!((5..=9).contains(&counts.conflicts), "{counts:?}");
        assert_eq!(
            (counts.declines, counts.releases),
            if address { (counts.conflicts, 0) } else { (0, counts.conflicts) }
        );
        assert!(counts.solicits < 12 && world.clients.up() == 1, "{counts:?}");
        world.server[0].is_mad = false;
        world.run_for(Nanos::from_secs(90));
        assert!(world.clients.all_up());
    }
}

/// RFC 8415 section 21.9: the first message of an exchange, however late it is, has waited for nothing.
#[test]
fn time_elapses_from_the_first_message() {
    let mut clients =
        Dhcp6Clients::new(Dhcp6Config { pool: PoolConfig { outstanding: 1, ..common(1) }, ..config(1) });
    let mut server = Server::new(3_600);
    let mut next = |at: Nanos| {
        let mut frames = Vec::new();
        clients.poll(at, &mut frames);
        let frame = frames.remove(0);
        let answer = server.take(&frame).filter(|_| at > Nanos::from_secs(2));
        if let Some(answer) = answer {
            clients.take(at, &answer);
        }
        read(&frame)
    };
    let first = next(SECOND);
    let again = next(Nanos::from_millis(2_500));
    assert_eq!((first.kind, first.elapsed, again.kind, again.elapsed), (1, 0, 1, 150));
    assert_eq!((first.xid == again.xid, first.server), (true, None));
    let request = next(Nanos::from_millis(2_750));
    assert_eq!((request.kind, request.elapsed, request.xid == first.xid), (3, 0, false));
}

/// RFC 8415 sections 14.2 and 21.4.
#[test]
fn times_are_the_servers_where_they_are_in_order() {
    let forever = u32::MAX;
    for ((t1_s, t2_s, preferred_s, valid_s), expected) in [
        ((100, 200, 1_000, 2_000), (100, 200, 2_000)),
        ((0, 0, 1_000, 2_000), (500, 800, 2_000)),
        ((100, 0, 1_000, 2_000), (100, 800, 2_000)),
        ((900, 0, 1_000, 2_000), (900, 900, 2_000)),
        ((0, 100, 1_000, 2_000), (500, 800, 2_000)),
        ((100, 3_000, 1_000, 2_000), (500, 800, 2_000)),
        ((0, 0, forever, forever), (forever, forever, forever)),
    ] {
        let offer = Offer { t1_s, t2_s, preferred_s, valid_s, ..Offer::default() };
        assert_eq!(offer.times(), expected, "{offer:?}");
    }
}

/// A server's reply to the next frame of clients, with another option.
fn reply_with(
    clients: &mut Dhcp6Clients,
    server: &mut Server,
    now: Nanos,
    number: u16,
    value: &[u8],
) -> Vec<u8> {
    let mut frames = Vec::new();
    while frames.is_empty() {
        clients.poll(now, &mut frames);
    }
    let frame = server.take(&frames[0]).unwrap();
    let option = [&number.to_be_bytes()[..], &(value.len() as u16).to_be_bytes(), value].concat();
    answer(read(&frames[0]).mac, &[&frame[66..], &option].concat())
}

/// RFC 8415 section 21.24: from a minute to a day, of any message of a server.
#[test]
fn servers_set_the_longest_time_between_solicits() {
    for (seconds, expected) in [(59u32, 3_600_000), (60, 60_000), (86_400, 86_400_000), (86_401, 3_600_000)] {
        let (mut clients, mut server) = (Dhcp6Clients::new(config(1)), Server::new(1_000));
        let said = reply_with(&mut clients, &mut server, SECOND, 82, &seconds.to_be_bytes());
        assert!(clients.take(SECOND, &said));
        assert_eq!(clients.shared.solicit_max_ms, expected, "{seconds}");
    }
}

/// RFC 8415 section 18.2.10: UnspecFail is no reply to what was requested, which is repeated.
#[test]
fn an_unspecified_failure_changes_nothing() {
    let (mut clients, mut server) = (Dhcp6Clients::new(config(1)), Server::new(1_000));
    let offer = reply_with(&mut clients, &mut server, SECOND, 999, &[]);
    clients.take(SECOND, &offer);
    let failure = reply_with(&mut clients, &mut server, SECOND, 13, &[0, 1]);
    assert!(clients.take(SECOND, &failure));
    assert_eq!((clients.clients[0].state, clients.counts().refused), (State::Requesting, 1));
    let at = Nanos::from_millis(2_200);
    let good = reply_with(&mut clients, &mut server, at, 999, &[]);
    clients.take(at, &good);
    assert!(clients.all_up());
    assert_eq!((clients.counts().requests, clients.counts().repeated), (2, 1));
}

/// RFC 8415 sections 18.2.2 and 7.6: after ten requests without a reply, three minutes, a client begins anew.
#[test]
fn requests_without_a_reply_end_in_another_search() {
    let (mut clients, mut server) = (Dhcp6Clients::new(config(1)), Server::new(1_000));
    let (mut now, mut kinds) = (SECOND, Vec::new());
    while kinds.len() < 12 {
        let mut frames = Vec::new();
        clients.poll(now, &mut frames);
        for frame in frames {
            kinds.push(read(&frame).kind);
            if kinds.len() == 1 {
                clients.take(now, &server.take(&frame).unwrap());
            }
        }
        now = clients.next_due().max(now);
    }
    assert_eq!(kinds, [&[1][..], &[3; 10], &[1]].concat());
    let took = now.since(SECOND).0 / SECOND.0;
    assert!((160..=205).contains(&took), "{took} s");
}

/// A neighbour replies to the probe for the address of one of three clients, which declines it.
#[test]
fn what_a_neighbour_has_is_declined() {
    let mut clients = Dhcp6Clients::new(Dhcp6Config { check: true, prefix_len: None, ..config(3) });
    let mut server = Server::new(3_600);
    server.without_prefixes = true;
    let (mut now, mut probed, mut offered) = (SECOND, 0, 0u8);
    while now < Nanos::from_secs(20) {
        let mut frames = Vec::new();
        clients.poll(now, &mut frames);
        for frame in frames {
            if frame[24] == 58 {
                // A neighbour solicitation: from nobody, to the group of the address.
                assert_eq!((frame[25], &frame[26..42], frame[58]), (255, &[0; 16][..], 135));
                assert_eq!(frame[..4], [0x33, 0x33, 0xff, 1]);
                let target = Ipv6Addr::from(*frame[66..].first_chunk::<16>().unwrap());
                let message = [&[136, 0, 0, 0, 0x20, 0, 0, 0][..], &target.octets()].concat();
                let claim = Link::neighbour([2, 0, 0, 9, 9, 9], &[7].into(), target, &message);
                let own = Link::neighbour([2, 0, 0, 1, 0, 2], &[7].into(), target, &message);
                assert!(crate::may_concern(&claim) && !clients.take(now, &own), "an echo of a client here");
                assert_eq!(clients.mac_of_ip(target), None, "nobody has it yet");
                probed += 1;
                if target.octets()[15] == 1 && offered == 0 {
                    offered = 1;
                    assert!(clients.take(now, &claim));
                    assert!(!clients.take(now, &claim), "once is enough");
                }
            } else if let Some(answer) = server.take(&frame) {
                clients.take(now, &answer);
            }
        }
        now += Nanos::from_millis(10);
    }
    let counts = clients.counts();
    assert_eq!(
        (probed, counts.duplicates, counts.declines, server.declined, counts.conflicts),
        (4, 1, 1, 1, 0)
    );
    assert!(clients.all_up() && counts.bind.samples() == 4);
}

/// Clients that end while they check their addresses still have leases, and release them.
#[test]
fn what_is_being_checked_is_given_back() {
    let mut clients = Dhcp6Clients::new(Dhcp6Config { check: true, prefix_len: None, ..config(3) });
    let mut server = Server::new(3_600);
    server.without_prefixes = true;
    let (mut now, mut holding) = (SECOND, None);
    while now < Nanos::from_secs(20) {
        let mut frames = Vec::new();
        clients.poll(now, &mut frames);
        for frame in frames.iter().filter(|frame| frame[24] != 58) {
            if let Some(answer) = server.take(frame) {
                clients.take(now, &answer);
            }
        }
        if holding.is_none() && clients.counts().replies == 3 {
            holding = Some(clients.up());
            clients.release(now);
        }
        now += Nanos::from_millis(10);
    }
    assert!(holding.is_some_and(|holding| holding < 3), "some were still being checked");
    assert_eq!((server.released, clients.counts().releases, clients.next_due()), (3, 3, Nanos::MAX));
}

#[test]
fn leases_are_renewed_and_released_when_told() {
    let mut world =
        World::new(Dhcp6Config { pool: PoolConfig { rate: 100, ..common(50) }, ..config(50) }, 3_600, 0, 0);
    world.run_for(Nanos::from_secs(2));
    assert_eq!(world.clients.renew_now(world.now), 50);
    world.run_for(Nanos::from_secs(1));
    let counts = world.clients.counts();
    assert_eq!((counts.renews, counts.renewed, counts.lost), (50, 50, 0));
    assert_eq!(world.clients.release_now(world.now), 50);
    world.run_for(Nanos::from_secs(2));
    assert_eq!(
        (world.server[0].released, world.clients.up(), world.clients.release_now(world.now)),
        (50, 0, 0)
    );
    assert!(world.clients.views().all(|view| view.held.is_none() && view.tally.releases == 1));
    assert_eq!(world.clients.renew_now(world.now), 50);
    world.run_for(Nanos::from_secs(2));
    world.check();
    assert!(world.clients.all_up());
    let view = world.clients.views().next().unwrap();
    let held = view.held.unwrap();
    assert_eq!((held.valid_s, held.renew_s, held.rebind_s, held.server.len()), (3_600, 1_800, 2_880, 7));
    assert_eq!(
        (view.tally.solicits, view.tally.requests, view.tally.renews, view.tally.replies),
        (2, 2, 1, 4)
    );
    // Told to, and then at the end at once: each once.
    world.clients.release_now(world.now);
    world.clients.release(world.now);
    world.run_for(Nanos::from_secs(3));
    assert_eq!((world.server[0].released, world.clients.counts().releases), (100, 100));
    assert_eq!(world.clients.next_due(), Nanos::MAX);
}

#[test]
fn frames_for_others_change_nothing() {
    let mut clients = Dhcp6Clients::new(config(2));
    let mut frames = Vec::new();
    clients.poll(SECOND, &mut frames);
    let asked = read(&frames[0]);
    assert_eq!((asked.kind, asked.elapsed, asked.ip), (1, 0, None));
    let offer = Server::new(60).take(&frames[0]).unwrap();
    let (vlan, xid) = (15, 58 + 8 + 1);
    for at in [vlan, xid] {
        let mut other = offer.clone();
        other[at] ^= 1;
        assert!(!clients.take(SECOND, &other), "byte {at}");
    }
    for len in 0..offer.len() {
        assert!(!clients.take(SECOND, &offer[..len]), "cut");
    }
    assert!(crate::may_concern(&offer) && clients.take(SECOND, &offer));
    let mut request = Vec::new();
    clients.poll(SECOND, &mut request);
    assert_eq!(read(&request[0]).kind, 3);
    assert!(!clients.take(SECOND, &offer), "of the exchange before");
}

/// 10,000 clients that hold leases: what is stored of each, with room that is allocated and not used.
#[test]
fn an_idle_client_takes_less_than_300_bytes() {
    let mut world = World::new(config(10_000), 100_000, 0, 0);
    world.run_for(Nanos::from_secs(15));
    assert!(world.clients.all_up());
    let shared = &world.clients.shared;
    let holders = (shared.holders.len(), size_of::<Ipv6Addr>() + size_of::<u32>());
    let prefixes = (shared.prefixes.len(), size_of::<u64>() + size_of::<u32>());
    let each = world.bytes_each(&[holders, prefixes]);
    assert!(each <= 300, "{each} bytes");
}

/// Frames that clients send until `until`, in steps of 10 ms; the neighbours they probe for.
fn probes(clients: &mut Dhcp6Clients, from: Nanos, until: Nanos) -> Vec<Ipv6Addr> {
    let (mut now, mut probed) = (from, Vec::new());
    while now < until {
        let mut frames = Vec::new();
        clients.poll(now, &mut frames);
        for frame in frames {
            assert_eq!((frame[24], frame[58]), (58, 135), "nothing but questions for addresses is sent");
            probed.push(Ipv6Addr::from(*frame[66..].first_chunk::<16>().unwrap()));
        }
        now += Nanos::from_millis(10);
    }
    probed
}

/// Clients wait for a prefix, make addresses of it, check them, keep them as long as it is advertised, and lose them after.
#[test]
fn addresses_of_ones_own_making_follow_the_prefix() {
    let slaac = Dhcp6Config { slaac: true, check: true, prefix_len: None, ..config(3) };
    let mut clients = Dhcp6Clients::new(slaac);
    let at = |second: u64| Nanos::from_secs(second);
    assert!(probes(&mut clients, at(1), at(5)).is_empty() && clients.next_due() == Nanos::MAX);
    let prefix: Ipv6Addr = "2001:db8:1:2::".parse().unwrap();
    clients.advertise(at(5), Some((prefix, at(100))));
    let asked = probes(&mut clients, at(5), at(6));
    let own = |last: u16| Ipv6Addr::new(0x2001, 0xdb8, 1, 2, 0x0000, 0x00ff, 0xfe01, last);
    assert_eq!(asked, [own(0), own(1), own(2)]);
    // A neighbour has one of them: its client has none from now on (RFC 4862 section 5.4.5).
    let message = [&[136, 0, 0, 0, 0x20, 0, 0, 0][..], &own(1).octets()].concat();
    assert!(clients.take(at(6), &Link::neighbour([2, 0, 0, 9, 9, 9], &[7].into(), own(1), &message)));
    assert!(probes(&mut clients, at(6), at(10)).is_empty());
    let have = |clients: &Dhcp6Clients| clients.leases().map(|lease| lease.ip.unwrap()).collect::<Vec<_>>();
    assert_eq!(have(&clients), [own(0), own(2)]);
    assert_eq!((clients.counts().duplicates, clients.counts().bind.samples(), clients.up()), (1, 2, 2));
    assert_eq!((clients.mac_of_ip(own(2)), clients.mac_of_ip(own(1))), (Some([2, 0, 0, 1, 0, 2]), None));
    // It is advertised for longer, and nobody checks anew.
    clients.advertise(at(10), Some((prefix, at(300))));
    assert!(probes(&mut clients, at(10), at(200)).is_empty() && clients.up() == 2);
    assert_eq!(clients.views().next().unwrap().held.unwrap().valid_s, 295);
    assert_eq!(clients.next_due(), at(300));
    assert!(probes(&mut clients, at(200), at(301)).is_empty());
    assert_eq!((clients.up(), clients.counts().lost), (0, 2));
    // Another one.
    clients.advertise(at(400), Some(("2001:db8:9::".parse().unwrap(), Nanos::MAX)));
    assert_eq!(probes(&mut clients, at(400), at(402)).len(), 2);
    assert_eq!(clients.up(), 2);
    clients.release(at(402));
    assert!(probes(&mut clients, at(402), at(403)).is_empty());
    assert_eq!((clients.up(), clients.next_due()), (0, Nanos::MAX));
}

#[test]
fn clients_with_their_own_vlans_send_and_receive_in_them() {
    let each = crate::EachVlan { outer: Some((100, 101)), inner: (5, 6) };
    let vlans = ClientVlans::each(each, &wire::Vlans::NONE);
    let mut clients = Dhcp6Clients::new(Dhcp6Config {
        pool: PoolConfig { vlans, ..common(3) },
        prefix_len: None,
        ..config(3)
    });
    let mut frames = Vec::new();
    (1..10).for_each(|ms| clients.poll(Nanos::from_millis(ms), &mut frames));
    let sent: Vec<_> = frames.iter().map(|frame| frame[12..20].to_vec()).collect();
    let tags = |outer, inner| vec![0x88, 0xa8, 0, outer, 0x81, 0, 0, inner];
    assert_eq!(sent, [tags(100, 5), tags(100, 6), tags(101, 5)]);
    // The same reply is taken in the client's own VLANs alone.
    let asked = frames[1].clone();
    let reply = |tags: [u16; 2]| {
        let message = &asked[8 + 12 + 2 + 40 + 8..];
        let server = [0, 2, 0, 8, 1, 2, 3, 4];
        let mut payload = [&[2][..], &message[1..4]].concat();
        let mut rest = &message[4..];
        while !rest.is_empty() {
            let len = 4 + usize::from(u16::from_be_bytes([rest[2], rest[3]]));
            if rest[..2] == [0, 1] {
                payload.extend(&rest[..len]);
            }
            rest = &rest[len..];
        }
        payload.extend([&server[..], &[9, 9, 9, 9]].concat());
        let own: Vlans = tags.into();
        let mut frame = Link { from: SERVER_MAC, to: [2, 0, 0, 1, 0, 1], vlans: &own }
            .header(crate::frame::TYPE_IPV6, 100);
        let (len, to) = ((8 + payload.len()) as u16, link_local([2, 0, 0, 1, 0, 1]));
        frame.extend([&[0x60, 0, 0, 0][..], &len.to_be_bytes(), &[17, 64]].concat());
        frame.extend([link_local(SERVER_MAC).octets(), to.octets()].concat());
        let start = frame.len();
        frame.extend([&[2, 35, 2, 34][..], &len.to_be_bytes(), &[0, 0], &payload].concat());
        let pseudo = wire::checksum::sum(&frame[start - 32..start], 17 + u64::from(len));
        let sum = wire::checksum::finish(wire::checksum::sum(&frame[start..], pseudo));
        frame[start + 6..start + 8].copy_from_slice(&sum.to_be_bytes());
        frame
    };
    let now = Nanos::from_millis(20);
    assert!(!clients.take(now, &reply([100, 5])), "another subscriber's VLANs");
    assert!(clients.take(now, &reply([100, 6])));
    assert_eq!(clients.client_of_ip(link_local([2, 0, 0, 1, 0, 2])), Some(2));
}
