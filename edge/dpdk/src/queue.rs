//! An open port and its queues.
//!
//! Invariants:
//! - A device is closed when its port and all its queues are gone: each holds a share of it. Pools go after the device.
//! - A queue is used by one thread at a time, which `&mut self` expresses; DPDK requires no more.

use crate::device::Kind;
use crate::eal::Lease;
use crate::ffi;
use crate::library::Dpdk;
use crate::listener;
use crate::memory_files::MemoryFiles;
use crate::pool::{HEADROOM, Pool};
use crate::sockets::{Socket, XdpStatistics};
use crate::thread::{self, Shielded};
use crate::watchdog;
use os::interface_lock::InterfaceLock;
use port::{Burst, DriverDrops, FrameHead, PoolId, Port, PortError, PortFacts, Queues, RxQueue, TxQueue};
use std::ffi::CString;
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// A device EAL knows. Closes it on drop.
pub(crate) struct Opened {
    pub dpdk: Dpdk,
    pub port: u16,
    bus: CString,
    name: CString,
    /// Whether it must be stopped before it is closed.
    pub started: bool,
    /// Whether promiscuous mode was enabled here.
    pub made_promiscuous: bool,
    /// Of its interfaces; given back after it is closed.
    pub locks: OnceLock<Vec<InterfaceLock>>,
    closed: bool,
    /// Socket on which its driver waits for replies of a vhost-user peer.
    pub peer_socket: Option<String>,
    /// Where its driver may listen for memif peers.
    pub listens_at: Option<String>,
    /// Starts and closes where its driver takes connections.
    pub on_interrupt_thread: bool,
    /// Whether its driver is that of AF_XDP.
    pub is_xdp: bool,
    /// Its sockets, found as its queues were set up.
    pub sockets: Vec<Socket>,
    /// Of each receive queue, its driver's descriptor that becomes readable when frames arrive, if that is known.
    pub wakers: Vec<Option<RawFd>>,
    /// One for each transmit queue; dropped after the device is closed, as fields are.
    pub tx_pools: Vec<Pool>,
    pub rx_pools: Vec<Pool>,
    /// Set once a memif port has its peer.
    pub shielded: OnceLock<Shielded>,
    /// EAL's, which the driver closes by mistake.
    pub memory_files: MemoryFiles,
    /// Received frames in several buffers, which can't be read here.
    pub rx_too_long: AtomicU64,
}

impl Opened {
    pub(crate) fn new(dpdk: Dpdk, port: u16, bus: CString, name: CString, is_xdp: bool) -> Self {
        Self {
            dpdk,
            port,
            bus,
            name,
            started: false,
            made_promiscuous: false,
            locks: OnceLock::new(),
            closed: false,
            peer_socket: None,
            listens_at: None,
            on_interrupt_thread: false,
            sockets: Vec::new(),
            wakers: Vec::new(),
            is_xdp,
            tx_pools: Vec::new(),
            rx_pools: Vec::new(),
            shielded: OnceLock::new(),
            memory_files: MemoryFiles::default(),
            rx_too_long: AtomicU64::new(0),
        }
    }

