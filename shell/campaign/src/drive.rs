//! Runs the parts of a campaign: takes a trial from the method, runs it with what surrounds it, stores it, reports the
//! outcome to the method.

use crate::choice::{self, Part};
use crate::directions::Directions;
use crate::shape::{fits, learning, shape};
use crate::{
    CampaignError, MappingFile, Tester, addresses, balancer, convergence, leases, multicast, nat, outcome,
    routes, services, switch,
};
use counters::{PathConfig, PathReport, Poller};
use engine::{Commands, TrialObserver, View};
use lab::{Hook, Moment, Template, Variables};
use methods::{
    BalancerLoad, BalancerTask, Estimate, Fault, Method, MethodResult, NatTask, Progress, Requirement, Step,
    StoredTrial, TrialKind, TrialOutcome, TrialRequest, replay,
};
use profile::Plan;
use result::{IntervalDocument, ResultDocument};
use serde_json::Value;
use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;
use store::{CampaignId, NewTrial, Store};
use units::{FrameLen, Nanos};

/// In the store, trials of the second part are numbered from this, of the third from twice this.
const STRIDE: u32 = 1_000_000;
/// From one interval of a trial to the next.
const INTERVAL: Nanos = Nanos::from_secs(1);
/// The same for short trials of services: they show from when on a device drops frames.
const SHORT_INTERVAL: Nanos = Nanos::from_millis(200);
/// Trials of services up to this long have short intervals.
const SHORT_TRIAL: Nanos = Nanos::from_secs(60);
/// Intervals of trials with more streams are not stored.
const STREAMS_RECORDED: usize = 200;
/// Share of the trial after which a device is reset.
const RESET_AT: f64 = 0.2;

/// Methods on a profile, and the hooks around their trials.
pub struct Campaign {
    /// Its name.
    pub name: String,
    /// Name of the profile for hooks.
    pub profile: String,
    /// The methods.
    pub parts: Vec<Part>,
    /// The testbed.
    pub directions: Directions,
    /// The profile.
    pub plan: Plan,
    /// Commands before and after trials. The caller runs those around the campaign and its configurations.
    pub hooks: Vec<Hook>,
    /// Variables of the configuration, for hooks.
    pub variables: Variables,
    /// Commands that reset the device, by name.
    pub resets: BTreeMap<String, Template>,
    /// Devices along the path whose counters are read around every trial.
    pub path: Option<PathConfig>,
    /// Where trials of NATxy gateways write the mappings they see.
    pub mappings: Option<MappingFile>,
}

/// End of a campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// Every method is complete.
    Done,
    /// A method stopped: the reason.
    Failed(String),
    /// Stopped by the user; it can be resumed.
    Interrupted,
}

/// The outcome of a campaign.
#[derive(Debug, Clone)]
pub struct Report {
    /// Its end.
    pub ended: Ended,
    /// Results of the methods that began.
    pub results: Vec<MethodResult>,
    /// Parts that were left out, with the reason.
    pub left_out: Vec<String>,
}

/// A trial that is about to run.
pub struct Running<'a> {
    /// The method's part of the campaign.
    pub part: &'a str,
    /// The trial.
    pub request: &'a TrialRequest,
    /// Its number in the campaign, from 1, as reports have it.
    pub ordinal: usize,
    /// Progress of the method.
    pub progress: Progress,
    /// Estimate for the rest of the campaign, including this trial.
    pub left: Estimate,
}

/// Watches a campaign.
pub trait Observer {
    /// A trial begins.
    fn begins(&mut self, running: &Running<'_>);
    /// A snapshot of the trial.
    fn looks(&mut self, view: &View<'_>);
    /// A trial has ended.
    fn ended(&mut self, request: &TrialRequest, outcome: &TrialOutcome);
}

/// Runner of a trial.
struct Runner<'a> {
    tester: &'a mut dyn Tester,
    path: Option<Poller>,
    commands: &'a mut Commands,
    observer: &'a mut dyn Observer,
    /// Trials that are stored, or would be.
    stored: usize,
}

/// Where trials are stored.
pub struct StoredCampaign<'a> {
    /// The store.
    pub store: &'a mut Store,
    /// The campaign.
    pub id: CampaignId,
    /// Trials that finished before.
    pub finished: Vec<NewTrial>,
}

impl Campaign {
    /// The longest frame of any trial of these parts.
    pub fn longest_of(parts: &[Part]) -> FrameLen {
        choice::longest(parts)
    }

