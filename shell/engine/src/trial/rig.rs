//! Open ports with their queues. Trials run on them one after the other.

use crate::outlet::Outlet;
use crate::protocols::Protocols;
use crate::punt::Punt;
use port::{DriverDrops, Port, PortFacts, Queues};
use profile::Plan;

/// One open port.
pub(crate) struct RigPort {
    pub(crate) port: Box<dyn Port>,
    pub(crate) queues: Queues,
    /// For frames outside trials.
    pub(crate) outlet: Outlet,
    /// To the namespace of its hosts, once a trial needed it.
    pub(crate) punt: Option<Punt>,
    /// Whether it is a port of this machine. One of another has no queues, and only its facts are known.
    pub(crate) is_here: bool,
}

/// A port of another machine.
struct Elsewhere(PortFacts);

impl Port for Elsewhere {
    fn facts(&self) -> &PortFacts {
        &self.0
    }

    fn take_queues(&mut self) -> Queues {
        Queues { tx: Vec::new(), rx: Vec::new() }
    }

    fn driver_drops(&mut self) -> DriverDrops {
        DriverDrops::default()
    }
}

/// Open ports, in the order of their Plan.
pub struct Rig {
    /// Programs in the namespaces of ports, once a trial needed them. They end before their interfaces do.
    pub(crate) protocols: Option<Protocols>,
    pub(crate) ports: Vec<RigPort>,
    /// Where what is no worker runs.
    pub(crate) control_cores: Vec<usize>,
}

impl Rig {
    /// Ports that are open already.
    pub fn new(ports: Vec<Box<dyn Port>>) -> Self {
        let open = |mut port: Box<dyn Port>| {
            let queues = port.take_queues();
            (port, queues)
        };
        Self::from_ports(ports.into_iter().map(open).collect())
    }

    /// Ports with the queues they have handed out, as [`into_ports`](Self::into_ports) returns them.
    pub fn from_ports(ports: Vec<(Box<dyn Port>, Queues)>) -> Self {
        let open =
            |(port, queues)| RigPort { port, queues, outlet: Outlet::default(), punt: None, is_here: true };
        Self {
            protocols: None,
            ports: ports.into_iter().map(open).collect(),
            control_cores: os::cpu::allowed(),
        }
    }

    /// Limits ports to the plan's rates outside trials.
    pub(crate) fn limit(&mut self, plan: &Plan) {
        for (rig, port) in self.ports.iter_mut().zip(&plan.ports) {
            rig.outlet = Outlet::new(port.rate_max);
        }
    }

    /// Queues that each port sends with.
    pub(crate) fn queues(&self) -> Vec<usize> {
        self.ports.iter().map(|port| port.queues.tx.len()).collect()
    }

    /// The rig of a whole plan, from ports opened by `open_part` with the same `here`. `facts` are of
    /// all ports, in the plan's order.
    #[must_use]
    pub fn joined(self, here: &[usize], facts: Vec<PortFacts>) -> Self {
        let mut own = self.ports.into_iter();
        let port = |(index, facts): (usize, PortFacts)| {
            let open = if here.contains(&index) { own.next() } else { None };
            open.unwrap_or_else(|| RigPort {
                port: Box::new(Elsewhere(facts)),
                queues: Queues { tx: Vec::new(), rx: Vec::new() },
                outlet: Outlet::default(),
                punt: None,
                is_here: false,
            })
        };
        let ports = facts.into_iter().enumerate().map(port).collect();
        Self { ports, ..self }
    }

    /// Of each port, whether it is one of this machine.
    pub(crate) fn here(&self) -> Vec<bool> {
        self.ports.iter().map(|port| port.is_here).collect()
    }

    /// The ports with their queues, for another sender than trials.
    pub fn into_ports(self) -> Vec<(Box<dyn Port>, Queues)> {
        self.ports.into_iter().map(|rig| (rig.port, rig.queues)).collect()
    }

    /// Facts about the ports.
    pub fn facts(&self) -> Vec<&PortFacts> {
        self.ports.iter().map(|p| p.port.facts()).collect()
    }

    pub(crate) fn driver_drops(&mut self) -> Vec<DriverDrops> {
        self.ports.iter_mut().map(|p| p.port.driver_drops()).collect()
    }
}
