//! What the server does for its clients, whatever they speak.

use crate::access::Caller;
use crate::audit::Audit;
use crate::campaigns::{CampaignJob, Setup};
use crate::fault::Fault;
use crate::jobs::{Cores, CoresInUse, Job, NewJob, lock, now};
use crate::leases::{Leases, Wanted};
use crate::limits::{Limits, port_name};
use crate::options::Options;
use crate::profiles::{Written, fresh_seed, plan, secret};
use crate::runs::{KeptRun, RunJob};
use crate::shelf::Shelf;
use api::{Lease, NewCampaign, NewLease, NewRun, Run, State};
use campaign::{Choice, Settings};
use methods::Attributes;
use os::cpu;
use profile::{Overrides, Plan};
use serde_json::json;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use store::{Filter, Store};
use units::{Load, Nanos};

/// Runs and campaigns that have ended and are still listed.
const REMEMBERED: usize = 200;
/// Bytes of their results; older ones are in the store.
const REMEMBERED_BYTES: usize = 256 << 20;
/// Runs and campaigns at a time.
const AT_A_TIME: usize = 16;
/// What a lease that was made for a run lasts from one renewal to the next.
const RUN_LEASE: Duration = Duration::from_secs(60);
/// Shortest and longest time of a lease.
const TTL_S: std::ops::RangeInclusive<f64> = 1.0..=86_400.0;
/// Why what was begun before the server's start has ended.
const SERVER_ENDED: &str = "the server ended before it did";

/// A run or a campaign.
#[derive(Clone)]
pub(crate) enum Work {
    Run(Arc<RunJob>),
    Campaign(Arc<CampaignJob>),
}

impl Work {
    pub(crate) fn job(&self) -> &Job {
        match self {
            Self::Run(run) => &run.job,
            Self::Campaign(campaign) => &campaign.job,
        }
    }
}

/// The server without its wires.
pub struct Service {
    pub(crate) limits: Limits,
    pub(crate) shelf: Shelf,
    pub(crate) audit: Audit,
    pub(crate) store: PathBuf,
    state: PathBuf,
    cores: Arc<Cores>,
    leases: Mutex<Leases>,
    /// In the order they were started.
    works: Mutex<Vec<Work>>,
    /// Runs that an earlier server left unfinished.
    unfinished: Vec<Run>,
}

impl Service {
    /// A service with the folders it needs. What an earlier one left unfinished is marked so.
    ///
    /// # Errors
    /// A folder can't be made, the store can't be opened.
    pub fn new(options: &Options) -> Result<Self, Fault> {
        let failed = |error: std::io::Error| Fault::machine(format!("{}: {error}", options.state.display()));
        std::fs::create_dir_all(options.state.join("runs")).map_err(failed)?;
        let cores = match options.cores.as_slice() {
            [] => cpu::worker_cores(cpu::allowed().len().saturating_sub(1).max(1), None),
            given => given.to_vec(),
        };
        let unfinished = unfinished(&mut Store::open(&options.store)?)?;
        Ok(Self {
            limits: options.limits.clone(),
            shelf: Shelf::new(&options.state).map_err(failed)?,
            audit: Audit::open(&options.state).map_err(failed)?,
            store: options.store.clone(),
            state: options.state.clone(),
            cores: Arc::new(Cores::new(&cores)),
            leases: Mutex::default(),
            works: Mutex::default(),
            unfinished,
        })
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
            return Err(Fault::value("ports", "from 1 to 256 names of ports are expected"));
        }
        if let Some((index, port)) =
            wanted.ports.iter().enumerate().find(|(_, port)| port.is_empty() || port.len() > 256)
        {
            return Err(Fault::value(
                &format!("ports[{index}]"),
                format!("'{port}' is not the name of a port"),
            ));
        }
        if let Some(port) = wanted.ports.iter().find(|port| !self.limits.allows(port)) {
            return Err(Fault::forbidden(format!("this server does not let '{port}' be used")));
        }
        let mut ports: Vec<String> = wanted.ports.iter().map(|port| port_name(port)).collect();
        ports.sort();
        ports.dedup();
        let holder = match wanted.holder.as_deref().map(str::trim).filter(|what| !what.is_empty()) {
            Some(what) if what.chars().count() > 100 => {
                return Err(Fault::value("holder", "at most 100 characters are expected"));
            }
            Some(what) => format!("{} ({what})", caller.name),
            None => caller.name.clone(),
        };
        let (id, now) = (secret(), Instant::now());
        let mut leases = lock(&self.leases);
        leases.take(&id, Wanted { ports, holder, caller, ttl, of_run: false }, now)?;
        leases.document(&id, now)
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

