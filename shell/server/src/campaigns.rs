//! A campaign: a test method in an agent, a separate process, which a thread here attends.

use crate::jobs::{Ending, Job, lock, now};
use agent::{Attendant, CampaignEnd, CampaignState, End, FullView, Lost, Order, Requests, TrialBegins};
use api::{Live, Names, Point, State};
use result::OverallResult;
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

    /// Has an agent open the ports and run all trials, and attends it; the end is announced once the ports are released.
    pub(crate) fn play(&self, order: Order, requests: Requests, mut store: Store, id: &CampaignId) -> Ending {
        let _span = tracing::info_span!("campaign", id = %self.job.about.id, method = %self.method).entered();
        let mut watcher = Watcher { campaign: self, trial: None };
        let ended = agent::run(order, requests, &mut watcher, |process| tracing::info!(process, "begins"));
        // A span is left before those around it.
        drop(watcher);
        let (state, kept_as, reason) = match ended {
            Ok(End::Campaign(end)) => self.concludes(*end),
            Ok(other) => (State::Failed, store::State::Failed, Some(other.refusal().reason)),
            Err(Lost { reason, .. }) => {
                tracing::error!("{reason}");
                (State::Failed, store::State::Failed, Some(reason))
            }
        };
        let mut reason = reason;
        if let Err(error) = store.end(id, kept_as, Some(&now()), reason.as_deref()) {
            reason = Some(format!("cannot store the end: {error}"));
        }
        tracing::info!(?state, "ended");
        Ending { state, reason }
    }

    /// Takes over the outcome.
    fn concludes(&self, end: CampaignEnd) -> (State, store::State, Option<String>) {
        let CampaignEnd { state, reason, found, overall, document, stopped } = end;
        let mut progress = lock(&self.progress);
        progress.found = found;
        progress.overall = overall;
        if state == CampaignState::Done {
            (progress.fraction, progress.trials_left, progress.left_s) = (1.0, 0, 0.0);
        }
        drop(progress);
        *lock(&self.result) = Some(document.into());
        match state {
            CampaignState::Done => (State::Done, store::State::Done, None),
            CampaignState::Interrupted => {
                (State::Stopped, store::State::Interrupted, self.job.status().reason.or(stopped))
            }
            CampaignState::Failed => (State::Failed, store::State::Failed, reason),
        }
    }
}

struct Watcher<'a> {
    campaign: &'a CampaignJob,
    /// The running trial, in the log.
    trial: Option<tracing::span::EnteredSpan>,
}

impl Attendant for Watcher<'_> {
    fn opened(&mut self) {
        self.campaign.job.set_state(State::Running);
    }

    fn live(&mut self, live: Live) {
        self.campaign.job.snapshots.put_live(live);
        self.campaign.job.snapshots.notify();
    }

    fn full(&mut self, full: FullView) {
        self.campaign.job.snapshots.put_full(full);
    }

    fn names(&mut self, names: Names) {
        lock(&self.campaign.progress).names = Arc::new(names);
    }

    fn trial_begins(&mut self, begins: TrialBegins) {
        let TrialBegins { number, fraction, trials_left, left_s, part, label } = begins;
        // A span is left before the next is entered.
        self.trial = None;
        self.trial = Some(tracing::info_span!("trial", number, part, label).entered());
        let mut progress = lock(&self.campaign.progress);
        (progress.fraction, progress.trials_left, progress.left_s) = (fraction, trials_left, left_s);
        (progress.part, progress.label) = (Some(part), Some(label));
        drop(progress);
        self.campaign.job.snapshots.notify();
    }

    fn trial_ended(&mut self, point: Point) {
        tracing::info!(sent = point.sent, lost = point.lost, valid = point.valid, "ended");
        self.trial = None;
        lock(&self.campaign.progress).points.push(Arc::new(point));
        self.campaign.job.snapshots.notify();
    }
}
