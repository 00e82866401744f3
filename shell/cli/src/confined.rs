//! Environment passed to confined processes.

use std::ffi::OsString;

/// Variables for output, library paths, and a driver's temporary folders. No others: the environment may hold secrets.
const KEPT: &[&str] = &[
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "PATH",
    "LD_LIBRARY_PATH",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
    "RUNTIME_DIRECTORY",
    "RUST_BACKTRACE",
    "EAGRE_DPDK_LOG",
];

/// The environment of a confined process, with variables that begin with one of `more`.
pub(crate) fn environment(more: &[&str]) -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(move |(name, _)| {
        let name = name.to_string_lossy();
        KEPT.contains(&&*name) || name.starts_with("LC_") || more.iter().any(|start| name.starts_with(start))
    })
}
