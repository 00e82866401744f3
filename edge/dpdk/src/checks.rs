//! Checks of a device without touching it: existence, usability and permission.
//!
//! Each check ends in a sentence and what to do; drivers only have numbers.

use crate::device::{Device, Kind};
use crate::open::{ETHERNET_BYTES, LOOK_EVERY, VLAN_BYTES};
use os::link::Links;
use os::open_interface::OpenInterface;
use port::{PortError, PortErrorKind, PortRequest};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time for an interface to come up.
const CARRIER_WAIT: Duration = Duration::from_secs(2);

/// Whether an interface is there, up, connected and large enough, and free for what is wanted.
pub(crate) fn check_interface(
    device: &Device,
    name: &str,
    request: PortRequest,
) -> Result<OpenInterface, PortError> {
    let text = &device.text;
    let error = |kind, reason: String, remedy: String| PortError::new(text, kind, reason, remedy);
    let resource = |e: std::io::Error| {
        error(PortErrorKind::Resource, format!("the kernel's interfaces can't be read: {e}"), String::new())
    };
    let mut links = Links::open().map_err(resource)?;
    let mut interface = match links.by_name(name) {
        Ok(interface) => interface,
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let all: Vec<String> = links.all().map_err(resource)?.into_iter().map(|i| i.name).collect();
            return Err(error(
                PortErrorKind::Missing,
                format!("there is no interface {name}"),
                format!("the interfaces here are: {}", all.join(", ")),
            ));
        }
        Err(e) => return Err(resource(e)),
    };
    check_privilege(device)?;
    if !interface.up {
        return Err(error(
            PortErrorKind::State,
            format!("the interface {name} is down"),
            format!("ip link set {name} up"),
        ));
    }
    let mtu_needed = request.frame_len_max.saturating_sub(ETHERNET_BYTES);
    // The kernel lets one VLAN tag pass beyond the MTU.
    if interface.mtu + VLAN_BYTES < mtu_needed {
        return Err(error(
            PortErrorKind::State,
            format!(
                "frames of {} bytes need an MTU of {mtu_needed}, and {name} has {}",
                request.frame_len_max, interface.mtu
            ),
            format!("ip link set {name} mtu {mtu_needed}"),
        ));
    }
    let deadline = Instant::now() + CARRIER_WAIT;
    while !interface.running {
        if Instant::now() >= deadline {
            return Err(error(
                PortErrorKind::State,
                format!("{name} has no carrier: its cable is out, or its peer is down"),
                "set the other end up too".to_owned(),
            ));
        }
        std::thread::sleep(LOOK_EVERY);
        interface = links.by_name(name).map_err(resource)?;
    }
    if let Kind::AfXdp { .. } = device.kind {
        afxdp::clear_leftover(text, &mut links, &interface)?;
    }
    OpenInterface::new(links, interface).map_err(resource)
}

/// Whether this process may open the sockets the driver needs.
fn check_privilege(device: &Device) -> Result<(), PortError> {
    let (family, capabilities) = match device.kind {
        Kind::AfXdp { .. } => (AddressFamily::XDP, "CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF"),
        _ => (AddressFamily::PACKET, "CAP_NET_RAW"),
    };
    let error = match net::socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, None) {
        Ok(_) => return Ok(()),
        Err(error) => error,
    };
    Err(match error {
        Errno::PERM | Errno::ACCESS => PortError::new(
            &device.text,
            PortErrorKind::Privilege,
            "this process may not open such a socket",
            format!("run as root, or with {capabilities}"),
        ),
        _ => PortError::new(
            &device.text,
            PortErrorKind::Driver,
            format!("the kernel has no such sockets: {error}"),
            "",
        ),
    })
}

/// Checks of other devices without touching them.
pub(crate) fn check_machine(device: &Device) -> Result<(), PortError> {
    match &device.kind {
        Kind::Pci { address } => check_pci(&device.text, address),
        Kind::Tap { .. } => check_tap(&device.text),
        Kind::Pcap { rx, .. } if !rx.is_empty() && !Path::new(rx).exists() => {
            Err(PortError::new(&device.text, PortErrorKind::Missing, format!("there is no file {rx}"), ""))
        }
        Kind::Memif { socket, server: true } => {
            check_server_socket(&device.text, socket, SocketType::SEQPACKET)
        }
        Kind::Vhost { socket, server: true } | Kind::Virtio { socket, server: true } => {
            check_server_socket(&device.text, socket, SocketType::STREAM)
        }
        _ => Ok(()),
    }
}

