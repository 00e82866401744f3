//! The agents of a port: when each sends, and whom the port knows.

use super::message::{Advert, ETHERTYPE, LldpMessage, is_group};
use crate::frame::{Link, Mac, Packet, Received};
use std::collections::{BTreeMap, BTreeSet};
use units::Nanos;

/// Neighbours that are kept, at most.
pub const NEIGHBOURS_MAX: usize = 1_024;
/// LLDPDUs of one call.
const AT_ONCE: usize = 64;
/// Number of LLDPDUs that an agent sends one after another once a neighbour is new (IEEE 802.1AB clause 9.2.5.22), and
/// their interval.
const FAST: u8 = 4;
const FAST_INTERVAL: Nanos = Nanos::from_secs(1);

/// Agents and their interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LldpConfig {
    /// The agents: hardware address and advertisement of each. LLDP distinguishes them by chassis and port.
    pub agents: Vec<(Mac, Advert)>,
    /// From one LLDPDU to the next.
    pub interval: Nanos,
    /// Time to live of advertised data, s.
    pub ttl_s: u16,
}

/// Time to live for `hold` intervals, s (IEEE 802.1AB clause 9.2.5.23).
pub fn lldp_ttl_s(interval: Nanos, hold: u32) -> u16 {
    let ttl = interval.0.div_ceil(1_000_000_000).saturating_mul(hold.into()).saturating_add(1);
    ttl.min(u16::MAX.into()) as u16
}

/// Counters of sent and received LLDPDUs (IEEE 802.1AB clause 9.2.6).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LldpCounts {
    /// LLDPDUs sent, those that take back among them.
    pub sent: u64,
    /// LLDPDUs received.
    pub received: u64,
    /// Those that are malformed.
    pub malformed: u64,
    /// Those of neighbours there was no room for.
    pub no_room: u64,
    /// TLVs that were passed over: too short, or there twice.
    pub tlvs_discarded: u64,
    /// TLVs of unassigned types.
    pub tlvs_unknown: u64,
    /// Neighbours that were new.
    pub learnt: u64,
    /// Neighbours that sent a shutdown LLDPDU.
    pub left: u64,
    /// Neighbours whose TTL expired.
    pub aged_out: u64,
}

/// A neighbour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LldpNeighbour {
    /// Hardware address its last LLDPDU came from.
    pub mac: Mac,
    /// When it was new.
    pub first: Nanos,
    /// When its last LLDPDU came.
    pub last: Nanos,
    /// Its content.
    pub message: LldpMessage,
}

/// Agents of a port, and its neighbours.
#[derive(Debug)]
pub struct LldpAgents {
    config: LldpConfig,
    /// Of each agent, LLDPDUs still to send fast, and when the next one is due.
    paces: Vec<(u8, Nanos)>,
    timers: BTreeSet<(Nanos, u32)>,
    /// By chassis and port.
    neighbours: BTreeMap<Key, (LldpNeighbour, Nanos)>,
    /// When each is forgotten.
    ages: BTreeSet<(Nanos, Key)>,
    counts: LldpCounts,
    /// Agents that send their shutdown LLDPDUs, from this one on.
    leaving: Option<usize>,
}

/// Identity of a neighbour: subtype and value of chassis and port (IEEE 802.1AB clause 8.5.1).
type Key = (u8, Vec<u8>, u8, Vec<u8>);

impl LldpAgents {
    /// Agents that send as soon as they can.
    pub fn new(config: LldpConfig) -> Self {
        let count = config.agents.len();
        Self {
            paces: vec![(0, Nanos::ZERO); count],
            timers: (0..count as u32).map(|agent| (Nanos::ZERO, agent)).collect(),
            neighbours: BTreeMap::new(),
            ages: BTreeSet::new(),
            counts: LldpCounts::default(),
            leaving: None,
            config,
        }
    }

