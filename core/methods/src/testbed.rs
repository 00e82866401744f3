//! The testbed as methods know it: senders, line rates, and the times around trials.
//!
//! Not here: addresses, ports, packets. A group is a name and a speed; the driver of the trials knows the rest.

use crate::ConfigError;
use crate::text::{AsNanos, AsPps, AsText};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use units::{BitRate, FrameLen, FrameMix, Layer, Nanos, Pps};

/// One direction, or one group of streams that share a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Name in results.
    pub name: String,
    /// Speed of its link, bits/s at layer 1.
    pub line_bps: u64,
}

/// The times around the traffic of a trial (RFC 2544 section 23).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timing {
    /// Time for routing updates and learning frames before the traffic.
    #[serde(with = "AsText")]
    pub learning: Nanos,
    /// Time to wait for late frames; counters are read after it.
    #[serde(with = "AsText")]
    pub drain: Nanos,
    /// Rest of the DUT before the next trial.
    #[serde(with = "AsText")]
    pub settle: Nanos,
}

impl Timing {
    /// Nothing around the traffic.
    pub const NONE: Self = Self { learning: Nanos::ZERO, drain: Nanos::ZERO, settle: Nanos::ZERO };

    /// All of it together.
    pub fn total(self) -> Nanos {
        self.learning + self.drain + self.settle
    }
}

/// Learning 2 s (after 2 s for routing updates), drain 2 s, settle 5 s.
impl Default for Timing {
    fn default() -> Self {
        Self { learning: Nanos::from_secs(4), drain: Nanos::from_secs(2), settle: Nanos::from_secs(5) }
    }
}

/// Traffic mixed into the test frames (RFC 2544 section 11). Modifier frames replace test frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Modifier {
    /// 1% broadcast frames, evenly spaced (section 11.1).
    Broadcast,
    /// One management query as the first frame of each second (section 11.2).
    Management,
    /// Routing updates as the DUT's protocol has them (section 11.3).
    RoutingUpdates,
    /// This many filter rules; the last one permits the test frames (section 11.4, and its erratum).
    Filters(u16),
    /// This many percent of the packets carry an IPv6 hop-by-hop header (RFC 5180 section 5.3).
    HopByHop(u8),
}

/// Attributes of the frames of all trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Attributes {
    /// Pseudorandom addresses and ports, the same set in every trial (RFC 4814).
    pub random_stimuli: bool,
    /// Number of destination networks, uniformly random; 0 is one pair of addresses (RFC 2544 section 12: 1, then 256).
    pub networks: u16,
    /// Frames mixed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modifier: Option<Modifier>,
}

/// Data common to all trials of a method.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Testbed {
    /// The senders; all send the same share of their line rate (RFC 2544 section 14).
    pub groups: Vec<Group>,
    /// Times around the traffic of a trial.
    #[serde(default)]
    pub timing: Timing,
    /// Addresses, ports and modifiers of the frames.
    #[serde(default)]
    pub attributes: Attributes,
    /// Routes that the ports advertise to which streams go.
    #[serde(default, skip_serializing_if = "is_none")]
    pub routes: u64,
}

fn is_none(routes: &u64) -> bool {
    *routes == 0
}

impl Testbed {
    /// One direction over a link of `line_bps` (layer 1).
    pub fn one_way(line_bps: u64) -> Self {
        Self::of(&[("forward", line_bps)])
    }

    /// Both directions at once over links of `line_bps` (layer 1).
    pub fn both_ways(line_bps: u64) -> Self {
        Self::of(&[("forward", line_bps), ("reverse", line_bps)])
    }

    /// Groups of these names and speeds.
    pub fn of(groups: &[(&str, u64)]) -> Self {
        let groups =
            groups.iter().map(|(name, line_bps)| Group { name: (*name).into(), line_bps: *line_bps });
        let (timing, attributes) = (Timing::default(), Attributes::default());
        Self { groups: groups.collect(), timing, attributes, routes: 0 }
    }

    /// The clean run first, then one with each modifier (RFC 2544 section 11).
    pub fn with_each(&self, modifiers: &[Modifier]) -> Vec<Self> {
        let variants = std::iter::once(None).chain(modifiers.iter().copied().map(Some));
        variants
            .map(|modifier| Self { attributes: Attributes { modifier, ..self.attributes }, ..self.clone() })
            .collect()
    }

    /// Frames per second that fill the link of the first group.
    pub(crate) fn line_rate(&self, frames: &Frames) -> Pps {
        frames.line_rate(self.groups[0].line_bps)
    }

    /// Load of every group if the first offers `rate`: the same share of its line rate, to the millionth of a frame per
    /// second, rounded down.
    pub(crate) fn offered(&self, frames: &Frames, rate: Pps) -> Vec<OfferedLoad> {
        let first = u128::from(self.line_rate(frames).micro().max(1));
        let line = |group: &Group| frames.line_rate(group.line_bps);
        let of = |group: &Group| {
            let micro = u128::from(line(group).micro()) * u128::from(rate.micro()) / first;
            OfferedLoad {
                group: group.name.clone(),
                rate: Pps::from_micro(micro as u64),
                share: micro as f64 / line(group).micro().max(1) as f64,
            }
        };
        self.groups.iter().map(of).collect()
    }

