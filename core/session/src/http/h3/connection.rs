//! The streams of a connection: what came on them is understood, and what is owed to them is written as far as they take it.

use crate::flow::{Ctx, Flag, Flow};
use crate::pattern;
use crate::quic::{Carried, Quic, QuicEnd, QuicEvent, QuicRead};
use http2::Streams;
use http3::{Code, Fault, Head, Peer, Piece, Reader, Role, Use};
use units::Nanos;

/// Bytes of a body written at a time.
const PIECE: u64 = 16 << 10;
/// Bytes left of a body from which on it is not written in one piece with the frames before it, if it need not be copied otherwise.
const LONG: u64 = 4 << 10;
/// Memory for frames that is kept for the next stream, bytes at most.
const FRAMES_MAX: usize = 40 << 10;
/// Bytes of header blocks that are not whole, of all streams.
const HELD_MAX: usize = 256 << 10;

/// A body: of which kind its bytes are, the message's number, and how many there are.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Body {
    pub source: u16,
    pub number: u32,
    pub len: u64,
}

/// The stream of a request.
struct Stream<T> {
    id: u64,
    reader: Reader,
    data: T,
    /// Frames to be sent before the body, and how much of them and of the body was.
    head: Vec<u8>,
    head_sent: usize,
    body: Body,
    body_sent: u64,
    /// Bytes sent in all.
    sent: u64,
    /// No more data will be passed for sending.
    whole: bool,
    /// All was sent, or the other end wants no more.
    done: bool,
    /// Nothing is read of it for now, so its sender may send no more than its window allows.
    withheld: bool,
    /// Nothing more of it is read: the response does not depend on it.
    discarded: bool,
}

/// A connection.
pub(crate) struct Connection<T> {
    pub(crate) carried: Carried,
    role: Role,
    peer: Peer,
    pub(crate) head: Head,
    /// By half of their identifiers, which are multiples of four.
    streams: Streams<Stream<T>>,
    /// Our control stream, and what is owed to it.
    control: Option<u64>,
    owed: Vec<u8>,
    /// Bytes of header blocks that are not whole.
    held: usize,
    /// The first stream that was not processed, once GOAWAY was received or sent; and the one after the last received.
    left: Option<u64>,
    next: u64,
    /// A stream without a request yet: unknown to the other end.
    spare: Option<u64>,
    scratch: Vec<u8>,
    /// Memory for the frames of the next stream.
    frames: Vec<u8>,
}

/// Handling of received data at an end.
pub(crate) trait Handler<T>: Source {
    /// The handshake is done.
    fn connected(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Connection<T>);
    /// The other end has opened a stream for a request: what is kept of it, unless it is refused.
    fn begun(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, stream: u64) -> Option<T>;
    /// A head is in [`Connection::head`].
    fn head(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Connection<T>, stream: u64);
    /// A part of a body.
    fn data(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        connection: &mut Connection<T>,
        stream: u64,
        bytes: &[u8],
    );
    /// A request or a response is whole.
    fn end(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Connection<T>, stream: u64);
    /// All that was sent on a stream was acknowledged.
    fn delivered(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Connection<T>, stream: u64);
    /// The other end has reset a stream, or wants no more of it (`stops`).
    fn given_up(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        connection: &mut Connection<T>,
        stream: u64,
        code: Code,
        stops: bool,
    );
    /// A request or a response is malformed; its stream was reset.
    fn malformed(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        connection: &mut Connection<T>,
        stream: u64,
        fault: Fault,
    );
    /// Data of the other end that ends the connection.
    fn broken(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, fault: Fault);
    /// Whether it handles events of a session that has failed, too.
    fn lingers(&self) -> bool {
        false
    }
    /// The connection is over.
    fn lost(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, connection: &mut Connection<T>, end: &QuicEnd);
}

/// Knows the bytes of bodies.
pub(crate) trait Source {
    /// Writes the bytes of a body from an offset on.
    fn fill(&self, body: Body, offset: u64, out: &mut [u8]);

    /// Some of these bytes, if they are there for ever.
    fn lasting(&self, _body: Body, _offset: u64) -> &'static [u8] {
        &[]
    }
}

