//! Outcome of a run: one decision for exit codes, summaries, reports, machine verdicts and the dashboard.

use crate::{
    AchievedPart, AchievedResult, CriterionResult, Outcome, OverallResult, ResultDocument, Standing,
};

/// Outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overall {
    /// Holds regardless of disturbances of the tester.
    Passed,
    /// A criterion is not met, less than half succeeded, or the test did not come about.
    Failed,
    /// The tester was disturbed where it matters.
    CannotJudge,
}

impl Overall {
    /// As documents write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::CannotJudge => "cannot_judge",
        }
    }
}

impl OverallResult {
    fn new(outcome: Overall, reason: Option<String>, remedy: Option<&str>) -> Self {
        Self { outcome: outcome.name().into(), reason, remedy: remedy.map(str::to_owned), runs: None }
    }

    /// Outcome of the run.
    pub fn overall(&self) -> Overall {
        match &*self.outcome {
            "passed" => Overall::Passed,
            "cannot_judge" => Overall::CannotJudge,
            _ => Overall::Failed,
        }
    }
}

/// Remedy where less than half succeeded because of the tester and not the device.
const LOWER: &str = "lower the rate, use more cores (--cores), or give the workers dedicated cores";

/// Remedy where a machine of the run was lost.
const COME_BACK: &str = "run again once all machines of the run are there";

impl ResultDocument {
    /// Decides the outcome: by the criteria, or without any, by whether most of the load succeeded and losses and
    /// failures are known.
    pub fn decide(&self) -> OverallResult {
        let not_met: Vec<&CriterionResult> = self.criteria_with(Outcome::NotMet).collect();
        if let Some(first) = not_met.first() {
            return OverallResult::new(Overall::Failed, Some(not_met_because(first, not_met.len())), None);
        }
        if let Some(achieved) = self.achieved.as_ref().filter(|achieved| !achieved.success) {
            if self.is_withheld() {
                let reason = Some(achieved.summary.clone());
                return OverallResult::new(Overall::CannotJudge, reason, Some(LOWER));
            }
            if let Some(fault) = self.fault_behind(achieved) {
                return OverallResult::new(Overall::CannotJudge, Some(fault.clone()), None);
            }
            return OverallResult::new(Overall::Failed, Some(achieved.summary.clone()), None);
        }
        if let Some(reason) = self.incomplete() {
            return OverallResult::new(Overall::CannotJudge, Some(reason), Some(COME_BACK));
        }
        if let Some(first) = self.verdict.lacks.first() {
            return OverallResult::new(Overall::Failed, Some(first.clone()), None);
        }
        if let Some(first) = self.criteria_with(Outcome::CannotJudge).next() {
            let standing = self.standing(&first.path);
            let doubt =
                standing.doubt().map(|doubt| (format!("{}: {}", first.path, doubt.reason), doubt.remedy));
            let (reason, remedy) = doubt.unzip();
            return OverallResult::new(Overall::CannotJudge, reason, remedy);
        }
        let doubted = self.asked().into_iter().filter(|_| self.criteria.is_empty()).find_map(|path| {
            let standing = self.standing(&path);
            let doubt = standing.doubt()?;
            Some((format!("{path}: {}", doubt.reason), doubt.remedy.to_owned()))
        });
        if let Some((reason, remedy)) = doubted {
            return OverallResult::new(Overall::CannotJudge, Some(reason), Some(&remedy));
        }
        let wrong = match &self.verdict {
            verdict if verdict.valid || !self.criteria.is_empty() => None,
            verdict if !verdict.disturbed => verdict.faults.first().or(verdict.reasons.first()),
            verdict => verdict.faults.first(),
        };
        if let Some(reason) = wrong {
            return OverallResult::new(Overall::CannotJudge, Some(reason.clone()), None);
        }
        OverallResult::new(Overall::Passed, None, None)
    }

    fn criteria_with(&self, outcome: Outcome) -> impl Iterator<Item = &CriterionResult> {
        self.criteria.iter().filter(move |criterion| criterion.outcome() == outcome)
    }

    /// The figures a run without criteria is for: losses of measured streams, failures of sessions.
    fn asked(&self) -> Vec<String> {
        let streams = self.streams.iter().filter(|(_, stream)| stream.lost.is_some());
        let streams = streams.map(|(name, _)| format!("streams.{name}.lost"));
        streams.chain(self.sessions.keys().map(|name| format!("sessions.{name}.failed_ratio"))).collect()
    }

