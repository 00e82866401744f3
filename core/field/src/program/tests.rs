use super::*;
use crate::vary::{ListOrder, Source, Variable};
use std::collections::HashSet;
use std::sync::Arc;
use wire::signature::Mark;
use wire::{Header, PacketSpec, protocol, read};

fn packet(headers: &[&str], payload: usize) -> Packet {
    let headers = headers.iter().map(|name| Header::new(protocol(name).unwrap())).collect();
    let spec = PacketSpec { headers, payload: vec![0x5a; payload], ..PacketSpec::default() };
    let length = spec.shortest(0);
    spec.build(length).unwrap()
}

fn udp() -> Packet {
    packet(&["ethernet", "ipv4", "udp"], 18)
}

fn field(header: usize, path: &str) -> Target {
    let (name, field) = path.split_once('.').unwrap();
    Target::Field { header, field: protocol(name).unwrap().field(field).unwrap() }
}

fn write(variable: usize, target: Target) -> Write {
    Write { variable, target, mask: u128::MAX }
}

fn counter(first: u128, count: u128, width: u16) -> Variable {
    Variable::new(Source::Range { first, step: 1, count, width })
}

fn vary(variables: Vec<Variable>, writes: Vec<Write>) -> Vary {
    Vary { variables, writes, flows: None }
}

fn at(number: u64) -> Inputs {
    Inputs { number, sequence: 0, time: 0 }
}

/// Whether a checksum is right, word by word as a receiver checks it (RFC 1071 section 1).
fn is_right(checksum: &Checksum, frame: &[u8]) -> bool {
    let mut bytes = frame[checksum.start..checksum.end].to_vec();
    if bytes.len() % 2 == 1 {
        bytes.push(0);
    }
    if let Some(pseudo_header) = &checksum.pseudo_header {
        bytes.extend_from_slice(&frame[pseudo_header.addresses.clone()]);
        bytes.extend_from_slice(&pseudo_header.rest.to_be_bytes());
    }
    let words = bytes.chunks(2).map(|pair| u64::from(pair[0]) * 256 + u64::from(pair[1]));
    words.sum::<u64>() % 0xffff == 0
}

#[test]
fn writes_fields_and_checksums() {
    let mut packet = udp();
    let vary = vary(
        vec![counter(0x0a00_0001, 1 << 24, 32), counter(0xfffe, 4, 16)],
        vec![write(0, field(1, "ipv4.src")), write(1, field(2, "udp.dst"))],
    );
    let program = Program::new(&vary, &mut packet, None).unwrap();
    assert!(packet.checksums.iter().all(|c| is_right(c, &packet.bytes)));
    let mut frame = packet.bytes.clone();
    program.write(&mut frame, &at(259));
    let (headers, _) = read(&frame);
    let value = |header: usize, name: &str| {
        headers[header].protocol.field(name).unwrap().get(&frame[headers[header].offset..]).unwrap()
    };
    assert_eq!((value(1, "src"), value(2, "dst")), (0x0a00_0104, 0x0001));
    assert_eq!(program.checksums().len(), 2);
    assert!(program.checksums().iter().all(|c| is_right(c, &frame)));
    // Whatever an earlier write left, and number 0 is the packet itself.
    program.write(&mut frame, &at(0));
    assert_eq!((&frame, program.template()), (&packet.bytes, &packet.bytes[..]));
}

#[test]
fn signs() {
    let mut packet = udp();
    let mark = Mark::of_run(77);
    let vary = vary(vec![counter(1, 9, 8)], vec![write(0, field(1, "ipv4.ttl"))]);
    let program = Program::new(&vary, &mut packet, Some(mark.lane(0x12345, 9))).unwrap();
    let mut frame = packet.bytes.clone();
    program.write(&mut frame, &Inputs { number: 4, sequence: u32::MAX, time: 0xffff_1234_5678_9abc });
    let signature = signature::find(&frame, &mark).unwrap();
    assert_eq!((signature.stream, signature.lane, signature.sequence), (0x12345, 9, u32::MAX));
    assert_eq!((signature.time, frame[22]), (0x34_5678_9abc, 5));
    assert!(program.checksums().iter().all(|c| is_right(c, &frame)));
}

