//! A campaign: a test method on a separate thread.

use crate::jobs::{CoresInUse, Ending, Job, lock, now};
use crate::runs::CALIBRATION;
use crate::snapshots::{SnapshotPublisher, names};
use api::{Names, Point, PointSessions, State};
use campaign::{
    Campaign, CampaignError, Directions, Ended, Observer, Part, PortTester, Report, Running, StoredCampaign,
    Tester,
};
use engine::{Commands, RunOptions, View};
use lab::Variables;
use methods::{Attributes, GroupOutcome, LatencySummary, MethodResult, Timing, TrialOutcome, TrialRequest};
use os::TscClock;
use profile::Plan;
use result::{Overall, OverallResult};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use store::{CampaignId, Store};

/// A campaign and its results so far.
pub(crate) struct CampaignJob {
    pub(crate) job: Job,
    pub(crate) method: String,
    progress: Mutex<Progress>,
    result: Mutex<Option<Arc<str>>>,
}

#[derive(Default)]
struct Progress {
    fraction: f64,
    trials_left: u64,
    left_s: f64,
    part: Option<String>,
    label: Option<String>,
    points: Vec<Arc<Point>>,
    found: Vec<String>,
    overall: Option<OverallResult>,
    /// Names of the running trial.
    names: Arc<Names>,
}

/// Parts of a campaign.
pub(crate) struct Setup {
    pub(crate) plan: Plan,
    pub(crate) parts: Vec<Part>,
    pub(crate) timing: Timing,
    pub(crate) attributes: Attributes,
    /// Name of the profile in reports.
    pub(crate) profile: String,
    pub(crate) store: Store,
    pub(crate) id: CampaignId,
}

impl CampaignJob {
    pub(crate) fn new(job: Job, method: String) -> Self {
        Self { job, method, progress: Mutex::default(), result: Mutex::default() }
    }

    /// The campaign as clients see it.
    pub(crate) fn document(&self, with_points: bool) -> api::Campaign {
        let (status, progress) = (self.job.status(), lock(&self.progress));
        let points = progress.points.iter().filter(|_| with_points).map(|point| (**point).clone());
        api::Campaign {
            id: self.job.about.id.clone(),
            name: self.job.about.name.clone(),
            method: self.method.clone(),
            state: status.state,
            reason: status.reason,
            holder: self.job.about.holder.clone(),
            ports: self.job.about.ports.clone(),
            started: self.job.started.clone(),
            ended: status.ended,
            seed: self.job.about.seed,
            warnings: self.job.about.warnings.clone(),
            fraction: progress.fraction,
            trials_done: progress.points.len() as u64,
            trials_left: progress.trials_left,
            left_s: progress.left_s,
            part: progress.part.clone(),
            label: progress.label.clone(),
            points: points.collect(),
            found: progress.found.clone(),
            overall: progress.overall.clone(),
        }
    }

    /// Points from number `from` on, counted from 0.
    pub(crate) fn points(&self, from: usize) -> Vec<Arc<Point>> {
        lock(&self.progress).points.get(from..).unwrap_or_default().to_vec()
    }

    /// Names of the running trial.
    pub(crate) fn names(&self) -> Arc<Names> {
        lock(&self.progress).names.clone()
    }

    /// The campaign document's text.
    pub(crate) fn result(&self) -> Option<Arc<str>> {
        lock(&self.result).clone()
    }

