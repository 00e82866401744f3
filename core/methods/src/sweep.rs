//! Load sweep: loss and latency over load, with more points around the knee.

use crate::draft::{Draft, InTurn, Procedure, Seen, Stage};
use crate::finding::Finding;
use crate::interval::Criterion;
use crate::list::Findings;
use crate::method::Method;
use crate::outcome::{JitterSummary, LatencySummary};
use crate::result::FoundRate;
use crate::run::Run;
use crate::settings::{About, ConfigError, Row, Settings};
use crate::testbed::{Frames, Testbed};
use crate::text::{AsNanos, AsText, percent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Pps};

/// The share of what the tester offered at best that it surely can offer again.
const HEADROOM: f64 = 0.9;

/// Settings of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SweepConfig {
    /// One curve for each, in this order.
    pub sizes: Vec<Frames>,
    /// First load, share of the line rate.
    pub from: f64,
    /// Last load, share of the line rate.
    pub to: f64,
    /// Distance of the loads in between.
    pub step: f64,
    /// Number of additional points around each knee: where loss begins, and where latency doubles.
    pub refine: u32,
    /// Length of a trial.
    #[serde(with = "AsText")]
    pub duration: Nanos,
}

impl Default for SweepConfig {
    fn default() -> Self {
        Self {
            sizes: Frames::rfc2544(),
            from: 0.1,
            to: 1.0,
            step: 0.1,
            refine: 5,
            duration: Nanos::from_secs(10),
        }
    }
}

impl SweepConfig {
    pub(crate) const ABOUT: About = About {
        name: "sweep",
        about: "loss and latency over load, with more points around the knee",
        result_names: &["load-sweep"],
        makes_curves: true,
        goals: &[],
    };
}

impl Settings for SweepConfig {
    fn check(&self, _: &Testbed) -> Result<(), ConfigError> {
        if !(self.from > 0.0 && self.from <= self.to && self.to <= 1.0) {
            return Err(ConfigError::new("from", "0 < from ≤ to ≤ 1 must hold"));
        }
        if !(self.step > 0.0 && (self.to - self.from) / self.step <= 10_000.0) {
            return Err(ConfigError::new("step", "must be above 0 and make at most 10,000 loads"));
        }
        if self.sizes.is_empty() || self.duration == Nanos::ZERO {
            return Err(ConfigError::new("sizes", "needs a frame length; duration must be longer than 0"));
        }
        Ok(())
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(Sweep::new(self, testbed), testbed))
    }

    fn quicken(&mut self) {
        self.duration = Nanos::from_secs(1);
    }

    fn set_trial(&mut self, trial: Nanos) {
        self.duration = trial;
    }

    fn sizes(&self) -> Vec<Frames> {
        self.sizes.clone()
    }

    fn set_sizes(&mut self, sizes: &[Frames]) {
        self.sizes = sizes.to_vec();
    }
}

/// The curve at one frame length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepRow {
    /// The frames.
    pub frames: Frames,
    /// Length of a trial.
    #[serde(rename = "duration_ns", with = "AsNanos", default, skip_serializing_if = "is_unknown")]
    pub duration: Nanos,
    /// By rising load.
    pub points: Vec<SweepPoint>,
    /// The highest loss-free load below the first loss, share of the line rate.
    pub loss_free: Option<f64>,
    /// The lowest load with loss, share of the line rate.
    pub first_loss: Option<f64>,
}

impl SweepRow {
    /// The highest load above the first loss at which nothing was lost.
    fn lossless_above(&self) -> Option<f64> {
        let free = self.points.iter().filter(|point| point.loss_ratio == Some(0.0));
        free.map(|point| point.load.share).filter(|share| Some(*share) > self.first_loss).reduce(f64::max)
    }
}

/// Archives of older versions do not have a sweep's duration.
fn is_unknown(duration: &Nanos) -> bool {
    *duration == Nanos::ZERO
}

impl Row for SweepRow {
    fn findings(&self) -> Vec<Finding> {
        let found = self.loss_free.map(|share| Finding {
            value: Some(share),
            lower: Some(share),
            upper: self.first_loss,
            resolution: self.first_loss.map(|loss| loss - share),
            criterion: Some(Criterion::Loss { ratio: 0.0, trial: self.duration, failures: 1 }),
            ..Finding::at(&self.frames, "loss-free share of line rate", "ratio")
        });
        found.into_iter().collect()
    }

    fn is_unjudged(&self) -> bool {
        !self.points.is_empty() && self.points.iter().all(|point| point.loss_ratio.is_none())
    }

