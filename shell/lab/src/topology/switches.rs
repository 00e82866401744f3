//! User-space switches: Open vSwitch with and without DPDK, testpmd.

use super::kernel::{FIRST_ROUTE, one_network, own_cores, random_destinations};
use super::profiles::{Port, SHARED_MEMORY, both_ways, profile};
use super::{LabPaths, Parameters, cores};
use crate::LabError;
use crate::design::Design;
use crate::generate::{Hop, Prefix, RouteOptions, RuleOptions, Syntax, routes, rules};
use crate::needs::{Need, need};
use std::net::Ipv4Addr;

/// Debian's path of Open vSwitch's database schema.
const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";
/// The daemon without DPDK.
const PLAIN: &str = "/usr/lib/openvswitch-switch/ovs-vswitchd";
/// The daemon with DPDK.
const DPDK: &str = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk";
/// Memory of Open vSwitch with DPDK, MB.
const OVS_MEMORY_MB: u64 = 256;

fn needs(daemon: Need) -> Vec<Need> {
    let common = |program| need(program, "openvswitch-common");
    let mut needs: Vec<Need> = ["ovsdb-server", "ovsdb-tool", "ovs-ofctl"].map(common).to_vec();
    needs.extend([need("ovs-vsctl", "openvswitch-switch"), daemon]);
    needs
}

/// Cores of a switch: those that the tester does not use, or all if there are none.
fn cores_or_all() -> Vec<usize> {
    let cores = cores::of_device();
    if cores.is_empty() { os::cpu::allowed() } else { cores }
}

/// Open vSwitch with its own datapath between two veth pairs.
pub(super) fn ovs(parameters: &Parameters, paths: &LabPaths) -> Result<Design, LabError> {
    let mut design = Design { needs: needs(need(PLAIN, "openvswitch-switch")), ..Design::default() };
    design.tester();
    design.namespace("switch", false);
    design.link("tester.veth0", &[], "switch.s0", &[]);
    design.link("tester.veth1", &[], "switch.s1", &[]);
    database(&mut design, paths, &[]);
    let own = os::cpu::format_list(&cores_or_all());
    daemon(&mut design, paths, &["taskset", "-c", &own, PLAIN]);
    let ports: [&[&str]; 2] = [&["s0"], &["s1"]];
    switch(&mut design, paths, parameters, &ports)?;
    let routes = parameters.routes.unwrap_or(0);
    if routes > 0 {
        let [west, east] = one_network(parameters);
        let west = Port { gateway: Some("10.0.0.3"), ..west };
        random_destinations(&mut design, parameters, &[west, east], routes);
    }
    let about = "Through the switch, both directions.";
    design.profile("through", about, profile(about, parameters, &one_network(parameters), &both_ways(false)));
    own_cores(&mut design);
    Ok(design)
}

/// Open vSwitch with DPDK between two vhost-user ports, whose sockets the tester creates.
pub(super) fn ovs_dpdk(parameters: &Parameters, paths: &LabPaths) -> Result<Design, LabError> {
    let mut design = Design { needs: needs(need(DPDK, "openvswitch-switch-dpdk")), ..Design::default() };
    design.huge_pages_mb = OVS_MEMORY_MB;
    design.tester();
    design.namespace("switch", false);
    let cores = cores_or_all();
    let set = [
        "other_config:dpdk-init=true".to_owned(),
        format!("other_config:pmd-cpu-mask={:#x}", core_mask(&cores[cores.len() - 1..])),
        format!("other_config:dpdk-lcore-mask={:#x}", core_mask(&cores[..1])),
        format!("other_config:dpdk-socket-mem={OVS_MEMORY_MB}"),
        format!("other_config:dpdk-socket-limit={OVS_MEMORY_MB}"),
        format!("other_config:dpdk-extra=--no-pci --no-telemetry --in-memory --file-prefix={}", paths.name()),
    ];
    database(&mut design, paths, &set.each_ref().map(String::as_str));
    daemon(&mut design, paths, &[DPDK]);
    let path = |side: &str| format!("options:vhost-server-path={}", paths.file(&format!("{side}.sock")));
    let (west, east) = (path("west"), path("east"));
    let of = |name, path| [name, "--", "set", "Interface", name, "type=dpdkvhostuserclient", path];
    let ports: [&[&str]; 2] = [&of("s0", &west), &of("s1", &east)];
    switch(&mut design, paths, parameters, &ports)?;
    let device = |side: &str| format!("virtio:{},server=1", paths.file(&format!("{side}.sock")));
    let about = "Through the switch over vhost-user, both directions.";
    design.profile("through", about, profile(about, parameters, &sockets(device), &both_ways(false)));
    Ok(design)
}

/// The tester's ports on sockets of the lab's folder.
fn sockets(device: impl Fn(&str) -> String) -> [Port<'static>; 2] {
    [
        Port { name: "west", device: device("west"), ip: "10.0.0.2/24", gateway: None, speed: SHARED_MEMORY },
        Port { name: "east", device: device("east"), ip: "10.0.0.3/24", gateway: None, speed: SHARED_MEMORY },
    ]
}

/// Core mask for Open vSwitch, which accepts at most 64 cores in this form.
fn core_mask(cores: &[usize]) -> u64 {
    cores.iter().filter(|&&core| core < 64).fold(0, |mask, &core| mask | 1 << core)
}

