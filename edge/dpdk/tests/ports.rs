//! Ports over real drivers. Tests that need root make a separate network namespace: it belongs to one thread and ends
//! with it in any case.
//!
//! EAL starts once per process, so the tests take turns.

#![allow(clippy::print_stdout, unsafe_code)]

#[path = "../../port/tests/common/mod.rs"]
mod common;

use common::{PAIR, in_namespace, ip, mixed, no_drops, receive, receive_some, received_by, send};
use dpdk::PortId;
use port::{Burst, Port, PortError, PortErrorKind, PortRequest, RxQueue, TxQueue};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const REQUEST: PortRequest = PortRequest { queues: 1, frame_len_max: 1518, confined: false };

static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open_all(devices: &[(&str, PortRequest)]) -> Result<Vec<Box<dyn Port>>, PortError> {
    let ids: Result<Vec<_>, PortError> =
        devices.iter().map(|(device, request)| Ok((PortId::resolve(device)?, *request))).collect();
    dpdk::open_all(&ids?, &mut || false)
}

fn open(device: &str) -> Box<dyn Port> {
    dpdk::open(device, REQUEST).unwrap_or_else(|error| panic!("{error}"))
}

fn queues(port: &mut dyn Port) -> (Box<dyn TxQueue>, Box<dyn RxQueue>) {
    let mut queues = port.take_queues();
    let (mut tx, mut rx) = (queues.tx.remove(0), queues.rx.remove(0));
    tx.attach().unwrap();
    rx.attach().unwrap();
    (tx, rx)
}

/// A temporary folder, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("dpdk-test-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn null_takes_everything_and_gives_nothing() {
    let _turn = turn();
    let mut port = open("vdev:net_null0,no-rx=1");
    assert_eq!(port.facts().driver, "net_null");
    let (mut tx, mut rx) = queues(port.as_mut());
    send(tx.as_mut(), 0, 10_000, mixed, || {});
    assert_eq!(rx.recv(&mut Burst::new()), 0);
    assert!(port.take_queues().tx.is_empty(), "queues are handed out once");
    no_drops(port.as_mut());
}

#[test]
fn frames_keep_what_they_held_and_do_not_run_out() {
    let _turn = turn();
    let mut port = open("vdev:net_null0");
    let (mut tx, _rx) = queues(port.as_mut());
    let (mut burst, mut copied) = (Burst::new(), 0);
    for _ in 0..1000 {
        assert_eq!(tx.alloc(&mut burst, 64), 64);
        for i in 0..64 {
            let mut frame = burst.frame_mut(i);
            copied += u32::from(frame.fill(7, &[[0x55; 64]], 60, port::TxOffload::default()));
            assert_eq!(frame.data_mut(), [0x55; 60]);
        }
        tx.send(&mut burst);
    }
    assert!(copied <= 128, "{copied} copies for 64,000 frames");

    // All there are, and then none, and all come back.
    let mut held: Vec<Burst> = Vec::new();
    let mut total = 0;
    loop {
        let mut burst = Burst::new();
        let n = tx.alloc(&mut burst, 64);
        if n == 0 {
            break;
        }
        total += n;
        held.push(burst);
    }
    assert!(total > 1024, "{total}");
    held.iter_mut().for_each(|burst| tx.free(burst));
    assert_eq!(tx.alloc(&mut burst, 64), 64);
    tx.free(&mut burst);
}

#[test]
fn a_ring_gives_back_what_it_was_given() {
    let _turn = turn();
    let mut port = open("vdev:net_ring0");
    let (mut tx, mut rx) = queues(port.as_mut());
    let mut seen = 0;
    send(tx.as_mut(), 0, 50_000, mixed, || seen += receive_some(rx.as_mut(), &mixed));
    seen += receive(rx.as_mut(), 50_000 - seen, mixed);
    assert_eq!(seen, 50_000);
    no_drops(port.as_mut());
}

