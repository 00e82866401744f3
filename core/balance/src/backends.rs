//! Backends: they respond to each request with their number.

use crate::message::{Read, read_request, response};
use crate::pipe::Pipe;
use tcp::{App, End, FlowId, GroupId, Io};
use units::Nanos;

/// Counts of a backend.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BackendCounts {
    /// Connections, or flows of datagrams, that were opened.
    pub connections: u64,
    /// Of these, those with requests of the tester's clients.
    pub sessions: u64,
    /// Requests of the tester's clients that got a response.
    pub requests: u64,
    /// Requests of others: health checks.
    pub checks: u64,
    /// Sessions that are open.
    pub open: u64,
}

/// The backends, in the order of their numbers.
#[derive(Debug, Default)]
pub(crate) struct Backends {
    /// The backend whose flows have events.
    pub(crate) current: u16,
    pub(crate) counts: Vec<BackendCounts>,
}

/// A flow to a backend.
#[derive(Debug, Default)]
pub(crate) struct BackendFlow {
    pipe: Pipe,
    /// Whether it has requests of the tester's clients.
    is_session: bool,
    /// Whether it is closing.
    closes: bool,
}

impl Backends {
    fn own(&mut self) -> &mut BackendCounts {
        &mut self.counts[usize::from(self.current)]
    }
}

impl App for Backends {
    type Flow = BackendFlow;

    fn opened(&mut self, _: Nanos, _: &mut BackendFlow, _: &mut Io) {
        self.own().connections += 1;
    }

    fn received(&mut self, _: Nanos, flow: &mut BackendFlow, io: &mut Io, data: &[u8]) {
        if flow.closes {
            return;
        }
        flow.pipe.inbox.extend_from_slice(data);
        loop {
            match read_request(&flow.pipe.inbox) {
                _ if flow.pipe.inbox.is_empty() => break,
                Read::Incomplete => break,
                Read::Malformed => {
                    flow.closes = true;
                    io.close();
                    break;
                }
                Read::Whole(request, length) => {
                    flow.pipe.consume(length);
                    let is_session = request.numbers.is_some();
                    let is_new = is_session && !flow.is_session;
                    flow.is_session |= is_session;
                    let own = self.own();
                    own.requests += u64::from(is_session);
                    own.checks += u64::from(!is_session);
                    own.sessions += u64::from(is_new);
                    own.open += u64::from(is_new);
                    let bytes = response(&request, self.current);
                    flow.pipe.send(io, &bytes);
                    if request.closes {
                        flow.closes = true;
                        io.close();
                        break;
                    }
                }
            }
        }
        if io.is_for_datagrams() {
            // A datagram is a message.
            flow.pipe.inbox.clear();
        }
    }

    fn finished(&mut self, _: Nanos, flow: &mut BackendFlow, io: &mut Io) {
        flow.closes = true;
        io.close();
    }

    fn acknowledged(&mut self, _: Nanos, flow: &mut BackendFlow, _: &mut Io, offset: u64) {
        flow.pipe.forget(offset);
    }

    fn woke(&mut self, _: Nanos, _: &mut BackendFlow, _: &mut Io) {}

    fn closed(&mut self, _: Nanos, flow: &mut BackendFlow, _: FlowId, _: GroupId, _: End) {
        if flow.is_session {
            self.own().open -= 1;
        }
    }

    fn fill(&mut self, flow: &BackendFlow, _: GroupId, offset: u64, out: &mut [u8]) {
        flow.pipe.fill(offset, out);
    }
}
