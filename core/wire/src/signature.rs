//! The 18 bytes that make a packet measurable: run, stream, lane, sequence number, send time, and a check over them.
//!
//! They are the last 18 bytes of the innermost payload, which for a minimum UDP/IPv4 frame is all of it:
//!
//! | offset | bytes | holds, little-endian |
//! |---|---|---|
//! | 0 | 3 | mark of the run: distinguishes our packets from foreign ones and from an earlier run's |
//! | 3 | 3 | stream |
//! | 6 | 2 | check: a keyed hash of the other 16 bytes |
//! | 8 | 4 | sequence number in the lane |
//! | 12 | 5 | send time, nanoseconds modulo 2^40 (18 minutes) |
//! | 17 | 1 | lane: the part of the stream one worker sends |
//!
//! The key follows from the run's seed. A signature with a flipped bit, or one made without the key, passes the check
//! once in 65,536 times: one product of two 64-bit numbers, its halves added without carry, the upper 16 bits kept.
//!
//! Not here: which number a packet gets and when it is sent. The per-packet operations of a port are [`read_at_end`] on
//! the way in, or [`Followers::is_next`] after one that was read, and [`Stamp::write_all`] on the way out; the latter
//! touches only bytes that change.

use crate::build::Packet;
use crate::checksum;
use crate::checksums::{Algorithm, Checksum};
use crate::read::read;
use crate::vlans::is_vlan_type;
use units::Nanos;

/// Bytes of a signature.
pub const LEN: usize = 18;
/// Lanes a stream can have.
pub const LANES_MAX: usize = 256;
/// Streams a run can have.
pub const STREAMS_MAX: usize = 1 << 24;

/// Bytes at the signature's end that are written for every packet: check, sequence number, time, lane.
pub const VARYING: usize = 12;
const TIME_BITS: u32 = 40;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;
/// Bits of the run's mark, the first of a signature.
pub const MARK_BITS: u32 = 24;
/// Bits of the stream, which follow.
pub const STREAM_BITS: u32 = 24;
/// Of the first eight bytes, those before the check.
const BEFORE_CHECK: u64 = (1 << (MARK_BITS + STREAM_BITS)) - 1;

/// Content of a signature, except for its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    /// Index of the stream, below [`STREAMS_MAX`].
    pub stream: u32,
    /// The part of the stream one worker sends.
    pub lane: u8,
    /// Number of the packet in its lane.
    pub sequence: u32,
    /// When it was sent, nanoseconds modulo 2^40; see [`unwrap_time`].
    pub time: u64,
}

impl Signature {
    /// Content of a signature of `stream` whose middle eight and last two bytes are these little-endian numbers.
    #[inline(always)]
    pub fn from_words(stream: u32, middle: u64, tail: u16) -> Self {
        Self {
            stream,
            lane: (tail >> 8) as u8,
            sequence: middle as u32,
            time: middle >> 32 | u64::from(tail & 0xff) << 32,
        }
    }

    /// Its bytes in packets of the run with this mark; 40 bits of the time are kept.
    pub fn bytes(&self, mark: &Mark) -> [u8; LEN] {
        let lane = mark.lane(self.stream, self.lane);
        let mut bytes = [0; LEN];
        bytes[..6].copy_from_slice(&lane.fixed.to_le_bytes()[..6]);
        bytes[LEN - VARYING..].copy_from_slice(&lane.at(self.time).varying(self.sequence));
        bytes
    }
}

/// Why a frame has no signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoSignature {
    /// Nothing in it shows that it is a test packet of this run.
    Foreign,
    /// It has the run's mark, but its check does not fit: bytes of it were changed or forged.
    Damaged,
}

/// Mark of a run's packets, and the key of their checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Never zero, so that zeros are never a signature.
    bits: u32,
    keys: [u64; 2],
}

impl Mark {
    /// The mark of the run with `seed`.
    pub fn of_run(seed: u64) -> Self {
        let key = random::key(seed);
        let word = |n| random::word(key, n);
        Self { bits: ((word(0) >> (64 - MARK_BITS)) as u32).max(1), keys: [word(1), word(2)] }
    }

