//! Cost of a session for its applications, both ends: every call a stack makes for it, without the stack.
//!
//! `cargo bench -p session`. Nanoseconds for one session, both sides; the smallest of many rounds, because others use the
//! machine too.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

use session::plan::{
    AddressRange, AgentPlan, AppPlan, Carrier, Delay, HttpClose, HttpPlan, HttpRequest, HttpServer,
    HttpVersion, LoadPlan, Mix, OpenRate, PairOrder, Patience, PoolPlan, PortBegin, QuicOptions, QuicPlan,
    SelectionOrder, SessionPlan, SideHost, SidePlan, Size,
};
use session::{Apps, Clients, groups};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use tcp::{App, End, FlowId, GroupId, Io, TcpOptions, UdpOptions};
use units::{Nanos, Pps};

const SESSIONS: u64 = 20_000;
const ROUNDS: usize = 50;
const CLIENT: GroupId = GroupId(0);
const SERVER: GroupId = GroupId(1);
const SEGMENT: usize = 1460;

fn main() {
    report("HTTP GET/200, 64 bytes", http(64, 1), 1);
    report("HTTP GET/200, 32 KB", http(32 << 10, 1), 1);
    report("HTTP GET/200, 64 bytes, 10 on a connection", http(64, 10), 10);
    report("raw 64/64 bytes", AppPlan::raw(Size::Fixed(64), Size::Fixed(64), Some(1), Delay::NONE), 1);
    places();
}

fn http(bytes: u64, requests: u32) -> AppPlan {
    let request = HttpRequest::get(&format!("/{bytes}"), "server.example");
    AppPlan::Http(Arc::new(HttpPlan {
        requests: vec![(request, 1)],
        order: SelectionOrder::Sequential,
        per_connection: Some(requests),
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

fn plan(app: AppPlan) -> SessionPlan {
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
    let pool = |first: &str, last: &str, ports| {
        let [first, last] = [first, last].map(|text| text.parse().expect("an address"));
        PoolPlan {
            addresses: vec![AddressRange { first, last, weight: 1, host: 0 }],
            ports,
            begin: PortBegin::First,
        }
    };
    SessionPlan {
        name: String::new(),
        carrier: Carrier::Tcp,
        client: Some(side.clone()),
        server: Some(side),
        clients: pool("10.0.0.1", "10.0.0.200", 1024..=65_535),
        servers: pool("10.0.1.1", "10.0.1.1", 80..=80),
        order: PairOrder::All(SelectionOrder::Sequential),
        mix: Mix::one(app),
        tunnel: None,
        tls: None,
        quic: QuicOptions::default(),
        load: LoadPlan::at(OpenRate::Constant(Pps::new(1_000_000))),
        patience: Patience::default(),
        verify: false,
        seed: 0,
    }
}

fn apps(plans: &[SessionPlan]) -> Apps {
    Apps::new(plans, 0, 1, |_| panic!("nothing is secured"))
}

fn report(what: &str, app: AppPlan, requests: u64) {
    let plans = [plan(app)];
    let mut apps = apps(&plans);
    let mut best = f64::MAX;
    let mut buffer = vec![0; SEGMENT];
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        for number in 0..SESSIONS {
            session(&mut apps, number, requests, &mut buffer);
        }
        best = best.min(begin.elapsed().as_nanos() as f64 / SESSIONS as f64);
    }
    assert_eq!(apps.counts(CLIENT).completed, SESSIONS * ROUNDS as u64);
    println!("{what:50} {best:8.1} ns a session, {:7.1} ns a request and side", best / requests as f64 / 2.0);
}

/// Passes the bytes sent by one end to the other.
fn pass(
    apps: &mut Apps,
    now: Nanos,
    flows: &mut [session::Flow; 2],
    from: usize,
    span: (u64, u64),
    buffer: &mut [u8],
) -> u64 {
    let id = [CLIENT, SERVER];
    let (mut at, end) = span;
    let mut asked = 0;
    while at < end {
        let n = ((end - at) as usize).min(SEGMENT);
        apps.fill(&flows[from], id[from], at, &mut buffer[..n]);
        let mut io = Io::new(FlowId(0), id[1 - from]);
        apps.received(now, &mut flows[1 - from], &mut io, &buffer[..n]);
        asked += io.asked();
        at += n as u64;
    }
    let mut io = Io::new(FlowId(0), id[from]);
    apps.acknowledged(now, &mut flows[from], &mut io, end);
    asked
}

fn session(apps: &mut Apps, number: u64, requests: u64, buffer: &mut [u8]) {
    let now = Nanos(number * 1_000);
    let mut flows = [apps.start(now, CLIENT, number), session::Flow::default()];
    let mut io = Io::new(FlowId(0), SERVER);
    apps.opened(now, &mut flows[1], &mut io);
    let mut io = Io::new(FlowId(0), CLIENT);
    apps.opened(now, &mut flows[0], &mut io);
    let (mut asked, mut sent) = (io.asked(), [0, 0]);
    for _ in 0..requests {
        for (side, sent) in sent.iter_mut().enumerate() {
            let span = (*sent, *sent + asked);
            *sent = span.1;
            asked = pass(apps, now, &mut flows, side, span, buffer);
        }
    }
    let mut io = Io::new(FlowId(0), SERVER);
    apps.finished(now, &mut flows[1], &mut io);
    let mut io = Io::new(FlowId(0), CLIENT);
    apps.finished(now, &mut flows[0], &mut io);
    for (flow, group) in flows.iter_mut().zip([CLIENT, SERVER]) {
        apps.closed(now, flow, FlowId(0), group, End::Closed);
    }
    black_box(&flows);
}

/// Opening: when, what, from where.
fn places() {
    let plans = [plan(http(64, 1))];
    let apps = apps(&plans);
    let all = groups(&plans);
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let mut clients = Clients::new(&plans[0], 0, &all, 0, 1).expect("there are clients");
        let begin = Instant::now();
        for tick in 0..SESSIONS {
            let opening = clients.poll(Nanos(tick * 1_000), &apps, u64::MAX, false);
            for number in opening.numbers() {
                black_box(clients.place(number, None, |_| true));
            }
        }
        best = best.min(begin.elapsed().as_nanos() as f64 / SESSIONS as f64);
    }
    println!("{:50} {best:8.1} ns a session", "opening, one at a time");
}
