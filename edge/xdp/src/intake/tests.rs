use super::*;
use histogram::Scale;
use measure::{Arrival, Recorder, Table};
use os::clock::monotonic_ns;
use proptest::prelude::*;
use units::Nanos;
use wire::signature::{Mark, read_at_end, unwrap_time};

const XDP_DROP: u32 = 1;
const XDP_PASS: u32 = 2;
const LENGTHS: [[u16; 2]; 4] = [[60, 60], [60, 1514], [1, 0], [18, 200]];

/// An intake and its only queue; `None` without the privilege.
fn intake() -> Option<(Intake, Records)> {
    match bpf::socket_map(1).and_then(|sockets| Intake::new(sockets.as_fd(), 0, 1)) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            eprintln!("skipped: it needs root");
            None
        }
        intake => {
            let intake = intake.unwrap();
            let records = intake.records().next().unwrap();
            Some((intake, records))
        }
    }
}

fn packets(seed: u64) -> (Mark, TestPackets) {
    let mark = Mark::of_run(seed);
    let (bits, keys) = mark.parts();
    (mark, TestPackets { mark: bits, keys, lengths: LENGTHS.to_vec() })
}

/// A UDP packet over IPv4, IPv6 or something else, or an ICMP message, with a signature.
fn frame(kind: u8, length: usize, mark: &Mark, signature: &Signature) -> Vec<u8> {
    let mut frame = vec![0x5a; length];
    let (ethertype, at, protocol) = match kind % 6 {
        0 => (0x0800, 23, 17),
        1 => (0x86dd, 20, 17),
        2 => (0x0800, 23, 1),
        3 => (0x86dd, 20, 58),
        4 => (0x8100, 23, 17),
        _ => (0x88b5, 20, 17),
    };
    if length >= 24 {
        frame[12..14].copy_from_slice(&u16::to_be_bytes(ethertype));
        frame[at] = protocol;
    }
    if let Some(end) = frame.last_chunk_mut() {
        *end = signature.bytes(mark);
    }
    frame
}

/// Whether a frame of this kind may be a report of an error, or hide one.
fn may_report(frame: &[u8]) -> bool {
    match frame.get(12..14) {
        Some([0x08, 0x00]) => frame.get(23).is_none_or(|protocol| *protocol == 1),
        Some([0x86, 0xdd]) => frame.get(20).is_none_or(|next| *next == 58),
        _ => true,
    }
}

fn run(intake: &Intake, frame: &[u8]) -> u32 {
    bpf::run_once(intake.program.as_fd(), frame).unwrap().0
}

fn recorded(records: &mut Records) -> Vec<Recorded> {
    let mut all = vec![Recorded::default(); 64];
    let n = records.take(&mut all);
    all.truncate(n);
    all
}

#[test]
fn frames_pass_until_they_are_to_be_recorded() {
    let Some((intake, mut records)) = intake() else { return };
    let (mark, packets) = packets(7);
    let one = frame(0, 60, &mark, &Signature { stream: 0, lane: 3, sequence: 5, time: 9 });
    assert_eq!((run(&intake, &one), recorded(&mut records)), (XDP_PASS, vec![]));
    records.record(Some(&packets)).unwrap();
    let before = monotonic_ns();
    assert_eq!(run(&intake, &one), XDP_DROP);
    let [seen] = recorded(&mut records)[..] else { panic!("one record") };
    assert!((before..=monotonic_ns()).contains(&seen.monotonic_ns));
    let monotonic_ns = seen.monotonic_ns;
    assert_eq!(seen, Recorded { monotonic_ns, time: 9, stream: 0, sequence: 5, lane: 3, bytes: 60 });
    // Another run's packets, and all once it is off; what nobody read is forgotten.
    assert_eq!(
        run(
            &intake,
            &frame(0, 60, &Mark::of_run(8), &Signature { stream: 0, lane: 0, sequence: 0, time: 0 })
        ),
        XDP_PASS
    );
    assert_eq!(run(&intake, &one), XDP_DROP);
    records.record(None).unwrap();
    assert_eq!(run(&intake, &one), XDP_PASS);
    records.record(Some(&packets)).unwrap();
    assert_eq!(recorded(&mut records), []);
    drop(records);
    assert_eq!(run(&intake, &one), XDP_PASS);
}

#[test]
fn too_many_streams_are_refused() {
    let Some((_intake, mut records)) = intake() else { return };
    let (_, mut packets) = packets(7);
    packets.lengths = vec![[60, 60]; STREAMS_MAX as usize + 1];
    assert!(records.record(Some(&packets)).unwrap_err().contains("65536"));
    packets.lengths.pop();
    records.record(Some(&packets)).unwrap();
}

/// Packets sent one soon after the other share an instant, a few of them; others do not.
#[test]
fn instants_are_shared_at_high_rates() {
    let Some((intake, mut records)) = intake() else { return };
    let (mark, packets) = packets(7);
    records.record(Some(&packets)).unwrap();
    let sent =
        |time| run(&intake, &frame(0, 60, &mark, &Signature { stream: 0, lane: 0, sequence: 0, time }));
    // Nothing before the first one; the ninth has had seven that share; 1,500 ns are too long; earlier ones share nothing.
    let times = [1, 200, 300, 400, 500, 600, 700, 900, 1_200, 2_600, 4_100, 4_000, 1 << 39 | 4_001];
    times.into_iter().for_each(|time| assert_eq!(sent(time), XDP_DROP));
    let own: Vec<bool> = recorded(&mut records).iter().map(|one| one.monotonic_ns != 0).collect();
    let expected = [true, false, false, false, false, false, false, false, true, false, true, true, false];
    assert_eq!(own, expected);
    // Nothing of before is shared once it is switched on again.
    records.record(Some(&packets)).unwrap();
    assert_eq!(sent(4_002), XDP_DROP);
    assert!(recorded(&mut records)[0].monotonic_ns != 0);
}

