//! Reset: how long the DUT forwards nothing after a reset (RFC 6201, updates RFC 2544 section 26.6).

use crate::draft::{Draft, InTurn, Limit, Procedure, Seen, Stage};
use crate::finding::{Finding, GoalMeaning};
use crate::list::Findings;
use crate::method::Method;
use crate::rates::{AtRate, FindThen, RateSource};
use crate::result::Spread;
use crate::run::Run;
use crate::settings::{About, ConfigError, Requirement, Row, Settings};
use crate::testbed::{Frames, Testbed};
use crate::text::{AsNanos, AsText, grouped};
use crate::trial::TrialKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Pps};

/// Settings of the reset measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ResetConfig {
    /// The throughput; the first frame length is used, the smallest by the RFC.
    pub rates: RateSource,
    /// Names of the resets.
    pub resets: Vec<String>,
    /// Trials of each kind.
    pub repeats: u32,
    /// Length of a trial, including the reset and the return of the DUT.
    #[serde(with = "AsText")]
    pub duration: Nanos,
}

impl Default for ResetConfig {
    fn default() -> Self {
        Self {
            rates: RateSource::default(),
            resets: ["hardware", "software", "power"].map(String::from).to_vec(),
            repeats: 1,
            duration: Nanos::from_secs(600),
        }
    }
}

impl ResetConfig {
    pub(crate) const ABOUT: About = About {
        name: "reset",
        about: "outage after a reset (RFC 6201)",
        result_names: &["rfc6201-reset"],
        makes_curves: false,
        goals: &[GoalMeaning {
            goal: "reset",
            name: "Reset",
            definition: "how long nothing was forwarded (RFC 2544 section 26.6, RFC 6201)",
        }],
    };
}

impl Settings for ResetConfig {
    fn check(&self, testbed: &Testbed) -> Result<(), ConfigError> {
        if self.resets.is_empty() || self.repeats == 0 || self.duration == Nanos::ZERO {
            let reason = "needs a kind of reset; repeats must be at least 1, duration longer than 0";
            return Err(ConfigError::new("resets", reason));
        }
        self.rates.check(testbed)
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(Reset::new(self, testbed), testbed))
    }

    fn quicken(&mut self) {
        self.rates.quicken();
        self.duration = Nanos::from_secs(30);
    }

    fn set_trial(&mut self, trial: Nanos) {
        self.rates.set_trial(trial);
        self.duration = trial;
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

    fn requirements(&self) -> Vec<Requirement> {
        self.resets.iter().cloned().map(Requirement::Reset).collect()
    }
}

/// Outage after one kind of reset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResetRow {
    /// Reset of the DUT.
    pub how: String,
    /// The frames.
    pub frames: Frames,
    /// Length of a trial.
    #[serde(rename = "duration_ns", with = "AsNanos")]
    pub duration: Nanos,
    /// Lost frames ÷ offered rate, s (RFC 6201 section 4.1).
    #[serde(rename = "by_loss_s")]
    pub by_loss: Option<Spread>,
    /// Last arrival before to first arrival after, s (RFC 6201 section 4.2).
    #[serde(rename = "by_arrivals_s")]
    pub by_arrivals: Option<Spread>,
    /// Trials at whose end the DUT was still away.
    pub not_back: u32,
    /// Frames per second of the first group that were sent; absent: no rate was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_pps: Option<f64>,
    /// Trials that the tester limited or disturbed.
    #[serde(default)]
    pub tester_limited: u32,
}

impl Row for ResetRow {
    fn findings(&self) -> Vec<Finding> {
        let found = Finding::at(&self.frames, "reset", "s").repeats(self.by_loss.as_ref());
        let limited = (self.tester_limited > 0).then(|| {
            format!("; {} trials in which the tester was the limit or disturbed", self.tester_limited)
        });
        vec![found.note(Some(format!("{}{}", self.how, limited.unwrap_or_default())))]
    }

    fn is_unjudged(&self) -> bool {
        self.by_loss.is_none() && self.not_back == 0 && self.tester_limited > 0
    }
}

#[derive(Debug, Clone, Default)]
struct ResetKind {
    how: String,
    done: u32,
    by_loss: Vec<f64>,
    by_arrivals: Vec<f64>,
    not_back: u32,
    limited: u32,
}

#[derive(Debug, Clone)]
struct Resets {
    frames: Frames,
    rate: Option<Pps>,
    duration: Nanos,
    repeats: u32,
    kinds: Vec<ResetKind>,
}

