//! From headers with some fields set to the bytes of a frame.

use crate::catalogue::{Auto, BY_LENGTH, Field, Protocol, protocol};
use crate::checksums::Checksum;
use crate::fill::Fill;
use crate::layout::{self, Placed};
use crate::protocols::ethernet::ETHERNET;
use crate::raw::RawFrame;
use std::fmt;
use units::{FCS_BYTES, FrameLen};

/// A header with the fields its author set; the others get defaults or are computed.
#[derive(Debug, Clone)]
pub struct Header {
    /// Which header.
    pub protocol: &'static Protocol,
    /// Fields set by name, in any order, each at most once. A set field is never computed.
    pub set: Vec<(&'static Field, u128)>,
    /// The bytes of the field of variable length, if they are set.
    pub variable: Option<Vec<u8>>,
}

impl Header {
    /// A header with nothing set.
    pub fn new(protocol: &'static Protocol) -> Self {
        Self { protocol, set: Vec::new(), variable: None }
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

    /// The same header with the bytes of its field of variable length set.
    ///
    /// # Panics
    /// If the protocol has no such field.
    pub fn with_bytes(mut self, name: &str, bytes: &[u8]) -> Self {
        assert!(self.protocol.variable(name).is_some(), "{} has no field {name}", self.protocol.name);
        self.variable = Some(bytes.to_vec());
        self
    }

    /// Sets `field`, regardless of its previous value.
    pub fn put(&mut self, field: &'static Field, value: u128) {
        self.set.retain(|(other, _)| other.name != field.name);
        self.set.push((field, value));
    }

    /// Value of the field set by the header's author.
    pub fn value(&self, name: &str) -> Option<u128> {
        self.set.iter().find(|(field, _)| field.name == name).map(|(_, value)| *value)
    }

    /// The bytes of its field of variable length.
    fn variable_bytes(&self) -> &[u8] {
        match (&self.protocol.variable, &self.variable) {
            (Some(_), Some(set)) => set,
            (Some(variable), None) => variable.default,
            (None, _) => &[],
        }
    }

    /// Number of bytes by which `field` is after its offset in the catalogue, because of a field of variable length
    /// before it.
    pub fn shift(&self, field: &Field) -> usize {
        self.protocol.shift(field, self.variable_bytes().len())
    }

    /// Length of the header when it and its parts take `bytes`: a whole number of units, and what its author set as its
    /// real length, as long as that holds everything.
    fn padded(&self, bytes: usize) -> usize {
        let Some(length) = self.protocol.real_length else { return bytes };
        match self.protocol.field(length.field).zip(self.value(length.field)) {
            Some((field, units)) => bytes.max(length.bytes(units & field.max())),
            None => length.of(bytes).1,
        }
    }
}

/// A packet to build: headers from the outside in, then payload.
#[derive(Debug, Clone, Default)]
pub struct PacketSpec {
    /// Headers, outermost first.
    pub headers: Vec<Header>,
    /// First bytes of the payload.
    pub payload: Vec<u8>,
    /// The rest of it.
    pub fill: Fill,
    /// Frames up to this length are padded after the packet, as a link pads short frames: no length in it counts the
    /// padding.
    pub padded_to: Option<FrameLen>,
    /// A frame given byte by byte, in place of all the above.
    pub raw: Option<RawFrame>,
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
    /// they must be computed again, because a checksum covers those after it.
    pub checksums: Vec<Checksum>,
}

/// Why a packet can't be built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildError {
    /// The headers and the given payload are longer than the frame.
    TooLong {
        /// Bytes of headers and given payload, with FCS.
        needs: u32,
        /// Requested bytes, with FCS.
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
    /// A header and its parts are longer than its length field allows.
    PartsTooLong {
        /// Index of the header.
        index: usize,
        /// Its name.
        name: &'static str,
        /// Bytes of the header and its parts.
        needs: usize,
        /// Bytes it can have.
        most: usize,
    },
    /// A checksum with a pseudo-header has no IP header before it.
    NoPseudoHeader {
        /// Index of the header.
        index: usize,
        /// Its name.
        name: &'static str,
    },
    /// A checksum of a raw frame can't be computed.
    CannotFix {
        /// Its index.
        index: usize,
        /// Why.
        reason: String,
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
                let before = protocol(inner).map(Protocol::goes_behind_in_words).unwrap_or_default();
                if !before.is_empty() {
                    ways.push(format!("put {before} before it"));
                }
                let is_part = protocol(inner).is_some_and(|p| p.part.is_some());
                if let Some(field) = protocol(outer).and_then(Protocol::next_field).filter(|_| !is_part) {
                    ways.push(format!("set {outer}.{} by hand", field.name));
                }
                if ways.is_empty() { Ok(()) } else { write!(f, ": {}", ways.join(", or ")) }
            }
            Self::PartsTooLong { index, name, needs, most } => write!(
                f,
                "header {} ({name}) and its parts need {needs} bytes, but it can have only {most}",
                index + 1
            ),
            Self::NoPseudoHeader { index, name } => write!(
                f,
                "the checksum of header {} ({name}) covers IP addresses: put ipv4 or ipv6 before it, or set \
                 {name}.checksum by hand",
                index + 1
            ),
            Self::CannotFix { index, reason } => write!(f, "checksum {}: {reason}", index + 1),
        }
    }
}

