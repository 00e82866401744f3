//! Compression of messages: what both ends agree on, and the two directions. Source: RFC 7692 (permessage-deflate).
//!
//! A message is one run of DEFLATE that ends with an empty stored block, of which the last four bytes are not sent (section 7.2.1). The
//! DEFLATE itself is flate2's.
//!
//! Not here: when messages are compressed, and their frames. A receiver forgets its window after a block marked as the last of its stream
//! (section 7.2.3.4).
//!
//! Invariant: [`Inflater`] hands out at most as many bytes of a message as it was made for, whatever comes, and the same ones however the
//! message is cut.

use crate::reader::Violation;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};

/// Name of the extension.
const NAME: &str = "permessage-deflate";
/// Base-2 logarithm of the largest window (section 7.1.2).
pub const WINDOW_MAX: u8 = 15;
/// That of the smallest.
pub const WINDOW_MIN: u8 = 8;
/// The smallest window that zlib writes.
const WRITTEN_MIN: u8 = 9;
/// Bytes that the sender leaves out at the end of a message.
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];
/// Bytes handed out at a time.
const PIECE: usize = 4 << 10;

/// Parameters of the extension: offered, or agreed on (section 7.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deflate {
    /// Clients compress each message by itself.
    pub client_no_context_takeover: bool,
    /// Servers compress each message by itself.
    pub server_no_context_takeover: bool,
    /// Base-2 logarithm of the window that clients compress with, [`WINDOW_MIN`] to [`WINDOW_MAX`].
    pub client_max_window_bits: u8,
    /// Base-2 logarithm of the window that servers compress with.
    pub server_max_window_bits: u8,
}

impl Default for Deflate {
    fn default() -> Self {
        Self {
            client_no_context_takeover: false,
            server_no_context_takeover: false,
            client_max_window_bits: WINDOW_MAX,
            server_max_window_bits: WINDOW_MAX,
        }
    }
}

/// Parameters of one item of `Sec-WebSocket-Extensions`.
#[derive(Debug, Default)]
struct Parameters {
    client_alone: bool,
    server_alone: bool,
    /// `Some(None)` without a value.
    client_bits: Option<Option<u8>>,
    server_bits: Option<u8>,
}

impl Parameters {
    /// Reads an item; `None` for another extension.
    ///
    /// # Errors
    /// For an unknown or repeated parameter and one with an invalid value (section 7.1).
    fn read(item: &str) -> Option<Result<Self, ()>> {
        let mut parts = item.split(';').map(str::trim);
        if !parts.next()?.eq_ignore_ascii_case(NAME) {
            return None;
        }
        let mut found = Self::default();
        for part in parts {
            if found.take(part).is_none() {
                return Some(Err(()));
            }
        }
        Some(Ok(found))
    }

    fn take(&mut self, part: &str) -> Option<()> {
        let (name, value) = match part.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim().trim_matches('"'))),
            None => (part, None),
        };
        let bits = |text: &str| {
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
            let bits: u8 = text.parse().ok().filter(|_| is_plain)?;
            (WINDOW_MIN..=WINDOW_MAX).contains(&bits).then_some(bits)
        };
        let is_new = match (name, value) {
            ("client_no_context_takeover", None) => !std::mem::replace(&mut self.client_alone, true),
            ("server_no_context_takeover", None) => !std::mem::replace(&mut self.server_alone, true),
            ("client_max_window_bits", None) => self.client_bits.replace(None).is_none(),
            ("client_max_window_bits", Some(text)) => self.client_bits.replace(Some(bits(text)?)).is_none(),
            ("server_max_window_bits", Some(text)) => self.server_bits.replace(bits(text)?).is_none(),
            _ => return None,
        };
        is_new.then_some(())
    }
}

impl Deflate {
    /// The value of a client's `Sec-WebSocket-Extensions`.
    pub fn offer(&self) -> String {
        let mut text = format!("{NAME}; client_max_window_bits");
        if self.client_max_window_bits < WINDOW_MAX {
            text += &format!("={}", self.client_max_window_bits);
        }
        text + &self.rest(self.server_max_window_bits < WINDOW_MAX)
    }

    /// The parameters that an offer and a response have in common.
    fn rest(&self, server_bits: bool) -> String {
        let mut text = String::new();
        if server_bits {
            text += &format!("; server_max_window_bits={}", self.server_max_window_bits);
        }
        if self.client_no_context_takeover {
            text += "; client_no_context_takeover";
        }
        if self.server_no_context_takeover {
            text += "; server_no_context_takeover";
        }
        text
    }

