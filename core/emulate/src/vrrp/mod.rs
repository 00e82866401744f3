//! Virtual routers: VRRP version 3 (RFC 9568; RFC 5798 before it) for IPv4 and IPv6, and version 2 (RFC 3768) for IPv4.
//!
//! [`VirtualRouters`] is all virtual routers of a port: frames and time in, frames out. Each elects an Active router with the others of
//! its VRID on the link, and while it is Active it replies for its virtual addresses with the virtual MAC address.
//!
//! Not here: forwarding. Test packets that reach the port are measured whichever router is Active.
//!
//! Invariant: a message that fails a check of RFC 9568 section 7.1 changes nothing but a counter.

mod message;
mod packet;
mod router;
mod routers;
#[cfg(test)]
mod tests;

pub use message::{VrrpAdvert, VrrpInvalid, VrrpVersion};
pub use packet::vrrp_may_concern;
pub use router::{VrrpChange, VrrpConfig, VrrpCounts, VrrpReason, VrrpRouter, VrrpState};
pub use routers::VirtualRouters;
