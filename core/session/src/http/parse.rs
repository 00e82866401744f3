//! Heads and bodies as they come. Source: RFC 9110, RFC 9112.
//!
//! Bytes without meaning are an error, never a panic. Heads are bounded by [`HEAD_MAX`]; of bodies nothing is kept.

use super::alternative::AltSvc;
use super::plan::Method;
use crate::extra::Extras;
use crate::flow::Flow;

/// Longest head, and longest line within a chunked body.
pub const HEAD_MAX: usize = 16 << 10;
/// Most bytes of the interim responses (1xx) to a request.
pub(crate) const HINTS_MAX: u64 = 64 << 10;

/// Framing of a message: where its body ends (RFC 9112 section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// After this number of bytes.
    Length(u64),
    /// By chunks.
    Chunked,
    /// When the connection is closed.
    UntilClose,
}

/// Content of a response's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseHead {
    /// Status, 100 to 999.
    pub status: u16,
    /// Framing of the body, unless status or request determine it.
    pub framing: Framing,
    /// Whether the server closes after it.
    pub close: bool,
    /// Seconds for which the server keeps an idle connection, if it announces them: `Keep-Alive: timeout=5`.
    pub kept_s: Option<u32>,
    /// Another way to the server that it announces.
    pub alt_svc: Option<AltSvc>,
}

/// Content of a request's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestHead<'a> {
    /// The method; `None` is one unknown here.
    pub method: Option<Method>,
    /// Path and query.
    pub target: &'a [u8],
    /// Framing of the body.
    pub framing: Framing,
    /// Whether the connection is to be closed after it.
    pub close: bool,
    /// Whether it is of HTTP/1.0: chunks mean nothing to its sender, and a connection that stays open must be announced.
    pub is_old: bool,
    /// Whether its sender waits for a 100 before it sends the body (RFC 9110 section 10.1.1).
    pub waits: bool,
}

/// First bytes of every response.
const VERSION_1: &[u8] = b"HTTP/1.";

/// Description of an invalid message.
pub(super) type Wrong = &'static str;

/// Fields about a body and the connection.
#[derive(Default)]
struct Fields {
    length: Option<u64>,
    chunked: bool,
    /// A transfer coding that is not chunked, at the end.
    coded: bool,
    close: bool,
    keep_alive: bool,
    /// Seconds of `Keep-Alive: timeout=…`.
    kept_s: Option<u32>,
    /// Fields with a host.
    hosts: u32,
    /// A 100 is waited for.
    waits: bool,
    alt_svc: Option<AltSvc>,
}

/// Reads a response's head: it and its bytes; `None` if it is not whole, but may become one.
pub fn response_head(data: &[u8]) -> Result<Option<(ResponseHead, usize)>, Wrong> {
    // What can't become one is known by its first bytes, however much there is of it.
    let known = data.len().min(VERSION_1.len());
    if data[..known] != VERSION_1[..known] {
        return Err("not HTTP/1");
    }
    let Some((first, fields, len)) = head(data, true)? else { return Ok(None) };
    let minor = version(first.get(..8).ok_or("the status line is too short")?)?;
    let rest = &first[8..];
    let [b' ', a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', reason @ ..] = rest else {
        return Err("no status in the status line");
    };
    if !matches!(reason.first(), None | Some(b' ')) {
        return Err("no status in the status line");
    }
    let digit = |byte: u8| u16::from(byte - b'0');
    let status = digit(*a) * 100 + digit(*b) * 10 + digit(*c);
    let framing = match (fields.chunked, fields.length) {
        (true, _) => Framing::Chunked,
        (false, _) if fields.coded => Framing::UntilClose,
        (false, Some(length)) => Framing::Length(length),
        (false, None) => Framing::UntilClose,
    };
    let close = fields.close || minor == 0 && !fields.keep_alive;
    let head = ResponseHead { status, framing, close, kept_s: fields.kept_s, alt_svc: fields.alt_svc };
    Ok(Some((head, len)))
}

