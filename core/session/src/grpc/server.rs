//! Reads calls, and responds.

use super::framer::Framer;
use super::plan::{GrpcExpect, GrpcKind, GrpcPlan};
use super::wakes::{Time, Wakes};
use super::{CONTENT_TYPE, Link, is_grpc, state};
use crate::counts::Reason;
use crate::extra::Extras;
use crate::flow::{Ctx, Flag, Flow};
use crate::http::h2::{Items, announced, hand_over, number};
use crate::message::Vars;
use crate::vary::Delay;
use ::grpc::{Event as Piece, PREFIX, Reader, Status, Violation, deadline, encode, prefix};
use http2::hpack::{Field, Fields};
use http2::{Body, Code, Connection, Event, Fault, Role};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tcp::End;
use units::Nanos;

/// Fields of requests that are looked at.
const FIELDS: &[&str] = &["content-type", "grpc-timeout"];
/// Bytes of echoes that a connection keeps; calls with more end with RESOURCE_EXHAUSTED.
const KEPT_MAX: usize = 16 << 20;
/// The same of all connections of a server on a worker.
const KEPT_IN_ALL_MAX: usize = 512 << 20;
/// Memory of an echo beyond its bytes: empty messages are not free.
const EACH: usize = 64;

/// A connection of a server.
pub(crate) struct Serving {
    connection: Connection<Call>,
    wakes: Wakes,
    /// Echoes that are not on their way.
    kept: Kept,
}

/// Bytes of echoes of a connection, and of all of a server. Leaves the sum when it is dropped.
struct Kept {
    own: usize,
    all: Arc<AtomicUsize>,
}

impl Kept {
    fn add(&mut self, bytes: usize) {
        self.own += bytes;
        self.all.fetch_add(bytes, Relaxed);
    }

    fn remove(&mut self, bytes: usize) {
        self.own -= bytes;
        self.all.fetch_sub(bytes, Relaxed);
    }

    fn is_too_much(&self) -> bool {
        self.own > KEPT_MAX || self.all.load(Relaxed) > KEPT_IN_ALL_MAX
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.remove(self.own);
    }
}

/// A call whose status was not sent.
#[derive(Debug, Default)]
struct Call {
    stream: u32,
    reader: Reader,
    /// Bytes of the message that is read so far.
    got: u32,
    /// Messages received whole, to send, and sent.
    received: u32,
    owed: u32,
    sent: u32,
    /// When the request was whole, or its first message in a call in which both stream.
    began: Nanos,
    /// All of the request came.
    ended: bool,
    /// The head of the response is sent.
    headed: bool,
    /// A message is not on its way yet.
    pending: bool,
    next: Option<Nanos>,
    deadline: Option<Nanos>,
    /// Echoes to send, and the one that is read, with their prefixes.
    echoes: VecDeque<Vec<u8>>,
    echo: Vec<u8>,
}

impl Serving {
    /// A call is gone.
    fn forget(&mut self, call: &Call) {
        self.kept.remove(call.kept());
        self.wakes.forget(call.stream, call.next, call.deadline);
    }
}

impl Call {
    /// Bytes of its echoes.
    fn kept(&self) -> usize {
        cost(&self.echo) + self.echoes.iter().map(|echo| cost(echo)).sum::<usize>()
    }
}

/// Memory of an echo; one that has not begun has none.
fn cost(echo: &[u8]) -> usize {
    if echo.is_empty() { 0 } else { echo.len() + EACH }
}

/// A server made ready.
#[derive(Debug)]
pub(crate) struct Server {
    plan: Arc<GrpcPlan>,
    /// Messages of clients, to compare with; `None` if a server can't know them.
    asked: Option<Framer>,
    reply: Option<Framer>,
    head: Items,
    /// A status for each code.
    statuses: Vec<Field>,
    text: Option<Field>,
    refusal: Field,
    said: Field,
    value: Vec<u8>,
    block: Vec<u8>,
    /// Bytes of echoes of all connections.
    kept: Arc<AtomicUsize>,
}

/// Operates on a flow's connection, and sends its output.
fn with(ctx: &mut Ctx<'_>, flow: &mut Flow, work: impl FnOnce(&mut Ctx<'_>, &mut Flow, &mut Serving)) {
    let Some(mut link) = ctx.extras.find_mut(flow).and_then(|extra| extra.grpc.take()) else { return };
    if let Link::Server(serving) = &mut *link {
        work(ctx, flow, serving);
        let is_done = serving.connection.is_leaving() && serving.connection.streams() == 0;
        if is_done && flow.state == state::OPEN && !flow.has(Flag::Failed) {
            flow.state = state::END;
            ctx.close(flow);
        }
        hand_over(ctx, flow, &mut serving.connection);
        serving.wakes.settle(ctx);
    }
    ctx.extras.of(flow).grpc = Some(link);
}

