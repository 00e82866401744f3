//! The 18 bytes that make a packet measurable: run, stream, lane, sequence number and send time.
//!
//! They are the last 18 bytes of the innermost payload, which for a minimum UDP/IPv4 frame is all of it:
//!
//! | offset | bytes | holds, little-endian |
//! |---|---|---|
//! | 0 | 4 | mark of the run: tells our packets from foreign ones and from an earlier run's |
//! | 4 | 4 | stream (24 bits), lane (8 bits): the part of the stream one worker sends |
//! | 8 | 4 | sequence number in the lane |
//! | 12 | 6 | send time, nanoseconds modulo 2^48 |
//!
//! Not here: which number a packet gets and when it is sent. What a port does on each packet is [`read_at_end`] on the
//! way in and [`Stamp::write`] on the way out; both touch only bytes that change.

use crate::build::Packet;
use crate::checksum;
use crate::checksums::{Algorithm, Checksum};
use crate::read::read;
use units::Nanos;

/// Bytes of a signature.
pub const LEN: usize = 18;
/// Lanes a stream can have.
pub const LANES_MAX: usize = 256;
/// Streams a run can have.
pub const STREAMS_MAX: usize = 1 << 24;

/// Bytes that differ from packet to packet: sequence number and time, the signature's last.
const VARYING: usize = 10;
const TIME_BITS: u32 = 48;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;

/// What a signature says, but for the run it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    /// Index of the stream, below [`STREAMS_MAX`].
    pub stream: u32,
    /// The part of the stream one worker sends.
    pub lane: u8,
    /// Number of the packet in its lane.
    pub sequence: u32,
    /// When it was sent, nanoseconds modulo 2^48; see [`unwrap_time`].
    pub time: u64,
}

/// The mark of the run with `seed`. Never zero, so that zeros are never a signature.
pub fn run_mark(seed: u64) -> u32 {
    ((random::key(seed) >> 32) as u32).max(1)
}

/// The signature in the last bytes of `data`, if they begin with the run's `mark`.
#[inline(always)]
pub fn read_at_end(data: &[u8], mark: u32) -> Option<Signature> {
    let &[m0, m1, m2, m3, s0, s1, s2, lane, n0, n1, n2, n3, t0, t1, t2, t3, t4, t5] =
        data.last_chunk::<LEN>()?;
    if u32::from_le_bytes([m0, m1, m2, m3]) != mark {
        return None;
    }
    Some(Signature {
        stream: u32::from_le_bytes([s0, s1, s2, 0]),
        lane,
        sequence: u32::from_le_bytes([n0, n1, n2, n3]),
        time: u64::from_le_bytes([t0, t1, t2, t3, t4, t5, 0, 0]),
    })
}

/// The signature in `frame` wherever padding has left it: at the frame's end, or else at the end of its IP packet, as
/// the IP header behind Ethernet and any VLAN tags gives it.
pub fn find(frame: &[u8], mark: u32) -> Option<Signature> {
    read_at_end(frame, mark).or_else(|| read_at_end(frame.get(..ip_end(frame)?)?, mark))
}

/// Offset of the end of the frame's IP packet.
fn ip_end(frame: &[u8]) -> Option<usize> {
    let word = |at: usize| Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?));
    let mut ethertype_at = 12;
    loop {
        let ip = ethertype_at + 2;
        match word(ethertype_at)? {
            0x0800 => return Some(ip + usize::from(word(ip + 2)?)),
            0x86dd => return Some(ip + 40 + usize::from(word(ip + 4)?)),
            // Tags of IEEE 802.1Q, and the outer one's identifier from before there was a standard.
            0x8100 | 0x88a8 | 0x9100 => ethertype_at += 4,
            _ => return None,
        }
    }
}

/// The instant nearest to `now`, before or after it, whose low 48 bits are `time48`.
#[inline(always)]
pub fn unwrap_time(time48: u64, now: Nanos) -> Nanos {
    let unused = u64::BITS - TIME_BITS;
    // The 48-bit difference, its sign extended: from -2^47 to 2^47 - 1.
    let ahead = (time48.wrapping_sub(now.0) << unused) as i64 >> unused;
    let nearest = now.0.wrapping_add_signed(ahead);
    // Nothing is before the clock's beginning or behind its end; there the next instant on the other side is nearest.
    match now.0.checked_add_signed(ahead) {
        Some(instant) => Nanos(instant),
        None if ahead < 0 => Nanos(nearest.wrapping_add(1 << TIME_BITS)),
        None => Nanos(nearest.wrapping_sub(1 << TIME_BITS)),
    }
}

