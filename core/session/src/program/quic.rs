//! Programs over QUIC: messages on streams of a connection, or each in a DATAGRAM frame. Source: RFC 9000, RFC 9221.
//!
//! A client opens one stream, or several; on each both ends run their programs, beside each other. A program sees its stream as it sees a
//! connection of TCP: its close is the stream's end (FIN), its reset RESET_STREAM. Where streams are unidirectional each end sends on
//! its own: the server's *n*-th is that of the client's *n*-th. Frames of datagrams a program sees as it sees datagrams of UDP. Bytes count
//! as acknowledged once QUIC has taken them, which keeps them until they are. A connection is closed by code 0 once its programs are
//! over: by its client when both ends of each stream have come, by its server if the client leaves it open.
//!
//! In early data, where it is allowed, goes what a client's programs send before anything comes back. If the server rejects that, its
//! bytes are sent again on new streams.
//!
//! Not here: what programs are (`machine`), other streams: they are refused.
//!
//! Invariants: each program has its own flow, a [`Lane`]'s; the session's shows what all of them have in common. Programs are in the order of
//! their streams, at either end. An event has only those looked at that it is for: what is common to all is counted.

use super::{Machine, Program};
use crate::counts::Reason;
use crate::extra::Extras;
use crate::flow::{Ask, Ctx, Flag, Flow};
use crate::http::QuicPlan;
use crate::quic::link::{self, Link, give_up, state};
use crate::quic::{Carried, Due, Quic, QuicEnd, QuicEvent, QuicRead, QuicUnsent, failure};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use tcp::End;
use units::Nanos;

/// Codes by which a connection is closed: its programs are over, or one has failed.
const OVER: u64 = 0;
const FAILED: u64 = 1;
/// Bytes of a message passed to QUIC at a time.
const PIECE: u64 = 16 << 10;
/// Programs of a connection, at most: no stream of a client beyond them is taken.
const LANES_MAX: usize = 10_000;
/// Time for which an end that is over waits for the other one to be over, too.
const PARTING: Nanos = Nanos::from_secs(1);
/// When it is looked again whether the last datagrams have left.
const LOOK_AGAIN: Nanos = Nanos::from_micros(100);

/// A program made ready.
#[derive(Debug)]
pub(crate) struct OverQuic {
    machine: Machine,
    /// Each message goes in a DATAGRAM frame.
    datagrams: bool,
    /// Streams that a client opens.
    streams: u16,
    /// Each end sends on its own stream.
    one_way: bool,
    /// Clients send in early data where it is allowed.
    early_data: bool,
}

/// A flow's connection.
pub(crate) struct Channel {
    pub(crate) carried: Carried,
    /// Programs, in the order of their streams.
    lanes: Vec<Lane>,
    /// Number of them that show each sign.
    signs: [usize; SIGNS],
    /// When they want to be woken, and some that do not any more.
    wakes: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// Number of the first that have a stream on which they send.
    opened: usize,
    /// Others that have something to send.
    waiting: BTreeSet<usize>,
    /// Those that are woken now.
    due: Vec<usize>,
    /// When the connection is closed at the latest.
    parts: Option<Nanos>,
    /// Programs of a client run, although the handshake is not done: what they send may have to be sent again.
    early: bool,
}

/// A program at work.
#[derive(Default)]
struct Lane {
    /// The flow that it sees.
    flow: Flow,
    /// The streams on which it sends and receives, once they are there.
    output: Option<u64>,
    input: Option<u64>,
    /// Bytes that it passed for sending, and how many of them QUIC has taken.
    asked: u64,
    taken: u64,
    /// It sends nothing more; QUIC knows, and all has arrived.
    ends: bool,
    ended: bool,
    delivered: bool,
    /// It has reset its stream: it sends nothing more, on another one either.
    resets: bool,
    /// It does not read; the other end's last byte has come, and the program knows.
    paused: bool,
    heard: bool,
    /// When it wants to be woken.
    wake: Option<Nanos>,
    /// Signs that were counted.
    signs: [bool; SIGNS],
}

