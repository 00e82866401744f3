use super::*;
use crate::shape::{DIRECTIONS, SLICES, learning, shape};
use field::Inputs;
use methods::{Attributes, Frames, OfferedLoad, Phase, Timing, TrialKind};
use std::collections::BTreeSet;
use units::FrameLen;

const ROUTED: &str = "
ports:
  west: {device: 'ring:a', ip: [10.0.0.2/24, '2001:2::2/64'], gateway: [10.0.0.1, '2001:2::1'], speed: 1Gbps}
  east: {device: 'ring:b', ip: [10.0.1.2/24, '2001:2:0:1::2/64'], gateway: [10.0.1.1, '2001:2:0:1::1'], speed: 1Gbps}
seed: 7
streams:
- {name: up, from: west, to: east, packet: [PACKET], rate: 1kpps}
- {name: down, from: east, to: west, packet: [PACKET], rate: 1kpps}
";
const SWITCHED: &str = "
ports:
  west: {device: 'ring:a', ip: 10.0.0.2/24, speed: 1Gbps}
  east: {device: 'ring:b', ip: 10.0.0.3/24, speed: 1Gbps}
seed: 7
streams:
- {name: up, from: west, to: east, packet: [ipv4, udp], rate: 1kpps}
- {name: down, from: east, to: west, packet: [ipv4, udp], rate: 1kpps}
";

fn routed(packet: &str) -> (Plan, Directions) {
    bed_of(&ROUTED.replace("PACKET", packet))
}

fn bed_of(text: &str) -> (Plan, Directions) {
    let plan = profile::load(text).unwrap();
    let directions = Directions::of(&plan, &[None, None], Timing::NONE, Attributes::default()).unwrap();
    (plan, directions)
}

fn request(directions: &Directions, kind: TrialKind, attributes: Attributes) -> TrialRequest {
    let load = |group: &methods::Group| OfferedLoad {
        group: group.name.clone(),
        rate: Pps::new(100_000),
        share: 0.5,
    };
    TrialRequest {
        number: 0,
        key: String::new(),
        method: "test".to_owned(),
        phase: Phase::Measure,
        label: "test".to_owned(),
        kind,
        frames: Frames::bytes(128).unwrap(),
        offered: directions.testbed.groups.iter().map(load).collect(),
        duration: Nanos::from_secs(2),
        around: Timing { learning: Nanos::from_millis(500), ..Timing::NONE }.into(),
        attributes,
    }
}

fn with(modifier: Modifier) -> Attributes {
    Attributes { modifier: Some(modifier), ..Attributes::default() }
}

fn micro(stream: &StreamPlan) -> u64 {
    let Load::Packets(rate) = stream.rate else { panic!("{}: {}", stream.name, stream.rate) };
    rate.micro()
}

fn named<'p>(plan: &'p Plan, name: &str) -> &'p StreamPlan {
    plan.streams.iter().find(|stream| stream.name == name).unwrap_or_else(|| {
        panic!("no {name} among {:?}", plan.streams.iter().map(|s| &s.name).collect::<Vec<_>>())
    })
}

/// Names of the streams of a row of a group.
fn row<'p>(plan: &'p Plan, group: &str, row: &str) -> Vec<&'p str> {
    let group = plan.groups.iter().find(|own| own.name == group).unwrap();
    let (_, members) = group.rows.iter().find(|(name, _)| name == row).unwrap();
    members.iter().map(|index| plan.streams[*index as usize].name.as_str()).collect()
}

