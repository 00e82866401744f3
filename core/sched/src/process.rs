//! A stream with a separate schedule, or several that follow each other.

use crate::exact::narrow;
use crate::factor::{Factor, Warp};
use crate::load::{Chain, StreamLoad};
use crate::schedule::{Share, Slot};
use crate::train::{Curves, Events, Train};
use std::collections::HashMap;
use std::sync::Arc;
use units::Nanos;

/// A stream's departures, or a chain's, of which this worker takes every `stride`-th.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    /// When the current event is due; [`Nanos::MAX`] if never.
    due: Nanos,
    stream: u32,
    /// Packets of the current event still to come.
    left: u32,
    /// Number of the first of them in its stream.
    number: u64,
    /// The current event's number.
    event: u64,
    stride: u64,
    /// Events and packets of the stream, or of the link.
    events_end: u64,
    total: u64,
    /// Number of event 0's first packet.
    number_base: u64,
    /// When the stream, or the link, starts, in the process's own time.
    base: u64,
    events: Events,
    train: Train,
    warp: Warp,
    index: u64,
    chain: Option<Box<Links>>,
}

/// A link as each loop begins it.
#[derive(Debug)]
struct LinkStart {
    stream: u32,
    train: Train,
    events: Events,
    total: u64,
    delay: u64,
    gap: u64,
    /// Time from its start to its end, unless that is drawn.
    span: Option<u64>,
    /// Packets of the stream in links before this one, and in a whole loop.
    number: u64,
    per_loop: u64,
}

/// Where a chain is.
#[derive(Debug, Clone)]
struct Links {
    links: Arc<[LinkStart]>,
    /// Loops; `u64::MAX` is for ever.
    loops: u64,
    /// The link after the last one, and the one that ends the last loop.
    repeat_from: usize,
    last: usize,
    round: u64,
    link: usize,
    /// When the loop began.
    round_begin: u64,
    /// Events before this link, modulo the stride.
    offset: u64,
    /// Whether any link has an event.
    any: bool,
}

impl Process {
    /// The process of a stream by itself.
    pub(crate) fn stream(
        stream: u32,
        load: &StreamLoad,
        start: Nanos,
        share: Share,
        curves: &mut Curves,
    ) -> Self {
        let total = load.total();
        let (train, events) = Train::new(load, total, curves);
        let mut process = Self::before(start.saturating_add(load.start_delay), share);
        process.begin(stream, train, events, total);
        process.go_to(process.index);
        process
    }

    /// The process of a chain.
    pub(crate) fn chain(chain: &Chain, start: Nanos, share: Share, curves: &mut Curves) -> Self {
        let (mut seen, mut once): (HashMap<u32, u64>, HashMap<u32, u64>) = (HashMap::new(), HashMap::new());
        let mut links: Vec<LinkStart> = Vec::with_capacity(chain.links.len());
        for (index, link) in chain.links.iter().enumerate() {
            if index == chain.repeat_from {
                once = seen.clone();
            }
            let total = link.load.total();
            let (train, events) = Train::new(&link.load, total, curves);
            let number = seen.entry(link.stream).or_default();
            links.push(LinkStart {
                stream: link.stream,
                delay: link.load.start_delay.0,
                gap: link.gap.0,
                span: match link.ends_at_last {
                    true => train.last(events.until(total)),
                    false => train.end(events.until(total)),
                },
                number: *number,
                per_loop: 0,
                train,
                events,
                total,
            });
            *number = number.saturating_add(total);
        }
        for link in &mut links {
            link.per_loop = seen[&link.stream] - once.get(&link.stream).copied().unwrap_or(0);
        }
        let any = links.iter().any(|link| link.total > 0);
        let repeats = links.iter().skip(chain.repeat_from).any(|link| link.total > 0);
        let begin = start.saturating_add(chain.start_delay);
        let mut process = Self::before(begin, share);
        process.chain = Some(Box::new(Links {
            links: links.into(),
            loops: if repeats { chain.loops.unwrap_or(u64::MAX) } else { 1 },
            repeat_from: chain.repeat_from,
            last: chain.last.unwrap_or(usize::MAX),
            round: 0,
            link: 0,
            round_begin: begin.0,
            offset: 0,
            any,
        }));
        process.enter(begin.0);
        process
    }

