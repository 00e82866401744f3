//! Output files and JSON schemas.

use crate::args::{Common, SchemaOf};
use crate::{Exit, Failure};
use result::{IntervalDocument, ResultDocument};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Output files of a run, opened before traffic starts so that a bad path is reported first.
pub(crate) struct Sinks {
    results: Vec<(PathBuf, File)>,
    to_stdout: bool,
    lines: Vec<(PathBuf, BufWriter<File>)>,
    /// Why an interval could not be written; then no more are.
    lost: Option<Failure>,
}

fn create(path: &Path) -> Result<(PathBuf, File), Failure> {
    let file = File::create(path).map_err(|e| Failure::bad_input(format!("{}: {e}", path.display())))?;
    Ok((path.to_owned(), file))
}

fn lost(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::refused(format!("{}: {error}", path.display()))
}

/// Whether standard output is reserved for JSON.
pub(crate) fn is_stdout(common: &Common) -> bool {
    common.json.as_deref() == Some(Path::new("-"))
}

impl Sinks {
    /// Opens the files `common` names; with `--out` also writes the profile's `text`.
    pub(crate) fn open(common: &Common, text: &str) -> Result<Self, Failure> {
        let mut sinks =
            Self { results: Vec::new(), to_stdout: is_stdout(common), lines: Vec::new(), lost: None };
        if let Some(path) = common.json.as_deref().filter(|_| !sinks.to_stdout) {
            sinks.results.push(create(path)?);
        }
        if let Some(path) = &common.jsonl {
            sinks.lines.push(create(path).map(|(path, file)| (path, BufWriter::new(file)))?);
        }
        if let Some(dir) = &common.out {
            std::fs::create_dir_all(dir)
                .map_err(|e| Failure::bad_input(format!("{}: {e}", dir.display())))?;
            let (path, mut file) = create(&dir.join("profile.yaml"))?;
            file.write_all(text.as_bytes()).map_err(|e| lost(&path, &e))?;
            sinks.results.push(create(&dir.join("result.json"))?);
            sinks
                .lines
                .push(create(&dir.join("intervals.jsonl")).map(|(path, file)| (path, BufWriter::new(file)))?);
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
        for (path, file) in &mut self.lines {
            let written = serde_json::to_writer(&mut *file, document).map_err(std::io::Error::from);
            let written = written.and_then(|()| file.write_all(b"\n")).and_then(|()| file.flush());
            written.map_err(|e| lost(path, &e))?;
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
        for (path, mut file) in self.results {
            file.write_all(text.as_bytes()).map_err(|e| lost(&path, &e))?;
        }
        if self.to_stdout {
            print!("{text}");
        }
        self.lost.map_or(Ok(()), |lost| {
            Err(Failure { text: format!("{}; interval output stopped", lost.text), ..lost })
        })
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