/// Signs of programs that are counted, by place.
mod sign {
    /// It has done all.
    pub(super) const DONE: usize = 0;
    /// It has done all, and the other end has all of it.
    pub(super) const OVER: usize = 1;
    /// The other end has sent all.
    pub(super) const HEARD: usize = 2;
    /// It waits for a message, of which some has come.
    pub(super) const AWAITS: usize = 3;
    pub(super) const BEGUN: usize = 4;
    /// It waits for its turn.
    pub(super) const TURN: usize = 5;
    /// It has stopped.
    pub(super) const STOPPED: usize = 6;
}
const SIGNS: usize = 7;

impl Lane {
    fn signs(&self, machine: &Machine) -> [bool; SIGNS] {
        let is_done = self.flow.has(Flag::Done);
        let awaits = machine.awaits_reply(&self.flow);
        [
            is_done,
            is_done && self.ended && self.delivered,
            // A server that sends nothing has no stream.
            self.heard || self.input.is_none(),
            awaits,
            awaits && self.flow.has(Flag::FirstByte),
            self.flow.has(Flag::Turn),
            self.flow.has(Flag::Stopped),
        ]
    }
}

impl Channel {
    fn new(quic: Box<dyn Quic>, now: Nanos, base: u64) -> Self {
        let mut carried = Carried::new(quic, now, base);
        carried.close_by(OVER);
        Self {
            carried,
            lanes: Vec::new(),
            signs: [0; SIGNS],
            wakes: BinaryHeap::new(),
            opened: 0,
            waiting: BTreeSet::new(),
            due: Vec::new(),
            parts: None,
            early: false,
        }
    }

    /// The flows of its programs.
    pub(crate) fn flows(&self) -> impl Iterator<Item = &Flow> {
        self.lanes.iter().map(|lane| &lane.flow)
    }

    /// The same, each with its additional state.
    pub(crate) fn into_flows(self) -> impl Iterator<Item = Flow> {
        self.lanes.into_iter().map(|lane| lane.flow)
    }

    /// The program that sends, or receives, on a stream.
    fn sends_on(&self, stream: u64) -> Option<usize> {
        let place = (stream >> 2) as usize;
        (self.lanes.get(place)?.output == Some(stream)).then_some(place)
    }

    fn reads(&self, stream: u64) -> Option<usize> {
        let place = (stream >> 2) as usize;
        (self.lanes.get(place)?.input == Some(stream)).then_some(place)
    }

    /// Counts the signs of a program that may have changed. `machine` is its own.
    fn count(&mut self, machine: &Machine, place: usize) {
        let lane = &mut self.lanes[place];
        let signs = lane.signs(machine);
        for ((count, is_now), was) in self.signs.iter_mut().zip(signs).zip(lane.signs) {
            *count = *count + usize::from(is_now) - usize::from(was);
        }
        lane.signs = signs;
    }

    /// Panics unless what is counted, and noted beside the programs, is so.
    #[cfg(test)]
    fn check(&mut self, machine: &Machine) {
        let shown = |sign: usize| self.lanes.iter().filter(|lane| lane.signs(machine)[sign]).count();
        assert_eq!(self.signs, std::array::from_fn(shown));
        let first = self.lanes.iter().filter_map(|lane| lane.wake).min();
        assert_eq!(self.first_wake().map(|(at, _)| at), first);
        let opened = self.lanes.iter().take_while(|lane| lane.output.is_some()).count();
        assert_eq!(
            (self.opened, self.lanes.iter().skip(opened).find_map(|lane| lane.output)),
            (opened, None)
        );
    }

    /// Whether all programs show a sign.
    fn all(&self, sign: usize) -> bool {
        self.signs[sign] == self.lanes.len()
    }

    /// A program wants to be woken, or not any more.
    fn wake(&mut self, place: usize, at: Option<Nanos>) {
        self.lanes[place].wake = at;
        self.wakes.extend(at.map(|at| Reverse((at, place))));
        if self.wakes.len() > 2 * self.lanes.len() + 8 {
            let wanted = |(place, lane): (usize, &Lane)| Some(Reverse((lane.wake?, place)));
            self.wakes = self.lanes.iter().enumerate().filter_map(wanted).collect();
        }
    }

