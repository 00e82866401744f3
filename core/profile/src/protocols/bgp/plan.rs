//! BGP sessions of a port's hosts.

use crate::protocols::routing::{Prefixes, Routing, change};
use ::bgp::{PeerConfig, RouteRange};
use std::net::IpAddr;
use units::Nanos;

/// BGP sessions of a port's hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BgpPlan {
    /// The speakers and their peers; the hosts are the port's.
    pub peers: Vec<PeerConfig>,
    /// Of each, the neighbour of its host that leads to the peer: often the peer itself.
    pub hops: Vec<IpAddr>,
    /// Connections opened in a second, at most.
    pub rate: u32,
    /// Maximum time until all sessions are established and all routes advertised.
    pub timeout: Nanos,
    /// Time to wait after that.
    pub settle: Nanos,
    /// Whether traffic also starts without a session, and immediately when one has ended: the test examines whether the
    /// device keeps them.
    pub may_fail: bool,
    /// Seed of what is random.
    pub seed: u64,
}

impl Routing for BgpPlan {
    fn ranges(&self) -> usize {
        self.peers.iter().map(|peer| peer.routes.len()).sum()
    }

    fn share_out(&mut self, share: &mut dyn FnMut(Prefixes) -> Prefixes) {
        for peer in &mut self.peers {
            let number = peer.identity.number;
            change(&mut peer.routes, |routes| {
                for range in routes.iter_mut().filter(|range| range.table.is_none()) {
                    let Some(first) = range.prefix(number, 0) else { continue };
                    let (prefix_len, step) = (range.prefix_len, range.step);
                    let shared = share(Prefixes { first, prefix_len, step, count: range.count });
                    (range.first, range.count, range.same) = (first, shared.count, true);
                    (range.advertise, range.withdraw, range.flap) = (Nanos::ZERO, None, None);
                }
                routes.retain(|range| range.count > 0);
            });
        }
    }

    fn withdraw_once(&mut self, withdraw: Nanos, again: Nanos) {
        // A range is advertised once: for the second time it is there twice.
        let twice = |range: RouteRange| {
            let first = RouteRange { advertise: Nanos::ZERO, withdraw: Some(withdraw), flap: None, ..range };
            let second = RouteRange { advertise: again, withdraw: None, ..first.clone() };
            [first, second]
        };
        for peer in &mut self.peers {
            change(&mut peer.routes, |routes| {
                *routes = std::mem::take(routes).into_iter().flat_map(twice).collect();
            });
        }
    }

    fn let_fail(&mut self) {
        self.may_fail = true;
    }

    fn has_file(&self, is_v4: bool) -> bool {
        let mut ranges = self.peers.iter().flat_map(|peer| peer.routes.iter());
        ranges.any(|range| range.table.is_some() && range.first.is_ipv4() == is_v4)
    }
}
