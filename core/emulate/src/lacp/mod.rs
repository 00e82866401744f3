//! Link aggregation control on ports (IEEE 802.1AX clause 6.4): the ports of a lag find out whether their partner aggregates them,
//! too, and when each may carry traffic.
//!
//! Not here: distribution of frames over the ports of a lag: a stream names its port; version 2 TLVs (conversation-sensitive
//! collection and distribution); a marker generator.
//!
//! Invariant: a port distributes only while its partner is in sync and collects, and sends [`LACPDUS_A_SECOND`] LACPDUs in any second
//! at most.

mod lag;
mod message;
mod port;

pub use lag::run_lag;
pub use message::{LacpEnd, LacpPdu, LacpState, is_slow};
pub use port::{LACPDUS_A_SECOND, LacpConfig, LacpCounts, LacpMux, LacpPort, LacpReceive, LacpTrouble};

#[cfg(test)]
mod tests;
