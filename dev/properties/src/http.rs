//! Bytes of any kind to an HTTP client and an HTTP server: they survive them, and count the same however the bytes come
//! in pieces, and have no more responses than requests. The client once ignores redirects and cookies, and once follows and keeps them.
//!
//! The first byte of an input selects the end (the low bit), the number of requests the client has sent (the next two)
//! and the length of the pieces (the others); the rest is the end's input.

use crate::ends::{NOW, ended, entry};
use session::plan::{
    AgentPlan, AppPlan, Delay, HttpClose, HttpPlan, HttpRequest, HttpServer, HttpVersion, QuicPlan,
    SelectionOrder, SessionPlan, Size,
};
use session::{Apps, Counts, Flow};
use std::sync::Arc;
use tcp::{App, End, FlowId, GroupId, Io};

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    if let Some((how, bytes)) = data.split_first() {
        let group = GroupId(u16::from(how & 1));
        let follows = AgentPlan { redirects: Some(2), cookies: true, ..AgentPlan::default() };
        for agent in [AgentPlan::default(), follows] {
            let plan = plan(1 + u32::from(how >> 1 & 3), agent);
            let whole = counts(&plan, group, bytes, bytes.len().max(1));
            let pieces = counts(&plan, group, bytes, 1 + usize::from(how >> 3));
            assert_eq!(whole.failures, pieces.failures);
            assert_eq!(whole.details, pieces.details);
            assert_eq!((whole.http, whole.requests), (pieces.http, pieces.requests));
            assert_eq!((whole.redirects, whole.cookies), (pieces.redirects, pieces.cookies));
            assert_eq!(whole.transactions, pieces.transactions);
            assert!(whole.transactions <= whole.requests);
            assert_eq!((whole.completed, whole.active()), (pieces.completed, 0));
        }
    }
}

fn plan(requests: u32, agent: AgentPlan) -> [SessionPlan; 1] {
    let http = HttpPlan {
        requests: vec![(HttpRequest::get("/", "h"), 1)],
        order: SelectionOrder::Sequential,
        per_connection: Some(requests),
        pipeline: 2,
        version: HttpVersion::One,
        streams: 1,
        think: Delay::NONE,
        close: HttpClose::Fin,
        errors_fail: false,
        quic: QuicPlan::default(),
        alt_svc: false,
        agent,
        server: Arc::new(HttpServer::sized(Size::Fixed(3))),
    };
    entry(AppPlan::Http(Arc::new(http)), None)
}

/// Counts of an end after bytes in pieces of `len`, and a FIN after them.
fn counts(plans: &[SessionPlan], group: GroupId, bytes: &[u8], len: usize) -> Counts {
    let mut apps = Apps::new(plans, 0, 1, |_| unreachable!("nothing is secured"));
    let mut flow = if group.0 == 0 { apps.start(NOW, group, 0) } else { Flow::default() };
    let mut asked = 0;
    let mut over = false;
    let mut tell = |apps: &mut Apps, flow: &mut Flow, data: Option<&[u8]>, opens: bool| {
        let mut io = Io::new(FlowId(0), group);
        match data {
            _ if over => return,
            Some(data) => apps.received(NOW, flow, &mut io, data),
            None if opens => apps.opened(NOW, flow, &mut io),
            None => apps.finished(NOW, flow, &mut io),
        }
        over |= io.asked_to_abort();
        asked += io.asked();
        // The last bytes asked for can be written, and written again.
        let from = asked - io.asked();
        let (mut once, mut again) = ([0; 64], [0; 64]);
        apps.fill(flow, group, from, &mut once);
        apps.fill(flow, group, from, &mut again);
        assert_eq!(once, again);
    };
    tell(&mut apps, &mut flow, None, true);
    // The first requests arrive, no later ones: what responds to these came too early.
    let mut io = Io::new(FlowId(0), group);
    apps.acknowledged(NOW, &mut flow, &mut io, 1 << 38);
    for piece in bytes.chunks(len) {
        tell(&mut apps, &mut flow, Some(piece), false);
    }
    tell(&mut apps, &mut flow, None, false);
    let end = if over { End::Aborted } else { End::Closed };
    ended(&mut apps, &mut flow, group, end)
}

/// Responses and requests of every kind, whole and not.
pub fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 204 No\r\n\r\n",
        "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nok\r\n0\r\nT: x\r\n\r\n",
        "HTTP/1.0 404 Not Found\n\nuntil the end",
        "HTTP/1.1 302 F\r\nLocation: ../x?y\r\nSet-Cookie: a=b; Path=/; Max-Age=9\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1, 1\r\n\r\nx",
        "GET /5 HTTP/1.1\r\nHost: h\r\n\r\nHEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
        "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbodyGET / HTTP/1.0\r\n\r\n",
        "PUT http://h/x?y HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
        "BREW / HTTP/1.1\r\nHost: h\r\n\r\n",
    ];
    let seed = |(index, text): (usize, &&str)| {
        let how = [u8::from(index >= 5) | 2 | (index as u8) << 3];
        [&how, text.as_bytes()].concat()
    };
    texts.iter().enumerate().map(seed).collect()
}
