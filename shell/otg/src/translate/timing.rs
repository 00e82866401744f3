//! How long a flow's frames are, how fast they are sent, and for how long.

use crate::node::Node;
use serde_json::{Map, Value, json};
use units::{FrameLen, L1_OVERHEAD_BYTES};

/// Gap between frames that every Ethernet link has, bytes; what the model has as its default.
const LEAST_GAP: u64 = 12;
/// Weights of a profile are whole numbers; fractions are taken times this.
const WEIGHT_SCALE: f64 = 1000.0;
const WEIGHT_MAX: f64 = 1_000_000.0;
/// Lengths a sweep may have.
const LENGTHS_MAX: u64 = 16_000;

/// A flow's frame lengths.
pub(super) struct Sizes {
    /// As a profile says it.
    pub(super) document: Value,
    /// The length, if all frames have the same.
    pub(super) one: Option<FrameLen>,
    /// The shortest, for what is computed of a frame.
    pub(super) shortest: FrameLen,
    /// The longest.
    pub(super) longest: FrameLen,
}

/// Reads the lengths. Those too short for what a frame holds are raised to `least`, with a warning.
pub(super) fn sizes(flow: &Node<'_>, least: FrameLen) -> Sizes {
    let node = flow.child("size");
    let raise = |name: &str, bytes: u64| match FrameLen::new(bytes as u32) {
        Some(length) if length >= least => length,
        Some(_) => {
            node.warn_at(name, format!("{bytes} is too short for the packet: raised to {}", least.bytes()));
            least
        }
        None if bytes < u64::from(least.bytes()) => {
            node.warn_at(name, format!("{bytes} is too short for the packet: raised to {}", least.bytes()));
            least
        }
        None => {
            node.fail_at(name, format!("must be at most {} bytes", FrameLen::MAX.bytes()));
            least
        }
    };
    match node.choice() {
        "increment" => increment(&node.child("increment"), least),
        "random" => {
            let node = node.child("random");
            let (min, max) = (node.whole("min"), node.whole("max"));
            if min > max {
                node.fail_at("max", "must be at least min");
            }
            let (min, max) = (raise("random.min", min), raise("random.max", max));
            range(format!("random {}B..{}B", min.bytes(), max.max(min).bytes()), min, max)
        }
        "weight_pairs" => weights(&node.child("weight_pairs"), least),
        _ => one(raise("fixed", node.whole("fixed"))),
    }
}

fn one(length: FrameLen) -> Sizes {
    let document = format!("{}B", length.bytes()).into();
    Sizes { document, one: Some(length), shortest: length, longest: length }
}

fn range(text: String, shortest: FrameLen, longest: FrameLen) -> Sizes {
    if shortest >= longest {
        return one(shortest);
    }
    Sizes { document: text.into(), one: None, shortest, longest }
}

fn increment(node: &Node<'_>, least: FrameLen) -> Sizes {
    let (start, end, step) = (node.whole("start"), node.whole("end"), node.whole("step").max(1));
    if start > end {
        node.fail_at("end", "must be at least start");
        return one(least);
    }
    if end > u64::from(FrameLen::MAX.bytes()) {
        node.fail_at("end", format!("must be at most {} bytes", FrameLen::MAX.bytes()));
        return one(least);
    }
    if (end - start) / step >= LENGTHS_MAX {
        node.fail_at("step", format!("makes more than {LENGTHS_MAX} lengths"));
        return one(least);
    }
    if start < u64::from(least.bytes()) {
        node.warn_at("start", format!("lengths below {} are raised to it", least.bytes()));
    }
    let raised = |bytes: u64| FrameLen::new(bytes as u32).unwrap_or(least).max(least);
    let lengths: Vec<FrameLen> = (start..=end).step_by(step as usize).map(raised).collect();
    let (first, last) = (lengths[0], lengths[lengths.len() - 1]);
    if start < u64::from(least.bytes()) {
        let document = lengths.iter().map(|length| Value::from(format!("{}B", length.bytes()))).collect();
        return Sizes { document, one: None, shortest: first, longest: last };
    }
    range(format!("{}B..{}B step {step}B", first.bytes(), last.bytes()), first, last)
}

