//! From what flows owe to frames.

use super::express::{self, LastWord};
use super::slot::{ECT, FlowKind, QUEUED, RESETS, Slot};
use super::{LeftChecksum, Sink, Stack, env, schedule_idle, tick};
use crate::app::{App, End, GroupId};
use crate::endpoint::Outgoing;
use crate::frame;
use crate::group::{Group, UDP_HEADER};
use crate::icmp;
use crate::names::Names;
use crate::queue::Queue;
use crate::segment::SegmentHeader;
use crate::template::{self, Outer};
use fragment::Cut;
use std::collections::VecDeque;
use units::Nanos;

/// Segments of one flow before it is the next one's turn.
const AT_ONCE: usize = 16;
/// Maximum number of queued replies to packets without a receiver.
pub(super) const REPLIES_MAX: usize = 4_096;
/// Offset of the checksum in a TCP header, and in a UDP header.
const TCP_CHECKSUM: usize = 16;
const UDP_CHECKSUM: usize = 6;
/// A flow's last words: an acknowledgement and a reset at most.
const LAST_WORDS: usize = 2;

/// A frame of no flow.
#[derive(Debug)]
pub(super) struct Reply {
    pub group: u16,
    pub outer: Outer,
    pub body: Body,
}

#[derive(Debug)]
pub(super) enum Body {
    Segment { header: SegmentHeader, ports: u32 },
    Error { problem: icmp::Problem, repeated: Box<[u8]> },
}

/// A segment whose flow holds it to be sent, for which there was no room.
#[derive(Debug)]
pub(super) struct Stalled {
    pub index: u32,
    out: Outgoing,
}

/// A datagram that is longer than the MTU, and how many of its fragments have left.
#[derive(Debug)]
pub(super) struct LongDatagram {
    group: u16,
    frame: Vec<u8>,
    cut: Cut,
    sent: usize,
}

/// Progress of a flow.
enum Sent {
    /// It owes nothing any more, and is not in the queue.
    All,
    Some,
    NoRoom,
}

impl<A: App> Stack<A> {
    /// Sends what is owed, until nothing is or `sink` has no room: a few segments of each flow in turn. Returns whether
    /// something is still owed. Nothing is lost when there is no room.
    pub fn transmit(&mut self, now: Nanos, app: &mut A, sink: &mut impl Sink) -> bool {
        if !self.send_last_words(sink) || !self.replies.is_empty() && !self.send_replies(sink) {
            return true;
        }
        if self.stalled.is_some() && !self.send_stalled(app, sink) {
            return true;
        }
        if let Some(long) = &self.long {
            let group = &mut self.groups[usize::from(long.group)];
            if !send_fragments(group, &mut self.long, sink) {
                return true;
            }
        }
        while let Some(index) = self.queue.pop_front() {
            match self.send_some(now, app, index, sink) {
                Sent::Some => self.queue.push_back(index),
                Sent::NoRoom => {
                    self.queue.push_front(index);
                    return true;
                }
                Sent::All => {}
            }
        }
        false
    }

    /// Whether [`Stack::transmit`] has something to send.
    #[inline]
    pub fn owes(&self) -> bool {
        !self.queue.is_empty()
            || !self.last_words.is_empty()
            || !self.replies.is_empty()
            || self.stalled.is_some()
            || self.long.is_some()
    }

    #[inline]
    fn send_some(&mut self, now: Nanos, app: &mut A, index: u32, sink: &mut impl Sink) -> Sent {
        let slot = &mut self.slots[index];
        if slot.is_free() {
            // It ended while it waited, and its addresses are no addresses any more.
            slot.set(QUEUED, false);
            return Sent::All;
        }
        let group = &mut self.groups[usize::from(slot.group)];
        if matches!(slot.kind, FlowKind::Udp(_)) {
            return self.send_datagrams(now, app, index, sink);
        }
        let sent = express::send(now, app, slot, group, &mut self.busy, &self.hops, AT_ONCE, sink);
        if !slot.owes_segment() && !slot.has(RESETS) {
            slot.set(QUEUED, false);
            schedule_idle(now, index, slot, group, &mut self.wheel);
            return Sent::All;
        }
        self.send_rest(now, app, index, sent, sink)
    }

