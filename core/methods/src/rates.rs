//! Source of the rate of a test that starts at a known rate: the configuration, or a separate search.

use crate::draft::{Draft, Limit, Seen, Stage};
use crate::mlr::MlrSearch;
use crate::settings::{ConfigError, Settings};
use crate::testbed::{Frames, Testbed};
use crate::text::{AsText, grouped};
use crate::throughput::RateSearch;
use crate::{MlrConfig, ThroughputConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Pps};

/// A rate that is known already.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnownRate {
    /// At these frames.
    pub frames: Frames,
    /// Frames per second of the first group.
    #[serde(with = "AsText")]
    pub rate: Pps,
    /// Limit of the rate where it was found; absent: it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
}

/// Where rates come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateSource {
    /// They are known.
    Known(Vec<KnownRate>),
    /// The throughput is searched first, at each frame length.
    Throughput(ThroughputConfig),
    /// MLRsearch runs first, at each frame length.
    Mlr {
        /// With these goals.
        search: MlrConfig,
        /// The rate is the conditional throughput of this one, counted from 0.
        goal: usize,
    },
}

impl Default for RateSource {
    fn default() -> Self {
        Self::Throughput(ThroughputConfig::default())
    }
}

impl RateSource {
    pub(crate) fn check(&self, testbed: &Testbed) -> Result<(), ConfigError> {
        match self {
            Self::Known(rates) if rates.is_empty() => Err(ConfigError::new("rates", "needs a rate")),
            Self::Known(rates) => {
                let wrong = |known: &&KnownRate| {
                    known.rate == Pps::ZERO || known.rate > testbed.line_rate(&known.frames)
                };
                rates.iter().find(wrong).map_or(Ok(()), |known| {
                    let reason = format!(
                        "{} at {} must be above 0 and at most the line rate",
                        known.rate, known.frames
                    );
                    Err(ConfigError::new("rates", reason))
                })
            }
            Self::Throughput(config) => config.check(testbed),
            Self::Mlr { search, goal } if *goal >= search.goals.len() => {
                Err(ConfigError::new("goal", format!("there is no goal {goal}")))
            }
            Self::Mlr { search, .. } => search.check(testbed),
        }
    }

    /// The frames it searches at; none if the rates are known.
    pub(crate) fn sizes(&self) -> Vec<Frames> {
        match self {
            Self::Known(_) => Vec::new(),
            Self::Throughput(config) => config.sizes.clone(),
            Self::Mlr { search, .. } => search.sizes.clone(),
        }
    }

    pub(crate) fn set_sizes(&mut self, sizes: &[Frames]) {
        match self {
            Self::Known(_) => {}
            Self::Throughput(config) => config.set_sizes(sizes),
            Self::Mlr { search, .. } => search.set_sizes(sizes),
        }
    }

    /// Minutes instead of hours; the goals of MLRsearch define their own durations.
    pub(crate) fn quicken(&mut self) {
        if let Self::Throughput(config) = self {
            config.quicken();
        }
    }

    /// Changes the length of the trials of a search for the throughput.
    pub(crate) fn set_trial(&mut self, trial: Nanos) {
        if let Self::Throughput(config) = self {
            config.set_trial(trial);
        }
    }

    /// One finder for each frame length.
    pub(crate) fn finders(&self, testbed: &Testbed) -> Vec<(Frames, RateFinder)> {
        match self {
            Self::Known(rates) => {
                let finder =
                    |known: &KnownRate| RateFinder::Known(known.rate, known.limit.unwrap_or(Limit::Dut));
                rates.iter().map(|known| (known.frames.clone(), finder(known))).collect()
            }
            Self::Throughput(config) => {
                let finder =
                    |frames| RateFinder::Throughput(Box::new(RateSearch::new(frames, config, testbed)));
                config.sizes.iter().map(|frames| (frames.clone(), finder(frames))).collect()
            }
            Self::Mlr { search, goal } => {
                let finder =
                    |frames| RateFinder::Mlr(Box::new(MlrSearch::new(frames, search, testbed)), *goal);
                search.sizes.iter().map(|frames| (frames.clone(), finder(frames))).collect()
            }
        }
    }

