//! Reading pcap. Source: draft-ietf-opsawg-pcap.

use crate::source::{ByteOrder, Fields, Source};
use crate::{Capture, Interface, PcapError, Record};
use std::io::Read;
use units::Nanos;

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
/// A dialect with longer record headers, once in some Linux distributions.
const MODIFIED: u32 = 0xa1b2_cd34;

/// Length of the file's header after the magic number.
const HEADER: usize = 20;
/// Length of a record's header.
const RECORD_HEADER: usize = 16;
/// Longest packet that tcpdump and Wireshark take for one; anything longer is a length that went astray.
const LONGEST: u32 = 262_144;

/// In the link type: whether the length of the frame check sequence is there too, in units of 2 bytes from bit 28 on.
const HAS_FCS: u32 = 1 << 26;
const FCS_SHIFT: u32 = 28;

/// Reads what follows the magic number.
pub(crate) fn read(source: &mut Source<impl Read>, magic: [u8; 4]) -> Result<Capture, PcapError> {
    let (order, nanos_per_unit) = kind(magic)?;
    let (mut buffer, mut packet) = (Vec::new(), Vec::new());
    source.take(HEADER, &mut buffer)?;
    let interface = interface(Fields { bytes: &buffer, order }).ok_or_else(|| PcapError::Header {
        reason: format!("the file ends within it, after {} of {} bytes", buffer.len() + 4, HEADER + 4),
    })??;
    let mut capture = Capture { interfaces: vec![interface], ..Capture::default() };
    for number in 1.. {
        let position = source.position;
        let fail = |reason| PcapError::Record { number, position, reason };
        let got = source.take(RECORD_HEADER, &mut buffer)?;
        if got == 0 {
            break;
        }
        let fields = Fields { bytes: &buffer, order };
        let Some((seconds, part, captured_len, original_len)) = header(fields) else {
            capture.warnings.push(cut(number, position, got, RECORD_HEADER));
            break;
        };
        if captured_len > LONGEST {
            return Err(fail(format!(
                "its header has {captured_len} captured bytes, more than any packet has; the file is damaged before \
                 or here"
            )));
        }
        let got = source.take(captured_len as usize, &mut packet)?;
        if got < captured_len as usize {
            capture.warnings.push(cut(
                number,
                position,
                got + RECORD_HEADER,
                captured_len as usize + RECORD_HEADER,
            ));
            break;
        }
        // 2³² seconds and 2³² of anything up to a microsecond fit.
        let at = Nanos(u64::from(seconds) * 1_000_000_000 + u64::from(part) * nanos_per_unit);
        capture.records.push(Record {
            at,
            interface: 0,
            original_len: original_len.max(captured_len),
            // A copy has no room that it does not need.
            bytes: packet[..].to_vec(),
        });
    }
    Ok(capture)
}

/// Byte order, and nanoseconds in the unit of the second half of times.
fn kind(magic: [u8; 4]) -> Result<(ByteOrder, u64), PcapError> {
    for (order, value) in
        [(ByteOrder::Big, u32::from_be_bytes(magic)), (ByteOrder::Little, u32::from_le_bytes(magic))]
    {
        match value {
            MICROSECONDS => return Ok((order, 1_000)),
            NANOSECONDS => return Ok((order, 1)),
            MODIFIED => {
                let reason =
                    "it is of the modified kind with longer record headers; 'editcap -F pcapng' converts it";
                return Err(PcapError::NotACapture { reason: reason.to_owned() });
            }
            _ => {}
        }
    }
    let packed = [&[0x28, 0xb5, 0x2f, 0xfd][..], &[0xfd, b'7', b'z', b'X'], b"BZh"];
    Err(PcapError::NotACapture {
        reason: if packed.iter().any(|start| magic.starts_with(start)) {
            "it is compressed, and not by gzip; unpack it first".to_owned()
        } else {
            format!("it begins with {:#010x}", u32::from_be_bytes(magic))
        },
    })
}

/// Content of the file's header; `None` if it is truncated.
fn interface(mut fields: Fields<'_>) -> Option<Result<Interface, PcapError>> {
    let (major, minor) = (fields.u16()?, fields.u16()?);
    let (_zone, _accuracy) = (fields.u32()?, fields.u32()?);
    let (snap_len, link) = (fields.u32()?, fields.u32()?);
    if major != 2 {
        return Some(Err(PcapError::Header { reason: format!("version {major}.{minor} is not 2.4") }));
    }
    let fcs_bytes = if link & HAS_FCS == 0 { 0 } else { (link >> FCS_SHIFT) as u8 * 2 };
    Some(Ok(Interface { link_type: link as u16, name: None, snap_len, fcs_bytes }))
}

/// Seconds, parts of a second, captured and original length.
fn header(mut fields: Fields<'_>) -> Option<(u32, u32, u32, u32)> {
    Some((fields.u32()?, fields.u32()?, fields.u32()?, fields.u32()?))
}

fn cut(number: u64, position: u64, got: usize, wanted: usize) -> String {
    format!(
        "record {number} at byte {position} is cut short, {got} of {wanted} bytes; the file ends there, and the records \
         before it are kept"
    )
}
