use super::*;
use crate::message::Protocol;
use tcp::{TcpOptions, UdpOptions, UnfinishedChecksums};

const VIP: [u8; 4] = [10, 0, 0, 1];
const OWN: [u8; 6] = [2, 0, 0, 0, 0, 1];

fn config() -> GroupConfig {
    GroupConfig {
        tcp: TcpOptions::default(),
        udp: UdpOptions {
            idle_timeout: Some(Nanos::from_secs(5)),
            ecn: false,
            refused_after: units::Nanos::ZERO,
        },
        ttl: 64,
        tos: 0,
        vlans: Default::default(),
        mtu: 1500,
        own_mac: OWN,
        own_macs: None,
        hop_mac: Some(OWN),
        gateway: None,
        unfinished_checksums: UnfinishedChecksums::Refused,
        leaves_checksums: false,
        tunnel: None,
    }
}

fn setup(clients: u8, backends: u8, protocol: Protocol) -> Setup {
    Setup {
        clients: (0..clients)
            .map(|n| Client { address: IpAddr::V4([10, 0, 0, 100 + n].into()), group: 0 })
            .collect(),
        groups: vec![config()],
        ports: 1024..=65535,
        to: SocketAddr::new(IpAddr::V4(VIP.into()), 80),
        transport: Transport::Tcp,
        speech: Speech { protocol, host: "test".into() },
        backends: (0..backends)
            .map(|n| Backend {
                address: IpAddr::V4([10, 0, 1, 11 + n].into()),
                ports: 80..=80,
                config: config(),
            })
            .collect(),
        warm_up: Nanos::from_secs(1),
        timeout: Nanos::from_secs(2),
        seed: 1,
    }
}

/// How the balancer chooses a backend for a new flow.
enum Rule {
    Turn,
    Source,
}

/// A balancer that rewrites destination addresses, and sources on the way back.
struct Balancer {
    rule: Rule,
    backends: u8,
    flows: HashMap<([u8; 4], [u8; 2]), u8>,
    next: u8,
}

/// Frames that wait.
#[derive(Default)]
struct Frames(Vec<Vec<u8>>);

impl Sink for Frames {
    fn frame(&mut self, len: usize) -> Option<&mut [u8]> {
        self.0.push(vec![0; len]);
        self.0.last_mut().map(Vec::as_mut_slice)
    }
}

fn rewrite(frame: &mut [u8], at: usize, new: [u8; 4]) {
    let old: [u8; 4] = frame[at..at + 4].try_into().unwrap();
    frame[at..at + 4].copy_from_slice(&new);
    let sum = |bytes: [u8; 4]| {
        u32::from(u16::from_be_bytes([bytes[0], bytes[1]]))
            + u32::from(u16::from_be_bytes([bytes[2], bytes[3]]))
    };
    for check in [24, 50] {
        let field = u16::from_be_bytes([frame[check], frame[check + 1]]);
        // RFC 1624 equation 3.
        let mut total = u32::from(!field) + sum(old.map(|byte| !byte)) + sum(new);
        while total > 0xffff {
            total = (total & 0xffff) + (total >> 16);
        }
        frame[check..check + 2].copy_from_slice(&(!(total as u16)).to_be_bytes());
    }
}

impl Balancer {
    fn new(rule: Rule, backends: u8) -> Self {
        Self { rule, backends, flows: HashMap::new(), next: 0 }
    }

    fn pass(&mut self, frame: &mut [u8]) {
        let from: [u8; 4] = frame[26..30].try_into().unwrap();
        if from[2] == 1 {
            rewrite(frame, 26, VIP);
            return;
        }
        let port: [u8; 2] = frame[34..36].try_into().unwrap();
        if frame[47] & 0x12 == 2 {
            let chosen = match self.rule {
                Rule::Turn => self.next % self.backends,
                Rule::Source => from[3] % self.backends,
            };
            self.next = self.next.wrapping_add(1);
            self.flows.entry((from, port)).and_modify(|old| *old = chosen).or_insert(chosen);
        }
        if let Some(backend) = self.flows.get(&(from, port)) {
            rewrite(frame, 30, [10, 0, 1, 11 + backend]);
        }
    }
}

/// Runs an exchange through a balancer to its end.
fn run(setup: Setup, script: Script, mut balancer: Balancer) -> Exchange {
    let mut exchange = Exchange::new(setup, script);
    let mut now = Nanos::from_secs(1);
    for _ in 0..10_000_000 {
        exchange.turn(now);
        let mut frames = Frames::default();
        exchange.transmit_clients(now, &mut frames);
        exchange.transmit_backends(now, &mut frames);
        if exchange.is_over() {
            return exchange;
        }
        if frames.0.is_empty() {
            now = exchange.next_due().max(now + Nanos(1_000));
        }
        now += Nanos(10_000);
        for mut frame in frames.0 {
            balancer.pass(&mut frame);
            exchange.receive(now, &frame, false);
        }
    }
    panic!("the exchange does not end: {:?}", exchange.stage);
}

fn rounds(rounds: u32, sessions: u64, identity: Identity) -> Script {
    Script::Rounds(Rounds { rounds, sessions, rate: 1_000, identity })
}

#[test]
fn a_round_robin_gives_each_backend_the_same() {
    for protocol in [Protocol::Line, Protocol::Http] {
        let done = run(setup(5, 4, protocol), rounds(1, 400, Identity::Source), Balancer::new(Rule::Turn, 4));
        for counts in done.backends() {
            assert_eq!((counts.sessions, counts.requests, counts.open, counts.checks), (100, 100, 0, 0));
        }
        assert!(done.sessions().iter().all(|session| session.ended.unwrap().1 == Ending::Done));
        let of = |backend| done.sessions().iter().filter(|session| session.first == Some(backend)).count();
        assert_eq!([of(0), of(1), of(2), of(3)], [100; 4]);
    }
}

