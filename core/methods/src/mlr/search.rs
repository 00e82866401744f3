//! Decides which load MLRsearch measures next.
//!
//! A goal is reached by targets, the loosest first: wide and cheap, then narrower and more expensive. Each goal
//! nominates a load for its current target; the lowest nominated load is measured, because its loss is the most
//! informative for the higher ones.

use super::classify::{Durations, LoadClass, Threshold};
use super::grid::Grid;
use super::{Goal, GoalResult, MlrBound, MlrConfig, MlrRow};
use crate::draft::{Draft, Limit, Seen, Stage};
use crate::result::FoundRate;
use crate::testbed::{Frames, Testbed};
use crate::text::percent;
use crate::throughput::UnjudgedLoad;
use crate::trial::Phase;
use std::collections::BTreeMap;
use units::{Nanos, Pps};

/// Requirements of a goal, at an intermediate step or at its end.
#[derive(Debug, Clone, PartialEq)]
struct Target {
    loss_ratio: f64,
    threshold: Threshold,
    trial: Nanos,
    /// In steps of the grid.
    width: u32,
}

/// The relevant bounds of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Bounds {
    lower: Option<u32>,
    upper: Option<u32>,
}

/// A step from a bound into the unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Expansion {
    target: usize,
    up: bool,
    step: u32,
    at: u32,
}

#[derive(Debug, Clone)]
struct GoalState {
    goal: Goal,
    /// The loosest first.
    targets: Vec<Target>,
    expansion: Option<Expansion>,
    /// At this load trials can't be judged for it, because the tester was disturbed: it wants nothing more.
    given_up: Option<u32>,
}

/// A load that a goal wants measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Nomination {
    load: u32,
    trial: Nanos,
    width: u32,
    why: &'static str,
}

/// Phase before the goals take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opening {
    WarmUp,
    Maximum,
    /// The forwarding rate at the largest load, and what may be lost on top.
    Forwarded(u32),
    /// The forwarding rate at that load.
    Again(u32),
    Over,
}

/// A trial at a load.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Measured {
    duration: Nanos,
    /// Bounds of the loss ratio, which differ if the tester was disturbed.
    least: f64,
    most: f64,
    /// The loss ratio that was counted.
    counted: f64,
}

impl Measured {
    /// Whether it lost more than a ratio, if its bounds decide.
    fn exceeds(&self, ratio: f64) -> Option<bool> {
        match () {
            () if self.most <= ratio => Some(false),
            () if self.least > ratio => Some(true),
            () => None,
        }
    }
}

/// The trials at a load.
type Trials = Vec<Measured>;

/// A search at one frame length.
#[derive(Debug, Clone)]
pub(crate) struct MlrSearch {
    frames: Frames,
    testbed: Testbed,
    grid: Grid,
    goals: Vec<GoalState>,
    trials: BTreeMap<u32, Trials>,
    opening: Opening,
    /// From this load on the tester was the limit.
    ceiling: Option<u32>,
    warm_up: Option<Nanos>,
    traffic: Nanos,
    traffic_max: Option<Nanos>,
    asked: u32,
}

impl MlrSearch {
    pub(crate) fn new(frames: &Frames, config: &MlrConfig, testbed: &Testbed) -> Self {
        let line = testbed.line_rate(frames).as_f64();
        let widths: Vec<_> = config.goals.iter().map(|goal| goal.width).collect();
        let grid = Grid::new(line * config.minimum, line * config.maximum, &widths);
        let state = |goal: &Goal| GoalState {
            targets: targets(goal, grid.steps(goal.width)),
            goal: goal.clone(),
            expansion: None,
            given_up: None,
        };
        Self {
            frames: frames.clone(),
            testbed: testbed.clone(),
            goals: config.goals.iter().map(state).collect(),
            grid,
            trials: BTreeMap::new(),
            opening: if config.warm_up.is_some() { Opening::WarmUp } else { Opening::Maximum },
            ceiling: None,
            warm_up: config.warm_up,
            traffic: Nanos::ZERO,
            traffic_max: config.traffic_max,
            asked: 0,
        }
    }

