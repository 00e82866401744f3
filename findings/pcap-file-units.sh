#!/bin/sh
# Rust's pcap-file reads each time of a pcapng file as nanoseconds: in usual files, which count microseconds, 1,000 s is 1 s.
#
# One would guess: a packet's `timestamp`, a Duration, is its time, in whatever unit its interface counts, as the crate's reader of pcap
# files has it.
# So it is: for pcapng it takes the number for nanoseconds: a file in microseconds, which is what most programs write, runs a thousand
# times too fast, and all packets are in January 1970; one in picoseconds a thousand times too slow. Only files in nanoseconds are right.
# Read `if_tsresol` of the interface, and multiply.
#
# Uses pcap-file 2.0.0 from crates.io with Rust; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cargo init -q --vcs none --name times . && cargo add -q pcap-file@=2.0.0 && cargo fetch -q || exit 2
python3 - <<'END'
import struct


def block(kind, body):
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


for exponent in (6, 9, 12):
    with open(f"{exponent}.pcapng", "wb") as file:
        file.write(block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
        file.write(block(1, struct.pack("<HHIHHBxxxI", 1, 0, 65535, 9, 1, exponent, 0)))
        for seconds in (1000, 1001):
            time = seconds * 10**exponent
            file.write(block(6, struct.pack("<IIIII", 0, time >> 32, time & 0xFFFFFFFF, 60, 60) + bytes(60)))
END
cat > src/main.rs <<'END'
use pcap_file::pcapng::{Block, PcapNgReader};

fn times(exponent: u32) -> Vec<f64> {
    let file = std::fs::File::open(format!("{exponent}.pcapng")).unwrap();
    let mut reader = PcapNgReader::new(file).unwrap();
    let mut found = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            found.push(packet.timestamp.as_secs_f64());
        }
    }
    println!("packets at 1000 and 1001 s in units of 10 to the -{exponent} s: {found:?}");
    found
}

fn main() {
    let seen = [times(6), times(9), times(12)];
    let expected = [vec![1.0, 1.001], vec![1000.0, 1001.0], vec![1_000_000.0, 1_001_000.0]];
    std::process::exit(i32::from(seen != expected));
}
END
cargo tree -q | head -n 2
cargo run -q
