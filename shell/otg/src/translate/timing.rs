//! Length of a flow's frames, their rate, and their duration.

use crate::node::Node;
use profile::document::{
    FrameSizes, Length, LoadPer, MultiBurstDoc, PatternDoc, SizeText, SizesDoc, StreamRate, Weight,
};
use profile::{MIXES, document};
use units::{BitRate, FrameLen, Layer, Load, Nanos, Pps};

/// Gap between frames that every Ethernet link has, bytes; what the model has as its default.
const LEAST_GAP: u64 = 12;
/// Weights of a profile are whole numbers; fractions are taken times this.
const WEIGHT_SCALE: f64 = 1000.0;
const WEIGHT_MAX: f64 = 1_000_000.0;
/// Lengths a sweep may have.
const LENGTHS_MAX: u64 = 16_000;

/// A flow's frame lengths.
pub(super) struct Sizes {
    /// In the form of a profile.
    pub(super) document: SizesDoc,
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
            range(SizeText::Random { from: min, to: max.max(min) }, min, max)
        }
        "weight_pairs" => weights(&node.child("weight_pairs"), least),
        _ => one(raise("fixed", node.whole("fixed"))),
    }
}

fn one(length: FrameLen) -> Sizes {
    Sizes { document: text(SizeText::One(length)), one: Some(length), shortest: length, longest: length }
}

fn text(text: SizeText) -> SizesDoc {
    SizesDoc::Text(FrameSizes(text))
}

fn range(lengths: SizeText, shortest: FrameLen, longest: FrameLen) -> Sizes {
    if shortest >= longest {
        return one(shortest);
    }
    Sizes { document: text(lengths), one: None, shortest, longest }
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
        let document = SizesDoc::List(lengths.into_iter().map(Length).collect());
        return Sizes { document, one: None, shortest: first, longest: last };
    }
    range(SizeText::Sweep { from: first, to: last, step: step as u32 }, first, last)
}

fn weights(node: &Node<'_>, least: FrameLen) -> Sizes {
    if node.choice() == "predefined" {
        let name = match node.text("predefined") {
            "ipsec_imix" => "imix-ipsec",
            "ipv6_imix" => "imix-ipv6",
            "standard_imix" => "imix-standard",
            "tcp_imix" => "imix-tcp",
            _ => "imix-v4",
        };
        let longest = FrameLen::new(1518).unwrap_or(FrameLen::MAX);
        let mix = MIXES.iter().find(|mix| mix.name == name).unwrap_or(&MIXES[0]);
        return Sizes {
            document: text(SizeText::Mix { mix, random: false }),
            one: None,
            shortest: least,
            longest: longest.max(least),
        };
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
    let weights = found.iter().map(|(size, weight)| (size.to_string(), Weight(*weight as u32)));
    Sizes {
        document: SizesDoc::Weights(weights.collect()),
        one: (shortest == longest).then_some(shortest),
        shortest,
        longest,
    }
}

/// Reads a flow's rate. Bit rates refer to layer 1: the model's count preamble and gap.
pub(super) fn rate(flow: &Node<'_>) -> Load {
    let node = flow.child("rate");
    let choice = node.choice();
    let bits = |factor: u64| {
        Load::Bits(BitRate { bps: node.whole(choice).saturating_mul(factor), layer: Layer::L1 })
    };
    match choice {
        "percentage" => {
            let share = node.real(choice);
            if share == 0.0 {
                node.fail_at(choice, "must be greater than 0");
            }
            Load::LinkShare((share * 1e4).round() as u32)
        }
        "pps" => Load::Packets(Pps::from_micro(node.whole(choice).saturating_mul(1_000_000))),
        "kbps" => bits(1_000),
        "mbps" => bits(1_000_000),
        "gbps" => bits(1_000_000_000),
        _ => Load::Bits(BitRate { bps: node.whole("bps"), layer: Layer::L1 }),
    }
}

/// The rate of one of `parts` equal streams.
fn part(rate: Load, parts: u64) -> Load {
    let part = |number: u64| number.saturating_add(parts / 2) / parts;
    match rate {
        Load::Packets(pps) => Load::Packets(Pps::from_micro(part(pps.micro()))),
        Load::Bits(rate) => Load::Bits(BitRate { bps: part(rate.bps).max(1), ..rate }),
        Load::LinkShare(ppm) => Load::LinkShare(part(ppm.into()) as u32),
        Load::Max => Load::Max,
    }
}

/// The rate of one of `parts` equal streams, in the form of a profile.
pub(super) fn stream_rate(rate: Load, parts: u64) -> StreamRate {
    StreamRate(LoadPer { load: part(rate, parts), flow: false })
}

/// Packets per second of frames of `size` on a link of `speed` bit/s, as far as that is known.
fn pps(rate: Load, size: Option<FrameLen>, speed: Option<u64>) -> Option<f64> {
    let pps = match rate {
        Load::Packets(pps) => Some(pps),
        Load::Bits(_) => rate.packets(size?, 0),
        Load::LinkShare(_) | Load::Max => rate.packets(size?, speed?),
    };
    pps.map(Pps::as_f64)
}

/// The nearest nanosecond.
pub(super) fn nanos(ns: f64) -> Nanos {
    Nanos(ns.round() as u64)
}

/// Duration of a flow.
#[derive(Default)]
pub(super) struct Duration {
    /// Count of packets of all its streams together in the profile.
    pub(super) packets: Option<u64>,
    /// Number of packets after which it has ended, in any form of the profile.
    pub(super) in_all: Option<u64>,
    /// For how long it is sent, its delay included, s, if that ends it.
    pub(super) ends_at_s: Option<f64>,
    /// Nanoseconds before the first.
    pub(super) delay_ns: f64,
    /// Sending time of its streams.
    pub(super) time: Option<Nanos>,
    /// Pattern of its sending times.
    pub(super) pattern: PatternDoc,
}

/// Parts of a flow that its duration depends on.
pub(super) struct Given {
    pub(super) rate: Load,
    pub(super) size: Option<FrameLen>,
    /// Bits per second of the link, if the configuration sets it.
    pub(super) speed: Option<u64>,
    /// Equal streams that the flow is split into.
    pub(super) parts: u64,
}

impl Duration {
    /// Reads a flow's duration.
    pub(super) fn read(flow: &Node<'_>, given: &Given) -> Self {
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
            "fixed_seconds" => duration.fix_seconds(inner.real("seconds")),
            _ => {}
        }
        duration.in_all = duration.packets;
        duration
    }

    /// A fixed duration in seconds, for any number of packets.
    fn fix_seconds(&mut self, seconds: f64) {
        self.time = Some(nanos(seconds * 1e9).max(Nanos(1)));
        self.ends_at_s = Some(self.delay_ns / 1e9 + seconds);
    }
}

/// Bursts of packets at the flow's rate. The gap between them comes on top of that between packets.
fn bursts(node: &Node<'_>, given: &Given) -> Duration {
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
    let Some(pps) = pps(given.rate, given.size, given.speed) else {
        node.fail(
            "bursts need a rate in packets per second, or frames of one length and the port's layer1 speed",
        );
        return duration;
    };
    if gap_ns > 0.0 {
        let every = document::Duration(nanos(packets as f64 / pps * 1e9 + gap_ns));
        duration.pattern = PatternDoc::MultiBurst(MultiBurstDoc {
            packets: u32::try_from(packets).unwrap_or(u32::MAX),
            every: Some(every),
            bursts: (bursts > 0).then_some(bursts),
        });
        duration.packets = None;
    }
    duration
}

/// Nanoseconds of a delay or gap; bytes are counted on the link, whose speed the configuration must set.
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
