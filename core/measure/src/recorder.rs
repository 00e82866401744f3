//! Takes arrivals, a burst at a time, on the worker's core.

use crate::counts::{Counts, Rare, Row};
use crate::order::{ArrivalOrder, Lane, Settled};
use crate::totals::Jitter;
use histogram::{Scale, SparseHistogram};
use units::Nanos;

/// Test packets of one lane that came in together: in order, sent at one instant, of one length. Often it is a single one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Index of their stream.
    pub stream: u32,
    /// Which worker sent them.
    pub lane: u8,
    /// Number of them, at least 1. Their sequence numbers follow each other.
    pub packets: u16,
    /// Low 32 bits of the first one's sequence number in the lane.
    pub sequence: u32,
    /// Length of each, bytes.
    pub bytes: u16,
    /// Row of [`crate::Egress`] that they count in; 0: none.
    pub egress: u32,
    /// Arrival minus departure, ns.
    pub latency: u64,
}

impl Default for Arrival {
    /// A single packet.
    fn default() -> Self {
        Self { stream: 0, lane: 0, packets: 1, sequence: 0, bytes: 0, egress: 0, latency: 0 }
    }
}

impl Arrival {
    /// Its packets one by one.
    fn each(self) -> impl Iterator<Item = Self> {
        let one = move |n: u16| Self { sequence: self.sequence.wrapping_add(n.into()), packets: 1, ..self };
        (0..self.packets).map(one)
    }
}

/// Counts since the last swap: one row for each stream.
#[derive(Debug, Clone)]
pub struct Table {
    /// Packets that no pause touched; all packets if there is no `touched`.
    pub(crate) rows: Vec<Row>,
    pub(crate) rare: Vec<Rare>,
    /// Latency buckets; none if no histogram is kept.
    pub(crate) latencies: Latencies,
    /// Packets that pauses touched, kept apart of not too many streams.
    pub(crate) touched: Option<Touched>,
    /// Whether something may have been counted since it was cleared: of many streams that is found out slowly otherwise.
    pub(crate) is_used: bool,
}

/// Rows and buckets of packets that pauses of the tester touched.
#[derive(Debug, Clone)]
pub(crate) struct Touched {
    pub(crate) rows: Vec<Row>,
    pub(crate) latencies: Latencies,
}

/// Streams up to which packets that pauses touched are kept apart.
pub const KEPT_APART_MAX: usize = 16_384;

/// A latency histogram of each stream.
///
/// The same bucket of all streams lies together: packets of a burst have much the same latency, so that many streams
/// share cache lines, and memory of unused latencies is never touched.
#[derive(Debug, Clone)]
pub(crate) struct Latencies {
    pub(crate) scale: Option<Scale>,
    streams: usize,
    counts: Vec<u32>,
    /// For each bucket whether a stream has counted there.
    used: Vec<bool>,
}

/// The bucket of a latency of the last lookup, and where its counts begin.
///
/// That of no time at all is the first of every scale.
#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    latency: u64,
    number: usize,
    first: usize,
}

/// Number of streams whose counts are read together: their counts in a bucket are a page of memory.
const TOGETHER: usize = 1024;

/// Buckets that are looked at together when the used ones are searched, which are few.
const SEARCHED: usize = 256;

/// Whether one of a block is used. Without a branch for each, so that many are compared at a time.
fn is_any(block: &[bool]) -> bool {
    block.iter().fold(false, |any, used| any | used)
}

impl Latencies {
    fn new(streams: usize, scale: Option<Scale>) -> Self {
        let buckets = scale.map_or(0, Scale::buckets);
        Self { scale, streams, counts: vec![0; streams * buckets], used: vec![false; buckets] }
    }

    /// The bucket of a latency. Packets of a burst often share theirs, and then it is not computed again.
    #[inline(always)]
    fn find(&self, latency: u64, found: &mut Bucket) -> bool {
        let Some(scale) = self.scale else { return false };
        if found.latency != latency {
            let number = scale.index(latency);
            *found = Bucket { latency, number, first: number * self.streams };
        }
        true
    }

    /// Counts packets of a stream.
    #[inline(always)]
    fn count(&mut self, stream: usize, latency: u64, packets: u16, found: &mut Bucket) {
        if self.find(latency, found) {
            self.used[found.number] = true;
            self.counts[found.first + stream] += u32::from(packets);
        }
    }

