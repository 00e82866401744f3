//! From a port id to an open port: what can be checked beforehand is checked first, because the drivers' own
//! errors are a number.
//!
//! Invariant: opening ends. Every wait for another process is bounded, can be cancelled, and releases EAL meanwhile.

use crate::checks::{check_interface, check_machine};
use crate::device::{Device, EalDevice, Kind, is_of_dpdk};
use crate::eal::{self, Lease, Needs};
use crate::ffi;
use crate::id::{Interface, PortId};
use crate::library;
use crate::memory_files::MemoryFiles;
use crate::pool::{Pool, Shape};
use crate::queue::{DpdkPort, DpdkRx, DpdkTx, DropCounts, Opened};
use crate::sockets::{self, Socket};
use crate::thread::{self, Awake, Shielded};
use crate::watchdog;
use os::interface_lock::{InterfaceLock, LockError};
use os::open_interface::OpenInterface;
use port::null::NullPort;
use port::{Port, PortError, PortErrorKind, PortFacts, PortRequest, Queues, RxQueue, TxQueue};
use std::ffi::{CStr, CString, c_int};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Bytes of Ethernet header and FCS: a frame of L bytes needs an MTU of L − 18.
pub(crate) const ETHERNET_BYTES: u32 = 18;

/// Bytes of one VLAN tag, which the kernel lets pass beyond the MTU.
pub(crate) const VLAN_BYTES: u32 = 4;

/// Bytes of the frame check sequence.
pub(crate) const FCS_BYTES: u32 = 4;

/// Descriptors of a hardware or virtual queue.
const DESCRIPTORS: u16 = 1024;

/// Descriptors of a queue of DPDK's AF_XDP driver, which fills the kernel's ring with this number of buffers regardless
/// of its argument.
const XDP_DESCRIPTORS: u16 = 2048;

/// Frames in a pool in addition to those in descriptors: two lcores' caches, and a few bursts under way.
const FRAMES_BESIDE: u32 = 1024;

/// Retry interval of a memif client: a server that listens but is not ready yet refuses, and the driver does not retry.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(250);

/// Interval of checks while waiting.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Opens ports; see [`open_all`](crate::open_all).
pub(crate) fn open(
    devices: &[(PortId, PortRequest)],
    cancelled: &mut dyn FnMut() -> bool,
) -> Result<Vec<Box<dyn Port>>, PortError> {
    let mut plans = Vec::with_capacity(devices.len());
    for (id, request) in devices {
        plans.push(Plan::new(id, *request)?);
    }
    // These need no DPDK; all others are opened together.
    let mut ports: Vec<Option<Box<dyn Port>>> = Vec::with_capacity(plans.len());
    let mut others = Vec::new();
    for mut plan in plans {
        match (&plan.device.kind, plan.interface.take()) {
            (Kind::AfPacket { .. }, Some(interface)) => ports.push(Some(plan.open_packet(interface)?)),
            (Kind::AfXdp { live, .. }, Some(interface)) => {
                let live = *live;
                ports.push(Some(plan.open_xdp(live, interface, cancelled)?));
            }
            (Kind::Null, _) => {
                ports.push(Some(Box::new(NullPort::open(&plan.device.text, plan.request)?)));
            }
            (_, interface) => {
                plan.interface = interface;
                ports.push(None);
                others.push(plan);
            }
        }
    }
    let mut others = open_dpdk(others, cancelled)?.into_iter();
    // Once all are open: the receiving end may be one of them.
    for (id, _) in devices {
        if let (Kind::AfXdp { live: true, .. }, Some(interface)) = (id.kind(), id.kernel_interface()) {
            let index = interface.index.unwrap_or_default();
            afxdp::check_peer(id.text(), &interface.name, index)?;
        }
    }
    Ok(ports.into_iter().filter_map(|port| port.or_else(|| others.next())).collect())
}

