//! TRex's Python API, carried in the program, so that both always have one version.

use crate::Failure;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../clients/trex/src/", $name)))),*]
    };
}

/// Modules of `clients/trex`: their paths and texts.
const FILES: &[(&str, &str)] = files![
    "eagre_trex/__init__.py",
    "eagre_trex/document.py",
    "eagre_trex/hlt_arguments.py",
    "eagre_trex/load.py",
    "eagre_trex/offsets.py",
    "eagre_trex/profiles.py",
    "eagre_trex/scapy_defaults.py",
    "eagre_trex/server.py",
    "eagre_trex/stf.py",
    "trex/__init__.py",
    "trex/astf/__init__.py",
    "trex/astf/api.py",
    "trex/astf/captures.py",
    "trex/astf/trex_astf_client.py",
    "trex/astf/trex_astf_exceptions.py",
    "trex/astf/trex_astf_global_info.py",
    "trex/astf/trex_astf_profile.py",
    "trex/astf/trex_astf_stats.py",
    "trex/astf/tunnels_topo.py",
    "trex/common/__init__.py",
    "trex/common/trex_client.py",
    "trex/common/trex_exceptions.py",
    "trex/common/trex_logger.py",
    "trex/common/trex_types.py",
    "trex/stl/__init__.py",
    "trex/stl/api.py",
    "trex/stl/trex_stl_captures.py",
    "trex/stl/trex_stl_client.py",
    "trex/stl/trex_stl_console.py",
    "trex/stl/trex_stl_exceptions.py",
    "trex/stl/trex_stl_hlt_session.py",
    "trex/stl/trex_stl_hlt_streams.py",
    "trex/stl/trex_stl_hltapi.py",
    "trex/stl/trex_stl_packet_builder_scapy.py",
    "trex/stl/trex_stl_stats.py",
    "trex/stl/trex_stl_streams.py",
    "trex/utils/__init__.py",
    "trex/utils/common.py",
    "trex/utils/parsing_opts.py",
    "trex/utils/text_opts.py",
    "trex/utils/text_tables.py",
    "trex_stl_lib/__init__.py",
    "trex_stl_lib/api.py",
    "trex_stl_lib/trex_stl_hltapi.py",
];

/// Unpacks the modules into a folder of this user and version, if they are not there yet; returns the folder.
///
/// # Errors
/// There is no place for it, or it cannot be written.
pub(super) fn unpacked() -> Result<PathBuf, Failure> {
    let folder = cache()?.join(format!("trex-{}-{:016x}", env!("CARGO_PKG_VERSION"), digest()));
    let written = FILES.iter().try_for_each(|(name, text)| write(&folder.join(name), text));
    written.map_err(|error| Failure::refused(format!("{}: {error}", folder.display())))?;
    Ok(folder)
}

fn cache() -> Result<PathBuf, Failure> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = named("XDG_CACHE_HOME").or_else(|| named("HOME").map(|home| home.join(".cache")));
    let base = base.filter(|base| base.is_absolute());
    base.map(|base| base.join("eagre"))
        .ok_or_else(|| Failure::refused("no folder for Python modules: set XDG_CACHE_HOME or HOME"))
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if fs::read(path).is_ok_and(|have| have == text.as_bytes()) {
        return Ok(());
    }
    let parent = path.parent().unwrap_or(Path::new("/"));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    // Whole at once: another process may be reading.
    os::draft::replace(path, text)
}

/// A number that differs when a module does (FNV-1a).
fn digest() -> u64 {
    let bytes = FILES.iter().flat_map(|(name, text)| name.bytes().chain(text.bytes()));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::FILES;
    use std::path::{Path, PathBuf};

    fn modules(folder: &Path, out: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                modules(&entry, out);
            } else if entry.extension().is_some_and(|suffix| suffix == "py") {
                out.push(entry);
            }
        }
    }

    #[test]
    fn all_modules_are_carried() {
        let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients/trex/src"));
        let mut found = Vec::new();
        modules(source, &mut found);
        let mut found: Vec<_> =
            found.iter().map(|path| path.strip_prefix(source).unwrap().to_owned()).collect();
        found.sort();
        assert_eq!(found, FILES.iter().map(|(name, _)| PathBuf::from(name)).collect::<Vec<_>>());
    }
}
