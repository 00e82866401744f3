//! A ring of frame heads between one sender and one receiver.

use crate::frame::FrameHead;
use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[repr(align(128))]
struct Line(AtomicUsize);

struct Shared {
    slots: Box<[UnsafeCell<*mut FrameHead>]>,
    /// Next slot to write; only the sender stores it.
    tail: Line,
    /// Next slot to read; only the receiver stores it.
    head: Line,
}

// SAFETY: each slot is written by the one sender before it publishes `tail` (release) and read by the one receiver
// after it saw that (acquire), and the other way round with `head`.
unsafe impl Sync for Shared {}
// SAFETY: the pointers in it are only handed on.
unsafe impl Send for Shared {}

pub(crate) struct Sender {
    shared: Arc<Shared>,
    tail: usize,
    head_seen: usize,
}

pub(crate) struct Receiver {
    shared: Arc<Shared>,
    head: usize,
    tail_seen: usize,
}

/// A ring of `capacity` (a power of two) heads.
pub(crate) fn ring(capacity: usize) -> (Sender, Receiver) {
    assert!(capacity.is_power_of_two());
    let shared = Arc::new(Shared {
        slots: (0..capacity).map(|_| UnsafeCell::new(std::ptr::null_mut())).collect(),
        tail: Line(AtomicUsize::new(0)),
        head: Line(AtomicUsize::new(0)),
    });
    let sender = Sender { shared: shared.clone(), tail: 0, head_seen: 0 };
    (sender, Receiver { shared, head: 0, tail_seen: 0 })
}

impl Sender {
    /// Writes as many of `heads` as fit, from the front; returns how many.
    #[inline]
    pub(crate) fn push(&mut self, heads: &[*mut FrameHead]) -> usize {
        let capacity = self.shared.slots.len();
        if capacity - (self.tail - self.head_seen) < heads.len() {
            self.head_seen = self.shared.head.0.load(Ordering::Acquire);
        }
        let n = heads.len().min(capacity - (self.tail - self.head_seen));
        for (i, head) in heads[..n].iter().enumerate() {
            let slot = &self.shared.slots[(self.tail + i) & (capacity - 1)];
            // SAFETY: slots between `tail` and `head + capacity` belong to the sender.
            unsafe { *slot.get() = *head };
        }
        self.tail += n;
        self.shared.tail.0.store(self.tail, Ordering::Release);
        n
    }
}

impl Receiver {
    /// Reads as many heads as there are and fit into `out`; returns how many.
    #[inline]
    pub(crate) fn pop(&mut self, out: &mut [*mut FrameHead]) -> usize {
        if self.tail_seen - self.head < out.len() {
            self.tail_seen = self.shared.tail.0.load(Ordering::Acquire);
        }
        let n = out.len().min(self.tail_seen - self.head);
        if n == 0 {
            return 0;
        }
        let capacity = self.shared.slots.len();
        for (i, head) in out[..n].iter_mut().enumerate() {
            let slot = &self.shared.slots[(self.head + i) & (capacity - 1)];
            // SAFETY: slots between `head` and `tail` belong to the receiver.
            *head = unsafe { *slot.get() };
        }
        self.head += n;
        self.shared.head.0.store(self.head, Ordering::Release);
        n
    }
}
