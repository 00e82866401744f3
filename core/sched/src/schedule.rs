//! All streams of one port on one worker, and the order in which their slots are due.

use crate::class::{Class, ClassPosition};
use crate::factor::Factor;
use crate::heap::Heap;
use crate::load::{Chain, Pace, StreamLoad};
use crate::process::Process;
use crate::scale::{Home, RateChange};
use crate::train::Curves;
use std::collections::{HashMap, VecDeque};
use units::Nanos;

/// Which part of every class and stream is this worker's: slots `index`, `index + of`, ….
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// The worker's number among those that send on this port.
    pub index: u16,
    /// Number of them, at least 1.
    pub of: u16,
}

impl Share {
    /// All of it.
    pub const WHOLE: Self = Self { index: 0, of: 1 };
}

/// Packets to send: whose, which of their stream, and when they were due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slot {
    /// Index of the stream.
    pub stream: u32,
    /// Number of packets, all due at once; at least 1.
    pub run: u32,
    /// Number of the first packet in its stream, from 0, counted over all workers. The others follow.
    pub number: u64,
    /// When it is due; the instant of the poll for a stream without a rate.
    pub due: Nanos,
}

impl Slot {
    /// Whether `next` continues where this ends, at the same time.
    #[inline(always)]
    pub(crate) fn is_followed_by(&self, next: &Slot) -> bool {
        self.due == next.due
            && self.stream == next.stream
            && self.number.wrapping_add(self.run.into()) == next.number
    }
}

/// Source of slots due at set times.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Class(Class),
    Process(Process),
}

impl Source {
    #[inline(always)]
    pub(crate) fn due(&self) -> Nanos {
        match self {
            Source::Class(class) => class.due(),
            Source::Process(process) => process.due(),
        }
    }

    pub(crate) fn is_held(&self) -> bool {
        match self {
            Source::Class(class) => class.is_held(),
            Source::Process(process) => process.is_held(),
        }
    }

    pub(crate) fn change(&mut self, at: Nanos, factor: Factor) {
        match self {
            Source::Class(class) => class.change(at, factor),
            Source::Process(process) => process.change(at, factor),
        }
    }

    pub(crate) fn give_up(&mut self) {
        match self {
            Source::Class(class) => class.give_up(),
            Source::Process(process) => process.give_up(),
        }
    }

    pub(crate) fn owed(&self, changes: impl Iterator<Item = (Nanos, Factor)>, end: Nanos) -> u64 {
        match self {
            Source::Class(class) => class.owed(changes, end),
            Source::Process(process) => process.owed(changes, end),
        }
    }
}

/// Which stream sends next on one port. The default sends none.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// Classes and processes by when they are due next.
    pub(crate) heap: Heap,
    pub(crate) sources: Vec<Source>,
    /// Classes without a rate, which share the room that is left.
    pub(crate) greedy: Vec<Class>,
    greedy_turn: usize,
    /// Whether the end has come for them: what they have due stays at the time they sent last.
    greedy_over: bool,
    /// Changes of speed still to come, and when the first does.
    pub(crate) changes: VecDeque<RateChange>,
    pub(crate) change_at: Nanos,
    /// Position of every stream, once it was requested.
    pub(crate) homes: Option<Vec<Home>>,
    end: Nanos,
}

impl Default for Schedule {
    fn default() -> Self {
        Self::new(&[], &[], Nanos::ZERO, Nanos::ZERO, Share::WHOLE)
    }
}

impl Schedule {
    /// The schedule of `streams` (index and load) and `chains` from `start` until just before `start + duration`.
    ///
    /// The beginnings of even loads that differ are spread, over at most 1 ms; every other load begins at `start` plus its
    /// delay.
    pub fn new(
        streams: &[(u32, StreamLoad)],
        chains: &[Chain],
        start: Nanos,
        duration: Nanos,
        share: Share,
    ) -> Self {
        Self::beginning(streams, chains, start, duration, share, true)
    }

    /// The same, but all loads begin at `start` plus their delay unless beginnings are `spread`.
    pub fn beginning(
        streams: &[(u32, StreamLoad)],
        chains: &[Chain],
        start: Nanos,
        duration: Nanos,
        share: Share,
        spread: bool,
    ) -> Self {
        let mut curves = Curves::new();
        let mut loads: Vec<(&StreamLoad, Vec<u32>)> = Vec::new();
        let mut place: HashMap<&StreamLoad, usize> = HashMap::new();
        let mut processes = Vec::new();
        for (stream, load) in streams {
            if !matches!(load.pace, Pace::Even(_) | Pace::Max) {
                processes.push(Process::stream(*stream, load, start, share, &mut curves));
                continue;
            }
            let at = *place.entry(load).or_insert_with(|| {
                loads.push((load, Vec::new()));
                loads.len() - 1
            });
            loads[at].1.push(*stream);
        }
        processes.extend(chains.iter().map(|chain| Process::chain(chain, start, share, &mut curves)));
        let (paced, greedy): (Vec<_>, Vec<_>) = loads.into_iter().partition(|(load, _)| load.pace.is_paced());
        let alone = greedy.iter().map(|(_, streams)| streams.len()).sum::<usize>() == 1;
        let of = if spread { paced.len() } else { 1 };
        let class = |(index, (load, streams)): (usize, (&StreamLoad, Vec<u32>))| {
            let index = if spread { index } else { 0 };
            Class::new(streams, load, start, share, ClassPosition { index, of, alone })
        };
        let classes = paced.into_iter().enumerate().map(class).map(Source::Class);
        let mut schedule = Self {
            heap: Heap::default(),
            sources: classes.chain(processes.into_iter().map(Source::Process)).collect(),
            greedy: greedy.into_iter().enumerate().map(class).collect(),
            greedy_turn: 0,
            greedy_over: false,
            changes: VecDeque::new(),
            change_at: Nanos::MAX,
            homes: None,
            end: start.saturating_add(duration),
        };
        schedule.heap.fill(schedule.sources.iter().map(Source::due));
        schedule
    }

