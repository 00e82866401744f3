//! A client's and a server's applications joined by two byte streams, in virtual time, cut into any pieces.

use crate::apps::{Apps, groups};
use crate::counts::Counts;
use crate::flow::Flow;
use crate::plan::*;
use crate::secure::{Layer, SecureSide};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::ops::RangeInclusive;
use tcp::{App, End, FlowId, GroupId, Io, TcpOptions, UdpOptions};
use units::{Nanos, Pps};

pub(crate) const CLIENT: GroupId = GroupId(0);
pub(crate) const SERVER: GroupId = GroupId(1);

pub(crate) fn side(port: usize) -> SidePlan {
    SidePlan {
        port,
        hosts: vec![SideHost::default()],
        mtu: 1500,
        ttl: 64,
        tos: 0,
        tcp: TcpOptions::default(),
        udp: UdpOptions { idle_timeout: None, ecn: false, refused_after: Nanos::ZERO },
        tunnel: None,
        pppoe: None,
    }
}

pub(crate) fn addresses(first: &str, last: &str, ports: RangeInclusive<u16>) -> PoolPlan {
    let range =
        AddressRange { first: first.parse().unwrap(), last: last.parse().unwrap(), weight: 1, host: 0 };
    PoolPlan { addresses: vec![range], ports, begin: PortBegin::First }
}

/// An entry of one application, both ends played.
pub(crate) fn plan(app: AppPlan) -> SessionPlan {
    SessionPlan {
        name: "test".to_owned(),
        carrier: Carrier::Tcp,
        client: Some(side(0)),
        server: Some(side(1)),
        clients: addresses("10.0.0.1", "10.0.0.9", 1024..=65_535),
        servers: addresses("10.0.1.1", "10.0.1.1", 80..=80),
        order: PairOrder::All(SelectionOrder::Sequential),
        mix: Mix::one(app),
        tunnel: None,
        tls: None,
        quic: QuicOptions::default(),
        load: LoadPlan::at(OpenRate::Constant(Pps::new(1))),
        patience: Patience::default(),
        verify: true,
        seed: 1,
    }
}

/// One end of the flow under test.
struct Half {
    apps: Apps,
    flow: Flow,
    group: GroupId,
    open: bool,
    end: Option<End>,
    /// Bytes passed for sending, sent, and acknowledged.
    asked: u64,
    sent: u64,
    acknowledged: u64,
    /// UDP: lengths of datagrams to send.
    datagrams: VecDeque<u64>,
    closing: bool,
    fin_sent: bool,
    fin_heard: bool,
    reading: bool,
    wake: Option<Nanos>,
    /// Data sent by the other end and not read by this one.
    inbox: VecDeque<u8>,
    datagram_inbox: VecDeque<Vec<u8>>,
    /// All this end has sent.
    pub log: Vec<u8>,
}

impl Half {
    fn new(plans: &[SessionPlan], group: GroupId, secure: Option<Box<dyn SecureSide>>) -> Self {
        let mut secure = secure;
        let none = || Layer::Tls(Box::new(NoSide));
        let apps = Apps::new(plans, 0, 1, |key| {
            let own = (key.side == Side::Server) == (group == SERVER);
            own.then(|| secure.take()).flatten().map_or_else(none, Layer::Tls)
        });
        Self {
            apps,
            flow: Flow::default(),
            group,
            open: false,
            end: None,
            asked: 0,
            sent: 0,
            acknowledged: 0,
            datagrams: VecDeque::new(),
            closing: false,
            fin_sent: false,
            fin_heard: false,
            reading: true,
            wake: None,
            inbox: VecDeque::new(),
            datagram_inbox: VecDeque::new(),
            log: Vec::new(),
        }
    }

    fn tell(&mut self, now: Nanos, udp: bool, tell: impl FnOnce(&mut Apps, Nanos, &mut Flow, &mut Io)) {
        if self.end.is_some() {
            return;
        }
        let mut io = match udp {
            true => Io::for_datagrams(FlowId(0), self.group, Vec::new()),
            false => Io::new(FlowId(0), self.group),
        };
        tell(&mut self.apps, now, &mut self.flow, &mut io);
        self.asked += io.asked();
        if udp && io.asked() > 0 {
            self.datagrams.push_back(io.asked());
        }
        self.closing |= io.asked_to_close();
        if let Some(at) = io.asked_to_wake() {
            self.wake = (at != Nanos::MAX).then_some(at);
        }
        if io.asked_to_abort() || io.asked_to_reset() {
            self.end(now, End::Aborted);
        }
    }

