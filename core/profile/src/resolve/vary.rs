//! What varies: from generators as written to a field program's variables and writes.

use super::Resolver;
use crate::document::packet::FieldValue;
use crate::document::vary::{FlowsDoc, GeneratorDoc, OrderDoc, VaryDoc, Weight};
use crate::error::unknown;
use field::{FlowOrder, Flows, ListOrder, Source, Target, Variable, Vary, Write};
use indexmap::IndexMap;
use std::net::IpAddr;
use wire::path::{self, Place};
use wire::{Field, Header, Kind, PacketSpec};

/// Values a list may have: they are kept in memory.
const LIST_MAX: usize = 16 << 20;
/// Bits of the widest number that varies.
const WIDTH_MAX: u16 = 128;

/// A field that varies, as far as it is understood.
struct Varied<'a> {
    path: String,
    name: &'a str,
    target: Target,
    /// How its values are written; for raw bits a number.
    field: Field,
}

impl Resolver<'_> {
    /// The field program of the generators at `path`; `None` if there are none or something is wrong with one.
    pub(super) fn vary(
        &mut self,
        path: &str,
        generators: &IndexMap<String, VaryDoc>,
        flows: Option<&FlowsDoc>,
        headers: &[Header],
    ) -> Option<Vary> {
        let mut vary = Vary::default();
        let mut names: Vec<&str> = Vec::new();
        let mut sound = true;
        for (name, generator) in generators {
            let path = format!("{path}.{name}");
            match self
                .varied(path, name, headers)
                .and_then(|varied| self.variable(&varied, generator, &names))
            {
                Some((variable, write)) => {
                    vary.writes.push(Write { variable: vary.variables.len(), ..write });
                    vary.variables.push(variable);
                }
                None => sound = false,
            }
            names.push(name);
        }
        vary.flows = flows.map(|flows| Flows {
            count: flows.count,
            length: flows.length.unwrap_or(0),
            order: match flows.order {
                OrderDoc::Sequential => FlowOrder::Sequential,
                OrderDoc::Random => FlowOrder::Random { seed: self.seed_of(path, "flows") },
            },
        });
        (sound && !vary.variables.is_empty()).then_some(vary)
    }

    fn varied<'a>(&mut self, path: String, name: &'a str, headers: &[Header]) -> Option<Varied<'a>> {
        if self.reading.is_broken(&path) {
            return None;
        }
        let place = match path::resolve(name, headers) {
            Ok(place) => place,
            Err(error) => {
                self.reading.fail(path, error.to_string());
                return None;
            }
        };
        let field = match place {
            Place::Field { field, .. } => *field,
            Place::Bits { width, .. } | Place::PayloadBits { width, .. } => raw(width),
        };
        if field.width > WIDTH_MAX {
            let reason = format!("{} bits are too many to vary: the limit is {WIDTH_MAX}", field.width);
            self.reading.fail(path, reason);
            return None;
        }
        Some(Varied { path, name, target: target(place, headers), field })
    }

    /// The variable of a field and what it writes.
    fn variable(&mut self, varied: &Varied<'_>, doc: &VaryDoc, before: &[&str]) -> Option<(Variable, Write)> {
        let generator = match doc {
            VaryDoc::Generator(generator) => (**generator).clone(),
            VaryDoc::List(values) => GeneratorDoc { list: Some(values.clone()), ..GeneratorDoc::default() },
            VaryDoc::Word(word) => self.word(varied, word)?,
        };
        let source = self.source(varied, &generator, before)?;
        let mask = match &generator.mask {
            Some(mask) => self.number(varied, "mask", mask)?,
            None => varied.field.max(),
        };
        let after = match &generator.after {
            Some(other) => Some(self.earlier(varied, "after", other, before)?),
            None => None,
        };
        let variable = Variable { source, every: generator.every.unwrap_or(1), after };
        Some((variable, Write { variable: 0, target: varied.target, mask }))
    }

    /// What a single word stands for.
    fn word(&mut self, varied: &Varied<'_>, word: &str) -> Option<GeneratorDoc> {
        let text = |text: &str| Some(FieldValue::Text(text.trim().to_owned()));
        let (range, step) = match word.split_once(" step ") {
            Some((range, step)) => (range, text(step)),
            None => (word, None),
        };
        match (word.trim(), range.split_once("..")) {
            ("counter", _) => {
                let from = varied.field.print(0);
                let to = varied.field.print(varied.field.max());
                Some(GeneratorDoc { from: text(&from), to: text(&to), ..GeneratorDoc::default() })
            }
            ("random", _) => Some(GeneratorDoc { random: text("all"), ..GeneratorDoc::default() }),
            (_, Some((from, to))) => {
                Some(GeneratorDoc { from: text(from), to: text(to), step, ..GeneratorDoc::default() })
            }
            _ => {
                let reason = format!(
                    "'{word}' is not counter, random, or a range such as 0..100 or 0..100 step 4; a value that does \
                     not vary belongs into 'packet'"
                );
                self.reading.fail(&varied.path, reason);
                None
            }
        }
    }

    fn source(&mut self, varied: &Varied<'_>, doc: &GeneratorDoc, before: &[&str]) -> Option<Source> {
        let kinds = [
            ("from", doc.from.is_some()),
            ("random", doc.random.is_some()),
            ("list", doc.list.is_some()),
            ("file", doc.file.is_some()),
            ("weights", doc.weights.is_some()),
            ("same_as", doc.same_as.is_some()),
        ];
        let given: Vec<&str> = kinds.iter().filter(|(_, given)| *given).map(|(kind, _)| *kind).collect();
        let [kind] = given[..] else {
            let reason = match given[..] {
                [] => {
                    "one of 'from', 'random', 'list', 'file', 'weights' and 'same_as' is required".to_owned()
                }
                _ => format!("one source of values, not {}: {}", given.len(), given.join(", ")),
            };
            self.reading.fail(&varied.path, reason);
            return None;
        };
        self.refuse_strangers(varied, kind, doc)?;
        match kind {
            "from" => self.range(varied, doc),
            "random" => self.random(varied, doc),
            "list" | "file" => self.list(varied, doc),
            "weights" => self.weighted(varied, doc),
            _ => self.derived(varied, doc, before),
        }
    }

    /// Keys that mean nothing to a generator of this kind.
    fn refuse_strangers(&mut self, varied: &Varied<'_>, kind: &str, doc: &GeneratorDoc) -> Option<()> {
        let with_turns: &[&str] = &["from", "random", "list", "file", "weights"];
        let keys: [(&str, bool, &[&str]); 10] = [
            ("every", doc.every.is_some(), with_turns),
            ("after", doc.after.is_some(), with_turns),
            ("to", doc.to.is_some(), &["from"]),
            ("count", doc.count.is_some(), &["from"]),
            ("step", doc.step.is_some(), &["from"]),
            ("distinct", doc.distinct.is_some(), &["random"]),
            ("order", doc.order.is_some(), &["list", "file"]),
            ("seed", doc.seed.is_some(), &["random", "list", "file", "weights"]),
            ("shift", doc.shift.is_some(), &["same_as"]),
            ("plus", doc.plus.is_some(), &["same_as"]),
        ];
        let stranger = keys.iter().find(|(_, given, kinds)| *given && !kinds.contains(&kind));
        let Some((key, _, kinds)) = stranger else { return Some(()) };
        let reason = format!("'{key}' goes with '{}', not with '{kind}'", kinds.join("' or '"));
        self.reading.fail(format!("{}.{key}", varied.path), reason);
        None
    }

    fn range(&mut self, varied: &Varied<'_>, doc: &GeneratorDoc) -> Option<Source> {
        let field = &varied.field;
        let first = self.value(varied, "from", doc.from.as_ref()?)?;
        let step = match &doc.step {
            Some(step) => self.number(varied, "step", step)?,
            None => 1,
        };
        if step == 0 {
            self.reading.fail(format!("{}.step", varied.path), "must not be 0");
            return None;
        }
        let (step, count) = match (&doc.to, doc.count) {
            (Some(to), None) => {
                let last = self.value(varied, "to", to)?;
                let down = (0u128.wrapping_sub(step)) & field.max();
                let step_towards = if last < first { down } else { step };
                (step_towards, (first.abs_diff(last) / step).saturating_add(1))
            }
            (None, Some(count)) => (step, u128::from(count)),
            (None, None) => {
                self.reading.fail(&varied.path, "needs 'to' or 'count'");
                return None;
            }
            (Some(_), Some(_)) => {
                self.reading
                    .fail(format!("{}.count", varied.path), "conflicts with 'to'; remove one of them");
                return None;
            }
        };
        Some(Source::Range { first, step, count, width: field.width })
    }

    fn random(&mut self, varied: &Varied<'_>, doc: &GeneratorDoc) -> Option<Source> {
        let written = doc.random.as_ref()?.text();
        let bounds = match written.trim().split_once("..") {
            None if written.trim() == "all" => Some((0, varied.field.max())),
            None => None,
            Some((from, to)) => {
                let parse = |text: &str| varied.field.parse(text.trim()).ok();
                parse(from).zip(parse(to)).filter(|(from, to)| from <= to)
            }
        };
        let Some((from, to)) = bounds else {
            let (low, high) = (varied.field.print(0), varied.field.print(varied.field.max()));
            let reason = format!("'{written}' is not 'all' or a range within {low}..{high}");
            self.reading.fail(format!("{}.random", varied.path), reason);
            return None;
        };
        let seed = self.own_seed(varied, doc);
        Some(Source::Random { from, to, distinct: doc.distinct, seed })
    }

    fn list(&mut self, varied: &Varied<'_>, doc: &GeneratorDoc) -> Option<Source> {
        let values = match (&doc.list, &doc.file) {
            (Some(values), _) => {
                let parsed = values.iter().enumerate().map(|(index, value)| {
                    varied.field.parse(&value.text()).map_err(|error| (index, error.to_string()))
                });
                let at = |index: usize| format!("{}.list[{index}]", varied.path);
                let parsed: Result<Vec<u128>, _> = parsed.collect();
                parsed.map_err(|(index, reason)| self.reading.fail(at(index), reason)).ok()?
            }
            (None, Some(file)) => self.values_of_file(varied, file)?,
            (None, None) => return None,
        };
        let order = match doc.order.unwrap_or_default() {
            OrderDoc::Sequential => ListOrder::Sequential,
            OrderDoc::Random => ListOrder::Random { seed: self.own_seed(varied, doc) },
        };
        Some(Source::List { values: values.into(), order })
    }

    fn values_of_file(&mut self, varied: &Varied<'_>, file: &str) -> Option<Vec<u128>> {
        let path = format!("{}.file", varied.path);
        let bytes = self.file(&path, file)?;
        let Ok(text) = String::from_utf8(bytes) else {
            self.reading.fail(path, format!("'{file}' is not text"));
            return None;
        };
        let mut values = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let value = line.split('#').next().unwrap_or("").trim();
            if value.is_empty() {
                continue;
            }
            match varied.field.parse(value) {
                Ok(value) => values.push(value),
                Err(error) => {
                    self.reading.fail(path, format!("line {} of '{file}': {error}", number + 1));
                    return None;
                }
            }
        }
        if values.is_empty() || values.len() > LIST_MAX {
            let reason = format!("'{file}' has {} values; from 1 to {LIST_MAX} are understood", values.len());
            self.reading.fail(path, reason);
            return None;
        }
        Some(values)
    }

    fn weighted(&mut self, varied: &Varied<'_>, doc: &GeneratorDoc) -> Option<Source> {
        let (mut values, mut weights) = (Vec::new(), Vec::new());
        for (text, Weight(weight)) in doc.weights.as_ref()? {
            match varied.field.parse(text) {
                Ok(value) => values.push(value),
                Err(error) => {
                    self.reading.fail(format!("{}.weights.{text}", varied.path), error.to_string());
                    return None;
                }
            }
            weights.push(*weight);
        }
        let seed = self.own_seed(varied, doc);
        Some(Source::Weighted { values: values.into(), weights: weights.into(), seed })
    }

    fn derived(&mut self, varied: &Varied<'_>, doc: &GeneratorDoc, before: &[&str]) -> Option<Source> {
        let of = self.earlier(varied, "same_as", doc.same_as.as_ref()?, before)?;
        let add = match &doc.plus {
            Some(plus) => self.number(varied, "plus", plus)?,
            None => 0,
        };
        let shift = doc.shift.map_or(0, |shift| shift.0);
        Some(Source::Derived { of, shift, add, mask: varied.field.max(), width: varied.field.width })
    }

    /// Index of the varying field called `name`, if it comes before this one.
    fn earlier(&mut self, varied: &Varied<'_>, key: &str, name: &str, before: &[&str]) -> Option<usize> {
        let found = before.iter().position(|known| *known == name);
        if found.is_none() {
            let path = format!("{}.{key}", varied.path);
            let reason = match before {
                [] => format!("'{name}' does not vary, or is given behind '{}'", varied.name),
                _ => unknown("varying field before this one", name, before),
            };
            self.reading.fail(path, reason);
        }
        found
    }

    /// A value of the field.
    fn value(&mut self, varied: &Varied<'_>, key: &str, value: &FieldValue) -> Option<u128> {
        let parsed = varied.field.parse(&value.text());
        parsed.map_err(|error| self.reading.fail(format!("{}.{key}", varied.path), error.to_string())).ok()
    }

    /// A plain number that fits the field: addresses are not added or stepped by addresses. An address will do, too.
    fn number(&mut self, varied: &Varied<'_>, key: &str, value: &FieldValue) -> Option<u128> {
        let text = value.text();
        let number = Field { kind: Kind::Number, ..varied.field };
        match number.parse(&text).or_else(|error| varied.field.parse(&text).map_err(|_| error)) {
            Ok(number) => Some(number),
            Err(error) => {
                self.reading.fail(format!("{}.{key}", varied.path), error.to_string());
                None
            }
        }
    }

    fn own_seed(&self, varied: &Varied<'_>, doc: &GeneratorDoc) -> u64 {
        doc.seed.unwrap_or_else(|| self.seed_of(&varied.path, "vary"))
    }
}