#[test]
fn a_port_can_be_opened_again_and_again() {
    let _turn = turn();
    for _ in 0..20 {
        let mut port = open("vdev:net_ring0");
        let taken = dpdk::open("vdev:net_ring0", REQUEST).err().unwrap();
        assert_eq!(taken.kind, PortErrorKind::State, "{taken}");
        // The port closes with its last queue, whichever goes first.
        let queues = port.take_queues();
        drop(port);
        drop(queues);
    }
}

#[test]
fn memif_joins_two_ports_of_one_process() {
    let _turn = turn();
    for options in ["", ",zero-copy=yes"] {
        let folder = Folder::new("memif");
        let socket = folder.file("x.sock");
        let (server, client) = (format!("memif:{socket},server"), format!("memif:{socket}{options}"));
        let mut ports = open_all(&[(&server, REQUEST), (&client, REQUEST)]).unwrap();
        for (from, to) in [(0, 1), (1, 0)] {
            let mut from_queues = (ports[from].take_queues(), ports[to].take_queues());
            let (tx, rx) = (&mut from_queues.0.tx, &mut from_queues.1.rx);
            if tx.is_empty() {
                continue;
            }
            let mut seen = 0;
            send(tx[0].as_mut(), 0, 20_000, mixed, || seen += receive_some(rx[0].as_mut(), &mixed));
            seen += receive(rx[0].as_mut(), 20_000 - seen, mixed);
            assert_eq!(seen, 20_000, "{client} {from}→{to}");
            let (tx, rx) = (&mut from_queues.1.tx, &mut from_queues.0.rx);
            let mut seen = 0;
            send(tx[0].as_mut(), 0, 20_000, mixed, || seen += receive_some(rx[0].as_mut(), &mixed));
            seen += receive(rx[0].as_mut(), 20_000 - seen, mixed);
            assert_eq!(seen, 20_000, "{client} {to}→{from}");
        }
        ports.iter_mut().for_each(|port| no_drops(port.as_mut()));
    }
}

#[test]
fn queues_are_as_many_as_wanted_or_as_there_are() {
    let _turn = turn();
    let two = PortRequest { queues: 2, frame_len_max: 1518, confined: false };
    let folder = Folder::new("queues");
    let socket = folder.file("x.sock");
    let (server, client) = (format!("memif:{socket},server"), format!("memif:{socket}"));
    let mut ports = open_all(&[(&server, two), (&client, two)]).unwrap();
    assert_eq!(ports[0].facts().rx_spread, "pair");
    let (mut a, mut b) = (ports[0].take_queues(), ports[1].take_queues());
    assert_eq!((a.tx.len(), a.rx.len(), b.tx.len(), b.rx.len()), (2, 2, 2, 2));
    for i in [1, 0] {
        // A memif client gives its server room to send into by receiving.
        let mut seen = 0;
        send(a.tx[i].as_mut(), 0, 500, mixed, || seen += receive_some(b.rx[i].as_mut(), &mixed));
        seen += receive(b.rx[i].as_mut(), 500 - seen, mixed);
        assert_eq!(seen, 500);
    }
    in_namespace(PAIR, move || {
        let mut xdp = dpdk::open("afxdp:v0", two).unwrap();
        assert_eq!((xdp.take_queues().tx.len(), xdp.facts().rx_spread), (1, "none"), "veth has one channel");
        drop(xdp);
        let mut ports = open_all(&[("v0", two), ("v1", two)]).unwrap_or_else(|e| panic!("{e}"));
        let (mut a, mut b) = (ports[0].take_queues(), ports[1].take_queues());
        assert_eq!((a.tx.len(), b.rx.len(), ports[1].facts().rx_spread), (2, 2, "rss"));
        let mut seen = 0;
        for tx in &mut a.tx {
            send(tx.as_mut(), 0, 500, mixed, || {});
            seen += b.rx.iter_mut().map(|rx| receive(rx.as_mut(), 500, mixed)).sum::<u32>();
        }
        assert_eq!(seen, 1_000, "each frame once, whichever queue it came by");
    });
}

