//! Routers with a routing protocol: FRRouting is the device's control plane, and BIRD behind the tester's port advertises
//! networks to it. The tester sends to all of them.

use super::kernel::{EAST_SIDE, FIRST_ROUTE, WEST_SIDE};
use super::profiles::{VETH, device};
use super::{LabPaths, Parameters};
use crate::LabError;
use crate::design::Design;
use crate::needs::need;
use std::net::Ipv4Addr;

/// Where Debian has FRRouting's daemons.
const DAEMONS: &str = "/usr/lib/frr";

/// A routing protocol, in the terms of both ends.
struct Spoken {
    /// As the kernel's routes, BIRD and the port's filter name it.
    name: &'static str,
    daemon: &'static str,
    /// The device's configuration.
    device: &'static str,
    /// The end of BIRD's.
    peer: &'static str,
    about: &'static str,
}

const BGP: Spoken = Spoken {
    name: "bgp",
    daemon: "bgpd",
    device: "router bgp 65000
 bgp router-id 10.0.0.1
 no bgp ebgp-requires-policy
 neighbor 10.0.0.2 remote-as 65001
",
    peer: "      protocol bgp peer {
        local 10.0.0.2 as 65001;
        neighbor 10.0.0.1 as 65000;
        ipv4 { import none; export all; next hop self; };
      }
",
    about: "To all networks that BIRD advertises by BGP, westward, and one flow eastward.",
};

const OSPF: Spoken = Spoken {
    name: "ospf",
    daemon: "ospfd",
    device: "interface r0
 ip ospf area 0
 ip ospf network point-to-point
 ip ospf hello-interval 1
 ip ospf dead-interval 4
router ospf
 ospf router-id 10.0.0.1
",
    peer: "      protocol ospf v2 peer {
        ipv4 { import none; export all; };
        area 0 { interface \"west\" { type ptp; hello 1; dead 4; }; };
      }
",
    about: "To all networks that BIRD advertises by OSPF, westward, and one flow eastward.",
};

/// A router that learns its routes by BGP.
pub(super) fn bgp(parameters: &Parameters, paths: &LabPaths) -> Result<Design, LabError> {
    Ok(router(parameters, paths, &BGP))
}

/// A router that learns its routes by OSPF.
pub(super) fn ospf(parameters: &Parameters, paths: &LabPaths) -> Result<Design, LabError> {
    Ok(router(parameters, paths, &OSPF))
}

fn router(parameters: &Parameters, paths: &LabPaths, spoken: &Spoken) -> Design {
    let mut design = Design::default();
    design.needs.extend([need("/usr/lib/frr/zebra", "frr"), need("vtysh", "frr"), need("bird", "bird2")]);
    design.tester();
    design.namespace("router", true);
    design.link("tester.veth0", &[], "router.r0", &WEST_SIDE);
    design.link("tester.veth1", &[], "router.r1", &EAST_SIDE);
    design.file("empty.conf", "");
    design.file("frr.conf", spoken.device);
    let folder = paths.folder().display().to_string();
    for name in ["zebra", spoken.daemon] {
        let (program, pid) = (format!("{DAEMONS}/{name}"), paths.file(&format!("{name}.pid")));
        let (empty, zserv) = (paths.file("empty.conf"), paths.file("zserv.api"));
        let command = [
            &program,
            "-u",
            "root",
            "-g",
            "frrvty",
            "-P",
            "0",
            "-f",
            &empty,
            "-i",
            &pid,
            "-z",
            &zserv,
            "--vty_socket",
            &folder,
            "--log",
            "stdout",
        ];
        design.start(name, "router", &command);
        design.exists(&format!("{name}'s socket"), paths.folder().join(format!("{name}.vty")));
    }
    design.run("router", &["vtysh", "--vty_socket", &folder, "-f", &paths.file("frr.conf")]);
    design.profile(spoken.name, spoken.about, profile(parameters, paths, spoken));
    design
}

fn profile(parameters: &Parameters, paths: &LabPaths, spoken: &Spoken) -> String {
    let routes = parameters.routes.unwrap_or(0).max(1);
    let network = |number: u32| Ipv4Addr::from(u32::from(FIRST_ROUTE) + (number << 8));
    let advertised: String =
        (0..routes).map(|number| format!("        route {}/24 blackhole;\n", network(number))).collect();
    let last = Ipv4Addr::from(u32::from(FIRST_ROUTE) + (routes << 8) - 1);
    let (west, east) = (device(parameters, "veth0"), device(parameters, "veth1"));
    let (namespace, Spoken { name, peer, about, .. }) = (paths.namespace("router"), spoken);
    let size = parameters.size.map_or(64, units::FrameLen::bytes);
    let (rate, duration) = (&parameters.rate, &parameters.duration);
    format!(
        "# {about}
ports:
  west: {{device: \"{west}\", ip: 10.0.0.2/24, gateway: 10.0.0.1, speed: {VETH}, punt: {{match: {name}}}}}
  east: {{device: \"{east}\", ip: 10.0.1.2/24, gateway: 10.0.1.1, speed: {VETH}}}
protocols:
  - daemon: bird
    port: west
    timeout: 120s
    ready: \"test $(ip -n {namespace} -4 route show proto {name} | wc -l) -ge {routes}\"
    config: |
      router id 10.0.0.2;
      protocol device {{}}
      protocol static advertised {{
        ipv4;
{advertised}      }}
{peer}streams:
  - name: westward
    from: east
    to: west
    packet: [{{ipv4: {{dst: {FIRST_ROUTE}}}}}, {{udp: {{src: 1024, dst: 9}}}}]
    size: {size}B
    rate: {rate}
    vary:
      ipv4.dst: {{random: {FIRST_ROUTE}..{last}}}
  - name: eastward
    from: west
    to: east
    packet: [ipv4, {{udp: {{src: 1024, dst: 9}}}}]
    size: {size}B
    rate: {rate}
load: {{duration: {duration}, drain: 1s}}
criteria:
  streams.westward.loss_ratio: \"< 0.1%\"
  streams.eastward.loss_ratio: \"< 0.1%\"
"
    )
}
