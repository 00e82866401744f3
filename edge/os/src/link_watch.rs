//! Changes of interfaces during a measurement, as reported by the kernel.
//!
//! Not here: what it means for a result.
//!
//! Invariant: a [`LinkWatch`] covers the network namespace of the thread that opened it, for any later user.

use crate::ethtool::Asker;
use crate::link::{LinkFacts, Links};
use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use netlink_packet_route::{AddressFamily as Family, RouteNetlinkMessage};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{self, AddressFamily, RecvFlags, SocketFlags, SocketType};
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

pub use crate::link_change::LinkChange;

/// Last known state of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Watched {
    index: u32,
    up: bool,
    running: bool,
    program: Option<u32>,
    mtu: u32,
    /// As it was last known.
    speed_bps: Option<u64>,
    queues: Option<(u32, u32)>,
    is_there: bool,
}

/// Interfaces that are watched.
#[derive(Debug)]
pub struct LinkWatch {
    socket: OwnedFd,
    links: Links,
    ethtool: Asker,
    watched: Vec<Watched>,
    /// For the kernel's messages.
    buffer: Vec<u8>,
}

/// `RTMGRP_LINK` of linux/rtnetlink.h.
const LINK_GROUP: u32 = 1;
const MESSAGE_BYTES: usize = 64 * 1024;

impl LinkWatch {
    /// Watches the interfaces `names` of the calling thread's network namespace from now on.
    ///
    /// # Errors
    /// One of them is not there, or the kernel refuses.
    pub fn open(names: &[&str]) -> io::Result<Self> {
        let socket = net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        net::bind(&socket, &SocketAddrNetlink::new(0, LINK_GROUP))?;
        let (mut links, ethtool) = (Links::open()?, Asker::open()?);
        let watched =
            names.iter().map(|name| links.by_name(name).map(|facts| Watched::new(&facts, &ethtool)));
        let watched = watched.collect::<io::Result<_>>()?;
        Ok(Self { socket, links, ethtool, watched, buffer: vec![0; MESSAGE_BYTES] })
    }

    /// Waits for up to `patience` and returns what happened, by the place of its name.
    pub fn wait(&mut self, patience: Duration) -> Vec<(usize, LinkChange)> {
        let patience = patience.max(Duration::from_millis(1));
        let _ = net::sockopt::set_socket_timeout(&self.socket, net::sockopt::Timeout::Recv, Some(patience));
        match net::recv(&self.socket, &mut self.buffer[..], RecvFlags::empty()) {
            Ok((bytes, _)) => self.take(bytes),
            // More was told than there was room for.
            Err(Errno::NOBUFS) => self.look(),
            Err(_) => Vec::new(),
        }
    }

    /// Polls the state of the interfaces, and returns changes: the kernel does not report some changes of XDP programs,
    /// and changes of queues.
    pub fn look(&mut self) -> Vec<(usize, LinkChange)> {
        let mut changes = Vec::new();
        for (place, known) in self.watched.iter_mut().enumerate() {
            match self.links.by_index(known.index) {
                Ok(facts) => known.becomes(Watched::new(&facts, &self.ethtool), place, &mut changes),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    known.leaves(LinkChange::Deleted, place, &mut changes);
                }
                Err(_) => {}
            }
        }
        changes
    }

    /// Processes a datagram of this number of bytes.
    fn take(&mut self, bytes: usize) -> Vec<(usize, LinkChange)> {
        let (mut changes, mut datagram) = (Vec::new(), &self.buffer[..bytes]);
        while !datagram.is_empty() {
            let Ok(message) = NetlinkMessage::<RouteNetlinkMessage>::deserialize(datagram) else { break };
            let bytes = (message.header.length as usize).next_multiple_of(4).min(datagram.len());
            datagram = &datagram[bytes.max(1)..];
            let NetlinkPayload::InnerMessage(message) = message.payload else { continue };
            let (link, has_left) = match &message {
                RouteNetlinkMessage::NewLink(link) => (link, false),
                RouteNetlinkMessage::DelLink(link) => (link, true),
                _ => continue,
            };
            // A bridge tells of its ports in the same group.
            if link.header.interface_family != Family::Unspec {
                continue;
            }
            let Some(place) = self.watched.iter().position(|known| known.index == link.header.index) else {
                continue;
            };
            let known = &mut self.watched[place];
            if has_left {
                known.leaves(how_it_left(link), place, &mut changes);
            } else {
                let now = Watched::new(&LinkFacts::new(link), &self.ethtool);
                known.becomes(now, place, &mut changes);
            }
        }
        changes
    }
}

