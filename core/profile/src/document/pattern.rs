//! Sending times of a stream, as written.

use crate::document::quantity::{Duration, Rate};
use crate::document::vary::OrderDoc;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Sending times of a stream.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatternDoc {
    /// Evenly spaced.
    #[default]
    Continuous,
    /// Random gaps, exponentially distributed.
    Poisson,
    /// One burst of this number of packets.
    Burst(u32),
    /// Groups of this number of packets back to back.
    Bursts(u32),
    /// Bursts with silence between them.
    MultiBurst(MultiBurstDoc),
    /// The rate for a while, nothing for a while.
    OnOff(OnOffDoc),
    /// A list of gaps.
    Gaps(GapsDoc),
    /// A load curve.
    Curve(CurveDoc),
}

/// Bursts with pauses between them. The stream's rate applies within a burst.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MultiBurst")]
pub struct MultiBurstDoc {
    /// Packets in a burst.
    #[schemars(range(min = 1))]
    pub packets: u32,
    /// Time from the start of a burst to the start of the next. Optional for a single burst.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
    /// Number of bursts. Default: until the duration ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub bursts: Option<u64>,
}

/// Packets at the stream's rate for a time, then a pause, repeatedly. (Not 'on' and 'off': older YAML reads these as
/// true and false.)
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "OnOff")]
pub struct OnOffDoc {
    /// Time of each burst.
    pub on_for: Duration,
    /// Pause between bursts.
    pub off_for: Duration,
}

/// Gaps between packets from a list. They replace the stream's rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Gaps")]
pub struct GapsDoc {
    /// Gaps from each packet to the next.
    #[schemars(length(min = 1))]
    pub list: Vec<Duration>,
    /// Order of the gaps.
    #[serde(default)]
    pub order: OrderDoc,
}

/// A load curve: the rate over time. It replaces the stream's rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Curve")]
pub struct CurveDoc {
    /// Points of the curve at increasing times. The first rate also applies before, the last one after.
    #[schemars(length(min = 1))]
    pub points: Vec<PointDoc>,
    /// Shape between two points.
    #[serde(default)]
    pub shape: ShapeDoc,
    /// Restart from the first point after the last.
    #[serde(default)]
    pub repeat: bool,
}

/// A point of a load curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CurvePoint")]
pub struct PointDoc {
    /// Time since the stream's start.
    pub at: Duration,
    /// Rate at that time; zero is allowed.
    pub rate: Rate,
}

/// Shape between two points of a load curve.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ShapeDoc {
    /// A straight line: a ramp.
    #[default]
    Linear,
    /// Steps: the rate of a point until the next.
    Steps,
}

/// Stream that starts when this one has sent its count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Then")]
pub struct ThenDoc {
    /// Name of the stream; one that was already in the chain closes a loop.
    pub stream: String,
    /// Time from the end of this stream to the start of the next.
    #[serde(default = "crate::document::no_time")]
    pub gap: Duration,
    /// End of this stream: one of its gaps after its last packet, or with its last packet.
    #[serde(default)]
    pub from: ThenFromDoc,
    /// Number of times this stream ends; after the last, the chain ends and no stream starts. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub ends: Option<u64>,
}

/// Where a stream ends.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ThenFromDoc {
    /// One gap after its last packet.
    #[default]
    End,
    /// With its last packet.
    LastPacket,
}

/// `other-stream` or `{stream: other-stream, gap: 1ms}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the variants' types say it; comments would become descriptions")]
pub enum ThenForm {
    Stream(String),
    Full(ThenDoc),
}

impl ThenForm {
    /// Written out.
    pub fn resolved(&self) -> ThenDoc {
        match self {
            Self::Stream(stream) => ThenDoc {
                stream: stream.clone(),
                gap: crate::document::no_time(),
                from: ThenFromDoc::End,
                ends: None,
            },
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
            "description": "Sending times: 'continuous' (evenly spaced), 'poisson' (random, exponentially distributed \
                gaps), or a mapping with one of the keys below.",
            "anyOf": [
                {"type": "string", "enum": ["continuous", "poisson"], "x-noun": "pattern",
                    "x-more": "a mapping with one of burst, bursts, multi_burst, on_off, gaps, curve"},
                {
                    "type": "object",
                    "properties": {
                        "burst": {
                            "description": "One burst of this many packets at the stream's rate ('max': back to back).",
                            "type": "integer", "minimum": 1, "maximum": u32::MAX,
                        },
                        "bursts": {
                            "description": "Groups of this many packets back to back, spaced to meet the stream's rate \
                                on average.",
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
