//! Frames of any bytes to the host behind a port: it survives them all, and its replies are right.
//!
//! The first byte of an input gives the number of the host's VLANs (the low two bits) and of zeros, in units of 260,
//! after the frame (the other bits); the rest is the frame.

use neighbour::{Echo, Host, Hosts, Ping, Resolver, may_answer};
use std::net::IpAddr;
use units::{FrameLen, Nanos};
use wire::{Header, PacketSpec, ReadHeader, protocol, read};

/// Maximum number of bytes by which a reply is longer than its request: an advertisement's option. VLAN tags come on
/// top.
const LONGER_MAX: usize = 8;
const VLAN_TAG: usize = 4;
const VLANS: [u16; 2] = [100, 200];
/// So that the largest number of units fills the longest frame.
const STRETCH: usize = 260;

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    if let Some((how, bytes)) = data.split_first() {
        let mut frame = bytes.to_vec();
        frame.resize(frame.len() + usize::from(how >> 2) * STRETCH, 0);
        frame.truncate(FrameLen::MAX.without_fcs() as usize);
        let owner = host(2, usize::from(how & 3));
        let hosts = Hosts::new(vec![owner.clone()], Vec::new());
        resolver(&hosts, owner.addresses[0]).take(&hosts, &frame);
        check_ping(&owner, &frame);
        let answer = owner.answer(&frame);
        assert_eq!(hosts.answer(&frame), answer, "one host and all hosts");
        if let Some(answer) = answer {
            check_answer(&owner, &frame, &answer);
        }
    }
}

fn host(last: u8, vlans: usize) -> Host {
    let addresses: Vec<IpAddr> = [format!("10.0.0.{last}"), format!("2001:2::{last}")]
        .map(|text| text.parse().expect("an address"))
        .to_vec();
    Host {
        mac: [2, 0, 0, 0, 0, last],
        vlans: VLANS.into_iter().take(vlans).collect::<Vec<_>>().into(),
        networks: Vec::new(),
        answers_for: addresses.iter().map(|ip| *ip..=*ip).collect(),
        addresses,
    }
}

fn check_answer(owner: &Host, frame: &[u8], answer: &[u8]) {
    let longest = frame.len() + LONGER_MAX + owner.vlans.len() * VLAN_TAG;
    assert!(answer.len() <= longest, "{} bytes make {}", frame.len(), answer.len());
    assert_eq!(owner.answer(answer), None, "a reply to a reply");

    let (headers, behind) = read(answer);
    let names: Vec<&str> = headers.iter().map(|header| header.protocol.name).collect();
    let (links, inner) = names.split_at(1 + owner.vlans.len());
    assert_eq!(links[0], "ethernet");
    assert!(links[1..].iter().all(|name| *name == "vlan"), "{names:?}");
    let ids: Vec<u128> = headers[1..links.len()].iter().map(|vlan| value(vlan, "id")).collect();
    assert!(ids.iter().eq(owner.vlans.iter().map(|id| u128::from(*id)).collect::<Vec<_>>().iter()));
    assert_eq!(value(&headers[0], "src").to_be_bytes()[10..], owner.mac);

    let (source, last) = (&headers[links.len()], &headers[headers.len() - 1]);
    let rest = answer.len() - source.offset;
    let own = match inner {
        ["arp"] => {
            assert_eq!((value(source, "operation"), rest), (2, 28));
            address(source, "sender_ip")
        }
        ["ipv4", "icmp"] => {
            assert_eq!((value(last, "type"), value(source, "total_length")), (0, rest as u128));
            assert_eq!(sum(&answer[source.offset..last.offset], 0), 0xffff);
            assert_eq!(sum(&answer[last.offset..], 0), 0xffff);
            address(source, "src")
        }
        ["ipv6", kind @ ("icmpv6" | "nd_advert")] => {
            assert_eq!(value(last, "type"), if *kind == "icmpv6" { 129 } else { 136 });
            assert_eq!(value(source, "payload_length"), rest as u128 - 40);
            let pseudo = sum(&answer[source.offset + 8..source.offset + 40], 58 + rest as u32 - 40);
            assert_eq!(sum(&answer[last.offset..], pseudo), 0xffff);
            address(source, "src")
        }
        _ => panic!("a reply of {names:?}"),
    };
    assert!(owner.owns(own), "replied for {own}");
    let payload = &answer[behind..];
    assert!(frame.windows(payload.len().max(1)).any(|window| window == payload) || payload.is_empty());
    assert!(may_answer(answer), "a reply that the filter drops");
    check_learnt(own, answer, last, owner.vlans.len());
}

