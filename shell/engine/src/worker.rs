//! One core's share of a trial: it owns its queues, streams and counters, shares nothing and locks nothing.
//!
//! A turn of the loop: send due packets, process arrivals, reply to requests. Time is read from a clock that is passed
//! in, so the same worker runs on the processor's counter and in a simulation.

pub(crate) mod addition;
pub(crate) mod arrivals;
pub(crate) mod cap;
mod clocks;
pub(crate) mod commands;
mod counting;
mod cut;
pub(crate) mod deadlines;
pub(crate) mod detour;
pub(crate) mod egress;
pub(crate) mod flow_sink;
pub(crate) mod flows;
pub(crate) mod integrity;
mod pieces;
pub(crate) mod receive;
mod records;
mod rest;
mod stamps;
pub(crate) mod steer;
pub(crate) mod template;
pub(crate) mod transmit;
pub(crate) mod tunnels;
pub(crate) mod varied;
pub(crate) mod watch;

use crate::counts::interval::{HITCH_NS, Interval, PAUSE_NS, PortCounts};
use crate::trial::hosts::EmulatedHosts;
use addition::Addition;
use arrivals::Expected;
use commands::{HostEvent, Received, Survey, WorkerCommand};
use counting::Counting;
use cut::Cut;
use detour::Detour;
use flows::{Crowd, Flows, Local};
use measure::{Jitter, Recorder};
use port::{Clock, PortError};
use receive::Receiver;
use rest::Rest;
#[cfg(unix)]
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use transmit::Transmitter;
use units::Nanos;
use watch::Watch;

/// Turns for which timers may wait while frames are taken in.
const CROWDED_MAX: u32 = 64;

/// Data that a worker passes on when it ends.
pub(crate) struct LastReport {
    pub(crate) interval: Box<Interval>,
    pub(crate) jitter: Vec<Jitter>,
    /// The same without what pauses of the tester did.
    pub(crate) undisturbed_jitter: Vec<Jitter>,
    /// Of each stream whether no pause came since its newest packet left.
    pub(crate) is_quiet_since: Vec<bool>,
    /// Packets of each stream that had been sent when its newest left, by their numbers.
    pub(crate) numbered: Vec<u64>,
    /// Packets due that were never sent, for each port.
    pub(crate) unsent: Vec<u64>,
    /// When it sent its last test packet, or its last frame of a session.
    pub(crate) last_departure: Nanos,
}

/// A transmitter and whether it still has something to send.
struct Sending<'a> {
    transmitter: Transmitter<'a>,
    done: bool,
}

