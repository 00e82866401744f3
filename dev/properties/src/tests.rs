//! Replays all seeds and all files in `corpus/`.

use std::fs;
use std::path::{Path, PathBuf};

/// A test for each module; it prints the name of an input before it checks it.
macro_rules! replay {
    ($($module:ident)*) => {$(
        #[test]
        fn $module() {
            let seeds = crate::$module::seeds();
            assert!(!seeds.is_empty());
            for (number, seed) in seeds.iter().enumerate() {
                println!("seed {number}");
                crate::$module::check(seed);
            }
            for file in corpus(stringify!($module)) {
                println!("{}", file.display());
                crate::$module::check(&fs::read(&file).expect("a readable file"));
            }
        }
    )*};
}

replay!(bgp control dns emulate flows fragments grpc host http http2 http3 isis mrt order ospf packet pcap port profile quantity rewrite segment tunnel websocket);

/// The files of a folder in `corpus/`; a module without any has none.
fn corpus(module: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(module);
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}
