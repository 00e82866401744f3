//! Content of sessions: texts with numbers in them, bytes, sizes.

use crate::document::content::{ByDoc, ContentDoc, OtherDoc, PartDoc, SizeDoc, TextDoc};
use crate::document::quantity::bytes;
use crate::document::vary::{OrderDoc, Weight};
use crate::resolve::Resolver;
use session::plan::{By, Content, Part, SelectionOrder, Size, Values, Weighted};
use std::sync::Arc;

impl Resolver<'_> {
    pub(super) fn session_order(&self, path: &str, order: OrderDoc) -> SelectionOrder {
        match order {
            OrderDoc::Sequential => SelectionOrder::Sequential,
            OrderDoc::Random => SelectionOrder::Random { seed: self.seed_of(path, "order") },
        }
    }

    /// A number of bytes. Random values depend only on the text of the size, so that both ends of a program, which have
    /// the same text, draw the same.
    pub(super) fn amount(&self, size: &SizeDoc) -> Size {
        let seed = self.seed_of(&format!("{size:?}"), "size");
        match size {
            SizeDoc::Range(range) if range.0.0 == range.0.1 => Size::Fixed(range.0.0),
            SizeDoc::Range(range) => Size::Uniform { from: range.0.0, to: range.0.1, seed },
            SizeDoc::Weights(_) => Weighted::new(weights(size), seed).map_or(Size::Fixed(0), Size::Weighted),
        }
    }

    /// A text, or one of several.
    pub(super) fn text(&mut self, path: &str, doc: &TextDoc) -> Content {
        let (list, order, by, path) = match doc {
            TextDoc::One(text) => return Content { parts: self.parts(path, text) },
            TextDoc::List(list) => (list, OrderDoc::default(), ByDoc::default(), path.to_owned()),
            TextDoc::Varied(varied) => (&varied.list, varied.order, varied.by, format!("{path}.list")),
        };
        let mut items: Vec<Arc<[u8]>> = Vec::new();
        for (index, text) in list.iter().enumerate() {
            let path = format!("{path}[{index}]");
            match &self.parts(&path, text)[..] {
                [] => items.push(Arc::default()),
                [Part::Bytes(bytes)] => items.push(bytes.clone()),
                _ => {
                    let reason = "texts of a list cannot contain '{…}'; use a single text";
                    self.reading.fail(path, reason);
                }
            }
        }
        let order = self.session_order(&path, order);
        Content { parts: vec![Part::List { items: items.into(), order, by: by_of(by) }] }
    }

    /// Content that a program sends.
    pub(super) fn content(&mut self, path: &str, doc: &ContentDoc) -> Content {
        match doc {
            ContentDoc::Text(text) => Content { parts: self.parts(path, text) },
            ContentDoc::Other(other) => self.other(path, other),
            ContentDoc::Parts(parts) => {
                let mut all = Vec::new();
                for (index, part) in parts.iter().enumerate() {
                    let path = format!("{path}[{index}]");
                    all.extend(match part {
                        PartDoc::Text(text) => self.parts(&path, text),
                        PartDoc::Other(other) => self.other(&path, other).parts,
                    });
                }
                Content { parts: all }
            }
        }
    }

    fn other(&mut self, path: &str, doc: &OtherDoc) -> Content {
        if let Some(size) = &doc.bytes {
            return Content::generated(self.amount(size));
        }
        if let Some(text) = &doc.text {
            return self.text(&format!("{path}.text"), text);
        }
        doc.hex.as_ref().map(|hex| Content::bytes(&hex.0)).unwrap_or_default()
    }

    /// A text, cut where something stands for a number.
    pub(super) fn parts(&mut self, path: &str, text: &str) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            plain += &rest[..at];
            let (brace, behind) = (&rest[at..=at], &rest[at + 1..]);
            if let Some(behind) = behind.strip_prefix(brace) {
                plain += brace;
                rest = behind;
                continue;
            }
            let inside = behind.split_once('}').filter(|_| brace == "{");
            let number = inside.and_then(|(inside, _)| {
                // Numbers at random differ from each other, even if they are written the same.
                number(inside, self.seed_of(path, &format!("{} {inside}", parts.len())))
            });
            let (Some(part), Some((_, behind))) = (number, inside) else {
                let reason = match inside {
                    Some((inside, _)) => what_braces_mean(inside),
                    None => format!("single '{brace}': write it twice"),
                };
                self.reading.fail(path, reason);
                return parts;
            };
            if !plain.is_empty() {
                parts.push(Part::Bytes(std::mem::take(&mut plain).into_bytes().into()));
            }
            parts.push(part);
            rest = behind;
        }
        plain += rest;
        if !plain.is_empty() {
            parts.push(Part::Bytes(plain.into_bytes().into()));
        }
        parts
    }
}

