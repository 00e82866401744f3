//! A lab's name, and the names of its folder, files and namespaces.

use crate::LabError;
use crate::folder::ROOT;
use std::path::{Path, PathBuf};

/// A lab's name, folder and namespace names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabPaths {
    name: String,
    folder: PathBuf,
}

/// Prefix of every lab's namespaces. A dot, which no lab name contains, separates name and role.
const NAMESPACE: &str = "eagre-lab-";

impl LabPaths {
    /// The paths of the lab with this name.
    ///
    /// # Errors
    ///
    /// If the name is not valid.
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

    /// Its folder, with state, profiles, sockets and logs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of a file in its folder, as text.
    pub(crate) fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// Full name of a namespace.
    pub fn namespace(&self, role: &str) -> String {
        format!("{NAMESPACE}{}.{role}", self.name)
    }

    /// The lab that a namespace belongs to.
    pub(crate) fn lab_of(namespace: &str) -> Option<String> {
        namespace.strip_prefix(NAMESPACE)?.split_once('.').map(|(name, _)| name.to_owned())
    }
}
