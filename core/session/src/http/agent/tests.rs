//! Redirects and cookies, end to end.

use crate::counts::{Counts, Reason, Unfollowed};
use crate::plan::*;
use crate::quic::Quic;
use crate::quic::plain::{Against, failures};
use crate::testing::{Wire, plan};
use std::sync::Arc;
use units::Nanos;

const MINUTE: Nanos = Nanos::from_secs(60);

fn answer(path: &str, status: u16, fields: &[(&str, &str)]) -> HttpRule {
    let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let path = HttpPath::Exact(path.to_owned());
    HttpRule { status, fields, ..HttpRule::ok(path, HttpBody::Length(Size::Fixed(20))) }
}

fn moved(path: &str, status: u16, location: &str) -> HttpRule {
    answer(path, status, &[("Location", location)])
}

fn http(
    version: HttpVersion,
    requests: Vec<HttpRequest>,
    per_connection: u32,
    rules: Vec<HttpRule>,
) -> HttpPlan {
    HttpPlan {
        version,
        requests: requests.into_iter().map(|request| (request, 1)).collect(),
        order: SelectionOrder::Sequential,
        per_connection: Some(per_connection),
        pipeline: 1,
        streams: 1,
        think: Delay::NONE,
        close: HttpClose::Fin,
        errors_fail: false,
        quic: QuicPlan::default(),
        alt_svc: false,
        agent: AgentPlan { redirects: Some(3), cookies: true, log: None },
        server: Arc::new(HttpServer { rules, ..HttpServer::sized(Size::Fixed(5)) }),
    }
}

/// The counts of a client, and all it sent, after a session that went well.
fn run(plan_of: HttpPlan, cuts: &[usize]) -> (Counts, String) {
    let mut wire = Wire::new(plan(AppPlan::Http(Arc::new(plan_of))), cuts);
    wire.open(0);
    wire.run(MINUTE);
    wire.assert_complete(1);
    (wire.client().clone(), String::from_utf8_lossy(wire.sent(0)).into_owned())
}

fn lines<'a>(text: &'a str, begin: &str) -> Vec<&'a str> {
    text.split("\r\n").filter(|line| line.starts_with(begin)).collect()
}

#[test]
fn redirects_lead_to_their_end_in_every_version() {
    let rules = || vec![moved("/a", 302, "b/c?d=1"), moved("/b/c", 301, "../e"), answer("/e", 200, &[])];
    let page = HttpRequest { response_bytes: Some(20), ..HttpRequest::get("/a", "h.example") };
    let plain = HttpRequest { status: Some(200), ..HttpRequest::get("/e", "h.example") };
    for version in [HttpVersion::One, HttpVersion::Two] {
        for (pipeline, streams, cuts) in [(1, 1, &[1460][..]), (4, 5, &[1460]), (3, 2, &[1, 7])] {
            let requests = vec![page.clone(), plain.clone()];
            let plan = HttpPlan { pipeline, streams, ..http(version, requests, 8, rules()) };
            let (counts, said) = run(plan, cuts);
            let context = format!("{version:?} {pipeline} {cuts:?}");
            assert_eq!((counts.requests, counts.transactions), (16, 16), "{context}");
            assert_eq!((counts.http[1], counts.http[2], counts.error_responses), (8, 8, 0), "{context}");
            assert_eq!((counts.redirects.followed, counts.redirects.unfollowed), (8, [0; 7]), "{context}");
            if version == HttpVersion::One && pipeline == 1 {
                let targets: Vec<&str> =
                    lines(&said, "GET ").iter().map(|line| &line[4..line.len() - 9]).collect();
                assert_eq!(targets[..4], ["/a", "/b/c?d=1", "/e", "/e"], "the plan's requests come in turn");
            }
        }
    }
}

