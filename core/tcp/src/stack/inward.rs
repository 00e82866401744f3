//! From frames to the flows they are for.

use super::express::PlainInward;
use super::outward::{Body, REPLIES_MAX, Reply, push_reply};
use super::slot::FlowKind;
use super::{AppEvents, BURST, Stack, enqueue, env, tick};
use crate::app::{App, End, FlowId, GroupId, Io};
use crate::endpoint::Endpoint;
use crate::frame::{self, Addresses, IPV4, IPV6, Inside, Packet, Tags};
use crate::group::{UDP_HEADER, mss_of};
use crate::icmp;
use crate::key::{Key, Keys, Transport};
use crate::segment::{Flags, Segment, SegmentHeader};
use crate::table::NONE;
use crate::template::Outer;
use std::hint::black_box;
use units::Nanos;

/// No link is narrower: IPv4 (RFC 791 section 3.2) and IPv6 (RFC 8200 section 5).
const MTU_MIN_V4: u16 = 68;
const MTU_MIN_V6: u16 = 1280;

/// A frame with an IP packet, on its way in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inward {
    /// The flow it is for, if it has ports.
    key: Key,
    hash: u64,
    /// The slot it is probably for.
    guess: u32,
    frame: u32,
    ip: u32,
    start: u32,
    end: u32,
    protocol: u8,
    ecn: u8,
    is_fragment: bool,
    /// Whether the port reports that its checksum was left to a card.
    is_unfinished: bool,
}

impl Inward {
    #[inline(always)]
    fn read(number: usize, bytes: &[u8], is_unfinished: bool, keys: &Keys) -> Option<Self> {
        Self::of(number, bytes, is_unfinished, keys, frame::read(bytes).ok()?)
    }

    #[inline(always)]
    fn of(number: usize, bytes: &[u8], is_unfinished: bool, keys: &Keys, packet: Packet) -> Option<Self> {
        let transport = if packet.protocol == frame::UDP { Transport::Udp } else { Transport::Tcp };
        let mut key = Key { addresses: packet.addresses.swapped(), ports: 0, transport, tags: packet.tags };
        let mut hash = 0;
        if packet.protocol == transport.number() && !packet.is_fragment {
            key.ports = frame::u32_at(packet.transport(bytes), 0)?.rotate_left(16);
            hash = keys.hash(&key);
        }
        Some(Self {
            key,
            hash,
            guess: NONE,
            frame: number as u32,
            ip: packet.ip,
            start: packet.start,
            end: packet.end,
            protocol: packet.protocol,
            ecn: packet.ecn,
            is_fragment: packet.is_fragment,
            is_unfinished,
        })
    }

    /// Of a frame that the express lane has read.
    #[inline(always)]
    pub(super) fn of_plain(number: u32, plain: &PlainInward, is_unfinished: bool) -> Self {
        let (own, peer) = ((plain.both >> 32) as u32, plain.both as u32);
        let addresses = Addresses::V4 { from: own, to: peer };
        Self {
            key: Key { addresses, ports: plain.ports, transport: Transport::Tcp, tags: Tags::default() },
            hash: plain.hash,
            guess: plain.guess,
            frame: number,
            ip: frame::ETHERNET as u32,
            start: (frame::ETHERNET + IPV4) as u32,
            end: plain.end.into(),
            protocol: frame::TCP,
            ecn: plain.ecn,
            is_fragment: false,
            is_unfinished,
        }
    }

    /// The transport protocol's header and what follows it.
    #[inline(always)]
    fn transport<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.start as usize..self.end as usize]
    }

    /// TTL, or hop limit, of the packet.
    fn hops(&self, bytes: &[u8]) -> u8 {
        let is_v6 = matches!(self.key.addresses, Addresses::V6 { .. });
        let offset = if is_v6 { 7 } else { 8 };
        bytes.get(self.ip as usize + offset).copied().unwrap_or(0)
    }
}

/// The hardware addresses of a frame.
fn macs(bytes: &[u8]) -> (&[u8], [u8; 6]) {
    let mut source = [0; 6];
    source.copy_from_slice(&bytes[6..12]);
    (&bytes[..6], source)
}

