//! The memory for the frames of one socket, and which frame lies where.
//!
//! The kernel knows it as chunks of one size and names places by their offset (`addr` in linux/if_xdp.h). Received
//! frames have a chunk each, frames to send as many in a row as the longest takes: in one piece for their writer, cut
//! at chunks for the kernel. Heads lie apart from it.
//!
//! Invariant: memory is given back only if no burst has one of its frames; else it stays, a leak and never a dangling frame.

use port::FrameHead;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes the kernel leaves free before a received frame (XDP_PACKET_HEADROOM).
pub(crate) const HEADROOM: u32 = 256;
/// The smallest chunk the kernel takes, and the largest: a page.
const CHUNK_MIN: u32 = 2048;
const CHUNK_MAX: u32 = 4096;
/// Chunks of one frame at most: its length has 16 bits, and the kernel takes 17.
const CHUNKS_MAX: u32 = 15;
/// Longest frame without FCS that the kernel delivers in one chunk, bytes.
pub(crate) const CHUNK_FRAME_MAX: u32 = CHUNK_MAX - HEADROOM;
/// Longest frame without FCS that can be sent, bytes.
pub(crate) const FRAME_MAX: u32 = CHUNKS_MAX * CHUNK_MAX;
/// Large pages of the machine's, where the kernel may use them.
const ALIGNMENT: usize = 2 << 20;

/// Chunks for received frames, a power of two: as many as the rings that name them.
pub(crate) const RX_FRAMES: u32 = 4096;
/// Frames to send.
pub(crate) const TX_FRAMES: u32 = 2048;

/// Division of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Form {
    /// Bytes of a chunk, a power of two.
    pub chunk: u32,
    /// Chunks of a frame to be sent.
    pub tx_chunks: u32,
    /// Bytes of frames to be sent at most, whole blocks of 64.
    tx_bytes: u32,
}

impl Form {
    /// For frames of at most this number of bytes without FCS.
    pub(crate) fn new(tx_bytes: u32, rx_bytes: u32) -> Self {
        let longest = (rx_bytes + HEADROOM).max(tx_bytes);
        let chunk = if longest <= CHUNK_MIN { CHUNK_MIN } else { CHUNK_MAX };
        let tx_bytes = tx_bytes.next_multiple_of(64);
        Self { chunk, tx_chunks: tx_bytes.div_ceil(chunk), tx_bytes }
    }

    /// Bytes of a frame to be sent, and its overhead.
    fn tx_stride(self) -> usize {
        (self.chunk * self.tx_chunks) as usize
    }

    /// Where the first of those begins.
    fn tx_start(self) -> usize {
        (RX_FRAMES * self.chunk) as usize
    }

    fn bytes(self) -> usize {
        self.tx_start() + TX_FRAMES as usize * self.tx_stride()
    }

    /// Offset of a frame to send in its chunks, chosen so that frames do not all share the same few sets of the cache.
    fn tx_offset(self, frame: u32) -> u16 {
        let spare = (self.chunk * self.tx_chunks - self.tx_bytes) / 64;
        if self.tx_chunks > 1 { 0 } else { (frame % (spare + 1) * 64) as u16 }
    }

    /// Pieces of `len` bytes from `at` on, cut where chunks end.
    #[inline(always)]
    pub(crate) fn pieces(self, at: u64, len: u32) -> u32 {
        (at as u32 & (self.chunk - 1)).wrapping_add(len).div_ceil(self.chunk).max(1)
    }

    /// Where the last of them begins.
    #[inline(always)]
    pub(crate) fn last_piece(self, at: u64, len: u32) -> u64 {
        let last = (at + u64::from(len.max(1)) - 1) & !u64::from(self.chunk - 1);
        last.max(at)
    }
}

/// Memory that is shared with the kernel, and the heads of its frames.
#[derive(Debug)]
pub(crate) struct Umem {
    base: NonNull<u8>,
    form: Form,
    heads: NonNull<FrameHead>,
    /// A burst has outlived its queue.
    is_kept: AtomicBool,
}

// SAFETY: it only keeps memory; whoever has a frame has its bytes and head alone.
unsafe impl Send for Umem {}
// SAFETY: as above.
unsafe impl Sync for Umem {}

