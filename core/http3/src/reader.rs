//! The stream of a request, or of its response (RFC 9114 section 4.1).

use crate::fault::{Code, Fault};
use crate::{frame, limits, qpack, varint};
use http2::{Head, Role};

/// Piece of a stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A head: of the request, of the response, or of one before it (1xx).
    Head,
    /// A part of the body.
    Data(&'a [u8]),
    /// The fields after the body.
    Trailers,
}

/// Progress of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// Its head has not come.
    Head,
    /// Its body may come.
    Body,
    /// Nothing more may come.
    End,
}

/// Within which frame it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    /// Between frames.
    None,
    Headers,
    Data,
    /// One that is passed over; its fields are too many.
    LongHeaders,
    /// An unknown one (RFC 9114 section 9).
    Unknown,
}

/// Longest header of a frame: two integers of eight bytes.
const HEADER_MAX: usize = 16;

/// Reads what comes on the stream of a request.
#[derive(Debug)]
pub struct Reader {
    role: Role,
    step: Step,
    within: Within,
    /// Bytes left of the frame.
    left: u64,
    /// A frame's header that is not whole, or a header block.
    held: Vec<u8>,
    /// Bytes that the body should have, and has so far.
    length: Option<u64>,
    got: u64,
    bodiless: bool,
}

impl Reader {
    /// For the end that this is: clients read responses, servers requests.
    pub fn new(role: Role) -> Self {
        Self {
            role,
            step: Step::Head,
            within: Within::None,
            left: 0,
            held: Vec::new(),
            length: None,
            got: 0,
            bodiless: false,
        }
    }

    /// The response has no body, regardless of its length: a response to HEAD.
    pub fn expect_no_body(&mut self) {
        self.bodiless = true;
    }