    /// The program that wants to be woken first, and when.
    fn first_wake(&mut self) -> Option<(Nanos, usize)> {
        while let Some(Reverse((at, place))) = self.wakes.peek().copied() {
            if self.lanes[place].wake == Some(at) {
                return Some((at, place));
            }
            self.wakes.pop();
        }
        None
    }

    /// Shows on the session's flow what its programs have in common.
    fn show(&self, flow: &mut Flow, wanted: usize) {
        if flow.has(Flag::Failed) {
            return;
        }
        // Whatever goes in early data, nothing is done before the handshake is.
        let is_open = flow.state != state::CONNECTING;
        let any = |sign: usize| self.signs[sign] > 0;
        flow.waiting = u8::from(any(sign::AWAITS));
        for (flag, is_set) in [
            (Flag::Done, is_open && self.lanes.len() >= wanted && self.all(sign::DONE)),
            (Flag::FirstByte, any(sign::AWAITS) && self.signs[sign::BEGUN] == self.signs[sign::AWAITS]),
            (Flag::Turn, any(sign::TURN)),
            (Flag::Stopped, any(sign::STOPPED)),
        ] {
            if is_set { flow.set(flag) } else { flow.unset(flag) }
        }
    }
}

/// Does something with a flow's connection.
fn with(ctx: &mut Ctx<'_>, flow: &mut Flow, work: impl FnOnce(&mut Ctx<'_>, &mut Flow, &mut Channel)) {
    link::with(ctx, flow, |ctx, flow, link| {
        if let Link::Program(channel) = link {
            work(ctx, flow, channel);
        }
    });
}

impl OverQuic {
    pub(crate) fn new(program: &Program, plan: QuicPlan) -> Self {
        Self {
            machine: Machine::new(program),
            datagrams: plan.datagrams,
            streams: plan.streams.max(1),
            one_way: plan.unidirectional,
            early_data: plan.early_data && !plan.datagrams,
        }
    }

    /// Programs of a session: of a server, as far as it knows.
    fn wanted(&self, ctx: &Ctx<'_>) -> usize {
        if ctx.is_client() && !self.datagrams { usize::from(self.streams) } else { 1 }
    }

    pub(crate) fn opened(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if !ctx.is_client() {
            return;
        }
        if flow.state == state::PATH {
            return link::keep_path(ctx, flow);
        }
        let Some(quic) = link::connect(ctx, flow) else { return };
        let early = self.early_data && quic.has_early_keys();
        let channel = Box::new(Channel { early, ..Channel::new(quic, ctx.now, 0) });
        ctx.extras.of(flow).quic = Some(Box::new(Link::Program(channel)));
        link::await_handshake(ctx, flow);
        if early {
            with(ctx, flow, |ctx, flow, channel| self.begin_client(ctx, flow, channel));
        }
    }

    pub(crate) fn received(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, datagram: &[u8]) {
        if ctx.is_client() && flow.state == state::PATH {
            return link::received_path(ctx, flow, datagram);
        }
        flow.set(Flag::Progress);
        if !ctx.is_client() && link::is_to_accept(flow) {
            let Some((quic, base)) = link::accept(ctx, flow, datagram) else { return };
            let channel = Box::new(Channel::new(quic, ctx.now, base));
            ctx.extras.of(flow).quic = Some(Box::new(Link::Program(channel)));
            link::await_handshake(ctx, flow);
        } else {
            with(ctx, flow, |ctx, _, channel| channel.carried.receive(ctx, datagram));
        }
        with(ctx, flow, |ctx, flow, channel| self.go_on(ctx, flow, channel));
    }

