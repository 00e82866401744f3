//! The Internet checksum (RFC 1071), whole and incremental.

/// The ones' complement sum of `bytes` as big-endian 16-bit words, added to `sum`, not folded. An odd last byte counts
/// as the high half of a word.
pub fn sum(bytes: &[u8], sum: u64) -> u64 {
    let _ = bytes;
    sum
}

/// Folds a sum to 16 bits and complements it: the checksum as it stands in the header, in host order.
#[inline(always)]
pub fn finish(sum: u64) -> u16 {
    let _ = sum;
    todo!()
}