impl Stage for Resets {
    fn next(&mut self) -> Option<Draft> {
        let rate = self.rate?;
        let kind = self.kinds.iter().find(|kind| kind.done < self.repeats)?;
        let label = format!("{}: {} reset, {} of {}", self.frames, kind.how, kind.done + 1, self.repeats);
        let trial = TrialKind::Reset { how: kind.how.clone() };
        Some(Draft::load(&self.frames, rate, self.duration).kind(trial).label(label))
    }

    fn take(&mut self, _: &Draft, seen: &Seen<'_>) {
        let Some(kind) = self.kinds.iter_mut().find(|kind| kind.done < self.repeats) else { return };
        kind.done += 1;
        let Some(outage) = seen.outcome.outage.filter(|_| !seen.limited) else {
            kind.limited += 1;
            kind.done = if seen.last { self.repeats } else { kind.done };
            return;
        };
        if !outage.came_back {
            kind.not_back += 1;
            return;
        }
        let offered: f64 = seen.outcome.groups.iter().map(|group| group.achieved.as_f64()).sum();
        kind.by_loss.push(seen.outcome.lost() as f64 / offered.max(1e-9));
        kind.by_arrivals.extend(outage.between_arrivals_ns.map(|ns| ns as f64 / 1e9));
    }
}

impl AtRate for Resets {
    fn begin(&mut self, rate: Pps, _: Limit) {
        self.rate = Some(rate);
    }
}

/// Outages after all kinds of reset.
#[derive(Debug, Clone)]
pub(crate) struct Reset {
    sizes: InTurn<FindThen<Resets>>,
}

impl Reset {
    pub(crate) fn new(config: &ResetConfig, testbed: &Testbed) -> Self {
        let kind = |how: &String| ResetKind { how: how.clone(), ..ResetKind::default() };
        let then = |frames| Resets {
            frames,
            rate: None,
            duration: config.duration,
            repeats: config.repeats,
            kinds: config.resets.iter().map(kind).collect(),
        };
        let first = config.rates.finders(testbed).into_iter().take(1);
        Self { sizes: InTurn::new(first.map(|(frames, finder)| FindThen::new(finder, then(frames)))) }
    }

    fn rows(&self) -> Vec<ResetRow> {
        let of = |resets: &Resets| {
            let row = |kind: &ResetKind| ResetRow {
                how: kind.how.clone(),
                frames: resets.frames.clone(),
                duration: resets.duration,
                by_loss: Spread::of(&kind.by_loss),
                by_arrivals: Spread::of(&kind.by_arrivals),
                not_back: kind.not_back,
                rate_pps: resets.rate.map(Pps::as_f64),
                tester_limited: kind.limited,
            };
            resets.kinds.iter().map(row).collect::<Vec<_>>()
        };
        self.sizes.stages.iter().flat_map(|stage| of(&stage.then)).collect()
    }
}

impl Stage for Reset {
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

impl Procedure for Reset {
    fn name(&self) -> &'static str {
        "rfc6201-reset"
    }

    fn findings(&self) -> Findings {
        Findings::Reset(self.rows())
    }

    /// One statement for each kind of reset (RFC 2544 section 26.6).
    fn summary(&self) -> Vec<String> {
        let sentence = |row: &ResetRow| match (&row.by_loss, row.rate_pps) {
            (Some(outage), Some(rate)) => format!(
                "After a {} reset the DUT was away for {:.3} s (lost frames ÷ offered rate, {} at {} frames/s).",
                row.how,
                outage.mean,
                row.frames,
                grouped(rate as u64)
            ),
            _ if row.not_back > 0 => {
                let (how, duration) = (&row.how, row.duration);
                format!("After a {how} reset the DUT did not come back within a trial of {duration}.")
            }
            (_, None) => {
                let why = self.sizes.stages.first().map_or("not measured", FindThen::why_not);
                format!("After a {} reset: {why}.", row.how)
            }
            _ if row.tester_limited > 0 => format!(
                "After a {} reset: can't be judged here; in all trials the tester was the limit or disturbed.",
                row.how
            ),
            _ => format!("After a {} reset: not yet measured.", row.how),
        };
        self.rows().iter().map(sentence).collect()
    }

    fn remarks(&self) -> Vec<String> {
        self.sizes.stages.iter().filter_map(|stage| stage.caveat(&stage.then.frames)).collect()
    }
}
