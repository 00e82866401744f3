//! A TCP segment on the wire: fixed header, options, payload (RFC 9293 section 3.1).
//!
//! Not here: the checksum, which covers addresses this module does not know, and ports, which a reader needs before it
//! knows whose segment it is.
//!
//! Invariant: what [`SegmentHeader::write`] writes, [`Segment::read`] reads back.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// Bytes of a header without options.
const FIXED: usize = 20;

/// The control bits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// The sender has no more data.
    pub const FIN: Self = Self(0x01);
    /// Sequence numbers are to be synchronized.
    pub const SYN: Self = Self(0x02);
    /// The connection is reset.
    pub const RST: Self = Self(0x04);
    /// Received data should be passed on.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement number counts.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer counts.
    pub const URG: Self = Self(0x20);
    /// Congestion was experienced (RFC 3168).
    pub const ECE: Self = Self(0x40);
    /// The congestion window was reduced (RFC 3168).
    pub const CWR: Self = Self(0x80);

    /// Whether all bits of `other` are set.
    #[inline(always)]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These bits without the bits of `other`.
    #[inline(always)]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl BitOr for Flags {
    type Output = Self;
    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    #[inline(always)]
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [&str; 8] = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"];
        let mut separator = "";
        for (bit, name) in NAMES.iter().enumerate() {
            if self.0 >> bit & 1 == 1 {
                write!(f, "{separator}{name}")?;
                separator = "|";
            }
        }
        Ok(())
    }
}

/// The timestamps option (RFC 7323 section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamps {
    /// The sender's clock (TSval).
    pub value: u32,
    /// The clock value it echoes (TSecr).
    pub echo: u32,
}

/// Blocks of the SACK option (RFC 2018): from the first sequence number received to the first not received.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: [(u32, u32); Self::MOST],
    count: u8,
}

impl SackBlocks {
    /// As many as fit a header without timestamps.
    pub const MOST: usize = 4;

    /// Adds a block; one too many is forgotten.
    pub fn push(&mut self, from: u32, to: u32) {
        if let Some(block) = self.blocks.get_mut(usize::from(self.count)) {
            *block = (from, to);
            self.count += 1;
        }
    }

    /// The blocks in the order of the option.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }

    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

/// A header without ports and checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SegmentHeader {
    /// Sequence number of the first byte (or of the SYN).
    pub seq: u32,
    /// Next sequence number expected, if [`Flags::ACK`] is set.
    pub ack: u32,
    /// Control bits.
    pub flags: Flags,
    /// Window as in the header, not scaled.
    pub window: u16,
    /// Maximum segment size; in SYN segments.
    pub mss: Option<u16>,
    /// Window scale, at most 14; in SYN segments.
    pub window_scale: Option<u8>,
    /// Whether selective acknowledgements are permitted; in SYN segments.
    pub sack_permitted: bool,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
    /// Selective acknowledgements.
    pub sack: SackBlocks,
}

