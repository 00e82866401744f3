//! Reads a document of the model: nodes have paths, absent fields have the model's defaults, and fields that were never
//! read become errors.
//!
//! Invariant: after [`Log::unread`] nothing of the document was silently ignored. Every field was read, has its default,
//! or is reported.

use crate::check::{hex_bytes, join, sentence, whole};
use crate::model::{Field, FieldType, Message, TextFormat};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt::Display;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use units::Mac;

/// Fields read of a document, with errors and warnings.
#[derive(Default)]
pub(crate) struct Log {
    errors: RefCell<Vec<String>>,
    warnings: RefCell<Vec<String>>,
    /// Addresses of values that were read.
    read: RefCell<HashSet<usize>>,
}

/// A message of a document, present or absent.
#[derive(Clone)]
pub(crate) struct Node<'a> {
    value: Option<&'a Value>,
    message: &'static Message,
    path: String,
    log: &'a Log,
}

fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

impl Log {
    /// Adds an error.
    pub(crate) fn fail(&self, path: &str, reason: &str) {
        self.errors.borrow_mut().push(sentence(path, reason));
    }

    /// Adds an error for every message that is not supported as a whole. They are not named twice.
    /// Returns how many.
    pub(crate) fn closed(&self, value: &Value, message: &'static Message) -> usize {
        self.closed_in(value, message, "");
        self.errors.borrow().len()
    }

    fn closed_in(&self, value: &Value, message: &'static Message, path: &str) {
        if message.closed {
            self.fail(path, "not supported");
            self.read.borrow_mut().insert(address(value));
            return;
        }
        for (name, value) in value.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
            let Some(message) = message.field(name).and_then(Field::message) else { continue };
            let path = join(path, name);
            match value.as_array() {
                Some(items) => {
                    for (index, item) in items.iter().enumerate() {
                        self.closed_in(item, message, &format!("{path}[{index}]"));
                    }
                }
                None => self.closed_in(value, message, &path),
            }
        }
    }

    /// Adds an error for every value that is not the default and was not read.
    pub(crate) fn unread(&self, value: &Value, message: &'static Message) {
        self.unread_in(value, message, "");
    }

    fn unread_in(&self, value: &Value, message: &'static Message, path: &str) {
        if message.closed && !self.was_read(value) {
            self.fail(path, "not supported");
        }
        for (name, value) in value.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
            let Some(field) = message.field(name) else { continue };
            let path = join(path, name);
            match (field.message(), value.as_array()) {
                (Some(message), Some(items)) => {
                    for (index, item) in items.iter().enumerate() {
                        self.unread_in(item, message, &format!("{path}[{index}]"));
                    }
                }
                (Some(message), None) => self.unread_in(value, message, &path),
                (None, _) if self.was_read(value) || is_default(value, field) => {}
                (None, _) => self.fail(&path, "not supported"),
            }
        }
    }

    fn was_read(&self, value: &Value) -> bool {
        self.read.borrow().contains(&address(value))
    }

    /// The errors and the warnings.
    pub(crate) fn end(self) -> (Vec<String>, Vec<String>) {
        (self.errors.into_inner(), self.warnings.into_inner())
    }

    /// Whether there are no errors so far.
    pub(crate) fn is_clean(&self) -> bool {
        self.has_no_more_than(0)
    }

    /// Whether there are no errors beyond this number.
    pub(crate) fn has_no_more_than(&self, errors: usize) -> bool {
        self.errors.borrow().len() <= errors
    }
}

/// Whether `value` is the default, or an empty list.
fn is_default(value: &Value, field: &Field) -> bool {
    if field.repeated && value.as_array().is_some_and(Vec::is_empty) {
        return true;
    }
    let Some(default) = &field.default else { return false };
    let numbers = (value.as_f64().or_else(|| value.as_str()?.parse().ok()), default.as_f64());
    value == default || matches!(numbers, (Some(a), Some(b)) if a == b)
}

impl<'a> Node<'a> {
    /// The document itself.
    pub(crate) fn root(value: &'a Value, message: &'static Message, log: &'a Log) -> Self {
        Self { value: Some(value), message, path: String::new(), log }
    }

