//! Messages on the wire. Source: RFC 1035 section 4, RFC 6891 section 6.1.

use std::net::IpAddr;

/// Bytes of a header.
const HEADER: usize = 12;
/// Longest name on the wire, and longest label.
const NAME_MAX: usize = 255;
const LABEL_MAX: usize = 63;
/// Bytes of EDNS without options, and of an option without data.
const EDNS: usize = 11;
const OPTION: usize = 4;
/// Options of EDNS: RFC 7828, which is of TCP, and RFC 7830.
const KEEPALIVE: u16 = 11;
const PADDING: u16 = 12;
/// Queries and responses are padded to multiples of these (RFC 8467 section 4.1).
const QUERY_BLOCK: usize = 128;
const REPLY_BLOCK: usize = 468;
/// Longest query: header, name, type and class, and EDNS, padded; and the length before it.
pub(crate) const QUERY_MAX: usize = (HEADER + NAME_MAX + 4 + EDNS + OPTION).next_multiple_of(QUERY_BLOCK) + 2;
/// The record with the client's size limit.
const OPT: u16 = 41;
/// Any type.
pub(crate) const ANY: u16 = 255;
/// Size limit of UDP responses without EDNS.
const PLAIN_MAX: usize = 512;

/// Form of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Form {
    /// Its length comes first.
    pub sized: bool,
    /// It is padded, if it has EDNS.
    pub padded: bool,
}

/// A query as it is built.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Query {
    pub bytes: [u8; QUERY_MAX],
    pub len: usize,
}

impl Query {
    pub(crate) fn new(
        id: u16,
        name: &[u8],
        kind: u16,
        recursion: bool,
        edns: Option<u16>,
        form: Form,
    ) -> Self {
        let start = if form.sized { 2 } else { 0 };
        let mut query = Self { bytes: [0; QUERY_MAX], len: start };
        query.put(&id.to_be_bytes());
        query.put(&[u8::from(recursion), 0, 0, 1, 0, 0, 0, 0, 0, u8::from(edns.is_some())]);
        let limit = query.len + NAME_MAX - 1;
        for label in name.split(|byte| *byte == b'.').filter(|label| !label.is_empty()) {
            let label = &label[..label.len().min(LABEL_MAX)];
            if query.len + 1 + label.len() > limit {
                break;
            }
            query.put(&[label.len() as u8]);
            query.put(label);
        }
        query.put(&[0]);
        query.put(&kind.to_be_bytes());
        query.put(&[0, 1]);
        if let Some(size) = edns {
            query.put(&[0]);
            query.put(&OPT.to_be_bytes());
            query.put(&size.to_be_bytes());
            query.put(&[0; 4]);
            let padding = form.padded.then(|| padding(query.len - start + 2, QUERY_BLOCK));
            query.put(&padding.map_or(0, |bytes| (OPTION + bytes) as u16).to_be_bytes());
            if let Some(bytes) = padding {
                query.put(&PADDING.to_be_bytes());
                query.put(&(bytes as u16).to_be_bytes());
                query.len += bytes;
            }
        }
        if form.sized {
            let len = query.len as u16 - 2;
            query.bytes[..2].copy_from_slice(&len.to_be_bytes());
        }
        query
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// All of it.
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Bytes of padding that make a message of `len` bytes, with the option for them, a multiple of `block` (RFC 7830).
fn padding(len: usize, block: usize) -> usize {
    (len + OPTION).next_multiple_of(block) - len - OPTION
}

/// The options of EDNS in a record's data: codes and lengths.
fn options(mut data: &[u8]) -> impl Iterator<Item = (u16, usize)> {
    std::iter::from_fn(move || {
        let (code, len) = (u16_at(data, 0)?, usize::from(u16_at(data, 2)?));
        data = data.get(OPTION + len..)?;
        Some((code, len))
    })
}

/// Whether a message has the option edns-tcp-keepalive (RFC 7828). One that is cut off has what comes before.
pub(crate) fn has_keepalive(bytes: &[u8]) -> bool {
    let find = || {
        let mut at = HEADER;
        for _ in 0..u16_at(bytes, 4)? {
            at = behind_name(bytes, at)? + 4;
        }
        let records =
            u32::from(u16_at(bytes, 6)?) + u32::from(u16_at(bytes, 8)?) + u32::from(u16_at(bytes, 10)?);
        for _ in 0..records {
            at = behind_name(bytes, at)?;
            let (kind, end) = (u16_at(bytes, at)?, at + 10 + usize::from(u16_at(bytes, at + 8)?));
            let data = bytes.get(at + 10..end)?;
            if kind == OPT && options(data).any(|(code, _)| code == KEEPALIVE) {
                return Some(());
            }
            at = end;
        }
        None
    };
    find().is_some()
}

/// Content of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    pub id: u16,
    pub code: u8,
    pub truncated: bool,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Where what follows a name begins.
fn behind_name(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *bytes.get(at)? {
            0 => return Some(at + 1),
            len @ 1..=63 => at += 1 + usize::from(len),
            0xc0.. => return bytes.get(at + 1).map(|_| at + 2),
            _ => return None,
        }
    }
}

/// Reads a response to `query` (without a length before it): all of it must be valid.
pub(crate) fn answer(bytes: &[u8], query: &[u8]) -> Result<Answer, &'static str> {
    let cut = "a truncated response";
    let id = u16_at(bytes, 0).ok_or(cut)?;
    let flags = u16_at(bytes, 2).ok_or(cut)?;
    if flags & 0x8000 == 0 {
        return Err("a query instead of a response");
    }
    let answer = Answer { id, code: (flags & 15) as u8, truncated: flags & 0x0200 != 0 };
    let count = |at| u16_at(bytes, at).ok_or(cut);
    let questions = count(4)?;
    let records = u32::from(count(6)?) + u32::from(count(8)?) + u32::from(count(10)?);
    let mut at = HEADER;
    // A server that did not understand the query may leave the question out.
    if questions > 1 || questions == 0 && answer.code == 0 {
        return Err("a response without the question");
    }
    if questions == 1 {
        let end = behind_name(bytes, at).ok_or(cut)? + 4;
        let asked = bytes.get(at..end).ok_or(cut)?;
        let same = query.get(HEADER..end).is_some_and(|question| question.eq_ignore_ascii_case(asked));
        if !same && id == u16_at(query, 0).unwrap_or(0) {
            return Err("a response to another question");
        }
        at = end;
    }
    for _ in 0..records {
        at = behind_name(bytes, at).ok_or(cut)?;
        let len = u16_at(bytes, at + 8).ok_or(cut)?;
        at += 10 + usize::from(len);
        if at > bytes.len() {
            return Err(cut);
        }
    }
    Ok(answer)
}

