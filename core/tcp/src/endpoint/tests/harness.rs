//! Two endpoints on a seeded link that loses, repeats, delays and reorders, in virtual time.

use crate::app::End;
use crate::box_pool::BoxPool;
use crate::counts::TcpCounts;
use crate::endpoint::{Endpoint, Env, Events, Outgoing, State};
use crate::group::mss_unsaid;
use crate::options::TcpOptions;
use crate::segment::{Flags, Segment, SegmentHeader, Timestamps};
use std::collections::BTreeMap;
use units::Nanos;

pub(super) const MSS: u16 = 1_460;

/// The byte at `offset` of what `side` sends.
pub(super) fn content(side: usize, offset: u64) -> u8 {
    (random::word(random::key(side as u64), offset / 8) >> (offset % 8 * 8)) as u8
}

/// Events of an endpoint.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Told {
    pub opened: u32,
    pub received: u64,
    pub finished: u32,
    pub acknowledged: u64,
    /// Bytes that were not what the other side sent.
    pub wrong: u64,
    from: usize,
}

impl Events for Told {
    fn opened(&mut self) {
        self.opened += 1;
    }

    fn data(&mut self, bytes: &[u8]) {
        assert_eq!(self.finished, 0, "data behind the end");
        assert!(!bytes.is_empty());
        for byte in bytes {
            self.wrong += u64::from(*byte != content(self.from, self.received));
            self.received += 1;
        }
    }

    fn finished(&mut self) {
        self.finished += 1;
    }

    fn acknowledged(&mut self, offset: u64) {
        assert!(offset > self.acknowledged, "{offset} after {}", self.acknowledged);
        self.acknowledged = offset;
    }
}

/// Behaviour of a host's application.
#[derive(Debug, Clone, Default)]
pub(super) struct Plan {
    /// Bytes to send once established.
    pub greet: u64,
    /// Bytes to send once `asked` bytes came in.
    pub answer: u64,
    pub asked: u64,
    /// Close once everything was passed for sending and this number of bytes arrived.
    pub close_at: Option<u64>,
    /// Close when the peer has finished.
    pub close_on_finish: bool,
    /// Stop reading after this number of bytes, for this time.
    pub pause_at: Option<u64>,
    pub pause_for: Nanos,
}

pub(super) struct Host {
    pub side: usize,
    pub endpoint: Option<Endpoint>,
    pub options: TcpOptions,
    pub mss_limit: u16,
    pub mss_unsaid: u16,
    pub busy: BoxPool,
    pub counts: TcpCounts,
    pub told: Told,
    pub end: Option<End>,
    pub iss: u32,
    pub plan: Plan,
    pub listens: bool,
    asked: u64,
    greeted: bool,
    answered: bool,
    closed: bool,
    resume_at: Option<Nanos>,
    paused_once: bool,
}

impl Host {
    fn new(side: usize, options: TcpOptions, plan: Plan) -> Self {
        Self {
            side,
            endpoint: None,
            options,
            mss_limit: MSS,
            mss_unsaid: mss_unsaid(false),
            busy: BoxPool::new(),
            counts: TcpCounts::new(),
            told: Told { from: 1 - side, ..Told::default() },
            end: None,
            iss: [1_000, 500_000][side],
            plan,
            listens: false,
            asked: 0,
            greeted: false,
            answered: false,
            closed: false,
            resume_at: None,
            paused_once: false,
        }
    }

