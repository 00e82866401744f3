//! The controller's end: which agents are there, leases of their ports, and links to processes of runs.
//!
//! A separate thread has the connection to the broker. Calls of [`Fleet`] wait for it, and must not be made in a thread that serves requests.
//!
//! Invariants: an agent that has not renewed its name for [`TTL`] is lost, by this process's clock, and with it its runs; a port is used with a
//! lease only.

use crate::access::{Access, FleetError};
use crate::bucket::Token;
use crate::card::{Card, CardPort};
use crate::leases::Leases;
use crate::order::{Holder, Open, Opened, Times, kernel_time, packed, unpacked};
use crate::tunnel::{End, Tunnel};
use crate::{LOOK_EVERY, RENEW_EVERY, REPLY_TIME, TTL, subjects};
use agent::{Comparison, Hello, Lost, Process};
use async_nats::connection::State;
use async_nats::{Client, RequestErrorKind};
use futures_util::StreamExt;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

/// Added to [`TTL`] before an agent is lost: a renewal may be under way.
const MARGIN: Duration = Duration::from_millis(200);
/// Time for an agent to start a process. A run that has its port by an older lease must end first.
const OPEN_TIME: Duration = Duration::from_secs(12);
/// Silence of a process after which its run is given up; it beats twice a second.
const SILENCE_MAX: Duration = Duration::from_secs(20);
/// Exchanges of times, of which the fastest counts.
const EXCHANGES: usize = 32;
/// Time for which a new controller waits for agents to reply that they are there.
const ROLL_CALL_TIME: Duration = Duration::from_millis(300);

/// A port of an agent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RemotePort {
    /// The agent's name.
    pub agent: String,
    /// The port's name there.
    pub port: String,
}

impl RemotePort {
    pub(crate) fn key(&self) -> String {
        subjects::lease(&self.agent, &self.port)
    }
}

impl fmt::Display for RemotePort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.agent, self.port)
    }
}

/// A lease of a port, whichever controller has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseFacts {
    /// The port.
    pub port: RemotePort,
    /// For whom, in words.
    pub holder: String,
    /// Which controller.
    pub controller: String,
}

/// The agent and the device of `agent/device`; none for a device of this machine. Paths follow a driver's name and a colon.
pub fn split(device: &str) -> Option<(&str, &str)> {
    let (agent, port) = device.split_once('/')?;
    (subjects::is_name(agent) && !port.is_empty()).then_some((agent, port))
}

/// An agent as it renewed its name last.
#[derive(Debug)]
struct Known {
    card: Card,
    heard: Instant,
}

impl Known {
    fn is_lost(&self) -> bool {
        self.heard.elapsed() > TTL + MARGIN
    }
}

#[derive(Debug, Default)]
struct Agents {
    known: Mutex<BTreeMap<String, Known>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Agents {
    /// Takes a renewal. Of two agents of one name the broker refuses the second, and so does this.
    fn hear(&self, card: Card) {
        let mut known = lock(&self.known);
        let is_other = |known: &Known| !known.is_lost() && known.card.instance != card.instance;
        if known.get(&card.name).is_some_and(is_other) {
            return;
        }
        known.insert(card.name.clone(), Known { card, heard: Instant::now() });
    }

    fn leaves(&self, name: &str) {
        lock(&self.known).remove(name);
    }

    /// Time after which an agent is lost unless it renews its name; `None` if it is.
    fn lost_in(&self, name: &str) -> Option<Duration> {
        let known = lock(&self.known);
        let known = known.get(name).filter(|known| !known.is_lost())?;
        Some((TTL + MARGIN).saturating_sub(known.heard.elapsed()))
    }

    fn cards(&self) -> Vec<Card> {
        lock(&self.known).values().filter(|known| !known.is_lost()).map(|known| known.card.clone()).collect()
    }
}

/// All agents, as a controller sees them.
pub struct Fleet {
    runtime: Handle,
    /// Ends the thread that drives it.
    over: Option<oneshot::Sender<()>>,
    desk: Arc<Desk>,
}

/// State of the thread.
struct Desk {
    client: Client,
    controller: String,
    agents: Agents,
    leases: tokio::sync::Mutex<Leases>,
    /// Ports to be kept leased.
    wanted: Mutex<BTreeSet<RemotePort>>,
}

impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fleet").field("controller", &self.desk.controller).finish_non_exhaustive()
    }
}

