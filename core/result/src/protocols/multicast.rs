//! Multicast groups that hosts of a port are members of: their result, and their states while a trial runs.

use super::{HostState, HostsResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::count;

part! {
    /// Multicast groups of a port's host, from before traffic until it leaves them.
    pub struct MulticastResult {
        /// Groups joined.
        joined: u64 = COUNT;
        /// Groups left.
        left: u64 = COUNT;
        /// Frames with reports sent.
        reports: u64 = COUNT;
        /// Queries received.
        queries: u64 = COUNT;
        /// When the first group was joined while traffic ran, ns since it started.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_join_ns: Option<u64> = NANOS;
        /// When the first group was left while traffic ran, ns since it started.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_leave_ns: Option<u64> = NANOS;
    }
}

/// A multicast group that the host of a port is a member of.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupState {
    /// Name of the port in the profile.
    pub port: String,
    /// Address of the group.
    pub group: String,
    /// Filter mode: true excludes `sources`, false includes only those.
    pub exclude: bool,
    /// Sources.
    pub sources: Vec<String>,
    /// Time since it was joined, s.
    pub joined_for_s: f64,
}

impl HostsResult for MulticastResult {
    fn sentence(&self) -> String {
        format!("{} multicast groups joined, {} queries received", count(self.joined), count(self.queries))
    }
}

impl HostState for GroupState {
    fn end(&mut self) {}

    fn stays(&self) -> bool {
        false
    }
}
