//! Definition of a protocol: a name, a source, and fields with offset and width.

use crate::variable::Variable;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use units::Mac;

/// A header: everything that is known about it. One file in `protocols` for each, together with its parts.
///
/// Written as `Protocol { name: …, ..Protocol::PLAIN }`, so that only a header's specific properties are listed.
#[derive(Debug)]
pub struct Protocol {
    /// The name in profiles: `ipv4`.
    pub name: &'static str,
    /// One line for people: `Internet Protocol, version 4`.
    pub title: &'static str,
    /// Where it is defined: `RFC 791`.
    pub source: &'static str,
    /// Length without parts and without the field of variable length, bytes.
    pub len: usize,
    /// Fields in wire order.
    pub fields: &'static [Field],
    /// The one field of variable length, if there is one.
    pub variable: Option<Variable>,
    /// The value by which the header before names this one, for each protocol it can follow: `("ethernet", 0x0800)`.
    /// The field that holds the value is the one with [`Auto::NextProtocol`]; where there is none the value is zero and
    /// means nothing. Of several values for one protocol the first is written and all are read.
    pub follows: &'static [(&'static str, u64)],
    /// A protocol whose values for the next header also apply after this one: EtherTypes are `ethernet`'s after any
    /// header, and the numbers of IPv6 continue after its extension headers.
    pub names_like: Option<&'static str>,
    /// The whole that this header is a part of: options, and optional fields, are separate headers.
    pub part: Option<Part>,
    /// The value by which the header before names the first of several of this protocol in a row (IEEE 802.1ad).
    pub first_of_several: Option<u64>,
    /// A field and the values that distinguish this header from others with the same number, such as the types of
    /// ICMPv6. A protocol without it covers all values that no other one claims.
    pub recognise: Option<(&'static str, &'static [u128])>,
    /// The first four bits that distinguish it from others where no field does: IP after an MPLS stack (RFC 4928
    /// section 2).
    pub nibble: Option<u8>,
    /// The field with the header's real length, its parts included.
    pub real_length: Option<Length>,
    /// Fields and their bits of which some are set in a fragment, where what follows the header is no header.
    pub fragment: &'static [(&'static str, u128)],
    /// The bytes with the addresses of the pseudo-header, if checksums after this header include one.
    pub pseudo_header: Option<Range<usize>>,
    /// A field and the bytes of an address: while the field is not zero, a pseudo-header has this address and not the
    /// destination of the IP header (RFC 8200 section 8.1).
    pub final_destination: Option<(&'static str, Range<usize>)>,
    /// Defaults this header needs in the nearest ones before it: `("ipv6", "hop_limit", 255)`.
    pub needs: &'static [(&'static str, &'static str, u128)],
    /// Allowed at any position and before any header; nothing names it and it names nothing.
    pub anywhere: bool,
    /// No reader finds it: its bytes are taken for another header or for payload.
    pub only_built: bool,
}

/// The whole of a part. A part counts to the length of its whole, and the whole names the header after both.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// Names of the headers it can be part of.
    pub of: &'static [&'static str],
    /// Detection by a reader.
    pub found: Found,
}

/// Detection of a part by a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// By [`Protocol::recognise`], as far as the length of the whole goes; zeros at its end are padding. Without such a
    /// length, as far as the packet goes.
    ByKind,
    /// The same, and no part comes after it.
    ByKindLast,
    /// One of these fields of the whole is not zero. Such a part is there at most once.
    ByFlag(&'static [&'static str]),
    /// As often as given by the field of the whole, and `more` times more.
    ByCount {
        /// The field.
        field: &'static str,
        /// Number of parts that are not counted.
        more: u8,
    },
}

/// Encoding of a header's length in a field: `field * unit + beyond` bytes.
#[derive(Debug, Clone, Copy)]
pub struct Length {
    /// The field.
    pub field: &'static str,
    /// Bytes it counts in; the header is padded with zeros to a whole number of them.
    pub unit: usize,
    /// Bytes it does not count.
    pub beyond: usize,
}

/// A value in [`Protocol::follows`] for every length: the header before holds the number of bytes after it there, which
/// IEEE 802.3 distinguishes from an EtherType by its size.
pub const BY_LENGTH: u64 = u64::MAX;
/// Most names of headers in a message.
const NAMED_MAX: usize = 4;
/// Largest number in a type field that is a length (IEEE 802.3 clause 3.2.6).
const LENGTH_MAX: u128 = 1500;

