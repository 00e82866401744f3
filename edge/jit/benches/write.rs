//! Cost of writing variable fields: compiled programs compared with hand-written loops for the same task.
//!
//! `cargo bench -p jit`. Frames of 64 bytes in a ring of 512 buffers, bursts of 64, nothing sent. Nanoseconds for one
//! packet; the smallest of many rounds, because others use the machine too. The two sides take turns.

#![allow(clippy::print_stdout)]

use field::{FlowOrder, Flows, ListOrder, Program, Source, Target, Variable, Vary, Write};
use jit::{Jit, Runner};
use port::memory::FreeFrames;
use port::{BURST, Burst};
use std::hint::black_box;
use std::time::Instant;
use wire::checksum::{finish, sum};
use wire::signature::Mark;
use wire::{Header, Packet, PacketSpec, protocol};

const BURSTS: usize = 8;
const ROUNDS: usize = 300;
const TURNS: u64 = 100;
const STREAMS: u64 = 10_000;

fn main() {
    println!("{:44} {:>9} {:>9} {:>7}", "", "compiled", "by hand", "ratio");
    counter();
    four_fields();
    signed();
    others();
}

/// One counting field: the source address, 2^24 of them.
fn counter() {
    let (program, packet) = bind(vary(vec![range(1 << 24)], &[(1, "ipv4.src")]), false);
    let bases = Bases::new(&packet, std::slice::from_ref(&(26..30)));
    compare("1 counter", program, &packet, |burst, number| {
        let mut counter = number & 0xff_ffff;
        each(burst, |frame| {
            let value = (0x0a00_0000 + counter as u32).swap_bytes();
            counter = if counter == 0xff_ffff { 0 } else { counter + 1 };
            frame[26..30].copy_from_slice(&value.to_le_bytes());
            bases.write(frame, u64::from(value), u64::from(value));
        });
    });
}

/// Four fields, two of them random: addresses count, ports are random.
fn four_fields() {
    let ports = || Variable::new(Source::Random { from: 0, to: 0xffff, distinct: None, seed: 1 });
    let variables = vec![range(1 << 24), range(1000), ports(), ports()];
    let writes = [(1, "ipv4.src"), (1, "ipv4.dst"), (2, "udp.src"), (2, "udp.dst")];
    let (program, packet) = bind(vary(variables, &writes), false);
    let bases = Bases::new(&packet, &[26..30, 30..34, 34..36, 36..38]);
    let key = random::key(1);
    compare("4 fields, 2 random", program, &packet, |burst, number| {
        let (mut first, mut second) = (number & 0xff_ffff, number % 1000);
        let mut state = key.wrapping_add(number.wrapping_mul(random::STEP));
        each(burst, |frame| {
            let src = (0x0a00_0000 + first as u32).swap_bytes();
            let dst = (0x0a00_0000 + second as u32).swap_bytes();
            first = if first == 0xff_ffff { 0 } else { first + 1 };
            second = if second == 999 { 0 } else { second + 1 };
            let random = random::mix(state);
            let other = random::mix(state ^ 1);
            state = state.wrapping_add(random::STEP);
            let ports = (random >> 48) | (other >> 48) << 16;
            frame[26..30].copy_from_slice(&src.to_le_bytes());
            frame[30..34].copy_from_slice(&dst.to_le_bytes());
            frame[34..38].copy_from_slice(&(ports as u32).to_le_bytes());
            let addresses = u64::from(src) + u64::from(dst);
            bases.write(frame, addresses, addresses + ports);
        });
    });
}

/// A counter and the signature's sequence number and time.
fn signed() {
    let (program, packet) = bind(vary(vec![range(1 << 24)], &[(1, "ipv4.src")]), true);
    let bases = Bases::new(&packet, &[26..30, 50..60]);
    compare("1 counter, signature", program, &packet, |burst, number| {
        let mut counter = number & 0xff_ffff;
        let (mut sequence, time) = (number as u32, number << 10);
        each(burst, |frame| {
            let value = (0x0a00_0000 + counter as u32).swap_bytes();
            counter = if counter == 0xff_ffff { 0 } else { counter + 1 };
            frame[26..30].copy_from_slice(&value.to_le_bytes());
            frame[50..54].copy_from_slice(&sequence.to_le_bytes());
            frame[54..60].copy_from_slice(&time.to_le_bytes()[..6]);
            let stamp = u64::from(sequence) + (time & 0xffff_ffff_ffff);
            sequence = sequence.wrapping_add(1);
            bases.write(frame, u64::from(value), u64::from(value) + stamp);
        });
    });
}

