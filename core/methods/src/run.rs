//! Runs a procedure: numbers its trials, repeats those that do not count, watches the testbed's health, keeps the journal.
//!
//! Invariant: a procedure learns that the DUT failed only from a trial that the tester itself passed.

use crate::draft::{Draft, Procedure, Seen, UNJUDGED_MAX};
use crate::fault::{Fault, FaultKind, Health, PROBE_SHARE};
use crate::forecast::Forecast;
use crate::interval;
use crate::method::{Estimate, Method, Progress, Step};
use crate::outcome::TrialOutcome;
use crate::result::{MethodResult, Standing, Status, TrialNote};
use crate::testbed::{Frames, Testbed};
use crate::trial::{Phase, TrialKind, TrialRequest};
use units::{Nanos, Pps};

/// A method fails when a trial is interrupted this many times.
const INTERRUPTIONS_MAX: u32 = 3;
/// A forecast ends after this many trials.
const FORECAST_MAX: u64 = 20_000;
/// A tester that sends less than this share of the requested load is not tried again.
const SHORT: f64 = 0.9;
/// Number of times that a trial is run again at once if the tester was kept from its work: disturbances come and go.
const DISTURBED_RETRIES: u32 = 1;
/// Duration of a probe.
const PROBE: Nanos = Nanos::from_secs(1);

/// A procedure on its way.
#[derive(Debug, Clone)]
pub(crate) struct Run<P> {
    procedure: P,
    testbed: Testbed,
    pending: Option<(Draft, TrialRequest)>,
    /// The procedure's trial that waits until a probe is done.
    shelved: Option<Draft>,
    /// The frames of the last trial that had a rate.
    frames: Option<Frames>,
    number: u64,
    /// Number of times that the current trial was run again.
    again: u32,
    /// Trials in a row that can't be judged because the tester was disturbed.
    unjudged: u32,
    interruptions: u32,
    health: Health,
    forecast: Forecast,
    journal: Vec<TrialNote>,
    traffic: Nanos,
    wall: Nanos,
    last_label: String,
    ended: Option<Result<(), Fault>>,
}

impl<P: Procedure> Run<P> {
    pub(crate) fn new(procedure: P, testbed: &Testbed) -> Self {
        Self {
            procedure,
            testbed: testbed.clone(),
            pending: None,
            shelved: None,
            frames: None,
            number: 0,
            again: 0,
            unjudged: 0,
            interruptions: 0,
            health: Health::default(),
            forecast: Forecast::default(),
            journal: Vec::new(),
            traffic: Nanos::ZERO,
            wall: Nanos::ZERO,
            last_label: String::new(),
            ended: None,
        }
    }

    /// Makes sure that a trial is pending or the run has ended.
    fn prepare(&mut self) {
        if self.pending.is_some() || self.ended.is_some() {
            return;
        }
        if self.shelved.is_none() {
            self.shelved = self.procedure.next();
        }
        // A device that falls silent in the last trial is probed, too.
        let suspect = match &self.shelved {
            _ if !self.health.wants_probe() => None,
            Some(draft) => {
                let has_frames = draft.rate.is_some() || matches!(draft.kind, TrialKind::Flows { .. });
                has_frames.then_some(&draft.frames)
            }
            None => self.frames.as_ref(),
        };
        let draft = match suspect {
            Some(frames) => self.probe(frames),
            None => match self.shelved.take() {
                Some(draft) => draft,
                None => return self.ended = Some(Ok(())),
            },
        };
        self.ask(draft);
    }

    fn ask(&mut self, draft: Draft) {
        let request = draft.request(&self.testbed, self.procedure.name(), self.number);
        self.number += 1;
        self.last_label.clone_from(&request.label);
        self.pending = Some((draft, request));
    }

    fn probe(&self, frames: &Frames) -> Draft {
        let line = self.testbed.line_rate(frames).as_f64();
        let rate = Pps::from_micro((line * PROBE_SHARE * 1e6) as u64);
        Draft::load(frames, rate, PROBE)
            .phase(Phase::Probe)
            .label(format!("{frames}: does anything arrive?"))
            .once()
    }

    /// Whether the outcome counts, and with which result; `None` requests the trial again.
    fn judge(&mut self, draft: &Draft, outcome: &TrialOutcome) -> (Standing, Option<bool>) {
        if matches!(draft.phase, Phase::WarmUp | Phase::Probe) {
            return (Standing::Aside, Some(false));
        }
        // A test of the tester finds the tester's limit; that is its purpose.
        let limited = outcome.generator_limited && draft.kind != TrialKind::SelfTest;
        let counts = !limited && (outcome.valid || outcome.generator_limited);
        let decides = || self.procedure.decides(draft, &Seen { outcome, limited: true, last: false });
        if counts || (!limited && decides()) {
            (self.again, self.unjudged) = (0, 0);
            return (if counts { Standing::Counted } else { Standing::Bounded }, Some(!counts));
        }
        let (standing, retries) = if limited {
            (Standing::TesterLimited, draft.retries)
        } else {
            self.unjudged += 1;
            (Standing::Invalid, draft.retries.min(DISTURBED_RETRIES))
        };
        // A tester that falls far short would do so again.
        let hopeless = limited
            && draft.kind == TrialKind::Load
            && outcome.share_achieved().is_some_and(|share| share < SHORT);
        if self.again < retries && !hopeless && (limited || self.unjudged < UNJUDGED_MAX) {
            self.again += 1;
            return (standing, None);
        }
        self.again = 0;
        (standing, Some(true))
    }