    /// Opens the ports and runs all trials; announces the end once the ports are released.
    pub(crate) fn play(&self, setup: Setup, cores: &CoresInUse, commands: &mut Commands) -> Ending {
        let _span = tracing::info_span!("campaign", id = %self.job.about.id, method = %self.method).entered();
        tracing::info!("begins");
        let Setup { plan, parts, timing, attributes, profile, mut store, id } = setup;
        let mut observer =
            Watcher { campaign: self, publisher: SnapshotPublisher::new(cores.cores.clone()), trial: None };
        let played = (|| {
            let options = RunOptions { cores: cores.cores.clone(), histograms: true, spare: Vec::new() };
            let clock = TscClock::calibrate(CALIBRATION);
            let longest = Campaign::longest_of(&parts);
            let mut tester = PortTester::open(&plan, longest, options, clock, commands)?;
            let directions = Directions::of(&plan, &tester.speeds(), timing, attributes)?;
            let campaign = Campaign {
                name: self.job.about.name.clone(),
                profile,
                parts,
                directions,
                plan,
                hooks: Vec::new(),
                variables: Variables::new(),
                resets: BTreeMap::new(),
                path: None,
                mappings: None,
            };
            campaign.check()?;
            self.job.set_state(State::Running);
            let kept = StoredCampaign { store: &mut store, id: id.clone(), finished: Vec::new() };
            let report = campaign.run(&mut tester, Some(kept), commands, &mut observer)?;
            Ok((campaign, report))
        })();
        self.concludes(played, &mut store, &id)
    }

    fn concludes(
        &self,
        played: Result<(Campaign, Report), CampaignError>,
        store: &mut Store,
        id: &CampaignId,
    ) -> Ending {
        let (state, kept_as, reason) = match &played {
            Ok((_, Report { ended: Ended::Done, .. })) => (State::Done, store::State::Done, None),
            Ok((_, Report { ended: Ended::Interrupted, .. })) => {
                (State::Stopped, store::State::Interrupted, self.job.status().reason)
            }
            Ok((_, Report { ended: Ended::Failed(why), .. })) => {
                (State::Failed, store::State::Failed, Some(why.clone()))
            }
            Err(error) => (State::Failed, store::State::Failed, Some(error.to_string())),
        };
        if let Ok((campaign, report)) = &played {
            let mut progress = lock(&self.progress);
            progress.found = report.results.iter().flat_map(|result| result.summary.clone()).collect();
            progress.overall = overall(&report.results, &progress.points);
            if report.ended == Ended::Done {
                (progress.fraction, progress.trials_left, progress.left_s) = (1.0, 0, 0.0);
            }
            *lock(&self.result) =
                serde_json::to_string(&campaign.document(id.as_str(), report)).ok().map(Into::into);
        }
        let mut reason = reason;
        if let Err(error) = store.end(id, kept_as, Some(&now()), reason.as_deref()) {
            reason = Some(format!("cannot store the end: {error}"));
        }
        tracing::info!(?state, "ended");
        Ending { state, reason }
    }
}

struct Watcher<'a> {
    campaign: &'a CampaignJob,
    publisher: SnapshotPublisher,
    /// The running trial, in the log.
    trial: Option<tracing::span::EnteredSpan>,
}

impl Observer for Watcher<'_> {
    fn begins(&mut self, running: &Running<'_>) {
        // A span is left before the next is entered.
        self.trial = None;
        let (number, part, label) = (running.request.number, running.part, &running.request.label);
        self.trial = Some(tracing::info_span!("trial", number, part, %label).entered());
        let mut progress = lock(&self.campaign.progress);
        progress.fraction = running.progress.fraction;
        progress.trials_left = running.left.trials;
        progress.left_s = running.left.wall_s;
        progress.part = Some(running.part.to_owned());
        progress.label = Some(running.request.label.clone());
        drop(progress);
        self.campaign.job.snapshots.notify();
    }

    fn looks(&mut self, view: &View<'_>) {
        let names = names(view);
        let mut progress = lock(&self.campaign.progress);
        if *progress.names != names {
            progress.names = Arc::new(names);
        }
        drop(progress);
        self.publisher.publish(view, &self.campaign.job.snapshots);
    }

    fn ended(&mut self, request: &TrialRequest, outcome: &TrialOutcome) {
        tracing::info!(sent = outcome.sent(), lost = outcome.lost(), valid = outcome.valid, "ended");
        self.trial = None;
        let mut progress = lock(&self.campaign.progress);
        let part = progress.part.clone().unwrap_or_default();
        progress.points.push(Arc::new(point(part, request, outcome)));
        drop(progress);
        self.campaign.job.snapshots.notify();
    }
}

