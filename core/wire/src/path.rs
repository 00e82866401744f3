//! Names of places in a packet, as people write them: `ipv4.src`, `vlan[1].id`, `vxlan.inner.ipv4.dst`, `bytes[42..44]`,
//! `bits[336..340]`, `payload[0..4]`.
//!
//! A header's name means the outermost of that name; `[1]` is the second from outside; `inner` continues after the
//! header before it. Ranges begin at zero, in the frame or its payload, and exclude their end; `[42]` is `[42..43]`.
//!
//! Not here: whether the frame is long enough for a range, and what is done with the place.

use crate::build::{Header, Packet};
use crate::catalogue::{Field, Protocol, protocol};
use crate::protocols::ALL;
use spelling::nearest;
use std::fmt;
use std::ops::Range;

/// A place in a packet.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// A field of a header.
    Field {
        /// Index of the header, from outside.
        header: usize,
        /// The field.
        field: &'static Field,
    },
    /// Bits of the frame.
    Bits {
        /// Of the first one, from the frame's start.
        offset: u32,
        /// Number of bits.
        width: u16,
    },
    /// Bits of the payload.
    PayloadBits {
        /// Of the first one, from the payload's first byte.
        offset: u32,
        /// Number of bits.
        width: u16,
    },
}

/// Why a text names no place in a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathError {
    /// It is neither a header with a field nor a range.
    Shape {
        /// The whole text.
        path: String,
    },
    /// A number or range in brackets can't be read, or holds nothing or too much.
    Range {
        /// Text in the brackets and around it.
        given: String,
        /// Description of the error.
        reason: &'static str,
    },
    /// There is no such protocol.
    UnknownHeader {
        /// Its name.
        given: String,
        /// A name that looks like it.
        nearest: Option<&'static str>,
    },
    /// The packet has no such header, or not this many.
    NoHeader {
        /// As written: `vlan[1]`.
        given: String,
        /// The header's name.
        name: &'static str,
        /// Number of them.
        count: usize,
        /// Header after which it was searched for.
        behind: Option<&'static str>,
        /// The headers that were inspected.
        there: Vec<&'static str>,
    },
    /// The header has no such field.
    UnknownField {
        /// The header.
        header: &'static str,
        /// The name given.
        given: String,
        /// A field that looks like it.
        nearest: Option<&'static str>,
        /// The fields it has.
        fields: Vec<&'static str>,
    },
    /// The field has no fixed width, so it is no place.
    Variable {
        /// The header.
        header: &'static str,
        /// The field.
        field: &'static str,
    },
}

/// Finds the place that `path` names in a packet of `headers`, outermost first.
pub fn resolve(path: &str, headers: &[Header]) -> Result<Place, PathError> {
    let protocols: Vec<&'static Protocol> = headers.iter().map(|header| header.protocol).collect();
    resolve_in(path, &protocols)
}

