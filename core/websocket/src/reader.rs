//! Reads frames as they come, and the messages they make. Source: RFC 6455 sections 5.1, 5.4 and 5.5.

use crate::code;
use crate::frame::{Header, Mask, Opcode};
use std::ops::Range;

/// Type of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// Text in UTF-8.
    Text,
    /// Bytes.
    #[default]
    Binary,
}

impl Kind {
    /// The opcode of a message's first frame.
    pub fn opcode(self) -> Opcode {
        match self {
            Self::Text => Opcode::Text,
            Self::Binary => Opcode::Binary,
        }
    }
}

/// Which rule the other end broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Violation {
    /// A reserved bit is set to which no extension gives a meaning.
    ReservedBits,
    /// An opcode that means nothing.
    UnknownOpcode,
    /// A control frame in fragments.
    FragmentedControl,
    /// A control frame of more than 125 bytes.
    LongControl,
    /// A length that is not in its shortest form.
    LongLength,
    /// A length of 2^63 or more.
    LengthTooLarge,
    /// A frame from a client without a mask.
    Unmasked,
    /// A frame from a server with a mask.
    Masked,
    /// A fragment that continues nothing.
    NothingToContinue,
    /// A new message before the one begun was whole.
    Unfinished,
    /// A Close frame of one byte.
    HalfCloseCode,
    /// A close code that must not be sent.
    CloseCode,
    /// A text, or the reason in Close, that is not UTF-8.
    NotUtf8,
    /// A message longer than is taken.
    TooLong,
    /// A compressed message that can't be decompressed.
    NotDeflate,
}

impl Violation {
    /// Its close code (RFC 6455 section 7.4.1).
    pub fn code(self) -> u16 {
        match self {
            Self::NotUtf8 | Self::NotDeflate => code::NOT_UTF8,
            Self::TooLong => code::TOO_LONG,
            _ => code::PROTOCOL,
        }
    }

    /// It in words.
    pub fn text(self) -> &'static str {
        match self {
            Self::ReservedBits => "a frame with a reserved bit",
            Self::UnknownOpcode => "a frame with an unknown opcode",
            Self::FragmentedControl => "a fragmented control frame",
            Self::LongControl => "a control frame longer than 125 bytes",
            Self::LongLength => "a length that is not in its shortest form",
            Self::LengthTooLarge => "a length of 2^63 or more",
            Self::Unmasked => "an unmasked frame from a client",
            Self::Masked => "a masked frame from a server",
            Self::NothingToContinue => "a continuation of no message",
            Self::Unfinished => "a new message before the last was complete",
            Self::HalfCloseCode => "a Close frame of one byte",
            Self::CloseCode => "an invalid close code",
            Self::NotUtf8 => "a text that is not UTF-8",
            Self::TooLong => "a message that is too long",
            Self::NotDeflate => "a compressed message that can't be decompressed",
        }
    }
}

/// Events of a reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A message begins; whether it is compressed.
    Begin(Kind, bool),
    /// The next bytes of a message: where they are, and what takes their mask off.
    Data(Range<usize>, Option<Mask>),
    /// The message is whole.
    End,
    /// A control frame: its payload, and what takes the mask off.
    Control(Opcode, Range<usize>, Option<Mask>),
}

/// A step of reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Bytes used up.
    pub used: usize,
    /// Their meaning; `None` until more arrives.
    pub event: Option<Event>,
}

/// Where an end is in what the other sends.
#[derive(Debug, Clone, Default)]
pub struct Reader {
    /// Bytes left of a data frame's payload.
    left: u64,
    /// Bytes of it that were read.
    read: u64,
    /// Bytes of the message in the frames whose headers were read.
    message: u64,
    /// Most bytes of a message.
    most: u64,
    /// Most bytes of the frames of this message.
    limit: u64,
    key: [u8; 4],
    /// Whether frames must be masked: frames of clients.
    masked: bool,
    /// A message was begun and is not whole.
    open: bool,
    /// The frame that is read is its last.
    last: bool,
    /// Messages may be compressed.
    compression: bool,
}

impl Reader {
    /// Reads what clients send, or with `from_server` what servers do: messages of at most `most` bytes.
    pub fn new(from_server: bool, most: u64) -> Self {
        Self { masked: !from_server, most, ..Self::default() }
    }

    /// From here on messages may be compressed. Their length is limited once more when they are decompressed.
    pub fn allow_compression(&mut self) {
        self.compression = true;
    }

    /// Whether it is between messages.
    pub fn is_between(&self) -> bool {
        !self.open
    }

