//! Fuzzes `properties::bgp`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::bgp;

fuzz_target!(init: fuzz::write_seeds(bgp::seeds()), |data: &[u8]| bgp::check(data));
