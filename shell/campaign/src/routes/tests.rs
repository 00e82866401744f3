use super::*;
use crate::shape::shape as shape_trial;
use methods::{Attributes, Frames, OfferedLoad, Phase, Timing};

/// 60 routes of two ranges of one speaker, and 40 of two other speakers; one stream.
const RANGES: &str = "
ports:
  source: {device: 'ring:a', ip: 10.9.0.2/24, gateway: 10.9.0.1, speed: 1Gbps}
  west:
    device: 'ring:b'
    ip: 10.0.0.2/24
    hosts: [{name: edge, count: 2, ip: 10.0.0.10/24}]
    bgp:
      peers:
        - peer: 10.0.0.1
          as: 65001
          routes: [{prefixes: 16.0.0.0/24, count: 40, withdraw: 1s}, {prefixes: 32.0.0.0/16, count: 20, step: 2}]
        - {host: edge, peer: 10.0.0.1, as: 65002, routes: [{prefixes: 48.0.0.0/24, count: 20}]}
streams:
- {name: one, from: source, to: west, packet: [{ipv4: {dst: 16.0.0.9}}, {udp: {dst: 7}}], rate: 1kpps, vary: {udp.src: {from: 1, count: 5}}}
";
/// One range, and a stream of each IP version of which one has no routes.
const ONE: &str = "
ports:
  source: {device: 'ring:a', ip: 10.9.0.2/24, gateway: 10.9.0.1, speed: 1Gbps}
  west:
    device: 'ring:b'
    ip: 10.0.0.2/24
    bgp: {peers: [{peer: 10.0.0.1, as: 65001, routes: [{prefixes: 16.0.0.0/24, count: 1000}]}]}
streams:
- {name: one, from: source, to: west, packet: [ipv4, udp], rate: 1kpps}
";

fn bed_of(text: &str) -> (Plan, Directions) {
    let plan = profile::load(text).unwrap();
    let speeds = vec![None; plan.ports.len()];
    let directions = Directions::of(&plan, &speeds, Timing::NONE, Attributes::default()).unwrap();
    (plan, directions)
}

fn request(routes: u64, packets: u32) -> TrialRequest {
    TrialRequest {
        number: 0,
        key: String::new(),
        method: "route-capacity".to_owned(),
        phase: Phase::Measure,
        label: "routes".to_owned(),
        kind: TrialKind::Routes { routes, packets },
        frames: Frames::bytes(128).unwrap(),
        offered: vec![OfferedLoad { group: "source to west".to_owned(), rate: Pps::new(1_000), share: 0.1 }],
        duration: Nanos::from_millis(100),
        around: Timing::NONE.into(),
        attributes: Attributes::default(),
    }
}

fn refused(text: &str) -> String {
    let (plan, directions) = bed_of(text);
    check(&plan, &directions).unwrap_err().to_string()
}

#[test]
fn the_routes_of_one_range_are_gone_through_without_a_list() {
    let (plan, directions) = bed_of(ONE);
    assert_eq!(directions.testbed.routes, 1_000);
    let made = shape_trial(&plan, &directions, &request(300, 3)).unwrap();
    let peer = &made.ports[1].bgp.as_ref().unwrap().peers[0];
    assert_eq!((peer.routes.len(), peer.routes[0].count), (1, 300));
    let stream = &made.streams[0];
    let vary = stream.vary.as_ref().unwrap();
    // The host part of the destination stays.
    let first = u128::from(u32::from("16.0.0.2".parse::<std::net::Ipv4Addr>().unwrap()));
    let source = Source::Range { first, step: 256, count: 300, width: 32 };
    assert_eq!(vary.variables.last().map(|variable| &variable.source), Some(&source));
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    assert_eq!(stream.destinations, Some((ip("16.0.0.2"), ip("16.1.43.2"))));
    // Three packets to each take longer than the trial's 100 ms.
    assert_eq!((stream.count, stream.rate), (Some(900), Load::Packets(Pps::new(1_000))));
    assert!(made.duration >= Nanos::from_millis(900), "{:?}", made.duration);
    let made = shape_trial(&plan, &directions, &request(10, 3)).unwrap();
    assert_eq!(made.streams[0].count, Some(100), "as long as the trial");
}

#[test]
fn each_range_has_its_share() {
    let (plan, directions) = bed_of(RANGES);
    assert_eq!(directions.testbed.routes, 100);
    for routes in 1..=100 {
        let made = shape_trial(&plan, &directions, &request(routes, 1)).unwrap();
        let bgp = made.ports[1].bgp.as_ref().unwrap();
        assert!(bgp.may_fail);
        let ranges: Vec<_> = bgp.peers.iter().flat_map(|peer| peer.routes.iter()).collect();
        assert_eq!(ranges.iter().map(|range| u64::from(range.count)).sum::<u64>(), routes);
        assert!(ranges.iter().all(|range| range.withdraw.is_none()));
        let vary = made.streams[0].vary.as_ref().unwrap();
        assert_eq!(vary.writes.len(), 2, "what else varies stays");
        if let Source::List { values, .. } = &vary.variables.last().unwrap().source {
            assert_eq!(values.len() as u64, routes);
        }
    }
    let made = shape_trial(&plan, &directions, &request(50, 1)).unwrap();
    let bgp = made.ports[1].bgp.as_ref().unwrap();
    let firsts: Vec<_> = bgp
        .peers
        .iter()
        .flat_map(|peer| peer.routes.iter())
        .map(|range| (range.first, range.count))
        .collect();
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    // The second host of 'edge' has the prefixes that it has with all routes.
    assert_eq!(
        firsts,
        [(ip("16.0.0.0"), 20), (ip("32.0.0.0"), 10), (ip("48.0.0.0"), 10), (ip("48.0.20.0"), 10)]
    );
    let vary = made.streams[0].vary.as_ref().unwrap();
    let Source::List { values, .. } = &vary.variables.last().unwrap().source else { panic!("{vary:?}") };
    let at = |index: usize| std::net::Ipv4Addr::from(values[index] as u32).to_string();
    assert_eq!(
        [at(0), at(19), at(20), at(21), at(49)],
        ["16.0.0.9", "16.0.19.9", "32.0.0.9", "32.2.0.9", "48.0.29.9"]
    );
}

#[test]
fn prefixes_that_hosts_share_are_sent_to_once() {
    let (plan, directions) = bed_of(
        &RANGES.replace("prefixes: 48.0.0.0/24, count: 20", "prefixes: 48.0.0.0/24, count: 20, same: true"),
    );
    let made = shape_trial(&plan, &directions, &request(100, 1)).unwrap();
    let vary = made.streams[0].vary.as_ref().unwrap();
    let Source::List { values, .. } = &vary.variables.last().unwrap().source else { panic!("{vary:?}") };
    assert_eq!(values.len(), 80);
}

#[test]
fn what_does_not_suit_is_said() {
    let without = ONE.split("    bgp:").next().unwrap().to_owned() + ONE.split("]}]}\n").nth(1).unwrap();
    let said = refused(&without);
    assert!(said.starts_with("stream one: port west, to which it goes, advertises no IPv4 routes"), "{said}");
    let said = refused(&ONE.replace("[ipv4, udp]", "[{ethernet: {type: 0x88b5}}]"));
    assert!(said.contains("no IPv4 or IPv6 header"), "{said}");
    let said = refused(ONE.split("streams:").next().unwrap());
    assert!(said.starts_with("streams: a stream is needed"), "{said}");
}