/// Opens ports of DPDK.
fn open_dpdk(plans: Vec<Plan>, cancelled: &mut dyn FnMut() -> bool) -> Result<Vec<Box<dyn Port>>, PortError> {
    let needs = plans.iter().fold(Needs::default(), |needs, plan| Needs {
        pci: needs.pci || matches!(plan.device.kind, Kind::Pci { .. }),
        bytes: needs.bytes + plan.shapes().map(Shape::eal_bytes).sum::<u64>(),
    });
    let Some(first) = plans.first() else { return Ok(Vec::new()) };
    // From the start until all have their peers.
    let _awake = Awake::new();
    let mut opening = Vec::with_capacity(plans.len());
    {
        let mut lease = Lease::take(&first.device.text, needs)?;
        for plan in plans {
            // On an error the lock must be free before the ports that were opened so far close themselves.
            match plan.start(&mut lease, cancelled) {
                Ok(port) => opening.push(port),
                Err(error) => {
                    drop(lease);
                    return Err(error);
                }
            }
        }
    }
    let finish = |port: Opening| port.finish(cancelled).map(|port| Box::new(port) as Box<dyn Port>);
    opening.into_iter().map(finish).collect()
}

/// Locks the interfaces of a port, or names the holder of one.
fn lock_interfaces(id: &PortId) -> Result<Vec<InterfaceLock>, PortError> {
    let there = id.interfaces().iter().filter_map(|interface| Some((interface, interface.index?)));
    let lock = |(interface, index): (&Interface, u32)| {
        let name = &interface.name;
        InterfaceLock::take(index).map_err(|error| match error {
            LockError::Held(process) => {
                let process = process.map_or_else(String::new, |process| format!(", process {process}"));
                let reason = format!("{name} is already in use by Eagre{process}");
                let remedy =
                    "two testers on one interface would take each other's packets; end the other one first";
                PortError::new(id.text(), PortErrorKind::State, reason, remedy)
            }
            LockError::Io(error) => {
                let reason = format!("{name} can't be locked against other testers: {error}");
                PortError::new(id.text(), PortErrorKind::Resource, reason, "")
            }
        })
    };
    there.map(lock).collect()
}

/// An error if a stop was requested.
fn unless_cancelled(device: &Device, cancelled: &mut dyn FnMut() -> bool) -> Result<(), PortError> {
    match cancelled() {
        true => Err(PortError::new(
            &device.text,
            PortErrorKind::State,
            "it was stopped while the port opened",
            "",
        )),
        false => Ok(()),
    }
}

/// Why a port did not start.
enum Failure {
    /// Nobody has connected to the socket so far.
    NobodyCame,
    Final(PortError),
}

impl From<PortError> for Failure {
    fn from(error: PortError) -> Self {
        Self::Final(error)
    }
}

/// A device string and what was found out about it without touching it.
struct Plan {
    device: Device,
    request: PortRequest,
    queues: u16,
    /// Of a port that needs no DPDK.
    interface: Option<OpenInterface>,
    /// Of all interfaces that the port takes over.
    locks: Vec<InterfaceLock>,
}

impl Plan {
    fn new(id: &PortId, request: PortRequest) -> Result<Self, PortError> {
        let device = Device::new(id);
        let locks = lock_interfaces(id)?;
        if is_of_dpdk(&device.kind) {
            let dpdk = library::open_for(&device.text)?;
            device.plugin().map(|plugin| eal::check_plugin(dpdk, &device.text, &plugin)).transpose()?;
        }
        let interface = device.interface().map(|name| check_interface(&device, name, request)).transpose()?;
        let known = id.kernel_interface().and_then(|interface| interface.index);
        if let (Some(known), Some(open)) = (known, &interface)
            && known != open.at_open.index
        {
            let reason = format!("{} has become another interface", open.at_open.name);
            return Err(PortError::new(id.text(), PortErrorKind::State, reason, "start again"));
        }
        check_machine(&device)?;
        Ok(Self { device, request, queues: request.queues.max(1), interface, locks })
    }

    /// Longest frame without FCS, with a VLAN tag, bytes.
    fn frame_bytes(&self) -> u32 {
        self.request.buffer_bytes() - FCS_BYTES + VLAN_BYTES
    }

