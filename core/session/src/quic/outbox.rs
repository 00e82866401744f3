//! Datagrams of a connection that wait for the stack, in the buffers in which they were made.
//!
//! Invariant: pieces follow each other without gaps, and what the stack has not sent is there.

use crate::extra::Extras;
use std::collections::VecDeque;

/// Some datagrams, and the offset of their first byte among all of the flow.
struct Piece {
    at: u64,
    bytes: Vec<u8>,
}

impl Piece {
    fn end(&self) -> u64 {
        self.at + self.bytes.len() as u64
    }
}

/// All that wait.
#[derive(Default)]
pub(super) struct Outbox {
    pieces: VecDeque<Piece>,
    /// Bytes that the flow has sent, and those together with what waits.
    sent: u64,
    end: u64,
}

impl Outbox {
    /// Of a flow that has sent `base` bytes.
    pub(super) fn new(base: u64) -> Self {
        Self { pieces: VecDeque::new(), sent: base, end: base }
    }

    /// Bytes that wait.
    #[inline]
    pub(super) fn ahead(&self) -> u64 {
        self.end - self.sent
    }

    /// The stack has sent this number of bytes since the flow began.
    #[inline]
    pub(super) fn note_sent(&mut self, sent: u64, extras: &mut Extras) {
        self.sent = sent.clamp(self.sent, self.end);
        while self.pieces.front().is_some_and(|piece| piece.end() <= self.sent) {
            self.pieces.pop_front().into_iter().for_each(|piece| extras.keep_spare(piece.bytes));
        }
    }

    /// Takes datagrams over; `several`: more than one. A single one leaves the buffer, which is for many, to others: it may be the last for
    /// long.
    #[inline]
    pub(super) fn push(&mut self, bytes: Vec<u8>, several: bool, extras: &mut Extras) {
        let (at, len) = (self.end, bytes.len());
        self.end += len as u64;
        let kept = if several {
            bytes
        } else {
            let one = bytes.to_vec();
            extras.keep_spare(bytes);
            one
        };
        if len > 0 {
            self.pieces.push_back(Piece { at, bytes: kept });
        }
    }

    /// Writes bytes from an offset on, as far as they are here.
    #[inline]
    pub(super) fn fill(&self, offset: u64, out: &mut [u8]) {
        let first = match self.pieces.front() {
            Some(piece) if offset < piece.end() => 0,
            _ => self.pieces.partition_point(|piece| piece.end() <= offset),
        };
        let (mut at, mut rest) = (offset, out);
        for piece in self.pieces.range(first..) {
            let Some(skip) = at.checked_sub(piece.at) else { return };
            let from = piece.bytes.get(skip as usize..).unwrap_or_default();
            let taken = from.len().min(rest.len());
            rest[..taken].copy_from_slice(&from[..taken]);
            rest = &mut rest[taken..];
            if rest.is_empty() {
                return;
            }
            at += taken as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(outbox: &Outbox, offset: u64, len: usize) -> Vec<u8> {
        let mut out = vec![0; len];
        outbox.fill(offset, &mut out);
        out
    }

    #[test]
    fn bytes_are_there_until_they_were_sent() {
        let mut extras = Extras::default();
        let mut outbox = Outbox::new(100);
        for (number, several) in [(1, true), (2, false), (3, true)] {
            outbox.push(vec![number; 10], several, &mut extras);
        }
        outbox.push(Vec::new(), false, &mut extras);
        assert_eq!(outbox.ahead(), 30);
        assert_eq!(filled(&outbox, 100, 10), [1; 10]);
        assert_eq!(filled(&outbox, 108, 14), [&[1; 2][..], &[2; 10], &[3; 2]].concat());
        assert_eq!(filled(&outbox, 125, 10), [&[3; 5][..], &[0; 5]].concat(), "nothing comes after the last");
        assert_eq!(filled(&outbox, 90, 4), [0; 4], "what is before the first is not known");
        outbox.note_sent(115, &mut extras);
        assert_eq!((outbox.ahead(), outbox.pieces.len()), (15, 2));
        assert_eq!(filled(&outbox, 115, 10), [&[2; 5][..], &[3; 5]].concat());
        outbox.note_sent(110, &mut extras);
        assert_eq!(outbox.ahead(), 15, "it never goes back");
        outbox.note_sent(1_000, &mut extras);
        assert_eq!((outbox.ahead(), outbox.pieces.len()), (0, 0));
    }

    #[test]
    fn a_buffer_is_used_again_and_a_single_datagram_keeps_none() {
        let mut extras = Extras::default();
        let mut outbox = Outbox::new(0);
        let mut large = Vec::with_capacity(15_000);
        large.push(7);
        outbox.push(large, false, &mut extras);
        assert!(outbox.pieces[0].bytes.capacity() < 100);
        let again = extras.spare(1);
        assert!(again.is_empty() && again.capacity() >= 15_000);
        outbox.push(again, false, &mut extras);
        assert!(extras.spare(1).capacity() >= 15_000, "one without a datagram goes back as well");
    }
}
