//! Which side of a device each packet comes from.

use crate::frame::Frame;
use crate::headers::Headers;
use crate::{Frames, ReplayError, Trace};
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use units::Mac;
use wire::ReadHeader;

/// Method to separate the two directions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SplitBy {
    /// The sender of a conversation's first packet is its client; for TCP the sender of the SYN. A conversation is the
    /// exchange between two addresses and ports, without ports between two addresses, without IP addresses between two
    /// hardware addresses. Fragments go with their packet, ICMP errors with replies to the packet they quote.
    FirstSource,
    /// Clients have these hardware addresses.
    Mac(Vec<[u8; 6]>),
    /// Clients have addresses of these networks.
    Network(Vec<Network>),
    /// Clients are where this interface of the capture is: index into [`Capture::interfaces`].
    Interface(u32),
}

/// An IP network: `10.0.0.0/8`. Bits after the prefix do not count; an address alone is a network of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix_len: u8,
}

impl Network {
    /// The network of an address; `None` if the prefix is longer than the address.
    pub fn new(address: IpAddr, prefix_len: u8) -> Option<Self> {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        (prefix_len <= bits).then_some(Self { address, prefix_len })
    }

    /// Number of leading bits that its addresses share.
    pub fn prefix_len(&self) -> u8 {
        self.prefix_len
    }

    /// Whether the address is in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (own, other, bits) = match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (u128::from(own.to_bits()), u128::from(other.to_bits()), 32)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => (own.to_bits(), other.to_bits(), 128),
            _ => return false,
        };
        (own ^ other).checked_shr(bits - u32::from(self.prefix_len)).unwrap_or(0) == 0
    }
}

impl FromStr for Network {
    type Err = ReplayError;

    fn from_str(text: &str) -> Result<Self, ReplayError> {
        let parse = || {
            let (address, len) = text.split_once('/').map_or((text, None), |(a, len)| (a, Some(len)));
            let address: IpAddr = address.trim().parse().ok()?;
            let whole = if address.is_ipv4() { 32 } else { 128 };
            Self::new(address, len.map_or(Some(whole), |len| len.trim().parse().ok())?)
        };
        parse().ok_or_else(|| ReplayError::Network { text: text.to_owned() })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_len)
    }
}

/// Splits a capture into what the first port (the clients' side) and the second (the servers') send.
///
/// Fails if there are packets but none of a client, unless clients are identified by the first packet. A packet of
/// undetermined side goes with the last packet of its hardware address, or to the first port; see [`Trace::guessed`].
pub fn split(frames: Frames, by: &SplitBy) -> Result<[Trace; 2], ReplayError> {
    let sides = sides(&frames.all, by);
    let of_clients = sides.iter().filter(|(side, _)| *side == Side::Client).count();
    let room = |n| Trace { packets: Vec::with_capacity(n), ..Trace::default() };
    let mut traces = [room(of_clients), room(sides.len() - of_clients)];
    for (place, (frame, (side, is_known))) in frames.all.into_iter().zip(sides).enumerate() {
        let trace = &mut traces[side as usize];
        trace.guessed += u64::from(!is_known);
        trace.push(frame.into_packet(place));
    }
    let clients = match by {
        SplitBy::FirstSource => String::new(),
        SplitBy::Mac(macs) => macs.iter().map(|mac| Mac(*mac).to_string()).collect::<Vec<_>>().join(", "),
        SplitBy::Network(networks) => networks.iter().map(Network::to_string).collect::<Vec<_>>().join(", "),
        SplitBy::Interface(index) => format!("interface {index}"),
    };
    if *by != SplitBy::FirstSource && traces[0].packets.len() as u64 == traces[0].guessed {
        return Err(ReplayError::NoClients { clients });
    }
    let span = traces[0].last().max(traces[1].last());
    traces.iter_mut().for_each(|trace| trace.span = span);
    Ok(traces)
}

/// For each frame whether a client sends it, determined as in [`split`].
pub(crate) fn clients(frames: &[Frame], by: &SplitBy) -> Vec<bool> {
    sides(frames, by).into_iter().map(|(side, _)| side == Side::Client).collect()
}

/// The side of each frame, and whether it is certain.
fn sides(frames: &[Frame], by: &SplitBy) -> Vec<(Side, bool)> {
    let mut facts: Vec<Facts> = frames.iter().map(Facts::of).collect();
    give_ports(&mut facts);
    let mut sides = Sides::default();
    frames.iter().zip(&facts).map(|(frame, facts)| sides.side(by, frame, facts)).collect()
}

