//! The headers around segments and datagrams, prepared for a group and written for each.
//!
//! Not here: the transport protocol's own header; its checksum is finished here because only here are the addresses
//! known.
//!
//! Invariant: what is written is a frame that `frame::read` reads, with right lengths and checksums.

use crate::frame::{self, Addresses, ETHERNET, IPV4, IPV6, TAG};
use crate::group::{GroupConfig, OwnMacs};
use std::net::IpAddr;
use std::sync::Arc;
use wire::checksum;

/// Tags that fit: what readers of frames read.
const TAGS_MAX: usize = 2;
/// Bytes copied regardless of the number of tags: the excess is overwritten by the header after it, 8 bytes at least.
const COPIED_V4: usize = ETHERNET + IPV4 + 8;
const COPIED_V6: usize = ETHERNET + IPV6 + 8;

/// The headers of a group's frames, for both families.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    /// Where the IP header begins.
    ip: usize,
    v4: [u8; COPIED_V4],
    /// Sum of the words of the IPv4 header that do not change.
    v4_sum: u64,
    v6: [u8; COPIED_V6],
    own_macs: Option<Arc<OwnMacs>>,
}

/// Variable fields of a frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outer {
    pub addresses: Addresses,
    pub hop: [u8; 6],
    pub protocol: u8,
    /// ECT(0) is set (RFC 3168 section 5).
    pub ecn_capable: bool,
}

impl Template {
    /// For the frames of a group. More than two VLANs are cut off.
    pub(crate) fn new(config: &GroupConfig) -> Self {
        let tags: Vec<[u8; TAG]> = config.vlans.tags().take(TAGS_MAX).collect();
        let ip = ETHERNET + TAG * tags.len();
        let link = |kind: u16| {
            let mut bytes = vec![0; 6];
            bytes.extend(config.own_mac);
            tags.iter().for_each(|tag| bytes.extend(tag));
            bytes.extend(kind.to_be_bytes());
            bytes
        };
        // DF is set, and without fragments the identification means nothing (RFC 6864 section 4.1).
        let v4 = [0x45, config.tos & 0xfc, 0, 0, 0, 0, 0x40, 0, config.ttl, 0];
        let class = config.tos & 0xfc;
        let v6 = [0x60 | class >> 4, class << 4, 0, 0, 0, 0, 0, config.ttl];
        let mut template = Self {
            ip,
            v4: [0; COPIED_V4],
            v4_sum: checksum::sum(&v4, 0),
            v6: [0; COPIED_V6],
            own_macs: config.own_macs.clone(),
        };
        template.v4[..ip].copy_from_slice(&link(frame::TYPE_IPV4));
        template.v4[ip..ip + v4.len()].copy_from_slice(&v4);
        template.v6[..ip].copy_from_slice(&link(frame::TYPE_IPV6));
        template.v6[ip..ip + v6.len()].copy_from_slice(&v6);
        template
    }

    /// Where the IP header begins.
    #[inline]
    pub(crate) fn ip(&self) -> usize {
        self.ip
    }

    /// Bytes before the transport protocol's header.
    #[inline]
    pub(crate) fn len(&self, addresses: &Addresses) -> usize {
        match addresses {
            Addresses::V4 { .. } => self.ip + IPV4,
            Addresses::V6 { .. } => self.ip + IPV6,
        }
    }

    /// Writes everything before the transport protocol's header into `out`, a frame of its final length with room for
    /// eight more bytes; returns the rest of it.
    #[inline]
    pub(crate) fn write<'a>(&self, outer: &Outer, out: &'a mut [u8]) -> &'a mut [u8] {
        let start = self.len(&outer.addresses);
        let len = out.len() - start;
        let ecn = if outer.ecn_capable { 0b10 } else { 0 };
        match outer.addresses {
            Addresses::V4 { from, to } => {
                out[..COPIED_V4].copy_from_slice(&self.v4);
                let ip = &mut out[self.ip..self.ip + IPV4];
                let total = (IPV4 + len) as u16;
                let sum = self.v4_sum + u64::from(total) + u64::from(outer.protocol);
                let sum = sum + u64::from(from) + u64::from(to) + u64::from(ecn);
                ip[1] |= ecn;
                ip[2..4].copy_from_slice(&total.to_be_bytes());
                ip[9] = outer.protocol;
                ip[10..12].copy_from_slice(&checksum::finish(sum).to_be_bytes());
                ip[12..16].copy_from_slice(&from.to_be_bytes());
                ip[16..20].copy_from_slice(&to.to_be_bytes());
            }
            Addresses::V6 { from, to } => {
                out[..COPIED_V6].copy_from_slice(&self.v6);
                let ip = &mut out[self.ip..self.ip + IPV6];
                ip[1] |= ecn << 4;
                ip[4..6].copy_from_slice(&(len as u16).to_be_bytes());
                ip[6] = outer.protocol;
                ip[8..24].copy_from_slice(&from.to_be_bytes());
                ip[24..40].copy_from_slice(&to.to_be_bytes());
            }
        }
        if let Some(macs) = &self.own_macs {
            put_own_mac(macs, &outer.addresses, out);
        }
        out[..6].copy_from_slice(&outer.hop);
        &mut out[start..]
    }
}

/// Writes the hardware address that belongs to the sender's IP address.
#[cold]
fn put_own_mac(macs: &OwnMacs, addresses: &Addresses, out: &mut [u8]) {
    let from = match *addresses {
        Addresses::V4 { from, .. } => IpAddr::V4(from.into()),
        Addresses::V6 { from, .. } => IpAddr::V6(from.into()),
    };
    if let Some(mac) = macs.of(from) {
        out[6..12].copy_from_slice(&mac);
    }
}

/// Puts the sum of the pseudo-header at `at`: what is there when a card is to add the rest.
#[inline]
pub(crate) fn put_pseudo_sum(addresses: &Addresses, protocol: u8, transport: &mut [u8], at: usize) {
    let sum = checksum::fold(addresses.pseudo_sum(protocol, transport.len()));
    transport[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Computes the checksum of a segment, datagram or ICMPv6 message and puts it at `at`. The field may hold anything.
#[inline]
pub(crate) fn put_checksum(addresses: &Addresses, protocol: u8, transport: &mut [u8], at: usize) {
    transport[at..at + 2].fill(0);
    let sum = checksum::sum(transport, addresses.pseudo_sum(protocol, transport.len()));
    let sum = match checksum::finish(sum) {
        // Zero means that there is none (RFC 768); to TCP and ICMPv6 both are the same.
        0 if protocol == frame::UDP => 0xffff,
        sum => sum,
    };
    transport[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests;
