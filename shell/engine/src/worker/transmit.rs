//! One worker's sending side of one port.

use super::cap::Cap;
use super::commands::RateStep;
use super::deadlines::Deadlines;
use super::flow_sink::{FlowSink, Outbox};
use super::template::Blocks;
use super::varied::{Slice, TxContent, Varied};
use super::watch::Watch;
use crate::capture::{Direction, Tap};
use crate::counts::interval::{Interval, PortCounts, Shape};
use crate::punt::PuntExit;
use measure::Samples;
use port::{BURST, Burst, Clock, TxQueue};
use sched::{ErrorBucket, Factor, Pacing, PacingRecord, Schedule, Slot};
use units::Nanos;
use wire::signature::{LaneMark, Mark};

/// Frames of a namespace that are sent in one turn.
const PUNTED_MAX: usize = 32;

/// A stream as this worker sends it: one cache line.
#[repr(align(64))]
pub(crate) struct TxStream {
    /// Index of the stream in the run.
    index: u32,
    content: TxContent,
    /// Whether the schedule sets its departures; if not, there is no pacing to record.
    paced: bool,
    /// Next sequence number of this lane.
    sequence: u32,
}

const _: () = assert!(size_of::<TxStream>() == 64);

impl TxStream {
    pub(crate) fn new(index: u32, content: TxContent, paced: bool) -> Self {
        Self { index, content, paced, sequence: 0 }
    }
}

/// Traffic of a worker on a port.
#[derive(Default)]
pub(crate) struct TxLoad {
    pub(crate) streams: Vec<TxStream>,
    pub(crate) blocks: Blocks,
    /// Those whose packets differ.
    pub(crate) varied: Vec<Varied>,
    /// Its slots index the port's streams.
    pub(crate) schedule: Schedule,
    /// When each stream ends, if it does at a time.
    pub(crate) ends: Vec<Option<Nanos>>,
}

/// Signs the packets of one worker.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signer {
    /// The run's.
    pub(crate) mark: Mark,
    /// The worker's part of every stream.
    pub(crate) lane: u8,
}

impl Signer {
    #[inline(always)]
    fn lane_of(&self, stream: u32) -> LaneMark {
        self.mark.lane(stream, self.lane)
    }
}

/// Counter of packets that leave together.
struct Account<'a> {
    departure: Nanos,
    streams: &'a [TxStream],
    varied: &'a [Varied],
    pacing: &'a mut [Pacing],
    /// Whether all streams have one record of pacing, not one each.
    is_shared: bool,
    records: &'a mut [PacingRecord],
    sent: &'a mut [u64],
    sent_bytes: &'a mut [u64],
    last: ErrorBucket,
}

impl Account<'_> {
    /// Counts the packets of `slot`; returns their bytes with FCS.
    #[inline(always)]
    fn sent(&mut self, slot: &Slot) -> u64 {
        let stream = &self.streams[slot.stream as usize];
        let index = stream.index as usize;
        self.sent[index] += u64::from(slot.run);
        if stream.paced {
            let record = &mut self.records[if self.is_shared { 0 } else { index }];
            let pacing = &mut self.pacing[slot.stream as usize];
            for _ in 0..slot.run {
                pacing.departed(slot.due, self.departure, record, &mut self.last);
            }
        }
        match &stream.content {
            TxContent::Same(template) => u64::from(slot.run) * template.frame_bytes(),
            TxContent::Varied(varied) => {
                let bytes = self.varied[*varied as usize].bytes(slot.number, slot.run);
                self.sent_bytes[index] += bytes;
                bytes
            }
        }
    }
}

