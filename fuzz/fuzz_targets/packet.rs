//! Fuzzes `properties::packet`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::packet;

fuzz_target!(init: fuzz::write_seeds(packet::seeds()), |data: &[u8]| packet::check(data));
