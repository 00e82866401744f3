//! A load balancer of TCP connections whose rules are known: it rewrites the destination of packets from clients to one of
//! its backends, and the source of what comes back.
//!
//! It is before the device. It checks no backend. Its table outlives the topologies it is in.
//!
//! Not here: UDP, fragments, IPv6. Other packets pass unchanged.

use crate::nat::{address, port, rewrite_address};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};

/// Which backend a new connection comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BalancerRule {
    /// Each in turn.
    Turn,
    /// The client's address decides: its last byte modulo the number of backends.
    Source,
}

/// A balancer's rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BalancerModel {
    /// Index of the port to the clients.
    pub clients: usize,
    /// Address that clients connect to.
    pub address: Ipv4Addr,
    /// Backends; at least one.
    pub backends: Vec<Ipv4Addr>,
    /// The choice.
    pub rule: BalancerRule,
}

/// A balancer.
#[derive(Debug, Clone)]
pub struct Balancer(Arc<Mutex<Table>>);

#[derive(Debug)]
struct Table {
    model: BalancerModel,
    /// Backend of each connection, by the client's end.
    known: BTreeMap<(Ipv4Addr, u16), usize>,
    next: usize,
}

const TCP: u8 = 6;
/// Flags SYN and ACK, and their place in an IPv4 packet without options.
const SYN_ACK: u8 = 0x12;
const SYN: u8 = 0x02;
const FLAGS: usize = 20 + 13;

impl Balancer {
    /// With an empty table.
    pub fn new(model: BalancerModel) -> Self {
        Self(Arc::new(Mutex::new(Table { model, known: BTreeMap::new(), next: 0 })))
    }

    /// Connections that each backend got.
    pub fn chosen(&self) -> Vec<usize> {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |backend: usize| table.known.values().filter(|chosen| **chosen == backend).count();
        (0..table.model.backends.len()).map(of).collect()
    }

    /// Rewrites a frame from a port, in place; returns whether it is forwarded.
    pub(crate) fn translate(&self, from: usize, frame: &mut [u8]) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).translate(from, frame)
    }
}

impl Table {
    fn translate(&mut self, from: usize, frame: &mut [u8]) -> bool {
        let is_ipv4 = frame.get(12..14) == Some(&[8, 0]) && frame.len() >= 14 + 40;
        if !is_ipv4 || frame[14] != 0x45 || frame[14 + 9] != TCP {
            return true;
        }
        let ip = &mut frame[14..];
        if from != self.model.clients {
            if self.model.backends.contains(&address(ip, 12)) {
                rewrite_address(ip, 12, self.model.address);
            }
            return true;
        }
        if address(ip, 16) != self.model.address {
            return true;
        }
        let client = (address(ip, 12), port(ip, 20));
        if ip[FLAGS] & SYN_ACK == SYN {
            let count = self.model.backends.len();
            let chosen = match self.model.rule {
                BalancerRule::Turn => self.next % count,
                BalancerRule::Source => usize::from(client.0.octets()[3]) % count,
            };
            // A SYN that is repeated goes where the first one went.
            self.known.entry(client).or_insert_with(|| {
                self.next += 1;
                chosen
            });
        }
        let Some(chosen) = self.known.get(&client) else { return false };
        rewrite_address(ip, 16, self.model.backends[*chosen]);
        true
    }
}