/// One worker's sending side of one port.
///
/// `slots[..filled]` are due and hold `packets` packets; the first `burst.len()` of them have their frames in `burst`.
/// Frames the port did not take stay there and are stamped anew before the next try.
pub(crate) struct Transmitter<'a> {
    queue: &'a mut dyn TxQueue,
    port: usize,
    schedule: Schedule,
    signer: Signer,
    /// Streams sent from this port; the schedule's slots index them.
    streams: Vec<TxStream>,
    blocks: Blocks,
    /// Those whose packets differ.
    varied: Vec<Varied>,
    /// Departures of each stream.
    pacing: Vec<Pacing>,
    shape: Shape,
    burst: Burst,
    slots: [Slot; BURST],
    /// Sequence number of each slot's first packet.
    sequences: [u32; BURST],
    filled: usize,
    /// Packets in `slots[..filled]`.
    packets: usize,
    /// For replies, which do not wait behind test packets.
    control: Burst,
    /// Of sessions' flows.
    outbox: Outbox,
    tap: Option<Tap>,
    cap: Option<Cap>,
    deadlines: Option<Deadlines>,
    /// From the namespace of hosts that have one.
    punt: Option<&'a mut PuntExit>,
    /// No test packet leaves at or after this instant, until it is moved: counters are set to zero then.
    hold: Nanos,
}

impl<'a> Transmitter<'a> {
    pub(crate) fn new(
        queue: &'a mut dyn TxQueue,
        port: usize,
        signer: Signer,
        load: TxLoad,
        shape: Shape,
    ) -> Self {
        let TxLoad { streams, blocks, varied, schedule, ends } = load;
        Self {
            queue,
            port,
            schedule,
            signer,
            pacing: vec![Pacing::default(); streams.len()],
            streams,
            blocks,
            varied,
            shape,
            burst: Burst::new(),
            slots: [Slot::default(); BURST],
            sequences: [0; BURST],
            filled: 0,
            packets: 0,
            control: Burst::new(),
            outbox: Outbox::default(),
            tap: None,
            cap: None,
            deadlines: Deadlines::new(&ends),
            punt: None,
            hold: Nanos::MAX,
        }
    }

    /// Also sends `more`; running streams are not affected.
    pub(crate) fn add(&mut self, more: TxLoad, longest: u32) {
        let TxLoad { streams, blocks, varied, schedule, ends } = more;
        let (blocks, varied_before) = (self.blocks.join(blocks), self.varied.len() as u32);
        self.varied.extend(varied.into_iter().map(|mut varied| {
            varied.shift(blocks);
            varied
        }));
        Deadlines::extend(&mut self.deadlines, self.streams.len(), &ends);
        self.pacing.resize(self.streams.len() + streams.len(), Pacing::default());
        self.streams.extend(streams.into_iter().map(|mut stream| {
            stream.content.shift(blocks, varied_before);
            stream
        }));
        self.schedule.join(schedule);
        if let Some(cap) = &mut self.cap {
            cap.lengthen(longest);
        }
    }

    /// Stops sending the `streams`, indices in ascending order, that are sent from here, for packets due at `at` or
    /// later.
    pub(crate) fn remove(&mut self, streams: &[u32], at: Nanos) {
        let all = self.streams.iter().zip(0..);
        let here = all.filter(|(stream, _)| streams.binary_search(&stream.index).is_ok());
        let here: Vec<u32> = here.map(|(_, place)| place).collect();
        if !here.is_empty() {
            Deadlines::end(&mut self.deadlines, self.streams.len(), &here, at);
            self.schedule.scale(Some(&here), Factor::ZERO, at);
        }
    }

    /// Changes the destination hardware address of the `streams`, indices in ascending order, that are sent from here.
    pub(crate) fn send_to(&mut self, streams: &[u32], mac: [u8; 6]) {
        let mut moved = false;
        for stream in &mut self.streams {
            if streams.binary_search(&stream.index).is_err() {
                continue;
            }
            moved = true;
            match &mut stream.content {
                TxContent::Same(template) => template.send_to(&mut self.blocks, mac),
                TxContent::Varied(varied) => self.varied[*varied as usize].send_to(&mut self.blocks, mac),
            }
        }
        // What the port has not taken yet is made anew.
        if moved {
            self.queue.free(&mut self.burst);
        }
    }

