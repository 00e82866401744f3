//! The schema matches the types, and docs/reference.md the schema and the catalogue.
//!
//! After a deliberate change of one of them, run with `UPDATE_GOLDEN=1` and read the difference.

#![allow(clippy::disallowed_methods)]

use profile::document::Document;
use profile::{GENOME, MIXES};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use wire::{Auto, BY_LENGTH, Field, Found, Kind, Protocol};

const INTRODUCTION: &str = "\
# Reference

Every key and value of a profile. This page is generated from the program's schema and protocol catalogue (by the test \
`reference` of the crate `profile`); `eagre schema profile` prints the JSON Schema. The [cookbook](cookbook.md) has \
answers by task, and [sessions](sessions.md) explains sessions.

- [Profile](#profile): every key of the document
- [Value formats](#value-formats): rates, times, sizes and addresses
- [Frame lengths](#frame-lengths): mixes and genomes by name
- [Headers](#headers): every protocol and its fields
";

#[test]
fn the_schema_is_up_to_date() {
    let text = format!("{:#}\n", profile::document_schema::<Document>());
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema.json");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, &text).unwrap();
    }
    let found = std::fs::read_to_string(&golden).unwrap();
    assert!(text == found, "schema.json is out of date; run with UPDATE_GOLDEN=1");
}

#[test]
fn the_reference_is_up_to_date() {
    let schema = &profile::document_schema::<Document>();
    let mut page = INTRODUCTION.to_owned();
    page += &profile_section(schema);
    page += &formats_section(schema);
    page += &lengths_section();
    page += &headers_section();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference.md");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, &page).unwrap();
    }
    let found = std::fs::read_to_string(&golden).unwrap_or_default();
    let differs = page.lines().zip(found.lines()).position(|(expected, found)| expected != found);
    assert!(
        page == found,
        "docs/reference.md is out of date from line {}; run with UPDATE_GOLDEN=1",
        differs.unwrap_or_else(|| page.lines().count().min(found.lines().count())) + 1
    );
}

// The document.

fn profile_section(schema: &Value) -> String {
    let definitions = schema["$defs"].as_object().unwrap();
    let mut page = format!("\n## Profile\n\n{}\n", description(schema));
    page += &keys(schema, definitions);
    for (name, definition) in definitions {
        write!(page, "\n### {name}\n\n{}\n", description(definition)).unwrap();
        page += &shapes(definition, definitions);
    }
    page
}

/// The table of an object's keys, or the ways something can be written.
fn shapes(schema: &Value, definitions: &Map<String, Value>) -> String {
    match branches(schema) {
        None => keys(schema, definitions),
        Some(branches) => {
            let tables = branches.iter().map(|branch| keys(branch, definitions));
            let written = format!("\nWritten as {}.\n", kind(schema));
            tables.fold(written, |page, table| page + &table)
        }
    }
}

/// The table of an object's keys. The catalogue's headers have a separate section.
fn keys(schema: &Value, definitions: &Map<String, Value>) -> String {
    let Some(properties) = schema["properties"].as_object() else { return String::new() };
    let required =
        |key: &str| schema["required"].as_array().is_some_and(|keys| keys.iter().any(|k| k == key));
    let mut page = "\n| key | value | default | meaning |\n|---|---|---|---|\n".to_owned();
    let elsewhere = |key: &str| is_a_header(schema) && wire::protocol(key).is_some();
    for (key, property) in properties.iter().filter(|(key, _)| !elsewhere(key)) {
        let default = match property.get("default") {
            Some(default) => default_of(default),
            None if required(key) => "**required**".to_owned(),
            None => String::new(),
        };
        let meaning = match definition(property).filter(|_| property.get("description").is_none()) {
            Some(name) => description(&definitions[name]),
            None => description(property),
        };
        let meaning = cell(&meaning);
        writeln!(page, "| `{key}` | {} | {default} | {meaning} |", cell(&kind(property))).unwrap();
    }
    page
}

fn default_of(default: &Value) -> String {
    match default {
        Value::String(text) => format!("`{text}`"),
        // What is in it has defaults of its own.
        Value::Object(_) | Value::Null => String::new(),
        other => format!("`{other}`"),
    }
}

/// Type of a value, in a few words.
fn kind(schema: &Value) -> String {
    if let Some(name) = definition(schema) {
        return link(name);
    }
    if let Some(word) = schema["const"].as_str() {
        return format!("`{word}`");
    }
    if let Some(branches) = branches(schema) {
        return branches.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    if let Some(words) = schema["enum"].as_array() {
        let protocols = words.len() == wire::protocols::ALL.len();
        let words: Vec<String> =
            words.iter().filter_map(Value::as_str).map(|word| format!("`{word}`")).collect();
        return if protocols { "the name of a [header](#headers)".to_owned() } else { words.join(" or ") };
    }
    if let (Some(format), Some(_)) = (schema["format"].as_str(), schema["type"].as_array()) {
        return format!("[{format}](#value-formats)");
    }
    if let Some(types) = schema["type"].as_array() {
        return types.iter().filter_map(Value::as_str).map(type_name).collect::<Vec<_>>().join(" or ");
    }
    if let Some(format) = schema["format"].as_str().filter(|_| schema["type"] == "string") {
        return format!("[{format}](#value-formats)");
    }
    match schema["type"].as_str() {
        Some("array") => format!("list of {}", kind(&schema["items"])),
        Some("integer") => range(schema),
        Some("object") => mapping(schema),
        Some(name) => type_name(name).to_owned(),
        None => String::new(),
    }
}

fn mapping(schema: &Value) -> String {
    let keys = schema["propertyNames"]["format"].as_str();
    match (&schema["additionalProperties"], keys) {
        (Value::Object(_), Some(keys)) => {
            format!("mapping from [{keys}](#value-formats) to {}", kind(&schema["additionalProperties"]))
        }
        (Value::Object(_), None) => format!("mapping to {}", kind(&schema["additionalProperties"])),
        _ if schema["required"].as_array().is_some_and(|keys| keys.len() == 1) => {
            format!("`{{{}: …}}`", schema["required"][0].as_str().unwrap_or_default())
        }
        _ if is_a_header(schema) => {
            "a mapping with one [header](#headers) and its fields, or with one of the keys below".to_owned()
        }
        _ => "a mapping".to_owned(),
    }
}

/// The name of a referenced definition.
fn definition(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

/// Whether the keys are the catalogue's headers.
fn is_a_header(schema: &Value) -> bool {
    schema["x-noun"] == "header"
}

fn range(schema: &Value) -> String {
    match (schema["minimum"].as_i64().unwrap_or(0), schema["maximum"].as_i64()) {
        (0, None) => "number".to_owned(),
        (least, None) => format!("number from {least}"),
        (least, Some(most)) => format!("number from {least} to {most}"),
    }
}

fn type_name(name: &str) -> &str {
    match name {
        "boolean" => "`true` or `false`",
        "integer" => "number",
        "string" => "text",
        other => other,
    }
}

fn branches(schema: &Value) -> Option<&Vec<Value>> {
    schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array)
}

fn link(name: &str) -> String {
    format!("[{name}](#{})", name.to_lowercase())
}

fn description(schema: &Value) -> String {
    // Paragraphs have become two spaces.
    schema["description"].as_str().unwrap_or_default().replace("  ", " ")
}

/// Text for a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Formats and what is written in them, found wherever the schema uses them.
fn formats_section(schema: &Value) -> String {
    fn collect<'a>(schema: &'a Value, formats: &mut BTreeMap<&'a str, Vec<&'a str>>) {
        match schema {
            Value::Object(map) => {
                if let (Some(format), Some(examples)) =
                    (named(map), map.get("examples").and_then(Value::as_array))
                {
                    formats.insert(format, examples.iter().filter_map(Value::as_str).collect());
                }
                map.values().for_each(|value| collect(value, formats));
            }
            Value::Array(list) => list.iter().for_each(|value| collect(value, formats)),
            _ => {}
        }
    }
    fn named(map: &Map<String, Value>) -> Option<&str> {
        map.get("format").and_then(Value::as_str)
    }
    let mut formats = BTreeMap::new();
    collect(schema, &mut formats);
    let mut page = "\n## Value formats\n\n| format | examples |\n|---|---|\n".to_owned();
    for (format, examples) in formats {
        let examples: Vec<String> = examples.iter().map(|example| format!("`{example}`")).collect();
        writeln!(page, "| {format} | {} |", examples.join(", ")).unwrap();
    }
    page
}

fn lengths_section() -> String {
    let mut page =
        "\n## Frame lengths\n\nBytes with FCS. A length too short for its packet becomes the shortest that \
        holds it. A mix is evenly mixed; with `random` after its name, its lengths are drawn at random.\n\n\
        | mix | from | length: weight |\n|---|---|---|\n"
            .to_owned();
    for mix in MIXES {
        let lengths: Vec<String> =
            mix.lengths.iter().map(|(bytes, weight)| format!("{bytes}: {weight}")).collect();
        writeln!(page, "| `{}` | {} | {} |", mix.name, mix.source, lengths.join(", ")).unwrap();
    }
    page += "\nA genome (RFC 6985) is a sequence of letters, used in turn: `genome abceg`. Define capital letters and `z` \
        after it: `genome aAz A=200B z=1400B`.\n\n| letter | length |\n|---|---|\n";
    for (letter, bytes) in GENOME {
        writeln!(page, "| `{letter}` | {bytes} |").unwrap();
    }
    page
}

// The catalogue.

fn headers_section() -> String {
    let mut page = "\n## Headers\n\n\
        `packet` lists headers from the outermost inwards; `vary` names a field as `udp.dst`, the second of two VLAN \
        tags as `vlan[1].id`, and a field inside a tunnel as `vxlan.inner.ipv4.src`. A *computed* field is correct by \
        default; a value you set stays, even a wrong one. Options and optional fields are headers of their own, \
        written after the header they are part of.\n"
        .to_owned();
    let (parts, wholes): (Vec<&Protocol>, Vec<&Protocol>) =
        wire::protocols::ALL.iter().copied().partition(|protocol| protocol.part.is_some());
    let mut told: Vec<&str> = Vec::new();
    for whole in wholes {
        write!(page, "\n### {}\n\n{} ({}).{}\n", whole.name, whole.title, whole.source, place(whole))
            .unwrap();
        page += &fields(whole);
        // A part of several headers is described behind the first of them.
        for part in parts_within(&parts, whole) {
            if told.contains(&part.name) {
                continue;
            }
            told.push(part.name);
            write!(page, "\n#### {}\n\n{} ({}).{}\n", part.name, part.title, part.source, place(part))
                .unwrap();
            page += &fields(part);
        }
    }
    let untold: Vec<&str> = parts.iter().map(|part| part.name).filter(|name| !told.contains(name)).collect();
    assert!(untold.is_empty(), "parts of nothing: {untold:?}");
    page
}

/// Parts of `whole`, each followed by its own parts.
fn parts_within<'a>(parts: &[&'a Protocol], whole: &Protocol) -> Vec<&'a Protocol> {
    let own = parts.iter().filter(|part| part.is_part_of(whole) && part.name != whole.name);
    own.flat_map(|part| std::iter::once(*part).chain(parts_within(parts, part))).collect()
}