/// Further programs, without hand-written counterparts.
fn others() {
    let nothing = Vary::default();
    time("nothing varies, signature", bind(nothing, true));
    let list = Source::List { values: (0..1000).collect(), order: ListOrder::Sequential };
    time("1 list", bind(vary(vec![Variable::new(list)], &[(2, "udp.src")]), false));
    let one_of = Source::Weighted { values: (0..4).collect(), weights: [7, 4, 2, 1].into(), seed: 1 };
    time("1 weighted list", bind(vary(vec![Variable::new(one_of)], &[(2, "udp.src")]), false));
    let distinct = Source::Random { from: 0, to: 0xffff_ffff, distinct: Some(1000), seed: 1 };
    time("1 of 1000 distinct random", bind(vary(vec![Variable::new(distinct)], &[(1, "ipv4.src")]), false));
    let wheel = Variable { after: Some(0), ..range(1000) };
    let odometer = vary(vec![range(254), wheel], &[(1, "ipv4.src"), (1, "ipv4.dst")]);
    time("odometer of 2", bind(odometer, false));
    let mut flows = vary(vec![range(1 << 24)], &[(1, "ipv4.src")]);
    flows.flows = Some(Flows { count: 1000, length: 10, order: FlowOrder::Random { seed: 1 } });
    time("flows drawn at random", bind(flows, false));
    let (program, packet) = bind(vary(vec![range(1 << 24)], &[(1, "ipv4.src")]), false);
    let mut jumps = Side::compiled(Jit::new().expect("a compiler"), program.clone());
    let jumping = best(&packet, &mut |burst, number| {
        for start in (0..BURST).step_by(8) {
            jumps.runner.run(burst, start..start + 8, 0, number * 2 + start as u64 * 2, 0, 0);
        }
    });
    println!("{:44} {jumping:9.2}", "1 counter, a jump every 8 packets");
    let mut single = Side::compiled(Jit::new().expect("a compiler"), program.clone());
    let singly = best(&packet, &mut |burst, number| {
        for at in 0..BURST {
            single.runner.run(burst, at..at + 1, 0, number + at as u64, 0, 0);
        }
    });
    println!("{:44} {singly:9.2}", "1 counter, packet by packet");
    let programs: Vec<_> = (0..STREAMS).map(|_| program.clone()).collect();
    let mut jit = Jit::new().expect("a compiler");
    let start = Instant::now();
    let mut runners: Vec<_> =
        programs.into_iter().map(|program| Runner::new(&mut jit, vec![program]).expect("a runner")).collect();
    let each = start.elapsed().as_secs_f64() * 1e9 / STREAMS as f64;
    println!("{:44} {each:9.2}", "1 counter, one more stream to prepare");
    let mut turn = 0;
    let streams = best(&packet, &mut |burst, number| {
        for at in 0..BURST {
            turn = if turn + 1 == runners.len() { 0 } else { turn + 1 };
            runners[turn].run(burst, at..at + 1, 0, number / STREAMS, 0, 0);
        }
    });
    println!("{:44} {streams:9.2}", "1 counter, 10,000 streams in turn");
    let mut slow = Side::compiled(Jit::interpreter(), program);
    let interpreted = best(&packet, &mut |burst, number| slow.run(burst, number));
    println!("{:44} {interpreted:9.2}", "1 counter, interpreted");
}

/// Constant sums of both checksums, as little-endian words.
struct Bases {
    ip: u64,
    udp: u64,
}

impl Bases {
    fn new(packet: &Packet, varying: &[std::ops::Range<usize>]) -> Self {
        let mut frame = packet.bytes.clone();
        for range in varying.iter().cloned().chain([24..26, 40..42]) {
            frame[range].fill(0);
        }
        let swapped = |sum| u64::from((!finish(sum)).swap_bytes());
        let pseudo = sum(&frame[26..34], 17 + 26);
        Self { ip: swapped(sum(&frame[14..34], 0)), udp: swapped(sum(&frame[34..60], pseudo)) }
    }