/// One core's share of a trial.
pub(crate) struct Worker<'a> {
    sending: Vec<Sending<'a>>,
    receivers: Vec<Receiver<'a>>,
    /// Which of `sending` send frames of a namespace.
    punting: Vec<usize>,
    /// Sessions of each port, where it has some.
    local: Vec<Local>,
    hosts: Arc<EmulatedHosts>,
    expected: Arc<[Expected]>,
    recorder: Recorder,
    interval: Box<Interval>,
    answers: Vec<Vec<u8>>,
    epoch: Nanos,
    /// Time after its end in which a late schedule may still catch up.
    grace: Nanos,
    unsent: Vec<u64>,
    last_turn: Nanos,
    last_busy: bool,
    /// Turns in a row in which there was more to receive than was taken.
    crowded: u32,
    /// Whether everything was sent; then, as long as clients have open sessions, their servers are not notified.
    through: bool,
    waits_for_clients: bool,
    last_departure: Nanos,
    /// Whether there are pings or hosts that control runs, to which other frames may be replies.
    overhears: bool,
    /// Departures of the frames of pings, and surveys.
    reports: Vec<HostEvent>,
    /// Its pauses.
    watch: Watch,
    /// When it may sleep, if it may at all.
    rest: Option<Rest>,
    /// Of test packets, the ones sent and received at the last report of `rest`.
    noted: (u64, u64),
    /// When counters are to be set to zero, if they are, and the interval to continue with.
    cut: Option<Box<Cut>>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(
        transmitters: Vec<Transmitter<'a>>,
        receivers: Vec<Receiver<'a>>,
        local: Vec<Local>,
        hosts: Arc<EmulatedHosts>,
        expected: Arc<[Expected]>,
        recorder: Recorder,
        interval: Box<Interval>,
        grace: Nanos,
    ) -> Self {
        let punting = transmitters.iter().enumerate().filter(|(_, transmitter)| transmitter.punts());
        Self {
            punting: punting.map(|(place, _)| place).collect(),
            sending: transmitters
                .into_iter()
                .map(|transmitter| Sending { transmitter, done: false })
                .collect(),
            receivers,
            local,
            hosts,
            expected,
            recorder,
            unsent: vec![0; interval.ports.len()],
            interval,
            answers: Vec::new(),
            epoch: Nanos::MAX,
            grace,
            last_turn: Nanos::ZERO,
            last_busy: false,
            crowded: 0,
            through: false,
            waits_for_clients: false,
            last_departure: Nanos::ZERO,
            overhears: false,
            reports: Vec::new(),
            watch: Watch::off(),
            rest: None,
            noted: (0, 0),
            cut: None,
        }
    }

    /// Lets it sleep where nothing is due, if at every port arriving frames wake it or are its own. `own`: by port, whether all
    /// that arrives is sent by this worker.
    #[cfg(unix)]
    pub(crate) fn let_rest(&mut self, own: &[bool]) {
        let is_own = |receiver: &Receiver<'_>| own.get(receiver.port()).is_some_and(|own| *own);
        let wakes = self.receivers.iter().all(|receiver| receiver.descriptor().is_some() || is_own(receiver));
        // Frames that another worker passes on wake nobody.
        let alone = self.local.iter().all(|local| local.steer.is_none());
        // What a namespace sends wakes nobody.
        let punts = !self.punting.is_empty();
        self.rest = (wakes && alone && !punts).then(Rest::default);
    }

    /// Watches for pauses of the calling thread.
    pub(crate) fn watch(&mut self, mut watch: Watch) {
        watch.due_at(self.epoch);
        self.watch = watch;
    }

    /// Makes the queues the calling thread's. `epoch` is the instant traffic starts.
    pub(crate) fn attach(&mut self, epoch: Nanos) -> Result<(), PortError> {
        self.epoch = epoch;
        for sending in &mut self.sending {
            sending.transmitter.attach()?;
        }
        self.receivers.iter_mut().try_for_each(Receiver::attach)
    }

    /// One turn; returns whether there was anything to do.
    #[inline]
    pub(crate) fn turn<C: Clock>(&mut self, clock: &C) -> bool {
        let now = clock.now();
        self.keep_time(now);
        self.watch.at(now);
        let mut busy = false;
        let may_receive = self.cut.is_none() || self.pass_cut(now);
        for sending in self.sending.iter_mut().filter(|s| !s.done) {
            if sending.transmitter.turn(now, self.epoch, clock, &mut self.watch, &mut self.interval) {
                self.last_departure = now;
                busy = true;
            } else {
                sending.done = sending.transmitter.is_done(now, self.epoch);
            }
            let deadline = self.epoch.saturating_add(sending.transmitter.end()).saturating_add(self.grace);
            if !sending.done && now > deadline {
                self.unsent[sending.transmitter.port()] += sending.transmitter.abandon();
                sending.done = true;
            }
        }
        let mut is_behind = false;
        for receiver in self.receivers.iter_mut().filter(|_| may_receive) {
            let port = receiver.port();
            let (watch, recorder, interval) = (&mut self.watch, &mut self.recorder, &mut *self.interval);
            let counting = Counting { watch, recorder, interval };
            busy |= receiver.turn(
                clock,
                counting,
                &self.expected,
                &mut self.local[port],
                &self.hosts.ports[port],
                &mut self.answers,
            );
            is_behind |= receiver.took_all_it_could();
            if !self.answers.is_empty() {
                self.interval.ports[port].tx_answers += answer(&mut self.sending, port, now, &self.answers);
                self.answers.clear();
            }
        }
        for place in &self.punting {
            let transmitter = &mut self.sending[*place].transmitter;
            let counts = &mut self.interval.ports[transmitter.port()];
            busy |= transmitter.turn_punt(now, counts);
        }
        if self.watch.recovers() {
            self.recover(now, is_behind);
        }
        // After a pause, frames that came in time are read before time is called. Under load there are always more.
        self.crowded = if is_behind { self.crowded + 1 } else { 0 };
        let load = Crowd { is_behind, holds_timers: (1..=CROWDED_MAX).contains(&self.crowded) };
        for (port, local) in self.local.iter_mut().enumerate() {
            busy |= local.take_passed(now);
            if let Some(tunnels) = &mut local.tunnels {
                let counts = &mut self.interval.ports[port];
                let answers = tunnels.hand_over(counts);
                counts.tx_answers += answer(&mut self.sending, port, now, &answers);
            }
            let Some(flows) = &mut local.flows else { continue };
            busy |= serve(flows, &mut self.sending, now, self.epoch, load, &mut self.interval);
        }
        if self.waits_for_clients && busy {
            self.dismiss(now);
        }
        if let Some(cut) = &mut self.cut {
            cut.note_end(clock.now(), may_receive);
        }
        self.last_busy = busy;
        if busy && self.rest.is_some() {
            self.note(now);
        }
        busy
    }

    /// Goes on recovering from a pause.
    #[cold]
    fn recover(&mut self, now: Nanos, is_behind: bool) {
        let sending = self.sending.iter().filter(|sending| !sending.done);
        let due = sending.map(|sending| sending.transmitter.oldest_due(self.epoch)).min();
        self.watch.recover(now, due.unwrap_or(Nanos::MAX), is_behind);
        let (pauses, kept_ns) = self.watch.take();
        self.interval.pauses += pauses;
        self.interval.kept_ns += kept_ns;
    }

    /// Tells `rest` of a turn in which there was something to do.
    fn note(&mut self, now: Nanos) {
        let Some(rest) = &mut self.rest else { return };
        // Frames of sessions are no test packets, and there is always one to wait for.
        let ports = if self.local.iter().all(Local::is_empty) { &self.interval.ports[..] } else { &[] };
        let sum = |of: fn(&PortCounts) -> u64| ports.iter().map(of).sum::<u64>();
        let (sent, received) = (sum(|port| port.tx_packets), sum(|port| port.rx_packets - port.rx_other));
        // Another interval may have begun.
        let before = if sent < self.noted.0 || received < self.noted.1 { (0, 0) } else { self.noted };
        rest.note(now, sent - before.0, received - before.1);
        self.noted = (sent, received);
    }

    /// Whether it might sleep: it may, and there was nothing to do in the last turn.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        !self.last_busy && self.rest.is_some()
    }

    /// Until when it may sleep if it is idle; `None` if there may be something to do before long.
    pub(crate) fn rests_until(&mut self, now: Nanos) -> Option<Nanos> {
        let waits_for_room = self.sending.iter().any(|s| s.transmitter.waits_for_room());
        if waits_for_room || self.flows().any(Flows::has_more_to_do) {
            return None;
        }
        let due = self.next_due();
        self.rest.as_mut()?.until(now, due)
    }

    /// Descriptors that wake it.
    #[cfg(unix)]
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.receivers.iter().filter_map(Receiver::descriptor)
    }

    /// Takes down a sleep from `since`, which should have ended at `until`: what it lasted longer is a stall.
    pub(crate) fn rested(&mut self, since: Nanos, until: Nanos, now: Nanos) {
        let woken = now.min(until);
        self.keep_time(since);
        self.last_busy = false;
        let slept = woken.since(self.last_turn).0;
        self.interval.total_ns += slept;
        self.interval.slept_ns += slept;
        self.interval.overslept_max_ns = self.interval.overslept_max_ns.max(now.since(woken).0);
        self.last_turn = woken;
        self.watch.slept(until, now);
    }

    fn flows(&self) -> impl Iterator<Item = &Flows> {
        self.local.iter().filter_map(|local| local.flows.as_ref())
    }

    fn flows_mut(&mut self) -> impl Iterator<Item = &mut Flows> {
        self.local.iter_mut().filter_map(|local| local.flows.as_mut())
    }

    /// Charges the time since the last turn to the work of that turn.
    #[inline]
    fn keep_time(&mut self, now: Nanos) {
        if self.last_turn > Nanos::ZERO && now > self.epoch {
            let span = now.since(self.last_turn).0;
            self.interval.total_ns += span;
            self.interval.busy_ns += if self.last_busy { span } else { 0 };
            self.interval.stall_max_ns = self.interval.stall_max_ns.max(span);
            self.interval.paused_ns += if span >= PAUSE_NS { span } else { 0 };
            self.interval.hitches_ns += if span >= HITCH_NS { span } else { 0 };
        }
        self.last_turn = now;
    }

    /// Whether everything is sent or discarded.
    pub(crate) fn is_done_sending(&mut self) -> bool {
        let done = self.sending.iter().all(|s| s.done) && self.flows().all(Flows::is_over);
        if done && !self.through {
            self.through = true;
            self.waits_for_clients = true;
            self.dismiss(self.last_turn);
        }
        done
    }

    /// Notifies servers of sessions that no more clients will come, once there are none: one whose packets were lost still needs
    /// its server.
    #[cold]
    fn dismiss(&mut self, now: Nanos) {
        if self.flows().flat_map(Flows::clients_left).all(|(_, left)| left == 0) {
            self.waits_for_clients = false;
            self.flows_mut().for_each(|flows| flows.dismiss(now));
        }
    }

    /// When it next has something to send.
    pub(crate) fn next_due(&self) -> Nanos {
        let waiting = self.sending.iter().filter(|s| !s.done);
        let packets = waiting.map(|s| s.transmitter.next_due(self.epoch)).min().unwrap_or(Nanos::MAX);
        let cut = self.cut.as_ref().map_or(Nanos::MAX, |cut| cut.next_due());
        self.flows().map(|flows| flows.next_due(self.epoch)).fold(packets.min(cut), Nanos::min)
    }

    /// Sets counters to zero at `at`, and continues with `empty` then. `now`: the time.
    pub(crate) fn cut(&mut self, at: Nanos, empty: Box<Interval>, now: Nanos) {
        let cut = Cut::new(at, empty, now);
        self.hold(cut.at());
        self.cut = Some(Box::new(cut));
    }

    /// The counts of before, once counters were set to zero, and whether nothing was counted on the wrong side of that
    /// instant.
    pub(crate) fn take_cut(&mut self) -> Option<(Box<Interval>, bool)> {
        self.cut.take_if(|cut| cut.is_done()).map(|cut| cut.counted())
    }

    /// Sets counters to zero if it is time; whether frames may be taken in.
    #[cold]
    fn pass_cut(&mut self, now: Nanos) -> bool {
        if let Some(cut) = self.cut.take_if(|cut| cut.is_due(now)) {
            let at = cut.at();
            self.cut = Some(Box::new(cut.pass(|empty| self.swap(empty))));
            self.recorder.begin_anew(at);
            // What was given up until now was due before.
            self.unsent.fill(0);
            self.sending.iter_mut().for_each(|sending| _ = sending.transmitter.given_up());
            self.hold(Nanos::MAX);
        }
        self.cut.as_ref().is_none_or(|cut| cut.may_receive(now))
    }

    fn hold(&mut self, at: Nanos) {
        self.sending.iter_mut().for_each(|sending| sending.transmitter.hold(at));
    }

    /// Carries out a command.
    pub(crate) fn apply(&mut self, command: WorkerCommand, now: Nanos) {
        match command {
            WorkerCommand::SetRate(step) => {
                self.sending.iter_mut().filter(|s| !s.done).for_each(|s| s.transmitter.set_rate(&step));
            }
            WorkerCommand::ScaleSessions(step) => {
                let epoch = self.epoch;
                self.flows_mut().for_each(|flows| flows.scale(&step, epoch));
            }
            WorkerCommand::Overhear(on) => {
                self.overhears = on;
                self.receivers.iter_mut().for_each(|receiver| receiver.overhear(on));
            }
            // One worker sends it, of those that send on the port.
            WorkerCommand::SendFrames { port, frames, tag }
                if self.sending.iter().any(|s| s.transmitter.port() == port && s.transmitter.is_first()) =>
            {
                let sent = answer(&mut self.sending, port, now, &frames);
                self.interval.ports[port].tx_answers += sent;
                // A frame the port does not take is not reported, and asked for again.
                let event = tag.filter(|_| sent > 0).map(|tag| HostEvent::Sent { tag, at: now });
                self.reports.extend(event);
            }
            WorkerCommand::SendFrames { .. } => {}
            WorkerCommand::RemoveStreams(removal) => {
                let sending = self.sending.iter_mut().filter(|s| !s.done);
                sending.for_each(|s| s.transmitter.remove(&removal.streams, removal.at));
            }
            WorkerCommand::CountArrivals { port, streams, on } => {
                let here = self.receivers.iter_mut().filter(|receiver| receiver.port() == port);
                here.for_each(|receiver| receiver.count_arrivals(&streams, on));
            }
            WorkerCommand::Follow(detour) => {
                self.follow(&detour);
                self.survey(&detour, now);
            }
            WorkerCommand::Survey(detour) => self.survey(&detour, now),
            WorkerCommand::Stop(at) => self.stop(at.max(now.since(self.epoch))),
        }
    }

    /// Sends what goes to a neighbour to its new hardware address.
    fn follow(&mut self, detour: &Detour) {
        let here = self.sending.iter_mut().filter(|s| s.transmitter.port() == detour.port);
        here.for_each(|s| s.transmitter.send_to(&detour.streams, detour.to));
        let local = &mut self.local[detour.port];
        local.flows.iter_mut().for_each(|flows| flows.follow(detour));
        if let (Some(tunnels), Some(map)) = (&mut local.tunnels, &detour.map) {
            tunnels.follow(map.clone());
        }
    }

    /// Reports how far the streams that go to a neighbour are.
    fn survey(&mut self, detour: &Detour, now: Nanos) {
        let here = self.sending.iter().filter(|s| s.transmitter.port() == detour.port);
        let sent = here.flat_map(|s| s.transmitter.next_numbers(&detour.measured)).collect();
        let received = |stream: &u32| {
            let (lanes, packets, newest) = self.recorder.progress(*stream as usize);
            Received { stream: *stream, lanes, packets, newest }
        };
        let received = detour.measured.iter().map(received).collect();
        let survey = Survey { sent, received };
        self.reports.push(HostEvent::Surveyed { number: detour.number, at: now, survey });
    }

    /// Whether there may be events for control to hand over.
    #[inline]
    pub(crate) fn overhears(&self) -> bool {
        self.overhears || !self.reports.is_empty() || self.receivers.iter().any(Receiver::has_claims)
    }

    /// Takes out the events for control.
    pub(crate) fn host_events(&mut self) -> impl Iterator<Item = HostEvent> {
        self.reports.drain(..).chain(self.receivers.iter_mut().flat_map(Receiver::overheard))
    }

    /// Counts events for which control had no room.
    pub(crate) fn count_lost(&mut self, events: &[HostEvent]) {
        for event in events {
            if let HostEvent::Received { port, .. } = event {
                self.interval.ports[*port].rx_hosts_busy += 1;
            }
        }
    }

    /// Sends nothing that is not due before `at`, since the start of traffic.
    fn stop(&mut self, at: Nanos) {
        for sending in &mut self.sending {
            sending.transmitter.stop(at);
        }
        self.flows_mut().for_each(|flows| flows.stop(at));
    }

    /// Sends more streams and continues with `empty`, which has room for them; returns the counts.
    pub(crate) fn add(&mut self, more: Addition, empty: Box<Interval>) -> Box<Interval> {
        let Addition { loads, hosts, expected, marks, longest, lets_rest } = more;
        self.rest = self.rest.take().filter(|_| lets_rest);
        (self.hosts, self.expected) = (hosts, expected);
        self.receivers.iter_mut().for_each(|receiver| receiver.count_marks(marks.clone()));
        let counted = self.swap(empty);
        for (port, load) in loads {
            let sending = self.sending.iter_mut().find(|sending| sending.transmitter.port() == port);
            if let Some(sending) = sending {
                sending.transmitter.add(load, longest);
                sending.done = false;
            }
        }
        counted
    }

    /// Returns the counts and continues with `empty`.
    pub(crate) fn swap(&mut self, mut empty: Box<Interval>) -> Box<Interval> {
        self.interval.long_turns_ns += self.watch.take_long_turns();
        self.recorder.swap(&mut empty.arrivals);
        // The table just swapped out rides in the new interval's place; put it into the one that leaves.
        std::mem::swap(&mut empty.arrivals, &mut self.interval.arrivals);
        std::mem::swap(&mut self.interval, &mut empty);
        self.flows_mut().for_each(|flows| flows.hand_over(&mut empty.sessions));
        empty
    }

    /// Ends the worker's part.
    pub(crate) fn finish(mut self, now: Nanos, empty: Box<Interval>) -> LastReport {
        for Sending { transmitter, done } in &mut self.sending {
            self.unsent[transmitter.port()] +=
                if *done { transmitter.given_up() } else { transmitter.abandon() };
        }
        self.recorder.touch_until(self.watch.touched_until(now));
        self.watch.end();
        self.recorder.settle();
        self.receivers.iter_mut().for_each(|receiver| receiver.finish(&mut self.interval));
        for (local, counts) in self.local.iter_mut().zip(&mut self.interval.ports) {
            local.tunnels.iter_mut().for_each(|tunnels| tunnels.finish(counts));
        }
        let expected = self.expected.len();
        let waits = self.waits_for_clients;
        self.flows_mut().for_each(|flows| flows.judge_silent(now, waits));
        let mut through: Vec<usize> =
            self.flows().flat_map(Flows::clients_left).map(|(entry, _)| entry).collect();
        for (entry, left) in self.flows().flat_map(Flows::clients_left) {
            through.retain(|through| left == 0 || *through != entry);
        }
        self.flows_mut().for_each(|flows| flows.judge_left(now, &through));
        let interval = self.swap(empty);
        let sent_at = self.flows().map(Flows::sent_at).max().unwrap_or(Nanos::ZERO);
        let sessions = if sent_at == Nanos::ZERO { Nanos::ZERO } else { self.epoch.saturating_add(sent_at) };
        // Whatever is open now was counted as such; nobody's table should have to wait until it forgets it.
        for flows in self.local.iter_mut().filter_map(|local| local.flows.as_mut()) {
            let mut next = Some(0);
            while let Some(first) = next {
                next = flows.reset_some(now, first);
                serve(flows, &mut self.sending, now, self.epoch, Crowd::NONE, &mut self.interval);
                // As many as there is room for.
                next = next.filter(|_| !flows.has_more_to_do());
            }
        }
        LastReport {
            interval,
            jitter: self.recorder.jitter().collect(),
            undisturbed_jitter: self.recorder.undisturbed_jitter().collect(),
            is_quiet_since: (0..expected).map(|stream| self.recorder.is_quiet_since(stream)).collect(),
            numbered: (0..expected).map(|stream| self.recorder.expected(stream)).collect(),
            unsent: self.unsent,
            last_departure: sessions.max(self.last_departure),
        }
    }
}

/// Opens, times and sends what is due on the flows of one port.
#[inline]
fn serve(
    flows: &mut Flows,
    sending: &mut [Sending<'_>],
    now: Nanos,
    epoch: Nanos,
    load: Crowd,
    interval: &mut Interval,
) -> bool {
    let port = flows.port();
    let mut through = sending.iter_mut().filter(|s| s.transmitter.port() == port);
    let counts = &mut interval.ports[port];
    through.next().is_some_and(|s| flows.turn(now, epoch, load, &mut s.transmitter.flow_sink(now, counts)))
}

fn answer(sending: &mut [Sending<'_>], port: usize, now: Nanos, answers: &[Vec<u8>]) -> u64 {
    let mut through = sending.iter_mut().filter(|s| s.transmitter.port() == port);
    through.next().map_or(0, |s| s.transmitter.answer(now, answers))
}
