//! Soak: a load held for long, in intervals, and whether loss or latency creep up.
//!
//! An interval is a trial, so a soak survives an interruption with all but one of its intervals.

use crate::draft::{Draft, InTurn, Limit, Procedure, Seen, Stage};
use crate::finding::Finding;
use crate::list::Findings;
use crate::method::Method;
use crate::rates::{AtRate, FindThen, RateSource};
use crate::result::FoundRate;
use crate::run::Run;
use crate::settings::{About, ConfigError, Row, Settings};
use crate::testbed::{Frames, Testbed};
use crate::text::{AsText, percent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Pps};

/// Settings of a soak.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SoakConfig {
    /// The rates, one for each frame length.
    pub rates: RateSource,
    /// Share of the rate that is held.
    pub share: f64,
    /// Length of the soak.
    #[serde(with = "AsText")]
    pub duration: Nanos,
    /// Length of its intervals.
    #[serde(with = "AsText")]
    pub interval: Nanos,
}

impl Default for SoakConfig {
    fn default() -> Self {
        Self {
            rates: RateSource::default(),
            share: 0.95,
            duration: Nanos::from_secs(3600),
            interval: Nanos::from_secs(60),
        }
    }
}

impl SoakConfig {
    pub(crate) const ABOUT: About = About {
        name: "soak",
        about: "a load held for long: loss and rising latency",
        result_names: &["soak"],
        makes_curves: true,
        goals: &[],
    };
}

impl Settings for SoakConfig {
    fn check(&self, testbed: &Testbed) -> Result<(), ConfigError> {
        if !(self.share > 0.0 && self.share <= 1.0) {
            return Err(ConfigError::new("share", "must be above 0 and at most 1"));
        }
        if self.interval == Nanos::ZERO || self.interval > self.duration {
            return Err(ConfigError::new("interval", "must be longer than 0 and at most the duration"));
        }
        self.rates.check(testbed)
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(Soak::new(self, testbed), testbed))
    }

    fn quicken(&mut self) {
        self.rates.quicken();
        self.duration = Nanos::from_secs(30);
        self.interval = Nanos::from_secs(2);
    }

    fn set_trial(&mut self, trial: Nanos) {
        self.rates.set_trial(trial);
        self.duration = trial;
        self.interval = self.interval.min(trial);
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

/// A load held at one frame length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoakRow {
    /// The frames.
    pub frames: Frames,
    /// The load; absent: no rate was found.
    pub load: Option<FoundRate>,
    /// Interval by interval.
    pub intervals: Vec<SoakInterval>,
    /// Lost ÷ sent over all intervals that counted.
    pub loss_ratio: f64,
    /// Growth of the loss ratio per hour.
    pub loss_trend: Option<Trend>,
    /// Growth of the mean latency, ns per hour.
    pub latency_trend: Option<Trend>,
}

impl SoakRow {
    /// Intervals that count.
    fn counted(&self) -> usize {
        self.intervals.iter().filter(|interval| interval.loss_ratio.is_some()).count()
    }
}

impl Row for SoakRow {
    fn findings(&self) -> Vec<Finding> {
        let known = Some(self.loss_ratio).filter(|_| self.counted() > 0);
        let left_out = self.intervals.len() - self.counted();
        let note = (left_out > 0).then(|| {
            format!("{left_out} intervals in which the tester was the limit or disturbed do not count")
        });
        vec![Finding::at(&self.frames, "loss", "ratio").value(known).note(note)]
    }

    fn is_unjudged(&self) -> bool {
        self.counted() == 0 && !self.intervals.is_empty()
    }
}

/// One interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SoakInterval {
    /// Lost ÷ sent; absent if the tester was the limit.
    pub loss_ratio: Option<f64>,
    /// Mean latency of all groups, ns.
    pub latency_mean_ns: Option<f64>,
}

/// A straight line through the intervals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trend {
    /// Growth per hour.
    pub per_hour: f64,
    /// The same in standard errors; beyond 3 either way it is hardly chance.
    pub standard_errors: f64,
}

impl Trend {
    /// The line of least squares through (hours, value); `None` with fewer than three points.
    pub fn of(points: &[(f64, f64)]) -> Option<Self> {
        let n = points.len() as f64;
        if points.len() < 3 {
            return None;
        }
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
        let (x, y) = (mean(|p| p.0), mean(|p| p.1));
        let spread: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
        let slope = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>() / spread.max(f64::MIN_POSITIVE);
        let rest: f64 = points.iter().map(|p| (p.1 - y - slope * (p.0 - x)).powi(2)).sum();
        let error = (rest / (n - 2.0) / spread.max(f64::MIN_POSITIVE)).sqrt();
        // Values that lie on a line have no error, and values that are all the same no slope either.
        let scale = y.abs().max(f64::MIN_POSITIVE) * 1e-12;
        let standard_errors = if slope.abs() <= scale { 0.0 } else { slope / error.max(scale) };
        Some(Self { per_hour: slope, standard_errors })
    }

    /// Hardly chance.
    pub fn rising(&self) -> bool {
        self.standard_errors > 3.0
    }
}

#[derive(Debug, Clone)]
struct Hold {
    frames: Frames,
    testbed: Testbed,
    config: SoakConfig,
    rate: Option<Pps>,
    intervals: Vec<SoakInterval>,
    sent: u64,
    lost: u64,
}

