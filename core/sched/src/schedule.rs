//! All classes of one port on one worker, and the order in which their slots are due.

use crate::class::Class;
use units::{Nanos, Pps};

/// What one stream asks of the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StreamLoad {
    /// Packets per second; `None` is whenever there is room.
    pub rate: Option<Pps>,
    /// Packets back to back at a time (1: evenly spaced). The rate is kept on average. Streams without a rate take turns
    /// of at least 8 packets.
    pub group: u32,
    /// Packets in all; `None` is until the end.
    pub count: Option<u64>,
    /// From the start of traffic to the stream's first slot.
    pub start_delay: Nanos,
}

/// Which part of every class is this worker's: slots `index`, `index + of`, ….
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// The worker's number among those that send on this port.
    pub index: u16,
    /// How many there are, at least 1.
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
    /// How many packets, all due at once; at least 1.
    pub run: u32,
    /// Number of the first packet in its stream, from 0, counted over all workers. The others follow.
    pub number: u64,
    /// When it is due; the instant of the poll for a stream without a rate.
    pub due: Nanos,
}

/// Which stream sends next on one port.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// A binary heap, earliest due first.
    paced: Vec<Class>,
    /// Classes without a rate, which share the room that is left.
    greedy: Vec<Class>,
    greedy_turn: usize,
    end: Nanos,
}

impl Schedule {
    /// The schedule of `streams` (index and load) from `start` until just before `start + duration`.
    pub fn new(streams: &[(u32, StreamLoad)], start: Nanos, duration: Nanos, share: Share) -> Self {
        let mut loads: Vec<(StreamLoad, Vec<u32>)> = Vec::new();
        let mut place = std::collections::HashMap::new();
        for (stream, load) in streams {
            let at = *place.entry(*load).or_insert_with(|| {
                loads.push((*load, Vec::new()));
                loads.len() - 1
            });
            loads[at].1.push(*stream);
        }
        loads.sort_by_key(|(load, _)| load.rate.is_none());
        let classes = loads.iter().filter(|(load, _)| load.rate.is_some()).count();
        let made = loads
            .into_iter()
            .enumerate()
            .map(|(place, (load, streams))| Class::new(streams, &load, start, share, place, classes));
        let (paced, greedy) = made.partition(Class::is_paced);
        let mut schedule = Self { paced, greedy, greedy_turn: 0, end: start.saturating_add(duration) };
        for i in (0..schedule.paced.len() / 2).rev() {
            schedule.sift_down(i);
        }
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
        let n = if self.paced.is_empty() { 0 } else { self.poll_paced(now, out, &mut room) };
        if self.greedy.is_empty() { n } else { n + self.poll_greedy(now, &mut out[n..], room) }
    }

    fn poll_paced(&mut self, now: Nanos, out: &mut [Slot], room: &mut u32) -> usize {
        let limit = Nanos(now.0.min(self.end.0.saturating_sub(1)));
        let mut n = 0;
        while n < out.len() && *room > 0 {
            let next = self.second_due();
            let class = &mut self.paced[0];
            let mut due = class.due();
            if due > limit {
                break;
            }
            while due <= limit && due <= next && n < out.len() && *room > 0 {
                let slot = class.slot(*room);
                *room -= slot.run;
                out[n] = slot;
                n += 1;
                class.advance(&slot);
                due = class.due();
            }
            self.sift_down(0);
        }
        n
    }

    /// When the first slot of any class but the one at the top is due.
    #[inline(always)]
    fn second_due(&self) -> Nanos {
        let due = |i: usize| self.paced.get(i).map_or(Nanos::MAX, Class::due);
        due(1).min(due(2))
    }

    fn sift_down(&mut self, mut i: usize) {
        loop {
            let (left, right) = (2 * i + 1, 2 * i + 2);
            let mut least = i;
            if left < self.paced.len() && self.paced[left].due() < self.paced[least].due() {
                least = left;
            }
            if right < self.paced.len() && self.paced[right].due() < self.paced[least].due() {
                least = right;
            }
            if least == i {
                return;
            }
            self.paced.swap(i, least);
            i = least;
        }
    }