impl Fleet {
    /// Connects to the broker. `controller` is a name that no other controller has.
    ///
    /// # Errors
    /// The broker is not reached, refuses, or has no JetStream.
    pub fn connect(access: &Access, controller: &str) -> Result<Self, FleetError> {
        let (runtime, over) = driven()?;
        let desk = runtime.block_on(Desk::open(access, controller))?;
        Ok(Self { runtime, over: Some(over), desk })
    }

    /// Agents that are there.
    pub fn agents(&self) -> Vec<Card> {
        self.desk.agents.cards()
    }

    /// Names of agents that were there and are lost: they did not leave.
    pub fn lost(&self) -> Vec<String> {
        let known = lock(&self.desk.agents.known);
        known.iter().filter(|(_, known)| known.is_lost()).map(|(name, _)| name.clone()).collect()
    }

    /// The port that a device `agent/device` means, as an agent that is there has it.
    ///
    /// # Errors
    /// No such agent is there, or it has no such port.
    pub fn find(&self, device: &str) -> Result<RemotePort, String> {
        let Some((agent, wanted)) = split(device) else {
            return Err(format!("'{device}' is no port of an agent"));
        };
        let cards = self.agents();
        let Some(card) = cards.iter().find(|card| card.name == agent) else {
            let names: Vec<&str> = cards.iter().map(|card| card.name.as_str()).collect();
            let there = if names.is_empty() {
                "none is there".to_owned()
            } else {
                format!("there are {}", names.join(", "))
            };
            return Err(format!("port '{device}': agent '{agent}' is not connected; {there}"));
        };
        match card.ports.iter().find(|port| port.is_called(wanted)) {
            Some(port) => Ok(RemotePort { agent: agent.to_owned(), port: port.name.clone() }),
            None => {
                let ports: Vec<&str> = card.ports.iter().map(|port| port.name.as_str()).collect();
                Err(format!("port '{device}': agent '{agent}' has the ports {}", ports.join(", ")))
            }
        }
    }

    /// Ports of all agents, named `agent/port`.
    pub fn ports(&self) -> Vec<api::Port> {
        let cards = self.agents();
        cards
            .iter()
            .flat_map(|card| card.ports.iter().map(|port: &CardPort| port.listed(&card.name)))
            .collect()
    }

    /// Takes leases of ports, all or none, for as long as [`Fleet::keep`] has them.
    ///
    /// # Errors
    /// Another controller has one, or the broker does not reply.
    pub fn take(&self, ports: &[RemotePort], holder: &str) -> Result<(), String> {
        let (desk, ports, holder) = (self.desk.clone(), ports.to_vec(), holder.to_owned());
        self.wait(async move { desk.take(&ports, &holder).await })
    }

    /// Holders of ports of the agents that are there.
    ///
    /// # Errors
    /// The broker does not reply.
    pub fn leases(&self) -> Result<Vec<LeaseFacts>, String> {
        let ports = self.agents().into_iter().flat_map(|card| {
            let named = move |port: CardPort| RemotePort { agent: card.name.clone(), port: port.name };
            card.ports.into_iter().map(named)
        });
        let (desk, ports) = (self.desk.clone(), ports.collect::<Vec<_>>());
        self.wait(async move {
            let holders = desk.leases.lock().await.holders(ports).await?;
            let facts = |(port, holder): (RemotePort, Holder)| LeaseFacts {
                port,
                holder: holder.holder,
                controller: holder.controller,
            };
            Ok(holders.into_iter().map(facts).collect())
        })
    }

