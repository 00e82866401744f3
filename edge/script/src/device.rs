//! A port as scripts see it: many receive and transmit queues over one queue of the port.
//!
//! Polling one of the receive queues takes arrivals from the port, for all of them; a thread does it when no queue is
//! polled, so that counters are right and the port's own ring does not overflow. A queue that is not read fills up, and
//! then drops, which is counted.
//!
//! Invariant: frames of the port are copied and given back at once; no script ever holds one.

use crate::OpenPort;
use crate::buffers::{self, Buf, Pool, RX_VLAN, TX_VLAN};
use crate::checksum;
use crate::pace::{Mode, Pace};
use crate::steer::Steering;
use crate::world::World;
use port::{BURST, Burst, DriverDrops, Port, PortFacts, Queues, RxQueue, TxQueue};
use std::cell::Cell;
use std::collections::VecDeque;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::Duration;

/// Queues of a device in each direction.
pub(crate) const QUEUES_MAX: usize = 64;
/// Packets a receive queue holds.
const QUEUE_PACKETS: usize = 2_048;
/// Bytes of the longest packet a receive buffer holds, without FCS.
const RX_BYTES: u16 = 9_600;
/// Bytes a buffer for ordinary frames holds.
const ORDINARY_BYTES: u16 = 2_048;
/// Time to wait without sleeping, ns: a sleep ends about that much too late.
const SPIN: f64 = 70_000.0;
/// Interval of emptying a device that is not read.
const PUMP_EVERY: Duration = Duration::from_millis(1);
/// Bursts taken at once from a port that never runs dry.
const PUMP_BURSTS: usize = 32;
/// Time for which a stopped script waits for a port that takes nothing, ns.
const STUCK_MAX: u64 = 500_000_000;

/// Counters of sent and received frames; bytes include the FCS.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) packets: AtomicU64,
    pub(crate) bytes: AtomicU64,
    /// Received for a queue that was full, or dropped because it did not fit.
    pub(crate) lost: AtomicU64,
}

