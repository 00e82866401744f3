//! The agent's end: keeps its name, and starts a process for each run that a controller with a lease requests.
//!
//! Invariants: no run outlives the agent's name by more than the time to stop traffic; a port has one run, and that with the newest
//! lease; a controller is believed no more than the key of its lease.

use crate::access::{Access, FleetError};
use crate::bucket::{Bucket, Token};
use crate::card::{Card, CardRun, list_ports};
use crate::order::{Holder, Open, Opened, Times, kernel_time, packed, unpacked};
use crate::tunnel::{End, Tunnel};
use crate::{LOOK_EVERY, RENEW_EVERY, TTL, subjects};
use agent::{Child, KernelTime, Lost, Permit, Process, WrongClock};
use async_nats::{Client, Message, Subscriber};
use futures_util::StreamExt;
use os::TscClock;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::task::spawn_local;
use tokio::time::sleep;

/// Duration of the clock's calibration, whose facts are published.
const CALIBRATION: Duration = Duration::from_millis(20);
/// Time for a process to end once its run's link is closed; then it is killed.
const END_TIME: Duration = Duration::from_secs(5);
/// Time for a run with an older lease to give its ports up.
const HAND_OVER_TIME: Duration = Duration::from_secs(8);
/// Silence of a controller after which a process is ended. The process itself stops its traffic after [`TTL`], and has the rest to end.
const SILENCE_MAX: Duration = Duration::from_secs(8);
/// Orders that are remembered. Leases of older ones have ended.
const ORDERED_MAX: usize = 1_000;
/// Interval at which the end of a process is polled.
const POLL_EVERY: Duration = Duration::from_millis(5);

/// Options of an agent.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// The broker.
    pub access: Access,
    /// Its name.
    pub name: String,
    /// Its ports.
    pub ports: Vec<String>,
    /// Cores of its workers.
    pub cores: Vec<usize>,
    /// How its clock is made wrong, for tests.
    pub wrong_clock: WrongClock,
}

/// Serves until a signal. Calls `ready` once controllers can see the agent.
///
/// # Errors
/// An option is wrong, the broker is not reached, or another agent has the name.
pub fn serve(options: &AgentOptions, ready: impl FnOnce(&Card)) -> Result<(), FleetError> {
    if !subjects::is_name(&options.name) {
        return Err(FleetError::BadInput(format!(
            "name: '{}': expected at most 32 letters, digits, '-' or '_'",
            options.name
        )));
    }
    let permit = Permit {
        agent: Some(options.name.clone()),
        ports: options.ports.clone(),
        cores: options.cores.clone(),
        wrong_clock: options.wrong_clock,
    };
    list_ports(&permit).map_err(|reason| FleetError::BadInput(format!("ports: {reason}")))?;
    // Runs may take all the time of all cores; the name is renewed nevertheless.
    os::cpu::keep_in_time();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| FleetError::Refused(format!("cannot start threads: {error}")))?;
    // Processes end with the thread that starts them: this one.
    let tasks = tokio::task::LocalSet::new();
    let served = tasks.block_on(&runtime, begin(options, permit, ready));
    // Subscriptions of tasks that have not ended need the runtime to end.
    let _inside = runtime.enter();
    drop(tasks);
    served
}

async fn begin(options: &AgentOptions, permit: Permit, ready: impl FnOnce(&Card)) -> Result<(), FleetError> {
    let mut signal = std::pin::pin!(signal());
    let client = options.access.connect(&options.name).await?;
    let names = Bucket::open(&client, subjects::AGENTS).await?;
    let leases = Bucket::open(&client, subjects::LEASES).await?;
    let card = card(options, &permit)?;
    let subscribed = async |subject: String| {
        client
            .subscribe(subject.clone())
            .await
            .map_err(|error| FleetError::Refused(format!("nats: {subject}: {error}")))
    };
    let opens = subscribed(subjects::open(&options.name)).await?;
    let times = subscribed(subjects::time(&options.name)).await?;
    let roll_calls = subscribed(subjects::ROLL_CALL.to_owned()).await?;
    let agent = Rc::new(Agent {
        client,
        permit,
        card: RefCell::new(card),
        names: RefCell::new(names),
        leases: RefCell::new(leases),
        name: Cell::new(None),
        renewed: Cell::new(Instant::now()),
        runs: RefCell::default(),
        newest: RefCell::default(),
        ordered: RefCell::default(),
    });
    let taken = tokio::select! {
        taken = agent.take_name() => taken,
        () = &mut signal => return Ok(()),
    };
    taken?;
    ready(&agent.card.borrow());
    spawn_local(agent.clone().keep_name(roll_calls));
    spawn_local(agent.clone().guard());
    spawn_local(tell_time(agent.client.clone(), times, options.wrong_clock));
    tokio::select! {
        () = agent.clone().take_orders(opens) => {}
        () = signal => {}
    }
    agent.leave().await;
    Ok(())
}

