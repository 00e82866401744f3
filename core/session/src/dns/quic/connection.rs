//! The streams of a connection: messages that have come whole, and messages that are written as far as their streams take them.

use super::code;
use crate::flow::{Ctx, Flag, Flow};
use crate::quic::{Carried, Quic, QuicEnd, QuicEvent, QuicRead};
use std::collections::BTreeMap;
use units::Nanos;

/// Bytes of the length before a message.
const LENGTH: usize = 2;

/// The stream of a query.
struct Stream<T> {
    data: T,
    /// Bytes received so far.
    input: Vec<u8>,
    /// The message to send, and how much of it was.
    out: Vec<u8>,
    sent: usize,
    /// There is a message to send.
    whole: bool,
    /// All was sent, or the other end wants no more.
    done: bool,
}

impl<T> Stream<T> {
    fn new(data: T) -> Self {
        Self { data, input: Vec::new(), out: Vec::new(), sent: 0, whole: false, done: false }
    }

    /// Bytes of the message that comes, with its length, as far as that is known.
    fn awaited(&self) -> Option<usize> {
        let length = self.input.first_chunk::<LENGTH>()?;
        Some(LENGTH + usize::from(u16::from_be_bytes(*length)))
    }
}

/// A connection.
pub(crate) struct Connection<T> {
    pub(super) carried: Carried,
    streams: BTreeMap<u64, Stream<T>>,
    /// Whether this end opens the streams.
    is_client: bool,
    /// The stream after the last that the other end has opened.
    next: u64,
    /// A stream without a query yet: unknown to the other end.
    spare: Option<u64>,
}

/// Something happened on a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The handshake is done.
    Connected,
    /// The first bytes of a message are here.
    Begun(u64),
    /// A message is whole, and so is its stream.
    Message(u64, Vec<u8>),
    /// All of a message that was sent has arrived.
    Delivered(u64),
    /// The other end has given a stream up, by this code, or wants no more of it (`stops`).
    GivenUp { stream: u64, code: u64, stops: bool },
    /// The other end has broken a rule (RFC 9250 section 4.3.3).
    Broken(&'static str),
    /// The connection is over.
    Lost(QuicEnd),
}

impl<T: Default> Connection<T> {
    /// On a flow that has sent `base` bytes of datagrams.
    pub(super) fn new(is_client: bool, quic: Box<dyn Quic>, now: Nanos, base: u64) -> Self {
        let mut carried = Carried::new(quic, now, base);
        carried.close_by(code::NO_ERROR);
        Self { carried, streams: BTreeMap::new(), is_client, next: 0, spare: None }
    }

    /// Begins anew on a connection that has lost all its streams: returns what was kept of them.
    pub(super) fn begin_anew(&mut self) -> Vec<T> {
        self.spare = None;
        std::mem::take(&mut self.streams).into_values().map(|stream| stream.data).collect()
    }

    /// Streams that are open.
    pub(super) fn streams(&self) -> usize {
        self.streams.len()
    }

    /// State of a stream.
    pub(super) fn data(&mut self, stream: u64) -> Option<&mut T> {
        self.streams.get_mut(&stream).map(|stream| &mut stream.data)
    }

    /// All streams, what is kept of them, and whether a message is here that lacks nothing but the end of its stream.
    pub(super) fn each(&self) -> impl Iterator<Item = (u64, &T, bool)> {
        self.streams.iter().map(|(id, stream)| {
            (*id, &stream.data, stream.awaited().is_some_and(|whole| stream.input.len() >= whole))
        })
    }

    /// Whether a message to be sent was not sent whole, or is outstanding.
    pub(super) fn owes(&self) -> bool {
        self.streams.values().any(|stream| !stream.done)
    }

    /// Whether the other end takes another query for now.
    pub(super) fn may_open(&mut self) -> bool {
        if self.spare.is_none() {
            self.spare = self.carried.quic.open(true);
        }
        self.spare.is_some()
    }

    /// Opens a stream for a query; none if the other end takes no more for now.
    pub(super) fn open(&mut self, data: T) -> Option<u64> {
        self.may_open();
        let id = self.spare.take()?;
        self.streams.insert(id, Stream::new(data));
        Some(id)
    }

