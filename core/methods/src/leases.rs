//! DHCP set-up rate: how many clients a second get their addresses in time.
//!
//! A trial lets clients begin at a rate, and passes if each has its lease within a time, without a message sent twice. The search climbs
//! at most twice as high at a time.
//!
//! Not here: who asks, and DHCP.

use crate::climb::{self, Climb, ClimbConfig, doubling};
use crate::draft::{Draft, Limit, Procedure, Seen, Stage, Verdict};
use crate::finding::{Finding, GoalMeaning};
use crate::list::Findings;
use crate::method::Method;
use crate::outcome::LeaseOutcome;
use crate::result::bounded_by;
use crate::run::Run;
use crate::settings::{About, ConfigError, Requirement, Row, Settings};
use crate::testbed::Testbed;
use crate::text::{AsText, grouped};
use crate::trial::TrialKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// What its findings go by, in place of frames.
pub(crate) const FRAME: &str = "leases";
/// Highest rate of clients.
const RATE_MAX: u64 = 1_000_000;

/// Settings of the search for the DHCP set-up rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LeaseConfig {
    /// Clients per second to begin with.
    pub first: u64,
    /// Most clients per second tried.
    pub maximum: u64,
    /// How long clients begin in a trial, at most: it ends earlier if the profile has no more of them.
    #[serde(with = "AsText")]
    pub duration: Nanos,
    /// Each client must have its lease so long after its first message, at most.
    #[serde(with = "AsText")]
    pub within: Nanos,
    /// The search ends when its bounds are this share apart.
    pub resolution: f64,
    /// How long the server rests after a trial that failed or was disturbed.
    #[serde(with = "AsText")]
    pub rest: Nanos,
}

impl Default for LeaseConfig {
    fn default() -> Self {
        Self {
            first: 100,
            maximum: 10_000,
            duration: Nanos::from_secs(10),
            within: Nanos::from_secs(1),
            resolution: 0.02,
            rest: Nanos::from_secs(5),
        }
    }
}

impl LeaseConfig {
    pub(crate) const ABOUT: About = About {
        name: "dhcp",
        about: "how many clients a second a DHCP or DHCPv6 server gives addresses to",
        result_names: &["dhcp-setup-rate"],
        makes_curves: false,
        goals: &[
            GoalMeaning {
                goal: "lease_rate",
                name: "DHCP set-up rate",
                definition: "highest rate at which clients began and each had its lease in time, without a message sent twice",
            },
            GoalMeaning {
                goal: "bind_p50",
                name: "Time to bind (median)",
                definition: "from a client's first message to its lease, at the DHCP set-up rate",
            },
            GoalMeaning {
                goal: "bind_p99",
                name: "Time to bind (99th percentile)",
                definition: "from a client's first message to its lease, at the DHCP set-up rate",
            },
        ],
    };
}

impl Settings for LeaseConfig {
    fn check(&self, _: &Testbed) -> Result<(), ConfigError> {
        let bad = |field: &str, reason: &str| Err(ConfigError::new(field, reason));
        if self.maximum > RATE_MAX || !(1..=self.maximum).contains(&self.first) {
            return bad("maximum", "1 ≤ first ≤ maximum ≤ 1000000 must hold");
        }
        if self.duration < Nanos::from_millis(100) {
            return bad("duration", "must be at least 100ms: clients begin meanwhile");
        }
        if self.within == Nanos::ZERO {
            return bad("within", "must be longer than 0");
        }
        ClimbConfig::check_resolution(self.resolution)
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(LeaseSearch::new(self), testbed))
    }

    fn quicken(&mut self) {
        self.duration = Nanos::from_secs(2);
        ClimbConfig::quicken(&mut self.resolution, &mut self.rest);
    }

    fn set_trial(&mut self, trial: Nanos) {
        self.duration = trial;
    }

    fn requirements(&self) -> Vec<Requirement> {
        vec![Requirement::LeaseClients]
    }
}

/// A rate that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeasePoint {
    /// Clients per second that were to begin.
    pub rate: u64,
    /// What came of it.
    pub outcome: LeaseOutcome,
    /// Why it did not pass; empty if it did.
    pub violations: Vec<String>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseRow {
    /// The time each client has to get its lease, s.
    pub within_s: f64,
    /// The highest rate that passed; absent: none.
    pub best: Option<LeasePoint>,
    /// The lowest at which the server failed; absent: none.
    pub failed: Option<LeasePoint>,
    /// How far apart bounds may be, as a share.
    pub resolution: f64,
    /// What bounds the rate from above.
    pub limit: Limit,
}

