//! Throughput: the highest rate at which no frame is lost (RFC 2544 section 26.1), by bisection.
//!
//! Short trials may narrow the search; what is reported has passed a trial of full length (section 24).

use crate::bisect::Bisect;
use crate::draft::{Draft, InTurn, Limit, Procedure, Seen, Stage, Verdict};
use crate::finding::{Finding, GoalMeaning};
use crate::interval::Criterion;
use crate::list::Findings;
use crate::method::Method;
use crate::outcome::GroupOutcome;
use crate::rates::KnownRate;
use crate::result::{FoundRate, bounded_by};
use crate::run::Run;
use crate::settings::{About, ConfigError, Row, Settings};
use crate::testbed::{Frames, Testbed};
use crate::text::{AsNanos, AsText, AsTextOrNone, grouped, percent};
use crate::trial::Phase;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Pps};

/// Maximum distance above the tester's best offered load up to which a search continues.
const MARGIN: f64 = 1.25;

/// Settings of the throughput search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ThroughputConfig {
    /// One search for each, in this order.
    pub sizes: Vec<Frames>,
    /// The search ends when its bounds are this share of the line rate apart.
    pub resolution: f64,
    /// Smallest load tried, share of the line rate.
    pub minimum: f64,
    /// Largest load tried, share of the line rate.
    pub maximum: f64,
    /// Loss ratio that still passes; 0 by the RFC. Above 0 the result is not called throughput.
    pub loss_ratio: f64,
    /// Length of the trials that narrow the search; absent: all trials are of full length.
    #[serde(with = "AsTextOrNone", skip_serializing_if = "Option::is_none")]
    pub exploratory: Option<Nanos>,
    /// Length of the trials that count; at least 60 s by the RFC.
    #[serde(with = "AsText")]
    pub final_trial: Nanos,
    /// Number of times a load that lost frames is tried again (binary search with loss verification).
    pub loss_verification: u32,
}

impl Default for ThroughputConfig {
    fn default() -> Self {
        Self {
            sizes: Frames::rfc2544(),
            resolution: 0.001,
            minimum: 0.001,
            maximum: 1.0,
            loss_ratio: 0.0,
            exploratory: None,
            final_trial: Nanos::from_secs(60),
            loss_verification: 0,
        }
    }
}

impl ThroughputConfig {
    pub(crate) const ABOUT: About = About {
        name: "throughput",
        about: "highest rate without loss (RFC 2544 section 26.1)",
        result_names: &["rfc2544-throughput"],
        makes_curves: true,
        goals: &[GoalMeaning {
            goal: "throughput",
            name: "Throughput",
            definition: "the highest rate at which none of the offered frames was dropped (RFC 1242 section 3.17, \
                         RFC 2544 section 26.1)",
        }],
    };
}

impl Settings for ThroughputConfig {
    fn check(&self, _: &Testbed) -> Result<(), ConfigError> {
        let range = 0.0..=1.0;
        if self.sizes.is_empty() {
            return Err(ConfigError::new("sizes", "needs a frame length"));
        }
        if !(self.resolution > 0.0 && self.resolution < 1.0) {
            return Err(ConfigError::new("resolution", "must be between 0 and 1"));
        }
        if !(self.minimum > 0.0 && self.minimum <= self.maximum && self.maximum <= 1.0) {
            return Err(ConfigError::new("minimum", "0 < minimum ≤ maximum ≤ 1 must hold"));
        }
        if !range.contains(&self.loss_ratio) || self.loss_ratio >= 1.0 {
            return Err(ConfigError::new("loss_ratio", "must be at least 0 and below 1"));
        }
        if self.final_trial == Nanos::ZERO || self.exploratory == Some(Nanos::ZERO) {
            return Err(ConfigError::new("final_trial", "must be longer than 0"));
        }
        Ok(())
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(Throughput::new(self, testbed), testbed))
    }

    /// Short trials narrow the search; a loss is believed when it is seen twice.
    fn quicken(&mut self) {
        self.exploratory = Some(Nanos::from_millis(500));
        self.final_trial = Nanos::from_secs(2);
        self.loss_verification = 1;
    }

    fn set_trial(&mut self, trial: Nanos) {
        self.final_trial = trial;
        self.exploratory = self.exploratory.map(|exploratory| exploratory.min(trial));
    }

    fn sizes(&self) -> Vec<Frames> {
        self.sizes.clone()
    }

    fn set_sizes(&mut self, sizes: &[Frames]) {
        self.sizes = sizes.to_vec();
    }
}

