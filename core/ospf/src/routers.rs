//! The routers behind a port: which frame is for whom, and what they do together.

use crate::Mac;
use crate::counts::OspfCounts;
use crate::database::Database;
use crate::failure::Failure;
use crate::neighbour::NeighbourView;
use crate::packet::Received;
use crate::router::{Router, RouterConfig};
use histogram::Timing;
use std::net::Ipv4Addr;
use units::Nanos;
use wire::Vlans;

/// LSAs that the databases of all routers of a port take.
const DATABASE_MAX: usize = 1_000_000;
/// Routers begin one after the other, so far apart: so their Hello packets don't come all at once.
const APART: Nanos = Nanos::from_millis(2);

/// A host that may be a router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OspfHost {
    /// Its hardware address.
    pub mac: Mac,
    /// VLANs it lives in, outermost first.
    pub vlans: Vlans,
    /// Bytes of the longest IP packet.
    pub mtu: u16,
}

/// The routers of a port.
#[derive(Debug, Clone)]
pub struct RoutersConfig {
    /// The port's hosts.
    pub hosts: Vec<OspfHost>,
    /// The routers.
    pub routers: Vec<RouterConfig>,
    /// LSAs that a router floods in a second, at most.
    pub rate: u32,
    /// Seed of what is random.
    pub seed: u64,
}

/// Routers behind a port.
#[derive(Debug)]
pub struct Routers {
    all: Vec<Router>,
}

impl Routers {
    /// These routers.
    ///
    /// # Panics
    /// If a router's host is not among the hosts.
    pub fn new(config: RoutersConfig) -> Self {
        let RoutersConfig { hosts, routers, rate, seed } = config;
        let room = DATABASE_MAX / routers.len().max(1);
        let router = |(number, router): (u64, RouterConfig)| {
            let host = &hosts[router.host];
            let seed = random::word(random::key(seed), number);
            Router::new(router, (host.mac, host.vlans.clone(), host.mtu), room, rate, seed)
        };
        Self { all: (0u64..).zip(routers).map(router).collect() }
    }

    /// Starts sending Hellos. `unix_s` is the time of day, s since 1970: digests have higher numbers than in an earlier
    /// run.
    pub fn begin(&mut self, now: Nanos, unix_s: u32) {
        for (number, router) in (0u64..).zip(&mut self.all) {
            router.begin(now + Nanos(number * APART.0), unix_s);
        }
    }

    /// Traffic starts at `epoch`: times of routes count from there.
    pub fn start(&mut self, epoch: Nanos) {
        self.all.iter_mut().for_each(|router| router.start(epoch));
    }

    /// Takes in a frame; returns whether it was for one of the routers.
    pub fn take(&mut self, now: Nanos, frame: &[u8]) -> bool {
        let Some(received) = Received::read(frame) else { return false };
        let mut is_ours = false;
        for router in &mut self.all {
            let version = router.config.version;
            let is_meant = received.to == version.all_routers() || received.to == router.sender.ip;
            if is_meant && received.version == version && received.vlans == router.sender.vlans {
                router.take(now, &received);
                is_ours = true;
            }
        }
        is_ours || received.to == received.version.all_designated()
    }

    /// Appends the frames that are due.
    pub fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        for router in self.all.iter_mut().filter(|router| router.next_due() <= now) {
            router.poll(now, frames);
        }
    }

    /// When something is due.
    pub fn next_due(&self) -> Nanos {
        self.all.iter().map(Router::next_due).min().unwrap_or(Nanos::MAX)
    }

    /// Whether all adjacencies are full on both sides and all LSAs are acknowledged. Routers that were taken down do not count.
    pub fn is_settled(&self) -> bool {
        self.all.iter().all(|router| router.is_down() || router.is_settled())
    }

    /// Routers with a full adjacency.
    pub fn full(&self) -> usize {
        self.all.iter().filter(|router| router.is_full()).count()
    }

    /// Whether a router has a full adjacency.
    pub fn is_full(&self, router: usize) -> bool {
        self.all[router].is_full()
    }

    /// Whether a router's adjacency is full and its neighbour's LSAs confirm it.
    pub fn is_mutual(&self, router: usize) -> bool {
        self.failure(router).is_none()
    }

    /// Why a router has no full adjacency; `None` if it has one.
    pub fn failure(&self, router: usize) -> Option<Failure> {
        self.all[router].failure()
    }

    /// The first router that lost a full adjacency, and why.
    pub fn first_loss(&self) -> Option<(usize, Failure)> {
        self.all.iter().enumerate().find_map(|(number, router)| Some((number, router.first_loss?)))
    }

    /// Whether a command has taken a router down.
    pub fn is_down(&self, router: usize) -> bool {
        self.all[router].is_down()
    }

    /// Takes a router down or up; returns whether that is a change.
    pub fn set_router(&mut self, now: Nanos, router: usize, up: bool) -> bool {
        self.all[router].set(now, up)
    }

    /// Advertises a router's range of routes, or withdraws it, regardless of its times.
    pub fn set_range(&mut self, router: usize, range: usize, up: bool) {
        self.all[router].set_range(range, up);
    }

    /// Flushes all LSAs and ends all adjacencies.
    pub fn shut(&mut self, now: Nanos) {
        self.all.iter_mut().for_each(|router| router.shut(now));
    }

    /// Whether that is done.
    pub fn is_over(&self) -> bool {
        self.all.iter().all(Router::is_over)
    }

    /// Counters of all.
    pub fn counts(&self) -> OspfCounts {
        let mut all = OspfCounts::default();
        self.all.iter().for_each(|router| all += &router.counts);
        all
    }

    /// Counters of a router.
    pub fn counts_of(&self, router: usize) -> &OspfCounts {
        &self.all[router].counts
    }

    /// Router LSAs originated by a router: its own, and the LSAs of routers generated behind it.
    pub fn originated(&self, router: usize) -> u64 {
        self.all[router].routers()
    }

    /// Times from the first Hello packet to the first full adjacency.
    pub fn set_up_times(&self) -> Timing {
        let mut all = Timing::default();
        self.all.iter().filter_map(|router| router.set_up).for_each(|time| all.record(time.0));
        all
    }

    /// The neighbour of a router that counts: the designated router, or the one with which it got furthest.
    pub fn neighbour(&self, router: usize) -> Option<NeighbourView> {
        self.all[router].main().map(crate::neighbour::Neighbour::view)
    }

    /// The designated router of a router's network, and the backup: addresses in OSPFv2, identifiers in OSPFv3; unspecified if there is none.
    pub fn designated(&self, router: usize) -> (Ipv4Addr, Ipv4Addr) {
        (self.all[router].designated, self.all[router].backup)
    }

    /// The LSAs of a router's neighbours.
    pub fn database(&self, router: usize) -> &Database {
        &self.all[router].database
    }
}