    /// Agreement of a server with these settings to one of a client's offers, the items of `Sec-WebSocket-Extensions`: to the first valid one,
    /// and the value of its response; `None` without one (section 5.1).
    pub fn accept<'a>(&self, offers: impl Iterator<Item = &'a str>) -> Option<(Self, String)> {
        let asked = offers.filter_map(Parameters::read).find_map(Result::ok)?;
        // A client that does not list its window takes no limit to it (section 7.1.2.2).
        let client_bits = asked.client_bits.map(|bits| bits.unwrap_or(WINDOW_MAX));
        let agreed = Self {
            client_no_context_takeover: self.client_no_context_takeover || asked.client_alone,
            server_no_context_takeover: self.server_no_context_takeover || asked.server_alone,
            client_max_window_bits: client_bits
                .map_or(WINDOW_MAX, |bits| bits.min(self.client_max_window_bits)),
            server_max_window_bits: self.server_max_window_bits.min(asked.server_bits.unwrap_or(WINDOW_MAX)),
        };
        let mut text = NAME.to_owned();
        if agreed.client_max_window_bits < WINDOW_MAX {
            text += &format!("; client_max_window_bits={}", agreed.client_max_window_bits);
        }
        text += &agreed.rest(asked.server_bits.is_some() || agreed.server_max_window_bits < WINDOW_MAX);
        Some((agreed, text))
    }

    /// Agreement that follows from a client's offer, which this is, and the items of a server's `Sec-WebSocket-Extensions`; `None` without items.
    ///
    /// # Errors
    /// If the response does not fit the offer (section 7.1).
    pub fn agreed<'a>(&self, mut items: impl Iterator<Item = &'a str>) -> Result<Option<Self>, &'static str> {
        let Some(item) = items.next() else { return Ok(None) };
        let Some(found) = Parameters::read(item) else { return Err("an extension that was not offered") };
        let Ok(found) = found else { return Err("permessage-deflate with an invalid parameter") };
        if items.next().is_some() {
            return Err("more extensions than were offered");
        }
        if self.server_no_context_takeover && !found.server_alone {
            return Err("permessage-deflate without server_no_context_takeover, which was offered");
        }
        let server_bits = found.server_bits.unwrap_or(WINDOW_MAX);
        if server_bits > self.server_max_window_bits {
            return Err("permessage-deflate with a larger server_max_window_bits than was offered");
        }
        let Some(client_bits) = found.client_bits.unwrap_or(Some(WINDOW_MAX)) else {
            return Err("permessage-deflate with an invalid parameter");
        };
        Ok(Some(Self {
            client_no_context_takeover: self.client_no_context_takeover || found.client_alone,
            server_no_context_takeover: found.server_alone,
            client_max_window_bits: client_bits.min(self.client_max_window_bits),
            server_max_window_bits: server_bits,
        }))
    }
}

/// Compresses messages, one after the other.
#[derive(Debug)]
pub struct Deflater {
    inner: Compress,
    takeover: bool,
}

impl Deflater {
    /// For a window of 2^`bits` bytes and a level of 1 to 9; with `takeover` messages refer back to those before. `None` for a window
    /// that is too small to be written: such messages are sent as they are (section 6.1).
    pub fn new(bits: u8, takeover: bool, level: u8) -> Option<Self> {
        let level = Compression::new(u32::from(level.clamp(1, 9)));
        let inner = (WRITTEN_MIN..=WINDOW_MAX)
            .contains(&bits)
            .then(|| Compress::new_with_window_bits(level, false, bits))?;
        Some(Self { inner, takeover })
    }

    /// Compresses a message: the bytes that are sent for it.
    pub fn message(&mut self, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(data.len() / 2 + 64);
        let begun = self.inner.total_in();
        loop {
            // More room than a flush takes, so that it is never written twice.
            out.reserve(64 + (data.len() / 8));
            let read = (self.inner.total_in() - begun) as usize;
            let done = self.inner.compress_vec(&data[read..], &mut out, FlushCompress::Sync);
            debug_assert!(done.is_ok());
            let read = (self.inner.total_in() - begun) as usize;
            if done.is_err() || read == data.len() && out.len() < out.capacity() {
                break;
            }
        }
        if !self.takeover {
            self.inner.reset();
        }
        if out.ends_with(&TAIL) {
            out.truncate(out.len() - TAIL.len());
        }
        if out.is_empty() {
            // A message of nothing after another: there was nothing to flush (section 7.2.3.6).
            out.push(0);
        }
        out
    }
}

/// Decompresses messages, one after the other.
#[derive(Debug)]
pub struct Inflater {
    inner: Decompress,
    takeover: bool,
    /// Bytes left of the longest message that is taken.
    left: u64,
    most: u64,
}

