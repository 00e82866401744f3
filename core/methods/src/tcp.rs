//! TCP throughput (RFC 6349): the path's MTU and idle round-trip time, its bottleneck bandwidth, then TCP connections
//! each way and both ways.

use crate::draft::{Draft, InTurn, Limit, Procedure, Seen, Stage};
use crate::finding::{Finding, GoalMeaning};
use crate::list::Findings;
use crate::method::Method;
use crate::outcome::{PathOutcome, TcpOutcome};
use crate::rates::{AtRate, FindThen, RateSource};
use crate::run::Run;
use crate::settings::{About, ConfigError, Row, Settings};
use crate::testbed::{Frames, Testbed};
use crate::text::{AsText, percent};
use crate::throughput::ThroughputConfig;
use crate::trial::TrialKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{L1_OVERHEAD_BYTES, Nanos, Pps, quantity};

/// Bytes of the Ethernet header and FCS.
const L2_BYTES: u32 = 18;
/// Bytes of the IPv4 and TCP headers without options (section 2.3.3).
const L4_BYTES: u32 = 40;

/// Settings of the TCP test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TcpConfig {
    /// Where the bottleneck bandwidth is from: a rate of frames that fill the MTU.
    pub rates: RateSource,
    /// Windows to try, as shares of the bandwidth-delay product.
    pub window_shares: Vec<f64>,
    /// Connections of each sender, which share the window.
    pub connections: u32,
    /// Length of a trial; more than 30 s by the RFC.
    #[serde(with = "AsText")]
    pub duration: Nanos,
}

impl Default for TcpConfig {
    fn default() -> Self {
        let throughput = ThroughputConfig {
            sizes: Frames::bytes(1518).into_iter().collect(),
            ..ThroughputConfig::default()
        };
        Self {
            rates: RateSource::Throughput(throughput),
            window_shares: vec![0.25, 0.5, 1.0],
            connections: 1,
            duration: Nanos::from_secs(60),
        }
    }
}

impl TcpConfig {
    pub(crate) const ABOUT: About = About {
        name: "tcp",
        about: "TCP throughput, efficiency and buffer delay (RFC 6349)",
        result_names: &["rfc6349-tcp-throughput"],
        makes_curves: true,
        goals: &[GoalMeaning {
            goal: "tcp_throughput",
            name: "TCP throughput",
            definition: "application data delivered, of what TCP can carry at best over this path (RFC 6349 section 4.1)",
        }],
    };
}

impl Settings for TcpConfig {
    fn check(&self, testbed: &Testbed) -> Result<(), ConfigError> {
        if self.window_shares.is_empty()
            || self.window_shares.iter().any(|share| !(*share > 0.0 && *share <= 100.0))
        {
            return Err(ConfigError::new("window_shares", "must be above 0 and at most 100"));
        }
        if self.connections == 0 || self.duration == Nanos::ZERO {
            return Err(ConfigError::new("connections", "must be at least 1, duration longer than 0"));
        }
        self.rates.check(testbed)
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(TcpThroughput::new(self, testbed), testbed))
    }

    fn quicken(&mut self) {
        self.rates.quicken();
        self.duration = Nanos::from_secs(3);
    }

    fn set_trial(&mut self, trial: Nanos) {
        self.rates.set_trial(trial);
        self.duration = trial;
    }

    /// Those of the search for the bottleneck, which fill the MTU and so stay.
    fn sizes(&self) -> Vec<Frames> {
        self.rates.sizes()
    }

    fn rates(&mut self) -> Option<&mut RateSource> {
        Some(&mut self.rates)
    }
}

/// Capacity of the path, and TCP's use of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TcpRow {
    /// The path, idle.
    pub path: Option<PathOutcome>,
    /// Bottleneck bandwidth of a direction at layer 1, bits/s.
    pub bottleneck_bps: Option<f64>,
    /// Bandwidth-delay product, bytes.
    pub bdp_bytes: Option<f64>,
    /// Maximum TCP throughput in a direction, bits/s of application data (section 4.1.1).
    pub ideal_bps: Option<f64>,
    /// One for each window and choice of senders.
    pub runs: Vec<TcpRun>,
}

/// The remark on a run in which the tester could not do better.
const LIMITED: &str = "at least this much: the tester was the limit or disturbed";

