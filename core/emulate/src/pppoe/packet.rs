//! Packets of PPP's control protocols (RFC 1661 section 5), and the options of those that configure.
//!
//! Invariant: a packet is read within its own length; options are read whole or not at all.

/// Numbers of PPP protocols.
pub(super) mod protocol {
    pub(crate) const IPCP: u16 = 0x8021;
    pub(crate) const IPV6CP: u16 = 0x8057;
    pub(crate) const LCP: u16 = 0xc021;
    pub(crate) const PAP: u16 = 0xc023;
    pub(crate) const CHAP: u16 = 0xc223;
    /// From here on protocols are of control (RFC 1661 section 2).
    pub(crate) const CONTROL: u16 = 0x8000;
}

/// Codes of LCP; IPCP and IPV6CP have those up to 7 (RFC 1332 section 2).
pub(super) mod code {
    pub(crate) const CONFIGURE_REQUEST: u8 = 1;
    pub(crate) const CONFIGURE_ACK: u8 = 2;
    pub(crate) const CONFIGURE_NAK: u8 = 3;
    pub(crate) const CONFIGURE_REJECT: u8 = 4;
    pub(crate) const TERMINATE_REQUEST: u8 = 5;
    pub(crate) const TERMINATE_ACK: u8 = 6;
    pub(crate) const CODE_REJECT: u8 = 7;
    pub(crate) const PROTOCOL_REJECT: u8 = 8;
    pub(crate) const ECHO_REQUEST: u8 = 9;
    pub(crate) const ECHO_REPLY: u8 = 10;
    pub(crate) const DISCARD_REQUEST: u8 = 11;
    /// RFC 1570 section 2.
    pub(crate) const IDENTIFICATION: u8 = 12;
    pub(crate) const TIME_REMAINING: u8 = 13;
    /// PAP (RFC 1334 section 2.2).
    pub(crate) const PAP_REQUEST: u8 = 1;
    pub(crate) const PAP_ACK: u8 = 2;
    pub(crate) const PAP_NAK: u8 = 3;
    /// CHAP (RFC 1994 section 4).
    pub(crate) const CHALLENGE: u8 = 1;
    pub(crate) const RESPONSE: u8 = 2;
    pub(crate) const SUCCESS: u8 = 3;
    pub(crate) const FAILURE: u8 = 4;
}

/// Bytes before the data.
const HEADER: usize = 4;

/// A control packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Control<'f> {
    pub(super) code: u8,
    pub(super) id: u8,
    pub(super) data: &'f [u8],
}

impl<'f> Control<'f> {
    /// The packet after PPP's protocol number.
    pub(super) fn read(bytes: &'f [u8]) -> Option<Self> {
        let [code, id, l0, l1] = *bytes.first_chunk::<HEADER>()?;
        let data = bytes.get(HEADER..u16::from_be_bytes([l0, l1]).into())?;
        Some(Self { code, id, data })
    }

    /// The packet with its protocol number before it.
    pub(super) fn with_protocol(&self, protocol: u16) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(2 + HEADER + self.data.len());
        bytes.extend(protocol.to_be_bytes());
        bytes.extend([self.code, self.id]);
        bytes.extend(((HEADER + self.data.len()) as u16).to_be_bytes());
        bytes.extend(self.data);
        bytes
    }
}

/// Appends an option (RFC 1661 section 6).
pub(super) fn put_option(options: &mut Vec<u8>, kind: u8, value: &[u8]) {
    options.extend([kind, value.len() as u8 + 2]);
    options.extend(value);
}

/// The options of a packet, each with its type and value; `None` if they are malformed.
pub(super) fn options(mut bytes: &[u8]) -> Option<Vec<(u8, &[u8])>> {
    let mut all = Vec::new();
    while let Some((header, rest)) = bytes.split_first_chunk::<2>() {
        let (value, rest) = rest.split_at_checked(usize::from(header[1]).checked_sub(2)?)?;
        all.push((header[0], value));
        bytes = rest;
    }
    bytes.is_empty().then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_and_options_are_read_as_they_were_written() {
        let mut data = Vec::new();
        put_option(&mut data, 1, &[5, 0xd4]);
        put_option(&mut data, 7, &[]);
        let packet = Control { code: code::CONFIGURE_REQUEST, id: 9, data: &data };
        let mut bytes = packet.with_protocol(protocol::LCP);
        assert_eq!(bytes[..6], [0xc0, 0x21, 1, 9, 0, 10]);
        bytes.extend([0; 30]);
        assert_eq!(Control::read(&bytes[2..]), Some(packet));
        assert_eq!(options(&data), Some(vec![(1, &[5, 0xd4][..]), (7, &[][..])]));
        for len in 1..data.len() {
            assert_eq!(options(&data[..len]).is_some(), len == 4, "{len}");
        }
        assert_eq!(options(&[1, 1]), None);
        assert_eq!(Control::read(&[1, 1, 0, 3]), None);
    }
}
