//! Queries of clients and responses of servers. Pure data.

use crate::http::{HttpVersion, Method};
use crate::vary::{Content, Delay, SelectionOrder};
use std::net::IpAddr;
use std::sync::Arc;
use units::Nanos;

/// DNS, both ends. Over UDP a server's session is one query and its response, a client's as many as planned; over QUIC and HTTPS it is
/// a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnsPlan {
    /// Queries of clients, with their relative weights (not zero). Empty only if clients are external.
    pub queries: Vec<(DnsQuery, u32)>,
    /// In which order queries come: by turns, spread out exactly by weight, or by chance. Each session begins one
    /// further than the one before.
    pub order: SelectionOrder,
    /// Queries of a session; `None`: until it is closed from outside.
    pub per_session: Option<u32>,
    /// Over QUIC and HTTPS: queries without a response at a time, at least 1, each on a stream; by HTTP/1.1 it is one.
    pub streams: u16,
    /// Think time, from a response to the next query; with several streams, once all have a response.
    pub think: Delay,
    /// Over UDP: number of retransmissions of a query without a response within `retry_after`.
    pub retries: u8,
    /// Time to wait for a response before the query is sent again; see also the plan's patience.
    pub retry_after: Nanos,
    /// Whether a query is repeated over TCP if its response over UDP was truncated; if not, that response counts.
    pub tcp_fallback: bool,
    /// Whether a response with a code other than 0 (no error) fails the session (`dns_code`); it is counted in any
    /// case.
    pub errors_fail: bool,
    /// Whether queries with EDNS are padded (RFC 8467): to be used where they are encrypted. Servers pad responses to queries that are.
    pub padding: bool,
    /// Rules of servers: the first that fits; none: no such name (code 3).
    pub rules: Arc<[DnsRule]>,
    /// Longest response that a datagram can carry, bytes: longer ones are truncated, regardless of the client's limit.
    pub udp_room: u16,
    /// Requests of HTTP that the queries are in; `None` is without HTTP.
    pub https: Option<DnsHttps>,
}

/// Requests of DNS over HTTPS (RFC 8484).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnsHttps {
    /// Version of HTTP. Sessions of HTTP/3 go over QUIC.
    pub version: HttpVersion,
    /// Method of clients: GET or POST. Servers take both.
    pub method: Method,
    /// Path of requests, without the variable of a GET; begins with `/`.
    pub path: String,
    /// Host of requests (`:authority`).
    pub host: Content,
}

/// A query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnsQuery {
    /// The name, in text: `www.example.com`. Labels of at most 63 bytes, 253 in all.
    pub name: Content,
    /// Type: 1 is A, 28 AAAA, 16 TXT, 15 MX, 65 HTTPS, 255 any.
    pub kind: u16,
    /// Whether recursion is desired.
    pub recursion: bool,
    /// Size of UDP responses it accepts, bytes (EDNS, RFC 6891); `None` sends no EDNS, which means 512.
    pub edns_bytes: Option<u16>,
}

/// A rule of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnsRule {
    /// Names it applies to: this one and names that end in `.` and this one, case-insensitive; empty is all.
    pub suffix: String,
    /// Types it applies to; empty is all.
    pub kinds: Vec<u16>,
    /// Code: 0 no error, 2 server failure, 3 no such name, 5 refused.
    pub code: u8,
    /// Records of the response: the ones of the queried type; all for type ANY.
    pub answers: Vec<DnsAnswer>,
    /// Time to live of records, s.
    pub ttl: u32,
    /// Delay from the query to the response.
    pub delay: Delay,
    /// Whether no response is sent.
    pub silent: bool,
}

/// A record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DnsAnswer {
    /// A or AAAA. With a range, the address follows the session's and the request's number.
    Address {
        /// The first.
        first: IpAddr,
        /// Number of them, at least 1.
        count: u64,
    },
    /// Any other record: type and data.
    Data {
        /// Type.
        kind: u16,
        /// Data as on the wire.
        data: Arc<[u8]>,
    },
}