    /// For the `streams`, indices in ascending order, that are sent from here: the number of the next packet, with the
    /// lane.
    pub(crate) fn next_numbers(&self, streams: &[u32]) -> impl Iterator<Item = (u32, u8, u32)> {
        let here = self.streams.iter().zip(0u32..);
        let here = here.filter(move |(stream, _)| streams.binary_search(&stream.index).is_ok());
        here.map(move |(stream, place)| {
            let waiting = self.slots[..self.filled].iter().filter(|slot| slot.stream == place);
            let waiting: u32 = waiting.map(|slot| slot.run).sum();
            (stream.index, self.signer.lane, stream.sequence.wrapping_sub(waiting))
        })
    }

    /// Sends frames of the hosts' namespace.
    pub(crate) fn punt(&mut self, exit: &'a mut PuntExit) {
        self.punt = Some(exit);
    }

    /// Whether there is a namespace whose frames it sends.
    pub(crate) fn punts(&self) -> bool {
        self.punt.is_some()
    }

    /// Sends frames of the hosts' namespace, as many as there are, a burst at most. Frames that the port does not
    /// accept now stay.
    pub(crate) fn turn_punt(&mut self, now: Nanos, counts: &mut PortCounts) -> bool {
        let Some(exit) = self.punt.as_deref_mut() else { return false };
        let (mut lengths, mut n) = ([0; PUNTED_MAX], 0);
        while n < PUNTED_MAX
            && let Some(len) = exit.next_len()
        {
            let may_leave = self.cap.as_mut().is_none_or(|cap| cap.may_answer(now));
            if !may_leave || self.queue.alloc(&mut self.control, 1) == 0 {
                break;
            }
            let buffer = self.control.frame_mut(n);
            if !buffer.fits(len) {
                // Those before it leave first.
                if n == 0 {
                    exit.drop_next(len);
                    counts.tx_punt_dropped += 1;
                }
                break;
            }
            let frame = buffer.begin(len);
            exit.look(frame);
            if let Some(tap) = &mut self.tap {
                tap.stage(now, frame);
            }
            lengths[n] = len;
            n += 1;
        }
        let sent = if n > 0 { self.queue.send(&mut self.control) } else { 0 };
        self.queue.free(&mut self.control);
        let sent = sent.min(n);
        if n > 0 {
            exit.taken(&lengths[..sent]);
            if let Some(tap) = &mut self.tap {
                tap.commit(sent);
            }
        }
        if let Some(cap) = &mut self.cap {
            cap.pay(sent as u64, lengths[..sent].iter().map(|len| *len as u64 + 4).sum());
        }
        counts.tx_punted += sent as u64;
        sent > 0
    }

    /// Lets no test packet leave at `at` or later, until this is called again.
    pub(crate) fn hold(&mut self, at: Nanos) {
        self.hold = at;
    }

    /// Sends no more than `cap`.
    pub(crate) fn limit(&mut self, cap: Option<Cap>) {
        self.cap = cap;
    }

    /// Captures what is sent.
    pub(crate) fn tap(&mut self, tap: Tap) {
        self.tap = Some(tap);
    }

    pub(crate) fn port(&self) -> usize {
        self.port
    }

    /// Whether it is the first of those that send on its port.
    pub(crate) fn is_first(&self) -> bool {
        self.signer.lane == 0
    }

    pub(crate) fn attach(&mut self) -> Result<(), port::PortError> {
        self.queue.attach()
    }

