//! NATxy gateways (RFC 9693): what is found of a model is what it is.

use super::world::{Device, Simulated, campaign};
use campaign::{Observer, Running};
use engine::{Commands, View};
use methods::{Attributes, Findings, Limit, NatRow, TrialOutcome, TrialRequest};
use nat::{Dependence, Pooling};
use sim::{Nat, NatKey, NatModel, NatPorts};
use units::{Nanos, Pps};

const PROFILE: &str = "
ports:
  inside:
    {device: 'ring:a', ip: 10.0.0.2/24, gateway: 10.0.0.1, speed: 1Gbps, hosts: [{name: more, count: 3, ip: 10.0.0.10/24, gateway: 10.0.0.1}]}
  outside:
    {device: 'ring:b', ip: 10.0.1.2/24, gateway: 10.0.1.1, speed: 1Gbps, hosts: [{name: other, ip: 10.0.1.3/24, gateway: 10.0.1.1}]}
streams:
  - {name: nat, from: inside, to: outside, packet: [{ipv4: {src: 10.0.0.2, dst: 10.0.1.2}}, {udp: {src: 1024, dst: 9}}], rate: 1kpps}
";

fn model() -> NatModel {
    NatModel {
        inside: 0,
        pool: vec![[10, 0, 1, 100].into()],
        maps: NatKey::Endpoint,
        filters: NatKey::AddressAndPort,
        ports: NatPorts::Random,
        range: (1024, 65_535),
        sessions: 100_000,
        timeout: Nanos::from_secs(300),
        hairpins: true,
        seed: 7,
    }
}

/// Empties the table before each trial.
struct Emptied(Nat);

impl Observer for Emptied {
    fn begins(&mut self, _: &Running<'_>) {
        self.0.clear();
    }
    fn looks(&mut self, _: &View<'_>) {}
    fn ended(&mut self, _: &TrialRequest, _: &TrialOutcome) {}
}

fn found(model: NatModel, set: &[(&str, &str)]) -> NatRow {
    let off = ["samples", "capacity_max", "rate_max", "throughput_max"].map(|name| (name, "0"));
    let set = [&off[..], &[("timeout_max", "0s")], set].concat();
    let campaign = campaign("nat", PROFILE, &set, Attributes::default());
    campaign.check().unwrap();
    let nat = Nat::new(model);
    let mut tester = Simulated::new(Device::Router(Pps::new(1_000_000)));
    tester.nat = Some(nat.clone());
    let report = campaign.run(&mut tester, None, &mut Commands::none(), &mut Emptied(nat)).unwrap();
    let Findings::Nat(rows) = &report.results[0].findings else { panic!() };
    rows[0].clone()
}

fn behavior(model: NatModel) -> methods::NatBehavior {
    found(model, &[("samples", "64")]).behavior.unwrap()
}

#[test]
fn mappings_and_filters_are_the_models() {
    for (key, dependence) in [
        (NatKey::Endpoint, Dependence::EndpointIndependent),
        (NatKey::Address, Dependence::AddressDependent),
        (NatKey::AddressAndPort, Dependence::AddressAndPortDependent),
    ] {
        let found = behavior(NatModel { maps: key, ..model() });
        assert_eq!(found.mapping.unwrap().mapping.value, Some(dependence));
        let found = behavior(NatModel { filters: key, ..model() });
        assert_eq!(found.filtering.unwrap().rule.value, Some(dependence));
    }
}

#[test]
fn ports_pools_and_blocks_are_the_models() {
    let found = behavior(NatModel { ports: NatPorts::Preserved, ..model() }).mapping.unwrap();
    // The first subscriber with a port keeps it.
    assert_eq!(found.preserved.count * 4, found.preserved.of);
    let found = behavior(NatModel { range: (30_000, 31_999), ..model() }).mapping.unwrap();
    assert!(found.port_min >= 30_000 && found.port_max <= 31_999 && found.translated.is_all());
    let found = behavior(NatModel { ports: NatPorts::Sequential, ..model() }).mapping.unwrap();
    assert!(found.sequential.is_all());
    let found = behavior(NatModel { ports: NatPorts::Blocks(512), ..model() }).mapping.unwrap();
    let (least, most) = found.block_ports.unwrap();
    assert!(found.blocks.value.unwrap().len() == 4 && least <= 512 && 512 <= most, "{least} {most}");
    let pool = vec![[10, 0, 1, 100].into(), [10, 0, 1, 101].into()];
    let found = behavior(NatModel { pool, ..model() }).mapping.unwrap();
    assert_eq!((found.outside_addresses, found.pooling.value), (2, Some(Pooling::Paired)));
}

#[test]
fn hairpins_and_errors_are_seen() {
    for hairpins in [true, false] {
        let found = behavior(NatModel { hairpins, filters: NatKey::Endpoint, ..model() });
        assert_eq!((found.hairpinning.is_all(), found.hairpinning.count > 0), (hairpins, hairpins));
        assert_eq!(found.hairpinning_from_outside.count, found.hairpinning.count);
        assert!(found.icmp_errors.is_all() && found.icmp_errors.of == 32, "{:?}", found.icmp_errors);
    }
}

#[test]
fn the_capacity_and_the_reuse_are_the_models() {
    let set = [
        ("connections", "500"),
        ("capacity_max", "4000"),
        ("establish_rate", "50000"),
        ("validate_rate", "50000"),
    ];
    let capacity = found(NatModel { sessions: 1_234, ..model() }, &set).capacity.unwrap();
    assert_eq!(capacity.best.unwrap().connections, 1_234);
    assert_eq!((capacity.failed.unwrap().connections, capacity.limit), (1_235, Limit::Dut));
}

#[test]
fn established_connections_carry_traffic() {
    let set = [
        ("connections", "300"),
        ("throughput_first", "1000"),
        ("throughput_max", "4000"),
        ("duration", "200ms"),
    ];
    let throughput = found(model(), &set).throughput.unwrap();
    assert_eq!((throughput.best.unwrap().rate, throughput.limit), (4_000, Limit::Maximum));
    // Without room for its connections there is nothing to carry.
    let none = found(NatModel { sessions: 299, ..model() }, &set).throughput.unwrap();
    assert_eq!((none.best, none.limit), (None, Limit::Impossible));
}
