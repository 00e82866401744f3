//! A frame that holds a fragment of an IP packet.

use crate::{
    FRAGMENT, FRAGMENT_HEADER, IPV4, IPV6, MORE_V4, MORE_V6, PACKET_MAX, TYPE_IPV4, TYPE_IPV6, network,
    u16_at,
};
use std::net::IpAddr;

/// IPv6 headers that may precede the fragment header (RFC 8200 section 4.5: headers for nodes on the way).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const DESTINATION: u8 = 60;

/// Where errors point: fields of the IPv6 header and the fragment header.
const PAYLOAD_LENGTH: usize = 4;
const FRAGMENT_OFFSET: usize = 2;
/// The error (RFC 4443 section 3.4), bytes of its header, and the longest packet with one.
const PARAMETER_PROBLEM: u8 = 4;
const ERROR: usize = 8;
const ERROR_MAX: usize = 1280;
const ICMPV6: u8 = 58;
const HOP_LIMIT: u8 = 64;

/// Identity of a packet's fragments (RFC 791 section 3.2, RFC 8200 section 4.5), and their VLANs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PacketId(Key);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub from: IpAddr,
    pub to: IpAddr,
    pub id: u32,
    /// IPv4's protocol.
    pub protocol: u8,
    pub vlans: Vec<u16>,
}

/// A fragment in its frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment<'f> {
    pub(crate) key: Key,
    /// Where it belongs in the packet, bytes.
    pub(crate) start: usize,
    pub(crate) more: bool,
    /// Everything before what is fragmented: the link's header, and IP headers without the fragment header.
    pub(crate) head: &'f [u8],
    /// Where the IP header begins.
    pub(crate) ip: usize,
    /// IPv6: offset of the fragment header's number, and its replacement.
    pub(crate) next_header: Option<(usize, u8)>,
    pub(crate) body: &'f [u8],
}

impl<'f> Fragment<'f> {
    /// The fragment in `frame` (without FCS). `None` if it holds something else: also a whole packet with a fragment
    /// header (RFC 6946), and frames without a valid IP header.
    pub fn read(frame: &'f [u8]) -> Option<Self> {
        let (ip, kind, vlans) = network(frame)?;
        match kind {
            TYPE_IPV4 => Self::read_v4(frame, ip, vlans),
            TYPE_IPV6 => Self::read_v6(frame, ip, vlans),
            _ => None,
        }
    }

    fn read_v4(frame: &'f [u8], ip: usize, vlans: Vec<u16>) -> Option<Self> {
        let place = u16_at(frame, ip + 6)?;
        let (start, more) = (usize::from(place & 0x1fff) * 8, place & MORE_V4 != 0);
        let header = usize::from(frame[ip] & 15) * 4;
        let end = ip + usize::from(u16_at(frame, ip + 2)?);
        let is_right = frame[ip] >> 4 == 4 && header >= IPV4 && ip + header <= end && end <= frame.len();
        if (start == 0 && !more) || !is_right {
            return None;
        }
        if wire::checksum::fold(wire::checksum::sum(&frame[ip..ip + header], 0)) != 0xffff {
            return None;
        }
        let address = |at: usize| IpAddr::from(*frame[ip + at..].first_chunk::<4>().expect("a whole header"));
        let id = u32::from(u16_at(frame, ip + 4)?);
        let key = Key { from: address(12), to: address(16), id, protocol: frame[ip + 9], vlans };
        let (head, body) = (&frame[..ip + header], &frame[ip + header..end]);
        Some(Self { key, start, more, head, ip, next_header: None, body })
    }

