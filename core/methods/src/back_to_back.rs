//! Back-to-back frames: the longest burst without loss, and the buffer it implies (RFC 9004, updates RFC 2544
//! section 26.4).

use crate::bisect::Bisect;
use crate::draft::{Draft, InTurn, Limit, Procedure, Seen, Stage, Verdict};
use crate::finding::{Finding, GoalMeaning};
use crate::list::Findings;
use crate::method::Method;
use crate::rates::{AtRate, FindThen, RateSource};
use crate::result::Spread;
use crate::run::Run;
use crate::settings::{About, ConfigError, Row, Settings};
use crate::testbed::{Frames, Testbed};
use crate::text::{AsText, grouped};
use crate::trial::TrialKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Pps};

/// No burst is longer (RFC 9004 section 5.3).
const BURST_MAX: Nanos = Nanos::from_secs(30);

/// Settings of the burst search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BackToBackConfig {
    /// Where the throughput is from, which the correction needs.
    pub rates: RateSource,
    /// Independent searches at each frame length; at least 50 by RFC 2544.
    pub repeats: u32,
    /// The longest burst, at full load; up to 30 s.
    #[serde(with = "AsText")]
    pub burst_max: Nanos,
    /// A search ends when its bounds are this many frames apart.
    pub resolution_frames: u64,
    /// Number of times a burst that lost frames is tried again (RFC 9004 section 5.4).
    pub loss_verification: u32,
    /// Wait after the burst, for the DUT's buffer to drain; at least 2 s.
    #[serde(with = "AsText")]
    pub wait: Nanos,
}

impl Default for BackToBackConfig {
    fn default() -> Self {
        Self {
            rates: RateSource::default(),
            repeats: 50,
            burst_max: Nanos::from_secs(2),
            resolution_frames: 1,
            loss_verification: 1,
            wait: Nanos::from_secs(2),
        }
    }
}

impl BackToBackConfig {
    pub(crate) const ABOUT: About = About {
        name: "back-to-back",
        about: "longest burst at the line rate without loss (RFC 9004)",
        result_names: &["rfc9004-back-to-back"],
        makes_curves: false,
        goals: &[
            GoalMeaning {
                goal: "back_to_back",
                name: "Back-to-back frames",
                definition: "the longest burst with the smallest gaps that was forwarded whole (RFC 2544 section 26.4, \
                             RFC 9004)",
            },
            GoalMeaning {
                goal: "buffer_time",
                name: "Buffer time",
                definition: "the buffer the longest burst implies, corrected for what is forwarded meanwhile (RFC 9004)",
            },
        ],
    };
}

impl Settings for BackToBackConfig {
    fn check(&self, testbed: &Testbed) -> Result<(), ConfigError> {
        if self.burst_max == Nanos::ZERO || self.burst_max > BURST_MAX {
            return Err(ConfigError::new("burst_max", "must be above 0 s and at most 30 s (RFC 9004)"));
        }
        if self.repeats == 0 || self.resolution_frames == 0 {
            return Err(ConfigError::new("repeats", "repeats and resolution_frames must be at least 1"));
        }
        self.rates.check(testbed)
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(BackToBack::new(self, testbed), testbed))
    }

    fn quicken(&mut self) {
        self.rates.quicken();
        self.repeats = 2;
        self.burst_max = Nanos::from_millis(500);
        self.resolution_frames = 64;
        self.wait = Nanos::from_millis(100);
    }

    fn set_trial(&mut self, trial: Nanos) {
        self.rates.set_trial(trial);
        self.burst_max = trial.min(BURST_MAX);
    }

    fn sizes(&self) -> Vec<Frames> {
        self.rates.sizes()
    }

    fn set_sizes(&mut self, sizes: &[Frames]) {
        self.rates.set_sizes(sizes);
    }

    fn rates(&mut self) -> Option<&mut RateSource> {
        Some(&mut self.rates)
    }
}

/// Bursts at one frame length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BackToBackRow {
    /// The frames.
    pub frames: Frames,
    /// The throughput, frames/s of the first group; absent: none was found.
    pub throughput_pps: Option<f64>,
    /// Frames per second that fill the link.
    pub line_rate_pps: f64,
    /// Longest bursts without loss, frames: mean, standard deviation, smallest, largest over the searches.
    #[serde(rename = "burst_frames")]
    pub burst: Option<Spread>,
    /// Longest of the shortest bursts with loss, frames: no search found a longer one without loss, nor one shorter than `burst_frames.min`
    /// with it. Absent where nothing was lost.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost_from_frames: Option<u64>,
    /// Mean burst ÷ line rate, s.
    pub implied_buffer_s: Option<f64>,
    /// The implied buffer time less what left the buffer meanwhile, s.
    pub corrected_buffer_s: Option<f64>,
    /// The same in frames.
    pub corrected_buffer_frames: Option<f64>,
    /// Searches that ended at the longest burst.
    pub at_maximum: u32,
    /// Searches that the tester bounded.
    pub tester_limited: u32,
    /// Searches that can't be judged, because the tester was disturbed.
    #[serde(default)]
    pub disturbed: u32,
    /// Why there was nothing to search.
    pub skipped: Option<String>,
    /// Limit of the throughput from above. Absent in archives of older versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub throughput_limit: Option<Limit>,
}

