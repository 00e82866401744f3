//! Plans of good entries under `sessions:`.

#![allow(clippy::disallowed_methods)]

use profile::plan::{HopBy, Plan, SessionEntry, SessionHop};
use profile::{Overrides, load, load_with};
use session::plan::{
    AppPlan, AtEnd, By, Carrier, Content, Delay, DnsHttps, Expect, GrpcExpect, GrpcKind, GrpcStatus,
    HttpBody, HttpPath, HttpVersion, Method, Op, OpenRate, PairOrder, Part, RequestBody, SelectionOrder,
    ServerIdentity, SessionPlan, Size, TlsVerify, Values, WebsocketExpect, WebsocketKind,
};
use std::net::IpAddr;
use tcp::{Congestion, TimeWait};
use units::{Load, Nanos, Pps};

const PORTS: &str = r#"
ports:
  west: {device: "ring:a", ip: [10.0.0.2/24, "2001:2::2/64"], gateway: [10.0.0.1, "2001:2::1"], vlan: 7}
  east: {device: "ring:b", ip: [10.0.1.2/24, "2001:2:0:1::2/64"], gateway: 10.0.1.1}
  left: {device: "null0"}
  right: {device: "null1"}
  near: {device: "null2", ip: 10.0.0.3/24}
"#;

fn plan_of(rest: &str) -> Plan {
    let text = format!("seed: 1\n{PORTS}{rest}\n");
    load(&text).unwrap_or_else(|errors| panic!("{text}{errors:#?}"))
}