/// RFC 1071 word by word, so that a mistake in the host's own sum is not made again here.
fn sum(bytes: &[u8], before: u32) -> u32 {
    bytes.chunks(2).fold(before, |sum, pair| {
        let sum = sum + (u32::from(pair[0]) << 8) + pair.get(1).map_or(0, |low| u32::from(*low));
        (sum & 0xffff) + (sum >> 16)
    })
}

/// The only host's request for `ip`, sent once.
fn resolver(hosts: &Hosts, ip: IpAddr) -> Resolver {
    let mut resolver = Resolver::new(hosts, [(0, ip)], []);
    resolver.requests(Nanos::ZERO, hosts);
    resolver
}

/// The requester of the address in a reply knows it now.
fn check_learnt(own: IpAddr, answer: &[u8], last: &ReadHeader, vlans: usize) {
    let tells = ["arp", "nd_advert"].contains(&last.protocol.name);
    let hosts = Hosts::new(vec![host(1, vlans)], Vec::new());
    let mut resolver = resolver(&hosts, own);
    resolver.take(&hosts, answer);
    assert_eq!(resolver.mac(0, own).is_some(), tells);
    assert_eq!(resolver.next_due() == Nanos::MAX, tells);
}

/// A ping accepts no reply that is filtered out before it.
fn check_ping(owner: &Host, frame: &[u8]) {
    let asker = host(1, owner.vlans.len());
    for (from, to) in asker.addresses.iter().zip(&owner.addresses) {
        for mac in [None, Some(owner.mac)] {
            let echo = Echo {
                from: *from,
                to: *to,
                hop: *to,
                mac,
                session: None,
                id: 7,
                attempts: 9,
                timeout: Nanos(1),
            };
            let mut ping = Ping::new(echo);
            (0..9).for_each(|at| _ = ping.poll(Nanos(at), &asker));
            let before = (ping.next_due(), ping.outcome());
            ping.take(Nanos(8), &asker, frame);
            let has_changed = before != (ping.next_due(), ping.outcome());
            assert!(!has_changed || may_answer(frame), "{mac:?}");
        }
    }
}

fn value(header: &ReadHeader, name: &str) -> u128 {
    header.value(name).expect("a field of the header")
}

fn address(header: &ReadHeader, name: &str) -> IpAddr {
    let field = header.protocol.field(name).expect("a field of the header");
    field.print(value(header, name)).parse().expect("an address")
}

/// Requests for the host's addresses and pings of them, plain, in VLANs, and as long as a frame can be.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for vlans in 0..=VLANS.len() {
        let (asker, owner) = (host(1, vlans), host(2, vlans));
        let mut frames: Vec<Vec<u8>> =
            owner.addresses.iter().filter_map(|address| asker.request(*address)).collect();
        frames.extend(["icmp", "icmpv6", "bare solicitation"].map(|kind| ping(kind, vlans, 0)));
        // Answers, which only who asked is interested in.
        frames.extend(frames.clone().iter().filter_map(|frame| owner.answer(frame)));
        seeds.extend(frames.into_iter().map(|frame| [&[vlans as u8], &frame[..]].concat()));
    }
    // What is behind the beginning of the longest frame is zeros: so short is the seed.
    for (kind, beginning) in [("icmp", 14 + 20 + 8), ("icmpv6", 14 + 40 + 8)] {
        let frame = ping(kind, 0, FrameLen::MAX.without_fcs() as usize - beginning);
        // In VLANs the host has no room for the tags of its answer.
        seeds.extend([0xfc, 0xfd, 0xfe].map(|how| [&[how], &frame[..beginning]].concat()));
    }
    seeds
}

/// An echo request, or a solicitation without the source link-layer address option.
fn ping(kind: &str, vlans: usize, payload: usize) -> Vec<u8> {
    let header = |name: &str| Header::new(protocol(name).expect("a protocol of the catalogue"));
    let mut headers = vec![header("ethernet").with("dst", 0x0200_0000_0002).with("src", 0x0200_0000_0001)];
    headers.extend(VLANS.iter().take(vlans).map(|id| header("vlan").with("id", u128::from(*id))));
    let v6 = 0x2001_0002u128 << 96;
    if kind == "icmp" {
        headers.push(header("ipv4").with("src", 0x0a00_0001).with("dst", 0x0a00_0002));
    } else {
        headers.push(header("ipv6").with("src", v6 | 1).with("dst", v6 | 2).with("hop_limit", 255));
    }
    let mut payload = vec![0; payload];
    if kind == "bare solicitation" {
        headers.push(header("icmpv6").with("type", 135).with("id", 0).with("seq", 0));
        payload = (v6 | 2).to_be_bytes().to_vec();
    } else {
        headers.push(header(kind).with("id", 7).with("seq", 9));
    }
    let spec = PacketSpec { headers, payload, ..PacketSpec::default() };
    spec.build_unpadded().expect("a packet that can be built").bytes
}
