//! The hosts behind one port as one worker sees them: flows, their timers, and what they owe.
//!
//! Frames arrive in bursts ([`Stack::receive`]), time passes ([`Stack::turn`]), frames leave in buffers that are lent
//! ([`Stack::transmit`]). Requests of an application while it handles an event are carried out as soon as it returns.
//!
//! Not here: neighbours' hardware addresses, echo (`neighbour`), ports; the worker of a frame is determined by
//! [`flow_owner`](crate::flow_owner) and enforced elsewhere.
//!
//! Invariants: a flow in the table has a slot that is not free, and every such slot is in the table, but for UDP flows that
//! close and whose successor is there already; a flow that owes
//! something is in the queue; no flow's entry in the wheel fires later than its earliest deadline. A flow that ends leaves its entry to
//! its slot: the next flow there need not make one.

mod express;
mod hops;
mod inward;
mod limits;
mod outward;
pub(crate) mod places;
mod slot;
mod udp;

use crate::app::{App, Datagrams, End, FlowId, GroupId, Io, Requests};
use crate::box_pool::BoxPool;
use crate::counts::TcpCounts;
use crate::endpoint::{Endpoint, Env, Events, State};
use crate::frame::Addresses;

use crate::frame_counts::StackCounts;
use crate::group::{Group, GroupConfig, datagram_max, mss_unsaid};
use crate::key::{self, Key, Keys, Transport};
use crate::names::Names;
use crate::queue::Queue;
use crate::slab::Slab;
use crate::table::{NONE, Table};
use crate::wheel::{self, Wheel, WheelPosition};
use express::{LastWord, PlainInward};
pub use hops::HopMove;
use inward::Inward;
use limits::{HOPS_MAX, Strangers};
use outward::{LongDatagram, Reply, Stalled};
use places::Places;
use slot::{DETACHED, ECT, FlowKind, IS_V6, QUEUED, RESETS, Slot, TEND, TOLD, WAKE};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use udp::{Backlogs, Udp};
use units::Nanos;

/// Frames of the longest burst.
pub const BURST: usize = 64;
/// Slots that are allocated at once.
const PAGE: usize = 512;
/// Timers worked off in one turn: more wait for the next one, so that frames are not kept waiting.
const TIMERS_AT_ONCE: usize = 1_024;
/// Furthest wake-up, ticks: 2^31 of them, 39 hours.
const FURTHEST_WAKE: u64 = i32::MAX as u64;

/// Why a flow can't be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectError {
    /// There is a flow between these addresses and ports. It may be waiting for old segments to die (TIME-WAIT).
    InUse,
    /// There is no room for another flow, address or hardware address.
    Full,
    /// The addresses are not of the same family.
    Families,
    /// The peer's address is a group address, or unspecified: TCP has one peer (RFC 9293 section 3.9.2.3, MUST-46).
    NoPeer,
    /// The group has no hop: whom to send to is known only to flows that peers begin.
    NoHop,
}

impl std::fmt::Display for ConnectError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::InUse => "there is a flow between these addresses and ports",
            Self::Full => "no room for another flow",
            Self::Families => "addresses of two families",
            Self::NoPeer => "the address is a group address, or unspecified",
            Self::NoHop => "the group has no hardware address to send to",
        })
    }
}

impl std::error::Error for ConnectError {}

/// Buffers for frames to be sent.
pub trait Sink {
    /// A buffer for a frame of exactly `len` bytes, without FCS; what is in it does not matter. `None`: no room now.
    fn frame(&mut self, len: usize) -> Option<&mut [u8]>;

    /// The same for a frame whose TCP or UDP checksum is [left](GroupConfig::leaves_checksums): a card must put it at
    /// `left`, or the other end must be informed.
    #[inline(always)]
    fn unfinished_frame(&mut self, len: usize, left: LeftChecksum) -> Option<&mut [u8]> {
        let _ = left;
        self.frame(len)
    }
}

/// Where the frame's headers are whose checksum is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftChecksum {
    /// Bytes before the IP header.
    pub before_ip: u8,
    /// Bytes of the IP header.
    pub ip: u8,
    /// IPv6, not IPv4.
    pub is_v6: bool,
    /// UDP, not TCP.
    pub is_udp: bool,
}