#[test]
fn keeps_the_template_where_nothing_is_written() {
    let mut packet = udp();
    let before = packet.bytes.clone();
    let first = packet.payload as u32 * 8;
    let variables = vec![counter(0xfff, 1, 12)];
    let writes = vec![
        Write { variable: 0, target: Target::PayloadBits { offset: 4, width: 12 }, mask: 0x0f3 },
        write(0, Target::Bits { offset: first + 19, width: 3 }),
        Write { variable: 0, target: field(0, "ethernet.src"), mask: 0 },
    ];
    Program::new(&vary(variables, writes), &mut packet, None).unwrap();
    // 0x5a 0x5a 0x5a with bits 8 to 11, 14, 15, and 19 to 21 set.
    assert_eq!(packet.bytes[packet.payload..][..3], [0x5a, 0xfb, 0x5e]);
    assert_eq!(packet.bytes[..14], before[..14]);
}

#[test]
fn a_written_checksum_is_not_computed() {
    let mut packet = udp();
    let vary = vary(vec![counter(0xbad0, 9, 16)], vec![write(0, field(2, "udp.checksum"))]);
    let program = Program::new(&vary, &mut packet, None).unwrap();
    let mut frame = packet.bytes.clone();
    program.write(&mut frame, &at(3));
    assert_eq!(frame[40..42], [0xba, 0xd3]);
    assert_eq!(program.checksums().len(), 1);
}

#[test]
fn odometers() {
    let wheel = |digits, every, after| Variable { every, after, ..counter(0, digits, 8) };
    let list = Source::List { values: Arc::from([5, 6]), order: ListOrder::Sequential };
    let copy = Source::Derived { of: 1, shift: 0, add: 0, mask: u128::MAX, width: 8 };
    let vary = vary(
        vec![
            wheel(3, 2, None),
            Variable { after: Some(0), ..Variable::new(list) },
            Variable::new(copy),
            wheel(10, 2, Some(2)),
        ],
        vec![],
    );
    let program = Program::new(&vary, &mut udp(), None).unwrap();
    let values: Vec<_> = (0..8).map(|n| program.values(n)[..2].to_vec()).collect();
    let expected = [[0, 5], [0, 5], [1, 5], [1, 5], [2, 5], [2, 5], [0, 6], [0, 6]];
    assert_eq!(values, expected);
    // The list goes round every 12 packets, and the last wheel keeps a digit for two rounds of its copy.
    assert_eq!([11, 12, 23, 24, 47, 48, 239, 240].map(|n| program.values(n)[3]), [0, 0, 0, 1, 1, 2, 9, 0]);
    assert_eq!(program.variables()[3].divisor(), 24);
}

#[test]
fn an_odometer_may_be_too_long_to_turn() {
    let wheel = |after| Variable { every: 1, after, ..counter(0, 1 << 100, 128) };
    let vary = vary(vec![wheel(None), wheel(Some(0)), wheel(Some(1))], vec![]);
    let program = Program::new(&vary, &mut udp(), None).unwrap();
    assert_eq!(program.values(u64::MAX), [u128::from(u64::MAX), 0, 0]);
}

fn flows(count: u64, length: u64, order: FlowOrder) -> Program {
    let vary = Vary {
        variables: vec![counter(0, 1 << 64, 64)],
        writes: vec![],
        flows: Some(Flows { count, length, order }),
    };
    Program::new(&vary, &mut udp(), None).unwrap()
}

