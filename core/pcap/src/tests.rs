use super::*;
use proptest::prelude::*;
use std::io::{self, ErrorKind, Write};

/// Bytes of a file, number by number in one byte order.
struct File {
    bytes: Vec<u8>,
    big: bool,
}

impl File {
    fn new(big: bool) -> Self {
        Self { bytes: Vec::new(), big }
    }

    fn u16(mut self, n: u16) -> Self {
        self.bytes.extend(if self.big { n.to_be_bytes() } else { n.to_le_bytes() });
        self
    }

    fn u32(mut self, n: u32) -> Self {
        self.bytes.extend(if self.big { n.to_be_bytes() } else { n.to_le_bytes() });
        self
    }

    fn u64(mut self, n: u64) -> Self {
        self.bytes.extend(if self.big { n.to_be_bytes() } else { n.to_le_bytes() });
        self
    }

    fn time(self, n: u64) -> Self {
        self.u32((n >> 32) as u32).u32(n as u32)
    }

    /// Bytes and zeros up to the next word.
    fn padded(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }

    fn option(self, code: u16, value: &[u8]) -> Self {
        self.u16(code).u16(value.len() as u16).padded(value)
    }

    fn block(self, kind: u32, body: impl FnOnce(Self) -> Self) -> Self {
        let inner = body(Self::new(self.big)).bytes;
        let len = inner.len() as u32 + 12;
        self.u32(kind).u32(len).padded(&inner).u32(len)
    }

    fn section(self) -> Self {
        self.block(ng::SECTION, |b| b.u32(0x1a2b_3c4d).u16(1).u16(0).u64(u64::MAX))
    }

    /// An Ethernet interface with one option and no end mark after it.
    fn interface(self, code: u16, value: &[u8]) -> Self {
        self.block(1, |b| b.u16(1).u16(0).u32(0).option(code, value))
    }

    fn packet(self, interface: u32, time: u64, bytes: &[u8]) -> Self {
        let len = bytes.len() as u32;
        self.block(6, |b| b.u32(interface).time(time).u32(len).u32(len + 7).padded(bytes))
    }

    fn classic(self, magic: u32, link: u32) -> Self {
        self.u32(magic).u16(2).u16(4).u32(0).u32(0).u32(65535).u32(link)
    }

    fn record(mut self, seconds: u32, part: u32, len: u32, bytes: &[u8]) -> Self {
        self = self.u32(seconds).u32(part).u32(len).u32(len);
        self.bytes.extend(bytes);
        self
    }

    fn read(&self) -> Capture {
        read(&self.bytes[..]).unwrap()
    }

    fn error(&self) -> String {
        read(&self.bytes[..]).unwrap_err().to_string()
    }
}

fn times(capture: &Capture) -> Vec<u64> {
    capture.records.iter().map(|r| r.at.0).collect()
}

#[test]
fn reads_every_kind_of_pcap() {
    for big in [false, true] {
        for (magic, nanos) in [(0xa1b2_c3d4, 1_000), (0xa1b2_3c4d, 1)] {
            let file = File::new(big).classic(magic, 1).record(7, 999_999, 3, b"abc").record(7, 0, 0, b"");
            let capture = file.read();
            assert_eq!(times(&capture), [7_000_000_000 + 999_999 * nanos, 7_000_000_000]);
            assert_eq!(capture.records[0].bytes, b"abc");
            assert_eq!(
                capture.interfaces,
                [Interface { link_type: 1, name: None, snap_len: 65535, fcs_bytes: 0 }]
            );
            assert_eq!(capture.warnings, [] as [String; 0]);
        }
    }
}

#[test]
fn knows_of_a_frame_check_sequence() {
    let capture = File::new(false).classic(0xa1b2_c3d4, 0x2400_0001).read();
    assert_eq!((capture.interfaces[0].link_type, capture.interfaces[0].fcs_bytes), (1, 4));
    let capture = File::new(true).section().interface(13, &[32]).read();
    assert_eq!(capture.interfaces[0].fcs_bytes, 4);
}

#[test]
fn keeps_what_is_before_a_record_cut_short() {
    let file = File::new(false).classic(0xa1b2_c3d4, 1).record(1, 0, 2, b"ab").record(2, 0, 9, b"cd");
    let capture = file.read();
    assert_eq!(capture.records.len(), 1);
    assert_eq!(
        capture.warnings,
        [
            "record 2 at byte 42 is cut short, 18 of 25 bytes; the file ends there, and the records before it are kept"
        ]
    );
    let mut file = File::new(true).section().interface(9, &[9]).packet(0, 1, b"ab").packet(0, 2, b"cd");
    let whole = file.bytes.len();
    for cut in 1..36 {
        file.bytes.truncate(whole - cut);
        let capture = file.read();
        assert_eq!(times(&capture), [1], "without the last {cut}");
        assert_eq!(capture.warnings.len(), 1);
        assert!(capture.warnings[0].starts_with("block 4 at byte "), "{}", capture.warnings[0]);
    }
}

