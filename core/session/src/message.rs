//! Messages: what is sent, made ready so that any byte of it can be written at any time.
//!
//! Invariant: a message's bytes depend on the message and its [`Vars`] alone.

use crate::http::date;
use crate::pattern;
use crate::vary::{By, Content, Part, SelectionOrder, Size, Values};
use std::sync::Arc;

/// Longest number written out, bytes: widths are at most 255.
const NUMBER_MAX: usize = 256;

/// Variables of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Vars {
    /// The session's number.
    pub session: u64,
    /// The request's number.
    pub request: u64,
    /// The request's number among the requests of all sessions, see [`turn`](crate::vary::turn).
    pub turn: u64,
    /// Bytes of the body.
    pub body: u64,
    /// Time of its creation: seconds since 1970-01-01 UTC, if it contains it.
    pub seconds: u64,
}

/// A message, ready to be written.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pieces: Vec<Piece>,
    /// Its length if that is always the same.
    fixed: Option<u64>,
}

/// A piece of a message.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    Bytes(Arc<[u8]>),
    Generated(Size),
    Number(Values, Radix, u8),
    List(Arc<[Arc<[u8]>]>, SelectionOrder, By),
    /// The body's length in decimal digits.
    BodyLength,
    /// A key of WebSocket, of the session, by a seed.
    WebsocketKey(u64),
    /// The instant it is made at, see [`date`](crate::http::date).
    Date,
    /// The body.
    Body,
    /// The body in chunks of this size, with the last one and no trailers.
    Chunks(u32),
    /// A field that pads a head, of which all but the last line's end is given, to this number of bytes.
    Padding {
        head: Box<Message>,
        to: u32,
    },
}

const PADDING_NAME: &[u8] = b"X-Padding: ";

/// Bytes of a field that brings a head of `head` bytes and an empty line to `to`.
fn padding(head: u64, to: u32) -> u64 {
    let room = u64::from(to).saturating_sub(head + 2);
    if room > PADDING_NAME.len() as u64 + 2 { room } else { 0 }
}

/// Notation of a number.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Radix {
    Decimal,
    Hex,
    Binary,
}

/// A number written out.
struct Digits {
    bytes: [u8; NUMBER_MAX],
    len: usize,
}

impl Digits {
    #[inline(never)]
    fn new(value: u64, radix: Radix, width: u8) -> Self {
        let (mut bytes, width) = ([0; NUMBER_MAX], usize::from(width));
        let len = match radix {
            Radix::Decimal => width.max(digits(value) as usize),
            Radix::Hex => width.max(hex_digits(value) as usize),
            Radix::Binary => width.clamp(1, 8),
        };
        let out = &mut bytes[..len];
        match radix {
            Radix::Decimal => put_digits::<10>(value, out),
            Radix::Hex => put_digits::<16>(value, out),
            Radix::Binary => out.copy_from_slice(&value.to_be_bytes()[8 - len..]),
        }
        Self { bytes, len }
    }

    fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Writes a number to the end of `out`, with zeros before it.
#[inline]
fn put_digits<const BASE: u64>(mut value: u64, out: &mut [u8]) {
    for byte in out.iter_mut().rev() {
        *byte = b"0123456789abcdef"[(value % BASE) as usize];
        value /= BASE;
    }
}

/// Decimal digits of a number.
#[inline]
fn digits(value: u64) -> u64 {
    u64::from(value.checked_ilog10().unwrap_or(0)) + 1
}

fn hex_digits(value: u64) -> u64 {
    u64::from(value.checked_ilog2().unwrap_or(0) / 4) + 1
}

impl Message {
    /// Puts pieces together: bytes that follow bytes become one.
    pub(crate) fn new(pieces: impl IntoIterator<Item = Piece>) -> Self {
        let mut joined: Vec<Piece> = Vec::new();
        for piece in pieces {
            match (joined.last_mut(), piece) {
                (Some(Piece::Bytes(before)), Piece::Bytes(bytes)) => {
                    *before = [&before[..], &bytes[..]].concat().into();
                }
                (_, Piece::Bytes(bytes)) if bytes.is_empty() => {}
                (_, piece) => joined.push(piece),
            }
        }
        let mut message = Self { fixed: joined.iter().map(Piece::fixed_len).sum(), pieces: joined };
        message.write_padding();
        message
    }

