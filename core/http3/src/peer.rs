//! The unidirectional streams of the other end: its control stream, and QPACK's (RFC 9114 section 6.2).

use crate::fault::{Code, Fault};
use crate::{frame, limits, varint};
use http2::Role;

/// Types of streams.
mod stream {
    pub(crate) const CONTROL: u64 = 0;
    pub(crate) const PUSH: u64 = 1;
    pub(crate) const ENCODER: u64 = 2;
    pub(crate) const DECODER: u64 = 3;
}

/// Settings (RFC 9114 section 7.2.4.1, RFC 9204 section 5).
mod setting {
    pub(crate) const TABLE_CAPACITY: u64 = 1;
    pub(crate) const FIELD_SECTION: u64 = 6;
    pub(crate) const BLOCKED_STREAMS: u64 = 7;
    /// RFC 9220 section 5.
    pub(crate) const ENABLE_CONNECT_PROTOCOL: u64 = 8;

    /// Whether it is one that HTTP/2 has and HTTP/3 has not.
    pub(crate) fn is_of_http2(id: u64) -> bool {
        matches!(id, 2..=5)
    }
}

/// Announced settings of the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The size of a field section that it takes.
    pub field_section: u64,
    /// Maximum size of its dynamic table; not used here.
    pub table_capacity: u64,
    /// Whether a server takes extended CONNECT (RFC 9220 section 3).
    pub connect: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { field_section: u64::MAX, table_capacity: 0, connect: false }
    }
}

/// Kind of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Its type has not come.
    Unknown,
    Control,
    Encoder,
    Decoder,
}

impl Kind {
    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A stream that is read.
#[derive(Debug)]
struct Stream {
    id: u64,
    kind: Kind,
    /// Incomplete input.
    held: Vec<u8>,
    /// Bytes left to pass over.
    skip: u64,
}

/// Use of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// It is read on.
    Read,
    /// Nobody here knows its type: it is to be stopped, by this code (RFC 9114 section 6.2).
    Stop(Code),
}

/// The other end of a connection, by its unidirectional streams.
#[derive(Debug)]
pub struct Peer {
    role: Role,
    streams: Vec<Stream>,
    /// Kinds of streams there were.
    seen: u8,
    settings: Option<Settings>,
    goaway: Option<u64>,
    /// Frames of GOAWAY.
    goaways: u64,
    max_push: Option<u64>,
}

impl Peer {
    /// For the end that this is.
    pub fn new(role: Role) -> Self {
        Self { role, streams: Vec::new(), seen: 0, settings: None, goaway: None, goaways: 0, max_push: None }
    }

    /// Its announced settings; none before they arrive.
    pub fn settings(&self) -> Option<Settings> {
        self.settings
    }

    /// The first request that it does not process (of a server), if announced; and the number of announcements.
    pub fn goaway(&self) -> (Option<u64>, u64) {
        (self.goaway, self.goaways)
    }

    /// Reads what came on a unidirectional stream of the peer.
    pub fn read(&mut self, id: u64, input: &[u8]) -> Result<Use, Fault> {
        let place = match self.streams.iter().position(|stream| stream.id == id) {
            Some(place) => place,
            None => {
                if self.streams.len() >= limits::UNIDIRECTIONAL as usize {
                    let why = "too many unidirectional streams";
                    return Err(Fault::connection(Code::EXCESSIVE_LOAD, why));
                }
                self.streams.push(Stream { id, kind: Kind::Unknown, held: Vec::new(), skip: 0 });
                self.streams.len() - 1
            }
        };
        let mut held = std::mem::take(&mut self.streams[place].held);
        // What waits is the beginning of a frame or an instruction, and short.
        let all = if held.is_empty() {
            input
        } else {
            held.extend_from_slice(input);
            &held
        };
        let mut rest = all;
        if self.streams[place].kind == Kind::Unknown {
            let Some((kind, used)) = varint::read(all) else {
                self.streams[place].held = all.to_vec();
                return Ok(Use::Read);
            };
            let kind = match kind {
                stream::CONTROL => Kind::Control,
                stream::ENCODER => Kind::Encoder,
                stream::DECODER => Kind::Decoder,
                stream::PUSH if self.role == Role::Client => {
                    return Err(Fault::connection(
                        Code::ID_ERROR,
                        "a pushed response, which was not allowed",
                    ));
                }
                stream::PUSH => {
                    let why = "a stream of a client that pushes a response";
                    return Err(Fault::connection(Code::STREAM_CREATION_ERROR, why));
                }
                _ => {
                    self.streams.remove(place);
                    return Ok(Use::Stop(Code::STREAM_CREATION_ERROR));
                }
            };
            if self.seen & kind.bit() != 0 {
                let why = "a second stream of a type that there is one of";
                return Err(Fault::connection(Code::STREAM_CREATION_ERROR, why));
            }
            self.seen |= kind.bit();
            self.streams[place].kind = kind;
            rest = &all[used..];
        }
        let left = match self.streams[place].kind {
            Kind::Control => self.control(place, rest)?,
            Kind::Encoder => encoder(rest)?,
            Kind::Decoder => decoder(rest)?,
            Kind::Unknown => rest,
        };
        self.streams[place].held = left.to_vec();
        Ok(Use::Read)
    }