#[test]
fn reads_pcapng_of_both_byte_orders_and_many_interfaces() {
    for big in [false, true] {
        let mut file = File::new(big)
            .section()
            .interface(2, b"west")
            .interface(9, &[9])
            .block(0x0bad, |b| b.padded(b"a block nobody knows"))
            .packet(1, 5_000_000_001, b"abc")
            .packet(0, 5_000_001, b"de")
            // Of the obsolete kind: interface and drop count share a word.
            .block(2, |b| b.u16(1).u16(3).time(1 << 40).u32(1).u32(60).padded(b"f"))
            .block(3, |b| b.u32(4).padded(b"ghij"));
        // A second section, whose interfaces are counted anew.
        let other = File::new(!big).section().interface(2, b"east").packet(0, 7, b"k");
        file.bytes.extend(other.bytes);
        let capture = file.read();
        let names: Vec<_> = capture.interfaces.iter().map(|i| i.name.as_deref()).collect();
        assert_eq!(names, [Some("west"), None, Some("east")]);
        let found: Vec<_> = capture
            .records
            .iter()
            .map(|r| (r.interface, r.at.0, r.original_len, std::str::from_utf8(&r.bytes).unwrap()))
            .collect();
        assert_eq!(
            found,
            [
                (1, 5_000_000_001, 10, "abc"),
                (0, 5_000_001_000, 9, "de"),
                (1, 1 << 40, 60, "f"),
                (0, 1 << 40, 4, "ghij"),
                (2, 7_000, 8, "k")
            ]
        );
        assert_eq!(capture.warnings, [ng::NO_TIME]);
    }
}

#[test]
fn a_simple_packet_ends_at_the_snap_length() {
    let file = File::new(false)
        .section()
        .block(1, |b| b.u16(1).u16(0).u32(2))
        .block(3, |b| b.u32(1500).padded(b"ab"));
    let record = &file.read().records[0];
    assert_eq!((record.at, record.original_len, &record.bytes[..]), (Nanos::ZERO, 1500, &b"ab"[..]));
}

#[test]
fn tells_time_in_any_resolution() {
    for (resolution, units, nanos) in [
        (6, 1, 1_000),
        (9, 1, 1),
        (0, 3, 3_000_000_000),
        (3, 1_700_000_000_123, 1_700_000_000_123_000_000),
        (12, 1_999, 1),
        (60, u64::MAX, 0),
        (127, u64::MAX, 0),
        (0x80, 3, 3_000_000_000),
        (0x80 | 10, 1, 976_562),
        (0x80 | 32, 3 << 31, 1_500_000_000),
        (0xff, u64::MAX, 0),
    ] {
        let file = File::new(false).section().interface(9, &[resolution]).packet(0, units, b"");
        assert_eq!(times(&file.read()), [nanos], "{units} units of {resolution:#x}");
    }
    for (offset, units, nanos) in [(10i64, 1, 10_000_001_000), (-3, 4_000_000, 1_000_000_000)] {
        let offset = if cfg!(target_endian = "little") { offset.to_le_bytes() } else { offset.to_be_bytes() };
        let big = cfg!(target_endian = "big");
        let file = File::new(big).section().interface(14, &offset).packet(0, units, b"");
        assert_eq!(times(&file.read()), [nanos]);
    }
}

