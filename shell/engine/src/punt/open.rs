//! Makes the interfaces of a port's hosts in their namespace.

use super::shared::Shared;
use super::{Punt, PuntEntry, PuntExit, thread};
use crate::error::EngineError;
use neighbour::{Host, PuntTable};
use os::namespace::Namespace;
use os::tap::TapOptions;
use port::bytes::byte_ring;
use profile::plan::{PortPlan, PuntPlan};
use std::io;
use std::sync::Arc;
use wire::control::ControlFilter;

/// Bytes between a worker and the interfaces, and back.
const RING_BYTES: usize = 4 << 20;
/// The longest IP packet of an interface, if the port carries as much.
const MTU: u32 = 1_500;
/// Ethernet header and FCS. VLAN tags come on top, as in the network.
const ETHERNET_BYTES: u32 = 18;

impl Punt {
    /// Makes the interfaces of `hosts`, the plan's, behind a port with `queues` receive queues and frames of
    /// `frame_len_max` bytes at most; `tells` is whether it [reports](port::PortFacts::tells_unfinished_checksums)
    /// which of them have unfinished checksums. The thread runs on `cores`.
    pub(crate) fn open(
        port: &PortPlan,
        punt: &PuntPlan,
        hosts: &[Host],
        queues: usize,
        (frame_len_max, tells): (u32, bool),
        cores: &[usize],
    ) -> Result<Self, EngineError> {
        let namespace = namespace(port, punt)?;
        let table = Arc::new(PuntTable::new(ControlFilter::new(&punt.rules), hosts));
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..queues).map(|_| byte_ring(RING_BYTES)).unzip();
        let (to_port, from_taps) = byte_ring(RING_BYTES);
        let options: Vec<TapOptions> =
            port.hosts.iter().zip(hosts).map(|(plan, host)| tap(plan, host, frame_len_max)).collect();
        let shared = Arc::new(Shared::default());
        let vlans = hosts.iter().map(|host| neighbour::vlan_tags(&host.vlans)).collect();
        let task = thread::Task::new(table.clone(), vlans, receivers, to_port, shared.clone());
        let thread = thread::start(&namespace, options, task, cores.to_vec())
            .map_err(|(name, error)| failed(port, punt, name.as_deref(), &error))?;
        Ok(Self {
            entries: senders.into_iter().map(|sender| PuntEntry::new(table.clone(), sender, tells)).collect(),
            exit: PuntExit::new(from_taps),
            namespace,
            shared,
            thread: Some(thread),
        })
    }
}

fn tap(plan: &profile::plan::HostPlan, host: &Host, frame_len_max: u32) -> TapOptions {
    TapOptions {
        name: plan.name.clone(),
        mac: host.mac,
        mtu: frame_len_max.saturating_sub(ETHERNET_BYTES).min(MTU),
        addresses: plan.addresses.iter().map(|own| (own.ip, own.prefix_len)).collect(),
        gateways: plan.gateways.clone(),
    }
}

fn namespace(port: &PortPlan, punt: &PuntPlan) -> Result<Namespace, EngineError> {
    let bad = |reason| EngineError::Punt { port: port.name.clone(), reason };
    match &punt.namespace {
        Some(name) => Namespace::named(name).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                bad(format!("there is no network namespace '{name}'; make it with 'ip netns add {name}'"))
            }
            _ => bad(format!("can't open the network namespace '{name}': {error}")),
        }),
        None => Namespace::private().map_err(|error| {
            bad(format!("can't make a network namespace: {error}; that needs root or CAP_SYS_ADMIN"))
        }),
    }
}

fn failed(port: &PortPlan, punt: &PuntPlan, interface: Option<&str>, error: &io::Error) -> EngineError {
    let whose = match &punt.namespace {
        Some(name) => format!("the network namespace '{name}'"),
        None => "its network namespace".to_owned(),
    };
    let reason = match (interface, error.kind()) {
        (None, _) => format!("can't enter {whose}: {error}; that needs root or CAP_SYS_ADMIN"),
        (Some(name), io::ErrorKind::ResourceBusy | io::ErrorKind::AlreadyExists) => {
            format!("{whose} has an interface '{name}' already; remove it, or give the host another name")
        }
        (Some(name), io::ErrorKind::NotFound) => {
            format!("can't make the interface '{name}' in {whose}: there is no /dev/net/tun")
        }
        (Some(name), _) => format!("can't make the interface '{name}' in {whose}: {error}"),
    };
    EngineError::Punt { port: port.name.clone(), reason }
}