/// The same for headers of which only the protocols are known, such as a received frame's.
pub fn resolve_in(path: &str, headers: &[&'static Protocol]) -> Result<Place, PathError> {
    let path = path.trim();
    if !path.contains('.') || path.contains("..") {
        return range_place(path);
    }
    let (steps, field) = path.rsplit_once('.').ok_or_else(|| shape(path))?;
    let (mut at, mut behind): (usize, Option<usize>) = (0, None);
    for (n, step) in steps.split('.').enumerate() {
        // Every second step is the word that goes on behind the header before.
        match (n % 2, step) {
            (0, header) => at = find(header, headers, behind)?,
            (_, "inner") => behind = Some(at),
            _ => return Err(shape(path)),
        }
    }
    if behind == Some(at) {
        return Err(shape(path));
    }
    field_place(field, at, headers[at])
}

impl Place {
    /// Where the place is in `packet`, built of `headers`: offset from the frame's start, and width, in bits.
    ///
    /// This, and not the field's offset alone, counts a field of variable length before it.
    pub fn position(&self, headers: &[Header], packet: &Packet) -> (u32, u16) {
        match *self {
            Self::Field { header, field } => {
                let at = packet.offsets[header] + headers[header].shift(field);
                (at as u32 * 8 + u32::from(field.bit), field.width)
            }
            Self::Bits { offset, width } => (offset, width),
            Self::PayloadBits { offset, width } => (packet.payload as u32 * 8 + offset, width),
        }
    }
}

/// The index of the header that `step` (`vlan`, `vlan[1]`) names among those behind `behind`.
fn find(step: &str, headers: &[&'static Protocol], behind: Option<usize>) -> Result<usize, PathError> {
    let (name, nth) = match bracketed(step) {
        Some((name, inside)) => {
            (name, parse(inside).ok_or_else(|| range(step, "is not a number such as [1]"))?)
        }
        None => (step, 0),
    };
    let wanted = known_header(name)?;
    let first = behind.map_or(0, |behind| behind + 1);
    let found: Vec<usize> = (first..headers.len()).filter(|i| headers[*i].name == wanted.name).collect();
    found.get(nth as usize).copied().ok_or_else(|| PathError::NoHeader {
        given: step.to_owned(),
        name: wanted.name,
        count: found.len(),
        behind: behind.map(|behind| headers[behind].name),
        there: headers[first..].iter().map(|p| p.name).collect(),
    })
}

fn field_place(name: &str, header: usize, protocol: &'static Protocol) -> Result<Place, PathError> {
    Ok(Place::Field { header, field: known_field(protocol, name)? })
}

/// The protocol of this name.
///
/// # Errors
/// There is none; the error names the one that may be meant.
pub fn known_header(name: &str) -> Result<&'static Protocol, PathError> {
    protocol(name).ok_or_else(|| {
        let nearest = nearest(name, ALL.iter().map(|p| p.name));
        PathError::UnknownHeader { given: name.to_owned(), nearest }
    })
}

/// The field of this name, which has a fixed width.
///
/// # Errors
/// There is none; the error names the one that may be meant, or all there are.
pub fn known_field(protocol: &'static Protocol, name: &str) -> Result<&'static Field, PathError> {
    if let Some(field) = protocol.field(name) {
        return Ok(field);
    }
    if let Some(variable) = protocol.variable(name) {
        return Err(PathError::Variable { header: protocol.name, field: variable.name });
    }
    let fields: Vec<_> = protocol.fields.iter().map(|field| field.name).collect();
    let nearest = nearest(name, fields.iter().copied());
    Err(PathError::UnknownField { header: protocol.name, given: name.to_owned(), nearest, fields })
}

/// `bytes[42..44]`, `bits[336..340]`, `payload[0]`.
fn range_place(path: &str) -> Result<Place, PathError> {
    let (space, inside) = bracketed(path).ok_or_else(|| shape(path))?;
    let unit = if space == "bits" { 1 } else { 8 };
    let Range { start, end } = parse_range(inside)
        .ok_or_else(|| range(path, "is not a range such as [42..44] or a number such as [42]"))?;
    if start >= end {
        return Err(range(path, "holds nothing: the end is not part of a range"));
    }
    let (offset, width) = (u64::from(start) * unit, u64::from(end - start) * unit);
    let (Ok(offset), Ok(width)) = (u32::try_from(offset), u16::try_from(width)) else {
        return Err(range(path, "is beyond every frame"));
    };
    match space {
        "bytes" | "bits" => Ok(Place::Bits { offset, width }),
        "payload" => Ok(Place::PayloadBits { offset, width }),
        _ => Err(shape(path)),
    }
}

/// `vlan` and `1` of `vlan[1]`.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    text.strip_suffix(']')?.split_once('[')
}

fn parse_range(text: &str) -> Option<Range<u32>> {
    match text.split_once("..") {
        Some((start, end)) => Some(parse(start)?..parse(end)?),
        None => parse(text).and_then(|start| Some(start..start.checked_add(1)?)),
    }
}

/// A number without a sign.
fn parse(text: &str) -> Option<u32> {
    let text = text.trim();
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

fn shape(path: &str) -> PathError {
    PathError::Shape { path: path.to_owned() }
}

fn range(given: &str, reason: &'static str) -> PathError {
    PathError::Range { given: given.to_owned(), reason }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape { path } => write!(
                f,
                "'{path}' names no place in a packet; one is written like ipv4.src, vlan[1].id, vxlan.inner.ipv4.dst, \
                 bytes[42..44], bits[336..340] or payload[0..4]"
            ),
            Self::Range { given, reason } => write!(f, "'{given}' {reason}"),
            Self::UnknownHeader { given, nearest } => {
                write!(f, "there is no header '{given}'")?;
                nearest.map_or(Ok(()), |name| write!(f, "; did you mean '{name}'?"))
            }
            Self::NoHeader { given, name, count, behind, there } => {
                match behind {
                    Some(behind) => write!(f, "behind {behind} there is no {given}; ")?,
                    None => write!(f, "the packet has no {given}; ")?,
                }
                match (count, &there[..]) {
                    (0, []) => write!(f, "there is no header"),
                    (0, there) => write!(f, "there is {}", there.join(", ")),
                    (1, _) => write!(f, "it has one {name} header"),
                    (count, _) => write!(f, "it has {count} {name} headers, the first is {name}[0]"),
                }
            }
            Self::UnknownField { header, given, nearest, fields } => {
                write!(f, "{header} has no field '{given}'")?;
                match nearest {
                    Some(name) => write!(f, "; did you mean '{name}'?"),
                    None => write!(f, "; it has {}", fields.join(", ")),
                }
            }
            Self::Variable { header, field } => {
                write!(f, "{header}.{field} has no fixed width; only fields of fixed width can be named here")
            }
        }
    }
}

