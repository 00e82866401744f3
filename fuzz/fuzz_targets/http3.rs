//! Fuzzes `properties::http3`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::http3;

fuzz_target!(init: fuzz::write_seeds(http3::seeds()), |data: &[u8]| http3::check(data));
