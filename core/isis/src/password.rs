//! Authentication of PDUs: by a password in clear text (ISO/IEC 10589 section 9.5), or by HMAC-MD5 (RFC 5304).

use crate::pdu::{
    AUTHENTICATION, Body, FINGERPRINT, HOSTNAME, INSTANCE, PURGE_ORIGINATOR, Pdu, clear_uncovered, put,
};
use md5::{Digest, Md5};

const CLEAR: u8 = 1;
const HMAC_MD5: u8 = 54;
const DIGEST: usize = 16;
const BLOCK: usize = 64;
/// TLVs that a purge may have (RFC 6233).
const IN_PURGES: [u8; 5] = [INSTANCE, AUTHENTICATION, PURGE_ORIGINATOR, FINGERPRINT, HOSTNAME];

/// Authentication of PDUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Password {
    /// The text.
    pub text: String,
    /// Whether only a digest by it is sent.
    pub is_digest: bool,
}

/// Authentication of a PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authentication {
    /// Not at all.
    None,
    /// By a password in clear text.
    Clear,
    /// By HMAC-MD5.
    Digest,
    /// Otherwise.
    Other,
}

impl Password {
    fn kind(&self) -> Authentication {
        if self.is_digest { Authentication::Digest } else { Authentication::Clear }
    }

    /// Bytes of its TLV.
    pub(crate) fn len(&self) -> usize {
        3 + if self.is_digest { DIGEST } else { self.text.len() }
    }
}

/// Appends the TLV of a password, if there is one; a digest is set by [`sign`].
pub(crate) fn begin(out: &mut Vec<u8>, password: Option<&Password>) {
    let Some(password) = password else { return };
    let mut value = vec![if password.is_digest { HMAC_MD5 } else { CLEAR }];
    match password.is_digest {
        true => value.extend([0; DIGEST]),
        false => value.extend(password.text.bytes().take(254)),
    }
    put(out, AUTHENTICATION, &value);
}

/// Sets the digest of a PDU that is complete, but for the checksum of an LSP; its first TLV, at `tlvs_at`, is that of the password.
pub(crate) fn sign(pdu: &mut [u8], tlvs_at: usize, password: Option<&Password>) {
    let Some(password) = password.filter(|password| password.is_digest) else { return };
    let digest = digest(pdu, tlvs_at + 3, password);
    pdu[tlvs_at + 3..tlvs_at + 3 + DIGEST].copy_from_slice(&digest);
}

/// The digest of a PDU that has one at `at`.
fn digest(pdu: &[u8], at: usize, password: &Password) -> [u8; DIGEST] {
    let mut covered = pdu.to_vec();
    covered[at..at + DIGEST].fill(0);
    clear_uncovered(&mut covered);
    hmac_md5(password.text.as_bytes(), &covered)
}

/// HMAC with MD5 (RFC 2104).
fn hmac_md5(key: &[u8], text: &[u8]) -> [u8; DIGEST] {
    let mut block = [0; BLOCK];
    match key.len() > BLOCK {
        true => block[..DIGEST].copy_from_slice(&Md5::digest(key)),
        false => block[..key.len()].copy_from_slice(key),
    }
    let with = |pad: u8, text: &[u8]| -> [u8; DIGEST] {
        Md5::new().chain_update(block.map(|byte| byte ^ pad)).chain_update(text).finalize().into()
    };
    with(0x5c, &with(0x36, text))
}

/// Whether a PDU is authenticated by a password, or not at all without one.
///
/// # Errors
/// Its authentication, and the expected one: the same if the passwords differ.
pub(crate) fn check(
    pdu: &Pdu<'_>,
    password: Option<&Password>,
) -> Result<(), (Authentication, Authentication)> {
    let expected = password.map_or(Authentication::None, Password::kind);
    let found = pdu.tlvs().find(|(kind, _)| *kind == AUTHENTICATION).map(|(_, value)| value);
    let is = match found.map(|value| value.first()) {
        None => Authentication::None,
        Some(Some(&CLEAR)) => Authentication::Clear,
        Some(Some(&HMAC_MD5)) => Authentication::Digest,
        _ => Authentication::Other,
    };
    let value = found.and_then(|value| value.get(1..)).unwrap_or_default();
    let is_right = is == expected
        && match password {
            None => true,
            Some(password) if !password.is_digest => value == password.text.as_bytes(),
            Some(password) => {
                value.len() == DIGEST && {
                    let at = value.as_ptr() as usize - pdu.bytes.as_ptr() as usize;
                    value == digest(pdu.bytes, at, password)
                }
            }
        };
    if is_right { Ok(()) } else { Err((is, expected)) }
}

/// Whether a PDU is a purge that may be made of a live LSP without the key: a digest does not cover the lifetime, so
/// purges with other TLVs are not accepted (RFC 5304 section 2, RFC 6233).
pub(crate) fn is_forged_purge(pdu: &Pdu<'_>, password: Option<&Password>) -> bool {
    let is_purge = matches!(pdu.body, Body::Lsp(_, header) if header.lifetime_s == 0);
    let has_others = || pdu.tlvs().any(|(kind, _)| !IN_PURGES.contains(&kind));
    password.is_some_and(|password| password.is_digest) && is_purge && has_others()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_rfc_2202() {
        let digest = |key: &[u8], text: &[u8]| {
            hmac_md5(key, text).iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        assert_eq!(digest(&[0x0b; 16], b"Hi There"), "9294727a3638bb1c13f48ef8158bfc9d");
        assert_eq!(digest(b"Jefe", b"what do ya want for nothing?"), "750c783e6ab0b503eaa86e310a5db738");
        let long = b"Test Using Larger Than Block-Size Key - Hash Key First";
        assert_eq!(digest(&[0xaa; 80], long), "6b1ab7fe4bd7bf8f0b62e6ce61b9d0cd");
    }
}
