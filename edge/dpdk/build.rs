//! Compiles the shim once for each DPDK it finds: shared objects, linked to that DPDK's libraries, that the program carries
//! and opens at run time (`library.rs`).
//!
//! It takes the DPDK that pkg-config finds, and those below the folders in `EAGRE_DPDK_ROOTS`, separated by `:`. Such a folder
//! is a prefix (`/opt/dpdk-24.11`) or the root of unpacked packages. Without any, the program is built without DPDK.
//!
//! For another processor it looks in these folders only: what pkg-config finds is for the machine that compiles.

#![allow(clippy::print_stderr)]

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

/// Folders that hold DPDK installations, in addition to the one of pkg-config.
const ROOTS: &str = "EAGRE_DPDK_ROOTS";

/// Variables that affect pkg-config.
const PKG_CONFIG_VARIABLES: [&str; 4] =
    ["PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR", "PKG_CONFIG_SYSROOT_DIR"];

/// The oldest release whose interface is known.
const OLDEST: &str = "22.11";

/// The libraries that Rust and the shim call into; errors name the first that is missing. `rte_log` is its own since DPDK 23.11.
const LIBRARIES: [&str; 5] = ["rte_eal", "rte_log", "rte_ethdev", "rte_mempool", "rte_mbuf"];

/// Access to a DPDK by pkg-config.
#[derive(Default)]
struct PkgConfig {
    /// Folder of `libdpdk.pc`, unless it is among the usual ones.
    folder: Option<PathBuf>,
    /// Root of its paths.
    root: Option<PathBuf>,
}

/// A shim that was compiled.
struct Shim {
    /// The number in the names of DPDK's libraries.
    abi: u32,
    /// Release of the DPDK it was compiled against.
    version: String,
    object: PathBuf,
}

fn main() {
    for file in ["shim/shim.c", "src/ffi.rs"] {
        println!("cargo:rerun-if-changed={file}");
    }
    for variable in PKG_CONFIG_VARIABLES.iter().chain([&ROOTS]) {
        println!("cargo:rerun-if-env-changed={variable}");
    }
    let mut shims = Vec::new();
    let here = PkgConfig::default();
    match here.version() {
        _ if is_for_another_processor() => {}
        Ok(version) => shims.push(here.compile(version).unwrap_or_else(|error| fail(&error))),
        Err(error) => without(&error),
    }
    for root in env::split_paths(&env::var_os(ROOTS).unwrap_or_default()).filter(|root| root != Path::new(""))
    {
        let shim = PkgConfig::below(&root).and_then(|found| found.compile(found.version()?));
        shims.push(shim.unwrap_or_else(|error| fail(&format!("{ROOTS}: {}: {error}", root.display()))));
    }
    shims.sort_by_key(|shim| std::cmp::Reverse(shim.abi));
    shims.dedup_by_key(|shim| shim.abi);
    write_list(&shims).unwrap_or_else(|error| fail(&error));
}

fn is_for_another_processor() -> bool {
    env::var_os("HOST") != env::var_os("TARGET")
}

impl PkgConfig {
    /// The DPDK below a folder.
    fn below(root: &Path) -> Result<Self, String> {
        let file = find(root, 5).ok_or("there is no libdpdk.pc below it")?;
        let text = fs::read_to_string(&file).map_err(|error| error.to_string())?;
        let prefix = text.lines().find_map(|line| line.strip_prefix("prefix=")).unwrap_or_default().trim();
        // Files are where they were installed if their prefix is; others were unpacked below the folder.
        let installed = !prefix.is_empty() && file.starts_with(prefix);
        Ok(Self { folder: file.parent().map(Path::to_owned), root: (!installed).then(|| root.to_owned()) })
    }

