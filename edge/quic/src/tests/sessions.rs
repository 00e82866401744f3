//! HTTP/3 of sessions, both ends, over connections of this room: flows joined in virtual time.

use super::plan as tls_plan;
use crate::{Settings, Sides};
use session::plan::*;
use session::secure::Layer;
use session::{Apps, Counts, Flow, Reason};
use std::collections::VecDeque;
use std::sync::Arc;
use tcp::{App, End, FlowId, GroupId, Io, TcpOptions, UdpOptions};
use units::{Nanos, Pps};

const CLIENT: GroupId = GroupId(0);
const SERVER: GroupId = GroupId(1);

fn entry(http: HttpPlan) -> SessionPlan {
    let side = |port| SidePlan {
        port,
        hosts: vec![SideHost::default()],
        mtu: 1_500,
        ttl: 64,
        tos: 0,
        tcp: TcpOptions::default(),
        udp: UdpOptions { idle_timeout: None, ecn: false, refused_after: Nanos::ZERO },
        tunnel: None,
        pppoe: None,
    };
    let pool = |ip: &str, ports| {
        let ip = ip.parse().unwrap();
        let range = AddressRange { first: ip, last: ip, weight: 1, host: 0 };
        PoolPlan { addresses: vec![range], ports, begin: PortBegin::First }
    };
    SessionPlan {
        name: "test".to_owned(),
        carrier: Carrier::Udp,
        client: Some(side(0)),
        server: Some(side(1)),
        clients: pool("10.0.0.1", 1_024..=65_535),
        servers: pool("10.0.1.1", 443..=443),
        order: PairOrder::All(SelectionOrder::Sequential),
        mix: Mix::one(AppPlan::Http(Arc::new(http))),
        tunnel: None,
        tls: Some(Arc::new(tls_plan("h3"))),
        quic: QuicOptions::default(),
        load: LoadPlan::at(OpenRate::Constant(Pps::new(1))),
        patience: Patience { response: Some(Nanos::from_secs(5)), idle: None },
        verify: true,
        seed: 1,
    }
}

fn http(requests: Vec<HttpRequest>, per_connection: u32, streams: u16, server: HttpServer) -> HttpPlan {
    HttpPlan {
        version: HttpVersion::Three,
        requests: requests.into_iter().map(|request| (request, 1)).collect(),
        order: SelectionOrder::Sequential,
        per_connection: Some(per_connection),
        pipeline: 1,
        streams,
        think: Delay::NONE,
        close: HttpClose::Fin,
        errors_fail: true,
        quic: QuicPlan::default(),
        alt_svc: false,
        agent: AgentPlan::default(),
        server: Arc::new(server),
    }
}

/// One end of the flow.
struct Half {
    apps: Apps,
    flow: Flow,
    group: GroupId,
    is_open: bool,
    lengths: VecDeque<u64>,
    sent: u64,
    closing: bool,
    wake: Option<Nanos>,
    end: Option<End>,
}

impl Half {
    fn new(plan: &SessionPlan, group: GroupId) -> Self {
        let settings = Settings {
            mtu: 1_500,
            is_v6: false,
            idle_timeout: Some(Nanos::from_secs(30)),
            seed: 5,
            retry: false,
            early_data: false,
            datagrams: false,
            ecn: false,
            worker: 0,
        };
        let sides = Sides::new(plan.tls.as_ref().unwrap()).steady();
        let apps = Apps::new(std::slice::from_ref(plan), 0, 1, |key| {
            Layer::Quic(match key.side {
                Side::Client => sides.client(settings).unwrap(),
                Side::Server => sides.server(settings).unwrap(),
            })
        });
        Self {
            apps,
            flow: Flow::default(),
            group,
            is_open: false,
            lengths: VecDeque::new(),
            sent: 0,
            closing: false,
            wake: None,
            end: None,
        }
    }

    fn tell(&mut self, now: Nanos, tell: impl FnOnce(&mut Apps, &mut Flow, &mut Io)) {
        if self.end.is_some() {
            return;
        }
        let mut io = Io::for_datagrams(FlowId(0), self.group, Vec::new()).having_sent(self.sent);
        tell(&mut self.apps, &mut self.flow, &mut io);
        self.lengths.extend(io.datagrams_asked());
        self.closing |= io.asked_to_close();
        self.wake = io.asked_to_wake().or(self.wake);
        if io.asked_to_abort() {
            self.end(now, End::Aborted);
        } else if self.closing && self.lengths.is_empty() {
            self.end(now, End::Closed);
        }
        if io.asked_to_tend() {
            self.tend(now);
        }
    }

