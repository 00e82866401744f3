//! Makes calls, several at a time, and reads what comes back.

use super::framer::Framer;
use super::plan::{GrpcExpect, GrpcKind, GrpcPlan};
use super::wakes::{Time, Wakes};
use super::{CONTENT_TYPE, Link, is_grpc, state};
use crate::counts::Reason;
use crate::extra::Extras;
use crate::flow::{Ctx, Flag, Flow, elapsed, instant_near, tick};
use crate::http::h2::{ALPN, Items, REFUSED_MAX, announced, ask_elsewhere, ended_by, hand_over, is_in_vain};
use crate::message::Vars;
use crate::vary::{Delay, turn};
use ::grpc::{Event as Piece, Reader, Status, Violation, decode, timeout};
use http2::hpack::{Field, Fields};
use http2::{Body, Code, Connection, Event, Fault, Role};
use std::sync::Arc;
use units::Nanos;

/// Fields of responses that are looked at.
const FIELDS: &[&str] = &["content-type", "grpc-status", "grpc-message"];
/// Bytes of a status message in the details of failures.
const TEXT_MAX: usize = 100;
/// Why a call has no status.
const NO_STATUS: &str = "a call that ends without grpc-status";

/// A connection of a client.
pub(crate) struct Calling {
    connection: Connection<Call>,
    wakes: Wakes,
    /// Calls that the server refused, and those in a row.
    again: u32,
    refused: u32,
    /// Time of the last check for a stalled stream.
    checked: u32,
    /// The maximum of calls was in flight.
    full: bool,
    /// The server's settings have been counted.
    noted: bool,
}

/// A call without a status.
#[derive(Debug, Clone, Copy, Default)]
struct Call {
    stream: u32,
    number: u32,
    started: u32,
    /// When it was due, where requests may be sent late.
    due: u32,
    /// When something of it was sent, or came.
    touched: u32,
    /// Messages sent and received whole, and when the last one was sent.
    sent: u32,
    received: u32,
    at: u32,
    /// A message is not on its way yet.
    pending: bool,
    /// All messages are sent.
    ended: bool,
    /// When the next message is due, and the deadline.
    next: Option<Nanos>,
    deadline: Option<Nanos>,
    reader: Reader,
    /// Bytes of the message that is read so far.
    got: u32,
    first: bool,
    /// The response is not one of gRPC: its HTTP status.
    other: Option<u16>,
}

/// A client made ready.
#[derive(Debug)]
pub(crate) struct Client {
    plan: Arc<GrpcPlan>,
    message: Framer,
    reply: Option<Framer>,
    method: Field,
    schemes: [Field; 2],
    items: Items,
    value: Vec<u8>,
    block: Vec<u8>,
}

/// Operates on a flow's connection, and sends its output.
fn with(ctx: &mut Ctx<'_>, flow: &mut Flow, work: impl FnOnce(&mut Ctx<'_>, &mut Flow, &mut Calling)) {
    let Some(mut link) = ctx.extras.find_mut(flow).and_then(|extra| extra.grpc.take()) else { return };
    if let Link::Client(calling) = &mut *link {
        work(ctx, flow, calling);
        if ctx.ask.close && !ctx.ask.abort {
            calling.connection.go_away(Code::NO_ERROR);
        }
        hand_over(ctx, flow, &mut calling.connection);
        calling.wakes.settle(ctx);
    }
    ctx.extras.of(flow).grpc = Some(link);
}

impl Client {
    pub(crate) fn new(plan: Arc<GrpcPlan>) -> Self {
        let mut fields = Fields::default();
        let mut items = Items::default();
        items.content(&mut fields, ":authority", &plan.host);
        items.always(&mut fields, ":path", plan.path.as_bytes());
        if let Some(deadline) = plan.deadline {
            items.always(&mut fields, "grpc-timeout", timeout(deadline.0).as_bytes());
        }
        items.always(&mut fields, "te", b"trailers");
        items.always(&mut fields, "content-type", CONTENT_TYPE.as_bytes());
        plan.metadata.iter().for_each(|(name, value)| items.content(&mut fields, name, value));
        Self {
            message: Framer::new(&plan.message),
            reply: match plan.expect {
                GrpcExpect::Reply => plan.reply.as_ref().map(Framer::new),
                GrpcExpect::Echo => Some(Framer::new(&plan.message)),
            },
            method: fields.always(":method", b"POST"),
            schemes: ["http", "https"].map(|scheme| fields.always(":scheme", scheme.as_bytes())),
            items,
            value: Vec::new(),
            block: Vec::new(),
            plan,
        }
    }

