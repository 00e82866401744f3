//! The document users write, resolved into a [`Plan`].
//!
//! The text (YAML or JSON) becomes a tree in which every value knows its line; the tree is read against the JSON Schema
//! of the document, which is generated from the structs the document deserialises into; then names, defaults and
//! everything a schema can't express are resolved. Each step continues after an error where it can.
//!
//! Not here: files, ports, time.
//!
//! Invariant: a Plan has nothing left to guess, and a bad profile yields all its errors at once, each with line, path
//! and what was expected.

#![forbid(unsafe_code)]

mod condition;
pub mod document;
mod error;
mod fit;
mod flags;
mod frr;
mod leases;
pub mod plan;
mod protocols;
mod read;
mod resolve;
mod yaml;

pub use document::{GENOME, MIXES, Mix};
pub use document::{SCHEMA_TEXT, schema};
pub use error::ProfileError;
pub use flags::{HttpOptions, HttpTls, ListenOptions, ReplayOptions, SendOptions, Transport};
pub use plan::Plan;
pub use resolve::group_mac;
pub use session::plan::HttpVersion;

use document::Document;
use error::Position;
use read::Places;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use units::{Load, Nanos};

/// Settings of the command line that override the profile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Rate of every stream, each by itself: two streams at `1Mpps` send 2 Mpps together. Of a stream with copies,
    /// the rate of each copy. Sessions have no rate of packets.
    pub rate: Option<Load>,
    /// Rate of streams that have none, which is an error otherwise.
    pub default_rate: Option<Load>,
    /// Duration of traffic.
    pub duration: Option<Nanos>,
    /// Behaviour of workers while nothing is due.
    pub polling: Option<plan::Polling>,
    /// The seed.
    pub seed: Option<u64>,
    /// The seed if neither [`Overrides::seed`] nor the profile gives one: this crate has no source of randomness.
    pub default_seed: u64,
    /// Number of the first mark of streams with `measure: mark`: lower marks belong to the plan that streams are added
    /// to.
    pub first_mark: u16,
    /// Memory the Plan may take; `None`: no limit. A profile that needs more is refused before it is taken.
    pub memory_bytes: Option<u64>,
}

/// Maximum size of a file named in a profile, bytes: the caller checks its length before reading it.
pub const FILE_MAX: u64 = protocols::FILE_MAX;

/// Reads a file named in a profile, or returns the reason of a failure: this crate opens no files.
pub type Files<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// The plan of a profile that names no files, or everything that is wrong with it, in the order of lines.
pub fn load(text: &str) -> Result<Plan, Vec<ProfileError>> {
    load_with(text, &Overrides::default(), &|name| Err(format!("the file '{name}' can't be read here")))
}

/// The plan of a profile with some of it overridden, or everything that is wrong, in the order of lines.
pub fn load_with(text: &str, overrides: &Overrides, files: Files<'_>) -> Result<Plan, Vec<ProfileError>> {
    plan(text, overrides, files).map_err(|mut errors| {
        errors.sort_by_key(|error| (error.line, error.column));
        errors
    })
}

/// The plan of a profile that a program made, or everything that is wrong with it. Errors have paths, and no lines. The hash of the
/// profile is that of its JSON.
pub fn resolve_document(
    document: &Document,
    overrides: &Overrides,
    files: Files<'_>,
) -> Result<Plan, Vec<ProfileError>> {
    let value = document.to_value();
    // It has no places.
    plan_of(yaml::Node::from(&value), Places::Outside, sha256(&value.to_string()), overrides, files)
}

/// Most profiles are right, and places in the text are for errors: those inside of streams are found only if something is wrong there.
fn plan(text: &str, overrides: &Overrides, files: Files<'_>) -> Result<Plan, Vec<ProfileError>> {
    let parsed = || yaml::parse(text).map_err(|error| vec![error]);
    let sha256 = sha256(text);
    let errors = match plan_of(parsed()?, Places::Outside, sha256.clone(), overrides, files) {
        Err(errors) if errors.iter().any(|error| Places::Outside.leaves_out(&error.path)) => errors,
        plan => return plan,
    };
    // There can be very many.
    drop(errors);
    plan_of(parsed()?, Places::All, sha256, overrides, files)
}

fn plan_of(
    tree: yaml::Node,
    places: Places,
    sha256: String,
    overrides: &Overrides,
    files: Files<'_>,
) -> Result<Plan, Vec<ProfileError>> {
    let (value, mut reading) = read::read(&tree, schema(), places);
    // Of a profile with many streams it is large, and what comes next needs memory, too.
    drop(tree);
    let Some(value) = value else { return Err(reading.errors) };
    match serde_json::from_value::<Document>(value) {
        Ok(document) => resolve::resolve(&document, reading, sha256, overrides, files),
        Err(error) => {
            // The reader lets nothing pass that does not deserialise: if this is ever seen, schema and structs disagree.
            let reason = format!("internal error, please report it: {error}");
            reading.errors.push(ProfileError::new(Position::START, "", reason));
            Err(reading.errors)
        }
    }
}

/// Reads a document, YAML or JSON, against the schema of `T`: the one reader of the project, for profiles, campaigns,
/// paths and the server's files. A text with a special syntax has one of the project's `format`s such as `duration`.
/// Returns all errors together, each with line and path.
pub fn read_document<T: JsonSchema + DeserializeOwned>(text: &str) -> Result<T, Vec<ProfileError>> {
    let tree = yaml::parse(text).map_err(|error| vec![error])?;
    let (value, mut reading) = read::read(&tree, &document::schema_of::<T>(), Places::All);
    match value.filter(|_| reading.errors.is_empty()).map(serde_json::from_value) {
        Some(Ok(document)) => Ok(document),
        Some(Err(error)) => Err(vec![ProfileError::new(Position::START, "", error.to_string())]),
        None => {
            reading.errors.sort_by_key(|error| (error.line, error.column));
            Err(reading.errors)
        }
    }
}

/// JSON Schema of a document that [`read_document`] reads.
pub fn document_schema<T: JsonSchema>() -> serde_json::Value {
    document::schema_of::<T>()
}

/// SHA-256 of the text, lower-case hexadecimal.
fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