impl Umem {
    /// Fresh memory.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn new(form: Form) -> io::Result<Self> {
        // Longer than needed, so that it can begin where a large page does.
        let whole = form.bytes() + ALIGNMENT;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                whole,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )?
        }
        .cast::<u8>();
        let before = base.align_offset(ALIGNMENT);
        let after = whole - before - form.bytes();
        // SAFETY: parts of the mapping that nobody uses: whole pages, as chunks and the alignment are.
        let base = unsafe {
            if before > 0 {
                munmap(base.cast(), before)?;
            }
            let base = base.add(before);
            let end = form.bytes().next_multiple_of(CHUNK_MAX as usize);
            if after > end - form.bytes() {
                munmap(base.add(end).cast(), after - (end - form.bytes()))?;
            }
            // Only faster.
            let _ = madvise(base.cast(), form.bytes(), Advice::LinuxHugepage);
            base
        };
        let rx = (0..RX_FRAMES).map(|i| {
            // SAFETY: inside the mapping.
            FrameHead::new(unsafe { base.add((i * form.chunk) as usize) }, form.chunk as u16, 0)
        });
        let tx = (0..TX_FRAMES).map(|i| {
            // SAFETY: inside the mapping.
            let buffer = unsafe { base.add(form.tx_start() + i as usize * form.tx_stride()) };
            FrameHead::new(buffer, form.tx_stride() as u16, form.tx_offset(i))
        });
        let heads: Box<[FrameHead]> = rx.chain(tx).collect();
        let heads = NonNull::from(Box::leak(heads)).cast();
        let base = NonNull::new(base).expect("a mapping is not at address 0");
        Ok(Self { base, form, heads, is_kept: AtomicBool::new(false) })
    }

    pub(crate) fn form(&self) -> Form {
        self.form
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> (NonNull<u8>, usize) {
        (self.base, self.form.bytes())
    }

    /// Address that identifies its frames.
    pub(crate) fn identity(&self) -> *const FrameHead {
        self.heads.as_ptr()
    }

    /// Heads of all frames to send, initially all free.
    pub(crate) fn tx_heads(&self) -> impl Iterator<Item = *mut FrameHead> {
        let heads = self.heads.as_ptr();
        // SAFETY: there are as many.
        (RX_FRAMES..RX_FRAMES + TX_FRAMES).map(move |i| unsafe { heads.add(i as usize) })
    }

    /// Places of all chunks for received frames.
    pub(crate) fn rx_places(&self) -> impl Iterator<Item = u64> {
        let chunk = u64::from(self.form.chunk);
        (0..u64::from(RX_FRAMES)).map(move |i| i * chunk)
    }

    /// The head of the received frame whose chunk has the place `at`, and where in the chunk that is; `None` if that is
    /// outside.
    #[inline(always)]
    pub(crate) fn rx_head(&self, at: u64) -> Option<(*mut FrameHead, u16)> {
        let chunk = at / u64::from(self.form.chunk);
        // SAFETY: there is a head for each chunk of received frames.
        (chunk < u64::from(RX_FRAMES)).then(|| unsafe {
            (self.heads.as_ptr().add(chunk as usize), (at as u32 & (self.form.chunk - 1)) as u16)
        })
    }

    /// The place of the chunk of a received frame; `None` if it is none of these.
    #[inline(always)]
    pub(crate) fn rx_place(&self, head: *mut FrameHead) -> Option<u64> {
        let number = head.addr().wrapping_sub(self.heads.as_ptr().addr()) / size_of::<FrameHead>();
        (number < RX_FRAMES as usize).then(|| number as u64 * u64::from(self.form.chunk))
    }

    /// The place of a byte of the memory.
    #[inline(always)]
    pub(crate) fn place(&self, byte: *const u8) -> u64 {
        debug_assert!(byte.addr().wrapping_sub(self.base.as_ptr().addr()) < self.form.bytes());
        byte.addr().wrapping_sub(self.base.as_ptr().addr()) as u64
    }

    /// The head of the frame to be sent that has a byte at this place.
    #[inline(always)]
    pub(crate) fn tx_head(&self, at: u64) -> Option<*mut FrameHead> {
        let number = (at as usize).checked_sub(self.form.tx_start())? / self.form.tx_stride();
        // SAFETY: as many heads follow those of received frames.
        (number < TX_FRAMES as usize).then(|| unsafe { self.heads.as_ptr().add(RX_FRAMES as usize + number) })
    }

    /// Keeps the memory for ever: a burst has a frame.
    pub(crate) fn keep(&self) {
        self.is_kept.store(true, Ordering::Release);
    }
}

