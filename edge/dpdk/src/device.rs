//! Device strings: what they say, and what DPDK calls it.
//!
//! Invariant: parsing never looks at the machine; it knows only what is well-formed.

use port::{PortError, PortErrorKind};
use std::time::Duration;

/// How long to wait for the other end of a connected port (memif, vhost, virtio) unless the device string says.
const PEER_WAIT: Duration = Duration::from_secs(5);

/// Longest interface name the kernel takes, bytes (IFNAMSIZ without the closing zero).
const INTERFACE_NAME_MAX: usize = 15;

/// What a device string names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    AfPacket { interface: String },
    AfXdp { interface: String },
    Memif { socket: String, server: bool },
    Tap { interface: String },
    Vhost { socket: String },
    Virtio { socket: String, server: bool },
    Pcap { rx: String, tx: String },
    Pci { address: String },
    Vdev { name: String },
}

/// A device string that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Device {
    /// As the user wrote it.
    pub text: String,
    pub kind: Kind,
    /// `key=value` options the user gave, for the driver.
    pub options: Vec<(String, String)>,
    /// How long to wait for the other end.
    pub wait: Duration,
}

/// The forms there are, for errors.
const FORMS: &str = "ports of this machine are called NAME or afpacket:NAME (an interface), afxdp:NAME, \
memif:SOCKET[,server], tap:NAME, vhost:SOCKET, virtio:SOCKET[,server=1], pcap:IN,OUT (either may be empty), null, \
0000:03:00.0 (PCI), or vdev:DRIVER[,ARGUMENTS]";

fn name_error(text: &str, reason: impl Into<String>) -> PortError {
    PortError::new(text, PortErrorKind::Name, reason, FORMS)
}

impl Device {
    /// Reads a device string.
    pub(crate) fn parse(text: &str) -> Result<Self, PortError> {
        let error = |reason: &str| Err(name_error(text, reason));
        if let Some(address) = pci_address(text) {
            return Ok(Self::plain(text, Kind::Pci { address }));
        }
        let (scheme, rest) = text.split_once(':').unwrap_or(("afpacket", text));
        if text == "null" {
            return Ok(Self::plain(text, Kind::Null));
        }
        if scheme == "vdev" {
            return Self::vdev(text, rest);
        }
        let mut parts = rest.split(',');
        let first = parts.next().unwrap_or_default().to_owned();
        let second =
            if scheme == "pcap" { parts.next().unwrap_or_default().to_owned() } else { String::new() };
        let mut options = Options::read(text, parts)?;
        let kind = match scheme {
            "afpacket" | "afxdp" | "tap" => {
                if !is_interface_name(&first) {
                    return error(&format!("'{first}' can't be the name of an interface"));
                }
                match scheme {
                    "afpacket" => Kind::AfPacket { interface: first },
                    "afxdp" => Kind::AfXdp { interface: first },
                    _ => Kind::Tap { interface: first },
                }
            }
            "memif" | "vhost" | "virtio" => {
                if first.is_empty() {
                    return error("the socket's path is missing");
                }
                match scheme {
                    "memif" => {
                        let server =
                            options.flag("server") || options.take("role").is_some_and(|v| v == "server");
                        Kind::Memif { socket: first, server }
                    }
                    "vhost" => Kind::Vhost { socket: first },
                    _ => Kind::Virtio { socket: first, server: options.flag("server") },
                }
            }
            "pcap" if first.is_empty() && second.is_empty() => return error("neither file is named"),
            "pcap" => Kind::Pcap { rx: first, tx: second },
            _ => return error(&format!("'{scheme}:' is not a kind of port known here")),
        };
        let wait = match options.take("wait") {
            None => PEER_WAIT,
            Some(seconds) => match seconds.parse() {
                Ok(seconds) => Duration::from_secs(seconds),
                Err(_) => return error("wait= takes a whole number of seconds"),
            },
        };
        if let Some((key, _)) = options.list.iter().find(|(_, value)| value.is_empty()) {
            return error(&format!("'{key}' is not an option of {scheme}: further options are KEY=VALUE"));
        }
        Ok(Self { text: text.to_owned(), kind, options: options.list, wait })
    }

    fn plain(text: &str, kind: Kind) -> Self {
        Self { text: text.to_owned(), kind, options: Vec::new(), wait: PEER_WAIT }
    }

    fn vdev(text: &str, rest: &str) -> Result<Self, PortError> {
        let (name, arguments) = rest.split_once(',').unwrap_or((rest, ""));
        let device = Self::plain(text, Kind::Vdev { name: name.to_owned() });
        let driver = device.driver();
        let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
        if !name.chars().all(legal) || !driver.starts_with("net_") || driver == "net_" {
            return Err(name_error(
                text,
                format!("'{name}' can't be a DPDK network driver such as net_ring0"),
            ));
        }
        // Handed on as they are: only the driver knows them, and some repeat keys.
        let options = arguments
            .split(',')
            .filter(|argument| !argument.is_empty())
            .map(|argument| argument.split_once('=').unwrap_or((argument, "")))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        Ok(Self { options, ..device })
    }

