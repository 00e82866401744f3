//! A header in the making: its bits in wire order, each value_of or left to be computed, and which of them vary.

use crate::node::Node;
use crate::pattern::{Absent, MetricTag, Series, Values, field_value, ones, tags};
use profile::document::{FieldValue, PacketElement};
use wire::{Field, Protocol, protocol};

/// A header of the catalogue, or plain bytes.
#[derive(Debug, Clone)]
pub(crate) struct Header {
    /// `None` for plain bytes.
    pub(crate) protocol: Option<&'static Protocol>,
    /// Bits in order; `None` is computed.
    bits: Vec<Option<bool>>,
    /// Varying fields.
    pub(crate) varied: Vec<Varied>,
    /// Tagged fields.
    pub(crate) tags: Vec<Tag>,
    /// Location of a requested wrong checksum: first bit and width.
    pub(crate) bad: Option<(usize, u16)>,
    /// The field of variable length.
    pub(crate) variable: Option<Vec<u8>>,
    /// The model's fallback for the field that identifies the next header.
    pub(crate) unknown_next: Option<u128>,
    /// Path of the model's header.
    pub(crate) path: String,
}

/// Varying bits.
#[derive(Debug, Clone)]
pub(crate) struct Varied {
    /// First bit in the header.
    pub(crate) at: usize,
    pub(crate) width: u16,
    pub(crate) series: Series,
}

/// Tagged bits.
#[derive(Debug, Clone)]
pub(crate) struct Tag {
    pub(crate) tag: MetricTag,
    /// First bit of the field in the header.
    pub(crate) at: usize,
}

