//! A mix of applications (RFC 9411 section 7.1): the highest multiple of a profile's session loads at which the
//! criteria hold. All entries are scaled together, so their shares of the mix stay as in the profile.
//!
//! Multipliers are searched in thousandths.

use crate::climb::{self, Climb, ClimbConfig};
use crate::draft::{Draft, Limit, Procedure, Seen, Stage, Verdict};
use crate::finding::{Finding, GoalMeaning};
use crate::list::Findings;
use crate::method::Method;
use crate::outcome::{MixEntry, MixOutcome, SessionOutcome};
use crate::run::Run;
use crate::sessions::{Criteria, phase_remarks};
use crate::settings::{About, ConfigError, Row, Settings};
use crate::testbed::Testbed;
use crate::text::AsText;
use crate::trial::{MixLoad, Objective, Phases, TrialKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, quantity};

/// Label of findings of the mix as a whole, in place of frames.
pub(crate) const MIX: &str = "mix";
/// Multipliers are whole numbers of these.
const STEPS: f64 = 1_000.0;
/// The highest possible multiplier.
const HIGHEST: f64 = 1e9;

/// Settings of a search for the highest multiple of a mix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MixConfig {
    /// Multiple of the profile's load that is tried first; then twice as much each time.
    pub target: f64,
    /// Highest multiple tried.
    pub maximum: f64,
    /// The search ends when its bounds are this share apart.
    pub resolution: f64,
    /// Pass criteria, of every entry; the forwarding rate is that of all together.
    pub criteria: Criteria,
    /// The phases of a trial.
    pub phases: Phases,
    /// Rest of the device after a trial that failed or was disturbed, so that sessions left over don't spoil the next.
    #[serde(with = "AsText")]
    pub rest: Nanos,
}

impl Default for MixConfig {
    fn default() -> Self {
        Self {
            target: 1.0,
            maximum: 1_000.0,
            resolution: 0.01,
            criteria: Criteria::default(),
            phases: Phases::default(),
            rest: Nanos::from_secs(30),
        }
    }
}

impl MixConfig {
    pub(crate) const ABOUT: About = About {
        name: "session-mix",
        about: "highest multiple of all session loads of a profile together (RFC 9411 section 7.1)",
        result_names: &["session-mix"],
        makes_curves: true,
        goals: &[
            GoalMeaning {
                goal: "multiplier",
                name: "Highest multiple of the profile's load",
                definition: "the highest multiple of all session loads of the profile at which the criteria of every \
                             entry are met (RFC 9411 section 7.1)",
            },
            GoalMeaning {
                goal: "mix_goodput",
                name: "Goodput of the mix",
                definition: "application data received at the highest multiple, all entries together",
            },
        ],
    };

    fn climb(&self) -> Climb {
        let steps = |multiplier: f64| ((multiplier * STEPS).round() as u64).max(1);
        let (target, maximum) = (steps(self.target), steps(self.maximum));
        let config = ClimbConfig { bounds: (1, maximum), resolution: self.resolution, rest: self.rest };
        Climb::new(config, climb::doubling(target.min(maximum), maximum))
    }
}

impl Settings for MixConfig {
    fn check(&self, _: &Testbed) -> Result<(), ConfigError> {
        for (name, value) in [("target", self.target), ("maximum", self.maximum)] {
            if !(1.0 / STEPS..=HIGHEST).contains(&value) {
                return Err(ConfigError::new(name, "must be at least 0.001 and at most 1,000,000,000"));
            }
        }
        if self.target > self.maximum {
            return Err(ConfigError::new("target", "must be at most 'maximum'"));
        }
        ClimbConfig::check_resolution(self.resolution)?;
        self.phases.check()
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(MixSearch::new(self), testbed))
    }

    fn quicken(&mut self) {
        self.phases = Phases::quick();
        ClimbConfig::quicken(&mut self.resolution, &mut self.rest);
    }

    fn set_trial(&mut self, trial: Nanos) {
        self.phases.sustain = trial;
    }
}

/// The highest multiple of a mix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MixRow {
    /// The highest that passed.
    pub best: Option<MixPoint>,
    /// The lowest that did not.
    pub failed: Option<MixPoint>,
    /// Limit of the value from above.
    pub limit: Limit,
    /// The search ends when its bounds are this share apart.
    pub resolution: f64,
}

/// A trial of a mix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MixPoint {
    /// The requested multiple of the profile's load.
    pub multiplier: f64,
    /// All entries together. Times are the slowest entry's.
    pub sessions: SessionOutcome,
    /// Each entry.
    pub entries: Vec<MixEntry>,
    /// Why it did not pass.
    pub violations: Vec<String>,
    /// Where things were seen to vanish.
    pub drops: Vec<(String, u64)>,
}

/// Name of an entry's figure among findings, and its unit.
fn goal(objective: Objective) -> (&'static str, &'static str) {
    match objective {
        Objective::ConnectionsPerSecond => ("opened", "/s"),
        Objective::ConcurrentConnections => ("held", "sessions"),
        Objective::TransactionsPerSecond => ("transactions", "/s"),
        Objective::GoodputBps => ("goodput", "bps"),
    }
}

