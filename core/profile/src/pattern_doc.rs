//! How a stream's sending times are arranged, as written.

use crate::quantity::{Duration, Rate};
use crate::vary_doc::OrderDoc;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// How a stream's sending times are arranged.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PatternDoc {
    #[default]
    Continuous,
    Poisson,
    Burst(u32),
    Bursts(u32),
    MultiBurst(MultiBurstDoc),
    OnOff(OnOffDoc),
    Gaps(GapsDoc),
    Curve(CurveDoc),
}

/// Bursts with silence between them. The stream's rate is that inside a burst.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MultiBurst")]
pub(crate) struct MultiBurstDoc {
    /// Packets in a burst.
    #[schemars(range(min = 1))]
    pub(crate) packets: u32,
    /// From the start of a burst to the start of the next. Not needed for a single burst.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) every: Option<Duration>,
    /// How many bursts. Without it: until the duration ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub(crate) bursts: Option<u64>,
}

/// Packets at the stream's rate for a while, nothing for a while, and again. (Not plain 'on' and 'off': older YAML takes
/// these words for true and false.)
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "OnOff")]
pub(crate) struct OnOffDoc {
    /// How long packets are sent.
    pub(crate) on_for: Duration,
    /// How long none are.
    pub(crate) off_for: Duration,
}

/// The time from each packet to the next, from a list. The stream needs no rate: the gaps are one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Gaps")]
pub(crate) struct GapsDoc {
    /// The gaps.
    #[schemars(length(min = 1))]
    pub(crate) list: Vec<Duration>,
    /// In which order they come.
    #[serde(default)]
    pub(crate) order: OrderDoc,
}

/// A load curve: the rate over time. The stream needs no rate of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Curve")]
pub(crate) struct CurveDoc {
    /// Points of the curve, at increasing times. Before the first its rate holds, behind the last its rate.
    #[schemars(length(min = 1))]
    pub(crate) points: Vec<PointDoc>,
    /// What is between two points.
    #[serde(default)]
    pub(crate) shape: ShapeDoc,
    /// Begin again from the first point when the last is reached.
    #[serde(default)]
    pub(crate) repeat: bool,
}

/// A point of a load curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CurvePoint")]
pub(crate) struct PointDoc {
    /// Since the stream's start.
    pub(crate) at: Duration,
    /// The rate there; zero is allowed.
    pub(crate) rate: Rate,
}

/// What is between two points of a load curve.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum ShapeDoc {
    /// A straight line: a ramp.
    #[default]
    Linear,
    /// The rate of the point before, until the next: steps.
    Steps,
}

/// The stream that follows when this one has sent its count.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Then")]
pub(crate) struct ThenDoc {
    /// Its name; that of the chain's first stream closes a loop.
    pub(crate) stream: String,
    /// From the end of this stream to the start of the next. A stream ends one of its gaps behind its last packet.
    #[serde(default = "crate::document::no_time")]
    pub(crate) gap: Duration,
}

/// `other-stream` or `{stream: other-stream, gap: 1ms}`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum ThenForm {
    Stream(String),
    Full(ThenDoc),
}

impl ThenForm {
    pub(crate) fn resolved(&self) -> ThenDoc {
        match self {
            Self::Stream(stream) => ThenDoc { stream: stream.clone(), gap: crate::document::no_time() },
            Self::Full(then) => then.clone(),
        }
    }
}

impl JsonSchema for PatternDoc {
    fn schema_name() -> Cow<'static, str> {
        "Pattern".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "How sending times are arranged: 'continuous' (evenly spaced), 'poisson' (gaps at random, \
                exponentially distributed), or a mapping with one of the keys below.",
            "anyOf": [
                {"type": "string", "enum": ["continuous", "poisson"], "x-noun": "pattern",
                    "x-more": "a mapping with one of burst, bursts, multi_burst, on_off, gaps, curve"},
                {
                    "type": "object",
                    "properties": {
                        "burst": {
                            "description": "So many packets at the stream's rate ('max': back to back), once.",
                            "type": "integer", "minimum": 1, "maximum": u32::MAX,
                        },
                        "bursts": {
                            "description": "Groups of so many packets back to back, spaced so that the stream's rate \
                                is met on average.",
                            "type": "integer", "minimum": 1, "maximum": u32::MAX,
                        },
                        "multi_burst": generator.subschema_for::<MultiBurstDoc>(),
                        "on_off": generator.subschema_for::<OnOffDoc>(),
                        "gaps": generator.subschema_for::<GapsDoc>(),
                        "curve": generator.subschema_for::<CurveDoc>(),
                    },
                    "additionalProperties": false,
                    "minProperties": 1,
                    "maxProperties": 1,
                    "x-noun": "pattern",
                },
            ],
        })
    }
}
