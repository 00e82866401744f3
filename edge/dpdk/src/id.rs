//! Which port a port string means on this machine.
//!
//! One port has many names: an interface has alternative ones, a PCI address can leave its domain out, a path can take
//! detours. [`PortId`] is what all of them come to, and what everything that decides about a port knows: allow-lists,
//! leases, guards, and the opening itself.
//!
//! Not here: whether the port can be used; see `checks`.
//!
//! Invariants:
//! - `open` takes ids and gives drivers only their content, so that no other device is opened.
//! - Resolving the canonical string ([`PortId::device`]) again gives the same id, as long as the machine does not change.

use os::link::{self, Links};
use port::name::{Kind, driver_of, is_interface_name, is_path, pci_address};
use port::{PortError, PortErrorKind, PortName};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

/// `sun_path` has 108 bytes with the closing zero; drivers cut what is longer.
const SOCKET_PATH_MAX: usize = 107;

/// A port string, and what it means on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortId {
    /// As the user wrote it.
    text: String,
    /// The same with canonical names of interfaces and paths.
    name: PortName,
    /// Kernel interfaces that it takes over, makes, or sends through.
    interfaces: Vec<Interface>,
    /// Its other identities, each in its canonical form.
    things: BTreeSet<String>,
}

/// A kernel interface by names that do not depend on the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its canonical name.
    pub name: String,
    /// Its number in this network namespace; `None` if it is not there.
    pub index: Option<u32>,
    /// Whether it is the loopback interface.
    pub loopback: bool,
}

impl Interface {
    fn is(&self, other: &Self) -> bool {
        self.name == other.name || (self.index.is_some() && self.index == other.index)
    }
}

impl PortId {
    /// Resolves `text` in the calling thread's network namespace and working directory.
    ///
    /// # Errors
    /// It is not a port string, or the machine's data can't be read.
    pub fn resolve(text: &str) -> Result<Self, PortError> {
        Self::resolve_in(text, None)
    }

    /// As [`resolve`](Self::resolve); paths of sockets that are not absolute lead into the folder `sockets`.
    ///
    /// # Errors
    /// It is not a port string, or the machine's data can't be read.
    pub fn resolve_in(text: &str, sockets: Option<&Path>) -> Result<Self, PortError> {
        let name = PortName::parse(text)?;
        let mut resolver = Resolver { text, interfaces: Vec::new(), things: BTreeSet::new() };
        let PortName { kind, options, wait } = name;
        let kind = match kind {
            Kind::Null => Kind::Null,
            Kind::Ring(name) => {
                resolver.things.insert(name.to_string());
                Kind::Ring(name)
            }
            Kind::AfPacket { interface } => Kind::AfPacket { interface: resolver.interface(&interface)? },
            Kind::AfXdp { interface, live } => {
                Kind::AfXdp { interface: resolver.interface(&interface)?, live }
            }
            Kind::Tap { interface } => Kind::Tap { interface: resolver.interface(&interface)? },
            kind @ (Kind::Memif { .. } | Kind::Vhost { .. } | Kind::Virtio { .. }) => {
                let path = kind.socket().unwrap_or_default();
                let path = sockets.map_or_else(|| PathBuf::from(path), |folder| folder.join(path));
                let path = resolver.socket(&path)?;
                kind.with_socket(path)
            }
            Kind::Pcap { rx, tx } => {
                let mut file = |file: String| match file.as_str() {
                    "" => Ok(file),
                    file => resolver.path(Path::new(file)),
                };
                Kind::Pcap { rx: file(rx)?, tx: file(tx)? }
            }
            Kind::Pci { address } => {
                resolver.card(&address)?;
                Kind::Pci { address }
            }
            Kind::Vdev { name, arguments } => {
                let driver = driver_of(&name);
                let is_abstract =
                    arguments.iter().all(|(key, value)| key != "socket-abstract" || value != "no");
                let arguments = arguments.into_iter().map(|(key, value)| {
                    let value = resolver.argument(&driver, &key, value, is_abstract)?;
                    Ok((key, value))
                });
                let arguments = arguments.collect::<Result<_, PortError>>()?;
                resolver.things.insert(format!("vdev:{name}"));
                Kind::Vdev { name, arguments }
            }
        };
        let Resolver { interfaces, things, .. } = resolver;
        Ok(Self { text: text.to_owned(), name: PortName { kind, options, wait }, interfaces, things })
    }

