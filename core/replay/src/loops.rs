//! Other addresses in each loop of a capture, in every packet, by the number of the loop.
//!
//! In loop `n`, from 0, the host part of an address is `n` times the step further on, counted round within its network. So loop 0 is the
//! capture itself, an address becomes the same one in all headers, different ones stay different, and both directions of a
//! conversation stay one.
//!
//! Checksums are updated incrementally (RFC 1624): right ones stay right, and wrong ones as wrong as they were.

use crate::headers::Headers;
use crate::rewrite::sums;
use crate::{Network, Trace};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use std::sync::Arc;
use wire::{Header, Kind, checksum};

/// Networks without [`LoopAddresses::networks`]: an address stays in that of its first 8 bits (IPv4), or 64 (IPv6).
const DEFAULT_BITS: (u8, u8) = (8, 64);

/// How addresses differ from loop to loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopAddresses {
    /// From one loop to the next.
    pub step: u64,
    /// Networks in which addresses change, and stay; empty: all unicast addresses, each within its /8, or /64 in IPv6.
    pub networks: Vec<Network>,
}

impl LoopAddresses {
    /// The mask of the bits of an address that change; `None` if it stays. Addresses are numbers of 128 bits.
    fn hosts(&self, ip: IpAddr) -> Option<u128> {
        let width = if ip.is_ipv4() { 32 } else { 128 };
        let prefix = match &self.networks[..] {
            [] if stays(ip) => return None,
            [] => {
                if ip.is_ipv4() {
                    DEFAULT_BITS.0
                } else {
                    DEFAULT_BITS.1
                }
            }
            networks => networks.iter().find(|network| network.contains(ip))?.prefix_len(),
        };
        let bits = width - u32::from(prefix).min(width);
        Some(1u128.checked_shl(bits).map_or(u128::MAX, |bit| bit - 1)).filter(|mask| *mask > 0)
    }
}

/// Whether an address is none of a host: it stays unless a network is named that has it.
fn stays(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => {
            let is_special = ip.is_multicast() || ip.is_broadcast() || ip.is_loopback() || ip.is_link_local();
            is_special || ip.octets()[0] == 0 || ip.octets()[0] >= 240
        }
        IpAddr::V6(ip) => {
            ip.is_multicast() || ip.is_loopback() || ip.is_unspecified() || ip.is_unicast_link_local()
        }
    }
}

/// The packets of a trace with other addresses in each loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loops {
    step: u64,
    packets: Arc<[LoopPacket]>,
}

/// Places of a packet that differ from loop to loop.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct LoopPacket {
    addresses: Vec<Address>,
    /// Checksums, one that covers another behind it.
    sums: Vec<LoopSum>,
}

/// An address.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Address {
    at: usize,
    is_ipv4: bool,
    captured: u128,
    /// Bits that change.
    hosts: u128,
}

/// A checksum that covers some of them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LoopSum {
    at: usize,
    /// The captured sum, all that differs taken out.
    rest: u64,
    /// Places of addresses and of other checksums, and whether they begin at the second byte of a word.
    covers: Vec<(Range<usize>, bool)>,
    zero_is_none: bool,
}

impl Loops {
    /// The loops of a trace.
    pub fn new(trace: &Trace, addresses: &LoopAddresses) -> Self {
        let packets = trace.packets.iter().map(|packet| LoopPacket::new(&packet.bytes, addresses));
        Self { step: addresses.step, packets: packets.collect() }
    }

    /// Packets that differ from loop to loop.
    pub fn changed(&self) -> usize {
        self.packets.iter().filter(|packet| !packet.addresses.is_empty()).count()
    }

    /// Turns a captured packet into that of a loop: number `loop · len + packet` among the packets of all loops. `frame` is the captured
    /// packet, or another loop's of the same.
    #[inline]
    pub fn write(&self, number: u64, frame: &mut [u8]) {
        let all = (self.packets.len() as u64).max(1);
        if let Some(packet) = self.packets.get((number % all) as usize) {
            packet.write(u128::from(number / all).wrapping_mul(self.step.into()), frame);
        }
    }
}

