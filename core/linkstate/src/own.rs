//! Link states that a router originates, in groups: the members of a group come and go together, with one sequence number and
//! one age (RFC 2328 section 12.4, ISO/IEC 10589 section 7.3.7). Ranges of routes have a group each, or are shown by another group.
//!
//! Not here: their contents.

use units::{Nanos, Schedule};

/// A sequence number of link states.
pub trait Sequence: Copy + Ord {
    /// The first number.
    const FIRST: Self;
    /// The last number.
    const LAST: Self;

    /// The number that follows.
    fn next(self) -> Self;
}

/// RFC 2328 section 12.1.6.
impl Sequence for i32 {
    const FIRST: Self = Self::MIN + 1;
    const LAST: Self = Self::MAX;

    fn next(self) -> Self {
        self.saturating_add(1)
    }
}

/// ISO/IEC 10589 section 7.3.16.1.
impl Sequence for u32 {
    const FIRST: Self = 1;
    const LAST: Self = Self::MAX;

    fn next(self) -> Self {
        self.saturating_add(1)
    }
}

/// State of a group known to a neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instance<N> {
    /// Its sequence number.
    pub sequence: N,
    /// Whether its link states are there; if not, they are flushed.
    pub is_up: bool,
}

/// Times between instances.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// From one origination to the next, at least.
    pub interval: Nanos,
    /// From any change to the next, at least.
    pub arrival: Nanos,
    /// Whether they hold also after instances that were not sent.
    pub spaces_unsent: bool,
    /// The age at which link states are originated again.
    pub refresh: Nanos,
}

/// How a group is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    /// Whether it is to be there.
    pub is_wanted: bool,
    /// Whether its contents must change.
    pub differs: bool,
}

/// Changes of a step.
#[derive(Debug, Default)]
pub struct Changes {
    /// Groups that are to be flooded.
    pub groups: Vec<usize>,
    /// Link states that were only refreshed.
    pub refreshed: u64,
    /// Ranges of routes that came or went.
    pub ranges: Vec<(usize, bool)>,
}

#[derive(Debug, Clone, Copy)]
struct Group<N> {
    count: u32,
    instance: Instance<N>,
    /// When this one was originated; `None` until there is a first one.
    originated: Option<Nanos>,
    /// When it was last originated or flushed.
    changed: Nanos,
    /// Whether some of it was sent.
    is_sent: bool,
    /// Whether there is an instance with this sequence number somewhere.
    is_used: bool,
    /// Whether it must be originated again although nothing of it changed: a newer instance is out there.
    is_outdated: bool,
}

/// Originations of a router.
#[derive(Debug)]
pub struct Originations<N> {
    pace: Pace,
    groups: Vec<Group<N>>,
    /// The group of the first range; each other has the next.
    ranges: usize,
    /// The group that shows ranges without own link states.
    showing: usize,
    /// Which ranges are such.
    is_shown: Vec<bool>,
    /// Which ranges that group has.
    shown: Vec<bool>,
    /// States of ranges set by commands.
    ordered: Vec<Option<bool>>,
    /// Which ranges were to be up at the last step.
    wanted: Vec<bool>,
    /// When a range's schedule changes something next, after the start of traffic.
    next: Option<Nanos>,
}

impl<N: Sequence> Originations<N> {
    /// Groups with these counts of link states. Those of ranges are last: `is_shown` holds for ranges that the group `showing`
    /// shows.
    pub fn new(pace: Pace, counts: impl Iterator<Item = u32>, showing: usize, is_shown: Vec<bool>) -> Self {
        let group = |count| Group {
            count,
            instance: Instance { sequence: N::FIRST, is_up: false },
            originated: None,
            changed: Nanos::ZERO,
            is_sent: false,
            is_used: false,
            is_outdated: false,
        };
        let (groups, ranges): (Vec<_>, _) = (counts.map(group).collect(), is_shown.len());
        Self {
            pace,
            ranges: groups.len() - ranges,
            groups,
            showing,
            shown: vec![false; ranges],
            ordered: vec![None; ranges],
            wanted: vec![false; ranges],
            is_shown,
            next: None,
        }
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Number of link states of a group.
    pub fn count(&self, group: usize) -> u32 {
        self.groups[group].count
    }

    /// The instance of a group.
    pub fn instance(&self, group: usize) -> Instance<N> {
        self.groups[group].instance
    }

    /// Whether a group has been originated.
    pub fn is_originated(&self, group: usize) -> bool {
        self.groups[group].originated.is_some()
    }

    /// Whether any instance of a group can be at others.
    pub fn is_used(&self, group: usize) -> bool {
        self.groups[group].is_used
    }

    /// Seconds since a group was originated.
    pub fn age_s(&self, now: Nanos, group: usize) -> u64 {
        self.groups[group].originated.map_or(0, |at| now.since(at).0 / Nanos::from_secs(1).0)
    }

    /// Ranges whose routes are up.
    pub fn up(&self) -> impl Iterator<Item = usize> + '_ {
        let is_up = |group: usize| self.groups[group].instance.is_up;
        (0..self.shown.len()).filter(move |range| match self.is_shown[*range] {
            true => is_up(self.showing) && self.shown[*range],
            false => is_up(self.ranges + range),
        })
    }