impl Hold {
    fn row(&self) -> SoakRow {
        let hours = self.config.interval.as_secs_f64() / 3600.0;
        let points = |of: fn(&SoakInterval) -> Option<f64>| {
            let at = |(i, value): (usize, Option<f64>)| value.map(|value| (i as f64 * hours, value));
            self.intervals.iter().map(of).enumerate().filter_map(at).collect::<Vec<_>>()
        };
        SoakRow {
            frames: self.frames.clone(),
            load: self.rate.map(|rate| FoundRate::new(&self.testbed, &self.frames, rate)),
            intervals: self.intervals.clone(),
            loss_ratio: if self.sent > 0 { self.lost as f64 / self.sent as f64 } else { 0.0 },
            loss_trend: Trend::of(&points(|interval| interval.loss_ratio)),
            latency_trend: Trend::of(&points(|interval| interval.latency_mean_ns)),
        }
    }

    fn sentence(&self) -> String {
        let row = self.row();
        let Some(load) = &row.load else {
            return format!("Soak at {}: not run; no rate was found.", row.frames);
        };
        let trend = |what: &str, trend: Option<Trend>| match trend {
            Some(trend) if trend.rising() => format!("; {what} is rising"),
            _ => String::new(),
        };
        let (counted, all) = (row.counted(), row.intervals.len());
        if counted == 0 {
            let why = if all > 0 {
                "can't be judged here; the tester was the limit or disturbed"
            } else {
                "not yet known"
            };
            return format!("Soak at {}, {load}: {why}.", row.frames);
        }
        let left_out = match all - counted {
            0 => String::new(),
            n => format!(" ({n} more can't be judged: the tester was the limit or disturbed)"),
        };
        format!(
            "Soak at {}, {load}: {} lost over {counted} intervals of {}{left_out}{}{}.",
            row.frames,
            percent(row.loss_ratio),
            self.config.interval,
            trend("loss", row.loss_trend),
            trend("latency", row.latency_trend)
        )
    }
}

impl Stage for Hold {
    fn next(&mut self) -> Option<Draft> {
        let rate = self.rate?;
        let all = self.config.duration.0.div_ceil(self.config.interval.0);
        let done = self.intervals.len() as u64;
        let label = format!("{}: interval {} of {all}", self.frames, done + 1);
        (done < all).then(|| Draft::load(&self.frames, rate, self.config.interval).label(label).once())
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        // Nothing lost is nothing lost, whatever disturbed the tester.
        let counts = self.decides(draft, seen);
        if counts {
            self.sent += seen.outcome.sent();
            self.lost += seen.outcome.lost();
        }
        let measured = seen.outcome.groups.iter().filter_map(|group| group.latency.as_ref());
        let (sum, samples) = measured.fold((0.0, 0u64), |(sum, samples), latency| {
            (sum + latency.mean * latency.samples as f64, samples + latency.samples)
        });
        self.intervals.push(SoakInterval {
            loss_ratio: counts.then(|| seen.loss_ratio()),
            latency_mean_ns: (!seen.limited && samples > 0).then(|| sum / samples as f64),
        });
    }

    fn decides(&self, _: &Draft, seen: &Seen<'_>) -> bool {
        seen.loss_bounds().is_some_and(|(least, most)| least >= most)
    }
}

impl AtRate for Hold {
    fn begin(&mut self, rate: Pps, _: Limit) {
        self.rate = Some(Pps::from_micro((rate.micro() as f64 * self.config.share) as u64));
    }
}

/// All frame lengths.
#[derive(Debug, Clone)]
pub(crate) struct Soak {
    sizes: InTurn<FindThen<Hold>>,
}

impl Soak {
    pub(crate) fn new(config: &SoakConfig, testbed: &Testbed) -> Self {
        let then = |frames| Hold {
            frames,
            testbed: testbed.clone(),
            config: config.clone(),
            rate: None,
            intervals: Vec::new(),
            sent: 0,
            lost: 0,
        };
        let finders = config.rates.finders(testbed).into_iter();
        Self { sizes: InTurn::new(finders.map(|(frames, finder)| FindThen::new(finder, then(frames)))) }
    }
}

impl Stage for Soak {
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

impl Procedure for Soak {
    fn name(&self) -> &'static str {
        "soak"
    }

    fn findings(&self) -> Findings {
        Findings::Soak(self.sizes.stages.iter().map(|stage| stage.then.row()).collect())
    }

    fn summary(&self) -> Vec<String> {
        let sentence = |stage: &FindThen<Hold>| match stage.then.rate {
            None => format!("Soak at {}: {}.", stage.then.frames, stage.why_not()),
            Some(_) => stage.then.sentence(),
        };
        self.sizes.stages.iter().map(sentence).collect()
    }

    fn remarks(&self) -> Vec<String> {
        self.sizes.stages.iter().filter_map(|stage| stage.caveat(&stage.then.frames)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trend_is_told_from_chance() {
        let noisy = |slope: f64| -> Vec<_> {
            (0..60).map(|i| (f64::from(i), slope * f64::from(i) + f64::from(i * 7919 % 13))).collect()
        };
        assert!(!Trend::of(&noisy(0.0)).unwrap().rising());
        let trend = Trend::of(&noisy(0.5)).unwrap();
        assert!(trend.rising() && (trend.per_hour - 0.5).abs() < 0.05);
        assert_eq!(Trend::of(&[(0.0, 3.0), (1.0, 3.0), (2.0, 3.0)]).unwrap().standard_errors, 0.0);
        assert_eq!(Trend::of(&[(0.0, 3.0), (1.0, 3.0)]), None);
    }
}