impl<A: App> Stack<A> {
    /// Takes in a burst of at most [`BURST`] frames (without FCS). Returns a bit for each frame that is not for the
    /// stack, the first one's lowest: ARP, echo, other addresses, other VLANs, what is no IP at all.
    ///
    /// All headers are read at once, then all places in the table, then all slots, so that cache misses overlap.
    ///
    /// # Panics
    /// If there are more frames than that.
    pub fn receive(&mut self, now: Nanos, app: &mut A, frames: &[&[u8]]) -> u64 {
        self.receive_told(now, app, frames, 0)
    }

    /// The same. `unfinished` has a bit for each frame that the port reports as having its checksum left to a card.
    ///
    /// # Panics
    /// If there are more frames than that.
    pub fn receive_told(&mut self, now: Nanos, app: &mut A, frames: &[&[u8]], unfinished: u64) -> u64 {
        if self.has_lane
            && let Some(foreign) = self.receive_plain(now, app, frames, unfinished)
        {
            return foreign;
        }
        let read = |number: usize, keys: &Keys| {
            Inward::read(number, frames[number], unfinished >> number & 1 != 0, keys)
        };
        self.receive_read(now, app, frames.len(), |number| frames[number], read)
    }

    /// The same of frames that were in tunnels.
    ///
    /// # Panics
    /// If there are more frames than that.
    pub fn receive_inside(&mut self, now: Nanos, app: &mut A, frames: &[Inside<'_>]) -> u64 {
        let read = |number: usize, keys: &Keys| {
            let inside = &frames[number];
            let packet = frame::read_inside(inside).ok()?;
            Inward::of(number, inside.frame, inside.is_unfinished, keys, packet)
        };
        self.receive_read(now, app, frames.len(), |number| frames[number].frame, read)
    }

    #[inline(always)]
    fn receive_read<'f>(
        &mut self,
        now: Nanos,
        app: &mut A,
        count: usize,
        bytes: impl Fn(usize) -> &'f [u8],
        read: impl Fn(usize, &Keys) -> Option<Inward>,
    ) -> u64 {
        assert!(count <= BURST, "a burst has at most {BURST} frames");
        let mut foreign = 0;
        let mut burst = std::mem::take(&mut self.burst);
        burst.clear();
        for number in 0..count {
            match read(number, &self.keys) {
                Some(inward) => burst.push(inward),
                None => {
                    foreign |= 1 << number;
                    self.count_cut_short(bytes(number));
                }
            }
        }
        for inward in &mut burst {
            inward.guess = self.table.guess(inward.hash);
        }
        let guessed = burst.iter().filter(|inward| inward.guess != NONE);
        black_box(guessed.fold(0, |touched, inward| touched ^ self.slots[inward.guess].touch()));
        for inward in &burst {
            let is_mine = self.take(now, app, bytes(inward.frame as usize), inward);
            foreign |= u64::from(!is_mine) << inward.frame;
        }
        self.burst = burst;
        self.tend(now, app);
        foreign
    }

    /// Takes a packet in; returns whether it is for the stack.
    #[inline(always)]
    fn take(&mut self, now: Nanos, app: &mut A, bytes: &[u8], inward: &Inward) -> bool {
        // Nothing behind the IP header can be read: who puts packets together comes again with the whole.
        if inward.is_fragment {
            return false;
        }
        match inward.protocol {
            frame::TCP => self.take_segment(now, app, bytes, inward),
            frame::UDP => self.take_datagram(now, app, bytes, inward),
            frame::ICMP | frame::ICMPV6 => self.take_error(now, app, bytes, inward).is_some(),
            _ => self.take_other(bytes, inward),
        }
    }

    #[inline]
    fn find_inward(&self, inward: &Inward) -> Option<u32> {
        if inward.guess != NONE && self.is_flow(inward.guess, &inward.key) {
            return Some(inward.guess);
        }
        self.find(&inward.key, inward.hash)
    }

    /// Counts a frame of a group; `false` if it is to another hardware address.
    #[inline]
    fn count_frame(&mut self, group: u16, bytes: &[u8]) -> bool {
        self.groups[usize::from(group)].takes_frame(bytes)
    }

