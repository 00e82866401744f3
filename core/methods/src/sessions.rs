//! Sessions (RFC 9411): maximum connections per second, concurrent connections, transactions or goodput at which the
//! criteria hold, by search or in steps up to failure.

use crate::climb::{self, Climb, ClimbConfig};
use crate::draft::{Draft, InTurn, Limit, Procedure, Seen, Stage, Verdict};
use crate::finding::{Finding, GoalMeaning};
use crate::list::Findings;
use crate::method::Method;
use crate::outcome::SessionOutcome;
use crate::run::Run;
use crate::settings::{About, ConfigError, Row, Settings};
use crate::testbed::Testbed;
use crate::text::AsText;
use crate::text::{grouped, percent};
use crate::trial::{Application, Objective, Phases, SessionLoad, TrialKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Criteria of the sustain phase (RFC 9411 sections 7.1.3.4 and following).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Criteria {
    /// Failed ÷ attempted transactions must be below this.
    pub failed_transactions: f64,
    /// Unexpected resets ÷ connections must be below this.
    pub resets: f64,
    /// The forwarding rate must stay within this share of its mean.
    pub rate_deviation: f64,
    /// The number of open connections must stay within this share of its mean.
    pub concurrent_deviation: f64,
    /// At least this share of the objective must be reached.
    pub reached: f64,
}

impl Default for Criteria {
    fn default() -> Self {
        Self {
            failed_transactions: 1e-5,
            resets: 1e-5,
            rate_deviation: 0.05,
            concurrent_deviation: 0.10,
            reached: 0.98,
        }
    }
}

impl Criteria {
    /// Why an outcome does not pass; empty if it does.
    pub fn violations(&self, load: &SessionLoad, outcome: &SessionOutcome) -> Vec<String> {
        let reached = reached(load.objective, outcome) / load.value.max(1) as f64;
        let mut why = self.failures(outcome);
        why.extend(self.uneven(outcome));
        why.extend(self.missed(load.objective, reached, outcome));
        why
    }

    /// Transactions and connections that failed.
    pub(crate) fn failures(&self, outcome: &SessionOutcome) -> Vec<String> {
        let ratio = |part: u64, whole: u64| if whole == 0 { 1.0 } else { part as f64 / whole as f64 };
        let failed = ratio(outcome.transactions_failed, outcome.transactions);
        let resets = ratio(outcome.resets, outcome.established);
        let mut why = Vec::new();
        let mut unless = |good: bool, text: String| {
            if !good {
                why.push(text);
            }
        };
        unless(failed < self.failed_transactions, format!("{} of the transactions failed", percent(failed)));
        unless(resets < self.resets, format!("{} of the connections were reset", percent(resets)));
        why
    }

    /// A forwarding rate that strays.
    pub(crate) fn uneven(&self, outcome: &SessionOutcome) -> Option<String> {
        let deviation = outcome.rate_deviation;
        let strays = deviation.is_nan() || deviation >= self.rate_deviation;
        strays.then(|| format!("the forwarding rate deviated by {}", percent(deviation)))
    }

    /// Missed criteria. `reached` is a share of the requested value.
    pub(crate) fn missed(&self, objective: Objective, reached: f64, outcome: &SessionOutcome) -> Vec<String> {
        // Connections that are opened and closed as fast as can be have no steady number (section 7.5 has).
        let steady = objective == Objective::ConcurrentConnections;
        let deviation = outcome.concurrent_deviation;
        let mut why = Vec::new();
        if steady && (deviation.is_nan() || deviation >= self.concurrent_deviation) {
            why.push(format!("the number of connections deviated by {}", percent(deviation)));
        }
        if reached.is_nan() || reached < self.reached {
            why.push(format!("only {} of the objective was reached", percent(reached)));
        }
        why
    }
}

/// Reached value of an objective.
pub(crate) fn reached(objective: Objective, outcome: &SessionOutcome) -> f64 {
    match objective {
        Objective::ConnectionsPerSecond => outcome.open_per_s,
        Objective::ConcurrentConnections => outcome.concurrent_mean,
        Objective::TransactionsPerSecond => outcome.transactions_per_s,
        Objective::GoodputBps => outcome.goodput_bps,
    }
}

/// Settings of a session test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SessionConfig {
    /// One search for each, in this order.
    pub apps: Vec<Application>,
    /// Objective that the search increases.
    pub objective: Objective,
    /// Expected value. Trials begin at a tenth of it, then at the value itself (section 4.3).
    pub target: u64,
    /// Largest value tried.
    pub maximum: u64,
    /// If not 0, the load rises from `step` in steps of this size to failure instead of by way of the target.
    pub step: u64,
    /// The search ends when its bounds are this share apart.
    pub resolution: f64,
    /// Pass criteria.
    pub criteria: Criteria,
    /// The phases of a trial.
    pub phases: Phases,
    /// Highest rate of opening sessions, per second; 0 is unlimited.
    pub open_per_s_max: u64,
    /// Rest of the device after a trial that failed or was disturbed, so that sessions left over don't spoil the next.
    #[serde(with = "AsText")]
    pub rest: Nanos,
    /// Number of flows, client ports × server ports; 0 leaves it to the tester.
    pub flows: u64,
}

