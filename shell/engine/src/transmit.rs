//! One worker's sending side of one port.

use crate::interval::{Interval, Shape};
use crate::template::Template;
use port::{BURST, Burst, Clock, TxQueue};
use sched::{Pacing, Schedule, Slot};
use units::Nanos;

/// A stream as this worker sends it.
pub(crate) struct TxStream {
    /// Index of the stream in the run.
    index: u32,
    template: Template,
    /// Whether the schedule sets its departures; if not, there is no pacing to record.
    paced: bool,
    /// Next sequence number of this lane.
    sequence: u32,
    pacing: Pacing,
}

impl TxStream {
    pub(crate) fn new(index: u32, template: Template, paced: bool) -> Self {
        Self { index, template, paced, sequence: 0, pacing: Pacing::default() }
    }
}

/// A slot whose frames are being sent.
#[derive(Clone, Copy, Default)]
struct Pending {
    slot: Slot,
    /// Sequence number of its first frame.
    sequence: u32,
}

/// One worker's sending side of one port. `slots[..filled]` are due; the first `burst.len()` packets of them have
/// their frames in `burst`.
pub(crate) struct Transmitter<'a> {
    queue: &'a mut dyn TxQueue,
    port: usize,
    schedule: Schedule,
    /// Streams sent from this port; the schedule's slots index them.
    streams: Vec<TxStream>,
    shape: Shape,
    burst: Burst,
    slots: [Pending; BURST],
    filled: usize,
    /// Packets in `slots[..filled]`.
    packets: usize,
    /// For answers, which do not wait behind test packets.
    control: Burst,
}

impl<'a> Transmitter<'a> {
    pub(crate) fn new(
        queue: &'a mut dyn TxQueue,
        port: usize,
        schedule: Schedule,
        streams: Vec<TxStream>,
        shape: Shape,
    ) -> Self {
        Self {
            queue,
            port,
            schedule,
            streams,
            shape,
            burst: Burst::new(),
            slots: [Pending::default(); BURST],
            filled: 0,
            packets: 0,
            control: Burst::new(),
        }
    }

    pub(crate) fn port(&self) -> usize {
        self.port
    }

    pub(crate) fn attach(&mut self) -> Result<(), port::PortError> {
        self.queue.attach()
    }

    /// Sends what is due; returns whether there was anything. `epoch` is the instant at which the schedule's time is 0.
    #[inline]
    pub(crate) fn turn<C: Clock>(&mut self, now: Nanos, epoch: Nanos, clock: &C, interval: &mut Interval) -> bool {
        if now < epoch {
            return false;
        }
        if self.packets < BURST && self.filled < BURST {
            self.poll(now - epoch);
        }
        if self.packets == 0 {
            return false;
        }
        if self.burst.len() < self.packets {
            self.build();
        }
        let departure = clock.now();
        self.stamp(departure);
        let taken = self.queue.send(&mut self.burst);
        self.account(taken, departure.since(epoch), interval);
        taken > 0
    }

    #[inline]
    fn poll(&mut self, now: Nanos) {
        let mut due = [Slot::default(); BURST];
        let room = BURST - self.packets;
        let n = self.schedule.poll(now, &mut due[..BURST - self.filled], room as u32);
        for slot in &due[..n] {
            let stream = &mut self.streams[slot.stream as usize];
            self.slots[self.filled] = Pending { slot: *slot, sequence: stream.sequence };
            stream.sequence = stream.sequence.wrapping_add(slot.run);
            self.filled += 1;
            self.packets += slot.run as usize;
        }
    }

    /// Gets frames for the packets that have none and makes them hold their templates.
    #[inline]
    fn build(&mut self) {
        let mut have = self.burst.len();
        let all = have + self.queue.alloc(&mut self.burst, self.packets - have);
        let (mut next, mut slot) = (0, 0);
        while have < all {
            let run = self.slots[slot].slot.run as usize;
            let stream = self.slots[slot].slot.stream as usize;
            if next + run > have {
                let template = &self.streams[stream].template;
                let end = (next + run).min(all);
                for i in have..end {
                    self.burst.frame_mut(i).fill(template.tag, &template.blocks, template.len, template.offload);
                }
                have = end;
            }
            next += run;
            slot += 1;
        }
    }

