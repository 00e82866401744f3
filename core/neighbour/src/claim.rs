//! The sender's hardware address in a frame: ARP, and neighbour discovery with its link-layer address options.
//!
//! Sources: RFC 826 (requests and replies alike reveal their sender), RFC 4861 sections 4.6.1, 7.1 and 7.2.5.
//!
//! Not here: who believes it.

use crate::question::{is_for_ethernet, message, vlans};
use crate::{ARP_REPLY, ARP_REQUEST, ECHO_REPLY, ECHO_REPLY_V6, Mac, ND_HOP_LIMIT, SOLICIT, mac_of, value};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::{ReadHeader, read};

const ROUTER_ADVERT: u8 = 134;
const ADVERT: u8 = 136;
/// The types of the options that name the hardware address of the sender, and of the target.
const SOURCE_OPTION: u8 = 1;
const TARGET_OPTION: u8 = 2;
/// The flags of an advertisement: solicited, and override.
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;

/// That an address has a hardware address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// VLANs of the frame, outermost first.
    pub vlans: Vec<u16>,
    /// The address.
    pub ip: IpAddr,
    /// Its hardware address.
    pub mac: Mac,
    /// Whether it is to replace another hardware address that is known. Of all but advertisements without the flag
    /// (RFC 4861 section 7.2.5).
    pub replaces: bool,
}

impl Claim {
    /// The claim of a frame, if it is well-formed and makes one.
    pub fn read(frame: &[u8]) -> Option<Self> {
        if !may_claim(frame) {
            return None;
        }
        let (headers, _) = read(frame);
        let place = headers.iter().position(|header| !matches!(header.protocol.name, "ethernet" | "vlan"))?;
        let (ip, mac, replaces) = match headers[place].protocol.name {
            "arp" => arp(&headers[place])?,
            "ipv6" => discovery(frame, &headers[place], headers.get(place + 1)?)?,
            _ => return None,
        };
        let is_one = mac[0] & 1 == 0 && mac != [0; 6];
        is_one.then(|| Self { vlans: vlans(&headers), ip, mac, replaces })
    }
}

/// The sender of an ARP packet. One without an address probes for duplicates (RFC 5227 section 2.1.1).
fn arp(arp: &ReadHeader) -> Option<(IpAddr, Mac, bool)> {
    let is_known = matches!(value(arp, "operation"), ARP_REQUEST | ARP_REPLY) && is_for_ethernet(arp);
    let ip = Ipv4Addr::from(value(arp, "sender_ip") as u32);
    let is_one = !ip.is_unspecified() && !ip.is_multicast() && !ip.is_broadcast();
    (is_known && is_one).then(|| (ip.into(), mac_of(value(arp, "sender_mac")), true))
}

/// The target of an advertisement, or the sender of a solicitation or of a router's advertisement.
fn discovery(frame: &[u8], ip: &ReadHeader, icmp: &ReadHeader) -> Option<(IpAddr, Mac, bool)> {
    // A hop limit below 255 came through a router, which no neighbour's message does (RFC 4861 section 7.1).
    if value(ip, "hop_limit") != ND_HOP_LIMIT {
        return None;
    }
    let bytes = message(ip, icmp, frame)?;
    if bytes.get(1) != Some(&0) {
        return None;
    }
    let source = Ipv6Addr::from(value(ip, "src"));
    let (subject, option, behind, replaces) = match bytes[0] {
        ADVERT => {
            let target: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
            let is_to_all = Ipv6Addr::from(value(ip, "dst")).is_multicast();
            if is_to_all && bytes[4] & SOLICITED != 0 {
                return None;
            }
            (target.into(), TARGET_OPTION, 24, bytes[4] & OVERRIDE != 0)
        }
        kind if u128::from(kind) == SOLICIT => (source, SOURCE_OPTION, 24, true),
        ROUTER_ADVERT => (source, SOURCE_OPTION, 16, true),
        _ => return None,
    };
    let is_one = !subject.is_unspecified() && !subject.is_multicast();
    let mac = option_of(bytes.get(behind..)?, option)?;
    is_one.then_some((subject.into(), mac, replaces))
}

/// The hardware address in the first option of this type; `None` if an option has no length (RFC 4861 section 4.6).
fn option_of(mut options: &[u8], wanted: u8) -> Option<Mac> {
    while let [kind, units, ..] = *options {
        let len = usize::from(units) * 8;
        if len == 0 {
            return None;
        }
        if kind == wanted {
            return options.get(2..8)?.try_into().ok();
        }
        options = options.get(len..)?;
    }
    None
}

/// Where the types of a frame's packet and its header are, after tags.
fn packet(frame: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let mut at = 12;
    while matches!(frame.get(at..at + 2), Some([0x81, 0x00] | [0x88, 0xa8])) {
        at += 4;
    }
    (frame.get(at..at + 2), frame.get(at + 2..).unwrap_or_default())
}

/// Whether a frame may make a claim: a look at types alone, for many frames that do not.
pub(crate) fn may_claim(frame: &[u8]) -> bool {
    match packet(frame) {
        (Some([0x08, 0x06]), _) => true,
        (Some([0x86, 0xdd]), ip) => ip.get(6) == Some(&58) && matches!(ip.get(40), Some(134..=136)),
        _ => false,
    }
}

