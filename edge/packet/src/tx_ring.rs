//! A transmit ring that the kernel shares (TPACKET_V2, linux/if_packet.h): many frames leave by one call that has no address.
//!
//! Not the way of all ports: `sendmmsg` copies less for long frames, and needs no memory of the kernel's.
//!
//! Invariants:
//! - Between calls no slot waits to be sent: what the kernel did not take is the caller's again.
//! - A slot is written only when the kernel has given it back.

use crate::socket::{RingRequest, Socket};
use port::BURST;
use rustix::mm::munmap;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

// `TP_STATUS_…`
const AVAILABLE: u32 = 0;
const SEND_REQUEST: u32 = 1;
const SENDING: u32 = 1 << 1;
const WRONG_FORMAT: u32 = 1 << 2;

/// Where `struct tpacket2_hdr` has the length.
const LENGTH: usize = 4;
/// Where the frame begins: after the header, aligned (`tp_hdrlen - sizeof(struct sockaddr_ll)`).
const FRAME: usize = 32;

/// Slots of a ring.
const SLOTS: u32 = 8 * BURST as u32;
/// Its memory comes in blocks.
const BLOCK_BYTES: u32 = 65_536;

/// The form of a ring for frames of this length.
pub(crate) fn form(frame_len_max: u32) -> RingRequest {
    let slot_bytes = (frame_len_max + FRAME as u32).next_power_of_two().max(2_048);
    let block_bytes = BLOCK_BYTES.max(slot_bytes);
    RingRequest { block_bytes, blocks: slot_bytes * SLOTS / block_bytes, slot_bytes, slots: SLOTS }
}

/// The ring of a socket.
pub(crate) struct TxRing {
    socket: Socket,
    base: NonNull<u8>,
    slot_bytes: usize,
    slots: usize,
    /// The slot that the kernel looks at next.
    next: usize,
    /// Frames written after it that were not sent yet.
    put: usize,
}

impl TxRing {
    /// The ring of `form` that `socket` shares at `base`.
    ///
    /// # Safety
    /// The mapping is the ring's alone, which unmaps it.
    pub(crate) unsafe fn new(socket: Socket, base: NonNull<u8>, form: RingRequest) -> Self {
        let (slot_bytes, slots) = (form.slot_bytes as usize, form.slots as usize);
        Self { socket, base, slot_bytes, slots, next: 0, put: 0 }
    }

    fn slot(&self, number: usize) -> *mut u8 {
        self.base.as_ptr().wrapping_add(number % self.slots * self.slot_bytes)
    }

    fn status(&self, number: usize) -> &AtomicU32 {
        // SAFETY: a slot begins with its status, aligned; both sides use it as one word.
        unsafe { &*self.slot(number).cast::<AtomicU32>() }
    }

    /// Writes a frame after those that were not sent yet; false if there is no room.
    #[inline]
    pub(crate) fn put(&mut self, frame: &[u8]) -> bool {
        let number = self.next + self.put;
        let taken = SEND_REQUEST | SENDING | WRONG_FORMAT;
        if self.put == self.slots || self.status(number).load(Ordering::Acquire) & taken != 0 {
            return false;
        }
        // A frame that is longer than a slot is longer than the interface takes: its length alone makes the kernel refuse it.
        let kept = frame.len().min(self.slot_bytes - FRAME);
        let slot = self.slot(number);
        // SAFETY: the kernel has given the slot back; header and frame are within it.
        unsafe {
            slot.add(LENGTH).cast::<u32>().write(frame.len() as u32);
            std::ptr::copy_nonoverlapping(frame.as_ptr(), slot.add(FRAME), kept);
        }
        self.status(number).store(SEND_REQUEST, Ordering::Release);
        self.put += 1;
        true
    }

    /// Passes written frames to the kernel. Returns how many it accepted, and its reason for not accepting more, if it
    /// gave one.
    pub(crate) fn send(&mut self) -> (usize, Option<io::Error>) {
        // SAFETY: no bytes and no address are passed.
        let code = unsafe {
            libc::sendto(self.socket.raw(), std::ptr::null(), 0, libc::MSG_DONTWAIT, std::ptr::null(), 0)
        };
        let error = (code < 0).then(io::Error::last_os_error);
        let waits = |number: &usize| {
            self.status(*number).load(Ordering::Acquire) & (SEND_REQUEST | WRONG_FORMAT) != 0
        };
        let all = self.next..self.next + self.put;
        let first = all.clone().find(waits).unwrap_or(all.end);
        (first..all.end).for_each(|number| self.status(number).store(AVAILABLE, Ordering::Release));
        let taken = first - self.next;
        self.next = first % self.slots;
        self.put = 0;
        (taken, error)
    }
}

impl Drop for TxRing {
    fn drop(&mut self) {
        // SAFETY: mapped for this ring, and nobody else reads it.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.slot_bytes * self.slots) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_hold_the_longest_frame_and_fill_blocks() {
        for len in [64, 1_518, 2_017, 9_600, 65_553] {
            let RingRequest { block_bytes, blocks, slot_bytes, slots } = form(len);
            assert!(slot_bytes >= len + FRAME as u32);
            assert_eq!(block_bytes * blocks, slot_bytes * slots);
        }
    }
}