/// Bits without a field, written as a number.
fn raw(width: u16) -> Field {
    Field {
        name: "bits",
        bit: 0,
        width,
        kind: Kind::Number,
        default: 0,
        auto: wire::Auto::Default,
        doc: "Raw bits",
    }
}

fn target(place: Place, headers: &[Header]) -> Target {
    match place {
        Place::Field { header, field } if headers[header].shift(field) == 0 => {
            Target::Field { header, field }
        }
        // Behind a field of variable length, where it is depends on this packet.
        Place::Field { field, .. } => {
            let spec = PacketSpec { headers: headers.to_vec(), ..PacketSpec::default() };
            // A packet that can't be built is an error of its own.
            let offset = spec.build_unpadded().map_or(0, |packet| place.position(headers, &packet).0);
            Target::Bits { offset, width: field.width }
        }
        Place::Bits { offset, width } => Target::Bits { offset, width },
        Place::PayloadBits { offset, width } => Target::PayloadBits { offset, width },
    }
}

/// Values of `source` from the smallest to the largest, as far as that can be said.
pub(super) fn bounds(source: &Source) -> Option<(u128, u128)> {
    match source {
        Source::Range { first, step, count, width } => {
            let modulus = if *width == 128 { 0 } else { 1u128 << width };
            let half = 1u128 << (width - 1);
            let span = |step: u128| step.checked_mul(count - 1);
            if *step >= half {
                let down = modulus.wrapping_sub(*step);
                span(down).and_then(|span| first.checked_sub(span)).map(|low| (low, *first))
            } else {
                span(*step).and_then(|span| first.checked_add(span)).map(|high| (*first, high))
            }
        }
        Source::Random { from, to, .. } => Some((*from, *to)),
        Source::List { values, .. } | Source::Weighted { values, .. } => {
            values.iter().min().copied().zip(values.iter().max().copied())
        }
        Source::Derived { .. } => None,
    }
}

/// The addresses a field program gives `src` or `dst` of the header `index`, lowest and highest.
pub(super) fn addresses(vary: &Vary, index: usize, header: &Header, name: &str) -> Option<(IpAddr, IpAddr)> {
    let writes_it = |write: &&Write| matches!(write.target, Target::Field { header, field } if header == index && field.name == name);
    let write = vary.writes.iter().find(writes_it)?;
    let (low, high) = bounds(&vary.variables[write.variable].source)?;
    let ip = |bits: u128| match header.protocol.name {
        "ipv4" => IpAddr::V4((bits as u32).into()),
        _ => IpAddr::V6(bits.into()),
    };
    Some((ip(low), ip(high)))
}