    /// All groups must have a speed, and there must be one.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.groups.is_empty() {
            return Err(ConfigError::new("testbed.groups", "no group sends"));
        }
        let again =
            |(i, group): &(usize, &Group)| self.groups[..*i].iter().any(|other| other.name == group.name);
        if let Some((_, group)) = self.groups.iter().enumerate().find(again) {
            return Err(ConfigError::new(
                "testbed.groups",
                format!("group '{}' is listed twice", group.name),
            ));
        }
        match self.groups.iter().find(|group| group.line_bps == 0) {
            Some(group) => {
                Err(ConfigError::new("testbed.groups", format!("unknown link speed of '{}'", group.name)))
            }
            None => Ok(()),
        }
    }
}

/// The load of one group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OfferedLoad {
    /// The group's name.
    pub group: String,
    /// Frames per second, exact.
    #[serde(rename = "rate_pps", with = "AsPps")]
    pub rate: Pps,
    /// The same as a share of the group's line rate, 0 to 1.
    pub share: f64,
}

/// The frames of a trial: of one length, or a mix.
///
/// Text form: `64B`, `64B:7+594B:4+1518B:1`, or the name of a mix in [`MIXES`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frames {
    parts: Vec<(FrameLen, u64)>,
}

/// Mixes by name: lengths with FCS and weights. The names come from the tools that made the mixes known.
pub const MIXES: [(&str, &[(u32, u64)]); 5] = [
    ("imix-simple", &[(64, 7), (594, 4), (1518, 1)]),
    ("imix", &[(64, 7), (570, 4), (1518, 1)]),
    ("imix-v6", &[(78, 7), (570, 4), (1518, 1)]),
    ("imix-otg-ipsec", &[(90, 5867), (92, 200), (594, 2366), (1418, 1567)]),
    ("imix-otg-tcp", &[(90, 5867), (92, 200), (594, 2366), (1518, 1567)]),
];

/// The Ethernet frame lengths of RFC 2544 section 9.1; RFC 5180 section 5.1 keeps them for IPv6.
pub const RFC2544_BYTES: [u32; 7] = [64, 128, 256, 512, 1024, 1280, 1518];
/// The jumbo frame lengths of RFC 5180 section 5.1.1.
pub const RFC5180_JUMBO_BYTES: [u32; 3] = [4096, 8192, 9216];

impl Frames {
    /// Frames of one length.
    pub fn of(length: FrameLen) -> Self {
        Self { parts: vec![(length, 1)] }
    }

    /// Frames of `bytes` with FCS; `None` if no frame has that length.
    pub fn bytes(bytes: u32) -> Option<Self> {
        FrameLen::new(bytes).map(Self::of)
    }

    /// A mix of lengths, each with its weight; `None` without any weight.
    pub fn mix(parts: &[(FrameLen, u64)]) -> Option<Self> {
        let parts: Vec<_> = parts.iter().copied().filter(|(_, weight)| *weight > 0).collect();
        (!parts.is_empty()).then_some(Self { parts })
    }

    /// All lengths of RFC 2544 for Ethernet.
    pub fn rfc2544() -> Vec<Self> {
        RFC2544_BYTES.into_iter().filter_map(Self::bytes).collect()
    }

    /// All lengths of RFC 5180, with or without its jumbo frames. A tester whose mark does not fit a 64-byte IPv6 frame
    /// reports this with the trial.
    pub fn rfc5180(jumbo: bool) -> Vec<Self> {
        let more: &[u32] = if jumbo { &RFC5180_JUMBO_BYTES } else { &[] };
        RFC2544_BYTES.iter().chain(more).copied().filter_map(Self::bytes).collect()
    }

    /// The length with FCS, bytes; `None` for a mix.
    pub fn one_length(&self) -> Option<u32> {
        match self.parts[..] {
            [(length, _)] => Some(length.bytes()),
            _ => None,
        }
    }

    /// Lengths and weights.
    pub fn parts(&self) -> &[(FrameLen, u64)] {
        &self.parts
    }

    /// The lengths added up by weight.
    pub fn sum(&self) -> FrameMix {
        self.parts.iter().copied().collect()
    }

    /// Frames per second that fill a link of `line_bps` (layer 1).
    pub fn line_rate(&self, line_bps: u64) -> Pps {
        BitRate { bps: line_bps, layer: Layer::L1 }.packets(self.sum())
    }

    /// Bits/s at a layer of `rate` such frames per second.
    pub fn bit_rate(&self, rate: Pps, layer: Layer) -> f64 {
        let sum = self.sum();
        let bits = if layer == Layer::L1 { sum.l1_bits() } else { sum.l2_bits() };
        rate.as_f64() * bits as f64 / sum.frames().max(1) as f64
    }