fn what_braces_mean(inside: &str) -> String {
    format!(
        "'{inside}' is not valid in braces: use {{session}}, {{request}}, {{1..1000}}, {{1..1000 step 10}} or \
         {{random 1..1000}}, optionally with 'hex' before it; write {{{{ for a brace"
    )
}

/// Parses the text between two braces: `session`, `request`, `1..1000`, `random 1..1000`, `hex 0..255`.
fn number(inside: &str, seed: u64) -> Option<Part> {
    let words: Vec<&str> = inside.split_whitespace().collect();
    let (hex, words) = match &words[..] {
        ["hex", rest @ ..] => (true, rest),
        all => (false, all),
    };
    let (values, width) = match words {
        ["session"] => (Values::SESSION, 0),
        ["request"] => (Values::REQUEST, 0),
        ["random", range] => {
            let (from, to, width) = range_of(range)?;
            (Values::Random { from, to, seed, by: By::Each }, width)
        }
        [range] => counted(range, 1)?,
        [range, "step", step] => counted(range, step.parse().ok().filter(|step| *step > 0)?)?,
        _ => return None,
    };
    Some(if hex { Part::Hex(values, width) } else { Part::Decimal(values, width) })
}

fn counted(range: &str, step: u64) -> Option<(Values, u8)> {
    let (first, last, width) = range_of(range)?;
    let count = ((last - first) / step).saturating_add(1);
    Some((Values::Range { first, step, count, by: By::Each }, width))
}

/// The ends of a range, and the number of digits of its numbers if a leading zero fixes it.
fn range_of(text: &str) -> Option<(u64, u64, u8)> {
    let (first, last) = text.split_once("..")?;
    let width = if first.len() > 1 && first.starts_with('0') { first.len() } else { 0 };
    let (from, to): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    (from <= to && !first.starts_with('+') && !last.starts_with('+')).then_some((
        from,
        to,
        width.min(20) as u8,
    ))
}

fn by_of(by: ByDoc) -> By {
    match by {
        ByDoc::Session => By::Session,
        ByDoc::Request => By::Request,
        ByDoc::Each => By::Each,
    }
}

/// The sizes of a mapping with how often each comes.
pub(super) fn weights(size: &SizeDoc) -> Vec<(u64, u32)> {
    match size {
        SizeDoc::Range(_) => Vec::new(),
        SizeDoc::Weights(weights) => {
            weights.iter().filter_map(|(text, Weight(weight))| Some((bytes(text)?, *weight))).collect()
        }
    }
}

/// The most bytes a size can be.
pub(super) fn largest(size: &SizeDoc) -> u64 {
    match size {
        SizeDoc::Range(range) => range.0.1,
        SizeDoc::Weights(_) => weights(size).into_iter().map(|(bytes, _)| bytes).max().unwrap_or(0),
    }
}

/// Whether it is always the same.
pub(super) fn fixed(size: &SizeDoc) -> Option<u64> {
    match size {
        SizeDoc::Range(range) => (range.0.0 == range.0.1).then_some(range.0.0),
        SizeDoc::Weights(_) => match weights(size)[..] {
            [(bytes, _)] => Some(bytes),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_stand_for_numbers() {
        let range = |first, step, count| Values::Range { first, step, count, by: By::Each };
        for (inside, expected) in [
            ("session", Some(Part::Decimal(Values::SESSION, 0))),
            ("hex request", Some(Part::Hex(Values::REQUEST, 0))),
            ("1..1000", Some(Part::Decimal(range(1, 1, 1000), 0))),
            ("001..100", Some(Part::Decimal(range(1, 1, 100), 3))),
            ("0..100 step 25", Some(Part::Decimal(range(0, 25, 5), 0))),
            ("0..18446744073709551615", Some(Part::Decimal(range(0, 1, u64::MAX), 0))),
            ("random 5..7", Some(Part::Decimal(Values::Random { from: 5, to: 7, seed: 9, by: By::Each }, 0))),
            ("", None),
            ("user", None),
            ("9..1", None),
            ("1..9 step 0", None),
        ] {
            assert_eq!(number(inside, 9), expected, "{inside}");
        }
    }
}