    /// Sends what a flow owes beyond what the express lane has sent, or ends it.
    fn send_rest(&mut self, now: Nanos, app: &mut A, index: u32, sent: usize, sink: &mut impl Sink) -> Sent {
        if self.slots[index].owes_segment() {
            match self.send_more(now, app, index, sent, sink) {
                Sent::All => {}
                other => return other,
            }
        }
        let slot = &mut self.slots[index];
        let group = &self.groups[usize::from(slot.group)];
        slot.set(QUEUED, false);
        if slot.has(RESETS) && slot.is_flushed() {
            self.end_by_reset(now, app, index);
            return Sent::All;
        }
        schedule_idle(now, index, slot, group, &mut self.wheel);
        Sent::All
    }

    /// Sends some segments of a flow, `sent` of which have been sent, the long way.
    fn send_more(&mut self, now: Nanos, app: &mut A, index: u32, sent: usize, sink: &mut impl Sink) -> Sent {
        let slot = &mut self.slots[index];
        let group = &mut self.groups[usize::from(slot.group)];
        let mut outer = outer_of(slot, &self.addresses, &self.hops);
        let FlowKind::Tcp(endpoint) = &mut slot.kind else { return Sent::All };
        let is_v6 = matches!(outer.addresses, frame::Addresses::V6 { .. });
        let mut sent = sent;
        while endpoint.owes() {
            if sent == AT_ONCE {
                return Sent::Some;
            }
            let mut env = env(now, group, &mut self.busy, is_v6);
            // It stays where it was put together: see `Endpoint::transmit`.
            let out = endpoint.transmit(&mut env);
            let Some(out) = &out else { break };
            if !write_segment(group, slot.group, &mut outer, slot.ports, out, app, &slot.flow, sink) {
                self.stalled = Some(Stalled { index, out: *out });
                return Sent::NoRoom;
            }
            sent += 1;
        }
        Sent::All
    }

    fn send_datagrams(&mut self, now: Nanos, app: &mut A, index: u32, sink: &mut impl Sink) -> Sent {
        let slot = &mut self.slots[index];
        let group = &mut self.groups[usize::from(slot.group)];
        let mut outer = outer_of(slot, &self.addresses, &self.hops);
        outer.ecn_capable = slot.has(ECT);
        let FlowKind::Udp(udp) = &mut slot.kind else { return Sent::All };
        for _ in 0..AT_ONCE {
            let Some(len) = udp.next() else { break };
            let id = GroupId(slot.group);
            let offset = udp.offset();
            let fill = |out: &mut [u8]| app.fill(&slot.flow, id, offset, out);
            if usize::from(len) > group.datagram_whole(&outer.addresses) {
                self.fragment_id = self.fragment_id.wrapping_add(1);
                self.long = long_datagram(group, id, &outer, slot.ports, len, fill, self.fragment_id);
                udp.heard = tick(now);
                udp.advance(&mut self.backlogs);
                if !send_fragments(group, &mut self.long, sink) {
                    return Sent::NoRoom;
                }
                continue;
            }
            if !write_datagram(group, &outer, slot.ports, len, fill, sink) {
                return Sent::NoRoom;
            }
            udp.heard = tick(now);
            udp.advance(&mut self.backlogs);
        }
        match (udp.next(), udp.closing) {
            (Some(_), _) => Sent::Some,
            (None, is_closing) => {
                slot.set(QUEUED, false);
                if is_closing {
                    self.end(now, app, index, End::Closed);
                }
                Sent::All
            }
        }
    }

    /// Returns whether all were sent.
    fn send_replies(&mut self, sink: &mut impl Sink) -> bool {
        while let Some(reply) = self.replies.front() {
            let group = &mut self.groups[usize::from(reply.group)];
            let is_sent = match &reply.body {
                Body::Segment { header, ports } => write_header(group, &reply.outer, *ports, header, sink),
                Body::Error { problem, repeated } => {
                    write_error(group, &reply.outer, *problem, repeated, sink)
                }
            };
            if !is_sent {
                return false;
            }
            self.replies.pop_front();
        }
        true
    }

