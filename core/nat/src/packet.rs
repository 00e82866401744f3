//! The endpoints of a frame.

use crate::{Endpoint, Protocol};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const ICMP: u8 = 1;
const ICMP6: u8 = 58;
/// IPv6's header of fragments (RFC 8200 section 4.5).
const FRAGMENT: u8 = 44;

/// Endpoints of a packet, which a translator reads and changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Datagram {
    /// Its protocol.
    pub protocol: Protocol,
    /// Source.
    pub from: Endpoint,
    /// Destination.
    pub to: Endpoint,
}

/// The packet that an ICMP error quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quoted {
    /// Type of the error: 3 of ICMP, 1 of ICMPv6.
    pub kind: u8,
    /// Code of the error.
    pub code: u8,
    /// Destination of the error.
    pub sent_to: IpAddr,
    /// The packet it is about.
    pub datagram: Datagram,
}

/// An IP header: its protocol, addresses, and what follows it.
struct Ip<'f> {
    protocol: u8,
    from: IpAddr,
    to: IpAddr,
    rest: &'f [u8],
}

impl<'f> Ip<'f> {
    /// The IP header of an Ethernet frame.
    fn of_frame(frame: &'f [u8]) -> Option<Self> {
        Self::read(frame.get(start(frame)?..)?)
    }

    /// A header of either version. Later fragments have no ports.
    fn read(bytes: &'f [u8]) -> Option<Self> {
        match bytes.first()? >> 4 {
            4 => {
                let address = |at: usize| Some(Ipv4Addr::from(*bytes.get(at..)?.first_chunk::<4>()?).into());
                let is_later = u16::from_be_bytes(*bytes.get(6..)?.first_chunk()?) & 0x1fff != 0;
                let rest = bytes.get(usize::from(bytes[0] & 15) * 4..)?;
                (!is_later).then_some(())?;
                Some(Self { protocol: *bytes.get(9)?, from: address(12)?, to: address(16)?, rest })
            }
            6 => {
                let address = |at: usize| Some(Ipv6Addr::from(*bytes.get(at..)?.first_chunk::<16>()?).into());
                Some(Self {
                    protocol: *bytes.get(6)?,
                    from: address(8)?,
                    to: address(24)?,
                    rest: bytes.get(40..)?,
                })
            }
            _ => None,
        }
    }

    /// The packet behind IPv6's header of fragments, if there is one; `None` if that is of a later fragment.
    fn behind_fragment(self) -> Option<Self> {
        if self.protocol != FRAGMENT {
            return Some(self);
        }
        let is_later = u16::from_be_bytes(*self.rest.get(2..)?.first_chunk()?) >> 3 != 0;
        (!is_later).then_some(())?;
        Some(Self { protocol: *self.rest.first()?, rest: self.rest.get(8..)?, ..self })
    }

    fn datagram(&self) -> Option<Datagram> {
        let protocol = Protocol::of_number(self.protocol)?;
        let port = |at: usize| Some(u16::from_be_bytes(*self.rest.get(at..)?.first_chunk()?));
        Some(Datagram {
            protocol,
            from: Endpoint { address: self.from, port: port(0)? },
            to: Endpoint { address: self.to, port: port(2)? },
        })
    }
}

impl Datagram {
    /// The outermost UDP or TCP endpoints of an Ethernet frame; `None` if there are none.
    pub fn of_frame(frame: &[u8]) -> Option<Self> {
        Ip::of_frame(frame)?.datagram()
    }
}

/// Where the IP header of an Ethernet frame begins, behind up to two VLAN tags; `None` if it has none.
fn start(frame: &[u8]) -> Option<usize> {
    let mut at = 12;
    while matches!(frame.get(at..at + 2)?, [0x81, 0] | [0x88, 0xa8]) && at < 20 {
        at += 4;
    }
    matches!(frame.get(at..at + 2)?, [0x08, 0x00] | [0x86, 0xdd]).then_some(at + 2)
}

/// Where the IP packet of an Ethernet frame ends, by its own length: what follows pads the frame. `None` if it has none, or is cut.
pub fn end_of_packet(frame: &[u8]) -> Option<usize> {
    let at = start(frame)?;
    let ip = &frame[at..];
    let number = |at: usize| Some(usize::from(u16::from_be_bytes(*ip.get(at..)?.first_chunk()?)));
    let length = match ip.first()? >> 4 {
        4 => number(2)?,
        6 => 40 + number(4)?,
        _ => return None,
    };
    (at + length <= frame.len()).then_some(at + length)
}

/// A UDP datagram as far as a frame has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UdpPayload<'f> {
    /// Source.
    pub from: Endpoint,
    /// Its payload, or the beginning of it.
    pub bytes: &'f [u8],
    /// Whether that is all: the frame is not cut, nor the packet the first fragment of a longer one.
    pub is_whole: bool,
}

/// UDP datagram of an Ethernet frame; `None` if there is none, or it is a later fragment.
pub fn payload_of_udp(frame: &[u8]) -> Option<UdpPayload<'_>> {
    let frame = end_of_packet(frame).map_or(frame, |end| &frame[..end]);
    let ip = Ip::of_frame(frame)?.behind_fragment()?;
    let datagram = ip.datagram().filter(|datagram| datagram.protocol == Protocol::Udp)?;
    let length = usize::from(u16::from_be_bytes(*ip.rest.get(4..)?.first_chunk()?));
    (length >= 8).then_some(())?;
    let whole = ip.rest.get(8..length);
    Some(UdpPayload {
        from: datagram.from,
        bytes: whole.or_else(|| ip.rest.get(8..))?,
        is_whole: whole.is_some(),
    })
}