    /// Bytes it holds.
    #[inline]
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Reads on; a head's content is in `head`, until the next one. `None`: all of `input` is used up. A fault of the
    /// stream alone leaves the connection unchanged; nothing more of the stream may be read.
    #[inline]
    pub fn read<'a>(&mut self, input: &mut &'a [u8], head: &mut Head) -> Result<Option<Piece<'a>>, Fault> {
        loop {
            match self.within {
                Within::None => {
                    if !self.header(input)? {
                        return Ok(None);
                    }
                }
                Within::Data => {
                    let bytes = self.some(input);
                    if !bytes.is_empty() {
                        self.got += bytes.len() as u64;
                        if self.length.is_some_and(|length| self.got > length) {
                            return Err(Fault::stream(Code::MESSAGE_ERROR, "more of a body than its length"));
                        }
                        return Ok(Some(Piece::Data(bytes)));
                    }
                    if self.within != Within::None {
                        return Ok(None);
                    }
                }
                Within::Unknown => {
                    self.some(input);
                    if self.within != Within::None {
                        return Ok(None);
                    }
                }
                Within::LongHeaders => {
                    self.some(input);
                    if self.within != Within::None {
                        return Ok(None);
                    }
                    return self.section(None, head).map(Some);
                }
                Within::Headers => {
                    let bytes = self.some(input);
                    if self.within != Within::None {
                        self.held.extend_from_slice(bytes);
                        return Ok(None);
                    }
                    if self.held.is_empty() {
                        return self.section(Some(bytes), head).map(Some);
                    }
                    let mut block = std::mem::take(&mut self.held);
                    block.extend_from_slice(bytes);
                    return self.section(Some(&block), head).map(Some);
                }
            }
        }
    }

    /// As much of the frame as there is.
    #[inline]
    fn some<'a>(&mut self, input: &mut &'a [u8]) -> &'a [u8] {
        let len = self.left.min(input.len() as u64);
        let (bytes, rest) = input.split_at(len as usize);
        *input = rest;
        self.left -= len;
        if self.left == 0 {
            self.within = Within::None;
        }
        bytes
    }

    /// Reads the header of a frame; returns whether it is whole.
    #[inline]
    fn header(&mut self, input: &mut &[u8]) -> Result<bool, Fault> {
        if self.held.is_empty() {
            if let Some((kind, len, used)) = header(input) {
                *input = &input[used..];
                self.begin(kind, len)?;
                return Ok(true);
            }
            self.held.extend_from_slice(input);
            *input = &[];
            return Ok(false);
        }
        let before = self.held.len();
        self.held.extend(input.iter().take(HEADER_MAX - before));
        let Some((kind, len, used)) = header(&self.held) else {
            *input = &[];
            return Ok(false);
        };
        *input = &input[used - before..];
        self.held.clear();
        self.begin(kind, len)?;
        Ok(true)
    }

    /// A frame begins.
    #[inline]
    fn begin(&mut self, kind: u64, len: u64) -> Result<(), Fault> {
        self.left = len;
        self.within = match kind {
            frame::DATA if self.step == Step::Body => Within::Data,
            frame::DATA => return Err(Fault::unexpected("DATA before the head, or after the trailers")),
            frame::HEADERS if self.step == Step::End => {
                return Err(Fault::unexpected("HEADERS after the trailers"));
            }
            frame::HEADERS if len > limits::BLOCK as u64 => Within::LongHeaders,
            frame::HEADERS => Within::Headers,
            frame::PUSH_PROMISE if self.role == Role::Client => {
                // No MAX_PUSH_ID was sent (RFC 9114 section 7.2.5).
                return Err(Fault::connection(Code::ID_ERROR, "PUSH_PROMISE, which was not allowed"));
            }
            frame::SETTINGS
            | frame::GOAWAY
            | frame::CANCEL_PUSH
            | frame::MAX_PUSH_ID
            | frame::PUSH_PROMISE => {
                return Err(Fault::unexpected("a frame that is not for the streams of requests"));
            }
            kind if frame::is_of_http2(kind) => {
                return Err(Fault::unexpected("a frame of HTTP/2, which HTTP/3 does not have"));
            }
            _ => Within::Unknown,
        };
        if len == 0 && !matches!(self.within, Within::Headers) {
            self.within = Within::None;
        }
        Ok(())
    }

    /// A header block is whole; `None` is one that was too long to be read.
    fn section(&mut self, block: Option<&[u8]>, head: &mut Head) -> Result<Piece<'static>, Fault> {
        let is_response = self.role == Role::Client;
        let is_trailer = self.step == Step::Body;
        if !is_trailer && block.is_some_and(|block| head.is_from(block)) {
            // As often: each request of a connection as the one before it.
            return Ok(self.begun(head));
        }
        head.begin(is_response, is_trailer);
        let mut scratch = std::mem::take(&mut self.held);
        scratch.clear();
        let most = limits::FIELD_SECTION;
        let size = match block {
            None => u32::MAX,
            Some(block) => qpack::decode(block, most, &mut scratch, |name, value| head.field(name, value))
                .map_err(|why| Fault::connection(Code::DECOMPRESSION_FAILED, why))?,
        };
        if scratch.capacity() <= HEADER_MAX * 16 {
            scratch.clear();
            self.held = scratch;
        }
        head.is_too_large = size > most;
        if is_trailer {
            self.step = Step::End;
            return match head.wrong().filter(|_| !head.is_too_large) {
                Some(why) => Err(Fault::stream(Code::MESSAGE_ERROR, why)),
                None => Ok(Piece::Trailers),
            };
        }
        if !head.is_too_large
            && let Some(why) = head.wrong()
        {
            return Err(Fault::stream(Code::MESSAGE_ERROR, why));
        }
        if let Some(block) = block {
            head.remember(block);
        }
        Ok(self.begun(head))
    }

    /// The head of a message is there.
    fn begun(&mut self, head: &Head) -> Piece<'static> {
        let is_response = self.role == Role::Client;
        // One before the response proper (RFC 9110 section 15.2).
        if !(is_response && (100..200).contains(&head.status)) {
            self.step = Step::Body;
            self.bodiless |= is_response && matches!(head.status, 204 | 304);
            self.length = head.length.filter(|_| !self.bodiless && !head.is_too_large);
        }
        Piece::Head
    }

    /// The stream's sender has finished it: checks that its data are complete.
    pub fn finish(&self) -> Result<(), Fault> {
        if self.within != Within::None || !self.held.is_empty() {
            return Err(Fault::frame("a stream that ends within a frame"));
        }
        if self.step == Step::Head {
            return Err(Fault::stream(Code::REQUEST_INCOMPLETE, "a stream that ends before its head"));
        }
        if self.length.is_some_and(|length| length != self.got) {
            return Err(Fault::stream(Code::MESSAGE_ERROR, "less of a body than its length"));
        }
        Ok(())
    }
}

/// The type of a frame, its length, and the bytes of both; none if they are not whole.
#[inline]
fn header(data: &[u8]) -> Option<(u64, u64, usize)> {
    let (kind, first) = varint::read(data)?;
    let (len, second) = varint::read(&data[first..])?;
    Some((kind, len, first + second))
}

/// Writes a HEADERS frame.
#[inline]
pub fn headers(block: &[u8], out: &mut Vec<u8>) {
    varint::write(frame::HEADERS, out);
    varint::write(block.len() as u64, out);
    out.extend_from_slice(block);
}

/// Writes the header of a DATA frame with this number of bytes, which follow.
#[inline]
pub fn data(len: u64, out: &mut Vec<u8>) {
    varint::write(frame::DATA, out);
    varint::write(len, out);
}