    fn interrupted(&mut self, draft: Draft) {
        self.interruptions += 1;
        if self.interruptions >= INTERRUPTIONS_MAX {
            let sentence = format!("'{}' was interrupted {INTERRUPTIONS_MAX} times.", draft.label);
            self.ended = Some(Err(Fault::new(FaultKind::Interrupted, sentence)));
        } else {
            self.ask(draft.again());
        }
    }

    /// Runs the rest with forecast outcomes.
    fn play(mut self) -> Estimate {
        let (trials, traffic, wall) = (self.journal.len(), self.traffic, self.wall);
        while let Some(request) = self.next_trial().trial() {
            if (self.journal.len() - trials) as u64 >= FORECAST_MAX {
                break;
            }
            let outcome = self.forecast.outcome(&request);
            self.record(&outcome);
        }
        Estimate {
            trials: (self.journal.len() - trials) as u64,
            traffic_s: (self.traffic - traffic).as_secs_f64(),
            wall_s: (self.wall - wall).as_secs_f64(),
        }
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.procedure.remarks();
        let count = |standing| self.journal.iter().filter(|note| note.standing == standing).count();
        let attributes = self.testbed.attributes;
        if attributes.random_stimuli {
            remarks.push(
                "Addresses and ports were pseudorandom, the same set in every trial (RFC 4814).".into(),
            );
        }
        if let Some(modifier) = attributes.modifier {
            remarks.push(format!("With modifier {modifier:?} (RFC 2544 section 11)."));
        }
        for (standing, why) in [
            (Standing::TesterLimited, "were limited by the tester and do not count against the DUT"),
            (
                Standing::Bounded,
                "count although the tester was disturbed: it can't have been why they came out as they did",
            ),
            (Standing::Invalid, "can't be judged and do not count"),
            (Standing::Interrupted, "were interrupted and run again"),
        ] {
            if count(standing) > 0 {
                remarks.push(format!("{} of {} trials {why}.", count(standing), self.journal.len()));
            }
        }
        remarks
    }
}

impl<P: Procedure> Method for Run<P> {
    fn name(&self) -> &'static str {
        self.procedure.name()
    }

    fn next_trial(&mut self) -> Step {
        self.prepare();
        match (&self.pending, &self.ended) {
            (_, Some(Err(fault))) => Step::Failed(fault.clone()),
            (Some((_, request)), _) => Step::Trial(Box::new(request.clone())),
            _ => Step::Done,
        }
    }

    fn record(&mut self, outcome: &TrialOutcome) {
        let (draft, request) = self.pending.take().expect("an outcome is recorded only while a trial is due");
        self.traffic += outcome.duration;
        self.wall += request.wall_time();
        if outcome.interrupted {
            self.journal.push(TrialNote::new(&request, outcome, Standing::Interrupted));
            return self.interrupted(draft);
        }
        self.interruptions = 0;
        if draft.rate.is_some() {
            self.frames = Some(draft.frames.clone());
        }
        let (standing, limited) = self.judge(&draft, outcome);
        self.journal.push(TrialNote::new(&request, outcome, standing));
        if let Err(fault) = self.health.examine(&request, outcome) {
            self.ended = Some(Err(fault));
            return;
        }
        match limited {
            // Anything that was asked for aside of the procedure is not told to it.
            Some(_) if draft.phase == Phase::Probe => {}
            Some(limited) => {
                if !limited {
                    self.forecast.learn(&request, outcome);
                }
                let last = self.unjudged >= UNJUDGED_MAX;
                self.procedure.take(&draft, &Seen { outcome, limited, last });
            }
            None => self.ask(draft.again()),
        }
    }

    fn estimate(&self) -> Estimate {
        self.clone().play()
    }

    fn progress(&self) -> Progress {
        let done = self.wall.as_secs_f64();
        let left = self.estimate().wall_s;
        Progress {
            trials: self.journal.len() as u64,
            traffic_s: self.traffic.as_secs_f64(),
            fraction: if done + left > 0.0 { done / (done + left) } else { 1.0 },
            label: self.last_label.clone(),
        }
    }

    fn result(&self) -> MethodResult {
        let result = MethodResult {
            method: self.procedure.name().into(),
            status: match &self.ended {
                None => Status::Running,
                Some(Ok(())) => Status::Complete,
                Some(Err(fault)) => Status::Failed(fault.clone()),
            },
            summary: self.procedure.summary(),
            remarks: self.remarks(),
            testbed: self.testbed.clone(),
            findings: self.procedure.findings(),
            intervals: Vec::new(),
            traffic_s: self.traffic.as_secs_f64(),
            trials: self.journal.clone(),
        };
        let intervals = interval::of(&result, 0, std::slice::from_ref(&result));
        MethodResult { intervals, ..result }
    }
}
