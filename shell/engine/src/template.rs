//! A stream's frame as one worker sends it: bytes ready to copy, and what to write into them.

use port::TxOffload;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use units::FrameLen;
use wire::Packet;
use wire::signature::Stamp;

/// What one worker needs to send one stream. Its bytes lie among those of all streams of the port, [`Blocks`].
#[derive(Debug)]
pub(crate) struct Template {
    blocks: Range<u32>,
    /// Without FCS.
    pub(crate) len: u32,
    /// Names these bytes among all that ever went through a queue of this process.
    pub(crate) tag: u32,
    pub(crate) stamp: Option<Stamp>,
    pub(crate) offload: TxOffload,
    /// Bytes on the link with FCS.
    pub(crate) frame_bytes: u64,
}

/// The bytes of many templates, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Blocks(Vec<[u8; 64]>);

impl Blocks {
    /// The bytes of `template`, padded to whole blocks.
    #[inline(always)]
    pub(crate) fn of(&self, template: &Template) -> &[[u8; 64]] {
        &self.0[template.blocks.start as usize..template.blocks.end as usize]
    }
}

/// Buffers remember the tag of what they hold, so a tag is never used twice.
static NEXT_TAG: AtomicU32 = AtomicU32::new(1);

impl Template {
    /// The template of `packet`, its bytes added to `blocks`.
    pub(crate) fn new(
        blocks: &mut Blocks,
        packet: &Packet,
        stamp: Option<Stamp>,
        offload: TxOffload,
    ) -> Self {
        let first = blocks.0.len() as u32;
        for bytes in packet.bytes.chunks(64) {
            let mut block = [0; 64];
            block[..bytes.len()].copy_from_slice(bytes);
            blocks.0.push(block);
        }
        let blocks = first..blocks.0.len() as u32;
        // Wraps after 4 billion templates; 0 means "not known" and is skipped.
        let tag = match NEXT_TAG.fetch_add(1, Ordering::Relaxed) {
            0 => NEXT_TAG.fetch_add(1, Ordering::Relaxed),
            tag => tag,
        };
        let len = packet.bytes.len() as u32;
        let frame_bytes = u64::from(FrameLen::holding(len).bytes());
        Self { blocks, len, tag, stamp, offload, frame_bytes }
    }
}
