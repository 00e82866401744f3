//! The host the tester plays behind a port: it asks for its neighbours' hardware addresses before a trial, answers ARP,
//! neighbour discovery and ping during it, and pings others.
//!
//! Sans-IO: frames in, frames out, time as an argument. Sources: RFC 826 (ARP), RFC 4861 (ND), RFC 792 and RFC 4443
//! (echo).
//!
//! Not here: a cache that ages. What was learnt before a trial holds for the trial.
//!
//! Invariant: a host never answers for an address that is not its own, nor to a frame that is not a well-formed request.

#![forbid(unsafe_code)]

mod ping;

pub use ping::{Due, Echo, Outcome, Ping, may_answer};

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use units::Nanos;
use wire::{Header, PacketSpec, ReadHeader, protocol, read};

/// A hardware address.
pub type Mac = [u8; 6];

const BROADCAST: Mac = [0xff; 6];
const ARP_REQUEST: u128 = 1;
const ARP_REPLY: u128 = 2;
const ECHO_REPLY: u128 = 0;
const ECHO_REQUEST: u128 = 8;
const ECHO_REQUEST_V6: u128 = 128;
const ECHO_REPLY_V6: u128 = 129;
const SOLICIT: u128 = 135;
/// Solicited and Override (RFC 4861 section 4.4), in the first three bits.
const ADVERT_FLAGS: u128 = 0b011;
/// ND is valid only with this hop limit (RFC 4861 section 7.1).
const ND_HOP_LIMIT: u128 = 255;

/// A host with its addresses.
#[derive(Debug, Clone)]
pub struct Host {
    /// Its hardware address.
    pub mac: Mac,
    /// VLANs it lives in, outermost first.
    pub vlans: Vec<u16>,
    /// Source of requests, at most one for each family.
    pub addresses: Vec<IpAddr>,
    /// Addresses it answers for, from the first to the last of each range; contains `addresses`.
    pub answers_for: Vec<RangeInclusive<IpAddr>>,
}

fn header(name: &str, set: &[(&str, u128)]) -> Header {
    let protocol = protocol(name).unwrap_or_else(|| panic!("the catalogue has {name}"));
    let field = |name: &str| protocol.field(name).unwrap_or_else(|| panic!("{} has {name}", protocol.name));
    Header { set: set.iter().map(|(name, value)| (field(name), *value)).collect(), ..Header::new(protocol) }
}

fn number(mac: Mac) -> u128 {
    mac.iter().fold(0, |n, b| n << 8 | u128::from(*b))
}

fn mac_of(number: u128) -> Mac {
    let bytes = number.to_be_bytes();
    [bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]]
}

fn v4(ip: Ipv4Addr) -> u128 {
    u128::from(u32::from(ip))
}

fn ip_number(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => v4(ip),
        IpAddr::V6(ip) => ip.into(),
    }
}

fn value(header: &ReadHeader, name: &str) -> u128 {
    header.fields.iter().find(|(f, _)| f.name == name).map_or(0, |(_, v)| *v)
}

/// Whether the last header stands behind Ethernet, tags and one IP header alone: what is in a tunnel asks no host.
fn is_for_a_host(headers: &[ReadHeader]) -> bool {
    let Some((_, around)) = headers.split_last() else { return false };
    let is_ip = |header: &&ReadHeader| ["ipv4", "ipv6"].contains(&header.protocol.name);
    let is_plain = |header: &ReadHeader| {
        let names = ["ethernet", "vlan", "ipv4", "ipv6", "ipv6_hop_by_hop", "ipv6_destination"];
        names.contains(&header.protocol.name) || header.protocol.part.is_some()
    };
    around.iter().all(is_plain) && around.iter().filter(is_ip).count() <= 1
}

/// The address ND requests for `ip` go to (RFC 4291 section 2.7.1), and its hardware address (RFC 2464 section 7).
fn solicited_node(ip: Ipv6Addr) -> (Ipv6Addr, Mac) {
    let low = ip.octets();
    let group = Ipv6Addr::new(
        0xff02,
        0,
        0,
        0,
        0,
        1,
        0xff00 | u16::from(low[13]),
        u16::from_be_bytes([low[14], low[15]]),
    );
    (group, [0x33, 0x33, 0xff, low[13], low[14], low[15]])
}

