//! The agent's end: takes one order, runs it, returns its end.

use crate::campaign;
use crate::duties::{Duty, Stopped, see_to};
use crate::frame;
use crate::intervals::{Intervals, StoreState};
use crate::message::{
    CampaignEnd, CommandMessage, End, FromAgent, Hello, Order, Refusal, RunEnd, RunOrder, ToAgent, Work,
};
use crate::outbox::Outbox;
use crate::part::{FromPart, PartOrder, Peers, PortCard, strip};
use crate::permit::Permit;
use crate::share::Share;
use crate::source::{ReadFile, Source};
use crate::view::{EVERY, Publisher};
use engine::{
    CaptureCommand, Command, CommandError, Commands, Control, NewStreams, PendingReply, RawTimes, Rig,
    RunOptions, Session, TrialObserver, View, promise,
};
use os::TscClock;
use profile::Plan;
use result::ResultDocument;
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use units::Nanos;

/// The same of a clock that is compared with another process's.
const CALIBRATION_BETWEEN: Duration = Duration::from_millis(100);
/// Interval at which a part that waits for the others looks whether it is to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Duration of the clock's calibration.
pub(crate) const CALIBRATION: Duration = Duration::from_millis(20);
/// Added to the process's score for the case that memory runs out, so that the kernel ends a run rather than the server.
const MEMORY_SCORE: i32 = 200;

/// Reads a file that a profile names; this one is used by several threads.
type SharedReader = Arc<dyn Fn(&std::path::Path, &str) -> Result<Vec<u8>, String> + Send + Sync>;

/// Runs one order that comes on `socket`, as far as `permit` allows it. `read` reads files that profiles name; `on_signal` is given what a signal to end is to call.
///
/// # Errors
/// The other end of the socket is no server of this program's version, or is gone.
pub fn serve(
    socket: UnixStream,
    permit: Permit,
    read: impl Fn(&std::path::Path, &str) -> Result<Vec<u8>, String> + Send + Sync + 'static,
    on_signal: impl FnOnce(Box<dyn Fn() + Send>) -> Result<(), String>,
) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    os::process::end_with_parent();
    let (mut writing, mut reading, mut buffer) = (socket.try_clone().map_err(failed)?, socket, Vec::new());
    frame::write(&mut writing, &FromAgent::Hello(Hello::own()), &mut buffer).map_err(failed)?;
    let mut order = order(&mut reading, &mut buffer)?;
    let is_of_fleet = permit.agent.is_some() || order.work.part().is_some();
    if is_of_fleet {
        // Of what started it.
        os::cpu::keep_no_longer();
    }
    permit.assign_cores(&mut order.cores);
    os::process::be_called("eagre-agent");
    os::memory::end_first(MEMORY_SCORE);
    // Threads that are started from here on stay off the workers' cores.
    let _ = os::cpu::pin_to(&os::cpu::control_cores(&order.cores));
    let (control, commands) = engine::channel();
    let (stopped, store) = (Stopped::default(), Arc::new(StoreState::default()));
    let (asked, why) = (control.clone(), stopped.clone());
    on_signal(Box::new(move || {
        why.note("the engine's process got a signal to end");
        asked.stop();
    }))?;
    let (outbox, writer) = Outbox::new(writing).map_err(failed)?;
    let (duties, duty) = channel();
    let (peers, known_peers) = channel();
    let guard = permit.clone();
    let read: SharedReader = Arc::new(move |folder: &std::path::Path, name: &str| {
        guard.refuse_file(name)?;
        read(folder, name)
    });
    let listener =
        Listener { control: control.clone(), duties, store: store.clone(), read: read.clone(), peers };
    let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
    // All processes of a machine may be busy: its lease is renewed nevertheless.
    let keep = move || is_of_fleet && os::cpu::keep_in_time();
    let listens = move || {
        keep();
        listener.listen(reading, buffer);
    };
    thread("eagre-listens").spawn(listens).map_err(failed)?;
    let (replies, silence, lease) = (outbox.clone(), stopped.clone(), order.lease);
    let steering = control.clone();
    let sees = move || {
        keep();
        see_to(&duty, &steering, &replies, &silence, lease);
    };
    thread("eagre-duties").spawn(sees).map_err(failed)?;
    let ends =
        Ends { permit: &permit, control: &control, store: &store, outbox: &outbox, peers: known_peers };
    let end = match ends.play(&order, &*read, commands) {
        Ok(End::Run(end)) => End::Run(Box::new(RunEnd { stopped: stopped.reason(), ..*end })),
        Ok(End::Campaign(end)) => End::Campaign(Box::new(CampaignEnd { stopped: stopped.reason(), ..*end })),
        Ok(end @ End::Refused(_)) => end,
        Err(refusal) => End::Refused(refusal),
    };
    outbox.send(FromAgent::Ended(Box::new(end)));
    outbox.close();
    // The last thing that is said must have been written.
    let _ = writer.join();
    Ok(())
}