/// Throughput at one frame length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThroughputRow {
    /// The frames.
    pub frames: Frames,
    /// The highest rate that passed a trial of full length; absent: none did.
    pub throughput: Option<FoundRate>,
    /// Frames per second that fill the link of the first group: the theoretical limit.
    pub line_rate_pps: f64,
    /// The lowest rate of the first group at which the DUT failed, frames/s.
    pub failed_pps: Option<f64>,
    /// The same with all groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<FoundRate>,
    /// The highest load above the throughput that can't be judged; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unjudged: Option<UnjudgedLoad>,
    /// Limit of the value from above.
    pub limit: Limit,
    /// The search ends when its bounds are this share of the line rate apart. Absent in archives of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<f64>,
    /// Loss ratio that still passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_ratio: Option<f64>,
    /// Number of times that a load that lost frames was tried again before the loss was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_verification: Option<u32>,
    /// Length of the trial it passed.
    #[serde(rename = "final_trial_ns", with = "AsNanos")]
    pub final_trial: Nanos,
    /// That trial, by group.
    pub directions: Vec<GroupOutcome>,
    /// The smallest loss ratio seen at the smallest load, if that failed.
    pub loss_at_minimum: Option<f64>,
}

/// A load at which trials can't be judged, because the tester was disturbed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnjudgedLoad {
    /// The load.
    pub load: FoundRate,
    /// Smallest loss ratio counted at it. The tester may have lost all of that.
    pub loss_ratio: f64,
}

impl UnjudgedLoad {
    /// ` Indicative: 1,000 frames/s, 10% of the line rate, where …`.
    pub(crate) fn sentence(&self) -> String {
        let lost = match self.loss_ratio {
            0.0 => "nothing was lost".to_owned(),
            ratio => format!("{} was lost, which the tester may have lost", percent(ratio)),
        };
        format!(" Indicative: {}, where {lost}.", self.load)
    }
}

impl Row for ThroughputRow {
    fn findings(&self) -> Vec<Finding> {
        let found = self.throughput.as_ref();
        let value = found.map(|rate| rate.total_pps);
        let unjudged = self.unjudged.as_ref().map(|unjudged| &unjudged.load);
        // Archives of older versions have the failed rate of the first group only.
        let groups = found.and_then(FoundRate::total_by_first).unwrap_or(1.0);
        let failed = self.failed_pps.filter(|_| self.limit != Limit::Tester).map(|pps| pps * groups);
        let known = [found, self.failed.as_ref(), unjudged];
        let line = known.into_iter().flatten().find_map(FoundRate::line_pps).or(Some(self.line_rate_pps));
        let finding = Finding {
            value,
            lower: value,
            upper: self.failed.as_ref().map(|rate| rate.total_pps).or(failed),
            line,
            resolution: line.zip(self.resolution).map(|(line, share)| line * share),
            criterion: self.loss_ratio.map(|ratio| Criterion::Loss {
                ratio,
                trial: self.final_trial,
                failures: self.loss_verification.unwrap_or(0) + 1,
            }),
            ..Finding::at(&self.frames, "throughput", "pps").note(self.limit.note_of(value))
        };
        vec![finding.indicating(unjudged.map(|load| load.total_pps))]
    }

    fn known_rate(&self) -> Option<KnownRate> {
        let rate = self.throughput.as_ref()?.first();
        Some(KnownRate { frames: self.frames.clone(), rate, limit: Some(self.limit) })
    }

    fn limits(&self) -> Vec<Limit> {
        vec![self.limit]
    }
}

impl ThroughputRow {
    /// Indication from trials that can't be judged.
    fn indication(&self) -> String {
        self.unjudged.as_ref().map_or_else(String::new, UnjudgedLoad::sentence)
    }
}

/// The search at one frame length.
#[derive(Debug, Clone)]
pub(crate) struct RateSearch {
    frames: Frames,
    line: Pps,
    testbed: Testbed,
    config: ThroughputConfig,
    explore: Option<Bisect>,
    confirm: Option<Bisect>,
    /// The load on which loss is being verified, and how often it was lost.
    verifying: Option<(u64, u32)>,
    /// Trials that can't be judged: load, and loss ratio.
    unjudged: Vec<(u64, f64)>,
    passed: Vec<GroupOutcome>,
    loss_at_minimum: Option<f64>,
}

impl RateSearch {
    pub(crate) fn new(frames: &Frames, config: &ThroughputConfig, testbed: &Testbed) -> Self {
        let line = testbed.line_rate(frames);
        let search = Self {
            frames: frames.clone(),
            line,
            testbed: testbed.clone(),
            config: config.clone(),
            explore: None,
            confirm: None,
            verifying: None,
            unjudged: Vec::new(),
            passed: Vec::new(),
            loss_at_minimum: None,
        };
        let plain = search.plain();
        match config.exploratory {
            Some(_) => Self { explore: Some(plain), ..search },
            None => Self { confirm: Some(plain), ..search },
        }
    }