    /// The mark itself, and the keys of the check, for others who recognise signatures: its factors are the signature's
    /// middle eight bytes xored with the first key, and the first six bytes followed by the last two xored with the second.
    pub fn parts(&self) -> (u32, [u64; 2]) {
        (self.bits, self.keys)
    }

    /// Common part of the signatures of a stream's packets sent by one worker.
    #[inline(always)]
    pub fn lane(&self, stream: u32, lane: u8) -> LaneMark {
        debug_assert!((stream as usize) < STREAMS_MAX, "stream {stream} does not fit 24 bits");
        let fixed = u64::from(self.bits) | u64::from(stream) << MARK_BITS | u64::from(lane) << 56;
        LaneMark { fixed, keys: self.keys }
    }
}

/// Common part of the signatures of one lane, and the key of their checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneMark {
    /// Mark, stream, eight bits of zeros, lane.
    fixed: u64,
    keys: [u64; 2],
}

impl LaneMark {
    /// The two numbers whose product with a packet's words gives its check: the first is xored with sequence number
    /// (lower half) and the lower 32 bits of the time, the second stays as it is for packets sent at `time`. The check
    /// is the upper 16 bits of both halves of the product, xored.
    #[inline(always)]
    pub fn factors(&self, time: u64) -> [u64; 2] {
        let time_high = (time & TIME_MASK) >> 32;
        [self.keys[0], self.keys[1] ^ self.fixed ^ time_high << 48]
    }

    /// The signature's last two bytes: the upper eight bits of the time, and the lane.
    #[inline(always)]
    pub fn tail(&self, time: u64) -> u16 {
        ((time & TIME_MASK) >> 32 | self.fixed >> 48) as u16
    }

    /// Common part of the signatures of packets sent at `time`.
    #[inline(always)]
    pub fn at(&self, time: u64) -> LaneInstant {
        let [first, second] = self.factors(time);
        let (middle, tail) = (time << 32, self.tail(time));
        let sum = (time & 0xffff_ffff) + u64::from(tail);
        LaneInstant { factors: [middle ^ first, second], middle, tail, sum }
    }
}

/// Common part of the signatures of one lane that are sent at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneInstant {
    /// The numbers whose product gives the check once the first is xored with the sequence number.
    factors: [u64; 2],
    /// Zeros for the sequence number, and above them the lower 32 bits of the time.
    middle: u64,
    /// Upper eight bits of the time, and the lane.
    tail: u16,
    /// Sum of `middle` and `tail` in words, not folded.
    sum: u64,
}

impl LaneInstant {
    /// The same for `stream`, of an instant of stream 0.
    #[inline(always)]
    pub fn of_stream(&self, stream: u32) -> Self {
        let [first, second] = self.factors;
        Self { factors: [first, second ^ u64::from(stream) << MARK_BITS], ..*self }
    }

    /// The last [`VARYING`] bytes of the packet with `sequence`.
    #[inline(always)]
    pub fn varying(&self, sequence: u32) -> [u8; VARYING] {
        let mut bytes = [0; VARYING];
        self.write(&mut bytes, sequence);
        bytes
    }

    /// Writes the last bytes of the packet with `sequence`. Returns their sum as words of 16 bits, not folded: at most
    /// 2^34.
    #[inline(always)]
    fn write(&self, varying: &mut [u8; VARYING], sequence: u32) -> u64 {
        let sequence = u64::from(sequence);
        let check = u64::from(check(self.factors[0] ^ sequence, self.factors[1]));
        // Two stores: check, number and the lowest 16 bits of the time, and what all have in common.
        let first = check | sequence << 16 | self.middle << 16;
        let rest = (self.middle >> 48) as u32 | u32::from(self.tail) << 16;
        varying[..8].copy_from_slice(&first.to_le_bytes());
        varying[8..].copy_from_slice(&rest.to_le_bytes());
        self.sum + sequence + check
    }
}

#[inline(always)]
fn check(a: u64, b: u64) -> u16 {
    let product = u128::from(a) * u128::from(b);
    (((product >> 64) as u64 ^ product as u64) >> 48) as u16
}