impl SegmentHeader {
    /// Bytes of the header with its options: 20 to 60, a multiple of 4.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    pub fn len(&self) -> usize {
        let mut len = FIXED + if self.timestamps.is_some() { 12 } else { 0 };
        if !self.sack.is_empty() {
            len += 4 + 8 * usize::from(self.sack.count);
        }
        if self.flags.has(Flags::SYN) {
            len += self.syn_options_len();
        }
        len
    }

    fn syn_options_len(&self) -> usize {
        // SACK-permitted takes the place of the two bytes of padding before the timestamps.
        let sack = self.sack_permitted && self.timestamps.is_none();
        4 * (usize::from(self.mss.is_some()) + usize::from(self.window_scale.is_some()) + usize::from(sack))
    }

    /// Writes the header to the beginning of `out`; checksum and urgent pointer are zero.
    ///
    /// # Panics
    /// If `out` is shorter than [`SegmentHeader::len`].
    #[inline]
    pub fn write(&self, source: u16, destination: u16, out: &mut [u8]) {
        self.write_len(source, destination, self.len(), out);
    }

    /// The same for a header of which is known that it has `len` bytes.
    #[inline]
    pub(crate) fn write_len(&self, source: u16, destination: u16, len: usize, out: &mut [u8]) {
        let (fixed, options) = out[..len].split_first_chunk_mut::<FIXED>().expect("a header has 20 bytes");
        fixed[0..2].copy_from_slice(&source.to_be_bytes());
        fixed[2..4].copy_from_slice(&destination.to_be_bytes());
        fixed[4..8].copy_from_slice(&self.seq.to_be_bytes());
        fixed[8..12].copy_from_slice(&self.ack.to_be_bytes());
        fixed[12] = ((len / 4) << 4) as u8;
        fixed[13] = self.flags.0;
        fixed[14..16].copy_from_slice(&self.window.to_be_bytes());
        fixed[16..20].fill(0);
        match self.timestamps {
            None if options.is_empty() => {}
            Some(times) if options.len() == 12 => {
                let out = options.first_chunk_mut().expect("12 bytes");
                write_timestamps(times, self.sack_before_timestamps(), out);
            }
            _ => self.write_options(options),
        }
    }

    fn sack_before_timestamps(&self) -> bool {
        self.sack_permitted && self.flags.has(Flags::SYN)
    }

    fn write_options(&self, out: &mut [u8]) {
        let mut rest = out;
        let syn = self.flags.has(Flags::SYN);
        if let Some(mss) = self.mss.filter(|_| syn) {
            let [high, low] = mss.to_be_bytes();
            put(&mut rest, [kind::MSS, 4, high, low]);
        }
        if let Some(times) = self.timestamps {
            write_timestamps(times, self.sack_before_timestamps(), take(&mut rest));
        } else if self.sack_before_timestamps() {
            put(&mut rest, [kind::NOP, kind::NOP, kind::SACK_PERMITTED, 2]);
        }
        if let Some(scale) = self.window_scale.filter(|_| syn) {
            put(&mut rest, [kind::NOP, kind::WINDOW_SCALE, 3, scale]);
        }
        if !self.sack.is_empty() {
            put(&mut rest, [kind::NOP, kind::NOP, kind::SACK, 2 + 8 * self.sack.count]);
            for (from, to) in self.sack.as_slice() {
                put(&mut rest, from.to_be_bytes());
                put(&mut rest, to.to_be_bytes());
            }
        }
    }
}

/// Splits the first `N` bytes off.
fn take<'a, const N: usize>(rest: &mut &'a mut [u8]) -> &'a mut [u8; N] {
    let (first, behind) =
        std::mem::take(rest).split_first_chunk_mut::<N>().expect("options fit their length");
    *rest = behind;
    first
}

fn put<const N: usize>(rest: &mut &mut [u8], bytes: [u8; N]) {
    *take(rest) = bytes;
}

#[inline(always)]
fn write_timestamps(times: Timestamps, sack_permitted: bool, out: &mut [u8; 12]) {
    let before = if sack_permitted { [kind::SACK_PERMITTED, 2] } else { [kind::NOP, kind::NOP] };
    out[0..2].copy_from_slice(&before);
    out[2..4].copy_from_slice(&[kind::TIMESTAMPS, 10]);
    out[4..8].copy_from_slice(&times.value.to_be_bytes());
    out[8..12].copy_from_slice(&times.echo.to_be_bytes());
}

/// More than this counts as this (RFC 7323 section 2.3).
pub(crate) const SCALE_MAX: u8 = 14;

/// Option kinds, as registered.
mod kind {
    pub(super) const END: u8 = 0;
    pub(super) const NOP: u8 = 1;
    pub(super) const MSS: u8 = 2;
    pub(super) const WINDOW_SCALE: u8 = 3;
    pub(super) const SACK_PERMITTED: u8 = 4;
    pub(super) const SACK: u8 = 5;
    pub(super) const TIMESTAMPS: u8 = 8;
}

/// Why bytes are no segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Malformed {
    /// Shorter than a header.
    Short,
    /// The header length is below 20 bytes or beyond the end of the segment.
    HeaderLength,
    /// An option has an impossible length (RFC 9293 section 3.1).
    Option,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Short => "shorter than a TCP header",
            Self::HeaderLength => "TCP header length out of range",
            Self::Option => "TCP option with an impossible length",
        })
    }
}