    /// As the user wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The canonical port string, options included.
    pub fn device(&self) -> String {
        self.name.to_string()
    }

    /// The canonical port string without options: `afxdp:veth0`, `memif:/run/x.sock`.
    pub fn plain(&self) -> String {
        let kind = match self.name.kind.clone() {
            Kind::Memif { socket, .. } => Kind::Memif { socket, server: false },
            Kind::Vhost { socket, .. } => Kind::Vhost { socket, server: true },
            Kind::Virtio { socket, .. } => Kind::Virtio { socket, server: false },
            Kind::Vdev { name, .. } => Kind::Vdev { name, arguments: Vec::new() },
            kind => kind,
        };
        PortName { kind, options: Vec::new(), wait: port::name::PEER_WAIT }.to_string()
    }

    /// Display name: the interface, for any driver; otherwise as [`plain`](Self::plain).
    pub fn label(&self) -> String {
        self.kernel_interface().map_or_else(|| self.plain(), |interface| interface.name.clone())
    }

    /// Content of the canonical string.
    pub fn kind(&self) -> &Kind {
        &self.name.kind
    }

    /// The port string's parts.
    pub fn name(&self) -> &PortName {
        &self.name
    }

    /// The kernel interface it opens, by AF_PACKET or AF_XDP.
    pub fn kernel_interface(&self) -> Option<&Interface> {
        match self.name.kind {
            Kind::AfPacket { .. } | Kind::AfXdp { .. } => self.interfaces.first(),
            _ => None,
        }
    }

    /// All kernel interfaces that it takes over, makes, or sends through.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Whether both mean the same port, or share a part of it: an interface, a card, a socket, a file.
    pub fn overlaps(&self, other: &Self) -> bool {
        let nulls = matches!((&self.name.kind, &other.name.kind), (Kind::Null, Kind::Null));
        nulls || self.shares_interface(other) || !self.things.is_disjoint(&other.things)
    }

    /// Whether all that it is belongs to one of `ports`.
    pub fn is_within(&self, ports: &[Self]) -> bool {
        let has_interface =
            |own: &Interface| ports.iter().any(|port| port.interfaces.iter().any(|its| its.is(own)));
        let has_thing = |thing: &String| ports.iter().any(|port| port.things.contains(thing));
        ports.iter().any(|port| port.overlaps(self))
            && self.interfaces.iter().all(has_interface)
            && self.things.iter().all(has_thing)
    }

    /// Whether both go through the same kernel interface.
    pub fn shares_interface(&self, other: &Self) -> bool {
        self.interfaces.iter().any(|own| other.interfaces.iter().any(|its| own.is(its)))
    }
}

/// Kind of name in a driver's argument.
enum Names {
    Interface,
    File,
    Socket,
    Device,
}

/// Arguments that identify the port for a driver.
fn names(driver: &str, key: &str) -> Option<Names> {
    Some(match (driver, key) {
        (
            "net_af_packet" | "net_af_xdp" | "net_tap" | "net_tun" | "net_vdev_netvsc" | "net_virtio_user",
            "iface",
        ) => Names::Interface,
        ("net_tap" | "net_tun", "remote") => Names::Interface,
        ("net_pcap", "iface" | "rx_iface" | "rx_iface_in" | "tx_iface") => Names::Interface,
        ("net_pcap", "rx_pcap" | "tx_pcap") | ("net_af_xdp", "xdp_prog" | "dp_path") => Names::File,
        ("net_vhost", "iface") | ("net_memif", "socket") | ("net_virtio_user", "path") => Names::Socket,
        ("net_bonding", "slave" | "member" | "primary") => Names::Device,
        _ => return None,
    })
}

/// Collects what a port string means.
struct Resolver<'a> {
    text: &'a str,
    interfaces: Vec<Interface>,
    things: BTreeSet<String>,
}

