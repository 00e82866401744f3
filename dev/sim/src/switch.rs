//! A switch that learns, with a memory for frames that wait.
//!
//! A frame takes its length in the memory from its arrival until its last bit has left. It waits in the queue of the port that
//! it leaves by, or of the port that it came by: then what waits for a busy port blocks the frames behind it. Frames leave in
//! the order in which they came.
//!
//! Not here: priorities, pause frames.

use crate::device::Forward;
use crate::link::LinkModel;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use units::{FCS_BYTES, FrameLen, Nanos};

/// A switch that learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwitchModel {
    /// Addresses its table holds; what comes when it is full is not learnt.
    pub addresses: usize,
    /// Time a frame spends in it when nothing waits, besides the time in which it arrives.
    pub latency: Nanos,
    /// Where frames wait.
    pub memory: SwitchMemory,
    /// Whether a frame begins to leave when its first 64 bytes have arrived, between links of one speed, rather than all of it.
    pub cut_through: bool,
}

impl SwitchModel {
    /// With this number of addresses, and memory for all frames.
    pub fn learning(addresses: usize, latency: Nanos) -> Self {
        Self { addresses, latency, memory: SwitchMemory::UNLIMITED, cut_through: false }
    }
}

/// Memory for frames that wait. Lengths are with FCS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwitchMemory {
    /// Bytes of frames in all queues together, at most.
    pub total: u64,
    /// Bytes of frames in a queue, at most.
    pub queue: u64,
    /// Where the queues are.
    pub queues: SwitchQueues,
}

impl SwitchMemory {
    /// Whatever comes has room.
    pub const UNLIMITED: Self = Self { total: u64::MAX, queue: u64::MAX, queues: SwitchQueues::Output };
}

/// Where the queues of a switch are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwitchQueues {
    /// One for each port that frames leave by.
    Output,
    /// One for each port that frames come by: the first frame of a queue blocks those behind it.
    Input,
}

/// A switch on its way.
#[derive(Debug)]
pub(crate) struct Switch {
    model: SwitchModel,
    links: Vec<LinkModel>,
    /// Where each address was seen last.
    table: HashMap<[u8; 6], usize>,
    /// When each port will have sent all it has, ps.
    sent: Vec<u128>,
    /// When the last frame of each port begins to leave, ps.
    begun: Vec<u128>,
    /// Frames in memory: when the last bit leaves, ps; the queue; the length.
    held: BinaryHeap<Reverse<(u128, usize, u64)>>,
    in_all: u64,
    in_queue: Vec<u64>,
}

impl Switch {
    /// Between links from each port and to it.
    pub(crate) fn new(model: SwitchModel, links: Vec<LinkModel>) -> Self {
        let ports = links.len();
        Self {
            model,
            links,
            table: HashMap::new(),
            sent: vec![0; ports],
            begun: vec![0; ports],
            held: BinaryHeap::new(),
            in_all: 0,
            in_queue: vec![0; ports],
        }
    }

    /// Takes a frame that came in on port `from` at `now`, with its last bit.
    pub(crate) fn take(&mut self, from: usize, now: Nanos, frame: &[u8]) -> Forward {
        let address = |at: usize| frame.get(at..at + 6).and_then(|bytes| <[u8; 6]>::try_from(bytes).ok());
        let (Some(dst), Some(src)) = (address(0), address(6)) else { return Forward::NoRoute };
        let is_group = |mac: &[u8; 6]| mac[0] & 1 == 1;
        let has_room = self.table.len() < self.model.addresses || self.table.contains_key(&src);
        if has_room && !is_group(&src) {
            self.table.insert(src, from);
        }
        self.release(now);
        match self.table.get(&dst).filter(|_| !is_group(&dst)).copied() {
            Some(to) if to == from => Forward::NoRoute,
            Some(to) => {
                self.leave(from, to, now, frame.len()).map_or(Forward::Dropped, |at| Forward::Out(to, at))
            }
            None => {
                let others = (0..self.links.len()).filter(|to| *to != from);
                let at = others.map(|to| (to, self.leave(from, to, now, frame.len())));
                Forward::Flood(at.collect())
            }
        }
    }

    /// Frees what has left by `now`.
    fn release(&mut self, now: Nanos) {
        let now = u128::from(now.0) * 1_000;
        while let Some(Reverse((_, queue, bytes))) =
            self.held.peek().copied().filter(|first| first.0.0 <= now)
        {
            self.held.pop();
            self.in_all -= bytes;
            self.in_queue[queue] -= bytes;
        }
    }

    /// When a frame can leave by a port, as soon as that is free; `None` if there is no room for it until then.
    fn leave(&mut self, from: usize, to: usize, now: Nanos, len: usize) -> Option<Nanos> {
        let SwitchMemory { total, queue: most, queues } = self.model.memory;
        let queue = if queues == SwitchQueues::Output { to } else { from };
        let bytes = len as u64 + u64::from(FCS_BYTES);
        if self.in_all.saturating_add(bytes) > total || self.in_queue[queue].saturating_add(bytes) > most {
            return None;
        }
        let mut at = (now + self.model.latency).since(self.ahead(from, to, len));
        if queues == SwitchQueues::Input {
            let free = self.sent[to].max(self.begun[from]).div_ceil(1_000);
            at = at.max(Nanos(u64::try_from(free).unwrap_or(u64::MAX)));
        }
        let begins = self.sent[to].max(u128::from(at.0) * 1_000);
        let left = begins + u128::from(self.links[to].picos(len));
        (self.sent[to], self.begun[from]) = (left, begins);
        self.in_all += bytes;
        self.in_queue[queue] += bytes;
        self.held.push(Reverse((left, queue, bytes)));
        Some(at)
    }

