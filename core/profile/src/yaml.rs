//! YAML (and so JSON) text to a tree in which every value knows its place.
//!
//! Not here: what the values mean. Scalars are typed by the YAML 1.2 core schema; the key `<<` merges mappings, as YAML 1.1's type
//! does (<https://yaml.org/type/merge.html>).
//!
//! Invariant: nesting and the number of values are bounded for any text.

use crate::error::{Position, ProfileError};
use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};
use serde_json::Number;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Deepest nesting understood.
const MAX_DEPTH: usize = 64;

/// Most values understood, those repeated through aliases included.
const MAX_VALUES: usize = 1_000_000;

/// A value and where it begins.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) value: Value,
}

#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    /// The number and how it was written.
    Number(Number, String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Member>),
}

/// A key and its value.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) key: String,
    pub(crate) at: Position,
    pub(crate) value: Node,
}

impl Node {
    fn count(&self) -> usize {
        1 + match &self.value {
            Value::List(items) => items.iter().map(Node::count).sum(),
            Value::Map(members) => members.iter().map(|m| m.value.count()).sum(),
            _ => 0,
        }
    }
}

/// Values that a program made have no places.
impl From<&serde_json::Value> for Node {
    fn from(value: &serde_json::Value) -> Self {
        use serde_json::Value as Json;
        let member = |(key, value): (&String, &Json)| Member {
            key: key.clone(),
            at: Position::START,
            value: Self::from(value),
        };
        let value = match value {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(number) => Value::Number(number.clone(), number.to_string()),
            Json::String(text) => Value::Text(text.clone()),
            Json::Array(items) => Value::List(items.iter().map(Self::from).collect()),
            Json::Object(members) => Value::Map(members.iter().map(member).collect()),
        };
        Self { at: Position::START, value }
    }
}

/// Reads the one document in `text`; an empty document is [`Value::Null`].
pub(crate) fn parse(text: &str) -> Result<Node, ProfileError> {
    let mut builder = Builder::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let at = Position { line: error.marker().line().max(1), column: error.marker().col() + 1 };
            ProfileError::new(at, "", syntax_reason(text, at, error.info()))
        })?;
        builder.event(event, span)?;
    }
    Ok(builder.root.unwrap_or(Node { at: Position::START, value: Value::Null }))
}

/// The parser's own words, unless the line starts with a tab: then that is what its author needs to know.
fn syntax_reason(text: &str, at: Position, info: &str) -> String {
    let line = text.lines().nth(at.line - 1).unwrap_or_default();
    let indent = &line[..line.len() - line.trim_start().len()];
    if indent.contains('\t') {
        return "not valid YAML: the line is indented with a tab; YAML is indented with spaces".to_owned();
    }
    if line.contains(": >") {
        return format!("not valid YAML: {info}; a text that begins with '>' needs quotes");
    }
    format!("not valid YAML: {info}")
}

/// A list or mapping whose end has not come yet.
enum Open {
    List { at: Position, anchor: usize, items: Vec<Node> },
    Map { at: Position, anchor: usize, members: Vec<Member>, key: Option<Key>, merged: Vec<Node> },
}

/// A key whose value has not come yet.
enum Key {
    Of(String, Position),
    /// `<<` without quotes: the mapping has the members of its value, unless it has others with their keys.
    Merge,
}

#[derive(Default)]
struct Builder {
    root: Option<Node>,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    values: usize,
}

