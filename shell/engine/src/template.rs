//! A stream's frame as one worker sends it: bytes ready to copy, and what to write into them.

use port::TxOffload;
use std::sync::atomic::{AtomicU32, Ordering};
use units::FrameLen;
use wire::Packet;
use wire::signature::Stamp;

/// What one worker needs to send one stream.
#[derive(Debug)]
pub(crate) struct Template {
    pub(crate) blocks: Box<[[u8; 64]]>,
    /// Without FCS.
    pub(crate) len: u32,
    /// Names these bytes among all that ever went through a queue of this process.
    pub(crate) tag: u32,
    pub(crate) stamp: Option<Stamp>,
    pub(crate) offload: TxOffload,
}

/// Buffers remember the tag of what they hold, so a tag is never used twice.
static NEXT_TAG: AtomicU32 = AtomicU32::new(1);

impl Template {
    pub(crate) fn new(packet: &Packet, stamp: Option<Stamp>, offload: TxOffload) -> Self {
        let mut blocks = vec![[0u8; 64]; packet.bytes.len().div_ceil(64)];
        for (block, bytes) in blocks.iter_mut().zip(packet.bytes.chunks(64)) {
            block[..bytes.len()].copy_from_slice(bytes);
        }
        // Wraps after 4 billion templates; 0 means "not known" and is skipped.
        let tag = match NEXT_TAG.fetch_add(1, Ordering::Relaxed) {
            0 => NEXT_TAG.fetch_add(1, Ordering::Relaxed),
            tag => tag,
        };
        Self { blocks: blocks.into(), len: packet.bytes.len() as u32, tag, stamp, offload }
    }

    /// Bytes on the link with FCS.
    pub(crate) fn frame_bytes(&self) -> u64 {
        u64::from(FrameLen::holding(self.len).bytes())
    }
}
