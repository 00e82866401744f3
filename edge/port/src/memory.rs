//! Frames in ordinary memory, for ports that have no driver to get them from.
//!
//! Invariant: memory is released only when all of its frames have been returned. A frame that is lost – in a burst that
//! outlives its queue, for example – keeps the whole block: a leak, never a dangling frame.

use crate::burst::{Burst, PoolId};
use crate::error::{PortError, PortErrorKind};
use crate::frame::{FrameHead, HEAD_BYTES};
use rtrb::Consumer;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Room before a frame's first byte, bytes.
const HEADROOM: usize = 64;

/// There is no memory for the frames of this number of queues.
pub(crate) fn too_little(device: &str, queues: u16) -> PortError {
    let reason = format!("there is no memory for {queues} queues of frames");
    PortError::new(device, PortErrorKind::Resource, reason, "use fewer --cores, or free some memory")
}

/// A fixed number of frames in one block of memory.
pub(crate) struct Frames {
    base: *mut u8,
    layout: Layout,
    count: usize,
    stride: usize,
    /// Frames without users.
    home: AtomicUsize,
    /// Unused rings, with the frames that are in them.
    rings: Mutex<Vec<Consumer<*mut FrameHead>>>,
}

// SAFETY: `Frames` only keeps the memory, and heads nobody uses any more; who holds a head owns that frame.
unsafe impl Send for Frames {}
// SAFETY: as above; what changes is atomic or behind a lock.
unsafe impl Sync for Frames {}

impl Frames {
    /// `count` frames with room for `frame_bytes` each, without FCS; `None` if there is no memory for them.
    fn new(count: usize, frame_bytes: usize) -> Option<Self> {
        let room = HEADROOM.checked_add(frame_bytes.checked_next_multiple_of(64)?)?;
        assert!(room <= usize::from(u16::MAX), "a frame of {frame_bytes} bytes does not fit a buffer");
        // An odd number of cache lines apart, so that frames do not share the same few cache sets.
        let stride = (HEAD_BYTES + room) | 64;
        let layout = Layout::from_size_align(stride.checked_mul(count.max(1))?, 4096).ok()?;
        // SAFETY: the layout is not empty: `stride` is at least a head, and there is one frame at least.
        let base = unsafe { alloc_zeroed(layout) };
        if base.is_null() {
            return None;
        }
        for i in 0..count {
            // SAFETY: frame `i` lies inside the block; its head is aligned because base and stride are multiples of 64.
            unsafe {
                let at = base.add(i * stride);
                at.cast::<FrameHead>().write(FrameHead::new(
                    at.add(HEAD_BYTES),
                    room as u16,
                    HEADROOM as u16,
                ));
            }
        }
        Some(Self { base, layout, count, stride, home: AtomicUsize::new(0), rings: Mutex::default() })
    }

    /// Which pool they are.
    pub(crate) fn pool(&self) -> PoolId {
        PoolId::of(self.base)
    }

    /// Keeps an unused ring of these frames.
    pub(crate) fn keep(&self, ring: Consumer<*mut FrameHead>) {
        self.rings.lock().unwrap_or_else(PoisonError::into_inner).push(ring);
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        let rings = self.rings.get_mut().unwrap_or_else(PoisonError::into_inner);
        let home = *self.home.get_mut() + rings.iter().map(Consumer::slots).sum::<usize>();
        if home == self.count {
            // SAFETY: allocated with this layout in `new`, and nobody has a frame any more.
            unsafe { dealloc(self.base, self.layout) }
        }
    }
}

/// A stack of free frames with their memory: last in, first out, so that what is warm is used first.
pub struct FreeFrames {
    free: Vec<*mut FrameHead>,
    memory: Arc<Frames>,
}

// SAFETY: the heads on the stack are owned by it alone.
unsafe impl Send for FreeFrames {}

impl FreeFrames {
    /// All frames of a new block of `count` frames with room for `frame_bytes` each; `None` if there is no memory.
    pub fn new(count: usize, frame_bytes: usize) -> Option<Self> {
        let memory = Frames::new(count, frame_bytes)?;
        // SAFETY: offsets stay inside the block.
        let free = (0..count).map(|i| unsafe { memory.base.add(i * memory.stride).cast() }).collect();
        Some(Self { free, memory: Arc::new(memory) })
    }

