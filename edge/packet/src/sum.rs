//! 16-bit words in headers, and their sums.

/// The 16-bit word at `at`, if it is there.
#[inline(always)]
pub(crate) fn pair(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]))
}

/// Writes a 16-bit word at `at`.
#[inline(always)]
pub(crate) fn put(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// The Internet checksum's sum over these bytes, an even number of them (RFC 1071), on top of `sum`.
pub(crate) fn add(sum: u32, bytes: &[u8]) -> u32 {
    bytes.as_chunks::<2>().0.iter().fold(sum, |sum, two| sum + u32::from(u16::from_be_bytes(*two)))
}

/// A sum as 16 bits, carries added.
pub(crate) fn fold(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}