fn vars(number: u32) -> Vars {
    Vars { session: 0, request: u64::from(number), turn: u64::from(number), body: 0, seconds: 0 }
}

impl Server {
    pub(crate) fn new(plan: Arc<GrpcPlan>) -> Self {
        let mut fields = Fields::default();
        let mut head = Items::default();
        head.always(&mut fields, ":status", b"200");
        head.always(&mut fields, "content-type", CONTENT_TYPE.as_bytes());
        let text = (!plan.server.text.is_empty()).then(|| encode(&plan.server.text));
        Self {
            asked: (!plan.message.follows_session()).then(|| Framer::new(&plan.message)),
            reply: plan.reply.as_ref().map(Framer::new),
            head,
            statuses: Status::ALL
                .map(|status| fields.always("grpc-status", status.code().to_string().as_bytes()))
                .into(),
            text: text.map(|text| fields.always("grpc-message", text.as_bytes())),
            refusal: Fields::named(":status"),
            said: Fields::named("grpc-message"),
            value: Vec::new(),
            block: Vec::new(),
            kept: Arc::default(),
            plan,
        }
    }

    fn echoes(&self) -> bool {
        self.plan.expect == GrpcExpect::Echo
    }

    /// Status of calls that go well.
    fn status(&self) -> Status {
        self.plan.status.unwrap_or_default()
    }

    pub(crate) fn opened(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.state = state::OPEN;
        flow.mark(ctx.now);
        let mut connection = Connection::new(Role::Server, &announced());
        connection.keep(FIELDS);
        let serving =
            Serving { connection, wakes: Wakes::default(), kept: Kept { own: 0, all: self.kept.clone() } };
        ctx.counts.http2.connections += 1;
        ctx.extras.of(flow).grpc = Some(Box::new(Link::Server(serving)));
        with(ctx, flow, |_, _, _| {});
        ctx.arm(flow, ctx.common.patience.idle);
    }

