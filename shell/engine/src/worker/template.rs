//! A stream's frame as one worker sends it: bytes ready to copy, and what to write into them.

use port::{Burst, FrameMut, TxOffload};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use units::FrameLen;
use wire::Packet;
use wire::signature::{LaneInstant, Stamp};

/// Data of one worker for sending one stream. Its bytes lie among the bytes of all streams of the port, [`Blocks`].
#[derive(Debug)]
pub(crate) struct Template {
    first_block: u32,
    /// Without FCS.
    len: u16,
    /// Names these bytes among all that ever went through a queue of this process.
    tag: u32,
    pub(crate) stamp: Option<Stamp>,
    offload: TxOffload,
}

/// The bytes of many templates, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Blocks(Vec<[u8; 64]>);

impl Blocks {
    /// The bytes of `template`, padded to whole blocks.
    #[inline(always)]
    pub(crate) fn of(&self, template: &Template) -> &[[u8; 64]] {
        let first = template.first_block as usize;
        &self.0[first..first + usize::from(template.len).div_ceil(64)]
    }

    /// Takes in `more`; returns by how much its templates move.
    pub(crate) fn join(&mut self, more: Self) -> u32 {
        let before = self.0.len() as u32;
        self.0.extend(more.0);
        before
    }
}

/// Buffers remember the tag of what they hold, so a tag is never used twice.
static NEXT_TAG: AtomicU32 = AtomicU32::new(1);

/// A tag that no template had.
fn next_tag() -> u32 {
    // Wraps after 4 billion templates; 0 means "not known" and is skipped.
    match NEXT_TAG.fetch_add(1, Ordering::Relaxed) {
        0 => NEXT_TAG.fetch_add(1, Ordering::Relaxed),
        tag => tag,
    }
}

impl Template {
    /// The template of `packet`, its bytes added to `blocks`.
    pub(crate) fn new(
        blocks: &mut Blocks,
        packet: &Packet,
        stamp: Option<Stamp>,
        offload: TxOffload,
    ) -> Self {
        Self { stamp, offload, ..Self::of_bytes(blocks, &packet.bytes) }
    }

    /// The template of a frame without FCS, sent as it is.
    pub(crate) fn of_bytes(blocks: &mut Blocks, frame: &[u8]) -> Self {
        let first_block = blocks.0.len() as u32;
        for bytes in frame.chunks(64) {
            let mut block = [0; 64];
            block[..bytes.len()].copy_from_slice(bytes);
            blocks.0.push(block);
        }
        let (len, tag) = (frame.len() as u16, next_tag());
        Self { first_block, len, tag, stamp: None, offload: TxOffload::default() }
    }

    /// Sends it to another hardware address.
    pub(crate) fn send_to(&mut self, blocks: &mut Blocks, mac: [u8; 6]) {
        blocks.0[self.first_block as usize][..mac.len()].copy_from_slice(&mac);
        self.tag = next_tag();
    }

    /// Makes the frames of `range` hold it.
    #[inline(always)]
    pub(crate) fn fill(&self, burst: &mut Burst, blocks: &Blocks, range: Range<usize>) {
        burst.fill(range, self.tag, blocks.of(self), self.len(), self.offload);
    }

    /// Stamps the only frame of a slot, which holds it already unless it is new.
    #[inline(always)]
    pub(crate) fn write(
        &self,
        mut frame: FrameMut<'_>,
        blocks: &Blocks,
        is_new: bool,
        lane: &LaneInstant,
        sequence: u32,
    ) {
        if is_new {
            frame.fill(self.tag, blocks.of(self), self.len(), self.offload);
        }
        if let Some(stamp) = &self.stamp {
            stamp.write(frame.data_mut(), lane, sequence);
        }
    }

    /// Its bytes lie `blocks` further on.
    pub(crate) fn shift(&mut self, blocks: u32) {
        self.first_block += blocks;
    }

    /// Bytes without FCS.
    #[inline(always)]
    pub(crate) fn len(&self) -> u32 {
        u32::from(self.len)
    }

    /// Bytes on the link with FCS.
    #[inline(always)]
    pub(crate) fn frame_bytes(&self) -> u64 {
        u64::from(FrameLen::holding(self.len()).bytes())
    }
}
