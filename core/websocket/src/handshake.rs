//! Keys of the opening handshake. Source: RFC 6455 sections 1.3 and 4.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

/// Bytes of a key in base64.
pub const KEY_LEN: usize = 24;

/// Suffix of a client's key in the digest.
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The value of Sec-WebSocket-Key for 16 bytes.
pub fn key(bytes: u128) -> [u8; KEY_LEN] {
    let mut out = [0; KEY_LEN];
    let written = STANDARD.encode_slice(bytes.to_be_bytes(), &mut out);
    debug_assert_eq!(written, Ok(KEY_LEN));
    out
}

/// Whether a value of Sec-WebSocket-Key is 16 bytes in base64 (RFC 6455 section 4.1, item 7).
pub fn is_key(value: &[u8]) -> bool {
    value.len() == KEY_LEN && STANDARD.decode(value).is_ok_and(|bytes| bytes.len() == 16)
}

/// The value of Sec-WebSocket-Accept for a key (RFC 6455 section 4.2.2, item 5.4).
pub fn accept(key: &[u8]) -> String {
    let digest = Sha1::new().chain_update(key).chain_update(GUID).finalize();
    STANDARD.encode(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 6455 section 1.3.
    #[test]
    fn answers_the_key_of_the_rfc() {
        let sample = key(u128::from_be_bytes(*b"the sample nonce"));
        assert_eq!(&sample, b"dGhlIHNhbXBsZSBub25jZQ==");
        assert_eq!(accept(&sample), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn only_sixteen_bytes_are_a_key() {
        assert!(is_key(b"dGhlIHNhbXBsZSBub25jZQ=="));
        for wrong in
            [&b""[..], b"dGhlIHNhbXBsZSBub25jZQ=", b"dGhlIHNhbXBsZSBub25jZQ==A", b"dGhlIHNhbXBsZSBub25jZSEh"]
        {
            assert!(!is_key(wrong), "{wrong:?}");
        }
        assert!(!is_key(b"dGhlIHNhbXBsZSBub25 ZQ=="));
    }
}
