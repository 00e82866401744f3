//! Whole sessions: applications on two stacks joined by frames in memory, without ports and without an engine.
//!
//! `cargo bench -p session --bench stacks [-- resets | fins | ecn | http [long]]`: a few sessions of a kind in virtual time, for instruments that
//! count instructions. Checksums are left out, as on `ring` ports.

#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use session::plan::{
    AddressRange, AgentPlan, AppPlan, Carrier, Delay, HttpClose, HttpPlan, HttpRequest, HttpServer,
    HttpVersion, LoadPlan, Mix, OpenRate, PairOrder, Patience, PoolPlan, PortBegin, QuicOptions, QuicPlan,
    SelectionOrder, SessionPlan, SideHost, SidePlan, Size,
};
use session::{Apps, groups};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tcp::{
    BURST, GroupConfig, GroupId, Sink, Stack, TcpOptions, TimeWait, Transport, UdpOptions,
    UnfinishedChecksums,
};
use units::Nanos;

const SESSIONS: u64 = 20_000;
const CONCURRENT: usize = 64;
const CLIENT: GroupId = GroupId(0);
const SERVER: GroupId = GroupId(1);
const BUFFER: usize = 2_176;
/// Virtual time between two bursts.
const STEP: Nanos = Nanos::from_micros(10);
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    // `long` beside a kind: without the express lane, to compare.
    let express = !wanted.iter().any(|word| word == "long");
    let usual = TcpOptions { time_wait: TimeWait::Skip, express, ..TcpOptions::default() };
    let bare = TcpOptions { close_by_reset: true, timestamps: false, sack: false, ..usual.clone() };
    let raw = || AppPlan::raw(Size::Fixed(64), Size::Fixed(64), Some(1), Delay::NONE);
    let marked = TcpOptions { ecn: true, ..usual.clone() };
    for (name, app, tcp) in [
        ("resets", raw(), bare.clone()),
        ("fins", raw(), usual),
        ("ecn", raw(), marked),
        ("http", http(), bare),
    ] {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            let frames = run(app, &tcp);
            println!("{name}: {SESSIONS} sessions, {:.2} frames each", frames as f64 / SESSIONS as f64);
        }
    }
}

fn http() -> AppPlan {
    AppPlan::Http(Arc::new(HttpPlan {
        requests: vec![(HttpRequest::get("/256", "server.example"), 1)],
        order: SelectionOrder::Sequential,
        per_connection: Some(1),
        pipeline: 1,
        version: HttpVersion::One,
        streams: 1,
        think: Delay::NONE,
        close: HttpClose::Fin,
        errors_fail: false,
        quic: QuicPlan::default(),
        alt_svc: false,
        agent: AgentPlan::default(),
        server: Arc::new(HttpServer::sized(Size::Fixed(0))),
    }))
}

fn plan(app: AppPlan, tcp: &TcpOptions) -> SessionPlan {
    let side = SidePlan {
        port: 0,
        hosts: vec![SideHost::default()],
        mtu: 1500,
        ttl: 64,
        tos: 0,
        tcp: tcp.clone(),
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
    SessionPlan {
        name: String::new(),
        carrier: Carrier::Tcp,
        client: Some(side.clone()),
        server: Some(side),
        clients: pool([10, 0, 0, 1], 10_001..=50_000),
        servers: pool([10, 0, 0, 2], 6_000..=6_099),
        order: PairOrder::All(SelectionOrder::Sequential),
        mix: Mix::one(app),
        tunnel: None,
        tls: None,
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
        Self { buffers: vec![[0; BUFFER]; 4 * BURST], lengths: Vec::with_capacity(4 * BURST) }
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
fn run(app: AppPlan, tcp: &TcpOptions) -> u64 {
    let plans = [plan(app, tcp)];
    let config = || GroupConfig {
        tcp: tcp.clone(),
        own_mac: MAC,
        hop_mac: Some(MAC),
        leaves_checksums: true,
        unfinished_checksums: UnfinishedChecksums::Told,
        ..GroupConfig::default()
    };
    let side = |seed| {
        let configs = groups(&plans).iter().map(|_| config()).collect();
        let stack = Stack::<Apps>::new(seed, CONCURRENT, configs);
        (stack, Apps::new(&plans, 0, 1, |_| panic!("nothing is secured")))
    };
    let ((mut client, mut clients), (mut server, mut servers)) = (side(1), side(2));
    let address = IpAddr::from([10, 0, 0, 2]);
    server.listen(SERVER, Transport::Tcp, address..=address, 6_000..=6_099);
    let (mut there, mut back) = (Wire::new(), Wire::new());
    let (mut now, mut number, mut frames) = (Nanos::from_secs(1), 0u64, 0);
    while clients.counts(CLIENT).completed < SESSIONS {
        for _ in client.flows()..CONCURRENT {
            let local = SocketAddr::new(Ipv4Addr::new(10, 0, 0, 1).into(), 10_001 + (number % 40_000) as u16);
            let remote = SocketAddr::new(address, 6_000 + (number % 100) as u16);
            let flow = clients.start(now, CLIENT, number);
            let opened =
                client.connect(now, &mut clients, CLIENT, Transport::Tcp, (local, remote), None, flow);
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
    frames
}
