//! Both ends over connections of a plain QUIC, without encryption and losses, and each end before one that breaks the rules (RFC 9250
//! section 4.3.3).

use crate::plan::*;
use crate::quic::*;
use crate::secure::{Agreed, Layer, SecureError};
use crate::testing::plan;
use crate::{Apps, Counts, Flow, GroupKey, Reason};
use std::collections::VecDeque;
use std::sync::Arc;
use tcp::{App, End, FlowId, GroupId, Io};
use units::Nanos;

const SECOND: u64 = 1_000_000_000;

/// A connection with plain datagrams: a kind, a stream, a code, and bytes.
#[derive(Default)]
struct Plain {
    is_client: bool,
    out: VecDeque<Vec<u8>>,
    events: VecDeque<QuicEvent>,
    /// Streams opened so far, both ways and one way.
    opened: [u64; 2],
    /// Received data by stream: bytes, and the end.
    inbox: std::collections::BTreeMap<u64, (Vec<u8>, Option<QuicRead>)>,
    closed: bool,
}

impl Plain {
    fn say(&mut self, kind: u8, stream: u64, code: u64, bytes: &[u8]) {
        let head = [&[kind][..], &stream.to_be_bytes(), &code.to_be_bytes()].concat();
        self.out.push_back([&head, bytes].concat());
    }

    fn come(&mut self, stream: u64, bytes: &[u8], end: Option<QuicRead>) {
        let (all, ended) = self.inbox.entry(stream).or_default();
        all.extend_from_slice(bytes);
        *ended = end.or(*ended);
        self.events.push_back(QuicEvent::Readable(stream));
    }
}

impl Quic for Plain {
    fn receive(&mut self, _: Nanos, datagram: &[u8], _: u8) {
        let word = |at: usize| u64::from_be_bytes(datagram[at..at + 8].try_into().unwrap());
        let (stream, code, bytes) = (word(1), word(9), &datagram[17..]);
        match datagram[0] {
            b'h' => {
                if !self.is_client {
                    self.say(b'h', 0, 0, b"");
                }
                self.events.push_back(QuicEvent::Connected);
            }
            b'd' => self.come(stream, bytes, None),
            b'f' => {
                self.say(b'a', stream, 0, b"");
                self.come(stream, b"", Some(QuicRead::Finished));
            }
            b'r' => self.come(stream, b"", Some(QuicRead::Reset(code))),
            b's' => self.events.push_back(QuicEvent::Stopped(stream, code)),
            b'a' => self.events.push_back(QuicEvent::Delivered(stream)),
            b'c' => {
                self.closed = true;
                self.events.push_back(QuicEvent::Lost(QuicEnd::Application(code)));
            }
            kind => panic!("{kind}"),
        }
    }

    fn poll(&mut self) -> Option<QuicEvent> {
        self.events.pop_front()
    }

    fn open(&mut self, bidirectional: bool) -> Option<u64> {
        let opened = &mut self.opened[usize::from(!bidirectional)];
        *opened += 1;
        Some((*opened - 1) * 4 + u64::from(!bidirectional) * 2 + u64::from(!self.is_client))
    }

    fn send(&mut self, stream: u64, bytes: &[u8]) -> Option<usize> {
        // Not all at once.
        let some = bytes.len().min(1_000);
        self.say(b'd', stream, 0, &bytes[..some]);
        Some(some)
    }

    fn finish(&mut self, stream: u64) {
        self.say(b'f', stream, 0, b"");
    }

    fn reset(&mut self, stream: u64, code: u64) {
        self.say(b'r', stream, code, b"");
    }

    fn stop(&mut self, stream: u64, code: u64) {
        self.say(b's', stream, code, b"");
    }

    fn read(&mut self, stream: u64, take: &mut dyn FnMut(&[u8])) -> QuicRead {
        let Some((bytes, end)) = self.inbox.get_mut(&stream) else { return QuicRead::Closed };
        if !bytes.is_empty() {
            take(&std::mem::take(bytes));
        }
        end.unwrap_or(QuicRead::Blocked)
    }

