//! Finds libpcap, which is linked dynamically.

#![allow(clippy::print_stderr)]

use std::process::exit;

fn main() {
    // The first version in which several threads may compile filters at once.
    if let Err(error) = pkg_config::Config::new().atleast_version("1.8").probe("libpcap") {
        eprintln!(
            "libpcap 1.8 or later was not found by pkg-config. On Debian and Ubuntu: apt-get install libpcap-dev \
             pkg-config\n\n{error}"
        );
        exit(1)
    }
}
