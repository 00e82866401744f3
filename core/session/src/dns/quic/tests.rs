//! Both ends over connections of a plain QUIC, without encryption and losses, and each end before one that breaks the rules (RFC 9250
//! section 4.3.3).

use crate::Reason;
use crate::plan::*;
use crate::quic::plain::{Against, Plain, SECOND, failures, joined};
use crate::quic::*;
use units::Nanos;

fn dns(per_session: u32, streams: u16) -> DnsPlan {
    let query = |name: &str, kind| {
        let query = DnsQuery { name: Content::bytes(name), kind, recursion: true, edns_bytes: Some(1_232) };
        (query, 1)
    };
    let rule = |suffix: &str, answers| DnsRule {
        suffix: suffix.to_owned(),
        kinds: Vec::new(),
        code: 0,
        answers,
        ttl: 60,
        delay: Delay::NONE,
        silent: false,
    };
    let address = DnsAnswer::Address { first: "192.0.2.1".parse().unwrap(), count: 4 };
    let long = DnsAnswer::Data { kind: 16, data: vec![b'x'; 40_000].into() };
    let delay = Delay::Constant(Nanos::from_millis(20));
    let slow = DnsRule { delay, ..rule("slow.test", vec![address.clone()]) };
    DnsPlan {
        queries: vec![
            query("a.test", 1),
            query("long.test", 16),
            query("slow.test", 1),
            query("b.invalid", 1),
        ],
        order: SelectionOrder::Sequential,
        per_session: Some(per_session),
        streams,
        think: Delay::NONE,
        retries: 2,
        retry_after: Nanos(SECOND),
        tcp_fallback: false,
        errors_fail: false,
        padding: true,
        rules: vec![slow, rule("test", vec![address, long])].into(),
        udp_room: 1_472,
        https: None,
    }
}

fn app(dns: &DnsPlan) -> AppPlan {
    AppPlan::Dns(dns.clone().into())
}

#[test]
fn queries_get_their_responses() {
    for streams in [1, 7, 100] {
        let ends = joined(&app(&dns(60, streams)), 2_000, None);
        let [client, server] = [ends[0].counts(), ends[1].counts()];
        let both = format!("{streams}: {:?} {:?}", client.details, server.details);
        assert_eq!((failures(client), failures(server)), (vec![], vec![]), "{both}");
        assert_eq!((client.attempted, client.established, client.completed), (1, 1, 1), "{both}");
        assert_eq!((server.attempted, server.established, server.completed), (1, 1, 1), "{both}");
        assert_eq!((client.requests, client.transactions, server.transactions), (60, 60, 60));
        assert_eq!((client.dns[0], client.dns[3], server.dns), (45, 15, client.dns));
        assert_eq!((client.ttfb.samples(), client.ttlb.samples(), client.setup.samples()), (60, 60, 1));
        // All are padded, with a length of two bytes before each: the long ones have 40,000 bytes in a record.
        assert_eq!(client.bytes_sent, 60 * (128 + 2));
        assert_eq!(client.bytes_received, 45 * (468 + 2) + 15 * (468 * 86 + 2));
        assert_eq!(server.bytes_delivered, client.bytes_received);
        assert!(ends.iter().all(|half| half.end.is_some()), "both flows are gone");
    }
}

#[test]
fn the_end_of_a_run_ends_sessions() {
    let endless = DnsPlan { per_session: None, ..dns(1, 2) };
    let ends = joined(&app(&endless), 2_000, Some(300));
    let [client, server] = [ends[0].counts(), ends[1].counts()];
    assert_eq!((failures(client), failures(server)), (vec![], vec![]), "{:?}", client.details);
    assert_eq!((client.completed, client.stopped, server.completed), (1, 1, 1));
    assert!(client.transactions > 10 && client.transactions == server.transactions);
}

#[test]
fn a_server_without_a_response_is_waited_for() {
    let mut silent = dns(4, 2);
    silent.rules = vec![DnsRule { silent: true, ..silent.rules[1].clone() }].into();
    let ends = joined(&app(&silent), 12_000, None);
    assert_eq!(failures(ends[0].counts()), [(Reason::ResponseTimeout, 1)]);
    assert_eq!(failures(ends[1].counts()), [(Reason::ClosedEarly, 1)]);
}

fn against(side: Side) -> Against {
    Against::new(app(&dns(2, 1)), side)
}

/// The peer has broken a rule: that is counted, and it gets DOQ_PROTOCOL_ERROR.
fn assert_broken(against: &Against, why: &str) {
    let counts = against.half.counts();
    assert_eq!(failures(counts), [(Reason::DoqProtocol, 1)], "{why}: {:?}", counts.details);
    assert_eq!(counts.details.get(why), Some(&1), "{:?}", counts.details);
    let code = QuicEvent::Lost(QuicEnd::Application(2));
    assert!(against.events.contains(&code), "{why}: {:?}", against.events);
}

