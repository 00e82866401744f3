//! Changes of speed: which streams, how fast, from when on.
//!
//! A change waits until everything that was due before it has been taken, so no slot is ever due by two speeds, and
//! [`Schedule::poll`] only has to compare one instant more.

use crate::class::Class;
use crate::factor::Factor;
use crate::schedule::{Schedule, Source};
use units::Nanos;

/// Ids of classes without a rate begin here; below are the ids of `sources`.
const GREEDY: u32 = 1 << 31;

/// Marks a stream whose slots are all sent by other workers.
const ELSEWHERE: u32 = u32::MAX;

/// Up to one in this number, streams that leave a class are separate; more than that stay together.
const SINGLY: usize = 16;

/// A change of speed.
#[derive(Debug, Clone)]
pub(crate) struct RateChange {
    at: Nanos,
    factor: Factor,
    /// Ids of what it changes, ascending; `None` is everything.
    targets: Option<Vec<u32>>,
}

/// Where a stream is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Home {
    stream: u32,
    /// Id of its class or process, and its place in there.
    id: u32,
    place: u32,
}

impl Schedule {
    /// Scales the speed by `factor` for `streams` (all if `None`) from `at` on: rates, gaps, bursts, delays and curves
    /// alike. The factor is of the loads the schedule was made with, not of earlier factors, so [`Factor::ONE`] always
    /// brings these back; [`Factor::ZERO`] holds the streams, and they continue where they were. Streams without a rate
    /// know no speed and are only held or not. A chain has one time: it changes with any of its streams.
    ///
    /// `at` must be later than every `now` that was polled; changes are made in the order of their instants. Packets
    /// due before stay due. Workers with the same changes in the same order still act as one sender. An even load stays
    /// exact; for the others, it is the departure at factor 1, rounded to the nanosecond, that is scaled.
    ///
    /// Allocates. Takes time in proportion to the streams named, the first time to all streams of the schedule; when the
    /// change is due, a poll takes time in proportion to the classes and streams that change.
    pub fn scale(&mut self, streams: Option<&[u32]>, factor: Factor, at: Nanos) {
        let targets = streams.map(|streams| self.separate(streams));
        let place = self.changes.partition_point(|change| change.at <= at);
        self.changes.insert(place, RateChange { at, factor, targets });
        self.change_at = self.changes[0].at;
    }

    /// Ends `streams`, held or not: they send no more. Returns how many of their packets were due before `until` and have
    /// not been taken. A chain ends with any of its streams.
    ///
    /// Allocates; takes time in proportion to the streams named, the first time to all streams of the schedule.
    pub fn give_up(&mut self, streams: &[u32], until: Nanos) -> u64 {
        let (mut owed, until) = (0, until.min(self.end()));
        for id in self.separate(streams) {
            match id.checked_sub(GREEDY) {
                None => {
                    let source = &mut self.sources[id as usize];
                    owed += source.owed(std::iter::empty(), until);
                    source.give_up();
                }
                Some(id) => self.greedy[id as usize].give_up(),
            }
        }
        self.heap.fill(self.sources.iter().map(Source::due));
        owed
    }

    /// Adds the streams of `other`: streams of numbers that no stream here has, for the same share. Numbers and times
    /// of the present ones are unchanged, and earlier changes of speed do not apply to the new ones. The end is this
    /// schedule's.
    ///
    /// Allocates; takes time in proportion to the classes and streams of both.
    pub fn join(&mut self, other: Self) {
        let (sources, greedy) = (self.sources.len() as u32, self.greedy.len() as u32);
        for change in &mut self.changes {
            change.targets.get_or_insert_with(|| (0..sources).chain(GREEDY..GREEDY + greedy).collect());
        }
        if let Some(homes) = &mut self.homes {
            let shift = |id: u32| if id < GREEDY { id + sources } else { id + greedy };
            let new = other.find_homes().into_iter().map(|home| Home { id: shift(home.id), ..home });
            homes.extend(new);
            homes.sort_by_key(|home| home.stream);
        }
        self.sources.extend(other.sources);
        self.greedy.extend(other.greedy);
        self.heap.fill(self.sources.iter().map(Source::due));
    }

    /// Makes the next change.
    pub(crate) fn make_change(&mut self) {
        let Some(change) = self.changes.pop_front() else { return };
        match &change.targets {
            None => {
                self.sources.iter_mut().for_each(|source| source.change(change.at, change.factor));
                self.greedy.iter_mut().for_each(|class| class.change(change.at, change.factor));
            }
            Some(ids) => {
                for id in ids {
                    match id.checked_sub(GREEDY) {
                        None => self.sources[*id as usize].change(change.at, change.factor),
                        Some(id) => self.greedy[id as usize].change(change.at, change.factor),
                    }
                }
            }
        }
        self.change_at = self.changes.front().map_or(Nanos::MAX, |change| change.at);
        self.heap.fill(self.sources.iter().map(Source::due));
    }

