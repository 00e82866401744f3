//! Ports over veth pairs. Each test makes a separate network namespace: it belongs to one thread and ends with it in
//! any case. They need root.

#![allow(clippy::print_stdout, unsafe_code)]

#[path = "../../port/tests/common/mod.rs"]
mod common;

use afxdp::Options;
use common::{PAIR, frame, in_namespace, ip, mixed, no_drops, receive, receive_some, received_by, send};
use os::link::{LinkFacts, Links};
use os::open_interface::OpenInterface;
use port::{Burst, DriverDrops, Port, PortError, PortErrorKind, PortRequest, RxQueue, TxQueue};
use std::io::ErrorKind;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const REQUEST: PortRequest = PortRequest { queues: 1, frame_len_max: 1518, confined: false };
const PLAIN: Options = Options { first_queue: 0, copies: false, busy_budget: None, live: false };

fn facts(name: &str) -> LinkFacts {
    Links::open().unwrap().by_name(name).unwrap()
}

fn try_open(name: &str, request: PortRequest, options: Options) -> Result<Box<dyn Port>, PortError> {
    let mut links = Links::open().unwrap();
    let at = links.by_name(name).unwrap();
    let device = format!("afxdp:{name}");
    afxdp::clear_leftover(&device, &mut links, &at)?;
    afxdp::open(&device, request, options, OpenInterface::new(links, at).unwrap(), Vec::new(), &mut || false)
}

fn open_with(name: &str, request: PortRequest, options: Options) -> Box<dyn Port> {
    try_open(name, request, options).unwrap_or_else(|error| panic!("{error}"))
}

fn open(name: &str) -> Box<dyn Port> {
    open_with(name, REQUEST, PLAIN)
}

type Pair = (Box<dyn TxQueue>, Box<dyn RxQueue>);

fn queues(port: &mut dyn Port) -> Vec<Pair> {
    let queues = port.take_queues();
    queues.tx.into_iter().zip(queues.rx).collect()
}

fn queue(port: &mut dyn Port) -> Pair {
    queues(port).remove(0)
}

/// Frames lost for a reason, of those to be sent if that is one there.
fn drops(port: &mut dyn Port, reason: &str) -> u64 {
    let DriverDrops { rx, tx, .. } = port.driver_drops();
    tx.iter().chain(&rx).find(|(name, _)| *name == reason).unwrap_or_else(|| panic!("{reason}")).1
}

/// Both directions, each frame checked.
fn both_ways(request: PortRequest, options: Options, count: u32, length: impl Fn(u32) -> usize + Copy) {
    let mut ports = [open_with("v0", request, options), open_with("v1", request, options)];
    let mut all: Vec<Pair> = ports.iter_mut().map(|port| queue(port.as_mut())).collect();
    for (from, to) in [(0, 1), (1, 0)] {
        let before = received_by(["v0", "v1"][to]);
        let (first, second) = all.split_at_mut(1);
        let (sender, receiver) =
            if from == 0 { (&mut first[0], &mut second[0]) } else { (&mut second[0], &mut first[0]) };
        let mut seen = 0;
        send(sender.0.as_mut(), 0, count, length, || seen += receive_some(receiver.1.as_mut(), &length));
        seen += receive(receiver.1.as_mut(), count - seen, length);
        assert_eq!(seen, count, "frames received; {:?}", ports[to].driver_drops());
        assert!(received_by(["v0", "v1"][to]) - before >= u64::from(count), "frames at the peer's counter");
        // Nobody hears himself.
        assert_eq!(sender.1.recv(&mut Burst::new()), 0);
    }
    ports.iter_mut().for_each(|port| no_drops(port.as_mut()));
}