impl std::error::Error for BuildError {}

impl PacketSpec {
    /// The shortest frame (with FCS) that holds the headers, the given payload and `extra` bytes.
    pub fn shortest(&self, extra: usize) -> FrameLen {
        // Raw frames are cut.
        if self.raw.is_some() {
            return FrameLen::MIN;
        }
        FrameLen::holding((self.len() + extra) as u32)
    }

    /// Builds a frame of `length`: headers, payload, and its fill up to the end. Lengths and checksums that are not set
    /// are computed for the whole of it.
    pub fn build(&self, length: FrameLen) -> Result<Packet, BuildError> {
        if let Some(raw) = &self.raw {
            return raw.build(length);
        }
        let frame = length.without_fcs() as usize;
        if self.padded_to.is_none_or(|longest| length > longest) || self.len() > frame {
            return self.build_bytes(frame);
        }
        let mut packet = self.build_bytes(self.len())?;
        packet.bytes.resize(frame, 0);
        Ok(packet)
    }

    /// Builds a frame that ends where the given payload ends, which may be below the minimum: the port or the sender
    /// pads it, and no length in it counts the padding.
    pub fn build_unpadded(&self) -> Result<Packet, BuildError> {
        if let Some(raw) = &self.raw {
            return raw.build(raw.whole());
        }
        self.build_bytes(self.len().min(FrameLen::MAX.without_fcs() as usize))
    }

    fn build_bytes(&self, frame: usize) -> Result<Packet, BuildError> {
        let (placed, payload) = place(&self.headers);
        if payload + self.payload.len() > frame {
            let with_fcs = |bytes: usize| bytes as u32 + FCS_BYTES;
            return Err(BuildError::TooLong { needs: with_fcs(self.len()), frame: with_fcs(frame) });
        }
        let mut draft = Draft { headers: &self.headers, placed, bytes: vec![0; frame] };
        let (given, rest) = draft.bytes[payload..].split_at_mut(self.payload.len());
        given.copy_from_slice(&self.payload);
        self.fill.write(rest);
        for index in 0..self.headers.len() {
            draft.put_defaults(index);
            draft.put_name(index)?;
            draft.put_lengths(index)?;
        }
        (0..self.headers.len()).for_each(|index| draft.put_set(index));
        let checksums = draft.put_checksums()?;
        let offsets = draft.placed.iter().map(|header| header.offset).collect();
        Ok(Packet { bytes: draft.bytes, offsets, payload, checksums })
    }

    /// Bytes of headers and given payload.
    fn len(&self) -> usize {
        place(&self.headers).1 + self.payload.len()
    }
}

/// Offsets of the headers, and of the payload.
fn place(headers: &[Header]) -> (Vec<Placed>, usize) {
    let mut placed: Vec<Placed> = Vec::with_capacity(headers.len());
    // The headers that the next one can be a part of, and where the last of them ends so far.
    let (mut open, mut end): (Vec<usize>, usize) = (Vec::new(), 0);
    let close = |placed: &mut [Placed], index: usize, end: usize| {
        let header = &mut placed[index];
        header.end = header.offset + headers[index].padded(end - header.offset);
        header.end
    };
    for (index, header) in headers.iter().enumerate() {
        while let Some(&last) = open.last()
            && !header.protocol.is_part_of(headers[last].protocol)
        {
            open.pop();
            end = close(&mut placed, last, end);
        }
        let (offset, variable) = (end, header.variable_bytes().len());
        placed.push(Placed { protocol: header.protocol, offset, variable, whole: open.last().copied(), end });
        end += header.protocol.len + variable;
        open.push(index);
    }
    while let Some(last) = open.pop() {
        end = close(&mut placed, last, end);
    }
    (placed, end)
}

/// A frame on its way from the spec to the packet.
struct Draft<'a> {
    headers: &'a [Header],
    placed: Vec<Placed>,
    bytes: Vec<u8>,
}