    fn has_failed(&self) -> bool {
        self.loss_free.is_none() && self.first_loss.is_some()
    }
}

/// A point of the curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepPoint {
    /// The load.
    pub load: FoundRate,
    /// Lost ÷ sent; absent if the tester was the limit, or the trial can't be judged.
    pub loss_ratio: Option<f64>,
    /// Of these at least this share was the DUT's, where the tester was disturbed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_ratio_least: Option<f64>,
    /// Frames/s that arrived, all groups.
    pub received_pps: f64,
    /// Latency by group, ns.
    #[serde(rename = "latency_ns")]
    pub latency: Vec<Option<LatencySummary>>,
    /// Jitter by group, ns.
    #[serde(rename = "jitter_ns")]
    pub jitter: Vec<Option<JitterSummary>>,
}

impl SweepPoint {
    /// The highest 99th percentile of all groups, ns.
    fn p99(&self) -> Option<f64> {
        self.latency.iter().flatten().map(|latency| latency.p99).reduce(f64::max)
    }
}

#[derive(Debug, Clone)]
struct Curve {
    frames: Frames,
    line: Pps,
    testbed: Testbed,
    config: SweepConfig,
    coarse: Vec<u64>,
    /// Maximum load of the tester, as a share of the line rate, if less than the highest load.
    most: Option<f64>,
    points: Vec<SweepPoint>,
    refined: [u32; 2],
}

impl Curve {
    fn new(frames: &Frames, config: &SweepConfig, testbed: &Testbed) -> Self {
        let line = testbed.line_rate(frames);
        let micro =
            |share: f64| if share >= 1.0 { line.micro() } else { (line.micro() as f64 * share) as u64 };
        let steps = ((config.to - config.from) / config.step + 1e-9).floor() as u32;
        let mut coarse: Vec<_> =
            (0..=steps).map(|i| micro(config.from + f64::from(i) * config.step)).collect();
        coarse.push(micro(config.to));
        coarse.dedup_by(|b, a| b.abs_diff(*a) <= line.micro() / 1_000_000);
        // The highest first: it shows what the tester can send.
        coarse.rotate_right(1);
        Self {
            frames: frames.clone(),
            line,
            testbed: testbed.clone(),
            config: config.clone(),
            coarse,
            most: None,
            points: Vec::new(),
            refined: [0; 2],
        }
    }

    /// The two neighbouring points between which loss begins.
    fn loss_knee(&self) -> Option<(u64, u64)> {
        let counted: Vec<_> = self.points.iter().filter(|point| point.loss_ratio.is_some()).collect();
        let lossy = counted.iter().position(|point| point.loss_ratio > Some(0.0))?;
        let above = counted[lossy].load.first().micro();
        Some((lossy.checked_sub(1).map_or(0, |i| counted[i].load.first().micro()), above))
    }

    /// The two neighbouring points between which latency first doubles.
    fn latency_knee(&self) -> Option<(u64, u64)> {
        let doubles = |pair: &&[SweepPoint]| match (pair[0].p99(), pair[1].p99()) {
            (Some(low), Some(high)) => high >= 2.0 * low,
            _ => false,
        };
        let pair = self.points.windows(2).find(doubles)?;
        Some((pair[0].load.first().micro(), pair[1].load.first().micro()))
    }

    /// The tester falls short of the highest load: the steps end at what it sends.
    fn rescale(&mut self, rate: Pps, seen: &Seen<'_>) {
        let limited = seen.limited && seen.outcome.generator_limited && self.points.is_empty();
        let Some(achieved) = seen.outcome.share_achieved().filter(|share| limited && *share > 0.0) else {
            return;
        };
        let scale = (achieved * HEADROOM).min(HEADROOM);
        let highest = (rate.micro() as f64 * scale) as u64;
        self.most = Some(highest as f64 / self.line.micro() as f64);
        self.coarse =
            self.coarse.iter().map(|micro| (*micro as f64 * scale) as u64).chain([highest]).collect();
    }

    fn refinement(&mut self) -> Option<u64> {
        let knees = [self.loss_knee(), self.latency_knee()];
        for (knee, done) in knees.into_iter().zip(&mut self.refined) {
            let Some((low, high)) = knee else { continue };
            if *done < self.config.refine && high - low > self.line.micro() / 10_000 {
                *done += 1;
                return Some(low + (high - low) / 2);
            }
        }
        None
    }

