//! A document that is printed reads back as the equal document.

// Tests read files.
#![allow(clippy::disallowed_methods)]

use profile::document::Document;
use std::path::Path;

fn read(text: &str) -> Document {
    profile::read_document(text).unwrap_or_else(|errors| panic!("{text}\n{errors:?}"))
}

#[test]
fn every_example_reads_back_as_it_was_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut examples = 0;
    for folder in ["examples", "bench/profiles"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "yaml") {
                continue;
            }
            let document = read(&std::fs::read_to_string(&path).unwrap());
            let yaml = document.to_yaml();
            assert_eq!(read(&yaml), document, "{}:\n{yaml}", path.display());
            let json = serde_json::to_string(&document).unwrap();
            assert_eq!(read(&json), document, "{}:\n{json}", path.display());
            assert!(!json.contains(":null"), "{}:\n{json}", path.display());
            examples += 1;
        }
    }
    assert!(examples >= 50, "only {examples} examples found");
}

/// A value equal to its default is not printed.
#[test]
fn a_small_profile_stays_small() {
    let text = "ports:\n  a: {device: veth0, ip: 10.0.0.1/24}\nstreams:\n  - {name: s, from: a, packet: [udp], rate: max}\n";
    assert_eq!(
        read(text).to_yaml(),
        text.replace(
            "{name: s, from: a, packet: [udp], rate: max}",
            "name: s\n    from: a\n    packet: [udp]\n    rate: max"
        )
    );
}
