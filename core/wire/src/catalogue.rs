//! What a protocol is: a name, a source, and fields with offset and width.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;

/// A header: everything that is known about it. One file in `protocols` each.
///
/// Written as `Protocol { name: …, ..Protocol::PLAIN }`, so that only what is special about a header is said.
#[derive(Debug)]
pub struct Protocol {
    /// The name in profiles: `ipv4`.
    pub name: &'static str,
    /// One line for people: `Internet Protocol, version 4`.
    pub title: &'static str,
    /// Where it is defined: `RFC 791`.
    pub source: &'static str,
    /// Length without options, bytes.
    pub len: usize,
    /// Fields in wire order.
    pub fields: &'static [Field],
    /// The value by which the header before names this one, for each protocol it can follow: `("ethernet", 0x0800)`.
    /// The field that holds the value is the one with [`Auto::NextProtocol`].
    pub follows: &'static [(&'static str, u64)],
    /// The value by which the header before names the first of several of this protocol in a row (IEEE 802.1ad).
    pub first_of_several: Option<u64>,
    /// A field and the value that tells this header from others with the same number, such as the types of ICMPv6. A
    /// protocol without it stands for all values that no other one claims.
    pub recognise: Option<(&'static str, u128)>,
    /// The field with the header's real length, options included, and the bytes it counts in.
    pub real_length: Option<(&'static str, usize)>,
    /// The field that is not zero in a later fragment, where what is behind the header is no header.
    pub fragment: Option<&'static str>,
    /// The bytes with the addresses of the pseudo-header, if checksums behind this header include one.
    pub pseudo_header: Option<Range<usize>>,
    /// Defaults this header needs in the ones before it: `("ipv6", "hop_limit", 255)`.
    pub needs: &'static [(&'static str, &'static str, u128)],
}

/// A field of a header.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The name behind the dot: `src` of `ipv4.src`.
    pub name: &'static str,
    /// Offset of the first (most significant) bit from the header's start.
    pub bit: u16,
    /// Width in bits, 1 to 128.
    pub width: u16,
    /// How people write it.
    pub kind: Kind,
    /// What it holds if nobody sets it and it is not computed.
    pub default: u128,
    /// What computes it if nobody sets it.
    pub auto: Auto,
    /// One line for people.
    pub doc: &'static str,
}

/// How people write a field's value.
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

/// What computes a field that nobody set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auto {
    /// Nothing: the default stands.
    Default,
    /// The value by which this header names the next one.
    NextProtocol,
    /// Bytes of this header and all that follows.
    LengthWithHeader,
    /// Bytes of all that follows this header.
    LengthBehindHeader,
    /// Ones' complement sum over this header (RFC 791).
    HeaderChecksum,
    /// Ones' complement sum over this header, all behind it, and the pseudo-header of the IP header before it.
    PseudoHeaderChecksum {
        /// A sum of zero is sent as all ones, because zero means "no checksum" (UDP, RFC 768).
        zero_as_ones: bool,
    },
    /// Ones' complement sum over this header and all behind it, without a pseudo-header (ICMP, RFC 792).
    PlainChecksum,
}

/// A text or number that is not a value of the field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueError {
    /// What was given.
    pub given: String,
    /// What is wanted: `an IPv4 address such as 10.0.0.1`, `a number from 0 to 65535`.
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
            Kind::Mac => parse_mac(given),
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
            Kind::Mac => {
                let bytes = value.to_be_bytes();
                bytes[10..].iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(":")
            }
            Kind::Ipv4 => Ipv4Addr::from(value as u32).to_string(),
            Kind::Ipv6 => Ipv6Addr::from(value).to_string(),
        }
    }

    /// What is understood as a value, for messages: `a number from 0 to 65535`.
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

    /// How many bits of the field's byte `index` belong to it, and how many bits behind them do not.
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

/// `02:00:00:00:00:01`, or with `-` as IEEE 802 writes it.
fn parse_mac(text: &str) -> Option<u128> {
    let separator = if text.contains('-') { '-' } else { ':' };
    let (mut value, mut bytes) = (0, 0);
    for byte in text.split(separator) {
        if byte.len() != 2 || !byte.chars().all(|c| c.is_ascii_hexdigit()) {
            return None;
        }
        value = value << 8 | u128::from_str_radix(byte, 16).ok()?;
        bytes += 1;
        if bytes > 6 {
            return None;
        }
    }
    (bytes == 6).then_some(value)
}

