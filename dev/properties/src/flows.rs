//! Captures of any bytes as templates of flows: packets that a template takes have a right checksum of IPv4 and keep
//! that of TCP or UDP right or wrong, for any flow they are made part of and any previous contents of the buffer.
//!
//! The first byte of an input selects timing and split of the template, the next eight the flow; the rest is a capture
//! file.

use replay::{CaptureOptions, FlowTiming, Flows, Frames, Pool, Pools, PortBegin, SplitBy, Template};
use std::net::IpAddr;
use units::Nanos;
use wire::{Header, PacketSpec, protocol, read};

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    let Some(([how, flow @ ..], file)) = data.split_first_chunk::<9>() else { return };
    let Ok(capture) = pcap::read(file) else { return };
    let timing = match how & 3 {
        0 => FlowTiming::Captured(None),
        1 => FlowTiming::Captured(Some((Nanos(1_000), Nanos(u64::MAX)))),
        _ => FlowTiming::Gaps { same: Nanos(u64::from(*how)), turn: Nanos(7) },
    };
    let Ok(frames) = Frames::new(&capture, &CaptureOptions::default()) else { return };
    let Ok(mut template) = Template::new(frames, &SplitBy::FirstSource, how & 4 != 0, timing) else {
        return;
    };
    assert!(template.traces.iter().all(|trace| trace.packets.is_sorted_by_key(|packet| packet.at)));
    for family in [["10.1.2.3", "10.255.255.255", "10.9.9.9"], ["2001:db8::1", "2001:db8::ffff:1", "fd00::7"]]
    {
        for trace in &mut template.traces {
            trace.fill();
        }
        check_flows(&template, &pools(family), u64::from_be_bytes(*flow));
    }
}

fn pools([first, last, server]: [&str; 3]) -> Pools {
    let ip = |text: &str| -> IpAddr { text.parse().expect("an address") };
    let pool = |first, last| Pool::new(ip(first), ip(last)).expect("a pool");
    Pools {
        clients: pool(first, last),
        servers: pool(server, server),
        per_pair: 3,
        ports: (1_024, 64_000),
        begin: PortBegin::Spread,
        swapped: false,
    }
}

fn check_flows(template: &Template, pools: &Pools, flow: u64) {
    for (trace, from_client) in template.traces.iter().zip(&template.from_client) {
        let Ok(flows) = Flows::new(trace, from_client, *pools) else { continue };
        assert_eq!(flows.len(), trace.packets.len());
        for (index, packet) in trace.packets.iter().enumerate() {
            let number =
                |flow: u64| (flow % (u64::MAX / flows.len() as u64)) * flows.len() as u64 + index as u64;
            let (mut fresh, mut used) = (packet.bytes.clone(), packet.bytes.clone());
            flows.write(number(flow), &mut fresh);
            flows.write(number(!flow), &mut used);
            flows.write(number(flow), &mut used);
            assert_eq!(fresh, used, "what another flow's packet leaves behind");
            let (before, after) = (are_right(&packet.bytes), are_right(&fresh));
            for (sum, is_right) in after {
                let was_right =
                    before.iter().find(|(other, _)| *other == sum).is_some_and(|(_, right)| *right);
                assert!(
                    sum == IPV4 && is_right || sum != IPV4 && is_right == was_right,
                    "{sum} of packet {index}"
                );
            }
            let ends = pools.of(flow % (u64::MAX / flows.len() as u64));
            assert!((1_024..=64_000).contains(&ends.port));
        }
    }
}

const IPV4: &str = "ipv4";

/// Which of the checksums that cover ends of a flow are right: that of IPv4, that of TCP or UDP.
fn are_right(frame: &[u8]) -> Vec<(&'static str, bool)> {
    let headers = read(frame).0;
    let Some(ip) = headers.iter().position(|h| matches!(h.protocol.name, "ipv4" | "ipv6")) else {
        return Vec::new();
    };
    let named = |sum: wire::Checksum| {
        let header = headers[ip..].iter().take(2).find(|header| header.offset == sum.start)?;
        Some((header.protocol.name, is_right(frame, &sum)))
    };
    wire::checksums(frame).into_iter().filter_map(named).collect()
}

fn is_right(frame: &[u8], sum: &wire::Checksum) -> bool {
    let mut again = frame.to_vec();
    sum.write(&mut again);
    let value = |bytes: &[u8]| [bytes[sum.offset], bytes[sum.offset + 1]];
    // Zero and all ones are one number to a checksum.
    let is_zero = |value: [u8; 2]| value == [0, 0] || value == [255, 255];
    value(&again) == value(frame) || (is_zero(value(&again)) && is_zero(value(frame)))
}

/// Captures of one packet over UDP or TCP, IPv4 or IPv6, and of a packet and its reply.
pub fn seeds() -> Vec<Vec<u8>> {
    let packet = |names: &[&str]| {
        let headers = names.iter().filter_map(|name| protocol(name)).map(Header::new).collect();
        let built =
            PacketSpec { headers, payload: b"payload".to_vec(), ..PacketSpec::default() }.build_unpadded();
        built.map(|built| built.bytes).unwrap_or_default()
    };
    let file = |frames: &[Vec<u8>]| {
        let mut out = Vec::new();
        for number in [0xa1b2_3c4du32, 0x0004_0002, 0, 0, 65_535, 1] {
            out.extend(number.to_le_bytes());
        }
        for (at, frame) in (0u32..).zip(frames) {
            for number in [1, at * 900, frame.len() as u32, frame.len() as u32] {
                out.extend(number.to_le_bytes());
            }
            out.extend(frame);
        }
        out
    };
    let mut seeds = Vec::new();
    for (how, ip) in [(0, "ipv4"), (5, "ipv6")] {
        for transport in ["udp", "tcp"] {
            let one = packet(&["ethernet", "vlan", ip, transport]);
            seeds.push([&[how, 0, 0, 0, 0, 0, 0, 9, 7][..], &file(&[one.clone(), one])].concat());
        }
    }
    seeds
}