#[test]
fn says_where_and_why() {
    let ng = || File::new(false).section().interface(9, &[9]);
    let lengths = |file: File, len: u32| file.u32(6).u32(len).padded(&[0; 64]);
    for (file, error) in [
        (File::new(false), "not a pcap or pcapng file: it is empty"),
        (File::new(true).u16(0xa1b2), "not a pcap or pcapng file: it has only 2 bytes"),
        (File::new(true).u32(0x504b_0304), "not a pcap or pcapng file: it begins with 0x504b0304"),
        (
            File::new(true).u32(0x28b5_2ffd),
            "not a pcap or pcapng file: it is compressed, and not by gzip; unpack it first",
        ),
        (
            File::new(false).u32(0xa1b2_cd34),
            "not a pcap or pcapng file: it is of the modified kind with longer record headers; 'editcap -F pcapng' \
             converts it",
        ),
        (
            File::new(false).u32(0xa1b2_c3d4).u32(2),
            "file header: the file ends within it, after 8 of 24 bytes",
        ),
        (
            File::new(false).u32(0xa1b2_c3d4).u16(543).u16(4).padded(&[0; 16]),
            "file header: version 543.4 is not 2.4",
        ),
        (
            File::new(false).classic(0xa1b2_c3d4, 1).record(0, 0, 1, b"a").record(0, 0, 300_000, b""),
            "record 2 at byte 41: its header has 300000 captured bytes, more than any packet has; the file is damaged \
             before or here",
        ),
        (
            File::new(true).u32(ng::SECTION).u32(28).u32(7).padded(&[0; 16]),
            "block 1 at byte 0: its byte order mark is 0x00000007",
        ),
        (
            File::new(true).block(ng::SECTION, |b| b.u32(0x1a2b_3c4d).u16(2).u16(1).u64(0)),
            "block 1 at byte 0: a section of version 2.1; only 1.0 is known",
        ),
        (
            File::new(true).block(ng::SECTION, |b| b.u32(0x1a2b_3c4d).u16(1).u16(0)),
            "block 1 at byte 0: it is too short for its kind",
        ),
        (
            lengths(ng(), 13),
            "block 3 at byte 56: its length is 13, which is no multiple of 4 from 12 to 16777216; the file is damaged \
             before or here",
        ),
        (lengths(ng(), 32), "block 3 at byte 56: its length is 32 before it and another behind it"),
        (ng().block(6, |b| b.u32(0)), "block 3 at byte 56: it is too short for its kind"),
        (
            ng().block(6, |b| b.u32(0).time(0).u32(5).u32(5).padded(b"abc")),
            "block 3 at byte 56: its header has 5 captured bytes, but only 4 are in it",
        ),
        (
            File::new(false).section().block(1, |b| b.u16(1).u16(0).u32(0).u16(9).u16(99)),
            "block 2 at byte 28: an option of the interface is longer than its block",
        ),
    ] {
        assert_eq!(file.error(), error);
    }
}

/// A disk that is full after some bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const PACKET: Packet<'_> =
    Packet { at: Nanos(1), interface: 0, direction: None, original_len: 60, bytes: &[7; 60] };

fn ethernet(name: &str) -> NewInterface<'_> {
    NewInterface { name, link_type: ETHERNET, snap_len: 0, filter: None, comment: None }
}

#[test]
fn hands_on_what_the_disk_says() {
    let mut writer = PcapngWriter::new(Full(200), "test", None).unwrap();
    writer.add_interface(&ethernet("x")).unwrap();
    writer.write(&PACKET).unwrap();
    assert_eq!(writer.write(&PACKET).unwrap_err().kind(), ErrorKind::StorageFull);
    let mut writer = PcapWriter::new(Full(100), 60).unwrap();
    writer.write(&PACKET).unwrap();
    assert_eq!(writer.write(&PACKET).unwrap_err().kind(), ErrorKind::StorageFull);
}

#[test]
fn refuses_what_the_format_has_no_place_for() {
    let mut writer = PcapngWriter::new(Vec::new(), "test", None).unwrap();
    assert_eq!(writer.write(&PACKET).unwrap_err().to_string(), "No corresponding interface id: 0");
    let mut writer = PcapWriter::new(Vec::new(), 60).unwrap();
    let error = writer.write(&Packet { at: Nanos(1 << 62), ..PACKET }).unwrap_err();
    assert_eq!(error.to_string(), "a pcap file can't represent times beyond 2106");
}

#[test]
fn long_texts_are_cut_where_a_letter_ends() {
    let long = "ü".repeat(40_000);
    let mut writer = PcapngWriter::new(Vec::new(), "test", Some(&long)).unwrap();
    writer.add_interface(&ethernet(&long)).unwrap();
    let capture = read(&writer.into_inner()[..]).unwrap();
    assert_eq!(capture.interfaces[0].name.as_deref(), Some(&long[..65_000]));
}

fn any_record(interfaces: u32) -> impl Strategy<Value = Record> {
    let bytes = prop::collection::vec(any::<u8>(), 0..200);
    (any::<u64>(), 0..interfaces, bytes, 0u32..2_000).prop_map(|(at, interface, bytes, more)| Record {
        at: Nanos(at),
        interface,
        original_len: bytes.len() as u32 + more,
        bytes,
    })
}