/// A field of a header.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The name after the dot: `src` of `ipv4.src`.
    pub name: &'static str,
    /// Offset of the first (most significant) bit from the header's start.
    pub bit: u16,
    /// Width in bits, 1 to 128.
    pub width: u16,
    /// Notation.
    pub kind: Kind,
    /// Default if it is not set and not computed.
    pub default: u128,
    /// Computation if it is not set.
    pub auto: Auto,
    /// One line for people.
    pub doc: &'static str,
}

/// Notation of a field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `17` or `0x11`; printed in decimal.
    Number,
    /// `17` or `0x11`; printed in hexadecimal.
    Hex,
    /// `02:00:00:00:00:01`.
    Mac,
    /// `10.0.0.1`.
    Ipv4,
    /// `2001:2::1`.
    Ipv6,
}

/// Computation of a field that is not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auto {
    /// None: the default is used.
    Default,
    /// The value by which this header names the next one.
    NextProtocol,
    /// Bytes of this header and all that follows.
    LengthWithHeader,
    /// Bytes of all that follows this header.
    LengthBehindHeader,
    /// Number of these parts in the header.
    Count {
        /// Their names.
        parts: &'static [&'static str],
        /// Number of those that are not counted.
        less: u8,
    },
    /// Ones' complement sum over this header and its parts (RFC 791).
    HeaderChecksum,
    /// Ones' complement sum over this header, all after it, and the pseudo-header of the IP header before it.
    PseudoHeaderChecksum {
        /// A sum of zero is sent as all ones, because zero means "no checksum" (UDP, RFC 768).
        zero_as_ones: bool,
    },
    /// Ones' complement sum over this header and all after it, without a pseudo-header (ICMP, RFC 792). In a part, it
    /// begins where the whole does (GRE, RFC 2784).
    PlainChecksum,
    /// CRC-32C over this header and all after it (SCTP, RFC 9260 appendix A).
    Crc32c,
}

/// A text or number that is not a value of the field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueError {
    /// Given text.
    pub given: String,
    /// Expected value: `an IPv4 address such as 10.0.0.1`, `a number from 0 to 65535`.
    pub expected: String,
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not {}", self.given, self.expected)
    }
}

impl std::error::Error for ValueError {}

impl Field {
    /// Reads a value as people write it.
    pub fn parse(&self, text: &str) -> Result<u128, ValueError> {
        let given = text.trim();
        let value = match self.kind {
            Kind::Number | Kind::Hex => parse_number(given),
            Kind::Mac => given.parse::<Mac>().ok().map(|mac| mac.number().into()),
            Kind::Ipv4 => given.parse().ok().map(|ip: Ipv4Addr| u128::from(u32::from(ip))),
            Kind::Ipv6 => given.parse().ok().map(|ip: Ipv6Addr| u128::from(ip)),
        };
        value
            .filter(|v| *v <= self.max())
            .ok_or_else(|| ValueError { given: text.to_owned(), expected: self.expected() })
    }

    /// Writes a value as people read it.
    pub fn print(&self, value: u128) -> String {
        match self.kind {
            Kind::Number => value.to_string(),
            Kind::Hex => format!("{value:#x}"),
            Kind::Mac => Mac::from_number(value as u64).to_string(),
            Kind::Ipv4 => Ipv4Addr::from(value as u32).to_string(),
            Kind::Ipv6 => Ipv6Addr::from(value).to_string(),
        }
    }

    /// Accepted values, for messages: `a number from 0 to 65535`.
    pub fn expected(&self) -> String {
        match self.kind {
            Kind::Number | Kind::Hex => format!("a number from 0 to {}", self.print(self.max())),
            Kind::Mac => "a MAC address such as 02:00:00:00:00:01".to_owned(),
            Kind::Ipv4 => "an IPv4 address such as 10.0.0.1".to_owned(),
            Kind::Ipv6 => "an IPv6 address such as 2001:2::1".to_owned(),
        }
    }

    /// Largest value the field holds.
    pub fn max(&self) -> u128 {
        u128::MAX >> (128 - self.width)
    }

