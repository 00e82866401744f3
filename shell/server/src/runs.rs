//! A run: an engine's session in an agent, a separate process, which a thread here attends.

use crate::budget::Reservation;
use crate::fault::Fault;
use crate::jobs::{Ending, Job, lock};
use crate::limits::Limits;
use crate::pings::Pings;
use crate::record::{Beginning, ROWS_OF_STREAMS_MAX, Recorder, StoredRun};
use crate::texts::{Text, Texts};
use agent::{
    Attendant, Batch, Child, Clock, Comparison, End, FullView, Line, Lost, Member, Order, PartOrder, Process,
    Refusal, Requests, RunEnd, Source, Work,
};
use api::{Live, Names, Neighbour, NewPing, Run, Snapshot, State};
use axum::http::StatusCode;
use engine::{
    ArrivalsCommand, CaptureCommand, Command, CommandError, PendingReply, RateCommand, RemoveCommand, Reply,
    Speed,
};
use fleet::{Fleet, RemotePort};
use profile::plan::{SessionEntry, StreamPlan};
use profile::{Overrides, Plan};
use result::{AchievedResult, IntervalDocument, OverallResult, ResultDocument, TotalDocument, Verdict};
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::StoreError;
use units::{Load, Nanos, Pps};

/// Time to wait before storing again a result that the store did not take.
const STORE_AGAIN: Duration = Duration::from_secs(2);
/// Memory held by an ended run besides its result, bytes.
const ENDED_BYTES: usize = 32 << 10;
/// Memory of a stream's name, bytes.
const NAME_BYTES: usize = 100;
/// A result's text and what is as large: its totals, and the last interval with the verdict.
const DOCUMENTS: usize = 3;
/// Changes of a run, and refusals, that its document has: the last ones. It is sent with every change.
const CHANGES_KEPT: usize = 100;
/// Names listed in a sentence.
const NAMES_MAX: usize = 10;
/// Time to wait for a command to be carried out: one sent before traffic starts is carried out then.
const PATIENCE: Duration = Duration::from_millis(500);
/// The same for new rates while traffic runs: several machines follow at an instant that leaves all of them time.
const PATIENCE_RUNNING: Duration = Duration::from_secs(3);

/// A run and its results so far.
pub(crate) struct RunJob {
    pub(crate) job: Job,
    pub(crate) duration: Nanos,
    /// Of streams, those that were added as well.
    names: Mutex<Names>,
    /// Streams are added by one client at a time.
    pub(crate) adding: tokio::sync::Mutex<()>,
    /// Files captures are written to, by port name.
    pub(crate) captures: BTreeMap<String, PathBuf>,
    /// Current plan, including rate changes of the run.
    plan: Mutex<Plan>,
    changes: Mutex<Changes>,
    /// For streams that were added, until the run ends.
    memory: Mutex<Vec<Reservation>>,
    pings: Pings,
    /// Machines that were lost while it continues on the others, and why.
    losses: Mutex<Vec<String>>,
    /// Their agents, whose ports it needs no more.
    agents_lost: Mutex<Vec<String>>,
    /// Why the store does not accept the counts.
    store_trouble: Mutex<Option<String>>,
    end: Mutex<Outcome>,
    full_texts: Texts<FullKey>,
    documents: Texts<RunChange>,
}

/// Where a run is.
pub(crate) enum Place {
    /// On one machine.
    One(Site),
    /// On several, with the indices of their ports in the plan.
    Several(Vec<(Site, Vec<usize>)>),
}

/// Where a process of a run is.
#[derive(Clone)]
pub(crate) enum Site {
    /// On this machine.
    Here,
    /// On an agent's.
    Remote {
        /// All agents.
        fleet: Arc<Fleet>,
        /// Which one.
        agent: String,
        /// Its ports.
        ports: Vec<RemotePort>,
        /// Number of workers.
        cores: usize,
        /// Name of the link to the process.
        link: String,
    },
}

impl Place {
    /// Time for which a process there sends without a message from here.
    pub(crate) fn lease(&self) -> Duration {
        match self {
            Self::One(Site::Here) => agent::LEASE,
            Self::One(Site::Remote { .. }) | Self::Several(_) => fleet::TTL,
        }
    }