    fn end(&mut self, now: Nanos, end: End) {
        if self.end.is_none() {
            self.end = Some(end);
            self.apps.closed(now, &mut self.flow, FlowId(0), self.group, end);
            self.flow = Flow::default();
        }
    }
}

struct NoSide;
impl SecureSide for NoSide {
    fn start(&mut self, _: Nanos, _: u64) -> Box<dyn crate::secure::Secure> {
        panic!("nothing is secured here")
    }
}

/// Two ends and what lies between them.
pub(crate) struct Wire {
    pub now: Nanos,
    udp: bool,
    halves: [Half; 2],
    /// Sizes of pieces, gone round.
    cuts: Vec<usize>,
    cut: usize,
    /// Bytes every second datagram loses its life to, if set.
    pub drop_datagrams: u32,
    dropped: u32,
    /// A server that is not there: the data it sends instead, then whether it closes.
    pub fake: Option<(Vec<u8>, bool)>,
    /// Data that a fake server sends on each connection that clients open after the first, and whether it closes it.
    pub then: VecDeque<(Vec<u8>, bool)>,
    /// The server takes no connection after the first.
    pub refuses: bool,
    /// Data that each end has sent on connections that clients left for another.
    earlier: [Vec<u8>; 2],
}

impl Wire {
    pub(crate) fn new(plan: SessionPlan, cuts: &[usize]) -> Self {
        Self::secured(plan, cuts, None, None)
    }

    pub(crate) fn secured(
        plan: SessionPlan,
        cuts: &[usize],
        client: Option<Box<dyn SecureSide>>,
        server: Option<Box<dyn SecureSide>>,
    ) -> Self {
        let plans = [plan];
        assert_eq!(groups(&plans).len(), 2);
        Self {
            now: Nanos::from_secs(1),
            udp: plans[0].carrier == Carrier::Udp,
            halves: [Half::new(&plans, CLIENT, client), Half::new(&plans, SERVER, server)],
            cuts: cuts.to_vec(),
            cut: 0,
            drop_datagrams: 0,
            dropped: 0,
            fake: None,
            then: VecDeque::new(),
            refuses: false,
            earlier: Default::default(),
        }
    }

    /// The client of one entry and the server of another.
    pub(crate) fn mixed(client: SessionPlan, server: SessionPlan, cuts: &[usize]) -> Self {
        let mut wire = Self::new(client, cuts);
        wire.halves[1] = Half::new(&[server], SERVER, None);
        wire
    }

    /// Opens session `number`.
    pub(crate) fn open(&mut self, number: u64) {
        let now = self.now;
        for half in &mut self.halves {
            let (apps, group) = (
                std::mem::replace(&mut half.apps, Apps::new(&[], 0, 1, |_| Layer::Tls(Box::new(NoSide)))),
                half.group,
            );
            *half = Half { apps, ..Half::new(&[], group, None) };
        }
        let client = &mut self.halves[0];
        let flow = client.apps.start(now, CLIENT, number);
        self.connect(flow);
    }

    /// Continues the client's session on another connection, if it wants that: the one before ends.
    fn go_on(&mut self) {
        let (now, udp) = (self.now, self.udp);
        if self.halves[0].apps.take_moves().is_empty() || self.halves[0].end.is_some() {
            return;
        }
        let mut next = None;
        self.halves[0].tell(now, udp, |apps, now, flow, io| next = apps.leave(now, flow, io));
        let Some(flow) = next else { return };
        for (half, earlier) in self.halves.iter_mut().zip(&mut self.earlier) {
            earlier.append(&mut half.log);
            if half.open {
                half.end(now, End::Closed);
            }
            let none = Apps::new(&[], 0, 1, |_| Layer::Tls(Box::new(NoSide)));
            let (apps, group) = (std::mem::replace(&mut half.apps, none), half.group);
            *half = Half { apps, ..Half::new(&[], group, None) };
        }
        if let Some(fake) = self.then.pop_front() {
            self.fake = Some(fake);
        }
        if self.refuses {
            self.halves[0].flow = flow;
            return self.halves[0].end(now, End::Refused);
        }
        self.connect(flow);
    }