impl Resolver<'_> {
    fn error(&self, kind: PortErrorKind, reason: String) -> PortError {
        PortError::new(self.text, kind, reason, "")
    }

    fn unreadable(&self, error: &io::Error) -> PortError {
        self.error(PortErrorKind::Resource, format!("the kernel's interfaces can't be read: {error}"))
    }

    /// Canonical name of an interface. One that is not there keeps its name.
    fn interface(&mut self, name: &str) -> Result<String, PortError> {
        let mut links = Links::open().map_err(|error| self.unreadable(&error))?;
        let interface = match links.by_any_name(name) {
            Ok(link) => Interface { name: link.name, index: Some(link.index), loopback: link.loopback },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Interface { name: name.to_owned(), index: None, loopback: false }
            }
            Err(error) => return Err(self.unreadable(&error)),
        };
        let canonical = interface.name.clone();
        // The kernel allows more than a driver understands.
        if !is_interface_name(&canonical) {
            let reason = format!("DPDK's drivers don't accept the interface's name '{canonical}'");
            return Err(self.error(PortErrorKind::State, reason));
        }
        if !self.interfaces.iter().any(|known| known.is(&interface)) {
            self.interfaces.push(interface);
        }
        Ok(canonical)
    }

    /// Takes note of a card and the interfaces of the kernel that are its.
    fn card(&mut self, address: &str) -> Result<(), PortError> {
        self.things.insert(address.to_owned());
        let links = link::list().map_err(|error| self.unreadable(&error))?;
        for link in links.into_iter().filter(|link| link.device.as_deref() == Some(address)) {
            self.interfaces.push(Interface {
                name: link.name,
                index: Some(link.index),
                loopback: link.loopback,
            });
        }
        Ok(())
    }

    /// Canonical path of a file or socket, whether it is there or not.
    fn path(&mut self, path: &Path) -> Result<String, PortError> {
        let unusable = |reason: String| self.error(PortErrorKind::State, reason);
        let canonical = canonical_path(path)
            .map_err(|error| unusable(format!("the path {} can't be resolved: {error}", path.display())))?;
        let text = canonical.to_str().filter(|text| is_path(text)).map(str::to_owned);
        let text = text.ok_or_else(|| {
            unusable(format!(
                "{} leads to {}, and DPDK gives a meaning to spaces, quotes, brackets and '=' in a path",
                path.display(),
                canonical.display()
            ))
        })?;
        self.things.insert(text.clone());
        Ok(text)
    }

    fn socket(&mut self, path: &Path) -> Result<String, PortError> {
        let path = self.path(path)?;
        if path.len() <= SOCKET_PATH_MAX {
            return Ok(path);
        }
        Err(PortError::new(
            self.text,
            PortErrorKind::Name,
            format!("the path of a socket may have {SOCKET_PATH_MAX} bytes, and {path} has {}", path.len()),
            "use a shorter one",
        ))
    }

    /// The value of a driver's argument, canonical if it identifies the port.
    fn argument(
        &mut self,
        driver: &str,
        key: &str,
        value: String,
        is_abstract: bool,
    ) -> Result<String, PortError> {
        let Some(names) = names(driver, key) else { return Ok(value) };
        let legal = match names {
            Names::Interface => is_interface_name(&value),
            _ => is_path(&value),
        };
        if !legal {
            let reason = format!("the argument '{key}' of {driver} can't be '{value}'");
            return Err(self.error(PortErrorKind::Name, reason));
        }
        match names {
            Names::Interface => self.interface(&value),
            Names::File => self.path(Path::new(&value)),
            // In the abstract namespace, which is this driver's default.
            Names::Socket if driver == "net_memif" && is_abstract => {
                self.things.insert(format!("@{value}"));
                Ok(value)
            }
            Names::Socket => self.socket(Path::new(&value)),
            Names::Device => {
                let Some(address) = pci_address(&value) else {
                    self.things.insert(format!("vdev:{value}"));
                    return Ok(value);
                };
                self.card(&address)?;
                Ok(address)
            }
        }
    }
}

