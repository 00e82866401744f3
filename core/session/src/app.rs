//! All applications behind one face.

use crate::counts::{Counts, Reason};
use crate::dns;
use crate::echo::Echo;
use crate::extra::Extras;
use crate::flow::{Ctx, Flag, Flow};
use crate::grpc;
use crate::http;
use crate::plan::{AppPlan, Carrier, QuicPlan, Side};
use crate::program::{Machine, OverQuic};
use crate::quic::link;
use crate::stamp;
use crate::websocket;
use tcp::End;
use units::Nanos;

/// An application's one end, made ready.
#[derive(Debug)]
pub(crate) enum AnyApp {
    Program(Machine),
    ProgramQuic(Box<OverQuic>),
    Echo(Echo),
    HttpClient(Box<http::Client>),
    HttpServer(Box<http::Server>),
    DnsClient(Box<dns::Client>),
    DnsServer(Box<dns::Server>),
    DoqClient(Box<dns::QuicClient>),
    DoqServer(Box<dns::QuicServer>),
    DohClient(Box<dns::HttpsClient>),
    DohServer(Box<dns::HttpsServer>),
    WebsocketClient(Box<websocket::Client>),
    WebsocketServer(Box<websocket::Server>),
    GrpcClient(Box<grpc::Client>),
    GrpcServer(Box<grpc::Server>),
    StampClient(Box<stamp::Client>),
    StampServer(Box<stamp::Server>),
}

/// Does the same with whichever it is.
macro_rules! each {
    ($self:expr, $app:ident => $do:expr) => {
        match $self {
            AnyApp::Program($app) => $do,
            AnyApp::ProgramQuic($app) => $do,
            AnyApp::Echo($app) => $do,
            AnyApp::HttpClient($app) => $do,
            AnyApp::HttpServer($app) => $do,
            AnyApp::DnsClient($app) => $do,
            AnyApp::DnsServer($app) => $do,
            AnyApp::DoqClient($app) => $do,
            AnyApp::DoqServer($app) => $do,
            AnyApp::DohClient($app) => $do,
            AnyApp::DohServer($app) => $do,
            AnyApp::WebsocketClient($app) => $do,
            AnyApp::WebsocketServer($app) => $do,
            AnyApp::GrpcClient($app) => $do,
            AnyApp::GrpcServer($app) => $do,
            AnyApp::StampClient($app) => $do,
            AnyApp::StampServer($app) => $do,
        }
    };
}

impl AnyApp {
    /// `quic`: how sessions use it, if they do.
    pub(crate) fn new(plan: &AppPlan, side: Side, carrier: Carrier, quic: Option<QuicPlan>) -> Self {
        if let (AppPlan::Program { client, server }, Some(quic)) = (plan, quic) {
            let program = if side == Side::Client { client } else { server };
            return Self::ProgramQuic(OverQuic::new(program, quic).into());
        }
        match (plan, side) {
            (AppPlan::Program { client, .. } | AppPlan::Echo { client }, Side::Client) => {
                Self::Program(Machine::new(client))
            }
            (AppPlan::Program { server, .. }, Side::Server) => Self::Program(Machine::new(server)),
            (AppPlan::Echo { .. }, Side::Server) => Self::Echo(Echo),
            (AppPlan::Http(plan), Side::Client) => Self::HttpClient(http::Client::new(plan.clone()).into()),
            (AppPlan::Http(plan), Side::Server) => Self::HttpServer(http::Server::new(plan.clone()).into()),
            (AppPlan::Dns(plan), Side::Client) => match (quic, &plan.https) {
                (quic, Some(https)) => {
                    let early_data = quic.is_some_and(|quic| quic.early_data);
                    Self::DohClient(dns::HttpsClient::new(plan, https, early_data).into())
                }
                (Some(quic), None) => {
                    Self::DoqClient(dns::QuicClient::new(plan.clone(), quic.early_data).into())
                }
                (None, None) => {
                    Self::DnsClient(dns::Client::new(plan.clone(), carrier == Carrier::Tcp).into())
                }
            },
            (AppPlan::Dns(plan), Side::Server) => match (quic, &plan.https) {
                (_, Some(https)) => Self::DohServer(dns::HttpsServer::new(plan, https).into()),
                (Some(_), None) => Self::DoqServer(dns::QuicServer::new(plan.clone()).into()),
                (None, None) => Self::DnsServer(dns::Server::new(plan.clone()).into()),
            },
            (AppPlan::Websocket(plan), Side::Client) => {
                Self::WebsocketClient(websocket::Client::new(plan.clone()).into())
            }
            (AppPlan::Websocket(plan), Side::Server) => {
                Self::WebsocketServer(websocket::Server::new(plan.clone()).into())
            }
            (AppPlan::Grpc(plan), Side::Client) => Self::GrpcClient(grpc::Client::new(plan.clone()).into()),
            (AppPlan::Grpc(plan), Side::Server) => Self::GrpcServer(grpc::Server::new(plan.clone()).into()),
            (AppPlan::Stamp(plan), Side::Client) => {
                Self::StampClient(stamp::Client::new(plan.clone()).into())
            }
            (AppPlan::Stamp(plan), Side::Server) => {
                Self::StampServer(stamp::Server::new(plan.clone()).into())
            }
        }
    }