#[test]
fn a_source_hash_brings_clients_back() {
    let done =
        run(setup(10, 3, Protocol::Line), rounds(3, 20, Identity::Source), Balancer::new(Rule::Source, 3));
    assert_eq!(done.sessions().len(), 60);
    for session in done.sessions() {
        let first = done.sessions().iter().find(|other| other.identity == session.identity).unwrap();
        assert_eq!((session.first, session.client), (first.first, first.client));
    }
}

#[test]
fn turns_are_not_taken_for_stickiness() {
    let done =
        run(setup(10, 4, Protocol::Line), rounds(2, 400, Identity::Source), Balancer::new(Rule::Turn, 4));
    let first = |session: &SessionRecord| {
        done.sessions().iter().find(|other| other.identity == session.identity).and_then(|other| other.first)
    };
    let again = done.sessions().iter().filter(|session| session.round == 1);
    let same = again.filter(|session| session.first == first(session)).count();
    assert!((70..=130).contains(&same), "a fourth of 400 by chance: {same}");
}

#[test]
fn the_same_port_comes_again_with_the_same_endpoint() {
    let done =
        run(setup(3, 2, Protocol::Line), rounds(3, 9, Identity::Endpoint), Balancer::new(Rule::Source, 2));
    assert!(done.sessions().iter().all(|session| session.ended.unwrap().1 == Ending::Done));
}

fn change(change: Change) -> Script {
    Script::Change(ChangeScript {
        sessions: 90,
        rate: 1_000,
        interval: Nanos::from_millis(100),
        probe_rate: 30,
        change,
        backend: 1,
        before: Nanos::from_secs(1),
        down: Nanos::from_secs(6),
        after: Nanos::from_secs(2),
    })
}

fn ended_between(done: &Exchange, backend: u16) -> Vec<Ending> {
    let held = done.sessions().iter().filter(|session| session.is_held && session.first == Some(backend));
    held.map(|session| session.ended.unwrap().1).collect()
}

#[test]
fn a_reset_ends_the_sessions_that_the_backend_held_and_no_others() {
    let done = run(setup(10, 3, Protocol::Line), change(Change::Reset), Balancer::new(Rule::Turn, 3));
    assert_eq!(done.times().open, [30, 30, 30]);
    assert_eq!(ended_between(&done, 1), [Ending::Reset; 30]);
    assert_eq!(ended_between(&done, 0), [Ending::Stopped; 30]);
    let probes = |round| {
        let of = done.sessions().iter().filter(move |session| !session.is_held && session.round == round);
        of.map(|session| session.ended.unwrap().1).collect::<Vec<_>>()
    };
    // Every third is refused while the backend is gone, and none before and after.
    let refused = probes(1).iter().filter(|ending| **ending == Ending::Refused).count();
    assert!((59..=61).contains(&refused), "{refused} of {}", probes(1).len());
    assert_eq!(done.times().contacts as usize, refused);
    assert!(probes(0).iter().chain(&probes(2)).all(|ending| !ending.is_failure()));
}

#[test]
fn a_silent_backend_lets_its_sessions_wait() {
    let done = run(setup(10, 3, Protocol::Line), change(Change::Silent), Balancer::new(Rule::Turn, 3));
    assert_eq!(ended_between(&done, 1), [Ending::Silent; 30]);
    assert_eq!(ended_between(&done, 2), [Ending::Stopped; 30]);
    assert!(done.times().contacts > 60, "SYNs are repeated: {}", done.times().contacts);
    let served = done.sessions().iter().filter(|session| session.round == 2 && session.first == Some(1));
    assert!(served.count() > 10, "it is used again");
}

#[test]
fn a_drained_backend_keeps_its_sessions() {
    let done = run(setup(10, 3, Protocol::Line), change(Change::Drain), Balancer::new(Rule::Turn, 3));
    assert_eq!(ended_between(&done, 1), [Ending::Stopped; 30]);
    let refused = done.sessions().iter().filter(|s| s.ended.unwrap().1 == Ending::Refused).count();
    assert!((59..=61).contains(&refused), "{refused}");
}

#[test]
fn destinations_are_read_from_all_kinds_of_frames() {
    let mut arp = vec![0; 42];
    arp[12..14].copy_from_slice(&[8, 6]);
    arp[38..42].copy_from_slice(&[10, 0, 1, 11]);
    let address = IpAddr::V4([10, 0, 1, 11].into());
    let found = Destination::of(&arp).unwrap();
    assert_eq!(found, Destination { address, is_packet: false, is_new: false });
    let mut tagged = arp.clone();
    tagged.splice(12..12, [0x81, 0, 0, 7]);
    assert_eq!(Destination::of(&tagged), Some(found));
    let mut syn = vec![0; 74];
    syn[12..14].copy_from_slice(&[0x86, 0xdd]);
    syn[20] = 6;
    syn[53] = 1;
    syn[67] = 2;
    let address = IpAddr::V6(Ipv6Addr::LOCALHOST);
    assert_eq!(Destination::of(&syn), Some(Destination { address, is_packet: true, is_new: true }));
    for cut in 0..arp.len() {
        assert_eq!(Destination::of(&arp[..cut]), None);
    }
}