    /// The driver's name, such as `net_af_xdp`; empty for PCI, where the hardware decides.
    pub(crate) fn driver(&self) -> String {
        match &self.kind {
            Kind::Null => "net_null".to_owned(),
            Kind::AfPacket { .. } => "net_af_packet".to_owned(),
            Kind::AfXdp { .. } => "net_af_xdp".to_owned(),
            Kind::Memif { .. } => "net_memif".to_owned(),
            Kind::Tap { .. } => "net_tap".to_owned(),
            Kind::Vhost { .. } => "net_vhost".to_owned(),
            Kind::Virtio { .. } => "net_virtio_user".to_owned(),
            Kind::Pcap { .. } => "net_pcap".to_owned(),
            Kind::Pci { .. } => String::new(),
            Kind::Vdev { name } => {
                let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
                match stem.strip_prefix("eth_") {
                    Some(old) => format!("net_{old}"),
                    None if stem == "virtio_user" => "net_virtio_user".to_owned(),
                    None => stem.to_owned(),
                }
            }
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
            Kind::AfPacket { interface } | Kind::AfXdp { interface } => Some(interface),
            _ => None,
        }
    }

    /// The value the user gave for `key`.
    pub(crate) fn option(&self, key: &str) -> Option<&str> {
        self.options.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
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
            Kind::Vdev { name } if name.ends_with(|c: char| c.is_ascii_digit()) => name.clone(),
            _ => format!("{}{number}", self.driver()),
        };
        let mut arguments = match &self.kind {
            Kind::Null => pairs(&[("no-rx", "1")]),
            Kind::AfPacket { interface } => af_packet(interface, queues, frame_len_max),
            Kind::AfXdp { interface } => pairs(&[("iface", interface), ("queue_count", &queues.to_string())]),
            Kind::Memif { socket, server } => {
                let role = if *server { "server" } else { "client" };
                let buffer = frame_len_max.next_multiple_of(64).max(2048).to_string();
                pairs(&[("role", role), ("socket", socket), ("socket-abstract", "no"), ("bsize", &buffer)])
            }
            Kind::Tap { interface } => pairs(&[("iface", interface)]),
            Kind::Vhost { socket } => pairs(&[("iface", socket), ("queues", &queues.to_string())]),
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
            Kind::Pci { .. } | Kind::Vdev { .. } => Vec::new(),
        };
        // What the user says goes before what we would say.
        arguments.retain(|(key, _)| self.option(key).is_none());
        arguments.extend(self.options.iter().cloned());
        let join = |(key, value): &(String, String)| match value.as_str() {
            "" => key.clone(),
            value => format!("{key}={value}"),
        };
        let arguments: Vec<String> = arguments.iter().map(join).collect();
        EalDevice { bus: "vdev", name, arguments: arguments.join(",") }
    }
}

/// What EAL is told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EalDevice {
    pub bus: &'static str,
    pub name: String,
    pub arguments: String,
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// Bytes of a slot of an AF_PACKET ring. It holds the frame and the kernel's header of at most 82 bytes; 2 KiB for
/// ordinary frames.
pub(crate) fn af_packet_slot(frame_len_max: u32) -> u32 {
    (frame_len_max + 128).next_power_of_two().max(2048)
}

/// Ring geometry. Blocks of 64 KiB spare the kernel thousands of small allocations.
fn af_packet(interface: &str, queues: u16, frame_len_max: u32) -> Vec<(String, String)> {
    let slot = af_packet_slot(frame_len_max);
    let block = slot.max(65_536);
    let slots = (AF_PACKET_RING_BYTES / slot).clamp(256, 1024);
    pairs(&[
        ("iface", interface),
        ("qpairs", &queues.to_string()),
        ("framesz", &slot.to_string()),
        ("blocksz", &block.to_string()),
        ("framecnt", &slots.to_string()),
    ])
}

/// Bytes of an AF_PACKET ring in one direction, about.
const AF_PACKET_RING_BYTES: u32 = 4 << 20;

/// Options behind the first part of a device string.
struct Options {
    list: Vec<(String, String)>,
}

impl Options {
    fn read<'a>(text: &str, parts: impl Iterator<Item = &'a str>) -> Result<Self, PortError> {
        let mut list: Vec<(String, String)> = Vec::new();
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            if key.is_empty() {
                return Err(name_error(text, "an option has no name"));
            }
            if list.iter().any(|(known, _)| known == key) {
                return Err(name_error(text, format!("the option '{key}' is there twice")));
            }
            list.push((key.to_owned(), value.to_owned()));
        }
        Ok(Self { list })
    }

    fn take(&mut self, key: &str) -> Option<String> {
        let at = self.list.iter().position(|(k, _)| k == key)?;
        Some(self.list.remove(at).1)
    }

    /// `key`, `key=1` or `key=yes`.
    fn flag(&mut self, key: &str) -> bool {
        self.take(key).is_some_and(|value| matches!(value.as_str(), "" | "1" | "yes"))
    }
}

fn is_interface_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= INTERFACE_NAME_MAX
        && name != "."
        && name != ".."
        && name.chars().all(|c| c.is_ascii_graphic() && c != '/' && c != ':')
}