impl Row for MixRow {
    fn findings(&self) -> Vec<Finding> {
        let found = self.best.as_ref().map(|point| point.multiplier);
        let failed = self.failed.as_ref().map(|point| point.multiplier);
        let of_mix = |finding: Finding| Finding { frame: MIX.into(), ..finding };
        let mut findings = vec![of_mix(Finding {
            value: found,
            lower: found,
            upper: failed,
            resolution: failed.or(found).map(|value| (value * self.resolution).max(1.0 / STEPS)),
            ..Finding::new("multiplier", "").note(self.limit.note_of(found))
        })];
        let Some(best) = &self.best else { return findings };
        findings.push(of_mix(Finding::new("mix_goodput", "bps").value(best.sessions.goodput_bps)));
        findings.extend(best.entries.iter().map(|entry| {
            let (goal, unit) = goal(entry.objective);
            Finding { frame: entry.entry.clone(), ..Finding::new(goal, unit).value(entry.reached) }
        }));
        findings
    }

    fn limits(&self) -> Vec<Limit> {
        vec![self.limit]
    }
}

/// The search.
#[derive(Debug, Clone)]
pub(crate) struct MixSearch {
    config: MixConfig,
    climb: Climb,
    best: Option<MixPoint>,
    failed: Option<MixPoint>,
}

impl MixSearch {
    pub(crate) fn new(config: &MixConfig) -> Self {
        Self { config: config.clone(), climb: config.climb(), best: None, failed: None }
    }

    /// Why a trial does not pass.
    fn violations(&self, all: &SessionOutcome, mix: &MixOutcome) -> Vec<String> {
        let criteria = &self.config.criteria;
        let of_entry = |entry: &MixEntry| {
            let mut why = criteria.failures(&entry.sessions);
            why.extend(criteria.missed(entry.objective, entry.share(), &entry.sessions));
            why.into_iter().map(|why| format!("{}: {why}", entry.entry)).collect::<Vec<_>>()
        };
        let mut why: Vec<String> = mix.entries.iter().flat_map(of_entry).collect();
        why.extend(criteria.uneven(all));
        why.extend(mix.unmet.iter().cloned());
        why
    }

    fn sentence(&self) -> String {
        let times = |point: &MixPoint| format!("{} times", plain(point.multiplier));
        let why = |point: &MixPoint| point.violations.join(", ");
        let limit = self.climb.limit();
        if limit == Limit::Open {
            return "The multiple of the profile's load is not yet known.".into();
        }
        let failed = self.failed.as_ref().map(|failed| (times(failed), why(failed)));
        let most = if limit == Limit::Dut { " at most" } else { "" };
        let found = self.best.as_ref().map(|best| format!("{}{most} ({})", times(best), carried(best)));
        format!("Multiple of the profile's load: {}.", climb::answer(limit, found, failed))
    }
}

/// `web 450/s, dns 1.2 k/s; 12.3 Mbps`.
fn carried(point: &MixPoint) -> String {
    let one = |entry: &MixEntry| {
        let (_, unit) = goal(entry.objective);
        format!("{} {}", entry.entry, quantity(rounded(entry.reached), unit))
    };
    let entries: Vec<String> = point.entries.iter().map(one).collect();
    format!("{}; {}", entries.join(", "), quantity(rounded(point.sessions.goodput_bps), "bps"))
}

/// Nothing that is measured is known to more than a tenth.
fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// `2.5`, `0.125`, `12`.
fn plain(multiplier: f64) -> String {
    let text = format!("{multiplier:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Stage for MixSearch {
    fn next(&mut self) -> Option<Draft> {
        let (steps, rest) = self.climb.next()?;
        let multiplier = steps as f64 / STEPS;
        let load = MixLoad { multiplier, phases: self.config.phases };
        let label = format!("{MIX}: {} times the load", plain(multiplier));
        let draft = Draft::special(TrialKind::Mix(load), self.config.phases.total()).label(label);
        Some(draft.after(rest).again_after(self.config.rest))
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        let outcome = seen.outcome;
        let (TrialKind::Mix(load), Some(sessions), Some(mix)) =
            (&draft.kind, &outcome.sessions, &outcome.mix)
        else {
            return;
        };
        let point = MixPoint {
            multiplier: load.multiplier,
            sessions: sessions.clone(),
            entries: mix.entries.clone(),
            violations: self.violations(sessions, mix),
            drops: outcome.drops.clone(),
        };
        let verdict = seen.verdict_if(point.violations.is_empty());
        self.climb.judge((load.multiplier * STEPS).round() as u64, verdict);
        match verdict {
            Verdict::Pass => self.best = Some(point),
            Verdict::Fail => self.failed = Some(point),
            Verdict::Tester | Verdict::Disturbed | Verdict::GivenUp => {}
        }
    }

    fn decides(&self, _: &Draft, seen: &Seen<'_>) -> bool {
        let both = seen.outcome.sessions.as_ref().zip(seen.outcome.mix.as_ref());
        both.is_some_and(|(all, mix)| seen.verdict_if(self.violations(all, mix).is_empty()).is_known())
    }
}

impl Procedure for MixSearch {
    fn name(&self) -> &'static str {
        "session-mix"
    }

    fn findings(&self) -> Findings {
        Findings::Mix(vec![MixRow {
            best: self.best.clone(),
            failed: self.failed.clone(),
            limit: self.climb.limit(),
            resolution: self.config.resolution,
        }])
    }

    fn summary(&self) -> Vec<String> {
        vec![self.sentence()]
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = phase_remarks(self.config.phases);
        remarks.extend(climb::rest_remark(self.climb.rested, self.config.rest));
        remarks
    }
}
