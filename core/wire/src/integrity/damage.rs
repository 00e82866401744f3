//! Damage of a payload, and the packet it belongs to.

use super::{BLOCK, BLOCKS, Key, Pattern, TELLS_LENGTH, length_word};
use crate::signature::STREAM_BITS;

/// The longest payload, bytes.
const LONGEST: usize = BLOCK * BLOCKS;
/// Wrong bits within this distance are a burst: as long as a frame check sequence detects for certain.
const BURST_BITS: usize = 32;

/// Kind of damage of a received packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// One bit.
    Bit,
    /// Several bits within 32.
    Burst,
    /// Bits further apart.
    Scattered,
    /// Payload of the packet is at another place in it.
    Shifted,
    /// Payload of another packet of the run is in it.
    OtherPacket,
    /// A part is missing.
    Truncated,
    /// Several bits of the signature; the payload identifies the packet.
    Signature,
}

impl Damage {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::Bit,
        Self::Burst,
        Self::Scattered,
        Self::Shifted,
        Self::OtherPacket,
        Self::Truncated,
        Self::Signature,
    ];

    /// Name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bit => "single_bit",
            Self::Burst => "burst",
            Self::Scattered => "scattered",
            Self::Shifted => "shifted",
            Self::OtherPacket => "other_packet",
            Self::Truncated => "truncated",
            Self::Signature => "signature",
        }
    }
}

/// The packet that a payload is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// Index of the stream.
    pub stream: u32,
    /// The part of the stream one worker sends.
    pub lane: u8,
    /// Number of the packet in its lane.
    pub sequence: u32,
}

impl Source {
    pub(super) fn packed(self) -> u64 {
        u64::from(self.sequence) << 32 | u64::from(self.lane) << STREAM_BITS | u64::from(self.stream)
    }

    fn unpacked(word: u64) -> Self {
        let stream = (word & ((1 << STREAM_BITS) - 1)) as u32;
        Self { stream, lane: (word >> STREAM_BITS) as u8, sequence: (word >> 32) as u32 }
    }
}

/// Where a stream's packets are filled.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// Bytes of headers and given payload before the filling, as they were sent.
    pub before: usize,
    /// The given payload, or nothing if it is not the same in all packets.
    pub given: &'a [u8],
    /// Lengths that the filling has, ascending.
    pub lengths: &'a [u16],
}

/// Result of examining a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Damage.
    pub damage: Damage,
    /// Bytes of the filling.
    pub filling: usize,
}

impl Pattern {
    /// Looks closely at `room`, the bytes of a frame before its signature: `None` if the payload at its end is right
    /// after all, as where a device added headers. Otherwise `wrong` gets each wrong byte's place after the start of
    /// what is given, and its number of wrong bits, if these mean something.
    pub fn examine(
        &self,
        room: &[u8],
        key: Key,
        place: Place<'_>,
        mut wrong: impl FnMut(usize, u32),
    ) -> Option<Found> {
        let filling = self.length(room, key, place);
        let found = |damage| Some(Found { damage, filling });
        let given = place.given.len();
        let Some(received) = room.len().checked_sub(given + filling).and_then(|from| room.get(from..)) else {
            return found(Damage::Truncated);
        };
        let mut buffer = [0; LONGEST];
        let expected = buffer.get_mut(..given + filling)?;
        expected[..given].copy_from_slice(place.given);
        self.write(&mut expected[given..], key);
        let differences = received.iter().zip(&*expected).map(|(got, right)| got ^ right);
        let mut places = differences.clone().enumerate().filter(|(_, bits)| *bits != 0);
        let (first, first_bits) = places.next()?;
        let (last, last_bits) = places.next_back().unwrap_or((first, first_bits));
        let bits: u32 = differences.clone().map(u8::count_ones).sum();
        let from = 8 * first + first_bits.leading_zeros() as usize;
        let until = 8 * last + 8 - last_bits.trailing_zeros() as usize;
        let damage = if bits == 1 {
            Damage::Bit
        } else if until - from <= BURST_BITS {
            Damage::Burst
        } else if let Some(other) =
            self.elsewhere(&received[given..], first.saturating_sub(given)..=last.saturating_sub(given), key)
        {
            return found(if other == key { Damage::Shifted } else { Damage::OtherPacket });
        } else {
            Damage::Scattered
        };
        let wrong_bytes = differences.enumerate().filter(|(_, bits)| *bits != 0);
        wrong_bytes.for_each(|(at, bits)| wrong(at, bits.count_ones()));
        found(damage)
    }