    fn tend(&mut self, now: Nanos) {
        let tended: &mut dyn FnMut(&mut Apps, &mut Flow, &mut Io) =
            &mut |apps, flow, io| apps.tended(now, flow, io);
        self.tell(now, tended);
    }

    fn end(&mut self, now: Nanos, end: End) {
        self.end = Some(end);
        self.apps.closed(now, &mut self.flow, FlowId(0), self.group, end);
    }

    fn counts(&self) -> &Counts {
        self.apps.counts(self.group)
    }
}

/// Both ends.
struct Line {
    now: Nanos,
    ends: [Half; 2],
    under_way: Vec<(Nanos, usize, Vec<u8>)>,
    datagrams: usize,
    lost: fn(usize) -> bool,
    /// Some datagrams come a millisecond later than others.
    disorder: bool,
}

impl Line {
    fn new(plan: &SessionPlan, lost: fn(usize) -> bool) -> Self {
        let mut line = Self {
            now: Nanos::from_secs(1),
            ends: [Half::new(plan, CLIENT), Half::new(plan, SERVER)],
            under_way: Vec::new(),
            datagrams: 0,
            lost,
            disorder: false,
        };
        let now = line.now;
        let client = &mut line.ends[0];
        client.flow = client.apps.start(now, CLIENT, 0);
        client.is_open = true;
        client.tell(now, |apps, flow, io| apps.opened(now, flow, io));
        line
    }

    fn send(&mut self) {
        for (from, half) in self.ends.iter_mut().enumerate() {
            while let Some(len) = half.lengths.pop_front() {
                let mut bytes = vec![0; len as usize];
                half.apps.fill(&half.flow, half.group, half.sent, &mut bytes);
                half.sent += len;
                self.datagrams += 1;
                if !(self.lost)(self.datagrams) {
                    let late = self.disorder && self.datagrams.is_multiple_of(53);
                    let took = Nanos::from_micros(if late { 1_500 } else { 500 });
                    self.under_way.push((self.now + took, 1 - from, bytes));
                }
            }
            if half.closing && half.end.is_none() {
                half.end(self.now, End::Closed);
            }
        }
    }

    fn step(&mut self, until: Nanos) -> bool {
        self.send();
        let wakes = self.ends.iter().filter(|half| half.end.is_none()).filter_map(|half| half.wake);
        let next = self.under_way.iter().map(|(at, ..)| *at).chain(wakes).min();
        let Some(next) = next.filter(|at| *at <= until) else { return false };
        self.now = self.now.max(next);
        let now = self.now;
        let due: Vec<_> = self.under_way.extract_if(.., |(at, ..)| *at <= now).collect();
        for (_, to, bytes) in due {
            let half = &mut self.ends[to];
            if !std::mem::replace(&mut half.is_open, true) {
                half.tell(now, |apps, flow, io| apps.opened(now, flow, io));
            }
            half.tell(now, |apps, flow, io| apps.received(now, flow, io, &bytes));
        }
        for half in &mut self.ends {
            if half.wake.is_some_and(|at| at <= now) {
                half.wake = None;
                half.tell(now, |apps, flow, io| apps.woke(now, flow, io));
            }
        }
        true
    }

    fn run(&mut self, time: Nanos) {
        let until = self.now + time;
        while self.step(until) {}
        self.now = until;
    }

    fn counts(&self) -> [&Counts; 2] {
        [self.ends[0].counts(), self.ends[1].counts()]
    }
}

fn failures(counts: &Counts) -> Vec<(Reason, u64)> {
    let of = |reason| (reason, counts.failed(reason));
    Reason::ALL.into_iter().map(of).filter(|(_, count)| *count > 0).collect()
}

