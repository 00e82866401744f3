//! Fuzzes `properties::mrt`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::mrt;

fuzz_target!(init: fuzz::write_seeds(mrt::seeds()), |data: &[u8]| mrt::check(data));