    /// Handles events, and acts on them.
    fn go_on(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel) {
        while let Some(event) = channel.carried.quic.poll() {
            if flow.has(Flag::Failed) || channel.carried.is_over() {
                continue;
            }
            match event {
                QuicEvent::Connected => self.connected(ctx, flow, channel),
                QuicEvent::Readable(id) => match self.lane_of(ctx, flow, channel, id) {
                    Some(lane) => self.read(ctx, flow, channel, lane),
                    None => Self::refuse(ctx, channel, id),
                },
                QuicEvent::Writable(id) => {
                    if let Some(lane) = channel.sends_on(id) {
                        self.tell(ctx, flow, channel, lane, |_, _, _| {});
                    }
                }
                QuicEvent::Available => self.open_more(ctx, flow, channel),
                QuicEvent::Delivered(id) => {
                    if let Some(lane) = channel.sends_on(id) {
                        channel.lanes[lane].delivered = true;
                        channel.count(&self.machine, lane);
                    }
                }
                QuicEvent::Stopped(id, code) => {
                    if let Some(lane) = channel.sends_on(id) {
                        self.given_up(ctx, flow, channel, lane, &format!("STOP_SENDING: code {code:#x}"));
                    }
                }
                QuicEvent::Datagram => self.read_datagrams(ctx, flow, channel),
                QuicEvent::Lost(end) => self.lost(ctx, flow, channel, &end),
            }
        }
        self.part(ctx, flow, channel);
    }

    /// The program that reads a stream of the other end's, which begins if it has not.
    fn lane_of(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        channel: &mut Channel,
        id: u64,
    ) -> Option<usize> {
        if let Some(lane) = channel.reads(id) {
            return Some(lane);
        }
        let is_of_client = id & 1 == 0;
        if self.datagrams || (id & 2 != 0) != self.one_way || is_of_client == ctx.is_client() {
            return None;
        }
        let place = (id >> 2) as usize;
        if ctx.is_client() {
            // The server's stream for a program of ours.
            channel.lanes.get_mut(place)?.input = Some(id);
            channel.count(&self.machine, place);
            return Some(place);
        }
        if place >= LANES_MAX {
            return None;
        }
        // A client opens its streams in order, as QUIC does all before one (RFC 9000 section 3.2).
        while channel.lanes.len() <= place {
            let stream = (channel.lanes.len() as u64) << 2 | u64::from(self.one_way) << 1;
            let output = (!self.one_way).then_some(stream);
            self.begin(ctx, flow, channel, Lane { output, input: Some(stream), ..Lane::default() });
        }
        Some(place)
    }

    /// Refuses a stream that no program has a use for.
    #[cold]
    fn refuse(ctx: &mut Ctx<'_>, channel: &mut Channel, id: u64) {
        ctx.counts.detail("a stream that the program has no use for was refused");
        channel.carried.quic.stop(id, OVER);
        if id & 2 == 0 {
            channel.carried.quic.reset(id, OVER);
        }
    }

    fn connected(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel) {
        flow.state = state::OPEN;
        channel.carried.connected(ctx, flow);
        if !ctx.is_client() {
            ctx.counts.quic.early_data_accepted += u64::from(channel.carried.quic.has_early_keys());
            for place in 0..channel.lanes.len() {
                self.tell(ctx, flow, channel, place, |_, _, _| {});
            }
        } else if std::mem::take(&mut channel.early) {
            self.end_early(ctx, flow, channel);
        }
        if self.datagrams {
            return self.begin(ctx, flow, channel, Lane::default());
        }
        self.begin_client(ctx, flow, channel);
        if channel.lanes.is_empty() {
            // A server waits for its client to open a stream, and a client for its server to take one.
            let patience = ctx.common.patience;
            ctx.arm(flow, if ctx.is_client() { patience.response } else { patience.idle });
        }
    }

