//! WebSocket, end to end and against ends that are not ours.

use super::*;
use crate::counts::CompressionCounts;
use crate::plan::*;
use crate::scale::Scale;
use crate::testing::{Wire, plan};
use crate::{Apps, Flow};
use ::websocket::{HEADER_MAX, Header, Mask, Opcode};
use proptest::prelude::*;
use std::sync::Arc;
use tcp::{App, End, FlowId, GroupId, Io};
use units::{Nanos, Pps};

const MINUTE: Nanos = Nanos::from_secs(60);
const SEED: u64 = 5;

fn websocket(bytes: u64, messages: u32) -> WebsocketPlan {
    WebsocketPlan {
        path: Content::bytes("/chat"),
        host: Content::bytes("h.example"),
        fields: Vec::new(),
        subprotocols: Vec::new(),
        kind: WebsocketKind::Binary,
        message: Content::generated(Size::Fixed(bytes)),
        response: None,
        per_connection: Some(messages),
        pipeline: 1,
        fragment: None,
        think: Delay::NONE,
        expect: WebsocketExpect::Echo,
        push: None,
        ping: None,
        most: 1 << 20,
        seed: SEED,
        version: HttpVersion::One,
        compression: None,
    }
}

fn version(http2: bool) -> HttpVersion {
    if http2 { HttpVersion::Two } else { HttpVersion::One }
}

fn entry(plan_of: WebsocketPlan) -> SessionPlan {
    plan(AppPlan::Websocket(Arc::new(plan_of)))
}

fn run(plan_of: WebsocketPlan, cuts: &[usize]) -> Wire {
    let mut wire = Wire::new(entry(plan_of), cuts);
    wire.open(0);
    wire.run(MINUTE);
    wire
}

/// A frame as a server or, with a key, a client sends it.
fn frame(fin: bool, opcode: Opcode, mask: Option<[u8; 4]>, payload: &[u8]) -> Vec<u8> {
    let mut head = [0; HEADER_MAX];
    let len = Header { fin, compressed: false, opcode, mask, len: payload.len() as u64 }.write(&mut head);
    let mut body = payload.to_vec();
    mask.iter().for_each(|key| Mask::new(*key, 0).apply(&mut body));
    [&head[..len], &body].concat()
}

fn close(code: u16) -> Vec<u8> {
    frame(true, Opcode::Close, None, &code.to_be_bytes())
}

/// The response of an external server to the upgrade of session 0.
fn switching() -> Vec<u8> {
    let accept = ::websocket::accept(&crate::message::websocket_key(SEED, 0));
    format!("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n")
        .into_bytes()
}

/// A client against a server that sends all of it at once, regardless of requests.
fn against(plan_of: WebsocketPlan, said: &[&[u8]], closes: bool, cuts: &[usize]) -> Wire {
    let mut wire = Wire::new(entry(plan_of), cuts);
    wire.fake = Some((said.concat(), closes));
    wire.open(0);
    wire.run(Nanos(3 * MINUTE.0));
    wire
}

