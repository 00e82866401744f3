//! Both ends against each other, clients against ends that are not ours, and servers against requests that are no queries.

use super::*;
use crate::counts::Reason;
use crate::dns::tests::{address, dns, query, rule};
use crate::http::Method;
use crate::plan::*;
use crate::testing::{EndEvent, SERVER, Wire, counts_after, plan};
use proptest::prelude::*;
use tcp::End;
use units::Nanos;

const MINUTE: Nanos = Nanos::from_secs(60);

fn over_https(base: DnsPlan, method: Method) -> DnsPlan {
    let https = DnsHttps {
        version: HttpVersion::Two,
        method,
        path: "/dns-query".to_owned(),
        host: Content::bytes("h.test"),
    };
    DnsPlan { https: Some(https), streams: 6, ..base }
}

/// Names with an address, a long response, a slow one, and none.
fn some(per_session: u32, method: Method) -> DnsPlan {
    let long = DnsAnswer::Data { kind: 16, data: vec![b'x'; 40_000].into() };
    let slow = Delay::Constant(Nanos::from_millis(20));
    let rules = vec![
        DnsRule { delay: slow, ..rule("slow.test", vec![address("192.0.2.1", 4)]) },
        rule("test", vec![address("192.0.2.1", 4), long]),
    ];
    let names = [query("a.test", 1), query("long.test", 16), query("slow.test", 1), query("b.invalid", 1)];
    over_https(dns(names.to_vec(), per_session, rules), method)
}

fn entry(of_dns: DnsPlan) -> SessionPlan {
    plan(AppPlan::Dns(of_dns.into()))
}

#[test]
fn queries_get_their_responses() {
    for method in [Method::Post, Method::Get] {
        for (streams, padding, cuts) in
            [(1, false, &[1460][..]), (6, true, &[1460, 9]), (40, true, &[60_000])]
        {
            let mut names = some(40, method);
            (names.streams, names.padding) = (streams, padding);
            names.queries.iter_mut().for_each(|(query, _)| query.edns_bytes = Some(1_232));
            let mut wire = Wire::new(entry(names), cuts);
            for session in 0..2 {
                wire.open(session);
                wire.run(MINUTE);
            }
            wire.assert_complete(2);
            let (client, server) = (wire.client(), wire.server());
            for counts in [client, server] {
                assert_eq!((counts.requests, counts.transactions, counts.http[1]), (80, 80, 80));
                assert_eq!((counts.dns[0], counts.dns[3]), (60, 20));
                assert_eq!((counts.http2.connections, counts.http2.streams), (2, 80));
            }
            assert_eq!((client.ttfb.samples(), client.ttlb.samples(), client.dns_truncated), (80, 80, 0));
            assert!(client.bytes_received > 20 * 40_000, "whole, whatever size the query says it takes");
        }
    }
}

/// Queries that differ in nothing but their names are sent as RFC 8484 sections 4.1.1 and 4.1.2 have them.
#[test]
fn a_query_and_its_response_look_like_this() {
    let message = [&[0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], b"\x01a\x02bc\0\0\x01\0\x01"].concat();
    let mut text = Vec::new();
    encode(&message, &mut text);
    assert_eq!(text, b"AAABAAABAAAAAAAAAWECYmMAAAEAAQ");
    let rules = vec![rule("", vec![address("192.0.2.7", 1)])];
    for method in [Method::Post, Method::Get] {
        let of_dns = over_https(dns(vec![query("a.bc", 1)], 1, rules.clone()), method);
        let mut wire = Wire::new(entry(of_dns), &[1460]);
        wire.open(0);
        wire.run(MINUTE);
        wire.assert_complete(1);
        let has = |what: &[u8]| wire.sent(0).windows(what.len()).any(|window| window == what);
        assert_eq!(has(&message), method == Method::Post);
        let answer = b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x07";
        assert!(wire.sent(1).ends_with(answer) || wire.sent(1).windows(16).any(|window| window == answer));
    }
}

