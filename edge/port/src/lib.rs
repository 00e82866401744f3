//! Interface of the engine to the outside: ports with their queues, bursts of frames, and a clock.
//!
//! Not here: any driver but the in-process pair ([`ring`]) and `null`. Ports of the machine live in `dpdk`, `packet` and
//! `afxdp`, simulated ones in `sim`. The syntax of port strings is in [`name`]; `dpdk` finds the device of the machine.
//!
//! Invariants: a [`Burst`] owns its frames until a queue takes them; a queue belongs to one thread at a time and never
//! blocks; nothing on the path of a packet allocates, locks or makes an additional system call.

#![allow(unsafe_code)]

mod burst;
pub mod bytes;
mod error;
mod frame;
pub mod loose;
pub mod memory;
pub mod name;
pub mod null;
pub mod ring;

pub use burst::{BURST, Burst, PoolId};
pub use error::{PortError, PortErrorKind};
pub use frame::{
    FrameHead, FrameMut, HEAD_BYTES, RX_FLAG_CHECKSUM_UNFINISHED, TX_FLAG_IPV4, TX_FLAG_IPV4_CHECKSUM,
    TX_FLAG_IPV6,
};
pub use frame::{TX_FLAG_TCP_CHECKSUM, TX_FLAG_UDP_CHECKSUM, TxOffload};
pub use name::PortName;

#[cfg(unix)]
use std::os::fd::BorrowedFd;
use units::Nanos;

/// Where time comes from: the processor's counter on a real run, a number that jumps in a simulated one.
pub trait Clock {
    /// The present instant. Never goes back on one thread.
    fn now(&self) -> Nanos;

    /// The present instant on the scale of a clock that the kernel or a card stamps with, ns; `None` where time is not real.
    fn kernel_ns(&self, _clock: KernelClock) -> Option<u64> {
        None
    }
}

/// A clock of the kernel's or of a card, by its number for `clock_gettime`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelClock(pub i32);

impl KernelClock {
    /// `CLOCK_REALTIME`
    pub const REALTIME: Self = Self(0);
    /// `CLOCK_MONOTONIC`
    pub const MONOTONIC: Self = Self(1);
}

/// Source of frames' arrival times, where that is not the worker that takes them in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stamps {
    /// The kernel, when the driver hands it the frame.
    Kernel,
    /// The network card.
    Hardware,
}

/// Time that only passes on request.
pub trait VirtualClock: Clock {
    /// Jumps to `until` or to the next event on any link, whichever is first. Never goes back.
    fn advance(&self, until: Nanos);
}

/// Properties and features of a port; known once it is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortFacts {
    /// The device string it was opened by.
    pub device: String,
    /// The driver's name, such as `net_af_xdp` or `ring`.
    pub driver: String,
    /// Hardware address.
    pub mac: [u8; 6],
    /// Longest frame with FCS the port carries, bytes.
    pub frame_len_max: u32,
    /// Bytes by which a frame that begins with an 802.1Q tag may be longer: the kernel does not count that tag in an
    /// interface's MTU.
    pub vlan_bytes: u32,
    /// Layer-1 bit rate, if the link has one; a virtual link has the rate declared in the profile.
    pub speed_bps: Option<u64>,
    /// Kernel interface behind the port, if there is one.
    pub netdev: Option<String>,
    /// Network node (NUMA) the device sits on, if known.
    pub numa_node: Option<u32>,
    /// Whether the port fills in IPv4, UDP and TCP checksums itself on request.
    pub tx_checksum_offload: bool,
    /// Whether the port reports for each received frame if its TCP or UDP checksum was left to a network card that it
    /// never passed ([`Burst::has_unfinished_checksum`]).
    pub tells_unfinished_checksums: bool,
    /// Whether its other end is in this process: frames arrive unmodified, with the sender's flags.
    pub is_in_process: bool,
    /// Spread of received frames over several receive queues: `rss`, `pair`, or `none` with one queue.
    pub rx_spread: &'static str,
    /// Mode of an AF_XDP port, such as `native, copy`: where its program runs, and whether the kernel copies frames.
    pub xdp_mode: Option<String>,
}

impl PortFacts {
    /// Longest frame with FCS the port carries, bytes: one that begins with an 802.1Q tag, or another.
    pub fn longest(&self, is_tagged: bool) -> u32 {
        self.frame_len_max.saturating_add(if is_tagged { self.vlan_bytes } else { 0 })
    }
}

/// Parameters for opening a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortRequest {
    /// Queues wanted in each direction: one for each worker. A port that has fewer gives what it has.
    pub queues: u16,
    /// Longest frame with FCS that will be sent or expected, bytes. Buffers hold an ordinary frame at least, for the
    /// other side's requests.
    pub frame_len_max: u32,
    /// Whether this process will be confined: then frames leave by calls that cannot name another interface.
    pub confined: bool,
}

