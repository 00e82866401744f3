//! One worker's receiving side of one port.

use super::arrivals::{ANY_PORT, Expected, FCS_BYTES, arrival_of, is_as_expected, seen};
use super::commands::{HOST_EVENTS_MAX, HostEvent};
use super::counting::{Counting, leave_out};
use super::egress::Tracker;
use super::flows::Local;
use super::integrity::{Integrity, Recovered};
use super::pieces::Pieces;
use super::records::{self, Records};
use super::stamps::Stamped;
use crate::capture::{Direction, Tap};
use crate::counts::interval::{Interval, PortCounts};
use crate::emulation::Wanted;
use crate::punt::PuntEntry;
use measure::{Arrival, Damages};
use neighbour::Hosts;
use port::{BURST, Burst, Clock, RxQueue, Stamps};
#[cfg(unix)]
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use units::Nanos;
use wire::signature::{self, Followers, Mark, NoSignature, Signature};

/// One worker's receiving side of one port.
pub(crate) struct Receiver<'a> {
    queue: &'a mut dyn RxQueue,
    port: usize,
    mark: Mark,
    burst: Burst,
    /// Whether frames are loaded ahead.
    loads_ahead: bool,
    arrivals: [Arrival; BURST],
    /// Place of each arrival's frame in the burst.
    places: [u8; BURST],
    /// Arrival times of frames, if the port stamps them.
    stamped: Option<Box<Stamped>>,
    /// The stream of each mark, and the streams of this burst's marked packets with their bytes.
    marks: Arc<[u32]>,
    marked: Vec<(u32, u16)>,
    /// Bits that streams track.
    trackers: Arc<[Tracker]>,
    /// Comparison of payloads of streams, if some are compared.
    integrity: Option<Arc<Integrity>>,
    /// Whether the last burst was full.
    full: bool,
    tap: Option<Tap>,
    /// To the namespace of hosts that have one.
    punt: Option<&'a mut PuntEntry>,
    /// Frames of the port's control protocols, which control handles.
    wanted: Wanted,
    /// Possible replies to pings or frames for hosts that control runs, while there are some.
    overheard: Option<Vec<HostEvent>>,
    /// Neighbours' addresses seen in frames since control was last informed.
    claims: Vec<HostEvent>,
    /// Packets whose fragments arrive one by one.
    pieces: Pieces,
    /// Packets recorded by the kernel, if it does so.
    records: Option<Box<Records>>,
    /// Streams whose arrivals here do not count against outages.
    stale: Vec<u32>,
}

/// Claims kept for control at most.
const CLAIMS_MAX: usize = 64;
/// Number of frames that are prefetched into the cache.
const AHEAD: usize = 6;
/// Packets in a row of a burst that none follows in its lane before the rest of it is taken one by one: it is of as many streams.
const ALONE_MAX: usize = 4;

impl<'a> Receiver<'a> {
    /// `mtu`: the longest IP packet of hosts' replies.
    pub(crate) fn new(queue: &'a mut dyn RxQueue, port: usize, mark: Mark, mtu: usize) -> Self {
        Self {
            loads_ahead: !queue.is_warm(),
            queue,
            port,
            mark,
            burst: Burst::new(),
            arrivals: [Arrival::default(); BURST],
            places: [0; BURST],
            stamped: None,
            marks: Arc::default(),
            marked: Vec::with_capacity(BURST),
            trackers: Arc::default(),
            integrity: None,
            full: false,
            tap: None,
            punt: None,
            wanted: Wanted::default(),
            overheard: None,
            claims: Vec::new(),
            pieces: Pieces::new(mtu),
            records: None,
            stale: Vec::new(),
        }
    }