impl Inflater {
    /// For a window of 2^`bits` bytes and messages of at most `most` bytes; with `takeover` messages may refer back to those before.
    pub fn new(bits: u8, takeover: bool, most: u64) -> Self {
        let bits = bits.clamp(WRITTEN_MIN, WINDOW_MAX);
        Self { inner: Decompress::new_with_window_bits(false, bits), takeover, left: most, most }
    }

    /// Takes the next bytes of a message, and hands out what they mean.
    ///
    /// # Errors
    /// If they mean nothing, or more than is taken; and the errors of `tell`.
    pub fn push(
        &mut self,
        mut data: &[u8],
        mut tell: impl FnMut(&[u8]) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let mut piece = [0; PIECE];
        loop {
            let (read, written) = (self.inner.total_in(), self.inner.total_out());
            let done = self.inner.decompress(data, &mut piece, FlushDecompress::Sync);
            let read = (self.inner.total_in() - read) as usize;
            let made = (self.inner.total_out() - written) as usize;
            let taken = (made as u64).min(self.left) as usize;
            self.left -= taken as u64;
            if taken > 0 {
                tell(&piece[..taken])?;
            }
            if taken < made {
                return Err(Violation::TooLong);
            }
            data = &data[read..];
            match done {
                Err(_) => return Err(Violation::NotDeflate),
                Ok(flate2::Status::StreamEnd) => {
                    self.inner.reset(false);
                    if data.is_empty() {
                        return Ok(());
                    }
                }
                Ok(_) if made == PIECE => {}
                Ok(_) if data.is_empty() || read == 0 => return Ok(()),
                Ok(_) => {}
            }
        }
    }