    /// Calls the endpoint with its environment.
    pub(super) fn with<T>(
        &mut self,
        now: Nanos,
        call: impl FnOnce(&mut Endpoint, &mut Env<'_>, &mut Told) -> T,
    ) -> Option<T> {
        let mut env = Env {
            now,
            options: &self.options,
            mss_limit: self.mss_limit,
            mss_unsaid: self.mss_unsaid,
            busy: &mut self.busy,
            counts: &mut self.counts,
        };
        self.endpoint.as_mut().map(|endpoint| call(endpoint, &mut env, &mut self.told))
    }

    fn env_call<T>(&mut self, now: Nanos, call: impl FnOnce(&mut Env<'_>) -> T) -> T {
        call(&mut Env {
            now,
            options: &self.options,
            mss_limit: self.mss_limit,
            mss_unsaid: self.mss_unsaid,
            busy: &mut self.busy,
            counts: &mut self.counts,
        })
    }

    pub(super) fn connect(&mut self, now: Nanos) {
        let iss = self.iss;
        self.endpoint = Some(self.env_call(now, |env| Endpoint::connect(env, iss)));
    }

    pub(super) fn send(&mut self, now: Nanos, bytes: u64) {
        self.asked += bytes;
        self.with(now, |endpoint, env, _| endpoint.send(env, bytes));
    }

    pub(super) fn close(&mut self, now: Nanos) {
        self.closed = true;
        if let Some(Some(end)) = self.with(now, |endpoint, env, _| endpoint.close(env)) {
            self.end = Some(end);
        }
    }

    pub(super) fn receive(&mut self, now: Nanos, bytes: &[u8]) {
        self.receive_marked(now, bytes, false);
    }

    pub(super) fn receive_marked(&mut self, now: Nanos, bytes: &[u8], ce: bool) {
        let segment = match Segment::read(bytes, ce) {
            Ok(segment) => segment,
            Err(why) => return self.counts.malformed(why),
        };
        if self.endpoint.is_none() && self.end.is_none() {
            if self.listens && segment.header.flags.without(Flags::ECE | Flags::CWR) == Flags::SYN {
                let iss = self.iss;
                self.endpoint = Some(self.env_call(now, |env| Endpoint::accept(env, iss, &segment)));
            }
            return;
        }
        if self.end.is_some() {
            return;
        }
        if let Some(Some(end)) =
            self.with(now, |endpoint, env, told| endpoint.on_segment(env, &segment, told))
        {
            self.end = Some(end);
        }
        self.act(now);
    }

    pub(super) fn timer(&mut self, now: Nanos) {
        if self.end.is_none()
            && let Some(Some(end)) = self.with(now, |endpoint, env, told| endpoint.on_timer(env, told))
        {
            self.end = Some(end);
        }
        if self.resume_at.is_some_and(|at| at <= now) {
            self.resume_at = None;
            if self.end.is_none() {
                self.with(now, |endpoint, env, told| endpoint.resume(env, told));
            }
        }
        self.act(now);
    }

    /// Reaction of the application to events.
    fn act(&mut self, now: Nanos) {
        if self.end.is_some() {
            return;
        }
        if self.told.opened > 0 && !self.greeted {
            self.greeted = true;
            if self.plan.greet > 0 {
                self.send(now, self.plan.greet);
            }
        }
        if self.told.opened > 0 && !self.answered && self.told.received >= self.plan.asked {
            self.answered = true;
            if self.plan.answer > 0 {
                self.send(now, self.plan.answer);
            }
        }
        if self.plan.pause_at.is_some_and(|at| self.told.received >= at) && !self.paused_once {
            self.paused_once = true;
            self.with(now, |endpoint, env, _| endpoint.pause(env));
            self.resume_at = Some(now + self.plan.pause_for);
        }
        let done = self.greeted && self.answered;
        let enough = self.plan.close_at.is_some_and(|at| self.told.received >= at);
        let follows = self.plan.close_on_finish && self.told.finished > 0;
        if done && !self.closed && (enough || follows) {
            self.close(now);
        }
    }

    fn next_due(&self, now: Nanos) -> Option<Nanos> {
        let resume = self.resume_at;
        let endpoint = self.endpoint.as_ref().filter(|_| self.end.is_none());
        let deadline =
            endpoint.and_then(|endpoint| endpoint.deadline(now)).map(|tick| tick.nanos(now).max(now));
        [resume, deadline].into_iter().flatten().min()
    }

    /// The next segment, as bytes.
    pub(super) fn transmit(&mut self, now: Nanos) -> Option<(Outgoing, Vec<u8>)> {
        let owes = self.endpoint.as_ref()?.owes();
        let out = self.with(now, |endpoint, env, _| endpoint.transmit(env)).flatten();
        assert_eq!(owes, out.is_some(), "owes() and transmit() disagree");
        let out = out?;
        let len = out.header.len();
        let mut bytes = vec![0; len + usize::from(out.len)];
        out.header.write(1, 2, &mut bytes);
        for (at, byte) in bytes[len..].iter_mut().enumerate() {
            *byte = content(self.side, out.offset + at as u64);
        }
        assert!(out.offset + u64::from(out.len) <= self.asked, "more than was asked for");
        assert!(len - 20 + usize::from(out.len) <= usize::from(self.mss_limit), "larger than the MSS");
        Some((out, bytes))
    }
}

/// Behaviour of the link.
#[derive(Debug, Clone)]
pub(super) struct Wire {
    pub seed: u64,
    pub delay: Nanos,
    /// Delay is up to so much longer, segment by segment.
    pub jitter: Nanos,
    /// Sides whose segments all take the same time.
    pub steady: [bool; 2],
    /// Shares of 1000.
    pub loss: u64,
    pub duplication: u64,
    pub reordering: u64,
    /// Segments lost by their number, counted from 0 on each side.
    pub drops: [Vec<usize>; 2],
    /// Segments marked CE by their number.
    pub marks: [Vec<usize>; 2],
}

impl Default for Wire {
    fn default() -> Self {
        Self {
            seed: 1,
            delay: Nanos::from_millis(5),
            jitter: Nanos::ZERO,
            steady: [false; 2],
            loss: 0,
            duplication: 0,
            reordering: 0,
            drops: [vec![], vec![]],
            marks: [vec![], vec![]],
        }
    }
}

pub(super) struct Link {
    pub hosts: [Host; 2],
    pub wire: Wire,
    pub now: Nanos,
    pub trace: Vec<String>,
    pub sent: Vec<(usize, Outgoing)>,
    queue: BTreeMap<(Nanos, u64), (usize, Vec<u8>, bool)>,
    serial: u64,
    numbers: [usize; 2],
}

impl Link {
    /// A client (0) and a listening server (1).
    pub(super) fn new(options: [TcpOptions; 2], plans: [Plan; 2], wire: Wire) -> Self {
        let ([client, server], [plan, other]) = (options, plans);
        let mut hosts = [Host::new(0, client, plan), Host::new(1, server, other)];
        hosts[1].listens = true;
        Self {
            hosts,
            wire,
            now: Nanos::from_secs(1),
            trace: vec![],
            sent: vec![],
            queue: BTreeMap::new(),
            serial: 0,
            numbers: [0; 2],
        }
    }

    pub(super) fn connect(&mut self) {
        let now = self.now;
        self.hosts[0].connect(now);
    }

    /// Puts all that is owed on the wire.
    pub(super) fn flush(&mut self) {
        for side in [0, 1] {
            while let Some((out, bytes)) = self.hosts[side].transmit(self.now) {
                self.trace.push(self.line(side, &out));
                self.sent.push((side, out));
                self.carry(side, bytes);
            }
        }
    }

    fn carry(&mut self, side: usize, bytes: Vec<u8>) {
        let number = self.numbers[side];
        self.numbers[side] += 1;
        let key = random::key(self.wire.seed ^ (side as u64) << 40);
        let word = |what: u64| random::word(key, number as u64 * 8 + what);
        let happens = |what: u64, share: u64| random::below(word(what), 1_000) < share;
        if self.wire.drops[side].contains(&number) || happens(0, self.wire.loss) {
            return;
        }
        let marked = self.wire.marks[side].contains(&number);
        let copies = 1 + u64::from(happens(1, self.wire.duplication));
        for copy in 0..copies {
            let mut at = self.now + self.wire.delay;
            let jitter = if self.wire.steady[side] { Nanos::ZERO } else { self.wire.jitter };
            at += Nanos(random::below(word(2 + copy), jitter.0 + 1));
            if happens(4 + copy, self.wire.reordering) {
                at += Nanos(self.wire.delay.0 * 2);
            }
            self.queue.insert((at, self.serial), (1 - side, bytes.clone(), marked));
            self.serial += 1;
        }
    }

    fn line(&self, side: usize, out: &Outgoing) -> String {
        let text = text(out, self.hosts[side].iss, self.hosts[1 - side].iss);
        format!("{} {text}", ["A", "B"][side])
    }

    /// The next thing that happens, not after `limit`; whether there was one.
    pub(super) fn step(&mut self, limit: Nanos) -> bool {
        self.flush();
        let arrival = self.queue.keys().next().map(|key| key.0);
        let timers = self.hosts.iter().filter_map(|host| host.next_due(self.now));
        let Some(next) = arrival.into_iter().chain(timers).min().filter(|next| *next <= limit) else {
            return false;
        };
        self.now = self.now.max(next);
        while let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (to, bytes, ce) = entry.remove();
            self.hosts[to].receive_marked(self.now, &bytes, ce);
            self.flush();
        }
        for host in &mut self.hosts {
            host.timer(self.now);
        }
        true
    }

    /// Runs for `span` of virtual time, or until nothing is left to happen.
    pub(super) fn run(&mut self, span: Nanos) {
        let limit = self.now + span;
        while self.step(limit) {}
        if !self.idle() {
            self.now = limit;
        }
    }

    fn idle(&self) -> bool {
        self.queue.is_empty() && self.hosts.iter().all(|host| host.next_due(self.now).is_none())
    }

    pub(super) fn ends(&self) -> [Option<End>; 2] {
        [self.hosts[0].end, self.hosts[1].end]
    }

    /// Takes the trace so far away.
    pub(super) fn told(&mut self) -> Vec<String> {
        std::mem::take(&mut self.trace)
    }
}

/// Both sides with these options.
pub(super) fn both(options: TcpOptions) -> [TcpOptions; 2] {
    [options.clone(), options]
}

/// One established endpoint and a peer that is played by hand. Sequence numbers count from the initial ones.
pub(super) struct Lone {
    pub host: Host,
    pub now: Nanos,
    /// The peer's initial sequence number, and the next it sends.
    pub iss: u32,
    pub nxt: u32,
    /// The last timestamp seen from the endpoint.
    seen: u32,
}

impl Lone {
    /// Nothing has happened yet.
    pub(super) fn new(side: usize, options: TcpOptions) -> Self {
        let mut host = Host::new(side, options, Plan::default());
        host.listens = side == 1;
        Self { host, now: Nanos::from_secs(10), iss: 70_000, nxt: 0, seen: 0 }
    }