#[test]
fn methods_and_bodies_follow_the_status() {
    let body = RequestBody::Length(Size::Fixed(3_000));
    let fields =
        vec![("Content-Type".to_owned(), Content::bytes("x/y")), ("X".to_owned(), Content::bytes("z"))];
    for (method, status, expected) in [
        (Method::Post, 303, "GET"),
        (Method::Post, 301, "GET"),
        (Method::Post, 302, "GET"),
        (Method::Post, 307, "POST"),
        (Method::Post, 308, "POST"),
        (Method::Put, 302, "PUT"),
        (Method::Put, 303, "GET"),
        (Method::Head, 303, "HEAD"),
    ] {
        for version in [HttpVersion::One, HttpVersion::Two] {
            let body = if method == Method::Head { RequestBody::None } else { body.clone() };
            let request =
                HttpRequest { method, body, fields: fields.clone(), ..HttpRequest::get("/a", "h.example") };
            let keeps_body = !matches!(expected, "GET" | "HEAD");
            let last = HttpRule {
                methods: vec![Method::read(expected.as_bytes()).unwrap()],
                ..answer("/b", 200, &[])
            };
            let rules = vec![moved("/a", status, "/b"), last];
            let (counts, said) = run(http(version, vec![request], 1, rules), &[1460, 33]);
            assert_eq!((counts.http[1], counts.http[2]), (1, 1), "{method:?} {status} {version:?}");
            if version == HttpVersion::One {
                // Content-Type and Content-Length; HEAD has no body to lose, so that its Content-Type stays.
                let fields = if method == Method::Head || !keeps_body { 2 } else { 4 };
                assert_eq!(lines(&said, "Content-").len(), fields, "{said}");
                assert!(said.contains(&format!("{expected} /b HTTP/1.1\r\nHost: h.example\r\n")), "{said}");
                assert_eq!(lines(&said, "X: z").len(), 2);
            }
        }
    }
}

#[test]
fn loops_and_other_servers_end_with_a_reason() {
    for (status, location, reason) in [
        (302, "/a", Unfollowed::Limit),
        (302, "https://h.example/", Unfollowed::OtherScheme),
        (302, "//other.example/", Unfollowed::OtherHost),
        (302, "http://h.example:81/", Unfollowed::OtherPort),
    ] {
        for version in [HttpVersion::One, HttpVersion::Two] {
            let request = HttpRequest::get("/a", "h.example");
            let make = || http(version, vec![request.clone()], 2, vec![moved("/a", status, location)]);
            let (counts, _) = run(make(), &[1460]);
            let hops = if reason == Unfollowed::Limit { 3 } else { 0 };
            assert_eq!(counts.redirects.unfollowed[reason as usize], 2, "{location} {version:?}");
            assert_eq!((counts.redirects.followed, counts.requests), (2 * hops, 2 + 2 * hops));
            assert_eq!(counts.error_responses, 2, "each counts as a failed request");

            let strict = HttpPlan { errors_fail: true, ..make() };
            let mut wire = Wire::new(plan(AppPlan::Http(Arc::new(strict))), &[1460]);
            wire.open(0);
            wire.run(MINUTE);
            assert_eq!(wire.client().failed(Reason::Redirect), 1);
        }
    }
    let plain = HttpPlan {
        agent: AgentPlan::default(),
        ..http(HttpVersion::One, vec![HttpRequest::get("/a", "h")], 2, vec![moved("/a", 302, "/b")])
    };
    let (counts, _) = run(plain, &[1460]);
    assert_eq!((counts.requests, counts.http[2], counts.error_responses), (2, 2, 0), "without the setting");
}

