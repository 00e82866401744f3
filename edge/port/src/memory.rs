//! Frames in ordinary memory, for ports that have no driver to get them from.

use crate::burst::Burst;
use crate::frame::{FrameHead, HEAD_BYTES};
use std::alloc::{Layout, alloc_zeroed, dealloc};

/// Room before a frame's first byte, bytes.
const HEADROOM: usize = 64;

/// A fixed number of frames in one block of memory. Frames must not outlive it.
pub struct Frames {
    base: *mut u8,
    layout: Layout,
    count: usize,
    stride: usize,
}

// SAFETY: `Frames` only keeps the memory; who holds a head owns that frame.
unsafe impl Send for Frames {}
// SAFETY: nothing in it changes after it is made.
unsafe impl Sync for Frames {}

impl Frames {
    /// `count` frames with room for `frame_bytes` each, without FCS; `None` if there is no memory for them.
    pub fn new(count: usize, frame_bytes: usize) -> Option<Self> {
        let room = HEADROOM + frame_bytes.next_multiple_of(64);
        assert!(room <= usize::from(u16::MAX), "a frame of {frame_bytes} bytes does not fit a buffer");
        // An odd number of cache lines apart, so that frames do not share the same few cache sets.
        let stride = (HEAD_BYTES + room) | 64;
        let layout = Layout::from_size_align(stride * count, 4096).expect("frames fit the address space");
        // SAFETY: the layout is not empty: `stride` is at least a head.
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
        Some(Self { base, layout, count, stride })
    }

    /// All frames, to be given out once.
    pub(crate) fn heads(&self) -> Vec<*mut FrameHead> {
        // SAFETY: offsets stay inside the block.
        (0..self.count).map(|i| unsafe { self.base.add(i * self.stride).cast() }).collect()
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout in `new`.
        unsafe { dealloc(self.base, self.layout) }
    }
}

/// A stack of free frames with their memory: last in, first out, so that what is warm is used first.
pub struct FreeFrames {
    free: Vec<*mut FrameHead>,
    _memory: std::sync::Arc<Frames>,
}

// SAFETY: the heads on the stack are owned by it alone.
unsafe impl Send for FreeFrames {}

impl FreeFrames {
    /// All frames of a new block of `count` frames with room for `frame_bytes` each; `None` if there is no memory.
    pub fn new(count: usize, frame_bytes: usize) -> Option<Self> {
        Frames::new(count, frame_bytes).map(|frames| Self::over(std::sync::Arc::new(frames)))
    }

    pub(crate) fn over(memory: std::sync::Arc<Frames>) -> Self {
        Self { free: memory.heads(), _memory: memory }
    }

    /// Moves up to `n` frames into `burst`; returns how many.
    #[inline]
    pub fn take(&mut self, burst: &mut Burst, n: usize) -> usize {
        let spare = burst.spare();
        let n = n.min(spare.len()).min(self.free.len());
        let rest = self.free.len() - n;
        for (slot, head) in spare.iter_mut().zip(self.free.drain(rest..)) {
            *slot = head;
        }
        // SAFETY: the heads came from the stack, which owned them.
        unsafe { burst.grow(n) };
        n
    }

    /// Takes the first `n` frames of `burst` back.
    #[inline]
    pub fn give_front(&mut self, burst: &mut Burst, n: usize) {
        self.free.extend_from_slice(&burst.heads()[..n]);
        burst.forget_front(n);
    }

    pub(crate) fn give_heads(&mut self, heads: &[*mut FrameHead]) {
        self.free.extend_from_slice(heads);
    }
}
