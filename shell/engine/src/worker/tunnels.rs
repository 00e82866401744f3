//! Tunnels of the sessions of one port: received frames are taken out of them, and go to sessions or to the hosts inside.
//!
//! Not here: outer headers of what sessions send, which their stack writes; and how next hops are found (`session::neighbours`).
//!
//! Invariant: a frame that is of no tunnel here goes the way it would go without any.

use super::pieces::Pieces;
use super::steer::Steer;
use crate::counts::interval::{PortCounts, TunnelCounts};
use neighbour::{Hosts, Mac};
use port::BURST;
use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;
use tcp::Inside;
use units::Nanos;
use wire::tunnel::{Arrived, Decap, Inner, OuterHeaders};

/// Bytes of an Ethernet header's addresses, and its types of IP.
const MACS: usize = 12;
const TYPE_IPV4: [u8; 2] = [0x08, 0x00];
const TYPE_IPV6: [u8; 2] = [0x86, 0xdd];

/// Nothing inside.
const NOTHING: Inner<'static> = Inner {
    frame: &[],
    is_bare: false,
    network: 0,
    peer: IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
    is_congested: false,
};

/// The tunnels that end at a port, and the networks inside them. Networks have numbers from 1 on.
#[derive(Debug, Clone, Default)]
pub(crate) struct TunnelMap {
    pub(crate) decap: Decap,
    pub(crate) networks: Vec<TunnelNetwork>,
}

/// Inner network of tunnels with the same identifier.
#[derive(Debug, Clone)]
pub(crate) struct TunnelNetwork {
    /// The hosts in it.
    pub(crate) hosts: Hosts,
    /// Ways out of it: one for each other end.
    pub(crate) outers: Vec<Arc<OuterHeaders>>,
    /// The longest IP packet of hosts' replies.
    pub(crate) mtu: usize,
}

impl TunnelNetwork {
    /// A frame to the other end `peer`, or to the first one.
    fn toward(&self, peer: IpAddr, frame: &[u8]) -> Option<Vec<u8>> {
        let outer =
            self.outers.iter().find(|outer| outer.other_end() == Some(peer)).or(self.outers.first())?;
        outer.around(frame)
    }

    /// A frame to all other ends.
    pub(crate) fn flood<'s>(&'s self, frame: &'s [u8]) -> impl Iterator<Item = Vec<u8>> + 's {
        self.outers.iter().filter_map(move |outer| outer.around(frame))
    }

    /// The inner packet, with an Ethernet header in any case.
    fn whole<'f>(&self, inner: &Inner<'f>) -> Cow<'f, [u8]> {
        if !inner.is_bare {
            return Cow::Borrowed(inner.frame);
        }
        let mut frame = inner.frame.to_vec();
        let mac: Mac = self.hosts.all().first().map_or([0; 6], |host| host.mac);
        let is_v4 = frame[MACS + 2] >> 4 == 4;
        frame[..6].copy_from_slice(&mac);
        frame[6..MACS].copy_from_slice(&mac);
        frame[MACS..MACS + 2].copy_from_slice(if is_v4 { &TYPE_IPV4 } else { &TYPE_IPV6 });
        Cow::Owned(frame)
    }
}

impl TunnelMap {
    fn network(&self, number: u32) -> &TunnelNetwork {
        &self.networks[number as usize - 1]
    }

    /// Takes a frame before traffic begins: passes the inner packet with its network to `take`. Returns the reply to
    /// it, if there is one; `None` if it is of no tunnel.
    pub(crate) fn listen(&self, frame: &[u8], take: impl FnOnce(usize, &[u8])) -> Option<Option<Vec<u8>>> {
        match self.decap.read(frame) {
            Arrived::Inner(inner) => {
                let network = self.network(inner.network);
                let whole = network.whole(&inner);
                take(inner.network as usize - 1, &whole);
                let answer = network.hosts.answer(&whole);
                Some(answer.and_then(|answer| network.toward(inner.peer, &answer)))
            }
            Arrived::Echo(answer) => Some(Some(answer)),
            _ => None,
        }
    }
}

