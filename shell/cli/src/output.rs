//! Output files and JSON schemas.

use crate::args::{RunArgs, SchemaOf};
use crate::verdicts::{VerdictFiles, suite_of_run};
use crate::{Exit, Failure, results, text};
use flate2::Compression;
use flate2::write::GzEncoder;
use os::Draft;
use result::{IntervalDocument, ResultDocument};
use serde_json::Value;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use store::{Loaded, report};

/// Intervals kept in memory for a report at most, and streams and sessions of such a run: charts show no more.
const KEPT_INTERVALS_MAX: usize = 4_000;
const KEPT_ROWS_MAX: usize = 64;

/// Output files of a run, drafted before traffic starts so that a bad path is reported first. They get their names at the end:
/// a run that is refused, fails or is killed leaves earlier files as they were. Only `--jsonl` has its name from the first
/// interval on, for readers that follow it.
pub(crate) struct Sinks {
    results: Vec<NewFile>,
    to_stdout: bool,
    lines: Vec<Lines>,
    verdicts: VerdictFiles,
    report: Option<ReportFile>,
    profile: Option<NewFile>,
    text: String,
    /// Why an interval could not be written; then no more are.
    lost: Option<Failure>,
    /// Last: it goes after the files in it.
    _folder: Option<NewFolder>,
}

/// A file in the making.
pub(crate) struct NewFile {
    path: PathBuf,
    draft: Draft,
}

impl NewFile {
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let draft =
            Draft::create(path).map_err(|e| Failure::bad_input(format!("{}: {e}", path.display())))?;
        Ok(Self { path: path.to_owned(), draft })
    }

    /// A copy of what the command reads, which may have been read from there.
    fn copy(path: &Path) -> Result<Self, Failure> {
        let draft = Draft::replacing(path, 0o666)
            .map_err(|e| Failure::bad_input(format!("{}: {e}", path.display())))?;
        Ok(Self { path: path.to_owned(), draft })
    }

    /// Writes a result as JSON.
    fn write_result(self, document: &ResultDocument) -> Result<(), Failure> {
        self.fill(|out| write_json(out, document))
    }

    /// Writes the whole file.
    pub(crate) fn write(self, text: &str) -> Result<(), Failure> {
        self.fill(|out| out.write_all(text.as_bytes()))
    }

    /// Gives the file its content, compressed if its name ends in .gz.
    fn fill(mut self, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<(), Failure> {
        let written = if text::is_compressed_name(&self.path) {
            // A result repeats the names of its numbers for each stream: more effort makes it hardly shorter.
            let mut packed = GzEncoder::new(&mut self.draft, Compression::fast());
            write(&mut packed).and_then(|()| packed.try_finish())
        } else {
            write(&mut self.draft)
        };
        written.and_then(|()| self.draft.commit()).map_err(|e| lost(&self.path, &e))
    }
}

