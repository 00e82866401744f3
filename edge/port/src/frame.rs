//! A frame: a head of 128 bytes and the buffer it points to.
//!
//! The head has the layout of DPDK's `rte_mbuf` where both have a field (the `dpdk` crate asserts it on the C side),
//! so a burst from a DPDK driver and a burst from the in-process pair are the same thing and nothing is converted on
//! the way of a packet.

use std::ffi::c_void;
#[cfg(target_pointer_width = "64")]
use std::mem::offset_of;

/// Bytes of a frame's head.
pub const HEAD_BYTES: usize = 128;

/// The head of a frame. Only queues make and keep these; all others see [`FrameMut`].
#[repr(C, align(64))]
pub struct FrameHead {
    /// First byte of the buffer.
    pub buf: *mut u8,
    driver_address: u64,
    /// Offset of the frame's first byte in the buffer.
    pub data_off: u16,
    driver_segment: [u16; 3],
    /// Fields to fill in on sending, `TX_FLAG_…`, or facts about a received frame, `RX_FLAG_…`.
    pub flags: u64,
    driver_packet_type: u32,
    /// Frame length without FCS.
    pub len: u32,
    /// The same length again: frames here have one segment.
    pub segment_len: u16,
    driver_vlan: u16,
    /// Which template the buffer holds; 0 if not known. Kept while the buffer goes round its transmit queue.
    pub tag: u32,
    driver_hash: u32,
    driver_vlan_outer: u16,
    /// Bytes of the buffer.
    pub room: u16,
    /// The pool the frame belongs to.
    pub owner: *mut c_void,
    driver_next: *mut c_void,
    /// Header lengths for checksum offload: bits 0–6 layer 2, bits 7–15 layer 3.
    pub offload: u64,
    driver_rest: [u64; 5],
    /// When it came in, by the clock that its queue [stamps](crate::RxQueue::stamp) with, ns; 0: not known.
    pub arrived_ns: u64,
}

// Drivers that share the layout are of 64-bit machines.
#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(size_of::<FrameHead>() == HEAD_BYTES);
    assert!(offset_of!(FrameHead, buf) == 0);
    assert!(offset_of!(FrameHead, data_off) == 16);
    assert!(offset_of!(FrameHead, flags) == 24);
    assert!(offset_of!(FrameHead, len) == 36);
    assert!(offset_of!(FrameHead, segment_len) == 40);
    assert!(offset_of!(FrameHead, tag) == 44);
    assert!(offset_of!(FrameHead, room) == 54);
    assert!(offset_of!(FrameHead, owner) == 56);
    assert!(offset_of!(FrameHead, offload) == 72);
};

/// The frame is IPv4 (needed with any IPv4 checksum offload).
pub const TX_FLAG_IPV4: u64 = 1 << 55;
/// The frame is IPv6 (needed with layer-4 checksum offload).
pub const TX_FLAG_IPV6: u64 = 1 << 56;
/// Fill in the IPv4 header checksum.
pub const TX_FLAG_IPV4_CHECKSUM: u64 = 1 << 54;
/// Fill in the TCP checksum (the field holds the pseudo-header's sum).
pub const TX_FLAG_TCP_CHECKSUM: u64 = 1 << 52;
/// Fill in the UDP checksum (the field holds the pseudo-header's sum).
pub const TX_FLAG_UDP_CHECKSUM: u64 = 3 << 52;
/// Received: the TCP or UDP checksum was left to a network card that the frame never passed. The data are as sent; the
/// value of the checksum's field is meaningless.
pub const RX_FLAG_CHECKSUM_UNFINISHED: u64 = 1 << 3 | 1 << 8;

/// Fields that a port fills in on sending; none by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TxOffload {
    /// `TX_FLAG_…` or'ed together.
    pub flags: u64,
    /// Bytes before the IP header.
    pub l2_len: u8,
    /// Bytes of the IP header with its options or extensions.
    pub l3_len: u16,
}

impl TxOffload {
    /// As a frame's head has them.
    #[inline(always)]
    fn lengths(self) -> u64 {
        u64::from(self.l2_len) | u64::from(self.l3_len) << 7
    }
}

impl FrameHead {
    /// The head of a fresh frame: `room` bytes at `buf`, data from `data_off`, tag 0. For queues only.
    pub fn new(buf: *mut u8, room: u16, data_off: u16) -> Self {
        Self {
            buf,
            driver_address: 0,
            data_off,
            driver_segment: [1, 1, 0],
            flags: 0,
            driver_packet_type: 0,
            len: 0,
            segment_len: 0,
            driver_vlan: 0,
            tag: 0,
            driver_hash: 0,
            driver_vlan_outer: 0,
            room,
            owner: std::ptr::null_mut(),
            driver_next: std::ptr::null_mut(),
            offload: 0,
            driver_rest: [0; 5],
            arrived_ns: 0,
        }
    }
}

/// A frame one may write. Lengths are without FCS throughout.
pub struct FrameMut<'a> {
    head: &'a mut FrameHead,
}

