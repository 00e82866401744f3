//! What the fuzz targets share: where their first inputs come from.
//!
//! Not here: anything a target checks.

#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::{env, fs};

/// The variable with the folder that a target writes its seeds to before it starts.
const FOLDER: &str = "FUZZ_SEEDS";

/// Writes a file for each seed, if the environment says where to.
///
/// Seeds are made by the code under test rather than kept as files: they change with it.
pub fn write_seeds(seeds: impl IntoIterator<Item = Vec<u8>>) {
    let Some(folder) = env::var_os(FOLDER).map(PathBuf::from) else { return };
    for (number, seed) in seeds.into_iter().enumerate() {
        let path = folder.join(format!("seed-{number:03}"));
        if let Err(error) = fs::write(&path, seed) {
            panic!("can't write the seed {}: {error}", path.display());
        }
    }
}
