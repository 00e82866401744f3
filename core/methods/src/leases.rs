//! DHCP set-up rate: how many clients a second get their addresses in time.
//!
//! A trial lets clients begin at a rate, and passes if each has its lease within a time, without a message sent twice. The search climbs
//! at most twice as high at a time. The clients of each trial are new to the server.
//!
//! Many servers ping an address before they first offer it, which takes seconds at any rate. So one client begins by itself first: if it
//! waits too long, that delay is the finding, and no rate is searched. Before the search ends, the rate that failed is tried again.
//!
//! Not here: clients, and DHCP.

use crate::climb::{self, Climb, ClimbConfig, doubling};
use crate::draft::{Draft, Limit, Procedure, Seen, Stage, Verdict};
use crate::finding::{Finding, GoalMeaning};
use crate::list::Findings;
use crate::method::Method;
use crate::outcome::LeaseOutcome;
use crate::run::Run;
use crate::settings::{About, ConfigError, Requirement, Row, Settings};
use crate::testbed::Testbed;
use crate::text::{AsText, grouped};
use crate::trial::TrialKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Label of its findings, in place of frames.
pub(crate) const FRAME: &str = "leases";
/// Highest rate of clients.
const RATE_MAX: u64 = 1_000_000;
/// Failures that are tried again, at most: a server whose rate changes all the time has none.
const RETRIES_MAX: usize = 4;

/// Settings of the search for the DHCP set-up rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LeaseConfig {
    /// Clients per second to begin with.
    pub first: u64,
    /// Most clients per second tried.
    pub maximum: u64,
    /// Maximum time for which clients begin in a trial: it ends earlier if the profile has no more of them.
    #[serde(with = "AsText")]
    pub duration: Nanos,
    /// Each client must have its lease so long after its first message, at most.
    #[serde(with = "AsText")]
    pub within: Nanos,
    /// The search ends when its bounds are this share apart.
    pub resolution: f64,
    /// Rest of the server after a trial that failed or was disturbed.
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
                goal: "bind_alone",
                name: "Time to bind (one client)",
                definition: "from the first message to the lease of one client by itself, which the server has not seen before",
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
    /// Outcome.
    pub outcome: LeaseOutcome,
    /// Why it did not pass; empty if it did.
    pub violations: Vec<String>,
}

/// Findings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseRow {
    /// The time each client has to get its lease, s.
    pub within_s: f64,
    /// One client by itself; absent: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<LeaseOutcome>,
    /// The highest rate that passed; absent: none.
    pub best: Option<LeasePoint>,
    /// The lowest at which the server failed; absent: none.
    pub failed: Option<LeasePoint>,
    /// Maximum distance of the bounds, as a share.
    pub resolution: f64,
    /// Limit of the rate from above.
    pub limit: Limit,
}

impl LeaseRow {
    /// Time for which a client waited, ns.
    fn waited(alone: &LeaseOutcome) -> Option<f64> {
        alone.bind.as_ref().map(|bind| bind.max).filter(|_| alone.bound > 0)
    }

    /// Why no rate is searched: one client alone waits too long already.
    fn too_slow(&self) -> Option<String> {
        let alone = self.alone.as_ref()?;
        let within = self.within_s;
        match Self::waited(alone) {
            Some(ns) if ns <= within * 1e9 => None,
            Some(ns) => Some(format!(
                "one client alone, new to the server, waited {:.3} s for its lease, longer than {within} s: the server may ping \
                 an address before it offers it; switch that off, or allow more time (within)",
                ns / 1e9
            )),
            None if alone.bound > 0 => None,
            None => Some("one client alone got no lease".to_owned()),
        }
    }
}

