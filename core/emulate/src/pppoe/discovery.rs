//! PPPoE's headers and tags (RFC 2516 sections 4 and 5, RFC 4638).
//!
//! Invariant: tags are read within the length that the header gives; an unknown tag is passed over.

use crate::frame::{Link, Packet};

/// Types of frames (RFC 2516 section 4).
pub(crate) const DISCOVERY: u16 = 0x8863;
pub(crate) const SESSION: u16 = 0x8864;

/// Codes of discovery packets.
pub(super) mod code {
    pub(crate) const PADO: u8 = 0x07;
    pub(crate) const PADI: u8 = 0x09;
    pub(crate) const PADR: u8 = 0x19;
    pub(crate) const PADS: u8 = 0x65;
    pub(crate) const PADT: u8 = 0xa7;
}

/// Types of tags (RFC 2516 appendix A).
pub(super) mod tag {
    pub(crate) const END: u16 = 0x0000;
    pub(crate) const SERVICE_NAME: u16 = 0x0101;
    pub(crate) const AC_NAME: u16 = 0x0102;
    pub(crate) const HOST_UNIQ: u16 = 0x0103;
    pub(crate) const AC_COOKIE: u16 = 0x0104;
    pub(crate) const VENDOR: u16 = 0x0105;
    pub(crate) const RELAY_SESSION: u16 = 0x0110;
    pub(crate) const MAX_PAYLOAD: u16 = 0x0120;
    pub(crate) const SERVICE_NAME_ERROR: u16 = 0x0201;
    pub(crate) const AC_SYSTEM_ERROR: u16 = 0x0202;
    pub(crate) const GENERIC_ERROR: u16 = 0x0203;
}

const VERSION_AND_TYPE: u8 = 0x11;

/// Content after the EtherType of a PPPoE frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pppoe<'f> {
    pub(crate) code: u8,
    pub(crate) session: u16,
    /// Tags, or a PPP packet. Without the link's padding.
    pub(crate) payload: &'f [u8],
}

impl<'f> Pppoe<'f> {
    /// Bytes of the header.
    const HEADER: usize = 6;

    /// The content of a frame, and whether it is a packet of discovery.
    pub(super) fn of(packet: &Packet<'f>) -> Option<(bool, Self)> {
        let Packet::Direct { kind, message, .. } = *packet else { return None };
        match kind {
            DISCOVERY => Some((true, Self::read(message)?)),
            SESSION => Some((false, Self::read(message).filter(|pppoe| pppoe.code == 0)?)),
            _ => None,
        }
    }

    fn read(bytes: &'f [u8]) -> Option<Self> {
        let (header, rest) = bytes.split_first_chunk::<{ Pppoe::HEADER }>()?;
        let [version, code, s0, s1, l0, l1] = *header;
        let payload = rest.get(..u16::from_be_bytes([l0, l1]).into())?;
        (version == VERSION_AND_TYPE).then_some(Self { code, session: u16::from_be_bytes([s0, s1]), payload })
    }

    fn write(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION_AND_TYPE, self.code];
        bytes.extend(self.session.to_be_bytes());
        bytes.extend((self.payload.len() as u16).to_be_bytes());
        bytes.extend(self.payload);
        bytes
    }
}

/// Whether the content of a session's frame is of one of PPP's control protocols: what else it carries is not looked at.
pub(crate) fn is_control(bytes: &[u8]) -> bool {
    bytes.get(Pppoe::HEADER).is_some_and(|first| first & 0x80 != 0)
}

impl Link<'_> {
    /// A packet of discovery.
    pub(super) fn pppoe_discovery(&self, packet: &Pppoe<'_>) -> Vec<u8> {
        self.direct(DISCOVERY, &packet.write())
    }

    /// A PPP packet in a session.
    pub(super) fn pppoe_session(&self, session: u16, payload: &[u8]) -> Vec<u8> {
        self.direct(SESSION, &Pppoe { code: 0, session, payload }.write())
    }
}

/// Appends a tag.
pub(super) fn put_tag(tags: &mut Vec<u8>, kind: u16, value: &[u8]) {
    tags.extend(kind.to_be_bytes());
    tags.extend((value.len() as u16).to_be_bytes());
    tags.extend(value);
}

/// The tags of a discovery packet; one that is cut off, or what follows an end, is none.
pub(super) fn tags(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (header, rest) = bytes.split_first_chunk::<4>()?;
        let kind = u16::from_be_bytes([header[0], header[1]]);
        let (value, rest) = rest.split_at_checked(u16::from_be_bytes([header[2], header[3]]).into())?;
        bytes = rest;
        (kind != tag::END).then_some((kind, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read_as_they_were_written() {
        let mut bytes = Vec::new();
        put_tag(&mut bytes, tag::SERVICE_NAME, b"");
        put_tag(&mut bytes, tag::AC_COOKIE, &[1, 2, 3]);
        let mut frame = Pppoe { code: code::PADO, session: 0, payload: &bytes }.write();
        frame.extend([0; 20]);
        let read = Pppoe::read(&frame).unwrap();
        assert_eq!((read.code, read.session), (code::PADO, 0));
        let read: Vec<_> = tags(read.payload).collect();
        assert_eq!(read, [(tag::SERVICE_NAME, &[][..]), (tag::AC_COOKIE, &[1, 2, 3][..])]);
    }

    #[test]
    fn what_is_cut_off_is_nothing() {
        let mut bytes = Vec::new();
        put_tag(&mut bytes, tag::AC_NAME, b"bras");
        put_tag(&mut bytes, tag::END, &[]);
        put_tag(&mut bytes, tag::AC_COOKIE, &[9]);
        for len in 0..bytes.len() {
            assert_eq!(tags(&bytes[..len]).count(), usize::from(len >= 8), "{len}");
        }
        let mut frame = Pppoe { code: code::PADI, session: 0, payload: &bytes }.write();
        assert_eq!(Pppoe::read(&frame[..frame.len() - 1]), None);
        frame[0] = 0x21;
        assert_eq!(Pppoe::read(&frame), None);
    }
}