    /// Makes the kernel take in test packets and record them, if the port can. Returns whether it does.
    ///
    /// # Errors
    /// Why it does not although such ports can.
    pub(crate) fn record(&mut self, expected: &[Expected]) -> Result<bool, String> {
        let is_here =
            |expected: &Expected| expected.port == ANY_PORT || usize::from(expected.port) == self.port;
        // A record says nothing of a frame's bits.
        let is_tracked = |expected: &Expected| expected.egress != 0 && is_here(expected);
        let compares = self.integrity.as_ref().is_some_and(|integrity| {
            expected.iter().enumerate().any(|(stream, one)| is_here(one) && integrity.row(stream).is_some())
        });
        let reason = match self.tap {
            Some(_) => Some("received frames are captured"),
            None if expected.iter().any(is_tracked) => {
                Some("streams count packets by bits of the frames ('egress')")
            }
            None if compares => Some("payloads of streams are compared ('integrity: full')"),
            None => None,
        };
        if let Some(reason) = reason {
            // A port that could not do it anyway has no reason.
            return self.queue.record(None).and_then(|can| match can {
                true => Err(reason.to_owned()),
                false => Ok(false),
            });
        }
        let records = self.queue.record(Some(&records::packets(&self.mark, self.port, expected)))?;
        self.records = records.then(Box::default);
        Ok(records)
    }

    /// Has arrival times come from the kernel or a card.
    ///
    /// # Errors
    /// Why the port has none.
    pub(crate) fn stamp(&mut self, by: Stamps) -> Result<(), String> {
        self.stamped = Some(Box::new(Stamped::new(self.queue.stamp(by)?)));
        Ok(())
    }

    /// Counts packets with these marks for their streams.
    pub(crate) fn count_marks(&mut self, marks: Arc<[u32]>) {
        self.marks = marks;
    }

    /// Counts packets by the value of bits that their streams track.
    pub(crate) fn track(&mut self, trackers: Arc<[Tracker]>) {
        self.trackers = trackers;
    }

    /// Compares the payloads of streams that have such.
    pub(crate) fn compare(&mut self, integrity: Option<Arc<Integrity>>) {
        self.integrity = integrity;
    }

    /// Captures what is received.
    pub(crate) fn tap(&mut self, tap: Tap) {
        self.tap = Some(tap);
    }

    /// Passes frames for the hosts' namespace on.
    pub(crate) fn punt(&mut self, entry: &'a mut PuntEntry) {
        self.punt = Some(entry);
    }

    /// Leaves frames of control protocols to control.
    pub(crate) fn leave_to_control(&mut self, wanted: Wanted) {
        self.wanted = wanted;
    }

    pub(crate) fn port(&self) -> usize {
        self.port
    }

    /// Lets arrivals of streams here count against outages, or not.
    pub(crate) fn count_arrivals(&mut self, streams: &[u32], on: bool) {
        self.stale.retain(|stream| !streams.contains(stream));
        if !on {
            self.stale.extend(streams);
        }
    }

    /// Whether there may be more than was taken in last.
    pub(crate) fn took_all_it_could(&self) -> bool {
        self.full
    }

    /// Keeps possible replies to pings and frames for hosts that control runs, or stops doing so.
    pub(crate) fn overhear(&mut self, on: bool) {
        self.overheard = on.then(Vec::new);
    }

    /// Whether frames contained addresses of neighbours.
    #[inline]
    pub(crate) fn has_claims(&self) -> bool {
        !self.claims.is_empty()
    }

    /// Takes out what was kept for control.
    pub(crate) fn overheard(&mut self) -> impl Iterator<Item = HostEvent> {
        self.claims.drain(..).chain(self.overheard.iter_mut().flat_map(|frames| frames.drain(..)))
    }

