//! Topologies of the Linux kernel: routers, firewall, bridge.

use super::profiles::{Port, SWITCHED, Stream, VETH, both_ways, device, profile};
use super::{LabPaths, Parameters};
use crate::LabError;
use crate::design::Design;
use crate::generate::{Hop, Prefix, RouteOptions, RuleOptions, Syntax, routes, rules};
use crate::needs::need;
use std::net::{IpAddr, Ipv4Addr};

/// Networks of examples/router-*.yaml, so that those run in these labs unchanged.
const WEST4: &str = "10.0.0.2/24";
const EAST4: &str = "10.0.1.2/24";
const WEST6: &str = "2001:2::2/64";
const EAST6: &str = "2001:2:0:1::2/64";
const WEST_GATEWAY4: &str = "10.0.0.1";
const EAST_GATEWAY4: &str = "10.0.1.1";
const WEST_GATEWAY6: &str = "2001:2::1";
const EAST_GATEWAY6: &str = "2001:2:0:1::1";

/// The router's addresses on both sides.
pub(super) const WEST_SIDE: [&str; 2] = ["10.0.0.1/24", "2001:2::1/64"];
pub(super) const EAST_SIDE: [&str; 2] = ["10.0.1.1/24", "2001:2:0:1::1/64"];

/// The first network of large routing tables; with routes of 24 bits 16.0.0.0/4 holds 1,048,576.
pub(super) const FIRST_ROUTE: Ipv4Addr = Ipv4Addr::new(16, 0, 0, 0);

pub(super) fn ports(parameters: &Parameters, v6: bool) -> [Port<'static>; 2] {
    let port = |name, interface, ip, gateway| Port {
        name,
        device: device(parameters, interface),
        ip,
        gateway: Some(gateway),
        speed: VETH,
    };
    if v6 {
        [port("west", "veth0", WEST6, WEST_GATEWAY6), port("east", "veth1", EAST6, EAST_GATEWAY6)]
    } else {
        [port("west", "veth0", WEST4, WEST_GATEWAY4), port("east", "veth1", EAST4, EAST_GATEWAY4)]
    }
}

/// A router between the tester's two ports, optionally with many routes or rules.
pub(super) fn router(parameters: &Parameters, paths: &LabPaths) -> Result<Design, LabError> {
    let mut design = Design::default();
    design.tester();
    design.namespace("router", true);
    design.link("tester.veth0", &[], "router.r0", &WEST_SIDE);
    design.link("tester.veth1", &[], "router.r1", &EAST_SIDE);
    let routes = parameters.routes.unwrap_or(0);
    if routes > 0 {
        load_routes(&mut design, paths, routes)?;
        random_destinations(&mut design, parameters, &ports(parameters, false), routes);
    }
    if parameters.rules.is_some_and(|rules| rules > 0) {
        load_rules(&mut design, paths, parameters)?;
    }
    let about = "IPv4 through the router, both directions.";
    design.profile("ipv4", about, profile(about, parameters, &ports(parameters, false), &both_ways(false)));
    // The rules permit only IPv4.
    if parameters.rules.is_none_or(|rules| rules == 0) {
        let about = "IPv6 through the router, both directions.";
        design.profile("ipv6", about, profile(about, parameters, &ports(parameters, true), &both_ways(true)));
    }
    Ok(design)
}

/// A profile with destinations in all networks of a large routing table.
pub(super) fn random_destinations(
    design: &mut Design,
    parameters: &Parameters,
    ports: &[Port<'_>; 2],
    routes: u32,
) {
    let last = u32::from(FIRST_ROUTE) + (routes << 8) - 1;
    let to = format!("ipv4.dst: {{random: {FIRST_ROUTE}..{}}}", Ipv4Addr::from(last));
    let [eastward, westward] = both_ways(false);
    let vary: [&str; 1] = [&to];
    let streams = [Stream { vary: &vary, ..eastward }, westward];
    let about = "Random destinations eastward, so that every packet takes a different route; fixed destination westward.";
    design.profile("routes", about, profile(about, parameters, ports, &streams));
}

fn load_routes(design: &mut Design, paths: &LabPaths, count: u32) -> Result<(), LabError> {
    let options = RouteOptions {
        first: Prefix::new(FIRST_ROUTE.into(), 24)?,
        via: vec![IpAddr::V4(Ipv4Addr::new(10, 0, 1, 2))],
        interface: Some("r1".to_owned()),
        hop: Hop::default(),
    };
    design.file("routes.batch", routes(count, Syntax::IpBatch, &options)?);
    design.run("router", &["ip", "-batch", &paths.file("routes.batch")]);
    // The kernel resolves the tester's host behind the router once, not once per destination.
    let listed = ["ip", "-4", "route", "show", "via", "10.0.1.2"];
    design.prints(&format!("{count} routes"), "router", &listed, "", count as usize);
    Ok(())
}

fn load_rules(design: &mut Design, paths: &LabPaths, parameters: &Parameters) -> Result<(), LabError> {
    let west: Prefix = "10.0.0.0/24".parse()?;
    let east: Prefix = "10.0.1.0/24".parse()?;
    let mut permit = vec![(west, east), (east, west)];
    if parameters.routes.is_some_and(|routes| routes > 0) {
        permit.insert(0, (west, Prefix::new(FIRST_ROUTE.into(), 4)?));
    }
    let count = parameters.rules.unwrap_or(0).max(permit.len() as u32);
    design.needs.push(need("nft", "nftables"));
    design.file("rules.nft", rules(count, Syntax::Nftables, &RuleOptions::permitting(permit))?);
    design.run("router", &["nft", "-f", &paths.file("rules.nft")]);
    Ok(())
}

/// The firewall's rules: new connections outward only, with source NAT.
const FIREWALL: &str = "\
table ip eagre {
  chain through {
    type filter hook forward priority 0; policy drop;
    ct state established,related accept
    iifname \"r0\" ct state new accept
  }
  chain out {
    type nat hook postrouting priority 100;
    oifname \"r1\" masquerade
  }
}
";

