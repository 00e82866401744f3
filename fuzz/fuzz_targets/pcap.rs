//! Fuzzes `properties::pcap`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use properties::pcap;

fuzz_target!(init: fuzz::write_seeds(pcap::seeds()), |data: &[u8]| pcap::check(data));
