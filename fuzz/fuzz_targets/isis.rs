//! Fuzzes `properties::isis`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::isis;

fuzz_target!(init: fuzz::write_seeds(isis::seeds()), |data: &[u8]| isis::check(data));
