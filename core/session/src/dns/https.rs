//! DNS over HTTPS, both ends: a request of HTTP/1.1, HTTP/2 or HTTP/3 for each query, by the plan of the other carriers. Source: RFC
//! 8484.
//!
//! Not here: messages (`wire`), rules of servers (`server`), frames and fields (`http2`, `http3`).
//!
//! Invariants: a client's query has the identifier 0, so that a cache takes equal queries for equal (section 4.1), and only 2xx
//! with a DNS message counts as its response. A server responds to every request: to one that is no query by a status of 4xx.

mod client;
mod h1;
mod h2;
mod h3;
mod server;

pub(crate) use client::Client;
pub(crate) use h3::Link as Https3Link;
pub(crate) use server::Server;

/// A flow's connection over TCP: of HTTP/2, and of HTTP/1.1.
pub(crate) enum HttpsLink {
    Client(h2::client::Asking),
    Server(h2::server::Serving),
    Client1(h1::client::Asking),
    Server1(h1::server::Serving),
}

/// The content type of a DNS message (section 6).
const MESSAGE: &str = "application/dns-message";
/// The name of its field, which is looked at.
const TYPE_FIELD: &str = "content-type";
const FIELDS: &[&str] = &[TYPE_FIELD];
/// The variable of a GET's path that is the query (section 4.1).
const VARIABLE: &[u8] = b"dns=";
/// Longest message, bytes.
const MESSAGE_MAX: usize = 65_535;
/// Longest part of another content type that is repeated in a result.
const SHOWN_MAX: usize = 60;

/// Whether a content type is a DNS message's; parameters do not change that (RFC 9110 section 8.3.1).
fn is_message(value: Option<&[u8]>) -> bool {
    let Some(value) = value else { return false };
    let kind = value.split(|byte| *byte == b';').next().unwrap_or_default();
    kind.trim_ascii().eq_ignore_ascii_case(MESSAGE.as_bytes())
}

/// A content type in words.
fn shown(value: Option<&[u8]>) -> String {
    match value {
        None => "a response without a content type".to_owned(),
        Some(value) => {
            let text = String::from_utf8_lossy(&value[..value.len().min(SHOWN_MAX)]);
            format!("a response of the content type {text}")
        }
    }
}

/// A request's target: whether its path is `path`, and the query in it if it has one.
fn query_in<'a>(target: &'a [u8], path: &[u8]) -> (bool, Option<&'a [u8]>) {
    let mut halves = target.splitn(2, |byte| *byte == b'?');
    let is_known = halves.next() == path.split(|byte| *byte == b'?').next();
    let mut variables = halves.next().unwrap_or_default().split(|byte| *byte == b'&');
    (is_known, variables.find_map(|variable| variable.strip_prefix(VARIABLE)))
}

/// Digits of base64url (RFC 4648 section 5).
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Appends bytes in base64url, without padding (RFC 8484 section 6).
fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        let digits = (0..=group.len()).map(|at| DIGITS[(bits >> (18 - 6 * at)) as usize & 63]);
        out.extend(digits);
    }
}

/// The bytes of a text in base64url; none if it is no such text, or padded.
fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |digit: &u8| match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'a'..=b'z' => Some(digit - b'a' + 26),
        b'0'..=b'9' => Some(digit - b'0' + 52),
        b'-' => Some(62),
        b'_' => Some(63),
        _ => None,
    };
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for group in text.chunks(4) {
        let mut bits = 0;
        for one in group {
            bits = bits << 6 | u32::from(digit(one)?);
        }
        let (bytes, spare) = (group.len() * 6 / 8, group.len() * 6 % 8);
        // A digit alone is no byte, and bits that no byte takes are 0 (RFC 4648 section 3.5).
        if bytes == 0 || bits & ((1 << spare) - 1) != 0 {
            return None;
        }
        bits >>= spare;
        out.extend_from_slice(&bits.to_be_bytes()[4 - bytes..]);
    }
    Some(out)
}

#[cfg(test)]
mod tests;
