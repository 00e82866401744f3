//! State of a flow.

use crate::box_pool::BoxPool;
use crate::endpoint::{Endpoint, State};
use crate::slab::Linked;
use crate::stack::udp::Udp;
use crate::wheel::WheelPosition;

/// Kind of a flow.
#[derive(Debug)]
pub(crate) enum FlowKind {
    Tcp(Endpoint),
    Udp(Udp),
    /// No flow: the number waits for the next one.
    Free,
}

/// A flow. Fields used first come first; with sessions' state, a slot is two cache lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Slot<F> {
    /// The own port in the upper half, the peer's in the lower.
    pub ports: u32,
    /// An IPv4 address, or the number of an IPv6 address; of a free slot, the next free one.
    pub local: u32,
    pub remote: u32,
    pub group: u16,
    /// Number of the hardware address its frames go to.
    pub hop: u16,
    pub kind: FlowKind,
    /// The tick of the application's wake-up, if [`WAKE`] is set.
    pub wake: u32,
    /// Where its entry in the wheel is.
    pub place: WheelPosition,
    pub flags: u8,
    pub flow: F,
}

/// The flow is in the queue of those that owe something. Stays while the slot is free.
pub(crate) const QUEUED: u8 = 1;
/// Its addresses are numbers of IPv6 addresses.
pub(crate) const IS_V6: u8 = 2;
/// The application requested a wake-up.
pub(crate) const WAKE: u8 = 4;
/// The end of the flow was delivered to the application: it only waits for old segments to expire (TIME-WAIT).
pub(crate) const TOLD: u8 = 8;
/// A UDP flow that ends with its last datagram and is in the table no more: another may have its addresses and ports.
pub(crate) const DETACHED: u8 = 16;
/// A TCP flow that ends by a reset once what was sent before is out.
pub(crate) const RESETS: u8 = 32;
/// A UDP flow whose datagrams leave with ECT(0): it understands congestion marks.
pub(crate) const ECT: u8 = 64;
/// A UDP flow that is tended after the burst.
pub(crate) const TEND: u8 = 128;

// An endpoint of 68 bytes, 36 of the application, and 24 more.
const _: () = assert!(size_of::<Slot<[u32; 9]>>() == 2 * 64);

impl<F: Default> Slot<F> {
    pub(crate) fn free() -> Self {
        Self {
            ports: 0,
            local: 0,
            remote: 0,
            group: 0,
            hop: 0,
            kind: FlowKind::Free,
            wake: 0,
            place: WheelPosition::NOWHERE,
            flags: 0,
            flow: F::default(),
        }
    }
}

impl<F: Default> Linked for Slot<F> {
    fn unused() -> Self {
        Self::free()
    }

    #[inline(always)]
    fn link(&self) -> u32 {
        self.local
    }

    #[inline(always)]
    fn set_link(&mut self, link: u32) {
        self.local = link;
    }
}

impl<F> Slot<F> {
    #[inline(always)]
    pub(crate) fn is_v6(&self) -> bool {
        self.flags & IS_V6 != 0
    }

    /// Whether it is a TCP flow of which nothing but TIME-WAIT is left.
    #[inline(always)]
    pub(crate) fn is_in_time_wait(&self) -> bool {
        matches!(&self.kind, FlowKind::Tcp(endpoint) if endpoint.state() == State::TimeWait)
    }

    /// Whether data arrived that were not delivered to a paused application yet.
    pub(crate) fn holds(&self, busy: &BoxPool) -> bool {
        matches!(&self.kind, FlowKind::Tcp(endpoint) if endpoint.holds(busy))
    }

    /// Reads a little of each cache line.
    #[inline(always)]
    pub(crate) fn touch(&self) -> u32 {
        self.ports ^ u32::from(self.flags)
    }

    /// Whether it is a TCP flow with a segment to send.
    #[inline(always)]
    pub(crate) fn owes_segment(&self) -> bool {
        matches!(&self.kind, FlowKind::Tcp(endpoint) if endpoint.owes())
    }

    /// Whether it is a TCP flow that has nothing left to send, or can't send it.
    pub(crate) fn is_flushed(&self) -> bool {
        matches!(&self.kind, FlowKind::Tcp(endpoint) if endpoint.is_flushed())
    }

    #[inline(always)]
    pub(crate) fn is_free(&self) -> bool {
        matches!(self.kind, FlowKind::Free)
    }

    #[inline(always)]
    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, flag: u8, on: bool) {
        if on {
            self.flags |= flag;
        } else {
            self.flags &= !flag;
        }
    }
}