/// A segment that was received.
#[derive(Debug, Clone, Copy)]
pub struct Segment<'a> {
    /// Its header.
    pub header: SegmentHeader,
    /// Its payload.
    pub payload: &'a [u8],
    /// Whether a router marked its packet (RFC 3168: CE).
    pub congestion_experienced: bool,
}

impl<'a> Segment<'a> {
    /// Reads a segment whose checksum is right. `bytes` ends where the IP packet ends.
    #[inline]
    pub fn read(bytes: &'a [u8], congestion_experienced: bool) -> Result<Self, Malformed> {
        let Some((fixed, _)) = bytes.split_first_chunk::<FIXED>() else { return Err(Malformed::Short) };
        let len = usize::from(fixed[12] >> 4) * 4;
        if len < FIXED || len > bytes.len() {
            return Err(Malformed::HeaderLength);
        }
        let (head, payload) = bytes.split_at(len);
        // The two forms nearly all segments have (RFC 7323 appendix A); put together once and not copied.
        let timestamps = match &head[FIXED..] {
            [] => None,
            [kind::NOP, kind::NOP, kind::TIMESTAMPS, 10, a, b, c, d, e, f, g, h] => {
                Some(read_timestamps([*a, *b, *c, *d, *e, *f, *g, *h]))
            }
            options => return Self::read_unusual(fixed, options, payload, congestion_experienced),
        };
        Ok(Self { header: SegmentHeader::read_fixed(fixed, timestamps), payload, congestion_experienced })
    }

    #[inline(never)]
    fn read_unusual(
        fixed: &[u8; FIXED],
        options: &[u8],
        payload: &'a [u8],
        congestion_experienced: bool,
    ) -> Result<Self, Malformed> {
        let mut segment =
            Self { header: SegmentHeader::read_fixed(fixed, None), payload, congestion_experienced };
        if !segment.header.read_usual_syn(options) {
            segment.header.read_options(options)?;
        }
        Ok(segment)
    }

    /// Sequence numbers it takes up: payload, SYN and FIN.
    #[inline]
    pub fn span(&self) -> u32 {
        let flags = self.header.flags;
        self.payload.len() as u32 + u32::from(flags.has(Flags::SYN)) + u32::from(flags.has(Flags::FIN))
    }
}

impl SegmentHeader {
    #[inline(always)]
    fn read_fixed(fixed: &[u8; FIXED], timestamps: Option<Timestamps>) -> Self {
        Self {
            seq: u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]),
            ack: u32::from_be_bytes([fixed[8], fixed[9], fixed[10], fixed[11]]),
            flags: Flags(fixed[13]),
            window: u16::from_be_bytes([fixed[14], fixed[15]]),
            mss: None,
            window_scale: None,
            sack_permitted: false,
            timestamps,
            sack: SackBlocks::default(),
        }
    }

    /// Reads the options of a SYN in the order in which most hosts write them; `false` if it is another one.
    #[inline]
    fn read_usual_syn(&mut self, options: &[u8]) -> bool {
        let [kind::MSS, 4, high, low, rest @ ..] = options else { return false };
        if !self.flags.has(Flags::SYN) {
            return false;
        }
        let rest = match rest {
            [kind::SACK_PERMITTED, 2, kind::TIMESTAMPS, 10, a, b, c, d, e, f, g, h, rest @ ..] => {
                self.sack_permitted = true;
                self.timestamps = Some(read_timestamps([*a, *b, *c, *d, *e, *f, *g, *h]));
                rest
            }
            rest => rest,
        };
        self.mss = Some(u16::from_be_bytes([*high, *low]));
        match rest {
            [] => true,
            [kind::NOP, kind::WINDOW_SCALE, 3, scale] => {
                self.window_scale = Some((*scale).min(SCALE_MAX));
                true
            }
            _ => false,
        }
    }

    fn read_options(&mut self, mut options: &[u8]) -> Result<(), Malformed> {
        let syn = self.flags.has(Flags::SYN);
        while let [kind, rest @ ..] = options {
            match *kind {
                kind::END => return Ok(()),
                kind::NOP => options = rest,
                kind => {
                    let len = usize::from(*rest.first().ok_or(Malformed::Option)?);
                    let body = options.get(2..len).ok_or(Malformed::Option)?;
                    self.read_option(kind, body, syn)?;
                    options = &options[len..];
                }
            }
        }
        Ok(())
    }

    /// Options that only count in SYN segments are passed over elsewhere, unknown ones everywhere.
    fn read_option(&mut self, kind: u8, body: &[u8], syn: bool) -> Result<(), Malformed> {
        match (kind, body) {
            (kind::MSS, &[high, low]) if syn => self.mss = Some(u16::from_be_bytes([high, low])),
            (kind::WINDOW_SCALE, &[scale]) if syn => self.window_scale = Some(scale.min(SCALE_MAX)),
            (kind::SACK_PERMITTED, &[]) if syn => self.sack_permitted = true,
            (kind::TIMESTAMPS, body) => {
                let body = body.try_into().map_err(|_| Malformed::Option)?;
                self.timestamps = Some(read_timestamps(body));
            }
            (kind::SACK, body) if body.len() % 8 == 0 => {
                for &[a, b, c, d, e, f, g, h] in body.as_chunks::<8>().0 {
                    self.sack.push(u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
                }
            }
            (kind::MSS | kind::WINDOW_SCALE | kind::SACK_PERMITTED, _) if !syn => {}
            (kind::MSS | kind::WINDOW_SCALE | kind::SACK_PERMITTED | kind::SACK, _) => {
                return Err(Malformed::Option);
            }
            _ => {}
        }
        Ok(())
    }
}

