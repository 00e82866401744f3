//! HTTP, end to end and against ends that are not ours.

use super::*;
use crate::counts::Reason;
use crate::plan::*;
use crate::testing::{Wire, plan};
use proptest::prelude::*;
use std::sync::Arc;
use units::Nanos;

const MINUTE: Nanos = Nanos::from_secs(60);

fn http(requests: Vec<(HttpRequest, u32)>, per_connection: u32) -> HttpPlan {
    HttpPlan {
        requests,
        order: SelectionOrder::Sequential,
        per_connection: Some(per_connection),
        pipeline: 1,
        version: HttpVersion::One,
        streams: 1,
        think: Delay::NONE,
        close: HttpClose::Fin,
        errors_fail: false,
        quic: QuicPlan::default(),
        alt_svc: false,
        agent: AgentPlan::default(),
        server: Arc::new(HttpServer::sized(Size::Fixed(5))),
    }
}

fn sized(bytes: u64) -> HttpRequest {
    let response_bytes = Some(bytes);
    HttpRequest { response_bytes, ..HttpRequest::get(&format!("/{bytes}"), "h.example") }
}

fn wire(plan_of: HttpPlan, cuts: &[usize]) -> Wire {
    Wire::new(plan(AppPlan::Http(Arc::new(plan_of))), cuts)
}

fn rule(path: HttpPath, status: u16, body: HttpBody) -> HttpRule {
    HttpRule { methods: Vec::new(), path, status, body, fields: Vec::new(), close: false, delay: Delay::NONE }
}

#[test]
fn a_text_is_a_body() {
    let body = RequestBody::Text("{\"a\": 1}".to_owned());
    let request = HttpRequest { method: Method::Post, body, ..sized(7) };
    let mut wire = wire(http(vec![(request, 1)], 2), &[1460, 3]);
    wire.open(0);
    wire.run(MINUTE);
    wire.assert_complete(1);
    let one = &b"POST /7 HTTP/1.1\r\nHost: h.example\r\nContent-Length: 8\r\n\r\n{\"a\": 1}"[..];
    assert_eq!(wire.sent(0), [one, one].concat());
}

#[test]
fn one_request_looks_like_this() {
    let mut wire = wire(http(vec![(sized(7), 1)], 1), &[1460]);
    wire.open(0);
    wire.run(MINUTE);
    wire.assert_complete(1);
    assert_eq!(wire.sent(0), b"GET /7 HTTP/1.1\r\nHost: h.example\r\n\r\n");
    let head = b"HTTP/1.1 200 OK\r\nServer: eagre\r\nContent-Length: 7\r\n\r\n";
    assert_eq!(wire.sent(1)[..head.len()], head[..]);
    assert_eq!(wire.sent(1).len(), head.len() + 7);
    assert_eq!((wire.client().http, wire.server().http), ([0, 1, 0, 0, 0], [0, 1, 0, 0, 0]));
}

/// A size the server always has, and one that only the path determines.
#[test]
fn a_known_size_looks_like_any_other() {
    let responses = ["/any", "/5"].map(|path| {
        let mut wire = wire(http(vec![(HttpRequest::get(path, "h.example"), 1)], 3), &[1460, 7]);
        wire.open(0);
        wire.run(MINUTE);
        wire.assert_complete(1);
        wire.sent(1).to_vec()
    });
    assert_eq!(responses[0], responses[1]);
    assert!(responses[0].starts_with(b"HTTP/1.1 200 OK\r\nServer: eagre\r\nContent-Length: 5\r\n\r\n"));
}

/// A head received once is recognized while it is received again; one that continues differently is another.
#[test]
fn a_long_head_may_come_in_pieces_again_and_again() {
    let path = |path: &str| HttpRequest { head_bytes: 8_192, ..HttpRequest::get(path, "h.example") };
    let requests = vec![(path("/5"), 2), (path("/6"), 1)];
    let mut wire = wire(http(requests, 9), &[1460, 3]);
    wire.open(0);
    wire.run(MINUTE);
    wire.assert_complete(1);
    let head = |bytes: usize| b"HTTP/1.1 200 OK\r\nServer: eagre\r\nContent-Length: 5\r\n\r\n".len() + bytes;
    assert_eq!((wire.server().requests, wire.sent(0).len()), (9, 9 * 8_192));
    assert_eq!(wire.sent(1).len(), 6 * head(5) + 3 * head(6));
}

