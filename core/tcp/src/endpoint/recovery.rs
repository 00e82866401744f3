//! Finding and repairing loss: scoreboard and pipe (RFC 2018, RFC 6675), NewReno without SACK (RFC 6582), what follows a
//! time-out (RFC 5681 section 3.1).
//!
//! Invariant: the scoreboard's ranges lie between SND.UNA and SND.NXT, in order, and neither overlap nor touch.

use super::sequence::{after, before, earlier, later};
use super::{Endpoint, Env, bit};
use crate::box_pool::Work;
use crate::segment::SegmentHeader;

/// RFC 5681: duplicate acknowledgements that mean a loss.
const DUP_THRESH: u32 = 3;

/// Data that the peer holds beyond SND.UNA.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    ranges: Vec<(u32, u32)>,
    /// Bytes in all ranges.
    total: u32,
}

impl Scoreboard {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
        self.ranges.shrink_to(64);
        self.total = 0;
    }

    /// The end of the last range.
    pub(super) fn highest(&self) -> Option<u32> {
        self.ranges.last().map(|range| range.1)
    }

    /// Adds a range; returns how many of its bytes are new.
    pub(crate) fn add(&mut self, mut from: u32, mut to: u32) -> u32 {
        let first = self.ranges.partition_point(|range| before(range.1, from));
        let mut last = first;
        let mut known = 0;
        while let Some(range) = self.ranges.get(last).filter(|range| !after(range.0, to)) {
            known += range.1.wrapping_sub(range.0);
            (from, to) = (earlier(from, range.0), later(to, range.1));
            last += 1;
        }
        let new = to.wrapping_sub(from) - known;
        if last == first + 1 {
            self.ranges[first] = (from, to);
        } else {
            self.ranges.splice(first..last, [(from, to)]);
        }
        self.total += new;
        new
    }

    /// Forgets what lies before `una`.
    fn cut(&mut self, una: u32) {
        let gone = self.ranges.partition_point(|range| !after(range.1, una));
        for range in self.ranges.drain(..gone) {
            self.total -= range.1.wrapping_sub(range.0);
        }
        if let Some(first) = self.ranges.first_mut()
            && before(first.0, una)
        {
            self.total -= una.wrapping_sub(first.0);
            first.0 = una;
        }
    }

    /// Bytes of `from..to` not held.
    fn missing(&self, from: u32, to: u32) -> u32 {
        if !before(from, to) {
            return 0;
        }
        let first = self.ranges.partition_point(|range| !after(range.1, from));
        let held = |range: &&(u32, u32)| before(range.0, to);
        let held = self.ranges[first..].iter().take_while(held);
        let held: u32 = held.map(|range| earlier(range.1, to).wrapping_sub(later(range.0, from))).sum();
        to.wrapping_sub(from) - held
    }

    /// The first bytes not held at or after `from`, before `to`.
    pub(super) fn hole(&self, mut from: u32, to: u32) -> Option<(u32, u32)> {
        let first = self.ranges.partition_point(|range| !after(range.1, from));
        for range in &self.ranges[first..] {
            if after(range.0, from) {
                return before(from, to).then(|| (from, earlier(range.0, to)));
            }
            from = range.1;
        }
        before(from, to).then_some((from, to))
    }

    /// The last bytes not held before `to`.
    fn last_hole(&self, una: u32, mut to: u32) -> Option<(u32, u32)> {
        for range in self.ranges.iter().rev() {
            if before(range.1, to) {
                return Some((range.1, to));
            }
            to = earlier(to, range.0);
        }
        before(una, to).then_some((una, to))
    }

    /// Everything missing before this is lost (RFC 6675 section 4, IsLost): three ranges, or more than two segments'
    /// bytes, are held after it.
    pub(super) fn lost_before(&self, una: u32, mss: u32) -> u32 {
        let (mut count, mut bytes) = (0, 0);
        for range in self.ranges.iter().rev() {
            count += 1;
            bytes += range.1.wrapping_sub(range.0);
            if count >= DUP_THRESH || bytes > (DUP_THRESH - 1) * mss {
                return range.0;
            }
        }
        una
    }
}

