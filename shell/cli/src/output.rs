//! Output files and JSON schemas.

use crate::args::{Common, SchemaOf};
use crate::{Exit, Failure};
use os::Draft;
use result::{IntervalDocument, ResultDocument};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Output files of a run, drafted before traffic starts so that a bad path is reported first. They get their names at the end:
/// a run that is refused, fails or is killed leaves earlier files as they were. Only `--jsonl` has its name from the first
/// interval on, for readers that follow it.
pub(crate) struct Sinks {
    results: Vec<NewFile>,
    to_stdout: bool,
    lines: Vec<Lines>,
    /// The profile's file, and its text.
    profile: Option<(NewFile, String)>,
    /// Why an interval could not be written; then no more are.
    lost: Option<Failure>,
    /// Last: it goes after the files in it.
    _folder: Option<NewFolder>,
}

/// A file in the making.
struct NewFile {
    path: PathBuf,
    draft: Draft,
}

impl NewFile {
    fn create(path: &Path) -> Result<Self, Failure> {
        let draft =
            Draft::create(path).map_err(|e| Failure::bad_input(format!("{}: {e}", path.display())))?;
        Ok(Self { path: path.to_owned(), draft })
    }

    fn write(mut self, text: &str) -> Result<(), Failure> {
        let written = self.draft.write_all(text.as_bytes()).and_then(|()| self.draft.commit());
        written.map_err(|e| lost(&self.path, &e))
    }
}

/// A file of intervals.
struct Lines {
    path: PathBuf,
    file: BufWriter<Draft>,
    /// Whether others may read it while it grows.
    is_followed: bool,
}

impl Lines {
    fn create(path: &Path, is_followed: bool) -> Result<Self, Failure> {
        let NewFile { path, draft } = NewFile::create(path)?;
        Ok(Self { path, file: BufWriter::new(draft), is_followed })
    }

    fn write(&mut self, document: &IntervalDocument) -> std::io::Result<()> {
        serde_json::to_writer(&mut self.file, document)?;
        self.file.write_all(b"\n")?;
        self.file.flush()?;
        if self.is_followed { self.file.get_mut().publish() } else { Ok(()) }
    }

    fn finish(self) -> Result<(), Failure> {
        let file = self.file.into_inner().map_err(std::io::IntoInnerError::into_error);
        file.and_then(Draft::commit).map_err(|e| lost(&self.path, &e))
    }
}

/// A folder that is removed if nothing is put into it.
struct NewFolder(PathBuf);

impl Drop for NewFolder {
    fn drop(&mut self) {
        // Fails if it is not empty.
        let _ = std::fs::remove_dir(&self.0);
    }
}

fn lost(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::refused(format!("{}: {error}", path.display()))
}

/// Whether standard output is reserved for JSON.
pub(crate) fn is_stdout(common: &Common) -> bool {
    common.json.as_deref() == Some(Path::new("-"))
}

impl Sinks {
    /// Drafts the files `common` names; `text` is the profile's.
    pub(crate) fn open(common: &Common, text: &str) -> Result<Self, Failure> {
        let mut sinks = Self {
            results: Vec::new(),
            to_stdout: is_stdout(common),
            lines: Vec::new(),
            profile: None,
            lost: None,
            _folder: None,
        };
        if let Some(path) = common.json.as_deref().filter(|_| !sinks.to_stdout) {
            sinks.results.push(NewFile::create(path)?);
        }
        if let Some(path) = &common.jsonl {
            sinks.lines.push(Lines::create(path, true)?);
        }
        if let Some(dir) = &common.out {
            std::fs::create_dir_all(dir)
                .map_err(|e| Failure::bad_input(format!("{}: {e}", dir.display())))?;
            sinks._folder = Some(NewFolder(dir.clone()));
            sinks.profile = Some((NewFile::create(&dir.join("profile.yaml"))?, text.to_owned()));
            sinks.results.push(NewFile::create(&dir.join("result.json"))?);
            sinks.lines.push(Lines::create(&dir.join("intervals.jsonl"), false)?);
        }
        Ok(sinks)
    }

    /// Whether interval output is enabled.
    pub(crate) fn wants_intervals(&self) -> bool {
        !self.lines.is_empty() && self.lost.is_none()
    }

    /// Writes one interval line. If that fails, the run goes on and [`Sinks::result`] fails.
    pub(crate) fn interval(&mut self, document: &IntervalDocument) {
        self.lost = self.lost.take().or(self.line(document).err());
    }

    fn line(&mut self, document: &IntervalDocument) -> Result<(), Failure> {
        for lines in &mut self.lines {
            lines.write(document).map_err(|e| lost(&lines.path, &e))?;
        }
        Ok(())
    }

    /// Writes the result.
    ///
    /// # Errors
    /// It, or an interval before it, could not be written.
    pub(crate) fn result(self, document: &ResultDocument) -> Result<(), Failure> {
        let mut text = serde_json::to_string_pretty(document).map_err(|e| lost(Path::new("result"), &e))?;
        text.push('\n');
        for file in self.results {
            file.write(&text)?;
        }
        if let Some((file, profile)) = self.profile {
            file.write(&profile)?;
        }
        if self.to_stdout {
            print!("{text}");
        }
        if let Some(lost) = self.lost {
            return Err(Failure { text: format!("{}; interval output stopped", lost.text), ..lost });
        }
        self.lines.into_iter().try_for_each(Lines::finish)
    }
}

/// Prints a document as JSON.
pub(crate) fn print_json(value: &(impl serde::Serialize + ?Sized)) -> Result<Exit, Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Failure::refused(e.to_string()))?;
    println!("{text}");
    Ok(Exit::Done)
}

/// `eagre schema`.
pub(crate) fn schema(what: SchemaOf) -> Result<Exit, Failure> {
    let schema = match what {
        SchemaOf::Profile => profile::schema().clone(),
        SchemaOf::Result => result::schema(),
        SchemaOf::Interval => result::interval_schema(),
        SchemaOf::Campaign => campaign::document::schema(),
        SchemaOf::Script => crate::script::schema(),
        SchemaOf::Openapi => server::openapi(),
    };
    print_json(&schema)
}
