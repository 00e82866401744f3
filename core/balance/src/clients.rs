//! Clients: they open sessions, send numbered requests, and note which backend responded to each.

use crate::message::{Read, Response, Speech, read_response, request};
use crate::pipe::Pipe;
use tcp::{App, End, FlowId, GroupId, Io};
use units::Nanos;

/// End of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The client closed it, all its requests having got a response.
    Done,
    /// The exchange ended.
    Stopped,
    /// The balancer did not accept it, by a reset or ICMP.
    Refused,
    /// It was reset.
    Reset,
    /// The other end closed it.
    Closed,
    /// A request got no response in time, or the connection was not accepted in time.
    Silent,
    /// A response with an error status of HTTP.
    Status(u16),
    /// A response that is none, or to another request.
    Malformed,
    /// It could not be opened for lack of ports or room in the tester.
    Unopened,
}

impl Ending {
    /// Whether the session failed.
    pub fn is_failure(self) -> bool {
        !matches!(self, Self::Done | Self::Stopped)
    }
}

/// A session of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionRecord {
    /// Number of its client.
    pub client: u32,
    /// Number of the identity that sessions repeat: of two sessions with the same, a sticky balancer chooses one backend.
    pub identity: u32,
    /// Round in which it was opened.
    pub round: u32,
    /// Whether it stays open and repeats its request.
    pub is_held: bool,
    /// When it was opened.
    pub opened: Nanos,
    /// Backend of its first response.
    pub first: Option<u16>,
    /// When that came.
    pub first_at: Option<Nanos>,
    /// Backend of its last response before a backend changed; of sessions that were open then.
    pub at_change: Option<u16>,
    /// Backend of its last response, and when that came.
    pub last: Option<(u16, Nanos)>,
    /// Responses from another backend than that of the response before.
    pub moved: u32,
    /// Of these, those after the change.
    pub moved_later: u32,
    /// Requests sent.
    pub sent: u32,
    /// Responses received.
    pub answered: u32,
    /// When and how it ended.
    pub ended: Option<(Nanos, Ending)>,
}

/// All clients.
#[derive(Debug)]
pub(crate) struct Clients {
    pub(crate) sessions: Vec<SessionRecord>,
    /// Sessions that ended.
    pub(crate) ended: usize,
    /// Sessions that got a response, or ended without one.
    pub(crate) settled: usize,
    pub(crate) speech: Speech,
    /// Cookies of each identity.
    pub(crate) jars: Vec<String>,
    /// Whether cookies are kept.
    pub(crate) keeps_cookies: bool,
    /// From a response to the next request of a held session.
    pub(crate) interval: Nanos,
    /// Wait for a response.
    pub(crate) timeout: Nanos,
}

/// A client's flow.
#[derive(Debug, Default)]
pub(crate) struct ClientFlow {
    /// Its session's number, plus one; zero: none.
    session: u32,
    pipe: Pipe,
    asked_at: Option<Nanos>,
}

impl ClientFlow {
    pub(crate) fn of(session: usize) -> Self {
        Self { session: session as u32 + 1, ..Self::default() }
    }

    pub(crate) fn session(&self) -> Option<usize> {
        self.session.checked_sub(1).map(|number| number as usize)
    }
}

impl Clients {
    /// Ends a session, once.
    pub(crate) fn end(&mut self, session: usize, now: Nanos, ending: Ending) {
        let record = &mut self.sessions[session];
        if record.ended.is_none() {
            record.ended = Some((now, ending));
            self.ended += 1;
            self.settled += usize::from(record.first.is_none());
        }
    }

    fn ask(&mut self, now: Nanos, flow: &mut ClientFlow, io: &mut Io) {
        let Some(session) = flow.session() else { return };
        let record = &mut self.sessions[session];
        let cookies = self.jars.get(record.identity as usize).map_or("", String::as_str);
        let bytes = request(&self.speech, session as u32, record.sent, cookies);
        record.sent += 1;
        flow.pipe.send(io, &bytes);
        flow.asked_at = Some(now);
        io.wake_at(now + self.timeout);
    }

