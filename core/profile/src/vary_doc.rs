//! What of a packet varies, as written: a generator for each field, and flows.

use crate::packet_doc::FieldValue;
use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The values a field takes, one after the other.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum VaryDoc {
    /// `counter`, `random`, `10..20` or `10..20 step 2`.
    Word(String),
    /// The values, in turn.
    List(Vec<FieldValue>),
    /// Anything else.
    Generator(Box<GeneratorDoc>),
}

/// A generator of values. Exactly one of 'from', 'random', 'list', 'file', 'weights' and 'same_as' says which kind.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Generator")]
pub(crate) struct GeneratorDoc {
    /// First value of a range. With 'to' or 'count'.
    pub(crate) from: Option<FieldValue>,
    /// Last value of the range. Below 'from' the range counts down.
    pub(crate) to: Option<FieldValue>,
    /// Values in the range, instead of 'to'. Beyond the field's largest value it goes on at zero.
    #[schemars(range(min = 1))]
    pub(crate) count: Option<u64>,
    /// Distance from one value of the range to the next; 1 unless given.
    pub(crate) step: Option<FieldValue>,
    /// Values drawn at random from a range such as '1024..65535', or 'all' that the field holds.
    pub(crate) random: Option<FieldValue>,
    /// Draw from only so many different values of the range. Which ones is fixed by the seed.
    #[schemars(range(min = 1))]
    pub(crate) distinct: Option<u64>,
    /// Seed of this field's own. Without it one that follows from the profile's seed, the stream and the field.
    pub(crate) seed: Option<u64>,
    /// The values, in turn.
    #[schemars(length(min = 1))]
    pub(crate) list: Option<Vec<FieldValue>>,
    /// A text file with a value on each line; empty lines and what follows a '#' are ignored. Relative to the profile.
    #[schemars(length(min = 1))]
    pub(crate) file: Option<String>,
    /// In which order the values of 'list' or 'file' come.
    pub(crate) order: Option<OrderDoc>,
    /// Values drawn at random, each as often as its weight says.
    #[schemars(extend("minProperties" = 1))]
    pub(crate) weights: Option<IndexMap<String, Weight>>,
    /// The value of another varying field, given before this one.
    pub(crate) same_as: Option<String>,
    /// Shift the value of 'same_as' left by so many bits, or right if negative. First of all.
    pub(crate) shift: Option<Shift>,
    /// Then add this.
    pub(crate) plus: Option<FieldValue>,
    /// Write only these bits of the field; the others keep what the packet says.
    pub(crate) mask: Option<FieldValue>,
    /// Packets for which a value is kept.
    #[schemars(range(min = 1))]
    pub(crate) every: Option<u64>,
    /// Take the next value whenever this other varying field, given before, has gone through all of its own: together
    /// they go through all pairs. Without it the fields advance together, packet by packet.
    pub(crate) after: Option<String>,
}

/// How many bits to shift by.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub(crate) struct Shift(pub(crate) i8);

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
pub(crate) struct Weight(#[schemars(range(min = 1, max = 1_000_000))] pub(crate) u32);

/// In which order values come.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum OrderDoc {
    /// In turn.
    #[default]
    Sequential,
    /// At random.
    Random,
}

/// Flows: packets of one flow have the same values, so the fields of 'vary' advance from flow to flow instead of from
/// packet to packet.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Flows")]
pub(crate) struct FlowsDoc {
    /// Flows at any time.
    #[schemars(range(min = 1))]
    pub(crate) count: u64,
    /// Packets of a flow before a new one takes its place. Without it flows last as long as the stream.
    #[schemars(range(min = 1))]
    pub(crate) length: Option<u64>,
    /// 'sequential': all packets of a flow, then those of the next. 'random': each packet is of a flow drawn at random,
    /// and after count × length packets all flows are new.
    #[serde(default)]
    pub(crate) order: OrderDoc,
}

impl JsonSchema for VaryDoc {
    fn schema_name() -> Cow<'static, str> {
        "Vary".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (value, object) =
            (generator.subschema_for::<FieldValue>(), generator.subschema_for::<GeneratorDoc>());
        json_schema!({
            "description": "The values a field takes: 'counter', 'random', a range such as '10.0.0.1..10.0.0.9' or \
                '0..100 step 4', a list of values, or a generator.",
            "anyOf": [
                {"type": "string", "format": "values"},
                {"type": "array", "items": value, "minItems": 1},
                object,
            ],
        })
    }
}
