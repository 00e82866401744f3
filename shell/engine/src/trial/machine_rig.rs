//! Opens ports of the machine, interfaces of their hosts, and programs behind these.

use super::hosts::EmulatedHosts;
use super::resolved::check_streams;
use super::rig::Rig;
use super::session_endpoints::check_sessions;
use crate::error::EngineError;
use crate::protocols::Protocols;
use crate::punt::Punt;
use dpdk::PortId;
use port::ring::{self, RingName};
use port::{Port, PortError, PortErrorKind, PortFacts, PortRequest};
use profile::Plan;
use profile::plan::PortPlan;
use std::collections::HashMap;

/// Bytes of the longest ordinary frame with FCS.
const ORDINARY_FRAME: u32 = 1_518;

impl Rig {
    /// Opens the ports of `plan` with a queue for each of `workers` where the driver has them.
    pub fn open(plan: &Plan, workers: usize) -> Result<Self, EngineError> {
        Self::open_unless(plan, workers, &mut || false)
    }

    /// Like [`open`](Self::open); stops once `cancelled` returns true, which is called while a port waits for its other
    /// end.
    pub fn open_unless(
        plan: &Plan,
        workers: usize,
        cancelled: &mut dyn FnMut() -> bool,
    ) -> Result<Self, EngineError> {
        let frame_len_max = plan.longest_frame().max(64);
        Self::open_with(
            plan,
            PortRequest { queues: workers as u16, frame_len_max, confined: false },
            cancelled,
        )
    }

    /// Opens those ports of `plan` whose indices are in `here`, in ascending order; the others are ports of other machines, to be
    /// added by [`joined`](Self::joined). Stops once `cancelled` returns true.
    pub fn open_part(
        plan: &Plan,
        here: &[usize],
        workers: usize,
        cancelled: &mut dyn FnMut() -> bool,
    ) -> Result<Self, EngineError> {
        let request = PortRequest {
            queues: workers as u16,
            frame_len_max: plan.longest_frame().max(64),
            confined: false,
        };
        let mut part = plan.clone();
        let ports = std::mem::take(&mut part.ports).into_iter().enumerate();
        part.ports = ports.filter(|(index, _)| here.contains(index)).map(|(_, port)| port).collect();
        Self::open_with(&part, request, cancelled)
    }

    /// Opens the ports of `plan` as in `request`, for traffic that the plan does not have.
    pub fn open_for(plan: &Plan, request: PortRequest) -> Result<Self, EngineError> {
        Self::open_with(plan, request, &mut || false)
    }

    fn open_with(
        plan: &Plan,
        request: PortRequest,
        cancelled: &mut dyn FnMut() -> bool,
    ) -> Result<Self, EngineError> {
        let ids: Result<Vec<PortId>, PortError> =
            plan.ports.iter().map(|port| PortId::resolve(&port.device)).collect();
        let ids = ids?;
        // Asked before a port is opened, because opening alone may take the interface from the kernel.
        plan.ports.iter().zip(&ids).try_for_each(|(port, id)| refuse_default_route(port, id))?;
        refuse_twice(plan, &ids)?;
        let mut rings = ring_ports(&plan.ports, request)?;
        let others = ids.into_iter().enumerate().filter(|(index, _)| !rings.contains_key(index));
        let devices: Vec<_> = others.map(|(_, id)| (id, request)).collect();
        let mut drivers = dpdk::open_all(&devices, cancelled)?.into_iter();
        let mut ports: Vec<Box<dyn Port>> = Vec::new();
        for index in 0..plan.ports.len() {
            let ring = rings.remove(&index).map(|ring| Box::new(ring) as Box<dyn Port>);
            let open =
                ring.or_else(|| drivers.next()).expect("every port is a ring or was opened by a driver");
            ports.push(open);
        }
        Ok(Self::new(ports))
    }

    /// Refuses what the ports can't carry of `plan`, which is theirs, before anything is sent.
    ///
    /// # Errors
    /// Frames that are too long, a share of a link without a speed, checksums that no port computes.
    pub fn check(&self, plan: &Plan) -> Result<(), EngineError> {
        let facts: Vec<PortFacts> = self.facts().into_iter().cloned().collect();
        check_streams(plan, &facts)?;
        check_sessions(plan, &facts)
    }

    /// Makes the interfaces of hosts whose control plane is a network namespace, if they are not there yet.
    pub(crate) fn open_punts(&mut self, plan: &Plan, hosts: &EmulatedHosts) -> Result<(), EngineError> {
        for (index, (port, rig)) in plan.ports.iter().zip(&mut self.ports).enumerate() {
            if let (Some(punt), None) = (&port.punt, &rig.punt) {
                let hosts = &hosts.ports[index].all()[..port.hosts.len()];
                let facts = rig.port.facts();
                // A port that is no interface carries what was asked of it, and an ordinary frame at least.
                let least = if facts.netdev.is_none() { ORDINARY_FRAME } else { 0 };
                let longest = facts.frame_len_max.max(least);
                let frames = (longest, facts.tells_unfinished_checksums);
                rig.punt =
                    Some(Punt::open(port, punt, hosts, rig.queues.rx.len(), frames, &self.control_cores)?);
            }
        }
        Ok(())
    }

    /// Starts the programs of `plan`, if they do not run yet.
    pub(crate) fn start_protocols(&mut self, plan: &Plan) -> Result<(), EngineError> {
        if self.protocols.is_some() || plan.protocols.is_empty() {
            return Ok(());
        }
        let namespaces: Vec<_> =
            self.ports.iter().map(|port| port.punt.as_ref().map(|punt| &punt.namespace)).collect();
        self.protocols = Some(Protocols::start(plan, &namespaces, &self.control_cores)?);
        Ok(())
    }

    /// Frames for the namespace of each port, and of it, that were dropped by thread and kernel so far.
    pub(crate) fn punts_dropped(&self) -> Vec<(u64, u64)> {
        self.ports.iter().map(|port| port.punt.as_ref().map_or((0, 0), Punt::dropped)).collect()
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

/// RFC 6815: a tester must not flood a production network.
fn refuse_default_route(port: &PortPlan, id: &PortId) -> Result<(), EngineError> {
    if port.allow_default_route || id.interfaces().is_empty() {
        return Ok(());
    }
    let routes = os::default_route::interfaces();
    let carries_it = |name: &String| match &routes {
        Ok(routes) => routes.contains(name),
        // Not known: better safe.
        Err(_) => true,
    };
    match id.interfaces().iter().map(|interface| &interface.name).find(|name| carries_it(name)) {
        Some(netdev) => Err(EngineError::DefaultRoute { port: port.name.clone(), netdev: netdev.clone() }),
        None => Ok(()),
    }
}

/// Two ports on one interface would take each other's packets.
fn refuse_twice(plan: &Plan, ids: &[PortId]) -> Result<(), PortError> {
    for (index, id) in ids.iter().enumerate() {
        if let Some(other) = ids[..index].iter().position(|other| other.shares_interface(id)) {
            let reason = format!("port {} is the same interface by another name", plan.ports[other].name);
            return Err(PortError::new(id.text(), PortErrorKind::State, reason, "use each interface once"));
        }
    }
    Ok(())
}