/// A repair under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recovery {
    /// SND.NXT when it began (RFC 6675: RecoveryPoint).
    pub point: u32,
    /// After the last byte sent again (RFC 6675: HighRxt, plus one).
    pub resent: u32,
    /// SND.UNA when it began.
    pub began: u32,
    /// SND.NXT when what comes first was sent again: if something after it is held, that was lost again.
    pub beyond: u32,
    /// Begun by a time-out: all that is missing is lost.
    pub timeout: bool,
    /// The first missing segment is sent again regardless of the window.
    pub head: bool,
    /// The one rescue retransmission was made (RFC 6675 section 4, NextSeg rule 4).
    pub rescued: bool,
    /// Not because of loss: segments were too big (RFC 1191 section 6.4).
    pub too_big: bool,
}

impl Recovery {
    /// Whether what was sent again first is lost again: `highest` was sent later, and is held (RFC 8985 section 6.2).
    pub(super) fn is_head_lost(&self, highest: u32) -> bool {
        !self.head && after(highest, self.beyond)
    }
}

impl Work {
    /// All of `from..to` arrived, below data held before. Data not retransmitted arrived by themselves.
    fn note_order(&mut self, is_timed: bool, from: u32, to: u32) {
        if !is_timed {
            return;
        }
        let came_late = before(from, to) && self.scoreboard.missing(from, to) > 0;
        let is_repeat = |repair: &Recovery| repair.timeout || before(from, repair.resent);
        if came_late && !self.recovery.as_ref().is_some_and(is_repeat) {
            self.rack.saw_reordering();
        }
    }
}

/// Next segment of a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repair {
    /// These sequence numbers again.
    Again { from: u32, to: u32, rescue: bool },
    /// New data, if there is some and the windows allow.
    New,
    /// Nothing now.
    Wait,
}

impl Endpoint {
    /// Bytes thought to be in the network (RFC 6675 section 4: pipe).
    pub(super) fn pipe(&self, work: &Work) -> u32 {
        let board = &work.scoreboard;
        let (una, nxt) = (self.snd_una, self.snd_nxt);
        match &work.recovery {
            // RFC 3042: limited transmit sends a new segment for each of the first two duplicates.
            None => self.flight().saturating_sub(board.total.saturating_add(work.departed)),
            Some(repair) if repair.timeout || self.has(bit::SACK) => {
                let lost = if repair.timeout { repair.point } else { self.lost_before(work) };
                board.missing(later(lost, una), nxt) + board.missing(una, repair.resent)
            }
            Some(_) => self.flight().saturating_sub(work.departed),
        }
    }

    /// RFC 6675 section 4, NextSeg; without SACK that of RFC 6582.
    pub(super) fn next_repair(&self, env: &Env<'_>, work: &Work, repair: &Recovery, pipe: u32) -> Repair {
        let (una, mss) = (self.snd_una, self.room_for_payload());
        let board = &work.scoreboard;
        let again = |hole: (u32, u32), rescue| Repair::Again { from: hole.0, to: hole.1, rescue };
        if repair.head
            && let Some(hole) = board.hole(una, self.snd_nxt)
        {
            return again(hole, false);
        }
        if pipe > 0 && pipe.saturating_add(mss) > self.congestion_window(env) {
            return Repair::Wait;
        }
        let from = later(una, repair.resent);
        let lost = if repair.timeout { repair.point } else { self.lost_before(work) };
        // Rule 1: what is lost and was not sent again.
        if let Some(hole) = board.hole(from, lost) {
            return again(hole, false);
        }
        // Rule 2: new data.
        if self.new_data(env, pipe).is_some() || !self.has(bit::SACK) || repair.timeout {
            return Repair::New;
        }
        // Rule 3: what is missing below something held, lost or not.
        if let Some(hole) = board.highest().and_then(|highest| board.hole(from, highest)) {
            return again(hole, false);
        }
        // Rule 4: the last segment, once, so that the tail need not wait for a time-out. Not before the first repeated
        // segment has arrived: until then the tail's own acknowledgements may be on their way.
        match board.last_hole(una, repair.point) {
            Some(hole) if !repair.rescued && una != repair.began && before(repair.resent, hole.1) => {
                let from = later(hole.0, hole.1.wrapping_sub(mss));
                again((from, hole.1), true)
            }
            _ => Repair::Wait,
        }
    }

