//! Properties of a runner apart from the bytes: shared code, workers that share the numbers, wrapping, refusals.

use field::{FlowOrder, Flows, Inputs, Program, Source, Target, Variable, Vary, Write};
use jit::{Jit, JitError, Runner};
use port::memory::FreeFrames;
use port::{BURST, Burst};
use std::panic::{AssertUnwindSafe, catch_unwind};
use units::FrameLen;
use wire::signature::Mark;
use wire::{Header, Packet, PacketSpec, protocol};

fn packet(length: u32) -> Packet {
    let headers = ["ethernet", "ipv4", "udp"].map(|name| Header::new(protocol(name).unwrap()));
    let spec = PacketSpec { headers: headers.into(), ..PacketSpec::default() };
    spec.build(FrameLen::new(length).unwrap()).unwrap()
}

fn write(variable: usize, header: usize, path: &str) -> Write {
    let (name, field) = path.split_once('.').unwrap();
    let field = protocol(name).unwrap().field(field).unwrap();
    Write { variable, target: Target::Field { header, field }, mask: u128::MAX }
}

/// A counting address and a random port.
fn vary(first: u128, count: u128, seed: u64) -> Vary {
    let range = Source::Range { first, step: 1, count, width: 32 };
    let random = Source::Random { from: 0, to: 0xffff, distinct: None, seed };
    Vary {
        variables: vec![Variable::new(range), Variable::new(random)],
        writes: vec![write(0, 1, "ipv4.src"), write(1, 2, "udp.src")],
        flows: None,
    }
}

fn bind(vary: &Vary, length: u32, stream: u32) -> Program {
    let id = Mark::of_run(1).lane(stream, 0);
    Program::new(vary, &mut packet(length), Some(id)).unwrap()
}

/// Bursts of frames to write to.
struct Bench {
    frames: FreeFrames,
    burst: Burst,
}

impl Bench {
    fn new(bytes: &[u8]) -> Self {
        let (mut frames, mut burst) = (FreeFrames::new(BURST, 2048).unwrap(), Burst::new());
        frames.take(&mut burst, BURST);
        (0..BURST).for_each(|index| burst.frame_mut(index).copy_from(bytes));
        Self { frames, burst }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.frames.give_front(&mut self.burst, BURST);
    }
}

fn expect(program: &Program, inputs: Inputs) -> Vec<u8> {
    let mut frame = program.template().to_vec();
    program.write(&mut frame, &inputs);
    frame
}

#[test]
fn streams_that_differ_in_constants_share_code() {
    let mut jit = Jit::new().unwrap();
    let mut bench = Bench::new(&[0; 60]);
    for stream in 0..1_000u32 {
        let first = 0x0a00_0000 + u128::from(stream) * 256;
        let program = bind(&vary(first, 2 + u128::from(stream), stream.into()), 64, stream);
        let mut runner = Runner::new(&mut jit, vec![program.clone()]).unwrap();
        let inputs = Inputs { number: 12_345, sequence: 6, time: 7 };
        bench.burst.frame_mut(0).copy_from(program.template());
        runner.run(&mut bench.burst, 0..1, 0, inputs.number, inputs.sequence, inputs.time);
        assert_eq!(bench.burst.data(0), expect(&program, inputs), "stream {stream}");
    }
    assert_eq!(jit.shapes(), 1);
}

/// Frame lengths take turns, odd ones too, and the numbers continue through all of them.
#[test]
fn variants_share_code_and_state() {
    let mut jit = Jit::new().unwrap();
    let variants: Vec<_> =
        [64, 65, 594, 1518].map(|length| bind(&vary(1, 1000, 2), length, 3)).into_iter().collect();
    let mut runner = Runner::new(&mut jit, variants.clone()).unwrap();
    assert_eq!(jit.shapes(), 1);
    let mut bench = Bench::new(&[]);
    for number in 0..3_000 {
        let variant = (number * 7 % 4) as usize;
        let program = &variants[variant];
        bench.burst.frame_mut(5).copy_from(program.template());
        let inputs = Inputs { number, sequence: number as u32, time: number << 40 };
        runner.run(&mut bench.burst, 5..6, variant, inputs.number, inputs.sequence, inputs.time);
        assert_eq!(bench.burst.data(5), expect(program, inputs), "packet {number}");
    }
}

/// Two workers that take groups of numbers in turn write what one writes.
#[test]
fn workers_share_the_packets_out() {
    let mut jit = Jit::new().unwrap();
    let program = bind(&vary(0x0a00_0000, 200, 9), 64, 0);
    let mut workers = [(); 2].map(|()| Runner::new(&mut jit, vec![program.clone()]).unwrap());
    let mut bench = Bench::new(program.template());
    for slot in 0..100u64 {
        let number = slot * 16;
        workers[(slot % 2) as usize].run(&mut bench.burst, 8..24, 0, number, 0, 0);
        for index in 0..16 {
            let inputs = Inputs { number: number + index, sequence: index as u32, time: 0 };
            assert_eq!(bench.burst.data(8 + index as usize), expect(&program, inputs), "{inputs:?}");
        }
    }
}

