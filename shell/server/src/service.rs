//! The server's functions, independent of the protocol.

use crate::access::Caller;
use crate::admission::Admission;
use crate::assets::Pages;
use crate::audit::Audit;
use crate::budget::Budget;
use crate::campaigns::CampaignJob;
use crate::fault::Fault;
use crate::jobs::{Cores, Ending, Job, lock, now};
use crate::leases::{Leases, Wanted};
use crate::limits::Limits;
use crate::links::{self, Links};
use crate::options::Options;
use crate::port_key::PortKey;
use crate::profile_store::ProfileStore;
use crate::profiles::secret;
use crate::runs::RunJob;
use crate::scripts::ScriptJob;
use api::{AuditEntry, Lease, NewLease, Run, State};
use fleet::{Fleet, FleetError};
use os::claim::{Claim, SharedFolder};
use os::cpu;
use serde_json::json;
use std::fs::Permissions;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use store::{Filter, Store};

/// Maximum number of listed runs and campaigns.
const REMEMBERED: usize = 200;
/// Maximum size of their results in memory, bytes; older ones are in the store.
const REMEMBERED_BYTES: usize = 64 << 20;
/// Shortest and longest lease, s.
const TTL_S: std::ops::RangeInclusive<f64> = 1.0..=86_400.0;
/// Why runs of an earlier server ended.
const SERVER_ENDED: &str = "the server ended before it did";

/// A run, a campaign or a script.
#[derive(Clone)]
pub(crate) enum Work {
    Run(Arc<RunJob>),
    Campaign(Arc<CampaignJob>),
    Script(Arc<ScriptJob>),
}

impl Work {
    pub(crate) fn job(&self) -> &Job {
        match self {
            Self::Run(run) => &run.job,
            Self::Campaign(campaign) => &campaign.job,
            Self::Script(script) => &script.job,
        }
    }

    pub(crate) fn what(&self) -> &'static str {
        match self {
            Self::Run(_) => "run",
            Self::Campaign(_) => "campaign",
            Self::Script(_) => "script",
        }
    }

    /// Ends a job whose thread panicked.
    pub(crate) fn end_after_panic(&self) {
        if !self.job().has_ended() {
            let reason = format!("internal error, please report it: the {}'s thread panicked", self.what());
            self.job().ends(Ending { state: State::Failed, reason: Some(reason) });
        }
    }
}

/// The server without its protocols.
pub struct Service {
    pub(crate) limits: Limits,
    pub(crate) admission: Admission,
    pub(crate) profiles: ProfileStore,
    pub(crate) pages: Pages,
    pub(crate) audit: Audit,
    pub(crate) store: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) cores: Arc<Cores>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) leases: Mutex<Leases>,
    /// Agents on other machines.
    pub(crate) fleet: Option<Arc<Fleet>>,
    links: Links,
    /// In the order they were started.
    works: Mutex<Vec<Work>>,
    /// Runs that an earlier server left unfinished.
    unfinished: Vec<Run>,
    /// Claims that mark this server as alive: to servers on the same store, and with the same state.
    claim: Claim,
    _state_in_use: SharedFolder,
}

