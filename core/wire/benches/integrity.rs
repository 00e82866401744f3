//! Time to fill a payload that is compared where it arrives, and to compare it.
//!
//! `cargo bench -p wire --bench integrity`. Nanoseconds for one packet; the smallest of many rounds, because others use the machine
//! too.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;
use wire::integrity::Pattern;

const PACKETS: u32 = 2_000;
const ROUNDS: usize = 200;

fn best(mut packet: impl FnMut(u32)) -> f64 {
    let round = |_| {
        let start = Instant::now();
        (0..PACKETS).for_each(&mut packet);
        start.elapsed().as_secs_f64() * 1e9 / f64::from(PACKETS)
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

fn main() {
    let pattern = Pattern::of_run(1);
    // Of frames of 64, 128, 594, 1,518 and 9,000 bytes with UDP over IPv4.
    for bytes in [0, 64, 530, 1_454, 8_936] {
        let mut filling = vec![0; bytes];
        let write =
            best(|sequence| pattern.write(black_box(&mut filling), pattern.key(3, 0, black_box(sequence))));
        let key = pattern.key(3, 0, 7);
        pattern.write(&mut filling, key);
        let compare = best(|_| assert!(pattern.matches(black_box(&filling), black_box(key))));
        println!("{bytes:5} bytes: fill {write:6.1} ns, compare {compare:6.1} ns");
    }
}
