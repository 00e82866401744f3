//! Fuzzes `properties::segment`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::segment;

fuzz_target!(init: fuzz::write_seeds(segment::seeds()), |data: &[u8]| segment::check(data));
