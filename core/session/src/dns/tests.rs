//! DNS, both ends.

use super::*;
use crate::counts::Reason;
use crate::plan::*;
use crate::testing::{Wire, plan};
use proptest::prelude::*;
use tcp::End;
use units::Nanos;

const MINUTE: Nanos = Nanos::from_secs(60);
const PLAIN: wire::Form = wire::Form { sized: false, padded: false };

pub(super) fn query(name: &str, kind: u16) -> (DnsQuery, u32) {
    (DnsQuery { name: Content::bytes(name), kind, recursion: true, edns_bytes: None }, 1)
}

pub(super) fn rule(suffix: &str, answers: Vec<DnsAnswer>) -> DnsRule {
    let suffix = suffix.to_owned();
    DnsRule { suffix, kinds: Vec::new(), code: 0, answers, ttl: 60, delay: Delay::NONE, silent: false }
}

pub(super) fn address(first: &str, count: u64) -> DnsAnswer {
    DnsAnswer::Address { first: first.parse().unwrap(), count }
}

pub(super) fn dns(queries: Vec<(DnsQuery, u32)>, per_session: u32, rules: Vec<DnsRule>) -> DnsPlan {
    DnsPlan {
        queries,
        order: SelectionOrder::Sequential,
        per_session: Some(per_session),
        streams: 1,
        think: Delay::NONE,
        retries: 2,
        retry_after: Nanos::from_secs(1),
        tcp_fallback: false,
        errors_fail: false,
        padding: false,
        rules: rules.into(),
        udp_room: 1_472,
        https: None,
    }
}

fn wire(of_dns: DnsPlan, carrier: Carrier, cuts: &[usize]) -> Wire {
    let mut entry = plan(AppPlan::Dns(of_dns.into()));
    entry.carrier = carrier;
    Wire::new(entry, cuts)
}

#[test]
fn asks_and_answers_over_both() {
    let queries = vec![query("www.Example.com", 1), query("www.example.com", 28), query("other.net", 1)];
    let rules = vec![rule("example.com", vec![address("192.0.2.1", 4), address("2001:db8::1", 1)])];
    for carrier in [Carrier::Udp, Carrier::Tcp] {
        // Over UDP a server's session is one query.
        let per_session = if carrier == Carrier::Udp { 1 } else { 3 };
        for cut in [1, 5, 1460] {
            let mut wire = wire(dns(queries.clone(), per_session, rules.clone()), carrier, &[cut]);
            for session in 0..3 {
                wire.open(session);
                wire.run(MINUTE);
            }
            wire.assert_complete(3);
            let all = 3 * u64::from(per_session);
            let client = wire.client();
            assert_eq!((client.transactions, client.ttlb.samples()), (all, all));
            assert_eq!((client.dns[0], client.dns[3]), (all * 2 / 3, all / 3));
            assert_eq!(client.dns, wire.server().dns);
        }
    }
}

/// Over TCP, a response counts when all of it has arrived.
#[test]
fn an_answer_counts_when_it_has_arrived() {
    let rules = vec![rule("", vec![address("192.0.2.7", 1)])];
    let mut wire = wire(dns(vec![query("a.bc", 1)], 2, rules), Carrier::Tcp, &[1]);
    wire.open(0);
    wire.run(Nanos::from_micros(40));
    wire.cut_off(1, End::Reset);
    wire.cut_off(0, End::Aborted);
    let server = wire.server();
    assert_eq!((server.requests, server.transactions, server.dns), (1, 0, [0; 16]));
}

/// A server that closes between queries: queries not sent are counted, and the session is complete.
#[test]
fn a_close_between_queries_leaves_the_rest_unasked() {
    let rules = vec![rule("", vec![address("192.0.2.7", 1)])];
    let think = Delay::Constant(Nanos::from_secs(5));
    let of_dns = DnsPlan { think, ..dns(vec![query("a.bc", 1)], 3, rules) };
    let mut wire = wire(of_dns, Carrier::Tcp, &[1460]);
    wire.open(0);
    wire.run(Nanos::from_secs(1));
    wire.stop(1);
    wire.run(MINUTE);
    wire.assert_complete(1);
    assert_eq!((wire.client().transactions, wire.client().unasked), (1, 2));
}

#[test]
fn a_query_and_its_answer_look_like_this() {
    let rules = vec![rule("", vec![address("192.0.2.7", 1)])];
    let mut wire = wire(dns(vec![query("a.bc", 1)], 1, rules), Carrier::Udp, &[1]);
    wire.open(0);
    wire.run(MINUTE);
    let question = b"\x01a\x02bc\0\0\x01\0\x01";
    assert_eq!(wire.sent(0)[2..], [&[1, 0, 0, 1, 0, 0, 0, 0, 0, 0], &question[..]].concat());
    let answer = b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x07";
    assert_eq!(
        wire.sent(1)[2..],
        [&[0x85, 0x80, 0, 1, 0, 1, 0, 0, 0, 0], &question[..], &answer[..]].concat()
    );
}

