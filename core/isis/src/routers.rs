//! The routers behind a port: which frame is for whom, and what they do together.

use crate::Mac;
use crate::counts::{IsisCounts, LevelCounts};
use crate::database::Database;
use crate::failure::Failure;
use crate::neighbour::{Neighbour, NeighbourView};
use crate::pdu::Received;
use crate::router::{Router, RouterConfig};
use histogram::Timing;
use units::Nanos;
use wire::Vlans;

/// LSPs that the databases of all routers of a port take.
const DATABASE_MAX: usize = 1_000_000;
/// Routers begin one after the other, so far apart: so their hellos don't come all at once.
const APART: Nanos = Nanos::from_millis(2);

/// A host that may be a router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IsisHost {
    /// Its hardware address.
    pub mac: Mac,
    /// VLANs it lives in, outermost first.
    pub vlans: Vlans,
    /// Bytes of the longest packet.
    pub mtu: u16,
}

/// The routers of a port.
#[derive(Debug, Clone)]
pub struct RoutersConfig {
    /// The port's hosts.
    pub hosts: Vec<IsisHost>,
    /// The routers.
    pub routers: Vec<RouterConfig>,
    /// LSPs that a router floods in a second at a level, at most.
    pub rate: u32,
    /// Seed of what is random: of the instants at which routers begin.
    pub seed: u64,
}

/// Routers behind a port.
#[derive(Debug)]
pub struct Routers {
    all: Vec<Router>,
    seed: u64,
}

impl Routers {
    /// These routers.
    ///
    /// # Panics
    /// If a router's host is not among the hosts.
    pub fn new(config: RoutersConfig) -> Self {
        let RoutersConfig { hosts, routers, rate, seed } = config;
        let room = DATABASE_MAX / routers.len().max(1);
        let router = |router: RouterConfig| {
            let host = &hosts[router.host];
            Router::new(router, (host.mac, host.vlans.clone(), host.mtu), room, rate)
        };
        Self { all: routers.into_iter().map(router).collect(), seed }
    }

    /// Starts sending hellos.
    pub fn begin(&mut self, now: Nanos) {
        let key = random::key(self.seed);
        for (number, router) in (0u64..).zip(&mut self.all) {
            router.begin(now + Nanos(number * APART.0 + random::below(random::word(key, number), APART.0)));
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
            if received.is_for(&router.sender.mac) && received.vlans == router.sender.vlans {
                router.take(now, &received);
                is_ours = true;
            }
        }
        is_ours
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

    /// Whether there are all adjacencies, on both sides, and the device has all LSPs. Routers that were taken down do not count.
    pub fn is_settled(&self) -> bool {
        self.all.iter().all(|router| router.is_down() || router.is_settled())
    }

    /// Routers with all their adjacencies.
    pub fn up(&self) -> usize {
        self.all.iter().filter(|router| router.is_up()).count()
    }

    /// Whether a router has all its adjacencies.
    pub fn is_up(&self, router: usize) -> bool {
        self.all[router].is_up()
    }

    /// Whether it has, and the device's LSPs name it.
    pub fn is_mutual(&self, router: usize) -> bool {
        self.all[router].names_us()
    }

    /// Why a router lacks an adjacency; `None` if it lacks none.
    pub fn failure(&self, router: usize) -> Option<Failure> {
        self.all[router].failure()
    }

    /// The first router that lost an adjacency, and why.
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

    /// Purges all LSPs and ends all adjacencies.
    pub fn shut(&mut self, now: Nanos) {
        self.all.iter_mut().for_each(|router| router.shut(now));
    }

    /// Whether that is done.
    pub fn is_over(&self) -> bool {
        self.all.iter().all(Router::is_over)
    }

    /// Counters of all.
    pub fn counts(&self) -> IsisCounts {
        let mut all = IsisCounts::default();
        self.all.iter().for_each(|router| all += &router.counts);
        all
    }

    /// Counters of a router.
    pub fn counts_of(&self, router: usize) -> &IsisCounts {
        &self.all[router].counts
    }

    /// LSPs originated by a router: its own, and the LSPs of routers generated behind it.
    pub fn originated(&self, router: usize) -> u64 {
        self.all[router].originated()
    }

    /// Times from the first hello until a router first had all its adjacencies.
    pub fn set_up_times(&self) -> Timing {
        let mut all = Timing::default();
        self.all.iter().filter_map(|router| router.set_up).for_each(|time| all.record(time.0));
        all
    }

    /// Routes of all routers that are not advertised, because LSPs are shorter than those that the profile could know of: on a port with a
    /// smaller MTU.
    pub fn unfitting(&self) -> u64 {
        let of = |router: &Router| router.levels.iter().map(|level| level.own.unfitting).max().unwrap_or(0);
        self.all.iter().map(of).sum()
    }

    /// The neighbour of a router that counts: the designated system, or the one with which it got furthest.
    pub fn neighbour(&self, router: usize) -> Option<NeighbourView> {
        self.all[router].main().map(Neighbour::view)
    }

    /// All neighbours of a router.
    pub fn neighbours(&self, router: usize) -> impl Iterator<Item = NeighbourView> {
        self.all[router].neighbours.iter().map(Neighbour::view)
    }

    /// Adjacencies of a router by level.
    pub fn adjacencies(&self, router: usize) -> LevelCounts {
        self.all[router].adjacencies()
    }

    /// The circuit of the designated system of a router's LAN; `None` if there is none.
    pub fn designated(&self, router: usize) -> Option<String> {
        self.all[router].designated()
    }

    /// The LSPs of a router's neighbours, with the level.
    pub fn databases(&self, router: usize) -> impl Iterator<Item = (u8, &Database)> {
        self.all[router].levels.iter().map(|level| (level.number, &level.database))
    }

    /// Number of them, by level.
    pub fn held(&self, router: usize) -> LevelCounts {
        let mut held = LevelCounts::default();
        self.databases(router).for_each(|(level, database)| *held.of(level) += database.len() as u64);
        held
    }
}