impl Builder {
    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), ProfileError> {
        let at = Position { line: span.start.line().max(1), column: span.start.col() + 1 };
        match event {
            Event::DocumentStart(_) if self.root.is_some() => {
                return Err(ProfileError::new(
                    at,
                    "",
                    "a second document starts here; expected a single one",
                ));
            }
            Event::Scalar(text, style, anchor, tag) => {
                let is_merge = text == "<<" && style == ScalarStyle::Plain && tag.is_none();
                if let (true, Some(Open::Map { key: key @ None, .. })) = (is_merge, self.open.last_mut()) {
                    *key = Some(Key::Merge);
                    return Ok(());
                }
                let value = scalar(text, style, tag).map_err(|reason| ProfileError::new(at, "", reason))?;
                return self.finish(Node { at, value }, anchor, 1);
            }
            Event::Alias(anchor) => {
                let unfinished = || ProfileError::new(at, "", "an alias inside the value it stands for");
                let node = self.anchors.get(&anchor).cloned().ok_or_else(unfinished)?;
                let count = node.count();
                return self.finish(node, 0, count);
            }
            Event::SequenceStart(anchor, tag) => {
                no_tag(at, tag)?;
                self.open.push(Open::List { at, anchor, items: Vec::new() });
            }
            Event::MappingStart(anchor, tag) => {
                no_tag(at, tag)?;
                self.open.push(Open::Map { at, anchor, members: Vec::new(), key: None, merged: Vec::new() });
            }
            Event::SequenceEnd | Event::MappingEnd => return self.close(),
            _ => {}
        }
        if self.open.len() > MAX_DEPTH {
            return Err(ProfileError::new(at, "", format!("nested more than {MAX_DEPTH} deep")));
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), ProfileError> {
        match self.open.pop() {
            Some(Open::List { at, anchor, mut items }) => {
                items.shrink_to_fit();
                self.finish(Node { at, value: Value::List(items) }, anchor, 1)
            }
            Some(Open::Map { at, anchor, mut members, merged, .. }) => {
                if !merged.is_empty() {
                    let mut known = members.iter().map(|member| member.key.clone()).collect();
                    merge(&mut members, &mut known, merged)?;
                }
                members.shrink_to_fit();
                self.finish(Node { at, value: Value::Map(members) }, anchor, 1)
            }
            None => Ok(()),
        }
    }

    /// Puts a complete value where it belongs: into the innermost open list or mapping, as key or value. `count` is
    /// how many values it adds to those counted before.
    fn finish(&mut self, node: Node, anchor: usize, count: usize) -> Result<(), ProfileError> {
        self.values += count;
        if self.values > MAX_VALUES {
            return Err(ProfileError::new(node.at, "", format!("more than {MAX_VALUES} values")));
        }
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { members, key, merged, .. }) => match key.take() {
                None => *key = Some(Key::Of(key_text(&node)?, node.at)),
                Some(Key::Of(key, at)) => members.push(Member { key, at, value: node }),
                Some(Key::Merge) => merged.push(node),
            },
        }
        Ok(())
    }
}

/// Adds the members of mappings, and of lists of them, whose keys are not `known`; of several with a key the first counts.
fn merge(
    members: &mut Vec<Member>,
    known: &mut HashSet<String>,
    merged: Vec<Node>,
) -> Result<(), ProfileError> {
    for node in merged {
        match node.value {
            Value::Map(more) => {
                members.extend(more.into_iter().filter(|member| known.insert(member.key.clone())));
            }
            Value::List(items) if items.iter().all(|item| matches!(item.value, Value::Map(_))) => {
                merge(members, known, items)?;
            }
            _ => {
                let reason = "'<<' merges a mapping, or a list of mappings: <<: *NAME";
                return Err(ProfileError::new(node.at, "", reason));
            }
        }
    }
    Ok(())
}

fn key_text(node: &Node) -> Result<String, ProfileError> {
    match &node.value {
        Value::Text(text) | Value::Number(_, text) => Ok(text.clone()),
        Value::Bool(value) => Ok(value.to_string()),
        _ => Err(ProfileError::new(node.at, "", "a key must be a plain text")),
    }
}

fn no_tag(at: Position, tag: Option<Cow<'_, Tag>>) -> Result<(), ProfileError> {
    match tag {
        Some(tag) => Err(ProfileError::new(at, "", unknown_tag(&tag))),
        None => Ok(()),
    }
}

fn unknown_tag(tag: &Tag) -> String {
    format!("the tag '{}{}' means nothing here", tag.handle, tag.suffix)
}

fn scalar(text: Cow<'_, str>, style: ScalarStyle, tag: Option<Cow<'_, Tag>>) -> Result<Value, String> {
    match tag {
        Some(tag) if tag.is_yaml_core_schema() && tag.suffix == "str" => Ok(Value::Text(text.into_owned())),
        Some(tag) => Err(unknown_tag(&tag)),
        None if style == ScalarStyle::Plain => Ok(plain(text)),
        None => Ok(Value::Text(text.into_owned())),
    }
}

/// The type of a scalar without quotes: YAML 1.2 section 10.3.2.
fn plain(text: Cow<'_, str>) -> Value {
    match &*text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => match number(&text) {
            Some(number) => Value::Number(number, text.into_owned()),
            None => Value::Text(text.into_owned()),
        },
    }
}