    /// A fault that no disturbance explains, such as an interface of the tester that was deleted, and that may be why less than half
    /// succeeded: without what it may have cost, half did.
    fn fault_behind(&self, achieved: &AchievedResult) -> Option<&String> {
        let fault = self.verdict.faults.first()?;
        // What of a number of losses the tester may have caused.
        let own = |path: String, all: f64, most: &dyn Fn(Option<f64>, Option<f64>) -> f64| match self
            .standing(&path)
        {
            Standing::Holds { .. } => 0.0,
            Standing::Bounds { lower, upper, .. } => most(lower, upper).clamp(0.0, all),
            Standing::CannotJudge(_) => all,
        };
        let streams = self.streams.iter().filter_map(|(name, stream)| Some((name, stream.lost? as f64)));
        let packets: f64 = streams
            .map(|(name, lost)| {
                own(format!("streams.{name}.lost"), lost, &|lower, _| lost - lower.unwrap_or(0.0))
            })
            .sum();
        let entries = self.sessions.iter().map(|(name, entry)| {
            let asked = entry.seen.attempted + entry.seen.open_at_clear.unwrap_or(0);
            (name, asked.saturating_sub(entry.seen.completed) as f64, entry.seen.completed as f64)
        });
        let sessions: f64 = entries
            .map(|(name, missing, done)| {
                let path = format!("sessions.{name}.completed");
                own(path, missing, &|_, upper| upper.map_or(missing, |upper| upper - done))
            })
            .sum();
        let may_be_enough = |part: &Option<AchievedPart>, own: f64| {
            part.as_ref().is_none_or(|part| {
                let ended = part.asked.saturating_sub(part.unfinished) as f64;
                2.0 * (part.succeeded as f64 + own) >= ended
            })
        };
        let is_open =
            may_be_enough(&achieved.packets, packets) && may_be_enough(&achieved.sessions, sessions);
        Some(fault).filter(|_| is_open && packets + sessions > 0.0)
    }

    /// Whether most of what was sent and opened succeeded, and the tester could not send and open the rest.
    fn is_withheld(&self) -> bool {
        let Some(achieved) = &self.achieved else { return false };
        let unsent: u64 = self.ports.values().filter_map(|port| port.tx_unsent).sum();
        let unopened: u64 =
            self.sessions.values().filter_map(|entry| entry.unopened).map(|n| n.max(0) as u64).sum();
        if unsent + unopened == 0 {
            return false;
        }
        let parts = [(&achieved.packets, unsent), (&achieved.sessions, unopened)];
        let falls_short =
            |part: &AchievedPart| 2 * part.succeeded < part.asked.saturating_sub(part.unfinished);
        if !parts.iter().any(|(part, _)| part.as_ref().is_some_and(falls_short)) {
            return false;
        }
        parts.into_iter().all(|(part, withheld)| {
            part.as_ref().is_none_or(|part| {
                let asked = part.asked.saturating_sub(withheld).saturating_sub(part.unfinished);
                asked > 0 && 2 * part.succeeded >= asked
            })
        })
    }
}