/// The first frames of a stream.
fn frames(stream: &StreamPlan, count: u64) -> Vec<Vec<u8>> {
    let mut packet = stream.packet.build(FrameLen::new(128).unwrap()).unwrap();
    let vary = stream.vary.as_deref().cloned().unwrap_or_default();
    let program = Program::new(&vary, &mut packet, None).unwrap();
    let write = |number| {
        program.write(&mut packet.bytes, &Inputs { number, sequence: 0, time: 0 });
        packet.bytes.clone()
    };
    (0..count).map(write).collect()
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[test]
fn one_frame_in_a_hundred_is_a_broadcast() {
    let (plan, directions) = routed("ipv4, udp");
    let made =
        shape(&plan, &directions, &request(&directions, TrialKind::Load, with(Modifier::Broadcast))).unwrap();
    let (tests, others) = (named(&made, "up"), named(&made, "west to east broadcast"));
    assert_eq!((micro(tests), micro(others)), (99_000_000_000, 1_000_000_000));
    assert!(tests.measure && !others.measure && others.to.is_none());
    assert_eq!(row(&made, DIRECTIONS, "west to east"), ["up"]);
    assert_eq!(row(&made, DIRECTIONS, "east to west"), ["down"]);
    let frame = frames(others, 1).remove(0);
    assert_eq!(
        (number(&frame[..6]), number(&frame[12..14]), frame.len() + 4),
        (0xffff_ffff_ffff, 0x88b5, 128)
    );
    let burst = request(&directions, TrialKind::Burst { frames: 1_000 }, with(Modifier::Broadcast));
    let made = shape(&plan, &directions, &burst).unwrap();
    assert_eq!(
        [named(&made, "up").count, named(&made, "west to east broadcast").count],
        [Some(990), Some(10)]
    );
}

#[test]
fn broadcasts_follow_the_drop_of_an_overload() {
    let (plan, directions) = routed("ipv4, udp");
    let asked = request(&directions, TrialKind::Overload { share: 0.5 }, with(Modifier::Broadcast));
    let made = shape(&plan, &directions, &asked).unwrap();
    let counts = |from: &str, measure: bool| -> u64 {
        let own = |s: &&StreamPlan| plan.ports[s.from].name == from && s.measure == measure;
        made.streams.iter().filter(own).filter_map(|s| s.count).sum()
    };
    // 2 s at 100 kpps, then 2 s at half of that.
    assert_eq!(counts("west", true), 198_000 + 99_000);
    assert_eq!(named(&made, "west to east broadcast").count, Some(2_000));
    let after = named(&made, "west to east broadcast after");
    assert_eq!((micro(after), after.start_delay), (500_000_000, asked.duration));
    let sliced = made.groups.iter().find(|group| group.name == SLICES).unwrap();
    let members = sliced.rows.iter().flat_map(|(_, members)| members);
    let sum: u64 = members.filter_map(|index| made.streams[*index as usize].count).sum();
    assert_eq!(sum, 2 * 99_000);
}

#[test]
fn a_query_is_the_first_frame_of_each_second() {
    let (plan, directions) = routed("ipv4, udp");
    let made = shape(&plan, &directions, &request(&directions, TrialKind::Load, with(Modifier::Management)))
        .unwrap();
    let (tests, queries) = (named(&made, "up"), named(&made, "west to east queries"));
    assert_eq!((micro(tests), micro(queries)), (99_999_000_000, 1_000_000));
    // The schedule begins with a port's first stream.
    let from_west = made.streams.iter().find(|stream| stream.from == 0);
    assert_eq!(from_west.map(|stream| &stream.name), Some(&queries.name));
    assert_eq!(queries.next_hop, NextHop::Resolve([10, 0, 0, 1].into()));
    let frame = queries.packet.build(queries.packet.shortest(0)).unwrap().bytes;
    assert_eq!((number(&frame[30..34]), number(&frame[36..38])), (0x0a00_0001, 161));
    // BER: the lengths are those of what follows.
    let snmp = &frame[42..];
    assert_eq!((usize::from(snmp[1]), usize::from(snmp[14])), (snmp.len() - 2, snmp.len() - 15));
    let (plan, directions) = bed_of(SWITCHED);
    let error = shape(&plan, &directions, &request(&directions, TrialKind::Load, with(Modifier::Management)))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "trial 'test': management queries go to the device, and port west has no 'gateway' to query"
    );
}

#[test]
fn routing_updates_change_a_route_that_no_test_frame_takes() {
    let (plan, directions) = routed("ipv4, udp");
    let made =
        shape(&plan, &directions, &request(&directions, TrialKind::Load, with(Modifier::RoutingUpdates)))
            .unwrap();
    let updates = named(&made, "west to east routing updates");
    assert_eq!(micro(updates) + micro(named(&made, "up")), 100_000_000_000);
    assert_eq!(micro(updates), 33_333);
    let sent = frames(updates, 2);
    assert_eq!(
        (number(&sent[0][..6]), number(&sent[0][30..34]), sent[0][22]),
        (0x0100_5e00_0009, 0xe000_0009, 1)
    );
    assert_eq!((number(&sent[0][36..38]), number(&sent[0][50..54])), (520, 0xc613_ff00));
    assert_eq!((number(&sent[0][62..66]), number(&sent[1][62..66])), (1, 2));
}