/// The hosts behind one port as one worker sees them.
#[derive(Debug)]
pub struct Stack<A: App> {
    slots: Slab<Slot<A::Flow>, PAGE>,
    table: Table,
    wheel: Wheel,
    busy: BoxPool,
    groups: Vec<Group>,
    places: Places,
    addresses: Names<u128>,
    hops: Names<[u8; 6]>,
    strangers: Strangers,
    keys: Keys,
    /// Flows that owe something.
    queue: Queue<u32>,
    /// Queued replies to segments without a receiver, and the last segments of flows.
    replies: VecDeque<Reply>,
    /// Last segments of flows that the express lane sends. Of the two queues one is empty.
    last_words: Queue<LastWord>,
    /// A segment there was no room for.
    stalled: Option<Stalled>,
    /// A datagram that leaves in fragments.
    long: Option<LongDatagram>,
    /// Identification of its fragments (RFC 791 section 3.2).
    fragment_id: u32,
    backlogs: Backlogs,
    /// UDP flows that are tended after the burst; of those that ended meanwhile, the numbers are in it still.
    to_tend: Vec<u32>,
    /// Requests of UDP flows, kept to be used again.
    datagrams: Option<Box<Datagrams>>,
    /// A burst being taken in, kept to be used again.
    burst: Vec<Inward>,
    /// The same of the express lane, and whether a group takes it.
    plain_burst: Vec<PlainInward>,
    has_lane: bool,
    /// The slot a segment came for last, and the hash of its key with the lane where the table may have it;
    /// [`NONE`](crate::table::NONE) once another flow is there.
    taken: (u32, u64, u8),
}

/// Passes on what happens on a TCP flow.
struct AppEvents<'a, A: App> {
    now: Nanos,
    app: &'a mut A,
    flow: &'a mut A::Flow,
    io: Io,
    acknowledged: u64,
}

impl<A: App> Events for AppEvents<'_, A> {
    #[inline]
    fn opened(&mut self) {
        self.app.opened(self.now, self.flow, &mut self.io);
    }

    #[inline]
    fn data(&mut self, bytes: &[u8]) {
        self.app.received(self.now, self.flow, &mut self.io, bytes);
    }

    #[inline]
    fn finished(&mut self) {
        self.app.finished(self.now, self.flow, &mut self.io);
    }

    #[inline]
    fn acknowledged(&mut self, offset: u64) {
        self.acknowledged = offset;
        self.app.acknowledged(self.now, self.flow, &mut self.io, offset);
    }
}

/// Context of an endpoint's call, from the parts of the stack that are not lent otherwise.
#[inline(always)]
fn env<'a>(now: Nanos, group: &'a mut Group, busy: &'a mut BoxPool, is_v6: bool) -> Env<'a> {
    let (mss_limit, mss_unsaid) = (group.mss_limit(is_v6), mss_unsaid(is_v6));
    Env { now, options: &group.config.tcp, mss_limit, mss_unsaid, busy, counts: &mut group.tcp }
}

/// The tick that has begun at `now`.
#[inline(always)]
fn tick(now: Nanos) -> u32 {
    (now.0 >> wheel::TICK_BITS) as u32
}

/// Ticks from `now` to `tick`, negative if it is past.
#[inline(always)]
fn until(now: Nanos, later: u32) -> i32 {
    later.wrapping_sub(tick(now)) as i32
}

impl<A: App> Stack<A> {
    /// A stack without flows, with room for `expected_flows` before its table grows. The same seed and the same calls
    /// give the same frames.
    pub fn new(seed: u64, expected_flows: usize, groups: Vec<GroupConfig>) -> Self {
        let mut hops = Names::new(random::word(seed, 1));
        let group = |config: GroupConfig| {
            let hop = config.hop_mac.and_then(|mac| hops.number(mac, HOPS_MAX));
            Group::new(config, hop.map(|hop| hop as u16))
        };
        let groups: Vec<Group> = groups.into_iter().map(group).collect();
        Self {
            has_lane: groups.iter().any(|group| group.lane.is_some()),
            plain_burst: Vec::with_capacity(BURST),
            groups,
            slots: Slab::new(),
            table: Table::new(expected_flows),
            wheel: Wheel::new(),
            busy: BoxPool::new(),
            places: Places::default(),
            addresses: Names::new(random::word(seed, 2)),
            hops,
            strangers: Strangers::new(expected_flows),
            keys: Keys::new(seed),
            queue: Queue::default(),
            replies: VecDeque::new(),
            last_words: Queue::default(),
            stalled: None,
            long: None,
            fragment_id: random::word(seed, 3) as u32,
            backlogs: Backlogs::default(),
            to_tend: Vec::new(),
            datagrams: None,
            burst: Vec::with_capacity(BURST),
            taken: (NONE, 0, 0),
        }
    }

    /// Serves `ports` of every address of a range: flows that peers begin there are the group's. Where ranges overlap,
    /// the first one counts. A range of two families is empty.
    pub fn listen(
        &mut self,
        group: GroupId,
        transport: Transport,
        addresses: RangeInclusive<IpAddr>,
        ports: RangeInclusive<u16>,
    ) {
        let tags = self.groups[usize::from(group.0)].tags;
        self.places.listen(group, tags, transport, addresses, ports);
    }

