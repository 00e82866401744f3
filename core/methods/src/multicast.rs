//! Multicast: how soon traffic of a group comes after a host joins it and stops after it leaves, how many groups a device forwards, and
//! how much of them to all ports with members (RFC 3918).
//!
//! Delays count from the departure of the report to arrivals of packets. Joined before traffic are all groups but the last, which is
//! joined and left while traffic to it flows.
//!
//! Not here: who joins, and IGMP.

use crate::bisect::Bisect;
use crate::climb::{doubling, nothing_known};
use crate::draft::{Draft, Limit, Procedure, Seen, Stage, Verdict};
use crate::finding::{Finding, GoalMeaning};
use crate::list::Findings;
use crate::method::Method;
use crate::outcome::GroupChange;
use crate::result::{Spread, bounded_by};
use crate::run::Run;
use crate::settings::{About, ConfigError, Requirement, Row, Settings};
use crate::testbed::{Frames, Testbed};
use crate::text::{AsText, grouped};
use crate::trial::TrialKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Pps};

/// Shares of a trial, in hundredths: when the last group is joined, and when it is left.
const JOIN: u64 = 25;
const LEAVE: u64 = 60;
/// Most groups, and streams, of a trial.
const GROUPS_MAX: u64 = 4_096;

/// Settings of the multicast tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MulticastConfig {
    /// The frames.
    pub frames: Frames,
    /// Frames per second, of all groups of a trial together; one gap is the resolution of delays.
    #[serde(with = "AsText")]
    pub rate: Pps,
    /// Length of a trial: the group is joined after a quarter of it, and left after 60%.
    #[serde(with = "AsText")]
    pub duration: Nanos,
    /// Trials of join and leave delay; 0 skips them.
    pub repeats: u32,
    /// Groups the host is a member of while delays are measured, the one that is joined and left among them.
    pub groups: u64,
    /// Groups to begin the search of the capacity with.
    pub first: u64,
    /// Largest number of groups tried; 0 skips the capacity.
    pub maximum: u64,
    /// Whether to search the aggregated throughput: the highest rate that reaches every port with members without loss.
    pub throughput: bool,
    /// The search ends when its bounds are this share apart.
    pub resolution: f64,
}

impl Default for MulticastConfig {
    fn default() -> Self {
        Self {
            frames: Frames::bytes(128).unwrap_or_else(|| Frames::of(units::FrameLen::MIN)),
            rate: Pps::new(10_000),
            duration: Nanos::from_secs(30),
            repeats: 10,
            groups: 1,
            first: 16,
            maximum: GROUPS_MAX,
            throughput: true,
            resolution: 0.01,
        }
    }
}

impl MulticastConfig {
    pub(crate) const ABOUT: About = About {
        name: "multicast",
        about: "join and leave delay of multicast groups, how many a device forwards, and at which rate (RFC 3918)",
        result_names: &["rfc3918-multicast"],
        makes_curves: false,
        goals: &[
            GoalMeaning {
                goal: "join_delay",
                name: "Group join delay",
                definition: "from the report that joins a group to the arrival of its first packet (RFC 3918 section 6.1)",
            },
            GoalMeaning {
                goal: "leave_delay",
                name: "Group leave delay",
                definition: "from the report that leaves a group to the arrival of its last packet (RFC 3918 section 6.2)",
            },
            GoalMeaning {
                goal: "group_capacity",
                name: "Group capacity",
                definition: "most groups that were joined and of which every packet arrived, and only at ports with members \
                             (RFC 3918 section 7.1)",
            },
            GoalMeaning {
                goal: "multicast_throughput",
                name: "Aggregated multicast throughput",
                definition: "highest rate at which every frame arrived at every port with members (RFC 3918 section 4.3)",
            },
        ],
    };
}