    /// Counts a frame to one of the groups that holds only a part of its packet.
    fn count_cut_short(&mut self, bytes: &[u8]) {
        let Some(to) = bytes.get(..6).filter(|_| frame::is_cut_short(bytes)) else { return };
        if let Some(group) = self.groups.iter_mut().find(|group| group.config.has_mac(to)) {
            group.stack.bad_cut_short += 1;
        }
    }

    #[inline]
    pub(super) fn take_segment(&mut self, now: Nanos, app: &mut A, bytes: &[u8], inward: &Inward) -> bool {
        let Some(index) = self.find_inward(inward) else {
            return self.take_stray_segment(now, app, bytes, inward);
        };
        let slot = &mut self.slots[index];
        let group = slot.group;
        let own = &mut self.groups[usize::from(group)];
        if !own.takes_frame(bytes) {
            return false;
        }
        let transport = inward.transport(bytes);
        if !own.is_sum_good(&inward.key.addresses, frame::TCP, transport, inward.is_unfinished) {
            return true;
        }
        // It stays where it was put together: a copy would cost more than the rest of the header.
        let read = Segment::read(transport, inward.ecn == 0b11);
        let segment = match &read {
            Ok(segment) => segment,
            Err(why) => {
                own.tcp.malformed(*why);
                return true;
            }
        };
        self.taken = (index, inward.hash, 0);
        let is_v6 = slot.is_v6();
        let packet = transport.len() + if is_v6 { IPV6 } else { IPV4 };
        own.tcp.packet_max = own.tcp.packet_max.max(packet as u64);
        let FlowKind::Tcp(endpoint) = &mut slot.kind else { return false };
        let mut env = env(now, own, &mut self.busy, is_v6);
        let io = Io::new(FlowId(index), GroupId(group));
        let mut events = AppEvents { now, app, flow: &mut slot.flow, io, acknowledged: 0 };
        let end = endpoint.on_segment(&mut env, segment, &mut events);
        let (io, acknowledged) = (events.io.requests, events.acknowledged);
        if acknowledged > 0 {
            self.trim_stalled(index, acknowledged);
        }
        match end {
            None => {
                self.settle(now, app, index, io);
            }
            Some(end) => {
                self.end(now, app, index, end);
                // A new flow may take the place of one in TIME-WAIT (RFC 9293 section 3.10.7.4).
                if end == End::Closed && is_first(segment.header.flags) {
                    let listener = self.places.listener(&inward.key);
                    self.answer_stray(now, app, inward, bytes, segment, listener);
                }
            }
        }
        true
    }

