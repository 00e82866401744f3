mod sessions;

use session::plan::{Content, KeyKind, ServerIdentity, TlsClient, TlsPlan, TlsServer, TlsVerify};
use session::quic::{Quic, QuicAccepted, QuicEnd, QuicEvent, QuicRead, QuicSide, QuicUnsent};
use units::Nanos;

use crate::{Settings, Sides};

fn plan(alpn: &str) -> TlsPlan {
    TlsPlan {
        tls12: true,
        tls13: true,
        suites: Vec::new(),
        groups: Vec::new(),
        alpn: vec![alpn.to_owned()],
        key_log: None,
        client: TlsClient {
            server_name: Some(Content::bytes("a.test")),
            resumption: None,
            identity: None,
            verify: TlsVerify::Off,
            key_share_reuse: None,
        },
        server: TlsServer {
            identity: ServerIdentity::Generated { names: vec!["a.test".to_owned()], key: KeyKind::EcdsaP256 },
            tickets: 2,
            client_roots: None,
        },
    }
}

const SETTINGS: Settings = Settings {
    mtu: 1_500,
    is_v6: false,
    idle_timeout: Some(Nanos::from_secs(5)),
    seed: 7,
    retry: false,
    early_data: false,
    datagrams: false,
    ecn: false,
    worker: 0,
};

/// Two ends and what lies between them: every datagram takes a millisecond, and some are lost.
struct World {
    now: Nanos,
    client: Box<dyn Quic>,
    servers: Box<dyn QuicSide>,
    server: Option<Box<dyn Quic>>,
    /// Retry packets it was sent.
    retries: usize,
    /// Datagrams in flight, to the server or to the client, with their arrival times.
    under_way: Vec<(Nanos, bool, Vec<u8>)>,
    lost: Box<dyn Fn(usize) -> bool>,
    /// Instants and lengths of all datagrams.
    log: Vec<(Nanos, bool, usize)>,
    client_events: Vec<QuicEvent>,
    server_events: Vec<QuicEvent>,
}

impl World {
    fn new(clients: &TlsPlan, servers: &TlsPlan, lost: impl Fn(usize) -> bool + 'static) -> Self {
        let now = Nanos::from_secs(1);
        let mut side = Sides::new(clients).steady().client(SETTINGS).unwrap();
        Self {
            now,
            client: side.connect(now, 0, 1).unwrap(),
            servers: Sides::new(servers).steady().server(Settings { seed: 8, ..SETTINGS }).unwrap(),
            server: None,
            retries: 0,
            under_way: Vec::new(),
            lost: Box::new(lost),
            log: Vec::new(),
            client_events: Vec::new(),
            server_events: Vec::new(),
        }
    }

    fn send(&mut self) {
        let Self { client, server, .. } = self;
        let ends =
            std::iter::once((true, &mut **client)).chain(server.as_deref_mut().map(|end| (false, end)));
        let mut sent = Vec::new();
        for (to_server, end) in ends {
            let (mut out, mut lengths) = (Vec::new(), Vec::new());
            while end.transmit(self.now, &mut out, &mut lengths) {
                let mut rest = &out[..];
                for len in lengths.drain(..) {
                    let (datagram, more) = rest.split_at(len as usize);
                    sent.push((to_server, datagram.to_vec()));
                    rest = more;
                }
                assert!(rest.is_empty());
                out.clear();
            }
        }
        for (to_server, datagram) in sent {
            assert!(datagram.len() <= 1_472, "{}", datagram.len());
            self.log.push((self.now, to_server, datagram.len()));
            if !(self.lost)(self.log.len()) {
                self.under_way.push((self.now + Nanos::from_millis(1), to_server, datagram));
            }
        }
    }

