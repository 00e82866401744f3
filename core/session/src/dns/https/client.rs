//! Sends queries, and reads the responses: what is the same by every version of HTTP, and which of them a connection has.

use super::{HttpsLink, MESSAGE, encode, h1, h2, h3, is_message, shown};
use crate::counts::Reason;
use crate::dns::client::Queries;
use crate::dns::plan::{DnsHttps, DnsPlan};
use crate::dns::wire::{self, Query};
use crate::extra::Extras;
use crate::flow::{Ctx, Flag, Flow, elapsed};
use crate::http::Method;
use crate::http::h2::is_chosen;
use crate::message::Vars;
use crate::plan::HttpVersion;
use crate::quic::link;
use crate::vary::{Delay, turn};
use std::sync::Arc;
use tcp::End;

/// Requests made ready, but for what is a version's own.
#[derive(Debug)]
pub(super) struct Requests {
    pub plan: Arc<DnsPlan>,
    pub https: DnsHttps,
    queries: Queries,
    pub is_get: bool,
    /// The path of a GET, up to its query.
    target: Vec<u8>,
}

impl Requests {
    pub(super) fn new(plan: &Arc<DnsPlan>, https: &DnsHttps) -> Self {
        let mut target = https.path.clone().into_bytes();
        target.extend(if target.contains(&b'?') { b"&dns=" } else { b"?dns=" });
        Self {
            queries: Queries::new(plan),
            is_get: https.method == Method::Get,
            target,
            https: https.clone(),
            plan: plan.clone(),
        }
    }

    /// Query `number` of a session.
    pub(super) fn query(&self, flow: &Flow, number: u32) -> Query {
        self.queries.query(flow.number, number, 0, false)
    }

    /// The path of the request that a query is in.
    pub(super) fn path(&self, query: &Query, out: &mut Vec<u8>) {
        out.clear();
        if self.is_get {
            out.extend_from_slice(&self.target);
            encode(query.as_slice(), out);
        } else {
            out.extend_from_slice(self.https.path.as_bytes());
        }
    }

    pub(super) fn vars(&self, flow: &Flow, number: u32) -> Vars {
        let (session, request) = (u64::from(flow.number), u64::from(number));
        let turn = turn(session, request, self.plan.per_session.map(u64::from));
        Vars { session, request, turn, body: 0, seconds: 0 }
    }

    /// Counts a query that is sent.
    pub(super) fn sent(ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.sent = flow.sent.wrapping_add(1);
        ctx.counts.requests += 1;
        ctx.arm(flow, ctx.common.patience.response);
    }

    /// Checks the head of a response, with its content type; returns whether the response itself follows, and not another head.
    pub(super) fn check_head(ctx: &mut Ctx<'_>, status: u16, kind: Option<&[u8]>) -> Result<bool, Reason> {
        let Some(class) = ctx.counts.http.get_mut(usize::from(status / 100).wrapping_sub(1)) else {
            ctx.counts.detail("a status of 600 or more");
            return Err(Reason::BadResponse);
        };
        *class += 1;
        if status < 200 {
            return Ok(false);
        }
        // RFC 8484 section 4.2.1: only 2xx is an answer, whatever its code.
        let reason = match status {
            200..300 => None,
            400..500 => Some(Reason::Http4xx),
            500..600 => Some(Reason::Http5xx),
            _ => Some(Reason::HttpStatus),
        };
        if let Some(reason) = reason {
            ctx.counts.detail(&format!("status {status}"));
            return Err(reason);
        }
        if !is_message(kind) {
            ctx.counts.detail(&shown(kind));
            return Err(Reason::DohContentType);
        }
        Ok(true)
    }

    /// Checks and counts a whole response to query `number`, which was sent at this tick.
    pub(super) fn check(
        &self,
        ctx: &mut Ctx<'_>,
        flow: &Flow,
        (number, started): (u32, u32),
        response: &[u8],
    ) -> Result<(), Reason> {
        let query = self.query(flow, number);
        let wrong = match wire::answer(response, query.as_slice()) {
            Ok(answer) if answer.id == 0 => Ok(answer),
            Ok(_) => Err("a response with an identifier other than 0"),
            Err(wrong) => Err(wrong),
        };
        let answer = match wrong {
            Ok(answer) => answer,
            Err(why) => {
                ctx.counts.detail(why);
                return Err(Reason::BadResponse);
            }
        };
        ctx.counts.dns_truncated += u64::from(answer.truncated);
        ctx.counts.ttlb.record(elapsed(started, ctx.now).0);
        ctx.counts.transactions += 1;
        ctx.counts.dns[usize::from(answer.code & 15)] += 1;
        if answer.code != 0 && self.plan.errors_fail {
            return Err(Reason::DnsCode);
        }
        Ok(())
    }