fn objects() -> (Vec<HttpRequest>, HttpServer) {
    let mut server = HttpServer::sized(Size::Fixed(1_000));
    let rule = |path: &str, body| HttpRule::ok(HttpPath::Exact(path.to_owned()), body);
    let form = HttpRule { status: 201, ..rule("/form", HttpBody::Length(Size::Fixed(10))) };
    let chunked = rule("/chunked", HttpBody::Chunked { size: Size::Fixed(70_000), chunk: 1_000 });
    let slow = HttpRule {
        delay: Delay::Constant(Nanos::from_millis(20)),
        ..rule("/slow", HttpBody::Length(Size::Fixed(5)))
    };
    let empty = HttpRule { status: 204, ..rule("/empty", HttpBody::Length(Size::Fixed(5))) };
    server.rules.splice(0..0, [form, chunked, slow, empty]);
    server.date = true;
    let ask =
        |path: &str, bytes| HttpRequest { response_bytes: Some(bytes), ..HttpRequest::get(path, "a.test") };
    let post =
        |path: &str, body| HttpRequest { method: Method::Post, body, status: Some(201), ..ask(path, 10) };
    let requests = vec![
        ask("/1", 1),
        ask("/200000", 200_000),
        post("/form", RequestBody::Length(Size::Fixed(50_000))),
        post("/form", RequestBody::Chunked { size: Size::Fixed(20_000), chunk: 9 }),
        ask("/chunked", 70_000),
        ask("/slow", 5),
        HttpRequest { method: Method::Head, response_bytes: None, status: Some(200), ..ask("/5000", 0) },
        HttpRequest { status: Some(204), response_bytes: None, ..ask("/empty", 0) },
        HttpRequest { status: Some(405), response_bytes: None, method: Method::Delete, ..ask("/5", 0) },
        HttpRequest {
            head_bytes: 3_000,
            fields: vec![("X-A".to_owned(), Content::bytes("b"))],
            ..ask("/7", 7)
        },
    ];
    let mut rules = server.rules.clone();
    for rule in &mut rules {
        if matches!(rule.path, HttpPath::Number | HttpPath::Any) {
            rule.methods = vec![Method::Get, Method::Head];
        }
    }
    (requests, HttpServer { rules, ..server })
}

#[test]
fn requests_of_every_kind_are_answered() {
    for (streams, lost) in
        [(1, (|_| false) as fn(usize) -> bool), (7, |_| false), (7, |n| n % 11 == 5), (100, |n| n % 23 == 9)]
    {
        let (requests, server) = objects();
        let mut line = Line::new(&entry(http(requests, 60, streams, server)), lost);
        line.run(Nanos::from_secs(60));
        let [client, server] = line.counts();
        assert_eq!(
            (failures(client), failures(server)),
            (vec![], vec![]),
            "{:?} {:?}",
            client.details,
            server.details
        );
        assert_eq!((client.attempted, client.established, client.completed), (1, 1, 1));
        assert_eq!((server.attempted, server.established, server.completed), (1, 1, 1));
        assert_eq!((client.requests, client.transactions, server.transactions), (60, 60, 60));
        assert_eq!((client.http3.streams, client.quic.connections, client.http[1]), (60, 1, 54));
        assert_eq!((client.ttfb.samples(), client.ttlb.samples(), client.setup.samples()), (60, 60, 1));
        assert!(client.bytes_received > 6 * 270_000 && server.bytes_received > 6 * 70_000);
        assert!(server.bytes_delivered >= client.bytes_received - 500 && client.bytes_delivered > 6 * 70_000);
        assert!(line.ends.iter().all(|half| half.end == Some(End::Closed)), "both flows are gone");
    }
}

#[test]
fn many_at_a_time_come_through_losses_and_disorder() {
    let sized = |bytes| HttpRequest {
        response_bytes: Some(bytes),
        ..HttpRequest::get(&format!("/{bytes}"), "a.test")
    };
    let requests = vec![sized(1_000), sized(1_000), sized(1_000), sized(100_000)];
    for salt in [3, 11, 17, 19] {
        LOST.with(|lost| lost.set(salt));
        let lost = |n: usize| LOST.with(|salt| random::word(salt.get(), n as u64).is_multiple_of(20));
        let server = HttpServer::sized(Size::Fixed(100));
        let mut line = Line::new(&entry(http(requests.clone(), 200, 50, server)), lost);
        line.disorder = true;
        line.run(Nanos::from_secs(60));
        let [client, server] = line.counts();
        assert_eq!(
            (failures(client), failures(server), client.transactions),
            (vec![], vec![], 200),
            "{:?}",
            client.details
        );
        assert_eq!((client.completed, server.completed), (1, 1));
    }
}

thread_local!(static LOST: std::cell::Cell<u64> = const { std::cell::Cell::new(0) });

