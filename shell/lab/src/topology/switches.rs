//! User-space switches and routers: Open vSwitch with and without DPDK, testpmd.

use super::kernel::{FIRST_ROUTE, four_ports, one_network, ports, random_destinations};
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

/// Cores of a switch: its own, or all if there are none.
fn cores_or_all(parameters: &Parameters) -> Vec<usize> {
    let cores = cores::of_device(parameters);
    if cores.is_empty() { os::cpu::allowed() } else { cores }
}

/// Open vSwitch with its own datapath between veth pairs, with its database and as many ports.
fn userspace(paths: &LabPaths, ports: &[&[&str]]) -> Design {
    let mut design = Design { needs: needs(need(PLAIN, "openvswitch-switch")), ..Design::default() };
    design.tester();
    design.namespace("switch", false);
    for number in 0..ports.len() {
        design.link(&format!("tester.veth{number}"), &[], &format!("switch.s{number}"), &[]);
    }
    database(&mut design, paths, &[]);
    daemon(&mut design, paths, &[PLAIN]);
    switch(&mut design, paths, ports);
    design
}

/// Open vSwitch as a router: its flows are a routing table.
pub(super) fn ovs(parameters: &Parameters, paths: &LabPaths) -> Result<Design, LabError> {
    let mut design = userspace(paths, &[&["s0"], &["s1"]]);
    add_flows(&mut design, paths, router_flows(parameters)?);
    let routes = parameters.routes.unwrap_or(0);
    if routes > 0 {
        random_destinations(&mut design, parameters, &ports(parameters, false), routes);
    }
    let about = "IPv4 through the router, both directions.";
    design.profile("ipv4", about, profile(about, parameters, &ports(parameters, false), &both_ways(false)));
    Ok(design)
}

/// Open vSwitch as a learning switch.
pub(super) fn ovs_switch(parameters: &Parameters, paths: &LabPaths) -> Result<Design, LabError> {
    let mut design = userspace(paths, &[&["s0"], &["s1"], &["s2"], &["s3"]]);
    add_flows(&mut design, paths, switch_flows(parameters)?);
    if parameters.rules.is_none_or(|rules| rules == 0) {
        design.switch = four_ports(parameters);
    }
    let about = "Through the switch, both directions.";
    design.profile("through", about, profile(about, parameters, &one_network(parameters), &both_ways(false)));
    Ok(design)
}

/// A side of the router: port number, address, its MAC address, network.
struct Side {
    port: u32,
    address: Ipv4Addr,
    mac: u64,
    network: &'static str,
}

const SIDES: [Side; 2] = [
    Side { port: 1, address: Ipv4Addr::new(10, 0, 0, 1), mac: 0x02ea_6772_6501, network: "10.0.0.0/24" },
    Side { port: 2, address: Ipv4Addr::new(10, 0, 1, 1), mac: 0x02ea_6772_6502, network: "10.0.1.0/24" },
];

impl Side {
    /// The MAC address as text.
    fn mac(&self) -> String {
        let bytes = self.mac.to_be_bytes();
        bytes[2..].iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
    }

    /// Table 0: replies to ARP and pings to the router's address, learns neighbours from their ARP, takes packets to
    /// its MAC.
    ///
    /// A neighbour is a flow of table 3: of packets to its address, which is in register 0 there.
    fn inbound(&self) -> String {
        let Self { port, address, mac, .. } = self;
        let (number, name) = (u32::from(*address), self.mac());
        let learn = "learn(table=3,priority=1,NXM_NX_REG0[]=NXM_OF_ARP_SPA[],\
                     load:NXM_NX_ARP_SHA[]->NXM_OF_ETH_DST[],output:NXM_OF_IN_PORT[])";
        let back = format!("move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],mod_dl_src:{name}");
        format!(
            "table=0,priority=3,in_port={port},arp,arp_tpa={address},arp_op=1,actions={learn},{back},\
             load:2->NXM_OF_ARP_OP[],move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],load:{mac:#x}->NXM_NX_ARP_SHA[],\
             move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],load:{number:#x}->NXM_OF_ARP_SPA[],in_port\n\
             table=0,priority=2,in_port={port},arp,actions={learn}\n\
             table=0,priority=2,in_port={port},dl_dst={name},icmp,nw_dst={address},icmp_type=8,actions={back},\
             load:0->NXM_OF_ICMP_TYPE[],move:NXM_OF_IP_SRC[]->NXM_OF_IP_DST[],load:{number:#x}->NXM_OF_IP_SRC[],in_port\n\
             table=0,priority=1,in_port={port},dl_dst={name},ip,actions=resubmit(,1)\n"
        )
    }

    /// Table 2: a packet whose next hop is in register 0 leaves here.
    fn route(&self, to: &str, next_hop: &str) -> String {
        format!("ip,nw_dst={to},actions={next_hop},dec_ttl,mod_dl_src:{},resubmit(,3)\n", self.mac())
    }
}

