//! Frames around messages: Ethernet, VLAN tags, IPv4 or IPv6, UDP. Reads and writes them.
//!
//! Not here: types of frames and ports of one protocol. They are in its folder; frame types of multicast groups are here.
//!
//! Invariant: what is written is read back as it was; what is read has lengths that fit its frame.

use crate::{CLIENT_PORT_V4, CLIENT_PORT_V6, DIRECT};
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::control::{ETHERTYPE_AT, tags};
use wire::{Vlans, checksum};

/// A hardware address.
pub type Mac = [u8; 6];

pub(crate) const BROADCAST: Mac = [0xff; 6];
const TAG: usize = 4;
pub(crate) const TYPE_IPV4: u16 = 0x0800;
pub(crate) const TYPE_IPV6: u16 = 0x86dd;
pub(crate) const TYPE_ARP: u16 = 0x0806;
/// The shortest frame without its FCS.
const FRAME_LEAST: usize = 60;
const IPV4: usize = 20;
const IPV6: usize = 40;
const UDP_HEADER: usize = 8;
pub(crate) const IGMP: u8 = 2;
const UDP: u8 = 17;
pub(crate) const ICMPV6: u8 = 58;
const HOP_BY_HOP: u8 = 0;
/// Beginning of ARP for IPv4 on Ethernet (RFC 826), its operations, and its bytes.
const ARP_ETHERNET: [u8; 6] = [0, 1, 0x08, 0, 6, 4];
pub(crate) const ARP_REQUEST: u16 = 1;
pub(crate) const ARP_REPLY: u16 = 2;
const ARP: usize = 28;
/// Router alert (RFC 2113): routers look at such a packet.
const ROUTER_ALERT: [u8; 4] = [0x94, 4, 0, 0];
/// The same in a hop-by-hop header, for MLD (RFC 2711), and two bytes of padding.
const ROUTER_ALERT_V6: [u8; 8] = [ICMPV6, 0, 5, 2, 0, 0, 1, 0];
/// DSCP CS6, for network control (RFC 4594 section 3.1).
const CONTROL_TOS: u8 = 0xc0;
/// All routers of a link (RFC 4291 section 2.7.1).
const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
/// Types of neighbour discovery (RFC 4861 section 4), whose hop limit shows that no router was in between.
const ROUTER_SOLICIT: u8 = 133;
const ROUTER_ADVERT: u8 = 134;
pub(crate) const NEIGHBOUR_SOLICIT: u8 = 135;
pub(crate) const NEIGHBOUR_ADVERT: u8 = 136;
/// Bytes of a router's advertisement without options.
const ROUTER: usize = 16;
/// Bytes of a solicitation or advertisement of a neighbour without options.
const NEIGHBOUR: usize = 24;
const ND_HOP_LIMIT: u8 = 255;

/// Source and destination of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link<'v> {
    pub(crate) from: Mac,
    pub(crate) to: Mac,
    /// Outermost first.
    pub(crate) vlans: &'v Vlans,
}

