//! From the bytes of a frame to its headers.
//!
//! Lengths in the frame only determine where the next header begins: a header is read from any bytes in its place, so
//! that a frame built wrong on purpose shows what was built.

use crate::build::Header;
use crate::catalogue::{Auto, Field, Found, Protocol, is_number};
use crate::layout::{self, Placed};
use crate::protocols::{ALL, ethernet::ETHERNET};
use std::collections::HashMap;
use std::sync::LazyLock;

/// The field that distinguishes a later fragment from a first one.
const FRAGMENT_OFFSET: &str = "fragment_offset";

/// A header found in a frame.
#[derive(Debug, Clone)]
pub struct ReadHeader {
    /// Which header.
    pub protocol: &'static Protocol,
    /// Offset of its first byte in the frame.
    pub offset: usize,
    /// All its fields of fixed width with their values.
    pub fields: Vec<(&'static Field, u128)>,
    /// The bytes of its field of variable length, if it has one.
    pub variable: Option<Vec<u8>>,
}

impl ReadHeader {
    /// The value of the field called `name`.
    pub fn value(&self, name: &str) -> Option<u128> {
        self.fields.iter().find(|(field, _)| field.name == name).map(|(_, value)| *value)
    }
}

/// The header with everything set as it was read.
impl From<&ReadHeader> for Header {
    fn from(read: &ReadHeader) -> Self {
        Self { protocol: read.protocol, set: read.fields.clone(), variable: read.variable.clone() }
    }
}

/// The headers of `frame` (without FCS), outermost first, and the offset of what follows the last one understood.
///
/// Never fails: a header that is cut short or unknown ends the list, and so does a fragment.
pub fn read(frame: &[u8]) -> (Vec<ReadHeader>, usize) {
    let reader = Reader::of(frame);
    let headers = reader.placed.iter().map(|header| reader.contents(header)).collect();
    (headers, reader.offset)
}

/// The headers of `frame` as [`read`] finds them, and those after the IP header of a first fragment, which has the
/// transport protocol's.
pub fn read_first(frame: &[u8]) -> (Vec<ReadHeader>, usize) {
    let reader = Reader::reading(frame, true);
    let headers = reader.placed.iter().map(|header| reader.contents(header)).collect();
    (headers, reader.offset)
}

/// A frame and the headers found in it so far.
pub(crate) struct Reader<'a> {
    frame: &'a [u8],
    /// Whether a first fragment is read on.
    first_fragments: bool,
    pub(crate) placed: Vec<Placed>,
    /// For each header the end of its packet, by the lengths in it and around it; `None` if they are longer than the
    /// frame or shorter than the header.
    pub(crate) ends: Vec<Option<usize>>,
    /// The headers that the next one can be a part of; each is a part of the one before.
    open: Vec<Open>,
    offset: usize,
}

/// A header that the next one can be a part of.
struct Open {
    /// Its index.
    header: usize,
    /// Number of its parts, by how they are found.
    parts: Vec<(Found, usize)>,
}

impl Open {
    fn count(&self, found: Found) -> usize {
        self.parts.iter().find(|(of, _)| *of == found).map_or(0, |(_, count)| *count)
    }

    fn add(&mut self, found: Found) {
        match self.parts.iter_mut().find(|(of, _)| *of == found) {
            Some((_, count)) => *count += 1,
            None => self.parts.push((found, 1)),
        }
    }
}

/// Links of a reader to the next header.
struct Links {
    /// Its parts.
    parts: Vec<&'static Protocol>,
    /// The headers it can name, each with its numbers.
    next: Vec<(&'static Protocol, Vec<u64>)>,
}

/// The catalogue, turned round: by the name of the header before.
static LINKS: LazyLock<HashMap<&str, Links>> = LazyLock::new(|| {
    let readable = || ALL.iter().copied().filter(|p| !p.only_built);
    let links = |outer: &Protocol| Links {
        parts: readable().filter(|p| p.is_part_of(outer)).collect(),
        next: readable()
            .map(|p| (p, p.all_numbers_after(outer)))
            .filter(|(p, numbers)| p.part.is_none() && !numbers.is_empty())
            .collect(),
    };
    readable().map(|outer| (outer.name, links(outer))).collect()
});

/// Content after a header.
enum Behind {
    Header(&'static Protocol),
    /// A mandatory part that is truncated, or unknown bytes.
    Nothing,
    /// No part.
    NoPart,
}

impl<'a> Reader<'a> {
    /// Reads all of `frame`.
    pub(crate) fn of(frame: &'a [u8]) -> Self {
        Self::reading(frame, false)
    }

