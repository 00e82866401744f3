//! Frames of the express lane: IPv4 and TCP without VLANs, tunnels or options but the usual, written whole from what is prepared for a
//! group, and read by comparing.
//!
//! Not here: which segments may take the lane; that is the endpoint's and the stack's.
//!
//! Invariant: what is written is byte for byte what `Template` and `SegmentHeader` write.

use crate::endpoint::Endpoint;
use crate::frame::{ETHERNET, IPV4, TCP, TYPE_IPV4};
use crate::group::{GroupConfig, mss_of};
use crate::segment::{Flags, SCALE_MAX, Segment, SegmentHeader, Timestamps};
use crate::stack::LeftChecksum;
use wire::checksum;

/// Bytes of a frame with a segment without options and payload.
const BARE: usize = ETHERNET + IPV4 + 20;
/// Bytes of the timestamps option with its padding, and its first word (RFC 7323 appendix A).
const TIMES: usize = 12;
const TIMES_WORD: u32 = 0x0101_080a;
/// Bytes of the options of a SYN at most.
const SYN_OPTIONS: usize = 20;

/// Where the checksum of a frame of the lane is left.
pub(crate) const LEFT: LeftChecksum =
    LeftChecksum { before_ip: ETHERNET as u8, ip: IPV4 as u8, is_v6: false, is_udp: false };

/// Prepared headers and options of a group.
#[derive(Debug, Clone)]
pub(crate) struct Lane {
    /// Headers of a frame, with zeros for all that differs between flows and segments.
    head: [u8; BARE],
    /// Sum of the words of the IPv4 header that do not change.
    ip_sum: u64,
    /// Options of SYNs, by what is offered: bits of [`SynKind`].
    syns: [SynOptions; 8],
    /// The group's own hardware address.
    own: u64,
    /// The sum of the pseudo-header alone is written for a checksum.
    pub leaves_checksums: bool,
}

/// Options of a SYN: timestamps are put in where they are.
#[derive(Debug, Clone, Copy, Default)]
struct SynOptions {
    bytes: [u8; SYN_OPTIONS],
    len: u8,
    sum: u32,
}

/// Options that a SYN offers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SynKind {
    pub timestamps: bool,
    pub sack: bool,
    pub scaling: bool,
}

impl SynKind {
    #[inline(always)]
    fn number(self) -> usize {
        usize::from(self.timestamps) | usize::from(self.sack) << 1 | usize::from(self.scaling) << 2
    }
}

/// Addresses and ports of a flow, and where its frames go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    pub hop: [u8; 6],
    pub local: u32,
    pub remote: u32,
    pub ports: u32,
}

/// The variable fields of a segment without options but timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Short {
    pub seq: u32,
    pub ack: u32,
    pub flags: Flags,
    pub window: u16,
    pub times: Option<Timestamps>,
}

impl Lane {
    /// For the frames of a group; `None` if they are of another kind, or take no lane.
    pub(crate) fn new(config: &GroupConfig) -> Option<Self> {
        let is_plain = config.tunnel.is_none() && config.own_macs.is_none() && config.vlans.is_empty();
        if !config.tcp.express || !is_plain {
            return None;
        }
        let mut head = [0; BARE];
        head[6..12].copy_from_slice(&config.own_mac);
        head[12..14].copy_from_slice(&TYPE_IPV4.to_be_bytes());
        head[14..16].copy_from_slice(&[0x45, config.tos & 0xfc]);
        head[20] = 0x40;
        (head[22], head[23]) = (config.ttl, TCP);
        let ip_sum = checksum::sum(&head[ETHERNET..ETHERNET + IPV4], 0);
        let mut syns = [SynOptions::default(); 8];
        for timestamps in [false, true] {
            for sack in [false, true] {
                for scaling in [false, true] {
                    let kind = SynKind { timestamps, sack, scaling };
                    syns[kind.number()] = SynOptions::new(config, kind);
                }
            }
        }
        let [a, b, c, d, e, f] = config.own_mac;
        let own = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
        Some(Self { head, ip_sum, syns, own, leaves_checksums: config.leaves_checksums })
    }

