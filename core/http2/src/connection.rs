//! A connection: reads frames, keeps windows and streams, decides what may be sent.

use crate::fault::{Code, Fault};
use crate::frame::{self, FrameHead, HEAD, WINDOW, WINDOW_MOST, setting};
use crate::head::Head;
use crate::hpack::{Decoder, Encoder};
use crate::limits;
use crate::output::{Body, Output};
use crate::streams::Streams;
use std::collections::VecDeque;

/// Bytes of a buffer for input that is kept.
const KEPT: usize = 1 << 10;
/// Bytes of memory for what is sent that an idle connection keeps.
const IDLE: usize = 300;
/// Streams reset here whose late frames are passed over.
const RESETS: usize = 16;
/// A missing content-length.
const UNSAID: u64 = u64::MAX;

/// Which end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The end that sends requests.
    Client,
    /// The end that sends responses.
    Server,
}

/// Announced settings of this end (RFC 9113 section 6.5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Announced {
    /// Requests a client may have open at a time; without meaning for clients.
    pub streams: u32,
    /// Bytes a stream may send ahead, 65,535 to 2^31 - 1.
    pub window: u32,
    /// Bytes the connection may send ahead, likewise.
    pub connection_window: u32,
    /// Whether a server takes extended CONNECT (RFC 8441); without meaning for clients.
    pub connect: bool,
}

impl Default for Announced {
    fn default() -> Self {
        Self { streams: 256, window: 1 << 20, connection_window: 16 << 20, connect: false }
    }
}

/// Meaning of a peer's frames. `T` is the user's data for each stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a, T> {
    /// The head of a request, or of a response (one of status 1xx is followed by another): [`Connection::head`].
    Head {
        /// The stream.
        stream: u32,
        /// Whether nothing follows.
        end: bool,
    },
    /// A part of a body; at the end it may be empty.
    Data {
        /// The stream.
        stream: u32,
        /// The bytes.
        bytes: &'a [u8],
        /// Whether nothing follows.
        end: bool,
    },
    /// Trailers, which end a message: [`Connection::head`].
    Trailers {
        /// The stream.
        stream: u32,
    },
    /// The peer reset a stream, which is gone.
    Reset {
        /// Why.
        code: Code,
        /// Its user's data.
        data: T,
    },
    /// A peer's message was invalid, or a frame did not fit its stream, which is gone: the stream was reset.
    Broken {
        /// Description of the error.
        why: &'static str,
        /// Its user's data.
        data: T,
    },
    /// A request beyond [`Announced::streams`] was refused.
    Refused,
    /// The peer takes no more streams; those above `last` it did not look at.
    GoAway {
        /// The last stream it takes.
        last: u32,
        /// Why.
        code: Code,
    },
    /// More may be sent, or opened, than before.
    Room,
}

/// Announced settings of the peer.
#[derive(Debug)]
struct Peer {
    window: i64,
    frame: u32,
    streams: u32,
    list: u32,
    connect: bool,
}

/// A stream.
#[derive(Debug)]
struct Stream<T> {
    /// Bytes that may be sent; below zero once the peer takes some back (RFC 9113 section 6.9.2).
    send: i64,
    /// Bytes the peer may send.
    receive: i64,
    /// The body to send: its source, the current position, and the remaining bytes.
    body: Option<(Body, u64, u64)>,
    /// More follows the body: another, or trailers.
    more: bool,
    /// The body, if it is kept here and not at its source.
    copy: Vec<u8>,
    /// Bytes the peer's message must have, and those that came.
    length: u64,
    got: u64,
    tag: u8,
    /// The peer sends nothing more; this end neither.
    remote_ended: bool,
    local_ended: bool,
    /// The head of the response came.
    headed: bool,
    /// Whether its response has no body regardless of its head.
    bodiless: bool,
    queued: bool,
    data: T,
}

/// A DATA frame that is read.
#[derive(Debug, Clone, Copy)]
struct Reading {
    stream: u32,
    /// Bytes of the frame that have not come, and how many of these are padding.
    left: u32,
    padding: u32,
    padding_follows: bool,
    end: bool,
    /// Whether its user knows it.
    known: bool,
}

/// A connection of one end.
#[derive(Debug)]
pub struct Connection<T> {
    role: Role,
    announced: Announced,
    decoder: Decoder,
    encoder: Encoder,
    streams: Streams<Stream<T>>,
    /// Streams that have something to send.
    ready: VecDeque<u32>,
    /// Streams whose part is on its way, and that wait for more.
    drained: VecDeque<u32>,
    out: Output,
    /// Of it, the bytes passed for sending.
    asked: u64,
    /// Input that is no whole frame yet.
    partial: Vec<u8>,
    reading: Option<Reading>,
    /// A header block in pieces: its stream (0: none), whether the stream ends with it, and its frames.
    block: Vec<u8>,
    block_stream: u32,
    block_end: bool,
    block_frames: u32,
    head: Head,
    peer: Peer,
    send: i64,
    receive: i64,
    /// The peer's windows are not opened further for now.
    withholds: bool,
    /// Bytes of the client's preface that are to come.
    preface: usize,
    /// The peer's first SETTINGS came.
    settled: bool,
    failed: bool,
    /// The peer's last stream, and this end's next.
    seen: u32,
    next: u32,
    /// The last stream this end takes, and the peer.
    leaves: Option<u32>,
    left: Option<u32>,
    resets: [u32; RESETS],
    resets_at: usize,
    cancelled: u32,
    /// Frames in this second that moved nothing.
    control: u32,
    second: u32,
}