    /// Whether every method can run on the testbed.
    ///
    /// # Errors
    /// The first invalid setting; a hook with an unknown variable.
    pub fn check(&self) -> Result<(), CampaignError> {
        let streams = self.directions.all.iter().flat_map(|direction| &direction.streams);
        for (index, _) in streams {
            let stream = &self.plan.streams[*index];
            fits(stream, choice::shortest(&self.parts))
                .map_err(|reason| CampaignError::profile(format!("stream {}", stream.name), reason))?;
        }
        for part in &self.parts {
            for requirement in part.config.requirements() {
                match requirement {
                    Requirement::Reset(name) => self.check_reset(&name)?,
                    Requirement::Stream { setting, name, frames, burst_bytes, most_bps } => {
                        services::check(&self.plan, setting, &name, frames.as_ref(), burst_bytes, most_bps)?
                    }
                    Requirement::GroupMembers => multicast::check(&self.plan, &self.directions).map(drop)?,
                    Requirement::SwitchPorts(least) => switch::check(&self.plan, &self.directions, least)?,
                    Requirement::LeaseClients => leases::check(&self.plan)?,
                    Requirement::BothSidesOfNat => nat::check(&self.plan, &self.directions)?,
                    Requirement::BothSidesOfBalancer { backends, changed, cookies } => {
                        balancer::check(&self.plan, backends, changed, cookies)?
                    }
                    Requirement::Routes => routes::check(&self.plan, &self.directions)?,
                    Requirement::TwoPaths => convergence::check(&self.plan, &self.directions)?,
                    Requirement::AddressPorts => {
                        addresses::test_stream(&self.plan, &self.directions).map(drop)?
                    }
                }
            }
            self.checked(part, part.config.check(&self.directions.testbed))?;
            self.check_sessions(part)?;
        }
        let names: Vec<&str> =
            self.variables.names().filter_map(|name| name.strip_prefix("config.")).collect();
        self.hooks.iter().try_for_each(|hook| hook.check(names.iter().copied()))?;
        Ok(())
    }

    /// Whether a method's first trial of sessions can be made: what is wrong with it is the profile's or a setting's fault.
    fn check_sessions(&self, part: &Part) -> Result<(), CampaignError> {
        let mut method = self.checked(part, part.config.build(&self.directions.testbed))?;
        let Step::Trial(request) = method.next_trial() else { return Ok(()) };
        match request.kind {
            TrialKind::Sessions(_) | TrialKind::Mix(_) | TrialKind::Path | TrialKind::Tcp { .. } => {
                shape(&self.plan, &self.directions, &request).map(drop)
            }
            _ => Ok(()),
        }
    }

    fn check_reset(&self, name: &str) -> Result<(), CampaignError> {
        if self.resets.contains_key(name) {
            return Ok(());
        }
        let reason = format!("no command for the reset '{name}': give one with --reset '{name}=COMMAND'");
        Err(CampaignError::Setting { setting: "resets".to_owned(), reason })
    }

    fn checked<T>(&self, part: &Part, result: Result<T, methods::ConfigError>) -> Result<T, CampaignError> {
        result.map_err(|error| CampaignError::Config { method: part.name.clone(), error })
    }

    /// Forecast of all parts, with nothing known of the device.
    ///
    /// # Errors
    /// A setting that makes no sense.
    pub fn estimate(&self) -> Result<Estimate, CampaignError> {
        self.estimate_from(0)
    }

    fn estimate_from(&self, part: usize) -> Result<Estimate, CampaignError> {
        let mut all = Estimate { trials: 0, traffic_s: 0.0, wall_s: 0.0 };
        for part in &self.parts[part..] {
            let one = self.checked(part, part.config.build(&self.directions.testbed))?.estimate();
            all.trials += one.trials;
            all.traffic_s += one.traffic_s;
            all.wall_s += one.wall_s;
        }
        Ok(all)
    }