#[test]
fn frames_of_every_size_arrive_both_ways() {
    in_namespace(PAIR, || {
        let port = open("v0");
        let facts = port.facts();
        assert_eq!((facts.driver.as_str(), facts.frame_len_max, facts.rx_spread), ("af_xdp", 1518, "none"));
        assert_eq!((facts.netdev.as_deref(), facts.xdp_mode.as_deref()), (Some("v0"), Some("native, copy")));
        drop(port);
        both_ways(REQUEST, PLAIN, 30_000, mixed);
        both_ways(REQUEST, Options { copies: true, ..PLAIN }, 5_000, mixed);
        both_ways(REQUEST, Options { busy_budget: Some(64), ..PLAIN }, 5_000, mixed);
    });
}

#[test]
fn jumbo_frames_arrive_whole() {
    in_namespace(PAIR, || {
        ip("link set v0 mtu 9000");
        ip("link set v1 mtu 9000");
        let request = PortRequest { frame_len_max: 9018, ..REQUEST };
        let facts = open_with("v0", request, PLAIN).facts().clone();
        assert_eq!(
            (facts.frame_len_max, facts.xdp_mode.as_deref()),
            (9018, Some("native, copy, several buffers"))
        );
        // Around the ends of buffers and chunks.
        let lengths = [60, 1514, 3839, 3840, 3841, 4095, 4096, 4097, 7680, 7681, 8191, 8192, 8193, 9014];
        both_ways(request, PLAIN, 5_000, |number| lengths[number as usize % lengths.len()]);
        // A port that sends ordinary frames receives long ones.
        let (mut far, mut near) = (open_with("v0", request, PLAIN), open("v1"));
        let ((mut tx, _), (_, mut rx)) = (queue(far.as_mut()), queue(near.as_mut()));
        send(tx.as_mut(), 0, 10, |_| 9014, || {});
        assert_eq!(receive(rx.as_mut(), 10, |_| 9014), 10);
    });
}

#[test]
fn a_tall_other_end_is_no_hindrance() {
    in_namespace(PAIR, || {
        ip("link set v1 mtu 9000");
        let mut port = open("v0");
        assert_eq!(port.facts().xdp_mode.as_deref(), Some("native, copy"));
        let (mut tx, _rx) = queue(port.as_mut());
        send(tx.as_mut(), 0, 500, mixed, || {});
        assert_eq!(received_by("v1"), 500);
    });
}

#[test]
fn what_is_too_long_or_too_short_is_counted_and_not_sent() {
    in_namespace(PAIR, || {
        let (mut near, mut far) = (open("v0"), open("v1"));
        let ((mut tx, _), (_, mut rx)) = (queue(near.as_mut()), queue(far.as_mut()));
        let mut burst = Burst::new();
        // With a VLAN tag 1,518 bytes pass.
        for len in [60usize, 1518, 1519, 13, 0, 14] {
            assert_eq!(tx.alloc(&mut burst, 1), 1);
            burst.frame_mut(0).begin(len).fill(7);
            assert_eq!(tx.send(&mut burst), 1);
        }
        let mut seen = Vec::new();
        let deadline = Instant::now() + Duration::from_secs(5);
        while seen.len() < 3 && Instant::now() < deadline {
            let n = rx.recv(&mut burst);
            seen.extend((0..n).map(|i| burst.data(i).len()));
            rx.free(&mut burst);
        }
        assert_eq!(seen, [60, 1518, 14]);
        assert_eq!((drops(near.as_mut(), "too_long"), drops(near.as_mut(), "too_short")), (1, 2));
        // All frames are there again.
        send(
            tx.as_mut(),
            0,
            5_000,
            |_| 60,
            || {
                receive_some(rx.as_mut(), &|_| 60);
            },
        );
    });
}

