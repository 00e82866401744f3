//! Loss by time and probes of the tail (RFC 8985), and duplicates the peer reports (RFC 2883).
//!
//! Departure times of segments are not stored. Data that a SACK shows to be missing below it were sent before the data
//! it reports, so they are overdue a reordering window after the SACK: never earlier than in RFC 8985 section 6.2,
//! later by at most that window. The window is a quarter of the smoothed round-trip time, in place of the minimum one.
//!
//! Invariant: state lives in the flow's box; a flow that has everything acknowledged forgets it.

use super::sequence::{after, before, later};
use super::timers::{Tick, TimerKind};
use super::transmit::Next;
use super::{Endpoint, Env, bit};
use crate::box_pool::Work;
use crate::segment::SegmentHeader;
use units::Nanos;

/// Shortest time before the tail is probed: busy hosts seldom reply faster than this.
const PROBE_MIN: Nanos = Nanos::from_millis(10);
/// Repairs after which a widened reordering window is forgotten (RFC 8985 section 6.2 step 4).
const WIDE_FOR: u8 = 16;

/// A tail loss probe whose acknowledgement is awaited (RFC 8985 section 7.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Probe {
    /// SND.NXT when it was sent.
    end: u32,
    /// Whether it repeats something; otherwise it is new data.
    repeats: bool,
}

/// Time and reordering state of a flow.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rack {
    /// Missing data below this are lost at this instant, unless they arrive before.
    pending: Option<(u32, Tick)>,
    /// Missing data below this are lost: overdue.
    lost: Option<u32>,
    /// Segments were seen to arrive out of order: three held after a gap mean no loss any more.
    reordered: bool,
    /// By how much the reordering window is widened, and for how many repairs.
    wider: u8,
    wide_for: u8,
    /// SND.NXT when it was widened: once a round trip.
    widened: Option<u32>,
    probe: Option<Probe>,
    probe_owed: bool,
}

impl Rack {
    /// Whether there is nothing to remember while data are in flight.
    pub(crate) fn is_spare(&self) -> bool {
        *self == Self::default()
    }

    /// Whether segments overtake each other on this path.
    pub(crate) fn has_reordered(&self) -> bool {
        self.reordered
    }

    /// Data missing below held data arrived without a retransmission.
    pub(crate) fn saw_reordering(&mut self) {
        self.reordered = true;
    }

    /// A repair is over.
    pub(crate) fn repaired(&mut self) {
        (self.lost, self.wide_for) = (None, self.wide_for.saturating_sub(1));
        if self.wide_for == 0 {
            (self.wider, self.widened) = (0, None);
        }
    }

    /// A repair begins at which all that is missing counts as lost.
    pub(crate) fn timed_out(&mut self) {
        (self.lost, self.pending, self.probe, self.probe_owed) = (None, None, None, false);
    }
}

impl Endpoint {
    /// Whether loss is detected by time: both sides report the data they hold.
    #[inline(always)]
    fn is_timed(&self, env: &Env<'_>) -> bool {
        env.options.rack && self.has(bit::SACK) && self.srtt != 0
    }

    /// When to probe the tail, if that is before the time-out (RFC 8985 section 7.2). A lone segment waits for the
    /// time-out: with the time its acknowledgement may take the probe would not be earlier.
    #[inline]
    pub(super) fn probe_after(&self, env: &Env<'_>, time_out: Nanos) -> Option<Nanos> {
        if self.flight() <= u32::from(self.mss) || !self.is_timed(env) || self.timer.doublings() > 0 {
            return None;
        }
        if self.is_boxed() {
            let work = env.busy.work(self.box_id());
            let repairs = work.recovery.is_some() || !work.scoreboard.is_empty();
            if repairs || work.rack.probe.is_some() {
                return None;
            }
        }
        let after = Nanos((u64::from(self.srtt >> 3) << 7).max(PROBE_MIN.0));
        (after < time_out).then_some(after)
    }

    /// When what is missing is overdue, if something is.
    pub(super) fn overdue_at(&self, env: &Env<'_>) -> Option<Tick> {
        env.busy.work(self.box_id()).rack.pending.map(|pending| pending.1)
    }

    /// The tail was not acknowledged: the next segment goes out regardless of the congestion window, or the last one
    /// again.
    pub(super) fn probe_expired(&mut self, env: &mut Env<'_>) {
        let end = self.snd_nxt;
        let repeats = !self.has_new_segment();
        let rack = &mut self.work(env).rack;
        rack.probe = Some(Probe { end, repeats });
        rack.probe_owed = true;
        env.counts.tail_probes += 1;
        self.start_retransmit(env);
    }

    /// Whether a segment of new data fits the peer's window.
    fn has_new_segment(&self) -> bool {
        let usable = (u32::from(self.snd_wnd) << (self.scales & 15)).saturating_sub(self.flight());
        self.state.sends() && self.unsent() > 0 && self.unsent().min(self.room_for_payload()) <= usable
    }

    /// The probe that is owed (RFC 8985 section 7.3).
    pub(super) fn owed_probe(&self, work: &Work) -> Option<Next> {
        if !work.rack.probe_owed || self.flight() == 0 {
            return None;
        }
        if self.has_new_segment() {
            return Some(Next::New(self.unsent().min(self.room_for_payload())));
        }
        let fin = u32::from(self.state.fin_in_flight());
        let from = later(self.snd_una, self.snd_nxt.wrapping_sub(self.room_for_payload() + fin));
        Some(Next::Again { from, to: self.snd_nxt, rescue: true })
    }