impl Draft<'_> {
    fn put(&mut self, index: usize, field: &Field, value: u128) {
        field.set(&mut self.bytes[self.placed[index].origin(field)..], value);
    }

    /// Defaults, and what headers further inside need instead of the nearest header before them.
    fn put_defaults(&mut self, index: usize) {
        let header = &self.headers[index];
        let protocol = header.protocol;
        for field in protocol.fields {
            self.put(index, field, field.default);
        }
        if let Some(variable) = &protocol.variable {
            let bytes = header.variable_bytes();
            self.bytes[self.placed[index].offset + variable.at..][..bytes.len()].copy_from_slice(bytes);
        }
        for inner in &self.headers[index + 1..] {
            for (_, name, value) in inner.protocol.needs.iter().filter(|(outer, ..)| *outer == protocol.name)
            {
                if let Some(field) = protocol.field(name) {
                    self.put(index, field, *value);
                }
            }
            if inner.protocol.name == protocol.name {
                break;
            }
        }
    }

    /// The header's number, in the header before. An author who sets that by hand may let anything follow.
    fn put_name(&mut self, index: usize) -> Result<(), BuildError> {
        let inner = self.headers[index].protocol;
        let Some(namer) = layout::namer(&self.placed[..index]) else {
            let begins = inner.anywhere || inner.name == ETHERNET.name;
            return if begins { Ok(()) } else { Err(BuildError::CannotBeFirst { name: inner.name }) };
        };
        let outer = self.headers[namer].protocol;
        if self.placed[index].whole.is_some() || inner.anywhere || outer.anywhere {
            return Ok(());
        }
        let number =
            inner.number_after(outer, self.is_first_of_several(index)).filter(|_| inner.part.is_none());
        match (outer.next_field(), number) {
            (Some(field), Some(BY_LENGTH)) => {
                let behind = self.bytes.len() - self.placed[namer].own_end();
                self.put(namer, field, behind as u128);
            }
            (Some(field), Some(number)) => self.put(namer, field, u128::from(number)),
            (None, Some(_)) => {}
            (Some(field), None)
                if self.headers[namer].value(field.name).is_some() && inner.part.is_none() => {}
            _ => return Err(BuildError::CannotFollow { index, outer: outer.name, inner: inner.name }),
        }
        Ok(())
    }

    /// Whether another header of the same kind follows, and none was before.
    fn is_first_of_several(&self, index: usize) -> bool {
        let is_same = |other: Option<&Header>| {
            other.is_some_and(|header| header.protocol.name == self.headers[index].protocol.name)
        };
        is_same(self.headers.get(index + 1))
            && !is_same(index.checked_sub(1).map(|before| &self.headers[before]))
    }

    fn put_lengths(&mut self, index: usize) -> Result<(), BuildError> {
        let (header, placed) = (&self.headers[index], self.placed[index]);
        for field in header.protocol.fields {
            match field.auto {
                Auto::LengthWithHeader => self.put(index, field, (self.bytes.len() - placed.offset) as u128),
                Auto::LengthBehindHeader => {
                    self.put(index, field, (self.bytes.len() - placed.own_end()) as u128)
                }
                Auto::Count { parts, less } => {
                    let is_counted =
                        |part: &&Placed| part.whole == Some(index) && parts.contains(&part.protocol.name);
                    let count = self.placed.iter().filter(is_counted).count();
                    self.put(index, field, count.saturating_sub(less.into()) as u128);
                }
                _ => {}
            }
        }
        let Some(length) = header.protocol.real_length else { return Ok(()) };
        let Some(field) = header.protocol.field(length.field) else { return Ok(()) };
        let (needs, most) = (placed.end - placed.offset, length.bytes(field.max()));
        if needs > most && header.value(field.name).is_none() {
            return Err(BuildError::PartsTooLong { index, name: header.protocol.name, needs, most });
        }
        self.put(index, field, length.of(needs).0);
        Ok(())
    }

    fn put_set(&mut self, index: usize) {
        for (field, value) in &self.headers[index].set {
            self.put(index, field, *value);
        }
    }

    /// Computes the checksums that are not set. A checksum may cover later ones, so they are computed from the inside
    /// out.
    fn put_checksums(&mut self) -> Result<Vec<Checksum>, BuildError> {
        let mut checksums = Vec::new();
        for (index, header) in self.headers.iter().enumerate().rev() {
            let mut fields = header.protocol.fields.iter().filter(|field| field.auto.is_checksum());
            let Some(field) = fields.next().filter(|field| header.value(field.name).is_none()) else {
                continue;
            };
            let checksum = layout::checksum(&self.placed, index, field, self.bytes.len(), &self.bytes)
                .ok_or(BuildError::NoPseudoHeader { index, name: header.protocol.name })?;
            checksum.write(&mut self.bytes);
            checksums.push(checksum);
        }
        Ok(checksums)
    }
}

impl Packet {
    /// The innermost computed checksum that covers the payload to its end, if there is one: the one that must be made
    /// right when the payload changes. Internet checksums around it stay right then, for they cover it too.
    pub fn payload_checksum(&self) -> Option<&Checksum> {
        self.checksums
            .iter()
            .find(|checksum| checksum.end == self.bytes.len() && checksum.start < self.payload)
    }
}

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;
