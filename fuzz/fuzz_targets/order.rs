//! Fuzzes `properties::order`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::order;

fuzz_target!(init: fuzz::write_seeds(order::seeds()), |data: &[u8]| order::check(data));
