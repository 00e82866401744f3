//! Repairs that turn out to have been for nothing: the peer reports every repeated segment as one that came twice, so nothing
//! was lost, and the window is as before (RFC 2883 section 4, RFC 3708, RFC 9438 section 4.9).
//!
//! Not here: spurious repairs detected from timestamps (RFC 3522).
//!
//! Invariant: state lives in the flow's box; a flow that has everything acknowledged forgets it.

use super::congestion::Cubic;
use super::sequence::{after, before};
use super::{Endpoint, Env};
use crate::box_pool::Work;
use units::Nanos;

/// State before a repair, until it is known to have been needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Undo {
    cwnd: u32,
    ssthresh: u16,
    cubic: Option<Cubic>,
    /// SND.UNA when it began.
    from: u32,
    /// Segments sent again that the peer has not reported as duplicates.
    repeats: u32,
    /// When it is forgotten, once it is over: what was overtaken is still on its way.
    until: Option<Nanos>,
}

impl Undo {
    /// Something was sent again, from this number on.
    pub(super) fn repeated(&mut self, from: u32) {
        if !before(from, self.from) {
            self.repeats += 1;
        }
    }

    /// The repair is over; reports are processed until then.
    pub(super) fn repaired(&mut self, until: Nanos) {
        self.until.get_or_insert(until);
    }
}

impl Work {
    /// Whether the stored state of a repair has expired.
    pub(super) fn forget_undo(&mut self, now: Nanos) {
        self.undo = self.undo.take().filter(|undo| undo.until.is_none_or(|until| now < until));
    }
}

impl Endpoint {
    /// A repair begins: must be called before it changes anything. One that continues by a time-out is the same.
    pub(super) fn remember(&mut self, env: &mut Env<'_>) {
        let (cwnd, ssthresh, from) = (self.cwnd, self.ssthresh, self.snd_una);
        let work = self.work(env);
        if work.recovery.is_none() {
            let cubic = work.cubic.clone();
            work.undo = Some(Undo { cwnd, ssthresh, cubic, from, repeats: 0, until: None });
        }
    }

    /// The peer reports that `from..to` arrived twice. Once it has reported all retransmitted data, the repair is
    /// undone.
    pub(super) fn take_duplicate(&mut self, env: &mut Env<'_>, (from, to): (u32, u32)) {
        let (mss, una) = (self.room_for_payload(), self.snd_una);
        let work = env.busy.work_mut(self.box_id());
        let Some(undo) = work.undo.as_mut().filter(|undo| undo.repeats > 0 && after(to, undo.from)) else {
            return;
        };
        undo.repeats = undo.repeats.saturating_sub(to.wrapping_sub(from).div_ceil(mss).max(1));
        if undo.repeats > 0 {
            return;
        }
        let Some(undo) = work.undo.take() else { return };
        if let Some(repair) = work.recovery.take_if(|repair| !repair.too_big) {
            (work.recovered, work.departed) = (Some(repair.point).filter(|point| before(una, *point)), 0);
            work.rack.repaired();
        }
        work.cubic = undo.cubic;
        self.cwnd = self.cwnd.max(undo.cwnd);
        self.ssthresh = self.ssthresh.max(undo.ssthresh);
        env.counts.spurious_repairs += 1;
    }
}