    fn run(&self, order: Order, requests: Requests, watcher: &mut Watcher<'_>) -> Result<End, Lost> {
        match self {
            Self::One(site) => {
                let (process, socket) = site.open()?;
                agent::run_on(order, requests, watcher, process, socket)
            }
            Self::Several(sites) => {
                let plan = lock(&watcher.run.plan).clone();
                let members = sites.iter().map(|(site, ports)| site.member(&order, ports)).collect();
                agent::run_together(members, &plan, requests, watcher)
            }
        }
    }
}

impl Site {
    /// Starts a process; also returns the socket to it.
    fn open(&self) -> Result<(Box<dyn Process>, UnixStream), Lost> {
        match self {
            Self::Here => {
                let failed = |error| Lost::failed(format!("cannot start the engine's process: {error}"));
                let (child, socket) = Child::start(&[]).map_err(failed)?;
                tracing::info!(process = child.id(), "begins");
                Ok((Box::new(child), socket))
            }
            Self::Remote { fleet, agent, ports, cores, link } => {
                let opened = fleet.open(agent, ports, *cores, link).map_err(Lost::failed)?;
                tracing::info!(agent, link, "begins");
                Ok(opened)
            }
        }
    }

    /// The machine as one of several of an order's run, with the indices of its ports.
    fn member(&self, order: &Order, ports: &[usize]) -> Member {
        let mut order = order.clone();
        if let Work::Run(run) = &mut order.work {
            run.part = Some(PartOrder { here: ports.to_vec() });
        }
        let (agent, card) = match self {
            Self::Here => (None, None),
            Self::Remote { fleet, agent, .. } => {
                let card = fleet.agents().into_iter().find(|card| card.name == *agent);
                (Some(agent.clone()), card)
            }
        };
        let (version, machine) = card.map(|card| (card.version, card.machine)).unzip();
        // Without one, an agent is a machine.
        let machine = machine.filter(|machine| !machine.is_empty()).or_else(|| agent.clone());
        let (opening, comparing) = (self.clone(), self.clone());
        Member {
            agent,
            machine: machine.unwrap_or_default(),
            version: version.unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned()),
            ports: ports.to_vec(),
            order,
            open: Box::new(move || opening.open()),
            compare: Box::new(move || match &comparing {
                Self::Here => Ok(Comparison::SHARED),
                Self::Remote { fleet, agent, .. } => fleet.compare(agent),
            }),
        }
    }
}

/// Key of a full snapshot's text: its time, its state, and whether totals are the result's.
type FullKey = (Option<u64>, State, bool);

/// Variable parts of a run's document, except its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunChange {
    pub(crate) state: State,
    reason: Option<String>,
    rate_changes: u64,
    refused_changes: u64,
    streams: usize,
    losses: usize,
    has_verdict: bool,
    store_trouble: Option<String>,
}

/// Modes of a run, in addition to its profile.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunMode {
    /// Whether a client attends it, see `Session::attended` of the engine.
    pub(crate) attended: bool,
    /// Ports whose captures begin switched off.
    pub(crate) quiet: Vec<String>,
}

/// Rates that were changed, and those the engine refused, in words.
#[derive(Default)]
struct Changes {
    made: Recent,
    refused: Recent,
}

/// The last of many sentences, and how many there were.
#[derive(Default)]
struct Recent {
    all: u64,
    last: VecDeque<String>,
}

impl Recent {
    fn push(&mut self, sentence: String) {
        self.all += 1;
        if self.last.len() == CHANGES_KEPT {
            self.last.pop_front();
        }
        self.last.push_back(sentence);
    }

    fn sentences(&self) -> Vec<String> {
        self.last.iter().cloned().collect()
    }
}

