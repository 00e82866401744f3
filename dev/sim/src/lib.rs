//! Links and model devices under test in virtual time: ports that the engine can't distinguish from real ones, and a
//! clock that jumps from event to event.
//!
//! A frame sent on a port crosses a link, a device and another link. A link has a rate, a delay, and by seed loses,
//! duplicates and delays frames. The device is a wire, a router with a capacity and a buffer, or a switch with a table
//! of addresses and a memory; a firewall with a table of sessions, a NAT or a load balancer with known rules, may be before it.
//!
//! Not here: what is sent and measured; that is the engine's, unchanged.
//!
//! Invariant: the same seed and the same calls give the same frames at the same instants, bit for bit.

#![forbid(unsafe_code)]

mod balancer;
mod device;
mod firewall;
mod link;
mod nat;
mod ports;
mod random;
mod switch;
mod world;

pub use balancer::{Balancer, BalancerModel, BalancerRule};
pub use device::{RouterModel, RouterPort};
pub use firewall::FirewallModel;
pub use link::LinkModel;
pub use nat::{Nat, NatKey, NatModel, NatPorts};
pub use ports::{SimClock, SimPort};
pub use switch::{SwitchMemory, SwitchModel, SwitchQueues};
pub use world::{
    SimCounts, Tap, Topology, build, build_balanced, build_behind, build_switched, build_translated,
};
