//! Memory that jobs reserve before they begin, so that what runs at the same time fits.
//!
//! Not here: how much a job needs, which [`engine::memory_needed`] estimates.
//!
//! Invariant: reservations never add up to more than the total, and end with the object they were made for. Memory
//! freed by the last active job is returned to the system: allocators would retain it, in fragments between live
//! blocks, and hold more with every job.

use crate::fault::Fault;
use crate::jobs::lock;
use std::sync::{Arc, Mutex};

/// The part of the memory that was available when the server began which is left to itself: requests, results, the store.
const OWN_SHARE: u64 = 8;

/// Memory for jobs.
pub(crate) struct Budget {
    total: u64,
    reserved: Mutex<Reserved>,
    available: fn() -> u64,
}

/// Reserved memory, bytes, and the number of reservations.
#[derive(Default)]
struct Reserved {
    bytes: u64,
    jobs: usize,
}

/// Memory reserved for one job until this is dropped.
pub(crate) struct Reservation {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Budget {
    /// All that this process may still take but a share for the server.
    pub(crate) fn new() -> Arc<Self> {
        Self::of(os::memory::available_bytes, OWN_SHARE)
    }

    fn of(available: fn() -> u64, own_share: u64) -> Arc<Self> {
        let all = available();
        Arc::new(Self { total: all - all / own_share, reserved: Mutex::default(), available })
    }

    /// Memory neither reserved nor used by other processes, bytes.
    pub(crate) fn free(&self) -> u64 {
        (self.total - lock(&self.reserved).bytes).min((self.available)())
    }

    /// Reserves memory for a job.
    ///
    /// # Errors
    /// So much is not free.
    pub(crate) fn reserve(self: &Arc<Self>, bytes: u64) -> Result<Reservation, Fault> {
        let mut reserved = lock(&self.reserved);
        let left = self.total - reserved.bytes;
        let free = left.min((self.available)());
        if bytes > free {
            let mb = |bytes: u64| bytes.div_ceil(1_000_000);
            let remedy = match reserved.jobs {
                0 => "use fewer streams or sessions".to_owned(),
                1 => "wait until it has ended, or use fewer streams or sessions".to_owned(),
                _ => "wait until one has ended, or use fewer streams or sessions".to_owned(),
            };
            return Err(Fault::machine(format!(
                "this needs about {} MB of memory, and {} MB are free: {} MB are reserved by {} that are active; {remedy}",
                mb(bytes),
                free / 1_000_000,
                mb(reserved.bytes),
                match reserved.jobs {
                    1 => "1 job".to_owned(),
                    jobs => format!("{jobs} jobs"),
                },
            )));
        }
        reserved.bytes += bytes;
        reserved.jobs += 1;
        Ok(Reservation { budget: self.clone(), bytes })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut reserved = lock(&self.budget.reserved);
        reserved.bytes -= self.bytes;
        reserved.jobs -= 1;
        let is_last = reserved.jobs == 0;
        drop(reserved);
        // Never beside a job: threads of it that need memory would wait for this.
        if is_last {
            os::memory::give_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_get_what_the_others_leave() {
        let budget = Budget::of(|| 8_000_000, 8);
        assert_eq!(budget.free(), 7_000_000);
        let first = budget.reserve(4_000_000).ok();
        let second = budget.reserve(2_500_000).ok();
        assert!(first.is_some() && second.is_some());
        let refused = budget.reserve(500_001).err().unwrap();
        assert_eq!(refused.status(), 503);
        let why = refused.problem().detail.clone();
        assert!(
            why.contains("needs about 1 MB of memory, and 0 MB are free: 7 MB are reserved by 2 jobs"),
            "{why}"
        );
        drop(first);
        assert_eq!(budget.free(), 4_500_000);
        assert!(budget.reserve(4_500_000).is_ok());
    }

    #[test]
    fn what_others_have_taken_since_is_not_free() {
        static LEFT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(8_000_000);
        let budget = Budget::of(|| LEFT.load(std::sync::atomic::Ordering::Relaxed), 8);
        LEFT.store(1_000_000, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(budget.free(), 1_000_000);
        assert!(budget.reserve(1_000_001).is_err() && budget.reserve(1_000_000).is_ok());
    }
}
