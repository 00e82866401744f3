//! The catalogue is what the serialized documents have: every number, nothing else, read as it is written.

#![allow(clippy::disallowed_methods)]

use result::{Field, IntervalDocument, Key, Numbers, ResultDocument, Segment, Unit, fields};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// Stands for any key or place.
const ANY: &str = "*";

/// The catalogue's path with any key for each key.
fn path(field: &Field) -> String {
    let step = |segment: &Segment| match segment {
        Segment::Name(name) => *name,
        Segment::Key(_) => ANY,
    };
    field.segments.iter().map(step).collect::<Vec<_>>().join(".")
}

/// Resolves `schema`: itself, the schema it refers to, or the inner schema of an option.
fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    if let Some(name) = schema["$ref"].as_str() {
        return resolved(root, &root["$defs"][name.trim_start_matches("#/$defs/")]);
    }
    let some = schema["anyOf"].as_array().into_iter().flatten().find(|one| one["type"] != "null");
    some.map_or(schema, |some| resolved(root, some))
}

/// The paths of numbers and flags in what `schema` describes.
fn leaves(root: &Value, schema: &Value, at: &str, all: &mut BTreeSet<String>) {
    let schema = resolved(root, schema);
    let below = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    let is = |kind: &str| {
        schema["type"] == kind
            || schema["type"].as_array().is_some_and(|kinds| kinds.iter().any(|k| k == kind))
    };
    if is("integer") || is("number") || is("boolean") {
        all.insert(at.to_owned());
    }
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        leaves(root, schema, &below(name), all);
    }
    for inner in ["additionalProperties", "items"] {
        if schema[inner].is_object() {
            leaves(root, &schema[inner], &below(ANY), all);
        }
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        leaves(root, part, at, all);
    }
}

fn is_exhaustive<T: Numbers>(schema: &Value) {
    let mut written = BTreeSet::new();
    leaves(schema, schema, "", &mut written);
    let catalogue: BTreeSet<String> = fields::<T>().iter().map(path).collect();
    assert_eq!(catalogue, written);
}

/// After a deliberate change of a document, run with `UPDATE_GOLDEN=1` and read the difference.
#[test]
fn the_schemas_are_up_to_date() {
    let documents = [
        ("result", result::schema_of::<ResultDocument>(), result::RESULT_SCHEMA_TEXT),
        ("interval", result::schema_of::<IntervalDocument>(), result::INTERVAL_SCHEMA_TEXT),
    ];
    for (name, schema, found) in documents {
        let text = format!("{schema:#}\n");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("{name}.schema.json"));
            std::fs::write(golden, text).unwrap();
        } else {
            assert!(text == found, "{name}.schema.json is out of date; run with UPDATE_GOLDEN=1");
        }
    }
}

#[test]
fn every_number_of_the_schema_is_in_the_catalogue() {
    is_exhaustive::<ResultDocument>(&result::schema_of::<ResultDocument>());
    is_exhaustive::<IntervalDocument>(&result::schema_of::<IntervalDocument>());
}

#[test]
fn every_number_says_what_it_means() {
    for field in fields::<ResultDocument>() {
        assert!(!field.about.trim().is_empty(), "{field} has no description");
    }
}

#[test]
fn the_suffix_of_a_name_is_its_unit() {
    for field in fields::<ResultDocument>() {
        let mut names = field.segments.iter().filter_map(|segment| match segment {
            Segment::Name(name) => Some(*name),
            Segment::Key(_) => None,
        });
        let unit = names.clone().rev().find_map(|name| match name.rsplit('_').next() {
            _ if name.ends_with("_per_s") => Some(Unit::SessionRate),
            _ if name.contains("_bps_") => Some(Unit::BitRate),
            Some("pps") => Some(Unit::PacketRate),
            Some("ratio") => Some(Unit::Ratio),
            Some("bytes") => Some(Unit::Bytes),
            Some("ppm") => Some(Unit::Ppm),
            Some("ns") => Some(Unit::Nanos),
            Some("s") => Some(Unit::Seconds),
            _ => None,
        });
        let counts_samples = names.next_back() == Some("samples");
        assert!(
            unit.is_none_or(|unit| unit == field.unit || counts_samples),
            "{field} is in {:?}",
            field.unit
        );
    }
}