    fn rx_shape(&self) -> Shape {
        if self.is_xdp() {
            // Buffers in the kernel's fill ring, copies of what is to be sent, and those beside.
            return Shape::umem(2 * u32::from(XDP_DESCRIPTORS) + FRAMES_BESIDE);
        }
        Shape::rx(self.in_flight() + FRAMES_BESIDE - 1, self.frame_bytes())
    }

    fn tx_shape(&self) -> Shape {
        Shape::tx(self.in_flight() + FRAMES_BESIDE - 1, self.frame_bytes())
    }

    /// Frames a queue's driver may hold on to.
    fn in_flight(&self) -> u32 {
        let ring = |key: &str, most: u32| {
            self.device.option(key).and_then(|v| v.parse::<u32>().ok()).map(|v| v.min(most))
        };
        match &self.device.kind {
            _ if self.device.is_zero_copy_memif() => 1 << ring("rsize", 14).unwrap_or(10),
            Kind::Virtio { .. } => ring("queue_size", 32_768).unwrap_or(1024),
            _ => u32::from(DESCRIPTORS),
        }
    }

    fn shapes(&self) -> impl Iterator<Item = Shape> + use<> {
        let both = [self.tx_shape(), self.rx_shape()];
        std::iter::repeat_n(both, usize::from(self.queues)).flatten()
    }

    /// Whether its driver is DPDK's for AF_XDP, a virtual device like any other.
    fn is_xdp(&self) -> bool {
        self.device.driver() == "net_af_xdp"
    }

    /// Opens it without DPDK.
    fn open_packet(self, interface: OpenInterface) -> Result<Box<dyn Port>, PortError> {
        let number = |key: &str| self.device.option(key).and_then(|value| value.parse::<u32>().ok());
        let is_on = |key: &str| number(key).map(|on| on != 0);
        let segmentation_offload = is_on("tso").unwrap_or(false);
        let options = packet::Options {
            slots: number("framecnt"),
            // Past the queueing discipline the kernel cuts no packets: it drops what the card does not take.
            bypass_qdisc: is_on("qdisc_bypass").unwrap_or(!segmentation_offload),
            segmentation_offload,
        };
        packet::open(&self.device.text, self.request, options, interface, self.locks)
    }

    /// The same of an AF_XDP port, `live` if it is one of `xdp:`.
    fn open_xdp(
        self,
        live: bool,
        interface: OpenInterface,
        cancelled: &mut dyn FnMut() -> bool,
    ) -> Result<Box<dyn Port>, PortError> {
        let number = |key: &str| self.device.option(key).and_then(|value| value.parse::<u32>().ok());
        let options = afxdp::Options {
            first_queue: number("start_queue").unwrap_or(0) as u16,
            copies: number("force_copy") == Some(1),
            busy_budget: number("busy_budget").filter(|budget| *budget > 0),
            live,
        };
        afxdp::open(&self.device.text, self.request, options, interface, self.locks, cancelled)
    }

    /// Makes EAL's device, configures and starts it.
    fn start(self, lease: &mut Lease, cancelled: &mut dyn FnMut() -> bool) -> Result<Opening, PortError> {
        let begun = Instant::now();
        loop {
            unless_cancelled(&self.device, cancelled)?;
            let socket = match self.device.kind {
                Kind::Virtio { .. } => self.device.kind.socket(),
                _ => None,
            };
            match watchdog::bounded(socket, || self.try_start(lease, cancelled)) {
                Ok((opened, facts, prepares)) => {
                    return Ok(Opening { plan: self, opened: Arc::new(opened), facts, prepares });
                }
                // The socket of the attempt before is dead, and goes.
                Err(Failure::NobodyCame) if begun.elapsed() < self.device.wait => {
                    check_machine(&self.device)?
                }
                Err(Failure::NobodyCame) => return Err(no_peer(&self.device)),
                Err(Failure::Final(error)) => return Err(error),
            }
            lease.rest(&self.device.text, LOOK_EVERY)?;
        }
    }

