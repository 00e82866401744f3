//! The upgrade of HTTP/1.1, which either end sees, as an extended CONNECT and its response, and back. Source: RFC 8441, RFC 9220.
//!
//! Not here: frames, fields' compression, streams.

use crate::http::fields;
use ::websocket::accept;
use http2::Head;

/// Most bytes of an upgrade that is translated.
pub(super) const HEAD_MAX: usize = 64 << 10;
/// A key for servers, of which HTTP/2 has none (RFC 8441 section 5): that of RFC 6455's example.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
/// Fields of an upgrade that HTTP/2 has no place for, or another one.
const LEFT_OUT: [&[u8]; 6] =
    [b"host", b"connection", b"upgrade", b"sec-websocket-key", b"sec-websocket-accept", b"content-length"];
/// Fields of heads that are passed on.
pub(super) const PASSED_ON: &[&str] =
    &["sec-websocket-protocol", "sec-websocket-version", "sec-websocket-extensions"];

/// The fields of the upgrade that HTTP/2 has a place for; `put` takes them.
fn put_fields(head: &[u8], put: &mut impl FnMut(&str, &[u8])) {
    for (name, value) in fields(head) {
        let name = name.to_ascii_lowercase();
        if LEFT_OUT.contains(&&*name) {
            continue;
        }
        if let Ok(name) = std::str::from_utf8(&name) {
            put(name, value);
        }
    }
}

/// A client's upgrade as the fields of an extended CONNECT (RFC 8441 section 4); returns its key, which the response must fit.
pub(super) fn request(head: &[u8], scheme: &str, mut put: impl FnMut(&str, &[u8])) -> Vec<u8> {
    let value = |wanted: &[u8]| {
        let mut all = fields(head);
        all.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map_or(&b""[..], |(_, value)| value)
    };
    let path = head.split(|byte| *byte == b' ').nth(1).unwrap_or(b"/");
    put(":method", b"CONNECT");
    put(":protocol", b"websocket");
    put(":scheme", scheme.as_bytes());
    put(":path", path);
    put(":authority", value(b"host"));
    put_fields(head, &mut put);
    value(b"sec-websocket-key").to_vec()
}

/// A server's response to the upgrade as the fields of one to an extended CONNECT; returns whether it refuses.
pub(super) fn response(head: &[u8], mut put: impl FnMut(&str, &[u8])) -> bool {
    let status = head.split(|byte| *byte == b' ').nth(1).unwrap_or(b"500");
    let refuses = status != b"101";
    put(":status", if refuses { status } else { b"200" });
    put_fields(head, &mut put);
    refuses
}

/// The upgrade that a server sees in a request; `host` is a name for it.
pub(super) fn request_seen(head: &Head, host: &str) -> Vec<u8> {
    let is_upgrade = head.protocol == b"websocket";
    let method = if is_upgrade { &b"GET"[..] } else { &head.method };
    let path = if head.path.is_empty() { &b"/"[..] } else { &head.path };
    let mut text = [method, b" ", path, b" HTTP/1.1\r\nHost: ", host.as_bytes(), b"\r\n"].concat();
    if is_upgrade {
        text.extend_from_slice(b"Upgrade: websocket\r\nConnection: Upgrade\r\n");
        text.extend_from_slice(format!("Sec-WebSocket-Key: {KEY}\r\n").as_bytes());
    }
    pass_on(head, &mut text);
    text
}

/// The response to the upgrade with this key that a client sees.
pub(super) fn response_seen(head: &Head, key: &[u8]) -> Vec<u8> {
    let status = head.status;
    let mut text = if (200..300).contains(&status) {
        format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {}\r\n",
            accept(key)
        )
    } else {
        format!("HTTP/1.1 {status} Refused\r\nContent-Length: 0\r\n")
    }
    .into_bytes();
    pass_on(head, &mut text);
    text
}

fn pass_on(head: &Head, text: &mut Vec<u8>) {
    for name in PASSED_ON {
        if let Some(value) = head.value(name) {
            text.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
    }
    text.extend_from_slice(b"\r\n");
}

/// Takes bytes of an end's upgrade; returns how many of them are not the upgrade's any more.
pub(super) fn take_head(head: &mut Vec<u8>, bytes: &[u8]) -> usize {
    if head.len() + bytes.len() > HEAD_MAX {
        return 0;
    }
    head.extend_from_slice(bytes);
    let end = head.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
    let excess = end.map_or(0, |end| head.len() - end);
    head.truncate(head.len() - excess);
    excess
}
