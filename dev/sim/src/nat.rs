//! An address translator (NAT44) of UDP whose rules are known.
//!
//! It is before the device: a packet from inside leaves with an outside endpoint, and a packet from outside to one of its
//! addresses goes to the owner of the mapping, or nowhere. ICMP errors about packets of a mapping are translated with the
//! packet in them. Its table outlives the topologies it is in: each begins where the one before ended.
//!
//! Not here: TCP, fragments, IPv6. Other packets pass unchanged.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use units::Nanos;

/// Dependence of a mapping or a filter, besides the inside endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NatKey {
    /// Nothing.
    Endpoint,
    /// The other end's address.
    Address,
    /// The other end's address and port.
    AddressAndPort,
}

/// Which outside port a mapping has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NatPorts {
    /// The inside one, or the next that is free.
    Preserved,
    /// By chance.
    Random,
    /// The one after that of the mapping before.
    Sequential,
    /// By chance within the inside address's block of this size.
    Blocks(u16),
}

/// A translator's rules.
#[derive(Debug, Clone, PartialEq)]
pub struct NatModel {
    /// Index of the port to the inside.
    pub inside: usize,
    /// Outside addresses; an inside address keeps to one.
    pub pool: Vec<Ipv4Addr>,
    /// Dependence of mappings.
    pub maps: NatKey,
    /// Dependence of filters.
    pub filters: NatKey,
    /// Which ports mappings have.
    pub ports: NatPorts,
    /// Lowest and highest outside port.
    pub range: (u16, u16),
    /// Mappings it knows at a time.
    pub sessions: usize,
    /// Silence after which it forgets a mapping.
    pub timeout: Nanos,
    /// Whether packets from inside to its own outside endpoints come back.
    pub hairpins: bool,
    /// Seed of all chance.
    pub seed: u64,
}

/// A translator.
#[derive(Debug, Clone)]
pub struct Nat(Arc<Mutex<Table>>);

type End = (Ipv4Addr, u16);
type MapKey = (End, Option<Ipv4Addr>, Option<u16>);

#[derive(Debug, Clone)]
struct Entry {
    key: MapKey,
    /// Remote endpoints that the inside has sent to.
    remotes: BTreeSet<End>,
    used: Nanos,
}

#[derive(Debug)]
struct Table {
    model: NatModel,
    known: BTreeMap<MapKey, End>,
    /// By outside endpoint.
    entries: BTreeMap<End, Entry>,
    drawn: u64,
    next: u16,
    /// When the present topology began, and the last instant in it.
    base: Nanos,
    latest: Nanos,
}

const UDP: u8 = 17;
const ICMP: u8 = 1;
/// Attempts at a free port.
const DRAWS: u32 = 100_000;

impl Nat {
    /// With an empty table.
    pub fn new(model: NatModel) -> Self {
        let next = model.range.0;
        let (known, entries) = Default::default();
        Self(Arc::new(Mutex::new(Table {
            model,
            known,
            entries,
            drawn: 0,
            next,
            base: Nanos::ZERO,
            latest: Nanos::ZERO,
        })))
    }

    /// Forgets all mappings.
    pub fn clear(&self) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.known.clear();
        table.entries.clear();
    }

    /// Translates a frame from a port, in place; returns whether it is forwarded.
    pub(crate) fn translate(&self, from: usize, at: Nanos, frame: &mut [u8]) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).translate(from, at, frame)
    }
}