    /// Sends a message, with its length before it, and the end of the stream behind it.
    pub(super) fn send(&mut self, ctx: &mut Ctx<'_>, id: u64, message: &[u8]) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.out.extend_from_slice(message);
        stream.whole = true;
        self.write(ctx, id);
    }

    /// Writes what is owed to a stream as far as it takes it.
    fn write(&mut self, ctx: &mut Ctx<'_>, id: u64) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let quic = &mut self.carried.quic;
        while stream.whole && !stream.done {
            let rest = &stream.out[stream.sent..];
            if rest.is_empty() {
                quic.finish(id);
                stream.done = true;
                break;
            }
            match quic.send(id, rest) {
                // Only a stream that takes nothing says when it takes more.
                Some(0) => break,
                Some(taken) => {
                    ctx.counts.bytes_sent += taken as u64;
                    stream.sent += taken;
                }
                None => stream.done = true,
            }
        }
    }

    /// Forgets a stream on which all has come that should, and what was sent has arrived.
    pub(super) fn take(&mut self, ctx: &mut Ctx<'_>, id: u64) -> Option<T> {
        let stream = self.streams.remove(&id)?;
        ctx.counts.bytes_delivered += stream.sent as u64;
        Some(stream.data)
    }

    /// Gives a stream up both ways.
    pub(super) fn cancel(&mut self, id: u64) {
        if self.streams.remove(&id).is_some() {
            self.carried.quic.stop(id, code::REQUEST_CANCELLED);
            self.carried.quic.reset(id, code::REQUEST_CANCELLED);
        }
    }

    /// The next event since the last call; none of a session that is over.
    pub(super) fn next(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) -> Option<Event> {
        while let Some(event) = self.carried.quic.poll() {
            if flow.has(Flag::Failed) || self.carried.is_over() {
                continue;
            }
            match event {
                QuicEvent::Connected => {
                    self.carried.connected(ctx, flow);
                    return Some(Event::Connected);
                }
                QuicEvent::Readable(id) if id & 2 != 0 => {
                    return Some(Event::Broken("a unidirectional stream was opened"));
                }
                QuicEvent::Readable(id) => {
                    if let Some(event) = self.read(ctx, id) {
                        return Some(event);
                    }
                }
                QuicEvent::Writable(id) => self.write(ctx, id),
                QuicEvent::Delivered(id) if self.streams.contains_key(&id) => {
                    return Some(Event::Delivered(id));
                }
                QuicEvent::Stopped(id, code) => {
                    if let Some(stream) = self.streams.get_mut(&id) {
                        stream.done = true;
                        return Some(Event::GivenUp { stream: id, code, stops: true });
                    }
                }
                QuicEvent::Delivered(_) | QuicEvent::Available | QuicEvent::Datagram => {}
                QuicEvent::Lost(end) => return Some(Event::Lost(end)),
            }
        }
        None
    }

    /// Reads a stream.
    fn read(&mut self, ctx: &mut Ctx<'_>, id: u64) -> Option<Event> {
        if !self.streams.contains_key(&id) {
            if self.is_client || id < self.next {
                // One that is given up already.
                return None;
            }
            self.next = id + 4;
            self.streams.insert(id, Stream::new(T::default()));
        }
        let stream = self.streams.get_mut(&id)?;
        let (had, mut excess) = (stream.input.len(), false);
        let outcome = self.carried.quic.read(id, &mut |some| {
            ctx.counts.bytes_received += some.len() as u64;
            // One byte more than the longest message is one too many.
            let room = LENGTH + usize::from(u16::MAX) + 1 - stream.input.len();
            stream.input.extend_from_slice(&some[..some.len().min(room)]);
            excess |= stream.awaited().is_some_and(|whole| stream.input.len() > whole);
        });
        if excess {
            return Some(Event::Broken("more than one message on a stream"));
        }
        match outcome {
            QuicRead::Finished if stream.awaited() == Some(stream.input.len()) => {
                let mut message = std::mem::take(&mut stream.input);
                message.drain(..LENGTH);
                Some(Event::Message(id, message))
            }
            QuicRead::Finished => Some(Event::Broken("a stream that ends before its message is whole")),
            QuicRead::Reset(code) => Some(Event::GivenUp { stream: id, code, stops: false }),
            QuicRead::Blocked if had == 0 && !stream.input.is_empty() => Some(Event::Begun(id)),
            QuicRead::Blocked | QuicRead::Closed => None,
        }
    }
}
