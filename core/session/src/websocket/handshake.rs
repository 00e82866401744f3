//! The upgrade from HTTP/1.1: request and response. Source: RFC 6455 sections 4.1 and 4.2.

use super::plan::WebsocketPlan;
use crate::http::{Framing, Method, fields, request_head, response_head};
use crate::message::{Message, Piece, pieces};
use ::websocket::Deflate;

/// The version of the protocol.
const VERSION: &[u8] = b"13";
/// Only permessage-deflate is ever offered or taken.
const EXTENSION: &str = "an extension that was not offered";

/// The request for the upgrade, made ready.
pub(crate) fn request(plan: &WebsocketPlan) -> Message {
    let mut head = vec![Piece::text("GET ")];
    head.extend(pieces(&plan.path));
    head.push(Piece::text(" HTTP/1.1\r\nHost: "));
    head.extend(pieces(&plan.host));
    head.push(Piece::text("\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: "));
    head.push(Piece::WebsocketKey(plan.seed));
    head.push(Piece::text("\r\nSec-WebSocket-Version: 13"));
    if !plan.subprotocols.is_empty() {
        head.push(Piece::text(format!("\r\nSec-WebSocket-Protocol: {}", plan.subprotocols.join(", "))));
    }
    if let Some(compression) = &plan.compression {
        let offer = compression.parameters.offer();
        head.push(Piece::text(format!("\r\nSec-WebSocket-Extensions: {offer}")));
    }
    for (name, value) in &plan.fields {
        head.push(Piece::text(format!("\r\n{name}: ")));
        head.extend(pieces(value));
    }
    head.push(Piece::text("\r\n\r\n"));
    Message::new(head)
}

fn is(name: &[u8], wanted: &str) -> bool {
    name.eq_ignore_ascii_case(wanted.as_bytes())
}

/// The items of a list in a field.
fn items(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

fn has(value: &[u8], word: &str) -> bool {
    items(value).any(|item| is(item, word))
}

/// Response of a server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Not all of it has come.
    More,
    /// The upgrade succeeded; WebSocket begins after this number of bytes, with this compression.
    Open(usize, Option<Deflate>),
    /// It refuses with this status.
    Refused(u16),
    /// It is not a response to this request.
    Wrong(&'static str),
}

/// Reads a server's response to the request with `key`, these subprotocols and this compression.
pub(crate) fn answer(data: &[u8], key: &[u8], offered: &[String], compression: Option<&Deflate>) -> Answer {
    let mut used = 0;
    loop {
        let (head, len) = match response_head(&data[used..]) {
            Ok(Some(found)) => found,
            Ok(None) => return Answer::More,
            Err(wrong) => return Answer::Wrong(wrong),
        };
        let text = &data[used..used + len];
        used += len;
        return match head.status {
            101 => match check_answer(text, key, offered, compression) {
                Ok(agreed) => Answer::Open(used, agreed),
                Err(wrong) => Answer::Wrong(wrong),
            },
            // Only a hint (RFC 9110 section 15.2).
            100..=199 => continue,
            status => Answer::Refused(status),
        };
    }
}

/// RFC 6455 section 4.1, checks of a client on the server's response.
fn check_answer(
    head: &[u8],
    key: &[u8],
    offered: &[String],
    compression: Option<&Deflate>,
) -> Result<Option<Deflate>, &'static str> {
    let mut extensions = Vec::new();
    let (mut upgrades, mut connects, mut accepts, mut protocols) = (false, false, 0, 0);
    let accepted = ::websocket::accept(key);
    for (name, value) in fields(head) {
        if is(name, "Upgrade") {
            upgrades |= is(value, "websocket");
        } else if is(name, "Connection") {
            connects |= has(value, "upgrade");
        } else if is(name, "Sec-WebSocket-Accept") {
            if value != accepted.as_bytes() {
                return Err("a wrong Sec-WebSocket-Accept");
            }
            accepts += 1;
        } else if is(name, "Sec-WebSocket-Extensions") {
            extensions.extend(items(value).map(text));
        } else if is(name, "Sec-WebSocket-Protocol") {
            if !offered.iter().any(|known| known.as_bytes() == value) {
                return Err("a subprotocol that was not offered");
            }
            protocols += 1;
        }
    }
    match (upgrades, connects, accepts, protocols) {
        (false, ..) => Err("a 101 without 'Upgrade: websocket'"),
        (_, false, ..) => Err("a 101 without 'Connection: Upgrade'"),
        (_, _, 0, _) => Err("a 101 without Sec-WebSocket-Accept"),
        (_, _, 1, 0 | 1) => match compression {
            Some(offered) => offered.agreed(extensions.into_iter()),
            None if extensions.is_empty() => Ok(None),
            None => Err(EXTENSION),
        },
        _ => Err("a 101 with a repeated field"),
    }
}

