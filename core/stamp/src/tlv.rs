//! Extensions behind a packet's base (RFC 8972 section 4): a sequence of type, length and value, each with flags.
//!
//! A reflector of this crate understands Extra Padding only. It returns all others with the flag for that, as the RFC demands, and
//! returns unchanged what is no extension: padding of TWAMP Light.

/// Octets of flags, type and length.
pub const HEADER: usize = 4;
/// The type Extra Padding (section 4.1).
const EXTRA_PADDING: u8 = 1;
/// Flag of an extension that is not understood; a sender sets it, too.
const UNRECOGNIZED: u8 = 0x80;
/// Flag of an extension that is longer than the rest of its packet.
const MALFORMED: u8 = 0x40;
/// Flag of an extension without integrity.
const INTEGRITY: u8 = 0x20;
/// Flags without a meaning.
const RESERVED: u8 = 0x1f;

/// Writes Extra Padding that fills `rest`, which has [`HEADER`] octets or more.
///
/// # Panics
/// If it has fewer.
pub fn padding(rest: &mut [u8]) {
    rest.fill(0);
    let length = u16::try_from(rest.len() - HEADER).unwrap_or(u16::MAX);
    rest[..2].copy_from_slice(&[UNRECOGNIZED, EXTRA_PADDING]);
    rest[2..HEADER].copy_from_slice(&length.to_be_bytes());
}

/// Sets the flags of all extensions as a reflector must.
///
/// Reserved flags and type 0, which is reserved, show that this is padding of TWAMP Light: it ends the sequence.
pub(crate) fn reflect(mut rest: &mut [u8]) {
    while rest.len() >= HEADER {
        let (flags, kind) = (rest[0], rest[1]);
        if flags & RESERVED != 0 || kind == 0 {
            return;
        }
        let end = HEADER + usize::from(u16::from_be_bytes([rest[2], rest[3]]));
        rest[0] &= !(UNRECOGNIZED | MALFORMED | INTEGRITY);
        if kind != EXTRA_PADDING {
            rest[0] |= UNRECOGNIZED;
        }
        if end > rest.len() {
            // Section 4: the remainder is not processed.
            rest[0] |= MALFORMED;
            return;
        }
        rest = &mut rest[end..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reflected(bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        reflect(&mut bytes);
        bytes
    }

    #[test]
    fn flags_say_what_is_understood() {
        let mut both = [0xff; 12];
        padding(&mut both[..6]);
        both[6..].copy_from_slice(b"\x80\x04\0\x02hi");
        assert_eq!(reflected(&both), b"\0\x01\0\x02\0\0\x80\x04\0\x02hi");
        // The second is longer than what is left.
        both[9] = 3;
        assert_eq!(reflected(&both), b"\0\x01\0\x02\0\0\xc0\x04\0\x03hi");
    }

    #[test]
    fn padding_of_twamp_light_comes_back_as_it_is() {
        for bytes in [&[0; 30][..], &[0xff; 9], b"\x80\x00\0\x01a", b"\x12\x34\x56\x78\x9a", b"abc", b""] {
            assert_eq!(reflected(bytes), bytes);
        }
    }

    proptest! {
        #[test]
        fn only_flags_change(bytes: Vec<u8>) {
            let after = reflected(&bytes);
            prop_assert_eq!(after.len(), bytes.len());
            let differ = bytes.iter().zip(&after).filter(|(a, b)| **a & 0x1f != **b & 0x1f).count();
            prop_assert_eq!(differ, 0);
        }
    }
}