/// Clients inside, servers outside, both the tester's.
const FIREWALL_SESSIONS: &str = "\
# Clients inside, servers outside. Methods set load and sizes; 'eagre run' opens 200 a second.
ports:
  west: {device: \"WEST\", ip: 10.0.0.2/24, gateway: 10.0.0.1, speed: 1Gbps}
  east: {device: \"EAST\", ip: 10.0.1.2/24, gateway: 10.0.1.1, speed: 1Gbps}
sessions:
  - name: http
    client: {port: west, addresses: 10.0.0.10..10.0.0.109}
    server: {port: east, addresses: 10.0.1.10..10.0.1.19, ports: 80}
    app: http
    open: 200/s
    response_timeout: 5s
streams:
  - {name: outward, from: west, to: east, packet: [ipv4, {udp: {src: 1024, dst: 9}}], size: 64B, rate: 1kpps}
load: {duration: DURATION}
";

/// A stateful firewall with source NAT: connections from west to east only.
pub(super) fn firewall(parameters: &Parameters, paths: &LabPaths) -> Result<Design, LabError> {
    let mut design = Design::default();
    design.needs.push(need("nft", "nftables"));
    design.tester();
    design.namespace("firewall", true);
    design.link("tester.veth0", &[], "firewall.r0", &["10.0.0.1/24"]);
    design.link("tester.veth1", &[], "firewall.r1", &["10.0.1.1/24"]);
    design.file("firewall.nft", FIREWALL);
    design.run("firewall", &["nft", "-f", &paths.file("firewall.nft")]);
    let flows = format!("udp.src: {{from: 1024, count: {}}}", parameters.flows.unwrap_or(1));
    let outward = [Stream { name: "outward", from: "west", to: "east", v6: false, vary: &[&flows] }];
    design.sessions = FIREWALL_SESSIONS
        .replace("WEST", &device(parameters, "veth0"))
        .replace("EAST", &device(parameters, "veth1"))
        .replace("DURATION", &parameters.duration.to_string());
    let about = "Many flows from inside to outside; each adds an entry to the connection table.";
    design.profile("outward", about, profile(about, parameters, &ports(parameters, false), &outward));
    Ok(design)
}

/// A bridge between four ports of one network, of which its first profile uses two.
pub(super) fn bridge(parameters: &Parameters, _: &LabPaths) -> Result<Design, LabError> {
    let mut design = Design::default();
    design.tester();
    design.namespace("bridge", false);
    design.link("tester.veth0", &[], "bridge.b0", &[]);
    design.link("tester.veth1", &[], "bridge.b1", &[]);
    design.link("tester.veth2", &[], "bridge.b2", &[]);
    design.link("tester.veth3", &[], "bridge.b3", &[]);
    design.run(
        "bridge",
        &["ip", "link", "add", "br0", "type", "bridge", "stp_state", "0", "forward_delay", "0"],
    );
    for interface in ["b0", "b1", "b2", "b3"] {
        design.run("bridge", &["ip", "link", "set", interface, "master", "br0"]);
    }
    design.run("bridge", &["ip", "link", "set", "br0", "up"]);
    design.prints("the bridge's ports", "bridge", &["bridge", "link", "show"], "state forwarding", 4);
    design.switch = four_ports(parameters);
    let about = "Through the bridge, both directions.";
    design.profile("through", about, profile(about, parameters, &one_network(parameters), &both_ways(false)));
    Ok(design)
}

/// The tester's ports where both are on one network.
pub(super) fn one_network(parameters: &Parameters) -> [Port<'static>; 2] {
    [
        Port { name: "west", device: device(parameters, "veth0"), ip: WEST4, gateway: None, speed: VETH },
        Port {
            name: "east",
            device: device(parameters, "veth1"),
            ip: "10.0.0.3/24",
            gateway: None,
            speed: VETH,
        },
    ]
}

/// Routers in series. The link from router n to the next has 10.1.n.0/24 and 2001:2:0:1000+n::/64.
pub(super) fn chain(parameters: &Parameters, _: &LabPaths) -> Result<Design, LabError> {
    let count = parameters.routers.unwrap_or(1);
    let mut design = Design::default();
    design.tester();
    (1..=count).for_each(|n| design.namespace(&format!("router{n}"), true));
    design.link("tester.veth0", &[], "router1.west", &WEST_SIDE);
    for n in 1..count {
        let side = |host: u8| [format!("10.1.{n}.{host}/24"), format!("2001:2:0:{}::{host}/64", 1000 + n)];
        let (here, there) = (side(1), side(2));
        design.link(
            &format!("router{n}.east"),
            &here.each_ref().map(String::as_str),
            &format!("router{}.west", n + 1),
            &there.each_ref().map(String::as_str),
        );
    }
    design.link(&format!("router{count}.east"), &EAST_SIDE, "tester.veth1", &[]);
    for n in 1..=count {
        let role = format!("router{n}");
        let next4 = |n: u32, host: u8| format!("10.1.{n}.{host}");
        let next6 = |n: u32, host: u8| format!("2001:2:0:{}::{host}", 1000 + n);
        if n < count {
            design.run(&role, &["ip", "route", "add", "10.0.1.0/24", "via", &next4(n, 2)]);
            design.run(&role, &["ip", "-6", "route", "add", "2001:2:0:1::/64", "via", &next6(n, 2)]);
        }
        if n > 1 {
            design.run(&role, &["ip", "route", "add", "10.0.0.0/24", "via", &next4(n - 1, 1)]);
            design.run(&role, &["ip", "-6", "route", "add", "2001:2::/64", "via", &next6(n - 1, 1)]);
        }
    }
    for (name, v6) in [("ipv4", false), ("ipv6", true)] {
        let about =
            format!("IPv{} through {count} routers in series, both directions.", if v6 { 6 } else { 4 });
        design.profile(name, &about, profile(&about, parameters, &ports(parameters, v6), &both_ways(v6)));
    }
    Ok(design)
}

/// Routers in parallel: router n between 10.0.2n-2.0/24 and 10.0.2n-1.0/24.
pub(super) fn parallel(parameters: &Parameters, _: &LabPaths) -> Result<Design, LabError> {
    let count = parameters.routers.unwrap_or(1);
    let mut design = Design::default();
    design.tester();
    let sides: Vec<Side> = (0..2 * count).map(Side::new).collect();
    for side in &sides {
        let role = format!("router{}", side.router);
        if side.number.is_multiple_of(2) {
            design.namespace(&role, true);
        }
        let end = format!("{role}.r{}", side.number % 2);
        design.link(&format!("tester.{}", side.interface), &[], &end, &[&side.router_address]);
    }
    let port = |side: &Side| {
        (side.name.clone(), device(parameters, &side.interface), side.ip.clone(), side.gateway.clone())
    };
    let named: Vec<_> = sides.iter().map(port).collect();
    let ports: Vec<Port<'_>> = named
        .iter()
        .map(|(name, device, ip, gateway)| Port {
            name,
            device: device.clone(),
            ip,
            gateway: Some(gateway),
            speed: VETH,
        })
        .collect();
    let names: Vec<[String; 2]> =
        (1..=count).map(|n| [format!("eastward{n}"), format!("westward{n}")]).collect();
    let streams: Vec<Stream<'_>> = sides
        .chunks_exact(2)
        .zip(&names)
        .flat_map(|(pair, [east, west])| {
            let (a, b) = (pair[0].name.as_str(), pair[1].name.as_str());
            [
                Stream { name: east, from: a, to: b, ..Stream::default() },
                Stream { name: west, from: b, to: a, ..Stream::default() },
            ]
        })
        .collect();
    let about = format!("IPv4 through {count} routers in parallel, both directions.");
    design.profile("ipv4", &about, profile(&about, parameters, &ports, &streams));
    Ok(design)
}

/// A port of the tester and the router side it connects to.
struct Side {
    number: u32,
    router: u32,
    name: String,
    interface: String,
    ip: String,
    gateway: String,
    router_address: String,
}

impl Side {
    fn new(number: u32) -> Self {
        let router = number / 2 + 1;
        Self {
            number,
            router,
            name: format!("{}{router}", if number.is_multiple_of(2) { "west" } else { "east" }),
            interface: format!("veth{number}"),
            ip: format!("10.0.{number}.2/24"),
            gateway: format!("10.0.{number}.1"),
            router_address: format!("10.0.{number}.1/24"),
        }
    }
}

/// A profile of four ports in one network; each sends to the next.
pub(super) fn four_ports(parameters: &Parameters) -> String {
    let port = |name, interface, ip| Port {
        name,
        device: device(parameters, interface),
        ip,
        gateway: None,
        speed: SWITCHED,
    };
    let ports = [
        port("a", "veth0", WEST4),
        port("b", "veth1", "10.0.0.3/24"),
        port("c", "veth2", "10.0.0.4/24"),
        port("d", "veth3", "10.0.0.5/24"),
    ];
    let stream = |name, from, to| Stream { name, from, to, v6: false, vary: &[] };
    let streams = [
        stream("from-a", "a", "b"),
        stream("from-b", "b", "c"),
        stream("from-c", "c", "d"),
        stream("from-d", "d", "a"),
    ];
    profile("Between four ports.", parameters, &ports, &streams)
}