/// The ring goes round, and what finds no room is counted.
#[test]
fn a_full_ring_counts_what_it_refuses() {
    let Some((intake, mut records)) = intake() else { return };
    let (mark, packets) = packets(7);
    intake.rings.word(0, WRITTEN).store(u64::MAX - 1, Ordering::Relaxed);
    records.record(Some(&packets)).unwrap();
    let signed = |sequence| frame(1, 64, &mark, &Signature { stream: 1, lane: 0, sequence, time: 0 });
    for sequence in 0..6 {
        assert_eq!(run(&intake, &signed(sequence)), XDP_DROP);
    }
    assert_eq!(recorded(&mut records).iter().map(|one| one.sequence).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    // As if all but three slots were taken: a packet that has an instant needs two, and none is half recorded.
    intake.rings.word(0, READ).store(records.read.wrapping_sub(u64::from(SLOTS) - 3), Ordering::Relaxed);
    intake.rings.word(0, SHARED).store(u64::from(SHARED_MAX), Ordering::Relaxed);
    (10..15).for_each(|sequence| assert_eq!(run(&intake, &signed(sequence)), XDP_DROP));
    assert_eq!(intake.refused(), 4);
    let found = recorded(&mut records);
    assert_eq!(
        found.iter().map(|one| (one.sequence, one.monotonic_ns != 0)).collect::<Vec<_>>(),
        [(10, true)]
    );
}

/// A packet, and what the network does to it.
#[derive(Debug, Clone)]
struct Step {
    kind: u8,
    length: usize,
    signature: Signature,
    /// A bit to flip, counted from the end; often outside the frame.
    flip: usize,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let number = prop_oneof![4 => 0u32..40, 1 => Just(20_000), 1 => any::<u32>()];
    let length = prop_oneof![4 => Just(60usize), 1 => 14usize..80, 1 => 14usize..1600];
    let signature = (0u32..6, 0u8..3, number, any::<u64>())
        .prop_map(|(stream, lane, sequence, time)| Signature { stream, lane, sequence, time: time >> 24 });
    let step = (any::<u8>(), length, signature, prop_oneof![1 => 0usize..200, 3 => Just(usize::MAX)])
        .prop_map(|(kind, length, signature, flip)| Step { kind, length, signature, flip });
    proptest::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Loss, reordering, duplicates, numbers far away, foreign frames: what is recorded is what who reads the frames finds, and
    /// so a recorder counts the same.
    #[test]
    fn a_recorder_counts_from_records_what_it_counts_from_frames(seed: u64, steps in steps()) {
        let Some((intake, mut records)) = intake() else { return Ok(()) };
        let (mark, packets) = packets(seed);
        records.record(Some(&packets)).unwrap();
        let scale = Some(Scale::COARSE);
        let mut recorders = [(); 2].map(|()| Recorder::new(Table::new(LENGTHS.len(), scale), 2));
        for step in steps {
            let mut frame = frame(step.kind, step.length, &mark, &step.signature);
            let end = frame.len();
            if step.flip / 8 < end {
                frame[end - 1 - step.flip / 8] ^= 1 << (step.flip % 8);
            }
            let found = read_at_end(&frame, &mark).ok().filter(|found| (found.stream as usize) < LENGTHS.len());
            let found = found.filter(|found| {
                let [shortest, longest] = LENGTHS[found.stream as usize];
                (usize::from(shortest)..=usize::from(longest)).contains(&end) || !may_report(&frame)
            });
            let returned = run(&intake, &frame);
            prop_assert_eq!(returned, if found.is_some() { XDP_DROP } else { XDP_PASS }, "{:?} {:?}", &frame, found);
            let seen = recorded(&mut records);
            prop_assert_eq!(seen.len(), usize::from(found.is_some()));
            for (found, seen) in found.into_iter().zip(seen) {
                let now = Nanos(seen.monotonic_ns);
                let arrival = |stream, lane, sequence, bytes, time| {
                    let latency = now.since(unwrap_time(time, now)).0;
                    [Arrival { stream, lane, sequence, bytes, latency, ..Arrival::default() }]
                };
                let of_frame = arrival(found.stream, found.lane, found.sequence, end as u16, found.time);
                let of_record = arrival(seen.stream, seen.lane, seen.sequence, seen.bytes, seen.time);
                prop_assert_eq!(recorders[0].record(&of_frame, now), recorders[1].record(&of_record, now));
            }
        }
        let counted = recorders.map(|mut recorder| {
            recorder.settle();
            let expected: Vec<u64> = (0..LENGTHS.len()).map(|stream| recorder.expected(stream)).collect();
            let jitter: Vec<_> = recorder.jitter().collect();
            let mut table = Table::new(LENGTHS.len(), scale);
            recorder.swap(&mut table);
            let mut totals = measure::Totals::new(LENGTHS.len(), scale);
            totals.add(&table);
            let streams: Vec<_> = totals.streams.into_iter().map(|one| (one.counts, one.latency)).collect();
            (streams, expected, jitter)
        });
        prop_assert_eq!(&counted[0], &counted[1]);
        prop_assert_eq!(intake.refused(), 0);
    }
}
