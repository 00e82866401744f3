//! Load balancers: what is found of a model is what it does.

use super::world::{Device, Kept, Simulated, campaign};
use engine::Commands;
use methods::{Attributes, BackendChange, BalancerRow, Findings};
use sim::{Balancer, BalancerModel, BalancerRule};
use units::Pps;

const PROFILE: &str = "
ports:
  clients: {device: 'ring:a', ip: 10.0.0.2/24, gateway: 10.0.0.1, speed: 1Gbps}
  servers: {device: 'ring:b', ip: 10.0.1.2/24, gateway: 10.0.1.1, speed: 1Gbps}
sessions:
  - {name: clients, client: {port: clients, addresses: 10.0.0.100..10.0.0.139}, server: {addresses: 10.0.0.1, ports: 80}, app: http, open: 1/s}
  - {name: backends, server: {port: servers, addresses: 10.0.1.11..10.0.1.14, ports: 80}, app: http}
";

const OFF: [(&str, &str); 3] = [("sessions", "0"), ("identities", "0"), ("held", "0")];

fn found(rule: BalancerRule, set: &[(&str, &str)]) -> (BalancerRow, Balancer) {
    let backends = (11..15).map(|n| [10, 0, 1, n].into()).collect();
    let balancer = Balancer::new(BalancerModel { clients: 0, address: [10, 0, 0, 1].into(), backends, rule });
    let campaign = campaign("balancer", PROFILE, &[&OFF[..], set].concat(), Attributes::default());
    campaign.check().unwrap();
    let mut tester = Simulated::new(Device::Router(Pps::new(1_000_000)));
    tester.balancer = Some(balancer.clone());
    let report = campaign.run(&mut tester, None, &mut Commands::none(), &mut Kept::default()).unwrap();
    let Findings::Balancer(rows) = &report.results[0].findings else { panic!("{:?}", report.results[0]) };
    (rows[0].clone(), balancer)
}

#[test]
fn turns_are_even_and_agree_with_the_balancer() {
    let (row, balancer) = found(BalancerRule::Turn, &[("sessions", "400"), ("rate", "1000")]);
    let of: Vec<u64> = row.backends.iter().map(|backend| backend.sessions).collect();
    assert_eq!(of, [100; 4]);
    assert_eq!(balancer.chosen(), [100; 4]);
    assert!(row.backends.iter().all(|backend| backend.connections == 100 && backend.requests == 100));
    assert!(row.failed.is_empty() && row.unjudged.is_empty(), "{row:?}");
}

#[test]
fn a_hash_of_the_source_is_sticky_and_turns_are_not() {
    let set = [("identities", "40"), ("rate", "1000"), ("sticky", "source"), ("repeats", "2")];
    let (row, _) = found(BalancerRule::Source, &set);
    assert_eq!((row.sticky[0].share.count, row.sticky[0].share.of), (80, 80));
    let set = [("identities", "400"), ("rate", "1000"), ("sticky", "source"), ("repeats", "1")];
    let (row, _) = found(BalancerRule::Turn, &set);
    let sticky = &row.sticky[0];
    assert!(sticky.share.lower < 0.25 && sticky.share.upper > 0.25 && sticky.share.of == 400, "{sticky:?}");
    assert_eq!(sticky.by_chance, 0.25);
}

fn change(rule: BalancerRule, change: &str) -> methods::ChangeFound {
    let set = [
        ("held", "200"),
        ("held_rate", "1000"),
        ("rate", "40"),
        ("interval", "500ms"),
        ("changes", change),
        ("backend", "1"),
        ("before", "2s"),
        ("away", "8s"),
        ("after", "4s"),
        ("timeout", "2s"),
    ];
    found(rule, &set).0.changes.remove(0)
}

#[test]
fn sessions_lost_are_those_that_the_backend_held() {
    for (name, reason) in [("silent", "without a response"), ("reset", "reset")] {
        let found = change(BalancerRule::Turn, name).effects;
        assert_eq!((found.held, found.held_by_backend, found.moved), (200, 50, 0), "{name}");
        assert_eq!(found.ended.get(reason), Some(&50), "{name}: {:?}", found.ended);
        assert!(found.others_ended.is_empty(), "{name}: {:?}", found.others_ended);
        // A fourth of all new sessions is lost, or waits until the backend is back; the balancer never notices.
        let lost = found.short_failed + found.short_slow;
        assert!((79..=81).contains(&lost) && found.next_good_ns.is_none(), "{name}: {found:?}");
        assert!(found.used_again_ns.is_some_and(|at| at <= 100_000_000), "{name}: {found:?}");
    }
}

#[test]
fn a_drained_backend_keeps_what_it_holds() {
    let found = change(BalancerRule::Turn, "drain");
    assert_eq!(found.change, BackendChange::Drain);
    let found = found.effects;
    assert_eq!(found.held_by_backend, 50);
    assert!(found.ended.is_empty() && found.others_ended.is_empty(), "{found:?}");
    assert!((79..=81).contains(&found.short_failed), "{found:?}");
}

#[test]
fn clients_of_a_hash_keep_their_backends() {
    let found = change(BalancerRule::Source, "reset").effects;
    assert!(found.clients_settled.is_all(), "{found:?}");
    // Forty clients, of whom thirty are at other backends.
    assert_eq!((found.clients_kept.count, found.clients_kept.of), (30, 30));
    assert_eq!((found.clients_back.count, found.clients_back.of), (40, 40));
}

#[test]
fn a_profile_without_both_sides_is_refused() {
    let refuse = |profile: &str, set: &[(&str, &str)]| {
        campaign("balancer", profile, set, Attributes::default()).check().unwrap_err().to_string()
    };
    let cut = PROFILE.split("  - {name: backends").next().unwrap();
    assert!(refuse(cut, &[]).contains("no backends"));
    let both = PROFILE.replace(
        "server: {addresses: 10.0.0.1, ports: 80}",
        "server: {port: servers, addresses: 10.0.1.20, ports: 80}",
    );
    assert!(refuse(&both, &[]).contains("must be the balancer"));
    assert!(refuse(PROFILE, &[("backend", "4")]).contains("there is no backend 4"));
    assert!(refuse(PROFILE, &[("weights", "1,2")]).contains("2 weights for 4 backends"));
    let raw = PROFILE.replace("app: http", "app: echo");
    assert!(refuse(&raw, &[("sticky", "cookie")]).contains("only HTTP has cookies"));
}
