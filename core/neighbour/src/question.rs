//! Request in a frame to a host: for a hardware address, or for an echo.
//!
//! Not here: the addressee of the request, and the reply.

use crate::{
    ARP_REQUEST, ECHO_REPLY, ECHO_REPLY_V6, ECHO_REQUEST, ECHO_REQUEST_V6, Mac, ND_HOP_LIMIT, SOLICIT,
    mac_of, value,
};
use std::net::{IpAddr, Ipv6Addr};
use wire::{ReadHeader, checksum, read};

/// A well-formed question.
pub(crate) struct Question<'f> {
    /// Hardware address to reply to.
    pub(crate) from: Mac,
    /// VLANs of the request, outermost first.
    pub(crate) vlans: Vec<u16>,
    /// The types of these tags.
    pub(crate) tag_types: Vec<u16>,
    /// The address it is about.
    pub(crate) target: IpAddr,
    pub(crate) kind: QuestionKind<'f>,
}

/// Kind of the request. `asker` is the requesting address as a number.
pub(crate) enum QuestionKind<'f> {
    /// By ARP for the target's hardware address.
    Arp { asker: u128 },
    /// By neighbour discovery for the same. A requester without an address probes for duplicates (RFC 4862 section
    /// 5.4.3).
    Solicit { asker: u128 },
    /// For an echo: `reply` is the type of the reply.
    Echo { icmp: &'static str, reply: u128, asker: u128, id: u128, seq: u128, payload: &'f [u8] },
}

impl<'f> Question<'f> {
    /// The question of a frame, if it is one.
    pub(crate) fn read(frame: &'f [u8]) -> Option<Self> {
        let (headers, behind) = read(frame);
        if !is_for_a_host(&headers) {
            return None;
        }
        let from = mac_of(value(headers.first()?, "src"));
        let (vlans, tag_types) = tags(&headers).unzip();
        let link = (from, vlans, tag_types);
        let ip = headers.iter().find(|h| h.protocol.name == "ipv4" || h.protocol.name == "ipv6");
        let last = headers.last()?;
        match last.protocol.name {
            "arp" if value(last, "operation") == ARP_REQUEST && is_for_ethernet(last) => {
                let target = IpAddr::V4((value(last, "target_ip") as u32).into());
                let kind = QuestionKind::Arp { asker: value(last, "sender_ip") };
                let (_, vlans, tag_types) = link;
                Some(Self { from: mac_of(value(last, "sender_mac")), vlans, tag_types, target, kind })
            }
            // With and without the option that tells the asker's hardware address (RFC 4861 section 4.3).
            "nd_solicit" => solicit(link, ip?, message(ip?, last, frame)?),
            "icmpv6" if value(last, "type") == SOLICIT => solicit(link, ip?, message(ip?, last, frame)?),
            "icmp" if value(last, "type") == ECHO_REQUEST => {
                echo(link, ip?, (last, "icmp", ECHO_REPLY), frame, behind)
            }
            "icmpv6" if value(last, "type") == ECHO_REQUEST_V6 => {
                echo(link, ip?, (last, "icmpv6", ECHO_REPLY_V6), frame, behind)
            }
            _ => None,
        }
    }
}

/// The asker's hardware address, and identifiers and types of the tags of its frame.
type Link = (Mac, Vec<u16>, Vec<u16>);

/// Whether an ARP packet is about IPv4 on Ethernet (RFC 826).
pub(crate) fn is_for_ethernet(arp: &ReadHeader) -> bool {
    let fields =
        [("hardware_type", 1), ("protocol_type", 0x0800), ("hardware_length", 6), ("protocol_length", 4)];
    fields.iter().all(|(name, is)| value(arp, name) == *is)
}

/// Where the packet after `ip` ends in its frame.
pub(crate) fn end_of(ip: &ReadHeader) -> usize {
    match ip.protocol.name {
        "ipv4" => ip.offset + value(ip, "total_length") as usize,
        _ => ip.offset + 40 + value(ip, "payload_length") as usize,
    }
}

/// The whole ICMP message that begins with `icmp`, if its checksum is right.
pub(crate) fn message<'f>(ip: &ReadHeader, icmp: &ReadHeader, frame: &'f [u8]) -> Option<&'f [u8]> {
    let bytes = frame.get(icmp.offset..end_of(ip))?;
    let pseudo = match ip.protocol.name {
        "ipv4" => 0,
        // RFC 8200 section 8.1: both addresses, the length, and the number of ICMPv6.
        _ => {
            let addresses = frame.get(ip.offset + 8..ip.offset + 40)?;
            checksum::sum(addresses, bytes.len() as u64 + 58)
        }
    };
    (checksum::fold(checksum::sum(bytes, pseudo)) == 0xffff).then_some(bytes)
}

