//! Everything between the simulated ports.

use crate::balancer::Balancer;
use crate::device::{Device, Forward, Router, RouterModel};
use crate::firewall::{Firewall, FirewallModel};
use crate::link::{Flight, Link, LinkModel};
use crate::nat::Nat;
use crate::ports::{SimClock, SimPort};
use crate::switch::{Switch, SwitchModel};
use port::PortRequest;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use units::Nanos;

/// Sees every frame a tester's port sends: when, from which port, the bytes without FCS.
pub type Tap = Box<dyn FnMut(Nanos, usize, &[u8]) + Send>;

/// Topology to simulate.
pub struct Topology {
    /// Device string, hardware address and link of each port.
    pub ports: Vec<(String, [u8; 6], LinkModel)>,
    /// The router between them; `None` is wires.
    pub router: Option<RouterModel>,
    /// Which port each one is wired to if there is no router; a port wired to none sends into the void.
    pub wires: Vec<Option<usize>>,
    /// Seed of everything random.
    pub seed: u64,
    /// Sees what is sent.
    pub tap: Option<Tap>,
}

/// True counts of frames, as opposed to measurements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SimCounts {
    /// Frames the tester sent.
    pub sent: u64,
    /// Frames lost on links.
    pub lost: u64,
    /// Frames delivered once more than sent.
    pub duplicated: u64,
    /// Frames delayed on links.
    pub delayed: u64,
    /// Frames in which links flipped a bit.
    pub corrupted: u64,
    /// Frames dropped by the device because its buffer, or the firewall's or the NAT's table, was full, or the NAT let them not in.
    pub dropped: u64,
    /// Frames without a route.
    pub no_route: u64,
    /// Frames delivered, each once, after one sent later on the same port.
    pub overtaken: u64,
}

pub(crate) struct World {
    pub(crate) now: Nanos,
    /// A copy of when each port's next frame arrives, to be read without the lock.
    arrivals: Vec<Arc<AtomicU64>>,
    /// From each port to the device, and from the device to each port.
    to_device: Vec<Link>,
    pub(crate) to_port: Vec<Link>,
    device: Device,
    before: Before,
    counts: SimCounts,
    /// For each port: frames sent, for their numbers.
    sent: Vec<u64>,
    /// Which numbers each port's frames have been delivered with.
    delivered: Vec<Delivered>,
    /// When a refused sender may try again.
    wake: Nanos,
    tap: Option<Tap>,
    spare: Vec<Vec<u8>>,
}

/// Between a port's link and the device.
#[derive(Default)]
struct Before {
    firewall: Option<Firewall>,
    nat: Option<Nat>,
    balancer: Option<Balancer>,
}

impl Before {
    /// Whether a frame from a port gets to the device; it may be changed.
    fn passes(&mut self, from: usize, at: Nanos, frame: &mut [u8]) -> bool {
        self.firewall.as_mut().is_none_or(|firewall| firewall.passes(at, frame))
            && self.nat.as_ref().is_none_or(|nat| nat.translate(from, at, frame))
            && self.balancer.as_ref().is_none_or(|balancer| balancer.translate(from, frame))
    }
}

/// Delivered frames of one port of origin.
#[derive(Debug, Clone, Default)]
struct Delivered {
    next: u64,
    /// Numbers below `next` not delivered yet.
    missing: std::collections::BTreeSet<u64>,
}

impl Delivered {
    /// Whether this frame was overtaken; a copy of one delivered before is not.
    fn take(&mut self, number: u64) -> bool {
        if number < self.next {
            return self.missing.remove(&number);
        }
        self.missing.extend(self.next..number);
        self.next = number + 1;
        // Far behind nobody comes any more.
        while self.missing.len() > 1 << 16 {
            self.missing.pop_first();
        }
        false
    }
}

/// Makes the ports of `topology` and their clock, which starts at one second.
pub fn build(topology: Topology, request: PortRequest) -> (Vec<SimPort>, SimClock) {
    build_behind(topology, request, None)
}

/// The same with a firewall before the device.
pub fn build_behind(
    mut topology: Topology,
    request: PortRequest,
    firewall: Option<FirewallModel>,
) -> (Vec<SimPort>, SimClock) {
    let device = match topology.router.take() {
        Some(model) => Device::Router(Router::new(model)),
        None => Device::Wire { peer: std::mem::take(&mut topology.wires) },
    };
    let firewall = firewall.map(Firewall::new);
    join(topology, device, Before { firewall, ..Before::default() }, request)
}

