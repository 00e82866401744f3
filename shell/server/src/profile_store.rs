//! Stored profiles, built-in examples, and the files that profiles refer to.

use crate::fault::Fault;
use rust_embed::RustEmbed;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The examples.
#[derive(RustEmbed)]
#[folder = "../../examples"]
struct Examples;

/// Maximum length of a profile's name.
const NAME_MAX: usize = 64;

/// Folders of profiles and of their files.
#[derive(Debug, Clone)]
pub(crate) struct ProfileStore {
    profiles: PathBuf,
    files: PathBuf,
}

/// The folder of stored profiles.
pub(crate) fn folder(state: &Path) -> PathBuf {
    state.join("profiles")
}

/// Refuses names that could leave the folder.
fn checked(name: &str) -> Result<&str, Fault> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !name.is_empty() && name.len() <= NAME_MAX && !name.starts_with('.') && name.chars().all(plain) {
        return Ok(name);
    }
    Err(Fault::value(
        "name",
        format!("expected at most {NAME_MAX} letters, digits, '-', '_' or '.', not starting with '.'"),
    ))
}

impl ProfileStore {
    /// Profiles are in the folder `profiles` of `state`, the files they refer to in `files`.
    pub(crate) fn new(state: &Path) -> std::io::Result<Self> {
        let profiles = Self { profiles: folder(state), files: state.join("files") };
        fs::create_dir_all(&profiles.profiles)?;
        fs::create_dir_all(&profiles.files)?;
        Ok(profiles)
    }

    fn path(&self, name: &str) -> Result<PathBuf, Fault> {
        Ok(self.profiles.join(format!("{}.yaml", checked(name)?)))
    }

    /// The text of a profile.
    pub(crate) fn text(&self, name: &str) -> Result<String, Fault> {
        match fs::read_to_string(self.path(name)?) {
            Ok(text) => Ok(text),
            Err(error) if error.kind() == ErrorKind::NotFound => example(&format!("{name}.yaml"))
                .and_then(|bytes| String::from_utf8(bytes).ok())
                .ok_or_else(|| self.unknown(name)),
            Err(error) => Err(Fault::machine(format!("profile '{name}': {error}"))),
        }
    }

    /// Stores a profile.
    pub(crate) fn put(&self, name: &str, text: &str) -> Result<(), Fault> {
        let (path, failed) = (self.path(name)?, |error| Fault::machine(format!("profile '{name}': {error}")));
        os::draft::replace(&path, text).map_err(failed)
    }

    /// Deletes a profile.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Fault> {
        match fs::remove_file(self.path(name)?) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(Fault::machine(format!("profile '{name}': {error}")))
            }
            Err(_) if example(&format!("{name}.yaml")).is_some() => {
                Err(Fault::conflict(format!("'{name}' is a built-in example and cannot be deleted")))
            }
            Err(_) => Err(self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> Fault {
        let all = self.list().unwrap_or_default();
        let like = spelling::did_you_mean(name, all.iter().map(|entry| entry.name.as_str()));
        Fault::not_found(format!("no profile '{name}'{like}"))
    }

    /// All profiles by name; a stored one hides the example of the same name.
    pub(crate) fn list(&self) -> Result<Vec<api::ProfileEntry>, Fault> {
        let failed = |error: std::io::Error| Fault::machine(format!("profiles: {error}"));
        let mut all = Vec::new();
        for file in fs::read_dir(&self.profiles).map_err(failed)?.flatten() {
            let path = file.path();
            let Some(name) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
            if path.extension().is_none_or(|extension| extension != "yaml") || checked(name).is_err() {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap_or_default();
            let changed =
                file.metadata().and_then(|about| about.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
            all.push(api::ProfileEntry {
                name: name.to_owned(),
                about: about(&text),
                built_in: false,
                changed: Some(humantime::format_rfc3339_millis(changed).to_string()),
            });
        }
        for file in Examples::iter().filter(|file| is_example(file)) {
            let Some(name) = file.strip_suffix(".yaml") else { continue };
            if all.iter().any(|entry: &api::ProfileEntry| entry.name == name) {
                continue;
            }
            let text = example(&file).and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
            let name = name.to_owned();
            all.push(api::ProfileEntry { name, about: about(&text), built_in: true, changed: None });
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    /// A file that a profile refers to, from the server's folder or the examples; no other file is read.
    pub(crate) fn file(&self, name: &str) -> Result<Vec<u8>, String> {
        file(&self.files, name)
    }

    /// The folder of files that profiles refer to.
    pub(crate) fn folder(&self) -> &Path {
        &self.files
    }
}

/// A file that a profile refers to, from the folder of a server or the examples.
pub(crate) fn file(folder: &Path, name: &str) -> Result<Vec<u8>, String> {
    let is_plain = Path::new(name).components().all(|part| matches!(part, std::path::Component::Normal(_)));
    if !is_plain {
        return Err(format!(
            "'{name}': the server reads files from its own folder only: use a relative path without '..'"
        ));
    }
    match os::memory::read_file(&folder.join(name), profile::FILE_MAX) {
        Ok(bytes) => Ok(bytes),
        Err(error) => example(name)
            .ok_or_else(|| format!("'{name}' in the folder {} of the server: {error}", folder.display())),
    }
}

/// Whether it is a profile or a capture; folders of the examples have other things.
fn is_example(file: &str) -> bool {
    !file.contains('/') && (file.ends_with(".yaml") || file.ends_with(".pcap"))
}

fn example(file: &str) -> Option<Vec<u8>> {
    Examples::get(file).filter(|_| is_example(file)).map(|file| file.data.into_owned())
}

/// The first line of a profile's comment.
fn about(text: &str) -> String {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    first.strip_prefix('#').unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that is removed with it.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            Self(std::env::temp_dir().join(format!("eagre-profiles-{}-{name}", std::process::id())))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn names_lead_nowhere_else() {
        let folder = Scratch::new("names");
        let profiles = ProfileStore::new(&folder.0).unwrap();
        for name in ["../x", "a/b", "", ".hidden", "ä", &"x".repeat(65)] {
            assert_eq!(profiles.text(name).unwrap_err().status(), 422, "{name}");
        }
        for name in ["/etc/passwd", "../../etc/passwd", "a/../../b"] {
            assert!(profiles.file(name).unwrap_err().contains("own folder"), "{name}");
        }
    }

    #[test]
    fn kept_profiles_come_back() {
        let folder = Scratch::new("kept");
        let profiles = ProfileStore::new(&folder.0).unwrap();
        profiles.put("mine", "# what it does\nports: {}\n").unwrap();
        assert_eq!(profiles.text("mine").unwrap(), "# what it does\nports: {}\n");
        let entry = profiles.list().unwrap().into_iter().find(|entry| entry.name == "mine").unwrap();
        assert_eq!((entry.about.as_str(), entry.built_in), ("what it does", false));
        profiles.remove("mine").unwrap();
        assert_eq!(profiles.remove("mine").unwrap_err().status(), 404);
        assert_eq!(profiles.remove("demo").unwrap_err().status(), 409);
        assert!(profiles.text("demo").unwrap().contains("ring:a"));
    }
}