/// `0000:03:00.0` or `03:00.0`, with its domain.
fn pci_address(text: &str) -> Option<String> {
    let hex = |part: &str, digits: usize| part.len() == digits && part.chars().all(|c| c.is_ascii_hexdigit());
    let (front, function) = text.split_once('.')?;
    let parts: Vec<&str> = front.split(':').collect();
    let (domain, bus, slot) = match parts[..] {
        [domain, bus, slot] => (domain, bus, slot),
        [bus, slot] => ("0000", bus, slot),
        _ => return None,
    };
    let legal = (4..=8).contains(&domain.len())
        && hex(domain, domain.len())
        && hex(bus, 2)
        && hex(slot, 2)
        && matches!(function, "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7");
    legal.then(|| format!("{domain}:{bus}:{slot}.{function}").to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Kind {
        Device::parse(text).unwrap().kind
    }

    #[test]
    fn every_form_is_understood() {
        let veth0 = || "veth0".to_owned();
        assert_eq!(kind("null"), Kind::Null);
        assert_eq!(kind("veth0"), Kind::AfPacket { interface: veth0() });
        assert_eq!(kind("afpacket:veth0"), Kind::AfPacket { interface: veth0() });
        assert_eq!(kind("afxdp:veth0"), Kind::AfXdp { interface: veth0() });
        assert_eq!(kind("tap:veth0"), Kind::Tap { interface: veth0() });
        let memif = |server| Kind::Memif { socket: "/run/x.sock".into(), server };
        assert_eq!(kind("memif:/run/x.sock"), memif(false));
        assert_eq!(kind("memif:/run/x.sock,server,id=3,rsize=11"), memif(true));
        assert_eq!(kind("memif:/run/x.sock,role=server"), memif(true));
        assert_eq!(kind("vhost:/v"), Kind::Vhost { socket: "/v".into() });
        assert_eq!(kind("virtio:/v"), Kind::Virtio { socket: "/v".into(), server: false });
        assert_eq!(kind("virtio:/v,server=1"), Kind::Virtio { socket: "/v".into(), server: true });
        assert_eq!(kind("pcap:a,"), Kind::Pcap { rx: "a".into(), tx: String::new() });
        assert_eq!(kind("pcap:,b"), Kind::Pcap { rx: String::new(), tx: "b".into() });
        assert_eq!(kind("0000:03:00.0"), Kind::Pci { address: "0000:03:00.0".into() });
        assert_eq!(kind("AB:1f.7"), Kind::Pci { address: "0000:ab:1f.7".into() });
        assert_eq!(kind("vdev:net_ring0"), Kind::Vdev { name: "net_ring0".into() });
    }

    #[test]
    fn malformed_names_say_what_the_forms_are() {
        for text in [
            "",
            "a name",
            "averyverylongname",
            "afxdp:",
            "memif:",
            "memif:/x,,",
            "memif:/x,what",
            "memif:/x,id=1,id=2",
            "memif:/x,wait=soon",
            "vhost:",
            "pcap:",
            "pcap:,",
            "ring:a",
            "vdev:",
            "vdev:crypto_null0",
            "vdev:net_",
            "vdev:Net_ring0",
            "0000:03:00.8:1",
        ] {
            let error = Device::parse(text).expect_err(text);
            assert_eq!(error.kind, PortErrorKind::Name, "{text}");
            assert!(error.remedy.contains("memif:SOCKET[,server]"), "{error}");
        }
    }

    #[test]
    fn options_go_to_the_driver_and_win() {
        let eal = |text: &str| Device::parse(text).unwrap().for_eal(7, 2, 1518);
        let memif = eal("memif:/x,server,wait=0,id=3,bsize=4096");
        assert_eq!((memif.bus, memif.name.as_str()), ("vdev", "net_memif7"));
        assert_eq!(memif.arguments, "role=server,socket=/x,socket-abstract=no,id=3,bsize=4096");
        let packet = eal("veth0").arguments;
        assert_eq!(packet, "iface=veth0,qpairs=2,framesz=2048,blocksz=65536,framecnt=1024");
        assert_eq!(eal("pcap:,out").arguments, "tx_pcap=out");
        assert_eq!(eal("vdev:net_ring3,nodeaction=a:0:CREATE").name, "net_ring3");
        assert_eq!(eal("vdev:net_ring").name, "net_ring7");
        assert_eq!(eal("vdev:net_pcap0,rx_pcap=a,rx_pcap=b").arguments, "rx_pcap=a,rx_pcap=b");
    }

    #[test]
    fn drivers_have_plugins() {
        let plugin = |text: &str| Device::parse(text).unwrap().plugin();
        assert_eq!(plugin("virtio:/x").as_deref(), Some("net_virtio"));
        assert_eq!(plugin("vdev:eth_af_packet12").as_deref(), Some("net_af_packet"));
        assert_eq!(plugin("vdev:virtio_user0").as_deref(), Some("net_virtio"));
        assert_eq!(plugin("03:00.0"), None);
    }
}