impl Table {
    fn translate(&mut self, from: usize, at: Nanos, frame: &mut [u8]) -> bool {
        // Time goes back where a topology begins.
        if at < self.latest {
            self.base = self.base.saturating_add(self.latest);
        }
        self.latest = at;
        let now = self.base.saturating_add(at);
        let is_ipv4 = frame.get(12..14) == Some(&[8, 0]) && frame.len() >= 14 + 20 + 8;
        if !is_ipv4 || frame[14] != 0x45 {
            return true;
        }
        let ip = &mut frame[14..];
        let is_to_pool = self.model.pool.contains(&address(ip, 16));
        match (ip[9], from == self.model.inside) {
            (UDP, true) => {
                if is_to_pool && !self.model.hairpins {
                    return false;
                }
                let Some(outside) =
                    self.outward(now, (address(ip, 12), port(ip, 20)), (address(ip, 16), port(ip, 22)))
                else {
                    return false;
                };
                let remote = (address(ip, 16), port(ip, 22));
                rewrite(ip, 12, 20, outside);
                if !is_to_pool {
                    return true;
                }
                let Some(inside) = self.inward(now, remote, outside) else { return false };
                rewrite(ip, 16, 22, inside);
                true
            }
            (UDP, false) if is_to_pool => {
                let (outside, remote) = ((address(ip, 16), port(ip, 22)), (address(ip, 12), port(ip, 20)));
                let Some(inside) = self.inward(now, outside, remote) else { return false };
                rewrite(ip, 16, 22, inside);
                true
            }
            (ICMP, false) if is_to_pool => self.error(now, ip),
            _ => true,
        }
    }

    fn key(by: NatKey, inside: End, remote: End) -> MapKey {
        match by {
            NatKey::Endpoint => (inside, None, None),
            NatKey::Address => (inside, Some(remote.0), None),
            NatKey::AddressAndPort => (inside, Some(remote.0), Some(remote.1)),
        }
    }

    /// The entry of an outside endpoint that is not forgotten.
    fn entry(&mut self, now: Nanos, outside: End) -> Option<&mut Entry> {
        let timeout = self.model.timeout;
        let is_old = self.entries.get(&outside).is_some_and(|entry| now.since(entry.used) >= timeout);
        if is_old && let Some(entry) = self.entries.remove(&outside) {
            self.known.remove(&entry.key);
        }
        self.entries.get_mut(&outside)
    }

    /// The outside endpoint of a packet from inside; `None`: there is no room for its mapping.
    fn outward(&mut self, now: Nanos, inside: End, remote: End) -> Option<End> {
        let key = Self::key(self.model.maps, inside, remote);
        if let Some(outside) = self.known.get(&key).copied()
            && let Some(entry) = self.entry(now, outside)
        {
            entry.used = now;
            entry.remotes.insert(remote);
            return Some(outside);
        }
        if self.entries.len() >= self.model.sessions {
            let old: Vec<End> = self.entries.keys().copied().collect();
            for outside in old {
                self.entry(now, outside);
            }
        }
        if self.entries.len() >= self.model.sessions {
            return None;
        }
        let mut draws = 0..DRAWS;
        let outside = loop {
            let chosen = self.choose(inside, draws.next()?);
            if !self.entries.contains_key(&chosen) {
                break chosen;
            }
        };
        self.known.insert(key, outside);
        self.entries.insert(outside, Entry { key, remotes: [remote].into(), used: now });
        Some(outside)
    }

    fn choose(&mut self, inside: End, draw: u32) -> End {
        let address = self.model.pool[u32::from(inside.0) as usize % self.model.pool.len()];
        let (low, high) = self.model.range;
        self.drawn += 1;
        let word = random::word(random::key(self.model.seed), self.drawn);
        let within = |first: u16, last: u16| first + random::below(word, u64::from(last - first) + 1) as u16;
        let port = match self.model.ports {
            NatPorts::Preserved if draw == 0 => inside.1,
            NatPorts::Preserved | NatPorts::Random => within(low, high),
            NatPorts::Sequential => {
                self.next = if self.next >= high { low } else { self.next + 1 };
                self.next
            }
            NatPorts::Blocks(size) => {
                let first = low.saturating_add(u16::from(inside.0.octets()[3]).saturating_mul(size));
                within(first, first.saturating_add(size - 1))
            }
        };
        (address, port)
    }

