//! Port strings: what they name, and which options a driver may be given.
//!
//! Pure: nothing here looks at the machine. Whether there is such a device, and which of the names that the machine knows
//! it by is the one to use, is for the crate that opens ports.
//!
//! Invariants:
//! - The part before the first option selects the port. No option changes it: each driver has a list of allowed
//!   options, and options that name an interface, a socket, a file or another device are not in it. Only [`Kind::Vdev`]
//!   passes on arguments unmodified.
//! - The canonical form ([`fmt::Display`]) parses to an equal name.
//! - No part has a character that DPDK or its drivers give a meaning to.

use crate::ring::RingName;
use crate::{PortError, PortErrorKind};
use std::fmt;
use std::time::Duration;

/// Default time to wait for the other end of a connected port (memif, vhost, virtio, a card).
pub const PEER_WAIT: Duration = Duration::from_secs(5);

/// Longest time a port string may set to wait for its other end, s.
pub const PEER_WAIT_MAX_S: u64 = 300;

/// Longest interface name the kernel takes, bytes (IFNAMSIZ without the closing zero).
const INTERFACE_NAME_MAX: usize = 15;

/// Longest alternative name of an interface, bytes (ALTIFNAMSIZ without the closing zero).
const ALTERNATIVE_NAME_MAX: usize = 127;

/// Longest port string, bytes.
const TEXT_MAX: usize = 4096;

/// Kind of port in a port string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Discards what is sent, receives nothing.
    Null,
    /// One end of an in-process pair.
    Ring(RingName),
    /// A kernel interface through AF_PACKET.
    AfPacket {
        /// Its name, or an alternative one.
        interface: String,
    },
    /// A kernel interface through AF_XDP.
    AfXdp {
        /// Its name, or an alternative one.
        interface: String,
        /// Whether bursts are sent by a program that the kernel runs (XDP live frames).
        live: bool,
    },
    /// Shared memory with another process.
    Memif {
        /// Path of the socket.
        socket: String,
        /// Whether this side makes it.
        server: bool,
    },
    /// A new kernel interface.
    Tap {
        /// Its name.
        interface: String,
    },
    /// The back end of a virtual machine's interface.
    Vhost {
        /// Path of the socket.
        socket: String,
        /// Whether this side makes it.
        server: bool,
    },
    /// The network card that a vhost-user back end serves.
    Virtio {
        /// Path of the socket.
        socket: String,
        /// Whether this side makes it.
        server: bool,
    },
    /// Capture files; either may be empty.
    Pcap {
        /// Source of received frames.
        rx: String,
        /// Destination of sent frames.
        tx: String,
    },
    /// A network card.
    Pci {
        /// Domain, bus, slot and function, lower case.
        address: String,
    },
    /// Any virtual device of DPDK.
    Vdev {
        /// Driver, and perhaps a number.
        name: String,
        /// Arguments for the driver, in order; keys may repeat, and values may be empty.
        arguments: Vec<(String, String)>,
    },
}

/// A port string that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortName {
    /// Kind of port.
    pub kind: Kind,
    /// Options for the driver: keys of its list, in its order, with values it takes.
    pub options: Vec<(&'static str, String)>,
    /// Time to wait for the other end.
    pub wait: Duration,
}

/// Type of an option's value.
#[derive(Debug, Clone, Copy)]
enum Takes {
    /// 0 or 1.
    Switch,
    /// yes or no.
    YesNo,
    Number(u32, u32),
    /// A power of two.
    Power(u32, u32),
    /// `02:00:00:00:00:01`
    Mac,
    /// Up to 24 letters and digits.
    Secret,
}

use Takes::{Mac, Number, Power, Secret, Switch, YesNo};

/// Allowed arguments of DPDK's drivers, by their own keys. Left out on purpose: arguments that name another interface,
/// socket, file or device (`iface`, `socket`, `path`, `remote`, `xdp_prog` …), that persist after the port is closed
/// (`persist`), and that follow from the trial (`qpairs`, `framesz`, `queue_count`).
const AF_PACKET: &[(&str, Takes)] =
    &[("framecnt", Power(16, 65_536)), ("qdisc_bypass", Switch), ("tso", Switch)];
const AF_XDP: &[(&str, Takes)] =
    &[("start_queue", Number(0, 1023)), ("force_copy", Switch), ("busy_budget", Number(0, 65_535))];