/// The queries that a server which leaves has not processed are sent elsewhere, and are no failures.
#[test]
fn the_end_of_a_run_ends_sessions() {
    let mut names = some(1, Method::Post);
    names.per_session = None;
    for side in [0, 1] {
        let mut wire = Wire::new(entry(names.clone()), &[1460]);
        wire.open(0);
        wire.run(Nanos::from_millis(90));
        wire.stop(side);
        wire.run(MINUTE);
        wire.assert_complete(1);
        assert!(wire.client().transactions > 10, "{}", wire.client().transactions);
        assert_eq!(wire.client().transactions, wire.server().transactions);
    }
}

#[test]
fn silence_and_codes_fail_if_they_shall() {
    let mut silent = some(4, Method::Get);
    silent.rules = vec![DnsRule { silent: true, ..rule("", vec![]) }].into();
    let strict = DnsPlan { errors_fail: true, ..some(8, Method::Post) };
    for (of_dns, reason) in [(silent, Reason::ResponseTimeout), (strict, Reason::DnsCode)] {
        let mut wire = Wire::new(entry(of_dns), &[1460]);
        wire.open(0);
        wire.run(MINUTE);
        assert_eq!(wire.client().failed(reason), 1, "{:?}", wire.client().failures);
    }
}

/// A frame.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    [&[0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream], payload].concat()
}

/// A field that is written out.
fn field(name: &str, value: &str) -> Vec<u8> {
    [&[0, name.len() as u8], name.as_bytes(), &[value.len() as u8], value.as_bytes()].concat()
}

#[test]
fn what_servers_do_wrong_has_a_reason() {
    let head = |status: u8, kind: &str| frame(1, 4, 1, &[vec![status], field(TYPE_FIELD, kind)].concat());
    let answer = [&[0, 0, 0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], b"\x01a\x02bc\0\0\x01\0\x01"].concat();
    let with = |head: Vec<u8>, body: &[u8]| [head, frame(0, 1, 1, body)].concat();
    let other = |at: usize, byte: u8| {
        let mut other = answer.clone();
        other[at] = byte;
        with(head(0x88, MESSAGE), &other)
    };
    let cases: Vec<(Vec<u8>, Option<Reason>, &str)> = vec![
        (with(head(0x88, MESSAGE), &answer), None, ""),
        (with(head(0x88, "Application/DNS-Message; a=b"), &answer), None, ""),
        (with(head(0x88, "text/html"), &answer), Some(Reason::DohContentType), "content type text/html"),
        (with(frame(1, 4, 1, &[0x88]), &answer), Some(Reason::DohContentType), "without a content type"),
        (with(head(0x8d, MESSAGE), &answer), Some(Reason::Http4xx), "status 404"),
        (with(head(0x8e, "text/plain"), b"no"), Some(Reason::Http5xx), "status 500"),
        (frame(1, 5, 1, &field(":status", "302")), Some(Reason::HttpStatus), "status 302"),
        (with(head(0x88, MESSAGE), &answer[..20]), Some(Reason::BadResponse), "truncated"),
        (with(head(0x88, MESSAGE), b""), Some(Reason::BadResponse), "truncated"),
        (other(1, 9), Some(Reason::BadResponse), "identifier other than 0"),
        (other(2, 1), Some(Reason::BadResponse), "a query instead of a response"),
        (other(13, b'z'), Some(Reason::BadResponse), "another question"),
        (other(3, 2), Some(Reason::DnsCode), ""),
        (frame(3, 0, 1, &[0, 0, 0, 2]), Some(Reason::StreamReset), "RST_STREAM: INTERNAL_ERROR"),
        (frame(7, 0, 0, &[0; 8]), Some(Reason::GoAway), "no request was processed"),
        (head(0x88, MESSAGE), Some(Reason::ResponseTimeout), ""),
    ];
    for (index, (bytes, reason, why)) in cases.into_iter().enumerate() {
        let of_dns = DnsPlan { errors_fail: true, ..dns(vec![query("a.bc", 1)], 1, vec![]) };
        let mut wire = Wire::new(entry(over_https(of_dns, Method::Post)), &[1460]);
        // Only what was failed softly and closed is over once the server closes, too.
        wire.fake = Some(([frame(4, 0, 0, &[]), bytes].concat(), reason != Some(Reason::ResponseTimeout)));
        wire.open(0);
        wire.run(MINUTE);
        let client = wire.client();
        let expected = reason.map_or((0, 1), |_| (1, 0));
        let all = format!("case {index}: {:?} {:?}", client.failures, client.details);
        assert_eq!((client.failed_in_all(), client.completed), expected, "{all}");
        assert!(reason.is_none_or(|reason| client.failed(reason) == 1), "{all}");
        assert!(why.is_empty() || client.details.keys().any(|text| text.contains(why)), "{all}");
    }
}

