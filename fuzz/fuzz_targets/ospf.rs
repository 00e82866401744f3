//! Fuzzes `properties::ospf`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::ospf;

fuzz_target!(init: fuzz::write_seeds(ospf::seeds()), |data: &[u8]| ospf::check(data));