#[test]
fn flows_one_after_the_other() {
    let advance = |program: &Program| (0..7).map(|n| program.values(n)[0]).collect::<Vec<_>>();
    assert_eq!(advance(&flows(2, 3, FlowOrder::Sequential)), [0, 0, 0, 1, 1, 1, 2]);
    assert_eq!(advance(&flows(3, 0, FlowOrder::Sequential)), [0, 1, 2, 0, 1, 2, 0]);
}

#[test]
fn flows_at_random() {
    for (count, length) in [(50, 4), (10, 5), (1, 3), (7, 1), (64, 1_000)] {
        let program = flows(count, length, FlowOrder::Random { seed: 1 });
        let mut orders = HashSet::new();
        for generation in 0..20u64 {
            let order: Vec<_> = (0..count * length)
                .map(|n| program.values(generation * count * length + n)[0] - u128::from(generation * count))
                .collect();
            let mut packets = vec![0; count as usize];
            order.iter().for_each(|flow| packets[*flow as usize] += 1);
            assert!(packets.iter().all(|n| *n == length), "{count} flows of {length}: {packets:?}");
            orders.insert(order);
        }
        // Of one flow there is one order.
        assert!(orders.len() > 15 || count == 1, "{} orders of {count} flows of {length}", orders.len());
    }
    let forever = flows(4, 0, FlowOrder::Random { seed: 1 });
    let seen: HashSet<_> = (0..1000).map(|n| forever.values(n * 1_000_003)[0]).collect();
    assert_eq!(seen, (0..4).collect());
}

/// A range of 2^24 addresses gives each once before the first repeat, for any assignment of packets to workers.
#[test]
fn no_address_repeats_too_early() {
    let count = 1u64 << 24;
    let vary = vary(vec![counter(0x0a00_0000, u128::from(count), 32)], vec![write(0, field(1, "ipv4.src"))]);
    let program = Program::new(&vary, &mut udp(), None).unwrap();
    let mut seen = vec![false; count as usize];
    let (workers, group) = (2, 32);
    for worker in 0..workers {
        for slot in (worker..count / group).step_by(workers as usize) {
            for number in slot * group..(slot + 1) * group {
                let index = program.value(0, number) as usize - 0x0a00_0000;
                assert!(!std::mem::replace(&mut seen[index], true), "{number} repeats");
            }
        }
    }
    assert!(seen.iter().all(|seen| *seen));
    assert_eq!(program.values(count), program.values(0));
}

#[test]
fn says_what_is_wrong() {
    let bind = |vary: Vary| Program::new(&vary, &mut udp(), None).unwrap_err();
    let variable =
        |source, every, after| vary(vec![Variable { every, after, ..Variable::new(source) }], vec![]);
    let range = |count, width| Source::Range { first: 0, step: 1, count, width };
    let any = Source::Random { from: 0, to: 9, distinct: None, seed: 0 };
    let derived = |of| Source::Derived { of, shift: 0, add: 0, mask: 0, width: 8 };
    let weighted =
        |weights: &[u32]| Source::Weighted { values: Arc::from([1, 2]), weights: weights.into(), seed: 0 };
    let zero = |what| ProgramError::Zero { of: "variable 0".to_owned(), what };
    let width = |of: &str, width| ProgramError::Width { of: of.to_owned(), width };
    assert_eq!(bind(variable(range(0, 8), 1, None)), zero("count"));
    assert_eq!(bind(variable(range(1, 8), 0, None)), zero("every"));
    assert_eq!(bind(variable(range(1, 0), 1, None)), width("variable 0", 0));
    assert_eq!(bind(variable(range(1, 129), 1, None)), width("variable 0", 129));
    let none = Source::Random { from: 0, to: 9, distinct: Some(0), seed: 0 };
    assert_eq!(bind(variable(none, 1, None)), zero("distinct"));
    let backwards = Source::Random { from: 1, to: 0, distinct: None, seed: 0 };
    assert_eq!(bind(variable(backwards, 1, None)), ProgramError::Backwards { variable: 0 });
    let empty = Source::List { values: Arc::from([]), order: ListOrder::Sequential };
    assert_eq!(bind(variable(empty, 1, None)), ProgramError::Empty { variable: 0 });
    for weights in [&[0, 0][..], &[1], &[1, 2, 3]] {
        assert_eq!(bind(variable(weighted(weights), 1, None)), ProgramError::Weights { variable: 0 });
    }
    assert_eq!(
        bind(variable(range(1, 8), 1, Some(0))),
        ProgramError::NotEarlier { variable: 0, refers_to: 0 }
    );
    assert_eq!(bind(variable(derived(3), 1, None)), ProgramError::NotEarlier { variable: 0, refers_to: 3 });
    let two = |first, source, every, after| {
        vary(vec![Variable::new(first), Variable { every, after, ..Variable::new(source) }], vec![])
    };
    let endless = ProgramError::Endless { variable: 1, after: 0 };
    assert_eq!(bind(two(any, range(1, 8), 1, Some(0))), endless);
    let derived_advances = ProgramError::DerivedAdvances { variable: 1 };
    assert_eq!(bind(two(range(1, 8), derived(0), 2, None)), derived_advances);
    assert_eq!(bind(two(range(1, 8), derived(0), 1, Some(0))), derived_advances);
    let none =
        Vary { flows: Some(Flows { count: 0, length: 1, order: FlowOrder::Sequential }), ..Vary::default() };
    assert_eq!(bind(none), ProgramError::Zero { of: "flows".to_owned(), what: "count" });
}

