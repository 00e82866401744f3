//! Frame lengths of a stream, as written: one, a range, a mix, a genome, a list, or weights.

use crate::document::quantity::{FrameSizes, Length};
use crate::document::vary::Weight;
use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use units::FrameLen;

/// A stream's frame lengths.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SizesDoc {
    /// `64B`, `imix`, `64B..1518B step 64B`, `random 64B..1518B`, `genome abceg`.
    Text(FrameSizes),
    /// The lengths, in turn.
    List(Vec<Length>),
    /// Lengths and their relative frequencies.
    Weights(IndexMap<String, Weight>),
    /// The value of a varying field.
    SameAs(SizeOf),
}

/// The value of a varying field as a length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SizeOf {
    /// The field's path or the variable's name.
    pub same_as: String,
    /// Bytes to add.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plus: Option<u32>,
    /// Lengths with weights, which do not go with it.
    #[serde(flatten)]
    pub strangers: IndexMap<String, Weight>,
}

impl JsonSchema for SizesDoc {
    fn schema_name() -> Cow<'static, str> {
        "Sizes".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (text, length, weight) = (
            generator.subschema_for::<FrameSizes>(),
            generator.subschema_for::<Length>(),
            generator.subschema_for::<Weight>(),
        );
        json_schema!({
            "description": "Frame length with FCS: one ('64B'), a sweep ('64B..1518B step 64B'), random \
                ('random 64B..1518B'), a mix by name ('imix'), an RFC 6985 genome ('genome abceg'), a list taken in \
                turn, lengths with weights ('{64B: 7, 594B: 4, 1518B: 1}'), or, of a 'frame', the value of a variable \
                ('{same_as: $length, plus: 4}').",
            "anyOf": [
                text,
                {"type": "array", "items": length, "minItems": 1},
                {
                    "type": "object",
                    "propertyNames": {"format": "frame-length"},
                    "properties": {
                        "same_as": {
                            "description": "Path of a varying field, or name of a variable: its value is the length.",
                            "type": "string", "minLength": 1,
                        },
                        "plus": {
                            "description": "Bytes to add to it, such as 4 for the FCS.",
                            "type": "integer", "minimum": 0, "maximum": 16_384,
                        },
                    },
                    "additionalProperties": weight,
                    "minProperties": 1,
                    "x-noun": "length",
                },
            ],
        })
    }
}

