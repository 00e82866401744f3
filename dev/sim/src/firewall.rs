//! A firewall with a table of sessions: a limited number at a time, and of new ones a second.
//!
//! It is before the device and lets a packet pass or drops it. A TCP session begins with a SYN, any other with its
//! first packet; it ends with a reset, with the acknowledgement of both FINs, or after a time without packets.
//!
//! Not here: address translation, rules, and replies to refused packets: it sends nothing.

use std::collections::BTreeMap;
use units::{Nanos, Pps};

/// A firewall's limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirewallModel {
    /// Sessions it knows at a time; what would begin another is dropped.
    pub sessions: usize,
    /// Silence after which it forgets a session.
    pub timeout: Nanos,
    /// New sessions a second; what would begin more is dropped. `None` is any number.
    pub new_per_s: Option<Pps>,
}

const TCP: u8 = 6;
const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;
/// Sessions that may begin at once however slowly they may begin on average: a hundredth of a second's.
const BURST_SHARE: u64 = 100;

/// Both ends of a session, the smaller first: addresses and ports.
type Key = ([u8; 18], [u8; 18], u8);

#[derive(Debug, Clone, Copy)]
struct Known {
    heard: Nanos,
    /// Which ends have sent a FIN: a bit for each.
    finished: u8,
}

#[derive(Debug)]
pub(crate) struct Firewall {
    model: FirewallModel,
    table: BTreeMap<Key, Known>,
    /// When the next session may begin if none is in advance, ps.
    next_new: u128,
}

impl Firewall {
    pub(crate) fn new(model: FirewallModel) -> Self {
        Self { model, table: BTreeMap::new(), next_new: 0 }
    }

    /// Whether a frame may pass. Frames other than TCP or UDP may.
    pub(crate) fn passes(&mut self, now: Nanos, frame: &[u8]) -> bool {
        let Some(packet) = Packet::read(frame) else { return true };
        let timeout = self.model.timeout;
        let known = self.table.get_mut(&packet.key).filter(|known| now.since(known.heard) < timeout);
        let Some(known) = known else { return self.begins(now, &packet) };
        known.heard = now;
        let both = known.finished == 0b11;
        if packet.flags & FIN != 0 {
            known.finished |= if packet.is_first_end { 0b01 } else { 0b10 };
        }
        if packet.flags & RST != 0 || both && packet.flags & ACK != 0 {
            self.table.remove(&packet.key);
        }
        true
    }

    /// Notes a new session, if there may be one.
    fn begins(&mut self, now: Nanos, packet: &Packet) -> bool {
        self.table.remove(&packet.key);
        if packet.is_tcp && packet.flags & (SYN | ACK) != SYN {
            return false;
        }
        if self.table.len() >= self.model.sessions {
            let timeout = self.model.timeout;
            self.table.retain(|_, known| now.since(known.heard) < timeout);
        }
        if self.table.len() >= self.model.sessions || !self.is_slow_enough(now) {
            return false;
        }
        self.table.insert(packet.key, Known { heard: now, finished: 0 });
        true
    }

    /// A bucket of tokens, as an instant: each session puts it off by its share of a second.
    fn is_slow_enough(&mut self, now: Nanos) -> bool {
        let Some(rate) = self.model.new_per_s else { return true };
        let now = u128::from(now.0) * 1_000;
        let each = 1_000_000_000_000_000_000 / u128::from(rate.micro().max(1));
        let burst = each * u128::from((rate.micro() / 1_000_000 / BURST_SHARE).max(1));
        if self.next_new > now + burst {
            return false;
        }
        self.next_new = self.next_new.max(now) + each;
        true
    }
}

/// A packet as seen by a firewall.
struct Packet {
    key: Key,
    is_tcp: bool,
    flags: u8,
    /// Whether it is from the first end in the key.
    is_first_end: bool,
}