    /// Returns whether it was sent.
    fn send_stalled(&mut self, app: &mut A, sink: &mut impl Sink) -> bool {
        let Some(Stalled { index, out }) = self.stalled.take() else { return true };
        let slot = &self.slots[index];
        let group = &mut self.groups[usize::from(slot.group)];
        let mut outer = outer_of(slot, &self.addresses, &self.hops);
        let is_sent = write_segment(group, slot.group, &mut outer, slot.ports, &out, app, &slot.flow, sink);
        if !is_sent {
            self.stalled = Some(Stalled { index, out });
        }
        is_sent
    }

    /// Takes acknowledged bytes out of the segment that waits for room, if it is the flow's: an application need not
    /// know them any more.
    pub(super) fn trim_stalled(&mut self, index: u32, acknowledged: u64) {
        let Some(stalled) = self.stalled.as_mut().filter(|stalled| stalled.index == index) else { return };
        let out = &mut stalled.out;
        let gone = acknowledged.saturating_sub(out.offset).min(u64::from(out.len)) as u16;
        if out.len > 0 {
            out.offset += u64::from(gone);
            out.len -= gone;
            out.header.seq = out.header.seq.wrapping_add(u32::from(gone));
        }
    }

    /// The last output of an ending flow is sent without it.
    pub(super) fn take_last_words(&mut self, now: Nanos, index: u32) {
        let slot = &mut self.slots[index];
        match &mut slot.kind {
            FlowKind::Tcp(endpoint) if !endpoint.owes() => endpoint.release(&mut self.busy),
            FlowKind::Tcp(_) => self.keep_last_words(now, index),
            FlowKind::Udp(udp) => udp.forget(&mut self.backlogs),
            FlowKind::Free => {}
        }
    }

    fn keep_last_words(&mut self, now: Nanos, index: u32) {
        let slot = &mut self.slots[index];
        let group = &mut self.groups[usize::from(slot.group)];
        if group.lane.is_some() && !slot.is_v6() && self.replies.is_empty() {
            let ends = express::ends_of(slot, &self.hops);
            let FlowKind::Tcp(endpoint) = &mut slot.kind else { return };
            let mut env = env(now, group, &mut self.busy, false);
            if let Some(segment) = endpoint.express_last(&mut env) {
                self.last_words.push_back(LastWord { group: slot.group, ends, segment });
                return;
            }
        }
        self.keep_any_last_words(now, index);
    }

    fn keep_any_last_words(&mut self, now: Nanos, index: u32) {
        let slot = &mut self.slots[index];
        let group = &mut self.groups[usize::from(slot.group)];
        let outer = outer_of(slot, &self.addresses, &self.hops);
        let is_v6 = slot.is_v6();
        let FlowKind::Tcp(endpoint) = &mut slot.kind else { return };
        let mut env = env(now, group, &mut self.busy, is_v6);
        for _ in 0..LAST_WORDS {
            let out = endpoint.transmit(&mut env);
            let Some(out) = &out else { break };
            if out.len == 0 {
                let body = Body::Segment { header: out.header, ports: slot.ports };
                let reply = Reply { group: slot.group, outer, body };
                push_reply(&mut self.replies, &mut self.last_words, reply);
            }
        }
        endpoint.release(&mut self.busy);
    }

    /// Sends last segments of flows; returns whether all were sent.
    #[inline]
    fn send_last_words(&mut self, sink: &mut impl Sink) -> bool {
        while let Some(word) = self.last_words.front() {
            if !express::send_last(word, &mut self.groups[usize::from(word.group)], sink) {
                return false;
            }
            self.last_words.pop_front();
        }
        true
    }
}

/// Queues a reply behind all others.
pub(super) fn push_reply(replies: &mut VecDeque<Reply>, last_words: &mut Queue<LastWord>, reply: Reply) {
    // One of the two is empty, so that nothing overtakes.
    replies.extend(last_words.take_first(last_words.len()).map(Reply::from));
    replies.push_back(reply);
}

