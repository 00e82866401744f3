//! Length-prefixed messages.

/// Bytes before a message: the flag of compression, and its length.
pub const PREFIX: usize = 5;

/// The bytes before a message of `len` bytes that is not compressed.
pub fn prefix(len: u32) -> [u8; PREFIX] {
    let [a, b, c, d] = len.to_be_bytes();
    [0, a, b, c, d]
}

/// Which rule the other end broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Violation {
    /// A compressed message, without an encoding that was agreed on.
    Compressed,
    /// A flag of compression that is neither 0 nor 1.
    UnknownFlag,
    /// A message longer than is taken.
    TooLong,
    /// The stream ended within a message.
    Truncated,
}

impl Violation {
    /// Description.
    pub const fn why(self) -> &'static str {
        match self {
            Self::Compressed => "a compressed message, and no compression was agreed on",
            Self::UnknownFlag => "a message whose flag of compression is neither 0 nor 1",
            Self::TooLong => "a message that is too long",
            Self::Truncated => "a stream that ends within a message",
        }
    }
}

/// Meaning of a stream's bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A message of this number of bytes begins.
    Begin(u32),
    /// A part of it.
    Data(&'a [u8]),
    /// It is whole.
    End,
}

/// Reads the messages of one direction of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    prefix: [u8; PREFIX],
    /// Bytes of the prefix that came; all of them within a message.
    have: u8,
    /// Bytes of the message that did not come.
    left: u32,
    most: u32,
}

impl Default for Reader {
    fn default() -> Self {
        Self::new(u32::MAX)
    }
}

impl Reader {
    /// Takes messages of at most `most` bytes.
    pub const fn new(most: u32) -> Self {
        Self { prefix: [0; PREFIX], have: 0, left: 0, most }
    }

    /// Reads on until there is an event; `None` once all of `input` is used up. After an error nothing more may be read.
    #[inline]
    pub fn read<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Event<'a>>, Violation> {
        if usize::from(self.have) < PREFIX {
            let have = usize::from(self.have);
            let (now, rest) = input.split_at((PREFIX - have).min(input.len()));
            self.prefix[have..have + now.len()].copy_from_slice(now);
            self.have += now.len() as u8;
            *input = rest;
            match self.prefix[0] {
                _ if self.have == 0 => return Ok(None),
                0 => {}
                1 => return Err(Violation::Compressed),
                _ => return Err(Violation::UnknownFlag),
            }
            if usize::from(self.have) < PREFIX {
                return Ok(None);
            }
            let [_, length @ ..] = self.prefix;
            self.left = u32::from_be_bytes(length);
            return if self.left > self.most {
                Err(Violation::TooLong)
            } else {
                Ok(Some(Event::Begin(self.left)))
            };
        }
        if self.left == 0 {
            self.have = 0;
            return Ok(Some(Event::End));
        }
        let (now, rest) = input.split_at((self.left as usize).min(input.len()));
        if now.is_empty() {
            return Ok(None);
        }
        self.left -= now.len() as u32;
        *input = rest;
        Ok(Some(Event::Data(now)))
    }

    /// Whether the stream may end here.
    pub fn end(&self) -> Result<(), Violation> {
        if self.have == 0 { Ok(()) } else { Err(Violation::Truncated) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Messages of a stream that comes in pieces, and whether it may end behind them.
    fn messages(bytes: &[u8], cuts: &[usize], most: u32) -> Result<(Vec<Vec<u8>>, bool), Violation> {
        let (mut reader, mut messages, mut rest) = (Reader::new(most), Vec::new(), bytes);
        for cut in cuts.iter().cycle() {
            let (mut now, later) = rest.split_at((*cut).min(rest.len()));
            while let Some(event) = reader.read(&mut now)? {
                match event {
                    Event::Begin(_) => messages.push(Vec::new()),
                    Event::Data(data) => messages.last_mut().unwrap().extend_from_slice(data),
                    Event::End => {}
                }
            }
            assert!(now.is_empty());
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        Ok((messages, reader.end().is_ok()))
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_messages(
            sent in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 0..9),
            cuts in proptest::collection::vec(1usize..200, 1..20), lost in 1usize..5,
        ) {
            let bytes: Vec<u8> =
                sent.iter().flat_map(|message| [&prefix(message.len() as u32)[..], message].concat()).collect();
            prop_assert_eq!(messages(&bytes, &cuts, 300), Ok((sent.clone(), true)));
            if let Some(last) = sent.last() {
                let cut = &bytes[..bytes.len() - lost.min(PREFIX - 1).min(last.len() + 1)];
                prop_assert_eq!(messages(cut, &cuts, 300).map(|(_, ends)| ends), Ok(false));
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..500), cuts in proptest::collection::vec(1usize..200, 1..20)) {
            prop_assert_eq!(messages(&bytes, &cuts, 90), messages(&bytes, &[bytes.len().max(1)], 90));
        }
    }

    #[test]
    fn refuses_by_the_prefix_alone() {
        let read = |bytes: &[u8]| Reader::new(10).read(&mut &bytes[..]).map(|event| event.is_some());
        assert_eq!(read(&[0, 0, 0, 0, 10]), Ok(true));
        assert_eq!(read(&[0, 0, 0, 0, 11]), Err(Violation::TooLong));
        assert_eq!(read(&[0, 0xff, 0xff, 0xff, 0xff]), Err(Violation::TooLong));
        assert_eq!(read(&[1]), Err(Violation::Compressed));
        assert_eq!(read(&[2]), Err(Violation::UnknownFlag));
        assert_eq!(read(&[0, 0]), Ok(false));
    }
}