impl Host {
    /// `None` if there is no such frame: what is asked for may be nonsense, such as an echo of one IP version in the other.
    fn frame(&self, to: Mac, mut headers: Vec<Header>, payload: Vec<u8>) -> Option<Vec<u8>> {
        let mut all = vec![header("ethernet", &[("dst", number(to)), ("src", number(self.mac))])];
        all.extend(self.vlans.iter().map(|id| header("vlan", &[("id", u128::from(*id))])));
        all.append(&mut headers);
        let spec = PacketSpec { headers: all, payload, ..PacketSpec::default() };
        // Exactly as long as it is; a port pads to the minimum, and IP lengths must not count the padding.
        Some(spec.build_unpadded().ok()?.bytes)
    }

    /// A request for the hardware address of `ip`; `None` without an address of its family to ask from.
    pub fn request(&self, ip: IpAddr) -> Option<Vec<u8>> {
        let own = self.addresses.iter().find(|a| a.is_ipv4() == ip.is_ipv4())?;
        match (*own, ip) {
            (IpAddr::V4(own), IpAddr::V4(ip)) => self.frame(
                BROADCAST,
                vec![header(
                    "arp",
                    &[
                        ("operation", ARP_REQUEST),
                        ("sender_mac", number(self.mac)),
                        ("sender_ip", v4(own)),
                        ("target_ip", v4(ip)),
                    ],
                )],
                Vec::new(),
            ),
            (IpAddr::V6(own), IpAddr::V6(ip)) => {
                let (group, mac) = solicited_node(ip);
                self.frame(
                    mac,
                    vec![
                        header(
                            "ipv6",
                            &[
                                ("src", u128::from(own)),
                                ("dst", u128::from(group)),
                                ("hop_limit", ND_HOP_LIMIT),
                            ],
                        ),
                        header(
                            "nd_solicit",
                            &[("target", u128::from(ip)), ("option_type", 1), ("lladdr", number(self.mac))],
                        ),
                    ],
                    Vec::new(),
                )
            }
            _ => None,
        }
    }

    /// What the host answers to `frame`, if it is for the host to answer.
    pub fn answer(&self, frame: &[u8]) -> Option<Vec<u8>> {
        let (headers, behind) = read(frame);
        if !is_for_a_host(&headers) {
            return None;
        }
        let ethernet = headers.first()?;
        let from = mac_of(value(ethernet, "src"));
        let ip = headers.iter().find(|h| h.protocol.name == "ipv4" || h.protocol.name == "ipv6");
        let last = headers.last()?;
        match last.protocol.name {
            "arp" => self.answer_arp(last),
            "nd_solicit" => self.answer_solicit(from, ip?, value(last, "target")),
            // A solicitation without the option that tells the asker's hardware address (RFC 4861 section 4.3 allows it
            // when asking one host): the target is what is behind the first 8 bytes.
            "icmpv6" if value(last, "type") == SOLICIT => {
                let target: [u8; 16] = frame.get(behind..behind + 16)?.try_into().ok()?;
                self.answer_solicit(from, ip?, u128::from_be_bytes(target))
            }
            "icmp" if value(last, "type") == ECHO_REQUEST => {
                self.answer_echo(from, ip?, last, "icmp", ECHO_REPLY, frame, behind)
            }
            "icmpv6" if value(last, "type") == ECHO_REQUEST_V6 => {
                self.answer_echo(from, ip?, last, "icmpv6", ECHO_REPLY_V6, frame, behind)
            }
            _ => None,
        }
    }

    /// Whether it answers for `ip`.
    pub fn owns(&self, ip: IpAddr) -> bool {
        self.answers_for.iter().any(|range| range.contains(&ip))
    }

    fn answer_arp(&self, arp: &ReadHeader) -> Option<Vec<u8>> {
        let target = Ipv4Addr::from(value(arp, "target_ip") as u32);
        if value(arp, "operation") != ARP_REQUEST || !self.owns(IpAddr::V4(target)) {
            return None;
        }
        let asker = value(arp, "sender_mac");
        let fields = [
            ("operation", ARP_REPLY),
            ("sender_mac", number(self.mac)),
            ("sender_ip", v4(target)),
            ("target_mac", asker),
            ("target_ip", value(arp, "sender_ip")),
        ];
        self.frame(mac_of(asker), vec![header("arp", &fields)], Vec::new())
    }