    /// Descriptor that becomes readable when frames arrive, if the port has one.
    #[cfg(unix)]
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.queue.descriptor()
    }

    pub(crate) fn attach(&mut self) -> Result<(), port::PortError> {
        self.queue.attach()
    }

    /// Processes received frames: unmeasured ones go to `local` sessions, if there are some, and the rest to the hosts,
    /// whose replies go to `answers`. Returns whether there was anything.
    #[inline]
    pub(crate) fn turn<C: Clock>(
        &mut self,
        clock: &C,
        counting: Counting<'_>,
        expected: &[Expected],
        local: &mut Local,
        hosts: &Hosts,
        answers: &mut Vec<Vec<u8>>,
    ) -> bool {
        self.full = false;
        let Counting { watch, recorder, interval } = counting;
        let mut any = false;
        if let Some(records) = &mut self.records {
            any = records.turn(
                clock,
                Counting { watch: &mut *watch, recorder: &mut *recorder, interval: &mut *interval },
                self.queue,
                self.port,
                expected,
                &self.stale,
            );
        }
        if self.queue.recv(&mut self.burst) == 0 {
            return any;
        }
        self.full = self.burst.len() == BURST;
        let now = clock.now();
        watch.at(now);
        if let Some(stamped) = &mut self.stamped {
            stamped.read(clock, &self.burst, now, &mut interval.ports[self.port]);
        }
        if let Some(tap) = self.tap.as_mut().filter(|tap| tap.wants(Direction::Received)) {
            let at = |i| self.stamped.as_ref().map_or(now, |stamped| stamped.at(i));
            (0..self.burst.len()).for_each(|i| tap.offer(at(i), Direction::Received, self.burst.data(i)));
        }
        let counts = &mut interval.ports[self.port];
        let foreign = if local.is_empty() { u64::MAX } else { self.offer(now, expected, local, counts) };
        let damages = &mut interval.damages;
        let counts_from = recorder.counts_from();
        let around = Around {
            now,
            counts_from,
            expected,
            counts: &mut *counts,
            damages,
            hosts,
            answers: &mut *answers,
        };
        let measured = self.classify(foreign, around);
        if self.pieces.has_news() {
            let PortCounts { fragments, rx_not_steered, .. } = counts;
            self.pieces.pass_on(fragments, hosts, answers, |frame| {
                // Who cuts a packet finishes its checksum first.
                local.is_empty() || local.receive(now, &mut [frame], 0, rx_not_steered) & 1 != 0
            });
        }
        recorder.touch_until(watch.touched_until(now));
        if watch.recovers() {
            let sent =
                self.arrivals[..measured].iter().map(|arrival| now.since(Nanos(arrival.latency))).max();
            sent.into_iter().for_each(|sent| watch.came_back(sent, now));
        }
        let measured = match recorder.passes_some() {
            true => {
                let (arrivals, places) = (&mut self.arrivals[..measured], &mut self.places);
                leave_out(
                    recorder,
                    &mut interval.passed,
                    arrivals,
                    |_| now,
                    |from, to| places[to] = places[from],
                )
            }
            false => measured,
        };
        if let Some(stamped) = &mut self.stamped {
            let arrivals = &mut self.arrivals[..measured];
            let counts = &mut interval.ports[self.port];
            let instants = stamped.correct(arrivals, &self.places, now, counts);
            interval.ports[self.port].rx_unknown_stream += recorder.record_each(arrivals, instants);
            for (arrival, at) in arrivals.iter().zip(instants) {
                record_beside(interval, self.port, std::slice::from_ref(arrival), *at, &self.stale);
            }
        } else {
            let counts = &mut interval.ports[self.port];
            counts.rx_unknown_stream += recorder.record(&self.arrivals[..measured], now);
            record_beside(interval, self.port, &self.arrivals[..measured], now, &self.stale);
        }
        self.marked.drain(..).for_each(|(stream, bytes)| recorder.count(stream, bytes));
        self.queue.free(&mut self.burst);
        true
    }

    /// Offers the burst to sessions. Returns a bit for each frame that is not theirs, the first one's lowest.
    #[inline]
    fn offer(&self, now: Nanos, expected: &[Expected], local: &mut Local, counts: &mut PortCounts) -> u64 {
        let is_measuring = !expected.is_empty();
        let (mut frames, mut unfinished): ([&[u8]; BURST], u64) = ([&[]; BURST], 0);
        let n = self.burst.len();
        for (i, frame) in frames[..n].iter_mut().enumerate() {
            let data = self.burst.data(i);
            // A test packet may have the addresses and ports of a flow: what is measured goes first.
            let is_measured = is_measuring
                && (signature::read_at_end(data, &self.mark).is_ok()
                    || marked(&self.marks, self.port, data, expected).is_some());
            let is_ping = || self.overheard.is_some() && neighbour::may_answer_in_session(data);
            if !(is_measured
                || is_ping()
                || self.wanted.before_sessions.iter().any(|is_theirs| is_theirs(data)))
            {
                *frame = data;
            }
            unfinished |= u64::from(self.burst.has_unfinished_checksum(i)) << i;
        }
        local.receive(now, &mut frames[..n], unfinished, &mut counts.rx_not_steered)
    }

    /// Reads the signatures of those frames of the burst whose bit in `foreign` is set into `arrivals`; returns how many arrivals.
    ///
    /// As long as all are plain test packets nothing else is touched; from the first other one on, all are inspected
    /// closely. Most packets follow the one before them in its lane, sent at the same instant and as long: they make
    /// one arrival together.
    #[inline]
    fn classify(&mut self, foreign: u64, around: Around<'_>) -> usize {
        let Around { now, counts_from, expected, counts, damages, hosts, answers } = around;
        let n = self.burst.len();
        if self.loads_ahead {
            (0..AHEAD).for_each(|i| self.burst.prefetch_data(i, 0));
        }
        let (mut i, mut measured, mut bytes) = (0, 0, 0);
        let (mark, port) = (self.mark, self.port);
        let looks_closer = !self.trackers.is_empty() || self.integrity.is_some();
        let joins = !looks_closer && foreign == u64::MAX && self.stamped.is_none();
        let mut alone = 0;
        counts.rx_packets += n as u64;
        while i < n && alone < ALONE_MAX {
            self.load_ahead(i);
            let data = self.burst.data(i);
            if foreign >> i & 1 == 0 {
                bytes += data.len() as u64;
                i += 1;
                continue;
            }
            let Some((found, mut followers, mut arrival)) = plain(port, &mark, data, now, expected) else {
                counts.rx_bytes += bytes + 4 * i as u64;
                let around = Around { now, counts_from, expected, counts, damages, hosts, answers };
                return self.classify_rest(i, measured, foreign, around);
            };
            let begun = i;
            i += 1;
            if joins {
                for next in self.burst.data_from(i) {
                    if next.len() != data.len() || !followers.is_next(next) {
                        break;
                    }
                    self.load_ahead(i);
                    i += 1;
                }
                alone = if i == begun + 1 { alone + 1 } else { 0 };
            } else if looks_closer {
                arrival.egress = egress_row(&arrival, expected, &self.trackers, data);
                if now.since(Nanos(arrival.latency)) >= counts_from {
                    compare(self.integrity.as_deref(), &found, data, damages);
                }
            }
            arrival.packets = (i - begun) as u16;
            bytes += ((i - begun) * data.len()) as u64;
            self.arrivals[measured] = arrival;
            self.places[measured] = begun as u8;
            measured += 1;
        }
        let (alone, read) = self.classify_singly(i, measured, now, expected);
        (bytes, i, measured) = (bytes + read, i + alone, measured + alone);
        counts.rx_bytes += bytes + 4 * i as u64;
        if i == n {
            return measured;
        }
        let around = Around { now, counts_from, expected, counts, damages, hosts, answers };
        self.classify_rest(i, measured, foreign, around)
    }

    /// The same from the `first` frame on for plain test packets of as many streams, as far as there are only such; returns how
    /// many there are, and their bytes without FCS. `measured` arrivals are before them.
    #[inline(always)]
    fn classify_singly(
        &mut self,
        first: usize,
        measured: usize,
        now: Nanos,
        expected: &[Expected],
    ) -> (usize, u64) {
        let Self { burst, arrivals, places, loads_ahead, port, mark, .. } = self;
        let room = arrivals[measured..].iter_mut().zip(&mut places[measured..]);
        let (mut n, mut bytes) = (0, 0);
        for (data, (arrival, place)) in burst.data_from(first).zip(room) {
            if *loads_ahead {
                load_ahead(burst, first + n);
            }
            let Some((_, _, found)) = plain(*port, mark, data, now, expected) else { break };
            *arrival = found;
            *place = (first + n) as u8;
            bytes += data.len() as u64;
            n += 1;
        }
        (n, bytes)
    }

    /// Loads frames into the cache that will be inspected soon after the `i`-th, where they are not there already.
    #[inline(always)]
    fn load_ahead(&self, i: usize) {
        if self.loads_ahead {
            load_ahead(&self.burst, i);
        }
    }

    /// The same from the `first` frame on, which is not a plain test packet; `measured` before it are.
    #[inline(never)]
    fn classify_rest(
        &mut self,
        first: usize,
        mut measured: usize,
        foreign: u64,
        around: Around<'_>,
    ) -> usize {
        let Around { now, counts_from, expected, counts, damages, hosts, answers } = around;
        for i in first..self.burst.len() {
            self.load_ahead(i);
            let data = self.burst.data(i);
            counts.rx_bytes += (data.len() + FCS_BYTES) as u64;
            if foreign >> i & 1 == 0 {
                continue;
            }
            let integrity = self.integrity.as_deref();
            let found = match signature::read_at_end(data, &self.mark) {
                Ok(found) => TestPacket::Signed(found, data.len()),
                Err(_) => match marked(&self.marks, self.port, data, expected) {
                    Some(stream) => TestPacket::Untimed(stream),
                    None => look_closer(&self.mark, integrity, data, damages),
                },
            };
            let (found, end) = match found {
                TestPacket::Signed(found, end) => (found, Some(end)),
                TestPacket::Repaired(found) => (found, None),
                TestPacket::Untimed(stream) => {
                    self.marked.push((stream, (data.len() + FCS_BYTES) as u16));
                    continue;
                }
                TestPacket::None(why) => {
                    counts.rx_other += 1;
                    counts.rx_damaged += u64::from(why == NoSignature::Damaged);
                    let is_unfinished = self.burst.has_unfinished_checksum(i);
                    let aside =
                        Aside { pieces: &mut self.pieces, punt: self.punt.as_deref_mut(), is_unfinished };
                    serve_hosts(data, now, counts, hosts, answers, aside);
                    keep_claim(&mut self.claims, self.port, now, hosts, data);
                    let overheard = self.overheard.as_mut();
                    keep_for_control(overheard, &self.wanted, self.port, now, data, counts);
                    continue;
                }
            };
            let Some(mut arrival) = arrival(self.port, found, data, now, expected, counts) else {
                counts.rx_other += 1;
                continue;
            };
            arrival.egress = egress_row(&arrival, expected, &self.trackers, data);
            if let Some(end) = end.filter(|_| now.since(Nanos(arrival.latency)) >= counts_from) {
                compare(integrity, &found, &data[..end], damages);
            }
            self.arrivals[measured] = arrival;
            self.places[measured] = i as u8;
            measured += 1;
        }
        measured
    }

    /// Gives up packets whose fragments have not all come: the trial is over.
    pub(crate) fn finish(&mut self, interval: &mut Interval) {
        self.pieces.finish(&mut interval.ports[self.port].fragments);
    }

    /// Receives frames outside a trial: everything goes to `take`, with whether the port reports that its checksum was
    /// left to a card.
    pub(crate) fn listen(&mut self, mut take: impl FnMut(&[u8], bool)) {
        self.queue.recv(&mut self.burst);
        for i in 0..self.burst.len() {
            take(self.burst.data(i), self.burst.has_unfinished_checksum(i));
        }
        self.queue.free(&mut self.burst);
    }
}