/// Codes of what is not a plain question (RFC 1035 section 4.1.1, RFC 6891 section 6.1.3).
const FORMAT_ERROR: u16 = 1;
const NOT_IMPLEMENTED: u16 = 4;
pub(crate) const BAD_VERSION: u16 = 16;

/// A message that is not a valid query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoQuestion {
    /// No reply: too short, or a response itself.
    Nothing,
    /// The reply has this code.
    Code(u16),
}

/// Content of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question<'a> {
    pub header: &'a [u8],
    /// Name, type and class, as received.
    pub bytes: &'a [u8],
    pub kind: u16,
    /// Size of a response that the client accepts over UDP, bytes.
    pub room: usize,
    pub edns: bool,
    /// Its version of EDNS; only 0 is known.
    pub version: u8,
    /// Whether it is padded, so that the response is, too (RFC 7830 section 4).
    pub padded: bool,
}

impl Question<'_> {
    /// The name in text, lower-case, without a dot at the end.
    pub(crate) fn name(&self) -> Vec<u8> {
        let mut text = Vec::new();
        let mut rest = self.bytes;
        while let Some((len @ 1.., behind)) = rest.split_first() {
            let (label, next) = behind.split_at(usize::from(*len).min(behind.len()));
            if !text.is_empty() {
                text.push(b'.');
            }
            text.extend(label.iter().map(u8::to_ascii_lowercase));
            rest = next;
        }
        text
    }
}

/// Reads a query.
pub(crate) fn question(bytes: &[u8]) -> Result<Question<'_>, NoQuestion> {
    let header = bytes.get(..HEADER).ok_or(NoQuestion::Nothing)?;
    let flags = u16_at(header, 2).ok_or(NoQuestion::Nothing)?;
    if flags & 0x8000 != 0 {
        return Err(NoQuestion::Nothing);
    }
    if flags & 0x7800 != 0 {
        return Err(NoQuestion::Code(NOT_IMPLEMENTED));
    }
    let wrong = NoQuestion::Code(FORMAT_ERROR);
    if u16_at(header, 4) != Some(1) || u16_at(header, 6) != Some(0) {
        return Err(wrong);
    }
    let mut at = HEADER;
    while let Some(len @ 1..) = bytes.get(at) {
        if *len > 63 {
            return Err(wrong);
        }
        at += 1 + usize::from(*len);
    }
    let end = at + 5;
    let question = bytes.get(HEADER..end).ok_or(NoQuestion::Code(FORMAT_ERROR))?;
    if question.len() > NAME_MAX + 4 {
        return Err(wrong);
    }
    let kind = u16_at(bytes, at + 1).ok_or(NoQuestion::Code(FORMAT_ERROR))?;
    let edns = bytes.get(end) == Some(&0) && u16_at(bytes, end + 1) == Some(OPT);
    let room = if edns { usize::from(u16_at(bytes, end + 3).unwrap_or(0)).max(PLAIN_MAX) } else { PLAIN_MAX };
    let version = if edns { bytes.get(end + 6).copied().unwrap_or(0) } else { 0 };
    let data = u16_at(bytes, end + 9).and_then(|len| bytes.get(end + 11..end + 11 + usize::from(len)));
    let padded = edns && options(data.unwrap_or_default()).any(|(code, _)| code == PADDING);
    Ok(Question { header, bytes: question, kind, room, edns, version, padded })
}

