//! Packets of conversations, and one direction of TCP reassembled.

use crate::plan::Carrier;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use units::Nanos;
use wire::{ReadHeader, read};

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;

/// Largest plausible gap between two segments, bytes: beyond it, the sequence number belongs to another connection.
const GAP_MAX: u64 = 64 << 20;

/// A packet of TCP or UDP.
#[derive(Debug)]
pub(super) struct Packet<'a> {
    pub at: Nanos,
    pub carrier: Carrier,
    /// Source and destination.
    pub ends: [SocketAddr; 2],
    pub sequence: u32,
    flags: u8,
    /// Captured part of the payload.
    pub payload: &'a [u8],
    /// Bytes the payload had on the wire.
    pub len: usize,
}

impl<'a> Packet<'a> {
    /// Reads a frame; of packets in tunnels the outermost TCP or UDP.
    pub(super) fn read(at: Nanos, frame: &'a [u8]) -> Option<Self> {
        let (headers, _) = read(frame);
        let place = headers.iter().position(|header| matches!(header.protocol.name, "tcp" | "udp"))?;
        // What an ICMP error quotes is a packet that was sent before.
        if headers[..place].iter().any(|header| header.protocol.name.starts_with("icmp")) {
            return None;
        }
        let transport = &headers[place];
        let ip =
            headers[..place].iter().rev().find(|header| matches!(header.protocol.name, "ipv4" | "ipv6"))?;
        let end = ip.offset + ip_len(ip)?;
        let value = |name: &str| transport.value(name).unwrap_or(0);
        let is_tcp = transport.protocol.name == "tcp";
        let header_len = if is_tcp { value("data_offset") as usize * 4 } else { 8 };
        let start = transport.offset + header_len;
        let len = end.checked_sub(start)?;
        let payload = frame.get(start..end.min(frame.len())).unwrap_or_default();
        let address = |name: &str, port: &str| -> Option<SocketAddr> {
            let bits = ip.value(name)?;
            let ip: IpAddr = match ip.protocol.name {
                "ipv4" => IpAddr::V4((bits as u32).into()),
                _ => IpAddr::V6(bits.into()),
            };
            Some(SocketAddr::new(ip, value(port) as u16))
        };
        Some(Self {
            at,
            carrier: if is_tcp { Carrier::Tcp } else { Carrier::Udp },
            ends: [address("src", "src")?, address("dst", "dst")?],
            sequence: value("seq") as u32,
            flags: value("flags") as u8,
            payload,
            len,
        })
    }

    pub(super) fn is_syn(&self) -> bool {
        self.flags & SYN != 0
    }

    pub(super) fn is_ack(&self) -> bool {
        self.flags & ACK != 0
    }

    pub(super) fn is_reset(&self) -> bool {
        self.flags & RST != 0
    }
}

/// Bytes of an IP packet from its header on.
fn ip_len(ip: &ReadHeader) -> Option<usize> {
    match ip.protocol.name {
        "ipv4" => Some(ip.value("total_length")? as usize),
        _ => Some(ip.value("payload_length")? as usize + 40),
    }
}

/// Data of one end over TCP.
#[derive(Debug, Default)]
pub(super) struct Direction {
    /// Sequence number of the first byte.
    first: Option<u32>,
    /// Whether that comes from a SYN.
    by_syn: bool,
    /// Bytes that are in order.
    taken: u64,
    /// Bytes that are not yet, by their offset. Some may overlap.
    waiting: BTreeMap<u64, Vec<u8>>,
    /// Total number of bytes, once a FIN is received.
    end: Option<u64>,
    /// Bytes that are not in the capture.
    pub missing: u64,
}

impl Direction {
    pub(super) fn has_begun(&self) -> bool {
        self.first.is_some()
    }

    pub(super) fn began_with(&self, syn: u32) -> bool {
        self.first == Some(syn.wrapping_add(1))
    }

    pub(super) fn is_finished(&self) -> bool {
        self.end.is_some_and(|end| self.taken >= end)
    }

    /// Takes a segment; returns the bytes that are in order now.
    pub(super) fn take(&mut self, packet: &Packet<'_>) -> Vec<u8> {
        let start = packet.sequence.wrapping_add(u32::from(packet.is_syn()));
        if packet.is_syn() && !self.by_syn {
            (self.first, self.by_syn) = (Some(start), true);
        }
        if packet.is_reset() {
            return Vec::new();
        }
        let first = *self.first.get_or_insert(start);
        // Offsets go on beyond 2^32: the one nearest to what is in order is meant.
        let ahead = i64::from(start.wrapping_sub(first.wrapping_add(self.taken as u32)) as i32);
        let offset = self.taken as i64 + ahead;
        if ahead.unsigned_abs() > GAP_MAX {
            return Vec::new();
        }
        // A byte before the first one, as keep-alives have: not of the stream.
        let skip = (-offset).max(0) as usize;
        let offset = offset.max(0) as u64;
        let mut bytes = packet.payload.to_vec();
        self.missing += (packet.len - bytes.len().min(packet.len)) as u64;
        bytes.resize(packet.len, 0);
        let bytes = bytes.split_off(skip.min(bytes.len()));
        if packet.flags & FIN != 0 {
            self.end = Some(offset + bytes.len() as u64);
        }
        // A segment without payload says nothing, wherever it stands: the last acknowledgement is one behind the FIN.
        if !bytes.is_empty() && offset + bytes.len() as u64 > self.taken {
            let kept = self.waiting.entry(offset).or_default();
            if kept.len() < bytes.len() {
                // Of what came twice the first counts.
                let more = bytes[kept.len()..].to_vec();
                kept.extend(more);
            }
        }
        self.in_order()
    }

    fn in_order(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        while let Some(entry) = self.waiting.first_entry()
            && *entry.key() <= self.taken
        {
            let (offset, bytes) = entry.remove_entry();
            let known = ((self.taken - offset) as usize).min(bytes.len());
            out.extend_from_slice(&bytes[known..]);
            self.taken += (bytes.len() - known) as u64;
        }
        out
    }

    /// Data that was never put in order, with zeros for missing bytes.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        while let Some((offset, _)) = self.waiting.first_key_value() {
            let gap = offset.saturating_sub(self.taken);
            out.resize(out.len() + gap as usize, 0);
            self.missing += gap;
            self.taken += gap;
            out.extend(self.in_order());
        }
        out
    }
}