impl Row for TcpRow {
    fn findings(&self) -> Vec<Finding> {
        let of = |run: &TcpRun, sender: &TcpFigures| {
            let both = if run.senders.len() > 1 { ", both ways" } else { "" };
            Finding {
                frame: format!("{}, {} B window{both}", sender.group, run.window_bytes),
                value: Some(sender.achieved_bps),
                line: self.ideal_bps,
                note: run.tester_limited.then(|| LIMITED.into()),
                ..Finding::new("tcp_throughput", "bps")
            }
        };
        self.runs.iter().flat_map(|run| run.results.iter().map(move |sender| of(run, sender))).collect()
    }
}

/// TCP with one window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TcpRun {
    /// Sending groups.
    pub senders: Vec<String>,
    /// Window of each connection, bytes.
    pub window_bytes: u64,
    /// Maximum allowed by the window, bits/s of each sender: window ÷ round-trip time, at most the ideal.
    pub window_limit_bps: f64,
    /// One for each sender.
    pub results: Vec<TcpFigures>,
    /// The tester was the limit.
    pub tester_limited: bool,
}

/// The metrics of RFC 6349 section 2.3 and 4.1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TcpFigures {
    /// Sending group.
    pub group: String,
    /// Application data that arrived, bits/s.
    pub achieved_bps: f64,
    /// Actual ÷ ideal transfer time of the same data.
    pub transfer_time_ratio: f64,
    /// (Bytes sent − bytes sent again) ÷ bytes sent, percent.
    pub efficiency_percent: f64,
    /// (Mean − smallest round-trip time) ÷ smallest, percent.
    pub buffer_delay_percent: f64,
}

#[derive(Debug, Clone)]
struct Runs {
    frames: Frames,
    groups: Vec<String>,
    config: TcpConfig,
    path: Option<PathOutcome>,
    rate: Option<Pps>,
    plan: Vec<(Vec<String>, f64)>,
    runs: Vec<TcpRun>,
}

impl Runs {
    fn new(frames: Frames, config: &TcpConfig, testbed: &Testbed) -> Self {
        let groups: Vec<_> = testbed.groups.iter().map(|group| group.name.clone()).collect();
        // Each way, then both ways (section 3.3).
        let mut senders: Vec<Vec<String>> = groups.iter().map(|name| vec![name.clone()]).collect();
        if groups.len() > 1 {
            senders.push(groups.clone());
        }
        let windows = |senders: &Vec<String>| {
            config.window_shares.iter().map(|share| (senders.clone(), *share)).collect::<Vec<_>>()
        };
        Self {
            frames,
            groups,
            config: config.clone(),
            path: None,
            rate: None,
            plan: senders.iter().flat_map(windows).collect(),
            runs: Vec::new(),
        }
    }

    /// Layer-1 bits/s of the bottleneck.
    fn bottleneck(&self) -> Option<f64> {
        self.rate.map(|rate| self.frames.bit_rate(rate, units::Layer::L1))
    }

    fn bdp(&self) -> Option<f64> {
        Some(self.bottleneck()? * self.path?.rtt_min_ns as f64 / 1e9 / 8.0)
    }

    fn ideal(&self) -> Option<f64> {
        let mtu = f64::from(self.path?.mtu_bytes);
        let payload = mtu - f64::from(L4_BYTES);
        Some(self.bottleneck()? * payload / (mtu + f64::from(L2_BYTES + L1_OVERHEAD_BYTES)))
    }

    fn window(&self, share: f64) -> Option<u64> {
        let bytes = self.bdp()? * share / f64::from(self.config.connections);
        // Less than a segment is no window.
        Some((bytes as u64).max(u64::from(self.path?.mtu_bytes.saturating_sub(L4_BYTES)).max(1)))
    }

    fn figures(&self, tcp: &TcpOutcome, duration: Nanos, ideal: f64) -> TcpFigures {
        let achieved = tcp.delivered_bytes as f64 * 8.0 / duration.as_secs_f64().max(1e-9);
        let base = self.path.map_or(0.0, |path| path.rtt_min_ns as f64).max(1.0);
        let sent = tcp.sent_bytes.max(1) as f64;
        TcpFigures {
            group: tcp.group.clone(),
            achieved_bps: achieved,
            transfer_time_ratio: ideal / achieved.max(1e-9),
            efficiency_percent: (sent - tcp.retransmitted_bytes as f64) / sent * 100.0,
            buffer_delay_percent: (tcp.rtt_mean_ns - base) / base * 100.0,
        }
    }