const MEMIF: &[(&str, Takes)] = &[
    ("id", Number(0, u32::MAX)),
    ("rsize", Number(1, 14)),
    ("bsize", Number(64, 65_535)),
    ("zero-copy", YesNo),
    ("secret", Secret),
    ("mac", Mac),
];
const TAP: &[(&str, Takes)] = &[("mac", Mac)];
const VHOST: &[(&str, Takes)] = &[
    ("queues", Number(1, 128)),
    ("iommu-support", Switch),
    ("postcopy-support", Switch),
    ("tso", Switch),
    ("linear-buffer", Switch),
    ("ext-buffer", Switch),
];
const VIRTIO: &[(&str, Takes)] = &[
    ("queue_size", Power(1, 32_768)),
    ("queues", Number(1, 128)),
    ("mrg_rxbuf", Switch),
    ("in_order", Switch),
    ("packed_vq", Switch),
    ("vectorized", Switch),
    ("mac", Mac),
];
const PCAP: &[(&str, Takes)] = &[("infinite_rx", Switch)];

impl Takes {
    /// The value for the driver; an error gives the accepted values.
    fn read(self, value: &str) -> Result<String, String> {
        let number = |least: u32, most: u32, what: &str, fits: fn(u32) -> bool| {
            let read = digits(value).and_then(|n| u32::try_from(n).ok());
            let read = read.filter(|n| (least..=most).contains(n) && fits(*n));
            read.map(|n| n.to_string()).ok_or_else(|| format!("{what} from {least} to {most}"))
        };
        let word = |words: [&str; 2]| match value {
            "" | "1" | "yes" => Ok(words[1].to_owned()),
            "0" | "no" => Ok(words[0].to_owned()),
            _ => Err(format!("{} or {}", words[0], words[1])),
        };
        match self {
            Self::Switch => word(["0", "1"]),
            Self::YesNo => word(["no", "yes"]),
            Self::Number(least, most) => number(least, most, "a whole number", |_| true),
            Self::Power(least, most) => number(least, most, "a power of two", u32::is_power_of_two),
            Self::Mac => mac(value).ok_or_else(|| "a MAC address such as 02:00:00:00:00:01".to_owned()),
            Self::Secret => {
                let legal =
                    (1..=24).contains(&value.len()) && value.bytes().all(|b| b.is_ascii_alphanumeric());
                legal.then(|| value.to_owned()).ok_or_else(|| "1 to 24 letters and digits".to_owned())
            }
        }
    }
}

impl Kind {
    /// The word before the colon; empty where there is none.
    fn scheme(&self) -> &'static str {
        match self {
            Self::Null | Self::Pci { .. } => "",
            Self::Ring(_) => "ring",
            Self::AfPacket { .. } => "afpacket",
            Self::AfXdp { live: false, .. } => "afxdp",
            Self::AfXdp { live: true, .. } => "xdp",
            Self::Memif { .. } => "memif",
            Self::Tap { .. } => "tap",
            Self::Vhost { .. } => "vhost",
            Self::Virtio { .. } => "virtio",
            Self::Pcap { .. } => "pcap",
            Self::Vdev { .. } => "vdev",
        }
    }

    fn takes(&self) -> &'static [(&'static str, Takes)] {
        match self {
            Self::Null | Self::Ring(_) | Self::Pci { .. } | Self::Vdev { .. } => &[],
            Self::AfPacket { .. } => AF_PACKET,
            Self::AfXdp { .. } => AF_XDP,
            Self::Memif { .. } => MEMIF,
            Self::Tap { .. } => TAP,
            Self::Vhost { .. } => VHOST,
            Self::Virtio { .. } => VIRTIO,
            Self::Pcap { .. } => PCAP,
        }
    }

    /// Options that are not the driver's, for errors.
    fn own_options(&self) -> &'static [&'static str] {
        match self {
            Self::Memif { .. } | Self::Virtio { .. } => &["server", "wait"],
            Self::Vhost { .. } => &["client", "wait"],
            _ => &[],
        }
    }

    /// Whether opening it makes a socket for others to connect to, and where.
    pub fn listens_at(&self) -> Option<&str> {
        match self {
            Self::Memif { socket, server: true }
            | Self::Vhost { socket, server: true }
            | Self::Virtio { socket, server: true } => Some(socket),
            _ => None,
        }
    }

    /// The path of its socket, on either side.
    pub fn socket(&self) -> Option<&str> {
        match self {
            Self::Memif { socket, .. } | Self::Vhost { socket, .. } | Self::Virtio { socket, .. } => {
                Some(socket)
            }
            _ => None,
        }
    }

    /// The same with another path of its socket.
    #[must_use]
    pub fn with_socket(mut self, path: String) -> Self {
        if let Self::Memif { socket, .. } | Self::Vhost { socket, .. } | Self::Virtio { socket, .. } =
            &mut self
        {
            *socket = path;
        }
        self
    }
}