impl Settings for MulticastConfig {
    fn check(&self, _: &Testbed) -> Result<(), ConfigError> {
        let bad = |field: &str, reason: &str| Err(ConfigError::new(field, reason));
        if self.duration < Nanos::from_secs(1) {
            return bad("duration", "must be at least 1s: a group is joined and left within it");
        }
        if self.rate.micro() == 0 {
            return bad("rate", "must be above 0");
        }
        if !(1..=GROUPS_MAX).contains(&self.groups) {
            return bad("groups", "must be from 1 to 4096");
        }
        if self.repeats == 0 && self.maximum == 0 && !self.throughput {
            return bad(
                "maximum",
                "repeats or maximum must be above 0, or throughput true: there is nothing to find",
            );
        }
        if self.maximum > GROUPS_MAX || self.maximum > 0 && !(1..=self.maximum).contains(&self.first) {
            return bad("maximum", "1 ≤ first ≤ maximum ≤ 4096 must hold");
        }
        if !(self.resolution > 0.0 && self.resolution < 1.0) {
            return bad("resolution", "must be between 0 and 1");
        }
        Ok(())
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(Memberships::new(self, testbed), testbed))
    }

    fn quicken(&mut self) {
        self.duration = Nanos::from_secs(4);
        self.repeats = 3;
        self.resolution = self.resolution.max(0.05);
    }

    fn set_trial(&mut self, trial: Nanos) {
        self.duration = trial;
    }

    fn sizes(&self) -> Vec<Frames> {
        vec![self.frames.clone()]
    }

    /// One length is enough: the first.
    fn set_sizes(&mut self, sizes: &[Frames]) {
        if let Some(first) = sizes.first() {
            self.frames = first.clone();
        }
    }

    fn requirements(&self) -> Vec<Requirement> {
        vec![Requirement::GroupMembers]
    }
}

/// Findings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MulticastRow {
    /// The frames.
    pub frames: Frames,
    /// Frames per second of all groups of a trial together.
    pub rate_pps: f64,
    /// Groups while delays were measured.
    pub groups: u64,
    /// From the report that joins to the first packet, s.
    #[serde(rename = "join_delay_s")]
    pub join_delay: Option<Spread>,
    /// From the report that leaves to the last packet, s; 0 if none came after it.
    #[serde(rename = "leave_delay_s")]
    pub leave_delay: Option<Spread>,
    /// Trials in which no packet came after the join.
    pub not_joined: u32,
    /// Trials with packets before the join: the device forwards groups without members.
    pub too_early: u32,
    /// Trials in which packets still came when the trial ended.
    pub not_left: u32,
    /// Trials of delays that the tester limited or disturbed.
    pub tester_limited: u32,
    /// Most groups that were forwarded; absent: none, or not searched.
    pub capacity: Option<u64>,
    /// The smallest number that failed.
    pub capacity_failed: Option<u64>,
    /// Frames of it that were lost, and that came to other ports.
    pub failed_by: Option<(u64, u64)>,
    /// Limit of the capacity from above; absent: not searched.
    pub limit: Option<Limit>,
    /// Highest rate that reached every port with members without loss, frames/s sent; absent: none, or not searched.
    #[serde(default)]
    pub throughput_pps: Option<f64>,
    /// The lowest rate that failed, frames/s, and the frames that were lost at it, counted at every port.
    #[serde(default)]
    pub throughput_failed: Option<(f64, u64)>,
    /// Limit of the throughput from above; absent: not searched.
    #[serde(default)]
    pub throughput_limit: Option<Limit>,
}

impl MulticastRow {
    /// Remark on the delays.
    fn note(&self) -> Option<String> {
        let said = [
            (self.not_joined, "in which no packet came after the join"),
            (self.too_early, "in which packets came before the join"),
            (self.not_left, "in which packets still came at the end"),
            (self.tester_limited, "in which the tester was the limit or disturbed"),
        ];
        let said = said.iter().filter(|(trials, _)| *trials > 0);
        let notes: Vec<String> = said.map(|(trials, what)| format!("{trials} trials {what}")).collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }

