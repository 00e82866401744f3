//! Elements of a stream's `packet`. Their schema is made from the protocol catalogue.

use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use wire::{Field, Kind, Protocol, ValueError, Variable};

/// The key of a payload given as text.
pub(crate) const PAYLOAD: &str = "payload";
/// The key of a payload given as hexadecimal digits.
pub(crate) const HEX: &str = "hex";

/// The key of what fills the payload after its first bytes.
pub(crate) const FILL: &str = "fill";
/// The key of a text that fills the payload again and again.
pub(crate) const REPEAT: &str = "repeat";
/// The fills that have a name alone.
pub(crate) const FILLS: [&str; 4] = ["zeros", "counter", "prbs", "random"];

/// `udp`, `{udp: {dst: 9}}`, `{payload: text}`, `{hex: 00ff}` or `{fill: counter}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PacketElement {
    /// A header with only default values.
    Bare(String),
    /// One header with fields set, or the payload, or its fill.
    Keyed(IndexMap<String, Content>),
}

impl PacketElement {
    /// A header, or a fill, with fields set.
    pub fn with_fields(name: &str, fields: impl IntoIterator<Item = (String, FieldValue)>) -> Self {
        Self::Keyed(IndexMap::from([(name.to_owned(), Content::Fields(fields.into_iter().collect()))]))
    }

    /// A payload, or a fill that has a name alone.
    pub fn with_text(name: &str, text: impl Into<String>) -> Self {
        Self::Keyed(IndexMap::from([(name.to_owned(), Content::Text(text.into()))]))
    }
}

/// Value of an element's key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// A payload's text, or the name of a fill.
    Text(String),
    /// Fields set.
    Fields(IndexMap<String, FieldValue>),
}

/// A field's value as written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FieldValue {
    /// A number.
    Number(u64),
    /// A text in the field's own form.
    Text(String),
}

impl FieldValue {
    /// The text [`Field::parse`] reads.
    pub fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

impl JsonSchema for FieldValue {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "FieldValue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["integer", "string"], "x-noun": "value"})
    }
}

/// A field that a schema's format such as `field:ipv4.src` stands for.
pub(crate) enum FormatField {
    Fixed(&'static Field),
    Variable(&'static Variable),
}

impl FormatField {
    /// Whether `text` is a value of the field.
    pub(crate) fn parse(&self, text: &str) -> Result<(), ValueError> {
        match self {
            Self::Fixed(field) => field.parse(text).map(|_| ()),
            Self::Variable(variable) => variable.parse(text).map(|_| ()),
        }
    }
}

/// The field that a schema's format such as `field:ipv4.src` stands for.
pub(crate) fn field_of_format(format: &str) -> Option<FormatField> {
    let (protocol, field) = format.strip_prefix("field:")?.split_once('.')?;
    let protocol = wire::protocol(protocol)?;
    let fixed = protocol.field(field).map(FormatField::Fixed);
    fixed.or_else(|| protocol.variable(field).map(FormatField::Variable))
}

impl JsonSchema for PacketElement {
    fn schema_name() -> Cow<'static, str> {
        "PacketElement".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let protocols = wire::protocols::ALL;
        let names: Vec<&str> = protocols.iter().map(|p| p.name).collect();
        let mut elements: Map<String, Value> =
            protocols.iter().map(|p| (p.name.to_owned(), header_schema(p))).collect();
        elements.insert(
            PAYLOAD.to_owned(),
            json!({"description": "First bytes of the payload, as text.", "type": "string"}),
        );
        elements.insert(
            HEX.to_owned(),
            json!({"description": "First bytes of the payload, in hexadecimal.", "type": "string", "format": "hex"}),
        );
        elements.insert(FILL.to_owned(), fill_schema());
        json_schema!({
            "description": "A header with defaults ('udp'), a header with fields ('udp: {dst: 9}'), or, as the last \
                elements, the payload's first bytes ('payload: text' or 'hex: 00ff') and what fills the rest of it \
                ('fill: counter').",
            "anyOf": [
                {"type": "string", "enum": names, "x-noun": "header"},
                {
                    "type": "object",
                    "properties": elements,
                    "additionalProperties": false,
                    "minProperties": 1,
                    "maxProperties": 1,
                    "x-noun": "header",
                },
            ],
        })
    }
}

fn fill_schema() -> Value {
    json!({
        "description": "Filling of the payload up to the frame's end: zeros; a counter (00 01 02 \u{2026}, RFC 2544 \
            appendix C.2.6.4); prbs, a pseudo-random sequence of 2^31 - 1 bits (ITU-T O.150); random bytes, the same in \
            every run; or a text again and again.",
        "anyOf": [
            {"type": "string", "enum": FILLS, "x-noun": "fill"},
            {
                "type": "object",
                "properties": {
                    REPEAT: {"description": "The text.", "type": "string", "minLength": 1},
                },
                "required": [REPEAT],
                "additionalProperties": false,
            },
        ],
    })
}

fn header_schema(protocol: &Protocol) -> Value {
    let mut fields: Map<String, Value> =
        protocol.fields.iter().map(|field| (field.name.to_owned(), field_schema(protocol, field))).collect();
    if let Some(variable) = &protocol.variable {
        let format = format!("field:{}.{}", protocol.name, variable.name);
        let schema = json!({"description": variable.doc, "type": "string", "format": format});
        fields.insert(variable.name.to_owned(), schema);
    }
    json!({
        "description": format!("{} ({}).", protocol.title, protocol.source),
        "type": "object",
        "properties": fields,
        "additionalProperties": false,
        "x-noun": "field",
    })
}

fn field_schema(protocol: &Protocol, field: &Field) -> Value {
    let mut schema = json!({
        "description": field.doc,
        "type": "string",
        "format": format!("field:{}.{}", protocol.name, field.name),
    });
    if matches!(field.kind, Kind::Number | Kind::Hex) {
        schema["type"] = json!(["integer", "string"]);
        if field.width <= 53 {
            schema["minimum"] = json!(0);
            schema["maximum"] = json!(field.max() as u64);
        }
    }
    schema
}