    /// Processes the SACK option; returns how many bytes are newly known to be held.
    pub(super) fn note_sacks(&mut self, env: &mut Env<'_>, header: &SegmentHeader) -> u32 {
        if !self.has(bit::SACK) || header.sack.is_empty() {
            return 0;
        }
        let una = later(self.snd_una, header.ack);
        let nxt = self.snd_nxt;
        let mut new = 0;
        let highest = if self.is_boxed() { env.busy.work(self.box_id()).scoreboard.highest() } else { None };
        for (from, to) in header.sack.as_slice().iter().copied() {
            // RFC 2018 section 4 and RFC 2883: blocks at or below the acknowledgement report duplicates.
            if !before(from, to) || before(from, una) || after(to, nxt) {
                continue;
            }
            let is_timed = env.options.rack;
            let work = self.work(env);
            if let Some(highest) = highest {
                work.note_order(is_timed, from, earlier(to, highest));
            }
            new += work.scoreboard.add(from, to);
        }
        new
    }

    /// Processes an acknowledgement of new data for a flow with a box. `una` has advanced by `acked`.
    pub(super) fn repair_on_advance(&mut self, env: &mut Env<'_>, acked: u32, flight: u32) {
        let (una, mss, sack) = (self.snd_una, self.room_for_payload(), self.has(bit::SACK));
        let (nxt, is_timed) = (self.snd_nxt, env.options.rack);
        // What was overtaken by more than a time-out was sent again by one.
        let reports_until = env.now.saturating_add(self.time_out(env));
        let work = env.busy.work_mut(self.box_id());
        if let Some(first) = work.scoreboard.ranges.first().map(|first| first.0) {
            work.note_order(is_timed, una.wrapping_sub(acked), earlier(first, una));
        }
        work.scoreboard.cut(una);
        if work.scoreboard.ranges.first().is_some_and(|first| first.0 == una) {
            // RFC 2018 section 8: the peer has thrown away what it said it held.
            work.scoreboard.clear();
        }
        work.repeated = 0;
        work.recovered = work.recovered.filter(|end| !after(una, *end));
        work.reduced = work.reduced.filter(|end| before(una, *end));
        work.forget_undo(env.now);
        let Some(repair) = &mut work.recovery else {
            work.departed = 0;
            return self.grow(env, acked, flight);
        };
        repair.resent = later(repair.resent, una);
        repair.beyond = nxt;
        if !before(una, repair.point) {
            let (point, by_timeout) = (repair.point, repair.timeout);
            (work.recovery, work.recovered, work.departed) = (None, Some(point), 0);
            work.rack.repaired();
            if let Some(undo) = &mut work.undo {
                undo.repaired(reports_until);
            }
            if by_timeout {
                self.grow(env, acked, u32::MAX);
            } else {
                // RFC 6582 section 3.2 step 3 (full acknowledgement); RFC 6675 section 5 step A.
                let flight = self.flight().max(mss) + mss;
                self.cwnd = if sack { self.threshold() } else { self.threshold().min(flight) }.min(self.cwnd);
            }
        } else if repair.timeout {
            self.grow(env, acked, u32::MAX);
        } else if !sack {
            // RFC 6582 section 3.2 step 3 (partial acknowledgement): the next segment is lost too.
            repair.head = true;
            work.departed = work.departed.saturating_sub(acked);
            if acked >= mss {
                work.departed += mss;
            }
        }
    }

    /// Processes an acknowledgement of no new data in order: `held` bytes are newly known to be held.
    pub(super) fn repair_on_repeat(&mut self, env: &mut Env<'_>, held: u32) {
        let (una, mss, sack) = (self.snd_una, self.room_for_payload(), self.has(bit::SACK));
        let most = self.flight();
        let work = self.work(env);
        work.repeated += 1;
        if !sack {
            work.departed = (work.departed + mss).min(most);
        }
        if work.recovery.is_some() {
            return;
        }
        let lost = if sack {
            let work = env.busy.work(self.box_id());
            held > 0
                && (work.repeated >= DUP_THRESH && !work.rack.has_reordered()
                    || self.lost_before(work) != una)
        } else {
            // RFC 6582 section 3.2 step 1: not for what a time-out's repair sent twice.
            work.repeated == DUP_THRESH && work.recovered.is_none_or(|end| after(una, end))
        };
        if lost {
            self.begin_repair(env, false);
        }
    }

