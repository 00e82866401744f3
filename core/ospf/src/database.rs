//! The LSAs that neighbours sent.

use crate::counts::LsaCounts;
use crate::lsa::{LsaHeader, LsaKey, MAX_AGE};
use crate::version::Version;
use linkstate::Header;
use std::cmp::Ordering;

/// LSAs of neighbours.
pub type Database = linkstate::Database<LsaHeader>;

/// Numbers of stored LSAs.
#[derive(Debug, Default)]
pub struct LsaTally {
    /// The version of their types.
    pub(crate) version: Version,
    /// Numbers by type.
    pub counts: LsaCounts,
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

impl LsaHeader {
    fn age_s(&self, since_s: u64) -> u64 {
        u64::from(self.age) + since_s
    }
}

impl Header for LsaHeader {
    type Key = LsaKey;
    type Tally = LsaTally;
    type Known<'d> = KnownLsa<'d>;

    fn key(&self) -> LsaKey {
        self.key
    }

    fn against(&self, stored: &Self, since_s: u64) -> Ordering {
        let age = stored.age_s(since_s).min(MAX_AGE.into()) as u16;
        self.against(&Self { age, ..*stored })
    }

    fn is_flushed(&self) -> bool {
        self.is_flushed()
    }

    /// RFC 2328 section 14.
    fn is_old(&self, since_s: u64) -> bool {
        self.age_s(since_s) >= MAX_AGE.into()
    }

    fn known<'d>(&'d self, since_s: u64, body: &'d [u8]) -> KnownLsa<'d> {
        KnownLsa { header: self, age_s: self.age_s(since_s), body }
    }

    fn count(&self, tally: &mut LsaTally, is_stored: bool) {
        match is_stored {
            true => tally.counts.add(tally.version, self.key.kind),
            false => tally.counts.of(tally.version, self.key.kind).into_iter().for_each(|count| *count -= 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsa::{EXTERNAL, LSA_HEADER, put_external, put_lsa};
    use linkstate::Outcome;
    use units::Nanos;

    fn lsa(n: u8, sequence: i32, age: u16) -> (LsaHeader, Vec<u8>) {
        let key = LsaKey { kind: EXTERNAL, id: [16, 0, n, 0].into(), router: [9, 9, 9, 9].into() };
        let header = LsaHeader { age, options: 2, key, sequence, checksum: 0, len: 0 };
        let mut out = Vec::new();
        put_lsa(&mut out, &header, |out| put_external(out, 24, true, 20, 0));
        (LsaHeader::read(Version::V2, &out).unwrap(), out)
    }

    #[test]
    fn the_newer_lsa_is_kept_until_it_is_old() {
        let mut database = Database::new(LsaTally::default(), 9, 9);
        let mut install = |at: u64, sequence, age| {
            let (header, bytes) = lsa(1, sequence, age);
            database.install(Nanos::from_secs(at), &header, &bytes[LSA_HEADER..])
        };
        use Outcome::{Installed, Older, Same};
        let outcomes = [install(0, 1, 0), install(100, 1, 100), install(100, 3, 0), install(100, 2, 0)];
        assert_eq!(outcomes, [Installed, Same, Installed, Older]);
        // Of two of the same number, that which is younger by more than 15 minutes is the newer one.
        assert_eq!([install(999, 3, 0), install(1_000, 3, 0)], [Same; 2]);
        assert_eq!(install(1_001, 3, 0), Installed);
        assert_eq!(database.tally().counts.external, 1);
        let known = database.known(Nanos::from_secs(1_101)).next().unwrap();
        assert_eq!((known.age_s, known.body.len()), (100, 16));
        database.age(Nanos::from_secs(1_000 + 3_600));
        assert_eq!(database.len(), 1);
        database.age(Nanos::from_secs(1_001 + 3_600));
        assert_eq!((database.len(), database.tally().counts.all()), (0, 0));
        let (header, _) = lsa(1, 3, MAX_AGE);
        assert_eq!(database.install(Nanos::ZERO, &header, &[]), Outcome::Unknown);
    }
}