    /// Name of the rate in results.
    pub(crate) fn noun(&self) -> String {
        match self {
            Self::Known(_) => "the given rate".into(),
            Self::Throughput(_) => "the throughput".into(),
            Self::Mlr { search, goal } => format!("the {}", search.goals[*goal].name()),
        }
    }
}

/// Finds the rate at one frame length.
#[derive(Debug, Clone)]
pub(crate) enum RateFinder {
    Known(Pps, Limit),
    Throughput(Box<RateSearch>),
    Mlr(Box<MlrSearch>, usize),
}

impl RateFinder {
    /// The rate, once known.
    pub(crate) fn found(&self) -> Option<Pps> {
        match self {
            Self::Known(rate, _) => Some(*rate),
            Self::Throughput(search) => search.found(),
            Self::Mlr(search, goal) => search.found(*goal),
        }
    }

    /// Whether the search that found it was bounded by the tester.
    pub(crate) fn limit(&self) -> Limit {
        match self {
            Self::Known(_, limit) => *limit,
            Self::Throughput(search) => search.limit(),
            Self::Mlr(search, goal) => search.limit(*goal),
        }
    }
}

impl Stage for RateFinder {
    fn next(&mut self) -> Option<Draft> {
        match self {
            Self::Known(..) => None,
            Self::Throughput(search) => search.next(),
            Self::Mlr(search, _) => search.next(),
        }
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        match self {
            Self::Known(..) => {}
            Self::Throughput(search) => search.take(draft, seen),
            Self::Mlr(search, _) => search.take(draft, seen),
        }
    }

    fn decides(&self, draft: &Draft, seen: &Seen<'_>) -> bool {
        match self {
            Self::Known(..) => false,
            Self::Throughput(search) => search.decides(draft, seen),
            Self::Mlr(search, _) => search.decides(draft, seen),
        }
    }
}

/// A test at a rate, once it is known.
pub(crate) trait AtRate: Stage {
    /// The rate is `rate`, and `limit` bounded it; called once before any trial.
    fn begin(&mut self, rate: Pps, limit: Limit);
}

/// A search, and then the stage that needs its result. Without a result the rest is left out.
#[derive(Debug, Clone)]
pub(crate) struct FindThen<S> {
    finder: RateFinder,
    found: Option<bool>,
    pub(crate) then: S,
}

impl<S: AtRate> FindThen<S> {
    pub(crate) fn new(finder: RateFinder, then: S) -> Self {
        Self { finder, found: None, then }
    }

    /// That the rate is not the device's limit, where the tester kept the search from finding it.
    pub(crate) fn caveat(&self, frames: &Frames) -> Option<String> {
        let rate = self.finder.found().filter(|rate| rate.micro() > 0)?;
        let rate = grouped(rate.as_f64() as u64);
        match self.finder.limit() {
            Limit::Disturbed => Some(format!(
                "At {frames} the rate, {rate} frames/s, is the highest that passed: above it trials can't be judged, because the \
                 tester was disturbed."
            )),
            Limit::Tester => Some(format!(
                "At {frames} the rate, {rate} frames/s, is the most that the tester could send; the device may do more."
            )),
            _ => None,
        }
    }

    /// Why nothing was done at a rate.
    pub(crate) fn why_not(&self) -> &'static str {
        match self.finder.limit() {
            Limit::Open => "not yet measured",
            Limit::Disturbed => {
                "not measured; the rate can't be judged here, because the tester was disturbed"
            }
            Limit::Tester => "not measured; no rate was found, the tester was the limit",
            _ => "not measured; no rate was found",
        }
    }
}

impl<S: AtRate> Stage for FindThen<S> {
    fn next(&mut self) -> Option<Draft> {
        if self.found.is_none() {
            if let Some(draft) = self.finder.next() {
                return Some(draft);
            }
            let rate = self.finder.found().filter(|rate| rate.micro() > 0);
            if let Some(rate) = rate {
                self.then.begin(rate, self.finder.limit());
            }
            self.found = Some(rate.is_some());
        }
        if self.found == Some(true) { self.then.next() } else { None }
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        match self.found {
            None => self.finder.take(draft, seen),
            Some(_) => self.then.take(draft, seen),
        }
    }

    fn decides(&self, draft: &Draft, seen: &Seen<'_>) -> bool {
        match self.found {
            None => self.finder.decides(draft, seen),
            Some(_) => self.then.decides(draft, seen),
        }
    }
}
