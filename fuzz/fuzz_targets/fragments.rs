//! Fuzzes `properties::fragments`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::fragments;

fuzz_target!(init: fuzz::write_seeds(fragments::seeds()), |data: &[u8]| fragments::check(data));
