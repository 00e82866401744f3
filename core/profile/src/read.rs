//! A tree of values against the JSON Schema of the document: what fits comes out as JSON, what does not as errors.
//!
//! Understands as much of JSON Schema as our own schemas use, and no more. Of its own it knows `x-noun` (what to call a key
//! or word), `x-number` (the key that numbers belong to), `x-renamed` (old keys with their new names) and `x-secret`
//! (never quote the value).
//!
//! Invariant: if there are no errors, the JSON deserialises into the document.

use crate::document::packet::field_of_format;
use crate::document::{quantity, referred};
use crate::error::{Position, ProfileError};
use crate::yaml::{Member, Node, Value};
use serde_json::{Map, Value as Json};
use spelling::unknown;
use std::collections::{HashMap, HashSet};

/// Most keys of a mapping that an error about another value names.
const KEYS_NAMED: usize = 6;

/// Result of reading.
#[derive(Default)]
pub(crate) struct Reading {
    /// Everything that does not fit, in the order it was found.
    pub(crate) errors: Vec<ProfileError>,
    /// Where each path is.
    positions: HashMap<String, Position>,
    /// Paths of list elements and members that were left out because something in them does not fit.
    dropped: HashSet<String>,
    /// Paths with an error at them or below.
    broken: HashSet<String>,
}

impl Reading {
    /// Records that something at `path` is wrong.
    pub(crate) fn fail(&mut self, path: impl Into<String>, reason: impl Into<String>) {
        let path = path.into();
        self.fail_at(self.position(&path), path, reason);
    }

    /// Records that this machine is too small for what is at `path`.
    pub(crate) fn fail_here(&mut self, path: impl Into<String>, reason: impl Into<String>) {
        self.fail(path, reason);
        self.errors.last_mut().expect("just recorded").is_of_machine = true;
    }

    fn fail_at(&mut self, at: Position, path: impl Into<String>, reason: impl Into<String>) {
        let error = ProfileError::new(at, path, reason);
        let mut path = error.path.as_str();
        self.broken.insert(path.to_owned());
        while let Some(parent) = parent(path) {
            self.broken.insert(parent.to_owned());
            path = parent;
        }
        self.errors.push(error);
    }

    /// Whether something at `path` or below is wrong.
    pub(crate) fn is_broken(&self, path: &str) -> bool {
        self.broken.contains(path)
    }

    /// Whether `path` is in the text.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.positions.contains_key(path)
    }

    /// Whether `path` is in the text but was left out of the document.
    pub(crate) fn is_dropped(&self, path: &str) -> bool {
        self.dropped.contains(path)
    }

    /// Whether an element or member of `path` was left out.
    pub(crate) fn drops_parts_of(&self, path: &str) -> bool {
        self.dropped.iter().any(|dropped| parent(dropped) == Some(path))
    }

    /// Where `path` is in the text, or else the nearest value around it.
    fn position(&self, path: &str) -> Position {
        let mut path = path;
        loop {
            match (self.positions.get(path), parent(path)) {
                (Some(at), _) => return *at,
                (None, Some(outer)) => path = outer,
                (None, None) => return Position::START,
            }
        }
    }
}

/// `a` of `a.b` and of `a[0]`; the empty path of `a`.
fn parent(path: &str) -> Option<&str> {
    (!path.is_empty()).then(|| path.rfind(['.', '[']).map_or("", |end| &path[..end]))
}

/// The path of a key in the mapping at `path`.
fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Which places in the text a reading keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Places {
    /// Of every path.
    All,
    /// All but those inside of streams, of which there can be very many. Only errors need these, and have the place of the list then.
    Outside,
}

impl Places {
    /// Whether a path has no place.
    pub(crate) fn leaves_out(self, path: &str) -> bool {
        self == Self::Outside && path.starts_with(STREAMS)
    }
}

/// Path of the streams of a profile, with what precedes their numbers.
const STREAMS: &str = "streams[";

