//! LLDP agents of a port and its hosts (IEEE 802.1AB): they advertise themselves, and keep what neighbours advertise.
//!
//! Not here: other groups of addresses than that of the nearest bridge for what is sent; VLANs: LLDP is for the link.
//!
//! Invariant: a neighbour is kept no longer than its TTL, and never more than [`NEIGHBOURS_MAX`] of them.

mod agents;
mod message;

pub use agents::{LldpAgents, LldpConfig, LldpCounts, LldpNeighbour, NEIGHBOURS_MAX, lldp_ttl_s};
pub(crate) use message::ETHERTYPE;
pub use message::{Advert, CAPABILITIES, Capabilities, LldpId, LldpMessage, OrganizationTlv, TEXT_MAX};