/// A value as text: none of what is known has other characters.
fn text(value: &[u8]) -> &str {
    std::str::from_utf8(value).unwrap_or_default()
}

/// Request of a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Not all of it has come.
    More,
    /// The upgrade: bytes of the request, the whole response, and the compression agreed on.
    Upgrade(usize, Vec<u8>, Option<Deflate>),
    /// Something else: the fault, and the whole response.
    Wrong(&'static str, Vec<u8>),
}

/// Reads a client's request; `known` are the subprotocols of the server, `compression` its limits if it compresses.
pub(crate) fn asked(data: &[u8], known: &[String], compression: Option<&Deflate>) -> Asked {
    let mut offers = Vec::new();
    let wrong = |status: &str, why| Asked::Wrong(why, refusal(status));
    let (head, len) = match request_head(data) {
        Ok(Some(found)) => found,
        Ok(None) => return Asked::More,
        Err(why) => return wrong("400 Bad Request", why),
    };
    // RFC 9110 section 9.1; of an extended CONNECT with another :protocol, RFC 9220 section 3.
    if head.method.is_none() {
        return wrong("501 Not Implemented", "an unknown method, or another :protocol than websocket");
    }
    if head.method != Some(Method::Get) {
        return wrong("405 Method Not Allowed\r\nAllow: GET", "an upgrade that is no GET");
    }
    if head.is_old || head.framing != Framing::Length(0) {
        return wrong("400 Bad Request", "an upgrade of HTTP/1.0 or with a body");
    }
    let (mut upgrades, mut connects, mut version, mut key, mut protocol) = (false, false, None, None, None);
    for (name, value) in fields(&data[..len]) {
        if is(name, "Upgrade") {
            upgrades |= has(value, "websocket");
        } else if is(name, "Connection") {
            connects |= has(value, "upgrade");
        } else if is(name, "Sec-WebSocket-Version") {
            version = Some(value);
        } else if is(name, "Sec-WebSocket-Key") {
            if key.replace(value).is_some() {
                return wrong("400 Bad Request", "more than one Sec-WebSocket-Key");
            }
        } else if is(name, "Sec-WebSocket-Protocol") {
            let find = |item: &[u8]| known.iter().find(|known| known.as_bytes() == item);
            protocol = protocol.or_else(|| items(value).find_map(find));
        } else if is(name, "Sec-WebSocket-Extensions") {
            offers.extend(items(value).map(text));
        }
    }
    // RFC 9110 section 15.5.22, RFC 6455 section 4.4.
    if !upgrades || !connects {
        return wrong(
            "426 Upgrade Required\r\nUpgrade: websocket",
            "a request without an upgrade to websocket",
        );
    }
    if version != Some(VERSION) {
        return wrong(
            "426 Upgrade Required\r\nSec-WebSocket-Version: 13",
            "another Sec-WebSocket-Version than 13",
        );
    }
    let Some(key) = key.filter(|key| ::websocket::is_key(key)) else {
        return wrong("400 Bad Request", "no Sec-WebSocket-Key of 16 bytes");
    };
    let accept = ::websocket::accept(key);
    let protocol = protocol.map_or_else(String::new, |name| format!("Sec-WebSocket-Protocol: {name}\r\n"));
    let agreed = compression.and_then(|own| own.accept(offers.into_iter()));
    let extension = agreed
        .as_ref()
        .map_or_else(String::new, |(_, value)| format!("Sec-WebSocket-Extensions: {value}\r\n"));
    let text = format!(
        "HTTP/1.1 101 Switching Protocols\r\nServer: eagre\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n{protocol}{extension}\r\n"
    );
    Asked::Upgrade(len, text.into_bytes(), agreed.map(|(agreed, _)| agreed))
}

