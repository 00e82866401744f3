//! OSPF routers of a port.

use crate::protocols::routing::{Prefixes, Routing, change};
use ::ospf::{RouterConfig, Version};
use std::net::Ipv6Addr;
use units::{Nanos, Schedule};

/// OSPF routers of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OspfPlan {
    /// The routers; their hosts are the port's.
    pub routers: Vec<RouterConfig>,
    /// LSAs that a router floods in a second, at most.
    pub rate: u32,
    /// Maximum time until all adjacencies are full and all routes advertised.
    pub timeout: Nanos,
    /// Time to wait after that.
    pub settle: Nanos,
    /// Seed of what is random.
    pub seed: u64,
}

impl Routing for OspfPlan {
    fn ranges(&self) -> usize {
        self.routers.iter().map(|router| router.routes.len()).sum()
    }

    fn share_out(&mut self, share: &mut dyn FnMut(Prefixes) -> Prefixes) {
        for router in &mut self.routers {
            change(&mut router.routes, |routes| {
                for range in &mut *routes {
                    let Some(first) = range.prefix(router.number, 0) else { continue };
                    let (prefix_len, step) = (range.prefix_len, range.step);
                    let shared = share(Prefixes { first, prefix_len, step, count: range.count });
                    (range.first, range.count, range.same) = (first, shared.count, true);
                    range.schedule = Schedule::default();
                }
                routes.retain(|range| range.count > 0);
            });
        }
    }

    fn withdraw_once(&mut self, withdraw: Nanos, again: Nanos) {
        let schedule = Schedule { until: Some(withdraw), again: Some(again), ..Schedule::default() };
        for router in &mut self.routers {
            change(&mut router.routes, |routes| {
                routes.iter_mut().for_each(|range| range.schedule = schedule)
            });
        }
    }

    fn link_locals(&self) -> Vec<(usize, Ipv6Addr)> {
        let third = self.routers.iter().filter(|router| router.version == Version::V3);
        third.map(|router| (router.host, router.link_local)).collect()
    }
}