impl Service {
    /// A service with the folders it needs. Jobs left unfinished by an earlier server are marked as interrupted.
    ///
    /// # Errors
    /// A folder can't be made, the store can't be opened.
    pub fn new(options: &Options) -> Result<Self, Fault> {
        let failed = |error: std::io::Error| {
            let hint = match error.kind() {
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                    "; --state and --store name places that may be written"
                }
                _ => "",
            };
            Fault::machine(format!("{}: {error}{hint}", options.state.display()))
        };
        let runs = options.state.join("runs");
        private_folder(&runs).map_err(failed)?;
        let state_in_use = SharedFolder::join(&options.state, || remove_left(&options.state, &runs));
        let cores = match options.cores.as_slice() {
            [] => cpu::worker_cores(cpu::allowed().len().saturating_sub(1).max(1), None),
            given => {
                cpu::check_cores(given).map_err(|reason| Fault::value("worker_cores", reason))?;
                given.to_vec()
            }
        };
        let mut store = Store::open(&options.store)?;
        let servers = servers(&options.store);
        let claim = Claim::new(&servers)
            .map_err(|error| Fault::machine(format!("{}: {error}", servers.display())))?;
        let unfinished = unfinished(&mut store, &servers)?;
        let fleet = fleet(options, &claim)?;
        Ok(Self {
            limits: options.limits.clone(),
            admission: Admission::new(
                &options.limits.ports,
                options.listens(),
                &options.state,
                fleet.clone(),
            )
            .map_err(failed)?,
            profiles: ProfileStore::new(&options.state).map_err(failed)?,
            pages: Pages::new(options.docs.as_deref()),
            audit: Audit::open(&options.state).map_err(failed)?,
            store: options.store.clone(),
            state: options.state.clone(),
            cores: Arc::new(Cores::new(&cores)),
            budget: Budget::new(),
            leases: Mutex::default(),
            fleet,
            links: Links::default(),
            works: Mutex::default(),
            unfinished,
            claim,
            _state_in_use: state_in_use.map_err(failed)?,
        })
    }

    /// Identity of the server that serves new jobs, for the store.
    pub(crate) fn served(&self) -> serde_json::Value {
        json!({"claim": self.claim.number()})
    }

    /// Cores that runs work on.
    pub(crate) fn worker_cores(&self) -> Vec<usize> {
        self.cores.all()
    }

    /// Runs of an earlier server that did not end.
    pub(crate) fn unfinished(&self) -> &[Run] {
        &self.unfinished
    }

    /// Reserves ports.
    pub(crate) fn lease(&self, wanted: &NewLease, caller: &Caller) -> Result<Lease, Fault> {
        let ttl = ttl(wanted.ttl_s)?;
        if wanted.ports.is_empty() || wanted.ports.len() > 256 {
            return Err(Fault::value("ports", "expected 1 to 256 port names"));
        }
        if let Some((index, port)) =
            wanted.ports.iter().enumerate().find(|(_, port)| port.is_empty() || port.len() > 256)
        {
            return Err(Fault::value(&format!("ports[{index}]"), format!("'{port}' is not a port name")));
        }
        let ports: Result<Vec<_>, Fault> =
            wanted.ports.iter().map(|port| self.admission.admit_any(port)).collect();
        let ports = ports?;
        let holder = match wanted.holder.as_deref().map(str::trim).filter(|what| !what.is_empty()) {
            Some(what) if what.chars().count() > 100 => {
                return Err(Fault::value("holder", "expected at most 100 characters"));
            }
            Some(what) if what.contains(char::is_control) => {
                return Err(Fault::value("holder", "expected no control characters"));
            }
            Some(what) => format!("{} ({what})", caller.name),
            None => caller.name.clone(),
        };
        let id = secret();
        self.take(&id, Wanted { ports, holder, caller, ttl, of_run: false })?;
        lock(&self.leases).document(&id, Instant::now())
    }

    /// Reserves ports here, and ports of agents at the broker.
    pub(crate) fn take(&self, id: &str, wanted: Wanted<'_>) -> Result<(), Fault> {
        let remote: Vec<_> = wanted.ports.iter().filter_map(|port| port.remote().cloned()).collect();
        let holder = wanted.holder.clone();
        lock(&self.leases).take(id, wanted, Instant::now())?;
        let Some(fleet) = self.fleet.as_ref().filter(|_| !remote.is_empty()) else { return Ok(()) };
        fleet.take(&remote, &holder).map_err(|reason| {
            lock(&self.leases).remove(id);
            Fault::conflict(reason)
        })
    }

    /// Gives a lease more time.
    pub(crate) fn renew(&self, id: &str, ttl_s: Option<f64>) -> Result<Lease, Fault> {
        let (ttl, now) = (ttl_s.map(ttl).transpose()?, Instant::now());
        let mut leases = lock(&self.leases);
        leases.renew(id, ttl, now)?;
        leases.document(id, now)
    }

    /// Ends a lease and what was started with it.
    pub(crate) fn release(&self, id: &str) -> Result<(), Fault> {
        {
            let mut leases = lock(&self.leases);
            leases.get(id)?;
            leases.end(id);
        }
        self.tick();
        Ok(())
    }

    /// All leases as `caller` may see them.
    pub(crate) fn leases(&self, caller: &Caller) -> Vec<Lease> {
        lock(&self.leases).list(caller, Instant::now())
    }

    /// Lease of a port.
    pub(crate) fn lease_of(&self, port: &str) -> Option<api::PortLease> {
        let port = &match &self.fleet {
            Some(fleet) if fleet::split(port).is_some() => PortKey::Remote(fleet.find(port).ok()?),
            _ => PortKey::Here(self.admission.resolve(port).ok()?),
        };
        let leases = lock(&self.leases);
        leases.of_port(port).map(|entry| crate::leases::of_port(entry, Instant::now()))
    }

    /// Maintains leases: called a few times a second. Jobs on an expired lease are stopped; once none is active, its
    /// ports are free.
    pub(crate) fn tick(&self) {
        let works = lock(&self.works).clone();
        let alive: Vec<&Work> = works.iter().filter(|work| !work.job().has_ended()).collect();
        let switched = self.links.leases();
        let mut leases = lock(&self.leases);
        let now = Instant::now();
        let mut over: Vec<&Work> = Vec::new();
        for work in alive.iter().filter(|work| work.job().about.own_lease) {
            let _ = leases.renew(&work.job().about.lease, None, now);
            if let Work::Run(run) = work {
                run.agents_lost().iter().for_each(|agent| leases.leave(&work.job().about.lease, agent));
            }
        }
        for id in leases.expired(now) {
            leases.end(&id);
            over.extend(alive.iter().copied().filter(|work| work.job().about.lease == id));
        }
        let ended: Vec<String> = switched.into_iter().filter(|id| leases.get(id).is_err()).collect();
        // With the lock held, nothing is waited for that may take long, and no job goes with its last pointer.
        drop(leases);
        over.into_iter().for_each(|work| work.job().stop("its lease ended"));
        self.links.restore(|lease| ended.iter().any(|id| id == lease));
        let mut leases = lock(&self.leases);
        leases.forget_unused();
        if let Some(fleet) = &self.fleet {
            fleet.keep(leases.remote());
        }
    }

    /// Sets the link of a leased port up or down, until the lease ends.
    pub(crate) fn switch_link(&self, lease: &str, device: &str, up: bool) -> Result<(), Fault> {
        let id = self.admission.admit(device)?;
        let interface = links::interface(&id)?;
        let leases = lock(&self.leases);
        leases.covers(lease, &[PortKey::Here(id)])?;
        self.links.switch(&interface, lease, up)
    }

    /// Everything that was started, newest first.
    pub(crate) fn works(&self) -> Vec<Work> {
        lock(&self.works).iter().rev().cloned().collect()
    }

    /// Runs, newest first.
    pub(crate) fn runs(&self) -> Vec<Arc<RunJob>> {
        let runs = self.works().into_iter().filter_map(|work| match work {
            Work::Run(run) => Some(run),
            _ => None,
        });
        runs.collect()
    }

    /// A run by its id, or the newest as `latest`.
    pub(crate) fn run(&self, id: &str) -> Result<Arc<RunJob>, Fault> {
        let found = self.runs().into_iter().find(|run| id == "latest" || run.job.about.id == id);
        found.ok_or_else(|| Fault::not_found(format!("no run '{id}'")))
    }

    /// Campaigns, newest first.
    pub(crate) fn campaigns(&self) -> Vec<Arc<CampaignJob>> {
        let campaigns = self.works().into_iter().filter_map(|work| match work {
            Work::Campaign(campaign) => Some(campaign),
            _ => None,
        });
        campaigns.collect()
    }

    /// A campaign by its id, or the newest as `latest`.
    pub(crate) fn campaign(&self, id: &str) -> Result<Arc<CampaignJob>, Fault> {
        let found =
            self.campaigns().into_iter().find(|campaign| id == "latest" || campaign.job.about.id == id);
        found.ok_or_else(|| Fault::not_found(format!("no campaign '{id}' since the server started")))
    }

    /// Scripts, newest first.
    pub(crate) fn scripts(&self) -> Vec<Arc<ScriptJob>> {
        let scripts = self.works().into_iter().filter_map(|work| match work {
            Work::Script(script) => Some(script),
            _ => None,
        });
        scripts.collect()
    }

    /// A script by its id, or the newest as `latest`.
    pub(crate) fn script(&self, id: &str) -> Result<Arc<ScriptJob>, Fault> {
        let found = self.scripts().into_iter().find(|script| id == "latest" || script.job.about.id == id);
        found.ok_or_else(|| Fault::not_found(format!("no script '{id}' since the server started")))
    }

    /// Forgets a run or script that has ended.
    pub(crate) fn forget(&self, ended: &Work) -> Result<(), Fault> {
        if !ended.job().has_ended() {
            return Err(Fault::conflict(format!("the {} is still active; stop it first", ended.what())));
        }
        let id = &ended.job().about.id;
        lock(&self.works).retain(|work| work.job().about.id != *id);
        // `ended` keeps it until the lock is free.
        self.remove_files(id);
        Ok(())
    }

    fn remove_files(&self, id: &str) {
        let _ = std::fs::remove_dir_all(self.state.join("runs").join(id));
    }

    /// Asks everything to stop, waits for it, and leaves links as they were found.
    pub(crate) fn stop_all(&self, why: &str, patience: Duration) {
        let works = self.works();
        works.iter().for_each(|work| work.job().stop(why));
        let end = Instant::now() + patience;
        while works.iter().any(|work| !work.job().has_ended()) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.links.restore(|_| true);
    }

    /// The ports of a job are closed.
    pub(crate) fn give_back(&self, lease: &str) {
        lock(&self.leases).let_go(lease);
    }

    /// Lists a job; the oldest that have ended are forgotten when there are too many.
    pub(crate) fn remember(&self, work: Work) {
        let mut works = lock(&self.works);
        let mut gone = Vec::new();
        works.push(work);
        let held = |work: &Work| match work {
            Work::Run(run) => run.held_bytes(),
            Work::Campaign(campaign) => campaign.result().map_or(0, |text| text.len()),
            Work::Script(script) => script.held_bytes(),
        };
        while works.len() > REMEMBERED || works.iter().map(held).sum::<usize>() > REMEMBERED_BYTES {
            let Some(oldest) = works.iter().position(|work| work.job().has_ended()) else { break };
            gone.push(works.remove(oldest));
        }
        drop(works);
        gone.iter().for_each(|work| self.remove_files(&work.job().about.id));
    }
}