    /// Reads frames of the control stream; returns what is not a whole one.
    fn control<'a>(&mut self, place: usize, mut input: &'a [u8]) -> Result<&'a [u8], Fault> {
        loop {
            let skip = self.streams[place].skip.min(input.len() as u64);
            self.streams[place].skip -= skip;
            input = &input[skip as usize..];
            let Some((kind, first)) = varint::read(input) else { return Ok(input) };
            let Some((len, second)) = varint::read(&input[first..]) else { return Ok(input) };
            let is_known =
                matches!(kind, frame::SETTINGS | frame::GOAWAY | frame::CANCEL_PUSH | frame::MAX_PUSH_ID);
            self.check(kind)?;
            if !is_known {
                self.streams[place].skip = len;
                input = &input[first + second..];
                continue;
            }
            if len > limits::CONTROL_FRAME {
                return Err(Fault::connection(
                    Code::EXCESSIVE_LOAD,
                    "a frame of the control stream that is too long",
                ));
            }
            let Some(payload) = input[first + second..].get(..len as usize) else { return Ok(input) };
            match kind {
                frame::SETTINGS => self.settings = Some(settings(payload)?),
                _ => self.number(kind, payload)?,
            }
            input = &input[first + second + len as usize..];
        }
    }

    /// Whether a frame may come now.
    fn check(&self, kind: u64) -> Result<(), Fault> {
        match kind {
            frame::SETTINGS if self.settings.is_some() => Err(Fault::unexpected("SETTINGS twice")),
            frame::SETTINGS => Ok(()),
            _ if self.settings.is_none() => Err(Fault::connection(
                Code::MISSING_SETTINGS,
                "a control stream that does not begin with SETTINGS",
            )),
            frame::DATA | frame::HEADERS | frame::PUSH_PROMISE => {
                Err(Fault::unexpected("a frame that is not for the control stream"))
            }
            frame::MAX_PUSH_ID if self.role == Role::Client => {
                Err(Fault::unexpected("MAX_PUSH_ID from a server"))
            }
            kind if frame::is_of_http2(kind) => {
                Err(Fault::unexpected("a frame of HTTP/2, which HTTP/3 does not have"))
            }
            _ => Ok(()),
        }
    }

    /// A frame that is one number.
    fn number(&mut self, kind: u64, payload: &[u8]) -> Result<(), Fault> {
        let number = varint::read(payload).filter(|(_, used)| *used == payload.len());
        let Some((number, _)) = number else {
            return Err(Fault::frame("a frame whose length is not that of its number"));
        };
        let wrong = |why| Err(Fault::connection(Code::ID_ERROR, why));
        match kind {
            frame::GOAWAY => {
                // A server names a request, a client a pushed response (RFC 9114 section 7.2.6).
                if self.role == Role::Client && number & 3 != 0 {
                    return wrong("GOAWAY with a stream that is no request's");
                }
                if self.goaway.is_some_and(|before| number > before) {
                    return wrong("GOAWAY with a number above the one before");
                }
                (self.goaway, self.goaways) = (Some(number), self.goaways + 1);
                Ok(())
            }
            frame::MAX_PUSH_ID => {
                if self.max_push.is_some_and(|before| number < before) {
                    return wrong("MAX_PUSH_ID below the one before");
                }
                self.max_push = Some(number);
                Ok(())
            }
            // Nothing is ever pushed here.
            _ => wrong("CANCEL_PUSH of a response that was not pushed"),
        }
    }

    /// The peer has finished or reset a unidirectional stream.
    pub fn finish(&mut self, id: u64) -> Result<(), Fault> {
        let Some(place) = self.streams.iter().position(|stream| stream.id == id) else { return Ok(()) };
        let stream = self.streams.remove(place);
        if stream.kind == Kind::Unknown {
            return Ok(());
        }
        Err(Fault::connection(Code::CLOSED_CRITICAL_STREAM, "a stream was closed that the connection needs"))
    }
}

