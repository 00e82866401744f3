//! Fuzzes `properties::http`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::http;

fuzz_target!(init: fuzz::write_seeds(http::seeds()), |data: &[u8]| http::check(data));
