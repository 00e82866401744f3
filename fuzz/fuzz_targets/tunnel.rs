//! Fuzzes `properties::tunnel`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::tunnel;

fuzz_target!(init: fuzz::write_seeds(tunnel::seeds()), |data: &[u8]| tunnel::check(data));
