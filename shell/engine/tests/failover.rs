//! Gateways that get another hardware address while traffic runs, in virtual time: everything follows, and every packet that went to
//! the old address is counted.

mod common;

use common::Blind;
use engine::{Commands, Rig, Session};
use neighbour::Host;
use port::{Burst, Clock, DriverDrops, Port, PortFacts, PortRequest, Queues, VirtualClock, ring};
use result::ResultDocument;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use units::Nanos;

/// Time passes in steps of this at most, so that the router sees frames in time.
const STEP: Nanos = Nanos::from_micros(100);
const OLD: [u8; 6] = [2, 0, 0, 0, 0, 0x0a];
const NEW: [u8; 6] = [2, 0, 0, 0, 0, 0x0b];

/// Event on the router's side of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// It has this hardware address from now on.
    Moves([u8; 6]),
    /// It announces the change.
    Announces,
}

/// One side of the router: its addresses there, and the link.
struct Side {
    host: Host,
    peer: [u8; 6],
    queues: Queues,
    events: Vec<(Nanos, Event)>,
    /// IP packets to another hardware address than its own.
    astray: u64,
    /// Questions to it alone, and to all.
    probes: u64,
    questions: u64,
}

impl Side {
    fn send(&mut self, queue: usize, frame: &[u8]) {
        let (mut burst, tx) = (Burst::new(), &mut self.queues.tx[queue]);
        assert_eq!(tx.alloc(&mut burst, 1), 1);
        burst.frame_mut(0).copy_from(frame);
        assert_eq!(tx.send(&mut burst), 1);
        tx.free(&mut burst);
    }

    fn received(&mut self) -> Vec<(usize, Vec<u8>)> {
        let mut frames = Vec::new();
        for (number, queue) in self.queues.rx.iter_mut().enumerate() {
            let mut burst = Burst::new();
            while queue.recv(&mut burst) > 0 {
                frames.extend((0..burst.len()).map(|i| (number, burst.data(i).to_vec())));
                queue.free(&mut burst);
            }
        }
        frames
    }

    /// An unsolicited announcement of each of its addresses.
    fn announce(&mut self) {
        for ip in self.host.addresses.clone() {
            let frame = match ip {
                IpAddr::V4(_) => self.host.request(ip).unwrap(),
                IpAddr::V6(_) => {
                    // To somebody who looks for duplicates of it all nodes are told.
                    let nobody = Host { addresses: vec!["::".parse().unwrap()], ..self.host.clone() };
                    let mut ask = nobody.request(ip).unwrap();
                    // Without the option, which only who has an address can have.
                    ask.truncate(14 + 40 + 24);
                    ask[18..20].copy_from_slice(&24u16.to_be_bytes());
                    ask[56..58].fill(0);
                    let sum = wire::checksum::finish(wire::checksum::sum(
                        &ask[54..],
                        wire::checksum::sum(&ask[22..54], 24 + 58),
                    ));
                    ask[56..58].copy_from_slice(&sum.to_be_bytes());
                    self.host.answer(&ask).expect("an answer to all")
                }
            };
            self.send(0, &frame);
        }
    }
}

/// The tester's end of a link.
struct End {
    facts: PortFacts,
    queues: Queues,
}

impl Port for End {
    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    fn take_queues(&mut self) -> Queues {
        std::mem::replace(&mut self.queues, Queues { tx: Vec::new(), rx: Vec::new() })
    }

    fn driver_drops(&mut self) -> DriverDrops {
        DriverDrops::default()
    }
}

/// A router between two links.
struct World {
    now: Nanos,
    sides: [Side; 2],
}

