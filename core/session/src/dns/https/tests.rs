//! Both ends against each other, clients against ends that are not ours, and servers against requests that are no queries.

use super::*;
use crate::counts::Reason;
use crate::dns::tests::{address, dns, query, rule};
use crate::http::Method;
use crate::plan::*;
use crate::testing::{Wire, plan};
use proptest::prelude::*;
use units::Nanos;

const MINUTE: Nanos = Nanos::from_secs(60);

fn over_https(base: DnsPlan, method: Method) -> DnsPlan {
    let https = DnsHttps { method, path: "/dns-query".to_owned(), host: Content::bytes("h.test") };
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
        let mut head = http2::Head::default();
        head.keep(FIELDS);
        head.begin(false, false);
        let fields = [(":method", method), (":scheme", "https"), (":authority", "h"), (":path", path)];
        fields.iter().for_each(|(name, value)| head.field(name.as_bytes(), value.as_bytes()));
        kind.iter().for_each(|kind| head.field(TYPE_FIELD.as_bytes(), kind.as_bytes()));
        server::asked(&head, b"/dns-query")
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
