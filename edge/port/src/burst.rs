//! Up to 64 frames on their way between a worker and a queue.
//!
//! Invariant: the frames of a burst are of one pool, each of them once, and have no other users. So only code that has
//! checked a burst's pool may take frames out of it or write to their heads, and only a queue may put frames in.

use crate::frame::{FrameHead, FrameMut, RX_FLAG_CHECKSUM_UNFINISHED, TxOffload};
use std::ops::Range;

/// Frames a burst holds at most.
pub const BURST: usize = 64;

/// Which memory frames are of; two pools that live at the same time have different ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolId(usize);

impl PoolId {
    /// The pool identified by the address of an object it owns.
    pub fn of<T>(pool: *const T) -> Self {
        Self(pool.addr())
    }
}

/// Up to [`BURST`] frames of one pool. Owns them until a queue takes them; must be empty when dropped.
pub struct Burst {
    frames: [*mut FrameHead; BURST],
    len: usize,
    /// Says something only while there are frames.
    pool: PoolId,
}

// SAFETY: a burst is the only owner of its frames, so it may move to another thread with them.
unsafe impl Send for Burst {}

impl Default for Burst {
    fn default() -> Self {
        Self::new()
    }
}

impl Burst {
    /// An empty burst.
    pub fn new() -> Self {
        Self { frames: [std::ptr::null_mut(); BURST], len: 0, pool: PoolId(0) }
    }

    /// Frames in it.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether all frames in it, if any, are of `pool`.
    #[inline(always)]
    pub fn is_of(&self, pool: PoolId) -> bool {
        self.len == 0 || self.pool == pool
    }

    /// The pool of its frames; `None` if it is empty.
    #[inline(always)]
    pub fn pool(&self) -> Option<PoolId> {
        (self.len > 0).then_some(self.pool)
    }

    /// The `i`-th frame's bytes.
    #[inline(always)]
    pub fn data(&self, i: usize) -> &[u8] {
        // SAFETY: frames[..len] are heads this burst owns, each with `len` bytes at `data_off` of its buffer.
        unsafe {
            let head = &*self.frames[..self.len][i];
            std::slice::from_raw_parts(head.buf.add(usize::from(head.data_off)), head.len as usize)
        }
    }

    /// The bytes of the frames from the `first` on; of none if there are not as many.
    #[inline(always)]
    pub fn data_from(&self, first: usize) -> impl Iterator<Item = &[u8]> {
        let heads = self.frames[..self.len].get(first..).unwrap_or_default();
        heads.iter().map(|head| {
            // SAFETY: as in `data`.
            unsafe {
                let head = &**head;
                std::slice::from_raw_parts(head.buf.add(usize::from(head.data_off)), head.len as usize)
            }
        })
    }

    /// The bytes of the frames of `range`, to write.
    ///
    /// # Panics
    /// If there are no such frames.
    #[inline(always)]
    pub fn data_mut(&mut self, range: Range<usize>) -> impl Iterator<Item = &mut [u8]> {
        let heads = &self.frames[..self.len][range];
        // SAFETY: as in `frame_mut`; each frame is in the burst once, so no two of the borrows are of the same one.
        heads.iter().map(|head| FrameMut::new(unsafe { &mut **head }).into_data())
    }

    /// Whether the port reports an unfinished TCP or UDP checksum of the `i`-th frame, which it received. Only for a
    /// port that [can report it](crate::PortFacts::tells_unfinished_checksums).
    #[inline(always)]
    pub fn has_unfinished_checksum(&self, i: usize) -> bool {
        // SAFETY: as in `data`.
        let flags = unsafe { (*self.frames[..self.len][i]).flags };
        flags & RX_FLAG_CHECKSUM_UNFINISHED == RX_FLAG_CHECKSUM_UNFINISHED
    }

    /// When the `i`-th frame came in, by the clock that its queue [stamps](crate::RxQueue::stamp) with, ns; 0: not known. Only for
    /// a queue that does.
    pub fn arrived_ns(&self, i: usize) -> u64 {
        // SAFETY: as in `data`.
        unsafe { (*self.frames[..self.len][i]).arrived_ns }
    }