    /// Ranges that are shown by a group.
    pub fn shown(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.shown.len()).filter(|range| self.shown[*range])
    }

    /// Whether a range is to be shown by a group.
    pub fn shows(&self, range: usize) -> bool {
        self.wanted[range] && self.is_shown[range]
    }

    /// Whether any range is.
    pub fn shows_any(&self) -> bool {
        (0..self.shown.len()).any(|range| self.shows(range))
    }

    /// Whether a group is to show other ranges than it does.
    pub fn shows_others(&self, group: usize) -> bool {
        group == self.showing && (0..self.shown.len()).any(|range| self.shown[range] != self.shows(range))
    }

    /// Whether the range that has a group is to be up.
    pub fn wants(&self, group: usize) -> bool {
        self.wanted[group - self.ranges]
    }

    /// Advertises a range, or withdraws it, regardless of its schedule.
    pub fn set_range(&mut self, range: usize, up: bool) {
        self.ordered[range] = Some(up);
    }

    /// Some of a group was sent.
    pub fn note_sent(&mut self, group: usize) {
        self.groups[group].is_sent = true;
    }

    /// A newer instance of one of these is out there. It is originated again with a higher number, or flushed with this one.
    pub fn overtake(&mut self, group: usize, sequence: N) {
        let group = &mut self.groups[group];
        group.instance.sequence = group.instance.sequence.max(sequence);
        (group.is_outdated, group.is_used) = (true, true);
    }

    /// Notes which ranges are to be up, `since` the start of traffic.
    pub fn follow<'s>(&mut self, since: Nanos, is_shut: bool, schedules: impl Iterator<Item = &'s Schedule>) {
        self.next = None;
        for (range, schedule) in schedules.enumerate() {
            let (is_up, change) = schedule.at(since);
            let ordered = self.ordered[range];
            self.wanted[range] = ordered.unwrap_or(is_up) && !is_shut;
            self.next = self.next.into_iter().chain(change.filter(|_| ordered.is_none())).min();
        }
    }

    /// Originates, refreshes or flushes a group if it is time; returns whether it did.
    pub fn step(&mut self, now: Nanos, group: usize, wish: Wish, changes: &mut Changes) -> bool {
        if self.due(group, wish) > now {
            return false;
        }
        let it = &mut self.groups[group];
        let Wish { is_wanted, differs } = wish;
        let was_up = it.instance.is_up;
        let is_same = was_up && is_wanted && !differs && !it.is_outdated;
        changes.refreshed += if is_same { it.count.into() } else { 0 };
        match is_wanted {
            true => it.originate(now),
            false => (it.instance.is_up, it.changed) = (false, now),
        }
        it.is_outdated = false;
        if group >= self.ranges && was_up != is_wanted {
            changes.ranges.push((group - self.ranges, is_wanted));
        }
        if group == self.showing {
            for range in 0..self.shown.len() {
                let (shown, shows) = (was_up && self.shown[range], is_wanted && self.shows(range));
                // What is flushed stays what it is: a checksum may say which instance that is.
                if is_wanted {
                    self.shown[range] = shows;
                }
                if shown != shows {
                    changes.ranges.push((range, shows));
                }
            }
        }
        changes.groups.push(group);
        true
    }

    /// When a schedule changes something; `epoch` is the start of traffic.
    pub fn next_change(&self, epoch: Nanos) -> Nanos {
        self.next.map_or(Nanos::MAX, |at| epoch.saturating_add(at))
    }

    /// When a group is to be originated or flushed; [`Nanos::MAX`] if there is nothing to do.
    pub fn due(&self, group: usize, wish: Wish) -> Nanos {
        self.groups[group].due(wish, &self.pace).unwrap_or(Nanos::MAX)
    }

    /// Whether a group is as it is to be: nothing waits for its time.
    pub fn is_current(&self, group: usize, wish: Wish) -> bool {
        let it = &self.groups[group];
        let is_wanted = wish.is_wanted && it.count > 0;
        it.instance.is_up == is_wanted && !it.is_outdated && !(is_wanted && wish.differs)
    }
}

impl<N: Sequence> Group<N> {
    fn due(&self, wish: Wish, pace: &Pace) -> Option<Nanos> {
        if self.count == 0 {
            return None;
        }
        let after = |at: Nanos, span| {
            at.saturating_add(if self.is_sent || pace.spaces_unsent { span } else { Nanos::ZERO })
        };
        if wish.is_wanted && self.instance.is_up && !wish.differs && !self.is_outdated {
            // The last number there is can't be followed by a higher one: it stays until it is flushed.
            let refresh = self.originated.map(|at| at.saturating_add(pace.refresh));
            return refresh.filter(|_| self.instance.sequence < N::LAST);
        }
        if wish.is_wanted {
            let spaced = |at| after(at, pace.interval).max(after(self.changed, pace.arrival));
            return Some(self.originated.map_or(Nanos::ZERO, spaced));
        }
        (self.instance.is_up || self.is_outdated).then(|| after(self.changed, pace.arrival))
    }