    fn answer_solicit(&self, from: Mac, ip: &ReadHeader, target: u128) -> Option<Vec<u8>> {
        let target = Ipv6Addr::from(target);
        let asker = value(ip, "src");
        // An unspecified source is duplicate address detection; this host claims nothing there.
        // A hop limit below 255 came through a router, which no neighbour's question does (RFC 4861 section 7.1.1).
        let is_near = value(ip, "hop_limit") == ND_HOP_LIMIT;
        if !self.owns(IpAddr::V6(target)) || asker == 0 || !is_near {
            return None;
        }
        let headers = vec![
            header("ipv6", &[("src", u128::from(target)), ("dst", asker), ("hop_limit", ND_HOP_LIMIT)]),
            header(
                "nd_advert",
                &[
                    ("flags", ADVERT_FLAGS),
                    ("target", u128::from(target)),
                    ("option_type", 2),
                    ("lladdr", number(self.mac)),
                ],
            ),
        ];
        self.frame(from, headers, Vec::new())
    }

    fn answer_echo(
        &self,
        from: Mac,
        ip: &ReadHeader,
        echo: &ReadHeader,
        icmp: &str,
        reply: u128,
        frame: &[u8],
        behind: usize,
    ) -> Option<Vec<u8>> {
        let target = value(ip, "dst");
        let (version, end, target_ip) = if ip.protocol.name == "ipv4" {
            let end = ip.offset + value(ip, "total_length") as usize;
            ("ipv4", end, IpAddr::V4(Ipv4Addr::from(target as u32)))
        } else {
            let end = ip.offset + 40 + value(ip, "payload_length") as usize;
            ("ipv6", end, IpAddr::V6(Ipv6Addr::from(target)))
        };
        if !self.owns(target_ip) {
            return None;
        }
        let payload = frame.get(behind..end)?.to_vec();
        let headers = vec![
            header(version, &[("src", target), ("dst", value(ip, "src"))]),
            header(icmp, &[("type", reply), ("id", value(echo, "id")), ("seq", value(echo, "seq"))]),
        ];
        self.frame(from, headers, payload)
    }

    /// The neighbour `frame` tells of: an answer to a request, or the sender of one.
    fn learn(&self, frame: &[u8]) -> Option<(IpAddr, Mac)> {
        let (headers, _) = read(frame);
        let last = headers.last()?;
        match last.protocol.name {
            "arp" => {
                let sender = Ipv4Addr::from(value(last, "sender_ip") as u32);
                Some((IpAddr::V4(sender), mac_of(value(last, "sender_mac"))))
            }
            "nd_advert" => {
                Some((IpAddr::V6(Ipv6Addr::from(value(last, "target"))), mac_of(value(last, "lladdr"))))
            }
            _ => None,
        }
    }
}

/// Time between two requests for the same neighbour.
const RETRY: Nanos = Nanos::from_millis(200);

/// Asks for neighbours until all are known.
#[derive(Debug)]
pub struct Resolver {
    /// In order, so that the same profile asks in the same order.
    wanted: BTreeMap<IpAddr, Option<Mac>>,
    next_request: Nanos,
}

impl Resolver {
    /// Will ask for `wanted`.
    pub fn new(wanted: impl IntoIterator<Item = IpAddr>) -> Self {
        Self { wanted: wanted.into_iter().map(|ip| (ip, None)).collect(), next_request: Nanos::ZERO }
    }

    /// Requests that are due.
    pub fn requests(&mut self, now: Nanos, host: &Host) -> Vec<Vec<u8>> {
        if now < self.next_request {
            return Vec::new();
        }
        self.next_request = now + RETRY;
        self.unknown().filter_map(|ip| host.request(ip)).collect()
    }

    /// When requests are next due; [`Nanos::MAX`] when all is known.
    pub fn next_due(&self) -> Nanos {
        if self.unknown().next().is_none() { Nanos::MAX } else { self.next_request }
    }