#[test]
fn filters_change_nothing() {
    let (plan, directions) = routed("ipv4, udp");
    let clean =
        shape(&plan, &directions, &request(&directions, TrialKind::Load, Attributes::default())).unwrap();
    let filtered =
        shape(&plan, &directions, &request(&directions, TrialKind::Load, with(Modifier::Filters(25))))
            .unwrap();
    assert_eq!(format!("{:?}", clean.streams), format!("{:?}", filtered.streams));
}

#[test]
fn a_share_of_ipv6_packets_has_a_hop_by_hop_header() {
    let (plan, directions) = routed("ipv6, udp");
    let made =
        shape(&plan, &directions, &request(&directions, TrialKind::Load, with(Modifier::HopByHop(10))))
            .unwrap();
    let (tests, twin) = (named(&made, "up"), named(&made, "hop-by-hop up"));
    assert_eq!((micro(tests), micro(twin)), (90_000_000_000, 10_000_000_000));
    assert!(tests.measure && twin.measure);
    assert_eq!(row(&made, DIRECTIONS, "west to east"), ["up", "hop-by-hop up"]);
    let frame = frames(twin, 1).remove(0);
    // Next header 0; the header says UDP, 8 bytes, PadN.
    assert_eq!((frame[20], &frame[54..62]), (0, &[17, 0, 1, 4, 0, 0, 0, 0][..]));
    let all =
        shape(&plan, &directions, &request(&directions, TrialKind::Load, with(Modifier::HopByHop(100))))
            .unwrap();
    assert_eq!(row(&all, DIRECTIONS, "west to east"), ["hop-by-hop up"]);
    let (plan, directions) = routed("ipv4, udp");
    let error =
        shape(&plan, &directions, &request(&directions, TrialKind::Load, with(Modifier::HopByHop(1))))
            .unwrap_err();
    assert!(error.to_string().contains("no stream's outermost IP header is ipv6"), "{error}");
}

#[test]
fn what_varies_moves_behind_the_hop_by_hop_header() {
    let (plan, directions) = routed("ipv6, udp");
    let attributes = Attributes { random_stimuli: true, ..with(Modifier::HopByHop(50)) };
    let made = shape(&plan, &directions, &request(&directions, TrialKind::Load, attributes)).unwrap();
    let (tests, twin) = (frames(named(&made, "up"), 3), frames(named(&made, "hop-by-hop up"), 3));
    for (plain, longer) in tests.iter().zip(&twin) {
        assert_eq!(plain[54..58], longer[62..66]);
    }
}

#[test]
fn ports_are_random_and_the_same_in_every_trial() {
    let (plan, directions) = routed("ipv4, udp");
    let attributes = Attributes { random_stimuli: true, ..Attributes::default() };
    let of = |trial: u64| {
        let asked = TrialRequest { number: trial, ..request(&directions, TrialKind::Load, attributes) };
        let made = shape(&plan, &directions, &asked).unwrap();
        (made.seed, frames(named(&made, "up"), 2_000), frames(named(&made, "down"), 2_000))
    };
    let ((one, up, down), (two, again, _)) = (of(0), of(1));
    assert_ne!(one, two, "each trial marks its packets");
    assert_eq!(up, again);
    assert_ne!(up[0][34..38], down[0][34..38]);
    let ports: BTreeSet<(u64, u64)> =
        up.iter().map(|frame| (number(&frame[34..36]), number(&frame[36..38]))).collect();
    assert!(ports.len() > 1_900, "{}", ports.len());
    assert!(ports.iter().all(|(src, dst)| *src >= 1024 && (1..=49151).contains(dst)));
    // Behind a router hardware addresses are the port's and the router's.
    assert!(up.iter().all(|frame| frame[..12] == up[0][..12]));
}

#[test]
fn what_the_profile_varies_stays() {
    let text = ROUTED.replace("PACKET", "ipv4, udp");
    let (plan, directions) = bed_of(&text.replace("rate: 1kpps", "rate: 1kpps, vary: {udp.src: 7..9}"));
    let attributes = Attributes { random_stimuli: true, ..Attributes::default() };
    let made = shape(&plan, &directions, &request(&directions, TrialKind::Load, attributes)).unwrap();
    let sent = frames(named(&made, "up"), 4);
    assert_eq!(sent.iter().map(|f| number(&f[34..36])).collect::<Vec<_>>(), [7, 8, 9, 7]);
    assert_ne!(sent[0][36..38], sent[1][36..38]);
}

