//! Broken profiles and the exact words of their errors: each `broken/*.yaml` has a `.txt` of the same name.
//!
//! After a deliberate change of words, run with `UPDATE_GOLDEN=1` and read the difference.

#![allow(clippy::disallowed_methods)]

use std::fs;
use std::path::{Path, PathBuf};

fn profiles() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "yaml")).collect();
    paths.sort();
    paths
}

#[test]
fn every_broken_profile_says_what_is_wrong() {
    let profiles = profiles();
    assert!(profiles.len() >= 20, "only {} broken profiles found", profiles.len());
    let mut failed = Vec::new();
    for path in profiles {
        let text = fs::read_to_string(&path).unwrap();
        let beside =
            |name: &str| fs::read(path.with_file_name(name)).map_err(|error| format!("'{name}': {error}"));
        let loaded = profile::load_with(&text, &profile::Overrides::default(), &beside);
        let errors = loaded.expect_err(&format!("{} loads", path.display()));
        let said: String = errors.iter().map(|error| format!("{error}\n")).collect();
        let golden = path.with_extension("txt");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&golden, &said).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        if said != expected {
            failed.push(format!("{}\nexpected:\n{expected}\nsaid:\n{said}", path.display()));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