/// A query for the address of `a.test` with its length, an identifier, and options of EDNS.
fn query(id: u8, options: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, id, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1, b'a', 4];
    bytes.extend(b"test\0\0\x01\0\x01");
    bytes.extend([0, 0, 41, 16, 0, 0, 0, 0, 0, 0, options.len() as u8]);
    bytes.extend(options);
    [&[0, bytes.len() as u8], &bytes[..]].concat()
}

#[test]
fn clients_that_break_a_rule_are_refused() {
    let good = query(0, &[]);
    let twice = [&good[..], &good].concat();
    let keepalive = query(0, &[0, 11, 0, 2, 0, 100]);
    let cases: [(&str, bool, &[u8]); 7] = [
        ("a unidirectional stream was opened", false, &good),
        ("a query with an identifier other than 0", true, &query(1, &[])),
        ("a query with the option edns-tcp-keepalive", true, &keepalive),
        ("more than one message on a stream", true, &twice),
        ("a stream that ends before its message is whole", true, &good[..20]),
        ("a stream that ends before its message is whole", true, &[]),
        ("no query", true, &[0, 3, 0, 0, 1]),
    ];
    for (why, both_ways, bytes) in cases {
        let mut against = self::against(Side::Server);
        let stream = against.peer.open(both_ways).unwrap();
        against.peer.send(stream, bytes);
        against.peer.finish(stream);
        against.run(20);
        assert_broken(&against, why);
    }
}

#[test]
fn a_client_may_give_a_query_up_and_go_on() {
    let mut against = self::against(Side::Server);
    let bytes = query(0, &[]);
    let [first, second, third] = [0, 1, 2].map(|_| against.peer.open(true).unwrap());
    against.peer.send(first, &bytes[..9]);
    against.peer.reset(first, 3);
    against.peer.send(second, &bytes);
    against.peer.finish(second);
    against.peer.stop(third, 3);
    against.run(20);
    against.peer.close(against.now, 0);
    against.run(20);
    let counts = against.half.counts();
    assert_eq!((failures(counts), counts.completed), (vec![], 1), "{:?}", counts.details);
    assert_eq!((counts.dns_cancelled, counts.requests, counts.transactions), (1, 1, 1));
}

#[test]
fn servers_that_break_a_rule_are_refused() {
    let response = |id, options: &[u8]| {
        let mut bytes = query(id, options);
        bytes[4] = 0x84;
        bytes
    };
    let good = response(0, &[]);
    let twice = [&good[..], &good].concat();
    let cases: [(&str, Vec<u8>, bool); 6] = [
        ("a response with an identifier other than 0", response(1, &[]), true),
        ("a response with the option edns-tcp-keepalive", response(0, &[0, 11, 0, 0]), true),
        ("more than one message on a stream", twice, true),
        ("a stream that ends before its message is whole", good[..20].to_vec(), true),
        ("a stream that ends before its message is whole", Vec::new(), true),
        ("a response without the end of its stream", good, false),
    ];
    for (why, bytes, ends) in cases {
        let mut against = self::against(Side::Client);
        against.peer.send(0, &bytes);
        if ends {
            against.peer.finish(0);
        }
        against.run(7_000);
        assert_broken(&against, why);
    }
    for (why, one_way) in
        [("a unidirectional stream was opened", true), ("STOP_SENDING: a query was not wanted", false)]
    {
        let mut against = self::against(Side::Client);
        if one_way {
            let stream = against.peer.open(false).unwrap();
            against.peer.send(stream, b"x");
        } else {
            against.peer.stop(0, 3);
        }
        against.run(20);
        assert_broken(&against, why);
    }
}

#[test]
fn a_server_may_give_up_a_query_or_all() {
    let told = |act: fn(&mut Plain)| {
        let mut against = self::against(Side::Client);
        act(&mut against.peer);
        against.run(20);
        (failures(against.half.counts()), against.half.counts().details.keys().cloned().collect::<Vec<_>>())
    };
    let [reset, closed, left] = [
        told(|peer| peer.reset(0, 1)),
        told(|peer| peer.close(Nanos::ZERO, 4)),
        told(|peer| peer.close(Nanos::ZERO, 0)),
    ];
    assert_eq!(reset, (vec![(Reason::StreamReset, 1)], vec!["RESET_STREAM: DOQ_INTERNAL_ERROR".to_owned()]));
    let why = "CONNECTION_CLOSE: DOQ_EXCESSIVE_LOAD".to_owned();
    assert_eq!(closed, (vec![(Reason::QuicClosed, 1)], vec![why]));
    assert_eq!(left, (vec![(Reason::ClosedEarly, 1)], vec![]));
}