    /// Writes sequence number and time into every frame, also into those the port refused before.
    #[inline]
    fn stamp(&mut self, departure: Nanos) {
        let mut i = 0;
        for pending in &self.slots[..self.filled] {
            let stream = &self.streams[pending.slot.stream as usize];
            let end = (i + pending.slot.run as usize).min(self.burst.len());
            if let Some(stamp) = &stream.template.stamp {
                let mut sequence = pending.sequence;
                for i in i..end {
                    stamp.write(self.burst.frame_mut(i).data_mut(), sequence, departure.0);
                    sequence = sequence.wrapping_add(1);
                }
            }
            i = end;
        }
    }

    /// Counts the `taken` packets and forgets their slots.
    #[inline]
    fn account(&mut self, taken: usize, departure: Nanos, interval: &mut Interval) {
        self.packets -= taken;
        let (mut left, mut whole, mut bytes) = (taken as u32, 0, 0);
        for pending in &mut self.slots[..self.filled] {
            if left == 0 {
                break;
            }
            let slot = &mut pending.slot;
            let run = slot.run.min(left);
            left -= run;
            let stream = &mut self.streams[slot.stream as usize];
            let index = stream.index as usize;
            interval.sent[index] += u64::from(run);
            bytes += u64::from(run) * stream.template.frame_bytes();
            if stream.paced {
                let record = &mut interval.pacing[self.shape.pacing_index(index, self.port)];
                for _ in 0..run {
                    stream.pacing.departed(slot.due, departure, record);
                }
            }
            if run < slot.run {
                slot.run -= run;
                slot.number += u64::from(run);
                pending.sequence = pending.sequence.wrapping_add(run);
                break;
            }
            whole += 1;
        }
        if whole > 0 {
            self.slots.copy_within(whole..self.filled, 0);
            self.filled -= whole;
        }
        interval.ports[self.port].tx_packets += taken as u64;
        interval.ports[self.port].tx_bytes += bytes;
    }

    /// Sends `frames` at once, as many as the port takes; returns how many.
    pub(crate) fn answer(&mut self, frames: &[Vec<u8>]) -> u64 {
        let mut sent = 0;
        for frame in frames {
            if self.queue.alloc(&mut self.control, 1) == 0 {
                break;
            }
            self.control.frame_mut(0).copy_from(frame);
            sent += self.queue.send(&mut self.control) as u64;
            self.queue.free(&mut self.control);
        }
        sent
    }

    /// Whether nothing is due any more and nothing waits.
    pub(crate) fn is_done(&self, now: Nanos, epoch: Nanos) -> bool {
        self.packets == 0
            && self.schedule.next_due() == Nanos::MAX
            && (!self.schedule.is_greedy() || now.since(epoch) >= self.schedule.end())
    }

    /// When it next has something to do, on the clock whose `epoch` is the schedule's 0.
    pub(crate) fn next_due(&self, epoch: Nanos) -> Nanos {
        // With packets waiting it is the port's turn to have room.
        if self.packets > 0 { Nanos::MAX } else { epoch.saturating_add(self.schedule.next_due()) }
    }

    /// Instant after which nothing is due.
    pub(crate) fn end(&self) -> Nanos {
        self.schedule.end()
    }

    /// Ends the schedule at `now` of its own time.
    pub(crate) fn stop(&mut self, now: Nanos) {
        self.schedule.stop(now);
    }

    /// Gives everything up that was not sent; returns how many packets of paced streams that are.
    pub(crate) fn abandon(&mut self) -> u64 {
        self.queue.free(&mut self.burst);
        let waiting: u64 = self.slots[..self.filled]
            .iter()
            .filter(|p| self.streams[p.slot.stream as usize].paced)
            .map(|p| u64::from(p.slot.run))
            .sum();
        (self.filled, self.packets) = (0, 0);
        let owed = self.schedule.owed();
        self.schedule.stop(Nanos::ZERO);
        waiting + owed
    }
}

impl Drop for Transmitter<'_> {
    fn drop(&mut self) {
        self.queue.free(&mut self.burst);
        self.queue.free(&mut self.control);
    }
}
