//! A document as text.
//!
//! Invariant: what is printed reads back as the equal document; what is absent or equal to its default is left out.

use super::{Document, referred, schema};
use crate::yaml::is_plain_text;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// Longest text written on one line in braces or brackets.
const FLOW_WIDTH: usize = 88;
/// The schema of what has none.
static NOTHING: Value = Value::Null;

impl Document {
    /// The document as YAML.
    pub fn to_yaml(&self) -> String {
        let mut text = String::new();
        block(&self.to_value(), 0, &mut text);
        text
    }

    /// The document as JSON.
    pub fn to_value(&self) -> Value {
        let Self { seed, ports, streams, sessions, protocols, load, criteria, groups, sim } = self;
        let value = serde_json::json!({
            "seed": seed, "ports": ports, "streams": streams, "sessions": sessions, "protocols": protocols,
            "load": load, "criteria": criteria, "groups": groups, "sim": sim,
        });
        let mut value = sparse(value, schema());
        // A port that only listens says that there is nothing to send.
        let captures = ports.values().any(|port| port.capture.is_some() || port.punt.is_some());
        if streams.is_empty() && sessions.is_empty() && !captures {
            value["streams"] = Value::Array(Vec::new());
        }
        value
    }
}

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

/// Leaves out of `value`, which fits `schema`, what is null or its key's default.
fn sparse(value: Value, schema: &'static Value) -> Value {
    match value {
        Value::Object(map) => {
            let shape =
                shapes(schema).into_iter().find(|shape| map.keys().all(|key| member(shape, key).is_some()));
            let members = map.into_iter().filter_map(|(key, value)| {
                let schema = shape.and_then(|shape| member(shape, &key)).unwrap_or(&NOTHING);
                let is_default = schema.get("default") == Some(&value);
                (!value.is_null() && !is_default).then(|| (key, sparse(value, schema)))
            });
            Value::Object(members.collect())
        }
        Value::Array(items) => {
            let shape = shapes(schema).into_iter().find_map(|shape| shape.get("items"));
            items.into_iter().map(|item| sparse(item, shape.unwrap_or(&NOTHING))).collect()
        }
        scalar => scalar,
    }
}

/// The schema of a key of a mapping, if there may be such a key.
fn member(shape: &'static Value, key: &str) -> Option<&'static Value> {
    let any = || shape.get("additionalProperties").filter(|any| any.is_object());
    shape.get("properties").and_then(|properties| properties.get(key)).or_else(any)
}

/// The shapes a schema allows.
fn shapes(node: &'static Value) -> Vec<&'static Value> {
    if let Some(target) = referred(schema(), node) {
        return shapes(target);
    }
    match node.get("anyOf").or_else(|| node.get("oneOf")).and_then(Value::as_array) {
        Some(branches) => branches.iter().flat_map(shapes).collect(),
        None => vec![node],
    }
}

/// Writes a mapping or list as YAML, a line for each entry that fits one.
fn block(value: &Value, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                out.push_str(&format!("{pad}{}:", scalar(key)));
                entry(value, indent == 0, indent + 2, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                let mut text = String::new();
                block(item, indent + 2, &mut text);
                out.push_str(&format!("{pad}- {}", text.trim_start()));
            }
        }
        _ => out.push_str(&format!("{pad}{}\n", flow(value))),
    }
}

/// The value of a key: on its line if it fits, else below. Lists and mappings at the document's top level are below.
fn entry(value: &Value, top: bool, indent: usize, out: &mut String) {
    let text = flow(value);
    let small = value.as_object().is_none_or(|map| !top || map.values().all(|v| !v.is_object()));
    let is_empty = value.as_array().is_some_and(Vec::is_empty);
    if is_empty || (text.len() <= FLOW_WIDTH && small && !(top && value.is_array())) {
        out.push_str(&format!(" {text}\n"));
    } else {
        out.push('\n');
        block(value, indent, out);
    }
}

fn flow(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let members: Vec<String> =
                map.iter().map(|(key, value)| format!("{}: {}", scalar(key), flow(value))).collect();
            format!("{{{}}}", members.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        _ => scalar_of(value),
    }
}

fn scalar_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), scalar)
}

/// The text, in quotes if YAML would read something else without them.
fn scalar(text: &str) -> String {
    if is_plain_text(text) { text.to_owned() } else { Value::from(text).to_string() }
}
