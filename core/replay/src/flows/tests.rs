//! Flows made from a template, against packets built anew.

use super::*;
use crate::testing::{capture, frame, framed, header, udp};
use pcap::Capture;
use std::net::Ipv4Addr;

fn pools(clients: [&str; 2], servers: [&str; 2]) -> Pools {
    let pool = |[first, last]: [&str; 2]| Pool::new(first.parse().unwrap(), last.parse().unwrap()).unwrap();
    let (clients, servers) = (pool(clients), pool(servers));
    Pools { clients, servers, per_pair: 1, ports: (1_024, 64_000), begin: PortBegin::Spread, swapped: false }
}

fn query() -> Capture {
    let packets = [
        ("10.0.0.1:4000", "10.0.0.2:53"),
        ("10.0.0.2:53", "10.0.0.1:4000"),
        ("10.0.0.1:4000", "10.0.0.2:53"),
    ];
    capture(packets.iter().map(|(from, to)| udp([1, 2], from, to)))
}

fn template(capture: &Capture, split: bool, timing: FlowTiming) -> Template {
    Template::new(framed(capture), &SplitBy::FirstSource, split, timing).unwrap()
}

#[test]
fn packets_of_a_flow_are_what_its_ends_would_send() {
    let template = template(&query(), true, FlowTiming::Captured(None));
    assert_eq!(template.from_client, [vec![true, true], vec![false]]);
    let pools = pools(["16.0.0.1", "16.0.0.3"], ["48.0.0.1", "48.0.0.2"]);
    for (side, (trace, from_client)) in template.traces.iter().zip(&template.from_client).enumerate() {
        let flows = Flows::new(trace, from_client, pools).unwrap();
        // A buffer holds another flow's packet before.
        let mut frames: Vec<Vec<u8>> = trace.packets.iter().map(|packet| packet.bytes.clone()).collect();
        for number in 0..200u64 {
            let packet = number as usize % flows.len();
            flows.write(number, &mut frames[packet]);
            let ends = pools.of(number / flows.len() as u64);
            let (client, server) = (format!("{}:{}", ends.client, ends.port), format!("{}:53", ends.server));
            let (from, to) = if side == 0 { (client, server) } else { (server, client) };
            let mut wanted = udp([1, 2], &from, &to);
            wanted.resize(frames[packet].len(), 0);
            assert_eq!(frames[packet], wanted, "packet {number}");
        }
    }
}

/// By hand, from the rule: 2531011 mod 65536 = 40643, and 214013 more for each client.
#[test]
fn each_flow_has_the_next_pair_and_the_next_port_of_its_client() {
    let mut pools = pools(["16.0.0.1", "16.0.0.2"], ["48.0.0.1", "48.0.0.3"]);
    let of = |pools: &Pools, flow| {
        let FlowEnds { client, server, port } = pools.of(flow);
        (client.to_string(), server.to_string(), port)
    };
    let end = |client: &str, server: &str, port| (client.to_owned(), server.to_owned(), port);
    let second = 1_025 + (214_013u64 + 2_531_011 - 41 * 65_536) as u16;
    assert_eq!(of(&pools, 0), end("16.0.0.1", "48.0.0.1", 1_025 + 40_643));
    assert_eq!(of(&pools, 1), end("16.0.0.2", "48.0.0.2", second));
    assert_eq!(of(&pools, 2), end("16.0.0.1", "48.0.0.3", 1_025 + 40_644));
    assert_eq!(of(&pools, 5), end("16.0.0.2", "48.0.0.3", second + 2));
    // Behind the last port comes the first.
    let to_last = 64_000 - (1_025 + 40_643);
    assert_eq!(of(&pools, 2 * to_last).2, 64_000);
    assert_eq!(of(&pools, 2 * to_last + 2).2, 1_024);
    pools.per_pair = 3;
    let flows: Vec<_> = (0..8).map(|flow| of(&pools, flow)).collect();
    assert!(flows[..3].iter().all(|(client, server, _)| client == "16.0.0.1" && server == "48.0.0.1"));
    assert_eq!(flows[..3].iter().map(|flow| flow.2).collect::<Vec<_>>(), [41_668, 41_669, 41_670]);
    assert_eq!((flows[3].2, &flows[6]), (second, &end("16.0.0.1", "48.0.0.3", 41_671)));
    pools.begin = PortBegin::First;
    assert_eq!([0, 1, 3].map(|flow| of(&pools, flow).2), [1_024, 1_025, 1_024]);
    pools.ports = (7, 7);
    assert_eq!([0, 1, 3].map(|flow| of(&pools, flow).2), [7; 3]);
}