#[test]
fn mixes_come_out_by_weight_and_are_verified() {
    let requests = vec![(sized(100), 3), (sized(40_000), 1), (sized(0), 1)];
    for pipeline in [1, 4, 255] {
        let mut wire = wire(HttpPlan { pipeline, ..http(requests.clone(), 10) }, &[1460, 100]);
        wire.open(3);
        wire.run(MINUTE);
        wire.assert_complete(1);
        let client = wire.client();
        assert_eq!((client.requests, client.transactions, client.http[1]), (10, 10, 10));
        assert_eq!(client.ttlb.samples(), 10);
        let bodies = client.bytes_received as i64 - 10 * 50;
        assert!((80_600..80_700).contains(&bodies), "{bodies}");
    }
}

#[test]
fn bodies_of_every_kind() {
    let size = Size::Uniform { from: 0, to: 9_000, seed: 4 };
    let ask = |path: &str| HttpRequest::get(path, "h");
    let post = |body| HttpRequest { method: Method::Post, body, ..ask("/post") };
    let requests = vec![
        (ask("/chunked"), 1),
        (ask("/length"), 1),
        (post(RequestBody::Length(size.clone())), 1),
        (post(RequestBody::Chunked { size: size.clone(), chunk: 333 }), 1),
        (HttpRequest { method: Method::Head, status: Some(200), ..ask("/length") }, 1),
        (HttpRequest { status: Some(204), ..ask("/empty") }, 1),
        (HttpRequest { status: Some(304), ..ask("/same") }, 1),
        (HttpRequest { status: Some(404), ..ask("/nothing") }, 1),
        (HttpRequest { status: Some(405), method: Method::Delete, ..ask("/post") }, 1),
        (ask("/slow"), 1),
        (HttpRequest { response_bytes: None, ..ask("/close") }, 1),
    ];
    let exact = |path: &str| HttpPath::Exact(path.to_owned());
    let rules = vec![
        rule(exact("/chunked"), 200, HttpBody::Chunked { size: size.clone(), chunk: 700 }),
        rule(exact("/length"), 200, HttpBody::Length(size.clone())),
        HttpRule {
            methods: vec![Method::Post],
            fields: vec![("X-A".to_owned(), "b".to_owned())],
            ..rule(HttpPath::Prefix("/po".to_owned()), 201, HttpBody::Length(Size::Fixed(3)))
        },
        rule(exact("/empty"), 204, HttpBody::Length(Size::Fixed(100))),
        rule(exact("/same"), 304, HttpBody::Length(Size::Fixed(100))),
        HttpRule {
            delay: Delay::Constant(Nanos::from_millis(5)),
            ..rule(exact("/slow"), 200, HttpBody::Length(Size::Fixed(1)))
        },
        rule(exact("/close"), 200, HttpBody::UntilClose(size)),
    ];
    let server = Arc::new(HttpServer {
        rules,
        keep_alive: None,
        date: false,
        name: String::new(),
        retry: false,
        early_data: EarlyData::Off,
        alt_svc: None,
    });
    for (pipeline, cuts) in [(1, &[1460][..]), (1, &[1]), (20, &[7, 90]), (20, &[2])] {
        let mut wire =
            wire(HttpPlan { pipeline, server: server.clone(), ..http(requests.clone(), 11) }, cuts);
        wire.open(0);
        wire.run(MINUTE);
        wire.assert_complete(1);
        assert_eq!(wire.client().transactions, 11, "{pipeline} {cuts:?}");
        assert_eq!((wire.client().http, wire.server().http), ([0, 8, 1, 2, 0], [0, 8, 1, 2, 0]));
        assert_eq!(wire.server().requests, 11);
    }
}

