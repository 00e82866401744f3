//! Files are exchanged both ways between this crate and tcpdump, editcap, capinfos and tshark. Programs that are not
//! installed are left out, with a line of output.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stderr)]

use pcap::{Capture, Direction, ETHERNET, NewInterface, Packet, PcapWriter, PcapngWriter, Statistics, read};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use units::Nanos;

/// A temporary folder, removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("eagre-pcap-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Output of a program; `None` if it is not installed.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let Ok(output) = Command::new(program).args(arguments).output() else {
        eprintln!("{program} is not installed: left out");
        return None;
    };
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {error}");
    Some(String::from_utf8(output.stdout).unwrap())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// UDP packets of growing length, 1 ns and a bit more than 1 s apart.
fn frames() -> Vec<(Nanos, Vec<u8>)> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0];
    frame.extend([10, 0, 0, 1, 10, 0, 0, 2, 4, 0, 0, 9, 0, 26, 0, 0]);
    let second = 1_000_000_001;
    (0..20usize)
        .map(|i| {
            let mut bytes = frame.clone();
            bytes.resize(60 + i, i as u8);
            (Nanos(1_700_000_000_123_456_789 + i as u64 * second), bytes)
        })
        .collect()
}

fn written_ng() -> Vec<u8> {
    let mut writer = PcapngWriter::new(Vec::new(), "eagre", Some("from a test")).unwrap();
    let west = NewInterface {
        name: "west",
        link_type: ETHERNET,
        snap_len: 64,
        filter: Some("udp"),
        comment: Some("the near side"),
    };
    let interfaces = [
        writer.add_interface(&west).unwrap(),
        writer.add_interface(&NewInterface { name: "east", ..west }).unwrap(),
    ];
    for (i, (at, bytes)) in frames().iter().enumerate() {
        let sent = i % 2 == 0;
        let packet = Packet {
            at: *at,
            interface: interfaces[i % 2],
            direction: Some(if sent { Direction::Sent } else { Direction::Received }),
            original_len: bytes.len() as u32,
            bytes: &bytes[..bytes.len().min(64)],
        };
        writer.write(&packet).unwrap();
    }
    let start = Nanos(1_700_000_000_000_000_001);
    let end = Nanos(1_700_000_030_000_000_002);
    let statistics = Statistics { start, end, received: 1234, accepted: 1000, dropped: 77 };
    writer.statistics(interfaces[0], &statistics).unwrap();
    writer.into_inner()
}

#[test]
fn tshark_reads_every_field_of_what_is_written() {
    let folder = Folder::new("tshark");
    let path = folder.file("x.pcapng");
    fs::write(&path, written_ng()).unwrap();
    let fields = [
        "frame.time_epoch",
        "frame.len",
        "frame.cap_len",
        "frame.interface_name",
        "frame.packet_flags_direction",
    ];
    let mut arguments = vec!["-r", text(&path), "-T", "fields"];
    arguments.extend(fields.iter().flat_map(|field| ["-e", *field]));
    let Some(lines) = output("tshark", &arguments) else { return };
    let lines: Vec<Vec<&str>> = lines.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.len(), 20);
    assert_eq!(lines[0], ["1700000000.123456789", "60", "60", "west", "0x00000002"]);
    assert_eq!(lines[19], ["1700000019.123456808", "79", "64", "east", "0x00000001"]);
}

#[test]
fn tshark_reads_the_statistics() {
    let folder = Folder::new("statistics");
    let path = folder.file("x.pcapng");
    fs::write(&path, written_ng()).unwrap();
    // Its reader of files as they are shows all blocks, not only packets.
    let arguments = ["-r", text(&path), "-X", "read_format:MIME Files Format", "-V"];
    let Some(tree) = output("tshark", &arguments) else { return };
    for expected in [
        "Number of Received Packets = 1234",
        "Number of Dropped Packets = 77",
        "Number of Accepted Packets = 1000",
        "22:13:50.000000002",
        "the near side",
        "from a test",
        "udp",
    ] {
        assert!(tree.contains(expected), "no '{expected}' in\n{tree}");
    }
}