    fn micro(&self, share: f64) -> u64 {
        if share >= 1.0 { self.line.micro() } else { (self.line.micro() as f64 * share) as u64 }
    }

    fn plain(&self) -> Bisect {
        let [min, max, resolution] =
            [self.config.minimum, self.config.maximum, self.config.resolution].map(|share| self.micro(share));
        Bisect::new(min, max, resolution)
    }

    /// Trials of full length, beginning with what the short ones left.
    fn after(&self, explored: &Bisect) -> Bisect {
        let start = explored.passed().unwrap_or(self.micro(self.config.minimum));
        let plain = self.plain().descending(self.micro(self.config.resolution).div_ceil(2));
        let plain = plain.around(explored.open_unknown());
        match (explored.passed(), explored.failed(), explored.limit()) {
            // That the tester fell short, a trial of full length would not mend.
            (Some(_), Some(failed), Limit::Tester) => plain.climbing([start]).below(failed, Limit::Tester),
            // A short trial may have lost by chance: the bound from above is tried in full, too.
            (Some(_), Some(failed), _) => plain.climbing([start, failed]),
            _ => plain.climbing([start]),
        }
    }

    /// The load that a trial at `at` is evidence for: if the tester could not offer it, the load it offered, and a
    /// margin for what it might offer on another day.
    fn spoken_of(&self, at: u64, seen: &Seen<'_>) -> u64 {
        let Some(share) = seen.outcome.share_achieved().filter(|_| seen.outcome.generator_limited) else {
            return at;
        };
        let bound = (at as f64 * share * MARGIN) as u64;
        let passed = self.search().and_then(Bisect::passed).unwrap_or(0).max(self.micro(self.config.minimum));
        if bound > passed + self.micro(self.config.resolution) { at.min(bound) } else { at }
    }

    fn search(&self) -> Option<&Bisect> {
        self.confirm.as_ref().or(self.explore.as_ref())
    }

    /// The highest rate of the first group that passed a trial of full length.
    pub(crate) fn found(&self) -> Option<Pps> {
        self.confirm.as_ref().and_then(Bisect::passed).map(Pps::from_micro)
    }

    pub(crate) fn limit(&self) -> Limit {
        self.confirm.as_ref().map_or(Limit::Open, Bisect::limit)
    }

    pub(crate) fn row(&self) -> ThroughputRow {
        ThroughputRow {
            frames: self.frames.clone(),
            throughput: self.found().map(|rate| FoundRate::new(&self.testbed, &self.frames, rate)),
            line_rate_pps: self.line.as_f64(),
            failed: self
                .search()
                .and_then(Bisect::failed_by_dut)
                .map(|micro| FoundRate::new(&self.testbed, &self.frames, Pps::from_micro(micro))),
            failed_pps: self.search().and_then(Bisect::failed_by_dut).map(|micro| micro as f64 / 1e6),
            unjudged: self.unjudged_load(),
            limit: self.limit(),
            resolution: Some(self.config.resolution),
            loss_ratio: Some(self.config.loss_ratio),
            loss_verification: Some(self.config.loss_verification),
            final_trial: self.config.final_trial,
            directions: self.passed.clone(),
            loss_at_minimum: self.loss_at_minimum,
        }
    }

    /// The highest load of which nothing is known, with the smallest loss at it.
    fn unjudged_load(&self) -> Option<UnjudgedLoad> {
        let (low, high) = self.search()?.open_unknown()?;
        let open = self.unjudged.iter().filter(|(at, _)| (low..=high).contains(at));
        let (at, loss) = open.max_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)))?;
        let load = FoundRate::new(&self.testbed, &self.frames, Pps::from_micro(*at));
        Some(UnjudgedLoad { load, loss_ratio: *loss })
    }

    /// A single figure states rate, frame length, theoretical limit (RFC 2544 section 26.1).
    pub(crate) fn sentence(&self) -> String {
        let row = self.row();
        let name = if self.config.loss_ratio > 0.0 {
            format!("Rate with at most {} loss", percent(self.config.loss_ratio))
        } else {
            "Throughput".into()
        };
        let line = grouped(row.line_rate_pps as u64);
        match (&row.throughput, row.limit) {
            (Some(rate), limit) => {
                let at = row.failed_pps.map(|failed| percent(failed / row.line_rate_pps));
                let bound = match (&at, limit) {
                    (Some(at), Limit::Dut) => format!("; at {at} frames were lost"),
                    _ => bounded_by(limit, at),
                };
                format!(
                    "{name} at {}: {rate}{bound} (theoretical limit of a direction: {line} frames/s).{}",
                    row.frames,
                    row.indication()
                )
            }
            (None, Limit::Open) => format!("{name} at {}: not yet known.", row.frames),
            (None, Limit::Tester) => format!(
                "{name} at {}: not found. The tester was the limit at every load down to {} of the line rate.",
                row.frames,
                percent(self.config.minimum)
            ),
            (None, Limit::Disturbed) => {
                let failed = row.failed_pps.map_or_else(String::new, |failed| {
                    format!(" At {} of it frames were lost.", percent(failed / row.line_rate_pps))
                });
                format!(
                    "{name} at {}: can't be judged here. The tester was disturbed (theoretical limit of a direction: {line} \
                     frames/s).{failed}{}",
                    row.frames,
                    row.indication()
                )
            }
            (None, _) => format!(
                "{name} at {}: none. The smallest load, {} of the line rate, still lost {}.",
                row.frames,
                percent(self.config.minimum),
                percent(row.loss_at_minimum.unwrap_or(1.0))
            ),
        }
    }

    /// Whether a loss at `at` must be seen again before it is believed.
    fn verify(&mut self, at: u64) -> bool {
        let seen = match self.verifying {
            Some((load, seen)) if load == at => seen,
            _ => 0,
        };
        self.verifying = (seen < self.config.loss_verification).then_some((at, seen + 1));
        self.verifying.is_some()
    }
}