fn how_it_left(link: &LinkMessage) -> LinkChange {
    match link.attributes.iter().any(|attribute| matches!(attribute, LinkAttribute::NewNetnsId(_))) {
        true => LinkChange::Moved,
        false => LinkChange::Deleted,
    }
}

impl Watched {
    fn new(facts: &LinkFacts, ethtool: &Asker) -> Self {
        Self {
            index: facts.index,
            up: facts.up,
            running: facts.running,
            program: facts.xdp.map(|program| program.id),
            mtu: facts.mtu,
            // What the driver of a virtual interface says of its speed is made up.
            speed_bps: facts.device.as_ref().and_then(|_| ethtool.speed_bps(&facts.name)),
            queues: ethtool.queues(&facts.name),
            is_there: true,
        }
    }

    fn becomes(&mut self, now: Self, place: usize, changes: &mut Vec<(usize, LinkChange)>) {
        // Without a carrier there is no speed, and the last one counts.
        let (speed_bps, queues) = (now.speed_bps.or(self.speed_bps), now.queues.or(self.queues));
        let now = Self { speed_bps, queues, ..now };
        if self.up && !now.up {
            changes.push((place, LinkChange::SetDown));
        } else if self.running && !now.running {
            changes.push((place, LinkChange::CarrierLost));
        }
        if !self.running && now.running {
            changes.push((place, LinkChange::Running));
        }
        if self.program != now.program {
            changes.push((place, LinkChange::Program { before: self.program, after: now.program }));
        }
        if self.mtu != now.mtu {
            changes.push((place, LinkChange::Mtu { before: self.mtu, after: now.mtu }));
        }
        if let (Some(before), Some(after)) = (self.speed_bps, speed_bps)
            && before != after
        {
            changes.push((place, LinkChange::Speed { before, after }));
        }
        if let (Some(before), Some(after)) = (self.queues, queues)
            && before != after
        {
            changes.push((place, LinkChange::Queues { before, after }));
        }
        *self = now;
    }

    fn leaves(&mut self, how: LinkChange, place: usize, changes: &mut Vec<(usize, LinkChange)>) {
        if self.is_there {
            self.is_there = false;
            changes.push((place, how));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_change_is_not_told() {
        let mut watch = LinkWatch::open(&["lo"]).unwrap();
        assert_eq!(watch.wait(Duration::from_millis(1)), []);
        assert_eq!(watch.look(), []);
        assert!(LinkWatch::open(&["no-such-link"]).is_err());
    }

    #[test]
    fn each_change_is_told_once() {
        let link = |up, running, program| Watched {
            index: 7,
            up,
            running,
            program,
            mtu: 1_500,
            speed_bps: Some(10_000_000_000),
            queues: Some((2, 2)),
            is_there: true,
        };
        let mut known = link(true, true, Some(3));
        let mut becomes = |now| {
            let mut changes = Vec::new();
            known.becomes(now, 0, &mut changes);
            changes.into_iter().map(|(_, change)| change).collect::<Vec<_>>()
        };
        assert_eq!(becomes(link(true, true, Some(3))), []);
        assert_eq!(becomes(link(true, false, Some(3))), [LinkChange::CarrierLost]);
        assert_eq!(becomes(link(true, true, Some(3))), [LinkChange::Running]);
        assert_eq!(becomes(link(false, false, Some(3))), [LinkChange::SetDown]);
        assert_eq!(becomes(link(false, false, None)), [LinkChange::Program { before: Some(3), after: None }]);
        let down = link(false, false, None);
        assert_eq!(becomes(Watched { mtu: 600, ..down }), [LinkChange::Mtu { before: 1_500, after: 600 }]);
        assert_eq!(becomes(Watched { mtu: 600, speed_bps: None, ..down }), []);
        let slower = Watched { mtu: 600, speed_bps: Some(1_000_000_000), queues: Some((1, 2)), ..down };
        let speed = LinkChange::Speed { before: 10_000_000_000, after: 1_000_000_000 };
        assert_eq!(becomes(slower), [speed, LinkChange::Queues { before: (2, 2), after: (1, 2) }]);
        assert_eq!(becomes(slower), []);
        let mut changes = Vec::new();
        known.leaves(LinkChange::Moved, 0, &mut changes);
        known.leaves(LinkChange::Deleted, 0, &mut changes);
        assert_eq!(changes, [(0, LinkChange::Moved)]);
    }
}
