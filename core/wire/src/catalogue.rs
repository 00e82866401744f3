//! What a protocol is: a name, a source, and fields with offset and width.

use std::fmt;

/// A header: everything that is known about it. One file in `protocols` each.
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
}

/// A field of a header.
#[derive(Debug)]
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
        let _ = text;
        todo!()
    }

    /// Writes a value as people read it.
    pub fn print(&self, value: u128) -> String {
        let _ = value;
        todo!()
    }

    /// Largest value the field holds.
    pub fn max(&self) -> u128 {
        todo!()
    }

    /// The value in `header`, the bytes of the field's header; `None` if they are too few.
    pub fn get(&self, header: &[u8]) -> Option<u128> {
        let _ = header;
        todo!()
    }

    /// Puts `value` into `header`. Bits of `value` beyond the field's width are ignored.
    ///
    /// # Panics
    /// If `header` is too short.
    pub fn set(&self, header: &mut [u8], value: u128) {
        let _ = (header, value);
        todo!()
    }
}

impl Protocol {
    /// The field called `name`.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|f| f.name == name)
    }
}

/// The protocol called `name`.
pub fn protocol(name: &str) -> Option<&'static Protocol> {
    crate::protocols::ALL.iter().copied().find(|p| p.name == name)
}