/// The plan of one entry with `rest` after its name.
fn entry(rest: &str) -> SessionEntry {
    plan_of(&format!("sessions:\n  - {{name: s, {rest}}}")).sessions.remove(0)
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn range(first: &str, last: &str, by: HopBy) -> SessionHop {
    SessionHop { host: 0, first: ip(first), last: ip(last), by }
}

#[test]
fn fills_in_what_was_left_out() {
    let entry = entry("client: {port: west}, server: {port: east}, app: http, open: 10/s");
    let plan = &entry.session;
    let (client, server) = (plan.client.as_ref().unwrap(), plan.server.as_ref().unwrap());
    assert_eq!((client.port, &client.hosts[0].vlans[..], server.hosts[0].vlans.len()), (0, &[7][..], 0));
    assert_eq!((client.mtu, client.ttl, client.tos), (1_500, 64, 0));
    assert_eq!(
        (&client.tcp, client.udp.idle_timeout),
        (&tcp::TcpOptions::default(), Some(Nanos::from_secs(30)))
    );
    assert_eq!((plan.clients.addresses[0].first, plan.clients.ports.clone()), (ip("10.0.0.2"), 1024..=65535));
    assert_eq!((plan.servers.addresses[0].first, plan.servers.ports.clone()), (ip("10.0.1.2"), 80..=80));
    assert_eq!(
        (plan.carrier, plan.order, plan.verify, plan.tls.is_none()),
        (Carrier::Tcp, PairOrder::All(SelectionOrder::Sequential), false, true)
    );
    assert_eq!((plan.patience.response, plan.patience.idle), (Some(Nanos::from_secs(30)), None));
    let load = &plan.load;
    assert_eq!(
        (&load.open, load.concurrent, load.at_end),
        (&OpenRate::Constant(Pps::new(10)), None, AtEnd::Close)
    );
    assert_eq!(
        (load.count, load.bytes, load.time, load.up, load.down),
        (None, None, None, None, Delay::NONE)
    );
    assert_eq!(entry.hops, [range("10.0.1.2", "10.0.1.2", HopBy::Resolve(ip("10.0.0.1")))]);
    let [member] = &plan.mix.members[..] else { panic!() };
    assert_eq!((member.name.as_str(), member.weight, &member.server_ports), ("", 1, &None));
}

#[test]
fn a_number_as_port_is_a_port_of_tcp() {
    for server in ["port: east, port: 8080", "port: east, ports: 8080", "ports: 8080, port: east"] {
        let entry = entry(&format!("client: {{port: west}}, server: {{{server}}}, app: http, open: max"));
        assert_eq!(
            (entry.session.servers.ports, entry.session.server.unwrap().port),
            (8080..=8080, 1),
            "{server}"
        );
    }
    let theirs = entry(
        "client: {port: west, port: 5000..5009}, server: {addresses: 10.0.0.9, port: 80..82}, app: http, open: max",
    );
    assert_eq!((theirs.session.clients.ports, theirs.session.servers.ports), (5000..=5009, 80..=82));
    assert!(theirs.session.server.is_none());
}

#[test]
fn addresses_are_ranges_with_weights() {
    let addresses = |text: &str| {
        let rest = format!(
            "client: {{port: left, addresses: {text}}}, server: {{port: right, addresses: 16.0.0.1}}, app: echo, open: max"
        );
        let ranges = entry(&rest).session.clients.addresses;
        ranges.iter().map(|r| (r.first.to_string(), r.last.to_string(), r.weight)).collect::<Vec<_>>()
    };
    let range = |first: &str, last: &str, weight| (first.to_owned(), last.to_owned(), weight);
    assert_eq!(addresses("10.1.0.0/16"), [range("10.1.0.1", "10.1.255.254", 1)]);
    assert_eq!(
        addresses("[10.5.0.1, 10.5.0.8..10.5.0.9]"),
        [range("10.5.0.1", "10.5.0.1", 1), range("10.5.0.8", "10.5.0.9", 1)]
    );
    assert_eq!(
        addresses("{10.5.0.1: 3, 10.5.0.2..10.5.0.9: 1}"),
        [range("10.5.0.1", "10.5.0.1", 3), range("10.5.0.2", "10.5.0.9", 1)]
    );
}

#[test]
fn the_family_is_that_of_the_addresses_or_of_both_ports() {
    let family = |client: &str, server: &str| {
        let entry = entry(&format!("client: {{port: {client}}}, server: {{{server}}}, app: echo, open: max"));
        let plan = entry.session;
        (plan.clients.addresses[0].first.is_ipv4(), plan.servers.addresses[0].first.is_ipv4())
    };
    assert_eq!(family("west", "port: east"), (true, true));
    assert_eq!(family("west", "addresses: '2001:2::99'"), (false, false));
    assert_eq!(family("west, addresses: '2001:2::10'", "port: east"), (false, false));
}

#[test]
fn finds_where_clients_send_to() {
    let hops = |rest: &str| entry(&format!("{rest}, app: echo, open: max")).hops;
    let resolve = |text: &str| HopBy::Resolve(ip(text));
    // Servers of others on the clients' network are neighbours each by itself, and what is beyond has a gateway.
    assert_eq!(
        hops("client: {port: west}, server: {addresses: [10.0.0.254..10.0.1.1, 10.9.0.0/30]}"),
        [
            range("10.0.0.254", "10.0.0.254", resolve("10.0.0.254")),
            range("10.0.0.255", "10.0.0.255", resolve("10.0.0.255")),
            range("10.0.1.0", "10.0.1.1", resolve("10.0.0.1")),
            range("10.9.0.1", "10.9.0.2", resolve("10.0.0.1")),
        ]
    );
    // Servers played here on the same network are one neighbour.
    assert_eq!(
        hops("client: {port: west}, server: {port: near, addresses: 10.0.0.100..10.0.0.109}"),
        [range("10.0.0.100", "10.0.0.109", resolve("10.0.0.100"))]
    );
    assert_eq!(
        hops(
            "client: {port: left, addresses: 10.0.0.9}, server: {port: right, addresses: 10.0.0.10..10.0.0.11}"
        ),
        [range("10.0.0.10", "10.0.0.11", HopBy::PeerPort)]
    );
    assert_eq!(
        hops(
            "client: {port: left, addresses: 10.0.0.9, mac: '02:00:00:00:00:07'}, server: {addresses: 10.0.0.10}"
        ),
        [range("10.0.0.10", "10.0.0.10", HopBy::Given([2, 0, 0, 0, 0, 7]))]
    );
    assert_eq!(hops("client: {port: west}, server: {addresses: '2001:2:9::1'}")[0].by, resolve("2001:2::1"));
    assert_eq!(entry("server: {port: east}, app: echo").hops, []);
    let entry =
        entry("client: {port: west}, server: {addresses: [10.0.0.9, 10.5.0.0/16]}, app: echo, open: max");
    let hop = |text: &str| entry.hop(0, ip(text));
    assert_eq!(hop("10.0.0.9"), Some(resolve("10.0.0.9")));
    assert_eq!((hop("10.5.0.7"), hop("10.6.0.1")), (Some(resolve("10.0.0.1")), None));
}

#[test]
fn far_clients_are_warned_of() {
    let warnings =
        |rest: &str| plan_of(&format!("sessions:\n  - {{name: s, {rest}, app: echo, open: max}}")).warnings;
    let far = warnings("client: {port: west, addresses: 16.0.0.0/24}, server: {port: east}");
    assert_eq!(
        far,
        [
            "sessions 's': clients such as 16.0.0.1 are not on the network of port 'west'; 10.0.0.1 needs a route to them by way of 10.0.0.2"
        ]
    );
    assert!(
        warnings("client: {port: west, addresses: 16.0.0.0/24}, server: {addresses: 10.0.0.9}").is_empty()
    );
    assert!(warnings("client: {port: west, addresses: 10.0.0.128/25}, server: {port: east}").is_empty());
}

#[test]
fn an_end_wins_over_the_entry() {
    let plan = entry(
        "client: {port: west, mtu: 9000, vlan: [1, 2], tcp: {mss: 8000, time_wait: skip}, ip: {dscp: 46}}, \
         server: {port: east, udp: {idle_timeout: none}}, app: echo, open: max, mtu: 1400, vlan: 5, \
         tcp: {mss: 1200, window: 64KB, window_scaling: false, timestamps: false, timestamp_step: 50ms, isn: 7, sack: false, rack: false, ecn: true, initial_window: 2, \
         congestion: newreno, no_delay: false, ack_delay: 0s, rto_initial: 300ms, rto_min: 100ms, rto_max: 9s, \
         syn_retries: 1, syn_ack_retries: 2, data_retries: 3, fin_timeout: 4s, time_wait: 5s, keep_alive: 6s, \
         close_by: reset, express: false}, ip: {ttl: 9, tos: 8}, udp: {idle_timeout: 1s}",
    );
    let (client, server) = (plan.session.client.unwrap(), plan.session.server.unwrap());
    assert_eq!(
        (client.mtu, &client.hosts[0].vlans[..], client.tos, client.ttl),
        (9000, &[1, 2][..], 46 << 2, 9)
    );
    assert_eq!((server.mtu, &server.hosts[0].vlans[..], server.tos, server.ttl), (1400, &[5][..], 8, 9));
    assert_eq!((client.udp.idle_timeout, server.udp.idle_timeout), (Some(Nanos::from_secs(1)), None));
    let (near, far) = (&client.tcp, &server.tcp);
    assert_eq!((near.mss, near.time_wait), (Some(8000), TimeWait::Skip));
    assert_eq!((far.mss, far.time_wait), (Some(1200), TimeWait::For(Nanos::from_secs(5))));
    assert_eq!(
        tcp::TcpOptions { mss: None, time_wait: TimeWait::Skip, ..far.clone() },
        tcp::TcpOptions {
            mss: None,
            window: 64_000,
            window_scaling: false,
            timestamps: false,
            timestamp_step: Nanos::from_millis(50),
            isn: Some(7),
            sack: false,
            rack: false,
            ecn: true,
            initial_window: 2,
            congestion: Congestion::NewReno,
            no_delay: false,
            ack_delay: Nanos::ZERO,
            rto_initial: Nanos::from_millis(300),
            rto_min: Nanos::from_millis(100),
            rto_max: Nanos::from_secs(9),
            syn_retries: 1,
            syn_ack_retries: 2,
            data_retries: 3,
            fin_timeout: Nanos::from_secs(4),
            time_wait: TimeWait::Skip,
            keep_alive: Some(Nanos::from_secs(6)),
            close_by_reset: true,
            express: false,
        }
    );
}

#[test]
fn load_is_multiplied_and_ramped() {
    let text = "sessions:\n  - {name: s, client: {port: west}, server: {port: east}, app: echo, open: 1k/s, concurrent: 10, \
        hold: 1s..2s, idle: 3s, close: 5/s, request_rate: 7/s, count: 9, bytes: 1MB, for: 8s, start_delay: 1s, at_end: reset}\n\
        load: {duration: 10s, ramp_up: 2s, ramp_down: 1s, multiply: 2.5}";
    let plan = plan_of(text).sessions.remove(0).session;
    let load = &plan.load;
    let OpenRate::Curve(curve) = &load.open else { panic!("{:?}", load.open) };
    let (top, secs) = (Pps::new(2_500), Nanos::from_secs);
    assert_eq!(curve.points, [(secs(0), Pps::ZERO), (secs(2), top), (secs(8), top), (secs(9), Pps::ZERO)]);
    assert_eq!((load.concurrent, load.count, load.bytes), (Some(25), Some(9), Some(1_000_000)));
    assert_eq!(
        (load.close_rate.unwrap().micro(), load.request_rate.unwrap().micro()),
        (12_500_000, 17_500_000)
    );
    assert_eq!((load.start_delay, load.time, load.at_end), (secs(1), Some(secs(8)), AtEnd::Reset));
    assert!(matches!(load.up, Some(Delay::Uniform { from, to, .. }) if (from, to) == (secs(1), secs(2))));
    assert_eq!(load.down, Delay::Constant(secs(3)));
}

#[test]
fn requests_are_late_or_numbered_in_http_only() {
    let ends = "client: {port: west}, server: {port: east}, concurrent: 5";
    let plan = entry(&format!(
        "{ends}, app: {{http: {{requests: endless, body_text: '{{}}'}}}}, request_rate: 5/s, late_requests: send, request_count: 9"
    ));
    assert!(plan.session.load.late && plan.session.load.request_count == Some(9));
    let AppPlan::Http(http) = &plan.session.mix.members[0].app else { panic!("{:?}", plan.session.mix) };
    assert_eq!(http.requests[0].0.body, RequestBody::Text("{}".to_owned()));
    for (rest, path) in [
        ("app: echo, request_rate: 5/s, late_requests: send", "sessions[0].late_requests"),
        ("app: http, late_requests: send", "sessions[0].late_requests"),
        ("app: echo, request_count: 9", "sessions[0].request_count"),
        ("app: {http: {body: 1KB, body_text: a}}", "sessions[0].app.http.body_text"),
        ("app: {http: {chunked: 1KB, body_text: a}}", "sessions[0].app.http.body_text"),
    ] {
        let text = format!("{PORTS}sessions:\n  - {{name: s, {ends}, {rest}}}\n");
        let errors = load(&text).unwrap_err();
        assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), [path], "{rest}");
    }
}