impl Row for LeaseRow {
    fn findings(&self) -> Vec<Finding> {
        let rate = |point: &Option<LeasePoint>| point.as_ref().map(|point| point.rate as f64);
        let (found, failed) = (rate(&self.best), rate(&self.failed));
        let of_leases = |finding: Finding| Finding { frame: FRAME.into(), ..finding };
        let mut all = vec![of_leases(Finding {
            value: found,
            lower: found,
            upper: failed,
            resolution: failed.or(found).map(|value| (value * self.resolution).max(1.0)),
            ..Finding::new("lease_rate", "/s")
                .note(self.too_slow().or(self.limit.note_of(found).map(str::to_owned)))
        })];
        let alone = self.alone.as_ref().and_then(LeaseRow::waited);
        all.extend(
            alone.map(|ns| of_leases(Finding::new("bind_alone", "ns").value(ns).note(self.too_slow()))),
        );
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
    /// Whether the trial with a single client has been requested.
    begun: bool,
    alone: Option<LeaseOutcome>,
    /// Rates that failed and were tried again.
    retried: Vec<u64>,
    best: Option<LeasePoint>,
    failed: Option<LeasePoint>,
}

impl LeaseSearch {
    fn new(config: &LeaseConfig) -> Self {
        let bounds =
            ClimbConfig { bounds: (1, config.maximum), resolution: config.resolution, rest: config.rest };
        let climb = Climb::new(bounds, doubling(config.first, config.maximum));
        Self {
            config: config.clone(),
            climb,
            begun: false,
            alone: None,
            retried: Vec::new(),
            best: None,
            failed: None,
        }
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

    /// The rate that failed, if it is to be tried again before the search ends.
    fn retry(&mut self) -> Option<u64> {
        let failed = self.climb.failed()?;
        let is_due = self.climb.limit() == Limit::Dut
            && !self.retried.contains(&failed)
            && self.retried.len() < RETRIES_MAX;
        is_due.then(|| self.retried.push(failed))?;
        Some(failed)
    }

    fn row(&self) -> LeaseRow {
        let row = LeaseRow {
            within_s: self.config.within.as_secs_f64(),
            alone: self.alone.clone(),
            best: self.best.clone(),
            failed: self.failed.clone(),
            resolution: self.config.resolution,
            limit: self.climb.limit(),
        };
        let limit = if row.too_slow().is_some() { Limit::Impossible } else { row.limit };
        LeaseRow { limit, ..row }
    }

    fn sentence(&self) -> String {
        let row = self.row();
        if let Some(why) = row.too_slow() {
            return format!("DHCP set-up rate: none; {why}.");
        }
        let limit = row.limit;
        let of = |point: &LeasePoint| format!("{} clients/s", grouped(point.rate));
        let why = |point: &LeasePoint| point.violations.join(", ");
        if limit == Limit::Open {
            return "The DHCP set-up rate is not yet known.".into();
        }
        let failed = self.failed.as_ref().map(|failed| (of(failed), why(failed)));
        format!("DHCP set-up rate: {}.", climb::answer(limit, self.best.as_ref().map(of), failed))
    }
}

impl Stage for LeaseSearch {
    fn next(&mut self) -> Option<Draft> {
        let within = self.config.within;
        if !self.begun {
            self.begun = true;
            let kind = TrialKind::Leases { rate: 1, within, alone: true };
            return Some(
                Draft::special(kind, within).label("one client alone").again_after(self.config.rest),
            );
        }
        if self.row().too_slow().is_some() {
            return None;
        }
        let (rate, rest) = match self.climb.next() {
            Some(next) => next,
            None => (self.retry()?, self.config.rest),
        };
        let kind = TrialKind::Leases { rate, within, alone: false };
        let draft = Draft::special(kind, self.config.duration).label(format!("{} clients/s", grouped(rate)));
        Some(draft.after(rest).again_after(self.config.rest))
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        let (TrialKind::Leases { rate, alone, .. }, Some(outcome)) = (&draft.kind, &seen.outcome.leases)
        else {
            return;
        };
        if *alone {
            // Of a disturbed trial only that it was in time is known.
            let in_time = self.violations(outcome).is_empty();
            self.alone = seen.verdict_if(in_time).is_known().then(|| outcome.clone());
            return;
        }
        let violations = self.violations(outcome);
        let point = LeasePoint { rate: *rate, outcome: outcome.clone(), violations };
        let verdict = seen.verdict_if(point.violations.is_empty());
        match verdict {
            Verdict::Pass if self.climb.failed() == Some(*rate) => {
                self.failed = None;
                self.climb.retract(*rate);
            }
            // What was tried again and says nothing changes nothing.
            verdict if self.climb.failed() == Some(*rate) && !verdict.is_known() => {}
            verdict => self.climb.judge(*rate, verdict),
        }
        match verdict {
            Verdict::Pass => self.best = Some(point),
            Verdict::Fail => self.failed = Some(point),
            _ => {}
        }
    }

