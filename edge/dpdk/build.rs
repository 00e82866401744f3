//! Finds DPDK and compiles the shim against its headers. DPDK itself is linked dynamically: only the core libraries,
//! the drivers are plugins that EAL loads when it starts.

#![allow(clippy::print_stderr)]

use std::process::{Command, exit};

/// The libraries the crate calls into. `rte_log` is its own library since DPDK 23.11.
const LIBRARIES: [&str; 6] = ["rte_ethdev", "rte_mbuf", "rte_mempool", "rte_ring", "rte_eal", "rte_log"];

fn main() {
    println!("cargo:rerun-if-changed=shim/shim.c");
    let library = pkg_config::Config::new()
        .atleast_version("22.11")
        .cargo_metadata(false)
        .probe("libdpdk")
        .unwrap_or_else(|error| fail(&error.to_string()));

    let mut shim = cc::Build::new();
    shim.file("shim/shim.c").opt_level(3).warnings(true).flag("-Wno-deprecated-declarations");
    // The crate hands on include paths and definitions only, but DPDK's headers need `-include` and `-march` too.
    for flag in cflags() {
        shim.flag(&flag);
    }
    shim.compile("eagre_dpdk_shim");

    for path in &library.link_paths {
        println!("cargo:rustc-link-search=native={}", path.display());
    }
    for name in LIBRARIES.iter().filter(|name| library.libs.iter().any(|lib| lib == *name)) {
        println!("cargo:rustc-link-lib=dylib={name}");
    }
}

fn cflags() -> Vec<String> {
    let program = std::env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".to_owned());
    match Command::new(program).args(["--cflags", "libdpdk"]).output() {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).split_whitespace().map(str::to_owned).collect()
        }
        Ok(output) => fail(&String::from_utf8_lossy(&output.stderr)),
        Err(error) => fail(&error.to_string()),
    }
}

fn fail(why: &str) -> ! {
    eprintln!(
        "DPDK 22.11 or later was not found by pkg-config. On Debian and Ubuntu: apt-get install libdpdk-dev pkg-config\n\n{why}"
    );
    exit(1)
}