    /// Its path.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The path of one of its fields.
    pub(crate) fn path_of(&self, name: &str) -> String {
        join(&self.path, name)
    }

    /// Adds an error for the whole message, which replaces all others in it.
    pub(crate) fn fail(&self, reason: impl AsRef<str>) {
        self.log.fail(&self.path, reason.as_ref());
        self.value.into_iter().for_each(|value| self.mark(value));
    }

    /// Adds an error for the field `name`.
    pub(crate) fn fail_at(&self, name: &str, reason: impl AsRef<str>) {
        self.log.fail(&self.path_of(name), reason.as_ref());
        self.raw(name).into_iter().for_each(|value| self.mark(value));
    }

    /// Adds a warning for the field `name`.
    pub(crate) fn warn_at(&self, name: &str, reason: impl AsRef<str>) {
        self.log.warnings.borrow_mut().push(sentence(&self.path_of(name), reason.as_ref()));
    }

    /// Marks a value and its contents as read.
    fn mark(&self, value: &Value) {
        self.log.read.borrow_mut().insert(address(value));
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.mark(item)),
            Value::Object(map) => map.values().for_each(|value| self.mark(value)),
            _ => {}
        }
    }

    fn field(&self, name: &str) -> &'static Field {
        let field = self.message.field(name);
        field.unwrap_or_else(|| panic!("the model's {} has no field {name}", self.message.name))
    }

    /// The value given as `name`.
    fn raw(&self, name: &str) -> Option<&'a Value> {
        self.value?.get(name).filter(|value| !value.is_null())
    }

    /// Whether it is present.
    pub(crate) fn is_given(&self) -> bool {
        self.value.is_some()
    }

    /// Whether the field `name` is present.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.raw(name).is_some()
    }

    /// Whether its message type has a field `name`.
    pub(crate) fn may_have(&self, name: &str) -> bool {
        self.message.field(name).is_some()
    }

    /// Whether the field `name` holds a message.
    pub(crate) fn child_is_message(&self, name: &str) -> bool {
        self.field(name).message().is_some()
    }

    /// The message in the field `name`, present or absent.
    pub(crate) fn child(&self, name: &str) -> Node<'a> {
        let message = self.field(name).message();
        Node {
            value: self.raw(name),
            message: message.unwrap_or_else(|| panic!("{}.{name} is no message", self.message.name)),
            path: self.path_of(name),
            log: self.log,
        }
    }

    /// The message at a path such as `header.flags`.
    pub(crate) fn at(&self, path: &str) -> Node<'a> {
        path.split('.').fold(self.clone(), |node, name| node.child(name))
    }

    /// An absent message, as if it were in the field `name`.
    pub(crate) fn child_of_message(&self, message: &str, name: &str) -> Node<'a> {
        Node { value: None, message: crate::model::message(message), path: self.path_of(name), log: self.log }
    }

    /// Adds an error at another path.
    pub(crate) fn log_fail(&self, path: &str, reason: &str) {
        self.log.fail(path, reason);
    }

    /// The messages in the list `name`.
    pub(crate) fn items(&self, name: &str) -> Vec<Node<'a>> {
        let message = self.field(name).message();
        let message = message.unwrap_or_else(|| panic!("{}.{name} has no messages", self.message.name));
        let items = self.raw(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let node = |(index, value)| Node {
            value: Some(value),
            message,
            path: format!("{}[{index}]", self.path_of(name)),
            log: self.log,
        };
        items.iter().enumerate().map(node).collect()
    }

    /// The value of `name` or its default; marks it as read.
    pub(crate) fn value(&self, name: &str) -> Option<&'a Value> {
        let default = self.field(name).default.as_ref();
        match self.raw(name) {
            Some(value) => {
                self.mark(value);
                Some(value)
            }
            None => default,
        }
    }

    /// A string; empty if absent and without a default.
    pub(crate) fn text(&self, name: &str) -> &'a str {
        self.value(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// A text as a quantity of profiles; any other text is an error.
    pub(crate) fn quantity<T: FromStr<Err: Display>>(&self, name: &str) -> Option<T> {
        self.text(name).parse().map_err(|error: T::Err| self.fail_at(name, error.to_string())).ok()
    }

    /// A list of strings.
    pub(crate) fn texts(&self, name: &str) -> Vec<&'a str> {
        let items = self.value(name).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// A non-negative whole number.
    pub(crate) fn whole(&self, name: &str) -> u64 {
        self.value(name).and_then(whole).and_then(|number| u64::try_from(number).ok()).unwrap_or_default()
    }

    /// A number.
    pub(crate) fn real(&self, name: &str) -> f64 {
        self.value(name).and_then(Value::as_f64).unwrap_or_default()
    }

    /// A boolean.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.value(name).and_then(Value::as_bool).unwrap_or_default()
    }

    /// The bytes of a hexadecimal string.
    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        hex_bytes(self.text(name)).unwrap_or_default()
    }

    /// The bits of a number or an address, negative numbers as two's complement of 32 bits.
    pub(crate) fn bits(&self, name: &str) -> u128 {
        let form = self.field(name).form;
        self.value(name).and_then(|value| bits(value, form)).unwrap_or_default()
    }

    /// The same for a list.
    pub(crate) fn bits_list(&self, name: &str) -> Vec<u128> {
        let form = self.field(name).form;
        let items = self.value(name).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(|value| bits(value, form)).collect()
    }

    /// The selected alternative: the value of `choice`, the present field, or the default.
    pub(crate) fn choice(&self) -> &'a str {
        let field = self.field("choice");
        let given = self.value("choice").and_then(Value::as_str);
        if self.has("choice") {
            return given.unwrap_or_default();
        }
        let FieldType::Enum(words) = &field.kind else { return given.unwrap_or_default() };
        let there = words.iter().map(|(word, _)| *word).find(|word| self.may_have(word) && self.has(word));
        there.or(given).unwrap_or_default()
    }
}