    /// A SYN as the peer would send it.
    pub(super) fn syn(&self) -> SegmentHeader {
        SegmentHeader {
            seq: self.iss,
            flags: Flags::SYN,
            window: 60_000,
            mss: Some(MSS),
            window_scale: Some(0),
            sack_permitted: true,
            timestamps: Some(Timestamps { value: self.clock(), echo: self.seen }),
            ..SegmentHeader::default()
        }
    }

    /// A server, established.
    pub(super) fn server(options: TcpOptions) -> Self {
        Self::server_by(options, |_| {})
    }

    /// A server, established by a SYN that is changed a little.
    pub(super) fn server_by(options: TcpOptions, change: impl FnOnce(&mut SegmentHeader)) -> Self {
        let mut lone = Self::new(1, options);
        lone.accept_by(change);
        lone
    }

    /// Establishes a server's flow by a SYN that is changed.
    pub(super) fn accept_by(&mut self, change: impl FnOnce(&mut SegmentHeader)) {
        let mut syn = self.syn();
        change(&mut syn);
        self.put(&syn, b"");
        assert_eq!(self.lines(), ["SYN|ACK 0 ack 1"]);
        self.nxt = 1;
        self.say(Flags::ACK, b"");
        assert_eq!(self.endpoint().state(), State::Established);
        assert_eq!(self.lines().len(), 0);
    }

