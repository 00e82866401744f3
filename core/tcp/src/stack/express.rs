//! The express lane of a stack: bursts of plain frames in, expected segments to their flows, and frames of what endpoints send by theirs.
//!
//! Not here: everything else, which goes the long way (`inward`, `outward`).

use super::inward::Inward;
use super::slot::{FlowKind, IS_V6, RESETS, Slot, WAKE};
use super::{AppEvents, BURST, Sink, Stack, enqueue, schedule_idle, set_wake};
use crate::app::{App, End, FlowId, GroupId, Io, Requests};
use crate::box_pool::BoxPool;
use crate::endpoint::{Endpoint, Env, Events, Express, State};
use crate::frame::{Addresses, ETHERNET, IPV4, Tags};
use crate::group::{Group, UnfinishedChecksums, mss_unsaid};
use crate::key::{Key, Keys, Transport};
use crate::lane::{self, Ends, LEFT, Lane, Plain, Short, ShortSegment};
use crate::names::Names;
use crate::queue::Queue;
use crate::segment::{Flags, Segment};
use crate::table::{NONE, Table};
use crate::wheel::Wheel;
use std::hint::black_box;
use units::Nanos;

/// The last segment of a flow that is no more.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastWord {
    pub group: u16,
    pub ends: Ends,
    pub segment: Short,
}

/// A plain frame on its way in; see [`Plain`].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PlainInward {
    pub both: u64,
    pub hash: u64,
    pub ports: u32,
    /// The slot it is probably for.
    pub guess: u32,
    pub end: u16,
    pub ecn: u8,
    /// The lane of that slot in its home.
    pub lane: u8,
}

/// A segment of a plain frame, and its frame.
#[derive(Clone, Copy)]
struct Arrived<'a> {
    bytes: &'a [u8],
    inward: &'a PlainInward,
    is_unfinished: bool,
    /// Sum of the words of its header and options.
    sum: u64,
    payload: &'a [u8],
}

/// Remaining work after a segment.
enum Settled {
    Nothing,
    /// Out of the ordinary: [`Stack::settle`].
    Unusual,
    Over(End),
}

/// Offset of the control bits in a plain frame.
const CONTROL_BITS: usize = ETHERNET + IPV4 + 13;

impl PlainInward {
    #[inline(always)]
    fn read(frame: &[u8], keys: &Keys, table: &Table) -> Option<Self> {
        let Plain { both, ports, end, ecn } = Plain::read(frame)?;
        let hash = keys.hash_plain(both, ports);
        let (guess, lane) = table.guess_lane(hash);
        Some(Self { both, hash, ports, guess, end, ecn, lane })
    }
}

/// A segment for an endpoint.
trait Take {
    /// The endpoint takes it in: `on_segment`, or a shorter way with the same effect.
    fn take(self, endpoint: &mut Endpoint, env: &mut Env<'_>, events: &mut impl Events) -> Option<End>;
}

impl Take for ShortSegment<'_> {
    #[inline(always)]
    fn take(self, endpoint: &mut Endpoint, env: &mut Env<'_>, events: &mut impl Events) -> Option<End> {
        if endpoint.expects(env, &self) {
            endpoint.express_segment(env, &self, events)
        } else if endpoint.is_completed_by(env, &self) {
            endpoint.express_completion(env, &self, events)
        } else if endpoint.is_reset_by(&self) {
            endpoint.express_reset(env, &self, events)
        } else if endpoint.is_closed_by(env, &self) {
            endpoint.express_close(env, &self, events)
        } else {
            endpoint.on_segment(env, &self.long(), events)
        }
    }
}

/// A SYN-ACK.
struct SynAck<'a>(Segment<'a>);

impl Take for SynAck<'_> {
    #[inline(always)]
    fn take(self, endpoint: &mut Endpoint, env: &mut Env<'_>, events: &mut impl Events) -> Option<End> {
        let Self(segment) = &self;
        if endpoint.is_answered_by(segment) {
            endpoint.express_syn_ack(env, segment, events)
        } else {
            endpoint.on_segment(env, segment, events)
        }
    }
}

impl<A: App> Stack<A> {
    /// Takes in a burst of plain frames as [`Stack::receive_told`] does; `None` if there is another one among them, and nothing was
    /// done.
    #[inline]
    pub(super) fn receive_plain(
        &mut self,
        now: Nanos,
        app: &mut A,
        frames: &[&[u8]],
        unfinished: u64,
    ) -> Option<u64> {
        if frames.len() > BURST {
            return None;
        }
        let mut all = std::mem::take(&mut self.plain_burst);
        let foreign = if self.read_plain(&mut all, frames) {
            Some(self.take_burst(now, app, &all, frames, unfinished))
        } else {
            None
        };
        self.plain_burst = all;
        foreign
    }

