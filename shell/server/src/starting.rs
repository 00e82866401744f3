//! Start of runs, campaigns and scripts: a plan within the limits, cores, ports with their lease, an entry in the
//! store, a thread.
//!
//! Not here: what they do then (`runs`, `campaigns`, `scripts`).
//!
//! Invariant: resources of a job are released before its end is announced, and if its start fails at any step.

use crate::access::Caller;
use crate::budget::Reservation;
use crate::campaigns::CampaignJob;
use crate::fault::Fault;
use crate::jobs::{About, CoresInUse, Ending, Job, lock, now};
use crate::leases::{Wanted, labels};
use crate::port_key::PortKey;
use crate::profile_store;
use crate::profiles::{self, GivesBack, Written, secret};
use crate::record::StoredRun;
use crate::routes::blocking;
use crate::runs::{Place, RunJob, RunMode, Site};
use crate::scripts::{self, Order, ScriptJob};
use crate::service::{Service, Work, private_folder};
use agent::{CampaignOrder, Requests, RunOrder, Seals, Source, Work as AgentWork};
use api::{NewCampaign, NewRun, NewScript, Role, State};
use campaign::{Choice, Settings};
use fleet::RemotePort;
use methods::Attributes;
use profile::{Overrides, Plan};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use tokio::sync::oneshot;
use tokio::time::timeout;
use units::{Load, Nanos};

/// Runs, campaigns and scripts at a time.
const AT_A_TIME: usize = 16;
/// For the ports of a run that was refused to be closed.
const GIVING_BACK_TIME: Duration = Duration::from_secs(5);
/// For the ports of a run to open.
const OPENING_TIME: Duration = Duration::from_secs(20);
/// Duration of a lease made for a run, from one renewal to the next.
const RUN_LEASE: Duration = Duration::from_secs(60);

/// Says whether the ports of a run are open.
type Opened = oneshot::Receiver<Result<(), Fault>>;

/// Ports of a job until this is dropped: then nothing has them open, and their lease may end.
struct HeldPorts {
    service: Arc<Service>,
    lease: String,
    /// Whether the lease was made for the job alone.
    own_lease: bool,
    names: Vec<String>,
    /// The machines that have them.
    machines: Vec<Machine>,
}

/// A machine of a job, and which of the job's ports it has.
#[derive(Debug, Clone)]
struct Machine {
    /// Its agent; none for this machine.
    agent: Option<String>,
    /// Indices of its ports in the plan.
    ports: Vec<usize>,
    /// Its ports, if they are an agent's.
    remote: Vec<RemotePort>,
}

impl Drop for HeldPorts {
    fn drop(&mut self) {
        self.service.give_back(&self.lease);
    }
}

impl HeldPorts {
    /// Where a run on them is.
    fn place(&self, service: &Arc<Service>, cores: usize) -> Place {
        let site = |machine: &Machine| match (&machine.agent, &service.fleet) {
            (Some(agent), Some(fleet)) => Site::Remote {
                fleet: fleet.clone(),
                agent: agent.clone(),
                ports: machine.remote.clone(),
                cores,
                link: secret()[..16].to_owned(),
            },
            _ => Site::Here,
        };
        match self.machines.as_slice() {
            [only] => Place::One(site(only)),
            all => Place::Several(all.iter().map(|machine| (site(machine), machine.ports.clone())).collect()),
        }
    }

    /// Whether a job's only machine is this one.
    fn are_here(&self) -> bool {
        self.machines.iter().all(|machine| machine.agent.is_none())
    }

    /// Refuses what only this machine can do.
    fn refuse_remote(&self, what: &str) -> Result<(), Fault> {
        match self.machines.iter().find_map(|machine| machine.agent.as_ref()) {
            Some(agent) => Err(Fault::unprocessable(format!(
                "{what} can't use ports of agents, and these are of '{agent}'"
            ))),
            None => Ok(()),
        }
    }
}

