//! Bytes of any kind to clients and servers of DNS over HTTPS and over QUIC: they survive them, count the same however they come in pieces,
//! and end with exactly one of completed and failed.
//!
//! The low three bits of an input's first byte choose what the rest is – the body of a response or of a POST, the variable of a GET, frames for
//! a client or a server of HTTP/2, a stream of QUIC for a client or a server –, the others the length of the pieces.

use http2::PREFACE;
use session::plan::{
    AppPlan, Carrier, Content, Delay, DnsAnswer, DnsHttps, DnsPlan, DnsQuery, DnsRule, KeyKind, LoadPlan,
    Method, Mix, OpenRate, PairOrder, Patience, PoolPlan, PortBegin, QuicOptions, SelectionOrder,
    ServerIdentity, SessionPlan, SideHost, SidePlan, TlsClient, TlsPlan, TlsServer, TlsVerify,
};
use session::quic::{Quic, QuicAccepted, QuicEvent, QuicRead, QuicSide, QuicStats};
use session::secure::{Agreed, Layer, SecureError};
use session::{Apps, Counts, Flow};
use std::collections::VecDeque;
use std::sync::Arc;
use tcp::{App, End, FlowId, GroupId, Io, TcpOptions, UdpOptions};
use units::{Nanos, Pps};

const NOW: Nanos = Nanos(1_000_000);
const CLIENT: GroupId = GroupId(0);
const SERVER: GroupId = GroupId(1);

/// Meaning of an input's bytes.
const RESPONSE: u8 = 0;
const POST: u8 = 1;
const GET: u8 = 2;
const CLIENT_FRAMES: u8 = 3;
const SERVER_FRAMES: u8 = 4;
const CLIENT_STREAM: u8 = 5;
const SERVER_STREAM: u8 = 6;

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    let Some((how, bytes)) = data.split_first() else { return };
    let (what, pieces) = (how & 7, 1 + usize::from(how >> 3));
    let settings = frame(4, 0, 0, &[]);
    let end = frame(0, 1, 1, &[]);
    let body = |head: &[u8]| [&settings[..], head, &data_frames(bytes), &end].concat();
    let (group, over_quic, sent) = match what {
        RESPONSE => (CLIENT, false, body(&head(&[(":status", b"200"), TYPE]))),
        POST => (
            SERVER,
            false,
            [
                &PREFACE[..],
                &body(&head(&[&REQUEST[..], &[(":method", b"POST"), (":path", b"/q"), TYPE]].concat())),
            ]
            .concat(),
        ),
        GET => {
            let path = [b"/q?dns=", &bytes[..bytes.len().min(200)]].concat();
            let fields = [&REQUEST[..], &[(":method", b"GET"), (":path", &path)]].concat();
            (SERVER, false, [&PREFACE[..], &settings, &head(&fields), &end].concat())
        }
        CLIENT_FRAMES => (CLIENT, false, [&settings, bytes].concat()),
        SERVER_FRAMES => (SERVER, false, [&PREFACE[..], &settings, bytes].concat()),
        CLIENT_STREAM => (CLIENT, true, bytes.to_vec()),
        SERVER_STREAM => (SERVER, true, bytes.to_vec()),
        _ => return,
    };
    let plan = plan(over_quic);
    let run = if over_quic { over_streams } else { over_http };
    let whole = run(&plan, group, &sent, sent.len().max(1));
    let cut = run(&plan, group, &sent, pieces);
    assert!(whole.dns.iter().sum::<u64>() <= whole.transactions && whole.transactions <= whole.requests);
    if what == CLIENT_FRAMES {
        // Frames of queries that are sent once others have responses mean other things before.
        return;
    }
    assert_eq!((whole.failures, whole.dns, whole.http), (cut.failures, cut.dns, cut.http));
    assert_eq!((whole.requests, whole.transactions), (cut.requests, cut.transactions));
    assert_eq!(whole.details, cut.details);
}

const TYPE: (&str, &[u8]) = ("content-type", b"application/dns-message");
const REQUEST: [(&str, &[u8]); 2] = [(":scheme", b"http"), (":authority", b"h")];

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = (payload.len() as u32).to_be_bytes();
    [&[a, b, c, kind, flags, 0, 0, 0, stream], payload].concat()
}

/// A head with these fields, pseudo-header fields first. Values have at most 16,000 bytes.
fn head(fields: &[(&str, &[u8])]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.extend([0, name.len() as u8]);
        block.extend(name.as_bytes());
        match value.len() {
            len @ 0..127 => block.push(len as u8),
            len => block.extend([127, (len - 127) as u8 | 0x80, ((len - 127) >> 7) as u8]),
        }
        block.extend(*value);
    }
    frame(1, 4, 1, &block)
}

fn data_frames(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(1_000).flat_map(|piece| frame(0, 0, 1, piece)).collect()
}