    fn close(&mut self, _: Nanos, code: u64) {
        if !std::mem::replace(&mut self.closed, true) {
            self.say(b'c', 0, code, b"");
        }
    }

    fn transmit(&mut self, _: Nanos, out: &mut Vec<u8>, lengths: &mut Vec<u64>) -> bool {
        let Some(datagram) = self.out.pop_front() else { return false };
        out.extend_from_slice(&datagram);
        lengths.push(datagram.len() as u64);
        true
    }

    fn marks(&self) -> bool {
        false
    }

    fn timeout(&mut self) -> Option<Nanos> {
        None
    }

    fn wake(&mut self, _: Nanos) {}

    fn has_early_keys(&self) -> bool {
        false
    }

    fn is_early_accepted(&self) -> bool {
        false
    }

    fn update_keys(&mut self) {}

    fn agreed(&self) -> Option<Agreed> {
        None
    }

    fn moved_to(&mut self) -> Option<u32> {
        None
    }

    fn rouses(&mut self) -> Option<u32> {
        None
    }

    fn moved(&mut self, _: bool) {}

    fn stats(&self) -> QuicStats {
        QuicStats::default()
    }

    fn is_drained(&self) -> bool {
        self.closed
    }
}

struct Factory;

impl QuicSide for Factory {
    fn connect(&mut self, _: Nanos, _: u64, _: u32) -> Result<Box<dyn Quic>, SecureError> {
        let mut client = Plain { is_client: true, ..Plain::default() };
        client.say(b'h', 0, 0, b"");
        Ok(Box::new(client))
    }

    fn accept(&mut self, now: Nanos, _: u32, datagram: &[u8], ecn: u8) -> QuicAccepted {
        let mut server = Plain::default();
        server.receive(now, datagram, ecn);
        QuicAccepted::Connection(Box::new(server))
    }

    fn off_path(&mut self, _: u32) -> Vec<Vec<u8>> {
        Vec::new()
    }

    fn closed(&mut self, _: u32) {}
}

/// One end of ours.
struct Half {
    apps: Apps,
    flow: Flow,
    group: GroupId,
    is_open: bool,
    lengths: VecDeque<u64>,
    sent: u64,
    wake: Option<Nanos>,
    closing: bool,
    end: Option<End>,
}

impl Half {
    fn new(dns: DnsPlan, side: Side) -> Self {
        let mut entry = plan(AppPlan::Dns(dns.into()));
        entry.carrier = Carrier::Udp;
        entry.tls = Some(Arc::new(tls()));
        entry.patience.response = Some(Nanos(5 * SECOND));
        let apps = Apps::new(&[entry], 0, 1, |_: GroupKey| Layer::Quic(Box::new(Factory)));
        let group = GroupId(u16::from(side == Side::Server));
        let (lengths, flow) = (VecDeque::new(), Flow::default());
        Self { apps, flow, group, is_open: false, lengths, sent: 0, wake: None, closing: false, end: None }
    }

    fn tell(&mut self, tell: impl FnOnce(&mut Apps, &mut Flow, &mut Io)) {
        if self.end.is_some() {
            return;
        }
        let mut io = Io::for_datagrams(FlowId(0), self.group, Vec::new()).having_sent(self.sent);
        tell(&mut self.apps, &mut self.flow, &mut io);
        self.lengths.extend(io.datagrams_asked());
        self.closing |= io.asked_to_close();
        self.wake = io.asked_to_wake().or(self.wake);
        assert!(!io.asked_to_abort());
    }

    fn start(&mut self, now: Nanos) {
        self.flow = self.apps.start(now, self.group, 0);
        self.is_open = true;
        self.tell(|apps, flow, io| apps.opened(now, flow, io));
    }

