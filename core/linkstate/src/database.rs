//! Link states that neighbours sent: their headers within a bound, and the contents of as many as are to be shown.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Debug;
use units::Nanos;

/// Header of a link state.
pub trait Header: Copy + Debug {
    /// Identifies it: all instances have the same.
    type Key: Copy + Debug + Ord;
    /// Numbers of stored link states.
    type Tally: Debug + Default;
    /// A link state with its contents.
    type Known<'d>
    where
        Self: 'd;

    /// Its key.
    fn key(&self) -> Self::Key;

    /// Age compared with an instance that was stored this many seconds ago: `Greater` is newer, `Equal` the same.
    fn against(&self, stored: &Self, since_s: u64) -> Ordering;

    /// Whether it removes the link state from databases.
    fn is_flushed(&self) -> bool;

    /// Whether it is too old, stored this many seconds ago.
    fn is_old(&self, since_s: u64) -> bool;

    /// It with its contents, stored this many seconds ago.
    fn known<'d>(&'d self, since_s: u64, body: &'d [u8]) -> Self::Known<'d>;

    /// Counts it when it is stored, and when it is removed.
    fn count(&self, _tally: &mut Self::Tally, _is_stored: bool) {}
}

/// Link states of neighbours.
#[derive(Debug)]
pub struct Database<H: Header> {
    entries: BTreeMap<H::Key, Entry<H>>,
    tally: H::Tally,
    room: usize,
    keep: usize,
    kept: usize,
}

#[derive(Debug)]
struct Entry<H> {
    header: H,
    /// When it arrived.
    at: Nanos,
    body: Option<Box<[u8]>>,
}

/// Effect of a received link state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It is new, or newer than the one that was there.
    Installed,
    /// It was there.
    Same,
    /// A newer one is there.
    Older,
    /// It removes a link state that is not in the database.
    Unknown,
    /// There is no room for it.
    LeftOut,
}

impl<H: Header> Database<H> {
    /// One for `room` link states, of which `keep` are kept whole; `tally` counts nothing yet.
    pub fn new(tally: H::Tally, room: usize, keep: usize) -> Self {
        Self { entries: BTreeMap::new(), tally, room, keep, kept: 0 }
    }

    /// Number of them.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Numbers of them, as the protocol counts them.
    pub fn tally(&self) -> &H::Tally {
        &self.tally
    }

    /// Those that are kept whole, in the order of their keys, as they are at `now`.
    pub fn known(&self, now: Nanos) -> impl Iterator<Item = H::Known<'_>> {
        self.entries
            .values()
            .filter_map(move |entry| Some(entry.header.known(entry.since_s(now), entry.body.as_deref()?)))
    }

    /// Number of those that are kept whole.
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// The headers of all, each with the seconds since it was stored.
    pub fn headers(&self, now: Nanos) -> impl Iterator<Item = (&H, u64)> {
        self.entries.values().map(move |entry| (&entry.header, entry.since_s(now)))
    }

    /// The header that is there with a key.
    pub fn find(&self, key: &H::Key) -> Option<&H> {
        self.entries.get(key).map(|entry| &entry.header)
    }

    /// Age compared with the stored instance; `None` if there is none.
    pub fn compare(&self, now: Nanos, header: &H) -> Option<Ordering> {
        let entry = self.entries.get(&header.key())?;
        Some(header.against(&entry.header, entry.since_s(now)))
    }

    /// Whether there is room for one more besides `others`.
    pub fn has_room(&self, others: usize) -> bool {
        self.entries.len() + others < self.room
    }

    /// Takes a link state in, which has this header and body.
    pub fn install(&mut self, now: Nanos, header: &H, body: &[u8]) -> Outcome {
        match self.compare(now, header) {
            Some(Ordering::Equal) => return Outcome::Same,
            Some(Ordering::Less) => return Outcome::Older,
            None if header.is_flushed() => return Outcome::Unknown,
            None if !self.has_room(0) => return Outcome::LeftOut,
            _ => {}
        }
        self.remove(&header.key());
        if !header.is_flushed() {
            let body: Option<Box<[u8]>> = (self.kept < self.keep).then(|| body.into());
            self.kept += usize::from(body.is_some());
            header.count(&mut self.tally, true);
            self.entries.insert(header.key(), Entry { header: *header, at: now, body });
        }
        Outcome::Installed
    }

    fn remove(&mut self, key: &H::Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.kept -= usize::from(entry.body.is_some());
            entry.header.count(&mut self.tally, false);
        }
    }

    /// Removes link states that were not refreshed.
    pub fn age(&mut self, now: Nanos) {
        let old = self.entries.iter().filter(|(_, entry)| entry.header.is_old(entry.since_s(now)));
        let old: Vec<H::Key> = old.map(|(key, _)| *key).collect();
        old.iter().for_each(|key| self.remove(key));
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        let entries = std::mem::take(&mut self.entries);
        entries.values().for_each(|entry| entry.header.count(&mut self.tally, false));
        self.kept = 0;
    }
}