    /// Who has a port.
    pub(crate) fn lease_of(&self, port: &str) -> Option<api::LeaseOfPort> {
        let leases = lock(&self.leases);
        leases.of_port(port).map(|entry| crate::leases::of_port(entry, Instant::now()))
    }

    /// Sees to leases: called a few times a second. What runs on a lease that is over is stopped; once nothing does, its
    /// ports are free.
    pub(crate) fn tick(&self) {
        let works = lock(&self.works).clone();
        let alive: Vec<&Work> = works.iter().filter(|work| !work.job().has_ended()).collect();
        let mut leases = lock(&self.leases);
        let now = Instant::now();
        for work in alive.iter().filter(|work| work.job().own_lease) {
            let _ = leases.renew(&work.job().lease, None, now);
        }
        for id in leases.expired(now) {
            leases.end(&id);
            alive
                .iter()
                .filter(|work| work.job().lease == id)
                .for_each(|work| work.job().stop("its lease ended"));
        }
        leases.forget_unused();
    }

    /// Everything that was started, newest first.
    pub(crate) fn works(&self) -> Vec<Work> {
        lock(&self.works).iter().rev().cloned().collect()
    }

    /// Runs, newest first.
    pub(crate) fn runs(&self) -> Vec<Arc<RunJob>> {
        let runs = self.works().into_iter().filter_map(|work| match work {
            Work::Run(run) => Some(run),
            Work::Campaign(_) => None,
        });
        runs.collect()
    }

    /// A run by its id, or the newest as `latest`.
    pub(crate) fn run(&self, id: &str) -> Result<Arc<RunJob>, Fault> {
        let found = self.runs().into_iter().find(|run| id == "latest" || run.job.id == id);
        found.ok_or_else(|| Fault::not_found(format!("there is no run '{id}'")))
    }

    /// Campaigns, newest first.
    pub(crate) fn campaigns(&self) -> Vec<Arc<CampaignJob>> {
        let campaigns = self.works().into_iter().filter_map(|work| match work {
            Work::Campaign(campaign) => Some(campaign),
            Work::Run(_) => None,
        });
        campaigns.collect()
    }

    /// A campaign by its id, or the newest as `latest`.
    pub(crate) fn campaign(&self, id: &str) -> Result<Arc<CampaignJob>, Fault> {
        let found = self.campaigns().into_iter().find(|campaign| id == "latest" || campaign.job.id == id);
        found.ok_or_else(|| Fault::not_found(format!("there is no campaign '{id}' of this server's life")))
    }

    /// Forgets a run that has ended.
    pub(crate) fn forget(&self, id: &str) -> Result<(), Fault> {
        let run = self.run(id)?;
        if !run.job.has_ended() {
            return Err(Fault::conflict("the run has not ended; stop it first"));
        }
        lock(&self.works).retain(|work| work.job().id != run.job.id);
        self.remove_files(&run.job.id);
        Ok(())
    }

    fn remove_files(&self, id: &str) {
        let _ = std::fs::remove_dir_all(self.state.join("runs").join(id));
    }