#[test]
fn capinfos_and_tcpdump_read_what_is_written() {
    let folder = Folder::new("tcpdump");
    let (ng, classic) = (folder.file("x.pcapng"), folder.file("x.pcap"));
    fs::write(&ng, written_ng()).unwrap();
    let mut writer = PcapWriter::new(Vec::new(), 64).unwrap();
    for (at, bytes) in frames() {
        let (original_len, bytes) = (bytes.len() as u32, &bytes[..bytes.len().min(64)]);
        writer.write(&Packet { at, interface: 0, direction: None, original_len, bytes }).unwrap();
    }
    fs::write(&classic, writer.into_inner()).unwrap();
    for path in [&ng, &classic] {
        if let Some(facts) = output("capinfos", &["-M", "-c", text(path)]) {
            assert!(facts.contains("Number of packets:   20"), "{facts}");
        }
        let arguments = ["-r", text(path), "-n", "-tt", "--nano"];
        let Some(lines) = output("tcpdump", &arguments) else { continue };
        assert_eq!(lines.lines().count(), 20);
        let last = lines.lines().last().unwrap();
        assert!(last.starts_with("1700000019.123456808 IP 10.0.0.1.1024 > 10.0.0.2.9: "), "{last}");
    }
}

/// Times (in units of `nanos`) and bytes of a file.
fn packets(capture: &Capture, nanos: u64) -> Vec<(Nanos, u32, Vec<u8>)> {
    let floor = |at: Nanos| Nanos(at.0 / nanos * nanos);
    capture.records.iter().map(|r| (floor(r.at), r.original_len, r.bytes.clone())).collect()
}

#[test]
fn what_editcap_converts_is_read_the_same() {
    let folder = Folder::new("editcap");
    let path = folder.file("x.pcapng");
    fs::write(&path, written_ng()).unwrap();
    let own = read(&written_ng()[..]).unwrap();
    for (format, nanos) in [("pcap", 1_000), ("nsecpcap", 1), ("pcapng", 1)] {
        let converted = folder.file(format);
        if output("editcap", &["-F", format, text(&path), text(&converted)]).is_none() {
            return;
        }
        let capture = read(fs::File::open(&converted).unwrap()).unwrap();
        assert_eq!(packets(&capture, 1), packets(&own, nanos), "{format}");
        assert_eq!(capture.warnings, [] as [String; 0]);
        assert!(capture.interfaces.iter().all(|interface| interface.link_type == ETHERNET));
    }
}

#[test]
fn what_tcpdump_writes_is_read_the_same() {
    let folder = Folder::new("written-by-tcpdump");
    let (path, copy) = (folder.file("x.pcapng"), folder.file("copy.pcap"));
    fs::write(&path, written_ng()).unwrap();
    let own = read(&written_ng()[..]).unwrap();
    for (more, nanos) in [(&["--micro"][..], 1_000), (&["--nano"], 1)] {
        let arguments = [&["-r", text(&path), "-w", text(&copy)], more].concat();
        if output("tcpdump", &arguments).is_none() {
            return;
        }
        let capture = read(fs::File::open(&copy).unwrap()).unwrap();
        assert_eq!(packets(&capture, 1), packets(&own, nanos));
    }
}

#[test]
#[ignore = "a measurement: cargo test --release -p pcap --test tools -- --ignored --nocapture"]
fn speed() {
    let mut writer = PcapngWriter::new(std::io::BufWriter::new(std::io::sink()), "x", None).unwrap();
    let interface = NewInterface { name: "x", link_type: ETHERNET, snap_len: 0, filter: None, comment: None };
    writer.add_interface(&interface).unwrap();
    let bytes = [7; 60];
    let start = std::time::Instant::now();
    const PACKETS: u64 = 5_000_000;
    for i in 0..PACKETS {
        let direction = Some(Direction::Sent);
        let packet = Packet { at: Nanos(i), interface: 0, direction, original_len: 60, bytes: &bytes };
        writer.write(&packet).unwrap();
    }
    println!("{} ns a packet", start.elapsed().as_nanos() as u64 / PACKETS);
}