/// Whether `frame` may reveal a neighbour's hardware address or reply to an echo request: a check of types alone, for
/// many frames that are neither.
pub fn may_answer(frame: &[u8]) -> bool {
    match packet(frame) {
        (Some([0x88, 0x64]), _) => may_answer_in_session(frame),
        (Some([0x08, 0x00]), ip) => is_echo_reply(ip),
        (Some([0x86, 0xdd]), ip) => match ip.get(6) {
            Some(58) => ip.get(40).copied().map(u128::from) == Some(ECHO_REPLY_V6) || may_claim(frame),
            // Behind options: whoever reads it finds out.
            next => matches!(next, Some(0 | 60)),
        },
        _ => may_claim(frame),
    }
}

/// Whether `frame` may reply to an echo request in a PPPoE session (RFC 2516, RFC 1661): a check of types alone.
pub fn may_answer_in_session(frame: &[u8]) -> bool {
    const HEADER: usize = 6;
    let (Some([0x88, 0x64]), session) = packet(frame) else { return false };
    let (Some([0x00, 0x21]), Some(ip)) = (session.get(HEADER..HEADER + 2), session.get(HEADER + 2..)) else {
        return false;
    };
    is_echo_reply(ip)
}

/// Whether an IPv4 packet is an echo reply.
fn is_echo_reply(ip: &[u8]) -> bool {
    let icmp = usize::from(ip.first().unwrap_or(&0) & 15) * 4;
    ip.get(9) == Some(&1) && ip.get(icmp).copied().map(u128::from) == Some(ECHO_REPLY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::host;
    use crate::{ALL_NODES, ALL_NODES_MAC, BROADCAST, Host, header, number, v4};
    use wire::Header;

    fn advert(of: &Host, flags: u128, hop_limit: u128, to: u128) -> Vec<u8> {
        let IpAddr::V6(own) = of.addresses[1] else { panic!("the second is of IPv6") };
        let own = u128::from(own);
        let fields = [("flags", flags), ("target", own), ("option_type", 2), ("lladdr", number(of.mac))];
        let headers = vec![
            header("ipv6", &[("src", own), ("dst", to), ("hop_limit", hop_limit)]),
            header("nd_advert", &fields),
        ];
        of.frame(ALL_NODES_MAC, &[], headers).unwrap()
    }

    fn gratuitous(of: &Host, operation: u128, sender: [u8; 4]) -> Vec<u8> {
        let sender = v4(sender.into());
        let fields: [(&str, u128); 4] = [
            ("operation", operation),
            ("sender_mac", number(of.mac)),
            ("sender_ip", sender),
            ("target_ip", sender),
        ];
        let headers: Vec<Header> = vec![header("arp", &fields)];
        of.frame(BROADCAST, &[], headers).unwrap()
    }

    #[test]
    fn questions_answers_and_announcements_tell_of_their_sender() {
        let (one, other) = (host(1), host(2));
        let of = |owner: &Host, family: usize| Some((owner.addresses[family], owner.mac, true));
        let told = |frame: &[u8]| Claim::read(frame).map(|claim| (claim.ip, claim.mac, claim.replaces));
        for family in [0, 1] {
            let ask = one.request(other.addresses[family]).unwrap();
            assert_eq!(told(&ask), of(&one, family));
            assert_eq!(told(&other.answer(&ask).unwrap()), of(&other, family));
        }
        for operation in [1, 2] {
            assert_eq!(told(&gratuitous(&one, operation, [10, 0, 0, 1])), of(&one, 0));
        }
        assert_eq!(told(&advert(&one, 0b001, 255, ALL_NODES)), of(&one, 1));
        assert_eq!(told(&advert(&one, 0, 255, ALL_NODES)), Some((one.addresses[1], one.mac, false)));
    }

    #[test]
    fn what_no_neighbour_can_have_sent_claims_nothing() {
        let one = host(1);
        assert_eq!(Claim::read(&advert(&one, 0b001, 254, ALL_NODES)), None, "through a router");
        assert_eq!(Claim::read(&advert(&one, 0b011, 255, ALL_NODES)), None, "an answer to all");
        let mut spoilt = advert(&one, 0b001, 255, ALL_NODES);
        *spoilt.last_mut().unwrap() ^= 1;
        assert_eq!(Claim::read(&spoilt), None, "a wrong checksum");
        let group = Host { mac: [1, 0, 0, 0, 0, 9], ..host(1) };
        assert_eq!(Claim::read(&gratuitous(&group, 1, [10, 0, 0, 1])), None, "a group's hardware address");
        for nobody in [[0; 4], [255; 4], [224, 0, 0, 1]] {
            assert_eq!(Claim::read(&gratuitous(&one, 1, nobody)), None);
        }
        assert_eq!(Claim::read(&gratuitous(&one, 3, [10, 0, 0, 1])), None, "neither request nor reply");
        for len in 0..60 {
            assert_eq!(Claim::read(&advert(&one, 0b001, 255, ALL_NODES)[..len]), None);
        }
    }
}
