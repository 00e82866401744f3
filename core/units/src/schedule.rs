//! When something is up: from a time on, until another one, and whether it goes up and down meanwhile.

use crate::Nanos;

/// Going up and down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flap {
    /// From one time of going down to the next.
    pub every: Nanos,
    /// From going down until it is up again; shorter than `every`.
    pub down: Nanos,
}

/// When something is up, as times since a common start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Schedule {
    /// From when on; zero is before the start.
    pub from: Nanos,
    /// Until when; later than `from`.
    pub until: Option<Nanos>,
    /// When it is up again, for good; later than `until`.
    pub again: Option<Nanos>,
    /// Whether it goes up and down between `from` and `until`.
    pub flap: Option<Flap>,
}

impl Schedule {
    /// Whether it is up `since` the start, and when that changes next.
    pub fn at(&self, since: Nanos) -> (bool, Option<Nanos>) {
        if since < self.from {
            return (false, Some(self.from));
        }
        if self.until.is_some_and(|until| since >= until) {
            let is_back = self.again.is_some_and(|again| since >= again);
            return (is_back, self.again.filter(|_| !is_back));
        }
        let Some(flap) = self.flap else { return (true, self.until) };
        let begun = self.from.0 + (since - self.from).0 / flap.every.0 * flap.every.0;
        // The first time it goes down is one period after it came up.
        let is_down = begun > self.from.0 && since.0 < begun + flap.down.0;
        let next = if is_down { begun + flap.down.0 } else { begun + flap.every.0 };
        let next = self.until.map_or(next, |until| next.min(until.0));
        (!is_down, Some(Nanos(next)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(n: u64) -> Nanos {
        Nanos::from_secs(n)
    }

    #[test]
    fn it_is_up_in_its_time_and_again() {
        let schedule = Schedule { from: s(1), until: Some(s(3)), again: Some(s(5)), flap: None };
        let seen: Vec<_> = [0, 1, 2, 3, 4, 5, 9].map(|at| schedule.at(s(at))).into();
        let expected = [
            (false, Some(s(1))),
            (true, Some(s(3))),
            (true, Some(s(3))),
            (false, Some(s(5))),
            (false, Some(s(5))),
            (true, None),
            (true, None),
        ];
        assert_eq!(seen, expected);
        assert_eq!(Schedule::default().at(Nanos::ZERO), (true, None));
    }

    #[test]
    fn it_flaps_until_its_end() {
        let flap = Flap { every: s(10), down: s(2) };
        let schedule = Schedule { flap: Some(flap), until: Some(s(21)), ..Schedule::default() };
        let seen: Vec<_> = [0, 9, 10, 11, 12, 20, 21].map(|at| schedule.at(s(at))).into();
        let expected = [
            (true, Some(s(10))),
            (true, Some(s(10))),
            (false, Some(s(12))),
            (false, Some(s(12))),
            (true, Some(s(20))),
            (false, Some(s(21))),
            (false, None),
        ];
        assert_eq!(seen, expected);
    }
}
