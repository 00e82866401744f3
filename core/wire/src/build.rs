//! From headers with some fields set to the bytes of a frame.

use crate::catalogue::{Auto, Field, Protocol, protocol};
use crate::checksum;
use std::fmt;
use std::ops::Range;
use units::{FCS_BYTES, FrameLen};

/// A header with the fields its author set; the others get defaults or are computed.
#[derive(Debug, Clone)]
pub struct Header {
    /// Which header.
    pub protocol: &'static Protocol,
    /// Fields set by name, in any order, each at most once. A set field is never computed.
    pub set: Vec<(&'static Field, u128)>,
}

impl Header {
    /// A header with nothing set.
    pub fn new(protocol: &'static Protocol) -> Self {
        Self { protocol, set: Vec::new() }
    }

    /// The same header with the field called `name` set.
    ///
    /// # Panics
    /// If the protocol has no such field: for names known when the program is written.
    pub fn with(mut self, name: &str, value: u128) -> Self {
        let field = self.protocol.field(name);
        let field = field.unwrap_or_else(|| panic!("{} has no field {name}", self.protocol.name));
        self.set.push((field, value));
        self
    }

    /// What the header's author set the field to.
    pub fn value(&self, name: &str) -> Option<u128> {
        self.set.iter().find(|(field, _)| field.name == name).map(|(_, value)| *value)
    }

    /// Length of the header: what its author set as its real length, as long as that holds the fields.
    fn len(&self) -> usize {
        let protocol = self.protocol;
        let Some((name, unit)) = protocol.real_length else { return protocol.len };
        let set = protocol.field(name).zip(self.value(name));
        protocol.len.max(set.map_or(0, |(field, units)| (units & field.max()) as usize * unit))
    }
}

/// A packet to build: headers from the outside in, then payload.
#[derive(Debug, Clone, Default)]
pub struct PacketSpec {
    /// Headers, outermost first.
    pub headers: Vec<Header>,
    /// First bytes of the payload; the rest is zeros.
    pub payload: Vec<u8>,
}

/// A built frame, without FCS, and where things are in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// The bytes, without FCS.
    pub bytes: Vec<u8>,
    /// Offset of each header's first byte, as in the spec.
    pub offsets: Vec<usize>,
    /// Offset of the first payload byte.
    pub payload: usize,
    /// The checksums that were computed rather than set by their author, innermost header first: the order in which
    /// they must be computed again, because a checksum covers those behind it.
    pub checksums: Vec<Checksum>,
}

/// A computed checksum: where it stands and what it covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checksum {
    /// Offset of the field in the frame.
    pub offset: usize,
    /// Offset of the first byte it covers.
    pub start: usize,
    /// Offset behind the last byte it covers.
    pub end: usize,
    /// How it is computed.
    pub algorithm: Algorithm,
    /// The pseudo-header it covers too, if any.
    pub pseudo_header: Option<PseudoHeader>,
}

/// How a checksum is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// The Internet checksum, 16 bits (RFC 1071).
    Internet {
        /// A sum of zero is sent as all ones, because zero means "no checksum" (UDP, RFC 768).
        zero_as_ones: bool,
    },
}

/// The pseudo-header of a checksum: addresses that stand in the frame, and numbers that do not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PseudoHeader {
    /// The bytes of both addresses in the frame.
    pub addresses: Range<usize>,
    /// Protocol number and length, added up.
    pub rest: u32,
}

/// Why a packet can't be built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildError {
    /// The headers and the given payload are longer than the frame.
    TooLong {
        /// Bytes of headers and given payload, with FCS.
        needs: u32,
        /// Bytes asked for, with FCS.
        frame: u32,
    },
    /// The first header can't begin a frame: it always follows another.
    CannotBeFirst {
        /// Its name.
        name: &'static str,
    },
    /// One header can't follow another: there is no value by which the first names the second.
    CannotFollow {
        /// Index of the second header.
        index: usize,
        /// Name of the first.
        outer: &'static str,
        /// Name of the second.
        inner: &'static str,
    },
    /// A checksum with a pseudo-header has no IP header before it.
    NoPseudoHeader {
        /// Index of the header.
        index: usize,
        /// Its name.
        name: &'static str,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { needs, frame } => {
                write!(f, "headers and payload need {needs} bytes with FCS, but the frame has only {frame}")
            }
            Self::CannotBeFirst { name } => {
                write!(f, "{name} cannot begin a frame: put ethernet before it")
            }
            Self::CannotFollow { index, outer, inner } => {
                write!(f, "header {} ({inner}) cannot follow {outer}", index + 1)?;
                let mut ways = Vec::new();
                let before: Vec<_> =
                    protocol(inner).into_iter().flat_map(|p| p.follows).map(|(name, _)| *name).collect();
                if !before.is_empty() {
                    ways.push(format!("put {} before it", before.join(" or ")));
                }
                if let Some(field) = protocol(outer).and_then(Protocol::next_field) {
                    ways.push(format!("set {outer}.{} by hand", field.name));
                }
                if ways.is_empty() { Ok(()) } else { write!(f, ": {}", ways.join(", or ")) }
            }
            Self::NoPseudoHeader { index, name } => write!(
                f,
                "the checksum of header {} ({name}) covers IP addresses: put ipv4 or ipv6 before it, or set \
                 {name}.checksum by hand",
                index + 1
            ),
        }
    }
}