    /// Adds the frames that are due, some at a time, and forgets neighbours whose time is over.
    pub fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        while self.ages.first().is_some_and(|(at, _)| *at <= now) {
            let oldest = self.ages.pop_first();
            self.counts.aged_out +=
                u64::from(oldest.is_some_and(|(_, key)| self.neighbours.remove(&key).is_some()));
        }
        for _ in 0..AT_ONCE {
            if let Some(agent) = self.leaving {
                if agent == self.config.agents.len() {
                    return;
                }
                self.leaving = Some(agent + 1);
                frames.push(self.frame(agent, 0));
                continue;
            }
            let Some(agent) = self.timers.first().filter(|(at, _)| *at <= now).map(|(_, agent)| *agent)
            else {
                return;
            };
            let fast = self.paces[agent as usize].0;
            let interval =
                if fast > 0 { FAST_INTERVAL.min(self.config.interval) } else { self.config.interval };
            self.set(agent, fast.saturating_sub(1), now.saturating_add(interval));
            frames.push(self.frame(agent as usize, self.config.ttl_s));
        }
    }

    /// When there is something to do; [`Nanos::MAX`] if only a frame can bring it.
    pub fn next_due(&self) -> Nanos {
        let age = self.ages.first().map_or(Nanos::MAX, |(at, _)| *at);
        let timer = match self.leaving {
            Some(agent) if agent < self.config.agents.len() => Nanos::ZERO,
            Some(_) => Nanos::MAX,
            None => self.timers.first().map_or(Nanos::MAX, |(at, _)| *at),
        };
        age.min(timer)
    }

    /// Looks at a received frame; returns whether it was an LLDPDU of a neighbour.
    pub fn take(&mut self, now: Nanos, frame: &[u8]) -> bool {
        let Some(Received { from, vlans, packet: Packet::Direct { kind: ETHERTYPE, to, message } }) =
            Received::read(frame)
        else {
            return false;
        };
        if !is_group(to) || !vlans.is_empty() || self.config.agents.iter().any(|(mac, _)| *mac == from) {
            return false;
        }
        if self.is_down() {
            return true;
        }
        self.counts.received += 1;
        let Some(message) = LldpMessage::read(message) else {
            self.counts.malformed += 1;
            return true;
        };
        self.counts.tlvs_discarded += message.discarded;
        self.counts.tlvs_unknown += message.unknown;
        self.learn(now, from, message);
        true
    }

    /// Whether every agent has sent, or is not to.
    pub fn has_sent(&self) -> bool {
        self.is_down() || self.timers.first().is_none_or(|(at, _)| *at > Nanos::ZERO)
    }

    /// Sends shutdown LLDPDUs, and removes the neighbours (IEEE 802.1AB clause 9.2.5.1, `disabled`); done when
    /// [`has_left`](Self::has_left).
    pub fn leave(&mut self) {
        self.leaving.get_or_insert(0);
        self.neighbours.clear();
        self.ages.clear();
    }

    /// Speaks again after [`leave`](Self::leave).
    pub fn come_back(&mut self, now: Nanos) {
        if self.leaving.take().is_some() {
            (0..self.paces.len() as u32).for_each(|agent| self.set(agent, 0, now));
        }
    }

    /// Whether it was requested to leave, and not to return.
    pub fn is_down(&self) -> bool {
        self.leaving.is_some()
    }

    /// Whether all agents have sent their shutdown LLDPDUs.
    pub fn has_left(&self) -> bool {
        self.leaving == Some(self.config.agents.len())
    }

    /// Known neighbours, by chassis and port.
    pub fn neighbours(&self) -> impl Iterator<Item = &LldpNeighbour> {
        self.neighbours.values().map(|(neighbour, _)| neighbour)
    }

    /// Counters of sent and received LLDPDUs.
    pub fn counts(&self) -> &LldpCounts {
        &self.counts
    }

    /// The agents.
    pub fn config(&self) -> &LldpConfig {
        &self.config
    }

    fn frame(&mut self, agent: usize, ttl_s: u16) -> Vec<u8> {
        self.counts.sent += 1;
        let (mac, advert) = &self.config.agents[agent];
        Link::lldp(*mac, &advert.write(*mac, ttl_s))
    }

    fn learn(&mut self, now: Nanos, mac: Mac, message: LldpMessage) {
        let (chassis, port) = (&message.chassis, &message.port);
        let key: Key = (chassis.subtype, chassis.value.clone(), port.subtype, port.value.clone());
        let known = self.neighbours.get(&key).map(|(neighbour, until)| (neighbour.first, *until));
        if let Some((_, until)) = known {
            self.ages.remove(&(until, key.clone()));
        }
        if message.is_shutdown() {
            self.counts.left += u64::from(self.neighbours.remove(&key).is_some());
            return;
        }
        if known.is_none() && self.neighbours.len() >= NEIGHBOURS_MAX {
            self.counts.no_room += 1;
            return;
        }
        let until = now.saturating_add(Nanos::from_secs(message.ttl_s.into()));
        let first = known.map_or(now, |(first, _)| first);
        self.ages.insert((until, key.clone()));
        self.neighbours.insert(key, (LldpNeighbour { mac, first, last: now, message }, until));
        if known.is_none() {
            self.counts.learnt += 1;
            self.hurry(now);
        }
    }

    /// Announces the agent to a new neighbour.
    fn hurry(&mut self, now: Nanos) {
        for agent in 0..self.paces.len() as u32 {
            let (fast, due) = self.paces[agent as usize];
            if fast == 0 {
                self.set(agent, FAST, due.min(now));
            }
        }
    }

    /// Changes how an agent sends, and when the next time.
    fn set(&mut self, agent: u32, fast: u8, due: Nanos) {
        let pace = &mut self.paces[agent as usize];
        self.timers.remove(&(pace.1, agent));
        *pace = (fast, due);
        self.timers.insert((due, agent));
    }
}

#[cfg(test)]
mod tests;