impl Counters {
    pub(crate) fn add(&self, packets: u64, bytes: u64) {
        self.packets.fetch_add(packets, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

struct Sender {
    queue: Box<dyn TxQueue>,
    burst: Burst,
}

impl Sender {
    fn new(queue: Box<dyn TxQueue>) -> Self {
        Self { queue, burst: Burst::new() }
    }
}

struct Receiver {
    queue: Box<dyn RxQueue>,
    burst: Burst,
    /// Buffers to copy to.
    spare: Vec<*mut Buf>,
}

impl Receiver {
    fn new(queue: Box<dyn RxQueue>) -> Self {
        Self { queue, burst: Burst::new(), spare: Vec::new() }
    }
}

// SAFETY: the buffers are the receiver's alone.
unsafe impl Send for Receiver {}

/// Packets for a receive queue of the script.
struct Waiting(VecDeque<*mut Buf>);

// SAFETY: the buffers are the queue's alone.
unsafe impl Send for Waiting {}

/// Mode of polling a receive queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Until something arrives or the script ends.
    Forever,
    /// For so long, ns; 0 is one look.
    For(u64),
}

/// An open port.
pub(crate) struct Device {
    number: usize,
    pub(crate) facts: PortFacts,
    /// Longest packet that may be sent, without FCS.
    pub(crate) longest: usize,
    port: Mutex<Option<Box<dyn Port>>>,
    sender: Mutex<Option<Sender>>,
    receiver: Mutex<Option<Receiver>>,
    /// Made when the script configures the device.
    pool: OnceLock<&'static Pool>,
    waiting: Vec<Mutex<Waiting>>,
    paces: Vec<Mutex<Pace>>,
    pub(crate) steering: RwLock<Steering>,
    pub(crate) strip_vlan: AtomicU64,
    pub(crate) tx: Counters,
    pub(crate) rx: Counters,
    pub(crate) rx_queues: Vec<Counters>,
    pub(crate) tx_queues: Vec<Counters>,
    last_look: AtomicU64,
}

thread_local! {
    /// Queues of ports that this thread has made itself known to, a bit each.
    static ATTACHED: Cell<u128> = const { Cell::new(0) };
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Device {
    /// A port with its queues, of which the first pair is used, and its number; it sends packets of up to `longest` bytes
    /// without FCS.
    pub(crate) fn new(number: usize, (port, queues): OpenPort, longest: usize, seed: u64) -> Self {
        let facts = port.facts().clone();
        Self {
            number,
            longest,
            facts,
            port: Mutex::new(Some(port)),
            sender: Mutex::new(queues.tx.into_iter().next().map(Sender::new)),
            receiver: Mutex::new(queues.rx.into_iter().next().map(Receiver::new)),
            pool: OnceLock::new(),
            waiting: (0..QUEUES_MAX).map(|_| Mutex::new(Waiting(VecDeque::new()))).collect(),
            paces: (0..QUEUES_MAX).map(|i| Mutex::new(Pace::new(seed ^ i as u64))).collect(),
            steering: RwLock::default(),
            strip_vlan: AtomicU64::new(1),
            tx: Counters::default(),
            rx: Counters::default(),
            rx_queues: (0..QUEUES_MAX).map(|_| Counters::default()).collect(),
            tx_queues: (0..QUEUES_MAX).map(|_| Counters::default()).collect(),
            last_look: AtomicU64::new(0),
        }
    }

    /// Makes buffers for `rx_queues` receive queues.
    ///
    /// # Errors
    /// There is no memory for them, or a run has the port.
    pub(crate) fn configure(&self, rx_queues: usize) -> Result<(), &'static str> {
        let port = locked(&self.port);
        if self.pool.get().is_some() {
            return Ok(());
        }
        if port.is_none() {
            return Err("streams or sessions use it; wait for the end of their run, or take another port");
        }
        let bytes = if self.longest > usize::from(ORDINARY_BYTES) { RX_BYTES } else { ORDINARY_BYTES };
        let pool =
            Pool::leak(QUEUE_PACKETS * (rx_queues + 2), bytes).ok_or("there is no memory for its packets")?;
        self.pool.get_or_init(|| pool);
        Ok(())
    }

    /// Lends the port to a run.
    ///
    /// # Errors
    /// It is configured for packets of tasks.
    pub(crate) fn take(&self) -> Result<OpenPort, &'static str> {
        let mut port = locked(&self.port);
        if self.pool.get().is_some() {
            return Err(
                "it is configured for packets (device.config), and streams and sessions need a separate port",
            );
        }
        let (Some(sender), Some(receiver)) = (locked(&self.sender).take(), locked(&self.receiver).take())
        else {
            return Err("a run that failed has not given it back");
        };
        let queues = Queues { tx: vec![sender.queue], rx: vec![receiver.queue] };
        port.take().map(|port| (port, queues)).ok_or("it is closed")
    }

    /// Takes the port back from a run.
    pub(crate) fn put_back(&self, (port, queues): OpenPort) {
        let mut place = locked(&self.port);
        *locked(&self.sender) = queues.tx.into_iter().next().map(Sender::new);
        *locked(&self.receiver) = queues.rx.into_iter().next().map(Receiver::new);
        *place = Some(port);
    }

    /// Closes the port.
    pub(crate) fn close(&self) {
        locked(&self.sender).take();
        locked(&self.receiver).take();
        locked(&self.port).take();
    }

    /// Frames dropped by driver and kernel.
    pub(crate) fn driver_drops(&self) -> DriverDrops {
        locked(&self.port).as_mut().map(|port| port.driver_drops()).unwrap_or_default()
    }

    /// Sets the rate of a transmit queue, Mbit/s with FCS.
    pub(crate) fn set_rate(&self, queue: usize, mbit: f64) {
        if let Some(pace) = self.paces.get(queue) {
            locked(pace).set_rate(mbit);
        }
    }

    /// Sends all packets, each when it is due, and gives their buffers back; returns how many left.
    ///
    /// # Safety
    /// All must be heads of pools and the caller's alone.
    pub(crate) unsafe fn send(&self, world: &World, queue: usize, mode: Mode, bufs: &[*mut Buf]) -> usize {
        let (Some(pace), Some(counters)) = (self.paces.get(queue), self.tx_queues.get(queue)) else {
            return 0;
        };
        let mut pace = locked(pace);
        let before = counters.packets.load(Ordering::Relaxed);
        if pace.is_unlimited(mode) {
            for chunk in bufs.chunks(BURST) {
                // SAFETY: as this function.
                unsafe { self.transmit(world, counters, chunk) };
            }
        } else {
            let mut rest = bufs;
            while !rest.is_empty() {
                let now = world.now() as f64;
                // SAFETY: as this function.
                let due = unsafe { due_now(&mut pace, mode, rest, now) };
                match due {
                    Ok(n) => {
                        // SAFETY: as this function.
                        unsafe { self.transmit(world, counters, &rest[..n]) };
                        rest = &rest[n..];
                    }
                    Err(at) if world.is_running(0) => wait_until(world, at),
                    // What was not sent in time is not sent any more.
                    Err(_) => {
                        // SAFETY: as this function.
                        unsafe { buffers::give_back(rest) };
                        break;
                    }
                }
            }
        }
        (counters.packets.load(Ordering::Relaxed) - before) as usize
    }

    /// Sends up to a burst now, regardless of the rate.
    ///
    /// # Safety
    /// As [`send`](Self::send).
    unsafe fn transmit(&self, world: &World, counters: &Counters, bufs: &[*mut Buf]) {
        let mut ready: [(*mut Buf, usize); BURST] = [(ptr::null_mut(), 0); BURST];
        let (mut n, mut lost) = (0, 0);
        for &buf in bufs.iter().take(BURST) {
            // SAFETY: as this function; a null pointer is no packet.
            let len = unsafe { buf.as_ref() }.map_or(0, |buf| {
                // SAFETY: as this function.
                let held = unsafe { buf.bytes() }.len();
                // A packet that says it is longer than its buffer is none to send.
                if held < buf.len as usize { 0 } else { held + if buf.flags & TX_VLAN != 0 { 4 } else { 0 } }
            });
            if len < 14 || len > self.longest {
                lost += u64::from(!buf.is_null());
            } else {
                ready[n] = (buf, len);
                n += 1;
            }
        }
        // SAFETY: as this function.
        let (packets, bytes) = unsafe { self.hand_over(world, &ready[..n]) };
        self.tx.add(packets, bytes);
        self.tx.lost.fetch_add(lost + n as u64 - packets, Ordering::Relaxed);
        counters.add(packets, bytes);
        // SAFETY: as this function.
        unsafe { buffers::give_back(bufs) };
    }

    /// Copies packets to frames of the port and sends them; returns how many, and their bytes with FCS.
    ///
    /// # Safety
    /// As [`send`](Self::send); none is null.
    unsafe fn hand_over(&self, world: &World, ready: &[(*mut Buf, usize)]) -> (u64, u64) {
        let mut guard = locked(&self.sender);
        let Some(Sender { queue, burst }) = guard.as_mut() else { return (0, 0) };
        if !attached(2 * self.number, || queue.attach().is_ok()) {
            return (0, 0);
        }
        let (mut done, mut bytes, mut since) = (0, 0, None);
        while done < ready.len() {
            let n = queue.alloc(burst, ready.len() - done);
            for (i, &(buf, len)) in ready[done..done + n].iter().enumerate() {
                // SAFETY: as this function.
                unsafe { write_frame(&mut *buf, burst.frame_mut(i).begin(len), world) };
                bytes += len as u64 + 4;
            }
            done += n;
            while !burst.is_empty() {
                if queue.send(burst) > 0 {
                    since = None;
                } else if is_stuck(world, &mut since) {
                    let sent = done - burst.len();
                    let unsent: u64 = ready[sent..done].iter().map(|&(_, len)| len as u64 + 4).sum();
                    queue.free(burst);
                    return (sent as u64, bytes - unsent);
                } else {
                    std::thread::yield_now();
                }
            }
            if n == 0 {
                if is_stuck(world, &mut since) {
                    break;
                }
                std::thread::yield_now();
            }
        }
        (done as u64, bytes)
    }

    /// Puts up to `into.len()` packets of a receive queue there; returns how many.
    pub(crate) fn receive(
        &self,
        world: &World,
        queue: usize,
        into: &mut [*mut Buf],
        patience: Patience,
        busy: bool,
    ) -> usize {
        let Some(waiting) = self.waiting.get(queue) else { return 0 };
        let start = world.now();
        loop {
            self.look(world);
            let mut waiting = locked(waiting);
            let n = into.len().min(waiting.0.len());
            if n > 0 {
                for (to, from) in into.iter_mut().zip(waiting.0.drain(..n)) {
                    *to = from;
                }
                return n;
            }
            drop(waiting);
            let waited = world.now().saturating_sub(start);
            match patience {
                Patience::Forever if !world.is_running(0) => return 0,
                Patience::For(most) if waited >= most => return 0,
                _ => {}
            }
            // Others need the processor too; and a sleep costs less than looking all the time.
            if busy || waited < SPIN as u64 {
                std::thread::yield_now();
            } else {
                std::thread::sleep(Duration::from_micros(20));
            }
        }
    }

    /// Takes what has arrived at the port, for all receive queues, unless another task is doing so.
    fn look(&self, world: &World) {
        let Ok(mut guard) = self.receiver.try_lock() else { return };
        let Some(receiver) = guard.as_mut() else { return };
        if !attached(2 * self.number + 1, || receiver.queue.attach().is_ok()) {
            return;
        }
        let Some(pool) = self.pool.get() else { return };
        let steering = self.steering.read().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..PUMP_BURSTS {
            let n = receiver.queue.recv(&mut receiver.burst);
            let now = world.now();
            self.last_look.store(now, Ordering::Relaxed);
            if n == 0 {
                break;
            }
            self.sort(receiver, pool, &steering, now);
            receiver.queue.free(&mut receiver.burst);
            if n < BURST {
                break;
            }
        }
    }

    /// Copies a burst to the queues its packets are for.
    fn sort(&self, receiver: &mut Receiver, pool: &Pool, steering: &Steering, now: u64) {
        let missing = BURST.saturating_sub(receiver.spare.len());
        if missing > 0 {
            let mut fresh = [ptr::null_mut(); BURST];
            let n = pool.take(&mut fresh[..missing], 0);
            receiver.spare.extend_from_slice(&fresh[..n]);
        }
        let strip = self.strip_vlan.load(Ordering::Relaxed) != 0;
        let mut bytes = 0;
        for i in 0..receiver.burst.len() {
            let data = receiver.burst.data(i);
            bytes += data.len() as u64 + 4;
            let (number, hash) = steering.queue_of(data);
            let Some(queue) = usize::try_from(number).ok().filter(|&queue| queue < QUEUES_MAX) else {
                continue;
            };
            let counters = &self.rx_queues[queue];
            counters.add(1, data.len() as u64 + 4);
            let mut waiting = locked(&self.waiting[queue]);
            let spare = (waiting.0.len() < QUEUE_PACKETS).then(|| receiver.spare.pop()).flatten();
            let Some(buf) = spare else {
                counters.lost.fetch_add(1, Ordering::Relaxed);
                self.rx.lost.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            // SAFETY: a spare buffer is the receiver's alone.
            unsafe { read_frame(&mut *buf, data, strip, now, hash) };
            waiting.0.push_back(buf);
        }
        self.rx.add(receiver.burst.len() as u64, bytes);
    }

    /// Empties the port while no task does, until the script ends.
    pub(crate) fn pump(&self, world: &World) {
        while !world.is_over() {
            std::thread::sleep(PUMP_EVERY);
            let idle = world.now().saturating_sub(self.last_look.load(Ordering::Relaxed));
            if idle > PUMP_EVERY.as_nanos() as u64 {
                self.look(world);
            }
        }
    }
}

/// Runs `attach` the first time this thread uses the queue with this number.
fn attached(number: usize, attach: impl FnOnce() -> bool) -> bool {
    ATTACHED.with(|cell| {
        let known = cell.get();
        let bit = 1_u128 << (number % 128);
        if known & bit != 0 {
            return true;
        }
        let worked = attach();
        if worked {
            cell.set(known | bit);
        }
        worked
    })
}

/// Whether the script was stopped, and the port has taken nothing for long.
fn is_stuck(world: &World, since: &mut Option<u64>) -> bool {
    if world.is_running(0) {
        return false;
    }
    let now = world.now();
    now.saturating_sub(*since.get_or_insert(now)) > STUCK_MAX
}

/// Writes a packet to a frame of its length, with its VLAN tag and checksums.
///
/// # Safety
/// The buffer must be a head of a pool and the caller's alone; `to` has the length of its packet, and of a tag if it has one.
#[inline]
unsafe fn write_frame(buf: &mut Buf, to: &mut [u8], world: &World) {
    // SAFETY: as this function.
    let bytes = unsafe { buf.bytes() };
    let mut shift = 0;
    if buf.flags & TX_VLAN != 0 {
        to[..12].copy_from_slice(&bytes[..12]);
        to[12..14].copy_from_slice(&[0x81, 0]);
        to[14..16].copy_from_slice(&buf.vlan.to_be_bytes());
        to[16..].copy_from_slice(&bytes[12..]);
        shift = 4;
    } else {
        to.copy_from_slice(bytes);
    }
    if buf.flags & buffers::TX_CHECKSUMS != 0 {
        checksum::complete(to, buf.flags, buf.offload + shift);
    }
    if buf.flags & buffers::TX_TIMESTAMP != 0 {
        world.note_sent();
    }
}

/// Makes a buffer hold a received frame.
///
/// # Safety
/// The buffer must be a head of a pool and the caller's alone.
unsafe fn read_frame(buf: &mut Buf, data: &[u8], strip: bool, now: u64, hash: u32) {
    let tagged = strip && data.len() >= 18 && data[12..14] == [0x81, 0];
    // SAFETY: as this function.
    let whole = unsafe { buf.store(data) };
    buf.flags = 0;
    buf.vlan = 0;
    buf.timestamp = now;
    buf.user = now;
    buf.rss = hash;
    if !whole {
        buf.len = 0;
        buf.segment_len = 0;
    } else if tagged {
        buf.vlan = u16::from_be_bytes([data[14], data[15]]);
        buf.flags = RX_VLAN;
        // Addresses move up to what is left.
        // SAFETY: 18 bytes and more were stored at `data_off`.
        unsafe {
            let start = buf.memory.add(usize::from(buf.data_off));
            ptr::copy(start, start.add(4), 12);
        }
        buf.data_off += 4;
        buf.len -= 4;
        buf.segment_len -= 4;
    }
}

/// Number of `bufs` due at `now`, up to a burst, or when the first one is, ns.
///
/// # Safety
/// All must be heads of pools and the caller's alone.
unsafe fn due_now(pace: &mut Pace, mode: Mode, bufs: &[*mut Buf], now: f64) -> Result<usize, f64> {
    for (i, &buf) in bufs.iter().take(BURST).enumerate() {
        // SAFETY: as this function.
        let (len, delay) = unsafe { buf.as_ref() }.map_or((0, 0), |buf| (buf.len, buf.user));
        let due = pace.due(mode, len, delay as f64, now);
        if due > now {
            return if i > 0 { Ok(i) } else { Err(due) };
        }
        pace.taken();
    }
    Ok(bufs.len().min(BURST))
}

/// Waits until `at`, ns, or until the script is stopped: sleeps as long as that is exact enough.
pub(crate) fn wait_until(world: &World, at: f64) {
    loop {
        let left = at - world.now() as f64;
        if left <= 0.0 || !world.is_running(0) {
            return;
        }
        if left > SPIN {
            std::thread::sleep(Duration::from_nanos((left - SPIN).min(1e7) as u64));
        } else {
            std::hint::spin_loop();
        }
    }
}