/// The forms there are, for errors.
const FORMS: &str = "ports of this machine are called NAME or afpacket:NAME (an interface), afxdp:NAME, xdp:NAME, \
memif:SOCKET[,server], tap:NAME, vhost:SOCKET, virtio:SOCKET[,server=1], pcap:IN,OUT (either may be empty), null, \
0000:03:00.0 (PCI), or vdev:DRIVER[,ARGUMENTS]";

fn wrong(text: &str, reason: impl Into<String>) -> PortError {
    // What is quoted may be long.
    let quoted = text.char_indices().nth(200).map_or(text, |(end, _)| &text[..end]);
    PortError::new(quoted, PortErrorKind::Name, reason, FORMS)
}

impl PortName {
    /// Reads a port string.
    ///
    /// # Errors
    /// It is not one: the error names the wrong part and the allowed values.
    pub fn parse(text: &str) -> Result<Self, PortError> {
        if text.len() > TEXT_MAX {
            return Err(wrong(text, format!("a port string has at most {TEXT_MAX} bytes")));
        }
        if let Some(name) = RingName::parse(text) {
            return Ok(Self::plain(Kind::Ring(name?)));
        }
        if let Some(address) = pci_address(text) {
            return Ok(Self::plain(Kind::Pci { address }));
        }
        if text == "null" {
            return Ok(Self::plain(Kind::Null));
        }
        let (scheme, rest) = text.split_once(':').unwrap_or(("afpacket", text));
        if scheme == "vdev" {
            return vdev(text, rest).map(Self::plain);
        }
        let mut parts = rest.split(',');
        let first = parts.next().unwrap_or_default().to_owned();
        let second = match scheme {
            "pcap" => parts.next().unwrap_or_default().to_owned(),
            _ => String::new(),
        };
        let kind = match scheme {
            "afpacket" => Kind::AfPacket { interface: interface(text, first)? },
            "afxdp" | "xdp" => Kind::AfXdp { interface: interface(text, first)?, live: scheme == "xdp" },
            "tap" => {
                let interface = interface(text, first)?;
                if !is_new_interface_name(&interface) {
                    return Err(wrong(text, format!("'{interface}' can't be the name of a new interface")));
                }
                Kind::Tap { interface }
            }
            "memif" => Kind::Memif { socket: socket(text, first)?, server: false },
            "vhost" => Kind::Vhost { socket: socket(text, first)?, server: true },
            "virtio" => Kind::Virtio { socket: socket(text, first)?, server: false },
            "pcap" if first.is_empty() && second.is_empty() => {
                return Err(wrong(text, "neither file is named"));
            }
            "pcap" => {
                for file in [&first, &second].into_iter().filter(|file| !file.is_empty()) {
                    path(text, file)?;
                }
                Kind::Pcap { rx: first, tx: second }
            }
            _ => return Err(wrong(text, format!("'{scheme}:' is not a kind of port known here"))),
        };
        Self::plain(kind).with_options(text, parts)
    }

    fn plain(kind: Kind) -> Self {
        Self { kind, options: Vec::new(), wait: PEER_WAIT }
    }