    /// Inside endpoint of a packet to an outside endpoint, if the filter lets it in.
    fn inward(&mut self, now: Nanos, outside: End, remote: End) -> Option<End> {
        let filters = self.model.filters;
        let entry = self.entry(now, outside)?;
        let passes = match filters {
            NatKey::Endpoint => true,
            NatKey::Address => entry.remotes.iter().any(|known| known.0 == remote.0),
            NatKey::AddressAndPort => entry.remotes.contains(&remote),
        };
        passes.then_some(entry.key.0)
    }

    /// An ICMP error about a packet that left from an outside endpoint.
    fn error(&mut self, now: Nanos, ip: &mut [u8]) -> bool {
        const INNER: usize = 28;
        let is_error = ip[20] == 3 && ip.len() >= INNER + 28 && ip[INNER] == 0x45 && ip[INNER + 9] == UDP;
        if !is_error {
            return false;
        }
        let outside = (address(ip, INNER + 12), port(ip, INNER + 20));
        let Some(inside) = self.entry(now, outside).map(|entry| entry.key.0) else { return false };
        // The inner packet's IP checksum, and that of UDP, change with it; the error's covers all.
        let inner = &mut ip[INNER..];
        rewrite(inner, 12, 20, inside);
        ip[16..20].copy_from_slice(&inside.0.octets());
        let length = usize::from(u16::from_be_bytes([ip[2], ip[3]])).min(ip.len());
        checksum_at(&mut ip[..20], 10);
        checksum_at(&mut ip[20..length], 2);
        true
    }
}

pub(crate) fn address(ip: &[u8], at: usize) -> Ipv4Addr {
    Ipv4Addr::new(ip[at], ip[at + 1], ip[at + 2], ip[at + 3])
}

pub(crate) fn port(ip: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([ip[at], ip[at + 1]])
}

/// Writes an endpoint into an IPv4 packet of UDP, and updates both checksums (RFC 1624 equation 3).
fn rewrite(ip: &mut [u8], address_at: usize, port_at: usize, end: End) {
    let mut new = [0; 6];
    new[..4].copy_from_slice(&end.0.octets());
    new[4..].copy_from_slice(&end.1.to_be_bytes());
    let mut old = [0; 6];
    old[..4].copy_from_slice(&ip[address_at..address_at + 4]);
    old[4..].copy_from_slice(&ip[port_at..port_at + 2]);
    update(ip, 10, &old[..4], &new[..4]);
    // No checksum stays none.
    if port(ip, 26) != 0 {
        update(ip, 26, &old, &new);
    }
    ip[address_at..address_at + 4].copy_from_slice(&new[..4]);
    ip[port_at..port_at + 2].copy_from_slice(&new[4..]);
}

/// Writes an address into an IPv4 packet of TCP without options of IP, and updates both checksums.
pub(crate) fn rewrite_address(ip: &mut [u8], at: usize, new: Ipv4Addr) {
    const TCP_CHECKSUM: usize = 20 + 16;
    let old: [u8; 4] = [ip[at], ip[at + 1], ip[at + 2], ip[at + 3]];
    let new = new.octets();
    update(ip, 10, &old, &new);
    update(ip, TCP_CHECKSUM, &old, &new);
    ip[at..at + 4].copy_from_slice(&new);
}

fn update(bytes: &mut [u8], at: usize, old: &[u8], new: &[u8]) {
    let words = |bytes: &[u8]| {
        bytes.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).collect::<Vec<_>>()
    };
    let mut sum = u32::from(!port(bytes, at));
    words(old).into_iter().for_each(|word| sum += u32::from(!(word as u16)));
    words(new).into_iter().for_each(|word| sum += word);
    bytes[at..at + 2].copy_from_slice(&(!folded(sum)).to_be_bytes());
}

/// Computes the checksum of `bytes` and writes it.
fn checksum_at(bytes: &mut [u8], at: usize) {
    bytes[at..at + 2].fill(0);
    let sum =
        bytes.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0))).sum();
    bytes[at..at + 2].copy_from_slice(&(!folded(sum)).to_be_bytes());
}