    fn try_start(
        &self,
        lease: &mut Lease,
        cancelled: &mut dyn FnMut() -> bool,
    ) -> Result<(Opened, PortFacts, bool), Failure> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let eal_device = self.device.for_eal(number, self.queues, self.request.frame_len_max);
        let sockets_before = if self.is_xdp() { sockets::open_now() } else { Vec::new() };
        lease.log();
        let begun = Instant::now();
        let mut opened = self.add(lease, &eal_device).map_err(|error| match self.device.kind {
            // The watchdog ended the wait for a peer.
            Kind::Virtio { server: true, .. } if begun.elapsed() >= watchdog::ACCEPT => Failure::NobodyCame,
            _ => Failure::Final(error),
        })?;
        opened.on_interrupt_thread = self.device.driver() == "net_memif";
        if self.device.is_zero_copy_memif() {
            if !eal::memory_has_no_gaps(lease.dpdk()) {
                opened.close(lease);
                return Err(Failure::Final(PortError::new(
                    &self.device.text,
                    PortErrorKind::State,
                    "zero-copy memif needs DPDK's memory in one piece, and ports that were opened before left gaps",
                    "open it together with the first ports, or without zero-copy",
                )));
            }
            opened.memory_files = MemoryFiles::keep();
        }
        match self.configure(lease, &mut opened, &sockets_before, cancelled) {
            Ok((facts, prepares)) => Ok((opened, facts, prepares)),
            Err(failure) => {
                // Here and not in its drop, which would wait for the lock that the lease holds.
                opened.close(lease);
                Err(failure)
            }
        }
    }

    fn add(&self, lease: &mut Lease, eal_device: &EalDevice) -> Result<Opened, PortError> {
        let [bus, name, arguments] =
            [eal_device.bus, eal_device.name.as_str(), eal_device.arguments.as_str()]
                .map(|part| CString::new(part).expect("a device string has no zero byte"));
        let (mut port, dpdk) = (0, lease.dpdk());
        // SAFETY: EAL runs and is locked; the strings outlive the calls.
        let code = unsafe {
            let code = dpdk.rte_eal_hotplug_add(bus.as_ptr(), name.as_ptr(), arguments.as_ptr());
            if code == 0 { dpdk.rte_eth_dev_get_port_by_name(name.as_ptr(), &mut port) } else { code }
        };
        if code != 0 {
            return Err(self.refusal(code, &lease.last_words()));
        }
        let mut opened = Opened::new(dpdk, port, bus, name, self.is_xdp());
        if let Kind::Virtio { socket, .. } = &self.device.kind {
            opened.peer_socket = Some(socket.clone());
        }
        // The driver keeps one socket for all ports at it, a server and its clients.
        if let Kind::Memif { socket, .. } = &self.device.kind {
            opened.listens_at = Some(socket.clone());
        }
        Ok(opened)
    }

    /// Why a driver did not take the device.
    fn refusal(&self, code: c_int, words: &str) -> PortError {
        let text = &self.device.text;
        let error = |kind, reason: String, remedy: &str| PortError::new(text, kind, reason, remedy);
        let driver = self.device.driver();
        match (&self.device.kind, -code) {
            (_, libc::EEXIST) => {
                error(PortErrorKind::State, "it is already open in this process".to_owned(), "open it once")
            }
            (_, libc::ENOMEM) => error(
                PortErrorKind::Resource,
                format!("DPDK has no memory left for it{words}"),
                "open all ports at once, or reserve huge pages: dpdk-hugepages.py --setup 1G",
            ),
            (Kind::Virtio { socket, server: false }, _) => error(
                PortErrorKind::Missing,
                format!("no process listens at {socket}{words}"),
                "start the vhost-user backend first, or let this end be the server: virtio:SOCKET,server=1",
            ),
            (Kind::Pcap { rx, tx }, _) => error(
                PortErrorKind::State,
                format!("a capture file can't be opened: read '{rx}', write '{tx}'{words}"),
                "",
            ),
            (Kind::Pci { address }, _) => error(
                PortErrorKind::Driver,
                format!("no driver of DPDK takes {address}, error {}{words}", -code),
                "dpdk-devbind.py --status identifies it; some cards need their own librte-net package",
            ),
            _ => error(
                PortErrorKind::State,
                format!("DPDK's driver {driver} refuses it, error {}{words}", -code),
                "set EAGRE_DPDK_LOG=debug to see DPDK's whole log",
            ),
        }
    }
}