#[test]
fn long_answers_are_cut_short_and_edns_makes_room() {
    let text = DnsAnswer::Data { kind: 16, data: vec![b'x'; 800].into() };
    let mut wide = query("t", 16);
    wide.0.edns_bytes = Some(1232);
    for (query, truncated) in [(query("t", 16), 1), (wide, 0)] {
        let mut wire = wire(dns(vec![query], 1, vec![rule("t", vec![text.clone()])]), Carrier::Udp, &[1]);
        wire.open(0);
        wire.run(MINUTE);
        wire.assert_complete(1);
        assert_eq!(wire.client().dns_truncated, truncated);
    }
}

#[test]
fn asks_again_and_gives_up() {
    let rules = vec![rule("", vec![address("192.0.2.7", 1)])];
    for (drops, retries, failed) in [(1, 1, 0), (2, 2, 0), (9, 2, 1)] {
        let mut wire = wire(dns(vec![query("a", 1)], 1, rules.clone()), Carrier::Udp, &[1]);
        wire.drop_datagrams = drops;
        let start = wire.now;
        wire.open(0);
        wire.run(MINUTE);
        assert_eq!(
            (wire.client().dns_retries, wire.client().failed(Reason::ResponseTimeout)),
            (retries, failed)
        );
        let waited = if failed > 0 { 3 } else { retries };
        assert_eq!(wire.now.since(start).0 / 1_000_000_000, waited);
    }
    // A server that says nothing.
    let silent = DnsRule { silent: true, ..rule("", vec![]) };
    let mut wire = wire(dns(vec![query("a", 1)], 1, vec![silent]), Carrier::Tcp, &[9]);
    wire.open(0);
    wire.run(MINUTE);
    assert_eq!(wire.client().failed(Reason::ResponseTimeout), 1);
}

#[test]
fn codes_fail_if_they_shall() {
    let refused = DnsRule { code: 5, delay: Delay::Constant(Nanos::from_millis(3)), ..rule("", vec![]) };
    for errors_fail in [false, true] {
        let strict = DnsPlan { errors_fail, ..dns(vec![query("a", 1)], 1, vec![refused.clone()]) };
        let mut wire = wire(strict, Carrier::Udp, &[1]);
        wire.open(0);
        wire.run(MINUTE);
        assert_eq!(wire.client().failed(Reason::DnsCode), u64::from(errors_fail));
        assert_eq!(wire.client().dns[5], 1);
    }
}

proptest! {
    #[test]
    fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..100), flip in 0usize..60, to: u8) {
        let _ = wire::question(&bytes);
        let query = wire::Query::new(7, b"www.example.com", 1, true, Some(1232), PLAIN);
        let _ = wire::answer(&bytes, query.as_slice());
        let question = wire::question(query.as_slice()).unwrap();
        prop_assert_eq!(question.name(), b"www.example.com");
        let mut reply = wire::Reply::new(&question, 0, false);
        reply.address(9, "192.0.2.1".parse().unwrap());
        let mut good = reply.finish(&question, 512);
        let answer = wire::Answer { id: 7, code: 0, truncated: false };
        prop_assert_eq!(wire::answer(&good, query.as_slice()), Ok(answer));
        let at = flip.min(good.len() - 1);
        good[at] = to;
        let _ = wire::answer(&good, query.as_slice());
        good.truncate(at);
        prop_assert!(wire::answer(&good, query.as_slice()).is_err());
    }
}