    pub(crate) fn frames(&self) -> &Frames {
        &self.frames
    }

    /// Whether it ended for want of time.
    pub(crate) fn out_of_time(&self) -> bool {
        self.traffic_max.is_some_and(|most| self.traffic >= most)
            && self.goals.iter().any(|goal| self.clone().nominate(&mut goal.clone()).is_some())
    }

    fn durations(&self, load: u32, target: &Target) -> Durations {
        // Whole nanoseconds, so that three tenths of a second are as long as 0.3 s.
        let mut sums = [0u64; 4];
        for trial in self.trials.get(&load).into_iter().flatten() {
            let Some(high) = trial.exceeds(target.loss_ratio) else { continue };
            sums[usize::from(trial.duration < target.trial) * 2 + usize::from(high)] += trial.duration.0;
        }
        let [full_low, full_high, short_low, short_high] = sums.map(|ns| Nanos(ns).as_secs_f64());
        Durations { full_low, full_high, short_low, short_high }
    }

    fn class(&self, load: u32, target: &Target) -> LoadClass {
        target.threshold.classify(self.durations(load, target))
    }

    /// The loads measured below the tester's limit.
    fn measured(&self) -> impl DoubleEndedIterator<Item = (&u32, &Trials)> {
        self.trials.range(..self.ceiling.unwrap_or(u32::MAX))
    }

    /// The smallest upper bound and the largest lower bound below it.
    fn bounds(&self, target: &Target) -> Bounds {
        let mut bounds = Bounds::default();
        for (load, _) in self.measured() {
            match self.class(*load, target) {
                LoadClass::Upper => {
                    bounds.upper = Some(*load);
                    break;
                }
                LoadClass::Lower => bounds.lower = Some(*load),
                LoadClass::Undecided => {}
            }
        }
        bounds
    }

    /// The upper bound, or the tester's limit in its place.
    fn above(&self, bounds: Bounds) -> Option<u32> {
        bounds.upper.or(self.ceiling)
    }

    fn reached(&self, bounds: Bounds, width: u32) -> bool {
        match (bounds.lower, self.above(bounds)) {
            (Some(lower), Some(above)) => above - lower <= width,
            (Some(lower), None) => lower == self.grid.last(),
            // Nothing is below the smallest load.
            (None, Some(above)) => above == 0,
            (None, None) => false,
        }
    }

    /// The load that `goal` nominates; `None`: no more.
    fn nominate(&self, goal: &mut GoalState) -> Option<Nomination> {
        if goal.given_up.is_some() {
            return None;
        }
        let mut before = None;
        for (number, target) in goal.targets.iter().enumerate() {
            let bounds = self.bounds(target);
            if !self.reached(bounds, target.width) {
                let (load, why) =
                    self.choose(number, target, bounds, before, &mut goal.expansion, goal.goal.expansion);
                return Some(Nomination { load, trial: target.trial, width: target.width, why });
            }
            before = Some(bounds);
        }
        None
    }

    fn choose(
        &self,
        number: usize,
        target: &Target,
        bounds: Bounds,
        before: Option<Bounds>,
        expansion: &mut Option<Expansion>,
        factor: u32,
    ) -> (u32, &'static str) {
        let before = before.unwrap_or_else(|| self.first_bounds(target.loss_ratio));
        if let Some(choice) = self.within(before, bounds, target) {
            return choice;
        }
        let above = self.above(bounds);
        match (bounds.lower, above) {
            // Full load says little about where the limit is; the rate it was forwarded at says more, and that is where
            // the lower bound came from.
            (Some(lower), Some(above)) if above == self.grid.last() || self.ceiling == Some(above) => {
                let far = lower + (above - lower).div_ceil(2);
                let next = self.expand(number, target, lower, true, expansion, factor);
                (next.min(far), "extend upwards")
            }
            (Some(lower), Some(above)) => {
                let pieces = (above - lower).div_ceil(target.width);
                let step = if pieces <= 2 { (above - lower) / 2 } else { pieces / 2 * target.width };
                (lower + step, "bisect")
            }
            (None, Some(from)) => {
                (self.expand(number, target, from, false, expansion, factor), "extend downwards")
            }
            (Some(from), None) => {
                (self.expand(number, target, from, true, expansion, factor), "extend upwards")
            }
            (None, None) => (self.trials.keys().next_back().copied().unwrap_or(self.grid.last()), "begin"),
        }
    }

