//! Time to read a frame that is no test packet: a flood of them on a port must not hold up the rest.
//!
//! `cargo bench -p wire --bench read`. Nanoseconds for one frame; the smallest of many rounds, because others use the
//! machine too.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;
use wire::{Header, PacketSpec, protocol, read};

const FRAMES: u32 = 2_000;
const ROUNDS: usize = 100;

fn main() {
    for names in [
        &["ethernet", "arp"][..],
        &["ethernet", "ipv4", "udp"],
        &["ethernet", "ipv4", "tcp", "tcp_mss", "tcp_sack_permitted", "tcp_timestamps"],
        &["ethernet", "ipv4", "udp", "vxlan", "ethernet", "ipv4", "udp"],
    ] {
        let headers = names.iter().map(|name| Header::new(protocol(name).expect("in the catalogue")));
        let spec = PacketSpec { headers: headers.collect(), ..PacketSpec::default() };
        let frame = spec.build(spec.shortest(0)).expect("a packet").bytes;
        let mut best = f64::INFINITY;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            for _ in 0..FRAMES {
                black_box(read(black_box(&frame)));
            }
            best = best.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(FRAMES));
        }
        println!("{:60} {best:6.0} ns", names.join(" "));
    }
}
