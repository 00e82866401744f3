//! A host's memberships of multicast groups: it reports its joins and leaves, and responds to queries (IGMPv2, RFC
//! 2236; IGMPv3, RFC 3376; MLDv1, RFC 2710; MLDv2, RFC 3810).
//!
//! Not here: a filter of what arrives; routers' side of the protocols; IGMPv1.
//!
//! Invariant: a group is reported as long as it is joined, and no group that was never joined is.

mod members;
mod message;
mod query;

pub use members::{GroupCounts, GroupHost, GroupMembers, Membership};