    fn reading(frame: &'a [u8], first_fragments: bool) -> Self {
        let mut reader = Self {
            frame,
            first_fragments,
            placed: Vec::new(),
            ends: Vec::new(),
            open: Vec::new(),
            offset: 0,
        };
        let mut next = Some(&ETHERNET);
        while let Some(protocol) = next
            && let Some(variable) = reader.variable_length(protocol)
        {
            reader.take(protocol, variable);
            next = match reader.part() {
                Behind::Header(part) => Some(part),
                Behind::Nothing => None,
                Behind::NoPart => reader.next_header(),
            };
        }
        // What is open still has its padding.
        while let Some(last) = reader.open.pop() {
            reader.offset = reader.offset.max(reader.placed[last.header].end);
        }
        reader
    }

    fn contents(&self, header: &Placed) -> ReadHeader {
        let value = |field: &'static Field| header.value(field, self.frame).map(|value| (field, value));
        let variable = header.protocol.variable.as_ref().map(|variable| {
            let at = header.offset + variable.at;
            self.frame[at..at + header.variable].to_vec()
        });
        let fields = header.protocol.fields.iter().filter_map(value).collect();
        ReadHeader { protocol: header.protocol, offset: header.offset, fields, variable }
    }

    /// Bytes of the field of variable length, if a header of `protocol` is at the reader's place; zero without such a
    /// field. `None` if the frame ends before the header does.
    fn variable_length(&self, protocol: &Protocol) -> Option<usize> {
        let bytes = &self.frame[self.offset..];
        let rest = bytes.len().checked_sub(protocol.len)?;
        let Some(variable) = &protocol.variable else { return Some(0) };
        match variable.own_length(&bytes[variable.at..]) {
            Some(length) => (length <= rest).then_some(length),
            None if protocol.real_length.is_some() => {
                Some((protocol.length_in(bytes) - protocol.len).min(rest))
            }
            None => None,
        }
    }

    /// Takes the header at the reader's place.
    fn take(&mut self, protocol: &'static Protocol, variable: usize) {
        let (offset, whole) = (self.offset, self.open.last().map(|open| open.header));
        let own = protocol.len + variable;
        let told = protocol.length_in(&self.frame[offset..]).max(own);
        let end = offset + told.min(self.frame.len() - offset);
        let header = Placed { protocol, offset, variable, whole, end };
        self.ends.push(self.packet_end(&header));
        if let (Some(open), Some(part)) = (self.open.last_mut(), protocol.part) {
            open.add(part.found);
        }
        self.open.push(Open { header: self.placed.len(), parts: Vec::new() });
        self.placed.push(header);
        self.offset += own;
    }

    /// Where the packet around `header` ends, and the one it begins.
    fn packet_end(&self, header: &Placed) -> Option<usize> {
        let around = self.ends.last().map_or(Some(self.frame.len()), |end| *end)?;
        let told = header.protocol.fields.iter().find_map(|field| match field.auto {
            Auto::LengthWithHeader => Some(header.offset + header.value(field, self.frame)? as usize),
            Auto::LengthBehindHeader => Some(header.own_end() + header.value(field, self.frame)? as usize),
            _ => None,
        });
        let end = told.unwrap_or(around);
        (end <= around && end >= header.own_end()).then_some(end)
    }

    /// The part at the reader's place; closes the headers that have no more of them.
    fn part(&mut self) -> Behind {
        while let Some(open) = self.open.last() {
            let whole = open.header;
            match self.part_of(open) {
                Behind::NoPart => {
                    self.open.pop();
                    self.offset = self.offset.max(self.placed[whole].end);
                }
                behind => return behind,
            }
        }
        Behind::NoPart
    }

    /// The part of the header `open` at the reader's place.
    fn part_of(&self, open: &Open) -> Behind {
        let whole = open.header;
        let Some(links) = LINKS.get(self.placed[whole].protocol.name) else { return Behind::NoPart };
        let parts = || links.parts.iter().copied();
        let is_expected = |part: &&'static Protocol| self.expects(open, part);
        let Some(first) = parts().find(is_expected) else { return self.kind_of_part(whole, parts()) };
        let Some(Found::ByCount { .. }) = first.part.map(|part| part.found) else {
            return self.whole_or_nothing(whole, first);
        };
        let bytes = &self.frame[self.offset..];
        let alike =
            || parts().filter(is_expected).filter(|p| p.part.map(|p| p.found) == first.part.map(|p| p.found));
        let kind = alike().find(|p| p.recognise.is_some() && p.is_of_kind(bytes));
        match kind.or_else(|| alike().find(|p| p.recognise.is_none())) {
            Some(part) => self.whole_or_nothing(whole, part),
            None => Behind::Nothing,
        }
    }

