//! The model's patterns: the value of a header field in each packet.

use crate::node::Node;
use profile::document::{FieldValue, GeneratorDoc, VaryDoc};
use std::net::{Ipv4Addr, Ipv6Addr};
use units::Mac;
use wire::Kind;

/// Maximum number of tag value combinations of a flow, and of values in a list.
pub(crate) const VALUES_MAX: u64 = 1024;

/// The values of a field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Values {
    /// Computed.
    Computed,
    /// A wrong checksum.
    Bad,
    /// A fixed value.
    One(u128),
    /// Varying values.
    Many(Series),
}

/// Varying values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Series {
    /// Listed values in order.
    List(Vec<u128>),
    /// `count` values from `first` in steps, repeated.
    Steps { first: u128, step: u128, count: u64, down: bool },
    /// `count` distinct random values from `min` to `max`.
    Random { min: u128, max: u128, seed: u64, count: u64 },
}

/// A metric tag: counts packets by some bits of a field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MetricTag {
    pub(crate) name: String,
    /// Offset of the first bit in the field.
    pub(crate) offset: usize,
    /// Width in bits.
    pub(crate) width: usize,
}

/// Meaning of an absent pattern, and of `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absent {
    /// The model's default.
    Default,
    /// Computed from the rest of the packet.
    Computed,
}

impl Values {
    /// Reads a pattern of `width` bits.
    pub(crate) fn read(node: &Node<'_>, width: u16, absent: Absent) -> Self {
        if !node.is_given() && absent == Absent::Computed {
            return Self::Computed;
        }
        match node.choice() {
            "values" => Self::list(node),
            "increment" => steps(node, "increment", width, false),
            "decrement" => steps(node, "decrement", width, true),
            "random" => random(&node.child("random")),
            "custom" => Self::One(node.bits("custom")),
            "generated" if node.text("generated") == "bad" => Self::Bad,
            "generated" => Self::Computed,
            "auto" if absent == Absent::Computed => {
                node.value("auto");
                Self::Computed
            }
            "auto" if node.child_is_message("auto") => {
                // A client's: the flow knows which.
                node.child("auto").text("choice");
                Self::One(0)
            }
            "auto" => Self::One(node.bits("auto")),
            _ => Self::One(node.bits("value")),
        }
    }

    fn list(node: &Node<'_>) -> Self {
        match node.bits_list("values")[..] {
            [] => {
                node.fail_at("values", "must not be empty");
                Self::One(0)
            }
            [one] => Self::One(one),
            ref many => Self::Many(Series::List(many.to_vec())),
        }
    }

    /// The fixed value, if it is one.
    pub(crate) fn one(&self) -> Option<u128> {
        match self {
            Self::One(value) => Some(*value),
            _ => None,
        }
    }
}

fn steps(node: &Node<'_>, name: &str, width: u16, down: bool) -> Values {
    let node = node.child(name);
    let (first, step, count) = (node.bits("start"), node.bits("step"), node.whole("count").max(1));
    if count == 1 || step == 0 {
        return Values::One(first);
    }
    let most = if width >= 64 { u64::MAX } else { 1 << width };
    if count > most {
        node.fail_at("count", format!("{count} values do not fit {width} bits"));
    }
    Values::Many(Series::Steps { first, step, count, down })
}

fn random(node: &Node<'_>) -> Values {
    let (min, max) = (node.bits("min"), node.bits("max"));
    let (seed, count) = (node.whole("seed"), node.whole("count").max(1));
    if min > max {
        node.fail_at("max", "must be at least min");
    }
    if min == max { Values::One(min) } else { Values::Many(Series::Random { min, max, seed, count }) }
}

/// Tags of a pattern whose field has `width` bits.
pub(crate) fn tags(node: &Node<'_>, width: u16) -> Vec<MetricTag> {
    if !node.may_have("metric_tags") {
        return Vec::new();
    }
    let tag = |node: Node<'_>| {
        let tag = MetricTag {
            name: node.text("name").to_owned(),
            offset: node.whole("offset") as usize,
            width: node.whole("length") as usize,
        };
        let fits = tag.offset + tag.width <= usize::from(width);
        if !fits {
            node.fail_at("length", format!("offset plus length exceeds the field's {width} bits"));
        }
        fits.then_some(tag)
    };
    node.items("metric_tags").into_iter().filter_map(tag).collect()
}

impl Series {
    /// Number of values before they repeat; `None` if random.
    pub(crate) fn period(&self) -> Option<u64> {
        match self {
            Self::List(values) => Some(values.len() as u64),
            Self::Steps { count, .. } => Some(*count),
            Self::Random { .. } => None,
        }
    }

    /// The value in packet `n` of a series that is not random.
    pub(crate) fn nth(&self, n: u64, width: u16) -> u128 {
        match self {
            Self::List(values) => values[(n % values.len() as u64) as usize],
            Self::Steps { first, step, count, .. } => {
                let span = step.wrapping_mul(u128::from(n % count));
                let value = if self.is_down() { first.wrapping_sub(span) } else { first.wrapping_add(span) };
                value & ones(width)
            }
            Self::Random { min, .. } => *min,
        }
    }

