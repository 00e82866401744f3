use super::outcome::CaptureCounts;
use super::*;
use pcap::{Capture, Record};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use units::Nanos;

/// A temporary folder, removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("eagre-capture-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn options(&self) -> CaptureOptions {
        CaptureOptions::new("west", self.0.join("x.pcapng"))
    }

    fn names(&self) -> Vec<String> {
        let files = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn read(path: &PathBuf) -> Capture {
    pcap::read(File::open(path).unwrap()).unwrap()
}

fn records(outcome: &CaptureOutcome) -> Vec<Record> {
    outcome.files.iter().flat_map(|path| read(path).records).collect()
}

fn times(outcome: &CaptureOutcome) -> Vec<u64> {
    records(outcome).iter().map(|record| record.at.0).collect()
}

/// Every packet is accounted for.
fn check(outcome: &CaptureOutcome, unmatched: u64) {
    assert_eq!(outcome.seen, outcome.captured + outcome.dropped + unmatched, "{outcome:?}");
    assert_eq!(outcome.matched, outcome.captured + outcome.dropped, "{outcome:?}");
}

/// Ethernet type 0x88b5 with a number, or IPv4 if the number is odd.
fn frame(number: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    bytes.extend(if number.is_multiple_of(2) { [0x88, 0xb5] } else { [8, 0] });
    bytes.extend(number.to_le_bytes());
    bytes.resize(len, number as u8);
    bytes
}

const RX: Direction = Direction::Received;

fn offer_all(tap: &mut Tap, times: impl IntoIterator<Item = u64>, len: usize) {
    for at in times {
        tap.offer(Nanos(at), RX, &frame(at, len));
    }
}

#[test]
fn what_goes_past_is_in_the_file() {
    let folder = Folder::new("plain");
    let options = CaptureOptions {
        filter: Some("ether proto 0x88b5".into()),
        snap_len: 64,
        wall_zero: Nanos(1_700_000_000_000_000_000),
        comment: Some("why".into()),
        ..folder.options()
    };
    let (mut taps, writer) = start(&options, 1).unwrap();
    offer_all(&mut taps[0], 0..10, 100);
    assert_eq!(writer.counts(), CaptureCounts { seen: 10, matched: 5, captured: 5, dropped: 0 });
    assert!(writer.is_running());
    drop(taps);
    let outcome = writer.finish();
    check(&outcome, 5);
    assert_eq!((outcome.captured, outcome.displaced, outcome.error.clone()), (5, 0, None));
    assert_eq!(outcome.files, [options.path]);
    for (record, number) in records(&outcome).iter().zip([0, 2, 4, 6, 8]) {
        assert_eq!(record.at.0, 1_700_000_000_000_000_000 + number);
        assert_eq!((record.original_len, &record.bytes[..]), (100, &frame(number, 100)[..64]));
    }
    let interface = &read(&outcome.files[0]).interfaces[0];
    assert_eq!((interface.name.as_deref(), interface.snap_len), (Some("west"), 64));
}

#[test]
fn what_the_port_did_not_take_is_not_captured() {
    let folder = Folder::new("sent");
    let (mut taps, writer) = start(&folder.options(), 1).unwrap();
    let tap = &mut taps[0];
    for (at, staged, sent) in [(0, 4, 4), (10, 4, 1), (20, 3, 0), (30, 64, 63), (100, 0, 0)] {
        for i in 0..staged {
            tap.stage(Nanos(at + i), &frame(at + i, 60));
        }
        tap.commit(sent);
    }
    tap.offer(Nanos(200), RX, &frame(200, 60));
    drop(taps);
    let outcome = writer.finish();
    check(&outcome, 0);
    let expected: Vec<u64> = (0..4).chain([10]).chain(30..93).chain([200]).collect();
    assert_eq!(times(&outcome), expected);
}

#[test]
fn only_the_wanted_direction_is_seen() {
    for (directions, expected) in
        [(Directions::Received, vec![1]), (Directions::Sent, vec![0, 2]), (Directions::Both, vec![0, 1, 2])]
    {
        let folder = Folder::new("direction");
        let options = CaptureOptions { directions, ..folder.options() };
        let (mut taps, writer) = start(&options, 1).unwrap();
        taps[0].stage(Nanos(0), &frame(0, 60));
        taps[0].commit(1);
        taps[0].offer(Nanos(1), RX, &frame(1, 60));
        taps[0].offer(Nanos(2), Direction::Sent, &frame(2, 60));
        drop(taps);
        let outcome = writer.finish();
        assert_eq!(outcome.seen, expected.len() as u64);
        assert_eq!(times(&outcome), expected);
    }
}

#[test]
fn workers_packets_are_merged_by_time() {
    let folder = Folder::new("merge");
    let (taps, writer) = start(&folder.options(), 4).unwrap();
    let clock = AtomicU64::new(1);
    thread::scope(|scope| {
        for mut tap in taps {
            let clock = &clock;
            scope.spawn(move || {
                for _ in 0..2_000 {
                    let at = clock.fetch_add(1, Ordering::Relaxed);
                    tap.offer(Nanos(at), RX, &frame(at, 60));
                    if at.is_multiple_of(100) {
                        thread::sleep(std::time::Duration::from_micros(200));
                    }
                }
            });
        }
    });
    let outcome = writer.finish();
    check(&outcome, 0);
    assert_eq!((outcome.captured, outcome.dropped), (8_000, 0));
    let mut times = times(&outcome);
    // A worker that the machine held up for longer than a pass may come late.
    let late = times.windows(2).filter(|pair| pair[0] > pair[1]).count();
    assert!(late < 80, "{late} of 8000 packets out of order");
    times.sort_unstable();
    assert_eq!(times, (1..=8_000).collect::<Vec<_>>());
}

#[test]
fn drops_are_counted_to_the_packet() {
    for round in 0..5 {
        let folder = Folder::new("drops");
        let options =
            CaptureOptions { ring_bytes: 4096 << round, filter: Some("not ip".into()), ..folder.options() };
        let (taps, writer) = start(&options, 3).unwrap();
        thread::scope(|scope| {
            for (worker, mut tap) in taps.into_iter().enumerate() {
                scope.spawn(move || {
                    for i in 0..5_000u64 {
                        let at = i * 10 + worker as u64;
                        if i % 7 == 0 {
                            tap.offer(Nanos(at), RX, &frame(i, 60 + at as usize % 1000));
                        } else {
                            tap.stage(Nanos(at), &frame(i, 60 + at as usize % 1000));
                            tap.stage(Nanos(at), &frame(0, 60));
                            tap.commit(1);
                        }
                    }
                });
            }
        });
        let outcome = writer.finish();
        assert_eq!(outcome.seen, 15_000);
        check(&outcome, 7_500);
        assert!(outcome.dropped > 0 || round > 0, "a ring of 4 KiB holds it all");
        assert_eq!(records(&outcome).len() as u64, outcome.captured);
    }
}

#[test]
fn files_follow_one_another_by_size() {
    let folder = Folder::new("size");
    let keep = Keep::Rotate { every: Every::Bytes(1000), files_max: Some(3) };
    let options = CaptureOptions { keep, ..folder.options() };
    let (mut taps, writer) = start(&options, 1).unwrap();
    offer_all(&mut taps[0], 0..50, 68);
    // Longer than a file may be: it gets one of its own.
    offer_all(&mut taps[0], [50, 51], 2000);
    drop(taps);
    let outcome = writer.finish();
    check(&outcome, 0);
    let left = records(&outcome).len() as u64;
    assert_eq!((outcome.captured, outcome.displaced), (52, 52 - left));
    assert_eq!(times(&outcome), (52 - left..52).collect::<Vec<_>>());
    let names: Vec<_> = outcome.files.iter().map(|p| p.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(folder.names(), names);
    assert_eq!(names.len(), 3);
    assert!(names.iter().all(|name| name.starts_with("x_000") && name.ends_with(".pcapng")), "{names:?}");
    assert_eq!(read(&outcome.files[2]).records.len(), 1);
    // The statistics at the end take 84 bytes.
    assert!(fs::metadata(&outcome.files[0]).unwrap().len() <= 1084);
}

#[test]
fn files_follow_one_another_by_time() {
    let folder = Folder::new("time");
    let keep = Keep::Rotate { every: Every::Time(Nanos(100)), files_max: None };
    let (mut taps, writer) = start(&CaptureOptions { keep, ..folder.options() }, 1).unwrap();
    offer_all(&mut taps[0], [5, 104, 105, 106, 400, 499, 500], 60);
    drop(taps);
    let outcome = writer.finish();
    let files: Vec<Vec<u64>> =
        outcome.files.iter().map(|path| read(path).records.iter().map(|r| r.at.0).collect()).collect();
    assert_eq!(files, [vec![5, 104], vec![105, 106], vec![400, 499], vec![500]]);
    assert_eq!(folder.names()[..2], ["x_00001.pcapng", "x_00002.pcapng"]);
}

#[test]
fn memory_holds_the_last_packets() {
    for (bytes, packets, left) in
        [(u64::MAX, 10, 10), (1000, u64::MAX, 7), (u64::MAX, u64::MAX, 100), (0, 9, 0)]
    {
        let folder = Folder::new("memory");
        let keep = Keep::Last { bytes, packets };
        let (mut taps, writer) = start(&CaptureOptions { keep, ..folder.options() }, 1).unwrap();
        offer_all(&mut taps[0], 0..100, 80);
        drop(taps);
        let outcome = writer.finish();
        check(&outcome, 0);
        assert_eq!(times(&outcome), (100 - left..100).collect::<Vec<_>>(), "{keep:?}");
        assert_eq!((outcome.captured, outcome.displaced), (100, 100 - left));
    }
}

#[test]
fn a_full_disk_ends_the_capture_and_nothing_else() {
    for keep in [Keep::All, Keep::Last { bytes: u64::MAX, packets: 50 }] {
        let options = CaptureOptions { keep, ..CaptureOptions::new("west", "/dev/full") };
        let (mut taps, writer) = start(&options, 1).unwrap();
        offer_all(&mut taps[0], 0..100, 60);
        if keep == Keep::All {
            while writer.is_running() {
                offer_all(&mut taps[0], [100], 60);
                thread::yield_now();
            }
            let seen = writer.counts().seen;
            offer_all(&mut taps[0], 0..100, 60);
            assert_eq!(writer.counts().seen, seen, "nobody looks any more");
        }
        drop(taps);
        let outcome = writer.finish();
        check(&outcome, 0);
        let error = outcome.error.clone().unwrap();
        assert!(error.starts_with("/dev/full: No space left on device"), "{error}");
        // What memory has displaced was captured all right.
        assert_eq!(outcome.captured, if keep == Keep::All { 0 } else { 50 });
    }
}

/// As a full disk leaves it.
#[test]
fn a_file_ends_with_a_whole_block() {
    let folder = Folder::new("whole");
    let (mut taps, writer) = start(&folder.options(), 1).unwrap();
    offer_all(&mut taps[0], 0..10, 60);
    drop(taps);
    let path = writer.finish().files[0].clone();
    let all = fs::read(&path).unwrap();
    let mut packets = Vec::new();
    for len in 0..=all.len() {
        fs::write(&path, &all[..len]).unwrap();
        packets.push(super::sink::cut_to_blocks(&path, 0).unwrap());
        let left = fs::metadata(&path).unwrap().len() as usize;
        assert!(
            left <= len && (packets[len] == 0 || read(&path).records.len() as u64 == packets[len]),
            "{len}"
        );
    }
    assert!(packets.is_sorted() && packets[0] == 0 && packets[all.len()] == 10, "{packets:?}");
}

#[test]
fn what_cannot_begin_is_refused() {
    let folder = Folder::new("refused");
    let options = CaptureOptions { filter: Some("udp prot".into()), ..folder.options() };
    let error = start(&options, 1).err().unwrap();
    assert!(error.is_bad_input() && error.to_string().starts_with("filter 'udp prot': "), "{error}");
    assert_eq!(folder.names(), [] as [&str; 0]);
    let error = start(&CaptureOptions::new("west", folder.0.join("none/x.pcapng")), 1).err().unwrap();
    assert!(error.to_string().ends_with("none/x.pcapng: No such file or directory (os error 2)"), "{error}");
}

#[test]
fn ends_while_taps_are_in_use() {
    let folder = Folder::new("early");
    let (mut taps, writer) = start(&folder.options(), 1).unwrap();
    offer_all(&mut taps[0], 0..10, 60);
    let outcome = writer.finish();
    check(&outcome, 0);
    assert_eq!(outcome.captured, 10);
    offer_all(&mut taps[0], 10..20, 60);
    taps[0].stage(Nanos(30), &frame(30, 60));
    taps[0].commit(1);
    assert_eq!(records(&outcome).len(), 10);
}

#[test]
fn capinfos_reads_the_files() {
    let folder = Folder::new("capinfos");
    let keep = Keep::Rotate { every: Every::Bytes(1000), files_max: None };
    let (mut taps, writer) = start(&CaptureOptions { keep, ..folder.options() }, 1).unwrap();
    offer_all(&mut taps[0], 0..20, 60);
    drop(taps);
    let outcome = writer.finish();
    assert!(outcome.files.len() > 1);
    for path in &outcome.files {
        let Ok(output) = Command::new("capinfos").args(["-M", "-c", "-t"]).arg(path).output() else {
            eprintln!("capinfos is not installed: left out");
            return;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let facts = String::from_utf8_lossy(&output.stdout);
        let packets = format!("Number of packets:   {}", read(path).records.len());
        assert!(facts.contains(&packets) && facts.contains("pcapng"), "{facts}");
    }
}

#[test]
#[ignore = "a measurement: cargo test --release -p engine capture -- --ignored --nocapture"]
fn speed() {
    for (filter, len) in [(None, 60), (None, 1514), (Some("udp port 53"), 60)] {
        let folder = Folder::new("speed");
        let keep = Keep::Last { bytes: 1 << 20, packets: u64::MAX };
        let filter = filter.map(str::to_owned);
        let options = CaptureOptions { keep, filter: filter.clone(), ..folder.options() };
        let (mut taps, writer) = start(&options, 1).unwrap();
        let bytes = frame(1, len);
        let mut spent = std::time::Duration::ZERO;
        for round in 0..200 {
            let start = std::time::Instant::now();
            for i in 0..2_000 {
                taps[0].offer(Nanos(round * 2_000 + i), RX, &bytes);
            }
            spent += start.elapsed();
            thread::sleep(std::time::Duration::from_millis(3));
        }
        drop(taps);
        let outcome = writer.finish();
        eprintln!(
            "{filter:?} {len} B: {} ns a packet, {} dropped",
            spent.as_nanos() / 400_000,
            outcome.dropped
        );
    }
    // How fast a full ring is written to a file.
    let folder = Folder::new("drain");
    let options = CaptureOptions { ring_bytes: 64 << 20, ..folder.options() };
    let (mut taps, writer) = start(&options, 1).unwrap();
    offer_all(&mut taps[0], 0..700_000, 60);
    let start = std::time::Instant::now();
    let outcome = writer.finish();
    let (left, captured) = (start.elapsed().as_nanos(), outcome.captured);
    eprintln!("to a file: the last of {captured} packets {} ms after the end", left / 1_000_000);
}

#[test]
fn switched_off_it_sees_nothing_and_has_written_everything() {
    let folder = Folder::new("switched");
    let (mut taps, writer) = start(&folder.options(), 1).unwrap();
    writer.switch(false);
    offer_all(&mut taps[0], 0..10, 60);
    writer.switch(true);
    offer_all(&mut taps[0], 10..15, 60);
    writer.switch(false);
    let settled = (0..10_000).any(|_| {
        thread::sleep(std::time::Duration::from_millis(1));
        writer.is_settled()
    });
    assert!(settled, "what was captured is not in the file");
    let numbers: Vec<u64> = read(&folder.options().path).records.iter().map(|record| record.at.0).collect();
    assert_eq!(numbers, [10, 11, 12, 13, 14]);
    let outcome = writer.finish();
    assert_eq!((outcome.seen, outcome.captured), (5, 5));
    assert!(!taps[0].wants(RX), "what has ended stays so");
}