fn weights(node: &Node<'_>, least: FrameLen) -> Sizes {
    if node.choice() == "predefined" {
        let mix = match node.text("predefined") {
            "ipsec_imix" => "imix-ipsec",
            "ipv6_imix" => "imix-ipv6",
            "standard_imix" => "imix-standard",
            "tcp_imix" => "imix-tcp",
            _ => "imix-v4",
        };
        let longest = FrameLen::new(1518).unwrap_or(FrameLen::MAX);
        return Sizes { document: mix.into(), one: None, shortest: least, longest: longest.max(least) };
    }
    let pairs = node.items("custom");
    let whole = pairs.iter().all(|pair| pair.real("weight").fract() == 0.0);
    let scale = if whole { 1.0 } else { WEIGHT_SCALE };
    let mut found: std::collections::BTreeMap<FrameLen, f64> = std::collections::BTreeMap::new();
    for pair in &pairs {
        let (size, weight) = (pair.whole("size"), (pair.real("weight") * scale).round());
        if !(0.0..=WEIGHT_MAX).contains(&weight) {
            pair.fail_at("weight", format!("must be from 0 to {}", WEIGHT_MAX / scale));
        }
        if size > u64::from(FrameLen::MAX.bytes()) {
            pair.fail_at("size", format!("must be at most {} bytes", FrameLen::MAX.bytes()));
        }
        if size < u64::from(least.bytes()) {
            pair.warn_at("size", format!("{size} is too short for the packet: raised to {}", least.bytes()));
        }
        let size = FrameLen::new(size as u32).unwrap_or(least).max(least);
        *found.entry(size).or_default() += weight;
    }
    found.retain(|_, weight| *weight > 0.0);
    let (Some((&shortest, _)), Some((&longest, _))) = (found.first_key_value(), found.last_key_value())
    else {
        node.fail_at("custom", "must contain a size with a positive weight");
        return one(least);
    };
    let document = found.iter().map(|(size, weight)| (format!("{}B", size.bytes()), (*weight as u64).into()));
    let document = Value::Object(document.collect::<Map<_, _>>());
    Sizes { document, one: (shortest == longest).then_some(shortest), shortest, longest }
}

/// How fast a flow is sent.
pub(super) enum Rate {
    /// Packets per second.
    Packets(f64),
    /// Bits per second, layer 1: the model's rates count preamble and gap.
    Bits(f64),
    /// Percent of the link.
    Share(f64),
}

impl Rate {
    /// Reads a flow's rate.
    pub(super) fn read(flow: &Node<'_>) -> Self {
        let node = flow.child("rate");
        let choice = node.choice();
        match choice {
            "percentage" => {
                let share = node.real(choice);
                if share == 0.0 {
                    node.fail_at(choice, "must be greater than 0");
                }
                Self::Share(share)
            }
            "pps" => Self::Packets(node.whole(choice) as f64),
            "kbps" => Self::Bits(node.whole(choice) as f64 * 1e3),
            "mbps" => Self::Bits(node.whole(choice) as f64 * 1e6),
            "gbps" => Self::Bits(node.whole(choice) as f64 * 1e9),
            _ => Self::Bits(node.whole("bps") as f64),
        }
    }

    /// The rate of one of `parts` equal streams, as a profile says it.
    pub(super) fn document(&self, parts: u64) -> String {
        let parts = parts as f64;
        match self {
            Self::Packets(pps) => format!("{}pps", decimal(pps / parts, 6)),
            Self::Bits(bps) => format!("{}bps-L1", (bps / parts).round().max(1.0)),
            Self::Share(share) => format!("{}%", decimal(share / parts, 4)),
        }
    }

    /// Packets per second of frames of `size` on a link of `speed` bit/s, as far as that is known.
    pub(super) fn pps(&self, size: Option<FrameLen>, speed: Option<u64>) -> Option<f64> {
        let bits = |size: FrameLen| f64::from((size.bytes() + L1_OVERHEAD_BYTES) * 8);
        match self {
            Self::Packets(pps) => Some(*pps),
            Self::Bits(bps) => size.map(|size| bps / bits(size)),
            Self::Share(share) => Some(speed? as f64 * share / 100.0 / bits(size?)),
        }
    }
}

