//! Speed of the Internet checksum: every byte of every segment goes through it, in and out.
//!
//! `cargo bench -p wire --bench sum`. The smallest of many rounds, because others use the machine too.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;
use wire::checksum::sum;

const TIMES: u32 = 2_000;
const ROUNDS: usize = 200;

fn main() {
    for bytes in [20, 32, 64, 100, 576, 1460, 8960] {
        let text = vec![0xa5; bytes];
        let mut best = f64::INFINITY;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            for _ in 0..TIMES {
                black_box(sum(black_box(&text), 0));
            }
            best = best.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(TIMES));
        }
        println!("{bytes:5} bytes {best:7.2} ns {:6.1} GB/s", bytes as f64 / best);
    }
}
