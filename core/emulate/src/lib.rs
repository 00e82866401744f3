//! Control protocols of emulated hosts, thousands of them behind a port: DHCP clients (RFC 2131, RFC 8415), and members of multicast
//! groups (IGMP, RFC 3376 and RFC 2236; MLD, RFC 3810 and RFC 2710); LLDP agents (IEEE 802.1AB); ports of lags (LACP, IEEE 802.1AX);
//! PPPoE clients (RFC 2516).
//!
//! Sans-IO: frames in, frames out, time as an argument, randomness from a seed.
//!
//! Not here: ARP, neighbour discovery and echo (`neighbour`); what traffic does with a lease or a group.
//!
//! Separate because a model router needs none of it, and its clients have timers and states where `neighbour` only
//! replies to requests.
//!
//! Invariant: a frame that is malformed, or for no host here, changes nothing.

#![forbid(unsafe_code)]

pub mod dhcp;
pub mod dhcp6;
mod frame;
pub mod groups;
pub mod lacp;
pub mod lldp;
mod pool;
pub mod pppoe;
mod router;
mod timing;
mod vlans;
pub mod vrrp;

pub use frame::{Mac, is_slow, link_local, may_concern};
pub use pool::{Pool, PoolClient, PoolConfig, Protocol};
pub use router::{RouterFinder, RouterFinders};
pub use vlans::{ClientVlans, EachVlan};
