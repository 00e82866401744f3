//! Bytes received ahead of a gap, until the gap is filled.
//!
//! Invariant: pieces are not empty, in order, and neither overlap nor touch.

use super::sequence::{after, before};
use crate::segment::SackBlocks;

/// Bytes of buffers kept for later.
const KEPT_PIECES: usize = 16;

/// Adjacent bytes.
#[derive(Debug)]
struct Piece {
    from: u32,
    bytes: Vec<u8>,
    /// When it last grew; the SACK option names the latest first.
    touched: u32,
}

impl Piece {
    fn to(&self) -> u32 {
        self.from.wrapping_add(self.bytes.len() as u32)
    }
}

/// All pieces of a flow.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    pieces: Vec<Piece>,
    touches: u32,
}

impl Reassembly {
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.pieces.clear();
        self.pieces.shrink_to(KEPT_PIECES);
        self.touches = 0;
    }

    /// Keeps bytes; what is there already stays. Returns whether anything was new.
    pub(crate) fn insert(&mut self, mut from: u32, mut bytes: &[u8]) -> bool {
        let mut new = false;
        self.touches += 1;
        // The first piece that ends at or behind the bytes' beginning.
        let at = self.pieces.partition_point(|piece| before(piece.to(), from));
        while !bytes.is_empty() {
            let Some(next) = self.pieces.get(at).filter(|next| !after(next.from, from)) else {
                let room =
                    self.pieces.get(at).map_or(usize::MAX, |next| next.from.wrapping_sub(from) as usize);
                let fit = bytes.len().min(room);
                self.place(at, from, &bytes[..fit]);
                (from, bytes, new) = (from.wrapping_add(fit as u32), &bytes[fit..], true);
                continue;
            };
            let known = next.to().wrapping_sub(from) as usize;
            if known == 0 {
                let room =
                    self.pieces.get(at + 1).map_or(usize::MAX, |far| far.from.wrapping_sub(from) as usize);
                let fit = bytes.len().min(room);
                self.pieces[at].bytes.extend_from_slice(&bytes[..fit]);
                (from, bytes, new) = (from.wrapping_add(fit as u32), &bytes[fit..], true);
            } else {
                let skip = known.min(bytes.len());
                (from, bytes) = (from.wrapping_add(skip as u32), &bytes[skip..]);
            }
            self.pieces[at].touched = self.touches;
            self.join(at);
        }
        new
    }

    fn place(&mut self, at: usize, from: u32, bytes: &[u8]) {
        self.pieces.insert(at, Piece { from, bytes: bytes.to_vec(), touched: self.touches });
        self.join(at);
    }

    /// Joins a piece with the next one if they touch.
    fn join(&mut self, at: usize) {
        if at + 1 < self.pieces.len() && self.pieces[at].to() == self.pieces[at + 1].from {
            let next = self.pieces.remove(at + 1);
            self.pieces[at].bytes.extend_from_slice(&next.bytes);
        }
    }

    /// Takes the first piece away if `next` lies in it or after it: its bytes from `next` on.
    pub(crate) fn take(&mut self, next: u32) -> Option<(Vec<u8>, usize)> {
        while self.pieces.first().is_some_and(|first| !after(first.from, next)) {
            let first = self.pieces.remove(0);
            let known = next.wrapping_sub(first.from) as usize;
            if known < first.bytes.len() {
                return Some((first.bytes, known));
            }
        }
        None
    }

    /// The blocks to report, latest first (RFC 2018 section 4).
    pub(crate) fn blocks(&self, most: usize) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let mut below = u32::MAX;
        for _ in 0..most.min(self.pieces.len()) {
            let next =
                self.pieces.iter().filter(|piece| piece.touched < below).max_by_key(|piece| piece.touched);
            let Some(piece) = next else { break };
            blocks.push(piece.from, piece.to());
            below = piece.touched;
        }
        blocks
    }

    #[cfg(test)]
    fn ranges(&self) -> Vec<(u32, u32)> {
        self.pieces.iter().map(|piece| (piece.from, piece.to())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn joins_what_touches() {
        let mut pieces = Reassembly::default();
        assert!(pieces.insert(10, b"bbbb"));
        assert!(pieces.insert(20, b"dd"));
        assert_eq!(pieces.ranges(), [(10, 14), (20, 22)]);
        assert!(!pieces.insert(11, b"xx"));
        assert!(pieces.insert(12, b"xxcccccc"));
        assert_eq!(pieces.ranges(), [(10, 22)]);
        assert_eq!(pieces.take(9), None);
        assert_eq!(pieces.take(11), Some((b"bbbbccccccdd".to_vec(), 1)));
        assert!(pieces.is_empty());
    }

    #[test]
    fn reports_the_latest_first() {
        let mut pieces = Reassembly::default();
        for from in [50, 10, 30] {
            pieces.insert(from, b"1234");
        }
        assert_eq!(pieces.blocks(4).as_slice(), [(30, 34), (10, 14), (50, 54)]);
        pieces.insert(54, b"5");
        assert_eq!(pieces.blocks(2).as_slice(), [(50, 55), (30, 34)]);
    }

    proptest! {
        /// Against a plain array of which bytes are there, across the wrap.
        #[test]
        fn keeps_each_byte_once(inserts in prop::collection::vec((0u32..200, 1usize..40), 1..40)) {
            let base = u32::MAX - 100;
            let mut pieces = Reassembly::default();
            let mut there = [false; 240];
            for (from, len) in inserts {
                let bytes: Vec<u8> = (from..from + len as u32).map(|at| at as u8).collect();
                let range = from as usize..from as usize + len;
                let new = there[range.clone()].iter().any(|is| !is);
                prop_assert_eq!(pieces.insert(base.wrapping_add(from), &bytes), new);
                there[range].fill(true);
                let mut seen = [false; 240];
                let mut last = None;
                for piece in &pieces.pieces {
                    let from = piece.from.wrapping_sub(base);
                    prop_assert!(last.is_none_or(|last| from > last));
                    last = Some(piece.to().wrapping_sub(base));
                    for (at, byte) in piece.bytes.iter().enumerate() {
                        prop_assert_eq!(*byte, (from as usize + at) as u8);
                        seen[from as usize + at] = true;
                    }
                }
                prop_assert_eq!(seen, there);
            }
        }
    }
}
