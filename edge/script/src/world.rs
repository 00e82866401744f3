//! State shared by all tasks of a script: its ports, its clock, whether it is running, its tasks and the data they
//! exchange.
//!
//! One to a process, because C functions that Lua calls have no other way to it.

use crate::device::Device;
use crate::shared::Shared;
use crate::tasks::Tasks;
use crate::traffic::{Engine, Traffic};
use filter::Filter;
use os::TscClock;
use pcap::Record;
use port::Clock;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

/// The script and how it is run.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) text: Vec<u8>,
    pub(crate) arguments: Vec<String>,
    /// Whether lines are coloured.
    pub(crate) colour: bool,
}

/// No exit code is that large.
const NO_CODE: i64 = i64::MAX;

/// A script that runs.
pub(crate) struct World {
    pub(crate) source: Source,
    clock: TscClock,
    pub(crate) devices: Vec<Device>,
    pub(crate) shared: Shared,
    pub(crate) tasks: Tasks,
    pub(crate) traffic: Traffic,
    pub(crate) engine: Box<dyn Engine>,
    pub(crate) filters: Mutex<Vec<&'static Filter>>,
    pub(crate) captures: Mutex<Vec<&'static [Record]>>,
    /// When it is to end, ns of the clock.
    stop_at: AtomicU64,
    is_over: AtomicBool,
    /// The exit code set by the script; [`NO_CODE`] if none.
    exit: AtomicI64,
    /// Time when the last packet that requested it was passed to its port.
    sent_at: AtomicU64,
    /// The script's own result, JSON.
    pub(crate) result: Mutex<Option<String>>,
    /// Conditions of the script that did not hold.
    pub(crate) unmet: Mutex<Vec<String>>,
}

static WORLD: OnceLock<World> = OnceLock::new();

/// The script of this process.
///
/// # Panics
/// If there is none yet.
pub(crate) fn world() -> &'static World {
    WORLD.get().expect("no Lua runs before the world is there")
}

/// Makes it; `None` if there is one already.
pub(crate) fn create(
    source: Source,
    clock: TscClock,
    devices: Vec<Device>,
    engine: Box<dyn Engine>,
) -> Option<&'static World> {
    let world = World {
        source,
        clock,
        devices,
        shared: Shared::default(),
        tasks: Tasks::default(),
        traffic: Traffic::default(),
        engine,
        filters: Mutex::default(),
        captures: Mutex::default(),
        stop_at: AtomicU64::new(u64::MAX),
        is_over: AtomicBool::new(false),
        exit: AtomicI64::new(NO_CODE),
        sent_at: AtomicU64::new(0),
        result: Mutex::default(),
        unmet: Mutex::default(),
    };
    WORLD.set(world).ok()?;
    WORLD.get()
}

impl World {
    /// Time, ns.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.clock.now().0
    }

    /// Whether the script must continue; `extra_ns` after it was stopped still counts as that.
    #[inline]
    pub(crate) fn is_running(&self, extra_ns: u64) -> bool {
        let stop_at = self.stop_at.load(Ordering::Relaxed);
        stop_at == u64::MAX || self.now() < stop_at.saturating_add(extra_ns)
    }

    /// Ends it `after` nanoseconds from now.
    pub(crate) fn stop(&self, after: u64) {
        let at = self.now().saturating_add(after);
        // Nothing makes it longer again.
        self.stop_at.fetch_min(at, Ordering::Relaxed);
    }

    /// Ends it with an exit code; the first one counts.
    pub(crate) fn exit(&self, code: i32) {
        let _ = self.exit.compare_exchange(NO_CODE, i64::from(code), Ordering::Relaxed, Ordering::Relaxed);
        self.stop(0);
    }

    /// The exit code set by the script.
    pub(crate) fn exit_code(&self) -> Option<i32> {
        i32::try_from(self.exit.load(Ordering::Relaxed)).ok()
    }

    /// Whether the script has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// It has.
    pub(crate) fn set_over(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    /// A packet with a requested departure time is about to leave.
    pub(crate) fn note_sent(&self) {
        self.sent_at.store(self.now(), Ordering::Relaxed);
    }

    /// When that was, ns.
    pub(crate) fn sent_at(&self) -> u64 {
        self.sent_at.load(Ordering::Relaxed)
    }

    pub(crate) fn device(&self, number: u32) -> Option<&Device> {
        self.devices.get(number as usize)
    }
}

/// The script of this process, if it has begun.
pub(crate) fn running() -> Option<&'static World> {
    WORLD.get()
}