    /// The value in `header`, the bytes of the field's header; `None` if they are too few.
    pub fn get(&self, header: &[u8]) -> Option<u128> {
        let bytes = header.get(self.bytes())?;
        let mut value = 0;
        for (index, byte) in bytes.iter().enumerate() {
            let (bits, behind) = self.share(index);
            value = value << bits | u128::from(byte >> behind) & low_bits(bits);
        }
        Some(value)
    }

    /// Puts `value` into `header`. Bits of `value` beyond the field's width are ignored.
    ///
    /// # Panics
    /// If `header` is too short.
    pub fn set(&self, header: &mut [u8], value: u128) {
        let mut rest = value;
        for (index, byte) in header[self.bytes()].iter_mut().enumerate().rev() {
            let (bits, behind) = self.share(index);
            let mask = (low_bits(bits) as u8) << behind;
            *byte = *byte & !mask | ((rest as u8) << behind) & mask;
            rest >>= bits;
        }
    }

    /// The bytes of the header the field has a share in.
    fn bytes(&self) -> Range<usize> {
        let (first, behind) = (usize::from(self.bit), usize::from(self.bit + self.width));
        first / 8..behind.div_ceil(8)
    }

    /// Number of bits of the field's byte `index` that belong to it, and number of bits after them that do not.
    fn share(&self, index: usize) -> (usize, usize) {
        let bytes = self.bytes();
        let start = (bytes.start + index) * 8;
        let from = usize::from(self.bit).max(start) - start;
        let to = usize::from(self.bit + self.width).min(start + 8) - start;
        (to - from, 8 - to)
    }
}

/// A number with its lowest `bits` set, at most 8.
fn low_bits(bits: usize) -> u128 {
    (1 << bits) - 1
}

/// `17`, `0x11` or `1_000_000`.
fn parse_number(text: &str) -> Option<u128> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    let digits: String = digits.chars().filter(|c| *c != '_').collect();
    // `from_str_radix` would take a sign.
    if digits.starts_with('+') { None } else { u128::from_str_radix(&digits, radix).ok() }
}

impl Auto {
    /// Whether it computes a checksum.
    pub fn is_checksum(self) -> bool {
        matches!(
            self,
            Self::HeaderChecksum | Self::PseudoHeaderChecksum { .. } | Self::PlainChecksum | Self::Crc32c
        )
    }
}

impl Protocol {
    /// A header with nothing special about it: what `..Protocol::PLAIN` fills in.
    pub const PLAIN: Self = Self {
        name: "",
        title: "",
        source: "",
        len: 0,
        fields: &[],
        variable: None,
        follows: &[],
        names_like: None,
        part: None,
        first_of_several: None,
        recognise: None,
        nibble: None,
        real_length: None,
        fragment: &[],
        pseudo_header: None,
        final_destination: None,
        needs: &[],
        anywhere: false,
        only_built: false,
    };