/// Valid positions of a header, and its requirements there.
fn place(protocol: &Protocol) -> String {
    let mut said = String::new();
    let links = |names: Vec<&'static str>| names.into_iter().map(link).collect::<Vec<_>>().join(", ");
    match &protocol.part {
        Some(part) => {
            let when = match part.found {
                Found::ByFlag(flags) => format!(", while it has {}", flags.join(" or ")),
                Found::ByCount { field, .. } => format!(", counted in {field}"),
                Found::ByKind => String::new(),
                Found::ByKindLast => ", the last one".to_owned(),
            };
            write!(said, " Part of {}{when}.", links(part.of.to_vec())).unwrap();
        }
        None if protocol.anywhere => said += " Can be anywhere.",
        None if !protocol.follows.is_empty() => {
            write!(said, " Follows {}.", numbers(protocol)).unwrap();
            if let Some(number) = protocol.first_of_several {
                write!(said, " The first of several in a row has {number:#x}.").unwrap();
            }
        }
        None => {}
    }
    for (header, field, value) in protocol.needs {
        let printed = wire::protocol(header).and_then(|p| p.field(field)).map(|f| f.print(*value));
        write!(said, " Sets `{header}.{field}` to {}.", printed.unwrap_or_else(|| value.to_string()))
            .unwrap();
    }
    said
}