fn folded(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> NatModel {
        NatModel {
            inside: 0,
            pool: vec![[192, 0, 2, 1].into()],
            maps: NatKey::Endpoint,
            filters: NatKey::AddressAndPort,
            ports: NatPorts::Random,
            range: (20_000, 20_999),
            sessions: 2,
            timeout: Nanos::from_secs(10),
            hairpins: true,
            seed: 1,
        }
    }

    fn frame(from: ([u8; 4], u16), to: ([u8; 4], u16)) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend([8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0]);
        frame.extend(from.0.iter().chain(&to.0));
        frame.extend(from.1.to_be_bytes().iter().chain(&to.1.to_be_bytes()).chain(&[0, 8, 0x12, 0x34]));
        checksum_at(&mut frame[14..34], 10);
        frame
    }

    fn ends(frame: &[u8]) -> [(Ipv4Addr, u16); 2] {
        let ip = &frame[14..];
        [(address(ip, 12), port(ip, 20)), (address(ip, 16), port(ip, 22))]
    }

    const INSIDE: ([u8; 4], u16) = ([10, 0, 0, 2], 1024);
    const REMOTE: ([u8; 4], u16) = ([10, 0, 1, 2], 9);

    #[test]
    fn packets_go_out_and_answers_come_back_until_the_time_out() {
        let nat = Nat::new(model());
        let mut out = frame(INSIDE, REMOTE);
        assert!(nat.translate(0, Nanos::from_secs(1), &mut out));
        let [outside, remote] = ends(&out);
        assert!(outside.0 == Ipv4Addr::new(192, 0, 2, 1) && (20_000..=20_999).contains(&outside.1));
        assert_eq!(remote, (REMOTE.0.into(), REMOTE.1));
        let header = out[14..34].to_vec();
        let mut again = header.clone();
        checksum_at(&mut again, 10);
        assert_eq!(again, header, "the header's checksum is right");
        let answer = frame(REMOTE, (outside.0.octets(), outside.1));
        let comes = |at| {
            let mut answer = answer.clone();
            nat.translate(1, at, &mut answer).then(|| ends(&answer)[1])
        };
        assert_eq!(comes(Nanos::from_secs(10)), Some((INSIDE.0.into(), INSIDE.1)));
        assert_eq!(comes(Nanos::from_secs(11)), None);
    }

    #[test]
    fn time_goes_on_in_the_next_topology() {
        let nat = Nat::new(model());
        let mut out = frame(INSIDE, REMOTE);
        assert!(nat.translate(0, Nanos::from_secs(8), &mut out));
        let outside = ends(&out)[0];
        let mut answer = frame(REMOTE, (outside.0.octets(), outside.1));
        // Eight seconds and one.
        assert!(nat.translate(1, Nanos::from_secs(1), &mut answer.clone()));
        assert!(!nat.translate(1, Nanos::from_secs(10), &mut answer));
    }

    #[test]
    fn a_full_table_takes_no_more() {
        let nat = Nat::new(model());
        let opens = |port| nat.translate(0, Nanos::from_secs(1), &mut frame((INSIDE.0, port), REMOTE));
        assert_eq!([opens(1), opens(2), opens(3), opens(2)], [true, true, false, true]);
        nat.clear();
        assert!(nat.translate(0, Nanos::from_secs(1), &mut frame((INSIDE.0, 3), REMOTE)));
    }

    #[test]
    fn what_is_not_translated_passes() {
        let nat = Nat::new(model());
        let mut arp = vec![0; 60];
        arp[12..14].copy_from_slice(&[8, 6]);
        let before = arp.clone();
        assert!(nat.translate(0, Nanos::from_secs(1), &mut arp) && arp == before);
        let mut other = frame(REMOTE, ([10, 0, 0, 2], 7));
        assert!(nat.translate(1, Nanos::from_secs(1), &mut other));
        assert_eq!(ends(&other)[1].1, 7);
    }
}