#[test]
fn a_session_looks_like_this() {
    let wire = run(
        WebsocketPlan { message: Content::bytes("Hello"), kind: WebsocketKind::Text, ..websocket(0, 2) },
        &[1460],
    );
    wire.assert_complete(1);
    let head = b"GET /chat HTTP/1.1\r\nHost: h.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ";
    let sent = wire.sent(0);
    assert_eq!(sent[..head.len()], head[..]);
    let key = &sent[head.len()..head.len() + 24];
    assert!(::websocket::is_key(key));
    let rest = &sent[head.len() + 24..];
    let version = b"\r\nSec-WebSocket-Version: 13\r\n\r\n";
    let frames = rest.strip_prefix(version).unwrap();
    assert_eq!(frames.len(), 2 * 11 + 8);
    assert_eq!((frames[..2].to_vec(), frames[11..13].to_vec()), (vec![0x81, 0x85], vec![0x81, 0x85]));
    assert_ne!(frames[2..6], frames[13..17], "each frame has a mask of its own");
    assert_eq!(frames[22..24], [0x88, 0x82]);
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nServer: eagre\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {}\r\n\r\n",
        ::websocket::accept(key)
    );
    let expected = [answer.as_bytes(), b"\x81\x05Hello\x81\x05Hello\x88\x02\x03\xe8"].concat();
    assert_eq!(wire.sent(1), expected);
    let (client, server) = (wire.client(), wire.server());
    assert_eq!((client.requests, client.transactions, client.ttlb.samples()), (2, 2, 2));
    assert_eq!((server.requests, server.transactions), (2, 2));
    assert_eq!(client.websocket_upgrade.samples(), 1);
    for counts in [&client.websocket, &server.websocket] {
        assert_eq!((counts.connections, counts.messages_sent, counts.messages_received), (1, 2, 2));
        assert_eq!((counts.bytes_sent, counts.bytes_received), (10, 10));
        assert_eq!(counts.closes, [(1000, 1)].into());
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_others() {
    let sent = |seed| run(WebsocketPlan { seed, ..websocket(100, 3) }, &[1460, 7]).sent(0).to_vec();
    assert_eq!(sent(1), sent(1));
    assert_ne!(sent(1), sent(2));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn echoes_come_back_however_they_are_cut(bytes in 0u64..4_000, messages in 1u32..12, pipeline in 1u8..5, text: bool,
                                            fragment in proptest::option::of(1u64..600), verify: bool, http2: bool,
                                            compression in compressions(),
                                            cuts in proptest::collection::vec(1usize..1_500, 1..6)) {
        let kind = if text { WebsocketKind::Text } else { WebsocketKind::Binary };
        let message = Content::generated(Size::Uniform { from: 0, to: bytes, seed: 2 });
        let plan_of =
            WebsocketPlan { kind, fragment, pipeline, message, version: version(http2), compression, ..websocket(0, messages) };
        let mut wire = Wire::new(SessionPlan { verify, ..entry(plan_of) }, &cuts);
        wire.open(0);
        wire.run(MINUTE);
        wire.assert_complete(1);
        prop_assert_eq!(wire.client().transactions, u64::from(messages));
        prop_assert_eq!(wire.server().transactions, u64::from(messages));
        let (client, server) = (&wire.client().websocket, &wire.server().websocket);
        prop_assert_eq!(client.compression.connections, u64::from(compression.is_some()));
        prop_assert_eq!(client.compression.messages_sent, server.compression.messages_received);
        prop_assert_eq!(client.compression.compressed_bytes_received, server.compression.compressed_bytes_sent);
        prop_assert_eq!(client.bytes_sent, server.bytes_received);
    }
}

fn compressions() -> impl Strategy<Value = Option<WebsocketCompression>> {
    let one = (any::<bool>(), any::<bool>(), 8u8..16, 8u8..16, proptest::option::of(1u8..10), 0u64..400);
    proptest::option::of(one.prop_map(|(client, server, client_bits, server_bits, level, threshold)| {
        let parameters = Deflate {
            client_no_context_takeover: client,
            server_no_context_takeover: server,
            client_max_window_bits: client_bits,
            server_max_window_bits: server_bits,
        };
        WebsocketCompression { parameters, level, threshold }
    }))
}

/// The second message refers to the first, unless each is to be compressed by itself; both count as they were and as they were sent.
#[test]
fn compressed_messages_look_like_this() {
    let plan_of = |parameters| WebsocketPlan {
        message: Content::bytes("Hello"),
        kind: WebsocketKind::Text,
        compression: Some(WebsocketCompression { parameters, ..WebsocketCompression::default() }),
        ..websocket(0, 2)
    };
    let wire = run(plan_of(Deflate::default()), &[1460]);
    wire.assert_complete(1);
    let offer = b"\r\nSec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n\r\n";
    assert!(wire.sent(0).windows(offer.len()).any(|window| window == offer));
    let mut echoes = b"\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n".to_vec();
    echoes.extend(b"\xc1\x07\xf2\x48\xcd\xc9\xc9\x07\x00\xc1\x05\xf2\x00\x11\x00\x00\x88\x02\x03\xe8");
    assert!(wire.sent(1).ends_with(&echoes));
    for counts in [&wire.client().websocket, &wire.server().websocket] {
        let expected = CompressionCounts {
            connections: 1,
            declined: 0,
            messages_sent: 2,
            messages_received: 2,
            bytes_sent: 10,
            bytes_received: 10,
            compressed_bytes_sent: 12,
            compressed_bytes_received: 12,
        };
        assert_eq!((counts.compression, counts.bytes_sent), (expected, 10));
    }
    let alone = Deflate { server_no_context_takeover: true, ..Deflate::default() };
    let wire = run(plan_of(alone), &[1460]);
    wire.assert_complete(1);
    let hello = b"\xc1\x07\xf2\x48\xcd\xc9\xc9\x07\x00".repeat(2);
    assert!(wire.sent(1).ends_with(&[&hello[..], b"\x88\x02\x03\xe8"].concat()));
    assert_eq!(wire.client().websocket.compression.compressed_bytes_sent, 12);
}

/// Long messages are kept until they are acknowledged, and neither end waits for the other.
#[test]
fn long_compressed_messages_go_both_ways() {
    let plan_of = WebsocketPlan {
        compression: Some(WebsocketCompression::default()),
        pipeline: 8,
        fragment: Some(1_000),
        ..websocket(700_000, 8)
    };
    for http2 in [false, true] {
        let wire = run(WebsocketPlan { version: version(http2), ..plan_of.clone() }, &[1460, 64_000]);
        wire.assert_complete(1);
        assert_eq!(wire.client().transactions, 8);
    }
}

/// A server's responses to an offer, and messages that are none.
#[test]
fn compression_that_is_not_agreed_on_or_not_kept_to_is_counted_with_a_reason() {
    let accept = |extension: &str| {
        let up = String::from_utf8(switching()).unwrap();
        format!("{}{extension}\r\n\r\n", up.strip_suffix("\r\n").unwrap()).into_bytes()
    };
    let agreed = accept("Sec-WebSocket-Extensions: permessage-deflate");
    let compressed = |payload: &[u8]| [&[0xc2, payload.len() as u8], payload].concat();
    let offering = || WebsocketPlan {
        compression: Some(WebsocketCompression::default()),
        most: 1_000,
        ..websocket(10, 1)
    };
    // 2,000 zeros.
    let bomb = ::websocket::Deflater::new(15, true, 9).unwrap().message(&[0; 2_000]);
    for (said, reason, detail) in [
        (
            accept("Sec-WebSocket-Extensions: x-webkit-deflate-frame"),
            Reason::BadResponse,
            "an extension that was not offered",
        ),
        (
            accept("Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=16"),
            Reason::BadResponse,
            "permessage-deflate with an invalid parameter",
        ),
        (
            [&agreed[..], &compressed(b"\xff\xff")].concat(),
            Reason::WebsocketProtocol,
            "a compressed message that can't be decompressed",
        ),
        // Two other bytes, and then a block of a type that does not exist (RFC 1951 section 3.2.3).
        (
            [&agreed[..], &compressed(b"\x00\x02\x00\xfd\xffxx\x07")].concat(),
            Reason::WrongContent,
            "a message with other bytes than expected",
        ),
        (
            [&agreed[..], &compressed(&bomb)].concat(),
            Reason::WrongContent,
            "a message with other bytes than expected",
        ),
        (
            [&switching()[..], &compressed(b"\x00")].concat(),
            Reason::WebsocketProtocol,
            "a frame with a reserved bit",
        ),
    ] {
        for cuts in [&[100_000][..], &[1], &[7, 3]] {
            let wire = against(offering(), &[&said], true, cuts);
            let client = wire.client();
            assert_eq!((client.failed(reason), client.failed_in_all()), (1, 1), "{detail}");
            assert_eq!(client.details.get(detail), Some(&1), "{detail}: {:?}", client.details);
            assert_eq!(client.details.len(), 1, "{detail}: {:?}", client.details);
        }
    }
    // A bomb for a client that takes any bytes, and one for a server.
    let any = WebsocketPlan { expect: WebsocketExpect::Reply, ..offering() };
    let wire = against(any, &[&agreed, &compressed(&bomb)], true, &[5]);
    assert_eq!(wire.client().details.get("a message that is too long"), Some(&1));
    let asked = String::from_utf8(asked()).unwrap();
    let asked = asked.replace("Host: a", "Host: a\r\nSec-WebSocket-Extensions: x, permessage-deflate");
    let sent = [asked.as_bytes(), &[0xc2, 0x80 | bomb.len() as u8, 0, 0, 0, 0], &bomb].concat();
    let wire = raw_client(&sent, offering(), &[1460]);
    assert_eq!(
        wire.server().details.get("a message that is too long"),
        Some(&1),
        "{:?}",
        wire.server().details
    );
    assert!(wire.sent(1).windows(4).any(|window| window[0] == 0x88 && window[2..] == 1009u16.to_be_bytes()));
    // One that declines is no failure.
    let mut echo = vec![0; 10];
    crate::pattern::write(0, 0, &mut echo);
    let wire = against(
        offering(),
        &[&switching(), &frame(true, Opcode::Binary, None, &echo), &close(1000)],
        true,
        &[1460],
    );
    assert_eq!((wire.client().completed, wire.client().websocket.compression.declined), (1, 1));
}

/// Messages of both ends that are longer than a stream's first window, and one that is refused.
#[test]
fn a_stream_of_http2_carries_long_messages() {
    let over = |bytes, messages| WebsocketPlan {
        version: HttpVersion::Two,
        most: 4 << 20,
        ..websocket(bytes, messages)
    };
    for cuts in [&[1460][..], &[100, 1460, 3]] {
        let wire = run(WebsocketPlan { pipeline: 3, ..over(300_000, 10) }, cuts);
        wire.assert_complete(1);
        let (client, server) = (wire.client(), wire.server());
        assert_eq!((client.transactions, server.transactions), (10, 10));
        for counts in [client, server] {
            assert_eq!(
                (counts.websocket.bytes_sent, counts.websocket.bytes_received),
                (3_000_000, 3_000_000)
            );
            assert_eq!((counts.http2.connections, counts.http2.streams), (1, 1));
            assert_eq!(counts.websocket.closes, [(1000, 1)].into());
        }
    }
    let nothing = WebsocketPlan { expect: WebsocketExpect::Nothing, ..over(1_000, 300) };
    run(nothing, &[1460, 100]).assert_complete(1);
    let long = run(WebsocketPlan { most: 1_000, ..over(2_000, 1) }, &[1460]);
    assert_eq!(long.client().websocket.closes, [(1009, 1)].into());
    // A server of HTTP/1.1.
    let other = against(over(10, 1), &[b"HTTP/1.1 400 Bad Request\r\n\r\n"], true, &[1460]);
    assert_eq!(other.client().failed(Reason::Http2Protocol), 1, "{:?}", other.client().failures);
    // One that takes no extended CONNECT.
    let settings = b"\0\0\0\x04\0\0\0\0\0";
    let other = against(over(10, 1), &[settings], true, &[1460]);
    assert_eq!(other.client().failed(Reason::NoHttp2), 1, "{:?}", other.client().failures);
}

#[test]
fn servers_answer_with_their_own_or_nothing() {
    let reply = WebsocketPlan {
        expect: WebsocketExpect::Reply,
        response: Some(Size::Fixed(70_000)),
        ..websocket(10, 3)
    };
    let wire = run(WebsocketPlan { fragment: Some(9_999), ..reply }, &[1460, 100]);
    wire.assert_complete(1);
    let client = wire.client();
    assert_eq!((client.transactions, client.websocket.bytes_received), (3, 210_000));
    let nothing = WebsocketPlan { expect: WebsocketExpect::Nothing, ..websocket(1_000, 300) };
    let wire = run(nothing, &[1460, 100]);
    wire.assert_complete(1);
    let client = wire.client();
    assert_eq!((client.requests, client.transactions, client.websocket.messages_received), (300, 300, 0));
    assert_eq!((wire.server().transactions, client.ttlb.samples()), (300, 0));
}

#[test]
fn a_message_of_the_session_is_not_compared_by_the_server() {
    let message = Content { parts: vec![Part::Bytes(b"n "[..].into()), Part::Decimal(Values::SESSION, 3)] };
    let mut wire = Wire::new(entry(WebsocketPlan { message, ..websocket(0, 2) }), &[1460, 3]);
    wire.open(7);
    wire.run(MINUTE);
    wire.assert_complete(1);
    assert_eq!(wire.client().websocket.bytes_sent, 10);
}

#[test]
fn servers_send_by_themselves_and_both_ends_ping() {
    let plan_of = WebsocketPlan {
        expect: WebsocketExpect::Nothing,
        response: Some(Size::Fixed(50)),
        push: Some(Nanos::from_millis(100)),
        ping: Some(Nanos::from_millis(250)),
        think: Delay::Constant(Nanos::from_millis(1_001)),
        ..websocket(10, 3)
    };
    let wire = run(plan_of, &[1460]);
    wire.assert_complete(1);
    let (client, server) = (&wire.client().websocket, &wire.server().websocket);
    assert_eq!((client.messages_received, server.messages_sent), (20, 20));
    assert_eq!((client.pings_sent, client.pongs_received, client.pings_received), (8, 8, 8));
    assert_eq!((server.pings_sent, server.pongs_received, server.pings_received), (8, 8, 8));
}

/// A peer that leaves a Ping without a Pong has failed; one that sends nothing else has not.
#[test]
fn a_ping_without_a_pong_fails_the_session() {
    let plan_of = WebsocketPlan { ping: Some(Nanos::from_secs(1)), ..websocket(10, 1) };
    let wire = against(plan_of, &[&switching()], false, &[1460]);
    assert_eq!(wire.client().failed(Reason::ResponseTimeout), 1);
    assert_eq!(wire.client().details["no Pong before the next Ping was due"], 1);
}

#[test]
fn a_rate_is_shared_and_late_messages_count_from_when_they_were_due() {
    let mut plan = entry(WebsocketPlan { per_connection: None, ..websocket(10, 1) });
    plan.load.request_rate = Some(Pps::new(100));
    plan.load.request_count = Some(50);
    plan.load.late = true;
    let mut wire = Wire::new(plan, &[1460]);
    wire.open(0);
    wire.run(MINUTE);
    wire.assert_complete(1);
    let client = wire.client();
    assert_eq!((client.requests, client.transactions), (50, 50));
    assert_eq!((client.ttfb_due.samples(), client.ttlb_due.samples()), (50, 50));
    assert!((490..520).contains(&(wire.now.0 / 1_000_000 - 1_000)), "{:?}", wire.now);
}

/// A turn that is taken away while a reply is outstanding is requested again.
#[test]
fn a_turn_is_requested_again_beside_a_reply() {
    let mut plan = entry(WebsocketPlan { pipeline: 2, ..websocket(10, 5) });
    plan.load.request_rate = Some(Pps::new(1));
    let mut apps = Apps::new(&[plan], 0, 1, |_| panic!("nothing is secured here"));
    let (at, group) = (Nanos::from_millis, GroupId(0));
    let mut flow = apps.start(at(0), group, 0);
    let mut tell = |apps: &mut Apps, tell: &dyn Fn(&mut Apps, &mut Flow, &mut Io)| {
        let mut io = Io::new(FlowId(0), group);
        tell(apps, &mut flow, &mut io);
        (io.asked() > 0, io.asked_to_wake())
    };
    assert!(tell(&mut apps, &|apps, flow, io| apps.opened(at(0), flow, io)).0);
    let told = tell(&mut apps, &|apps, flow, io| apps.received(at(0), flow, io, &switching()));
    assert_eq!(told, (true, Some(at(1_000))));
    apps.scale(0, at(500), Scale::new(1, 2));
    let told = tell(&mut apps, &|apps, flow, io| apps.ask_again(at(500), flow, io));
    assert_eq!(told, (false, Some(at(500))));
    let told = tell(&mut apps, &|apps, flow, io| apps.woke(at(501), flow, io));
    assert_eq!(told, (false, Some(at(1_500))));
}

#[test]
fn one_is_told_to_stop_between_messages() {
    let think = Delay::Constant(Nanos::from_secs(10));
    let mut wire = Wire::new(entry(WebsocketPlan { think, ..websocket(10, 5) }), &[1460]);
    wire.open(0);
    wire.run(Nanos::from_secs(12));
    wire.stop(0);
    wire.run(MINUTE);
    wire.assert_complete(1);
    assert_eq!((wire.client().stopped, wire.client().transactions), (1, 2));
    // A server of clients that are someone else's says that it goes away.
    let mut wire = Wire::new(entry(WebsocketPlan { think, ..websocket(10, 5) }), &[1460]);
    wire.open(0);
    wire.run(Nanos::from_secs(12));
    wire.stop(1);
    wire.run(MINUTE);
    wire.assert_complete(1);
    assert_eq!((wire.client().unasked, &wire.client().websocket.closes), (3, &[(1001, 1)].into()));
    assert_eq!(wire.server().stopped, 1);
}

#[test]
fn a_connection_lasts_for_its_time() {
    let mut plan = entry(websocket(10, 2));
    plan.load.up = Some(Delay::Constant(Nanos::from_secs(3)));
    let mut wire = Wire::new(plan, &[1460]);
    wire.open(0);
    wire.run(MINUTE);
    wire.assert_complete(1);
    assert!((3_900..4_100).contains(&(wire.now.0 / 1_000_000)), "{:?}", wire.now);
}

/// Each refusal and each broken rule has its reason, regardless of the pieces it arrives in.
#[test]
fn servers_that_do_wrong_are_counted_with_a_reason() {
    let up = switching();
    let data = |payload: &[u8]| frame(true, Opcode::Binary, None, payload);
    let text = |payload: &[u8]| frame(true, Opcode::Text, None, payload);
    let masked = frame(true, Opcode::Binary, Some([1, 2, 3, 4]), b"x");
    let cases: Vec<(Vec<u8>, Reason, &str)> = vec![
        (
            b"HTTP/1.1 403 Forbidden\r\n\r\n".to_vec(),
            Reason::Http4xx,
            "the upgrade was refused with status 403",
        ),
        (b"HTTP/1.1 503 Busy\r\n\r\n".to_vec(), Reason::Http5xx, "the upgrade was refused with status 503"),
        (b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), Reason::HttpStatus, "the upgrade was refused with status 200"),
        (up[..60].repeat(300), Reason::BadResponse, "a field without a colon"),
        (
            up.iter().map(|b| if *b == b'=' { b'A' } else { *b }).collect(),
            Reason::BadResponse,
            "a wrong Sec-WebSocket-Accept",
        ),
        (b"\0\0\0\0\0\0\0\0\r\n\r\n".to_vec(), Reason::BadResponse, "not HTTP/1"),
        ([&up[..], &masked].concat(), Reason::WebsocketProtocol, "a masked frame from a server"),
        ([&up[..], b"\xc2\x00"].concat(), Reason::WebsocketProtocol, "a frame with a reserved bit"),
        ([&up[..], b"\x83\x00"].concat(), Reason::WebsocketProtocol, "a frame with an unknown opcode"),
        ([&up[..], b"\x80\x00"].concat(), Reason::WebsocketProtocol, "a continuation of no message"),
        ([&up[..], b"\x09\x00"].concat(), Reason::WebsocketProtocol, "a fragmented control frame"),
        ([&up[..], b"\x88\x01\x03"].concat(), Reason::WebsocketProtocol, "a Close frame of one byte"),
        ([&up[..], &close(999)].concat(), Reason::WebsocketProtocol, "an invalid close code"),
        (
            [&up[..], &[0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0]].concat(),
            Reason::WebsocketProtocol,
            "a message that is too long",
        ),
        (
            [&up[..], &text(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")].concat(),
            Reason::WrongContent,
            "an echo of another kind",
        ),
        (
            [&up[..], &data(b"0123456789")].concat(),
            Reason::WrongContent,
            "a message with other bytes than expected",
        ),
        ([&up[..], &data(b"")].concat(), Reason::WrongContent, "a message of another length than expected"),
        ([&up[..], &close(1011)].concat(), Reason::WebsocketClosed, "closed with code 1011"),
    ];
    for cuts in [&[100_000][..], &[1], &[7, 3]] {
        for (said, reason, detail) in &cases {
            let wire = against(websocket(10, 1), &[said], true, cuts);
            let client = wire.client();
            assert_eq!(
                (client.failed(*reason), client.failed_in_all()),
                (1, 1),
                "{detail}: {:?}",
                client.details
            );
            assert_eq!(client.details.get(*detail), Some(&1), "{detail}: {:?}", client.details);
            assert_eq!((client.active(), wire.extras()), (0, 0), "{detail}");
        }
    }
    let refused = against(websocket(10, 1), &[b"HTTP/1.1 403 Forbidden\r\n\r\n"], true, &[1460]);
    assert_eq!(refused.client().websocket.refused, [(403, 1)].into());
}

#[test]
fn servers_that_stall_or_close_are_counted_with_a_reason() {
    let up = switching();
    let failed = |said: &[&[u8]], closes: bool| {
        let wire = against(websocket(10, 1), said, closes, &[1460]);
        let all: Vec<Reason> =
            Reason::ALL.into_iter().filter(|reason| wire.client().failed(*reason) > 0).collect();
        (all, wire.client().websocket.closes.clone())
    };
    assert_eq!(failed(&[], false).0, [Reason::ResponseTimeout]);
    assert_eq!(failed(&[], true).0, [Reason::ClosedEarly]);
    assert_eq!(failed(&[&up], false).0, [Reason::ResponseTimeout]);
    assert_eq!(failed(&[&up], true), (vec![Reason::ClosedEarly], [(1006, 1)].into()));
    assert_eq!(failed(&[&up, b"\x82"], true), (vec![Reason::ClosedEarly], [(1006, 1)].into()));
    assert_eq!(failed(&[&up, &close(1000)], true), (vec![Reason::ClosedEarly], [(1000, 1)].into()));
    assert_eq!(failed(&[&up, &close(1001)], true), (vec![Reason::ClosedEarly], [(1001, 1)].into()));
}

/// Servers that reply and are then silent, or send more than requested.
#[test]
fn the_close_handshake_is_waited_for() {
    let up = switching();
    let mut echo = vec![0; 10];
    crate::pattern::write(0, 0, &mut echo);
    let echo = frame(true, Opcode::Binary, None, &echo);
    let answer = WebsocketPlan { expect: WebsocketExpect::Reply, ..websocket(10, 1) };
    let mut silent = against(answer.clone(), &[&up, &echo], false, &[1460]);
    silent.cut_off(0, End::Timeout);
    assert_eq!(silent.client().failed(Reason::IdleTimeout), 1);
    assert_eq!(silent.client().details["no Close frame in response to Close"], 1);
    let closes = against(answer.clone(), &[&up, &echo], true, &[1460]);
    assert_eq!(
        (closes.client().failed(Reason::ClosedEarly), closes.client().websocket.closes[&1006]),
        (1, 1)
    );
    let fine = against(answer, &[&up, &echo, &close(1000)], true, &[1460]);
    assert_eq!((fine.client().completed, fine.client().websocket.closes[&1000]), (1, 1));
    // A server that closes the handshake and not the connection: the client does after a while, and nothing failed.
    let open = against(
        WebsocketPlan { expect: WebsocketExpect::Reply, ..websocket(10, 1) },
        &[&up, &echo, &close(1000)],
        false,
        &[1460],
    );
    assert_eq!((open.client().active(), open.client().failed_in_all()), (1, 0));
    let twice = against(websocket(10, 1), &[&up, &echo, &echo], false, &[1460]);
    assert_eq!(twice.client().details["a message that echoes none"], 1);
}

/// Fragments with Pings between them are a message, and each Ping gets its Pong.
#[test]
fn control_frames_come_between_fragments() {
    let mut echo = vec![0; 10];
    crate::pattern::write(0, 0, &mut echo);
    let said = [
        switching(),
        frame(false, Opcode::Binary, None, &echo[..3]),
        frame(true, Opcode::Ping, None, b"are you there?"),
        frame(false, Opcode::Continuation, None, &[]),
        frame(true, Opcode::Pong, None, b"nobody asked"),
        frame(true, Opcode::Continuation, None, &echo[3..]),
        close(1000),
    ]
    .concat();
    for cuts in [&[100_000][..], &[1], &[2, 5]] {
        let wire = against(websocket(10, 1), &[&said], true, cuts);
        let client = wire.client();
        assert_eq!((client.completed, client.transactions), (1, 1), "{:?}", client.details);
        let counts = &client.websocket;
        assert_eq!((counts.pings_received, counts.pongs_received, counts.messages_received), (1, 1, 1));
    }
}

/// A server against a client that sends these bytes.
fn raw_client(sent: &[u8], server: WebsocketPlan, cuts: &[usize]) -> Wire {
    let program = vec![Op::Send(Content::bytes(sent)), Op::Expect(Expect::End)];
    let program = Program { ops: program };
    let mut client = plan(AppPlan::Echo { client: Arc::new(program) });
    client.verify = false;
    let mut wire = Wire::mixed(client, SessionPlan { verify: false, ..entry(server) }, cuts);
    wire.open(0);
    wire.run(MINUTE);
    wire
}

fn asked() -> Vec<u8> {
    b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
      Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        .to_vec()
}

#[test]
fn clients_that_do_wrong_are_told_and_counted() {
    let key = Some([9, 8, 7, 6]);
    let bye = |code: u16| frame(true, Opcode::Close, key, &code.to_be_bytes());
    let cases: Vec<(Vec<u8>, Reason, &str, u16)> = vec![
        (
            frame(true, Opcode::Binary, None, b"x"),
            Reason::WebsocketProtocol,
            "an unmasked frame from a client",
            1002,
        ),
        (
            frame(true, Opcode::Text, key, b"\xc3\x28"),
            Reason::WebsocketProtocol,
            "a text that is not UTF-8",
            1007,
        ),
        (
            frame(true, Opcode::Text, key, b"half \xc3"),
            Reason::WebsocketProtocol,
            "a text that is not UTF-8",
            1007,
        ),
        (
            frame(true, Opcode::Binary, key, &[0; 101]),
            Reason::WebsocketProtocol,
            "a message that is too long",
            1009,
        ),
        (
            frame(true, Opcode::Continuation, key, b""),
            Reason::WebsocketProtocol,
            "a continuation of no message",
            1002,
        ),
        (bye(1015), Reason::WebsocketProtocol, "an invalid close code", 1002),
        (bye(1011), Reason::WebsocketClosed, "closed with code 1011", 1011),
    ];
    for cuts in [&[100_000][..], &[1], &[5, 2]] {
        for (bytes, reason, detail, code) in &cases {
            let sent = [&asked()[..], bytes].concat();
            let wire = raw_client(&sent, WebsocketPlan { most: 100, ..websocket(10, 1) }, cuts);
            let server = wire.server();
            assert_eq!(
                (server.failed(*reason), server.failed_in_all()),
                (1, 1),
                "{detail}: {:?}",
                server.details
            );
            assert_eq!(server.details.get(*detail), Some(&1), "{detail}: {:?}", server.details);
            let said = wire.sent(1);
            let at = said.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
            assert_eq!((said[at], &said[at + 2..at + 4]), (0x88, &code.to_be_bytes()[..]), "{detail}");
        }
    }
    let wire = raw_client(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", websocket(10, 1), &[1460]);
    assert_eq!(wire.server().failed(Reason::BadRequest), 1);
    assert!(wire.sent(1).starts_with(b"HTTP/1.1 426 Upgrade Required\r\n"));
}

/// The memory for unsent replies is bounded.
#[test]
fn a_flood_of_pings_is_answered_in_turn() {
    let key = Some([1, 2, 3, 4]);
    let sent = [
        asked(),
        frame(true, Opcode::Ping, key, &[7; 125]).repeat(5_000),
        frame(true, Opcode::Close, key, &[]),
    ]
    .concat();
    let wire = raw_client(&sent, websocket(10, 1), &[3_000, 100]);
    let server = wire.server();
    assert_eq!((server.completed, server.websocket.pings_received), (1, 5_000), "{:?}", server.details);
    let pong = frame(true, Opcode::Pong, None, &[7; 125]);
    assert!(wire.sent(1).ends_with(&[&pong.repeat(100)[..], b"\x88\x00"].concat()));
}

#[test]
fn a_client_that_goes_away_without_a_word_has_failed() {
    let mut wire = Wire::new(
        entry(WebsocketPlan { think: Delay::Constant(Nanos::from_secs(9)), ..websocket(10, 5) }),
        &[1460],
    );
    wire.open(0);
    wire.run(Nanos::from_secs(3));
    wire.cut_off(1, End::Reset);
    assert_eq!(wire.server().failed(Reason::Reset), 1);
}

/// Memory of an idle connection beyond its flow.
#[test]
fn an_idle_connection_is_small() {
    assert!(size_of::<Link>() <= 280, "{} bytes", size_of::<Link>());
}

mod over_http3 {
    use super::*;
    use crate::Reason;
    use crate::quic::plain::{Against, failures, joined};
    use crate::quic::{Quic, QuicEnd, QuicEvent, QuicRead};
    use ::http3::qpack::{self, Field};
    use ::http3::{Code, goaway, headers, opening};

    fn app(plan_of: WebsocketPlan) -> AppPlan {
        AppPlan::Websocket(Arc::new(WebsocketPlan { version: HttpVersion::Three, ..plan_of }))
    }

    #[test]
    fn a_stream_carries_messages_of_any_length() {
        for (bytes, messages, pipeline) in [(0, 3, 1), (125, 40, 4), (200_000, 8, 3)] {
            let ends = joined(&app(WebsocketPlan { pipeline, ..websocket(bytes, messages) }), 4_000, None);
            let [client, server] = [ends[0].counts(), ends[1].counts()];
            let both = format!("{bytes}: {:?} {:?}", client.details, server.details);
            assert_eq!((failures(client), failures(server)), (vec![], vec![]), "{both}");
            assert_eq!((client.completed, server.completed), (1, 1), "{both}");
            assert_eq!(
                (client.transactions, server.transactions),
                (u64::from(messages), u64::from(messages))
            );
            assert_eq!((client.http3.streams, server.http3.streams), (1, 1));
            for counts in [&client.websocket, &server.websocket] {
                let all = u64::from(messages);
                assert_eq!(
                    (counts.connections, counts.messages_sent, counts.messages_received),
                    (1, all, all)
                );
                assert_eq!((counts.bytes_sent, counts.closes.get(&1000)), (all * bytes, Some(&1)));
            }
            assert!(ends.iter().all(|half| half.end.is_some()), "{both}: both flows are gone");
        }
    }

    #[test]
    fn the_end_of_a_run_ends_it_and_servers_may_send_by_themselves() {
        let endless = WebsocketPlan { per_connection: None, ..websocket(100, 1) };
        let pushed = WebsocketPlan {
            response: Some(Size::Fixed(64)),
            expect: WebsocketExpect::Nothing,
            push: Some(Nanos::from_millis(20)),
            ping: Some(Nanos::from_millis(50)),
            think: Delay::Constant(Nanos::from_millis(30)),
            ..endless.clone()
        };
        for (plan, receives) in [(endless, 50), (pushed, 10)] {
            let ends = joined(&app(plan), 4_000, Some(400));
            let [client, server] = [ends[0].counts(), ends[1].counts()];
            let both = format!("{:?} {:?}", client.details, server.details);
            assert_eq!((failures(client), failures(server)), (vec![], vec![]), "{both}");
            assert_eq!((client.completed, client.stopped, server.completed), (1, 1, 1), "{both}");
            assert!(client.websocket.messages_received >= receives, "{:?}", client.websocket);
        }
    }

    /// A HEADERS frame.
    fn head(fields: &[(&str, &str)]) -> Vec<u8> {
        let (mut block, mut out) = (Vec::new(), Vec::new());
        qpack::begin(&mut block);
        fields.iter().for_each(|(name, value)| Field::always(name, value.as_bytes()).put(&mut block));
        headers(&block, &mut out);
        out
    }

    fn data(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        ::http3::data(bytes.len() as u64, &mut out);
        out.extend(bytes);
        out
    }

    /// A client of ours before a server with these settings.
    fn before_server(connects: bool) -> Against {
        let mut against = Against::new(app(websocket(5, 3)), Side::Client);
        let control = against.peer.open(false).unwrap();
        against.peer.send(control, &opening(connects));
        against.run(5);
        against
    }

    /// Outcome of a client after the server has sent this on its stream, and the bytes that the client sent on it.
    fn told(said: &[&[u8]], then: impl FnOnce(&mut Against)) -> (Vec<(Reason, u64)>, Vec<String>, Vec<u8>) {
        let mut against = before_server(true);
        against.peer.send(0, &said.concat());
        against.run(5);
        then(&mut against);
        against.run(2_500);
        let mut sent = Vec::new();
        against.peer.read(0, &mut |some| sent.extend_from_slice(some));
        let counts = against.half.counts();
        assert!(against.half.end.is_some(), "{:?}", counts.details);
        (failures(counts), counts.details.keys().cloned().collect(), sent)
    }

    #[test]
    fn servers_that_do_wrong_are_counted_with_a_reason() {
        let ok = head(&[(":status", "200")]);
        let nothing = |_: &mut Against| {};
        let (failed, details, _) = told(&[&head(&[(":status", "403")])], nothing);
        assert_eq!(failed, [(Reason::Http4xx, 1)], "{details:?}");
        let (failed, details, sent) = told(&[&ok, &data(b"\x81\x85\0\0\0\0hello")], nothing);
        assert_eq!(failed, [(Reason::WebsocketProtocol, 1)], "{details:?}");
        // A Close frame says why, and has arrived.
        let close = sent.windows(2).rposition(|pair| pair[0] == 0x88 && pair[1] & 0x80 != 0).unwrap();
        let mask: [u8; 4] = sent[close + 2..close + 6].try_into().unwrap();
        let code = [sent[close + 6] ^ mask[0], sent[close + 7] ^ mask[1]];
        assert_eq!(u16::from_be_bytes(code), 1002);
        let (failed, details, _) = told(&[&data(b"early")], nothing);
        assert_eq!(failed, [(Reason::Http3Protocol, 1)], "{details:?}");
        assert_eq!(details, ["H3_FRAME_UNEXPECTED: DATA before the head, or after the trailers"]);
        let (failed, details, _) = told(&[&head(&[(":status", "abc")])], nothing);
        assert_eq!(failed, [(Reason::Http3Protocol, 1)], "{details:?}");
        let (failed, details, _) = told(&[&ok], |against| against.peer.reset(0, 0x10c));
        assert_eq!(failed, [(Reason::StreamReset, 1)]);
        assert_eq!(details, ["RESET_STREAM: H3_REQUEST_CANCELLED"]);
        let (failed, details, _) = told(&[&ok], |against| against.peer.stop(0, 0x10c));
        assert_eq!(
            (failed, details),
            (vec![(Reason::StreamReset, 1)], vec!["STOP_SENDING: H3_REQUEST_CANCELLED".to_owned()])
        );
        let (failed, details, _) = told(&[&ok], |against| against.peer.finish(0));
        assert_eq!(failed, [(Reason::ClosedEarly, 1)], "{details:?}");
        let (failed, details, _) = told(&[&ok], |against| against.peer.close(Nanos::ZERO, 0x100));
        assert_eq!(failed, [(Reason::ClosedEarly, 1)], "{details:?}");
        let (failed, details, _) = told(&[&ok], |against| against.peer.close(Nanos::ZERO, 0x107));
        assert_eq!(failed, [(Reason::QuicClosed, 1)]);
        assert_eq!(details, ["CONNECTION_CLOSE: H3_EXCESSIVE_LOAD"]);
        let (failed, details, _) = told(&[], |against| {
            let mut frame = Vec::new();
            goaway(0, &mut frame);
            against.peer.send(3, &frame);
        });
        assert_eq!(
            (failed, details),
            (vec![(Reason::GoAway, 1)], vec!["GOAWAY: the request was not processed".to_owned()])
        );
    }

    #[test]
    fn a_server_that_takes_no_websocket_is_left() {
        let mut against = before_server(false);
        against.run(1_500);
        let counts = against.half.counts();
        assert_eq!(failures(counts), [(Reason::NoHttp3, 1)], "{:?}", counts.details);
        assert_eq!(counts.http3.streams, 0, "nothing was asked");
        assert!(
            against.events.contains(&QuicEvent::Lost(QuicEnd::Application(0x100))),
            "{:?}",
            against.events
        );
    }

    /// A server of ours, and a client that sends this on its first stream.
    fn before_client(said: &[u8]) -> Against {
        let hello = WebsocketPlan { message: Content::bytes("hello"), ..websocket(5, 3) };
        let mut against = Against::new(app(hello), Side::Server);
        let control = against.peer.open(false).unwrap();
        against.peer.send(control, &opening(false));
        let stream = against.peer.open(true).unwrap();
        assert_eq!(stream, 0);
        against.peer.send(stream, said);
        against.run(5);
        against
    }

    const ASK: [(&str, &str); 6] = [
        (":method", "CONNECT"),
        (":protocol", "websocket"),
        (":scheme", "https"),
        (":path", "/chat"),
        (":authority", "h.example"),
        ("sec-websocket-version", "13"),
    ];

    #[test]
    fn a_server_takes_one_stream_and_refuses_what_is_no_upgrade() {
        let mut against = before_client(&head(&ASK));
        let more = against.peer.open(true).unwrap();
        against.peer.send(more, &head(&ASK));
        against.run(5);
        let rejected = Code::REQUEST_REJECTED.0;
        assert!(against.events.contains(&QuicEvent::Stopped(more, rejected)), "{:?}", against.events);
        let mask = [1, 2, 3, 4];
        let hello = frame(true, Opcode::Binary, Some(mask), b"hello");
        let done = frame(true, Opcode::Close, Some(mask), &1000u16.to_be_bytes());
        against.peer.send(0, &data(&[hello, done].concat()));
        against.peer.finish(0);
        against.run(1_500);
        let mut sent = Vec::new();
        assert_eq!(against.peer.read(0, &mut |some| sent.extend_from_slice(some)), QuicRead::Finished);
        assert!(sent.ends_with(b"\x82\x05hello\x88\x02\x03\xe8"), "{sent:x?}");
        let counts = against.half.counts();
        assert_eq!(counts.websocket.messages_received, 1);
        // Its client closes a second after the stream is over, or the server does.
        assert!(against.half.end.is_some());
        let other: Vec<_> = ASK
            .iter()
            .map(|(name, value)| (*name, if *name == ":protocol" { "connect-udp" } else { *value }))
            .collect();
        for (fields, status, why) in [
            (
                &[(":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", "h")][..],
                426,
                "a request without an upgrade to websocket",
            ),
            (&ASK[..5], 426, "another Sec-WebSocket-Version than 13"),
            // RFC 9220 section 3.
            (&other[..], 501, "an unknown method, or another :protocol than websocket"),
        ] {
            let mut against = before_client(&head(fields));
            against.run(1_500);
            let mut sent = Vec::new();
            against.peer.read(0, &mut |some| sent.extend_from_slice(some));
            let (mut reader, mut seen) =
                (::http3::Reader::new(::http3::Role::Client), ::http3::Head::default());
            assert_eq!(reader.read(&mut &sent[..], &mut seen), Ok(Some(::http3::Piece::Head)));
            assert_eq!(seen.status, status);
            let counts = against.half.counts();
            assert_eq!(failures(counts), [(Reason::BadRequest, 1)], "{:?}", counts.details);
            assert_eq!(counts.details.get(why), Some(&1), "{:?}", counts.details);
        }
    }
}
