//! A message with its prefix, so that any byte of it can be written at any time.

use crate::message::{Message, Vars};
use crate::vary::{Content, Part};
use ::grpc::{PREFIX, prefix};

/// Bytes compared at a time.
const PIECE: usize = 1_024;

/// Messages of one end, made ready.
#[derive(Debug)]
pub(crate) struct Framer {
    message: Message,
    /// Whether its bytes are given, none of them generated.
    pub(crate) is_given: bool,
}

impl Framer {
    pub(crate) fn new(content: &Content) -> Self {
        let is_given = !content.parts.iter().any(|part| matches!(part, Part::Generated(_)));
        Self { message: Message::of(content), is_given }
    }

    /// Bytes of the message itself.
    pub(crate) fn payload(&self, vars: &Vars) -> u64 {
        self.message.len(vars).min(u64::from(u32::MAX))
    }

    /// Bytes of it with its prefix.
    pub(crate) fn len(&self, vars: &Vars) -> u64 {
        PREFIX as u64 + self.payload(vars)
    }

    /// Writes its bytes from `offset` on.
    pub(crate) fn write(&self, vars: &Vars, offset: u64, out: &mut [u8]) {
        let (mut offset, mut out) = (offset, out);
        if offset < PREFIX as u64 {
            let bytes = prefix(self.payload(vars) as u32);
            let bytes = &bytes[offset as usize..];
            let (now, rest) = out.split_at_mut(bytes.len().min(out.len()));
            now.copy_from_slice(&bytes[..now.len()]);
            (offset, out) = (offset + now.len() as u64, rest);
        }
        if !out.is_empty() {
            self.message.write(vars, offset - PREFIX as u64, out);
        }
    }

    /// Whether `data` is the message's content at `offset`.
    pub(crate) fn matches(&self, vars: &Vars, offset: u64, data: &[u8]) -> bool {
        if offset + data.len() as u64 > self.payload(vars) {
            return false;
        }
        let (mut at, mut same) = (offset, true);
        for piece in data.chunks(PIECE) {
            let mut expected = [0; PIECE];
            let expected = &mut expected[..piece.len()];
            self.message.write(vars, at, expected);
            same &= expected == piece;
            at += piece.len() as u64;
        }
        same
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vary::Size;
    use ::grpc::{Event, Reader};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_cut_gives_the_same_bytes_which_are_the_message(
            size in 0u64..3_000, request in 0u64..9, cuts in proptest::collection::vec(1usize..500, 1..20),
        ) {
            let framer = Framer::new(&Content::generated(Size::Fixed(size)));
            let vars = Vars { session: 0, request, turn: 0, body: 0, seconds: 0 };
            let mut whole = vec![0; framer.len(&vars) as usize];
            framer.write(&vars, 0, &mut whole);
            let mut at = 0;
            for cut in cuts.iter().cycle() {
                let mut out = vec![0; (*cut).min(whole.len() - at)];
                framer.write(&vars, at as u64, &mut out);
                prop_assert_eq!(&out[..], &whole[at..at + out.len()]);
                at += out.len();
                if at == whole.len() {
                    break;
                }
            }
            let (mut reader, mut rest, mut got) = (Reader::new(3_000), &whole[..], Vec::new());
            while let Some(event) = reader.read(&mut rest).unwrap() {
                if let Event::Data(data) = event {
                    prop_assert!(framer.matches(&vars, got.len() as u64, data));
                    got.extend_from_slice(data);
                }
            }
            prop_assert_eq!((got.len() as u64, reader.end()), (size, Ok(())));
            if let Some(byte) = got.first_mut() {
                *byte ^= 1;
                prop_assert!(!framer.matches(&vars, 0, &got));
            }
            prop_assert!(!framer.matches(&vars, size, &[0]));
        }
    }
}
