//! Frames of control protocols: which a device's control plane exchanges with its neighbours, by EtherType, LLC address, IP
//! protocol, port or destination MAC address.
//!
//! Not here: whom a frame is for. A frame that can't be read to the field a rule needs does not match it.

/// Where the EtherType of an untagged frame is.
pub const ETHERTYPE_AT: usize = 12;
/// Maximum number of VLAN tags that are skipped.
pub const TAGS_MAX: usize = 4;
/// Up to here the field is a length, and LLC follows (IEEE 802.3 section 3.2.6).
const LENGTH_MAX: u16 = 1500;
/// Maximum number of extension headers that are skipped.
const EXTENSIONS_MAX: usize = 8;

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;
const ARP: u16 = 0x0806;

/// Property of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlRule {
    /// This EtherType.
    EtherType(u16),
    /// This destination service access point (IEEE 802.2).
    Llc(u8),
    /// This IP protocol, in IPv4 or IPv6.
    Ip(u8),
    /// This TCP port at either end.
    Tcp(u16),
    /// This UDP port at either end.
    Udp(u16),
    /// This destination MAC address.
    Mac([u8; 6]),
    /// Anything.
    Any,
}

use crate::is_vlan_type;
use ControlRule::{EtherType, Ip, Llc, Tcp, Udp};

/// Protocols by name.
const NAMED: &[(&str, &[ControlRule])] = &[
    ("bfd", &[Udp(3784), Udp(3785), Udp(4784)]),
    ("bgp", &[Tcp(179)]),
    ("dhcp", &[Udp(67), Udp(68)]),
    ("dhcpv6", &[Udp(546), Udp(547)]),
    ("eapol", &[EtherType(0x888e)]),
    ("igmp", &[Ip(2)]),
    ("isis", &[Llc(0xfe)]),
    ("lacp", &[EtherType(0x8809)]),
    ("ldp", &[Tcp(646), Udp(646)]),
    ("lldp", &[EtherType(0x88cc)]),
    ("ospf", &[Ip(89)]),
    ("pim", &[Ip(103)]),
    ("pppoe", &[EtherType(0x8863), EtherType(0x8864)]),
    ("rip", &[Udp(520), Udp(521)]),
    ("rsvp", &[Ip(46)]),
    ("stp", &[Llc(0x42)]),
    ("vrrp", &[Ip(112)]),
];

/// The names of these protocols, in words. A macro, because documentation is made of it, too.
#[macro_export]
macro_rules! control_protocols_in_words {
    () => {
        "bfd, bgp, dhcp, dhcpv6, eapol, igmp, isis, lacp, ldp, lldp, ospf, pim, pppoe, rip, rsvp, stp or vrrp"
    };
}

/// Protocols that any host must exchange: ARP, neighbour discovery and multicast listener discovery, echo, errors.
const ALWAYS: [ControlRule; 3] = [EtherType(ARP), Ip(ICMP), Ip(ICMPV6)];

/// The names of the protocols that have one.
pub fn control_protocols() -> impl Iterator<Item = &'static str> {
    NAMED.iter().map(|(name, _)| *name)
}

/// The rules of `text`: a protocol's name, `any`, or a field with its value such as `ethertype:0x88cc`, `ip:89`, `tcp:179`,
/// `udp:646` or `mac:01:80:c2:00:00:0e`.
pub fn control_rules(text: &str) -> Option<Vec<ControlRule>> {
    if text == "any" {
        return Some(vec![ControlRule::Any]);
    }
    if let Some((_, rules)) = NAMED.iter().find(|(name, _)| *name == text) {
        return Some(rules.to_vec());
    }
    let (field, value) = text.split_once(':')?;
    let number = |value: &str| match value.strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16).ok(),
        None => value.parse().ok(),
    };
    let rule = match field {
        "ethertype" => EtherType(number(value).filter(|number| *number > LENGTH_MAX)?),
        "ip" => Ip(number(value)?.try_into().ok()?),
        "tcp" => Tcp(number(value).filter(|port| *port > 0)?),
        "udp" => Udp(number(value).filter(|port| *port > 0)?),
        "mac" => ControlRule::Mac(value.parse::<units::Mac>().ok()?.0),
        _ => return None,
    };
    Some(vec![rule])
}

/// Rules, any of which a frame must match.
#[derive(Debug, Clone, Default)]
pub struct ControlFilter {
    rules: Vec<ControlRule>,
    has_ports: bool,
    any: bool,
}

impl ControlFilter {
    /// These rules, and those for what any host must exchange: ARP, ICMP, ICMPv6.
    pub fn new(rules: &[ControlRule]) -> Self {
        let rules: Vec<ControlRule> = ALWAYS.iter().chain(rules).copied().collect();
        Self {
            has_ports: rules.iter().any(|rule| matches!(rule, Tcp(_) | Udp(_))),
            any: rules.contains(&ControlRule::Any),
            rules,
        }
    }