/// The first two messages.
fn order(socket: &mut UnixStream, buffer: &mut Vec<u8>) -> Result<Box<Order>, String> {
    let mut next = || match frame::read(socket, buffer) {
        Ok(Some(message)) => Ok(message),
        Ok(None) => Err("the server is gone".to_owned()),
        Err(error) => Err(format!("standard input is no socket of a server: {error}")),
    };
    let ToAgent::Hello(hello) = next()? else {
        return Err("the first message does not identify a server".to_owned());
    };
    hello.refuse_other()?;
    let ToAgent::Run(order) = next()? else { return Err("the second message is no order".to_owned()) };
    Ok(order)
}

/// Connections of an agent's work.
struct Ends<'a> {
    permit: &'a Permit,
    control: &'a Control,
    store: &'a StoreState,
    outbox: &'a Outbox,
    /// Facts that the machines of a run have of each other.
    peers: Receiver<Peers>,
}

impl Ends<'_> {
    /// Does the work; the ports are closed when this returns.
    fn play(&self, order: &Order, read: ReadFile<'_>, mut commands: Commands) -> Result<End, Refusal> {
        let refused = |reason: String| Refusal { reason, is_bad_input: true };
        let mut plan = order.source.plan(read).map_err(refused)?;
        self.permit.admit(&mut plan, &order.work).map_err(refused)?;
        match &order.work {
            Work::Run(run) => {
                let (result, raw) = self.run(run, plan, &order.cores, commands)?;
                Ok(End::Run(Box::new(RunEnd { result, raw: raw.map(Box::new), stopped: None })))
            }
            Work::Campaign(campaign) => {
                let end = campaign::play(campaign, plan, &order.cores, &mut commands, self.outbox)?;
                Ok(End::Campaign(Box::new(end)))
            }
        }
    }

    fn run(
        &self,
        order: &RunOrder,
        mut plan: Plan,
        cores: &[usize],
        mut commands: Commands,
    ) -> Result<(ResultDocument, Option<RawTimes>), Refusal> {
        // Before all that may come from clients.
        for port in &order.quiet {
            let command = CaptureCommand { port: port.clone(), on: false };
            drop(self.control.request(Command::SetCapture(command)));
        }
        let (rig, clock) = match &order.part {
            Some(part) => self.open_part(part, &mut plan, cores, &mut commands)?,
            None => {
                let rig = Rig::open_unless(&plan, cores.len(), &mut || commands.is_stopped())?;
                rig.check(&plan)?;
                self.outbox.send(FromAgent::Opened);
                (rig, TscClock::calibrate(CALIBRATION))
            }
        };
        self.outbox.send(FromAgent::Clock(clock.facts().into()));
        let options = RunOptions { cores: cores.to_vec(), histograms: true, spare: Vec::new() };
        let share = order.part.as_ref().map(|part| Arc::new(Share::of(&plan, &part.here)));
        let mut watcher = Watcher {
            outbox: self.outbox,
            store: self.store,
            publisher: Publisher::new(cores.to_vec(), share.clone()),
            intervals: order.keeps.then(|| Intervals::new(plan.streams.len(), share.clone())),
        };
        let mut session = Session::load(plan, rig).attended(order.attended);
        let mut result = session.run(&options, &clock, &mut commands, &mut watcher)?;
        if let Some(share) = share {
            share.of_result(&mut result);
        }
        Ok((result, session.take_raw()))
    }

    /// The ports of a part of a run, once the other machines' are known, and a clock that has the controller's time.
    fn open_part(
        &self,
        part: &PartOrder,
        plan: &mut Plan,
        cores: &[usize],
        commands: &mut Commands,
    ) -> Result<(Rig, TscClock), Refusal> {
        let rig = Rig::open_part(plan, &part.here, cores.len(), &mut || commands.is_stopped())?;
        let cards = rig.facts().into_iter().map(PortCard::from).collect();
        self.outbox.send(FromAgent::Part(Box::new(FromPart::Opened(cards))));
        let refused = |reason: &str| Refusal { reason: reason.to_owned(), is_bad_input: false };
        let peers = loop {
            match self.peers.recv_timeout(LOOK_EVERY) {
                Ok(peers) => break peers,
                Err(RecvTimeoutError::Timeout) if !commands.is_stopped() => {}
                Err(_) => return Err(refused("it was stopped before it started")),
            }
        };
        if peers.ports.len() != plan.ports.len() {
            return Err(refused(
                "internal error, please report it: the machines of the run have other ports",
            ));
        }
        strip(plan, &part.here);
        let rig = rig.joined(&part.here, peers.ports.into_iter().map(Into::into).collect());
        let wrong = self.permit.wrong_clock;
        let clock = TscClock::calibrate(CALIBRATION_BETWEEN).drifting(wrong.drift_ppb);
        let error = wrong.error(os::clock::monotonic_ns());
        Ok((rig, clock.shifted(error.saturating_sub(peers.offset_ns))))
    }
}