/// Checks the path of a server's socket: the folder must exist, and no process may listen. The socket of a killed
/// process is removed.
fn check_server_socket(text: &str, socket: &str, socket_type: SocketType) -> Result<(), PortError> {
    let error = |kind, reason: String, remedy: &str| Err(PortError::new(text, kind, reason, remedy));
    let path = Path::new(socket);
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            let reason = format!("there is no folder {} for the socket", folder.display());
            return error(PortErrorKind::Missing, reason, "make it first");
        }
        _ => {}
    }
    let Ok(there) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if !there.file_type().is_socket() {
        let reason = format!("{socket} is there and is not a socket");
        return error(PortErrorKind::State, reason, "use another path");
    }
    if connect_error(path, socket_type) != Some(Errno::CONNREFUSED) {
        let reason = format!("another process listens at {socket}");
        return error(PortErrorKind::State, reason, "use another path, or be its client");
    }
    match std::fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(e) => error(PortErrorKind::State, format!("the dead socket {socket} can't be removed: {e}"), ""),
    }
}

/// Connects to a socket and leaves at once; why not, if that fails.
fn connect_error(path: &Path, socket_type: SocketType) -> Option<Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let connect = || {
        let socket = net::socket_with(AddressFamily::UNIX, socket_type, flags, None)?;
        net::connect(&socket, &SocketAddrUnix::new(path)?)
    };
    connect().err()
}

fn check_tap(text: &str) -> Result<(), PortError> {
    let tun = std::fs::OpenOptions::new().read(true).write(true).open("/dev/net/tun");
    let denied = |reason: String| {
        Err(PortError::new(text, PortErrorKind::Privilege, reason, "run as root, or with CAP_NET_ADMIN"))
    };
    match tun {
        Ok(_) if has_net_admin() => Ok(()),
        Ok(_) => denied("this process may not make an interface".to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            denied(format!("/dev/net/tun can't be opened: {error}"))
        }
        Err(error) => Err(PortError::new(
            text,
            PortErrorKind::Driver,
            format!("/dev/net/tun can't be opened: {error}"),
            "modprobe tun",
        )),
    }
}

fn has_net_admin() -> bool {
    const CAP_NET_ADMIN: u32 = 12;
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    effective.is_none_or(|set| set & (1 << CAP_NET_ADMIN) != 0)
}

/// Kernel drivers that DPDK can work with.
const SHARING_DRIVERS: [&str; 3] = ["mlx4_core", "mlx5_core", "mana"];

/// Kernel drivers that hand a device to a process.
const USER_DRIVERS: [&str; 3] = ["vfio-pci", "igb_uio", "uio_pci_generic"];

fn check_pci(text: &str, address: &str) -> Result<(), PortError> {
    let error = |kind, reason: String, remedy: String| Err(PortError::new(text, kind, reason, remedy));
    let folder = PathBuf::from("/sys/bus/pci/devices").join(address);
    if !folder.exists() {
        let all = network_cards();
        let remedy = match all.is_empty() {
            true => "this machine has no network card on the PCI bus".to_owned(),
            false => format!("the network cards here are: {}", all.join(", ")),
        };
        return error(PortErrorKind::Missing, format!("there is no PCI device {address}"), remedy);
    }
    if !is_network_card(&folder) {
        return error(
            PortErrorKind::Missing,
            format!("the PCI device {address} is not a network card"),
            String::new(),
        );
    }
    let bind =
        format!("dpdk-devbind.py --bind=vfio-pci {address}, or: driverctl set-override {address} vfio-pci");
    let Ok(driver) = std::fs::read_link(folder.join("driver")) else {
        return error(PortErrorKind::State, format!("no driver is bound to {address}"), bind);
    };
    let driver = driver.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if SHARING_DRIVERS.contains(&driver.as_str()) {
        return Ok(());
    }
    if !USER_DRIVERS.contains(&driver.as_str()) {
        let reason = format!("{address} belongs to the kernel's driver {driver}, and DPDK can't use it");
        return error(PortErrorKind::State, reason, bind);
    }
    if driver == "vfio-pci" && std::fs::File::open("/dev/vfio/vfio").is_err() {
        let reason = "/dev/vfio/vfio can't be opened".to_owned();
        return error(
            PortErrorKind::Privilege,
            reason,
            "run as root, or let the group's device be yours".to_owned(),
        );
    }
    Ok(())
}

/// PCI class 02: network controller.
fn is_network_card(folder: &Path) -> bool {
    std::fs::read_to_string(folder.join("class")).is_ok_and(|class| class.starts_with("0x02"))
}

fn network_cards() -> Vec<String> {
    let all = std::fs::read_dir("/sys/bus/pci/devices").into_iter().flatten().flatten();
    let mut cards: Vec<String> = all
        .filter(|entry| is_network_card(&entry.path()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    cards.sort();
    cards
}