    /// Stops and closes the device; what drop does, for those who hold the lease.
    pub(crate) fn close(&mut self, lease: &mut Lease) {
        if self.closed {
            return;
        }
        self.closed = true;
        self.shielded = OnceLock::new();
        if lease.eal().is_none() {
            // EAL was ended before its ports, which closed them and took their memory back.
            self.tx_pools.drain(..).for_each(std::mem::forget);
            self.rx_pools.drain(..).for_each(std::mem::forget);
            return;
        }
        let (dpdk, port) = (self.dpdk, self.port);
        let (started, promiscuous) = (self.started, self.made_promiscuous);
        let (bus, name) = (&self.bus, &self.name);
        // SAFETY: EAL runs, the port is open, and no queue of it exists any more: `self` is not shared.
        let close = || unsafe {
            if promiscuous {
                dpdk.rte_eth_promiscuous_disable(port);
            }
            if started {
                dpdk.rte_eth_dev_stop(port);
            }
            dpdk.rte_eth_dev_close(port);
            dpdk.rte_eal_hotplug_remove(bus.as_ptr(), name.as_ptr());
        };
        if self.on_interrupt_thread {
            thread::on_interrupt_thread(dpdk, close)
        } else {
            watchdog::bounded(self.peer_socket.as_deref(), close)
        }
        self.memory_files = MemoryFiles::default();
        // The AF_XDP driver of DPDK 22.11 never lets go of a UMEM (`xdp_umem_destroy` is reached at a reference count
        // of 1 and not of 0), so its socket stays bound to the queue and the next port there fails with EBUSY.
        if self.is_xdp {
            self.sockets.iter().for_each(|socket| socket.close_if_forgotten());
        }
        if let Some(socket) = self.listens_at.take() {
            listener::close_leftover(dpdk, &socket);
        }
        lease.log();
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if !self.closed {
            self.close(&mut Lease::closing(self.dpdk));
        }
    }
}

/// The control side of a DPDK port.
pub(crate) struct DpdkPort {
    pub facts: PortFacts,
    pub queues: Queues,
    pub opened: Arc<Opened>,
    pub drops: DropCounts,
}

impl Port for DpdkPort {
    fn facts(&self) -> &PortFacts {
        &self.facts
    }

    fn take_queues(&mut self) -> Queues {
        std::mem::replace(&mut self.queues, Queues { tx: Vec::new(), rx: Vec::new() })
    }

    fn driver_drops(&mut self) -> DriverDrops {
        self.drops.read(&self.opened)
    }
}

/// Where the losses of a port are counted, and what the counts were when it was opened.
pub(crate) struct DropCounts {
    /// Whether `oerrors` counts frames that were taken and lost. Most drivers count frames they refused there, which
    /// the worker sends again.
    tx_errors_are_losses: bool,
}

impl DropCounts {
    pub(crate) fn new(kind: &Kind) -> Self {
        Self { tx_errors_are_losses: matches!(kind, Kind::Pcap { .. } | Kind::Pci { .. }) }
    }

    fn read(&self, opened: &Opened) -> DriverDrops {
        let mut counters = ffi::Counters::default();
        // SAFETY: the port is open as long as `opened` is.
        unsafe { opened.dpdk.eagre_counters(opened.port, &mut counters) };
        let mut rx = vec![
            ("no_buffer", counters.rx_no_buffer),
            ("driver_errors", counters.rx_errors),
            ("too_long", opened.rx_too_long.load(Ordering::Relaxed)),
        ];
        let mut tx = Vec::new();
        // Of AF_XDP the sockets' statistics tell more.
        if !opened.is_xdp {
            rx.push(("driver_missed", counters.rx_missed));
        }
        if self.tx_errors_are_losses {
            tx.push(("driver_errors", counters.tx_errors));
        }
        if opened.is_xdp {
            let sum = sum_xdp(&opened.sockets);
            // In copy mode the kernel counts a frame it had no buffer for under both names; in zero-copy mode the
            // card's driver asks for buffers ahead, and an empty fill ring is not yet a loss.
            let no_buffer = sum.rx_fill_ring_empty.min(sum.rx_dropped);
            rx.push(("xdp_no_buffer", no_buffer));
            rx.push(("xdp_dropped", sum.rx_dropped - no_buffer));
            rx.push(("xdp_ring_full", sum.rx_ring_full));
            rx.push(("xdp_invalid_buffers", sum.rx_invalid_descs));
            tx.push(("xdp_invalid_descriptors", sum.tx_invalid_descs));
        }
        DriverDrops { rx, tx, tx_joined: 0 }
    }
}