/// Frame lengths in one text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields' names say it")]
pub enum SizeText {
    /// One length.
    One(FrameLen),
    /// From one to the other by steps, bytes, and again.
    Sweep { from: FrameLen, to: FrameLen, step: u32 },
    /// Any between the two, all equally often.
    Random { from: FrameLen, to: FrameLen },
    /// A mix by name; at random instead of evenly mixed.
    Mix { mix: &'static Mix, random: bool },
    /// The lengths of a genome, in turn.
    Genome(Vec<FrameLen>),
}

/// An Internet mix: lengths, with FCS, and their relative frequencies.
#[derive(Debug, PartialEq, Eq)]
pub struct Mix {
    /// Its name in profiles.
    pub name: &'static str,
    /// Where it is from.
    pub source: &'static str,
    /// Bytes with FCS, and weight. Lengths too short for the packet are raised to the shortest that holds it.
    pub lengths: &'static [(u32, u32)],
}

/// The mixes that have a name.
pub const MIXES: &[Mix] = &[
    Mix { name: "imix", source: "simple IMIX", lengths: &[(64, 7), (594, 4), (1518, 1)] },
    Mix { name: "imix-v4", source: "CSIT, Open Traffic Generator", lengths: &[(64, 7), (570, 4), (1518, 1)] },
    Mix { name: "imix-v6", source: "CSIT", lengths: &[(78, 7), (570, 4), (1518, 1)] },
    Mix {
        name: "imix-standard",
        source: "Open Traffic Generator 'standard'",
        lengths: &[(58, 5867), (62, 200), (594, 2366), (1518, 1567)],
    },
    Mix {
        name: "imix-ipv6",
        source: "Open Traffic Generator 'ipv6'",
        lengths: &[(60, 5867), (496, 200), (594, 2366), (1518, 1567)],
    },
    Mix {
        name: "imix-ipsec",
        source: "Open Traffic Generator 'ipsec'",
        lengths: &[(90, 5867), (92, 200), (594, 2366), (1418, 1567)],
    },
    Mix {
        name: "imix-tcp",
        source: "Open Traffic Generator 'tcp'",
        lengths: &[(90, 5867), (92, 200), (594, 2366), (1518, 1567)],
    },
];

/// Lengths of RFC 6985 section 4 by letter; 'z' is the MTU, which only the user knows.
pub const GENOME: &[(char, u32)] = &[
    ('a', 64),
    ('b', 128),
    ('c', 256),
    ('d', 512),
    ('e', 1024),
    ('f', 1280),
    ('g', 1518),
    ('h', 2112),
    ('i', 9000),
    ('j', 16_000),
];

/// Lengths that 'random' draws from: every one of Ethernet.
const ETHERNET: (u32, u32) = (64, 1518);

impl SizeText {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match &words[..] {
            ["random"] => {
                Some(Self::Random { from: FrameLen::new(ETHERNET.0)?, to: FrameLen::new(ETHERNET.1)? })
            }
            ["random", range] => {
                let (from, to) = range_of(range)?;
                Some(Self::Random { from, to })
            }
            ["genome", letters, own @ ..] => genome(letters, own).map(Self::Genome),
            [name, rest @ ..] if mix(name).is_some() => match rest {
                [] => Some(Self::Mix { mix: mix(name)?, random: false }),
                ["random"] => Some(Self::Mix { mix: mix(name)?, random: true }),
                _ => None,
            },
            [range, "step", step] => {
                let (from, to) = range_of(range)?;
                let step = step.strip_suffix('B')?.parse().ok().filter(|step| *step > 0)?;
                Some(Self::Sweep { from, to, step })
            }
            [range] if range.contains("..") => {
                let (from, to) = range_of(range)?;
                Some(Self::Sweep { from, to, step: 1 })
            }
            _ => text.parse().ok().map(Self::One),
        }
    }

    pub(crate) fn print(&self) -> String {
        match self {
            Self::One(length) => length.to_string(),
            Self::Sweep { from, to, step } => format!("{from}..{to} step {step}B"),
            Self::Random { from, to } => format!("random {from}..{to}"),
            Self::Mix { mix, random } => format!("{}{}", mix.name, if *random { " random" } else { "" }),
            Self::Genome(lengths) => {
                let own = |i: usize| char::from(b'A' + i as u8);
                let mut distinct = lengths.clone();
                distinct.sort();
                distinct.dedup();
                let letter = |length| distinct.iter().position(|d| d == length).map_or('A', own);
                let letters: String = lengths.iter().map(letter).collect();
                let meanings = distinct.iter().enumerate().map(|(i, d)| format!(" {}={d}", own(i)));
                format!("genome {letters}{}", meanings.collect::<String>())
            }
        }
    }
}

fn mix(name: &str) -> Option<&'static Mix> {
    MIXES.iter().find(|mix| mix.name == name)
}

/// `64B..1518B`, in this order.
fn range_of(text: &str) -> Option<(FrameLen, FrameLen)> {
    let (from, to) = text.split_once("..")?;
    let (from, to): (FrameLen, FrameLen) = (from.parse().ok()?, to.parse().ok()?);
    (from <= to).then_some((from, to))
}

/// The lengths of `letters`; `own` gives letters a meaning, such as `A=200B` or `z=1400B`.
fn genome(letters: &str, own: &[&str]) -> Option<Vec<FrameLen>> {
    let mut meanings: Vec<(char, FrameLen)> =
        GENOME.iter().filter_map(|(letter, bytes)| Some((*letter, FrameLen::new(*bytes)?))).collect();
    for meaning in own {
        let (letter, length) = meaning.split_once('=')?;
        let mut letters = letter.chars();
        let (letter, None) = (letters.next()?, letters.next()) else { return None };
        let may_mean = letter.is_ascii_uppercase() || letter == 'z';
        meanings.push((letter, length.parse().ok().filter(|_| may_mean)?));
    }
    let length =
        |letter| meanings.iter().rev().find(|(known, _)| *known == letter).map(|(_, length)| *length);
    letters.chars().map(length).collect()
}