fn refusal(status: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nServer: eagre\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &[u8] = b"dGhlIHNhbXBsZSBub25jZQ==";
    const ACCEPT: &str = "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n";

    fn switching(fields: &str) -> String {
        format!(
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n{fields}\r\n"
        )
    }

    #[test]
    fn an_answer_must_fit_the_key_and_what_was_offered() {
        let offered = ["chat".to_owned(), "log".to_owned()];
        let read = |text: &str| answer(text.as_bytes(), KEY, &offered, None);
        let fine = switching(ACCEPT);
        assert_eq!(read(&format!("{fine}\u{1}\u{1}")), Answer::Open(fine.len(), None));
        assert_eq!(
            read(&format!("HTTP/1.1 103 Early Hints\r\n\r\n{fine}")),
            Answer::Open(fine.len() + 28, None)
        );
        assert_eq!(read(&fine[..fine.len() - 2]), Answer::More);
        let chosen = switching(&format!("{ACCEPT}Sec-WebSocket-Protocol: log\r\n"));
        assert_eq!(read(&chosen), Answer::Open(chosen.len(), None));
        assert_eq!(read("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"), Answer::Refused(403));
        assert_eq!(read("HTTP/1.1 200 OK\r\n\r\n"), Answer::Refused(200));
        let more = |field: &str| format!("{ACCEPT}{field}\r\n");
        for (text, why) in [
            (switching(""), "a 101 without Sec-WebSocket-Accept"),
            (
                switching("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOp=\r\n"),
                "a wrong Sec-WebSocket-Accept",
            ),
            (switching(&more("Sec-WebSocket-Extensions: permessage-deflate")), EXTENSION),
            (switching(&more("Sec-WebSocket-Protocol: other")), "a subprotocol that was not offered"),
            (switching(&ACCEPT.repeat(2)), "a 101 with a repeated field"),
            (
                format!("HTTP/1.1 101 Sw\r\nConnection: upgrade\r\n{ACCEPT}\r\n"),
                "a 101 without 'Upgrade: websocket'",
            ),
            (
                format!("HTTP/1.1 101 Sw\r\nUpgrade: websocket\r\n{ACCEPT}\r\n"),
                "a 101 without 'Connection: Upgrade'",
            ),
            ("SSH-2.0-OpenSSH\r\n".to_owned(), "not HTTP/1"),
        ] {
            assert_eq!(read(&text), Answer::Wrong(why), "{text}");
        }
    }

    #[test]
    fn a_server_takes_what_rfc_6455_asks_for_and_refuses_the_rest() {
        let known = ["log".to_owned(), "chat".to_owned()];
        let read = |text: String| asked(text.as_bytes(), &known, None);
        let key = std::str::from_utf8(KEY).unwrap();
        let ask = |first: &str, upgrade: &str, version: &str, key: &str| {
            format!(
                "{first}\r\nHost: a\r\nUpgrade: {upgrade}\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n\
                 Sec-WebSocket-Version: {version}\r\nSec-WebSocket-Protocol: soap, chat, log\r\n\r\n"
            )
        };
        let get = "GET /a HTTP/1.1";
        let fine = ask(get, "websocket", "13", key);
        let text = format!(
            "HTTP/1.1 101 Switching Protocols\r\nServer: eagre\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{ACCEPT}\
             Sec-WebSocket-Protocol: chat\r\n\r\n"
        );
        assert_eq!(read(fine.clone()), Asked::Upgrade(fine.len(), text.into_bytes(), None));
        assert_eq!(read(fine[..fine.len() - 1].to_owned()), Asked::More);
        for (text, status) in [
            (ask("POST / HTTP/1.1", "websocket", "13", key), "405"),
            (ask("CONNECT / HTTP/1.1", "websocket", "13", key), "501"),
            (ask("GET / HTTP/1.0", "websocket", "13", key), "400"),
            (ask(get, "h2c", "13", key), "426"),
            (ask(get, "websocket", "8", key), "426"),
            (ask(get, "websocket", "13", "dGhlIHNhbXBsZQ=="), "400"),
            (format!("{get}\r\nHost: a\r\n\r\n"), "426"),
            (format!("{get}\r\n\r\n"), "400"),
        ] {
            let Asked::Wrong(_, answer) = read(text.clone()) else { panic!("{text}") };
            let expected = format!("HTTP/1.1 {status} ");
            assert_eq!(String::from_utf8_lossy(&answer[..expected.len()]), expected, "{text}");
        }
    }
}
