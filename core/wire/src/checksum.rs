//! The Internet checksum (RFC 1071), whole and incremental, and CRC-32C (RFC 9260 appendix A).
//!
//! Sums are unfolded: any number that leaves the right rest modulo 2^16 - 1, and zero only if every word was zero.

/// Bytes summed side by side: as many as fill the registers of a processor's vector unit.
const BLOCK: usize = 64;
/// From here on it pays to begin with blocks.
const LONG: usize = 256;

/// The ones' complement sum of `bytes` as big-endian 16-bit words, added to `sum`, not folded. An odd last byte counts
/// as the high half of a word.
#[inline]
pub fn sum(bytes: &[u8], sum: u64) -> u64 {
    // The sum of swapped words is the swapped sum (RFC 1071 section 2 (B)): words are read as the processor reads them.
    let (long, rest) = bytes.split_at(if bytes.len() < LONG { 0 } else { bytes.len() / BLOCK * BLOCK });
    let mut total = if long.is_empty() { 0 } else { sum_blocks(long) };
    // 2^64 leaves the rest 1, so a carry is added at the lower end. Adding it never carries again.
    let mut add = |word: u64| {
        let (sum, carry) = total.overflowing_add(word);
        total = sum + u64::from(carry);
    };
    let (words, rest) = rest.as_chunks::<8>();
    for word in words {
        add(u64::from_ne_bytes(*word));
    }
    let (words, rest) = rest.as_chunks::<4>();
    if let [word] = words {
        add(u64::from(u32::from_ne_bytes(*word)));
    }
    let (words, rest) = rest.as_chunks::<2>();
    if let [word] = words {
        add(u64::from(u16::from_ne_bytes(*word)));
    }
    if let [last] = rest {
        add(u64::from(u16::from_ne_bytes([*last, 0])));
    }
    sum + u64::from(u16::from_be(fold(total)))
}

/// The lower half of a word of 64 bits.
const LOW_HALF: u64 = 0xffff_ffff;

/// The sum of whole blocks, in the processor's byte order.
fn sum_blocks(bytes: &[u8]) -> u64 {
    // 2^32 leaves the rest 1 too, so a word of 64 bits counts as two of 32; 2^31 words fit before anything is lost.
    let mut lanes = [0u64; BLOCK / 8];
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    for block in blocks {
        let (words, _) = block.as_chunks::<8>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            let word = u64::from_ne_bytes(*word);
            *lane += (word & LOW_HALF) + (word >> 32);
        }
    }
    lanes.iter().sum()
}

/// Folds a sum to 16 bits. Only a sum of zero folds to zero.
#[inline(always)]
pub fn fold(sum: u64) -> u16 {
    // A number plus itself with its halves swapped has the sum of the halves, carry included, in its upper half.
    let sum = (sum.wrapping_add(sum.rotate_left(32)) >> 32) as u32;
    (sum.wrapping_add(sum.rotate_left(16)) >> 16) as u16
}

/// Folds a sum to 16 bits and complements it: the checksum of the header, in host order.
#[inline(always)]
pub fn finish(sum: u64) -> u16 {
    !fold(sum)
}

/// The checksum after one word of what it covers changed from `old` to `new` (RFC 1624 section 3, equation 3).
#[inline(always)]
pub fn update(checksum: u16, old: u16, new: u16) -> u16 {
    finish(u64::from(!checksum) + u64::from(!old) + u64::from(new))
}

/// CRC-32C of `bytes`; in a packet its lowest byte comes first (RFC 9260 appendix A).
pub fn crc32c(bytes: &[u8]) -> u32 {
    !crc32c_raw(u32::MAX, bytes)
}

/// The remainder after `bytes`, begun with `crc`, neither complemented. Begun with zero it is linear: the remainder of
/// two texts' exclusive or is their remainders' exclusive or.
#[inline]
pub(crate) fn crc32c_raw(crc: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(crc, |crc, byte| crc >> 8 ^ CRC32C[usize::from(crc as u8 ^ byte)])
}

/// The remainder of every byte.
static CRC32C: [u32; 256] = {
    // Castagnoli's polynomial, lowest power first.
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    let (mut table, mut index) = ([0; 256], 0);
    while index < 256 {
        let (mut crc, mut bit) = (index as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Word by word, carry by carry: RFC 1071 section 4.1.
    fn plain(bytes: &[u8]) -> u16 {
        let mut total = 0u32;
        for pair in bytes.chunks(2) {
            total += u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low));
            total = (total & 0xffff) + (total >> 16);
        }
        !(total as u16)
    }

    /// The example of RFC 1071 section 3: the sum is ddf2.
    #[test]
    fn sums_the_example_of_the_rfc() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(fold(sum(&bytes, 0)), 0xddf2);
        assert_eq!(finish(sum(&bytes, 0)), !0xddf2);
    }

    #[test]
    fn only_zero_folds_to_zero() {
        assert_eq!(fold(0), 0);
        for n in [0xffff, 0xffff_0000, 0xffff_ffff, 1 << 63, u64::MAX] {
            assert_ne!(fold(n), 0, "{n:#x}");
        }
    }

    /// The examples of RFC 3720 appendix B.4, and the check value of the catalogues.
    #[test]
    fn divides_the_examples_of_the_rfc() {
        let counted: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(&counted), 0x46dd_794e);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    /// The example of RFC 1624 section 4: the sum must not become minus zero.
    #[test]
    fn updates_the_example_of_the_rfc() {
        assert_eq!(update(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    proptest! {
        #[test]
        fn agrees_with_the_plain_way(bytes: Vec<u8>) {
            prop_assert_eq!(finish(sum(&bytes, 0)), plain(&bytes));
        }

        #[test]
        fn sums_piece_by_piece(words: Vec<u16>, more: Vec<u8>) {
            let first: Vec<u8> = words.iter().flat_map(|w| w.to_be_bytes()).collect();
            let whole = [&first[..], &more[..]].concat();
            prop_assert_eq!(fold(sum(&more, sum(&first, 0))), fold(sum(&whole, 0)));
        }

        #[test]
        fn folds_as_a_remainder(sum: u64) {
            prop_assert_eq!(u64::from(fold(sum)) % 0xffff, sum % 0xffff);
        }

        #[test]
        fn updates_as_if_summed_again(mut words in prop::collection::vec(any::<u16>(), 2..40), new: u16, at: usize) {
            let whole = |words: &[u16]| finish(words.iter().map(|w| u64::from(*w)).sum());
            // Of all zeros RFC 1624 makes the other zero; no header is all zeros.
            words[0] |= 1;
            let (before, at) = (whole(&words), 1 + at % (words.len() - 1));
            let old = std::mem::replace(&mut words[at], new);
            prop_assert_eq!(update(before, old, new), whole(&words));
        }
    }
}