/// Reads a request's head: it and its bytes; `None` if it is not whole.
pub fn request_head(data: &[u8]) -> Result<Option<(RequestHead<'_>, usize)>, Wrong> {
    // Empty lines before a request are passed over (RFC 9112 section 2.2).
    let blank = data.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let Some((first, fields, len)) = head(&data[blank..], false)? else { return Ok(None) };
    let mut parts = first.split(|byte| *byte == b' ');
    let (Some(method), Some(target), Some(last), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err("no request line");
    };
    let minor = version(last)?;
    if method.is_empty() || !method.iter().copied().all(is_token) {
        return Err("no method in the request line");
    }
    // RFC 9112 section 3.2.
    if minor > 0 && fields.hosts == 0 {
        return Err("no Host");
    }
    if fields.hosts > 1 {
        return Err("more than one Host");
    }
    if fields.coded && !fields.chunked || fields.chunked && fields.length.is_some() {
        return Err("the end of the body is undefined");
    }
    let framing = if fields.chunked { Framing::Chunked } else { Framing::Length(fields.length.unwrap_or(0)) };
    let close = fields.close || minor == 0 && !fields.keep_alive;
    let (method, target, is_old) = (Method::read(method), path(target)?, minor == 0);
    let waits = fields.waits && !is_old && framing != Framing::Length(0);
    let head = RequestHead { method, target, framing, close, is_old, waits };
    Ok(Some((head, blank + len)))
}

/// The path of a target; of a whole URI what follows its authority.
fn path(target: &[u8]) -> Result<&[u8], Wrong> {
    if target.iter().any(|byte| *byte <= b' ' || *byte == 0x7f) {
        return Err("no path in the request line");
    }
    match target {
        [b'/', ..] | b"*" => Ok(target),
        _ => {
            let rest = target.strip_prefix(b"http://").or_else(|| target.strip_prefix(b"https://"));
            let rest = rest.ok_or("no path in the request line")?;
            let slash = rest.iter().position(|byte| *byte == b'/');
            Ok(slash.map_or(&b"/"[..], |slash| &rest[slash..]))
        }
    }
}

fn version(text: &[u8]) -> Result<u8, Wrong> {
    match text {
        b"HTTP/1.1" => Ok(1),
        b"HTTP/1.0" => Ok(0),
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor @ b'2'..=b'9'] => Ok(minor - b'0'),
        _ => Err("not HTTP/1"),
    }
}

/// Index of the next line feed.
#[inline]
fn line_feed(data: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut at = 0;
    while let Some(chunk) = data.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk) ^ (ONES * b'\n' as u64);
        let zero = word.wrapping_sub(ONES) & !word & HIGH;
        if zero != 0 {
            return Some(at + zero.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    data[at..].iter().position(|byte| *byte == b'\n').map(|index| at + index)
}

/// The line at the beginning of `data` without its end, and the bytes of both.
#[inline]
fn line(data: &[u8]) -> Option<(&[u8], usize)> {
    let end = line_feed(data)?;
    let line = &data[..end];
    Some((line.strip_suffix(b"\r").unwrap_or(line), end + 1))
}

/// The first line of a head, its fields, and its bytes.
type Head<'a> = (&'a [u8], Fields, usize);

/// Reads a head; `None` if it is incomplete. Values continued on the next line are joined, with `folds`; requests with
/// them are refused (RFC 9112 section 5.2).
fn head(data: &[u8], folds: bool) -> Result<Option<Head<'_>>, Wrong> {
    let Some((first, mut at)) = line(data) else { return whole(data) };
    let mut fields = Fields::default();
    loop {
        let Some((text, used)) = line(&data[at..]) else { return whole(data) };
        at += used;
        if text.is_empty() {
            return Ok(Some((first, fields, at)));
        }
        match data.get(at) {
            // Whether it goes on is not known yet.
            None => return whole(data),
            Some(b' ' | b'\t') => {}
            Some(_) => {
                field(text, &mut fields)?;
                continue;
            }
        }
        if !folds {
            return Err("a field continued on the next line");
        }
        let mut whole_field = text.to_vec();
        while matches!(data.get(at), Some(b' ' | b'\t')) {
            let Some((more, used)) = line(&data[at..]) else { return whole(data) };
            at += used;
            whole_field.extend_from_slice(more);
        }
        if at == data.len() {
            return whole(data);
        }
        field(&whole_field, &mut fields)?;
    }
}

/// Names and values of the fields of a whole head. A folded value is cut at its first line.
pub(crate) fn fields(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    head.split(|byte| *byte == b'\n').skip(1).filter_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        Some((&line[..colon], line[colon + 1..].trim_ascii()))
    })
}

