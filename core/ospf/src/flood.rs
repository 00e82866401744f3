//! Which LSAs are under way to the neighbours: what is still to be sent, and what nobody has acknowledged yet (RFC 2328 section 13.3).
//!
//! Not here: packets. Invariant: what is under way is bounded, however many LSAs there are.

use crate::own::Place;
use std::collections::{BTreeMap, VecDeque};
use units::Nanos;

/// LSAs under way at once.
const UNDER_WAY_MAX: usize = 8_192;
/// Time until an LSA is sent again (appendix C.3).
pub(crate) const RETRANSMIT: Nanos = Nanos::from_secs(5);

/// LSAs under way.
#[derive(Debug, Default)]
pub(crate) struct Flood {
    /// Of each group, the next LSA to be sent.
    next: Vec<u32>,
    /// Where a neighbour is missing: its bit is set.
    under_way: BTreeMap<Place, (Nanos, u8)>,
    /// When they were sent, in this order. Some may have been acknowledged since.
    sent: VecDeque<(Nanos, Place)>,
}

impl Flood {
    /// For so many groups.
    pub(crate) fn new(counts: impl Iterator<Item = u32>) -> Self {
        Self { next: counts.collect(), ..Self::default() }
    }

    /// Begins with a group, or begins anew.
    pub(crate) fn begin(&mut self, group: usize) {
        self.next[group] = 0;
        self.under_way.retain(|place, _| place.0 != group as u32);
    }

    /// Sends nothing more of a group.
    pub(crate) fn skip(&mut self, group: usize, count: u32) {
        self.next[group] = count;
        self.under_way.retain(|place, _| place.0 != group as u32);
    }

    /// The next LSA to be sent, if there is room; `counts` are those of the groups.
    pub(crate) fn next(&self, count: impl Fn(usize) -> u32) -> Option<Place> {
        let group = (0..self.next.len()).find(|group| self.next[*group] < count(*group))?;
        (self.under_way.len() < UNDER_WAY_MAX).then(|| (group as u32, self.next[group]))
    }

    /// The next LSA of its group was sent to those whose bits are set.
    pub(crate) fn sent(&mut self, now: Nanos, place: Place, to: u8) {
        self.next[place.0 as usize] = place.1 + 1;
        self.note(now, place, to);
    }

    fn note(&mut self, now: Nanos, place: Place, to: u8) {
        self.under_way.insert(place, (now, to));
        self.sent.push_back((now, place));
    }

    /// An LSA that is to be sent again, and to whom: it was sent long ago and nobody acknowledged it.
    pub(crate) fn late(&mut self, now: Nanos) -> Option<(Place, u8)> {
        loop {
            let (at, place) = *self.sent.front().filter(|(at, _)| at.saturating_add(RETRANSMIT) <= now)?;
            self.sent.pop_front();
            if let Some((_, to)) = self.under_way.get(&place).filter(|(sent, _)| *sent == at).copied() {
                self.note(now, place, to);
                return Some((place, to));
            }
        }
    }

    /// When one is late next; those that were acknowledged count as well.
    pub(crate) fn next_late(&self) -> Nanos {
        self.sent.front().map_or(Nanos::MAX, |(at, _)| at.saturating_add(RETRANSMIT))
    }

    /// A neighbour has an LSA; returns whether it was awaited.
    pub(crate) fn acknowledge(&mut self, place: Place, by: u8) -> bool {
        let Some((_, to)) = self.under_way.get_mut(&place) else { return false };
        let is_awaited = *to & by != 0;
        *to &= !by;
        if *to == 0 {
            self.under_way.remove(&place);
        }
        if self.under_way.is_empty() {
            self.sent.clear();
        }
        is_awaited
    }

    /// A neighbour is gone: nothing is awaited from it.
    pub(crate) fn forget(&mut self, by: u8) {
        self.under_way.retain(|_, (_, to)| {
            *to &= !by;
            *to != 0
        });
        if self.under_way.is_empty() {
            self.sent.clear();
        }
    }

    /// Whether all has been sent and acknowledged.
    pub(crate) fn is_done(&self, count: impl Fn(usize) -> u32) -> bool {
        self.under_way.is_empty() && (0..self.next.len()).all(|group| self.next[group] >= count(group))
    }
}