impl Row for LeaseRow {
    fn findings(&self) -> Vec<Finding> {
        let rate = |point: &Option<LeasePoint>| point.as_ref().map(|point| point.rate as f64);
        let (found, failed) = (rate(&self.best), rate(&self.failed));
        let of_leases = |finding: Finding| Finding { frame: FRAME.into(), ..finding };
        let mut all = vec![of_leases(Finding {
            value: found,
            lower: found,
            upper: failed.filter(|_| self.limit.is_dut()),
            resolution: failed.or(found).map(|value| (value * self.resolution).max(1.0)),
            ..Finding::new("lease_rate", "/s").note(self.limit.note_of(found))
        })];
        let times = self.best.as_ref().and_then(|best| best.outcome.bind.as_ref());
        all.extend(Finding::quantiles("bind", times).into_iter().map(of_leases));
        all
    }

    fn limits(&self) -> Vec<Limit> {
        vec![self.limit]
    }
}

/// The search.
#[derive(Debug, Clone)]
pub(crate) struct LeaseSearch {
    config: LeaseConfig,
    climb: Climb,
    best: Option<LeasePoint>,
    failed: Option<LeasePoint>,
}

impl LeaseSearch {
    fn new(config: &LeaseConfig) -> Self {
        let bounds =
            ClimbConfig { bounds: (1, config.maximum), resolution: config.resolution, rest: config.rest };
        let climb = Climb::new(bounds, doubling(config.first, config.maximum));
        Self { config: config.clone(), climb, best: None, failed: None }
    }

    /// Why a trial does not pass.
    fn violations(&self, of: &LeaseOutcome) -> Vec<String> {
        let mut why = Vec::new();
        if of.bound < of.clients {
            why.push(format!(
                "{} of {} clients got no lease",
                grouped(of.clients - of.bound),
                grouped(of.clients)
            ));
        }
        if of.repeated > 0 {
            why.push(format!("{} messages were sent again", grouped(of.repeated)));
        }
        if of.conflicts > 0 {
            why.push(format!("{} leases were of addresses that another client had", grouped(of.conflicts)));
        }
        if let Some(slowest) =
            of.bind.as_ref().map(|bind| bind.max).filter(|ns| *ns > self.config.within.0 as f64)
        {
            why.push(format!("the slowest client waited {:.3} s", slowest / 1e9));
        }
        why
    }

    fn row(&self) -> LeaseRow {
        LeaseRow {
            within_s: self.config.within.as_secs_f64(),
            best: self.best.clone(),
            failed: self.failed.clone(),
            resolution: self.config.resolution,
            limit: self.climb.limit(),
        }
    }

    fn sentence(&self) -> String {
        let limit = self.climb.limit();
        let of = |point: &LeasePoint| format!("{} clients/s", grouped(point.rate));
        let why = |point: &LeasePoint| point.violations.join(", ");
        match (&self.best, &self.failed) {
            (_, _) if limit == Limit::Open => "The DHCP set-up rate is not yet known.".into(),
            (Some(best), Some(failed)) if limit == Limit::Dut => {
                format!("DHCP set-up rate: {}; at {}: {}.", of(best), of(failed), why(failed))
            }
            (Some(best), _) => format!("DHCP set-up rate: {}{}.", of(best), bounded_by(limit)),
            (None, Some(failed)) => format!("DHCP set-up rate: none; at {}: {}.", of(failed), why(failed)),
            (None, None) => format!("DHCP set-up rate: {}.", climb::nothing_known(limit)),
        }
    }
}

