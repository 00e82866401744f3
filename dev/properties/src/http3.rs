//! Bytes of any kind on the streams of HTTP/3, and as its header blocks: readers survive them, understand the same however the bytes come
//! in pieces, and hold no more than their limits allow.
//!
//! The first byte of an input selects the reader (the low two bits: a client's request, a server's, a peer's
//! unidirectional streams, a header block) and the length of the pieces (the others).

use http3::qpack::{self, Field};
use http3::{Head, Peer, Piece, Reader, Role, goaway, limits, opening};

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    let Some((how, bytes)) = data.split_first() else { return };
    let len = 1 + usize::from(how >> 2);
    match how & 3 {
        0 => assert_eq!(read(Role::Client, bytes, bytes.len().max(1)), read(Role::Client, bytes, len)),
        1 => assert_eq!(read(Role::Server, bytes, bytes.len().max(1)), read(Role::Server, bytes, len)),
        2 => assert_eq!(peer(bytes, bytes.len().max(1)), peer(bytes, len)),
        _ => decode(bytes),
    }
}

/// Events of an end for a request's stream in pieces of `len`.
fn read(role: Role, bytes: &[u8], len: usize) -> Vec<String> {
    let (mut reader, mut head) = (Reader::new(role), Head::default());
    let (mut seen, mut body) = (Vec::new(), 0);
    for mut input in bytes.chunks(len) {
        loop {
            let text = match reader.read(&mut input, &mut head) {
                Ok(None) => break,
                Ok(Some(Piece::Data(bytes))) => {
                    body += bytes.len();
                    continue;
                }
                Ok(Some(Piece::Trailers)) => "trailers".to_owned(),
                Ok(Some(Piece::Head)) => {
                    let Head { method, path, status, length, is_too_large, .. } = &head;
                    format!("{method:?} {path:?} {status} {length:?} {is_too_large}")
                }
                Err(fault) => {
                    seen.push(format!("{fault:?}"));
                    return seen;
                }
            };
            seen.push(format!("{body} {text}"));
        }
        assert!(reader.held() <= limits::BLOCK, "{} bytes are held", reader.held());
    }
    seen.push(format!("{body} {:?}", reader.finish()));
    seen
}

/// A client's view of a server's unidirectional streams: the first is the control stream, the second any.
fn peer(bytes: &[u8], len: usize) -> Vec<String> {
    let mut peer = Peer::new(Role::Client);
    let mut seen = Vec::new();
    if bytes.first().is_some_and(|byte| byte & 0x80 == 0) {
        assert!(peer.read(3, &opening(false)).is_ok());
    }
    for piece in bytes.chunks(len) {
        match peer.read(7, piece) {
            Ok(http3::Use::Read) => {}
            other => {
                seen.push(format!("{other:?}"));
                break;
            }
        }
    }
    if seen.is_empty() {
        seen.push(format!("{:?}", peer.finish(7)));
    }
    seen.push(format!("{:?} {:?}", peer.settings(), peer.goaway()));
    seen
}

/// A block: its size is that of its fields, and they mean the same when they are written again.
fn decode(bytes: &[u8]) {
    let (mut list, mut again) = (Vec::new(), Vec::new());
    qpack::begin(&mut again);
    let outcome = qpack::decode(bytes, 8_192, &mut Vec::new(), |name, value| {
        list.push((name.to_vec(), value.to_vec()));
        match std::str::from_utf8(name) {
            Ok(name) => Field::always(name, value).put(&mut again),
            Err(_) => list.truncate(list.len() - 1),
        }
    });
    let Ok(size) = outcome else { return };
    let sum: usize = list.iter().map(|(name, value)| name.len() + value.len() + 32).sum();
    assert!(size as usize >= sum, "{size} of {sum}");
    let mut second = Vec::new();
    let outcome = qpack::decode(&again, u32::MAX, &mut Vec::new(), |name, value| {
        second.push((name.to_vec(), value.to_vec()));
    });
    assert!(outcome.is_ok() && second == list);
}

/// Frames of every kind, right and wrong, settings, and header blocks.
pub fn seeds() -> Vec<Vec<u8>> {
    let block = |fields: &[(&str, &str)]| {
        let mut out = Vec::new();
        qpack::begin(&mut out);
        fields.iter().for_each(|(name, value)| Field::always(name, value.as_bytes()).put(&mut out));
        out
    };
    let frame = |kind: u8, payload: &[u8]| [&[kind, payload.len() as u8], payload].concat();
    let get = block(&[(":method", "GET"), (":scheme", "https"), (":authority", "a.test"), (":path", "/x?y")]);
    let ok = block(&[(":status", "200"), ("content-length", "3"), ("server", "eagre")]);
    let requests = [
        [
            frame(1, &get),
            frame(0, b"abc"),
            frame(0x21, b"grease"),
            frame(0, b""),
            frame(1, &block(&[("x", "y")])),
        ]
        .concat(),
        [frame(1, &get), frame(4, &[])].concat(),
        [frame(0x40, &[]), frame(1, &get[..5])].concat(),
    ];
    let responses = [
        [frame(1, &block(&[(":status", "103")])), frame(1, &ok), frame(0, b"abc")].concat(),
        [frame(1, &ok), frame(0, b"abcd")].concat(),
        frame(5, &[0, 0, 0]),
    ];
    let mut away = opening(true);
    goaway(8, &mut away);
    let peers = [
        away,
        vec![2, 0x20, 0x20],
        vec![3, 0x41, 0x7f, 0x80, 1],
        vec![0x21, 1],
        vec![0x80, 0, 0, 0, 4, 2, 6, 1],
        vec![0x80, 0, 0, 0, 4, 2, 8, 2],
    ];
    let blocks = [get, ok, vec![0, 0, 0x10], vec![3, 0x81, 0x10, 0x11]];
    let with = |how: u8| move |bytes: Vec<u8>| [&[how | 12], &bytes[..]].concat();
    let all = responses.into_iter().map(with(0)).chain(requests.into_iter().map(with(1)));
    all.chain(peers.into_iter().map(with(2))).chain(blocks.into_iter().map(with(3))).collect()
}
