//! A connection: what is read, what is on its way, and when something is due.

use super::deflate::{Compressed, Shared};
use crate::counts::Reason;
use crate::echo;
use crate::extra::Extras;
use crate::flow::{Ctx, Flag, Flow};
use ::websocket::{
    CONTROL_MAX, HEADER_MAX, Header, Kind, Mask, Opcode, Reader, Utf8, Violation, write_close,
};
use std::collections::VecDeque;
use units::Nanos;

/// Messages and frames on their way at which nothing more is read.
const OUT_MAX: usize = 256;
/// Bytes that are kept at which nothing more is read.
const HELD_MAX: usize = 256 << 10;
/// Bytes that may wait to be read before the carrier stops.
const STASH_MAX: usize = 16 << 10;
/// Bytes of buffers that a connection at rest keeps.
const KEEP_MAX: usize = 4_096;

/// Kinds of data in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// The request for the upgrade.
    Upgrade,
    /// Message of this number, written again from it; for a server, whether it is a reply.
    Message(u32, bool),
    /// Bytes that are kept; whether they are a reply.
    Held(bool),
    /// A compressed message of a client, which is kept.
    Own,
}

impl What {
    fn is_kept(self) -> bool {
        matches!(self, Self::Held(_) | Self::Own)
    }
}

/// Something on its way.
#[derive(Debug, Clone, Copy)]
struct Out {
    what: What,
    bytes: u64,
}

/// A connection.
#[derive(Debug, Default)]
pub(crate) struct Link {
    pub(crate) reader: Reader,
    /// The message that is read.
    pub(crate) kind: Kind,
    pub(crate) utf8: Utf8,
    /// Bytes of it so far.
    pub(crate) got: u64,
    /// All of it, for a server that sends it back; otherwise its last piece.
    pub(crate) message: Vec<u8>,
    /// Messages that a server has sent without a request.
    pub(crate) made: u32,
    /// The other end's Close frame has come.
    pub(crate) close_received: bool,
    close_sent: bool,
    /// Nothing more is taken from the carrier.
    paused: bool,
    out: VecDeque<Out>,
    /// Offset of the first of them.
    base: u64,
    /// Bytes of those that are kept, and how many of them are a client's messages.
    held: VecDeque<u8>,
    own: u64,
    /// Compression, if both ends agreed on it.
    pub(crate) compressed: Option<Box<Compressed>>,
    /// When the application wants to be woken.
    app_at: Option<Nanos>,
    pub(crate) ping_at: Option<Nanos>,
    pub(crate) push_at: Option<Nanos>,
    /// Pings sent; the last one has no Pong.
    pings: u32,
    unanswered: bool,
}

impl Link {
    pub(crate) fn new(from_server: bool, most: u64) -> Self {
        Self { reader: Reader::new(from_server, most), ..Self::default() }
    }