#[test]
fn a_memif_peer_that_is_killed_takes_nobody_along() {
    let _turn = turn();
    let folder = Folder::new("killed");
    let socket = folder.file("x.sock");
    // Little but calls to the driver, which is where a worker must be for the rings to go away under it.
    for _ in 0..20 {
        let mut child = hold(&format!("memif:{socket},wait=10"), "opening");
        let mut port = open(&format!("memif:{socket},server"));
        let (mut tx, mut rx) = queues(port.as_mut());
        let mut burst = Burst::new();
        let killed = Instant::now() + Duration::from_millis(10);
        let end = killed + Duration::from_millis(20);
        let mut round = |until: Instant| {
            while Instant::now() < until {
                tx.alloc(&mut burst, 64);
                tx.send(&mut burst);
                tx.free(&mut burst);
                rx.recv(&mut burst);
                rx.free(&mut burst);
            }
        };
        round(killed);
        child.kill().unwrap();
        round(end);
        child.wait().unwrap();
    }
}

#[test]
fn memif_without_a_peer_says_so() {
    let _turn = turn();
    let folder = Folder::new("lonely");
    let error = dpdk::open(&format!("memif:{},wait=1", folder.file("x.sock")), REQUEST).err().unwrap();
    assert_eq!(error.kind, PortErrorKind::Missing);
    assert!(error.reason.contains("there is no socket"), "{error}");
    let error = dpdk::open(&format!("memif:{},server,wait=1", folder.file("y.sock")), REQUEST).err().unwrap();
    assert_eq!(error.kind, PortErrorKind::State);
    assert!(error.reason.contains("no memif peer"), "{error}");
}

#[test]
fn virtio_user_talks_to_vhost() {
    let _turn = turn();
    let folder = Folder::new("vhost");
    let socket = folder.file("x.sock");
    let (vhost, virtio) = (format!("vhost:{socket}"), format!("virtio:{socket}"));
    let mut ports = open_all(&[(&vhost, REQUEST), (&virtio, REQUEST)]).unwrap_or_else(|e| panic!("{e}"));
    let (mut back, mut front) = (ports[0].take_queues(), ports[1].take_queues());
    for (tx, rx) in [(&mut back.tx, &mut front.rx), (&mut front.tx, &mut back.rx)] {
        let mut seen = 0;
        send(tx[0].as_mut(), 0, 20_000, mixed, || seen += receive_some(rx[0].as_mut(), &mixed));
        seen += receive(rx[0].as_mut(), 20_000 - seen, mixed);
        assert_eq!(seen, 20_000);
    }
}

#[test]
fn a_capture_file_is_written_and_read() {
    let _turn = turn();
    let folder = Folder::new("pcap");
    let file = folder.file("x.pcap");
    let mut writer = open(&format!("pcap:,{file}"));
    let (mut tx, mut rx) = queues(writer.as_mut());
    send(tx.as_mut(), 0, 1_000, mixed, || {});
    assert_eq!(rx.recv(&mut Burst::new()), 0);
    drop((tx, rx, writer));
    let mut reader = open(&format!("pcap:{file},"));
    let (_tx, mut rx) = queues(reader.as_mut());
    assert_eq!(receive(rx.as_mut(), 1_000, mixed), 1_000);
    let missing = dpdk::open(&format!("pcap:{},", folder.file("none")), REQUEST).err().unwrap();
    assert_eq!(missing.kind, PortErrorKind::Missing, "{missing}");
}

