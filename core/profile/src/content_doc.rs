//! Texts, bytes and sizes that sessions send, as written.

use crate::quantity::{BytesRange, Hex};
use crate::vary_doc::{OrderDoc, Weight};
use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A text that may differ from session to session and from request to request.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Text")]
/// A text, in which '{session}' and '{request}' stand for their numbers, '{1..1000}' for numbers in turn and
/// '{random 1..1000}' for numbers at random; '{hex 0..255}' writes them in hexadecimal, leading zeros ('{001..100}')
/// set the width, and '{{' is a brace. Or a list of such texts, taken in turn. Or a mapping with such a list.
pub(crate) enum TextDoc {
    One(String),
    List(#[schemars(length(min = 1))] Vec<String>),
    Varied(TextListDoc),
}

/// Texts and which comes when.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct TextListDoc {
    /// The texts.
    #[schemars(length(min = 1))]
    pub(crate) list: Vec<String>,
    /// In which order they come.
    #[serde(default)]
    pub(crate) order: OrderDoc,
    /// What makes the next one come.
    #[serde(default)]
    pub(crate) by: ByDoc,
}

/// What makes the next value come.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum ByDoc {
    /// A new session: all its requests have the same.
    Session,
    /// A new request: all sessions have the same.
    Request,
    /// Every request, and each session begins one further than the one before.
    #[default]
    Each,
}

/// What a program sends or expects: a text (see Text), or a mapping with one of the keys below, or a list of both, one
/// behind the other.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Content")]
pub(crate) enum ContentDoc {
    Text(String),
    Parts(#[schemars(length(min = 1))] Vec<PartDoc>),
    Other(OtherDoc),
}

/// A part of what is sent.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum PartDoc {
    Text(String),
    Other(OtherDoc),
}

/// What is sent that is no text.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Part", extend("minProperties" = 1, "maxProperties" = 1))]
pub(crate) struct OtherDoc {
    /// So many bytes without meaning. The other end can verify them.
    pub(crate) bytes: Option<SizeDoc>,
    /// These bytes.
    pub(crate) hex: Option<Hex>,
    /// One of several texts.
    pub(crate) text: Option<TextDoc>,
}

/// A number of bytes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum SizeDoc {
    Range(BytesRange),
    Weights(IndexMap<String, Weight>),
}

impl JsonSchema for SizeDoc {
    fn schema_name() -> Cow<'static, str> {
        "Amount".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number of bytes: always the same ('32KB'), any in a range ('1KB..64KB'), or several with \
                how often each comes ('{1KB: 5, 64KB: 1}'). It follows the number of the request in its session, so \
                that the other end knows it too: with one request in each session it is the same in all of them. \
                Only http's responses differ from session to session.",
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

/// How often: a number, or 'endless'.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum TimesDoc {
    Number(#[schemars(range(min = 1, max = 4_294_967_295_u32))] u32),
    Endless(EndlessDoc),
}

/// Without end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum EndlessDoc {
    /// Until the session is closed from outside.
    Endless,
}

impl TimesDoc {
    /// How often; `None` is without end.
    pub(crate) fn times(self) -> Option<u32> {
        match self {
            Self::Number(times) => Some(times),
            Self::Endless(_) => None,
        }
    }
}