    /// Writes padding out if it is always the same.
    fn write_padding(&mut self) {
        let fixed = |piece: &Piece| matches!(piece, Piece::Padding { head, .. } if head.fixed.is_some());
        if !self.pieces.iter().any(fixed) {
            return;
        }
        let vars = Vars { session: 0, request: 0, turn: 0, body: 0, seconds: 0 };
        let written = self.pieces.drain(..).map(|piece| {
            if !fixed(&piece) {
                return piece;
            }
            let len = piece.len(&vars);
            let mut bytes = Vec::new();
            if len > 0 {
                piece.slices(&vars, 0, len, &mut |slice| bytes.extend_from_slice(slice));
            }
            Piece::Bytes(bytes.into())
        });
        *self = Self::new(written.collect::<Vec<_>>());
    }

    /// The same for a body that always has `bytes`: its length and its place stand for ever.
    pub(crate) fn with_body(self, bytes: u64) -> Self {
        Self::new(self.pieces.into_iter().map(|piece| match piece {
            Piece::BodyLength => Piece::text(bytes.to_string()),
            Piece::Body => Piece::Generated(Size::Fixed(bytes)),
            piece => piece,
        }))
    }

    /// The message of a content.
    pub(crate) fn of(content: &Content) -> Self {
        Self::new(pieces(content))
    }

    /// All of it, if it is always the same bytes.
    pub(crate) fn text(&self) -> Option<Arc<[u8]>> {
        match &self.pieces[..] {
            [] => Some(Arc::default()),
            [Piece::Bytes(bytes)] => Some(bytes.clone()),
            _ => None,
        }
    }

    /// The same, without a copy; `None` of an empty one.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        if let [Piece::Bytes(bytes)] = &self.pieces[..] { Some(bytes) } else { None }
    }

    /// Its bytes before generated ones at its end, and the number of these, for a body of `body` bytes. `None` if they follow anything
    /// else, such as the time.
    pub(crate) fn written_out(&self, body: u64) -> Option<(Box<[u8]>, u64)> {
        let vars = Vars { session: 0, request: 0, turn: 0, body, seconds: 0 };
        let (head, generated) = match &self.pieces[..] {
            [head @ .., Piece::Body] => (head, body),
            [head @ .., Piece::Generated(Size::Fixed(bytes))] => (head, *bytes),
            head => (head, 0),
        };
        if !head.iter().all(|piece| matches!(piece, Piece::Bytes(_) | Piece::BodyLength)) {
            return None;
        }
        let mut bytes = Vec::new();
        for piece in head {
            piece.slices(&vars, 0, piece.len(&vars), &mut |slice| bytes.extend_from_slice(slice));
        }
        Some((bytes.into(), generated))
    }

    /// Whether it is a fixed number of generated bytes and nothing else.
    pub(crate) fn is_generated(&self) -> bool {
        matches!(self.pieces[..], [Piece::Generated(Size::Fixed(_))])
    }

    /// Its length if that is always the same.
    #[inline]
    pub(crate) fn fixed_len(&self) -> Option<u64> {
        self.fixed
    }

    /// Its length, bytes.
    #[inline]
    pub(crate) fn len(&self, vars: &Vars) -> u64 {
        match self.fixed {
            Some(len) => len,
            None => self.pieces.iter().map(|piece| piece.len(vars)).sum(),
        }
    }

    /// Hands out its bytes from `offset` on, at most `len`, in slices.
    pub(crate) fn slices(&self, vars: &Vars, offset: u64, len: u64, take: &mut impl FnMut(&[u8])) {
        let (mut skip, mut left) = (offset, len);
        for piece in &self.pieces {
            if left == 0 {
                return;
            }
            let whole = piece.len(vars);
            if skip >= whole {
                skip -= whole;
                continue;
            }
            let now = left.min(whole - skip);
            piece.slices(vars, skip, now, take);
            left -= now;
            skip = 0;
        }
    }

