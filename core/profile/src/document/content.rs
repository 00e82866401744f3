//! Texts, bytes and sizes that sessions send, as written.

use crate::document::quantity::{BytesRange, Hex};
use crate::document::vary::{OrderDoc, Weight};
use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A text that may differ from session to session and from request to request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Text")]
/// A text, in which '{session}' and '{request}' stand for their numbers, '{1..1000}' for numbers in turn and
/// '{random 1..1000}' for numbers at random; '{hex 0..255}' writes them in hexadecimal, leading zeros ('{001..100}')
/// set the width, and '{{' is a brace. Or a list of such texts, taken in turn. Or a mapping with such a list.
#[expect(missing_docs, reason = "the variants' types say it; comments would become descriptions")]
pub enum TextDoc {
    One(String),
    List(#[schemars(length(min = 1))] Vec<String>),
    Varied(TextListDoc),
}

/// Texts and their order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct TextListDoc {
    /// The texts.
    #[schemars(length(min = 1))]
    pub list: Vec<String>,
    /// Order of the texts.
    #[serde(default)]
    pub order: OrderDoc,
    /// When to take the next text.
    #[serde(default)]
    pub by: ByDoc,
}

/// When to take the next value.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ByDoc {
    /// For each session: all its requests have the same.
    Session,
    /// For each request: all sessions have the same.
    Request,
    /// For each request, and each session starts one further than the one before.
    #[default]
    Each,
}

/// Data a program sends or expects: a text (see Text), a mapping with one of the keys below, or a list of both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Content")]
#[expect(missing_docs, reason = "the variants' types say it; comments would become descriptions")]
pub enum ContentDoc {
    Text(String),
    Parts(#[schemars(length(min = 1))] Vec<PartDoc>),
    Other(OtherDoc),
}

/// A part of the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the variants' types say it; comments would become descriptions")]
pub enum PartDoc {
    Text(String),
    Other(OtherDoc),
}

/// Data other than a text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Part", extend("minProperties" = 1, "maxProperties" = 1))]
pub struct OtherDoc {
    /// Number of arbitrary bytes, which the other end can verify.
    pub bytes: Option<SizeDoc>,
    /// Bytes as hexadecimal digits.
    pub hex: Option<Hex>,
    /// One of several texts.
    pub text: Option<TextDoc>,
}

/// A number of bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SizeDoc {
    /// One number, or any of a range.
    Range(BytesRange),
    /// Numbers and their relative frequencies.
    Weights(IndexMap<String, Weight>),
}

impl JsonSchema for SizeDoc {
    fn schema_name() -> Cow<'static, str> {
        "Amount".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number of bytes: fixed ('32KB'), a range ('1KB..64KB'), or weights ('{1KB: 5, 64KB: 1}'). It \
                depends only on the number of the request in its session, so that both ends know it: with one request \
                in each session all are the same. Only http's responses differ from session to session.",
            "anyOf": [
                generator.subschema_for::<BytesRange>(),
                {
                    "type": "object",
                    "propertyNames": {"format": "bytes"},
                    "additionalProperties": generator.subschema_for::<Weight>(),
                    "minProperties": 1,
                    "x-noun": "amount of data",
                },
            ],
        })
    }
}

/// Number of times, or 'endless'.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the variants' types say it; comments would become descriptions")]
pub enum TimesDoc {
    Number(#[schemars(range(min = 1, max = 4_294_967_295_u32))] u32),
    Endless(EndlessDoc),
}

/// Without end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum EndlessDoc {
    /// Until the session is closed from outside.
    Endless,
}

impl TimesDoc {
    /// Number of times; `None` is without end.
    pub fn times(self) -> Option<u32> {
        match self {
            Self::Number(times) => Some(times),
            Self::Endless(_) => None,
        }
    }
}
