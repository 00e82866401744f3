//! Fletcher's checksum of LSAs and LSPs.

/// Both sums of Fletcher's checksum modulo 255 (RFC 905 annex B, ISO/IEC 8473 annex C).
pub fn sums(bytes: &[u8]) -> (u32, u32) {
    let (mut c0, mut c1) = (0u32, 0u32);
    // So many bytes fit into 32 bits before the modulus is due.
    for block in bytes.chunks(4_096) {
        for byte in block {
            c0 += u32::from(*byte);
            c1 += c0;
        }
        (c0, c1) = (c0 % 255, c1 % 255);
    }
    (c0, c1)
}

/// The checksum of `bytes` whose field at `at` is zero (RFC 905 annex B, ISO/IEC 8473 annex C): with it, both sums are zero.
pub fn fletcher(bytes: &[u8], at: usize) -> u16 {
    let (c0, c1) = (sums(bytes).0 as i64, sums(bytes).1 as i64);
    let behind = (bytes.len() - at - 1) as i64;
    let x = (behind * c0 - c1).rem_euclid(255);
    let y = (c1 - (behind + 1) * c0).rem_euclid(255);
    let full = |value: i64| if value == 0 { 255 } else { value as u16 };
    full(x) << 8 | full(y)
}