/// HTTP connections per second, one GET each, at the RFC's object sizes.
impl Default for SessionConfig {
    fn default() -> Self {
        Self {
            apps: [1, 2, 4, 16, 64].map(|kb| Application::http(kb * 1024, 1)).to_vec(),
            objective: Objective::ConnectionsPerSecond,
            target: 10_000,
            maximum: 1_000_000,
            step: 0,
            resolution: 0.01,
            criteria: Criteria::default(),
            phases: Phases::default(),
            open_per_s_max: 0,
            rest: Nanos::from_secs(30),
            flows: 0,
        }
    }
}

impl SessionConfig {
    pub(crate) const ABOUT: About = About {
        name: "sessions",
        about: "most connections per second, or of what 'objective' names (RFC 9411)",
        result_names: &[
            "rfc9411-connections-per-second",
            "rfc9411-concurrent-connections",
            "rfc9411-transactions-per-second",
            "rfc9411-throughput",
            "session-ramp",
        ],
        makes_curves: true,
        goals: &[
            GoalMeaning {
                goal: "connections_per_s",
                name: "TCP/HTTP connections per second",
                definition: "the highest sustained rate that meets the criteria (RFC 9411 section 7.2)",
            },
            GoalMeaning {
                goal: "concurrent_connections",
                name: "Concurrent connections",
                definition: "the most that can be held while the criteria are met (RFC 9411 section 7.5)",
            },
        ],
    };

    /// Concurrent connections of ten paced GETs for 1 KB (section 7.5), opened at no more than half of `highest_cps`.
    pub fn concurrent(target: u64, maximum: u64, highest_cps: u64) -> Self {
        Self {
            apps: vec![Application::http(1024, 10)],
            objective: Objective::ConcurrentConnections,
            target,
            maximum,
            open_per_s_max: highest_cps / 2,
            ..Self::default()
        }
    }

    /// Goodput of ten GETs to a connection (section 7.3), bits/s.
    pub fn goodput(target_bps: u64, maximum_bps: u64) -> Self {
        Self {
            apps: [1, 16, 64, 256].map(|kb| Application::http(kb * 1024, 10)).to_vec(),
            objective: Objective::GoodputBps,
            target: target_bps,
            maximum: maximum_bps,
            ..Self::default()
        }
    }

    /// Raw TCP sessions per second in steps of 90 s with 30 s between, request and response of the same size, over
    /// 4 million flows, up to failure; and the rate of failure pinned by bisection.
    pub fn ramp(step: u64, maximum: u64) -> Self {
        let s = Nanos::from_secs;
        let phases = Phases { init: s(0), ramp_up: s(0), sustain: s(90), ramp_down: s(0), collection: s(30) };
        Self {
            apps: [64, 256, 512, 1024, 2048].map(Application::raw).to_vec(),
            step,
            maximum,
            phases,
            flows: 40_000 * 100,
            ..Self::default()
        }
    }

    fn climb(&self) -> ClimbConfig {
        ClimbConfig { bounds: (1, self.maximum), resolution: self.resolution, rest: self.rest }
    }

    fn ladder(&self) -> Vec<u64> {
        match self.step {
            0 => {
                let climbed = climb::doubling(self.target, self.maximum);
                [(self.target / 10).max(1)].into_iter().chain(climbed).collect()
            }
            step => (1..=self.maximum / step).map(|i| i * step).collect(),
        }
    }

