//! A profile of TRex as a document: JSON is read, everything else is loaded by Python in a separate process.

use super::facade;
use super::jail::Jail;
use crate::{Exit, Failure};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;
use trex::astf::Profile;
use trex::clients::{ClientsDoc, Groups};
use trex::document::{Document, Named, SCHEMA};

/// Time limit for a profile's code.
const TIME_MAX: Duration = Duration::from_secs(60);
/// Largest document.
const BYTES_MAX: u64 = 256 << 20;

/// Parameters for loading a profile.
pub(super) struct Request<'a> {
    pub file: &'a Path,
    pub ports: Vec<u8>,
    pub direction: Option<u8>,
    pub tunables: &'a [String],
    pub words: &'a [String],
    /// More to read for it.
    pub read: &'a [PathBuf],
    /// Whether packets of IPv4 become IPv6.
    pub ipv6: bool,
    /// Whether its code runs even if the kernel cannot confine it.
    pub unconfined: bool,
}

/// Loads a profile; `None` if it only printed its own help.
///
/// # Errors
/// The file, its code, or Python.
pub(super) fn load(request: &Request) -> Result<Option<Document>, Failure> {
    let name = request.file.display();
    if !request.file.is_file() {
        return Err(Failure::bad_input(format!("{name}: no such file")));
    }
    let suffix = request.file.extension().and_then(|suffix| suffix.to_str()).unwrap_or_default();
    let text = if suffix == "json" { read(request.file)? } else { python(request)? };
    if text.trim().is_empty() {
        return Ok(None);
    }
    let wrong = |error: serde_json::Error| Failure::bad_input(format!("{name}: {error}"));
    let document = if text.trim_start().starts_with('[') {
        let streams: Vec<Named> = serde_json::from_str(&text).map_err(wrong)?;
        let ports = request.ports.iter().map(|port| (*port, streams.clone())).collect();
        Document { ports, ..empty(request.file) }
    } else if let Ok(profile) = serde_json::from_str::<Profile>(&text) {
        Document { profile: Some(profile), ..empty(request.file) }
    } else {
        serde_json::from_str(&text).map_err(wrong)?
    };
    Ok(Some(with_remedy(document)))
}

/// Suggests a remedy if the profile may not read a file.
fn with_remedy(mut document: Document) -> Document {
    if let Some(error) = document.error.as_mut().filter(|error| error.contains("Permission denied")) {
        error.push_str(
            "\n  a profile reads its own folder and captures that it names; give '--read PATH' for more",
        );
    }
    document
}

/// Groups of clients.
///
/// # Errors
/// The file, and all that is wrong in it.
pub(super) fn groups(file: &Path) -> Result<Groups, Failure> {
    let name = file.display();
    let document: ClientsDoc = profile::read_document(&read(file)?).map_err(|errors| {
        Failure::bad_input(errors.iter().map(|error| format!("{name}: {error}\n")).collect::<String>())
    })?;
    Groups::new(&document).map_err(|errors| {
        Failure::bad_input(errors.0.iter().map(|error| format!("{name}: {error}\n")).collect::<String>())
    })
}

/// The document of a file of TRex's own.
fn empty(file: &Path) -> Document {
    let source = file.display().to_string();
    Document {
        schema: SCHEMA.to_owned(),
        source,
        error: None,
        ports: BTreeMap::new(),
        profile: None,
        templates: None,
        duration_s: None,
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let file = std::fs::File::open(path).and_then(|file| file.take(BYTES_MAX).read_to_string(&mut text));
    file.map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))?;
    Ok(text)
}

/// Runs the loader; what the profile prints goes to standard error.
fn python(request: &Request) -> Result<String, Failure> {
    let modules = facade::unpacked()?;
    let program = std::env::var_os("EAGRE_PYTHON").unwrap_or_else(|| "python3".into());
    let mut paths = vec![modules];
    paths.extend(std::env::var_os("PYTHONPATH").iter().flat_map(std::env::split_paths));
    let paths =
        std::env::join_paths(paths).map_err(|error| Failure::refused(format!("PYTHONPATH: {error}")))?;
    let ports: Vec<String> = request.ports.iter().map(u8::to_string).collect();
    let name = Path::new(&program).display();
    let jail = Jail::for_python(&program, &paths).map_err(|error| {
        Failure::refused(format!(
            "{name}: {error}; TRex profiles need Python 3.9 or newer, EAGRE_PYTHON names another"
        ))
    })?;
    let mut command = jail.command(request).map_err(|error| Failure::refused(format!("{name}: {error}")))?;
    command.args(["-B", "-m", "eagre_trex.load", "--ports", &ports.join(",")]).env("PYTHONPATH", paths);
    if let Some(direction) = request.direction {
        command.args(["--direction", &direction.to_string()]);
    }
    if request.ipv6 {
        command.arg("--ipv6");
    }
    request.tunables.iter().for_each(|text| {
        command.arg(format!("--tunables={text}"));
    });
    command.arg(request.file).arg("--").args(request.words);
    let child = os::namespace::tie(command.stdin(Stdio::null()).stdout(Stdio::piped())).spawn();
    let mut child = child.map_err(|error| Failure::refused(format!("{name}: {error}")))?;
    let (told, heard) = mpsc::channel();
    if let Some(out) = child.stdout.take() {
        // A thread of its own: the profile may print nothing for ever.
        std::thread::spawn(move || {
            let mut text = String::new();
            let read = out.take(BYTES_MAX).read_to_string(&mut text);
            let _ = told.send(read.map(|_| text));
        });
    }
    let heard = heard.recv_timeout(TIME_MAX);
    let Ok(text) = heard else {
        let _ = child.kill();
        let _ = child.wait();
        let seconds = TIME_MAX.as_secs();
        return Err(Failure::bad_input(format!(
            "{}: its code took longer than {seconds} s",
            request.file.display()
        )));
    };
    let ended = child.wait().map_err(|error| Failure::refused(format!("{name}: {error}")))?;
    let text = text.map_err(|error| Failure::refused(format!("{name}: {error}")))?;
    // With a reason in the document the code is 2, too.
    if !ended.success() && text.trim().is_empty() {
        if ended.code() == Some(Exit::Refused as i32) {
            return Err(Failure::refused(format!("{}: not loaded", request.file.display())));
        }
        return Err(Failure::bad_input(format!(
            "{}: Python could not load it ({ended})",
            request.file.display()
        )));
    }
    Ok(text)
}
