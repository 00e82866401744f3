//! The device between the links.

use crate::switch::Switch;
use neighbour::Host;
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use units::{Nanos, Pps};

/// A router: one queue in front of one server.
#[derive(Debug, Clone)]
pub struct RouterModel {
    /// Packets it forwards each second; `None` is any number.
    pub capacity: Option<Pps>,
    /// Frames that wait at most; what comes when they are full is dropped.
    pub buffer: u32,
    /// Time a frame spends in it when nothing waits.
    pub latency: Nanos,
    /// One for each simulated port, in their order.
    pub ports: Vec<RouterPort>,
}

/// The router's side of one link.
#[derive(Debug, Clone)]
pub struct RouterPort {
    /// The router's own addresses there: it replies for them.
    pub addresses: Vec<IpAddr>,
    /// Networks behind this port: address and prefix length.
    pub networks: Vec<(IpAddr, u8)>,
    /// Hardware address of the tester's port on the link.
    pub peer_mac: [u8; 6],
    /// Addresses of the tester there that have other hardware addresses.
    pub peers: HashMap<IpAddr, [u8; 6]>,
}

/// Fate of a frame.
pub(crate) enum Forward {
    /// It leaves on a port at an instant.
    Out(usize, Nanos),
    /// Copies leave on other ports, each at an instant if there was room for it.
    Flood(Vec<(usize, Option<Nanos>)>),
    /// It was for the router, which replies on the port it came from.
    Answer(Vec<u8>),
    /// There was no room.
    Dropped,
    /// Nobody knows where it should go.
    NoRoute,
}

/// The device between the links.
#[derive(Debug)]
pub(crate) enum Device {
    /// Joins ports in pairs.
    Wire { peer: Vec<Option<usize>> },
    /// A model router.
    Router(Router),
    /// A model switch.
    Switch(Switch),
}

#[derive(Debug)]
pub(crate) struct Router {
    model: RouterModel,
    hosts: Vec<Host>,
    /// When each waiting frame will have been served, ps.
    waiting: VecDeque<u128>,
    busy_until: u128,
}

impl Router {
    pub(crate) fn new(model: RouterModel) -> Self {
        let host = |(index, port): (usize, &RouterPort)| Host {
            mac: router_mac(index),
            vlans: Default::default(),
            addresses: port.addresses.clone(),
            networks: Vec::new(),
            answers_for: port.addresses.iter().map(|ip| *ip..=*ip).collect(),
        };
        let hosts = model.ports.iter().enumerate().map(host).collect();
        Self { model, hosts, waiting: VecDeque::new(), busy_until: 0 }
    }

    /// Takes a frame that came in on port `from` at `now`.
    pub(crate) fn take(&mut self, from: usize, now: Nanos, frame: &mut [u8]) -> Forward {
        if frame.get(..6).is_some_and(|dst| dst[0] & 1 == 1) {
            return self.answer(from, frame);
        }
        // What is not IP may be a question to the router alone.
        let Some((ip_at, destination)) = destination(frame) else { return self.answer(from, frame) };
        if self.hosts[from].owns(destination) {
            return self.answer(from, frame);
        }
        let Some(to) = self.route(destination) else { return Forward::NoRoute };
        let Some(leaves) = self.serve(now) else { return Forward::Dropped };
        let port = &self.model.ports[to];
        frame[..6].copy_from_slice(port.peers.get(&destination).unwrap_or(&port.peer_mac));
        frame[6..12].copy_from_slice(&router_mac(to));
        age(&mut frame[ip_at..]);
        Forward::Out(to, leaves)
    }

    /// Answers in the VLANs of the question: the router is in all of them.
    fn answer(&self, from: usize, frame: &[u8]) -> Forward {
        let host = Host { vlans: neighbour::vlans_of(frame).into(), ..self.hosts[from].clone() };
        host.answer(frame).map_or(Forward::NoRoute, Forward::Answer)
    }

    /// The port with the longest prefix for `ip`.
    fn route(&self, ip: IpAddr) -> Option<usize> {
        let ports = self.model.ports.iter().enumerate();
        let matches = ports.flat_map(|(i, p)| p.networks.iter().map(move |n| (i, n)));
        matches
            .filter(|(_, (net, len))| same_network(*net, ip, *len))
            .max_by_key(|(_, (_, len))| *len)
            .map(|(i, _)| i)
    }