    pub(crate) fn draft(&self, app: &Application, value: u64) -> Draft {
        let load = SessionLoad {
            app: app.clone(),
            objective: self.objective,
            value,
            open_per_s_max: self.open_per_s_max,
            flows: self.flows,
            phases: self.phases,
        };
        let label = format!("{}: {} {}", described(app), grouped(value), self.objective.unit());
        Draft::special(TrialKind::Sessions(load), self.phases.total()).label(label)
    }
}

impl Settings for SessionConfig {
    fn check(&self, _: &Testbed) -> Result<(), ConfigError> {
        if self.apps.is_empty() || self.apps.iter().any(|app| app.transactions == 0) {
            return Err(ConfigError::new("apps", "needs an application with at least one transaction"));
        }
        if self.target == 0 || self.maximum == 0 {
            return Err(ConfigError::new("target", "target and maximum must be at least 1"));
        }
        ClimbConfig::check_resolution(self.resolution)?;
        if self.step > 0 && self.maximum / self.step > 10_000 {
            return Err(ConfigError::new("step", "makes more than 10,000 steps"));
        }
        self.phases.check()
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(SessionSearch::new(self), testbed))
    }

    fn quicken(&mut self) {
        self.phases = Phases::quick();
        ClimbConfig::quicken(&mut self.resolution, &mut self.rest);
    }

    fn set_trial(&mut self, trial: Nanos) {
        self.phases.sustain = trial;
    }
}

/// `http 1,024 B × 10`.
pub(crate) fn described(app: &Application) -> String {
    let times = if app.transactions == 1 { String::new() } else { format!(" × {}", app.transactions) };
    format!("{} {} B{times}", app.name, grouped(app.response_bytes))
}

/// The most at one application.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionRow {
    /// Application of the sessions.
    pub app: Application,
    /// Objective that the search increased.
    pub objective: Objective,
    /// The most that passed.
    pub best: Option<SessionPoint>,
    /// The least that did not.
    pub failed: Option<SessionPoint>,
    /// The first that did not, in the order of trials: for a load in steps the step of failure.
    pub first_failed: Option<SessionPoint>,
    /// Limit of the value from above.
    pub limit: Limit,
    /// The search ends when its bounds are this share apart. Absent in archives of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<f64>,
}

/// A trial of sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionPoint {
    /// Requested value.
    pub value: u64,
    /// Reached value.
    pub reached: f64,
    /// Result.
    pub sessions: SessionOutcome,
    /// Why it did not pass.
    pub violations: Vec<String>,
    /// Where things were seen to vanish.
    pub drops: Vec<(String, u64)>,
}

impl SessionRow {
    /// Name of the objective among findings, and its unit.
    fn goal(&self) -> (&'static str, &'static str) {
        match self.objective {
            Objective::ConnectionsPerSecond => ("connections_per_s", "/s"),
            Objective::ConcurrentConnections => ("concurrent_connections", "sessions"),
            Objective::TransactionsPerSecond => ("transactions_per_s", "/s"),
            Objective::GoodputBps => ("goodput", "bps"),
        }
    }
}

impl Row for SessionRow {
    fn findings(&self) -> Vec<Finding> {
        let (goal, unit) = self.goal();
        // What was reached of what was asked for, and no more than that.
        let found = self.best.as_ref().map(|point| point.reached.min(point.value as f64));
        let failed = self.failed.as_ref().map(|point| point.value as f64);
        vec![Finding {
            frame: frame_column(&self.app),
            value: found,
            lower: found,
            upper: failed,
            resolution: failed.or(found).zip(self.resolution).map(|(value, share)| (value * share).max(1.0)),
            ..Finding::new(goal, unit).note(self.limit.note_of(found))
        }]
    }

    fn limits(&self) -> Vec<Limit> {
        vec![self.limit]
    }
}

/// Label in place of frames: `http 1024B`.
pub(crate) fn frame_column(app: &Application) -> String {
    format!("{} {}B", app.name, app.response_bytes)
}

#[derive(Debug, Clone)]
pub(crate) struct Search {
    app: Application,
    config: SessionConfig,
    climb: Climb,
    pub(crate) best: Option<SessionPoint>,
    failed: Option<SessionPoint>,
    first_failed: Option<SessionPoint>,
}

impl Search {
    pub(crate) fn new(app: &Application, config: &SessionConfig) -> Self {
        Self {
            app: app.clone(),
            config: config.clone(),
            climb: Climb::new(config.climb(), config.ladder()),
            best: None,
            failed: None,
            first_failed: None,
        }
    }

