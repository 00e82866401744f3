//! Route capacity: how many routes a device takes and forwards to, in the terms of RFC 4098 and RFC 7747.
//!
//! A trial advertises a number of routes before traffic, then sends a few packets to each of them. It passes if they
//! arrive and no session ended meanwhile. The search at most doubles the number each time, and bisects from the first
//! that failed.
//!
//! Not here: who advertises, and which prefixes.

use crate::climb::{self, Climb, ClimbConfig, doubling};
use crate::draft::{Draft, Limit, Procedure, Seen, Stage, Verdict};
use crate::finding::{Finding, GoalMeaning};
use crate::list::Findings;
use crate::method::Method;
use crate::outcome::RouteOutcome;
use crate::run::Run;
use crate::settings::{About, ConfigError, Requirement, Row, Settings};
use crate::testbed::{Frames, Testbed};
use crate::text::{AsText, grouped, percent};
use crate::trial::TrialKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Pps};

/// Maximum number of packets to each route.
const PACKETS_MAX: u32 = 1_000;

/// Settings of the search for the route capacity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RouteConfig {
    /// The frames.
    pub frames: Frames,
    /// Routes to begin with.
    pub first: u64,
    /// Most routes tried; 0 is all that the profile has.
    pub maximum: u64,
    /// Packets to each route, at least.
    pub packets: u32,
    /// Frames per second, to all routes together. A rate that the device forwards without loss to few routes.
    #[serde(with = "AsText")]
    pub rate: Pps,
    /// Length of a trial's traffic, at least; it is longer if `packets` to each route take longer.
    #[serde(with = "AsText")]
    pub duration: Nanos,
    /// Highest share of packets lost with which a trial passes.
    pub loss_max: f64,
    /// The search ends when its bounds are this share apart.
    pub resolution: f64,
    /// Rest of the device after a trial that failed or was disturbed.
    #[serde(with = "AsText")]
    pub rest: Nanos,
}

impl Default for RouteConfig {
    fn default() -> Self {
        Self {
            frames: Frames::bytes(128).unwrap_or_else(|| Frames::of(units::FrameLen::MIN)),
            first: 1_000,
            maximum: 0,
            packets: 3,
            rate: Pps::new(10_000),
            duration: Nanos::from_secs(10),
            loss_max: 0.0,
            resolution: 0.01,
            rest: Nanos::from_secs(5),
        }
    }
}

impl RouteConfig {
    pub(crate) const ABOUT: About = About {
        name: "routes",
        about: "how many routes a device takes and forwards to (terms of RFC 4098 and RFC 7747)",
        result_names: &["route-capacity"],
        makes_curves: false,
        goals: &[
            GoalMeaning {
                goal: "route_capacity",
                name: "Route capacity",
                definition: "most routes that were advertised together and of which each was forwarded, while no session ended",
            },
            GoalMeaning {
                goal: "announce_time",
                name: "Time to announce",
                definition: "from the first connection until the device had acknowledged every route, at the route capacity",
            },
        ],
    };

    /// Most routes that are tried on `testbed`.
    fn most(&self, testbed: &Testbed) -> u64 {
        match self.maximum {
            0 => testbed.routes.max(1),
            maximum => maximum,
        }
    }
}

impl Settings for RouteConfig {
    fn check(&self, testbed: &Testbed) -> Result<(), ConfigError> {
        let bad = |field: &str, reason: String| Err(ConfigError::new(field, reason));
        if self.first == 0 {
            return bad("first", "must be at least 1".into());
        }
        if testbed.routes > 0 && self.maximum > testbed.routes {
            let all = grouped(testbed.routes);
            return bad("maximum", format!("the profile has {all} routes: give its ranges a higher 'count'"));
        }
        if !(1..=PACKETS_MAX).contains(&self.packets) {
            return bad("packets", format!("must be from 1 to {PACKETS_MAX}"));
        }
        if self.rate.micro() == 0 {
            return bad("rate", "must be above 0".into());
        }
        if self.duration == Nanos::ZERO {
            return bad("duration", "must be longer than 0".into());
        }
        if !(0.0..1.0).contains(&self.loss_max) {
            return bad("loss_max", "must be at least 0 and below 1".into());
        }
        ClimbConfig::check_resolution(self.resolution)
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(RouteSearch::new(self, testbed), testbed))
    }

    fn quicken(&mut self) {
        self.duration = Nanos::from_secs(1);
        ClimbConfig::quicken(&mut self.resolution, &mut self.rest);
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
        vec![Requirement::Routes]
    }
}

/// A number of routes that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoutePoint {
    /// Routes that were advertised together.
    pub routes: u64,
    /// Packets sent to them.
    pub sent: u64,
    /// Packets that did not arrive.
    pub lost: u64,
    /// Outcome of the sessions.
    pub outcome: RouteOutcome,
}

