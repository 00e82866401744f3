//! Variable parts of a packet, as written: a generator for each field, and flows.

use crate::document::packet::FieldValue;
use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Values of a field, in sequence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum VaryDoc {
    /// `counter`, `random`, `10..20` or `10..20 step 2`.
    Word(String),
    /// Values, in turn.
    List(Vec<FieldValue>),
    /// Anything else.
    Generator(Box<GeneratorDoc>),
}

/// A generator of values, with exactly one of 'from', 'random', 'lcg', 'list', 'file', 'weights' and 'same_as'.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Generator")]
pub struct GeneratorDoc {
    /// First value of a range. With 'to' or 'count'.
    pub from: Option<FieldValue>,
    /// Last value of the range; if below 'from' the range counts down.
    pub to: Option<FieldValue>,
    /// Number of values, instead of 'to'. Wraps to zero after the field's largest value.
    #[schemars(range(min = 1))]
    pub count: Option<u64>,
    /// Step between values. Default: 1.
    pub step: Option<FieldValue>,
    /// First packet's value, in the middle of the range; the range continues from there, in whole steps. Default:
    /// 'from'.
    pub begin: Option<FieldValue>,
    /// Random values from a range such as '1024..65535', or 'all'.
    pub random: Option<FieldValue>,
    /// Number of distinct values to draw from; the seed selects them.
    #[schemars(range(min = 1))]
    pub distinct: Option<u64>,
    /// Seed of this field. Default: derived from the profile's seed, the stream and the field.
    pub seed: Option<u64>,
    /// Values from a range such as '1024..65535', or 'all', drawn by a 15-bit linear congruential generator, compatible
    /// with other tools: with every packet, from the stream's 'lcg_seed' and in the order of 'vary', or with a 'seed'
    /// or 'limit' from a separate generator. Of 1, 2, 4 or 8 bytes.
    pub lcg: Option<FieldValue>,
    /// Number of values after which its own generator begins again.
    #[schemars(range(min = 1))]
    pub limit: Option<u64>,
    /// The values, in turn.
    #[schemars(length(min = 1))]
    pub list: Option<Vec<FieldValue>>,
    /// Text file with one value per line, relative to the profile; empty lines and text after '#' are ignored.
    #[schemars(length(min = 1))]
    pub file: Option<String>,
    /// Order of the values of 'list' or 'file'.
    pub order: Option<ListOrderDoc>,
    /// Random values by weight.
    #[schemars(extend("minProperties" = 1))]
    pub weights: Option<IndexMap<String, Weight>>,
    /// Path of a varying field, or name of a variable, given before; take its value.
    pub same_as: Option<String>,
    /// Number of bits to shift the value of 'same_as' left by, or right if negative; applied first.
    pub shift: Option<Shift>,
    /// Number to add after the shift.
    pub plus: Option<FieldValue>,
    /// Bits of the field to write; the others keep the packet's values.
    pub mask: Option<FieldValue>,
    /// Byte order in which the value is written.
    pub endian: Option<EndianDoc>,
    /// Bytes of a variable, of a name that begins with '$'. Default: 8.
    pub bytes: Option<VariableBytes>,
    /// Number of packets that share a value.
    #[schemars(range(min = 1))]
    pub every: Option<u64>,
    /// Path of a varying field given before; advance when it has gone through all its values, so that both go through
    /// all pairs. Default: advance with every packet.
    pub after: Option<String>,
    /// Number of packets after which the values, and the values of fields 'after' this one, begin again.
    #[schemars(range(min = 1))]
    pub period: Option<u64>,
}

/// Byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum EndianDoc {
    /// The most significant byte first, as networks have it.
    Big,
    /// The least significant byte first.
    Little,
}

/// Bytes of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct VariableBytes(#[schemars(range(min = 1, max = 8))] pub u8);

/// Order of the values of a list.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ListOrderDoc {
    /// In turn.
    #[default]
    Sequential,
    /// At random.
    Random,
    /// As 'lcg' draws them.
    Lcg,
}

/// Number of bits to shift by.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Shift(pub i8);

impl JsonSchema for Shift {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Shift".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": -127, "maximum": 127})
    }
}

/// A weight.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Weight(#[schemars(range(min = 1, max = 1_000_000))] pub u32);

/// Order of values.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum OrderDoc {
    /// In turn.
    #[default]
    Sequential,
    /// At random.
    Random,
}

/// Flows: all packets of a flow have the same values; the fields of 'vary' advance from flow to flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Flows")]
pub struct FlowsDoc {
    /// Number of concurrent flows.
    #[schemars(range(min = 1))]
    pub count: u64,
    /// Packets of a flow before a new one replaces it. Default: flows last as long as the stream.
    #[schemars(range(min = 1))]
    pub length: Option<u64>,
    /// 'sequential': all packets of a flow, then all packets of the next. 'random': each packet belongs to a random
    /// flow; after count × length packets all flows are new.
    #[serde(default)]
    pub order: OrderDoc,
}

impl JsonSchema for VaryDoc {
    fn schema_name() -> Cow<'static, str> {
        "Vary".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (value, object) =
            (generator.subschema_for::<FieldValue>(), generator.subschema_for::<GeneratorDoc>());
        json_schema!({
            "description": "Values of a field: 'counter', 'random', a range such as '10.0.0.1..10.0.0.9' or \
                '0..100 step 4', a list of values, or a generator.",
            "anyOf": [
                {"type": "string", "format": "values"},
                {"type": "array", "items": value, "minItems": 1},
                object,
            ],
        })
    }
}