    /// Sends what is due; returns whether there was anything. `epoch` is the instant at which the schedule's time is 0.
    #[inline]
    pub(crate) fn turn<C: Clock>(
        &mut self,
        now: Nanos,
        epoch: Nanos,
        clock: &C,
        watch: &mut Watch,
        interval: &mut Interval,
    ) -> bool {
        if now < epoch {
            return false;
        }
        let room = self.cap.as_mut().map_or(BURST, |cap| cap.room(now).min(BURST));
        if self.packets < room && self.filled < BURST {
            self.poll(now - epoch, (room - self.packets) as u32);
        }
        if self.packets == 0 {
            return false;
        }
        let departure = clock.now();
        if departure >= self.hold {
            return false;
        }
        watch.at(departure);
        self.build(departure);
        // Asked once: a burst is captured as a whole or not at all.
        let mut tap = self.tap.as_mut().filter(|tap| tap.wants(Direction::Sent));
        if let Some(tap) = &mut tap {
            (0..self.burst.len()).for_each(|i| tap.stage(departure, self.burst.data(i)));
        }
        let taken = self.queue.send(&mut self.burst);
        if let Some(tap) = &mut tap {
            tap.commit(taken);
        }
        if interval.samples.is_counting() {
            self.sample(taken, departure, &mut interval.samples);
        }
        if watch.recovers() {
            self.count_by_stream(taken, &mut interval.sent_touched);
        } else if self.oldest_due(epoch) < watch.held_up_until() {
            self.count_by_stream(taken, &mut interval.sent_late);
        }
        let before = interval.ports[self.port].tx_bytes;
        if taken == self.packets {
            self.account_all(departure.since(epoch), interval);
        } else if taken > 0 {
            self.account_some(taken, departure.since(epoch), interval);
        }
        if let Some(cap) = &mut self.cap {
            cap.pay(taken as u64, interval.ports[self.port].tx_bytes - before);
        }
        taken > 0
    }

    #[inline]
    fn poll(&mut self, now: Nanos, room: u32) {
        if self.deadlines.as_ref().is_some_and(|deadlines| now >= deadlines.next()) {
            self.give_up(now);
        }
        let n = self.schedule.poll(now, &mut self.slots[self.filled..], room);
        let new = self.filled..self.filled + n;
        for (slot, sequence) in self.slots[new.clone()].iter().zip(&mut self.sequences[new]) {
            let stream = &mut self.streams[slot.stream as usize];
            *sequence = stream.sequence;
            stream.sequence = stream.sequence.wrapping_add(slot.run);
            self.packets += slot.run as usize;
        }
        self.filled += n;
    }

    /// Ends the streams whose time is over.
    #[cold]
    fn give_up(&mut self, now: Nanos) {
        if let Some(deadlines) = &mut self.deadlines {
            deadlines.given_up += self.schedule.give_up(&deadlines.take(now), now);
        }
    }

    /// Gets frames for the packets that have none, makes them hold their templates, and writes sequence number and time
    /// into all.
    #[inline]
    fn build(&mut self, departure: Nanos) {
        let old = self.burst.len();
        let all = old + self.queue.alloc(&mut self.burst, self.packets - old);
        let instant = self.signer.lane_of(0).at(departure.0);
        let mut i = 0;
        for (slot, sequence) in self.slots[..self.filled].iter().zip(&self.sequences) {
            let end = (i + slot.run as usize).min(all);
            let stream = &self.streams[slot.stream as usize];
            let template = match &stream.content {
                // Where streams are paced, most slots are of one packet.
                TxContent::Same(template) if end == i + 1 => {
                    let (frame, lane) = (self.burst.frame_mut(i), instant.of_stream(stream.index));
                    template.write(frame, &self.blocks, i >= old, &lane, *sequence);
                    i = end;
                    continue;
                }
                TxContent::Same(template) => template,
                TxContent::Varied(varied) => {
                    let (frames, number, time) = (i..end, slot.number, departure.0);
                    let (lane, sequence) = (self.signer.lane_of(stream.index), *sequence);
                    let slice = Slice { frames, fresh: old, number, lane, sequence, time };
                    self.varied[*varied as usize].build(&mut self.burst, &self.blocks, &slice);
                    i = end;
                    continue;
                }
            };
            template.fill(&mut self.burst, &self.blocks, i.max(old)..end.max(old));
            if let Some(stamp) = &template.stamp {
                let lane = instant.of_stream(stream.index);
                stamp.write_all(self.burst.data_mut(i..end), &lane, *sequence);
            }
            i = end;
        }
    }