/// A server of HTTP/1.1 or of another path is named.
#[test]
fn servers_that_are_none_are_told_apart() {
    let elsewhere = |path: &str| {
        let mut of_dns = some(3, Method::Post);
        of_dns.https = of_dns.https.map(|https| DnsHttps { path: path.to_owned(), ..https });
        of_dns
    };
    let mut wire = Wire::mixed(entry(elsewhere("/other")), entry(elsewhere("/dns-query")), &[1460]);
    wire.open(0);
    wire.run(MINUTE);
    assert_eq!(wire.client().failed(Reason::Http4xx), 1, "{:?}", wire.client().failures);
    let server = wire.server();
    let why = "a request that is no query: status 404";
    // At first one request is allowed at a time, and the others may have been sent by then.
    assert!(server.details[why] >= 1 && server.failed_in_all() == 0, "{:?}", server.details);
    assert_eq!((server.dns, server.http[1]), ([0; 16], 0));
}

#[test]
fn requests_are_queries_or_have_a_status() {
    let asked = |method: &str, path: &str, kind: Option<&str>| {
        server::asked(method.as_bytes(), path.as_bytes(), kind.map(str::as_bytes), b"/dns-query")
    };
    assert_eq!(asked("GET", "/dns-query?dns=AAEC", None), Ok(vec![0, 1, 2]));
    assert_eq!(asked("GET", "/dns-query?ct&dns=AAE", None), Ok(vec![0, 1]));
    assert_eq!(asked("POST", "/dns-query", Some("application/dns-message")), Ok(vec![]));
    for (method, path, kind, status) in [
        ("GET", "/dns-query", None, "400"),
        ("GET", "/dns-query?dns=A", None, "400"),
        ("GET", "/dns-query?dns=AAE=", None, "400"),
        ("GET", "/dns-query?dns=AA+/", None, "400"),
        ("GET", "/?dns=AAEC", None, "404"),
        ("POST", "/dns-query/", Some(MESSAGE), "404"),
        ("POST", "/dns-query", Some("application/json"), "415"),
        ("POST", "/dns-query", None, "415"),
        ("PUT", "/dns-query", Some(MESSAGE), "405"),
        ("HEAD", "/dns-query?dns=AAEC", None, "405"),
    ] {
        assert_eq!(asked(method, path, kind), Err(status), "{method} {path}");
    }
}

proptest! {
    #[test]
    fn texts_of_base64url_are_read_as_they_were_written(bytes in proptest::collection::vec(any::<u8>(), 0..70)) {
        let mut text = b"?".to_vec();
        encode(&bytes, &mut text);
        prop_assert!(text[1..].iter().all(|digit| DIGITS.contains(digit)));
        prop_assert_eq!(decode(&text[1..]), Some(bytes));
    }

    /// A text that is read is the one that is written for its bytes, so that a query has one name in caches.
    #[test]
    fn no_bytes_have_two_texts(text in "[A-Za-z0-9_=-]{0,12}") {
        if let Some(bytes) = decode(text.as_bytes()) {
            let mut again = Vec::new();
            encode(&bytes, &mut again);
            prop_assert_eq!(again, text.as_bytes());
        }
    }
}

mod by_http1 {
    use super::*;

    fn by(version: HttpVersion, mut of_dns: DnsPlan) -> DnsPlan {
        of_dns.https = of_dns.https.map(|https| DnsHttps { version, ..https });
        of_dns
    }