    /// Owns every address of a range: segments to them that belong to no flow get resets, datagrams get "port
    /// unreachable".
    pub fn owns(&mut self, group: GroupId, addresses: RangeInclusive<IpAddr>) {
        let tags = self.groups[usize::from(group.0)].tags;
        self.places.own(group, tags, addresses);
    }

    /// Opens a flow between an address and port of this side and one of the peer's, through `hop`, or the group's if
    /// none is given. A TCP flow owes its SYN then; a UDP flow is delivered as opened before this returns.
    ///
    /// # Errors
    /// If there is such a flow already, or no room for it, or its addresses make no flow. `flow` is dropped then, and
    /// the application gets no event.
    pub fn connect(
        &mut self,
        now: Nanos,
        app: &mut A,
        group: GroupId,
        transport: Transport,
        (local, remote): (SocketAddr, SocketAddr),
        hop: Option<[u8; 6]>,
        flow: A::Flow,
    ) -> Result<FlowId, ConnectError> {
        let addresses = key::addresses(local.ip(), remote.ip()).ok_or(ConnectError::Families)?;
        if transport == Transport::Tcp && !is_peer(remote.ip()) {
            return Err(ConnectError::NoPeer);
        }
        let own = &self.groups[usize::from(group.0)];
        let hop = match hop {
            Some(mac) => self.hops.number(mac, HOPS_MAX).ok_or(ConnectError::Full)? as u16,
            None => own.hop.ok_or(ConnectError::NoHop)?,
        };
        let ports = u32::from(local.port()) << 16 | u32::from(remote.port());
        let key = Key { addresses, ports, transport, tags: own.tags };
        let hash = self.keys.hash(&key);
        if self.find(&key, hash).is_some() {
            return Err(ConnectError::InUse);
        }
        let index = self.place(&key, hash, group, hop).ok_or(ConnectError::Full)?;
        let own = &mut self.groups[usize::from(group.0)];
        let slot = &mut self.slots[index];
        slot.flow = flow;
        match transport {
            Transport::Tcp => {
                let iss = own.config.tcp.isn.unwrap_or_else(|| self.keys.initial_sequence(hash, now.0));
                let mut env = env(now, own, &mut self.busy, slot.is_v6());
                slot.kind = FlowKind::Tcp(Endpoint::connect(&mut env, iss));
                enqueue(&mut self.queue, index, slot);
            }
            Transport::Udp => {
                own.stack.udp_opened += 1;
                slot.kind = FlowKind::Udp(Udp::new(tick(now)));
                self.tell_udp(now, app, index, |app, flow, io| app.opened(now, flow, io));
            }
        }
        Ok(FlowId(index))
    }

    /// Lets `f` see a flow, and carries out its requests: for reasons from outside, such as the end of a run. Returns
    /// whether there is such a flow; one whose end was delivered does not count.
    pub fn with(
        &mut self,
        now: Nanos,
        app: &mut A,
        id: FlowId,
        f: impl FnOnce(&mut A, &mut A::Flow, &mut Io),
    ) -> bool {
        if id.0 >= self.slots.end() || self.slots[id.0].is_free() || self.slots[id.0].has(TOLD) {
            return false;
        }
        if matches!(self.slots[id.0].kind, FlowKind::Udp(_)) {
            self.tell_udp(now, app, id.0, f);
        } else {
            let slot = &mut self.slots[id.0];
            let mut io = Io::new(id, GroupId(slot.group));
            f(app, &mut slot.flow, &mut io);
            self.settle(now, app, id.0, io.requests);
        }
        true
    }

    /// Flows whose number is `first` or above, in the order of their numbers: to see to all of them a few at a time. Those
    /// that only wait in TIME-WAIT are among them.
    pub fn flows_from(&self, first: u32) -> impl Iterator<Item = FlowId> {
        (first..self.slots.end()).filter(|index| !self.slots[*index].is_free()).map(FlowId)
    }

    /// A flow's own address and its peer's.
    pub fn ends(&self, id: FlowId) -> Option<(SocketAddr, SocketAddr)> {
        if id.0 >= self.slots.end() || self.slots[id.0].is_free() {
            return None;
        }
        let key = self.key_of(id.0);
        let (local, remote): (IpAddr, IpAddr) = match key.addresses {
            Addresses::V4 { from, to } => (Ipv4Addr::from(from).into(), Ipv4Addr::from(to).into()),
            Addresses::V6 { from, to } => (Ipv6Addr::from(from).into(), Ipv6Addr::from(to).into()),
        };
        Some((SocketAddr::new(local, key.local_port()), SocketAddr::new(remote, key.remote_port())))
    }

    /// Calls the flows whose time has come. Returns whether more are due: a turn is bounded.
    pub fn turn(&mut self, now: Nanos, app: &mut A) -> bool {
        for _ in 0..TIMERS_AT_ONCE {
            let Some((index, place)) = self.wheel.pop_due(now) else {
                if self.wheel.is_crowded() {
                    self.sweep();
                }
                return false;
            };
            let slot = &mut self.slots[index];
            if slot.place == place {
                slot.place = WheelPosition::NOWHERE;
                self.fire(now, app, index);
            }
        }
        true
    }