/// The same with a translator before the router.
pub fn build_translated(mut topology: Topology, nat: Nat, request: PortRequest) -> (Vec<SimPort>, SimClock) {
    let device = match topology.router.take() {
        Some(model) => Device::Router(Router::new(model)),
        None => Device::Wire { peer: std::mem::take(&mut topology.wires) },
    };
    join(topology, device, Before { nat: Some(nat), ..Before::default() }, request)
}

/// The same with a load balancer before the router.
pub fn build_balanced(
    mut topology: Topology,
    balancer: Balancer,
    request: PortRequest,
) -> (Vec<SimPort>, SimClock) {
    let device = match topology.router.take() {
        Some(model) => Device::Router(Router::new(model)),
        None => Device::Wire { peer: std::mem::take(&mut topology.wires) },
    };
    join(topology, device, Before { balancer: Some(balancer), ..Before::default() }, request)
}

/// The same with a switch between all ports; `topology` has neither router nor wires.
pub fn build_switched(
    topology: Topology,
    switch: SwitchModel,
    request: PortRequest,
) -> (Vec<SimPort>, SimClock) {
    let links = topology.ports.iter().map(|(_, _, link)| *link).collect();
    join(topology, Device::Switch(Switch::new(switch, links)), Before::default(), request)
}

fn join(
    topology: Topology,
    device: Device,
    before: Before,
    request: PortRequest,
) -> (Vec<SimPort>, SimClock) {
    let ports = topology.ports.len();
    let link = |index: usize, direction: u64| {
        let seed = topology.seed ^ ((index as u64) << 8 | direction).wrapping_mul(0xd6e8_feb8_6659_fd93);
        Link::new(topology.ports[index].2, seed)
    };
    let world = Arc::new(Mutex::new(World {
        now: Nanos::from_secs(1),
        arrivals: (0..ports).map(|_| Arc::new(AtomicU64::new(u64::MAX))).collect(),
        to_device: (0..ports).map(|i| link(i, 1)).collect(),
        // A frame meets a link's troubles once, on its way to the device.
        to_port: (0..ports)
            .map(|i| {
                let LinkModel { speed_bps, delay, .. } = topology.ports[i].2;
                Link::new(LinkModel { delay, ..LinkModel::perfect(speed_bps) }, 0)
            })
            .collect(),
        device,
        before,
        counts: SimCounts::default(),
        sent: vec![0; ports],
        delivered: vec![Delivered::default(); ports],
        wake: Nanos::MAX,
        tap: topology.tap,
        spare: Vec::new(),
    }));
    let clock = SimClock::new(world.clone());
    let made = topology.ports.into_iter().enumerate();
    let ports = made
        .map(|(index, (device, mac, link))| {
            SimPort::new(index, &device, mac, link.speed_bps, request, &clock)
        })
        .collect();
    (ports, clock)
}

impl World {
    fn buffer(spare: &mut Vec<Vec<u8>>) -> Vec<u8> {
        spare.pop().unwrap_or_default()
    }

    /// Sends a frame from the tester's port; `false` if its ring is full.
    pub(crate) fn send(&mut self, port: usize, frame: &[u8]) -> bool {
        let link = &mut self.to_device[port];
        let room_at = link.room_at(frame.len());
        if room_at > self.now {
            self.wake = self.wake.min(room_at);
            return false;
        }
        if let Some(tap) = &mut self.tap {
            tap(self.now, port, frame);
        }
        let mut bytes = Self::buffer(&mut self.spare);
        bytes.clear();
        bytes.extend_from_slice(frame);
        let number = self.sent[port];
        self.sent[port] += 1;
        self.counts.sent += 1;
        let spare = &mut self.spare;
        link.send(self.now, Flight { arrives: Nanos::ZERO, number, origin: port, bytes }, || {
            Self::buffer(spare)
        });
        true
    }

    /// Whether a frame for the tester's port has arrived.
    #[inline]
    pub(crate) fn has_arrived(&self, port: usize) -> bool {
        self.to_port[port].next_arrival() <= self.now
    }

