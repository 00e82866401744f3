//! Identity of a flow, and its hashes.
//!
//! Invariant: both directions of a flow have the same owner.

use crate::frame::{self, Addresses, Inside, Packet, Tags};
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

/// Bytes of a UDP header (RFC 768).
const UDP_HEADER: usize = 8;

/// A transport protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// RFC 9293.
    Tcp,
    /// RFC 768.
    Udp,
}

impl Transport {
    /// The number of the protocol (IANA).
    #[inline(always)]
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Tcp => frame::TCP,
            Self::Udp => frame::UDP,
        }
    }
}

/// A flow as the host behind the port sees it: `from` is its own address, the upper half of `ports` its own port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub addresses: Addresses,
    pub ports: u32,
    pub transport: Transport,
    pub tags: Tags,
}

impl Key {
    pub(crate) fn local_port(&self) -> u16 {
        (self.ports >> 16) as u16
    }

    pub(crate) fn remote_port(&self) -> u16 {
        self.ports as u16
    }
}

/// Both addresses as numbers of one family; `None` if they are of two. An IPv4 address in an IPv6 one stays that.
pub(crate) fn addresses(local: IpAddr, remote: IpAddr) -> Option<Addresses> {
    match (local, remote) {
        (IpAddr::V4(from), IpAddr::V4(to)) => Some(Addresses::V4 { from: from.into(), to: to.into() }),
        (IpAddr::V6(from), IpAddr::V6(to)) => Some(Addresses::V6 { from: from.into(), to: to.into() }),
        _ => None,
    }
}

/// The secrets of a stack's hashes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keys([u64; 4]);

impl Keys {
    pub(crate) fn new(seed: u64) -> Self {
        let key = random::key(seed);
        Self([0, 1, 2, 3].map(|k| random::word(key, k)))
    }

    /// The hash of a flow: not the same in both directions.
    #[inline]
    pub(crate) fn hash(&self, key: &Key) -> u64 {
        let Self(secrets) = self;
        let both = match key.addresses {
            Addresses::V4 { from, to } => u64::from(from) << 32 | u64::from(to),
            Addresses::V6 { from, to } => {
                let from = multiply(from as u64 ^ secrets[2], (from >> 64) as u64 ^ secrets[3]);
                multiply(to as u64 ^ secrets[3] ^ from, (to >> 64) as u64 ^ secrets[2]).wrapping_add(from)
            }
        };
        let kind = key.tags.0 << 1 | u64::from(key.transport == Transport::Udp);
        let hash = multiply(both ^ secrets[0], kind.rotate_left(32) ^ u64::from(key.ports) ^ secrets[1]);
        let hash = hash.wrapping_mul(random::FACTORS[0]);
        hash ^ hash >> 32
    }

    /// The same of a TCP flow over IPv4 without VLANs and tunnels: both addresses, its own one in the upper half, and both ports.
    #[inline(always)]
    pub(crate) fn hash_plain(&self, both: u64, ports: u32) -> u64 {
        let Self(secrets) = self;
        let hash =
            multiply(both ^ secrets[0], u64::from(ports) ^ secrets[1]).wrapping_mul(random::FACTORS[0]);
        hash ^ hash >> 32
    }

    /// The initial sequence number of a flow at `now`, ns: a clock of about 4 µs and a hash (RFC 6528 section 3).
    pub(crate) fn initial_sequence(&self, hash: u64, now: u64) -> u32 {
        let Self(secrets) = self;
        (random::mix(hash ^ secrets[3].rotate_left(17)) as u32).wrapping_add((now >> 12) as u32)
    }
}