    /// The field called `name`.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|f| f.name == name)
    }

    /// The field of variable length, if it is called `name`.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variable.as_ref().filter(|v| v.name == name)
    }

    /// The field that names the next header.
    pub fn next_field(&self) -> Option<&'static Field> {
        self.fields.iter().find(|f| f.auto == Auto::NextProtocol)
    }

    /// The names of the headers that this one can follow: the ones it follows, or the ones it is part of.
    pub fn goes_behind(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = match &self.part {
            Some(part) => part.of.to_vec(),
            None => self.follows.iter().map(|(name, _)| *name).collect(),
        };
        names.dedup();
        names
    }

    /// The same in words, for messages: `ipv4 or ipv6`; of many names the first ones. Empty if there are none.
    pub fn goes_behind_in_words(&self) -> String {
        let mut names = self.goes_behind();
        if names.len() > NAMED_MAX {
            names.truncate(NAMED_MAX - 1);
            names.push("others");
        }
        names.join(" or ")
    }

    /// Whether this header is a part of `whole`.
    pub fn is_part_of(&self, whole: &Protocol) -> bool {
        self.part.is_some_and(|part| part.of.contains(&whole.name))
    }

    /// The value by which the header `outer` names this one, where it is (or is not) the first of several in a row.
    pub fn number_after(&self, outer: &Protocol, first_of_several: bool) -> Option<u64> {
        let number = self.numbers_after(outer).next()?;
        Some(self.first_of_several.filter(|_| first_of_several).unwrap_or(number))
    }

    /// All values by which the header `outer` may name this one, the one of several in a row not among them.
    fn numbers_after(&self, outer: &Protocol) -> impl Iterator<Item = u64> {
        let behind = |name: &'static str| {
            self.follows.iter().filter(move |(outer, _)| *outer == name).map(|(_, number)| *number)
        };
        behind(outer.name).chain(outer.names_like.into_iter().flat_map(behind))
    }

    /// All values by which the header `outer` may name this one, for [`is_number`].
    pub(crate) fn all_numbers_after(&self, outer: &Protocol) -> Vec<u64> {
        let numbers: Vec<u64> = self.numbers_after(outer).collect();
        let first = self.first_of_several.filter(|_| !numbers.is_empty());
        numbers.into_iter().chain(first).collect()
    }

    /// Length of the header that `bytes` begin with, parts included; never less than without them.
    pub fn length_in(&self, bytes: &[u8]) -> usize {
        let told = self.real_length.and_then(|length| {
            let units = self.field(length.field)?.get(bytes)?;
            Some(length.bytes(units))
        });
        told.map_or(self.len, |told| self.len.max(told))
    }

    /// Number of bytes by which `field` is after its place, because of `variable` bytes in the field of variable
    /// length.
    pub(crate) fn shift(&self, field: &Field, variable: usize) -> usize {
        match &self.variable {
            Some(v) if usize::from(field.bit / 8) >= v.at => variable,
            _ => 0,
        }
    }
}

impl Length {
    /// The length for a value of the field.
    pub(crate) fn bytes(&self, units: u128) -> usize {
        units as usize * self.unit + self.beyond
    }

    /// The value for a length, and the encoded length: the next whole number of units.
    pub(crate) fn of(&self, bytes: usize) -> (u128, usize) {
        let units = bytes.saturating_sub(self.beyond).div_ceil(self.unit);
        (units as u128, units * self.unit + self.beyond)
    }
}

/// Whether a value of [`Protocol::follows`] matches the field; a header without such a field matches all.
pub(crate) fn is_number(value: u64, field: Option<u128>) -> bool {
    match field {
        None => true,
        Some(field) if value == BY_LENGTH => field <= LENGTH_MAX,
        Some(field) => u128::from(value) == field,
    }
}

/// The protocol called `name`.
pub fn protocol(name: &str) -> Option<&'static Protocol> {
    crate::protocols::ALL.iter().copied().find(|p| p.name == name)
}

/// Fields one after the other: each begins where the one before ends.
pub(crate) const fn in_order<const N: usize>(mut fields: [Field; N]) -> [Field; N] {
    let (mut index, mut bit) = (0, 0);
    while index < N {
        fields[index].bit = bit;
        bit += fields[index].width;
        index += 1;
    }
    fields
}

/// A field of `width` bits, people write as a number.
pub(crate) const fn number(name: &'static str, width: u16, doc: &'static str) -> Field {
    Field { name, bit: 0, width, kind: Kind::Number, default: 0, auto: Auto::Default, doc }
}

/// A field of `width` bits, people write in hexadecimal.
pub(crate) const fn hex(name: &'static str, width: u16, doc: &'static str) -> Field {
    Field { kind: Kind::Hex, ..number(name, width, doc) }
}

/// A MAC address.
pub(crate) const fn mac(name: &'static str, doc: &'static str) -> Field {
    Field { kind: Kind::Mac, ..number(name, 48, doc) }
}

/// An IPv4 address.
pub(crate) const fn ipv4(name: &'static str, doc: &'static str) -> Field {
    Field { kind: Kind::Ipv4, ..number(name, 32, doc) }
}

/// An IPv6 address.
pub(crate) const fn ipv6(name: &'static str, doc: &'static str) -> Field {
    Field { kind: Kind::Ipv6, ..number(name, 128, doc) }
}

impl Field {
    /// The same field with another default.
    pub(crate) const fn default(self, default: u128) -> Self {
        Self { default, ..self }
    }

