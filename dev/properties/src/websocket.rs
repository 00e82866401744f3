//! Bytes of any kind to a WebSocket client and a WebSocket server: they survive them, and count the same however the bytes come in
//! pieces.
//!
//! The low bit of an input's first byte chooses the end, the next whether the upgrade has succeeded before, the next two the expected
//! reaction to a message (the fourth: an echo, with compression), the others the length of the pieces, and the highest whether it goes
//! over HTTP/2, or with the one below it over HTTP/3; the end receives the rest.

use crate::ends::{CLIENT, NOW, counts, entry};
use crate::quic::{over_streams, tls};
use http2::hpack::Fields;
use http2::{Announced, Connection, Role};
use session::plan::{
    AppPlan, Content, Delay, HttpVersion, SessionPlan, Size, WebsocketCompression, WebsocketExpect,
    WebsocketKind, WebsocketPlan,
};
use session::{Apps, Counts};
use std::sync::Arc;
use tcp::{App, FlowId, GroupId, Io};

/// Bytes of a message at most.
const MOST: u64 = 300;

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    if let Some((how, bytes)) = data.split_first() {
        let group = GroupId(u16::from(how & 1));
        let plan = plan(
            [WebsocketExpect::Echo, WebsocketExpect::Reply, WebsocketExpect::Nothing, WebsocketExpect::Echo]
                [usize::from(how >> 2 & 3)],
            match how & 0xc0 {
                0xc0 => HttpVersion::Three,
                0x80 => HttpVersion::Two,
                _ => HttpVersion::One,
            },
            how >> 2 & 3 == 3,
        );
        if how & 0xc0 == 0xc0 {
            let upgraded = if how & 2 == 0 { Vec::new() } else { stream_of_http3(group) };
            let (control, sent) = (http3::opening(true), [&upgraded, bytes].concat());
            let run = |len| over_streams(&plan, group, &control, &sent, len);
            return same(&run(sent.len()), &run(1 + usize::from(how >> 4 & 3)));
        }
        let before = match (how & 2, how & 0x80) {
            (0, _) => Vec::new(),
            (_, 0) => upgrade(&plan, group),
            _ => stream(group),
        };
        let before = Some(&before[..]).filter(|before| !before.is_empty());
        let run = |len| counts(&plan, group, before.into_iter().chain(bytes.chunks(len)));
        let (whole, pieces) = (run(bytes.len().max(1)), run(1 + usize::from(how >> 4)));
        same(&whole, &pieces);
    }
}

fn same(whole: &Counts, pieces: &Counts) {
    assert_eq!(whole.failures, pieces.failures);
    assert_eq!(whole.details, pieces.details);
    assert_eq!(whole.websocket, pieces.websocket);
    assert_eq!((whole.requests, whole.transactions), (pieces.requests, pieces.transactions));
    assert_eq!((whole.completed, whole.active()), (pieces.completed, 0));
    assert!(whole.websocket.messages_received == 0 || whole.websocket.connections == 1);
}

fn plan(expect: WebsocketExpect, version: HttpVersion, compression: bool) -> [SessionPlan; 1] {
    let websocket = WebsocketPlan {
        path: Content::bytes("/"),
        host: Content::bytes("h"),
        fields: Vec::new(),
        subprotocols: vec!["chat".to_owned()],
        kind: WebsocketKind::Text,
        message: Content::bytes("hi"),
        response: (expect == WebsocketExpect::Reply).then_some(Size::Fixed(5)),
        per_connection: Some(3),
        pipeline: 2,
        fragment: Some(2),
        think: Delay::NONE,
        expect,
        push: None,
        ping: None,
        most: MOST,
        seed: 1,
        version,
        compression: compression.then(WebsocketCompression::default),
    };
    entry(AppPlan::Websocket(Arc::new(websocket)), (version == HttpVersion::Three).then(tls))
}

/// The other end's part of an extended CONNECT.
fn stream(group: GroupId) -> Vec<u8> {
    let role = if group == CLIENT { Role::Server } else { Role::Client };
    let mut other = Connection::<()>::new(role, &Announced { connect: true, ..Announced::default() });
    let fields: &[(&str, &[u8])] = match role {
        Role::Server => &[(":status", b"200")],
        Role::Client => &[
            (":method", b"CONNECT"),
            (":protocol", b"websocket"),
            (":scheme", b"http"),
            (":path", b"/"),
            (":authority", b"h"),
            ("sec-websocket-version", b"13"),
        ],
    };
    let mut block = Vec::new();
    for (name, value) in fields {
        other.encoder().put_value(&Fields::named(name), value, &mut block);
    }
    other.send_head(1, &block, false, 0);
    let mut bytes = vec![0; other.asked() as usize];
    other.fill(0, &mut bytes, |_, _, _| {});
    bytes
}