    /// When [`Stack::turn`] has something to do next; [`Nanos::MAX`] for never. Sometimes too early, never too late.
    #[inline]
    pub fn next_due(&self) -> Nanos {
        self.wheel.next_due()
    }

    /// Number of flows, regardless of their state.
    pub fn flows(&self) -> usize {
        self.table.len()
    }

    /// Counters of a group's TCP flows.
    pub fn counts(&self, group: GroupId) -> &TcpCounts {
        &self.groups[usize::from(group.0)].tcp
    }

    /// Counters of a group's frames.
    pub fn frame_counts(&self, group: GroupId) -> &StackCounts {
        &self.groups[usize::from(group.0)].stack
    }

    /// Swaps a group's counters with others, such as cleared ones: to begin another interval.
    pub fn swap_counts(&mut self, group: GroupId, tcp: &mut TcpCounts, frames: &mut StackCounts) {
        let group = &mut self.groups[usize::from(group.0)];
        std::mem::swap(&mut group.tcp, tcp);
        std::mem::swap(&mut group.stack, frames);
    }

    /// Boxes and queues lent to flows: none if no flow lost anything or has datagrams waiting.
    pub fn lent(&self) -> usize {
        self.busy.in_use() + self.backlogs.in_use()
    }

    /// The flow with `key`.
    #[inline(always)]
    fn find(&self, key: &Key, hash: u64) -> Option<u32> {
        if self.table.is_absent(hash) { None } else { self.find_any(*key, hash) }
    }

    /// By value, so that a key that is not looked for need not be in memory.
    #[inline(never)]
    fn find_any(&self, key: Key, hash: u64) -> Option<u32> {
        self.table.find(hash, |index| self.is_flow(index, &key))
    }

    #[inline(always)]
    fn is_flow(&self, index: u32, key: &Key) -> bool {
        let slot = &self.slots[index];
        let is_udp = match slot.kind {
            FlowKind::Tcp(_) => false,
            FlowKind::Udp(_) => true,
            FlowKind::Free => return false,
        };
        let is_same_address = match key.addresses {
            Addresses::V4 { from, to } => !slot.is_v6() && slot.local == from && slot.remote == to,
            Addresses::V6 { from, to } => {
                slot.is_v6()
                    && self.addresses.thing(slot.local) == from
                    && self.addresses.thing(slot.remote) == to
            }
        };
        slot.ports == key.ports
            && is_same_address
            && is_udp == (key.transport == Transport::Udp)
            && self.groups[usize::from(slot.group)].tags == key.tags
    }

    fn key_of(&self, index: u32) -> Key {
        key_of(&self.slots[index], &self.addresses, &self.groups)
    }

    /// A slot for a new flow, in the table; its kind must be set. `None` if there is no room.
    #[inline(always)]
    fn place(&mut self, key: &Key, hash: u64, group: GroupId, hop: u16) -> Option<u32> {
        let (local, remote) = match key.addresses {
            Addresses::V4 { from, to } => (from, to),
            Addresses::V6 { from, to } => {
                let most = u32::MAX as usize;
                (self.addresses.number(from, most)?, self.addresses.number(to, most)?)
            }
        };
        let index = match self.slots.take_free() {
            Some(index) => index,
            None => self.add_slot()?,
        };
        if self.taken.0 == index {
            self.taken.0 = NONE;
        }
        let slot = &mut self.slots[index];
        (slot.local, slot.remote, slot.ports) = (local, remote, key.ports);
        (slot.group, slot.hop) = (group.0, hop);
        slot.set(IS_V6, matches!(key.addresses, Addresses::V6 { .. }));
        slot.set(WAKE | ECT, false);
        let (slots, addresses, groups, keys) = (&self.slots, &self.addresses, &self.groups, &self.keys);
        self.table.insert(hash, index, |other| keys.hash(&key_of(&slots[other], addresses, groups)));
        Some(index)
    }

    #[cold]
    #[inline(never)]
    fn add_slot(&mut self) -> Option<u32> {
        self.slots.push(Slot::free())
    }

    /// Carries out requests on a TCP flow, which may trigger further requests of the application. Returns whether the
    /// flow still exists.
    #[inline]
    fn settle(&mut self, now: Nanos, app: &mut A, index: u32, io: Requests) -> bool {
        if !io.is_empty() && !self.carry_out(now, app, index, io) {
            return false;
        }
        let slot = &mut self.slots[index];
        if slot.has(RESETS) && !slot.has(QUEUED) && slot.is_flushed() {
            self.end_by_reset(now, app, index);
            return false;
        }
        if slot.is_in_time_wait() && !slot.holds(&self.busy) {
            tell_closed(now, app, index, slot, End::Closed);
        } else if slot.owes_segment() && !slot.has(WAKE) {
            enqueue(&mut self.queue, index, slot);
            return true;
        }
        self.schedule(now, index);
        true
    }

