//! A ring of bytes between one sender and one receiver, for records of different length.
//!
//! The sender writes records and makes them visible later, up to a [`Mark`] it chooses: records after that are written
//! over. Nothing blocks, locks, allocates or makes a system call once the ring is made.
//!
//! Invariant: the receiver sees whole records only, in the order they were written.

use rtrb::{Consumer, CopyToUninit, Producer, RingBuffer};
use std::mem::MaybeUninit;

/// A place between two records: bytes since the ring was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(usize);

/// The writing end. Owned by one thread at a time.
pub struct ByteSender {
    ring: Producer<u8>,
    /// Bytes published since the ring was made.
    published: usize,
    /// Bytes written since then; those after `published` are in the ring's free part, where it has them still when they
    /// are published.
    written: usize,
}

/// The reading end. Owned by one thread at a time.
pub struct ByteReceiver {
    ring: Consumer<u8>,
    /// Bytes that [`ByteReceiver::peek`] has seen, from the first that is left on.
    seen: usize,
}

/// A ring that holds at least `capacity` bytes. All its memory is touched now, so that no page is missing later.
pub fn byte_ring(capacity: usize) -> (ByteSender, ByteReceiver) {
    let capacity = capacity.max(64).next_power_of_two();
    let (mut sender, receiver) = RingBuffer::new(capacity);
    // Written with zeros, and not published.
    drop(sender.write_chunk(capacity));
    (ByteSender { ring: sender, published: 0, written: 0 }, ByteReceiver { ring: receiver, seen: 0 })
}

impl ByteSender {
    /// Writes a record after those before, head and body one after the other; not yet visible. Returns whether there
    /// was room: if not, nothing is written.
    #[inline]
    pub fn write(&mut self, head: &[u8], body: &[u8]) -> bool {
        let pending = self.written - self.published;
        let len = head.len() + body.len();
        let Ok(mut room) = self.ring.write_chunk_uninit(pending + len) else { return false };
        let (first, second) = room.as_mut_slices();
        copy_in(first, second, pending, head);
        copy_in(first, second, pending + head.len(), body);
        self.written += len;
        true
    }

    /// The place after the last record.
    #[inline(always)]
    pub fn mark(&self) -> Mark {
        Mark(self.written)
    }

    /// The place after the last visible record.
    #[inline(always)]
    pub fn published(&self) -> Mark {
        Mark(self.published)
    }

    /// Makes the records before `mark` visible and forgets those after it.
    ///
    /// # Panics
    /// If the mark was forgotten by an earlier call.
    #[inline]
    pub fn publish(&mut self, mark: Mark) {
        assert!((self.published..=self.written).contains(&mark.0), "a mark that is not there any more");
        // There is room for what was written.
        if let Ok(chunk) = self.ring.write_chunk_uninit(mark.0 - self.published) {
            // SAFETY: these are the first bytes behind those published, and `write` has filled them since then.
            unsafe { chunk.commit_all() };
        }
        (self.published, self.written) = (mark.0, mark.0);
    }
}

/// Copies `from` to `at` in two slices that follow each other.
#[inline(always)]
fn copy_in(first: &mut [MaybeUninit<u8>], second: &mut [MaybeUninit<u8>], at: usize, from: &[u8]) {
    let (front, back) = from.split_at(from.len().min(first.len().saturating_sub(at)));
    if !front.is_empty() {
        front.copy_to_uninit(&mut first[at..][..front.len()]);
    }
    if !back.is_empty() {
        back.copy_to_uninit(&mut second[(at + front.len()) - first.len()..][..back.len()]);
    }
}

impl ByteReceiver {
    /// Copies the next `into.len()` bytes, from `offset` on, and leaves them in the ring. Returns whether that many are
    /// visible: if not, nothing is copied.
    #[inline]
    pub fn peek(&mut self, offset: usize, into: &mut [u8]) -> bool {
        let Some(wanted) = offset.checked_add(into.len()) else { return false };
        let Ok(chunk) = self.ring.read_chunk(wanted) else { return false };
        let (first, second) = chunk.as_slices();
        let front = into.len().min(first.len().saturating_sub(offset));
        let (front, back) = into.split_at_mut(front);
        if !front.is_empty() {
            front.copy_from_slice(&first[offset..][..front.len()]);
        }
        if !back.is_empty() {
            back.copy_from_slice(&second[(offset + front.len()) - first.len()..][..back.len()]);
        }
        self.seen = self.seen.max(wanted);
        true
    }

    /// Gives the room of `n` bytes back.
    ///
    /// # Panics
    /// If [`ByteReceiver::peek`] has not seen as many.
    #[inline]
    pub fn skip(&mut self, n: usize) {
        assert!(n <= self.seen, "more bytes than were peeked");
        if let Ok(chunk) = self.ring.read_chunk(n) {
            chunk.commit_all();
        }
        self.seen -= n;
    }

    /// Whether the sender is gone: what is visible after that is all there will be.
    pub fn is_abandoned(&self) -> bool {
        self.ring.is_abandoned()
    }
}

#[cfg(test)]
mod tests;
