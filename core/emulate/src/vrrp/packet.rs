//! Frames of virtual routers: advertisements, announcements of addresses, and replies for them.

use super::message::VRRP;
use crate::frame::{
    ARP_REPLY, ARP_REQUEST, BROADCAST, ICMPV6, Link, Mac, NEIGHBOUR_ADVERT, NEIGHBOUR_SOLICIT, TYPE_ARP,
    TYPE_IPV4, TYPE_IPV6, group_mac, put_ipv4, put_ipv6, v6,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::control::{ETHERTYPE_AT, tags};
use wire::{Vlans, checksum};

/// Groups of VRRP routers (RFC 9568 sections 5.1.1.2 and 5.1.2.2).
pub(super) const GROUP_V4: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 18);
pub(super) const GROUP_V6: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x12);
const GROUP_V4_MAC: Mac = [0x01, 0x00, 0x5e, 0, 0, 18];
/// All nodes of a link (RFC 4291 section 2.7.1).
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
/// RFC 9568 sections 5.1.1.3 and 5.1.2.3.
pub(super) const TTL: u8 = 255;
/// DSCP CS6, for network control (RFC 4594 section 3.1).
const CONTROL_TOS: u8 = 0xc0;
const FRAME_LEAST: usize = 60;
const TAG: usize = 4;
const IPV4: usize = 20;
const IPV6: usize = 40;
const ICMP: u8 = 1;
const ECHO: [u8; 2] = [8, 128];
/// Flags of a neighbour's advertisement (RFC 4861 section 4.4): from a router, solicited, overriding.
const ROUTER: u8 = 0x80;
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;
/// The first bytes of all virtual MAC addresses (RFC 9568 section 7.3).
const VIRTUAL: [u8; 4] = [0x00, 0x00, 0x5e, 0x00];

/// The virtual MAC address of a virtual router (RFC 9568 section 7.3).
pub(super) fn virtual_mac(vrid: u8, is_v4: bool) -> Mac {
    let [a, b, c, d] = VIRTUAL;
    [a, b, c, d, if is_v4 { 1 } else { 2 }, vrid]
}

/// A received frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packet<'f> {
    Advert {
        from: IpAddr,
        to: IpAddr,
        ttl: u8,
        message: &'f [u8],
    },
    /// A request for the hardware address of `target`, by ARP or neighbour discovery; `from` is unspecified if it
    /// looks for duplicates.
    Request {
        from: IpAddr,
        target: IpAddr,
    },
    /// An echo request.
    Echo {
        target: IpAddr,
    },
}

fn pair(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn v4(bytes: &[u8], at: usize) -> Option<IpAddr> {
    Some(Ipv4Addr::from(*bytes.get(at..)?.first_chunk::<4>()?).into())
}

/// Reads a frame: the identifiers of its VLAN tags without priority tags, where its EtherType is, and its contents.
pub(super) fn read(frame: &[u8]) -> Option<(Vec<u16>, usize, Packet<'_>)> {
    let (ids, n) = tags(frame)?;
    let at = ETHERTYPE_AT + TAG * n;
    let inner = frame.get(at + 2..)?;
    let packet = match pair(frame, at)? {
        TYPE_ARP if pair(inner, 2)? == TYPE_IPV4 && pair(inner, 6)? == ARP_REQUEST => {
            Packet::Request { from: v4(inner, 14)?, target: v4(inner, 24)? }
        }
        TYPE_IPV4 => read_v4(inner)?,
        TYPE_IPV6 => read_v6(inner)?,
        _ => return None,
    };
    Some((ids[..n].iter().copied().filter(|id| *id != 0).collect(), at, packet))
}

fn read_v4(ip: &[u8]) -> Option<Packet<'_>> {
    let header = usize::from(ip.first()? & 15) * 4;
    let is_whole = pair(ip, 6)? & 0x3fff == 0;
    if ip[0] >> 4 != 4 || header < IPV4 || !is_whole {
        return None;
    }
    let message = ip.get(header..usize::from(pair(ip, 2)?))?;
    let (from, to) = (v4(ip, 12)?, v4(ip, 16)?);
    match *ip.get(9)? {
        VRRP => Some(Packet::Advert { from, to, ttl: ip[8], message }),
        ICMP if message.len() >= 8 && message[0] == ECHO[0] && header == IPV4 => {
            Some(Packet::Echo { target: to })
        }
        _ => None,
    }
}

fn read_v6(ip: &[u8]) -> Option<Packet<'_>> {
    let message = ip.get(IPV6..IPV6 + usize::from(pair(ip, 4)?))?;
    let (from, to) = (IpAddr::V6(v6(ip, 8)?), IpAddr::V6(v6(ip, 24)?));
    match (*ip.get(6)?, message.first()?) {
        (VRRP, _) => Some(Packet::Advert { from, to, ttl: ip[7], message }),
        (ICMPV6, &NEIGHBOUR_SOLICIT) if ip[7] == TTL => {
            Some(Packet::Request { from, target: v6(message, 8)?.into() })
        }
        (ICMPV6, kind) if *kind == ECHO[1] && message.len() >= 8 => Some(Packet::Echo { target: to }),
        _ => None,
    }
}