    /// Length of the padding at the end of `room`.
    fn length(&self, room: &[u8], key: Key, place: Place<'_>) -> usize {
        let Place { before, lengths, .. } = place;
        if let [only] = lengths {
            return usize::from(*only);
        }
        let is_one = |length: &usize| lengths.iter().any(|one| usize::from(*one) == *length);
        if let Some(told) = self.told_length(room, key).filter(is_one) {
            return told;
        }
        let as_sent = room.len().saturating_sub(before);
        if is_one(&as_sent) {
            return as_sent;
        }
        // Headers came or went, and the filling is too short to tell its length.
        let short = lengths.iter().map(|length| usize::from(*length));
        let short = short.rev().filter(|length| *length < TELLS_LENGTH.min(room.len() + 1));
        let is_right = |length: &usize| self.matches(&room[room.len() - length..], key);
        short.clone().find(is_right).or_else(|| short.max()).unwrap_or(as_sent.min(LONGEST))
    }

    /// The length encoded in block 1, if most of it is right.
    fn told_length(&self, room: &[u8], Key(key): Key) -> Option<usize> {
        let block = room.len().checked_sub(TELLS_LENGTH).and_then(|from| room.get(from..from + BLOCK))?;
        let words = self.of(TELLS_LENGTH);
        let mut told = [0u16; 8];
        for (half, bytes) in block.as_chunks().0.iter().enumerate() {
            let word = u64::from_le_bytes(*bytes) ^ words[half] ^ key;
            (0..4).for_each(|n| told[4 * half + n] = (word >> (16 * n)) as u16);
        }
        told.sort_unstable();
        // More than half of eight lie around the middle.
        let middle = told[4];
        let agree = told.iter().filter(|length| **length == middle).count();
        (agree > 4).then_some(usize::from(middle)).filter(|length| *length >= TELLS_LENGTH)
    }

    /// The key of foreign bytes in a filling, from the first wrong byte to the last. It is the packet's own if its
    /// payload is at another place.
    fn elsewhere(&self, filling: &[u8], wrong: std::ops::RangeInclusive<usize>, own: Key) -> Option<Key> {
        let number = |from: usize| (filling.len() - from) / BLOCK - 1;
        // Two blocks at their own places, if there are as many, agree on another key. Those of a payload some blocks further on
        // are whole, too, and agree on none.
        let aligned = (filling.len() % BLOCK..filling.len()).step_by(BLOCK);
        let inside = aligned.filter(|from| from + BLOCK > *wrong.start() && from <= wrong.end());
        let keys = inside.filter_map(|from| {
            let length = length_word(filling.len()).filter(|_| number(from) == 1).unwrap_or(0);
            Some(Key(block(filling, from)? ^ self.pad(number(from)) ^ length))
        });
        let mut keys = keys.filter(|key| *key != own);
        if let (Some(one), other) = (keys.next(), keys.next())
            && other.is_none_or(|other| other == one)
        {
            return Some(one);
        }
        let end = (wrong.end() + 1).saturating_sub(2 * BLOCK - 1);
        let found = (*wrong.start()..end).filter_map(|from| Some((from, self.key_at(filling, from)?)));
        let is_home = |from: usize, number: usize| filling.len() - from == BLOCK * (number + 2);
        let mut found = found.filter(|(from, (key, n))| *key != own || !is_home(*from, *n));
        found.next().map(|(_, (key, _))| key)
    }

    /// The key of two whole blocks from `from` on, wherever they belong, and the number of the second.
    fn key_at(&self, bytes: &[u8], from: usize) -> Option<(Key, usize)> {
        let (upper, lower) = (block(bytes, from)?, block(bytes, from + BLOCK)?);
        let at = self.steps.binary_search_by_key(&(upper ^ lower), |(step, _)| *step).ok()?;
        let number = usize::from(self.steps[at].1);
        Some((Key(lower ^ self.pad(number)), number))
    }

    /// The run's word of a block.
    fn pad(&self, number: usize) -> u64 {
        self.of(BLOCK * (number + 1))[0]
    }

    fn source(&self, Key(key): Key) -> Source {
        Source::unpacked(random::unmix(key) ^ self.key)
    }

    /// The packet whose filling is at the end of `room`, the bytes of a frame before its signature.
    pub fn source_before_signature(&self, room: &[u8]) -> Option<Source> {
        let word = block(room, room.len().checked_sub(BLOCK)?)?;
        Some(self.source(Key(word ^ self.pad(0))))
    }

    /// The packet that `cut` is the beginning of, if four whole blocks of its filling are left.
    pub fn source_of_beginning(&self, cut: &[u8]) -> Option<Source> {
        let last = cut.len().checked_sub(BLOCK)?;
        let whole = (last.saturating_sub(BLOCK - 1)..=last).find(|from| block(cut, *from).is_some())?;
        // Not the last ones: blocks 0 and 1 tell no number.
        Some(self.source(self.key_at(cut, whole.checked_sub(3 * BLOCK)?)?.0))
    }
}

/// The word of the block at `from`, if its complement follows.
fn block(bytes: &[u8], from: usize) -> Option<u64> {
    let (word, rest) = bytes.get(from..)?.split_first_chunk()?;
    let (word, complement) = (u64::from_le_bytes(*word), u64::from_le_bytes(*rest.first_chunk()?));
    (complement == !word).then_some(word)
}
