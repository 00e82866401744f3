//! Open ports with their queues. Trials run on them one after the other.

use crate::error::EngineError;
use port::ring::{self, RingName};
use port::{DriverDrops, Port, PortError, PortErrorKind, PortFacts, PortRequest, Queues};
use profile::Plan;
use profile::plan::PortPlan;
use std::collections::HashMap;

/// One open port.
pub(crate) struct RigPort {
    pub(crate) port: Box<dyn Port>,
    pub(crate) queues: Queues,
}

/// Open ports, in the order of the Plan that asked for them.
pub struct Rig {
    pub(crate) ports: Vec<RigPort>,
}

impl Rig {
    /// Ports that are open already.
    pub fn new(ports: Vec<Box<dyn Port>>) -> Self {
        let open = |mut port: Box<dyn Port>| RigPort { queues: port.take_queues(), port };
        Self { ports: ports.into_iter().map(open).collect() }
    }

    /// Opens the ports of `plan` with a queue for each of `workers` where the driver has them.
    pub fn open(plan: &Plan, workers: usize) -> Result<Self, EngineError> {
        let request = PortRequest { queues: workers as u16, frame_len_max: plan.longest_frame().max(64) };
        // Asked before a port is opened, because opening alone may take the interface from the kernel.
        plan.ports.iter().try_for_each(|port| refuse_default_route(port, dpdk::netdev(&port.device)))?;
        let mut rings = ring_ports(&plan.ports, request)?;
        let others = plan.ports.iter().enumerate().filter(|(index, _)| !rings.contains_key(index));
        let devices: Vec<_> = others.map(|(_, port)| (port.device.as_str(), request)).collect();
        let mut drivers = dpdk::open_all(&devices)?.into_iter();
        let mut ports: Vec<Box<dyn Port>> = Vec::new();
        for (index, port) in plan.ports.iter().enumerate() {
            let ring = rings.remove(&index).map(|ring| Box::new(ring) as Box<dyn Port>);
            let open =
                ring.or_else(|| drivers.next()).expect("every port is a ring or was opened by a driver");
            refuse_default_route(port, open.facts().netdev.clone())?;
            ports.push(open);
        }
        Ok(Self::new(ports))
    }

    /// Facts about the ports.
    pub fn facts(&self) -> Vec<&PortFacts> {
        self.ports.iter().map(|p| p.port.facts()).collect()
    }

    pub(crate) fn driver_drops(&mut self) -> Vec<DriverDrops> {
        self.ports.iter_mut().map(|p| p.port.driver_drops()).collect()
    }
}

/// The in-process ports among `ports` by index, partners joined.
fn ring_ports(ports: &[PortPlan], request: PortRequest) -> Result<HashMap<usize, ring::RingPort>, PortError> {
    let mut names = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        if let Some(name) = RingName::parse(&port.device) {
            names.push((index, name?));
        }
    }
    let mut open = HashMap::new();
    for (index, name) in &names {
        if open.contains_key(index) {
            continue;
        }
        let device = &ports[*index].device;
        if names.iter().any(|(other, same)| other != index && same == name) {
            return Err(PortError::new(
                device,
                PortErrorKind::State,
                "two ports use the same end of a pair",
                "",
            ));
        }
        match names.iter().find(|(_, other)| name.is_partner_of(other)) {
            Some((partner, _)) => {
                let [a, b] = ring::pair([device, &ports[*partner].device], request)?;
                open.insert(*index, a);
                open.insert(*partner, b);
            }
            None => {
                open.insert(*index, ring::looped(device, request)?);
            }
        }
    }
    Ok(open)
}

/// RFC 6815: a tester does not blast a network somebody lives in.
fn refuse_default_route(port: &PortPlan, netdev: Option<String>) -> Result<(), EngineError> {
    let Some(netdev) = netdev else { return Ok(()) };
    let carries_it = match os::default_route::interfaces() {
        Ok(routes) => routes.contains(&netdev),
        // Not known: better safe.
        Err(_) => true,
    };
    if carries_it && !port.allow_default_route {
        return Err(EngineError::DefaultRoute { port: port.name.clone(), netdev });
    }
    Ok(())
}