impl<T> Connection<T> {
    /// On a flow that has sent `base` bytes of datagrams.
    pub(crate) fn new(role: Role, quic: Box<dyn Quic>, now: Nanos, base: u64) -> Self {
        let mut carried = Carried::new(quic, now, base);
        carried.close_by(Code::NO_ERROR.0);
        Self {
            carried,
            role,
            peer: Peer::new(role),
            head: Head::default(),
            streams: Streams::default(),
            control: None,
            owed: http3::opening(false),
            held: 0,
            left: None,
            next: 0,
            spare: None,
            scratch: Vec::new(),
            frames: Vec::new(),
        }
    }

    /// Carries WebSocket: a server announces that, and takes requests for it (RFC 9220). These fields of heads are kept.
    pub(crate) fn carry_websocket(&mut self, fields: &'static [&'static str]) {
        self.head.keep(fields);
        if self.role == Role::Server {
            self.head.take_protocol();
            self.owed = http3::opening(true);
        }
    }

    /// Begins anew on a connection that has lost all its streams: returns what was kept of them.
    pub(crate) fn begin_anew(&mut self) -> Vec<T> {
        self.peer = Peer::new(self.role);
        (self.control, self.spare, self.held) = (None, None, 0);
        self.owed = http3::opening(false);
        self.take_from(0).into_iter().map(|stream| stream.data).collect()
    }

    /// Streams of requests that are open.
    pub(crate) fn streams(&self) -> usize {
        self.streams.len()
    }

    /// State of a stream.
    pub(crate) fn data(&mut self, stream: u64) -> Option<&mut T> {
        self.streams.get_mut(key(stream)).map(|stream| &mut stream.data)
    }

    /// All streams of requests in any order, and what is kept of them.
    pub(crate) fn each(&self) -> impl Iterator<Item = (u64, &T)> {
        self.streams.iter().map(|(_, stream)| (stream.id, &stream.data))
    }

    /// Whether a response is outstanding, or not sent completely.
    pub(crate) fn owes(&self) -> bool {
        self.streams.iter().any(|(_, stream)| !stream.done)
    }

    /// Maximum size of field sections that the other end accepts, bytes.
    pub(crate) fn peer_list(&self) -> u64 {
        self.peer.settings().map_or(u64::MAX, |settings| settings.field_section)
    }

    /// Whether the other end takes WebSocket; none before its settings have come.
    pub(crate) fn peer_connects(&self) -> Option<bool> {
        self.peer.settings().map(|settings| settings.connect)
    }

    /// See [`Peer::goaway`].
    pub(crate) fn goaway(&self) -> (Option<u64>, u64) {
        self.peer.goaway()
    }

    /// Whether this end has announced that it accepts no more requests.
    pub(crate) fn is_leaving(&self) -> bool {
        self.left.is_some()
    }

    /// Says that it looks at no more requests than have come.
    pub(crate) fn leave(&mut self) {
        if self.left.is_none() {
            self.left = Some(self.next);
            http3::goaway(self.next, &mut self.owed);
        }
    }

    /// Whether the other end takes another request for now.
    pub(crate) fn may_open(&mut self) -> bool {
        if self.spare.is_none() {
            self.spare = self.carried.quic.open(true);
        }
        self.spare.is_some()
    }

    /// Opens a stream for a request; none if the other end takes no more for now.
    pub(crate) fn open(&mut self, data: T, bodiless: bool) -> Option<u64> {
        self.may_open();
        let id = self.spare.take()?;
        let mut stream = Stream::new(id, Role::Client, data);
        if bodiless {
            stream.reader.expect_no_body();
        }
        self.streams.insert(key(id), stream);
        Some(id)
    }

    /// Sends frames on a stream, and after them a body, as far as the stream takes them. `whole`: nothing follows.
    pub(crate) fn send(
        &mut self,
        ctx: &mut Ctx<'_>,
        id: u64,
        block: &[u8],
        (body, whole): (Body, bool),
        source: &impl Source,
    ) {
        self.put(id, block, (body, whole));
        self.write(ctx, id, source);
    }

    /// The same, but that [`Connection::write`] sends it.
    #[inline]
    pub(crate) fn put(&mut self, id: u64, block: &[u8], (body, whole): (Body, bool)) {
        let Some(stream) = self.streams.get_mut(key(id)) else { return };
        if stream.head.capacity() == 0 {
            stream.head = std::mem::take(&mut self.frames);
        }
        http3::headers(block, &mut stream.head);
        if body.len > 0 {
            http3::data(body.len, &mut stream.head);
        }
        (stream.body, stream.whole) = (body, whole);
    }

    /// Sends bytes in a frame, behind what is on its way.
    pub(crate) fn push(&mut self, id: u64, bytes: &[u8]) {
        let Some(stream) = self.streams.get_mut(key(id)).filter(|stream| !stream.done) else { return };
        if stream.head.capacity() == 0 {
            stream.head = std::mem::take(&mut self.frames);
        }
        http3::data(bytes.len() as u64, &mut stream.head);
        stream.head.extend_from_slice(bytes);
    }

    /// Nothing more will be sent on a stream.
    pub(crate) fn end_with(&mut self, id: u64) {
        if let Some(stream) = self.streams.get_mut(key(id)) {
            stream.whole = true;
        }
    }

    /// Whether something waits until a stream takes it.
    pub(crate) fn is_behind(&self, id: u64) -> bool {
        self.streams.get(key(id)).is_some_and(|stream| !stream.done && !stream.head.is_empty())
    }

    /// Stops reading a stream, or resumes: then it must be read.
    pub(crate) fn withhold(&mut self, id: u64, withheld: bool) {
        if let Some(stream) = self.streams.get_mut(key(id)) {
            stream.withheld = withheld;
        }
    }

    /// Asks the other end to send no more of a request, and ignores what still comes (RFC 9114 section 4.1).
    pub(crate) fn discard(&mut self, id: u64) {
        if let Some(stream) = self.streams.get_mut(key(id)) {
            stream.discarded = true;
            self.carried.quic.stop(id, Code::NO_ERROR.0);
        }
    }

    /// Forgets a stream on which all has come that should, and what was sent has arrived; discards what was not sent.
    pub(crate) fn take(&mut self, ctx: &mut Ctx<'_>, id: u64) -> Option<T> {
        let stream = self.streams.remove(key(id))?;
        self.held -= stream.reader.held().min(self.held);
        ctx.counts.bytes_delivered += stream.sent;
        if !stream.done {
            self.carried.quic.reset(id, Code::REQUEST_CANCELLED.0);
        }
        Some(stream.data)
    }

    /// Forgets the streams of requests from number `first` on, which the other end has not processed.
    pub(crate) fn forget_from(&mut self, first: u64) -> Vec<T> {
        let gone = self.take_from(first);
        for stream in &gone {
            self.held -= stream.reader.held().min(self.held);
            self.carried.quic.stop(stream.id, Code::REQUEST_CANCELLED.0);
            self.carried.quic.reset(stream.id, Code::REQUEST_CANCELLED.0);
        }
        gone.into_iter().map(|stream| stream.data).collect()
    }

    /// Takes the streams of requests from number `first` on out, in order.
    fn take_from(&mut self, first: u64) -> Vec<Stream<T>> {
        let mut ids: Vec<u64> = self.streams.iter().map(|(_, stream)| stream.id).collect();
        ids.retain(|id| *id >= first);
        ids.sort_unstable();
        ids.into_iter().filter_map(|id| self.streams.remove(key(id))).collect()
    }

    /// Resets a stream both ways.
    pub(crate) fn refuse(&mut self, id: u64, code: Code) {
        self.carried.quic.stop(id, code.0);
        self.carried.quic.reset(id, code.0);
        if let Some(stream) = self.streams.remove(key(id)) {
            self.held -= stream.reader.held().min(self.held);
        }
    }

    /// Writes what is owed to a stream as far as it takes it.
    pub(crate) fn write(&mut self, ctx: &mut Ctx<'_>, id: u64, source: &impl Source) {
        let Some(stream) = self.streams.get_mut(key(id)) else { return };
        let quic = &mut self.carried.quic;
        while !stream.done {
            let head = stream.head.len();
            let left = stream.body.len - stream.body_sent;
            let lasting = if left < LONG { &[] } else { source.lasting(stream.body, stream.body_sent) };
            if head == 0 && left == 0 {
                if stream.whole {
                    quic.finish(id);
                    stream.done = true;
                }
                break;
            }
            let taken = if head == 0 && !lasting.is_empty() {
                quic.send_lasting(id, lasting)
            } else {
                if lasting.is_empty() {
                    // In one piece with the frames before it.
                    stream.head.resize(head + left.min(PIECE) as usize, 0);
                    source.fill(stream.body, stream.body_sent, &mut stream.head[head..]);
                }
                quic.send(id, &stream.head[stream.head_sent..])
            };
            let of_head = taken.unwrap_or(0).min(head - stream.head_sent);
            stream.head.truncate(head);
            let Some(taken) = taken else {
                stream.done = true;
                break;
            };
            ctx.counts.bytes_sent += taken as u64;
            stream.sent += taken as u64;
            stream.head_sent += of_head;
            stream.body_sent += (taken - of_head) as u64;
            if stream.head_sent == stream.head.len() {
                stream.head.clear();
                stream.head_sent = 0;
            }
            // Only one that takes nothing says when it takes more.
            if taken == 0 {
                break;
            }
        }
        if stream.head.is_empty() {
            // The next stream has its memory, unless it is a long message's.
            let spare = std::mem::take(&mut stream.head);
            if (1..=FRAMES_MAX).contains(&spare.capacity()) {
                self.frames = spare;
            }
        } else if stream.head.capacity() > 2 * stream.head.len() + 64 {
            // Frames that wait need no room for a body beside them.
            stream.head.shrink_to_fit();
        }
    }

    /// Opens this end's control stream, and writes what is owed to it.
    pub(crate) fn write_control(&mut self) {
        if self.control.is_none() {
            self.control = self.carried.quic.open(false);
        }
        let Some(id) = self.control else { return };
        while !self.owed.is_empty() {
            let taken = self.carried.quic.send(id, &self.owed).unwrap_or(self.owed.len());
            self.owed.drain(..taken);
            if taken == 0 {
                break;
            }
        }
    }

    /// Lets `handler` know of all that has happened.
    pub(crate) fn listen(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, handler: &mut impl Handler<T>) {
        while let Some(event) = self.carried.quic.poll() {
            if flow.has(Flag::Failed) && !handler.lingers() || self.carried.is_over() {
                continue;
            }
            match event {
                QuicEvent::Connected => {
                    self.carried.connected(ctx, flow);
                    self.write_control();
                    handler.connected(ctx, flow, self);
                }
                // Bidirectional streams of servers: none may be opened (RFC 9114 section 6.1).
                QuicEvent::Readable(id) if id & 3 == 1 => {}
                QuicEvent::Readable(id) if id & 2 != 0 => self.read_control(ctx, flow, id, handler),
                QuicEvent::Readable(id) => self.read(ctx, flow, id, handler),
                QuicEvent::Writable(id) if Some(id) == self.control => self.write_control(),
                QuicEvent::Writable(id) => self.write(ctx, id, &*handler),
                QuicEvent::Delivered(id) if id & 2 == 0 => handler.delivered(ctx, flow, self, id),
                QuicEvent::Stopped(id, _) if Some(id) == self.control => {
                    let why = "the control stream was not wanted";
                    self.end(
                        ctx,
                        flow,
                        handler,
                        Fault { code: Code::CLOSED_CRITICAL_STREAM, why, of_stream: false },
                    );
                }
                QuicEvent::Stopped(id, code) => {
                    if let Some(stream) = self.streams.get_mut(key(id)) {
                        stream.done = true;
                        handler.given_up(ctx, flow, self, id, Code(code), true);
                    }
                }
                QuicEvent::Delivered(_) | QuicEvent::Available | QuicEvent::Datagram => {}
                QuicEvent::Lost(end) => handler.lost(ctx, flow, self, &end),
            }
        }
        self.write_control();
    }

    /// A fault of the connection: it is reported to the other end.
    #[cold]
    fn end(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, handler: &mut impl Handler<T>, fault: Fault) {
        self.carried.close_by(fault.code.0);
        handler.broken(ctx, flow, fault);
    }

    /// A unidirectional stream.
    fn read_control(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, id: u64, handler: &mut impl Handler<T>) {
        let mut bytes = std::mem::take(&mut self.scratch);
        bytes.clear();
        let outcome = self.carried.quic.read(id, &mut |some| bytes.extend_from_slice(some));
        let mut said = Ok(Use::Read);
        if !bytes.is_empty() {
            said = self.peer.read(id, &bytes);
        }
        if said == Ok(Use::Read) && matches!(outcome, QuicRead::Finished | QuicRead::Reset(_)) {
            said = self.peer.finish(id).map(|()| Use::Read);
        }
        self.scratch = bytes;
        match said {
            Ok(Use::Read) => {}
            Ok(Use::Stop(code)) => self.carried.quic.stop(id, code.0),
            Err(fault) => self.end(ctx, flow, handler, fault),
        }
    }

    /// The stream of a request.
    #[inline]
    pub(crate) fn read(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        id: u64,
        handler: &mut impl Handler<T>,
    ) {
        if self.streams.get(key(id)).is_none() {
            if self.role == Role::Client || id < self.next {
                // One that is given up already.
                return;
            }
            self.next = id + 4;
            let kept = if self.left.is_some() { None } else { handler.begun(ctx, flow, id) };
            match kept {
                Some(data) => self.streams.insert(key(id), Stream::new(id, Role::Server, data)),
                None => return self.refuse(id, Code::REQUEST_REJECTED),
            }
        }
        if self.streams.get(key(id)).is_some_and(|stream| stream.withheld || stream.discarded) {
            return;
        }
        let mut bytes = std::mem::take(&mut self.scratch);
        bytes.clear();
        let outcome = self.carried.quic.read(id, &mut |some| bytes.extend_from_slice(some));
        ctx.counts.bytes_received += bytes.len() as u64;
        let understood = self.understand(ctx, flow, id, &bytes, handler);
        self.scratch = bytes;
        if flow.has(Flag::Failed) || self.streams.get(key(id)).is_some_and(|stream| stream.discarded) {
            return;
        }
        let fault = match (understood, outcome) {
            (Err(fault), _) => fault,
            (Ok(()), QuicRead::Finished) => {
                match self.streams.get(key(id)).map(|stream| stream.reader.finish()) {
                    Some(Ok(())) => return handler.end(ctx, flow, self, id),
                    Some(Err(fault)) => fault,
                    None => return,
                }
            }
            (Ok(()), QuicRead::Reset(code)) if self.streams.get(key(id)).is_some() => {
                return handler.given_up(ctx, flow, self, id, Code(code), false);
            }
            (Ok(()), _) => return,
        };
        if !fault.of_stream {
            return self.end(ctx, flow, handler, fault);
        }
        self.carried.quic.stop(id, fault.code.0);
        handler.malformed(ctx, flow, self, id, fault);
    }

    /// Data on the stream of a request, piece by piece.
    #[inline]
    fn understand(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        id: u64,
        mut input: &[u8],
        handler: &mut impl Handler<T>,
    ) -> Result<(), Fault> {
        while let Some(stream) = self.streams.get_mut(key(id)).filter(|stream| !stream.discarded) {
            let before = stream.reader.held();
            let piece = stream.reader.read(&mut input, &mut self.head);
            self.held = self.held + stream.reader.held() - before;
            match piece? {
                None if self.held > HELD_MAX => {
                    let why = "too much of header blocks that are not whole";
                    return Err(Fault { code: Code::EXCESSIVE_LOAD, why, of_stream: false });
                }
                None => break,
                Some(Piece::Head) => handler.head(ctx, flow, self, id),
                Some(Piece::Data(bytes)) => handler.data(ctx, flow, self, id, bytes),
                Some(Piece::Trailers) => {}
            }
            if flow.has(Flag::Failed) {
                break;
            }
        }
        Ok(())
    }
}

