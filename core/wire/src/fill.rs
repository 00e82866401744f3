//! Filling of a payload after its given bytes.

/// Filling of a payload after its given bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Fill {
    /// Zeros.
    #[default]
    Zeros,
    /// 00 01 02 … fe ff 00 …, as test frames of RFC 2544 appendix C.2.6.4 have it.
    Counter,
    /// A pseudo-random binary sequence of 2^31 - 1 bits, x^31 + x^28 + 1, inverted (ITU-T O.150 section 5.8).
    Prbs {
        /// Where in the sequence it begins: 31 bits of the shift register; zero stands for all ones.
        seed: u32,
    },
    /// Random bytes of a seed: no sequence any receiver knows, and none that compresses.
    Random {
        /// The same seed makes the same bytes.
        seed: u64,
    },
    /// These bytes again and again.
    Repeat(Vec<u8>),
}

impl Fill {
    /// Fills `payload`.
    pub(crate) fn write(&self, payload: &mut [u8]) {
        match self {
            Self::Zeros => payload.fill(0),
            Self::Counter => payload.iter_mut().enumerate().for_each(|(n, byte)| *byte = n as u8),
            Self::Prbs { seed } => write_prbs31(payload, *seed),
            Self::Random { seed } => write_random(payload, *seed),
            Self::Repeat(bytes) if bytes.is_empty() => payload.fill(0),
            Self::Repeat(bytes) => {
                payload.iter_mut().zip(bytes.iter().cycle()).for_each(|(to, from)| *to = *from)
            }
        }
    }
}

/// First bit first into the highest bit of a byte.
fn write_prbs31(payload: &mut [u8], seed: u32) {
    const MASK: u32 = (1 << 31) - 1;
    let mut register = if seed & MASK == 0 { MASK } else { seed & MASK };
    for byte in payload {
        *byte = 0;
        for _ in 0..8 {
            let bit = (register >> 30 ^ register >> 27) & 1;
            register = (register << 1 | bit) & MASK;
            *byte = *byte << 1 | (bit ^ 1) as u8;
        }
    }
}

fn write_random(payload: &mut [u8], seed: u64) {
    for (n, chunk) in payload.chunks_mut(8).enumerate() {
        let bytes = random::word(seed, n as u64 + 1).to_le_bytes();
        chunk.copy_from_slice(&bytes[..chunk.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(fill: &Fill, bytes: usize) -> Vec<u8> {
        let mut payload = vec![0xaa; bytes];
        fill.write(&mut payload);
        payload
    }

    #[test]
    fn counts_as_rfc_2544_does() {
        let bytes = filled(&Fill::Counter, 258);
        assert_eq!((&bytes[..3], &bytes[254..]), (&[0, 1, 2][..], &[0xfe, 0xff, 0, 1][..]));
    }

    #[test]
    fn repeats() {
        assert_eq!(filled(&Fill::Repeat(b"tide".to_vec()), 6), b"tideti");
        assert_eq!(filled(&Fill::Repeat(Vec::new()), 2), [0, 0]);
        assert_eq!(filled(&Fill::Zeros, 2), [0, 0]);
    }

    /// Every bit is the sum of those 31 and 28 before it, before they are inverted.
    #[test]
    fn is_the_sequence_of_o_150() {
        for seed in [0, 1, 0x1234_5678] {
            let bytes = filled(&Fill::Prbs { seed }, 9000);
            let bits: Vec<u8> =
                bytes.iter().flat_map(|byte| (0..8).rev().map(move |n| !byte >> n & 1)).collect();
            assert!((31..bits.len()).all(|n| bits[n] == bits[n - 31] ^ bits[n - 28]));
            assert!(bits.contains(&1) && bits.contains(&0));
        }
        // From all ones the first 28 bits are zeros, the next three ones; inverted.
        assert_eq!(filled(&Fill::Prbs { seed: 0 }, 4), [0xff, 0xff, 0xff, 0xf1]);
    }

    #[test]
    fn random_bytes_come_from_the_seed() {
        let bytes = |seed| filled(&Fill::Random { seed }, 100);
        assert_eq!(bytes(1), bytes(1));
        assert_ne!(bytes(1), bytes(2));
        assert_ne!(bytes(1)[..8], bytes(1)[8..16]);
    }
}
