//! Model translators whose rules are known.

use super::*;
use crate::Protocol;

/// How a model chooses outside ports.
#[derive(Clone, Copy, PartialEq)]
enum Ports {
    Preserve,
    /// At random within a range.
    Random(u16, u16),
    /// One after the other from here.
    Sequence(u16),
    /// At random, of the inside port's parity.
    Parity,
    /// A block of this size for each inside address, from 1,024 on.
    Block(u16),
}

/// A translator.
struct Model {
    dependence: Dependence,
    ports: Ports,
    /// Outside addresses, and whether an inside address keeps to one.
    pool: u8,
    paired: bool,
    known: HashMap<(Endpoint, Option<IpAddr>, Option<u16>), Endpoint>,
    used: HashSet<Endpoint>,
    state: u64,
    next: u16,
}

impl Model {
    fn new(dependence: Dependence, ports: Ports) -> Self {
        let next = if let Ports::Sequence(first) = ports { first } else { 0 };
        let (known, used) = Default::default();
        Self { dependence, ports, pool: 1, paired: true, known, used, state: 7, next }
    }

    fn random(&mut self, from: u16, to: u16) -> u16 {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        from + ((self.state >> 33) % (u64::from(to - from) + 1)) as u16
    }

    fn port(&mut self, inside: Endpoint) -> u16 {
        match self.ports {
            Ports::Preserve => inside.port,
            Ports::Random(from, to) => self.random(from, to),
            Ports::Sequence(_) => {
                self.next += 1;
                self.next - 1
            }
            Ports::Parity => self.random(1000, 30_000) * 2 + inside.port % 2,
            Ports::Block(size) => {
                let IpAddr::V4(address) = inside.address else { unreachable!() };
                let first = 1024 + u16::from(address.octets()[3]) * size;
                self.random(first, first + size - 1)
            }
        }
    }

    fn translate(&mut self, inside: Endpoint, remote: Endpoint) -> Endpoint {
        let key = match self.dependence {
            Dependence::EndpointIndependent => (inside, None, None),
            Dependence::AddressDependent => (inside, Some(remote.address), None),
            _ => (inside, Some(remote.address), Some(remote.port)),
        };
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let IpAddr::V4(address) = inside.address else { unreachable!() };
        let number = if self.paired {
            address.octets()[3] % self.pool
        } else {
            self.random(0, u16::from(self.pool) - 1) as u8
        };
        let outside = loop {
            let outside = Endpoint::new([198, 51, 100, number], self.port(inside));
            // Ports of one address run out only in models that share them.
            if self.used.insert(outside) || self.ports == Ports::Preserve {
                break outside;
            }
        };
        self.known.insert(key, outside);
        outside
    }

    /// Hosts, ports of each, and two ports of each of two remotes.
    fn mappings(mut self, hosts: u8, ports: u16, remotes: &[(u8, u16)]) -> Vec<Mapping> {
        let mut all = Vec::new();
        for (address, port) in remotes {
            for number in 0..ports {
                for host in 0..hosts {
                    let inside = Endpoint::new([10, 0, 0, host], 5000 + number);
                    let remote = Endpoint::new([192, 0, 2, *address], *port);
                    let outside = self.translate(inside, remote);
                    let (sent_ns, arrived_ns) = (0, 0);
                    all.push(Mapping {
                        protocol: Protocol::Udp,
                        inside,
                        to: remote,
                        outside,
                        remote,
                        sent_ns,
                        arrived_ns,
                    });
                }
            }
        }
        all
    }
}

const ALL: &[(u8, u16)] = &[(1, 7), (1, 8), (2, 7), (2, 8)];

fn of(dependence: Dependence, ports: Ports) -> Analysis {
    Analysis::of(&Model::new(dependence, ports).mappings(4, 40, ALL)).unwrap()
}

#[test]
fn mappings_depend_on_what_the_model_says() {
    for dependence in
        [Dependence::EndpointIndependent, Dependence::AddressDependent, Dependence::AddressAndPortDependent]
    {
        let found = of(dependence, Ports::Random(1024, 65_535));
        assert_eq!(found.mapping.value, Some(dependence), "{:?}", found.mapping);
    }
}

#[test]
fn some_of_each_is_mixed() {
    let mut all =
        Model::new(Dependence::EndpointIndependent, Ports::Random(1024, 30_000)).mappings(1, 40, ALL);
    let mut other =
        Model::new(Dependence::AddressAndPortDependent, Ports::Random(30_001, 65_535)).mappings(2, 40, ALL);
    other.retain(|mapping| mapping.inside.address != all[0].inside.address);
    all.extend(other);
    let found = Analysis::of(&all).unwrap();
    assert_eq!(found.mapping.value, Some(Dependence::Mixed));
    assert_eq!((found.mapping.share.count, found.mapping.share.of), (40, 80));
}