    fn with_options<'a>(
        mut self,
        text: &str,
        parts: impl Iterator<Item = &'a str>,
    ) -> Result<Self, PortError> {
        let mut seen: Vec<&str> = Vec::new();
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let says_value = part.contains('=');
            if key.is_empty() {
                return Err(wrong(text, "an option has no name"));
            }
            if seen.contains(&key) {
                return Err(wrong(text, format!("the option '{key}' is there twice")));
            }
            seen.push(key);
            self.take(text, key, value, says_value)?;
        }
        let takes = self.kind.takes();
        let place = |key: &str| takes.iter().position(|(known, _)| *known == key);
        self.options.sort_by_key(|(key, _)| place(key));
        Ok(self)
    }

    /// Takes one option.
    fn take(&mut self, text: &str, key: &str, value: &str, says_value: bool) -> Result<(), PortError> {
        let flag = || Switch.read(value).map(|value| value == "1");
        let bad = |key: &str, takes: String| {
            wrong(text, format!("the option '{key}' takes {takes}, not '{value}'"))
        };
        match (&mut self.kind, key) {
            (Kind::Memif { server, .. } | Kind::Virtio { server, .. }, "server") => {
                *server = flag().map_err(|takes| bad(key, takes))?;
            }
            (Kind::Memif { server, .. }, "role") => match value {
                "server" => *server = true,
                // Also as the driver of earlier versions had it.
                "client" | "master" | "slave" => *server = value == "master",
                _ => return Err(bad(key, "server or client".to_owned())),
            },
            (Kind::Vhost { server, .. }, "client") => *server = !flag().map_err(|takes| bad(key, takes))?,
            (Kind::Memif { .. } | Kind::Vhost { .. } | Kind::Virtio { .. }, "wait") => {
                let seconds = digits(value).filter(|seconds| *seconds <= PEER_WAIT_MAX_S);
                let takes = || format!("a whole number of seconds, at most {PEER_WAIT_MAX_S}");
                self.wait = Duration::from_secs(seconds.ok_or_else(|| bad(key, takes()))?);
            }
            (kind, _) => {
                let Some((key, takes)) = kind.takes().iter().find(|(known, _)| *known == key) else {
                    return Err(unknown(text, kind, key));
                };
                if !says_value && !matches!(takes, Switch | YesNo) {
                    return Err(wrong(text, format!("the option '{key}' needs a value: {key}=VALUE")));
                }
                self.options.push((key, takes.read(value).map_err(|takes| bad(key, takes))?));
            }
        }
        Ok(())
    }

    /// The value of an option for the driver, if it was given.
    pub fn option(&self, key: &str) -> Option<&str> {
        self.options.iter().find(|(known, _)| *known == key).map(|(_, value)| value.as_str())
    }
}

/// An option that is not in the list.
fn unknown(text: &str, kind: &Kind, key: &str) -> PortError {
    let scheme = kind.scheme();
    let known: Vec<&str> =
        kind.takes().iter().map(|(key, _)| *key).chain(kind.own_options().iter().copied()).collect();
    let mut error = wrong(text, format!("'{key}' is not an option of {scheme}"));
    if !known.is_empty() {
        error.remedy = format!("its options are {}; {FORMS}", known.join(", "));
    }
    error
}

/// The canonical form: the kind, what it names, then options in the order of their list.
impl fmt::Display for PortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Null => f.write_str("null")?,
            Kind::Ring(name) => write!(f, "{name}")?,
            Kind::Pci { address } => f.write_str(address)?,
            Kind::AfPacket { interface } | Kind::AfXdp { interface, .. } | Kind::Tap { interface } => {
                write!(f, "{}:{interface}", self.kind.scheme())?;
            }
            Kind::Memif { socket, server } | Kind::Virtio { socket, server } => {
                write!(f, "{}:{socket}{}", self.kind.scheme(), if *server { ",server=1" } else { "" })?;
            }
            Kind::Vhost { socket, server } => {
                write!(f, "vhost:{socket}{}", if *server { "" } else { ",client=1" })?;
            }
            Kind::Pcap { rx, tx } => write!(f, "pcap:{rx},{tx}")?,
            Kind::Vdev { name, arguments } => {
                write!(f, "vdev:{name}")?;
                for (key, value) in arguments {
                    write!(f, ",{key}")?;
                    if !value.is_empty() {
                        write!(f, "={value}")?;
                    }
                }
            }
        }
        for (key, value) in &self.options {
            write!(f, ",{key}={value}")?;
        }
        if self.wait != PEER_WAIT { write!(f, ",wait={}", self.wait.as_secs()) } else { Ok(()) }
    }
}

fn interface(text: &str, name: String) -> Result<String, PortError> {
    if is_interface_name(&name) {
        return Ok(name);
    }
    Err(wrong(text, format!("'{name}' can't be the name of an interface")))
}

fn socket(text: &str, name: String) -> Result<String, PortError> {
    if name.is_empty() {
        return Err(wrong(text, "the socket's path is missing"));
    }
    path(text, &name)?;
    Ok(name)
}

fn path(text: &str, path: &str) -> Result<(), PortError> {
    if is_path(path) {
        return Ok(());
    }
    Err(wrong(
        text,
        format!("'{path}' can't be a path here: DPDK gives a meaning to spaces, quotes, brackets and '='"),
    ))
}