    /// Load suggested by the looser target's bounds: between them, or one of them.
    fn within(&self, before: Bounds, bounds: Bounds, target: &Target) -> Option<(u32, &'static str)> {
        let above = self.above(bounds);
        let open = |load: u32| {
            self.class(load, target) == LoadClass::Undecided
                && self.ceiling.is_none_or(|ceiling| load < ceiling)
        };
        if let (Some(low), Some(high)) = (before.lower, before.upper) {
            let width = high - low;
            let middle = low + width / 2;
            let between = bounds.lower.is_none_or(|l| l < middle) && above.is_none_or(|a| a > middle);
            if width > target.width && width <= 2 * target.width && between && open(middle) {
                return Some((middle, "halve"));
            }
        }
        // A bound of the looser target is a better guess than a far one that this target has from elsewhere.
        if let Some(low) = before.lower
            && bounds.lower.is_none_or(|lower| lower < low)
            && above.is_none_or(|above| low < above)
            && open(low)
        {
            return Some((low, "refine from below"));
        }
        if let Some(high) = before.upper
            && above.is_none_or(|above| high < above)
            && bounds.lower.is_none_or(|lower| high > lower)
            && open(high)
        {
            return Some((high, "refine from above"));
        }
        None
    }

    /// Bounds from the first trials, for a goal whose loosest target needs more than one.
    fn first_bounds(&self, loss_ratio: f64) -> Bounds {
        let good = |trials: &Trials| trials.iter().all(|trial| trial.exceeds(loss_ratio) != Some(true));
        let upper = self.measured().find(|(_, trials)| !good(trials)).map(|(load, _)| *load);
        let below = self.measured().filter(|(load, _)| upper.is_none_or(|upper| **load < upper));
        Bounds { lower: below.map(|(load, _)| *load).next_back(), upper }
    }

    /// A step from `from`, larger than the last if that one did not find a bound.
    fn expand(
        &self,
        number: usize,
        target: &Target,
        from: u32,
        up: bool,
        expansion: &mut Option<Expansion>,
        factor: u32,
    ) -> u32 {
        let step = match *expansion {
            Some(last) if last.target == number && last.up == up => {
                if self.class(last.at, target) == LoadClass::Undecided
                    && (if up { last.at > from } else { last.at < from })
                {
                    return last.at;
                }
                last.step.saturating_mul(factor)
            }
            _ => target.width,
        };
        let at = if up { from.saturating_add(step).min(self.grid.last()) } else { from.saturating_sub(step) };
        *expansion = Some(Expansion { target: number, up, step, at });
        at
    }

    /// Next trial of the phase before the goals take turns.
    fn open(&mut self) -> Option<(u32, Nanos, &'static str)> {
        let first = self.goals.iter().map(|goal| goal.goal.initial_trial).min().unwrap_or_default();
        match self.opening {
            Opening::WarmUp => Some((self.grid.last(), self.warm_up.unwrap_or(first), "warm up")),
            Opening::Maximum => Some((self.grid.last(), first, "largest load")),
            Opening::Forwarded(load) => Some((load, first, "forwarding rate at the largest load")),
            Opening::Again(load) => Some((load, first, "forwarding rate at that load")),
            Opening::Over => None,
        }
    }