    /// Reads the beginning of `data`. Call it again with the rest after [`Step::used`] bytes; without an event, once more has
    /// arrived.
    ///
    /// # Errors
    /// If the other end broke a rule. Nothing more is read then.
    pub fn read(&mut self, data: &[u8]) -> Result<Step, Violation> {
        let mut used = 0;
        loop {
            let rest = &data[used..];
            let step = |bytes, event| Ok(Step { used: used + bytes, event });
            if self.left > 0 {
                let bytes = (rest.len() as u64).min(self.left) as usize;
                let mask = self.masked.then(|| Mask::new(self.key, self.read));
                self.left -= bytes as u64;
                self.read += bytes as u64;
                return step(bytes, (bytes > 0).then_some(Event::Data(used..used + bytes, mask)));
            }
            if self.open && self.last {
                (self.open, self.last, self.message) = (false, false, 0);
                return step(0, Some(Event::End));
            }
            let Some((header, len)) = Header::read(rest, self.compression)? else { return step(0, None) };
            self.check_mask(&header)?;
            if header.opcode.is_control() {
                let end = len + header.len as usize;
                if rest.len() < end {
                    return step(0, None);
                }
                let mask = header.mask.map(|key| Mask::new(key, 0));
                return step(end, Some(Event::Control(header.opcode, used + len..used + end, mask)));
            }
            let begun = self.begin(&header)?;
            if begun.is_some() {
                return step(len, begun);
            }
            // A fragment's header alone is nothing to be told of.
            used += len;
        }
    }

    /// Clients mask every frame, servers none (RFC 6455 section 5.1).
    fn check_mask(&self, header: &Header) -> Result<(), Violation> {
        match header.mask {
            None if self.masked => Err(Violation::Unmasked),
            Some(_) if !self.masked => Err(Violation::Masked),
            _ => Ok(()),
        }
    }

