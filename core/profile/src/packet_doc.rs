//! Elements of a stream's `packet`. Their schema is made from the protocol catalogue.

use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use wire::{Field, Kind, Protocol};

/// The key of a payload given as text.
pub(crate) const PAYLOAD: &str = "payload";
/// The key of a payload given as hexadecimal digits.
pub(crate) const HEX: &str = "hex";

/// `udp`, `{udp: {dst: 9}}`, `{payload: text}` or `{hex: 00ff}`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum PacketElement {
    /// A header nobody sets a field of.
    Bare(String),
    /// One header with fields set, or the payload.
    Keyed(IndexMap<String, Content>),
}

/// What is behind the key of an element.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Content {
    /// A payload's text.
    Text(String),
    /// Fields set.
    Fields(IndexMap<String, FieldValue>),
}

/// A field's value as written.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum FieldValue {
    Number(u64),
    Text(String),
}

impl FieldValue {
    /// The text [`Field::parse`] reads.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

/// The field that a schema's format such as `field:ipv4.src` stands for.
pub(crate) fn field_of_format(format: &str) -> Option<&'static Field> {
    let (protocol, field) = format.strip_prefix("field:")?.split_once('.')?;
    wire::protocol(protocol)?.field(field)
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
        json_schema!({
            "description": "A header with defaults ('udp'), a header with fields ('udp: {dst: 9}'), or, as the last \
                element, the payload ('payload: text' or 'hex: 00ff').",
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

fn header_schema(protocol: &Protocol) -> Value {
    let fields: Map<String, Value> =
        protocol.fields.iter().map(|field| (field.name.to_owned(), field_schema(protocol, field))).collect();
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
