//! Counts of streams in each interval, and at the start of the measured time.

use crate::stream::{Counts, Shared, Socket, Stream, is_udp};
use iperf::report::{Figures, Interval, rate, share};
use iperf::{Role, Test};
use os::sockets::{TcpFigures, tcp_figures};
use units::Nanos;

/// A stream at one instant.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Look {
    pub(crate) counts: Counts,
    pub(crate) tcp: Option<TcpFigures>,
}

impl Look {
    fn at(stream: &Stream) -> Self {
        let tcp = match &*stream.socket {
            Socket::Tcp(socket) if stream.role == Role::Sender => tcp_figures(socket).ok(),
            _ => None,
        };
        Self { counts: stream.counts(), tcp }
    }
}

/// Extremes of the intervals.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Extremes {
    pub(crate) window: u64,
    pub(crate) peer_window: Option<u64>,
    pub(crate) rtt_max: u64,
    pub(crate) rtt_min: u64,
    pub(crate) rtt_sum: u64,
    pub(crate) looks: u64,
}

impl Extremes {
    fn take(&mut self, tcp: &TcpFigures) {
        self.window = self.window.max(tcp.window);
        self.peer_window = self.peer_window.max(tcp.peer_window);
        self.rtt_max = self.rtt_max.max(tcp.rtt_us);
        self.rtt_min = if self.looks == 0 { tcp.rtt_us } else { self.rtt_min.min(tcp.rtt_us) };
        self.rtt_sum += tcp.rtt_us;
        self.looks += 1;
    }
}

/// Most tries to look at all streams in one moment.
const TRIES: usize = 8;
/// Duration of a moment.
const MOMENT: Nanos = Nanos(200_000);

/// All streams at one instant: where a busy machine comes between, the shortest of several tries.
fn sample(streams: &[Stream], shared: &Shared) -> (Nanos, Vec<Look>) {
    let mut best: Option<(Nanos, Nanos, Vec<Look>)> = None;
    for _ in 0..TRIES {
        let before = shared.now();
        let looks: Vec<_> = streams.iter().map(Look::at).collect();
        let now = shared.now();
        let took = now - before;
        if best.as_ref().is_none_or(|(least, ..)| took < *least) {
            best = Some((took, now, looks));
        }
        if took < MOMENT {
            break;
        }
    }
    best.map(|(_, now, looks)| (now, looks)).unwrap_or_default()
}

pub(crate) struct Meter {
    interval: Nanos,
    omit: Nanos,
    /// When the last look was.
    last: Nanos,
    before: Vec<Look>,
    /// Counts before the measured time, and its start.
    pub(crate) base: Vec<Look>,
    pub(crate) since: Nanos,
    pub(crate) extremes: Vec<Extremes>,
    /// Counts of the measured time, and its end.
    pub(crate) end: Option<(Nanos, Vec<Look>)>,
}

impl Meter {
    pub(crate) fn new(test: &Test, streams: &[Stream], interval: Nanos) -> Self {
        let now: Vec<_> = streams.iter().map(Look::at).collect();
        Self {
            interval,
            omit: test.omit,
            last: Nanos(0),
            before: now.clone(),
            base: now,
            since: Nanos(0),
            extremes: vec![Extremes::default(); streams.len()],
            end: None,
        }
    }

    /// The test is over now.
    pub(crate) fn finish(&mut self, streams: &[Stream], shared: &Shared) {
        self.end = Some(sample(streams, shared));
    }

    /// When the next look is due.
    pub(crate) fn due(&self) -> Nanos {
        let due = if self.interval.0 == 0 { Nanos(u64::MAX) } else { self.last + self.interval };
        if self.is_omitting() { due.min(self.omit) } else { due }
    }

    fn is_omitting(&self) -> bool {
        self.since < self.omit
    }

    /// The interval that ends now.
    pub(crate) fn look(&mut self, test: &Test, streams: &[Stream], shared: &Shared) -> Interval {
        let (now, looks) = sample(streams, shared);
        let omitted = self.is_omitting();
        let (start, end) = (self.last - self.since, now - self.since);
        let mut figures = Vec::new();
        for (index, stream) in streams.iter().enumerate() {
            let (before, after) = (&self.before[index], &looks[index]);
            if let (Some(tcp), false) = (&after.tcp, omitted) {
                self.extremes[index].take(tcp);
            }
            figures.push(between(test, stream, before, after, (start, end), omitted));
        }
        self.before.clone_from(&looks);
        self.last = now;
        if omitted && now >= self.omit {
            self.base = looks;
            self.since = now;
        }
        interval(streams, figures)
    }

    /// The interval since the last reading, if it is not too short to be meaningful.
    pub(crate) fn rest(&mut self, test: &Test, streams: &[Stream], shared: &Shared) -> Option<Interval> {
        let is_first = self.last == self.since;
        let is_long = shared.now() - self.last > Nanos(self.interval.0 / 10);
        (self.interval.0 > 0 && (is_first || is_long)).then(|| self.look(test, streams, shared))
    }
}

fn between(
    test: &Test,
    stream: &Stream,
    before: &Look,
    after: &Look,
    time: (Nanos, Nanos),
    omitted: bool,
) -> Figures {
    let seconds = (time.1 - time.0).as_secs_f64();
    let bytes = after.counts.bytes - before.counts.bytes;
    let mut figures = Figures {
        socket: Some(stream.id),
        start: time.0.as_secs_f64(),
        end: time.1.as_secs_f64(),
        seconds,
        bytes,
        bits_per_second: rate(bytes, seconds),
        omitted: Some(omitted),
        sender: stream.role == Role::Sender,
        ..Figures::default()
    };
    match (stream.role, is_udp(test)) {
        (Role::Sender, false) => {
            if let (Some(now), Some(then)) = (&after.tcp, &before.tcp) {
                figures.retransmits = Some(now.retransmitted.saturating_sub(then.retransmitted));
                figures.snd_cwnd = Some(now.window);
                figures.snd_wnd = now.peer_window;
                figures.rtt = Some(now.rtt_us);
                figures.rttvar = Some(now.rtt_deviation_us);
                figures.pmtu = Some(now.path_mtu);
            }
        }
        (Role::Receiver, false) => {}
        (Role::Sender, true) => figures.packets = Some(after.counts.sent - before.counts.sent),
        (Role::Receiver, true) => {
            let (now, then) = (&after.counts.heard, &before.counts.heard);
            let packets = now.highest - then.highest;
            // What came late makes up for what was missing before.
            let lost = now.lost().saturating_sub(then.lost());
            figures.jitter_ms = Some(now.jitter_s * 1e3);
            figures.lost_packets = Some(lost);
            figures.packets = Some(packets);
            figures.lost_percent = Some(share(lost, packets));
        }
    }
    figures
}

fn interval(streams: &[Stream], figures: Vec<Figures>) -> Interval {
    let is_first =
        |one: &&Figures| streams.first().is_some_and(|first| (first.role == Role::Sender) == one.sender);
    let sum = Figures::sum(figures.iter().filter(is_first)).unwrap_or_default();
    let other = Figures::sum(figures.iter().filter(|one| !is_first(one)));
    Interval { sum, sum_bidir_reverse: other, streams: figures }
}
