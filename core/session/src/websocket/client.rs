//! Asks for the upgrade, sends messages, and reads what comes back.

use super::deflate::{Compressed, Shared};
use super::framer::Framer;
use super::handshake::{self, Answer};
use super::link::{Link, What};
use super::plan::{WebsocketExpect, WebsocketPlan};
use super::{note_abnormal, note_close, state};
use crate::counts::Reason;
use crate::extra::Extras;
use crate::flow::{Ctx, Flag, Flow, tick};
use crate::input;
use crate::message::{self, Message, Vars};
use crate::vary::{Delay, turn};
use ::websocket::{Event, Kind, Opcode, Violation, close_code, code};
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of messages in flight that get no reply.
const AHEAD_MAX: usize = 64;

/// A client made ready. A flow's `sent` counts its messages, `waiting` the messages without a reply so far.
#[derive(Debug)]
pub(crate) struct Client {
    plan: Arc<WebsocketPlan>,
    request: Message,
    framer: Framer,
    /// Replies of servers of this project, if the plan has their size.
    reply: Option<Framer>,
    shared: Shared,
}

impl Client {
    pub(crate) fn new(plan: Arc<WebsocketPlan>) -> Self {
        let framer = Framer::new(&plan.message, plan.kind, plan.fragment, Some(plan.seed));
        Self {
            request: handshake::request(&plan),
            framer,
            reply: super::server::reply(&plan),
            shared: Shared::default(),
            plan,
        }
    }

    fn vars(&self, flow: &Flow, number: u32) -> Vars {
        let (session, request) = (u64::from(flow.number), u64::from(number));
        let turn = turn(session, request, self.plan.per_connection.map(u64::from));
        Vars { session, request, turn, body: 0, seconds: 0 }
    }

    fn masks(&self) -> Option<u64> {
        Some(self.plan.seed)
    }

    /// Whether something comes back for a message.
    fn expects(&self) -> bool {
        self.plan.expect != WebsocketExpect::Nothing
    }

    /// Number of the message whose reply is due next.
    fn answered(flow: &Flow) -> u32 {
        flow.sent.wrapping_sub(u32::from(flow.waiting))
    }