/// Both halves of the product, one over the other.
#[inline(always)]
fn multiply(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// The worker of `workers` that owns the flow between two addresses with their ports: the same for both directions, and
/// constant. Several workers can thus serve one address.
///
/// # Panics
/// If there is no worker.
pub fn owner(local: SocketAddr, remote: SocketAddr, workers: usize) -> usize {
    let number = |address: SocketAddr| match address.ip() {
        IpAddr::V4(ip) => u128::from(u32::from(ip)),
        IpAddr::V6(ip) => ip.into(),
    };
    owner_of((number(local), local.port()), (number(remote), remote.port()), workers)
}

#[inline]
fn owner_of(one: (u128, u16), other: (u128, u16), workers: usize) -> usize {
    assert!(workers > 0, "a flow needs a worker");
    let end = |(address, port): (u128, u16)| {
        let folded = (address as u64).wrapping_add(((address >> 64) as u64).wrapping_mul(random::STEP));
        random::mix(folded.rotate_left(16) ^ u64::from(port))
    };
    let both = random::mix(end(one).wrapping_add(end(other)));
    random::below(both, workers as u64) as usize
}

/// [`owner`] of a frame's flow, or of the flow an ICMP error refers to. `None`: of no flow; the receiving worker keeps
/// it. Reads headers only; checksums are not checked, except IPv4 headers'.
pub fn flow_owner(bytes: &[u8], workers: usize) -> Option<usize> {
    owner_of_packet(&frame::read(bytes).ok()?, bytes, workers)
}

/// Addresses and ports whose datagrams lead to a worker by themselves: connection identifiers of QUIC begin with its number.
#[derive(Debug, Clone)]
pub struct Numbered {
    /// The addresses.
    pub addresses: RangeInclusive<IpAddr>,
    /// The UDP ports.
    pub ports: RangeInclusive<u16>,
}

/// The worker in the connection identifier of a frame to one of `places`: that of a packet with a short header (RFC 9000
/// section 17.3.1). `None`: its flow decides.
pub fn numbered_owner(bytes: &[u8], places: &[Numbered], workers: usize) -> Option<usize> {
    if places.is_empty() {
        return None;
    }
    owner_by_number(&frame::read(bytes).ok()?, bytes, places, workers)
}

/// The same of a frame that was in a tunnel.
pub fn numbered_owner_inside(inside: &Inside<'_>, places: &[Numbered], workers: usize) -> Option<usize> {
    if places.is_empty() {
        return None;
    }
    owner_by_number(&frame::read_inside(inside).ok()?, inside.frame, places, workers)
}

fn owner_by_number(packet: &Packet, bytes: &[u8], places: &[Numbered], workers: usize) -> Option<usize> {
    let transport = packet.transport(bytes);
    if packet.protocol != frame::UDP || packet.is_fragment {
        return None;
    }
    let [first, number, ..] = *transport.get(UDP_HEADER..)? else { return None };
    let to: IpAddr = match packet.addresses {
        Addresses::V4 { to, .. } => std::net::Ipv4Addr::from(to).into(),
        Addresses::V6 { to, .. } => std::net::Ipv6Addr::from(to).into(),
    };
    let port = frame::u32_at(transport, 0)? as u16;
    let is_there = places.iter().any(|place| place.addresses.contains(&to) && place.ports.contains(&port));
    let worker = usize::from(number);
    // The bit after the header form may be anything (RFC 9287).
    (is_there && first & 0x80 == 0 && worker < workers).then_some(worker)
}

/// The same of a frame that was in a tunnel.
pub fn flow_owner_inside(inside: &Inside<'_>, workers: usize) -> Option<usize> {
    owner_of_packet(&frame::read_inside(inside).ok()?, inside.frame, workers)
}

#[inline(always)]
fn owner_of_packet(packet: &Packet, bytes: &[u8], workers: usize) -> Option<usize> {
    let transport = packet.transport(bytes);
    let (addresses, ports) = match packet.protocol {
        _ if packet.is_fragment => return None,
        frame::TCP | frame::UDP => (packet.addresses, frame::u32_at(transport, 0)?),
        frame::ICMP | frame::ICMPV6 => {
            let error = crate::icmp::read(packet.protocol, transport)?;
            (error.addresses, error.ports)
        }
        _ => return None,
    };
    let (source, destination) = ((ports >> 16) as u16, ports as u16);
    Some(match addresses {
        Addresses::V4 { from, to } => owner_of((from.into(), source), (to.into(), destination), workers),
        Addresses::V6 { from, to } => owner_of((from, source), (to, destination), workers),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn owners_are_even_and_the_same_in_both_directions() {
        let mut counts = [0; 4];
        for n in 0..4_000u32 {
            let client =
                SocketAddr::new(IpAddr::from((0x0a00_0000 + n / 100).to_be_bytes()), 1_024 + n as u16 % 100);
            let server = "[2001:db8::7]:80".parse().unwrap();
            assert_eq!(owner(client, server, 4), owner(server, client, 4));
            counts[owner(client, "10.9.0.1:80".parse().unwrap(), 4)] += 1;
        }
        assert!(counts.iter().all(|count| (900..1_100).contains(count)), "{counts:?}");
    }

    #[test]
    fn connection_identifiers_lead_to_their_worker() {
        let frame = |port: u128, payload: [u8; 3]| {
            let mut headers: Vec<wire::Header> = ["ethernet", "ipv4", "udp"]
                .iter()
                .filter_map(|name| wire::protocol(name).map(wire::Header::new))
                .collect();
            let place = |header: &wire::Header, name| header.protocol.field(name).expect("a field");
            let (dst, to) = (place(&headers[2], "dst"), place(&headers[1], "dst"));
            headers[2].put(dst, port);
            headers[1].put(to, 0x0a00_0007);
            let spec = wire::PacketSpec { headers, payload: payload.to_vec(), ..Default::default() };
            spec.build_unpadded().expect("a datagram").bytes
        };
        let ip = IpAddr::from([10, 0, 0, 7]);
        let places = [Numbered { addresses: ip..=ip, ports: 443..=444 }];
        let owner = |port, payload| numbered_owner(&frame(port, payload), &places, 3);
        assert_eq!([owner(443, [0x40, 2, 9]), owner(444, [0x7f, 0, 9])], [Some(2), Some(0)]);
        assert_eq!(owner(443, [0x01, 2, 9]), Some(2), "a QUIC bit that is not set");
        // A number of no worker, a long header, another port.
        assert_eq!([owner(443, [0x40, 3, 9]), owner(443, [0xc0, 2, 9]), owner(80, [0x40, 2, 9])], [None; 3]);
        assert_eq!(numbered_owner(&frame(443, [0x40, 2, 9]), &[], 3), None);
    }

    /// Neighbouring ports and addresses, as testers use them, must not fall into the same buckets.
    #[test]
    fn hashes_of_neighbours_are_spread() {
        let keys = Keys::new(1);
        let (mut homes, mut tags) = ([0u32; 256], HashSet::new());
        for n in 0..65_536u32 {
            let addresses = Addresses::V4 { from: 0x0a00_0001 + n / 4_096, to: 0x0a01_0001 };
            let key =
                Key { addresses, ports: (n % 4_096) << 16 | 80, transport: Transport::Tcp, tags: Tags(0) };
            let hash = keys.hash(&key);
            homes[(hash >> 56) as usize] += 1;
            tags.insert(hash as u16);
        }
        assert!(homes.iter().all(|count| (170..350).contains(count)), "{homes:?}");
        // Of 65,536 random draws from as many, a share of 1 - 1/e is drawn.
        assert!((40_500..42_400).contains(&tags.len()), "{}", tags.len());
    }
}