    /// A segment with its checksum and header checked.
    fn read_segment<'a>(&mut self, group: u16, bytes: &'a [u8], inward: &Inward) -> Option<Segment<'a>> {
        let group = &mut self.groups[usize::from(group)];
        let transport = inward.transport(bytes);
        if !group.is_sum_good(&inward.key.addresses, frame::TCP, transport, inward.is_unfinished) {
            return None;
        }
        match Segment::read(transport, inward.ecn == 0b11) {
            Ok(segment) => Some(segment),
            Err(why) => {
                group.tcp.malformed(why);
                None
            }
        }
    }

    /// A segment of no flow: it begins one, gets a reset, or belongs to another host.
    fn take_stray_segment(&mut self, now: Nanos, app: &mut A, bytes: &[u8], inward: &Inward) -> bool {
        let listener = self.places.listener(&inward.key);
        let group = listener.or_else(|| self.places.owner(&inward.key.addresses, inward.key.tags));
        let Some(group) = group else { return false };
        if !self.count_frame(group.0, bytes) {
            return false;
        }
        // RFC 9293 section 3.9.2.3 (MUST-57, MUST-63).
        if !inward.key.addresses.is_to_host() {
            self.groups[usize::from(group.0)].stack.segments_to_nobody += 1;
            return true;
        }
        if let Some(segment) = self.read_segment(group.0, bytes, inward) {
            self.answer_stray(now, app, inward, bytes, &segment, listener);
        }
        true
    }

    /// The group that serves the flow's own end, or else owns its address.
    fn group_of(&self, key: &Key) -> Option<GroupId> {
        self.places.listener(key).or_else(|| self.places.owner(&key.addresses, key.tags))
    }

    fn answer_stray(
        &mut self,
        now: Nanos,
        app: &mut A,
        inward: &Inward,
        bytes: &[u8],
        segment: &Segment,
        listener: Option<GroupId>,
    ) {
        let flags = segment.header.flags;
        let group = match listener {
            Some(group) if is_first(flags) => group,
            // RFC 9293 section 3.10.7.2: what neither resets, acknowledges nor opens is dropped.
            Some(group) if !flags.has(Flags::ACK) && !flags.has(Flags::RST) => {
                self.groups[usize::from(group.0)].stack.segments_to_nobody += 1;
                return;
            }
            _ => return self.reset(inward, bytes, segment),
        };
        let Some(hop) = self.hop(now, app, group, bytes, inward) else {
            self.groups[usize::from(group.0)].stack.flows_refused += 1;
            return;
        };
        self.accept(now, app, &inward.key, inward.hash, group, hop, segment);
    }

    /// Begins a flow with a peer's SYN.
    #[inline(always)]
    pub(super) fn accept(
        &mut self,
        now: Nanos,
        app: &mut A,
        key: &Key,
        hash: u64,
        group: GroupId,
        hop: u16,
        segment: &Segment,
    ) {
        let Some(index) = self.place(key, hash, group, hop) else {
            self.groups[usize::from(group.0)].stack.flows_refused += 1;
            return;
        };
        let slot = &mut self.slots[index];
        let is_v6 = slot.is_v6();
        let own = &mut self.groups[usize::from(group.0)];
        let iss = own.config.tcp.isn.unwrap_or_else(|| self.keys.initial_sequence(hash, now.0));
        let mut env = env(now, own, &mut self.busy, is_v6);
        slot.kind = FlowKind::Tcp(Endpoint::accept(&mut env, iss, segment));
        enqueue(&mut self.queue, index, slot);
        self.note_half_open(now, app, index, iss);
    }

    /// Next hop of replies to a flow's first frame: the group's hop, or its gateway, or the source address. `None` if
    /// there are too many.
    fn hop(&mut self, now: Nanos, app: &mut A, group: GroupId, bytes: &[u8], inward: &Inward) -> Option<u16> {
        let own = &self.groups[usize::from(group.0)];
        if own.hop.is_some() {
            return own.hop;
        }
        let mac = own.config.answers(inward.key.addresses.to(), macs(bytes).1);
        self.hop_of(now, app, mac)
    }

    /// Sends a reset for a segment without a receiver (RFC 9293 section 3.10.7.1).
    fn reset(&mut self, inward: &Inward, bytes: &[u8], segment: &Segment) {
        let Some(group) = self.group_of(&inward.key) else { return };
        let waiting = self.replies_waiting();
        let stack = &mut self.groups[usize::from(group.0)].stack;
        stack.segments_to_nobody += 1;
        let header = &segment.header;
        if header.flags.has(Flags::RST) {
            return;
        }
        if waiting >= REPLIES_MAX {
            stack.resets_dropped += 1;
            return;
        }
        stack.resets_to_nobody += 1;
        let answer = if header.flags.has(Flags::ACK) {
            SegmentHeader { seq: header.ack, flags: Flags::RST, ..SegmentHeader::default() }
        } else {
            let ack = header.seq.wrapping_add(segment.span());
            SegmentHeader { ack, flags: Flags::RST | Flags::ACK, ..SegmentHeader::default() }
        };
        let body = Body::Segment { header: answer, ports: inward.key.ports };
        self.reply(group, inward.key.addresses, frame::TCP, bytes, body);
    }

    /// Frames of no flow that wait to be sent.
    fn replies_waiting(&self) -> usize {
        self.replies.len() + self.last_words.len()
    }

    fn reply(&mut self, group: GroupId, addresses: Addresses, protocol: u8, bytes: &[u8], body: Body) {
        let own = &self.groups[usize::from(group.0)];
        let hop = own.config.hop_mac.unwrap_or(macs(bytes).1);
        let outer = Outer { addresses, hop, protocol, ecn_capable: false };
        let reply = Reply { group: group.0, outer, body };
        push_reply(&mut self.replies, &mut self.last_words, reply);
    }

    fn take_datagram(&mut self, now: Nanos, app: &mut A, bytes: &[u8], inward: &Inward) -> bool {
        let found = self.find_inward(inward);
        let group = match found {
            Some(index) => GroupId(self.slots[index].group),
            None => match self.group_of(&inward.key) {
                Some(group) => group,
                None => return false,
            },
        };
        if !self.count_frame(group.0, bytes) {
            return false;
        }
        let Some(payload) = self.read_datagram(group, bytes, inward) else { return true };
        // What comes for a session that is over but for its last datagrams begins the next one.
        let is_served = || self.places.listener(&inward.key).is_some();
        let open = match found {
            Some(index) if self.is_closing(index) && is_served() => {
                self.detach(index, inward.hash);
                None
            }
            found => found,
        };
        let Some(index) = open.or_else(|| self.accept_datagram(now, app, bytes, inward)) else {
            return true;
        };
        let stack = &mut self.groups[usize::from(group.0)].stack;
        stack.datagrams_in += 1;
        stack.datagram_bytes_in += payload.len() as u64;
        if let FlowKind::Udp(udp) = &mut self.slots[index].kind {
            udp.heard = tick(now);
            (udp.is_answered, udp.is_refused) = (true, false);
        }
        let (ecn, hops) = (inward.ecn, inward.hops(bytes));
        self.tell_udp(now, app, index, |app, flow, io| {
            io.set_ecn(ecn);
            io.set_hops(hops);
            app.received(now, flow, io, payload);
        });
        true
    }

    /// The payload of a datagram with its checksum and length checked (RFC 768).
    fn read_datagram<'a>(&mut self, group: GroupId, bytes: &'a [u8], inward: &Inward) -> Option<&'a [u8]> {
        let group = &mut self.groups[usize::from(group.0)];
        let transport = inward.transport(bytes);
        let len = frame::u16_at(transport, 4).map_or(0, usize::from);
        let Some(datagram) = transport.get(..len).filter(|datagram| datagram.len() >= UDP_HEADER) else {
            group.stack.bad_datagram += 1;
            return None;
        };
        // None was computed: over IPv4 that is allowed.
        let is_bare = datagram[6..8] == [0, 0] && matches!(inward.key.addresses, Addresses::V4 { .. });
        if is_bare && !inward.is_unfinished {
            return Some(&datagram[UDP_HEADER..]);
        }
        if datagram[6..8] == [0, 0] && !inward.is_unfinished {
            group.stack.bad_checksum += 1;
            return None;
        }
        if !group.is_sum_good(&inward.key.addresses, frame::UDP, datagram, inward.is_unfinished) {
            return None;
        }
        Some(&datagram[UDP_HEADER..])
    }

    /// A flow for the first datagram of a peer; `None` if there is no listener, or the application wants no such flow.
    fn accept_datagram(&mut self, now: Nanos, app: &mut A, bytes: &[u8], inward: &Inward) -> Option<u32> {
        let Some(group) = self.places.listener(&inward.key) else {
            self.report_unreachable(bytes, inward);
            return None;
        };
        let Some(hop) = self.hop(now, app, group, bytes, inward) else {
            self.groups[usize::from(group.0)].stack.flows_refused += 1;
            return None;
        };
        self.begin_datagrams(now, app, &inward.key, inward.hash, group, hop)
    }

    /// Reports a datagram without a receiver (RFC 1122 section 4.1.3.1).
    fn report_unreachable(&mut self, bytes: &[u8], inward: &Inward) {
        let Some(group) = self.group_of(&inward.key) else { return };
        self.groups[usize::from(group.0)].stack.datagrams_to_nobody += 1;
        self.report(group, bytes, inward, icmp::Problem::Port);
    }

    /// An unsupported protocol, or an unknown IPv6 header (RFC 1122 section 3.2.2.1, RFC 8200 section 4).
    #[cold]
    fn take_other(&mut self, bytes: &[u8], inward: &Inward) -> bool {
        let Some(group) = self.places.owner(&inward.key.addresses, inward.key.tags) else { return false };
        let is_v6 = matches!(inward.key.addresses, Addresses::V6 { .. });
        if inward.protocol == frame::IGMP && !is_v6 || !self.count_frame(group.0, bytes) {
            return false;
        }
        self.groups[usize::from(group.0)].stack.packets_to_nobody += 1;
        let problem = if is_v6 {
            frame::problem_v6(&bytes[inward.ip as usize..inward.end as usize])
        } else {
            Some(icmp::Problem::Protocol)
        };
        if let Some(problem) = problem {
            self.report(group, bytes, inward, problem);
        }
        true
    }

    /// Tells the sender what is wrong with its packet.
    fn report(&mut self, group: GroupId, bytes: &[u8], inward: &Inward, problem: icmp::Problem) {
        // RFC 1122 section 3.2.2, RFC 4443 section 2.4 (e): only to whoever can have sent it.
        if self.replies_waiting() >= REPLIES_MAX || !inward.key.addresses.is_to_host() {
            return;
        }
        self.groups[usize::from(group.0)].stack.unreachable_out += 1;
        let is_v6 = matches!(inward.key.addresses, Addresses::V6 { .. });
        let protocol = if is_v6 { frame::ICMPV6 } else { frame::ICMP };
        let packet = &bytes[inward.ip as usize..inward.end as usize];
        let body = Body::Error { problem, repeated: icmp::repeated(packet, is_v6).into() };
        self.reply(group, inward.key.addresses, protocol, bytes, body);
    }

    /// An ICMP error; `None` if it is none, or of no flow.
    fn take_error(&mut self, now: Nanos, app: &mut A, bytes: &[u8], inward: &Inward) -> Option<()> {
        let message = inward.transport(bytes);
        let error = icmp::read(inward.protocol, message)?;
        let index = self.flow_of(&error, inward.key.tags)?;
        let group = self.slots[index].group;
        if !self.count_frame(group, bytes) {
            return None;
        }
        let own = &mut self.groups[usize::from(group)];
        if !icmp::is_sum_right(&inward.key.addresses, inward.protocol, message) {
            own.stack.bad_checksum += 1;
            return Some(());
        }
        let slot = &mut self.slots[index];
        if matches!(&slot.kind, FlowKind::Tcp(endpoint) if !endpoint.has_in_flight(error.seq)) {
            own.stack.icmp_errors_ignored += 1;
            return Some(());
        }
        own.stack.icmp_errors_in += 1;
        let is_v6 = slot.is_v6();
        let mut env = env(now, own, &mut self.busy, is_v6);
        let end = match (&mut slot.kind, error.kind) {
            (FlowKind::Tcp(endpoint), icmp::ErrorKind::TooBig(mtu)) => {
                let mtu = mtu.max(if is_v6 { MTU_MIN_V6 } else { MTU_MIN_V4 });
                endpoint.path_mtu(&mut env, mss_of(mtu, is_v6));
                None
            }
            (FlowKind::Tcp(endpoint), _) => endpoint.unreachable(&mut env),
            (FlowKind::Udp(udp), icmp::ErrorKind::PortUnreachable) => {
                let waits = udp.is_answered && own.config.udp.refused_after > Nanos::ZERO;
                if waits && !udp.is_refused {
                    (udp.is_refused, udp.refused) = (true, tick(now));
                }
                (!waits).then_some(End::Refused)
            }
            _ => None,
        };
        match end {
            Some(end) => self.end(now, app, index, end),
            None => self.schedule(now, index),
        }
        Some(())
    }

    fn flow_of(&self, error: &icmp::Error, tags: Tags) -> Option<u32> {
        let transport = if error.protocol == frame::UDP { Transport::Udp } else { Transport::Tcp };
        let key = Key { addresses: error.addresses, ports: error.ports, transport, tags };
        self.find(&key, self.keys.hash(&key))
    }
}

/// Whether a segment requests a new flow.
fn is_first(flags: Flags) -> bool {
    flags.has(Flags::SYN) && !flags.has(Flags::ACK) && !flags.has(Flags::RST)
}
