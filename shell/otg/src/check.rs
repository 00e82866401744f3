//! Checks a document against the model: field names, types, limits, enumerations, required fields.
//!
//! Not here: what the generator supports.

use crate::model::{Field, FieldType, Message, TextFormat};
use serde_json::Value;
use std::net::{Ipv4Addr, Ipv6Addr};
use units::Mac;

/// All errors of `value` as a `message`, each with its path.
pub(crate) fn check(value: &Value, message: &'static Message) -> Vec<String> {
    let mut errors = Vec::new();
    check_message(value, message, "", &mut errors);
    errors
}

/// `path.name`, or `name` where the path is empty.
pub(crate) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// `path: reason`; for the document itself only the reason.
pub(crate) fn sentence(path: &str, reason: &str) -> String {
    if path.is_empty() { reason.to_owned() } else { format!("{path}: {reason}") }
}

fn check_message(value: &Value, message: &'static Message, path: &str, errors: &mut Vec<String>) {
    let Some(map) = value.as_object() else {
        errors.push(sentence(path, "is not an object"));
        return;
    };
    if message.closed {
        return;
    }
    for (name, value) in map {
        let path = join(path, name);
        match message.field(name) {
            _ if value.is_null() => {}
            None => errors.push(sentence(&path, "unknown field")),
            Some(field) if field.repeated => check_items(value, field, &path, errors),
            Some(field) => check_value(value, field, &path, errors),
        }
    }
    let absent = |field: &&Field| map.get(field.name).is_none_or(Value::is_null);
    for field in message.fields.iter().filter(|field| field.required).filter(absent) {
        errors.push(sentence(&join(path, field.name), "is required"));
    }
}

fn check_items(value: &Value, field: &'static Field, path: &str, errors: &mut Vec<String>) {
    let Some(items) = value.as_array() else {
        errors.push(sentence(path, "is not a list"));
        return;
    };
    for (index, item) in items.iter().enumerate() {
        check_value(item, field, &format!("{path}[{index}]"), errors);
    }
}

fn check_value(value: &Value, field: &'static Field, path: &str, errors: &mut Vec<String>) {
    if let Some(message) = field.message() {
        check_message(value, message, path, errors);
    } else if let Err(reason) = check_scalar(value, field) {
        errors.push(sentence(path, &reason));
    }
}

fn check_scalar(value: &Value, field: &Field) -> Result<(), String> {
    let whole = |low: i128, high: i128| match whole(value) {
        Some(number) if (low..=high).contains(&number) => within(number as f64, field),
        Some(number) => Err(format!("{number} is out of range {low} to {high}")),
        None if value.as_f64().is_some_and(|number| number.fract() == 0.0) => {
            Err(format!("{value} is out of range {low} to {high}"))
        }
        None => Err(format!("{value} is not a whole number")),
    };
    match &field.kind {
        FieldType::Uint32 => whole(0, u32::MAX.into()),
        FieldType::Uint64 => whole(0, u64::MAX.into()),
        FieldType::Int32 => whole(i32::MIN.into(), i32::MAX.into()),
        FieldType::Int64 => whole(i64::MIN.into(), i64::MAX.into()),
        FieldType::Double | FieldType::Float => match value.as_f64() {
            Some(number) => within(number, field),
            None => Err(format!("{value} is not a number")),
        },
        FieldType::Bool if value.is_boolean() => Ok(()),
        FieldType::Bool => Err(format!("{value} is not a boolean")),
        FieldType::Text | FieldType::Bytes | FieldType::Enum(_) => match value.as_str() {
            Some(text) => check_text(text, field),
            None => Err(format!("{value} is not a string")),
        },
        FieldType::Message(_) => Ok(()),
    }
}

fn within(number: f64, field: &Field) -> Result<(), String> {
    match (field.min, field.max) {
        (Some(min), _) if number < min => Err(format!("{number} is below {min}")),
        (_, Some(max)) if number > max => Err(format!("{number} is above {max}")),
        _ => Ok(()),
    }
}