/// Reads `node` against `schema`; the JSON is absent if nothing usable is left of it.
pub(crate) fn read(node: &Node, schema: &Json, places: Places) -> (Option<Json>, Reading) {
    let mut reader = Reader { root: schema, reading: Reading::default(), places };
    reader.reading.positions.insert(String::new(), node.at);
    let value = match node.value {
        Value::Null if required(schema).next().is_none() && allows(schema, "object") => {
            Some(Json::Object(Map::new()))
        }
        Value::Null => {
            let keys: Vec<String> = required(schema).map(|key| format!("'{key}'")).collect();
            let needs = if keys.is_empty() { reader.expected(schema) } else { keys.join(", ") };
            reader.reading.fail("", format!("the document is empty; it needs {needs}"));
            None
        }
        _ => reader.read(node, schema, ""),
    };
    (value, reader.reading)
}

struct Reader<'a> {
    root: &'a Json,
    reading: Reading,
    places: Places,
}

impl<'a> Reader<'a> {
    fn read(&mut self, node: &Node, schema: &'a Json, path: &str) -> Option<Json> {
        let schema = self.resolve(schema);
        if let Some(branches) = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Json::as_array) {
            return self.read_branch(node, schema, branches, path);
        }
        if let Some(format) = schema.get("format").and_then(Json::as_str)
            && let Some(text) = scalar_text(node)
        {
            if let Some(reason) = format_error(format, &text) {
                return self.fail(node, path, reason);
            }
            if !allows(schema, type_of(node)) {
                // Quotes do not make a whole number of it.
                let is_number = matches!(node.value, Value::Number(..)) && allows(schema, "integer");
                let reason = match is_number {
                    true => format!("'{text}' is not {}", self.expected(schema)),
                    false => needs_quotes(node, &text),
                };
                return self.fail(node, path, reason);
            }
            if quantity::is_numeric(format) {
                return Some(Json::String(text));
            }
        }
        if !allows(schema, type_of(node)) {
            return self.fail(node, path, self.mismatch(node, schema));
        }
        match &node.value {
            Value::List(items) => self.read_list(node, items, schema, path),
            Value::Map(members) => self.read_map(node, members, schema, path),
            Value::Number(number, text) => match range_error(text, number.as_i128(), schema) {
                Some(reason) => self.fail(node, path, reason),
                None => Some(Json::Number(number.clone())),
            },
            Value::Text(text) => match text_error(text, schema) {
                Some(reason) => self.fail(node, path, reason),
                None => Some(Json::String(text.clone())),
            },
            Value::Bool(value) => Some(Json::Bool(*value)),
            Value::Null => None,
        }
    }

    /// Keeps the place of a path.
    fn keep(&mut self, path: &str, at: Position) {
        if !self.places.leaves_out(path) {
            self.reading.positions.insert(path.to_owned(), at);
        }
    }

    /// Follows `$ref`.
    fn resolve(&self, schema: &'a Json) -> &'a Json {
        referred(self.root, schema).unwrap_or(schema)
    }

    /// Of several shapes reads the one that is of the node's type: in our schema there is at most one.
    fn read_branch(
        &mut self,
        node: &Node,
        schema: &'a Json,
        branches: &'a [Json],
        path: &str,
    ) -> Option<Json> {
        let kind = type_of(node);
        let mut resolved: Vec<&'a Json> = Vec::new();
        for branch in branches.iter().map(|branch| self.resolve(branch)) {
            // The words of an enum are shapes of their own, here beside others.
            match branch.get("oneOf").and_then(Json::as_array) {
                Some(words) => resolved.extend(words),
                None => resolved.push(branch),
            }
        }
        let fitting: Vec<&'a Json> = resolved.iter().copied().filter(|branch| allows(branch, kind)).collect();
        if let Value::Text(text) = &node.value
            && fitting.iter().all(|branch| branch.get("const").is_some())
            && !fitting.is_empty()
        {
            return match fitting.iter().any(|branch| branch["const"] == text.as_str()) {
                true => Some(Json::String(text.clone())),
                false => self.fail(node, path, self.mismatch(node, schema)),
            };
        }
        if let Some(branch) = fitting.first() {
            return self.read(node, branch, path);
        }
        match resolved.iter().find(|branch| branch.get("format").is_some() && scalar_text(node).is_some()) {
            Some(branch) => self.read(node, branch, path),
            None => self.fail(node, path, self.mismatch(node, schema)),
        }
    }

    fn read_list(&mut self, node: &Node, items: &[Node], schema: &'a Json, path: &str) -> Option<Json> {
        let least = schema.get("minItems").and_then(Json::as_u64).unwrap_or(0);
        if (items.len() as u64) < least {
            return self.fail(node, path, "the list is empty; it needs at least one element");
        }
        let mut list = Vec::with_capacity(items.len());
        for (i, item) in items.iter().enumerate() {
            let path = format!("{path}[{i}]");
            self.keep(&path, item.at);
            match self.read(item, &schema["items"], &path) {
                Some(value) => list.push(value),
                None => _ = self.reading.dropped.insert(path),
            }
        }
        Some(Json::Array(list))
    }

    fn read_map(&mut self, node: &Node, members: &[Member], schema: &'a Json, path: &str) -> Option<Json> {
        let most = schema.get("maxProperties").and_then(Json::as_u64);
        let noun = schema.get("x-noun").and_then(Json::as_str).unwrap_or("key");
        if most == Some(1) && members.len() > 1 {
            let keys: Vec<&str> = members.iter().map(|m| m.key.as_str()).collect();
            let place = if path.ends_with(']') { "for each element of the list" } else { "here" };
            let reason = format!("one {noun} {place}, not {}: {}", keys.len(), keys.join(", "));
            return self.fail(node, path, reason);
        }
        if members.is_empty() && schema.get("minProperties").is_some() {
            return self.fail(node, path, format!("the mapping is empty; it needs at least one {noun}"));
        }
        let mut lines: HashMap<&str, usize> = HashMap::new();
        let mut map = Map::new();
        for member in members {
            let key = key_of(member, schema);
            let path = join(path, key);
            if let Some(line) = lines.insert(key, member.at.line) {
                let reason = format!("the key '{key}' is already on line {line}");
                self.reading.fail_at(member.at, path, reason);
                continue;
            }
            match self.read_member(member, schema, noun, &path) {
                Some(value) => _ = map.insert(key.to_owned(), value),
                None => _ = self.reading.dropped.insert(path),
            }
        }
        let enough = !map.is_empty() || schema.get("minProperties").is_none();
        (self.has_required(node, schema, &map, &lines, path) && enough).then_some(Json::Object(map))
    }

    fn read_member(&mut self, member: &Member, schema: &'a Json, noun: &str, path: &str) -> Option<Json> {
        let at = match member.value.value {
            Value::List(_) | Value::Map(_) => member.at,
            _ => member.value.at,
        };
        self.keep(path, at);
        let properties = schema.get("properties").and_then(Json::as_object);
        let is_named = properties.is_some_and(|properties| properties.contains_key(&member.key));
        if !is_named
            && let Some(format) = schema.get("propertyNames").and_then(|names| names.get("format")?.as_str())
            && let Some(reason) = format_error(format, &member.key)
        {
            self.reading.fail_at(member.at, path, reason);
            return None;
        }
        if let Some(name) = renamed(&member.key, schema) {
            self.reading.fail_at(member.at, path, format!("'{}' is now '{name}'", member.key));
            // Nobody complains that the new key is missing.
            self.reading.broken.insert(join(parent(path).unwrap_or_default(), name));
            return None;
        }
        if let Some(schema) = properties.and_then(|p| p.get(key_of(member, schema))) {
            return self.read(&member.value, schema, path);
        }
        match schema.get("additionalProperties") {
            Some(schema) if schema.is_object() => self.read(&member.value, schema, path),
            _ => {
                let allowed: Vec<&str> =
                    properties.into_iter().flat_map(Map::keys).map(String::as_str).collect();
                self.reading.fail_at(member.at, path, unknown(noun, &member.key, &allowed));
                None
            }
        }
    }

    /// Whether `map` has every required key; those that are not in the text at all are errors.
    fn has_required(
        &mut self,
        node: &Node,
        schema: &Json,
        map: &Map<String, Json>,
        given: &HashMap<&str, usize>,
        path: &str,
    ) -> bool {
        let mut complete = true;
        for key in required(schema) {
            complete &= map.contains_key(key);
            if !given.contains_key(key) {
                let property = &schema["properties"][key];
                let about = property["description"].as_str().map(first_sentence).unwrap_or_default();
                let expected = self.expected(property);
                let at = if path.is_empty() { node.at } else { self.reading.position(path) };
                self.reading.fail_at(
                    at,
                    path,
                    format!("the key '{key}' is missing; expected {expected}: {about}"),
                );
            }
        }
        complete
    }

    fn fail(&mut self, node: &Node, path: &str, reason: impl Into<String>) -> Option<Json> {
        let at = if path.is_empty() { node.at } else { self.reading.position(path) };
        self.reading.fail_at(at, path, reason);
        None
    }

    fn mismatch(&self, node: &Node, schema: &'a Json) -> String {
        let expected = self.expected(schema);
        match &node.value {
            Value::Null => format!("no value; expected {expected}"),
            Value::List(_) => format!("expected {expected}, found a list"),
            Value::Map(_) => format!("expected {expected}, found a mapping"),
            // A word nobody should read in a log.
            _ if schema.get("x-secret").is_some() => format!("the value is not {expected}"),
            _ => {
                let text = scalar_text(node).unwrap_or_default();
                match self.takes_any_text(schema) {
                    true => needs_quotes(node, &text),
                    false => format!("'{text}' is not {expected}"),
                }
            }
        }
    }

    /// Whether any text fits, so that a number or a truth value lacks only quotes.
    fn takes_any_text(&self, schema: &'a Json) -> bool {
        let schema = self.resolve(schema);
        let is_free = |schema: &Json| {
            allows(schema, "string")
                && ["const", "enum", "format", "x-noun"].iter().all(|key| schema.get(key).is_none())
        };
        match schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Json::as_array) {
            Some(branches) => branches.iter().any(|branch| is_free(self.resolve(branch))),
            None => is_free(schema),
        }
    }

    /// Description of the values that fit `schema`.
    fn expected(&self, schema: &Json) -> String {
        if let Some(schema) = referred(self.root, schema) {
            return self.expected(schema);
        }
        if let Some(branches) = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Json::as_array) {
            let each: Vec<String> = branches.iter().map(|branch| self.expected(branch)).collect();
            return each.join(" or ");
        }
        if let Some(word) = schema.get("const").and_then(Json::as_str) {
            return format!("'{word}'");
        }
        if let Some(text) = schema.get("format").and_then(Json::as_str).and_then(quantity::expected) {
            return text.to_owned();
        }
        let noun = schema.get("x-noun").and_then(Json::as_str);
        match (schema.get("type").and_then(Json::as_str), schema.get("required").and_then(|r| r[0].as_str()))
        {
            (Some("object"), Some(key)) if schema["properties"].as_object().is_some_and(|p| p.len() == 1) => {
                format!("a mapping with the key '{key}'")
            }
            (Some("object"), _) => mapping(schema),
            (Some("array"), _) => "a list".to_owned(),
            (Some("boolean"), _) => "true or false".to_owned(),
            (Some("integer"), _) => whole_number(schema),
            (Some("string"), _) if schema.get("enum").is_some() => words(schema),
            _ => noun.map_or_else(|| "a text".to_owned(), |noun| format!("the name of a {noun}")),
        }
    }
}

