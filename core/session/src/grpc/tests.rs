//! Both ends against each other, and clients against ends that are not ours. Framing is tested in `grpc`, frames in `http2`.

use crate::counts::Reason;
use crate::plan::*;
use crate::testing::{Wire, plan};
use std::sync::Arc;
use units::Nanos;

const MINUTE: Nanos = Nanos::from_secs(60);
const KINDS: [GrpcKind; 4] =
    [GrpcKind::Unary, GrpcKind::ClientStreaming, GrpcKind::ServerStreaming, GrpcKind::Bidirectional];

fn grpc(kind: GrpcKind) -> GrpcPlan {
    let size = Size::Uniform { from: 0, to: 3_000, seed: 4 };
    let streams = matches!(kind, GrpcKind::ClientStreaming | GrpcKind::Bidirectional);
    GrpcPlan {
        path: "/a.B/C".to_owned(),
        host: Content::bytes("h"),
        metadata: vec![("x-a".to_owned(), Content { parts: vec![Part::Decimal(Values::SESSION, 3)] })],
        kind,
        message: Content::generated(size.clone()),
        messages: if streams { 7 } else { 1 },
        reply: Some(Content::generated(size)),
        responses: Some(5),
        expect: GrpcExpect::Reply,
        interval: None,
        per_connection: Some(20),
        streams: 6,
        think: Delay::NONE,
        deadline: None,
        errors_fail: true,
        status: None,
        most: 3_000,
        server: GrpcServer { text: String::new(), delay: Delay::NONE },
    }
}

fn entry(plan_of: GrpcPlan) -> SessionPlan {
    SessionPlan { verify: true, ..plan(AppPlan::Grpc(Arc::new(plan_of))) }
}

fn ran(plan_of: GrpcPlan, cuts: &[usize]) -> Wire {
    let mut wire = Wire::new(entry(plan_of), cuts);
    wire.open(0);
    wire.run(MINUTE);
    wire
}

#[test]
fn messages_of_every_kind_pass_whole() {
    for kind in KINDS {
        for (expect, cuts) in
            [(GrpcExpect::Reply, &[1460][..]), (GrpcExpect::Echo, &[1460, 9]), (GrpcExpect::Reply, &[60_000])]
        {
            if expect == GrpcExpect::Echo && !matches!(kind, GrpcKind::Unary | GrpcKind::Bidirectional) {
                continue;
            }
            for interval in [None, Some(Nanos::from_millis(3))] {
                let plan_of = GrpcPlan { interval, expect, ..grpc(kind) };
                let (sent, received) = match kind {
                    GrpcKind::Unary => (20, 20),
                    GrpcKind::ClientStreaming => (140, 20),
                    GrpcKind::ServerStreaming => (20, 100),
                    GrpcKind::Bidirectional => (140, 140),
                };
                let wire = ran(plan_of, cuts);
                wire.assert_complete(1);
                let (client, server) = (wire.client(), wire.server());
                assert_eq!(
                    (client.grpc.messages_sent, client.grpc.messages_received),
                    (sent, received),
                    "{kind:?}"
                );
                assert_eq!(
                    (server.grpc.messages_sent, server.grpc.messages_received),
                    (received, sent),
                    "{kind:?}"
                );
                assert_eq!(client.grpc.bytes_sent, server.grpc.bytes_received, "{kind:?}");
                assert_eq!(client.grpc.bytes_received, server.grpc.bytes_sent, "{kind:?}");
                for counts in [client, server] {
                    assert_eq!((counts.requests, counts.transactions, counts.grpc.statuses[0]), (20, 20, 20));
                    assert_eq!((counts.http2.connections, counts.http2.streams, counts.http[1]), (1, 20, 20));
                }
                let streamed = matches!(kind, GrpcKind::ServerStreaming | GrpcKind::Bidirectional);
                assert_eq!(client.grpc_message.samples(), if streamed { received } else { 0 }, "{kind:?}");
                assert_eq!((client.ttlb.samples(), server.http2.resets), (20, 0));
            }
        }
    }
}

/// A message each 3 ms of seven: the last is sent 18 ms after the first, however short the way.
#[test]
fn intervals_count_from_when_the_call_was_due() {
    for kind in [GrpcKind::ClientStreaming, GrpcKind::ServerStreaming, GrpcKind::Bidirectional] {
        let every = Nanos::from_millis(3);
        let plan_of = GrpcPlan {
            interval: Some(every),
            responses: Some(7),
            per_connection: Some(1),
            streams: 1,
            ..grpc(kind)
        };
        let wire = ran(plan_of, &[1460]);
        wire.assert_complete(1);
        let client = wire.client();
        assert!((18_000_000..19_000_000).contains(&client.ttlb.max), "{kind:?} {}", client.ttlb.max);
        assert!(client.grpc_message.max < 1_000_000, "{kind:?} {}", client.grpc_message.max);
    }
}