    /// Goes on to the next instant at which something happens; returns whether there is one before `end`.
    fn step(&mut self, end: Nanos) -> bool {
        self.send();
        let timers = [self.client.timeout(), self.server.as_mut().and_then(|server| server.timeout())];
        let arrivals = self.under_way.iter().map(|(at, ..)| *at);
        let Some(next) = arrivals.chain(timers.into_iter().flatten()).min().filter(|at| *at <= end) else {
            return false;
        };
        self.now = self.now.max(next);
        let due: Vec<_> = self.under_way.extract_if(.., |(at, ..)| *at <= next).collect();
        for (_, to_server, datagram) in due {
            match (to_server, &mut self.server) {
                (false, _) => self.client.receive(self.now, &datagram, 0),
                (true, Some(server)) => server.receive(self.now, &datagram, 0),
                (true, None) => match self.servers.accept(self.now, 1, &datagram, 0) {
                    QuicAccepted::Connection(server) => self.server = Some(server),
                    QuicAccepted::Reply(reply) => self.under_way.push((self.now, false, reply)),
                    QuicAccepted::Retry(reply) => {
                        self.retries += 1;
                        self.under_way.push((self.now, false, reply));
                    }
                    QuicAccepted::Of(_) | QuicAccepted::Nothing => {}
                },
            }
        }
        self.client.wake(self.now);
        self.client_events.extend(std::iter::from_fn(|| self.client.poll()));
        if let Some(server) = &mut self.server {
            server.wake(self.now);
            self.server_events.extend(std::iter::from_fn(|| server.poll()));
        }
        true
    }

    fn run(&mut self, time: Nanos) {
        let end = self.now + time;
        while self.step(end) {}
        self.now = end;
    }
}

/// DATAGRAM frames come once each if nothing is lost, and are not sent again (RFC 9221 section 5.2).
#[test]
fn datagrams_arrive_as_they_were_sent_and_only_where_they_are_taken() {
    let with = |datagrams: [bool; 2], lost| {
        let mut world = World::new(&plan("h3"), &plan("h3"), lost);
        let settings = |datagrams| Settings { datagrams, ..SETTINGS };
        let mut side = Sides::new(&plan("h3")).steady().client(settings(datagrams[0])).unwrap();
        world.client = side.connect(world.now, 0, 1).unwrap();
        let servers = Sides::new(&plan("h3")).steady();
        world.servers = servers.server(Settings { seed: 8, ..settings(datagrams[1]) }).unwrap();
        world.run(Nanos::from_secs(3));
        assert_eq!(world.client_events.first(), Some(&QuicEvent::Connected));
        world
    };
    for (lost, most) in
        [((|_| false) as fn(usize) -> bool, 20), (|number| number > 12 && number % 3 == 0, 19)]
    {
        let mut world = with([true, true], lost);
        for number in 0..20 {
            assert_eq!(world.client.send_datagram(&[number; 900]), Ok(()));
            assert!(world.client.datagrams_left() > 0);
            world.run(Nanos::from_millis(30));
        }
        assert_eq!(world.client.datagrams_left(), 0);
        assert!(world.server_events.contains(&QuicEvent::Datagram));
        let server = world.server.as_mut().unwrap();
        let came: Vec<Vec<u8>> = std::iter::from_fn(|| server.read_datagram()).collect();
        assert!(came.len() == 20 && most == 20 || (1..=most).contains(&came.len()), "{}", came.len());
        assert!(came.iter().all(|bytes| bytes.len() == 900) && came.is_sorted());
        let QuicUnsent::TooLong(most) = world.client.send_datagram(&[0; 3_000]).unwrap_err() else {
            panic!()
        };
        assert!((1_400..1_472).contains(&most), "{most}");
    }
    for datagrams in [[true, false], [false, true]] {
        let sent = with(datagrams, |_| false).client.send_datagram(b"hi");
        assert_eq!(sent, Err(QuicUnsent::Unsupported), "{datagrams:?}");
    }
}

/// A client has room for a few requests at first, which cost a server memory, and for many once it uses them.
#[test]
fn a_busy_client_may_open_more_streams() {
    let mut world = World::new(&plan("h3"), &plan("h3"), |_| false);
    world.run(Nanos::from_secs(1));
    let opened = |world: &mut World| {
        let streams: Vec<u64> = std::iter::from_fn(|| world.client.open(true)).collect();
        for stream in &streams {
            assert_eq!(world.client.send(*stream, b"a request"), Some(9));
        }
        world.run(Nanos::from_secs(1));
        streams.len()
    };
    assert_eq!([opened(&mut world), opened(&mut world), opened(&mut world)], [100, 924, 0]);
    assert!(world.client_events.contains(&QuicEvent::Available));
    // The server has seen all of them.
    let last = QuicEvent::Readable(1_023 * 4);
    assert!(world.server_events.contains(&last));
}

