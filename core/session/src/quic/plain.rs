//! Sessions over connections of a plain QUIC, without encryption and losses: both ends, or one before a peer that does anything. For tests.

use super::*;
use crate::plan::*;
use crate::secure::{Agreed, Layer, SecureError};
use crate::testing::plan;
use crate::{Apps, Counts, Flow, GroupKey, Reason};
use std::collections::VecDeque;
use std::sync::Arc;
use tcp::{App, End, FlowId, GroupId, Io};
use units::Pps;

pub(crate) const SECOND: u64 = 1_000_000_000;
/// Streams of an end that the other one takes at a time.
pub(crate) const STREAMS: u64 = 50;

/// A connection with plain datagrams: a kind, a stream, a code, and bytes.
#[derive(Default)]
pub(crate) struct Plain {
    pub(crate) is_client: bool,
    pub(crate) out: VecDeque<Vec<u8>>,
    events: VecDeque<QuicEvent>,
    /// Streams opened so far, both ways and one way; and how many of them are delivered.
    opened: [u64; 2],
    delivered: [u64; 2],
    /// Received data by stream: bytes, and the end.
    inbox: std::collections::BTreeMap<u64, (Vec<u8>, Option<QuicRead>)>,
    closed: bool,
    /// Whether early data is accepted, where it is sent.
    pub(crate) early: Option<bool>,
    /// A server takes nothing before its client knows that early data was rejected.
    deaf: bool,
}

impl Plain {
    pub(crate) fn say(&mut self, kind: u8, stream: u64, code: u64, bytes: &[u8]) {
        let head = [&[kind][..], &stream.to_be_bytes(), &code.to_be_bytes()].concat();
        self.out.push_back([&head, bytes].concat());
    }

    /// Puts all that waits to be sent into one datagram.
    pub(crate) fn join(&mut self) {
        let mut all = vec![b'm'];
        all.resize(17, 0);
        for one in self.out.drain(..) {
            all.extend_from_slice(&(one.len() as u64).to_be_bytes());
            all.extend_from_slice(&one);
        }
        self.out.push_back(all);
    }

    fn come(&mut self, stream: u64, bytes: &[u8], end: Option<QuicRead>) {
        let (all, ended) = self.inbox.entry(stream).or_default();
        all.extend_from_slice(bytes);
        *ended = end.or(*ended);
        self.events.push_back(QuicEvent::Readable(stream));
    }

    /// Takes a datagram.
    fn take(&mut self, datagram: &[u8]) {
        let word = |at: usize| u64::from_be_bytes(datagram[at..at + 8].try_into().unwrap());
        let (stream, code, bytes) = (word(1), word(9), &datagram[17..]);
        match datagram[0] {
            b'h' => {
                if !self.is_client {
                    self.say(b'h', 0, 0, b"");
                    self.deaf = self.early == Some(false);
                    if self.early == Some(true) {
                        // Its handshake is done when the client's is.
                        return;
                    }
                } else if let Some(is_accepted) = self.early {
                    if !is_accepted {
                        // All streams are lost.
                        (self.opened, self.delivered, self.out, self.inbox) = Default::default();
                        self.events.clear();
                    }
                    self.say(b'k', 0, 0, b"");
                }
                self.events.push_back(QuicEvent::Connected);
            }
            b'k' => {
                self.deaf = false;
                if self.early == Some(true) {
                    self.events.push_back(QuicEvent::Connected);
                }
            }
            b'm' => {
                let mut rest = bytes;
                while let Some((len, more)) = rest.split_first_chunk() {
                    let (one, behind) = more.split_at(u64::from_be_bytes(*len) as usize);
                    self.take(one);
                    rest = behind;
                }
            }
            b'd' | b'f' | b'r' | b's' if self.deaf => {}
            b'd' => self.come(stream, bytes, None),
            b'f' => {
                self.say(b'a', stream, 0, b"");
                self.come(stream, b"", Some(QuicRead::Finished));
            }
            b'r' => self.come(stream, b"", Some(QuicRead::Reset(code))),
            b's' => self.events.push_back(QuicEvent::Stopped(stream, code)),
            b'a' => {
                self.delivered[(stream >> 1 & 1) as usize] += 1;
                self.events.extend([QuicEvent::Delivered(stream), QuicEvent::Available]);
            }
            b'c' => {
                self.closed = true;
                self.events.push_back(QuicEvent::Lost(QuicEnd::Application(code)));
            }
            kind => panic!("{kind}"),
        }
    }
}