    pub(crate) fn opened(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.state = state::UPGRADE;
        ctx.extras.of(flow).websocket = Some(Link::new(true, self.plan.most).into());
        flow.mark(ctx.now);
        ctx.arm(flow, ctx.common.patience.response);
        let bytes = self.request.len(&self.vars(flow, 0));
        Link::with(ctx, flow, |ctx, _, link| link.send(ctx, What::Upgrade, bytes));
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
            if flow.has(Flag::Failed) || link.close_received || flow.state == state::END {
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
                    link.give_up(ctx, flow, self.masks(), wrong);
                    return data.len();
                }
            };
            used += step.used;
            let Some(event) = step.event else { return used };
            let done = match event {
                Event::Begin(kind, compressed) => {
                    link.begin(&self.shared, kind, compressed);
                    self.begin(ctx, flow, link);
                    Ok(())
                }
                Event::Data(range, _) => {
                    link.take(Some(&rest[range]), |link, data| self.data(ctx, flow, link, data))
                }
                Event::End => link
                    .take(None, |link, data| self.data(ctx, flow, link, data))
                    .and_then(|()| self.end_of_message(ctx, flow, link)),
                Event::Control(opcode, range, _) => self.control(ctx, flow, link, opcode, rest, range),
            };
            // The first fault counts: further ones depend on how much came with it.
            if let Err(wrong) = done
                && !flow.has(Flag::Failed)
            {
                link.give_up(ctx, flow, self.masks(), wrong);
            }
        }
    }

    /// Reads the response to the upgrade; returns its bytes once it is whole.
    fn upgrade(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, link: &mut Link, data: &[u8]) -> Option<usize> {
        let key = message::websocket_key(self.plan.seed, u64::from(flow.number));
        let compression = self.plan.compression.as_ref();
        match handshake::answer(data, &key, &self.plan.subprotocols, compression.map(|all| &all.parameters)) {
            Answer::More => None,
            Answer::Open(used, agreed) => {
                ctx.counts.websocket.connections += 1;
                if let Some(plan) = compression {
                    link.agree(
                        ctx,
                        agreed.map(|agreed| Compressed::new(&agreed, true, plan, self.plan.most)),
                    );
                }
                ctx.counts.websocket_upgrade.record(flow.elapsed(ctx.now).0);
                flow.state = state::OPEN;
                // The time of the upgrade is over; whoever wants to be woken says so.
                flow.unset(Flag::Armed);
                link.ping_at = self.plan.ping.map(|every| ctx.now.saturating_add(every));
                self.pump(ctx, flow, link);
                Some(used)
            }
            Answer::Refused(status) => {
                *ctx.counts.websocket.refused.entry(status).or_default() += 1;
                ctx.counts.detail(&format!("the upgrade was refused with status {status}"));
                let reason = match status {
                    400..=499 => Reason::Http4xx,
                    500..=599 => Reason::Http5xx,
                    _ => Reason::HttpStatus,
                };
                ctx.fail_softly(flow, reason);
                flow.set(Flag::Closing);
                ctx.ask.close = true;
                Some(data.len())
            }
            Answer::Wrong(why) => {
                ctx.counts.detail(why);
                ctx.fail(flow, Reason::BadResponse);
                Some(data.len())
            }
        }
    }

    /// Sends what may be sent.
    fn pump(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, link: &mut Link) {
        loop {
            if flow.has(Flag::Failed) || flow.has(Flag::Paused) || flow.state != state::OPEN {
                return;
            }
            let all_sent = self.plan.per_connection.is_some_and(|all| flow.sent >= all);
            let is_over = !all_sent && ctx.shall_end(flow);
            let shall_end = is_over || !all_sent && ctx.has_asked_all();
            if all_sent || shall_end {
                if flow.waiting == 0 {
                    if is_over {
                        flow.set(Flag::Stopped);
                    }
                    self.end(ctx, flow, link);
                }
                return;
            }
            let is_full =
                link.under_way() >= AHEAD_MAX || flow.waiting >= self.plan.pipeline.max(1) || link.is_laden();
            if is_full || !ctx.may_request(flow) {
                return;
            }
            self.send(ctx, flow, link);
            if !self.expects() {
                self.pause(ctx, flow);
            }
        }
    }

    fn send(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, link: &mut Link) {
        let number = flow.sent;
        let vars = self.vars(flow, number);
        let compressed = match link.compressed {
            Some(_) => link.compress(ctx, &self.shared, &self.framer.bytes(&vars)),
            None => None,
        };
        match compressed {
            Some(bytes) => link.send_own(ctx, &self.framer.compressed(&vars, &bytes)),
            None => link.send(ctx, What::Message(number, false), self.framer.len(&vars)),
        }
        ctx.counts.requests += 1;
        ctx.counts.websocket.messages_sent += 1;
        ctx.counts.websocket.bytes_sent += self.framer.payload(&vars);
        flow.sent = flow.sent.wrapping_add(1);
        flow.mark(ctx.now);
        if !self.expects() {
            // Nothing tells when it is answered.
            if ctx.common.late {
                ctx.extras.of(flow).dues.pop_front();
            }
            return;
        }
        flow.waiting += 1;
        if self.plan.pipeline > 1 {
            ctx.extras.of(flow).starts.push_back(tick(ctx.now));
        }
        ctx.arm(flow, ctx.common.patience.response);
    }

    /// Waits before the next message, if it is to.
    fn pause(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        let done = self.plan.per_connection.is_some_and(|all| flow.sent >= all);
        if flow.waiting > 0 || self.plan.think == Delay::NONE || done {
            return;
        }
        let think = self.plan.think.value(u64::from(flow.number), u64::from(flow.sent));
        let mut end = ctx.now.saturating_add(think);
        if ctx.common.up.is_some() {
            end = end.min(flow.up_end(ctx.now));
        }
        flow.set(Flag::Paused);
        ctx.wake_at(flow, end);
    }

    /// All replies are there: closes, once its time and its turn have come.
    fn end(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, link: &mut Link) {
        flow.state = state::STAYING;
        if ctx.may_close(flow) {
            self.say_close(ctx, flow, link);
        }
    }

    /// Begins the close handshake.
    fn say_close(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, link: &mut Link) {
        flow.state = state::CLOSING;
        link.send_close(ctx, flow, self.masks(), code::NORMAL, "");
        self.wait_for_end(ctx, flow);
    }

    /// Waits for the server as long as for a response.
    fn wait_for_end(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.unset(Flag::Armed);
        flow.mark(ctx.now);
        ctx.arm(flow, ctx.common.patience.response);
    }

    /// Time of sending of the message whose reply is due next.
    fn started(&self, ctx: &Ctx<'_>, flow: &Flow) -> u32 {
        if self.plan.pipeline <= 1 {
            return flow.at;
        }
        ctx.extras.find(flow).and_then(|extra| extra.starts.front().copied()).unwrap_or(flow.at)
    }

    fn begin(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, link: &Link) {
        if flow.waiting > 0 {
            let since = self.started(ctx, flow);
            ctx.first_byte(flow, since);
            if self.plan.expect == WebsocketExpect::Echo && link.kind != self.plan.kind {
                self.wrong(ctx, flow, "an echo of another kind");
            }
        } else if self.plan.expect == WebsocketExpect::Echo {
            self.wrong(ctx, flow, "a message that echoes none");
        }
    }

    #[cold]
    fn wrong(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, why: &str) {
        ctx.counts.detail(why);
        ctx.fail(flow, Reason::WrongContent);
    }

    fn data(
        &self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        link: &mut Link,
        data: &[u8],
    ) -> Result<(), Violation> {
        if flow.has(Flag::Failed) {
            return Ok(());
        }
        let expected = match self.plan.expect {
            _ if flow.waiting == 0 => None,
            WebsocketExpect::Echo => Some(&self.framer),
            _ => self.reply.as_ref().filter(|_| ctx.common.verify),
        };
        if let Some(framer) = expected
            && !framer.matches(&self.vars(flow, Self::answered(flow)), link.got, data)
        {
            // Whatever else is wrong with it: in any other order pieces would decide which of both it is.
            self.wrong(ctx, flow, "a message with other bytes than expected");
        } else if link.kind == Kind::Text && !link.utf8.push(data) {
            return Err(Violation::NotUtf8);
        }
        link.got += data.len() as u64;
        Ok(())
    }

    fn end_of_message(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, link: &mut Link) -> Result<(), Violation> {
        if flow.has(Flag::Failed) {
            return Ok(());
        }
        if link.kind == Kind::Text && !link.utf8.is_whole() {
            return Err(Violation::NotUtf8);
        }
        link.done(ctx, &self.shared);
        if flow.waiting == 0 {
            return Ok(());
        }
        let vars = self.vars(flow, Self::answered(flow));
        let expected = match self.plan.expect {
            WebsocketExpect::Echo => Some(self.framer.payload(&vars)),
            _ => self.reply.as_ref().map(|reply| reply.payload(&vars)),
        };
        if expected.is_some_and(|bytes| bytes != link.got) {
            self.wrong(ctx, flow, "a message of another length than expected");
            return Ok(());
        }
        let since = self.started(ctx, flow);
        ctx.last_byte(flow, since);
        if self.plan.pipeline > 1
            && let Some(extra) = ctx.extras.find_mut(flow)
        {
            extra.starts.pop_front();
        }
        flow.waiting -= 1;
        self.pause(ctx, flow);
        if !flow.has(Flag::Turn) {
            self.pump(ctx, flow, link);
        }
        Ok(())
    }

    fn control(
        &self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        link: &mut Link,
        opcode: Opcode,
        data: &[u8],
        range: Range<usize>,
    ) -> Result<(), Violation> {
        let payload = &data[range];
        match opcode {
            Opcode::Ping => link.pinged(ctx, flow, self.masks(), payload),
            Opcode::Pong => link.ponged(ctx, payload),
            _ => self.closed(ctx, flow, link, close_code(payload)?),
        }
        Ok(())
    }

    /// The server's Close frame.
    fn closed(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, link: &mut Link, code: u16) {
        link.close_received = true;
        let reason = note_close(ctx.counts, code);
        let is_early = flow.state == state::OPEN && (flow.waiting > 0 || flow.sent == 0);
        link.send_close(ctx, flow, self.masks(), code, "");
        if let Some(reason) = reason.or(is_early.then_some(Reason::ClosedEarly)) {
            ctx.fail_softly(flow, reason);
            flow.set(Flag::Closing);
            ctx.ask.close = true;
            return;
        }
        if flow.state == state::OPEN
            && let Some(all) = self.plan.per_connection
        {
            ctx.counts.unasked += u64::from(all.saturating_sub(flow.sent));
        }
        flow.set(Flag::Done);
        flow.state = state::CLOSED;
        self.wait_for_end(ctx, flow);
        if flow.has(Flag::PeerClosed) {
            self.finish(ctx, flow);
        }
    }

    pub(crate) fn finished(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.set(Flag::PeerClosed);
        if flow.has(Flag::Failed)
            || flow.has(Flag::Stashed) && flow.state != state::UPGRADE && self.is_held(ctx, flow)
        {
            return;
        }
        self.finish(ctx, flow);
    }

    /// Whether what has come waits until more was acknowledged.
    fn is_held(&self, ctx: &Ctx<'_>, flow: &Flow) -> bool {
        ctx.extras.find(flow).and_then(|extra| extra.websocket.as_deref()).is_some_and(Link::is_full)
    }

    /// The server has ended the connection.
    fn finish(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        match flow.state {
            state::CLOSED | state::END => {}
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
        Link::with(ctx, flow, |ctx, flow, link| {
            let was_full = link.is_full();
            while let Some(what) = link.acknowledged(offset) {
                let counts = matches!(what, What::Message(..) | What::Own) && !self.expects();
                ctx.counts.transactions += u64::from(counts);
            }
            resume = was_full && link.resume(ctx);
            if (!self.expects() || link.compressed.is_some())
                && flow.state == state::OPEN
                && !flow.has(Flag::Turn)
            {
                self.pump(ctx, flow, link);
            }
        });
        if resume {
            self.resume(ctx, flow);
        }
    }

    /// Reads on with what was held.
    fn resume(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if flow.has(Flag::Stashed) {
            self.received(ctx, flow, &[]);
        }
        if flow.has(Flag::PeerClosed) && !flow.has(Flag::Closing) {
            self.finished(ctx, flow);
        }
    }

    pub(crate) fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        Link::with(ctx, flow, |ctx, flow, link| {
            let told = link.is_woken(ctx.now, flow);
            if let Some(every) = self.plan.ping {
                link.ping(ctx, flow, self.masks(), every);
            }
            if told && !flow.has(Flag::Failed) {
                self.time_is_up(ctx, flow, link);
            }
        });
    }

    /// The wake-up it waited for has come.
    fn time_is_up(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, link: &mut Link) {
        let (patience, step) = (ctx.common.patience.response, flow.state);
        match step {
            state::UPGRADE if ctx.has_run_out(flow, patience) => ctx.fail(flow, Reason::ResponseTimeout),
            state::OPEN if flow.take(Flag::Paused) || flow.has(Flag::Turn) || flow.waiting == 0 => {
                self.pump(ctx, flow, link);
            }
            state::OPEN if ctx.has_run_out(flow, patience) => ctx.fail(flow, Reason::ResponseTimeout),
            // Its turn was taken away while it waits for a reply, too.
            state::OPEN if ctx.common.paced && flow.waiting < self.plan.pipeline.max(1) => {
                self.pump(ctx, flow, link);
            }
            state::STAYING => self.end(ctx, flow, link),
            state::CLOSING if ctx.has_run_out(flow, patience) => {
                ctx.counts.detail("no Close frame in response to Close");
                ctx.fail_softly(flow, Reason::IdleTimeout);
                ctx.close(flow);
            }
            // The server was to end the connection, and did not (RFC 6455 section 7.1.1).
            state::CLOSED if ctx.has_run_out(flow, patience) => ctx.close(flow),
            _ => {}
        }
    }

    pub(crate) fn stop(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if flow.waiting > 0 || !matches!(flow.state, state::OPEN | state::STAYING) {
            return;
        }
        flow.set(Flag::Stopped);
        ctx.give_turn_back(flow);
        flow.set(Flag::Done);
        flow.unset(Flag::Paused);
        Link::with(ctx, flow, |ctx, flow, link| self.say_close(ctx, flow, link));
    }

    pub(crate) fn awaits_reply(flow: &Flow) -> bool {
        flow.state == state::UPGRADE || flow.waiting > 0
    }

    pub(crate) fn is_complete(flow: &Flow) -> bool {
        flow.has(Flag::Done)
    }

    pub(crate) fn fill(&self, flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]) {
        Link::fill(flow, extras, offset, out, |what, at, out| {
            match what {
                What::Upgrade => self.request.write(&self.vars(flow, 0), at, out),
                What::Message(number, _) => self.framer.write(&self.vars(flow, number), at, out),
                What::Held(_) | What::Own => 0,
            };
        });
    }
}