    fn ask(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".to_owned()));
        command.args(arguments).arg("libdpdk").env("PKG_CONFIG_ALLOW_SYSTEM_LIBS", "1");
        if let Some(folder) = &self.folder {
            command.env("PKG_CONFIG_PATH", folder);
        }
        if let Some(root) = &self.root {
            command.env("PKG_CONFIG_SYSROOT_DIR", root);
        }
        let output = command.output().map_err(|error| format!("pkg-config: {error}"))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        }
    }

    fn version(&self) -> Result<String, String> {
        self.ask(&["--print-errors", &format!("--atleast-version={OLDEST}")])?;
        self.ask(&["--modversion"])
    }

    /// Compiles and links the shim.
    fn compile(&self, version: String) -> Result<Shim, String> {
        let object = output(&format!("dpdk-{version}.so"));
        let mut shim = cc::Build::new();
        shim.opt_level(3).warnings(true).pic(true).flag("-Wno-deprecated-declarations");
        let flags = self.ask(&["--cflags"])?;
        let (folders, libraries) = (self.ask(&["--libs-only-L"])?, self.ask(&["--libs-only-l"])?);
        let folders: Vec<&str> = folders.split_whitespace().collect();
        let libraries: Vec<&str> = libraries.split_whitespace().collect();
        let mut command = shim.get_compiler().to_command();
        command.args(flags.split_whitespace()).args(["-shared", "-s", "shim/shim.c", "-o"]).arg(&object);
        command.args(&folders).args(["-Wl,-z,defs,-z,relro,-z,now", "-Wl,--no-as-needed"]);
        // Where the libraries' own libraries are.
        let beside = folders.iter().filter_map(|folder| folder.strip_prefix("-L"));
        command.args(beside.map(|folder| format!("-Wl,-rpath-link,{folder}")));
        let wanted = LIBRARIES.map(|library| format!("-l{library}"));
        command.args(wanted.iter().filter(|library| libraries.contains(&library.as_str())));
        // A DPDK that lacks one of them is refused here.
        command.args(called()?.iter().map(|function| format!("-Wl,--require-defined={function}")));
        match command.status() {
            Ok(status) if status.success() => {}
            Ok(status) => return Err(format!("the shim can't be compiled against DPDK {version}: {status}")),
            Err(error) => return Err(format!("the C compiler: {error}")),
        }
        let abi = fs::read(&object).ok().and_then(|bytes| abi_of(&bytes));
        let abi = abi.ok_or_else(|| format!("DPDK {version} has no shared libraries"))?;
        Ok(Shim { abi, version, object })
    }
}

/// DPDK's functions that Rust calls: what `ffi.rs` declares.
fn called() -> Result<Vec<String>, String> {
    let text = fs::read_to_string("src/ffi.rs").map_err(|error| format!("src/ffi.rs: {error}"))?;
    let name = |line: &str| Some(line.trim().strip_prefix("fn rte_")?.split_once('(')?.0.to_owned());
    Ok(text.lines().filter_map(name).map(|name| format!("rte_{name}")).collect())
}

/// `libdpdk.pc` in a folder or below, at most `depth` folders down.
fn find(folder: &Path, depth: usize) -> Option<PathBuf> {
    let file = folder.join("libdpdk.pc");
    if file.is_file() {
        return Some(file);
    }
    let below = depth.checked_sub(1)?;
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries.iter().filter(|entry| entry.is_dir() && may_hold(entry)).find_map(|entry| find(entry, below))
}

/// Whether pkg-config's files may be in a folder, by its name.
fn may_hold(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    matches!(&*name, "usr" | "local" | "share" | "pkgconfig")
        || name.starts_with("lib")
        || name.ends_with("-linux-gnu")
}

/// The number in the name of the EAL that an object needs, such as 23 of `librte_eal.so.23`.
fn abi_of(object: &[u8]) -> Option<u32> {
    const NAME: &[u8] = b"librte_eal.so.";
    let at = object.windows(NAME.len()).position(|window| window == NAME)? + NAME.len();
    let digits = object[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&object[at..at + digits]).ok()?.parse().ok()
}

/// Writes the list that `library.rs` includes, the newest first.
fn write_list(shims: &[Shim]) -> Result<(), String> {
    let mut list = "static EMBEDDED: &[Embedded] = &[\n".to_owned();
    for Shim { abi, version, object } in shims {
        let _ = writeln!(
            list,
            "    Embedded {{ abi: {abi}, version: {version:?}, object: include_bytes!({object:?}) }},"
        );
    }
    list.push_str("];\n");
    fs::write(output("embedded.rs"), list).map_err(|error| error.to_string())
}

fn output(name: &str) -> PathBuf {
    PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join(name)
}

/// Says that pkg-config finds no DPDK, and looks again once that may have changed.
fn without(why: &str) {
    let why = why.replace('\n', " ");
    println!(
        "cargo:warning=the DPDK of this machine can't be used: {why}. On Debian and Ubuntu: apt-get install libdpdk-dev pkg-config"
    );
    let folders = Command::new("pkg-config").args(["--variable=pc_path", "pkg-config"]).output();
    let folders = folders.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    for folder in env::split_paths(&folders.unwrap_or_default()).filter(|folder| folder.is_dir()) {
        println!("cargo:rerun-if-changed={}", folder.display());
    }
}

fn fail(why: &str) -> ! {
    eprintln!("{why}");
    exit(1)
}