#[test]
fn opening_has_shapes() {
    let open = |text: &str| {
        entry(&format!("client: {{port: west}}, server: {{port: east}}, app: echo, {text}")).session.load.open
    };
    let (rate, secs) = (Pps::new, Nanos::from_secs);
    assert_eq!((open("open: max"), open("concurrent: 5")), (OpenRate::Max, OpenRate::Max));
    let OpenRate::Curve(ramp) = open("open: {ramp: {rate: 5/s, up: 1s, down: 2s}}") else { panic!() };
    assert_eq!(
        ramp.points,
        [(secs(0), rate(0)), (secs(1), rate(5)), (secs(8), rate(5)), (secs(10), rate(0))]
    );
    let OpenRate::Curve(steps) =
        open("open: {curve: {shape: steps, points: [{at: 0s, rate: 1/s}, {at: 2s, rate: 3/s}]}}")
    else {
        panic!()
    };
    assert_eq!(steps.points, [(secs(0), rate(1)), (secs(2), rate(1)), (secs(2), rate(3))]);
}

#[test]
fn streams_do_not_follow_the_load_of_sessions() {
    let text = format!(
        "{PORTS}streams: [{{name: s, from: west, to: east, packet: [ipv4, udp], rate: 1kpps}}]\n\
         sessions: [{{name: s, client: {{port: west}}, server: {{port: east}}, app: echo, open: 1/s}}]\n\
         load: {{multiply: 2, ramp_up: 1s}}\ncriteria: {{sessions.s.failed_ratio: '< 0.001%', sessions.s.open_per_s: '>= 1/s'}}\n"
    );
    let plan = load(&text).unwrap();
    assert_eq!(plan.streams[0].rate, Load::Packets(Pps::new(1_000)));
    assert_eq!((plan.criteria[0].bound, plan.criteria[1].bound), (1e-5, 1.0));
    let overrides = Overrides { rate: Some(Load::Max), ..Overrides::default() };
    let other = load_with(&text, &overrides, &|_| Err(String::new())).unwrap();
    assert_eq!(
        (other.streams[0].rate, &other.sessions[0].session.load),
        (Load::Max, &plan.sessions[0].session.load)
    );
}

#[test]
fn a_profile_needs_something_to_do() {
    let ports = "ports: {p: {device: x, capture: {file: a.pcapng}}}\n";
    assert!(load(ports).is_ok(), "a capture is something");
    assert!(load("ports: {p: {device: x}}\nstreams: []\n").is_ok(), "what arrives is counted");
    assert!(load("ports: {p: {device: x}}\n").is_err());
}

fn app(rest: &str) -> AppPlan {
    let mut plan =
        entry(&format!("client: {{port: west}}, server: {{port: east, ports: 9}}, open: max, app: {rest}"))
            .session;
    plan.mix.members.remove(0).app
}

#[test]
fn simple_applications_are_programs() {
    let AppPlan::Program { client, server } = app("{bulk: {from: server, bytes: 1MB}}") else { panic!() };
    assert_eq!(server.ops, [Op::Send(Content::generated(Size::Fixed(1_000_000))), Op::Close]);
    assert_eq!(client.ops, [Op::Expect(Expect::End)]);
    let AppPlan::Program { client, .. } = app("discard") else { panic!() };
    assert_eq!(client.ops, [Op::Stream]);
    let AppPlan::Program { client, server } = app("{raw: {request: 100B, response: 1KB..2KB, requests: 3}}")
    else {
        panic!()
    };
    let [Op::Repeat { times: Some(3), ops }] = &client.ops[..] else { panic!("{client:?}") };
    let [Op::Repeat { ops: answer, .. }] = &server.ops[..] else { panic!() };
    assert_eq!(ops[0], Op::Send(Content::generated(Size::Fixed(100))));
    let (Op::Expect(Expect::Content(expected)), Op::Send(sent)) = (&ops[1], &answer[1]) else { panic!() };
    assert_eq!(expected, sent, "both ends know the sizes");
    assert!(matches!(app("echo"), AppPlan::Echo { .. }));
}

