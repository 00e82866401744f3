//! The machine's ports: DPDK's by a thin C shim and safe Rust over EAL, ethdev, mempool and mbuf, and the ports of
//! `packet` and `afxdp`.
//!
//! Turns a device string such as `memif:/run/x.sock` into a [`port::Port`] with its queues, for every device DPDK has a
//! driver for. AF_PACKET and AF_XDP ports and `null` are opened here too, after the same checks and under the same
//! locks, and need no DPDK: its libraries are opened with the first port that does, and may be missing. Frames are
//! DPDK's: [`port::FrameHead`] is `rte_mbuf` (shim/shim.c asserts every field), so a burst goes from the worker to the
//! driver as an array of pointers and nothing is converted.
//!
//! Not here: flow rules, hardware timestamps, multi-process. A frame has one segment; the shim decides nothing, and
//! only `ffi.rs` declares C items.
//!
//! Invariants:
//! - DPDK starts with the first port, once per process, on a thread that ends at once (`eal.rs`): the caller is not
//!   pinned, nothing is printed, nothing stays on disk.
//! - Transmit frames keep their bytes, length and tag from one use to the next. They come raw out of a separate pool
//!   for each queue, last in, first out, so that a steady sender reuses the same few frames.
//! - A port is closed when it *and* its queues are dropped; an interface is left as it was found.
//! - What the driver or the kernel loses is counted: [`port::Port::driver_drops`].
//! - Every failure is a sentence with what to do about it ([`port::PortError`]).
//!
//! ```text
//! id.rs      port string → which port of this machine                  device.rs   what DPDK calls it
//! open.rs    id → checks → EAL device → queues → Port
//! checks.rs  what is wrong with a device, beforehand
//! queue.rs   Port, TxQueue, RxQueue, close                             eal.rs      start, log, memory, plugins
//! library.rs DPDK's libraries, opened when needed                      ffi.rs      their functions
//! pool.rs    frames in memory; why AF_XDP needs whole pages            thread.rs   workers' lcore numbers
//! memory_files.rs  what a zero-copy memif must not close
//! listener.rs  what a memif server leaves open
//! watchdog.rs  bounds for what waits for a vhost-user peer
//! sockets.rs sockets and TAP queues of drivers: losses, waking
//! ```

#![allow(unsafe_code)]

mod checks;
mod device;
mod eal;
mod ffi;
mod id;
mod library;
mod listener;
mod memory_files;
mod open;
mod pool;
mod queue;
mod sockets;
mod thread;
mod watchdog;

pub use eal::{Eal, cleanup, running};
pub use id::{Interface, PortId};

use port::{Port, PortError, PortErrorKind, PortName, PortRequest};

/// The DPDKs this program can use, by the number in the names of their libraries, such as 23 for DPDK 22.11; the newest first.
pub fn abis() -> Vec<u32> {
    library::abis().collect()
}

/// Version of DPDK, such as `DPDK 22.11.11`; `None` until a port opens it.
pub fn version() -> Option<String> {
    library::opened().map(eal::version)
}

/// Opens DPDK, without starting it: its version, or why it can't be used.
pub fn try_open() -> Result<String, String> {
    match library::abis().next() {
        Some(_) => library::open().map(eal::version),
        None => Err("this program was built without it".to_owned()),
    }
}

/// Version of DPDK if one of these ports needs it and it can be opened; opens it if so.
pub fn version_for<'a>(mut devices: impl Iterator<Item = &'a str>) -> Option<String> {
    let needs = |device: &str| PortName::parse(device).is_ok_and(|name| device::is_of_dpdk(&name.kind));
    devices.any(needs).then(|| try_open().ok()).flatten()
}

/// Checks the syntax of `device`; the error lists the valid forms.
pub fn check(device: &str) -> Result<(), PortError> {
    PortName::parse(device).map(drop)
}

/// The kernel interface that `device` opens by AF_PACKET or AF_XDP, by its canonical name; `None` if it opens another kind
/// of port, or the interface is not there.
pub fn netdev(device: &str) -> Option<String> {
    let id = PortId::resolve(device).ok()?;
    id.kernel_interface()
        .filter(|interface| interface.index.is_some())
        .map(|interface| interface.name.clone())
}

/// Opens one port. Starts DPDK if this is the first; to open several, use [`open_all`].
pub fn open(device: &str, request: PortRequest) -> Result<Box<dyn Port>, PortError> {
    open_all(&[(PortId::resolve(device)?, request)], &mut || false).map(|mut ports| ports.remove(0))
}

/// Opens ports together, in the order given: none stays open if one fails, or once `cancelled` returns true.
///
/// DPDK starts with memory for all of them, and with the PCI bus if one needs it. All are started before any is waited
/// for, so both ends of a memif link may be among them. In-process pairs are not opened here.
pub fn open_all(
    devices: &[(PortId, PortRequest)],
    cancelled: &mut dyn FnMut() -> bool,
) -> Result<Vec<Box<dyn Port>>, PortError> {
    if let Some((id, _)) = devices.iter().find(|(id, _)| matches!(id.kind(), port::name::Kind::Ring(_))) {
        let reason = "an in-process pair has no driver";
        return Err(PortError::new(id.text(), PortErrorKind::Name, reason, "open it with port::ring"));
    }
    open::open(devices, cancelled)
}
