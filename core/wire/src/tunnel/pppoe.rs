//! PPPoE sessions around IPv4 packets of flows (RFC 2516 section 6): each client has its own, identified by its
//! address.
//!
//! Not here: how sessions come up (`emulate::pppoe`), and what is no IPv4 packet in one: that is control's.

use super::{ETHERNET, IPV4, Inner, TAG, put16, tags, u16_at};
use crate::Vlans;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// Ethernet's type of packets in sessions, and PPP's of IPv4 (RFC 1332).
const TYPE_SESSION: u16 = 0x8864;
const PPP_IPV4: u16 = 0x0021;
/// Version and type 1, code 0 (RFC 2516 section 4).
const VERSION_TYPE_CODE: u16 = 0x1100;
/// Bytes of PPPoE's header, and of PPP's protocol field.
const HEADER: usize = 6;
const PROTOCOL: usize = 2;
/// Most bytes of outer headers.
const HEAD_MAX: usize = ETHERNET + 2 * TAG + HEADER + PROTOCOL;

/// A client's session, as packets in it name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PppoeLink {
    /// Number of the session.
    pub session: u16,
    /// Hardware address of the access concentrator.
    pub ac: [u8; 6],
    /// That of the client.
    pub mac: [u8; 6],
    /// Its VLANs, outermost first, where each client has its own: as many as [`PppoeLinks::vlans`]. Zero otherwise.
    pub vlans: [u16; 2],
}

/// The sessions of a port's clients.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PppoeLinks {
    /// VLANs they are in, outermost first, two at most.
    vlans: Vlans,
    /// Whether each client has its own.
    differ: bool,
    /// By the client's address.
    all: Vec<(Ipv4Addr, PppoeLink)>,
}

impl PppoeLinks {
    /// Bytes of PPPoE and PPP before a packet.
    pub const OVERHEAD: usize = HEADER + PROTOCOL;

    /// The session of each of these addresses. More than two VLANs are cut off.
    pub fn new(vlans: &Vlans, links: impl IntoIterator<Item = (Ipv4Addr, PppoeLink)>) -> Self {
        let mut all: Vec<(Ipv4Addr, PppoeLink)> = links.into_iter().collect();
        all.sort_unstable_by_key(|(ip, _)| *ip);
        all.dedup_by_key(|(ip, _)| *ip);
        let ids = vlans.iter().copied().take(2).collect();
        Self { vlans: vlans.with_ids(ids), differ: false, all }
    }

    /// The same where each client has its own VLANs, with as many tags as `vlans`.
    #[must_use]
    pub fn in_own_vlans(self) -> Self {
        Self { differ: true, ..self }
    }

    /// Whether each client has its own VLANs.
    pub fn differ(&self) -> bool {
        self.differ
    }

    /// VLANs the sessions are in, outermost first; where clients have their own, the VLANs of the first.
    pub fn vlans(&self) -> &Vlans {
        &self.vlans
    }

    /// The session of a client.
    #[inline]
    fn of(&self, ip: IpAddr) -> Option<&PppoeLink> {
        let IpAddr::V4(ip) = ip else { return None };
        let place = self.all.binary_search_by_key(&ip, |(of, _)| *of).ok()?;
        Some(&self.all[place].1)
    }

    /// The packet in a frame that is in one of the sessions and to its client; `None` of all others.
    pub(super) fn read<'f>(&self, frame: &'f [u8], network: u32) -> Option<Inner<'f>> {
        let (at, vlans, kind) = tags(frame)?;
        if kind != TYPE_SESSION
            || u16_at(frame, at)? != VERSION_TYPE_CODE
            || !self.differ && vlans.as_slice() != &self.vlans[..]
        {
            return None;
        }
        let len = usize::from(u16_at(frame, at + 4)?);
        let packet = frame.get(at + HEADER..at + HEADER + len)?;
        if u16_at(packet, 0)? != PPP_IPV4 || packet.len() < PROTOCOL + IPV4 {
            return None;
        }
        let (_, to) = super::ip_ends(&packet[PROTOCOL..])?;
        let link = self.of(to)?;
        let is_its =
            link.session == u16_at(frame, at + 2)? && frame[..6] == link.mac && frame[6..12] == link.ac;
        let is_its = is_its && (!self.differ || *vlans.as_slice() == link.vlans[..self.vlans.len()]);
        is_its.then(|| Inner {
            frame: &frame[at + HEADER + PROTOCOL - ETHERNET..at + HEADER + len],
            is_bare: true,
            network,
            peer: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            is_congested: false,
        })
    }
}

/// Puts packets of clients into their sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PppoeEncap {
    links: Arc<PppoeLinks>,
    head: [u8; HEAD_MAX],
    /// Bytes of it.
    len: usize,
}

impl PppoeEncap {
    /// For packets of these clients.
    pub fn new(links: Arc<PppoeLinks>) -> Self {
        let mut all = vec![0; ETHERNET - 2];
        links.vlans.tags().for_each(|tag| all.extend(tag));
        for word in [TYPE_SESSION, VERSION_TYPE_CODE, 0, 0, PPP_IPV4] {
            all.extend(word.to_be_bytes());
        }
        let len = all.len();
        let mut head = [0; HEAD_MAX];
        head[..len].copy_from_slice(&all);
        Self { links, head, len }
    }

    /// Bytes to leave before the place of an Ethernet header.
    #[inline(always)]
    pub(super) fn before(&self) -> usize {
        self.len - ETHERNET
    }

    /// Writes the headers before the packet in `frame`. A packet from an unknown address is in no session, and has no
    /// receiver.
    #[inline]
    pub(super) fn wrap(&self, frame: &mut [u8]) {
        frame[..self.len].copy_from_slice(&self.head[..self.len]);
        let (packet, shim) = (frame.len() - self.len, self.len - HEADER - PROTOCOL);
        let from = super::ip_ends(&frame[self.len..]).map(|(from, _)| from);
        if let Some(link) = from.and_then(|from| self.links.of(from)) {
            frame[..6].copy_from_slice(&link.ac);
            frame[6..12].copy_from_slice(&link.mac);
            if self.links.differ {
                let ids = link.vlans.iter().take(self.links.vlans.len());
                ids.enumerate().for_each(|(depth, id)| put16(frame, ETHERNET + TAG * depth, *id));
            }
            put16(frame, shim + 2, link.session);
        }
        put16(frame, shim + 4, (packet + PROTOCOL) as u16);
    }
}