fn card(options: &AgentOptions, permit: &Permit) -> Result<Card, FleetError> {
    let machine = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    Ok(Card {
        name: options.name.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        instance: os::entropy::seed(),
        // A wrong clock is none of this machine's.
        machine: if options.wrong_clock.is_right() { machine.trim().to_owned() } else { String::new() },
        clock: TscClock::calibrate(CALIBRATION).facts().into(),
        cores: options.cores.len(),
        ports: list_ports(permit).map_err(FleetError::BadInput)?,
        runs: Vec::new(),
    })
}

/// A run.
struct Run {
    ports: Vec<String>,
    token: Token,
    cores: Vec<usize>,
    began: Instant,
    /// Ends it, with a reason.
    cut: Option<oneshot::Sender<String>>,
}

impl Run {
    fn listed(&self) -> CardRun {
        CardRun {
            ports: self.ports.clone(),
            cores: self.cores.clone(),
            active_s: self.began.elapsed().as_secs(),
        }
    }
}

struct Agent {
    client: Client,
    permit: Permit,
    card: RefCell<Card>,
    names: RefCell<Bucket>,
    leases: RefCell<Bucket>,
    /// The key of its name, as it was renewed last.
    name: Cell<Option<Token>>,
    /// When that was requested.
    renewed: Cell<Instant>,
    runs: RefCell<BTreeMap<String, Run>>,
    /// Of each port the newest lease it has seen.
    newest: RefCell<BTreeMap<String, Token>>,
    /// Names of the last runs: an order is good once.
    ordered: RefCell<VecDeque<String>>,
}

impl Agent {
    /// Makes the key of its name. One that an agent has left behind ends in time.
    async fn take_name(&self) -> Result<(), FleetError> {
        let began = Instant::now();
        loop {
            let requested = Instant::now();
            let (names, value) = (self.names.borrow().clone(), packed(&*self.card.borrow()));
            match names.create(&self.permit_name(), value).await {
                Ok(Some(token)) => {
                    self.name.set(Some(token));
                    self.renewed.set(requested);
                    return Ok(());
                }
                Ok(None) if began.elapsed() > TTL + RENEW_EVERY => {
                    return Err(FleetError::Refused(format!(
                        "name: another agent is called '{}'; choose another name with --name",
                        self.permit_name()
                    )));
                }
                Ok(None) => sleep(RENEW_EVERY / 4).await,
                Err(reason) => return Err(FleetError::Refused(format!("nats: {reason}"))),
            }
        }
    }

    fn permit_name(&self) -> String {
        self.permit.agent.clone().unwrap_or_default()
    }

    /// Renews the name, every [`RENEW_EVERY`] and when a controller requests it.
    async fn keep_name(self: Rc<Self>, mut roll_calls: Subscriber) {
        loop {
            tokio::select! {
                () = sleep(RENEW_EVERY) => {}
                _ = roll_calls.next() => {}
            }
            if let Ok(ports) = list_ports(&self.permit) {
                self.card.borrow_mut().ports = ports;
            }
            self.card.borrow_mut().runs = self.runs.borrow().values().map(Run::listed).collect();
            let requested = Instant::now();
            match self.renew_name().await {
                Ok(token) => {
                    self.name.set(Some(token));
                    self.renewed.set(requested);
                }
                Err(reason) => tracing::warn!("the name is not renewed: {reason}"),
            }
        }
    }

    async fn renew_name(&self) -> Result<Token, String> {
        let (names, value) = (self.names.borrow().clone(), packed(&*self.card.borrow()));
        let name = self.permit_name();
        if let Some(last) = self.name.get() {
            match names.renew(&name, value.clone(), last).await {
                Ok(token) => return Ok(token),
                Err(reason) => tracing::debug!("{reason}"),
            }
        }
        // The key has ended, or the bucket with the broker's memory.
        let opened = Bucket::open(&self.client, subjects::AGENTS).await.map_err(|error| error.to_string())?;
        let created = opened.create(&name, value).await?;
        let leases = Bucket::open(&self.client, subjects::LEASES).await.map_err(|error| error.to_string())?;
        *self.names.borrow_mut() = opened;
        *self.leases.borrow_mut() = leases;
        if let Some(token) = created {
            return Ok(token);
        }
        // A renewal from before the connection was lost may have come late.
        let opened = self.names.borrow().clone();
        let (own, instance) = (opened.find(&name).await?, self.card.borrow().instance);
        let is_own =
            |(card, _): &(Vec<u8>, Token)| unpacked::<Card>(card).is_ok_and(|card| card.instance == instance);
        let own = own.filter(is_own).ok_or_else(|| format!("another agent is called '{name}'"))?;
        Ok(own.1)
    }