    fn sentences(&self) -> Vec<String> {
        let mut all = Vec::new();
        let ms = |spread: &Spread| {
            let [median, min, max] = [spread.middle(), spread.min, spread.max].map(|s| s * 1e3);
            format!("{median:.3} ms (median of {}; {min:.3} to {max:.3} ms)", spread.samples)
        };
        all.extend(self.join_delay.iter().map(|join| format!("Group join delay: {}.", ms(join))));
        all.extend(self.leave_delay.iter().map(|leave| format!("Group leave delay: {}.", ms(leave))));
        all.extend(self.note().map(|note| format!("Delays: {note}.")));
        if let Some(limit) = self.limit {
            let because = match self.failed_by {
                Some((lost, flooded)) => {
                    let at = self.capacity_failed.map_or_else(String::new, grouped);
                    format!(
                        " At {at}, {} frames were lost and {} came to other ports.",
                        grouped(lost),
                        grouped(flooded)
                    )
                }
                None => String::new(),
            };
            all.push(match self.capacity {
                Some(groups) => {
                    let failed = self.capacity_failed.map(grouped);
                    format!("Group capacity: {}{}.{because}", grouped(groups), bounded_by(limit, failed))
                }
                None => format!("Group capacity: {}.{because}", none_because(limit)),
            });
        }
        if let Some(limit) = self.throughput_limit {
            let because = self.throughput_failed.map_or_else(String::new, |(pps, lost)| {
                format!(" At {} frames/s, {} were lost.", grouped(pps as u64), grouped(lost))
            });
            all.push(match self.throughput_pps {
                Some(pps) => format!(
                    "Aggregated multicast throughput: {} frames/s{}.{because}",
                    grouped(pps as u64),
                    bounded_by(limit, self.throughput_failed.map(|(pps, _)| grouped(pps as u64)))
                ),
                None => format!("Aggregated multicast throughput: {}.{because}", none_because(limit)),
            });
        }
        all
    }
}

/// Why a search has no value.
fn none_because(limit: Limit) -> &'static str {
    match limit {
        Limit::Open => "not yet known",
        limit if limit.is_testers() => nothing_known(limit),
        _ => "none",
    }
}

impl Row for MulticastRow {
    fn findings(&self) -> Vec<Finding> {
        let delay = |goal: &str, spread: &Option<Spread>| {
            Finding::at(&self.frames, goal, "s").repeats(spread.as_ref()).note(self.note())
        };
        let mut all = Vec::new();
        if self.join_delay.is_some() || self.note().is_some() {
            all.extend([delay("join_delay", &self.join_delay), delay("leave_delay", &self.leave_delay)]);
        }
        if let Some(limit) = self.limit {
            let number = |value: Option<u64>| value.map(|value| value as f64);
            all.push(Finding {
                lower: number(self.capacity),
                upper: number(self.capacity_failed),
                ..Finding::at(&self.frames, "group_capacity", "")
                    .value(number(self.capacity))
                    .note(limit.note_of(number(self.capacity)))
            });
        }
        if let Some(limit) = self.throughput_limit {
            all.push(Finding {
                lower: self.throughput_pps,
                upper: self.throughput_failed.map(|(pps, _)| pps),
                ..Finding::at(&self.frames, "multicast_throughput", "pps")
                    .value(self.throughput_pps)
                    .note(limit.note_of(self.throughput_pps))
            });
        }
        all
    }

    fn limits(&self) -> Vec<Limit> {
        self.limit.into_iter().chain(self.throughput_limit).collect()
    }
}

/// Delays, trial by trial, then the capacity, then the throughput.
#[derive(Debug, Clone)]
pub(crate) struct Memberships {
    config: MulticastConfig,
    asked: u32,
    join: Vec<f64>,
    leave: Vec<f64>,
    not_joined: u32,
    too_early: u32,
    not_left: u32,
    tester_limited: u32,
    bisect: Option<Bisect>,
    failed_by: Option<(u64, u64)>,
    /// The search of the throughput, in whole frames per second.
    rate: Option<Bisect>,
    rate_failed: Option<(u64, u64)>,
}

impl Memberships {
    fn new(config: &MulticastConfig, testbed: &Testbed) -> Self {
        let line = testbed.line_rate(&config.frames).micro() / 1_000_000;
        let rates = || Bisect::new(1, line, 1).within(config.resolution);
        let search = || {
            let ladder = doubling(config.first, config.maximum);
            Bisect::new(1, config.maximum, 1).within(config.resolution).climbing(ladder)
        };
        Self {
            config: config.clone(),
            asked: 0,
            join: Vec::new(),
            leave: Vec::new(),
            not_joined: 0,
            too_early: 0,
            not_left: 0,
            tester_limited: 0,
            bisect: (config.maximum > 0).then(search),
            failed_by: None,
            rate: config.throughput.then(rates),
            rate_failed: None,
        }
    }

    fn take_rate(&mut self, at: u64, seen: &Seen<'_>) {
        let Some(rate) = &mut self.rate else { return };
        let verdict = seen.verdict(0.0);
        if verdict == Verdict::Fail && rate.failed_by_dut().is_none_or(|failed| at < failed) {
            self.rate_failed = Some((at, seen.outcome.lost()));
        }
        rate.judge(at, verdict);
    }

