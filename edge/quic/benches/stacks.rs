//! QUIC of sessions: applications on two stacks joined by frames in memory, without ports and without an engine.
//!
//! `cargo bench -p quic --bench stacks [-- h3 | bulk | small | full | resumed]`: requests of HTTP/3, a hundred at a time on each of
//! eight connections; the same of 1 MB each; small ones, one at a time on each of 256 connections; handshakes, full and resumed. In
//! virtual time, for instruments that count instructions, with the time of the processor beside them. Checksums are left out, as on
//! `ring` ports.

#![allow(clippy::print_stdout)]

use quic::{Settings, Sides};
use session::plan::{
    AddressRange, AgentPlan, AppPlan, Carrier, Delay, HttpClose, HttpPlan, HttpRequest, HttpServer,
    HttpVersion, KeyKind, LoadPlan, Mix, OpenRate, PairOrder, Patience, PoolPlan, PortBegin, QuicOptions,
    QuicPlan, SelectionOrder, ServerIdentity, SessionPlan, Side, SideHost, SidePlan, Size, TlsClient,
    TlsPlan, TlsServer, TlsVerify,
};
use session::secure::Layer;
use session::{Apps, groups};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tcp::{BURST, GroupConfig, GroupId, Sink, Stack, TcpOptions, Transport, UdpOptions, UnfinishedChecksums};
use units::Nanos;

const CLIENT: GroupId = GroupId(0);
const SERVER: GroupId = GroupId(1);
const BUFFER: usize = 2_176;
/// Virtual time between two bursts.
const STEP: Nanos = Nanos::from_micros(10);
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// Work to measure.
struct Kind {
    name: &'static str,
    response: u64,
    /// Requests on a connection.
    requests: Option<u32>,
    streams: u16,
    concurrent: usize,
    resumption: Option<u32>,
    /// Requests in all.
    until: u64,
}

const KINDS: [Kind; 5] = [
    Kind {
        name: "h3",
        response: 1_000,
        requests: None,
        streams: 100,
        concurrent: 8,
        resumption: None,
        until: 100_000,
    },
    Kind {
        name: "bulk",
        response: 1_000_000,
        requests: None,
        streams: 1,
        concurrent: 8,
        resumption: None,
        until: 200,
    },
    Kind {
        name: "small",
        response: 100,
        requests: None,
        streams: 1,
        concurrent: 256,
        resumption: None,
        until: 100_000,
    },
    Kind {
        name: "full",
        response: 1,
        requests: Some(1),
        streams: 1,
        concurrent: 16,
        resumption: None,
        until: 500,
    },
    Kind {
        name: "resumed",
        response: 1,
        requests: Some(1),
        streams: 1,
        concurrent: 16,
        resumption: Some(1_000),
        until: 500,
    },
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    for kind in &KINDS {
        if wanted.is_empty() || wanted.iter().any(|word| word == kind.name) {
            let began = used();
            let frames = run(kind) as f64;
            let (took, until) = (used() - began, kind.until as f64);
            let (rate, packets) = (until / took, frames / took);
            println!(
                "{}: {until} requests, {:.2} frames each; {rate:.0} requests, {packets:.0} packets per CPU-second",
                kind.name,
                frames / until,
            );
        }
    }
}

/// Seconds of a processor that the main thread has used, which does all.
fn used() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux counts them");
    let nanos =
        text.split(' ').next().and_then(|word| word.parse::<f64>().ok()).expect("the first is a number");
    nanos / 1e9
}