/// A signature that was read, as the numbers it consists of.
#[derive(Debug, Clone, Copy)]
struct Words {
    /// The first eight bytes, without the check.
    fixed: u64,
    /// The middle eight bytes.
    middle: u64,
    /// The last two.
    tail: u16,
    /// The factors of its check.
    factors: [u64; 2],
}

impl Words {
    /// Those in the last bytes of `data`, if they begin with the run's `mark` and their check fits.
    #[inline(always)]
    fn read_at_end(data: &[u8], mark: &Mark) -> Result<Self, NoSignature> {
        let Some((first, middle, tail)) = words_at_end(data) else { return Err(NoSignature::Foreign) };
        if first as u32 & ((1 << MARK_BITS) - 1) != mark.bits {
            return Err(NoSignature::Foreign);
        }
        let fixed = first & BEFORE_CHECK;
        let factors = [middle ^ mark.keys[0], (fixed | u64::from(tail) << 48) ^ mark.keys[1]];
        if u64::from(check(factors[0], factors[1])) != first >> 48 {
            return Err(NoSignature::Damaged);
        }
        Ok(Self { fixed, middle, tail, factors })
    }

    #[inline(always)]
    fn signature(&self) -> Signature {
        Signature::from_words((self.fixed >> MARK_BITS) as u32, self.middle, self.tail)
    }
}

/// The last 18 bytes of `data` as numbers: the first eight, the middle eight and the last two.
#[inline(always)]
fn words_at_end(data: &[u8]) -> Option<(u64, u64, u16)> {
    let bytes = data.last_chunk::<LEN>()?;
    let (first, rest) = bytes.split_first_chunk().expect("18 bytes hold 8");
    let (middle, tail) = rest.split_first_chunk().expect("10 bytes hold 8");
    Some((u64::from_le_bytes(*first), u64::from_le_bytes(*middle), u16::from_le_bytes([tail[0], tail[1]])))
}

/// The signature in the last bytes of `data`, if they begin with the run's `mark` and their check fits.
#[inline(always)]
pub fn read_at_end(data: &[u8], mark: &Mark) -> Result<Signature, NoSignature> {
    Words::read_at_end(data, mark).map(|words| words.signature())
}

/// The same, and what finds the packets that follow it.
#[inline(always)]
pub fn read_with_followers(data: &[u8], mark: &Mark) -> Result<(Signature, Followers), NoSignature> {
    let words = Words::read_at_end(data, mark)?;
    let found = words.signature();
    Ok((found, Followers { words, next: found.sequence.wrapping_add(1) }))
}

/// Finds the packets that follow one in its lane and were sent at the same instant: all of their signatures is known but the
/// check.
#[derive(Debug, Clone, Copy)]
pub struct Followers {
    /// Of the one that they follow.
    words: Words,
    /// Number of the next one.
    next: u32,
}

impl Followers {
    /// Whether `data` ends with the signature of the next one, with a valid check as in [`read_at_end`]. If so, the one
    /// after it is next.
    #[inline(always)]
    pub fn is_next(&mut self, data: &[u8]) -> bool {
        let Some((first, middle, tail)) = words_at_end(data) else { return false };
        let Words { fixed, middle: before, factors, .. } = self.words;
        // The numbers differ in their lower halves alone.
        let sequence = u64::from(self.next);
        if middle != before >> 32 << 32 | sequence || tail != self.words.tail {
            return false;
        }
        let check = check((factors[0] ^ before) ^ middle, factors[1]);
        if first != fixed | u64::from(check) << 48 {
            return false;
        }
        self.next = self.next.wrapping_add(1);
        true
    }
}

/// The signature in `frame` wherever padding has left it: at the frame's end, or else at the end of its IP packet, as
/// the IP header after Ethernet and any VLAN tags gives it.
pub fn find(frame: &[u8], mark: &Mark) -> Result<Signature, NoSignature> {
    let at_end = read_at_end(frame, mark);
    let Some(packet) = ip_end(frame).and_then(|end| frame.get(..end)) else { return at_end };
    match (at_end, read_at_end(packet, mark)) {
        (Err(NoSignature::Foreign), in_packet) | (Err(_), in_packet @ Ok(_)) => in_packet,
        _ => at_end,
    }
}