impl Row for BackToBackRow {
    fn findings(&self) -> Vec<Finding> {
        let burst = Finding {
            lower: self.burst.filter(|_| self.lost_from_frames.is_some()).map(|burst| burst.min),
            upper: self.lost_from_frames.map(|frames| frames as f64),
            ..Finding::at(&self.frames, "back_to_back", "frames").repeats(self.burst.as_ref())
        };
        let note = self.skipped.clone().or_else(|| self.left_out());
        let buffer = |seconds: f64| Finding::at(&self.frames, "buffer_time", "s").value(seconds);
        [burst.note(note)].into_iter().chain(self.corrected_buffer_s.map(buffer)).collect()
    }

    fn limits(&self) -> Vec<Limit> {
        let searches = [(self.tester_limited, Limit::Tester), (self.disturbed, Limit::Disturbed)];
        let searches = searches.into_iter().filter(|(n, _)| *n > 0).map(|(_, limit)| limit);
        searches.chain(self.throughput_limit.filter(|limit| limit.is_testers())).collect()
    }

    fn needs_none(&self) -> bool {
        self.skipped.is_some() && !self.throughput_limit.is_none_or(Limit::is_testers)
    }
}

impl BackToBackRow {
    /// Searches that are not in the mean.
    fn left_out(&self) -> Option<String> {
        let said = [
            (self.tester_limited, "that the tester bounded"),
            (self.disturbed, "that can't be judged, because the tester was disturbed"),
            (self.at_maximum, "that ended at the longest burst"),
        ];
        let said = said.iter().filter(|(searches, _)| *searches > 0);
        let said: Vec<String> = said.map(|(n, what)| format!("{n} searches {what}")).collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}

/// Searches at one frame length.
#[derive(Debug, Clone)]
struct Bursts {
    frames: Frames,
    line: Pps,
    config: BackToBackConfig,
    rate: Option<Pps>,
    search: Bisect,
    verifying: u32,
    /// Trials can't be judged: nothing more is searched.
    given_up: bool,
    found: Vec<(u64, Limit)>,
    /// The shortest burst with loss, by the DUT, of each search that found one.
    lost_from: Vec<u64>,
    skipped: Option<String>,
    throughput_limit: Option<Limit>,
}

impl Bursts {
    fn new(frames: &Frames, config: &BackToBackConfig, testbed: &Testbed) -> Self {
        let line = testbed.line_rate(frames);
        let max = line.packets_in(config.burst_max);
        Self {
            frames: frames.clone(),
            line,
            search: Bisect::new(1, max, config.resolution_frames),
            config: config.clone(),
            rate: None,
            verifying: 0,
            given_up: false,
            found: Vec::new(),
            lost_from: Vec::new(),
            skipped: None,
            throughput_limit: None,
        }
    }

    /// Records the search's result and starts the next search.
    fn conclude(&mut self) {
        self.found.push((self.search.passed().unwrap_or(0), self.search.limit()));
        self.lost_from.extend(self.search.failed_by_dut());
        let max = self.line.packets_in(self.config.burst_max);
        self.search = Bisect::new(1, max, self.config.resolution_frames);
    }

    fn row(&self) -> BackToBackRow {
        let line = self.line.as_f64();
        // A search that the tester bounded says nothing about the DUT's buffer.
        let bursts: Vec<f64> =
            self.found.iter().filter(|(_, limit)| !limit.is_testers()).map(|(n, _)| *n as f64).collect();
        let burst = Spread::of(&bursts);
        let implied = burst.map(|burst| burst.mean / line);
        let throughput = self.rate.map(Pps::as_f64);
        let corrected = implied.zip(throughput).map(|(implied, rate)| implied * (1.0 - rate / line));
        let count = |limit| self.found.iter().filter(|(_, seen)| *seen == limit).count() as u32;
        BackToBackRow {
            frames: self.frames.clone(),
            throughput_pps: throughput,
            line_rate_pps: line,
            burst,
            lost_from_frames: self.lost_from.iter().max().copied().filter(|_| burst.is_some()),
            implied_buffer_s: implied,
            corrected_buffer_s: corrected,
            corrected_buffer_frames: corrected.map(|seconds| seconds * line),
            at_maximum: count(Limit::Maximum),
            tester_limited: count(Limit::Tester),
            disturbed: count(Limit::Disturbed),
            skipped: self.skipped.clone(),
            throughput_limit: self.throughput_limit,
        }
    }