    #[inline(always)]
    fn write(&self, frame: &mut [u8; 60], ip: u64, udp: u64) {
        frame[24..26].copy_from_slice(&finish(self.ip + ip).to_le_bytes());
        let udp = match finish(self.udp + udp) {
            0 => 0xffff,
            udp => udp,
        };
        frame[40..42].copy_from_slice(&udp.to_le_bytes());
    }
}

#[inline(always)]
fn each(burst: &mut Burst, mut write: impl FnMut(&mut [u8; 60])) {
    for index in 0..burst.len() {
        let mut frame = burst.frame_mut(index);
        write(frame.data_mut().try_into().expect("60 bytes"));
    }
}

fn range(count: u128) -> Variable {
    Variable::new(Source::Range { first: 0x0a00_0000, step: 1, count, width: 32 })
}

/// Each variable written to one field.
fn vary(variables: Vec<Variable>, fields: &[(usize, &str)]) -> Vary {
    let write = |(variable, (header, path)): (usize, &(usize, &str))| {
        let (name, field) = path.split_once('.').expect("a path");
        let field = protocol(name).and_then(|protocol| protocol.field(field)).expect("a field");
        Write { variable, target: Target::Field { header: *header, field }, mask: u128::MAX }
    };
    Vary { variables, writes: fields.iter().enumerate().map(write).collect(), flows: None }
}

fn bind(vary: Vary, signed: bool) -> (Program, Packet) {
    let headers = ["ethernet", "ipv4", "udp"].map(|name| Header::new(protocol(name).expect("known")));
    let spec = PacketSpec { headers: headers.into(), ..PacketSpec::default() };
    let mut packet = spec.build(spec.shortest(18)).expect("a packet");
    let id = signed.then(|| Mark::of_run(1).lane(2, 3));
    (Program::new(&vary, &mut packet, id).expect("a program"), packet)
}

/// A runner.
struct Side {
    runner: Runner,
}

impl Side {
    fn compiled(mut jit: Jit, program: Program) -> Self {
        Self { runner: Runner::new(&mut jit, vec![program]).expect("a runner") }
    }

    fn run(&mut self, burst: &mut Burst, number: u64) {
        self.runner.run(burst, 0..BURST, 0, number, number as u32, number << 10);
    }
}

fn compare(what: &str, program: Program, packet: &Packet, mut by_hand: impl FnMut(&mut Burst, u64)) {
    let mut compiled = Side::compiled(Jit::new().expect("a compiler"), program);
    let (mut fast, mut hand) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..3 {
        fast = fast.min(best(packet, &mut |burst, number| compiled.run(burst, number)));
        hand = hand.min(best(packet, &mut |burst, number| by_hand(burst, number)));
    }
    println!("{what:44} {fast:9.2} {hand:9.2} {:7.2}", fast / hand);
}

fn time(what: &str, (program, packet): (Program, Packet)) {
    let mut compiled = Side::compiled(Jit::new().expect("a compiler"), program);
    let fast = best(&packet, &mut |burst, number| compiled.run(burst, number));
    println!("{what:44} {fast:9.2}");
}

/// Nanoseconds for one packet, the best of many rounds.
fn best(packet: &Packet, run: &mut dyn FnMut(&mut Burst, u64)) -> f64 {
    let mut frames = FreeFrames::new(BURSTS * BURST, 2048).expect("memory");
    let mut bursts: Vec<_> = (0..BURSTS).map(|_| Burst::new()).collect();
    for burst in &mut bursts {
        frames.take(burst, BURST);
        (0..BURST).for_each(|index| burst.frame_mut(index).copy_from(&packet.bytes));
    }
    let (mut best, mut number) = (f64::INFINITY, 0);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..TURNS {
            for burst in &mut bursts {
                run(black_box(burst), number);
                number += BURST as u64;
            }
        }
        let packets = TURNS as f64 * (BURSTS * BURST) as f64;
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / packets);
    }
    for burst in &mut bursts {
        frames.give_front(burst, BURST);
    }
    best
}
