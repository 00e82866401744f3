//! The hosts the tester emulates behind a port: they resolve their neighbours' hardware addresses before a trial,
//! follow neighbours that change theirs during it, reply to ARP, neighbour discovery and ping, and ping others.
//!
//! Sans-IO: frames in, frames out, time as an argument. Sources: RFC 826 (ARP), RFC 4861 (ND), RFC 792 and RFC 4443
//! (echo).
//!
//! Not here: a cache that ages. A silent neighbour keeps its hardware address.
//!
//! Separate because the model router in `sim` replies with the same code as the engine's hosts.
//!
//! Invariant: a host never replies for an address that is not its own, nor in a VLAN that is not its own, nor to a
//! frame that is not a well-formed request.

#![forbid(unsafe_code)]

mod claim;
mod follower;
mod hosts;
mod ping;
mod punt;
mod question;
mod resolver;

pub use claim::{Claim, may_answer, may_answer_in_session};
pub use follower::{Follower, Move};
pub use hosts::{Hosts, twins};
pub use ping::{Due, Echo, Outcome, Ping};
pub use punt::{PuntTable, PuntTo, Punted, vlan_tags};
pub use resolver::Resolver;

use question::{Question, QuestionKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use wire::{Header, PacketSpec, ReadHeader, Vlans, checksum, protocol, read};

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
/// The solicited flag.
const ADVERT_SOLICITED: u128 = 0b010;
/// All nodes of a link, and their hardware address (RFC 4291 section 2.7.1, RFC 2464 section 7).
const ALL_NODES: u128 = 0xff02_0000_0000_0000_0000_0000_0000_0001;
const ALL_NODES_MAC: Mac = [0x33, 0x33, 0, 0, 0, 1];
/// ND is valid only with this hop limit (RFC 4861 section 7.1).
const ND_HOP_LIMIT: u128 = 255;

/// Bytes of the link's addresses and type, of a VLAN tag, of IP headers; and ICMPv6's number.
const ETHERNET: usize = 14;
const TAG: usize = 4;
const IPV4: usize = 20;
const IPV6: usize = 40;
const ICMPV6: u64 = 58;

/// A host with its addresses.
#[derive(Debug, Clone)]
pub struct Host {
    /// Its hardware address.
    pub mac: Mac,
    /// VLANs it lives in, outermost first.
    pub vlans: Vlans,
    /// Its own addresses: sources of requests.
    pub addresses: Vec<IpAddr>,
    /// The network of each of `addresses`, from its first address to its last, in the same order.
    pub networks: Vec<RangeInclusive<IpAddr>>,
    /// Addresses it replies for, from the first to the last of each range; contains `addresses`.
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
    /// `None` if there is no such frame: the request may be nonsense, such as an echo of one IP version in the other.
    ///
    /// `types` are the types of its tags, outermost first.
    fn frame(&self, to: Mac, types: &[u16], headers: Vec<Header>) -> Option<Vec<u8>> {
        self.frame_with(to, types, headers, Vec::new())
    }

    /// The same with a payload.
    fn frame_with(
        &self,
        to: Mac,
        types: &[u16],
        mut headers: Vec<Header>,
        payload: Vec<u8>,
    ) -> Option<Vec<u8>> {
        let mut all = vec![header("ethernet", &[("dst", number(to)), ("src", number(self.mac))])];
        for (depth, id) in self.vlans.iter().enumerate() {
            all.push(header("vlan", &[("id", u128::from(*id))]));
            if let (Some(kind), Some(field)) = (types.get(depth), all[depth].protocol.field("type")) {
                all[depth].put(field, u128::from(*kind));
            }
        }
        all.append(&mut headers);
        let spec = PacketSpec { headers: all, payload, ..PacketSpec::default() };
        // Exactly as long as it is; a port pads to the minimum, and IP lengths must not count the padding.
        Some(spec.build_unpadded().ok()?.bytes)
    }

    /// The source addresses for requests for `ip`: on its network, or else all of its family.
    pub fn sources(&self, ip: IpAddr) -> Vec<IpAddr> {
        let on_link = self.addresses.iter().zip(&self.networks).filter(|(_, network)| network.contains(&ip));
        let on_link: Vec<IpAddr> = on_link.map(|(own, _)| *own).collect();
        let is_kin = |own: &&IpAddr| own.is_ipv4() == ip.is_ipv4();
        if on_link.is_empty() { self.addresses.iter().filter(is_kin).copied().collect() } else { on_link }
    }

    /// A request for the hardware address of `ip`; `None` without a source address of its family.
    pub fn request(&self, ip: IpAddr) -> Option<Vec<u8>> {
        self.request_from(*self.sources(ip).first()?, ip)
    }

    /// The same from the address `own`; `None` if that is of another family.
    fn request_from(&self, own: IpAddr, ip: IpAddr) -> Option<Vec<u8>> {
        let (to, group) = match ip {
            IpAddr::V4(_) => (BROADCAST, ip),
            IpAddr::V6(ip) => {
                let (group, mac) = solicited_node(ip);
                (mac, group.into())
            }
        };
        self.question(own, ip, to, group)
    }

    /// A unicast probe of the neighbour `ip` at `mac` (RFC 1122 section 2.3.2.1, RFC 4861 section 7.3.3); `None`
    /// without a source address of its family.
    fn probe(&self, ip: IpAddr, mac: Mac) -> Option<Vec<u8>> {
        self.question(*self.sources(ip).first()?, ip, mac, ip)
    }

    /// A request for the hardware address of `ip`, in a frame to `mac` and, of IPv6, a packet to `to`.
    fn question(&self, own: IpAddr, ip: IpAddr, mac: Mac, to: IpAddr) -> Option<Vec<u8>> {
        let types: Vec<u16> = self.vlans.types().collect();
        match (own, ip) {
            (IpAddr::V4(own), IpAddr::V4(ip)) => {
                let fields = [
                    ("operation", ARP_REQUEST),
                    ("sender_mac", number(self.mac)),
                    ("sender_ip", v4(own)),
                    ("target_ip", v4(ip)),
                ];
                self.frame(mac, &types, vec![header("arp", &fields)])
            }
            (IpAddr::V6(own), IpAddr::V6(ip)) => {
                let addresses =
                    [("src", u128::from(own)), ("dst", ip_number(to)), ("hop_limit", ND_HOP_LIMIT)];
                let fields = [("target", u128::from(ip)), ("option_type", 1), ("lladdr", number(self.mac))];
                let headers = vec![header("ipv6", &addresses), header("nd_solicit", &fields)];
                self.frame(mac, &types, headers)
            }
            _ => None,
        }
    }

    /// The host's reply to `frame`, if it is for the host: in tags of the same types.
    pub fn answer(&self, frame: &[u8]) -> Option<Vec<u8>> {
        let question = Question::read(frame)?;
        if question.vlans != self.vlans || !self.owns(question.target) {
            return None;
        }
        self.reply(&question)
    }

    /// Whether it replies for `ip`.
    pub fn owns(&self, ip: IpAddr) -> bool {
        self.answers_for.iter().any(|range| range.contains(&ip))
    }

    /// The reply to a request in its VLAN, for an address it replies for.
    fn reply(&self, question: &Question<'_>) -> Option<Vec<u8>> {
        match (question.target, &question.kind) {
            (IpAddr::V4(target), QuestionKind::Arp { asker }) => self.reply_arp(target, question, *asker),
            (IpAddr::V6(target), QuestionKind::Solicit { asker }) => {
                self.reply_solicit(target, question, *asker)
            }
            (target, QuestionKind::Echo { icmp, reply, asker, id, seq, payload }) => {
                let (version, target) = match target {
                    IpAddr::V4(target) => ("ipv4", v4(target)),
                    IpAddr::V6(target) => ("ipv6", u128::from(target)),
                };
                let headers = vec![
                    header(version, &[("src", target), ("dst", *asker)]),
                    header(icmp, &[("type", *reply), ("id", *id), ("seq", *seq)]),
                ];
                let frame = self.frame(question.from, &question.tag_types, headers)?;
                with_payload(frame, ETHERNET + TAG * self.vlans.len(), payload)
            }
            _ => None,
        }
    }

    fn reply_arp(&self, target: Ipv4Addr, question: &Question<'_>, asker: u128) -> Option<Vec<u8>> {
        let fields = [
            ("operation", ARP_REPLY),
            ("sender_mac", number(self.mac)),
            ("sender_ip", v4(target)),
            ("target_mac", number(question.from)),
            ("target_ip", asker),
        ];
        self.frame(question.from, &question.tag_types, vec![header("arp", &fields)])
    }

    fn reply_solicit(&self, target: Ipv6Addr, question: &Question<'_>, asker: u128) -> Option<Vec<u8>> {
        // Whoever looks for duplicates of its address has none yet: all nodes are told (RFC 4861 section 7.2.4).
        let (from, asker, flags) = match asker {
            0 => (ALL_NODES_MAC, ALL_NODES, ADVERT_FLAGS & !ADVERT_SOLICITED),
            asker => (question.from, asker, ADVERT_FLAGS),
        };
        let headers = vec![
            header("ipv6", &[("src", u128::from(target)), ("dst", asker), ("hop_limit", ND_HOP_LIMIT)]),
            header(
                "nd_advert",
                &[
                    ("flags", flags),
                    ("target", u128::from(target)),
                    ("option_type", 2),
                    ("lladdr", number(self.mac)),
                ],
            ),
        ];
        self.frame(from, &question.tag_types, headers)
    }
}

/// An echo reply without payload, given one: it may be longer than any frame, for a packet that came in fragments. `ip`: where
/// the IP header begins.
fn with_payload(mut frame: Vec<u8>, ip: usize, payload: &[u8]) -> Option<Vec<u8>> {
    frame.extend_from_slice(payload);
    let is_v4 = frame[ip] >> 4 == 4;
    let icmp = ip + if is_v4 { IPV4 } else { IPV6 };
    let len = u16::try_from(frame.len() - icmp).ok()?;
    let put =
        |frame: &mut [u8], at: usize, value: u16| frame[at..at + 2].copy_from_slice(&value.to_be_bytes());
    put(&mut frame, icmp + 2, 0);
    let pseudo = if is_v4 {
        put(&mut frame, ip + 2, len.checked_add(IPV4 as u16)?);
        put(&mut frame, ip + 10, 0);
        let sum = checksum::finish(checksum::sum(&frame[ip..icmp], 0));
        put(&mut frame, ip + 10, sum);
        0
    } else {
        put(&mut frame, ip + 4, len);
        checksum::sum(&frame[ip + 8..icmp], u64::from(len) + ICMPV6)
    };
    let sum = checksum::finish(checksum::sum(&frame[icmp..], pseudo));
    put(&mut frame, icmp + 2, sum);
    Some(frame)
}

/// The target address of a frame that requests a hardware address or an echo.
pub fn asked_for(frame: &[u8]) -> Option<IpAddr> {
    Question::read(frame).map(|question| question.target)
}

/// The VLANs a frame is in, outermost first.
pub fn vlans_of(frame: &[u8]) -> Vec<u16> {
    question::vlans(&read(frame).0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Nanos;

    pub(crate) fn host(last: u8) -> Host {
        let addresses = vec![
            IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)),
            IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, u16::from(last))),
        ];
        Host {
            mac: [2, 0, 0, 0, 0, last],
            vlans: Vlans::NONE,
            networks: vec![],
            answers_for: addresses.iter().map(|ip| *ip..=*ip).collect(),
            addresses,
        }
    }

    #[test]
    fn two_hosts_find_each_other_in_both_families() {
        let (asker, owner) = (host(1), host(2));
        let hosts = Hosts::new(vec![asker], Vec::new());
        let mut resolver = Resolver::new(&hosts, owner.addresses.iter().map(|ip| (0, *ip)), []);
        let requests = resolver.requests(Nanos(5), &hosts);
        assert_eq!(requests.len(), 2);
        assert!(resolver.requests(Nanos(6), &hosts).is_empty(), "no second request so soon");
        for request in &requests {
            assert!(host(3).answer(request).is_none(), "not for a third host to answer");
            let answer = owner.answer(request).unwrap();
            resolver.take(&hosts, &answer);
        }
        assert_eq!(resolver.next_due(), Nanos::MAX);
        assert!(owner.addresses.iter().all(|ip| resolver.mac(0, *ip) == Some(owner.mac)));
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
            let ping = asker.frame_with(owner.mac, &[], headers, b"tide".to_vec()).unwrap();
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
        let ask = asker.frame_with(owner.mac, &[], headers, dst.to_be_bytes().to_vec()).unwrap();
        let answer = owner.answer(&ask).unwrap();
        let claim = Claim::read(&answer).unwrap();
        assert_eq!((claim.ip, claim.mac), (owner.addresses[1], owner.mac));
    }

    #[test]
    fn is_silent_about_what_is_not_for_it() {
        assert_eq!(host(1).answer(&[]), None);
        assert_eq!(host(1).answer(&[0xff; 60]), None);
    }
}