    #[test]
    fn queries_get_their_responses_one_after_the_other() {
        for version in [HttpVersion::One, HttpVersion::Auto] {
            for (method, cuts) in
                [(Method::Post, &[1460][..]), (Method::Get, &[1460, 9]), (Method::Post, &[60_000])]
            {
                let mut wire = Wire::new(entry(by(version, some(40, method))), cuts);
                for session in 0..2 {
                    wire.open(session);
                    wire.run(MINUTE);
                }
                wire.assert_complete(2);
                let (client, server) = (wire.client(), wire.server());
                for counts in [client, server] {
                    assert_eq!((counts.requests, counts.transactions, counts.http[1]), (80, 80, 80));
                    assert_eq!((counts.dns[0], counts.dns[3], counts.http2.connections), (60, 20, 0));
                }
                assert_eq!((client.ttfb.samples(), client.ttlb.samples()), (80, 80));
            }
        }
    }

    /// A client that has not shown its version yet is waited for no longer than any other.
    #[test]
    fn clients_of_unknown_version_end() {
        let mut plan = entry(by(HttpVersion::Auto, some(1, Method::Post)));
        plan.patience.idle = Some(Nanos::from_secs(5));
        let after = |events: &[(u64, EndEvent)]| {
            let events: Vec<_> =
                events.iter().map(|(at, event)| (Nanos::from_secs(*at), event.clone())).collect();
            counts_after(&plan, SERVER, &events)
        };
        let begin = EndEvent::Received(b"PRI".to_vec());
        let (opened, woke, closed) = (EndEvent::Opened, EndEvent::Woke, EndEvent::Closed(End::Closed));
        let aborted = EndEvent::Closed(End::Aborted);
        let silent = after(&[(1, opened.clone()), (7, woke.clone()), (7, aborted.clone())]);
        assert_eq!(silent.failed(Reason::IdleTimeout), 1, "{:?}", silent.failures);
        let stuck =
            after(&[(1, opened.clone()), (2, begin.clone()), (8, woke.clone()), (14, woke), (14, aborted)]);
        assert_eq!(stuck.failed(Reason::IdleTimeout), 1, "{:?}", stuck.failures);
        let cut = after(&[(1, opened.clone()), (2, begin), (3, EndEvent::Finished), (3, closed.clone())]);
        assert_eq!((cut.failed(Reason::ClosedEarly), cut.completed), (1, 0), "{:?}", cut.failures);
        let stopped = after(&[(1, opened), (2, EndEvent::Stop), (3, closed)]);
        assert_eq!((stopped.failed_in_all(), stopped.active()), (0, 0), "{:?}", stopped.failures);
    }

    /// A malformed request is counted, as its response is.
    #[test]
    fn no_more_responses_than_requests() {
        let plan = entry(by(HttpVersion::One, some(1, Method::Post)));
        for said in [
            "garbage\r\n\r\n",
            "POST /dns-query HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\nx\r\n",
        ] {
            let events = [
                EndEvent::Opened,
                EndEvent::Received(said.into()),
                EndEvent::Acknowledged(255),
                EndEvent::Closed(End::Closed),
            ];
            let counts = counts_after(&plan, SERVER, &events.map(|event| (Nanos::from_secs(1), event)));
            assert_eq!(counts.failed(Reason::BadRequest), 1, "{said:?}");
            assert_eq!((counts.requests, counts.transactions, counts.http[3]), (1, 1, 1), "{said:?}");
        }
    }

    #[test]
    fn a_query_and_its_response_look_like_this() {
        let rules = vec![rule("", vec![address("192.0.2.7", 1)])];
        let of_dns = over_https(dns(vec![query("a.bc", 1)], 1, rules), Method::Get);
        let mut wire = Wire::new(entry(by(HttpVersion::One, of_dns)), &[1460]);
        wire.open(0);
        wire.run(MINUTE);
        wire.assert_complete(1);
        let asked = "GET /dns-query?dns=AAABAAABAAAAAAAAAWECYmMAAAEAAQ HTTP/1.1\r\nHost: h.test\r\naccept: application/dns-message\r\n\r\n";
        assert_eq!(wire.sent(0), asked.as_bytes());
        let head = "HTTP/1.1 200 OK\r\nserver: eagre\r\ncontent-type: application/dns-message\r\ncache-control: max-age=60\r\ncontent-length: 38\r\n\r\n";
        assert_eq!(wire.sent(1)[..head.len()], *head.as_bytes());
        assert_eq!(wire.sent(1).len(), head.len() + 38);
    }

