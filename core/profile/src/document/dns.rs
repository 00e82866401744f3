//! DNS of sessions, as written.

use crate::document::OneOrMany;
use crate::document::app::{once, weight_one};
use crate::document::content::{TextDoc, TimesDoc};
use crate::document::quantity::{Bytes, DelayText, Duration, Hex, HttpVersionText, Ip};
use crate::document::vary::{OrderDoc, Weight};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use session::plan::HttpVersion;
use std::borrow::Cow;

/// DNS, over UDP unless the entry's transport is TCP, QUIC or HTTPS.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Dns")]
pub struct DnsDoc {
    /// Names to query, in turn. Emulated clients need this or 'queries'.
    pub names: Option<TextDoc>,
    /// Type to query. Default: A.
    #[serde(rename = "type")]
    pub kind: Option<RecordType>,
    /// Several queries by weight, in place of 'names' and 'type'.
    #[schemars(length(min = 1))]
    pub queries: Option<Vec<DnsQueryDoc>>,
    /// Order of queries.
    #[serde(default)]
    pub order: OrderDoc,
    /// Number of queries in a session, sent in sequence, or by 'streams_per_connection' at a time. Default: 1.
    pub requests: Option<TimesDoc>,
    /// Number of queries in flight on a connection of QUIC or HTTPS, each on a stream; by HTTP/1.1 it is one. Default: 1.
    #[schemars(range(min = 1, max = 10_000))]
    pub streams_per_connection: Option<u16>,
    /// Think time: from a response to the next query; with several streams, once all have a response.
    pub think: Option<DelayText>,
    /// Set the flag 'recursion desired'. Default: true.
    pub recursion: Option<bool>,
    /// Maximum size of UDP responses (EDNS); 512B sends no EDNS. Default: 1232B.
    pub edns: Option<Bytes>,
    /// Maximum number of retries of a query over UDP. Default: 2.
    #[schemars(range(min = 0, max = 255))]
    pub retries: Option<u8>,
    /// Time to wait for a response before a retry. Default: 1s.
    pub retry_after: Option<Duration>,
    /// Repeat a query over TCP if its response over UDP was truncated. Default: true.
    pub tcp_fallback: Option<bool>,
    /// Pad queries to multiples of 128 bytes by an option of EDNS (RFC 8467), where they are encrypted: over TLS, QUIC or HTTPS. Emulated servers
    /// pad responses to padded queries, to multiples of 468 bytes. Default: false.
    pub padding: Option<bool>,
    /// Version of HTTP of requests over HTTPS. '1.1': one query at a time. '2'. '3': over QUIC, so over UDP. 'auto': with 'tls' clients offer 2 and
    /// 1.1 and follow the server's choice, without it they use 1.1; emulated servers respond in the version of each client. Default: 2.
    pub version: Option<HttpVersionText>,
    /// Method of requests over HTTPS: POST, or GET, whose responses caches can keep. Emulated servers take both. Default: POST.
    pub method: Option<DnsMethodDoc>,
    /// Path of requests over HTTPS; a GET has the query behind it. Default: /dns-query.
    #[schemars(length(min = 1, max = 1024))]
    pub path: Option<String>,
    /// Host of requests over HTTPS, and name in the handshake of TLS. Default: the server's address if it is external, or eagre.test.
    pub host: Option<TextDoc>,
    /// Fail the session on a response with a code other than 0, which is counted in any case.
    #[serde(default)]
    pub errors_fail: bool,
    /// Rules of servers; the first match determines the response, no match is 'no such name'. Default: every name has
    /// the addresses 198.18.0.1 and 2001:2::1.
    pub rules: Option<Vec<DnsRuleDoc>>,
}

impl DnsDoc {
    /// Version of HTTP of requests over HTTPS.
    pub fn version(&self) -> HttpVersion {
        self.version.as_ref().map_or(HttpVersion::Two, |version| version.0)
    }

    /// Queries of a session; `None` is without end.
    pub fn times(&self) -> Option<u32> {
        self.requests.unwrap_or_else(once).times()
    }
}

/// A method of DNS over HTTPS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub enum DnsMethodDoc {
    /// The query is in the path.
    Get,
    /// The query is in the body.
    Post,
}

/// One of several queries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DnsQuery")]
pub struct DnsQueryDoc {
    /// The name.
    pub name: TextDoc,
    /// Type to query. Default: A.
    #[serde(rename = "type")]
    pub kind: Option<RecordType>,
    /// Share of queries relative to the others.
    #[serde(default = "weight_one")]
    pub weight: Weight,
}

/// A rule of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DnsRule")]
pub struct DnsRuleDoc {
    /// Names to match: this one and all below it. Default: all.
    pub suffix: Option<String>,
    /// Types to match. Default: all.
    pub types: Option<OneOrMany<RecordType>>,
    /// Code of the response: 0 no error, 2 server failure, 3 no such name, 5 refused.
    #[serde(default)]
    #[schemars(range(min = 0, max = 15))]
    pub code: u8,
    /// Records; the response has the ones of the queried type.
    #[serde(default)]
    pub answers: Vec<AnswerDoc>,
    /// Time to live of records. Default: 60s.
    pub ttl: Option<Duration>,
    /// Delay from the query to the response.
    pub delay: Option<DelayText>,
    /// Do not respond.
    #[serde(default)]
    pub silent: bool,
}

/// A record: an address, or a mapping.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the variants' types say it; comments would become descriptions")]
pub enum AnswerDoc {
    Address(Ip),
    Full(RecordDoc),
}

/// A record. Either 'address', or 'type' with 'data' or 'text'.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Record")]
pub struct RecordDoc {
    /// Address of an A or AAAA record; with 'count' the first of a range, one for each query in turn.
    pub address: Option<Ip>,
    /// Number of addresses.
    #[schemars(range(min = 1))]
    pub count: Option<u64>,
    /// Type of another record.
    #[serde(rename = "type")]
    pub kind: Option<RecordType>,
    /// Data as on the wire.
    pub data: Option<Hex>,
    /// Data as a text of at most 255 bytes (TXT).
    pub text: Option<String>,
}

/// Types of records by name.
pub(crate) const TYPES: &[(&str, u16)] = &[
    ("A", 1),
    ("NS", 2),
    ("CNAME", 5),
    ("SOA", 6),
    ("PTR", 12),
    ("MX", 15),
    ("TXT", 16),
    ("AAAA", 28),
    ("SRV", 33),
    ("NAPTR", 35),
    ("DS", 43),
    ("DNSKEY", 48),
    ("SVCB", 64),
    ("HTTPS", 65),
    ("ANY", 255),
    ("CAA", 257),
];

/// The type of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RecordType {
    /// By number.
    Number(u16),
    /// By name.
    Name(String),
}

impl RecordType {
    /// Its number.
    pub fn number(&self) -> u16 {
        match self {
            Self::Number(number) => *number,
            Self::Name(name) => {
                TYPES.iter().find(|(known, _)| known == name).map_or(1, |(_, number)| *number)
            }
        }
    }
}

impl JsonSchema for RecordType {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RecordType".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
        json_schema!({
            "anyOf": [
                {"type": "string", "enum": names, "x-noun": "type", "x-more": "its number"},
                {"type": "integer", "minimum": 1, "maximum": 65535},
            ],
        })
    }
}