#[test]
fn connections_end_as_they_should() {
    // The client's last request asks for it.
    let mut server_closes =
        wire(HttpPlan { close: HttpClose::Server, ..http(vec![(sized(9), 1)], 2) }, &[1460]);
    server_closes.open(0);
    server_closes.run(MINUTE);
    server_closes.assert_complete(1);
    let asked = server_closes.sent(0).windows(17).filter(|bytes| *bytes == b"Connection: close").count();
    assert_eq!(asked, 1);
    // By reset.
    let mut reset = wire(HttpPlan { close: HttpClose::Reset, ..http(vec![(sized(9), 1)], 2) }, &[1460]);
    reset.open(0);
    reset.run(MINUTE);
    reset.assert_complete(1);
    // The server has enough.
    let server = HttpServer { keep_alive: Some(3), ..HttpServer::sized(Size::Fixed(5)) };
    let mut tired = wire(HttpPlan { server: server.into(), ..http(vec![(sized(9), 1)], 10) }, &[1460]);
    tired.open(0);
    tired.run(MINUTE);
    tired.assert_complete(1);
    assert_eq!(tired.client().transactions, 3);
}

#[test]
fn heads_are_padded_and_vary() {
    let path = Content { parts: vec![Part::Bytes(b"/p?n="[..].into()), Part::Decimal(Values::REQUEST, 4)] };
    let request = HttpRequest {
        path,
        fields: vec![("X-Session".to_owned(), Content { parts: vec![Part::Decimal(Values::SESSION, 0)] })],
        head_bytes: 200,
        ..HttpRequest::get("", "h")
    };
    let mut wire = wire(http(vec![(request, 1)], 3), &[1460]);
    wire.open(12);
    wire.run(MINUTE);
    wire.assert_complete(1);
    let sent = String::from_utf8(wire.sent(0).to_vec()).unwrap();
    assert_eq!(sent.len(), 600);
    assert!(sent.contains("GET /p?n=0002 HTTP/1.1\r\nHost: h\r\nX-Session: 12\r\nX-Padding: xx"), "{sent}");
}

/// A server counts a response when all of it has arrived: a client that leaves before gets none.
#[test]
fn a_response_counts_when_it_has_arrived() {
    let big = 5_000_000;
    let mut wire = wire(http(vec![(sized(9), 1), (sized(big), 1)], 2), &[1460]);
    for number in 0..10 {
        wire.open(number);
        wire.run(Nanos::from_millis(2));
        assert_eq!(wire.server().requests, 2 * (number + 1));
        wire.cut_off(1, tcp::End::Reset);
        wire.cut_off(0, tcp::End::Aborted);
    }
    let server = wire.server();
    assert_eq!((server.transactions, server.http, server.failed(Reason::Reset)), (10, [0, 10, 0, 0, 0], 10));
    wire.open(10);
    wire.run(MINUTE);
    assert_eq!((wire.server().transactions, wire.server().completed), (12, 1));
}

/// A 100 is no response, and counts as what it is.
#[test]
fn a_100_is_no_transaction() {
    let body = RequestBody::Length(Size::Fixed(100_000));
    let fields = vec![("Expect".to_owned(), Content::bytes("100-continue"))];
    let request = HttpRequest { method: Method::Post, body, fields, ..HttpRequest::get("/", "h") };
    let mut wire = wire(http(vec![(request, 1)], 2), &[1460, 66]);
    wire.open(0);
    wire.run(MINUTE);
    let server = wire.server();
    assert_eq!((server.transactions, server.http[1]), (2, 2));
}