    #[test]
    fn the_end_of_a_run_ends_sessions() {
        let mut names = by(HttpVersion::One, some(1, Method::Post));
        names.per_session = None;
        for side in [0, 1] {
            let mut wire = Wire::new(entry(names.clone()), &[1460]);
            wire.open(0);
            wire.run(Nanos::from_millis(90));
            wire.stop(side);
            wire.run(MINUTE);
            wire.assert_complete(1);
            assert!(
                wire.client().transactions > 5 && wire.client().transactions == wire.server().transactions
            );
        }
    }

    /// A message in a response of HTTP/1.1 with these fields.
    fn response(status: &str, fields: &str, body: &[u8]) -> Vec<u8> {
        [format!("HTTP/1.1 {status}\r\n{fields}\r\n").as_bytes(), body].concat()
    }

    #[test]
    fn what_servers_do_wrong_has_a_reason() {
        let answer = [&[0, 0, 0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], b"\x01a\x02bc\0\0\x01\0\x01"].concat();
        let kind = "content-type: application/dns-message\r\n";
        let sized = format!("{kind}content-length: {}\r\n", answer.len());
        let chunks =
            [format!("{:x}\r\n", answer.len()).as_bytes(), &answer, b"\r\n0\r\nx: y\r\n\r\n"].concat();
        let chunked = format!("{kind}transfer-encoding: chunked\r\n");
        let hint = response("103 Early Hints", "link: x\r\n", b"");
        let good = response("200 OK", &sized, &answer);
        let long = response("200 OK", &format!("{kind}content-length: 70000\r\n"), &[0; 70_000]);
        let cases: Vec<(Vec<u8>, bool, Option<Reason>)> = vec![
            (good.clone(), true, None),
            ([hint, good.clone()].concat(), true, None),
            (response("200 OK", &chunked, &chunks), true, None),
            (response("200 OK", kind, &answer), true, None),
            (response("200 OK", &sized.replace("dns-message", "dns-message; x=y"), &answer), true, None),
            (response("404 Not Found", "content-length: 0\r\n", b""), true, Some(Reason::Http4xx)),
            (response("503 Busy", "content-length: 0\r\n", b""), true, Some(Reason::Http5xx)),
            (response("302 Found", "content-length: 0\r\n", b""), true, Some(Reason::HttpStatus)),
            (
                response("200 OK", &sized.replace("dns-message", "json"), &answer),
                true,
                Some(Reason::DohContentType),
            ),
            (response("200 OK", &sized, &[&[0, 1], &answer[2..]].concat()), true, Some(Reason::BadResponse)),
            (
                response("200 OK", &format!("{kind}content-length: 3\r\n"), &answer[..3]),
                true,
                Some(Reason::BadResponse),
            ),
            (long, true, Some(Reason::BadResponse)),
            (good[..good.len() - 1].to_vec(), true, Some(Reason::ClosedEarly)),
            (b"SSH-2.0-x\r\n".to_vec(), true, Some(Reason::BadResponse)),
            (Vec::new(), true, Some(Reason::ClosedEarly)),
        ];
        for (said, closes, reason) in cases {
            for cut in [1460, 7] {
                let rules = vec![rule("", vec![])];
                let of_dns = over_https(dns(vec![query("a.bc", 1)], 1, rules.clone()), Method::Post);
                let mut wire = Wire::new(entry(by(HttpVersion::One, of_dns)), &[cut]);
                wire.fake = Some((said.clone(), closes));
                wire.open(0);
                wire.run(Nanos(3 * MINUTE.0));
                let counts = wire.client();
                let text = String::from_utf8_lossy(&said[..said.len().min(200)]).into_owned();
                match reason {
                    None => assert_eq!(counts.completed, 1, "{text} {:?}", counts.failures),
                    Some(reason) => assert_eq!(counts.failed(reason), 1, "{text} {:?}", counts.details),
                }
            }
        }
    }

