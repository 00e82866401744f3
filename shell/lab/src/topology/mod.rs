//! The catalogue of topologies.

mod balancers;
mod cores;
mod kernel;
mod own;
mod parameters;
mod paths;
mod profiles;
mod routing;
mod servers;
mod switches;

pub use parameters::Parameters;
pub use paths::LabPaths;

use crate::LabError;
use crate::design::Design;
use parameters::{OWN, Parameter};

/// An entry of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Topology(&'static Entry);

#[derive(Debug)]
struct Entry {
    name: &'static str,
    about: &'static str,
    /// Name of the device in result tables.
    device: &'static str,
    /// Its parameters with default values.
    parameters: &'static [(Parameter, u32)],
    design: fn(&Parameters, &LabPaths) -> Result<Design, LabError>,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Entry {}

/// Default number of routes of a lab with many routes.
const ROUTES: u32 = 262_144;
/// Default number of rules of a lab with many rules.
const RULES: u32 = 1_024;

const CATALOGUE: [Entry; 18] = [
    Entry {
        name: "kernel-router",
        about: "Linux kernel router between two networks, IPv4 and IPv6",
        device: "kernel",
        parameters: &[(Parameter::Routes, 0), (Parameter::Rules, 0)],
        design: kernel::router,
    },
    Entry {
        name: "kernel-router-routes",
        about: "Linux kernel router with 262,144 routes, random destinations",
        device: "kernel",
        parameters: &[(Parameter::Routes, ROUTES), (Parameter::Rules, 0)],
        design: kernel::router,
    },
    Entry {
        name: "kernel-router-rules",
        about: "Linux kernel router with 1,024 nftables rules, of which the last match",
        device: "kernel",
        parameters: &[(Parameter::Routes, 0), (Parameter::Rules, RULES)],
        design: kernel::router,
    },
    Entry {
        name: "firewall-nat",
        about: "stateful firewall with source NAT (nftables, conntrack)",
        device: "kernel-firewall",
        parameters: &[(Parameter::Flows, 1_024)],
        design: kernel::firewall,
    },
    Entry {
        name: "bridge",
        about: "Linux kernel bridge between four ports of one network",
        device: "kernel-bridge",
        parameters: &[],
        design: kernel::bridge,
    },
    Entry {
        name: "bgp-router",
        about: "Linux kernel router with FRR, which learns 10,000 routes by BGP from BIRD behind a port",
        device: "frr-bgp",
        parameters: &[(Parameter::Routes, 10_000)],
        design: routing::bgp,
    },
    Entry {
        name: "ospf-area",
        about: "Linux kernel router with FRR, which learns 1,000 routes by OSPF from BIRD behind a port",
        device: "frr-ospf",
        parameters: &[(Parameter::Routes, 1_000)],
        design: routing::ospf,
    },
    Entry {
        name: "chain",
        about: "Linux kernel routers in series",
        device: "kernel-chain",
        parameters: &[(Parameter::Routers, 2)],
        design: kernel::chain,
    },
    Entry {
        name: "parallel",
        about: "Linux kernel routers in parallel, each with two ports of the tester",
        device: "kernel-parallel",
        parameters: &[(Parameter::Routers, 2)],
        design: kernel::parallel,
    },
    Entry {
        name: "ovs",
        about: "Open vSwitch as an IPv4 router, with its userspace datapath (netdev)",
        device: "ovs",
        parameters: &[(Parameter::Routes, 0), (Parameter::Rules, 0)],
        design: switches::ovs,
    },
    Entry {
        name: "ovs-switch",
        about: "Open vSwitch as a learning switch, with its userspace datapath (netdev)",
        device: "ovs-switch",
        parameters: &[(Parameter::Rules, 0)],
        design: switches::ovs_switch,
    },
    Entry {
        name: "ovs-dpdk",
        about: "Open vSwitch with DPDK between two vhost-user ports; reserves huge pages",
        device: "ovs-dpdk",
        parameters: &[(Parameter::Rules, 0)],
        design: switches::ovs_dpdk,
    },
    Entry {
        name: "testpmd",
        about: "dpdk-testpmd between two memif ports",
        device: "testpmd",
        parameters: &[],
        design: switches::testpmd,
    },
    Entry {
        name: "nginx",
        about: "nginx web server, with a client",
        device: "nginx",
        parameters: &[],
        design: servers::nginx,
    },
    Entry {
        name: "haproxy-nginx",
        about: "HAProxy in front of nginx, with a client",
        device: "haproxy-nginx",
        parameters: &[],
        design: servers::haproxy_nginx,
    },
    Entry {
        name: "haproxy-balancer",
        about: "HAProxy in front of four backends of the tester, which it checks",
        device: "haproxy",
        parameters: &[],
        design: balancers::haproxy,
    },
    Entry {
        name: "nft-balancer",
        about: "nftables in front of four backends of the tester: destination NAT by a hash of the source",
        device: "nftables",
        parameters: &[],
        design: balancers::nftables,
    },
    Entry {
        name: OWN,
        about: "a router of yours that --dut-command starts: a program, a container, a virtual machine",
        device: "own",
        parameters: &[],
        design: own::router,
    },
];

impl Topology {
    /// All topologies.
    pub fn all() -> impl Iterator<Item = Self> {
        CATALOGUE.iter().map(Self)
    }

