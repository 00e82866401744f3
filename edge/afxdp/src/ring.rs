//! The rings that a socket shares with the kernel (linux/if_xdp.h): indices that only grow, modulo 2^32, and entries in places
//! modulo the ring's size.
//!
//! Invariants:
//! - Who produces writes entries first and the index after them (release); who consumes reads the index first (acquire), and
//!   gives places back after reading them (release).
//! - An end writes only its own index. Its last reading of the other's is kept, and refreshed only if that is too
//!   little.
//!
//! No system call here: tests play the kernel in ordinary memory.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// `XDP_RING_NEED_WAKEUP`
const NEEDS_WAKEUP: u32 = 1;

/// Where a ring is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<T> {
    pub producer: NonNull<AtomicU32>,
    pub consumer: NonNull<AtomicU32>,
    pub flags: NonNull<AtomicU32>,
    pub entries: NonNull<T>,
    /// A power of two.
    pub size: u32,
}

impl<T: Copy> Place<T> {
    /// The entry with this number.
    ///
    /// # Safety
    /// It is the caller's to use.
    #[inline(always)]
    unsafe fn entry(&self, number: u32) -> *mut T {
        // SAFETY: inside the ring, whose size is a power of two.
        unsafe { self.entries.as_ptr().add((number & (self.size - 1)) as usize) }
    }

    fn index(&self, of: NonNull<AtomicU32>) -> &AtomicU32 {
        // SAFETY: the memory of a ring stays as long as both its ends.
        unsafe { of.as_ref() }
    }
}

/// The end that writes entries.
#[derive(Debug)]
pub(crate) struct Producer<T> {
    at: Place<T>,
    /// The number of the next entry.
    next: u32,
    /// Entries below this number were consumed, as last seen.
    consumed: u32,
}

// SAFETY: its part of the ring is the owner's alone; indices are atomic.
unsafe impl<T: Send> Send for Producer<T> {}

impl<T: Copy> Producer<T> {
    /// The writing end of the ring at `at`.
    ///
    /// # Safety
    /// The memory is a ring's, stays as long as this value, and this is its only writing end.
    pub(crate) unsafe fn new(at: Place<T>) -> Self {
        assert!(at.size.is_power_of_two());
        let next = at.index(at.producer).load(Ordering::Relaxed);
        let consumed = at.index(at.consumer).load(Ordering::Acquire);
        Self { at, next, consumed }
    }

    /// Places that are free: all there are, or at least `wanted`.
    #[inline]
    pub(crate) fn room(&mut self, wanted: u32) -> u32 {
        let seen = self.at.size - self.next.wrapping_sub(self.consumed);
        if seen >= wanted {
            return seen;
        }
        self.at.size - self.waiting()
    }

    /// Entries that were published and not consumed yet.
    #[inline]
    pub(crate) fn waiting(&mut self) -> u32 {
        self.consumed = self.at.index(self.at.consumer).load(Ordering::Acquire);
        self.next.wrapping_sub(self.consumed)
    }

    /// Writes the entry that is `ahead` places after those published; not yet visible. There is [room](Self::room) for
    /// it, or there are not more entries than places.
    #[inline(always)]
    pub(crate) fn write(&mut self, ahead: u32, entry: T) {
        debug_assert!(self.room(ahead + 1) > ahead);
        // SAFETY: a place that is free, and so this end's.
        unsafe { self.at.entry(self.next.wrapping_add(ahead)).write(entry) }
    }

    /// Makes `n` entries visible that were written.
    #[inline]
    pub(crate) fn publish(&mut self, n: u32) {
        self.next = self.next.wrapping_add(n);
        self.at.index(self.at.producer).store(self.next, Ordering::Release);
    }

    /// Takes all entries back that were not consumed, newest first, and returns how many. Only while the other end is known to
    /// do nothing.
    pub(crate) fn retract(&mut self, mut each: impl FnMut(T)) -> u32 {
        let waiting = self.waiting();
        for back in 1..=waiting {
            // SAFETY: published by this end, and not consumed.
            each(unsafe { self.at.entry(self.next.wrapping_sub(back)).read() });
        }
        self.next = self.consumed;
        self.at.index(self.at.producer).store(self.next, Ordering::Release);
        waiting
    }

    /// Whether the kernel wants a system call before it looks at new entries.
    #[inline(always)]
    pub(crate) fn needs_wakeup(&self) -> bool {
        self.at.index(self.at.flags).load(Ordering::Relaxed) & NEEDS_WAKEUP != 0
    }
}

/// The end that reads entries.
#[derive(Debug)]
pub(crate) struct Consumer<T> {
    at: Place<T>,
    /// The number of the next entry.
    next: u32,
    /// Entries below this number were produced, as last seen.
    produced: u32,
}

// SAFETY: as of `Producer`.
unsafe impl<T: Send> Send for Consumer<T> {}

impl<T: Copy> Consumer<T> {
    /// The reading end of the ring at `at`.
    ///
    /// # Safety
    /// The memory is a ring's, stays as long as this value, and this is its only reading end.
    pub(crate) unsafe fn new(at: Place<T>) -> Self {
        assert!(at.size.is_power_of_two());
        let next = at.index(at.consumer).load(Ordering::Relaxed);
        let produced = at.index(at.producer).load(Ordering::Acquire);
        Self { at, next, produced }
    }

