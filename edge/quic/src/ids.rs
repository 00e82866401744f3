//! Connection identifiers that follow from a seed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quinn_proto::{ConnectionId, ConnectionIdGenerator};

/// Bytes of an identifier.
pub(crate) const LENGTH: usize = 8;

/// The identifiers of a seed, one after the other.
#[derive(Debug)]
pub(crate) struct Ids {
    key: u64,
    next: AtomicU64,
}

impl Ids {
    pub(crate) fn new(seed: u64) -> Self {
        Self { key: random::key(seed), next: AtomicU64::new(0) }
    }

    /// The next one. Two of a seed are never the same: a word of it is a bijection of the number.
    pub(crate) fn id(&self) -> ConnectionId {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        ConnectionId::new(&random::word(self.key, number).to_be_bytes())
    }
}

/// Those of a side's own end.
impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        self.id()
    }

    fn cid_len(&self) -> usize {
        LENGTH
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}