    fn carry_out(&mut self, now: Nanos, app: &mut A, index: u32, mut io: Requests) -> bool {
        loop {
            let slot = &mut self.slots[index];
            set_wake(slot, now, io);
            let mut env = env(now, &mut self.groups[usize::from(slot.group)], &mut self.busy, slot.is_v6());
            let FlowKind::Tcp(endpoint) = &mut slot.kind else { return false };
            if io.has(Requests::ABORT) {
                endpoint.abort(&mut env);
                self.end(now, app, index, End::Aborted);
                return false;
            }
            if io.send > 0 {
                endpoint.send(&mut env, io.send);
            }
            if io.has(Requests::ACKNOWLEDGE) {
                endpoint.acknowledge();
            }
            if io.has(Requests::RESET) {
                slot.set(RESETS, true);
                return true;
            }
            if io.has(Requests::CLOSE)
                && let Some(end) = endpoint.close(&mut env)
            {
                self.end(now, app, index, end);
                return false;
            }
            if io.has(Requests::PAUSE) {
                endpoint.pause(&mut env);
            }
            if !io.has(Requests::RESUME) {
                return true;
            }
            let next = Io::new(FlowId(index), GroupId(slot.group));
            let mut events = AppEvents { now, app, flow: &mut slot.flow, io: next, acknowledged: 0 };
            endpoint.resume(&mut env, &mut events);
            io = events.io.requests;
            if io.is_empty() {
                return true;
            }
        }
    }

    /// Lets the application see a UDP flow, and carries out its requests. Returns whether the flow still exists.
    fn tell_udp(
        &mut self,
        now: Nanos,
        app: &mut A,
        index: u32,
        f: impl FnOnce(&mut A, &mut A::Flow, &mut Io),
    ) -> bool {
        let slot = &mut self.slots[index];
        let group = &mut self.groups[usize::from(slot.group)];
        let mut datagrams = self.datagrams.take().unwrap_or_default();
        if let FlowKind::Udp(udp) = &slot.kind {
            datagrams.sent = udp.offset();
        }
        let mut io = Io::for_udp(FlowId(index), GroupId(slot.group), datagrams);
        f(app, &mut slot.flow, &mut io);
        let mut datagrams = io.take_datagrams();
        let io = io.requests;
        set_wake(slot, now, io);
        if let Some(on) = datagrams.marks {
            slot.set(ECT, on);
        }
        let most = datagram_max(slot.is_v6());
        let FlowKind::Udp(udp) = &mut slot.kind else { return false };
        let waits = datagrams.tend && datagrams.lengths.is_empty();
        for len in datagrams.lengths.drain(..) {
            if udp.closing {
                break;
            }
            match u16::try_from(len).ok().filter(|len| *len <= most) {
                Some(len) => udp.push(&mut self.backlogs, len),
                None => group.stack.datagrams_too_long += 1,
            }
        }
        let (rouse, exchange) = (datagrams.rouse, datagrams.exchange);
        *datagrams = Datagrams { lengths: std::mem::take(&mut datagrams.lengths), ..Datagrams::default() };
        self.datagrams = Some(datagrams);
        udp.closing |= io.has(Requests::CLOSE);
        let end = if io.has(Requests::ABORT | Requests::RESET) {
            Some(End::Aborted)
        } else {
            (udp.closing && udp.next().is_none()).then_some(End::Closed)
        };
        let closes = udp.closing || end.is_some();
        let unread = if closes { app.unread(&mut slot.flow) } else { VecDeque::new() };
        let next = (!unread.is_empty()).then(|| self.key_of(index)).zip(Some(self.slots[index].hop));
        match end {
            Some(end) => self.end(now, app, index, end),
            None if waits => self.tend_later(index),
            None => self.schedule(now, index),
        }
        if exchange.is_some() || rouse.is_some() {
            self.see_to_others(now, app, index, exchange, rouse);
        }
        if let Some((key, hop)) = next {
            self.take_unread(now, app, &key, hop, unread);
        }
        end.is_none()
    }

    /// Tends a UDP flow after the burst.
    fn tend_later(&mut self, index: u32) {
        let slot = &mut self.slots[index];
        if !slot.has(TEND) {
            slot.set(TEND, true);
            self.to_tend.push(index);
        }
    }

    /// A burst is over: lets the application tend the UDP flows for which it wants that.
    #[inline]
    fn tend(&mut self, now: Nanos, app: &mut A) {
        while !self.to_tend.is_empty() {
            let mut flows = std::mem::take(&mut self.to_tend);
            for index in flows.drain(..) {
                let slot = &mut self.slots[index];
                if slot.has(TEND) {
                    slot.set(TEND, false);
                    self.tell_udp(now, app, index, |app, flow, io| app.tended(now, flow, io));
                }
            }
            if self.to_tend.is_empty() {
                self.to_tend = flows;
            }
        }
    }