/// Both directions between the two ends of a veth pair, mixed sizes, each frame checked.
fn veth_both_ways(driver: &'static str) {
    in_namespace(PAIR, move || {
        let (a, b) = (format!("{driver}v0"), format!("{driver}v1"));
        let mut ports = open_all(&[(&a, REQUEST), (&b, REQUEST)]).unwrap_or_else(|e| panic!("{e}"));
        if !driver.starts_with("vdev:") {
            assert_eq!(ports[0].facts().netdev.as_deref(), Some("v0"));
        }
        assert_eq!(ports[0].facts().frame_len_max, 1518);
        let mut queues: Vec<_> = ports.iter_mut().map(|port| queues(port.as_mut())).collect();
        for (from, to) in [(0, 1), (1, 0)] {
            let before = received_by(["v0", "v1"][to]);
            let [(tx_a, rx_a), (tx_b, rx_b)] = &mut queues[..] else { unreachable!() };
            let (tx, rx) = if from == 0 { (tx_a, rx_b) } else { (tx_b, rx_a) };
            let mut seen = 0;
            send(tx.as_mut(), 0, 30_000, mixed, || seen += receive_some(rx.as_mut(), &mixed));
            seen += receive(rx.as_mut(), 30_000 - seen, mixed);
            assert_eq!(received_by(["v0", "v1"][to]) - before, 30_000, "frames at the peer's counter");
            assert_eq!(seen, 30_000, "frames received; {:?}", ports[to].driver_drops());
            // Nobody hears himself.
            let own = if from == 0 { &mut queues[0].1 } else { &mut queues[1].1 };
            assert_eq!(own.recv(&mut Burst::new()), 0);
        }
        ports.iter_mut().for_each(|port| no_drops(port.as_mut()));
    });
}

#[test]
fn af_packet_carries_every_size_over_veth() {
    let _turn = turn();
    veth_both_ways("afpacket:");
}

#[test]
fn af_xdp_carries_every_size_over_veth() {
    let _turn = turn();
    veth_both_ways("afxdp:");
}

#[test]
fn the_af_xdp_driver_of_dpdk_carries_every_size_over_veth() {
    let _turn = turn();
    veth_both_ways("vdev:net_af_xdp,iface=");
}

/// The first buffers of a UMEM always worked; see pool.rs for what was wrong with the last ones.
#[test]
fn the_af_xdp_driver_of_dpdk_sends_from_every_buffer_of_its_memory() {
    let _turn = turn();
    in_namespace(PAIR, || {
        let mut ports =
            open_all(&[("vdev:net_af_xdp,iface=v0", REQUEST), ("vdev:net_af_xdp,iface=v1", REQUEST)])
                .unwrap();
        let (mut tx, mut rx) = queues(ports[0].as_mut());
        let (mut tx_back, mut rx_there) = queues(ports[1].as_mut());
        // The receiver holds most of its buffers, so that what it sends is in the others.
        let mut held = Vec::new();
        let mut count = 0;
        send(tx.as_mut(), 0, 2880, mixed, || {
            let mut burst = Burst::new();
            count += rx_there.recv(&mut burst);
            held.push(burst);
        });
        assert_eq!(count, 2880, "{:?}", ports[1].driver_drops());
        let before = received_by("v0");
        let mut seen = 0;
        send(tx_back.as_mut(), 0, 5_000, mixed, || seen += receive_some(rx.as_mut(), &mixed));
        seen += receive(rx.as_mut(), 5_000 - seen, mixed);
        held.iter_mut().for_each(|burst| rx_there.free(burst));
        assert_eq!((received_by("v0") - before, seen), (5_000, 5_000));
        ports.iter_mut().for_each(|port| no_drops(port.as_mut()));
    });
}

