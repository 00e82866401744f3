//! A capture as a template: its conversation again and again, each time between other ends.
//!
//! Everything about a flow is a function of its number: its client, its server and the client's port.
//!
//! The checksum of the IPv4 header is right; others are so if they were.

use crate::frame::Frame;
use crate::rewrite::{Sum, sums};
use crate::split::{Facts, clients};
use crate::{Frames, ReplayError, SplitBy, Trace};
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
use units::Nanos;
use wire::{ReadHeader, checksum, read};

/// Packets of a template: each has a place in the schedule.
const PACKETS_MAX: usize = 1 << 16;
/// Maximum duration of a flow.
const SPAN_MAX: Nanos = Nanos::from_secs(366 * 24 * 3_600);

/// When the packets of a flow leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowTiming {
    /// As captured; gaps shorter than the first time become the second, if they are given.
    Captured(Option<(Nanos, Nanos)>),
    /// So long after a packet of the same direction, and so long after one of the other.
    Gaps {
        /// After a packet of the same direction.
        same: Nanos,
        /// After a packet of the other.
        turn: Nanos,
    },
}

/// The packets of a template, not yet addressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Packets of each port: all, or the clients' and the servers'. Times count from the flow's begin.
    pub traces: Vec<Trace>,
    /// For each packet of each trace whether the client sends it.
    pub from_client: Vec<Vec<bool>>,
    /// From the first packet to the last.
    pub span: Nanos,
}

impl Template {
    /// The template of a capture that has one conversation over TCP or UDP. `by` identifies the client, and `split`
    /// selects separate traces for the two directions.
    pub fn new(frames: Frames, by: &SplitBy, split: bool, timing: FlowTiming) -> Result<Self, ReplayError> {
        let frames = frames.all;
        if frames.len() > PACKETS_MAX {
            return Err(ReplayError::Template {
                reason: format!("the capture has {} packets; a flow has at most {PACKETS_MAX}", frames.len()),
            });
        }
        let sides = clients(&frames, by);
        one_conversation(&frames, &sides)?;
        let times = times(&frames, &sides, timing)?;
        let span = times.last().copied().unwrap_or_default();
        let mut template = Self { traces: vec![Trace::default()], from_client: vec![Vec::new()], span };
        if split {
            template.traces.push(Trace::default());
            template.from_client.push(Vec::new());
        }
        for (place, ((frame, at), is_client)) in frames.into_iter().zip(&times).zip(sides).enumerate() {
            let side = usize::from(split && !is_client);
            let mut packet = frame.into_packet(place);
            packet.at = *at;
            template.traces[side].push(packet);
            template.from_client[side].push(is_client);
        }
        template.traces.iter_mut().for_each(|trace| trace.span = span);
        Ok(template)
    }
}

/// Fails unless all frames are of one conversation over TCP or UDP, between the client and the server of the first.
fn one_conversation(frames: &[Frame], sides: &[bool]) -> Result<(), ReplayError> {
    let fail = |index: usize, reason: &str| {
        Err(ReplayError::Template { reason: format!("packet {}: {reason}", index + 1) })
    };
    let mut first = None;
    for (index, (frame, is_client)) in frames.iter().zip(sides).enumerate() {
        let facts = Facts::of(frame);
        if facts.is_fragment() {
            return fail(index, "it is an IP fragment, and only a whole packet has ports");
        }
        let Some((from, to)) = facts.ends() else {
            return fail(index, "it is neither TCP nor UDP over IP");
        };
        let ends = if *is_client { (facts.kind, from, to) } else { (facts.kind, to, from) };
        if *first.get_or_insert(ends) != ends {
            return fail(index, "it is of another flow than the first; a capture with one flow is needed");
        }
    }
    Ok(())
}

/// When each packet leaves, from the first on.
fn times(frames: &[Frame], sides: &[bool], timing: FlowTiming) -> Result<Vec<Nanos>, ReplayError> {
    let (mut at, mut times) = (Nanos::ZERO, Vec::with_capacity(frames.len()));
    for (index, (frame, is_client)) in frames.iter().zip(sides).enumerate() {
        if let Some(before) = index.checked_sub(1) {
            let captured = frame.at.since(frames[before].at);
            let gap = match timing {
                FlowTiming::Captured(Some((least, instead))) if captured < least => instead,
                FlowTiming::Captured(_) => captured,
                FlowTiming::Gaps { same, .. } if sides[before] == *is_client => same,
                FlowTiming::Gaps { turn, .. } => turn,
            };
            at = at.saturating_add(gap);
        }
        times.push(at);
    }
    if at > SPAN_MAX {
        return Err(ReplayError::Template { reason: "a flow takes longer than a year".to_owned() });
    }
    Ok(times)
}

/// Successive addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    first: IpAddr,
    count: u64,
}