    /// Reads a burst of plain frames, and the first bytes of the slots they are probably for: many can wait for memory at the same time.
    /// Returns whether all are plain.
    #[inline(always)]
    fn read_plain(&self, burst: &mut Vec<PlainInward>, frames: &[&[u8]]) -> bool {
        if burst.len() != BURST {
            burst.resize(BURST, PlainInward::default());
        }
        let (keys, table) = (self.keys, &self.table);
        for (inward, frame) in burst.iter_mut().zip(frames) {
            let Some(read) = PlainInward::read(frame, &keys, table) else { return false };
            *inward = read;
        }
        let mut touched = 0;
        for (inward, _) in burst.iter().zip(frames) {
            if inward.guess != NONE {
                touched ^= self.slots[inward.guess].touch();
            }
        }
        black_box(touched);
        true
    }

    /// Takes in such a burst.
    #[inline(always)]
    fn take_burst(
        &mut self,
        now: Nanos,
        app: &mut A,
        burst: &[PlainInward],
        frames: &[&[u8]],
        unfinished: u64,
    ) -> u64 {
        let (mut foreign, mut left) = (0, unfinished);
        for (number, (inward, frame)) in burst.iter().zip(frames).enumerate() {
            let is_unfinished = left & 1 != 0;
            left >>= 1;
            let is_taken = if inward.guess == NONE {
                self.take_first_syn(now, app, frame, inward, is_unfinished)
            } else {
                self.take_plain(now, app, frame, inward, is_unfinished)
            };
            if !is_taken {
                let inward = Inward::of_plain(number as u32, inward, is_unfinished);
                foreign |= u64::from(!self.take_segment(now, app, frame, &inward)) << number;
            }
        }
        foreign
    }

    /// Takes in a segment of a flow that needs nothing out of the ordinary before its endpoint sees it; returns whether it is one. If
    /// not, nothing was done.
    #[inline(always)]
    fn take_plain(
        &mut self,
        now: Nanos,
        app: &mut A,
        bytes: &[u8],
        inward: &PlainInward,
        is_unfinished: bool,
    ) -> bool {
        let flags = Flags(bytes[CONTROL_BITS]);
        if flags.has(Flags::SYN) {
            // A first SYN may begin another flow.
            return flags.has(Flags::ACK) && self.take_syn_ack(now, app, bytes, inward, is_unfinished);
        }
        let Some((segment, sum)) = ShortSegment::read(bytes, inward.end) else { return false };
        let arrived = Arrived { bytes, inward, is_unfinished, sum, payload: segment.payload };
        self.hand_over(now, app, &arrived, segment)
    }

    /// The same of a SYN-ACK.
    fn take_syn_ack(
        &mut self,
        now: Nanos,
        app: &mut A,
        bytes: &[u8],
        inward: &PlainInward,
        is_unfinished: bool,
    ) -> bool {
        let Some((segment, sum)) = ShortSegment::read_syn(bytes, inward.end) else { return false };
        let arrived = Arrived { bytes, inward, is_unfinished, sum, payload: segment.payload };
        self.hand_over(now, app, &arrived, SynAck(segment))
    }

    /// Lets the endpoint that a segment is probably for take it in; returns whether it is for it.
    #[inline(always)]
    fn hand_over(&mut self, now: Nanos, app: &mut A, arrived: &Arrived<'_>, segment: impl Take) -> bool {
        let Arrived { bytes, inward, is_unfinished, sum, payload } = *arrived;
        let index = inward.guess;
        let slot = &mut self.slots[index];
        let both = u64::from(slot.local) << 32 | u64::from(slot.remote);
        let FlowKind::Tcp(endpoint) = &mut slot.kind else { return false };
        if both != inward.both || slot.ports != inward.ports || slot.flags & IS_V6 != 0 || inward.ecn == 0b11
        {
            return false;
        }
        let group = &mut self.groups[usize::from(slot.group)];
        if !group.lane.as_ref().is_some_and(|lane| lane.is_to_own(bytes)) {
            return false;
        }
        let is_told = is_unfinished && group.config.unfinished_checksums == UnfinishedChecksums::Told;
        if !is_told && !lane::is_sum_right(inward.both, inward.end, sum, payload) {
            return false;
        }
        group.count_plain(bytes, inward.end, is_told);
        self.taken = (index, inward.hash, inward.lane);
        let io = Io::new(FlowId(index), GroupId(slot.group));
        let mut events = AppEvents { now, app, flow: &mut slot.flow, io, acknowledged: 0 };
        let mut env = env(now, group, &mut self.busy);
        let end = segment.take(endpoint, &mut env, &mut events);
        let AppEvents { io, acknowledged, .. } = events;
        let io = io.into_requests();
        let settled = match end {
            None => settle(now, index, slot, group, (&mut self.busy, &mut self.queue, &mut self.wheel), io),
            Some(end) => Settled::Over(end),
        };
        if acknowledged > 0 && self.stalled.is_some() {
            self.trim_stalled(index, acknowledged);
        }
        match settled {
            Settled::Nothing => {}
            Settled::Unusual => {
                self.settle(now, app, index, io);
            }
            Settled::Over(end) => self.end(now, app, index, end),
        }
        true
    }

