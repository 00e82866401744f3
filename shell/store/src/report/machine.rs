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

/// Kind of file named by a word of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileKind {
    Profile,
    /// Of an option: its name.
    Of(&'static str),
}

/// Options whose files the command needs.
const FILE_OPTIONS: [&str; 2] = ["--settings", "--path"];

/// The files that a command reads, as it names them.
fn files(command: &str) -> Vec<(FileKind, &str)> {
    let words: Vec<&str> = command.split_whitespace().map(|word| word.trim_matches(['\'', '"'])).collect();
    let is_document = |word: &str| [".yaml", ".yml", ".json"].iter().any(|end| word.ends_with(end));
    let kind = |index: usize| match index.checked_sub(1).map(|before| words[before]) {
        Some(option) if option.starts_with('-') && option != "--" => {
            FILE_OPTIONS.iter().find(|known| **known == option).map(|known| FileKind::Of(known))
        }
        _ => Some(FileKind::Profile),
    };
    let named = words.iter().enumerate().filter(|(_, word)| is_document(word));
    named.filter_map(|(index, word)| Some((kind(index)?, *word))).collect()
}

/// The file's name without its folder, which may be gone.
fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a document has secrets that were not kept.
fn hides(document: &Value) -> bool {
    match document {
        Value::Object(keys) => {
            keys.iter().any(|(key, value)| ["community", "password"].contains(&key.as_str()) || hides(value))
        }
        Value::Array(items) => items.iter().any(hides),
        _ => false,
    }
}

/// Command, seed, version and profile: steps that work where nothing but this page and the store is left.
pub(super) fn reproduce(loaded: &Loaded) -> Markup {
    let campaign = &loaded.campaign;
    let folded = campaign.profile.lines().count() > LINES_MAX;
    let config = Some(&campaign.config).filter(|config| !config.is_null());
    let config = config.and_then(|config| serde_json::to_string_pretty(config).ok());
    let id = campaign.id.as_str();
    let files = files(&campaign.command);
    let command =
        files.iter().fold(campaign.command.clone(), |text, (_, path)| text.replace(path, base(path)));
    let profile = files.iter().find(|(kind, _)| *kind == FileKind::Profile).map(|(_, path)| base(path));
    html! {
        ol {
            @if let Some(profile) = profile.filter(|_| !campaign.profile.is_empty()) {
                @if id.is_empty() {
                    li { "Save the profile below as " code { (profile) } }
                } @else {
                    li { "Write the profile to a file: " code { "eagre results profile " (id) " -o " (profile) } }
                }
            }
            @for (kind, path) in &files {
                @match kind {
                    FileKind::Of("--settings") if config.is_some() => {
                        li { "Save the settings below as " code { (base(path)) } }
                    }
                    FileKind::Of("--path") if campaign.config["path_document"].is_object() && !id.is_empty() => {
                        li { "Write the document of the path to a file: "
                            code { "eagre results profile " (id) " --path -o " (base(path)) }
                            @if hides(&campaign.config["path_document"]) {
                                "; communities and passwords read " code { "hidden" } ": fill them in"
                            } }
                    }
                    FileKind::Of(option) => {
                        li { "Put " code { (base(path)) } " there, the file of " code { (option) }
                            ": the store does not have it." }
                    }
                    FileKind::Profile => {}
                }
            }
            @if !command.is_empty() { li { "Run " code { (command) } } }
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
            details { summary { "Settings of the method" } pre tabindex="0" { code { (config) } } }
        }
        @if !campaign.profile.is_empty() {
            details open[!folded] {
                summary { "The profile" }
                pre tabindex="0" { code { (campaign.profile) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_its_files() {
        let profile = |path| (FileKind::Profile, path);
        assert_eq!(files("eagre run profile.yaml --seed 7"), [profile("profile.yaml")]);
        let bench = "eagre bench rfc2544 '/tmp/a/p.yaml' --settings s.json --path hops.yaml --json out.json --store x.db";
        assert_eq!(
            files(bench),
            [
                profile("/tmp/a/p.yaml"),
                (FileKind::Of("--settings"), "s.json"),
                (FileKind::Of("--path"), "hops.yaml")
            ]
        );
        assert_eq!(files("eagre lab run kernel-router -- rfc2544"), []);
        assert_eq!(base("/tmp/a/p.yaml"), "p.yaml");
    }
}