    fn vars(flow: &Flow, request: u32, all: Option<u64>) -> Vars {
        let (session, request) = (u64::from(flow.number), u64::from(request));
        Vars { session, request, turn: turn(session, request, all), body: 0, seconds: 0 }
    }

    /// Variables of message `number` of a connection.
    fn message_vars(&self, flow: &Flow, number: u32) -> Vars {
        let each = u64::from(self.plan.messages);
        Self::vars(flow, number, self.plan.per_connection.map(|calls| u64::from(calls) * each))
    }

    /// Whether each message waits for the reply to the one before.
    fn takes_turns(&self) -> bool {
        self.plan.kind == GrpcKind::Bidirectional && self.plan.interval.is_none()
    }

    pub(crate) fn opened(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.state = state::OPEN;
        if ctx.common.secured && ctx.alpn != ALPN {
            let agreed = if ctx.alpn.is_empty() { "nothing" } else { ctx.alpn };
            ctx.counts.detail(&format!("ALPN: the server agreed to {agreed}, not to h2"));
            ctx.fail_softly(flow, Reason::NoHttp2);
            flow.set(Flag::Closing);
            ctx.ask.close = true;
            return;
        }
        let mut connection = Connection::new(Role::Client, &announced());
        connection.keep(FIELDS);
        let calling = Calling {
            connection,
            wakes: Wakes::default(),
            again: 0,
            refused: 0,
            checked: tick(ctx.now),
            full: false,
            noted: false,
        };
        ctx.counts.http2.connections += 1;
        ctx.extras.of(flow).grpc = Some(Box::new(Link::Client(calling)));
        with(ctx, flow, |ctx, flow, calling| self.pump(ctx, flow, calling, false));
    }

    /// Begins the calls that may begin, and continues those whose last message is on its way. `has_turn`: the turn it waited for has
    /// come.
    fn pump(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, calling: &mut Calling, has_turn: bool) {
        self.call(ctx, flow, calling, has_turn);
        calling.connection.flush();
        while let Some(stream) = calling.connection.drained() {
            if flow.has(Flag::Failed) {
                return;
            }
            if let Some(call) = calling.connection.data(stream) {
                call.pending = false;
                self.advance(ctx, flow, calling, stream);
                calling.connection.flush();
            }
        }
    }

    /// Begins the calls that may begin.
    fn call(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, calling: &mut Calling, has_turn: bool) {
        loop {
            if flow.has(Flag::Failed) || flow.has(Flag::Paused) || flow.state == state::END {
                return;
            }
            let open = calling.connection.streams();
            let sent = flow.sent.wrapping_sub(calling.again);
            let waits = flow.has(Flag::Turn) && !has_turn;
            let all_sent = self.plan.per_connection.is_some_and(|all| sent >= all);
            let is_over = !all_sent && ctx.shall_end(flow);
            let shall_end = is_over || !all_sent && ctx.has_asked_all();
            let left = calling.connection.left().is_some() || flow.has(Flag::PeerClosed);
            if all_sent || left || shall_end && (!waits || flow.has(Flag::Stopping)) {
                if open == 0 {
                    if is_over {
                        flow.set(Flag::Stopped);
                    } else if !all_sent && !shall_end {
                        let all = self.plan.per_connection.unwrap_or(sent);
                        ctx.counts.unasked += u64::from(all.saturating_sub(sent));
                    }
                    self.end(ctx, flow);
                }
                return;
            }
            calling.full = calling.connection.is_full();
            if waits || calling.full || open >= usize::from(self.plan.streams.max(1)) {
                return;
            }
            if !calling.connection.may_open() || !ctx.may_request(flow) {
                return;
            }
            self.begin(ctx, flow, calling);
        }
    }

