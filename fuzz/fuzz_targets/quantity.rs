//! Fuzzes `properties::quantity`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::quantity;

fuzz_target!(init: fuzz::write_seeds(quantity::seeds()), |data: &[u8]| quantity::check(data));