    /// The `i`-th frame, to write.
    #[inline(always)]
    pub fn frame_mut(&mut self, i: usize) -> FrameMut<'_> {
        // SAFETY: as in `data`; `&mut self` makes the borrow the only one.
        FrameMut::new(unsafe { &mut *self.frames[..self.len][i] })
    }

    /// Makes the frames of `range` hold a template; see [`FrameMut::fill`].
    ///
    /// # Panics
    /// If there are no such frames, or a buffer is too small.
    #[inline(always)]
    pub fn fill(
        &mut self,
        range: Range<usize>,
        tag: u32,
        template: &[[u8; 64]],
        len: u32,
        offload: TxOffload,
    ) {
        for head in &self.frames[..self.len][range] {
            // SAFETY: as in `frame_mut`.
            FrameMut::new(unsafe { &mut **head }).fill(tag, template, len, offload);
        }
    }

    /// Starts loading the head of the `i`-th frame into the cache; does nothing beyond the end.
    #[inline(always)]
    pub fn prefetch_head(&self, i: usize) {
        if i < self.len {
            prefetch(self.frames[i].cast());
        }
    }

    /// Starts loading the bytes from `offset` of the `i`-th frame into the cache; does nothing beyond the end.
    #[inline(always)]
    pub fn prefetch_data(&self, i: usize, offset: usize) {
        if i < self.len {
            // SAFETY: reads the head this burst owns; the address computed from it is only prefetched.
            unsafe {
                let head = &*self.frames[i];
                prefetch(head.buf.wrapping_add(usize::from(head.data_off) + offset));
            }
        }
    }

    /// Room left, for a queue to put frames in, as raw heads; [`Burst::grow`] makes them part of the burst.
    ///
    /// For queues only.
    #[inline(always)]
    pub fn spare(&mut self) -> &mut [*mut FrameHead] {
        &mut self.frames[self.len..]
    }

    /// Makes the first `n` heads of [`Burst::spare`] part of the burst.
    ///
    /// # Safety
    /// They must be valid heads with valid buffers of `pool`, exclusively owned from now on, and stay valid until they
    /// are back in their pool.
    ///
    /// # Panics
    /// If there is no room for this number, or the burst has frames of another pool.
    #[inline(always)]
    pub unsafe fn grow(&mut self, n: usize, pool: PoolId) {
        if n == 0 {
            return;
        }
        assert!(n <= BURST - self.len && self.is_of(pool), "frames of two pools, or too many, in one burst");
        self.pool = pool;
        self.len += n;
    }

    /// Gives the last frame to `to`, to be written there; none without a frame, or room for it.
    ///
    /// # Panics
    /// If `to` has frames of another pool.
    #[inline(always)]
    #[must_use = "the frame is sent as it is"]
    pub fn pass<'t>(&mut self, to: &'t mut Self) -> Option<FrameMut<'t>> {
        let place = to.frames.get_mut(to.len)?;
        let len = self.len.checked_sub(1)?;
        let head = *self.frames.get(len)?;
        assert!(to.len == 0 || to.pool == self.pool, "frames of two pools in one burst");
        *place = head;
        (to.pool, to.len, self.len) = (self.pool, to.len + 1, len);
        // SAFETY: as in `frame_mut`; the frame is of `to` alone now.
        Some(FrameMut::new(unsafe { &mut *head }))
    }

    /// The heads in the burst, for a queue to take, or for compiled code to write to. For these only.
    ///
    /// # Safety
    /// The slice must afterwards hold its original content, in any order, except for frames that are then
    /// [forgotten](Burst::forget_front).
    #[inline(always)]
    pub unsafe fn heads(&mut self) -> &mut [*mut FrameHead] {
        &mut self.frames[..self.len]
    }

    /// Forgets the first `n` frames, which a queue has taken; the others move to the front. For queues only: frames
    /// that were not taken are lost to their pool.
    ///
    /// # Panics
    /// If there are not as many.
    #[inline(always)]
    pub fn forget_front(&mut self, n: usize) {
        assert!(n <= self.len, "more frames forgotten than there are");
        if n < self.len {
            self.frames.copy_within(n..self.len, 0);
        }
        self.len -= n;
    }
}

impl Drop for Burst {
    fn drop(&mut self) {
        debug_assert!(self.len == 0 || std::thread::panicking(), "a burst was dropped with frames in it");
    }
}

/// Asks the processor to load the cache line at `address`.
#[inline(always)]
pub(crate) fn prefetch(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch never faults, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch(address.cast(), std::arch::x86_64::_MM_HINT_T0);
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    let _ = address;
}