    /// Notes when the first `taken` packets left.
    #[cold]
    fn sample(&self, taken: usize, departure: Nanos, samples: &mut Samples) {
        let mut left = taken as u32;
        for slot in &self.slots[..self.filled] {
            let run = slot.run.min(left);
            samples.sent(self.streams[slot.stream as usize].index, departure, run);
            left -= run;
        }
    }

    /// Adds the first `taken` packets to the counts of their streams.
    #[cold]
    fn count_by_stream(&self, taken: usize, counts: &mut [u64]) {
        let mut left = taken as u32;
        for slot in &self.slots[..self.filled] {
            let run = slot.run.min(left);
            counts[self.streams[slot.stream as usize].index as usize] += u64::from(run);
            left -= run;
        }
    }

    /// When the first packet that has not left was due, on the clock whose `epoch` is the schedule's 0.
    pub(crate) fn oldest_due(&self, epoch: Nanos) -> Nanos {
        if self.schedule.is_greedy() {
            return epoch.saturating_add(self.schedule.next_paced_due());
        }
        let waiting = self.slots[..self.filled].first().map(|slot| slot.due);
        epoch.saturating_add(waiting.unwrap_or_else(|| self.schedule.next_due()))
    }

    /// Counts every packet and forgets the slots.
    #[inline]
    fn account_all(&mut self, departure: Nanos, interval: &mut Interval) {
        let (mut account, slots) = self.account(departure, interval);
        let bytes = slots.iter().map(|slot| account.sent(slot)).sum::<u64>();
        interval.ports[self.port].tx_packets += self.packets as u64;
        interval.ports[self.port].tx_bytes += bytes;
        (self.filled, self.packets) = (0, 0);
    }