    /// Takes a response; returns whether the session continues.
    fn take(&mut self, now: Nanos, session: usize, response: &Response) -> Result<(), Ending> {
        if response.status != 200 {
            return Err(Ending::Status(response.status));
        }
        let record = &mut self.sessions[session];
        let expected = (session as u32, record.answered);
        let (Some(backend), true) = (response.backend, response.numbers == Some(expected)) else {
            return Err(Ending::Malformed);
        };
        record.answered += 1;
        self.settled += usize::from(record.first.is_none());
        record.first.get_or_insert(backend);
        record.first_at.get_or_insert(now);
        if record.last.is_some_and(|(before, _)| before != backend) {
            record.moved += 1;
            record.moved_later += u32::from(record.at_change.is_some());
        }
        record.last = Some((backend, now));
        if self.keeps_cookies && !response.cookies.is_empty() {
            let identity = record.identity as usize;
            if self.jars.len() <= identity {
                self.jars.resize(identity + 1, String::new());
            }
            self.jars[identity] = response.cookies.join("; ");
        }
        Ok(())
    }
}

impl App for Clients {
    type Flow = ClientFlow;

    fn opened(&mut self, now: Nanos, flow: &mut ClientFlow, io: &mut Io) {
        self.ask(now, flow, io);
    }

    fn received(&mut self, now: Nanos, flow: &mut ClientFlow, io: &mut Io, data: &[u8]) {
        let Some(session) = flow.session() else { return };
        if self.sessions[session].ended.is_some() {
            return;
        }
        flow.pipe.inbox.extend_from_slice(data);
        loop {
            match read_response(self.speech.protocol, &flow.pipe.inbox) {
                _ if flow.pipe.inbox.is_empty() => break,
                Read::Incomplete => break,
                Read::Malformed => {
                    self.end(session, now, Ending::Malformed);
                    io.abort();
                    break;
                }
                Read::Whole(response, length) => {
                    flow.pipe.consume(length);
                    flow.asked_at = None;
                    let taken = self.take(now, session, &response);
                    let is_held = self.sessions[session].is_held;
                    match taken {
                        Err(ending) => {
                            self.end(session, now, ending);
                            io.abort();
                            break;
                        }
                        // What the balancer ends after a response counts when it does.
                        Ok(()) if is_held => io.wake_at(now + self.interval),
                        Ok(()) => {
                            self.end(session, now, Ending::Done);
                            io.let_sleep();
                            io.close();
                            break;
                        }
                    }
                }
            }
        }
    }

    fn finished(&mut self, now: Nanos, flow: &mut ClientFlow, io: &mut Io) {
        if let Some(session) = flow.session() {
            self.end(session, now, Ending::Closed);
        }
        io.let_sleep();
        io.close();
    }

    fn acknowledged(&mut self, _: Nanos, flow: &mut ClientFlow, _: &mut Io, offset: u64) {
        flow.pipe.forget(offset);
    }

    fn woke(&mut self, now: Nanos, flow: &mut ClientFlow, io: &mut Io) {
        let Some(session) = flow.session().filter(|session| self.sessions[*session].ended.is_none()) else {
            return;
        };
        match flow.asked_at {
            Some(asked) if now < asked + self.timeout => io.wake_at(asked + self.timeout),
            Some(_) => {
                self.end(session, now, Ending::Silent);
                io.abort();
            }
            None => self.ask(now, flow, io),
        }
    }

    fn closed(&mut self, now: Nanos, flow: &mut ClientFlow, _: FlowId, _: GroupId, end: End) {
        let Some(session) = flow.session() else { return };
        let ending = match end {
            End::Refused | End::Unreachable => Ending::Refused,
            End::Reset | End::ResetAcknowledged => Ending::Reset,
            End::SetupTimeout | End::Timeout | End::IdleTimeout => Ending::Silent,
            End::Closed => Ending::Closed,
            End::Aborted => Ending::Stopped,
        };
        self.end(session, now, ending);
    }

    fn fill(&mut self, flow: &ClientFlow, _: GroupId, offset: u64, out: &mut [u8]) {
        flow.pipe.fill(offset, out);
    }
}
