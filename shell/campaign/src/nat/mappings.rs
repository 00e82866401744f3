//! The file of mappings: a line of JSON for each connection that was opened, in the order of opening.

use crate::CampaignError;
use nat::Mapping;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A file that trials append their mappings to.
pub struct MappingFile {
    path: PathBuf,
    file: Mutex<BufWriter<File>>,
}

impl MappingFile {
    /// Makes the file; one that is there is written over.
    ///
    /// # Errors
    /// It can't be made.
    pub fn create(path: &Path) -> Result<Self, CampaignError> {
        let refused = |error: std::io::Error| CampaignError::Captured(format!("{}: {error}", path.display()));
        let file = Mutex::new(BufWriter::new(File::create(path).map_err(refused)?));
        Ok(Self { path: path.to_owned(), file })
    }

    pub(super) fn append(&self, mappings: &[Mapping]) -> Result<(), CampaignError> {
        let refused = |error: &dyn std::fmt::Display| {
            CampaignError::Captured(format!("{}: {error}", self.path.display()))
        };
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        for mapping in mappings {
            serde_json::to_writer(&mut *file, mapping).map_err(|error| refused(&error))?;
            file.write_all(b"\n").map_err(|error| refused(&error))?;
        }
        // Whoever compares may do so while the next trial runs.
        file.flush().map_err(|error| refused(&error))
    }
}