impl<H> Entry<H> {
    fn since_s(&self, now: Nanos) -> u64 {
        now.since(self.at).0 / Nanos::from_secs(1).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key, a sequence number, and seconds until it is over.
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Plain(u8, u8, u64);

    impl Header for Plain {
        type Key = u8;
        type Tally = usize;
        type Known<'d> = (u8, u64, &'d [u8]);

        fn key(&self) -> u8 {
            self.0
        }

        fn against(&self, stored: &Self, _: u64) -> Ordering {
            self.1.cmp(&stored.1).then(self.is_flushed().cmp(&stored.is_flushed()))
        }

        fn is_flushed(&self) -> bool {
            self.2 == 0
        }

        fn is_old(&self, since_s: u64) -> bool {
            since_s >= self.2
        }

        fn known<'d>(&'d self, since_s: u64, body: &'d [u8]) -> (u8, u64, &'d [u8]) {
            (self.0, self.2 - since_s, body)
        }

        fn count(&self, tally: &mut usize, is_stored: bool) {
            *tally = if is_stored { *tally + 1 } else { *tally - 1 };
        }
    }

    #[test]
    fn it_holds_what_there_is_room_for() {
        let mut database = Database::new(0, 3, 2);
        use Outcome::{Installed, LeftOut, Older, Same, Unknown};
        for (header, expected) in [
            (Plain(1, 1, 900), Installed),
            (Plain(1, 1, 800), Same),
            (Plain(2, 1, 900), Installed),
            (Plain(3, 1, 900), Installed),
            (Plain(4, 1, 900), LeftOut),
            (Plain(1, 3, 900), Installed),
            (Plain(1, 2, 900), Older),
            (Plain(5, 1, 0), Unknown),
            (Plain(2, 1, 0), Installed),
        ] {
            assert_eq!(database.install(Nanos::ZERO, &header, &[header.0; 3]), expected, "{header:?}");
        }
        assert_eq!((database.len(), database.kept(), *database.tally()), (2, 1, 2));
        let known: Vec<_> = database.known(Nanos::from_secs(300)).collect();
        assert_eq!(known, [(1, 600, &[1; 3][..])]);
        assert_eq!((database.has_room(0), database.has_room(1)), (true, false));
        assert_eq!(database.compare(Nanos::ZERO, &Plain(3, 2, 900)), Some(Ordering::Greater));
        assert_eq!((database.compare(Nanos::ZERO, &Plain(2, 1, 900)), database.find(&2)), (None, None));
        database.age(Nanos::from_secs(899));
        assert_eq!(database.len(), 2);
        database.age(Nanos::from_secs(900));
        assert_eq!((database.len(), database.kept(), *database.tally()), (0, 0, 0));
    }

    #[test]
    fn what_is_forgotten_leaves_room() {
        let mut database = Database::new(0, 1, 1);
        database.install(Nanos::ZERO, &Plain(1, 9, 900), &[]);
        database.clear();
        assert_eq!((database.is_empty(), database.kept(), *database.tally()), (true, 0, 0));
        assert_eq!(database.install(Nanos::ZERO, &Plain(1, 1, 900), &[]), Outcome::Installed);
        assert_eq!(database.kept(), 1);
    }
}
