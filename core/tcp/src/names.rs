//! Short numbers for long things of which there are few: IPv6 addresses, hardware addresses.
//!
//! Invariant: a thing has one number until it is forgotten.

use crate::table::{NONE, Table};

/// Things by number and back.
#[derive(Debug)]
pub(crate) struct Names<T> {
    things: Vec<T>,
    /// Numbers of things that were forgotten.
    free: Vec<u32>,
    table: Table,
    key: u64,
    /// The number found last, or [`NONE`]: most searches are for the same thing again.
    last: u32,
}

impl<T: Copy + PartialEq + Into<Wide>> Names<T> {
    pub(crate) fn new(key: u64) -> Self {
        Self { things: Vec::new(), free: Vec::new(), table: Table::new(0), key, last: NONE }
    }

    /// The number of `thing`, which gets one if it has none; `None` if there are `max` already.
    pub(crate) fn number(&mut self, thing: T, max: usize) -> Option<u32> {
        if self.things.get(self.last as usize) == Some(&thing) {
            return Some(self.last);
        }
        if let Some(number) = self.find(thing) {
            self.last = number;
            return Some(number);
        }
        let number = match self.free.pop() {
            Some(number) => {
                self.things[number as usize] = thing;
                number
            }
            None if self.things.len() >= max => return None,
            None => {
                self.things.push(thing);
                self.things.len() as u32 - 1
            }
        };
        let (things, key) = (&self.things, self.key);
        self.table.insert(hash(key, thing), number, |other| hash(key, things[other as usize]));
        Some(number)
    }

    /// Forgets things whose numbers are not `used`; returns how many numbers are free.
    pub(crate) fn keep_only(&mut self, used: impl Fn(u32) -> bool) -> usize {
        self.last = NONE;
        for number in (0..self.things.len() as u32).filter(|number| !used(*number)) {
            // What was forgotten before is not in the table any more.
            if self.table.remove(hash(self.key, self.things[number as usize]), number) {
                self.free.push(number);
            }
        }
        self.free.len()
    }

    /// The number of `thing`, if it has one.
    pub(crate) fn find(&self, thing: T) -> Option<u32> {
        self.table.find(hash(self.key, thing), |number| self.things[number as usize] == thing)
    }

    /// The thing with `number`.
    #[inline(always)]
    pub(crate) fn thing(&self, number: u32) -> T {
        self.things[number as usize]
    }
}

/// Part of a key that is hashed.
pub(crate) struct Wide(u128);

impl From<u128> for Wide {
    fn from(address: u128) -> Self {
        Self(address)
    }
}

impl From<[u8; 6]> for Wide {
    fn from(mac: [u8; 6]) -> Self {
        Self(mac.iter().fold(0, |number, byte| number << 8 | u128::from(*byte)))
    }
}

fn hash<T: Into<Wide>>(key: u64, thing: T) -> u64 {
    let Wide(number) = thing.into();
    random::mix(random::mix(key ^ number as u64) ^ (number >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_keep_their_numbers() {
        let mut names = Names::new(3);
        for n in 0..1_000u128 {
            assert_eq!(names.number(n << 77, 1_000), Some(n as u32));
        }
        assert_eq!((names.number(5, 1_000), names.number(5 << 77, 1_000)), (None, Some(5)));
        assert_eq!((names.thing(9), names.find(10 << 77), names.find(1)), (9 << 77, Some(10), None));
    }

    #[test]
    fn numbers_of_what_is_forgotten_are_used_again() {
        let mut names = Names::new(3);
        (0..100u128).for_each(|n| assert_eq!(names.number(n, 100), Some(n as u32)));
        assert_eq!(names.keep_only(|number| number % 10 == 0), 90);
        assert_eq!(names.keep_only(|number| number % 10 == 0), 90, "none is free twice");
        assert_eq!((names.find(7), names.number(20, 100)), (None, Some(20)));
        let new: Vec<u32> = (0..90).map(|n| names.number(1_000 + n, 100).unwrap()).collect();
        assert_eq!(names.number(2_000, 100), None);
        let all = (0..90).all(|n| {
            names.thing(new[n]) == 1_000 + n as u128 && names.find(1_000 + n as u128) == Some(new[n])
        });
        assert!(all && names.thing(20) == 20);
    }
}