fn sum_xdp(sockets: &[Socket]) -> XdpStatistics {
    let mut sum = XdpStatistics::default();
    for one in sockets.iter().filter_map(|socket| socket.xdp_statistics()) {
        sum.rx_dropped += one.rx_dropped;
        sum.rx_invalid_descs += one.rx_invalid_descs;
        sum.tx_invalid_descs += one.tx_invalid_descs;
        sum.rx_ring_full += one.rx_ring_full;
        sum.rx_fill_ring_empty += one.rx_fill_ring_empty;
        sum.tx_ring_empty += one.tx_ring_empty;
    }
    sum
}

/// A queue to send from.
pub(crate) struct DpdkTx {
    dpdk: Dpdk,
    pool: *mut ffi::Mempool,
    port: u16,
    queue: u16,
    /// The driver fills in checksums, and must see such frames beforehand.
    prepares: bool,
    /// The driver moves a frame's start when it sends it, and leaves it there.
    moves_data: bool,
    /// Keeps the port open and the pool alive.
    _opened: Arc<Opened>,
    device: Arc<str>,
}

// SAFETY: nothing in it is bound to a thread; DPDK's queues may be used by any one thread at a time.
unsafe impl Send for DpdkTx {}

impl DpdkTx {
    pub(crate) fn new(
        opened: &Arc<Opened>,
        queue: u16,
        prepares: bool,
        moves_data: bool,
        device: &Arc<str>,
    ) -> Self {
        let pool = opened.tx_pools[usize::from(queue)].raw();
        Self {
            dpdk: opened.dpdk,
            pool,
            port: opened.port,
            queue,
            prepares,
            moves_data,
            _opened: opened.clone(),
            device: device.clone(),
        }
    }

    /// Lets the driver see the frames if one of them has checksum offload; returns how many may be sent.
    #[inline]
    fn prepare(&self, heads: &mut [*mut FrameHead]) -> u16 {
        // SAFETY: heads in a burst are valid.
        let asks = heads.iter().any(|&head| unsafe { (*head).flags } != 0);
        if !asks {
            return heads.len() as u16;
        }
        // SAFETY: an open port, a queue of it, and as many heads as said.
        unsafe { self.dpdk.eagre_tx_prepare(self.port, self.queue, heads.as_mut_ptr(), heads.len() as u16) }
    }
}

impl TxQueue for DpdkTx {
    fn attach(&mut self) -> Result<(), PortError> {
        thread::register(self.dpdk, &self.device)
    }

    #[inline]
    fn alloc(&mut self, burst: &mut Burst, n: usize) -> usize {
        let spare = burst.spare();
        let (mut n, lcore) = (n.min(spare.len()), thread::lcore());
        while n > 0 {
            // SAFETY: the pool lives as long as `opened`; the number is this thread's; there is room for `n` heads.
            let code = unsafe { self.dpdk.eagre_frames_get(self.pool, lcore, spare.as_mut_ptr(), n as u32) };
            if code == 0 {
                break;
            }
            n /= 2;
        }
        if self.moves_data {
            for &head in &spare[..n] {
                // SAFETY: a head that came out of the pool and is ours alone.
                unsafe { (*head).data_off = HEADROOM };
            }
        }
        // SAFETY: the pool gave these frames away.
        unsafe { burst.grow(n, PoolId::of(self.pool)) };
        n
    }

    #[inline]
    fn send(&mut self, burst: &mut Burst) -> usize {
        assert!(burst.is_of(PoolId::of(self.pool)), "frames of another queue are sent");
        // SAFETY: what the driver takes is in front, and is forgotten below.
        let heads = unsafe { burst.heads() };
        let n = if self.prepares { self.prepare(heads) } else { heads.len() as u16 };
        // SAFETY: an open port, a queue of it, and as many heads as said; those it takes are forgotten below.
        let n = unsafe { self.dpdk.eagre_tx_burst(self.port, self.queue, heads.as_mut_ptr(), n) };
        burst.forget_front(usize::from(n));
        usize::from(n)
    }

