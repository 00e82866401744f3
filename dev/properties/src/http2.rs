//! Bytes of any kind to a connection of HTTP/2, and to the decoder of its header blocks: they survive them, understand the same
//! however the bytes come in pieces, and hold no more than their limits allow.
//!
//! The first byte of an input selects the reader (the low two bits: a client with two requests open, a server that was
//! greeted, a server, a decoder) and the length of the pieces (the others).

use http2::hpack::{Decoder, Encoder, Fields, huffman};
use http2::{Announced, Body, Connection, Event, PREFACE, Role, limits};

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    let Some((how, bytes)) = data.split_first() else { return };
    if how & 3 == 3 {
        return decode(bytes);
    }
    let whole = read(how & 3, bytes, bytes.len().max(1));
    let pieces = read(how & 3, bytes, 1 + usize::from(how >> 2));
    assert_eq!(whole, pieces);
}

/// Events of an end for bytes in pieces of `len`.
fn read(who: u8, bytes: &[u8], len: usize) -> Vec<String> {
    let role = if who == 0 { Role::Client } else { Role::Server };
    let mut connection = Connection::<u8>::new(role, &Announced::default());
    let mut seen = Vec::new();
    if who == 0 {
        let block = request(connection.encoder());
        for _ in 0..2 {
            let stream = connection.open(1, false);
            connection.send_head(stream, &block, false, 0);
            connection.send_body(stream, Body { source: 0, number: 1 }, 100_000, 1);
        }
    } else if who == 1 {
        let greeting = [&PREFACE[..], &[0, 0, 0, 4, 0, 0, 0, 0, 0]].concat();
        assert!(hear(&mut connection, &greeting, &mut seen));
    }
    let mut sent = 0;
    for piece in bytes.chunks(len) {
        if !hear(&mut connection, piece, &mut seen) {
            break;
        }
        connection.flush();
    }
    connection.flush();
    sent += connection.asked();
    // All of it can be written, and written again in pieces.
    let body = |_: Body, offset: u64, out: &mut [u8]| {
        out.iter_mut().enumerate().for_each(|(at, byte)| *byte = (offset as usize + at) as u8);
    };
    let mut once = vec![0; sent as usize];
    connection.fill(0, &mut once, body);
    for (index, piece) in once.chunks(1_000).enumerate() {
        let mut again = vec![0; piece.len()];
        connection.fill(index as u64 * 1_000, &mut again, body);
        assert_eq!(piece, again);
    }
    let (_, held) = connection.held();
    assert!(held < 4 * limits::BLOCK + 256 * 256, "{held} bytes are held for {} of input", bytes.len());
    connection.acknowledged(sent, |_| {});
    assert!(connection.is_delivered());
    seen
}

/// Reads a piece; returns whether the connection continues. Consecutive parts of a body are one.
fn hear(connection: &mut Connection<u8>, mut input: &[u8], seen: &mut Vec<String>) -> bool {
    loop {
        let event = match connection.read(0, &mut input) {
            Ok(None) => return true,
            Err(fault) => {
                seen.push(format!("{fault:?}"));
                return false;
            }
            Ok(Some(event)) => event,
        };
        let text = match event {
            Event::Head { stream, end } => {
                let head = connection.head();
                format!("{stream} {end} {:?} {:?} {} {:?}", head.method, head.path, head.status, head.length)
            }
            Event::Data { stream, bytes, end } => {
                let before = seen.last().and_then(|text| text.strip_prefix(&format!("{stream} data ")));
                let before = before.and_then(|rest| rest.strip_suffix(" false")?.parse::<usize>().ok());
                if before.is_some() {
                    seen.pop();
                }
                format!("{stream} data {} {end}", before.unwrap_or(0) + bytes.len())
            }
            other => format!("{other:?}"),
        };
        seen.push(text);
    }
}

fn request(encoder: &mut Encoder) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in [(":method", "PUT"), (":scheme", "http"), (":path", "/"), (":authority", "h")] {
        encoder.put_value(&Fields::named(name), value.as_bytes(), &mut block);
    }
    block
}

/// Blocks in a row: the table is never larger than it may be, and texts mean the same when they are coded again.
fn decode(bytes: &[u8]) {
    let mut decoder = Decoder::new(256);
    for block in bytes.chunks(40) {
        let mut list = 0;
        let outcome = decoder.decode(block, 8_192, |name, value| {
            list += name.len() + value.len() + 32;
            for text in [name, value] {
                let (mut coded, mut again) = (Vec::new(), Vec::new());
                huffman::encode(text, &mut coded);
                assert_eq!(huffman::decode(&coded, &mut again), Some(()));
                assert_eq!(again, text);
            }
        });
        assert!(decoder.size() <= 256 && decoder.held() < 16 << 10, "{} bytes", decoder.held());
        match outcome {
            Ok(size) => assert_eq!(size as usize, list),
            Err(_) => return,
        }
    }
}

/// Frames of every kind, right and wrong, and header blocks.
pub fn seeds() -> Vec<Vec<u8>> {
    let frame = |kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        [&[0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream], payload].concat()
    };
    let settings = frame(4, 0, 0, &[0, 3, 0, 0, 0, 9, 0, 4, 0, 0, 0, 99]);
    let get = [0x82, 0x86, 0x84, 0x41, 1, b'h'];
    let padded = [&[2, 0, 0, 0, 0, 9][..], &get, &[0, 0]].concat();
    let client = [
        [settings.clone(), frame(1, 4, 1, &[0x88]), frame(0, 9, 1, &[1, b'a', b'b', 0])].concat(),
        [settings.clone(), frame(1, 5, 3, &[0x8d]), frame(3, 0, 1, &[0, 0, 0, 7])].concat(),
        [settings.clone(), frame(8, 0, 0, &[0, 0, 9, 9]), frame(7, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0])].concat(),
        b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
    ];
    let server = [
        [frame(1, 5, 1, &get), frame(1, 0x2d, 3, &padded), frame(2, 0, 5, &[0, 0, 0, 1, 9])].concat(),
        [frame(1, 0, 1, &get[..3]), frame(9, 4, 1, &get[3..]), frame(0, 0, 1, b"abc"), frame(0, 1, 1, b"")]
            .concat(),
        [frame(6, 0, 0, &[7; 8]), frame(4, 1, 0, &[]), settings.clone(), frame(1, 1, 1, &[0x40])].concat(),
        [frame(1, 4, 1, &get), frame(1, 5, 1, &[0x0f, 0x0d, 1, b'3']), frame(5, 4, 1, &get)].concat(),
    ];
    let blocks: [&[u8]; 4] = [
        &[
            0x82, 0x86, 0x84, 0x41, 0x8c, 0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4,
            0xff,
        ],
        &[0x20, 0x3f, 0x61, 0x40, 1, b'a', 1, b'b', 0xbe, 0x10, 1, b'c', 0],
        &[0x1f, 0x2f, 0x81, 0x1f],
        &[0x3f, 0xff, 0xff, 0xff, 0xff, 0x0f],
    ];
    let with = |how: u8, bytes: &[u8]| [&[how | 12], bytes].concat();
    let preface = [&PREFACE[..], &settings, &frame(1, 5, 1, &get)].concat();
    client
        .iter()
        .map(|bytes| with(0, bytes))
        .chain(server.iter().map(|bytes| with(1, bytes)))
        .chain([with(2, &preface)])
        .chain(blocks.iter().map(|bytes| with(3, bytes)))
        .collect()
}