    fn sentence(&self) -> String {
        let row = self.row();
        let what = format!("Back-to-back frames at {}", row.frames);
        match (&row.burst, &row.skipped) {
            (_, Some(why)) => format!("{what}: {why}"),
            (Some(burst), _) => format!(
                "{what}: {} frames on average over {} searches (smallest {}, largest {}, standard deviation {:.1}){}; \
                 corrected buffer time {:.3} ms{}.",
                grouped(burst.mean as u64),
                burst.samples,
                grouped(burst.min as u64),
                grouped(burst.max as u64),
                burst.stddev,
                row.lost_from_frames
                    .filter(|lost| *lost > burst.max as u64 + 1)
                    .map_or_else(String::new, |lost| format!(", fewer than {}", grouped(lost))),
                row.corrected_buffer_s.unwrap_or(0.0) * 1e3,
                row.left_out().map_or_else(String::new, |said| format!("; {said}"))
            ),
            (None, None) if row.tester_limited > 0 => {
                format!("{what}: not found; the tester cannot send bursts at full load.")
            }
            (None, None) if row.disturbed > 0 => {
                format!("{what}: can't be judged here; the tester was disturbed.")
            }
            (None, None) => format!("{what}: not yet known."),
        }
    }
}

impl Stage for Bursts {
    fn next(&mut self) -> Option<Draft> {
        if self.skipped.is_some() || self.rate.is_none() {
            return None;
        }
        if self.search.probe().is_none() {
            self.conclude();
        }
        if self.given_up || self.found.len() >= self.config.repeats as usize {
            return None;
        }
        let frames = self.search.probe()?;
        let rate = self.rate.map_or(1.0, |rate| rate.as_f64().max(1.0));
        // Burst, what the DUT takes to drain it at its throughput, and the wait (RFC 9004 section 5.3).
        let seconds = frames as f64 / self.line.as_f64() + frames as f64 / rate;
        let duration = Nanos((seconds * 1e9) as u64).saturating_add(self.config.wait);
        let label = format!(
            "{}: burst of {} frames, search {} of {}",
            self.frames,
            grouped(frames),
            self.found.len() + 1,
            self.config.repeats
        );
        Some(Draft::load(&self.frames, self.line, duration).kind(TrialKind::Burst { frames }).label(label))
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        let TrialKind::Burst { frames } = draft.kind else { return };
        // A pause within a burst lets the DUT's buffer drain.
        let verdict = seen.verdict_if_valid(seen.loss_ratio() == 0.0);
        self.given_up |= verdict == Verdict::GivenUp;
        if verdict == Verdict::Fail && self.verifying < self.config.loss_verification {
            self.verifying += 1;
            return;
        }
        self.verifying = 0;
        self.search.judge(frames, verdict);
    }
}

impl AtRate for Bursts {
    fn begin(&mut self, rate: Pps, limit: Limit) {
        self.rate = Some(rate);
        self.throughput_limit = Some(limit);
        // RFC 9004 section 5.2: only where the throughput is below the theoretical maximum is there a buffer to fill.
        self.skipped = match limit {
            Limit::Disturbed => Some(
                "the tester was disturbed while the throughput was searched, so nothing is known of the buffer.".into(),
            ),
            Limit::Tester => Some(
                "the tester limited the throughput, so bursts at full load are no evidence about the DUT.".into(),
            ),
            Limit::Maximum => Some("the throughput is the line rate, so no burst is too long.".into()),
            _ if rate >= self.line => {
                Some("the throughput is the line rate, so no burst is too long.".into())
            }
            _ => None,
        };
    }
}

/// Bursts at all frame lengths.
#[derive(Debug, Clone)]
pub(crate) struct BackToBack {
    config: BackToBackConfig,
    sizes: InTurn<FindThen<Bursts>>,
}

impl BackToBack {
    pub(crate) fn new(config: &BackToBackConfig, testbed: &Testbed) -> Self {
        let finders = config.rates.finders(testbed).into_iter();
        let stages =
            finders.map(|(frames, finder)| FindThen::new(finder, Bursts::new(&frames, config, testbed)));
        Self { config: config.clone(), sizes: InTurn::new(stages) }
    }

    fn rows(&self) -> Vec<BackToBackRow> {
        self.sizes.stages.iter().map(|stage| stage.then.row()).collect()
    }
}

impl Stage for BackToBack {
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

impl Procedure for BackToBack {
    fn name(&self) -> &'static str {
        "rfc9004-back-to-back"
    }

    fn findings(&self) -> Findings {
        Findings::BackToBack(self.rows())
    }

    fn summary(&self) -> Vec<String> {
        let sentence = |stage: &FindThen<Bursts>| match (&stage.then.skipped, stage.then.rate) {
            (None, None) => format!("Back-to-back frames at {}: {}.", stage.then.frames, stage.why_not()),
            _ => stage.then.sentence(),
        };
        self.sizes.stages.iter().map(sentence).collect()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.config.repeats < 50 {
            let repeats = self.config.repeats;
            remarks.push(format!("{repeats} searches each; RFC 2544 section 26.4 requires at least 50."));
        }
        for row in self.rows() {
            let most = row.line_rate_pps * self.config.burst_max.as_secs_f64();
            if row.burst.is_some_and(|burst| burst.max >= 0.9 * most) {
                remarks.push(format!(
                    "At {} bursts came close to the longest one, {}: repeat with a higher burst_max (RFC 9004).",
                    row.frames, self.config.burst_max
                ));
            }
        }
        remarks
    }
}
