//! Sleeping until something happens, and being woken by another thread.

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{read, write};
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use units::Nanos;

/// Wakes one sleeping thread. A bell rung before the thread sleeps ends its next sleep at once.
#[derive(Debug, Clone)]
pub struct Bell {
    event: Arc<OwnedFd>,
}

impl Bell {
    /// A silent bell; an error if the process may open no more descriptors.
    pub fn new() -> io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { event: Arc::new(event) })
    }

    /// Ends the present sleep, or the next one.
    pub fn ring(&self) {
        // Its counter can only be full of earlier rings.
        let _ = write(&*self.event, &1_u64.to_ne_bytes());
    }

    /// Sleeps for `time` at most: until the bell rings or one of `others` is readable. May return early.
    pub fn sleep<'f>(&'f self, time: Nanos, others: impl Iterator<Item = BorrowedFd<'f>>) {
        let all = std::iter::once(self.event.as_fd()).chain(others);
        let mut all: Vec<PollFd<'f>> = all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let limit =
            Timespec { tv_sec: (time.0 / 1_000_000_000) as i64, tv_nsec: (time.0 % 1_000_000_000) as i64 };
        // A signal ends a sleep early, which is allowed.
        let _ = poll(&mut all, Some(&limit));
        if all[0].revents().contains(PollFlags::IN) {
            let _ = read(&*self.event, &mut [0; 8]);
        }
    }
}

/// Makes the calling thread's sleeps end when they should, not up to 50 µs later, as the kernel's default is.
pub fn wake_on_time() {
    // Without it sleeps end later, which results tell.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_bell_rung_before_ends_the_sleep_and_only_one() {
        let bell = Bell::new().unwrap();
        bell.ring();
        bell.ring();
        let start = Instant::now();
        bell.sleep(Nanos::from_secs(60), std::iter::empty());
        assert!(start.elapsed() < Duration::from_secs(30));
        let start = Instant::now();
        bell.sleep(Nanos::from_millis(20), std::iter::empty());
        assert!(start.elapsed() >= Duration::from_millis(20));
    }

    #[test]
    fn another_thread_and_a_readable_descriptor_wake() {
        let bell = Bell::new().unwrap();
        let ringer = bell.clone();
        let start = Instant::now();
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            ringer.ring();
        });
        bell.sleep(Nanos::from_secs(60), std::iter::empty());
        thread.join().unwrap();
        let other = Bell::new().unwrap();
        other.ring();
        bell.sleep(Nanos::from_secs(60), std::iter::once(other.event.as_fd()));
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
