//! DNS over UDP, TCP, QUIC (`quic`) and HTTPS (`https`), both ends. Source: RFC 1035, RFC 7766 for TCP, RFC 9250 for QUIC, RFC 8484 for
//! HTTPS, RFC 6891 for sizes, RFC 7830 and RFC 8467 for padding.

mod client;
mod https;
mod plan;
mod quic;
mod server;
mod wire;

pub(crate) use client::Client;
pub(crate) use https::{Client as HttpsClient, Https3Link, HttpsLink, Server as HttpsServer};
pub use plan::{DnsAnswer, DnsHttps, DnsPlan, DnsQuery, DnsRule};
pub(crate) use quic::{Client as QuicClient, QuicLink, Server as QuicServer};
pub(crate) use server::Server;

#[cfg(test)]
mod tests;