    fn opened(&mut self, load: u32, seen: &Seen<'_>) {
        // Of all groups together; they share the load, so they share the rate that is tried next.
        let rate = self.grid.load(load);
        let due: f64 = self.testbed.offered(&self.frames, rate).iter().map(|load| load.rate.as_f64()).sum();
        let forwarded = rate.as_f64() * seen.outcome.forwarding_rate() / due.max(1e-9);
        let spare = self.goals.iter().map(|goal| goal.goal.loss_ratio).fold(1.0, f64::min);
        let usable = |load: u32| self.ceiling.is_none_or(|ceiling| load < ceiling);
        let fresh = |load: u32| usable(load) && !self.trials.contains_key(&load);
        self.opening = match self.opening {
            Opening::WarmUp => Opening::Maximum,
            Opening::Maximum => {
                let next = self.grid.at_most(forwarded / (1.0 - spare)).min(load.saturating_sub(1));
                if fresh(next) { Opening::Forwarded(next) } else { Opening::Over }
            }
            // Without loss the forwarding rate is the load itself.
            Opening::Forwarded(_) if seen.loss_ratio() == 0.0 => Opening::Over,
            Opening::Forwarded(_) => {
                let next = self.grid.at_most(forwarded);
                if fresh(next) { Opening::Again(next) } else { Opening::Over }
            }
            Opening::Again(_) | Opening::Over => Opening::Over,
        };
    }

    /// The nomination that is measured: the lowest load; of equal ones the longest trial, then the widest target.
    fn elect(&mut self) -> Option<Nomination> {
        let mut goals = std::mem::take(&mut self.goals);
        let nominations: Vec<_> = goals.iter_mut().filter_map(|goal| self.nominate(goal)).collect();
        self.goals = goals;
        nominations
            .into_iter()
            .min_by_key(|n| (n.load, std::cmp::Reverse(n.trial), std::cmp::Reverse(n.width)))
    }

    fn draft(&self, load: u32, trial: Nanos, why: &str) -> Draft {
        let rate = self.grid.load(load);
        let share = rate.as_f64() / self.testbed.line_rate(&self.frames).as_f64();
        Draft::load(&self.frames, rate, trial).label(format!(
            "{} at {} of the line rate: {why}",
            self.frames,
            percent(share)
        ))
    }

    /// Conditional throughput of a goal, frames/s of the first group.
    pub(crate) fn found(&self, goal: usize) -> Option<Pps> {
        let target = self.goals[goal].targets.last()?;
        let lower = self.bounds(target).lower?;
        let full = self.trials[&lower].iter().filter(|trial| trial.duration >= target.trial);
        let full = full.filter(|trial| trial.exceeds(target.loss_ratio).is_some());
        let losses: Vec<_> = full.map(|trial| (trial.most, trial.duration.as_secs_f64())).collect();
        let passed = 1.0 - target.threshold.conditional_loss(&losses);
        Some(Pps::from_micro((self.grid.load(lower).micro() as f64 * passed).round() as u64))
    }

    /// Limit of a goal's result from above.
    pub(crate) fn limit(&self, goal: usize) -> Limit {
        let Some(target) = self.goals[goal].targets.last() else { return Limit::Open };
        let bounds = self.bounds(target);
        if !self.reached(bounds, target.width) {
            return if self.goals[goal].given_up.is_some() { Limit::Disturbed } else { Limit::Open };
        }
        match (bounds.lower, bounds.upper) {
            (None, Some(_)) => Limit::Impossible,
            (Some(_), Some(_)) => Limit::Dut,
            _ if self.ceiling.is_some() => Limit::Tester,
            _ => Limit::Maximum,
        }
    }

    fn bound(&self, load: u32, target: &Target) -> MlrBound {
        MlrBound {
            load: FoundRate::new(&self.testbed, &self.frames, self.grid.load(load)),
            durations: self.durations(load, target),
        }
    }

    /// The load at which a goal's trials can't be judged, above its lower bound.
    fn unjudged(&self, number: usize) -> Option<UnjudgedLoad> {
        let GoalState { given_up, targets, .. } = &self.goals[number];
        let lower = targets.last().and_then(|target| self.bounds(target).lower);
        let load = given_up.filter(|load| lower.is_none_or(|lower| lower < *load))?;
        let loss = self.trials.get(&load)?.iter().map(|trial| trial.counted).reduce(f64::min)?;
        let load = FoundRate::new(&self.testbed, &self.frames, self.grid.load(load));
        Some(UnjudgedLoad { load, loss_ratio: loss })
    }

