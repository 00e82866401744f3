//! Devices with known results: closed-form functions from a request to an outcome, by seed.

use methods::{
    LatencySummary, MixEntry, MixLoad, MixOutcome, Objective, Outage, PathOutcome, Recovery, SessionLoad,
    SessionOutcome, TcpOutcome, TrialKind, TrialOutcome, TrialRequest,
};
use units::{Nanos, Pps};

/// Sessions per second of the mix at its own load.
pub(crate) const MIX_PER_S: f64 = 200.0;

/// A device, and the tester in front of it.
#[derive(Debug, Clone)]
pub(crate) struct Dut {
    /// Frames/s of each direction.
    pub capacity: f64,
    /// Frames that wait when more comes.
    pub buffer: f64,
    /// Stalls per second, and frames lost by each.
    pub stalls: (f64, f64),
    /// Standard deviation of the capacity from trial to trial, as a share.
    pub noise: f64,
    /// Between these rates (frames/s) one in a thousand frames is lost, though none is above them.
    pub inversion: Option<(f64, f64)>,
    /// For this number of seconds of traffic after the start, half the capacity.
    pub warm_up: f64,
    /// Share of the frames that is always lost.
    pub leak: f64,
    /// Connections per second.
    pub cps: f64,
    /// Concurrent connections, or addresses.
    pub table: u64,
    /// Addresses learned per second.
    pub learn_rate: u64,
    /// After overload, frames are lost for so long.
    pub recovery: Nanos,
    /// After a reset, away for so long.
    pub reset: Nanos,
    /// Frames/s of each direction the tester can send.
    pub tester: f64,
    /// Round-trip time of the idle path.
    pub rtt: Nanos,
    seed: u64,
    trials: u64,
    traffic: f64,
}

impl Dut {
    /// A hard limit.
    pub(crate) fn new(capacity: f64, seed: u64) -> Self {
        Self {
            capacity,
            buffer: 0.0,
            stalls: (0.0, 0.0),
            noise: 0.0,
            inversion: None,
            warm_up: 0.0,
            leak: 0.0,
            cps: 50_000.0,
            table: 100_000,
            learn_rate: 10_000,
            recovery: Nanos::ZERO,
            reset: Nanos::from_secs(1),
            tester: f64::INFINITY,
            rtt: Nanos::from_millis(20),
            seed: random::key(seed),
            trials: 0,
            traffic: 0.0,
        }
    }

    /// Somewhere between `low` and `high`, by seed.
    pub(crate) fn between(low: f64, high: f64, seed: u64) -> Self {
        let share = random::word(random::key(seed), 1 << 40) as f64 / u64::MAX as f64;
        Self::new(low + (high - low) * share, seed)
    }

    fn uniform(&self, number: u64) -> f64 {
        random::word(self.seed, self.trials << 16 | number) as f64 / u64::MAX as f64
    }

    /// Twelve uniform numbers are nearly Gaussian.
    fn gauss(&self) -> f64 {
        (0..12).map(|i| self.uniform(i)).sum::<f64>() - 6.0
    }

    /// Events in `seconds` at `rate`, Poisson.
    fn events(&self, rate: f64, seconds: f64) -> f64 {
        let mut left = rate * seconds;
        let mut events = 0;
        while left > 0.0 {
            left += self.uniform(100 + events).max(1e-12).ln();
            events += u64::from(left > 0.0);
        }
        events as f64
    }

