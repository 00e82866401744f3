//! A frame given byte by byte, of which only some checksums are computed.
//!
//! Not here: headers. The meaning of its bytes matters only where a checksum needs addresses and lengths of an IP
//! packet, and those are the frame's own, right or wrong.

use crate::build::{BuildError, Packet};
use crate::checksums::{Algorithm, Checksum, PseudoHeader};
use crate::read::read;
use crate::vlans::is_vlan_type;
use units::FrameLen;

/// Bytes of both hardware addresses.
const ADDRESSES: usize = 12;
/// Bytes of a VLAN tag.
const TAG: usize = 4;

/// A frame, and what of it is computed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawFrame {
    /// Its bytes, without FCS. A longer frame has zeros after them, a shorter one is cut.
    pub bytes: Vec<u8>,
    /// The checksums.
    pub fixes: Vec<Fix>,
}

/// A checksum of a raw frame that is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fix {
    /// The checksum's kind.
    pub of: FixOf,
    /// Offset of that header.
    pub offset: usize,
    /// Offset of the IP header around it; `None`: the one after Ethernet and its VLAN tags.
    pub ip: Option<usize>,
}

/// Kind of a computed checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixOf {
    /// Of an IPv4 header.
    Ipv4,
    /// Of a UDP datagram.
    Udp,
    /// Of a TCP segment.
    Tcp,
    /// Of an ICMP message.
    Icmp,
    /// Of an ICMPv6 message.
    Icmpv6,
}

impl FixOf {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Ipv4, Self::Udp, Self::Tcp, Self::Icmp, Self::Icmpv6];

    /// Its name in the catalogue.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ipv4 => "ipv4",
            Self::Udp => "udp",
            Self::Tcp => "tcp",
            Self::Icmp => "icmp",
            Self::Icmpv6 => "icmpv6",
        }
    }

    /// Bytes of the header, and offset of the checksum in it.
    fn layout(self) -> (usize, usize) {
        match self {
            Self::Ipv4 => (20, 10),
            Self::Udp => (8, 6),
            Self::Tcp => (20, 16),
            Self::Icmp | Self::Icmpv6 => (4, 2),
        }
    }

    /// Its number in an IP header, if it covers a pseudo-header.
    fn number(self) -> Option<u32> {
        match self {
            Self::Udp => Some(17),
            Self::Tcp => Some(6),
            Self::Icmpv6 => Some(58),
            Self::Ipv4 | Self::Icmp => None,
        }
    }
}

/// An IP packet in a frame: its addresses, and where it ends.
struct IpPacket {
    addresses: std::ops::Range<usize>,
    end: usize,
}

impl RawFrame {
    /// The frame in `length` bytes with FCS.
    pub(crate) fn build(&self, length: FrameLen) -> Result<Packet, BuildError> {
        let mut bytes = self.bytes.clone();
        bytes.resize(length.without_fcs() as usize, 0);
        let mut checksums = Vec::new();
        for (index, fix) in self.fixes.iter().enumerate() {
            let checksum = fix.checksum(&bytes);
            checksums.push(checksum.map_err(|reason| BuildError::CannotFix { index, reason })?);
        }
        // One covers those behind it.
        checksums.sort_by_key(|checksum| std::cmp::Reverse(checksum.start));
        checksums.iter().for_each(|checksum| checksum.write(&mut bytes));
        let payload = read(&bytes).1.min(bytes.len());
        Ok(Packet { bytes, offsets: Vec::new(), payload, checksums })
    }

    /// The shortest frame that holds all its bytes.
    pub fn whole(&self) -> FrameLen {
        FrameLen::holding(self.bytes.len() as u32)
    }
}

impl Fix {
    /// The checksum in a frame, or why there is none.
    fn checksum(&self, frame: &[u8]) -> Result<Checksum, String> {
        let Self { of, offset: start, ip } = *self;
        let (header, field) = of.layout();
        let end = match of {
            FixOf::Ipv4 => {
                let first = *frame.get(start).ok_or("it is beyond the frame's end")?;
                if first >> 4 != 4 || first & 0xf < 5 {
                    return Err(format!("there is no IPv4 header: its first byte is {first:02x}"));
                }
                start + usize::from(first & 0xf) * 4
            }
            _ => 0,
        };
        let (end, pseudo_header) = match of.number() {
            None if of == FixOf::Ipv4 => (end, None),
            None => (ip_packet(frame, ip, start)?.end, None),
            Some(number) => {
                let IpPacket { addresses, end } = ip_packet(frame, ip, start)?;
                let rest = number + end.saturating_sub(start) as u32;
                (end, Some(PseudoHeader { addresses, final_destination: None, rest }))
            }
        };
        if start + header > end || end > frame.len() {
            return Err(format!(
                "the header ends at byte {}, but what it covers at {}",
                start + header,
                end.min(frame.len())
            ));
        }
        let algorithm = Algorithm::Internet { zero_as_ones: of == FixOf::Udp };
        Ok(Checksum { offset: start + field, start, end, algorithm, pseudo_header })
    }
}

