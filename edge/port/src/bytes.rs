//! A ring of bytes between one sender and one receiver, for what goes past in pieces of different length.
//!
//! The sender writes pieces and makes them visible later, up to a [`Mark`] it chooses: pieces behind that are written
//! over. Nothing blocks, locks, allocates or makes a system call once the ring is made.
//!
//! Invariants: the receiver sees whole pieces only, in the order they were written. Positions count bytes since the
//! beginning: `received <= published <= written <= received + capacity`.

use std::cell::UnsafeCell;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

#[repr(align(128))]
struct Line(AtomicUsize);

struct Shared {
    bytes: Box<[UnsafeCell<u8>]>,
    /// Bytes published; only the sender stores it.
    published: Line,
    /// Bytes received; only the receiver stores it.
    received: Line,
}

// SAFETY: each byte is written by the one sender before it stores `published` (release) and read by the one receiver
// after it saw that (acquire), and the other way round with `received`.
unsafe impl Sync for Shared {}

/// A place between two pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(usize);

/// The writing end. Owned by one thread at a time.
pub struct ByteSender {
    shared: Arc<Shared>,
    published: usize,
    written: usize,
    received_seen: usize,
}

/// The reading end. Owned by one thread at a time.
pub struct ByteReceiver {
    shared: Arc<Shared>,
    received: usize,
    published_seen: usize,
}

/// A ring that holds at least `capacity` bytes. All its memory is touched now, so that no page is missing later.
pub fn byte_ring(capacity: usize) -> (ByteSender, ByteReceiver) {
    let capacity = capacity.max(64).next_power_of_two();
    let mut zeroed = vec![0xa5; capacity];
    zeroed.fill(0);
    let bytes = zeroed.into_iter().map(UnsafeCell::new).collect();
    let line = || Line(AtomicUsize::new(0));
    let shared = Arc::new(Shared { bytes, published: line(), received: line() });
    let sender = ByteSender { shared: shared.clone(), published: 0, written: 0, received_seen: 0 };
    (sender, ByteReceiver { shared, received: 0, published_seen: 0 })
}

impl Shared {
    /// Where the byte at `position` is, and how many there are from it to the end of the memory.
    #[inline(always)]
    fn at(&self, position: usize) -> (*mut u8, usize) {
        let index = position & (self.bytes.len() - 1);
        (UnsafeCell::raw_get(self.bytes.as_ptr()).wrapping_add(index), self.bytes.len() - index)
    }
}

impl ByteSender {
    /// Writes a piece behind those before, head and body one after the other; not yet visible. Returns whether there
    /// was room: if not, nothing is written.
    #[inline]
    pub fn write(&mut self, head: &[u8], body: &[u8]) -> bool {
        let len = head.len() + body.len();
        let capacity = self.shared.bytes.len();
        if capacity - (self.written - self.received_seen) < len {
            self.received_seen = self.shared.received.0.load(Ordering::Acquire);
            if capacity - (self.written - self.received_seen) < len {
                return false;
            }
        }
        self.copy_in(self.written, head);
        self.copy_in(self.written + head.len(), body);
        self.written += len;
        true
    }

    /// The place behind the last piece.
    #[inline(always)]
    pub fn mark(&self) -> Mark {
        Mark(self.written)
    }

    /// The place behind the last visible piece.
    #[inline(always)]
    pub fn published(&self) -> Mark {
        Mark(self.published)
    }

    /// Makes the pieces before `mark` visible and forgets those behind it.
    ///
    /// # Panics
    /// If the mark was forgotten by an earlier call.
    #[inline]
    pub fn publish(&mut self, mark: Mark) {
        assert!((self.published..=self.written).contains(&mark.0), "a mark that is not there any more");
        self.written = mark.0;
        if self.published != mark.0 {
            self.published = mark.0;
            self.shared.published.0.store(mark.0, Ordering::Release);
        }
    }

    #[inline(always)]
    fn copy_in(&self, position: usize, from: &[u8]) {
        let (to, to_end) = self.shared.at(position);
        let first = from.len().min(to_end);
        let (start, _) = self.shared.at(position + first);
        // SAFETY: `write` has seen that the bytes from `written` on are behind `received + capacity`, so they belong to
        // the sender, and `first` of them lie before the memory's end; the others lie at its beginning.
        unsafe {
            ptr::copy_nonoverlapping(from.as_ptr(), to, first);
            ptr::copy_nonoverlapping(from.as_ptr().add(first), start, from.len() - first);
        }
    }
}

impl ByteReceiver {
    /// Copies the next `into.len()` bytes, from `offset` on, and leaves them in the ring. Returns whether that many are
    /// visible: if not, nothing is copied.
    #[inline]
    pub fn peek(&mut self, offset: usize, into: &mut [u8]) -> bool {
        let wanted = offset + into.len();
        if self.published_seen - self.received < wanted {
            self.published_seen = self.shared.published.0.load(Ordering::Acquire);
            if self.published_seen - self.received < wanted {
                return false;
            }
        }
        let (from, to_end) = self.shared.at(self.received + offset);
        let first = into.len().min(to_end);
        let (start, _) = self.shared.at(self.received + offset + first);
        // SAFETY: the bytes lie between `received` and `published`, so they belong to the receiver, and `first` of them
        // lie before the memory's end; the others lie at its beginning.
        unsafe {
            ptr::copy_nonoverlapping(from, into.as_mut_ptr(), first);
            ptr::copy_nonoverlapping(start, into.as_mut_ptr().add(first), into.len() - first);
        }
        true
    }

    /// Gives the room of `n` bytes back.
    ///
    /// # Panics
    /// If [`ByteReceiver::peek`] has not seen as many.
    #[inline]
    pub fn skip(&mut self, n: usize) {
        assert!(n <= self.published_seen - self.received, "bytes that nobody has seen");
        self.received += n;
        self.shared.received.0.store(self.received, Ordering::Release);
    }

    /// Whether the sender is gone: what is visible after that is all there will be.
    pub fn is_abandoned(&self) -> bool {
        let gone = Arc::strong_count(&self.shared) == 1;
        // The count is read relaxed: with the fence, what the sender published before it went is seen from here on.
        fence(Ordering::Acquire);
        gone
    }
}

#[cfg(test)]
mod tests;