/// Names in a sentence.
fn in_a_row(names: &[String]) -> String {
    let (shown, rest) = names.split_at(names.len().min(NAMES_MAX));
    match rest.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A rate command, and what it changes of the plan.
struct Change {
    command: RateCommand,
    /// For each stream with its own rate change, by index, its rate before and after.
    rates: Vec<(usize, Load, Load)>,
}

/// Outcome.
#[derive(Default, Clone)]
struct Outcome {
    verdict: Option<Verdict>,
    achieved: Option<AchievedResult>,
    overall: Option<OverallResult>,
    result: Option<Arc<str>>,
    totals: Option<Arc<TotalDocument>>,
}

impl RunJob {
    /// Agents that are lost while the run continues on other machines.
    pub(crate) fn agents_lost(&self) -> Vec<String> {
        lock(&self.agents_lost).clone()
    }

    pub(crate) fn new(job: Job, plan: Plan, captures: BTreeMap<String, PathBuf>) -> Self {
        let names = Names {
            ports: plan.ports.iter().map(|port| port.name.clone()).collect(),
            streams: plan.streams.iter().map(|stream| stream.name.clone()).collect(),
            groups: plan.groups.iter().map(|group| group.name.clone()).collect(),
            sessions: plan.sessions.iter().map(|entry| entry.session.name.clone()).collect(),
        };
        Self {
            job,
            duration: plan.duration,
            names: Mutex::new(names),
            adding: tokio::sync::Mutex::default(),
            captures,
            plan: Mutex::new(plan),
            changes: Mutex::default(),
            memory: Mutex::default(),
            pings: Pings::default(),
            losses: Mutex::default(),
            agents_lost: Mutex::default(),
            store_trouble: Mutex::default(),
            end: Mutex::default(),
            full_texts: Texts::default(),
            documents: Texts::default(),
        }
    }

    /// Whether its intervals are stored if the run is: with very many streams they are not.
    pub(crate) fn keeps_intervals(&self) -> bool {
        self.streams() <= engine::STREAMS_KEPT
    }

    /// Names of the columns of live figures.
    fn names(&self) -> Names {
        lock(&self.names).clone()
    }

    /// Number of streams, added and removed ones included.
    pub(crate) fn streams(&self) -> usize {
        lock(&self.names).streams.len()
    }

    /// The agent of each port on another machine, by the profile's names.
    pub(crate) fn agents(&self) -> BTreeMap<String, String> {
        let plan = lock(&self.plan);
        let of = |port: &profile::plan::PortPlan| {
            Some((port.name.clone(), fleet::split(&port.device)?.0.to_owned()))
        };
        plan.ports.iter().filter_map(of).collect()
    }

    /// The run as clients see it.
    pub(crate) fn document(&self) -> Run {
        let (status, changes, end) = (self.job.status(), lock(&self.changes), lock(&self.end));
        Run {
            id: self.job.about.id.clone(),
            name: self.job.about.name.clone(),
            state: status.state,
            reason: status.reason,
            holder: self.job.about.holder.clone(),
            ports: self.job.about.ports.clone(),
            started: self.job.started.clone(),
            ended: status.ended,
            duration_s: self.duration.as_secs_f64(),
            at_s: self.job.snapshots.live().live.at_s,
            seed: self.job.about.seed,
            warnings: self
                .job
                .about
                .warnings
                .iter()
                .cloned()
                .chain(lock(&self.losses).iter().cloned())
                .chain(lock(&self.store_trouble).clone())
                .collect(),
            verdict: end.verdict.clone(),
            achieved: end.achieved.clone(),
            overall: end.overall.clone(),
            rate_changes: changes.made.sentences(),
            rate_changes_in_all: changes.made.all,
            refused_changes: changes.refused.sentences(),
            refused_changes_in_all: changes.refused.all,
            names: self.names(),
            captures: self.captures.keys().cloned().collect(),
        }
    }

    /// Everything that is known now; at first, nothing is.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let snapshot = self.job.snapshots.full();
        let totals = lock(&self.end).totals.clone();
        let total = totals
            .as_deref()
            .or_else(|| snapshot.as_ref().map(|snapshot| snapshot.total()))
            .cloned()
            .unwrap_or_default();
        Snapshot {
            id: self.job.about.id.clone(),
            state: self.job.status().state,
            at_s: snapshot.as_ref().map_or(0.0, |snapshot| snapshot.at_s),
            duration_s: self.duration.as_secs_f64(),
            interval: snapshot.as_ref().map(|snapshot| snapshot.interval().clone()),
            total,
            workers: snapshot.as_ref().map(|snapshot| snapshot.workers.clone()).unwrap_or_default(),
            neighbours: snapshot.as_ref().map(|snapshot| snapshot.neighbours.clone()).unwrap_or_default(),
        }
    }

    /// Neighbours that replied.
    pub(crate) fn neighbours(&self) -> Vec<Neighbour> {
        self.job.snapshots.full().map(|full| full.neighbours.clone()).unwrap_or_default()
    }

    /// [`RunJob::snapshot`] as JSON, made once for all who read it.
    pub(crate) async fn full_text(self: &Arc<Self>) -> Option<Text> {
        let run = self.clone();
        // That of many streams takes long to write.
        let text = tokio::task::spawn_blocking(move || {
            let at = run.job.snapshots.full().map(|snapshot| snapshot.at_s.to_bits());
            let key = (at, run.job.status().state, lock(&run.end).totals.is_some());
            run.full_texts.newest(key, || serde_json::to_string(&run.snapshot()).unwrap_or_default())
        });
        text.await.ok()
    }

    /// [`RunJob::document`] as JSON since `change`, made once for all who watch.
    pub(crate) fn document_text(&self, change: &RunChange) -> Text {
        self.documents.newest(change.clone(), || serde_json::to_string(&self.document()).unwrap_or_default())
    }

    /// Latest change of its document.
    pub(crate) fn latest_change(&self) -> RunChange {
        let (status, changes) = (self.job.status(), lock(&self.changes));
        RunChange {
            state: status.state,
            reason: status.reason,
            rate_changes: changes.made.all,
            refused_changes: changes.refused.all,
            streams: self.streams(),
            losses: lock(&self.losses).len(),
            has_verdict: lock(&self.end).verdict.is_some(),
            store_trouble: lock(&self.store_trouble).clone(),
        }
    }

    /// The result document's text.
    pub(crate) fn result(&self) -> Option<Arc<str>> {
        lock(&self.end).result.clone()
    }

    /// Changes rates; returns once that is done or refused, or at once known to happen when traffic starts.
    pub(crate) async fn change(
        self: &Arc<Self>,
        wanted: &api::NewRate,
        limits: &Limits,
    ) -> Result<(), Fault> {
        match self.change_unless_ended(wanted, limits).await? {
            true => Ok(()),
            false => Err(Fault::conflict("the run has ended")),
        }
    }

    /// The same; false if the run has ended, or its traffic has and its result is being written.
    pub(crate) async fn change_unless_ended(
        self: &Arc<Self>,
        wanted: &api::NewRate,
        limits: &Limits,
    ) -> Result<bool, Fault> {
        if self.job.has_ended() {
            return Ok(false);
        }
        let change = self.understood(wanted, limits)?;
        let reply = self.job.control.request(Command::SetRate(change.command.clone()));
        let run = self.clone();
        // What the engine says is noted even if the client is gone.
        let noted = tokio::spawn(async move {
            let reply = reply.await;
            run.note(&change, &reply);
            reply
        });
        let runs = self.job.snapshots.live().live.at_s > 0.0;
        let patience = if runs { PATIENCE_RUNNING } else { PATIENCE };
        match tokio::time::timeout(patience, noted).await {
            Ok(Ok(Err(CommandError::Refused(reason)))) => Err(Fault::conflict(reason)),
            Ok(Ok(Err(CommandError::Ended))) => Ok(false),
            _ => Ok(true),
        }
    }

    /// Records the engine's reply to a change. A refused rate no longer counts against the limits.
    fn note(&self, change: &Change, reply: &Result<Reply, CommandError>) {
        if reply.is_err() {
            let mut plan = lock(&self.plan);
            for (index, before, after) in &change.rates {
                // The run may have ended, or a later change followed.
                if let Some(stream) = plan.streams.get_mut(*index).filter(|stream| stream.rate == *after) {
                    stream.rate = *before;
                }
            }
        }
        let words = in_words(&change.command);
        let mut changes = lock(&self.changes);
        match reply {
            Ok(_) => changes.made.push(words),
            Err(CommandError::Refused(reason)) => changes.refused.push(format!("{words}: {reason}")),
            Err(CommandError::Ended) => {}
        }
        drop(changes);
        self.job.snapshots.notify();
    }

    /// Notes what keeps the store from taking what is counted, or that nothing does.
    fn note_store(&self, trouble: Option<String>) {
        *lock(&self.store_trouble) = trouble;
        self.job.snapshots.notify();
    }

    /// Overrides for resolving a plan of streams to add.
    pub(crate) fn for_more_streams(&self) -> Overrides {
        let marked = lock(&self.plan).streams.iter().filter(|stream| stream.mark.is_some()).count();
        let seed = Some(self.job.about.seed);
        Overrides { seed, first_mark: u16::try_from(marked).unwrap_or(u16::MAX), ..Overrides::default() }
    }

    /// Adds the streams of a plan for the same ports; returns once workers have them, or the engine refuses. One caller
    /// at a time: the holder of `adding`.
    pub(crate) async fn add_streams(
        &self,
        more: Plan,
        source: Source,
        memory: Reservation,
        limits: &Limits,
    ) -> Result<(), Fault> {
        let mut grown = lock(&self.plan).clone();
        grown.streams.extend(more.streams.iter().cloned());
        limits.check(&grown)?;
        let streams = more.streams.clone();
        let names: Vec<String> = more.streams.iter().map(|stream| stream.name.clone()).collect();
        carried_out(self.job.control.add_streams(source)).await?;
        lock(&self.plan).streams.extend(streams);
        lock(&self.memory).push(memory);
        lock(&self.changes).made.push(format!("{} added", in_a_row(&names)));
        lock(&self.names).streams.extend(names);
        self.job.snapshots.notify();
        Ok(())
    }

    /// Removes streams, at once or at a time; returns once the engine knows, or refuses.
    pub(crate) async fn remove_streams(&self, removed: api::RemovedStreams) -> Result<(), Fault> {
        let at = match removed.when_s {
            None => None,
            Some(at) if (0.0..1e9).contains(&at) => Some(Nanos((at * 1e9) as u64)),
            Some(_) => return Err(Fault::value("when_s", "expected 0 to 1000000000")),
        };
        if removed.streams.as_ref().is_some_and(Vec::is_empty) {
            return Err(Fault::value(
                "streams",
                "expected at least one name; without 'streams' all are removed",
            ));
        }
        let names = removed.streams.unwrap_or_default();
        let who = if names.is_empty() { "all streams".to_owned() } else { in_a_row(&names) };
        let words = match removed.when_s {
            None => format!("{who} removed"),
            Some(at) => format!("{who} removed at {at} s"),
        };
        let is_meant = |stream: &StreamPlan| names.iter().any(|name| stream.is_called(name));
        let meant: Vec<bool> =
            lock(&self.plan).streams.iter().map(|stream| names.is_empty() || is_meant(stream)).collect();
        let command = Command::RemoveStreams(RemoveCommand { streams: names, at });
        carried_out(self.job.control.request(command)).await?;
        if at.is_none() {
            // They count no longer for the limits.
            let mut plan = lock(&self.plan);
            let gone = plan.streams.iter_mut().zip(meant).filter(|(_, meant)| *meant);
            gone.for_each(|(stream, _)| stream.rate = Load::Packets(Pps::ZERO));
        }
        lock(&self.changes).made.push(words);
        self.job.snapshots.notify();
        Ok(())
    }

    /// Sets counters to zero; returns once they are, or the engine refuses.
    pub(crate) async fn clear(&self) -> Result<(), Fault> {
        carried_out(self.job.control.request(Command::Clear)).await?;
        lock(&self.changes).made.push("counters set to zero".to_owned());
        self.job.snapshots.notify();
        Ok(())
    }

    /// Switches the capture of a port on or off.
    pub(crate) async fn capture(&self, port: &str, on: bool) {
        let command = Command::SetCapture(CaptureCommand { port: port.to_owned(), on });
        let reply = self.job.control.request(command).into_future();
        if let Ok(Err(CommandError::Refused(reason))) = tokio::time::timeout(PATIENCE, reply).await {
            tracing::warn!(port, on, "capture not switched: {reason}");
        }
    }

    /// Lets arrivals of streams at ports, by the ports' names, count against outages, or not.
    pub(crate) async fn count_arrivals(&self, streams: BTreeMap<String, Vec<String>>, on: bool) {
        for (port, streams) in streams {
            let command = Command::CountArrivals(ArrivalsCommand { streams, port, on });
            let reply = self.job.control.request(command).into_future();
            if let Ok(Err(CommandError::Refused(reason))) = tokio::time::timeout(PATIENCE, reply).await {
                tracing::warn!(on, "arrivals not counted otherwise: {reason}");
            }
        }
    }

    /// Sends a ping from one of its ports, and waits for its outcome.
    pub(crate) async fn ping(&self, new: &NewPing) -> Result<api::PingResult, Fault> {
        if self.job.has_ended() {
            return Err(Fault::conflict("the run has ended"));
        }
        let ports = self.names().ports;
        self.pings.send(new, &ports, &self.job).await
    }

    /// The requested change, if it is valid and within the limits.
    fn understood(&self, wanted: &api::NewRate, limits: &Limits) -> Result<Change, Fault> {
        let mut plan = lock(&self.plan);
        // Every plan has ports, until the run is over.
        if plan.ports.is_empty() {
            return Err(Fault::conflict("the run has ended"));
        }
        let is_meant = |stream: &StreamPlan| wanted.stream.as_ref().is_none_or(|name| stream.is_called(name));
        let is_entry =
            |entry: &SessionEntry| wanted.stream.as_ref().is_none_or(|name| entry.session.name == *name);
        let is_known = plan.streams.iter().any(is_meant) || plan.sessions.iter().any(is_entry);
        if let Some(name) = wanted.stream.as_ref().filter(|_| !is_known) {
            return Err(Fault::value("stream", format!("no stream '{name}', and no sessions of that name")));
        }
        let mut rates = Vec::new();
        let speed = match (&wanted.rate, wanted.scale) {
            (Some(rate), None) => {
                let speed: Speed = rate.parse().map_err(|error: String| Fault::value("rate", error))?;
                let Speed::Rate(load) = speed else {
                    return Ok(Change {
                        command: RateCommand { stream: wanted.stream.clone(), speed, at: None },
                        rates,
                    });
                };
                let mut changed = plan.clone();
                for (index, stream) in changed.streams.iter_mut().enumerate().filter(|(_, s)| is_meant(s)) {
                    rates.push((index, std::mem::replace(&mut stream.rate, load), load));
                }
                limits.check(&changed)?;
                *plan = changed;
                Speed::Rate(load)
            }
            (None, Some(scale)) if (0.0..=4_000.0).contains(&scale) => {
                if scale > 1.0 && limits.rate.is_some() {
                    return Err(Fault::forbidden(
                        "scale: this server limits rates; to raise a rate, set 'rate'",
                    ));
                }
                Speed::Share((scale * 1e6).round() as u32)
            }
            (None, Some(_)) => return Err(Fault::value("scale", "expected 0 to 4000")),
            _ => return Err(Fault::value("rate", "expected either 'rate' or 'scale'")),
        };
        Ok(Change { command: RateCommand { stream: wanted.stream.clone(), speed, at: None }, rates })
    }

    /// Has an agent open the ports, reports whether that succeeded, and attends it to the end, which is announced once the
    /// ports are released.
    pub(crate) fn play(
        self: &Arc<Self>,
        order: Order,
        requests: Requests,
        place: &Place,
        kept: Option<StoredRun>,
        opened: impl FnOnce(Result<(), Fault>) + 'static,
    ) -> Ending {
        let _span =
            tracing::info_span!("run", id = %self.job.about.id, name = %self.job.about.name).entered();
        let mut watcher =
            Watcher { run: self, opened: Some(Box::new(opened)), kept, recorder: None, beginning: None };
        let ended = place.run(order, requests, &mut watcher);
        let Watcher { opened, kept, recorder, beginning, .. } = watcher;
        let mut kept = recorder.and_then(Recorder::end).or(kept);
        let (ending, refusal) = match ended {
            Ok(End::Run(end)) => {
                let RunEnd { result: document, stopped, .. } = *end;
                let reason = document.failure.clone().or_else(|| document.lost_captures());
                let incomplete = document.incomplete();
                let state = match (&reason, &incomplete, document.interrupted) {
                    (Some(_), ..) => State::Failed,
                    (None, Some(_), _) => State::Interrupted,
                    (None, None, true) => State::Stopped,
                    (None, None, false) => State::Done,
                };
                let why = reason
                    .or(incomplete)
                    .or_else(|| self.job.status().reason.is_none().then_some(stopped).flatten());
                (self.concludes(state, why, Some(&document), &mut kept), None)
            }
            Ok(other) => {
                let refusal = other.refusal();
                let reason = Some(refusal.reason.clone());
                (self.concludes(State::Failed, reason, None, &mut kept), Some(refusal))
            }
            Err(Lost { reason, is_cut_off }) => {
                tracing::error!("{reason}");
                let (state, reason) = match is_cut_off {
                    true => (State::Interrupted, format!("incomplete: {reason}")),
                    false => (State::Failed, reason),
                };
                let document = beginning.and_then(|beginning| self.what_is_left(&beginning, &reason));
                let reason = match &document {
                    Some(document) => {
                        format!(
                            "{reason}; what was counted in the first {:.1} s is kept",
                            document.duration_s
                        )
                    }
                    None => reason,
                };
                let refusal = Refusal { reason: reason.clone(), is_bad_input: false };
                (self.concludes(state, Some(reason), document.as_ref(), &mut kept), Some(refusal))
            }
        };
        if let (Some(opened), Some(refusal)) = (opened, refusal) {
            opened(Err(fault(&refusal)));
        }
        ending
    }

    /// The result of a run whose agent is lost, from its last snapshot; none if there was no traffic yet.
    fn what_is_left(&self, beginning: &Beginning, reason: &str) -> Option<ResultDocument> {
        let full = self.job.snapshots.full()?;
        let seconds = full.at_s.min(self.duration.as_secs_f64());
        let document = beginning.so_far(seconds, full.total().clone());
        Some(ResultDocument { failure: Some(reason.to_owned()), ..document })
    }

    /// Stores the outcome first, so that no client receives a result that a crash could take back. A result that the
    /// store refuses is returned nevertheless, with a reason, and stored as soon as possible.
    fn concludes(
        self: &Arc<Self>,
        state: State,
        reason: Option<String>,
        found: Option<&ResultDocument>,
        kept: &mut Option<StoredRun>,
    ) -> Ending {
        let why = reason.clone().or(self.job.status().reason);
        let stored = kept.as_mut().map_or(Ok(()), |kept| kept.keep(state, why.as_deref(), found));
        if let Some(document) = found {
            *lock(&self.end) = Outcome {
                verdict: Some(document.verdict.clone()),
                achieved: document.achieved.clone(),
                overall: document.overall.clone(),
                result: serde_json::to_string(document).ok().map(Into::into),
                totals: Some(Arc::new(totals(document))),
            };
        }
        self.note_store(None);
        let also =
            |sentence: String| Some(why.clone().map_or(sentence.clone(), |why| format!("{why}; {sentence}")));
        let reason = match (stored, kept.take()) {
            (Err(StoreError::NoCampaign { .. }), _) => {
                also("the result is not stored: it was deleted from the store during the run".to_owned())
            }
            (Err(error), Some(kept)) => {
                let sentence = format!("the result is not stored yet, trying again: {error}");
                tracing::error!("{sentence}");
                self.store_later(kept, state, why.clone(), found.cloned());
                also(sentence)
            }
            _ => reason,
        };
        self.let_go();
        tracing::info!(?state, "ended");
        Ending { state, reason }
    }

    /// Retries on a separate thread until the store accepts a result.
    fn store_later(
        self: &Arc<Self>,
        mut kept: StoredRun,
        state: State,
        why: Option<String>,
        found: Option<ResultDocument>,
    ) {
        let run = self.clone();
        let body = move || {
            loop {
                std::thread::sleep(STORE_AGAIN);
                match kept.keep(state, why.as_deref(), found.as_ref()) {
                    Ok(()) => break tracing::info!(id = %run.job.about.id, "the result is stored now"),
                    Err(error @ StoreError::NoCampaign { .. }) => {
                        break tracing::error!(id = %run.job.about.id, "the result is not stored: {error}");
                    }
                    Err(_) => {}
                }
            }
            run.job.set_reason(why);
        };
        let spawned = std::thread::Builder::new().name("eagre-store-later".to_owned()).spawn(body);
        if let Err(error) = spawned {
            tracing::error!("the result will not be stored: no thread: {error}");
        }
    }

    /// Lets go of what only an active run needs: a run of thousands of streams holds megabytes, and is listed for long.
    fn let_go(&self) {
        let many = self.streams() > ROWS_OF_STREAMS_MAX;
        let has_totals = lock(&self.end).totals.is_some();
        self.job.snapshots.shrink(has_totals, has_totals && many);
        self.full_texts.forget();
        lock(&self.memory).clear();
        let mut plan = lock(&self.plan);
        (plan.ports, plan.streams, plan.sessions, plan.protocols, plan.chains, plan.groups) =
            Default::default();
    }

    /// About how much memory it holds since it has ended, bytes.
    pub(crate) fn held_bytes(&self) -> usize {
        let documents = self.result().map_or(0, |text| text.len() * DOCUMENTS);
        ENDED_BYTES + self.streams() * NAME_BYTES + documents
    }
}