#[test]
fn a_server_that_takes_no_more_is_left() {
    let server = HttpServer { keep_alive: Some(10), ..HttpServer::sized(Size::Fixed(100)) };
    let ask = HttpRequest { response_bytes: Some(100), ..HttpRequest::get("/x", "a.test") };
    let mut line = Line::new(&entry(http(vec![ask], 50, 4, server)), |_| false);
    line.run(Nanos::from_secs(10));
    let [client, server] = line.counts();
    assert_eq!((failures(client), failures(server)), (vec![], vec![]), "{:?}", client.details);
    assert_eq!((client.completed, server.completed, client.http3.goaways), (1, 1, 1));
    assert_eq!(client.transactions + client.unasked, 50);
    assert!((10..14).contains(&client.transactions), "{}", client.transactions);
    assert_eq!(client.requests - client.http3.unprocessed, client.transactions);
}

#[test]
fn more_is_sent_than_is_kept_to_be_sent_again() {
    let ask = HttpRequest {
        method: Method::Post,
        body: RequestBody::Length(Size::Fixed(9_000_000)),
        ..HttpRequest { response_bytes: Some(12_000_000), ..HttpRequest::get("/12000000", "a.test") }
    };
    let mut line = Line::new(&entry(http(vec![ask], 2, 2, HttpServer::sized(Size::Fixed(100)))), |_| false);
    line.run(Nanos::from_secs(60));
    let [client, server] = line.counts();
    assert_eq!(
        (failures(client), failures(server), client.transactions),
        (vec![], vec![], 2),
        "{:?}",
        client.details
    );
}

#[test]
fn whoever_says_nothing_is_told() {
    let ask = || HttpRequest::get("/x", "a.test");
    let plan = entry(http(vec![ask()], 1, 1, HttpServer::sized(Size::Fixed(100))));
    let mut line = Line::new(&plan, |_| true);
    line.run(Nanos::from_secs(60));
    assert_eq!(failures(line.counts()[0]), [(Reason::SetupTimeout, 1)]);
    assert!(line.ends[0].end.is_some());
    // One that shakes hands, and does not answer.
    let mut server = HttpServer::sized(Size::Fixed(100));
    server.rules.iter_mut().for_each(|rule| rule.delay = Delay::Constant(Nanos::from_secs(40)));
    let mut line = Line::new(&entry(http(vec![ask()], 1, 1, server)), |_| false);
    line.run(Nanos::from_secs(60));
    let [client, server] = line.counts();
    assert_eq!(failures(client), [(Reason::ResponseTimeout, 1)]);
    assert_eq!(failures(server), [(Reason::ClosedEarly, 1)]);
    assert!(line.ends.iter().all(|half| half.end.is_some()));
}

#[test]
fn the_end_of_a_run_ends_sessions() {
    let ask = HttpRequest::get("/x", "a.test");
    let mut endless = http(vec![ask], 1, 2, HttpServer::sized(Size::Fixed(100)));
    endless.per_connection = None;
    let mut line = Line::new(&entry(endless), |_| false);
    line.run(Nanos::from_millis(300));
    let now = line.now;
    line.ends[0].tell(now, |apps, flow, io| apps.stop(now, flow, io));
    line.run(Nanos::from_secs(3));
    let [client, server] = line.counts();
    assert_eq!((failures(client), failures(server)), (vec![], vec![]), "{:?}", client.details);
    assert_eq!((client.completed, client.stopped, server.completed), (1, 1, 1));
    assert!(client.transactions > 100 && client.transactions == server.transactions);
}

/// A server does not see the end of a client whose last datagrams were lost.
#[test]
fn no_loss_stalls_a_session() {
    let requests = vec![HttpRequest { response_bytes: Some(100), ..HttpRequest::get("/100", "a.test") }];
    for salt in 0..600 {
        LOST.with(|lost| lost.set(salt));
        let lost = |n: usize| LOST.with(|salt| random::word(salt.get(), n as u64) % 100 < 15);
        let server = HttpServer::sized(Size::Fixed(100));
        let patience = Patience { response: Some(Nanos::from_secs(20)), idle: None };
        let entry = SessionPlan { patience, ..entry(http(requests.clone(), 10, 5, server)) };
        let mut line = Line::new(&entry, lost);
        line.run(Nanos::from_secs(60));
        let [client, server] = line.counts();
        assert_eq!((failures(client), client.transactions), (vec![], 10), "{salt}");
        let slowest = Nanos(client.ttlb.max);
        assert!(slowest < Nanos::from_secs(5), "{salt}: {slowest:?}");
        assert!(matches!(failures(server)[..], [] | [(Reason::IdleTimeout, 1)]), "{salt}");
    }
}