    /// Writes the slots due at or before `now` into `out`, earliest first, of at most `room` packets together; returns
    /// how many slots.
    ///
    /// Late slots are still returned, so a slow core appears in the pacing record instead of as a silently lower rate.
    /// Room that is left goes to streams without a rate, in turns.
    #[inline]
    pub fn poll(&mut self, now: Nanos, out: &mut [Slot], room: u32) -> usize {
        let mut room = room;
        let mut n = if self.sources.is_empty() { 0 } else { self.poll_paced(now, out, &mut room) };
        if now >= self.change_at {
            n += self.poll_changed(now, &mut out[n..], &mut room);
        }
        if self.greedy.is_empty() { n } else { n + self.poll_greedy(now, &mut out[n..], room) }
    }

    /// Makes the changes that are due, if nothing due before them is left, and takes what is due since.
    #[cold]
    fn poll_changed(&mut self, now: Nanos, out: &mut [Slot], room: &mut u32) -> usize {
        let mut n = 0;
        while !self.changes.is_empty()
            && now >= self.change_at
            && self.first_due() >= self.change_at.min(self.end)
        {
            self.make_change();
            n += self.poll_paced(now, &mut out[n..], room);
        }
        n
    }

    fn poll_paced(&mut self, now: Nanos, out: &mut [Slot], room: &mut u32) -> usize {
        let before = self.end.min(self.change_at);
        let limit = Nanos(now.0.min(before.0.saturating_sub(1)));
        let mut n = 0;
        while n < out.len() && *room > 0 {
            let Some(first) = self.heap.first().filter(|first| first.due <= limit) else { break };
            let until = limit.min(self.heap.second_due());
            let due = match &mut self.sources[first.source as usize] {
                Source::Class(class) => {
                    n += class.fill(until, &mut out[n..], room);
                    class.due()
                }
                Source::Process(process) => {
                    n += process.fill(until, &mut out[n..], room);
                    process.due()
                }
            };
            self.heap.set_first(due);
        }
        n
    }

    fn poll_greedy(&mut self, now: Nanos, out: &mut [Slot], mut room: u32) -> usize {
        if now >= self.end {
            self.greedy_over = true;
            return 0;
        }
        let mut n = 0;
        let mut idle = 0;
        while n < out.len() && room > 0 && idle < self.greedy.len() {
            let class = &mut self.greedy[self.greedy_turn];
            if class.due() <= now {
                let slot = class.slot(room);
                class.advance(&slot);
                room -= slot.run;
                out[n] = Slot { due: now, ..slot };
                n += 1;
                idle = 0;
            } else {
                idle += 1;
            }
            if self.greedy.len() > 1 {
                self.greedy_turn = (self.greedy_turn + 1) % self.greedy.len();
            }
        }
        n
    }

    /// Makes `now` the end, if it is earlier: what was due by then is still owed, the rest is not.
    pub fn stop(&mut self, now: Nanos) {
        self.end = self.end.min(now);
    }

    /// When the first paced slot is due, as things are now.
    fn first_due(&self) -> Nanos {
        self.heap.first().map_or(Nanos::MAX, |first| first.due)
    }

    /// When [`Schedule::poll`] next has slots, or a change of speed to make; [`Nanos::MAX`] when it never will again
    /// unless [`Schedule::scale`] is called. Whether that can help is given by [`Schedule::is_finished`].
    pub fn next_due(&self) -> Nanos {
        let greedy =
            self.greedy.iter().filter(|_| !self.greedy_over).map(Class::due).min().unwrap_or(Nanos::MAX);
        let next = self.first_due().min(greedy).min(self.change_at);
        if next < self.end { next } else { Nanos::MAX }
    }

    /// When the next slot of streams with a rate is due; streams without one are never late. [`Nanos::MAX`] if there is none.
    pub fn next_paced_due(&self) -> Nanos {
        Some(self.first_due()).filter(|due| *due < self.end).unwrap_or(Nanos::MAX)
    }

    /// Whether streams without a rate want all the room there is; not while they are held.
    pub fn is_greedy(&self) -> bool {
        !self.greedy_over && self.greedy.iter().any(|c| !c.is_finished() && !c.is_held())
    }

    /// Whether no slot is left before the end, neither as things are nor once streams are resumed that a factor of zero
    /// holds. (A stream that is merely too slow to send again before the end counts as finished.)
    pub fn is_finished(&self) -> bool {
        self.next_due() == Nanos::MAX
            && !self.sources.iter().any(Source::is_held)
            && (self.greedy_over || self.greedy.iter().all(Class::is_finished))
    }

    /// Slots due before the end that [`Schedule::poll`] has not returned yet. For a paused stream only slots due before
    /// the pause. Pending changes are taken into account.
    ///
    /// A closed form for all paces but the random ones, which take a few ns for each packet owed, and chains, a few for
    /// each link.
    pub fn owed(&self) -> u64 {
        let sources = (0..).zip(&self.sources);
        sources.map(|(id, source)| source.owed(self.changes_of(id), self.end)).sum()
    }

    /// The instant at and after which nothing is due.
    pub fn end(&self) -> Nanos {
        self.end
    }
}
