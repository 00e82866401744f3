//! Fuzzes `properties::profile`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::profile;

fuzz_target!(init: fuzz::write_seeds(profile::seeds()), |data: &[u8]| profile::check(data));