fn bits(value: &Value, form: Option<TextFormat>) -> Option<u128> {
    match (form, value.as_str()) {
        (Some(TextFormat::Mac), Some(text)) => text.parse::<Mac>().ok().map(|mac| mac.number().into()),
        (Some(TextFormat::Ipv4), Some(text)) => text.parse::<Ipv4Addr>().ok().map(|ip| u32::from(ip).into()),
        (Some(TextFormat::Ipv6), Some(text)) => text.parse::<Ipv6Addr>().ok().map(u128::from),
        (Some(TextFormat::Hex), Some(text)) => {
            Some(hex_bytes(text)?.iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte)))
        }
        _ => whole(value).map(|number| match number {
            ..0 => u128::from(number as i32 as u32),
            _ => number as u128,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::message;
    use serde_json::json;

    #[test]
    fn what_was_not_read_and_is_not_the_default_is_named() {
        let value = json!({
            "ports": [{"name": "a", "location": "ring:a"}],
            "layer1": [{"name": "l", "port_names": ["a"], "mtu": 9000, "promiscuous": true}],
            "egress_only_tracking": [{"port_name": "a"}],
            "captures": [],
        });
        let log = Log::default();
        let root = Node::root(&value, message("Config"), &log);
        assert_eq!(root.items("ports")[0].text("name"), "a");
        let layer1 = &root.items("layer1")[0];
        assert_eq!((layer1.text("name"), layer1.texts("port_names")), ("l", vec!["a"]));
        log.unread(&value, message("Config"));
        let wanted = [
            "ports[0].location: not supported",
            "layer1[0].mtu: not supported",
            "egress_only_tracking[0]: not supported",
        ];
        assert_eq!(log.end().0, wanted);
    }

    #[test]
    fn what_is_absent_has_the_models_default() {
        let value = json!({"name": "f", "rate": {"choice": "pps"}, "size": {"increment": {}}});
        let log = Log::default();
        let flow = Node::root(&value, message("Flow"), &log);
        assert_eq!(flow.child("rate").whole("pps"), 1000);
        assert_eq!(flow.child("size").choice(), "increment");
        assert_eq!(flow.at("size.increment").whole("end"), 1518);
        assert_eq!(flow.at("duration").choice(), "continuous");
        assert!(!flow.at("metrics").flag("enable"));
        assert_eq!(flow.at("metrics.latency").text("mode"), "store_forward");
    }
}
