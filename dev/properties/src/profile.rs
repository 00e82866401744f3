//! Any text as a profile: it loads, or gives place and reason of the error; and a plan has nothing left that could go
//! wrong later.

use field::Program;
use profile::plan::{NextHop, Plan, StreamPlan};
use profile::{ProfileError, load};
use std::collections::HashSet;
use std::fs;
use std::hash::Hash;
use std::path::Path;
use units::Nanos;
use wire::protocol;
use wire::signature::{Mark, STREAMS_MAX, Stamp};

/// Behind one port.
const HOSTS_MAX: usize = 4096;
const YEAR: Nanos = Nanos::from_secs(365 * 24 * 3600);
/// Longest number in a profile with copies: more of them take more memory than a fuzzer should.
const DIGITS_MAX: usize = 4;

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && !makes_too_many(text)
    {
        match load(text) {
            Ok(plan) => check_plan(&plan),
            Err(errors) => check_errors(text, &errors),
        }
    }
}

fn makes_too_many(text: &str) -> bool {
    let is_long =
        |number: &str| number.len() > DIGITS_MAX && number.starts_with(|c: char| c.is_ascii_digit());
    text.contains("copies")
        && text.split(|c: char| !c.is_ascii_hexdigit() && c != 'x' && c != 'o').any(is_long)
}

fn check_errors(text: &str, errors: &[ProfileError]) {
    assert!(!errors.is_empty(), "refused without a reason");
    assert!(errors.is_sorted_by_key(|error| (error.line, error.column)), "not in the order of lines");
    // What is missing at the end is found missing behind it.
    let lines = 2 + text.chars().filter(|c| matches!(c, '\n' | '\r')).count();
    for error in errors {
        assert!((1..=lines).contains(&error.line) && error.column >= 1, "{error}");
        assert!(!error.reason.is_empty() && !error.reason.starts_with("internal error"), "{error}");
    }
}

fn check_plan(plan: &Plan) {
    assert!(all_differ(plan.ports.iter().map(|port| &port.name)));
    assert!(all_differ(plan.ports.iter().map(|port| &port.device)));
    assert!(all_differ(plan.streams.iter().map(|stream| &stream.name)));
    assert!(plan.streams.len() <= STREAMS_MAX);
    assert!(plan.duration > Nanos::ZERO && plan.duration <= YEAR && plan.drain <= YEAR);
    for port in &plan.ports {
        let hosts = &port.hosts;
        assert!((1..=HOSTS_MAX).contains(&hosts.len()) && hosts[0].name == port.name, "{}", port.name);
        assert!(all_differ(hosts.iter().map(|host| &host.name)), "{}", port.name);
        let places = hosts.iter().flat_map(|host| host.addresses.iter().map(|own| (&host.vlans, own.ip)));
        assert!(all_differ(places), "{}", port.name);
        for host in hosts {
            assert!(
                all_differ(host.gateways.iter()) && host.vlans.iter().all(|id| (1..=4094).contains(id)),
                "{}",
                host.name
            );
            assert!(host.gateway_macs.iter().all(|(ip, _)| host.gateways.contains(ip)), "{}", host.name);
        }
        assert!(port.speed_bps != Some(0), "{}", port.name);
    }
    // Copies are equal: those behind the first would tell nothing new.
    let mut last = None;
    for stream in &plan.streams {
        let base = stream.name.split('[').next();
        if last != base {
            check_stream(plan, stream);
        }
        last = base;
    }
    check_criteria(plan);
    let sim = &plan.sim;
    assert!([sim.link.loss, sim.link.duplicate, sim.link.reorder].iter().all(|s| (0.0..=1.0).contains(s)));
    assert!(sim.link.speed_bps > 0 && sim.router.is_none_or(|router| router.capacity.micro() > 0));
}

fn check_stream(plan: &Plan, stream: &StreamPlan) {
    let (name, lane) = (&stream.name, Mark::of_run(1).lane(0, 0));
    assert!(stream.from < plan.ports.len() && stream.to.is_none_or(|to| to < plan.ports.len()), "{name}");
    assert!(stream.count != Some(0) && stream.start_delay <= YEAR, "{name}");
    match stream.next_hop {
        NextHop::Resolve(ip) => {
            let from = &plan.ports[stream.from].hosts[stream.from_host];
            assert!(from.addresses.iter().any(|own| own.ip.is_ipv4() == ip.is_ipv4()), "{name}: {ip}");
        }
        NextHop::PeerPort => assert!(stream.to.is_some(), "{name} has no peer"),
        NextHop::Given => {}
    }
    if stream.packet.raw.is_none() {
        assert!(stream.packet.headers[0].protocol.name == "ethernet", "{name}");
        assert_eq!(stream.fill_source_mac, stream.packet.headers[0].value("src").is_none(), "{name}");
    }
    assert!(!stream.sizes.lengths.is_empty(), "{name}");
    for size in [stream.sizes.shortest(), stream.sizes.longest()] {
        let mut packet = stream.packet.build(size).unwrap_or_else(|error| panic!("{name}: {error}"));
        if stream.measure {
            assert!(Stamp::prepare(&mut packet.clone(), &lane).is_some(), "{name} has no room");
            let _ = Stamp::prepare_offload(&mut packet.clone(), &lane);
        }
        if let Some(vary) = &stream.vary {
            let signature = stream.measure.then_some(lane);
            Program::new(vary, &mut packet, signature).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
    for header in &stream.packet.headers {
        assert!(protocol(header.protocol.name).is_some());
        assert!(header.set.iter().all(|(field, value)| *value <= field.max()), "{name}");
        assert!(all_differ(header.set.iter().map(|(field, _)| field.name)), "{name}");
    }
}

fn check_criteria(plan: &Plan) {
    let ports: HashSet<&str> = plan.ports.iter().map(|port| port.name.as_str()).collect();
    let streams: HashSet<&str> = plan.streams.iter().map(|stream| stream.name.as_str()).collect();
    let sessions: HashSet<&str> = plan.sessions.iter().map(|entry| entry.session.name.as_str()).collect();
    for criterion in &plan.criteria {
        let mut parts = criterion.path.splitn(3, '.');
        let (kind, name) = (parts.next(), parts.next().unwrap_or_default());
        let known = match kind {
            Some("ports") => ports.contains(name),
            Some("streams") => streams.contains(name),
            Some("sessions") => sessions.contains(name),
            _ => false,
        };
        assert!(known && parts.next().is_some() && criterion.bound.is_finite(), "{criterion:?}");
    }
}

fn all_differ<T: Hash + Eq>(mut items: impl Iterator<Item = T>) -> bool {
    let mut seen = HashSet::new();
    items.all(|item| seen.insert(item))
}

/// The examples, and the broken profiles of the tests of `profile`.
pub fn seeds() -> Vec<Vec<u8>> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    ["examples", "core/profile/tests/broken"]
        .iter()
        .flat_map(|folder| fs::read_dir(repository.join(folder)).expect("a folder"))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        .map(|path| fs::read(path).expect("a readable file"))
        .collect()
}
