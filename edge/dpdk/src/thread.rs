//! Threads: making a worker's known to EAL, and lending EAL's own.
//!
//! A pool keeps one cache for each lcore; a thread without an lcore number takes every single frame from the ring all
//! share, and gives it back there, at several times the cost.

use crate::ffi;
use crate::library::Dpdk;
use port::{PortError, PortErrorKind};
use std::cell::{Cell, OnceCell};
use std::ffi::{c_uint, c_void};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};

struct Registration(Dpdk);

impl Drop for Registration {
    fn drop(&mut self) {
        // SAFETY: this thread was registered when the value was made; it ends now.
        unsafe { self.0.rte_thread_unregister() };
    }
}

thread_local! {
    static REGISTRATION: OnceCell<Registration> = const { OnceCell::new() };
    /// The thread's lcore number, as DPDK has it: see `eagre_frames_get`.
    static LCORE: Cell<c_uint> = const { Cell::new(ffi::LCORE_ID_ANY) };
}

/// The calling thread's lcore number, or that for none.
#[inline(always)]
pub(crate) fn lcore() -> c_uint {
    LCORE.get()
}

/// Gives the calling thread an lcore number until it ends. Does nothing the second time.
pub(crate) fn register(dpdk: Dpdk, device: &str) -> Result<(), PortError> {
    REGISTRATION.with(|cell| {
        if cell.get().is_some() {
            return Ok(());
        }
        // SAFETY: EAL runs: the caller holds a queue.
        if unsafe { dpdk.rte_thread_register() } != 0 {
            return Err(PortError::new(
                device,
                PortErrorKind::Resource,
                "DPDK has no lcore number left for another worker",
                "use fewer workers",
            ));
        }
        // SAFETY: reads a variable of this thread.
        LCORE.set(unsafe { dpdk.eagre_lcore() });
        let _ = cell.set(Registration(dpdk));
        Ok(())
    })
}

/// Runs `work` on EAL's interrupt thread and waits for it.
///
/// For the memif driver, which takes connections and disconnections on that thread without a lock against those who
/// start or close the port: a port that is closed just when its peer leaves would be torn down twice at once.
pub(crate) fn on_interrupt_thread<T: Send>(dpdk: Dpdk, work: impl FnOnce() -> T + Send) -> T {
    struct Job<F, T> {
        work: Option<F>,
        done: mpsc::SyncSender<Option<T>>,
    }
    extern "C" fn run<T, F: FnOnce() -> T>(job: *mut c_void) {
        // SAFETY: the pointer is the job below; its owner waits until it has been told, which is the last thing here.
        let job = unsafe { &mut *job.cast::<Job<F, T>>() };
        let done = job.done.clone();
        let result = job.work.take().map(|work| work());
        let _ = done.send(result);
    }
    fn callback<T, F: FnOnce() -> T>(_: &Job<F, T>) -> ffi::AlarmFn {
        run::<T, F>
    }

    let (done, finished) = mpsc::sync_channel(1);
    let mut job = Job { work: Some(work), done };
    let callback = callback(&job);
    // SAFETY: EAL runs; the job lives until the callback has sent its result.
    let set = unsafe { dpdk.rte_eal_alarm_set(1, callback, (&raw mut job).cast()) };
    let result = if set == 0 { finished.recv().ok().flatten() } else { None };
    match (result, job.work.take()) {
        (Some(result), _) => result,
        // The alarm could not be set: better here than not at all.
        (None, Some(work)) => work(),
        (None, None) => unreachable!("the work was taken by the callback, which sends its result"),
    }
}

/// Whether EAL's interrupt thread may run.
struct Interrupts {
    /// Number of current users: opening or closing ports.
    awake: usize,
    /// Ports that do not bear it: see [`Shielded`].
    shielded: usize,
    /// DPDK, once there was such a port.
    dpdk: Option<Dpdk>,
    /// A callback that holds it is under way.
    parked: bool,
}

static INTERRUPTS: Mutex<Interrupts> =
    Mutex::new(Interrupts { awake: 0, shielded: 0, dpdk: None, parked: false });
static CHANGED: Condvar = Condvar::new();

fn interrupts() -> MutexGuard<'static, Interrupts> {
    INTERRUPTS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Interrupts {
    fn must_rest(&self) -> bool {
        self.awake == 0 && self.shielded > 0
    }

    fn park_if_due(&mut self) {
        if let Some(dpdk) = self.dpdk
            && self.must_rest()
            && !self.parked
        {
            // SAFETY: a shielded port is open, so EAL runs; the callback takes no argument.
            self.parked = unsafe { dpdk.rte_eal_alarm_set(1, parked, std::ptr::null_mut()) } == 0;
        }
    }
}

/// Runs on the interrupt thread.
extern "C" fn parked(_: *mut c_void) {
    let mut state = interrupts();
    while state.must_rest() {
        state = CHANGED.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    state.parked = false;
}

/// Lets EAL's interrupt thread run as long as it lives.
pub(crate) struct Awake;

impl Awake {
    pub(crate) fn new() -> Self {
        interrupts().awake += 1;
        CHANGED.notify_all();
        Self
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        let mut state = interrupts();
        state.awake -= 1;
        state.park_if_due();
    }
}

/// Keeps EAL's interrupt thread from running, but for [`Awake`].
///
/// For connected memif ports: when the peer leaves, the driver unmaps the shared rings on that thread, whether or not a
/// worker is just using them, and the process dies of it. With the thread at rest the rings stay; a peer that has left
/// shows as frames that can't be sent, until the port is closed.
#[derive(Debug)]
pub(crate) struct Shielded;

impl Shielded {
    pub(crate) fn new(dpdk: Dpdk) -> Self {
        let mut state = interrupts();
        state.shielded += 1;
        state.dpdk = Some(dpdk);
        Self
    }
}

impl Drop for Shielded {
    fn drop(&mut self) {
        interrupts().shielded -= 1;
        CHANGED.notify_all();
    }
}