    fn decides(&self, _: &Draft, seen: &Seen<'_>) -> bool {
        let passes = |outcome: &LeaseOutcome| seen.verdict_if(self.violations(outcome).is_empty());
        seen.outcome.leases.as_ref().is_some_and(|outcome| passes(outcome).is_known())
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

    /// A server that serves this number of clients a second; others wait, and repeat their messages after four seconds.
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

    fn bound_after(clients: u64, ns: f64) -> LeaseOutcome {
        let bind =
            LatencySummary { samples: clients, max: ns, p50: ns, p99: ns, ..LatencySummary::default() };
        LeaseOutcome { clients, bound: clients, bind: Some(bind), ..LeaseOutcome::default() }
    }

    fn prompt() -> LeaseOutcome {
        bound_after(1, 1e6)
    }

    /// A server with a separate outcome for each trial, numbered from 0.
    fn by_trial(
        config: &LeaseConfig,
        of: impl Fn(u64, u64, bool) -> LeaseOutcome,
    ) -> (LeaseRow, String, u64) {
        let mut method =
            MethodConfig::Leases(config.clone()).build(&Testbed::one_way(1_000_000_000)).unwrap();
        let mut trials = 0;
        while let Some(request) = method.next_trial().trial() {
            let TrialKind::Leases { rate, alone, .. } = request.kind else { panic!() };
            let leases = Some(of(trials, rate, alone));
            method.record(&TrialOutcome { valid: true, leases, ..TrialOutcome::default() });
            trials += 1;
        }
        let result = method.result();
        let Findings::Leases(rows) = result.findings else { panic!() };
        (rows[0].clone(), result.summary[0].clone(), trials)
    }

    /// ISC dhcpd 4.4.3 pings an address for a second before it offers it, at any rate.
    #[test]
    fn a_server_that_pings_first_is_found_out_by_one_client() {
        let config = LeaseConfig::default();
        let (row, said, trials) = by_trial(&config, |_, _, _| bound_after(1, 1.004e9));
        assert_eq!((trials, row.best.is_none(), row.limit), (1, true, Limit::Impossible));
        assert!(said.contains("none; one client alone, new to the server, waited 1.004 s"), "{said}");
        let findings: Vec<_> =
            row.findings().into_iter().map(|finding| (finding.goal, finding.value)).collect();
        assert_eq!(findings, [("lease_rate".to_owned(), None), ("bind_alone".to_owned(), Some(1.004e9))]);
        let patient = LeaseConfig { within: Nanos::from_secs(3), first: 50, maximum: 100, ..config };
        let (row, said, _) = by_trial(&patient, |_, _, _| bound_after(1, 1.004e9));
        assert_eq!((row.best.unwrap().rate, row.limit), (100, Limit::Maximum), "{said}");
    }

    /// A trial that was slow for another reason than its rate does not decide.
    #[test]
    fn the_rate_that_failed_is_tried_again() {
        let config = LeaseConfig { first: 10, maximum: 40, ..LeaseConfig::default() };
        let slow_once = |trial: u64, _, _| bound_after(10, if trial == 1 { 1.004e9 } else { 5e5 });
        let (row, said, _) = by_trial(&config, slow_once);
        assert_eq!((row.best.unwrap().rate, row.failed, row.limit), (40, None, Limit::Maximum), "{said}");
        let (row, said, _) =
            by_trial(&config, |_, rate, _| bound_after(10, if rate > 20 { 2e9 } else { 5e5 }));
        assert_eq!((row.best.unwrap().rate, row.limit), (20, Limit::Dut), "{said}");
    }

    fn run(config: &LeaseConfig, limited_above: u64, of: impl Fn(u64) -> LeaseOutcome) -> LeaseRow {
        let mut method =
            MethodConfig::Leases(config.clone()).build(&Testbed::one_way(1_000_000_000)).unwrap();
        while let Some(request) = method.next_trial().trial() {
            let TrialKind::Leases { rate, alone, .. } = request.kind else { panic!() };
            let outcome = TrialOutcome {
                valid: true,
                generator_limited: rate > limited_above,
                ..TrialOutcome::default()
            };
            let leases = if alone { prompt() } else { of(rate) };
            method.record(&TrialOutcome { leases: Some(leases), ..outcome });
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
        assert_eq!(goals, ["lease_rate", "bind_alone", "bind_p50", "bind_p99"]);
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
