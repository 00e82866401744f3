use super::*;
use crate::design::{Device, Step, TestCommand};
use std::collections::BTreeSet;

fn paths() -> LabPaths {
    LabPaths::named("x").unwrap()
}

fn design(name: &str, parameters: &Parameters) -> Result<Design, LabError> {
    Topology::by_name(name)?.design(parameters, &paths())
}

/// Those a topology needs at least.
fn least(topology: Topology) -> Parameters {
    let dut_command = (topology.name() == "own").then(|| "./router --daemon".to_owned());
    Parameters { dut_command, ..Parameters::default() }
}

#[test]
fn names_are_unique_and_found() {
    let names: BTreeSet<_> = Topology::all().map(Topology::name).collect();
    assert_eq!(names.len(), 18);
    let error = Topology::by_name("kernel").unwrap_err().to_string();
    assert!(error.starts_with("unknown topology 'kernel'. Allowed: kernel-router, "), "{error}");
}

#[test]
fn designs_are_whole() {
    for topology in Topology::all() {
        let name = topology.name();
        let design = topology.design(&least(topology), &paths()).unwrap();
        let roles: BTreeSet<&str> =
            design.namespaces.iter().map(|namespace| namespace.role.as_str()).collect();
        assert_eq!(roles.len(), design.namespaces.len(), "{name}: a namespace twice");
        assert!(roles.contains("tester"), "{name}");
        let mut interfaces = BTreeSet::new();
        for end in design.links.iter().flat_map(|link| [&link.a, &link.b]) {
            assert!(roles.contains(end.role.as_str()), "{name}: {}", end.role);
            assert!(end.interface.len() < 16 && interfaces.insert((&end.role, &end.interface)), "{name}");
            assert!(
                end.role != "tester" || end.addresses.is_empty(),
                "{name}: the tester's kernel has an address"
            );
        }
        for step in &design.steps {
            let role = match step {
                Step::Run { role, .. } => role,
                Step::Start(service) | Step::Device(Device { service, .. }) => &service.role,
                Step::Await(_) => continue,
            };
            assert!(roles.contains(role.as_str()), "{name}: {role}");
        }
        assert!(!design.tests.is_empty(), "{name}");
        for test in &design.tests {
            assert!(roles.contains(test.role.as_str()), "{name}");
            let file = test.command.profile().map(|file| design.files.iter().any(|f| f.name == *file));
            assert!(file.unwrap_or(true), "{name}: a profile that is not written");
        }
    }
}