/// The signature at the end of `data` with one of its bits flipped, and that bit's number, if it is then that of the packet
/// with this stream, lane and sequence number.
pub fn repair(data: &[u8], mark: &Mark, packet: (u32, u8, u32)) -> Option<(Signature, usize)> {
    let mut bytes: [u8; LEN] = *data.last_chunk()?;
    (0..LEN * 8).find_map(|bit| {
        let flip = 0x80 >> (bit % 8);
        bytes[bit / 8] ^= flip;
        let found = read_at_end(&bytes, mark);
        bytes[bit / 8] ^= flip;
        let found = found.ok().filter(|one| (one.stream, one.lane, one.sequence) == packet)?;
        Some((found, bit))
    })
}

/// Offset of the end of the frame's IP packet after Ethernet and any VLAN tags, as its header gives it.
pub fn ip_end(frame: &[u8]) -> Option<usize> {
    let word = |at: usize| Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?));
    let mut ethertype_at = 12;
    loop {
        let ip = ethertype_at + 2;
        match word(ethertype_at)? {
            0x0800 => return Some(ip + usize::from(word(ip + 2)?)),
            0x86dd => return Some(ip + 40 + usize::from(word(ip + 4)?)),
            kind if is_vlan_type(kind) => ethertype_at += 4,
            _ => return None,
        }
    }
}

/// The instant nearest to `now`, before or after it, whose low 40 bits are `time40`.
#[inline(always)]
pub fn unwrap_time(time40: u64, now: Nanos) -> Nanos {
    let unused = u64::BITS - TIME_BITS;
    // The 40-bit difference, its sign extended: from -2^39 to 2^39 - 1.
    let ahead = (time40.wrapping_sub(now.0) << unused) as i64 >> unused;
    let nearest = now.0.wrapping_add_signed(ahead);
    // Nothing is before the clock's beginning or behind its end; there the next instant on the other side is nearest.
    match now.0.checked_add_signed(ahead) {
        Some(instant) => Nanos(instant),
        None if ahead < 0 => Nanos(nearest.wrapping_add(1 << TIME_BITS)),
        None => Nanos(nearest.wrapping_sub(1 << TIME_BITS)),
    }
}

/// Writes the check, the sequence number, the time and the right checksum into frames of one template.
///
/// Valid as long as nothing else the checksum covers differs from the packet it was prepared for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Bytes of the template's frame; frames fit 16 bits, and a stamp should fit a cache line with what goes with it.
    len: u16,
    checksum: StampChecksum,
}

/// Adjustment that makes a stamped frame's checksums right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StampChecksum {
    None,
    Internet(StampSum),
    Crc32c(StampCrc),
    /// A CRC inside an Internet checksum, which an equal change of data and CRC does not leave alone. The base of the
    /// sum is without the CRC, too; the number is 8 if the CRC is at an odd offset from what the sum is over.
    Crc32cIn(StampCrc, StampSum, u8),
}

/// Checksum of a stamped frame. Sums are over little-endian words here: bytes swapped, the ones' complement sum is the
/// swapped sum (RFC 1071 section 2(B)), and the varying bytes are little-endian numbers already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StampSum {
    /// Offset of the field in the frame.
    offset: u16,
    /// Sum of all that is covered, with the field and the varying bytes zero; folded.
    base: u16,
    /// 8 if the varying bytes begin at an odd offset from what is covered: then their sum counts swapped, which is the
    /// same as 2^8 times, modulo 2^16 - 1.
    shift: u8,
    /// Value sent in place of a checksum of zero.
    zero: u16,
}

/// CRC of a stamped frame: remainders are linear, and the varying bytes are the last that it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StampCrc {
    /// Offset of the field in the frame.
    offset: u16,
    /// The CRC with the varying bytes zero, lowest byte first: a number would need more room.
    base: [u8; 4],
}