    /// Reads a count that will be needed.
    #[inline(always)]
    fn touch(&self, stream: usize, latency: u64, found: &mut Bucket) -> u64 {
        if self.find(latency, found) {
            return self.counts.get(found.first + stream).copied().unwrap_or(0).into();
        }
        0
    }

    /// The buckets with counts, and the counts of all streams.
    fn used(&self) -> impl Iterator<Item = (usize, &[u32])> + Clone {
        let blocks = self.used.chunks(SEARCHED).enumerate().filter(|(_, block)| is_any(block));
        let used = blocks.flat_map(|(number, block)| {
            (number * SEARCHED..).zip(block).filter(|(_, used)| **used).map(|(bucket, _)| bucket)
        });
        used.map(|bucket: usize| (bucket, &self.counts[bucket * self.streams..][..self.streams]))
    }

    fn clear(&mut self) {
        for (number, block) in self.used.chunks_mut(SEARCHED).enumerate() {
            if !is_any(block) {
                continue;
            }
            for (bucket, used) in (number * SEARCHED..).zip(block) {
                if std::mem::take(used) {
                    self.counts[bucket * self.streams..][..self.streams].fill(0);
                }
            }
        }
    }

    /// Adds each stream's counts to its histogram.
    pub(crate) fn add_to<'a>(&self, mut histograms: impl Iterator<Item = Option<&'a mut SparseHistogram>>) {
        if self.used().next().is_none() {
            return;
        }
        for start in (0..self.streams).step_by(TOGETHER) {
            let streams = start..self.streams.min(start + TOGETHER);
            let mut ranges = [(0, 0); TOGETHER];
            for (bucket, counts) in self.used() {
                for ((first, end), count) in ranges.iter_mut().zip(&counts[streams.clone()]) {
                    if *count > 0 {
                        (*first, *end) = (if *end == 0 { bucket } else { *first }, bucket + 1);
                    }
                }
            }
            let mut block: Vec<Option<&mut SparseHistogram>> =
                histograms.by_ref().take(streams.len()).collect();
            for (histogram, (first, end)) in block.iter_mut().zip(ranges) {
                if let Some(histogram) = histogram.as_mut().filter(|_| end > 0) {
                    histogram.cover(first..end);
                }
            }
            for (bucket, counts) in self.used() {
                for (histogram, count) in block.iter_mut().zip(&counts[streams.clone()]) {
                    if let Some(histogram) = histogram.as_mut().filter(|_| *count > 0) {
                        histogram.add(bucket, u64::from(*count));
                    }
                }
            }
        }
    }
}

impl Table {
    /// An empty table of `streams` rows; without a scale, no latency histogram is kept.
    pub fn new(streams: usize, scale: Option<Scale>) -> Self {
        let touched =
            || Touched { rows: vec![Row::default(); streams], latencies: Latencies::new(streams, scale) };
        Self {
            rows: vec![Row::default(); streams],
            rare: vec![Rare::default(); streams],
            latencies: Latencies::new(streams, scale),
            touched: (streams <= KEPT_APART_MAX).then(touched),
            is_used: false,
        }
    }

    /// The latency buckets of all streams, whose memory may be made present before a worker uses them.
    pub fn buckets_mut(&mut self) -> &mut [u32] {
        &mut self.latencies.counts
    }

    /// Forgets everything counted. Rows without counts are not written to: with many streams these are most.
    pub fn clear(&mut self) {
        if !std::mem::take(&mut self.is_used) {
            return;
        }
        clear_each(&mut self.rows, Row::is_empty);
        clear_each(&mut self.rare, Rare::is_empty);
        self.latencies.clear();
        if let Some(touched) = &mut self.touched {
            clear_each(&mut touched.rows, Row::is_empty);
            touched.latencies.clear();
        }
    }

    /// Whether no packet of a stream arrived, a duplicate included.
    pub(crate) fn is_idle(&self, stream: usize) -> bool {
        let touched = self.touched.as_ref().map_or(0, |touched| touched.rows[stream].received);
        let Rare { duplicates, stale, rejected, .. } = self.rare[stream];
        self.rows[stream].received + touched + duplicates + stale + rejected == 0
    }

    /// Counts of a stream.
    pub fn counts(&self, stream: usize) -> Counts {
        let undisturbed = self.undisturbed(stream);
        self.touched.as_ref().map_or(undisturbed, |touched| undisturbed.with_touched(&touched.rows[stream]))
    }

