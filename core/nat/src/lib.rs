//! Address translators (NAT), seen from both ends.
//!
//! A tester at both ends knows every [`Mapping`]: the endpoint that a packet was sent from, and its source where it arrived.
//! [`Analysis`] finds the rules behind mappings in the terms of RFC 4787; [`compare`] holds them against the translator's own log.
//!
//! Not here: sending packets, and recognising them.
//!
//! Separate because methods store its findings, the tester makes its mappings, and the command line compares logs.
//!
//! Invariant: nothing is judged by too few samples; every share has their number.

#![forbid(unsafe_code)]

mod analysis;
mod ipfix;
mod log;
mod packet;
mod share;

pub use analysis::{Analysis, Block, Dependence, Filtering, Judged, Pooling, ProbeFrom};
pub use ipfix::{Exports, is_ipfix, is_message};
pub use log::{Comparison, LogError, LogFormat, Mismatch, Pattern, Record, compare};
pub use packet::{Datagram, Quoted, UdpPayload, end_of_packet, payload_of_udp, quoted};
pub use share::Share;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;

/// A transport protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
}

impl Protocol {
    /// By its number in IP headers.
    pub fn of_number(number: u8) -> Option<Self> {
        match number {
            6 => Some(Self::Tcp),
            17 => Some(Self::Udp),
            _ => None,
        }
    }

    /// By its name or number.
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            _ if name.eq_ignore_ascii_case("udp") => Some(Self::Udp),
            _ if name.eq_ignore_ascii_case("tcp") => Some(Self::Tcp),
            _ => Self::of_number(name.parse().ok()?),
        }
    }
}

/// An address and a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Endpoint {
    /// The address.
    pub address: IpAddr,
    /// The port.
    pub port: u16,
}

impl Endpoint {
    /// An address and a port.
    pub fn new(address: impl Into<IpAddr>, port: u16) -> Self {
        Self { address: address.into(), port }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        std::net::SocketAddr::new(self.address, self.port).fmt(f)
    }
}

/// A connection through the translator, by its first packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mapping {
    /// Its protocol.
    pub protocol: Protocol,
    /// Source, as the initiator sent it.
    pub inside: Endpoint,
    /// Destination, as the initiator sent it.
    pub to: Endpoint,
    /// Source, as it arrived.
    pub outside: Endpoint,
    /// Destination, as it arrived: `to`, unless the translator changes that, too (NAT64).
    pub remote: Endpoint,
    /// When it was sent, ns since 1970-01-01 UTC.
    pub sent_ns: u64,
    /// When it arrived, ns since 1970-01-01 UTC.
    pub arrived_ns: u64,
}