    /// Mean length with FCS, bytes.
    pub fn mean_bytes(&self) -> f64 {
        self.sum().l2_bits() as f64 / 8.0 / self.sum().frames().max(1) as f64
    }
}

impl From<FrameLen> for Frames {
    fn from(length: FrameLen) -> Self {
        Self::of(length)
    }
}

fn named(parts: &[(u32, u64)]) -> Option<Frames> {
    let parts: Option<Vec<_>> = parts.iter().map(|(b, w)| FrameLen::new(*b).map(|l| (l, *w))).collect();
    parts.map(|parts| Frames { parts })
}

impl fmt::Display for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [(length, _)] = self.parts[..] {
            return length.fmt(f);
        }
        if let Some((name, _)) = MIXES.iter().find(|(_, parts)| named(parts).as_ref() == Some(self)) {
            return f.write_str(name);
        }
        let parts: Vec<_> = self.parts.iter().map(|(length, weight)| format!("{length}:{weight}")).collect();
        f.write_str(&parts.join("+"))
    }
}

impl FromStr for Frames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some((_, parts)) = MIXES.iter().find(|(name, _)| *name == text) {
            return named(parts).ok_or_else(|| format!("'{text}' has an invalid frame length"));
        }
        let part = |part: &str| {
            let (length, weight) = part.split_once(':').unwrap_or((part, "1"));
            let length: FrameLen = length.parse().map_err(|error| format!("{error}"))?;
            match weight.trim().parse() {
                Ok(weight) if weight > 0 => Ok((length, weight)),
                _ => Err(format!("'{weight}' is not a weight: use a number above 0, such as 7")),
            }
        };
        let parts: Result<Vec<_>, String> = text.split('+').map(part).collect();
        parts.map(|parts| if parts.len() == 1 { Self::of(parts[0].0) } else { Self { parts } })
    }
}

impl JsonSchema for Frames {
    fn schema_name() -> Cow<'static, str> {
        "Frames".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A frame length, a mix of lengths with weights, or the name of a mix.",
            "examples": ["64B", "64B:7+594B:4+1518B:1", "imix"],
        })
    }
}

impl Serialize for Frames {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Frames {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        AsText::deserialize(from)
    }
}

/// The times around a trial, as numbers for its driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Around {
    /// For learning before the traffic.
    #[serde(rename = "learning_ns", with = "AsNanos")]
    pub learning: Nanos,
    /// For the last frames to arrive, before counters are read.
    #[serde(rename = "drain_ns", with = "AsNanos")]
    pub drain: Nanos,
    /// Time for the DUT to settle.
    #[serde(rename = "settle_ns", with = "AsNanos")]
    pub settle: Nanos,
    /// Rest before the trial, because the previous trial left state behind.
    #[serde(rename = "rest_ns", with = "AsNanos", default, skip_serializing_if = "is_zero")]
    pub rest: Nanos,
}

fn is_zero(time: &Nanos) -> bool {
    *time == Nanos::ZERO
}

impl From<Timing> for Around {
    fn from(timing: Timing) -> Self {
        Self { learning: timing.learning, drain: timing.drain, settle: timing.settle, rest: Nanos::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_print_what_they_parse() {
        for text in ["64B", "1518B", "imix", "imix-simple", "64B:3+1518B:1"] {
            assert_eq!(text.parse::<Frames>().unwrap().to_string(), text);
        }
        for text in ["", "63B", "64B:0", "64B+x"] {
            assert!(text.parse::<Frames>().is_err(), "{text}");
        }
        for (name, parts) in MIXES {
            assert_eq!(named(parts).unwrap().to_string(), name);
        }
    }

    /// Means of the mixes as published.
    #[test]
    fn mixes_have_their_means() {
        let mean = |name: &str| name.parse::<Frames>().unwrap().mean_bytes();
        assert!((mean("imix-simple") - 361.83).abs() < 0.01);
        assert!((mean("imix") - 353.83).abs() < 0.01);
        assert!((mean("imix-otg-tcp") - 433.1).abs() < 0.1);
    }

    #[test]
    fn groups_of_different_speed_offer_the_same_share() {
        let testbed = Testbed::of(&[("up", 1_000_000_000), ("down", 10_000_000_000)]);
        let frames = Frames::bytes(64).unwrap();
        let half = Pps::from_micro(testbed.line_rate(&frames).micro() / 2);
        let offered = testbed.offered(&frames, half);
        assert!((offered[0].share - 0.5).abs() < 1e-9 && (offered[1].share - 0.5).abs() < 1e-9);
        assert!((offered[1].rate.as_f64() / offered[0].rate.as_f64() - 10.0).abs() < 1e-6);
    }

    #[test]
    fn the_clean_run_comes_first() {
        let runs = Testbed::one_way(1).with_each(&[Modifier::Broadcast, Modifier::Filters(25)]);
        let modifiers: Vec<_> = runs.iter().map(|testbed| testbed.attributes.modifier).collect();
        assert_eq!(modifiers, [None, Some(Modifier::Broadcast), Some(Modifier::Filters(25))]);
    }
}