impl<T> Stream<T> {
    fn new(id: u64, role: Role, data: T) -> Self {
        Self {
            id,
            reader: Reader::new(role),
            data,
            head: Vec::new(),
            head_sent: 0,
            body: Body::default(),
            body_sent: 0,
            sent: 0,
            whole: false,
            done: false,
            withheld: false,
            discarded: false,
        }
    }
}

/// The key of a stream of a request: at least 2^31 requests of a connection differ.
#[inline]
fn key(id: u64) -> u32 {
    (id >> 1) as u32
}

/// There are no bodies but what was pushed.
pub(crate) struct Nothing;

impl Source for Nothing {
    fn fill(&self, _: Body, _: u64, out: &mut [u8]) {
        out.fill(0);
    }
}

/// Writes generated bytes of a body.
pub(crate) fn write_generated(body: Body, offset: u64, out: &mut [u8]) {
    pattern::write(u64::from(body.number), offset, out);
}

/// Some of these bytes, which are there for ever.
pub(crate) fn lasting_generated(body: Body, offset: u64) -> &'static [u8] {
    pattern::lasting(u64::from(body.number), offset, body.len - offset)
}

/// The number of the message of a stream.
pub(crate) fn number(stream: u64) -> u32 {
    (stream >> 2) as u32
}