impl Stage for RateSearch {
    fn next(&mut self) -> Option<Draft> {
        if let Some(explored) = &self.explore
            && self.confirm.is_none()
            && explored.probe().is_none()
        {
            // Where nothing can be judged, longer trials can't either.
            let is_known = explored.passed().is_some() || explored.limit() != Limit::Disturbed;
            self.confirm = Some(if is_known { self.after(explored) } else { explored.clone() });
        }
        let rate = match self.verifying {
            Some((load, _)) => load,
            None => self.search()?.probe()?,
        };
        let (duration, phase) = match (self.config.exploratory, &self.confirm) {
            (Some(short), None) => (short, Phase::Explore),
            _ => (self.config.final_trial, Phase::Measure),
        };
        let share = rate as f64 / self.line.micro() as f64;
        let label = format!("{} at {} of the line rate", self.frames, percent(share));
        Some(Draft::load(&self.frames, Pps::from_micro(rate), duration).phase(phase).label(label))
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        let at = draft.rate.map_or(0, Pps::micro);
        let verdict = seen.verdict(self.config.loss_ratio);
        if verdict == Verdict::Fail && self.verify(at) {
            return;
        }
        self.verifying = None;
        if matches!(verdict, Verdict::Disturbed | Verdict::GivenUp) {
            self.unjudged.push((at, seen.loss_ratio()));
        }
        let minimum = self.micro(self.config.minimum).max(1);
        if verdict == Verdict::Fail && at == minimum {
            self.loss_at_minimum = Some(self.loss_at_minimum.unwrap_or(1.0).min(seen.loss_ratio()));
        }
        let at = if matches!(verdict, Verdict::Tester) { self.spoken_of(at, seen) } else { at };
        match (&mut self.confirm, &mut self.explore) {
            (Some(search), _) => {
                search.judge(at, verdict);
                if verdict == Verdict::Pass {
                    self.passed.clone_from(&seen.outcome.groups);
                }
            }
            (None, Some(search)) => search.judge(at, verdict),
            (None, None) => {}
        }
    }

    fn decides(&self, _: &Draft, seen: &Seen<'_>) -> bool {
        seen.verdict(self.config.loss_ratio).is_known()
    }
}

/// One search after another.
#[derive(Debug, Clone)]
pub(crate) struct Throughput {
    config: ThroughputConfig,
    searches: InTurn<RateSearch>,
}

impl Throughput {
    pub(crate) fn new(config: &ThroughputConfig, testbed: &Testbed) -> Self {
        let searches = config.sizes.iter().map(|frames| RateSearch::new(frames, config, testbed));
        Self { config: config.clone(), searches: InTurn::new(searches) }
    }
}

impl Stage for Throughput {
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

impl Procedure for Throughput {
    fn name(&self) -> &'static str {
        "rfc2544-throughput"
    }

    fn findings(&self) -> Findings {
        Findings::Throughput(self.searches.stages.iter().map(RateSearch::row).collect())
    }

    fn summary(&self) -> Vec<String> {
        self.searches.stages.iter().map(RateSearch::sentence).collect()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.config.final_trial < Nanos::from_secs(60) {
            remarks.push(format!(
                "Final trials took {}; RFC 2544 section 24 requires at least 60 s.",
                self.config.final_trial
            ));
        }
        if let Some(short) = self.config.exploratory {
            remarks.push(format!("Trials of {short} narrowed the search."));
        }
        if self.config.loss_ratio > 0.0 {
            let ratio = percent(self.config.loss_ratio);
            remarks
                .push(format!("Up to {ratio} of the frames may be lost: this is not RFC 2544 throughput."));
        }
        remarks
    }
}
