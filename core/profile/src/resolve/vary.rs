//! Variable fields: from generators as written to a field program's variables and writes.

use super::Resolver;
use crate::document::packet::FieldValue;
use crate::document::vary::{EndianDoc, FlowsDoc, GeneratorDoc, ListOrderDoc, OrderDoc, VaryDoc, Weight};
use field::{FlowOrder, Flows, ListOrder, Pick, Source, Target, Variable, Vary, Write};
use indexmap::IndexMap;
use spelling::unknown;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::path::{self, Place};
use wire::{Field, Header, Kind, Packet, PacketSpec, ValueError};

/// Values a list may have: they are kept in memory.
const LIST_MAX: usize = 16 << 20;
/// Bits of the widest number that varies.
const WIDTH_MAX: u16 = 128;

/// Names valid in 'vary'.
pub(super) struct Fields<'a> {
    /// The packet's headers.
    pub(super) headers: &'a [Header],
    /// The frame they were read from, if it is given byte by byte.
    pub(super) raw: Option<&'a Packet>,
}

impl<'a> Fields<'a> {
    /// Those of a packet built from headers.
    pub(super) fn of(headers: &'a [Header]) -> Self {
        Self { headers, raw: None }
    }

    fn target(&self, place: Place) -> Target {
        let Some(packet) = self.raw else { return target(place, self.headers) };
        let (offset, width) = place.position(self.headers, packet);
        Target::Bits { offset, width }
    }
}

/// Variable fields and their names.
#[derive(Clone, Default)]
pub(super) struct Varying {
    pub(super) vary: Vary,
    pub(super) names: Names,
}

/// The names of variables and writes, in their order.
#[derive(Clone, Default)]
pub(super) struct Names {
    pub(super) variables: Vec<String>,
    pub(super) writes: Vec<String>,
}

/// A field or variable that varies, as far as it is understood.
struct Varied<'a> {
    path: String,
    name: &'a str,
    /// Where it is written; variables are not.
    target: Option<Target>,
    /// Notation of its values; for raw bits and variables a number.
    field: Field,
}

/// Output of a generator.
struct Made {
    variable: Variable,
    /// Where it is written, if it is.
    write: Option<Write>,
    little_endian: bool,
    /// Whether it draws from the stream's generator.
    is_shared: bool,
}

/// The values of a generator, and at which of them it begins.
struct Values {
    source: Source,
    phase: u64,
}

impl From<Source> for Values {
    fn from(source: Source) -> Self {
        Self { source, phase: 0 }
    }
}

/// First character of a variable's name.
const SIGIL: char = '$';
/// Default size of a variable, bytes.
const VARIABLE_BYTES: u8 = 8;