impl From<LastWord> for Reply {
    fn from(LastWord { group, ends, segment }: LastWord) -> Self {
        let addresses = frame::Addresses::V4 { from: ends.local, to: ends.remote };
        let outer = Outer { addresses, hop: ends.hop, protocol: frame::TCP, ecn_capable: false };
        let header = SegmentHeader {
            seq: segment.seq,
            ack: segment.ack,
            flags: segment.flags,
            window: segment.window,
            timestamps: segment.times,
            ..SegmentHeader::default()
        };
        Self { group, outer, body: Body::Segment { header, ports: ends.ports } }
    }
}

/// Headers around the flow's segments and datagrams.
#[inline(always)]
fn outer_of<F>(slot: &Slot<F>, addresses: &Names<u128>, hops: &Names<[u8; 6]>) -> Outer {
    let addresses = if slot.is_v6() {
        frame::Addresses::V6 { from: addresses.thing(slot.local), to: addresses.thing(slot.remote) }
    } else {
        frame::Addresses::V4 { from: slot.local, to: slot.remote }
    };
    let protocol = if matches!(slot.kind, FlowKind::Udp(_)) { frame::UDP } else { frame::TCP };
    Outer { addresses, hop: hops.thing(slot.hop.into()), protocol, ecn_capable: false }
}

/// Puts a frame that is written into its tunnel, if it has one, and counts it.
#[inline(always)]
fn finish(group: &mut Group, frame: &mut [u8]) {
    if let Some(tunnel) = &group.config.tunnel {
        tunnel.outer.wrap(frame, Some(group.before + group.template.ip()));
    }
    group.stack.frames_out += 1;
    group.stack.frame_bytes_out += (frame.len() - group.before) as u64;
}

/// Writes a segment; returns whether there was room.
#[inline]
fn write_segment<A: App>(
    group: &mut Group,
    id: u16,
    outer: &mut Outer,
    ports: u32,
    out: &Outgoing,
    app: &mut A,
    flow: &A::Flow,
    sink: &mut impl Sink,
) -> bool {
    let header_len = out.header.len();
    let len = group.template.len(&outer.addresses) + header_len + usize::from(out.len);
    let Some(frame) = buffer(group, outer, len, sink) else { return false };
    outer.ecn_capable = out.ecn_capable;
    let transport = group.template.write(outer, &mut frame[group.before..]);
    out.header.write_len((ports >> 16) as u16, ports as u16, header_len, transport);
    if out.len > 0 {
        app.fill(flow, GroupId(id), out.offset, &mut transport[header_len..]);
    }
    put_sum(group, outer, transport, TCP_CHECKSUM);
    finish(group, frame);
    true
}

/// A buffer for a frame with a segment or datagram of `len` bytes, after what its tunnel takes.
#[inline(always)]
fn buffer<'s>(group: &Group, outer: &Outer, len: usize, sink: &'s mut impl Sink) -> Option<&'s mut [u8]> {
    let len = group.before + len;
    let buffer = if group.config.leaves_checksums {
        let before_ip = group.template.ip();
        sink.unfinished_frame(
            len,
            LeftChecksum {
                before_ip: (group.before + before_ip) as u8,
                ip: (group.template.len(&outer.addresses) - before_ip) as u8,
                is_v6: matches!(outer.addresses, frame::Addresses::V6 { .. }),
                is_udp: outer.protocol == frame::UDP,
            },
        )
    } else {
        sink.frame(len)
    };
    buffer.map(|buffer| &mut buffer[..len])
}

/// Puts the checksum of a segment or datagram at `at`, or what the group leaves of it.
#[inline(always)]
fn put_sum(group: &Group, outer: &Outer, transport: &mut [u8], at: usize) {
    if group.config.leaves_checksums {
        template::put_pseudo_sum(&outer.addresses, outer.protocol, transport, at);
    } else {
        template::put_checksum(&outer.addresses, outer.protocol, transport, at);
    }
}