    /// A client that has sent its SYN.
    pub(super) fn opening(options: TcpOptions) -> Self {
        let mut lone = Self::new(0, options);
        lone.host.connect(lone.now);
        assert_eq!(lone.out().len(), 1);
        lone
    }

    /// A client, established, that has sent nothing yet but the handshake's acknowledgement.
    pub(super) fn client(options: TcpOptions) -> Self {
        let mut lone = Self::opening(options);
        let syn = SegmentHeader { flags: Flags::SYN | Flags::ACK, ack: lone.host.iss + 1, ..lone.syn() };
        lone.put(&syn, b"");
        lone.nxt = 1;
        assert_eq!(lone.lines(), ["ACK 1 ack 1"]);
        lone
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        self.host.endpoint.as_ref().expect("there is an endpoint")
    }

    pub(super) fn clock(&self) -> u32 {
        (self.now.0 >> 20) as u32 + 5_000
    }

    /// A header from the peer's next byte on, acknowledging everything.
    pub(super) fn header(&self, flags: Flags) -> SegmentHeader {
        let endpoint = self.endpoint();
        let timestamps = endpoint.has(super::super::bit::TIMESTAMPS);
        SegmentHeader {
            seq: self.iss.wrapping_add(self.nxt),
            ack: endpoint.snd_nxt,
            flags,
            window: 60_000,
            timestamps: timestamps.then(|| Timestamps { value: self.clock(), echo: self.seen }),
            ..SegmentHeader::default()
        }
    }

    /// The same, acknowledging data before `ack`.
    pub(super) fn ack(&self, ack: u32) -> SegmentHeader {
        SegmentHeader { ack: self.host.iss.wrapping_add(ack), ..self.header(Flags::ACK) }
    }

    /// The same with SACK blocks.
    pub(super) fn sack(&self, ack: u32, blocks: &[(u32, u32)]) -> SegmentHeader {
        let mut header = self.ack(ack);
        for (from, to) in blocks {
            header.sack.push(self.host.iss.wrapping_add(*from), self.host.iss.wrapping_add(*to));
        }
        header
    }

    pub(super) fn put(&mut self, header: &SegmentHeader, payload: &[u8]) {
        let mut bytes = vec![0; header.len()];
        header.write(2, 1, &mut bytes);
        bytes.extend_from_slice(payload);
        self.host.receive(self.now, &bytes);
    }