fn check_text(text: &str, field: &Field) -> Result<(), String> {
    if let FieldType::Enum(words) = &field.kind {
        if words.iter().any(|(word, _)| *word == text) {
            return Ok(());
        }
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        return Err(format!("'{text}' is not one of {}", words.join(", ")));
    }
    let (good, what) = match field.form {
        None => return Ok(()),
        Some(TextFormat::Mac) => (text.parse::<Mac>().is_ok(), "a MAC address"),
        Some(TextFormat::Ipv4) => (text.parse::<Ipv4Addr>().is_ok(), "an IPv4 address"),
        Some(TextFormat::Ipv6) => (text.parse::<Ipv6Addr>().is_ok(), "an IPv6 address"),
        Some(TextFormat::Hex) => (hex_digits(text).is_some(), "hexadecimal"),
    };
    if good { Ok(()) } else { Err(format!("'{text}' is not {what}")) }
}

/// A whole number, also as a string, like 64-bit numbers in protobuf's JSON.
pub(crate) fn whole(value: &Value) -> Option<i128> {
    match value {
        Value::Number(number) => {
            let exact = number.as_u64().map(i128::from).or_else(|| number.as_i64().map(i128::from));
            exact
                .or_else(|| number.as_f64().filter(|n| n.fract() == 0.0 && n.abs() < 1e15).map(|n| n as i128))
        }
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// The digits of `0x00ff`, `00ff` or `00:ff 11`.
pub(crate) fn hex_digits(text: &str) -> Option<String> {
    let text = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let digits: String = text.chars().filter(|c| !matches!(c, ' ' | ':')).collect();
    digits.bytes().all(|b| b.is_ascii_hexdigit()).then_some(digits)
}

/// The bytes of hexadecimal digits; an odd number of digits is padded with a leading zero.
pub(crate) fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    let digits = hex_digits(text)?;
    let digits = if digits.len() % 2 == 1 { format!("0{digits}") } else { digits };
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::message;
    use serde_json::json;

    #[test]
    fn reports_all_errors_with_their_paths() {
        let config = json!({
            "ports": [{"location": "ring:a"}],
            "layer1": [{"name": "l", "port_names": ["p"], "speed": "warp_9"}],
            "flows": [{
                "name": 7,
                "tx_rx": {"choice": "port", "port": {"tx_name": "p", "colour": 1}},
                "packet": [
                    {"choice": "udp", "udp": {"src_port": {"value": 70000}}},
                    {"choice": "ethernet", "ethernet": {"dst": {"value": "zz:00"}}},
                ],
                "rate": {"pps": "12x", "percentage": 120},
                "metrics": {"enable": "yes"},
            }],
        });
        let wanted = [
            "ports[0].name: is required",
            "layer1[0].speed: 'warp_9' is not one of speed_10_fd_mbps, ",
            "flows[0].name: 7 is not a string",
            "flows[0].tx_rx.port.colour: unknown field",
            "flows[0].packet[0].udp.src_port.value: 70000 is above 65535",
            "flows[0].packet[1].ethernet.dst.value: 'zz:00' is not a MAC address",
            "flows[0].rate.pps: \"12x\" is not a whole number",
            "flows[0].rate.percentage: 120 is above 100",
            "flows[0].metrics.enable: \"yes\" is not a boolean",
        ];
        let found = check(&config, message("Config"));
        assert_eq!(found.len(), wanted.len(), "{found:#?}");
        for (found, wanted) in found.iter().zip(wanted) {
            assert!(found.starts_with(wanted), "{found} is not {wanted}");
        }
    }

    #[test]
    fn accepts_64_bit_numbers_and_strings() {
        for pps in [json!(5), json!("18446744073709551615"), json!(5.0)] {
            let flow = json!({"flows": [{"name": "f", "tx_rx": {}, "rate": {"pps": pps}}]});
            assert_eq!(check(&flow, message("Config")), Vec::<String>::new());
        }
    }

    #[test]
    fn reads_digits() {
        assert_eq!(hex_bytes("0x0fF"), Some(vec![0x00, 0xff]));
        assert_eq!(hex_bytes("00:ff 10"), Some(vec![0, 0xff, 0x10]));
        assert_eq!(hex_bytes("xy"), None);
    }
}