    /// Time from a frame's beginning to leave to the arrival of its last bit.
    fn ahead(&self, from: usize, to: usize, len: usize) -> Nanos {
        if !self.model.cut_through || self.links[from].speed_bps != self.links[to].speed_bps {
            return Nanos::ZERO;
        }
        let first = FrameLen::MIN.without_fcs() as usize;
        Nanos(self.links[from].picos(len).saturating_sub(self.links[from].picos(first)) / 1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GBPS: u64 = 1_000_000_000;
    /// Time of a frame of 1518 bytes at 1 Gbit/s.
    const LONG: u64 = 12_304;

    fn switch(ports: usize, model: SwitchModel) -> Switch {
        let mut switch = Switch::new(model, vec![LinkModel::perfect(GBPS); ports]);
        for port in 0..ports {
            switch.table.insert([2, 0, 0, 0, 0, port as u8], port);
        }
        switch
    }

    fn frame(from: usize, to: u8, len: usize) -> Vec<u8> {
        let mut frame = vec![0; len];
        frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from as u8]);
        frame
    }

    fn memory(total: u64, queue: u64, queues: SwitchQueues) -> SwitchModel {
        SwitchModel {
            memory: SwitchMemory { total, queue, queues },
            ..SwitchModel::learning(100, Nanos::ZERO)
        }
    }

    #[test]
    fn learns_until_its_table_is_full() {
        let model = SwitchModel::learning(2, Nanos(5));
        let mut switch = Switch::new(model, vec![LinkModel::perfect(GBPS); 2]);
        let mut take = |from: usize, dst: u8, src: u8| {
            let frame = [2, 0, 0, 0, 0, dst, 2, 0, 0, 0, 0, src];
            match switch.take(from, Nanos(10), &frame) {
                Forward::Out(to, at) => format!("{to} at {}", at.0),
                Forward::Flood(to) => format!("all at {}", to[0].1.unwrap().0),
                _ => "none".to_owned(),
            }
        };
        assert_eq!([take(0, 9, 1), take(1, 1, 2), take(1, 1, 3)], ["all at 15", "0 at 15", "0 at 15"]);
        assert_eq!([take(0, 2, 1), take(0, 3, 1), take(1, 2, 2)], ["1 at 15", "all at 15", "none"]);
    }

    /// Two ports send this number of long frames each to a third, at line rate: how many are dropped.
    fn dropped(model: SwitchModel, frames: u64) -> u64 {
        let mut switch = switch(3, model);
        let mut dropped = 0;
        for number in 1..=frames {
            for from in 0..2 {
                let gone = switch.take(from, Nanos(number * LONG), &frame(from, 2, 1514));
                dropped += u64::from(matches!(gone, Forward::Dropped));
            }
        }
        dropped
    }

    #[test]
    fn holds_as_many_frames_as_its_memory_has_bytes() {
        // 345 frames are 523,710 bytes. While n come by each port, n - 1 leave.
        for cut_through in [false, true] {
            let model = SwitchModel { cut_through, ..memory(512 << 10, u64::MAX, SwitchQueues::Output) };
            assert_eq!((dropped(model, 344), dropped(model, 345)), (0, 1));
            let model = SwitchModel { cut_through, ..memory(512 << 10, 64 << 10, SwitchQueues::Output) };
            assert_eq!((dropped(model, 42), dropped(model, 43)), (0, 1));
        }
    }

    #[test]
    fn cuts_through_after_64_bytes() {
        let times = [false, true].map(|cut_through| {
            let mut switch = switch(2, SwitchModel { cut_through, ..SwitchModel::learning(9, Nanos(100)) });
            match switch.take(0, Nanos(LONG), &frame(0, 1, 1514)) {
                Forward::Out(1, at) => at.0,
                _ => panic!("not forwarded"),
            }
        });
        assert_eq!(times, [LONG + 100, 672 + 100]);
    }

    /// Port 0 sends to 2 and 3 in turn, port 1 to 3: the share of the frames to port 2 that is dropped.
    fn lost_of_the_idle_port(model: SwitchModel) -> f64 {
        let mut switch = switch(4, model);
        let (mut sent, mut lost) = (0u32, 0u32);
        for number in 1..=40_000u64 {
            let to = 2 + (number % 2) as u8;
            // Alternately first, as frames that arrive at one time are taken in turn.
            let order = if number % 2 == 0 { [0, 1] } else { [1, 0] };
            for from in order {
                let to = if from == 0 { to } else { 3 };
                let gone = switch.take(from, Nanos(number * LONG), &frame(from, to, 1514));
                sent += u32::from(to == 2);
                lost += u32::from(to == 2 && matches!(gone, Forward::Dropped));
            }
        }
        f64::from(lost) / f64::from(sent)
    }

    #[test]
    fn queues_of_inputs_block_what_is_behind() {
        let most = 64 << 10;
        assert_eq!(lost_of_the_idle_port(memory(u64::MAX, most, SwitchQueues::Output)), 0.0);
        let lost = lost_of_the_idle_port(memory(u64::MAX, most, SwitchQueues::Input));
        assert!((lost - 1.0 / 3.0).abs() < 0.05, "{lost}");
    }
}
