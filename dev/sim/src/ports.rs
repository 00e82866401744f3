//! The ports and the clock the engine sees.

use crate::world::{SimCounts, World};
use port::memory::FreeFrames;
use port::{
    BURST, Burst, Clock, DriverDrops, KernelClock, Port, PortFacts, PortRequest, Queues, RxQueue, Stamps,
    TxQueue, VirtualClock,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use units::Nanos;

type Shared = Arc<Mutex<World>>;

fn lock(world: &Shared) -> MutexGuard<'_, World> {
    // A simulation runs on one thread; a poisoned lock means that thread has already panicked.
    world.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Time in a simulation: the same for all its ports.
#[derive(Clone)]
pub struct SimClock {
    /// A copy of the world's time that is cheap to read.
    now: Arc<AtomicU64>,
    world: Shared,
}

impl SimClock {
    pub(crate) fn new(world: Shared) -> Self {
        let now = Arc::new(AtomicU64::new(lock(&world).now.0));
        Self { now, world }
    }

    /// True counts so far.
    pub fn counts(&self) -> SimCounts {
        lock(&self.world).counts()
    }
}

impl Clock for SimClock {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos(self.now.load(Ordering::Relaxed))
    }
}

impl VirtualClock for SimClock {
    fn advance(&self, until: Nanos) {
        let now = lock(&self.world).advance(until);
        self.now.store(now.0, Ordering::Relaxed);
    }
}

/// A simulated port.
pub struct SimPort {
    facts: PortFacts,
    queues: Queues,
}

impl SimPort {
    pub(crate) fn new(
        index: usize,
        device: &str,
        mac: [u8; 6],
        speed_bps: u64,
        request: PortRequest,
        clock: &SimClock,
    ) -> Self {
        let world = &clock.world;
        let facts = PortFacts {
            device: device.to_owned(),
            driver: "sim".to_owned(),
            mac,
            frame_len_max: request.frame_len_max,
            vlan_bytes: 0,
            speed_bps: Some(speed_bps),
            netdev: None,
            numa_node: None,
            tx_checksum_offload: false,
            tells_unfinished_checksums: false,
            is_in_process: false,
            rx_spread: "none",
            xdp_mode: None,
        };
        let bytes = request.frame_len_max as usize;
        let tx = (0..request.queues.max(1)).map(|_| {
            Box::new(SimTx { index, world: world.clone(), free: frames(2 * BURST, bytes) })
                as Box<dyn TxQueue>
        });
        let free = frames(BURST, bytes);
        let next = lock(world).arrival_of(index);
        let rx = SimRx { index, world: world.clone(), now: clock.now.clone(), next, free };
        Self { facts, queues: Queues { tx: tx.collect(), rx: vec![Box::new(rx)] } }
    }
}

impl Port for SimPort {
    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    fn take_queues(&mut self) -> Queues {
        std::mem::replace(&mut self.queues, Queues { tx: Vec::new(), rx: Vec::new() })
    }

    fn driver_drops(&mut self) -> DriverDrops {
        DriverDrops::default()
    }
}

/// Some hundred kilobytes, without which nothing else would run either.
fn frames(count: usize, bytes: usize) -> FreeFrames {
    FreeFrames::new(count, bytes).expect("memory for some frames")
}

struct SimTx {
    index: usize,
    world: Shared,
    free: FreeFrames,
}

impl TxQueue for SimTx {
    fn alloc(&mut self, burst: &mut Burst, n: usize) -> usize {
        self.free.take(burst, n)
    }

    fn send(&mut self, burst: &mut Burst) -> usize {
        let mut world = lock(&self.world);
        let sent = (0..burst.len()).take_while(|i| world.send(self.index, burst.data(*i))).count();
        self.free.give_front(burst, sent);
        sent
    }

    fn free(&mut self, burst: &mut Burst) {
        let n = burst.len();
        self.free.give_front(burst, n);
    }
}

struct SimRx {
    index: usize,
    world: Shared,
    /// The world's time, and when this port's next frame arrives.
    now: Arc<AtomicU64>,
    next: Arc<AtomicU64>,
    free: FreeFrames,
}

impl RxQueue for SimRx {
    /// A frame is taken in when it arrives: there is no other time to give.
    fn stamp(&mut self, _: Stamps) -> Result<KernelClock, String> {
        Ok(KernelClock::MONOTONIC)
    }

    fn recv(&mut self, burst: &mut Burst) -> usize {
        if self.next.load(Ordering::Relaxed) > self.now.load(Ordering::Relaxed) {
            return 0;
        }
        let mut world = lock(&self.world);
        let first = burst.len();
        while world.has_arrived(self.index) && self.free.take(burst, 1) == 1 {
            let last = burst.len() - 1;
            if let Some(bytes) = world.receive(self.index) {
                burst.frame_mut(last).copy_from(&bytes);
                world.recycle(bytes);
            }
        }
        world.publish(self.index);
        burst.len() - first
    }

    fn free(&mut self, burst: &mut Burst) {
        let n = burst.len();
        self.free.give_front(burst, n);
    }
}