/// A part of a header, in wire order. Names can be paths: `echo.type`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    /// A pattern with its width in bits.
    Pattern(&'static str, u16),
    /// A pattern that is computed if absent.
    Computed(&'static str, u16),
    /// A plain number.
    Number(&'static str, u16),
    /// A fixed value.
    Fixed(u128, u16),
}

impl Header {
    /// An empty header of the catalogue.
    pub(crate) fn native(name: &str, node: &Node<'_>) -> Self {
        let known = protocol(name).unwrap_or_else(|| panic!("the catalogue has no {name}"));
        Self { protocol: Some(known), ..Self::plain(node) }
    }

    /// Plain bytes.
    pub(crate) fn plain(node: &Node<'_>) -> Self {
        Self { path: node.path().to_owned(), ..Self::empty() }
    }

    /// No bytes; separates two headers.
    pub(crate) fn empty() -> Self {
        Self {
            protocol: None,
            bits: Vec::new(),
            varied: Vec::new(),
            tags: Vec::new(),
            bad: None,
            variable: None,
            unknown_next: None,
            path: String::new(),
        }
    }

    /// Adds parts of the model's header `node`.
    pub(crate) fn parts(mut self, node: &Node<'_>, parts: &[Part]) -> Self {
        for part in parts {
            match *part {
                Part::Pattern(name, width) => self.pattern(&node.at(name), width, Absent::Default),
                Part::Computed(name, width) => self.pattern(&node.at(name), width, Absent::Computed),
                Part::Number(name, width) => self.number(node.bits(name), width),
                Part::Fixed(value, width) => self.number(value, width),
            }
        }
        self
    }

    /// Adds the bits of a pattern.
    pub(crate) fn pattern(&mut self, node: &Node<'_>, width: u16, absent: Absent) {
        let values = Values::read(node, width, absent);
        let at = self.bits.len();
        self.tags.extend(tags(node, width).into_iter().map(|tag| Tag { tag, at }));
        self.values(values, width);
    }

    /// Adds bits with these values.
    pub(crate) fn values(&mut self, values: Values, width: u16) {
        let at = self.bits.len();
        match values {
            Values::Computed => self.computed(width),
            Values::Bad => {
                self.bad = Some((at, width));
                self.computed(width);
            }
            Values::One(value) => self.number(value, width),
            Values::Many(series) => {
                self.number(series.nth(0, width), width);
                self.varied.push(Varied { at, width, series });
            }
        }
    }

    /// Adds computed bits.
    pub(crate) fn computed(&mut self, width: u16) {
        self.bits.extend((0..width).map(|_| None));
    }

    /// Adds the bits of a number.
    pub(crate) fn number(&mut self, value: u128, width: u16) {
        self.bits.extend((0..width).rev().map(|bit| Some(value >> bit & 1 == 1)));
    }

    /// Adds bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.number(u128::from(*byte), 8));
    }

    /// Overwrites the bits from `at`.
    pub(crate) fn set(&mut self, at: usize, value: u128, width: u16) {
        for bit in 0..usize::from(width) {
            self.bits[at + bit] = Some(value >> (usize::from(width) - 1 - bit) & 1 == 1);
        }
    }

    /// The value of bits, with computed ones as zeros.
    pub(crate) fn get(&self, at: usize, width: u16) -> u128 {
        let bits = &self.bits[at..at + usize::from(width)];
        bits.iter().fold(0, |sum, bit| sum << 1 | u128::from(bit.unwrap_or_default()))
    }

    /// Keeps only the bits from `from` to before `to`. For headers without varying or tagged fields.
    pub(crate) fn cut(&mut self, from: usize, to: usize) {
        self.bits = self.bits[from..to].to_vec();
    }

    /// Varying fields with tags.
    pub(crate) fn tagged(&self) -> impl Iterator<Item = &Varied> {
        self.varied.iter().filter(|varied| self.tags.iter().any(|tag| tag.at == varied.at))
    }

    /// Bits so far.
    pub(crate) fn len(&self) -> usize {
        self.bits.len()
    }

    /// The bytes so far.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        (0..self.bits.len() / 8).map(|byte| self.get(byte * 8, 8) as u8).collect()
    }

    /// Appends another header's bits, varying fields and tags.
    pub(crate) fn append(&mut self, other: Header) {
        let by = self.bits.len();
        self.bits.extend(other.bits);
        self.varied.extend(other.varied.into_iter().map(|varied| Varied { at: varied.at + by, ..varied }));
        self.tags.extend(other.tags.into_iter().map(|tag| Tag { at: tag.at + by, ..tag }));
    }

    /// The field's value, if any of its bits is set.
    fn value_of(&self, field: &Field) -> Option<u128> {
        let (at, width) = (usize::from(field.bit), usize::from(field.width));
        let bits = self.bits.get(at..at + width)?;
        bits.iter().any(Option::is_some).then(|| self.get(at, field.width))
    }

    /// Sets an unset next-header field to the model's fallback. Returns whether it was unset.
    pub(crate) fn set_unknown_next(&mut self) -> bool {
        let unset = self.unset_next_field().is_some() && self.unknown_next.is_some();
        self.unknown_next.into_iter().for_each(|value| self.set_next(value));
        unset
    }

    /// Sets an unset next-header field to `value`.
    pub(crate) fn set_next(&mut self, value: u128) {
        if let Some(field) = self.unset_next_field() {
            self.set(usize::from(field.bit), value & ones(field.width), field.width);
        }
    }

    /// The field by which it names what follows, unless that is value_of.
    fn unset_next_field(&self) -> Option<&'static Field> {
        self.protocol.and_then(Protocol::next_field).filter(|field| self.value_of(field).is_none())
    }

    /// The header for the catalogue.
    pub(crate) fn spec(&self) -> wire::Header {
        let Some(known) = self.protocol else {
            let mut header = wire::Header::new(bytes_protocol());
            header.variable = Some(self.to_bytes());
            return header;
        };
        let mut header = wire::Header::new(known);
        header.variable = self.variable.clone();
        for field in known.fields {
            self.value_of(field).into_iter().for_each(|value| header.put(field, value));
        }
        header
    }

    /// The header in a profile.
    pub(crate) fn element(&self) -> PacketElement {
        let hex = |name: &str, bytes: &[u8]| {
            (name.to_owned(), FieldValue::Text(bytes.iter().map(|b| format!("{b:02x}")).collect()))
        };
        let Some(known) = self.protocol else {
            return PacketElement::with_fields("bytes", [hex("hex", &self.to_bytes())]);
        };
        let set =
            |field: &Field| Some((field.name.to_owned(), field_value(field.kind, self.value_of(field)?)));
        let variable = known.variable.as_ref().zip(self.variable.as_ref());
        let variable = variable.map(|(variable, bytes)| hex(variable.name, bytes));
        PacketElement::with_fields(known.name, known.fields.iter().filter_map(set).chain(variable))
    }

    /// The catalogue's field with exactly these bits.
    pub(crate) fn field_at(&self, at: usize, width: u16) -> Option<&'static Field> {
        let fields = self.protocol?.fields;
        fields.iter().find(|field| usize::from(field.bit) == at && field.width == width)
    }
}

/// The catalogue's header for plain bytes.
fn bytes_protocol() -> &'static Protocol {
    protocol("bytes").unwrap_or_else(|| panic!("the catalogue has no bytes"))
}