impl Quic for Plain {
    fn receive(&mut self, _: Nanos, datagram: &[u8], _: u8) {
        self.take(datagram);
    }

    fn poll(&mut self) -> Option<QuicEvent> {
        self.events.pop_front()
    }

    fn open(&mut self, bidirectional: bool) -> Option<u64> {
        let opened = &mut self.opened[usize::from(!bidirectional)];
        if *opened - self.delivered[usize::from(!bidirectional)] >= STREAMS {
            return None;
        }
        *opened += 1;
        Some((*opened - 1) * 4 + u64::from(!bidirectional) * 2 + u64::from(!self.is_client))
    }

    fn send(&mut self, stream: u64, bytes: &[u8]) -> Option<usize> {
        // Not all at once.
        let some = bytes.len().min(1_000);
        self.say(b'd', stream, 0, &bytes[..some]);
        Some(some)
    }

    fn finish(&mut self, stream: u64) {
        self.say(b'f', stream, 0, b"");
    }

    fn reset(&mut self, stream: u64, code: u64) {
        self.say(b'r', stream, code, b"");
    }

    fn stop(&mut self, stream: u64, code: u64) {
        self.say(b's', stream, code, b"");
    }

    fn read(&mut self, stream: u64, take: &mut dyn FnMut(&[u8])) -> QuicRead {
        let Some((bytes, end)) = self.inbox.get_mut(&stream) else { return QuicRead::Closed };
        if !bytes.is_empty() {
            take(&std::mem::take(bytes));
        }
        end.unwrap_or(QuicRead::Blocked)
    }

    fn close(&mut self, _: Nanos, code: u64) {
        if !std::mem::replace(&mut self.closed, true) {
            self.say(b'c', 0, code, b"");
        }
    }

    fn transmit(&mut self, _: Nanos, out: &mut Vec<u8>, lengths: &mut Vec<u64>) -> bool {
        let Some(datagram) = self.out.pop_front() else { return false };
        out.extend_from_slice(&datagram);
        lengths.push(datagram.len() as u64);
        true
    }

    fn marks(&self) -> bool {
        false
    }

    fn timeout(&mut self) -> Option<Nanos> {
        None
    }

    fn wake(&mut self, _: Nanos) {}

    fn has_early_keys(&self) -> bool {
        self.early.is_some_and(|is_accepted| self.is_client || is_accepted)
    }

    fn is_early_accepted(&self) -> bool {
        self.early == Some(true)
    }

    fn update_keys(&mut self) {}

    fn agreed(&self) -> Option<Agreed> {
        None
    }

    fn moved_to(&mut self) -> Option<u32> {
        None
    }

    fn rouses(&mut self) -> Option<u32> {
        None
    }

    fn moved(&mut self, _: bool) {}

    fn stats(&self) -> QuicStats {
        QuicStats::default()
    }

    fn is_drained(&self) -> bool {
        self.closed
    }
}

struct Factory {
    early: Option<bool>,
}

impl QuicSide for Factory {
    fn connect(&mut self, _: Nanos, _: u64, _: u32) -> Result<Box<dyn Quic>, SecureError> {
        let mut client = Plain { is_client: true, early: self.early, ..Plain::default() };
        client.say(b'h', 0, 0, b"");
        Ok(Box::new(client))
    }

    fn accept(&mut self, now: Nanos, _: u32, datagram: &[u8], ecn: u8) -> QuicAccepted {
        let mut server = Plain { early: self.early, ..Plain::default() };
        server.receive(now, datagram, ecn);
        QuicAccepted::Connection(Box::new(server))
    }