    pub(crate) fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        flow.set(Flag::Progress);
        let mut input = data;
        with(ctx, flow, |ctx, flow, serving| {
            while !flow.has(Flag::Failed) {
                match serving.connection.read((ctx.now.0 / 1_000_000_000) as u32, &mut input) {
                    Ok(None) => break,
                    Ok(Some(event)) => self.heard(ctx, flow, serving, event),
                    Err(fault) => Self::broken(ctx, flow, fault),
                }
            }
            self.pump(ctx, flow, serving);
            if serving.connection.is_held() && !flow.has(Flag::Paused) {
                flow.set(Flag::Paused);
                ctx.ask.read = Some(false);
            }
        });
    }

    #[cold]
    fn broken(ctx: &mut Ctx<'_>, flow: &mut Flow, fault: Fault) {
        ctx.counts.detail(fault.why);
        let reason = if fault.why == Fault::NO_PREFACE { Reason::BadRequest } else { Reason::Http2Protocol };
        if flow.state == state::OPEN {
            ctx.fail_softly(flow, reason);
        }
        flow.state = state::END;
        flow.set(Flag::Closing);
        ctx.ask.close = true;
    }

    /// Sends what windows allow, and continues the calls whose last message is on its way.
    fn pump(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, serving: &mut Serving) {
        serving.connection.flush();
        while let Some(stream) = serving.connection.drained() {
            if let Some(call) = serving.connection.data(stream) {
                call.pending = false;
                self.advance(ctx, flow, serving, stream);
                serving.connection.flush();
            }
        }
    }

    fn heard(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, serving: &mut Serving, event: Event<'_, Call>) {
        match event {
            Event::Head { stream, end } => self.head(ctx, flow, serving, stream, end),
            Event::Data { stream, bytes, end } => {
                self.data(ctx, flow, serving, stream, bytes);
                if end {
                    self.whole(ctx, flow, serving, stream);
                }
            }
            Event::Trailers { stream } => self.whole(ctx, flow, serving, stream),
            Event::Reset { data, .. } => {
                ctx.counts.http2.resets += 1;
                serving.forget(&data);
            }
            Event::Broken { why, data } => {
                serving.forget(&data);
                ctx.counts.http2.resets_sent += 1;
                ctx.counts.detail(why);
            }
            Event::Refused => ctx.counts.http2.resets_sent += 1,
            Event::GoAway { .. } => ctx.counts.http2.goaways += 1,
            Event::Room => {}
        }
    }

    /// A call begins.
    fn head(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, serving: &mut Serving, stream: u32, end: bool) {
        ctx.counts.requests += 1;
        ctx.counts.http2.streams += 1;
        flow.sent = flow.sent.wrapping_add(1);
        flow.mark(ctx.now);
        let head = serving.connection.head();
        let http = match () {
            () if head.is_too_large => Some("431"),
            () if head.method != b"POST" => Some("405"),
            () if !is_grpc(head.value("content-type")) => Some("415"),
            () => None,
        };
        if let Some(http) = http {
            ctx.counts.detail(&format!("a request that is no call: status {http}"));
            return self.refuse(serving, stream, http);
        }
        let is_known = head.path == self.plan.path.as_bytes();
        let time = head.value("grpc-timeout").map(deadline);
        let reader = Reader::new(self.plan.most);
        if let Some(call) = serving.connection.data(stream) {
            (call.stream, call.reader) = (stream, reader);
            let at = time.flatten().map(|time| ctx.now.saturating_add(Nanos(time)));
            serving.wakes.set(stream, Time::Deadline, &mut call.deadline, at);
        }
        if !is_known {
            return self.finish(ctx, serving, stream, Status::Unimplemented, "no such method");
        }
        if time == Some(None) {
            return self.finish(ctx, serving, stream, Status::Internal, "a bad grpc-timeout");
        }
        if end {
            self.whole(ctx, flow, serving, stream);
        }
        ctx.arm(flow, ctx.common.patience.idle);
    }

    /// Responds to a request that is no call.
    #[cold]
    fn refuse(&mut self, serving: &mut Serving, stream: u32, status: &str) {
        self.block.clear();
        let encoder = serving.connection.encoder();
        encoder.begin(&mut self.block);
        encoder.put_value(&self.refusal, status.as_bytes(), &mut self.block);
        serving.connection.send_head(stream, &self.block, true, 0);
        serving.connection.reset(stream, Code::NO_ERROR);
    }

    /// Bytes of messages.
    fn data(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, serving: &mut Serving, stream: u32, bytes: &[u8]) {
        let mut rest = bytes;
        while !flow.has(Flag::Failed) {
            let Some(call) = serving.connection.data(stream) else { return };
            let number = GrpcPlan::number(number(stream), self.plan.messages, call.received);
            match call.reader.read(&mut rest) {
                Ok(None) => return,
                Ok(Some(Piece::Begin(len))) => {
                    call.got = 0;
                    if self.echoes() {
                        call.echo.extend_from_slice(&prefix(len));
                        serving.kept.add(PREFIX + EACH);
                        if serving.kept.is_too_much() {
                            return self.keeps_no_more(ctx, serving, stream);
                        }
                    }
                }
                Ok(Some(Piece::Data(data))) => {
                    let at = u64::from(call.got);
                    call.got += data.len() as u32;
                    if self.echoes() {
                        serving.kept.add(data.len());
                        call.echo.extend_from_slice(data);
                        if serving.kept.is_too_much() {
                            return self.keeps_no_more(ctx, serving, stream);
                        }
                    }
                    let compares = |asked: &&Framer| ctx.common.verify || asked.is_given;
                    if let Some(asked) = self.asked.as_ref().filter(compares)
                        && !asked.matches(&vars(number), at, data)
                    {
                        ctx.counts.detail("a message with other bytes than expected");
                        ctx.fail(flow, Reason::WrongContent);
                    }
                }
                Ok(Some(Piece::End)) => self.message(ctx, flow, serving, stream),
                Err(wrong) => return self.violated(ctx, serving, stream, wrong),
            }
        }
    }

    /// A message is whole.
    fn message(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, serving: &mut Serving, stream: u32) {
        let Some(call) = serving.connection.data(stream) else { return };
        call.received = call.received.saturating_add(1);
        ctx.counts.grpc.messages_received += 1;
        ctx.counts.grpc.bytes_received += u64::from(call.got);
        flow.mark(ctx.now);
        if self.echoes() {
            let echo = std::mem::take(&mut call.echo);
            call.echoes.push_back(echo);
        }
        if self.plan.kind == GrpcKind::Bidirectional {
            if self.status() != Status::Ok {
                return self.finish(ctx, serving, stream, self.status(), "");
            }
            call.owed = call.owed.saturating_add(1);
            self.wait(ctx, flow, serving, stream);
            self.advance(ctx, flow, serving, stream);
        }
    }

    /// Has a response wait for its time.
    fn wait(&self, ctx: &Ctx<'_>, flow: &Flow, serving: &mut Serving, stream: u32) {
        let Some(call) = serving.connection.data(stream) else { return };
        call.began = ctx.now;
        if self.plan.server.delay != Delay::NONE && call.next.is_none() {
            let delay = self.plan.server.delay.value(u64::from(flow.number), u64::from(number(stream)));
            let at = ctx.now.saturating_add(delay);
            call.began = at;
            serving.wakes.set(stream, Time::Next, &mut call.next, Some(at));
        }
    }

    /// A request is whole.
    fn whole(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, serving: &mut Serving, stream: u32) {
        let Some(call) = serving.connection.data(stream) else { return };
        call.ended = true;
        if let Err(wrong) = call.reader.end() {
            return self.violated(ctx, serving, stream, wrong);
        }
        let is_single = matches!(self.plan.kind, GrpcKind::Unary | GrpcKind::ServerStreaming);
        if is_single && call.received != 1 {
            let why = "a call without a stream of requests that does not have one message";
            ctx.counts.detail(why);
            return self.finish(ctx, serving, stream, Status::Internal, why);
        }
        if self.plan.kind != GrpcKind::Bidirectional {
            let is_ok = self.status() == Status::Ok;
            call.owed = if is_ok { self.plan.replies() } else { 0 };
            self.wait(ctx, flow, serving, stream);
        }
        self.advance(ctx, flow, serving, stream);
    }

    /// Sends a call's next message if it may go, or its status.
    fn advance(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, serving: &mut Serving, stream: u32) {
        let Some(call) = serving.connection.data(stream) else { return };
        if call.pending || call.next.is_some_and(|at| at > ctx.now) {
            return;
        }
        call.next = None;
        if call.sent >= call.owed {
            if call.ended {
                self.finish(ctx, serving, stream, self.status(), "");
                flow.mark(ctx.now);
            }
            return;
        }
        let is_first = !std::mem::replace(&mut call.headed, true);
        let index = GrpcPlan::number(number(stream), self.plan.replies(), call.sent);
        call.sent += 1;
        call.pending = true;
        let echo = call.echoes.pop_front();
        if let (GrpcKind::ServerStreaming, Some(every)) = (self.plan.kind, self.plan.interval)
            && call.sent < call.owed
        {
            let at = call.began.saturating_add(Nanos(every.0.saturating_mul(u64::from(call.sent))));
            serving.wakes.set(stream, Time::Next, &mut call.next, Some(at));
        }
        if is_first {
            self.block.clear();
            let encoder = serving.connection.encoder();
            encoder.begin(&mut self.block);
            self.head.put(encoder, &vars(0), &mut self.value, &mut self.block);
            serving.connection.send_head(stream, &self.block, false, 0);
        }
        let bytes = match (echo, &self.reply) {
            (Some(echo), _) => {
                let bytes = echo.len() - PREFIX;
                serving.kept.remove(cost(&echo));
                serving.connection.send_copy(stream, echo);
                bytes as u64
            }
            (None, Some(reply)) => {
                let body = Body { source: 0, number: index };
                serving.connection.send_part(stream, body, reply.len(&vars(index)));
                reply.payload(&vars(index))
            }
            (None, None) => return,
        };
        ctx.counts.grpc.messages_sent += 1;
        ctx.counts.grpc.bytes_sent += bytes;
        flow.mark(ctx.now);
        ctx.arm(flow, ctx.common.patience.idle);
    }

    #[cold]
    fn keeps_no_more(&mut self, ctx: &mut Ctx<'_>, serving: &mut Serving, stream: u32) {
        self.finish(ctx, serving, stream, Status::ResourceExhausted, "too many bytes to send back");
    }

    /// The client broke a rule of the framing: the call ends with a status.
    #[cold]
    fn violated(&mut self, ctx: &mut Ctx<'_>, serving: &mut Serving, stream: u32, wrong: Violation) {
        let status = match wrong {
            Violation::TooLong => Status::ResourceExhausted,
            Violation::Compressed => Status::Unimplemented,
            Violation::UnknownFlag | Violation::Truncated => Status::Internal,
        };
        ctx.counts.detail(wrong.why());
        self.finish(ctx, serving, stream, status, wrong.why());
    }

    /// Ends a call with a status and, unless the plan has one for it, a status message.
    fn finish(&mut self, ctx: &mut Ctx<'_>, serving: &mut Serving, stream: u32, status: Status, why: &str) {
        let Some(call) = serving.connection.data(stream) else { return };
        let (is_headed, is_pending, is_ended) = (call.headed, call.pending, call.ended);
        serving.kept.remove(call.kept());
        call.echoes.clear();
        call.echo.clear();
        serving.wakes.forget(stream, call.next, call.deadline);
        if is_pending {
            // Trailers would end a message that is not whole.
            let code = if status == Status::DeadlineExceeded { Code::CANCEL } else { Code::INTERNAL_ERROR };
            serving.connection.reset(stream, code);
            ctx.counts.http2.resets_sent += 1;
            ctx.counts.grpc.statuses[usize::from(status.code())] += 1;
            return;
        }
        self.block.clear();
        let encoder = serving.connection.encoder();
        encoder.begin(&mut self.block);
        if !is_headed {
            self.head.put(encoder, &vars(0), &mut self.value, &mut self.block);
        }
        encoder.put(&self.statuses[usize::from(status.code())], &mut self.block);
        match (&self.text, why) {
            (Some(text), "") if status == self.plan.status.unwrap_or_default() => {
                encoder.put(text, &mut self.block);
            }
            (_, "") => {}
            (_, why) => encoder.put_value(&self.said, encode(why).as_bytes(), &mut self.block),
        }
        serving.connection.send_head(stream, &self.block, true, status.code() + 1);
        if !is_ended {
            // RFC 9113 section 8.1.
            serving.connection.reset(stream, Code::NO_ERROR);
        }
    }

    pub(crate) fn acknowledged(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64) {
        with(ctx, flow, |ctx, flow, serving| {
            let counts = &mut ctx.counts;
            serving.connection.acknowledged(offset, |tag| {
                counts.http[1] += 1;
                counts.transactions += 1;
                counts.grpc.statuses[usize::from(tag) - 1] += 1;
            });
            self.pump(ctx, flow, serving);
            if flow.has(Flag::Paused) && !serving.connection.is_held() {
                flow.unset(Flag::Paused);
                ctx.ask.read = Some(true);
            }
        });
    }

    pub(crate) fn finished(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.set(Flag::PeerClosed);
        if flow.has(Flag::Failed) {
            return;
        }
        with(ctx, flow, |ctx, flow, serving| {
            if flow.state != state::END && serving.connection.streams() > 0 {
                ctx.fail_softly(flow, Reason::ClosedEarly);
            }
            flow.state = state::END;
            ctx.close(flow);
        });
    }

    pub(crate) fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        with(ctx, flow, |ctx, flow, serving| {
            let is_own = serving.wakes.woke(ctx.now, flow);
            if flow.state != state::OPEN {
                return;
            }
            while let Some((stream, time)) = serving.wakes.due(ctx.now) {
                match time {
                    Time::Next => self.advance(ctx, flow, serving, stream),
                    Time::Deadline => {
                        ctx.counts.grpc.deadlines += 1;
                        let why = "the deadline passed";
                        self.finish(ctx, serving, stream, Status::DeadlineExceeded, why);
                    }
                }
            }
            self.pump(ctx, flow, serving);
            if !serving.wakes.is_empty() {
                ctx.arm(flow, ctx.common.patience.idle);
            } else if is_own && ctx.has_run_out(flow, ctx.common.patience.idle) {
                ctx.fail(flow, Reason::IdleTimeout);
            }
        });
    }

    pub(crate) fn stop(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        with(ctx, flow, |_, flow, serving| {
            if serving.connection.streams() == 0 {
                flow.set(Flag::Stopped);
            }
            serving.connection.go_away(Code::NO_ERROR);
        });
    }

    pub(crate) fn is_complete(flow: &Flow, end: End) -> bool {
        let at_boundary = flow.state == state::OPEN && flow.waiting == 0;
        flow.has(Flag::Done) || at_boundary && (end == End::Closed || flow.sent > 0)
    }

    pub(crate) fn fill(&self, flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]) {
        let Some(Link::Server(serving)) = extras.find(flow).and_then(|extra| extra.grpc.as_deref()) else {
            return out.fill(0);
        };
        serving.connection.fill(offset, out, |body, offset, out| {
            if let Some(reply) = &self.reply {
                reply.write(&vars(body.number), offset, out);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn echoes_are_bounded_for_a_connection_and_for_all() {
        let all = Arc::<AtomicUsize>::default();
        let mut connections: Vec<Kept> =
            (0..KEPT_IN_ALL_MAX / KEPT_MAX).map(|_| Kept { own: 0, all: all.clone() }).collect();
        for kept in &mut connections {
            kept.add(KEPT_MAX);
            assert!(!kept.is_too_much());
        }
        connections[0].add(1);
        assert!(connections.iter().all(Kept::is_too_much));
        connections[0].remove(1);
        assert!(!connections[1].is_too_much());
        drop(connections);
        assert_eq!(all.load(Relaxed), 0);
        assert_eq!((cost(&[]), cost(&prefix(0))), (0, PREFIX + EACH));
    }
}