    #[test]
    fn a_server_that_closes_after_a_response_leaves_the_rest() {
        let answer = [&[0, 0, 0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], b"\x01a\x02bc\0\0\x01\0\x01"].concat();
        let fields = format!(
            "content-type: application/dns-message\r\nconnection: close\r\ncontent-length: {}\r\n",
            answer.len()
        );
        let of_dns = over_https(dns(vec![query("a.bc", 1)], 5, vec![rule("", vec![])]), Method::Get);
        let mut wire = Wire::new(entry(by(HttpVersion::One, of_dns)), &[1460]);
        wire.fake = Some((response("200 OK", &fields, &answer), true));
        wire.open(0);
        wire.run(MINUTE);
        let counts = wire.client();
        assert_eq!(
            (counts.completed, counts.transactions, counts.unasked),
            (1, 1, 4),
            "{:?}",
            counts.failures
        );
    }
}

mod by_http3 {
    use super::*;
    use crate::quic::plain::{Against, early, failures, joined, joined_by};
    use crate::quic::{Quic, QuicRead};
    use ::http3::qpack::{self, Field};
    use ::http3::{goaway, headers, opening};

    fn app(mut of_dns: DnsPlan) -> AppPlan {
        of_dns.https = of_dns.https.map(|https| DnsHttps { version: HttpVersion::Three, ..https });
        AppPlan::Dns(of_dns.into())
    }

    #[test]
    fn queries_get_their_responses() {
        for (method, streams) in [(Method::Post, 1), (Method::Get, 7), (Method::Post, 100)] {
            let plan = DnsPlan { streams, ..some(40, method) };
            let ends = joined(&app(plan), 2_000, None);
            let [client, server] = [ends[0].counts(), ends[1].counts()];
            let both = format!("{streams}: {:?} {:?}", client.details, server.details);
            assert_eq!((failures(client), failures(server)), (vec![], vec![]), "{both}");
            assert_eq!((client.completed, server.completed), (1, 1), "{both}");
            for counts in [client, server] {
                assert_eq!((counts.requests, counts.transactions, counts.http[1]), (40, 40, 40), "{both}");
                assert_eq!((counts.dns[0], counts.dns[3], counts.http3.streams), (30, 10, 40));
            }
            assert_eq!((client.ttfb.samples(), client.ttlb.samples()), (40, 40));
            assert!(client.bytes_received > 10 * 40_000, "whole, whatever size the query says it takes");
            assert!(ends.iter().all(|half| half.end.is_some()), "both flows are gone");
        }
    }

    /// Queries by GET go with the handshake, as many as may be at a time; those by POST wait for it.
    #[test]
    fn early_data_is_taken_or_sent_again() {
        for (method, is_accepted) in [(Method::Get, true), (Method::Get, false), (Method::Post, true)] {
            let plan = DnsPlan { streams: 7, ..some(40, method) };
            let ends = joined_by(&app(plan), early(is_accepted), 2_000, None);
            let [client, server] = [ends[0].counts(), ends[1].counts()];
            let both = format!("{method:?} {is_accepted}: {:?} {:?}", client.details, server.details);
            assert_eq!((failures(client), failures(server)), (vec![], vec![]), "{both}");
            assert_eq!((client.completed, client.transactions, server.transactions), (1, 40, 40), "{both}");
            let is_sent = method == Method::Get;
            let (taken, lost) = (u64::from(is_sent && is_accepted), u64::from(is_sent && !is_accepted));
            let quic = &client.quic;
            assert_eq!((quic.early_data_accepted, quic.early_data_rejected), (taken, lost), "{both}");
            let early = (quic.early_requests, server.quic.early_requests);
            assert_eq!(early, (7 * (taken + lost), 7 * taken), "{both}");
            // Those that were lost count as not sent.
            assert_eq!((client.requests, client.http3.unprocessed), (40 + 7 * lost, 7 * lost), "{both}");
            assert!(ends.iter().all(|half| half.end.is_some()), "{both}: both flows are gone");
        }
    }