/// Writes a result as lines of JSON, bit by bit: that of many streams is large.
fn write_json(out: impl Write, document: &ResultDocument) -> std::io::Result<()> {
    let mut out = BufWriter::new(out);
    let written = serde_json::to_writer_pretty(&mut out, document).map_err(std::io::Error::from);
    let written = written.and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
    // What a failed write has left is not tried again.
    let _ = out.into_parts();
    written
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

/// The report of a run, and the intervals its charts need.
struct ReportFile {
    file: NewFile,
    intervals: Vec<Value>,
}

fn lost(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::refused(format!("{}: {error}", path.display()))
}

/// Whether standard output is reserved for JSON.
pub(crate) fn is_stdout(run: &RunArgs) -> bool {
    run.json.as_deref() == Some(Path::new("-"))
}

impl Sinks {
    /// Drafts the files `run` names; `text` is the profile's.
    pub(crate) fn open(run: &RunArgs, text: &str) -> Result<Self, Failure> {
        let mut sinks = Self {
            results: Vec::new(),
            to_stdout: is_stdout(run),
            lines: Vec::new(),
            verdicts: VerdictFiles::open(&run.verdicts)?,
            report: None,
            profile: None,
            text: text.to_owned(),
            lost: None,
            _folder: None,
        };
        if let Some(path) = run.json.as_deref().filter(|_| !sinks.to_stdout) {
            sinks.results.push(NewFile::create(path)?);
        }
        if let Some(path) = &run.report {
            sinks.report = Some(ReportFile { file: NewFile::create(path)?, intervals: Vec::new() });
        }
        if let Some(path) = &run.jsonl {
            sinks.lines.push(Lines::create(path, true)?);
        }
        if let Some(dir) = &run.out {
            std::fs::create_dir_all(dir)
                .map_err(|e| Failure::bad_input(format!("{}: {e}", dir.display())))?;
            sinks._folder = Some(NewFolder(dir.clone()));
            sinks.profile = Some(NewFile::copy(&dir.join("profile.yaml"))?);
            sinks.results.push(NewFile::create(&dir.join("result.json"))?);
            sinks.lines.push(Lines::create(&dir.join("intervals.jsonl"), false)?);
        }
        Ok(sinks)
    }

    /// Whether interval output is enabled.
    pub(crate) fn wants_intervals(&self) -> bool {
        (!self.lines.is_empty() || self.report.is_some()) && self.lost.is_none()
    }

    /// Writes one interval line. If that fails, the run continues and [`Sinks::result`] fails.
    pub(crate) fn interval(&mut self, document: &IntervalDocument) {
        if let Some(report) = &mut self.report {
            report.keep(document);
        }
        self.lost = self.lost.take().or(self.line(document).err());
    }

    fn line(&mut self, document: &IntervalDocument) -> Result<(), Failure> {
        for lines in &mut self.lines {
            lines.write(document).map_err(|e| lost(&lines.path, &e))?;
        }
        Ok(())
    }

    /// Writes the result. `name` is what reports and verdicts call the run. A file that can't be written keeps none of the
    /// others from being written.
    ///
    /// # Errors
    /// It, or an interval before it, could not be written: the first that failed.
    pub(crate) fn result(self, document: &ResultDocument, name: &str) -> Result<(), Failure> {
        let mut ended: Vec<Result<(), Failure>> =
            self.results.into_iter().map(|file| file.write_result(document)).collect();
        ended.extend(self.profile.map(|file| file.write(&self.text)));
        ended.extend(self.report.map(|report| report.write(document, name, self.text)));
        ended.push(self.verdicts.write(vec![suite_of_run(name, document)]));
        if self.to_stdout {
            let text = serde_json::to_string_pretty(document);
            ended.push(text.map(|text| println!("{text}")).map_err(|e| lost(Path::new("result"), &e)));
        }
        match self.lost {
            Some(lost) => {
                ended.push(Err(Failure { text: format!("{}; interval output stopped", lost.text), ..lost }))
            }
            None => ended.extend(self.lines.into_iter().map(Lines::finish)),
        }
        ended.into_iter().collect()
    }
}

impl ReportFile {
    /// Keeps an interval for the charts; of long runs, the first ones only.
    fn keep(&mut self, document: &IntervalDocument) {
        let is_small = document.streams.len() + document.sessions.len() <= KEPT_ROWS_MAX;
        if is_small && self.intervals.len() < KEPT_INTERVALS_MAX {
            self.intervals.extend(serde_json::to_value(document));
        }
    }

    fn write(self, document: &ResultDocument, name: &str, profile: String) -> Result<(), Failure> {
        let result = serde_json::to_value(document).map_err(|e| lost(&self.file.path, &e))?;
        let about = results::about_run(document, name, profile, crate::bench::now());
        self.file.write(&report::campaign(&Loaded::single(about, result, self.intervals)))
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
    let text = match what {
        SchemaOf::Profile => profile::SCHEMA_TEXT,
        SchemaOf::Result => result::RESULT_SCHEMA_TEXT,
        SchemaOf::Interval => result::INTERVAL_SCHEMA_TEXT,
        SchemaOf::Campaign => return print_json(&campaign::document::schema()),
        SchemaOf::Script => return print_json(&crate::script::schema()),
        SchemaOf::Openapi => server::OPENAPI,
    };
    print!("{text}");
    Ok(Exit::Done)
}
