//! Packets of loops, against packets built anew.

use super::*;
use crate::testing::{frame, header, trace, udp};

fn rule(step: u64, networks: &[&str]) -> LoopAddresses {
    LoopAddresses { step, networks: networks.iter().map(|text| text.parse().unwrap()).collect() }
}

/// The packets of a trace in a loop, in buffers that hold another loop's before.
fn in_loop(loops: &Loops, trace: &Trace, number: u64) -> Vec<Vec<u8>> {
    let len = trace.packets.len() as u64;
    let mut frames: Vec<Vec<u8>> = trace.packets.iter().map(|packet| packet.bytes.clone()).collect();
    for (index, frame) in (0..).zip(&mut frames) {
        loops.write((number + 3) * len + index, frame);
        loops.write(number * len + index, frame);
    }
    frames
}

#[test]
fn both_directions_have_the_addresses_of_their_loop() {
    let packets = |a: &str, b: &str| {
        let made = [
            udp([1, 2], &format!("{a}:4000"), &format!("{b}:53")),
            udp([2, 1], &format!("{b}:53"), &format!("{a}:4000")),
        ];
        made.map(|mut bytes| {
            bytes.resize(60, 0);
            bytes
        })
    };
    let captured = trace(packets("10.0.0.1", "10.255.255.255"));
    for (step, number, a, b) in [
        (1, 0, "10.0.0.1", "10.255.255.255"),
        (1, 1, "10.0.0.2", "10.0.0.0"),
        (256, 3, "10.0.3.1", "10.0.2.255"),
        (1, 1 << 24, "10.0.0.1", "10.255.255.255"),
    ] {
        let loops = Loops::new(&captured, &rule(step, &[]));
        assert_eq!(
            (loops.changed(), in_loop(&loops, &captured, number)),
            (2, packets(a, b).to_vec()),
            "{step} {number}"
        );
    }
    let loops = Loops::new(&captured, &rule(1, &["10.0.0.0/16", "192.168.0.0/16"]));
    assert_eq!(in_loop(&loops, &captured, 70_000), packets("10.0.17.113", "10.255.255.255"));
}

#[test]
fn addresses_of_no_host_stay() {
    for stays in [
        "224.0.0.5",
        "255.255.255.255",
        "0.0.0.0",
        "127.0.0.1",
        "169.254.1.1",
        "ff02::1",
        "fe80::1",
        "::",
        "::1",
    ] {
        assert_eq!(rule(1, &[]).hosts(stays.parse().unwrap()), None, "{stays}");
    }
    assert_eq!(rule(1, &[]).hosts("2001:db8::1".parse().unwrap()), Some(u128::from(u64::MAX)));
    assert_eq!(rule(1, &["224.0.0.0/4"]).hosts("224.0.0.5".parse().unwrap()), Some((1 << 28) - 1));
    assert_eq!(rule(1, &["10.0.0.1/32"]).hosts("10.0.0.1".parse().unwrap()), None);
}

/// In a tunnel, in ARP and IPv6: all headers' addresses change, and every checksum that was right is right.
#[test]
fn all_headers_change_and_checksums_stay_right() {
    let inner = || {
        vec![
            header("ipv4", &[("src", "10.1.0.1"), ("dst", "10.2.0.1")]),
            header("tcp", &[("src", "5"), ("dst", "80")]),
        ]
    };
    let outer = || {
        vec![
            header("ethernet", &[]),
            header("ipv4", &[("src", "172.16.0.1"), ("dst", "172.16.0.2")]),
            header("udp", &[("src", "9"), ("dst", "4789")]),
            header("vxlan", &[]),
            header("ethernet", &[]),
        ]
    };
    let six = vec![
        header("ethernet", &[]),
        header("ipv6", &[("src", "2001:db8::1"), ("dst", "2001:db8::2")]),
        header("udp", &[("src", "1"), ("dst", "2")]),
    ];
    let frames = vec![
        frame(outer().into_iter().chain(inner()).collect()),
        frame(six),
        frame(vec![
            header("ethernet", &[]),
            header("arp", &[("sender_ip", "10.0.0.1"), ("target_ip", "10.0.0.2")]),
        ]),
    ];
    let captured = trace(frames);
    let loops = Loops::new(&captured, &rule(65_537, &[]));
    assert_eq!(loops.changed(), 3);
    for number in [0, 1, 2, 255, 65_535, 1 << 40] {
        for (index, mut bytes) in in_loop(&loops, &captured, number).into_iter().enumerate() {
            if number == 0 {
                assert_eq!(bytes, captured.packets[index].bytes);
            }
            let before = bytes.clone();
            wire::checksums(&before).into_iter().rev().for_each(|sum| sum.write(&mut bytes));
            assert_eq!(bytes, before, "packet {index} of loop {number}");
        }
    }
    let once = in_loop(&loops, &captured, 1);
    assert_eq!(once[0][26..34], [172, 17, 0, 2, 172, 17, 0, 3]);
    assert_eq!(once[2][28..32], [10, 1, 0, 2]);
}

#[test]
fn wrong_and_missing_checksums_stay_so() {
    let mut bytes = udp([1, 2], "10.0.0.1:1", "10.0.0.2:2");
    bytes[40..42].copy_from_slice(&[0, 0]);
    let captured = trace([bytes]);
    let loops = Loops::new(&captured, &rule(1, &[]));
    assert_eq!(in_loop(&loops, &captured, 5)[0][40..42], [0, 0]);
}
