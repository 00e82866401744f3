//! What clients ask and what servers answer. Pure data.

use crate::vary::{Content, Delay, SelectionOrder};
use std::net::IpAddr;
use std::sync::Arc;
use units::Nanos;

/// DNS, both ends. Over UDP a server's session is one query and its answer, a client's as many as the plan says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnsPlan {
    /// What clients ask, and how often in relation to the others (weights not zero). Empty only if they are not played
    /// here.
    pub queries: Vec<(DnsQuery, u32)>,
    /// In which order queries come: by turns, spread out exactly by weight, or by chance. Each session begins one
    /// further than the one before.
    pub order: SelectionOrder,
    /// Queries of a session, one after the other; `None`: until it is closed from outside.
    pub per_session: Option<u32>,
    /// From an answer to the next query.
    pub think: Delay,
    /// Over UDP: times a query that is not answered within `retry_after` is sent again.
    pub retries: u8,
    /// How long an answer is waited for before the query is sent again; see also the plan's patience.
    pub retry_after: Nanos,
    /// Whether a UDP answer that was cut short is asked for again over TCP; if not, it is the answer.
    pub tcp_fallback: bool,
    /// Whether an answer with a code other than 0 (no error) fails the session (`dns_code`); it is counted in any case.
    pub errors_fail: bool,
    /// What servers answer: the first rule that fits; none: no such name (code 3).
    pub rules: Arc<[DnsRule]>,
    /// Bytes of the longest answer a datagram can carry: longer ones are cut short, whatever the client could take.
    pub udp_room: u16,
}

/// A query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnsQuery {
    /// The name, in text: `www.example.com`. Labels of at most 63 bytes, 253 in all.
    pub name: Content,
    /// Type: 1 is A, 28 AAAA, 16 TXT, 15 MX, 65 HTTPS, 255 any.
    pub kind: u16,
    /// Whether the server shall ask others.
    pub recursion: bool,
    /// Bytes of UDP answers it can take (EDNS, RFC 6891); `None` says nothing, which means 512.
    pub edns_bytes: Option<u16>,
}

/// A rule of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnsRule {
    /// Names it answers: this one and those that end in `.` and this one, whatever their case; empty is all.
    pub suffix: String,
    /// Types it answers; empty is all.
    pub kinds: Vec<u16>,
    /// Code: 0 no error, 2 server failure, 3 no such name, 5 refused.
    pub code: u8,
    /// Records of the answer: those whose type is asked for; all if any is.
    pub answers: Vec<DnsAnswer>,
    /// Seconds answers may be remembered.
    pub ttl: u32,
    /// From the query to the answer.
    pub delay: Delay,
    /// Whether nothing is answered at all.
    pub silent: bool,
}

/// A record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DnsAnswer {
    /// A or AAAA. With a range, the address follows the session's and the request's number.
    Address {
        /// The first.
        first: IpAddr,
        /// How many there are, at least 1.
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
