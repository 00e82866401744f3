//! Connection identifiers that follow from a seed, and lead to their worker.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quinn_proto::{ConnectionId, ConnectionIdGenerator};

/// Bytes of an identifier.
pub(crate) const LENGTH: usize = 8;

/// The identifiers of a seed, one after the other.
#[derive(Debug)]
pub(crate) struct Ids {
    /// The first byte: the worker's number (`tcp::numbered_owner`).
    worker: u8,
    key: u64,
    next: AtomicU64,
}

impl Ids {
    pub(crate) fn new(seed: u64, worker: u8) -> Self {
        Self { worker, key: random::key(seed), next: AtomicU64::new(0) }
    }

    /// The next one. Words of a seed are a bijection of the number: of 56 bits of them two are hardly ever the same.
    pub(crate) fn id(&self) -> ConnectionId {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let [_, rest @ ..] = random::word(self.key, number).to_be_bytes();
        let [a, b, c, d, e, f, g] = rest;
        ConnectionId::new(&[self.worker, a, b, c, d, e, f, g])
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