#[test]
fn a_redirect_is_followed_on_another_connection_where_the_server_closes() {
    let rules = || {
        let cookie = [("Location", "b"), ("Set-Cookie", "id=7; Path=/")];
        let first = HttpRule { close: true, ..answer("/a", 302, &cookie) };
        vec![first, HttpRule { close: true, ..moved("/b", 307, "/c") }, answer("/c", 200, &[])]
    };
    for (version, pipeline) in [(HttpVersion::One, 1), (HttpVersion::One, 3), (HttpVersion::Two, 1)] {
        let plan_of =
            HttpPlan { pipeline, ..http(version, vec![HttpRequest::get("/a", "h.example")], 1, rules()) };
        let mut wire = Wire::new(plan(AppPlan::Http(Arc::new(plan_of))), &[1460, 7]);
        wire.open(0);
        wire.run(MINUTE);
        let counts = wire.client();
        // HTTP/2 has no `Connection: close`: the server ends the connection by GOAWAY.
        let redirects = counts.redirects;
        assert_eq!((redirects.followed, redirects.new_connections, redirects.unfollowed), (2, 2, [0; 7]));
        assert_eq!((counts.attempted, counts.established, counts.completed, counts.active()), (1, 1, 1, 0));
        assert_eq!((counts.requests, counts.transactions, counts.error_responses), (3, 3, 0));
        assert_eq!((wire.server().completed, wire.extras()), (3, 0));
        let said = String::from_utf8_lossy(&wire.sent_in_all(0)).into_owned();
        if version == HttpVersion::One {
            assert_eq!(lines(&said, "Cookie: "), ["Cookie: id=7"; 2], "cookies go along: {said}");
        }
    }
}

#[test]
fn requests_of_the_plan_go_on_after_a_redirect_on_another_connection() {
    let close = HttpRule { close: true, ..moved("/a", 302, "/b") };
    let requests =
        vec![HttpRequest::get("/a", "h"), HttpRequest::get("/c", "h"), HttpRequest::get("/c", "h")];
    let plan_of =
        http(HttpVersion::One, requests, 3, vec![close, answer("/b", 200, &[]), answer("/c", 200, &[])]);
    let mut wire = Wire::new(plan(AppPlan::Http(Arc::new(plan_of))), &[1460]);
    wire.open(0);
    wire.run(MINUTE);
    let counts = wire.client();
    assert_eq!((counts.requests, counts.completed, counts.unasked), (4, 1, 0));
    let targets: Vec<String> = lines(&String::from_utf8_lossy(&wire.sent_in_all(0)), "GET ")
        .iter()
        .map(|line| line[4..6].to_owned())
        .collect();
    assert_eq!(targets, ["/a", "/b", "/c", "/c"]);
}

/// A server that closes without a word once it has sent these responses, one connection after the other.
fn faked(connections: &[(&str, bool)], per_connection: u32) -> Wire {
    let request = HttpRequest::get("/a", "h.example");
    let plan_of = http(HttpVersion::One, vec![request], per_connection, Vec::new());
    let mut wire = Wire::new(plan(AppPlan::Http(Arc::new(plan_of))), &[1460]);
    let mut all = connections.iter().map(|(text, closes)| (text.as_bytes().to_vec(), *closes));
    wire.fake = all.next();
    wire.then = all.collect();
    wire.open(0);
    wire.run(MINUTE);
    wire
}

/// A GOAWAY is heeded although the connection's end came with it: what it does not cover was not processed, and has not failed.
#[test]
fn a_goaway_of_http3_may_come_with_the_end() {
    for (processed, expected) in [(1, vec![]), (0, vec![(Reason::GoAway, 1)])] {
        let request = HttpRequest::get("/a", "h.example");
        let plan_of = HttpPlan { streams: 3, ..http(HttpVersion::Three, vec![request], 5, Vec::new()) };
        let mut against = Against::new(AppPlan::Http(Arc::new(plan_of)), Side::Client);
        let control = against.peer.open(false).unwrap();
        let (mut said, mut block, mut head) = (::http3::opening(false), Vec::new(), Vec::new());
        ::http3::goaway(4 * processed, &mut said);
        ::http3::qpack::begin(&mut block);
        ::http3::qpack::Field::always(":status", b"200").put(&mut block);
        ::http3::headers(&block, &mut head);
        if processed > 0 {
            against.peer.send(0, &head);
            against.peer.finish(0);
        }
        against.peer.send(control, &said);
        against.peer.close(Nanos::ZERO, ::http3::Code::NO_ERROR.0);
        against.peer.join();
        against.run(20);
        let counts = against.half.counts();
        assert_eq!(failures(counts), expected, "{:?}", counts.details);
        assert_eq!((counts.transactions, counts.http3.unprocessed), (processed, 3 - processed));
        assert_eq!((counts.http3.goaways, counts.unasked), (1, 2 * processed), "two were not sent");
    }
}

const FOUND: &str = "HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