    /// Whether a frame is to the group's own hardware address.
    #[inline(always)]
    pub(crate) fn is_to_own(&self, frame: &[u8]) -> bool {
        frame.first_chunk().is_some_and(|head| u64::from_be_bytes(*head) >> 16 == self.own)
    }

    /// Bytes of a frame with a segment with this number of bytes of payload.
    #[inline(always)]
    pub(crate) fn len(timestamps: bool, payload: usize) -> usize {
        BARE + if timestamps { TIMES } else { 0 } + payload
    }

    /// Bytes of a frame with a SYN.
    #[inline(always)]
    pub(crate) fn syn_len(&self, kind: SynKind) -> usize {
        BARE + usize::from(self.syns[kind.number()].len)
    }

    /// Writes a segment to `frame`, which has its length; `fill` writes the payload if there is any. The packet is marked ECT(0) if it
    /// is `ecn_capable`.
    #[inline(always)]
    pub(crate) fn write(
        &self,
        frame: &mut [u8],
        ends: &Ends,
        segment: &Short,
        ecn_capable: bool,
        fill: impl FnOnce(&mut [u8]),
    ) {
        let (options, sum) = match segment.times {
            None => (0, 0),
            Some(times) => {
                let out: &mut [u8; TIMES] =
                    frame[BARE..].first_chunk_mut().expect("the frame has room for its options");
                let [a, b, c] = [TIMES_WORD, times.value, times.echo];
                let words = u128::from(a) << 96 | u128::from(b) << 64 | u128::from(c) << 32;
                let [used @ .., _, _, _, _] = words.to_be_bytes();
                *out = used;
                (TIMES, u64::from(TIMES_WORD) + u64::from(times.value) + u64::from(times.echo))
            }
        };
        let payload = &mut frame[BARE + options..];
        let sum = if payload.is_empty() {
            sum
        } else {
            fill(payload);
            if self.leaves_checksums { 0 } else { checksum::sum(payload, sum) }
        };
        self.put_head(frame, ends, segment, ecn_capable, options, sum);
    }

    /// Writes a SYN or SYN-ACK to `frame`, which has its length.
    #[inline(always)]
    pub(crate) fn write_syn(&self, frame: &mut [u8], ends: &Ends, segment: &Short, kind: SynKind) {
        let options = &self.syns[kind.number()];
        let len = usize::from(options.len);
        let mut sum = u64::from(options.sum);
        let out = &mut frame[BARE..BARE + len];
        // Of usual lengths, that are known here, a copy is no call.
        if let (8, Some(out), Some(bytes)) = (len, out.first_chunk_mut::<8>(), options.bytes.first_chunk()) {
            *out = *bytes;
        } else if let (SYN_OPTIONS, Some(out)) = (len, out.first_chunk_mut()) {
            *out = options.bytes;
        } else {
            out.copy_from_slice(&options.bytes[..len]);
        }
        if let Some(times) = segment.times {
            out[8..12].copy_from_slice(&times.value.to_be_bytes());
            out[12..16].copy_from_slice(&times.echo.to_be_bytes());
            sum += u64::from(times.value) + u64::from(times.echo);
        }
        self.put_head(frame, ends, segment, false, len, sum);
    }