/// A range of 2^24 addresses gives each once before the first repeat.
#[test]
fn no_address_repeats_too_early() {
    let (first, count) = (0x0a00_0000, 1u64 << 24);
    let program = bind(&vary(u128::from(first), u128::from(count), 0), 64, 0);
    let mut jit = Jit::new().unwrap();
    let mut workers = [(); 2].map(|()| Runner::new(&mut jit, vec![program.clone()]).unwrap());
    let mut bench = Bench::new(program.template());
    let mut seen = vec![false; count as usize];
    for (group, number) in (0..count).step_by(BURST).enumerate() {
        workers[group % 2].run(&mut bench.burst, 0..BURST, 0, number, 0, 0);
        for index in 0..BURST {
            let address = u32::from_be_bytes(bench.burst.data(index)[26..30].try_into().unwrap());
            let index = (address - first) as usize;
            assert!(!std::mem::replace(&mut seen[index], true), "{address:#x} repeats");
        }
    }
    assert!(seen.iter().all(|seen| *seen));
}

#[test]
fn the_interpreter_writes_the_same() {
    let program = bind(&vary(5, 77, 1), 70, 4);
    let (mut jit, mut slow) = (Jit::new().unwrap(), Jit::interpreter());
    let mut benches = [(); 2].map(|()| Bench::new(program.template()));
    for (jit, bench) in [&mut jit, &mut slow].into_iter().zip(&mut benches) {
        let mut runner = Runner::new(jit, vec![program.clone()]).unwrap();
        runner.run(&mut bench.burst, 0..BURST, 0, 1_000, 2, 3);
    }
    assert_eq!((jit.compiles(), slow.compiles(), slow.shapes()), (true, false, 0));
    let [one, other] = &benches;
    (0..BURST).for_each(|index| assert_eq!(one.burst.data(index), other.burst.data(index)));
}

/// Sequence numbers and packet numbers begin again in the middle of a run.
#[test]
fn numbers_wrap() {
    let program = bind(&vary(5, 77, 1), 64, 4);
    let mut runner = Runner::new(&mut Jit::new().unwrap(), vec![program.clone()]).unwrap();
    let mut bench = Bench::new(program.template());
    for (number, sequence) in
        [(3, u32::MAX - 9), (u64::MAX - 20, 8), (u64::MAX - 3, u32::MAX - 5), (9, u32::MAX)]
    {
        runner.run(&mut bench.burst, 0..BURST, 0, number, sequence, 1);
        for index in 0..BURST {
            let number = number.wrapping_add(index as u64);
            let inputs = Inputs { number, sequence: sequence.wrapping_add(index as u32), time: 1 };
            assert_eq!(bench.burst.data(index), expect(&program, inputs), "{inputs:?}");
        }
    }
    runner.run(&mut bench.burst, 3..3, 0, 0, 0, 0);
}

#[test]
fn refuses_frames_of_another_length() {
    let program = bind(&vary(5, 77, 1), 64, 4);
    let mut runner = Runner::new(&mut Jit::new().unwrap(), vec![program.clone()]).unwrap();
    let mut bench = Bench::new(program.template());
    for wrong in [&[0; 59][..], &[0; 61], &[]] {
        bench.burst.frame_mut(2).copy_from(wrong);
        let run = AssertUnwindSafe(|| runner.run(&mut bench.burst, 0..4, 0, 0, 0, 0));
        assert!(catch_unwind(run).is_err());
        assert_eq!(bench.burst.data(2), wrong);
    }
    bench.burst.frame_mut(2).copy_from(program.template());
    assert!(catch_unwind(AssertUnwindSafe(|| runner.run(&mut bench.burst, 0..65, 0, 0, 0, 0))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| runner.run(&mut bench.burst, 0..4, 1, 0, 0, 0))).is_err());
    runner.run(&mut bench.burst, 0..4, 0, 4, 5, 6);
    assert_eq!(bench.burst.data(2), expect(&program, Inputs { number: 6, sequence: 7, time: 6 }));
}

#[test]
fn refuses_variants_that_differ() {
    let mut jit = Jit::new().unwrap();
    assert_eq!(Runner::new(&mut jit, vec![]).err(), Some(JitError::NoVariants));
    let flows = Some(Flows { count: 4, length: 2, order: FlowOrder::Sequential });
    for other in [vary(5, 78, 1), vary(5, 77, 2), Vary { flows, ..vary(5, 77, 1) }] {
        let variants = vec![bind(&vary(5, 77, 1), 64, 4), bind(&other, 64, 4)];
        let error = Runner::new(&mut jit, variants).err();
        assert_eq!(error, Some(JitError::VariantsDiffer { variant: 1 }));
    }
}

/// The machine code outlives the compiler it came from, and runs on another thread.
#[test]
fn runners_move_to_their_workers() {
    let program = bind(&vary(5, 77, 1), 64, 4);
    let mut runner = Runner::new(&mut Jit::new().unwrap(), vec![program.clone()]).unwrap();
    let worker = std::thread::spawn(move || {
        let mut bench = Bench::new(program.template());
        runner.run(&mut bench.burst, 0..BURST, 0, 0, 0, 0);
        assert_eq!(bench.burst.data(9), expect(&program, Inputs { number: 9, sequence: 9, time: 0 }));
    });
    worker.join().unwrap();
}