    fn is_down(&self) -> bool {
        matches!(self, Self::Steps { down: true, .. })
    }

    /// Its `vary` entry in a profile, for a field of `width` bits.
    pub(crate) fn vary(&self, kind: Kind, width: u16) -> VaryDoc {
        let value = |value: u128| field_value(kind, value);
        match self {
            Self::List(values) => VaryDoc::List(values.iter().map(|v| value(*v)).collect()),
            Self::Steps { first, step, count, down } => {
                let step = if *down { 0u128.wrapping_sub(*step) } else { *step } & ones(width);
                generator(GeneratorDoc {
                    from: Some(value(*first)),
                    step: Some(number(kind, step)),
                    count: Some(*count),
                    ..GeneratorDoc::default()
                })
            }
            Self::Random { min, max, seed, count } => {
                let range = format!("{}..{}", value(*min).text(), value(*max).text());
                generator(GeneratorDoc {
                    random: Some(FieldValue::Text(range)),
                    seed: Some(*seed),
                    // More different ones than there are is all of them.
                    distinct: (u128::from(*count) <= max - min).then_some(*count),
                    ..GeneratorDoc::default()
                })
            }
        }
    }
}

/// All bits of `width` set.
pub(crate) fn ones(width: u16) -> u128 {
    if width >= 128 { u128::MAX } else { (1 << width) - 1 }
}

fn generator(generator: GeneratorDoc) -> VaryDoc {
    VaryDoc::Generator(Box::new(generator))
}

/// A field's value in a profile.
pub(crate) fn field_value(kind: Kind, value: u128) -> FieldValue {
    match kind {
        Kind::Mac => FieldValue::Text(Mac::from_number(value as u64).to_string()),
        Kind::Ipv4 => FieldValue::Text(Ipv4Addr::from(value as u32).to_string()),
        Kind::Ipv6 => FieldValue::Text(Ipv6Addr::from(value).to_string()),
        Kind::Number | Kind::Hex => number(kind, value),
    }
}

/// A number in a profile: as a string if too large for JSON, as an address for IPv6.
fn number(kind: Kind, value: u128) -> FieldValue {
    match u64::try_from(value) {
        Ok(value) if value < 1 << 53 => FieldValue::Number(value),
        _ if kind == Kind::Ipv6 => FieldValue::Text(Ipv6Addr::from(value).to_string()),
        _ => FieldValue::Text(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::message;
    use crate::node::Log;
    use serde_json::{Value, json};

    /// A generator as JSON.
    fn varies(series: &Series, kind: Kind, width: u16) -> Value {
        let mut value = serde_json::to_value(series.vary(kind, width)).unwrap();
        value.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        value
    }

    fn read(pattern: &str, json: Value, width: u16) -> (Values, Vec<String>) {
        let log = Log::default();
        let values = Values::read(&Node::root(&json, message(pattern), &log), width, Absent::Default);
        log.unread(&json, message(pattern));
        (values, log.end().0)
    }

    #[test]
    fn reads_every_pattern() {
        let good = |pattern, json, width| {
            let (values, errors) = read(pattern, json, width);
            assert_eq!(errors, Vec::<String>::new());
            values
        };
        let port = "PatternFlowUdpSrcPort";
        assert_eq!(good(port, json!({"choice": "value", "value": 7}), 16), Values::One(7));
        assert_eq!(good(port, json!({}), 16), Values::One(0));
        let list = Values::Many(Series::List(vec![1, 2]));
        assert_eq!(good(port, json!({"choice": "values", "values": [1, 2]}), 16), list);
        let down = json!({"choice": "decrement", "decrement": {"start": 3, "step": 2, "count": 4}});
        let Values::Many(series) = good(port, down, 16) else { panic!() };
        assert_eq!([0, 1, 2, 3, 4].map(|n| series.nth(n, 16)), [3, 1, 65535, 65533, 3]);
        assert_eq!(varies(&series, Kind::Number, 16), json!({"from": 3, "step": 65534, "count": 4}));
        let random = json!({"random": {"min": 10, "max": 20, "seed": 5, "count": 3}});
        let Values::Many(series) = good(port, random, 16) else { panic!() };
        assert_eq!(varies(&series, Kind::Number, 16), json!({"random": "10..20", "seed": 5, "distinct": 3}));
        let mac =
            json!({"increment": {"start": "00:00:00:00:00:0a", "step": "00:00:00:00:01:00", "count": 2}});
        let Values::Many(series) = good("PatternFlowEthernetSrc", mac, 48) else { panic!() };
        let wanted = json!({"from": "00:00:00:00:00:0a", "step": 256, "count": 2});
        assert_eq!(varies(&series, Kind::Mac, 48), wanted);
        let bad = json!({"choice": "generated", "generated": "bad"});
        assert_eq!(good("PatternFlowUdpChecksum", bad, 16), Values::Bad);
    }

    #[test]
    fn what_was_not_chosen_is_an_error() {
        let both = json!({"choice": "value", "value": 7, "values": [1, 2]});
        assert_eq!(read("PatternFlowUdpSrcPort", both, 16).1, ["values: not supported"]);
    }
}