/// Resources of an active job. Cores are released first, so that the next holder of the ports finds them free.
struct Held {
    cores: CoresInUse,
    /// Number of workers, here or on an agent's machine.
    workers: usize,
    #[expect(dead_code, reason = "it is held")]
    memory: Reservation,
    ports: HeldPorts,
}

impl Held {
    /// The job that holds this, and the commands it will get.
    fn job(&self, id: String, name: String, plan: &Plan, caller: &Caller) -> (Job, Requests) {
        let mut warnings = plan.warnings.clone();
        if self.cores.shared {
            let cores = self.cores.cores.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
            warnings.push(format!("another run shares core {cores}: the tester may be the limit"));
        }
        Job::new(About {
            id,
            name,
            holder: caller.name.clone(),
            lease: self.ports.lease.clone(),
            own_lease: self.ports.own_lease,
            ports: self.ports.names.clone(),
            seed: plan.seed,
            warnings,
        })
    }
}

/// Continues a job on a separate thread.
fn go_on(work: Work, held: Held, play: impl FnOnce() -> Ending + Send + 'static) -> Result<(), Fault> {
    let body = work.clone();
    let thread = std::thread::Builder::new().name(format!("eagre-{}", work.what()));
    let spawned = thread.spawn(move || {
        let ending = catch_unwind(AssertUnwindSafe(play));
        drop(held);
        ending.map_or_else(|_| body.end_after_panic(), |ending| body.job().ends(ending));
    });
    spawned.map(drop).map_err(|error| {
        work.end_after_panic();
        Fault::machine(format!("cannot start a thread for the {}: {error}", work.what()))
    })
}

/// The store's record of a new job.
fn entry(name: &str, method: &str, plan: &Plan, profile: &str, tags: &[String]) -> store::NewCampaign {
    let verb = if method == "run" { "run".to_owned() } else { format!("bench {method}") };
    store::NewCampaign {
        name: name.to_owned(),
        method: method.to_owned(),
        config: Value::Null,
        profile: profile.to_owned(),
        seed: plan.seed,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: format!("eagre {verb} profile.yaml --seed {}", plan.seed),
        started: now(),
        environment: campaign::environment(plan),
        tags: tags.to_vec(),
    }
}

impl Service {
    /// Starts a run. Returns once its ports are open, or when that takes too long; a driver may hang, but only its own run's
    /// thread does then.
    pub(crate) async fn start(
        self: &Arc<Self>,
        new: NewRun,
        mode: RunMode,
        caller: Caller,
    ) -> Result<Arc<RunJob>, Fault> {
        let begun = blocking(self.clone(), move |service| service.begin(&new, &mode, &caller)).await?;
        let (run, is_open) = begun;
        match timeout(OPENING_TIME, is_open).await {
            // A thread that failed says nothing; its state does.
            Ok(opened) => match opened.unwrap_or(Ok(())) {
                Ok(()) => Ok(run),
                Err(fault) => {
                    // What is refused holds no port any more.
                    let _ = timeout(GIVING_BACK_TIME, run.job.ended()).await;
                    Err(fault)
                }
            },
            Err(_) => {
                let ports = run.job.about.ports.join(", ");
                let seconds = OPENING_TIME.as_secs();
                run.job.stop(&format!("its ports did not open within {seconds} s"));
                Err(Fault::machine(format!(
                    "{ports}: not open after {seconds} s: a driver waits for its other end, or for another port that does; the \
                     run is given up"
                )))
            }
        }
    }

