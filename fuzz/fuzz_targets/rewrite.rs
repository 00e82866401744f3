//! Fuzzes `properties::rewrite`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::rewrite;

fuzz_target!(init: fuzz::write_seeds(rewrite::seeds()), |data: &[u8]| rewrite::check(data));