#[test]
fn frames_keep_what_they_held_and_all_come_back() {
    in_namespace(PAIR, || {
        let mut port = open("v0");
        let (mut tx, _rx) = queue(port.as_mut());
        let (mut burst, mut copied) = (Burst::new(), 0);
        for _ in 0..200 {
            assert_eq!(tx.alloc(&mut burst, 64), 64);
            for i in 0..64 {
                let mut frame = burst.frame_mut(i);
                copied += u32::from(frame.fill(7, &[[0x55; 64]], 60, port::TxOffload::default()));
                assert_eq!(frame.data_mut(), [0x55; 60]);
            }
            tx.send(&mut burst);
            tx.free(&mut burst);
        }
        // A steady sender goes round the same few.
        assert!(copied < 1024, "{copied} copies for 12,800 frames");
        let mut held: Vec<Burst> = Vec::new();
        let deadline = Instant::now() + Duration::from_secs(5);
        let total = loop {
            let mut burst = Burst::new();
            if tx.alloc(&mut burst, 64) > 0 {
                held.push(burst);
            }
            let total: usize = held.iter().map(Burst::len).sum();
            if total == 2048 || Instant::now() > deadline {
                break total;
            }
        };
        assert_eq!(total, 2048);
        assert_eq!(tx.alloc(&mut burst, 1), 0);
        held.iter_mut().for_each(|burst| tx.free(burst));
        assert_eq!(tx.alloc(&mut burst, 64), 64);
        tx.free(&mut burst);
    });
}

#[test]
fn frames_that_are_held_are_not_written_over_and_what_finds_no_buffer_is_counted() {
    in_namespace(PAIR, || {
        let (mut near, mut far) = (open("v0"), open("v1"));
        let ((mut tx, _), (mut tx_back, mut rx)) = (queue(near.as_mut()), queue(far.as_mut()));
        let mut held: Vec<Burst> = Vec::new();
        send(tx.as_mut(), 0, 3_000, mixed, || {
            let mut burst = Burst::new();
            rx.recv(&mut burst);
            held.push(burst);
        });
        assert_eq!(held.iter().map(Burst::len).sum::<usize>(), 3_000, "{:?}", far.driver_drops());
        // Its own frames do not suffer.
        send(tx_back.as_mut(), 0, 3_000, mixed, || {});
        // There are 4,096 buffers.
        send(tx.as_mut(), 3_000, 5_000, mixed, || {});
        assert_eq!(receive(rx.as_mut(), 2_000, mixed), 1_096, "{:?}", far.driver_drops());
        assert_eq!(drops(far.as_mut(), "xdp_no_buffer"), 904);
        for (number, (burst, i)) in
            held.iter().flat_map(|burst| (0..burst.len()).map(move |i| (burst, i))).enumerate()
        {
            assert!(burst.data(i) == frame(number as u32, mixed(number as u32)), "frame {number}");
        }
        held.iter_mut().for_each(|burst| rx.free(burst));
        send(tx.as_mut(), 0, 500, mixed, || {});
        assert_eq!(receive(rx.as_mut(), 500, mixed), 500);
    });
}

#[test]
fn a_receiver_that_is_busy_loses_what_it_counts() {
    in_namespace(PAIR, || {
        let (mut near, mut far) = (open("v0"), open("v1"));
        let ((mut tx, _), (_, mut rx)) = (queue(near.as_mut()), queue(far.as_mut()));
        send(tx.as_mut(), 0, 20_000, |_| 60, || {});
        let seen = receive(rx.as_mut(), 20_000, |_| 60);
        let lost: u64 = far.driver_drops().rx.iter().map(|(_, n)| n).sum();
        assert!((1..20_000).contains(&seen));
        assert_eq!(u64::from(seen) + lost, 20_000, "{:?}", far.driver_drops());
        assert_eq!(far.driver_drops(), far.driver_drops());
    });
}

