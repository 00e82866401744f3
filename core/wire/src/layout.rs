//! Offsets of headers in a frame and their grouping: common to building and reading.

use crate::catalogue::{Auto, Field, Protocol};
use crate::checksums::{Algorithm, Checksum, PseudoHeader};

/// A header at its place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placed {
    pub(crate) protocol: &'static Protocol,
    /// Offset of its first byte in the frame.
    pub(crate) offset: usize,
    /// Bytes of its field of variable length.
    pub(crate) variable: usize,
    /// Index of the header it is a part of.
    pub(crate) whole: Option<usize>,
    /// Offset after it, its parts and their padding.
    pub(crate) end: usize,
}

impl Placed {
    /// Offset after it, without parts.
    pub(crate) fn own_end(&self) -> usize {
        self.offset + self.protocol.len + self.variable
    }

    /// Offset from which `field` is laid out.
    pub(crate) fn origin(&self, field: &Field) -> usize {
        self.offset + self.protocol.shift(field, self.variable)
    }

    /// The value of `field` in `frame`.
    pub(crate) fn value(&self, field: &Field, frame: &[u8]) -> Option<u128> {
        field.get(frame.get(self.origin(field)..)?)
    }

    /// The value of the field called `name`, zero if there is none.
    pub(crate) fn named_value(&self, name: &str, frame: &[u8]) -> u128 {
        self.protocol.field(name).and_then(|field| self.value(field, frame)).unwrap_or(0)
    }
}

/// Index of the header that names what follows the last of `headers`, and everything that header is part of: the last of
/// them that has a field for it, or the whole.
pub(crate) fn namer(headers: &[Placed]) -> Option<usize> {
    let whole = headers.iter().rposition(|h| h.whole.is_none())?;
    let last = headers[whole..].iter().rposition(|h| h.protocol.next_field().is_some());
    Some(whole + last.unwrap_or(0))
}

/// The checksum in `field` of header `index`, where the packet ends at `end`. `None` if it needs a pseudo-header and
/// there is no IP header before it.
pub(crate) fn checksum(
    headers: &[Placed],
    index: usize,
    field: &Field,
    end: usize,
    frame: &[u8],
) -> Option<Checksum> {
    let header = &headers[index];
    let mut checksum = Checksum {
        offset: header.origin(field) + usize::from(field.bit / 8),
        start: header.offset,
        end,
        algorithm: Algorithm::Internet { zero_as_ones: false },
        pseudo_header: None,
    };
    match field.auto {
        Auto::HeaderChecksum => checksum.end = header.end,
        Auto::PlainChecksum => checksum.start = headers[header.whole.unwrap_or(index)].offset,
        Auto::Crc32c => checksum.algorithm = Algorithm::Crc32c,
        Auto::PseudoHeaderChecksum { zero_as_ones } => {
            checksum.algorithm = Algorithm::Internet { zero_as_ones };
            checksum.pseudo_header = Some(pseudo_header(headers, index, end, frame)?);
        }
        _ => return None,
    }
    Some(checksum)
}

/// The pseudo-header for the checksum of header `index`: the nearest IP header before it counts.
fn pseudo_header(headers: &[Placed], index: usize, end: usize, frame: &[u8]) -> Option<PseudoHeader> {
    let header = &headers[index];
    let (at, addresses) = (0..index).rev().find_map(|at| {
        let addresses = headers[at].protocol.pseudo_header.clone()?;
        Some((at, addresses))
    })?;
    let ip = &headers[at];
    // Its own number, even with headers between (RFC 8200 section 8.1); if it has none, what stands before it.
    let written = || {
        let before = &headers[namer(&headers[..index])?];
        before.value(before.protocol.next_field()?, frame)
    };
    let number = match header.protocol.number_after(ip.protocol, false) {
        Some(number) => number as u8,
        None => written().unwrap_or(0) as u8,
    };
    let final_destination = headers[at..index].iter().find_map(|router| {
        let (field, bytes) = router.protocol.final_destination.clone()?;
        let bytes = router.offset + bytes.start..router.offset + bytes.end;
        (router.named_value(field, frame) != 0 && bytes.end <= router.end).then_some(bytes)
    });
    Some(PseudoHeader {
        addresses: ip.offset + addresses.start..ip.offset + addresses.end,
        final_destination,
        rest: u32::from(number) + (end - header.offset) as u32,
    })
}