impl Link<'_> {
    pub(crate) fn header(&self, kind: u16, capacity: usize) -> Vec<u8> {
        let mut frame = Vec::with_capacity(ETHERTYPE_AT + 2 + TAG * self.vlans.len() + capacity);
        frame.extend(self.to);
        frame.extend(self.from);
        self.vlans.tags().for_each(|tag| frame.extend(tag));
        frame.extend(kind.to_be_bytes());
        frame
    }

    /// A message directly over Ethernet, in a frame that is long enough.
    pub(crate) fn direct(&self, kind: u16, message: &[u8]) -> Vec<u8> {
        let mut frame = self.header(kind, message.len());
        frame.extend(message);
        frame.resize(frame.len().max(FRAME_LEAST), 0);
        frame
    }

    /// A UDP datagram from one IPv6 address to another of the link.
    pub(crate) fn udp6(&self, from: (Ipv6Addr, u16), to: (Ipv6Addr, u16), payload: &[u8]) -> Vec<u8> {
        let len = UDP_HEADER + payload.len();
        let mut frame = self.header(TYPE_IPV6, IPV6 + len);
        put_ipv6(&mut frame, (from.0, to.0), (UDP, 1), len as u16);
        put_udp(&mut frame, (from.1, to.1), payload, &[from.0.octets(), to.0.octets()].concat());
        frame
    }

    /// A router solicitation of the host with the hardware address `from` (RFC 4861 section 4.1).
    pub(crate) fn router_solicit(from: Mac, vlans: &Vlans) -> Vec<u8> {
        // With the host's own hardware address.
        let mut message = vec![ROUTER_SOLICIT, 0, 0, 0, 0, 0, 0, 0, 1, 1];
        message.extend(from);
        Link { from, to: group_mac(ALL_ROUTERS), vlans }.discovery(link_local(from), ALL_ROUTERS, &message)
    }

    /// The question of the host with the hardware address `from` whether a neighbour has `ip` (RFC 4862 section 5.4.2).
    pub(crate) fn probe(from: Mac, vlans: &Vlans, ip: Ipv6Addr) -> Vec<u8> {
        let [.., a, b, c] = ip.octets();
        // The group of all nodes with an address like it (RFC 4291 section 2.7.1).
        let to = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(a), u16::from_be_bytes([b, c]));
        let message = [&[NEIGHBOUR_SOLICIT, 0, 0, 0, 0, 0, 0, 0][..], &ip.octets()].concat();
        Link { from, to: group_mac(to), vlans }.discovery(Ipv6Addr::UNSPECIFIED, to, &message)
    }

    /// The same by ARP (RFC 5227 section 2.1.1).
    pub(crate) fn arp_probe(from: Mac, vlans: &Vlans, ip: Ipv4Addr) -> Vec<u8> {
        Link { from, to: BROADCAST, vlans }.arp(ARP_REQUEST, Ipv4Addr::UNSPECIFIED, ip)
    }

    /// An ARP packet of the address `own`.
    pub(crate) fn arp(&self, operation: u16, own: Ipv4Addr, target: Ipv4Addr) -> Vec<u8> {
        let mut frame = self.header(TYPE_ARP, ARP);
        frame.extend(ARP_ETHERNET);
        frame.extend(operation.to_be_bytes());
        frame.extend(self.from);
        frame.extend(own.octets());
        frame.extend([0; 6]);
        frame.extend(target.octets());
        frame
    }

    /// A neighbour's advertisement of an address to all hosts.
    #[cfg(test)]
    pub(crate) fn neighbour(from: Mac, vlans: &Vlans, ip: Ipv6Addr, message: &[u8]) -> Vec<u8> {
        let all = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
        Link { from, to: group_mac(all), vlans }.discovery(ip, all, message)
    }

    /// A router's advertisement to all hosts.
    #[cfg(test)]
    pub(crate) fn router_advert(from: Mac, vlans: &Vlans, message: &[u8]) -> Vec<u8> {
        let all = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
        Link { from, to: group_mac(all), vlans }.discovery(link_local(from), all, message)
    }

    /// A message of neighbour discovery. Its checksum is filled in.
    pub(crate) fn discovery(&self, own: Ipv6Addr, to: Ipv6Addr, message: &[u8]) -> Vec<u8> {
        let len = message.len() as u16;
        let mut frame = self.header(TYPE_IPV6, IPV6 + message.len());
        put_ipv6(&mut frame, (own, to), (ICMPV6, ND_HOP_LIMIT), len);
        let start = frame.len();
        frame.extend(message);
        let pseudo = checksum::sum(&[own.octets(), to.octets()].concat(), u64::from(ICMPV6) + u64::from(len));
        let sum = checksum::finish(checksum::sum(&frame[start..], pseudo));
        frame[start + 2..start + 4].copy_from_slice(&sum.to_be_bytes());
        frame
    }

    /// A UDP datagram from one IPv4 address to another.
    pub(crate) fn udp(&self, from: (Ipv4Addr, u16), to: (Ipv4Addr, u16), payload: &[u8]) -> Vec<u8> {
        let len = UDP_HEADER + payload.len();
        let mut frame = self.header(TYPE_IPV4, IPV4 + len);
        put_ipv4(&mut frame, (from.0, to.0), (UDP, 64, 0), &[], len as u16);
        put_udp(&mut frame, (from.1, to.1), payload, &[from.0.octets(), to.0.octets()].concat());
        frame
    }

    /// An IGMP message with the router alert option (RFC 3376 section 4). Its checksum is filled in.
    pub(crate) fn igmp(&self, from: Ipv4Addr, to: Ipv4Addr, message: &[u8]) -> Vec<u8> {
        let mut frame = self.header(TYPE_IPV4, IPV4 + ROUTER_ALERT.len() + message.len());
        put_ipv4(&mut frame, (from, to), (IGMP, 1, CONTROL_TOS), &ROUTER_ALERT, message.len() as u16);
        let start = frame.len();
        frame.extend(message);
        let sum = checksum::finish(checksum::sum(&frame[start..], 0));
        frame[start + 2..start + 4].copy_from_slice(&sum.to_be_bytes());
        frame
    }

    /// An MLD message with the router alert option (RFC 3810 section 5). Its checksum is filled in.
    pub(crate) fn mld(&self, from: Ipv6Addr, to: Ipv6Addr, message: &[u8]) -> Vec<u8> {
        let mut frame = self.header(TYPE_IPV6, IPV6 + ROUTER_ALERT_V6.len() + message.len());
        let len = (ROUTER_ALERT_V6.len() + message.len()) as u16;
        frame.extend([0x60 | CONTROL_TOS >> 4, CONTROL_TOS << 4, 0, 0]);
        frame.extend(len.to_be_bytes());
        frame.extend([HOP_BY_HOP, 1]);
        frame.extend(from.octets());
        frame.extend(to.octets());
        frame.extend(ROUTER_ALERT_V6);
        let start = frame.len();
        frame.extend(message);
        let pseudo = u64::from(ICMPV6) + message.len() as u64;
        let pseudo = checksum::sum(&[from.octets(), to.octets()].concat(), pseudo);
        let sum = checksum::finish(checksum::sum(&frame[start..], pseudo));
        frame[start + 2..start + 4].copy_from_slice(&sum.to_be_bytes());
        frame
    }
}

