//! Reads queries, and responds by the rules of the other carriers' server: what is the same by every version of HTTP, and which of them a
//! connection has.

use super::{HttpsLink, decode, h1, h2, h3, is_message, query_in};
use crate::counts::Reason;
use crate::dns::plan::{DnsHttps, DnsPlan};
use crate::dns::wire;
use crate::extra::Extras;
use crate::flow::{Ctx, Flag, Flow};
use crate::http::h2::{ALPN, speaks, state};
use crate::plan::HttpVersion;
use crate::quic::link;
use http2::PREFACE;
use std::sync::Arc;
use tcp::End;

/// Bytes before a message that has its length before it.
pub(super) const LENGTH: usize = 2;
/// Tags of responses: the code of a DNS message and this, or [`REFUSED`].
pub(super) const CODE: u8 = 1;
pub(super) const REFUSED: u8 = 255;

/// The query of a request, as far as its head has it; the status of one that is none.
pub(super) fn asked(
    method: &[u8],
    target: &[u8],
    kind: Option<&[u8]>,
    path: &[u8],
) -> Result<Vec<u8>, &'static str> {
    let (is_known, query) = query_in(target, path);
    if !is_known {
        return Err("404");
    }
    match method {
        b"GET" => query.and_then(decode).ok_or("400"),
        b"POST" if is_message(kind) => Ok(Vec::new()),
        b"POST" => Err("415"),
        _ => Err("405"),
    }
}

/// Time for which a cache may keep a message (RFC 8484 section 5.1).
pub(super) fn max_age(message: &[u8]) -> String {
    format!("max-age={}", wire::freshness(message))
}

/// A server made ready. A flow's `sent` is the number of requests so far.
#[derive(Debug)]
pub(crate) struct Server {
    version: HttpVersion,
    h1: h1::server::Server,
    h2: h2::server::Server,
    h3: h3::server::Server,
}

/// Does the same with the server of a flow's version.
macro_rules! of_flow {
    ($self:ident, $flow:ident, $name:ident($($argument:expr),*)) => {
        match $self.version {
            HttpVersion::Three => $self.h3.$name($($argument),*),
            HttpVersion::Two => $self.h2.$name($($argument),*),
            HttpVersion::Auto if speaks($flow) => $self.h2.$name($($argument),*),
            HttpVersion::One | HttpVersion::Auto => $self.h1.$name($($argument),*),
        }
    };
}

impl Server {
    pub(crate) fn new(plan: &Arc<DnsPlan>, https: &DnsHttps) -> Self {
        Self {
            version: https.version,
            h1: h1::server::Server::new(plan.clone(), https),
            h2: h2::server::Server::new(plan.clone(), https),
            h3: h3::server::Server::new(plan.clone(), https),
        }
    }

    /// Whether it goes over HTTP/2 and nothing else.
    pub(crate) fn needs_http2(&self) -> bool {
        self.version == HttpVersion::Two
    }

    pub(crate) fn opened(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        match self.version {
            HttpVersion::Three => {}
            HttpVersion::Two => self.h2.opened(ctx, flow),
            HttpVersion::Auto if ctx.common.secured && ctx.alpn == ALPN => self.h2.opened(ctx, flow),
            HttpVersion::Auto if !ctx.common.secured => {
                flow.state = state::UNKNOWN;
                flow.mark(ctx.now);
                ctx.arm(flow, ctx.common.patience.idle);
            }
            HttpVersion::One | HttpVersion::Auto => self.h1.opened(ctx, flow),
        }
    }

    #[inline]
    pub(crate) fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        if flow.state == state::UNKNOWN {
            return self.received_first(ctx, flow, data);
        }
        of_flow!(self, flow, received(ctx, flow, data));
    }

    /// Determines a client's version from its first bytes.
    #[cold]
    fn received_first(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        let mut all = ctx.extras.unstash(flow);
        all.extend_from_slice(data);
        let known = all.len().min(PREFACE.len());
        if all[..known] != PREFACE[..known] {
            self.h1.opened(ctx, flow);
        } else if known < PREFACE.len() {
            flow.set(Flag::Progress);
            return ctx.extras.stash(flow, &all);
        } else {
            self.h2.opened(ctx, flow);
        }
        self.received(ctx, flow, &all);
    }

    pub(crate) fn finished(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if flow.state == state::UNKNOWN {
            flow.set(Flag::PeerClosed);
            if flow.has(Flag::Stashed) {
                ctx.fail_softly(flow, Reason::ClosedEarly);
            }
            flow.state = state::END;
            return ctx.close(flow);
        }
        of_flow!(self, flow, finished(ctx, flow));
    }

    #[inline]
    pub(crate) fn acknowledged(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64) {
        of_flow!(self, flow, acknowledged(ctx, flow, offset));
    }

    pub(crate) fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if flow.state == state::UNKNOWN {
            if ctx.has_run_out(flow, ctx.common.patience.idle) {
                ctx.fail(flow, Reason::IdleTimeout);
            }
            return;
        }
        of_flow!(self, flow, woke(ctx, flow));
    }

    pub(crate) fn stop(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if flow.state == state::UNKNOWN {
            if !flow.has(Flag::Stashed) {
                flow.set(Flag::Stopped);
                flow.state = state::END;
                ctx.close(flow);
            }
            return;
        }
        of_flow!(self, flow, stop(ctx, flow));
    }

    pub(crate) fn is_complete(flow: &Flow, end: End) -> bool {
        let at_boundary = match flow.state {
            state::OPEN => flow.waiting == 0,
            h1::server::HEAD | state::UNKNOWN => !flow.has(Flag::Stashed),
            _ => false,
        };
        flow.has(Flag::Done) || at_boundary && (end == End::Closed || flow.sent > 0)
    }

    pub(crate) fn fill(&self, flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]) {
        if self.version == HttpVersion::Three {
            return link::fill(flow, extras, offset, out);
        }
        match extras.find(flow).and_then(|extra| extra.doh.as_deref()) {
            Some(HttpsLink::Server1(serving)) => serving.fill(offset, out),
            Some(HttpsLink::Server(serving)) => serving.fill(offset, out),
            _ => out.fill(0),
        }
    }
}