impl PortRequest {
    /// Bytes a buffer must hold.
    pub fn buffer_bytes(self) -> u32 {
        self.frame_len_max.max(1518)
    }
}

/// A port's queues, one pair or more, for the workers to take.
pub struct Queues {
    /// Transmit queues; worker *i* uses the *i*-th.
    pub tx: Vec<Box<dyn TxQueue>>,
    /// Receive queues.
    pub rx: Vec<Box<dyn RxQueue>>,
}

/// Frames that were lost between the tester's queues and the wire, since the port was opened.
///
/// A loss counted here is the tester's own and must never be laid at the door of the device under test.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DriverDrops {
    /// Frames that reached the port and that no receive queue delivered, by reason.
    pub rx: Vec<(&'static str, u64)>,
    /// Frames a transmit queue took and that never left, by reason.
    pub tx: Vec<(&'static str, u64)>,
    /// Frames that left as the rest of a longer one: an interface may count only that one. They are no loss.
    pub tx_joined: u64,
}

/// The control side of a port. Never touched by a worker.
pub trait Port: Send {
    /// Properties of the port.
    fn facts(&self) -> &PortFacts;

    /// Hands over the queues; a second call gets none.
    fn take_queues(&mut self) -> Queues;

    /// Frames dropped so far according to driver and kernel. May be called while traffic runs.
    fn driver_drops(&mut self) -> DriverDrops;
}

/// Where a worker sends. Owned by one thread.
pub trait TxQueue: Send {
    /// Called once by the thread that will use the queue, before anything else.
    fn attach(&mut self) -> Result<(), PortError> {
        Ok(())
    }

    /// Adds up to `n` frames to `burst` and returns how many: fewer when all buffers are still in flight.
    ///
    /// A frame keeps the bytes, length and tag it had when it was last sent from this queue, or has tag 0.
    fn alloc(&mut self, burst: &mut Burst, n: usize) -> usize;

    /// Sends from the front of `burst` and returns how many frames the port took; the others stay in `burst`.
    fn send(&mut self, burst: &mut Burst) -> usize;

    /// Takes unsent frames back.
    fn free(&mut self, burst: &mut Burst);
}

/// Where a worker receives. Owned by one thread.
pub trait RxQueue: Send {
    /// Called once by the thread that will use the queue, before anything else.
    fn attach(&mut self) -> Result<(), PortError> {
        Ok(())
    }

    /// Descriptor that becomes readable when frames arrive, and stays so while some wait; `None` if there is none.
    #[cfg(unix)]
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Appends the frames that have arrived, as many as there is room for, and returns how many.
    fn recv(&mut self, burst: &mut Burst) -> usize;

    /// Takes looked-at frames back.
    fn free(&mut self, burst: &mut Burst);

    /// Whether received frames are in the core's cache already, because the thread that receives them wrote them a moment ago:
    /// loading them ahead is of no use.
    fn is_warm(&self) -> bool {
        false
    }

    /// From now on, frames have arrival times, see [`Burst::arrived_ns`]. Returns the clock that they are of.
    ///
    /// # Errors
    /// Why they have none.
    fn stamp(&mut self, _by: Stamps) -> Result<KernelClock, String> {
        Err("its driver gives no arrival times; that of 'afpacket:' does".to_owned())
    }

    /// From now on, the kernel may record test packets, returned by [`RxQueue::recorded`] instead of their frames;
    /// `None`: all frames are delivered, as initially. Returns whether it will; `false` from a port without this
    /// feature.
    ///
    /// # Errors
    /// Why this queue cannot although ports of its kind can. All frames are delivered.
    fn record(&mut self, _packets: Option<&TestPackets>) -> Result<bool, String> {
        Ok(false)
    }

    /// Writes records of test packets, oldest first, as many as there are and `records` has room for; returns how many.
    fn recorded(&mut self, _records: &mut [Recorded]) -> usize {
        0
    }
}

/// Properties that distinguish the test packets of a run from all other frames; see the signature in `wire`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestPackets {
    /// The run's mark, not zero.
    pub mark: u32,
    /// The keys of the signature's check.
    pub keys: [u64; 2],
    /// Bytes without FCS of the shortest and the longest frame of each stream; of streams of other ports a shortest that is
    /// longer than the longest.
    pub lengths: Vec<[u16; 2]>,
}

/// A test packet that the kernel took in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recorded {
    /// When it came in, CLOCK_MONOTONIC, ns; zero: soon after the one before it.
    pub monotonic_ns: u64,
    /// Time of sending, ns modulo 2^40, from its signature.
    pub time: u64,
    /// Its stream.
    pub stream: u32,
    /// Its number in the lane.
    pub sequence: u32,
    /// The lane.
    pub lane: u8,
    /// Bytes of the frame without FCS.
    pub bytes: u16,
}