    /// Carries out what a UDP flow requested for another one of its group.
    #[cold]
    fn see_to_others(
        &mut self,
        now: Nanos,
        app: &mut A,
        index: u32,
        exchange: Option<FlowId>,
        rouse: Option<FlowId>,
    ) {
        let group = GroupId(self.slots[index].group);
        if let Some(other) = exchange {
            self.exchange(FlowId(index), other);
        }
        if let Some(FlowId(other)) = rouse.filter(|other| self.is_udp(*other, group)) {
            self.tell_udp(now, app, other, |app, flow, io| app.woke(now, flow, io));
        }
    }

    /// Whether there is such a UDP flow in a group.
    fn is_udp(&self, FlowId(index): FlowId, group: GroupId) -> bool {
        index < self.slots.end()
            && matches!(self.slots[index].kind, FlowKind::Udp(_))
            && self.slots[index].group == group.0
    }

    /// Exchanges the addresses and ports of two UDP flows of a group: each sends and receives from now on where the other
    /// one did. Returns whether they can be exchanged: one that closes may have no place any more.
    pub fn exchange(&mut self, one: FlowId, other: FlowId) -> bool {
        let group = self.slots.end().gt(&one.0).then(|| GroupId(self.slots[one.0].group));
        let fits = |flow: FlowId| {
            group.is_some_and(|group| self.is_udp(flow, group)) && !self.slots[flow.0].has(DETACHED)
        };
        if one == other || !fits(one) || !fits(other) {
            return false;
        }
        let [(a, before), (b, after)] =
            [one, other].map(|flow| (flow.0, self.keys.hash(&self.key_of(flow.0))));
        if self.slots[a].is_v6() != self.slots[b].is_v6() {
            return false;
        }
        self.table.remove(before, a);
        self.table.remove(after, b);
        let place = |slot: &Slot<A::Flow>| (slot.local, slot.remote, slot.ports, slot.hop);
        let (of_a, of_b) = (place(&self.slots[a]), place(&self.slots[b]));
        for (index, (local, remote, ports, hop), hash) in [(a, of_b, after), (b, of_a, before)] {
            let slot = &mut self.slots[index];
            (slot.local, slot.remote, slot.ports, slot.hop) = (local, remote, ports, hop);
            if let FlowKind::Udp(udp) = &mut slot.kind {
                // It was the other flow's port.
                udp.is_refused = false;
            }
            let (slots, addresses, groups, keys) = (&self.slots, &self.addresses, &self.groups, &self.keys);
            self.table.insert(hash, index, |other| keys.hash(&key_of(&slots[other], addresses, groups)));
        }
        self.taken.0 = NONE;
        true
    }

    /// Datagrams that a flow of a listener left unread begin the next one.
    #[cold]
    fn take_unread(&mut self, now: Nanos, app: &mut A, key: &Key, hop: u16, unread: VecDeque<Vec<u8>>) {
        let Some(group) = self.places.listener(key) else { return };
        let hash = self.keys.hash(key);
        for datagram in unread {
            let found = self.find(key, hash);
            let open = match found {
                Some(index) if self.is_closing(index) => {
                    self.detach(index, hash);
                    None
                }
                found => found,
            };
            let Some(index) = open.or_else(|| self.begin_datagrams(now, app, key, hash, group, hop)) else {
                continue;
            };
            self.tell_udp(now, app, index, |app, flow, io| app.received(now, flow, io, &datagram));
        }
        self.tend(now, app);
    }

    /// A UDP flow that closes makes room in the table for the next one.
    fn detach(&mut self, index: u32, hash: u64) {
        self.slots[index].set(DETACHED, true);
        self.table.remove(hash, index);
    }

    /// Whether a UDP flow ends with its last datagram.
    #[inline]
    fn is_closing(&self, index: u32) -> bool {
        matches!(&self.slots[index].kind, FlowKind::Udp(udp) if udp.closing)
    }

    /// A UDP flow that a peer begins; `None` if there is no room for it, or the application wants no such flow.
    fn begin_datagrams(
        &mut self,
        now: Nanos,
        app: &mut A,
        key: &Key,
        hash: u64,
        group: GroupId,
        hop: u16,
    ) -> Option<u32> {
        let Some(index) = self.place(key, hash, group, hop) else {
            self.groups[usize::from(group.0)].stack.flows_refused += 1;
            return None;
        };
        self.slots[index].kind = FlowKind::Udp(Udp::new(tick(now)));
        self.groups[usize::from(group.0)].stack.udp_accepted += 1;
        self.tell_udp(now, app, index, |app, flow, io| app.opened(now, flow, io)).then_some(index)
    }