impl Pool {
    /// From one address to another of its family; `None` if there are none, or more than 2^64.
    pub fn new(first: IpAddr, last: IpAddr) -> Option<Self> {
        let bits = |ip: IpAddr| match ip {
            IpAddr::V4(ip) => u128::from(ip.to_bits()),
            IpAddr::V6(ip) => ip.to_bits(),
        };
        let span = bits(last).checked_sub(bits(first))?;
        let count = u64::try_from(span).ok()?.checked_add(1)?;
        (first.is_ipv4() == last.is_ipv4()).then_some(Self { first, count })
    }

    /// Whether it is of IPv4.
    pub fn is_ipv4(&self) -> bool {
        self.first.is_ipv4()
    }

    /// Number of addresses.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The address at a place, counted round.
    fn at(&self, place: u64) -> IpAddr {
        let place = place % self.count;
        match self.first {
            // The last one is an address, so nothing wraps.
            IpAddr::V4(first) => IpAddr::V4(first.to_bits().wrapping_add(place as u32).into()),
            IpAddr::V6(first) => IpAddr::V6(first.to_bits().wrapping_add(place.into()).into()),
        }
    }
}

/// With which port a client begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortBegin {
    /// The first.
    First,
    /// One that is the client's: of `n` ports client *i* begins with that at place
    /// ((214013·*i* + 2531011) mod 2^16) mod (*n* - 1) + 1.
    Spread,
}

/// Between which ends flows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pools {
    /// Clients; each pair of flows has the next.
    pub clients: Pool,
    /// Servers; the same.
    pub servers: Pool,
    /// Flows with one client and server, at least 1.
    pub per_pair: u64,
    /// First and last port of every client, which takes the next for each of its flows.
    pub ports: (u16, u16),
    /// With which it begins.
    pub begin: PortBegin,
    /// Whether clients have the servers' addresses, and servers the clients'.
    pub swapped: bool,
}

/// The ends of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowEnds {
    /// The client's address.
    pub client: IpAddr,
    /// The server's.
    pub server: IpAddr,
    /// The client's port.
    pub port: u16,
}

impl Pools {
    /// The ends of flow `flow`.
    pub fn of(&self, flow: u64) -> FlowEnds {
        let per_pair = self.per_pair.max(1);
        let (pair, in_pair) = (flow / per_pair, flow % per_pair);
        let (turn, client) = (pair / self.clients.count, pair % self.clients.count);
        // Flows of this client before.
        let before = turn.wrapping_mul(per_pair).wrapping_add(in_pair);
        let ports = u64::from(self.ports.1.saturating_sub(self.ports.0)) + 1;
        let begin = match self.begin {
            PortBegin::Spread if ports > 1 => {
                let drawn = client.wrapping_mul(214_013).wrapping_add(2_531_011) & 0xffff;
                drawn % (ports - 1) + 1
            }
            _ => 0,
        };
        let port = self.ports.0 + ((begin + before % ports) % ports) as u16;
        let (client, server) = (self.clients.at(pair), self.servers.at(pair));
        let (client, server) = if self.swapped { (server, client) } else { (client, server) };
        FlowEnds { client, server, port }
    }
}

/// The packets that one port sends for each flow, and what of them is the flow's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flows {
    pools: Pools,
    packets: Arc<[FlowPacket]>,
}

/// Offsets of a flow's ends in a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FlowPacket {
    client: usize,
    server: usize,
    port: usize,
    sums: Vec<FlowSum>,
}

/// A checksum that covers some of them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FlowSum {
    at: usize,
    /// The sum of the template's packet, its ends taken out.
    rest: u64,
    has_addresses: bool,
    has_port: bool,
    zero_is_none: bool,
}

impl Flows {
    /// The flows of a template's `trace` whose packets are the client's or the server's, by `from_client`.
    ///
    /// Fails if a packet has no addresses of the pools' family, or no ports: one that a rewrite has changed.
    pub fn new(trace: &Trace, from_client: &[bool], pools: Pools) -> Result<Self, ReplayError> {
        let packets = trace.packets.iter().zip(from_client).enumerate();
        let packets = packets.map(|(index, (packet, is_client))| {
            FlowPacket::new(&packet.bytes, *is_client, &pools)
                .map_err(|reason| ReplayError::Template { reason: format!("packet {}: {reason}", index + 1) })
        });
        Ok(Self { pools, packets: packets.collect::<Result<_, _>>()? })
    }

    /// Packets of a flow.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether a flow has no packets.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Between which ends flows are.
    pub fn pools(&self) -> &Pools {
        &self.pools
    }

    /// Turns a template's packet into a flow's: number `flow · len + packet` among the packets of all flows. `frame` is
    /// the template's packet, or another flow's of the same.
    #[inline]
    pub fn write(&self, number: u64, frame: &mut [u8]) {
        let all = self.packets.len() as u64;
        let Some(packet) = self.packets.get((number % all.max(1)) as usize) else { return };
        packet.write(&self.pools.of(number / all), frame);
    }
}