    /// Writes its bytes from `offset` on; returns how many there were for `out`.
    #[inline]
    pub(crate) fn write(&self, vars: &Vars, offset: u64, out: &mut [u8]) -> usize {
        if let [Piece::Generated(Size::Fixed(whole))] = self.pieces[..] {
            let len = whole.saturating_sub(offset).min(out.len() as u64);
            pattern::write(vars.request, offset, &mut out[..len as usize]);
            return len as usize;
        }
        let room = out.len() as u64;
        let mut at = 0;
        self.slices(vars, offset, room, &mut |slice| {
            out[at..at + slice.len()].copy_from_slice(slice);
            at += slice.len();
        });
        at
    }

    /// Whether `data` matches the message at `offset`, as far as an end can know it without the session's number.
    /// Generated bytes are compared only if `generated` is set.
    pub(crate) fn agrees(&self, vars: &Vars, offset: u64, data: &[u8], generated: bool) -> bool {
        let (mut skip, mut rest) = (offset, data);
        for piece in self.known() {
            let whole = piece.len(vars);
            if skip >= whole {
                skip -= whole;
                continue;
            }
            let (now, later) = rest.split_at(rest.len().min((whole - skip) as usize));
            if generated || !matches!(piece, Piece::Generated(_)) {
                let (mut left, mut same) = (now, true);
                piece.slices(vars, skip, now.len() as u64, &mut |slice| {
                    let (here, behind) = left.split_at(slice.len());
                    same &= here == slice;
                    left = behind;
                });
                if !same {
                    return false;
                }
            }
            (rest, skip) = (later, 0);
            if rest.is_empty() {
                break;
            }
        }
        true
    }

    /// Whether an end that does not know the session's number knows any of it but generated bytes.
    pub(crate) fn is_known(&self) -> bool {
        self.known().any(|piece| !matches!(piece, Piece::Generated(_)))
    }

    /// The pieces before the first that follows the session's number.
    fn known(&self) -> impl Iterator<Item = &Piece> {
        self.pieces.iter().take_while(|piece| !piece.follows_session())
    }
}

/// The pieces of a content.
pub(crate) fn pieces(content: &Content) -> impl Iterator<Item = Piece> + '_ {
    content.parts.iter().map(|part| match part {
        Part::Bytes(bytes) => Piece::Bytes(bytes.clone()),
        Part::Generated(size) => Piece::Generated(size.clone()),
        Part::Decimal(values, width) => Piece::Number(values.clone(), Radix::Decimal, *width),
        Part::Hex(values, width) => Piece::Number(values.clone(), Radix::Hex, *width),
        Part::Binary(values, width) => Piece::Number(values.clone(), Radix::Binary, *width),
        Part::List { items, order, by } => Piece::List(items.clone(), *order, *by),
    })
}

impl Piece {
    /// Literal bytes.
    pub(crate) fn text(text: impl AsRef<[u8]>) -> Self {
        Self::Bytes(text.as_ref().into())
    }

    fn follows_session(&self) -> bool {
        match self {
            Self::Number(values, ..) => values.follow_session(),
            Self::List(_, _, by) => *by != By::Request,
            Self::WebsocketKey(_) => true,
            _ => false,
        }
    }