    /// Puts the flow into the queue if it owes something; else into the wheel if it waits for something. A flow in the
    /// queue waits for nothing but room, and to be woken; it is tended again when it has been sent.
    fn schedule(&mut self, now: Nanos, index: u32) {
        let slot = &mut self.slots[index];
        let group = &self.groups[usize::from(slot.group)];
        schedule(now, index, slot, group, &mut self.queue, &mut self.wheel);
    }

    /// The flow's entry in the wheel came up: calls what is due, and puts it back for what is not.
    fn fire(&mut self, now: Nanos, app: &mut A, index: u32) {
        let slot = &mut self.slots[index];
        let group = &mut self.groups[usize::from(slot.group)];
        match &mut slot.kind {
            FlowKind::Tcp(endpoint) if endpoint.deadline(now).is_some_and(|tick| until(now, tick.0) <= 0) => {
                let io = Io::new(FlowId(index), GroupId(slot.group));
                let is_v6 = slot.flags & IS_V6 != 0;
                let mut env = env(now, group, &mut self.busy, is_v6);
                let mut events = AppEvents { now, app, flow: &mut slot.flow, io, acknowledged: 0 };
                let end = endpoint.on_timer(&mut env, &mut events);
                let io = events.io.requests;
                if let Some(end) = end {
                    self.end(now, app, index, end);
                    return;
                }
                if !io.is_empty() && !self.carry_out(now, app, index, io) {
                    return;
                }
            }
            FlowKind::Udp(udp)
                if udp_deadline(udp, group).is_some_and(|deadline| until(now, deadline) <= 0) =>
            {
                let end = if udp.is_refused { End::Refused } else { End::IdleTimeout };
                self.end(now, app, index, end);
                return;
            }
            FlowKind::Free => return,
            _ => {}
        }
        self.wake(now, app, index);
    }

    /// Wakes the application if it is time, and tends the flow.
    fn wake(&mut self, now: Nanos, app: &mut A, index: u32) {
        let slot = &mut self.slots[index];
        if !slot.has(WAKE) || until(now, slot.wake) > 0 {
            self.schedule(now, index);
            return;
        }
        slot.set(WAKE, false);
        if matches!(slot.kind, FlowKind::Udp(_)) {
            self.tell_udp(now, app, index, |app, flow, io| app.woke(now, flow, io));
        } else {
            let mut io = Io::new(FlowId(index), GroupId(slot.group));
            app.woke(now, &mut slot.flow, &mut io);
            self.settle(now, app, index, io.requests);
        }
    }

    /// Removes a flow. Its last output (a reset, a last acknowledgement) is still sent.
    fn end(&mut self, now: Nanos, app: &mut A, index: u32, end: End) {
        self.take_last_words(now, index);
        let slot = &mut self.slots[index];
        if !slot.has(DETACHED) {
            let (hash, lane) = match self.taken {
                (taken, hash, lane) if taken == index => (hash, lane),
                _ => (self.keys.hash(&key_of(slot, &self.addresses, &self.groups)), 0),
            };
            self.table.remove_from(hash, index, lane);
        }
        tell_closed(now, app, index, slot, end);
        // Its entry in the wheel stays: the slot's next flow has one then.
        slot.kind = FlowKind::Free;
        slot.set(TOLD | DETACHED | RESETS | TEND, false);
        self.slots.give_back(index);
        if self.stalled.as_ref().is_some_and(|stalled| stalled.index == index) {
            self.stalled = None;
        }
    }

    /// Ends a flow by a reset.
    #[cold]
    fn end_by_reset(&mut self, now: Nanos, app: &mut A, index: u32) {
        let slot = &mut self.slots[index];
        let mut env = env(now, &mut self.groups[usize::from(slot.group)], &mut self.busy, slot.is_v6());
        if let FlowKind::Tcp(endpoint) = &mut slot.kind {
            endpoint.abort(&mut env);
        }
        self.end(now, app, index, End::Aborted);
    }

    fn sweep(&mut self) {
        let slots = &mut self.slots;
        self.wheel.sweep(|index, before, after| {
            let place = &mut slots[index].place;
            let is_there = *place == before;
            if is_there {
                *place = after;
            }
            is_there
        });
    }
}

/// Delivers a flow's end to the application, once: when it enters TIME-WAIT, or later if the application is paused and has not received
/// everything, or when it ends.
#[inline(always)]
fn tell_closed<A: App>(now: Nanos, app: &mut A, index: u32, slot: &mut Slot<A::Flow>, end: End) {
    if slot.has(TOLD) {
        return;
    }
    slot.set(TOLD, true);
    slot.set(WAKE, false);
    app.closed(now, &mut slot.flow, FlowId(index), GroupId(slot.group), end);
    slot.flow = A::Flow::default();
}