#[test]
fn programs_are_steps() {
    let AppPlan::Program { client, server } = app(
        "{program: {client: [{send: [\"GET {request}\", {hex: \"0d0a\"}]}, {wait: 5ms}, {expect_until: \"\\n\"}, half_close, expect_end], \
         server: [{repeat: {times: 2, do: [{expect: {bytes: 1KB}}]}}, pause, resume, reset]}}",
    ) else {
        panic!()
    };
    let Op::Send(content) = &client.ops[0] else { panic!() };
    assert_eq!(
        content.parts,
        [Part::Bytes(b"GET "[..].into()), Part::Decimal(Values::REQUEST, 0), Part::Bytes(b"\r\n"[..].into())]
    );
    assert_eq!(client.ops[1], Op::Wait(Delay::Constant(Nanos::from_millis(5))));
    assert_eq!(client.ops[2], Op::Expect(Expect::Until(b"\n"[..].into())));
    assert_eq!(client.ops[3..], [Op::HalfClose, Op::Expect(Expect::End)]);
    let expect = Op::Expect(Expect::Content(Content::generated(Size::Fixed(1_000))));
    assert_eq!(
        server.ops,
        [Op::Repeat { times: Some(2), ops: vec![expect] }, Op::Pause, Op::Resume, Op::Reset]
    );
}

fn http(rest: &str) -> std::sync::Arc<session::plan::HttpPlan> {
    match app(&format!("{{http: {{{rest}}}}}")) {
        AppPlan::Http(plan) => plan,
        other => panic!("{other:?}"),
    }
}

#[test]
fn http_asks_for_what_servers_have() {
    let plan = http(
        "request: 100B, response: 32KB, requests: 10, chunked: 1KB, body: 5B, headers: {X-A: b}, host: a.test",
    );
    let (request, _) = &plan.requests[0];
    assert_eq!(
        (plan.per_connection, request.head_bytes, request.response_bytes),
        (Some(10), 100, Some(32_000))
    );
    assert_eq!((&request.path, &request.host), (&Content::bytes("/"), &Content::bytes("a.test")));
    assert_eq!(request.fields, [("X-A".to_owned(), Content::bytes("b"))]);
    let last = plan.server.rules.last().unwrap();
    assert_eq!(last.body, HttpBody::Chunked { size: Size::Fixed(32_000), chunk: 1_000 });

    let mixed = http("response: {1KB: 5, 64KB: 1}");
    let asked: Vec<_> =
        mixed.requests.iter().map(|(r, weight)| (r.path.clone(), r.response_bytes, *weight)).collect();
    assert_eq!(
        asked,
        [(Content::bytes("/1000"), Some(1_000), 5), (Content::bytes("/64000"), Some(64_000), 1)]
    );
    let drawn = http("response: 1KB..64KB");
    let path = &drawn.requests[0].0.path.parts;
    assert!(matches!(
        path[1],
        Part::Decimal(Values::Random { from: 1_000, to: 64_000, by: By::Each, .. }, 0)
    ));
    assert!(matches!(drawn.server.rules[0], session::plan::HttpRule { path: HttpPath::Number, .. }));

    let objects =
        http("method: POST, objects: [{path: /a, response: 2KB, weight: 3}, {response: 1KB, method: HEAD}]");
    let [(first, 3), (second, 1)] = &objects.requests[..] else { panic!("{objects:?}") };
    assert_eq!((first.method, first.response_bytes), (session::plan::Method::Post, Some(2_000)));
    assert_eq!(
        (second.method, &second.path, second.response_bytes),
        (session::plan::Method::Head, &Content::bytes("/1000"), None)
    );
    assert_eq!(objects.server.rules[0].path, HttpPath::Exact("/a".to_owned()));
}

#[test]
fn http_hosts_are_names_or_addresses() {
    let host = |server: &str| {
        let plan =
            entry(&format!("client: {{port: west}}, server: {{{server}}}, app: http, open: max")).session;
        let AppPlan::Http(http) = &plan.mix.members[0].app else { panic!() };
        http.requests[0].0.host.clone()
    };
    assert_eq!(host("port: east"), Content::bytes("eagre.test"));
    assert_eq!(host("addresses: 10.0.0.9"), Content::bytes("10.0.0.9"));
    assert_eq!(host("addresses: '2001:2::9'"), Content::bytes("[2001:2::9]"));
}

#[test]
fn dns_goes_over_udp_unless_told() {
    let text = |more: &str| {
        format!(
            "client: {{port: west}}, server: {{port: east}}, open: max, app: {{dns: {{names: [a.test, \"h{{1..9}}.test\"], type: AAAA}}}}{more}"
        )
    };
    let (udp, tcp) = (entry(&text("")).session, entry(&text(", transport: tcp")).session);
    assert_eq!((udp.carrier, tcp.carrier, udp.servers.ports), (Carrier::Udp, Carrier::Tcp, 53..=53));
    let AppPlan::Dns(dns) = &udp.mix.members[0].app else { panic!() };
    assert_eq!((dns.queries.len(), dns.queries[0].0.kind, dns.queries[0].0.edns_bytes), (2, 28, Some(1232)));
    assert_eq!((dns.rules.len(), dns.rules[0].answers.len()), (1, 2));
}