    #[test]
    fn a_server_may_want_a_query_after_the_handshake() {
        let plan = over_https(dns(vec![query("a.bc", 1)], 2, vec![rule("", vec![])]), Method::Get);
        let mut against = Against::by(app(DnsPlan { streams: 1, ..plan }), early(true), Side::Client);
        let control = against.peer.open(false).unwrap();
        against.peer.send(control, &opening(false));
        against.peer.send(0, &head(&[(":status", "425")]));
        against.peer.finish(0);
        against.run(10);
        let counts = against.half.counts();
        assert_eq!((counts.quic.too_early, counts.http[3], failures(counts)), (1, 1, vec![]));
        assert_eq!((counts.requests, counts.http3.unprocessed), (2, 1), "it was sent again");
        // Once more would be no answer to early data.
        against.peer.send(4, &head(&[(":status", "425")]));
        against.peer.finish(4);
        against.run(10);
        assert_eq!(failures(against.half.counts()), [(Reason::Http4xx, 1)]);
    }

    #[test]
    fn the_end_of_a_run_ends_sessions_and_silence_is_waited_for() {
        let endless = DnsPlan { per_session: None, streams: 2, ..some(1, Method::Post) };
        let ends = joined(&app(endless), 2_000, Some(300));
        let [client, server] = [ends[0].counts(), ends[1].counts()];
        assert_eq!((failures(client), failures(server)), (vec![], vec![]), "{:?}", client.details);
        assert_eq!((client.completed, client.stopped, server.completed), (1, 1, 1));
        assert!(client.transactions > 10 && client.transactions == server.transactions);
        let mut silent = some(4, Method::Get);
        silent.rules = vec![DnsRule { silent: true, ..rule("", vec![]) }].into();
        let ends = joined(&app(silent), 12_000, None);
        assert_eq!(failures(ends[0].counts()), [(Reason::ResponseTimeout, 1)]);
    }

    fn head(fields: &[(&str, &str)]) -> Vec<u8> {
        let (mut block, mut out) = (Vec::new(), Vec::new());
        qpack::begin(&mut block);
        fields.iter().for_each(|(name, value)| Field::always(name, value.as_bytes()).put(&mut block));
        headers(&block, &mut out);
        out
    }

    fn with_body(mut head: Vec<u8>, body: &[u8]) -> Vec<u8> {
        ::http3::data(body.len() as u64, &mut head);
        head.extend(body);
        head
    }

    /// One end of ours before a peer that sends this on the first stream, and what it got on it.
    fn against(side: Side, said: &[u8], ends: bool, then: impl FnOnce(&mut Against)) -> (Against, Vec<u8>) {
        let plan = over_https(
            dns(vec![query("a.bc", 1)], 1, vec![rule("", vec![address("192.0.2.7", 1)])]),
            Method::Post,
        );
        let mut against = Against::new(app(plan), side);
        let control = against.peer.open(false).unwrap();
        against.peer.send(control, &opening(false));
        if side == Side::Server {
            against.peer.open(true);
        }
        for piece in said.chunks(900) {
            against.peer.send(0, piece);
        }
        if ends {
            against.peer.finish(0);
        }
        against.run(5);
        then(&mut against);
        against.run(1_500);
        let mut got = Vec::new();
        let _: QuicRead = against.peer.read(0, &mut |some| got.extend_from_slice(some));
        (against, got)
    }

    #[test]
    fn what_servers_do_wrong_has_a_reason() {
        let answer = [&[0, 0, 0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], b"\x01a\x02bc\0\0\x01\0\x01"].concat();
        let ok = |kind: &str| head(&[(":status", "200"), (TYPE_FIELD, kind)]);
        let cases: Vec<(Vec<u8>, bool, Option<Reason>)> = vec![
            (with_body(ok(MESSAGE), &answer), true, None),
            (with_body(ok("text/html"), &answer), true, Some(Reason::DohContentType)),
            (head(&[(":status", "404")]), true, Some(Reason::Http4xx)),
            (with_body(ok(MESSAGE), &answer[..9]), true, Some(Reason::BadResponse)),
            (with_body(ok(MESSAGE), &[0; 70_000]), true, Some(Reason::BadResponse)),
            (ok(MESSAGE)[..5].to_vec(), true, Some(Reason::Http3Protocol)),
            (with_body(Vec::new(), &answer), false, Some(Reason::Http3Protocol)),
            (head(&[(":status", "x")]), false, Some(Reason::BadResponse)),
        ];
        for (said, ends, reason) in cases {
            let (against, _) = against(Side::Client, &said, ends, |_| {});
            let counts = against.half.counts();
            match reason {
                None => assert_eq!(counts.completed, 1, "{:?}", counts.details),
                Some(reason) => assert_eq!(failures(counts), [(reason, 1)], "{:?}", counts.details),
            }
        }
        let (reset, _) = against(Side::Client, &[], false, |against| against.peer.reset(0, 0x102));
        assert_eq!(failures(reset.half.counts()), [(Reason::StreamReset, 1)]);
        let (left, _) = against(Side::Client, &[], false, |against| against.peer.close(Nanos::ZERO, 0x100));
        assert_eq!(failures(left.half.counts()), [(Reason::ClosedEarly, 1)]);
        let (away, _) = against(Side::Client, &[], false, |against| {
            let mut frame = Vec::new();
            goaway(0, &mut frame);
            against.peer.send(3, &frame);
        });
        assert_eq!(failures(away.half.counts()), [(Reason::GoAway, 1)]);
        assert_eq!(away.half.counts().http3.unprocessed, 1);
    }