/// A folder that only this user can look into: captures hold others' traffic.
pub(crate) fn private_folder(path: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    // One that is there already may have been open to others.
    std::fs::set_permissions(path, Permissions::from_mode(0o700))
}

/// Agents on other machines, if the operator has a broker.
fn fleet(options: &Options, claim: &Claim) -> Result<Option<Arc<Fleet>>, Fault> {
    let Some(access) = &options.nats else { return Ok(None) };
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    // Unique among controllers of one broker, and different after a restart.
    let name = format!("{}-{}-{}", host.trim(), claim.number(), &secret()[..8]);
    let fleet = Fleet::connect(access, &name).map_err(|error| match error {
        FleetError::BadInput(reason) => Fault::unprocessable(reason),
        FleetError::Refused(reason) => Fault::machine(reason),
    })?;
    Ok(Some(Arc::new(fleet)))
}

/// Writes refusals by a NATS server of this machine to the audit log, while the service lives.
pub(crate) fn note_refusals(options: &Options, service: &Arc<Service>) {
    let folder = options.nats.as_ref().and_then(|access| access.local.as_deref());
    let broker = folder.and_then(|folder| fleet::LocalBroker::new(folder, None).ok());
    let Some(broker) = broker.filter(|broker| broker.is_made().is_ok_and(|made| made)) else { return };
    let service = Arc::downgrade(service);
    let followed = fleet::follow(broker, move |refusal| {
        let Some(service) = service.upgrade() else { return false };
        if let Some(refusal) = refusal {
            service.audit.note(AuditEntry {
                at: now(),
                who: refusal.who.unwrap_or_else(|| "-".to_owned()),
                role: None,
                from: refusal.from,
                what: format!("NATS {}", refusal.what),
                status: if refusal.is_known { 403 } else { 401 },
                detail: Some(refusal.reason),
            });
        }
        true
    });
    if let Err(error) = followed {
        tracing::error!("refusals of nats-server are not audited: {error}");
    }
}