    /// Looks at a received frame.
    pub fn take(&mut self, host: &Host, frame: &[u8]) {
        if let Some((ip, mac)) = host.learn(frame)
            && let Some(known) = self.wanted.get_mut(&ip)
        {
            *known = Some(mac);
        }
    }

    /// Neighbours that have not answered.
    pub fn unknown(&self) -> impl Iterator<Item = IpAddr> {
        self.wanted.iter().filter(|(_, mac)| mac.is_none()).map(|(ip, _)| *ip)
    }

    /// Neighbours that have answered, in the order of their addresses.
    pub fn known(&self) -> impl Iterator<Item = (IpAddr, Mac)> {
        self.wanted.iter().filter_map(|(ip, mac)| Some((*ip, (*mac)?)))
    }

    /// The hardware address of a neighbour.
    pub fn mac(&self, ip: IpAddr) -> Option<Mac> {
        self.wanted.get(&ip).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(last: u8) -> Host {
        let addresses = vec![
            IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)),
            IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, u16::from(last))),
        ];
        Host {
            mac: [2, 0, 0, 0, 0, last],
            vlans: Vec::new(),
            answers_for: addresses.iter().map(|ip| *ip..=*ip).collect(),
            addresses,
        }
    }

    #[test]
    fn two_hosts_find_each_other_in_both_families() {
        let (asker, owner) = (host(1), host(2));
        let mut resolver = Resolver::new(owner.addresses.clone());
        let requests = resolver.requests(Nanos(5), &asker);
        assert_eq!(requests.len(), 2);
        assert!(resolver.requests(Nanos(6), &asker).is_empty(), "no second request so soon");
        for request in &requests {
            assert!(host(3).answer(request).is_none(), "not for a third host to answer");
            let answer = owner.answer(request).unwrap();
            resolver.take(&asker, &answer);
        }
        assert_eq!(resolver.next_due(), Nanos::MAX);
        assert!(owner.addresses.iter().all(|ip| resolver.mac(*ip) == Some(owner.mac)));
    }

    #[test]
    fn answers_echo_with_the_same_payload() {
        let (asker, owner) = (host(1), host(2));
        for (ip, icmp, request, reply) in
            [("ipv4", "icmp", ECHO_REQUEST, ECHO_REPLY), ("ipv6", "icmpv6", ECHO_REQUEST_V6, ECHO_REPLY_V6)]
        {
            let (src, dst) = match ip {
                "ipv4" => (0x0a00_0001, 0x0a00_0002),
                _ => (0x2001_0002u128 << 96 | 1, 0x2001_0002u128 << 96 | 2),
            };
            let headers = vec![
                header(ip, &[("src", src), ("dst", dst)]),
                header(icmp, &[("type", request), ("id", 7), ("seq", 9)]),
            ];
            let ping = asker.frame(owner.mac, headers, b"tide".to_vec()).unwrap();
            let pong = owner.answer(&ping).unwrap();
            let (read_back, behind) = read(&pong);
            let echo = read_back.last().unwrap();
            assert_eq!((value(echo, "type"), value(echo, "id"), value(echo, "seq")), (reply, 7, 9));
            assert_eq!(&pong[behind..], b"tide");
        }
    }

    #[test]
    fn answers_a_solicitation_without_the_option() {
        let (asker, owner) = (host(1), host(2));
        let (src, dst) = (0x2001_0002u128 << 96 | 1, 0x2001_0002u128 << 96 | 2);
        let headers = vec![
            header("ipv6", &[("src", src), ("dst", dst), ("hop_limit", ND_HOP_LIMIT)]),
            header("icmpv6", &[("type", SOLICIT), ("id", 0), ("seq", 0)]),
        ];
        let ask = asker.frame(owner.mac, headers, dst.to_be_bytes().to_vec()).unwrap();
        let answer = owner.answer(&ask).unwrap();
        assert_eq!(asker.learn(&answer), Some((owner.addresses[1], owner.mac)));
    }

    #[test]
    fn is_silent_about_what_is_not_for_it() {
        assert_eq!(host(1).answer(&[]), None);
        assert_eq!(host(1).answer(&[0xff; 60]), None);
    }
}