/// A trial as a point of a curve.
fn point(part: String, request: &TrialRequest, outcome: &TrialOutcome) -> Point {
    let (sent, lost) = (outcome.sent(), outcome.lost());
    // Of several directions the worse.
    let largest =
        |value: fn(&GroupOutcome) -> Option<f64>| outcome.groups.iter().filter_map(value).reduce(f64::max);
    let whole = |ns: Option<f64>| ns.map(|ns| ns as u64);
    Point {
        number: request.number,
        part,
        label: request.label.clone(),
        frame: request.frame(),
        offered_pps: request.offered.iter().map(|load| load.rate.as_f64()).sum(),
        duration_s: outcome.duration.as_secs_f64(),
        sent,
        received: outcome.received(),
        lost,
        loss_ratio: if sent == 0 { 0.0 } else { lost as f64 / sent as f64 },
        latency_p50_ns: whole(largest(|group| Some(group.latency.as_ref()?.p50))),
        latency_p99_ns: whole(largest(|group| Some(group.latency.as_ref()?.p99))),
        latency_stddev_ns: largest(|group| Some(group.latency.as_ref()?.stddev)),
        jitter_mean_ns: largest(|group| Some(group.jitter.as_ref()?.rfc4689_mean)),
        valid: outcome.valid,
        generator_limited: outcome.generator_limited,
        disturbed: outcome.disturbed,
        reasons: outcome.reasons.clone(),
        sessions: point_sessions(request, outcome),
    }
}

/// Sessions of a trial with sessions; a TCP transfer has its rates elsewhere.
fn point_sessions(request: &TrialRequest, outcome: &TrialOutcome) -> Option<PointSessions> {
    let sessions = outcome.sessions.as_ref()?;
    let (load, unit) = request.session_load().unwrap_or_default();
    let p99 = |times: &Option<LatencySummary>| times.as_ref().map(|times| times.p99 as u64);
    Some(PointSessions {
        load,
        unit: unit.to_owned(),
        attempted: sessions.attempted,
        established: sessions.established,
        transactions: sessions.transactions,
        transactions_failed: sessions.transactions_failed,
        failed_ratio: sessions.transactions_failed as f64 / sessions.transactions.max(1) as f64,
        setup_p99_ns: p99(&sessions.setup),
        ttfb_p99_ns: p99(&sessions.ttfb),
        ttlb_p99_ns: p99(&sessions.ttlb),
    })
}
/// Whether methods found what they look for, with one cause; `None` without a result.
fn overall(results: &[MethodResult], points: &[Arc<Point>]) -> Option<OverallResult> {
    results.first()?;
    let says = |outcome: Overall, reason: Option<String>| {
        let remedy = (outcome == Overall::CannotJudge)
            .then(|| "repeat it on a machine with fewer disturbances: the page Doctor lists them".to_owned());
        let reason = reason.map(|reason| reason.trim_end_matches('.').to_owned());
        Some(OverallResult { outcome: outcome.name().into(), reason, remedy, runs: None })
    };
    if let Some(failed) = results.iter().find(|result| result.findings.has_failed()) {
        return says(Overall::Failed, failed.summary.first().cloned());
    }
    let doubted = points.iter().find(|point| !point.valid).and_then(|point| point.reasons.first().cloned());
    let unjudged = results.iter().any(|result| result.findings.is_unjudged());
    if unjudged || (!points.is_empty() && points.iter().all(|point| !point.valid)) {
        return says(Overall::CannotJudge, doubted.or_else(|| results[0].summary.first().cloned()));
    }
    if results.iter().all(|result| result.findings.nothing_found()) {
        let said = results[0].summary.first().cloned();
        return says(Overall::Failed, said.or_else(|| Some("nothing was found".to_owned())));
    }
    says(Overall::Passed, None)
}
