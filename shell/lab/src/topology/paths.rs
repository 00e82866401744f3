//! Where a lab is: the names of all that belongs to it.

use crate::LabError;
use crate::folder::ROOT;
use std::path::{Path, PathBuf};

/// Where a lab is: its name, its folder, the names of its namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    name: String,
    folder: PathBuf,
}

/// Every lab's namespaces begin with it. A dot, which no lab's name has, separates name and role.
const NAMESPACE: &str = "eagre-lab-";

impl Place {
    /// The place of the lab of this name.
    ///
    /// # Errors
    ///
    /// If it can't be a lab's name.
    pub fn named(name: &str) -> Result<Self, LabError> {
        let possible = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.len() > 40 || !name.chars().all(possible) || name.starts_with('-') {
            return Err(LabError::BadName(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), folder: Path::new(ROOT).join(format!("lab-{name}")) })
    }

    /// The lab's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its folder: state, profiles, sockets, logs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A file of its folder, as text.
    pub(crate) fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// Full name of a namespace.
    pub fn namespace(&self, role: &str) -> String {
        format!("{NAMESPACE}{}.{role}", self.name)
    }

    /// Which lab a namespace belongs to.
    pub(crate) fn lab_of(namespace: &str) -> Option<String> {
        namespace.strip_prefix(NAMESPACE)?.split_once('.').map(|(name, _)| name.to_owned())
    }
}