/// A number with at most so many places, and none that say nothing.
pub(super) fn decimal(number: f64, places: usize) -> String {
    let text = format!("{number:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// How long a flow is sent.
#[derive(Default)]
pub(super) struct Duration {
    /// Count of packets of all its streams together that the profile says.
    pub(super) packets: Option<u64>,
    /// Packets after which it has ended, said by the profile in whichever way.
    pub(super) in_all: Option<u64>,
    /// Seconds from the start of traffic to its end, if the rate ends by itself.
    pub(super) ends_at_s: Option<f64>,
    /// Nanoseconds before the first.
    pub(super) delay_ns: f64,
    /// A profile's `pattern`, if there is one.
    pub(super) pattern: Option<Value>,
    /// The pattern has the rate in it.
    pub(super) rate_in_pattern: bool,
}

/// What of a flow its duration depends on.
pub(super) struct Given<'a> {
    pub(super) rate: &'a Rate,
    pub(super) size: Option<FrameLen>,
    /// Bits per second of the link, if the configuration says it.
    pub(super) speed: Option<u64>,
    /// Equal streams that the flow is split into.
    pub(super) parts: u64,
}

impl Duration {
    /// Reads a flow's duration.
    pub(super) fn read(flow: &Node<'_>, given: &Given<'_>) -> Self {
        let node = flow.child("duration");
        let choice = node.choice();
        let inner = node.child(choice);
        if inner.whole("gap") < LEAST_GAP {
            inner.fail_at("gap", format!("must be at least {LEAST_GAP}"));
        } else if inner.whole("gap") > LEAST_GAP {
            inner.fail_at("gap", "not supported: the rate determines the gap");
        }
        if choice == "burst" {
            return bursts(&inner, given);
        }
        let delay_ns = span(&inner.child("delay"), given.speed);
        let mut duration = Self { delay_ns, ..Self::default() };
        match choice {
            "fixed_packets" => duration.packets = Some(inner.whole("packets")),
            "fixed_seconds" => duration.fix_seconds(inner.real("seconds"), given),
            _ => {}
        }
        duration.in_all = duration.packets;
        duration
    }

    /// So many seconds: a number of packets where the rate tells it, else a rate that ends.
    fn fix_seconds(&mut self, seconds: f64, given: &Given<'_>) {
        if let Some(pps) = given.rate.pps(given.size, given.speed) {
            self.packets = Some((pps * seconds).round().max(1.0) as u64);
            return;
        }
        let rate = given.rate.document(given.parts);
        let end = format!("{}ns", decimal(seconds * 1e9, 0));
        let points = json!([{"at": "0s", "rate": rate}, {"at": end, "rate": "0pps"}]);
        self.pattern = Some(json!({"curve": {"points": points, "shape": "steps"}}));
        self.rate_in_pattern = true;
        self.ends_at_s = Some(self.delay_ns / 1e9 + seconds);
    }
}

/// Bursts of packets at the flow's rate. The gap between them comes on top of that between packets.
fn bursts(node: &Node<'_>, given: &Given<'_>) -> Duration {
    let (bursts, packets) = (node.whole("bursts"), node.whole("packets"));
    let gap = node.child("inter_burst_gap");
    let least = gap.choice() == "bytes" && gap.real("bytes") <= LEAST_GAP as f64;
    let gap_ns = if least { 0.0 } else { span(&gap, given.speed) };
    let mut duration = Duration::default();
    if given.parts > 1 {
        node.fail("bursts are not supported in a flow of several endpoints or with metric_tags");
        return duration;
    }
    duration.packets = (bursts > 0).then_some(bursts * packets);
    duration.in_all = duration.packets;
    let Some(pps) = given.rate.pps(given.size, given.speed) else {
        node.fail(
            "bursts need a rate in packets per second, or frames of one length and the port's layer1 speed",
        );
        return duration;
    };
    if gap_ns > 0.0 {
        let every = format!("{}ns", decimal(packets as f64 / pps * 1e9 + gap_ns, 0));
        let mut burst = json!({"packets": packets, "every": every});
        if bursts > 0 {
            burst["bursts"] = bursts.into();
        }
        duration.pattern = Some(json!({"multi_burst": burst}));
        duration.packets = None;
    }
    duration
}

/// Nanoseconds of a delay or gap; bytes are those of the link, whose speed the configuration must say.
fn span(node: &Node<'_>, speed: Option<u64>) -> f64 {
    match node.choice() {
        "nanoseconds" => node.real("nanoseconds"),
        "microseconds" => node.real("microseconds") * 1e3,
        _ => match (node.real("bytes"), speed) {
            (0.0, _) => 0.0,
            (bytes, Some(speed)) => bytes * 8e9 / speed as f64,
            _ => {
                node.fail_at("bytes", "requires a link speed: set the port's layer1 speed");
                0.0
            }
        },
    }
}
