//! Load balancers, with clients and backends of the tester on both sides.

use super::profiles::device;
use super::{LabPaths, Parameters};
use crate::LabError;
use crate::design::Design;
use crate::needs::need;

/// Clients before the balancer, backends behind it; both the tester's.
const BALANCED: &str = "\
# Clients of the balancer 10.0.0.1, and its backends. Methods set load and requests.
ports:
  clients: {device: \"WEST\", ip: 10.0.0.2/24, gateway: 10.0.0.1, speed: 1Gbps}
  servers: {device: \"EAST\", ip: 10.0.1.2/24, gateway: 10.0.1.1, speed: 1Gbps}
sessions:
  - name: clients
    client: {port: clients, addresses: 10.0.0.100..10.0.0.199}
    server: {addresses: 10.0.0.1, ports: 80}
    app: APP
    open: 200/s
  - name: backends
    server: {port: servers, addresses: 10.0.1.11..10.0.1.14, ports: 80}
    app: APP
load: {duration: DURATION}
";

/// haproxy's configuration. Debian's limit on open files is 20,000; each connection takes two.
const HAPROXY: &str = "\
global
  maxconn 8000
  nbthread 1
defaults
  mode http
  timeout connect 2s
  timeout client 30s
  timeout server 30s
frontend outside
  bind 10.0.0.1:80
  default_backend servers
backend servers
  balance roundrobin
  option redispatch
  default-server check inter 1s fall 2 rise 2
  server b0 10.0.1.11:80
  server b1 10.0.1.12:80
  server b2 10.0.1.13:80
  server b3 10.0.1.14:80
";

/// Rules of a kernel that balances connections by a hash of their source, and checks nothing.
const NFTABLES: &str = "\
table ip balancer {
  chain in {
    type nat hook prerouting priority dstnat;
    iifname \"r0\" ip daddr 10.0.0.1 tcp dport 80 dnat to jhash ip saddr mod 4 map { \
    0 : 10.0.1.11, 1 : 10.0.1.12, 2 : 10.0.1.13, 3 : 10.0.1.14 }
  }
}
";

fn balanced(parameters: &Parameters, app: &str) -> String {
    BALANCED
        .replace("WEST", &device(parameters, "veth0"))
        .replace("EAST", &device(parameters, "veth1"))
        .replace("APP", app)
        .replace("DURATION", &parameters.duration.to_string())
}

fn design(forwards: bool) -> Design {
    let mut design = Design::default();
    design.tester();
    design.namespace("balancer", forwards);
    design.link("tester.veth0", &[], "balancer.r0", &["10.0.0.1/24"]);
    design.link("tester.veth1", &[], "balancer.r1", &["10.0.1.1/24"]);
    design
}

/// haproxy, in turn over four backends that it checks each second.
pub(super) fn haproxy(parameters: &Parameters, paths: &LabPaths) -> Result<Design, LabError> {
    let mut design = design(false);
    design.needs.push(need("haproxy", "haproxy"));
    design.file("haproxy.cfg", HAPROXY);
    design.start("haproxy", "balancer", &["haproxy", "-db", "-f", &paths.file("haproxy.cfg")]);
    design.balancer = balanced(parameters, "http");
    Ok(design)
}

/// nftables: destination translation by a hash.
pub(super) fn nftables(parameters: &Parameters, paths: &LabPaths) -> Result<Design, LabError> {
    let mut design = design(true);
    design.needs.push(need("nft", "nftables"));
    design.file("balancer.nft", NFTABLES);
    design.run("balancer", &["nft", "-f", &paths.file("balancer.nft")]);
    design.balancer = balanced(parameters, "echo");
    Ok(design)
}