    /// Handles datagrams and timers; returns the datagrams sent.
    fn turn(&mut self, now: Nanos, came: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        for datagram in came {
            if !std::mem::replace(&mut self.is_open, true) {
                self.tell(|apps, flow, io| apps.opened(now, flow, io));
            }
            self.tell(|apps, flow, io| apps.received(now, flow, io, &datagram));
        }
        if self.wake.is_some_and(|at| at <= now) {
            self.wake = None;
            self.tell(|apps, flow, io| apps.woke(now, flow, io));
        }
        let mut sent = Vec::new();
        while let Some(len) = self.lengths.pop_front() {
            let mut bytes = vec![0; len as usize];
            self.apps.fill(&self.flow, self.group, self.sent, &mut bytes);
            self.sent += len;
            sent.push(bytes);
        }
        if self.closing && self.end.is_none() {
            self.end = Some(End::Closed);
            self.apps.closed(now, &mut self.flow, FlowId(0), self.group, End::Closed);
        }
        sent
    }

    fn counts(&self) -> &Counts {
        self.apps.counts(self.group)
    }
}

fn tls() -> TlsPlan {
    TlsPlan {
        tls12: false,
        tls13: true,
        suites: Vec::new(),
        groups: Vec::new(),
        alpn: Vec::new(),
        client: TlsClient { server_name: None, resumption: None, identity: None, verify: TlsVerify::Off },
        server: TlsServer {
            identity: ServerIdentity::Generated { names: Vec::new(), key: KeyKind::EcdsaP256 },
            tickets: 0,
            client_roots: None,
        },
    }
}

fn failures(counts: &Counts) -> Vec<(Reason, u64)> {
    let of = |reason| (reason, counts.failed(reason));
    Reason::ALL.into_iter().map(of).filter(|(_, count)| *count > 0).collect()
}

fn dns(per_session: u32, streams: u16) -> DnsPlan {
    let query = |name: &str, kind| {
        let query = DnsQuery { name: Content::bytes(name), kind, recursion: true, edns_bytes: Some(1_232) };
        (query, 1)
    };
    let rule = |suffix: &str, answers| DnsRule {
        suffix: suffix.to_owned(),
        kinds: Vec::new(),
        code: 0,
        answers,
        ttl: 60,
        delay: Delay::NONE,
        silent: false,
    };
    let address = DnsAnswer::Address { first: "192.0.2.1".parse().unwrap(), count: 4 };
    let long = DnsAnswer::Data { kind: 16, data: vec![b'x'; 40_000].into() };
    let delay = Delay::Constant(Nanos::from_millis(20));
    let slow = DnsRule { delay, ..rule("slow.test", vec![address.clone()]) };
    DnsPlan {
        queries: vec![
            query("a.test", 1),
            query("long.test", 16),
            query("slow.test", 1),
            query("b.invalid", 1),
        ],
        order: SelectionOrder::Sequential,
        per_session: Some(per_session),
        streams,
        think: Delay::NONE,
        retries: 2,
        retry_after: Nanos(SECOND),
        tcp_fallback: false,
        errors_fail: false,
        padding: true,
        rules: vec![slow, rule("test", vec![address, long])].into(),
        udp_room: 1_472,
        https: None,
    }
}

/// Both ends for some milliseconds, of which a datagram takes one.
fn joined(dns: &DnsPlan, millis: u64, stop_after: Option<u64>) -> [Half; 2] {
    let mut ends = [Side::Client, Side::Server].map(|side| Half::new(dns.clone(), side));
    ends[0].start(Nanos(SECOND));
    let mut flying = [Vec::new(), Vec::new()];
    for milli in 0..millis {
        let now = Nanos(SECOND + milli * 1_000_000);
        if stop_after == Some(milli) {
            ends[0].tell(|apps, flow, io| apps.stop(now, flow, io));
        }
        let came = std::mem::take(&mut flying);
        for (half, (came, to)) in ends.iter_mut().zip(came.into_iter().zip([1, 0])) {
            flying[to] = half.turn(now, came);
        }
    }
    ends
}