    fn connect(&mut self, flow: Flow) {
        let now = self.now;
        self.halves[0].flow = flow;
        self.now = Nanos(now.0 + 100_000);
        for side in 0..if self.fake.is_some() { 1 } else { 2 } {
            if self.udp && side == 1 {
                continue;
            }
            self.halves[side].open = true;
            self.halves[side].tell(self.now, self.udp, |apps, now, flow, io| apps.opened(now, flow, io));
        }
        if let Some((bytes, _)) = &self.fake {
            let bytes = bytes.clone();
            self.halves[0].inbox.extend(bytes);
        }
    }

    fn next_cut(&mut self) -> usize {
        self.cut = (self.cut + 1) % self.cuts.len();
        self.cuts[self.cut]
    }

    /// Moves a piece from `from` to the other end; returns whether anything happened.
    fn step(&mut self, from: usize) -> bool {
        let to = 1 - from;
        let (now, udp, cut) = (self.now, self.udp, self.next_cut().max(1));
        if udp {
            return self.datagram(from, cut);
        }
        let mut moved = false;
        // Send.
        let half = &mut self.halves[from];
        let ready = half.asked - half.sent;
        if ready > 0 && half.end.is_none() {
            let n = ready.min(cut as u64);
            let mut bytes = vec![0xee; n as usize];
            half.apps.fill(&half.flow, half.group, half.sent, &mut bytes);
            half.sent += n;
            half.log.extend_from_slice(&bytes);
            self.halves[to].inbox.extend(&bytes);
            moved = true;
        }
        let half = &mut self.halves[from];
        if half.closing && half.sent == half.asked && !half.fin_sent && half.end.is_none() {
            half.fin_sent = true;
            moved = true;
        }
        // A byte that is not acknowledged may be asked for again.
        let half = &mut self.halves[from];
        if half.end.is_none() && half.sent > half.acknowledged {
            let back = (half.sent - half.acknowledged).min(64) as usize;
            let mut bytes = vec![0; back];
            half.apps.fill(&half.flow, half.group, half.sent - back as u64, &mut bytes);
            let at = half.sent as usize - back;
            assert_eq!(bytes, half.log[at..], "a byte changed at {at}");
        }
        // Receive.
        if self.fake.is_some() && to == 1 {
            return moved;
        }
        let half = &mut self.halves[to];
        if self.fake.is_some() && half.end.is_none() {
            // A server that is not there reads all before it says more.
            if half.sent < half.asked {
                return moved;
            }
            let sent = half.sent;
            if sent > half.acknowledged {
                half.acknowledged = sent;
                half.tell(now, udp, |apps, now, flow, io| apps.acknowledged(now, flow, io, sent));
            }
        }
        let half = &mut self.halves[to];
        if half.reading && !half.inbox.is_empty() && half.end.is_none() {
            let n = half.inbox.len().min(cut);
            let bytes: Vec<u8> = half.inbox.drain(..n).collect();
            half.tell(now, udp, |apps, now, flow, io| apps.received(now, flow, io, &bytes));
            moved = true;
            let taken = self.halves[from].sent.saturating_sub(self.halves[to].inbox.len() as u64);
            let half = &mut self.halves[from];
            if self.fake.is_none() && taken > half.acknowledged && half.end.is_none() {
                half.acknowledged = taken;
                half.tell(now, udp, |apps, now, flow, io| apps.acknowledged(now, flow, io, taken));
            }
        }
        let fin = match &self.fake {
            Some((_, closes)) if from == 1 => *closes && self.halves[0].inbox.is_empty(),
            _ => self.halves[from].fin_sent,
        };
        let half = &mut self.halves[to];
        if fin && half.inbox.is_empty() && !half.fin_heard && half.end.is_none() && half.open {
            half.fin_heard = true;
            half.tell(now, udp, |apps, now, flow, io| apps.finished(now, flow, io));
            moved = true;
        }
        self.ends();
        moved
    }

    fn ends(&mut self) {
        let now = self.now;
        if self.udp {
            return;
        }
        if self.fake.is_some() {
            let client = &mut self.halves[0];
            if client.fin_heard && client.fin_sent {
                client.end(now, End::Closed);
            }
            return;
        }
        let done = |half: &Half| half.fin_sent && half.fin_heard;
        if self.halves.iter().all(done) {
            self.halves.iter_mut().for_each(|half| half.end(now, End::Closed));
        }
        for side in 0..2 {
            if self.halves[side].end == Some(End::Aborted) && self.halves[1 - side].open {
                // A reset acknowledges what its end has taken in.
                let taken = self.halves[1 - side].sent - self.halves[side].inbox.len() as u64;
                let other = &mut self.halves[1 - side];
                let end = if taken == other.asked { End::ResetAcknowledged } else { End::Reset };
                other.end(now, end);
            }
        }
    }