    fn row(&self) -> SessionRow {
        SessionRow {
            app: self.app.clone(),
            objective: self.config.objective,
            best: self.best.clone(),
            failed: self.failed.clone(),
            first_failed: self.first_failed.clone(),
            limit: self.climb.limit(),
            resolution: Some(self.config.resolution),
        }
    }

    fn sentence(&self) -> String {
        let (what, unit) = (described(&self.app), self.config.objective.unit());
        let why = |point: &SessionPoint| point.violations.join(", ");
        let limit = self.climb.limit();
        if limit == Limit::Open {
            return format!("{what}: not yet known.");
        }
        let failed = self.failed.as_ref().map(|failed| (grouped(failed.value), why(failed)));
        let most = if limit == Limit::Dut { " at most" } else { "" };
        let found = self.best.as_ref().map(|best| format!("{} {unit}{most}", grouped(best.value)));
        format!("{what}: {}.", climb::answer(limit, found, failed))
    }
}

impl Stage for Search {
    fn next(&mut self) -> Option<Draft> {
        let (value, rest) = self.climb.next()?;
        Some(self.config.draft(&self.app, value).after(rest).again_after(self.config.rest))
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        let (TrialKind::Sessions(load), Some(sessions)) = (&draft.kind, &seen.outcome.sessions) else {
            return;
        };
        let point = SessionPoint {
            value: load.value,
            reached: reached(load.objective, sessions),
            sessions: sessions.clone(),
            violations: self.config.criteria.violations(load, sessions),
            drops: seen.outcome.drops.clone(),
        };
        let verdict = seen.verdict_if(point.violations.is_empty());
        self.climb.judge(load.value, verdict);
        match verdict {
            Verdict::Pass => self.best = Some(point),
            Verdict::Fail => {
                self.first_failed.get_or_insert_with(|| point.clone());
                self.failed = Some(point);
            }
            Verdict::Tester | Verdict::Disturbed | Verdict::GivenUp => {}
        }
    }

    fn decides(&self, draft: &Draft, seen: &Seen<'_>) -> bool {
        let (TrialKind::Sessions(load), Some(sessions)) = (&draft.kind, &seen.outcome.sessions) else {
            return false;
        };
        let passes = self.config.criteria.violations(load, sessions).is_empty();
        seen.verdict_if(passes).is_known()
    }
}

/// All applications.
#[derive(Debug, Clone)]
pub(crate) struct SessionSearch {
    config: SessionConfig,
    searches: InTurn<Search>,
}

impl SessionSearch {
    pub(crate) fn new(config: &SessionConfig) -> Self {
        let searches = config.apps.iter().map(|app| Search::new(app, config));
        Self { config: config.clone(), searches: InTurn::new(searches) }
    }
}

impl Stage for SessionSearch {
    fn next(&mut self) -> Option<Draft> {
        self.searches.next()
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        self.searches.take(draft, seen);
    }

    fn decides(&self, draft: &Draft, seen: &Seen<'_>) -> bool {
        self.searches.decides(draft, seen)
    }
}

/// Requirements of the RFC that the configuration leaves out.
pub(crate) fn phase_remarks(phases: Phases) -> Vec<String> {
    let short = phases.sustain < Nanos::from_secs(300);
    let remark = format!("The sustain phase took {}; RFC 9411 requires at least 300 s.", phases.sustain);
    short.then_some(remark).into_iter().collect()
}

impl Procedure for SessionSearch {
    fn name(&self) -> &'static str {
        match (self.config.objective, self.config.step) {
            (_, 1..) => "session-ramp",
            (Objective::ConnectionsPerSecond, _) => "rfc9411-connections-per-second",
            (Objective::ConcurrentConnections, _) => "rfc9411-concurrent-connections",
            (Objective::TransactionsPerSecond, _) => "rfc9411-transactions-per-second",
            (Objective::GoodputBps, _) => "rfc9411-throughput",
        }
    }

    fn findings(&self) -> Findings {
        Findings::Sessions(self.searches.stages.iter().map(Search::row).collect())
    }

    fn summary(&self) -> Vec<String> {
        self.searches.stages.iter().map(Search::sentence).collect()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = if self.config.step > 0 { Vec::new() } else { phase_remarks(self.config.phases) };
        let rested = self.searches.stages.iter().any(|search| search.climb.rested);
        remarks.extend(climb::rest_remark(rested, self.config.rest));
        remarks
    }
}