    fn take_delays(&mut self, change: &GroupChange, duration: Nanos) {
        let gap = 1e9 / self.config.rate.as_f64();
        let (Some(join), Some(first)) = (change.join_ns, change.first_arrival_ns) else {
            self.not_joined += 1;
            return;
        };
        if first < join {
            self.too_early += 1;
            return;
        }
        self.join.push((first - join) as f64 / 1e9);
        let (Some(leave), Some(last)) = (change.leave_ns, change.last_arrival_ns) else { return };
        // Packets of the last gaps are still on their way.
        if last as f64 + 10.0 * gap > duration.0 as f64 {
            self.not_left += 1;
        } else {
            self.leave.push(last.saturating_sub(leave) as f64 / 1e9);
        }
    }

    fn take_capacity(&mut self, groups: u64, seen: &Seen<'_>) {
        let Some(bisect) = &mut self.bisect else { return };
        let flooded: u64 = seen.outcome.groups.iter().map(|group| group.flooded).sum();
        let verdict = match seen.verdict(0.0) {
            Verdict::Pass if flooded > 0 => Verdict::Fail,
            verdict => verdict,
        };
        if verdict == Verdict::Fail && bisect.failed_by_dut().is_none_or(|failed| groups < failed) {
            self.failed_by = Some((seen.outcome.lost(), flooded));
        }
        bisect.judge(groups, verdict);
    }

    fn row(&self) -> MulticastRow {
        MulticastRow {
            frames: self.config.frames.clone(),
            rate_pps: self.config.rate.as_f64(),
            groups: self.config.groups,
            join_delay: Spread::of(&self.join),
            leave_delay: Spread::of(&self.leave),
            not_joined: self.not_joined,
            too_early: self.too_early,
            not_left: self.not_left,
            tester_limited: self.tester_limited,
            capacity: self.bisect.as_ref().and_then(Bisect::passed),
            capacity_failed: self.bisect.as_ref().and_then(Bisect::failed_by_dut),
            failed_by: self.failed_by,
            limit: self.bisect.as_ref().map(Bisect::limit),
            throughput_pps: self.rate.as_ref().and_then(Bisect::passed).map(|pps| pps as f64),
            throughput_failed: self.rate_failed.map(|(pps, lost)| (pps as f64, lost)),
            throughput_limit: self.rate.as_ref().map(Bisect::limit),
        }
    }
}

impl Stage for Memberships {
    fn next(&mut self) -> Option<Draft> {
        let draft = |kind, label: String| {
            Draft::load(&self.config.frames, self.config.rate, self.config.duration).kind(kind).label(label)
        };
        let part = |hundredths: u64| Nanos(self.config.duration.0 / 100 * hundredths);
        if self.asked < self.config.repeats {
            let kind = TrialKind::Multicast {
                groups: self.config.groups,
                join: part(JOIN),
                leave: part(LEAVE),
                everywhere: false,
            };
            let label = format!("join and leave, {} of {}", self.asked + 1, self.config.repeats);
            let draft = draft(kind, label);
            self.asked += 1;
            return Some(draft);
        }
        let before = |groups, everywhere| TrialKind::Multicast {
            groups,
            join: Nanos::ZERO,
            leave: Nanos::ZERO,
            everywhere,
        };
        if let Some(groups) = self.bisect.as_ref().and_then(Bisect::probe) {
            return Some(draft(before(groups, false), format!("{} groups", grouped(groups))));
        }
        let pps = self.rate.as_ref()?.probe()?;
        let rate = Pps::new(pps);
        Some(Draft {
            rate: Some(rate),
            ..draft(before(self.config.groups, true), format!("to every port, {} frames/s", grouped(pps)))
        })
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        match (&draft.kind, &seen.outcome.multicast) {
            (TrialKind::Multicast { everywhere: true, .. }, _) => {
                self.take_rate(draft.rate.map_or(0, |rate| rate.micro() / 1_000_000), seen);
            }
            (TrialKind::Multicast { groups, join: Nanos::ZERO, .. }, _) => self.take_capacity(*groups, seen),
            (_, Some(_)) if seen.limited => {
                self.tester_limited += 1;
                self.asked = if seen.last { self.config.repeats } else { self.asked };
            }
            (_, Some(change)) => self.take_delays(change, draft.duration),
            _ => {}
        }
    }

