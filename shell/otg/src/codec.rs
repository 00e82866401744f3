//! Converts messages of the model between protobuf and JSON.
//!
//! The descriptor is generated from the model's table, so that there is one list of names and numbers. It uses proto2
//! syntax, in which every field has presence; the wire format is the same.

use crate::error::Errors;
use crate::model::{FieldType, Message, message, model};
use prost_reflect::prost::Message as _;
use prost_reflect::{DescriptorPool, DeserializeOptions, DynamicMessage, SerializeOptions};
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, EnumValueDescriptorProto, FieldDescriptorProto,
    FileDescriptorProto, FileDescriptorSet,
};
use serde_json::Value;
use std::sync::LazyLock;

/// The package of the model's messages.
const PACKAGE: &str = "otg";

static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    let file = FileDescriptorProto {
        name: Some("otg.proto".to_owned()),
        package: Some(PACKAGE.to_owned()),
        message_type: model().names.iter().map(|name| descriptor(message(name))).collect(),
        syntax: Some("proto2".to_owned()),
        ..FileDescriptorProto::default()
    };
    let set = FileDescriptorSet { file: vec![file] };
    DescriptorPool::from_file_descriptor_set(set).unwrap_or_else(|error| panic!("the model's table: {error}"))
});

/// Decodes a protobuf message to JSON.
pub fn decode(name: &str, bytes: &[u8]) -> Result<Value, Errors> {
    let failed =
        |error: &dyn std::fmt::Display| Errors::invalid(format!("cannot decode the message: {error}"));
    let message = DynamicMessage::decode(known(name), bytes).map_err(|error| failed(&error))?;
    let options = SerializeOptions::new().use_proto_field_name(true).stringify_64_bit_integers(false);
    message.serialize_with_options(serde_json::value::Serializer, &options).map_err(|error| failed(&error))
}

/// Encodes a message from JSON to protobuf.
pub fn encode(name: &str, value: &Value) -> Result<Vec<u8>, Errors> {
    let failed = |error: serde_json::Error| Errors::internal(format!("cannot encode the response: {error}"));
    let options = DeserializeOptions::new();
    let message = DynamicMessage::deserialize_with_options(known(name), value, &options).map_err(failed)?;
    Ok(message.encode_to_vec())
}

/// A `GetCaptureResponse` with these bytes. Base64 in JSON would be a third longer.
pub fn encode_capture(bytes: Vec<u8>) -> Vec<u8> {
    let mut message = DynamicMessage::new(known("GetCaptureResponse"));
    message.set_field_by_name("response_bytes", prost_reflect::Value::Bytes(bytes.into()));
    message.encode_to_vec()
}

/// A `Data` message with a piece of a document.
pub fn encode_piece(piece: &[u8]) -> Vec<u8> {
    let mut message = DynamicMessage::new(known("Data"));
    message.set_field_by_name("chunk_size", prost_reflect::Value::U64(piece.len() as u64));
    message.set_field_by_name("datum", prost_reflect::Value::Bytes(piece.to_vec().into()));
    message.encode_to_vec()
}

/// The piece in a `Data` message.
pub fn decode_piece(bytes: &[u8]) -> Result<Vec<u8>, Errors> {
    let failed = |error| Errors::invalid(format!("cannot decode the message: {error}"));
    let message = DynamicMessage::decode(known("Data"), bytes).map_err(failed)?;
    let datum = message.get_field_by_name("datum");
    Ok(datum.and_then(|datum| Some(datum.as_bytes()?.to_vec())).unwrap_or_default())
}

fn known(name: &str) -> prost_reflect::MessageDescriptor {
    let found = POOL.get_message_by_name(&format!("{PACKAGE}.{name}"));
    found.unwrap_or_else(|| panic!("the model has no message {name}"))
}

fn descriptor(message: &Message) -> DescriptorProto {
    let mut nested = Vec::new();
    let mut fields = Vec::new();
    for field in &message.fields {
        let (kind, type_name) = match &field.kind {
            FieldType::Double => (Type::Double, None),
            FieldType::Float => (Type::Float, None),
            FieldType::Int64 => (Type::Int64, None),
            FieldType::Uint64 => (Type::Uint64, None),
            FieldType::Int32 => (Type::Int32, None),
            FieldType::Uint32 => (Type::Uint32, None),
            FieldType::Bool => (Type::Bool, None),
            FieldType::Text => (Type::String, None),
            FieldType::Bytes => (Type::Bytes, None),
            FieldType::Message(name) => (Type::Message, Some(format!(".{PACKAGE}.{name}"))),
            FieldType::Enum(words) => {
                // Each in its own scope, as names repeat.
                let scope = format!("{}_words", field.name);
                nested.push(scoped(&scope, words));
                (Type::Enum, Some(format!(".{PACKAGE}.{}.{scope}.Enum", message.name)))
            }
        };
        fields.push(FieldDescriptorProto {
            name: Some(field.name.to_owned()),
            number: Some(field.number),
            label: Some(if field.repeated { Label::Repeated } else { Label::Optional }.into()),
            r#type: Some(kind.into()),
            type_name,
            json_name: Some(field.name.to_owned()),
            ..FieldDescriptorProto::default()
        });
    }
    DescriptorProto {
        name: Some(message.name.to_owned()),
        field: fields,
        nested_type: nested,
        ..DescriptorProto::default()
    }
}

fn scoped(scope: &str, words: &[(&'static str, i32)]) -> DescriptorProto {
    let value = |(word, number): (&str, i32)| EnumValueDescriptorProto {
        name: Some(word.to_owned()),
        number: Some(number),
        ..EnumValueDescriptorProto::default()
    };
    let all = [("unspecified", 0)].into_iter().chain(words.iter().copied());
    DescriptorProto {
        name: Some(scope.to_owned()),
        enum_type: vec![EnumDescriptorProto {
            name: Some("Enum".to_owned()),
            value: all.map(value).collect(),
            ..EnumDescriptorProto::default()
        }],
        ..DescriptorProto::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_go_to_bytes_and_back() {
        let config = json!({
            "ports": [{"location": "ring:a", "name": "a"}],
            "flows": [{
                "tx_rx": {"choice": "port", "port": {"tx_name": "a", "rx_name": "b"}},
                "packet": [{"choice": "udp", "udp": {"src_port": {"choice": "values", "values": [1, 2]}}}],
                "rate": {"choice": "pps", "pps": 5000000000u64},
                "metrics": {"enable": false},
                "name": "f",
            }],
        });
        let bytes = encode("Config", &config).unwrap();
        assert_eq!(decode("Config", &bytes).unwrap(), config);
    }

    #[test]
    fn bytes_are_those_of_protocol_buffers() {
        let version = json!({"api_spec_version": "1", "app_version": "2"});
        assert_eq!(encode("Version", &version).unwrap(), [0x0a, 1, b'1', 0x1a, 1, b'2']);
        let choice = json!({"choice": "flow"});
        assert_eq!(encode("MetricsRequest", &choice).unwrap(), [8, 2]);
    }

    #[test]
    fn that_a_closed_message_is_there_is_seen() {
        // devices[0].bgp with a field of its own.
        let bytes = [0x2a, 5, 0x2a, 3, 0x0a, 1, b'x'];
        let found = decode("Config", &bytes).unwrap();
        let device = found["devices"][0].as_object().unwrap();
        assert_eq!(device.len(), 1, "{found}");
    }

    #[test]
    fn bytes_that_are_no_message_are_an_error() {
        assert!(
            decode("Config", &[0xff, 0xff]).unwrap_err().errors[0].starts_with("cannot decode the message")
        );
    }
}