    /// Waits before the next query of a session that has sent `sent`, none of which is without a response.
    pub(super) fn pause(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, sent: u32) {
        let done = self.plan.per_session.is_some_and(|all| sent >= all);
        if self.plan.think == Delay::NONE || done {
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
}

/// All queries have responses; `END` is the version's state for that.
pub(super) fn end(ctx: &mut Ctx<'_>, flow: &mut Flow, state: u8) {
    flow.state = state;
    if flow.has(Flag::Turn) {
        // The turn it waits for is another session's.
        ctx.close(flow);
    } else {
        ctx.end_client(flow);
    }
}

/// Fails, and closes in good order.
#[cold]
pub(super) fn give_up(ctx: &mut Ctx<'_>, flow: &mut Flow, reason: Reason) {
    ctx.fail_softly(flow, reason);
    flow.set(Flag::Closing);
    ctx.ask.close = true;
}

/// A client made ready. A flow's `sent` is the number of its next query.
#[derive(Debug)]
pub(crate) struct Client {
    version: HttpVersion,
    h1: h1::client::Client,
    h2: h2::client::Client,
    h3: h3::client::Client,
}

/// Does the same with the client of a flow's version.
macro_rules! of_flow {
    ($self:ident, $flow:ident, $name:ident($($argument:expr),*)) => {
        match $self.version {
            HttpVersion::Three => $self.h3.$name($($argument),*),
            HttpVersion::Two => $self.h2.$name($($argument),*),
            HttpVersion::Auto if crate::http::h2::speaks($flow) => $self.h2.$name($($argument),*),
            HttpVersion::One | HttpVersion::Auto => $self.h1.$name($($argument),*),
        }
    };
}

impl Client {
    pub(crate) fn new(plan: &Arc<DnsPlan>, https: &DnsHttps, early_data: bool) -> Self {
        let requests = || Requests::new(plan, https);
        Self {
            version: https.version,
            h1: h1::client::Client::new(requests()),
            h2: h2::client::Client::new(requests()),
            h3: h3::client::Client::new(requests(), early_data),
        }
    }

    /// Whether it goes over HTTP/2 and nothing else.
    pub(crate) fn needs_http2(&self) -> bool {
        self.version == HttpVersion::Two
    }

    pub(crate) fn opened(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if self.version == HttpVersion::Three {
            return self.h3.opened(ctx, flow);
        }
        match is_chosen(self.version, ctx) {
            Err(reason) => ctx.fail(flow, reason),
            Ok(true) => self.h2.opened(ctx, flow),
            Ok(false) => self.h1.opened(ctx, flow),
        }
    }

    #[inline]
    pub(crate) fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        of_flow!(self, flow, received(ctx, flow, data));
    }

    pub(crate) fn finished(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        of_flow!(self, flow, finished(ctx, flow));
    }

    #[inline]
    pub(crate) fn acknowledged(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64) {
        of_flow!(self, flow, acknowledged(ctx, flow, offset));
    }

    pub(crate) fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        of_flow!(self, flow, woke(ctx, flow));
    }

    pub(crate) fn stop(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        of_flow!(self, flow, stop(ctx, flow));
    }

    pub(crate) fn awaits_reply(flow: &Flow) -> bool {
        flow.waiting > 0
    }

    pub(crate) fn is_complete(flow: &Flow, _: End) -> bool {
        flow.has(Flag::Done)
    }

    pub(crate) fn fill(&self, flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]) {
        if self.version == HttpVersion::Three {
            return link::fill(flow, extras, offset, out);
        }
        match extras.find(flow).and_then(|extra| extra.doh.as_deref()) {
            Some(HttpsLink::Client1(asking)) => asking.fill(offset, out),
            Some(HttpsLink::Client(asking)) => self.h2.fill(asking, flow, offset, out),
            _ => out.fill(0),
        }
    }
}

/// The field of requests for the type of the response.
pub(super) const ACCEPT: (&str, &str) = ("accept", MESSAGE);