    fn read_v6(frame: &'f [u8], ip: usize, vlans: Vec<u16>) -> Option<Self> {
        let end = ip + IPV6 + usize::from(u16_at(frame, ip + 4)?);
        if frame[ip] >> 4 != 6 || end > frame.len() {
            return None;
        }
        let (mut at, mut pointer) = (ip + IPV6, ip + 6);
        while frame[pointer] != FRAGMENT_HEADER {
            if !matches!(frame[pointer], HOP_BY_HOP | ROUTING | DESTINATION) || at + 2 > end {
                return None;
            }
            (pointer, at) = (at, at + (usize::from(frame[at + 1]) + 1) * 8);
        }
        let body = frame.get(at + FRAGMENT..end)?;
        let place = u16_at(frame, at + 2)?;
        let (start, more) = (usize::from(place & 0xfff8), place & MORE_V6 != 0);
        if start == 0 && !more {
            return None;
        }
        let address =
            |at: usize| IpAddr::from(*frame[ip + at..].first_chunk::<16>().expect("a whole header"));
        let id = u32::from_be_bytes(*frame[at + 4..].first_chunk()?);
        let key = Key { from: address(8), to: address(24), id, protocol: 0, vlans };
        Some(Self { key, start, more, head: &frame[..at], ip, next_header: Some((pointer, frame[at])), body })
    }

    /// The packet it is a fragment of.
    pub fn packet_id(&self) -> PacketId {
        PacketId(self.key.clone())
    }

    /// Where the packet goes.
    pub fn to(&self) -> IpAddr {
        self.key.to
    }

    /// The hardware address the frame goes to.
    pub fn to_mac(&self) -> &[u8] {
        &self.head[..6]
    }

    /// The VLANs it is in, outermost first.
    pub fn vlans(&self) -> &[u16] {
        &self.key.vlans
    }

    /// The frame that reports an invalid fragment, read from `frame`, to its sender: it is not the last and has a
    /// length that no other can follow, or its end exceeds the maximum packet size (RFC 8200 section 4.5). IPv4 has no
    /// such errors.
    pub fn complaint(&self, frame: &[u8]) -> Option<Vec<u8>> {
        let (IpAddr::V6(from), IpAddr::V6(to)) = (self.key.from, self.key.to) else { return None };
        // RFC 4443 section 2.4 (e).
        if from.is_multicast() || from.is_unspecified() || to.is_multicast() {
            return None;
        }
        let at = match () {
            () if self.is_cut_odd() => PAYLOAD_LENGTH,
            () if self.is_beyond_the_end() => self.head.len() - self.ip + FRAGMENT_OFFSET,
            () => return None,
        };
        let repeated = &frame[self.ip..frame.len().min(self.ip + ERROR_MAX - IPV6 - ERROR)];
        let length = (ERROR + repeated.len()) as u16;
        let mut error = vec![PARAMETER_PROBLEM, 0, 0, 0];
        error.extend((at as u32).to_be_bytes());
        error.extend(repeated);
        let addresses = [to.octets(), from.octets()].concat();
        let pseudo_header = wire::checksum::sum(&addresses, u64::from(length) + u64::from(ICMPV6));
        let sum = wire::checksum::finish(wire::checksum::sum(&error, pseudo_header));
        error[2..4].copy_from_slice(&sum.to_be_bytes());
        let mut whole = [&frame[6..12], &frame[..6], &frame[12..self.ip]].concat();
        whole.extend([0x60, 0, 0, 0]);
        whole.extend(length.to_be_bytes());
        whole.extend([ICMPV6, HOP_LIMIT]);
        whole.extend(addresses);
        whole.extend(error);
        Some(whole)
    }

    /// Whether no fragment can follow at its end, although it is not the last.
    pub(crate) fn is_cut_odd(&self) -> bool {
        self.more && !self.body.len().is_multiple_of(8)
    }

    /// Whether the packet would be longer than any.
    pub(crate) fn is_beyond_the_end(&self) -> bool {
        let behind = self.head.len() - self.ip - if self.next_header.is_some() { IPV6 } else { 0 };
        behind + self.end() > PACKET_MAX
    }

    /// End of its data in the packet.
    pub(crate) fn end(&self) -> usize {
        self.start + self.body.len()
    }
}
