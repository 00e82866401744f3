//! Which side of a device each packet comes from.

use crate::frame::{Frame, frames};
use crate::{ReplayError, Trace};
use pcap::Capture;
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use units::Mac;
use wire::{ReadHeader, read};

/// How the two directions are told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SplitBy {
    /// Who sends the first packet of a conversation is its client. A conversation is what two addresses and ports say
    /// to each other, without ports what two addresses do, without IP addresses what two hardware addresses do.
    FirstSource,
    /// Clients have these hardware addresses.
    Mac(Vec<[u8; 6]>),
    /// Clients have addresses of these networks.
    Network(Vec<Network>),
    /// Clients are where this interface of the capture is: index into [`Capture::interfaces`].
    Interface(u32),
}

/// An IP network: `10.0.0.0/8`. Bits behind the prefix do not count; an address alone is a network of one.
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
/// Fails if there are packets but none of a client, unless clients are found by who comes first. A packet that nothing
/// tells the side of goes where the last packet of its hardware address went, or to the first port; see
/// [`Trace::guessed`].
pub fn split(capture: &Capture, by: &SplitBy) -> Result<[Trace; 2], ReplayError> {
    let mut sides = Sides::default();
    let mut traces = [Trace::default(), Trace::default()];
    for frame in frames(capture)? {
        let (side, is_known) = sides.side(by, &frame);
        let trace = &mut traces[side as usize];
        trace.guessed += u64::from(!is_known);
        trace.push(frame.into_packet());
    }
    let clients = match by {
        SplitBy::FirstSource => String::new(),
        SplitBy::Mac(macs) => macs.iter().map(|mac| Mac(*mac).to_string()).collect::<Vec<_>>().join(", "),
        SplitBy::Network(networks) => networks.iter().map(Network::to_string).collect::<Vec<_>>().join(", "),
        SplitBy::Interface(index) => format!("interface {index}"),
    };
    if traces[0].packets.len() as u64 == traces[0].guessed {
        return Err(ReplayError::NoClients { clients });
    }
    let span = traces[0].last().max(traces[1].last());
    traces.iter_mut().for_each(|trace| trace.span = span);
    Ok(traces)
}

/// For each frame whether a client sends it, told as [`split`] does.
pub(crate) fn clients(frames: &[Frame], by: &SplitBy) -> Vec<bool> {
    let mut sides = Sides::default();
    let is_client = |frame: &Frame| sides.side(by, frame).0 == Side::Client;
    frames.iter().map(is_client).collect()
}

/// The side a packet comes from; also the index of its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

/// Who speaks: an address, and a port if there is one.
pub(crate) type Speaker = (u128, u16);

/// What decides about a packet.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// Source and destination.
    macs: (u64, u64),
    /// Source and destination of IP, or what ARP calls sender and target.
    ips: Option<(IpAddr, IpAddr)>,
    /// What kind of conversation: 0 without IP, 0x1_00 and up with it, by its protocol.
    pub(crate) kind: u16,
    ports: Option<(u16, u16)>,
    /// What the fragments of a packet have in common, and whether this is a later one.
    fragment: Option<(u32, bool)>,
}

/// The ports behind an IPv4 header. The reader does not look into fragments; of UDP and TCP the first has them.
fn ports_of_first_fragment(header: &ReadHeader, frame: &[u8]) -> Option<(u16, u16)> {
    let has_ports = matches!(header.value("protocol")?, 6 | 17);
    let behind = header.offset + 4 * header.value("header_length")? as usize;
    let [s0, s1, d0, d1] = *frame.get(behind..)?.first_chunk()?;
    has_ports.then(|| (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1])))
}

impl Facts {
    pub(crate) fn of(frame: &Frame) -> Self {
        let mut facts = Self::default();
        for header in &read(&frame.bytes).0 {
            let value = |name| header.value(name).unwrap_or(0);
            match header.protocol.name {
                "ethernet" => facts.macs = (value("src") as u64, value("dst") as u64),
                "ipv4" => {
                    facts.set_ips(header, ["src", "dst"]);
                    facts.kind = 0x100 | value("protocol") as u16;
                    let later = value("fragment_offset") != 0;
                    if later || value("flags") & 1 != 0 {
                        facts.fragment = Some((value("id") as u32, later));
                    }
                    if facts.fragment.is_some() && !later {
                        facts.ports = ports_of_first_fragment(header, &frame.bytes);
                    }
                }
                "ipv6" => {
                    facts.set_ips(header, ["src", "dst"]);
                    facts.kind = 0x100 | value("next_header") as u16;
                }
                "arp" => {
                    facts.set_ips(header, ["sender_ip", "target_ip"]);
                    facts.kind = 1;
                }
                "udp" | "tcp" => facts.ports = Some((value("src") as u16, value("dst") as u16)),
                _ => {}
            }
            // Of a tunnel the outside decides: what is inside has crossed no device yet.
            if facts.ports.is_some() {
                break;
            }
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

    /// Who speaks to whom, if they have addresses and ports.
    pub(crate) fn ends(&self) -> Option<(Speaker, Speaker)> {
        self.ips.and(self.ports).map(|_| self.speakers())
    }

    /// Who speaks to whom.
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

/// What was learnt from the packets before.
#[derive(Debug, Default)]
struct Sides {
    /// The client of each conversation, by its kind and both ends in order.
    clients: BTreeMap<(u16, Speaker, Speaker), Speaker>,
    /// The side of the first fragment, by addresses, kind and identification.
    fragments: BTreeMap<(u128, u128, u16, u32), Side>,
    by_mac: BTreeMap<u64, Side>,
}

impl Sides {
    /// The side a packet comes from, and whether something tells it.
    fn side(&mut self, by: &SplitBy, frame: &Frame) -> (Side, bool) {
        let facts = Facts::of(frame);
        let known = self.tell(by, frame, &facts);
        let side = known.or_else(|| self.by_mac.get(&facts.macs.0).copied()).unwrap_or(Side::Client);
        if known.is_some() {
            self.by_mac.insert(facts.macs.0, side);
        }
        (side, known.is_some())
    }

    /// The side a packet comes from, if there is something to tell it by.
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
        let parts = facts.fragment.map(|(id, later)| ((from.0, to.0, facts.kind, id), later));
        if let Some((key, true)) = parts
            && let Some(side) = self.fragments.get(&key)
        {
            return Some(*side);
        }
        let key = (facts.kind, from.min(to), from.max(to));
        let client = *self.clients.entry(key).or_insert(from);
        let side = if client == from { Side::Client } else { Side::Server };
        if let Some((key, false)) = parts {
            self.fragments.insert(key, side);
        }
        Some(side)
    }
}

#[cfg(test)]
mod tests;