    fn fixed_len(&self) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => Some(bytes.len() as u64),
            Self::Generated(Size::Fixed(bytes)) => Some(*bytes),
            Self::Number(_, Radix::Binary, width) => Some(u64::from(*width).clamp(1, 8)),
            Self::Date => Some(date::LEN as u64),
            Self::WebsocketKey(_) => Some(websocket::KEY_LEN as u64),
            _ => None,
        }
    }

    fn item<'a>(items: &'a [Arc<[u8]>], order: SelectionOrder, by: By, vars: &Vars) -> &'a [u8] {
        if items.is_empty() {
            return &[];
        }
        let count = items.len() as u64;
        let index = match order {
            SelectionOrder::Sequential => by.turn(vars.session, vars.request, vars.turn) % count,
            SelectionOrder::Random { seed } => {
                random::below(by.word(seed, vars.session, vars.request), count)
            }
        };
        &items[index as usize]
    }

    fn len(&self, vars: &Vars) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Generated(size) => size.value(vars.request),
            Self::Number(_, Radix::Binary, width) => u64::from(*width).clamp(1, 8),
            Self::Number(values, radix, width) => {
                let value = values.value(vars.session, vars.request, vars.turn);
                let digits = if matches!(radix, Radix::Hex) { hex_digits(value) } else { digits(value) };
                digits.max(u64::from(*width))
            }
            Self::List(items, order, by) => Self::item(items, *order, *by, vars).len() as u64,
            Self::BodyLength => digits(vars.body),
            Self::Date => date::LEN as u64,
            Self::WebsocketKey(_) => websocket::KEY_LEN as u64,
            Self::Body => vars.body,
            Self::Chunks(chunk) => chunked_len(vars.body, u64::from(*chunk)),
            Self::Padding { head, to } => padding(head.len(vars), *to),
        }
    }

    #[inline]
    fn slices(&self, vars: &Vars, offset: u64, len: u64, take: &mut impl FnMut(&[u8])) {
        let mut part = |bytes: &[u8]| take(&bytes[offset as usize..(offset + len) as usize]);
        match self {
            Self::Bytes(bytes) => part(bytes),
            Self::Generated(_) | Self::Body => pattern::pieces(vars.request, offset, len, take),
            Self::Number(values, radix, width) => {
                part(
                    Digits::new(values.value(vars.session, vars.request, vars.turn), *radix, *width)
                        .as_slice(),
                );
            }
            Self::List(items, order, by) => part(Self::item(items, *order, *by, vars)),
            Self::BodyLength => part(Digits::new(vars.body, Radix::Decimal, 0).as_slice()),
            Self::Date => part(&date::imf(vars.seconds)),
            Self::WebsocketKey(seed) => part(&websocket_key(*seed, vars.session)),
            Self::Chunks(chunk) => chunked(vars, u64::from(*chunk), offset, len, take),
            Self::Padding { head, to } => {
                let whole = padding(head.len(vars), *to) as usize;
                let mut field = PADDING_NAME.to_vec();
                field.resize(whole - 2, b'x');
                field.extend_from_slice(b"\r\n");
                part(&field);
            }
        }
    }
}

/// The key of WebSocket of a session, by a seed.
pub(crate) fn websocket_key(seed: u64, session: u64) -> [u8; websocket::KEY_LEN] {
    websocket::key(random::wide_word(random::key(seed), session))
}

/// Bytes of a chunk of `size` with its frame.
fn framed(size: u64) -> u64 {
    if size == 0 { 5 } else { hex_digits(size) + 2 + size + 2 }
}

fn chunked_len(body: u64, chunk: u64) -> u64 {
    let chunk = chunk.max(1);
    let rest = body % chunk;
    body / chunk * framed(chunk) + if rest > 0 { framed(rest) } else { 0 } + framed(0)
}