    /// When a frame that arrives at `now` leaves; `None` if the buffer is full.
    fn serve(&mut self, now: Nanos) -> Option<Nanos> {
        let Some(capacity) = self.model.capacity else { return Some(now + self.model.latency) };
        let now_ps = u128::from(now.0) * 1_000;
        while self.waiting.front().is_some_and(|done| *done <= now_ps) {
            self.waiting.pop_front();
        }
        // One frame is being served; the others wait.
        if self.waiting.len() > self.model.buffer as usize {
            return None;
        }
        let service = 1_000_000_000_000_000_000u128 / u128::from(capacity.micro().max(1));
        self.busy_until = self.busy_until.max(now_ps) + service;
        self.waiting.push_back(self.busy_until);
        Some(Nanos(self.busy_until.div_ceil(1_000) as u64) + self.model.latency)
    }
}

fn router_mac(port: usize) -> [u8; 6] {
    [0x02, 0xd0, 0, 0, (port >> 8) as u8, port as u8]
}

/// Offset of the IP header and its destination.
fn destination(frame: &[u8]) -> Option<(usize, IpAddr)> {
    let mut at = 12;
    loop {
        let kind = u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]);
        let ip = at + 2;
        match kind {
            0x8100 | 0x88a8 | 0x9100 => at += 4,
            0x0800 => {
                let bytes: [u8; 4] = frame.get(ip + 16..ip + 20)?.try_into().ok()?;
                return Some((ip, IpAddr::from(bytes)));
            }
            0x86dd => {
                let bytes: [u8; 16] = frame.get(ip + 24..ip + 40)?.try_into().ok()?;
                return Some((ip, IpAddr::from(bytes)));
            }
            _ => return None,
        }
    }
}

fn same_network(a: IpAddr, b: IpAddr, len: u8) -> bool {
    let differ = match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => u128::from(u32::from(a) ^ u32::from(b)) << 96,
        (IpAddr::V6(a), IpAddr::V6(b)) => u128::from(a) ^ u128::from(b),
        _ => return false,
    };
    len == 0 || differ >> (128 - u32::from(len.min(128))) == 0
}

/// One hop less to live. IPv4's checksum follows by RFC 1624's equation 3.
fn age(ip: &mut [u8]) {
    if ip[0] >> 4 == 6 {
        ip[7] = ip[7].saturating_sub(1);
        return;
    }
    if ip[8] == 0 {
        return;
    }
    ip[8] -= 1;
    let sum = u32::from(u16::from_be_bytes([ip[10], ip[11]])) + 0x0100;
    let folded = (sum & 0xffff) + (sum >> 16);
    ip[10..12].copy_from_slice(&(folded as u16).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_buffer_drops_and_a_free_one_spaces_by_capacity() {
        let model = RouterModel {
            capacity: Some(Pps::new(1_000_000)),
            buffer: 2,
            latency: Nanos(10),
            ports: Vec::new(),
        };
        let mut router = Router::new(model);
        let mut serve = |now| router.serve(Nanos(now)).map(|n| n.0);
        assert_eq!([serve(0), serve(0), serve(0), serve(0)], [Some(1_010), Some(2_010), Some(3_010), None]);
        assert_eq!([serve(1_000), serve(1_000)], [Some(4_010), None]);
        assert_eq!(serve(100_000), Some(101_010));
    }

    #[test]
    fn ageing_keeps_the_checksum_right() {
        // RFC 1071's way of checking: the sum over a right header is all ones.
        let mut ip = vec![0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 1, 1];
        let sum = |ip: &[u8]| {
            let mut sum: u32 = ip.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
            while sum > 0xffff {
                sum = (sum & 0xffff) + (sum >> 16);
            }
            sum as u16
        };
        let checksum = !sum(&ip);
        ip[10..12].copy_from_slice(&checksum.to_be_bytes());
        for _ in 0..64 {
            age(&mut ip);
            assert_eq!(sum(&ip), 0xffff);
        }
        assert_eq!(ip[8], 0);
    }
}
