//! Conversations of a capture, made into a client's and a server's program.
//!
//! Both directions of TCP are reassembled from segments that may be out of order, repeated or overlapping: of repeated
//! bytes the first count. Missing bytes are filled with zeros and counted. IP fragments are reassembled.
//!
//! Not here: reading files (`pcap`).

mod segments;

#[cfg(test)]
mod tests;

use crate::plan::{AppPlan, Carrier, Expect, Op, Program};
use crate::vary::{Content, Delay};
use fragment::{Fragment, Limits, PacketId, Reassembler};
use pcap::{Capture, NoFrame};
use segments::{Direction, Packet};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use units::Nanos;

/// A conversation of a capture.
#[derive(Debug, Clone)]
pub struct Conversation {
    /// Carrier.
    pub carrier: Carrier,
    /// The initiator.
    pub client: SocketAddr,
    /// The responder.
    pub server: SocketAddr,
    /// When its first packet was captured, from the capture's first packet on.
    pub at: Nanos,
    /// Both ends as programs.
    pub app: AppPlan,
    /// Bytes sent by the client and the server.
    pub bytes: [u64; 2],
    /// Bytes of these that are not in the capture: replaced by zeros.
    pub missing: u64,
}

/// Options for reading a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConversationOptions {
    /// Minimum length of pauses to keep before a message; `None` keeps none.
    pub pauses: Option<Nanos>,
    /// Additional delay of the server before each of its responses.
    pub answer_delay: Option<Delay>,
    /// Longest payload of a datagram, bytes; what is longer is cut. `None`: as captured.
    pub datagram_max: Option<usize>,
    /// Whether an end that has sent all its data closes in place of a captured reset.
    pub closes: bool,
}

/// Content of a capture.
#[derive(Debug, Clone, Default)]
pub struct Conversations {
    /// Conversations with data, earliest first.
    pub all: Vec<Conversation>,
    /// Packets that are of none.
    pub other_packets: OtherPackets,
}

/// Packets of a capture that are of no conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OtherPackets {
    /// No Ethernet frames, by the reason.
    pub unreadable: BTreeMap<NoFrame, u64>,
    /// Neither TCP nor UDP over IP, or cut short in their headers.
    pub foreign: u64,
    /// Fragments whose packet is not there as a whole.
    pub fragments: u64,
}

impl OtherPackets {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.unreadable.values().sum::<u64>() + self.foreign + self.fragments
    }
}

/// Finds the conversations of a capture.
pub fn conversations(capture: &Capture, options: ConversationOptions) -> Conversations {
    let mut found = Conversations::default();
    let mut talks = Talks::default();
    let mut records: Vec<_> = capture.records.iter().collect();
    records.sort_by_key(|record| record.at);
    let first = records.first().map_or(Nanos::ZERO, |record| record.at);
    let mut pieces = Reassembler::new(PIECES);
    // Fragments of each packet that is not whole yet.
    let mut waiting: BTreeMap<PacketId, u64> = BTreeMap::new();
    for record in records {
        let mut frame = match pcap::frame(capture, record) {
            Ok(framed) => framed.bytes,
            Err(reason) => {
                *found.other_packets.unreadable.entry(reason).or_default() += 1;
                continue;
            }
        };
        let at = record.at.since(first);
        if let Some(piece) = Fragment::read(&frame) {
            let id = piece.packet_id();
            let Some(packet) = pieces.take(at, &piece) else {
                *waiting.entry(id).or_default() += 1;
                continue;
            };
            waiting.remove(&id);
            frame = packet.into();
        }
        match Packet::read(at, &frame) {
            Some(packet) => talks.take(packet),
            None => found.other_packets.foreign += 1,
        }
    }
    found.other_packets.fragments = waiting.values().sum();
    found.all = talks.all.into_iter().filter_map(|talk| talk.finish(options)).collect();
    found
}

/// Limits of fragments waiting for others: larger than in a host, as all of it is in memory already.
const PIECES: Limits = Limits { packets: 1 << 16, bytes: 256 << 20, time: Nanos::from_secs(30) };

/// Messages and their senders, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Event {
    /// Bytes; on UDP a datagram.
    Said(Vec<u8>),
    /// Nothing more.
    Finished,
    /// A reset.
    Reset,
}

impl Event {
    /// Truncates the data to this number of bytes.
    fn cut(&mut self, longest: usize) {
        if let Self::Said(bytes) = self {
            bytes.truncate(longest);
        }
    }
}

/// A conversation being listened to.
#[derive(Debug)]
struct Talk {
    carrier: Carrier,
    ends: [SocketAddr; 2],
    at: Nanos,
    directions: [Direction; 2],
    events: Vec<(Nanos, usize, Event)>,
}

#[derive(Debug, Default)]
struct Talks {
    all: Vec<Talk>,
    /// The current one of two conversations with the same ends.
    current: BTreeMap<(Carrier, SocketAddr, SocketAddr), usize>,
}

impl Talks {
    fn take(&mut self, packet: Packet<'_>) {
        let [from, to] = packet.ends;
        let key = (packet.carrier, from.min(to), from.max(to));
        let index = match self.current.get(&key) {
            Some(index) if !self.all[*index].begins_anew(&packet) => *index,
            _ => {
                self.all.push(Talk::new(&packet));
                self.current.insert(key, self.all.len() - 1);
                self.all.len() - 1
            }
        };
        self.all[index].take(&packet);
    }
}

