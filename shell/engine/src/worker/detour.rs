//! Changes of workers when a neighbour has another hardware address.
//!
//! Not here: what of a trial goes to the neighbour (`trial::follow`).

use super::tunnels::TunnelMap;
use neighbour::Mac;
use session::plan::Side;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;
use tcp::GroupTunnel;

/// Servers and the hardware address that one host sends to for them.
pub(crate) type ServerHops = Vec<(RangeInclusive<IpAddr>, Mac)>;

/// Changes for workers.
#[derive(Debug)]
pub(crate) struct Detour {
    /// Of all moves of the trial.
    pub(crate) number: u64,
    /// Index of the port.
    pub(crate) port: usize,
    pub(crate) from: Mac,
    pub(crate) to: Mac,
    /// Indices of the streams that go there, ascending.
    pub(crate) streams: Vec<u32>,
    /// Those of them whose packets are followed by their numbers.
    pub(crate) measured: Vec<u32>,
    pub(crate) sessions: Vec<SessionDetour>,
    /// Sides of entries whose tunnel goes there, as it is now.
    pub(crate) tunnels: Vec<(usize, Side, GroupTunnel)>,
    /// All tunnels of the port, if one goes there.
    pub(crate) map: Option<Arc<TunnelMap>>,
}

/// Sessions of one side of an entry, and one of its hosts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SessionDetour {
    pub(crate) entry: usize,
    pub(crate) side: Side,
    /// Its place among the side's.
    pub(crate) host: usize,
    /// The peers that are reached through the neighbour.
    pub(crate) remotes: Vec<RangeInclusive<IpAddr>>,
    /// Of clients, how all servers are reached now.
    pub(crate) hops: ServerHops,
}