/// Loads frames into the cache that will be inspected soon after the `i`-th.
#[inline(always)]
fn load_ahead(burst: &Burst, i: usize) {
    burst.prefetch_head(i + 2 * AHEAD);
    burst.prefetch_data(i + AHEAD, 0);
}

/// Counts arrivals where else they count.
#[inline(always)]
fn record_beside(interval: &mut Interval, port: usize, arrivals: &[Arrival], at: Nanos, stale: &[u32]) {
    interval.paths.record(port, arrivals, at);
    interval.samples.received(arrivals, at, stale);
    interval.egress.record(arrivals, at);
}

/// Context of a burst that holds more than plain test packets.
struct Around<'a> {
    now: Nanos,
    /// Packets sent before this do not count.
    counts_from: Nanos,
    expected: &'a [Expected],
    counts: &'a mut PortCounts,
    damages: &'a mut Damages,
    hosts: &'a Hosts,
    answers: &'a mut Vec<Vec<u8>>,
}

/// A test packet with its signature at its end, at the right port and as long as it should be; `None` for anything else.
#[inline(always)]
fn plain(
    port: usize,
    mark: &Mark,
    data: &[u8],
    now: Nanos,
    expected: &[Expected],
) -> Option<(Signature, Followers, Arrival)> {
    let (found, followers) = signature::read_with_followers(data, mark).ok()?;
    let is_right = |expected| is_as_expected(port, data.len(), expected) == (true, true);
    let sent = signature::unwrap_time(found.time, now);
    let is_plain = expected.get(found.stream as usize).is_none_or(is_right) & (sent <= now);
    is_plain.then(|| (found, followers, seen(found, data.len(), sent, now)))
}