fn transfer(lost: fn(usize) -> bool) -> World {
    let mut world = World::new(&plan("h3"), &plan("h3"), lost);
    world.run(Nanos::from_secs(3));
    assert_eq!(world.client_events.first(), Some(&QuicEvent::Connected));
    let agreed = world.client.agreed().unwrap();
    assert_eq!((agreed.alpn, agreed.version, agreed.resumed), ("h3", "1.3", false));
    assert_eq!(world.server.as_ref().unwrap().agreed(), Some(agreed));
    let stream = world.client.open(true).unwrap();
    let bytes: Vec<u8> = (0..300_000u32).map(|n| n as u8).collect();
    assert_eq!(world.client.send(stream, &bytes), Some(bytes.len()));
    world.client.finish(stream);
    let mut got = Vec::new();
    let mut end = QuicRead::Blocked;
    let until = world.now + Nanos::from_secs(10);
    while end == QuicRead::Blocked && world.step(until) {
        world.server_events.clear();
        end = world.server.as_mut().unwrap().read(stream, &mut |some| got.extend_from_slice(some));
        if end == QuicRead::Closed {
            end = QuicRead::Blocked;
        }
    }
    assert!(end == QuicRead::Finished && got == bytes, "{end:?}, {} bytes", got.len());
    world.run(Nanos::from_millis(500));
    assert!(world.client_events.contains(&QuicEvent::Delivered(stream)));
    world
}

#[test]
fn a_stream_arrives_with_and_without_losses() {
    let world = transfer(|_| false);
    assert_eq!(world.client.stats().packets_lost, 0);
    assert!(world.log.iter().any(|(_, _, len)| *len == 1_472), "datagrams fill the frame");
    let mut world = transfer(|number| number % 17 == 3);
    assert!(world.client.stats().packets_lost > 0);
    // Whoever closes is heard, and both ends are forgotten after a while.
    world.client.close(world.now, 0x100);
    world.run(Nanos::from_secs(4));
    assert_eq!(world.server_events.last(), Some(&QuicEvent::Lost(QuicEnd::Application(0x100))));
    assert!(world.client.is_drained() && world.server.unwrap().is_drained());
}

/// Whatever is lost of a handshake, what was sent right after it arrives before long.
#[test]
fn no_loss_stalls_a_connection() {
    for seed in 0..100 {
        let lost = move |number: usize| random::word(seed, number as u64) % 100 < 20;
        let mut world = World::new(&plan("h3"), &plan("h3"), lost);
        let settings = Settings { idle_timeout: None, ..SETTINGS };
        world.client =
            Sides::new(&plan("h3")).steady().client(settings).unwrap().connect(world.now, 0, 1).unwrap();
        world.servers = Sides::new(&plan("h3")).steady().server(Settings { seed: 8, ..settings }).unwrap();
        let end = world.now + Nanos::from_secs(100);
        let (mut stream, mut read) = (None, QuicRead::Blocked);
        while read != QuicRead::Finished && world.step(end) {
            if stream.is_none() && world.client_events.contains(&QuicEvent::Connected) {
                stream = world.client.open(true);
                assert_eq!(world.client.send(stream.unwrap(), &[7; 100]), Some(100));
                world.client.finish(stream.unwrap());
            }
            if let (Some(server), Some(stream)) = (&mut world.server, stream) {
                read = server.read(stream, &mut |_| {});
            }
        }
        assert_eq!(
            read,
            QuicRead::Finished,
            "{seed}: {:?} {:?} {:?}",
            world.client_events,
            world.server_events,
            world.log
        );
    }
}

