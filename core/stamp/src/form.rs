//! Both forms of packets: where fields are without and with authentication (RFC 8762 sections 4.2 and 4.3).

use crate::packet::{BASE, SHORTEST_REQUEST};
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::fmt;

/// Octets of an authenticated packet without extensions, of either side.
pub const AUTHENTICATED_BASE: usize = 112;
/// Octets that the code covers: all before it.
const COVERED: usize = 96;
/// Octets of the shortest reply: TWAMP Light reflectors leave out the fields behind the copy of the sender's error estimate.
const SHORTEST_REPLY: usize = 38;

/// Offsets of fields, octets.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Length of a packet without extensions.
    pub(crate) base: usize,
    /// Length of the shortest packet of a sender that can be read.
    pub(crate) shortest_request: usize,
    /// Length of the shortest packet of a reflector that can be read.
    pub(crate) shortest_reply: usize,
    /// The time of departure; error estimate and SSID follow it.
    pub(crate) sent: usize,
    /// A reflector's time of arrival.
    pub(crate) came: usize,
    /// A reflector's copy of the sender's number.
    pub(crate) request_number: usize,
    /// A reflector's copy of the sender's time of departure; its error estimate follows it.
    pub(crate) request_sent: usize,
    /// A reflector's copy of the TTL.
    pub(crate) hops: usize,
}

const OPEN: Layout = Layout {
    base: BASE,
    shortest_request: SHORTEST_REQUEST,
    shortest_reply: SHORTEST_REPLY,
    sent: 4,
    came: 16,
    request_number: 24,
    request_sent: 28,
    hops: 40,
};

const AUTHENTICATED: Layout = Layout {
    base: AUTHENTICATED_BASE,
    shortest_request: AUTHENTICATED_BASE,
    shortest_reply: AUTHENTICATED_BASE,
    sent: 16,
    came: 32,
    request_number: 48,
    request_sent: 64,
    hops: 80,
};

/// A key that both ends share. It is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Vec<u8>);

impl Key {
    /// Octets that a key may have: not fewer than the code's, nor more than a block of the hash.
    pub const OCTETS: std::ops::RangeInclusive<usize> = 16..=64;

    /// A key by its octets; `None` if they are too few or too many.
    pub fn new(octets: &[u8]) -> Option<Self> {
        Self::OCTETS.contains(&octets.len()).then(|| Self(octets.to_vec()))
    }

    fn mac(&self, packet: &[u8]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        mac.update(packet.get(..COVERED)?);
        Some(mac)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// Form of the packets of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Form {
    /// Unauthenticated mode, and TWAMP Light.
    #[default]
    Open,
    /// Authenticated mode: HMAC-SHA-256 of the first 96 octets, its first 128 bits (RFC 8762 section 4.4).
    Authenticated(Key),
}

impl Form {
    pub(crate) fn layout(&self) -> &'static Layout {
        match self {
            Self::Open => &OPEN,
            Self::Authenticated(_) => &AUTHENTICATED,
        }
    }

    /// Octets of a packet without extensions.
    pub fn base(&self) -> usize {
        self.layout().base
    }

    /// Writes the code into a packet, whose other fields are complete.
    pub(crate) fn seal(&self, packet: &mut [u8]) {
        let Self::Authenticated(key) = self else { return };
        if let (Some(mac), Some(field)) = (key.mac(packet), packet.get_mut(COVERED..AUTHENTICATED_BASE)) {
            field.copy_from_slice(&mac.finalize().into_bytes()[..AUTHENTICATED_BASE - COVERED]);
        }
    }

    /// Whether a packet has the code of the key, in a time that does not depend on where it differs; true without a key.
    pub fn is_authentic(&self, packet: &[u8]) -> bool {
        let Self::Authenticated(key) = self else { return true };
        let field = packet.get(COVERED..AUTHENTICATED_BASE);
        key.mac(packet).zip(field).is_some_and(|(mac, field)| mac.verify_truncated_left(field).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_covers_96_octets() {
        let form = Form::Authenticated(Key::new(&[7; 32]).unwrap());
        let mut packet: Vec<u8> = (0..120).collect();
        form.seal(&mut packet);
        assert!(form.is_authentic(&packet));
        for octet in 0..120 {
            let mut other = packet.clone();
            other[octet] ^= 1;
            assert_eq!(form.is_authentic(&other), octet >= AUTHENTICATED_BASE, "octet {octet}");
        }
        assert!(!form.is_authentic(&packet[..111]));
        assert!(!Form::Authenticated(Key::new(&[8; 32]).unwrap()).is_authentic(&packet));
        assert_eq!(packet[112..], (112..120).collect::<Vec<u8>>());
    }

    #[test]
    fn keys_are_neither_short_nor_shown() {
        assert_eq!([15, 16, 64, 65].map(|n| Key::new(&vec![1; n]).is_some()), [false, true, true, false]);
        assert_eq!(format!("{:?}", Key::new(&[0x5a; 16])), "Some(Key)");
    }
}