    /// The next frame for the tester's port that has arrived.
    pub(crate) fn receive(&mut self, port: usize) -> Option<Vec<u8>> {
        let flight = self.to_port[port].arrived(self.now)?;
        if flight.number != ANSWER {
            let overtaken = self.delivered[flight.origin].take(flight.number);
            self.counts.overtaken += u64::from(overtaken);
        }
        Some(flight.bytes)
    }

    pub(crate) fn recycle(&mut self, bytes: Vec<u8>) {
        self.spare.push(bytes);
    }

    /// Jumps to `until` or to the next event visible at a tester's port. Earlier actions of the device remain
    /// invisible.
    pub(crate) fn advance(&mut self, until: Nanos) -> Nanos {
        loop {
            let noticed = earliest(&self.to_port).min(self.wake).min(until);
            let inside = earliest(&self.to_device);
            if inside > noticed || inside == Nanos::MAX {
                // With nothing to wait for, time still passes.
                let next = if noticed == Nanos::MAX { self.now + Nanos::from_millis(1) } else { noticed };
                self.now = self.now.max(next);
                break;
            }
            self.now = self.now.max(inside);
            self.pass_on();
        }
        if self.wake <= self.now {
            self.wake = Nanos::MAX;
        }
        (0..self.to_port.len()).for_each(|port| self.publish(port));
        self.now
    }

    /// Tells a port when its next frame arrives.
    pub(crate) fn publish(&self, port: usize) {
        self.arrivals[port].store(self.to_port[port].next_arrival().0, Ordering::Relaxed);
    }

    /// Time of the next arrival at a port, shared with the port.
    pub(crate) fn arrival_of(&self, port: usize) -> Arc<AtomicU64> {
        self.arrivals[port].clone()
    }

    /// Carries what has reached the device through it, in order of arrival.
    fn pass_on(&mut self) {
        loop {
            let Some(from) = self.first_to_arrive() else { return };
            let Some(mut flight) = self.to_device[from].arrived(self.now) else { return };
            let at = flight.arrives;
            if !self.before.passes(from, at, &mut flight.bytes) {
                self.counts.dropped += 1;
                continue;
            }
            let forward = match &mut self.device {
                Device::Wire { peer } => peer[from].map_or(Forward::NoRoute, |to| Forward::Out(to, at)),
                Device::Router(router) => router.take(from, at, &mut flight.bytes),
                Device::Switch(switch) => switch.take(from, at, &flight.bytes),
            };
            match forward {
                Forward::Out(to, leaves) => self.to_port[to].send(leaves, flight, Vec::new),
                Forward::Flood(copies) => {
                    for (to, leaves) in copies {
                        match leaves {
                            Some(leaves) => self.to_port[to].send(leaves, flight.clone(), Vec::new),
                            None => self.counts.dropped += 1,
                        }
                    }
                }
                Forward::Answer(bytes) => {
                    self.to_port[from].send(at, Flight { number: ANSWER, bytes, ..flight }, Vec::new);
                }
                Forward::Dropped => self.counts.dropped += 1,
                Forward::NoRoute => self.counts.no_route += 1,
            }
        }
    }

    /// The port whose frame gets to the device first. Of frames that arrive at one time, a switch takes one by chance.
    fn first_to_arrive(&self) -> Option<usize> {
        let is_switch = matches!(self.device, Device::Switch(_));
        let order = |port: usize, at: Nanos| match is_switch {
            true => random::word(random::key(at.0), port as u64),
            false => port as u64,
        };
        let arrival = |port: &usize| {
            let at = self.to_device[*port].next_arrival();
            (at, order(*port, at))
        };
        (0..self.to_device.len()).min_by_key(arrival)
    }

    pub(crate) fn counts(&self) -> SimCounts {
        let links = self.to_device.iter().map(|link| link.counts);
        links.fold(self.counts, |sum, link| SimCounts {
            lost: sum.lost + link.lost,
            duplicated: sum.duplicated + link.duplicated,
            delayed: sum.delayed + link.delayed,
            corrupted: sum.corrupted + link.corrupted,
            ..sum
        })
    }
}

fn earliest(links: &[Link]) -> Nanos {
    links.iter().map(Link::next_arrival).min().unwrap_or(Nanos::MAX)
}

/// Number of a frame the device itself sent.
const ANSWER: u64 = u64::MAX;
