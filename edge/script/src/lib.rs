//! Lua userscripts: programs in Lua that make packets themselves, with MoonGen's and libmoon's API.
//!
//! LuaJIT, a Lua library (`lua/`) with the modules those scripts load, and below it packet buffers, devices with many
//! queues over one queue of a port, tasks that are threads with a Lua state each.
//!
//! Not here: an engine – a script's own packets carry no signature, and the engine for streams and sessions is passed
//! in (`traffic`); opening of ports and confinement (the caller does both, in this order); process handling (the
//! command does that).
//!
//! Invariants:
//! - Nothing on the packet path is a Rust closure called from Lua: C functions, called through pointers (`abi`).
//! - A script that stops polling for packets cannot keep packets of other queues from being counted.
//! - What a script may do to the machine is decided by the kernel, not by Lua (`confine`): LuaJIT's FFI is C.
//!
//! ```text
//! state.rs    a Lua state and what it asks of Rust      device.rs   queues of a script over a port
//! abi.rs      C functions for the packet path           pace.rs     when packets are due
//! tasks.rs    threads                                   steer.rs    which receive queue a frame is for
//! shared.rs   what tasks pass to each other             checksum.rs checksums, in software
//! world.rs    what all tasks share                      buffers.rs  packet buffers
//! traffic.rs  streams and sessions of an engine         values.rs   Lua values as JSON
//! ```

#![allow(unsafe_code)]

mod abi;
mod buffers;
mod checksum;
mod device;
mod library;
mod pace;
mod shared;
mod state;
mod steer;
mod tasks;
pub mod traffic;
mod values;
mod world;

use device::Device;
use os::TscClock;
use port::{Port, Queues};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;
use traffic::Engine;
use units::Nanos;

/// Time for tasks to end after the first one has, before they are left behind.
const LAST_MOMENTS: Duration = Duration::from_millis(1_500);

/// A port with its queues.
pub type OpenPort = (Box<dyn Port>, Queues);

/// A script and how it is run.
#[derive(Debug, Clone)]
pub struct Script {
    /// Its file, for messages and for modules in its folder.
    pub path: PathBuf,
    /// Content.
    pub text: Vec<u8>,
    /// Its own arguments.
    pub arguments: Vec<String>,
    /// Whether its lines are coloured.
    pub colour: bool,
    /// Time of the request to stop.
    pub run_time: Option<Nanos>,
    /// Longest frame with FCS that the ports were opened for.
    pub frame_len_max: u32,
    /// Decides random gaps.
    pub seed: u64,
}

/// Counters of a port's sent and received frames; bytes include the FCS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortCounts {
    /// Its device string.
    pub device: String,
    /// Packets sent.
    pub tx_packets: u64,
    /// Their bytes.
    pub tx_bytes: u64,
    /// Packets that were to be sent, and were not: too long, or the port took no more.
    pub tx_unsent: u64,
    /// Packets received.
    pub rx_packets: u64,
    /// Their bytes.
    pub rx_bytes: u64,
    /// Of these, those no task took in time.
    pub rx_lost: u64,
    /// Frames dropped by driver and kernel, by direction and reason.
    pub dropped: Vec<(String, u64)>,
}

/// End of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Tasks that failed, with the reason; the first one is called `master`.
    pub failed: Vec<(String, String)>,
    /// Conditions of the script's own that did not hold, as it put them.
    pub unmet: Vec<String>,
    /// The exit code, if the script ended itself with one.
    pub code: Option<i32>,
    /// The script's own result, JSON.
    pub result: Option<String>,
    /// Result documents of its runs of streams and sessions, in their order.
    pub runs: Vec<Value>,
    /// The ports, in their order.
    pub ports: Vec<PortCounts>,
    /// Whether all tasks have ended; those that have not still use the ports, so end the process.
    pub is_complete: bool,
}

/// Opens the libraries that scripts use, before the process is confined, which cannot open them later.
pub fn prepare() {
    filter::prepare();
}

/// Runs a script on open ports until it ends, with `engine` for its streams and sessions; a process can do this once. The caller
/// has confined its process.
///
/// # Panics
/// If it is called a second time.
pub fn run(script: Script, ports: Vec<OpenPort>, engine: Box<dyn Engine>) -> Outcome {
    let clock = TscClock::calibrate(Duration::from_millis(20));
    let longest = script.frame_len_max.saturating_sub(4) as usize;
    let device = |(i, port): (usize, _)| Device::new(i, port, longest, script.seed ^ (i as u64) << 32);
    let devices = ports.into_iter().enumerate().map(device).collect();
    let source = world::Source {
        path: script.path,
        text: script.text,
        arguments: script.arguments,
        colour: script.colour,
    };
    let world = world::create(source, clock, devices, engine).expect("a process runs one script");
    if let Some(time) = script.run_time {
        world.stop(time.0);
    }
    if STOPPED.load(Ordering::Relaxed) {
        world.stop(0);
    }
    for device in &world.devices {
        // Without it, what nobody reads is dropped by the kernel.
        let _ = std::thread::Builder::new().name("pump".into()).spawn(move || device.pump(world));
    }
    let result = state::run_master(world);
    let mut failed = world.tasks.failed();
    failed.extend(result.err().map(|reason| ("master".to_owned(), reason)));
    world.stop(0);
    let (runs, failure) = world.traffic.end(world);
    failed.extend(failure.map(|reason| ("run".to_owned(), reason)));
    let is_complete = world.tasks.wait_for_all(Some(LAST_MOMENTS));
    let ports = world.devices.iter().map(counts).collect();
    world.set_over();
    let code = world.exit_code();
    if code.is_some() {
        failed.clear();
    }
    if is_complete {
        world.devices.iter().for_each(Device::close);
    }
    let unmet = std::mem::take(&mut *world.unmet.lock().unwrap_or_else(PoisonError::into_inner));
    let result = world.result.lock().unwrap_or_else(PoisonError::into_inner).take();
    // SAFETY: null stands for all streams; Lua's output goes through them.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    Outcome { failed, unmet, code, result, runs, ports, is_complete }
}

fn counts(device: &Device) -> PortCounts {
    let drops = device.driver_drops();
    let named = |way: &str, list: Vec<(&'static str, u64)>| -> Vec<(String, u64)> {
        list.into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| (format!("{way}_{name}"), n)).collect()
    };
    let read = |of: &std::sync::atomic::AtomicU64| of.load(Ordering::Relaxed);
    PortCounts {
        device: device.facts.device.clone(),
        tx_packets: read(&device.tx.packets),
        tx_bytes: read(&device.tx.bytes),
        tx_unsent: read(&device.tx.lost),
        rx_packets: read(&device.rx.packets),
        rx_bytes: read(&device.rx.bytes),
        rx_lost: read(&device.rx.lost),
        dropped: [named("rx", drops.rx), named("tx", drops.tx)].concat(),
    }
}

static STOPPED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// Tells the script of this process to stop, before it starts or while it runs. Safe from any thread.
pub fn stop() {
    STOPPED.store(true, Ordering::Relaxed);
    if let Some(world) = world::running() {
        world.stop(0);
    }
}