/// The path without detours: symbolic links followed as far as there is something, `.` and `..` gone.
fn canonical_path(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        known => return known,
    }
    let absolute = std::path::absolute(path)?;
    // `..` behind something that is not there has no meaning, and a name is needed.
    let Some(name) =
        absolute.file_name().filter(|_| absolute.components().next_back() != Some(Component::ParentDir))
    else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let folder = absolute.parent().map(Path::to_owned).unwrap_or_else(|| PathBuf::from("/"));
    let folder = match folder.canonicalize() {
        Ok(folder) => folder,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = canonical_path(&folder)?;
            if folder.components().any(|part| part.as_os_str() == OsStr::new("..")) {
                return Err(io::ErrorKind::NotFound.into());
            }
            folder
        }
        Err(error) => return Err(error),
    };
    Ok(folder.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice::from_ref;

    fn id(text: &str) -> PortId {
        PortId::resolve(text).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn one_port_has_one_id_whatever_it_is_called() {
        let folder = std::env::temp_dir().join(format!("dpdk-id-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("deep")).unwrap();
        let _ = std::os::unix::fs::symlink(&folder, folder.join("deep/back"));
        let at = folder.canonicalize().unwrap().display().to_string();
        for (one, other) in [
            ("03:00.0".to_owned(), "0000:03:00.0".to_owned()),
            ("lo".to_owned(), "afxdp:lo,force_copy".to_owned()),
            ("lo".to_owned(), "tap:lo".to_owned()),
            ("lo".to_owned(), "vdev:net_af_packet0,iface=lo".to_owned()),
            ("nowhere0".to_owned(), "vdev:net_pcap3,rx_iface=nowhere0".to_owned()),
            ("lo".to_owned(), "vdev:eth_af_packet7,iface=lo".to_owned()),
            ("0000:03:00.0".to_owned(), "vdev:net_bonding0,mode=1,slave=03:00.0".to_owned()),
            (format!("memif:{at}/x.sock"), format!("memif:{at}//x.sock,server")),
            (
                format!("memif:{at}/x.sock"),
                format!("memif:{at}/deep/back/../{}/./x.sock", folder.file_name().unwrap().to_str().unwrap()),
            ),
            (format!("vhost:{at}/x.sock"), format!("virtio:{at}/deep/back/x.sock,wait=1")),
            (format!("vhost:{at}/x.sock"), format!("vdev:net_vhost0,iface={at}/./x.sock")),
            (format!("pcap:{at}/in,"), format!("pcap:,{at}/deep/../in")),
            ("ring:a".to_owned(), "ring:.a".to_owned()),
            ("null".to_owned(), "null".to_owned()),
        ] {
            assert!(id(&one).overlaps(&id(&other)) && id(&other).overlaps(&id(&one)), "{one} {other}");
            for text in [&one, &other] {
                let (first, second) = (id(text), id(&id(text).device()));
                assert_eq!(
                    (first.device(), &first.interfaces, &first.things),
                    (second.device(), &second.interfaces, &second.things),
                    "{text}"
                );
            }
        }
        for (one, other) in
            [("ring:a", "ring:b"), ("lo", "nowhere0"), ("03:00.0", "03:00.1"), ("memif:/x", "memif:/y")]
        {
            assert!(!id(one).overlaps(&id(other)), "{one} {other}");
        }
        let (both, one) = (id(&format!("pcap:{at}/in,{at}/out")), id(&format!("pcap:{at}/in,")));
        assert!(one.is_within(from_ref(&both)) && !both.is_within(from_ref(&one)) && both.overlaps(&one));
        assert!(id("null").is_within(&[id("null")]) && !id("null").is_within(&[one]));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn labels_are_what_people_call_a_port() {
        let labels = [
            "veth7",
            "afxdp:veth7",
            "tap:veth7",
            "memif:/no/x,server,id=2",
            "virtio:/no/x,server=1",
            "vdev:net_ring0,a=b",
        ];
        let told: Vec<String> = labels.iter().map(|text| id(text).label()).collect();
        assert_eq!(told, ["veth7", "veth7", "tap:veth7", "memif:/no/x", "virtio:/no/x", "vdev:net_ring0"]);
        assert!(id("lo").interfaces()[0].loopback);
        let folder = Path::new("/no/such");
        assert_eq!(
            PortId::resolve_in("memif:x.sock", Some(folder)).unwrap().label(),
            "memif:/no/such/x.sock"
        );
    }

    #[test]
    fn what_a_driver_would_read_otherwise_is_refused() {
        let long = format!("memif:/{}", "x".repeat(110));
        for text in
            ["vdev:net_af_packet0,iface=[lo]", "vdev:net_vhost0,iface=", long.as_str(), "memif:/no/../.."]
        {
            assert!(PortId::resolve(text).is_err(), "{text}");
        }
    }
}