#[test]
fn queries_get_their_responses() {
    for streams in [1, 7, 100] {
        let ends = joined(&dns(60, streams), 2_000, None);
        let [client, server] = [ends[0].counts(), ends[1].counts()];
        let both = format!("{streams}: {:?} {:?}", client.details, server.details);
        assert_eq!((failures(client), failures(server)), (vec![], vec![]), "{both}");
        assert_eq!((client.attempted, client.established, client.completed), (1, 1, 1), "{both}");
        assert_eq!((server.attempted, server.established, server.completed), (1, 1, 1), "{both}");
        assert_eq!((client.requests, client.transactions, server.transactions), (60, 60, 60));
        assert_eq!((client.dns[0], client.dns[3], server.dns), (45, 15, client.dns));
        assert_eq!((client.ttfb.samples(), client.ttlb.samples(), client.setup.samples()), (60, 60, 1));
        // All are padded, with a length of two bytes before each: the long ones have 40,000 bytes in a record.
        assert_eq!(client.bytes_sent, 60 * (128 + 2));
        assert_eq!(client.bytes_received, 45 * (468 + 2) + 15 * (468 * 86 + 2));
        assert_eq!(server.bytes_delivered, client.bytes_received);
        assert!(ends.iter().all(|half| half.end.is_some()), "both flows are gone");
    }
}

#[test]
fn the_end_of_a_run_ends_sessions() {
    let endless = DnsPlan { per_session: None, ..dns(1, 2) };
    let ends = joined(&endless, 2_000, Some(300));
    let [client, server] = [ends[0].counts(), ends[1].counts()];
    assert_eq!((failures(client), failures(server)), (vec![], vec![]), "{:?}", client.details);
    assert_eq!((client.completed, client.stopped, server.completed), (1, 1, 1));
    assert!(client.transactions > 10 && client.transactions == server.transactions);
}

#[test]
fn a_server_without_a_response_is_waited_for() {
    let mut silent = dns(4, 2);
    silent.rules = vec![DnsRule { silent: true, ..silent.rules[1].clone() }].into();
    let ends = joined(&silent, 12_000, None);
    assert_eq!(failures(ends[0].counts()), [(Reason::ResponseTimeout, 1)]);
    assert_eq!(failures(ends[1].counts()), [(Reason::ClosedEarly, 1)]);
}

/// One end of ours, and a peer that sends it anything.
struct Against {
    now: Nanos,
    half: Half,
    peer: Plain,
    flying: Vec<Vec<u8>>,
    events: Vec<QuicEvent>,
}

impl Against {
    fn new(side: Side) -> Self {
        let mut half = Half::new(dns(2, 1), side);
        let mut peer = Plain { is_client: side == Side::Server, ..Plain::default() };
        match side {
            Side::Client => half.start(Nanos(SECOND)),
            Side::Server => peer.say(b'h', 0, 0, b""),
        }
        let mut against = Self { now: Nanos(SECOND), half, peer, flying: Vec::new(), events: Vec::new() };
        against.run(10);
        assert_eq!(against.events.first(), Some(&QuicEvent::Connected));
        against
    }

    fn run(&mut self, millis: u64) {
        for _ in 0..millis {
            self.now = self.now.saturating_add(Nanos::from_millis(1));
            let sent = self.half.turn(self.now, std::mem::take(&mut self.flying));
            sent.iter().for_each(|datagram| self.peer.receive(self.now, datagram, 0));
            self.events.extend(std::iter::from_fn(|| self.peer.poll()));
            self.flying.extend(self.peer.out.drain(..));
        }
    }

    /// The peer has broken a rule: that is counted, and it gets DOQ_PROTOCOL_ERROR.
    fn assert_broken(&self, why: &str) {
        let counts = self.half.counts();
        assert_eq!(failures(counts), [(Reason::DoqProtocol, 1)], "{why}: {:?}", counts.details);
        assert_eq!(counts.details.get(why), Some(&1), "{:?}", counts.details);
        assert!(self.events.contains(&QuicEvent::Lost(QuicEnd::Application(2))), "{why}: {:?}", self.events);
    }
}

/// A query for the address of `a.test` with its length, an identifier, and options of EDNS.
fn query(id: u8, options: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, id, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, b'a', 4];
    bytes.extend(b"test\0\0\x01\0\x01");
    bytes.extend([0, 0, 41, 16, 0, 0, 0, 0, 0, 0, options.len() as u8]);
    bytes.extend(options);
    [&[0, bytes.len() as u8], &bytes[..]].concat()
}