    /// Their memory.
    pub(crate) fn memory(&self) -> &Arc<Frames> {
        &self.memory
    }

    /// Which pool they are.
    #[inline(always)]
    pub(crate) fn pool(&self) -> PoolId {
        self.memory.pool()
    }

    /// Moves up to `n` frames into `burst`; returns how many.
    ///
    /// # Panics
    /// If the burst has frames of another pool.
    #[inline]
    pub fn take(&mut self, burst: &mut Burst, n: usize) -> usize {
        let spare = burst.spare();
        let n = n.min(spare.len()).min(self.free.len());
        let rest = self.free.len() - n;
        spare[..n].copy_from_slice(&self.free[rest..]);
        // SAFETY: the heads came from the stack, which owned them and forgets them next.
        unsafe { burst.grow(n, self.memory.pool()) };
        self.free.truncate(rest);
        n
    }

    /// Takes the first `n` frames of `burst` back.
    ///
    /// # Panics
    /// If it has not as many, or they are of another pool.
    #[inline]
    pub fn give_front(&mut self, burst: &mut Burst, n: usize) {
        assert!(burst.is_of(self.memory.pool()), "frames of another pool are given back");
        // SAFETY: the slice is only read, and what is copied is forgotten.
        let heads = unsafe { &burst.heads()[..n] };
        self.free.extend_from_slice(heads);
        burst.forget_front(n);
    }

    /// Takes heads back.
    ///
    /// # Safety
    /// They are of this pool, and have no other users.
    pub(crate) unsafe fn give_heads(&mut self, heads: &[*mut FrameHead]) {
        self.free.extend_from_slice(heads);
    }
}

impl Drop for FreeFrames {
    fn drop(&mut self) {
        self.memory.home.fetch_add(self.free.len(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_may_outlive_its_pool() {
        let mut frames = FreeFrames::new(8, 64).unwrap();
        let mut burst = Burst::new();
        assert_eq!(frames.take(&mut burst, 3), 3);
        burst.frame_mut(1).copy_from(b"still there");
        drop(frames);
        assert_eq!(burst.data(1), b"still there");
        // Who loses frames keeps their memory.
        burst.forget_front(3);
    }

    #[test]
    fn all_memory_is_given_back_once_all_frames_are() {
        let mut frames = FreeFrames::new(8, 64).unwrap();
        let memory = Arc::downgrade(frames.memory());
        let (mut burst, mut more) = (Burst::new(), Burst::new());
        assert_eq!((frames.take(&mut burst, 64), frames.take(&mut more, 1)), (8, 0));
        assert!(burst.pass(&mut more).is_some());
        frames.give_front(&mut burst, 7);
        frames.give_front(&mut more, 1);
        drop(frames);
        assert!(memory.upgrade().is_none());
        // A pool of nothing, and ones that are too large.
        assert_eq!(FreeFrames::new(0, 64).unwrap().take(&mut burst, 1), 0);
        assert!(FreeFrames::new(usize::MAX, 64).is_none() && FreeFrames::new(usize::MAX / 256, 64).is_none());
    }

    #[test]
    #[should_panic(expected = "frames of another pool")]
    fn frames_go_back_to_their_own_pool() {
        let (mut one, mut other) = (FreeFrames::new(2, 64).unwrap(), FreeFrames::new(2, 64).unwrap());
        let mut burst = Burst::new();
        one.take(&mut burst, 1);
        other.give_front(&mut burst, 1);
    }

    #[test]
    #[should_panic(expected = "frames of two pools")]
    fn a_burst_has_frames_of_one_pool() {
        let (mut one, mut other) = (FreeFrames::new(2, 64).unwrap(), FreeFrames::new(2, 64).unwrap());
        let mut burst = Burst::new();
        one.take(&mut burst, 1);
        other.take(&mut burst, 1);
    }

    #[test]
    #[should_panic(expected = "more frames forgotten than there are")]
    fn no_more_is_forgotten_than_there_is() {
        let mut frames = FreeFrames::new(2, 64).unwrap();
        let mut burst = Burst::new();
        frames.take(&mut burst, 1);
        burst.forget_front(2);
    }
}
