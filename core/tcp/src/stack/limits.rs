//! State that unknown senders can create in the stack: half-open flows, and the hardware addresses of peers.
//!
//! Senders of SYNs that never complete the handshake must not keep others out: the oldest half-open flows give way to
//! new ones, and numbers of hardware addresses that no flow uses any more are reused.

use super::slot::FlowKind;
use super::{Stack, tick, until};
use crate::app::{App, End};
use crate::endpoint::State;
use crate::queue::Queue;
use units::Nanos;

/// Half-open flows of a stack at most, unless it expects more flows; Linux allows a listener 4,096 by default. A server that
/// accepts a million sessions a second over a path of 100 ms needs 100,000.
pub(super) const HALF_OPEN_MAX: usize = 1 << 18;
/// Hardware addresses that flows can have at a time.
pub(super) const HOPS_MAX: usize = u16::MAX as usize;
/// Ticks of 66 µs between two searches for hardware addresses that no flow uses, if the first found few.
const SEARCH_PAUSE: u32 = 1_500;

/// Flows opened by unknown senders, and when unused hardware addresses were last searched in vain.
#[derive(Debug)]
pub(super) struct Strangers {
    /// Flows that were half-open when they came, the oldest first; some are not any more.
    half_open: Queue<HalfOpen>,
    /// Maximum number of half-open flows.
    half_open_max: usize,
    /// Length of the queue from which on it is searched for flows that are not half-open any more.
    half_open_search: usize,
    /// Not before this tick is there another search.
    search: Option<u32>,
}

/// A flow's slot, and its initial sequence number: another flow may have the slot since.
#[derive(Debug, Clone, Copy)]
struct HalfOpen {
    index: u32,
    iss: u32,
}

impl Strangers {
    pub(super) fn new(expected_flows: usize) -> Self {
        let most = HALF_OPEN_MAX.max(expected_flows);
        Self { half_open: Queue::default(), half_open_max: most, half_open_search: most, search: None }
    }

    #[cfg(test)]
    pub(super) fn limit_to(&mut self, most: usize) {
        (self.half_open_max, self.half_open_search) = (most, most);
    }
}

impl<A: App> Stack<A> {
    /// Remembers a flow that a peer's SYN began. If there are too many, the oldest half-open ones are dropped.
    #[inline(always)]
    pub(super) fn note_half_open(&mut self, now: Nanos, app: &mut A, index: u32, iss: u32) {
        // Two go for one that comes: where handshakes are completed, the queue stays as short as there are half-open flows.
        for _ in 0..2 {
            if self.strangers.half_open.front().is_some_and(|oldest| !self.is_half_open(*oldest)) {
                self.strangers.half_open.pop_front();
            }
        }
        if self.strangers.half_open.len() >= self.strangers.half_open_search {
            self.limit_half_open(now, app);
        }
        self.strangers.half_open.push_back(HalfOpen { index, iss });
    }

    /// Forgets flows that are half-open no more. If there are still too many, a quarter is dropped.
    #[cold]
    #[inline(never)]
    fn limit_half_open(&mut self, now: Nanos, app: &mut A) {
        self.forget_half_open();
        let most = self.strangers.half_open_max;
        if self.strangers.half_open.len() >= most {
            self.give_up_half_open(now, app, most / 4 * 3);
        }
        // A search looks at every flow of the queue: it must not come with every SYN.
        self.strangers.half_open_search = most.max(self.strangers.half_open.len() + most / 4);
    }

    fn forget_half_open(&mut self) {
        let mut half_open = std::mem::take(&mut self.strangers.half_open);
        half_open.retain(|flow| self.is_half_open(*flow));
        self.strangers.half_open = half_open;
    }

    /// Gives up the oldest half-open flows until there are at most `keep`.
    #[cold]
    #[inline(never)]
    fn give_up_half_open(&mut self, now: Nanos, app: &mut A, keep: usize) {
        self.forget_half_open();
        let mut half_open = std::mem::take(&mut self.strangers.half_open);
        for flow in half_open.take_first(half_open.len().saturating_sub(keep)) {
            // A flow can be in the queue twice where all begin with the same number (`isn`).
            if self.is_half_open(flow) {
                let group = usize::from(self.slots[flow.index].group);
                self.groups[group].stack.flows_refused += 1;
                self.end(now, app, flow.index, End::SetupTimeout);
            }
        }
        self.strangers.half_open = half_open;
    }

    fn is_half_open(&self, flow: HalfOpen) -> bool {
        matches!(&self.slots[flow.index].kind, FlowKind::Tcp(endpoint)
            if endpoint.state() == State::SynReceived && endpoint.iss() == flow.iss)
    }

    /// The number of a peer's hardware address. If all are taken, those that no flow uses any more are free again, and half
    /// of the half-open flows give theirs up. `None` if that does not help.
    pub(super) fn hop_of(&mut self, now: Nanos, app: &mut A, mac: [u8; 6]) -> Option<u16> {
        let hop = match self.hops.number(mac, HOPS_MAX) {
            Some(hop) => hop,
            None => {
                self.free_hops(now, app);
                self.hops.number(mac, HOPS_MAX)?
            }
        };
        Some(hop as u16)
    }

    #[cold]
    #[inline(never)]
    fn free_hops(&mut self, now: Nanos, app: &mut A) {
        if self.strangers.search.is_some_and(|search| until(now, search) > 0) {
            return;
        }
        let half_open = self.strangers.half_open.len();
        self.give_up_half_open(now, app, half_open / 2);
        let mut used = vec![false; HOPS_MAX];
        let mut mark = |hop: u16| used[usize::from(hop)] = true;
        self.groups.iter().filter_map(|group| group.hop).for_each(&mut mark);
        let slots = (0..self.slots.end()).map(|index| &self.slots[index]);
        slots.filter(|slot| !matches!(slot.kind, FlowKind::Free)).for_each(|slot| mark(slot.hop));
        let freed = self.hops.keep_only(|hop| used[hop as usize]);
        // A search looks at every flow: it must not come with every SYN.
        self.strangers.search = (freed < HOPS_MAX / 16).then(|| tick(now).wrapping_add(SEARCH_PAUSE));
    }
}