/// A server that closes between requests, announced or not: requests not sent are counted, and the session is complete.
#[test]
fn a_close_between_requests_leaves_the_rest_unasked() {
    let thinks = |think| {
        move |plan: &mut HttpPlan, _: &mut SessionPlan| {
            (plan.per_connection, plan.think) = (Some(3), Delay::Constant(Nanos::from_millis(think)));
        }
    };
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nkeep-alive: max=9, Timeout=5\r\n\r\nok";
    let (wire, failed) = against(ok, true, thinks(6_000));
    assert_eq!((failed, wire.client().unasked, wire.client().completed), (vec![], 2, 1));
    assert_eq!(wire.client().kept_s, Some(5));
    let (wire, _) = against(ok, true, thinks(5_000));
    assert_eq!((wire.client().unasked, wire.client().kept_s), (2, None));
    // Asked, and not answered.
    let (wire, failed) = against(ok, true, |plan, _| plan.per_connection = Some(3));
    assert_eq!((failed, wire.client().unasked), (vec![Reason::ClosedEarly], 0));
    let (wire, failed) = against(ok, true, |plan, _| (plan.per_connection, plan.pipeline) = (Some(3), 2));
    assert_eq!((failed, wire.client().unasked), (vec![Reason::ClosedEarly], 0));
    // Nothing was asked for: it is not known how many there would have been.
    let endless = |plan: &mut HttpPlan, _: &mut SessionPlan| {
        (plan.per_connection, plan.think) = (None, Delay::Constant(Nanos::from_secs(8)));
    };
    let (wire, failed) = against(ok, true, endless);
    assert_eq!((failed, wire.client().unasked, wire.client().kept_s), (vec![], 0, Some(5)));
}

/// Outcome of a client whose server sends this.
fn against(
    says: &str,
    closes: bool,
    change: impl FnOnce(&mut HttpPlan, &mut SessionPlan),
) -> (Wire, Vec<Reason>) {
    let request = HttpRequest::get("/", "h");
    let mut of_http = http(vec![(request, 1)], 1);
    let mut entry = plan(AppPlan::Http(Arc::new(of_http.clone())));
    change(&mut of_http, &mut entry);
    entry.mix = Mix::one(AppPlan::Http(Arc::new(of_http)));
    let mut wire = Wire::new(entry, &[5]);
    wire.fake = Some((says.as_bytes().to_vec(), closes));
    wire.open(0);
    wire.run(Nanos::from_secs(100));
    let failed = Reason::ALL.into_iter().filter(|reason| wire.client().failed(*reason) > 0).collect();
    assert!(wire.client().active() == 0 || wire.client().completed == 0);
    (wire, failed)
}

#[test]
fn bad_responses_are_told_apart() {
    let ok = "HTTP/1.1 200 OK\r\n";
    for (says, closes, reason) in [
        (String::new(), false, Reason::ResponseTimeout),
        (String::new(), true, Reason::ClosedEarly),
        ("SSH-2.0-OpenSSH\r\n\r\n".to_owned(), false, Reason::BadResponse),
        ("HTTP/1.1 20 OK\r\n\r\n".to_owned(), false, Reason::BadResponse),
        (format!("{ok}Content-Length: 3\r\n\r\nab"), true, Reason::ClosedEarly),
        (format!("{ok}Content-Length: 3\r\n\r\nab"), false, Reason::ResponseTimeout),
        (format!("{ok}Content-Length: 3x\r\n\r\nabc"), false, Reason::BadResponse),
        (format!("{ok}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc"), false, Reason::BadResponse),
        (format!("{ok}Transfer-Encoding: chunked\r\n\r\nx\r\n"), false, Reason::BadResponse),
        (format!("{ok}Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n"), false, Reason::BadResponse),
        (format!("{ok}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n"), true, Reason::ClosedEarly),
        (format!("{ok}no colon\r\n\r\n"), false, Reason::BadResponse),
        (format!("{ok}{}", "a: b\r\n".repeat(4_000)), false, Reason::BadResponse),
        (
            format!("{ok}Transfer-Encoding: chunked\r\n\r\n0\r\n{}", "a: b\r\n".repeat(4_000)),
            false,
            Reason::BadResponse,
        ),
        ("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n".repeat(4_000), false, Reason::BadResponse),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n".to_owned(), false, Reason::BadResponse),
        ("HTTP/1.1 700 What\r\n\r\n".to_owned(), false, Reason::BadResponse),
        // Without the end of a line.
        ("\u{80}".repeat(512), false, Reason::BadResponse),
        ("HTTP/2".to_owned(), false, Reason::BadResponse),
        ("HTTP/1".to_owned(), false, Reason::ResponseTimeout),
        ("HTTP/1.1 200 OK".to_owned(), false, Reason::ResponseTimeout),
    ] {
        let (_, failed) = against(&says, closes, |_, _| ());
        assert_eq!(failed, [reason], "{says:?}");
    }
}