    /// The same without packets that pauses touched.
    pub(crate) fn undisturbed(&self, stream: usize) -> Counts {
        self.rows[stream].counts(&self.rare[stream])
    }

    /// Whether a pause touched a packet of a stream, or one between two of them.
    pub(crate) fn is_touched(&self, stream: usize) -> bool {
        self.touched
            .as_ref()
            .is_some_and(|touched| touched.rows[stream].received + touched.rows[stream].pairs > 0)
    }

    /// Packets of a stream, the instant of the first of all if it is in this table, and the time from arrival to arrival, ns.
    pub(crate) fn arrivals(&self, stream: usize) -> (u64, Option<u64>, u64) {
        let of = |row: &Row| (row.received, row.first(), row.interarrival.sum());
        let (n, first, span) = of(&self.rows[stream]);
        let touched = self.touched.as_ref().map_or((0, None, 0), |touched| of(&touched.rows[stream]));
        (n + touched.0, first.or(touched.1), span + touched.2)
    }
}

/// State kept from packet to packet: of a lane its sequence; of a stream, kept with its first lane, the last arrival.
#[derive(Debug, Clone, Default)]
#[repr(align(64))]
struct State {
    lane: Lane,
    last: Last,
}

const _: () = assert!(size_of::<State>() == 64);

#[derive(Debug, Clone, Copy, Default)]
struct Last {
    arrival: Nanos,
    sent: Nanos,
    latency: u64,
    /// RFC 3550's J times 16 (appendix A.8 keeps it so).
    jitter_16: u64,
    seen: u64,
}

impl Last {
    /// Goes on to the last of some packets that were counted.
    #[inline(always)]
    fn goes_on(&mut self, packets: u16, sent: Nanos, latency: u64, now: Nanos) {
        // Several queues may tell of their arrivals one after the other: times between arrivals add up to the span all the same.
        let arrival = now.max(self.arrival);
        let seen = self.seen + u64::from(packets);
        *self = Self { arrival, sent, latency, jitter_16: self.jitter_16, seen };
    }

    /// Takes a packet whose delay changed by so much because of a pause.
    #[inline(always)]
    fn disturb(&mut self, excess: &mut Excess, change: u64) {
        // Most packets that a pause touched follow another one.
        if excess.seen != self.seen {
            excess.without_16 = self.jitter_16 as f64 - excess.at(self.seen);
        }
        self.jitter_16 = next_jitter(self.jitter_16, change);
        self.seen += 1;
        (excess.jitter_16, excess.seen) = (self.jitter_16, self.seen);
    }
}

/// RFC 3550 appendix A.8: J += |D| − ((J + 8) >> 4), with J scaled by 16.
#[inline(always)]
fn next_jitter(jitter_16: u64, change: u64) -> u64 {
    jitter_16 + change - ((jitter_16 + 8) >> 4)
}

/// The same after some packets whose delay did not change.
#[inline(always)]
fn still_jitter(mut jitter_16: u64, packets: u16) -> u64 {
    // Below half of a nanosecond nothing is left to take away, however many come.
    const STEPS: u16 = 4;
    let mut left = packets;
    while left >= STEPS && jitter_16 >= 8 {
        (0..STEPS).for_each(|_| jitter_16 = next_jitter(jitter_16, 0));
        left -= STEPS;
    }
    (0..left % STEPS).for_each(|_| jitter_16 = next_jitter(jitter_16, 0));
    jitter_16
}

/// One worker's view of all streams.
#[derive(Debug)]
pub struct Recorder {
    table: Table,
    /// `lanes` for each stream.
    states: Vec<State>,
    lanes: usize,
    /// Packets that left before this were touched by a pause.
    touched_until: Nanos,
    /// Of each stream that is kept apart.
    excess: Vec<Excess>,
    /// Packets that left before this do not count: counters were set to zero then.
    counts_from: Nanos,
    /// Unused counts of packets sent before counters were set to zero; `None` before that.
    aside: Option<Table>,
}

/// By how much pauses have raised a stream's jitter: the estimate is linear, so without them it is so much less.
#[derive(Debug, Clone, Copy, Default)]
struct Excess {
    /// Times 16, after the last packet that a pause touched: jitter, and without what pauses did.
    jitter_16: u64,
    without_16: f64,
    /// Packets that had been seen then.
    seen: u64,
}