impl Stamp {
    /// Signs `packet` with sequence number and time zero, and prepares to sign copies of it with others. The packet's
    /// checksum is right afterwards. `None` if the payload has no room for a signature, or if there is a CRC around
    /// another one.
    pub fn prepare(packet: &mut Packet, lane: &LaneMark) -> Option<Self> {
        sign(packet, lane)?;
        let checksum = match packet.payload_checksum() {
            None => StampChecksum::None,
            Some(inner) if inner.algorithm == Algorithm::Crc32c => StampCrc::prepare(inner, packet)?,
            Some(inner) => StampChecksum::Internet(StampSum::of(inner, &packet.bytes)),
        };
        let stamp = Self { len: packet.bytes.len() as u16, checksum };
        stamp.write(&mut packet.bytes, &lane.at(0), 0);
        Some(stamp)
    }

    /// The same for a port that computes the checksum itself: the stamp leaves the checksum alone, and the packet's
    /// field holds what such ports begin with, the sum of the pseudo-header, not complemented.
    ///
    /// Also returns the bytes before the IP header and the bytes of the IP header. `None` if there is no room, or if
    /// the packet is not Ethernet, any VLAN tags, IP, and TCP or UDP with a computed checksum.
    pub fn prepare_offload(packet: &mut Packet, lane: &LaneMark) -> Option<(Self, usize, usize)> {
        let checksum = packet.payload_checksum()?.clone();
        let (mut headers, _) = read(&packet.bytes);
        // To the port, options are part of the header before, and what is behind the checksum's header is data. But
        // which of two packets it means must not be a question.
        headers.retain(|header| header.protocol.part.is_none());
        let behind =
            headers.iter().position(|header| header.offset > checksum.start).unwrap_or(headers.len());
        if headers.drain(behind..).any(|inner| ["ipv4", "ipv6", "tcp", "udp"].contains(&inner.protocol.name))
        {
            return None;
        }
        let [links @ .., ip, transport] = &headers[..] else { return None };
        let is_link = |name: &str| ["ethernet", "vlan"].contains(&name);
        let fits = links.iter().all(|link| is_link(link.protocol.name))
            && ["ipv4", "ipv6"].contains(&ip.protocol.name)
            && ["tcp", "udp"].contains(&transport.protocol.name)
            && transport.offset == checksum.start;
        if !fits {
            return None;
        }
        sign(packet, lane)?;
        let pseudo_sum = checksum::fold(checksum.pseudo_sum(&packet.bytes));
        packet.bytes[checksum.offset..][..2].copy_from_slice(&pseudo_sum.to_be_bytes());
        let stamp = Self { len: packet.bytes.len() as u16, checksum: StampChecksum::None };
        Some((stamp, ip.offset, transport.offset - ip.offset))
    }

    /// Writes the check, the sequence number, the time and the checksum into `frame`, a copy of the packet prepared for
    /// the lane, sent at that instant.
    ///
    /// # Panics
    /// If `frame` is too short to be such a copy.
    #[inline(always)]
    pub fn write(&self, frame: &mut [u8], lane: &LaneInstant, sequence: u32) {
        let len = usize::from(self.len);
        debug_assert_eq!(frame.len(), len, "a stamp fits only copies of its packet");
        let varying = frame.last_chunk_mut::<VARYING>().expect("a frame with a signature");
        let added = lane.write(varying, sequence);
        match &self.checksum {
            StampChecksum::Internet(sum) => sum.write(frame, added),
            StampChecksum::None => {}
            crc => crc.write_crc(frame, added),
        }
    }
}

impl Stamp {
    /// Does so to all of `frames`, in order, with the numbers from `sequence` on.
    ///
    /// # Panics
    /// If one of them is no such copy by its length.
    #[inline(always)]
    pub fn write_all<'f>(
        &self,
        frames: impl Iterator<Item = &'f mut [u8]>,
        lane: &LaneInstant,
        sequence: u32,
    ) {
        let len = usize::from(self.len);
        let numbered = frames.zip(0u32..).map(|(frame, n)| {
            assert!(frame.len() == len, "a stamp fits only copies of its packet");
            (frame, sequence.wrapping_add(n))
        });
        match &self.checksum {
            StampChecksum::Internet(sum) if sum.shift == 0 => {
                // Known of all of them at once.
                assert!(len >= VARYING && usize::from(sum.offset) + 2 <= len, "a frame with a signature");
                for (frame, sequence) in numbered {
                    let varying = frame.last_chunk_mut::<VARYING>().expect("a frame with a signature");
                    let added = lane.write(varying, sequence);
                    sum.write_sum(frame, u64::from(sum.base) + added);
                }
            }
            _ => numbered.for_each(|(frame, sequence)| self.write(frame, lane, sequence)),
        }
    }
}