    fn originate(&mut self, now: Nanos) {
        if self.is_used {
            self.instance.sequence = self.instance.sequence.next();
        }
        (self.instance.is_up, self.is_used) = (true, true);
        (self.originated, self.changed) = (Some(now), now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THERE: Wish = Wish { is_wanted: true, differs: false };
    const OTHER: Wish = Wish { is_wanted: true, differs: true };
    const GONE: Wish = Wish { is_wanted: false, differs: false };

    fn at(seconds: u64) -> Nanos {
        Nanos::from_secs(seconds)
    }

    /// A group, a group that shows the first range, and the group of the second range.
    fn originations(spaces_unsent: bool) -> Originations<i32> {
        let pace = Pace { interval: at(5), arrival: at(1), spaces_unsent, refresh: at(1_800) };
        Originations::new(pace, [3, 1, 0, 4].into_iter(), 1, vec![true, false])
    }

    fn step(own: &mut Originations<i32>, now: u64, group: usize, wish: Wish) -> Option<u64> {
        let mut changes = Changes::default();
        own.step(at(now), group, wish, &mut changes).then_some(changes.refreshed)
    }

    #[test]
    fn a_group_is_originated_changed_refreshed_and_flushed_at_its_pace() {
        let mut own = originations(true);
        assert!(!own.is_current(0, THERE) && !own.is_originated(0) && own.is_current(0, GONE));
        assert_eq!(step(&mut own, 10, 0, THERE), Some(0));
        assert_eq!(own.instance(0), Instance { sequence: i32::FIRST, is_up: true });
        assert!(own.is_current(0, THERE) && !own.is_current(0, OTHER));
        assert_eq!((own.due(0, THERE), own.due(0, OTHER), own.due(0, GONE)), (at(1_810), at(15), at(11)));
        assert_eq!((step(&mut own, 14, 0, OTHER), step(&mut own, 15, 0, OTHER)), (None, Some(0)));
        assert_eq!(own.age_s(at(17), 0), 2);
        // Only a refresh counts as one.
        assert_eq!((step(&mut own, 1_814, 0, THERE), step(&mut own, 1_815, 0, THERE)), (None, Some(3)));
        assert_eq!(step(&mut own, 1_816, 0, GONE), Some(0));
        assert_eq!(own.instance(0), Instance { sequence: i32::FIRST + 2, is_up: false });
        assert_eq!((own.due(0, GONE), own.due(0, THERE)), (Nanos::MAX, at(1_820)));
    }

    #[test]
    fn what_was_not_sent_is_followed_at_once_unless_all_are_spaced() {
        let mut own = originations(false);
        step(&mut own, 10, 0, THERE);
        assert_eq!((own.due(0, OTHER), own.due(0, GONE)), (at(10), at(10)));
        own.note_sent(0);
        assert_eq!((own.due(0, OTHER), own.due(0, GONE)), (at(15), at(11)));
    }

    #[test]
    fn a_newer_instance_out_there_is_overtaken_and_the_last_number_stays() {
        let mut own = originations(false);
        own.overtake(0, 7);
        assert!(own.is_used(0) && !own.is_current(0, GONE));
        assert_eq!(step(&mut own, 10, 0, THERE), Some(0));
        assert_eq!(own.instance(0).sequence, 8);
        own.overtake(0, i32::MAX - 1);
        step(&mut own, 20, 0, THERE);
        assert_eq!((own.instance(0).sequence, own.due(0, THERE)), (i32::MAX, Nanos::MAX));
        assert_eq!(own.due(2, THERE), Nanos::MAX, "a group of none is never originated");
    }

    #[test]
    fn ranges_follow_their_schedules_and_commands() {
        let mut own = originations(false);
        let schedule = |from| Schedule { from: at(from), ..Schedule::default() };
        let schedules = [schedule(5), schedule(8)];
        let all = |own: &mut Originations<i32>, now| {
            own.follow(at(now), false, schedules.iter());
            let mut changes = Changes::default();
            let wish = Wish { is_wanted: true, differs: own.shows_others(1) };
            own.step(at(100 + now), 1, wish, &mut changes);
            own.step(at(100 + now), 3, Wish { is_wanted: own.wants(3), differs: false }, &mut changes);
            (changes.ranges, own.next_change(at(100)))
        };
        assert_eq!(all(&mut own, 0), (vec![], at(105)));
        assert_eq!(all(&mut own, 5), (vec![(0, true)], at(108)));
        assert_eq!((own.shown().collect::<Vec<_>>(), own.shows_any()), (vec![0], true));
        assert_eq!(all(&mut own, 8), (vec![(1, true)], Nanos::MAX));
        assert_eq!(own.up().collect::<Vec<_>>(), [0, 1]);
        (0..2).for_each(|range| own.set_range(range, false));
        assert_eq!(all(&mut own, 20), (vec![(0, false), (1, false)], Nanos::MAX));
        assert_eq!(own.up().count(), 0);
    }
}