    /// A GOAWAY is heeded although the connection's end came with it: what it does not cover was not processed, and has not failed.
    #[test]
    fn a_goaway_may_come_with_the_end() {
        let answer = [&[0, 0, 0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], b"\x01a\x02bc\0\0\x01\0\x01"].concat();
        for (processed, expected) in [(1, vec![]), (0, vec![(Reason::GoAway, 1)])] {
            let plan = over_https(dns(vec![query("a.bc", 1)], 5, vec![rule("", vec![])]), Method::Get);
            let mut against = Against::new(app(DnsPlan { streams: 3, ..plan }), Side::Client);
            let control = against.peer.open(false).unwrap();
            let mut said = opening(false);
            goaway(4 * processed, &mut said);
            if processed > 0 {
                against.peer.send(0, &with_body(head(&[(":status", "200"), (TYPE_FIELD, MESSAGE)]), &answer));
                against.peer.finish(0);
            }
            against.peer.send(control, &said);
            against.peer.close(Nanos::ZERO, ::http3::Code::NO_ERROR.0);
            against.peer.join();
            against.run(20);
            let counts = against.half.counts();
            assert_eq!(failures(counts), expected, "{:?}", counts.details);
            assert_eq!((counts.transactions, counts.http3.unprocessed), (processed, 3 - processed));
            assert_eq!(counts.http3.goaways, 1);
        }
    }

    #[test]
    fn requests_that_are_no_queries_get_a_status_and_the_session_goes_on() {
        let asking = |method: &str, path: &str, more: &[(&str, &str)]| {
            let own = [(":method", method), (":scheme", "https"), (":authority", "h"), (":path", path)];
            head(&[&own[..], more].concat())
        };
        let post = asking("POST", "/dns-query", &[(TYPE_FIELD, MESSAGE)]);
        let message = [&[0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], b"\x01a\x02bc\0\0\x01\0\x01"].concat();
        for (said, status) in [
            (with_body(post.clone(), &message), "200"),
            (asking("GET", "/dns-query?dns=AAABAAABAAAAAAAAAWECYmMAAAEAAQ", &[]), "200"),
            (asking("GET", "/other", &[]), "404"),
            (asking("PUT", "/dns-query", &[]), "405"),
            (with_body(post.clone(), &message[..5]), "400"),
            (with_body(post, &[0; 70_000]), "413"),
            // Nothing that follows matters: here frames of settings, which no request may have.
            ([asking("POST", "/other", &[]), vec![4, 0]].concat(), "404"),
        ] {
            let (against, got) =
                against(Side::Server, &said, true, |against| against.peer.close(Nanos::ZERO, 0x100));
            let counts = against.half.counts();
            assert_eq!((failures(counts), counts.completed), (vec![], 1), "{status} {:?}", counts.details);
            let (mut reader, mut seen) =
                (::http3::Reader::new(::http3::Role::Client), ::http3::Head::default());
            assert_eq!(reader.read(&mut &got[..], &mut seen), Ok(Some(::http3::Piece::Head)), "{status}");
            assert_eq!(seen.status.to_string(), status);
        }
    }
}
