//! Time that a packet's signature takes: [`Stamp::write`] with and without a checksum, and [`signature::read_at_end`],
//! over a burst that stays in the cache.
//!
//! `cargo bench -p wire`. Nanoseconds for one packet; the smallest of many rounds, because others use the machine too.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;
use wire::signature::{self, LEN, LaneMark, Mark, Stamp};
use wire::{Header, PacketSpec, protocol};

const BURST: usize = 64;
const BURSTS: u32 = 2_000;
const ROUNDS: usize = 200;

fn main() {
    let headers =
        ["ethernet", "ipv4", "udp"].map(|name| Header::new(protocol(name).expect("in the catalogue")));
    let spec = PacketSpec { headers: headers.into(), ..PacketSpec::default() };
    for extra in [LEN, LEN + 1] {
        let mut packet = spec.build(spec.shortest(extra)).expect("a packet");
        let mark = Mark::of_run(1);
        let lane = mark.lane(1, 0);
        let stamp = Stamp::prepare(&mut packet, &lane).expect("room");
        let bytes = packet.bytes.len();
        let mut frames = vec![packet.bytes.clone(); BURST];
        report(&format!("write, {bytes} bytes, checksum"), |n| write_burst(&stamp, &lane, &mut frames, n));
        report(&format!("read, {bytes} bytes"), |_| {
            for frame in &frames {
                _ = black_box(signature::read_at_end(frame, &mark));
            }
        });
        let (stamp, ..) = Stamp::prepare_offload(&mut packet, &lane).expect("UDP");
        report(&format!("write, {bytes} bytes, offload"), |n| write_burst(&stamp, &lane, &mut frames, n));
    }
}

fn write_burst(stamp: &Stamp, lane: &LaneMark, frames: &mut [Vec<u8>], n: u32) {
    let lane = black_box(lane).at(u64::from(n) << 20);
    for (index, frame) in frames.iter_mut().enumerate() {
        stamp.write(black_box(frame), &lane, n + index as u32);
    }
}

fn report(what: &str, mut burst: impl FnMut(u32)) {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for n in 0..BURSTS {
            burst(n);
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(BURSTS) / BURST as f64);
    }
    println!("{what:32} {best:6.2} ns");
}