#[test]
fn a_tunnel_keeps_its_port_and_no_label_is_special() {
    let attributes = Attributes { random_stimuli: true, ..Attributes::default() };
    let sent = |packet: &str| {
        let (plan, directions) = routed(packet);
        let made = shape(&plan, &directions, &request(&directions, TrialKind::Load, attributes)).unwrap();
        frames(named(&made, "up"), 500)
    };
    let tunnel = sent("ipv4, udp, vxlan, ethernet");
    assert!(tunnel.iter().all(|frame| number(&frame[36..38]) == 4789));
    assert_ne!(tunnel[0][34..36], tunnel[1][34..36]);
    let labels = sent("{ethernet: {dst: '02:00:00:00:00:09'}}, mpls, ipv4, udp");
    assert!(labels.iter().all(|frame| number(&frame[14..18]) >> 12 >= 16));
    assert_ne!(labels[0][14..17], labels[1][14..17]);
}

#[test]
fn a_switch_sees_random_hardware_addresses_and_learns_them() {
    let (plan, directions) = bed_of(SWITCHED);
    let attributes = Attributes { random_stimuli: true, ..Attributes::default() };
    let asked = request(&directions, TrialKind::Load, attributes);
    let made = shape(&plan, &directions, &asked).unwrap();
    let macs = |name: &str, at: usize| -> BTreeSet<u64> {
        frames(named(&made, name), 4_000).iter().map(|frame| number(&frame[at..at + 6])).collect()
    };
    let (west, east) = (macs("up", 6), macs("up", 0));
    assert_eq!((west.len(), east.len()), (256, 256));
    // (RR&0xFC):PP:PP:RR:RR:RR
    assert!(west.iter().all(|mac| mac >> 40 & 3 == 0 && mac >> 24 & 0xffff == 1));
    assert!(east.iter().all(|mac| mac >> 40 & 3 == 0 && mac >> 24 & 0xffff == 2));
    assert_eq!((macs("down", 6), macs("down", 0)), (east, west.clone()));
    let lesson = learning(&made, &asked).unwrap();
    assert_eq!(named(&lesson, "up").count, Some(256));
    let taught = frames(named(&lesson, "up"), 256);
    let taught: BTreeSet<u64> = taught.iter().map(|frame| number(&frame[6..12])).collect();
    assert_eq!(taught, west);
}

#[test]
fn destinations_lie_in_so_many_networks() {
    let (plan, directions) = routed("ipv4, udp");
    let attributes = Attributes { networks: 256, ..Attributes::default() };
    let made = shape(&plan, &directions, &request(&directions, TrialKind::Load, attributes)).unwrap();
    let up = named(&made, "up");
    let hits = frames(up, 25_600).iter().fold(std::collections::BTreeMap::new(), |mut hits, frame| {
        *hits.entry(number(&frame[30..34])).or_insert(0u32) += 1;
        hits
    });
    // 10.0.1.2, 10.0.2.2 … 10.1.0.2
    let wanted: Vec<u64> = (0..256).map(|k| 0x0a00_0102 + (k << 8)).collect();
    assert_eq!(hits.keys().copied().collect::<Vec<_>>(), wanted);
    // About a hundred for each; six standard deviations.
    assert!(hits.values().all(|n| (40..160).contains(n)));
    assert_eq!(up.destinations, Some(([10, 0, 1, 2].into(), [10, 1, 0, 2].into())));
    let (plan, directions) = routed("ipv6, udp");
    let made = shape(&plan, &directions, &request(&directions, TrialKind::Load, attributes)).unwrap();
    let nets: BTreeSet<u64> = frames(named(&made, "up"), 9_000).iter().map(|f| number(&f[38..46])).collect();
    assert_eq!((nets.len(), nets.first()), (256, Some(&0x2001_0002_0000_0001)));
    let (plan, directions) = routed("{arp: {}}");
    let error = shape(&plan, &directions, &request(&directions, TrialKind::Load, attributes)).unwrap_err();
    assert!(error.to_string().contains("there is nothing to spread over networks"), "{error}");
}