impl std::error::Error for PathError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::headers;
    use proptest::prelude::*;

    const TUNNEL: &[&str] =
        &["ethernet", "vlan", "vlan", "ipv4", "udp", "vxlan", "ethernet", "vlan", "ipv4", "tcp", "tcp_mss"];

    /// Index of the header and name of the field.
    fn found(path: &str) -> (usize, &'static str) {
        match resolve(path, &headers(TUNNEL)) {
            Ok(Place::Field { header, field }) => (header, field.name),
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn finds_headers_from_outside_in() {
        for (path, place) in [
            ("ethernet.dst", (0, "dst")),
            ("vlan.id", (1, "id")),
            ("vlan[0].id", (1, "id")),
            ("vlan[1].id", (2, "id")),
            ("vlan[2].pcp", (7, "pcp")),
            (" ipv4.src ", (3, "src")),
            ("ipv4[1].src", (8, "src")),
            ("vxlan.inner.ipv4.dst", (8, "dst")),
            ("vxlan.inner.vlan[0].id", (7, "id")),
            ("vlan[1].inner.vlan.id", (7, "id")),
            ("ipv4.inner.udp.inner.tcp.seq", (9, "seq")),
            ("tcp_mss.mss", (10, "mss")),
        ] {
            assert_eq!(found(path), place, "{path}");
        }
    }

    #[test]
    fn finds_ranges() {
        for (path, wanted) in [
            ("bytes[42..44]", (false, 336, 16)),
            ("bytes[42]", (false, 336, 8)),
            ("bits[336..340]", (false, 336, 4)),
            ("payload[0..4]", (true, 0, 32)),
            ("payload[3]", (true, 24, 8)),
        ] {
            let place = match resolve(path, &headers(TUNNEL)).unwrap() {
                Place::Bits { offset, width } => (false, offset, width),
                Place::PayloadBits { offset, width } => (true, offset, width),
                Place::Field { .. } => panic!("{path}"),
            };
            assert_eq!(place, wanted, "{path}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        let shapes = "one is written like ipv4.src, vlan[1].id, vxlan.inner.ipv4.dst, bytes[42..44], bits[336..340] or \
                      payload[0..4]";
        for (path, reason) in [
            ("vlan[3].id", "the packet has no vlan[3]; it has 3 vlan headers, the first is vlan[0]"),
            ("vxlan.inner.vlan[1].id", "behind vxlan there is no vlan[1]; it has one vlan header"),
            ("tcp.inner.ipv4.src", "behind tcp there is no ipv4; there is tcp_mss"),
            ("tcp_mss.inner.tcp.seq", "behind tcp_mss there is no tcp; there is no header"),
            ("ipv4.srcc", "ipv4 has no field 'srcc'; did you mean 'src'?"),
            ("udp.payload", "udp has no field 'payload'; it has src, dst, length, checksum"),
            ("ivp4.src", "there is no header 'ivp4'; did you mean 'ipv4'?"),
            ("something.src", "there is no header 'something'"),
            ("vlan[x].id", "'vlan[x]' is not a number such as [1]"),
            ("bytes[44..42]", "'bytes[44..42]' holds nothing: the end is not part of a range"),
            ("bytes[+1]", "'bytes[+1]' is not a range such as [42..44] or a number such as [42]"),
            ("bits[0..70000]", "'bits[0..70000]' is beyond every frame"),
            ("ipv4", &format!("'ipv4' names no place in a packet; {shapes}")),
            ("ipv4.inner.src", &format!("'ipv4.inner.src' names no place in a packet; {shapes}")),
        ] {
            let said = resolve(path, &headers(TUNNEL)).map(|_| ()).unwrap_err().to_string();
            assert_eq!(said, reason, "{path}");
        }
        let one_tag = headers(&["ethernet", "vlan"]);
        let said = resolve("vlan[1].id", &one_tag).unwrap_err().to_string();
        assert_eq!(said, "the packet has no vlan[1]; it has one vlan header");
        let said = resolve("udp.src", &one_tag).unwrap_err().to_string();
        assert_eq!(said, "the packet has no udp; there is ethernet, vlan");
        let said = resolve("dns_question.name", &headers(&["dns_question"])).unwrap_err().to_string();
        assert_eq!(
            said,
            "dns_question.name has no fixed width; only fields of fixed width can be named here"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_a_place_or_an_error(path in "[a-z0-9_.\\[\\]]{0,40}|\\PC{0,20}") {
            if let Err(error) = resolve(&path, &headers(TUNNEL)) {
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}
