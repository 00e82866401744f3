//! An end of WebSocket, and what its bytes go over: a connection of HTTP/1.1 that was upgraded, or a stream of HTTP/2 or HTTP/3.
//!
//! Not here: streams themselves ([`http2`], [`http3`]), messages, and when they are sent.

use super::plan::WebsocketPlan;
use super::{client, http2, http3, server};
use crate::extra::Extras;
use crate::flow::{Ctx, Flow};
use crate::http::HttpVersion;
use crate::quic::link;
use ::http2::Role;
use std::sync::Arc;
use tcp::End;

/// One end, as the stream sees it.
pub(crate) trait Ending {
    /// Which end of the connection.
    const ROLE: Role;
    fn opened(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow);
    fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]);
    fn finished(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow);
    fn acknowledged(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64);
    fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow);
    fn stop(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow);
    fn fill(&self, flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]);
}

/// Passes all on to the methods of the same names.
macro_rules! ending {
    ($end:ty, $role:expr) => {
        impl Ending for $end {
            const ROLE: Role = $role;

            fn opened(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
                self.opened(ctx, flow);
            }

            fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
                self.received(ctx, flow, data);
            }

            fn finished(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
                self.finished(ctx, flow);
            }

            fn acknowledged(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64) {
                self.acknowledged(ctx, flow, offset);
            }

            fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
                self.woke(ctx, flow);
            }

            fn stop(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
                self.stop(ctx, flow);
            }

            fn fill(&self, flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]) {
                self.fill(flow, extras, offset, out);
            }
        }
    };
}

ending!(client::Client, Role::Client);
ending!(server::Server, Role::Server);

/// An end, over whichever version of HTTP.
#[derive(Debug)]
pub(crate) struct Carried<A> {
    end: A,
    version: HttpVersion,
}

impl Carried<client::Client> {
    pub(crate) fn new(plan: Arc<WebsocketPlan>) -> Self {
        Self { version: plan.version, end: client::Client::new(plan) }
    }

    pub(crate) fn awaits_reply(flow: &Flow) -> bool {
        client::Client::awaits_reply(flow)
    }

    pub(crate) fn is_complete(flow: &Flow) -> bool {
        client::Client::is_complete(flow)
    }
}

impl Carried<server::Server> {
    pub(crate) fn new(plan: Arc<WebsocketPlan>) -> Self {
        Self { version: plan.version, end: server::Server::new(plan) }
    }

    pub(crate) fn is_complete(flow: &Flow, extras: &Extras, end: End) -> bool {
        server::Server::is_complete(flow, extras, end)
    }
}

/// Does the same with whatever the end goes over. It is never negotiated.
macro_rules! over {
    ($self:ident, $name:ident($($argument:expr),*)) => {
        match $self.version {
            HttpVersion::One | HttpVersion::Auto => $self.end.$name($($argument),*),
            HttpVersion::Two => http2::$name(&mut $self.end, $($argument),*),
            HttpVersion::Three => http3::$name(&mut $self.end, $($argument),*),
        }
    };
}

impl<A: Ending> Carried<A> {
    /// Whether it goes over HTTP/2 and nothing else.
    pub(crate) fn needs_http2(&self) -> bool {
        self.version == HttpVersion::Two
    }

    pub(crate) fn opened(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        over!(self, opened(ctx, flow));
    }

    pub(crate) fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        over!(self, received(ctx, flow, data));
    }

    pub(crate) fn finished(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        over!(self, finished(ctx, flow));
    }

    pub(crate) fn acknowledged(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64) {
        over!(self, acknowledged(ctx, flow, offset));
    }

    pub(crate) fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        over!(self, woke(ctx, flow));
    }

    pub(crate) fn stop(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        over!(self, stop(ctx, flow));
    }

    pub(crate) fn fill(&self, flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]) {
        match self.version {
            HttpVersion::One | HttpVersion::Auto => self.end.fill(flow, extras, offset, out),
            HttpVersion::Two => http2::fill(flow, extras, offset, out),
            HttpVersion::Three => link::fill(flow, extras, offset, out),
        }
    }
}
