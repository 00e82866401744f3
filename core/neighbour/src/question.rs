//! What a frame asks of a host: for a hardware address, or for an echo.
//!
//! Not here: whose the question is, and the answer.

use crate::{
    ARP_REQUEST, ECHO_REPLY, ECHO_REPLY_V6, ECHO_REQUEST, ECHO_REQUEST_V6, Mac, ND_HOP_LIMIT, SOLICIT,
    mac_of, value,
};
use std::net::IpAddr;
use wire::{ReadHeader, read};

/// A well-formed question.
pub(crate) struct Question<'f> {
    /// Hardware address to answer to.
    pub(crate) from: Mac,
    /// VLANs it was asked in, outermost first.
    pub(crate) vlans: Vec<u16>,
    /// The address it is about.
    pub(crate) target: IpAddr,
    pub(crate) kind: QuestionKind<'f>,
}

/// What is asked. `asker` is the asking address as a number.
pub(crate) enum QuestionKind<'f> {
    /// By ARP for the target's hardware address.
    Arp { asker: u128 },
    /// By neighbour discovery for the same. An asker without an address looks for duplicates of its own (RFC 4862 section
    /// 5.4.3).
    Solicit { asker: u128 },
    /// For an echo: `reply` is the type of the answer.
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
        let vlans = vlans(&headers);
        let ip = headers.iter().find(|h| h.protocol.name == "ipv4" || h.protocol.name == "ipv6");
        let last = headers.last()?;
        match last.protocol.name {
            "arp" if value(last, "operation") == ARP_REQUEST => {
                let target = IpAddr::V4((value(last, "target_ip") as u32).into());
                let kind = QuestionKind::Arp { asker: value(last, "sender_ip") };
                Some(Self { from: mac_of(value(last, "sender_mac")), vlans, target, kind })
            }
            "nd_solicit" => solicit(from, vlans, ip?, value(last, "target")),
            // A solicitation without the option that tells the asker's hardware address (RFC 4861 section 4.3 allows it
            // when asking one host): the target is what is behind the first 8 bytes.
            "icmpv6" if value(last, "type") == SOLICIT => {
                let target: [u8; 16] = frame.get(behind..behind + 16)?.try_into().ok()?;
                solicit(from, vlans, ip?, u128::from_be_bytes(target))
            }
            "icmp" if value(last, "type") == ECHO_REQUEST => {
                echo(from, vlans, ip?, (last, "icmp", ECHO_REPLY), frame, behind)
            }
            "icmpv6" if value(last, "type") == ECHO_REQUEST_V6 => {
                echo(from, vlans, ip?, (last, "icmpv6", ECHO_REPLY_V6), frame, behind)
            }
            _ => None,
        }
    }
}

fn solicit<'f>(from: Mac, vlans: Vec<u16>, ip: &ReadHeader, target: u128) -> Option<Question<'f>> {
    let asker = value(ip, "src");
    // A hop limit below 255 came through a router, which no neighbour's question does (RFC 4861 section 7.1.1).
    let is_near = value(ip, "hop_limit") == ND_HOP_LIMIT;
    let question =
        Question { from, vlans, target: IpAddr::V6(target.into()), kind: QuestionKind::Solicit { asker } };
    is_near.then_some(question)
}

fn echo<'f>(
    from: Mac,
    vlans: Vec<u16>,
    ip: &ReadHeader,
    (echo, icmp, reply): (&ReadHeader, &'static str, u128),
    frame: &'f [u8],
    behind: usize,
) -> Option<Question<'f>> {
    let target = value(ip, "dst");
    let (end, target) = if ip.protocol.name == "ipv4" {
        (ip.offset + value(ip, "total_length") as usize, IpAddr::V4((target as u32).into()))
    } else {
        (ip.offset + 40 + value(ip, "payload_length") as usize, IpAddr::V6(target.into()))
    };
    let (id, seq) = (value(echo, "id"), value(echo, "seq"));
    let payload = frame.get(behind..end)?;
    let kind = QuestionKind::Echo { icmp, reply, asker: value(ip, "src"), id, seq, payload };
    Some(Question { from, vlans, target, kind })
}

/// Identifiers of the tags, outermost first. A tag that only tells a priority is none (IEEE 802.1Q).
pub(crate) fn vlans(headers: &[ReadHeader]) -> Vec<u16> {
    let tags = headers.iter().skip(1).take_while(|header| header.protocol.name == "vlan");
    tags.map(|tag| value(tag, "id") as u16).filter(|id| *id != 0).collect()
}

/// Whether the last header stands behind Ethernet, tags and one IP header alone: what is in a tunnel asks no host.
pub(crate) fn is_for_a_host(headers: &[ReadHeader]) -> bool {
    let Some((_, around)) = headers.split_last() else { return false };
    let is_ip = |header: &&ReadHeader| ["ipv4", "ipv6"].contains(&header.protocol.name);
    let is_plain = |header: &ReadHeader| {
        let names = ["ethernet", "vlan", "ipv4", "ipv6", "ipv6_hop_by_hop", "ipv6_destination"];
        names.contains(&header.protocol.name) || header.protocol.part.is_some()
    };
    around.iter().all(is_plain) && around.iter().filter(is_ip).count() <= 1
}