impl Drop for Umem {
    fn drop(&mut self) {
        if *self.is_kept.get_mut() {
            return;
        }
        let count = (RX_FRAMES + TX_FRAMES) as usize;
        let heads = std::ptr::slice_from_raw_parts_mut(self.heads.as_ptr(), count);
        // SAFETY: from `Box::leak` in `new`, and nobody has one.
        drop(unsafe { Box::from_raw(heads) });
        let bytes = self.form.bytes().next_multiple_of(CHUNK_MAX as usize);
        // SAFETY: mapped in `new`, and nobody has a frame; the kernel holds its pages for itself.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn chunks_hold_what_is_received_and_frames_what_is_sent() {
        for (tx, rx) in
            [(1518, 1518), (1518, 9018), (60, 1792), (60, 1793), (3000, 3000), (9018, 9018), (61_440, 9018)]
        {
            let form = Form::new(tx, rx);
            assert!(form.chunk == 2048 || form.chunk == 4096);
            assert!(form.tx_chunks * form.chunk >= tx);
            assert!(rx + HEADROOM <= form.chunk || form.chunk == CHUNK_MAX);
            for frame in 0..40 {
                let offset = u32::from(form.tx_offset(frame));
                assert!(offset + tx.next_multiple_of(64) <= form.tx_chunks * form.chunk, "{form:?}");
            }
        }
        let ordinary = Form::new(1518, 1518);
        assert_eq!((ordinary.chunk, ordinary.tx_chunks), (2048, 1));
        let offsets: HashSet<u16> = (0..64).map(|frame| ordinary.tx_offset(frame)).collect();
        assert!(offsets.len() > 6, "{offsets:?}");
    }

    #[test]
    fn frames_are_cut_where_chunks_end() {
        let form = Form::new(9018, 9018);
        assert_eq!((form.chunk, form.tx_chunks), (4096, 3));
        assert_eq!([1, 4096, 4097, 9014, 12_288].map(|len| form.pieces(8192, len)), [1, 1, 2, 3, 3]);
        assert_eq!([1, 96, 97].map(|len| form.pieces(4000, len)), [1, 1, 2]);
        assert_eq!(form.pieces(0, 0), 1);
        assert_eq!([1, 4096, 4097, 9014].map(|len| form.last_piece(8192, len)), [8192, 8192, 12_288, 16_384]);
        assert_eq!([0, 96, 97].map(|len| form.last_piece(4000, len)), [4000, 4000, 4096]);
    }

    #[test]
    fn places_and_heads_name_each_other() {
        let umem = Umem::new(Form::new(9018, 9018)).unwrap();
        for place in umem.rx_places() {
            let (head, offset) = umem.rx_head(place + 256).unwrap();
            assert_eq!((umem.rx_place(head), offset), (Some(place), 256));
            // SAFETY: nobody else has the memory.
            assert_eq!(umem.place(unsafe { (*head).buf }), place);
            assert_eq!(umem.tx_head(place), None);
        }
        let mut seen = HashSet::new();
        for head in umem.tx_heads() {
            // SAFETY: as above.
            let at = umem.place(unsafe { (*head).buf });
            assert_eq!((umem.tx_head(at), umem.tx_head(at + 12_287)), (Some(head), Some(head)));
            assert_eq!((umem.rx_place(head), umem.rx_head(at)), (None, None));
            assert!(seen.insert(at));
        }
        let (_, bytes) = umem.bytes();
        assert_eq!((umem.tx_head(bytes as u64), umem.rx_head(u64::MAX)), (None, None));
    }

    #[test]
    fn memory_that_a_burst_has_stays() {
        let umem = Umem::new(Form::new(60, 1518)).unwrap();
        let head = umem.tx_heads().next().unwrap();
        umem.keep();
        drop(umem);
        // SAFETY: it was kept, for ever.
        unsafe { (*head).buf.write(7) };
    }
}