fn ttl(seconds: f64) -> Result<Duration, Fault> {
    if TTL_S.contains(&seconds) {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(Fault::value("ttl_s", format!("expected {} to {} s", TTL_S.start(), TTL_S.end())))
}

/// Removes what servers that are gone have left in the state folder: folders of runs and scripts, which no client can reach any more,
/// and profiles that were being written.
fn remove_left(state: &Path, runs: &Path) {
    for entry in std::fs::read_dir(runs).into_iter().flatten().flatten() {
        if let Err(error) = std::fs::remove_dir_all(entry.path()) {
            tracing::warn!("{}: left by an earlier server, and not removed: {error}", entry.path().display());
        }
    }
    os::draft::remove_abandoned(&crate::profile_store::folder(state));
}

/// The file in which all servers on a store have a claim.
fn servers(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push("-servers");
    name.into()
}

/// Marks what servers that are gone have begun and not ended.
fn unfinished(store: &mut Store, servers: &Path) -> Result<Vec<Run>, Fault> {
    let mut all = Vec::new();
    for summary in store.list(&Filter::default())?.into_iter().filter(|s| s.state == store::State::Running) {
        let campaign = store.campaign(&summary.id)?;
        let served = &campaign.config["served"];
        if served.is_null() {
            continue;
        }
        // If that is not known, it may be alive.
        let is_alive = |number| os::claim::is_claimed(servers, number).unwrap_or(true);
        if served["claim"].as_u64().is_some_and(is_alive) {
            continue;
        }
        // As far as the store has it.
        let stored = store.trials(&summary.id)?.pop();
        let ended = now();
        store.end(&summary.id, store::State::Interrupted, Some(&ended), Some(SERVER_ENDED))?;
        let texts = |value: &serde_json::Value| {
            value
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|text| text.as_str().map(str::to_owned))
                .collect()
        };
        all.push(Run {
            id: campaign.id.to_string(),
            name: campaign.name,
            state: State::Interrupted,
            reason: Some(SERVER_ENDED.to_owned()),
            holder: campaign.config["by"].as_str().unwrap_or_default().to_owned(),
            ports: texts(&campaign.config["ports"]),
            started: campaign.started,
            ended: Some(ended),
            duration_s: campaign.config["duration_s"].as_f64().unwrap_or_default(),
            at_s: stored.and_then(|trial| trial.figures.duration_s).unwrap_or_default(),
            seed: campaign.seed,
            warnings: Vec::new(),
            verdict: None,
            achieved: None,
            overall: None,
            rate_changes: Vec::new(),
            rate_changes_in_all: 0,
            refused_changes: Vec::new(),
            refused_changes_in_all: 0,
            names: api::Names::default(),
            captures: Vec::new(),
        });
    }
    Ok(all)
}