/// A client proves its address first; a token is good on the flow it was made for alone.
#[test]
fn a_retry_comes_before_the_connection() {
    for lost in [(|_| false) as fn(usize) -> bool, |number| number % 17 == 3] {
        let mut world = World::new(&plan("h3"), &plan("h3"), lost);
        world.servers =
            Sides::new(&plan("h3")).server(Settings { seed: 8, retry: true, ..SETTINGS }).unwrap();
        world.run(Nanos::from_secs(3));
        assert_eq!(world.client_events.first(), Some(&QuicEvent::Connected));
        assert!(world.retries >= 1 && world.server.unwrap().agreed().is_some(), "{}", world.retries);
    }
    let mut servers = Sides::new(&plan("h3")).server(Settings { retry: true, ..SETTINGS }).unwrap();
    let mut client =
        Sides::new(&plan("h3")).client(SETTINGS).unwrap().connect(Nanos::from_secs(1), 0, 1).unwrap();
    let now = Nanos::from_secs(1);
    let first = |client: &mut Box<dyn Quic>| {
        let (mut out, mut lengths) = (Vec::new(), Vec::new());
        assert!(client.transmit(now, &mut out, &mut lengths));
        out[..lengths[0] as usize].to_vec()
    };
    let initial = first(&mut client);
    let QuicAccepted::Retry(retry) = servers.accept(now, 1, &initial, 0) else { panic!("no Retry") };
    assert!(retry.len() < initial.len());
    client.receive(now, &retry, 0);
    let initial = first(&mut client);
    // INVALID_TOKEN (RFC 9000 section 8.1.3) on another flow.
    assert!(matches!(servers.accept(now, 2, &initial, 0), QuicAccepted::Reply(_)));
    assert!(matches!(servers.accept(now, 1, &initial, 0), QuicAccepted::Connection(_)));
}

#[test]
fn a_seed_says_when_packets_leave_and_how_long_they_are() {
    let lossy = |number: usize| number % 17 == 3;
    let logs: Vec<_> = (0..3).map(|_| transfer(lossy).log).collect();
    assert!(logs[0] == logs[1] && logs[1] == logs[2]);
}

#[test]
fn who_has_nothing_in_common_is_told() {
    let mut world = World::new(&plan("h3"), &plan("doq"), |_| false);
    world.run(Nanos::from_secs(3));
    let lost = world.client_events.iter().find(|event| matches!(event, QuicEvent::Lost(_)));
    assert!(matches!(lost, Some(QuicEvent::Lost(QuicEnd::NothingCommon(_)))), "{lost:?}");
}

#[test]
fn silence_ends_a_handshake() {
    let mut world = World::new(&plan("h3"), &plan("h3"), |_| true);
    world.run(Nanos::from_secs(20));
    assert_eq!(world.client_events, [QuicEvent::Lost(QuicEnd::TimedOut)]);
    assert!(world.client.is_drained());
}

#[test]
fn certificates_are_verified_if_asked() {
    let verified =
        TlsPlan { client: TlsClient { verify: TlsVerify::Generated, ..plan("h3").client }, ..plan("h3") };
    // The certificate that this client trusts was made for other servers.
    let mut world = World::new(&verified, &plan("h3"), |_| false);
    world.run(Nanos::from_secs(3));
    let lost = world.client_events.iter().find(|event| matches!(event, QuicEvent::Lost(_)));
    assert!(matches!(lost, Some(QuicEvent::Lost(QuicEnd::Tls(_)))), "{lost:?}");
    let told = world.server_events.iter().find(|event| matches!(event, QuicEvent::Lost(_)));
    assert!(matches!(told, Some(QuicEvent::Lost(QuicEnd::Tls(_)))), "{told:?}");
}

#[test]
fn what_is_no_quic_begins_nothing() {
    let mut servers = Sides::new(&plan("h3")).server(SETTINGS).unwrap();
    let mut version = vec![0xc0, 0xfa, 0xce, 0xb0, 0x0c, 8];
    version.extend([1; 8]);
    version.push(0);
    let now = Nanos::from_secs(1);
    for bytes in [&[][..], &[0x40; 60][..9], &version, b"GET / HTTP/1.1\r\n\r\n"] {
        assert!(matches!(servers.accept(now, 1, bytes, 0), QuicAccepted::Nothing), "{bytes:x?}");
    }
    // Version Negotiation, if the datagram is as long as a client's first must be (RFC 9000 section 6).
    version.resize(1_200, 0);
    let QuicAccepted::Reply(reply) = servers.accept(now, 1, &version, 0) else { panic!("no reply") };
    assert_eq!((reply[0] & 0x80, &reply[1..5]), (0x80, &[0; 4][..]));
    // A packet of a connection that nobody knows: a stateless reset, shorter than it (RFC 9000 section 10.3).
    let QuicAccepted::Reply(reply) = servers.accept(now, 1, &[0x41; 60], 0) else { panic!("no reply") };
    assert!(reply.len() < 60);
}