/// RFC 1035 section 4.1.1: a message other than a plain query gets a code; a response gets no reply.
#[test]
fn other_operations_are_not_implemented() {
    let query = wire::Query::new(7, b"a.bc", 1, true, None, PLAIN);
    let with = |at: usize, byte: u8| {
        let mut bytes = query.as_slice().to_vec();
        bytes[at] = byte;
        bytes
    };
    assert_eq!(wire::question(&with(2, 0x11)), Err(wire::NoQuestion::Code(4)));
    assert_eq!(wire::question(&with(5, 2)), Err(wire::NoQuestion::Code(1)));
    assert_eq!(wire::question(&with(2, 0x81)), Err(wire::NoQuestion::Nothing));
    assert_eq!(wire::no_answer(&with(2, 0x11), 4, false), [0, 7, 0x91, 4, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(wire::no_answer(&with(2, 0x11), 4, true)[..4], [0, 12, 0, 7]);
}

/// RFC 6891 section 6.1.3: of a version that is not known the code is 16, of which EDNS has the upper bits.
#[test]
fn other_versions_are_bad() {
    let mut query = wire::Query::new(7, b"a.bc", 1, true, Some(1_232), PLAIN);
    assert_eq!(wire::question(query.as_slice()).unwrap().version, 0);
    query.bytes[query.len - 5] = 1;
    let question = wire::question(query.as_slice()).unwrap();
    assert_eq!((question.version, question.room), (1, 1_232));
    let reply = wire::Reply::new(&question, wire::BAD_VERSION, false).finish(&question, 1_232);
    assert_eq!((reply[3] & 15, &reply[reply.len() - 6..]), (0, &[1, 0, 0, 0, 0, 0][..]));
}

/// A response within the client's limit that fits no datagram is truncated.
#[test]
fn answers_that_fit_no_datagram_are_cut_short() {
    let text = DnsAnswer::Data { kind: 16, data: vec![b'x'; 1_600].into() };
    let mut wide = query("t", 16);
    wide.0.edns_bytes = Some(4_096);
    for (udp_room, truncated) in [(1_472, 1), (8_000, 0)] {
        let plan = DnsPlan { udp_room, ..dns(vec![wide.clone()], 1, vec![rule("t", vec![text.clone()])]) };
        let mut wire = wire(plan, Carrier::Udp, &[1]);
        wire.open(0);
        wire.run(MINUTE);
        wire.assert_complete(1);
        assert_eq!(wire.client().dns_truncated, truncated);
    }
}

#[test]
fn queries_and_their_responses_are_padded() {
    let form = wire::Form { sized: true, padded: true };
    for name in [&b"a.bc"[..], &[b'x'; 63], b"."] {
        let query = wire::Query::new(0, name, 1, true, Some(1_232), form);
        assert_eq!((query.as_slice().len(), &query.as_slice()[..2]), (130, &[0, 128][..]));
        let question = wire::question(&query.as_slice()[2..]).unwrap();
        assert!(question.padded && question.edns && question.room == 1_232);
        for (bytes, padded) in [(0, 468), (500, 936)] {
            let mut reply = wire::Reply::new(&question, 0, true);
            reply.record(16, 60, &vec![b'x'; bytes]);
            let reply = reply.finish(&question, 65_535);
            assert_eq!(reply.len(), 2 + padded);
            assert!(wire::answer(&reply[2..], &query.as_slice()[2..]).is_ok());
            assert!(!wire::has_keepalive(&reply[2..]));
        }
        // Without room for all of it there is none.
        let reply = wire::Reply::new(&question, 0, true).finish(&question, 400);
        assert!(reply.len() < 110, "{}", reply.len());
    }
    let bare = wire::Query::new(0, b"a.bc", 1, true, None, form);
    assert!(bare.as_slice().len() == 2 + 22 && !wire::question(&bare.as_slice()[2..]).unwrap().padded);
}

#[test]
fn an_option_of_tcp_is_found_behind_others() {
    let query = wire::Query::new(0, b"a.bc", 1, true, Some(1_232), PLAIN);
    let plain = query.as_slice();
    let with = |options: &[u8]| {
        let mut bytes = plain[..plain.len() - 2].to_vec();
        bytes.extend((options.len() as u16).to_be_bytes());
        bytes.extend(options);
        bytes
    };
    assert!(!wire::has_keepalive(plain) && !wire::has_keepalive(&with(&[0, 12, 0, 2, 0, 11])));
    let found = with(&[0, 12, 0, 1, 0, 0, 11, 0, 2, 0, 100]);
    assert!(wire::has_keepalive(&found));
    for len in 0..found.len() {
        wire::has_keepalive(&found[..len]);
    }
}

#[test]
fn a_cache_may_keep_a_response_for_its_shortest_time() {
    let query = wire::Query::new(0, b"a.bc", 1, true, Some(1_232), PLAIN);
    let question = wire::question(query.as_slice()).unwrap();
    let response = |ttls: &[u32]| {
        let mut reply = wire::Reply::new(&question, 0, false);
        ttls.iter().for_each(|ttl| reply.record(1, *ttl, &[192, 0, 2, 1]));
        reply.finish(&question, 512)
    };
    let whole = response(&[300, 7, 60]);
    assert_eq!((wire::freshness(&response(&[300])), wire::freshness(&whole)), (300, 7));
    // Without answers, or with what is no response, there is nothing to keep.
    assert_eq!(wire::freshness(&response(&[])), 0);
    for len in 0..40 {
        assert_eq!(wire::freshness(&whole[..len]), 0, "{len}");
    }
}
