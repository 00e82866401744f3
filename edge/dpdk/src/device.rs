//! Devices: what DPDK calls what a port id names.

use crate::id::PortId;
pub(crate) use port::name::Kind;
use port::name::driver_of;
use std::time::Duration;

/// A port to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Device {
    /// As the user wrote it.
    pub text: String,
    /// With the canonical names of what it is.
    pub kind: Kind,
    /// Options for the driver, from its list.
    options: Vec<(&'static str, String)>,
    /// Time to wait for the other end.
    pub wait: Duration,
}

/// Whether such a port is one of DPDK's.
pub(crate) fn is_of_dpdk(kind: &Kind) -> bool {
    !matches!(kind, Kind::Null | Kind::Ring(_) | Kind::AfPacket { .. } | Kind::AfXdp { .. })
}

impl Device {
    pub(crate) fn new(id: &PortId) -> Self {
        let name = id.name().clone();
        Self { text: id.text().to_owned(), kind: name.kind, options: name.options, wait: name.wait }
    }

    /// The driver's name, such as `net_memif`; empty for PCI, where the hardware decides.
    pub(crate) fn driver(&self) -> String {
        match &self.kind {
            Kind::Memif { .. } => "net_memif".to_owned(),
            Kind::Tap { .. } => "net_tap".to_owned(),
            Kind::Vhost { .. } => "net_vhost".to_owned(),
            Kind::Virtio { .. } => "net_virtio_user".to_owned(),
            Kind::Pcap { .. } => "net_pcap".to_owned(),
            // All but the first are no ports of DPDK.
            Kind::Pci { .. } | Kind::Null | Kind::Ring(_) | Kind::AfPacket { .. } | Kind::AfXdp { .. } => {
                String::new()
            }
            Kind::Vdev { name, .. } => driver_of(name),
        }
    }

    /// The plugin that holds the driver, without `librte_` and `.so`; `None` for PCI.
    pub(crate) fn plugin(&self) -> Option<String> {
        Some(match self.driver().as_str() {
            "" => return None,
            "net_virtio_user" => "net_virtio".to_owned(),
            "net_tun" => "net_tap".to_owned(),
            driver => driver.to_owned(),
        })
    }

    /// Kernel interface behind the port that must exist before it is opened.
    pub(crate) fn interface(&self) -> Option<&str> {
        match &self.kind {
            Kind::AfPacket { interface } | Kind::AfXdp { interface, .. } => Some(interface),
            _ => None,
        }
    }

    /// The value the user gave for `key`.
    pub(crate) fn option(&self, key: &str) -> Option<&str> {
        self.options.iter().find(|(known, _)| *known == key).map(|(_, value)| value.as_str())
    }

    /// Whether received or sent frames stay where the driver's memory is shared with the other end.
    pub(crate) fn is_zero_copy_memif(&self) -> bool {
        self.option("zero-copy") == Some("yes") && self.driver() == "net_memif"
    }

    /// Bus and name under which EAL is to make the device, and the driver's arguments.
    pub(crate) fn for_eal(&self, number: u32, queues: u16, frame_len_max: u32) -> EalDevice {
        let name = match &self.kind {
            Kind::Pci { address } => {
                return EalDevice { bus: "pci", name: address.clone(), arguments: String::new() };
            }
            // A name of DPDK's own means that very device.
            Kind::Vdev { name, .. } if name.ends_with(|c: char| c.is_ascii_digit()) => name.clone(),
            _ => format!("{}{number}", self.driver()),
        };
        let mut arguments = match &self.kind {
            Kind::Memif { socket, server } => {
                let role = if *server { "server" } else { "client" };
                let buffer = frame_len_max.next_multiple_of(64).max(2048).to_string();
                pairs(&[("role", role), ("socket", socket), ("socket-abstract", "no"), ("bsize", &buffer)])
            }
            Kind::Tap { interface } => pairs(&[("iface", interface)]),
            Kind::Vhost { socket, server } => {
                let mut list = pairs(&[("iface", socket), ("queues", &queues.to_string())]);
                if !*server {
                    list.extend(pairs(&[("client", "1")]));
                }
                list
            }
            Kind::Virtio { socket, server } => {
                let mut list =
                    pairs(&[("path", socket), ("queues", &queues.to_string()), ("queue_size", "1024")]);
                if *server {
                    list.extend(pairs(&[("server", "1")]));
                }
                list
            }
            Kind::Pcap { rx, tx } => {
                let files = [("rx_pcap", rx.as_str()), ("tx_pcap", tx.as_str())];
                pairs(&files).into_iter().filter(|(_, file)| !file.is_empty()).collect()
            }
            Kind::Vdev { arguments, .. } => arguments.clone(),
            Kind::Pci { .. } | Kind::Null | Kind::Ring(_) | Kind::AfPacket { .. } | Kind::AfXdp { .. } => {
                Vec::new()
            }
        };
        // What the user says goes before what we would say. What says which port it is cannot be said by an option.
        arguments.retain(|(key, _)| self.option(key).is_none());
        arguments.extend(self.options.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        let join = |(key, value): &(String, String)| match value.as_str() {
            "" => key.clone(),
            value => format!("{key}={value}"),
        };
        let arguments: Vec<String> = arguments.iter().map(join).collect();
        EalDevice { bus: "vdev", name, arguments: arguments.join(",") }
    }
}

/// EAL's arguments for a device.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EalDevice {
    pub bus: &'static str,
    pub name: String,
    pub arguments: String,
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(text: &str) -> Device {
        Device::new(&PortId::resolve(text).unwrap())
    }

    #[test]
    fn options_go_to_the_driver_and_win() {
        let eal = |text: &str| device(text).for_eal(7, 2, 1518);
        let memif = eal("memif:/x,server,wait=0,id=3,bsize=4096");
        assert_eq!((memif.bus, memif.name.as_str()), ("vdev", "net_memif7"));
        assert_eq!(memif.arguments, "role=server,socket=/x,socket-abstract=no,id=3,bsize=4096");
        assert_eq!(eal("pcap:,/out").arguments, "tx_pcap=/out");
        assert_eq!(eal("vhost:/x,client").arguments, "iface=/x,queues=2,client=1");
        assert_eq!(eal("vdev:net_ring3,nodeaction=a:0:CREATE").name, "net_ring3");
        assert_eq!(eal("vdev:net_ring").name, "net_ring7");
        assert_eq!(eal("vdev:net_pcap0,rx_pcap=/a,rx_pcap=/b").arguments, "rx_pcap=/a,rx_pcap=/b");
    }

    #[test]
    fn drivers_have_plugins() {
        let plugin = |text: &str| device(text).plugin();
        assert_eq!(plugin("virtio:/x").as_deref(), Some("net_virtio"));
        assert_eq!(plugin("vdev:eth_af_packet12").as_deref(), Some("net_af_packet"));
        assert_eq!(plugin("vdev:virtio_user0").as_deref(), Some("net_virtio"));
        assert_eq!(plugin("03:00.0"), None);
    }
}
