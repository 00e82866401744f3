//! Fuzzes `properties::host`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::host;

fuzz_target!(init: fuzz::write_seeds(host::seeds()), |data: &[u8]| host::check(data));
