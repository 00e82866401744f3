//! HTTP/2, end to end and against ends that are not ours. Frames and limits are tested in `http2`.

use crate::counts::Reason;
use crate::plan::*;
use crate::testing::{Wire, plan};
use std::sync::Arc;
use units::Nanos;

const MINUTE: Nanos = Nanos::from_secs(60);

fn http(requests: Vec<(HttpRequest, u32)>, per_connection: u32, streams: u16) -> HttpPlan {
    HttpPlan {
        version: HttpVersion::Two,
        requests,
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
        server: Arc::new(HttpServer::sized(Size::Fixed(5))),
    }
}

fn sized(bytes: u64) -> HttpRequest {
    HttpRequest { response_bytes: Some(bytes), ..HttpRequest::get(&format!("/{bytes}"), "h.example") }
}

fn entry(plan_of: HttpPlan) -> SessionPlan {
    plan(AppPlan::Http(Arc::new(plan_of)))
}

fn wire(plan_of: HttpPlan, cuts: &[usize]) -> Wire {
    Wire::new(entry(plan_of), cuts)
}

#[test]
fn requests_and_answers_pass_whatever_their_size() {
    let requests = vec![(sized(100), 3), (sized(400_000), 1), (sized(0), 1)];
    for (streams, cuts) in [(1, &[1460][..]), (7, &[1]), (100, &[1460, 100]), (100, &[60_000])] {
        let requests = if cuts[0] == 1 { vec![(sized(700), 1)] } else { requests.clone() };
        let mut wire = wire(http(requests, 50, streams), cuts);
        for session in 0..2 {
            wire.open(session);
            wire.run(MINUTE);
        }
        wire.assert_complete(2);
        let (client, server) = (wire.client(), wire.server());
        for counts in [client, server] {
            assert_eq!((counts.requests, counts.transactions, counts.http[1]), (100, 100, 100));
            assert_eq!((counts.http2.connections, counts.http2.streams), (2, 100));
        }
        assert_eq!((client.ttfb.samples(), client.ttlb.samples(), client.unasked), (100, 100, 0));
        assert_eq!(client.http2.peer_streams, Some(256));
    }
}

#[test]
fn bodies_of_every_kind() {
    let size = Size::Uniform { from: 0, to: 90_000, seed: 4 };
    let ask = |path: &str| HttpRequest::get(path, "h");
    let post = |body| HttpRequest { method: Method::Post, body, ..ask("/post") };
    let vary =
        |values| Content { parts: vec![Part::Bytes(b"/length?n="[..].into()), Part::Decimal(values, 0)] };
    let requests = vec![
        (ask("/chunked"), 1),
        (HttpRequest { path: vary(Values::REQUEST), head_bytes: 300, ..ask("") }, 1),
        (post(RequestBody::Length(size.clone())), 1),
        (post(RequestBody::Chunked { size: size.clone(), chunk: 333 }), 1),
        (post(RequestBody::Length(Size::Fixed(100_000))), 1),
        (HttpRequest { method: Method::Head, status: Some(200), ..ask("/length") }, 1),
        (HttpRequest { status: Some(204), ..ask("/empty") }, 1),
        (HttpRequest { status: Some(404), ..ask("/nothing") }, 1),
        (HttpRequest { status: Some(405), method: Method::Delete, ..ask("/post") }, 1),
        (ask("/slow"), 1),
    ];
    let exact = |path: &str| HttpPath::Exact(path.to_owned());
    let rule = |path, status, body| HttpRule { status, ..HttpRule::ok(path, body) };
    let rules = vec![
        rule(exact("/chunked"), 200, HttpBody::Chunked { size: size.clone(), chunk: 700 }),
        rule(exact("/length"), 200, HttpBody::Length(size.clone())),
        HttpRule {
            methods: vec![Method::Post],
            fields: vec![("X-A".to_owned(), "b".to_owned())],
            ..rule(exact("/post"), 201, HttpBody::Length(Size::Fixed(3)))
        },
        rule(exact("/empty"), 204, HttpBody::Length(Size::Fixed(100))),
        HttpRule {
            delay: Delay::Constant(Nanos::from_millis(5)),
            ..rule(exact("/slow"), 200, HttpBody::Length(Size::Fixed(1)))
        },
    ];
    let server = Arc::new(HttpServer {
        rules,
        keep_alive: None,
        date: true,
        name: String::new(),
        retry: false,
        early_data: EarlyData::Off,
        alt_svc: None,
    });
    for (streams, cuts) in [(1, &[1460][..]), (4, &[70, 9]), (20, &[30_000])] {
        let mut wire = wire(HttpPlan { server: server.clone(), ..http(requests.clone(), 20, streams) }, cuts);
        wire.open(0);
        wire.run(MINUTE);
        wire.assert_complete(1);
        let expected = [0, 16, 0, 4, 0];
        assert_eq!((wire.client().http, wire.server().http), (expected, expected), "{streams} {cuts:?}");
    }
}