    /// Starts a run on a separate thread; also returns a channel that reports whether its ports are open.
    fn begin(
        self: &Arc<Self>,
        new: &NewRun,
        mode: &RunMode,
        caller: &Caller,
    ) -> Result<(Arc<RunJob>, Opened), Fault> {
        let mut rest = GivesBack::after_refusal();
        check_tags(&new.tags)?;
        let written = Written::find(new.profile.as_ref(), new.profile_name.as_deref(), &self.profiles)?;
        let overrides = Overrides {
            rate: rate(new.rate.as_deref())?,
            duration: duration("duration_s", new.duration_s)?,
            seed: new.seed,
            default_seed: os::entropy::seed(),
            ..Overrides::default()
        };
        let seals = Seals::default();
        let mut plan = self.plan(&written.text, &overrides, &seals)?;
        let held = self.hold(&mut plan, new.cores, new.lease.as_deref(), caller)?;
        self.limits.impose(&mut plan);
        let name = name(new.name.as_deref(), &written, "run");
        let (mut kept, id) = self.keep_run(&plan, &written.text, &name, new, caller, &held)?;
        let captures = self.captures(&mut plan, &id).inspect_err(|fault| {
            if let Some(kept) = &mut kept {
                // What is wrong is told to the caller; the store need not know of a run that never was.
                let _ = kept.keep(State::Failed, Some(&fault.problem().detail), None);
            }
        })?;
        let (job, requests) = held.job(id, name, &plan, caller);
        let mut source = Source::new(&written.text, &overrides, &plan, self.profiles.folder(), seals);
        let place = held.ports.place(self, held.workers);
        if !held.ports.are_here() {
            source = source.with_files(&profile_store::file).map_err(Fault::unprocessable)?;
        }
        let run = Arc::new(RunJob::new(job, plan, captures));
        self.remember(Work::Run(run.clone()));
        let (opened, is_open) = oneshot::channel();
        let work = AgentWork::Run(RunOrder {
            attended: mode.attended,
            quiet: mode.quiet.clone(),
            keeps: kept.is_some() && run.keeps_intervals(),
            part: None,
        });
        let order = agent::Order { source, cores: held.cores.cores.clone(), lease: place.lease(), work };
        let body = run.clone();
        go_on(Work::Run(run.clone()), held, move || {
            body.play(order, requests, &place, kept, move |answer| drop(opened.send(answer)))
        })?;
        rest.is_not_due();
        Ok((run, is_open))
    }

    /// Adds streams to a run, whose ports the profile must have.
    pub(crate) async fn add_streams(
        self: &Arc<Self>,
        run: &Arc<RunJob>,
        new: &api::NewStreams,
    ) -> Result<(), Fault> {
        let written = Written::find(Some(&new.profile), None, &self.profiles)?;
        let (service, run) = (self.clone(), run.clone());
        // What the engine has done is noted even if the client is gone.
        let task = tokio::spawn(async move {
            let _alone = run.adding.lock().await;
            let overrides = run.for_more_streams();
            let planned = blocking(service.clone(), move |service| {
                let seals = Seals::default();
                let mut plan = service.plan(&written.text, &overrides, &seals)?;
                service.admission.admit_all(&mut plan)?;
                let memory = service.budget.reserve(engine::memory_needed(&plan, 1))?;
                let mut source =
                    Source::new(&written.text, &overrides, &plan, service.profiles.folder(), seals);
                if plan.ports.iter().any(|port| fleet::split(&port.device).is_some()) {
                    source = source.with_files(&profile_store::file).map_err(Fault::unprocessable)?;
                }
                Ok((plan, source, memory))
            });
            let (plan, source, memory) = planned.await?;
            run.add_streams(plan, source, memory, &service.limits).await
        });
        task.await.unwrap_or_else(|_| Err(Fault::machine("the thread that adds streams failed")))
    }