    fn off_path(&mut self, _: u32) -> Vec<Vec<u8>> {
        Vec::new()
    }

    fn closed(&mut self, _: u32) {}
}

/// Options of both ends with early data, which servers take if it `is_accepted`.
pub(crate) fn early(is_accepted: bool) -> QuicOptions {
    let client = QuicPlan { early_data: true, ..QuicPlan::default() };
    QuicOptions { client, early_data: is_accepted, ..QuicOptions::default() }
}

/// One end of ours.
pub(crate) struct Half {
    apps: Apps,
    flow: Flow,
    group: GroupId,
    is_open: bool,
    lengths: VecDeque<u64>,
    sent: u64,
    wake: Option<Nanos>,
    closing: bool,
    tends: bool,
    pub(crate) end: Option<End>,
}

impl Half {
    pub(crate) fn new(app: AppPlan, quic: QuicOptions, side: Side) -> Self {
        Self::paced(app, quic, None, side)
    }

    /// The same with a rate of requests.
    fn paced(app: AppPlan, quic: QuicOptions, rate: Option<Pps>, side: Side) -> Self {
        let mut entry = plan(app);
        entry.load.request_rate = rate;
        (entry.quic, entry.verify) = (quic, true);
        entry.carrier = Carrier::Udp;
        entry.tls = Some(Arc::new(tls()));
        entry.patience.response = Some(Nanos(5 * SECOND));
        let early = quic.client.early_data.then_some(quic.early_data);
        let apps = Apps::new(&[entry], 0, 1, |_: GroupKey| Layer::Quic(Box::new(Factory { early })));
        let group = GroupId(u16::from(side == Side::Server));
        let (lengths, flow) = (VecDeque::new(), Flow::default());
        let is_open = false;
        Self {
            apps,
            flow,
            group,
            is_open,
            lengths,
            sent: 0,
            wake: None,
            closing: false,
            tends: false,
            end: None,
        }
    }

    pub(crate) fn tell(&mut self, tell: impl FnOnce(&mut Apps, &mut Flow, &mut Io)) {
        if self.end.is_some() {
            return;
        }
        let mut io = Io::for_datagrams(FlowId(0), self.group, Vec::new()).having_sent(self.sent);
        tell(&mut self.apps, &mut self.flow, &mut io);
        self.lengths.extend(io.datagrams_asked());
        self.closing |= io.asked_to_close();
        self.wake = io.asked_to_wake().or(self.wake);
        self.tends |= io.asked_to_tend();
        assert!(!io.asked_to_abort());
    }

    pub(crate) fn start(&mut self, now: Nanos) {
        self.flow = self.apps.start(now, self.group, 0);
        self.is_open = true;
        self.tell(|apps, flow, io| apps.opened(now, flow, io));
    }

    /// Handles datagrams and timers; returns the datagrams sent.
    pub(crate) fn turn(&mut self, now: Nanos, came: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        for datagram in came {
            if !std::mem::replace(&mut self.is_open, true) {
                self.tell(|apps, flow, io| apps.opened(now, flow, io));
            }
            self.tell(|apps, flow, io| apps.received(now, flow, io, &datagram));
        }
        if std::mem::take(&mut self.tends) {
            self.tell(|apps, flow, io| apps.tended(now, flow, io));
        }
        if self.wake.is_some_and(|at| at <= now) {
            self.wake = None;
            self.tell(|apps, flow, io| apps.woke(now, flow, io));
        }
        let mut sent = Vec::new();
        while let Some(len) = self.lengths.pop_front() {
            let mut bytes = vec![0; len as usize];
            self.apps.fill(&self.flow, self.group, self.sent, &mut bytes);
            self.sent += len;
            sent.push(bytes);
        }
        if self.closing && self.end.is_none() {
            self.end = Some(End::Closed);
            self.apps.closed(now, &mut self.flow, FlowId(0), self.group, End::Closed);
        }
        sent
    }

    pub(crate) fn extras(&self) -> usize {
        self.apps.extras()
    }