/// Servers do not know a text; the client's own bytes are written again on each request.
#[test]
fn a_text_is_a_body() {
    let body = RequestBody::Text("{\"a\": 1}".repeat(9_000));
    let request = HttpRequest { method: Method::Post, body, ..sized(7) };
    let mut wire = wire(http(vec![(request, 1)], 2, 2), &[1460, 3]);
    wire.open(0);
    wire.run(MINUTE);
    wire.assert_complete(1);
    let text = String::from_utf8_lossy(wire.sent(0)).matches("{\"a\": 1}").count();
    assert!((17_900..=18_000).contains(&text), "{text}");
}

/// The server ends each connection after ten requests: requests it did not process are no failures, and are repeated
/// elsewhere.
#[test]
fn a_server_that_goes_away_leaves_the_rest_unasked() {
    for (streams, cut) in [(1, 1460), (8, 1460), (30, 40), (100, 9_000)] {
        let server = HttpServer { keep_alive: Some(10), ..HttpServer::sized(Size::Fixed(5)) };
        let mut entry = entry(HttpPlan { server: server.into(), ..http(vec![(sized(900), 1)], 25, streams) });
        entry.load.request_count = Some(100);
        let mut wire = Wire::new(entry, &[cut]);
        let mut sessions = 0;
        while wire.client().requests - wire.client().http2.unprocessed < 100 {
            wire.open(sessions);
            wire.run(MINUTE);
            sessions += 1;
            assert!(sessions < 30, "{streams} {cut}");
        }
        wire.assert_complete(sessions);
        let client = wire.client();
        assert_eq!(
            (client.transactions, client.http2.goaways >= sessions - 1),
            (100, true),
            "{streams} {cut}"
        );
        let asked = client.requests - client.http2.unprocessed;
        assert_eq!((asked, client.unasked > 0), (100, true));
    }
}

#[test]
fn servers_tell_versions_apart_and_others_are_told() {
    for version in [HttpVersion::One, HttpVersion::Two] {
        for cut in [1, 5, 1460] {
            let client = HttpPlan { version, ..http(vec![(sized(9), 1)], 3, 2) };
            let server = HttpPlan { version: HttpVersion::Auto, ..client.clone() };
            let mut wire = Wire::mixed(entry(client), entry(server), &[cut]);
            wire.open(0);
            wire.run(MINUTE);
            wire.assert_complete(1);
            let is_two = u64::from(version == HttpVersion::Two);
            assert_eq!((wire.server().http2.connections, wire.server().transactions), (is_two, 3));
        }
    }
    let one = || HttpPlan { version: HttpVersion::One, ..http(vec![(sized(9), 1)], 3, 2) };
    let two = || http(vec![(sized(9), 1)], 3, 2);
    let mut ours = Wire::mixed(entry(two()), entry(one()), &[1460]);
    ours.open(0);
    ours.run(MINUTE);
    assert_eq!(ours.client().failed(Reason::NoHttp2), 1, "{:?}", ours.client().details);
    let mut theirs = Wire::mixed(entry(one()), entry(two()), &[1460]);
    theirs.open(0);
    theirs.run(MINUTE);
    assert_eq!(theirs.server().failed(Reason::BadRequest), 1, "{:?}", theirs.server().details);
}

/// A frame.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    [&[0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream], payload].concat()
}