    /// Runs all parts, or what is left of them.
    ///
    /// # Errors
    /// A trial could not be run, or not be stored. Finished trials are in the store.
    pub fn run(
        &self,
        tester: &mut dyn Tester,
        mut stored: Option<StoredCampaign<'_>>,
        commands: &mut Commands,
        observer: &mut dyn Observer,
    ) -> Result<Report, CampaignError> {
        let mut report = Report { ended: Ended::Done, results: Vec::new(), left_out: Vec::new() };
        let path = self.poller(tester)?;
        // As the methods made them: what they say together is worked out anew after each.
        let mut plain: Vec<MethodResult> = Vec::new();
        let finished = stored.as_ref().map_or(0, |stored| stored.finished.len());
        let mut runner = Runner { tester, path, commands, observer, stored: finished };
        for (number, part) in self.parts.iter().enumerate() {
            let Some(config) = part.with_rates(&plain) else {
                report.left_out.push(format!("{}: no rate was found to run it at", part.name));
                // Later parts find their places.
                plain.push(nothing(part, &self.directions));
                continue;
            };
            let mut method = self.checked(part, config.build(&self.directions.testbed))?;
            if let Some(stored) = &stored {
                replay(method.as_mut(), &finished_trials(&stored.finished, number)?)?;
            }
            let ended = self.play(number, method.as_mut(), &mut runner, &mut stored);
            plain.push(method.result());
            report.results = methods::reconciled(&plain);
            if let Some(stored) = &mut stored {
                stored.store.conclude(&stored.id, &report.results)?;
            }
            match ended? {
                Ended::Done => {}
                other => {
                    report.ended = other;
                    break;
                }
            }
        }
        Ok(report)
    }

    /// Starts reading the counters along the path.
    fn poller(&self, tester: &dyn Tester) -> Result<Option<Poller>, CampaignError> {
        let Some(path) = &self.path else { return Ok(None) };
        if !tester.is_real() {
            let reason = "a simulated device has no counters".to_owned();
            return Err(CampaignError::Setting { setting: "path".to_owned(), reason });
        }
        Ok(Some(Poller::start(path)?))
    }

    /// One part to its end.
    fn play(
        &self,
        number: usize,
        method: &mut dyn Method,
        runner: &mut Runner<'_>,
        stored: &mut Option<StoredCampaign<'_>>,
    ) -> Result<Ended, CampaignError> {
        let later = self.estimate_from(number + 1)?;
        loop {
            let request = match method.next_trial() {
                Step::Done => return Ok(Ended::Done),
                Step::Failed(Fault { sentence, .. }) => return Ok(Ended::Failed(sentence)),
                Step::Trial(request) => request,
            };
            if runner.commands.is_stopped() {
                return Ok(Ended::Interrupted);
            }
            let own = method.estimate();
            let left = Estimate {
                trials: own.trials + later.trials,
                traffic_s: own.traffic_s + later.traffic_s,
                wall_s: own.wall_s + later.wall_s,
            };
            let part = &self.parts[number].name;
            let ordinal = runner.stored + 1;
            runner.observer.begins(&Running {
                part,
                request: &request,
                ordinal,
                progress: method.progress(),
                left,
            });
            runner.tester.wait(request.around.rest, &mut || runner.commands.is_stopped());
            let trial = match self.trial(&request, runner) {
                Err(CampaignError::Engine(engine::EngineError::Stopped { .. })) => {
                    return Ok(Ended::Interrupted);
                }
                trial => trial?,
            };
            runner.observer.ended(&request, &trial.outcome);
            if trial.outcome.interrupted && runner.commands.is_stopped() {
                return Ok(Ended::Interrupted);
            }
            if let Some(stored) = stored {
                stored.store.record(&stored.id, &trial.record(number as u32, &request)?)?;
            }
            runner.stored = ordinal;
            method.record(&trial.outcome);
            runner.tester.wait(request.around.settle, &mut || runner.commands.is_stopped());
        }
    }

    /// A trial with what surrounds it.
    fn trial(&self, request: &TrialRequest, runner: &mut Runner<'_>) -> Result<Trial, CampaignError> {
        let Runner { tester, path, commands, observer, .. } = runner;
        let variables = self.variables_of(request);
        self.hooks(Moment::BeforeTrial, &variables)?;
        if let TrialKind::Nat { task } = &request.kind {
            return self.nat(request, task, &variables, runner);
        }
        if let TrialKind::Balancer { task, load } = &request.kind {
            return self.balancer(request, (task, load), &variables, runner);
        }
        let plan = shape(&self.plan, &self.directions, request)?;
        if let TrialKind::Addresses { .. } = request.kind {
            self.probe_addresses(request, *tester, commands)?;
        } else if let Some(plan) = learning(&plan, request) {
            let took = plan.duration;
            tester.run(plan, commands, &mut Unseen)?;
            tester.wait(request.around.learning.since(took), &mut || commands.is_stopped());
        }
        if let Some(path) = path {
            path.begin();
        }
        let reset = self.reset(request, *tester)?;
        let mut watch = Watcher {
            observer: *observer,
            intervals: Vec::new(),
            keeps: plan.streams.len() <= STREAMS_RECORDED,
            interval: interval_of(request),
        };
        let document = tester.run(plan, commands, &mut watch)?;
        let intervals = watch.intervals;
        if let Some(reset) = reset {
            reset
                .join()
                .unwrap_or_else(|_| Err("the command that resets the device panicked".to_owned()))
                .map_err(|reason| CampaignError::Trial { label: request.label.clone(), reason })?;
        }
        self.hooks(Moment::AfterTrial, &variables)?;
        let mut outcome = outcome::of(&self.plan, &self.directions, request, &document, &intervals);
        let offered = counters::Offered { sent: outcome.sent(), received: outcome.received() };
        let path = path.as_mut().map(|path| path.finish((offered.sent > 0).then_some(offered)));
        outcome.dut_lost_most = path.as_ref().and_then(PathReport::lost_at_most);
        if let Some(weakest) = path.as_ref().and_then(|path| path.weakest.as_ref()) {
            let named = |drop: &counters::Drop| (format!("{}: {}", weakest.hop, drop.counter), drop.count);
            // Beside what a trial of sessions says of its failures.
            outcome.drops.extend(weakest.counters.iter().map(named));
            if weakest.counters.is_empty() {
                outcome.drops.push((weakest.hop.clone(), weakest.lost));
            }
        }
        Ok(Trial { outcome, document, intervals, path })
    }