impl RoutePoint {
    /// Why it did not pass, as the end of a sentence.
    fn why(&self) -> String {
        let lost = format!("{} of {} packets were lost", grouped(self.lost), grouped(self.sent));
        match &self.outcome.why {
            Some(why) => format!("{why}; {lost}"),
            None => lost,
        }
    }
}

/// Findings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RouteRow {
    /// The frames.
    pub frames: Frames,
    /// Highest share of packets lost with which a trial passed.
    pub loss_max: f64,
    /// The largest number of routes that passed; absent: none.
    pub best: Option<RoutePoint>,
    /// The smallest at which the device failed; absent: none.
    pub failed: Option<RoutePoint>,
    /// The smallest number of routes of which nothing is known because of the tester, and why; absent: none.
    pub unknown: Option<(u64, String)>,
    /// Maximum distance of the bounds, as a share.
    pub resolution: f64,
    /// Limit of the capacity from above.
    pub limit: Limit,
}

impl RouteRow {
    fn sentence(&self) -> String {
        if self.limit == Limit::Open {
            return "The route capacity is not yet known.".into();
        }
        let passes = match self.loss_max {
            0.0 => String::new(),
            most => format!(" with a loss of at most {}", percent(most)),
        };
        let found = self.best.as_ref().map(|best| format!("{}{passes}", grouped(best.routes)));
        let failed = self.failed.as_ref().map(|failed| (grouped(failed.routes), failed.why()));
        let unknown = self.unknown.as_ref().filter(|(_, why)| self.limit.is_testers() && !why.is_empty());
        let unknown = unknown.map(|(routes, why)| format!(" At {}: {why}.", grouped(*routes)));
        match (&found, &failed, unknown.as_ref().filter(|_| self.limit == Limit::Tester)) {
            // What the tester lacked says more than that it lacked something.
            (None, None, Some(why)) => format!("Route capacity: not found.{why}"),
            _ => format!(
                "Route capacity: {}.{}",
                climb::answer(self.limit, found, failed),
                unknown.unwrap_or_default()
            ),
        }
    }
}

impl Row for RouteRow {
    fn findings(&self) -> Vec<Finding> {
        let routes = |point: &Option<RoutePoint>| point.as_ref().map(|point| point.routes as f64);
        let (found, failed) = (routes(&self.best), routes(&self.failed));
        let why = self
            .failed
            .as_ref()
            .filter(|_| self.limit.is_dut())
            .map(|failed| format!("at {}: {}", grouped(failed.routes), failed.why()));
        let mut all = vec![Finding {
            value: found,
            lower: found,
            upper: failed,
            resolution: failed.or(found).map(|value| (value * self.resolution).max(1.0)),
            ..Finding::at(&self.frames, "route_capacity", "")
                .note(why.or(self.limit.note_of(found).map(str::to_owned)))
        }];
        let announced = self.best.as_ref().and_then(|best| best.outcome.announced_after_s);
        all.extend(announced.map(|s| Finding::at(&self.frames, "announce_time", "s").value(s)));
        all
    }

    fn limits(&self) -> Vec<Limit> {
        vec![self.limit]
    }
}

/// The search.
#[derive(Debug, Clone)]
pub(crate) struct RouteSearch {
    config: RouteConfig,
    climb: Climb,
    best: Option<RoutePoint>,
    failed: Option<RoutePoint>,
    unknown: Option<(u64, String)>,
}

impl RouteSearch {
    fn new(config: &RouteConfig, testbed: &Testbed) -> Self {
        let most = config.most(testbed);
        let bounds = ClimbConfig { bounds: (1, most), resolution: config.resolution, rest: config.rest };
        let climb = Climb::new(bounds, doubling(config.first.min(most), most));
        Self { config: config.clone(), climb, best: None, failed: None, unknown: None }
    }

    /// Sessions that were lost may be the tester's fault, if it was disturbed.
    fn verdict(&self, outcome: &RouteOutcome, seen: &Seen<'_>) -> Verdict {
        match outcome.sessions_lost {
            0 => seen.verdict(self.config.loss_max),
            _ => seen.verdict_if(false),
        }
    }

    /// Duration of traffic with its packets for each of this number of routes.
    fn duration(&self, routes: u64) -> Nanos {
        let packets = u128::from(routes) * u128::from(self.config.packets);
        let ns = packets * 1_000_000_000_000_000 / u128::from(self.config.rate.micro().max(1));
        self.config.duration.max(Nanos(u64::try_from(ns).unwrap_or(u64::MAX)))
    }

    fn row(&self) -> RouteRow {
        RouteRow {
            frames: self.config.frames.clone(),
            loss_max: self.config.loss_max,
            best: self.best.clone(),
            failed: self.failed.clone(),
            unknown: self.unknown.clone(),
            resolution: self.config.resolution,
            limit: self.climb.limit(),
        }
    }
}