    /// Entries that can be read, `most` at most.
    #[inline]
    pub(crate) fn ready(&mut self, most: u32) -> u32 {
        let mut seen = self.produced.wrapping_sub(self.next);
        if seen < most {
            self.produced = self.at.index(self.at.producer).load(Ordering::Acquire);
            seen = self.produced.wrapping_sub(self.next).min(self.at.size);
        }
        seen.min(most)
    }

    /// The entry that is `ahead` places after the next one, of those that are [ready](Self::ready).
    #[inline(always)]
    pub(crate) fn read(&self, ahead: u32) -> T {
        debug_assert!(ahead < self.produced.wrapping_sub(self.next));
        // SAFETY: produced, and not given back.
        unsafe { self.at.entry(self.next.wrapping_add(ahead)).read() }
    }

    /// Gives the first `n` places back.
    #[inline]
    pub(crate) fn release(&mut self, n: u32) {
        self.next = self.next.wrapping_add(n);
        self.at.index(self.at.consumer).store(self.next, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring in ordinary memory whose indices start at `from`.
    struct Bench {
        indices: Box<[AtomicU32; 3]>,
        entries: Box<[u64]>,
    }

    impl Bench {
        fn new(size: usize, from: u32) -> Self {
            let indices = [from, from, 0].map(AtomicU32::new);
            Self { indices: Box::new(indices), entries: vec![0; size].into() }
        }

        fn ends(&mut self) -> (Producer<u64>, Consumer<u64>) {
            let [producer, consumer, flags] = &*self.indices;
            let entries = NonNull::new(self.entries.as_mut_ptr()).unwrap();
            let (size, [producer, consumer, flags]) =
                (self.entries.len() as u32, [producer, consumer, flags].map(NonNull::from));
            let place = Place { producer, consumer, flags, entries, size };
            // SAFETY: the memory outlives the ends in each test, and there are one of each.
            unsafe { (Producer::new(place), Consumer::new(place)) }
        }
    }

    #[test]
    fn entries_come_in_order_also_where_indices_start_again() {
        for from in [0, 5, u32::MAX - 3] {
            let mut bench = Bench::new(8, from);
            let (mut writer, mut reader) = bench.ends();
            let (mut written, mut read) = (0, 0);
            for step in 1..200u32 {
                let n = writer.room(step % 9).min(step % 9);
                (0..n).for_each(|i| writer.write(i, written + u64::from(i)));
                writer.publish(n);
                written += u64::from(n);
                let n = reader.ready(step % 5);
                (0..n).for_each(|i| assert_eq!(reader.read(i), read + u64::from(i)));
                reader.release(n);
                read += u64::from(n);
                assert_eq!(u64::from(writer.waiting()), written - read);
            }
            assert!(written > 300);
        }
    }

    #[test]
    fn a_full_ring_has_no_room_and_what_is_unpublished_is_not_read() {
        let mut bench = Bench::new(4, u32::MAX - 1);
        let (mut writer, mut reader) = bench.ends();
        (0..3).for_each(|i| writer.write(i, u64::from(i)));
        assert_eq!(reader.ready(8), 0);
        writer.publish(3);
        assert_eq!((writer.room(1), reader.ready(8), reader.ready(2)), (1, 3, 2));
        writer.write(0, 3);
        writer.publish(1);
        assert_eq!(writer.room(1), 0);
        reader.release(2);
        // It looks again only if what it saw is too little.
        assert_eq!((writer.room(0), writer.room(1)), (0, 2));
    }

    #[test]
    fn what_was_not_consumed_can_be_taken_back() {
        let mut bench = Bench::new(8, u32::MAX - 2);
        let (mut writer, mut reader) = bench.ends();
        (0..6).for_each(|i| writer.write(i, u64::from(i)));
        writer.publish(6);
        assert_eq!(reader.ready(2), 2);
        reader.release(2);
        let mut back = Vec::new();
        assert_eq!(writer.retract(|entry| back.push(entry)), 4);
        assert_eq!(back, [5, 4, 3, 2]);
        assert_eq!((writer.room(8), writer.waiting()), (8, 0));
        writer.write(0, 77);
        writer.publish(1);
        // A kernel reads the index anew.
        reader.produced = reader.next;
        assert_eq!((reader.ready(8), reader.read(0)), (1, 77));
    }

    #[test]
    fn the_kernel_says_when_it_wants_a_call() {
        let mut bench = Bench::new(4, 0);
        let (writer, _) = bench.ends();
        assert!(!writer.needs_wakeup());
        bench.indices[2].store(NEEDS_WAKEUP, Ordering::Relaxed);
        assert!(writer.needs_wakeup());
    }

    #[test]
    fn two_threads_see_whole_entries_in_order() {
        const COUNT: u64 = 100_000;
        let mut bench = Bench::new(16, u32::MAX - 100);
        let (mut writer, mut reader) = bench.ends();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut next = 0;
                while next < COUNT {
                    let n = writer.room(4).min(4).min((COUNT - next) as u32);
                    (0..n).for_each(|i| writer.write(i, (next + u64::from(i)) * 0x1_0000_0001));
                    writer.publish(n);
                    next += u64::from(n);
                    if n == 0 {
                        std::thread::yield_now();
                    }
                }
            });
            let mut next = 0;
            while next < COUNT {
                let n = reader.ready(7);
                (0..n).for_each(|i| assert_eq!(reader.read(i), (next + u64::from(i)) * 0x1_0000_0001));
                reader.release(n);
                next += u64::from(n);
                if n == 0 {
                    std::thread::yield_now();
                }
            }
        });
    }
}
