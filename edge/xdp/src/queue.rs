//! A pair of queues that sends bursts as live frames, and everything else by the queue of a driver on the same interface.
//!
//! A call into the kernel costs as much as some fifteen frames by AF_XDP, regardless of its size. So frames wait until
//! a call pays: while the worker fills whole bursts, for as many as one batch of the kernel's; no longer than until it
//! looks for received frames without having sent. Fewer than [`CALL_PAYS`] leave by the driver, at once.
//!
//! Invariant: frames leave in the order in which they were handed over.

use crate::{LiveFrames, Records};
use port::{BURST, Burst, FrameHead, PoolId, PortError, Recorded, RxQueue, TestPackets, TxQueue};
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Frames from which on a call is cheaper than the driver.
const CALL_PAYS: usize = 16;
/// Frames for which a call waits while whole bursts come in.
const CALL: usize = 256;
/// Frames that wait at most, when nothing takes them.
const WAITING_MAX: usize = 1024;

/// Counters of a port's live frames.
#[derive(Debug, Default)]
pub struct LiveCounts {
    /// Frames the kernel could not make, which are lost.
    pub refused: AtomicU64,
}

/// The sending side.
struct Sender {
    driver: Box<dyn TxQueue>,
    live: LiveFrames,
    /// Frames handed over, in order.
    waiting: VecDeque<Frame>,
    /// Frames that were sent, with what they held.
    sent: Vec<Frame>,
    pool: Option<PoolId>,
    /// Whether frames were handed over since the last look for received ones.
    fed: bool,
    counts: Arc<LiveCounts>,
}

/// A frame of the driver's pool, owned.
struct Frame(*mut FrameHead);

// SAFETY: whoever has it is the only owner of the head and its buffer.
unsafe impl Send for Frame {}

impl Sender {
    fn alloc(&mut self, burst: &mut Burst, n: usize) -> usize {
        let again = match self.pool {
            Some(pool) if burst.is_of(pool) => {
                let spare = burst.spare();
                let again = n.min(self.sent.len()).min(spare.len());
                let from = self.sent.len() - again;
                for (place, frame) in spare.iter_mut().zip(self.sent.drain(from..)) {
                    *place = frame.0;
                }
                // SAFETY: frames of this pool that only `sent` had.
                unsafe { burst.grow(again, pool) };
                again
            }
            _ => 0,
        };
        if again == n { again } else { again + self.driver.alloc(burst, n - again) }
    }

    fn send(&mut self, burst: &mut Burst) -> usize {
        let n = burst.len().min(WAITING_MAX.saturating_sub(self.waiting.len()));
        if n == 0 {
            self.flush();
            return 0;
        }
        self.pool = burst.pool();
        // SAFETY: these heads are forgotten below.
        self.waiting.extend(unsafe { burst.heads() }[..n].iter().map(|head| Frame(*head)));
        burst.forget_front(n);
        self.fed = true;
        if n < BURST || self.waiting.len() >= CALL {
            self.flush();
        }
        n
    }

    /// Sends what waits, as far as it goes.
    fn flush(&mut self) {
        while !self.waiting.is_empty() {
            let before = self.waiting.len();
            if before < CALL_PAYS || !self.call() {
                self.by_driver();
            }
            if self.waiting.len() == before {
                return;
            }
        }
    }

    /// One call. Returns whether it sent any frame; frames of a call that the kernel refuses leave through the driver.
    fn call(&mut self) -> bool {
        let room = self.live.room() as usize;
        let mut added = 0;
        for frame in self.waiting.iter().take(room) {
            let bytes = frame.bytes();
            if !LiveFrames::takes(bytes.len()) {
                break;
            }
            self.live.push(bytes);
            added += 1;
        }
        let taken = self.live.send().unwrap_or(0) as usize;
        debug_assert!(taken <= added);
        self.sent.extend(self.waiting.drain(..taken));
        self.counts.refused.fetch_add(self.live.take_refused(), Ordering::Relaxed);
        taken > 0
    }