impl Protocol {
    /// A header with nothing special about it: what `..Protocol::PLAIN` fills in.
    pub const PLAIN: Self = Self {
        name: "",
        title: "",
        source: "",
        len: 0,
        fields: &[],
        follows: &[],
        first_of_several: None,
        recognise: None,
        real_length: None,
        fragment: None,
        pseudo_header: None,
        needs: &[],
    };

    /// The field called `name`.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|f| f.name == name)
    }

    /// The field that names the next header.
    pub fn next_field(&self) -> Option<&'static Field> {
        self.fields.iter().find(|f| f.auto == Auto::NextProtocol)
    }

    /// The value by which the header `outer` names this one, where it is (or is not) the first of several in a row.
    pub fn number_after(&self, outer: &Protocol, first_of_several: bool) -> Option<u64> {
        let (_, number) = self.follows.iter().find(|(name, _)| *name == outer.name)?;
        Some(self.first_of_several.filter(|_| first_of_several).unwrap_or(*number))
    }

    /// Whether `number` in the header `outer` names this one.
    pub fn is_named(&self, outer: &Protocol, number: u128) -> bool {
        let first = self.first_of_several;
        self.follows.iter().any(|(name, n)| {
            *name == outer.name && (u128::from(*n) == number || first.map(u128::from) == Some(number))
        })
    }

    /// Length of the header that `bytes` begin with, options included; never less than without them.
    pub fn length_in(&self, bytes: &[u8]) -> usize {
        let Some((name, unit)) = self.real_length else { return self.len };
        let units = self.field(name).and_then(|f| f.get(bytes)).unwrap_or(0);
        self.len.max(units as usize * unit)
    }
}

/// The protocol called `name`.
pub fn protocol(name: &str) -> Option<&'static Protocol> {
    crate::protocols::ALL.iter().copied().find(|p| p.name == name)
}

/// Fields one behind the other: each begins where the one before ends.
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
    use std::collections::HashSet;

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
            assert!(!p.title.is_empty() && !p.source.is_empty() && p.len > 0, "{}", p.name);
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
            assert_eq!(usize::from(bit), p.len * 8, "the fields of {} do not cover it", p.name);
        }
    }

    #[test]
    fn computed_fields_are_where_they_can_be() {
        for p in ALL {
            let checksums = p.fields.iter().filter(|f| {
                matches!(
                    f.auto,
                    Auto::HeaderChecksum | Auto::PseudoHeaderChecksum { .. } | Auto::PlainChecksum
                )
            });
            assert!(checksums.clone().count() <= 1, "{} has two checksums", p.name);
            for f in checksums {
                assert!(f.width == 16 && f.bit % 16 == 0, "{}.{} is not a 16-bit word", p.name, f.name);
            }
            let next = p.fields.iter().filter(|f| f.auto == Auto::NextProtocol).count();
            assert!(next <= 1, "{} names its next header twice", p.name);
            if let Some((field, unit)) = p.real_length {
                let field = p.field(field).unwrap();
                assert_eq!(field.default as usize * unit, p.len, "{}", p.name);
            }
            assert!(p.fragment.is_none_or(|name| p.field(name).is_some()), "{}", p.name);
            assert!(p.pseudo_header.clone().is_none_or(|bytes| bytes.end <= p.len), "{}", p.name);
            for (outer, name, value) in p.needs {
                let field = protocol(outer).unwrap().field(name).unwrap();
                assert!(*value <= field.max(), "{} needs too much of {outer}.{name}", p.name);
            }
        }
    }

    #[test]
    fn every_header_is_named_by_those_it_follows() {
        let mut named = HashSet::new();
        for p in ALL {
            for (outer, number) in p.follows {
                let field = protocol(outer).unwrap().next_field().unwrap();
                let numbers = [Some(*number), p.first_of_several].into_iter().flatten();
                for number in numbers {
                    assert!(u128::from(number) <= field.max(), "{} after {outer}", p.name);
                    let key = (outer, number, p.recognise.map(|(_, value)| value));
                    assert!(named.insert(key), "{number:#x} in {outer} names {} and another", p.name);
                }
            }
            if let Some((name, value)) = p.recognise {
                assert_eq!(p.field(name).unwrap().default, value, "{} would not be recognised", p.name);
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