#[inline(always)]
fn read_timestamps([a, b, c, d, e, f, g, h]: [u8; 8]) -> Timestamps {
    Timestamps { value: u32::from_be_bytes([a, b, c, d]), echo: u32::from_be_bytes([e, f, g, h]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(header: &SegmentHeader) -> Vec<u8> {
        let mut bytes = vec![0xee; header.len()];
        header.write(0x1234, 80, &mut bytes);
        bytes
    }

    #[test]
    fn writes_a_syn_as_hosts_do() {
        let header = SegmentHeader {
            seq: 0x0102_0304,
            flags: Flags::SYN,
            window: 0xfffe,
            mss: Some(1_460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps { value: 9, echo: 0 }),
            ..SegmentHeader::default()
        };
        assert_eq!(
            written(&header),
            [
                0x12, 0x34, 0, 80, 1, 2, 3, 4, 0, 0, 0, 0, 0xa0, 0x02, 0xff, 0xfe, 0, 0, 0, 0, // fixed
                2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0, 0, 0, 9, 0, 0, 0, 0, 1, 3, 3, 7,
            ]
        );
    }

    #[test]
    fn writes_blocks_behind_timestamps() {
        let mut header = SegmentHeader {
            flags: Flags::ACK,
            timestamps: Some(Timestamps { value: 1, echo: 2 }),
            ..SegmentHeader::default()
        };
        header.sack.push(3, 4);
        assert_eq!(
            written(&header)[20..],
            [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 10, 0, 0, 0, 3, 0, 0, 0, 4]
        );
    }

    /// Options may be in any order and unknown ones are skipped (RFC 9293 section 3.1).
    #[test]
    fn passes_over_what_it_does_not_know() {
        let mut bytes = written(&SegmentHeader { flags: Flags::SYN, ..SegmentHeader::default() });
        bytes[12] = 0xa0;
        bytes.extend([254, 5, 1, 2, 3, 1, 2, 4, 0x05, 0xb4, 3, 3, 99, 34, 2, 0, 7, 7, 7, 7]);
        let segment = Segment::read(&bytes, true).unwrap();
        assert_eq!((segment.header.mss, segment.header.window_scale), (Some(1_460), Some(14)));
        assert!(segment.payload.is_empty() && segment.congestion_experienced);
    }

    #[test]
    fn the_usual_order_means_what_any_other_does() {
        let syn = SegmentHeader { flags: Flags::SYN | Flags::ACK, ..SegmentHeader::default() };
        let times = [8, 10, 0, 0, 0, 9, 0, 0, 0, 7];
        for options in [
            vec![2, 4, 5, 0xb4],
            vec![2, 4, 5, 0xb4, 1, 3, 3, 99],
            [&[2, 4, 5, 0xb4, 4, 2][..], &times[..], &[1, 3, 3, 7]].concat(),
            [&[2, 4, 5, 0xb4, 4, 2][..], &times[..]].concat(),
        ] {
            let (mut quick, mut slow) = (syn, syn);
            assert!(quick.read_usual_syn(&options), "{options:?}");
            slow.read_options(&options).unwrap();
            assert_eq!(quick, slow, "{options:?}");
            let mut ack = SegmentHeader { flags: Flags::ACK, ..syn };
            assert!(!ack.read_usual_syn(&options) && ack.mss.is_none());
        }
        for unusual in [&[1, 1, 1, 0][..], &[2, 4, 5, 0xb4, 1, 1, 1, 1], &[2, 4, 5, 0xb4, 3, 3, 7, 1]] {
            let mut header = syn;
            assert!(!header.read_usual_syn(unusual), "{unusual:?}");
        }
    }

    #[test]
    fn options_of_syns_count_on_syns_alone() {
        let mut bytes = written(&SegmentHeader { flags: Flags::ACK, ..SegmentHeader::default() });
        bytes[12] = 0x70;
        bytes.extend([2, 4, 0x05, 0xb4, 4, 2, 1, 1]);
        let header = Segment::read(&bytes, false).unwrap().header;
        assert_eq!((header.mss, header.sack_permitted), (None, false));
    }

    /// RFC 9293 section 3.1 (MUST-7): an option of length zero, or one that reaches beyond the header.
    #[test]
    fn refuses_impossible_lengths() {
        let bytes = written(&SegmentHeader::default());
        assert_eq!(Segment::read(&bytes[..19], false).unwrap_err(), Malformed::Short);
        for offset in [0x40, 0x60] {
            let mut bytes = bytes.clone();
            bytes[12] = offset;
            assert_eq!(Segment::read(&bytes, false).unwrap_err(), Malformed::HeaderLength);
        }
        for options in
            [[254, 0, 0, 0], [254, 1, 0, 0], [254, 5, 0, 0], [1, 1, 1, 8], [8, 4, 0, 0], [5, 3, 0, 0]]
        {
            let mut bytes = bytes.clone();
            bytes[12] = 0x60;
            bytes.extend(options);
            assert_eq!(Segment::read(&bytes, false).unwrap_err(), Malformed::Option, "{options:?}");
        }
    }

    #[test]
    fn says_which_flags_are_set() {
        assert_eq!(format!("{:?}", Flags::SYN | Flags::ACK), "SYN|ACK");
        assert_eq!(Malformed::Short.to_string(), "shorter than a TCP header");
    }

    fn headers() -> impl Strategy<Value = SegmentHeader> {
        let blocks = prop::collection::vec(any::<(u32, u32)>(), 0..=4);
        let times = prop::option::of(any::<(u32, u32)>());
        let syn = (prop::option::of(any::<u16>()), prop::option::of(0u8..=14), any::<bool>());
        (any::<(u32, u32, u8, u16)>(), times, syn, blocks).prop_map(|(fixed, times, syn, blocks)| {
            let flags = Flags(fixed.2);
            let is_syn = flags.has(Flags::SYN);
            let mut header = SegmentHeader {
                seq: fixed.0,
                ack: fixed.1,
                flags,
                window: fixed.3,
                mss: syn.0.filter(|_| is_syn),
                window_scale: syn.1.filter(|_| is_syn),
                sack_permitted: syn.2 && is_syn,
                timestamps: times.map(|(value, echo)| Timestamps { value, echo }),
                sack: SackBlocks::default(),
            };
            let most = if is_syn { 0 } else { 4 - usize::from(times.is_some()) };
            blocks.into_iter().take(most).for_each(|(from, to)| header.sack.push(from, to));
            header
        })
    }

    proptest! {
        #[test]
        fn reads_what_it_writes(header in headers(), payload: Vec<u8>) {
            let mut bytes = written(&header);
            prop_assert!(bytes.len().is_multiple_of(4) && (20..=60).contains(&bytes.len()));
            prop_assert_eq!((&bytes[..4], &bytes[16..20]), (&[0x12, 0x34, 0, 80][..], &[0; 4][..]));
            bytes.extend(&payload);
            let segment = Segment::read(&bytes, false).unwrap();
            prop_assert_eq!((segment.header, segment.payload), (header, &payload[..]));
        }
    }
}