#[test]
fn af_packet_counts_what_the_kernel_dropped() {
    let _turn = turn();
    in_namespace(PAIR, || {
        let mut ports = open_all(&[("v0", REQUEST), ("v1", REQUEST)]).unwrap();
        let (mut tx, _) = queues(ports[0].as_mut());
        let (_, mut rx) = queues(ports[1].as_mut());
        // Nobody reads: the ring at v1 runs over.
        send(tx.as_mut(), 0, 20_000, |_| 60, || {});
        let seen = receive(rx.as_mut(), 20_000, |_| 60);
        let drops = ports[1].driver_drops();
        let of = |reason| drops.rx.iter().find(|(name, _)| *name == reason).unwrap().1;
        assert!(seen < 20_000);
        assert_eq!(u64::from(seen) + of("kernel_ring_full"), 20_000, "{drops:?}");
        // Asking again does not count again, nor forget.
        assert_eq!(ports[1].driver_drops(), drops);
    });
}

#[test]
fn the_af_xdp_driver_of_dpdk_counts_what_nobody_read() {
    let _turn = turn();
    in_namespace(PAIR, || {
        let mut ports =
            open_all(&[("vdev:net_af_xdp,iface=v0", REQUEST), ("vdev:net_af_xdp,iface=v1", REQUEST)])
                .unwrap();
        let (mut tx, _) = queues(ports[0].as_mut());
        let (_, mut rx) = queues(ports[1].as_mut());
        send(tx.as_mut(), 0, 20_000, |_| 60, || {});
        let seen = receive(rx.as_mut(), 20_000, |_| 60);
        let drops = ports[1].driver_drops();
        let lost: u64 = drops.rx.iter().map(|(_, n)| n).sum();
        assert!(seen < 20_000);
        assert_eq!(u64::from(seen) + lost, 20_000, "{drops:?}");
    });
}

fn xdp_program_on(interface: &str) -> bool {
    let output = Command::new("ip").args(["link", "show", interface]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).contains("xdp")
}

#[test]
fn a_port_is_one_processs() {
    let _turn = turn();
    in_namespace(PAIR, || {
        let mut child = hold("afxdp:v0", "holding");
        for device in ["afxdp:v0", "v0", "vdev:net_af_xdp,iface=v0"] {
            let error = dpdk::open(device, REQUEST).err().unwrap();
            assert!(error.reason.contains(&format!("by Eagre, process {}", child.id())), "{error}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!xdp_program_on("v0"), "a killed process leaves no program");
        drop(open("afxdp:v0"));
    });
}

#[test]
fn what_a_killed_process_left_of_dpdks_driver_goes() {
    let _turn = turn();
    in_namespace(PAIR, || {
        let mut child = hold("vdev:net_af_xdp,iface=v0", "holding");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(xdp_program_on("v0"), "it leaves its program");
        drop(open("afxdp:v0"));
        assert!(!xdp_program_on("v0"));
        veth_ends_work_after_all();
    });
}

/// Another process that opens `device`; returns when it has printed `until`.
fn hold(device: &str, until: &str) -> std::process::Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "holds_a_port", "--ignored", "--nocapture"])
        .env("HOLD_PORT", device)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut lines = std::io::BufRead::lines(output).map_while(Result::ok);
    assert!(lines.any(|line| line.contains(until)), "the child comes so far");
    child
}

fn veth_ends_work_after_all() {
    let mut ports = open_all(&[("afxdp:v0", REQUEST), ("afxdp:v1", REQUEST)]).unwrap();
    let (mut tx, _) = queues(ports[0].as_mut());
    let (_, mut rx) = queues(ports[1].as_mut());
    send(tx.as_mut(), 0, 500, mixed, || {});
    assert_eq!(receive(rx.as_mut(), 500, mixed), 500);
}

