//! Compiled programs write the same bytes as the interpreter: random programs on random packets, run from random
//! numbers, with jumps, in bursts of any length, over several frame lengths.
//!
//! A failure names the seed and the size it came from; `case(seed, size)` is that case again.

mod dice;

use dice::Dice;
use field::{Inputs, Program, Vary};
use jit::{Jit, Runner};
use port::memory::FreeFrames;
use port::{BURST, Burst};
use proptest::prelude::*;
use wire::signature::{LaneMark, Mark};
use wire::{Checksum, Packet};

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn compiled_programs_write_the_same_bytes(seed: u64, size in 0usize..7) {
        case(seed, size);
    }
}

/// Shapes that randomness meets seldom, again and again.
#[test]
fn the_same_seeds_every_time() {
    (0..500).for_each(|seed| case(seed, (seed % 7) as usize));
}

fn case(seed: u64, size: usize) {
    let mut dice = Dice::new(seed);
    let packets = dice.packets(size);
    let vary = dice.vary(&packets[0], size);
    let id =
        dice.chance(2).then(|| Mark::of_run(dice.word()).lane(dice.below(1 << 24) as u32, dice.word() as u8));
    let Some(variants) = bind(vary, packets, id) else { return };
    let mut jit = Jit::new().expect("a compiler");
    assert!(jit.compiles());
    let runner = Runner::new(&mut jit, variants.iter().map(|v| v.0.clone()).collect()).expect("a runner");
    run(&mut dice, &variants, runner);
}

/// The programs and their packets, without the writes that do not fit.
fn bind(mut vary: Vary, packets: Vec<Packet>, id: Option<LaneMark>) -> Option<Vec<(Program, Packet)>> {
    let writes = std::mem::take(&mut vary.writes);
    for write in writes {
        vary.writes.push(write);
        let binds = |packet: &Packet| Program::new(&vary, &mut packet.clone(), id).is_ok();
        if !packets.iter().all(binds) {
            vary.writes.pop();
        }
    }
    let bound = packets.into_iter().map(|mut packet| {
        let program = Program::new(&vary, &mut packet, id).ok()?;
        Some((program, packet))
    });
    bound.collect()
}

fn run(dice: &mut Dice, variants: &[(Program, Packet)], mut runner: Runner) {
    let mut frames = FreeFrames::new(BURST, 2048).expect("memory");
    let mut burst = Burst::new();
    frames.take(&mut burst, BURST);
    let mut number = dice.number();
    for _ in 0..4 {
        let variant = dice.below(variants.len() as u64) as usize;
        let (program, packet) = &variants[variant];
        let start = dice.below(BURST as u64) as usize;
        let end = start + 1 + dice.below((BURST - start) as u64) as usize;
        for index in start..end {
            burst.frame_mut(index).copy_from(&packet.bytes);
        }
        if dice.chance(3) {
            number = dice.number();
        }
        let (sequence, time) = (dice.edge(32) as u32, dice.word());
        runner.run(&mut burst, start..end, variant, number, sequence, time);
        let mut expected = packet.bytes.clone();
        for index in start..end {
            let sequence = sequence.wrapping_add((index - start) as u32);
            let inputs = Inputs { number, sequence, time };
            program.write(&mut expected, &inputs);
            assert_eq!(burst.data(index), expected, "{inputs:?} of {program:#?}");
            for checksum in program.checksums() {
                assert!(is_right(checksum, burst.data(index)), "{checksum:?} of {inputs:?} of {program:#?}");
            }
            number = number.wrapping_add(1);
        }
    }
    frames.give_front(&mut burst, BURST);
}

/// Whether a checksum is right: the sum of all words with it is all ones, carry by carry (RFC 1071 section 1). A word is
/// two bytes from where the checksum begins.
fn is_right(checksum: &Checksum, frame: &[u8]) -> bool {
    let mut total = 0u32;
    let mut add = |bytes: &[u8]| {
        for pair in bytes.chunks(2) {
            total += u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low));
            total = (total & 0xffff) + (total >> 16);
        }
    };
    add(&frame[checksum.start..checksum.offset]);
    add(&frame[checksum.offset..checksum.offset + 2]);
    add(&frame[checksum.offset + 2..checksum.end]);
    if let Some(pseudo_header) = &checksum.pseudo_header {
        add(&frame[pseudo_header.addresses.clone()]);
        add(&pseudo_header.rest.to_be_bytes());
    }
    total == 0xffff
}