impl Stage for RouteSearch {
    fn next(&mut self) -> Option<Draft> {
        let (routes, rest) = self.climb.next()?;
        let draft = Draft::load(&self.config.frames, self.config.rate, self.duration(routes))
            .kind(TrialKind::Routes { routes, packets: self.config.packets })
            .label(format!("{} routes", grouped(routes)));
        Some(draft.after(rest).again_after(self.config.rest))
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        let (TrialKind::Routes { routes, .. }, Some(outcome)) = (&draft.kind, &seen.outcome.routes) else {
            return;
        };
        let (sent, lost) = (seen.outcome.sent(), seen.outcome.lost());
        let point = RoutePoint { routes: *routes, sent, lost, outcome: outcome.clone() };
        let verdict = self.verdict(outcome, seen);
        self.climb.judge(*routes, verdict);
        let is_lower = |before: Option<u64>| before.is_none_or(|before| *routes < before);
        match verdict {
            Verdict::Pass => {
                self.unknown = self.unknown.take().filter(|(unknown, _)| *unknown > *routes);
                self.best = Some(point);
            }
            Verdict::Fail if is_lower(self.failed.as_ref().map(|failed| failed.routes)) => {
                self.failed = Some(point);
            }
            Verdict::Fail => {}
            Verdict::Tester | Verdict::Disturbed | Verdict::GivenUp => {
                if is_lower(self.unknown.as_ref().map(|(routes, _)| *routes)) {
                    self.unknown = Some((*routes, seen.outcome.reasons.join("; ")));
                }
            }
        }
    }

    fn decides(&self, _: &Draft, seen: &Seen<'_>) -> bool {
        seen.outcome.routes.as_ref().is_some_and(|outcome| self.verdict(outcome, seen).is_known())
    }
}