impl LoopPacket {
    fn new(frame: &[u8], rule: &LoopAddresses) -> Self {
        let headers = Headers::of(frame).all;
        let mut addresses = Vec::new();
        for header in &headers {
            let fields = header.protocol.fields.iter();
            for field in fields.filter(|field| matches!(field.kind, Kind::Ipv4 | Kind::Ipv6)) {
                let start = header.offset + Header::from(header).shift(field) + usize::from(field.bit / 8);
                let is_ipv4 = field.kind == Kind::Ipv4;
                let range = start..start + if is_ipv4 { 4 } else { 16 };
                // A quoted packet may end before its headers do.
                let Some(bytes) = frame.get(range).filter(|_| field.bit.is_multiple_of(8)) else { continue };
                let captured = bytes.iter().fold(0, |all, byte| all << 8 | u128::from(*byte));
                let ip = match is_ipv4 {
                    true => IpAddr::V4(Ipv4Addr::from_bits(captured as u32)),
                    false => IpAddr::V6(Ipv6Addr::from_bits(captured)),
                };
                if let Some(hosts) = rule.hosts(ip) {
                    addresses.push(Address { at: start, is_ipv4, captured, hosts });
                }
            }
        }
        let mut packet = Self { addresses, sums: Vec::new() };
        for sum in sums(&headers, frame) {
            packet.sums.extend(packet.sum(&sum, frame));
        }
        packet
    }

    /// A checksum that covers addresses, or another one that does; `None` if it covers none, or there is none (UDP).
    fn sum(&self, sum: &crate::rewrite::Sum, frame: &[u8]) -> Option<LoopSum> {
        let before = u16::from_be_bytes(*frame.get(sum.at..sum.at + 2)?.first_chunk()?);
        if sum.zero_is_none && before == 0 {
            return None;
        }
        let others = self.sums.iter().map(|other| other.at..other.at + 2);
        let places = self.addresses.iter().map(Address::range).chain(others);
        let covered = |place: Range<usize>| {
            let range = sum.covers.iter().find(|range| range.contains(&place.start))?;
            Some((place.clone(), !(place.start - range.start).is_multiple_of(2)))
        };
        let covers: Vec<(Range<usize>, bool)> = places.filter_map(covered).collect();
        if covers.is_empty() {
            return None;
        }
        // RFC 1624 equation 3: the complement of each old word is added.
        let taken: u64 =
            covers.iter().map(|(place, odd)| u64::from(!folded(&frame[place.clone()], *odd))).sum();
        Some(LoopSum { at: sum.at, rest: u64::from(!before) + taken, covers, zero_is_none: sum.zero_is_none })
    }

    #[inline]
    fn write(&self, further: u128, frame: &mut [u8]) {
        for address in &self.addresses {
            let moved = address.captured.wrapping_add(further) & address.hosts;
            let all = (address.captured & !address.hosts | moved).to_be_bytes();
            let bytes = if address.is_ipv4 { &all[12..] } else { &all[..] };
            frame[address.range()].copy_from_slice(bytes);
        }
        for sum in &self.sums {
            let now = sum.covers.iter().map(|(place, odd)| u64::from(folded(&frame[place.clone()], *odd)));
            let after = checksum::finish(sum.rest + now.sum::<u64>());
            let after = if sum.zero_is_none && after == 0 { 0xffff } else { after };
            frame[sum.at..sum.at + 2].copy_from_slice(&after.to_be_bytes());
        }
    }
}

impl Address {
    fn range(&self) -> Range<usize> {
        self.at..self.at + if self.is_ipv4 { 4 } else { 16 }
    }
}

/// The ones' complement sum of an even number of bytes; those that begin at the second byte of a word count swapped (RFC 1071 section 2).
#[inline]
fn folded(bytes: &[u8], odd: bool) -> u16 {
    let sum = bytes.as_chunks().0.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum();
    let sum = !checksum::finish(sum);
    if odd { sum.swap_bytes() } else { sum }
}

#[cfg(test)]
mod tests;