/// `streams.a.lost is 3, not == 0; 2 more criteria are not met`.
fn not_met_because(first: &CriterionResult, count: usize) -> String {
    let value = first.value.map_or_else(|| "was not measured".to_owned(), |value| format!("is {value}"));
    let more = match count - 1 {
        0 => String::new(),
        1 => "; 1 more criterion is not met".to_owned(),
        more => format!("; {more} more criteria are not met"),
    };
    format!("{} {value}, not {}{more}", first.path, first.bound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AchievedPart, AchievedResult, HoldsResult, Named, PortResult, StreamResult};

    /// A run of one stream, valid, with 3 of 100 lost.
    fn document() -> ResultDocument {
        let stream = StreamResult { tx: 100, rx: Some(97), lost: Some(3), ..StreamResult::default() };
        let mut document =
            ResultDocument { streams: Named::from([("a".to_owned(), stream)]), ..Default::default() };
        document.verdict.valid = true;
        document
    }

    fn disturbed(holds: bool) -> ResultDocument {
        let mut document = document();
        (document.verdict.valid, document.verdict.disturbed) = (false, true);
        let entry = HoldsResult {
            holds,
            reason: Some("worker 0 waited".to_owned()),
            remedy: Some("free a core".to_owned()),
            ..HoldsResult::default()
        };
        document.verdict.holds.insert("streams.a.lost".to_owned(), entry);
        document
    }

    fn criterion(outcome: Outcome) -> CriterionResult {
        CriterionResult {
            path: "streams.a.lost".to_owned(),
            bound: "== 0".to_owned(),
            value: Some(3.0),
            passed: outcome == Outcome::Met,
            outcome: outcome.name().into(),
            ..CriterionResult::default()
        }
    }

    #[test]
    fn a_disturbed_run_passes_if_what_was_asked_holds() {
        assert_eq!(document().decide().overall(), Overall::Passed);
        assert_eq!(disturbed(true).decide().overall(), Overall::Passed);
        let doubted = disturbed(false).decide();
        assert_eq!(doubted.overall(), Overall::CannotJudge);
        assert_eq!(doubted.reason.as_deref(), Some("streams.a.lost: worker 0 waited"));
        assert_eq!(doubted.remedy.as_deref(), Some("free a core"));
        // Criteria that are met are all that was asked.
        let met = ResultDocument { criteria: vec![criterion(Outcome::Met)], ..disturbed(false) };
        assert_eq!(met.decide().overall(), Overall::Passed);
    }

    #[test]
    fn a_failure_is_graver_than_a_doubt() {
        let criteria =
            vec![criterion(Outcome::CannotJudge), criterion(Outcome::NotMet), criterion(Outcome::NotMet)];
        let failed = ResultDocument { criteria, ..disturbed(false) }.decide();
        assert_eq!(failed.overall(), Overall::Failed);
        assert_eq!(
            failed.reason.as_deref(),
            Some("streams.a.lost is 3, not == 0; 1 more criterion is not met")
        );
        let doubted = ResultDocument { criteria: vec![criterion(Outcome::CannotJudge)], ..disturbed(false) };
        assert_eq!(doubted.decide().overall(), Overall::CannotJudge);
    }

    #[test]
    fn what_the_tester_did_not_send_is_not_the_devices_failure() {
        let part = |asked, succeeded| AchievedPart { asked, succeeded, ..AchievedPart::default() };
        let with = |asked, succeeded, unsent| {
            let achieved =
                AchievedResult { packets: Some(part(asked, succeeded)), ..AchievedResult::default() };
            let port = PortResult { tx_unsent: Some(unsent), ..PortResult::default() };
            let ports = Named::from([("p".to_owned(), port)]);
            ResultDocument { achieved: Some(achieved), ports, ..document() }.decide().overall()
        };
        assert_eq!(with(100, 3, 97), Overall::CannotJudge);
        assert_eq!(with(100, 3, 90), Overall::Failed, "3 of 10");
        assert_eq!(with(100, 3, 0), Overall::Failed);
    }

    #[test]
    fn losses_that_a_fault_of_the_tester_explains_are_no_failure_of_the_device() {
        let fault = "port p: veth0 was deleted".to_owned();
        let with = |lower: f64, faults: Vec<String>| {
            let part = AchievedPart { asked: 100, succeeded: 40, ..AchievedPart::default() };
            let achieved = AchievedResult { packets: Some(part), ..AchievedResult::default() };
            let stream = StreamResult { tx: 100, rx: Some(40), lost: Some(60), ..StreamResult::default() };
            let mut document = ResultDocument { achieved: Some(achieved), ..disturbed(false) };
            document.streams.insert("a".to_owned(), stream);
            document.verdict.faults = faults;
            let entry = document.verdict.holds.get_mut("streams.a.lost").unwrap();
            (entry.lower, entry.upper) = (Some(lower), Some(60.0));
            document.decide()
        };
        let explained = with(50.0, vec![fault.clone()]);
        assert_eq!((explained.overall(), explained.reason), (Overall::CannotJudge, Some(fault.clone())));
        assert_eq!(with(51.0, vec![fault]).overall(), Overall::Failed, "at least 51 are the device's");
        assert_eq!(with(0.0, Vec::new()).overall(), Overall::Failed, "a disturbance alone explains no half");
    }

    #[test]
    fn a_test_that_did_not_come_about_fails_whatever_disturbed_it() {
        let mut document = disturbed(false);
        document.verdict.lack("port p: 3 of 10 clients got no address".to_owned());
        let decided = document.decide();
        assert_eq!(
            (decided.overall(), decided.reason),
            (Overall::Failed, document.verdict.lacks.first().cloned())
        );
    }

    #[test]
    fn a_result_that_is_not_valid_for_other_reasons_cannot_be_judged() {
        let mut document = document();
        document.verdict.valid = false;
        document.verdict.reasons = vec!["port p: packets of unknown streams".to_owned()];
        assert_eq!(document.decide().overall(), Overall::CannotJudge);
        document.criteria = vec![criterion(Outcome::Met)];
        assert_eq!(document.decide().overall(), Overall::Passed, "what was asked holds");
    }

    /// A figure that holds despite a disturbance no longer holds if a link also went down.
    #[test]
    fn a_disturbance_hides_no_other_fault() {
        let mut document = disturbed(true);
        document.verdict.faults = vec!["port p: veth0 lost its carrier".to_owned()];
        document.verdict.reasons =
            vec!["worker 0 waited".to_owned(), "port p: veth0 lost its carrier".to_owned()];
        let decided = document.decide();
        assert_eq!(decided.overall(), Overall::CannotJudge);
        assert_eq!(decided.reason.as_ref(), document.verdict.faults.first());
    }
}