    /// The same field, computed.
    pub(crate) const fn auto(self, auto: Auto) -> Self {
        Self { auto, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocols::ALL;
    use proptest::prelude::*;
    use std::collections::{HashMap, HashSet};

    fn field(path: &str) -> &'static Field {
        let (header, name) = path.split_once('.').unwrap();
        protocol(header).unwrap().field(name).unwrap()
    }

    #[test]
    fn reads_what_people_write() {
        for (path, text, value) in [
            ("udp.src", "1024", 1024),
            ("udp.src", " 0xffff ", 0xffff),
            ("ethernet.type", "0x0800", 0x0800),
            ("tcp.seq", "4_294_967_295", 0xffff_ffff),
            ("ethernet.src", "02:00:00:00:00:01", 0x0200_0000_0001),
            ("ethernet.src", "02-00-00-00-00-FF", 0x0200_0000_00ff),
            ("ipv4.dst", "10.0.0.1", 0x0a00_0001),
            ("ipv6.dst", "2001:2::1", 0x2001_0002 << 96 | 1),
        ] {
            assert_eq!(field(path).parse(text), Ok(value), "{path}: {text}");
        }
    }

    #[test]
    fn says_what_it_wants() {
        for (path, texts, expected) in [
            ("udp.src", ["65536", "+1", "_", "0x"], "a number from 0 to 65535"),
            ("ethernet.type", ["0x1_0000", "-1", "ipv4", ""], "a number from 0 to 0xffff"),
            (
                "ipv4.ttl",
                ["256", "1e2", "10.0", "99999999999999999999999999999999999999999999"],
                "a number from 0 to 255",
            ),
            (
                "ethernet.dst",
                ["02:00:00:00:00", "02:00:00:00:00:01:02", "02:00:00:00:00:+1", "020000000001"],
                "a MAC address such as 02:00:00:00:00:01",
            ),
            ("ipv4.src", ["10.0.0", "10.0.0.256", "::1", "10.0.0.1/24"], "an IPv4 address such as 10.0.0.1"),
            (
                "ipv6.src",
                ["10.0.0.1", "2001:2:::1", "1", "fe80::1%eth0"],
                "an IPv6 address such as 2001:2::1",
            ),
        ] {
            for text in texts {
                let error = field(path).parse(text).unwrap_err();
                assert_eq!(error.to_string(), format!("'{text}' is not {expected}"), "{path}");
            }
        }
    }

    #[test]
    fn every_protocol_is_complete() {
        let mut names = HashSet::new();
        for p in ALL {
            assert!(names.insert(p.name), "{} is there twice", p.name);
            assert!(!p.title.is_empty() && !p.source.is_empty() && (p.len > 0 || p.anywhere), "{}", p.name);
            let mut fields = HashSet::new();
            let mut bit = 0;
            for f in p.fields {
                let path = format!("{}.{}", p.name, f.name);
                assert!(fields.insert(f.name), "{path} is there twice");
                assert_eq!(f.bit, bit, "{path} does not begin where the field before ends");
                assert!((1..=128).contains(&f.width) && !f.doc.is_empty(), "{path}");
                assert!(f.default <= f.max(), "{path}: the default does not fit");
                let width = match f.kind {
                    Kind::Number | Kind::Hex => f.width,
                    Kind::Mac => 48,
                    Kind::Ipv4 => 32,
                    Kind::Ipv6 => 128,
                };
                assert_eq!(f.width, width, "{path}");
                bit += f.width;
            }
            if let Some(v) = &p.variable {
                assert!(fields.insert(v.name) && !v.doc.is_empty() && v.at <= p.len, "{}.{}", p.name, v.name);
                assert_eq!(v.parse(&v.print(v.default)).as_deref(), Ok(v.default), "{}.{}", p.name, v.name);
            }
            assert_eq!(usize::from(bit), p.len * 8, "the fields of {} do not cover it", p.name);
        }
    }

    #[test]
    fn computed_fields_are_where_they_can_be() {
        for p in ALL {
            let checksums = p.fields.iter().filter(|f| f.auto.is_checksum());
            assert!(checksums.clone().count() <= 1, "{} has two checksums", p.name);
            for f in checksums {
                let width = if f.auto == Auto::Crc32c { 32 } else { 16 };
                assert!(f.width == width && f.bit % 16 == 0, "{}.{} is not a word", p.name, f.name);
            }
            let next = p.fields.iter().filter(|f| f.auto == Auto::NextProtocol).count();
            assert!(next <= 1, "{} names its next header twice", p.name);
            if let Some(length) = p.real_length {
                let bytes = p.len + p.variable.as_ref().map_or(0, |v| v.default.len());
                assert_eq!(p.field(length.field).unwrap().default, length.of(bytes).0, "{}", p.name);
            }
            for (name, _) in p.fragment {
                assert!(p.field(name).is_some(), "{}", p.name);
            }
            assert!(p.pseudo_header.clone().is_none_or(|bytes| bytes.end <= p.len), "{}", p.name);
            for (outer, name, value) in p.needs {
                let field = protocol(outer).unwrap().field(name).unwrap();
                assert!(*value <= field.max(), "{} needs too much of {outer}.{name}", p.name);
            }
        }
    }

    #[test]
    fn every_header_is_named_by_those_it_follows() {
        let mut named = HashMap::new();
        for p in ALL {
            assert!(p.names_like.is_none_or(|name| protocol(name).is_some()), "{}", p.name);
            for (outer, number) in p.follows {
                let Some(field) = protocol(outer).unwrap().next_field() else {
                    assert_eq!(*number, 0, "{outer} has no field that names {}", p.name);
                    continue;
                };
                for number in [Some(*number), p.first_of_several].into_iter().flatten() {
                    assert!(
                        number == BY_LENGTH || u128::from(number) <= field.max(),
                        "{} after {outer}",
                        p.name
                    );
                    let others: &mut Vec<&Protocol> = named.entry((outer, number)).or_default();
                    if !others.iter().any(|other| other.name == p.name) {
                        others.push(p);
                    }
                }
            }
            if let Some((name, values)) = p.recognise {
                let default = p.field(name).unwrap().default;
                assert!(values.contains(&default), "{} would not be recognised", p.name);
            }
        }
        for ((outer, number), protocols) in named {
            let several = protocols.iter().filter(|p| p.recognise.is_none()).count() > 1;
            for p in protocols {
                let told = p.recognise.is_some() || p.nibble.is_some() || !several;
                assert!(told, "{number:#x} in {outer} names {} and another", p.name);
            }
        }
    }

    #[test]
    fn every_part_has_a_whole_that_tells_it() {
        for (p, part) in ALL.iter().filter_map(|p| Some((p, p.part?))) {
            assert!(p.follows.is_empty() && !part.of.is_empty(), "{}", p.name);
            for whole in part.of.iter().map(|whole| protocol(whole).unwrap()) {
                let fields = match part.found {
                    Found::ByFlag(fields) => fields.to_vec(),
                    Found::ByCount { field, .. } => vec![field],
                    Found::ByKind | Found::ByKindLast => vec![],
                };
                assert!(fields.iter().all(|name| whole.field(name).is_some()), "{}", p.name);
            }
        }
    }

    fn any_field() -> impl Strategy<Value = &'static Field> {
        let all: Vec<&'static Field> = ALL.iter().flat_map(|p| p.fields).collect();
        proptest::sample::select(all)
    }

    proptest! {
        #[test]
        fn parses_what_it_prints(field in any_field(), value: u128) {
            let value = value & field.max();
            prop_assert_eq!(field.parse(&field.print(value)), Ok(value));
        }

        #[test]
        fn parses_any_text_without_panic(field in any_field(), text: String) {
            let _ = field.parse(&text);
        }

        #[test]
        fn gets_what_was_set_at_every_offset(bit in 0u16..64, width in 1u16..=128, value: u128, fill: u8) {
            let field = Field { bit, ..number("any", width, "") };
            let before = [fill; 24];
            let mut header = before;
            field.set(&mut header, value);
            prop_assert_eq!(field.get(&header), Some(value & field.max()));
            for n in 0..24 * 8 {
                if !(bit..bit + width).contains(&n) {
                    let byte = usize::from(n / 8);
                    prop_assert_eq!((header[byte] ^ before[byte]) >> (7 - n % 8) & 1, 0, "bit {} changed", n);
                }
            }
            let needs = usize::from(bit + width).div_ceil(8);
            prop_assert_eq!(field.get(&header[..needs - 1]), None);
        }
    }
}
