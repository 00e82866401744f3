//! A client's and a server's applications joined by two byte streams, in virtual time, cut into any pieces.

use crate::apps::{Apps, groups};
use crate::counts::Counts;
use crate::flow::Flow;
use crate::plan::*;
use crate::secure::{Layer, SecureSide};
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
        client.flow = client.apps.start(now, CLIENT, number);
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
