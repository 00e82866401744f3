//! From a profile in a request to a Plan.

use crate::budget::Budget;
use crate::fault::{Fault, places};
use crate::jobs::lock;
use crate::profile_store::ProfileStore;
use agent::Seals;
use api::{Check, CheckedPort};
use profile::{Overrides, Plan, ProfileError};
use serde_json::Value;
use std::sync::Mutex;

/// A requested profile.
pub(crate) struct Written {
    pub(crate) text: String,
    /// Name, if it is a stored one.
    pub(crate) name: Option<String>,
}

impl Written {
    /// The profile of a request: given itself or by name.
    pub(crate) fn find(
        profile: Option<&Value>,
        name: Option<&str>,
        profiles: &ProfileStore,
    ) -> Result<Self, Fault> {
        match (profile, name) {
            (Some(profile), None) => Ok(Self { text: text(profile)?, name: None }),
            (None, Some(name)) => Ok(Self { text: profiles.text(name)?, name: Some(name.to_owned()) }),
            _ => Err(Fault::value("profile", "expected either 'profile' or 'profile_name'")),
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
        _ => Err(Fault::value("profile", "expected YAML or JSON text, or an object")),
    }
}

/// A secret id.
pub(crate) fn secret() -> String {
    format!("{:016x}{:016x}", os::entropy::bits(), os::entropy::bits())
}

/// One profile at a time is made a Plan, so that the memory it may take is there.
static PLANNING: Mutex<()> = Mutex::new(());
/// Inverse share of the free memory that a Plan may use. A run on it needs several times as much.
const MEMORY_SHARE: u64 = 8;
/// Profiles of fewer bytes and streams take too little memory to give it back.
const SMALL_BYTES: usize = 64 << 10;
const SMALL_STREAMS: usize = 1_000;

/// The plan, or all errors. `seals` remembers the files it names.
pub(crate) fn plan(
    text: &str,
    overrides: &Overrides,
    profiles: &ProfileStore,
    budget: &Budget,
    seals: &Seals,
) -> Result<Plan, Vec<ProfileError>> {
    let _alone = lock(&PLANNING);
    let memory_bytes = Some(budget.free() / MEMORY_SHARE);
    let files = |name: &str| profiles.file(name).inspect(|bytes| seals.note(name, bytes));
    profile::load_with(text, &Overrides { memory_bytes, ..*overrides }, &files)
}

/// Gives memory back to the system when it is dropped, after what was made of a profile: the allocator keeps it otherwise.
pub(crate) struct GivesBack {
    is_due: bool,
}

impl GivesBack {
    /// After a failure: the memory used by a profile with errors is unknown.
    pub(crate) fn after_refusal() -> Self {
        Self { is_due: true }
    }

    /// The profile's plan remains in use, or was too small to matter.
    pub(crate) fn is_not_due(&mut self) {
        self.is_due = false;
    }
}

impl Drop for GivesBack {
    fn drop(&mut self) {
        if self.is_due {
            os::memory::give_back();
        }
    }
}

/// The plan of a profile that is only checked, or all errors.
fn look<T>(
    text: &str,
    profiles: &ProfileStore,
    budget: &Budget,
    found: impl FnOnce(Result<Plan, Vec<ProfileError>>) -> T,
) -> T {
    let mut rest = GivesBack::after_refusal();
    let overrides = Overrides { default_seed: 1, ..Overrides::default() };
    let planned = plan(text, &overrides, profiles, budget, &Seals::default());
    if text.len() < SMALL_BYTES && planned.as_ref().is_ok_and(|plan| plan.streams.len() < SMALL_STREAMS) {
        rest.is_not_due();
    }
    found(planned)
}

/// Whether a profile is fit to be stored.
pub(crate) fn refuse_broken(text: &str, profiles: &ProfileStore, budget: &Budget) -> Result<(), Fault> {
    look(text, profiles, budget, |planned| planned.map(drop).map_err(|errors| Fault::profile(&errors)))
}

/// Checks a profile.
pub(crate) fn check(text: &str, profiles: &ProfileStore, budget: &Budget) -> Check {
    look(text, profiles, budget, checked)
}

fn checked(planned: Result<Plan, Vec<ProfileError>>) -> Check {
    let nothing = Check {
        good: false,
        streams: 0,
        sessions: 0,
        ports: Vec::new(),
        duration_s: None,
        warnings: Vec::new(),
        errors: Vec::new(),
    };
    match planned {
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