/// Gives later fragments the ports of the first one of their packet, before or after them; of several the nearest.
fn give_ports(facts: &mut [Facts]) {
    let mut firsts: BTreeMap<Fragmented, Vec<(usize, Ports)>> = BTreeMap::new();
    for (index, facts) in facts.iter().enumerate() {
        if let (Some((key, false)), Some(ports)) = (facts.fragment, facts.ports) {
            firsts.entry(key).or_default().push((index, ports));
        }
    }
    for (index, facts) in facts.iter_mut().enumerate() {
        if let Some((key, true)) = facts.fragment {
            let first = firsts.get(&key).and_then(|all| all.iter().min_by_key(|(at, _)| at.abs_diff(index)));
            facts.ports = first.map(|(_, ports)| *ports);
        }
    }
}

/// The side a packet comes from; also the index of its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

/// Sender: an address, and a port if there is one.
pub(crate) type Speaker = (u128, u16);

/// Source and destination port.
type Ports = (u16, u16);

/// Identity of a fragmented packet: addresses, kind, identification.
type Fragmented = (u128, u128, u16, u32);

/// Significant fields of a packet.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// Source and destination.
    macs: (u64, u64),
    /// Source and destination of IP, or what ARP calls sender and target.
    ips: Option<(IpAddr, IpAddr)>,
    /// Kind of conversation: 0 without IP, 0x1_00 and up with it, by its protocol.
    pub(crate) kind: u16,
    ports: Option<Ports>,
    /// The packet it is a fragment of, and whether it is a later one.
    fragment: Option<(Fragmented, bool)>,
    /// SYN and ACK of TCP.
    flags: Option<(bool, bool)>,
    /// The packet that it quotes as one that failed.
    quoted: Option<Box<Facts>>,
}

impl Facts {
    pub(crate) fn of(frame: &Frame) -> Self {
        let found = Headers::of(&frame.bytes);
        let mut facts = Self::of_headers(found.own());
        facts.quoted = found.quoted().map(|quoted| Box::new(Self::of_headers(quoted)));
        facts
    }

    fn of_headers(headers: &[ReadHeader]) -> Self {
        let mut facts = Self::default();
        // Identification of the fragment's packet, and whether it is a later one.
        let mut fragment = None;
        for header in headers {
            let value = |name| header.value(name).unwrap_or(0);
            match header.protocol.name {
                "ethernet" => facts.macs = (value("src") as u64, value("dst") as u64),
                "ipv4" => {
                    facts.set_ips(header, ["src", "dst"]);
                    facts.kind = 0x100 | value("protocol") as u16;
                    let later = value("fragment_offset") != 0;
                    fragment = (later || value("flags") & 1 != 0).then_some((value("id") as u32, later));
                }
                "ipv6" => {
                    facts.set_ips(header, ["src", "dst"]);
                    facts.kind = 0x100 | value("next_header") as u16;
                }
                "ipv6_fragment" => {
                    facts.kind = 0x100 | value("next_header") as u16;
                    let later = value("fragment_offset") != 0;
                    let is_one = later || value("more_fragments") != 0;
                    fragment = is_one.then_some((value("id") as u32, later));
                }
                "ipv6_hop_by_hop" | "ipv6_destination" | "ipv6_routing" | "srh" => {
                    facts.kind = 0x100 | value("next_header") as u16;
                }
                "arp" => {
                    facts.set_ips(header, ["sender_ip", "target_ip"]);
                    facts.kind = 1;
                }
                "udp" => facts.ports = Some((value("src") as u16, value("dst") as u16)),
                "tcp" => {
                    facts.ports = Some((value("src") as u16, value("dst") as u16));
                    facts.flags = Some((value("flags") & 2 != 0, value("flags") & 16 != 0));
                }
                _ => {}
            }
            // Of a tunnel the outside decides: what is inside has crossed no device yet.
            if facts.ports.is_some() {
                break;
            }
        }
        if let (Some((from, to)), Some((id, later))) = (facts.ips, fragment) {
            facts.fragment = Some(((number(from), number(to), facts.kind, id), later));
        }
        facts
    }