    /// The handshake is done: the server has what was sent before, or gets it again.
    #[cold]
    fn end_early(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel) {
        let is_accepted = channel.carried.quic.is_early_accepted();
        let quic = &mut ctx.counts.quic;
        *(if is_accepted { &mut quic.early_data_accepted } else { &mut quic.early_data_rejected }) += 1;
        if !is_accepted {
            for lane in &mut channel.lanes {
                (lane.output, lane.input) = (None, None);
                (lane.taken, lane.ended, lane.delivered) = (0, lane.resets, lane.resets);
                lane.asked *= u64::from(!lane.resets);
            }
            channel.opened = 0;
            self.reopen(channel);
        }
        for place in 0..channel.lanes.len() {
            let taken = channel.lanes[place].taken;
            ctx.counts.bytes_delivered += taken;
            self.tell(ctx, flow, channel, place, |machine, ctx, flow| {
                if taken > 0 {
                    machine.acknowledged(ctx, flow, taken);
                }
            });
        }
    }

    /// Opens new streams for a client's programs that have lost theirs, as many as the server takes.
    #[cold]
    fn reopen(&self, channel: &mut Channel) {
        while channel.opened < channel.lanes.len() {
            let Some(id) = channel.carried.quic.open(!self.one_way) else { return };
            let lane = &mut channel.lanes[channel.opened];
            (lane.output, lane.input) = (Some(id), (!self.one_way).then_some(id));
            if lane.resets {
                channel.carried.quic.reset(id, OVER);
            }
            channel.count(&self.machine, channel.opened);
            channel.opened += 1;
        }
    }

    /// The other end takes more streams: programs that wait for one continue.
    fn open_more(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel) {
        let (lanes, opened) = (channel.lanes.len(), channel.opened);
        self.begin_client(ctx, flow, channel);
        if ctx.is_client() {
            for place in opened..channel.opened.min(lanes) {
                self.tell(ctx, flow, channel, place, |_, _, _| {});
            }
        }
        // The first gets its stream first: if there is none for it, there is none for the others.
        while let Some(place) = channel.waiting.pop_first() {
            self.tell(ctx, flow, channel, place, |_, _, _| {});
            if channel.lanes[place].output.is_none() {
                return;
            }
        }
    }

    /// Opens the streams of a client's programs, as many as the server takes.
    fn begin_client(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel) {
        let is_early = channel.early && flow.state == state::CONNECTING;
        let may_open = ctx.is_client() && !self.datagrams && (flow.state == state::OPEN || is_early);
        if may_open {
            self.reopen(channel);
        }
        while may_open && channel.lanes.len() < usize::from(self.streams) && !flow.has(Flag::Failed) {
            let Some(id) = channel.carried.quic.open(!self.one_way) else { return };
            let input = (!self.one_way).then_some(id);
            self.begin(ctx, flow, channel, Lane { output: Some(id), input, ..Lane::default() });
        }
    }

    /// A program begins.
    fn begin(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel, mut lane: Lane) {
        lane.flow = Flow::new(u64::from(flow.number), ctx.now);
        lane.flow.until = flow.until;
        channel.opened += usize::from(lane.output.is_some());
        channel.lanes.push(lane);
        channel.parts = None;
        flow.unset(Flag::Armed);
        let last = channel.lanes.len() - 1;
        self.tell(ctx, flow, channel, last, |machine, ctx, flow| machine.opened(ctx, flow));
    }

