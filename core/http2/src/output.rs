//! Unacknowledged output: frames as bytes, bodies as numbers.
//!
//! Invariant: byte `offset` of the connection is the same on every call.

use std::collections::VecDeque;

/// Capacity, in pieces and bytes, that an idle connection keeps.
const KEPT: (usize, usize) = (4, 64);

/// A part of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Body {
    /// Kind of body; its meaning is defined by the writer.
    pub source: u16,
    /// The message's number.
    pub number: u32,
}

/// Bytes of frames, then a part of a body.
#[derive(Debug, Clone, Copy)]
struct Piece {
    /// Offset of the byte after it.
    end: u64,
    /// Where in the body its part begins.
    from: u64,
    /// Bytes of the body.
    len: u32,
    number: u32,
    /// Where its frames begin, counted from the connection's first, modulo 2^32.
    frames: u32,
    source: u16,
    /// Tag reported once it is acknowledged; 0 is none.
    tag: u8,
}

const _: () = assert!(size_of::<Piece>() == 32);

#[derive(Debug, Default)]
pub(crate) struct Output {
    pieces: VecDeque<Piece>,
    frames: VecDeque<u8>,
    /// Offset of the first byte of `frames`, modulo 2^32.
    base: u32,
    /// Offset of the first byte of the first piece.
    start: u64,
    /// Offset after the last byte.
    end: u64,
}

impl Output {
    /// Offset after the last byte.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Bytes of frames that are kept.
    pub(crate) fn frames(&self) -> usize {
        self.frames.len()
    }

    /// Pieces that are kept.
    pub(crate) fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// Bytes of memory.
    pub(crate) fn held(&self) -> usize {
        self.pieces.capacity() * size_of::<Piece>() + self.frames.capacity()
    }

    /// Appends bytes of frames.
    #[inline]
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let at = self.base.wrapping_add(self.frames.len() as u32);
        self.frames.extend(bytes);
        self.end += bytes.len() as u64;
        match self.pieces.back_mut() {
            Some(last) if last.len == 0 && last.tag == 0 => last.end = self.end,
            _ => self.pieces.push_back(Piece {
                end: self.end,
                from: 0,
                len: 0,
                number: 0,
                frames: at,
                source: 0,
                tag: 0,
            }),
        }
    }

    /// Appends a part of a body after the bytes pushed last.
    #[inline]
    pub(crate) fn push_body(&mut self, body: Body, from: u64, len: u32) {
        self.end += u64::from(len);
        if let Some(last) = self.pieces.back_mut() {
            (last.end, last.from, last.len) = (self.end, from, len);
            (last.number, last.source) = (body.number, body.source);
        }
    }

    /// Tells `tag` once all so far is acknowledged.
    #[inline]
    pub(crate) fn mark(&mut self, tag: u8) {
        if let Some(last) = self.pieces.back_mut() {
            last.tag = tag;
        }
    }

    /// Drops the bytes before `offset`.
    pub(crate) fn acknowledged(&mut self, offset: u64, mut tell: impl FnMut(u8)) {
        while let Some(first) = self.pieces.front().filter(|first| first.end <= offset) {
            let frames = (first.end - self.start - u64::from(first.len)) as usize;
            if first.tag > 0 {
                tell(first.tag);
            }
            self.start = first.end;
            self.frames.drain(..frames);
            self.base = self.base.wrapping_add(frames as u32);
            self.pieces.pop_front();
        }
    }

    /// Gives memory back that an idle connection does not need.
    pub(crate) fn rest(&mut self) {
        if self.pieces.is_empty() {
            self.pieces.shrink_to(KEPT.0);
            self.frames.shrink_to(KEPT.1);
        }
    }

    /// Writes the bytes from `offset` on; bytes of bodies are fetched.
    pub(crate) fn fill(&self, offset: u64, out: &mut [u8], mut body: impl FnMut(Body, u64, &mut [u8])) {
        let mut index = match self.pieces.back() {
            // What is new is at the end.
            Some(last) if last.end > offset && last.end - offset <= 2_048 => {
                let later = self.pieces.iter().rev().take_while(|piece| piece.end > offset).count();
                self.pieces.len() - later
            }
            _ => self.pieces.partition_point(|piece| piece.end <= offset),
        };
        let mut start = match index.checked_sub(1) {
            Some(before) => self.pieces[before].end,
            None => self.start,
        };
        let (mut at, mut out) = (offset, out);
        while !out.is_empty() {
            let Some(piece) = self.pieces.get(index) else { break };
            let frames = piece.end - start - u64::from(piece.len);
            let skip = at.saturating_sub(start);
            if skip < frames {
                let len = ((frames - skip) as usize).min(out.len());
                let (now, rest) = out.split_at_mut(len);
                let from = piece.frames.wrapping_sub(self.base) as usize + skip as usize;
                copy(&self.frames, from, now);
                (out, at) = (rest, at + len as u64);
            }
            let skip = at.saturating_sub(start + frames);
            if !out.is_empty() && skip < u64::from(piece.len) {
                let len = ((u64::from(piece.len) - skip) as usize).min(out.len());
                let (now, rest) = out.split_at_mut(len);
                body(Body { source: piece.source, number: piece.number }, piece.from + skip, now);
                (out, at) = (rest, at + len as u64);
            }
            start = piece.end;
            index += 1;
        }
        out.fill(0);
    }
}

fn copy(from: &VecDeque<u8>, at: usize, out: &mut [u8]) {
    let (front, back) = from.as_slices();
    let first = front.get(at..).unwrap_or_default();
    let len = first.len().min(out.len());
    out[..len].copy_from_slice(&first[..len]);
    let at = at.saturating_sub(front.len());
    let rest = &mut out[len..];
    let len = rest.len();
    rest.copy_from_slice(&back[at..at + len]);
}
