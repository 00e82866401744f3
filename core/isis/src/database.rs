//! The LSPs that neighbours sent at a level.

use crate::pdu::{LSP_HEADER, LspHeader, LspId};
use linkstate::Header;
use std::cmp::Ordering;

/// LSPs of neighbours.
pub type Database = linkstate::Database<LspHeader>;

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

/// The part of an LSP that a database keeps: from its flags on.
pub(crate) fn body(lsp: &[u8]) -> &[u8] {
    &lsp[LSP_HEADER - 1..]
}

impl Header for LspHeader {
    type Key = LspId;
    type Tally = ();
    type Known<'d> = KnownLsp<'d>;

    fn key(&self) -> LspId {
        self.id
    }

    /// Of two that are each newer than the other, the last one counts.
    fn against(&self, stored: &Self, _: u64) -> Ordering {
        match (self.is_newer_than(stored), stored.is_newer_than(self)) {
            (true, _) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => Ordering::Equal,
        }
    }

    fn is_flushed(&self) -> bool {
        self.lifetime_s == 0
    }

    fn is_old(&self, since_s: u64) -> bool {
        since_s >= self.lifetime_s.into()
    }

    fn known<'d>(&'d self, since_s: u64, body: &'d [u8]) -> KnownLsp<'d> {
        let lifetime_s = u64::from(self.lifetime_s).saturating_sub(since_s);
        KnownLsp { id: self.id, sequence: self.sequence, lifetime_s, flags: body[0], body: &body[1..] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdu::SystemId;
    use units::Nanos;

    #[test]
    fn the_newer_lsp_is_kept_until_its_lifetime_is_over() {
        let mut database = Database::new((), 9, 9);
        let header = |sequence, lifetime_s, checksum| {
            let id = LspId { system: SystemId([9; 6]), pseudonode: 0, fragment: 0 };
            LspHeader { lifetime_s, id, sequence, checksum }
        };
        use linkstate::Outcome::{Installed, Older, Same};
        let mut lsp = [0; LSP_HEADER + 2];
        lsp[LSP_HEADER - 1..].copy_from_slice(&[3, 7, 0]);
        for (header, expected) in [
            (header(2, 900, 7), Installed),
            (header(2, 800, 7), Same),
            (header(1, 900, 7), Older),
            (header(2, 900, 8), Installed),
            (header(3, 900, 8), Installed),
        ] {
            assert_eq!(database.install(Nanos::ZERO, &header, body(&lsp)), expected, "{header:?}");
        }
        let known = database.known(Nanos::from_secs(100)).next().unwrap();
        assert_eq!((known.sequence, known.lifetime_s, known.flags, known.body), (3, 800, 3, &[7, 0][..]));
        database.age(Nanos::from_secs(900));
        assert!(database.is_empty());
        database.install(Nanos::ZERO, &header(3, 900, 8), body(&lsp));
        assert_eq!(database.install(Nanos::ZERO, &header(3, 0, 8), body(&lsp)), Installed);
        assert!(database.is_empty());
    }
}