    /// Counter of packets that leave together, and the slots that there are.
    #[inline(always)]
    fn account<'s>(
        &'s mut self,
        departure: Nanos,
        interval: &'s mut Interval,
    ) -> (Account<'s>, &'s mut [Slot]) {
        let records = match self.shape.paces_streams {
            true => &mut interval.pacing[..],
            false => std::slice::from_mut(&mut interval.pacing[self.port]),
        };
        let account = Account {
            departure,
            streams: &self.streams,
            varied: &self.varied,
            pacing: &mut self.pacing,
            is_shared: !self.shape.paces_streams,
            records,
            sent: &mut interval.sent,
            sent_bytes: &mut interval.sent_bytes,
            last: ErrorBucket::default(),
        };
        (account, &mut self.slots[..self.filled])
    }

    /// Counts the first `taken` packets and forgets their slots.
    fn account_some(&mut self, taken: usize, departure: Nanos, interval: &mut Interval) {
        self.packets -= taken;
        let (mut left, mut whole, mut bytes, mut begun) = (taken as u32, 0, 0, 0);
        let (mut account, slots) = self.account(departure, interval);
        while left > 0 {
            let slot = &mut slots[whole];
            let run = slot.run.min(left);
            left -= run;
            bytes += account.sent(&Slot { run, ..*slot });
            if run < slot.run {
                slot.run -= run;
                slot.number += u64::from(run);
                begun = run;
            } else {
                whole += 1;
            }
        }
        if begun > 0 {
            self.sequences[whole] = self.sequences[whole].wrapping_add(begun);
        }
        self.slots.copy_within(whole..self.filled, 0);
        self.sequences.copy_within(whole..self.filled, 0);
        self.filled -= whole;
        interval.ports[self.port].tx_packets += taken as u64;
        interval.ports[self.port].tx_bytes += bytes;
    }

    /// Sends `frames` at once, as many as the port takes; returns how many.
    pub(crate) fn answer(&mut self, now: Nanos, frames: &[Vec<u8>]) -> u64 {
        let mut sent = 0;
        for frame in frames {
            let may_leave = self.cap.as_mut().is_none_or(|cap| cap.may_answer(now));
            if !may_leave || self.queue.alloc(&mut self.control, 1) == 0 {
                break;
            }
            let mut buffer = self.control.frame_mut(0);
            if buffer.fits(frame.len()) {
                buffer.copy_from(frame);
                let taken = self.queue.send(&mut self.control) as u64;
                if let Some(tap) = self.tap.as_mut().filter(|_| taken == 1) {
                    tap.offer(now, Direction::Sent, frame);
                }
                if let Some(cap) = &mut self.cap {
                    cap.pay(taken, taken * (frame.len() as u64 + 4));
                }
                sent += taken;
            }
            self.queue.free(&mut self.control);
        }
        sent
    }

    /// Where flows put their frames.
    #[inline]
    pub(crate) fn flow_sink<'s>(&'s mut self, now: Nanos, counts: &'s mut PortCounts) -> FlowSink<'s> {
        let tap = self.tap.as_mut().filter(|tap| tap.wants(Direction::Sent));
        FlowSink::new(self.queue, &mut self.outbox, tap, now, counts)
    }

    /// Whether nothing is due any more and nothing waits.
    pub(crate) fn is_done(&self, now: Nanos, epoch: Nanos) -> bool {
        self.packets == 0
            && (self.schedule.is_finished() || now.since(epoch) >= self.schedule.end())
            && self.schedule.next_due() == Nanos::MAX
    }

    /// Whether there is something the port had no room for.
    pub(crate) fn waits_for_room(&self) -> bool {
        self.packets > 0 || !self.outbox.is_empty()
    }

    /// When it next has something to do, on the clock whose `epoch` is the schedule's 0.
    pub(crate) fn next_due(&self, epoch: Nanos) -> Nanos {
        // With packets waiting it is the port's turn to have room.
        if self.packets > 0 {
            return Nanos::MAX;
        }
        // Held streams that are to end have nothing due.
        let deadline = self.deadlines.as_ref().map_or(Nanos::MAX, Deadlines::next);
        epoch.saturating_add(self.schedule.next_due().min(deadline))
    }

    /// Instant after which nothing is due.
    pub(crate) fn end(&self) -> Nanos {
        self.schedule.end()
    }

    /// Sets the rate of `step`'s streams that are sent from here.
    pub(crate) fn set_rate(&mut self, step: &RateStep) {
        let here = |streams: &Vec<u32>| -> Vec<u32> {
            let all = self.streams.iter().zip(0..);
            all.filter(|(stream, _)| streams.binary_search(&stream.index).is_ok()).map(|(_, at)| at).collect()
        };
        let streams = step.streams.as_ref().map(here);
        if let Some(deadlines) = &mut self.deadlines {
            deadlines.change(streams.as_deref(), step.factor == Factor::ZERO, step.at);
        }
        if streams.as_ref().is_none_or(|streams| !streams.is_empty()) {
            self.schedule.scale(streams.as_deref(), step.factor, step.at);
        }
    }

    /// Ends the schedule at `now` of its time.
    pub(crate) fn stop(&mut self, now: Nanos) {
        self.schedule.stop(now);
    }

    /// Gives everything up that was not sent; returns how many packets of paced streams that are.
    pub(crate) fn abandon(&mut self) -> u64 {
        self.queue.free(&mut self.burst);
        let waiting: u64 = self.slots[..self.filled]
            .iter()
            .filter(|slot| self.streams[slot.stream as usize].paced)
            .map(|slot| u64::from(slot.run))
            .sum();
        (self.filled, self.packets) = (0, 0);
        let owed = self.schedule.owed();
        self.schedule.stop(Nanos::ZERO);
        waiting + owed + self.given_up()
    }

    /// Packets discarded since the last call, because their streams' time was over.
    pub(crate) fn given_up(&mut self) -> u64 {
        self.deadlines.as_mut().map_or(0, |deadlines| std::mem::take(&mut deadlines.given_up))
    }
}

impl Drop for Transmitter<'_> {
    fn drop(&mut self) {
        self.queue.free(&mut self.burst);
        self.queue.free(&mut self.control);
        self.outbox.free(self.queue);
    }
}