    /// Writes everything before the options; `sum` is that of everything behind.
    #[inline(always)]
    fn put_head(
        &self,
        frame: &mut [u8],
        ends: &Ends,
        segment: &Short,
        ecn_capable: bool,
        options: usize,
        sum: u64,
    ) {
        let total = (frame.len() - ETHERNET) as u32;
        let head: &mut [u8; BARE] = frame.first_chunk_mut().expect("a frame has its headers");
        *head = self.head;
        put::<0, 6>(head, ends.hop);
        let mark = u8::from(ecn_capable) << 1;
        head[15] |= mark;
        put::<16, 2>(head, (total as u16).to_be_bytes());
        let addresses = u64::from(ends.local) + u64::from(ends.remote);
        let ip_sum = checksum::finish(self.ip_sum + u64::from(mark) + u64::from(total) + addresses);
        put::<24, 2>(head, ip_sum.to_be_bytes());
        put::<26, 8>(head, (u64::from(ends.local) << 32 | u64::from(ends.remote)).to_be_bytes());
        put::<34, 4>(head, ends.ports.to_be_bytes());
        put::<38, 4>(head, segment.seq.to_be_bytes());
        put::<42, 4>(head, segment.ack.to_be_bytes());
        let word = (20 + options as u32) << 26 | u32::from(segment.flags.0) << 16 | u32::from(segment.window);
        put::<46, 4>(head, word.to_be_bytes());
        let pseudo = u64::from(TCP) + u64::from(total) - IPV4 as u64 + addresses;
        let field = if self.leaves_checksums {
            checksum::fold(pseudo)
        } else {
            let header =
                u64::from(ends.ports) + u64::from(segment.seq) + u64::from(segment.ack) + u64::from(word);
            checksum::finish(pseudo + header + sum)
        };
        put::<50, 2>(head, field.to_be_bytes());
    }
}

/// A frame of IPv4 and TCP without VLANs, IP options or fragments, read as far as its TCP header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plain {
    /// Addresses, the receiver's in the upper half, and ports likewise.
    pub both: u64,
    pub ports: u32,
    /// Where the packet ends in the frame.
    pub end: u16,
    /// The two ECN bits (RFC 3168 section 5).
    pub ecn: u8,
}

impl Plain {
    /// Reads `frame` (without FCS). `frame::read` reads the same from every frame that it takes.
    #[inline(always)]
    pub(crate) fn read(frame: &[u8]) -> Option<Self> {
        let head: &[u8; BARE] = frame.first_chunk()?;
        // Type, version and length of the header, TOS, length, identification; flags, TTL, protocol, checksum.
        let (first, second, addresses) = (word_at::<12>(head), word_at::<20>(head), word_at::<26>(head));
        if first >> 40 != u64::from(TYPE_IPV4) << 8 | 0x45 || second >> 32 & 0x3fff_00ff != u64::from(TCP) {
            return None;
        }
        let end = ETHERNET + usize::from((first >> 16) as u16);
        if end < BARE || end > frame.len() {
            return None;
        }
        let sum = half_sum(first & 0xffff_ffff_ffff) + half_sum(second >> 16) + half_sum(addresses);
        if checksum::fold(sum) != 0xffff {
            return None;
        }
        let ports = u32::from_be_bytes(head[34..38].try_into().expect("4 bytes"));
        Some(Self {
            both: addresses.rotate_left(32),
            ports: ports.rotate_left(16),
            end: end as u16,
            ecn: (first >> 32) as u8 & 0b11,
        })
    }
}

/// Writes bytes to a place in a frame's headers. A copy of slices would be a call.
#[inline(always)]
fn put<const AT: usize, const LEN: usize>(head: &mut [u8; BARE], bytes: [u8; LEN]) {
    const { assert!(AT + LEN <= BARE) };
    if let Some(out) = head.split_at_mut(AT).1.first_chunk_mut() {
        *out = bytes;
    }
}