#[test]
fn every_status_is_counted_and_expected() {
    for (code, status) in GrpcStatus::ALL.into_iter().enumerate() {
        for kind in KINDS {
            let server = GrpcServer { text: "n\u{f6}".to_owned(), delay: Delay::NONE };
            let plan_of = GrpcPlan { status: Some(status), server, ..grpc(kind) };
            let wire = ran(plan_of, &[1460, 3]);
            wire.assert_complete(1);
            let (client, server) = (wire.client(), wire.server());
            assert_eq!(
                (client.grpc.statuses[code], server.grpc.statuses[code]),
                (20, 20),
                "{status:?} {kind:?}"
            );
            if status != GrpcStatus::Ok {
                assert_eq!((client.grpc.messages_received, client.error_responses), (0, 0));
            }
        }
    }
}

#[test]
fn other_statuses_fail_or_count() {
    let refused = |errors_fail, status| {
        let client = GrpcPlan { errors_fail, status, ..grpc(GrpcKind::Unary) };
        let text = "no \u{fc}".to_owned();
        let server = GrpcServer { text, delay: Delay::NONE };
        let server = GrpcPlan { status: Some(GrpcStatus::NotFound), server, ..client.clone() };
        let mut wire = Wire::mixed(entry(client), entry(server), &[1460]);
        wire.open(0);
        wire.run(MINUTE);
        let client = wire.client();
        assert!(client.details.contains_key("NOT_FOUND: no \u{fc}"), "{:?}", client.details);
        (client.failed(Reason::GrpcStatus), client.completed, client.error_responses)
    };
    assert_eq!(refused(true, None), (1, 0, 0));
    assert_eq!(refused(false, None), (0, 1, 20));
    assert_eq!(refused(false, Some(GrpcStatus::Ok)), (1, 0, 0));
}

#[test]
fn calls_end_at_their_deadline() {
    for (kind, interval) in [(GrpcKind::Unary, None), (GrpcKind::Bidirectional, Some(Nanos::from_secs(1)))] {
        let server = GrpcServer { text: String::new(), delay: Delay::Constant(Nanos::from_secs(3)) };
        let base = GrpcPlan {
            deadline: Some(Nanos::from_millis(50)),
            errors_fail: false,
            interval,
            server,
            ..grpc(kind)
        };
        let wire = ran(base, &[1460]);
        let (client, server) = (wire.client(), wire.server());
        assert_eq!(
            (client.failed_in_all(), client.completed, client.requests),
            (0, 1, 20),
            "{:?}",
            client.failures
        );
        assert_eq!(client.grpc.statuses[4], 20);
        // The one or the other end is earlier.
        assert!(client.grpc.deadlines + server.grpc.statuses[4] >= 20, "{:?} {:?}", client.grpc, server.grpc);
        assert_eq!(server.active(), 0);
    }
}