    fn poll_greedy(&mut self, now: Nanos, out: &mut [Slot], mut room: u32) -> usize {
        if now >= self.end {
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

    /// When [`Schedule::poll`] next has something to say; [`Nanos::MAX`] when it never will again.
    pub fn next_due(&self) -> Nanos {
        let paced = self.paced.first().map_or(Nanos::MAX, Class::due);
        let greedy = self.greedy.iter().map(Class::due).min().unwrap_or(Nanos::MAX);
        let next = paced.min(greedy);
        if next < self.end { next } else { Nanos::MAX }
    }

    /// Whether streams without a rate still want all the room there is.
    pub fn is_greedy(&self) -> bool {
        self.greedy.iter().any(|c| !c.is_finished())
    }

    /// Slots due before the end that [`Schedule::poll`] has not returned yet: what is still owed.
    pub fn owed(&self) -> u64 {
        self.paced.iter().map(|c| c.owed(self.end)).sum()
    }

    /// The instant at and after which nothing is due.
    pub fn end(&self) -> Nanos {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn load(pps: u64) -> StreamLoad {
        StreamLoad { rate: Some(Pps::new(pps)), group: 1, count: None, start_delay: Nanos::ZERO }
    }

    /// A slot's packets, one slot each.
    fn packets(slot: &Slot) -> impl Iterator<Item = Slot> + use<> {
        let slot = *slot;
        (0..slot.run).map(move |i| Slot { run: 1, number: slot.number + u64::from(i), ..slot })
    }

    fn all(streams: &[(u32, StreamLoad)], duration: Nanos, share: Share) -> Vec<Slot> {
        let mut schedule = Schedule::new(streams, Nanos(1_000), duration, share);
        let (mut slots, mut out) = (Vec::new(), [Slot::default(); 7]);
        loop {
            let due = schedule.next_due();
            if due == Nanos::MAX {
                assert_eq!(schedule.owed(), 0);
                return slots;
            }
            let n = schedule.poll(due, &mut out, 5);
            assert!(n > 0, "next_due promised a slot");
            assert!(out[..n].iter().map(|s| s.run).sum::<u32>() <= 5);
            slots.extend(out[..n].iter().flat_map(packets));
        }
    }

    #[test]
    fn departures_are_arithmetic_to_the_nanosecond() {
        let slots = all(&[(0, load(3_000_000))], Nanos::from_millis(1), Share::WHOLE);
        assert_eq!(slots.len(), 3_000);
        for (j, slot) in slots.iter().enumerate() {
            assert_eq!(
                *slot,
                Slot { stream: 0, run: 1, number: j as u64, due: Nanos(1_000 + j as u64 * 1_000 / 3) }
            );
        }
    }

    #[test]
    fn a_thousand_streams_leave_as_one_even_train() {
        let streams: Vec<_> = (0..1_000).map(|i| (i, load(1_000))).collect();
        let slots = all(&streams, Nanos::from_millis(10), Share::WHOLE);
        assert_eq!(slots.len(), 10_000);
        assert!(slots.windows(2).all(|w| w[1].due.0 - w[0].due.0 == 1_000));
        assert!(
            slots
                .iter()
                .enumerate()
                .all(|(j, s)| (s.stream, s.number) == (j as u32 % 1_000, j as u64 / 1_000))
        );
    }

    #[test]
    fn groups_keep_the_mean_rate() {
        let burst = StreamLoad { group: 16, ..load(1_000_000) };
        let slots = all(&[(0, burst)], Nanos::from_millis(1), Share::WHOLE);
        assert_eq!(slots.len(), 1_008, "a group begun before the end is finished");
        assert!(slots.iter().enumerate().all(|(j, s)| s.due.0 == 1_000 + (j as u64 / 16) * 16_000));
    }

    #[test]
    fn streams_without_a_rate_take_turns_in_the_room_left() {
        let greedy = StreamLoad { rate: None, ..load(0) };
        let mut schedule = Schedule::new(
            &[(0, greedy), (1, greedy), (2, load(1_000))],
            Nanos(0),
            Nanos::from_secs(1),
            Share::WHOLE,
        );
        let mut out = [Slot::default(); 8];
        assert_eq!(schedule.poll(Nanos(0), &mut out, 20), 4);
        assert_eq!(out.map(|s| (s.stream, s.run))[..4], [(2, 1), (0, 8), (1, 8), (0, 3)]);
        assert_eq!(
            schedule.poll(Nanos::from_secs(1), &mut out, 8),
            8,
            "late slots are still owed after the end"
        );
        assert!(out.iter().all(|s| s.stream == 2));
        assert_eq!(schedule.owed(), 1_000 - 9);
    }

    #[test]
    fn a_stream_alone_without_a_rate_fills_the_room_in_one_slot() {
        let alone = StreamLoad { rate: None, count: Some(100), ..load(0) };
        let mut schedule = Schedule::new(&[(3, alone)], Nanos(0), Nanos::from_secs(1), Share::WHOLE);
        let mut out = [Slot::default(); 8];
        for (number, run) in [(0, 64), (64, 36)] {
            assert_eq!(schedule.poll(Nanos(7), &mut out, 64), 1);
            assert_eq!(out[0], Slot { stream: 3, run, number, due: Nanos(7) });
        }
        assert_eq!(schedule.poll(Nanos(8), &mut out, 64), 0);
        assert!(!schedule.is_greedy());
    }

    #[test]
    fn a_count_ends_a_stream_and_a_delay_starts_it_late() {
        let some = StreamLoad { count: Some(5), start_delay: Nanos(500), ..load(1_000_000_000) };
        let slots = all(&[(0, some), (1, some)], Nanos::MAX, Share::WHOLE);
        assert_eq!(slots.len(), 10);
        assert_eq!(
            (slots[0].due, slots[9]),
            (Nanos(1_500), Slot { stream: 1, run: 1, number: 4, due: Nanos(1_504) })
        );
    }

    fn loads() -> impl Strategy<Value = Vec<StreamLoad>> {
        let load = (1u64..5_000_000_000, 1u32..5, proptest::option::of(1u64..20), 0u64..3).prop_map(
            |(micro_kpps, group, count, delay)| StreamLoad {
                rate: Some(Pps::from_micro(micro_kpps * 1_000)),
                group,
                count,
                start_delay: Nanos::from_micros(delay),
            },
        );
        (proptest::collection::vec(load, 1..4), 1usize..4)
            .prop_map(|(loads, copies)| loads.iter().flat_map(|l| vec![*l; copies]).collect())
    }

    proptest! {
        #[test]
        fn workers_together_send_what_one_would(loads in loads(), workers in 1u16..5) {
            let streams: Vec<_> = loads.iter().enumerate().map(|(i, l)| (i as u32, *l)).collect();
            let span = Nanos::from_micros(50);
            let key = |s: &Slot| (s.due, s.stream, s.number);
            let mut one = all(&streams, span, Share::WHOLE);
            let mut many: Vec<_> =
                (0..workers).flat_map(|index| all(&streams, span, Share { index, of: workers })).collect();
            one.sort_by_key(key);
            many.sort_by_key(key);
            prop_assert_eq!(one, many);
        }

        #[test]
        fn slots_come_in_order_and_what_is_owed_is_what_would_come(loads in loads(), stop in 0u64..60_000) {
            let streams: Vec<_> = loads.iter().enumerate().map(|(i, l)| (i as u32, *l)).collect();
            for share in [Share::WHOLE, Share { index: 1, of: 3 }] {
                let mut schedule = Schedule::new(&streams, Nanos(0), Nanos::from_micros(50), share);
                let mut out = [Slot::default(); 5];
                let n = schedule.poll(Nanos(stop), &mut out, 3);
                prop_assert!(out[..n].windows(2).all(|w| w[0].due <= w[1].due));
                let owed = schedule.owed();
                let mut rest = 0;
                loop {
                    let n = schedule.poll(Nanos::MAX, &mut out, 3);
                    if n == 0 { break }
                    rest += out[..n].iter().map(|s| u64::from(s.run)).sum::<u64>();
                }
                prop_assert_eq!(owed, rest);
                prop_assert_eq!(schedule.next_due(), Nanos::MAX);
            }
        }
    }
}