#[test]
fn what_can_not_be_a_response_is_not_waited_for() {
    let two = |plan: &mut HttpPlan, _: &mut SessionPlan| plan.per_connection = Some(2);
    let says = format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n{}", "x".repeat(64));
    let (wire, failed) = against(&says, false, two);
    assert_eq!((failed, wire.client().transactions), (vec![Reason::BadResponse], 1));
    assert!(wire.now < Nanos::from_secs(2), "{}", wire.now);
}

/// One request has two responses, or none has a response yet: the second is not taken for that of the next request.
#[test]
fn responses_before_their_requests_are_counted() {
    let one = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
    let endless = |plan: &mut HttpPlan, entry: &mut SessionPlan| {
        (plan.per_connection, entry.verify) = (Some(5), false);
    };
    let twice = format!("{one}yes{one}yes");
    let (wire, failed) = against(&twice, false, endless);
    assert_eq!((failed, wire.client().transactions), (vec![Reason::UnaskedResponse], 1));
    assert_eq!(wire.client().details["a response before its request"], 1);
    let thinks = |plan: &mut HttpPlan, entry: &mut SessionPlan| {
        (plan.per_connection, entry.verify) = (Some(5), false);
        plan.think = Delay::Constant(Nanos::from_secs(1));
    };
    let idle = format!("{one}yesHTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n");
    assert_eq!(against(&idle, true, thinks).1, [Reason::UnaskedResponse]);
    // In a pipeline both were requested.
    let two = |plan: &mut HttpPlan, entry: &mut SessionPlan| {
        (plan.per_connection, plan.pipeline, entry.verify) = (Some(2), 2, false);
    };
    assert_eq!(against(&twice, true, two).1, []);
}

#[test]
fn good_responses_of_others_are_taken() {
    for (says, closes) in [
        ("HTTP/1.0 200 OK\nContent-Length: 2\n\nok", true),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length:2\r\n\r\nok",
            true,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2;name=v\r\nok\r\n0\r\nTrailer: yes\r\n\r\n",
            true,
        ),
        ("HTTP/1.1 200 OK\r\n\r\nuntil it closes", true),
        ("HTTP/1.1 204 No Content\r\n\r\n", true),
        ("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", true),
    ] {
        let (wire, failed) = against(says, closes, |_, entry| entry.verify = false);
        assert_eq!((failed, wire.client().completed), (vec![], 1), "{says}");
    }
}

#[test]
fn statuses_fail_if_they_shall() {
    let says = |status: u16| format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n");
    let (wire, failed) = against(&says(503), true, |_, _| ());
    assert_eq!((failed, wire.client().http[4]), (vec![], 1));
    let strict = |plan: &mut HttpPlan, _: &mut SessionPlan| plan.errors_fail = true;
    assert_eq!(against(&says(503), true, strict).1, [Reason::Http5xx]);
    assert_eq!(against(&says(404), true, strict).1, [Reason::Http4xx]);
    let exact = |plan: &mut HttpPlan, _: &mut SessionPlan| plan.requests[0].0.status = Some(200);
    assert_eq!(against(&says(301), true, exact).1, [Reason::HttpStatus]);
    let length = |plan: &mut HttpPlan, _: &mut SessionPlan| plan.requests[0].0.response_bytes = Some(1);
    assert_eq!(against(&says(200), true, length).1, [Reason::WrongContent]);
}