    pub(super) fn put_marked(&mut self, header: &SegmentHeader, payload: &[u8]) {
        let mut bytes = vec![0; header.len()];
        header.write(2, 1, &mut bytes);
        bytes.extend_from_slice(payload);
        self.host.receive_marked(self.now, &bytes, true);
    }

    /// The next segment of the peer, in order.
    pub(super) fn say(&mut self, flags: Flags, payload: &[u8]) {
        let header = self.header(flags);
        self.put(&header, payload);
        self.nxt += payload.len() as u32 + u32::from(flags.has(Flags::FIN));
    }

    /// `len` of the peer's bytes from `at` on (1 is the first), with the right content.
    pub(super) fn bytes(&self, at: u32, len: u32) -> Vec<u8> {
        (at - 1..at - 1 + len).map(|offset| content(1 - self.host.side, u64::from(offset))).collect()
    }

    /// The peer's next `len` bytes.
    pub(super) fn data(&mut self, len: u32) {
        let bytes = self.bytes(self.nxt, len);
        self.say(Flags::ACK, &bytes);
    }

    /// The peer's bytes from `at` on, out of turn.
    pub(super) fn data_at(&mut self, at: u32, len: u32) {
        let bytes = self.bytes(at, len);
        let header = SegmentHeader { seq: self.iss.wrapping_add(at), ..self.header(Flags::ACK) };
        self.put(&header, &bytes);
    }

    pub(super) fn send(&mut self, bytes: u64) {
        self.host.send(self.now, bytes);
    }

    /// As if the next bytes had been sent and acknowledged.
    pub(super) fn skip(&mut self, mut bytes: u32) {
        self.host.with(self.now, |endpoint, env, _| {
            while bytes > 0 {
                let part = bytes.min(endpoint.unsent());
                assert!(part > 0, "{bytes} bytes were not asked for");
                endpoint.snd_nxt = endpoint.snd_nxt.wrapping_add(part);
                endpoint.snd_una = endpoint.snd_nxt;
                endpoint.set_unsent(endpoint.unsent() - part);
                if endpoint.is_boxed() {
                    endpoint.refill(env);
                }
                bytes -= part;
            }
        });
    }

    /// All segments owed now.
    pub(super) fn out(&mut self) -> Vec<Outgoing> {
        let mut all = vec![];
        while let Some((out, _)) = self.host.transmit(self.now) {
            if let Some(times) = out.header.timestamps {
                self.seen = times.value;
            }
            all.push(out);
        }
        all
    }

    /// The same as text.
    pub(super) fn lines(&mut self) -> Vec<String> {
        let (own, other) = (self.host.iss, self.iss);
        self.out().iter().map(|out| text(out, own, other)).collect()
    }

    /// Time passes; timers run as they come due. Returns the segments sent, each with the milliseconds since the start.
    pub(super) fn wait(&mut self, span: Nanos) -> Vec<String> {
        let (start, until) = (self.now, self.now + span);
        let mut all = vec![];
        loop {
            let due = self.host.next_due(self.now).filter(|due| *due <= until);
            self.now = due.unwrap_or(until);
            if due.is_some() {
                self.host.timer(self.now);
            }
            let ms = (self.now.0 - start.0) / 1_000_000;
            all.extend(self.lines().into_iter().map(|line| format!("{ms} ms {line}")));
            if due.is_none() {
                return all;
            }
        }
    }

    pub(super) fn wait_ms(&mut self, ms: u64) -> Vec<String> {
        self.wait(Nanos::from_millis(ms))
    }
}

/// A segment in a line: flags, sequence number, length, acknowledgement.
pub(super) fn text(out: &Outgoing, own: u32, other: u32) -> String {
    let header = &out.header;
    let mut line = format!("{:?} {}", header.flags, header.seq.wrapping_sub(own));
    if out.len > 0 {
        line += &format!("+{}", out.len);
    }
    if header.flags.has(Flags::ACK) {
        line += &format!(" ack {}", header.ack.wrapping_sub(other));
    }
    if header.window == 0 && !header.flags.has(Flags::RST) {
        line += " win 0";
    }
    for (from, to) in header.sack.as_slice() {
        line += &format!(" sack {}-{}", from.wrapping_sub(other), to.wrapping_sub(other));
    }
    line
}

impl Lone {
    pub(super) fn endpoint_mut(&mut self) -> &mut Endpoint {
        self.host.endpoint.as_mut().expect("there is an endpoint")
    }

    /// Whether the delayed acknowledgement has all of `flags`.
    pub(super) fn has_flag_in_answer(&mut self, flags: Flags) -> bool {
        self.now += Nanos::from_millis(100);
        self.host.timer(self.now);
        self.out()[0].header.flags.has(flags)
    }
}
