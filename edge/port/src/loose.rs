//! Frames with a separate buffer, for frames that no kernel buffer can hold in one piece.
//!
//! Invariant: memory is given back only when all frames have come home; a frame that is lost keeps its own.

use crate::FrameHead;
use std::alloc::{Layout, alloc, dealloc};
use std::mem::offset_of;

/// Bytes before a frame: what a driver puts there, such as a `virtio_net_hdr`, and room to put a VLAN tag back.
pub const BEFORE: usize = 16;

/// The longest frame: an IP packet of 65,535 bytes after an Ethernet header with two tags.
const LONGEST: usize = 65_535 + 22;

/// A head and its buffer.
#[repr(C)]
struct LooseFrame {
    head: FrameHead,
    buffer: [u8; BEFORE + LONGEST],
}

/// Bytes there are for a frame with what is before it.
pub const ROOM: usize = BEFORE + LONGEST;

/// Free frames, last in, first out.
#[derive(Default)]
pub struct Loose {
    free: Vec<*mut FrameHead>,
}

impl Loose {
    /// A frame: its head and the first byte of its buffer. `None` if there is no memory.
    pub fn take(&mut self) -> Option<(*mut FrameHead, *mut u8)> {
        if let Some(head) = self.free.pop() {
            // SAFETY: a head of ours in nobody's hands.
            return Some((head, unsafe { (*head).buf }));
        }
        let layout = Layout::new::<LooseFrame>();
        // SAFETY: the layout is not empty.
        let frame = unsafe { alloc(layout) };
        if frame.is_null() {
            return None;
        }
        let buffer = frame.wrapping_add(offset_of!(LooseFrame, buffer));
        let head = frame.cast::<FrameHead>();
        // SAFETY: just allocated, as large and aligned as a head must be.
        unsafe { head.write(FrameHead::new(buffer, u16::MAX, BEFORE as u16)) };
        Some((head, buffer))
    }

    /// Says which bytes of its buffer a frame's are, and what is known of it: `RX_FLAG_…`.
    ///
    /// # Safety
    /// The head is from [`take`](Loose::take), has no other users, and the bytes are written.
    pub unsafe fn set(head: *mut FrameHead, start: usize, len: usize, flags: u64) {
        debug_assert!(start + len <= ROOM);
        // SAFETY: as the caller says.
        unsafe {
            (*head).data_off = start as u16;
            (*head).len = len as u32;
            (*head).segment_len = len as u16;
            (*head).flags = flags;
        }
    }

    /// Takes a frame back.
    ///
    /// # Safety
    /// It is from [`take`](Loose::take), and has no other users.
    pub unsafe fn give_back(&mut self, head: *mut FrameHead) {
        self.free.push(head);
    }
}

impl Drop for Loose {
    fn drop(&mut self) {
        for head in self.free.drain(..) {
            // SAFETY: allocated with this layout in `take`, and nobody has it.
            unsafe { dealloc(head.cast(), Layout::new::<LooseFrame>()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_used_again() {
        let mut loose = Loose::default();
        let (head, buffer) = loose.take().unwrap();
        // SAFETY: the buffer is that long and this test's; the head goes back once.
        unsafe {
            buffer.add(BEFORE).write_bytes(7, LONGEST);
            Loose::set(head, BEFORE, LONGEST, 0);
            assert_eq!(((*head).len as usize, (*head).buf), (LONGEST, buffer));
            loose.give_back(head);
        }
        assert_eq!(loose.take(), Some((head, buffer)));
        // SAFETY: as above.
        unsafe { loose.give_back(head) };
    }
}
