//! Profiles: checked, kept, listed.

use crate::Place;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::{ObjectBuilder, OneOfBuilder, Schema, Type};

/// A profile in a request: its text, or the document itself.
pub(crate) fn written() -> Schema {
    let text = ObjectBuilder::new().schema_type(Type::String).description(Some("YAML or JSON text"));
    let document = ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some("The document: 'eagre schema profile'"));
    OneOfBuilder::new().item(text).item(document).into()
}

/// A profile to be checked.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewCheck {
    /// YAML or JSON text, or the document itself.
    #[schema(schema_with = written)]
    pub profile: Value,
}

/// What a profile is, or what is wrong with it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Check {
    /// Whether it can be run.
    pub good: bool,
    /// Number of streams.
    pub streams: usize,
    /// Number of entries under 'sessions'.
    pub sessions: usize,
    /// Its ports.
    pub ports: Vec<CheckedPort>,
    /// How long it sends, s.
    pub duration_s: Option<f64>,
    /// What is odd.
    pub warnings: Vec<String>,
    /// What is wrong.
    pub errors: Vec<Place>,
}

/// A port of a profile.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct CheckedPort {
    /// Its name in the profile.
    pub name: String,
    /// Its device.
    pub device: String,
}

/// A profile in the list.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ProfileEntry {
    /// Its name.
    pub name: String,
    /// The first line of its comment.
    pub about: String,
    /// Whether it came with the program.
    pub built_in: bool,
    /// When it was kept.
    pub changed: Option<String>,
}

/// A profile to be kept.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewProfile {
    /// YAML or JSON text, or the document itself.
    #[schema(schema_with = written)]
    pub profile: Value,
}

/// A profile that is kept.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct StoredProfile {
    /// Its name.
    pub name: String,
    /// Its text.
    pub profile: String,
}