    #[inline]
    pub(crate) fn opened(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        each!(self, app => app.opened(ctx, flow));
    }

    #[inline]
    pub(crate) fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        each!(self, app => app.received(ctx, flow, data));
    }

    pub(crate) fn finished(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        each!(self, app => app.finished(ctx, flow));
    }

    #[inline]
    pub(crate) fn acknowledged(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64) {
        each!(self, app => app.acknowledged(ctx, flow, offset));
    }

    pub(crate) fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        each!(self, app => app.woke(ctx, flow));
    }

    /// A session's turn was taken away: it is woken to request another.
    pub(crate) fn ask_again(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        match self {
            Self::ProgramQuic(app) => app.ask_again(ctx, flow),
            _ => ctx.wake_at(flow, ctx.now),
        }
    }

    pub(crate) fn stop(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        each!(self, app => app.stop(ctx, flow));
    }

    #[inline]
    pub(crate) fn fill(&self, flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]) {
        each!(self, app => app.fill(flow, extras, offset, out));
    }

    /// Whether a client waits for a reply of which nothing has come.
    pub(crate) fn awaits_reply(&self, flow: &Flow) -> bool {
        let waits = match self {
            Self::Program(app) => app.awaits_reply(flow),
            Self::ProgramQuic(_) => OverQuic::awaits_reply(flow),
            Self::HttpClient(_) => http::Client::awaits_reply(flow),
            Self::DnsClient(_) => dns::Client::awaits_reply(flow),
            Self::DoqClient(_) => dns::QuicClient::awaits_reply(flow),
            Self::DohClient(_) => dns::HttpsClient::awaits_reply(flow),
            Self::WebsocketClient(_) => websocket::Client::awaits_reply(flow),
            Self::GrpcClient(_) => grpc::Client::awaits_reply(flow),
            Self::StampClient(_) => stamp::Client::awaits_reply(flow),
            Self::Echo(_)
            | Self::HttpServer(_)
            | Self::DnsServer(_)
            | Self::DoqServer(_)
            | Self::DohServer(_)
            | Self::WebsocketServer(_)
            | Self::GrpcServer(_)
            | Self::StampServer(_) => false,
        };
        waits && !flow.has(Flag::FirstByte)
    }

    /// Whether a session of QUIC shakes hands, or has not begun to.
    pub(crate) fn is_opening(flow: &Flow) -> bool {
        link::is_opening(flow)
    }

    /// The burst is over whose datagrams a flow of QUIC has received.
    #[inline]
    pub(crate) fn tended(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        match self {
            Self::HttpClient(app) => app.tended(ctx, flow),
            Self::HttpServer(app) => app.tended(ctx, flow),
            _ => {}
        }
    }

    /// Carries out the requests of a session over QUIC to its carrier, and sends its connection's output.
    #[inline]
    pub(crate) fn settle(ctx: &mut Ctx<'_>, flow: &mut Flow) {
        link::settle(ctx, flow);
    }

    /// Leaves that to the end of the burst, if nothing is urgent: packets of several datagrams' replies are fewer.
    #[inline]
    pub(crate) fn hold(ctx: &mut Ctx<'_>, flow: &mut Flow) {
        link::hold(ctx, flow);
    }

    /// Counts what a connection of QUIC has counted whose flow ends before it does.
    pub(crate) fn note_lost(extras: &Extras, flow: &Flow, counts: &mut Counts) {
        link::note_lost(extras, flow, counts);
    }

    /// See [`crate::Apps::left_behind`].
    pub(crate) fn left_behind() -> Flow {
        let mut flow = Flow::default();
        flow.state = link::state::PATH;
        flow
    }

    /// The flow of a session over QUIC has another port.
    pub(crate) fn moved(ctx: &mut Ctx<'_>, flow: &mut Flow) {
        link::moved(ctx, flow);
    }

    /// The session is over, and its flow continues without it.
    pub(crate) fn set_gone(flow: &mut Flow) {
        flow.state = link::state::GONE;
    }

    /// Whether both sides take turns, so that a short segment may be what a peer with Nagle's algorithm waits to have acknowledged.
    pub(crate) fn takes_turns(&self) -> bool {
        use AnyApp::{DohClient, DohServer, GrpcClient, GrpcServer};
        use AnyApp::{HttpClient, HttpServer, WebsocketClient, WebsocketServer};
        let is_http = matches!(self, HttpClient(_) | HttpServer(_) | GrpcClient(_) | GrpcServer(_));
        is_http
            || matches!(self, DohClient(_) | DohServer(_))
            || matches!(self, WebsocketClient(_) | WebsocketServer(_))
    }

    /// Reason of a session that fails because its ends have no application protocol in common.
    pub(crate) fn nothing_common(&self) -> Reason {
        let needs_http2 = match self {
            Self::HttpClient(app) => app.needs_http2(),
            Self::HttpServer(app) => app.needs_http2(),
            Self::DohClient(app) => app.needs_http2(),
            Self::DohServer(app) => app.needs_http2(),
            Self::WebsocketClient(app) => app.needs_http2(),
            Self::WebsocketServer(app) => app.needs_http2(),
            Self::GrpcClient(_) | Self::GrpcServer(_) => true,
            _ => false,
        };
        if needs_http2 { Reason::NoHttp2 } else { Reason::NoAlpn }
    }

    /// Says what time it is: the wall clock's, since 1970-01-01 UTC, at instant zero.
    pub(crate) fn set_clock(&mut self, wall_zero: Nanos) {
        match self {
            Self::HttpServer(app) => app.set_clock(wall_zero),
            Self::HttpClient(app) => app.set_clock(wall_zero),
            Self::StampClient(app) => app.set_clock(wall_zero),
            Self::StampServer(app) => app.set_clock(wall_zero),
            _ => {}
        }
    }

    /// Whether a session has had replies, and waits only for some that may be lost.
    pub(crate) fn may_wait_in_vain(&self, flow: &Flow) -> bool {
        matches!(self, Self::StampClient(_)) && stamp::Client::may_wait_in_vain(flow)
    }

    /// Ends such a session.
    pub(crate) fn wait_no_longer(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if let Self::StampClient(app) = self {
            app.wait_no_longer(ctx, flow);
        }
    }

    /// Whether a session that began over UDP is on TCP for now.
    pub(crate) fn is_by_tcp(&self, flow: &Flow) -> bool {
        matches!(self, Self::DnsClient(_)) && dns::Client::is_by_tcp(flow)
    }

    /// Whether a flow takes up a session that began on another.
    #[inline]
    pub(crate) fn is_arriving(&self, flow: &Flow) -> bool {
        match self {
            Self::DnsClient(_) => dns::Client::is_arriving(flow),
            Self::HttpClient(_) => http::Client::is_arriving(flow),
            _ => false,
        }
    }

    /// Whether the session of a flow continues on another.
    #[inline]
    pub(crate) fn is_gone(&self, flow: &Flow) -> bool {
        match self {
            Self::DnsClient(_) => dns::Client::is_gone(flow),
            Self::HttpClient(_) => http::Client::is_gone(flow) || link::is_gone(flow),
            Self::HttpServer(_) | Self::DoqClient(_) | Self::DoqServer(_) => link::is_gone(flow),
            Self::ProgramQuic(_) | Self::DohClient(_) | Self::DohServer(_) => link::is_gone(flow),
            Self::WebsocketClient(_) | Self::WebsocketServer(_) => link::is_gone(flow),
            _ => false,
        }
    }

    /// State that a session takes to another flow, if it waits for that.
    pub(crate) fn leave(&self, extras: &mut Extras, flow: &mut Flow) -> Option<Flow> {
        match self {
            Self::DnsClient(_) => dns::Client::leave(flow),
            Self::HttpClient(_) => http::Client::leave(extras, flow),
            _ => None,
        }
    }

    /// Whether a client of HTTP/2 has all responses: frames of the connection alone may be on their way, which need not arrive.
    pub(crate) fn has_all(&self, flow: &Flow) -> bool {
        flow.has(Flag::Done)
            && match self {
                Self::HttpClient(_) | Self::DohClient(_) => flow.state == http::h2::state::END,
                Self::GrpcClient(_) => flow.state == grpc::state::END,
                _ => false,
            }
    }

    /// Whether a reflector has sent a reply.
    pub(crate) fn has_reflected(&self, flow: &Flow) -> bool {
        matches!(self, Self::StampServer(_)) && flow.has(Flag::Done)
    }

    /// Whether a client of HTTP has ended with all responses.
    pub(crate) fn is_answered(&self, flow: &Flow) -> bool {
        matches!(self, Self::HttpClient(_) | Self::DohClient(_)) && flow.has(Flag::Done) && flow.waiting == 0
    }

    /// Whether nothing was missing when a flow ended.
    #[inline]
    pub(crate) fn is_complete(&self, flow: &Flow, extras: &Extras, side: Side, end: End) -> bool {
        match self {
            Self::Program(app) => app.is_complete(flow, extras, side == Side::Client, end),
            Self::ProgramQuic(_) => OverQuic::is_complete(flow, end),
            Self::Echo(_) => Echo::is_complete(flow, end),
            Self::HttpClient(_) => http::Client::is_complete(flow, end),
            Self::HttpServer(_) => http::Server::is_complete(flow, end),
            Self::DnsClient(_) => dns::Client::is_complete(flow, end),
            Self::DnsServer(_) => dns::Server::is_complete(flow, end),
            Self::DoqClient(_) => dns::QuicClient::is_complete(flow, end),
            Self::DoqServer(_) => dns::QuicServer::is_complete(flow, end),
            Self::DohClient(_) => dns::HttpsClient::is_complete(flow, end),
            Self::DohServer(_) => dns::HttpsServer::is_complete(flow, end),
            Self::WebsocketClient(_) => websocket::Client::is_complete(flow),
            Self::WebsocketServer(_) => websocket::Server::is_complete(flow, extras, end),
            Self::GrpcClient(_) => grpc::Client::is_complete(flow),
            Self::GrpcServer(_) => grpc::Server::is_complete(flow, end),
            Self::StampClient(_) => stamp::Client::is_complete(flow, end),
            Self::StampServer(_) => stamp::Server::is_complete(flow, end),
        }
    }
}