impl StampChecksum {
    /// Not inlined: it would only be in the way of what most packets need.
    #[cold]
    #[inline(never)]
    fn write_crc(&self, frame: &mut [u8], added: u64) {
        match self {
            Self::Crc32c(crc) => _ = crc.write(frame),
            Self::Crc32cIn(crc, sum, shift) => {
                let crc = u64::from(crc.write(frame)) << shift;
                sum.write_sum(frame, u64::from(sum.base) + (added << sum.shift) + crc);
            }
            Self::None | Self::Internet(_) => {}
        }
    }
}

impl StampSum {
    /// For the Internet checksum `checksum` of `frame`, whose varying bytes are zero.
    fn of(checksum: &Checksum, frame: &[u8]) -> Self {
        let zero_as_ones = checksum.algorithm == Algorithm::Internet { zero_as_ones: true };
        Self {
            offset: checksum.offset as u16,
            base: checksum::fold(checksum.sum_without_field(frame)).swap_bytes(),
            shift: shift(frame.len() - VARYING, checksum),
            zero: if zero_as_ones { 0xffff } else { 0 },
        }
    }

    /// Writes the checksum of a frame whose varying bytes add up to `added`.
    #[inline(always)]
    fn write(&self, frame: &mut [u8], added: u64) {
        // At most 2^43: nothing is lost.
        self.write_sum(frame, u64::from(self.base) + (added << self.shift));
    }

    #[inline(always)]
    fn write_sum(&self, frame: &mut [u8], sum: u64) {
        let field = match checksum::finish(sum) {
            0 => self.zero,
            field => field,
        };
        let offset = usize::from(self.offset);
        frame[offset..offset + 2].copy_from_slice(&field.to_le_bytes());
    }
}

impl StampCrc {
    /// For the CRC `inner` of `packet`, whose varying bytes are zero; `None` if another CRC is around it.
    fn prepare(inner: &Checksum, packet: &Packet) -> Option<StampChecksum> {
        let mut bytes = packet.bytes.clone();
        bytes[inner.offset..][..4].fill(0);
        let base = checksum::crc32c(&bytes[inner.start..inner.end]).to_le_bytes();
        let crc = Self { offset: inner.offset as u16, base };
        let covers = |outer: &&Checksum| outer.start < inner.start && outer.end == inner.end;
        match packet.checksums.iter().find(covers) {
            None => Some(StampChecksum::Crc32c(crc)),
            Some(outer) if outer.algorithm == Algorithm::Crc32c => None,
            Some(outer) => {
                let sum = StampSum::of(outer, &bytes);
                Some(StampChecksum::Crc32cIn(crc, sum, shift(inner.offset, outer)))
            }
        }
    }

    /// Writes the CRC of a frame with its varying bytes, and returns it.
    fn write(&self, frame: &mut [u8]) -> u32 {
        let varying = frame.last_chunk::<VARYING>().expect("a frame with a signature");
        let crc = u32::from_le_bytes(self.base) ^ checksum::crc32c_raw(0, varying);
        let offset = usize::from(self.offset);
        frame[offset..offset + 4].copy_from_slice(&crc.to_le_bytes());
        crc
    }
}

/// 8 if `offset` is at an odd distance from where `checksum` begins to cover.
fn shift(offset: usize, checksum: &Checksum) -> u8 {
    if (offset - checksum.start).is_multiple_of(2) { 0 } else { 8 }
}

/// Writes mark and stream, and zeros for what varies, into the last bytes of the packet's payload.
fn sign(packet: &mut Packet, lane: &LaneMark) -> Option<()> {
    let signature = packet.bytes.get_mut(packet.payload..)?.last_chunk_mut::<LEN>()?;
    signature.fill(0);
    signature[..6].copy_from_slice(&lane.fixed.to_le_bytes()[..6]);
    Some(())
}

#[cfg(test)]
mod tests;