impl Plan {
    /// Queues, pools, offloads and start. Returns the port's facts, and whether frames with checksum offload must be
    /// prepared.
    fn configure(
        &self,
        lease: &mut Lease,
        opened: &mut Opened,
        sockets_before: &[Socket],
        cancelled: &mut dyn FnMut() -> bool,
    ) -> Result<(PortFacts, bool), Failure> {
        let (dpdk, port) = (opened.dpdk, opened.port);
        let mut info = ffi::DeviceInfo::new();
        // SAFETY: an open port and a structure to fill.
        self.check(lease, "read its features", unsafe { dpdk.eagre_device_info(port, &mut info) })?;
        let queues = self.queues.min(info.rx_queues_max.max(1)).min(info.tx_queues_max.max(1));
        // SAFETY: both return constants.
        let (checksums, rss) = unsafe { (dpdk.eagre_checksum_offloads(), dpdk.eagre_rss_types() & info.rss) };
        let offloads = if info.tx_offloads & checksums == checksums { checksums } else { 0 };
        let rss = if queues > 1 { rss } else { 0 };
        // SAFETY: an open, stopped port.
        let code = unsafe { dpdk.eagre_configure(port, queues, queues, offloads, rss) };
        self.check(lease, &format!("take {queues} queues"), code)?;
        self.set_up_queues(lease, opened, queues, sockets_before)?;
        let mtu =
            (self.request.frame_len_max.max(1518) - ETHERNET_BYTES).min(u32::from(info.mtu_max.max(1500)));
        if !opened.is_xdp {
            // An interface of the kernel keeps its MTU; others may not support the call.
            // SAFETY: an open, stopped port.
            unsafe { dpdk.rte_eth_dev_set_mtu(port, mtu as u16) };
        }
        // It needs CAP_NET_ADMIN, which AF_XDP needs as well.
        opened.sockets.iter().for_each(|socket| drop(socket.send_freely()));
        self.start_device(lease, port, opened.on_interrupt_thread, cancelled)?;
        opened.started = true;
        // SAFETY: an open port. Not all have such a mode.
        opened.made_promiscuous = unsafe { dpdk.rte_eth_promiscuous_enable(port) } == 0;
        lease.log();
        Ok((self.facts(opened, &info, queues, rss != 0, offloads != 0), offloads != 0))
    }

    fn set_up_queues(
        &self,
        lease: &mut Lease,
        opened: &mut Opened,
        queues: u16,
        sockets_before: &[Socket],
    ) -> Result<(), Failure> {
        let (text, dpdk, port) = (&self.device.text, opened.dpdk, opened.port);
        let is_tap = matches!(self.device.kind, Kind::Tap { .. });
        let (mut rx, mut tx) =
            if opened.is_xdp { (XDP_DESCRIPTORS, XDP_DESCRIPTORS) } else { (DESCRIPTORS, DESCRIPTORS) };
        if let Kind::Virtio { .. } = self.device.kind {
            (rx, tx) = (self.in_flight() as u16, self.in_flight() as u16);
        }
        // SAFETY: an open, configured port; it only lowers or raises the numbers to what it can do.
        unsafe { dpdk.rte_eth_dev_adjust_nb_rx_tx_desc(port, &mut rx, &mut tx) };
        // SAFETY: as above.
        let node = unsafe { dpdk.rte_eth_dev_socket_id(port) } as u32;
        for queue in 0..queues {
            let pool = Pool::new(text, lease, self.rx_shape())?;
            let pool_for_driver = pool.raw();
            opened.rx_pools.push(pool);
            opened.tx_pools.push(Pool::new(text, lease, self.tx_shape())?);
            let taps_before = if is_tap { sockets::tap_queues_now() } else { Vec::new() };
            let none = std::ptr::null();
            // SAFETY: a queue below the number configured, and a pool that lives until the port is closed.
            let code = unsafe { dpdk.rte_eth_rx_queue_setup(port, queue, rx, node, none, pool_for_driver) };
            if opened.is_xdp {
                let is_known =
                    |socket: &Socket| sockets_before.contains(socket) || opened.sockets.contains(socket);
                let mut new = sockets::open_now();
                new.retain(|socket| !is_known(socket));
                opened.wakers.push(only(new.iter().map(|socket| socket.descriptor())));
                opened.sockets.extend(new);
            }
            if is_tap {
                let new = sockets::tap_queues_now().into_iter();
                opened.wakers.push(only(new.filter(|queue| !taps_before.contains(queue))));
            }
            self.check(lease, "set a queue up", code)?;
            // SAFETY: as above.
            let code = unsafe { dpdk.rte_eth_tx_queue_setup(port, queue, tx, node, none) };
            self.check(lease, "set a queue up", code)?;
        }
        Ok(())
    }

