//! Runs a lab's test as a command in one of its namespaces.

use crate::design::{self, Test, TestCommand};
use crate::folder::Lab;
use crate::process::MARK;
use crate::topology::LabPaths;
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
    paths: LabPaths,
    cores: Option<String>,
}

impl ChosenTest {
    /// The command line that runs it, with `more` arguments. For a method's test, a first argument without a dash replaces
    /// the method.
    pub fn words(&self, program: &Path, more: &[OsString]) -> Vec<OsString> {
        let mut words: Vec<OsString> =
            ["ip", "netns", "exec", &self.namespace].into_iter().map(OsString::from).collect();
        words.extend(self.cores.iter().flat_map(|cores| ["taskset", "-c", cores]).map(OsString::from));
        let file = |name: &str| self.paths.folder().join(name).into_os_string();
        match &self.test.command {
            TestCommand::Profile(profile) => words.extend([program.into(), "run".into(), file(profile)]),
            TestCommand::Method { method, profile, settings, tags } => {
                let (other, rest) = other_method(more);
                // The settings are those of the test's own method.
                let settings = if other.is_none() { settings.as_slice() } else { &[] };
                let method = other.unwrap_or(OsStr::new(method)).to_owned();
                words.extend([program.into(), "bench".into(), method, file(profile)]);
                settings.iter().for_each(|setting| words.extend(["--set".into(), setting.into()]));
                tags.iter().for_each(|tag| words.extend(["--tag".into(), tag.into()]));
                words.extend_from_slice(rest);
                return words;
            }
            TestCommand::Program(command) => words.extend(command.iter().map(OsString::from)),
        }
        words.extend_from_slice(more);
        words
    }
}

/// The method that the arguments start with, if any, and the other arguments.
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
    let paths = LabPaths::named(&lab.name)?;
    let test = design::test_by_name(&lab.tests, &lab.name, name)?.clone();
    Ok(ChosenTest { namespace: paths.namespace(&test.role), test, paths, cores: lab.tester_cores.clone() })
}

/// The command that runs a test in its namespace: `binary bench METHOD PROFILE`, `binary run PROFILE`, or the test's
/// own, with `more` arguments.
pub fn test_command(test: &ChosenTest, binary: &Path, more: &[OsString]) -> Command {
    let words = test.words(binary, more);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    // `down` finds the process by this mark.
    command.env(MARK, test.paths.name()).env("PATH", needs::search_path());
    command
}