/// The link-local address of a hardware address (RFC 4291 appendix A).
pub fn link_local(mac: Mac) -> Ipv6Addr {
    let [a, b, c, d, e, f] = mac;
    Ipv6Addr::from([0xfe, 0x80, 0, 0, 0, 0, 0, 0, a ^ 2, b, c, 0xff, 0xfe, d, e, f])
}

/// The hardware address of a group (RFC 2464 section 7).
pub(crate) fn group_mac(group: Ipv6Addr) -> Mac {
    let [.., a, b, c, d] = group.octets();
    [0x33, 0x33, a, b, c, d]
}

/// An IPv6 header for `len` bytes after it; `(protocol, hop limit)`.
pub(crate) fn put_ipv6(
    frame: &mut Vec<u8>,
    (from, to): (Ipv6Addr, Ipv6Addr),
    (protocol, hops): (u8, u8),
    len: u16,
) {
    frame.extend([0x60, 0, 0, 0]);
    frame.extend(len.to_be_bytes());
    frame.extend([protocol, hops]);
    frame.extend(from.octets());
    frame.extend(to.octets());
}

/// An IPv4 header for `len` bytes after it; `(protocol, ttl, tos)`.
pub(crate) fn put_ipv4(
    frame: &mut Vec<u8>,
    (from, to): (Ipv4Addr, Ipv4Addr),
    (protocol, ttl, tos): (u8, u8, u8),
    options: &[u8],
    len: u16,
) {
    let start = frame.len();
    let header = IPV4 + options.len();
    frame.extend([0x40 | (header / 4) as u8, tos]);
    frame.extend((header as u16 + len).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, ttl, protocol, 0, 0]);
    frame.extend(from.octets());
    frame.extend(to.octets());
    frame.extend(options);
    let sum = checksum::finish(checksum::sum(&frame[start..], 0));
    frame[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
}