#[test]
fn websocket_is_echoed_unless_told() {
    let session = |app: &str| {
        entry(&format!("client: {{port: west}}, server: {{port: east}}, open: max, app: {app}")).session
    };
    let usual = session("websocket");
    let AppPlan::Websocket(plan) = &usual.mix.members[0].app else { panic!() };
    assert_eq!((usual.servers.ports, usual.carrier), (80..=80, Carrier::Tcp));
    assert_eq!((&plan.path, &plan.host), (&Content::bytes("/"), &Content::bytes("eagre.test")));
    assert_eq!((&plan.message, &plan.response), (&Content::generated(Size::Fixed(64)), &None));
    assert_eq!((plan.expect, plan.kind), (WebsocketExpect::Echo, WebsocketKind::Binary));
    assert_eq!((plan.per_connection, plan.pipeline, plan.most), (Some(1), 1, 1 << 20));
    let told = session(
        "{websocket: {path: /a, host: b.test, text: hi, expect: reply, requests: endless, fragment: 1KB, ping: 1s}}, \
         tls: true, request_rate: 5/s, late_requests: send, request_count: 7",
    );
    let AppPlan::Websocket(plan) = &told.mix.members[0].app else { panic!() };
    assert_eq!((plan.kind, &plan.message), (WebsocketKind::Text, &Content::bytes("hi")));
    assert_eq!((&plan.response, plan.per_connection), (&Some(Size::Fixed(64)), None));
    assert_eq!((plan.fragment, plan.ping, plan.push), (Some(1_000), Some(Nanos::from_secs(1)), None));
    assert_eq!((told.servers.ports, told.load.late, told.load.request_count), (443..=443, true, Some(7)));
    let tls = told.tls.unwrap();
    assert_eq!(tls.alpn, ["http/1.1"]);
    assert_eq!(tls.client.server_name, Some(Content::bytes("b.test")));
    // Of servers of someone else nothing is known.
    let theirs = entry(
        "client: {port: west}, server: {addresses: 10.0.1.9}, open: max, app: {websocket: {expect: reply}}",
    );
    let AppPlan::Websocket(plan) = &theirs.session.mix.members[0].app else { panic!() };
    assert_eq!((&plan.response, &plan.host), (&None, &Content::bytes("10.0.1.9")));
}

#[test]
fn grpc_is_unary_unless_told() {
    let session = |app: &str| {
        entry(&format!("client: {{port: west}}, server: {{port: east}}, open: max, app: {app}")).session
    };
    let usual = session("grpc");
    let AppPlan::Grpc(plan) = &usual.mix.members[0].app else { panic!() };
    assert_eq!((usual.servers.ports, usual.carrier), (80..=80, Carrier::Tcp));
    assert_eq!((&*plan.path, &plan.host), ("/eagre.Test/Call", &Content::bytes("eagre.test")));
    assert_eq!(&plan.message, &Content::generated(Size::Fixed(64)));
    assert_eq!(&plan.reply, &Some(Content::generated(Size::Fixed(64))));
    assert_eq!((plan.kind, plan.expect, plan.messages), (GrpcKind::Unary, GrpcExpect::Reply, 1));
    assert_eq!((plan.per_connection, plan.streams, plan.most), (Some(1), 1, 4 << 20));
    assert_eq!((plan.status, plan.errors_fail, plan.deadline), (None, true, None));
    let told = session(
        "{grpc: {method: a.B/C, host: b.test, metadata: {X-A: b}, kind: bidirectional, message: {base64: aGk=}, messages: 7, \
         expect: echo, interval: 1s, requests: endless, streams_per_connection: 9, deadline: 5s, status: NOT_FOUND}}, \
         tls: true, request_rate: 5/s, late_requests: send, request_count: 7",
    );
    let AppPlan::Grpc(plan) = &told.mix.members[0].app else { panic!() };
    assert_eq!(
        (plan.kind, plan.messages, &plan.message),
        (GrpcKind::Bidirectional, 7, &Content::bytes("hi"))
    );
    assert_eq!((plan.expect, &plan.reply, plan.per_connection), (GrpcExpect::Echo, &None, None));
    assert_eq!(plan.metadata, [("x-a".to_owned(), Content::bytes("b"))]);
    assert_eq!((plan.interval, plan.deadline), (Some(Nanos::from_secs(1)), Some(Nanos::from_secs(5))));
    assert_eq!((plan.status, &*plan.path), (Some(GrpcStatus::NotFound), "/a.B/C"));
    assert_eq!((told.servers.ports, told.load.late, told.load.request_count), (443..=443, true, Some(7)));
    let tls = told.tls.unwrap();
    assert_eq!(tls.alpn, ["h2"]);
    assert_eq!(tls.client.server_name, Some(Content::bytes("b.test")));
    // Of servers of someone else nothing is known.
    let theirs = entry(
        "client: {port: west}, server: {addresses: 10.0.1.9}, open: max, app: {grpc: {kind: server_streaming}}",
    );
    let AppPlan::Grpc(plan) = &theirs.session.mix.members[0].app else { panic!() };
    assert_eq!((&plan.reply, plan.responses, &plan.host), (&None, None, &Content::bytes("10.0.1.9")));
}

#[test]
fn every_status_of_grpc_has_its_code() {
    for status in GrpcStatus::ALL {
        let text = format!(
            "client: {{port: west}}, server: {{port: east}}, open: max, app: {{grpc: {{status: {}}}}}",
            status.name()
        );
        let plan = entry(&text).session;
        let AppPlan::Grpc(plan) = &plan.mix.members[0].app else { panic!() };
        assert_eq!(plan.status, Some(status));
    }
}

/// Everything that DNS over QUIC needs follows from the transport; its options are the entry's.
#[test]
fn dns_goes_over_quic_if_told() {
    let ends = "client: {port: west}, server: {port: east}, open: max, transport: quic";
    let plan = entry(&format!("{ends}, app: {{dns: {{names: a.test}}}}")).session;
    let tls = plan.tls.as_ref().unwrap();
    assert!(plan.is_quic() && tls.tls13 && !tls.tls12 && tls.alpn == ["doq"], "{tls:?}");
    assert_eq!(
        (plan.servers.ports.clone(), plan.quic.retry, plan.quic.early_data),
        (853..=853, false, false)
    );
    let options =
        "quic: {retry: true, early_data: true, key_update: 9, migrate: {every: 1s}}, tls: {resumption: 5}";
    let app = "app: {dns: {names: a.test, streams_per_connection: 7, padding: true}}";
    let plan = entry(&format!("{ends}, {options}, {app}")).session;
    let client = plan.quic.client;
    assert!(plan.quic.retry && plan.quic.early_data && client.early_data && !client.migrate.unwrap().knows);
    assert_eq!((client.key_update, plan.tls.as_ref().unwrap().client.resumption), (Some(9), Some(5)));
    let AppPlan::Dns(dns) = &plan.mix.members[0].app else { panic!() };
    assert_eq!((dns.streams, dns.padding, dns.tcp_fallback), (7, true, false));
    let example = include_str!("../../../examples/dns-over-quic.yaml");
    assert!(load(example).unwrap().sessions.iter().all(|entry| entry.session.is_quic()));
}