/// All datagrams that an end sends now.
fn sent(end: &mut dyn Quic, now: Nanos) -> Vec<Vec<u8>> {
    let mut datagrams = Vec::new();
    let (mut out, mut lengths) = (Vec::new(), Vec::new());
    while end.transmit(now, &mut out, &mut lengths) {
        let mut rest = &out[..];
        for len in lengths.drain(..) {
            let (datagram, more) = rest.split_at(len as usize);
            datagrams.push(datagram.to_vec());
            rest = more;
        }
        out.clear();
    }
    datagrams
}

/// A client comes on another flow: its connection's flow takes that one's addresses, and the path that was left is tried over the other
/// one. A forged packet moves nothing.
#[test]
fn a_client_is_followed_to_another_flow() {
    let mut world = transfer(|_| false);
    let mut server = world.server.take().unwrap();
    let stream = world.client.open(true).unwrap();
    world.client.send(stream, &[1; 100]);
    let now = world.now;
    let mut datagrams = sent(&mut *world.client, now);
    let mut forged = datagrams[0].clone();
    *forged.last_mut().unwrap() ^= 1;
    assert!(matches!(world.servers.accept(now, 3, &forged, 0), QuicAccepted::Of(1)));
    server.wake(now);
    assert_eq!(server.moved_to(), None);
    for datagram in datagrams.drain(..) {
        assert!(matches!(world.servers.accept(now, 2, &datagram, 0), QuicAccepted::Of(1)));
    }
    server.wake(now);
    assert_eq!((server.moved_to(), server.moved_to()), (Some(2), None));
    let on_path = sent(&mut *server, now);
    assert!(!on_path.is_empty() && server.rouses() == Some(2));
    let tries = world.servers.off_path(2);
    assert!(!tries.is_empty() && tries.iter().all(|datagram| datagram.len() >= 1_200), "{tries:?}");
    on_path.iter().for_each(|datagram| world.client.receive(now, datagram, 0));
    // The response comes on the connection's flow, which has the new addresses.
    let answers = sent(&mut *world.client, now);
    answers.iter().for_each(|datagram| server.receive(now, datagram, 0));
    assert_eq!(server.moved_to(), None);
    world.servers.closed(1);
    world.servers.closed(2);
    drop(server);
    assert!(!matches!(world.servers.accept(now, 4, &answers[0], 0), QuicAccepted::Of(_)));
}

/// The client of a side, and a server: a stream is sent before the handshake if it may be.
fn early(side: &mut Box<dyn QuicSide>, servers: &Sides, number: u64) -> (World, Option<u64>) {
    let mut world = World::new(&plan("h3"), &plan("h3"), |_| false);
    world.client = side.connect(world.now, number, 1).unwrap();
    world.servers = servers.server(Settings { seed: 8, early_data: true, ..SETTINGS }).unwrap();
    let stream = world.client.has_early_keys().then(|| {
        let stream = world.client.open(true).unwrap();
        assert_eq!(world.client.send(stream, b"early"), Some(5));
        stream
    });
    world.run(Nanos::from_secs(1));
    assert_eq!(world.client_events.first(), Some(&QuicEvent::Connected));
    (world, stream)
}

#[test]
fn early_data_is_accepted_once_and_lost_with_a_stranger() {
    let resumed = TlsPlan { client: TlsClient { resumption: Some(10), ..plan("h3").client }, ..plan("h3") };
    let mut side = Sides::new(&resumed).client(Settings { early_data: true, ..SETTINGS }).unwrap();
    let (known, stranger) = (Sides::new(&plan("h3")), Sides::new(&plan("h3")));
    let (world, stream) = early(&mut side, &known, 0);
    assert!(stream.is_none() && !world.client.is_early_accepted());
    let (mut world, stream) = early(&mut side, &known, 1);
    assert!(world.client.is_early_accepted());
    let mut got = Vec::new();
    let mut server = world.server.take().unwrap();
    assert!(server.has_early_keys());
    server.read(stream.unwrap(), &mut |some| got.extend_from_slice(some));
    assert_eq!(got, b"early");
    let (mut world, stream) = early(&mut side, &stranger, 2);
    assert!(stream.is_some() && !world.client.is_early_accepted());
    // All streams are gone, and begin anew.
    assert_eq!(world.client.open(true), stream);
    assert!(!world.server.unwrap().has_early_keys());
}