    /// Keeps the leases of these ports only; others are given back.
    pub fn keep(&self, ports: BTreeSet<RemotePort>) {
        let mut wanted = lock(&self.desk.wanted);
        if *wanted == ports {
            return;
        }
        *wanted = ports;
        drop(wanted);
        let desk = self.desk.clone();
        self.runtime.spawn(async move { desk.keep_leases().await });
    }

    /// Starts a process for a run on an agent's ports, which are leased; also returns the socket to it.
    ///
    /// # Errors
    /// The agent is not reached, or refuses.
    pub fn open(
        &self,
        agent: &str,
        ports: &[RemotePort],
        cores: usize,
        run: &str,
    ) -> Result<(Box<dyn Process>, UnixStream), String> {
        let failed = |error: std::io::Error| format!("cannot make a socket: {error}");
        let (here, there) = UnixStream::pair().map_err(failed)?;
        there.set_nonblocking(true).map_err(failed)?;
        let (cut, is_cut) = oneshot::channel();
        let ended = Arc::new(Mutex::new(None));
        let (known, desk) = (ended.clone(), self.desk.clone());
        let (agent, ports, run) = (agent.to_owned(), ports.to_vec(), run.to_owned());
        self.wait(async move {
            let tunnel = desk.link(&agent, &ports, cores, &run, there).await?;
            tokio::spawn(async move { desk.carry(tunnel, is_cut, &agent, &known).await });
            Ok(())
        })?;
        Ok((Box::new(Link { cut: Some(cut), ended }), here))
    }

    /// Compares the clock of an agent's machine with this one's.
    ///
    /// # Errors
    /// The agent is not reached.
    pub fn compare(&self, agent: &str) -> Result<Comparison, String> {
        let (desk, agent) = (self.desk.clone(), agent.to_owned());
        self.wait(async move { desk.compare(&agent).await })
    }

    /// Waits for what the other thread does.
    fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, String>> + Send + 'static,
    ) -> Result<T, String> {
        let (done, is_done) = std::sync::mpsc::channel();
        self.runtime.spawn(async move { drop(done.send(work.await)) });
        is_done.recv().unwrap_or_else(|_| Err("the connection to NATS has ended".to_owned()))
    }
}

impl Desk {
    async fn open(access: &Access, controller: &str) -> Result<Arc<Self>, FleetError> {
        let client = access.connect(controller).await?;
        let leases = Leases::open(client.clone(), controller.to_owned()).await?;
        let renewals = client.subscribe(subjects::renewals()).await;
        let mut renewals = renewals.map_err(|error| FleetError::Refused(format!("nats: {error}")))?;
        let desk = Arc::new(Self {
            client,
            controller: controller.to_owned(),
            agents: Agents::default(),
            leases: tokio::sync::Mutex::new(leases),
            wanted: Mutex::default(),
        });
        let hearing = desk.clone();
        tokio::spawn(async move {
            while let Some(message) = renewals.next().await {
                match unpacked::<Card>(&message.payload) {
                    Ok(card) => hearing.agents.hear(card),
                    // A key that was removed has no value.
                    Err(_) => hearing.agents.leaves(message.subject.rsplit('.').next().unwrap_or_default()),
                }
            }
        });
        let keeping = desk.clone();
        tokio::spawn(async move {
            loop {
                sleep(RENEW_EVERY).await;
                keeping.keep_leases().await;
            }
        });
        let _ = desk.client.publish(subjects::ROLL_CALL, Vec::new().into()).await;
        sleep(ROLL_CALL_TIME).await;
        Ok(desk)
    }

    async fn take(&self, ports: &[RemotePort], holder: &str) -> Result<(), String> {
        lock(&self.wanted).extend(ports.iter().cloned());
        let taken = self.leases.lock().await.take(ports, holder).await;
        if taken.is_err() {
            lock(&self.wanted).retain(|wanted| !ports.contains(wanted));
        }
        taken
    }

    async fn keep_leases(&self) {
        let mut leases = self.leases.lock().await;
        let wanted = lock(&self.wanted).clone();
        leases.keep(&wanted).await;
    }