/// Open vSwitch's database, with its own files in the lab's folder.
fn database(design: &mut Design, paths: &LabPaths, set: &[&str]) {
    let (file, socket) = (paths.file("conf.db"), paths.file("db.sock"));
    design.run("switch", &["ovsdb-tool", "create", &file, SCHEMA]);
    let (remote, control) =
        (format!("--remote=punix:{socket}"), format!("--unixctl={}", paths.file("ovsdb.ctl")));
    design.start("ovsdb-server", "switch", &["ovsdb-server", &file, &remote, &control]);
    design.exists("the switch's database", socket.into());
    let database = format!("--db=unix:{}", paths.file("db.sock"));
    let mut words = vec!["ovs-vsctl", &database, "--no-wait", "set", "Open_vSwitch", "."];
    words.push("other_config:vlan-limit=2");
    words.extend(set);
    design.run("switch", &["ovs-vsctl", &database, "--no-wait", "init"]);
    design.run("switch", &words);
}

fn daemon(design: &mut Design, paths: &LabPaths, program: &[&str]) {
    let (database, control) = (format!("unix:{}", paths.file("db.sock")), paths.file("vswitchd.ctl"));
    let unixctl = format!("--unixctl={control}");
    let mut words = program.to_vec();
    words.extend([database.as_str(), &unixctl]);
    design.start("ovs-vswitchd", "switch", &words);
    design.exists("the switch", control.into());
}

/// A bridge with two ports, which learns addresses or applies flows.
fn switch(
    design: &mut Design,
    paths: &LabPaths,
    parameters: &Parameters,
    ports: &[&[&str]; 2],
) -> Result<(), LabError> {
    let database = format!("--db=unix:{}", paths.file("db.sock"));
    let mut words = vec!["ovs-vsctl", &database, "--timeout=25", "add-br", "br0"];
    words.extend(["--", "set", "Bridge", "br0", "datapath_type=netdev"]);
    for port in ports {
        words.extend(["--", "add-port", "br0"]);
        words.extend_from_slice(port);
    }
    design.run("switch", &words);
    // A port that could not be opened has no number, or a negative one.
    let numbers =
        ["ovs-vsctl", &database, "--no-headings", "--columns=name", "find", "Interface", "ofport>0"];
    design.prints("the switch's ports", "switch", &numbers, "s", ports.len());
    let flows = flows(parameters)?;
    if !flows.is_empty() {
        design.file("table.flows", flows);
        let bridge = format!("unix:{}", paths.file("br0.mgmt"));
        design.run("switch", &["ovs-ofctl", "del-flows", &bridge]);
        design.run("switch", &["ovs-ofctl", "add-flows", &bridge, &paths.file("table.flows")]);
    }
    Ok(())
}

/// Flows for the rules, the routes, or both; none for a learning switch.
fn flows(parameters: &Parameters) -> Result<String, LabError> {
    let mut text = String::new();
    let rules_wanted = parameters.rules.unwrap_or(0);
    if rules_wanted > 0 {
        let permit = vec![
            ("10.0.0.2/32".parse()?, "10.0.0.3/32".parse()?),
            ("10.0.0.3/32".parse()?, "10.0.0.2/32".parse()?),
        ];
        text = rules(rules_wanted.max(2), Syntax::Ovs, &RuleOptions::permitting(permit))?;
    }
    let routes_wanted = parameters.routes.unwrap_or(0);
    if routes_wanted > 0 {
        if rules_wanted == 0 {
            // Packets without a route are switched as before.
            text = "priority=0,actions=NORMAL\n".to_owned();
        }
        let hop = Hop { port: "2".to_owned(), ..Hop::default() };
        let (first, via) = (Prefix::new(FIRST_ROUTE.into(), 24)?, vec![Ipv4Addr::new(10, 0, 0, 3).into()]);
        text += &routes(routes_wanted, Syntax::Ovs, &RouteOptions { first, via, interface: None, hop })?;
    }
    Ok(text)
}

/// dpdk-testpmd between two memif sockets, which it creates.
pub(super) fn testpmd(parameters: &Parameters, paths: &LabPaths) -> Result<Design, LabError> {
    let mut design = Design { needs: vec![need("dpdk-testpmd", "dpdk-dev")], ..Design::default() };
    design.tester();
    design.namespace("switch", false);
    let socket = |side: &str| paths.file(&format!("{side}.sock"));
    let vdev = |n: u8, side: &str| {
        format!("--vdev=net_memif{n},role=server,id=0,rsize=12,socket={},socket-abstract=no", socket(side))
    };
    let cores = os::cpu::format_list(&cores_or_all());
    let lcores = format!("--lcores=0@({cores}),1@({cores})");
    let prefix = format!("--file-prefix={}", paths.name());
    design.start(
        "testpmd",
        "switch",
        &[
            "dpdk-testpmd",
            &lcores,
            "--no-pci",
            "--no-huge",
            "-m",
            "256",
            "--no-shconf",
            "--no-telemetry",
            "--iova-mode=va",
            &prefix,
            &vdev(0, "west"),
            &vdev(1, "east"),
            "--",
            "--total-num-mbufs=16384",
            "--nb-cores=1",
            "--forward-mode=io",
            // Without it testpmd exits at once, as its standard input is empty.
            "--stats-period=3600",
        ],
    );
    design.exists("testpmd's first socket", socket("west").into());
    design.exists("testpmd's second socket", socket("east").into());
    let device = |side: &str| format!("memif:{},rsize=12", socket(side));
    let about = "Through testpmd over shared memory, both directions.";
    design.profile("through", about, profile(about, parameters, &sockets(device), &both_ways(false)));
    Ok(design)
}
