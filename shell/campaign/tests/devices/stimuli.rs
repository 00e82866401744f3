//! Packets really sent by trials with attributes, and methods' results with them, over a model router.

use crate::world::{Device, Sent, Simulated, campaign, run};
use methods::{Attributes, Findings, Modifier};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use units::Pps;

const ROUTED: &str = "
ports:
  west: {device: 'ring:a', ip: [10.0.0.2/24, '2001:2::2/64'], gateway: [10.0.0.1, '2001:2::1'], speed: 100Mbps}
  east: {device: 'ring:b', ip: [10.0.1.2/24, '2001:2:0:1::2/64'], gateway: [10.0.1.1, '2001:2:0:1::1'], speed: 100Mbps}
seed: 7
streams:
- {name: up, from: west, to: east, packet: [PACKET], rate: 1kpps}
- {name: down, from: east, to: west, packet: [PACKET], rate: 1kpps}
";
/// Packets per second of the model router: both directions together.
const CAPACITY: Pps = Pps::new(20_000);

/// Runs full loads; returns frames sent by port and kind in the last trial.
fn sent(packet: &str, attributes: Attributes) -> (BTreeMap<(usize, String), u64>, crate::world::Kept, Sent) {
    let text = ROUTED.replace("PACKET", packet);
    let set = [("sizes", "128B"), ("repeats", "2"), ("duration", "2s")];
    let campaign = campaign("mrr", &text, &set, attributes);
    let sent: Sent = Arc::new(Mutex::new(Vec::new()));
    let mut tester = Simulated::new(Device::Router(CAPACITY));
    tester.sent = Some(sent.clone());
    let (_, kept) = run(&campaign, &mut tester);
    let mut kinds = BTreeMap::new();
    for (port, frame) in sent.lock().unwrap().iter() {
        *kinds.entry((*port, kind(frame))).or_insert(0) += 1;
    }
    (kinds, kept, sent)
}

fn kind(frame: &[u8]) -> String {
    let word = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    match (word(12), frame[0]) {
        (0x0806, _) => "neighbour".to_owned(),
        (0x86dd, _) if frame[20] == 58 => "neighbour".to_owned(),
        (0x88b5, 0xff) => "broadcast".to_owned(),
        (0x86dd, _) => format!("ipv6 {}", frame[20]),
        (0x0800, _) if [161, 520].contains(&word(36)) => format!("to {}", word(36)),
        (0x0800, _) => "test".to_owned(),
        _ => "other".to_owned(),
    }
}

#[test]
fn broadcasts_are_sent_in_place_of_test_frames() {
    let attributes = Attributes { modifier: Some(Modifier::Broadcast), ..Attributes::default() };
    let (kinds, kept, _) = sent("ipv4, udp", attributes);
    let of = |kind: &str| kinds.get(&(0, kind.to_owned())).copied().unwrap_or(0);
    // 100 Mbit/s of 128-byte frames: 84,459.46 each second.
    let line = 2.0 * 100e6 / (8.0 * 148.0);
    assert!(((of("test") + of("broadcast")) as f64 - line).abs() <= 2.0, "{kinds:?}");
    assert!((of("broadcast") as f64 - line / 100.0).abs() <= 2.0, "{kinds:?}");
    // What the router drops is counted of test frames only.
    let outcome = &kept.0[1].1;
    assert!(outcome.valid && !outcome.generator_limited, "{outcome:?}");
    assert_eq!(outcome.groups[0].sent, of("test"));
}

#[test]
fn a_query_each_second_and_an_update_each_half_minute() {
    for (modifier, kind, count) in
        [(Modifier::Management, "to 161", 2), (Modifier::RoutingUpdates, "to 520", 1)]
    {
        let attributes = Attributes { modifier: Some(modifier), ..Attributes::default() };
        let (kinds, kept, frames) = sent("ipv4, udp", attributes);
        assert_eq!(kinds[&(0, kind.to_owned())], count, "{kinds:?}");
        assert!(kept.0.iter().all(|(_, outcome)| outcome.valid));
        let frames = frames.lock().unwrap();
        let first =
            frames.iter().find(|(port, frame)| *port == 0 && self::kind(frame) != "neighbour").unwrap();
        assert_eq!(self::kind(&first.1), kind);
    }
}

#[test]
fn half_of_the_packets_have_a_hop_by_hop_header() {
    let attributes = Attributes { modifier: Some(Modifier::HopByHop(50)), ..Attributes::default() };
    let (kinds, kept, _) = sent("ipv6, udp", attributes);
    let of = |kind: &str| kinds[&(0, kind.to_owned())];
    assert!(of("ipv6 0").abs_diff(of("ipv6 17")) <= 1, "{kinds:?}");
    assert_eq!(kept.0[1].1.groups[0].sent, of("ipv6 0") + of("ipv6 17"));
}

#[test]
fn random_ports_reach_their_goal() {
    let attributes = Attributes { random_stimuli: true, ..Attributes::default() };
    let (_, kept, frames) = sent("ipv4, udp", attributes);
    assert!(kept.0.iter().all(|(_, outcome)| outcome.valid && outcome.groups[0].received > 10_000));
    let frames = frames.lock().unwrap();
    let ports: std::collections::BTreeSet<&[u8]> =
        frames.iter().filter(|(_, frame)| kind(frame) == "test").map(|(_, frame)| &frame[34..38]).collect();
    assert!(ports.len() > 10_000);
}

/// The throughput in frames per second of one direction.
fn throughput(packet: &str, attributes: Attributes) -> f64 {
    let text = ROUTED.replace("PACKET", packet).replace("100Mbps", "20Mbps");
    let set = [("sizes", "128B"), ("resolution", "0.01"), ("final_trial", "1s")];
    let campaign = campaign("throughput", &text, &set, attributes);
    let (report, _) = run(&campaign, &mut Simulated::new(Device::Router(CAPACITY)));
    let Findings::Throughput(rows) = &report.results[0].findings else { panic!("{report:?}") };
    rows[0].throughput.as_ref().unwrap_or_else(|| panic!("{report:?}")).first().as_f64()
}

#[test]
fn the_throughput_is_that_of_the_router_whatever_is_mixed_in() {
    let clean = throughput("ipv4, udp", Attributes::default());
    // Half of what it forwards, within the resolution of 1% of the line rate.
    assert!((9_000.0..=10_000.0).contains(&clean), "{clean}");
    for modifier in [Modifier::Broadcast, Modifier::Management, Modifier::RoutingUpdates] {
        let attributes =
            Attributes { modifier: Some(modifier), random_stimuli: true, ..Attributes::default() };
        let mixed = throughput("ipv4, udp", attributes);
        // The model router does not forward broadcasts, so 1% more of what is offered passes.
        assert!((9_000.0..=10_200.0).contains(&mixed), "{modifier:?}: {mixed}");
    }
    let attributes = Attributes { modifier: Some(Modifier::HopByHop(10)), ..Attributes::default() };
    let headers = throughput("ipv6, udp", attributes);
    assert!((9_000.0..=10_000.0).contains(&headers), "{headers}");
}