#[test]
fn one_remote_address_can_not_tell_addresses_apart() {
    let random = Ports::Random(1024, 65_535);
    let seen = |dependence, remotes| {
        Analysis::of(&Model::new(dependence, random).mappings(4, 40, remotes)).unwrap().mapping
    };
    let one = &ALL[..2];
    assert!(seen(Dependence::AddressDependent, one).reason.unwrap().contains("one address only"));
    assert!(seen(Dependence::EndpointIndependent, one).value.is_none());
    let found = seen(Dependence::AddressAndPortDependent, one).value;
    assert_eq!(found, Some(Dependence::AddressAndPortDependent));
    assert!(
        seen(Dependence::EndpointIndependent, &ALL[..1]).reason.unwrap().starts_with("0 inside endpoints")
    );
}

#[test]
fn preserved_ports_are_the_inside_ones_and_overloaded() {
    let found = of(Dependence::EndpointIndependent, Ports::Preserve);
    assert!(found.preserved.is_all() && found.parity.is_all() && found.contiguous.is_all());
    assert_eq!((found.port_min, found.port_max), (5000, 5039));
    assert!(found.overloaded.is_all() && found.ambiguous == 160, "{found:?}");
    assert!(found.blocks.value.is_none());
}

#[test]
fn a_range_is_kept_and_nothing_is_overloaded() {
    let found = of(Dependence::AddressAndPortDependent, Ports::Random(20_000, 20_999));
    assert!(found.port_min >= 20_000 && found.port_max <= 20_999);
    assert_eq!((found.overloaded.count, found.ambiguous, found.preserved.count), (0, 0, 0));
    // A coin.
    assert!(found.parity.lower < 0.5 && found.parity.upper > 0.5, "{:?}", found.parity);
    assert!(found.contiguous.upper < 0.1 && found.contiguous.of == 320, "{:?}", found.contiguous);
}

#[test]
fn parity_without_preservation_is_seen() {
    let found = of(Dependence::EndpointIndependent, Ports::Parity);
    assert!(found.parity.is_all() && found.preserved.count < 5);
}

#[test]
fn ports_in_sequence_are_seen() {
    let found = of(Dependence::EndpointIndependent, Ports::Sequence(30_000));
    assert!(found.sequential.is_all() && found.sequential.of == 159, "{:?}", found.sequential);
    assert!(of(Dependence::EndpointIndependent, Ports::Random(1024, 65_535)).sequential.upper < 0.1);
}

#[test]
fn blocks_have_their_subscribers_and_a_size() {
    let found = of(Dependence::EndpointIndependent, Ports::Block(256));
    let blocks = found.blocks.value.unwrap();
    assert_eq!(blocks.len(), 4);
    for block in blocks {
        let IpAddr::V4(inside) = block.inside else { unreachable!() };
        let first = 1024 + 256 * u16::from(inside.octets()[3]);
        assert!(block.first >= first && block.last < first + 256, "{block:?}");
    }
    let (least, most) = found.block_ports.unwrap();
    assert!(least <= 256 && (256..512).contains(&most), "{least} {most}");
    let none = of(Dependence::EndpointIndependent, Ports::Random(1024, 65_535));
    assert_eq!((none.blocks.value, none.block_ports), (Some(Vec::new()), None));
}

#[test]
fn pools_are_paired_or_arbitrary() {
    let with = |paired| {
        let model = Model {
            pool: 2,
            paired,
            ..Model::new(Dependence::EndpointIndependent, Ports::Random(1024, 65_535))
        };
        Analysis::of(&model.mappings(4, 40, ALL)).unwrap()
    };
    assert_eq!(with(true).pooling.value, Some(Pooling::Paired));
    assert_eq!((with(false).pooling.value, with(false).outside_addresses), (Some(Pooling::Arbitrary), 2));
    assert!(of(Dependence::EndpointIndependent, Ports::Preserve).pooling.value.is_none());
}

#[test]
fn a_firewall_translates_nothing() {
    let same: Vec<Mapping> = Model::new(Dependence::EndpointIndependent, Ports::Preserve)
        .mappings(4, 40, ALL)
        .into_iter()
        .map(|mapping| Mapping { outside: mapping.inside, ..mapping })
        .collect();
    let found = Analysis::of(&same).unwrap();
    assert_eq!((found.translated.count, found.translated.of, found.overloaded.count), (0, 640, 0));
    assert_eq!(Analysis::of(&[]), None);
}

#[test]
fn filters_are_told_by_what_passes() {
    let with = |port: bool, address: bool| {
        let kinds = [ProbeFrom::SameEndpoint, ProbeFrom::OtherPort, ProbeFrom::OtherAddress];
        let all = kinds.into_iter().zip([true, port, address]);
        Filtering::of(all.flat_map(|probe| std::iter::repeat_n(probe, 16))).rule
    };
    assert_eq!(with(true, true).value, Some(Dependence::EndpointIndependent));
    assert_eq!(with(true, false).value, Some(Dependence::AddressDependent));
    assert_eq!(with(false, false).value, Some(Dependence::AddressAndPortDependent));
    assert_eq!(with(false, true).value, Some(Dependence::Mixed));
    let lost = [(ProbeFrom::SameEndpoint, false), (ProbeFrom::OtherPort, false)];
    let lost = Filtering::of(lost.into_iter().flat_map(|probe| std::iter::repeat_n(probe, 16)));
    assert!(lost.rule.reason.unwrap().contains("did not all come through"));
    assert!(Filtering::of([]).rule.reason.unwrap().contains("too few"));
}
