//! Bytes of any kind to clients and servers of DNS over HTTPS and over QUIC: they survive them, count the same however they come in pieces,
//! and end with exactly one of completed and failed.
//!
//! The low three bits of an input's first byte choose what the rest is – the body of a response or of a POST, the variable of a GET, frames for
//! a client or a server of HTTP/2, a stream of QUIC for a client or a server –, the others the length of the pieces. 7: the low two bits of the
//! next byte choose a client or a server of HTTP/1.1, or of a stream of HTTP/3, and the rest is what it receives.

use crate::ends::{CLIENT, SERVER, counts, entry};
use crate::quic::{over_streams, tls};
use http2::PREFACE;
use session::Counts;
use session::plan::{
    AppPlan, Content, Delay, DnsAnswer, DnsHttps, DnsPlan, DnsQuery, DnsRule, HttpVersion, Method,
    SelectionOrder, SessionPlan,
};
use std::sync::Arc;
use tcp::GroupId;
use units::Nanos;

/// Meaning of an input's bytes.
const RESPONSE: u8 = 0;
const POST: u8 = 1;
const GET: u8 = 2;
const CLIENT_FRAMES: u8 = 3;
const SERVER_FRAMES: u8 = 4;
const CLIENT_STREAM: u8 = 5;
const SERVER_STREAM: u8 = 6;
const OTHER: u8 = 7;

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    let Some((how, bytes)) = data.split_first() else { return };
    let (what, pieces) = (how & 7, 1 + usize::from(how >> 3));
    if what == OTHER {
        return check_other(bytes, pieces);
    }
    let settings = frame(4, 0, 0, &[]);
    let end = frame(0, 1, 1, &[]);
    let body = |head: &[u8]| [&settings[..], head, &data_frames(bytes), &end].concat();
    let (group, over_quic, sent) = match what {
        RESPONSE => (CLIENT, false, body(&head(&[(":status", b"200"), TYPE]))),
        POST => (
            SERVER,
            false,
            [
                &PREFACE[..],
                &body(&head(&[&REQUEST[..], &[(":method", b"POST"), (":path", b"/q"), TYPE]].concat())),
            ]
            .concat(),
        ),
        GET => {
            let path = [b"/q?dns=", &bytes[..bytes.len().min(200)]].concat();
            let fields = [&REQUEST[..], &[(":method", b"GET"), (":path", &path)]].concat();
            (SERVER, false, [&PREFACE[..], &settings, &head(&fields), &end].concat())
        }
        CLIENT_FRAMES => (CLIENT, false, [&settings, bytes].concat()),
        SERVER_FRAMES => (SERVER, false, [&PREFACE[..], &settings, bytes].concat()),
        CLIENT_STREAM => (CLIENT, true, bytes.to_vec()),
        SERVER_STREAM => (SERVER, true, bytes.to_vec()),
        _ => return,
    };
    let plan = plan(over_quic, (!over_quic).then_some(HttpVersion::Two));
    let run = |len| match over_quic {
        true => over_streams(&plan, group, &[], &sent, len),
        false => counts(&plan, group, sent.chunks(len)),
    };
    let (whole, cut) = (run(sent.len().max(1)), run(pieces));
    assert!(whole.dns.iter().sum::<u64>() <= whole.transactions && whole.transactions <= whole.requests);
    if what == CLIENT_FRAMES {
        // Frames of queries that are sent once others have responses mean other things before.
        return;
    }
    same(&whole, &cut);
}

fn same(whole: &Counts, cut: &Counts) {
    assert_eq!((&whole.failures, whole.dns, whole.http), (&cut.failures, cut.dns, cut.http));
    assert_eq!((whole.requests, whole.transactions), (cut.requests, cut.transactions));
    assert_eq!(whole.details, cut.details);
}

/// The same of HTTP/1.1 and HTTP/3.
fn check_other(data: &[u8], pieces: usize) {
    let Some((how, bytes)) = data.split_first() else { return };
    let (group, is_http3) = (GroupId(u16::from(how & 1)), how & 2 != 0);
    let version = if is_http3 { HttpVersion::Three } else { HttpVersion::One };
    let plan = plan(is_http3, Some(version));
    let control = http3::opening(false);
    let run = |len| match is_http3 {
        true => over_streams(&plan, group, &control, bytes, len),
        false => counts(&plan, group, bytes.chunks(len)),
    };
    let (whole, cut) = (run(bytes.len().max(1)), run(pieces));
    assert!(whole.dns.iter().sum::<u64>() <= whole.transactions && whole.transactions <= whole.requests);
    same(&whole, &cut);
}

const TYPE: (&str, &[u8]) = ("content-type", b"application/dns-message");
const REQUEST: [(&str, &[u8]); 2] = [(":scheme", b"http"), (":authority", b"h")];

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = (payload.len() as u32).to_be_bytes();
    [&[a, b, c, kind, flags, 0, 0, 0, stream], payload].concat()
}

/// A head with these fields, pseudo-header fields first. Values have at most 16,000 bytes.
fn head(fields: &[(&str, &[u8])]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.extend([0, name.len() as u8]);
        block.extend(name.as_bytes());
        match value.len() {
            len @ 0..127 => block.push(len as u8),
            len => block.extend([127, (len - 127) as u8 | 0x80, ((len - 127) >> 7) as u8]),
        }
        block.extend(*value);
    }
    frame(1, 4, 1, &block)
}