/// Whether a path reaches a driver as it is: DPDK splits arguments at `,` and `=`, joins what is in brackets, and some
/// drivers trim.
pub fn is_path(path: &str) -> bool {
    let special = |c: char| c.is_control() || c.is_whitespace() || ",=[]()\"'\\".contains(c);
    !path.is_empty() && !path.contains(special)
}

/// Whether the kernel may know an interface by this name, and a driver would understand it.
pub fn is_interface_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= ALTERNATIVE_NAME_MAX
        && name != "."
        && name != ".."
        && name.chars().all(|c| c.is_ascii_graphic() && !"/:,=[]()\"'\\%".contains(c))
}

/// Whether an interface can be made by this name.
fn is_new_interface_name(name: &str) -> bool {
    is_interface_name(name) && name.len() <= INTERFACE_NAME_MAX
}

/// A whole number without sign; `None` also if it has more than 64 bits.
fn digits(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// Six bytes in hexadecimal, lower case.
fn mac(text: &str) -> Option<String> {
    let legal = text.split(':').count() == 6
        && text.split(':').all(|byte| byte.len() == 2 && byte.bytes().all(|b| b.is_ascii_hexdigit()));
    legal.then(|| text.to_ascii_lowercase())
}

fn vdev(text: &str, rest: &str) -> Result<Kind, PortError> {
    let (name, arguments) = rest.split_once(',').unwrap_or((rest, ""));
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    let driver = driver_of(name);
    if !name.chars().all(legal) || !driver.starts_with("net_") || driver == "net_" {
        return Err(wrong(text, format!("'{name}' can't be a DPDK network driver such as net_ring0")));
    }
    if let Some(odd) = arguments.chars().find(|c| c.is_control()) {
        return Err(wrong(text, format!("the driver's arguments have the character {odd:?}")));
    }
    if arguments.split(',').any(|argument| argument.starts_with('=')) {
        return Err(wrong(text, "an argument of the driver has no name"));
    }
    // Handed on as they are: only the driver knows them, and some repeat keys.
    let arguments = arguments
        .split(',')
        .filter(|argument| !argument.is_empty())
        .map(|argument| argument.split_once('=').unwrap_or((argument, "")))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    Ok(Kind::Vdev { name: name.to_owned(), arguments })
}

/// The driver that DPDK chooses for a virtual device by its name: `net_af_xdp` for `net_af_xdp3`.
pub fn driver_of(device: &str) -> String {
    let stem = device.trim_end_matches(|c: char| c.is_ascii_digit());
    match stem.strip_prefix("eth_") {
        Some(old) => format!("net_{old}"),
        None if stem == "virtio_user" => "net_virtio_user".to_owned(),
        None => stem.to_owned(),
    }
}

/// `0000:03:00.0` or `03:00.0`, with its domain.
pub fn pci_address(text: &str) -> Option<String> {
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
    // The kernel writes a domain with at least four digits.
    let domain = || format!("{:0>4}", domain.trim_start_matches('0'));
    legal.then(|| format!("{}:{bus}:{slot}.{function}", domain()).to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Kind {
        PortName::parse(text).unwrap_or_else(|error| panic!("{error}")).kind
    }

    #[test]
    fn every_form_is_understood() {
        let veth0 = || "veth0".to_owned();
        assert_eq!(kind("null"), Kind::Null);
        assert!(matches!(kind("ring:lab.b"), Kind::Ring(_)));
        assert_eq!(kind("veth0"), Kind::AfPacket { interface: veth0() });
        assert_eq!(kind("afpacket:veth0"), Kind::AfPacket { interface: veth0() });
        assert_eq!(kind("afxdp:veth0"), Kind::AfXdp { interface: veth0(), live: false });
        assert_eq!(kind("xdp:veth0,start_queue=1"), Kind::AfXdp { interface: veth0(), live: true });
        assert_eq!(kind("tap:veth0"), Kind::Tap { interface: veth0() });
        let memif = |server| Kind::Memif { socket: "/run/x.sock".into(), server };
        assert_eq!(kind("memif:/run/x.sock"), memif(false));
        assert_eq!(kind("memif:/run/x.sock,server,id=3,rsize=11"), memif(true));
        assert_eq!(kind("memif:/run/x.sock,role=server"), memif(true));
        assert_eq!(kind("vhost:/v"), Kind::Vhost { socket: "/v".into(), server: true });
        assert_eq!(kind("vhost:/v,client=1"), Kind::Vhost { socket: "/v".into(), server: false });
        assert_eq!(kind("virtio:/v"), Kind::Virtio { socket: "/v".into(), server: false });
        assert_eq!(kind("virtio:/v,server=1"), Kind::Virtio { socket: "/v".into(), server: true });
        assert_eq!(kind("pcap:a,"), Kind::Pcap { rx: "a".into(), tx: String::new() });
        assert_eq!(kind("pcap:,b"), Kind::Pcap { rx: String::new(), tx: "b".into() });
        assert_eq!(kind("0000:03:00.0"), Kind::Pci { address: "0000:03:00.0".into() });
        assert_eq!(kind("00000000:03:00.0"), Kind::Pci { address: "0000:03:00.0".into() });
        assert_eq!(kind("AB:1f.7"), Kind::Pci { address: "0000:ab:1f.7".into() });
        assert_eq!(kind("vdev:net_ring0"), Kind::Vdev { name: "net_ring0".into(), arguments: Vec::new() });
    }

    #[test]
    fn malformed_names_say_what_the_forms_are() {
        for text in [
            "",
            "a name",
            "afxdp:",
            "afxdp:a=b",
            "tap:averyverylongname",
            "memif:",
            "memif:/x,,",
            "memif:/x,what",
            "memif:/x,id=1,id=2",
            "memif:/x,wait=soon",
            "memif:/x,wait=301",
            "memif:/x,wait=18446744073709551615",
            "memif:/x,wait=99999999999999999999",
            "memif:/x y",
            "memif:/x=y",
            "memif:/x,id",
            "vhost:",
            "virtio:/x,queue_size=1000",
            "pcap:",
            "pcap:,",
            "ring:c",
            "vdev:",
            "vdev:crypto_null0",
            "vdev:net_",
            "vdev:Net_ring0",
            "vdev:net_ring0,a\0b",
            "0000:03:00.8:1",
        ] {
            let error = PortName::parse(text).expect_err(text);
            assert_eq!(error.kind, PortErrorKind::Name, "{text}");
            assert!(text.starts_with("ring") || error.remedy.contains("memif:SOCKET[,server]"), "{error}");
        }
    }

    #[test]
    fn no_option_names_another_port() {
        for text in [
            "veth0,iface=lo",
            "afxdp:veth0,iface=lo",
            "afxdp:veth0,xdp_prog=/x",
            "tap:t0,iface=lo",
            "tap:t0,remote=eth0",
            "tap:t0,persist",
            "memif:/x,socket=/y",
            "memif:/x,socket-abstract=yes",
            "vhost:/x,iface=/etc/passwd",
            "virtio:/x,path=/y",
            "virtio:/x,iface=lo",
            "pcap:a,b,rx_iface=lo",
            "pcap:a,b,iface=lo",
        ] {
            let error = PortName::parse(text).expect_err(text);
            assert!(error.reason.contains("is not an option of"), "{error}");
            assert!(error.remedy.contains("its options are"), "{error}");
        }
    }

    #[test]
    fn a_name_prints_as_its_canonical_form() {
        for (text, canonical) in [
            ("veth0", "afpacket:veth0"),
            ("veth0,qdisc_bypass,framecnt=512", "afpacket:veth0,framecnt=512,qdisc_bypass=1"),
            ("memif:/x,wait=5,id=07,server", "memif:/x,server=1,id=7"),
            ("memif:/x,role=slave,zero-copy", "memif:/x,zero-copy=yes"),
            ("vhost:/x,client,wait=0", "vhost:/x,client=1,wait=0"),
            ("virtio:/x,mac=02:00:00:00:00:AB", "virtio:/x,mac=02:00:00:00:00:ab"),
            ("03:00.0", "0000:03:00.0"),
            ("pcap:,out", "pcap:,out"),
            ("vdev:net_pcap0,rx_pcap=a,,rx_pcap=b,x", "vdev:net_pcap0,rx_pcap=a,rx_pcap=b,x"),
            ("ring:lab.a", "ring:lab.a"),
            ("ring:.a", "ring:a"),
        ] {
            let name = PortName::parse(text).unwrap();
            assert_eq!(name.to_string(), canonical);
            assert_eq!(PortName::parse(canonical).unwrap(), name);
        }
    }
}