    /// Starts a campaign.
    pub(crate) fn start_campaign(
        self: &Arc<Self>,
        new: &NewCampaign,
        caller: &Caller,
    ) -> Result<Arc<CampaignJob>, Fault> {
        let mut rest = GivesBack::after_refusal();
        check_tags(&new.tags)?;
        let written = Written::find(new.profile.as_ref(), new.profile_name.as_deref(), &self.profiles)?;
        let choice =
            Choice::by_name(&new.method).map_err(|error| Fault::value("method", error.to_string()))?;
        let settings = settings(new)?;
        let parts = choice.parts(&settings)?;
        // Methods have rates of their own, up to the line's.
        let overrides = Overrides {
            seed: new.seed,
            default_seed: os::entropy::seed(),
            default_rate: Some(Load::Max),
            ..Overrides::default()
        };
        let seals = Seals::default();
        let mut plan = self.plan(&written.text, &overrides, &seals)?;
        if self.limits.rate.is_some() {
            return Err(Fault::forbidden("this server limits rates, but methods test up to line rate"));
        }
        let held = self.hold(&mut plan, new.cores, new.lease.as_deref(), caller)?;
        held.ports.refuse_remote("a test method")?;
        let attributes = Attributes {
            random_stimuli: new.random_stimuli,
            networks: new.networks,
            ..Attributes::default()
        };
        let name = name(new.name.as_deref(), &written, &new.method);
        let mut store = Store::open(&self.store)?;
        let id = store.begin(&store::NewCampaign {
            config: json!({"served": self.served(), "by": caller.name, "parts": parts, "attributes": attributes}),
            ..entry(&name, &new.method, &plan, &written.text, &new.tags)
        })?;
        let (job, requests) = held.job(id.to_string(), name.clone(), &plan, caller);
        let campaign = Arc::new(CampaignJob::new(job, new.method.clone()));
        self.remember(Work::Campaign(campaign.clone()));
        let profile = written.name.map_or_else(|| "profile.yaml".to_owned(), |name| format!("{name}.yaml"));
        let work = AgentWork::Campaign(Box::new(CampaignOrder {
            name,
            profile,
            parts,
            timing: settings.timing(),
            attributes,
            store: self.store.clone(),
            id: id.to_string(),
        }));
        let source = Source::new(&written.text, &overrides, &plan, self.profiles.folder(), seals);
        let order = agent::Order { source, cores: held.cores.cores.clone(), lease: agent::LEASE, work };
        let body = campaign.clone();
        go_on(Work::Campaign(campaign.clone()), held, move || body.play(order, requests, store, &id))?;
        rest.is_not_due();
        Ok(campaign)
    }

    /// Starts a script, which opens its ports itself.
    pub(crate) fn start_script(
        self: &Arc<Self>,
        new: &NewScript,
        caller: &Caller,
    ) -> Result<Arc<ScriptJob>, Fault> {
        caller.must_be(Role::Admin)?;
        if !self.limits.scripts {
            return Err(Fault::forbidden(
                "this server runs no scripts; its operator can allow them with --allow-scripts",
            ));
        }
        if let Some(cap) = self.limits.rate {
            return Err(Fault::forbidden(format!(
                "this server limits ports to {cap}, and what a script sends is not known in advance"
            )));
        }
        let order = Order::of(new)?;
        let overrides = Overrides { default_seed: os::entropy::seed(), ..Overrides::default() };
        let mut plan = self.plan(&scripts::ports(&new.ports), &overrides, &Seals::default())?;
        let held = self.hold(&mut plan, None, new.lease.as_deref(), caller)?;
        held.ports.refuse_remote("a script")?;
        let id = fresh_id();
        let folder = self.state.join("runs").join(&id);
        let name =
            cleaned(new.name.as_deref().map(str::trim).filter(|name| !name.is_empty()).unwrap_or("script"));
        let (job, _) = held.job(id, name, &plan, caller);
        let script = Arc::new(ScriptJob::new(job, &order, folder));
        self.remember(Work::Script(script.clone()));
        let body = script.clone();
        go_on(Work::Script(script.clone()), held, move || body.play(&order, &plan))?;
        Ok(script)
    }

    /// The plan of a profile in a request.
    fn plan(&self, text: &str, overrides: &Overrides, seals: &Seals) -> Result<Plan, Fault> {
        profiles::plan(text, overrides, &self.profiles, &self.budget, seals)
            .map_err(|errors| Fault::profile(&errors))
    }

