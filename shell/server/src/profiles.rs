//! From a profile in a request to a Plan.

use crate::fault::{Fault, places};
use crate::shelf::Shelf;
use api::{Check, CheckedPort};
use profile::{Overrides, Plan, ProfileError};
use serde_json::Value;

/// A profile somebody wants to run.
pub(crate) struct Written {
    pub(crate) text: String,
    /// Its name, if it is kept under one.
    pub(crate) name: Option<String>,
}

impl Written {
    /// What a request gives: a profile or the name of one.
    pub(crate) fn find(profile: Option<&Value>, name: Option<&str>, shelf: &Shelf) -> Result<Self, Fault> {
        match (profile, name) {
            (Some(profile), None) => Ok(Self { text: text(profile)?, name: None }),
            (None, Some(name)) => Ok(Self { text: shelf.text(name)?, name: Some(name.to_owned()) }),
            _ => Err(Fault::value("profile", "either 'profile' or 'profile_name' is expected")),
        }
    }
}

/// The text of a profile given as text or as the document itself.
pub(crate) fn text(profile: &Value) -> Result<String, Fault> {
    match profile {
        Value::String(text) => Ok(text.clone()),
        Value::Object(_) => {
            serde_json::to_string_pretty(profile).map_err(|e| Fault::value("profile", e.to_string()))
        }
        _ => Err(Fault::value("profile", "a YAML or JSON text, or an object, is expected")),
    }
}

/// A name nobody can guess.
pub(crate) fn secret() -> String {
    format!("{:016x}{:016x}", os::entropy::bits(), os::entropy::bits())
}

/// The Plan, or all that is wrong.
pub(crate) fn plan(text: &str, overrides: &Overrides, shelf: &Shelf) -> Result<Plan, Vec<ProfileError>> {
    profile::load_with(text, overrides, &|name| shelf.file(name))
}

/// What a profile is, or what is wrong with it.
pub(crate) fn check(text: &str, shelf: &Shelf) -> Check {
    let overrides = Overrides { default_seed: 1, ..Overrides::default() };
    let nothing = Check {
        good: false,
        streams: 0,
        sessions: 0,
        ports: Vec::new(),
        duration_s: None,
        warnings: Vec::new(),
        errors: Vec::new(),
    };
    match plan(text, &overrides, shelf) {
        Err(errors) => Check { errors: places(&errors), ..nothing },
        Ok(plan) => Check {
            good: true,
            streams: plan.streams.len(),
            sessions: plan.sessions.len(),
            ports: plan
                .ports
                .iter()
                .map(|port| CheckedPort { name: port.name.clone(), device: port.device.clone() })
                .collect(),
            duration_s: Some(plan.duration.as_secs_f64()),
            warnings: plan.warnings,
            ..nothing
        },
    }
}