    /// Whether `frame`, whose EtherType is at `at`, matches one of them.
    pub fn matches(&self, frame: &[u8], at: usize) -> bool {
        let has = |rule: ControlRule| self.rules.contains(&rule);
        if self.any {
            return true;
        }
        let Some(kind) = pair(frame, at) else { return false };
        let destination = frame.first_chunk().map(|mac| has(ControlRule::Mac(*mac)));
        if destination == Some(true) || has(EtherType(kind)) {
            return true;
        }
        if kind <= LENGTH_MAX {
            return frame.get(at + 2).is_some_and(|dsap| has(Llc(*dsap)));
        }
        let Some((protocol, behind)) = transport(kind, &frame[at + 2..]) else { return false };
        if has(Ip(protocol)) {
            return true;
        }
        let (true, Some(behind)) = (self.has_ports && matches!(protocol, TCP | UDP), behind) else {
            return false;
        };
        let rule = if protocol == TCP { Tcp } else { Udp };
        [0, 2].into_iter().filter_map(|at| pair(behind, at)).any(|port| has(rule(port)))
    }
}

/// The identifiers of a frame's VLAN tags, outermost first, and where its EtherType is; `None` if there are too many.
pub fn tags(frame: &[u8]) -> Option<([u16; TAGS_MAX], usize)> {
    let (mut ids, mut n) = ([0; TAGS_MAX], 0);
    while is_vlan_type(pair(frame, ETHERTYPE_AT + 4 * n)?) {
        *ids.get_mut(n)? = pair(frame, ETHERTYPE_AT + 4 * n + 2)? & 0x0fff;
        n += 1;
    }
    Some((ids, n))
}

/// The protocol an IP packet carries, and what follows its headers if that begins with the protocol's own.
fn transport(kind: u16, packet: &[u8]) -> Option<(u8, Option<&[u8]>)> {
    match kind {
        0x0800 => {
            let header = usize::from(packet.first()? & 15) * 4;
            let is_first = pair(packet, 6)? & 0x1fff == 0;
            Some((*packet.get(9)?, packet.get(header..).filter(|_| is_first)))
        }
        0x86dd => {
            let (mut next, mut rest) = (*packet.get(6)?, packet.get(40..)?);
            for _ in 0..EXTENSIONS_MAX {
                let bytes = match next {
                    // Hop-by-hop, routing and destination options (RFC 8200 section 4).
                    0 | 43 | 60 => (usize::from(*rest.get(1)?) + 1) * 8,
                    44 if pair(rest, 2)? & 0xfff8 != 0 => return Some((*rest.first()?, None)),
                    44 => 8,
                    _ => return Some((next, Some(rest))),
                };
                (next, rest) = (*rest.first()?, rest.get(bytes..)?);
            }
            None
        }
        _ => None,
    }
}