impl World {
    fn turn(&mut self) {
        for from in 0..2 {
            let side = &mut self.sides[from];
            while let Some((_, event)) = side.events.pop_if(|(at, _)| *at <= self.now) {
                match event {
                    Event::Moves(mac) => side.host.mac = mac,
                    Event::Announces => side.announce(),
                }
            }
            for (queue, mut frame) in self.sides[from].received() {
                let side = &mut self.sides[from];
                let is_for_all = frame[0] & 1 == 1;
                if !is_for_all && frame[..6] != side.host.mac {
                    side.astray += u64::from(
                        frame[12..14] == [8, 0] || frame[12..14] == [0x86, 0xdd] && frame[20] != 58,
                    );
                } else if let Some(answer) = side.host.answer(&frame) {
                    side.questions += u64::from(is_for_all);
                    side.probes += u64::from(!is_for_all);
                    side.send(queue, &answer);
                } else if !is_for_all {
                    let other = &mut self.sides[1 - from];
                    frame[..6].copy_from_slice(&other.peer);
                    frame[6..12].copy_from_slice(&other.host.mac);
                    other.send(queue, &frame);
                }
            }
        }
    }
}

struct Time(Mutex<World>);

impl Time {
    fn lock(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for Time {
    fn now(&self) -> Nanos {
        self.lock().now
    }
}

impl VirtualClock for Time {
    fn advance(&self, until: Nanos) {
        let mut world = self.lock();
        world.now = world.now.max(until.min(world.now + STEP));
        world.turn();
    }
}

/// Runs a profile before such a router, whose sides have these events, the last one first; on this number of workers.
fn run(profile: &str, workers: u16, events: [Vec<(Nanos, Event)>; 2]) -> (ResultDocument, World) {
    let plan = profile::load(profile).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let request = PortRequest { queues: workers, frame_len_max: 1518, confined: false };
    let (mut ports, mut sides): (Vec<Box<dyn Port>>, Vec<Side>) = (Vec::new(), Vec::new());
    let names = [["ring:a", "ring:x"], ["ring:b", "ring:y"]];
    for ((names, events), (number, own)) in
        names.into_iter().zip(events).zip([OLD, [2, 0, 0, 0, 0, 0x1a]].into_iter().enumerate())
    {
        let [mut tester, mut router] = ring::pair(names, request).unwrap();
        let addresses: Vec<IpAddr> = vec![
            format!("10.0.{number}.1").parse().unwrap(),
            format!("2001:db8:{number}::1").parse().unwrap(),
        ];
        let host = Host {
            mac: own,
            vlans: Default::default(),
            networks: Vec::new(),
            answers_for: addresses.iter().map(|ip| *ip..=*ip).collect(),
            addresses,
        };
        // What is between the ends is no link that damages nothing: checksums are computed.
        let facts = PortFacts { is_in_process: false, ..Port::facts(&tester).clone() };
        let (peer, queues) = (facts.mac, router.take_queues());
        sides.push(Side { host, peer, queues, events, astray: 0, probes: 0, questions: 0 });
        ports.push(Box::new(End { facts, queues: tester.take_queues() }));
    }
    let Ok(sides) = <[Side; 2]>::try_from(sides) else { panic!("two") };
    let clock = Time(Mutex::new(World { now: Nanos::from_secs(1), sides }));
    let mut session = Session::load(plan, Rig::new(ports));
    let document = session
        .simulate(workers.into(), true, &clock, &mut Commands::none(), &mut Blind { reads_streams: false })
        .unwrap();
    (document, clock.0.into_inner().unwrap_or_else(PoisonError::into_inner))
}

const PORTS: &str = r#"
ports:
  west: {device: "ring:a", ip: [10.0.0.2/24, "2001:db8:0::2/64"], gateway: [10.0.0.1, "2001:db8:0::1"], speed: 10Gbps}
  east: {device: "ring:b", ip: [10.0.1.2/24, "2001:db8:1::2/64"], gateway: [10.0.1.1, "2001:db8:1::1"], speed: 10Gbps}
"#;

/// Streams of one packet, of several lengths and of varying fields.
fn streams(version: u8, duration: &str) -> String {
    let dst = if version == 4 { "10.0.1.2" } else { "2001:db8:1::2" };
    let stream = |name: &str, rate: &str, udp: &str, rest: &str| {
        format!(
            "  - {{name: {name}, from: west, to: east, rate: {rate}, packet: [{{ipv{version}: {{dst: \"{dst}\"}}}}, {{udp: {udp}}}]{rest}}}\n"
        )
    };
    format!(
        "{PORTS}streams:\n{}{}{}load: {{duration: {duration}, drain: 100ms}}\n",
        stream("one", "1kpps", "{dst: 9}", ""),
        stream("lengths", "500pps", "{dst: 9}", ", size: [128B, 512B]"),
        stream("fields", "250pps", "{dst: 9}", ", vary: {udp.src: {from: 1000, to: 1999}}"),
    )
}

fn seconds(s: f64) -> Nanos {
    Nanos((s * 1e9) as u64)
}

#[test]
fn what_went_to_the_old_address_is_counted_to_the_packet() {
    for (version, workers) in [(4, 1), (6, 1), (4, 2)] {
        let events = vec![(seconds(2.7), Event::Announces), (seconds(2.2), Event::Moves(NEW))];
        let (result, world) = run(&streams(version, "3s"), workers, [events, Vec::new()]);
        let lost: u64 = result.streams.values().filter_map(|stream| stream.lost).sum();
        let astray = world.sides[0].astray;
        assert!((870..=880).contains(&astray), "{astray} in half a second");
        // Both of its addresses have moved; streams use one.
        let moves = &result.ports["west"].neighbour_moves;
        let used: Vec<_> = moves.iter().filter(|step| step.lost.is_some()).collect();
        let ([step], 2) = (&used[..], moves.len()) else { panic!("{version}: {moves:?}") };
        assert_eq!(step.ip.contains(':'), version == 6);
        assert_eq!((lost, step.lost), (astray, Some(astray)), "{version}, {workers} workers");
        assert_eq!((step.from.as_str(), step.to.as_str()), ("02:00:00:00:00:0a", "02:00:00:00:00:0b"));
        assert!(
            !step.asked && (step.took_s.unwrap() - 0.5).abs() < 0.01 && (step.at_s - 1.7).abs() < 0.02,
            "{step:?}"
        );
        assert!(result.verdict.valid, "{:?}", result.verdict);
        assert_eq!(result.verdict.notes.iter().filter(|note| note.contains("moved from")).count(), 2);
        assert!(result.ports["east"].neighbour_moves.is_empty());
    }
}

#[test]
fn one_that_says_so_at_once_costs_what_was_under_way() {
    let events = vec![(seconds(2.5), Event::Announces), (seconds(2.5), Event::Moves(NEW))];
    let (result, world) = run(&streams(4, "3s"), 1, [events, Vec::new()]);
    let step = &result.ports["west"].neighbour_moves[0];
    // Those that were under way within a step of time.
    assert!(world.sides[0].astray <= 1 && step.lost == Some(world.sides[0].astray), "{step:?}");
}

#[test]
fn one_that_is_silent_is_asked_within_its_rate_and_followed() {
    let (result, world) = run(&streams(4, "40s"), 1, [vec![(seconds(2.2), Event::Moves(NEW))], Vec::new()]);
    let lost: u64 = result.streams.values().filter_map(|stream| stream.lost).sum();
    let steps = &result.ports["west"].neighbour_moves;
    let step = steps.iter().find(|step| step.ip == "10.0.0.1").unwrap();
    assert!(step.asked && (33.0..34.0).contains(&step.at_s), "{step:?}");
    assert_eq!((Some(lost), lost), (step.lost, world.sides[0].astray));
    // The gateways of the other side answer: each is asked once, and nobody else.
    assert_eq!((world.sides[1].probes, world.sides[1].questions), (2, 2));
    // Here all were asked in the end, for each address.
    assert_eq!(world.sides[0].questions, 4);
}

#[test]
fn an_address_from_the_profile_is_not_followed() {
    let events = vec![(seconds(2.5), Event::Announces), (seconds(2.2), Event::Moves(NEW))];
    let fixed = streams(4, "3s").replace(
        "gateway: [10.0.0.1,",
        "gateway_mac: {10.0.0.1: \"02:00:00:00:00:0a\"}, gateway: [10.0.0.1,",
    );
    let (result, world) = run(&fixed, 1, [events, Vec::new()]);
    assert!(result.ports["west"].neighbour_moves.iter().all(|step| step.ip != "10.0.0.1"));
    assert!(world.sides[0].astray > 2_000, "to the end");
}

#[test]
fn sessions_and_servers_go_on() {
    let sessions = format!(
        "{PORTS}sessions:\n  - {{name: s, client: {{port: west}}, server: {{port: east, ports: 80}}, open: 200/s, \
         app: {{http: {{response: 20KB, requests: 4, think: 100ms}}}}}}\nload: {{duration: 3s, drain: 10s}}\n"
    );
    let moves = |at, mac| vec![(seconds(at + 0.2), Event::Announces), (seconds(at), Event::Moves(mac))];
    let (result, world) = run(&sessions, 1, [moves(2.0, NEW), moves(3.0, [2, 0, 0, 0, 0, 0x1b])]);
    let one = &result.sessions["s"];
    let client = &one.client.as_ref().unwrap().seen;
    assert!(client.attempted > 550, "{client:?}");
    assert_eq!(client.completed, client.attempted, "{client:?}");
    assert!(
        world.sides.iter().all(|side| side.astray > 0 && side.astray < 3_000),
        "both were deaf for a while"
    );
    for port in ["west", "east"] {
        let moves = &result.ports[port].neighbour_moves;
        assert!(moves.iter().all(|step| step.lost.is_none()) && !moves.is_empty(), "{moves:?}");
    }
}

/// Connections of QUIC whose clients change their port, with or without their knowledge: servers follow, nothing fails, marks come through, and
/// a second run is the same. So it is with early data, and with WebSocket over HTTP/2.
#[test]
fn connections_go_on_from_other_ports() {
    let profile = |app: &str, more: &str| {
        format!(
            "{PORTS}sessions:\n  - {{name: s, client: {{port: west}}, server: {{port: east, ports: 443}}, open: 20/s, count: 20, \
             verify: true, app: {app}{more}}}\nload: {{duration: 2s, drain: 1s}}\n"
        )
    };
    let moving = |by: &str| {
        format!(
            "{{http: {{version: 3, requests: 30, think: 20ms, key_update: 20, migrate: {{every: 50ms, by: {by}}}}}}}"
        )
    };
    let early = "{http: {version: 3, requests: 20, early_data: true, server: {early_data: too_early}}}";
    let stream = "{websocket: {version: 2, request: 0B..100KB, requests: 20, pipeline: 4, fragment: 5KB}}";
    let cases = [
        profile(&moving("nat"), ", udp: {ecn: true}"),
        profile(&moving("client"), ""),
        profile(early, ", tls: {resumption: 100}"),
        profile(stream, ""),
    ];
    for (number, text) in cases.iter().enumerate() {
        for workers in [1, 2] {
            let seen = |_| {
                let (result, _) = run(text, workers, [Vec::new(), Vec::new()]);
                let one = &result.sessions["s"];
                let (client, server) = (one.client.as_ref().unwrap(), one.server.as_ref().unwrap());
                assert_eq!(
                    (client.seen.completed, server.seen.completed),
                    (20, 20),
                    "{text}: {:?}",
                    client.seen
                );
                if let (Some(client), Some(server)) = (&client.quic, &server.quic) {
                    let moves = if number < 2 { 200 } else { 0 };
                    assert!(client.migrated >= moves && server.migrated >= moves, "{client:?} {server:?}");
                    let early = if number == 2 { 18 } else { 0 };
                    assert!(client.early_data_accepted >= early && client.too_early >= early, "{client:?}");
                    assert_eq!(client.early_requests, server.early_requests, "{client:?} {server:?}");
                    let is_marked = number == 0;
                    assert_eq!(
                        (client.ecn_sent > 0, server.ecn_ect > 0),
                        (is_marked, is_marked),
                        "{client:?}"
                    );
                    assert_eq!((client.ecn_failed, server.ecn_failed), (0, 0), "{client:?} {server:?}");
                }
                format!("{client:?} {server:?}")
            };
            let [first, again] = [0, 1].map(seen);
            assert_eq!(first, again);
        }
    }
}
