//! Multicast groups of a host.

use std::net::IpAddr;
use std::sync::Arc;
use units::Nanos;

/// The multicast groups of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MulticastPlan {
    /// Whether it uses only IGMPv2.
    pub igmp_v2: bool,
    /// Whether it uses only MLDv1.
    pub mld_v1: bool,
    /// Groups joined or left in a second, at most.
    pub rate: u32,
    /// Groups to join, and when.
    pub memberships: Vec<MembershipPlan>,
    /// Seed of the spread of its reports.
    pub seed: u64,
}

/// Groups that are joined together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MembershipPlan {
    /// The first group.
    pub first: IpAddr,
    /// The last one.
    pub last: IpAddr,
    /// Whether all sources but `sources` are wanted; otherwise only those.
    pub exclude: bool,
    /// Of the groups' family.
    pub sources: Arc<[IpAddr]>,
    /// When they are joined, after the start of traffic; zero is before it.
    pub join: Nanos,
    /// When they are left, after the start of traffic; `None` is after its end.
    pub leave: Option<Nanos>,
}
