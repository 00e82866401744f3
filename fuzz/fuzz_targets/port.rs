//! Fuzzes `properties::port`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::port;

fuzz_target!(init: fuzz::write_seeds(port::seeds()), |data: &[u8]| port::check(data));
