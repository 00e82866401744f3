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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_that_are_known() {
        let sums = ["abcde", "abcdef", "abcdefgh"].map(|text| sums(text.as_bytes()));
        assert_eq!(sums, [(0xf0, 0xc8), (0x57, 0x20), (0x27, 0x06)]);
    }

    #[test]
    fn with_its_checksum_both_sums_are_zero() {
        for len in [20, 21, 254, 255, 256, 1_492, 9_000] {
            for fill in [0, 1, 0x7f, 0xff] {
                for at in [0, 12, len - 2] {
                    let mut bytes = vec![fill; len];
                    bytes[at..at + 2].fill(0);
                    let checksum = fletcher(&bytes, at);
                    assert!(checksum & 0xff != 0 && checksum >> 8 != 0, "zero is no checksum");
                    bytes[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
                    assert_eq!(super::sums(&bytes), (0, 0), "{len} bytes of {fill}, at {at}");
                    bytes[(at + 5) % len] ^= 4;
                    assert_ne!(super::sums(&bytes), (0, 0));
                }
            }
        }
    }
}
