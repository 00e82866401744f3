//! DNS of sessions, as written.

use crate::app_doc::{once, weight_one};
use crate::content_doc::{TextDoc, TimesDoc};
use crate::document::OneOrMany;
use crate::quantity::{Bytes, DelayText, Duration, Hex, Ip};
use crate::vary_doc::{OrderDoc, Weight};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use std::borrow::Cow;

/// DNS, over UDP unless the entry's transport is TCP.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Dns")]
pub(crate) struct DnsDoc {
    /// Names asked for. Several are taken in turn. Needed, or 'queries', if clients are played here.
    pub(crate) names: Option<TextDoc>,
    /// Type asked for: A unless given.
    #[serde(rename = "type")]
    pub(crate) kind: Option<RecordType>,
    /// Several queries by weight, in place of 'names' and 'type'.
    #[schemars(length(min = 1))]
    pub(crate) queries: Option<Vec<DnsQueryDoc>>,
    /// In which order queries come.
    #[serde(default)]
    pub(crate) order: OrderDoc,
    /// Queries of a session, one after the other.
    pub(crate) requests: Option<TimesDoc>,
    /// From an answer to the next query.
    pub(crate) think: Option<DelayText>,
    /// Whether servers shall ask others: yes unless given.
    pub(crate) recursion: Option<bool>,
    /// Bytes of UDP answers clients can take (EDNS): 1232B unless given; 512B says nothing about it.
    pub(crate) edns: Option<Bytes>,
    /// Over UDP: how often a query is sent again: 2 times unless given.
    #[schemars(range(min = 0, max = 255))]
    pub(crate) retries: Option<u8>,
    /// How long an answer is waited for before the query is sent again: 1s unless given.
    pub(crate) retry_after: Option<Duration>,
    /// Whether an answer with a code other than 0 fails the session: no unless given. It is counted in any case.
    #[serde(default)]
    pub(crate) errors_fail: bool,
    /// What servers answer: the first rule that fits; what none fits is no such name. Without rules: every name has
    /// the addresses 198.18.0.1 and 2001:2::1.
    pub(crate) rules: Option<Vec<DnsRuleDoc>>,
}

impl DnsDoc {
    /// Queries of a session; `None` is without end.
    pub(crate) fn times(&self) -> Option<u32> {
        self.requests.unwrap_or_else(once).times()
    }
}

/// One of several queries.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DnsQuery")]
pub(crate) struct DnsQueryDoc {
    /// The name.
    pub(crate) name: TextDoc,
    /// Type asked for: A unless given.
    #[serde(rename = "type")]
    pub(crate) kind: Option<RecordType>,
    /// How often it comes in relation to the others.
    #[serde(default = "weight_one")]
    pub(crate) weight: Weight,
}

/// A rule of a server.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DnsRule")]
pub(crate) struct DnsRuleDoc {
    /// Names it answers: this one and all below it. Without it: all.
    pub(crate) suffix: Option<String>,
    /// Types it answers. Without it: all.
    pub(crate) types: Option<OneOrMany<RecordType>>,
    /// Code of the answer: 0 no error, 2 server failure, 3 no such name, 5 refused.
    #[serde(default)]
    #[schemars(range(min = 0, max = 15))]
    pub(crate) code: u8,
    /// Records: those whose type is asked for are in the answer.
    #[serde(default)]
    pub(crate) answers: Vec<AnswerDoc>,
    /// How long answers may be remembered: 60s unless given.
    pub(crate) ttl: Option<Duration>,
    /// From the query to the answer.
    pub(crate) delay: Option<DelayText>,
    /// Answer nothing at all.
    #[serde(default)]
    pub(crate) silent: bool,
}

/// A record: an address, or a mapping.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum AnswerDoc {
    Address(Ip),
    Full(RecordDoc),
}

/// A record. Either 'address', or 'type' with 'data' or 'text'.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Record")]
pub(crate) struct RecordDoc {
    /// An address: A or AAAA. With 'count' the first of so many, one for each query in turn.
    pub(crate) address: Option<Ip>,
    /// How many addresses there are.
    #[schemars(range(min = 1))]
    pub(crate) count: Option<u64>,
    /// Type of any other record.
    #[serde(rename = "type")]
    pub(crate) kind: Option<RecordType>,
    /// Its data as on the wire.
    pub(crate) data: Option<Hex>,
    /// Its data as a text of at most 255 bytes (TXT).
    pub(crate) text: Option<String>,
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
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum RecordType {
    Number(u16),
    Name(String),
}

impl RecordType {
    /// Its number.
    pub(crate) fn number(&self) -> u16 {
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
