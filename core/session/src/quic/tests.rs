//! Early data of every application that sends it: its wake-ups beside the time of the handshake, which takes 2 ms.

use super::*;
use crate::http::Method;
use crate::plan::*;
use crate::quic::plain::{early, failures, joined_at, joined_by};
use crate::scale::Scale;
use std::sync::Arc;
use units::Pps;

fn dns(https: bool, delay: Delay, silent: bool) -> AppPlan {
    let query = DnsQuery { name: Content::bytes("a.test"), kind: 1, recursion: true, edns_bytes: None };
    let address = DnsAnswer::Address { first: "192.0.2.1".parse().unwrap(), count: 1 };
    let rule = DnsRule {
        suffix: String::new(),
        kinds: Vec::new(),
        code: 0,
        answers: vec![address],
        ttl: 60,
        delay,
        silent,
    };
    let over_https = DnsHttps {
        version: HttpVersion::Three,
        method: Method::Get,
        path: "/dns-query".to_owned(),
        host: Content::bytes("h.test"),
    };
    let plan = DnsPlan {
        queries: vec![(query, 1)],
        order: SelectionOrder::Sequential,
        per_session: Some(6),
        streams: 3,
        think: Delay::NONE,
        retries: 2,
        retry_after: Nanos::from_secs(1),
        tcp_fallback: false,
        errors_fail: false,
        padding: false,
        rules: vec![rule].into(),
        udp_room: 1_472,
        https: https.then_some(over_https),
    };
    AppPlan::Dns(plan.into())
}

fn http(delay: Delay, quic: QuicOptions) -> AppPlan {
    let page = HttpPath::Exact("/a".to_owned());
    let rule = HttpRule { delay, ..HttpRule::ok(page, HttpBody::Length(Size::Fixed(20))) };
    let plan = HttpPlan {
        version: HttpVersion::Three,
        requests: vec![(HttpRequest::get("/a", "h.test"), 1)],
        order: SelectionOrder::Sequential,
        per_connection: Some(6),
        pipeline: 1,
        streams: 3,
        think: Delay::NONE,
        close: HttpClose::Fin,
        errors_fail: false,
        quic: quic.client,
        alt_svc: false,
        agent: AgentPlan::default(),
        server: Arc::new(HttpServer { rules: vec![rule], ..HttpServer::sized(Size::Fixed(5)) }),
    };
    AppPlan::Http(Arc::new(plan))
}

/// Six requests of a session by each application.
fn each(delay: Delay, quic: QuicOptions) -> [(&'static str, AppPlan); 3] {
    [("DoH", dns(true, delay, false)), ("DoQ", dns(false, delay, false)), ("HTTP/3", http(delay, quic))]
}

fn assert_complete(name: &str, ends: &[plain::Half; 2]) {
    let [client, server] = [ends[0].counts(), ends[1].counts()];
    let both = format!("{name}: {:?} {:?}", client.details, server.details);
    assert_eq!((failures(client), failures(server)), (vec![], vec![]), "{both}");
    assert_eq!((client.completed, client.transactions, server.transactions), (1, 6, 6), "{both}");
    assert!(ends.iter().all(|half| half.end.is_some()), "{both}: both flows are gone");
}

/// A session waits for its turn before the handshake is done, and after it.
#[test]
fn turns_come_before_and_after_the_handshake() {
    for is_accepted in [true, false] {
        let quic = early(is_accepted);
        for rate in [1_000, 700, 300, 20] {
            for (name, app) in each(Delay::NONE, quic) {
                let ends = joined_at(&app, quic, Some(Pps::new(rate)), 2_000, |_, _, _| {});
                let name = format!("{name} {is_accepted} {rate}");
                assert_complete(&name, &ends);
                assert!(ends[0].counts().quic.early_requests > 0, "{name}");
            }
        }
    }
}

/// The rate changes while the handshake is under way.
#[test]
fn turns_are_requested_again_before_the_handshake_is_done() {
    let quic = early(true);
    let raw = AppPlan::raw(Size::Fixed(300), Size::Fixed(500), Some(6), Delay::NONE);
    for (name, app) in each(Delay::NONE, quic).into_iter().chain([("program", raw)]) {
        for (first, then) in [(Scale::new(0, 1), Scale::ONE), (Scale::ONE, Scale::new(2, 1))] {
            let ends = joined_at(&app, quic, Some(Pps::new(100)), 2_000, |milli, now, client| {
                if milli == 0 {
                    client.tell(|apps, _, _| assert!(apps.scale(0, now, first)));
                }
                if milli == 1 {
                    client.tell(|apps, flow, io| {
                        apps.scale(0, now, then);
                        apps.ask_again(now, flow, io);
                    });
                }
            });
            assert_complete(name, &ends);
        }
    }
}

#[test]
fn early_requests_are_not_waited_for_without_end() {
    let silent = [("DoH", dns(true, Delay::NONE, true)), ("DoQ", dns(false, Delay::NONE, true))];
    let quic = early(true);
    let slow = ("HTTP/3", http(Delay::Constant(Nanos::from_secs(60)), quic));
    for (name, app) in silent.into_iter().chain([slow]) {
        let ends = joined_by(&app, quic, 12_000, None);
        let counts = ends[0].counts();
        assert_eq!(counts.quic.early_requests, 3, "{name}");
        assert_eq!(failures(counts), [(Reason::ResponseTimeout, 1)], "{name}: {:?}", counts.details);
    }
}

/// A server's responses to early requests are due before its handshake is done, and after that.
#[test]
fn early_requests_are_responded_to_when_it_is_time() {
    let quic = early(true);
    for micros in [500, 20_000] {
        for (name, app) in each(Delay::Constant(Nanos::from_micros(micros)), quic) {
            let ends = joined_by(&app, quic, 2_000, None);
            assert_complete(name, &ends);
            assert_eq!(ends[0].counts().quic.early_requests, 3, "{name}");
        }
    }
}