    fn row(&self) -> SweepRow {
        let share = |micro: u64| micro as f64 / self.line.micro() as f64;
        let knee = self.loss_knee();
        let best = self.points.iter().rfind(|point| point.loss_ratio == Some(0.0));
        SweepRow {
            frames: self.frames.clone(),
            duration: self.config.duration,
            points: self.points.clone(),
            loss_free: match knee {
                Some((low, _)) => (low > 0).then(|| share(low)),
                None => best.map(|point| point.load.share),
            },
            first_loss: knee.map(|(_, high)| share(high)),
        }
    }
}

impl Stage for Curve {
    fn next(&mut self) -> Option<Draft> {
        let rate = match self.coarse.first() {
            Some(_) => self.coarse.remove(0),
            None => self.refinement()?,
        };
        let share = rate as f64 / self.line.micro() as f64;
        let label = format!("{}: sweep at {} of the line rate", self.frames, percent(share));
        Some(Draft::load(&self.frames, Pps::from_micro(rate), self.config.duration).label(label).once())
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        let rate = draft.rate.unwrap_or(Pps::ZERO);
        let point = SweepPoint {
            load: FoundRate::new(&self.testbed, &self.frames, rate),
            loss_ratio: seen.verdict(0.0).is_known().then(|| seen.loss_ratio()),
            loss_ratio_least: seen.loss_bounds().filter(|_| seen.limited).map(|(least, _)| least),
            received_pps: seen.outcome.forwarding_rate(),
            latency: seen.outcome.groups.iter().map(|group| group.latency.clone()).collect(),
            jitter: seen.outcome.groups.iter().map(|group| group.jitter).collect(),
        };
        self.rescale(rate, seen);
        if seen.last {
            // Other loads can't be judged either.
            self.coarse.clear();
            self.refined = [self.config.refine; 2];
        }
        let at = self.points.partition_point(|other| other.load.first() <= rate);
        self.points.insert(at, point);
    }

    fn decides(&self, _: &Draft, seen: &Seen<'_>) -> bool {
        seen.verdict(0.0).is_known()
    }
}

/// Curves of all frame lengths.
#[derive(Debug, Clone)]
pub(crate) struct Sweep {
    curves: InTurn<Curve>,
}

impl Sweep {
    pub(crate) fn new(config: &SweepConfig, testbed: &Testbed) -> Self {
        Self { curves: InTurn::new(config.sizes.iter().map(|frames| Curve::new(frames, config, testbed))) }
    }
}

impl Stage for Sweep {
    fn next(&mut self) -> Option<Draft> {
        self.curves.next()
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        self.curves.take(draft, seen);
    }

    fn decides(&self, draft: &Draft, seen: &Seen<'_>) -> bool {
        self.curves.decides(draft, seen)
    }
}

impl Procedure for Sweep {
    fn name(&self) -> &'static str {
        "load-sweep"
    }

    fn findings(&self) -> Findings {
        Findings::Sweep(self.curves.stages.iter().map(Curve::row).collect())
    }

    fn remarks(&self) -> Vec<String> {
        let scaled = |curve: &Curve| {
            let most = percent(curve.most?);
            let frames = &curve.frames;
            Some(format!(
                "At {frames} the tester can't send more than {most} of the line rate: the loads end there."
            ))
        };
        self.curves.stages.iter().filter_map(scaled).collect()
    }

    fn summary(&self) -> Vec<String> {
        let sentence = |row: SweepRow| match (row.loss_free, row.first_loss) {
            (_, Some(loss)) if row.lossless_above().is_some() => format!(
                "Where loss at {} begins is uncertain: {} of the line rate lost frames, but {} lost none.",
                row.frames,
                percent(loss),
                percent(row.lossless_above().unwrap_or_default())
            ),
            (Some(free), Some(loss)) => format!(
                "Loss at {} begins between {} and {} of the line rate.",
                row.frames,
                percent(free),
                percent(loss)
            ),
            (Some(free), None) => {
                format!("No loss at {} up to {} of the line rate.", row.frames, percent(free))
            }
            (None, Some(loss)) => format!("Loss at {} at the smallest load, {}.", row.frames, percent(loss)),
            (None, None) if row.is_unjudged() => format!(
                "Loss at {}: can't be judged here; at every load the tester was the limit or disturbed.",
                row.frames
            ),
            (None, None) => format!("Loss at {}: not yet known.", row.frames),
        };
        self.curves.stages.iter().map(|curve| sentence(curve.row())).collect()
    }
}
