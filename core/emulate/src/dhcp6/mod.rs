//! DHCPv6 clients behind a port (RFC 8415), thousands of them: each gets an address, or a delegated prefix, or both, keeps them,
//! and gives them back at the end.
//!
//! An address that a neighbour has (RFC 4862 section 5.4), or another client here, is declined.
//!
//! Not here: CONFIRM, INFORMATION-REQUEST, reconfiguration, relays; several addresses of a client.
//!
//! Invariant: clients begin no faster than at the rate, and never more than the limit wait for a reply at a time.

mod client;
mod clients;
mod message;

pub use client::ClientTally6;
pub use clients::{ClientView6, Dhcp6Clients, Dhcp6Config, Dhcp6Counts, Dhcp6Protocol, HeldLease6, Lease6};
pub(crate) use message::CLIENT_PORT;
pub use message::{Message6, MessageType6};