fn plan(kind: &Kind) -> SessionPlan {
    let side = || SidePlan {
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
    let pool = |address: [u8; 4], ports| {
        let address = IpAddr::from(address);
        PoolPlan {
            addresses: vec![AddressRange { first: address, last: address, weight: 1, host: 0 }],
            ports,
            begin: PortBegin::First,
        }
    };
    let http = HttpPlan {
        requests: vec![(HttpRequest::get(&format!("/{}", kind.response), "server.example"), 1)],
        order: SelectionOrder::Sequential,
        per_connection: kind.requests,
        pipeline: 1,
        version: HttpVersion::Three,
        streams: kind.streams,
        think: Delay::NONE,
        close: HttpClose::Fin,
        errors_fail: false,
        quic: QuicPlan::default(),
        alt_svc: false,
        agent: AgentPlan::default(),
        server: Arc::new(HttpServer::sized(Size::Fixed(0))),
    };
    let names = vec!["server.example".to_owned()];
    let tls = TlsPlan {
        tls12: false,
        tls13: true,
        suites: vec!["TLS_AES_128_GCM_SHA256".to_owned()],
        groups: vec!["x25519".to_owned()],
        alpn: vec!["h3".to_owned()],
        key_log: None,
        client: TlsClient {
            server_name: Some(session::plan::Content::bytes("server.example")),
            resumption: kind.resumption,
            identity: None,
            verify: TlsVerify::Generated,
            key_share_reuse: None,
        },
        server: TlsServer {
            identity: ServerIdentity::Generated { names, key: KeyKind::EcdsaP256 },
            tickets: if kind.resumption.is_some() { 2 } else { 0 },
            client_roots: None,
        },
    };
    SessionPlan {
        name: String::new(),
        carrier: Carrier::Udp,
        client: Some(side()),
        server: Some(side()),
        clients: pool([10, 0, 0, 1], 10_001..=50_000),
        servers: pool([10, 0, 0, 2], 443..=443),
        order: PairOrder::All(SelectionOrder::Sequential),
        mix: Mix::one(AppPlan::Http(Arc::new(http))),
        tunnel: None,
        tls: Some(Arc::new(tls)),
        quic: QuicOptions::default(),
        load: LoadPlan::at(OpenRate::Max),
        patience: Patience::default(),
        verify: false,
        seed: 0,
    }
}

/// Frames in memory, used again and again.
struct Wire {
    buffers: Vec<[u8; BUFFER]>,
    lengths: Vec<usize>,
}

impl Wire {
    fn new() -> Self {
        Self { buffers: vec![[0; BUFFER]; 16 * BURST], lengths: Vec::with_capacity(16 * BURST) }
    }

    fn deliver(&mut self, now: Nanos, stack: &mut Stack<Apps>, apps: &mut Apps) -> u64 {
        for (buffers, lengths) in self.buffers.chunks(BURST).zip(self.lengths.chunks(BURST)) {
            let mut frames: [&[u8]; BURST] = [&[]; BURST];
            for (frame, (buffer, len)) in frames.iter_mut().zip(buffers.iter().zip(lengths)) {
                *frame = &buffer[..*len];
            }
            stack.receive_told(now, apps, &frames[..lengths.len()], u64::MAX);
        }
        let count = self.lengths.len();
        self.lengths.clear();
        count as u64
    }
}

impl Sink for Wire {
    #[inline]
    fn frame(&mut self, len: usize) -> Option<&mut [u8]> {
        let at = self.lengths.len();
        let buffer = self.buffers.get_mut(at)?;
        self.lengths.push(len);
        Some(&mut buffer[..len])
    }
}

/// Runs sessions with never more than some of them at a time; returns the number of frames.
fn run(kind: &Kind) -> u64 {
    let plans = [plan(kind)];
    let config = || GroupConfig {
        own_mac: MAC,
        hop_mac: Some(MAC),
        leaves_checksums: true,
        unfinished_checksums: UnfinishedChecksums::Told,
        ..GroupConfig::default()
    };
    let sides = Sides::new(plans[0].tls.as_ref().expect("it is QUIC"));
    let settings = |seed| Settings {
        mtu: 1_500,
        is_v6: false,
        idle_timeout: Some(Nanos::from_secs(30)),
        seed,
        retry: false,
        early_data: false,
        datagrams: false,
        ecn: false,
        worker: 0,
    };
    let side = |seed| {
        let configs = groups(&plans).iter().map(|_| config()).collect();
        let stack = Stack::<Apps>::new(seed, kind.concurrent, configs);
        let apps = Apps::new(&plans, 0, 1, |key| {
            Layer::Quic(match key.side {
                Side::Client => sides.client(settings(seed)).expect("a client"),
                Side::Server => sides.server(settings(seed)).expect("a server"),
            })
        });
        (stack, apps)
    };
    let ((mut client, mut clients), (mut server, mut servers)) = (side(1), side(2));
    let address = IpAddr::from([10, 0, 0, 2]);
    server.listen(SERVER, Transport::Udp, address..=address, 443..=443);
    let (mut there, mut back) = (Wire::new(), Wire::new());
    let (mut now, mut number, mut frames) = (Nanos::from_secs(1), 0u64, 0);
    while clients.counts(CLIENT).transactions < kind.until {
        while (clients.active(CLIENT) as usize) < kind.concurrent {
            let local = SocketAddr::new(Ipv4Addr::new(10, 0, 0, 1).into(), 10_001 + (number % 40_000) as u16);
            let remote = SocketAddr::new(address, 443);
            let flow = clients.start(now, CLIENT, number);
            let opened =
                client.connect(now, &mut clients, CLIENT, Transport::Udp, (local, remote), None, flow);
            assert!(opened.is_ok(), "{opened:?}");
            number += 1;
        }
        now += STEP;
        client.turn(now, &mut clients);
        client.transmit(now, &mut clients, &mut there);
        frames += there.deliver(now, &mut server, &mut servers);
        server.turn(now, &mut servers);
        server.transmit(now, &mut servers, &mut back);
        frames += back.deliver(now, &mut client, &mut clients);
    }
    assert_eq!(clients.counts(CLIENT).failed_in_all(), 0, "{:?}", clients.counts(CLIENT));
    frames
}
