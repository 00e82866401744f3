//! Clients and a model of a server, with a network between them that loses, repeats and reorders.

use super::*;
use crate::ClientVlans;
use crate::pool::tests::{Network, Serve, common};
use std::collections::{BTreeMap, BTreeSet};

const SECOND: Nanos = Nanos::from_secs(1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const SERVER_MAC: Mac = [2, 0, 0, 0, 0, 0xfe];

fn config(clients: u32) -> DhcpConfig {
    DhcpConfig {
        pool: common(clients),
        retry: Nanos::from_secs(4),
        check: false,
        broadcast: false,
        host_name: Some("client-{n}".into()),
        vendor_class: Some("eagre".into()),
        client_id: None,
        ask_for: vec![6],
        relay: RelayInfo { circuit_id: Some("ge-0/0/{n}".into()), remote_id: None },
    }
}

/// A client's message as a server reads it.
struct Asked {
    kind: u8,
    xid: [u8; 4],
    secs: u16,
    mac: Mac,
    ciaddr: Ipv4Addr,
    options: BTreeMap<u8, Vec<u8>>,
    /// Numbers of its options as they come.
    order: Vec<u8>,
}

fn read(frame: &[u8]) -> Asked {
    assert_eq!(frame[12..18], [0x81, 0, 0, 7, 8, 0], "tagged");
    let payload = &frame[18 + 20 + 8..];
    assert_eq!(wire::checksum::finish(wire::checksum::sum(&frame[18..38], 0)), 0);
    assert_eq!((payload[..3].to_vec(), payload.len() >= 300), (vec![1, 1, 6], true));
    let (mut options, mut order) = (BTreeMap::new(), Vec::new());
    let mut rest = &payload[240..];
    while rest[0] != option::END {
        let len = usize::from(rest[1]);
        order.push(rest[0]);
        assert_eq!(options.insert(rest[0], rest[2..2 + len].to_vec()), None, "an option twice");
        rest = &rest[2 + len..];
    }
    Asked {
        kind: options[&option::TYPE][0],
        xid: *payload[4..].first_chunk().unwrap(),
        secs: u16::from_be_bytes([payload[8], payload[9]]),
        mac: *payload[28..].first_chunk().unwrap(),
        ciaddr: Ipv4Addr::from(*payload[12..].first_chunk::<4>().unwrap()),
        options,
        order,
    }
}

/// A server with leases of some seconds.
struct Server {
    /// The last part of its address.
    number: u8,
    lease_s: u32,
    pool: u32,
    /// Holder of an address, and its expiry.
    leases: BTreeMap<Ipv4Addr, (Mac, Nanos)>,
    released: u32,
    refuses: bool,
    silent: bool,
    /// Addresses of other hosts on the link, and addresses that clients declined.
    taken: BTreeSet<Ipv4Addr>,
    declined: BTreeSet<Ipv4Addr>,
    /// An address to give instead of any other, and the mask.
    nonsense: Option<Ipv4Addr>,
    mask: [u8; 4],
    /// T1 and T2, if it gives any.
    times: Option<[u32; 2]>,
}

/// Reply of a neighbour that has `taken` to a probe.
fn defended(taken: &BTreeSet<Ipv4Addr>, frame: &[u8]) -> Option<Vec<u8>> {
    let arp = &frame[18..];
    let target = Ipv4Addr::from(*arp[24..].first_chunk::<4>().unwrap());
    assert_eq!((&frame[..6], &arp[14..18]), (&BROADCAST[..], &[0; 4][..]), "a probe");
    let vlans = [7].into();
    let link = Link { from: [2, 9, 9, 9, 9, 9], to: *arp[8..].first_chunk().unwrap(), vlans: &vlans };
    taken.contains(&target).then(|| link.arp(crate::frame::ARP_REPLY, target, Ipv4Addr::UNSPECIFIED))
}

impl Server {
    fn new(lease_s: u32) -> Self {
        let leases = BTreeMap::new();
        Self {
            number: 1,
            lease_s,
            pool: 65_000,
            leases,
            released: 0,
            refuses: false,
            silent: false,
            taken: BTreeSet::new(),
            declined: BTreeSet::new(),
            nonsense: None,
            mask: [255, 255, 0, 0],
            times: None,
        }
    }

    fn free(&self, now: Nanos, mac: Mac) -> Option<Ipv4Addr> {
        // Near the client's number, so that the search is short.
        let start = u32::from(mac[4]) << 8 | u32::from(mac[5]);
        let all = (0..self.pool).map(|n| Ipv4Addr::from(0x0a00_0100 + (start + n) % self.pool));
        let mut fit = all
            .filter(|ip| !self.declined.contains(ip))
            .filter(|ip| self.leases.get(ip).is_none_or(|(of, until)| *of == mac || *until <= now));
        fit.next()
    }

    fn take(&mut self, now: Nanos, frame: &[u8]) -> Option<Vec<u8>> {
        if frame[16..18] == [8, 6] {
            return defended(&self.taken, frame);
        }
        let asked = read(frame);
        let ip =
            |number: u8| asked.options.get(&number).map(|v| Ipv4Addr::from(*v.first_chunk::<4>().unwrap()));
        if self.silent {
            return None;
        }
        let until = now.saturating_add(Nanos::from_secs(self.lease_s.into()));
        let (kind, address) = match asked.kind {
            1 => {
                assert_eq!(asked.options[&option::PARAMETERS], [option::MASK, option::ROUTER, 6]);
                assert!(asked.options[&option::RELAY].starts_with(&[1]));
                let ip = self.free(now, asked.mac)?;
                // Held for as long as a client may take.
                self.leases.insert(ip, (asked.mac, now.saturating_add(Nanos::from_secs(120))));
                (2, ip)
            }
            3 => {
                let wanted = ip(option::REQUESTED).unwrap_or(asked.ciaddr);
                let holds =
                    self.leases.get(&wanted).is_some_and(|(mac, until)| *mac == asked.mac && *until > now);
                if self.refuses || !holds {
                    (6, Ipv4Addr::UNSPECIFIED)
                } else {
                    self.leases.insert(wanted, (asked.mac, until));
                    (5, wanted)
                }
            }
            4 => {
                // RFC 2131 table 5 and section 4.4.4.
                assert_eq!((&frame[..6], asked.ciaddr), (&BROADCAST[..], Ipv4Addr::UNSPECIFIED));
                assert_eq!(ip(option::SERVER), Some(SERVER));
                assert!(!asked.options.contains_key(&option::PARAMETERS));
                let ip = ip(option::REQUESTED).expect("the address that is declined");
                self.leases.remove(&ip);
                self.declined.insert(ip);
                return None;
            }
            7 => {
                assert_eq!((&frame[..6], ip(option::SERVER)), (&SERVER_MAC[..], Some(SERVER)));
                self.released += u32::from(self.leases.remove(&asked.ciaddr).is_some());
                return None;
            }
            other => panic!("message {other}"),
        };
        let address = self.nonsense.filter(|_| kind != 6).unwrap_or(address);
        let mut bytes = vec![0; 240];
        bytes[..3].copy_from_slice(&[2, 1, 6]);
        bytes[4..8].copy_from_slice(&asked.xid);
        bytes[16..20].copy_from_slice(&address.octets());
        bytes[28..34].copy_from_slice(&asked.mac);
        bytes[236..240].copy_from_slice(&[99, 130, 83, 99]);
        bytes.extend([53, 1, kind, 54, 4, 10, 0, 0, self.number]);
        bytes.extend([1, 4]);
        bytes.extend(self.mask);
        bytes.extend([3, 4, 10, 0, 0, 1, 51, 4]);
        bytes.extend(self.lease_s.to_be_bytes());
        for (number, time) in [58, 59].into_iter().zip(self.times.into_iter().flatten()) {
            bytes.extend([number, 4]);
            bytes.extend(time.to_be_bytes());
        }
        bytes.push(255);
        let link = Link { from: SERVER_MAC, to: asked.mac, vlans: &[7].into() };
        Some(link.udp((SERVER, SERVER_PORT), (address, CLIENT_PORT), &bytes))
    }
}

impl Serve for Server {
    const SPREAD: Nanos = Nanos::from_millis(40);

    fn serve(&mut self, now: Nanos, frame: &[u8], replies: &mut Vec<Vec<u8>>) {
        replies.extend(self.take(now, frame));
    }
}

/// Clients and server over a network.
type World = Network<DhcpProtocol, Server>;

impl World {
    fn new(config: DhcpConfig, lease_s: u32, lost: u64, twice: u64) -> Self {
        Self::between(DhcpClients::new(config), Server::new(lease_s), lost, twice)
    }

    /// Clients hold the addresses that the server granted, and no address twice.
    fn check(&self) {
        let leases: Vec<Lease> = self.clients.leases().collect();
        let addresses: BTreeSet<Ipv4Addr> = leases.iter().map(|lease| lease.ip).collect();
        assert_eq!(addresses.len(), leases.len(), "an address twice");
        for lease in &leases {
            assert_eq!(self.server.leases.get(&lease.ip).map(|(mac, _)| *mac), Some(lease.mac));
            assert_eq!((lease.prefix_len, lease.router), (16, Some(SERVER)));
            assert_eq!(self.clients.lease_of(lease.ip), Some(*lease));
        }
        assert_eq!(self.clients.counts().conflicts, 0);
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
    assert_eq!((counts.discovers, counts.offers, counts.requests, counts.acks), (2_000, 2_000, 2_000, 2_000));
    assert_eq!((counts.repeated, counts.naks, counts.bind.samples()), (0, 0, 2_000));
    let took = world.clients.set_up_time().unwrap();
    assert!(took > Nanos::from_millis(1_900) && took < Nanos::from_millis(2_200), "{took:?}");
    world.clients.release(world.now);
    world.run_for(Nanos::from_secs(4));
    assert_eq!((world.server.released, world.server.leases.len()), (2_000, 0));
    assert_eq!((world.clients.up(), world.clients.next_due()), (0, Nanos::MAX));
}

/// 20 % of frames lost, some twice, all out of order: all are bound, and stay so.
#[test]
fn all_are_bound_over_a_network_that_loses_and_reorders() {
    for seed in 0..8 {
        let config = DhcpConfig { pool: PoolConfig { seed, outstanding: 50, ..common(300) }, ..config(300) };
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
        assert!(counts.repeated > 0 && counts.renewed > 1_000 && counts.rebound > 0, "{counts:?}");
    }
}

#[test]
fn a_lease_is_renewed_then_rebound_then_lost() {
    let mut world = World::new(config(1), 800, 0, 0);
    world.run_for(Nanos::from_secs(399));
    assert_eq!(world.clients.counts().renewed, 0);
    world.run_for(Nanos::from_secs(3));
    assert_eq!((world.clients.counts().renewed, world.clients.counts().requests), (1, 2), "at T1");
    world.server.silent = true;
    world.run_for(Nanos::from_secs(698));
    let asked = world.clients.counts().requests;
    assert!(asked > 3, "{asked}");
    assert_eq!(world.clients.clients[0].state, State::Renewing);
    world.run_for(Nanos::from_secs(10));
    assert_eq!(world.clients.clients[0].state, State::Rebinding, "at T2");
    world.server.silent = false;
    world.run_for(Nanos::from_secs(65));
    assert_eq!((world.clients.counts().rebound, world.clients.up()), (1, 1));
    world.server.silent = true;
    world.run_for(Nanos::from_secs(900));
    assert_eq!((world.clients.counts().lost, world.clients.up()), (1, 0));
    assert_eq!(world.clients.clients[0].state, State::Selecting);
    world.server.silent = false;
    world.run_for(Nanos::from_secs(100));
    assert!(world.clients.all_up());
}

#[test]
fn a_server_that_refuses_is_asked_less_and_less() {
    let mut world = World::new(config(1), 800, 0, 0);
    world.server.refuses = true;
    world.run_for(Nanos::from_secs(300));
    let counts = world.clients.counts().clone();
    assert!((6..=12).contains(&counts.naks), "{counts:?}");
    world.server.refuses = false;
    world.run_for(Nanos::from_secs(70));
    assert!(world.clients.all_up());
    // A lease is lost by a refusal, too, and a new one follows at once.
    world.server.leases.clear();
    world.run_for(Nanos::from_secs(402));
    world.check();
    assert_eq!((world.clients.counts().lost, world.clients.up()), (1, 1));
}

/// The next frame of clients.
fn next_frame(clients: &mut DhcpClients, now: Nanos) -> Vec<u8> {
    let mut frames = Vec::new();
    while frames.is_empty() {
        clients.poll(now, &mut frames);
    }
    frames.remove(0)
}

/// RFC 2131 table 5, message by message.
#[test]
fn messages_have_the_fields_and_options_of_the_rfc() {
    let settings = DhcpConfig { client_id: Some("id-{n}".into()), broadcast: true, ..config(1) };
    let (mut clients, mut server) = (DhcpClients::new(settings), Server::new(800));
    let usual = [53, 61, 57, 55, 12, 60];
    let source = |frame: &[u8]| Ipv4Addr::from(*frame[30..].first_chunk::<4>().unwrap());
    let target = |frame: &[u8]| Ipv4Addr::from(*frame[34..].first_chunk::<4>().unwrap());
    let flags = |frame: &[u8]| frame[18 + 28 + 10];
    let none = Ipv4Addr::UNSPECIFIED;
    let discover = next_frame(&mut clients, SECOND);
    let said = read(&discover);
    assert_eq!((said.kind, said.ciaddr, said.order), (1, none, [&usual[..], &[82]].concat()));
    assert_eq!((source(&discover), target(&discover), flags(&discover)), (none, Ipv4Addr::BROADCAST, 0x80));
    // It is repeated after 4 s or so, with the same identifier and the seconds since the first one.
    let again = next_frame(&mut clients, Nanos::from_secs(7));
    let repeated = read(&again);
    assert_eq!((repeated.kind, repeated.xid, said.secs, repeated.secs), (1, said.xid, 0, 6));
    // The offer takes 3 s: what is requested has the identifier and seconds of the DHCPDISCOVER.
    let at = Nanos::from_secs(10);
    let offer = server.take(at, &again).unwrap();
    clients.take(at, &offer);
    let request = next_frame(&mut clients, at);
    let said = read(&request);
    assert_eq!((said.kind, said.xid, said.secs, said.ciaddr), (3, repeated.xid, 6, none));
    assert_eq!(said.order, [&usual[..], &[50, 54, 82]].concat(), "an access node's information is last");
    assert_eq!((source(&request), target(&request)), (none, Ipv4Addr::BROADCAST));
    // The lease begins with the request for it, not with the DHCPACK.
    let ack = server.take(at, &request).unwrap();
    clients.take(Nanos::from_secs(12), &ack);
    let ip = clients.leases().next().unwrap().ip;
    assert_eq!(
        (clients.views().next().unwrap().held.unwrap().since, clients.next_due()),
        (at, Nanos::from_secs(410))
    );
    let renewal = next_frame(&mut clients, Nanos::from_secs(410));
    let said = read(&renewal);
    assert_eq!((said.kind, said.ciaddr, &said.order[..]), (3, ip, &[&usual[..], &[82]].concat()[..]));
    assert_eq!((source(&renewal), target(&renewal), &renewal[..6]), (ip, SERVER, &SERVER_MAC[..]));
    assert_ne!(said.xid, repeated.xid);
    let rebinding = next_frame(&mut clients, Nanos::from_secs(710));
    let said = read(&rebinding);
    assert_eq!((said.kind, said.ciaddr, &said.order[..]), (3, ip, &[&usual[..], &[82]].concat()[..]));
    assert_eq!(
        (source(&rebinding), target(&rebinding), &rebinding[..6]),
        (ip, Ipv4Addr::BROADCAST, &BROADCAST[..])
    );
    clients.release(Nanos::from_secs(711));
    let release = next_frame(&mut clients, Nanos::from_secs(711));
    let said = read(&release);
    assert_eq!((said.kind, said.ciaddr, &said.order[..]), (7, ip, &[53, 61, 54][..]));
    assert_eq!((source(&release), target(&release), flags(&release)), (ip, SERVER, 0));
}

/// RFC 2131 section 4.4.5, and section 3.3 for leases without end.
#[test]
fn times_of_a_lease_are_the_servers_where_they_are_in_order() {
    let forever = u32::MAX;
    for (lease_s, times, expected) in [
        (800, None, (400, 700)),
        (800, Some([100, 200]), (100, 200)),
        (800, Some([800, 800]), (800, 800)),
        (800, Some([500, 400]), (400, 700)),
        (800, Some([100, 801]), (400, 700)),
        (800, Some([0, 200]), (400, 700)),
        (1, None, (1, 1)),
        (forever, Some([100, 200]), (forever, forever)),
    ] {
        let mut world = World::new(config(1), lease_s, 0, 0);
        world.server.times = times;
        world.run_for(Nanos::from_millis(500));
        let held = world.clients.views().next().unwrap().held.unwrap();
        assert_eq!((held.renew_s, held.rebind_s), expected, "{lease_s} {times:?}");
    }
}

/// RFC 2131 section 3.1, point 5: after four requests without a reply, about a minute, a client begins anew.
#[test]
fn requests_without_a_reply_end_in_another_search() {
    let (mut clients, mut server) = (DhcpClients::new(config(1)), Server::new(800));
    let discover = next_frame(&mut clients, SECOND);
    clients.take(SECOND, &server.take(SECOND, &discover).unwrap());
    let (mut sent, mut now) = (Vec::new(), SECOND);
    while sent.len() < 5 {
        let said = read(&next_frame(&mut clients, now));
        sent.push((said.kind, said.xid, now));
        now = clients.next_due();
    }
    let kinds: Vec<u8> = sent.iter().map(|(kind, ..)| *kind).collect();
    assert_eq!(kinds, [3, 3, 3, 3, 1]);
    assert!(sent[..4].iter().all(|one| one.1 == sent[0].1) && sent[4].1 != sent[0].1);
    let took = sent[4].2.since(sent[0].2).0 / SECOND.0;
    assert!((56..=64).contains(&took), "{took} s");
}

/// Of two servers, one that got no request sends a NAK: that ends neither a request nor a renewal. A client that
/// rebinds uses both.
#[test]
fn refusals_of_a_server_that_was_not_asked_change_nothing() {
    let (mut clients, mut server) = (DhcpClients::new(config(1)), Server::new(800));
    let mut other = Server { number: 9, refuses: true, ..Server::new(800) };
    let asks = |clients: &mut DhcpClients, now| {
        let mut frames = Vec::new();
        while frames.is_empty() {
            clients.poll(now, &mut frames);
        }
        frames.remove(0)
    };
    let discover = asks(&mut clients, SECOND);
    let offer = server.take(SECOND, &discover).unwrap();
    clients.take(SECOND, &offer);
    let request = asks(&mut clients, SECOND);
    clients.take(SECOND, &other.take(SECOND, &request).unwrap());
    assert_eq!((clients.clients[0].state, clients.counts().naks), (State::Requesting, 0));
    clients.take(SECOND, &server.take(SECOND, &request).unwrap());
    assert_eq!(clients.clients[0].state, State::Bound);
    let at = Nanos::from_secs(500);
    let renewal = asks(&mut clients, at);
    clients.take(at, &other.take(at, &renewal).unwrap());
    assert_eq!((clients.clients[0].state, clients.counts().lost), (State::Renewing, 0));
    let at = Nanos::from_secs(710);
    let rebinding = asks(&mut clients, at);
    assert_eq!(clients.clients[0].state, State::Rebinding);
    clients.take(at, &other.take(at, &rebinding).unwrap());
    assert_eq!((clients.clients[0].state, clients.counts().lost), (State::Selecting, 1));
}

#[test]
fn who_has_no_address_gives_up() {
    let mut world = World::new(config(20), 800, 0, 0);
    world.server.pool = 12;
    world.run_for(Nanos::from_secs(30));
    assert_eq!(world.clients.up(), 12);
    world.clients.give_up(world.now);
    let sent = world.clients.counts().discovers;
    world.server.pool = 30;
    world.run_for(Nanos::from_secs(300));
    assert_eq!((world.clients.counts().discovers, world.clients.up()), (sent, 12));
    world.run_for(Nanos::from_secs(110));
    assert_eq!(world.clients.counts().renewed, 12);
}

#[test]
fn frames_for_others_change_nothing() {
    let mut clients = DhcpClients::new(config(2));
    let mut frames = Vec::new();
    clients.poll(SECOND, &mut frames);
    let mut server = Server::new(60);
    let offer = server.take(SECOND, &frames[0]).unwrap();
    let xid_at = 18 + 20 + 8 + 4;
    for at in (0..offer.len()).filter(|at| (6..18).contains(at) == (*at == 15)) {
        let mut other = offer.clone();
        other[at] ^= 0x80;
        let _ = clients.take(SECOND, &other);
    }
    let mut other = offer.clone();
    other[xid_at] ^= 1;
    let mut fresh = DhcpClients::new(config(2));
    let mut again = Vec::new();
    fresh.poll(SECOND, &mut again);
    assert_eq!(again, frames, "the same seed, the same frames");
    assert!(!fresh.take(SECOND, &other), "another transaction");
    let mut other = offer.clone();
    other[15] = 8;
    assert!(!fresh.take(SECOND, &other), "another VLAN");
    assert!(fresh.take(SECOND, &offer));
    let mut request = Vec::new();
    fresh.poll(SECOND, &mut request);
    assert_eq!(read(&request[0]).kind, 3);
}

/// 10,000 clients that hold leases: what is stored of each, with room that is allocated and not used.
#[test]
fn leases_are_renewed_and_given_back_on_command() {
    let mut world = World::new(config(20), 3_600, 0, 0);
    world.run_for(Nanos::from_secs(5));
    assert!(world.clients.all_up());
    world.clients.give_up(world.now);
    let now = world.now;
    assert_eq!(world.clients.renew_now(now), 20);
    world.run_for(Nanos::from_secs(5));
    assert_eq!((world.clients.counts().renewed, world.clients.up()), (20, 20));
    let now = world.now;
    assert_eq!(world.clients.release_now(now), 20);
    world.run_for(Nanos::from_secs(5));
    assert_eq!((world.clients.counts().releases, world.clients.up()), (20, 0));
    assert!(world.clients.views().all(|view| view.held.is_none() && view.tally.releases == 1));
    let now = world.now;
    assert_eq!((world.clients.release_now(now), world.clients.renew_now(now)), (0, 20));
    world.run_for(Nanos::from_secs(5));
    assert!(world.clients.all_up());
    let view = world.clients.views().next().unwrap();
    assert_eq!((view.tally.discovers, view.tally.requests, view.tally.acks), (2, 3, 3));
    assert_eq!(view.held.map(|held| (held.lease_s, held.renew_s)), Some((3_600, 1_800)));
}

/// The server does not know that other hosts have some of its addresses: a client that gets one declines it, and gets
/// another one later.
#[test]
fn what_a_neighbour_has_is_declined() {
    let checking = DhcpConfig { check: true, ..config(20) };
    let mut world = World::new(checking.clone(), 3_600, 0, 0);
    world.server.taken = (0..5).map(|n| Ipv4Addr::from(0x0a00_0100 + n)).collect();
    world.run_for(Nanos::from_secs(5));
    let counts = world.clients.counts();
    assert_eq!((counts.duplicates, counts.declines, world.clients.up()), (5, 5, 15));
    assert_eq!(world.server.declined, world.server.taken);
    assert!(world.outstanding_max <= 20);
    world.run_for(Nanos::from_secs(20));
    world.check();
    assert!(world.clients.all_up());
    // None is asked for twice, and what is renewed is not asked for again.
    assert_eq!(world.clients.counts().declines, 5);
    // A lease that is given up while it is checked is used, and given back.
    let mut world = World::new(checking, 3_600, 0, 0);
    world.run_for(Nanos::from_millis(300));
    world.clients.give_up(world.now);
    let held = world.clients.up();
    assert!(held > 0);
    world.clients.release(world.now);
    world.run_for(Nanos::from_secs(5));
    assert_eq!(world.server.released, held);
}

/// A check takes a client a second, and the server's rates nothing.
#[test]
fn checks_do_not_slow_what_is_measured_of_the_server() {
    let mut took = Vec::new();
    for check in [false, true] {
        let mut world = World::new(
            DhcpConfig { check, pool: PoolConfig { outstanding: 200, ..common(2_000) }, ..config(1) },
            3_600,
            0,
            0,
        );
        world.run_for(Nanos::from_secs(10));
        assert!(world.clients.all_up());
        took.push(world.clients.set_up_time().unwrap());
    }
    // Other frames make what is random on the way another one.
    assert!(took[0].0.abs_diff(took[1].0) < 50_000_000, "{took:?}");
}

#[test]
fn two_clients_with_one_address_are_told_and_with_a_check_the_second_declines() {
    for check in [false, true] {
        let mut world = World::new(DhcpConfig { check, ..config(2) }, 3_600, 0, 0);
        world.server.pool = 1;
        world.run_for(Nanos::from_secs(3));
        let held = world.clients.leases().next().unwrap().ip;
        // The server forgets, and gives the address to the other one.
        world.server.leases.clear();
        world.run_for(Nanos::from_secs(12));
        let counts = world.clients.counts();
        assert_eq!((counts.conflicts, counts.declines), (1, u64::from(check)), "{held}");
        assert_eq!(world.server.declined.contains(&held), check);
    }
}

#[test]
fn what_nobody_can_have_is_refused() {
    let addresses = [
        "0.0.0.0",
        "0.1.2.3",
        "127.0.0.1",
        "224.0.0.9",
        "240.1.2.3",
        "255.255.255.255",
        "10.0.0.0",
        "10.0.255.255",
        "10.0.0.1",
    ];
    for address in addresses {
        let mut world = World::new(config(1), 3_600, 0, 0);
        world.server.nonsense = Some(address.parse().unwrap());
        world.run_for(Nanos::from_secs(20));
        let counts = world.clients.counts();
        assert!(counts.refused > 1, "{address}: {counts:?}");
        assert_eq!((counts.offers, counts.requests, world.clients.up()), (0, 0, 0), "{address}");
    }
    // One that says so only in the end is told.
    let mut world = World::new(config(1), 3_600, 0, 0);
    let now = world.now;
    let mut frames = Vec::new();
    world.clients.poll(now, &mut frames);
    let offer = world.server.take(now, &frames.remove(0)).unwrap();
    world.clients.take(now, &offer);
    world.clients.poll(now, &mut frames);
    world.server.nonsense = Some(Ipv4Addr::LOCALHOST);
    let ack = world.server.take(now, &frames.remove(0)).unwrap();
    world.clients.take(now, &ack);
    world.server.nonsense = None;
    world.run_for(Nanos::from_secs(30));
    assert_eq!((world.clients.counts().declines, world.clients.up()), (1, 1));
    assert_eq!(world.server.declined.first(), Some(&Ipv4Addr::LOCALHOST));
    // Links of two hosts have no address of all hosts.
    let mut world = World::new(config(1), 3_600, 0, 0);
    (world.server.nonsense, world.server.mask) = (Some(Ipv4Addr::new(10, 0, 255, 255)), [255, 255, 255, 254]);
    world.run_for(Nanos::from_secs(1));
    assert_eq!(world.clients.counts().refused, 0);
}

#[test]
fn an_idle_client_takes_less_than_300_bytes() {
    let mut world = World::new(config(10_000), 100_000, 0, 0);
    world.run_for(Nanos::from_secs(15));
    assert!(world.clients.all_up());
    let each = world.bytes_each(&[(world.clients.shared.holders.len(), size_of::<(Ipv4Addr, u32)>())]);
    assert!(each <= 192, "{each} bytes");
    assert_eq!(size_of::<Client>(), 80);
}

#[test]
fn clients_with_their_own_vlans_send_in_them() {
    let each = crate::EachVlan { outer: Some((100, 101)), inner: (5, 6) };
    let vlans = ClientVlans::each(each, &wire::Vlans::NONE);
    let relay = RelayInfo { circuit_id: Some("olt {outer}.{inner}".into()), remote_id: None };
    let mut clients =
        DhcpClients::new(DhcpConfig { pool: PoolConfig { vlans, ..common(3) }, relay, ..config(3) });
    let mut frames = Vec::new();
    (1..10).for_each(|ms| clients.poll(Nanos::from_millis(ms), &mut frames));
    let sent: Vec<_> = frames.iter().map(|frame| &frame[12..20]).collect();
    let tags = |outer, inner| [0x88, 0xa8, 0, outer, 0x81, 0, 0, inner];
    assert_eq!(sent, [tags(100, 5), tags(100, 6), tags(101, 5)]);
    assert!(frames[2].windows(9).any(|text| text == b"olt 101.5"));
}