fn data_frames(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(1_000).flat_map(|piece| frame(0, 0, 1, piece)).collect()
}

fn plan(over_quic: bool, https: Option<HttpVersion>) -> [SessionPlan; 1] {
    let query =
        DnsQuery { name: Content::bytes("a.test"), kind: 1, recursion: true, edns_bytes: Some(1_232) };
    let rule = DnsRule {
        suffix: "test".to_owned(),
        kinds: Vec::new(),
        code: 0,
        answers: vec![DnsAnswer::Data { kind: 1, data: vec![192, 0, 2, 1].into() }],
        ttl: 60,
        delay: Delay::NONE,
        silent: false,
    };
    let https = https.map(|version| DnsHttps {
        version,
        method: Method::Post,
        path: "/q".to_owned(),
        host: Content::bytes("h"),
    });
    let dns = DnsPlan {
        queries: vec![(query, 1)],
        order: SelectionOrder::Sequential,
        per_session: Some(1),
        streams: 1,
        think: Delay::NONE,
        retries: 0,
        retry_after: Nanos::from_secs(1),
        tcp_fallback: false,
        errors_fail: false,
        padding: true,
        rules: vec![rule].into(),
        udp_room: 1_472,
        https,
    };
    entry(AppPlan::Dns(Arc::new(dns)), over_quic.then(tls))
}

/// Queries and responses, whole and not, and what is neither.
pub fn seeds() -> Vec<Vec<u8>> {
    let seed = |how: u8, bytes: &[u8]| [&[how], bytes].concat();
    let sized = |message: &[u8]| [&(message.len() as u16).to_be_bytes(), message].concat();
    let query = b"\0\0\x01\0\0\x01\0\0\0\0\0\0\x01a\x04test\0\0\x01\0\x01";
    let response = b"\0\0\x84\0\0\x01\0\x01\0\0\0\0\x01a\x04test\0\0\x01\0\x01\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x01";
    let padded = [&query[..11], b"\x01", &query[12..], b"\0\0\x29\x10\0\0\0\0\0\0\x04\0\x0c\0\0"].concat();
    let ok = head(&[(":status", b"200"), TYPE]);
    let asks = head(
        &[&REQUEST[..], &[(":method", b"GET"), (":path", b"/q?dns=AAABAAABAAAAAAAAAWEEdGVzdAAAAQAB")]]
            .concat(),
    );
    let http1 = |how: u8, first: &str, body: &[u8]| {
        let fields =
            format!("content-type: application/dns-message\r\ncontent-length: {}\r\n\r\n", body.len());
        seed(OTHER | 0x18, &[&[how], first.as_bytes(), b"\r\nhost: h\r\n", fields.as_bytes(), body].concat())
    };
    let http3 = |how: u8, fields: &[(&str, &[u8])], body: &[u8]| {
        let (mut block, mut out) = (Vec::new(), vec![how]);
        http3::qpack::begin(&mut block);
        fields.iter().for_each(|(name, value)| http3::qpack::Field::always(name, value).put(&mut block));
        http3::headers(&block, &mut out);
        http3::data(body.len() as u64, &mut out);
        out.extend(body);
        seed(OTHER | 0x28, &out)
    };
    let post = [&REQUEST[..], &[(":method", b"POST"), (":path", b"/q"), TYPE]].concat();
    vec![
        http1(0, "HTTP/1.1 200 OK", response),
        http1(0, "HTTP/1.1 404 Not Found", b""),
        http1(0, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked", b"3\r\nabc\r\n0\r\n\r\n"),
        http1(1, "POST /q HTTP/1.1", query),
        http1(1, "POST /q HTTP/1.1\r\nexpect: 100-continue", &query[..7]),
        http1(1, "GET /q?dns=AAABAAABAAAAAAAAAWEEdGVzdAAAAQAB HTTP/1.0", b""),
        http1(1, "PUT /q HTTP/1.1\r\nconnection: close", b"x"),
        http3(2, &[(":status", b"200"), TYPE], response),
        http3(2, &[(":status", b"503")], b""),
        http3(3, &post, query),
        http3(3, &post, &response[..20]),
        http3(3, &[(":method", b"GET")], b""),
        seed(RESPONSE | 0x18, response),
        seed(RESPONSE, &response[..30]),
        seed(RESPONSE, query),
        seed(POST | 0x20, query),
        seed(POST, &padded),
        seed(POST, response),
        seed(GET | 0x10, b"AAABAAABAAAAAAAAAWEEdGVzdAAAAQAB"),
        seed(GET, b"AAAB="),
        seed(CLIENT_FRAMES, &[&ok[..], &data_frames(response), &frame(0, 1, 1, &[])].concat()),
        seed(CLIENT_FRAMES, &frame(3, 0, 1, &[0, 0, 0, 7])),
        seed(CLIENT_FRAMES, &head(&[(":status", b"404")])),
        seed(SERVER_FRAMES | 0x38, &[&asks[..], &frame(0, 1, 1, &[])].concat()),
        seed(SERVER_FRAMES, &frame(7, 0, 0, &[0; 8])),
        seed(CLIENT_STREAM | 0x08, &sized(response)),
        seed(CLIENT_STREAM, &sized(query)),
        seed(CLIENT_STREAM, &sized(response)[..9]),
        seed(SERVER_STREAM | 0x30, &sized(query)),
        seed(SERVER_STREAM, &[sized(query), sized(query)].concat()),
        seed(SERVER_STREAM, &sized(&padded)),
    ]
}
