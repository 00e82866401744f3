//! Fuzzes `properties::http2`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::http2;

fuzz_target!(init: fuzz::write_seeds(http2::seeds()), |data: &[u8]| http2::check(data));
