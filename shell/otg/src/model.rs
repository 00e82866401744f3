//! The Open Traffic Generator model: messages and their fields with numbers, types, limits and defaults.
//!
//! Read once from `model.txt`, which `tools/otg-descriptor` generates from the released package: the only list of messages,
//! fields and wire numbers.
//!
//! A *closed* message is an unsupported protocol, refused as a whole; its fields are not listed.

use serde_json::Value;
use std::collections::HashMap;
use std::sync::LazyLock;

/// The model as text.
const TEXT: &str = include_str!("model.txt");

static MODEL: LazyLock<Model> = LazyLock::new(|| Model::parse(TEXT));

/// All messages.
pub(crate) struct Model {
    messages: HashMap<&'static str, Message>,
    /// Names in the order of the text.
    pub(crate) names: Vec<&'static str>,
}

/// A message.
pub(crate) struct Message {
    pub(crate) name: &'static str,
    /// Its fields are not listed.
    pub(crate) closed: bool,
    pub(crate) fields: Vec<Field>,
}

/// A field of a message.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// Its protobuf field number.
    pub(crate) number: i32,
    pub(crate) repeated: bool,
    pub(crate) kind: FieldType,
    /// Format of a string.
    pub(crate) form: Option<TextFormat>,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
    pub(crate) required: bool,
    /// Its default.
    pub(crate) default: Option<Value>,
}

/// Type of a field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FieldType {
    Double,
    Float,
    Int64,
    Uint64,
    Int32,
    Uint32,
    Bool,
    Text,
    Bytes,
    /// Names and numbers.
    Enum(Vec<(&'static str, i32)>),
    /// The name of a message.
    Message(String),
}

/// Format of a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextFormat {
    Mac,
    Ipv4,
    Ipv6,
    Hex,
}

/// The model.
pub(crate) fn model() -> &'static Model {
    &MODEL
}

/// The message called `name`; panics if unknown.
pub(crate) fn message(name: &str) -> &'static Message {
    MODEL.messages.get(name).unwrap_or_else(|| panic!("the model has no message {name}"))
}

impl Message {
    /// The field called `name`.
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl Field {
    /// Its message type.
    pub(crate) fn message(&self) -> Option<&'static Message> {
        match &self.kind {
            FieldType::Message(name) => Some(message(name)),
            _ => None,
        }
    }
}

impl Model {
    /// Reads lines such as `FlowUdp`, then ` src_port 1 PatternFlowUdpSrcPort` per field. Several names on one line have the
    /// same fields, in which `~` stands for the name.
    fn parse(text: &'static str) -> Self {
        let mut model = Self { messages: HashMap::new(), names: Vec::new() };
        let mut current: Vec<&'static str> = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if !line.starts_with(' ') {
                current = line.split(' ').collect();
                model.names.extend(&current);
                for &name in &current {
                    model.messages.insert(name, Message { name, closed: false, fields: Vec::new() });
                }
                continue;
            }
            for name in &current {
                let Some(message) = model.messages.get_mut(name) else { continue };
                match line.trim() {
                    "-" => message.closed = true,
                    line => message.fields.push(parse_field(line, name)),
                }
            }
        }
        model
    }
}

/// `id 3 *uint32 ..4095 ! =0`: name, number, type, then attributes.
fn parse_field(line: &'static str, message: &str) -> Field {
    let (line, default) = match line.split_once(" =") {
        Some((line, json)) => (line, serde_json::from_str(json).ok()),
        None => (line, None),
    };
    let mut words = line.split(' ');
    let mut next = || words.next().unwrap_or_else(|| panic!("model.txt: '{line}' is too short"));
    let (name, number, kind) = (next(), next(), next());
    let mut field = Field {
        name,
        number: number.parse().unwrap_or_else(|_| panic!("model.txt: no number in '{line}'")),
        repeated: kind.starts_with('*'),
        kind: parse_type(kind.trim_start_matches('*'), message),
        form: None,
        min: None,
        max: None,
        required: false,
        default,
    };
    for word in words {
        match word {
            "!" => field.required = true,
            "mac" => field.form = Some(TextFormat::Mac),
            "ipv4" => field.form = Some(TextFormat::Ipv4),
            "ipv6" => field.form = Some(TextFormat::Ipv6),
            "hex" => field.form = Some(TextFormat::Hex),
            range => {
                let (min, max) = range.split_once("..").unwrap_or_else(|| panic!("model.txt: '{word}'?"));
                (field.min, field.max) = (min.parse().ok(), max.parse().ok());
            }
        }
    }
    field
}

fn parse_type(word: &'static str, message: &str) -> FieldType {
    match word {
        "double" => FieldType::Double,
        "float" => FieldType::Float,
        "int64" => FieldType::Int64,
        "uint64" => FieldType::Uint64,
        "int32" => FieldType::Int32,
        "uint32" => FieldType::Uint32,
        "bool" => FieldType::Bool,
        "string" => FieldType::Text,
        "bytes" => FieldType::Bytes,
        _ => match word.strip_prefix("enum(").and_then(|rest| rest.strip_suffix(')')) {
            Some(words) => FieldType::Enum(words.split('|').enumerate().map(parse_word).collect()),
            None => FieldType::Message(word.replace('~', message)),
        },
    }
}

/// `value`, numbered from 1, or `value:2`.
fn parse_word((index, word): (usize, &'static str)) -> (&'static str, i32) {
    match word.split_once(':') {
        Some((word, number)) => (word, number.parse().unwrap_or_default()),
        None => (word, index as i32 + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_that_a_field_holds_is_there() {
        for name in &model().names {
            for field in &message(name).fields {
                assert!(field.number > 0, "{name}.{}", field.name);
                if let FieldType::Message(held) = &field.kind {
                    assert!(model().messages.contains_key(held.as_str()), "{name}.{}: {held}", field.name);
                }
            }
        }
    }

    #[test]
    fn fields_have_what_the_model_says() {
        let port = message("PatternFlowUdpSrcPort");
        let value = port.field("value").unwrap();
        assert_eq!((value.number, value.max, &value.default), (2, Some(65535.0), &Some(0.into())));
        let choice = port.field("choice").unwrap();
        let words = [("value", 2), ("values", 3), ("increment", 4), ("decrement", 5), ("random", 6)];
        assert_eq!(choice.kind, FieldType::Enum(words.to_vec()));
        assert_eq!(port.field("increment").unwrap().message().unwrap().name, "PatternFlowUdpSrcPortCounter");
        assert!(message("DeviceRsvp").closed && !message("DeviceBgpRouter").closed);
        assert_eq!(message("Config").field("ports").map(|f| f.repeated), Some(true));
    }
}