/// A head that is not whole: as long as one may be?
fn whole<T>(data: &[u8]) -> Result<Option<T>, Wrong> {
    if data.len() > HEAD_MAX { Err("the head is too long") } else { Ok(None) }
}

fn field(text: &[u8], fields: &mut Fields) -> Result<(), Wrong> {
    let colon = text.iter().position(|byte| *byte == b':').ok_or("a field without a colon")?;
    let (name, value) = (&text[..colon], text[colon + 1..].trim_ascii());
    if name.is_empty() || !name.iter().copied().all(is_token) {
        return Err("no name of a field");
    }
    if value.iter().any(|byte| matches!(byte, 0..=8 | 10..=31 | 127)) {
        return Err("a field with control characters");
    }
    match name.len() {
        4 if name.eq_ignore_ascii_case(b"host") => fields.hosts += 1,
        6 if name.eq_ignore_ascii_case(b"expect") => fields.waits |= has_word(value, b"100-continue"),
        10 if name.eq_ignore_ascii_case(b"connection") => {
            fields.close |= has_word(value, b"close");
            fields.keep_alive |= has_word(value, b"keep-alive");
        }
        7 if name.eq_ignore_ascii_case(b"alt-svc") => {
            fields.alt_svc = fields.alt_svc.or_else(|| AltSvc::read(value))
        }
        10 if name.eq_ignore_ascii_case(b"keep-alive") => fields.kept_s = timeout(value).or(fields.kept_s),
        14 if name.eq_ignore_ascii_case(b"content-length") => {
            for text in value.split(|byte| *byte == b',') {
                let length = number(text.trim_ascii()).ok_or("a bad Content-Length")?;
                if fields.length.is_some_and(|other| other != length) {
                    return Err("different values of Content-Length");
                }
                fields.length = Some(length);
            }
        }
        17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
            let last = value.rsplit(|byte| *byte == b',').next().unwrap_or_default().trim_ascii();
            fields.coded = true;
            fields.chunked = last.eq_ignore_ascii_case(b"chunked");
        }
        _ => {}
    }
    Ok(())
}

fn has_word(list: &[u8], word: &[u8]) -> bool {
    list.split(|byte| *byte == b',').any(|item| item.trim_ascii().eq_ignore_ascii_case(word))
}

/// The seconds of `timeout=` in the value of Keep-Alive (RFC 2068 section 19.7.1.1).
fn timeout(list: &[u8]) -> Option<u32> {
    list.split(|byte| *byte == b',').find_map(|item| {
        let (name, value) = item.trim_ascii().split_at_checked(8)?;
        let is_timeout = name.eq_ignore_ascii_case(b"timeout=");
        number(value.trim_ascii()).filter(|_| is_timeout)?.try_into().ok()
    })
}

/// RFC 9110 section 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// A decimal number below 2^40.
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 13 || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = text.iter().fold(0, |value, byte| value * 10 + u64::from(byte - b'0'));
    (value < 1 << 40).then_some(value)
}

impl Method {
    /// All of them, in order.
    pub const ALL: [Self; 7] =
        [Self::Get, Self::Head, Self::Post, Self::Put, Self::Delete, Self::Options, Self::Patch];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
            Self::Patch => "PATCH",
        }
    }

    /// Whether a request may be sent again although the first may have had its effect (RFC 9110 section 9.2.2).
    pub(crate) const fn is_idempotent(self) -> bool {
        !matches!(self, Self::Post | Self::Patch)
    }

    pub(crate) fn read(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name().as_bytes() == name)
    }
}

/// States of a flow with HTTP/1.1; the states of HTTP/2 follow in `h2`.
pub(crate) mod state {
    pub(crate) const HEAD: u8 = 1;
    /// A body of `left` bytes.
    pub(crate) const LENGTH: u8 = 2;
    pub(crate) const UNTIL_CLOSE: u8 = 3;
    pub(crate) const CHUNK_SIZE: u8 = 4;
    pub(crate) const CHUNK_DATA: u8 = 5;
    pub(crate) const CHUNK_END: u8 = 6;
    pub(crate) const TRAILER: u8 = 7;
    /// A message is whole.
    pub(crate) const COMPLETE: u8 = 8;
    /// A server waits before it responds.
    pub(crate) const DELAY: u8 = 9;
    /// Nothing more.
    pub(crate) const END: u8 = 10;
    /// A client has the beginning of a response that came before its request.
    pub(crate) const EARLY: u8 = 14;
}

