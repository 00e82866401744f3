//! Packets whose fragments arrive one by one.

use crate::piece::Key;
use crate::{Fragment, IPV6, put, put_header_sum};
use std::collections::BTreeMap;
use units::Nanos;

/// Overhead of a fragment, bytes.
const BESIDE: usize = 64;

/// Limits of what may wait for its other fragments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Packets.
    pub packets: usize,
    /// Bytes of memory, about.
    pub bytes: usize,
    /// Since a packet's first fragment arrived.
    pub time: Nanos,
}

impl Default for Limits {
    /// 1,024 packets, 4 MiB, and the 30 seconds that Linux waits.
    fn default() -> Self {
        Self { packets: 1024, bytes: 4 << 20, time: Nanos::from_secs(30) }
    }
}

/// Counters of fragments. Sums of two cover both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FragmentCounts {
    /// Fragments taken in.
    pub received: u64,
    /// Packets reassembled.
    pub reassembled: u64,
    /// Packets discarded because fragments were missing when their time was over.
    pub timed_out: u64,
    /// Packets discarded to make room for newer ones.
    pub gave_way: u64,
    /// Packets discarded because fragments overlapped (RFC 5722).
    pub overlapped: u64,
    /// Fragments with an impossible length.
    pub malformed: u64,
}

impl FragmentCounts {
    /// Adds another worker's.
    pub fn merge(&mut self, other: &Self) {
        self.received += other.received;
        self.reassembled += other.reassembled;
        self.timed_out += other.timed_out;
        self.gave_way += other.gave_way;
        self.overlapped += other.overlapped;
        self.malformed += other.malformed;
    }

    /// Each with its name.
    pub fn each(&self) -> [(&'static str, u64); 6] {
        [
            ("received", self.received),
            ("reassembled", self.reassembled),
            ("timed_out", self.timed_out),
            ("gave_way", self.gave_way),
            ("overlapped", self.overlapped),
            ("malformed", self.malformed),
        ]
    }
}

/// Headers, where IP begins in them, and what to put where an IPv6 fragment header was named.
type Head = (Vec<u8>, usize, Option<(usize, u8)>);

/// Received part of a packet.
#[derive(Debug)]
struct Packet {
    serial: u64,
    /// In order, none over another.
    pieces: Vec<(usize, Vec<u8>)>,
    /// Bytes of them.
    got: usize,
    /// Bytes of all, once the last one is there.
    end: Option<usize>,
    /// Of the first one.
    head: Option<Head>,
    /// Fragments overlapped: further ones are discarded.
    is_spoilt: bool,
}

/// Relation of a fragment to those already there.
enum Fit {
    At(usize),
    /// It is there already.
    Twice,
    Overlaps,
}

impl Packet {
    fn fit(&self, fragment: &Fragment<'_>) -> Fit {
        let (start, end) = (fragment.start, fragment.end());
        let beyond = self.end.is_some_and(|all| end > all || (!fragment.more && end != all));
        let last = self.pieces.last().map_or(0, |(start, body)| start + body.len());
        if beyond || (!fragment.more && last > end) {
            return Fit::Overlaps;
        }
        let at = self.pieces.partition_point(|(before, _)| *before < start);
        if self.pieces.get(at).is_some_and(|(same, body)| *same == start && body == fragment.body) {
            return Fit::Twice;
        }
        let before = at.checked_sub(1).map(|before| &self.pieces[before]);
        let overlaps = before.is_some_and(|(before, body)| before + body.len() > start)
            || self.pieces.get(at).is_some_and(|(next, _)| *next < end);
        if overlaps { Fit::Overlaps } else { Fit::At(at) }
    }

    fn add(&mut self, at: usize, fragment: &Fragment<'_>) {
        self.pieces.insert(at, (fragment.start, fragment.body.to_vec()));
        self.got += fragment.body.len();
        if !fragment.more {
            self.end = Some(fragment.end());
        }
        if fragment.start == 0 {
            self.head = Some((fragment.head.to_vec(), fragment.ip, fragment.next_header));
        }
    }

    fn is_whole(&self) -> bool {
        self.end == Some(self.got) && self.head.is_some()
    }