    /// Lets `tell` see a flow's connection, if there is one, and has the flow woken when something of it is due.
    pub(crate) fn with(
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        tell: impl FnOnce(&mut Ctx<'_>, &mut Flow, &mut Self),
    ) {
        let Some(mut link) = ctx.extras.find_mut(flow).and_then(|extra| extra.websocket.take()) else {
            return;
        };
        tell(ctx, flow, &mut link);
        link.settle(ctx);
        // What arrives of it while a run ends is a sign of life.
        flow.unacked = link.out.len().min(usize::from(u16::MAX)) as u16;
        ctx.extras.of(flow).websocket = Some(link);
    }

    /// One wake-up for all that is due.
    fn settle(&mut self, ctx: &mut Ctx<'_>) {
        if self.ping_at.is_none() && self.push_at.is_none() {
            return;
        }
        if let Some(at) = ctx.ask.wake {
            self.app_at = Some(at);
        }
        ctx.ask.wake = [self.app_at, self.ping_at, self.push_at].into_iter().flatten().min();
    }

    /// For a flow that was woken: whether the wake-up was the application's, not the connection's.
    pub(crate) fn is_woken(&mut self, now: Nanos, flow: &mut Flow) -> bool {
        let is_due = |at: Option<Nanos>| at.is_some_and(|at| at <= now);
        let own = is_due(self.ping_at) || is_due(self.push_at);
        if own && self.app_at.is_some_and(|at| at > now) {
            flow.set(Flag::Armed);
            return false;
        }
        // Without a wish of its own the application was not woken by one.
        let told = !own || self.app_at.is_some();
        self.app_at = None;
        told
    }

    /// Whether so much is on its way that nothing more may be read.
    pub(crate) fn is_full(&self) -> bool {
        // A client that waited for its own messages with reading would wait for a server that waits for it.
        self.out.len() >= OUT_MAX || self.held.len() as u64 - self.own >= HELD_MAX as u64
    }

    /// Whether so much of a client's messages is kept that no more may be sent.
    pub(crate) fn is_laden(&self) -> bool {
        self.own >= HELD_MAX as u64
    }

    /// Takes note of the compression agreed on, if any.
    pub(crate) fn agree(&mut self, ctx: &mut Ctx<'_>, compressed: Option<Compressed>) {
        let counts = &mut ctx.counts.websocket.compression;
        if compressed.is_some() {
            counts.connections += 1;
            self.reader.allow_compression();
        } else {
            counts.declined += 1;
        }
        self.compressed = compressed.map(Box::new);
    }

    /// Sends frames of a client's compressed message, and keeps them.
    pub(crate) fn send_own(&mut self, ctx: &mut Ctx<'_>, frames: &[u8]) {
        self.own += frames.len() as u64;
        self.held.extend(frames);
        self.send(ctx, What::Own, frames.len() as u64);
    }

    /// A message begins.
    pub(crate) fn begin(&mut self, shared: &Shared, kind: Kind, compressed: bool) {
        (self.kind, self.got, self.utf8) = (kind, 0, Utf8::default());
        if let Some(all) = &mut self.compressed {
            all.begin(shared, compressed);
        }
    }

    /// Lets `take` have the bytes of the message that `data` mean, or those that are left at its end.
    pub(crate) fn take(
        &mut self,
        data: Option<&[u8]>,
        mut take: impl FnMut(&mut Self, &[u8]) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let Some(mut compressed) = self.compressed.take() else {
            return data.map_or(Ok(()), |data| take(self, data));
        };
        let done = match data {
            Some(data) => compressed.read(data, |piece| take(self, piece)),
            None => compressed.end(|piece| take(self, piece)),
        };
        self.compressed = Some(compressed);
        done
    }

    /// The message was read whole.
    pub(crate) fn done(&mut self, ctx: &mut Ctx<'_>, shared: &Shared) {
        let counts = &mut ctx.counts.websocket;
        counts.messages_received += 1;
        counts.bytes_received += self.got;
        if let Some(compressed) = &mut self.compressed {
            compressed.done(shared, &mut counts.compression, self.got);
        }
    }

    /// A message as it is compressed; `None` if it is not.
    pub(crate) fn compress(&mut self, ctx: &mut Ctx<'_>, shared: &Shared, message: &[u8]) -> Option<Vec<u8>> {
        let counts = &mut ctx.counts.websocket.compression;
        self.compressed.as_mut()?.write(shared, counts, message)
    }

    /// Reads no more for now: what is not used up is kept, and if that is much nothing more is taken.
    pub(crate) fn hold(&mut self, ctx: &mut Ctx<'_>, used: usize, all: usize) -> usize {
        if all - used > STASH_MAX && !self.paused {
            self.paused = true;
            ctx.ask.read = Some(false);
        }
        used
    }

    /// Whether there is room to read on; takes from the carrier again then.
    pub(crate) fn resume(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let has_room = !self.is_full();
        if has_room && std::mem::take(&mut self.paused) {
            ctx.ask.read = Some(true);
        }
        has_room
    }

    /// Messages and frames that are not acknowledged.
    pub(crate) fn under_way(&self) -> usize {
        self.out.len()
    }

    /// Sends something that can be written again.
    pub(crate) fn send(&mut self, ctx: &mut Ctx<'_>, what: What, bytes: u64) {
        self.out.push_back(Out { what, bytes });
        ctx.ask.send += bytes;
        ctx.counts.bytes_sent += bytes;
    }

    /// Sends bytes, and keeps them.
    pub(crate) fn send_bytes(&mut self, ctx: &mut Ctx<'_>, bytes: &[u8], answers: bool) {
        self.held.extend(bytes);
        self.send(ctx, What::Held(answers), bytes.len() as u64);
    }

    /// Sends a frame, and keeps it.
    pub(crate) fn send_frame(&mut self, ctx: &mut Ctx<'_>, header: Header, payload: &[u8], answers: bool) {
        let mut head = [0; HEADER_MAX];
        let len = header.write(&mut head);
        self.held.extend(&head[..len]);
        match header.mask {
            None => self.held.extend(payload),
            Some(key) => {
                let mut masked = payload.to_vec();
                Mask::new(key, 0).apply(&mut masked);
                self.held.extend(&masked);
            }
        }
        self.send(ctx, What::Held(answers), (len + payload.len()) as u64);
    }

    /// Sends a control frame. The mask of a client's follows its place in the stream.
    pub(crate) fn send_control(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &Flow,
        masks: Option<u64>,
        opcode: Opcode,
        payload: &[u8],
    ) {
        if self.close_sent {
            // Nothing follows Close (RFC 6455 section 5.5.1).
            return;
        }
        let place = self.base + self.out.iter().map(|out| out.bytes).sum::<u64>();
        let mask = masks.map(|seed| {
            let key = random::word(random::other_key(random::key(seed)), u64::from(flow.number));
            (random::word(key, place) as u32).to_le_bytes()
        });
        let header = Header { fin: true, compressed: false, opcode, mask, len: payload.len() as u64 };
        self.send_frame(ctx, header, payload, false);
    }

    /// Sends Close, once.
    pub(crate) fn send_close(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &Flow,
        masks: Option<u64>,
        code: u16,
        why: &str,
    ) {
        let mut payload = [0; CONTROL_MAX];
        let len = write_close(code, why, &mut payload);
        self.send_control(ctx, flow, masks, Opcode::Close, &payload[..len]);
        self.close_sent = true;
        (self.ping_at, self.push_at) = (None, None);
    }

    /// The other end broke a rule: sends Close, and gives up.
    #[cold]
    pub(crate) fn give_up(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        masks: Option<u64>,
        wrong: Violation,
    ) {
        ctx.counts.detail(wrong.text());
        self.send_close(ctx, flow, masks, wrong.code(), wrong.text());
        ctx.fail_softly(flow, Reason::WebsocketProtocol);
        flow.set(Flag::Closing);
        ctx.ask.close = true;
    }

    /// Answers a Ping.
    pub(crate) fn pinged(&mut self, ctx: &mut Ctx<'_>, flow: &Flow, masks: Option<u64>, payload: &[u8]) {
        ctx.counts.websocket.pings_received += 1;
        self.send_control(ctx, flow, masks, Opcode::Pong, payload);
    }

    /// A Pong has come.
    pub(crate) fn ponged(&mut self, ctx: &mut Ctx<'_>, payload: &[u8]) {
        ctx.counts.websocket.pongs_received += 1;
        if payload == self.pings.to_be_bytes() {
            self.unanswered = false;
        }
    }

    /// Sends the Ping that is due; without a Pong to the one before the session fails.
    pub(crate) fn ping(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, masks: Option<u64>, every: Nanos) {
        if self.ping_at.is_none_or(|at| at > ctx.now) {
            return;
        }
        if self.unanswered {
            self.ping_at = None;
            ctx.counts.detail("no Pong before the next Ping was due");
            return ctx.fail(flow, Reason::ResponseTimeout);
        }
        self.ping_at = Some(ctx.now.saturating_add(every));
        self.pings = self.pings.wrapping_add(1);
        self.unanswered = true;
        ctx.counts.websocket.pings_sent += 1;
        let payload = self.pings.to_be_bytes();
        self.send_control(ctx, flow, masks, Opcode::Ping, &payload);
    }

    /// Takes the next thing that was acknowledged whole.
    pub(crate) fn acknowledged(&mut self, offset: u64) -> Option<What> {
        let Out { what, bytes } = *self.out.front()?;
        if offset < self.base + bytes {
            return None;
        }
        self.out.pop_front();
        self.base += bytes;
        if what.is_kept() {
            self.own -= if what == What::Own { bytes } else { 0 };
            self.held.drain(..bytes as usize);
            if self.held.is_empty() && self.held.capacity() > KEEP_MAX {
                self.held = VecDeque::new();
            }
        }
        Some(what)
    }

    /// Gives a long buffer back once a message is done with.
    pub(crate) fn forget_message(&mut self) {
        if self.message.capacity() > KEEP_MAX {
            self.message = Vec::new();
        } else {
            self.message.clear();
        }
    }

    /// Writes what is on its way from `offset` of the stream on; `write` writes what can be written again, from a place in it on.
    pub(crate) fn fill(
        flow: &Flow,
        extras: &Extras,
        offset: u64,
        mut out: &mut [u8],
        mut write: impl FnMut(What, u64, &mut [u8]),
    ) {
        let Some(link) = extras.find(flow).and_then(|extra| extra.websocket.as_deref()) else { return };
        let (mut at, mut held) = (link.base, 0);
        for one in &link.out {
            let kept = if one.what.is_kept() { one.bytes as usize } else { 0 };
            let end = at + one.bytes;
            if offset < end && !out.is_empty() {
                let skip = offset.saturating_sub(at);
                let n = (one.bytes - skip).min(out.len() as u64) as usize;
                let (now, rest) = out.split_at_mut(n);
                match one.what {
                    what if what.is_kept() => echo::copy(&link.held, held + skip as usize, now),
                    what => write(what, skip, now),
                }
                out = rest;
            }
            if out.is_empty() {
                return;
            }
            (at, held) = (end, held + kept);
        }
    }
}