/// Waits until the engine has done something, for as long as that takes.
async fn carried_out(reply: PendingReply) -> Result<(), Fault> {
    match reply.await {
        Ok(_) => Ok(()),
        Err(CommandError::Refused(reason)) => Err(Fault::conflict(reason)),
        Err(CommandError::Ended) => Err(Fault::conflict("the run has ended")),
    }
}

/// The error for a client whose run did not begin.
fn fault(refusal: &Refusal) -> Fault {
    let status = match refusal.is_bad_input {
        true => StatusCode::UNPROCESSABLE_ENTITY,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    Fault::new(status, refusal.reason.clone())
}

fn totals(document: &ResultDocument) -> TotalDocument {
    TotalDocument {
        cleared: document.cleared.clone(),
        ports: document.ports.clone(),
        streams: document.streams.clone(),
        groups: document.groups.clone(),
        sessions: document.sessions.clone(),
    }
}

/// `west at 2Mpps`, `all streams at 50%`.
fn in_words(command: &RateCommand) -> String {
    let who = command.stream.as_deref().unwrap_or("all streams");
    match command.speed {
        Speed::Share(0) => format!("{who} paused"),
        Speed::Share(ppm) => format!("{who} at {}% of the profile's rate", f64::from(ppm) / 1e4),
        Speed::Rate(_) | Speed::Open(_) => format!("{who} at {}", command.speed),
    }
}

/// Notified once a run's ports are open, or of the reason why they are not.
type Opened = Box<dyn FnOnce(Result<(), Fault>)>;

/// Publishes the messages of a run's agent.
struct Watcher<'a> {
    run: &'a Arc<RunJob>,
    opened: Option<Opened>,
    /// Its entry in the store, as long as no recorder has it.
    kept: Option<StoredRun>,
    recorder: Option<Recorder>,
    beginning: Option<Beginning>,
}

