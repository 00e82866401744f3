//! Answers the upgrade, and messages.

use super::deflate::{Compressed, Shared};
use super::framer::{Framer, frames};
use super::handshake::{self, Asked};
use super::link::{Link, What};
use super::plan::{WebsocketExpect, WebsocketPlan};
use super::{note_abnormal, note_close, state};
use crate::counts::Reason;
use crate::extra::Extras;
use crate::flow::{Ctx, Flag, Flow};
use crate::input;
use crate::message::Vars;
use crate::vary::Content;
use ::websocket::{Event, Header, Kind, Mask, Opcode, Violation, close_code, code};
use std::ops::Range;
use std::sync::Arc;
use tcp::End;

/// Servers mask nothing.
const NO_MASKS: Option<u64> = None;

/// A server made ready.
#[derive(Debug)]
pub(crate) struct Server {
    plan: Arc<WebsocketPlan>,
    /// Messages of clients of this project, to compare with; `None` if a server can't know them.
    asked: Option<Framer>,
    reply: Option<Framer>,
    shared: Shared,
}

/// Generated messages of a server.
pub(super) fn reply(plan: &WebsocketPlan) -> Option<Framer> {
    let size = plan.response.clone()?;
    Some(Framer::new(&Content::generated(size), plan.kind, plan.fragment, None))
}

fn vars(number: u32) -> Vars {
    Vars { session: 0, request: u64::from(number), turn: u64::from(number), body: 0, seconds: 0 }
}

impl Server {
    pub(crate) fn new(plan: Arc<WebsocketPlan>) -> Self {
        let is_known = !plan.message.follows_session();
        let asked = is_known.then(|| Framer::new(&plan.message, plan.kind, None, None));
        Self { asked, reply: reply(&plan), shared: Shared::default(), plan }
    }

    pub(crate) fn opened(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.state = state::UPGRADE;
        ctx.extras.of(flow).websocket = Some(Link::new(false, self.plan.most).into());
        flow.mark(ctx.now);
        ctx.arm(flow, ctx.common.patience.idle);
    }