    /// Stops all runs when the name has ended, by this machine's clock alone.
    async fn guard(self: Rc<Self>) {
        loop {
            sleep(TTL.saturating_sub(self.renewed.get().elapsed()).max(LOOK_EVERY)).await;
            if self.renewed.get().elapsed() > TTL {
                self.cut_all("the agent could not renew its name at NATS");
            }
        }
    }

    fn cut_all(&self, reason: &str) {
        for run in self.runs.borrow_mut().values_mut() {
            if let Some(cut) = run.cut.take() {
                tracing::warn!("a run is stopped: {reason}");
                let _ = cut.send(reason.to_owned());
            }
        }
    }

    /// Ends everything when the agent itself is to end.
    async fn leave(&self) {
        self.cut_all("the agent has ended");
        let began = Instant::now();
        while !self.runs.borrow().is_empty() && began.elapsed() < END_TIME + RENEW_EVERY {
            sleep(POLL_EVERY).await;
        }
        if let Some(token) = self.name.get() {
            let names = self.names.borrow().clone();
            let _ = names.remove(&self.permit_name(), token).await;
        }
    }

    async fn take_orders(self: Rc<Self>, mut opens: Subscriber) {
        while let Some(message) = opens.next().await {
            let agent = self.clone();
            spawn_local(async move {
                let reply = agent.clone().open(&message).await;
                if let Err(reason) = &reply {
                    tracing::warn!("a run is refused: {reason}");
                }
                respond(&agent.client, &message, packed(&reply)).await;
            });
        }
    }

    async fn open(self: Rc<Self>, message: &Message) -> Opened {
        let open: Open = unpacked(&message.payload)?;
        open.hello.refuse_other()?;
        if !subjects::is_name(&open.run) {
            return Err("the name of the run is none".to_owned());
        }
        self.has_name().await?;
        for (port, token) in &open.ports {
            self.permit.check(port)?;
            self.refuse_older(port, *token)?;
            self.refuse_without_lease(port, &open.controller).await?;
        }
        self.refuse_again(&open.run)?;
        for (port, token) in &open.ports {
            self.refuse_older(port, *token)?;
            self.newest.borrow_mut().insert(port.clone(), *token);
            self.free(port, *token).await?;
        }
        let token = open.ports.iter().map(|(_, token)| *token).max().ok_or("a run without ports")?;
        let cores = self.cores(open.cores)?;
        self.start(&open, token, cores.clone()).await?;
        Ok(cores)
    }

