//! Capabilities of an agent, as it publishes them.

use agent::{Clock, Permit};
use api::{Port, PortKind};
use dpdk::PortId;
use os::link::LinkFacts;
use serde::{Deserialize, Serialize};

/// Capabilities of an agent: its key's value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// Its name.
    pub name: String,
    /// Version of its program.
    pub version: String,
    /// Which process it is: another one of the same name differs.
    pub instance: u64,
    /// The machine it runs on, as it was started: agents with the same one share a clock.
    pub machine: String,
    /// Its clock.
    pub clock: Clock,
    /// Cores of its workers.
    pub cores: usize,
    /// Its ports.
    pub ports: Vec<CardPort>,
    /// Its runs.
    #[serde(default)]
    pub runs: Vec<CardRun>,
}

/// A run on an agent's ports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardRun {
    /// Names of its ports there.
    pub ports: Vec<String>,
    /// Its cores.
    pub cores: Vec<usize>,
    /// Time since it began, s.
    pub active_s: u64,
}

/// A port of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardPort {
    /// Its name there.
    pub name: String,
    /// Device to open it by.
    pub device: String,
    /// Kind.
    pub kind: PortKind,
    /// Whether the link is up.
    pub up: bool,
    /// Speed at layer 1, bits per second.
    pub speed_bps: Option<u64>,
    /// MTU, bytes.
    pub mtu: Option<u32>,
    /// Driver.
    pub driver: Option<String>,
}

impl CardPort {
    /// The port as clients of a controller see it.
    pub(crate) fn listed(&self, agent: &str) -> Port {
        Port {
            name: format!("{agent}/{}", self.name),
            device: format!("{agent}/{}", self.device),
            kind: self.kind,
            up: self.up,
            speed_bps: self.speed_bps,
            mtu: self.mtu,
            driver: self.driver.clone(),
            allowed: true,
            note: None,
            lease: None,
        }
    }

    /// Whether it is an interface that is not there.
    pub fn is_missing(&self) -> bool {
        self.kind == PortKind::Interface && self.mtu.is_none()
    }

    /// Whether a device, as profiles write it, is this port: by its name alone, or with a driver in front and options behind it.
    pub(crate) fn is_called(&self, device: &str) -> bool {
        let interface = device.split_once(':').map(|(_, rest)| rest.split(',').next().unwrap_or_default());
        device == self.name
            || device == self.device
            || (self.kind == PortKind::Interface && interface == Some(self.name.as_str()))
    }
}

/// The ports of an agent.
///
/// # Errors
/// A device is no port.
pub fn list_ports(permit: &Permit) -> Result<Vec<CardPort>, String> {
    let links = os::link::list().map_err(|error| format!("cannot list the kernel's links: {error}"))?;
    permit.ports.iter().map(|device| card_port(device, &links)).collect()
}

fn card_port(device: &str, links: &[LinkFacts]) -> Result<CardPort, String> {
    let id = PortId::resolve(device).map_err(|error| error.to_string())?;
    let interface = id.kernel_interface();
    let link = interface.and_then(|interface| links.iter().find(|link| link.name == interface.name));
    let kind = match (interface, id.plain().starts_with("ring:") || id.plain() == "null") {
        (Some(_), _) => PortKind::Interface,
        (None, true) => PortKind::InProcess,
        (None, false) => PortKind::Pci,
    };
    Ok(CardPort {
        name: id.label(),
        device: device.to_owned(),
        kind,
        // An interface that is not there is not up.
        up: link.map_or(interface.is_none(), |link| link.up),
        speed_bps: link.and_then(|link| link.speed_bps),
        mtu: link.map(|link| link.mtu),
        driver: link.and_then(|link| link.driver.clone().or_else(|| link.kind.clone())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_known_by_its_names() {
        let port = CardPort {
            name: "veth0".to_owned(),
            device: "afpacket:veth0".to_owned(),
            kind: PortKind::Interface,
            up: true,
            speed_bps: None,
            mtu: None,
            driver: None,
        };
        for device in ["veth0", "afxdp:veth0", "afpacket:veth0,queues=2"] {
            assert!(port.is_called(device), "{device}");
        }
        assert!(!port.is_called("veth1") && !port.is_called("afxdp:veth01"));
    }
}