impl FlowPacket {
    fn new(frame: &[u8], is_client: bool, pools: &Pools) -> Result<Self, String> {
        let headers = read(frame).0;
        let ip = headers.iter().position(|header| matches!(header.protocol.name, "ipv4" | "ipv6"));
        let ip = ip.ok_or("it has no IP addresses")?;
        let is_ipv4 = headers[ip].protocol.name == "ipv4";
        if is_ipv4 != pools.clients.is_ipv4() || is_ipv4 != pools.servers.is_ipv4() {
            let family = if is_ipv4 { "IPv4" } else { "IPv6" };
            return Err(format!("it is {family}; clients and servers need addresses of that family"));
        }
        // A routing header, for one, changes which addresses a checksum covers.
        let transport = headers.get(ip + 1).filter(|header| matches!(header.protocol.name, "tcp" | "udp"));
        let transport = transport.ok_or("TCP or UDP does not directly follow its IP header")?;
        let [src, dst] = [field(&headers[ip], "src")?, field(&headers[ip], "dst")?];
        let [from, to] = [field(transport, "src")?, field(transport, "dst")?];
        let (client, server, port) = if is_client { (src, dst, from) } else { (dst, src, to) };
        if [&client, &server, &port].iter().any(|range| range.end > frame.len()) {
            return Err("it ends before its ports".to_owned());
        }
        let found = sums(&headers, frame);
        let sums = found.iter().filter_map(|sum| FlowSum::new(sum, frame, [&client, &server, &port]));
        let mut sums: Vec<FlowSum> = sums.collect();
        if is_ipv4 {
            // The header's own sum is computed: no router takes a wrong one, and captures have them (offload).
            let header = headers[ip].offset..transport.offset;
            let at = header.start + 10;
            let taken = [&frame[at..at + 2], &frame[client.clone()], &frame[server.clone()]];
            let rest = words(&frame[header]) - taken.into_iter().map(words).sum::<u64>();
            sums.iter_mut().filter(|sum| sum.at == at).for_each(|sum| sum.rest = rest);
        }
        Ok(Self { sums, client: client.start, server: server.start, port: port.start })
    }

    #[inline]
    fn write(&self, ends: &FlowEnds, frame: &mut [u8]) {
        let (mut addresses, port) = (0, ends.port.to_be_bytes());
        for (at, ip) in [(self.client, ends.client), (self.server, ends.server)] {
            let (v4, v6);
            let bytes: &[u8] = match ip {
                IpAddr::V4(ip) => {
                    v4 = ip.octets();
                    &v4
                }
                IpAddr::V6(ip) => {
                    v6 = ip.octets();
                    &v6
                }
            };
            frame[at..at + bytes.len()].copy_from_slice(bytes);
            addresses += words(bytes);
        }
        frame[self.port..self.port + 2].copy_from_slice(&port);
        for sum in &self.sums {
            let mut all = sum.rest;
            all += if sum.has_addresses { addresses } else { 0 };
            all += if sum.has_port { words(&port) } else { 0 };
            let after = checksum::finish(all);
            let after = if sum.zero_is_none && after == 0 { 0xffff } else { after };
            frame[sum.at..sum.at + 2].copy_from_slice(&after.to_be_bytes());
        }
    }
}

impl FlowSum {
    /// Value of a frame's checksum without the ends of a flow; `None` if it covers none of them, or if there is none
    /// (UDP).
    fn new(sum: &Sum, frame: &[u8], [client, server, port]: [&Range<usize>; 3]) -> Option<Self> {
        let before = u16::from_be_bytes(*frame.get(sum.at..sum.at + 2)?.first_chunk()?);
        if sum.zero_is_none && before == 0 {
            return None;
        }
        let covers = |range: &Range<usize>| sum.covers.iter().any(|covered| covered.contains(&range.start));
        let (has_addresses, has_port) = (covers(client) && covers(server), covers(port));
        if !has_addresses && !has_port {
            return None;
        }
        // RFC 1624 equation 3: the complement of each old word is added.
        let mut rest = u64::from(!before);
        let mut take = |range: &Range<usize>| {
            let bytes = &frame[range.clone()];
            rest += bytes.len() as u64 / 2 * 0xffff - words(bytes);
        };
        if has_addresses {
            take(client);
            take(server);
        }
        if has_port {
            take(port);
        }
        Some(Self { at: sum.at, rest, has_addresses, has_port, zero_is_none: sum.zero_is_none })
    }
}

/// The bytes of a header's field in the frame.
fn field(header: &ReadHeader, name: &str) -> Result<Range<usize>, String> {
    let field =
        header.protocol.field(name).ok_or_else(|| format!("{} has no {name}", header.protocol.name))?;
    let start = header.offset + usize::from(field.bit / 8);
    Ok(start..start + usize::from(field.width / 8))
}

/// The sum of 16-bit words.
#[inline]
fn words(bytes: &[u8]) -> u64 {
    bytes.as_chunks().0.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum()
}

#[cfg(test)]
mod tests;
