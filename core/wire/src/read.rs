//! From the bytes of a frame to its headers.
//!
//! Lengths in the frame are believed only as far as they say where the next header begins: a header is read from
//! whatever bytes stand in its place, so that a frame built wrong on purpose shows what was built.

use crate::catalogue::{Field, Protocol};
use crate::protocols::{ALL, ethernet::ETHERNET};

/// A header found in a frame.
#[derive(Debug, Clone)]
pub struct ReadHeader {
    /// Which header.
    pub protocol: &'static Protocol,
    /// Offset of its first byte in the frame.
    pub offset: usize,
    /// All its fields with their values.
    pub fields: Vec<(&'static Field, u128)>,
}

impl ReadHeader {
    /// The value of the field called `name`.
    pub fn value(&self, name: &str) -> Option<u128> {
        self.fields.iter().find(|(field, _)| field.name == name).map(|(_, value)| *value)
    }
}

/// The headers of `frame` (without FCS), outermost first, and the offset of what is behind the last one understood.
///
/// Never fails: a header that is cut short or unknown ends the list, and so does a later fragment.
pub fn read(frame: &[u8]) -> (Vec<ReadHeader>, usize) {
    let (mut headers, mut offset) = (Vec::new(), 0);
    let mut next = Some(&ETHERNET);
    while let Some(protocol) = next {
        let bytes = &frame[offset..];
        if bytes.len() < protocol.len {
            break;
        }
        let fields = protocol.fields.iter().filter_map(|f| f.get(bytes).map(|value| (f, value))).collect();
        headers.push(ReadHeader { protocol, offset, fields });
        offset += protocol.length_in(bytes).min(bytes.len());
        next = behind(protocol, bytes, &frame[offset..]);
    }
    (headers, offset)
}

/// The protocol of `inner`, which stands behind the header of `protocol` that `bytes` begin with.
fn behind(protocol: &'static Protocol, bytes: &[u8], inner: &[u8]) -> Option<&'static Protocol> {
    let value = |name| protocol.field(name).and_then(|f| f.get(bytes)).unwrap_or(0);
    if protocol.fragment.is_some_and(|name| value(name) != 0) {
        return None;
    }
    let number = protocol.next_field()?.get(bytes)?;
    let candidates = || ALL.iter().copied().filter(|p| p.is_named(protocol, number));
    let recognised = candidates().find(|p| p.recognises(inner));
    recognised.or_else(|| candidates().find(|p| p.recognise.is_none()))
}

impl Protocol {
    /// Whether `bytes` are whole and have the value by which this protocol is told from others of the same number.
    fn recognises(&self, bytes: &[u8]) -> bool {
        self.recognise.is_some_and(|(name, wanted)| {
            bytes.len() >= self.len && self.field(name).and_then(|f| f.get(bytes)) == Some(wanted)
        })
    }
}

#[cfg(test)]
mod tests;