/// `ipv4 (17), ipv6 (17)`.
fn numbers(protocol: &Protocol) -> String {
    let names = protocol.goes_behind();
    let each = names.iter().map(|name| {
        let outer = wire::protocol(name);
        let field = outer.and_then(Protocol::next_field);
        let of_outer = protocol.follows.iter().filter(|(outer, _)| outer == name);
        let numbers: Vec<String> = of_outer
            .map(|(_, number)| match field {
                _ if *number == BY_LENGTH => "a length".to_owned(),
                Some(field) => field.print(u128::from(*number)),
                None if *number == 0 => String::new(),
                None => number.to_string(),
            })
            .filter(|number| !number.is_empty())
            .collect();
        if numbers.is_empty() { link(name) } else { format!("{} ({})", link(name), numbers.join(", ")) }
    });
    each.collect::<Vec<_>>().join(", ")
}

fn fields(protocol: &Protocol) -> String {
    if protocol.fields.is_empty() && protocol.variable.is_none() {
        return String::new();
    }
    let mut page = "\n| field | bits | value | default | meaning |\n|---|---|---|---|---|\n".to_owned();
    for field in protocol.fields {
        let (width, default) = (field.width, default_or_computed(field));
        writeln!(
            page,
            "| `{}` | {width} | {} | {default} | {} |",
            field.name,
            written(field),
            cell(field.doc)
        )
        .unwrap();
    }
    if let Some(variable) = &protocol.variable {
        let (kind, default) = (variable.expected(), variable.print(variable.default));
        let default = if default.is_empty() { default } else { format!("`{default}`") };
        writeln!(page, "| `{}` | any | {kind} | {default} | {} |", variable.name, cell(variable.doc))
            .unwrap();
    }
    page
}

fn default_or_computed(field: &Field) -> String {
    match field.auto {
        Auto::Default => format!("`{}`", field.print(field.default)),
        Auto::NextProtocol => "computed: what follows".to_owned(),
        Auto::LengthWithHeader | Auto::LengthBehindHeader => "computed: length".to_owned(),
        Auto::Count { .. } => "computed: count".to_owned(),
        Auto::HeaderChecksum | Auto::PseudoHeaderChecksum { .. } | Auto::PlainChecksum => {
            "computed: checksum".to_owned()
        }
        Auto::Crc32c => "computed: CRC-32C".to_owned(),
    }
}

fn written(field: &Field) -> &'static str {
    match field.kind {
        Kind::Number => "number",
        Kind::Hex => "hexadecimal",
        Kind::Mac => "MAC address",
        Kind::Ipv4 => "IPv4 address",
        Kind::Ipv6 => "IPv6 address",
    }
}