/// A document with every field of `schema`, each number different, names with dots and lists of two.
fn sample(root: &Value, schema: &Value, next: &mut u64) -> Value {
    let schema = resolved(root, schema);
    let kind = schema["type"].as_array().map_or(&schema["type"], |kinds| &kinds[0]);
    match kind.as_str() {
        Some("integer" | "number") => {
            *next += 1;
            json!(*next)
        }
        Some("boolean") => json!(true),
        Some("array") => json!([sample(root, &schema["items"], next), sample(root, &schema["items"], next)]),
        Some("object") => {
            let mut all = Map::new();
            for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
                all.insert(name.clone(), sample(root, schema, next));
            }
            if schema["additionalProperties"].is_object() {
                for name in ["a", "a.b"] {
                    all.insert(name.to_owned(), sample(root, &schema["additionalProperties"], next));
                }
            }
            Value::Object(all)
        }
        _ => json!("text"),
    }
}

/// Numbers and flags of a document by path.
fn numbers(value: &Value, at: &str, all: &mut Vec<(String, f64)>) {
    let below = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    match value {
        Value::Number(number) => all.push((at.to_owned(), number.as_f64().unwrap())),
        Value::Bool(flag) => all.push((at.to_owned(), f64::from(*flag))),
        Value::Object(parts) => parts.iter().for_each(|(name, part)| numbers(part, &below(name), all)),
        Value::Array(parts) => {
            parts.iter().enumerate().for_each(|(index, part)| numbers(part, &below(&index.to_string()), all));
        }
        Value::Null | Value::String(_) => {}
    }
}

fn reads_what_is_written<T: Numbers + Serialize + DeserializeOwned>(schema: &Value) {
    let document: T = serde_json::from_value(sample(schema, schema, &mut 0)).unwrap();
    let mut written = Vec::new();
    numbers(&serde_json::to_value(&document).unwrap(), "", &mut written);
    assert!(written.len() > 400, "{}", written.len());
    for (path, number) in written {
        assert_eq!(document.number(&path), Some(number), "{path}");
    }
}

#[test]
fn a_number_is_read_where_it_is_written() {
    reads_what_is_written::<ResultDocument>(&result::schema_of::<ResultDocument>());
    reads_what_is_written::<IntervalDocument>(&result::schema_of::<IntervalDocument>());
}

#[test]
fn a_counter_that_is_absent_is_zero_and_what_was_not_measured_is_none() {
    let document: ResultDocument = serde_json::from_value(
        json!({"sessions": {"web": {"failed": {"reset": 2}}}, "streams": {"s": {"tx": 1}}}),
    )
    .unwrap();
    let number = |path| document.number(path);
    assert_eq!(
        (number("sessions.web.failed.reset"), number("sessions.web.failed.refused")),
        (Some(2.0), Some(0.0))
    );
    assert_eq!((number("streams.s.rx"), number("streams.s.latency_ns.p50")), (None, None));
    assert_eq!((number("streams.none.tx"), number("streams"), number("")), (None, None, None));
    assert_eq!((number("sessions.web.failed"), number("sessions.web.client.failed.reset")), (None, None));
}

#[test]
fn every_key_has_a_placeholder() {
    let keys: BTreeSet<Key> = fields::<ResultDocument>()
        .iter()
        .flat_map(|field| field.segments.clone())
        .filter_map(|segment| match segment {
            Segment::Key(key) => Some(key),
            Segment::Name(_) => None,
        })
        .collect();
    assert!(keys.len() > 8 && keys.iter().all(|key| key.placeholder().starts_with('<')));
}