    async fn link(
        &self,
        agent: &str,
        ports: &[RemotePort],
        cores: usize,
        run: &str,
        socket: UnixStream,
    ) -> Result<Tunnel, String> {
        let leases = self.leases.lock().await;
        let token = |port: &RemotePort| -> Result<(String, Token), String> {
            let token = leases.token(port).ok_or_else(|| format!("the lease of port '{port}' has ended"))?;
            Ok((port.port.clone(), token))
        };
        let ports = ports.iter().map(token).collect::<Result<_, _>>()?;
        drop(leases);
        let from = self.client.subscribe(subjects::of_agent(agent, run)).await;
        let from = from.map_err(|error| format!("nats: {error}"))?;
        let open = Open {
            hello: Hello::own(),
            controller: self.controller.clone(),
            run: run.to_owned(),
            ports,
            cores,
        };
        let request = async_nats::Request::new().payload(packed(&open).into()).timeout(Some(OPEN_TIME));
        let reply = self.client.send_request(subjects::open(agent), request).await;
        let reply = reply.map_err(|error| match error.kind() {
            RequestErrorKind::NoResponders => format!("agent '{agent}' is not connected"),
            RequestErrorKind::TimedOut => {
                format!("agent '{agent}' did not start the run within {} s", OPEN_TIME.as_secs())
            }
            _ => format!("nats: {error}"),
        })?;
        let opened: Opened = unpacked(&reply.payload)?;
        opened.map_err(|reason| format!("agent '{agent}': {reason}"))?;
        let socket = tokio::net::UnixStream::from_std(socket);
        let socket = socket.map_err(|error| format!("cannot make a socket: {error}"))?;
        Ok(Tunnel::new(self.client.clone(), subjects::to_agent(agent, run), from, socket))
    }

    async fn compare(&self, agent: &str) -> Result<Comparison, String> {
        let mut best: Option<Exchange> = None;
        for _ in 0..EXCHANGES {
            let left = os::clock::monotonic_ns();
            let request = async_nats::Request::new().payload(Vec::new().into()).timeout(Some(REPLY_TIME));
            let reply = self.client.send_request(subjects::time(agent), request).await;
            let reply =
                reply.map_err(|error| format!("agent '{agent}' does not reply with its time: {error}"))?;
            let back = os::clock::monotonic_ns();
            let times: Times = unpacked(&reply.payload)?;
            let exchange = Exchange { left, times, back };
            best = Some(best.filter(|best| best.trip() <= exchange.trip()).unwrap_or(exchange));
        }
        let best = best.ok_or("no exchange of times")?;
        let found = best.comparison();
        let kernel = kernel_time().zip(best.times.kernel).map(|(here, there)| here.compare(&there));
        let own = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let machine =
            self.agents.cards().into_iter().find(|card| card.name == agent).map(|card| card.machine);
        let is_same = !own.trim().is_empty() && machine.as_deref() == Some(own.trim());
        // Containers may have a time of their own.
        let agrees = found.offset_ns.unsigned_abs() <= found.uncertainty_ns;
        Ok(match is_same && agrees {
            true => Comparison { round_trip_ns: found.round_trip_ns, ..Comparison::SHARED },
            false => found.or(kernel),
        })
    }

