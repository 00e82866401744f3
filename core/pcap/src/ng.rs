//! Reading pcapng. Source: draft-ietf-opsawg-pcapng.

use crate::source::{ByteOrder, Fields, Source};
use crate::{Capture, Interface, PcapError, Record};
use std::io::Read;
use units::Nanos;

/// Section header; the same in both byte orders.
pub(crate) const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

/// Field after a section header's length if the byte order is the reader's.
const BYTE_ORDER: u32 = 0x1a2b_3c4d;

const NAME: u16 = 2;
const TIME_RESOLUTION: u16 = 9;
const FCS_LENGTH: u16 = 13;
const TIME_OFFSET: u16 = 14;

/// Type, length before and length after.
const AROUND: u32 = 12;
/// Longest block; Wireshark's limit too.
const LONGEST: u32 = 16 << 20;

const BAD_TIME: &str =
    "times before 1970 or beyond 2554 are not known; their packets got that of the packet before them, or 0";
const NO_INTERFACE: &str = "packets of interfaces that their section does not have are left out";
pub(crate) const NO_TIME: &str =
    "simple packet blocks have no time; their packets got that of the packet before them, or 0";

/// Time resolution of an interface.
#[derive(Debug, Clone, Copy)]
struct Timescale {
    /// `if_tsresol`: units are 10⁻ⁿ s, or 2⁻ⁿ s if the highest bit is set.
    resolution: u8,
    /// `if_tsoffset`, s.
    offset_s: i64,
}

/// Reads what follows the type of the first block.
pub(crate) fn read(source: &mut Source<impl Read>) -> Result<Capture, PcapError> {
    let mut reader =
        Reader { order: ByteOrder::Little, first: 0, timescales: Vec::new(), capture: Capture::default() };
    let (mut start, mut body) = (Vec::new(), Vec::new());
    for number in 1.. {
        // The type of the first block was read as the file's magic number.
        let (position, known) = if number == 1 { (0, 4) } else { (source.position, 0) };
        let got = known + source.take(8 - known, &mut start)?;
        if known > 0 {
            start.splice(..0, SECTION.to_be_bytes());
        }
        if got == 0 {
            break;
        }
        let fail = |reason: String| PcapError::Block { number, position, reason };
        let Some((kind, len)) = reader.start(&start, source, &mut body).map_err(|e| e.at(&fail))? else {
            reader.warn(&cut(number, position, got, "12 or more"));
            break;
        };
        // Of a section header the byte order is read already, into `body`.
        let seen = body.len();
        let mut rest = Vec::new();
        let got = source.take(len as usize - 8 - seen, &mut rest)?;
        body.append(&mut rest);
        if got + seen + 8 < len as usize {
            reader.warn(&cut(number, position, got + seen + 8, &len.to_string()));
            break;
        }
        let (inside, mut behind) = (body.len() - 4, Fields { bytes: &body, order: reader.order });
        let fields = Fields { bytes: behind.take(inside).unwrap_or_default(), order: reader.order };
        if behind.u32() != Some(len) {
            return Err(fail(format!("its length is {len} before it and another behind it")));
        }
        reader.block(kind, fields).map_err(fail)?;
    }
    Ok(reader.capture)
}

/// An error that does not know yet where it is.
enum Unplaced {
    Here(String),
    Placed(PcapError),
}

impl Unplaced {
    fn at(self, fail: &dyn Fn(String) -> PcapError) -> PcapError {
        match self {
            Self::Here(reason) => fail(reason),
            Self::Placed(error) => error,
        }
    }
}

/// A file on its way into a capture.
struct Reader {
    order: ByteOrder,
    /// Index of the section's first interface.
    first: usize,
    /// Of each interface of the capture.
    timescales: Vec<Timescale>,
    capture: Capture,
}