fn number(text: &str) -> Option<Number> {
    let radix = |digits: &str, radix| {
        let digits_only = !digits.starts_with('+');
        u64::from_str_radix(digits, radix).ok().filter(|_| digits_only).map(Number::from)
    };
    if let Some(hex) = text.strip_prefix("0x") {
        return radix(hex, 16);
    }
    if let Some(octal) = text.strip_prefix("0o") {
        return radix(octal, 8);
    }
    let looks = text.contains(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | 'e' | 'E'));
    if !looks {
        return None;
    }
    let unsigned = text.parse::<u64>().ok().map(Number::from);
    let signed = || text.parse::<i64>().ok().map(Number::from);
    unsigned.or_else(signed).or_else(|| text.parse::<f64>().ok().and_then(Number::from_f64))
}

/// Whether `text`, written without quotes, reads as the same text: anywhere, even inside braces.
pub(crate) fn is_plain_text(text: &str) -> bool {
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | ':' | '+' | '-' | '%');
    text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/')
        && text.chars().all(safe)
        && !text.ends_with(':')
        && matches!(plain(Cow::Borrowed(text)), Value::Text(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalar_of(text: &str) -> Value {
        parse(text).unwrap().value
    }

    #[test]
    fn types_scalars_as_yaml_1_2_does() {
        assert!(matches!(scalar_of("~"), Value::Null));
        assert!(matches!(scalar_of("true"), Value::Bool(true)));
        for text in
            ["yes", "on", "10.0.0.1", "02:00:00:00:00:01", "\"10\"", "10Mpps", "2001:2::1", "1_000", "0x+1"]
        {
            assert!(matches!(scalar_of(text), Value::Text(_)), "{text}");
        }
        for text in ["10", "-3", "0x1f", "0o17", "1.5", "1e3", "18446744073709551615"] {
            assert!(matches!(scalar_of(text), Value::Number(..)), "{text}");
        }
    }

    #[test]
    fn reads_json_indented_with_tabs() {
        let node = parse("{\n\t\"a\": [\n\t\t1,\n\t\t\"b\\u00e9\"\n\t]\n}\n").unwrap();
        let Value::Map(members) = node.value else { panic!() };
        let Value::List(items) = &members[0].value.value else { panic!() };
        assert_eq!((items.len(), items[1].at), (2, Position { line: 4, column: 3 }));
    }

    #[test]
    fn merges_mappings() {
        let merged = |text: &str| {
            let Value::Map(members) = parse(text).unwrap().value else { panic!("{text}") };
            let Value::Map(last) = &members.last().unwrap().value.value else { panic!("{text}") };
            last.iter()
                .map(|member| match &member.value.value {
                    Value::Number(_, text) => format!("{}{text}", member.key),
                    _ => panic!("{text}"),
                })
                .collect::<Vec<_>>()
                .join(" ")
        };
        let base = "a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\n";
        for (text, expected) in [
            ("c: {<<: *a}", "x1 y2"),
            ("c: {<<: *a, x: 5}", "x5 y2"),
            ("c: {x: 5, <<: *a}", "x5 y2"),
            ("c: {<<: [*a, *b]}", "x1 y2 z4"),
            ("c: {<<: *b, <<: *a}", "y3 z4 x1"),
            ("c: {<<: {w: 9}}", "w9"),
            ("c: {\"<<\": 9}", "<<9"),
        ] {
            assert_eq!(merged(&format!("{base}{text}\n")), expected, "{text}");
        }
        for text in ["c: {<<: 7}", "c: {<<: [*a, 7]}", "c: {<<: }"] {
            let error = parse(&format!("{base}{text}\n")).unwrap_err();
            assert!(error.to_string().contains("'<<' merges"), "{error}");
        }
    }

    #[test]
    fn bounds_depth_and_aliases() {
        assert!(parse(&"[".repeat(10_000)).is_err());
        assert!(parse(&"- ".repeat(10_000)).is_err());
        let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for i in 1..12 {
            let alias = format!("*a{}, ", i - 1).repeat(10);
            laughs.push_str(&format!("a{i}: &a{i} [{alias}]\n"));
        }
        assert!(parse(&laughs).is_err());
    }
}