#[test]
fn unknown_methods_and_long_messages_end_with_a_status() {
    let client =
        GrpcPlan { path: "/a.B/D".to_owned(), errors_fail: false, ..grpc(GrpcKind::ClientStreaming) };
    for (server, status) in [
        (GrpcPlan { path: "/a.B/C".to_owned(), ..client.clone() }, GrpcStatus::Unimplemented),
        (GrpcPlan { most: 100, ..client.clone() }, GrpcStatus::ResourceExhausted),
    ] {
        let mut wire = Wire::mixed(entry(client.clone()), entry(server), &[1460]);
        wire.open(0);
        wire.run(MINUTE);
        wire.assert_complete(1);
        let counts = wire.client();
        assert!(counts.grpc.statuses[usize::from(status.code())] >= 19, "{status:?} {:?}", counts.grpc);
        assert_eq!(counts.grpc, crate::GrpcCounts { statuses: counts.grpc.statuses, ..counts.grpc });
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

/// Bytes that a server sends, the expected reason of failure, its words, and the expected status.
type Case<'a> = (Vec<u8>, Option<Reason>, &'a str, Option<GrpcStatus>);

#[test]
fn what_servers_do_wrong_has_a_reason() {
    let head = [vec![0x88], field("content-type", "application/grpc")].concat();
    let head = frame(1, 4, 1, &head);
    let end = |status: &str| frame(1, 5, 1, &field("grpc-status", status));
    let data = |bytes: &[u8]| [head.clone(), frame(0, 0, 1, bytes)].concat();
    let whole = |bytes: &[u8]| [data(bytes), end("0")].concat();
    let hi = [0, 0, 0, 0, 2, b'h', b'i'];
    let (protocol, none) = (Reason::GrpcProtocol, "");
    let cases: Vec<Case<'_>> = vec![
        (whole(&hi), None, none, Some(GrpcStatus::Ok)),
        (whole(&hi[..6]), Some(protocol), "ends within", Some(GrpcStatus::Internal)),
        (whole(&hi[..3]), Some(protocol), "ends within", Some(GrpcStatus::Internal)),
        (data(&[1, 0, 0, 0, 2]), Some(protocol), "compressed", Some(GrpcStatus::Internal)),
        (data(&[7]), Some(protocol), "flag", Some(GrpcStatus::Internal)),
        (data(&[0, 1, 0, 0, 0]), Some(protocol), "too long", Some(GrpcStatus::ResourceExhausted)),
        (whole(&[hi, hi].concat()), Some(protocol), "more than one", None),
        (whole(&[]), Some(protocol), "without a message", Some(GrpcStatus::Ok)),
        (data(&hi), Some(Reason::ResponseTimeout), none, None),
        (head.clone(), Some(Reason::ResponseTimeout), none, None),
        (
            [data(&hi), frame(0, 1, 1, &[])].concat(),
            Some(protocol),
            "without grpc-status",
            Some(GrpcStatus::Unknown),
        ),
        ([data(&hi), end("x")].concat(), Some(protocol), "without grpc-status", Some(GrpcStatus::Unknown)),
        ([data(&hi), end("99")].concat(), Some(Reason::GrpcStatus), "UNKNOWN", Some(GrpcStatus::Unknown)),
        (
            [data(&hi), end("8")].concat(),
            Some(Reason::GrpcStatus),
            "RESOURCE",
            Some(GrpcStatus::ResourceExhausted),
        ),
        (
            frame(1, 5, 1, &[0x8d]),
            Some(Reason::GrpcStatus),
            "HTTP status 404",
            Some(GrpcStatus::Unimplemented),
        ),
        (frame(1, 5, 1, &[0x88]), Some(Reason::GrpcStatus), "content-type", Some(GrpcStatus::Unknown)),
        (frame(3, 0, 1, &[0, 0, 0, 8]), Some(Reason::StreamReset), "CANCEL", Some(GrpcStatus::Cancelled)),
        (
            frame(3, 0, 1, &[0, 0, 0, 11]),
            Some(Reason::StreamReset),
            "ENHANCE",
            Some(GrpcStatus::ResourceExhausted),
        ),
        (frame(7, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 11]), Some(Reason::GoAway), "GOAWAY", None),
        (frame(7, 0, 0, &[0; 8]), Some(Reason::GoAway), "no request was processed", None),
        (frame(1, 5, 1, &[0x82]), Some(Reason::BadResponse), "not for this end", Some(GrpcStatus::Internal)),
    ];
    for (index, (bytes, reason, why, status)) in cases.into_iter().enumerate() {
        let plan_of =
            GrpcPlan { reply: Some(Content::bytes("hi")), per_connection: Some(1), ..grpc(GrpcKind::Unary) };
        let mut wire = Wire::new(entry(plan_of), &[1460]);
        // Only what was failed softly and closed is over once the server closes, too.
        wire.fake = Some(([frame(4, 0, 0, &[]), bytes].concat(), reason != Some(Reason::ResponseTimeout)));
        wire.open(0);
        wire.run(MINUTE);
        let client = wire.client();
        let expected = reason.map_or((0, 1), |_| (1, 0));
        assert_eq!(
            (client.failed_in_all(), client.completed),
            expected,
            "case {index}: {:?}",
            client.failures
        );
        if let Some(reason) = reason {
            assert_eq!(client.failed(reason), 1, "case {index}: {:?} {:?}", client.failures, client.details);
        }
        assert!(
            client.details.keys().any(|text| text.contains(why)) || why.is_empty(),
            "{index}: {:?}",
            client.details
        );
        let counted: Vec<_> = GrpcStatus::ALL
            .into_iter()
            .filter(|status| client.grpc.statuses[usize::from(status.code())] > 0)
            .collect();
        assert_eq!(counted, status.into_iter().collect::<Vec<_>>(), "case {index}");
    }
}

/// A server that ends a connection may reset it when the client's last frames come.
#[test]
fn a_reset_after_the_last_status_is_no_failure() {
    let head = frame(1, 4, 1, &[vec![0x88], field("content-type", "application/grpc")].concat());
    let end = frame(1, 5, 1, &field("grpc-status", "0"));
    let said = [frame(4, 0, 0, &[]), head, frame(0, 0, 1, &[0, 0, 0, 0, 2, b'h', b'i'])].concat();
    for (said, failed) in [([said.clone(), end].concat(), 0), (said, 1)] {
        let reply = Some(Content::bytes("hi"));
        let plan_of = GrpcPlan { reply, per_connection: Some(1), ..grpc(GrpcKind::Unary) };
        let mut wire = Wire::new(entry(plan_of), &[1460]);
        wire.fake = Some((said, false));
        wire.open(0);
        wire.run(Nanos::from_millis(10));
        wire.cut_off(0, tcp::End::Reset);
        assert_eq!((wire.client().failed(Reason::Reset), wire.client().completed), (failed, 1 - failed));
    }
}

#[test]
fn stopped_streams_end_early() {
    let plan_of = GrpcPlan {
        interval: Some(Nanos::from_secs(1)),
        messages: 1_000,
        per_connection: None,
        streams: 2,
        ..grpc(GrpcKind::Bidirectional)
    };
    let mut wire = Wire::new(entry(plan_of), &[1460]);
    wire.open(0);
    wire.run(Nanos::from_millis(3_500));
    wire.stop(0);
    wire.run(MINUTE);
    wire.assert_complete(1);
    assert_eq!((wire.client().grpc.messages_sent, wire.client().stopped), (8, 1));
    assert_eq!(wire.client().grpc.statuses[0], 2);
}
