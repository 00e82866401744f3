//! DHCP clients behind a port (RFC 2131), thousands of them: each gets an address, keeps it, and gives it back at the end.
//!
//! An address that a neighbour has (RFC 2131 section 4.4.1, RFC 5227), or another client here, is declined, if clients check.
//!
//! Not here: INIT-REBOOT and INFORM; announcements, and the defence of an address that is in use (RFC 5227 sections 2.3 and 2.4).
//!
//! Invariant: clients begin no faster than at the rate, and never more than the limit wait for an address at a time.

mod client;
mod clients;
mod message;

pub use client::ClientTally;
pub use clients::{
    ClientView, DhcpClients, DhcpConfig, DhcpCounts, DhcpProtocol, HeldLease, Lease, RelayInfo,
};
pub(crate) use message::CLIENT_PORT;
pub use message::{MessageType, Reply};
