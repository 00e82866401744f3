//! The LSPs that neighbours sent at a level: their headers within a bound, and the TLVs of as many as are to be shown.

use crate::pdu::{LSP_HEADER, LspHeader, LspId};
use std::collections::BTreeMap;
use units::Nanos;

/// LSPs of neighbours.
#[derive(Debug, Default)]
pub struct Database {
    entries: BTreeMap<LspId, Entry>,
    room: usize,
    keep: usize,
    kept: usize,
}

#[derive(Debug)]
struct Entry {
    header: LspHeader,
    /// When it arrived.
    at: Nanos,
    flags: u8,
    body: Option<Box<[u8]>>,
}

/// An LSP with its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownLsp<'d> {
    /// Its identifier.
    pub id: LspId,
    /// Its sequence number.
    pub sequence: u32,
    /// Time until it is not valid any more, s.
    pub lifetime_s: u64,
    /// Its level, overload and attached bits (section 9.8).
    pub flags: u8,
    /// Its TLVs.
    pub body: &'d [u8],
}

/// Effect of a received LSP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is new, or newer than the one that was there.
    Installed,
    /// It was there.
    Same,
    /// A newer one is there.
    Older,
    /// A purge of an LSP that is not in the database.
    Unknown,
    /// There is no room for it.
    LeftOut,
}

impl Database {
    /// One for `room` LSPs, of which `keep` are kept whole.
    pub(crate) fn new(room: usize, keep: usize) -> Self {
        Self { room, keep, ..Self::default() }
    }

    /// Number of them.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Those that are kept whole, in the order of their identifiers, as they are at `now`.
    pub fn known(&self, now: Nanos) -> impl Iterator<Item = KnownLsp<'_>> {
        self.entries.iter().filter_map(move |(id, entry)| {
            let lifetime_s = entry.lifetime_s(now);
            Some(KnownLsp {
                id: *id,
                sequence: entry.header.sequence,
                lifetime_s,
                flags: entry.flags,
                body: entry.body.as_deref()?,
            })
        })
    }

    /// Number of those that are kept whole.
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// The headers of all.
    pub(crate) fn headers(&self, now: Nanos) -> impl Iterator<Item = LspHeader> {
        self.entries
            .values()
            .map(move |entry| LspHeader { lifetime_s: entry.lifetime_s(now) as u16, ..entry.header })
    }

    /// The header of the LSP that is there with an identifier.
    pub(crate) fn find(&self, id: LspId) -> Option<&LspHeader> {
        self.entries.get(&id).map(|entry| &entry.header)
    }

    /// Whether to request a neighbour's LSP: it is unknown or newer than the stored one.
    pub(crate) fn wants(&self, header: &LspHeader) -> bool {
        match self.entries.get(&header.id) {
            Some(entry) => header.is_newer_than(&entry.header),
            None => header.lifetime_s != 0 && header.sequence != 0 && self.entries.len() < self.room,
        }
    }

    /// Takes an LSP in, which is `header` and the rest of `lsp`.
    pub(crate) fn install(&mut self, now: Nanos, header: &LspHeader, lsp: &[u8]) -> Outcome {
        let is_purged = header.lifetime_s == 0;
        match self.entries.get(&header.id).map(|entry| &entry.header) {
            Some(there) if there.is_same(header) => return Outcome::Same,
            Some(there) if !header.is_newer_than(there) => return Outcome::Older,
            None if is_purged => return Outcome::Unknown,
            None if self.entries.len() >= self.room => return Outcome::LeftOut,
            _ => {}
        }
        self.remove(header.id);
        if !is_purged {
            let body = (self.kept < self.keep).then(|| lsp[LSP_HEADER..].into());
            self.kept += usize::from(body.is_some());
            self.entries
                .insert(header.id, Entry { header: *header, at: now, flags: lsp[LSP_HEADER - 1], body });
        }
        Outcome::Installed
    }

    fn remove(&mut self, id: LspId) {
        if let Some(entry) = self.entries.remove(&id) {
            self.kept -= usize::from(entry.body.is_some());
        }
    }

    /// Removes LSPs that were not refreshed.
    pub(crate) fn age(&mut self, now: Nanos) {
        let old = self.entries.iter().filter(|(_, entry)| entry.lifetime_s(now) == 0);
        let old: Vec<LspId> = old.map(|(id, _)| *id).collect();
        old.into_iter().for_each(|id| self.remove(id));
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.room, self.keep);
    }
}

impl Entry {
    fn lifetime_s(&self, now: Nanos) -> u64 {
        u64::from(self.header.lifetime_s).saturating_sub(now.since(self.at).0 / Nanos::from_secs(1).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdu::SystemId;

    #[test]
    fn it_holds_what_there_is_room_for() {
        let mut database = Database::new(3, 2);
        let header = |fragment, sequence, lifetime_s| {
            let id = LspId { system: SystemId([9; 6]), pseudonode: 0, fragment };
            LspHeader { lifetime_s, id, sequence, checksum: 7 }
        };
        use Outcome::{Installed, LeftOut, Older, Same, Unknown};
        for (fragment, sequence, lifetime_s, expected) in [
            (1, 1, 900, Installed),
            (1, 1, 800, Same),
            (2, 1, 900, Installed),
            (3, 1, 900, Installed),
            (4, 1, 900, LeftOut),
            (1, 3, 900, Installed),
            (1, 2, 900, Older),
            (5, 1, 0, Unknown),
            (2, 1, 0, Installed),
        ] {
            let outcome = database.install(Nanos::ZERO, &header(fragment, sequence, lifetime_s), &[0; 40]);
            assert_eq!(outcome, expected, "fragment {fragment}, number {sequence}");
        }
        assert_eq!((database.len(), database.kept()), (2, 1));
        assert!(database.wants(&header(1, 4, 900)) && !database.wants(&header(1, 3, 900)));
        database.age(Nanos::from_secs(899));
        assert_eq!(database.len(), 2);
        database.age(Nanos::from_secs(900));
        assert_eq!((database.len(), database.kept()), (0, 0));
    }
}
