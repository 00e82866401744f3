//! Bytes of any kind to the framing of gRPC, and to a client and a server: they survive them, and count messages the same however they come in
//! pieces.
//!
//! The low two bits of an input's first byte choose the reader – framing and texts alone, a client or a server that gets the rest as
//! messages of a call, a client that gets it as frames –, the next two the kind of call, the others the length of the pieces.

use crate::ends::{CLIENT, SERVER, counts, entry};
use grpc::{Event, Reader, Status, deadline, decode, encode, timeout};
use session::plan::{AppPlan, Content, Delay, GrpcExpect, GrpcKind, GrpcPlan, GrpcServer, SessionPlan, Size};
use std::sync::Arc;

/// Bytes of a message at most.
const MOST: u32 = 300;
const KINDS: [GrpcKind; 4] =
    [GrpcKind::Unary, GrpcKind::ClientStreaming, GrpcKind::ServerStreaming, GrpcKind::Bidirectional];

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    let Some((how, bytes)) = data.split_first() else { return };
    let pieces = 1 + usize::from(how >> 4);
    let plan = plan(KINDS[usize::from(how >> 2 & 3)]);
    let (group, sent) = match how & 3 {
        0 => return framing(bytes, pieces),
        1 => (CLIENT, [&frame(4, 0, 0, &[])[..], &head(&[]), &call(bytes), &trailers()].concat()),
        2 => (
            SERVER,
            [&http2::PREFACE[..], &frame(4, 0, 0, &[]), &head(&REQUEST), &call(bytes), &end()].concat(),
        ),
        _ => (CLIENT, [&frame(4, 0, 0, &[])[..], bytes].concat()),
    };
    let whole = counts(&plan, group, sent.chunks(sent.len().max(1)));
    let cut = counts(&plan, group, sent.chunks(pieces));
    assert!(whole.grpc.statuses.iter().sum::<u64>() <= whole.requests);
    if how & 3 == 3 {
        // Frames of calls that begin once others have ended mean other things before.
        return;
    }
    assert_eq!(whole.failures, cut.failures);
    assert_eq!(whole.details, cut.details);
    assert_eq!(whole.grpc.statuses, cut.grpc.statuses);
    assert_eq!(whole.grpc.messages_received, cut.grpc.messages_received);
    assert_eq!(whole.requests, cut.requests);
    // A server whose response is not on its way yet resets the stream of a call that goes wrong.
    assert!(group == SERVER || whole.transactions == cut.transactions);
}

/// Messages, however they are cut, and texts.
fn framing(bytes: &[u8], pieces: usize) {
    let read = |len: usize| {
        let (mut reader, mut seen, mut got) = (Reader::new(MOST), Vec::new(), 0);
        for piece in bytes.chunks(len) {
            let mut rest = piece;
            loop {
                match reader.read(&mut rest) {
                    Ok(None) => break,
                    Ok(Some(Event::Begin(len))) => {
                        assert!(len <= MOST);
                        (got, seen) = (0, [seen, vec![Ok(len)]].concat());
                    }
                    Ok(Some(Event::Data(data))) => got += data.len() as u32,
                    Ok(Some(Event::End)) => assert_eq!(seen.last(), Some(&Ok(got))),
                    Err(wrong) => {
                        seen.push(Err(wrong));
                        return (seen, true);
                    }
                }
            }
            assert!(rest.is_empty());
        }
        (seen, reader.end().is_ok())
    };
    assert_eq!(read(bytes.len().max(1)), read(pieces));
    let text = decode(bytes, usize::MAX);
    assert_eq!(decode(encode(&text).as_bytes(), usize::MAX), text);
    if let Some(time) = deadline(bytes) {
        assert!(deadline(timeout(time).as_bytes()).is_some_and(|again| again >= time));
    }
    Status::read(bytes);
}

/// Fields of a call, beside its type.
const REQUEST: [(&str, &str); 3] = [(":method", "POST"), (":scheme", "http"), (":path", "/a.B/C")];

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = (payload.len() as u32).to_be_bytes();
    [&[a, b, c, kind, flags, 0, 0, 0, stream], payload].concat()
}