impl Excess {
    /// Remainder after this number of packets, times 16: each takes a sixteenth.
    fn at(self, seen: u64) -> f64 {
        let since = i32::try_from(seen.saturating_sub(self.seen)).unwrap_or(i32::MAX);
        (self.jitter_16 as f64 - self.without_16) * (15.0f64 / 16.0).powi(since)
    }
}

/// From this many streams on, what a burst needs is loaded before it is used, so that the loads overlap: fewer fit the
/// second-level cache and need no such help.
const WARM_FROM: usize = 2048;

impl Recorder {
    /// A recorder of streams sent by at most `lanes` workers each, that counts into `table` first.
    pub fn new(table: Table, lanes: usize) -> Self {
        let states = vec![State::default(); table.rows.len() * lanes];
        let excess = vec![Excess::default(); apart(&table)];
        Self {
            table,
            states,
            lanes,
            touched_until: Nanos::ZERO,
            excess,
            counts_from: Nanos::ZERO,
            aside: None,
        }
    }

    /// Counts a packet of which nothing but its stream is known; one of a stream there is not is left out.
    pub fn count(&mut self, stream: u32, bytes: u16) {
        if let Some(row) = self.table.rows.get_mut(stream as usize) {
            self.table.is_used = true;
            row.counted(bytes);
            self.table.rare[stream as usize].untimed += 1;
        }
    }

    /// Counters are set to zero `at` an instant: jitter and times between arrivals begin anew. Numbers of packets
    /// continue, so that those sent before, which [`Self::pass`] takes, are distinguished.
    pub fn begin_anew(&mut self, at: Nanos) {
        self.counts_from = at;
        self.states.iter_mut().for_each(|state| state.last = Last::default());
        self.excess.fill(Excess::default());
        let streams = self.table.rows.len();
        let kept = self.aside.take().filter(|aside| aside.rows.len() == streams);
        self.aside = Some(kept.unwrap_or_else(|| Table::new(streams, None)));
    }

    /// Whether counters were set to zero, so that some arrivals are to be passed.
    #[inline(always)]
    pub fn passes_some(&self) -> bool {
        self.aside.is_some()
    }

    /// When counters were set to zero last; zero if they were not.
    pub fn counts_from(&self) -> Nanos {
        self.counts_from
    }

    /// Whether an arrival at `now` is of packets that were sent before counters were set to zero.
    pub fn is_before(&self, arrival: &Arrival, now: Nanos) -> bool {
        now.since(Nanos(arrival.latency)) < self.counts_from
    }

    /// Takes an arrival at `now` of packets that were sent before counters were set to zero: their numbers count as
    /// seen, and nothing else does.
    #[cold]
    pub fn pass(&mut self, arrival: &Arrival, now: Nanos) {
        let Some(mut aside) = self.aside.take() else { return };
        let last = arrival.stream as usize * self.lanes;
        let before = self.states.get(last).map(|state| state.last);
        let excess = self.excess.get(arrival.stream as usize).copied();
        std::mem::swap(&mut self.table, &mut aside);
        self.take(arrival, now, &mut Bucket::default());
        std::mem::swap(&mut self.table, &mut aside);
        if let Some(before) = before {
            self.states[last].last = before;
        }
        if let Some(excess) = excess {
            self.excess[arrival.stream as usize] = excess;
        }
        self.aside = Some(aside);
    }

    /// Packets that left before `until` were touched by a pause of the tester, from the next burst on.
    #[inline(always)]
    pub fn touch_until(&mut self, until: Nanos) {
        self.touched_until = until;
    }

    /// Counts a burst that arrived at `now`. Returns how many packets name a stream or lane there is not; they are left out.
    ///
    /// Packets of an arrival count as they would one by one, to the bit.
    #[inline]
    pub fn record(&mut self, arrivals: &[Arrival], now: Nanos) -> u64 {
        self.table.is_used = true;
        // What arrives before that instant has left before it.
        if now < self.touched_until && self.table.touched.is_some() {
            return self.record_touched(arrivals, now);
        }
        self.warm(arrivals);
        let (mut unknown, mut bucket) = (0, Bucket::default());
        for arrival in arrivals {
            unknown += self.take(arrival, now, &mut bucket);
        }
        unknown
    }

