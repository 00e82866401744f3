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

pub use frame::{Mac, link_local, may_concern};
pub use lacp::is_slow;
pub use pool::{Pool, PoolClient, PoolConfig, Protocol};
pub use router::{RouterFinder, RouterFinders};
pub use vlans::{ClientVlans, EachVlan};

/// UDP ports of clients, over IPv4 and over IPv6.
const CLIENT_PORT_V4: u16 = dhcp::CLIENT_PORT;
const CLIENT_PORT_V6: u16 = dhcp6::CLIENT_PORT;
/// A type of frames, and whether one may be for a host by the bytes after it.
type DirectFrames = (u16, fn(&[u8]) -> bool);
/// Protocols of hosts directly over Ethernet.
const DIRECT: [DirectFrames; 3] =
    [(lldp::ETHERTYPE, |_| true), (pppoe::DISCOVERY, |_| true), (pppoe::SESSION, pppoe::is_control)];