fn settings(mut payload: &[u8]) -> Result<Settings, Fault> {
    let wrong = |why| Err(Fault::connection(Code::SETTINGS_ERROR, why));
    let (mut settings, mut seen) = (Settings::default(), Vec::new());
    while !payload.is_empty() {
        let Some((id, first)) = varint::read(payload) else {
            return Err(Fault::frame("SETTINGS that are cut short"));
        };
        let Some((value, second)) = varint::read(&payload[first..]) else {
            return Err(Fault::frame("SETTINGS that are cut short"));
        };
        payload = &payload[first + second..];
        if setting::is_of_http2(id) {
            return wrong("a setting of HTTP/2, which HTTP/3 does not have");
        }
        if seen.contains(&id) {
            return wrong("a setting twice");
        }
        if seen.len() == limits::SETTINGS {
            return Err(Fault::connection(Code::EXCESSIVE_LOAD, "too many settings"));
        }
        seen.push(id);
        match id {
            setting::FIELD_SECTION => settings.field_section = value,
            setting::TABLE_CAPACITY => settings.table_capacity = value,
            setting::ENABLE_CONNECT_PROTOCOL if value > 1 => {
                return wrong("a value of ENABLE_CONNECT_PROTOCOL that may not be");
            }
            setting::ENABLE_CONNECT_PROTOCOL => settings.connect = value == 1,
            _ => {}
        }
    }
    Ok(settings)
}

/// Instructions of the other end's QPACK encoder: only that there is no table (RFC 9204 section 4.3.1).
fn encoder(input: &[u8]) -> Result<&[u8], Fault> {
    match input.iter().all(|byte| *byte == 0x20) {
        true => Ok(&[]),
        false => {
            let why = "QPACK: an entry for a dynamic table, which there is none of";
            Err(Fault::connection(Code::ENCODER_STREAM_ERROR, why))
        }
    }
}

/// Instructions of the other end's QPACK decoder: only that it gives a stream up (RFC 9204 section 4.4.2). Returns the
/// incomplete rest.
fn decoder(mut input: &[u8]) -> Result<&[u8], Fault> {
    const LONGEST: usize = 11;
    while let Some(first) = input.first() {
        if first & 0xc0 != 0x40 {
            let why = "QPACK: what acknowledges a dynamic table, which there is none of";
            return Err(Fault::connection(Code::DECODER_STREAM_ERROR, why));
        }
        let more = |byte: &&u8| *byte & 0x80 != 0;
        let len = match first & 0x3f {
            0x3f => 2 + input[1..].iter().take_while(more).count(),
            _ => 1,
        };
        if len > LONGEST {
            return Err(Fault::connection(Code::DECODER_STREAM_ERROR, "QPACK: a number that is too large"));
        }
        let Some(rest) = input.get(len..) else { return Ok(input) };
        input = rest;
    }
    Ok(&[])
}

/// First bytes of an end's unidirectional stream: its type, control stream, and the settings. `connect`: a server takes extended
/// CONNECT (RFC 9220 section 3).
pub fn opening(connect: bool) -> Vec<u8> {
    let mut payload = Vec::new();
    let connects = connect.then_some((setting::ENABLE_CONNECT_PROTOCOL, 1));
    let values = [
        (setting::TABLE_CAPACITY, 0),
        (setting::BLOCKED_STREAMS, 0),
        (setting::FIELD_SECTION, u64::from(limits::FIELD_SECTION)),
    ];
    for (id, value) in values.into_iter().chain(connects) {
        varint::write(id, &mut payload);
        varint::write(value, &mut payload);
    }
    let mut out = Vec::new();
    varint::write(stream::CONTROL, &mut out);
    varint::write(frame::SETTINGS, &mut out);
    varint::write(payload.len() as u64, &mut out);
    out.extend(payload);
    out
}

/// Writes GOAWAY on the control stream: no request from `id` on is processed.
pub fn goaway(id: u64, out: &mut Vec<u8>) {
    let mut payload = Vec::new();
    varint::write(id, &mut payload);
    varint::write(frame::GOAWAY, out);
    varint::write(payload.len() as u64, out);
    out.extend(payload);
}
