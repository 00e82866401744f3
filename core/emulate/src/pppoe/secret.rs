//! Proof that a client knows its password: CHAP with MD5 (RFC 1994 section 4.1), MS-CHAP version 2 (RFC 2759 section
//! 8).
//!
//! Not here: messages, and when they are sent.

use des::Des;
use des::cipher::{BlockEncrypt, KeyInit};
use md4::{Digest, Md4};
use md5::Md5;
use sha1::Sha1;

/// Bytes of an MS-CHAP response: the client's challenge, zeros, the proof, flags (RFC 2759 section 4).
pub(super) const MS_RESPONSE: usize = 49;
/// Bytes of a challenge of MS-CHAP.
pub(super) const MS_CHALLENGE: usize = 16;
/// Texts of RFC 2759 section 8.7.
const MAGIC_1: &[u8] = b"Magic server to client signing constant";
const MAGIC_2: &[u8] = b"Pad to make it do more than one iteration";

/// The response to `challenge` in the message `id`.
pub(super) fn chap_md5(id: u8, password: &[u8], challenge: &[u8]) -> [u8; 16] {
    Md5::new().chain_update([id]).chain_update(password).chain_update(challenge).finalize().into()
}

/// The response to the 16 bytes of `challenge`, with the client's own challenge in it.
pub(super) fn ms_response(
    user: &str,
    password: &str,
    challenge: &[u8; MS_CHALLENGE],
    own: &[u8; MS_CHALLENGE],
) -> [u8; MS_RESPONSE] {
    let mut response = [0; MS_RESPONSE];
    response[..16].copy_from_slice(own);
    response[24..48].copy_from_slice(&nt_response(user, password, challenge, own));
    response
}

/// An authenticator's proof in reply to that response: `S=` and 40 hexadecimal digits (RFC 2759 section 8.7).
pub(super) fn ms_proof(
    user: &str,
    password: &str,
    challenge: &[u8; MS_CHALLENGE],
    own: &[u8; MS_CHALLENGE],
) -> String {
    let hash_of_hash = Md4::digest(password_hash(password));
    let response = nt_response(user, password, challenge, own);
    let first =
        Sha1::new().chain_update(hash_of_hash).chain_update(response).chain_update(MAGIC_1).finalize();
    let both = challenge_hash(user, challenge, own);
    let proof = Sha1::new().chain_update(first).chain_update(both).chain_update(MAGIC_2).finalize();
    let digits: String = proof.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("S={digits}")
}

fn nt_response(user: &str, password: &str, challenge: &[u8; 16], own: &[u8; 16]) -> [u8; 24] {
    challenge_response(challenge_hash(user, challenge, own), password_hash(password))
}

/// RFC 2759 section 8.2. A domain before the user's name is left out.
fn challenge_hash(user: &str, challenge: &[u8; 16], own: &[u8; 16]) -> [u8; 8] {
    let user = user.rsplit('\\').next().unwrap_or(user);
    let hash = Sha1::new().chain_update(own).chain_update(challenge).chain_update(user).finalize();
    std::array::from_fn(|at| hash[at])
}

/// RFC 2759 section 8.3: of the password in UTF-16.
fn password_hash(password: &str) -> [u8; 16] {
    let bytes: Vec<u8> = password.encode_utf16().flat_map(u16::to_le_bytes).collect();
    Md4::digest(bytes).into()
}

/// RFC 2759 section 8.5: the challenge under three keys, which are parts of the hash.
fn challenge_response(challenge: [u8; 8], hash: [u8; 16]) -> [u8; 24] {
    let mut padded = [0; 21];
    padded[..16].copy_from_slice(&hash);
    let mut response = [0; 24];
    for (seven, out) in padded.chunks_exact(7).zip(response.chunks_exact_mut(8)) {
        let bits = seven.iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
        // Seven bits of each byte of a key count (RFC 2759 section 8.6).
        let key: [u8; 8] = std::array::from_fn(|at| ((bits >> (49 - 7 * at) & 0x7f) << 1) as u8);
        let mut block = challenge.into();
        Des::new(&key.into()).encrypt_block(&mut block);
        out.copy_from_slice(&block);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 2759 section 9.2.
    #[test]
    fn the_example_of_the_rfc_is_computed() {
        let challenge =
            [0x5b, 0x5d, 0x7c, 0x7d, 0x7b, 0x3f, 0x2f, 0x3e, 0x3c, 0x2c, 0x60, 0x21, 0x32, 0x26, 0x26, 0x28];
        let own =
            [0x21, 0x40, 0x23, 0x24, 0x25, 0x5e, 0x26, 0x2a, 0x28, 0x29, 0x5f, 0x2b, 0x3a, 0x33, 0x7c, 0x7e];
        let response = ms_response("User", "clientPass", &challenge, &own);
        let expected = [
            0x82, 0x30, 0x9e, 0xcd, 0x8d, 0x70, 0x8b, 0x5e, 0xa0, 0x8f, 0xaa, 0x39, 0x81, 0xcd, 0x83, 0x54,
            0x42, 0x33, 0x11, 0x4a, 0x3d, 0x85, 0xd6, 0xdf,
        ];
        assert_eq!(response[24..48], expected);
        assert_eq!((&response[..16], &response[16..24], response[48]), (&own[..], &[0; 8][..], 0));
        let proof = ms_proof("EAST\\User", "clientPass", &challenge, &own);
        assert_eq!(proof, "S=407A5589115FD0D6209F510FE9C04566932CDA56");
    }

    /// A digest of `\x01pw\x02\x03`, made by another implementation.
    #[test]
    fn the_response_covers_identifier_password_and_challenge() {
        let hex: String = chap_md5(1, b"pw", &[2, 3]).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "c7145522469716f1c24937b8352d2721");
    }
}