#[test]
fn says_what_cannot_be_written() {
    let bind = |writes: Vec<Write>, id: Option<LaneMark>, mut packet: Packet| {
        Program::new(&vary(vec![counter(0, 9, 8)], writes), &mut packet, id).unwrap_err()
    };
    let id = Some(Mark::of_run(1).lane(0, 0));
    let bits = |offset, width| write(0, Target::Bits { offset, width });
    assert_eq!(
        bind(vec![write(1, field(1, "ipv4.src"))], None, udp()),
        ProgramError::NoVariable { write: 0, variable: 1 }
    );
    assert_eq!(
        bind(vec![write(0, field(3, "ipv4.src"))], None, udp()),
        ProgramError::NoHeader { write: 0, header: 3 }
    );
    assert_eq!(
        bind(vec![bits(0, 0)], None, udp()),
        ProgramError::Width { of: "write 0".to_owned(), width: 0 }
    );
    assert_eq!(
        bind(vec![bits(473, 8)], None, udp()),
        ProgramError::OutsideFrame { write: 0, end_bits: 481, frame_bits: 480 }
    );
    assert_eq!(
        bind(vec![bits(100, 10), bits(110, 1), bits(90, 11)], None, udp()),
        ProgramError::Overlap { first: 0, second: 2 }
    );
    let in_signature = write(0, Target::PayloadBits { offset: 0, width: 1 });
    assert_eq!(bind(vec![in_signature], id, udp()), ProgramError::OverlapsSignature { write: 0 });
    let error = bind(vec![], id, packet(&["ethernet", "ipv4", "tcp"], 6));
    assert_eq!(error, ProgramError::NoRoomForSignature { payload: 6 });
    assert_eq!(error.to_string(), "a signature needs 18 bytes of payload, but there are only 6");
}

#[test]
fn masks_decide_what_overlaps() {
    let part = |mask, target| Write { variable: 0, target, mask };
    let (high, low) = (part(0xff00, field(2, "udp.src")), part(0x00ff, field(2, "udp.src")));
    let last = part(1, Target::Bits { offset: 34 * 8, width: 8 });
    let bind = |writes| Program::new(&vary(vec![counter(0xabcd, 9, 16)], writes), &mut udp(), None);
    assert!(bind(vec![high.clone(), low.clone()]).is_ok());
    assert!(bind(vec![low.clone(), last.clone()]).is_ok());
    assert_eq!(bind(vec![high, last]).unwrap_err(), ProgramError::Overlap { first: 0, second: 1 });
}