impl std::error::Error for BuildError {}

impl PacketSpec {
    /// The shortest frame (with FCS) that holds the headers, the given payload and `extra` bytes.
    pub fn shortest(&self, extra: usize) -> FrameLen {
        FrameLen::holding((self.len() + extra) as u32)
    }

    /// Builds a frame of `length`: headers, payload, zeros up to the end. Lengths and checksums nobody set come out
    /// right for the whole of it.
    pub fn build(&self, length: FrameLen) -> Result<Packet, BuildError> {
        self.build_bytes(length.without_fcs() as usize)
    }

    /// Builds a frame that ends where the given payload ends, which may be below the minimum: the port or the sender
    /// pads it, and no length in it counts the padding.
    pub fn build_unpadded(&self) -> Result<Packet, BuildError> {
        self.build_bytes(self.len().min(FrameLen::MAX.without_fcs() as usize))
    }

    fn build_bytes(&self, frame: usize) -> Result<Packet, BuildError> {
        if self.len() > frame {
            let with_fcs = |bytes: usize| bytes as u32 + FCS_BYTES;
            return Err(BuildError::TooLong { needs: with_fcs(self.len()), frame: with_fcs(frame) });
        }
        let mut draft = Draft::new(&self.headers, frame);
        let payload = draft.payload();
        draft.bytes[payload..][..self.payload.len()].copy_from_slice(&self.payload);
        for index in 0..self.headers.len() {
            draft.put_defaults(index);
            draft.put_name_of_next(index)?;
            draft.put_lengths(index);
            draft.put_set(index);
        }
        // A checksum covers those behind it, so they come from the inside out.
        let mut checksums = Vec::new();
        for index in (0..self.headers.len()).rev() {
            if let Some(checksum) = draft.checksum(index)? {
                checksum.write(&mut draft.bytes);
                checksums.push(checksum);
            }
        }
        Ok(Packet { bytes: draft.bytes, offsets: draft.offsets, payload, checksums })
    }

    /// Bytes of headers and given payload.
    fn len(&self) -> usize {
        self.headers.iter().map(Header::len).sum::<usize>() + self.payload.len()
    }
}

/// A frame on its way from the spec to the packet.
struct Draft<'a> {
    headers: &'a [Header],
    offsets: Vec<usize>,
    bytes: Vec<u8>,
}

impl<'a> Draft<'a> {
    fn new(headers: &'a [Header], frame: usize) -> Self {
        let mut end = 0;
        let offsets = headers
            .iter()
            .map(|h| {
                let e = end;
                end += h.len();
                e
            })
            .collect();
        Self { headers, offsets, bytes: vec![0; frame] }
    }

    /// Where the payload begins.
    fn payload(&self) -> usize {
        self.headers.last().zip(self.offsets.last()).map_or(0, |(header, offset)| offset + header.len())
    }

    fn put(&mut self, index: usize, field: &Field, value: u128) {
        field.set(&mut self.bytes[self.offsets[index]..], value);
    }

    /// Defaults, and what headers further inside need instead.
    fn put_defaults(&mut self, index: usize) {
        let protocol = self.headers[index].protocol;
        for field in protocol.fields {
            self.put(index, field, field.default);
        }
        for inner in &self.headers[index + 1..] {
            for (_, name, value) in inner.protocol.needs.iter().filter(|(outer, ..)| *outer == protocol.name)
            {
                if let Some(field) = protocol.field(name) {
                    self.put(index, field, *value);
                }
            }
        }
    }

    /// The number of the header behind this one. An author who sets it by hand may let anything follow.
    fn put_name_of_next(&mut self, index: usize) -> Result<(), BuildError> {
        let outer = self.headers[index].protocol;
        if index == 0 && !outer.follows.is_empty() {
            return Err(BuildError::CannotBeFirst { name: outer.name });
        }
        let Some(next) = self.headers.get(index + 1) else { return Ok(()) };
        let inner = next.protocol;
        let is_same = |header: Option<&Header>| header.is_some_and(|h| h.protocol.name == inner.name);
        let first_of_several = outer.name != inner.name && is_same(self.headers.get(index + 2));
        match (outer.next_field(), inner.number_after(outer, first_of_several)) {
            (Some(field), Some(number)) => self.put(index, field, u128::from(number)),
            (Some(field), None) if self.headers[index].value(field.name).is_some() => {}
            _ => {
                return Err(BuildError::CannotFollow {
                    index: index + 1,
                    outer: outer.name,
                    inner: inner.name,
                });
            }
        }
        Ok(())
    }

