//! Fuzzes `properties::emulate`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::emulate;

fuzz_target!(init: fuzz::write_seeds(emulate::seeds()), |data: &[u8]| emulate::check(data));
