//! DHCP clients behind a port (RFC 2131), thousands of them: each gets an address, keeps it, and gives it back at the end.
//!
//! Not here: a check by ARP that nobody else has an address (RFC 2131 section 2.2): two clients with one address are counted;
//! INIT-REBOOT and INFORM.
//!
//! Invariant: clients begin no faster than at the rate, and never more than the limit wait for an address at a time.

mod client;
mod clients;
mod message;

pub use client::ClientTally;
pub use clients::{ClientView, DhcpClients, DhcpConfig, DhcpCounts, HeldLease, Lease, RelayInfo};
pub use message::{MessageType, Reply};