    /// Carries a run's messages to the end, and notes why it came.
    async fn carry(
        &self,
        mut tunnel: Tunnel,
        mut cut: oneshot::Receiver<String>,
        agent: &str,
        ended: &Mutex<Option<Lost>>,
    ) {
        let lost = async {
            while let Some(time) = self.agents.lost_in(agent) {
                sleep(time.clamp(LOOK_EVERY, RENEW_EVERY)).await;
            }
            let seconds = TTL.as_secs();
            match self.client.connection_state() {
                State::Connected => format!("agent '{agent}' is lost: it was silent for {seconds} s"),
                _ => format!("the connection to NATS is lost; agents stop {seconds} s after that"),
            }
        };
        let end = tokio::select! {
            end = tunnel.carry(&mut cut, SILENCE_MAX) => end,
            reason = lost => End::Cut(reason),
        };
        let (why, tells) = match end {
            End::There(why) => (why, false),
            End::Here => (Lost::failed("the run was given up".to_owned()), true),
            End::Cut(reason) => (Lost { reason, is_cut_off: true }, true),
        };
        *lock(ended) = Some(why.clone());
        let tunnel = tunnel.end();
        if tells {
            tunnel.close(&why).await;
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        let Some(over) = self.over.take() else { return };
        let desk = self.desk.clone();
        let (done, is_done) = std::sync::mpsc::channel();
        self.runtime.spawn(async move {
            // Others need not wait for their end.
            lock(&desk.wanted).clear();
            let _ = timeout(RENEW_EVERY, desk.keep_leases()).await;
            let _ = done.send(());
            let _ = over.send(());
        });
        let _ = is_done.recv_timeout(RENEW_EVERY + MARGIN);
    }
}

/// A runtime that a separate thread drives until the sender is used.
fn driven() -> Result<(Handle, oneshot::Sender<()>), FleetError> {
    let failed = |error: std::io::Error| FleetError::Refused(format!("cannot start threads: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let (handle, (over, is_over)) = (runtime.handle().clone(), oneshot::channel());
    let thread = std::thread::Builder::new().name("eagre-fleet".to_owned());
    let drive = move || {
        os::cpu::keep_in_time();
        let _ = runtime.block_on(is_over);
        runtime.shutdown_background();
    };
    thread.spawn(drive).map_err(failed)?;
    Ok((handle, over))
}

/// Times of a message there and back: here, there, and here again.
#[derive(Debug, Clone, Copy)]
struct Exchange {
    left: u64,
    times: Times,
    back: u64,
}

impl Exchange {
    /// Time on the way, ns.
    fn trip(&self) -> u64 {
        let whole = self.back.saturating_sub(self.left);
        whole.saturating_sub(self.times.sent.saturating_sub(self.times.received))
    }

    /// The offset is in the middle if both ways take as long; it is off by half the way at most.
    fn comparison(&self) -> Comparison {
        let there = i128::from(self.times.received) - i128::from(self.left);
        let back = i128::from(self.times.sent) - i128::from(self.back);
        Comparison {
            method: "exchange",
            offset_ns: i64::try_from((there + back) / 2).unwrap_or(i64::MAX),
            uncertainty_ns: self.trip().div_ceil(2),
            round_trip_ns: self.trip(),
        }
    }
}

/// A process on an agent's machine.
struct Link {
    cut: Option<oneshot::Sender<String>>,
    ended: Arc<Mutex<Option<Lost>>>,
}

impl Process for Link {
    fn kill(&mut self) {
        if let Some(cut) = self.cut.take() {
            let _ = cut.send("the run was given up".to_owned());
        }
    }

    fn ended(&mut self) -> Option<Lost> {
        lock(&self.ended).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_within_half_a_round_trip() {
        // The agent is 1 s ahead; 30 µs there, 10 µs of work, 90 µs back.
        let times = Times { received: 1_000_030_000, sent: 1_000_040_000, kernel: None };
        let found = Exchange { left: 0, times, back: 130_000 }.comparison();
        assert_eq!((found.round_trip_ns, found.uncertainty_ns), (120_000, 60_000));
        assert_eq!(found.offset_ns, 999_970_000);
        assert!(found.offset_ns.abs_diff(1_000_000_000) <= found.uncertainty_ns);
        let behind = Times { received: 0, sent: 0, kernel: None };
        assert_eq!(Exchange { left: 500, times: behind, back: 700 }.comparison().offset_ns, -600);
    }

    #[test]
    fn ports_of_agents_have_its_name_in_front() {
        assert_eq!(split("a1/veth0"), Some(("a1", "veth0")));
        assert_eq!(split("a1/memif:/run/x.sock"), Some(("a1", "memif:/run/x.sock")));
        for device in
            ["veth0", "memif:/run/x.sock", "pcap:in/a.pcap", "0000:03:00.0", "/run/x", "a1/", "a.b/veth0"]
        {
            assert_eq!(split(device), None, "{device}");
        }
    }
}