impl Stage for LeaseSearch {
    fn next(&mut self) -> Option<Draft> {
        let (rate, rest) = self.climb.next()?;
        let kind = TrialKind::Leases { rate, within: self.config.within };
        let draft = Draft::special(kind, self.config.duration).label(format!("{} clients/s", grouped(rate)));
        Some(draft.after(rest).again_after(self.config.rest))
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        let (TrialKind::Leases { rate, .. }, Some(outcome)) = (&draft.kind, &seen.outcome.leases) else {
            return;
        };
        let violations = self.violations(outcome);
        let point = LeasePoint { rate: *rate, outcome: outcome.clone(), violations };
        let verdict = seen.verdict_if(point.violations.is_empty());
        self.climb.judge(*rate, verdict);
        match verdict {
            Verdict::Pass => self.best = Some(point),
            Verdict::Fail => self.failed = Some(point),
            _ => {}
        }
    }
}

impl Procedure for LeaseSearch {
    fn name(&self) -> &'static str {
        "dhcp-setup-rate"
    }

    fn findings(&self) -> Findings {
        Findings::Leases(vec![self.row()])
    }

    fn summary(&self) -> Vec<String> {
        vec![self.sentence()]
    }

    fn remarks(&self) -> Vec<String> {
        climb::rest_remark(self.climb.rested, self.config.rest).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MethodConfig;
    use crate::outcome::{LatencySummary, TrialOutcome};

    /// A server that answers so many clients a second; others wait, and repeat what they said after four seconds.
    fn served(rate: u64, capacity: u64, config: &LeaseConfig) -> LeaseOutcome {
        let clients = rate * config.duration.0 / 1_000_000_000;
        let waited = (clients as f64 / capacity as f64 - clients as f64 / rate as f64).max(0.0) * 1e9 + 1e6;
        let bind = LatencySummary {
            samples: clients,
            max: waited,
            p50: waited / 2.0,
            p99: waited,
            ..LatencySummary::default()
        };
        let repeated = if waited > 4e9 { clients / 2 } else { 0 };
        LeaseOutcome { clients, bound: clients, repeated, bind: Some(bind), ..LeaseOutcome::default() }
    }

    fn run(config: &LeaseConfig, limited_above: u64, of: impl Fn(u64) -> LeaseOutcome) -> LeaseRow {
        let mut method =
            MethodConfig::Leases(config.clone()).build(&Testbed::one_way(1_000_000_000)).unwrap();
        while let Some(request) = method.next_trial().trial() {
            let TrialKind::Leases { rate, .. } = request.kind else { panic!() };
            let outcome = TrialOutcome {
                valid: true,
                generator_limited: rate > limited_above,
                ..TrialOutcome::default()
            };
            method.record(&TrialOutcome { leases: Some(of(rate)), ..outcome });
        }
        let Findings::Leases(rows) = method.result().findings else { panic!() };
        rows[0].clone()
    }

    #[test]
    fn the_rate_is_that_at_which_the_slowest_client_is_in_time() {
        let config = LeaseConfig::default();
        let row = run(&config, u64::MAX, |rate| served(rate, 3_000, &config));
        let (best, failed) = (row.best.clone().unwrap(), row.failed.clone().unwrap());
        // Ten seconds at 3,300 clients/s leave the last one a second behind.
        assert!((3_200..=3_300).contains(&best.rate) && failed.rate > best.rate, "{row:?}");
        assert_eq!(row.limit, Limit::Dut);
        assert!(failed.violations[0].starts_with("the slowest client waited 1."), "{failed:?}");
        let goals: Vec<String> = row.findings().into_iter().map(|finding| finding.goal).collect();
        assert_eq!(goals, ["lease_rate", "bind_p50", "bind_p99"]);
        assert_eq!(row.findings()[0].upper, Some(failed.rate as f64));
    }

    #[test]
    fn what_fails_is_said() {
        let config = LeaseConfig { maximum: 400, ..LeaseConfig::default() };
        let none =
            LeaseOutcome { clients: 1_000, bound: 10, repeated: 5, conflicts: 2, ..LeaseOutcome::default() };
        let row = run(&config, u64::MAX, |_| none.clone());
        assert_eq!((row.best.is_none(), row.limit), (true, Limit::Impossible));
        let said = row.failed.unwrap().violations.join(", ");
        assert_eq!(
            said,
            "990 of 1,000 clients got no lease, 5 messages were sent again, 2 leases were of addresses that another client had"
        );
        let row = run(&config, 250, |rate| served(rate, 100_000, &config));
        assert_eq!(row.limit, Limit::Tester);
        assert!(row.findings()[0].upper.is_none() && row.best.unwrap().rate <= 250);
    }
}