#[test]
fn each_queue_of_an_interface_has_its_frames() {
    const FOUR: &str =
        "link add v0 numtxqueues 4 numrxqueues 4 type veth peer name v1 numtxqueues 4 numrxqueues 4";
    in_namespace(FOUR, || {
        let request = PortRequest { queues: 8, ..REQUEST };
        let (mut near, mut far) = (open_with("v0", request, PLAIN), open_with("v1", request, PLAIN));
        assert_eq!((near.facts().rx_spread, far.facts().rx_spread), ("rss", "rss"));
        let (mut from, mut to) = (queues(near.as_mut()), queues(far.as_mut()));
        assert_eq!((from.len(), to.len()), (4, 4));
        for (index, (tx, _)) in from.iter_mut().enumerate() {
            send(tx.as_mut(), 0, 1_000, mixed, || {});
            let seen: Vec<u32> = to.iter_mut().map(|(_, rx)| receive(rx.as_mut(), 1_000, mixed)).collect();
            let mut wanted = vec![0; 4];
            wanted[index] = 1_000;
            assert_eq!(seen, wanted, "{:?}", far.driver_drops());
        }
        drop((from, to, near, far));
        let options = Options { first_queue: 2, ..PLAIN };
        assert_eq!(open_with("v0", request, options).take_queues().rx.len(), 2);
        let error = try_open("v0", request, Options { first_queue: 4, ..PLAIN }).err().unwrap();
        assert!(error.reason.contains("there is no queue 4: v0 has 4 queues"), "{error}");
    });
}

#[test]
fn an_interface_whose_driver_runs_no_programs_has_them_in_the_stack() {
    in_namespace(PAIR, || {
        ip("link set lo up");
        let mut port = open("lo");
        assert_eq!(
            port.facts().xdp_mode.as_deref().map(|mode| mode.starts_with("generic, copy")),
            Some(true)
        );
        let (mut tx, mut rx) = queue(port.as_mut());
        let mut seen = 0;
        send(tx.as_mut(), 0, 500, mixed, || seen += receive_some(rx.as_mut(), &mixed));
        seen += receive(rx.as_mut(), 500 - seen, mixed);
        assert_eq!(seen, 500, "{:?}", port.driver_drops());
    });
}