#[test]
fn clients_that_break_a_rule_are_refused() {
    let good = query(0, &[]);
    let twice = [&good[..], &good].concat();
    let keepalive = query(0, &[0, 11, 0, 2, 0, 100]);
    let cases: [(&str, bool, &[u8]); 7] = [
        ("a unidirectional stream was opened", false, &good),
        ("a query with an identifier other than 0", true, &query(1, &[])),
        ("a query with the option edns-tcp-keepalive", true, &keepalive),
        ("more than one message on a stream", true, &twice),
        ("a stream that ends before its message is whole", true, &good[..20]),
        ("a stream that ends before its message is whole", true, &[]),
        ("no query", true, &[0, 3, 0, 0, 1]),
    ];
    for (why, both_ways, bytes) in cases {
        let mut against = Against::new(Side::Server);
        let stream = against.peer.open(both_ways).unwrap();
        against.peer.send(stream, bytes);
        against.peer.finish(stream);
        against.run(20);
        against.assert_broken(why);
    }
}

#[test]
fn a_client_may_give_a_query_up_and_go_on() {
    let mut against = Against::new(Side::Server);
    let bytes = query(0, &[]);
    let [first, second, third] = [0, 1, 2].map(|_| against.peer.open(true).unwrap());
    against.peer.send(first, &bytes[..9]);
    against.peer.reset(first, 3);
    against.peer.send(second, &bytes);
    against.peer.finish(second);
    against.peer.stop(third, 3);
    against.run(20);
    against.peer.close(against.now, 0);
    against.run(20);
    let counts = against.half.counts();
    assert_eq!((failures(counts), counts.completed), (vec![], 1), "{:?}", counts.details);
    assert_eq!((counts.dns_cancelled, counts.requests, counts.transactions), (1, 1, 1));
}

#[test]
fn servers_that_break_a_rule_are_refused() {
    let response = |id, options: &[u8]| {
        let mut bytes = query(id, options);
        bytes[4] = 0x84;
        bytes
    };
    let good = response(0, &[]);
    let twice = [&good[..], &good].concat();
    let cases: [(&str, Vec<u8>, bool); 6] = [
        ("a response with an identifier other than 0", response(1, &[]), true),
        ("a response with the option edns-tcp-keepalive", response(0, &[0, 11, 0, 0]), true),
        ("more than one message on a stream", twice, true),
        ("a stream that ends before its message is whole", good[..20].to_vec(), true),
        ("a stream that ends before its message is whole", Vec::new(), true),
        ("a response without the end of its stream", good, false),
    ];
    for (why, bytes, ends) in cases {
        let mut against = Against::new(Side::Client);
        against.peer.send(0, &bytes);
        if ends {
            against.peer.finish(0);
        }
        against.run(7_000);
        against.assert_broken(why);
    }
    for (why, one_way) in
        [("a unidirectional stream was opened", true), ("STOP_SENDING: a query was not wanted", false)]
    {
        let mut against = Against::new(Side::Client);
        if one_way {
            let stream = against.peer.open(false).unwrap();
            against.peer.send(stream, b"x");
        } else {
            against.peer.stop(0, 3);
        }
        against.run(20);
        against.assert_broken(why);
    }
}

#[test]
fn a_server_may_give_up_a_query_or_all() {
    let told = |act: fn(&mut Plain)| {
        let mut against = Against::new(Side::Client);
        act(&mut against.peer);
        against.run(20);
        (failures(against.half.counts()), against.half.counts().details.keys().cloned().collect::<Vec<_>>())
    };
    let [reset, closed, left] = [
        told(|peer| peer.reset(0, 1)),
        told(|peer| peer.close(Nanos::ZERO, 4)),
        told(|peer| peer.close(Nanos::ZERO, 0)),
    ];
    assert_eq!(reset, (vec![(Reason::StreamReset, 1)], vec!["RESET_STREAM: DOQ_INTERNAL_ERROR".to_owned()]));
    let why = "CONNECTION_CLOSE: DOQ_EXCESSIVE_LOAD".to_owned();
    assert_eq!(closed, (vec![(Reason::QuicClosed, 1)], vec![why]));
    assert_eq!(left, (vec![(Reason::ClosedEarly, 1)], vec![]));
}