impl<'a> FrameMut<'a> {
    #[inline(always)]
    pub(crate) fn new(head: &'a mut FrameHead) -> Self {
        Self { head }
    }

    /// The frame's bytes.
    #[inline(always)]
    pub fn data_mut(&mut self) -> &mut [u8] {
        FrameMut::new(self.head).into_data()
    }

    /// The same for as long as the burst is lent.
    #[inline(always)]
    pub(crate) fn into_data(self) -> &'a mut [u8] {
        // SAFETY: a head in a burst points to a buffer of `room` bytes that nobody else uses while the burst owns it;
        // `set_len` and the drivers keep `data_off + len <= room`.
        unsafe {
            std::slice::from_raw_parts_mut(
                self.head.buf.add(usize::from(self.head.data_off)),
                self.head.len as usize,
            )
        }
    }

    /// Makes the frame hold `template` (padded with any bytes to whole blocks of 64), of which `len` bytes count,
    /// unless its tag shows that it holds it already; returns whether it copied. `tag` must not be 0, and must name one
    /// template for as long as the queue lives.
    ///
    /// # Panics
    /// If the buffer is too small.
    #[inline(always)]
    pub fn fill(&mut self, tag: u32, template: &[[u8; 64]], len: u32, offload: TxOffload) -> bool {
        if self.head.tag == tag {
            return false;
        }
        self.refill(tag, template, len, offload);
        true
    }

    #[inline]
    fn refill(&mut self, tag: u32, template: &[[u8; 64]], len: u32, offload: TxOffload) {
        let blocks = template.len();
        assert!(
            usize::from(self.head.data_off) + blocks * 64 <= usize::from(self.head.room)
                && len as usize <= blocks * 64
        );
        // SAFETY: the buffer is ours (see `data_mut`) and the assertion keeps the copy inside it.
        unsafe {
            let to = self.head.buf.add(usize::from(self.head.data_off)).cast::<[u8; 64]>();
            // Without the questions of a loop for the usual one.
            if let [block] = template {
                to.write_unaligned(*block);
            } else {
                for (i, block) in template.iter().enumerate() {
                    to.add(i).write_unaligned(*block);
                }
            }
        }
        self.head.len = len;
        self.head.segment_len = len as u16;
        self.head.tag = tag;
        self.head.flags = offload.flags;
        self.head.offload = offload.lengths();
    }

    /// Whether the buffer holds `len` bytes.
    pub fn fits(&self, len: usize) -> bool {
        usize::from(self.head.data_off) + len <= usize::from(self.head.room)
    }

    /// Makes the frame `len` bytes long, with no offload and tag 0, and returns them to be written, every one.
    ///
    /// # Panics
    /// If the buffer is too small.
    #[inline(always)]
    pub fn begin(self, len: usize) -> &'a mut [u8] {
        self.begin_with(len, TxOffload::default())
    }

    /// The same for a frame whose TCP or UDP checksum is left. A port that [can](crate::PortFacts::tx_checksum_offload)
    /// fills it in, as in `offload`; one [within the process](crate::PortFacts::is_in_process) informs the receiver
    /// that it is unfinished.
    ///
    /// # Panics
    /// If the buffer is too small.
    #[inline(always)]
    pub fn begin_unfinished(self, len: usize, offload: TxOffload) -> &'a mut [u8] {
        self.begin_with(len, TxOffload { flags: offload.flags | RX_FLAG_CHECKSUM_UNFINISHED, ..offload })
    }

    #[inline(always)]
    fn begin_with(self, len: usize, offload: TxOffload) -> &'a mut [u8] {
        assert!(self.fits(len));
        let head = self.head;
        head.len = len as u32;
        head.segment_len = len as u16;
        head.tag = 0;
        head.flags = offload.flags;
        head.offload = offload.lengths();
        // SAFETY: as in `data_mut`; the assertion keeps the bytes inside the buffer.
        unsafe { std::slice::from_raw_parts_mut(head.buf.add(usize::from(head.data_off)), len) }
    }

    /// Makes the frame hold `bytes`, regardless of its previous contents, with no offload and tag 0.
    ///
    /// # Panics
    /// If the buffer is too small.
    pub fn copy_from(&mut self, bytes: &[u8]) {
        FrameMut::new(self.head).begin(bytes.len()).copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_frame_is_for_that_frame_alone() {
        let mut bytes = [0u8; 128];
        let mut head = FrameHead::new(bytes.as_mut_ptr(), 128, 0);
        let flags = TX_FLAG_IPV6 | TX_FLAG_UDP_CHECKSUM;
        FrameMut::new(&mut head).begin_unfinished(60, TxOffload { flags, l2_len: 18, l3_len: 40 });
        assert_eq!(head.flags, flags | RX_FLAG_CHECKSUM_UNFINISHED);
        assert_eq!((head.offload & 0x7f, head.offload >> 7), (18, 40));
        FrameMut::new(&mut head).begin(60);
        assert_eq!((head.flags, head.offload), (0, 0));
    }
}
