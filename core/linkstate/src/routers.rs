//! The routers behind a port: which frame is for whom, and what they do together.

use histogram::Timing;
use std::fmt::{Debug, Display};
use units::{Nanos, Tally};
use wire::Vlans;

/// Routers begin one after the other, so far apart: so their hellos don't come all at once.
pub const APART: Nanos = Nanos::from_millis(2);
/// Link states that the databases of all routers of a port take.
const DATABASE_MAX: usize = 1_000_000;

/// A host that may be a router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouterHost {
    /// Its hardware address.
    pub mac: [u8; 6],
    /// VLANs it lives in, outermost first.
    pub vlans: Vlans,
    /// Bytes of the longest packet.
    pub mtu: u16,
}

/// Limits of a router, and the source of what is random in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Link states that its databases take.
    pub room: usize,
    /// Link states that it floods in a second, at most.
    pub rate: u32,
    /// Seed of what is random.
    pub seed: u64,
}

/// A router of a link-state protocol.
pub trait Router: Debug + Sized {
    /// Its settings.
    type Config;
    /// Its counters.
    type Counts: Default + Tally;
    /// Why an adjacency is missing or was lost.
    type Failure: Copy + Display;
    /// A packet of the protocol.
    type Received<'a>;

    /// Index of the host that is a router with these settings.
    fn host(config: &Self::Config) -> usize;

    /// A router that has not begun.
    fn new(config: Self::Config, host: &RouterHost, limits: Limits) -> Self;

    /// The packet in a frame, if it is one of the protocol.
    fn read(frame: &[u8]) -> Option<Self::Received<'_>>;

    /// Whether a packet is meant for it.
    fn is_meant(&self, received: &Self::Received<'_>) -> bool;

    /// Whether a packet that is for none of the routers is for others of its network, and for no other part of the tester.
    fn is_for_others(_received: &Self::Received<'_>) -> bool {
        false
    }

    /// Takes in a packet.
    fn take(&mut self, now: Nanos, received: &Self::Received<'_>);

    /// Starts sending hellos at `at`. `unix_s` is the time of day, s since 1970.
    fn begin(&mut self, at: Nanos, unix_s: u32);

    /// Traffic starts at `epoch`: times of routes count from there.
    fn start(&mut self, epoch: Nanos);

    /// Appends the frames that are due.
    fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>);

    /// When something is due.
    fn next_due(&self) -> Nanos;

    /// Whether it has all its adjacencies.
    fn is_up(&self) -> bool;

    /// Whether it has them on both sides, and its neighbours have received all that it advertises.
    fn is_settled(&self) -> bool;

    /// Why it lacks an adjacency; `None` if it lacks none.
    fn failure(&self) -> Option<Self::Failure>;

    /// Why it first lost an adjacency unexpectedly.
    fn first_loss(&self) -> Option<Self::Failure>;

    /// Time from its first hello until it first had all its adjacencies.
    fn set_up(&self) -> Option<Nanos>;

    /// Whether a command has taken it down.
    fn is_down(&self) -> bool;

    /// Takes it down or up; returns whether that is a change.
    fn set(&mut self, now: Nanos, up: bool) -> bool;

    /// Advertises a range of routes, or withdraws it, regardless of its times.
    fn set_range(&mut self, range: usize, up: bool);

    /// Withdraws all that it advertises, then ends its adjacencies.
    fn shut(&mut self, now: Nanos);

    /// Whether that is done.
    fn is_over(&self) -> bool;

    /// Counters.
    fn counts(&self) -> &Self::Counts;
}

/// The routers of a port.
#[derive(Debug, Clone)]
pub struct RoutersConfig<C> {
    /// The port's hosts.
    pub hosts: Vec<RouterHost>,
    /// The routers.
    pub routers: Vec<C>,
    /// Link states that a router floods in a second, at most; of a protocol with levels, at each of them.
    pub rate: u32,
    /// Seed of what is random.
    pub seed: u64,
}

/// Routers behind a port.
#[derive(Debug)]
pub struct Routers<R> {
    all: Vec<R>,
}

impl<R: Router> Routers<R> {
    /// These routers.
    ///
    /// # Panics
    /// If a router's host is not among the hosts.
    pub fn new(config: RoutersConfig<R::Config>) -> Self {
        let RoutersConfig { hosts, routers, rate, seed } = config;
        let (room, key) = (DATABASE_MAX / routers.len().max(1), random::key(seed));
        let router = |(number, router): (u64, R::Config)| {
            let limits = Limits { room, rate, seed: random::word(key, number) };
            let host = R::host(&router);
            R::new(router, &hosts[host], limits)
        };
        Self { all: (0u64..).zip(routers).map(router).collect() }
    }

    /// A router.
    ///
    /// # Panics
    /// If there is none with this number.
    pub fn router(&self, number: usize) -> &R {
        &self.all[number]
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &R> {
        self.all.iter()
    }

    /// Starts sending hellos. `unix_s` is the time of day, s since 1970: numbers that must grow are higher than in an earlier run.
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
        let Some(received) = R::read(frame) else { return false };
        let mut is_ours = false;
        for router in self.all.iter_mut().filter(|router| router.is_meant(&received)) {
            router.take(now, &received);
            is_ours = true;
        }
        is_ours || R::is_for_others(&received)
    }

    /// Appends the frames that are due.
    pub fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        for router in self.all.iter_mut().filter(|router| router.next_due() <= now) {
            router.poll(now, frames);
        }
    }

    /// When something is due.
    pub fn next_due(&self) -> Nanos {
        self.all.iter().map(R::next_due).min().unwrap_or(Nanos::MAX)
    }

    /// Whether there are all adjacencies, on both sides, and the device has all that is advertised. Routers that were taken down do not count.
    pub fn is_settled(&self) -> bool {
        self.all.iter().all(|router| router.is_down() || router.is_settled())
    }

    /// Routers with all their adjacencies.
    pub fn up(&self) -> usize {
        self.all.iter().filter(|router| router.is_up()).count()
    }

    /// The first router that lost an adjacency, and why.
    pub fn first_loss(&self) -> Option<(usize, R::Failure)> {
        self.all.iter().enumerate().find_map(|(number, router)| Some((number, router.first_loss()?)))
    }

    /// Takes a router down or up; returns whether that is a change.
    pub fn set_router(&mut self, now: Nanos, router: usize, up: bool) -> bool {
        self.all[router].set(now, up)
    }

    /// Advertises a router's range of routes, or withdraws it, regardless of its times.
    pub fn set_range(&mut self, router: usize, range: usize, up: bool) {
        self.all[router].set_range(range, up);
    }

    /// Withdraws all that is advertised and ends all adjacencies.
    pub fn shut(&mut self, now: Nanos) {
        self.all.iter_mut().for_each(|router| router.shut(now));
    }

    /// Whether that is done.
    pub fn is_over(&self) -> bool {
        self.all.iter().all(R::is_over)
    }

    /// Counters of all.
    pub fn counts(&self) -> R::Counts {
        let mut all = R::Counts::default();
        self.all.iter().for_each(|router| all.tally(router.counts()));
        all
    }

    /// Times from the first hello until a router first had all its adjacencies.
    pub fn set_up_times(&self) -> Timing {
        let mut all = Timing::default();
        self.all.iter().filter_map(R::set_up).for_each(|time| all.record(time.0));
        all
    }
}