impl Reader {
    /// Type and length of a block that begins with `start`; `None` if the file ends before they are known.
    ///
    /// A section header sets the byte order, which is read into `body`.
    fn start(
        &mut self,
        start: &[u8],
        source: &mut Source<impl Read>,
        body: &mut Vec<u8>,
    ) -> Result<Option<(u32, u32)>, Unplaced> {
        body.clear();
        if start.len() < 8 {
            return Ok(None);
        }
        if start[..4] == SECTION.to_be_bytes() {
            if source.take(4, body).map_err(Unplaced::Placed)? < 4 {
                return Ok(None);
            }
            self.order = match body.first_chunk().map(|bytes| u32::from_be_bytes(*bytes)) {
                Some(BYTE_ORDER) => ByteOrder::Big,
                Some(magic) if magic.swap_bytes() == BYTE_ORDER => ByteOrder::Little,
                other => {
                    let other = other.unwrap_or_default();
                    return Err(Unplaced::Here(format!("its byte order mark is {other:#010x}")));
                }
            };
        }
        let mut fields = Fields { bytes: start, order: self.order };
        let (kind, len) = (fields.u32().unwrap_or_default(), fields.u32().unwrap_or_default());
        let shortest = AROUND + body.len() as u32;
        if !len.is_multiple_of(4) || len < shortest || len > LONGEST {
            return Err(Unplaced::Here(format!(
                "its length is {len}, which is no multiple of 4 from {shortest} to {LONGEST}; the file is damaged before \
                 or here"
            )));
        }
        Ok(Some((kind, len)))
    }

    /// Takes in a block.
    fn block(&mut self, kind: u32, mut fields: Fields<'_>) -> Result<(), String> {
        let short = || "it is too short for its kind".to_owned();
        match kind {
            SECTION => self.section(&mut fields).ok_or_else(short)?,
            INTERFACE => self.interface(&mut fields).ok_or_else(short)?,
            ENHANCED_PACKET => {
                let interface = fields.u32().ok_or_else(short)?;
                self.packet(interface, fields)
            }
            OBSOLETE_PACKET => {
                let (interface, _drops) = fields.u16().zip(fields.u16()).ok_or_else(short)?;
                self.packet(u32::from(interface), fields)
            }
            SIMPLE_PACKET => self.simple_packet(fields),
            // Blocks of any other kind hold no packets; the format wants unknown ones to be skipped.
            _ => Ok(()),
        }
    }

    fn section(&mut self, fields: &mut Fields<'_>) -> Option<Result<(), String>> {
        fields.u32()?;
        let (major, minor) = (fields.u16()?, fields.u16()?);
        fields.u64()?;
        if major != 1 {
            return Some(Err(format!("a section of version {major}.{minor}; only 1.0 is known")));
        }
        self.first = self.capture.interfaces.len();
        Some(Ok(()))
    }

    fn interface(&mut self, fields: &mut Fields<'_>) -> Option<Result<(), String>> {
        let (link_type, _reserved, snap_len) = (fields.u16()?, fields.u16()?, fields.u32()?);
        let mut interface = Interface { link_type, name: None, snap_len, fcs_bytes: 0 };
        let mut timescale = Timescale { resolution: 6, offset_s: 0 };
        while !fields.bytes.is_empty() {
            let Some((code, value)) = option(fields) else {
                return Some(Err("an option of the interface is longer than its block".to_owned()));
            };
            match (code, value) {
                (0, _) => break,
                (NAME, name) => interface.name = Some(String::from_utf8_lossy(name).into_owned()),
                (TIME_RESOLUTION, [resolution]) => timescale.resolution = *resolution,
                (FCS_LENGTH, [bits]) => interface.fcs_bytes = bits / 8,
                (TIME_OFFSET, [_, _, _, _, _, _, _, _]) => {
                    let mut value = Fields { bytes: value, order: fields.order };
                    timescale.offset_s = value.u64()?.cast_signed();
                }
                _ => {}
            }
        }
        self.capture.interfaces.push(interface);
        self.timescales.push(timescale);
        Some(Ok(()))
    }