impl Attendant for Watcher<'_> {
    fn opened(&mut self) {
        if let Some(opened) = self.opened.take() {
            opened(Ok(()));
        }
    }

    fn starts(&mut self, clock: Clock, line: &Line) {
        let (seed, profile_sha256) = {
            let plan = lock(&self.run.plan);
            (plan.seed, plan.profile_sha256.clone())
        };
        self.beginning = Some(Beginning::new(seed, &profile_sha256, clock));
        self.recorder = self.kept.take_if(|_| self.run.keeps_intervals()).map(|kept| {
            let run = self.run.clone();
            Recorder::new(kept, line.clone(), move |trouble| run.note_store(trouble))
        });
    }

    fn machine_lost(&mut self, agent: Option<&str>, reason: &str) {
        tracing::error!("the run continues without a machine: {reason}");
        lock(&self.run.losses).push(format!("the run continues without a machine: {reason}"));
        lock(&self.run.agents_lost).extend(agent.map(str::to_owned));
        self.run.job.snapshots.notify();
    }

    fn neighbours_silent(&mut self, port: &str, neighbours: &[IpAddr]) {
        tracing::warn!(port, ?neighbours, "neighbours do not reply");
    }

    fn live(&mut self, live: Live) {
        if let Some(beginning) = &mut self.beginning {
            beginning.note_start(live.at_s);
        }
        self.run.job.set_state(if live.draining { State::Draining } else { State::Running });
        self.run.job.snapshots.put_live(live);
        self.run.job.snapshots.notify();
    }

    fn full(&mut self, full: FullView) {
        self.run.job.snapshots.put_full(full);
    }

    fn interval(&mut self, interval: IntervalDocument) {
        if let Some(recorder) = &self.recorder {
            recorder.interval(interval);
        }
    }

    fn batch(&mut self, batch: Batch) {
        if let (Some(recorder), Some(beginning)) = (&self.recorder, &mut self.beginning) {
            beginning.note_start(batch.at_s);
            recorder.batch(beginning, batch);
        }
    }
}