/// An advertisement with the virtual MAC address as its source (RFC 9568 section 7.2).
pub(super) fn advertisement(mac: Mac, vlans: &Vlans, from: IpAddr, message: &[u8]) -> Vec<u8> {
    let len = message.len() as u16;
    let mut frame = match from {
        IpAddr::V4(from) => {
            let mut frame =
                Link { from: mac, to: GROUP_V4_MAC, vlans }.header(TYPE_IPV4, IPV4 + message.len());
            put_ipv4(&mut frame, (from, GROUP_V4), (VRRP, TTL, CONTROL_TOS), &[], len);
            frame
        }
        IpAddr::V6(from) => {
            let link = Link { from: mac, to: group_mac(GROUP_V6), vlans };
            let mut frame = link.header(TYPE_IPV6, IPV6 + message.len());
            put_ipv6(&mut frame, (from, GROUP_V6), (VRRP, TTL), len);
            frame
        }
    };
    frame.extend(message);
    frame.resize(frame.len().max(FRAME_LEAST), 0);
    frame
}

/// The announcement of a virtual address: a gratuitous ARP request, or an unsolicited neighbour advertisement (RFC 9568
/// section 6.4.2).
pub(super) fn announcement(mac: Mac, vlans: &Vlans, ip: IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(ip) => Link { from: mac, to: BROADCAST, vlans }.arp(ARP_REQUEST, ip, ip),
        IpAddr::V6(ip) => {
            let link = Link { from: mac, to: group_mac(ALL_NODES), vlans };
            link.discovery(ip, ALL_NODES, &neighbour_advert(mac, ip, ROUTER | OVERRIDE))
        }
    }
}

/// The reply to a request for the hardware address of `target`.
pub(super) fn reply(mac: Mac, to: Mac, vlans: &Vlans, from: IpAddr, target: IpAddr) -> Option<Vec<u8>> {
    let link = Link { from: mac, to, vlans };
    match (target, from) {
        (IpAddr::V4(target), IpAddr::V4(from)) => {
            let mut frame = link.arp(ARP_REPLY, target, from);
            // The requester's hardware address, before its IP address at the end.
            let end = frame.len() - 4;
            frame[end - 6..end].copy_from_slice(&to);
            Some(frame)
        }
        (IpAddr::V6(target), IpAddr::V6(from)) if from.is_unspecified() => {
            Some(announcement(mac, vlans, target.into()))
        }
        (IpAddr::V6(target), IpAddr::V6(from)) => {
            let message = neighbour_advert(mac, target, ROUTER | SOLICITED | OVERRIDE);
            Some(link.discovery(target, from, &message))
        }
        _ => None,
    }
}

fn neighbour_advert(mac: Mac, target: Ipv6Addr, flags: u8) -> Vec<u8> {
    let mut message = vec![NEIGHBOUR_ADVERT, 0, 0, 0, flags, 0, 0, 0];
    message.extend(target.octets());
    message.extend([2, 1]);
    message.extend(mac);
    message
}

/// The reply to an echo request, whose EtherType is at `at`: the same with source and destination exchanged.
pub(super) fn echo_reply(mac: Mac, at: usize, request: &[u8]) -> Option<Vec<u8>> {
    let mut frame = request.to_vec();
    let (to, from) = frame.get_mut(..12)?.split_at_mut(6);
    to.copy_from_slice(from);
    from.copy_from_slice(&mac);
    let ip = frame.get_mut(at + 2..)?;
    let (icmp, reply) = if pair(request, at)? == TYPE_IPV4 {
        let (source, destination) = ip.get_mut(12..20)?.split_at_mut(4);
        source.swap_with_slice(destination);
        ip[8] = 64;
        ip[10..12].fill(0);
        let sum = checksum::finish(checksum::sum(ip.get(..IPV4)?, 0));
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        (IPV4, 0)
    } else {
        let (source, destination) = ip.get_mut(8..IPV6)?.split_at_mut(16);
        source.swap_with_slice(destination);
        *ip.get_mut(7)? = 64;
        (IPV6, 129)
    };
    let old = pair(ip, icmp)?;
    *ip.get_mut(icmp)? = reply;
    let sum = checksum::update(pair(ip, icmp + 2)?, old, pair(ip, icmp)?);
    ip[icmp + 2..icmp + 4].copy_from_slice(&sum.to_be_bytes());
    Some(frame)
}

/// Whether a frame may be for a virtual router: an advertisement, ARP, a neighbour solicitation, or an echo request to a
/// virtual MAC address. A look at types alone, for many frames that are not.
pub fn vrrp_may_concern(frame: &[u8]) -> bool {
    let Some((_, n)) = tags(frame) else { return false };
    let at = ETHERTYPE_AT + TAG * n;
    let Some(ip) = frame.get(at + 2..) else { return false };
    let is_virtual = || frame[..4] == VIRTUAL;
    match pair(frame, at) {
        Some(TYPE_ARP) => true,
        Some(TYPE_IPV4) => ip.get(9).is_some_and(|next| *next == VRRP || *next == ICMP && is_virtual()),
        Some(TYPE_IPV6) => match (ip.get(6), ip.get(IPV6)) {
            (Some(&VRRP), _) | (Some(&ICMPV6), Some(&NEIGHBOUR_SOLICIT)) => true,
            (Some(&ICMPV6), _) => is_virtual(),
            _ => false,
        },
        _ => false,
    }
}