/// The row that a packet counts in by the bits its stream tracks; 0 if it tracks none.
#[inline]
fn egress_row(arrival: &Arrival, expected: &[Expected], trackers: &[Tracker], data: &[u8]) -> u32 {
    let number = expected.get(arrival.stream as usize).map_or(0, |expected| usize::from(expected.egress));
    number.checked_sub(1).and_then(|number| trackers.get(number)).map_or(0, |tracker| tracker.row(data))
}

/// The stream of a packet with a mark, if it arrived where, and as long as, it should.
#[inline]
fn marked(marks: &[u32], port: usize, data: &[u8], expected: &[Expected]) -> Option<u32> {
    if marks.is_empty() {
        return None;
    }
    let stream = *marks.get(usize::from(wire::marked::read(data)?))?;
    let is_right = is_as_expected(port, data.len(), expected.get(stream as usize)?) == (true, true);
    is_right.then_some(stream)
}

/// A test packet that has arrived; `None` if it is only quoted in a report of an error.
fn arrival(
    port: usize,
    found: Signature,
    data: &[u8],
    now: Nanos,
    expected: &[Expected],
    counts: &mut PortCounts,
) -> Option<Arrival> {
    if let Some(expected) = expected.get(found.stream as usize) {
        let (here, fits) = is_as_expected(port, data.len(), expected);
        if !(here && fits) && reports_error(data) {
            return None;
        }
    }
    Some(arrival_of(port, found, data.len(), now, expected, counts))
}

