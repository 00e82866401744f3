//! Authentication of control packets (RFC 9946): HMAC-SHA-256 over the packet, with keys for each direction that are
//! derived from a shared key and the time of the client's request (NIST SP 800-108, counter mode).

use hmac::{Hmac, Mac};
use sha2::Sha256;

/// End of each control packet, before a reserved octet and the checksum.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Auth {
    /// 0: no authentication; 1: control packets are authenticated.
    pub mode: u8,
    /// Seconds since 1970.
    pub time: u32,
    /// Over the packet, with this and the checksum zero.
    pub digest: [u8; 32],
    /// Which of the shared keys.
    pub key: u8,
}

/// Octets from the mode to the end of a packet.
const LENGTH: usize = 41;

impl Auth {
    pub(crate) fn read(packet: &[u8]) -> Option<Self> {
        let rest: &[u8; LENGTH] = packet.last_chunk()?;
        Some(Self {
            mode: rest[0],
            time: u32::from_be_bytes(*rest[1..].first_chunk()?),
            digest: *rest[5..].first_chunk()?,
            key: rest[37],
        })
    }
}

/// Keys of a test: the client's packets have one, the server's the other.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    /// Of packets that the client sends.
    pub client: [u8; 32],
    /// Of packets that the server sends.
    pub server: [u8; 32],
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

impl Keys {
    /// Of a shared key, for a client whose request has this time.
    pub fn derive(shared: &[u8], time: u32) -> Self {
        let bits = 2 * 256u32;
        let block = |number: u32| {
            let time = time.to_string();
            mac(shared, &[&number.to_be_bytes(), b"UDPSTP", &[0], time.as_bytes(), &bits.to_be_bytes()])
        };
        Self { client: block(1), server: block(2) }
    }
}

/// A control packet with authentication.
#[derive(Debug)]
pub struct Sealed;

impl Sealed {
    /// Writes time, key and digest into a packet.
    pub fn seal(packet: &mut [u8], key: &[u8; 32], time: u32, number: u8) {
        let Some(rest) = packet.last_chunk_mut::<LENGTH>() else { return };
        *rest = [0; LENGTH];
        rest[0] = 1;
        rest[1..5].copy_from_slice(&time.to_be_bytes());
        rest[37] = number;
        let digest = mac(key, &[packet]);
        if let Some(rest) = packet.last_chunk_mut::<LENGTH>() {
            rest[5..37].copy_from_slice(&digest);
        }
    }

    /// Whether its sender has the key.
    pub fn is_genuine(packet: &[u8], key: &[u8; 32]) -> bool {
        let Some(auth) = Auth::read(packet) else { return false };
        let mut bare = packet.to_vec();
        if let Some(rest) = bare.last_chunk_mut::<LENGTH>() {
            rest[5..37].fill(0);
            rest[39..].fill(0);
        }
        // Takes the same time wherever they differ.
        let is_right = begun(key, &[&bare]).is_some_and(|mac| mac.verify_slice(&auth.digest).is_ok());
        auth.mode == 1 && is_right
    }
}

/// HMAC-SHA-256 (RFC 2104) of parts one after another.
fn mac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    begun(key, parts).map_or([0; 32], |mac| mac.finalize().into_bytes().into())
}

/// HMAC-SHA-256 that has taken parts in. The hash takes keys of any length, so it is always there.
fn begun(key: &[u8], parts: &[&[u8]]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    parts.iter().for_each(|part| mac.update(part));
    Some(mac)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Activation;

    /// RFC 4231, test cases 1, 2 and 6.
    #[test]
    fn the_vectors_of_rfc_4231() {
        let hex = |bytes: [u8; 32]| bytes.map(|octet| format!("{octet:02x}")).concat();
        let one = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
        assert_eq!(hex(mac(&[0x0b; 20], &[b"Hi ", b"There"])), one);
        let two = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(hex(mac(b"Jefe", &[b"what do ya want for nothing?"])), two);
        let long = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54";
        assert_eq!(
            hex(mac(&[0xaa; 131], &[b"Test Using Larger Than Block-Size Key - Hash Key First"])),
            long
        );
    }

    #[test]
    fn only_who_has_the_key_can_seal() {
        let keys = Keys::derive(b"a shared key", 1_700_000_000);
        assert_ne!(keys, Keys::derive(b"a shared key", 1_700_000_001));
        let mut packet = Activation::usual(true, 10).write();
        Sealed::seal(&mut packet, &keys.client, 1_700_000_000, 3);
        assert!(Sealed::is_genuine(&packet, &keys.client) && !Sealed::is_genuine(&packet, &keys.server));
        let read = Activation::read(&packet).unwrap();
        assert_eq!((read.auth.mode, read.auth.time, read.auth.key), (1, 1_700_000_000, 3));
        for place in 0..packet.len() - 2 {
            let mut changed = packet;
            changed[place] ^= 1;
            assert!(!Sealed::is_genuine(&changed, &keys.client), "{place}");
        }
        assert!(!Sealed::is_genuine(&packet[..20], &keys.client));
    }
}