    /// Asks everything to stop, and waits for it.
    pub(crate) fn stop_all(&self, why: &str, patience: Duration) {
        let works = self.works();
        works.iter().for_each(|work| work.job().stop(why));
        let end = Instant::now() + patience;
        while works.iter().any(|work| !work.job().has_ended()) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The ports of a plan reserved for a job, or found in its lease.
    fn reserve(
        &self,
        plan: &Plan,
        lease: Option<&str>,
        caller: &Caller,
    ) -> Result<(String, Vec<String>), Fault> {
        let mut ports: Vec<String> = plan.ports.iter().map(|port| port_name(&port.device)).collect();
        ports.sort();
        ports.dedup();
        let mut leases = lock(&self.leases);
        if let Some(id) = lease {
            leases.covers(id, &ports)?;
            let works = lock(&self.works);
            let busy = works.iter().map(Work::job).find(|job| {
                job.lease == id && !job.has_ended() && job.ports.iter().any(|port| ports.contains(port))
            });
            if let Some(job) = busy {
                return Err(Fault::conflict(format!(
                    "'{}' ({}) is using ports of this lease",
                    job.name, job.id
                )));
            }
            leases.hold(id);
            return Ok((id.to_owned(), ports));
        }
        let id = secret();
        let wanted = Wanted {
            ports: ports.clone(),
            holder: caller.name.clone(),
            caller,
            ttl: RUN_LEASE,
            of_run: true,
        };
        leases.take(&id, wanted, Instant::now())?;
        leases.hold(&id);
        Ok((id, ports))
    }

    /// The ports of a job are closed.
    fn give_back(&self, lease: &str) {
        lock(&self.leases).let_go(lease);
    }

    fn workers(&self, wanted: Option<u16>) -> Result<CoresInUse, Fault> {
        let active = lock(&self.works).iter().filter(|work| !work.job().has_ended()).count();
        if active >= AT_A_TIME {
            let status = axum::http::StatusCode::TOO_MANY_REQUESTS;
            return Err(Fault::new(
                status,
                format!("{active} runs and campaigns are under way, and that is the most"),
            ));
        }
        let wanted = usize::from(wanted.unwrap_or(1));
        if wanted == 0 {
            return Err(Fault::value("cores", "at least 1 is expected"));
        }
        self.cores.take(wanted).ok_or_else(|| {
            Fault::value("cores", format!("{wanted} asked for, and this server has {}", self.cores.count()))
        })
    }

    fn remember(&self, work: Work) {
        let mut works = lock(&self.works);
        works.push(work);
        let result = |work: &Work| match work {
            Work::Run(run) => run.result().map_or(0, |text| text.len()),
            Work::Campaign(campaign) => campaign.result().map_or(0, |text| text.len()),
        };
        while works.len() > REMEMBERED || works.iter().map(result).sum::<usize>() > REMEMBERED_BYTES {
            let Some(oldest) = works.iter().position(|work| work.job().has_ended()) else { break };
            let gone = works.remove(oldest);
            self.remove_files(&gone.job().id);
        }
    }

    /// Starts a run. Blocks until its ports are open.
    pub(crate) fn start(self: &Arc<Self>, new: &NewRun, caller: &Caller) -> Result<Arc<RunJob>, Fault> {
        let written = Written::find(new.profile.as_ref(), new.profile_name.as_deref(), &self.shelf)?;
        let overrides = Overrides {
            rate: rate(new.rate.as_deref())?,
            duration: duration("duration_s", new.duration_s)?,
            seed: new.seed,
            default_seed: fresh_seed(),
            ..Overrides::default()
        };
        let mut plan =
            plan(&written.text, &overrides, &self.shelf).map_err(|errors| Fault::profile(&errors))?;
        self.limits.check(&plan)?;
        let cores = self.workers(new.cores)?;
        let (lease, ports) = self.reserve(&plan, new.lease.as_deref(), caller)?;
        let own_lease = new.lease.is_none();
        let name = name(new.name.as_deref(), &written, "run");
        let begun = self.begun(&plan, &written.text, &name, new, caller, &ports);
        let (mut kept, id) = begun.inspect_err(|_| self.give_back(&lease))?;
        let captures = self.captures(&mut plan, &id).inspect_err(|fault| {
            if let Some(kept) = &mut kept {
                // What is wrong is told to the caller; the store need not know of a run that never was.
                let _ = kept.keep(State::Failed, Some(&fault.problem().detail), None);
            }
            self.give_back(&lease);
        })?;
        let mut warnings = plan.warnings.clone();
        warn_of_shared(&cores, &mut warnings);
        let (holder, seed) = (caller.name.clone(), plan.seed);
        let job = Job::new(NewJob { id, name, holder, lease, own_lease, ports, seed, warnings });
        let run = Arc::new(RunJob::new(job, plan.clone(), captures));
        self.remember(Work::Run(run.clone()));
        let (opened, is_open) = mpsc::channel();
        let (service, body) = (self.clone(), run.clone());
        let played = std::thread::Builder::new().name("eagre-run".to_owned()).spawn(move || {
            let play = || body.play(plan, &cores, kept, |answer| drop(opened.send(answer)));
            let ending = catch_unwind(AssertUnwindSafe(play));
            drop(cores);
            service.give_back(&body.job.lease);
            ending.map_or_else(|_| body.broke(), |ending| body.job.ends(ending));
        });
        let thread = played.map_err(|error| {
            self.give_back(&run.job.lease);
            run.broke();
            Fault::machine(format!("no thread for the run: {error}"))
        })?;
        // A thread that failed says nothing; its state does.
        if let Err(fault) = is_open.recv().unwrap_or(Ok(())) {
            // What is refused holds no port any more.
            let _ = thread.join();
            return Err(fault);
        }
        Ok(run)
    }

    /// Begins a run in the store, if it is to be kept.
    fn begun(
        &self,
        plan: &Plan,
        text: &str,
        name: &str,
        new: &NewRun,
        caller: &Caller,
        ports: &[String],
    ) -> Result<(Option<KeptRun>, String), Fault> {
        if new.keep == Some(false) {
            let second: String = now().chars().filter(char::is_ascii_digit).take(14).collect();
            let (day, time) = second.split_at(8);
            return Ok((None, format!("{day}-{time}-{}", &secret()[..6])));
        }
        let mut store = Store::open(&self.store)?;
        let campaign = store::NewCampaign {
            name: name.to_owned(),
            method: "run".to_owned(),
            config: json!({
                "served": served(), "by": caller.name, "ports": ports, "duration_s": plan.duration.as_secs_f64(),
            }),
            profile: text.to_owned(),
            seed: plan.seed,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: format!("eagre run profile.yaml --seed {}", plan.seed),
            started: now(),
            environment: campaign::environment(plan),
            tags: new.tags.clone(),
        };
        let id = store.begin(&campaign)?;
        let (key, text) = (format!("{name} {}", plan.profile_sha256), id.to_string());
        Ok((Some(KeptRun { store, id, key }), text))
    }

    /// Leads captures into a folder of the run's own, whatever the profile calls their files.
    fn captures(&self, plan: &mut Plan, id: &str) -> Result<BTreeMap<String, PathBuf>, Fault> {
        let folder = self.state.join("runs").join(id);
        let mut captures = BTreeMap::new();
        for (index, port) in plan.ports.iter_mut().enumerate() {
            let Some(capture) = &mut port.capture else { continue };
            let made = std::fs::create_dir_all(&folder);
            made.map_err(|error| Fault::machine(format!("{}: {error}", folder.display())))?;
            let path = folder.join(format!("port-{index}.pcapng"));
            capture.file = path.display().to_string();
            captures.insert(port.name.clone(), path);
        }
        Ok(captures)
    }

    /// Starts a campaign.
    pub(crate) fn start_campaign(
        self: &Arc<Self>,
        new: &NewCampaign,
        caller: &Caller,
    ) -> Result<Arc<CampaignJob>, Fault> {
        let written = Written::find(new.profile.as_ref(), new.profile_name.as_deref(), &self.shelf)?;
        let choice =
            Choice::by_name(&new.method).map_err(|error| Fault::value("method", error.to_string()))?;
        let sizes = new.sizes.as_ref().map(|words| {
            let all: Result<Vec<_>, String> = words.iter().map(|word| campaign::sizes(word)).collect();
            all.map(|all| all.concat()).map_err(|reason| Fault::value("sizes", reason))
        });
        let settings = Settings {
            sizes: sizes.transpose()?,
            quick: new.quick,
            trial: duration("trial_s", new.trial_s)?,
            set: new.set.clone().into_iter().collect(),
        };
        let parts = choice.parts(&settings)?;
        // Methods have rates of their own, up to the line's.
        let overrides = Overrides {
            seed: new.seed,
            default_seed: fresh_seed(),
            default_rate: Some(Load::Max),
            ..Overrides::default()
        };
        let plan = plan(&written.text, &overrides, &self.shelf).map_err(|errors| Fault::profile(&errors))?;
        if self.limits.rate.is_some() {
            return Err(Fault::forbidden(
                "this server has a cap on rates, and a method goes up to the line's; its operator runs methods without one",
            ));
        }
        self.limits.check(&plan)?;
        let cores = self.workers(new.cores)?;
        let (lease, ports) = self.reserve(&plan, new.lease.as_deref(), caller)?;
        let own_lease = new.lease.is_none();
        let attributes = Attributes {
            random_stimuli: new.random_stimuli,
            networks: new.networks,
            ..Attributes::default()
        };
        let name = name(new.name.as_deref(), &written, &new.method);
        let begun = (|| {
            let mut store = Store::open(&self.store)?;
            let campaign = store::NewCampaign {
                name: name.clone(),
                method: new.method.clone(),
                config: json!({"served": served(), "by": caller.name, "parts": parts, "attributes": attributes}),
                profile: written.text.clone(),
                seed: plan.seed,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                command: format!("eagre bench {} profile.yaml --seed {}", new.method, plan.seed),
                started: now(),
                environment: campaign::environment(&plan),
                tags: new.tags.clone(),
            };
            let id = store.begin(&campaign)?;
            Ok::<_, Fault>((store, id))
        })();
        let (store, id) = begun.inspect_err(|_| self.give_back(&lease))?;
        let mut warnings = plan.warnings.clone();
        warn_of_shared(&cores, &mut warnings);
        let (holder, seed) = (caller.name.clone(), plan.seed);
        let job =
            Job::new(NewJob { id: id.to_string(), name, holder, lease, own_lease, ports, seed, warnings });
        let campaign = Arc::new(CampaignJob::new(job, new.method.clone()));
        self.remember(Work::Campaign(campaign.clone()));
        let profile = written.name.map_or_else(|| "profile.yaml".to_owned(), |name| format!("{name}.yaml"));
        let timing = settings.timing();
        let setup = Setup { plan, parts, timing, attributes, profile, store, id };
        let (service, body) = (self.clone(), campaign.clone());
        let played = std::thread::Builder::new().name("eagre-campaign".to_owned()).spawn(move || {
            let ending = catch_unwind(AssertUnwindSafe(|| body.play(setup, &cores)));
            drop(cores);
            service.give_back(&body.job.lease);
            ending.map_or_else(|_| body.broke(), |ending| body.job.ends(ending));
        });
        if let Err(error) = played {
            self.give_back(&campaign.job.lease);
            campaign.broke();
            return Err(Fault::machine(format!("no thread for the campaign: {error}")));
        }
        Ok(campaign)
    }
}

fn ttl(seconds: f64) -> Result<Duration, Fault> {
    if TTL_S.contains(&seconds) {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(Fault::value("ttl_s", format!("from {} to {} seconds are expected", TTL_S.start(), TTL_S.end())))
}

fn rate(text: Option<&str>) -> Result<Option<Load>, Fault> {
    let parse =
        |text: &str| text.parse().map_err(|e: units::QuantityError| Fault::value("rate", e.to_string()));
    text.map(parse).transpose()
}

fn duration(path: &str, seconds: Option<f64>) -> Result<Option<Nanos>, Fault> {
    let checked = |seconds: f64| {
        if (0.001..=31_536_000.0).contains(&seconds) {
            Ok(Nanos((seconds * 1e9) as u64))
        } else {
            Err(Fault::value(path, "from 0.001 s to a year is expected"))
        }
    };
    seconds.map(checked).transpose()
}

/// What to call it: as asked, as the profile is called, or what it is.
fn name(asked: Option<&str>, written: &Written, what: &str) -> String {
    let name =
        asked.map(str::trim).filter(|name| !name.is_empty()).or(written.name.as_deref()).unwrap_or(what);
    name.chars().filter(|c| !c.is_control()).take(100).collect()
}

fn warn_of_shared(cores: &CoresInUse, warnings: &mut Vec<String>) {
    if cores.shared {
        let cores = cores.cores.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        warnings.push(format!("another run works on core {cores} too: the tester may be the limit"));
    }
}

/// This process, as nobody else is it later: its number and the time it was started at.
fn served() -> serde_json::Value {
    let pid = std::process::id();
    json!({"pid": pid, "began": began(u64::from(pid))})
}

/// When a process was started, in the kernel's ticks since boot.
fn began(pid: u64) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Behind the name, which may have any characters in it, field 22 is the 20th.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Marks what servers that are gone have begun and not ended.
fn unfinished(store: &mut Store) -> Result<Vec<Run>, Fault> {
    let mut all = Vec::new();
    for summary in store.list(&Filter::default())?.into_iter().filter(|s| s.state == store::State::Running) {
        let campaign = store.campaign(&summary.id)?;
        let served = &campaign.config["served"];
        let Some(pid) = served["pid"].as_u64() else { continue };
        let is_alive = began(pid).is_some_and(|began| served["began"].as_u64() == Some(began));
        if is_alive {
            continue;
        }
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
            at_s: 0.0,
            seed: campaign.seed,
            warnings: Vec::new(),
            verdict: None,
            rate_changes: Vec::new(),
            refused_changes: Vec::new(),
            names: api::Names::default(),
            captures: Vec::new(),
        });
    }
    Ok(all)
}
