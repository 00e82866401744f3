//! A switch's address table, over a model switch.

use crate::world::{Device, Simulated, campaign, run};
use methods::{Attributes, Findings};

const SWITCH: &str = "
ports:
  test: {device: 'ring:a', ip: 10.0.0.1/24, speed: 100Mbps}
  learn: {device: 'ring:b', ip: 10.0.0.2/24, speed: 100Mbps}
  watch: {device: 'ring:c', speed: 100Mbps}
streams:
- {name: frames, from: test, to: learn, packet: [ipv4, udp], rate: max}
";

fn found(table: usize, more: &[(&str, &str)]) -> (Vec<methods::AddressRow>, crate::world::Kept) {
    let set = [
        &[
            ("first", "64"),
            ("maximum", "4096"),
            ("learn_rate_max", "0"),
            ("duration", "1s"),
            ("share", "0.02"),
        ],
        more,
    ]
    .concat();
    let campaign = campaign("addresses", SWITCH, &set, Attributes::default());
    let (report, kept) = run(&campaign, &mut Simulated::new(Device::Switch(table)));
    let Findings::Addresses(rows) = &report.results[0].findings else { panic!("{report:?}") };
    assert_eq!(report.ended, campaign::Ended::Done, "{report:?}");
    (rows.clone(), kept)
}

#[test]
fn the_capacity_is_found_exactly() {
    for table in [1usize, 100, 1_000] {
        let (rows, kept) = found(table, &[("resolution", "0.0001")]);
        assert_eq!((rows[0].value, rows[0].failed), (Some(table as u64), Some(table as u64 + 1)));
        for (request, outcome) in &kept.0 {
            let group = &outcome.groups[0];
            assert!(outcome.valid, "{request:?} {outcome:?}");
            assert_eq!((group.lost, group.duplicates, group.wrong_port), (0, 0, 0), "{request:?} {group:?}");
            let methods::TrialKind::Addresses { count, .. } = request.kind else { panic!() };
            // Whatever has no place is flooded, each time it is its turn.
            let flooded = (0..group.sent).filter(|number| number % count >= table as u64).count();
            assert_eq!(group.flooded, flooded as u64, "{count} addresses");
        }
    }
}

#[test]
fn a_switch_that_learns_nothing_has_no_capacity() {
    let (rows, kept) = found(0, &[]);
    assert_eq!((rows[0].value, rows[0].limit), (None, methods::Limit::Impossible));
    assert!(kept.0.iter().all(|(_, outcome)| outcome.groups[0].flooded == outcome.groups[0].sent));
}

#[test]
fn the_rate_is_sought_with_as_many_addresses_as_fit() {
    let (rows, _) = found(300, &[("learn_rate_max", "20000"), ("resolution", "0.01")]);
    assert_eq!(rows[1].what, "learning rate");
    // The model learns with every frame.
    assert_eq!((rows[1].value, rows[1].limit), (Some(20_000), methods::Limit::Maximum));
}
