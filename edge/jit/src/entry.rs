//! How compiled code is called.

use port::FrameHead;

/// The compiled function. Writes a run of packets, number and sequence counting up; returns where it stopped: at the
/// end of the heads, or before if a frame has not the right length.
pub(crate) type Entry = unsafe extern "C" fn(run: *const Run) -> *const *mut FrameHead;

/// Parameters of one call.
#[repr(C)]
pub(crate) struct Run {
    /// The first frame's place; at least one is before `end`.
    pub(crate) heads: *const *mut FrameHead,
    pub(crate) end: *const *mut FrameHead,
    pub(crate) state: *mut u64,
    pub(crate) constants: *const u64,
    pub(crate) variant: *const u64,
    pub(crate) number: u64,
    /// The signature's eight bytes after its check: the sequence number, which does not wrap in this run, and above it
    /// the lower 32 bits of the time.
    pub(crate) stamp: u64,
    /// The signature's last two bytes.
    pub(crate) tail: u64,
    /// Sequence number, time and tail, added up: at most 34 bits.
    pub(crate) stamp_sum: u64,
    /// Factors of the signature's check ([`wire::signature::LaneMark::factors`]).
    pub(crate) factors: [u64; 2],
}