/// The key a member is read as: 'port: 80' of a mapping where numbers are called 'ports' is 'ports: 80'.
fn key_of<'m>(member: &'m Member, schema: &'m Json) -> &'m str {
    let is_number = match &member.value.value {
        Value::Number(..) => true,
        Value::Text(text) => text.contains(".."),
        _ => false,
    };
    let property = || schema.get("properties")?.get(&member.key)?.get("x-number")?.as_str();
    is_number.then(property).flatten().unwrap_or(&member.key)
}

/// Keys a mapping must have.
fn required(schema: &Json) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str)
}

/// The new name of a key that had another one.
fn renamed<'a>(key: &str, schema: &'a Json) -> Option<&'a str> {
    schema.get("x-renamed")?.get(key)?.as_str()
}

fn type_of(node: &Node) -> &'static str {
    match &node.value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number, _) if number.is_f64() => "number",
        Value::Number(..) => "integer",
        Value::Text(_) => "string",
        Value::List(_) => "array",
        Value::Map(_) => "object",
    }
}

fn allows(schema: &Json, kind: &str) -> bool {
    match &schema["type"] {
        Json::String(only) => only == kind,
        Json::Array(types) => types.iter().any(|name| name == kind),
        _ => false,
    }
}

fn scalar_text(node: &Node) -> Option<String> {
    match &node.value {
        Value::Text(text) | Value::Number(_, text) => Some(text.clone()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

fn needs_quotes(node: &Node, text: &str) -> String {
    let kind = if matches!(node.value, Value::Bool(_)) { "true or false" } else { "a number" };
    format!("YAML reads {text} as {kind}; write it in quotes: \"{text}\"")
}

fn format_error(format: &str, text: &str) -> Option<String> {
    if let Some(field) = field_of_format(format) {
        return field.parse(text).err().map(|error| error.to_string());
    }
    let expected = quantity::expected(format)?;
    let fits = quantity::is_of_format(format, text)?;
    (!fits).then(|| format!("'{text}' is not {expected}"))
}

fn text_error(text: &str, schema: &Json) -> Option<String> {
    let noun = schema.get("x-noun").and_then(Json::as_str).unwrap_or("word");
    let allowed: Option<Vec<&str>> =
        schema.get("enum").and_then(Json::as_array).map(|e| e.iter().filter_map(Json::as_str).collect());
    match allowed {
        Some(allowed) if !allowed.contains(&text) => {
            let more = schema.get("x-more").and_then(Json::as_str).map(|more| format!(", or {more}"));
            Some(unknown(noun, text, &allowed) + &more.unwrap_or_default())
        }
        None if text.is_empty() && schema.get("minLength").is_some() => Some("the text is empty".to_owned()),
        _ => None,
    }
}

fn range_error(text: &str, number: Option<i128>, schema: &Json) -> Option<String> {
    let (least, most) = range(schema);
    let fits = number.is_some_and(|n| n >= least && n <= most);
    (!fits).then(|| format!("'{text}' is not {}", whole_number(schema)))
}

/// Smallest and largest number that fits an integer's schema.
fn range(schema: &Json) -> (i128, i128) {
    let (least, most) = match schema.get("format").and_then(Json::as_str) {
        Some("uint32") => (0, u32::MAX.into()),
        Some("int64") => (i64::MIN.into(), i64::MAX.into()),
        _ => (0, u64::MAX.into()),
    };
    let number = |limit: &Json| limit.as_u64().map(i128::from).or(limit.as_i64().map(i128::from));
    let limit = |key: &str| schema.get(key).and_then(number);
    (limit("minimum").unwrap_or(least), limit("maximum").unwrap_or(most))
}

/// The words of an enum.
fn words(schema: &Json) -> String {
    let words: Vec<&str> = schema["enum"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    format!("one of {}", words.join(", "))
}

/// A mapping by its keys, if it has few.
fn mapping(schema: &Json) -> String {
    let keys: Vec<&str> =
        schema["properties"].as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect();
    match keys.len() {
        1..=KEYS_NAMED => format!("a mapping with {}", keys.join(", ")),
        _ => "a mapping".to_owned(),
    }
}

fn whole_number(schema: &Json) -> String {
    match range(schema) {
        (least, most) if least == i128::from(i64::MIN) && most == i128::from(i64::MAX) => {
            "a whole number".to_owned()
        }
        (least, most) if most == i128::from(u64::MAX) => format!("a whole number of at least {least}"),
        (least, most) => format!("a whole number from {least} to {most}"),
    }
}

/// The first sentence, without its full stop, beginning in lower case.
fn first_sentence(text: &str) -> String {
    let end = text.find(". ").unwrap_or(text.len());
    let sentence = text[..end].trim_end_matches('.');
    // An abbreviation such as MAC stays as it is.
    if sentence.chars().nth(1).is_some_and(char::is_uppercase) {
        return sentence.to_owned();
    }
    let mut chars = sentence.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}