impl Talk {
    fn new(packet: &Packet<'_>) -> Self {
        let [from, to] = packet.ends;
        // Whoever answers a SYN is the server.
        let ends = if packet.is_syn() && packet.is_ack() { [to, from] } else { [from, to] };
        Self {
            carrier: packet.carrier,
            ends,
            at: packet.at,
            directions: [Direction::default(), Direction::default()],
            events: Vec::new(),
        }
    }

    /// Whether a packet begins another conversation of the same ends.
    fn begins_anew(&self, packet: &Packet<'_>) -> bool {
        let by_client = packet.ends[0] == self.ends[0];
        let known = &self.directions[usize::from(!by_client)];
        packet.is_syn() && !packet.is_ack() && known.has_begun() && !known.began_with(packet.sequence)
    }

    fn take(&mut self, packet: &Packet<'_>) {
        let side = usize::from(packet.ends[0] != self.ends[0]);
        if self.carrier == Carrier::Udp {
            let mut said = packet.payload.to_vec();
            said.resize(packet.len.max(said.len()), 0);
            self.directions[side].missing += (said.len() - packet.payload.len()) as u64;
            return self.events.push((packet.at, side, Event::Said(said)));
        }
        let direction = &mut self.directions[side];
        let was_finished = direction.is_finished();
        let said = direction.take(packet);
        if !said.is_empty() {
            self.events.push((packet.at, side, Event::Said(said)));
        }
        if !was_finished && self.directions[side].is_finished() {
            self.events.push((packet.at, side, Event::Finished));
        }
        if packet.is_reset() && !matches!(self.events.last(), Some((_, _, Event::Reset))) {
            self.events.push((packet.at, side, Event::Reset));
        }
    }

    fn finish(mut self, options: ConversationOptions) -> Option<Conversation> {
        if let (Carrier::Udp, Some(longest)) = (self.carrier, options.datagram_max) {
            self.events.iter_mut().for_each(|(_, _, event)| event.cut(longest));
        }
        for side in 0..2 {
            let rest = self.directions[side].rest();
            if !rest.is_empty() {
                let at = self.events.last().map_or(self.at, |(at, _, _)| *at);
                self.events.push((at, side, Event::Said(rest)));
            }
        }
        let said = |side| {
            let mine = self.events.iter().filter(|(_, by, _)| *by == side);
            mine.map(|(_, _, event)| if let Event::Said(bytes) = event { bytes.len() as u64 } else { 0 })
                .sum()
        };
        let bytes: [u64; 2] = [said(0), said(1)];
        if bytes == [0, 0] {
            return None;
        }
        let [client, server] = programs(&self.events, self.carrier, options, self.at);
        let app = AppPlan::Program { client: Arc::new(client), server: Arc::new(server) };
        let missing = self.directions.iter().map(|direction| direction.missing).sum();
        let [client, server] = self.ends;
        Some(Conversation { carrier: self.carrier, client, server, at: self.at, app, bytes, missing })
    }
}

/// Both ends' programs.
fn programs(
    events: &[(Nanos, usize, Event)],
    carrier: Carrier,
    options: ConversationOptions,
    start: Nanos,
) -> [Program; 2] {
    let mut ops = [Vec::new(), Vec::new()];
    let mut gone = [false, false];
    let mut before = start;
    // Whether the server has heard something since it spoke.
    let mut is_asked = false;
    let mut index = 0;
    while let Some((at, side, event)) = events.get(index) {
        let (me, other) = (*side, 1 - side);
        index += 1;
        let said_later = |by: usize| {
            events[index..].iter().any(|(_, side, event)| *side == by && matches!(event, Event::Said(_)))
        };
        match event {
            Event::Said(bytes) if !gone[me] => {
                let mut bytes = bytes.clone();
                let mut last = *at;
                let long =
                    |from: Nanos, to: Nanos| options.pauses.is_some_and(|least| to.since(from) >= least);
                // What follows without a pause, or anybody else speaking, is said at once.
                while let Some((next, by, Event::Said(more))) = events.get(index)
                    && carrier == Carrier::Tcp
                    && *by == me
                    && !long(last, *next)
                {
                    bytes.extend_from_slice(more);
                    last = *next;
                    index += 1;
                }
                if long(before, *at) {
                    ops[me].push(Op::Wait(Delay::Constant(at.since(before))));
                }
                before = last;
                if me == 1 && is_asked {
                    ops[me].extend(options.answer_delay.map(Op::Wait));
                }
                is_asked = me == 0;
                let content = Content::bytes(bytes);
                ops[me].push(Op::Send(content.clone()));
                ops[other].push(Op::Expect(Expect::Recorded(content)));
            }
            Event::Finished if !gone[me] => {
                gone[me] = true;
                if said_later(other) {
                    ops[me].push(Op::HalfClose);
                    ops[other].push(Op::Expect(Expect::End));
                } else if !gone[other] && me == 1 {
                    ops[1].push(Op::Close);
                    ops[0].push(Op::Expect(Expect::End));
                }
            }
            Event::Reset if !said_later(0) && !said_later(1) => {
                if !gone[me] && !options.closes {
                    ops[me].push(Op::Reset);
                }
                break;
            }
            _ => {}
        }
    }
    ops.map(|ops| Program { ops })
}