/// A step in a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// This number of bytes belongs to the body.
    Data(usize),
    /// This number of bytes does not.
    Around(usize),
    /// More must come.
    More,
}

/// Begins to read a body.
#[inline]
pub(crate) fn begin(extras: &mut Extras, flow: &mut Flow, framing: Framing) {
    flow.state = match framing {
        Framing::Length(0) => state::COMPLETE,
        Framing::Length(left) => {
            extras.set_left(flow, left);
            state::LENGTH
        }
        Framing::Chunked => state::CHUNK_SIZE,
        Framing::UntilClose => state::UNTIL_CLOSE,
    };
}

/// Reads on in a body. When it is whole the flow's state is [`state::COMPLETE`].
#[inline]
pub(crate) fn body(extras: &mut Extras, flow: &mut Flow, data: &[u8]) -> Result<Step, Wrong> {
    match flow.state {
        _ if data.is_empty() => Ok(Step::More),
        state::UNTIL_CLOSE => Ok(Step::Data(data.len())),
        state::LENGTH | state::CHUNK_DATA => {
            let left = extras.left(flow);
            let used = left.min(data.len() as u64);
            extras.set_left(flow, left - used);
            if left == used {
                flow.state = if flow.state == state::LENGTH { state::COMPLETE } else { state::CHUNK_END };
            }
            Ok(Step::Data(used as usize))
        }
        _ => between(extras, flow, data),
    }
}

/// A line of a chunked body.
fn between(extras: &mut Extras, flow: &mut Flow, data: &[u8]) -> Result<Step, Wrong> {
    let Some((text, used)) = line(data) else {
        return if data.len() > HEAD_MAX { Err("a line of a chunk is too long") } else { Ok(Step::More) };
    };
    flow.state = match flow.state {
        state::CHUNK_SIZE => match chunk_size(text).ok_or("no size of a chunk")? {
            0 => {
                extras.set_left(flow, HEAD_MAX as u64);
                state::TRAILER
            }
            size => {
                extras.set_left(flow, size);
                state::CHUNK_DATA
            }
        },
        state::CHUNK_END if text.is_empty() => state::CHUNK_SIZE,
        state::CHUNK_END => return Err("a chunk is longer than its size"),
        _ if text.is_empty() => {
            extras.set_left(flow, 0);
            state::COMPLETE
        }
        _ => {
            field(text, &mut Fields::default())?;
            let left = extras.left(flow).checked_sub(used as u64).ok_or("the trailers are too long")?;
            extras.set_left(flow, left);
            state::TRAILER
        }
    };
    Ok(Step::Around(used))
}

/// A chunk's size, below 2^40; extensions after a semicolon are ignored.
fn chunk_size(text: &[u8]) -> Option<u64> {
    let digits = text.split(|byte| *byte == b';').next()?.trim_ascii();
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    let mut value = 0u64;
    for digit in digits {
        value = value << 4 | u64::from(char::from(*digit).to_digit(16)?);
    }
    (value < 1 << 40).then_some(value)
}

/// Remembers the head read last: one that is the same byte by byte means the same.
#[derive(Debug)]
pub(crate) struct Remembered<T> {
    bytes: Vec<u8>,
    meaning: Option<T>,
}

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self { bytes: Vec::new(), meaning: None }
    }
}

impl<T: Copy> Remembered<T> {
    /// The meaning of a head that `data` begins with, and its bytes.
    #[inline]
    pub(crate) fn find(&self, data: &[u8]) -> Option<(T, usize)> {
        let meaning = self.meaning?;
        data.starts_with(&self.bytes).then_some((meaning, self.bytes.len()))
    }

    /// Whether `data` is an incomplete prefix of it: more must come, whatever that is.
    pub(crate) fn begins_with(&self, data: &[u8]) -> bool {
        self.meaning.is_some() && data.len() < self.bytes.len().min(HEAD_MAX) && self.bytes.starts_with(data)
    }

    pub(crate) fn keep(&mut self, head: &[u8], meaning: T) {
        self.bytes.clear();
        self.bytes.extend_from_slice(head);
        self.meaning = Some(meaning);
    }
}