impl Procedure for RouteSearch {
    fn name(&self) -> &'static str {
        "route-capacity"
    }

    fn findings(&self) -> Findings {
        Findings::Routes(vec![self.row()])
    }

    fn summary(&self) -> Vec<String> {
        vec![self.row().sentence()]
    }

    fn remarks(&self) -> Vec<String> {
        climb::rest_remark(self.climb.rested, self.config.rest).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::TrialOutcome;
    use crate::{MethodConfig, TrialRequest};

    const ROUTES: u64 = 100_000;

    fn testbed() -> Testbed {
        Testbed { routes: ROUTES, ..Testbed::one_way(1_000_000_000) }
    }

    /// A search whose trials have the outcomes of `device`, with the trials' numbers of routes.
    fn run(
        config: RouteConfig,
        device: impl Fn(u64, &TrialRequest) -> TrialOutcome,
    ) -> (RouteRow, String, Vec<u64>) {
        let mut method = MethodConfig::Routes(config).build(&testbed()).unwrap();
        let mut tried = Vec::new();
        while let Some(request) = method.next_trial().trial() {
            let TrialKind::Routes { routes, .. } = request.kind else { panic!("{request:?}") };
            tried.push(routes);
            method.record(&device(routes, &request));
        }
        let result = method.result();
        let Findings::Routes(rows) = result.findings else { panic!() };
        (rows[0].clone(), result.summary[0].clone(), tried)
    }

    /// A device that forwards to this number of routes.
    fn forwards(capacity: u64, routes: u64, request: &TrialRequest) -> TrialOutcome {
        let outcome = TrialOutcome::forwarded(request, |_, sent| sent * capacity.min(routes) / routes);
        let told = RouteOutcome {
            advertised: routes,
            announced_after_s: Some(routes as f64 / 1e5),
            ..RouteOutcome::default()
        };
        TrialOutcome { routes: Some(told), ..outcome }
    }

    #[test]
    fn the_capacity_is_that_of_the_device() {
        let config = RouteConfig { resolution: 1e-9, ..RouteConfig::default() };
        let (row, said, tried) = run(config, |routes, request| forwards(5_432, routes, request));
        assert_eq!(tried[..4], [1_000, 2_000, 4_000, 8_000]);
        let (best, failed) = (row.best.clone().unwrap(), row.failed.clone().unwrap());
        assert_eq!((best.routes, failed.routes, row.limit), (5_432, 5_433, Limit::Dut));
        assert!(failed.lost > 0 && best.lost == 0, "{row:?}");
        assert!(said.starts_with("Route capacity: 5,432; at 5,433: "), "{said}");
        assert!(said.ends_with("packets were lost."), "{said}");
        let findings = row.findings();
        let goals: Vec<&str> = findings.iter().map(|finding| finding.goal.as_str()).collect();
        assert_eq!(goals, ["route_capacity", "announce_time"]);
        assert_eq!((findings[0].lower, findings[0].upper), (Some(5_432.0), Some(5_433.0)));
        assert_eq!(findings[1].value, Some(0.05432));
    }

    #[test]
    fn a_device_that_takes_all_is_not_searched_further() {
        let (row, said, tried) =
            run(RouteConfig::default(), |routes, request| forwards(ROUTES, routes, request));
        assert_eq!((tried.last(), row.limit), (Some(&ROUTES), Limit::Maximum));
        assert_eq!(said, "Route capacity: 100,000, the highest value tried.");
        let config = RouteConfig { first: 500, maximum: 700, ..RouteConfig::default() };
        let (_, _, tried) = run(config, |routes, request| forwards(ROUTES, routes, request));
        assert_eq!(tried, [500, 700]);
    }

    #[test]
    fn each_route_has_its_packets() {
        let config = RouteConfig { maximum: 100_000, first: 100_000, ..RouteConfig::default() };
        run(config.clone(), |routes, request| {
            assert_eq!(request.frames_due(0), routes * u64::from(config.packets));
            assert_eq!(request.duration, Nanos::from_secs(30));
            forwards(ROUTES, routes, request)
        });
    }

    #[test]
    fn a_session_that_ends_is_a_failure_and_says_why() {
        let (row, said, _) = run(RouteConfig { first: 100, ..RouteConfig::default() }, |routes, request| {
            let outcome = forwards(ROUTES, routes, request);
            if routes <= 1_000 {
                return outcome;
            }
            let why = Some("10.0.0.1 ended the session".to_owned());
            let told = RouteOutcome { sessions_lost: 1, why, ..RouteOutcome::default() };
            TrialOutcome { routes: Some(told), ..TrialOutcome::forwarded(request, |_, _| 0) }
        });
        let best = row.best.unwrap().routes;
        assert!((990..=1_000).contains(&best) && row.limit == Limit::Dut, "{best}");
        assert!(said.contains(": 10.0.0.1 ended the session; "), "{said}");
    }

    #[test]
    fn what_the_tester_did_not_advertise_is_no_failure() {
        let silent = |routes: u64, request: &TrialRequest| TrialOutcome {
            valid: false,
            reasons: vec!["1 of 1 BGP sessions could not be established".to_owned()],
            routes: Some(RouteOutcome::default()),
            ..forwards(0, routes, request)
        };
        let (row, said, tried) = run(RouteConfig::default(), silent);
        assert!(row.best.is_none() && row.failed.is_none() && row.limit.is_testers(), "{row:?}");
        assert!(said.contains("1 of 1 BGP sessions could not be established"), "{said}");
        assert!(!row.has_failed() && tried.len() < 20, "{tried:?}");
        // At the first number it passes, above it never says anything.
        let (row, _, _) = run(RouteConfig::default(), |routes, request| match routes {
            0..=1_000 => forwards(ROUTES, routes, request),
            _ => silent(routes, request),
        });
        assert!(row.best.is_some() && row.failed.is_none() && row.limit.is_testers(), "{row:?}");
        assert_eq!(row.findings()[0].upper, None);
    }

    #[test]
    fn some_loss_can_be_allowed() {
        let config = RouteConfig { loss_max: 0.2, ..RouteConfig::default() };
        let (row, said, _) = run(config, |routes, request| forwards(5_000, routes, request));
        assert!((6_100..=6_250).contains(&row.best.unwrap().routes), "{said}");
        assert!(said.contains(" with a loss of at most 20%"), "{said}");
    }

    #[test]
    fn nothing_forwarded_is_the_devices_failure() {
        let (row, said, tried) = run(RouteConfig::default(), |routes, request| forwards(0, routes, request));
        assert!(row.best.is_none() && row.has_failed(), "{row:?}");
        assert!(said.starts_with("Route capacity: none; at 1: "), "{said}");
        assert_eq!(tried.last(), Some(&1));
    }

    #[test]
    fn settings_that_make_no_sense_are_refused() {
        let refused = |config: RouteConfig| config.check(&testbed()).unwrap_err().to_string();
        let config = RouteConfig::default;
        assert!(refused(RouteConfig { first: 0, ..config() }).starts_with("first: "));
        let said = refused(RouteConfig { maximum: ROUTES + 1, ..config() });
        assert!(said.starts_with("maximum: the profile has 100,000 routes"), "{said}");
        assert!(refused(RouteConfig { packets: 0, ..config() }).starts_with("packets: "));
        assert!(refused(RouteConfig { rate: Pps::ZERO, ..config() }).starts_with("rate: "));
        assert!(refused(RouteConfig { duration: Nanos::ZERO, ..config() }).starts_with("duration: "));
        assert!(refused(RouteConfig { loss_max: 1.0, ..config() }).starts_with("loss_max: "));
        assert!(refused(RouteConfig { resolution: 1.0, ..config() }).starts_with("resolution: "));
    }
}
