//! Fuzzes `properties::control`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::control;

fuzz_target!(init: fuzz::write_seeds(control::seeds()), |data: &[u8]| control::check(data));