    /// Counts a burst of packets that a pause touched, each of them, in a shorter loop.
    #[inline(never)]
    fn record_touched(&mut self, arrivals: &[Arrival], now: Nanos) -> u64 {
        if let Some(touched) = self.table.touched.as_ref().filter(|touched| touched.rows.len() >= WARM_FROM) {
            std::hint::black_box(self.touch(&touched.rows, &touched.latencies, arrivals));
        }
        let (mut unknown, mut bucket) = (0, Bucket::default());
        for a in arrivals {
            let Some((stream, at)) = self.place(a) else {
                unknown += u64::from(a.packets);
                continue;
            };
            if !self.states[at].lane.are_next(a.sequence, a.packets) {
                self.take_each(a, now);
                continue;
            }
            let Some(touched) = &mut self.table.touched else { continue };
            let Touched { rows, latencies } = touched;
            let last = &mut self.states[stream * self.lanes].last;
            let (row, excess) = (&mut rows[stream], &mut self.excess[stream]);
            latencies.count(stream, a.latency, a.packets, &mut bucket);
            row.arrived(a.packets.into(), a.bytes, a.latency);
            match last.seen > 0 {
                true => follow_disturbed(row, last, excess, a.latency, now),
                false => {
                    row.began(now.0);
                    last.seen = 1;
                }
            }
            if a.packets > 1 {
                row.followed_at_once(u64::from(a.packets - 1));
                (1..a.packets).for_each(|_| last.disturb(excess, 0));
            }
            last.goes_on(0, now.since(Nanos(a.latency)), a.latency, now);
        }
        unknown
    }

    /// As [`Self::record`], but each arrival has a separate instant, in the same order.
    #[inline]
    pub fn record_each(&mut self, arrivals: &[Arrival], instants: &[Nanos]) -> u64 {
        debug_assert_eq!(arrivals.len(), instants.len());
        self.table.is_used = true;
        self.warm(arrivals);
        let (mut unknown, mut bucket) = (0, Bucket::default());
        for (arrival, now) in arrivals.iter().zip(instants) {
            unknown += self.take(arrival, *now, &mut bucket);
        }
        unknown
    }

    #[inline(always)]
    fn warm(&self, arrivals: &[Arrival]) {
        if self.table.rows.len() >= WARM_FROM {
            std::hint::black_box(self.touch(&self.table.rows, &self.table.latencies, arrivals));
        }
    }

    /// Reads one word of everything the burst will need; the loads do not wait for one another.
    #[inline(always)]
    fn touch(&self, rows: &[Row], latencies: &Latencies, arrivals: &[Arrival]) -> u64 {
        let (mut sum, mut bucket) = (0u64, Bucket::default());
        for a in arrivals {
            let stream = a.stream as usize;
            let state = self.states.get(stream * self.lanes + usize::from(a.lane));
            if let (Some(state), Some(row)) = (state, rows.get(stream)) {
                sum ^= state.lane.expected() ^ row.received ^ row.change_max;
            }
            sum ^= latencies.touch(stream, a.latency, &mut bucket);
        }
        sum
    }

    /// The stream of an arrival, and the place of its lane's state; `None` if there is no such stream or lane.
    #[inline(always)]
    fn place(&self, a: &Arrival) -> Option<(usize, usize)> {
        let (stream, lane) = (a.stream as usize, usize::from(a.lane));
        (stream < self.table.rows.len() && lane < self.lanes).then(|| (stream, stream * self.lanes + lane))
    }

    /// Takes an arrival; returns how many packets of it are of a stream or lane there is not.
    #[inline(always)]
    fn take(&mut self, a: &Arrival, now: Nanos, bucket: &mut Bucket) -> u64 {
        let Some((stream, at)) = self.place(a) else { return a.packets.into() };
        if self.states[at].lane.are_next(a.sequence, a.packets) {
            self.receive(stream, a.packets, a.bytes, a.latency, now, bucket);
        } else {
            self.take_each(a, now);
        }
        0
    }

    /// Takes the packets of an arrival whose number is not the next one by one.
    #[cold]
    #[inline(never)]
    fn take_each(&mut self, a: &Arrival, now: Nanos) {
        let (stream, mut bucket) = (a.stream as usize, Bucket::default());
        for one in a.each() {
            let state = &mut self.states[stream * self.lanes + usize::from(one.lane)];
            if state.lane.are_next(one.sequence, 1) || self.is_first_time(&one, now) {
                self.receive(stream, 1, one.bytes, one.latency, now, &mut bucket);
            }
        }
    }