#[test]
fn a_port_that_is_closed_leaves_the_interface_as_it_was() {
    in_namespace(PAIR, || {
        for _ in 0..3 {
            let mut port = open("v0");
            assert!(facts("v0").xdp.is_some() && facts("v0").promiscuous);
            let queues = port.take_queues();
            drop(port);
            assert!(facts("v0").xdp.is_some(), "a queue still holds it");
            drop(queues);
            // A process that another test starts just now has all descriptors for a moment.
            let deadline = Instant::now() + Duration::from_secs(5);
            while facts("v0").xdp.is_some() || facts("v0").promiscuous {
                assert!(Instant::now() < deadline, "{:?}", facts("v0"));
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    });
}

#[test]
fn a_burst_may_outlive_its_port() {
    in_namespace(PAIR, || {
        let (mut near, mut far) = (open("v0"), open("v1"));
        let ((mut tx, _), (_, mut rx)) = (queue(near.as_mut()), queue(far.as_mut()));
        send(tx.as_mut(), 0, 1, mixed, || {});
        let mut burst = Burst::new();
        let deadline = Instant::now() + Duration::from_secs(5);
        while rx.recv(&mut burst) == 0 {
            assert!(Instant::now() < deadline, "nothing comes");
        }
        drop((rx, far));
        assert_eq!(burst.data(0), frame(0, mixed(0)));
        burst.forget_front(1);
    });
}

#[test]
fn a_link_that_is_down_takes_nothing_and_sends_nothing_later() {
    in_namespace(PAIR, || {
        let (mut near, mut far) = (open("v0"), open("v1"));
        let ((mut tx, _), (_, mut rx)) = (queue(near.as_mut()), queue(far.as_mut()));
        send(tx.as_mut(), 0, 100, mixed, || {});
        assert_eq!(receive(rx.as_mut(), 100, mixed), 100);
        ip("link set v0 down");
        send(tx.as_mut(), 100, 5_100, mixed, || {});
        assert_eq!(drops(near.as_mut(), "link_down"), 5_000);
        ip("link set v0 up");
        send(tx.as_mut(), 6_000, 6_100, mixed, || {});
        let mut burst = Burst::new();
        let deadline = Instant::now() + Duration::from_secs(5);
        while rx.recv(&mut burst) == 0 {
            assert!(Instant::now() < deadline, "nothing comes");
        }
        assert_eq!(burst.data(0), frame(6_000, mixed(6_000)));
        rx.free(&mut burst);
        // Without carrier the kernel drops frames and says that of each.
        ip("link set v1 down");
        let before = drops(near.as_mut(), "interface_dropped");
        send(tx.as_mut(), 0, 3_000, mixed, || {});
        assert_eq!(drops(near.as_mut(), "interface_dropped") - before, 3_000);
    });
}

#[test]
fn an_interface_that_vanishes_ends_nothing_but_its_frames() {
    in_namespace(PAIR, || {
        let mut near = open("v0");
        let (mut tx, mut rx) = queue(near.as_mut());
        ip("link delete v0");
        send(tx.as_mut(), 0, 5_000, mixed, || {});
        assert_eq!(drops(near.as_mut(), "link_down"), 5_000);
        assert_eq!(rx.recv(&mut Burst::new()), 0);
        drop((tx, rx, near));
        ip(PAIR);
        for end in ["v0", "v1"] {
            ip(&format!("link set {end} addrgenmode none"));
            ip(&format!("link set {end} up"));
        }
        both_ways(REQUEST, PLAIN, 500, mixed);
    });
}

#[test]
fn another_program_stays_and_is_named() {
    in_namespace(PAIR, || {
        let (map, index) = (xdp::SocketMap::new(1).unwrap(), facts("v0").index);
        for mode in [xdp::Mode::Driver, xdp::Mode::Stack] {
            let mut other = xdp::Redirect::new(&map, false).unwrap();
            // The kernel takes the one before off a little later than its last descriptor is closed.
            let latest = Instant::now() + Duration::from_secs(5);
            while let Err(error) = other.attach(index, mode) {
                assert!(error.kind() == ErrorKind::AlreadyExists && Instant::now() < latest, "{error}");
                std::thread::sleep(Duration::from_millis(5));
            }
            let error = try_open("v0", REQUEST, PLAIN).err().unwrap();
            assert_eq!(error.kind, PortErrorKind::State);
            assert!(error.reason.contains("another XDP program ('eagre_redirect'"), "{error}");
            assert!(error.remedy.contains("ip link set v0 xdp off"), "{error}");
            assert!(facts("v0").xdp.is_some());
        }
    });
}

#[test]
fn an_interface_with_another_port_is_refused() {
    in_namespace(PAIR, || {
        let _first = open("v0");
        let mut links = Links::open().unwrap();
        let at = links.by_name("v0").unwrap();
        let interface = OpenInterface::new(links, at).unwrap();
        let begun = Instant::now();
        let error =
            afxdp::open("afxdp:v0", REQUEST, PLAIN, interface, Vec::new(), &mut || false).err().unwrap();
        assert!(error.reason.contains("the XDP program can't be put on v0"), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(5));
    });
}

#[test]
fn a_killed_process_leaves_no_program() {
    in_namespace(PAIR, || {
        for _ in 0..3 {
            let mut child = hold();
            assert!(facts("v0").xdp.is_some());
            child.kill().unwrap();
            child.wait().unwrap();
            // At once, and as if nothing had been.
            drop(open("v0"));
        }
        both_ways(REQUEST, PLAIN, 500, mixed);
    });
}

/// Another process that opens v0; returns when it has.
fn hold() -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "holds_a_port", "--ignored", "--nocapture"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut lines = std::io::BufRead::lines(output).map_while(Result::ok);
    assert!(lines.any(|line| line.contains("holding")), "the child comes so far");
    child
}

#[test]
#[ignore = "the other process of a_killed_process_leaves_no_program"]
fn holds_a_port() {
    let _port = open("v0");
    // Whoever started this may have stopped reading.
    let _ = std::io::Write::write_all(&mut std::io::stdout(), b"holding\n");
    std::thread::sleep(Duration::from_secs(60));
}