/// The reply to a message that is not a valid query: its header with a code, and no more.
pub(crate) fn no_answer(query: &[u8], code: u16, tcp: bool) -> Vec<u8> {
    let mut bytes = if tcp { vec![0, HEADER as u8] } else { Vec::new() };
    bytes.extend_from_slice(query.get(..2).unwrap_or(&[0, 0]));
    // The opcode, and whether recursion is wanted, as they were.
    let flags = query.get(2).map_or(0, |flags| flags & 0x79);
    bytes.extend([0x80 | flags, code as u8 & 15, 0, 0, 0, 0, 0, 0, 0, 0]);
    bytes
}

/// Time for which a cache may keep a response, s: the shortest time to live of its records (RFC 8484 section 5.1), 0 without any.
pub(crate) fn freshness(reply: &[u8]) -> u32 {
    let shortest = || {
        let (questions, answers) = (u16_at(reply, 4)?, u16_at(reply, 6)?);
        let mut at = HEADER;
        for _ in 0..questions {
            at = behind_name(reply, at)? + 4;
        }
        let mut shortest: Option<u32> = None;
        for _ in 0..answers {
            at = behind_name(reply, at)?;
            let ttl = u32::from_be_bytes(*reply.get(at + 4..)?.first_chunk()?);
            shortest = Some(shortest.map_or(ttl, |other| other.min(ttl)));
            at += 10 + usize::from(u16_at(reply, at + 8)?);
        }
        shortest
    };
    shortest().unwrap_or(0)
}

/// The code of a response; `sized`: it has its length before it.
pub(crate) fn code(reply: &[u8], sized: bool) -> u8 {
    reply.get(if sized { 5 } else { 3 }).map_or(0, |flags| flags & 15)
}

/// A response under construction.
pub(crate) struct Reply {
    bytes: Vec<u8>,
    /// Bytes of the length before it.
    before: usize,
    records: usize,
    edns: bool,
    /// The upper bits of the code, which the record of EDNS has.
    code_high: u8,
}

impl Reply {
    pub(crate) fn new(question: &Question<'_>, code: u16, tcp: bool) -> Self {
        let before = if tcp { 2 } else { 0 };
        let mut bytes = vec![0; before];
        bytes.extend_from_slice(&question.header[..2]);
        // A response of an authority, that also asks others; recursion wanted as it was.
        bytes.extend([0x84 | question.header[2] & 1, 0x80 | code as u8 & 15, 0, 1, 0, 0, 0, 0, 0, 0]);
        bytes.extend_from_slice(question.bytes);
        Self { bytes, before, records: 0, edns: question.edns, code_high: (code >> 4) as u8 }
    }

    pub(crate) fn record(&mut self, kind: u16, ttl: u32, data: &[u8]) {
        let data = &data[..data.len().min(usize::from(u16::MAX))];
        self.bytes.extend([0xc0, HEADER as u8]);
        self.bytes.extend(kind.to_be_bytes());
        self.bytes.extend([0, 1]);
        self.bytes.extend(ttl.to_be_bytes());
        self.bytes.extend((data.len() as u16).to_be_bytes());
        self.bytes.extend_from_slice(data);
        self.records += 1;
    }

    pub(crate) fn address(&mut self, ttl: u32, address: IpAddr) {
        match address {
            IpAddr::V4(ip) => self.record(1, ttl, &ip.octets()),
            IpAddr::V6(ip) => self.record(28, ttl, &ip.octets()),
        }
    }

    /// The whole response; truncated to no records, with the TC bit, if that is more than `room` bytes.
    pub(crate) fn finish(mut self, question: &Question<'_>, room: usize) -> Vec<u8> {
        let start = self.before;
        let extra = if self.edns { EDNS } else { 0 };
        if self.bytes.len() - start + extra > room {
            self.bytes.truncate(start + HEADER + question.bytes.len());
            self.bytes[start + 2] |= 2;
            self.records = 0;
        }
        let count = (self.records as u16).to_be_bytes();
        self.bytes[start + 6..start + 8].copy_from_slice(&count);
        if self.edns {
            self.bytes[start + 11] = 1;
            self.bytes.extend([0, 0, OPT as u8, 0x10, 0, self.code_high, 0, 0, 0]);
            let len = self.bytes.len() - start + 2;
            let bytes = padding(len, REPLY_BLOCK);
            if question.padded && len + OPTION + bytes <= room {
                self.bytes.extend(((OPTION + bytes) as u16).to_be_bytes());
                self.bytes.extend(PADDING.to_be_bytes());
                self.bytes.extend((bytes as u16).to_be_bytes());
                self.bytes.resize(self.bytes.len() + bytes, 0);
            } else {
                self.bytes.extend([0, 0]);
            }
        }
        if start > 0 {
            let len = (self.bytes.len() - start) as u16;
            self.bytes[..2].copy_from_slice(&len.to_be_bytes());
        }
        self.bytes
    }
}