impl Packet {
    fn read(frame: &[u8]) -> Option<Self> {
        let mut at = 12;
        while matches!(frame.get(at..at + 2)?, [0x81, 0] | [0x88, 0xa8]) {
            at += 4;
        }
        let ip = frame.get(at + 2..)?;
        let (protocol, addresses, width, start) = match frame.get(at..at + 2)? {
            [8, 0] => (*ip.get(9)?, 12, 4, usize::from(ip.first()? & 15) * 4),
            [0x86, 0xdd] => (*ip.get(6)?, 8, 16, 40),
            _ => return None,
        };
        if protocol != TCP && protocol != 17 {
            return None;
        }
        let end = |number: usize| {
            let mut end = [0; 18];
            end[..width].copy_from_slice(ip.get(addresses + number * width..)?.get(..width)?);
            end[16..].copy_from_slice(ip.get(start + 2 * number..)?.get(..2)?);
            Some(end)
        };
        let (from, to) = (end(0)?, end(1)?);
        let is_first_end = from <= to;
        let key = if is_first_end { (from, to, protocol) } else { (to, from, protocol) };
        let flags = if protocol == TCP { *ip.get(start + 13)? } else { 0 };
        Some(Self { key, is_tcp: protocol == TCP, flags, is_first_end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A TCP segment over IPv4 from or to a client's port.
    fn segment(port: u16, forth: bool, flags: u8) -> Vec<u8> {
        let mut frame = vec![0; 54];
        frame[12..15].copy_from_slice(&[8, 0, 0x45]);
        frame[23] = TCP;
        let ends = [([10, 0, 0, 1], port), ([10, 0, 0, 2], 80)];
        let (from, to) = if forth { (0, 1) } else { (1, 0) };
        for (place, (address, port)) in [(0, ends[from]), (1, ends[to])] {
            frame[26 + 4 * place..30 + 4 * place].copy_from_slice(&address);
            frame[34 + 2 * place..36 + 2 * place].copy_from_slice(&port.to_be_bytes());
        }
        frame[47] = flags;
        frame
    }

    fn model(sessions: usize, new_per_s: Option<Pps>) -> FirewallModel {
        FirewallModel { sessions, timeout: Nanos::from_secs(10), new_per_s }
    }

    #[test]
    fn a_full_table_takes_no_more_until_a_session_ends() {
        let mut firewall = Firewall::new(model(2, None));
        let mut passes = |port, forth, flags| firewall.passes(Nanos(1), &segment(port, forth, flags));
        assert!(passes(1, true, SYN) && passes(1, false, SYN | ACK) && passes(2, true, SYN));
        assert!(!passes(3, true, SYN) && !passes(4, true, ACK));
        assert!(passes(1, true, FIN | ACK) && passes(1, false, FIN | ACK) && !passes(3, true, SYN));
        assert!(passes(1, true, ACK) && passes(3, true, SYN) && !passes(1, true, ACK));
        assert!(passes(2, false, RST) && passes(4, true, SYN));
    }

    #[test]
    fn silence_is_forgotten() {
        let mut firewall = Firewall::new(model(1, None));
        assert!(firewall.passes(Nanos(0), &segment(1, true, SYN)));
        assert!(!firewall.passes(Nanos::from_secs(9), &segment(2, true, SYN)));
        assert!(firewall.passes(Nanos::from_secs(10), &segment(2, true, SYN)));
        assert!(!firewall.passes(Nanos::from_secs(10), &segment(1, false, ACK)));
    }

    #[test]
    fn sessions_begin_at_a_rate() {
        let mut firewall = Firewall::new(model(1_000_000, Some(Pps::new(500))));
        let begun = (0..10_000u64)
            .filter(|n| firewall.passes(Nanos(n * 1_000_000), &segment((n % 60_000) as u16 + 1, true, SYN)));
        let begun = begun.count();
        assert!((5_000..=5_006).contains(&begun), "{begun}");
    }
}