    /// Something went out: the probe, if one was owed.
    #[inline]
    pub(super) fn probe_sent(&mut self, env: &mut Env<'_>) {
        let end = self.snd_nxt;
        let rack = &mut env.busy.work_mut(self.box_id()).rack;
        if std::mem::take(&mut rack.probe_owed)
            && let Some(probe) = &mut rack.probe
        {
            probe.end = end;
        }
    }

    /// Processes an acknowledgement while a probe is outstanding (RFC 8985 section 7.4.2).
    fn take_probe_answer(&mut self, env: &mut Env<'_>, header: &SegmentHeader, duplicate: bool, new: bool) {
        let rack = &mut env.busy.work_mut(self.box_id()).rack;
        let Some(probe) = rack.probe.filter(|probe| !before(header.ack, probe.end)) else { return };
        let both_arrived = duplicate || header.ack == probe.end && !new && header.sack.is_empty();
        if !probe.repeats || both_arrived {
            rack.probe = None;
        } else if after(header.ack, probe.end) {
            // The probe repaired a loss that nothing else told of.
            rack.probe = None;
            self.reduce(env, false);
            self.cwnd = self.threshold().min(self.cwnd);
        }
    }

    /// Everything missing before this is lost: by what is held after it, unless the path reorders, or by time.
    pub(super) fn lost_before(&self, work: &Work) -> u32 {
        let una = self.snd_una;
        let by_count =
            if work.rack.reordered { una } else { work.scoreboard.lost_before(una, self.room_for_payload()) };
        work.rack.lost.map_or(by_count, |lost| later(lost, by_count))
    }

    /// The range received twice, if the first block reports one (RFC 2883 section 4): below the acknowledgement, or
    /// within the second block.
    fn reported_duplicate(header: &SegmentHeader) -> Option<(u32, u32)> {
        let is = match header.sack.as_slice() {
            [(from, to), ..] if before(*from, *to) && !after(*to, header.ack) => true,
            [(from, to), (first, last), ..] => {
                before(*from, *to) && !before(*from, *first) && !after(*to, *last) && before(*first, *last)
            }
            _ => false,
        };
        header.sack.as_slice().first().copied().filter(|_| is)
    }

    /// Processes an acceptable acknowledgement for time and probes: must be called last, if the flow has a box.
    pub(super) fn take_times(&mut self, env: &mut Env<'_>, header: &SegmentHeader, new: bool) {
        let twice = if self.has(bit::SACK) { Self::reported_duplicate(header) } else { None };
        if let Some(twice) = twice {
            env.counts.duplicates_reported += 1;
            if self.is_boxed() {
                self.take_duplicate(env, twice);
            }
        }
        if !self.is_boxed() || !env.options.rack {
            return;
        }
        self.take_probe_answer(env, header, twice.is_some(), new);
        if twice.is_some() {
            self.widen(env);
        }
        self.watch(env);
    }

    /// Something was sent twice for nothing: the reordering window was too small (RFC 8985 section 6.2 step 4).
    fn widen(&mut self, env: &mut Env<'_>) {
        let nxt = self.snd_nxt;
        let una = self.snd_una;
        let rack = &mut env.busy.work_mut(self.box_id()).rack;
        if rack.widened.is_none_or(|end| !before(una, end)) {
            rack.wider = rack.wider.saturating_add(1).min(3);
            (rack.wide_for, rack.widened) = (WIDE_FOR, Some(nxt));
        }
    }

    /// Sees to what is missing below what is held.
    fn watch(&mut self, env: &mut Env<'_>) {
        if !self.is_timed(env) {
            return;
        }
        let una = self.snd_una;
        let work = env.busy.work_mut(self.box_id());
        let rack = &mut work.rack;
        rack.lost = rack.lost.filter(|lost| after(*lost, una));
        rack.pending = rack.pending.filter(|pending| after(pending.0, una));
        if rack.pending.is_none()
            && let Some(highest) = work.scoreboard.highest()
        {
            let known = rack.lost.map_or(una, |lost| later(lost, una));
            let lost_again = work.recovery.as_ref().is_some_and(|repair| repair.is_head_lost(highest));
            let by_time = work.scoreboard.hole(known, highest).is_some();
            let repairing_all = work.recovery.as_ref().is_some_and(|repair| repair.timeout);
            if lost_again || by_time && !repairing_all {
                let window = (u64::from(self.srtt >> 3) << 4) * (1 + u64::from(rack.wider));
                rack.pending = Some((highest, Tick::at_or_after(env.now.saturating_add(Nanos(window)))));
            }
        }
        let is_pending = rack.pending.is_some();
        if is_pending || self.timer.kind() == TimerKind::Reorder {
            self.start_retransmit(env);
        }
    }

    /// The watched data are overdue (RFC 8985 section 6.3).
    pub(super) fn reorder_expired(&mut self, env: &mut Env<'_>) {
        if self.is_boxed() {
            self.overdue(env);
        }
        self.start_retransmit(env);
    }

    fn overdue(&mut self, env: &mut Env<'_>) {
        let una = self.snd_una;
        let work = env.busy.work_mut(self.box_id());
        let Some((high, _)) = work.rack.pending.take() else { return };
        let Some(highest) = work.scoreboard.highest() else { return };
        match &mut work.recovery {
            Some(repair) => {
                if repair.is_head_lost(highest) {
                    repair.head = true;
                }
                if !repair.timeout {
                    work.rack.lost = Some(high);
                }
            }
            None => {
                work.rack.lost = Some(high);
                if work.scoreboard.hole(una, high).is_some() {
                    self.begin_repair(env, false);
                }
            }
        }
        self.watch(env);
    }
}