    /// Runs a trial.
    pub(crate) fn run(&mut self, request: &TrialRequest) -> TrialOutcome {
        self.trials += 1;
        let mut outcome = match &request.kind {
            TrialKind::Sessions(load) => self.sessions(request, load),
            TrialKind::Mix(load) => self.mix(request, load),
            TrialKind::Path => TrialOutcome {
                path: Some(PathOutcome { mtu_bytes: 1500, rtt_min_ns: self.rtt.0 }),
                ..TrialOutcome::forwarded(request, |_, _| 0)
            },
            TrialKind::Tcp { .. } => self.tcp(request),
            _ => self.frames(request),
        };
        match request.kind {
            TrialKind::Overload { .. } => {
                let after = self.recovery.0;
                outcome.recovery = Some(Recovery {
                    last_loss_after_ns: (after > 0).then_some(after),
                    lost_after_drop: after / 1_000,
                });
            }
            TrialKind::Reset { .. } => {
                let away = self.reset.0;
                let back = away < request.duration.0;
                outcome.outage = Some(Outage { between_arrivals_ns: back.then_some(away), came_back: back });
            }
            _ => {}
        }
        self.traffic += request.duration.as_secs_f64();
        outcome
    }

    fn frames(&self, request: &TrialRequest) -> TrialOutcome {
        let seconds = request.duration.as_secs_f64();
        let limited = request.offered.iter().any(|load| load.rate.as_f64() > self.tester);
        let mut outcome = TrialOutcome::forwarded(request, |_, sent| sent);
        for (group, load) in outcome.groups.iter_mut().zip(&request.offered) {
            let rate = load.rate.as_f64().min(self.tester);
            if rate < load.rate.as_f64() {
                group.achieved = Pps::from_micro((rate * 1e6) as u64);
                group.sent = (rate * seconds) as u64;
            }
            let lost = self.lost(request, rate, group.sent, seconds).clamp(0.0, group.sent as f64) as u64;
            group.received = group.sent - lost;
            group.lost = lost;
            if let TrialKind::Addresses { count, learn_rate } = request.kind {
                let known = self.table as f64 * (self.learn_rate as f64 / learn_rate as f64).min(1.0);
                group.flooded = (group.sent as f64 * (1.0 - known / count as f64).max(0.0)).ceil() as u64;
            }
            let busy = (rate / self.capacity).min(0.999);
            group.latency = Some(self.latency(10_000.0 + 1_000.0 / (1.0 - busy), group.received));
        }
        outcome.generator_limited = limited;
        if limited {
            outcome.reasons.push("the tester can't send more".into());
        }
        outcome
    }

    fn lost(&self, request: &TrialRequest, rate: f64, sent: u64, seconds: f64) -> f64 {
        if request.kind == TrialKind::SelfTest {
            return 0.0;
        }
        if let TrialKind::Reset { .. } = request.kind {
            return rate * self.reset.as_secs_f64();
        }
        let warm = if self.traffic < self.warm_up { 0.5 } else { 1.0 };
        let capacity = self.capacity * warm * (1.0 + self.noise * self.gauss());
        let seconds = match request.kind {
            TrialKind::Burst { frames } => frames as f64 / rate,
            _ => seconds,
        };
        // What does not fit through and not into the buffer. A frame that has begun is finished, hence the one.
        let excess = (sent as f64 - (capacity * seconds).ceil() - self.buffer - 1.0).max(0.0);
        let stalled = self.events(self.stalls.0, seconds) * self.stalls.1;
        let inverted = match self.inversion {
            Some((low, high)) if rate > low && rate < high => sent as f64 / 1_000.0,
            _ => 0.0,
        };
        (excess + stalled + inverted).max(sent as f64 * self.leak).ceil()
    }

    fn latency(&self, mean: f64, samples: u64) -> LatencySummary {
        LatencySummary {
            samples,
            min: mean * 0.5,
            mean,
            stddev: mean * 0.1,
            p50: mean,
            p90: mean * 1.2,
            p95: Some(mean * 1.3),
            p99: mean * 1.5,
            p99_9: mean * 2.0,
            p99_99: mean * 2.5,
            max: mean * 3.0,
            histogram: Vec::new(),
        }
    }