/// The eight bytes of a frame's headers at a place.
#[inline(always)]
fn word_at<const AT: usize>(head: &[u8; BARE]) -> u64 {
    const { assert!(AT + 8 <= BARE) };
    head.split_at(AT).1.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// Whether the checksum of a segment is right in a frame that [`Plain::read`] has read; `sum` is that of its header and options.
#[inline(always)]
pub(crate) fn is_sum_right(both: u64, end: u16, sum: u64, payload: &[u8]) -> bool {
    let pseudo = u64::from(TCP) + u64::from(end) - (ETHERNET + IPV4) as u64 + half_sum(both);
    let sum = pseudo + sum;
    let sum = if payload.is_empty() { sum } else { checksum::sum(payload, sum) };
    checksum::fold(sum) == 0xffff
}

/// The sum of both halves of a word.
#[inline(always)]
fn half_sum(word: u64) -> u64 {
    (word & 0xffff_ffff) + (word >> 32)
}

/// Reads the options of a SYN, written in words as most hosts and this stack write them, into `header`; returns the sum of their words,
/// or `None` if they are others.
#[inline(always)]
fn read_syn_options(options: &[u8], header: &mut SegmentHeader) -> Option<u64> {
    let (words, rest) = options.as_chunks::<4>();
    let mut sum = 0;
    let mut words = words.iter().map(|word| {
        let word = u32::from_be_bytes(*word);
        sum += u64::from(word);
        word
    });
    while let Some(word) = words.next() {
        match word {
            0x0204_0000..=0x0204_ffff => header.mss = Some(word as u16),
            0x0103_0300..=0x0103_03ff => header.window_scale = Some((word as u8).min(SCALE_MAX)),
            0x0101_0402 => header.sack_permitted = true,
            TIMES_WORD | 0x0402_080a => {
                let (value, echo) = (words.next()?, words.next()?);
                header.timestamps = Some(Timestamps { value, echo });
                header.sack_permitted |= word != TIMES_WORD;
            }
            _ => return None,
        }
    }
    rest.is_empty().then_some(sum)
}

/// A segment without options but timestamps, with its payload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShortSegment<'a> {
    pub header: Short,
    pub payload: &'a [u8],
}

impl<'a> ShortSegment<'a> {
    /// The same as any segment, whose packet is not marked.
    #[inline(always)]
    pub(crate) fn long(&self) -> Segment<'a> {
        let Short { seq, ack, flags, window, times } = self.header;
        let header = SegmentHeader { seq, ack, flags, window, timestamps: times, ..SegmentHeader::default() };
        Segment { header, payload: self.payload, congestion_experienced: false }
    }

    /// Reads the SYN or SYN-ACK in a frame, as [`ShortSegment::read`] does other segments.
    #[inline(always)]
    pub(crate) fn read_syn(frame: &'a [u8], end: u16) -> Option<(Segment<'a>, u64)> {
        let packet = frame.get(..usize::from(end))?;
        let head: &[u8; BARE] = packet.first_chunk()?;
        let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let control = word(46);
        let from = (ETHERNET + IPV4 + (control >> 28) as usize * 4).max(BARE);
        let (options, payload) = packet[BARE..].split_at_checked(from - BARE)?;
        let mut header = SegmentHeader {
            seq: word(38),
            ack: word(42),
            flags: Flags((control >> 16) as u8),
            window: control as u16,
            ..SegmentHeader::default()
        };
        if control >> 28 < 5 {
            return None;
        }
        let sum = header_sum(head) + read_syn_options(options, &mut header)?;
        Some((Segment { header, payload, congestion_experienced: false }, sum))
    }

    /// Reads the segment in a frame that [`Plain::read`] has read and that ends at `end`, and sums its header and options; `None` if
    /// it has others, or is malformed.
    #[inline(always)]
    pub(crate) fn read(frame: &'a [u8], end: u16) -> Option<(Self, u64)> {
        let packet = frame.get(..usize::from(end))?;
        let head: &[u8; BARE] = packet.first_chunk()?;
        let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let control = word(46);
        let (times, sum, payload) = match control >> 28 {
            5 => (None, 0, &packet[BARE..]),
            8 => {
                let options: &[u8; TIMES] = packet[BARE..].first_chunk()?;
                let word = |at: usize| {
                    u32::from_be_bytes([options[at], options[at + 1], options[at + 2], options[at + 3]])
                };
                if word(0) != TIMES_WORD {
                    return None;
                }
                let (value, echo) = (word(4), word(8));
                let sum = u64::from(TIMES_WORD) + u64::from(value) + u64::from(echo);
                (Some(Timestamps { value, echo }), sum, &packet[BARE + TIMES..])
            }
            _ => return None,
        };
        let header = Short {
            seq: word(38),
            ack: word(42),
            flags: Flags((control >> 16) as u8),
            window: control as u16,
            times,
        };
        Some((Self { header, payload }, header_sum(head) + sum))
    }
}