/// Lets sessions take in what was in tunnels; returns a bit for each frame that is not theirs, the first one's lowest.
pub(crate) type Offer<'a> = &'a mut dyn FnMut(&[Inside<'_>]) -> u64;

/// One worker's side of the tunnels of a port.
pub(crate) struct Tunnels {
    map: Arc<TunnelMap>,
    /// Of each network, packets whose fragments arrive one by one.
    pieces: Vec<Pieces>,
    counts: TunnelCounts,
    /// Frames to be sent.
    answers: Vec<Vec<u8>>,
}

impl Tunnels {
    pub(crate) fn new(map: Arc<TunnelMap>) -> Self {
        let pieces = map.networks.iter().map(|network| Pieces::new(network.mtu)).collect();
        Self { map, pieces, counts: TunnelCounts::default(), answers: Vec::new() }
    }

    /// Lets outer packets go by way of other next hops.
    pub(crate) fn follow(&mut self, map: Arc<TunnelMap>) {
        self.map = map;
    }

    /// Takes tunnelled frames out of a burst, leaving nothing in their place. Frames for flows of another worker are
    /// passed on unmodified; the rest is offered to sessions. Returns a bit for each frame that was taken, the first
    /// one's lowest.
    pub(crate) fn receive(
        &mut self,
        now: Nanos,
        frames: &mut [&[u8]],
        unfinished: u64,
        offer: Offer<'_>,
        mut steer: Option<&mut Steer>,
        lost: &mut u64,
    ) -> u64 {
        let mut taken = 0;
        let mut inners = [NOTHING; BURST];
        let nothing =
            Inside { frame: &[], is_bare: false, network: 0, is_congested: false, is_unfinished: false };
        let (mut insides, mut count) = ([nothing; BURST], 0);
        for (number, frame) in frames.iter_mut().enumerate() {
            let is_unfinished = unfinished >> number & 1 != 0;
            match self.map.decap.read(frame) {
                Arrived::Foreign => continue,
                Arrived::Unknown => {
                    self.counts.unknown += 1;
                    continue;
                }
                Arrived::Malformed => {
                    self.counts.malformed += 1;
                    continue;
                }
                Arrived::Echo(answer) => {
                    self.counts.echoes += 1;
                    self.answers.push(answer);
                }
                Arrived::Inner(inner) => {
                    let Inner { frame: bytes, is_bare, network, is_congested, .. } = inner;
                    let inside = Inside { frame: bytes, is_bare, network, is_congested, is_unfinished };
                    let owner = steer.as_ref().and_then(|steer| steer.other_owner_inside(&inside));
                    match owner.zip(steer.as_deref_mut()) {
                        Some((owner, steer)) => steer.send(owner, frame, is_unfinished, lost),
                        None => {
                            self.counts.received += 1;
                            (inners[count], insides[count]) = (inner, inside);
                            count += 1;
                        }
                    }
                }
            }
            *frame = &[];
            taken |= 1 << number;
        }
        let foreign = offer(&insides[..count]);
        for (number, inner) in inners[..count].iter().enumerate() {
            if foreign >> number & 1 != 0 {
                self.take_rest(now, inner, offer);
            }
        }
        taken
    }

    /// An inner packet that is no session's: for a host inside, a fragment, or without a receiver.
    #[cold]
    fn take_rest(&mut self, now: Nanos, inner: &Inner<'_>, offer: Offer<'_>) {
        let network = self.map.network(inner.network);
        let whole = network.whole(inner);
        let pieces = &mut self.pieces[inner.network as usize - 1];
        let mut answers = Vec::new();
        if pieces.take(now, &network.hosts, &whole) {
            let Inner { is_bare, network: number, is_congested, .. } = *inner;
            pieces.pass_on(&mut self.counts.fragments, &network.hosts, &mut answers, |frame| {
                // Who cuts a packet finishes its checksum first.
                let inside = Inside { frame, is_bare, network: number, is_congested, is_unfinished: false };
                offer(&[inside]) & 1 != 0
            });
        } else {
            let answer = network.hosts.answer(&whole);
            self.counts.unclaimed += u64::from(answer.is_none());
            answers.extend(answer);
        }
        self.answers.extend(answers.iter().filter_map(|answer| network.toward(inner.peer, answer)));
    }

    /// Adds what was counted to `counts` and begins anew; gives out frames to be sent.
    #[inline]
    pub(crate) fn hand_over(&mut self, counts: &mut PortCounts) -> Vec<Vec<u8>> {
        counts.tunnels.merge(&std::mem::take(&mut self.counts));
        std::mem::take(&mut self.answers)
    }

    /// Gives up packets whose fragments have not all come.
    pub(crate) fn finish(&mut self, counts: &mut PortCounts) {
        self.pieces.iter_mut().for_each(|pieces| pieces.finish(&mut counts.tunnels.fragments));
    }
}