    fn goal_result(&self, number: usize) -> GoalResult {
        let GoalState { goal, targets, .. } = &self.goals[number];
        let target = targets.last().expect("a goal has a target");
        let bounds = self.bounds(target);
        let limit = self.limit(number);
        let found = self.found(number);
        GoalResult {
            name: goal.name(),
            goal: goal.clone(),
            regular: limit == Limit::Dut,
            lower: bounds.lower.map(|load| self.bound(load, target)),
            upper: bounds.upper.map(|load| self.bound(load, target)),
            unjudged: self.unjudged(number),
            conditional_throughput: found.map(|rate| FoundRate::new(&self.testbed, &self.frames, rate)),
            limit,
        }
    }

    pub(crate) fn row(&self) -> MlrRow {
        MlrRow {
            frames: self.frames.clone(),
            goals: (0..self.goals.len()).map(|number| self.goal_result(number)).collect(),
            traffic_s: self.traffic.as_secs_f64(),
        }
    }
}

impl Stage for MlrSearch {
    fn next(&mut self) -> Option<Draft> {
        if let Some((load, trial, why)) = self.open() {
            self.asked = load;
            let phase = if self.opening == Opening::WarmUp { Phase::WarmUp } else { Phase::Explore };
            return Some(self.draft(load, trial, why).phase(phase).once());
        }
        if self.traffic_max.is_some_and(|most| self.traffic >= most) {
            return None;
        }
        let nominated = self.elect()?;
        self.asked = nominated.load;
        Some(self.draft(nominated.load, nominated.trial, nominated.why))
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        let load = self.asked;
        self.traffic += draft.duration;
        let limited = seen.limited && seen.outcome.generator_limited;
        if limited {
            self.ceiling = Some(self.ceiling.map_or(load, |ceiling| ceiling.min(load)));
        } else if draft.phase != Phase::WarmUp {
            self.note(load, draft.duration, seen);
        }
        if self.opening != Opening::Over {
            self.opened(load, seen);
        }
    }

    fn decides(&self, _: &Draft, seen: &Seen<'_>) -> bool {
        self.goals.iter().all(|goal| seen.verdict(goal.goal.loss_ratio).is_known())
    }
}

impl MlrSearch {
    /// Takes a trial with what is known of its loss. Goals for which it decides nothing, after others that did not, are
    /// abandoned.
    fn note(&mut self, load: u32, duration: Nanos, seen: &Seen<'_>) {
        let (least, most) = seen.loss_bounds().unwrap_or((0.0, 1.0));
        let measured = Measured { duration, least, most, counted: seen.loss_ratio() };
        let is_over = self.opening == Opening::Over;
        let open = self.goals.iter_mut().filter(|goal| goal.given_up.is_none());
        let unknown = open.filter(|goal| measured.exceeds(goal.goal.loss_ratio).is_none());
        // What comes first only shows where to begin.
        unknown.filter(|_| seen.last && is_over).for_each(|goal| goal.given_up = Some(load));
        if seen.loss_bounds().is_some() || is_over {
            self.trials.entry(load).or_default().push(measured);
        }
    }
}

/// The targets of a goal, the loosest first: width doubles with each, trial and sum shrink evenly on a logarithmic scale
/// down to one initial trial.
fn targets(goal: &Goal, width: u32) -> Vec<Target> {
    let [initial, full, sum] = [goal.initial_trial, goal.final_trial, goal.duration_sum].map(|t| t.0 as f64);
    let between = |from: f64, k: u32| {
        let share = f64::from(k) / f64::from(goal.preceding.max(1));
        Nanos((from * (initial / from).powf(share)).round() as u64)
    };
    let target = |k: u32| Target {
        loss_ratio: goal.loss_ratio,
        threshold: Threshold { exceed_ratio: goal.exceed_ratio, duration_sum: between(sum, k).as_secs_f64() },
        trial: between(full, k),
        width: width.saturating_mul(1 << k.min(16)),
    };
    (0..=goal.preceding).rev().map(target).collect()
}