    /// Up to one burst by the driver.
    fn by_driver(&mut self) {
        let Some(pool) = self.pool else { return };
        let mut burst = Burst::new();
        let n = self.waiting.len().min(BURST);
        for (place, frame) in burst.spare().iter_mut().zip(self.waiting.drain(..n)) {
            *place = frame.0;
        }
        // SAFETY: frames of this pool that only `waiting` had.
        unsafe { burst.grow(n, pool) };
        self.driver.send(&mut burst);
        // What it did not take goes back to the front, in order.
        // SAFETY: these heads are forgotten below.
        for head in unsafe { burst.heads() }.iter().rev() {
            self.waiting.push_front(Frame(*head));
        }
        burst.forget_front(burst.len());
    }

    /// Gives frames back to the driver's pool.
    fn give_back(&mut self) {
        let Some(pool) = self.pool else { return };
        let all: Vec<Frame> = self.waiting.drain(..).chain(self.sent.drain(..)).collect();
        for some in all.chunks(BURST) {
            let mut burst = Burst::new();
            for (place, frame) in burst.spare().iter_mut().zip(some) {
                *place = frame.0;
            }
            // SAFETY: frames of this pool that only this value had.
            unsafe { burst.grow(some.len(), pool) };
            self.driver.free(&mut burst);
        }
    }
}

impl Frame {
    fn bytes(&self) -> &[u8] {
        // SAFETY: a head that this value owns, with `len` bytes at `data_off` of its buffer.
        unsafe {
            let head = &*self.0;
            std::slice::from_raw_parts(head.buf.add(usize::from(head.data_off)), head.len as usize)
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.flush();
        self.give_back();
    }
}

/// One thread at a time uses a pair of queues: the lock is never waited for.
fn lock(sender: &Mutex<Sender>) -> MutexGuard<'_, Sender> {
    sender.lock().unwrap_or_else(PoisonError::into_inner)
}

struct LiveTx(Arc<Mutex<Sender>>);

impl TxQueue for LiveTx {
    fn attach(&mut self) -> Result<(), PortError> {
        lock(&self.0).driver.attach()
    }

    fn alloc(&mut self, burst: &mut Burst, n: usize) -> usize {
        lock(&self.0).alloc(burst, n)
    }

    fn send(&mut self, burst: &mut Burst) -> usize {
        lock(&self.0).send(burst)
    }

    fn free(&mut self, burst: &mut Burst) {
        lock(&self.0).driver.free(burst);
    }
}

struct LiveRx {
    driver: Box<dyn RxQueue>,
    sender: Arc<Mutex<Sender>>,
    /// Of test packets that the kernel takes in, or why it does not.
    records: Result<Records, String>,
}

impl RxQueue for LiveRx {
    fn attach(&mut self) -> Result<(), PortError> {
        self.driver.attach()
    }

    /// Records cause no wake-up, and have their packets' arrival times: a late reader loses nothing.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.driver.descriptor()
    }

    fn recv(&mut self, burst: &mut Burst) -> usize {
        let mut sender = lock(&self.sender);
        let fed = std::mem::take(&mut sender.fed);
        if !fed && !sender.waiting.is_empty() {
            sender.flush();
        }
        drop(sender);
        self.driver.recv(burst)
    }

    fn free(&mut self, burst: &mut Burst) {
        self.driver.free(burst);
    }

    fn record(&mut self, packets: Option<&TestPackets>) -> Result<bool, String> {
        let records = self.records.as_mut().map_err(|reason| reason.clone())?;
        records.record(packets).map(|()| true)
    }

    #[inline]
    fn recorded(&mut self, recorded: &mut [Recorded]) -> usize {
        self.records.as_mut().map_or(0, |records| records.take(recorded))
    }
}

/// A driver's queues of an interface, with bursts as frames of `live`, which must send out of the same interface, and with
/// `records` of what arrives there.
pub fn pair(
    tx: Box<dyn TxQueue>,
    rx: Box<dyn RxQueue>,
    live: LiveFrames,
    records: Result<Records, String>,
    counts: Arc<LiveCounts>,
) -> (Box<dyn TxQueue>, Box<dyn RxQueue>) {
    let sender = Sender {
        driver: tx,
        live,
        waiting: VecDeque::new(),
        sent: Vec::new(),
        pool: None,
        fed: false,
        counts,
    };
    let sender = Arc::new(Mutex::new(sender));
    (Box::new(LiveTx(sender.clone())), Box::new(LiveRx { driver: rx, sender, records }))
}