impl<T: Default> Connection<T> {
    /// Begins a connection: sends this end's settings.
    pub fn new(role: Role, announced: &Announced) -> Self {
        let mut out = Output::default();
        let mut settings = vec![(setting::INITIAL_WINDOW_SIZE, announced.window)];
        settings.push((setting::MAX_HEADER_LIST_SIZE, limits::HEADER_LIST));
        match role {
            Role::Client => {
                out.push(frame::PREFACE);
                settings.push((setting::ENABLE_PUSH, 0));
            }
            Role::Server => settings.push((setting::MAX_CONCURRENT_STREAMS, announced.streams)),
        }
        let connects = role == Role::Server && announced.connect;
        if connects {
            settings.push((setting::ENABLE_CONNECT_PROTOCOL, 1));
        }
        let mut bytes = Vec::new();
        for (id, value) in &settings {
            bytes.extend_from_slice(&id.to_be_bytes());
            bytes.extend_from_slice(&value.to_be_bytes());
        }
        out.push(&head(frame::SETTINGS, 0, 0, bytes.len()));
        out.push(&bytes);
        let more = i64::from(announced.connection_window) - WINDOW;
        if more > 0 {
            out.push(&head(frame::WINDOW_UPDATE, 0, 0, 4));
            out.push(&(more as u32).to_be_bytes());
        }
        let mut own = Head::default();
        if connects {
            own.take_protocol();
        }
        Self {
            role,
            announced: *announced,
            decoder: Decoder::new(limits::TABLE),
            encoder: Encoder::new(limits::TABLE),
            streams: Streams::default(),
            ready: VecDeque::new(),
            drained: VecDeque::new(),
            out,
            asked: 0,
            partial: Vec::new(),
            reading: None,
            block: Vec::new(),
            block_stream: 0,
            block_end: false,
            block_frames: 0,
            head: own,
            peer: Peer {
                window: WINDOW,
                frame: limits::FRAME,
                streams: u32::MAX,
                list: u32::MAX,
                connect: false,
            },
            send: WINDOW,
            receive: WINDOW + more.max(0),
            withholds: false,
            preface: if role == Role::Server { frame::PREFACE.len() } else { 0 },
            settled: false,
            failed: false,
            seen: 0,
            next: if role == Role::Client { 1 } else { 2 },
            leaves: None,
            left: None,
            resets: [0; RESETS],
            resets_at: 0,
            cancelled: 0,
            control: 0,
            second: 0,
        }
    }