/// Where frames that are no test packets may go, besides the hosts.
struct Aside<'a> {
    pieces: &'a mut Pieces,
    punt: Option<&'a mut PuntEntry>,
    /// Whether the port reports that the frame's checksum was left to a card.
    is_unfinished: bool,
}

/// A frame as a test packet.
enum TestPacket {
    /// Its signature, and where it ends.
    Signed(Signature, usize),
    /// Its signature with a wrong bit put right; what is wrong with the packet is counted.
    Repaired(Signature),
    /// It is of this stream, and no more is known; what is wrong with it is counted.
    Untimed(u32),
    /// It is none, or can't be distinguished from others.
    None(NoSignature),
}

/// A frame without a signature at its end: padded or damaged by the device, meant for a host, or foreign.
fn look_closer(mark: &Mark, integrity: Option<&Integrity>, data: &[u8], damages: &mut Damages) -> TestPacket {
    let why = match signature::find(data, mark) {
        Ok(found) => return TestPacket::Signed(found, signature::ip_end(data).unwrap_or(data.len())),
        Err(why) => why,
    };
    // What an ICMP message quotes has not arrived.
    let integrity = integrity.filter(|_| !reports_error(data));
    match integrity.and_then(|integrity| integrity.recover(data, damages)) {
        Some(Recovered::Whole(found)) => TestPacket::Repaired(found),
        Some(Recovered::Untimed(stream)) => TestPacket::Untimed(stream),
        None => TestPacket::None(why),
    }
}

/// Counts what is wrong with a packet's payload, given up to the end of its signature, if payloads are compared.
#[inline]
fn compare(integrity: Option<&Integrity>, found: &Signature, data: &[u8], damages: &mut Damages) {
    if let Some(integrity) = integrity
        && !integrity.is_right(found, data)
    {
        integrity.examine(found, data, damages);
    }
}

/// Gives a frame that is no test packet to the hosts behind the port.
fn serve_hosts(
    data: &[u8],
    now: Nanos,
    counts: &mut PortCounts,
    hosts: &Hosts,
    answers: &mut Vec<Vec<u8>>,
    aside: Aside<'_>,
) {
    // A request to all may be for the namespace, or for addresses of sessions and streams.
    if let Some(punt) = aside.punt {
        punt.take(data, aside.is_unfinished, counts);
    }
    if !aside.pieces.take(now, hosts, data) {
        answers.extend(hosts.answer(data));
    }
}

