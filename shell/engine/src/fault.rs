//! Parts that fail on demand, for tests of what becomes of a run then. Builds without debug assertions have nothing of it.

#[cfg(debug_assertions)]
pub use injected::{Fault, inject};

/// Fails here if a test wants it.
#[inline(always)]
pub(crate) fn point(_part: &'static str) {
    #[cfg(debug_assertions)]
    injected::point(_part);
}

#[cfg(debug_assertions)]
mod injected {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Mutex, PoisonError};

    /// Passes until the fault; 0 without one, so that a point costs one load.
    static LEFT: AtomicUsize = AtomicUsize::new(0);
    static PART: Mutex<Option<&'static str>> = Mutex::new(None);

    /// A fault that is to come, for as long as this is kept. One at a time in a process.
    #[derive(Debug)]
    #[must_use]
    pub struct Fault(());

    impl Drop for Fault {
        fn drop(&mut self) {
            LEFT.store(0, Ordering::SeqCst);
            *PART.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// Lets `part` panic when it is passed for the `passes`-th time.
    pub fn inject(part: &'static str, passes: usize) -> Fault {
        *PART.lock().unwrap_or_else(PoisonError::into_inner) = Some(part);
        LEFT.store(passes, Ordering::SeqCst);
        Fault(())
    }

    pub(super) fn point(part: &'static str) {
        if LEFT.load(Ordering::Relaxed) == 0
            || *PART.lock().unwrap_or_else(PoisonError::into_inner) != Some(part)
        {
            return;
        }
        let counted = LEFT.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        assert!(counted != Ok(1), "a fault in {part}, as injected");
    }
}