fn plan(over_quic: bool) -> [SessionPlan; 1] {
    let side = SidePlan {
        port: 0,
        hosts: vec![SideHost::default()],
        mtu: 1500,
        ttl: 64,
        tos: 0,
        tcp: TcpOptions::default(),
        udp: UdpOptions { idle_timeout: None, ecn: false, refused_after: Nanos::ZERO },
        tunnel: None,
        pppoe: None,
    };
    let pool = PoolPlan { addresses: Vec::new(), ports: 1..=1, begin: PortBegin::First };
    let query =
        DnsQuery { name: Content::bytes("a.test"), kind: 1, recursion: true, edns_bytes: Some(1_232) };
    let rule = DnsRule {
        suffix: "test".to_owned(),
        kinds: Vec::new(),
        code: 0,
        answers: vec![DnsAnswer::Data { kind: 1, data: vec![192, 0, 2, 1].into() }],
        ttl: 60,
        delay: Delay::NONE,
        silent: false,
    };
    let https = DnsHttps { method: Method::Post, path: "/q".to_owned(), host: Content::bytes("h") };
    let dns = DnsPlan {
        queries: vec![(query, 1)],
        order: SelectionOrder::Sequential,
        per_session: Some(1),
        streams: 1,
        think: Delay::NONE,
        retries: 0,
        retry_after: Nanos::from_secs(1),
        tcp_fallback: false,
        errors_fail: false,
        padding: true,
        rules: vec![rule].into(),
        udp_room: 1_472,
        https: (!over_quic).then_some(https),
    };
    [SessionPlan {
        name: String::new(),
        carrier: if over_quic { Carrier::Udp } else { Carrier::Tcp },
        client: Some(side.clone()),
        server: Some(side),
        clients: pool.clone(),
        servers: pool,
        order: PairOrder::All(SelectionOrder::Sequential),
        mix: Mix::one(AppPlan::Dns(Arc::new(dns))),
        tunnel: None,
        tls: over_quic.then(|| Arc::new(tls())),
        quic: QuicOptions::default(),
        load: LoadPlan::at(OpenRate::Constant(Pps::new(1))),
        patience: Patience::default(),
        verify: false,
        seed: 0,
    }]
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

/// Counts of an end after these bytes in pieces of `len`, and a FIN.
fn over_http(plans: &[SessionPlan], group: GroupId, bytes: &[u8], len: usize) -> Counts {
    let mut apps = Apps::new(plans, 0, 1, |_| unreachable!("nothing is secured"));
    let mut flow = if group == CLIENT { apps.start(NOW, group, 0) } else { Flow::default() };
    let (mut asked, mut acknowledged, mut over) = (0, 0, false);
    let mut tell = |apps: &mut Apps, flow: &mut Flow, tell: &mut dyn FnMut(&mut Apps, &mut Flow, &mut Io)| {
        if over {
            return;
        }
        let mut io = Io::new(FlowId(0), group);
        tell(apps, flow, &mut io);
        (over, asked) = (io.asked_to_abort(), asked + io.asked());
        // All bytes can be written, and written again; all of them arrive.
        while !over && acknowledged < asked {
            let mut once = vec![0; (asked - acknowledged) as usize];
            apps.fill(flow, group, acknowledged, &mut once);
            for (index, piece) in once.chunks(700).enumerate() {
                let mut again = vec![0; piece.len()];
                apps.fill(flow, group, acknowledged + index as u64 * 700, &mut again);
                assert_eq!(piece, again);
            }
            acknowledged = asked;
            let mut io = Io::new(FlowId(0), group);
            apps.acknowledged(NOW, flow, &mut io, asked);
            (over, asked) = (io.asked_to_abort(), asked + io.asked());
        }
    };
    tell(&mut apps, &mut flow, &mut |apps, flow, io| apps.opened(NOW, flow, io));
    for piece in bytes.chunks(len) {
        tell(&mut apps, &mut flow, &mut |apps, flow, io| apps.received(NOW, flow, io, piece));
    }
    tell(&mut apps, &mut flow, &mut |apps, flow, io| apps.finished(NOW, flow, io));
    let end = if over { End::Aborted } else { End::Closed };
    ended(&mut apps, &mut flow, group, end)
}

/// The same with a connection of QUIC, one stream of it, and its end.
fn over_streams(plans: &[SessionPlan], group: GroupId, bytes: &[u8], len: usize) -> Counts {
    let mut apps = Apps::new(plans, 0, 1, |_| Layer::Quic(Box::new(Factory)));
    let mut flow = if group == CLIENT { apps.start(NOW, group, 0) } else { Flow::default() };
    let mut closed = false;
    let mut tell = |apps: &mut Apps, flow: &mut Flow, tell: &mut dyn FnMut(&mut Apps, &mut Flow, &mut Io)| {
        if !closed {
            let mut io = Io::for_datagrams(FlowId(0), group, Vec::new());
            tell(apps, flow, &mut io);
            closed = io.asked_to_close();
        }
    };
    tell(&mut apps, &mut flow, &mut |apps, flow, io| apps.opened(NOW, flow, io));
    for piece in [&[][..]].into_iter().chain(bytes.chunks(len)).chain([END]) {
        tell(&mut apps, &mut flow, &mut |apps, flow, io| apps.received(NOW, flow, io, piece));
    }
    ended(&mut apps, &mut flow, group, End::Closed)
}

fn ended(apps: &mut Apps, flow: &mut Flow, group: GroupId, end: End) -> Counts {
    apps.closed(NOW, flow, FlowId(0), group, end);
    assert_eq!(apps.extras(), 0);
    assert_eq!(apps.counts(group).failed_in_all() + apps.counts(group).completed, 1);
    apps.counts(group).clone()
}

/// A datagram that is the end of the stream; no other has these bytes and this address.
static END: &[u8] = b"end of the stream";

/// A connection whose datagrams are the bytes of stream 0; the first shakes hands.
#[derive(Default)]
struct Stream {
    events: VecDeque<QuicEvent>,
    connected: bool,
    bytes: Vec<u8>,
    ended: bool,
    closed: bool,
}

impl Quic for Stream {
    fn receive(&mut self, _: Nanos, datagram: &[u8], _: u8) {
        if !std::mem::replace(&mut self.connected, true) {
            return self.events.push_back(QuicEvent::Connected);
        }
        if std::ptr::eq(datagram, END) {
            self.ended = true;
        } else {
            self.bytes.extend_from_slice(datagram);
        }
        self.events.push_back(QuicEvent::Readable(0));
    }

    fn poll(&mut self) -> Option<QuicEvent> {
        self.events.pop_front()
    }

    fn open(&mut self, _: bool) -> Option<u64> {
        Some(0)
    }

    fn send(&mut self, _: u64, bytes: &[u8]) -> Option<usize> {
        Some(bytes.len())
    }

    fn finish(&mut self, stream: u64) {
        self.events.push_back(QuicEvent::Delivered(stream));
    }

    fn reset(&mut self, _: u64, _: u64) {}

    fn stop(&mut self, _: u64, _: u64) {}

    fn read(&mut self, _: u64, take: &mut dyn FnMut(&[u8])) -> QuicRead {
        if !self.bytes.is_empty() {
            take(&std::mem::take(&mut self.bytes));
        }
        if self.ended { QuicRead::Finished } else { QuicRead::Blocked }
    }

    fn close(&mut self, _: Nanos, _: u64) {
        self.closed = true;
    }

    fn transmit(&mut self, _: Nanos, _: &mut Vec<u8>, _: &mut Vec<u64>) -> bool {
        false
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
        Ok(Box::new(Stream::default()))
    }

    fn accept(&mut self, now: Nanos, _: u32, datagram: &[u8], ecn: u8) -> QuicAccepted {
        let mut stream = Stream::default();
        stream.receive(now, datagram, ecn);
        QuicAccepted::Connection(Box::new(stream))
    }

    fn off_path(&mut self, _: u32) -> Vec<Vec<u8>> {
        Vec::new()
    }

    fn closed(&mut self, _: u32) {}
}

/// Queries and responses, whole and not, and what is neither.
pub fn seeds() -> Vec<Vec<u8>> {
    let seed = |how: u8, bytes: &[u8]| [&[how], bytes].concat();
    let sized = |message: &[u8]| [&(message.len() as u16).to_be_bytes(), message].concat();
    let query = b"\0\0\x01\0\0\x01\0\0\0\0\0\0\x01a\x04test\0\0\x01\0\x01";
    let response = b"\0\0\x84\0\0\x01\0\x01\0\0\0\0\x01a\x04test\0\0\x01\0\x01\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x01";
    let padded = [&query[..11], b"\x01", &query[12..], b"\0\0\x29\x10\0\0\0\0\0\0\x04\0\x0c\0\0"].concat();
    let ok = head(&[(":status", b"200"), TYPE]);
    let asks = head(
        &[&REQUEST[..], &[(":method", b"GET"), (":path", b"/q?dns=AAABAAABAAAAAAAAAWEEdGVzdAAAAQAB")]]
            .concat(),
    );
    vec![
        seed(RESPONSE | 0x18, response),
        seed(RESPONSE, &response[..30]),
        seed(RESPONSE, query),
        seed(POST | 0x20, query),
        seed(POST, &padded),
        seed(POST, response),
        seed(GET | 0x10, b"AAABAAABAAAAAAAAAWEEdGVzdAAAAQAB"),
        seed(GET, b"AAAB="),
        seed(CLIENT_FRAMES, &[&ok[..], &data_frames(response), &frame(0, 1, 1, &[])].concat()),
        seed(CLIENT_FRAMES, &frame(3, 0, 1, &[0, 0, 0, 7])),
        seed(CLIENT_FRAMES, &head(&[(":status", b"404")])),
        seed(SERVER_FRAMES | 0x38, &[&asks[..], &frame(0, 1, 1, &[])].concat()),
        seed(SERVER_FRAMES, &frame(7, 0, 0, &[0; 8])),
        seed(CLIENT_STREAM | 0x08, &sized(response)),
        seed(CLIENT_STREAM, &sized(query)),
        seed(CLIENT_STREAM, &sized(response)[..9]),
        seed(SERVER_STREAM | 0x30, &sized(query)),
        seed(SERVER_STREAM, &[sized(query), sized(query)].concat()),
        seed(SERVER_STREAM, &sized(&padded)),
    ]
}