#[test]
fn times_are_the_captures_or_the_templates() {
    let at = |timing| {
        let template = template(&query(), false, timing);
        template.traces[0].packets.iter().map(|packet| packet.at.0).collect::<Vec<_>>()
    };
    assert_eq!(at(FlowTiming::Captured(None)), [0, 10, 20]);
    assert_eq!(at(FlowTiming::Captured(Some((Nanos(11), Nanos(500))))), [0, 500, 1_000]);
    assert_eq!(at(FlowTiming::Captured(Some((Nanos(10), Nanos(500))))), [0, 10, 20]);
    assert_eq!(at(FlowTiming::Gaps { same: Nanos(3), turn: Nanos(70) }), [0, 70, 140]);
    let mut one_way = query();
    one_way.records.remove(1);
    let template = template(&one_way, false, FlowTiming::Gaps { same: Nanos(3), turn: Nanos(70) });
    assert_eq!(template.traces[0].span, Nanos(3));
}

#[test]
fn checksums_stay_right_wrong_or_absent_but_of_ipv4() {
    let pools = pools(["16.0.0.1", "16.0.255.255"], ["48.0.0.1", "48.0.0.9"]);
    let mut frames = vec![udp([1, 2], "10.0.0.1:7", "10.0.0.2:9"); 3];
    // The second has no UDP checksum and a wrong one of IPv4, the third a wrong one of UDP.
    frames[1][40..42].fill(0);
    frames[1][24..26].fill(0xaa);
    frames[2][40..42].fill(0xaa);
    let template = template(&capture(frames), false, FlowTiming::Captured(None));
    let flows = Flows::new(&template.traces[0], &template.from_client[0], pools).unwrap();
    for number in 0..500u64 {
        let packet = number as usize % 3;
        let mut bytes = template.traces[0].packets[packet].bytes.clone();
        flows.write(number, &mut bytes);
        let mut again = bytes.clone();
        wire::checksums(&bytes).iter().for_each(|sum| sum.write(&mut again));
        assert_eq!(bytes[14..34], again[14..34], "packet {number}");
        assert_eq!(bytes[34..] == again[34..], packet != 2, "packet {number}");
        assert_eq!(bytes[40..42] == [0, 0], packet == 1);
    }
}

#[test]
fn addresses_of_ipv6_and_segments_of_tcp_are_rewritten_behind_tags() {
    let segment = |src: &str, dst: &str, port: &str| {
        frame(vec![
            header("ethernet", &[]),
            header("vlan", &[("id", "5")]),
            header("ipv6", &[("src", src), ("dst", dst)]),
            header("tcp", &[("src", port), ("dst", "80")]),
        ])
    };
    let template =
        template(&capture([segment("fd00::1", "fd00::2", "1000")]), false, FlowTiming::Captured(None));
    let pools = pools(["2001:db8::ffff", "2001:db8::1:1"], ["2001:db8:1::1", "2001:db8:1::1"]);
    let flows = Flows::new(&template.traces[0], &template.from_client[0], pools).unwrap();
    for flow in 0..5 {
        let mut bytes = template.traces[0].packets[0].bytes.clone();
        flows.write(flow, &mut bytes);
        let ends = pools.of(flow);
        let wanted = segment(&ends.client.to_string(), &ends.server.to_string(), &ends.port.to_string());
        assert_eq!(bytes[..wanted.len()], wanted, "flow {flow}");
    }
}

#[test]
fn captures_that_are_no_template_say_why() {
    let refused = |capture: &Capture| {
        let by = SplitBy::FirstSource;
        Template::new(framed(capture), &by, true, FlowTiming::Captured(None)).unwrap_err().to_string()
    };
    let other = capture([udp([1, 2], "10.0.0.1:4", "10.0.0.2:5"), udp([1, 2], "10.0.0.1:4", "10.0.0.3:5")]);
    assert_eq!(
        refused(&other),
        "packet 2: it is of another flow than the first; a capture with one flow is needed"
    );
    let arp = capture([frame(vec![header("ethernet", &[]), header("arp", &[])])]);
    assert_eq!(refused(&arp), "packet 1: it is neither TCP nor UDP over IP");
    let mut many = query();
    many.records = vec![many.records[0].clone(); PACKETS_MAX + 1];
    assert_eq!(refused(&many), "the capture has 65537 packets; a flow has at most 65536");
    let mut piece = udp([1, 2], "10.0.0.1:4", "10.0.0.2:5");
    piece[20] = 0x20;
    assert_eq!(
        refused(&capture([piece])),
        "packet 1: it is an IP fragment, and only a whole packet has ports"
    );
    let mut long = query();
    long.records[2].at = Nanos(u64::MAX);
    assert_eq!(refused(&long), "a flow takes longer than a year");
    let query = template(&query(), false, FlowTiming::Captured(None));
    let of_ipv6 = pools(["fd00::1", "fd00::2"], ["fd00::1", "fd00::2"]);
    let error = Flows::new(&query.traces[0], &query.from_client[0], of_ipv6).unwrap_err().to_string();
    assert_eq!(error, "packet 1: it is IPv4; clients and servers need addresses of that family");
}

#[test]
fn pools_have_an_end_and_one_family() {
    let v4 = |last: u8| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
    assert!(Pool::new(v4(2), v4(1)).is_none());
    assert!(Pool::new(v4(1), "fd00::1".parse().unwrap()).is_none());
    assert!(Pool::new("::".parse().unwrap(), "ffff::".parse().unwrap()).is_none());
}
