//! From where to where sessions go: all pairs of a client's address and port and a server's address and port.
//!
//! Pairs are numbered; sequential pools go through the numbers, random ones through a permutation of them, so that no
//! pair comes again before all others have. Where both sides go in step, each goes round by itself: pairs are fewer, and none
//! comes again before all of those have, either. A worker passes over pairs that are not its own.

use crate::plan::{AddressRange, PoolPlan, PortBegin};
use crate::vary::{PairOrder, SelectionOrder};
use random::lcg;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

/// A client's end and a server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tuple {
    /// The client's address and port.
    pub client: SocketAddr,
    /// The server's address and port.
    pub server: SocketAddr,
    /// Which of the clients' hosts it is from.
    pub host: usize,
}

/// The pairs of one application of an entry.
#[derive(Debug, Clone)]
pub struct Pool {
    clients: Addresses,
    servers: Addresses,
    client_ports: RangeInclusive<u16>,
    begin: PortBegin,
    server_ports: RangeInclusive<u16>,
    order: Permutation,
    in_step: bool,
    /// Pairs in all; 0 if one end has no address.
    pairs: u128,
    /// Of each end its only address, if it has one: most pools, and soon gone through.
    single: Option<(Picked, Picked)>,
    next: u64,
}

/// Pairs that are tried in a row before [`Pool::next`] gives up.
const TRIES: u32 = 4096;

impl Pool {
    /// Pairs of `clients` and `servers`; `server_ports` replace the ports of `servers` if there are any.
    pub fn new(
        clients: &PoolPlan,
        servers: &PoolPlan,
        server_ports: Option<&RangeInclusive<u16>>,
        order: PairOrder,
    ) -> Self {
        let server_ports = server_ports.unwrap_or(&servers.ports).clone();
        let (of_clients, of_servers) =
            (Addresses::new(&clients.addresses), Addresses::new(&servers.addresses));
        let sides = [(&of_clients, &clients.ports), (&of_servers, &server_ports)];
        let [from, to] = sides.map(|(end, range)| end.turns.saturating_mul(ports(range).into()));
        let (in_step, order) = match order {
            PairOrder::All(order) => (false, order),
            PairOrder::InStep => (true, SelectionOrder::Sequential),
        };
        let pairs = if in_step { pairs_in_step(from, to) } else { from.saturating_mul(to) }.min(1 << 63);
        let single = of_clients.single().zip(of_servers.single()).filter(|_| !in_step);
        Self {
            single,
            clients: of_clients,
            servers: of_servers,
            client_ports: clients.ports.clone(),
            begin: clients.begin,
            server_ports,
            order: Permutation::new(order, pairs as u64),
            in_step,
            pairs,
            next: 0,
        }
    }

    /// Pairs in all, at most 2^63.
    pub fn pairs(&self) -> u64 {
        self.pairs as u64
    }

    /// Pair `number`; after the last they come again.
    ///
    /// The client's address changes fastest, then the server's address, the server's port, and the client's port. In step both
    /// addresses change with every pair, and each side's port when it has gone round.
    pub fn tuple(&self, number: u64) -> Option<Tuple> {
        if self.pairs == 0 {
            return None;
        }
        let number = self.order.apply(number % self.pairs as u64);
        if self.in_step {
            let (client, client_port) = self.clients.socket(number, &self.client_ports);
            let (server, server_port) = self.servers.socket(number, &self.server_ports);
            return Some(self.tuple_of(&client, &server, (client_port, server_port)));
        }
        if let Some((client, server)) = &self.single {
            let server_ports = ports(&self.server_ports);
            let ports = (number / server_ports, number % server_ports);
            return Some(self.tuple_of(client, server, ports));
        }
        let all_ports = u128::from(ports(&self.client_ports)) * u128::from(ports(&self.server_ports));
        let (rest, turn) = split(number.into(), self.clients.turns);
        let client = self.clients.pick(turn);
        let (rest, turn) = split(client.spread(rest, self.servers.turns * all_ports), self.servers.turns);
        let server = self.servers.pick(turn);
        let (rest, server_port) = split(server.spread(rest, all_ports), ports(&self.server_ports).into());
        let (_, client_port) = split(rest, ports(&self.client_ports).into());
        Some(self.tuple_of(&client, &server, (client_port as u64, server_port as u64)))
    }

    /// The pair of two addresses and the `client_port`-th and `server_port`-th of their ports.
    #[inline]
    fn tuple_of(&self, client: &Picked, server: &Picked, (client_port, server_port): (u64, u64)) -> Tuple {
        let client_port = match self.begin {
            PortBegin::First => client_port,
            PortBegin::Spread => {
                let all = ports(&self.client_ports).max(1);
                let drawn =
                    (client.number as u32).wrapping_mul(lcg::FACTOR).wrapping_add(lcg::ADDEND) & 0xffff;
                (u64::from(drawn) % (all - 1).max(1) + u64::from(all > 1) + client_port) % all
            }
        };
        let client_port = self.client_ports.start().wrapping_add(client_port as u16);
        let server_port = self.server_ports.start().wrapping_add(server_port as u16);
        Tuple {
            client: SocketAddr::new(client.ip, client_port),
            server: SocketAddr::new(server.ip, server_port),
            host: client.host,
        }
    }

    /// The next pair for which `owned` holds, and its number. Asked again after the last it begins anew, so pairs of
    /// sessions that are over are used again, the longest unused first. `None` if none of the next 4,096 is owned.
    pub fn next(&mut self, mut owned: impl FnMut(&Tuple) -> bool) -> Option<(u64, Tuple)> {
        for _ in 0..TRIES {
            let number = self.next;
            self.next = self.next.wrapping_add(1);
            let tuple = self.tuple(number)?;
            if owned(&tuple) {
                return Some((number, tuple));
            }
        }
        None
    }
}

