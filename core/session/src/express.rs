//! Usual events of applications on plain flows of TCP, each in one go: without encryption, tunnel, rate or time.
//!
//! Not here: which events are usual, that is the application's: of programs [`Straight`], of HTTP/1.1 its two ends.
//!
//! Invariant: events handled here leave flow, counts and requests as the application would. A flow with any other event is not touched.

use crate::app::AnyApp;
use crate::counts::Counts;
use crate::flow::{Common, Flow, Place};
use crate::http;
use crate::program::Straight;
use tcp::End;

/// Of a group.
#[derive(Debug)]
pub(crate) enum Express {
    /// Nothing is handled here.
    Off,
    /// Its program written out.
    Program(Straight),
    /// Its application is HTTP/1.1, one request at a time.
    Http,
}

impl Express {
    /// Of an application on plain flows.
    pub(crate) fn of(app: &AnyApp) -> Self {
        match app {
            AnyApp::Program(machine) => Straight::of(machine).map_or(Self::Off, Self::Program),
            AnyApp::HttpClient(client) if client.has_express() => Self::Http,
            AnyApp::HttpServer(server) if server.has_express() => Self::Http,
            _ => Self::Off,
        }
    }

    /// The flow is established; returns whether that was all.
    #[inline]
    pub(crate) fn opened(&self, app: &AnyApp, place: &mut Place<'_>, flow: &mut Flow) -> bool {
        match (self, app) {
            (Self::Program(straight), _) => straight.opened(place, flow),
            (Self::Http, AnyApp::HttpClient(client)) => client.express_opened(place, flow),
            (Self::Http, AnyApp::HttpServer(server)) => server.express_opened(place, flow),
            _ => false,
        }
    }

    /// Data arrived; returns whether they were what was expected.
    #[inline]
    pub(crate) fn received(
        &self,
        app: &mut AnyApp,
        place: &mut Place<'_>,
        flow: &mut Flow,
        data: &[u8],
    ) -> bool {
        match (self, app) {
            (Self::Program(straight), _) => straight.received(place, flow, data.len()),
            (Self::Http, AnyApp::HttpClient(client)) => client.express_received(place, flow, data),
            (Self::Http, AnyApp::HttpServer(server)) => server.express_received(place, flow, data),
            _ => false,
        }
    }

    /// Everything before `offset` is acknowledged; returns whether that was all.
    #[inline]
    pub(crate) fn acknowledged(
        &self,
        app: &AnyApp,
        common: &Common,
        counts: &mut Counts,
        flow: &mut Flow,
        offset: u64,
    ) -> bool {
        match (self, app) {
            (Self::Program(straight), _) => straight.acknowledged(common, counts, flow, offset),
            (Self::Http, AnyApp::HttpClient(client)) => client.express_acknowledged(flow, offset),
            (Self::Http, AnyApp::HttpServer(server)) => server.express_acknowledged(counts, flow, offset),
            _ => false,
        }
    }

    /// Writes the bytes from `offset` on; returns whether all could be.
    #[inline]
    pub(crate) fn fill(&self, app: &AnyApp, flow: &Flow, offset: u64, out: &mut [u8]) -> bool {
        match (self, app) {
            (Self::Program(straight), _) => straight.fill(flow, offset, out),
            (Self::Http, AnyApp::HttpClient(client)) => client.express_fill(flow, offset, out),
            (Self::Http, AnyApp::HttpServer(server)) => server.express_fill(flow, offset, out),
            _ => false,
        }
    }