    fn datagram(&mut self, from: usize, _: usize) -> bool {
        let (now, to) = (self.now, 1 - from);
        let half = &mut self.halves[from];
        if half.end.is_none()
            && let Some(len) = half.datagrams.pop_front()
        {
            let mut bytes = vec![0; len as usize];
            half.apps.fill(&half.flow, half.group, half.sent, &mut bytes);
            half.sent += len;
            half.log.extend_from_slice(&bytes);
            if self.dropped < self.drop_datagrams {
                self.dropped += 1;
            } else {
                self.halves[to].datagram_inbox.push_back(bytes);
            }
            return true;
        }
        if half.closing {
            half.end(now, End::Closed);
        }
        let half = &mut self.halves[to];
        if let Some(bytes) = half.datagram_inbox.pop_front() {
            if half.end.is_some() {
                return true;
            }
            if !half.open {
                half.open = true;
                half.tell(now, true, |apps, now, flow, io| apps.opened(now, flow, io));
            }
            half.tell(now, true, |apps, now, flow, io| apps.received(now, flow, io, &bytes));
            return true;
        }
        false
    }

    /// Runs until nothing happens any more, or `limit` of virtual time is over.
    pub(crate) fn run(&mut self, limit: Nanos) {
        let end = self.now + limit;
        for _ in 0..2_000_000 {
            self.now = Nanos(self.now.0 + 1_000);
            let moved = self.step(0) | self.step(1);
            self.go_on();
            self.ends();
            self.wake();
            if self.over() {
                return;
            }
            if !moved {
                let Some(at) =
                    self.halves.iter().filter(|half| half.end.is_none()).filter_map(|half| half.wake).min()
                else {
                    return;
                };
                if at > end {
                    return;
                }
                self.now = self.now.max(at);
                self.wake();
            }
            if self.now > end {
                return;
            }
        }
        panic!("no end of it");
    }

    fn wake(&mut self) {
        let (now, udp) = (self.now, self.udp);
        for half in &mut self.halves {
            if half.wake.is_some_and(|at| at <= now) && half.end.is_none() {
                half.wake = None;
                half.tell(now, udp, |apps, now, flow, io| apps.woke(now, flow, io));
            }
        }
        if !udp {
            self.ends();
        }
    }

    pub(crate) fn over(&self) -> bool {
        self.halves.iter().all(|half| half.end.is_some() || !half.open)
    }

    pub(crate) fn ends_of(&self) -> [Option<End>; 2] {
        [self.halves[0].end, self.halves[1].end]
    }

    /// The network or the stack ends one side.
    pub(crate) fn cut_off(&mut self, side: usize, end: End) {
        let now = self.now;
        self.halves[side].end(now, end);
    }

    pub(crate) fn stop(&mut self, side: usize) {
        let (now, udp) = (self.now, self.udp);
        self.halves[side].tell(now, udp, |apps, now, flow, io| apps.stop(now, flow, io));
        self.ends();
    }

    pub(crate) fn client(&self) -> &Counts {
        self.halves[0].apps.counts(CLIENT)
    }

    pub(crate) fn server(&self) -> &Counts {
        self.halves[1].apps.counts(SERVER)
    }

    pub(crate) fn sent(&self, side: usize) -> &[u8] {
        &self.halves[side].log
    }

    /// Data that an end has sent on all connections.
    pub(crate) fn sent_in_all(&self, side: usize) -> Vec<u8> {
        [&self.earlier[side][..], &self.halves[side].log].concat()
    }

    pub(crate) fn extras(&self) -> usize {
        self.halves.iter().map(|half| half.apps.extras()).sum()
    }

    /// Both ends completed, nothing is left, and counts add up.
    pub(crate) fn assert_complete(&self, sessions: u64) {
        for counts in [self.client(), self.server()] {
            assert_eq!(
                counts.failures,
                crate::Failures::default(),
                "{:?} {:?}",
                counts.failures,
                counts.details
            );
            assert_eq!((counts.attempted, counts.completed, counts.active()), (sessions, sessions, 0));
        }
        assert_eq!(self.extras(), 0);
    }
}