#[test]
#[ignore = "the other process of tests that need one"]
fn holds_a_port() {
    let Ok(device) = std::env::var("HOLD_PORT") else { return };
    println!("opening");
    let _port = open(&device);
    // Whoever started this may have stopped reading.
    let _ = std::io::Write::write_all(&mut std::io::stdout(), b"holding\n");
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn tap_makes_an_interface_and_takes_it_away() {
    let _turn = turn();
    in_namespace(PAIR, || {
        let mut port = open("tap:t0");
        assert_eq!(port.facts().netdev.as_deref(), Some("t0"));
        ip("link set t0 addrgenmode none");
        ip("link set t0 up");
        let before = received_by("t0");
        let (mut tx, rx) = queues(port.as_mut());
        send(tx.as_mut(), 0, 1_000, mixed, || {});
        assert_eq!(received_by("t0") - before, 1_000);
        drop((tx, rx, port));
        let table = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
        assert!(!table.contains("t0:"));
    });
}

#[test]
fn errors_say_what_to_do() {
    let _turn = turn();
    let refused =
        |device: &str| dpdk::open(device, REQUEST).err().unwrap_or_else(|| panic!("{device} opens"));
    let malformed = refused("memif:");
    assert_eq!(malformed.kind, PortErrorKind::Name);
    assert!(
        dpdk::check("memif:").is_err()
            && dpdk::check("veth0").is_ok()
            && dpdk::open("ring:a", REQUEST).is_err()
    );
    let unknown = refused("vdev:net_nosuchdriver0");
    assert_eq!(unknown.kind, PortErrorKind::Driver);
    assert!(unknown.remedy.contains("apt-get install librte-net-nosuchdriver"), "{unknown}");
    let card = refused("ffff:1f:00.0");
    assert_eq!(card.kind, PortErrorKind::Missing);
    assert!(card.reason.contains("there is no PCI device ffff:1f:00.0"), "{card}");
    let folder = refused("vhost:/no/such/folder/x.sock");
    assert_eq!(folder.kind, PortErrorKind::Missing, "{folder}");
    let backend = refused("virtio:/no/such/x.sock");
    assert_eq!(backend.kind, PortErrorKind::Missing, "{backend}");
    let absent = refused("nosuchdev0");
    assert_eq!(absent.kind, PortErrorKind::Missing);
    assert!(absent.reason == "there is no interface nosuchdev0" && absent.remedy.contains("lo"), "{absent}");
    in_namespace(PAIR, || {
        let refused = |device: &str| dpdk::open(device, REQUEST).err().unwrap();
        ip("link set v0 down");
        for device in ["v0", "afxdp:v0"] {
            let down = refused(device);
            assert_eq!((down.kind, down.remedy.as_str()), (PortErrorKind::State, "ip link set v0 up"));
            assert!(down.reason.contains("is down"), "{down}");
        }
        let carrier = refused("v1");
        assert!(carrier.reason.contains("no carrier"), "{carrier}");
        ip("link set v0 up");
        ip("link set v0 mtu 1400");
        let small = refused("afpacket:v0");
        assert_eq!((small.kind, small.remedy.as_str()), (PortErrorKind::State, "ip link set v0 mtu 1500"));
        assert!(small.reason.contains("need an MTU of 1500, and v0 has 1400"), "{small}");
    });
}

#[test]
fn nothing_is_left_on_disk_and_nobody_is_pinned() {
    let _turn = turn();
    drop(open("vdev:net_null0"));
    let ours = format!("eagre-{}", std::process::id());
    for folder in ["/var/run/dpdk", "/tmp/dpdk"] {
        let names: Vec<_> =
            std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.file_name()).collect();
        assert!(!names.iter().any(|name| *name == *ours), "{names:?}");
    }
    assert_eq!(os::cpu::allowed().len(), std::thread::available_parallelism().unwrap().get());
}

#[test]
fn a_closed_memif_port_leaves_no_descriptor_open() {
    let _turn = turn();
    let folder = Folder::new("descriptors");
    let socket = folder.file("x.sock");
    let (server, client) = (format!("memif:{socket},server"), format!("memif:{socket}"));
    let open_now = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let mut counts = Vec::new();
    for _ in 0..8 {
        drop(open_all(&[(&server, REQUEST), (&client, REQUEST)]).unwrap());
        counts.push(open_now());
    }
    // One may still be closing when it is counted.
    assert!(counts[7] <= counts[2], "{counts:?}");
}
