//! Fuzzes `properties::websocket`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::websocket;

fuzz_target!(init: fuzz::write_seeds(websocket::seeds()), |data: &[u8]| websocket::check(data));