/// A router's tables: 0 what arrives, 1 rules, 2 routes, 3 neighbours. The longest prefix has the highest priority.
fn router_flows(parameters: &Parameters) -> Result<String, LabError> {
    let mut text = String::from("table=0,priority=0,actions=drop\n");
    text.extend(SIDES.iter().map(Side::inbound));
    let routes_wanted = parameters.routes.unwrap_or(0);
    let rules_wanted = parameters.rules.unwrap_or(0);
    if rules_wanted > 0 {
        let [west, east]: [Prefix; 2] = [SIDES[0].network.parse()?, SIDES[1].network.parse()?];
        let mut permit = vec![(west, east), (east, west)];
        if routes_wanted > 0 {
            permit.insert(0, (west, Prefix::new(FIRST_ROUTE.into(), 4)?));
        }
        let rules =
            rules(rules_wanted.max(permit.len() as u32), Syntax::Ovs, &RuleOptions::permitting(permit))?;
        let lines = rules.lines().map(|line| format!("table=1,{}\n", line.replace("NORMAL", "resubmit(,2)")));
        text.extend(lines);
    } else {
        text += "table=1,actions=resubmit(,2)\n";
    }
    let direct = "move:NXM_OF_IP_DST[]->NXM_NX_REG0[]";
    let of = |side: &Side| format!("table=2,priority=1024,{}", side.route(side.network, direct));
    text.extend(SIDES.iter().map(of));
    if routes_wanted > 0 {
        let east = &SIDES[1];
        let host = Ipv4Addr::new(10, 0, 1, 2);
        let (first, via) = (Prefix::new(FIRST_ROUTE.into(), 24)?, vec![host.into()]);
        let hop = Hop { port: east.port.to_string(), ..Hop::default() };
        let table = routes(routes_wanted, Syntax::Ovs, &RouteOptions { first, via, interface: None, hop })?;
        let actions = format!(
            "load:{:#x}->NXM_NX_REG0[],dec_ttl,mod_dl_src:{},resubmit(,3)",
            u32::from(host),
            east.mac()
        );
        let of = |line: &str| {
            let matched = line.split_once("actions=").map_or(line, |(matched, _)| matched);
            format!("table=2,{matched}actions={actions}\n")
        };
        text.extend(table.lines().map(of));
    }
    Ok(text)
}

/// Open vSwitch with DPDK between two vhost-user ports, whose sockets the tester creates.
pub(super) fn ovs_dpdk(parameters: &Parameters, paths: &LabPaths) -> Result<Design, LabError> {
    let mut design = Design { needs: needs(need(DPDK, "openvswitch-switch-dpdk")), ..Design::default() };
    design.huge_pages_mb = OVS_MEMORY_MB;
    design.tester();
    design.namespace("switch", false);
    let cores = cores_or_all(parameters);
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
    switch(&mut design, paths, &ports);
    add_flows(&mut design, paths, switch_flows(parameters)?);
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

/// A bridge, which learns addresses.
fn switch(design: &mut Design, paths: &LabPaths, ports: &[&[&str]]) {
    let database = format!("--db=unix:{}", paths.file("db.sock"));
    let mut words = vec!["ovs-vsctl", &database, "--timeout=25", "add-br", "br0"];
    words.extend(["--", "set", "Bridge", "br0", "datapath_type=netdev"]);
    // Otherwise their numbers are in any order.
    let numbers: Vec<String> = (1..=ports.len()).map(|number| format!("ofport_request={number}")).collect();
    for (port, number) in ports.iter().zip(&numbers) {
        words.extend(["--", "add-port", "br0"]);
        words.extend_from_slice(port);
        words.extend(["--", "set", "Interface", port[0], number]);
    }
    design.run("switch", &words);
    // A port that could not be opened has no number, or a negative one.
    let numbers =
        ["ovs-vsctl", &database, "--no-headings", "--columns=name", "find", "Interface", "ofport>0"];
    design.prints("the switch's ports", "switch", &numbers, "s", ports.len());
}

/// Replaces what the bridge does by flows, if there are any.
fn add_flows(design: &mut Design, paths: &LabPaths, flows: String) {
    if flows.is_empty() {
        return;
    }
    design.file("table.flows", flows);
    let bridge = format!("unix:{}", paths.file("br0.mgmt"));
    design.run("switch", &["ovs-ofctl", "del-flows", &bridge]);
    design.run("switch", &["ovs-ofctl", "add-flows", &bridge, &paths.file("table.flows")]);
}

/// Flows for a switch's rules; none for a learning switch.
fn switch_flows(parameters: &Parameters) -> Result<String, LabError> {
    let wanted = parameters.rules.unwrap_or(0);
    if wanted == 0 {
        return Ok(String::new());
    }
    let permit = vec![
        ("10.0.0.2/32".parse()?, "10.0.0.3/32".parse()?),
        ("10.0.0.3/32".parse()?, "10.0.0.2/32".parse()?),
    ];
    Ok(rules(wanted.max(2), Syntax::Ovs, &RuleOptions::permitting(permit))?)
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
    let cores = os::cpu::format_list(&cores_or_all(parameters));
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
