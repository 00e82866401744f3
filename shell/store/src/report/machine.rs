//! Where it was measured, and how to do it again.

use super::tables::{doctor, leaves, pairs};
use crate::Loaded;
use maud::{Markup, html};
use serde_json::Value;

/// A profile of more lines is folded up on the screen; in print it is whole.
const LINES_MAX: usize = 60;

/// The machine, its doctor's findings, and the clock that stamped the packets.
pub(super) fn environment(loaded: &Loaded) -> Option<Markup> {
    let facts = facts(loaded);
    let facts = pairs("Machine and clock", &facts);
    let findings = loaded.campaign.environment["doctor"].as_array().and_then(|all| doctor(all));
    (facts.is_some() || findings.is_some()).then(|| {
        html! {
            @if let Some(facts) = facts { (facts) }
            @if let Some(findings) = findings { (findings) }
        }
    })
}

/// Names and values of everything known about the machine but the doctor's findings.
pub(super) fn facts(loaded: &Loaded) -> Vec<(String, String)> {
    let mut environment = loaded.campaign.environment.clone();
    if let Some(object) = environment.as_object_mut() {
        object.remove("doctor");
    }
    let mut all = if environment.is_object() { leaves(&environment, 4) } else { Vec::new() };
    let Some(last) = loaded.results.last() else { return all };
    let known = ["clock", "timestamp_class", "self_latency_ns", "field_programs", "workers"];
    let about: serde_json::Map<String, Value> =
        known.iter().filter_map(|key| Some(((*key).to_owned(), last.get(*key)?.clone()))).collect();
    all.extend(leaves(&Value::Object(about), 2));
    all
}

/// Command, seed, version and profile.
pub(super) fn reproduce(loaded: &Loaded) -> Markup {
    let campaign = &loaded.campaign;
    let folded = campaign.profile.lines().count() > LINES_MAX;
    let config = Some(&campaign.config).filter(|config| !config.is_null());
    let config = config.and_then(|config| serde_json::to_string_pretty(config).ok());
    let id = campaign.id.as_str();
    html! {
        ol {
            @if !campaign.profile.is_empty() { li { "Save the profile below under the name in the command." } }
            @if !campaign.command.is_empty() { li { "Run " code { (campaign.command) } } }
            li { "Use version " code { (campaign.version) } " and seed " code { (campaign.seed) }
                ": a seed, a profile and a version give the same packets." }
            @if !campaign.profile_sha256.is_empty() {
                li { "The SHA-256 of the profile is " code { (campaign.profile_sha256) } }
            }
            @if !id.is_empty() {
                li { "Compare both: " code { "eagre results compare " (id) " latest" } }
            }
        }
        @if let Some(config) = config {
            h3 { "Settings of the method" }
            pre tabindex="0" { code { (config) } }
        }
        @if !campaign.profile.is_empty() {
            details open[!folded] {
                summary { "The profile" }
                pre tabindex="0" { code { (campaign.profile) } }
            }
        }
    }
}
