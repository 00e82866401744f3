//! Fuzzes `properties::grpc`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::grpc;

fuzz_target!(init: fuzz::write_seeds(grpc::seeds()), |data: &[u8]| grpc::check(data));