    fn put_lengths(&mut self, index: usize) {
        let header = &self.headers[index];
        let with_header = self.bytes.len() - self.offsets[index];
        for field in header.protocol.fields {
            match field.auto {
                Auto::LengthWithHeader => self.put(index, field, with_header as u128),
                Auto::LengthBehindHeader => self.put(index, field, (with_header - header.len()) as u128),
                _ => {}
            }
        }
    }

    fn put_set(&mut self, index: usize) {
        for (field, value) in &self.headers[index].set {
            self.put(index, field, *value);
        }
    }

    /// The header's checksum, unless it has none or its author set it.
    fn checksum(&self, index: usize) -> Result<Option<Checksum>, BuildError> {
        let header = &self.headers[index];
        let (start, behind) = (self.offsets[index], self.offsets[index] + header.len());
        let computed = header.protocol.fields.iter().filter(|f| header.value(f.name).is_none());
        for field in computed {
            let (end, zero_as_ones, pseudo_header) = match field.auto {
                Auto::HeaderChecksum => (behind, false, None),
                Auto::PlainChecksum => (self.bytes.len(), false, None),
                Auto::PseudoHeaderChecksum { zero_as_ones } => {
                    (self.bytes.len(), zero_as_ones, Some(self.pseudo_header(index)?))
                }
                _ => continue,
            };
            let offset = start + usize::from(field.bit / 8);
            let algorithm = Algorithm::Internet { zero_as_ones };
            return Ok(Some(Checksum { offset, start, end, algorithm, pseudo_header }));
        }
        Ok(None)
    }

    /// The pseudo-header for the checksum of header `index`: the nearest IP header before it counts.
    fn pseudo_header(&self, index: usize) -> Result<PseudoHeader, BuildError> {
        let protocol = self.headers[index].protocol;
        let missing = BuildError::NoPseudoHeader { index, name: protocol.name };
        let outer = (0..index).rev().find_map(|outer| {
            let addresses = self.headers[outer].protocol.pseudo_header.clone()?;
            Some((outer, addresses))
        });
        let (outer, addresses) = outer.ok_or(missing)?;
        let at = self.offsets[outer];
        let named = || self.headers[outer].protocol.next_field()?.get(&self.bytes[at..]);
        // Its own number, even with headers between (RFC 8200 section 8.1); what its author wrote if it has none.
        let number = match protocol.number_after(self.headers[outer].protocol, false) {
            Some(number) => number as u8,
            None => named().unwrap_or(0) as u8,
        };
        let length = (self.bytes.len() - self.offsets[index]) as u32;
        let addresses = at + addresses.start..at + addresses.end;
        Ok(PseudoHeader { addresses, rest: u32::from(number) + length })
    }
}

impl Packet {
    /// The innermost computed checksum that covers the payload to its end, if there is one: the one that must be made
    /// right when the payload changes. Those around it stay right then, for they cover it too.
    pub fn payload_checksum(&self) -> Option<&Checksum> {
        self.checksums
            .iter()
            .find(|checksum| checksum.end == self.bytes.len() && checksum.start < self.payload)
    }
}

impl Checksum {
    /// Computes the checksum over `frame` as it is and puts it into its field.
    pub fn write(&self, frame: &mut [u8]) {
        let Algorithm::Internet { zero_as_ones } = self.algorithm;
        let sum = checksum::finish(self.sum_without_field(frame));
        let sum = if zero_as_ones && sum == 0 { 0xffff } else { sum };
        frame[self.offset..][..2].copy_from_slice(&sum.to_be_bytes());
    }

    /// Unfolded sum of the pseudo-header and all that is covered, as if the field were zero.
    pub fn sum_without_field(&self, frame: &[u8]) -> u64 {
        let before = checksum::sum(&frame[self.start..self.offset], self.pseudo_sum(frame));
        checksum::sum(&frame[self.offset + 2..self.end], before)
    }

    /// Unfolded sum of the pseudo-header, zero without one.
    pub(crate) fn pseudo_sum(&self, frame: &[u8]) -> u64 {
        let Some(PseudoHeader { addresses, rest }) = &self.pseudo_header else { return 0 };
        checksum::sum(&frame[addresses.clone()], u64::from(*rest))
    }
}

#[cfg(test)]
mod tests;