    /// The index in the capture of an interface of this section, if it has that.
    fn index(&mut self, interface: u32) -> Option<usize> {
        let index = self.first + interface as usize;
        if index < self.capture.interfaces.len() {
            return Some(index);
        }
        self.warn(NO_INTERFACE);
        None
    }

    /// A packet, from its time on.
    fn packet(&mut self, interface: u32, mut fields: Fields<'_>) -> Result<(), String> {
        let Some(index) = self.index(interface) else { return Ok(()) };
        let mut start = || Some((fields.time()?, fields.u32()?, fields.u32()?));
        let (units, captured_len, original_len) = start().ok_or("it is too short for its kind")?;
        let there = fields.bytes.len();
        let bytes = fields.take(captured_len as usize).ok_or_else(|| {
            format!("its header has {captured_len} captured bytes, but only {there} are in it")
        })?;
        let before = self.capture.records.last().map_or(Nanos::ZERO, |before| before.at);
        let at = self.timescales[index].nanos(units).unwrap_or_else(|| {
            self.warn(BAD_TIME);
            before
        });
        self.push(at, index, original_len, bytes);
        Ok(())
    }

    /// A packet without time from the section's first interface.
    fn simple_packet(&mut self, mut fields: Fields<'_>) -> Result<(), String> {
        let Some(index) = self.index(0) else { return Ok(()) };
        let original_len = fields.u32().ok_or("it is too short for its kind")?;
        let snap_len = match self.capture.interfaces[index].snap_len {
            0 => u32::MAX,
            limit => limit,
        };
        let captured_len = original_len.min(snap_len) as usize;
        let there = fields.bytes.len();
        let bytes = fields.take(captured_len).ok_or_else(|| {
            format!("a packet of {original_len} bytes, of which {captured_len} are captured, but only {there} are in it")
        })?;
        let at = self.capture.records.last().map_or(Nanos::ZERO, |before| before.at);
        self.push(at, index, original_len, bytes);
        self.warn(NO_TIME);
        Ok(())
    }

    fn push(&mut self, at: Nanos, index: usize, original_len: u32, bytes: &[u8]) {
        let original_len = original_len.max(bytes.len() as u32);
        self.capture.records.push(Record {
            at,
            interface: index as u32,
            original_len,
            bytes: bytes.to_vec(),
        });
    }

    fn warn(&mut self, warning: &str) {
        if !self.capture.warnings.iter().any(|w| w == warning) {
            self.capture.warnings.push(warning.to_owned());
        }
    }
}

impl Timescale {
    /// Nanoseconds since 1970, rounded down; `None` if a number of 64 bits does not hold them.
    fn nanos(self, units: u64) -> Option<Nanos> {
        let units = u128::from(units);
        let digits = u32::from(self.resolution & 0x7f);
        let nanos = match self.resolution {
            0x80.. => (units * 1_000_000_000) >> digits,
            0..=9 => units * 10u128.pow(9 - digits),
            _ => 10u128.checked_pow(digits - 9).map_or(0, |unit| units / unit),
        };
        let offset = i128::from(self.offset_s) * 1_000_000_000;
        u64::try_from(i128::try_from(nanos).ok()? + offset).ok().map(Nanos)
    }
}

/// The next option: its code, and its value without the padding after it.
fn option<'a>(fields: &mut Fields<'a>) -> Option<(u16, &'a [u8])> {
    let (code, len) = (fields.u16()?, usize::from(fields.u16()?));
    let value = fields.take(len)?;
    fields.take(len.next_multiple_of(4) - len)?;
    Some((code, value))
}

fn cut(number: u64, position: u64, got: usize, wanted: &str) -> String {
    format!(
        "block {number} at byte {position} is cut short, {got} of {wanted} bytes; the file ends there, and the packets \
         before it are kept"
    )
}
