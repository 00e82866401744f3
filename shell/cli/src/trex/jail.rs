//! Where a profile's code runs: Python in a process that the kernel confines as it confines scripts.
//!
//! A profile is an untrusted program. It may read Python's files, its own folder and the files named on the command
//! line; it cannot write, start processes or use the network. It can print, and it makes a document, which is data.

use super::load::Request;
use crate::{Exit, Failure, confined};
use clap::Args;
use confine::{Confinement, Purpose};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Memory that a profile's code may take.
const MEMORY_BYTES: u64 = 4 << 30;
/// Prints the interpreter, and where its modules are, a line each.
const FACTS: &str =
    "import sys; print(sys.executable, sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path, sep='\\n')";
/// Files readable by every program.
const SYSTEM: &[&str] = &[
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/share/zoneinfo",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/services",
    "/etc/protocols",
    "/etc/ethertypes",
    "/etc/resolv.conf",
    "/dev/null",
    "/dev/urandom",
    "/proc/self/net",
    "/proc/self/maps",
    "/proc/self/status",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys/devices/system/cpu",
];
/// A folder that is not there and cannot be made.
const NOWHERE: &str = "/nonexistent";
/// Suffixes of captures.
const CAPTURES: &[&str] = &[".pcap", ".pcapng", ".cap"];
/// Captures of a profile.
const CAPTURES_MAX: usize = 1_000;
/// Variables that Python has a use for.
const VARIABLES: &[&str] = &["PYTHON", "VIRTUAL_ENV", "CONDA_PREFIX", "HOME"];

/// Arguments of the confined process.
#[derive(Args)]
pub(crate) struct LoadArgs {
    /// Folders and files to read
    #[arg(long)]
    read: Vec<PathBuf>,
    /// Programs to start in place of this process
    #[arg(long)]
    execute: Vec<PathBuf>,
    /// Go on if the kernel cannot confine it
    #[arg(long)]
    unconfined: bool,
    /// Program, and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Confines this process and puts the program in its place.
pub(super) fn load(args: &LoadArgs) -> Result<Exit, Failure> {
    let refused = |what: &str, error: io::Error| Failure::refused(format!("{what}: {error}"));
    let confined = confine::confine(&Confinement {
        purpose: Purpose::Program,
        read: args.read.clone(),
        execute: args.execute.clone(),
        memory_bytes: MEMORY_BYTES,
        ..Confinement::default()
    });
    let confined = confined.map_err(|error| refused("confining the profile", error))?;
    if !(confined.is_whole() || args.unconfined) {
        return Err(Failure::refused(
            "this kernel can't confine a profile's code (it needs Landlock and seccomp); \
             if you trust the profile, add --unconfined",
        ));
    }
    let (program, words) = args.command.split_first().expect("clap wants one");
    Err(refused(&program.to_string_lossy(), Command::new(program).args(words).exec()))
}

/// Files and limits that Python needs.
pub(super) struct Jail {
    program: PathBuf,
    read: Vec<PathBuf>,
}

impl Jail {
    /// Asks an interpreter where it and its modules are, before any code of a profile runs.
    pub(super) fn for_python(program: &OsStr, module_paths: &OsStr) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args(["-B", "-c", FACTS]).env("PYTHONPATH", module_paths).env("PYTHONSAFEPATH", "1");
        let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut lines = text.lines().filter(|line| !line.is_empty()).map(PathBuf::from);
        let program = lines.next().filter(|_| output.status.success());
        let program = program.ok_or_else(|| io::Error::other("it does not report its location"))?;
        let read = lines.filter(|path| path != Path::new("/")).chain(SYSTEM.iter().map(PathBuf::from));
        Ok(Self { program, read: read.collect() })
    }

    /// Starts Python, confined; its arguments are to be added.
    pub(super) fn command(&self, request: &Request) -> io::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.env_clear().envs(confined::environment(VARIABLES));
        // A file trex.py in the working directory is not the module of that name (Python 3.11 and newer).
        command.env("PYTHONSAFEPATH", "1").args(["trex", "load"]);
        // Scapy looks for caches there, pickled, and has none.
        for variable in ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
            command.env(variable, NOWHERE);
        }
        let libraries = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let more = std::env::split_paths(&libraries).collect::<Vec<_>>();
        let more = more.iter().filter(|path| path.as_os_str() != "");
        for path in self.read.iter().chain(more).chain(request.read).cloned().chain(of_profile(request)) {
            command.arg("--read").arg(path);
        }
        for path in [Some(self.program.clone()), loader(&self.program)?].into_iter().flatten() {
            command.arg("--execute").arg(path);
        }
        command.args(request.unconfined.then_some("--unconfined"));
        command.arg("--").arg(&self.program);
        Ok(command)
    }
}