    /// A trial of a NATxy gateway: several runs, which learn from each other.
    fn nat(
        &self,
        request: &TrialRequest,
        task: &NatTask,
        variables: &Variables,
        runner: &mut Runner<'_>,
    ) -> Result<Trial, CampaignError> {
        let Runner { tester, path, commands, observer, .. } = runner;
        let trial = nat::Trial {
            plan: &self.plan,
            directions: &self.directions,
            request,
            commands: &self.resets,
            variables,
            mappings: self.mappings.as_ref(),
        };
        if let Some(path) = path {
            path.begin();
        }
        let mut watch = Watcher {
            observer: *observer,
            intervals: Vec::new(),
            keeps: true,
            interval: interval_of(request),
        };
        let (mut outcome, document) = nat::run(&trial, task, *tester, commands, &mut watch)?;
        let intervals = watch.intervals;
        self.hooks(Moment::AfterTrial, variables)?;
        let path = path.as_mut().map(|path| path.finish(None));
        let named = |hop: &str, drop: &counters::Drop| (format!("{hop}: {}", drop.counter), drop.count);
        if let Some(weakest) = path.as_ref().and_then(|path| path.weakest.as_ref()) {
            outcome.drops.extend(weakest.counters.iter().map(|drop| named(&weakest.hop, drop)));
        }
        Ok(Trial { outcome, document, intervals, path })
    }

    /// A trial of a load balancer, which borrows the ports.
    fn balancer(
        &self,
        request: &TrialRequest,
        (task, load): (&BalancerTask, &BalancerLoad),
        variables: &Variables,
        runner: &mut Runner<'_>,
    ) -> Result<Trial, CampaignError> {
        let Runner { tester, path, commands, .. } = runner;
        if let Some(path) = path {
            path.begin();
        }
        let (outcome, document) = balancer::run(&self.plan, request, task, load, *tester, commands)?;
        self.hooks(Moment::AfterTrial, variables)?;
        let path = path.as_mut().map(|path| path.finish(None));
        Ok(Trial { outcome, document, intervals: Vec::new(), path })
    }

    /// Checks that the switch has forgotten the addresses of earlier trials.
    fn probe_addresses(
        &self,
        request: &TrialRequest,
        tester: &mut dyn Tester,
        commands: &mut Commands,
    ) -> Result<(), CampaignError> {
        let Some(plan) = addresses::probe(&self.plan, &self.directions, request)? else { return Ok(()) };
        let document = tester.run(plan, commands, &mut Unseen)?;
        addresses::has_forgotten(&self.plan, request, &document)
    }

    /// Runs the hooks of a moment, in their order.
    ///
    /// # Errors
    /// The first that fails.
    pub fn hooks(&self, when: Moment, variables: &Variables) -> Result<(), CampaignError> {
        self.hooks
            .iter()
            .filter(|hook| hook.when == when)
            .try_for_each(|hook| hook.run(variables).map(drop))?;
        Ok(())
    }

    /// Variables of hooks when no trial runs.
    pub fn own_variables(&self) -> Variables {
        self.variables.clone().with("campaign.name", &self.name).with("profile", &self.profile)
    }

    fn variables_of(&self, request: &TrialRequest) -> Variables {
        let rate: f64 = match &request.kind {
            TrialKind::Flows { flows } => flows.iter().map(|flow| flow.rate.as_f64()).sum(),
            _ => request.offered.iter().map(|load| load.rate.as_f64()).sum(),
        };
        let mut variables = self
            .own_variables()
            .with("frame_size", &request.frames)
            .with("method", &request.method)
            .with("rate_pps", rate)
            .with("duration_s", request.duration.as_secs_f64())
            .with("trial.number", request.number);
        if variables.value("config.number").is_none() {
            variables.set("config.number", 1);
        }
        variables
    }