    /// The topology of this name.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn by_name(name: &str) -> Result<Self, LabError> {
        let known = || Self::all().map(Self::name).collect::<Vec<_>>();
        let found = Self::all().find(|topology| topology.name() == name);
        found.ok_or_else(|| LabError::UnknownTopology(spelling::unknown("topology", name, &known())))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// A short description.
    pub fn about(self) -> &'static str {
        self.0.about
    }

    /// Its command-line options with their defaults.
    pub fn options(self) -> Vec<(&'static str, u32)> {
        self.0.parameters.iter().map(|(parameter, value)| (parameter.name(), *value)).collect()
    }

    /// Tags that put its results into tables: `dut=kernel`, `config=routes=262144`.
    fn tags(self, chosen: &Parameters) -> Vec<String> {
        let device = chosen.dut_name.as_deref().unwrap_or(self.0.device);
        vec![format!("dut={device}"), format!("config={}", chosen.configuration())]
    }

    /// Everything that `up` creates.
    ///
    /// # Errors
    ///
    /// If the topology does not have a parameter, or its value is out of range.
    pub fn design(self, parameters: &Parameters, paths: &LabPaths) -> Result<Design, LabError> {
        let chosen = parameters.resolved(self.name(), self.0.parameters)?;
        let mut design = (self.0.design)(&chosen, paths)?;
        let about =
            "RFC 2544: throughput, latency, frame loss rate, back-to-back frames, with an HTML report.";
        design.method_first("rfc2544", about, self.tags(&chosen));
        if !design.sessions.is_empty() {
            let profile = std::mem::take(&mut design.sessions);
            design.sessions_first(profile, self.tags(&chosen));
        }
        if !design.balancer.is_empty() {
            let profile = std::mem::take(&mut design.balancer);
            design.balancer_first(profile, self.tags(&chosen));
        }
        if !design.switch.is_empty() {
            let profile = std::mem::take(&mut design.switch);
            design.switch_last(profile, self.tags(&chosen));
        }
        design.tester_cores = cores::of_tester(&chosen).map(|cores| os::cpu::format_list(&cores));
        let own = cores::of_device(&chosen);
        if !own.is_empty() {
            design.device_on(&os::cpu::format_list(&own), &cores::mask(&own));
        } else {
            let remark = "only one core: tester and device share it, so results depend on the scheduler";
            design.remarks.push(remark.to_owned());
        }
        Ok(design)
    }
}

#[cfg(test)]
mod tests;