#[test]
fn what_servers_do_wrong_has_a_reason() {
    let settings = frame(4, 0, 0, &[]);
    let ok = frame(1, 5, 1, &[0x88]);
    let cases: Vec<(Vec<u8>, bool, Reason, &str)> = vec![
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), true, Reason::NoHttp2, "SETTINGS"),
        (frame(3, 0, 1, &[0, 0, 0, 2]), false, Reason::StreamReset, "RST_STREAM: INTERNAL_ERROR"),
        (frame(7, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 11]), false, Reason::GoAway, "GOAWAY: ENHANCE_YOUR_CALM"),
        (frame(1, 5, 1, &[0xff, 0xff]), false, Reason::Http2Protocol, "integer"),
        (frame(1, 5, 1, &[0x82]), false, Reason::BadResponse, "not for this end"),
        (frame(1, 5, 1, &[0x8c]), false, Reason::Http4xx, ""),
        (frame(1, 4, 1, &[0x88]), true, Reason::ClosedEarly, ""),
        (frame(1, 4, 1, &[0x88]), false, Reason::ResponseTimeout, ""),
        (frame(5, 4, 1, &[0, 0, 0, 2, 0x88]), false, Reason::Http2Protocol, "PUSH_PROMISE"),
        ([frame(1, 4, 1, &[0x88]), frame(0, 1, 1, b"abc")].concat(), false, Reason::WrongContent, ""),
        ([ok, frame(7, 0, 0, &[0; 8])].concat(), true, Reason::Aborted, ""),
        (frame(7, 0, 0, &[0; 8]), false, Reason::GoAway, "GOAWAY: no request was processed"),
    ];
    for (index, (bytes, closes, reason, why)) in cases.into_iter().enumerate() {
        let plan_of = http(vec![(sized(if index == 10 { 0 } else { 9 }), 1)], 1, 1);
        let mut wire = wire(plan_of, &[1460]);
        let bytes = if index == 0 { bytes } else { [settings.clone(), bytes].concat() };
        wire.fake = Some((bytes, closes));
        wire.open(0);
        wire.run(MINUTE);
        let client = wire.client();
        if reason == Reason::Aborted {
            assert_eq!((client.completed, client.transactions), (1, 1));
            continue;
        }
        // One that closes softly waits for its server, which is not there.
        let failed = client.failed(reason) == 1 || client.failed_in_all() == 0;
        assert!(failed, "case {index}: {:?} {:?}", client.failures, client.details);
        assert!(
            client.details.keys().any(|text| text.contains(why)) || why.is_empty(),
            "case {index}: {:?}",
            client.details
        );
    }
}

/// A server that ends a connection may reset it when the client's last frames come.
#[test]
fn a_reset_after_the_last_response_is_no_failure() {
    let settings = frame(4, 0, 0, &[]);
    let ok = frame(1, 5, 1, &[0x88]);
    for (said, failed) in [([settings.clone(), ok].concat(), 0), (settings, 1)] {
        let mut wire = wire(http(vec![(HttpRequest::get("/", "h"), 1)], 1, 1), &[1460]);
        wire.fake = Some((said, false));
        wire.open(0);
        wire.run(Nanos::from_millis(10));
        wire.cut_off(0, tcp::End::Reset);
        assert_eq!((wire.client().failed(Reason::Reset), wire.client().completed), (failed, 1 - failed));
    }
}

#[test]
fn a_server_that_refuses_is_asked_again() {
    let bytes = [
        frame(4, 0, 0, &[]),
        frame(3, 0, 1, &[0, 0, 0, 7]),
        frame(1, 4, 3, &[0x88]),
        frame(0, 1, 3, &(0..9).map(|_| 0).collect::<Vec<u8>>()),
    ];
    let request = HttpRequest::get("/", "h");
    let mut wire = wire(http(vec![(request, 1)], 1, 1), &[1460]);
    wire.fake = Some((bytes[..2].concat(), false));
    wire.open(0);
    wire.run(Nanos::from_millis(10));
    let client = wire.client();
    assert_eq!((client.requests, client.http2.unprocessed, client.http2.resets), (2, 1, 1));
    assert_eq!((client.failed_in_all(), client.active()), (0, 1));
}
