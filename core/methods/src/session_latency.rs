//! Latency of transactions at a share of the highest load that passed (RFC 9411 section 7.4).

use crate::draft::{Draft, InTurn, Procedure, Seen, Stage};
use crate::finding::Finding;
use crate::list::Findings;
use crate::method::Method;
use crate::outcome::LatencySummary;
use crate::run::Run;
use crate::sessions::{Search, SessionConfig, SessionPoint, described, frame_column, phase_remarks, reached};
use crate::settings::{About, ConfigError, Row, Settings};
use crate::testbed::Testbed;
use crate::text::{grouped, percent};
use crate::trial::{Application, Objective, TrialKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Settings of the latency of transactions (RFC 9411 section 7.4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SessionLatencyConfig {
    /// Search for the maximum, which comes first.
    pub search: SessionConfig,
    /// The highest values, if known: one for each application. Then nothing is searched.
    pub known: Vec<u64>,
    /// Share of the highest value at which latency is measured.
    pub share: f64,
}

impl Default for SessionLatencyConfig {
    fn default() -> Self {
        Self { search: SessionConfig::default(), known: Vec::new(), share: 0.5 }
    }
}

impl SessionLatencyConfig {
    pub(crate) const ABOUT: About = About {
        name: "session-latency",
        about: "latency of transactions at half the highest load (RFC 9411 section 7.4)",
        result_names: &["rfc9411-latency"],
        makes_curves: true,
        goals: &[],
    };
}

impl Settings for SessionLatencyConfig {
    fn check(&self, testbed: &Testbed) -> Result<(), ConfigError> {
        if !(self.share > 0.0 && self.share <= 1.0) {
            return Err(ConfigError::new("share", "must be above 0 and at most 1"));
        }
        if !self.known.is_empty() && self.known.len() != self.search.apps.len() {
            return Err(ConfigError::new("known", "needs one value for each application"));
        }
        self.search.check(testbed)
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(SessionLatency::new(self), testbed))
    }

    fn quicken(&mut self) {
        self.search.quicken();
    }

    fn set_trial(&mut self, trial: Nanos) {
        self.search.set_trial(trial);
    }
}

/// Latency at one application.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionLatencyRow {
    /// Application of the sessions.
    pub app: Application,
    /// Objective that was sustained.
    pub objective: Objective,
    /// The most that passed, as searched or given; absent: nothing did.
    pub most: Option<u64>,
    /// Latency at a share of it.
    pub point: Option<SessionPoint>,
    /// The tester was the limit.
    pub tester_limited: bool,
}

/// The remark on times of a trial in which the tester could not do better.
const LIMITED: &str = "at most this much: the tester was the limit or disturbed";

impl Row for SessionLatencyRow {
    fn findings(&self) -> Vec<Finding> {
        let Some(point) = &self.point else { return Vec::new() };
        let times = [("ttfb", &point.sessions.ttfb), ("ttlb", &point.sessions.ttlb)];
        let of = |(goal, times): (&str, &Option<LatencySummary>)| Finding::quantiles(goal, times.as_ref());
        let frame = frame_column(&self.app);
        let note = self.tester_limited.then(|| LIMITED.to_owned());
        let with = |finding| Finding { frame: frame.clone(), note: note.clone(), ..finding };
        times.into_iter().flat_map(of).map(with).collect()
    }
}

#[derive(Debug, Clone)]
struct AtShare {
    search: Option<Search>,
    row: SessionLatencyRow,
    config: SessionLatencyConfig,
    done: bool,
}

impl Stage for AtShare {
    fn next(&mut self) -> Option<Draft> {
        if let Some(search) = &mut self.search {
            if let Some(draft) = search.next() {
                return Some(draft);
            }
            self.row.most = search.best.as_ref().map(|best| best.value);
            self.search = None;
        }
        let most = self.row.most.filter(|_| !self.done)?;
        self.done = true;
        let value = ((most as f64 * self.config.share) as u64).max(1);
        let draft = self.config.search.draft(&self.row.app, value);
        let label = format!("{}, latency", draft.label);
        Some(draft.label(label))
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        if let Some(search) = &mut self.search {
            return search.take(draft, seen);
        }
        let (TrialKind::Sessions(load), Some(sessions)) = (&draft.kind, &seen.outcome.sessions) else {
            return;
        };
        self.row.tester_limited = seen.limited;
        self.row.point = Some(SessionPoint {
            value: load.value,
            reached: reached(load.objective, sessions),
            sessions: sessions.clone(),
            violations: self.config.search.criteria.violations(load, sessions),
            drops: seen.outcome.drops.clone(),
        });
    }

    fn decides(&self, draft: &Draft, seen: &Seen<'_>) -> bool {
        self.search.as_ref().is_some_and(|search| search.decides(draft, seen))
    }
}

/// Latency of all applications.
#[derive(Debug, Clone)]
pub(crate) struct SessionLatency {
    config: SessionLatencyConfig,
    apps: InTurn<AtShare>,
}

impl SessionLatency {
    pub(crate) fn new(config: &SessionLatencyConfig) -> Self {
        let stage = |(i, app): (usize, &Application)| {
            let known = config.known.get(i).copied();
            AtShare {
                search: known.is_none().then(|| Search::new(app, &config.search)),
                row: SessionLatencyRow {
                    app: app.clone(),
                    objective: config.search.objective,
                    most: known,
                    point: None,
                    tester_limited: false,
                },
                config: config.clone(),
                done: false,
            }
        };
        let apps = config.search.apps.iter().enumerate().map(stage);
        Self { config: config.clone(), apps: InTurn::new(apps) }
    }
}

impl Stage for SessionLatency {
    fn next(&mut self) -> Option<Draft> {
        self.apps.next()
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        self.apps.take(draft, seen);
    }

    fn decides(&self, draft: &Draft, seen: &Seen<'_>) -> bool {
        self.apps.decides(draft, seen)
    }
}

impl Procedure for SessionLatency {
    fn name(&self) -> &'static str {
        "rfc9411-latency"
    }

    fn findings(&self) -> Findings {
        Findings::SessionLatency(self.apps.stages.iter().map(|stage| stage.row.clone()).collect())
    }

    fn summary(&self) -> Vec<String> {
        let sentence = |row: &SessionLatencyRow| {
            let what = described(&row.app);
            let Some(point) = &row.point else { return format!("{what}: latency was not measured.") };
            let mean = |of: &Option<LatencySummary>| {
                of.as_ref().map_or("unknown".into(), |latency| format!("{:.3} ms", latency.mean / 1e6))
            };
            format!(
                "{what} at {} {} ({} of the most): first byte {}, last byte {}, on average{}.",
                grouped(point.value),
                row.objective.unit(),
                percent(self.config.share),
                mean(&point.sessions.ttfb),
                mean(&point.sessions.ttlb),
                if row.tester_limited { format!("; {LIMITED}") } else { String::new() }
            )
        };
        self.apps.stages.iter().map(|stage| sentence(&stage.row)).collect()
    }

    fn remarks(&self) -> Vec<String> {
        phase_remarks(self.config.search.phases)
    }
}