/// The same of HTTP/3.
fn stream_of_http3(group: GroupId) -> Vec<u8> {
    let fields: &[(&str, &[u8])] = match group == CLIENT {
        true => &[(":status", b"200")],
        false => &[
            (":method", b"CONNECT"),
            (":protocol", b"websocket"),
            (":scheme", b"https"),
            (":path", b"/"),
            (":authority", b"h"),
            ("sec-websocket-version", b"13"),
        ],
    };
    let (mut block, mut out) = (Vec::new(), Vec::new());
    http3::qpack::begin(&mut block);
    fields.iter().for_each(|(name, value)| http3::qpack::Field::always(name, value).put(&mut block));
    http3::headers(&block, &mut out);
    out
}

/// The other end's part of the upgrade.
fn upgrade(plans: &[SessionPlan], group: GroupId) -> Vec<u8> {
    if group != CLIENT {
        return b"GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
            Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
            .to_vec();
    }
    // What the client asks, to answer it.
    let mut apps = Apps::new(plans, 0, 1, |_| unreachable!("nothing is secured"));
    let mut flow = apps.start(NOW, CLIENT, 0);
    let mut io = Io::new(FlowId(0), CLIENT);
    apps.opened(NOW, &mut flow, &mut io);
    let mut asked = vec![0; io.asked() as usize];
    apps.fill(&flow, CLIENT, 0, &mut asked);
    let name = b"Sec-WebSocket-Key: ";
    let at = asked.windows(name.len()).position(|window| window == name).expect("a key") + name.len();
    let accept = websocket::accept(&asked[at..at + websocket::KEY_LEN]);
    let offers = asked.windows(10).any(|window| window == b"Extensions");
    let extension = if offers { "Sec-WebSocket-Extensions: permessage-deflate\r\n" } else { "" };
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n{extension}\r\n"
    )
    .into_bytes()
}

/// Upgrades and frames of every kind, whole and not.
pub fn seeds() -> Vec<Vec<u8>> {
    const UP: u8 = 2;
    let seed = |how: u8, bytes: &[u8]| [&[how], bytes].concat();
    let reply = 4;
    let nothing = 8;
    vec![
        seed(0x10, b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"),
        seed(0x20, b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n"),
        seed(0x10 | UP, b"\x81\x02hi\x01\x01h\x89\x01?\x80\x01i\x81\x02hi\x88\x02\x03\xe8"),
        seed(UP | reply, b"\x82\x01\xff\x81\x00\x8a\x00\x82\x05stuff\x88\x00"),
        seed(0x30 | UP | nothing, b"\x82\x7e\x00\x80\x88\x03\x03\xe9!"),
        seed(UP, b"\xc1\x00"),
        seed(0x80 | UP, b"\0\0\x04\0\0\0\0\0\x01\x81\x02hi\0\0\x04\0\x01\0\0\0\x01\x88\x02\x03\xe8"),
        seed(0x81 | UP, b"\0\0\x06\0\x01\0\0\0\x01\x88\x80\0\0\0\0"),
        seed(0xc0 | UP, b"\0\x04\x81\x02hi\0\x04\x88\x02\x03\xe8"),
        seed(0xe0 | UP, b"\0\x03\x82\x01\xff\x21\x01x\0\x02\x88\x00"),
        seed(0xc0, b"\0\x03abc"),
        seed(0xd1 | UP, b"\0\x08\x81\x82\0\0\0\0hi\0\x06\x88\x80\0\0\0\0"),
        seed(0xc1 | UP, b"\0\x03\x82\x01x"),
        seed(0xc1, b"\x01\x02\0\0"),
        seed(1, b"GET /a HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: x, upgrade\r\nSec-WebSocket-Protocol: a, chat\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n\x88\x80\0\0\0\0"),
        seed(1, b"POST / HTTP/1.1\r\nHost: h\r\n\r\n"),
        seed(0x11 | UP, b"\x81\x82\x01\x02\x03\x04ik\x01\x81\0\0\0\0h\x89\x81\0\0\0\0?\x80\x81\0\0\0\0i\x88\x82\0\0\0\0\x03\xe8"),
        seed(1 | UP | reply, b"\x82\x80\x01\x02\x03\x04\x8a\x80\0\0\0\0\x88\x80\0\0\0\0"),
        seed(1 | UP, b"\x81\x81\0\0\0\0\xff"),
        seed(1 | UP, b"\x82\x01x"),
        seed(0x0c | UP, b"\xc1\x04\xca\xc8\x04\x00\xc1\x03\x42\x00\x00\x81\x02hi"),
        seed(0x0d | UP, b"\xc1\x84\0\0\0\0\xca\xc8\x04\x00\x41\x81\0\0\0\0\x42\x80\x82\0\0\0\0\x00\x00"),
        // Zeros without end.
        seed(0x0d | UP, b"\xc2\x91\0\0\0\0\xed\xc1\x01\x0d\0\0\0\xc2\xa0\xf7\x4f\x6d\x0f\x07\xa0\0"),
    ]
}