fn field((name, value): &(&str, &str)) -> Vec<u8> {
    [&[0, name.len() as u8], name.as_bytes(), &[value.len() as u8], value.as_bytes()].concat()
}

/// The head of a response, or with these fields of a call.
fn head(fields: &[(&str, &str)]) -> Vec<u8> {
    let begin = if fields.is_empty() { vec![0x88] } else { fields.iter().flat_map(field).collect() };
    frame(1, 4, 1, &[begin, field(&("content-type", "application/grpc"))].concat())
}

fn call(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(1_000).flat_map(|piece| frame(0, 0, 1, piece)).collect()
}

fn trailers() -> Vec<u8> {
    frame(1, 5, 1, &field(&("grpc-status", "0")))
}

fn end() -> Vec<u8> {
    frame(0, 1, 1, &[])
}

fn plan(kind: GrpcKind) -> [SessionPlan; 1] {
    let echoes = kind == GrpcKind::Bidirectional;
    let grpc = GrpcPlan {
        path: "/a.B/C".to_owned(),
        host: Content::bytes("h"),
        metadata: Vec::new(),
        kind,
        message: Content::bytes("hi"),
        messages: if matches!(kind, GrpcKind::ClientStreaming | GrpcKind::Bidirectional) { 2 } else { 1 },
        reply: (!echoes).then(|| Content::generated(Size::Fixed(5))),
        responses: Some(2),
        expect: if echoes { GrpcExpect::Echo } else { GrpcExpect::Reply },
        interval: None,
        per_connection: Some(1),
        streams: 1,
        think: Delay::NONE,
        deadline: None,
        errors_fail: false,
        status: None,
        most: MOST,
        server: GrpcServer { text: String::new(), delay: Delay::NONE },
    };
    entry(AppPlan::Grpc(Arc::new(grpc)), None)
}

/// Messages of every kind, whole and not.
pub fn seeds() -> Vec<Vec<u8>> {
    const FRAMING: u8 = 0;
    const CLIENT: u8 = 1;
    const SERVER: u8 = 2;
    const FRAMES: u8 = 3;
    let seed = |how: u8, bytes: &[u8]| [&[how], bytes].concat();
    let (client_streams, server_streams, both) = (4, 8, 12);
    let reply = b"\0\0\0\0\x05stuff";
    vec![
        seed(FRAMING | 0x10, b"\0\0\0\0\x02hi\0\0\0\0\0"),
        seed(FRAMING, b"\0\xff\xff\xff\xff"),
        seed(FRAMING, b"\x01\0\0\0\x02hi"),
        seed(FRAMING, b"%C3%BC 100%%4"),
        seed(FRAMING, b"12345678m"),
        seed(FRAMING, b"16"),
        seed(CLIENT | 0x20, reply),
        seed(CLIENT | client_streams, &reply[..7]),
        seed(CLIENT | server_streams, &[&reply[..], reply].concat()),
        seed(CLIENT | both | 0x50, b"\0\0\0\0\x02hi\0\0\0\0\x02hi"),
        seed(CLIENT, b""),
        seed(SERVER | 0x10, b"\0\0\0\0\x02hi"),
        seed(SERVER | client_streams, b"\0\0\0\0\x02hi\0\0\0\0\x02hi"),
        seed(SERVER | both, b"\0\0\0\x01\0"),
        seed(SERVER | both | 0x30, b"\0\0\0\0\x02hi\0\0\0\0\x03"),
        seed(SERVER, b"\x02"),
        seed(FRAMES, &[head(&[]), call(reply), trailers()].concat()),
        seed(FRAMES | 0x10, &frame(1, 5, 1, &[&[0x88][..], &field(&("grpc-status", "5"))].concat())),
        seed(FRAMES, &frame(3, 0, 1, &[0, 0, 0, 7])),
        seed(FRAMES, &frame(7, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0])),
        seed(FRAMES, &frame(1, 5, 1, &[0x8d])),
    ]
}