    pub(crate) fn counts(&self) -> &Counts {
        self.apps.counts(self.group)
    }
}

fn tls() -> TlsPlan {
    TlsPlan {
        key_log: None,
        tls12: false,
        tls13: true,
        suites: Vec::new(),
        groups: Vec::new(),
        alpn: Vec::new(),
        client: TlsClient {
            server_name: None,
            resumption: None,
            identity: None,
            verify: TlsVerify::Off,
            key_share_reuse: None,
        },
        server: TlsServer {
            identity: ServerIdentity::Generated { names: Vec::new(), key: KeyKind::EcdsaP256 },
            tickets: 0,
            client_roots: None,
        },
    }
}

/// Failures and how often they were counted.
pub(crate) fn failures(counts: &Counts) -> Vec<(Reason, u64)> {
    let of = |reason| (reason, counts.failed(reason));
    Reason::ALL.into_iter().map(of).filter(|(_, count)| *count > 0).collect()
}

/// Both ends for some milliseconds, of which a datagram takes one.
pub(crate) fn joined(app: &AppPlan, millis: u64, stop_after: Option<u64>) -> [Half; 2] {
    joined_by(app, QuicOptions::default(), millis, stop_after)
}

/// The same with options of QUIC.
pub(crate) fn joined_by(app: &AppPlan, quic: QuicOptions, millis: u64, stop_after: Option<u64>) -> [Half; 2] {
    joined_at(app, quic, None, millis, |milli, now, client| {
        if stop_after == Some(milli) {
            client.tell(|apps, flow, io| apps.stop(now, flow, io));
        }
    })
}

/// The same at a rate of requests. `act` is called every millisecond, with its number, the time and the client.
pub(crate) fn joined_at(
    app: &AppPlan,
    quic: QuicOptions,
    rate: Option<Pps>,
    millis: u64,
    mut act: impl FnMut(u64, Nanos, &mut Half),
) -> [Half; 2] {
    let mut ends = [Side::Client, Side::Server].map(|side| Half::paced(app.clone(), quic, rate, side));
    ends[0].start(Nanos(SECOND));
    let mut flying = [Vec::new(), Vec::new()];
    for milli in 0..millis {
        let now = Nanos(SECOND + milli * 1_000_000);
        act(milli, now, &mut ends[0]);
        let came = std::mem::take(&mut flying);
        for (half, (came, to)) in ends.iter_mut().zip(came.into_iter().zip([1, 0])) {
            flying[to] = half.turn(now, came);
        }
    }
    ends
}

/// One end of ours, and a peer that sends it anything.
pub(crate) struct Against {
    pub(crate) now: Nanos,
    pub(crate) half: Half,
    pub(crate) peer: Plain,
    flying: Vec<Vec<u8>>,
    pub(crate) events: Vec<QuicEvent>,
}

impl Against {
    pub(crate) fn new(app: AppPlan, side: Side) -> Self {
        Self::by(app, QuicOptions::default(), side)
    }

    /// The same with options of QUIC.
    pub(crate) fn by(app: AppPlan, quic: QuicOptions, side: Side) -> Self {
        let mut half = Half::new(app, quic, side);
        let mut peer = Plain { is_client: side == Side::Server, ..Plain::default() };
        match side {
            Side::Client => half.start(Nanos(SECOND)),
            Side::Server => peer.say(b'h', 0, 0, b""),
        }
        let mut against = Self { now: Nanos(SECOND), half, peer, flying: Vec::new(), events: Vec::new() };
        against.run(10);
        assert_eq!(against.events.first(), Some(&QuicEvent::Connected));
        against
    }

    pub(crate) fn run(&mut self, millis: u64) {
        for _ in 0..millis {
            self.now = self.now.saturating_add(Nanos::from_millis(1));
            let sent = self.half.turn(self.now, std::mem::take(&mut self.flying));
            sent.iter().for_each(|datagram| self.peer.receive(self.now, datagram, 0));
            self.events.extend(std::iter::from_fn(|| self.peer.poll()));
            self.flying.extend(self.peer.out.drain(..));
        }
    }
}
