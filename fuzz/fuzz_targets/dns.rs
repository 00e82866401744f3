//! Fuzzes `properties::dns`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::dns;

fuzz_target!(init: fuzz::write_seeds(dns::seeds()), |data: &[u8]| dns::check(data));