proptest! {
    #[test]
    fn pcapng_is_read_as_it_was_written(
        records in prop::collection::vec(any_record(3), 0..20),
        sent in any::<Option<bool>>(),
    ) {
        let mut writer = PcapngWriter::new(Vec::new(), "test", Some("a comment")).unwrap();
        for name in ["a", "b", "c"] {
            let interface = NewInterface { filter: Some("udp"), comment: Some("x"), snap_len: 99, ..ethernet(name) };
            writer.add_interface(&interface).unwrap();
        }
        let direction = sent.map(|sent| if sent { Direction::Sent } else { Direction::Received });
        for r in &records {
            let (at, interface, original_len, bytes) = (r.at, r.interface, r.original_len, &r.bytes[..]);
            writer.write(&Packet { at, interface, direction, original_len, bytes }).unwrap();
        }
        for interface in 0..3 {
            writer.statistics(interface, &Statistics::default()).unwrap();
        }
        let written = writer.written();
        let bytes = writer.into_inner();
        prop_assert_eq!(written, bytes.len() as u64);
        let capture = read(&bytes[..]).unwrap();
        prop_assert_eq!(capture.records, records);
        prop_assert_eq!(capture.warnings, [] as [String; 0]);
        let names: Vec<_> = capture.interfaces.iter().map(|i| i.name.clone().unwrap()).collect();
        prop_assert_eq!(names, ["a", "b", "c"]);
    }

    #[test]
    fn pcap_is_read_as_it_was_written(mut records in prop::collection::vec(any_record(1), 0..20)) {
        let mut writer = PcapWriter::new(Vec::new(), 200).unwrap();
        for r in &mut records {
            r.at = Nanos(r.at.0 >> 3);
            let (at, original_len, bytes) = (r.at, r.original_len, &r.bytes[..]);
            writer.write(&Packet { at, interface: 0, direction: None, original_len, bytes }).unwrap();
        }
        let capture = read(&writer.into_inner()[..]).unwrap();
        prop_assert_eq!(capture.records, records);
    }

    #[test]
    fn a_damaged_file_is_read_or_refused(
        records in prop::collection::vec(any_record(1), 1..5),
        damage in prop::collection::vec((any::<usize>(), any::<u8>()), 1..6),
    ) {
        let mut writer = PcapngWriter::new(Vec::new(), "test", None).unwrap();
        writer.add_interface(&ethernet("x")).unwrap();
        for r in &records {
            writer.write(&Packet { at: r.at, bytes: &r.bytes, ..PACKET }).unwrap();
        }
        let mut bytes = writer.into_inner();
        for (at, byte) in damage {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        let held: usize = read(&bytes[..]).map_or(0, |c| c.records.iter().map(|r| r.bytes.len()).sum());
        prop_assert!(held <= bytes.len());
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, bytes).unwrap();
    packed.finish().unwrap()
}

#[test]
fn files_compressed_by_gzip_are_read_up_to_a_limit() {
    let mut file = File::new(false).u32(0xa1b2_c3d4).u16(2).u16(4).u32(0).u32(0).u32(0).u32(1);
    for _ in 0..100 {
        file = file.u32(1).u32(0).u32(60).u32(60).padded(&[7; 60]);
    }
    let whole = file.bytes;
    let packed = gzip(&whole);
    assert!(packed.len() < whole.len() / 10);
    assert_eq!(crate::read(&packed[..]).unwrap(), crate::read(&whole[..]).unwrap());
    assert_eq!(crate::read_within(&packed[..], whole.len() as u64).unwrap().records.len(), 100);
    let error = crate::read_within(&packed[..], whole.len() as u64 - 1).unwrap_err().to_string();
    assert!(error.starts_with("it unpacks to more than 0 MiB"), "{error}");
    // Two members are one file (RFC 1952 section 2.2).
    let (start, end) = whole.split_at(1_000);
    let both = [gzip(start), gzip(end)].concat();
    assert_eq!(crate::read(&both[..]).unwrap().records.len(), 100);
    assert!(crate::read(&packed[..packed.len() / 2]).is_err());
}

#[test]
fn one_bad_packet_does_not_refuse_a_file() {
    let sections = File::new(false).section().block(3, |b| b.u32(0));
    let capture =
        sections.interface(9, &[9]).packet(1, 0, b"").packet(0, 5, b"").packet(0, u64::MAX, b"").read();
    let capture_times: Vec<u64> = capture.records.iter().map(|record| record.at.0).collect();
    assert_eq!(capture_times, [5, u64::MAX]);
    assert_eq!(capture.warnings, ["packets of interfaces that their section does not have are left out"]);
    let capture =
        File::new(false).section().interface(9, &[0]).packet(0, 1, b"").packet(0, u64::MAX, b"").read();
    let capture_times: Vec<u64> = capture.records.iter().map(|record| record.at.0).collect();
    assert_eq!(capture_times, [1_000_000_000, 1_000_000_000]);
    let warning = "times before 1970 or beyond 2554 are not known; their packets got that of the packet before them, or 0";
    assert_eq!(capture.warnings, [warning]);
}