    /// Reserves the resources of a job with this plan, if the limits allow it and they are free. From then on the plan
    /// names its ports as admitted and leased.
    fn hold(
        self: &Arc<Self>,
        plan: &mut Plan,
        cores: Option<u16>,
        lease: Option<&str>,
        caller: &Caller,
    ) -> Result<Held, Fault> {
        let ports = self.admission.admit_all(plan)?;
        self.limits.check(plan)?;
        let machines = machines(&ports);
        refuse_together(plan, &machines)?;
        let has_own = machines.iter().any(|machine| machine.agent.is_none());
        let workers = usize::from(cores.unwrap_or(1));
        let cores = self.workers(workers, !has_own)?;
        // An agent's machine has its own memory.
        let bytes = if has_own { engine::memory_needed(plan, cores.cores.len()) } else { 0 };
        let memory = self.budget.reserve(bytes)?;
        let names = labels(&ports);
        let own_lease = lease.is_none();
        let lease = self.reserve(&ports, lease, caller)?;
        let ports = HeldPorts { service: self.clone(), lease, own_lease, names, machines };
        Ok(Held { cores, workers, memory, ports })
    }

    /// Cores for a job; of an agent's machine, it chooses them itself.
    fn workers(&self, wanted: usize, elsewhere: bool) -> Result<CoresInUse, Fault> {
        let active = self.works().iter().filter(|work| !work.job().has_ended()).count();
        if active >= AT_A_TIME {
            let status = axum::http::StatusCode::TOO_MANY_REQUESTS;
            return Err(Fault::new(
                status,
                format!("{active} runs, campaigns and scripts are active, the maximum"),
            ));
        }
        if wanted == 0 {
            return Err(Fault::value("cores", "expected at least 1"));
        }
        self.cores.take(if elsewhere { 0 } else { wanted }).ok_or_else(|| {
            Fault::value(
                "cores",
                format!("expected at most {}, the cores of this server", self.cores.count()),
            )
        })
    }

    /// The lease of these ports for a job: a new one, or the one it names.
    fn reserve(&self, ports: &[PortKey], lease: Option<&str>, caller: &Caller) -> Result<String, Fault> {
        let works = self.works();
        if let Some(id) = lease {
            let mut leases = lock(&self.leases);
            leases.covers(id, ports)?;
            let names = labels(ports);
            let uses = |job: &Job| {
                let about = &job.about;
                about.lease == id && !job.has_ended() && about.ports.iter().any(|port| names.contains(port))
            };
            if let Some(work) = works.iter().find(|work| uses(work.job())) {
                let About { id, name, .. } = &work.job().about;
                return Err(Fault::conflict(format!("'{name}' ({id}) uses ports of this lease")));
            }
            leases.hold(id);
            return Ok(id.to_owned());
        }
        let id = secret();
        let wanted = Wanted {
            ports: ports.to_vec(),
            holder: caller.name.clone(),
            caller,
            ttl: RUN_LEASE,
            of_run: true,
        };
        self.take(&id, wanted)?;
        lock(&self.leases).hold(&id);
        Ok(id)
    }

    /// Creates a run in the store, if it is to be stored; returns its name there, or another unique one.
    fn keep_run(
        &self,
        plan: &Plan,
        text: &str,
        name: &str,
        new: &NewRun,
        caller: &Caller,
        held: &Held,
    ) -> Result<(Option<StoredRun>, String), Fault> {
        if new.keep == Some(false) {
            return Ok((None, fresh_id()));
        }
        let mut store = Store::open(&self.store)?;
        let id = store.begin(&store::NewCampaign {
            config: json!({
                "served": self.served(),
                "by": caller.name,
                "ports": held.ports.names,
                "duration_s": plan.duration.as_secs_f64(),
            }),
            ..entry(name, "run", plan, text, &new.tags)
        })?;
        let (key, text) = (format!("{name} {}", plan.profile_sha256), id.to_string());
        Ok((Some(StoredRun::new(store, id, key)), text))
    }

