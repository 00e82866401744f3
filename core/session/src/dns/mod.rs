//! DNS over UDP and TCP, both ends. Source: RFC 1035, RFC 7766 for TCP, RFC 6891 for sizes.

mod client;
mod plan;
mod server;
mod wire;

pub(crate) use client::Client;
pub use plan::{DnsAnswer, DnsPlan, DnsQuery, DnsRule};
pub(crate) use server::Server;

#[cfg(test)]
mod tests;