fn pair(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Finishes the TCP or UDP checksum of `frame`, whose EtherType is at `at`, if it is unfinished: if it holds the sum of the
/// pseudo-header alone, as a kernel leaves it to a network card. Other frames stay as they are.
pub fn finish_checksum(frame: &mut [u8], at: usize) {
    let Some((protocol, start, end, pseudo)) = span(frame, at) else { return };
    let field = start + if protocol == TCP { 16 } else { 6 };
    if field + 2 > end || pair(frame, field) != Some(crate::checksum::fold(pseudo)) {
        return;
    }
    frame[field..field + 2].fill(0);
    let sum = crate::checksum::finish(crate::checksum::sum(&frame[start..end], pseudo));
    // A UDP checksum of 0 would say that there is none (RFC 768).
    let sum = if sum == 0 && protocol == UDP { 0xffff } else { sum };
    frame[field..field + 2].copy_from_slice(&sum.to_be_bytes());
}

/// The transport protocol of a whole packet, where its segment begins and ends, and the sum of its pseudo-header.
fn span(frame: &[u8], at: usize) -> Option<(u8, usize, usize, u64)> {
    let ip = at + 2;
    let (protocol, start, end, addresses) = match pair(frame, at)? {
        0x0800 if pair(frame, ip + 6)? & 0x3fff == 0 => {
            let start = ip + usize::from(frame.get(ip)? & 15) * 4;
            (*frame.get(ip + 9)?, start, ip + usize::from(pair(frame, ip + 2)?), ip + 12..ip + 20)
        }
        0x86dd => {
            let end = ip + 40 + usize::from(pair(frame, ip + 4)?);
            (*frame.get(ip + 6)?, ip + 40, end, ip + 8..ip + 40)
        }
        _ => return None,
    };
    let is_whole = matches!(protocol, TCP | UDP) && start < end && end <= frame.len();
    let addresses = frame.get(addresses).filter(|_| is_whole)?;
    let pseudo = crate::checksum::sum(addresses, u64::from(protocol) + (end - start) as u64);
    Some((protocol, start, end, pseudo))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Header, PacketSpec, protocol};

    #[test]
    fn all_protocols_are_in_the_words() {
        let names: Vec<&str> = control_protocols().collect();
        let (last, others) = names.split_last().unwrap();
        assert_eq!(control_protocols_in_words!(), format!("{} or {last}", others.join(", ")));
    }

    fn frame(headers: &[(&str, &[(&str, u128)])]) -> Vec<u8> {
        let header = |(name, set): &(&str, &[(&str, u128)])| {
            let protocol = protocol(name).unwrap();
            let set = set.iter().map(|(name, value)| (protocol.field(name).unwrap(), *value)).collect();
            Header { set, ..Header::new(protocol) }
        };
        let headers = headers.iter().map(header).collect();
        PacketSpec { headers, payload: b"tide".to_vec(), ..PacketSpec::default() }
            .build_unpadded()
            .unwrap()
            .bytes
    }

    fn matches(rule: &str, frame: &[u8]) -> bool {
        let (_, n) = tags(frame).unwrap();
        ControlFilter::new(&control_rules(rule).unwrap()).matches(frame, ETHERTYPE_AT + 4 * n)
    }

    #[test]
    fn protocols_are_known_by_their_fields() {
        let bgp = frame(&[("ethernet", &[]), ("ipv4", &[]), ("tcp", &[("src", 40_000), ("dst", 179)])]);
        let back = frame(&[("ethernet", &[]), ("ipv6", &[]), ("tcp", &[("src", 179), ("dst", 40_000)])]);
        let tagged =
            frame(&[("ethernet", &[]), ("vlan", &[("id", 7)]), ("ipv4", &[]), ("tcp", &[("dst", 179)])]);
        for frame in [&bgp, &back, &tagged] {
            assert!(matches("bgp", frame) && matches("tcp:179", frame) && matches("any", frame));
            assert!(!matches("ldp", frame) && !matches("udp:179", frame) && !matches("lldp", frame));
        }
        assert_eq!(tags(&tagged), Some(([7, 0, 0, 0], 1)));
        let arp = frame(&[("ethernet", &[]), ("arp", &[])]);
        assert!(matches("lldp", &arp), "what any host needs needs no rule");
        let isis = [&[0x01, 0x80, 0xc2, 0, 0, 0x14, 2, 0, 0, 0, 0, 1][..], &[0, 20, 0xfe, 0xfe, 3], &[0; 20]]
            .concat();
        assert!(matches("isis", &isis) && matches("mac:01:80:c2:00:00:14", &isis) && !matches("stp", &isis));
        let test = frame(&[("ethernet", &[]), ("ipv4", &[]), ("udp", &[("src", 1024), ("dst", 9)])]);
        assert!(control_protocols().all(|name| !matches(name, &test)));
    }

    #[test]
    fn texts_that_are_no_rule_are_none() {
        for text in ["", "bpg", "ip:256", "tcp:0", "tcp:65536", "ethertype:0x05dc", "mac:01:80", "dst:1"] {
            assert_eq!(control_rules(text), None, "{text}");
        }
        assert_eq!(control_rules("ethertype:0x88CC"), Some(vec![EtherType(0x88cc)]));
    }

    #[test]
    fn frames_cut_anywhere_match_or_do_not() {
        let whole =
            frame(&[("ethernet", &[]), ("vlan", &[("id", 7)]), ("ipv6", &[]), ("udp", &[("dst", 546)])]);
        for end in 0..whole.len() {
            let mut cut = whole[..end].to_vec();
            if let Some((_, n)) = tags(&cut) {
                ControlFilter::new(&[Udp(546)]).matches(&cut, ETHERTYPE_AT + 4 * n);
                finish_checksum(&mut cut, ETHERTYPE_AT + 4 * n);
                assert_eq!(cut, whole[..end]);
            }
        }
    }

    #[test]
    fn an_unfinished_checksum_is_finished_and_no_other_is_touched() {
        for (ip, transport) in [("ipv4", "tcp"), ("ipv4", "udp"), ("ipv6", "tcp"), ("ipv6", "udp")] {
            let whole = frame(&[("ethernet", &[]), (ip, &[]), (transport, &[("src", 40_000), ("dst", 179)])]);
            let (_, start, _, pseudo) = span(&whole, ETHERTYPE_AT).unwrap();
            let field = start + if transport == "tcp" { 16 } else { 6 };
            let mut other = whole.clone();
            finish_checksum(&mut other, ETHERTYPE_AT);
            assert_eq!(other, whole);
            other[field..field + 2].copy_from_slice(&crate::checksum::fold(pseudo).to_be_bytes());
            finish_checksum(&mut other, ETHERTYPE_AT);
            assert_eq!(other, whole, "{ip} {transport}");
        }
    }
}