    fn free(&mut self, burst: &mut Burst) {
        assert!(burst.is_of(PoolId::of(self.pool)), "frames of another queue are given back");
        // SAFETY: all are forgotten below.
        let heads = unsafe { burst.heads() };
        let n = heads.len();
        if n > 0 {
            let lcore = thread::lcore();
            // SAFETY: frames of this pool that no driver has: `alloc` is where the burst got them. The number is this thread's.
            unsafe { self.dpdk.eagre_frames_put(self.pool, lcore, heads.as_mut_ptr(), n as u32) };
            burst.forget_front(n);
        }
    }
}

/// A queue to receive from.
pub(crate) struct DpdkRx {
    dpdk: Dpdk,
    port: u16,
    queue: u16,
    /// The driver may spread one frame over several buffers.
    may_chain: bool,
    opened: Arc<Opened>,
    device: Arc<str>,
}

impl DpdkRx {
    pub(crate) fn new(opened: &Arc<Opened>, queue: u16, may_chain: bool, device: &Arc<str>) -> Self {
        let dpdk = opened.dpdk;
        Self { dpdk, port: opened.port, queue, may_chain, opened: opened.clone(), device: device.clone() }
    }

    /// Frames that came in by this queue; each knows the pool that it goes back to.
    #[inline(always)]
    fn pool(&self) -> PoolId {
        PoolId::of(self.opened.rx_pools[usize::from(self.queue)].raw())
    }

    /// Frees the frames that are spread over several buffers and closes the gaps; returns how many are left.
    #[cold]
    fn drop_chained(&mut self, heads: &mut [*mut FrameHead], first: usize) -> usize {
        let (mut kept, mut dropped) = (first, 0);
        for i in first..heads.len() {
            // SAFETY: heads the driver just handed over; each is looked at, and freed or kept, once.
            unsafe {
                if self.dpdk.eagre_first_chained(&heads[i], 1) == 0 {
                    self.dpdk.rte_pktmbuf_free_bulk(&mut heads[i], 1);
                    dropped += 1;
                } else {
                    heads[kept] = heads[i];
                    kept += 1;
                }
            }
        }
        self.opened.rx_too_long.fetch_add(dropped, Ordering::Relaxed);
        kept
    }
}

impl RxQueue for DpdkRx {
    fn attach(&mut self) -> Result<(), PortError> {
        thread::register(self.dpdk, &self.device)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        let waker = (*self.opened.wakers.get(usize::from(self.queue))?)?;
        // SAFETY: the driver has it open as long as the port is, which `opened` keeps so.
        Some(unsafe { BorrowedFd::borrow_raw(waker) })
    }

    #[inline]
    fn recv(&mut self, burst: &mut Burst) -> usize {
        let spare = burst.spare();
        // SAFETY: an open port, a queue of it, and room for as many heads as said.
        let n = unsafe {
            self.dpdk.eagre_rx_burst(self.port, self.queue, spare.as_mut_ptr(), spare.len() as u16)
        };
        let mut n = usize::from(n);
        if self.may_chain && n > 0 {
            // SAFETY: the driver has just written `n` heads.
            let first = unsafe { self.dpdk.eagre_first_chained(spare.as_ptr(), n as u16) };
            if usize::from(first) < n {
                n = self.drop_chained(&mut spare[..n], usize::from(first));
            }
        }
        // SAFETY: the driver handed these frames over.
        unsafe { burst.grow(n, self.pool()) };
        n
    }

    fn free(&mut self, burst: &mut Burst) {
        assert!(burst.is_of(self.pool()), "frames of another queue are given back");
        // SAFETY: all are forgotten below.
        let heads = unsafe { burst.heads() };
        let n = heads.len();
        if n > 0 {
            // SAFETY: frames this burst owns; each goes back to the pool it says it is from.
            unsafe { self.dpdk.rte_pktmbuf_free_bulk(heads.as_mut_ptr(), n as u32) };
            burst.forget_front(n);
        }
    }
}