    /// The message is whole: hands out the rest of it.
    ///
    /// # Errors
    /// As [`Inflater::push`].
    pub fn end(&mut self, tell: impl FnMut(&[u8]) -> Result<(), Violation>) -> Result<(), Violation> {
        self.push(&TAIL, tell)?;
        self.left = self.most;
        if !self.takeover {
            self.inner.reset(false);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn inflate(inflater: &mut Inflater, data: &[u8], cuts: &[usize]) -> Result<Vec<u8>, Violation> {
        let (mut out, mut rest) = (Vec::new(), data);
        for cut in cuts.iter().cycle() {
            let (now, later) = rest.split_at(rest.len().min(*cut));
            inflater.push(now, |piece| {
                out.extend_from_slice(piece);
                Ok(())
            })?;
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        inflater.end(|piece| {
            out.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(out)
    }

    fn once(data: &[u8]) -> Result<Vec<u8>, Violation> {
        inflate(&mut Inflater::new(15, true, 1_000), data, &[1])
    }

    /// Examples of RFC 7692 section 7.2.3.
    #[test]
    fn messages_of_the_rfc() {
        let hello = Ok(b"Hello".to_vec());
        assert_eq!(once(&[0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]), hello);
        assert_eq!(once(&[0x00, 0x05, 0x00, 0xfa, 0xff, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x00]), hello);
        assert_eq!(once(&[0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00]), hello, "a last block");
        assert_eq!(
            once(&[0xf2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xff, 0xff, 0xca, 0xc9, 0xc9, 0x07, 0x00]),
            hello
        );
        let mut inflater = Inflater::new(15, true, 5);
        for bytes in [&[0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00][..], &[0xf2, 0x00, 0x11, 0x00, 0x00]] {
            assert_eq!(inflate(&mut inflater, bytes, &[2]), hello);
        }
        let mut deflater = Deflater::new(15, true, 6).unwrap();
        assert_eq!(deflater.message(b"Hello"), [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]);
        assert_eq!(deflater.message(b"Hello"), [0xf2, 0x00, 0x11, 0x00, 0x00]);
        assert_eq!(deflater.message(b""), [0]);
        assert_eq!(deflater.message(b""), [0]);
        let mut alone = Deflater::new(9, false, 6).unwrap();
        assert_eq!(alone.message(b"Hello"), alone.message(b"Hello"));
        assert!(Deflater::new(8, true, 6).is_none());
    }

    #[test]
    fn a_bomb_goes_no_further_than_the_limit() {
        let mut deflater = Deflater::new(15, true, 9).unwrap();
        let bomb = deflater.message(&vec![0; 10 << 20]);
        assert!(bomb.len() < 12 << 10);
        let mut out = 0;
        let mut inflater = Inflater::new(15, true, 50_000);
        let done = inflater.push(&bomb, |piece| {
            out += piece.len();
            Ok(())
        });
        assert_eq!((done, out), (Err(Violation::TooLong), 50_000));
        assert_eq!(once(&[0xff, 0xff]), Err(Violation::NotDeflate));
        // Refers back to a message that was compressed by itself.
        let mut inflater = Inflater::new(15, false, 5);
        let hello = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
        assert_eq!(inflate(&mut inflater, &hello, &[9]), Ok(b"Hello".to_vec()));
        assert_eq!(inflate(&mut inflater, &[0xf2, 0x00, 0x11, 0x00, 0x00], &[9]), Err(Violation::NotDeflate));
    }

    #[test]
    fn parameters_are_agreed_on() {
        let all = Deflate::default();
        assert_eq!(all.offer(), "permessage-deflate; client_max_window_bits");
        let small = Deflate {
            client_no_context_takeover: true,
            server_no_context_takeover: true,
            client_max_window_bits: 10,
            server_max_window_bits: 9,
        };
        let text = "permessage-deflate; client_max_window_bits=10; server_max_window_bits=9; client_no_context_takeover; \
                    server_no_context_takeover";
        assert_eq!(small.offer(), text);
        assert_eq!(all.accept([text].into_iter()), Some((small, text.to_owned())));
        assert_eq!(small.agreed([text].into_iter()), Ok(Some(small)));
        // A server's own limits; the client lists no window of its own.
        let (agreed, answer) =
            small.accept(["x-other", "permessage-deflate; what", "Permessage-Deflate"].into_iter()).unwrap();
        assert_eq!(
            answer,
            "permessage-deflate; server_max_window_bits=9; client_no_context_takeover; server_no_context_takeover"
        );
        assert_eq!(agreed, Deflate { client_max_window_bits: 15, ..small });
        assert_eq!(all.accept(["permessage-deflate; server_max_window_bits=16", "x"].into_iter()), None);
        assert_eq!(
            all.accept(["permessage-deflate; server_max_window_bits=\"12\""].into_iter()).unwrap().1,
            "permessage-deflate; server_max_window_bits=12"
        );
        let answered = |own: &Deflate, text: &'static str| own.agreed(text.split(',').map(str::trim));
        assert_eq!(all.agreed(std::iter::empty()), Ok(None));
        assert_eq!(
            answered(&all, "permessage-deflate; client_max_window_bits=8"),
            Ok(Some(Deflate { client_max_window_bits: 8, ..all }))
        );
        for (own, text) in [
            (&all, "x-webkit-deflate-frame"),
            (&all, "permessage-deflate; client_max_window_bits"),
            (&all, "permessage-deflate; client_max_window_bits=010"),
            (&all, "permessage-deflate; client_max_window_bits=16"),
            (&all, "permessage-deflate; server_no_context_takeover; server_no_context_takeover"),
            (&all, "permessage-deflate; server_no_context_takeover=1"),
            (&all, "permessage-deflate, permessage-deflate"),
            (&small, "permessage-deflate; server_max_window_bits=9"),
            (&small, "permessage-deflate; server_no_context_takeover"),
            (&small, "permessage-deflate; server_no_context_takeover; server_max_window_bits=10"),
        ] {
            assert!(answered(own, text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn messages_come_back_however_they_are_cut(
            messages in proptest::collection::vec((any::<u8>(), 0usize..9_000, 1usize..300), 1..8), bits in 9u8..16, takeover: bool,
            level in 1u8..10, cuts in proptest::collection::vec(1usize..900, 1..9),
        ) {
            let mut deflater = Deflater::new(bits, takeover, level).unwrap();
            let mut inflater = Inflater::new(bits, takeover, 9_000);
            for (seed, len, period) in messages {
                let data: Vec<u8> = (0..len).map(|at| ((at % period * usize::from(seed)) >> 3) as u8).collect();
                let sent = deflater.message(&data);
                prop_assert_eq!(inflate(&mut inflater, &sent, &cuts), Ok(data));
            }
        }

        #[test]
        fn noise_means_the_same_however_it_is_cut(noise: Vec<u8>, cuts in proptest::collection::vec(1usize..9, 1..9)) {
            let read = |cuts: &[usize]| {
                let (mut inflater, mut out, mut rest) = (Inflater::new(15, true, 300), Vec::new(), &noise[..]);
                for cut in cuts.iter().cycle() {
                    let (now, later) = rest.split_at(rest.len().min(*cut));
                    rest = later;
                    let done = inflater.push(now, |piece| {
                        out.extend_from_slice(piece);
                        Ok(())
                    });
                    if done.is_err() || rest.is_empty() {
                        return (done, out);
                    }
                }
                unreachable!("the cuts go round")
            };
            prop_assert_eq!(read(&[usize::MAX]), read(&cuts));
        }
    }
}