/// The status decides first; expectations of the body apply to the expected response.
#[test]
fn a_body_is_compared_if_its_status_is_right() {
    let with_length = |status: u16| format!("HTTP/1.1 {status} X\r\nContent-Length: 9\r\n\r\nnot found");
    let in_chunks = |status: u16| {
        format!("HTTP/1.1 {status} X\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nnot found\r\n0\r\n\r\n")
    };
    let until_close = |status: u16| format!("HTTP/1.1 {status} X\r\n\r\nnot found");
    let empty = |status: u16| format!("HTTP/1.1 {status} X\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    let all: [&dyn Fn(u16) -> String; 4] = [&with_length, &in_chunks, &until_close, &empty];
    for (number, says) in all.into_iter().enumerate() {
        let expect = |status: u16, wanted: Option<u16>, errors_fail: bool| {
            let change = |plan: &mut HttpPlan, _: &mut SessionPlan| {
                plan.errors_fail = errors_fail;
                (plan.requests[0].0.status, plan.requests[0].0.response_bytes) = (wanted, Some(1_000));
            };
            let (wire, failed) = against(&says(status), true, change);
            assert_eq!(wire.client().completed, u64::from(failed.is_empty()), "{number}");
            failed
        };
        assert_eq!(expect(404, None, true), [Reason::Http4xx], "{number}");
        assert_eq!(expect(502, None, true), [Reason::Http5xx], "{number}");
        assert_eq!(expect(404, Some(200), true), [Reason::HttpStatus], "{number}");
        assert_eq!(expect(200, Some(404), true), [Reason::HttpStatus], "{number}");
        // Errors that are no failure are compared with nothing, unless they are what was asked for.
        assert_eq!(expect(404, None, false), [], "{number}");
        assert_eq!(expect(404, Some(404), false), [Reason::WrongContent], "{number}");
        assert_eq!(expect(200, None, true), [Reason::WrongContent], "{number}");
        assert_eq!(expect(302, None, true), [Reason::WrongContent], "{number}");
    }
}

#[test]
fn a_server_refuses_bad_requests() {
    for (says, status) in [
        ("garbage\r\n\r\n", "400"),
        ("GET / HTTP/1.1\r\n\r\n", "400"),
        ("GET / HTTP/2.0\r\nHost: x\r\n\r\n", "505"),
        ("BREW / HTTP/1.1\r\nHost: x\r\n\r\n", "501"),
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "400"),
        ("GET /x y HTTP/1.1\r\nHost: x\r\n\r\n", "400"),
        ("GET  HTTP/1.1\r\nHost: x\r\n\r\n", "400"),
        ("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno length\r\n", "400"),
    ] {
        let client = Program { ops: vec![Op::Send(Content::bytes(says)), Op::Expect(Expect::End)] };
        let of_http = http(vec![(sized(1), 1)], 1);
        let mut wire = Wire::mixed(
            plan(AppPlan::Echo { client: Arc::new(client) }),
            plan(AppPlan::Http(Arc::new(of_http))),
            &[3],
        );
        wire.open(0);
        wire.run(MINUTE);
        let answer = String::from_utf8_lossy(wire.sent(1)).into_owned();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{says:?}: {answer}");
        assert_eq!(wire.server().active(), 0);
        assert_eq!(wire.client().completed, 1);
        // Malformed ones count as requests, as their responses do.
        assert_eq!((wire.server().requests, wire.server().transactions), (1, 1), "{says:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn any_chunking_is_the_same(cuts in proptest::collection::vec(1usize..200, 1..12), pipeline in 1u8..6, session in 0u64..9) {
        let requests = vec![(sized(1), 1), (sized(3_000), 2), (sized(0), 1)];
        let mut wire = wire(HttpPlan { pipeline, ..http(requests, 8) }, &cuts);
        wire.open(session);
        wire.run(MINUTE);
        wire.assert_complete(1);
        prop_assert_eq!(wire.client().transactions, 8);
    }

    #[test]
    fn garbage_never_panics(bytes in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(b':'), Just(b' ')], 0..300),
                            after in 0usize..4) {
        let _ = (request_head(&bytes), response_head(&bytes));
        let starts = ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\n"];
        let mut all = starts[after].as_bytes().to_vec();
        all.extend(&bytes);
        // Whole or byte by byte, the same comes out.
        let whole = response_head(&all);
        let cut = (0..=all.len()).map(|n| response_head(&all[..n])).find(|result| !matches!(result, Ok(None)));
        match (whole, cut) {
            (Ok(None), None) => {}
            (whole, Some(cut)) => prop_assert!(whole == cut || cut.is_err() || whole.is_err()),
            (whole, None) => prop_assert!(false, "{whole:?}"),
        }
        let says = String::from_utf8_lossy(&all).into_owned();
        let (wire, _) = against(&says, true, |_, entry| entry.verify = false);
        prop_assert_eq!(wire.client().active(), 0);
    }
}