    /// Takes in the first SYN of a flow that a peer begins; returns whether it is one, and in order. If not, nothing was done.
    #[inline]
    fn take_first_syn(
        &mut self,
        now: Nanos,
        app: &mut A,
        bytes: &[u8],
        inward: &PlainInward,
        is_unfinished: bool,
    ) -> bool {
        if inward.ecn == 0b11 || bytes[CONTROL_BITS] != Flags::SYN.0 {
            return false;
        }
        let (own, peer) = ((inward.both >> 32) as u32, inward.both as u32);
        let addresses = Addresses::V4 { from: own, to: peer };
        let key = Key { addresses, ports: inward.ports, transport: Transport::Tcp, tags: Tags::default() };
        let Some(id) = self.places.listener(&key).filter(|_| addresses.is_to_host()) else { return false };
        let Some((segment, sum)) = ShortSegment::read_syn(bytes, inward.end) else { return false };
        let group = &mut self.groups[usize::from(id.0)];
        let is_own = group.lane.as_ref().is_some_and(|lane| lane.is_to_own(bytes));
        let Some(hop) = group.hop.filter(|_| is_own) else { return false };
        if !self.table.is_absent(inward.hash) && self.table.find(inward.hash, |_| true).is_some() {
            return false;
        }
        let is_told = is_unfinished && group.config.unfinished_checksums == UnfinishedChecksums::Told;
        if !is_told && !lane::is_sum_right(inward.both, inward.end, sum, segment.payload) {
            return false;
        }
        group.stack.unfinished_checksum += u64::from(is_told);
        group.stack.frames_in += 1;
        group.stack.frame_bytes_in += bytes.len() as u64;
        self.accept(now, app, &key, inward.hash, id, hop, &segment);
        true
    }
}

/// Context of an endpoint's call, without the largest segments: only the opening of a flow reads them, which is not here.
#[inline(always)]
fn env<'a>(now: Nanos, group: &'a mut Group, busy: &'a mut BoxPool) -> Env<'a> {
    let counts = &mut group.tcp;
    Env { now, options: &group.config.tcp, mss_limit: 0, mss_unsaid: mss_unsaid(false), busy, counts }
}

/// Carries out an application's requests, and tends the flow: [`Stack::settle`], unless they are out of the ordinary.
#[inline(always)]
fn settle<F>(
    now: Nanos,
    index: u32,
    slot: &mut Slot<F>,
    group: &mut Group,
    (busy, queue, wheel): (&mut BoxPool, &mut Queue<u32>, &mut Wheel),
    io: Requests,
) -> Settled {
    let FlowKind::Tcp(endpoint) = &mut slot.kind else { return Settled::Nothing };
    if !io.is_simple() || slot.flags & RESETS != 0 || endpoint.state() == State::TimeWait {
        return Settled::Unusual;
    }
    if io.send > 0 || io.has(Requests::CLOSE) {
        let mut env = env(now, group, busy);
        if io.send > 0 {
            endpoint.express_send(&mut env, io.send);
        }
        if io.has(Requests::CLOSE)
            && let Some(end) = endpoint.close(&mut env)
        {
            set_wake(slot, now, io);
            return Settled::Over(end);
        }
    }
    let owes = endpoint.owes();
    set_wake(slot, now, io);
    if owes {
        enqueue(queue, index, slot);
        if slot.flags & WAKE != 0 {
            wheel.arm(now, index, &mut slot.place, slot.wake);
        }
    } else {
        schedule_idle(now, index, slot, group, wheel);
    }
    Settled::Nothing
}