/// The folder of a profile, the one around it, where TRex looks for captures too, the working directory, captures that its text
/// names, and files that its options name.
fn of_profile(request: &Request) -> Vec<PathBuf> {
    let named = request.tunables.iter().flat_map(|text| text.split(','));
    let named = named.filter_map(|tunable| Some(tunable.split_once('=')?.1)).map(PathBuf::from);
    let words = request.words.iter().map(|word| word.split_once('=').map_or(&**word, |(_, value)| value));
    let files = named.chain(words.map(PathBuf::from)).filter(|path| path.is_file());
    let file = std::path::absolute(request.file).unwrap_or_else(|_| request.file.to_path_buf());
    let folder = file.parent().map(Path::to_path_buf);
    let around = folder.as_deref().and_then(Path::parent).filter(|path| path.components().count() > 2);
    let folders = [folder.clone(), around.map(Path::to_path_buf), std::env::current_dir().ok()];
    files
        .chain(captures(&file))
        .chain(folders.into_iter().flatten().filter(|path| path != Path::new("/")))
        .collect()
}

/// Captures that a profile's text names, from the root or from its folder.
fn captures(profile: &Path) -> Vec<PathBuf> {
    let text = std::fs::read(profile).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let is_capture = |name: &&str| CAPTURES.iter().any(|suffix| name.ends_with(suffix));
    let folder = profile.parent().unwrap_or(Path::new("/"));
    // In quotes, where they may have blanks, or as YAML has them, without.
    let bare = |c: char| c.is_whitespace() || "\"',[]{}".contains(c);
    let names = text.split(['"', '\'']).chain(text.split(bare));
    let mut seen = BTreeSet::new();
    let names = names.filter(is_capture).filter(|name| seen.insert(*name));
    let paths = names.map(|name| folder.join(name));
    paths.filter(|path| path.is_file()).take(CAPTURES_MAX).collect()
}

/// The program that starts a dynamically linked one (`PT_INTERP`); `None` of scripts and static programs.
fn loader(program: &Path) -> io::Result<Option<PathBuf>> {
    /// elf.h: ELFCLASS64, little-endian.
    const ELF64: &[u8] = b"\x7fELF\x02\x01";
    const PT_INTERP: u32 = 3;
    let bytes = std::fs::read(program)?;
    let number = |at: usize, len: usize| -> Option<usize> {
        let raw = bytes.get(at..at.checked_add(len)?)?;
        Some(raw.iter().rev().fold(0, |n, byte| n << 8 | usize::from(*byte)))
    };
    if !bytes.starts_with(ELF64) {
        return Ok(None);
    }
    let path = || {
        let (table, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
        let header =
            (0..count).map(|n| table + n * size).find(|&at| number(at, 4) == Some(PT_INTERP as usize))?;
        let (begin, len) = (number(header + 8, 8)?, number(header + 32, 8)?);
        let text = bytes.get(begin..begin.checked_add(len)?)?.strip_suffix(b"\0")?;
        Some(PathBuf::from(std::str::from_utf8(text).ok()?))
    };
    Ok(path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_of_a_profile_are_those_its_text_names() {
        let folder = std::env::temp_dir().join(format!("eagre-jail-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("own")).unwrap();
        std::fs::write(folder.join("a.pcap"), "").unwrap();
        std::fs::write(folder.join("b.txt"), "").unwrap();
        let text = format!("x = '../a.pcap', \"{0}/a.pcap\", '{0}/b.txt', '{0}/c.pcap'", folder.display());
        std::fs::write(folder.join("own/profile.py"), text).unwrap();
        let found = captures(&folder.join("own/profile.py"));
        assert_eq!(found, [folder.join("own/../a.pcap"), folder.join("a.pcap")]);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn finds_the_loader_of_a_program() {
        let own = std::env::current_exe().unwrap();
        let found = loader(&own).unwrap();
        assert!(found.is_none_or(|path| path.is_file()));
        assert_eq!(loader(Path::new("/etc/passwd")).unwrap(), None);
    }
}