/// Writes a segment without payload; returns whether there was room.
fn write_header(
    group: &mut Group,
    outer: &Outer,
    ports: u32,
    header: &SegmentHeader,
    sink: &mut impl Sink,
) -> bool {
    let len = group.template.len(&outer.addresses) + header.len();
    let Some(frame) = buffer(group, outer, len, sink) else { return false };
    let transport = group.template.write(outer, &mut frame[group.before..]);
    header.write((ports >> 16) as u16, ports as u16, transport);
    put_sum(group, outer, transport, TCP_CHECKSUM);
    finish(group, frame);
    true
}

/// Writes a datagram with `len` bytes of payload; returns whether there was room.
fn write_datagram(
    group: &mut Group,
    outer: &Outer,
    ports: u32,
    payload_len: u16,
    fill: impl FnOnce(&mut [u8]),
    sink: &mut impl Sink,
) -> bool {
    let len = group.template.len(&outer.addresses) + UDP_HEADER + usize::from(payload_len);
    let Some(frame) = buffer(group, outer, len, sink) else { return false };
    let transport = put_datagram(group, outer, ports, fill, &mut frame[group.before..]);
    put_sum(group, outer, transport, UDP_CHECKSUM);
    group.stack.datagrams_out += 1;
    group.stack.datagram_bytes_out += u64::from(payload_len);
    finish(group, frame);
    true
}

/// Writes a frame with a datagram that fills it, but for its checksum; returns the datagram.
fn put_datagram<'f>(
    group: &Group,
    outer: &Outer,
    ports: u32,
    fill: impl FnOnce(&mut [u8]),
    frame: &'f mut [u8],
) -> &'f mut [u8] {
    let transport = group.template.write(outer, frame);
    let total = transport.len() as u16;
    transport[..4].copy_from_slice(&ports.to_be_bytes());
    transport[4..6].copy_from_slice(&total.to_be_bytes());
    fill(&mut transport[UDP_HEADER..]);
    transport
}

/// A datagram that does not fit one packet; `None` if the MTU leaves no room for fragments either.
#[cold]
fn long_datagram(
    group: &mut Group,
    id: GroupId,
    outer: &Outer,
    ports: u32,
    payload_len: u16,
    fill: impl FnOnce(&mut [u8]),
    fragment_id: u32,
) -> Option<LongDatagram> {
    let mut frame = vec![0; group.template.len(&outer.addresses) + UDP_HEADER + usize::from(payload_len)];
    let datagram = put_datagram(group, outer, ports, fill, &mut frame);
    template::put_checksum(&outer.addresses, outer.protocol, datagram, UDP_CHECKSUM);
    let Some(cut) = Cut::new(&frame, group.config.mtu.into(), fragment_id) else {
        group.stack.datagrams_too_long += 1;
        return None;
    };
    group.stack.datagrams_out += 1;
    group.stack.datagram_bytes_out += u64::from(payload_len);
    Some(LongDatagram { group: id.0, frame, cut, sent: 0 })
}

/// Sends the fragments of a long datagram; returns whether there was room for all.
fn send_fragments(group: &mut Group, long: &mut Option<LongDatagram>, sink: &mut impl Sink) -> bool {
    let Some(datagram) = long else { return true };
    while datagram.sent < datagram.cut.parts() {
        let len = group.before + datagram.cut.len(datagram.sent);
        let Some(frame) = sink.frame(len).map(|frame| &mut frame[..len]) else { return false };
        datagram.cut.write(&datagram.frame, datagram.sent, &mut frame[group.before..]);
        datagram.sent += 1;
        group.stack.fragments_out += 1;
        finish(group, frame);
    }
    *long = None;
    true
}

/// Writes an ICMP error; returns whether there was room.
fn write_error(
    group: &mut Group,
    outer: &Outer,
    problem: icmp::Problem,
    repeated: &[u8],
    sink: &mut impl Sink,
) -> bool {
    let len = group.before + group.template.len(&outer.addresses) + icmp::error_len(repeated.len());
    let Some(frame) = sink.frame(len).map(|frame| &mut frame[..len]) else { return false };
    let transport = group.template.write(outer, &mut frame[group.before..]);
    icmp::write_error(&outer.addresses, problem, repeated, transport);
    finish(group, frame);
    true
}