    /// Waits for the name of an agent that was cut off until now.
    async fn has_name(&self) -> Result<(), String> {
        let began = Instant::now();
        while self.renewed.get().elapsed() > TTL {
            if began.elapsed() > TTL {
                return Err("the agent has no name at NATS at present".to_owned());
            }
            sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// Refuses an order that came before.
    fn refuse_again(&self, run: &str) -> Result<(), String> {
        let mut ordered = self.ordered.borrow_mut();
        if ordered.iter().any(|known| known == run) {
            return Err("this order came before".to_owned());
        }
        if ordered.len() == ORDERED_MAX {
            ordered.pop_front();
        }
        ordered.push_back(run.to_owned());
        Ok(())
    }

    /// Refuses a token from before one that was seen.
    fn refuse_older(&self, port: &str, token: Token) -> Result<(), String> {
        match self.newest.borrow().get(port) {
            Some(newest) if token < *newest => {
                Err(format!("port '{port}' has a newer lease than the one of this order"))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a controller that does not have the lease.
    async fn refuse_without_lease(&self, port: &str, controller: &str) -> Result<(), String> {
        let leases = self.leases.borrow().clone();
        let key = subjects::lease(&self.permit_name(), port);
        let value = leases
            .get(&key)
            .await
            .map_err(|reason| format!("port '{port}': its lease is not known: {reason}"))?;
        let holder = value.map(|bytes| unpacked::<Holder>(&bytes)).transpose()?;
        match holder {
            Some(holder) if holder.controller == controller => Ok(()),
            Some(holder) => Err(format!("port '{port}' is leased by '{}'", holder.holder)),
            None => Err(format!("port '{port}' is not leased")),
        }
    }

    /// Ends a run that has the port by an older lease, and refuses if one has it by this.
    async fn free(&self, port: &str, token: Token) -> Result<(), String> {
        let began = Instant::now();
        loop {
            let mut held = false;
            for run in
                self.runs.borrow_mut().values_mut().filter(|run| run.ports.iter().any(|own| own == port))
            {
                held = true;
                match run.cut.take() {
                    Some(cut) if run.token < token => drop(cut.send("its port has a newer lease".to_owned())),
                    cut => run.cut = cut,
                }
            }
            if !held {
                return Ok(());
            }
            if began.elapsed() > HAND_OVER_TIME {
                return Err(format!("port '{port}' is in use by another run"));
            }
            sleep(POLL_EVERY).await;
        }
    }

    /// The cores with the fewest runs.
    fn cores(&self, wanted: usize) -> Result<Vec<usize>, String> {
        let runs = self.runs.borrow();
        let users = |core: &usize| runs.values().filter(|run| run.cores.contains(core)).count();
        let mut all: Vec<(usize, usize)> =
            self.permit.cores.iter().map(|core| (users(core), *core)).collect();
        all.sort_unstable();
        if wanted == 0 || wanted > all.len() {
            return Err(format!("cores: agent '{}' has {}", self.permit_name(), all.len()));
        }
        let mut cores: Vec<usize> = all[..wanted].iter().map(|(_, core)| *core).collect();
        cores.sort_unstable();
        Ok(cores)
    }

    /// Starts the process of a run, and carries its messages.
    async fn start(self: Rc<Self>, open: &Open, token: Token, cores: Vec<usize>) -> Result<(), String> {
        let name = self.permit_name();
        let from = self.client.subscribe(subjects::to_agent(&name, &open.run)).await;
        let from = from.map_err(|error| format!("nats: {error}"))?;
        self.client.flush().await.map_err(|error| format!("nats: {error}"))?;
        let mut arguments = vec!["--name".to_owned(), name.clone()];
        for port in self.permit.of_lease(open.ports.iter().map(|(port, _)| port.as_str())) {
            arguments.extend(["--port".to_owned(), port]);
        }
        let wrong = self.permit.wrong_clock;
        if !wrong.is_right() {
            arguments.extend([
                format!("--clock-offset={}", wrong.offset_ns),
                format!("--clock-drift={}", wrong.drift_ppb),
            ]);
        }
        for core in &cores {
            arguments.extend(["--core".to_owned(), core.to_string()]);
        }
        let failed = |error: std::io::Error| format!("cannot start the engine's process: {error}");
        let (child, socket) = Child::start(&arguments).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let socket = UnixStream::from_std(socket).map_err(failed)?;
        let tunnel = Tunnel::new(self.client.clone(), subjects::of_agent(&name, &open.run), from, socket);
        let (cut, is_cut) = oneshot::channel();
        let ports = open.ports.iter().map(|(port, _)| port.clone()).collect();
        let began = Instant::now();
        self.runs.borrow_mut().insert(open.run.clone(), Run { ports, token, cores, began, cut: Some(cut) });
        tracing::info!(run = open.run, process = child.id(), "begins");
        spawn_local(self.attend(open.run.clone(), child, tunnel, is_cut));
        Ok(())
    }

    async fn attend(
        self: Rc<Self>,
        run: String,
        mut child: Child,
        mut tunnel: Tunnel,
        mut cut: oneshot::Receiver<String>,
    ) {
        let end = tunnel.carry(&mut cut, SILENCE_MAX).await;
        // The process ends its traffic when its socket is closed.
        let tunnel = tunnel.end();
        let cut = match end {
            End::Here | End::There(_) => None,
            End::Cut(reason) => Some(Lost { reason, is_cut_off: true }),
        };
        let ended = end_of(&mut child).await;
        self.runs.borrow_mut().remove(&run);
        tracing::info!(run, "ended");
        tunnel.close(&cut.unwrap_or(ended)).await;
    }
}

/// Waits for the end of a process whose socket is closed, and kills it if that takes too long.
async fn end_of(child: &mut Child) -> Lost {
    let began = Instant::now();
    loop {
        if let Some(reason) = child.ended() {
            return reason;
        }
        if began.elapsed() > END_TIME {
            child.kill();
        }
        sleep(POLL_EVERY).await;
    }
}

async fn respond(client: &Client, message: &Message, bytes: Vec<u8>) {
    if let Some(reply) = &message.reply {
        let _ = client.publish(reply.clone(), bytes.into()).await;
    }
}

/// Replies to requests for this machine's time.
async fn tell_time(client: Client, mut requests: Subscriber, wrong: WrongClock) {
    let read = || {
        let now = os::clock::monotonic_ns();
        now.saturating_add_signed(wrong.error(now))
    };
    while let Some(message) = requests.next().await {
        let received = read();
        let kernel = kernel_time().map(|time| KernelTime {
            monotonic_ns: time.monotonic_ns.saturating_add_signed(wrong.error(time.monotonic_ns)),
            ..time
        });
        let times = Times { received, kernel, sent: read() };
        respond(&client, &message, packed(&times)).await;
    }
}

/// Waits for a signal to end.
async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut term), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = interrupt.recv() => {}
    }
}
