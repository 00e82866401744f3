//! A campaign in an agent: the method, its trials and their entries in the store are here; the server shows how far it is.
//!
//! Invariant: a trial is in the store before the server gets its outcome.

use crate::message::{CampaignEnd, CampaignOrder, CampaignState, FromAgent, Refusal, TrialBegins};
use crate::outbox::Outbox;
use crate::view::{Publisher, live_names};
use api::{Names, Point, PointSessions};
use campaign::{
    Campaign, CampaignError, Directions, Ended, Observer, PortTester, Report, Running, StoredCampaign, Tester,
};
use engine::{Commands, RunOptions, View};
use lab::Variables;
use methods::{GroupOutcome, LatencySummary, MethodResult, TrialOutcome, TrialRequest};
use os::TscClock;
use profile::Plan;
use result::{Overall, OverallResult};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{Store, StoreError};

/// Runs a campaign, whose ports are closed when this returns.
pub(crate) fn play(
    order: &CampaignOrder,
    plan: Plan,
    cores: &[usize],
    commands: &mut Commands,
    outbox: &Outbox,
) -> Result<CampaignEnd, Refusal> {
    let mut watcher = Watcher {
        outbox,
        publisher: Publisher::new(cores.to_vec(), None),
        names: Names::default(),
        part: String::new(),
        points: Vec::new(),
    };
    let (campaign, report) = run(order, plan, cores, commands, &mut watcher)?;
    let (state, reason) = match &report.ended {
        Ended::Done => (CampaignState::Done, None),
        Ended::Interrupted => (CampaignState::Interrupted, None),
        Ended::Failed(why) => (CampaignState::Failed, Some(why.clone())),
    };
    Ok(CampaignEnd {
        state,
        reason,
        found: report.results.iter().flat_map(|result| result.summary.clone()).collect(),
        overall: overall(&report.results, &watcher.points),
        document: serde_json::to_string(&campaign.document(&order.id, &report)).unwrap_or_default(),
        stopped: None,
    })
}

fn run(
    order: &CampaignOrder,
    plan: Plan,
    cores: &[usize],
    commands: &mut Commands,
    watcher: &mut Watcher<'_>,
) -> Result<(Campaign, Report), Refusal> {
    let mut store = Store::open(&order.store).map_err(unstored)?;
    let id = store.find(&order.id).map_err(unstored)?;
    let options = RunOptions { cores: cores.to_vec(), histograms: true, spare: Vec::new() };
    let clock = TscClock::calibrate(crate::serve::CALIBRATION);
    let longest = Campaign::longest_of(&order.parts);
    let mut tester = PortTester::open(&plan, longest, options, clock, commands)?;
    let directions = Directions::of(&plan, &tester.speeds(), order.timing, order.attributes)?;
    let campaign = Campaign {
        name: order.name.clone(),
        profile: order.profile.clone(),
        parts: order.parts.clone(),
        directions,
        plan,
        hooks: Vec::new(),
        variables: Variables::new(),
        resets: BTreeMap::new(),
        path: None,
        mappings: None,
    };
    campaign.check()?;
    watcher.outbox.send(FromAgent::Opened);
    let kept = StoredCampaign { store: &mut store, id, finished: Vec::new() };
    let report = campaign.run(&mut tester, Some(kept), commands, watcher)?;
    Ok((campaign, report))
}

fn unstored(error: StoreError) -> Refusal {
    Refusal { reason: error.to_string(), is_bad_input: false }
}

impl From<CampaignError> for Refusal {
    fn from(error: CampaignError) -> Self {
        Self { reason: error.to_string(), is_bad_input: error.is_bad_input() }
    }
}

struct Watcher<'a> {
    outbox: &'a Outbox,
    publisher: Publisher,
    /// Names that the server has.
    names: Names,
    part: String,
    points: Vec<Arc<Point>>,
}

impl Observer for Watcher<'_> {
    fn begins(&mut self, running: &Running<'_>) {
        self.part = running.part.to_owned();
        self.outbox.send(FromAgent::TrialBegins(Box::new(TrialBegins {
            number: running.request.number,
            fraction: running.progress.fraction,
            trials_left: running.left.trials,
            left_s: running.left.wall_s,
            part: self.part.clone(),
            label: running.request.label.clone(),
        })));
    }

    fn looks(&mut self, view: &View<'_>) {
        let names = live_names(view);
        if self.names != names {
            self.names = names.clone();
            self.outbox.send(FromAgent::Names(Box::new(names)));
        }
        let later = self.outbox.full_cost() * 3;
        let (live, full) = self.publisher.documents(view, !self.outbox.has_full(), later);
        self.outbox.snapshot(live, None, full);
    }

    fn ended(&mut self, request: &TrialRequest, outcome: &TrialOutcome) {
        let point = Arc::new(point(self.part.clone(), request, outcome));
        self.points.push(point.clone());
        self.outbox.send(FromAgent::TrialEnded(Box::new((*point).clone())));
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