    /// Has a program see its flow, and carries out its requests.
    fn tell(
        &mut self,
        ctx: &mut Ctx<'_>,
        flow: &mut Flow,
        channel: &mut Channel,
        place: usize,
        tell: impl FnOnce(&Machine, &mut Ctx<'_>, &mut Flow),
    ) {
        if flow.has(Flag::Failed) || channel.carried.is_over() {
            return;
        }
        let outer = std::mem::take(&mut ctx.ask);
        let udp = std::mem::replace(&mut ctx.udp, self.datagrams);
        let wanted = self.wanted(ctx);
        let lane = &mut channel.lanes[place];
        if flow.has(Flag::Stopping) {
            lane.flow.set(Flag::Stopping);
        }
        let before = ctx.counts.requests;
        tell(&self.machine, ctx, &mut lane.flow);
        if flow.state == state::CONNECTING {
            ctx.counts.quic.early_requests += ctx.counts.requests - before;
        }
        let wrong = self.send(ctx, channel, place);
        let ask = std::mem::replace(&mut ctx.ask, outer);
        ctx.udp = udp;
        let lane = &mut channel.lanes[place];
        flow.at = lane.flow.at;
        if lane.flow.has(Flag::Failed) {
            let reason = lane.flow.reason();
            ctx.fail_softly(flow, reason);
            return Self::fail(ctx, flow, channel);
        }
        if let Some(why) = wrong {
            ctx.counts.detail(&why);
            ctx.fail_softly(flow, Reason::QuicProtocol);
            return Self::fail(ctx, flow, channel);
        }
        channel.count(&self.machine, place);
        channel.show(flow, wanted);
        self.obey(ctx, flow, channel, place, &ask);
        channel.count(&self.machine, place);
    }

    /// Carries out a program's requests to its carrier, but for sending.
    fn obey(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel, place: usize, ask: &Ask) {
        if let Some(at) = ask.wake {
            channel.wake(place, (at != Nanos::MAX).then_some(at));
        }
        let (lane, quic) = (&mut channel.lanes[place], &mut channel.carried.quic);
        if ask.reset {
            lane.output.iter().for_each(|id| quic.reset(*id, OVER));
            (lane.resets, lane.ended, lane.delivered) = (true, true, true);
        }
        lane.ends |= ask.close;
        let has_stream = lane.output.is_some() || self.datagrams || !ctx.is_client();
        if lane.ends && lane.taken == lane.asked && !lane.ended && has_stream {
            lane.ended = true;
            match lane.output {
                Some(id) if !self.datagrams => quic.finish(id),
                // Nothing was sent.
                _ => lane.delivered = true,
            }
        }
        if let Some(reads) = ask.read {
            let resumes = reads && lane.paused;
            lane.paused = !reads;
            if resumes {
                self.read(ctx, flow, channel, place);
            }
        }
    }

    /// Passes what a program has sent to QUIC, as far as that takes it. Returns what is wrong with it, if something is.
    fn send(&self, ctx: &mut Ctx<'_>, channel: &mut Channel, place: usize) -> Option<String> {
        loop {
            let asked = std::mem::take(&mut ctx.ask.send);
            let lane = &mut channel.lanes[place];
            lane.asked += asked;
            let left = lane.asked - lane.taken;
            if left == 0 && !(self.datagrams && asked > 0) {
                return None;
            }
            let output = match self.datagrams {
                true => None,
                false if ctx.is_client() => Some(channel.lanes[place].output?),
                false => Some(Self::output(channel, place)?),
            };
            let lane = &mut channel.lanes[place];
            let mut bytes = std::mem::take(ctx.scratch);
            let piece = if self.datagrams { left } else { left.min(PIECE) };
            bytes.resize(piece as usize, 0);
            self.machine.fill(&lane.flow, ctx.extras, lane.taken, &mut bytes);
            let taken = match output {
                None => {
                    match channel.carried.quic.send_datagram(&bytes) {
                        Ok(()) => ctx.counts.quic.datagram_frames_sent += 1,
                        Err(QuicUnsent::TooLong(most)) => {
                            return Some(format!(
                                "a message of {piece} B, and a DATAGRAM frame takes {most} B"
                            ));
                        }
                        Err(QuicUnsent::Unsupported) => {
                            return Some("the other end takes no DATAGRAM frames".to_owned());
                        }
                    }
                    bytes.len()
                }
                // Of a stream that is stopped or reset nothing more is wanted.
                Some(id) => channel.carried.quic.send(id, &bytes).unwrap_or(bytes.len()),
            };
            *ctx.scratch = bytes;
            lane.taken += taken as u64;
            if channel.early {
                if taken == 0 {
                    return None;
                }
                // It counts once the server has accepted it.
                continue;
            }
            ctx.counts.bytes_delivered += taken as u64;
            if output.is_some() {
                if taken == 0 {
                    // It says when it takes more.
                    return None;
                }
                self.machine.acknowledged(ctx, &mut lane.flow, lane.taken);
            }
        }
    }

    /// The stream on which a server's program sends; it is opened now, in the order of the programs, or once there may be more.
    fn output(channel: &mut Channel, place: usize) -> Option<u64> {
        while channel.opened <= place {
            let Some(id) = channel.carried.quic.open(false) else {
                channel.waiting.insert(place);
                return None;
            };
            channel.lanes[channel.opened].output = Some(id);
            channel.opened += 1;
        }
        channel.lanes[place].output
    }

    /// Reads the stream of a program, if that does.
    fn read(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel, place: usize) {
        loop {
            let lane = &channel.lanes[place];
            let Some(id) = lane.input else { return };
            if lane.paused || lane.heard || flow.has(Flag::Failed) {
                return;
            }
            let mut bytes = Vec::new();
            let outcome = channel.carried.quic.read(id, &mut |some| bytes.extend_from_slice(some));
            if !bytes.is_empty() {
                ctx.counts.bytes_received += bytes.len() as u64;
                channel.lanes[place].flow.set(Flag::Progress);
                self.tell(ctx, flow, channel, place, |machine, ctx, flow| {
                    machine.received(ctx, flow, &bytes);
                });
            }
            match outcome {
                QuicRead::Finished => {
                    channel.lanes[place].heard = true;
                    self.tell(ctx, flow, channel, place, |machine, ctx, flow| machine.finished(ctx, flow));
                }
                QuicRead::Reset(code) => {
                    channel.lanes[place].heard = true;
                    let why = format!("RESET_STREAM: code {code:#x}");
                    self.given_up(ctx, flow, channel, place, &why);
                }
                QuicRead::Blocked | QuicRead::Closed => return,
            }
        }
    }

    fn read_datagrams(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel) {
        while let Some(datagram) = channel.carried.quic.read_datagram() {
            ctx.counts.quic.datagram_frames_received += 1;
            let Some(lane) = channel.lanes.first_mut().filter(|_| self.datagrams) else {
                ctx.counts.detail("a DATAGRAM frame that the program has no use for");
                continue;
            };
            ctx.counts.bytes_received += datagram.len() as u64;
            lane.flow.set(Flag::Progress);
            self.tell(ctx, flow, channel, 0, |machine, ctx, flow| machine.received(ctx, flow, &datagram));
        }
    }

    /// The other end has given a stream up. A program that is over has lost nothing.
    #[cold]
    fn given_up(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel, place: usize, why: &str) {
        if !channel.lanes[place].flow.has(Flag::Done) {
            ctx.counts.detail(why);
            ctx.fail_softly(flow, Reason::StreamReset);
            Self::fail(ctx, flow, channel);
        }
        channel.lanes[place].delivered = true;
        channel.count(&self.machine, place);
    }

    /// A program has failed: the other end gets a code.
    #[cold]
    fn fail(ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel) {
        channel.carried.close_by(FAILED);
        flow.set(Flag::Closing);
        ctx.ask.close = true;
    }

    /// Closes the connection of programs that are over, if it is time for that, and sees to it that the flow is woken.
    fn part(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel) {
        let runs = !channel.lanes.is_empty() && flow.state == state::OPEN;
        if !runs || channel.carried.is_over() || flow.has(Flag::Failed) {
            return;
        }
        #[cfg(test)]
        channel.check(&self.machine);
        let mut parts = None;
        if flow.has(Flag::Done) && channel.all(sign::OVER) {
            let at = *channel.parts.get_or_insert_with(|| ctx.now.saturating_add(PARTING));
            // Frames of datagrams that have not left would not any more.
            let is_through = match self.datagrams {
                true => channel.carried.quic.datagrams_left() == 0,
                false => channel.all(sign::HEARD),
            };
            if ctx.is_client() && is_through || at <= ctx.now {
                flow.state = state::END;
                ctx.ask.close = true;
                return;
            }
            parts = Some(if self.datagrams { at.min(ctx.now.saturating_add(LOOK_AGAIN)) } else { at });
        }
        let wake = channel.first_wake().map(|(at, _)| at);
        ctx.ask.wake = Some(wake.into_iter().chain(parts).min().unwrap_or(Nanos::MAX));
    }

    pub(crate) fn woke(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if link::woke_without(ctx, flow) {
            return;
        }
        with(ctx, flow, |ctx, flow, channel| {
            let due = channel.carried.woke(ctx, flow);
            if due == Due::Handshake {
                return link::no_handshake(ctx, flow);
            }
            let is_due = due == Due::Wake;
            if is_due && flow.state == state::OPEN && channel.lanes.is_empty() {
                let reason = if ctx.is_client() { Reason::ResponseTimeout } else { Reason::IdleTimeout };
                return give_up(ctx, flow, reason);
            }
            let mut due = std::mem::take(&mut channel.due);
            if is_due {
                while let Some((_, place)) = channel.first_wake().filter(|(at, _)| *at <= ctx.now) {
                    channel.wake(place, None);
                    due.push(place);
                }
                due.sort_unstable();
                for place in due.iter().copied() {
                    channel.lanes[place].flow.unset(Flag::Armed);
                    self.tell(ctx, flow, channel, place, Machine::woke);
                }
            }
            due.clear();
            channel.due = due;
            self.go_on(ctx, flow, channel);
        });
    }

    /// Takes away the turns of all programs that wait for one, which are woken now to request another.
    #[cold]
    pub(crate) fn ask_again(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        with(ctx, flow, |ctx, flow, channel| {
            for place in 0..channel.lanes.len() {
                if ctx.take_turn_away(&mut channel.lanes[place].flow) {
                    channel.count(&self.machine, place);
                    channel.wake(place, Some(ctx.now));
                }
            }
            channel.show(flow, self.wanted(ctx));
            ctx.ask.wake = Some(ctx.now);
        });
    }

    pub(crate) fn stop(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        with(ctx, flow, |ctx, flow, channel| {
            for place in 0..channel.lanes.len() {
                self.tell(ctx, flow, channel, place, Machine::stop);
            }
            if channel.lanes.is_empty() && flow.state == state::OPEN {
                flow.set(Flag::Stopped);
                flow.state = state::END;
                return ctx.close(flow);
            }
            self.part(ctx, flow, channel);
        });
    }

    #[cold]
    fn lost(&mut self, ctx: &mut Ctx<'_>, flow: &mut Flow, channel: &mut Channel, end: &QuicEnd) {
        flow.set(Flag::PeerClosed);
        let open = flow.state != state::CONNECTING;
        match failure(end, open, OVER, Reason::NoAlpn, |code| format!("code {code:#x}")) {
            _ if flow.has(Flag::Done) => {}
            None => {
                for place in 0..channel.lanes.len() {
                    if !std::mem::replace(&mut channel.lanes[place].heard, true) {
                        self.tell(ctx, flow, channel, place, |machine, ctx, flow| {
                            machine.finished(ctx, flow);
                        });
                    }
                }
                if !flow.has(Flag::Done) {
                    ctx.fail_softly(flow, Reason::ClosedEarly);
                }
            }
            Some((reason, why)) => {
                ctx.counts.detail(&why);
                ctx.fail_softly(flow, reason);
            }
        }
        flow.state = state::END;
        flow.set(Flag::Closing);
        ctx.ask.close = true;
    }

    /// A connection ends by itself, not by its flow.
    pub(crate) fn finished(&self, _: &mut Ctx<'_>, _: &mut Flow) {}

    /// Datagrams are not acknowledged.
    pub(crate) fn acknowledged(&self, _: &mut Ctx<'_>, _: &mut Flow, _: u64) {}

    pub(crate) fn awaits_reply(flow: &Flow) -> bool {
        flow.waiting > 0
    }

    pub(crate) fn is_complete(flow: &Flow, _: End) -> bool {
        flow.has(Flag::Done)
    }

    pub(crate) fn fill(&self, flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]) {
        link::fill(flow, extras, offset, out);
    }
}

#[cfg(test)]
mod tests;