    /// Starts the device. A memif client is started again and again until its server is there.
    fn start_device(
        &self,
        lease: &mut Lease,
        port: u16,
        on_interrupt_thread: bool,
        cancelled: &mut dyn FnMut() -> bool,
    ) -> Result<(), PortError> {
        let (dpdk, client) = (lease.dpdk(), matches!(self.device.kind, Kind::Memif { server: false, .. }));
        let deadline = Instant::now() + self.device.wait;
        loop {
            // SAFETY: an open, configured port.
            let start = move || unsafe { dpdk.rte_eth_dev_start(port) };
            let code = if on_interrupt_thread { thread::on_interrupt_thread(dpdk, start) } else { start() };
            if code == 0 || !client {
                return self.check(lease, "start", code);
            }
            if Instant::now() >= deadline {
                return Err(no_peer(&self.device));
            }
            unless_cancelled(&self.device, cancelled)?;
            lease.rest(&self.device.text, LOOK_EVERY)?;
        }
    }

    fn check(&self, lease: &mut Lease, what: &str, code: c_int) -> Result<(), PortError> {
        if code == 0 {
            return Ok(());
        }
        let words = lease.last_words();
        let reason = format!("the driver does not {what}, error {}{words}", code.abs());
        Err(PortError::new(&self.device.text, PortErrorKind::State, reason, ""))
    }

    fn facts(
        &self,
        opened: &Opened,
        info: &ffi::DeviceInfo,
        queues: u16,
        rss: bool,
        checksums: bool,
    ) -> PortFacts {
        let (mut mac, dpdk, port) = ([0; 6], opened.dpdk, opened.port);
        // SAFETY: an open port, six bytes, and a constant string.
        let (node, driver) = unsafe {
            dpdk.eagre_mac(port, mac.as_mut_ptr());
            let driver = if info.driver.is_null() { c"" } else { CStr::from_ptr(info.driver) };
            (dpdk.rte_eth_dev_socket_id(port), driver.to_string_lossy().into_owned())
        };
        let is_pci = matches!(self.device.kind, Kind::Pci { .. });
        let rx_spread = match self.device.kind {
            _ if queues == 1 => "none",
            Kind::Memif { .. } | Kind::Vhost { .. } | Kind::Virtio { .. } | Kind::Pcap { .. } => "pair",
            Kind::Vdev { .. } if !rss => "pair",
            _ => "rss",
        };
        PortFacts {
            device: self.device.text.clone(),
            driver,
            mac,
            frame_len_max: self.request.frame_len_max,
            vlan_bytes: 0,
            speed_bps: None,
            netdev: match &self.device.kind {
                Kind::Tap { interface } => Some(interface.clone()),
                _ => None,
            },
            numa_node: u32::try_from(node).ok().filter(|_| is_pci),
            tx_checksum_offload: checksums,
            tells_unfinished_checksums: false,
            is_in_process: false,
            rx_spread,
            xdp_mode: None,
        }
    }
}

/// A port that has been started and waits for its other end.
struct Opening {
    plan: Plan,
    opened: Arc<Opened>,
    facts: PortFacts,
    prepares: bool,
}