    /// Begins a call.
    fn begin(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, calling: &mut Calling) {
        let (now, number) = (tick(ctx.now), flow.sent);
        let due = if ctx.common.late {
            ctx.extras.find_mut(flow).and_then(|extra| extra.dues.pop_front())
        } else {
            None
        };
        let due = due.unwrap_or(now);
        let reader = Reader::new(self.plan.most);
        let call = Call { number, started: now, due, touched: now, at: now, reader, ..Call::default() };
        let connection = &mut calling.connection;
        let stream = connection.open(call, false);
        let vars = Self::vars(flow, number, self.plan.per_connection.map(u64::from));
        let (block, encoder) = (&mut self.block, connection.encoder());
        block.clear();
        encoder.begin(block);
        encoder.put(&self.method, block);
        encoder.put(&self.schemes[usize::from(ctx.common.secured)], block);
        let size = self.items.size + self.items.put(encoder, &vars, &mut self.value, block) + 96;
        if size > connection.peer_list() {
            ctx.counts
                .detail("the request's fields are more than the server's SETTINGS_MAX_HEADER_LIST_SIZE");
            return ctx.fail(flow, Reason::Http2Protocol);
        }
        connection.send_head(stream, block, false, 0);
        if let Some(call) = connection.data(stream) {
            call.stream = stream;
            let deadline = self.plan.deadline.map(|time| ctx.now.saturating_add(time));
            calling.wakes.set(stream, Time::Deadline, &mut call.deadline, deadline);
        }
        flow.sent = flow.sent.wrapping_add(1);
        ctx.counts.requests += 1;
        ctx.counts.http2.streams += 1;
        ctx.arm(flow, ctx.common.patience.response);
        self.advance(ctx, flow, calling, stream);
    }

    /// When message `index` of a stream is due.
    fn due(&self, ctx: &Ctx<'_>, call: &Call, index: u32) -> Nanos {
        let every = self.plan.interval.unwrap_or(Nanos::ZERO);
        let begin = instant_near(call.due, ctx.now);
        begin.saturating_add(Nanos(every.0.saturating_mul(u64::from(index))))
    }

    /// Sends a call's next message, if it may go.
    fn advance(&self, ctx: &mut Ctx<'_>, flow: &Flow, calling: &mut Calling, stream: u32) {
        let Some(mut call) = calling.connection.data(stream).copied() else { return };
        if call.pending || call.ended {
            return;
        }
        if flow.has(Flag::Stopping) && call.sent > 0 {
            return self.end_messages(calling, stream);
        }
        if self.takes_turns() && call.received < call.sent {
            return;
        }
        let at = self.due(ctx, &call, call.sent);
        if call.sent > 0 && self.plan.interval.is_some() && at > ctx.now {
            if let Some(call) = calling.connection.data(stream) {
                calling.wakes.set(stream, Time::Next, &mut call.next, Some(at));
            }
            return;
        }
        let number = GrpcPlan::number(call.number, self.plan.messages, call.sent);
        let vars = self.message_vars(flow, number);
        let len = self.message.len(&vars);
        call.sent += 1;
        (call.touched, call.at) = (tick(ctx.now), tick(ctx.now));
        call.ended = call.sent >= self.plan.messages;
        call.pending = !call.ended;
        ctx.counts.grpc.messages_sent += 1;
        ctx.counts.grpc.bytes_sent += self.message.payload(&vars);
        let body = Body { source: 0, number };
        if call.ended {
            calling.connection.send_body(stream, body, len, 0);
        } else {
            calling.connection.send_part(stream, body, len);
        }
        if let Some(own) = calling.connection.data(stream) {
            *own = call;
        }
    }

    /// Ends a stream of messages early.
    fn end_messages(&self, calling: &mut Calling, stream: u32) {
        let Some(call) = calling.connection.data(stream) else { return };
        if !call.pending && !std::mem::replace(&mut call.ended, true) {
            calling.wakes.set(stream, Time::Next, &mut call.next, None);
            calling.connection.send_end(stream, 0);
        }
    }

    /// All calls have a status.
    fn end(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.state = state::END;
        if flow.has(Flag::Turn) {
            // The turn it waits for is another session's.
            ctx.close(flow);
        } else {
            ctx.end_client(flow);
        }
    }