    /// Nothing yet, from `start` on.
    fn before(start: Nanos, share: Share) -> Self {
        Self {
            due: Nanos::MAX,
            stream: 0,
            left: 0,
            number: 0,
            event: 0,
            stride: u64::from(share.of.max(1)),
            events_end: 0,
            total: 0,
            number_base: 0,
            base: start.0,
            events: Events::Groups(1),
            train: Train::Even(crate::exact::Ticks::new(0, 1)),
            warp: Warp::NONE,
            index: u64::from(share.index),
            chain: None,
        }
    }

    fn begin(&mut self, stream: u32, train: Train, events: Events, total: u64) {
        (self.stream, self.train, self.events, self.total) = (stream, train, events, total);
        (self.events_end, self.event) = (events.until(total), 0);
    }

    #[inline(always)]
    pub(crate) fn due(&self) -> Nanos {
        self.due
    }

    /// The streams it sends.
    pub(crate) fn streams(&self) -> impl Iterator<Item = u32> + '_ {
        let links = self.chain.iter().flat_map(|chain| chain.links.iter());
        let alone = self.chain.is_none().then_some(self.stream);
        links.map(|link| link.stream).chain(alone)
    }

    /// Whether every packet has had its slot, or never gets one.
    pub(crate) fn is_finished(&self) -> bool {
        self.left == 0 || self.train.time() == u64::MAX
    }

    /// Sends no more.
    pub(crate) fn give_up(&mut self) {
        (self.left, self.due, self.events_end) = (0, Nanos::MAX, 0);
        self.chain = None;
    }

    /// Whether it has packets to send but is paused.
    pub(crate) fn is_held(&self) -> bool {
        self.warp.is_still() && !self.is_finished()
    }

    /// Makes `event` the current one, if there is such an event.
    #[inline(always)]
    fn go_to(&mut self, event: u64) {
        self.train.jump(event - self.event);
        self.event = event;
        if event >= self.events_end {
            (self.left, self.due) = (0, Nanos::MAX);
            return;
        }
        let first = self.events.first(event);
        self.left = u64::from(self.events.size(event)).min(self.total - first) as u32;
        self.number = self.number_base.wrapping_add(self.train.number().unwrap_or(first));
        self.due = self.due_now();
    }

    #[inline(always)]
    fn due_now(&self) -> Nanos {
        Nanos(self.warp.due(self.base.saturating_add(self.train.time())))
    }

    /// Goes on to the next of this worker's events.
    #[inline(always)]
    fn step(&mut self) {
        let next = self.event.saturating_add(self.stride);
        if self.chain.is_none() || next < self.events_end { self.go_to(next) } else { self.leave() }
    }

    /// Begins the chain's current link at `begin`, or as many after it as have no event of this worker.
    fn enter(&mut self, begin: u64) {
        let mut begin = begin;
        loop {
            let Some(chain) = &self.chain else { return };
            let Some(link) = chain.links.get(chain.link).filter(|_| chain.any && chain.round < chain.loops)
            else {
                (self.left, self.due, self.events_end) = (0, Nanos::MAX, 0);
                return;
            };
            let first = (self.index + self.stride - chain.offset) % self.stride;
            let number = chain.round.wrapping_mul(link.per_loop).wrapping_add(link.number);
            let (stream, train) = (link.stream, link.train.begun(chain.round));
            let (events, total) = (link.events, link.total);
            (self.base, self.number_base) = (begin.saturating_add(link.delay), number);
            self.begin(stream, train, events, total);
            if first < self.events_end {
                self.go_to(first);
                return;
            }
            begin = self.next_begin();
        }
    }

    /// Goes on to the next link in which this worker has an event.
    fn leave(&mut self) {
        let begin = self.next_begin();
        self.enter(begin);
    }

    /// Makes the next link the current one; returns when it begins.
    fn next_begin(&mut self) -> u64 {
        let Some(chain) = &mut self.chain else { return u64::MAX };
        let link = &chain.links[chain.link];
        let span = link.span.unwrap_or_else(|| {
            self.train.jump(self.events_end - self.event);
            self.train.time()
        });
        let mut begin = self.base.saturating_add(span).saturating_add(link.gap);
        chain.offset = (chain.offset + self.events_end) % self.stride;
        let ends = chain.link == chain.last && chain.round.saturating_add(1) >= chain.loops;
        chain.link += 1;
        if chain.link == chain.links.len() || ends {
            (chain.link, chain.round) = (chain.repeat_from, chain.round.saturating_add(1));
            begin = begin.max(chain.round_begin.saturating_add(1));
            chain.round_begin = begin;
        }
        begin
    }

    /// Writes the slots due up to `until` into `out`, packets due at the same time as one, of at most `room` packets
    /// together; returns how many slots.
    #[inline]
    pub(crate) fn fill(&mut self, until: Nanos, out: &mut [Slot], room: &mut u32) -> usize {
        let mut n: usize = 0;
        while self.due <= until && *room > 0 {
            let run = self.left.min(*room);
            let slot = Slot { stream: self.stream, run, number: self.number, due: self.due };
            if n > 0 && out[n - 1].is_followed_by(&slot) {
                out[n - 1].run += run;
            } else if n < out.len() {
                out[n] = slot;
                n += 1;
            } else {
                return n;
            }
            *room -= run;
            self.left -= run;
            self.number = self.number.wrapping_add(run.into());
            if self.left == 0 {
                self.step();
            }
        }
        n
    }

    /// Applies `factor` from `at` on. Everything due before has been taken.
    pub(crate) fn change(&mut self, at: Nanos, factor: Factor) {
        self.warp.change(at, factor);
        if !self.is_finished() {
            self.due = self.due_now();
        }
    }

    /// Packets due before `end`, that have not been sent, if `changes` come.
    pub(crate) fn owed(&self, changes: impl Iterator<Item = (Nanos, Factor)>, end: Nanos) -> u64 {
        let mut warp = self.warp;
        for (at, factor) in changes.take_while(|(at, _)| *at < end) {
            warp.change(at, factor);
        }
        let limit = warp.own_after(end);
        if self.is_finished() || self.base.saturating_add(self.train.time()) >= limit {
            return 0;
        }
        let all = u64::from(self.events.size(self.event)).min(self.total - self.events.first(self.event));
        let sent = all - u64::from(self.left);
        let mut rest = self.clone();
        let (mut packets, mut whole) = rest.packets_in_link(limit);
        while whole && rest.chain.is_some() {
            rest.leave();
            if rest.is_finished() || rest.base >= limit {
                break;
            }
            let more = rest.packets_in_link(limit);
            packets += more.0;
            whole = more.1;
        }
        narrow(packets - u128::from(sent))
    }

    /// Packets from the current event on that are due before `limit` of its time and before the link's end, and whether
    /// the limit is beyond the last of them.
    fn packets_in_link(&mut self, limit: u64) -> (u128, bool) {
        let span = limit.saturating_sub(self.base);
        if let Some(end) = self.train.before(span) {
            let packets = self.events.packets(self.event, self.stride, end, self.total);
            return (packets, end >= self.events_end);
        }
        let mut packets = 0;
        while self.event < self.events_end && self.train.time() < span {
            packets += self.events.packets(self.event, self.stride, self.event + 1, self.total);
            let step = self.stride.min(self.events_end - self.event);
            self.train.jump(step);
            self.event += step;
        }
        (packets, self.event >= self.events_end)
    }
}