/// Writes the sequence number, the time and the right checksum into frames of one template.
///
/// Valid as long as nothing else the checksum covers differs from the packet it was prepared for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Bytes of the template's frame; frames fit 16 bits, and a stamp should fit a cache line with what goes with it.
    len: u16,
    checksum: StampChecksum,
}

/// What makes a stamped frame's checksums right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StampChecksum {
    None,
    Internet(StampSum),
    Crc32c(StampCrc),
    /// A CRC inside an Internet checksum, which an equal change of data and CRC does not leave alone. The base of the
    /// sum is without the CRC, too; the number is 8 if the CRC is at an odd offset from what the sum is over.
    Crc32cIn(StampCrc, StampSum, u8),
}

/// How a stamped frame's checksum is found. Sums are over little-endian words here: bytes swapped, the ones' complement
/// sum is the swapped sum (RFC 1071 section 2(B)), and the varying bytes are little-endian numbers already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StampSum {
    /// Offset of the field in the frame.
    offset: u16,
    /// Sum of all that is covered, with the field and the varying bytes zero; folded.
    base: u16,
    /// 8 if the varying bytes begin at an odd offset from what is covered: then their sum counts swapped, which is the
    /// same as 2^8 times, modulo 2^16 - 1.
    shift: u8,
    /// What a checksum of zero is sent as.
    zero: u16,
}

/// How a stamped frame's CRC is found: remainders are linear, and the varying bytes are the last that it covers.
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
    pub fn prepare(packet: &mut Packet, mark: u32, stream: u32, lane: u8) -> Option<Self> {
        sign(packet, mark, stream, lane)?;
        let checksum = match packet.payload_checksum() {
            None => StampChecksum::None,
            Some(inner) if inner.algorithm == Algorithm::Crc32c => StampCrc::prepare(inner, packet)?,
            Some(inner) => StampChecksum::Internet(StampSum::of(inner, &packet.bytes)),
        };
        let stamp = Self { len: packet.bytes.len() as u16, checksum };
        stamp.write(&mut packet.bytes, 0, 0);
        Some(stamp)
    }

    /// The same for a port that computes the checksum itself: the stamp leaves the checksum alone, and the packet's
    /// field holds what such ports begin with, the sum of the pseudo-header, not complemented.
    ///
    /// Also returns the bytes before the IP header and the bytes of the IP header. `None` if there is no room, or if
    /// the packet is not Ethernet, any VLAN tags, IP, and TCP or UDP with a computed checksum.
    pub fn prepare_offload(
        packet: &mut Packet,
        mark: u32,
        stream: u32,
        lane: u8,
    ) -> Option<(Self, usize, usize)> {
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
        sign(packet, mark, stream, lane)?;
        let pseudo_sum = checksum::fold(checksum.pseudo_sum(&packet.bytes));
        packet.bytes[checksum.offset..][..2].copy_from_slice(&pseudo_sum.to_be_bytes());
        let stamp = Self { len: packet.bytes.len() as u16, checksum: StampChecksum::None };
        Some((stamp, ip.offset, transport.offset - ip.offset))
    }

    /// Writes the sequence number, the time (nanoseconds, of which 48 bits are kept) and the checksum into `frame`, a
    /// copy of the prepared packet.
    ///
    /// # Panics
    /// If `frame` is too short to be such a copy.
    #[inline(always)]
    pub fn write(&self, frame: &mut [u8], sequence: u32, time: u64) {
        let len = usize::from(self.len);
        debug_assert_eq!(frame.len(), len, "a stamp fits only copies of its packet");
        let (sequence_bytes, time) = (sequence.to_le_bytes(), time & TIME_MASK);
        let varying = frame.last_chunk_mut::<VARYING>().expect("a frame with a signature");
        varying[..4].copy_from_slice(&sequence_bytes);
        varying[4..].copy_from_slice(&time.to_le_bytes()[..6]);
        // At most 2^48 + 2^32.
        let added = u64::from(sequence) + time;
        match &self.checksum {
            StampChecksum::Internet(sum) => sum.write(frame, added),
            StampChecksum::None => {}
            crc => crc.write_crc(frame, added),
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
        // At most 2^57: nothing is lost.
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

/// Writes a signature with sequence number and time zero into the last bytes of the packet's payload.
fn sign(packet: &mut Packet, mark: u32, stream: u32, lane: u8) -> Option<()> {
    debug_assert!((stream as usize) < STREAMS_MAX, "stream {stream} does not fit 24 bits");
    let signature = packet.bytes.get_mut(packet.payload..)?.last_chunk_mut::<LEN>()?;
    signature[..4].copy_from_slice(&mark.to_le_bytes());
    signature[4..8].copy_from_slice(&stream.to_le_bytes());
    signature[7] = lane;
    signature[8..].fill(0);
    Some(())
}

#[cfg(test)]
mod tests;
