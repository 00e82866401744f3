//! Bytes without meaning that both ends know.
//!
//! They come from a table of a prime number of bytes, so that a piece of any usual length that is lost, doubled or moved
//! shows.

use std::sync::LazyLock;

/// Bytes before they come again; prime.
pub(crate) const PERIOD: usize = 16_381;
/// Copies of them in the table, so that pieces are longer.
const TIMES: usize = 4;

static TABLE: LazyLock<Box<[u8]>> = LazyLock::new(|| {
    let key = random::key(0x0065_6167_7265);
    let once: Vec<u8> = (0..PERIOD as u64).map(|place| (random::word(key, place) >> 56) as u8).collect();
    once.repeat(TIMES).into()
});

/// Where in the table byte `offset` of message `number` is. Offsets count modulo 2^32.
#[inline]
fn place(number: u64, offset: u64) -> usize {
    ((u64::from(number as u32) * 509 + u64::from(offset as u32)) % PERIOD as u64) as usize
}

/// Hands out bytes `offset..offset + len` of message `number` in pieces.
#[inline]
pub(crate) fn pieces(number: u64, offset: u64, len: u64, mut take: impl FnMut(&[u8])) {
    let (mut offset, mut left) = (offset, len);
    while left > 0 {
        let piece = lasting(number, offset, left);
        take(piece);
        offset += piece.len() as u64;
        left -= piece.len() as u64;
    }
}

/// Some of the bytes `offset..offset + len` of message `number`, from the first on: as many as are in one piece.
#[inline]
pub(crate) fn lasting(number: u64, offset: u64, len: u64) -> &'static [u8] {
    let (table, start) = (&**TABLE, place(number, offset));
    // A piece ends where offsets wrap: the table begins anew there.
    let until_wrap = (1 << 32) - u64::from(offset as u32);
    let piece = len.min((table.len() - start) as u64).min(until_wrap);
    &table[start..start + piece as usize]
}

/// Writes the bytes of message `number` from `offset` on.
#[inline]
pub(crate) fn write(number: u64, offset: u64, out: &mut [u8]) {
    let start = place(number, offset);
    if let Some(piece) = TABLE.get(start..start + out.len())
        && u64::from(offset as u32) + out.len() as u64 <= 1 << 32
    {
        return out.copy_from_slice(piece);
    }
    write_pieces(number, offset, out);
}

#[inline(never)]
fn write_pieces(number: u64, offset: u64, out: &mut [u8]) {
    let mut at = 0;
    pieces(number, offset, out.len() as u64, |piece| {
        out[at..at + piece.len()].copy_from_slice(piece);
        at += piece.len();
    });
}

/// Whether `data` matches the bytes of message `number` at `offset`.
pub(crate) fn matches(number: u64, offset: u64, data: &[u8]) -> bool {
    let (mut rest, mut same) = (data, true);
    pieces(number, offset, data.len() as u64, |piece| {
        let (now, later) = rest.split_at(piece.len());
        same &= now == piece;
        rest = later;
    });
    same
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(number: u64, offset: u64, len: u64) -> Vec<u8> {
        let mut out = Vec::new();
        pieces(number, offset, len, |piece| out.extend_from_slice(piece));
        out
    }

    #[test]
    fn messages_differ_and_repeat_after_a_prime() {
        assert_ne!(bytes(0, 0, 64), bytes(1, 0, 64));
        assert_ne!(bytes(0, 0, 64), bytes(0, 16_384, 64));
        assert_eq!(bytes(0, 0, 64), bytes(0, PERIOD as u64, 64));
    }

    proptest! {
        #[test]
        fn pieces_make_the_whole(number in 0u64..1 << 34, offset in 0u64..1 << 34, cut in 0u64..40_000, len in 0u64..40_000) {
            let cut = cut.min(len);
            let mut both = bytes(number, offset, cut);
            both.extend(bytes(number, offset + cut, len - cut));
            prop_assert!(matches(number, offset, &both));
            prop_assert_eq!(both, bytes(number, offset, len));
        }

        #[test]
        fn pieces_end_where_offsets_wrap(number in 0u64..1 << 34, offset in (1u64 << 32) - 40_000..1 << 32, len in 1u64..80_000) {
            let single: Vec<u8> = (offset..offset + len).map(|offset| lasting(number, offset, 1)[0]).collect();
            let piece = lasting(number, offset, len);
            prop_assert!(!piece.is_empty());
            prop_assert_eq!(piece, &single[..piece.len()]);
            let mut written = vec![0; len as usize];
            write(number, offset, &mut written);
            prop_assert!(bytes(number, offset, len) == single && written == single);
        }
    }
}
