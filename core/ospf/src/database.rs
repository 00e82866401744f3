//! The LSAs that neighbours sent: their headers within a bound, and the bodies of as many as are to be shown.

use crate::counts::LsaCounts;
use crate::lsa::{LSA_HEADER, LsaHeader, LsaKey, MAX_AGE};
use crate::version::Version;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use units::Nanos;

/// LSAs of neighbours.
#[derive(Debug, Default)]
pub struct Database {
    entries: BTreeMap<LsaKey, Entry>,
    counts: LsaCounts,
    version: Version,
    room: usize,
    keep: usize,
    kept: usize,
}

#[derive(Debug)]
struct Entry {
    header: LsaHeader,
    /// When it arrived.
    at: Nanos,
    body: Option<Box<[u8]>>,
}

/// An LSA with its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownLsa<'d> {
    /// Its header, with its age when it arrived.
    pub header: &'d LsaHeader,
    /// Its age now, s.
    pub age_s: u64,
    /// Body after the header.
    pub body: &'d [u8],
}

/// Effect of a received LSA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is new, or newer than the one that was there.
    Installed,
    /// It was there.
    Same,
    /// A newer one is there.
    Older,
    /// A flush of an LSA that is not in the database.
    Unknown,
    /// There is no room for it.
    LeftOut,
}

impl Database {
    /// One for `room` LSAs, of which `keep` are kept whole.
    pub(crate) fn new(version: Version, room: usize, keep: usize) -> Self {
        Self { version, room, keep, ..Self::default() }
    }

    /// Number of them, by type.
    pub fn counts(&self) -> &LsaCounts {
        &self.counts
    }

    /// Those that are kept whole, in the order of their keys, as they are at `now`.
    pub fn known(&self, now: Nanos) -> impl Iterator<Item = KnownLsa<'_>> {
        self.entries.values().filter_map(move |entry| {
            let age_s = entry.age_s(now);
            Some(KnownLsa { header: &entry.header, age_s, body: entry.body.as_deref()? })
        })
    }

    /// Number of those that are kept whole.
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// Whether to request a neighbour's LSA: it is unknown or newer than the stored one. `None` if there is no room for
    /// it, with `asked` requested ones.
    pub(crate) fn wants(&self, now: Nanos, header: &LsaHeader, asked: usize) -> Option<bool> {
        match self.entries.get(&header.key) {
            Some(entry) => Some(header.against(&entry.now(now)) == Ordering::Greater),
            None if header.is_flushed() => Some(false),
            None => (self.entries.len() + asked < self.room).then_some(true),
        }
    }

    /// Takes an LSA in, which is `header` and the rest of `lsa`.
    pub(crate) fn install(&mut self, now: Nanos, header: &LsaHeader, lsa: &[u8]) -> Outcome {
        let there = self.entries.get(&header.key).map(|entry| header.against(&entry.now(now)));
        match there {
            Some(Ordering::Equal) => return Outcome::Same,
            Some(Ordering::Less) => return Outcome::Older,
            None if header.is_flushed() => return Outcome::Unknown,
            None if self.entries.len() >= self.room => return Outcome::LeftOut,
            _ => {}
        }
        self.remove(&header.key);
        if !header.is_flushed() {
            let body = (self.kept < self.keep).then(|| lsa[LSA_HEADER..].into());
            self.kept += usize::from(body.is_some());
            self.counts.add(self.version, header.key.kind);
            self.entries.insert(header.key, Entry { header: *header, at: now, body });
        }
        Outcome::Installed
    }

    fn remove(&mut self, key: &LsaKey) {
        if let Some(entry) = self.entries.remove(key) {
            self.kept -= usize::from(entry.body.is_some());
            self.counts.of(self.version, key.kind).into_iter().for_each(|count| *count -= 1);
        }
    }

    /// Removes LSAs that were not refreshed (RFC 2328 section 14).
    pub(crate) fn age(&mut self, now: Nanos) {
        let is_old = |entry: &Entry| entry.age_s(now) >= MAX_AGE.into();
        let old: Vec<LsaKey> =
            self.entries.iter().filter(|(_, entry)| is_old(entry)).map(|(key, _)| *key).collect();
        old.iter().for_each(|key| self.remove(key));
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.version, self.room, self.keep);
    }
}

impl Entry {
    fn age_s(&self, now: Nanos) -> u64 {
        u64::from(self.header.age) + now.since(self.at).0 / Nanos::from_secs(1).0
    }

    /// Its header with the age it has by now.
    fn now(&self, now: Nanos) -> LsaHeader {
        LsaHeader { age: self.age_s(now).min(MAX_AGE.into()) as u16, ..self.header }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsa::{EXTERNAL, put_external, put_lsa};

    fn lsa(n: u8, sequence: i32, age: u16) -> (LsaHeader, Vec<u8>) {
        let key = LsaKey { kind: EXTERNAL, id: [16, 0, n, 0].into(), router: [9, 9, 9, 9].into() };
        let header = LsaHeader { age, options: 2, key, sequence, checksum: 0, len: 0 };
        let mut out = Vec::new();
        put_lsa(&mut out, &header, |out| put_external(out, 24, true, 20, 0));
        (LsaHeader::read(Version::V2, &out).unwrap(), out)
    }

    #[test]
    fn it_holds_what_there_is_room_for() {
        let mut database = Database::new(Version::V2, 3, 2);
        let mut install = |at: u64, n, sequence, age| {
            let (header, bytes) = lsa(n, sequence, age);
            database.install(Nanos::from_secs(at), &header, &bytes)
        };
        let outcomes = [
            install(0, 1, 1, 0),
            install(0, 1, 1, 0),
            install(0, 2, 1, 0),
            install(0, 3, 1, 0),
            install(0, 4, 1, 0),
            install(0, 1, 3, 0),
            install(0, 1, 2, 0),
            install(0, 5, 1, MAX_AGE),
            install(0, 2, 1, MAX_AGE),
        ];
        use Outcome::{Installed, LeftOut, Older, Same, Unknown};
        let expected = [Installed, Same, Installed, Installed, LeftOut, Installed, Older, Unknown, Installed];
        assert_eq!(outcomes, expected);
        assert_eq!((database.counts().all(), database.counts().external, database.kept()), (2, 2, 1));
        database.age(Nanos::from_secs(3_599));
        assert_eq!(database.counts().all(), 2);
        let (header, _) = lsa(9, 1, 0);
        assert_eq!([0, 1].map(|asked| database.wants(Nanos::ZERO, &header, asked)), [Some(true), None]);
        database.age(Nanos::from_secs(3_600));
        assert_eq!((database.counts().all(), database.kept()), (0, 0));
    }
}