    /// Changes still to come for what is `id`.
    pub(crate) fn changes_of(&self, id: u32) -> impl Iterator<Item = (Nanos, Factor)> + '_ {
        let concerned = move |change: &&RateChange| {
            change.targets.as_ref().is_none_or(|ids| ids.binary_search(&id).is_ok())
        };
        self.changes.iter().filter(concerned).map(|change| (change.at, change.factor))
    }

    /// Takes `streams` out of classes they share with others; returns the ids of what has them now.
    fn separate(&mut self, streams: &[u32]) -> Vec<u32> {
        let homes = self.homes.take().unwrap_or_else(|| self.find_homes());
        let mut wanted: Vec<(u32, u32)> = Vec::with_capacity(streams.len());
        for stream in streams {
            let first = homes.partition_point(|home| home.stream < *stream);
            let same = homes[first..].iter().take_while(|home| home.stream == *stream);
            wanted.extend(same.map(|home| (home.id, home.place)));
        }
        self.homes = Some(homes);
        wanted.sort_unstable();
        wanted.dedup();
        let mut ids = Vec::new();
        for together in wanted.chunk_by(|a, b| a.0 == b.0) {
            let places: Vec<u32> = together.iter().map(|(_, place)| *place).collect();
            match together[0].0 {
                ELSEWHERE => {}
                id => self.take_from(id, &places, &mut ids),
            }
        }
        self.heap.fill(self.sources.iter().map(Source::due));
        ids.sort_unstable();
        ids
    }

    fn find_homes(&self) -> Vec<Home> {
        let mut homes = Vec::new();
        let class = |homes: &mut Vec<Home>, id: u32, class: &Class| {
            homes.extend(class.members().map(|(place, stream)| Home { stream, id, place }));
        };
        for (id, source) in (0..).zip(&self.sources) {
            match source {
                Source::Class(members) => class(&mut homes, id, members),
                Source::Process(process) => {
                    homes.extend(process.streams().map(|stream| Home { stream, id, place: 0 }));
                }
            }
        }
        for (id, members) in (GREEDY..).zip(&self.greedy) {
            class(&mut homes, id, members);
        }
        homes.sort_by_key(|home| home.stream);
        homes
    }

    /// Takes the streams at `places` out of what is `id`, unless they are all of it; adds to `ids` what has them then.
    fn take_from(&mut self, id: u32, places: &[u32], ids: &mut Vec<u32>) {
        let Some(class) = self.class(id) else {
            ids.push(id);
            return;
        };
        let (size, members) = class.size();
        let others = members - places.len();
        if others == 0 {
            ids.push(id);
        } else if others * SINGLY < size && others < places.len() {
            let others = class.members().map(|(place, _)| place);
            let others: Vec<u32> = others.filter(|place| places.binary_search(place).is_err()).collect();
            self.part_singly(id, &others);
            ids.push(id);
        } else if places.len() * SINGLY < size {
            ids.extend(self.part_singly(id, places));
        } else if let Some(part) = self.class(id).map(|class| class.part_together(places)) {
            ids.push(self.settle(id, part));
        }
    }

    fn part_singly(&mut self, id: u32, places: &[u32]) -> Vec<u32> {
        let Some(class) = self.class(id) else { return Vec::new() };
        let streams: Vec<u32> = class
            .members()
            .filter(|(place, _)| places.binary_search(place).is_ok())
            .map(|(_, s)| s)
            .collect();
        let singles = class.part_singly(places);
        for stream in streams {
            self.move_home(stream, id, ELSEWHERE, 0);
        }
        singles.into_iter().map(|single| self.settle(id, single)).collect()
    }

    /// Gives a class that was part of `old` a new id, and the pending changes of the old one.
    fn settle(&mut self, old: u32, part: Class) -> u32 {
        let id = if old < GREEDY { self.sources.len() as u32 } else { GREEDY + self.greedy.len() as u32 };
        let members: Vec<_> = part.members().collect();
        for (place, stream) in members {
            let from = if part.size().0 == 1 { ELSEWHERE } else { old };
            self.move_home(stream, from, id, place);
        }
        for targets in self.changes.iter_mut().filter_map(|change| change.targets.as_mut()) {
            if targets.binary_search(&old).is_ok() {
                targets.insert(targets.partition_point(|target| *target < id), id);
            }
        }
        if old < GREEDY {
            self.sources.push(Source::Class(part))
        } else {
            self.greedy.push(part)
        }
        id
    }

    fn move_home(&mut self, stream: u32, from: u32, id: u32, place: u32) {
        let Some(homes) = &mut self.homes else { return };
        let first = homes.partition_point(|home| home.stream < stream);
        let mut same = homes[first..].iter_mut().take_while(|home| home.stream == stream);
        if let Some(home) = same.find(|home| home.id == from) {
            (home.id, home.place) = (id, place);
        }
    }

    /// The class that is `id`, if it is one.
    fn class(&mut self, id: u32) -> Option<&mut Class> {
        match id.checked_sub(GREEDY) {
            Some(greedy) => self.greedy.get_mut(greedy as usize),
            None => match self.sources.get_mut(id as usize) {
                Some(Source::Class(class)) => Some(class),
                _ => None,
            },
        }
    }
}