/// Packet quoted by an ICMP or ICMPv6 "destination unreachable" in an Ethernet frame; `None` if it is none.
pub fn quoted(frame: &[u8]) -> Option<Quoted> {
    let ip = Ip::of_frame(frame)?;
    let kind = *ip.rest.first()?;
    let is_error = matches!((ip.protocol, kind), (ICMP, 3) | (ICMP6, 1));
    let datagram = Ip::read(ip.rest.get(8..)?).filter(|_| is_error)?.datagram()?;
    Some(Quoted { kind, code: *ip.rest.get(1)?, sent_to: ip.to, datagram })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn udp(from: [u8; 4], to: [u8; 4], ports: [u16; 2]) -> Vec<u8> {
        let mut ip = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0];
        ip.extend(from.iter().chain(&to));
        ports.iter().for_each(|port| ip.extend(port.to_be_bytes()));
        ip.extend([0, 8, 0, 0]);
        ip
    }

    fn framed(tags: &[u8], ip: &[u8]) -> Vec<u8> {
        [&[0; 12][..], tags, &[8, 0], ip].concat()
    }

    #[test]
    fn endpoints_are_read_behind_tags() {
        let ip = udp([10, 0, 0, 2], [10, 0, 1, 2], [1024, 9]);
        for tags in [&[][..], &[0x81, 0, 0, 5], &[0x88, 0xa8, 0, 1, 0x81, 0, 0, 2]] {
            let found = Datagram::of_frame(&framed(tags, &ip)).unwrap();
            assert_eq!(found.from, Endpoint::new([10, 0, 0, 2], 1024));
            assert_eq!((found.to.port, found.protocol), (9, Protocol::Udp));
        }
    }

    #[test]
    fn what_is_cut_or_foreign_has_no_endpoints() {
        let whole = framed(&[], &udp([10, 0, 0, 2], [10, 0, 1, 2], [1024, 9]));
        for length in 0..38 {
            assert_eq!(Datagram::of_frame(&whole[..length]), None, "{length}");
        }
        let mut later = whole.clone();
        later[14 + 7] = 1;
        assert_eq!(Datagram::of_frame(&later), None);
        assert_eq!(quoted(&whole), None);
    }

    #[test]
    fn padding_is_behind_the_packet() {
        let ip = udp([10, 0, 0, 2], [10, 0, 1, 2], [1024, 9]);
        let mut frame = framed(&[], &ip);
        assert_eq!(end_of_packet(&frame), Some(42));
        frame.resize(60, 0);
        assert_eq!((end_of_packet(&frame), end_of_packet(&frame[..41])), (Some(42), None));
    }

    #[test]
    fn payloads_end_where_udp_says() {
        let mut ip = udp([10, 0, 0, 2], [10, 0, 1, 2], [1024, 9]);
        (ip[3], ip[25]) = (31, 10);
        ip.extend([1, 2, 3]);
        let frame = framed(&[], &ip);
        let from = Endpoint::new([10, 0, 0, 2], 1024);
        assert_eq!(payload_of_udp(&frame), Some(UdpPayload { from, bytes: &[1, 2], is_whole: true }));
        let cut = payload_of_udp(&frame[..43]).unwrap();
        assert_eq!((cut.from, cut.bytes, cut.is_whole), (from, &[1][..], false));
        ip[25] = 7;
        assert_eq!(payload_of_udp(&framed(&[], &ip)), None, "its length is less than its header");
    }

    #[test]
    fn fragments_have_a_part_of_a_datagram() {
        let mut ip = udp([10, 0, 0, 2], [10, 0, 1, 2], [1024, 9]);
        ip.extend([1, 2]);
        (ip[3], ip[25]) = (30, 20);
        ip[6] = 0x20;
        let whole = framed(&[], &ip);
        let first = payload_of_udp(&whole).unwrap();
        assert_eq!((first.bytes, first.is_whole), (&[1, 2][..], false));
        ip[7] = 1;
        assert_eq!(payload_of_udp(&framed(&[], &ip)), None, "a later one");
        let mut six = vec![0x60, 0, 0, 0, 0, 18, 44, 64];
        six.extend([0; 32]);
        six.extend([17, 0, 0, 1, 0, 0, 0, 1, 4, 0, 0, 9, 0, 20, 0, 0, 1, 2]);
        let frame = |ip: &[u8]| [&[0; 12][..], &[0x86, 0xdd], ip].concat();
        let whole = frame(&six);
        let first = payload_of_udp(&whole).unwrap();
        assert_eq!((first.from.port, first.bytes, first.is_whole), (1024, &[1, 2][..], false));
        six[43] = 9;
        assert_eq!(payload_of_udp(&frame(&six)), None, "a later one");
    }

    #[test]
    fn an_error_quotes_a_packet() {
        let about = udp([10, 0, 0, 2], [10, 0, 1, 2], [1024, 9]);
        let mut ip = udp([10, 0, 1, 2], [10, 0, 0, 2], [0, 0]);
        ip[9] = 1;
        ip.truncate(20);
        ip.extend([3, 3, 0, 0, 0, 0, 0, 0]);
        ip.extend(&about);
        let found = quoted(&framed(&[], &ip)).unwrap();
        assert_eq!((found.kind, found.code, found.datagram.from.port), (3, 3, 1024));
        // An echo quotes nothing.
        let echo = 14 + 20;
        let mut frame = framed(&[], &ip);
        frame[echo] = 8;
        assert_eq!(quoted(&frame), None);
    }
}