#[test]
fn a_profile_reads_as_it_should() {
    let design = design("kernel-router", &Parameters::default()).unwrap();
    let text = &design.files.iter().find(|file| file.name == "ipv4.yaml").unwrap().text;
    let expected = "\
# IPv4 through the router, both directions.
ports:
  west: {device: \"afxdp:veth0\", ip: \"10.0.0.2/24\", gateway: \"10.0.0.1\", speed: 1Gbps}
  east: {device: \"afxdp:veth1\", ip: \"10.0.1.2/24\", gateway: \"10.0.1.1\", speed: 1Gbps}
streams:
  - name: eastward
    from: west
    to: east
    packet: [ipv4, {udp: {src: 1024, dst: 9}}]
    size: 64B
    rate: 20kpps
  - name: westward
    from: east
    to: west
    packet: [ipv4, {udp: {src: 1024, dst: 9}}]
    size: 64B
    rate: 20kpps
load: {duration: 10s, drain: 1s}
criteria:
  streams.eastward.loss_ratio: \"< 0.1%\"
  streams.westward.loss_ratio: \"< 0.1%\"
";
    assert_eq!(text, expected);
}

#[test]
fn packets_are_tested_by_a_method_first() {
    for topology in Topology::all() {
        let design = topology.design(&least(topology), &paths()).unwrap();
        let sessions = topology.name().contains("nginx") || topology.name() == "firewall-nat";
        let method = match topology.name() {
            name if name.ends_with("-balancer") => "balancer",
            _ if sessions => "sessions",
            _ => "rfc2544",
        };
        assert_eq!(design.tests[0].name, method, "{}", topology.name());
    }
    let rules = design("ovs", &Parameters { rules: Some(9), ..Parameters::default() }).unwrap();
    let TestCommand::Method { method, profile, tags, .. } = &rules.tests[0].command else {
        panic!("no method")
    };
    assert_eq!((method.as_str(), profile.as_str()), ("rfc2544", "ipv4.yaml"));
    assert_eq!(tags, &["dut=ovs", "config=rules=9"]);
    let plain = design("kernel-router", &Parameters::default()).unwrap();
    let TestCommand::Method { tags, .. } = &plain.tests[0].command else { panic!("no method") };
    assert_eq!(tags, &["dut=kernel", "config=plain"]);
}

#[test]
fn parameters_are_checked() {
    let error = |name, parameters: Parameters| design(name, &parameters).unwrap_err().to_string();
    let routes = Parameters { routes: Some(5), ..Parameters::default() };
    assert_eq!(error("bridge", routes), "bridge: no option --routes");
    let routers = Parameters { routers: Some(33), ..Parameters::default() };
    assert_eq!(error("chain", routers), "chain: --routers must be from 1 to 32");
    let none = Parameters { routers: Some(0), ..Parameters::default() };
    assert!(error("parallel", none).contains("from 1"));
    let own = |command: &str, name: Option<&str>| Parameters {
        dut_command: Some(command.to_owned()),
        dut_name: name.map(str::to_owned),
        ..Parameters::default()
    };
    assert!(error("own", Parameters::default()).contains("--dut-command"));
    assert!(error("own", own(" ", None)).contains("--dut-command"));
    assert_eq!(
        error("ovs", own("true", None)),
        "ovs: it has a device; --dut-command is for the topology 'own'"
    );
    assert!(error("own", own("true", Some("a,b"))).starts_with("own: --dut-name must be"));
    let named = design("own", &own("true", Some("vpp-24.10"))).unwrap();
    let TestCommand::Method { tags, .. } = &named.tests[0].command else { panic!("no method") };
    assert_eq!(tags, &["dut=vpp-24.10", "config=plain"]);
    assert_eq!(own("a 'b'", Some("c")).to_string(), r"--dut-command 'a '\''b'\''' --dut-name c");
}

#[test]
fn routes_and_rules_suit_the_traffic() {
    let both = Parameters { routes: Some(1 << 20), rules: Some(100), ..Parameters::default() };
    let design = design("kernel-router", &both).unwrap();
    let file = |name: &str| design.files.iter().find(|file| file.name == name).unwrap().text.clone();
    assert_eq!(file("routes.batch").lines().count(), 1 << 20);
    assert!(file("routes.yaml").contains("ipv4.dst: {random: 16.0.0.0..31.255.255.255}"));
    let rules = file("rules.nft");
    assert_eq!(rules.matches(" saddr ").count(), 100);
    assert!(rules.contains("ip saddr 10.0.0.0/24 ip daddr 16.0.0.0/4 accept"));
}

#[test]
fn a_chain_has_as_many_links_as_it_needs() {
    for (count, links) in [(1, 2), (2, 3), (32, 33)] {
        let design = design("chain", &Parameters { routers: Some(count), ..Parameters::default() }).unwrap();
        assert_eq!((design.links.len(), design.namespaces.len()), (links, count as usize + 1));
    }
    let parallel = design("parallel", &Parameters { routers: Some(3), ..Parameters::default() }).unwrap();
    assert_eq!((parallel.links.len(), parallel.namespaces.len()), (6, 4));
}

#[test]
fn names_of_namespaces_tell_the_lab() {
    let long = LabPaths::named("kernel-router-routes").unwrap();
    assert_eq!(long.namespace("tester"), "eagre-lab-kernel-router-routes.tester");
    assert_eq!(LabPaths::lab_of(&long.namespace("tester")).as_deref(), Some("kernel-router-routes"));
    assert_eq!(LabPaths::lab_of("eagre-t12-0tester"), None);
    for name in ["", "A", "a.b", "a/b", "-a", "a b", "..", &"a".repeat(41)] {
        assert!(LabPaths::named(name).is_err(), "{name}");
    }
}
