//! How a lab is tested: a command inside one of its namespaces.

use crate::design::{self, Test, Way};
use crate::folder::Lab;
use crate::process::MARK;
use crate::topology::Place;
use crate::{LabError, needs};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

/// A test of a lab that is up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenTest {
    /// The test.
    pub test: Test,
    /// Full name of the namespace it runs in.
    pub namespace: String,
    place: Place,
}

impl ChosenTest {
    /// The words of the command that runs it, with `more` arguments. Of a method's test the first of them, if it has no
    /// dash, is another method.
    pub fn words(&self, program: &Path, more: &[OsString]) -> Vec<OsString> {
        let mut words: Vec<OsString> =
            ["ip", "netns", "exec", &self.namespace].into_iter().map(OsString::from).collect();
        let file = |name: &str| self.place.folder().join(name).into_os_string();
        match &self.test.way {
            Way::Profile(profile) => words.extend([program.into(), "run".into(), file(profile)]),
            Way::Method { method, profile, tags } => {
                let (other, rest) = other_method(more);
                let method = other.unwrap_or(OsStr::new(method)).to_owned();
                words.extend([program.into(), "bench".into(), method, file(profile)]);
                tags.iter().for_each(|tag| words.extend(["--tag".into(), tag.into()]));
                words.extend_from_slice(rest);
                return words;
            }
            Way::Command(command) => words.extend(command.iter().map(OsString::from)),
        }
        words.extend_from_slice(more);
        words
    }
}

/// The method that arguments begin with, if they do, and the other arguments.
fn other_method(more: &[OsString]) -> (Option<&OsStr>, &[OsString]) {
    match more.split_first() {
        Some((first, rest)) if !first.to_string_lossy().starts_with('-') => (Some(first), rest),
        _ => (None, more),
    }
}

/// A lab's test by name, or its first.
///
/// # Errors
///
/// If the lab has no such test.
pub fn chosen_test(lab: &Lab, name: Option<&str>) -> Result<ChosenTest, LabError> {
    let place = Place::named(&lab.name)?;
    let test = design::test_by_name(&lab.tests, &lab.name, name)?.clone();
    Ok(ChosenTest { namespace: place.namespace(&test.role), test, place })
}

/// The command that carries out a test, in its namespace: `binary bench METHOD PROFILE`, `binary run PROFILE`, or the test's
/// own, with `more` arguments.
pub fn test_command(test: &ChosenTest, binary: &Path, more: &[OsString]) -> Command {
    let words = test.words(binary, more);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    // So that `down` finds it when nobody is left to end it.
    command.env(MARK, test.place.name()).env("PATH", needs::search_path());
    command
}
