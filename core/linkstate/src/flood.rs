//! A router's originations being flooded to its neighbours: still to be sent, and not yet acknowledged (RFC 2328
//! section 13.3, ISO/IEC 10589 section 7.3.15).
//!
//! Not here: packets. Invariant: what is under way is bounded, however much there is.

use std::collections::{BTreeMap, VecDeque};
use units::Nanos;

/// Where an LSA or LSP is: its group, and its number there.
pub type Place = (u32, u32);

/// LSAs or LSPs under way at once.
const UNDER_WAY_MAX: usize = 8_192;
/// Time until one is sent again (RFC 2328 appendix C.3; minimumLSPTransmissionInterval of ISO/IEC 10589).
pub const RETRANSMIT: Nanos = Nanos::from_secs(5);

/// LSAs or LSPs under way.
#[derive(Debug, Default)]
pub struct Flood {
    /// Of each group, the next one to be sent.
    next: Vec<u32>,
    /// Where a neighbour is missing: its bit is set.
    under_way: BTreeMap<Place, (Nanos, u8)>,
    /// When they were sent, in this order. Some may have been acknowledged since.
    sent: VecDeque<(Nanos, Place)>,
}

impl Flood {
    /// For this number of groups.
    pub fn new(counts: impl Iterator<Item = u32>) -> Self {
        Self { next: counts.collect(), ..Self::default() }
    }

    /// Begins with a group, or begins anew.
    pub fn begin(&mut self, group: usize) {
        self.next[group] = 0;
        self.under_way.retain(|place, _| place.0 != group as u32);
    }

    /// Sends nothing more of a group.
    pub fn skip(&mut self, group: usize, count: u32) {
        self.next[group] = count;
        self.under_way.retain(|place, _| place.0 != group as u32);
    }

    /// The next one to send, if there is room; `counts` are the groups' counts.
    pub fn next(&self, count: impl Fn(usize) -> u32) -> Option<Place> {
        let group = (0..self.next.len()).find(|group| self.next[*group] < count(*group))?;
        (self.under_way.len() < UNDER_WAY_MAX).then(|| (group as u32, self.next[group]))
    }

    /// The next one of its group was sent to those whose bits are set.
    pub fn sent(&mut self, now: Nanos, place: Place, to: u8) {
        self.next[place.0 as usize] = place.1 + 1;
        self.note(now, place, to);
    }

    /// Whether one is still to be sent for the first time.
    pub fn is_pending(&self, place: Place) -> bool {
        self.next[place.0 as usize] <= place.1
    }

    /// When one was sent that is under way.
    pub fn sent_at(&self, place: Place) -> Option<Nanos> {
        self.under_way.get(&place).map(|(at, _)| *at)
    }

    /// Whether all has been sent, though perhaps not acknowledged.
    pub fn is_sent(&self, count: impl Fn(usize) -> u32) -> bool {
        (0..self.next.len()).all(|group| self.next[group] >= count(group))
    }

    /// One was sent again to those whose bits are set.
    pub fn note(&mut self, now: Nanos, place: Place, to: u8) {
        self.under_way.insert(place, (now, to));
        self.sent.push_back((now, place));
    }

    /// One to retransmit, and its receivers: it was sent long ago and not acknowledged.
    pub fn late(&mut self, now: Nanos) -> Option<(Place, u8)> {
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
    pub fn next_late(&self) -> Nanos {
        self.sent.front().map_or(Nanos::MAX, |(at, _)| at.saturating_add(RETRANSMIT))
    }

    /// A neighbour has one; returns whether it was awaited.
    pub fn acknowledge(&mut self, place: Place, by: u8) -> bool {
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
    pub fn forget(&mut self, by: u8) {
        self.under_way.retain(|_, (_, to)| {
            *to &= !by;
            *to != 0
        });
        if self.under_way.is_empty() {
            self.sent.clear();
        }
    }

    /// Whether all has been sent and acknowledged.
    pub fn is_done(&self, count: impl Fn(usize) -> u32) -> bool {
        self.under_way.is_empty() && self.is_sent(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_acknowledged_is_late_after_five_seconds_and_again() {
        let at = |ms| Nanos::from_millis(ms);
        let mut flood = Flood::new([2, 1].into_iter());
        let count = |group: usize| [2, 1][group];
        (0..2).for_each(|group| flood.begin(group));
        for expected in [(0, 0), (0, 1), (1, 0)] {
            let place = flood.next(count).unwrap();
            assert_eq!(place, expected);
            flood.sent(at(0), place, 0b11);
        }
        assert!(flood.is_sent(count) && !flood.is_done(count));
        // One neighbour has all, the other the first.
        for place in [(0, 0), (0, 1), (1, 0)] {
            assert!(flood.acknowledge(place, 0b01) && !flood.acknowledge(place, 0b01));
        }
        assert!(flood.acknowledge((0, 0), 0b10) && !flood.acknowledge((0, 0), 0b10));
        assert_eq!((flood.late(at(4_999)), flood.next_late()), (None, at(5_000)));
        assert_eq!([0; 3].map(|_| flood.late(at(5_000))), [Some(((0, 1), 0b10)), Some(((1, 0), 0b10)), None]);
        assert_eq!([0; 2].map(|_| flood.late(at(9_999))), [None, None]);
        // A newer instance is none that was sent before.
        flood.begin(1);
        assert_eq!((flood.next(count), flood.is_pending((1, 0))), (Some((1, 0)), true));
        assert_eq!([0; 2].map(|_| flood.late(at(10_000))), [Some(((0, 1), 0b10)), None]);
        flood.sent(at(10_000), (1, 0), 0b10);
        flood.forget(0b10);
        assert!(flood.is_done(count) && flood.late(at(99_000)).is_none());
    }

    #[test]
    fn so_many_are_under_way_and_no_more() {
        let mut flood = Flood::new([20_000].into_iter());
        flood.begin(0);
        let mut sent = 0;
        while let Some(place) = flood.next(|_| 20_000) {
            flood.sent(Nanos::ZERO, place, 1);
            sent += 1;
        }
        assert_eq!(sent, UNDER_WAY_MAX);
        flood.acknowledge((0, 7), 1);
        assert_eq!(flood.next(|_| 20_000), Some((0, UNDER_WAY_MAX as u32)));
    }
}