/// An event of an end's flow.
#[derive(Debug, Clone)]
pub(crate) enum EndEvent {
    Opened,
    Received(Vec<u8>),
    Acknowledged(u8),
    Filled(u8, u8),
    Finished,
    Woke,
    Stop,
    Judge,
    Closed(End),
}

/// One end's applications and a flow of theirs.
struct OneEnd {
    apps: Apps,
    flow: Flow,
    group: GroupId,
    /// Bytes to be sent so far, and the acknowledged ones of them.
    asked: u64,
    acknowledged: u64,
    sessions: u64,
}

impl OneEnd {
    fn new(plan: &SessionPlan, group: GroupId, express: bool) -> Self {
        let mut plan = plan.clone();
        for side in [&mut plan.client, &mut plan.server].into_iter().flatten() {
            side.tcp.express = express;
        }
        let apps = Apps::new(&[plan], 0, 1, |_| panic!("nothing is secured"));
        let mut end = Self { apps, flow: Flow::default(), group, asked: 0, acknowledged: 0, sessions: 0 };
        end.begin(Nanos(5));
        end
    }

    fn begin(&mut self, now: Nanos) {
        (self.asked, self.acknowledged) = (0, 0);
        self.flow =
            if self.group == CLIENT { self.apps.start(now, CLIENT, self.sessions) } else { Flow::default() };
        self.sessions += 1;
    }

    /// Handles an event; returns the requests, the flow and the bytes written, as text.
    fn take(&mut self, now: Nanos, event: &EndEvent) -> String {
        let mut io = Io::new(FlowId(7), self.group);
        let (apps, flow) = (&mut self.apps, &mut self.flow);
        let mut bytes = Vec::new();
        match *event {
            EndEvent::Opened => apps.opened(now, flow, &mut io),
            EndEvent::Received(ref data) => apps.received(now, flow, &mut io, data),
            EndEvent::Acknowledged(share) => {
                self.acknowledged += (self.asked - self.acknowledged) * u64::from(share) / 255;
                apps.acknowledged(now, flow, &mut io, self.acknowledged);
            }
            EndEvent::Filled(from, to) => {
                let span = self.asked - self.acknowledged;
                let [from, to] = [from.min(to), from.max(to)].map(|at| span * u64::from(at) / 255);
                bytes = vec![0xee; (to - from) as usize];
                if to > from {
                    apps.fill(flow, self.group, self.acknowledged + from, &mut bytes);
                }
            }
            EndEvent::Finished => apps.finished(now, flow, &mut io),
            EndEvent::Woke => apps.woke(now, flow, &mut io),
            EndEvent::Stop => apps.stop(now, flow, &mut io),
            EndEvent::Judge => apps.judge_silent(now, flow, &mut io),
            EndEvent::Closed(end) => {
                apps.closed(now, flow, FlowId(7), self.group, end);
                self.begin(now);
            }
        }
        self.asked += io.asked();
        format!("{io:?} {:?} {bytes:?}", self.flow)
    }
}

/// Whether an end handles usual events of a plan in one go.
pub(crate) fn has_express(plan: &SessionPlan, group: GroupId) -> bool {
    OneEnd::new(plan, group, true).apps.has_express(group)
}

/// Counts of an end after these events, each with its time.
pub(crate) fn counts_after(plan: &SessionPlan, group: GroupId, events: &[(Nanos, EndEvent)]) -> Counts {
    let mut end = OneEnd::new(plan, group, true);
    for (now, event) in events {
        end.take(*now, event);
    }
    end.apps.counts(group).clone()
}

/// Has an end handle events with the express lane and without: requests, flow, bytes and counts must be the same.
pub(crate) fn assert_same(
    plan: &SessionPlan,
    group: GroupId,
    events: Vec<EndEvent>,
) -> Result<(), TestCaseError> {
    let mut ends = [true, false].map(|express| OneEnd::new(plan, group, express));
    let mut now = Nanos(1_000);
    let mut is_open = false;
    for event in events {
        now += Nanos(777);
        let mut all = vec![event.clone()];
        if !is_open {
            all.insert(0, EndEvent::Opened);
        }
        is_open = !matches!(event, EndEvent::Closed(_));
        for event in all {
            let [one, other] = ends.each_mut().map(|end| end.take(now, &event));
            prop_assert_eq!(one, other, "{:?}", event);
            prop_assert_eq!(ends[0].apps.counts(group), ends[1].apps.counts(group), "{:?}", event);
            prop_assert_eq!(ends[0].apps.active(group), ends[1].apps.active(group));
        }
    }
    Ok(())
}
