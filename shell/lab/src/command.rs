//! How a lab is tested: a command inside one of its namespaces.

use crate::design::{self, Test};
use crate::folder::Lab;
use crate::process::MARK;
use crate::topology::Place;
use crate::{LabError, needs};
use std::ffi::OsString;
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
    /// What to type to run it: the words of a command.
    pub fn words(&self, program: &str) -> Vec<String> {
        let mut words = ["ip", "netns", "exec", &self.namespace].map(str::to_owned).to_vec();
        match &self.test.profile {
            Some(file) => {
                words.extend([program.to_owned(), "run".to_owned()]);
                words.push(self.place.folder().join(file).display().to_string());
            }
            None => words.extend(self.test.command.clone()),
        }
        words
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

/// The command that carries out a test: `binary run PROFILE`, or the test's own, with `more` arguments, in the tester's
/// namespace. What tests labs differently, such as a whole RFC 2544 campaign, takes this one's place.
pub fn test_command(test: &ChosenTest, binary: &Path, more: &[OsString]) -> Command {
    let words = test.words(&binary.display().to_string());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(more);
    // So that `down` finds it when nobody is left to end it.
    command.env(MARK, test.place.name()).env("PATH", needs::search_path());
    command
}