/// HTTPS is encrypted unless that is turned off, and its plan has what RFC 8484 leaves open.
#[test]
fn dns_goes_over_https_if_told() {
    let ends = "client: {port: west}, server: {port: east}, open: max, transport: https";
    let told = |rest: &str| entry(&format!("{ends}, {rest}")).session;
    let of = |plan: &SessionPlan| {
        let AppPlan::Dns(dns) = plan.mix.members[0].app.clone() else { panic!() };
        (dns.streams, dns.padding, dns.https.clone().unwrap())
    };
    let plan = told("app: {dns: {names: a.test}}");
    let tls = plan.tls.as_ref().unwrap();
    assert!(!plan.is_quic() && tls.tls12 && tls.tls13 && tls.alpn == ["h2"], "{tls:?}");
    assert_eq!((plan.carrier, plan.servers.ports.clone()), (Carrier::Tcp, 443..=443));
    assert_eq!(tls.client.server_name, Some(Content::bytes("eagre.test")));
    let https = DnsHttps {
        version: HttpVersion::Two,
        method: Method::Post,
        path: "/dns-query".to_owned(),
        host: Content::bytes("eagre.test"),
    };
    assert_eq!(of(&plan), (1, false, https));
    let keys = "streams_per_connection: 9, padding: true, method: GET, path: '/q?a=b', host: c.test";
    let plan = told(&format!("app: {{dns: {{names: a.test, {keys}}}}}, tls: {{versions: 1.3}}"));
    let tls = plan.tls.as_ref().unwrap();
    assert!(!tls.tls12 && tls.client.server_name == Some(Content::bytes("c.test")), "{tls:?}");
    let https = DnsHttps {
        version: HttpVersion::Two,
        method: Method::Get,
        path: "/q?a=b".to_owned(),
        host: Content::bytes("c.test"),
    };
    assert_eq!(of(&plan), (9, true, https));
    let clear = told("tls: false, app: {dns: {names: a.test}}");
    assert!(clear.tls.is_none() && clear.servers.ports == (80..=80));
    let example = include_str!("../../../examples/dns-over-https.yaml");
    assert!(load(example).unwrap().sessions.iter().all(|entry| entry.session.tls.is_some()));
    for (version, alpn, carrier) in [
        ("1.1", &["http/1.1"][..], Carrier::Tcp),
        ("2", &["h2"], Carrier::Tcp),
        ("auto", &["h2", "http/1.1"], Carrier::Tcp),
        ("3", &["h3"], Carrier::Udp),
    ] {
        let plan = told(&format!("app: {{dns: {{names: a.test, version: {version}}}}}"));
        assert_eq!((plan.carrier, plan.is_quic()), (carrier, carrier == Carrier::Udp), "{version}");
        assert_eq!(
            (plan.tls.as_ref().unwrap().alpn.clone(), plan.servers.ports.clone()),
            (alpn.iter().map(ToString::to_string).collect(), 443..=443)
        );
    }
    let plan = told("quic: {retry: true, key_update: 9}, app: {dns: {names: a.test, version: 3}}");
    assert_eq!((plan.quic.retry, plan.quic.client.key_update), (true, Some(9)));
}

/// WebSocket over HTTP/3 goes over QUIC, and has its options.
#[test]
fn websocket_goes_over_http3_if_told() {
    let ends = "client: {port: west}, server: {port: east}, open: max";
    let plan =
        entry(&format!("{ends}, quic: {{migrate: {{every: 1s}}}}, app: {{websocket: {{version: 3}}}}"))
            .session;
    let tls = plan.tls.as_ref().unwrap();
    assert!(plan.is_quic() && tls.tls13 && !tls.tls12 && tls.alpn == ["h3"], "{tls:?}");
    assert_eq!((plan.servers.ports.clone(), plan.quic.client.migrate.is_some()), (443..=443, true));
    let AppPlan::Websocket(websocket) = &plan.mix.members[0].app else { panic!() };
    assert_eq!(websocket.version, HttpVersion::Three);
}

/// RFC 1035 section 4.2, RFC 7858 section 3.1, RFC 9250 section 4.1.1, RFC 8484 section 8.1.
#[test]
fn the_port_of_dns_follows_its_transport() {
    for (keys, port) in [
        ("", 53),
        ("transport: udp, ", 53),
        ("transport: tcp, ", 53),
        ("transport: tcp, tls: true, ", 853),
        ("transport: tcp, tls: {versions: 1.3}, ", 853),
        ("transport: tcp, tls: false, ", 53),
        ("transport: quic, ", 853),
        ("transport: https, ", 443),
        ("transport: https, tls: true, ", 443),
        ("transport: https, tls: false, ", 80),
    ] {
        let ends = "client: {port: west}, server: {port: east}, open: max";
        let plan = entry(&format!("{ends}, {keys}app: {{dns: {{names: a.test}}}}")).session;
        assert_eq!(plan.servers.ports, port..=port, "{keys}");
        let given = format!("client: {{port: west}}, server: {{port: east, ports: 5353}}, open: max, {keys}");
        let plan = entry(&format!("{given}app: {{dns: {{names: a.test}}}}")).session;
        assert_eq!(plan.servers.ports, 5353..=5353, "{keys}");
    }
}

#[test]
fn what_quic_lacks_is_refused() {
    let ends = "client: {port: west}, server: {port: east}, open: max";
    let dns = "app: {dns: {names: a.test}}";
    for (rest, place, reason) in [
        (format!("transport: quic, tls: false, {dns}"), "tls", "QUIC is always encrypted"),
        (format!("transport: quic, tls: {{versions: 1.2}}, {dns}"), "tls.versions", "QUIC needs TLS 1.3"),
        (format!("transport: udp, quic: {{retry: true}}, {dns}"), "quic", "do not go over QUIC"),
        (format!("transport: quic, quic: {{early_data: true}}, {dns}"), "quic.early_data", "resumed session"),
        ("transport: quic, app: {dns: {names: a.test, retries: 1}}".to_owned(), "retries", "UDP only"),
        (
            "transport: tcp, app: {dns: {names: a.test, streams_per_connection: 2}}".to_owned(),
            "streams_per_connection",
            "QUIC and HTTPS only",
        ),
        ("app: {dns: {names: a.test, padding: true}}".to_owned(), "padding", "hides the lengths"),
        (
            "transport: quic, app: {dns: {names: a.test, padding: true, edns: 512B}}".to_owned(),
            "edns",
            "is an option of EDNS",
        ),
        ("transport: quic, app: websocket".to_owned(), "transport", "does not go over QUIC"),
    ] {
        let text = format!("seed: 1\n{PORTS}sessions:\n  - {{name: s, {ends}, {rest}}}\n");
        let errors = load(&text).err().unwrap_or_else(|| panic!("{rest} loads"));
        let fits =
            |error: &profile::ProfileError| error.path.ends_with(place) && error.reason.contains(reason);
        assert!(errors.iter().any(fits), "{rest}: {errors:#?}");
    }
}