/// A UDP datagram after an IP header with these addresses, the source's bytes before the destination's.
fn put_udp(frame: &mut Vec<u8>, (from, to): (u16, u16), payload: &[u8], addresses: &[u8]) {
    let (start, len) = (frame.len(), (UDP_HEADER + payload.len()) as u16);
    frame.extend(from.to_be_bytes());
    frame.extend(to.to_be_bytes());
    frame.extend(len.to_be_bytes());
    frame.extend([0; 2]);
    frame.extend(payload);
    let pseudo = checksum::sum(addresses, u64::from(UDP) + u64::from(len));
    let sum = match checksum::finish(checksum::sum(&frame[start..], pseudo)) {
        // Zero means that there is none (RFC 768), which IPv6 does not allow (RFC 8200 section 8.1).
        0 => 0xffff,
        sum => sum,
    };
    frame[start + 6..start + 8].copy_from_slice(&sum.to_be_bytes());
}

/// Content of a frame that came whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Received<'f> {
    pub(crate) from: Mac,
    /// Outermost first; without priority tags.
    pub(crate) vlans: Vec<u16>,
    pub(crate) packet: Packet<'f>,
}

/// Content after the link's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packet<'f> {
    /// A datagram to this port.
    Udp { is_v4: bool, to: u16, payload: &'f [u8] },
    /// With a right checksum.
    Igmp { from: Ipv4Addr, to: Ipv4Addr, message: &'f [u8] },
    /// The same, of ICMPv6, with hop limit 1.
    Mld { from: Ipv6Addr, to: Ipv6Addr, message: &'f [u8] },
    /// A router's advertisement, with a right checksum.
    Router { from: Ipv6Addr, message: &'f [u8] },
    /// A neighbour's, who has the address or is about to (RFC 4862 sections 5.4.3 and 5.4.4).
    Claim { target: Ipv6Addr },
    /// By ARP, of a host that has the address or is about to use it (RFC 5227 section 2.1.1).
    ArpClaim { sender: Mac, address: Ipv4Addr },
    /// Directly over Ethernet, of this type, to this address.
    Direct { kind: u16, to: Mac, message: &'f [u8] },
}

pub(crate) fn pair(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn v4(bytes: &[u8], at: usize) -> Option<Ipv4Addr> {
    Some(Ipv4Addr::from(*bytes.get(at..)?.first_chunk::<4>()?))
}

pub(crate) fn v6(bytes: &[u8], at: usize) -> Option<Ipv6Addr> {
    Some(Ipv6Addr::from(*bytes.get(at..)?.first_chunk::<16>()?))
}

impl<'f> Received<'f> {
    /// The content of a frame that came whole. Whether it is for hosts here, their protocols decide.
    pub(crate) fn read(frame: &'f [u8]) -> Option<Self> {
        let (ids, n) = tags(frame)?;
        let at = ETHERTYPE_AT + TAG * n;
        let ip = frame.get(at + 2..)?;
        let packet = match pair(frame, at)? {
            TYPE_IPV4 => Packet::read_v4(ip)?,
            TYPE_IPV6 => Packet::read_v6(ip)?,
            TYPE_ARP => Packet::read_arp(ip)?,
            kind => Packet::Direct { kind, to: *frame.first_chunk()?, message: ip },
        };
        let vlans = ids[..n].iter().copied().filter(|id| *id != 0).collect();
        Some(Self { from: *frame.get(6..)?.first_chunk()?, vlans, packet })
    }
}

impl<'f> Packet<'f> {
    fn read_v4(ip: &'f [u8]) -> Option<Self> {
        let header = usize::from(ip.first()? & 15) * 4;
        let is_whole = pair(ip, 6)? & 0x3fff == 0;
        if ip[0] >> 4 != 4 || header < IPV4 || !is_whole {
            return None;
        }
        let payload = ip.get(header..usize::from(pair(ip, 2)?))?;
        let (from, to) = (v4(ip, 12)?, v4(ip, 16)?);
        match *ip.get(9)? {
            UDP => Self::read_udp(payload, true),
            IGMP if payload.len() >= 8 && checksum::finish(checksum::sum(payload, 0)) == 0 => {
                Some(Self::Igmp { from, to, message: payload })
            }
            _ => None,
        }
    }

    fn read_udp(udp: &'f [u8], is_v4: bool) -> Option<Self> {
        let payload = udp.get(UDP_HEADER..usize::from(pair(udp, 4)?))?;
        Some(Self::Udp { is_v4, to: pair(udp, 2)?, payload })
    }

    fn read_arp(arp: &[u8]) -> Option<Self> {
        if arp.get(..6)? != ARP_ETHERNET || !matches!(pair(arp, 6)?, ARP_REQUEST | ARP_REPLY) {
            return None;
        }
        let (sender, own, target) = (*arp.get(8..)?.first_chunk()?, v4(arp, 14)?, v4(arp, 24)?);
        // A sender without an address is about to have the one it asks for.
        let address = if own.is_unspecified() { target } else { own };
        Some(Self::ArpClaim { sender, address })
    }

    fn read_v6(ip: &'f [u8]) -> Option<Self> {
        let len = usize::from(pair(ip, 4)?);
        let direct = ip.get(IPV6..IPV6 + len)?;
        match *ip.get(6)? {
            UDP => return Self::read_udp(direct, false),
            ICMPV6 => return Self::read_discovery(ip, direct),
            _ => {}
        }
        // RFC 3810 section 5: a hop-by-hop header with the option, and hop limit 1.
        if *ip.get(6)? != HOP_BY_HOP || *ip.get(7)? != 1 {
            return None;
        }
        let payload = ip.get(IPV6..IPV6 + len)?;
        if *payload.first()? != ICMPV6 {
            return None;
        }
        let message = payload.get((usize::from(*payload.get(1)?) + 1) * 8..)?;
        let (from, to) = (v6(ip, 8)?, v6(ip, 24)?);
        let pseudo = u64::from(ICMPV6) + message.len() as u64;
        let pseudo = checksum::sum(ip.get(8..IPV6)?, pseudo);
        let is_right = checksum::finish(checksum::sum(message, pseudo)) == 0;
        (is_right && message.len() >= 8).then_some(Self::Mld { from, to, message })
    }
}

impl<'f> Packet<'f> {
    /// A router's advertisement (RFC 4861 section 6.1.2), a neighbour's (section 7.1.2), or a question like that of a host that is
    /// about to have an address (RFC 4862 section 5.4.3).
    fn read_discovery(ip: &'f [u8], message: &'f [u8]) -> Option<Self> {
        let from = v6(ip, 8)?;
        let pseudo = checksum::sum(ip.get(8..IPV6)?, u64::from(ICMPV6) + message.len() as u64);
        let is_right = checksum::finish(checksum::sum(message, pseudo)) == 0 && ip[7] == ND_HOP_LIMIT;
        if !is_right || message.len() < ROUTER || message[1] != 0 {
            return None;
        }
        let target = || v6(message, 8).filter(|ip| message.len() >= NEIGHBOUR && !ip.is_multicast());
        match message[0] {
            ROUTER_ADVERT => from.is_unicast_link_local().then_some(Self::Router { from, message }),
            NEIGHBOUR_ADVERT => target().map(|target| Self::Claim { target }),
            NEIGHBOUR_SOLICIT if from.is_unspecified() => target().map(|target| Self::Claim { target }),
            _ => None,
        }
    }
}

/// Whether a frame may be for hosts here: a look at types alone, for many frames that are not.
pub fn may_concern(frame: &[u8]) -> bool {
    let Some((_, n)) = tags(frame) else { return false };
    let at = ETHERTYPE_AT + TAG * n;
    let Some(ip) = frame.get(at + 2..) else { return false };
    match pair(frame, at) {
        Some(TYPE_IPV4) => match ip.get(9) {
            Some(&IGMP) => true,
            Some(&UDP) => pair(ip, usize::from(ip[0] & 15) * 4 + 2) == Some(CLIENT_PORT_V4),
            _ => false,
        },
        Some(TYPE_ARP) => true,
        Some(TYPE_IPV6) => match (ip.get(6), ip.get(IPV6)) {
            (Some(&HOP_BY_HOP), behind) => behind == Some(&ICMPV6),
            (Some(&UDP), _) => pair(ip, IPV6 + 2) == Some(CLIENT_PORT_V6),
            (Some(&ICMPV6), Some(&(ROUTER_ADVERT | NEIGHBOUR_ADVERT))) => true,
            // From nobody yet.
            (Some(&ICMPV6), Some(&NEIGHBOUR_SOLICIT)) => ip.get(8..24) == Some(&[0; 16]),
            _ => false,
        },
        Some(kind) => DIRECT.iter().any(|(own, may_concern)| *own == kind && may_concern(ip)),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(vlans: &Vlans) -> Link<'_> {
        Link { from: [2, 0, 0, 0, 0, 1], to: [2, 0, 0, 0, 0, 2], vlans }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let vlans = [7, 8].into();
        let link = link(&vlans);
        let (a, b) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let frame = link.udp((a, 67), (b, 68), b"tide");
        let read = Received::read(&frame).unwrap();
        assert_eq!((read.from, &read.vlans[..]), (link.from, &link.vlans[..]));
        assert_eq!(read.packet, Packet::Udp { is_v4: true, to: 68, payload: b"tide" });
        let igmp = [0x11, 10, 0, 0, 224, 0, 0, 1];
        let frame = link.igmp(a, b, &igmp);
        let Some(Received { packet: Packet::Igmp { message, .. }, .. }) = Received::read(&frame) else {
            panic!("not read")
        };
        assert_eq!(message.len(), 8);
        assert!(may_concern(&frame));
        let (a, b): (Ipv6Addr, Ipv6Addr) = ("fe80::1".parse().unwrap(), "ff02::1".parse().unwrap());
        let frame = link.mld(a, b, &[130, 0, 0, 0, 0, 0, 0, 0]);
        let Some(Received { packet: Packet::Mld { from, to, .. }, .. }) = Received::read(&frame) else {
            panic!("not read")
        };
        assert_eq!((from, to), (a, b));
        assert!(may_concern(&frame));
    }

    #[test]
    fn arp_tells_who_has_an_address_or_is_about_to() {
        let vlans = [7].into();
        let (one, other) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        fn claimed(frame: &[u8]) -> Option<Packet<'_>> {
            Received::read(frame).map(|read| read.packet)
        }
        let probe = Link::arp_probe([2, 0, 0, 0, 0, 9], &vlans, other);
        let about = Packet::ArpClaim { sender: [2, 0, 0, 0, 0, 9], address: other };
        assert_eq!(claimed(&probe), Some(about));
        let has = Packet::ArpClaim { sender: link(&vlans).from, address: one };
        for operation in [ARP_REQUEST, ARP_REPLY] {
            let frame = link(&vlans).arp(operation, one, other);
            assert!(may_concern(&frame));
            assert_eq!(claimed(&frame), Some(has));
            (0..frame.len()).for_each(|len| assert_eq!(claimed(&frame[..len]), None));
        }
        assert_eq!(claimed(&link(&vlans).arp(3, one, other)), None);
    }

    #[test]
    fn a_wrong_checksum_or_a_short_frame_is_nothing() {
        let vlans = [7, 8].into();
        let link = link(&vlans);
        let (a, b) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(224, 0, 0, 1));
        let frame = link.igmp(a, b, &[0x11, 10, 0, 0, 0, 0, 0, 0]);
        for at in 46..frame.len() {
            let mut spoilt = frame.clone();
            spoilt[at] ^= 1;
            assert_eq!(Received::read(&spoilt), None, "byte {at}");
        }
        for len in 0..frame.len() {
            assert_eq!(Received::read(&frame[..len]), None);
            let _ = may_concern(&frame[..len]);
        }
    }
}