    /// Whether a flow that ended in this way has completed, and nothing else is to be counted.
    #[inline]
    pub(crate) fn is_completed(&self, app: &AnyApp, flow: &Flow, end: End) -> bool {
        match (self, app) {
            (Self::Http, AnyApp::HttpServer(_)) => http::Server::is_completed(flow, end),
            (Self::Program(_) | Self::Http, _) => Straight::is_completed(flow, end),
            (Self::Off, _) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::*;
    use crate::testing::{CLIENT, EndEvent as Event, SERVER, assert_same, has_express, plan};
    use proptest::prelude::*;
    use std::sync::Arc;
    use tcp::End;
    use units::Nanos;

    fn response(status: &str, fields: &str, body: usize) -> Vec<u8> {
        let head = format!("HTTP/1.1 {status}\r\nServer: s\r\n{fields}Content-Length: {body}\r\n\r\n");
        [head.as_bytes(), &vec![b'x'; body]].concat()
    }

    /// Usual responses, beginnings and parts of them, and others.
    fn responses() -> impl Strategy<Value = Vec<u8>> {
        let usual =
            || prop::sample::select(vec![7usize, 0, 20]).prop_map(|body| response("200 OK", "", body));
        let cut = (usual(), any::<prop::sample::Index>(), any::<bool>()).prop_map(|(whole, at, first)| {
            let at = at.index(whole.len());
            if first { whole[..at].to_vec() } else { whole[at..].to_vec() }
        });
        let other = prop::sample::select(vec![
            response("404 Not Found", "", 3),
            response("304 Not Modified", "", 7),
            response("200 OK", "Connection: close\r\n", 7),
            response("302 Found", "Location: /\r\n", 7),
            response("500 No", "", 7),
            b"HTTP/1.1 204 No Content\r\n\r\n".to_vec(),
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n".to_vec(),
            [&b"HTTP/1.1 100 Continue\r\n\r\n"[..], &response("200 OK", "", 7)].concat(),
            [response("200 OK", "", 7), response("200 OK", "", 7)].concat(),
            b"nothing of the kind".to_vec(),
        ]);
        prop_oneof![10 => usual(), 4 => cut, 2 => (1usize..9).prop_map(|len| vec![b'x'; len]), 3 => other]
    }

    /// The same of requests.
    fn requests() -> impl Strategy<Value = Vec<u8>> {
        let get =
            |path: &str, more: &str| format!("GET {path} HTTP/1.1\r\nHost: h\r\n{more}\r\n").into_bytes();
        let usual = prop::sample::select(vec![get("/7", ""), get("/any", ""), get("/9", "")]);
        let other = prop::sample::select(vec![
            get("/7", "Connection: close\r\n"),
            get("/7", "")[..20].to_vec(),
            get("/7", "")[20..].to_vec(),
            get("/slow", ""),
            [get("/7", ""), get("/9", "")].concat(),
            b"GET /7 HTTP/1.0\r\n\r\n".to_vec(),
            b"HEAD /7 HTTP/1.1\r\nHost: h\r\n\r\n".to_vec(),
            b"POST /7 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nxyz".to_vec(),
            b"POST /7 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n".to_vec(),
            b"nothing of the kind\r\n\r\n".to_vec(),
        ]);
        prop_oneof![6 => Just(get("/7", "")), 6 => usual, 3 => other]
    }

    fn events(data: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<Event>> {
        let ends = vec![
            End::Closed,
            End::Aborted,
            End::Reset,
            End::ResetAcknowledged,
            End::IdleTimeout,
            End::Timeout,
        ];
        let event = prop_oneof![
            10 => data.prop_map(Event::Received),
            12 => prop_oneof![1 => any::<u8>(), 4 => Just(255)].prop_map(Event::Acknowledged),
            5 => any::<(u8, u8)>().prop_map(|(from, to)| Event::Filled(from, to)),
            1 => Just(Event::Finished),
            1 => Just(Event::Woke),
            1 => Just(Event::Stop),
            1 => Just(Event::Judge),
            2 => prop::sample::select(ends).prop_map(Event::Closed),
        ];
        prop::collection::vec(event, 1..80)
    }

    fn request() -> impl Strategy<Value = HttpRequest> {
        let bytes = prop_oneof![3 => Just(None), 2 => Just(Some(7u64))];
        let status = prop::sample::select(vec![None, None, None, Some(200u16), Some(404)]);
        let method = prop_oneof![8 => Just(Method::Get), 1 => Just(Method::Head)];
        (method, bytes, status, prop::sample::select(vec![0u32, 120])).prop_map(
            |(method, response_bytes, status, head_bytes)| HttpRequest {
                method,
                response_bytes,
                status,
                head_bytes,
                ..HttpRequest::get("/7", "h.example")
            },
        )
    }

    fn server() -> impl Strategy<Value = HttpServer> {
        let size = prop_oneof![
            3 => Just(Size::Fixed(5)),
            1 => Just(Size::Uniform { from: 1, to: 3, seed: 1 }),
        ];
        let keep_alive = prop_oneof![3 => Just(None), 1 => (1u32..4).prop_map(Some)];
        (size, keep_alive, prop::bool::weighted(0.2)).prop_map(|(size, keep_alive, date)| {
            let mut server = HttpServer { keep_alive, date, ..HttpServer::sized(size) };
            let slow = HttpRule::ok(HttpPath::Exact("/slow".to_owned()), HttpBody::FromPath);
            server.rules.insert(0, HttpRule { delay: Delay::Constant(Nanos(2_000)), ..slow });
            server
        })
    }

    fn http() -> impl Strategy<Value = HttpPlan> {
        let close = prop::sample::select(vec![HttpClose::Fin, HttpClose::Reset, HttpClose::Server]);
        let count = prop_oneof![2 => Just(Some(1u32)), 2 => (2u32..5).prop_map(Some), 1 => Just(None)];
        let asked = prop::collection::vec((request(), 1u32..3), 1..3);
        (asked, count, close, any::<bool>(), server(), 1u8..3).prop_map(
            |(requests, per_connection, close, errors_fail, server, pipeline)| HttpPlan {
                requests,
                order: SelectionOrder::Sequential,
                per_connection,
                pipeline,
                version: HttpVersion::One,
                streams: 1,
                think: Delay::NONE,
                close,
                errors_fail,
                quic: QuicPlan::default(),
                alt_svc: false,
                agent: AgentPlan::default(),
                server: Arc::new(server),
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(800))]
        #[test]
        fn http_in_one_go_does_the_same(
            http in http(),
            patience in prop::option::of(1_000u64..100_000),
            idle in prop::option::of(1_000u64..100_000),
            at_client in events(responses()),
            at_server in events(requests()),
        ) {
            let mut plan = plan(AppPlan::Http(Arc::new(http)));
            plan.verify = false;
            plan.patience = Patience { response: patience.map(Nanos), idle: idle.map(Nanos) };
            let AppPlan::Http(http) = &plan.mix.members[0].app else { unreachable!() };
            if http.pipeline == 1 && !http.server.date {
                prop_assert!(has_express(&plan, SERVER) && has_express(&plan, CLIENT));
            }
            assert_same(&plan, CLIENT, at_client)?;
            assert_same(&plan, SERVER, at_server)?;
        }
    }
}