/// The IP packet whose header is at `ip`, or after Ethernet and its tags, with something at `inner`.
fn ip_packet(frame: &[u8], ip: Option<usize>, inner: usize) -> Result<IpPacket, String> {
    let word = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
    let mut at = ADDRESSES;
    while word(at).is_some_and(is_vlan_type) {
        at += TAG;
    }
    let ip = ip.unwrap_or(at + 2);
    let too_short = "the frame ends before its IP header does";
    let (header, length, addresses) = match frame.get(ip).map(|first| first >> 4) {
        Some(4) => (20, usize::from(word(ip + 2).ok_or(too_short)?), ip + 12..ip + 20),
        Some(6) => (40, 40 + usize::from(word(ip + 4).ok_or(too_short)?), ip + 8..ip + 40),
        _ => {
            return Err(format!("there is no IP header at byte {ip}; give its offset: '@{inner} over 14'"));
        }
    };
    if inner < ip + header || addresses.end > frame.len() {
        return Err(format!("the IP header at byte {ip} ends at {}", ip + header));
    }
    Ok(IpPacket { addresses, end: (ip + length).min(frame.len()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Header, PacketSpec, protocol};

    fn built(names: &[&str]) -> Packet {
        let headers = names.iter().map(|name| Header::new(protocol(name).unwrap())).collect();
        let spec = PacketSpec { headers, payload: b"abcdefg".to_vec(), ..PacketSpec::default() };
        spec.build(FrameLen::new(100).unwrap()).unwrap()
    }

    fn fix(of: FixOf, offset: usize, ip: Option<usize>) -> Fix {
        Fix { of, offset, ip }
    }

    /// With its checksums broken, a packet built from headers comes out as it was, for either computation.
    #[test]
    fn sums_as_the_catalogue_does() {
        let cases: [(&[&str], Vec<Fix>); 6] = [
            (&["ethernet", "ipv4", "udp"], vec![fix(FixOf::Ipv4, 14, None), fix(FixOf::Udp, 34, None)]),
            (&["ethernet", "ipv4", "tcp"], vec![fix(FixOf::Tcp, 34, Some(14)), fix(FixOf::Ipv4, 14, None)]),
            (&["ethernet", "ipv4", "icmp"], vec![fix(FixOf::Icmp, 34, None), fix(FixOf::Ipv4, 14, None)]),
            (&["ethernet", "ipv6", "icmpv6"], vec![fix(FixOf::Icmpv6, 54, None)]),
            (&["ethernet", "vlan", "vlan", "ipv6", "udp"], vec![fix(FixOf::Udp, 62, None)]),
            (
                &["ethernet", "ipv4", "gre", "ipv4", "udp"],
                vec![fix(FixOf::Ipv4, 14, None), fix(FixOf::Ipv4, 38, None), fix(FixOf::Udp, 58, Some(38))],
            ),
        ];
        for (names, fixes) in cases {
            let packet = built(names);
            let mut bytes = packet.bytes.clone();
            for checksum in &packet.checksums {
                bytes[checksum.offset] ^= 0x5a;
            }
            assert_ne!(bytes, packet.bytes);
            let raw = RawFrame { bytes, fixes };
            assert_eq!(raw.build(FrameLen::new(100).unwrap()).unwrap().bytes, packet.bytes, "{names:?}");
        }
    }

    #[test]
    fn everything_else_is_as_given() {
        let bytes: Vec<u8> = (0..40).collect();
        let raw = RawFrame { bytes: bytes.clone(), fixes: vec![] };
        let packet = raw.build(raw.whole()).unwrap();
        assert_eq!((packet.bytes.len(), packet.checksums.len()), (60, 0));
        assert_eq!((&packet.bytes[..40], &packet.bytes[40..]), (&bytes[..], &[0; 20][..]));
        // Cut, and with a length in it that tells more than there is: covered up to the frame's end.
        let packet = built(&["ethernet", "ipv4", "udp"]);
        let fixes = vec![fix(FixOf::Udp, 34, None)];
        let cut = RawFrame { bytes: packet.bytes.clone(), fixes }.build(FrameLen::MIN).unwrap();
        assert_eq!((cut.bytes.len(), cut.checksums[0].end), (60, 60));
        assert_eq!(cut.bytes[..40], packet.bytes[..40]);
        assert_eq!(cut.bytes[42..], packet.bytes[42..60]);
    }

    #[test]
    fn says_what_cannot_be_summed() {
        let packet = built(&["ethernet", "ipv4", "udp"]);
        let reason = |fix: Fix| {
            let raw = RawFrame { bytes: packet.bytes.clone(), fixes: vec![fix] };
            raw.build(FrameLen::MIN).unwrap_err().to_string()
        };
        let expected = "checksum 1: there is no IPv4 header: its first byte is 00";
        assert_eq!(reason(fix(FixOf::Ipv4, 15, None)), expected);
        assert_eq!(reason(fix(FixOf::Udp, 20, None)), "checksum 1: the IP header at byte 14 ends at 34");
        let expected = "checksum 1: there is no IP header at byte 15; give its offset: '@34 over 14'";
        assert_eq!(reason(fix(FixOf::Udp, 34, Some(15))), expected);
        assert_eq!(
            reason(fix(FixOf::Tcp, 55, None)),
            "checksum 1: the header ends at byte 75, but what it covers at 60"
        );
        for at in [0, 14, 59, 60, 9_999] {
            for of in FixOf::ALL {
                let _ = RawFrame { bytes: vec![0x45; 60], fixes: vec![fix(of, at, Some(at))] }
                    .build(FrameLen::MIN);
            }
        }
    }
}