fn chunked(vars: &Vars, chunk: u64, offset: u64, len: u64, take: &mut impl FnMut(&[u8])) {
    let (chunk, end) = (chunk.max(1), offset + len);
    let whole = framed(chunk);
    let mut index = (offset / whole).min(vars.body / chunk);
    // Where in the message the chunk begins.
    let mut at = index * whole;
    while at < end {
        let size = (vars.body - (index * chunk).min(vars.body)).min(chunk);
        let line = Digits::new(size, Radix::Hex, 0);
        let (first, last) = (offset.max(at) - at, (end - at).min(framed(size)));
        let head = line.len as u64;
        let cut = |start: u64, bytes: &[u8], take: &mut dyn FnMut(&[u8])| {
            let (from, to) = (first.max(start), last.min(start + bytes.len() as u64));
            if from < to {
                take(&bytes[(from - start) as usize..(to - start) as usize]);
            }
        };
        cut(0, line.as_slice(), take);
        cut(head, b"\r\n", take);
        let (from, to) = (first.max(head + 2), last.min(head + 2 + size));
        if from < to {
            pattern::pieces(vars.request, index * chunk + from - head - 2, to - from, &mut *take);
        }
        cut(head + 2 + size, b"\r\n", take);
        if size == 0 {
            return;
        }
        at += framed(size);
        index += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(message: &Message, vars: &Vars) -> Vec<u8> {
        let mut out = vec![0; message.len(vars) as usize];
        let written = message.write(vars, 0, &mut out);
        assert_eq!(written, out.len());
        out
    }

    fn vars(session: u64, request: u64, body: u64) -> Vars {
        Vars { session, request, turn: session + request, body, seconds: 0 }
    }

    fn text(message: &Message, vars: &Vars) -> String {
        String::from_utf8(whole(message, vars)).unwrap()
    }

    #[test]
    fn writes_numbers_and_lists() {
        let list: Arc<[Arc<[u8]>]> = [&b"red"[..], b"green", b"blue"].map(Arc::from).into();
        let content = Content {
            parts: vec![
                Part::Bytes(b"id="[..].into()),
                Part::Decimal(Values::SESSION, 4),
                Part::Bytes(b" hex="[..].into()),
                Part::Hex(Values::Range { first: 255, step: 1, count: 2, by: By::Request }, 0),
                Part::Bytes(b" "[..].into()),
                Part::List { items: list, order: SelectionOrder::Sequential, by: By::Each },
            ],
        };
        assert!(content.follows_session());
        let message = Message::of(&content);
        assert_eq!(text(&message, &vars(7, 0, 0)), "id=0007 hex=ff green");
        assert_eq!(text(&message, &vars(12_345, 1, 0)), "id=12345 hex=100 green");
        assert_eq!(text(&message, &vars(7, 2, 0)), "id=0007 hex=ff red");
        let binary = Message::of(&Content { parts: vec![Part::Binary(Values::SESSION, 2)] });
        assert_eq!(whole(&binary, &vars(0x0001_0203, 0, 0)), [2, 3]);
        assert_eq!(binary.fixed, Some(2));
    }

    #[test]
    fn writes_chunks() {
        let message = Message::new([Piece::Chunks(10)]);
        let body = |n| {
            let mut out = Vec::new();
            pattern::pieces(3, 0, n, |piece| out.extend_from_slice(piece));
            out
        };
        let all = body(25);
        let expected =
            [b"a\r\n", &all[..10], b"\r\na\r\n", &all[10..20], b"\r\n5\r\n", &all[20..], b"\r\n0\r\n\r\n"]
                .concat();
        assert_eq!(whole(&message, &vars(0, 3, 25)), expected);
        assert_eq!(whole(&message, &vars(0, 3, 0)), b"0\r\n\r\n");
        let expected = [b"a\r\n", &body(10)[..], b"\r\n0\r\n\r\n"].concat();
        assert_eq!(whole(&message, &vars(0, 3, 10)), expected);
    }

    #[test]
    fn joins_bytes() {
        let message = Message::new([Piece::text("a"), Piece::text(""), Piece::text("b"), Piece::BodyLength]);
        assert_eq!((message.pieces.len(), message.fixed), (2, None));
        assert_eq!(text(&message, &vars(0, 0, 1_000)), "ab1000");
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same(session in 0u64..1 << 32, request in 0u64..1000, body in 0u64..3000, chunk in 1u32..600,
                                  cuts in proptest::collection::vec(1usize..700, 1..40)) {
            let message = Message::new([
                Piece::text("head "), Piece::BodyLength, Piece::Number(Values::SESSION, Radix::Decimal, 3),
                Piece::Generated(Size::Uniform { from: 0, to: 50, seed: 3 }), Piece::Chunks(chunk), Piece::Body,
                Piece::text("end"),
            ]);
            let vars = vars(session, request, body);
            let expected = whole(&message, &vars);
            let (mut got, mut offset) = (Vec::new(), 0);
            for cut in cuts.iter().cycle() {
                let mut out = vec![0; *cut];
                let n = message.write(&vars, offset, &mut out);
                got.extend_from_slice(&out[..n]);
                prop_assert!(message.agrees(&vars, offset, &out[..n], true));
                offset += n as u64;
                if n < *cut {
                    break;
                }
            }
            prop_assert_eq!(got, expected);
        }
    }
}