/// The server's first datagram is lost, and it may send no more: its client sends more, although all of its Initial packets are
/// acknowledged.
#[test]
fn a_handshake_with_early_data_survives_a_lost_flight() {
    let resumed = TlsPlan { client: TlsClient { resumption: Some(10), ..plan("h3").client }, ..plan("h3") };
    let mut side = Sides::new(&resumed).client(Settings { early_data: true, ..SETTINGS }).unwrap();
    let known = Sides::new(&plan("h3"));
    early(&mut side, &known, 0);
    let mut world = World::new(&plan("h3"), &plan("h3"), |number| number == 2);
    world.client = side.connect(world.now, 1, 1).unwrap();
    world.servers = known.server(Settings { seed: 8, early_data: true, ..SETTINGS }).unwrap();
    let stream = world.client.open(true).unwrap();
    world.client.send(stream, b"early");
    while world.server.is_none() {
        assert!(world.step(Nanos::from_secs(2)));
    }
    let server = world.server.as_mut().unwrap();
    server.read(stream, &mut |_| {});
    assert!(server.send(stream, &[1; 50_000]) > Some(40_000));
    world.run(Nanos::from_secs(3));
    assert!(!world.log[1].1, "the second datagram is the server's");
    assert_eq!(world.client_events.first(), Some(&QuicEvent::Connected));
    assert!(world.client.is_early_accepted());
}

#[test]
fn keys_are_updated() {
    let mut world = transfer(|_| false);
    for updates in 1..4 {
        world.client.update_keys();
        let stream = world.client.open(true).unwrap();
        world.client.send(stream, &[1; 100]);
        world.run(Nanos::from_secs(1));
        let ends = [world.client.stats(), world.server.as_ref().unwrap().stats()];
        assert_eq!(ends.map(|stats| stats.key_updates), [updates; 2]);
    }
}

/// Datagrams that were damaged, cut, or come on any flow: nothing breaks, and what comes whole afterwards is read.
#[test]
fn damaged_datagrams_on_any_flow_are_survived() {
    let mut world = transfer(|_| false);
    let mut server = world.server.take().unwrap();
    let key = random::key(3);
    let stream = world.client.open(true).unwrap();
    for turn in 0..2_000u64 {
        world.client.send(stream, &[turn as u8; 50]);
        for (number, mut datagram) in sent(&mut *world.client, world.now).into_iter().enumerate() {
            let word = random::word(key, turn << 8 | number as u64);
            let at = (word >> 8) as usize % datagram.len();
            match word & 3 {
                0 => datagram[at] ^= 1 << (word >> 40 & 7),
                1 => datagram.truncate(at),
                2 => datagram[0] ^= (word >> 40) as u8,
                _ => {}
            }
            match word >> 4 & 3 {
                0 => server.receive(world.now, &datagram, 0),
                flow => drop(world.servers.accept(world.now, 1 + flow as u32, &datagram, 0)),
            }
        }
        server.wake(world.now);
        server.read(stream, &mut |_| {});
        while server.poll().is_some() {}
        if let Some(flow) = server.moved_to() {
            assert!((2..=4).contains(&flow));
        }
        for datagram in sent(&mut *server, world.now) {
            world.client.receive(world.now, &datagram, 0);
        }
        if let Some(flow) = server.rouses() {
            assert!(world.servers.off_path(flow).len() <= 8);
        }
        world.now += Nanos::from_millis(5);
        world.client.wake(world.now);
        while let Some(event) = world.client.poll() {
            assert!(!matches!(event, QuicEvent::Lost(_)), "{event:?}");
        }
    }
}