    fn set_ips(&mut self, header: &ReadHeader, names: [&str; 2]) {
        let address = |name| {
            let field = header.protocol.field(name)?;
            let value = header.value(name)?;
            Some(match field.width {
                32 => IpAddr::V4(Ipv4Addr::from(value as u32)),
                _ => IpAddr::V6(Ipv6Addr::from(value)),
            })
        };
        if self.ips.is_none() {
            self.ips = address(names[0]).zip(address(names[1]));
        }
    }

    pub(crate) fn is_fragment(&self) -> bool {
        self.fragment.is_some()
    }

    /// Sender and receiver, if they have addresses and ports.
    pub(crate) fn ends(&self) -> Option<(Speaker, Speaker)> {
        self.ips.and(self.ports).map(|_| self.speakers())
    }

    /// Sender and receiver.
    fn speakers(&self) -> (Speaker, Speaker) {
        let ports = self.ports.unwrap_or_default();
        match self.ips {
            Some((from, to)) => ((number(from), ports.0), (number(to), ports.1)),
            None => ((u128::from(self.macs.0), 0), (u128::from(self.macs.1), 0)),
        }
    }
}

/// IPv4 addresses as IPv6 maps them, so that they are like no other.
fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// State derived from earlier packets.
#[derive(Debug, Default)]
struct Sides {
    /// The client of each conversation, by its kind and both ends in order.
    clients: BTreeMap<(u16, Speaker, Speaker), Speaker>,
    by_mac: BTreeMap<u64, Side>,
}

impl Sides {
    /// The side of a packet, and whether it is certain.
    fn side(&mut self, by: &SplitBy, frame: &Frame, facts: &Facts) -> (Side, bool) {
        let known = self.tell(by, frame, facts);
        let side = known.or_else(|| self.by_mac.get(&facts.macs.0).copied()).unwrap_or(Side::Client);
        if known.is_some() {
            self.by_mac.insert(facts.macs.0, side);
        } else if *by == SplitBy::FirstSource && facts.flags.is_some() {
            // Those behind it go the same way.
            let (from, to) = facts.speakers();
            let client = if side == Side::Client { from } else { to };
            self.clients.insert(conversation(facts), client);
        }
        (side, known.is_some())
    }

    /// The side of a packet, if it can be determined.
    fn tell(&mut self, by: &SplitBy, frame: &Frame, facts: &Facts) -> Option<Side> {
        let client_if = |client| Some(if client { Side::Client } else { Side::Server });
        match by {
            SplitBy::FirstSource => self.by_conversation(facts),
            SplitBy::Mac(macs) => client_if(macs.iter().any(|mac| frame.bytes[6..12] == *mac)),
            SplitBy::Network(networks) => {
                let among = |address| networks.iter().any(|network| network.contains(address));
                let (from, to) = facts.ips?;
                match (among(from), among(to)) {
                    (true, _) => Some(Side::Client),
                    (false, true) => Some(Side::Server),
                    (false, false) => None,
                }
            }
            SplitBy::Interface(index) => client_if(frame.interface == *index),
        }
    }

    fn by_conversation(&mut self, facts: &Facts) -> Option<Side> {
        let (from, to) = facts.speakers();
        // The bit that makes a hardware address one of a group: who says something to all begins no conversation.
        if facts.ips.is_none() && facts.macs.1 >> 40 & 1 != 0 && self.by_mac.contains_key(&facts.macs.0) {
            return None;
        }
        if let Some(quoted) = &facts.quoted {
            // It goes where an answer to the quoted packet would.
            let sender = quoted.speakers().0;
            let client = *self.clients.entry(conversation(quoted)).or_insert(sender);
            return Some(if client == sender { Side::Server } else { Side::Client });
        }
        // A later fragment of a packet whose first one is not there.
        if facts.ports.is_none()
            && matches!(facts.fragment, Some((_, true)))
            && matches!(facts.kind, 0x106 | 0x111)
        {
            return None;
        }
        let key = conversation(facts);
        let client = match (self.clients.get(&key), facts.flags) {
            (Some(client), _) => *client,
            // Who answers a SYN is the server. Of a connection that began before the capture nothing tells.
            (None, Some((true, true))) => to,
            (None, Some((false, _))) => return None,
            (None, _) => from,
        };
        self.clients.insert(key, client);
        Some(if client == from { Side::Client } else { Side::Server })
    }
}

/// The conversation of a packet: its kind and both ends in order.
fn conversation(facts: &Facts) -> (u16, Speaker, Speaker) {
    let (from, to) = facts.speakers();
    (facts.kind, from.min(to), from.max(to))
}

#[cfg(test)]
mod tests;