    /// Begins fast recovery (RFC 6675 section 5 step 4, RFC 6582 section 3.2 step 2), or repair after a time-out.
    pub(super) fn begin_repair(&mut self, env: &mut Env<'_>, timeout: bool) {
        self.remember(env);
        // A second time-out in a row leaves the threshold alone (RFC 5681 section 3.1).
        if !timeout || self.retries <= 1 {
            self.reduce(env, timeout);
        }
        let mss = self.room_for_payload();
        if timeout {
            self.cwnd = mss;
            env.counts.timeouts += 1;
        } else {
            self.cwnd = self.threshold().min(self.cwnd);
            env.counts.fast_recoveries += 1;
        }
        let (una, nxt, retries) = (self.snd_una, self.snd_nxt, self.retries);
        let work = self.work(env);
        if timeout {
            (work.departed, work.repeated) = (0, 0);
            work.rack.timed_out();
            if retries > 1 {
                // RFC 2018 section 8: the peer may have thrown away what it held.
                work.scoreboard.clear();
            }
        }
        let repair = Recovery {
            point: nxt,
            resent: una,
            began: una,
            beyond: nxt,
            timeout,
            head: true,
            rescued: false,
            too_big: false,
        };
        work.recovery = Some(repair);
        self.clear(bit::TIMING);
    }

    /// All in flight is sent again in smaller segments; the path is not to blame (RFC 1191 section 6.4).
    pub(super) fn begin_resegmenting(&mut self, env: &mut Env<'_>) {
        let (una, nxt) = (self.snd_una, self.snd_nxt);
        let work = self.work(env);
        let repair = Recovery {
            point: nxt,
            resent: una,
            began: una,
            beyond: nxt,
            timeout: true,
            head: true,
            rescued: false,
            too_big: true,
        };
        work.recovery = Some(repair);
        self.clear(bit::TIMING);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn scoreboard_by_example() {
        let mut board = Scoreboard::default();
        assert_eq!(board.add(200, 300), 100);
        assert_eq!(board.add(400, 500), 100);
        assert_eq!(board.add(250, 420), 100);
        assert_eq!(board.ranges, [(200, 500)]);
        assert_eq!(board.add(200, 500), 0);
        assert_eq!(
            (board.hole(100, 600), board.hole(200, 600), board.hole(200, 500)),
            (Some((100, 200)), Some((500, 600)), None)
        );
        assert_eq!((board.missing(100, 600), board.missing(250, 260), board.missing(450, 550)), (200, 0, 50));
        assert_eq!(
            (board.last_hole(100, 600), board.last_hole(100, 500)),
            (Some((500, 600)), Some((100, 200)))
        );
        board.cut(300);
        assert_eq!((board.ranges.as_slice(), board.total), (&[(300, 500)][..], 200));
    }

    /// RFC 6675 section 4: three ranges above, or more than two segments.
    #[test]
    fn is_lost_by_ranges_or_by_bytes() {
        let mut board = Scoreboard::default();
        board.add(1_100, 1_110);
        board.add(1_200, 1_210);
        assert_eq!(board.lost_before(1_000, 100), 1_000);
        board.add(1_300, 1_310);
        assert_eq!(board.lost_before(1_000, 100), 1_100);
        board.add(1_400, 1_601);
        assert_eq!(board.lost_before(1_000, 100), 1_400);
    }

    proptest! {
        /// Against a plain array of which bytes are held, across the wrap.
        #[test]
        fn scoreboard_is_a_set(ranges in prop::collection::vec((0u32..200, 1u32..40), 1..30), cut in 0u32..240,
                               from in 0u32..240, to in 0u32..240) {
            let base = u32::MAX - 77;
            let mut board = Scoreboard::default();
            let mut held = [false; 241];
            for (from, len) in ranges {
                let new = (from..from + len).filter(|at| !held[*at as usize]).count();
                prop_assert_eq!(board.add(base.wrapping_add(from), base.wrapping_add(from + len)), new as u32);
                held[from as usize..(from + len) as usize].fill(true);
            }
            board.cut(base.wrapping_add(cut));
            held[..cut as usize].fill(false);
            prop_assert_eq!(board.total as usize, held.iter().filter(|is| **is).count());
            let missing = (from..to).filter(|at| !held[*at as usize]).count();
            prop_assert_eq!(board.missing(base.wrapping_add(from), base.wrapping_add(to)) as usize, missing);
            let hole = board.hole(base.wrapping_add(from), base.wrapping_add(to)).map(|hole| hole.0.wrapping_sub(base));
            prop_assert_eq!(hole, (from..to).find(|at| !held[*at as usize]));
            let last = board.last_hole(base, base.wrapping_add(to)).map(|hole| hole.1.wrapping_sub(base));
            prop_assert_eq!(last, (0..to).rev().find(|at| !held[*at as usize]).map(|at| at + 1));
        }
    }
}