    /// Takes an arrival whose number is not the next, or while something is in doubt; whether it is received now, and
    /// for the first time.
    fn is_first_time(&mut self, a: &Arrival, now: Nanos) -> bool {
        let stream = a.stream as usize;
        let at = stream * self.lanes + usize::from(a.lane);
        match self.states[at].lane.settle(a.sequence) {
            Some(Settled::Confirmed(held)) => {
                if self.is_blameless(at, held.at.since(Nanos(held.latency))) {
                    self.table.rare[stream].missed += self.states[at].lane.last_gap() as i64;
                }
                if held.at.since(Nanos(held.latency)) >= self.counts_from {
                    self.receive(stream, 1, held.bytes, held.latency, held.at, &mut Bucket::default());
                }
            }
            Some(Settled::Rejected) => self.table.rare[stream].rejected += 1,
            None => {}
        }
        let before = self.states[at].lane.expected();
        let order = self.states[at].lane.arrived(a.sequence, a.bytes, a.latency, now);
        let missed = self.states[at].lane.expected().saturating_sub(before + 1);
        let is_blameless = self.is_blameless(at, now.since(Nanos(a.latency)));
        let rare = &mut self.table.rare[stream];
        match order {
            ArrivalOrder::InOrder => {
                rare.missed += if is_blameless { missed as i64 } else { 0 };
                return true;
            }
            ArrivalOrder::Reordered(distance) => {
                rare.reordered += 1;
                rare.reorder_distance_max = rare.reorder_distance_max.max(distance);
                // It was missing; whether that was no pause's fault is forgotten, so it is one less in any case.
                rare.missed -= 1;
                return true;
            }
            ArrivalOrder::Duplicate => rare.duplicates += 1,
            ArrivalOrder::Stale => rare.stale += 1,
            ArrivalOrder::Held => {}
        }
        false
    }

    /// Whether no pause touched a packet that left at `sent`, nor the one before it, so that none cost those between them. Of
    /// several lanes that is not known.
    fn is_blameless(&self, at: usize, sent: Nanos) -> bool {
        // Packets missing before the first that counts may have been sent before counters were set to zero.
        let follows = self.aside.is_none() || self.states[at].last.seen > 0;
        self.lanes == 1 && follows && sent.min(self.states[at].last.sent) >= self.touched_until
    }

    /// Counts as received what no later packet has confirmed or rejected; to be called when nothing comes any more.
    pub fn settle(&mut self) {
        for at in 0..self.states.len() {
            let held = self.states[at].lane.settle_last();
            if let Some(held) = held.filter(|held| held.at.since(Nanos(held.latency)) >= self.counts_from) {
                self.table.is_used = true;
                self.receive(at / self.lanes, 1, held.bytes, held.latency, held.at, &mut Bucket::default());
            }
        }
    }

    /// Counts packets that are received for the first time, of one lane, in order.
    #[inline(always)]
    fn receive(
        &mut self,
        stream: usize,
        mut packets: u16,
        bytes: u16,
        latency: u64,
        now: Nanos,
        bucket: &mut Bucket,
    ) {
        let sent = now.since(Nanos(latency));
        let last_sent = self.states[stream * self.lanes].last.sent;
        if sent.min(last_sent) < self.touched_until && self.table.touched.is_some() {
            packets -= self.receive_touched(stream, packets, bytes, latency, now, bucket);
            if packets == 0 {
                return;
            }
        }
        let last = &mut self.states[stream * self.lanes].last;
        let row = &mut self.table.rows[stream];
        row.arrived(packets.into(), bytes, latency);
        self.table.latencies.count(stream, latency, packets, bucket);
        if last.seen > 0 {
            let change = latency.abs_diff(last.latency);
            row.followed(change, now.since(last.arrival).0);
            last.jitter_16 = next_jitter(last.jitter_16, change);
        } else {
            row.began(now.0);
        }
        if packets > 1 {
            row.followed_at_once(u64::from(packets - 1));
            last.jitter_16 = still_jitter(last.jitter_16, packets - 1);
        }
        last.goes_on(packets, sent, latency, now);
    }