#[test]
fn servers_of_dns_without_clients_need_no_names() {
    let text = |app: &str| format!("server: {{port: east}}, app: {{dns: {app}}}");
    let dns = |app: &str| {
        let session = entry(&text(app)).session;
        assert!(session.client.is_none());
        let AppPlan::Dns(dns) = session.mix.members[0].app.clone() else { panic!() };
        dns
    };
    let plan = dns("{rules: [{suffix: test, answers: [10.9.9.9]}]}");
    assert_eq!((plan.queries.len(), plan.rules.len(), plan.rules[0].suffix.as_str()), (0, 1, "test"));
    // Who gives them all the same means them.
    assert_eq!(dns("{names: [a.test, b.test]}").queries.len(), 2);
    let wrong = format!("seed: 1\n{PORTS}sessions:\n  - {{name: s, {}}}\n", text("{names: a..b}"));
    assert_eq!(load(&wrong).unwrap_err().len(), 1);
}

#[test]
fn members_of_a_mix_have_ports_of_their_own() {
    let plan = entry(
        "client: {port: west}, server: {port: east}, open: max, app: {mix: [{name: web, weight: 7, app: http}, \
         {name: alt, app: http, ports: 8080..8081}, {name: e, app: echo}]}",
    )
    .session;
    let members: Vec<_> =
        plan.mix.members.iter().map(|m| (m.name.as_str(), m.weight, m.server_ports.clone())).collect();
    assert_eq!(members, [("web", 7, Some(80..=80)), ("alt", 1, Some(8080..=8081)), ("e", 1, Some(7..=7))]);
}

#[test]
fn tls_knows_whom_it_talks_to() {
    let tls = |rest: &str| entry(&format!("client: {{port: west}}, open: max, {rest}")).session;
    let both = tls("server: {port: east}, app: {http: {host: www.example.com}}, tls: true");
    assert_eq!(both.servers.ports, 443..=443);
    let plan = both.tls.unwrap();
    assert_eq!((plan.tls12, plan.tls13, &plan.alpn[..]), (true, true, &["http/1.1".to_owned()][..]));
    assert_eq!(plan.client.server_name, Some(Content::bytes("www.example.com")));
    assert!(
        matches!(&plan.server.identity, ServerIdentity::Generated { names, .. } if names == &["www.example.com"])
    );
    assert_eq!(
        (&plan.client.verify, plan.server.tickets, plan.client.resumption),
        (&TlsVerify::Off, 2, None)
    );
    let more = tls(
        "server: {port: east, ports: 9}, app: echo, tls: {versions: 1.3, suites: [TLS_AES_128_GCM_SHA256], \
        groups: x25519, verify: generated, resumption: 100, tickets: 4, key_share: {reuse: 50}, server_name: [a.test, b.test]}",
    );
    let plan = more.tls.unwrap();
    assert_eq!(plan.client.key_share_reuse, Some(50));
    assert_eq!((plan.tls12, plan.tls13, plan.alpn.len()), (false, true, 0));
    assert_eq!(
        (&plan.suites[..], &plan.groups[..]),
        (&["TLS_AES_128_GCM_SHA256".to_owned()][..], &["x25519".to_owned()][..])
    );
    assert_eq!(
        (&plan.client.verify, plan.client.resumption, plan.server.tickets),
        (&TlsVerify::Generated, Some(100), 4)
    );
    assert!(
        matches!(&plan.server.identity, ServerIdentity::Generated { names, .. } if names == &["a.test", "b.test"])
    );
    assert!(
        tls("server: {addresses: 10.0.0.9}, app: http, tls: true").tls.unwrap().client.server_name.is_none()
    );
    assert!(tls("server: {addresses: 10.0.0.9}, app: http, tls: false").tls.is_none());
}

#[test]
fn entries_without_a_seed_of_their_own_differ() {
    let text = "sessions:\n  - {name: a, client: {port: west}, server: {port: east}, app: echo, open: max, order: random}\n  \
        - {name: b, client: {port: west}, server: {port: east, ports: 8}, app: echo, open: max, order: random}";
    let (once, again) = (plan_of(text), plan_of(text));
    let seeds =
        |plan: &Plan| -> Vec<_> { plan.sessions.iter().map(|e| (e.session.seed, e.session.order)).collect() };
    assert_eq!(seeds(&once), seeds(&again));
    assert_ne!(seeds(&once)[0], seeds(&once)[1]);
}

#[test]
fn both_ends_of_a_program_draw_the_same_sizes() {
    let AppPlan::Program { client, server } = app(
        "{program: {client: [{send: {bytes: 1B..9KB}}], server: [{wait: 1ms}, {expect: {bytes: 1B..9KB}}]}}",
    ) else {
        panic!()
    };
    let (Op::Send(sent), Op::Expect(Expect::Content(expected))) = (&client.ops[0], &server.ops[1]) else {
        panic!()
    };
    assert_eq!(sent, expected);
}

#[test]
fn numbers_at_random_differ_from_each_other() {
    let plan = http("path: \"/{random 1..9}/{random 1..9}\"");
    let [_, Part::Decimal(one, _), _, Part::Decimal(other, _)] = &plan.requests[0].0.path.parts[..] else {
        panic!()
    };
    assert_ne!(one, other);
}