#[test]
fn a_request_after_a_redirect_that_crosses_with_the_end_is_sent_once_more() {
    let wire = faked(&[(FOUND, true), (OK, false)], 1);
    let counts = wire.client();
    let redirects = counts.redirects;
    assert_eq!((redirects.followed, redirects.new_connections, redirects.repeated), (1, 1, 1));
    assert_eq!((counts.requests, counts.transactions, counts.failed(Reason::ClosedEarly)), (3, 2, 0));

    // Not for ever: a server that closes again without a response fails the session.
    let wire = faked(&[(FOUND, true), ("", true)], 1);
    let counts = wire.client();
    assert_eq!((counts.redirects.repeated, counts.failed(Reason::ClosedEarly)), (1, 1));
}

#[test]
fn what_cannot_be_reached_any_more_is_counted() {
    let closing = FOUND.replace("Content", "Connection: close\r\nContent");
    let request = HttpRequest::get("/a", "h.example");
    let plan_of = http(HttpVersion::One, vec![request], 1, Vec::new());
    let mut wire = Wire::new(plan(AppPlan::Http(Arc::new(plan_of))), &[1460]);
    wire.fake = Some((closing.into_bytes(), true));
    wire.refuses = true;
    wire.open(0);
    wire.run(MINUTE);
    let counts = wire.client();
    assert_eq!(counts.redirects.unfollowed[Unfollowed::Closed as usize], 1);
    assert_eq!((counts.failed(Reason::Refused), counts.active(), wire.extras()), (1, 0, 0));
    assert_eq!(
        (counts.requests, counts.transactions, counts.error_responses),
        (1, 1, 1),
        "it is a failed request"
    );
}

#[test]
fn an_expected_redirect_is_an_answer() {
    let request = HttpRequest { status: Some(302), ..HttpRequest::get("/a", "h.example") };
    let (counts, _) = run(http(HttpVersion::One, vec![request], 2, vec![moved("/a", 302, "/b")]), &[1460]);
    assert_eq!((counts.requests, counts.redirects.followed, counts.error_responses), (2, 0, 0));
}

#[test]
fn cookies_come_back() {
    let rules = || {
        vec![
            answer(
                "/in",
                302,
                &[("Location", "/home"), ("Set-Cookie", "id=7; Path=/"), ("set-cookie", "b=2; Path=/no")],
            ),
            answer("/out", 200, &[("Set-Cookie", "id=; Max-Age=0; Path=/")]),
            answer("/home", 200, &[]),
        ]
    };
    let requests: Vec<HttpRequest> = ["/in", "/home", "/out", "/home"]
        .iter()
        .map(|path| HttpRequest {
            fields: vec![("Cookie".to_owned(), Content::bytes("own=1"))],
            ..HttpRequest::get(path, "h.example")
        })
        .collect();
    for version in [HttpVersion::One, HttpVersion::Two] {
        let (counts, said) = run(http(version, requests.clone(), 4, rules()), &[1460, 5]);
        let cookies = counts.cookies;
        assert_eq!((cookies.stored, cookies.sent, cookies.deleted, cookies.rejected), (2, 3, 1, 0));
        if version == HttpVersion::One {
            let expected = ["own=1", "own=1; id=7", "own=1; id=7", "own=1; id=7", "own=1"];
            assert_eq!(lines(&said, "Cookie: "), expected.map(|value| format!("Cookie: {value}")));
        }
    }
}

#[test]
fn padding_and_bodies_of_text_stay() {
    let body = RequestBody::Text("x=1".to_owned());
    let request = HttpRequest { method: Method::Post, body, head_bytes: 200, ..HttpRequest::get("/a", "h") };
    let (counts, said) = run(http(HttpVersion::One, vec![request], 1, vec![moved("/a", 307, "/b")]), &[1460]);
    let requests: Vec<&str> = said.split("POST ").skip(1).collect();
    assert_eq!((requests.len(), counts.redirects.followed), (2, 1));
    assert!(requests.iter().all(|one| one.len() + 5 == 203 && one.ends_with("\r\n\r\nx=1")), "{said}");
}