/// Keeps a foreign frame's addresses of a neighbour. A repeated one, or one without room, is no loss: the neighbour
/// repeats it, or is probed.
#[inline]
fn keep_claim(claims: &mut Vec<HostEvent>, port: usize, at: Nanos, hosts: &Hosts, data: &[u8]) {
    let Some(claim) = hosts.claim(data) else { return };
    let is_said = matches!(claims.last(), Some(HostEvent::Claimed { claim: last, .. }) if *last == claim);
    if !is_said && claims.len() < CLAIMS_MAX {
        claims.push(HostEvent::Claimed { port, at, claim });
    }
}

/// Keeps a foreign frame if it may be the reply to a ping, or for a control protocol of the port.
#[inline]
fn keep_for_control(
    overheard: Option<&mut Vec<HostEvent>>,
    wanted: &Wanted,
    port: usize,
    at: Nanos,
    data: &[u8],
    counts: &mut PortCounts,
) {
    let Some(overheard) = overheard else { return };
    if !(neighbour::may_answer(data) || wanted.concerns.iter().any(|is_theirs| is_theirs(data))) {
        return;
    }
    if overheard.len() < HOST_EVENTS_MAX {
        overheard.push(HostEvent::Received { port, at, frame: data.to_vec() });
    } else {
        counts.rx_hosts_busy += 1;
    }
}

/// Whether a frame is an ICMP message about another packet, which it quotes (RFC 792, RFC 4443 section 2.1).
fn reports_error(data: &[u8]) -> bool {
    let pair = |at: usize| data.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]));
    let mut at = 12;
    while pair(at).is_some_and(wire::is_vlan_type) {
        at += 4;
    }
    let ip = &data[data.len().min(at + 2)..];
    match (pair(at), ip.first()) {
        (Some(0x0800), Some(first)) if ip.get(9) == Some(&1) => {
            let icmp = usize::from(first & 15) * 4;
            ip.get(icmp).is_some_and(|kind| matches!(kind, 3 | 4 | 5 | 11 | 12))
        }
        (Some(0x86dd), Some(_)) if ip.get(6) == Some(&58) => ip.get(40).is_some_and(|kind| *kind < 128),
        _ => false,
    }
}

impl Drop for Receiver<'_> {
    fn drop(&mut self) {
        if self.records.is_some() {
            // All frames are for the next who receives. Nothing refuses that.
            let _ = self.queue.record(None);
        }
        self.queue.free(&mut self.burst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_control_has_no_room_for_is_counted() {
        let mut frame = vec![0; 54];
        frame[12..15].copy_from_slice(&[8, 0, 0x45]);
        frame[23] = 6;
        frame[36..38].copy_from_slice(&bgp::PORT.to_be_bytes());
        let wanted = Wanted { concerns: vec![emulate::is_slow, bgp::may_concern], ..Wanted::default() };
        let (mut overheard, mut counts) = (Vec::new(), PortCounts::default());
        let mut keep = |overheard: Option<&mut Vec<HostEvent>>, data: &[u8]| {
            keep_for_control(overheard, &wanted, 0, Nanos::ZERO, data, &mut counts);
            counts.rx_hosts_busy
        };
        for _ in 0..HOST_EVENTS_MAX + 3 {
            keep(Some(&mut overheard), &frame);
            // Nobody's.
            keep(Some(&mut overheard), &[0; 60]);
        }
        assert_eq!(keep(None, &frame), 3);
        assert_eq!(overheard.len(), HOST_EVENTS_MAX);
    }

    #[test]
    fn frames_are_kept_for_protocols_of_the_port_alone() {
        let mut frame = [0; 124];
        frame[12..14].copy_from_slice(&[0x88, 0x09]);
        let (mut overheard, mut counts) = (Vec::new(), PortCounts::default());
        let in_lag = Wanted { concerns: vec![emulate::is_slow], ..Wanted::default() };
        for (wanted, kept) in [(Wanted::default(), 0), (in_lag, 1)] {
            keep_for_control(Some(&mut overheard), &wanted, 0, Nanos::ZERO, &frame, &mut counts);
            assert_eq!(overheard.len(), kept);
        }
    }
}