    /// Of delays, everything must be valid.
    fn decides(&self, draft: &Draft, seen: &Seen<'_>) -> bool {
        let is_search = matches!(draft.kind, TrialKind::Multicast { join: Nanos::ZERO, .. });
        is_search && seen.verdict(0.0).is_known()
    }
}

impl Procedure for Memberships {
    fn name(&self) -> &'static str {
        "rfc3918-multicast"
    }

    fn findings(&self) -> Findings {
        Findings::Multicast(vec![self.row()])
    }

    fn summary(&self) -> Vec<String> {
        self.row().sentences()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::TrialOutcome;
    use crate::{MethodConfig, TrialRequest};

    /// A device that forwards this number of groups, each with a join delay and a leave delay.
    fn run(
        config: MulticastConfig,
        capacity: u64,
        change: impl Fn(Nanos, Nanos) -> GroupChange,
    ) -> MulticastRow {
        let mut method = MethodConfig::Multicast(config).build(&Testbed::one_way(1_000_000_000)).unwrap();
        while let Some(request) = method.next_trial().trial() {
            method.record(&device(&request, capacity, &change));
        }
        let Findings::Multicast(rows) = method.result().findings else { panic!() };
        rows[0].clone()
    }

    fn device(
        request: &TrialRequest,
        capacity: u64,
        change: &impl Fn(Nanos, Nanos) -> GroupChange,
    ) -> TrialOutcome {
        let TrialKind::Multicast { groups, join, leave, everywhere } = request.kind else { panic!() };
        if everywhere {
            // A third of a line of 1 Gbps gets through.
            let most = 280_000 * request.duration.0 / 1_000_000_000;
            return TrialOutcome::forwarded(request, |_, sent| sent.min(most));
        }
        if join > Nanos::ZERO {
            let outcome = TrialOutcome::forwarded(request, |_, sent| sent / 3);
            return TrialOutcome { multicast: Some(change(join, leave)), ..outcome };
        }
        TrialOutcome::forwarded(request, |_, sent| sent * capacity.min(groups) / groups)
    }

    fn after(join: Nanos, leave: Nanos, ms: u64) -> GroupChange {
        GroupChange {
            join_ns: Some(join.0),
            leave_ns: Some(leave.0),
            first_arrival_ns: Some(join.0 + ms * 1_000_000),
            last_arrival_ns: Some(leave.0 + 20 * ms * 1_000_000),
        }
    }

    #[test]
    fn delays_and_capacity_are_those_of_the_device() {
        let row = run(MulticastConfig::default(), 100, |join, leave| after(join, leave, 2));
        let (join, leave) = (row.join_delay.unwrap(), row.leave_delay.unwrap());
        assert_eq!((join.samples, join.middle(), leave.middle()), (10, 0.002, 0.04));
        assert_eq!((row.capacity, row.capacity_failed, row.limit), (Some(100), Some(101), Some(Limit::Dut)));
        assert!(
            row.sentences().iter().any(|text| text.starts_with("Group capacity: 100. At 101, ")),
            "{row:?}"
        );
        let goals: Vec<String> = row.findings().into_iter().map(|finding| finding.goal).collect();
        assert_eq!(goals, ["join_delay", "leave_delay", "group_capacity", "multicast_throughput"]);
        let (pps, failed) = (row.throughput_pps.unwrap(), row.throughput_failed.unwrap().0);
        assert!(pps <= 280_000.0 && 280_000.0 < failed && failed - pps < 10_000.0, "{row:?}");
        assert_eq!(row.throughput_limit, Some(Limit::Dut));
    }

    #[test]
    fn a_device_that_does_not_snoop_is_told_apart() {
        let config = || MulticastConfig { maximum: 0, throughput: false, ..MulticastConfig::default() };
        let floods =
            |join: Nanos, leave: Nanos| GroupChange { first_arrival_ns: Some(1), ..after(join, leave, 2) };
        let row = run(config(), 1, floods);
        assert_eq!((row.too_early, row.join_delay), (10, None));
        let row = run(config(), 1, |join, leave| after(join, leave, 600));
        assert_eq!((row.not_left, row.leave_delay, row.join_delay.unwrap().samples), (10, None, 10));
        let row = run(config(), 1, |_, _| GroupChange::default());
        assert_eq!(
            (row.not_joined, row.note().unwrap().as_str()),
            (10, "10 trials in which no packet came after the join")
        );
    }
}
