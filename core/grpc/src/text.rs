//! Status messages: percent-encoded UTF-8 in `grpc-message`.

/// Encodes a text: bytes other than printable ASCII, and `%`, become `%` and two hexadecimal digits.
pub fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'%' | 0..=0x1f | 0x7f.. => {
                const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
                out.push('%');
                out.push(char::from(DIGITS[usize::from(byte >> 4)]));
                out.push(char::from(DIGITS[usize::from(byte & 15)]));
            }
            byte => out.push(char::from(byte)),
        }
    }
    out
}

/// Decodes a value of `grpc-message` of which `most` bytes are kept. An invalid one is not an error: `%` without two hexadecimal digits
/// remains, and what is not UTF-8 is replaced.
pub fn decode(value: &[u8], most: usize) -> String {
    let (mut bytes, mut rest) = (Vec::new(), value);
    while let Some((first, behind)) = rest.split_first()
        && bytes.len() < most
    {
        let digit = |at: usize| behind.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &behind[2..];
            }
            _ => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn writes_as_the_specification_does() {
        assert_eq!(encode("a%b\n"), "a%25b%0A");
        assert_eq!(encode("\u{fc} "), "%C3%BC ");
        assert_eq!(decode(b"100%", 99), "100%");
        assert_eq!(decode(b"%zz%4", 99), "%zz%4");
        assert_eq!(decode(b"%ff", 99), "\u{fffd}");
        assert_eq!(decode(b"abcdef", 3), "abc");
    }

    proptest! {
        #[test]
        fn reads_what_it_wrote(text in any::<String>()) {
            let written = encode(&text);
            prop_assert!(written.bytes().all(|byte| (0x20..0x7f).contains(&byte)));
            prop_assert_eq!(decode(written.as_bytes(), usize::MAX), text);
        }

        #[test]
        fn reads_anything(bytes in proptest::collection::vec(any::<u8>(), 0..99), most in 0usize..99) {
            decode(&bytes, most);
        }
    }
}
