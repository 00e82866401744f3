//! Payloads that are a function of the packet, so that a receiver that knows the function finds every changed bit.
//!
//! The filling lies between the given bytes of the payload and the signature. It consists of blocks of 16 bytes,
//! counted backwards from the signature: a word of 64 bits and its complement. The word of block `n` is a random one of
//! the run xored with the packet's key, a bijection of stream, lane and sequence number; the word of block 1 is also
//! xored with the length of the filling, four times. Bytes before the first whole block are the run's alone.
//!
//! - A word and its complement add up to nothing in an Internet checksum: of all packets of one length it is the same.
//! - A packet's key can be read from any block whose number is known, and the number from two neighbours: so a packet
//!   is identified by its payload when its signature is damaged or cut off, and a payload that belongs to another
//!   packet is distinguished from one with errors.
//! - The length shows where the filling begins when a device added headers or took some off.
//!
//! Not here: counting, and which streams are filled. [`Pattern::write`] and [`Pattern::matches`] are for every packet,
//! all else for those that are damaged.

mod damage;

pub use damage::{Damage, Found, Place, Source};

use crate::signature::{LANES_MAX, STREAM_BITS};
use units::FrameLen;

/// Bytes of a block.
const BLOCK: usize = 16;
/// Blocks of the longest frame.
const BLOCKS: usize = FrameLen::MAX.without_fcs() as usize / BLOCK;
/// Words of a block.
const WORDS: usize = 2;
/// Minimum length of a filling that encodes its length.
const TELLS_LENGTH: usize = 2 * BLOCK;
/// A length four times.
const REPEATED: u64 = 0x0001_0001_0001_0001;

/// Filling of a run's payloads.
#[derive(Debug, Clone)]
pub struct Pattern {
    key: u64,
    /// Words of a frame that ends with the last one: block 0 is the last two.
    words: Box<[u64]>,
    /// Differences of neighbouring words, the same for every packet, ascending, each with the lower number.
    steps: Box<[(u64, u16)]>,
}

/// The key of a packet's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(u64);

impl Pattern {
    /// That of the run with `seed`.
    pub fn of_run(seed: u64) -> Self {
        let key = random::other_key(random::key(seed));
        let pad = |block: usize| random::word(key, block as u64 + 1);
        let words = (0..BLOCKS).rev().flat_map(|block| [pad(block), !pad(block)]).collect();
        // Block 1 also depends on the length.
        let mut steps: Vec<_> = (2..BLOCKS - 1).map(|n| (pad(n) ^ pad(n + 1), n as u16)).collect();
        steps.sort_unstable();
        Self { key: random::word(key, 0), words, steps: steps.into() }
    }

    /// The key of a packet.
    #[inline(always)]
    pub fn key(&self, stream: u32, lane: u8, sequence: u32) -> Key {
        Key(random::mix(self.key ^ Source { stream, lane, sequence }.packed()))
    }

    /// Fills `filling`, which ends where the signature begins.
    ///
    /// # Panics
    /// If it is longer than frames are.
    #[inline]
    pub fn write(&self, filling: &mut [u8], Key(key): Key) {
        let (rest, blocks) = split_mut(filling);
        let words = self.of(blocks.len());
        for (to, word) in blocks.as_chunks_mut().0.iter_mut().zip(words) {
            *to = (word ^ key).to_le_bytes();
        }
        rest.copy_from_slice(&self.before(words.len())[BLOCK - rest.len()..]);
        if let Some(length) = length_word(filling.len()) {
            let from = filling.len() - TELLS_LENGTH;
            for to in filling[from..from + BLOCK].as_chunks_mut().0 {
                *to = (u64::from_le_bytes(*to) ^ length).to_le_bytes();
            }
        }
    }

    /// Whether `filling`, which ends where the signature begins, is what was written.
    #[inline]
    pub fn matches(&self, filling: &[u8], Key(key): Key) -> bool {
        let (rest, blocks) = filling.split_at(filling.len() % BLOCK);
        let length = length_word(filling.len()).unwrap_or(0);
        let last = if length == 0 { 0 } else { TELLS_LENGTH };
        let words = self.of(blocks.len());
        let (blocks, ends) = blocks.split_at(blocks.len() - last);
        let (words, ends_words) = words.split_at(blocks.len() / 8);
        let wrong = |bytes: &[u8], words: &[u64], key: u64| {
            bytes
                .as_chunks()
                .0
                .iter()
                .zip(words)
                .fold(0, |wrong, (bytes, word)| wrong | (u64::from_le_bytes(*bytes) ^ word ^ key))
        };
        let mut all = wrong(blocks, words, key);
        if last > 0 {
            all |= wrong(&ends[..BLOCK], ends_words, key ^ length);
            all |= wrong(&ends[BLOCK..], &ends_words[WORDS..], key);
        }
        all == 0
            && (rest.is_empty() || rest == &self.before(words.len() + ends_words.len())[BLOCK - rest.len()..])
    }

    /// The words of a filling whose whole blocks have this number of bytes.
    #[inline(always)]
    fn of(&self, bytes: usize) -> &[u64] {
        &self.words[self.words.len() - bytes / 8..]
    }

    /// The bytes before the first of this number of words, the same for every packet.
    #[inline(always)]
    fn before(&self, words: usize) -> [u8; BLOCK] {
        let mut bytes = [0; BLOCK];
        let end = self.words.len() - words;
        if let Some(block) = self.words[..end].last_chunk::<WORDS>() {
            bytes[..8].copy_from_slice(&block[0].to_le_bytes());
            bytes[8..].copy_from_slice(&block[1].to_le_bytes());
        }
        bytes
    }
}

/// Value that block 1 of a filling of this length is xored with, if it has one.
#[inline(always)]
fn length_word(filling: usize) -> Option<u64> {
    (filling >= TELLS_LENGTH).then_some(filling as u64 * REPEATED)
}

/// The bytes before the first whole block, and the blocks.
#[inline(always)]
fn split_mut(filling: &mut [u8]) -> (&mut [u8], &mut [u8]) {
    filling.split_at_mut(filling.len() % BLOCK)
}

const _: () = assert!(LANES_MAX == 1 << 8 && STREAM_BITS + 8 + 32 == 64);

#[cfg(test)]
mod tests;