/// The sum of the words of a TCP header without options.
#[inline(always)]
fn header_sum(head: &[u8; BARE]) -> u64 {
    let (words, _) = head[BARE - 20..].as_chunks::<4>();
    words.iter().map(|word| u64::from(u32::from_be_bytes(*word))).sum()
}

impl SynOptions {
    fn new(config: &GroupConfig, kind: SynKind) -> Self {
        let tcp = &config.tcp;
        let header = SegmentHeader {
            flags: Flags::SYN,
            mss: Some(mss_of(config.mtu, false).min(tcp.mss.unwrap_or(u16::MAX))),
            window_scale: kind.scaling.then(|| Endpoint::own_scale(tcp.window)),
            sack_permitted: kind.sack,
            timestamps: kind.timestamps.then_some(Timestamps { value: 0, echo: 0 }),
            ..SegmentHeader::default()
        };
        let mut written = [0; 20 + SYN_OPTIONS];
        let len = header.len();
        header.write(0, 0, &mut written[..len]);
        let mut options = Self { len: (len - 20) as u8, ..Self::default() };
        options.bytes[..len - 20].copy_from_slice(&written[20..len]);
        options.sum = u32::from(checksum::fold(checksum::sum(&options.bytes, 0)));
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{self, Addresses};
    use crate::template::{Outer, Template, put_checksum, put_pseudo_sum};
    use proptest::prelude::*;

    fn sum_is_right(plain: &Plain, sum: u64, payload: &[u8]) -> bool {
        is_sum_right(plain.both, plain.end, sum, payload)
    }

    fn frame_is_right(packet: &frame::Packet, bytes: &[u8]) -> bool {
        frame::is_sum_right(&packet.addresses, TCP, packet.transport(bytes))
    }

    proptest! {
        /// Nothing is taken that a stack would not take, or would take for something else.
        #[test]
        fn reads_what_the_long_way_reads(
            at in prop::collection::vec((12usize..60, any::<u8>()), 0..3),
            (mends, sums) in any::<(bool, bool)>(),
            len in 40usize..80,
            padding in 0usize..8,
        ) {
            let mut frame = vec![0; 14 + len + padding];
            frame[12..16].copy_from_slice(&[8, 0, 0x45, 0]);
            frame[16..18].copy_from_slice(&(len as u16).to_be_bytes());
            (frame[23], frame[26], frame[30], frame[46]) = (6, 10, 11, 0x50);
            for (at, change) in at {
                let at = at % frame.len();
                frame[at] ^= change;
            }
            if mends {
                frame[24..26].fill(0);
                let sum = checksum::finish(checksum::sum(&frame[14..34], 0));
                frame[24..26].copy_from_slice(&sum.to_be_bytes());
            }
            if sums {
                let (from, to) = (u32::from_be_bytes(frame[26..30].try_into().unwrap()), u32::from_be_bytes(frame[30..34].try_into().unwrap()));
                put_checksum(&Addresses::V4 { from, to }, TCP, &mut frame[34..14 + len], 16);
            }
            if let Some(plain) = Plain::read(&frame) {
                let packet = frame::read(&frame).unwrap();
                let addresses = Addresses::V4 { from: plain.both as u32, to: (plain.both >> 32) as u32 };
                prop_assert_eq!(
                    (packet.addresses, packet.protocol, packet.ecn, packet.is_fragment, packet.start, packet.end),
                    (addresses, TCP, plain.ecn, false, 34, plain.end.into())
                );
                let long = Segment::read(packet.transport(&frame), false);
                if frame[47] & 2 != 0
                    && let Some((short, sum)) = ShortSegment::read_syn(&frame, plain.end)
                {
                    prop_assert_eq!(sum_is_right(&plain, sum, short.payload), frame_is_right(&packet, &frame));
                    let long = long.as_ref().unwrap();
                    prop_assert_eq!((long.header, long.payload), (short.header, short.payload));
                }
                if let Some((short, sum)) = ShortSegment::read(&frame, plain.end) {
                    prop_assert_eq!(sum_is_right(&plain, sum, short.payload), frame_is_right(&packet, &frame));
                    let long = long.unwrap();
                    let Short { seq, ack, flags, window, times } = short.header;
                    let header = SegmentHeader { seq, ack, flags, window, timestamps: times, ..SegmentHeader::default() };
                    prop_assert_eq!((long.header, long.payload), (header, short.payload));
                }
            }
        }

        #[test]
        fn frames_are_what_templates_write(
            (hop, local, remote, ports) in any::<([u8; 6], u32, u32, u32)>(),
            (seq, ack, flags, window, times) in any::<(u32, u32, u8, u16, Option<(u32, u32)>)>(),
            payload: Vec<u8>,
            (tos, ttl, leaves_checksums) in any::<(u8, u8, bool)>(),
            (is_syn, sack, scaling, ecn) in any::<(bool, bool, bool, bool)>(),
        ) {
            let config = GroupConfig { tos, ttl, leaves_checksums, ..GroupConfig::default() };
            let lane = Lane::new(&config).unwrap();
            let times = times.map(|(value, echo)| Timestamps { value, echo });
            let flags = if is_syn { Flags(flags | 2) } else { Flags(flags & !2) };
            let segment = Short { seq, ack, flags, window, times };
            let ends = Ends { hop, local, remote, ports };
            let kind = SynKind { timestamps: times.is_some(), sack, scaling };
            let header = SegmentHeader {
                seq, ack, flags, window, timestamps: times,
                mss: is_syn.then_some(1_460),
                window_scale: (is_syn && scaling).then(|| Endpoint::own_scale(config.tcp.window)),
                sack_permitted: is_syn && sack,
                ..SegmentHeader::default()
            };
            let payload = if is_syn { Vec::new() } else { payload };
            let addresses = Addresses::V4 { from: local, to: remote };
            let mut expected = vec![0xee; 34 + header.len() + payload.len()];
            let outer = Outer { addresses, hop, protocol: TCP, ecn_capable: ecn && !is_syn };
            let transport = Template::new(&config).write(&outer, &mut expected);
            header.write((ports >> 16) as u16, ports as u16, transport);
            transport[header.len()..].copy_from_slice(&payload);
            let put = if leaves_checksums { put_pseudo_sum } else { put_checksum };
            put(&addresses, TCP, transport, 16);
            let len = if is_syn { lane.syn_len(kind) } else { Lane::len(times.is_some(), payload.len()) };
            prop_assert_eq!(len, expected.len());
            let mut frame = vec![0xaa; len];
            if is_syn {
                lane.write_syn(&mut frame, &ends, &segment, kind);
            } else {
                lane.write(&mut frame, &ends, &segment, ecn, |out| out.copy_from_slice(&payload));
            }
            prop_assert_eq!(&frame, &expected);
            // And back.
            frame.extend([0; 3]);
            let plain = Plain::read(&frame).unwrap();
            let packet = frame::read(&frame).unwrap();
            prop_assert_eq!(packet.addresses, addresses);
            prop_assert_eq!((plain.both >> 32, plain.both as u32), (u64::from(remote), local));
            prop_assert_eq!((plain.ports, u32::from(plain.end), plain.ecn), (ports.rotate_left(16), packet.end, packet.ecn));
            let long = Segment::read(&frame[34..usize::from(plain.end)], false).unwrap();
            if is_syn {
                let (read, sum) = ShortSegment::read_syn(&frame, plain.end).unwrap();
                prop_assert_eq!(sum_is_right(&plain, sum, read.payload), !leaves_checksums || frame_is_right(&packet, &frame));
                prop_assert_eq!((read.header, read.payload), (long.header, long.payload));
            } else {
                let (read, sum) = ShortSegment::read(&frame, plain.end).unwrap();
                prop_assert_eq!(sum_is_right(&plain, sum, read.payload), !leaves_checksums || frame_is_right(&packet, &frame));
                prop_assert_eq!((read.header, read.payload), (segment, &payload[..]));
            }
        }
    }
}