    pub(crate) fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        flow.set(Flag::Progress);
        Link::with(ctx, flow, |ctx, flow, link| {
            input::feed(ctx, flow, data, |ctx, flow, data| self.process(ctx, flow, link, data));
        });
    }

    /// Reads as far as it goes; returns how many bytes are used up.
    fn process(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, link: &mut Link, data: &[u8]) -> usize {
        let mut used = 0;
        loop {
            if flow.has(Flag::Failed) || flow.state == state::END {
                return data.len();
            }
            let rest = &data[used..];
            if flow.state == state::UPGRADE {
                match self.upgrade(ctx, flow, link, rest) {
                    Some(bytes) => used += bytes,
                    None => return used,
                }
                continue;
            }
            if link.is_full() {
                return link.hold(ctx, used, data.len());
            }
            let step = match link.reader.read(rest) {
                Ok(step) => step,
                Err(wrong) => {
                    link.give_up(ctx, flow, NO_MASKS, wrong);
                    return data.len();
                }
            };
            used += step.used;
            let Some(event) = step.event else { return used };
            let done = match event {
                Event::Begin(kind, compressed) => {
                    link.begin(&self.shared, kind, compressed);
                    Ok(())
                }
                Event::Data(range, mask) => self.masked(ctx, flow, link, &rest[range], mask),
                Event::End => link
                    .take(None, |link, data| self.data(ctx, flow, link, data, None))
                    .and_then(|()| self.end_of_message(ctx, flow, link)),
                Event::Control(opcode, range, mask) => {
                    self.control(ctx, flow, link, opcode, (rest, range, mask))
                }
            };
            // The first fault counts: further ones depend on how much came with it.
            if let Err(wrong) = done
                && !flow.has(Flag::Failed)
            {
                link.give_up(ctx, flow, NO_MASKS, wrong);
            }
        }
    }

    /// Reads the request for the upgrade, and responds; returns its bytes once it is whole.
    fn upgrade(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, link: &mut Link, data: &[u8]) -> Option<usize> {
        if data.is_empty() {
            return None;
        }
        let compression = self.plan.compression.as_ref();
        match handshake::asked(data, &self.plan.subprotocols, compression.map(|all| &all.parameters)) {
            Asked::More => None,
            Asked::Upgrade(used, answer, agreed) => {
                ctx.counts.websocket.connections += 1;
                if let (Some(plan), Some(agreed)) = (compression, agreed) {
                    let compressed = Compressed::new(&agreed, false, plan, self.plan.most);
                    link.agree(ctx, Some(compressed));
                }
                flow.state = state::OPEN;
                link.send_bytes(ctx, &answer, false);
                // Pings and messages of its own need a wake-up beside that of silence.
                flow.unset(Flag::Armed);
                flow.mark(ctx.now);
                ctx.arm(flow, ctx.common.patience.idle);
                let after = |every| ctx.now.saturating_add(every);
                link.ping_at = self.plan.ping.map(after);
                link.push_at = self.plan.push.filter(|_| self.reply.is_some()).map(after);
                Some(used)
            }
            Asked::Wrong(why, answer) => {
                ctx.counts.detail(why);
                link.send_bytes(ctx, &answer, false);
                ctx.fail_softly(flow, Reason::BadRequest);
                flow.state = state::END;
                ctx.close(flow);
                Some(data.len())
            }
        }
    }

    /// Bytes of a message as they came.
    fn masked(
        &self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        link: &mut Link,
        data: &[u8],
        mask: Option<Mask>,
    ) -> Result<(), Violation> {
        if link.compressed.is_none() {
            return self.data(ctx, flow, link, data, mask);
        }
        let mut bytes = data.to_vec();
        if let Some(mask) = mask {
            mask.apply(&mut bytes);
        }
        link.take(Some(&bytes), |link, data| self.data(ctx, flow, link, data, None))
    }

    fn data(
        &self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        link: &mut Link,
        data: &[u8],
        mask: Option<Mask>,
    ) -> Result<(), Violation> {
        if flow.has(Flag::Failed) {
            return Ok(());
        }
        let echoes = self.plan.expect == WebsocketExpect::Echo;
        if !echoes {
            link.message.clear();
        }
        let from = link.message.len();
        link.message.extend_from_slice(data);
        let piece = &mut link.message[from..];
        if let Some(mask) = mask {
            mask.apply(piece);
        }
        if ctx.common.verify
            && let Some(asked) = &self.asked
            && !asked.matches(&vars(flow.sent), link.got, piece)
        {
            ctx.counts.detail("a message with other bytes than expected");
            ctx.fail(flow, Reason::WrongContent);
        } else if link.kind == Kind::Text && !link.utf8.push(piece) {
            return Err(Violation::NotUtf8);
        }
        link.got += data.len() as u64;
        Ok(())
    }

    /// A message is whole: replies.
    fn end_of_message(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, link: &mut Link) -> Result<(), Violation> {
        if flow.has(Flag::Failed) {
            return Ok(());
        }
        if link.kind == Kind::Text && !link.utf8.is_whole() {
            return Err(Violation::NotUtf8);
        }
        let number = flow.sent;
        flow.sent = flow.sent.wrapping_add(1);
        ctx.counts.requests += 1;
        link.done(ctx, &self.shared);
        flow.mark(ctx.now);
        ctx.arm(flow, ctx.common.patience.idle);
        match self.plan.expect {
            // After Close nothing is sent.
            _ if flow.state != state::OPEN => {}
            WebsocketExpect::Echo => self.echo(ctx, link),
            WebsocketExpect::Reply => self.send(ctx, link, number, true),
            WebsocketExpect::Nothing => ctx.counts.transactions += 1,
        }
        link.forget_message();
        Ok(())
    }

    /// Sends a message back.
    fn echo(&self, ctx: &mut Ctx<'_>, link: &mut Link) {
        ctx.counts.websocket.messages_sent += 1;
        ctx.counts.websocket.bytes_sent += link.got;
        let message = std::mem::take(&mut link.message);
        if let Some(bytes) = link.compress(ctx, &self.shared, &message) {
            let fragment = self.plan.fragment.unwrap_or(u64::MAX);
            let frames = frames(link.kind, true, fragment.max(1), &bytes, |_| None);
            link.send_bytes(ctx, &frames, true);
            link.message = message;
            return;
        }
        let size = self.plan.fragment.map_or(usize::MAX, |bytes| bytes.max(1) as usize);
        let mut opcode = link.kind.opcode();
        let mut rest = &message[..];
        loop {
            let (now, later) = rest.split_at(rest.len().min(size));
            let fin = later.is_empty();
            let header = Header { fin, compressed: false, opcode, mask: None, len: now.len() as u64 };
            link.send_frame(ctx, header, now, fin);
            if fin {
                break;
            }
            (opcode, rest) = (Opcode::Continuation, later);
        }
        link.message = message;
    }

    /// Sends generated message `number`.
    fn send(&self, ctx: &mut Ctx<'_>, link: &mut Link, number: u32, answers: bool) {
        let Some(reply) = &self.reply else { return };
        let vars = vars(number);
        let compressed = match link.compressed {
            Some(_) => link.compress(ctx, &self.shared, &reply.bytes(&vars)),
            None => None,
        };
        match compressed {
            Some(bytes) => link.send_bytes(ctx, &reply.compressed(&vars, &bytes), answers),
            None => link.send(ctx, What::Message(number, answers), reply.len(&vars)),
        }
        ctx.counts.websocket.messages_sent += 1;
        ctx.counts.websocket.bytes_sent += reply.payload(&vars);
    }

    fn control(
        &self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        link: &mut Link,
        opcode: Opcode,
        (data, range, mask): (&[u8], Range<usize>, Option<Mask>),
    ) -> Result<(), Violation> {
        let mut payload = data[range].to_vec();
        if let Some(mask) = mask {
            mask.apply(&mut payload);
        }
        match opcode {
            Opcode::Ping => link.pinged(ctx, flow, NO_MASKS, &payload),
            Opcode::Pong => link.ponged(ctx, &payload),
            _ => {
                let code = close_code(&payload)?;
                link.close_received = true;
                if let Some(reason) = note_close(ctx.counts, code) {
                    ctx.fail_softly(flow, reason);
                }
                link.send_close(ctx, flow, NO_MASKS, code, "");
                flow.state = state::END;
                ctx.close(flow);
            }
        }
        Ok(())
    }

    pub(crate) fn finished(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.set(Flag::PeerClosed);
        let is_held = flow.has(Flag::Stashed)
            && ctx.extras.find(flow).and_then(|extra| extra.websocket.as_deref()).is_some_and(Link::is_full);
        if flow.has(Flag::Failed) || is_held {
            return;
        }
        match flow.state {
            state::END => {}
            // One that asked for nothing.
            state::UPGRADE if !flow.has(Flag::Stashed) => {}
            state::UPGRADE => ctx.fail_softly(flow, Reason::ClosedEarly),
            _ => {
                note_abnormal(ctx.counts);
                ctx.fail_softly(flow, Reason::ClosedEarly);
            }
        }
        flow.state = state::END;
        ctx.close(flow);
    }

    pub(crate) fn acknowledged(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64) {
        let mut resume = false;
        Link::with(ctx, flow, |ctx, _, link| {
            let was_full = link.is_full();
            while let Some(what) = link.acknowledged(offset) {
                let answers = matches!(what, What::Message(_, true) | What::Held(true));
                ctx.counts.transactions += u64::from(answers);
            }
            resume = was_full && link.resume(ctx);
        });
        if resume {
            if flow.has(Flag::Stashed) {
                self.received(ctx, flow, &[]);
            }
            if flow.has(Flag::PeerClosed) && !flow.has(Flag::Closing) {
                self.finished(ctx, flow);
            }
        }
    }

    pub(crate) fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        Link::with(ctx, flow, |ctx, flow, link| {
            let told = link.is_woken(ctx.now, flow);
            if let Some(every) = self.plan.ping {
                link.ping(ctx, flow, NO_MASKS, every);
            }
            if let (Some(every), Some(at)) = (self.plan.push, link.push_at)
                && at <= ctx.now
            {
                link.push_at = Some(at.max(ctx.now.since(every)).saturating_add(every));
                if !link.is_full() && !flow.has(Flag::Failed) {
                    let number = link.made;
                    link.made = number.wrapping_add(1);
                    self.send(ctx, link, number, false);
                }
            }
            let waits = !matches!(flow.state, 0 | state::END);
            if told && waits && !flow.has(Flag::Failed) && ctx.has_run_out(flow, ctx.common.patience.idle) {
                ctx.fail(flow, Reason::IdleTimeout);
            }
        });
    }

    pub(crate) fn stop(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if flow.has(Flag::Stashed) {
            return;
        }
        if flow.state == state::UPGRADE {
            flow.set(Flag::Stopped);
            flow.state = state::END;
            return ctx.close(flow);
        }
        Link::with(ctx, flow, |ctx, flow, link| {
            if flow.state == state::OPEN && link.reader.is_between() {
                flow.set(Flag::Stopped);
                flow.set(Flag::Done);
                flow.state = state::CLOSING;
                link.send_close(ctx, flow, NO_MASKS, code::GOING_AWAY, "");
            }
        });
    }

    pub(crate) fn is_complete(flow: &Flow, extras: &Extras, end: End) -> bool {
        let is_between = || {
            let link = extras.find(flow).and_then(|extra| extra.websocket.as_deref());
            flow.sent > 0 && link.is_some_and(|link| link.reader.is_between())
        };
        flow.has(Flag::Done) || end == End::ResetAcknowledged && is_between()
    }

    pub(crate) fn fill(&self, flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]) {
        Link::fill(flow, extras, offset, out, |what, at, out| {
            if let (What::Message(number, _), Some(reply)) = (what, &self.reply) {
                reply.write(&vars(number), at, out);
            }
        });
    }
}