    /// The frame with the packet; `None` if that is too long for its headers.
    fn frame(&self) -> Option<Vec<u8>> {
        let (head, ip, next_header) = self.head.as_ref()?;
        let mut frame = head.clone();
        self.pieces.iter().for_each(|(_, body)| frame.extend_from_slice(body));
        let len = frame.len() - ip;
        match *next_header {
            Some((at, protocol)) => {
                frame[at] = protocol;
                let len = u16::try_from(len - IPV6).ok()?;
                put(&mut frame, ip + 4, len);
            }
            None => {
                put(&mut frame, ip + 2, u16::try_from(len).ok()?);
                put(&mut frame, ip + 6, 0);
                put_header_sum(&mut frame[*ip..head.len()]);
            }
        }
        Some(frame)
    }

    /// Memory it takes.
    fn bytes(&self) -> usize {
        self.got + BESIDE * (self.pieces.len() + 1)
    }
}

/// Puts packets together from their fragments.
#[derive(Debug, Default)]
pub struct Reassembler {
    limits: Limits,
    packets: BTreeMap<Key, Packet>,
    /// The packets by age, with the instants at which their time is over.
    ages: BTreeMap<u64, (Nanos, Key)>,
    serial: u64,
    bytes: usize,
    counts: FragmentCounts,
}

impl Reassembler {
    /// One with nothing in it.
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Takes a fragment; returns the frame with the whole packet if it was the last one missing.
    pub fn take(&mut self, now: Nanos, fragment: &Fragment<'_>) -> Option<Vec<u8>> {
        self.expire(now);
        self.counts.received += 1;
        if fragment.body.is_empty() || fragment.is_cut_odd() || fragment.is_beyond_the_end() {
            self.counts.malformed += 1;
            return None;
        }
        if !self.packets.contains_key(&fragment.key) {
            self.begin(now, &fragment.key);
        }
        let packet = self.packets.get_mut(&fragment.key)?;
        if packet.is_spoilt {
            return None;
        }
        let before = packet.bytes();
        match packet.fit(fragment) {
            Fit::Twice => {}
            Fit::At(at) => packet.add(at, fragment),
            Fit::Overlaps => {
                let serial = packet.serial;
                *packet = Packet::new(serial);
                packet.is_spoilt = true;
                self.counts.overlapped += 1;
            }
        }
        self.bytes = self.bytes + packet.bytes() - before;
        if packet.is_whole() {
            let frame = packet.frame();
            self.forget(&fragment.key);
            self.counts.reassembled += u64::from(frame.is_some());
            self.counts.malformed += u64::from(frame.is_none());
            return frame;
        }
        self.make_room(0);
        None
    }

    /// Gives up what has waited for too long.
    pub fn expire(&mut self, now: Nanos) {
        while let Some((_, (until, _))) = self.ages.first_key_value()
            && *until <= now
        {
            self.counts.timed_out += u64::from(self.drop_oldest());
        }
    }

    /// Gives up all that waits: nothing more will come.
    pub fn finish(&mut self) {
        self.expire(Nanos::MAX);
    }

    /// Takes out what was counted since the last call.
    pub fn take_counts(&mut self) -> FragmentCounts {
        std::mem::take(&mut self.counts)
    }

    /// Packets that wait for fragments, and the memory they take, bytes.
    pub fn waiting(&self) -> (usize, usize) {
        (self.packets.len(), self.bytes)
    }

    fn begin(&mut self, now: Nanos, key: &Key) {
        self.make_room(1);
        let packet = Packet::new(self.serial);
        self.bytes += packet.bytes();
        self.packets.insert(key.clone(), packet);
        self.ages.insert(self.serial, (now.saturating_add(self.limits.time), key.clone()));
        self.serial += 1;
    }

    /// Drops the oldest until the limits are kept with `more` packets.
    fn make_room(&mut self, more: usize) {
        while !self.ages.is_empty()
            && (self.packets.len() + more > self.limits.packets || self.bytes > self.limits.bytes)
        {
            self.counts.gave_way += u64::from(self.drop_oldest());
        }
    }

    /// Drops the oldest packet; whether it was not discarded before.
    fn drop_oldest(&mut self) -> bool {
        let Some((_, (_, key))) = self.ages.pop_first() else { return false };
        let Some(packet) = self.packets.remove(&key) else { return false };
        self.bytes -= packet.bytes();
        !packet.is_spoilt
    }

    fn forget(&mut self, key: &Key) {
        if let Some(packet) = self.packets.remove(key) {
            self.bytes -= packet.bytes();
            self.ages.remove(&packet.serial);
        }
    }
}

impl Packet {
    fn new(serial: u64) -> Self {
        Self { serial, pieces: Vec::new(), got: 0, end: None, head: None, is_spoilt: false }
    }
}

#[cfg(test)]
mod tests;