impl Resolver<'_> {
    /// The field program of the generators at `path`; `None` if there are none or something is wrong with one.
    pub(super) fn vary(
        &mut self,
        path: &str,
        generators: &IndexMap<String, VaryDoc>,
        flows: Option<&FlowsDoc>,
        lcg_seed: Option<u32>,
        fields: &Fields<'_>,
    ) -> Option<Varying> {
        let mut vary = Vary::default();
        let mut names = Names::default();
        let mut before: Vec<&str> = Vec::new();
        let (mut little, mut shared) = (Vec::new(), Vec::new());
        let mut sound = true;
        for (name, generator) in generators {
            let path = format!("{path}.{name}");
            let varied = self.varied(path, name, generator, fields);
            match varied.and_then(|varied| self.variable(&varied, generator, &before)) {
                Some(Made { variable, write, little_endian, is_shared }) => {
                    let index = vary.variables.len();
                    shared.extend(is_shared.then_some(index));
                    if let Some(write) = write {
                        names.writes.push(name.clone());
                        vary.writes.push(Write { variable: index, ..write });
                        little.push(little_endian);
                    }
                    vary.variables.push(variable);
                }
                None => sound = false,
            }
            before.push(name);
        }
        if !sound || vary.variables.is_empty() {
            return None;
        }
        names.variables = before.into_iter().map(str::to_owned).collect();
        let seed = lcg_seed.unwrap_or_else(|| self.seed_of(path, "lcg") as u32);
        share(&mut vary.variables, &shared, seed);
        swap_bytes(&mut vary, &mut names, &little);
        vary.flows = flows.map(|flows| Flows {
            count: flows.count,
            length: flows.length.unwrap_or(0),
            order: match flows.order {
                OrderDoc::Sequential => FlowOrder::Sequential,
                OrderDoc::Random => FlowOrder::Random { seed: self.seed_of(path, "flows") },
            },
        });
        Some(Varying { vary, names })
    }

    fn varied<'a>(
        &mut self,
        path: String,
        name: &'a str,
        doc: &VaryDoc,
        fields: &Fields<'_>,
    ) -> Option<Varied<'a>> {
        if self.reading.is_broken(&path) {
            return None;
        }
        let bytes = match doc {
            VaryDoc::Generator(generator) => generator.bytes.map(|bytes| bytes.0),
            _ => None,
        };
        if name.starts_with(SIGIL) {
            let bytes = bytes.unwrap_or(VARIABLE_BYTES);
            if !matches!(bytes, 1 | 2 | 4 | 8) {
                self.reading.fail(format!("{path}.bytes"), format!("{bytes} is not 1, 2, 4 or 8"));
                return None;
            }
            return Some(Varied { path, name, target: None, field: raw(u16::from(bytes) * 8) });
        }
        if bytes.is_some() {
            let reason = "belongs to a variable, whose name begins with '$'; the field's width is known";
            self.reading.fail(format!("{path}.bytes"), reason);
            return None;
        }
        let place = match path::resolve(name, fields.headers) {
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
        Some(Varied { path, name, target: Some(fields.target(place)), field })
    }

    /// The variable of a field and what it writes.
    fn variable(&mut self, varied: &Varied<'_>, doc: &VaryDoc, before: &[&str]) -> Option<Made> {
        let generator = match doc {
            VaryDoc::Generator(generator) => (**generator).clone(),
            VaryDoc::List(values) => GeneratorDoc { list: Some(values.clone()), ..GeneratorDoc::default() },
            VaryDoc::Word(word) => self.word(varied, word)?,
        };
        let Values { source, phase } = self.source(varied, &generator, before)?;
        let little_endian = self.is_little_endian(varied, &generator)?;
        let draws = matches!(source, Source::Lcg { .. });
        let is_shared = draws && generator.seed.is_none() && generator.limit.is_none();
        self.refuse_turns(varied, &generator, is_shared)?;
        let mask = match &generator.mask {
            Some(mask) => self.number(varied, "mask", mask)?,
            None => varied.field.max(),
        };
        let after = match &generator.after {
            Some(other) => Some(self.earlier(varied, "after", other, before)?),
            None => None,
        };
        let every = generator.every.unwrap_or(1);
        let variable = Variable { source, every, after, phase, period: generator.period };
        let write = varied.target.map(|target| Write { variable: 0, target, mask });
        Some(Made { variable, write, little_endian, is_shared })
    }

    /// Whether the value's least significant byte is written first.
    fn is_little_endian(&mut self, varied: &Varied<'_>, doc: &GeneratorDoc) -> Option<bool> {
        let place = [("endian", doc.endian.is_some()), ("mask", doc.mask.is_some())];
        if let (None, Some((key, _))) = (varied.target, place.iter().find(|(_, given)| *given)) {
            let reason = format!("belongs where '{}' is written: bytes[0..2]: {{same_as: {0}}}", varied.name);
            self.reading.fail(format!("{}.{key}", varied.path), reason);
            return None;
        }
        if doc.endian != Some(EndianDoc::Little) {
            return Some(false);
        }
        match varied.target {
            Some(Target::Bits { offset, width } | Target::PayloadBits { offset, width })
                if offset.is_multiple_of(8) && width.is_multiple_of(8) =>
            {
                Some(true)
            }
            _ => {
                let reason = "only whole bytes have an order: bytes[34..36] or payload[0..4]";
                self.reading.fail(format!("{}.endian", varied.path), reason);
                None
            }
        }
    }

    /// Refuses turns for a generator that draws with every packet.
    fn refuse_turns(&mut self, varied: &Varied<'_>, doc: &GeneratorDoc, is_shared: bool) -> Option<()> {
        let turns = [
            ("every", doc.every.is_some()),
            ("after", doc.after.is_some()),
            ("period", doc.period.is_some()),
        ];
        let Some((key, _)) = turns.iter().find(|(_, given)| *given && is_shared) else { return Some(()) };
        let reason = "the stream's generator draws with every packet; give this one its own 'seed'";
        self.reading.fail(format!("{}.{key}", varied.path), reason);
        None
    }

    /// The generator for a single word.
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

    fn source(&mut self, varied: &Varied<'_>, doc: &GeneratorDoc, before: &[&str]) -> Option<Values> {
        let kinds = [
            ("from", doc.from.is_some()),
            ("random", doc.random.is_some()),
            ("lcg", doc.lcg.is_some()),
            ("list", doc.list.is_some()),
            ("file", doc.file.is_some()),
            ("weights", doc.weights.is_some()),
            ("same_as", doc.same_as.is_some()),
        ];
        let given: Vec<&str> = kinds.iter().filter(|(_, given)| *given).map(|(kind, _)| *kind).collect();
        let [kind] = given[..] else {
            let reason = match given[..] {
                [] => "one of 'from', 'random', 'lcg', 'list', 'file', 'weights' and 'same_as' is required"
                    .to_owned(),
                _ => format!("one source of values, not {}: {}", given.len(), given.join(", ")),
            };
            self.reading.fail(&varied.path, reason);
            return None;
        };
        self.refuse_strangers(varied, kind, doc)?;
        match kind {
            "from" => self.range(varied, doc),
            "random" => self.random(varied, doc).map(Values::from),
            "lcg" => self.lcg(varied, doc).map(Values::from),
            "list" | "file" => self.list(varied, doc).map(Values::from),
            "weights" => self.weighted(varied, doc).map(Values::from),
            _ => self.derived(varied, doc, before).map(Values::from),
        }
    }

    /// Keys that mean nothing to a generator of this kind.
    fn refuse_strangers(&mut self, varied: &Varied<'_>, kind: &str, doc: &GeneratorDoc) -> Option<()> {
        let with_turns: &[&str] = &["from", "random", "lcg", "list", "file", "weights"];
        let keys: [(&str, bool, &[&str]); 13] = [
            ("every", doc.every.is_some(), with_turns),
            ("after", doc.after.is_some(), with_turns),
            ("period", doc.period.is_some(), with_turns),
            ("begin", doc.begin.is_some(), &["from"]),
            ("limit", doc.limit.is_some(), &["lcg", "list", "file"]),
            ("to", doc.to.is_some(), &["from"]),
            ("count", doc.count.is_some(), &["from"]),
            ("step", doc.step.is_some(), &["from"]),
            ("distinct", doc.distinct.is_some(), &["random"]),
            ("order", doc.order.is_some(), &["list", "file"]),
            ("seed", doc.seed.is_some(), &["random", "lcg", "list", "file", "weights"]),
            ("shift", doc.shift.is_some(), &["same_as"]),
            ("plus", doc.plus.is_some(), &["same_as"]),
        ];
        let stranger = keys.iter().find(|(_, given, kinds)| *given && !kinds.contains(&kind));
        let Some((key, _, kinds)) = stranger else { return Some(()) };
        let reason = format!("'{key}' goes with '{}', not with '{kind}'", kinds.join("' or '"));
        self.reading.fail(format!("{}.{key}", varied.path), reason);
        None
    }

    fn range(&mut self, varied: &Varied<'_>, doc: &GeneratorDoc) -> Option<Values> {
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
        let width = field.width;
        let (step, count) = match (&doc.to, doc.count) {
            (Some(to), None) => {
                let last = self.value(varied, "to", to)?;
                let down = (0u128.wrapping_sub(step)) & field.max();
                let step_towards = if last < first { down } else { step };
                let count = (first.abs_diff(last) / step).saturating_add(1);
                if let Some(begin) = &doc.begin {
                    let (phase, rest) = self.begin(varied, begin, (first, last, step))?;
                    let first = if last < first { first - rest } else { first + rest };
                    let source = Source::Range { first, step: step_towards, count, width };
                    return Some(Values { source, phase });
                }
                (step_towards, count)
            }
            (None, Some(_)) if doc.begin.is_some() => {
                self.reading.fail(format!("{}.begin", varied.path), "needs 'to' instead of 'count'");
                return None;
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
        Some(Source::Range { first, step, count, width }.into())
    }

    /// Steps from the first value of a range to the one it begins with, and what is left over.
    fn begin(
        &mut self,
        varied: &Varied<'_>,
        begin: &FieldValue,
        (first, last, step): (u128, u128, u128),
    ) -> Option<(u64, u128)> {
        let value = self.value(varied, "begin", begin)?;
        let path = format!("{}.begin", varied.path);
        if !(first.min(last)..=first.max(last)).contains(&value) {
            let reason = format!("'{}' is not between 'from' and 'to'", begin.text());
            self.reading.fail(path, reason);
            return None;
        }
        let apart = first.abs_diff(value);
        match u64::try_from(apart / step) {
            Ok(steps) => Some((steps, apart % step)),
            Err(_) => {
                self.reading.fail(path, "2^64 steps or more from 'from'");
                None
            }
        }
    }

    fn random(&mut self, varied: &Varied<'_>, doc: &GeneratorDoc) -> Option<Source> {
        let (from, to) = self.bounds(varied, "random", doc.random.as_ref()?)?;
        let seed = self.own_seed(varied, doc);
        Some(Source::Random { from, to, distinct: doc.distinct, seed })
    }

    /// The smallest and the largest of random values.
    fn bounds(&mut self, varied: &Varied<'_>, key: &str, written: &FieldValue) -> Option<(u128, u128)> {
        let written = written.text();
        let bounds = match written.trim().split_once("..") {
            None if written.trim() == "all" => Some((0, varied.field.max())),
            None => None,
            Some((from, to)) => {
                let parse = |text: &str| varied.parse(text.trim()).ok();
                parse(from).zip(parse(to)).filter(|(from, to)| from <= to)
            }
        };
        if bounds.is_none() {
            let (low, high) = (varied.field.print(0), varied.field.print(varied.field.max()));
            let reason = format!("'{written}' is not 'all' or a range within {low}..{high}");
            self.reading.fail(format!("{}.{key}", varied.path), reason);
        }
        bounds
    }

    fn lcg(&mut self, varied: &Varied<'_>, doc: &GeneratorDoc) -> Option<Source> {
        let (from, to) = self.bounds(varied, "lcg", doc.lcg.as_ref()?)?;
        let pick = Pick::Range { from: u64::try_from(from).ok()?, to: u64::try_from(to).unwrap_or(u64::MAX) };
        self.drawn(varied, "lcg", doc, pick)
    }

    /// Numbers drawn for a value of the field's width, by a separate generator unless it is declared as shared.
    fn drawn(&mut self, varied: &Varied<'_>, key: &str, doc: &GeneratorDoc, pick: Pick) -> Option<Source> {
        let bytes = match varied.field.width {
            width @ (8 | 16 | 32 | 64) => width as u8 / 8,
            width => {
                let reason =
                    format!("draws 1, 2, 4 or 8 bytes, not {width} bits: draw a variable such as '$x'");
                self.reading.fail(format!("{}.{key}", varied.path), reason);
                return None;
            }
        };
        let Ok(seed) = u32::try_from(doc.seed.unwrap_or_else(|| self.seed_of(&varied.path, "lcg") >> 32))
        else {
            self.reading.fail(format!("{}.seed", varied.path), "this generator's state has 32 bits");
            return None;
        };
        let stride = random_draws(bytes);
        Some(Source::Lcg { seed, skip: 0, stride, bytes, limit: doc.limit, pick })
    }

    fn list(&mut self, varied: &Varied<'_>, doc: &GeneratorDoc) -> Option<Source> {
        let values = match (&doc.list, &doc.file) {
            (Some(values), _) => {
                let parsed = values.iter().enumerate().map(|(index, value)| {
                    varied.parse(&value.text()).map_err(|error| (index, error.to_string()))
                });
                let at = |index: usize| format!("{}.list[{index}]", varied.path);
                let parsed: Result<Vec<u128>, _> = parsed.collect();
                parsed.map_err(|(index, reason)| self.reading.fail(at(index), reason)).ok()?
            }
            (None, Some(file)) => self.values_of_file(varied, file)?,
            (None, None) => return None,
        };
        let order = match doc.order.unwrap_or_default() {
            ListOrderDoc::Lcg => return self.drawn(varied, "order", doc, Pick::List(values.into())),
            _ if doc.limit.is_some() => {
                self.reading.fail(format!("{}.limit", varied.path), "goes with 'order: lcg'");
                return None;
            }
            ListOrderDoc::Sequential => ListOrder::Sequential,
            ListOrderDoc::Random => ListOrder::Random { seed: self.own_seed(varied, doc) },
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
            match varied.parse(value) {
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
            match varied.parse(text) {
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
        let parsed = varied.parse(&value.text());
        parsed.map_err(|error| self.reading.fail(format!("{}.{key}", varied.path), error.to_string())).ok()
    }

    /// A plain number that fits the field: addresses are not added or stepped by addresses. An address will do, too.
    fn number(&mut self, varied: &Varied<'_>, key: &str, value: &FieldValue) -> Option<u128> {
        let text = value.text();
        let number = Field { kind: Kind::Number, ..varied.field };
        match number.parse(&text).or_else(|error| varied.parse(&text).map_err(|_| error)) {
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

impl Varied<'_> {
    /// A value in the field's own form. Raw bytes may be written as the address that they are.
    fn parse(&self, text: &str) -> Result<u128, ValueError> {
        self.field.parse(text).or_else(|error| {
            let address = match self.field.width {
                _ if self.field.name != RAW => None,
                32 => text.parse().ok().map(|ip: Ipv4Addr| u32::from(ip).into()),
                48 => text.parse().ok().map(|units::Mac(mac)| {
                    mac.iter().fold(0, |number, byte| number << 8 | u128::from(*byte))
                }),
                128 => text.parse().ok().map(|ip: Ipv6Addr| ip.into()),
                _ => None,
            };
            address.ok_or(error)
        })
    }
}

/// Lets variables draw from one generator, in their order.
fn share(variables: &mut [Variable], shared: &[usize], generator: u32) {
    let draws = |variable: &Variable| match variable.source {
        Source::Lcg { bytes, .. } => random_draws(bytes),
        _ => 0,
    };
    let all = shared.iter().map(|index| draws(&variables[*index])).sum();
    let mut before = 0;
    for index in shared {
        let own = draws(&variables[*index]);
        if let Source::Lcg { seed, skip, stride, .. } = &mut variables[*index].source {
            (*seed, *skip, *stride) = (generator, before, all);
        }
        before += own;
    }
}

/// Number of draws for a number of this size.
fn random_draws(bytes: u8) -> u32 {
    u32::from(bytes).div_ceil(2)
}

/// Makes of each write of `little` as many as it has bytes: each writes the byte of the value that belongs there.
fn swap_bytes(vary: &mut Vary, names: &mut Names, little: &[bool]) {
    let writes = std::mem::take(&mut vary.writes);
    let of = std::mem::take(&mut names.writes);
    for ((write, name), little) in writes.into_iter().zip(of).zip(little) {
        let (Target::Bits { width, .. } | Target::PayloadBits { width, .. }) = write.target else {
            vary.writes.push(write);
            names.writes.push(name);
            continue;
        };
        if !little {
            vary.writes.push(write);
            names.writes.push(name);
            continue;
        }
        for byte in 0..width / 8 {
            let at = u32::from(byte) * 8;
            let mask = write.mask >> at & 0xff;
            let target = match write.target {
                Target::PayloadBits { offset, .. } => Target::PayloadBits { offset: offset + at, width: 8 },
                Target::Bits { offset, .. } => Target::Bits { offset: offset + at, width: 8 },
                field @ Target::Field { .. } => field,
            };
            let shift = -(at as i8);
            let source = Source::Derived { of: write.variable, shift, add: 0, mask: 0xff, width: 8 };
            vary.writes.push(Write { variable: vary.variables.len(), target, mask });
            vary.variables.push(Variable::new(source));
            names.writes.push(name.clone());
            names.variables.push(name.clone());
        }
    }
}

/// The name of bits without a field.
const RAW: &str = "bits";

/// Bits without a field, written as a number.
fn raw(width: u16) -> Field {
    Field {
        name: RAW,
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

/// Range of the values of `source`, as far as it can be determined.
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
        Source::Lcg { pick: Pick::Range { from, to }, .. } => Some(((*from).into(), (*to).into())),
        Source::List { values, .. }
        | Source::Weighted { values, .. }
        | Source::Lcg { pick: Pick::List(values), .. } => {
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