    pub(crate) fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        flow.set(Flag::Progress);
        let mut input = data;
        with(ctx, flow, |ctx, flow, calling| {
            while !flow.has(Flag::Failed) {
                match calling.connection.read((ctx.now.0 / 1_000_000_000) as u32, &mut input) {
                    Ok(None) => break,
                    Ok(Some(event)) => self.heard(ctx, flow, calling, event),
                    Err(fault) => {
                        Self::broken(ctx, flow, fault);
                        break;
                    }
                }
            }
            if !calling.noted && calling.connection.is_settled() {
                calling.noted = true;
                ctx.counts.http2.note_streams(calling.connection.peer_streams());
            }
            self.pump(ctx, flow, calling, false);
            if calling.connection.is_held() && !flow.has(Flag::Failed) {
                ctx.ask.read = Some(false);
            }
        });
    }

    #[cold]
    fn broken(ctx: &mut Ctx<'_>, flow: &mut Flow, fault: Fault) {
        if flow.has(Flag::Done) {
            return;
        }
        ctx.counts.detail(fault.why);
        let reason = if fault.why == Fault::NO_SETTINGS { Reason::NoHttp2 } else { Reason::Http2Protocol };
        Self::give_up(ctx, flow, reason);
    }

    /// Fails, and closes in good order.
    fn give_up(ctx: &mut Ctx<'_>, flow: &mut Flow, reason: Reason) {
        ctx.fail_softly(flow, reason);
        flow.set(Flag::Closing);
        ctx.ask.close = true;
    }

    fn heard(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, calling: &mut Calling, event: Event<'_, Call>) {
        match event {
            Event::Head { stream, end } => self.head(ctx, flow, calling, stream, end),
            Event::Data { stream, bytes, end } => {
                self.data(ctx, flow, calling, stream, bytes);
                if end && !flow.has(Flag::Failed) {
                    self.complete(ctx, flow, calling, stream, false);
                }
            }
            Event::Trailers { stream } => self.complete(ctx, flow, calling, stream, true),
            Event::Reset { code, data } => self.reset(ctx, flow, calling, code, &data),
            Event::Broken { why, data } => {
                calling.wakes.forget(data.stream, data.next, data.deadline);
                ctx.counts.detail(why);
                ctx.counts.grpc.statuses[usize::from(Status::Internal.code())] += 1;
                Self::give_up(ctx, flow, Reason::BadResponse);
            }
            Event::GoAway { last, code } => {
                ctx.counts.http2.goaways += 1;
                let above = calling.connection.forget_above(last);
                let in_vain = is_in_vain(flow.sent.wrapping_sub(calling.again), above.len());
                for call in above {
                    calling.wakes.forget(call.stream, call.next, call.deadline);
                    ask_elsewhere(ctx, call.due, 0);
                }
                if let Some(why) = ended_by(code, in_vain).filter(|_| !flow.has(Flag::Done)) {
                    ctx.counts.detail(&why);
                    Self::give_up(ctx, flow, Reason::GoAway);
                }
            }
            Event::Refused | Event::Room => {}
        }
    }

    #[cold]
    fn reset(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, calling: &mut Calling, code: Code, call: &Call) {
        calling.wakes.forget(call.stream, call.next, call.deadline);
        ctx.counts.http2.resets += 1;
        calling.refused += 1;
        if code == Code::REFUSED_STREAM && calling.refused <= REFUSED_MAX {
            calling.again += 1;
            return ask_elsewhere(ctx, call.due, 0);
        }
        let status = Status::of_reset(code.0);
        ctx.counts.detail(&format!("RST_STREAM: {}", code.name()));
        ctx.counts.grpc.statuses[usize::from(status.code())] += 1;
        if self.plan.status.map_or(self.plan.errors_fail, |wanted| wanted != status)
            || calling.refused > REFUSED_MAX
        {
            Self::give_up(ctx, flow, Reason::StreamReset);
        }
    }

    /// The head of a response.
    fn head(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, calling: &mut Calling, stream: u32, end: bool) {
        let head = calling.connection.head();
        let (status, is_grpc) = (head.status, is_grpc(head.value("content-type")));
        let Some(call) = calling.connection.data(stream) else { return };
        call.touched = tick(ctx.now);
        if !std::mem::replace(&mut call.first, true) {
            ctx.counts.ttfb.record(elapsed(call.started, ctx.now).0);
            if ctx.common.late {
                ctx.counts.ttfb_due.record(elapsed(call.due, ctx.now).0);
            }
        }
        let class = usize::from(status / 100).saturating_sub(1);
        if let Some(class) = ctx.counts.http.get_mut(class) {
            *class += 1;
        }
        if status < 200 {
            return;
        }
        calling.refused = 0;
        if status != 200 || !is_grpc {
            call.other = Some(status);
        }
        if end {
            self.complete(ctx, flow, calling, stream, true);
        }
    }

    /// Bytes of messages.
    fn data(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, calling: &mut Calling, stream: u32, bytes: &[u8]) {
        let mut rest = bytes;
        while !flow.has(Flag::Failed) {
            let Some(call) = calling.connection.data(stream) else { return };
            call.touched = tick(ctx.now);
            if call.other.is_some() {
                return;
            }
            let number = GrpcPlan::number(call.number, self.plan.replies(), call.received);
            match call.reader.read(&mut rest) {
                Ok(None) => return,
                Ok(Some(Piece::Begin(len))) => {
                    call.got = 0;
                    let reply = self.reply.as_ref();
                    let expected = reply.map(|reply| reply.payload(&self.message_vars(flow, number)));
                    if expected.is_some_and(|expected| expected != u64::from(len)) {
                        self.wrong(ctx, flow, "a message of another length than expected");
                    }
                }
                Ok(Some(Piece::Data(data))) => {
                    let at = u64::from(call.got);
                    call.got += data.len() as u32;
                    let compares = |reply: &&Framer| {
                        ctx.common.verify || reply.is_given || self.plan.expect == GrpcExpect::Echo
                    };
                    if let Some(reply) = self.reply.as_ref().filter(compares)
                        && !reply.matches(&self.message_vars(flow, number), at, data)
                    {
                        self.wrong(ctx, flow, "a message with other bytes than expected");
                    }
                }
                Ok(Some(Piece::End)) => self.message(ctx, flow, calling, stream),
                Err(wrong) => return self.violated(ctx, flow, calling, stream, wrong),
            }
        }
    }

    #[cold]
    fn wrong(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, why: &str) {
        ctx.counts.detail(why);
        ctx.fail(flow, Reason::WrongContent);
    }

    /// A message is whole.
    fn message(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, calling: &mut Calling, stream: u32) {
        let Some(call) = calling.connection.data(stream) else { return };
        let index = call.received;
        call.received += 1;
        ctx.counts.grpc.messages_received += 1;
        ctx.counts.grpc.bytes_received += u64::from(call.got);
        let call = *call;
        match self.plan.kind {
            GrpcKind::Bidirectional if self.takes_turns() => {
                if call.received <= call.sent {
                    ctx.counts.grpc_message.record(elapsed(call.at, ctx.now).0);
                }
                self.advance(ctx, flow, calling, stream);
            }
            GrpcKind::Bidirectional | GrpcKind::ServerStreaming => {
                let due = self.due(ctx, &call, index);
                ctx.counts.grpc_message.record(ctx.now.since(due).0);
            }
            GrpcKind::Unary | GrpcKind::ClientStreaming if index > 0 => {
                ctx.counts.detail("more than one message in response to a call without a stream of them");
                Self::give_up(ctx, flow, Reason::GrpcProtocol);
            }
            GrpcKind::Unary | GrpcKind::ClientStreaming => {}
        }
    }

    /// The server broke a rule of the framing: the call has failed.
    #[cold]
    fn violated(
        &self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        calling: &mut Calling,
        stream: u32,
        wrong: Violation,
    ) {
        let status = match wrong {
            Violation::TooLong => Status::ResourceExhausted,
            _ => Status::Internal,
        };
        if let Some(call) = calling.connection.reset(stream, Code::CANCEL) {
            calling.wakes.forget(stream, call.next, call.deadline);
        }
        ctx.counts.detail(wrong.why());
        ctx.counts.grpc.statuses[usize::from(status.code())] += 1;
        Self::give_up(ctx, flow, Reason::GrpcProtocol);
    }

    /// A response is whole; `has_fields`: the head that was read last is its end.
    fn complete(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        calling: &mut Calling,
        stream: u32,
        has_fields: bool,
    ) {
        let Some(call) = calling.connection.data(stream).copied() else { return };
        if let (None, Err(wrong)) = (call.other, call.reader.end()) {
            return self.violated(ctx, flow, calling, stream, wrong);
        }
        let head = calling.connection.head();
        let value = |name| if has_fields { head.value(name) } else { None };
        let said = value("grpc-status").map(Status::read);
        let text = value("grpc-message").map(|text| decode(text, TEXT_MAX)).unwrap_or_default();
        calling.connection.take(stream);
        calling.wakes.forget(stream, call.next, call.deadline);
        ctx.counts.ttlb.record(elapsed(call.started, ctx.now).0);
        if ctx.common.late {
            ctx.counts.ttlb_due.record(elapsed(call.due, ctx.now).0);
        }
        ctx.counts.transactions += 1;
        let status = match (said.flatten(), call.other) {
            (Some(status), _) => status,
            (None, Some(http)) => Status::of_http(http),
            (None, None) => Status::Unknown,
        };
        ctx.counts.grpc.statuses[usize::from(status.code())] += 1;
        if said.flatten().is_none() {
            let Some(http) = call.other else {
                ctx.counts.detail(NO_STATUS);
                return Self::give_up(ctx, flow, Reason::GrpcProtocol);
            };
            ctx.counts.detail(&match http {
                200 => format!("a response whose content-type is not {CONTENT_TYPE}"),
                http => format!("HTTP status {http} instead of a status of gRPC"),
            });
        }
        self.judge(ctx, flow, &call, status, &text);
        let is_error = status != Status::Ok && self.plan.status.is_none() && !flow.has(Flag::Failed);
        ctx.counts.error_responses += u64::from(is_error);
        self.think(ctx, flow, calling);
    }

    /// Whether a call's end is a failure.
    fn judge(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, call: &Call, status: Status, text: &str) {
        let is_failure = match self.plan.status {
            Some(wanted) => wanted != status,
            None => status != Status::Ok && self.plan.errors_fail,
        };
        if status != Status::Ok && (is_failure || self.plan.status.is_none()) {
            let name = status.name();
            ctx.counts.detail(&if text.is_empty() { name.to_owned() } else { format!("{name}: {text}") });
        }
        if is_failure {
            return Self::give_up(ctx, flow, Reason::GrpcStatus);
        }
        if status != Status::Ok {
            return;
        }
        let is_single = matches!(self.plan.kind, GrpcKind::Unary | GrpcKind::ClientStreaming);
        if is_single && call.received == 0 {
            ctx.counts.detail("a call without a stream of responses that succeeds without a message");
            return Self::give_up(ctx, flow, Reason::GrpcProtocol);
        }
        let expected = match self.plan.kind {
            GrpcKind::ServerStreaming => self.plan.responses,
            GrpcKind::Bidirectional if self.reply.is_some() => Some(call.sent),
            _ => None,
        };
        if expected.is_some_and(|expected| expected != call.received) {
            self.wrong(ctx, flow, "another number of messages than expected");
        }
    }

    /// Pauses before the next call, if it is to.
    fn think(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, calling: &Calling) {
        let sent = flow.sent.wrapping_sub(calling.again);
        let done = self.plan.per_connection.is_some_and(|all| sent >= all);
        let connection = &calling.connection;
        if connection.streams() > 0 || self.plan.think == Delay::NONE || done || connection.left().is_some() {
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

    /// A call's deadline has passed: cancels it.
    #[cold]
    fn expire(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, calling: &mut Calling, stream: u32) {
        let Some(call) = calling.connection.reset(stream, Code::CANCEL) else { return };
        calling.wakes.forget(stream, call.next, call.deadline);
        ctx.counts.grpc.deadlines += 1;
        ctx.counts.grpc.statuses[usize::from(Status::DeadlineExceeded.code())] += 1;
        self.judge(ctx, flow, &call, Status::DeadlineExceeded, "");
        self.think(ctx, flow, calling);
    }

    pub(crate) fn finished(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.set(Flag::PeerClosed);
        if flow.has(Flag::Failed) {
            return;
        }
        with(ctx, flow, |ctx, flow, calling| {
            if flow.state != state::END {
                let sent = flow.sent.wrapping_sub(calling.again);
                if calling.connection.streams() > 0 || flow.sent == 0 {
                    ctx.fail_softly(flow, Reason::ClosedEarly);
                } else if let Some(all) = self.plan.per_connection {
                    ctx.counts.unasked += u64::from(all.saturating_sub(sent));
                }
            }
            flow.state = state::END;
            ctx.close(flow);
        });
    }

    pub(crate) fn acknowledged(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64) {
        with(ctx, flow, |ctx, flow, calling| {
            let was_held = calling.connection.is_held();
            calling.connection.acknowledged(offset, |_| {});
            if was_held && !calling.connection.is_held() {
                ctx.ask.read = Some(true);
            }
            self.pump(ctx, flow, calling, false);
        });
    }

    pub(crate) fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        with(ctx, flow, |ctx, flow, calling| {
            let is_own = calling.wakes.woke(ctx.now, flow);
            if flow.state == state::END {
                return ctx.end_client(flow);
            }
            while let Some((stream, time)) = calling.wakes.due(ctx.now) {
                match time {
                    Time::Deadline => self.expire(ctx, flow, calling, stream),
                    Time::Next => self.advance(ctx, flow, calling, stream),
                }
            }
            let patience = ctx.common.patience.response;
            // With a rate it is woken for each call, and does not look at all of them each time.
            let was_checked = Nanos(elapsed(calling.checked, ctx.now).0 * 4);
            let has_turn = is_own && flow.has(Flag::Turn);
            let looks = |patience| is_own && !has_turn || was_checked >= patience;
            if patience.is_some_and(|patience| looks(patience) && calling.stands_still(ctx.now, patience)) {
                return ctx.fail(flow, Reason::ResponseTimeout);
            }
            if is_own {
                flow.unset(Flag::Paused);
            }
            self.pump(ctx, flow, calling, has_turn);
            if let Some(patience) = patience
                && calling.connection.streams() > 0
                && !flow.has(Flag::Armed)
            {
                let waits = |(_, call): (u32, &Call)| elapsed(call.touched, ctx.now);
                let oldest = calling.connection.open_streams().map(waits).max();
                let rest = patience.since(oldest.unwrap_or(Nanos::ZERO)).0.max(1 << 10);
                ctx.wake_at(flow, ctx.now.saturating_add(Nanos(rest)));
            }
        });
    }

    pub(crate) fn stop(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        with(ctx, flow, |ctx, flow, calling| {
            let open: Vec<u32> = calling.connection.open_streams().map(|(stream, _)| stream).collect();
            open.into_iter().for_each(|stream| self.end_messages(calling, stream));
            calling.connection.flush();
            if calling.connection.streams() == 0 {
                flow.set(Flag::Stopped);
                flow.state = state::END;
                ctx.close(flow);
            }
        });
    }

    pub(crate) fn awaits_reply(flow: &Flow) -> bool {
        flow.waiting > 0
    }

    pub(crate) fn is_complete(flow: &Flow) -> bool {
        flow.has(Flag::Done)
    }

    pub(crate) fn fill(&self, flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]) {
        let Some(Link::Client(calling)) = extras.find(flow).and_then(|extra| extra.grpc.as_deref()) else {
            return out.fill(0);
        };
        calling.connection.fill(offset, out, |body, offset, out| {
            self.message.write(&self.message_vars(flow, body.number), offset, out);
        });
    }
}

impl Calling {
    /// Whether nothing of a call was sent or has come for this long.
    fn stands_still(&mut self, now: Nanos, patience: Nanos) -> bool {
        self.checked = tick(now);
        self.connection.open_streams().any(|(_, call)| elapsed(call.touched, now) >= patience)
    }
}