    fn row(&self) -> TcpRow {
        TcpRow {
            path: self.path,
            bottleneck_bps: self.bottleneck(),
            bdp_bytes: self.bdp(),
            ideal_bps: self.ideal(),
            runs: self.runs.clone(),
        }
    }
}

impl Stage for Runs {
    fn next(&mut self) -> Option<Draft> {
        if self.path.is_none() {
            let label = "path: MTU and idle round-trip time";
            return Some(Draft::special(TrialKind::Path, Nanos::from_secs(5)).label(label));
        }
        let (senders, share) = self.plan.get(self.runs.len())?;
        let window_bytes = self.window(*share)?;
        let label = format!("TCP from {}, window {window_bytes} B", senders.join(" and "));
        let kind =
            TrialKind::Tcp { senders: senders.clone(), connections: self.config.connections, window_bytes };
        Some(Draft::special(kind, self.config.duration).label(label))
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        if draft.kind == TrialKind::Path {
            self.path = seen.outcome.path;
            return;
        }
        let TrialKind::Tcp { senders, window_bytes, connections } = &draft.kind else { return };
        let ideal = self.ideal().unwrap_or(0.0);
        let rtt = self.path.map_or(1.0, |path| path.rtt_min_ns as f64).max(1.0) / 1e9;
        let allowed = *window_bytes as f64 * f64::from(*connections) * 8.0 / rtt;
        let figures = seen.outcome.tcp.iter().map(|tcp| self.figures(tcp, seen.outcome.duration, ideal));
        let run = TcpRun {
            senders: senders.clone(),
            window_bytes: *window_bytes,
            window_limit_bps: allowed.min(ideal),
            results: figures.collect(),
            tester_limited: seen.limited,
        };
        self.runs.push(run);
    }
}

impl AtRate for Runs {
    fn begin(&mut self, rate: Pps, _: Limit) {
        self.rate = Some(rate);
    }
}

/// The whole of it.
#[derive(Debug, Clone)]
pub(crate) struct TcpThroughput {
    config: TcpConfig,
    sizes: InTurn<FindThen<Runs>>,
}

impl TcpThroughput {
    pub(crate) fn new(config: &TcpConfig, testbed: &Testbed) -> Self {
        let first = config.rates.finders(testbed).into_iter().take(1);
        let stages = first.map(|(frames, finder)| FindThen::new(finder, Runs::new(frames, config, testbed)));
        Self { config: config.clone(), sizes: InTurn::new(stages) }
    }
}

impl Stage for TcpThroughput {
    fn next(&mut self) -> Option<Draft> {
        self.sizes.next()
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        self.sizes.take(draft, seen);
    }

    fn decides(&self, draft: &Draft, seen: &Seen<'_>) -> bool {
        self.sizes.decides(draft, seen)
    }
}

impl Procedure for TcpThroughput {
    fn name(&self) -> &'static str {
        "rfc6349-tcp-throughput"
    }

    fn findings(&self) -> Findings {
        Findings::Tcp(self.sizes.stages.iter().map(|stage| stage.then.row()).collect())
    }

    fn summary(&self) -> Vec<String> {
        let runs = self.sizes.stages.iter().flat_map(|stage| &stage.then.runs);
        let sentence = |run: &TcpRun| {
            let of = |figures: &TcpFigures| {
                format!(
                    "{} {} (transfer time ratio {:.2}, efficiency {}, buffer delay {:.1}%)",
                    figures.group,
                    quantity(figures.achieved_bps, "bps"),
                    figures.transfer_time_ratio,
                    percent(figures.efficiency_percent / 100.0),
                    figures.buffer_delay_percent
                )
            };
            let figures: Vec<_> = run.results.iter().map(of).collect();
            let limited = if run.tester_limited { format!("; {LIMITED}") } else { String::new() };
            format!("TCP with a window of {} B: {}{limited}.", run.window_bytes, figures.join(", "))
        };
        runs.map(sentence).collect()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks: Vec<String> =
            self.sizes.stages.iter().filter_map(|stage| stage.caveat(&stage.then.frames)).collect();
        if self.config.duration <= Nanos::from_secs(30) {
            let duration = self.config.duration;
            remarks.push(format!("Trials took {duration}; RFC 6349 section 4 requires more than 30 s."));
        }
        let groups = self.sizes.stages.first().map_or(0, |stage| stage.then.groups.len());
        if groups < 2 {
            remarks.push("Only one direction was tested; RFC 6349 requires each and both.".into());
        }
        remarks
    }
}