/// The target of a valid solicitation (RFC 4861 section 7.1.1).
fn target_of(message: &[u8], ip: &ReadHeader) -> Option<u128> {
    const SOURCE_HARDWARE_ADDRESS: u8 = 1;
    let target = u128::from_be_bytes(message.get(8..24)?.try_into().ok()?);
    let mut options = &message[24..];
    let mut names_hardware = false;
    while let [kind, units, ..] = *options {
        let len = usize::from(units) * 8;
        if len == 0 {
            return None;
        }
        names_hardware |= kind == SOURCE_HARDWARE_ADDRESS;
        options = options.get(len..).unwrap_or_default();
    }
    // Whoever has no address yet has no hardware address to tell and asks a group.
    let is_valid =
        value(ip, "src") != 0 || !names_hardware && Ipv6Addr::from_bits(value(ip, "dst")).is_multicast();
    // A hop limit below 255 came through a router, which no neighbour's question does.
    let is_near = value(ip, "hop_limit") == ND_HOP_LIMIT;
    let is_one = !Ipv6Addr::from_bits(target).is_multicast();
    (is_valid && is_near && is_one && message[1] == 0).then_some(target)
}

fn solicit<'f>((from, vlans, tag_types): Link, ip: &ReadHeader, message: &[u8]) -> Option<Question<'f>> {
    let target = IpAddr::V6(target_of(message, ip)?.into());
    let kind = QuestionKind::Solicit { asker: value(ip, "src") };
    Some(Question { from, vlans, tag_types, target, kind })
}

fn echo<'f>(
    (from, vlans, tag_types): Link,
    ip: &ReadHeader,
    (echo, icmp, reply): (&ReadHeader, &'static str, u128),
    frame: &'f [u8],
    behind: usize,
) -> Option<Question<'f>> {
    message(ip, echo, frame)?;
    let target = value(ip, "dst");
    let target = match ip.protocol.name {
        "ipv4" => IpAddr::V4((target as u32).into()),
        _ => IpAddr::V6(target.into()),
    };
    let (id, seq) = (value(echo, "id"), value(echo, "seq"));
    let payload = frame.get(behind..end_of(ip))?;
    let kind = QuestionKind::Echo { icmp, reply, asker: value(ip, "src"), id, seq, payload };
    Some(Question { from, vlans, tag_types, target, kind })
}

/// Identifiers of the tags, outermost first.
pub(crate) fn vlans(headers: &[ReadHeader]) -> Vec<u16> {
    tags(headers).map(|(id, _)| id).collect()
}

/// Identifiers and types of the tags, outermost first. A priority tag is not a VLAN (IEEE 802.1Q).
fn tags(headers: &[ReadHeader]) -> impl Iterator<Item = (u16, u16)> {
    let behind = headers.iter().zip(headers.iter().skip(1));
    let tags = behind.take_while(|(_, header)| header.protocol.name == "vlan");
    tags.map(|(before, tag)| (value(tag, "id") as u16, value(before, "type") as u16))
        .filter(|(id, _)| *id != 0)
}

/// Whether the last header follows Ethernet, tags and one IP header alone: packets in a tunnel are not for a host.
pub(crate) fn is_for_a_host(headers: &[ReadHeader]) -> bool {
    let Some((_, around)) = headers.split_last() else { return false };
    let is_ip = |header: &&ReadHeader| ["ipv4", "ipv6"].contains(&header.protocol.name);
    let is_plain = |header: &ReadHeader| {
        let names = ["ethernet", "vlan", "ipv4", "ipv6", "ipv6_hop_by_hop", "ipv6_destination"];
        let is_done = match header.protocol.name {
            // At its end, and a whole packet (RFC 6946).
            "ipv6_routing" | "srh" => value(header, "segments_left") == 0,
            "ipv6_fragment" => value(header, "fragment_offset") == 0 && value(header, "more_fragments") == 0,
            name => names.contains(&name),
        };
        is_done || header.protocol.part.is_some()
    };
    around.iter().all(is_plain) && around.iter().filter(is_ip).count() <= 1
}