/// Addresses, ports and hop of a flow over IPv4.
#[inline(always)]
pub(super) fn ends_of<F>(slot: &Slot<F>, hops: &Names<[u8; 6]>) -> Ends {
    Ends { hop: hops.thing(slot.hop.into()), local: slot.local, remote: slot.remote, ports: slot.ports }
}

/// A buffer for a frame of the lane, of `len` bytes.
#[inline(always)]
fn buffer(leaves_checksums: bool, len: usize, sink: &mut impl Sink) -> Option<&mut [u8]> {
    let buffer = if leaves_checksums { sink.unfinished_frame(len, LEFT) } else { sink.frame(len) };
    buffer.map(|buffer| &mut buffer[..len])
}

/// Sends segments of a flow that owes some, at most `most`, as long as the lane can: without room it can't. Returns how many.
#[inline(always)]
pub(super) fn send<A: App>(
    now: Nanos,
    app: &mut A,
    slot: &mut Slot<A::Flow>,
    group: &mut Group,
    busy: &mut BoxPool,
    hops: &Names<[u8; 6]>,
    most: usize,
    sink: &mut impl Sink,
) -> usize {
    // Most flows owe one: a loop would keep in memory what it needs again.
    if !send_one(now, app, slot, group, busy, hops, sink) {
        return 0;
    }
    if !slot.owes_segment() {
        return 1;
    }
    1 + send_more(now, app, slot, group, busy, hops, most - 1, sink)
}

/// The same of a flow of which one was sent.
#[inline(never)]
fn send_more<A: App>(
    now: Nanos,
    app: &mut A,
    slot: &mut Slot<A::Flow>,
    group: &mut Group,
    busy: &mut BoxPool,
    hops: &Names<[u8; 6]>,
    most: usize,
    sink: &mut impl Sink,
) -> usize {
    let mut sent = 0;
    while sent < most && slot.owes_segment() && send_one(now, app, slot, group, busy, hops, sink) {
        sent += 1;
    }
    sent
}

/// Sends the next segment of a flow, if the lane can.
#[inline(always)]
fn send_one<A: App>(
    now: Nanos,
    app: &mut A,
    slot: &mut Slot<A::Flow>,
    group: &mut Group,
    busy: &mut BoxPool,
    hops: &Names<[u8; 6]>,
    sink: &mut impl Sink,
) -> bool {
    let FlowKind::Tcp(endpoint) = &mut slot.kind else { return false };
    let Some(lane) = &group.lane else { return false };
    if slot.flags & IS_V6 != 0 {
        return false;
    }
    // As `env`, while the lane is lent.
    let mut env =
        Env { now, options: &group.config.tcp, mss_limit: 0, mss_unsaid: 0, busy, counts: &mut group.tcp };
    let Some(next) = endpoint.express_next(&env) else { return false };
    let len = match next {
        Express::Syn => lane.syn_len(endpoint.syn_kind()),
        Express::New(payload) => Lane::len(endpoint.has_timestamps(), payload.into()),
    };
    let Some(frame) = buffer(lane.leaves_checksums, len, sink) else { return false };
    let hop = hops.thing(slot.hop.into());
    let ends = Ends { hop, local: slot.local, remote: slot.remote, ports: slot.ports };
    match next {
        Express::Syn => {
            let kind = endpoint.syn_kind();
            let segment = endpoint.express_syn(&mut env);
            lane.write_syn(frame, &ends, &segment, kind);
        }
        Express::New(payload) => {
            let (segment, offset) = endpoint.express_new(&mut env, payload);
            let id = GroupId(slot.group);
            // RFC 3168 section 6.1.4 and 6.1.5: new data alone.
            let ecn_capable = payload > 0 && endpoint.has_ecn();
            lane.write(frame, &ends, &segment, ecn_capable, |out| app.fill(&slot.flow, id, offset, out));
        }
    }
    group.stack.frames_out += 1;
    group.stack.frame_bytes_out += len as u64;
    true
}

/// Sends a flow's last segment; returns whether there was room.
#[inline]
pub(super) fn send_last(word: &LastWord, group: &mut Group, sink: &mut impl Sink) -> bool {
    // Only groups with a lane have such.
    let Some(lane) = &group.lane else { return true };
    let len = Lane::len(word.segment.times.is_some(), 0);
    let Some(frame) = buffer(lane.leaves_checksums, len, sink) else { return false };
    lane.write(frame, &word.ends, &word.segment, false, |_| {});
    group.stack.frames_out += 1;
    group.stack.frame_bytes_out += len as u64;
    true
}
