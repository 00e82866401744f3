//! Two sides of routers with a link between them that loses, copies, delays and reorders, on virtual time.

use linkstate::{Router, RouterHost, Routers, RoutersConfig};
use std::collections::BTreeMap;
use std::fmt::Debug;
use units::Nanos;

pub(crate) const SECOND: Nanos = Nanos::from_secs(1);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    pub(crate) loss_percent: u64,
    pub(crate) copies_percent: u64,
    pub(crate) delay: Nanos,
    pub(crate) jitter: Nanos,
}

pub(crate) const CLEAN: Link =
    Link { loss_percent: 0, copies_percent: 0, delay: Nanos::from_micros(100), jitter: Nanos::ZERO };

pub(crate) struct World<R: Router> {
    pub(crate) sides: [Routers<R>; 2],
    link: Link,
    /// Frames under way: when they arrive, a number, the side they arrive at.
    pub(crate) air: BTreeMap<(Nanos, u64), (usize, Vec<u8>)>,
    pub(crate) now: Nanos,
    /// Number of draws, and so the number of the next frame.
    pub(crate) sent: u64,
    seed: u64,
    pub(crate) is_cut: bool,
    /// Whether frames are dropped that are for no router.
    pub(crate) is_deaf: bool,
    /// Bytes of the longest frame that arrives in the east.
    pub(crate) longest: usize,
    /// The last frame of each side.
    pub(crate) last: [Vec<u8>; 2],
    may_concern: fn(&[u8]) -> bool,
}

fn side<C>(side: u8, routers: Vec<C>) -> RoutersConfig<C> {
    let hosts = vec![RouterHost { mac: [2, 0, 0, 0, 0, side], vlans: wire::Vlans::NONE, mtu: 1_500 }];
    RoutersConfig { hosts, routers, rate: 20_000, seed: u64::from(side) }
}

impl<R: Router<Counts: Debug>> World<R> {
    pub(crate) fn between(
        seed: u64,
        link: Link,
        routers: [R::Config; 2],
        may_concern: fn(&[u8]) -> bool,
    ) -> Self {
        let [west, east] = routers;
        let sides = [side(1, vec![west]), side(2, vec![east])].map(Routers::new);
        let mut world = Self {
            sides,
            link,
            air: BTreeMap::new(),
            now: Nanos(1),
            sent: 0,
            seed,
            is_cut: false,
            is_deaf: false,
            longest: 1_514,
            last: [Vec::new(), Vec::new()],
            may_concern,
        };
        world.sides.iter_mut().for_each(|side| side.begin(Nanos(1), 1_700_000_000));
        world
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.sent += 1;
        random::below(random::word(random::key(self.seed), self.sent), below)
    }

    fn transmit(&mut self, from: usize) {
        let mut frames = Vec::new();
        self.sides[from].poll(self.now, &mut frames);
        for frame in frames {
            assert!((self.may_concern)(&frame) && frame.len() <= 1_514, "{} bytes", frame.len());
            self.last[from].clone_from(&frame);
            let copies = 1 + u64::from(self.draw(100) < self.link.copies_percent);
            for _ in 0..copies {
                let is_lost = self.draw(100) < self.link.loss_percent
                    || self.is_cut
                    || from == 0 && frame.len() > self.longest;
                let at = self.now + self.link.delay + Nanos(self.draw(self.link.jitter.0 + 1));
                if !is_lost {
                    self.air.insert((at, self.sent), (1 - from, frame.clone()));
                }
            }
        }
    }

    /// Runs until `until`, or until `is_done`; returns whether it is.
    pub(crate) fn run(&mut self, until: Nanos, mut is_done: impl FnMut(&mut Self) -> bool) -> bool {
        loop {
            (0..2).for_each(|side| self.transmit(side));
            if is_done(self) {
                return true;
            }
            let arrival = self.air.keys().next().map_or(Nanos::MAX, |(at, _)| *at);
            let due = self.sides.iter().map(Routers::next_due).min().unwrap();
            let next = arrival.min(due.max(Nanos(self.now.0 + 1)));
            if next > until {
                self.now = until;
                return false;
            }
            self.now = self.now.max(next);
            while let Some(entry) = self.air.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let (to, frame) = entry.remove();
                assert!(self.sides[to].take(self.now, &frame) || self.is_deaf);
            }
        }
    }

    pub(crate) fn settle(&mut self, within: Nanos) {
        let until = self.now + within;
        let is_settled = self.run(until, |world| world.sides.iter().all(Routers::is_settled));
        let reason = |side: &Routers<R>| side.router(0).failure().map(|why| why.to_string());
        let all = self.sides.each_ref().map(|side| (reason(side), side.counts()));
        assert!(is_settled, "after {within}: {all:#?}");
    }

    pub(crate) fn pass(&mut self, span: Nanos) {
        let until = self.now + span;
        self.run(until, |_| false);
    }

    pub(crate) fn start(&mut self) {
        let now = self.now;
        self.sides.iter_mut().for_each(|side| side.start(now));
    }

    pub(crate) fn counts(&self) -> [R::Counts; 2] {
        self.sides.each_ref().map(Routers::counts)
    }
}