/// Pairs of two sides in step until the first comes again: their least common multiple.
pub fn pairs_in_step(clients: u128, servers: u128) -> u128 {
    let (mut divisor, mut rest) = (clients, servers);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    clients.checked_div(divisor).map_or(0, |parts| parts.saturating_mul(servers))
}

fn ports(range: &RangeInclusive<u16>) -> u64 {
    u64::from(*range.end()).saturating_sub(u64::from(*range.start())) + u64::from(!range.is_empty())
}

/// Quotient and remainder.
#[inline]
fn split(number: u128, by: u128) -> (u128, u128) {
    let by = by.max(1);
    match (u64::try_from(number), u64::try_from(by)) {
        // Most pools are small, and so is the division.
        (Ok(number), Ok(by)) => ((number / by).into(), (number % by).into()),
        _ => (number / by, number % by),
    }
}

/// Addresses by weight: of each round of `turns`, every address has as many as its weight.
#[derive(Debug, Clone)]
struct Addresses {
    ranges: Vec<AddressRange>,
    /// Of range `i`: turns of it and those before.
    up_to: Vec<u128>,
    /// Addresses before range `i`.
    before: Vec<u64>,
    turns: u128,
}

fn bits(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => ip.to_bits().into(),
        IpAddr::V6(ip) => ip.to_bits(),
    }
}

impl Addresses {
    fn new(ranges: &[AddressRange]) -> Self {
        let (mut turns, mut addresses_before) = (0u128, 0u64);
        let before = ranges.iter().map(|range| {
            let addresses = bits(range.last).saturating_sub(bits(range.first)).saturating_add(1);
            let before = addresses_before;
            addresses_before = addresses_before.wrapping_add(addresses as u64);
            before
        });
        let before = before.collect();
        let up_to = ranges.iter().map(|range| {
            let addresses = bits(range.last).saturating_sub(bits(range.first)).saturating_add(1);
            turns = turns.saturating_add(addresses.min(1 << 63).saturating_mul(range.weight.into()));
            turns
        });
        Self { up_to: up_to.collect(), before, turns, ranges: ranges.to_vec() }
    }

    /// The only address, if there is but one turn.
    fn single(&self) -> Option<Picked> {
        (self.turns == 1).then(|| self.pick(0))
    }

    /// The address at a turn, and which of its `range` of ports; after all ports of all turns they come again.
    fn socket(&self, number: u64, range: &RangeInclusive<u16>) -> (Picked, u64) {
        let all = u128::from(ports(range));
        let (rest, turn) = split(number.into(), self.turns);
        let picked = self.pick(turn);
        let (_, port) = split(picked.spread(split(rest, all).1, all), all);
        (picked, port as u64)
    }

    /// The address of a turn below `turns`.
    fn pick(&self, turn: u128) -> Picked {
        let index = match self.ranges.len() {
            1 => 0,
            ranges => self.up_to.partition_point(|end| *end <= turn).min(ranges - 1),
        };
        let range = &self.ranges[index];
        let before = if index == 0 { 0 } else { self.up_to[index - 1] };
        let first = self.before[index];
        // All addresses of a range come once before they come again.
        let (time, place) = match range.weight {
            1 => (0, turn - before),
            _ => {
                let addresses = bits(range.last).saturating_sub(bits(range.first)).saturating_add(1);
                split(turn - before, addresses)
            }
        };
        let value = bits(range.first) + place;
        let ip = match range.first {
            IpAddr::V4(_) => IpAddr::V4((value as u32).into()),
            IpAddr::V6(_) => IpAddr::V6(value.into()),
        };
        let number = first.wrapping_add(place as u64);
        Picked { ip, number, time, weight: range.weight.into(), host: range.host }
    }
}

/// An address at one of its turns.
#[derive(Debug, Clone, Copy)]
struct Picked {
    ip: IpAddr,
    /// Its number among all addresses.
    number: u64,
    /// Which of the turns that a round has for it.
    time: u128,
    weight: u128,
    host: usize,
}

impl Picked {
    /// Partner in round `rest` of `all`: a different one at each turn.
    fn spread(&self, rest: u128, all: u128) -> u128 {
        if self.weight <= 1 { rest } else { (rest * self.weight + self.time) % all.max(1) }
    }
}

/// An order of the numbers below `count`.
#[derive(Debug, Clone, Copy)]
enum Permutation {
    Same,
    /// A Feistel network over the next larger even number of bits; what falls outside goes through it again.
    Mixed {
        key: u64,
        half_bits: u32,
        count: u64,
    },
}

impl Permutation {
    fn new(order: SelectionOrder, count: u64) -> Self {
        match order {
            SelectionOrder::Sequential => Self::Same,
            SelectionOrder::Random { .. } if count < 2 => Self::Same,
            SelectionOrder::Random { seed } => {
                let bits = 64 - (count - 1).leading_zeros();
                Self::Mixed { key: random::key(seed), half_bits: bits.div_ceil(2).max(1), count }
            }
        }
    }

    fn apply(self, number: u64) -> u64 {
        let Self::Mixed { key, half_bits, count } = self else { return number };
        let mask = (1u64 << half_bits) - 1;
        let mut value = number;
        loop {
            let (mut left, mut right) = (value >> half_bits & mask, value & mask);
            for round in 0..4u64 {
                let word = random::word(key ^ round << 60, right);
                (left, right) = (right, left ^ word >> 7 & mask);
            }
            value = left << half_bits | right;
            if value < count {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests;