/// See [`Stack::schedule`].
fn schedule<F>(
    now: Nanos,
    index: u32,
    slot: &mut Slot<F>,
    group: &Group,
    queue: &mut Queue<u32>,
    wheel: &mut Wheel,
) {
    let (owes, deadline) = match &slot.kind {
        FlowKind::Tcp(endpoint) if endpoint.owes() => (true, None),
        FlowKind::Tcp(endpoint) => (false, tcp_deadline(now, endpoint, group, slot.place)),
        FlowKind::Udp(udp) => (udp.next().is_some(), udp_deadline(udp, group)),
        FlowKind::Free => return,
    };
    if owes {
        enqueue(queue, index, slot);
    }
    let earliest = match deadline {
        Some(deadline) if slot.has(WAKE) && until(now, slot.wake) < until(now, deadline) => slot.wake,
        Some(deadline) => deadline,
        None if slot.has(WAKE) => slot.wake,
        None => return,
    };
    wheel.arm(now, index, &mut slot.place, earliest);
}

/// See [`Stack::schedule`], of a TCP flow that owes nothing.
#[inline(always)]
fn schedule_idle<F>(now: Nanos, index: u32, slot: &mut Slot<F>, group: &Group, wheel: &mut Wheel) {
    let FlowKind::Tcp(endpoint) = &slot.kind else { return };
    debug_assert!(!endpoint.owes());
    let earliest = match tcp_deadline(now, endpoint, group, slot.place) {
        Some(deadline) if slot.has(WAKE) && until(now, slot.wake) < until(now, deadline) => slot.wake,
        Some(deadline) => deadline,
        None if slot.has(WAKE) => slot.wake,
        None => return,
    };
    wheel.arm(now, index, &mut slot.place, earliest);
}

/// Puts a flow into the queue, if it is not there.
#[inline(always)]
fn enqueue<F>(queue: &mut Queue<u32>, index: u32, slot: &mut Slot<F>) {
    if !slot.has(QUEUED) {
        slot.set(QUEUED, true);
        queue.push_back(index);
    }
}

fn key_of<F>(slot: &Slot<F>, addresses: &Names<u128>, groups: &[Group]) -> Key {
    let addresses = if slot.flags & IS_V6 != 0 {
        Addresses::V6 { from: addresses.thing(slot.local), to: addresses.thing(slot.remote) }
    } else {
        Addresses::V4 { from: slot.local, to: slot.remote }
    };
    let transport = if matches!(slot.kind, FlowKind::Udp(_)) { Transport::Udp } else { Transport::Tcp };
    Key { addresses, ports: slot.ports, transport, tags: groups[usize::from(slot.group)].tags }
}

/// Whether an address can be one host's.
fn is_peer(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(ip) => !ip.is_multicast() && !ip.is_broadcast() && !ip.is_unspecified(),
        IpAddr::V6(ip) => !ip.is_multicast() && !ip.is_unspecified(),
    }
}

/// When the flow wants to be called. A flow that is being opened has a long time-out, and soon a short one: it comes up
/// early, so that it needs one entry and not two.
#[inline]
fn tcp_deadline(now: Nanos, endpoint: &Endpoint, group: &Group, place: WheelPosition) -> Option<u32> {
    let deadline = endpoint.deadline(now)?.0;
    if place != WheelPosition::NOWHERE || !matches!(endpoint.state(), State::SynSent | State::SynReceived) {
        return Some(deadline);
    }
    let soon = tick(now).wrapping_add((group.config.tcp.rto_min.0 >> wheel::TICK_BITS) as u32);
    Some(if until(now, deadline) < until(now, soon) { deadline } else { soon })
}

/// When a silent flow, or one whose port is unreachable, ends. One that is closing ends with its last datagram instead.
#[inline]
fn udp_deadline(udp: &Udp, group: &Group) -> Option<u32> {
    let options = &group.config.udp;
    let ticks = |time: Nanos| time.0.div_ceil(1 << wheel::TICK_BITS).min(FURTHEST_WAKE) as u32;
    if udp.is_refused {
        return Some(udp.refused.wrapping_add(ticks(options.refused_after)));
    }
    Some(udp.heard.wrapping_add(ticks(options.idle_timeout?)))
}

/// Records the application's wake-up: at a whole tick, not before the requested instant.
#[inline]
fn set_wake<F>(slot: &mut Slot<F>, now: Nanos, requests: Requests) {
    match requests.wake() {
        None => {}
        Some(Nanos::MAX) => slot.set(WAKE, false),
        Some(at) => {
            let ticks = at.0.div_ceil(1 << wheel::TICK_BITS).min((now.0 >> wheel::TICK_BITS) + FURTHEST_WAKE);
            slot.wake = ticks as u32;
            slot.set(WAKE, true);
        }
    }
}

#[cfg(test)]
mod tests;