    /// Reads on in `input` until there is an event; `None` once all of it is used up. `second` counts seconds, to
    /// detect floods. After an error the connection reads nothing more, and its peer was informed.
    #[inline]
    pub fn read<'a>(&mut self, second: u32, input: &mut &'a [u8]) -> Result<Option<Event<'a, T>>, Fault> {
        if second != self.second {
            (self.second, self.control) = (second, 0);
        }
        if self.failed {
            *input = &[];
            return Ok(None);
        }
        self.step(input).inspect_err(|fault| {
            self.failed = true;
            *input = &[];
            self.go_away(fault.code);
        })
    }

    fn step<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Event<'a, T>>, Fault> {
        if self.preface > 0 {
            self.read_preface(input)?;
        }
        while !input.is_empty() || self.reading.is_some_and(|reading| reading.left == 0) {
            if let Some(reading) = self.reading {
                if let Some(event) = self.read_data(reading, input)? {
                    return Ok(Some(event));
                }
                continue;
            }
            let direct = self.partial.is_empty();
            let head = if let (true, Some(bytes)) = (direct, input.first_chunk()) {
                FrameHead::read(bytes)
            } else {
                self.gather(HEAD, input);
                let Some(bytes) = self.partial.first_chunk() else { return Ok(None) };
                FrameHead::read(bytes)
            };
            self.check(head)?;
            let whole = HEAD + head.len as usize;
            if head.kind == frame::DATA {
                if direct && self.partial.is_empty() {
                    *input = &input[HEAD..];
                } else {
                    self.partial.clear();
                }
                if let Some(event) = self.begin_data(head)? {
                    return Ok(Some(event));
                }
                continue;
            }
            let event = if self.partial.is_empty() && input.len() >= whole {
                let (bytes, rest) = input.split_at(whole);
                *input = rest;
                self.frame(head, &bytes[HEAD..])?
            } else {
                self.gather(whole, input);
                if self.partial.len() < whole {
                    return Ok(None);
                }
                let mut bytes = std::mem::take(&mut self.partial);
                let event = self.frame(head, &bytes[HEAD..]);
                if bytes.capacity() <= KEPT {
                    bytes.clear();
                    self.partial = bytes;
                }
                event?
            };
            if event.is_some() {
                return Ok(event);
            }
        }
        Ok(None)
    }

    /// Keeps input until there are `whole` bytes.
    fn gather(&mut self, whole: usize, input: &mut &[u8]) {
        let (now, rest) = input.split_at((whole - self.partial.len().min(whole)).min(input.len()));
        self.partial.extend_from_slice(now);
        *input = rest;
    }

    fn read_preface(&mut self, input: &mut &[u8]) -> Result<(), Fault> {
        let len = self.preface.min(input.len());
        let from = frame::PREFACE.len() - self.preface;
        if input[..len] != frame::PREFACE[from..from + len] {
            return Err(Fault::protocol(Fault::NO_PREFACE));
        }
        self.preface -= len;
        *input = &input[len..];
        Ok(())
    }

    /// Checks of a frame's head alone.
    #[inline]
    fn check(&self, head: FrameHead) -> Result<(), Fault> {
        if !self.settled && (head.kind != frame::SETTINGS || head.has(frame::ACK)) {
            return Err(Fault::protocol(Fault::NO_SETTINGS));
        }
        if head.len > limits::FRAME {
            return Err(Fault::size("a frame above SETTINGS_MAX_FRAME_SIZE"));
        }
        if self.block_stream != 0 && (head.kind != frame::CONTINUATION || head.stream != self.block_stream) {
            return Err(Fault::protocol("another frame inside a header block"));
        }
        Ok(())
    }

    /// A frame that moves no request.
    fn control(&mut self) -> Result<(), Fault> {
        self.control += 1;
        if self.control > limits::CONTROL_PER_SECOND {
            return Err(Fault::flood("a flood of frames that move no request"));
        }
        if self.out.frames() > limits::UNREAD {
            return Err(Fault::flood("a flood of frames whose replies are not read"));
        }
        Ok(())
    }

    fn begin_data(&mut self, head: FrameHead) -> Result<Option<Event<'static, T>>, Fault> {
        let FrameHead { len, stream: id, .. } = head;
        if self.is_idle(id) {
            return Err(Fault::protocol("DATA on a stream that was not opened"));
        }
        self.receive -= i64::from(len);
        if self.receive < 0 {
            return Err(Fault::flow("more DATA than the connection's window"));
        }
        if len == 0 && !head.has(frame::END_STREAM) {
            self.control()?;
        }
        let padded = head.has(frame::PADDED);
        if padded && len == 0 {
            return Err(Fault::size("a padded frame without a length of its padding"));
        }
        let mut reading = Reading {
            stream: id,
            left: len,
            padding: 0,
            padding_follows: padded,
            end: head.has(frame::END_STREAM),
            known: false,
        };
        let mut broken = None;
        let was_reset = self.was_reset(id);
        match self.streams.get_mut(id) {
            None if was_reset => {}
            None => {
                self.control()?;
                self.write_reset(id, Code::STREAM_CLOSED);
            }
            Some(stream) if stream.remote_ended => {
                broken = Some((Code::STREAM_CLOSED, "DATA after the end of a message"))
            }
            Some(stream) if !stream.headed => broken = Some((Code::PROTOCOL_ERROR, "DATA before a head")),
            Some(stream) => {
                stream.receive -= i64::from(len);
                if stream.receive < 0 {
                    return Err(Fault::flow("more DATA than a stream's window"));
                }
                reading.known = true;
            }
        }
        self.reading = Some(reading);
        let broken = broken.and_then(|(code, why)| self.break_off(id, code, why));
        Ok(broken)
    }

    /// Reads on in a DATA frame.
    #[inline]
    fn read_data<'a>(
        &mut self,
        mut reading: Reading,
        input: &mut &'a [u8],
    ) -> Result<Option<Event<'a, T>>, Fault> {
        if reading.padding_follows {
            let Some((padding, rest)) = input.split_first() else { return Ok(None) };
            *input = rest;
            (reading.padding_follows, reading.left, reading.padding) =
                (false, reading.left - 1, u32::from(*padding));
            if reading.padding > reading.left {
                return Err(Fault::protocol("padding longer than its frame"));
            }
        }
        let len = ((reading.left - reading.padding) as usize).min(input.len());
        let (bytes, rest) = input.split_at(len);
        *input = rest;
        reading.left -= len as u32;
        let at_end = reading.left == reading.padding;
        let ends = at_end && reading.end;
        let known = reading.known && (len > 0 || ends);
        if at_end {
            let skipped = (reading.left as usize).min(input.len());
            *input = &input[skipped..];
            (reading.left, reading.padding) =
                (reading.left - skipped as u32, reading.padding - skipped as u32);
            reading.known = false;
        }
        let done = reading.left == 0;
        self.reading = (!done).then_some(reading);
        let id = reading.stream;
        if done && !self.withholds {
            self.grant();
        }
        if !known {
            return Ok(None);
        }
        let Some(stream) = self.streams.get_mut(id) else { return Ok(None) };
        stream.got += len as u64;
        stream.remote_ended = ends;
        let wrong =
            stream.length != UNSAID && (stream.got > stream.length || ends && stream.got != stream.length);
        if wrong {
            if let Some(reading) = &mut self.reading {
                reading.known = false;
            }
            return Ok(self.break_off(
                id,
                Code::PROTOCOL_ERROR,
                "a body that is not as long as its content-length",
            ));
        }
        if done && !ends && !self.withholds {
            self.grant_stream(id);
        }
        Ok(Some(Event::Data { stream: id, bytes, end: ends }))
    }

    /// Lets the peer send more on all streams together, if it may send little.
    fn grant(&mut self) {
        if self.receive < i64::from(self.announced.connection_window) / 2 {
            let more = i64::from(self.announced.connection_window).max(WINDOW) - self.receive;
            self.receive += more;
            self.write(frame::WINDOW_UPDATE, 0, 0, &(more as u32).to_be_bytes());
        }
    }

    /// The same on one stream.
    fn grant_stream(&mut self, id: u32) {
        let window = i64::from(self.announced.window);
        let Some(stream) = self.streams.get_mut(id).filter(|stream| stream.receive < window / 2) else {
            return;
        };
        let more = window - stream.receive;
        stream.receive += more;
        self.write(frame::WINDOW_UPDATE, 0, id, &(more as u32).to_be_bytes());
    }

    /// Stops letting the peer of a connection with one stream send more than its windows allow already, or resumes. Frames
    /// without data are read all the same: among them are those that open the windows of this end.
    pub fn withhold(&mut self, id: u32, on: bool) {
        if std::mem::replace(&mut self.withholds, on) && !on {
            self.grant();
            if self.streams.get(id).is_some_and(|stream| !stream.remote_ended) {
                self.grant_stream(id);
            }
        }
    }

    /// A whole frame that is not DATA.
    fn frame(&mut self, head: FrameHead, payload: &[u8]) -> Result<Option<Event<'static, T>>, Fault> {
        let id = head.stream;
        match head.kind {
            frame::HEADERS => self.headers(head, payload),
            frame::CONTINUATION => self.continuation(head, payload),
            frame::PRIORITY => self.priority(id, payload),
            frame::RST_STREAM => self.reset_stream(id, payload),
            frame::SETTINGS => self.settings(head, payload),
            frame::PUSH_PROMISE => Err(Fault::protocol("PUSH_PROMISE, which was refused")),
            frame::PING => {
                if id != 0 {
                    return Err(Fault::protocol("PING on a stream"));
                }
                if payload.len() != 8 {
                    return Err(Fault::size("PING of a wrong length"));
                }
                self.control()?;
                if !head.has(frame::ACK) {
                    self.write(frame::PING, frame::ACK, 0, payload);
                }
                Ok(None)
            }
            frame::GOAWAY => {
                if id != 0 {
                    return Err(Fault::protocol("GOAWAY on a stream"));
                }
                if payload.len() < 8 {
                    return Err(Fault::size("GOAWAY of a wrong length"));
                }
                self.control()?;
                let last = frame::number(payload);
                self.left = Some(self.left.unwrap_or(last).min(last));
                Ok(Some(Event::GoAway { last, code: Code(frame::word(&payload[4..])) }))
            }
            frame::WINDOW_UPDATE => self.window_update(id, payload),
            _ => self.control().map(|()| None),
        }
    }

    fn headers(&mut self, head: FrameHead, payload: &[u8]) -> Result<Option<Event<'static, T>>, Fault> {
        let id = head.stream;
        if id == 0 {
            return Err(Fault::protocol("HEADERS without a stream"));
        }
        if self.role == Role::Server && id.is_multiple_of(2) {
            return Err(Fault::protocol("a stream with a number of the other end"));
        }
        if self.role == Role::Client && self.is_idle(id) {
            return Err(Fault::protocol("HEADERS on a stream that was not opened"));
        }
        let mut block = payload;
        if head.has(frame::PADDED) {
            let (padding, rest) =
                block.split_first().ok_or(Fault::size("a padded frame without a length of its padding"))?;
            let len = rest.len().checked_sub(usize::from(*padding));
            block = &rest[..len.ok_or(Fault::protocol("padding longer than its frame"))?];
        }
        let mut depends_on_itself = false;
        if head.has(frame::PRIORITIZED) {
            let (priority, rest) =
                block.split_at_checked(5).ok_or(Fault::size("HEADERS too short for its priority"))?;
            depends_on_itself = frame::number(priority) == id;
            block = rest;
        }
        if depends_on_itself {
            // RFC 7540 section 5.3.1.
            return Err(Fault::protocol("a stream that depends on itself"));
        }
        let end = head.has(frame::END_STREAM);
        if head.has(frame::END_HEADERS) {
            return self.block(id, end, block);
        }
        self.block.extend_from_slice(block);
        (self.block_stream, self.block_end, self.block_frames) = (id, end, 1);
        Ok(None)
    }

    fn continuation(&mut self, head: FrameHead, payload: &[u8]) -> Result<Option<Event<'static, T>>, Fault> {
        if self.block_stream == 0 {
            return Err(Fault::protocol("CONTINUATION without a header block"));
        }
        self.block_frames += 1;
        if self.block_frames > limits::BLOCK_FRAMES || self.block.len() + payload.len() > limits::BLOCK {
            return Err(Fault::flood("a header block without end"));
        }
        self.block.extend_from_slice(payload);
        if !head.has(frame::END_HEADERS) {
            return Ok(None);
        }
        let block = std::mem::take(&mut self.block);
        let id = std::mem::take(&mut self.block_stream);
        self.block(id, self.block_end, &block)
    }

    /// A header block is whole.
    fn block(&mut self, id: u32, end: bool, block: &[u8]) -> Result<Option<Event<'static, T>>, Fault> {
        let is_client = self.role == Role::Client;
        let known = self.streams.get(id).map(|stream| (stream.remote_ended, stream.headed));
        let is_trailer = known.is_some_and(|(_, headed)| headed);
        self.head.begin(is_client, is_trailer);
        let head = &mut self.head;
        let list =
            self.decoder.decode(block, limits::HEADER_LIST_MOST, |name, value| head.field(name, value));
        let list = list.map_err(|why| match why {
            "a header list that is too large" => Fault::flood(why),
            why => Fault::compression(why),
        })?;
        let is_too_large = list > limits::HEADER_LIST;
        let wrong = if is_too_large { None } else { self.head.wrong() };
        let Some((remote_ended, _)) = known else {
            return match self.role {
                Role::Server => self.request(id, end, is_too_large, wrong),
                // Of a stream that is gone.
                Role::Client => self.control().map(|()| None),
            };
        };
        if remote_ended {
            return Ok(self.break_off(id, Code::STREAM_CLOSED, "HEADERS after the end of a message"));
        }
        let informs = is_client && !is_trailer && (100..200).contains(&self.head.status);
        let wrong = match wrong {
            _ if is_too_large => Some("a header list that is too large"),
            None if is_trailer && !end => Some("trailers that do not end their message"),
            None if informs && end => Some("a response that ends with a status of 1xx"),
            wrong => wrong,
        };
        if let Some(why) = wrong {
            return Ok(self.break_off(id, Code::PROTOCOL_ERROR, why));
        }
        if informs {
            self.control()?;
            return Ok(Some(Event::Head { stream: id, end }));
        }
        self.control = 0;
        let (status, length) = (self.head.status, self.head.length);
        let Some(stream) = self.streams.get_mut(id) else { return Ok(None) };
        stream.remote_ended = end;
        if !is_trailer {
            stream.headed = true;
            let bodiless = stream.bodiless || matches!(status, 204 | 304);
            stream.length = length.filter(|_| !bodiless).unwrap_or(UNSAID);
        }
        if end && stream.length != UNSAID && stream.got != stream.length {
            let why = "a body that is not as long as its content-length";
            return Ok(self.break_off(id, Code::PROTOCOL_ERROR, why));
        }
        Ok(Some(if is_trailer { Event::Trailers { stream: id } } else { Event::Head { stream: id, end } }))
    }

    /// A request.
    fn request(
        &mut self,
        id: u32,
        end: bool,
        is_too_large: bool,
        wrong: Option<&'static str>,
    ) -> Result<Option<Event<'static, T>>, Fault> {
        if id <= self.seen {
            return match self.was_reset(id) {
                true => self.control().map(|()| None),
                false => Err(Fault::closed("HEADERS on a stream that is closed")),
            };
        }
        if self.leaves.is_some() {
            // Its sender learns from GOAWAY that nobody looked at it.
            return self.control().map(|()| None);
        }
        self.seen = id;
        if self.streams.len() >= self.announced.streams as usize {
            self.control()?;
            self.write_reset(id, Code::REFUSED_STREAM);
            return Ok(Some(Event::Refused));
        }
        let length = self.head.length.unwrap_or(UNSAID);
        let why = wrong.or((end && length != UNSAID && length > 0)
            .then_some("a body that is not as long as its content-length"));
        if let Some(why) = why {
            self.control()?;
            self.write_reset(id, Code::PROTOCOL_ERROR);
            return Ok(Some(Event::Broken { why, data: T::default() }));
        }
        self.control = 0;
        self.head.is_too_large = is_too_large;
        let stream = Stream { length, remote_ended: end, headed: true, ..self.stream(T::default()) };
        self.streams.insert(id, stream);
        Ok(Some(Event::Head { stream: id, end }))
    }

    fn stream(&self, data: T) -> Stream<T> {
        Stream {
            send: self.peer.window,
            receive: i64::from(self.announced.window),
            body: None,
            more: false,
            copy: Vec::new(),
            length: UNSAID,
            got: 0,
            tag: 0,
            remote_ended: false,
            local_ended: false,
            headed: false,
            bodiless: false,
            queued: false,
            data,
        }
    }

    fn priority(&mut self, id: u32, payload: &[u8]) -> Result<Option<Event<'static, T>>, Fault> {
        if id == 0 {
            return Err(Fault::protocol("PRIORITY without a stream"));
        }
        if payload.len() != 5 {
            return Err(Fault::size("PRIORITY of a wrong length"));
        }
        if frame::number(payload) == id {
            return Err(Fault::protocol("a stream that depends on itself"));
        }
        self.control().map(|()| None)
    }

    fn reset_stream(&mut self, id: u32, payload: &[u8]) -> Result<Option<Event<'static, T>>, Fault> {
        if payload.len() != 4 {
            return Err(Fault::size("RST_STREAM of a wrong length"));
        }
        if self.is_idle(id) {
            return Err(Fault::protocol("RST_STREAM on a stream that was not opened"));
        }
        let Some(stream) = self.streams.remove(id) else { return self.control().map(|()| None) };
        if self.role == Role::Server {
            self.cancelled += 1;
            if self.cancelled > limits::CANCELLED && self.cancelled > self.seen / 4 {
                return Err(Fault::flood("a flood of requests that are cancelled at once"));
            }
        }
        Ok(Some(Event::Reset { code: Code(frame::word(payload)), data: stream.data }))
    }

    fn settings(&mut self, head: FrameHead, payload: &[u8]) -> Result<Option<Event<'static, T>>, Fault> {
        if head.stream != 0 {
            return Err(Fault::protocol("SETTINGS on a stream"));
        }
        if head.has(frame::ACK) {
            if !payload.is_empty() {
                return Err(Fault::size("an acknowledgement of SETTINGS with settings"));
            }
            return self.control().map(|()| None);
        }
        if !payload.len().is_multiple_of(6) {
            return Err(Fault::size("SETTINGS of a wrong length"));
        }
        self.control()?;
        self.settled = true;
        let before = self.peer.window;
        for entry in payload.chunks_exact(6) {
            let (id, value) = (u16::from_be_bytes([entry[0], entry[1]]), frame::word(&entry[2..]));
            match id {
                setting::HEADER_TABLE_SIZE => self.encoder.set_most(value),
                setting::ENABLE_PUSH if value > 1 || value == 1 && self.role == Role::Client => {
                    return Err(Fault::protocol("a value of ENABLE_PUSH that may not be"));
                }
                setting::MAX_CONCURRENT_STREAMS => self.peer.streams = value,
                setting::INITIAL_WINDOW_SIZE if i64::from(value) > WINDOW_MOST => {
                    return Err(Fault::flow("a window of 2^31 or more"));
                }
                setting::INITIAL_WINDOW_SIZE => self.peer.window = i64::from(value),
                setting::MAX_FRAME_SIZE if !(limits::FRAME..1 << 24).contains(&value) => {
                    return Err(Fault::protocol("a value of MAX_FRAME_SIZE that may not be"));
                }
                setting::MAX_FRAME_SIZE => self.peer.frame = value,
                setting::MAX_HEADER_LIST_SIZE => self.peer.list = value,
                // RFC 8441 section 3.
                setting::ENABLE_CONNECT_PROTOCOL if value > 1 || value == 0 && self.peer.connect => {
                    return Err(Fault::protocol("a value of ENABLE_CONNECT_PROTOCOL that may not be"));
                }
                setting::ENABLE_CONNECT_PROTOCOL => self.peer.connect = value == 1,
                _ => {}
            }
        }
        let change = self.peer.window - before;
        if change != 0 {
            let mut open = Vec::new();
            for (id, stream) in self.streams.iter_mut() {
                stream.send += change;
                if stream.send > WINDOW_MOST {
                    return Err(Fault::flow("a window of 2^31 or more"));
                }
                if stream.send > 0 && stream.body.is_some() && !stream.queued {
                    stream.queued = true;
                    open.push(id);
                }
            }
            open.sort_unstable();
            self.ready.extend(open);
        }
        self.write(frame::SETTINGS, frame::ACK, 0, &[]);
        Ok(Some(Event::Room))
    }

    fn window_update(&mut self, id: u32, payload: &[u8]) -> Result<Option<Event<'static, T>>, Fault> {
        if payload.len() != 4 {
            return Err(Fault::size("WINDOW_UPDATE of a wrong length"));
        }
        let more = i64::from(frame::number(payload));
        self.control()?;
        if id == 0 {
            if more == 0 {
                return Err(Fault::protocol("WINDOW_UPDATE by nothing"));
            }
            self.send += more;
            if self.send > WINDOW_MOST {
                return Err(Fault::flow("a window of 2^31 or more"));
            }
            return Ok(Some(Event::Room));
        }
        if self.is_idle(id) {
            return Err(Fault::protocol("WINDOW_UPDATE on a stream that was not opened"));
        }
        let Some(stream) = self.streams.get_mut(id) else { return Ok(None) };
        stream.send += more;
        if more == 0 {
            return Ok(self.break_off(id, Code::PROTOCOL_ERROR, "WINDOW_UPDATE by nothing"));
        }
        if stream.send > WINDOW_MOST {
            return Ok(self.break_off(id, Code::FLOW_CONTROL_ERROR, "a window of 2^31 or more"));
        }
        if stream.send > 0 && stream.body.is_some() && !stream.queued {
            stream.queued = true;
            self.ready.push_back(id);
        }
        Ok(Some(Event::Room))
    }

    /// Whether the stream has not been opened yet.
    fn is_idle(&self, id: u32) -> bool {
        let is_mine = id.is_multiple_of(2) != (self.role == Role::Client);
        id == 0 || if is_mine { id >= self.next } else { id > self.seen }
    }

    fn was_reset(&self, id: u32) -> bool {
        self.resets.contains(&id)
    }

    /// Ends a stream because of what its peer did.
    #[cold]
    fn break_off(&mut self, id: u32, code: Code, why: &'static str) -> Option<Event<'static, T>> {
        let data = self.reset(id, code)?;
        Some(Event::Broken { why, data })
    }

    /// Resets a stream; returns what was kept for it.
    pub fn reset(&mut self, id: u32, code: Code) -> Option<T> {
        let stream = self.streams.remove(id)?;
        self.write_reset(id, code);
        Some(stream.data)
    }

    fn write_reset(&mut self, id: u32, code: Code) {
        self.write(frame::RST_STREAM, 0, id, &code.0.to_be_bytes());
        self.resets[self.resets_at] = id;
        self.resets_at = (self.resets_at + 1) % RESETS;
    }

    #[inline]
    fn write(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        self.out.push(&head(kind, flags, stream, payload.len()));
        self.out.push(payload);
    }

    /// Keeps the values of fields of these names, in lower case: [`Head::value`].
    pub fn keep(&mut self, names: &'static [&'static str]) {
        self.head.keep(names);
    }

    /// The head that was read last.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The table for the fields of the next head; its block goes to [`Connection::send_head`] before any other is made.
    pub fn encoder(&mut self) -> &mut Encoder {
        &mut self.encoder
    }

    /// Whether one more request may be opened now. Until the server has announced its limit, the limit is one.
    #[inline]
    pub fn may_open(&self) -> bool {
        let most = if self.settled { self.peer.streams } else { 1 };
        !self.failed && self.left.is_none() && self.next < 1 << 31 && self.streams.len() < most as usize
    }

    /// Opens a stream; returns its number. `bodiless` is a request whose response has no body regardless of its head
    /// (HEAD).
    #[inline]
    pub fn open(&mut self, data: T, bodiless: bool) -> u32 {
        let id = self.next;
        self.next += 2;
        let stream = Stream { bodiless, ..self.stream(data) };
        self.streams.insert(id, stream);
        id
    }

    /// Sends a head: a header block made with [`Connection::encoder`]. With `end` nothing follows, and `tag`, if not 0,
    /// is reported once it is acknowledged.
    pub fn send_head(&mut self, id: u32, block: &[u8], end: bool, tag: u8) {
        let most = self.peer.frame.min(limits::FRAME) as usize;
        let (first, mut rest) = block.split_at(block.len().min(most));
        let flags =
            if end { frame::END_STREAM } else { 0 } | if rest.is_empty() { frame::END_HEADERS } else { 0 };
        self.write(frame::HEADERS, flags, id, first);
        while !rest.is_empty() {
            let (next, later) = rest.split_at(rest.len().min(most));
            let flags = if later.is_empty() { frame::END_HEADERS } else { 0 };
            self.write(frame::CONTINUATION, flags, id, next);
            rest = later;
        }
        if end {
            self.out.mark(tag);
            self.ended(id);
        }
    }

    /// Sends a body of `len` bytes after a head, as far as windows allow, and the rest later ([`Connection::flush`]).
    /// `tag`, if not 0, is reported once all of it is acknowledged.
    pub fn send_body(&mut self, id: u32, body: Body, len: u64, tag: u8) {
        if let Some(stream) = self.streams.get_mut(id) {
            stream.body = Some((body, 0, len));
            (stream.tag, stream.queued, stream.more) = (tag, true, false);
            self.ready.push_back(id);
        }
    }

    /// Sends a part of a body likewise, after which more follows: once it is on its way, [`Connection::drained`] returns the stream.
    pub fn send_part(&mut self, id: u32, body: Body, len: u64) {
        if let Some(stream) = self.streams.get_mut(id) {
            stream.body = Some((body, 0, len));
            (stream.tag, stream.queued, stream.more) = (0, true, true);
            self.ready.push_back(id);
        }
    }

    /// The same with bytes that are kept until they are on their way.
    pub fn send_copy(&mut self, id: u32, bytes: Vec<u8>) {
        let len = bytes.len() as u64;
        if let Some(stream) = self.streams.get_mut(id) {
            stream.copy = bytes;
        }
        self.send_part(id, Body { source: 0, number: 0 }, len);
    }

    /// Sends a body likewise, with bytes that are kept until they are on their way: nothing follows it. Without bytes nothing is sent.
    pub fn send_last_copy(&mut self, id: u32, bytes: Vec<u8>, tag: u8) {
        let len = bytes.len() as u64;
        if let Some(stream) = self.streams.get_mut(id).filter(|_| len > 0) {
            stream.copy = bytes;
            self.send_body(id, Body { source: 0, number: 0 }, len, tag);
        }
    }

    /// Ends a message whose parts are all on their way.
    pub fn send_end(&mut self, id: u32, tag: u8) {
        if self.streams.get(id).is_some_and(|stream| !stream.local_ended) {
            self.write(frame::DATA, frame::END_STREAM, id, &[]);
            self.out.mark(tag);
            self.ended(id);
        }
    }

    /// A stream whose part is on its way, and that waits for what follows. Each is returned once.
    #[inline]
    pub fn drained(&mut self) -> Option<u32> {
        self.drained.pop_front()
    }

    /// This end of a stream is done.
    fn ended(&mut self, id: u32) {
        if let Some(stream) = self.streams.get_mut(id) {
            stream.local_ended = true;
            if stream.remote_ended {
                self.streams.remove(id);
            }
        }
    }

    /// Sends what windows and limits allow of bodies, in turn.
    pub fn flush(&mut self) {
        while let Some(id) = self.ready.front().copied() {
            if self.send <= 0 || self.is_full() {
                return;
            }
            self.ready.pop_front();
            let Some(stream) = self.streams.get_mut(id) else { continue };
            let Some((body, from, left)) = stream.body.filter(|_| stream.send > 0) else {
                stream.queued = false;
                continue;
            };
            let most = self.send.min(stream.send).min(i64::from(self.peer.frame.min(limits::FRAME)));
            let len = left.min(most as u64);
            let is_whole = len == left;
            let ends = is_whole && !stream.more;
            stream.send -= len as i64;
            self.send -= len as i64;
            self.control = 0;
            let flags = if ends { frame::END_STREAM } else { 0 };
            self.out.push(&head(frame::DATA, flags, id, len as usize));
            if stream.copy.is_empty() {
                self.out.push_body(body, from, len as u32);
            } else {
                self.out.push(&stream.copy[from as usize..(from + len) as usize]);
            }
            if ends {
                stream.body = None;
                stream.copy = Vec::new();
                stream.queued = false;
                let tag = stream.tag;
                self.out.mark(tag);
                self.ended(id);
            } else if is_whole {
                stream.body = None;
                stream.copy = Vec::new();
                stream.queued = false;
                self.drained.push_back(id);
            } else {
                stream.body = Some((body, from + len, left - len));
                self.ready.push_back(id);
            }
        }
    }

    /// Takes a stream whose message has ended; if this end has more to send, it is reset.
    pub fn take(&mut self, id: u32) -> Option<T> {
        let stream = self.streams.remove(id)?;
        if !stream.local_ended {
            self.write_reset(id, Code::CANCEL);
        }
        self.rest();
        Some(stream.data)
    }

    /// Forgets the streams above `last`, which the peer has not processed; returns what was kept for them, in order.
    pub fn forget_above(&mut self, last: u32) -> Vec<T> {
        let mut above: Vec<u32> = self.streams.iter().map(|(id, _)| id).filter(|id| *id > last).collect();
        above.sort_unstable();
        above.into_iter().filter_map(|id| self.streams.remove(id)).map(|stream| stream.data).collect()
    }

    /// User's data of a stream.
    #[inline]
    pub fn data(&mut self, id: u32) -> Option<&mut T> {
        self.streams.get_mut(id).map(|stream| &mut stream.data)
    }

    /// Numbers and data of the open streams, in no order.
    pub fn open_streams(&self) -> impl Iterator<Item = (u32, &T)> {
        self.streams.iter().map(|(id, stream)| (id, &stream.data))
    }

    /// Streams that are open.
    #[inline]
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Says that no more streams are taken, and why.
    pub fn go_away(&mut self, code: Code) {
        if self.leaves.is_some() && code == Code::NO_ERROR {
            return;
        }
        self.leaves = Some(self.seen);
        let mut payload = [0; 8];
        payload[..4].copy_from_slice(&self.seen.to_be_bytes());
        payload[4..].copy_from_slice(&code.0.to_be_bytes());
        self.write(frame::GOAWAY, 0, 0, &payload);
    }

    /// Whether this end has announced that it accepts no more streams.
    pub fn is_leaving(&self) -> bool {
        self.leaves.is_some()
    }

    /// The last stream that the peer accepts, if it has announced that it accepts no more.
    pub fn left(&self) -> Option<u32> {
        self.left
    }

    /// Whether the peer's settings have come.
    pub fn is_settled(&self) -> bool {
        self.settled
    }

    /// Maximum number of concurrent requests that the peer accepts, if announced.
    pub fn peer_streams(&self) -> Option<u32> {
        (self.peer.streams != u32::MAX).then_some(self.peer.streams)
    }

    /// Whether the peer takes extended CONNECT (RFC 8441 section 3).
    pub fn peer_connects(&self) -> bool {
        self.peer.connect
    }

    /// Size of a header list that the peer takes (RFC 7541 section 4.1).
    pub fn peer_list(&self) -> u32 {
        self.peer.list
    }

    /// Whether the bytes in flight are at the limit for unsolicited frames.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.out.frames() >= limits::AHEAD || self.out.pieces() >= limits::PIECES
    }

    /// Whether so much is on its way that nothing more should be read.
    #[inline]
    pub fn is_held(&self) -> bool {
        self.out.frames() >= limits::HELD
    }

    /// Bytes to send that were not passed on yet.
    #[inline]
    pub fn asked(&mut self) -> u64 {
        let end = self.out.end();
        end - std::mem::replace(&mut self.asked, end)
    }

    /// All bytes sent before `offset` were acknowledged; hands out the tags of what is.
    #[inline]
    pub fn acknowledged(&mut self, offset: u64, tell: impl FnMut(u8)) {
        self.out.acknowledged(offset, tell);
        self.rest();
    }

    /// Gives memory back that an idle connection does not need.
    fn rest(&mut self) {
        if self.streams.is_empty() && self.out.pieces() == 0 && self.out.held() > IDLE {
            (self.ready, self.drained) = (VecDeque::new(), VecDeque::new());
            self.streams.rest();
            self.out.rest();
        }
    }

    /// Whether everything sent was acknowledged.
    pub fn is_delivered(&self) -> bool {
        self.out.pieces() == 0
    }

    /// Writes the bytes from `offset` on, counted from the connection's first; bytes of bodies are fetched, with their
    /// position in the body. The same on every call, until they are acknowledged.
    #[inline]
    pub fn fill(&self, offset: u64, out: &mut [u8], body: impl FnMut(Body, u64, &mut [u8])) {
        self.out.fill(offset, out, body);
    }

    /// Bytes of memory beyond the connection itself: sent and not acknowledged, and all else.
    pub fn held(&self) -> (usize, usize) {
        let streams = self.streams.len() * size_of::<Stream<T>>();
        let input = self.partial.capacity() + self.block.capacity();
        (self.out.held(), self.decoder.held() + streams + input)
    }
}

fn head(kind: u8, flags: u8, stream: u32, len: usize) -> [u8; HEAD] {
    FrameHead { len: len as u32, kind, flags, stream }.write()
}