    /// Whether the header `open` announces, by a flag or a number, that `part` follows.
    fn expects(&self, open: &Open, part: &Protocol) -> bool {
        let value = |field: &str| self.placed[open.header].named_value(field, self.frame);
        match part.part.map(|part| part.found) {
            Some(found @ Found::ByFlag(fields)) => {
                open.count(found) == 0 && fields.iter().any(|field| value(field) != 0)
            }
            Some(found @ Found::ByCount { field, more }) => {
                open.count(found) < value(field) as usize + usize::from(more)
                    && self.bound(open.header).is_none_or(|bound| self.offset < bound)
            }
            _ => false,
        }
    }

    /// The part of header `whole` identified by the bytes at the reader's place.
    fn kind_of_part(&self, whole: usize, parts: impl Iterator<Item = &'static Protocol> + Clone) -> Behind {
        let is_last =
            |header: &Placed| header.protocol.part.is_some_and(|part| part.found == Found::ByKindLast);
        if self.placed.last().is_some_and(is_last) {
            return Behind::NoPart;
        }
        let bound = self.bound(whole);
        let end = bound.or(self.ends[whole]).unwrap_or(self.frame.len()).min(self.frame.len());
        let Some(bytes) = self.frame.get(self.offset..end) else { return Behind::NoPart };
        let is_padding = bound.is_some() && bytes.iter().all(|byte| *byte == 0);
        let is_kind = |p: &&'static Protocol| {
            let by_kind = p.part.is_some_and(|p| matches!(p.found, Found::ByKind | Found::ByKindLast));
            by_kind && p.told_length(bytes).is_some_and(|told| told <= bytes.len())
        };
        let mut known =
            parts.clone().filter(is_kind).filter(|p| p.recognise.is_some() && p.is_of_kind(bytes));
        let mut other = parts.filter(is_kind).filter(|p| p.recognise.is_none());
        match known.next().or_else(|| other.next()) {
            Some(part) if !is_padding => Behind::Header(part),
            _ => Behind::NoPart,
        }
    }

    /// End of the parts of header `whole`, if it or its own whole has a length field.
    fn bound(&self, whole: usize) -> Option<usize> {
        let header = &self.placed[whole];
        let outer = header.whole.and_then(|outer| self.bound(outer));
        let own = header.protocol.real_length.map(|_| header.end);
        own.into_iter().chain(outer).min()
    }

    fn whole_or_nothing(&self, whole: usize, part: &'static Protocol) -> Behind {
        let end = self.bound(whole).unwrap_or(self.frame.len());
        let fits = self.frame.get(self.offset..end).is_some_and(|bytes| bytes.len() >= part.len);
        if fits { Behind::Header(part) } else { Behind::Nothing }
    }

    /// The header after the last one and all its parts.
    fn next_header(&self) -> Option<&'static Protocol> {
        let namer = &self.placed[layout::namer(&self.placed)?];
        let is_fragment = |(name, bits): &(&str, u128)| {
            let counts = !self.first_fragments || *name == FRAGMENT_OFFSET;
            counts && namer.named_value(name, self.frame) & bits != 0
        };
        if namer.protocol.fragment.iter().any(is_fragment) {
            return None;
        }
        let number = match namer.protocol.next_field() {
            Some(field) => Some(namer.value(field, self.frame)?),
            None => None,
        };
        let bytes = &self.frame[self.offset..];
        let end = self.ends.last().copied().flatten().unwrap_or(self.frame.len());
        let in_packet = self.frame.get(self.offset..end).unwrap_or_default();
        let links = LINKS.get(namer.protocol.name)?;
        let is_named = |numbers: &[u64]| numbers.iter().any(|n| is_number(*n, number));
        let candidates = || links.next.iter().filter(|(_, numbers)| is_named(numbers)).map(|(p, _)| *p);
        let known =
            candidates().find(|p| p.recognise.is_some() && in_packet.len() >= p.len && p.is_of_kind(bytes));
        let others = || candidates().filter(|p| p.recognise.is_none());
        // Without a number that tells one protocol, the first bits must do.
        let is_told = number.is_some() && others().count() == 1;
        let begins = bytes.first().map(|byte| byte >> 4);
        known.or_else(|| others().find(|p| is_told || p.nibble.is_none() || p.nibble == begins))
    }
}

impl Protocol {
    /// Whether `bytes` have a value that distinguishes this protocol from others of the same number.
    fn is_of_kind(&self, bytes: &[u8]) -> bool {
        self.recognise.is_some_and(|(name, wanted)| {
            self.field(name).and_then(|field| field.get(bytes)).is_some_and(|value| wanted.contains(&value))
        })
    }

    /// The length of the header at the start of `bytes`, from its length field; `None` if that is less than its fixed
    /// part.
    fn told_length(&self, bytes: &[u8]) -> Option<usize> {
        let Some(length) = self.real_length else { return Some(self.len) };
        let units = self.field(length.field)?.get(bytes)?;
        Some(length.bytes(units)).filter(|told| *told >= self.len)
    }
}

#[cfg(test)]
mod tests;