    /// Redirects captures into a folder of the run's own, regardless of their file names in the profile.
    fn captures(&self, plan: &mut Plan, id: &str) -> Result<BTreeMap<String, PathBuf>, Fault> {
        let folder = self.state.join("runs").join(id);
        let mut captures = BTreeMap::new();
        for (index, port) in plan.ports.iter_mut().enumerate() {
            let Some(capture) = &mut port.capture else { continue };
            if let Some((agent, _)) = fleet::split(&port.device) {
                return Err(Fault::unprocessable(format!(
                    "ports.{}.capture: agent '{agent}' captures no packets; leave it out",
                    port.name
                )));
            }
            let made = private_folder(&folder);
            made.map_err(|error| Fault::machine(format!("{}: {error}", folder.display())))?;
            let path = folder.join(format!("port-{index}.pcapng"));
            capture.file = path.display().to_string();
            captures.insert(port.name.clone(), path);
        }
        Ok(captures)
    }
}

/// The machines that have these ports, in the order of their first ones.
fn machines(ports: &[PortKey]) -> Vec<Machine> {
    let mut machines: Vec<Machine> = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        let agent = port.remote().map(|remote| remote.agent.clone());
        let at = machines.iter().position(|machine| machine.agent == agent).unwrap_or_else(|| {
            machines.push(Machine { agent, ports: Vec::new(), remote: Vec::new() });
            machines.len() - 1
        });
        machines[at].ports.push(index);
        machines[at].remote.extend(port.remote().cloned());
    }
    machines
}

/// Refuses what a run on several machines can't have.
fn refuse_together(plan: &Plan, machines: &[Machine]) -> Result<(), Fault> {
    if machines.len() < 2 {
        return Ok(());
    }
    let of = |port: usize| machines.iter().position(|machine| machine.ports.contains(&port)).unwrap_or(0);
    let parts: Vec<usize> = (0..plan.ports.len()).map(of).collect();
    agent::refuse_together(plan, &parts).map_err(Fault::unprocessable)
}

/// A unique name for a job that is not stored.
fn fresh_id() -> String {
    let second: String = now().chars().filter(char::is_ascii_digit).take(14).collect();
    let (day, time) = second.split_at(8);
    format!("{day}-{time}-{}", &secret()[..6])
}

/// The settings of a method.
fn settings(new: &NewCampaign) -> Result<Settings, Fault> {
    let sizes = new.sizes.as_ref().map(|words| {
        let all: Result<Vec<_>, String> = words.iter().map(|word| campaign::sizes(word)).collect();
        all.map(|all| all.concat()).map_err(|reason| Fault::value("sizes", reason))
    });
    Ok(Settings {
        sizes: sizes.transpose()?,
        quick: new.quick,
        trial: duration("trial_s", new.trial_s)?,
        set: new.set.clone().into_iter().collect(),
    })
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
            Err(Fault::value(path, "expected 0.001 s to one year"))
        }
    };
    seconds.map(checked).transpose()
}

/// Name of a job: as requested, else the profile's name, else its kind.
fn name(asked: Option<&str>, written: &Written, what: &str) -> String {
    let name =
        asked.map(str::trim).filter(|name| !name.is_empty()).or(written.name.as_deref()).unwrap_or(what);
    cleaned(name)
}

/// Most characters of a tag.
const TAG_MAX: usize = 100;

/// Refuses tags that are empty, or no text of one line.
fn check_tags(tags: &[String]) -> Result<(), Fault> {
    let odd = |tag: &String| {
        tag.trim().is_empty() || tag.chars().count() > TAG_MAX || tag.contains(char::is_control)
    };
    match tags.iter().position(odd) {
        None => Ok(()),
        Some(index) => Err(Fault::value(
            &format!("tags[{index}]"),
            format!("expected 1 to {TAG_MAX} characters without control characters"),
        )),
    }
}

/// A name that is safe in a line of text.
fn cleaned(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(100).collect()
}