    fn sessions(&self, request: &TrialRequest, load: &SessionLoad) -> TrialOutcome {
        let value = load.value as f64;
        let most = match load.objective {
            Objective::ConnectionsPerSecond => self.cps,
            Objective::ConcurrentConnections => self.table as f64,
            Objective::TransactionsPerSecond => self.cps * f64::from(load.app.transactions),
            Objective::GoodputBps => self.capacity,
        };
        let reached = value.min(most).min(self.tester);
        let attempted = (value * load.phases.sustain.as_secs_f64()) as u64;
        let failed = (attempted as f64 * (1.0 - (most / value.max(1e-9)).min(1.0))).ceil() as u64;
        let latency = self.latency(1e6 + 1e5 / (1.0 - (value / most).min(0.999)), attempted);
        let sessions = SessionOutcome {
            attempted,
            established: attempted - failed,
            transactions: attempted,
            transactions_failed: failed,
            open_per_s: reached,
            concurrent_mean: reached,
            concurrent_max: reached as u64,
            transactions_per_s: reached,
            goodput_bps: reached,
            rate_deviation: 0.01,
            concurrent_deviation: 0.01,
            ttfb: Some(latency.clone()),
            ttlb: Some(latency),
            ..SessionOutcome::default()
        };
        let drops = if failed > 0 { vec![("session table full".into(), failed)] } else { Vec::new() };
        TrialOutcome {
            sessions: Some(sessions),
            drops,
            generator_limited: value > self.tester,
            ..TrialOutcome::forwarded(request, |_, _| 0)
        }
    }

    /// Two entries share the connections that the device lets through.
    fn mix(&self, request: &TrialRequest, load: &MixLoad) -> TrialOutcome {
        let asked = load.multiplier * MIX_PER_S;
        let passed = (self.cps / asked).min(1.0);
        let seconds = load.phases.sustain.as_secs_f64();
        let of = |per_s: f64| SessionOutcome {
            attempted: (per_s * seconds) as u64 + 1,
            established: (per_s * seconds * passed) as u64 + 1,
            transactions: (per_s * seconds) as u64 + 1,
            transactions_failed: if passed < 1.0 { (per_s * seconds * (1.0 - passed)) as u64 + 1 } else { 0 },
            open_per_s: per_s * passed,
            goodput_bps: per_s * passed * 8_000.0,
            ..SessionOutcome::default()
        };
        let entry = |(name, share): (&str, f64)| MixEntry {
            entry: name.into(),
            objective: Objective::ConnectionsPerSecond,
            asked: asked * share,
            reached: asked * share * passed,
            sessions: of(asked * share),
        };
        let entries = [("web", 0.75), ("mail", 0.25)].map(entry).to_vec();
        TrialOutcome {
            sessions: Some(of(asked)),
            mix: Some(MixOutcome { entries, ..MixOutcome::default() }),
            generator_limited: asked > self.tester,
            ..TrialOutcome::forwarded(request, |_, _| 0)
        }
    }

    /// Windows below the bandwidth-delay product bound the rate, larger ones fill the buffer.
    fn tcp(&self, request: &TrialRequest) -> TrialOutcome {
        let TrialKind::Tcp { senders, window_bytes, connections } = &request.kind else { unreachable!() };
        let rtt = self.rtt.as_secs_f64();
        let bottleneck = self.capacity * 1538.0 * 8.0;
        let ideal = bottleneck * 1460.0 / 1538.0;
        let window = *window_bytes as f64 * f64::from(*connections) * 8.0;
        let rate = (window / rtt).min(ideal);
        let delivered = (rate / 8.0 * request.duration.as_secs_f64()) as u64;
        let of = |group: &String| TcpOutcome {
            group: group.clone(),
            delivered_bytes: delivered,
            sent_bytes: delivered + delivered / 1_000,
            retransmitted_bytes: delivered / 1_000,
            rtt_mean_ns: self.rtt.0 as f64 * (window / rtt / bottleneck).max(1.0),
        };
        TrialOutcome { tcp: senders.iter().map(of).collect(), ..TrialOutcome::forwarded(request, |_, _| 0) }
    }
}