    /// Resets the device from another thread, once traffic has flowed for a while.
    fn reset(
        &self,
        request: &TrialRequest,
        tester: &dyn Tester,
    ) -> Result<Option<thread::JoinHandle<Result<(), String>>>, CampaignError> {
        let TrialKind::Reset { how } = &request.kind else { return Ok(None) };
        let refuse =
            |reason: &str| CampaignError::Trial { label: request.label.clone(), reason: reason.to_owned() };
        if !tester.is_real() {
            return Err(refuse("a simulated device cannot be reset"));
        }
        let command =
            self.resets.get(how).ok_or_else(|| refuse("no command for this reset: give one with --reset"))?;
        let hook = Hook {
            when: Moment::BeforeTrial,
            command: command.clone(),
            ssh: None,
            timeout: request.duration,
        };
        let (variables, wait) = (self.variables_of(request), request.duration.as_secs_f64() * RESET_AT);
        Ok(Some(thread::spawn(move || {
            thread::sleep(Duration::from_secs_f64(wait));
            hook.run(&variables).map(drop).map_err(|error| error.to_string())
        })))
    }
}

/// Result of a part that was left out.
fn nothing(part: &Part, directions: &Directions) -> MethodResult {
    MethodResult {
        method: part.name.clone(),
        status: methods::Status::Complete,
        summary: Vec::new(),
        remarks: vec!["Left out: no rate was found to run it at.".to_owned()],
        testbed: directions.testbed.clone(),
        findings: part.config.no_findings(),
        intervals: Vec::new(),
        traffic_s: 0.0,
        trials: Vec::new(),
    }
}

/// The finished trials of a part.
fn finished_trials(finished: &[NewTrial], part: usize) -> Result<Vec<StoredTrial>, CampaignError> {
    let own = finished.iter().filter(|trial| (trial.number / STRIDE) as usize == part);
    own.map(|trial| {
        let outcome = serde_json::from_value(trial.outcome.clone())
            .map_err(|error| CampaignError::Stored(format!("trial {}: {error}", trial.number)))?;
        Ok(StoredTrial { number: u64::from(trial.number % STRIDE), key: trial.key.clone(), outcome })
    })
    .collect()
}

/// A trial that has run.
struct Trial {
    outcome: TrialOutcome,
    document: ResultDocument,
    intervals: Vec<IntervalDocument>,
    path: Option<PathReport>,
}

impl Trial {
    fn record(&self, part: u32, request: &TrialRequest) -> Result<NewTrial, CampaignError> {
        let value = |made: Result<Value, serde_json::Error>| {
            made.map_err(|error| CampaignError::Stored(error.to_string()))
        };
        let mut document = value(serde_json::to_value(&self.document))?;
        if let (Some(path), Some(fields)) = (&self.path, document.as_object_mut()) {
            fields.insert("path".to_owned(), value(serde_json::to_value(path))?);
        }
        let intervals = self.intervals.iter().map(|interval| value(serde_json::to_value(interval)));
        let intervals = intervals.collect::<Result<_, _>>()?;
        let mut trial = NewTrial::of_request(request, &self.outcome, document, intervals)?;
        trial.number += part * STRIDE;
        Ok(trial)
    }
}

fn interval_of(request: &TrialRequest) -> Nanos {
    let is_short = matches!(request.kind, TrialKind::Services { .. }) && request.duration <= SHORT_TRIAL;
    if is_short { SHORT_INTERVAL } else { INTERVAL }
}

/// Keeps the intervals of a trial and shows them.
struct Watcher<'a> {
    observer: &'a mut dyn Observer,
    intervals: Vec<IntervalDocument>,
    keeps: bool,
    interval: Nanos,
}

impl TrialObserver for Watcher<'_> {
    fn interval(&self) -> Nanos {
        self.interval
    }

    fn snapshot(&mut self, view: &View<'_>) {
        if self.keeps {
            self.intervals.push(view.document());
        }
        self.observer.looks(view);
    }
}

/// Learning frames, which are not observed.
struct Unseen;

impl TrialObserver for Unseen {
    fn interval(&self) -> Nanos {
        INTERVAL
    }

    fn reads_streams(&self) -> bool {
        false
    }

    fn snapshot(&mut self, _: &View<'_>) {}
}