impl Opening {
    fn finish(mut self, cancelled: &mut dyn FnMut() -> bool) -> Result<DpdkPort, PortError> {
        self.wait_for_link(cancelled)?;
        let device: Arc<str> = self.plan.device.text.as_str().into();
        let kind = &self.plan.device.kind;
        let moves_data = self.facts.driver.contains("virtio");
        let may_chain = !self.opened.is_xdp;
        let queues = 0..self.opened.tx_pools.len() as u16;
        let tx = queues.clone().map(|queue| {
            Box::new(DpdkTx::new(&self.opened, queue, self.prepares, moves_data, &device)) as Box<dyn TxQueue>
        });
        let rx = queues
            .map(|queue| Box::new(DpdkRx::new(&self.opened, queue, may_chain, &device)) as Box<dyn RxQueue>);
        let queues = Queues { tx: tx.collect(), rx: rx.collect() };
        let drops = DropCounts::new(kind);
        let _ = self.opened.locks.set(self.plan.locks);
        Ok(DpdkPort { facts: self.facts, queues, opened: self.opened, drops })
    }

    /// Waits until frames have somewhere to go.
    fn wait_for_link(&mut self, cancelled: &mut dyn FnMut() -> bool) -> Result<(), PortError> {
        let device = &self.plan.device;
        let wait = match device.kind {
            Kind::Memif { .. } | Kind::Vhost { .. } | Kind::Virtio { .. } => device.wait,
            Kind::Pci { .. } => device.wait,
            _ => return Ok(()),
        };
        if wait.is_zero() {
            return Ok(());
        }
        let deadline = Instant::now() + wait;
        let mut asked = Instant::now();
        loop {
            // SAFETY: the port is open as long as `opened` is.
            let link = unsafe { self.opened.dpdk.eagre_link(self.opened.port) };
            if link > 0 {
                if self.opened.on_interrupt_thread {
                    self.opened.shielded.get_or_init(|| Shielded::new(self.opened.dpdk));
                }
                if matches!(device.kind, Kind::Pci { .. }) && link > 1 {
                    self.facts.speed_bps = Some(link as u64 * 1_000_000);
                }
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(no_peer(device));
            }
            unless_cancelled(device, cancelled)?;
            if matches!(device.kind, Kind::Memif { server: false, .. }) && asked.elapsed() > ASK_AGAIN_AFTER {
                let (dpdk, port) = (self.opened.dpdk, self.opened.port);
                // SAFETY: as above; no queue is in use yet.
                thread::on_interrupt_thread(dpdk, || unsafe {
                    dpdk.rte_eth_dev_stop(port);
                    dpdk.rte_eth_dev_start(port);
                });
                asked = Instant::now();
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// Nobody came, or the cable is out.
fn no_peer(device: &Device) -> PortError {
    let seconds = device.wait.as_secs();
    let state =
        |reason: String, remedy: &str| PortError::new(&device.text, PortErrorKind::State, reason, remedy);
    match &device.kind {
        Kind::Memif { socket, server: false } if !Path::new(socket).exists() => PortError::new(
            &device.text,
            PortErrorKind::Missing,
            format!("there is no socket {socket}, after {seconds} s"),
            "start the memif server first, let this end be the server (memif:SOCKET,server), or wait longer (wait=60)",
        ),
        Kind::Memif { socket, .. } => state(
            format!("no memif peer took up the link over {socket} within {seconds} s"),
            "both ends need the same socket and id, one of them as server; wait=60 waits longer",
        ),
        Kind::Vhost { socket, .. } | Kind::Virtio { socket, .. } => state(
            format!("no vhost-user peer connected to {socket} within {seconds} s"),
            "start the other end, or wait longer (wait=60)",
        ),
        _ => state(format!("there is no link after {seconds} s"), "check the cable and the other end"),
    }
}

/// The only one there is.
fn only<T>(mut all: impl Iterator<Item = T>) -> Option<T> {
    all.next().filter(|_| all.next().is_none())
}
