//! The checksums of a packet: their offsets, their coverage, and the checksums of a received frame.

use crate::catalogue::Auto;
use crate::checksum;
use crate::layout;
use crate::read::Reader;
use std::ops::Range;

/// A checksum: its offset and coverage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checksum {
    /// Offset of the field in the frame.
    pub offset: usize,
    /// Offset of the first byte it covers.
    pub start: usize,
    /// Offset after the last byte it covers.
    pub end: usize,
    /// Its computation.
    pub algorithm: Algorithm,
    /// The pseudo-header it covers too, if any.
    pub pseudo_header: Option<PseudoHeader>,
}

/// Computation of a checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// The Internet checksum, 16 bits (RFC 1071).
    Internet {
        /// A sum of zero is sent as all ones, because zero means "no checksum" (UDP, RFC 768).
        zero_as_ones: bool,
    },
    /// CRC-32C, 32 bits, its lowest byte first (RFC 9260 appendix A).
    Crc32c,
}

impl Algorithm {
    /// Bytes of the field.
    pub fn bytes(self) -> usize {
        match self {
            Self::Internet { .. } => 2,
            Self::Crc32c => 4,
        }
    }
}

/// The pseudo-header of a checksum: addresses in the frame, and numbers outside of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PseudoHeader {
    /// The bytes of both addresses in the frame.
    pub addresses: Range<usize>,
    /// The bytes of the address that counts instead of the second one, while a routing header leads the packet
    /// elsewhere (RFC 8200 section 8.1).
    pub final_destination: Option<Range<usize>>,
    /// Protocol number and length, added up.
    pub rest: u32,
}

/// The checksums that `frame` (without FCS) has, innermost header first: the order in which they must be computed
/// again, because a checksum covers those after it.
///
/// Only checksums whose bytes are all there, by the lengths in the frame; in a fragment only the IP header's. Bytes
/// after the end of an IP packet, such as Ethernet's padding, are not covered.
pub fn checksums(frame: &[u8]) -> Vec<Checksum> {
    let reader = Reader::of(frame);
    let headers = &reader.placed;
    let found = (0..headers.len()).rev().filter_map(|index| {
        let header = &headers[index];
        let field = header.protocol.fields.iter().find(|field| field.auto.is_checksum())?;
        let end = match field.auto {
            Auto::HeaderChecksum
                if header.offset + header.protocol.length_in(&frame[header.offset..]) > frame.len() =>
            {
                return None;
            }
            Auto::HeaderChecksum => header.end,
            // Zero means that there is none (RFC 768).
            Auto::PseudoHeaderChecksum { zero_as_ones: true } if header.value(field, frame) == Some(0) => {
                return None;
            }
            _ => reader.ends[index]?,
        };
        let checksum = layout::checksum(headers, index, field, end, frame)?;
        (checksum.offset + checksum.algorithm.bytes() <= checksum.end).then_some(checksum)
    });
    found.collect()
}

impl Checksum {
    /// Computes the checksum over `frame` as it is and puts it into its field.
    pub fn write(&self, frame: &mut [u8]) {
        match self.algorithm {
            Algorithm::Internet { zero_as_ones } => {
                let sum = checksum::finish(self.sum_without_field(frame));
                let sum = if zero_as_ones && sum == 0 { 0xffff } else { sum };
                frame[self.offset..][..2].copy_from_slice(&sum.to_be_bytes());
            }
            Algorithm::Crc32c => {
                frame[self.offset..][..4].fill(0);
                let crc = checksum::crc32c(&frame[self.start..self.end]);
                frame[self.offset..][..4].copy_from_slice(&crc.to_le_bytes());
            }
        }
    }

    /// Unfolded sum of the pseudo-header and all that is covered, as if the field were zero. Of an Internet checksum.
    pub fn sum_without_field(&self, frame: &[u8]) -> u64 {
        let before = checksum::sum(&frame[self.start..self.offset], self.pseudo_sum(frame));
        checksum::sum(&frame[self.offset + 2..self.end], before)
    }

    /// Unfolded sum of the pseudo-header, zero without one.
    pub fn pseudo_sum(&self, frame: &[u8]) -> u64 {
        let Some(PseudoHeader { addresses, final_destination, rest }) = &self.pseudo_header else { return 0 };
        let Some(destination) = final_destination else {
            return checksum::sum(&frame[addresses.clone()], u64::from(*rest));
        };
        let source = addresses.start..addresses.start + addresses.len() / 2;
        checksum::sum(&frame[destination.clone()], checksum::sum(&frame[source], u64::from(*rest)))
    }
}