    /// Begins a data frame; returns an event if a message begins with it.
    fn begin(&mut self, header: &Header) -> Result<Option<Event>, Violation> {
        let begun = match (header.opcode, self.open) {
            (Opcode::Continuation, true) => None,
            (Opcode::Continuation, false) => return Err(Violation::NothingToContinue),
            (_, true) => return Err(Violation::Unfinished),
            (Opcode::Text, false) => Some(Event::Begin(Kind::Text, header.compressed)),
            (_, false) => Some(Event::Begin(Kind::Binary, header.compressed)),
        };
        if begun.is_some() {
            // One that does not shrink grows by the headers of its blocks.
            let grown = if header.compressed { self.most / 64 + 64 } else { 0 };
            self.limit = self.most.saturating_add(grown);
        }
        self.message = self.message.saturating_add(header.len);
        if self.message > self.limit {
            return Err(Violation::TooLong);
        }
        (self.left, self.read, self.key) = (header.len, 0, header.mask.unwrap_or_default());
        (self.open, self.last) = (true, header.fin);
        Ok(begun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::HEADER_MAX;
    use proptest::prelude::*;

    /// A whole item of what was read.
    #[derive(Debug, Clone, PartialEq, Eq)]
    enum Item {
        Message(Kind, Vec<u8>),
        Control(u8, Vec<u8>),
        Wrong(Violation),
    }

    fn unmasked(data: &[u8], range: Range<usize>, mask: Option<Mask>) -> Vec<u8> {
        let mut bytes = data[range].to_vec();
        if let Some(mask) = mask {
            mask.apply(&mut bytes);
        }
        bytes
    }

    /// Events of bytes in pieces.
    fn read(mut reader: Reader, bytes: &[u8], cuts: &[usize]) -> Vec<Item> {
        let (mut items, mut kept, mut rest) = (Vec::new(), Vec::new(), bytes);
        let mut message = (Kind::Binary, Vec::new());
        for cut in cuts.iter().cycle() {
            let (now, later) = rest.split_at(rest.len().min(*cut));
            kept.extend_from_slice(now);
            rest = later;
            loop {
                let step = match reader.read(&kept) {
                    Ok(step) => step,
                    Err(wrong) => {
                        items.push(Item::Wrong(wrong));
                        return items;
                    }
                };
                let done = step.event.is_none();
                match step.event {
                    Some(Event::Begin(kind, _)) => message = (kind, Vec::new()),
                    Some(Event::Data(range, mask)) => message.1.extend(unmasked(&kept, range, mask)),
                    Some(Event::End) => items.push(Item::Message(message.0, std::mem::take(&mut message.1))),
                    Some(Event::Control(opcode, range, mask)) => {
                        items.push(Item::Control(opcode as u8, unmasked(&kept, range, mask)));
                    }
                    None => {}
                }
                kept.drain(..step.used);
                if done {
                    break;
                }
            }
            if rest.is_empty() {
                return items;
            }
        }
        items
    }

    fn frame(fin: bool, opcode: Opcode, key: Option<[u8; 4]>, payload: &[u8]) -> Vec<u8> {
        let mut out = [0; HEADER_MAX];
        let len =
            Header { fin, compressed: false, opcode, mask: key, len: payload.len() as u64 }.write(&mut out);
        let mut body = payload.to_vec();
        if let Some(key) = key {
            Mask::new(key, 0).apply(&mut body);
        }
        [&out[..len], &body].concat()
    }

    #[test]
    fn fragments_make_a_message_and_pings_may_come_between() {
        let bytes = [
            frame(false, Opcode::Text, None, b"Hel"),
            frame(true, Opcode::Ping, None, b"?"),
            frame(false, Opcode::Continuation, None, b""),
            frame(true, Opcode::Continuation, None, b"lo"),
            frame(true, Opcode::Binary, None, b""),
        ]
        .concat();
        let expected = [
            Item::Control(9, b"?".to_vec()),
            Item::Message(Kind::Text, b"Hello".to_vec()),
            Item::Message(Kind::Binary, Vec::new()),
        ];
        assert_eq!(read(Reader::new(true, 5), &bytes, &[100]), expected);
        assert_eq!(read(Reader::new(true, 4), &bytes, &[100])[1..], [Item::Wrong(Violation::TooLong)]);
    }

    #[test]
    fn an_order_that_makes_no_message_breaks_a_rule() {
        let begun = frame(false, Opcode::Text, None, b"a");
        let more = frame(true, Opcode::Continuation, None, b"b");
        let wrong = |bytes: &[u8]| read(Reader::new(true, 10), bytes, &[3]).pop();
        assert_eq!(wrong(&more), Some(Item::Wrong(Violation::NothingToContinue)));
        assert_eq!(wrong(&[&begun[..], &begun].concat()), Some(Item::Wrong(Violation::Unfinished)));
        assert_eq!(
            wrong(&frame(true, Opcode::Text, Some([1; 4]), b"a")),
            Some(Item::Wrong(Violation::Masked))
        );
        let client = read(Reader::new(false, 10), &begun, &[100]);
        assert_eq!(client, [Item::Wrong(Violation::Unmasked)]);
    }

    /// Fragments of no bytes are allowed, however many.
    #[test]
    fn empty_fragments_are_read_one_after_the_other() {
        let mut bytes = frame(false, Opcode::Binary, None, b"");
        bytes.extend(frame(false, Opcode::Continuation, None, b"").repeat(1_000_000));
        bytes.extend(frame(true, Opcode::Continuation, None, b"a"));
        assert_eq!(
            read(Reader::new(true, 1), &bytes, &[usize::MAX]),
            [Item::Message(Kind::Binary, b"a".to_vec())]
        );
    }

    #[test]
    fn every_violation_has_a_code_that_may_be_sent() {
        for wrong in [Violation::NotUtf8, Violation::TooLong, Violation::NotDeflate, Violation::Masked] {
            assert_eq!(crate::close_code(&wrong.code().to_be_bytes()), Ok(wrong.code()));
        }
    }

    fn items() -> impl Strategy<Value = Vec<(u8, Vec<u8>, u8)>> {
        let one = (0u8..5, proptest::collection::vec(any::<u8>(), 0..300), 1u8..5);
        proptest::collection::vec(one, 0..8)
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_messages(items in items(), key: Option<[u8; 4]>, cuts in proptest::collection::vec(1usize..90, 1..12)) {
            let (mut bytes, mut expected) = (Vec::new(), Vec::new());
            for (kind, payload, parts) in items {
                if kind > 1 {
                    let payload = payload[..payload.len().min(125)].to_vec();
                    let opcode = [Opcode::Close, Opcode::Ping, Opcode::Pong][usize::from(kind) - 2];
                    bytes.extend(frame(true, opcode, key, &payload));
                    expected.push(Item::Control(opcode as u8, payload));
                    continue;
                }
                let kind = if kind == 0 { Kind::Text } else { Kind::Binary };
                let size = payload.len().div_ceil(usize::from(parts)).max(1);
                let pieces: Vec<&[u8]> = payload.chunks(size).collect();
                let pieces = if pieces.is_empty() { vec![&[][..]] } else { pieces };
                for (index, piece) in pieces.iter().enumerate() {
                    let opcode = if index == 0 { kind.opcode() } else { Opcode::Continuation };
                    bytes.extend(frame(index + 1 == pieces.len(), opcode, key, piece));
                }
                expected.push(Item::Message(kind, payload));
            }
            let reader = Reader::new(key.is_none(), 1 << 20);
            prop_assert_eq!(read(reader.clone(), &bytes, &cuts), expected.clone());
            prop_assert_eq!(read(reader, &bytes, &[usize::MAX]), expected);
        }

        #[test]
        fn noise_means_the_same_however_it_is_cut(bytes: Vec<u8>, from_server: bool, cuts in proptest::collection::vec(1usize..9, 1..12)) {
            let reader = Reader::new(from_server, 100);
            let whole = read(reader.clone(), &bytes, &[usize::MAX]);
            prop_assert_eq!(read(reader, &bytes, &cuts), whole);
        }
    }
}