/// Passes the server's messages on.
struct Listener {
    control: Control,
    duties: Sender<Duty>,
    store: Arc<StoreState>,
    read: SharedReader,
    peers: Sender<Peers>,
}

impl Listener {
    /// Listens until the server's last message.
    fn listen(&self, mut socket: UnixStream, mut buffer: Vec<u8>) {
        while let Ok(Some(message)) = frame::read(&mut socket, &mut buffer) {
            match message {
                ToAgent::Command { number, command } => self.command(number, command),
                ToAgent::Forget(number) => drop(self.duties.send(Duty::Forget(number))),
                ToAgent::Peers(peers) => drop(self.peers.send(*peers)),
                ToAgent::Renew => drop(self.duties.send(Duty::Renew)),
                ToAgent::WantBatch => self.store.wants_batch.store(true, Ordering::Relaxed),
                ToAgent::Stored(intervals) => self.store.stored.store(intervals, Ordering::Relaxed),
                // Said once, at the beginning.
                ToAgent::Hello(_) | ToAgent::Run(_) => break,
            }
        }
        let _ = self.duties.send(Duty::Gone);
    }

    fn command(&self, number: u64, command: CommandMessage) {
        let reply = match command.command() {
            Ok(command) => self.control.request(command),
            Err(source) => {
                let (promise, reply) = promise();
                let (control, read) = (self.control.clone(), self.read.clone());
                // A large profile takes its time, and the next message does not wait for it.
                let body = move || promise.keep(add(&control, &source, &*read));
                let spawned = std::thread::Builder::new().name("eagre-adds".to_owned()).spawn(body);
                spawned.map_or_else(|error| refused(format!("no thread for it: {error}")), |_| reply)
            }
        };
        let _ = self.duties.send(Duty::Await { number, reply });
    }
}

/// The reply to what can't be done.
fn refused(reason: String) -> PendingReply {
    let (promise, reply) = promise();
    promise.keep(Err(CommandError::Refused(reason)));
    reply
}

/// Adds the streams of a source's plan.
fn add(control: &Control, source: &Source, read: ReadFile<'_>) -> Result<engine::Reply, CommandError> {
    let plan = source.plan(read).map_err(CommandError::Refused)?;
    control.request(Command::AddStreams(NewStreams(Arc::new(plan)))).wait()
}

/// Sends what the trial shows.
struct Watcher<'a> {
    outbox: &'a Outbox,
    store: &'a StoreState,
    publisher: Publisher,
    intervals: Option<Intervals>,
}

impl TrialObserver for Watcher<'_> {
    fn interval(&self) -> Nanos {
        EVERY
    }

    fn neighbours_silent(&mut self, port: &str, neighbours: &[IpAddr]) {
        let neighbours = neighbours.to_vec();
        self.outbox.send(FromAgent::NeighboursSilent { port: port.to_owned(), neighbours });
    }

    fn ready(&mut self) {
        self.outbox.send(FromAgent::Part(Box::new(FromPart::Ready)));
    }

    fn started(&mut self, late: Nanos) {
        self.outbox.send(FromAgent::Part(Box::new(FromPart::Started(late.0))));
    }

    fn part_sent(&mut self, sent: &[u64], stopped: bool) {
        self.outbox.send(FromAgent::Part(Box::new(FromPart::Sent { sent: sent.to_vec(), stopped })));
    }

    fn wants_snapshot(&mut self, view: &View<'_>) -> bool {
        self.publisher.is_due(view.stream_count(), view.at())
    }

    fn snapshot(&mut self, view: &View<'_>) {
        // It is read about as fast as it is written, and once more by whoever asks for it.
        let later = self.outbox.full_cost() * 3;
        let (live, full) = self.publisher.documents(view, !self.outbox.has_full(), later);
        self.outbox.snapshot(live, view.raw_row(), full);
    }

    fn keeps(&self) -> bool {
        self.intervals.is_some()
    }

    fn keep(&mut self, view: &View<'_>, must: bool) -> bool {
        let (store, outbox) = (self.store, self.outbox);
        self.intervals.as_mut().is_none_or(|intervals| intervals.keep(view, must, store, outbox))
    }
}