    /// The same of packets that a pause touched, or of the first that follows one; of how many.
    #[cold]
    #[inline(never)]
    fn receive_touched(
        &mut self,
        stream: usize,
        packets: u16,
        bytes: u16,
        latency: u64,
        now: Nanos,
        bucket: &mut Bucket,
    ) -> u16 {
        let sent = now.since(Nanos(latency));
        let is_touched = sent < self.touched_until;
        // Of packets that no pause touched only the first follows one.
        let taken = if is_touched { packets } else { 1 };
        let Some(touched) = &mut self.table.touched else { return 0 };
        let last = &mut self.states[stream * self.lanes].last;
        let (row, latencies) = match is_touched {
            true => (&mut touched.rows[stream], &mut touched.latencies),
            false => (&mut self.table.rows[stream], &mut self.table.latencies),
        };
        row.arrived(taken.into(), bytes, latency);
        latencies.count(stream, latency, taken, bucket);
        let (between, excess) = (&mut touched.rows[stream], &mut self.excess[stream]);
        if last.seen > 0 {
            follow_disturbed(between, last, excess, latency, now);
        } else {
            let row = if is_touched { &mut *between } else { &mut self.table.rows[stream] };
            row.began(now.0);
            last.seen = 1;
        }
        if taken > 1 {
            between.followed_at_once(u64::from(taken - 1));
            (1..taken).for_each(|_| last.disturb(excess, 0));
        }
        last.goes_on(0, sent, latency, now);
        taken
    }

    /// Exchanges the counts for `empty`. If that has more rows, it sets the number of streams from now on.
    ///
    /// # Panics
    /// If `empty` has fewer rows, or another scale.
    pub fn swap(&mut self, empty: &mut Table) {
        let (before, streams) = (self.table.rows.len(), empty.rows.len());
        assert!(streams >= before && empty.latencies.scale == self.table.latencies.scale);
        if streams > before {
            self.states.resize(streams * self.lanes, State::default());
            self.excess.resize(apart(empty), Excess::default());
            self.aside = self.aside.take().map(|_| Table::new(streams, None));
        }
        std::mem::swap(&mut self.table, empty);
    }

    /// Current RFC 3550 jitter of each stream.
    pub fn jitter(&self) -> impl Iterator<Item = Jitter> {
        let firsts = self.states.iter().step_by(self.lanes.max(1));
        firsts.map(|s| Jitter::new(s.last.jitter_16 as f64 / 16.0, s.last.seen))
    }

    /// The same without what pauses of the tester did.
    pub fn undisturbed_jitter(&self) -> impl Iterator<Item = Jitter> {
        let firsts = self.states.iter().step_by(self.lanes.max(1));
        let excess = self.excess.iter().copied().chain(std::iter::repeat(Excess::default()));
        firsts.zip(excess).map(|(s, excess)| {
            let jitter_16 = s.last.jitter_16 as f64 - excess.at(s.last.seen);
            Jitter::new(jitter_16.max(0.0) / 16.0, s.last.seen)
        })
    }

    /// Whether no pause touched the newest packet of `stream` or came after it, so that none cost those after it. Of
    /// several lanes that is not known.
    pub fn is_quiet_since(&self, stream: usize) -> bool {
        self.is_blameless(stream * self.lanes, Nanos::MAX)
    }

    /// Progress of a stream here: of each lane the packets sent when its newest left, those received of all lanes, and
    /// when the newest of all left.
    pub fn progress(&self, stream: usize) -> (Vec<u64>, u64, Nanos) {
        let first = stream * self.lanes;
        let lanes = self.states[first..first + self.lanes].iter().map(|state| state.lane.expected());
        let Last { seen, sent, .. } = self.states[first].last;
        (lanes.collect(), seen, sent)
    }

    /// Packets the senders of `stream` had sent when the newest packet of each lane left, as far as can be seen here.
    pub fn expected(&self, stream: usize) -> u64 {
        let first = stream * self.lanes;
        self.states[first..first + self.lanes].iter().map(|s| s.lane.expected()).sum()
    }
}

/// Takes what sets a packet with this latency apart from the last one of its stream, of which a pause touched one.
#[inline(always)]
fn follow_disturbed(row: &mut Row, last: &mut Last, excess: &mut Excess, latency: u64, now: Nanos) {
    let change = latency.abs_diff(last.latency);
    row.followed(change, now.since(last.arrival).0);
    last.disturb(excess, change);
}

/// Sets rows to their defaults, if they are not.
fn clear_each<T: Default>(rows: &mut [T], is_empty: fn(&T) -> bool) {
    rows.iter_mut().filter(|row| !is_empty(row)).for_each(|row| *row = T::default());
}

/// Streams of a table of which packets that pauses touched are kept apart.
fn apart(table: &Table) -> usize {
    table.touched.as_ref().map_or(0, |touched| touched.rows.len())
}

#[cfg(test)]
mod tests;
