//! Fuzzes `properties::flows`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::flows;

fuzz_target!(init: fuzz::write_seeds(flows::seeds()), |data: &[u8]| flows::check(data));