proptest::proptest! {
    /// A mutated entry loads or gives a reason, and every error has a place in it.
    #[test]
    fn never_panics(
        which in 0usize..4,
        cut in proptest::prelude::any::<proptest::sample::Index>(),
        len in 0usize..40,
        insert in "[-a-z0-9:{}\\[\\],\"'&*!|>%#\\n\\t ./]{0,8}",
    ) {
        let texts = [
            include_str!("../../../examples/program.yaml"),
            include_str!("../../../examples/enterprise-mix.yaml"),
            include_str!("../../../examples/firewall.yaml"),
            include_str!("../../../examples/dns.yaml"),
        ];
        let mut text: Vec<char> = texts[which].chars().collect();
        let start = cut.index(text.len());
        text.splice(start..(start + len).min(text.len()), insert.chars());
        let text: String = text.into_iter().collect();
        if let Err(errors) = load(&text) {
            let lines = text.lines().count() + 1;
            proptest::prop_assert!(!errors.is_empty());
            for error in errors {
                proptest::prop_assert!((1..=lines).contains(&error.line), "{}", error);
                proptest::prop_assert!(!error.reason.contains("internal"), "{}", error);
            }
        }
    }
}

/// One session of mail, as a client and a server of 1995 would have had it.
const MAIL: &[(bool, &str)] = &[
    (false, "220 mail.example.com ready\r\n"),
    (true, "EHLO client.example.org\r\n"),
    (false, "250-mail.example.com\r\n250 8BITMIME\r\n"),
    (true, "MAIL FROM:<alice@example.org>\r\n"),
    (false, "250 ok\r\n"),
    (true, "RCPT TO:<bob@example.com>\r\n"),
    (false, "250 ok\r\n"),
    (true, "DATA\r\n"),
    (false, "354 go on\r\n"),
    (true, "Subject: wind\r\n\r\nIt blows upriver again.\r\n.\r\n"),
    (false, "250 queued\r\n"),
    (true, "QUIT\r\n"),
    (false, "221 bye\r\n"),
];

/// `examples/conversation.pcap`: the session above with its handshake and its end, 2 ms from packet to packet.
fn mail_capture() -> Vec<u8> {
    const SYN: u128 = 2;
    const ACK: u128 = 16;
    const PSH_ACK: u128 = 24;
    const FIN_ACK: u128 = 17;
    let mut file = pcap::PcapWriter::new(Vec::new(), 65_535).unwrap();
    let mut next = [1_000u128, 5_000];
    let mut at = Nanos::from_secs(1_000_000_000);
    let mut packet = |client: bool, flags: u128, text: &str| {
        let (own, other) = if client { (0, 1) } else { (1, 0) };
        let header = |name: &str| wire::Header::new(wire::protocol(name).unwrap());
        let (mac, ip) = ([0x02_00_00_00_00_01, 0x02_00_00_00_00_02], [0xc000_0201, 0xc000_0202]);
        let (from, to) = ([49_152, 25][own], [49_152, 25][other]);
        let acknowledged = if flags & ACK > 0 { next[other] } else { 0 };
        let headers = vec![
            header("ethernet").with("src", mac[own]).with("dst", mac[other]),
            header("ipv4").with("src", ip[own]).with("dst", ip[other]),
            header("tcp")
                .with("src", from)
                .with("dst", to)
                .with("flags", flags)
                .with("seq", next[own])
                .with("ack", acknowledged),
        ];
        let spec =
            wire::PacketSpec { headers, payload: text.as_bytes().to_vec(), ..wire::PacketSpec::default() };
        let built = spec.build_unpadded().unwrap();
        let bytes = &built.bytes[..];
        let record =
            pcap::Packet { at, interface: 0, direction: None, original_len: bytes.len() as u32, bytes };
        file.write(&record).unwrap();
        at = at.saturating_add(Nanos::from_millis(2));
        next[own] += text.len() as u128 + u128::from(flags & (SYN | 1) > 0);
    };
    packet(true, SYN, "");
    packet(false, SYN | ACK, "");
    packet(true, ACK, "");
    for (client, text) in MAIL {
        packet(*client, PSH_ACK, text);
        packet(!client, ACK, "");
    }
    packet(false, FIN_ACK, "");
    packet(true, FIN_ACK, "");
    packet(false, ACK, "");
    file.into_inner()
}

#[test]
fn the_captured_conversation_is_the_one_above() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/conversation.pcap");
    let capture = mail_capture();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &capture).unwrap();
    }
    assert!(std::fs::read(&path).unwrap() == capture, "run with UPDATE_GOLDEN=1 after a deliberate change");
    let text = format!(
        "{PORTS}sessions: [{{name: mail, client: {{port: west}}, server: {{port: east}}, app: {{pcap: {{file: m}}}}, open: max}}]"
    );
    let plan = load_with(&text, &Overrides::default(), &|_| Ok(capture.clone())).unwrap();
    let session = &plan.sessions[0].session;
    assert_eq!((session.carrier, session.servers.ports.clone()), (Carrier::Tcp, 25..=25));
    let AppPlan::Program { client, .. } = &session.mix.members[0].app else { panic!() };
    let sent: Vec<&Content> =
        client.ops.iter().filter_map(|op| if let Op::Send(sent) = op { Some(sent) } else { None }).collect();
    let said: Vec<Content> =
        MAIL.iter().filter(|(by, _)| *by).map(|(_, text)| Content::bytes(text)).collect();
    assert_eq!(sent, said.iter().collect::<Vec<_>>());
}

#[test]
fn stamp_has_its_port_and_its_times() {
    let session = |app: &str| {
        entry(&format!("client: {{port: west}}, server: {{port: east}}, open: max, app: {app}")).session
    };
    let usual = session("stamp");
    let AppPlan::Stamp(plan) = &usual.mix.members[0].app else { panic!() };
    assert_eq!((usual.servers.ports, usual.carrier), (862..=862, Carrier::Udp));
    assert_eq!((plan.packets, plan.interval), (Some(10), Some(Nanos::from_millis(100))));
    assert_eq!((plan.length, plan.is_stateful, plan.wait), (44, false, Nanos::from_secs(1)));
    let told = session(
        "{stamp: {packets: endless, size: 150B, reflector: stateful, timestamps: ptp, wait: 2s, key: 000102030405060708090a0b0c0d0e0f}}, \
         request_rate: 100/s",
    );
    let AppPlan::Stamp(plan) = &told.mix.members[0].app else { panic!() };
    assert_eq!((plan.packets, plan.interval, plan.length), (None, None, 150));
    assert_eq!((plan.is_stateful, plan.wait, plan.form.base()), (true, Nanos::from_secs(2), 112));
}
