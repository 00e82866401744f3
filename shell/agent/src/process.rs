//! The server's end: starts an agent, attends it, and returns its end.

use crate::child::{Child, Process};
use crate::control::{Inbox, Request, Requests, Wanted};
use crate::frame;
use crate::full::FullView;
use crate::lost::Lost;
use crate::message::{Batch, Clock, CommandMessage, End, FromAgent, Hello, Order, ToAgent, TrialBegins};
use crate::part::{FromPart, no_owner};
use crate::{RENEW_EVERY, SILENCE_MAX};
use api::{Live, Names, Point};
use engine::{Command, CommandError, Promise, Reply};
use result::IntervalDocument;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time for the first message of a new process.
const HELLO_TIME: Duration = Duration::from_secs(10);
/// Time for an agent to end after its last message.
const FAREWELL_TIME: Duration = Duration::from_secs(10);
/// Time for an agent that must stop to give up ports that are not open yet.
const GIVING_UP_TIME: Duration = Duration::from_secs(2);
/// Time without progress of the trial's control, with traffic or a pending stop. At the end of a run, thousands of clients may release
/// their addresses one by one.
const STANDSTILL_MAX: Duration = Duration::from_secs(600);
/// Limit of a write to an agent.
const WRITE_TIME: Duration = Duration::from_secs(5);
/// Interval at which the end of an agent is polled.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Attends a run in an agent.
pub trait Attendant {
    /// Its ports are open.
    fn opened(&mut self);
    /// Live figures.
    fn live(&mut self, live: Live);
    /// The last interval and the totals.
    fn full(&mut self, full: FullView);
    /// Neighbours of a run's port did not reply.
    fn neighbours_silent(&mut self, _port: &str, _neighbours: &[IpAddr]) {}
    /// A message of an agent with a part of a run.
    fn part(&mut self, _said: FromPart) {}
    /// One of the machines of a run is lost, that of `agent` unless it is the controller's, and the run continues on the others.
    fn machine_lost(&mut self, _agent: Option<&str>, _reason: &str) {}
    /// Traffic of a run is about to start. The line is for messages from the store.
    fn starts(&mut self, _clock: Clock, _line: &Line) {}
    /// A whole interval of a run for the store.
    fn interval(&mut self, _interval: IntervalDocument) {}
    /// Data of a run for the store beside whole intervals.
    fn batch(&mut self, _batch: Batch) {}
    /// Names of the columns of live figures of a campaign's trial.
    fn names(&mut self, _names: Names) {}
    /// A trial of a campaign begins.
    fn trial_begins(&mut self, _begins: TrialBegins) {}
    /// A trial of a campaign has ended, and the store has it.
    fn trial_ended(&mut self, _point: Point) {}
}

/// Sends messages to an agent. Clones send to the same one.
#[derive(Debug, Clone)]
pub struct Line {
    sockets: Vec<Arc<Mutex<UnixStream>>>,
}

impl Line {
    /// Sends to the agents of all these.
    pub(crate) fn all<'a>(lines: impl Iterator<Item = &'a Self>) -> Self {
        Self { sockets: lines.flat_map(|line| line.sockets.clone()).collect() }
    }

    /// Asks for the next counts for the store.
    pub fn want_batch(&self) {
        self.say(&ToAgent::WantBatch);
    }

    /// Reports the number of intervals in the store.
    pub fn stored(&self, intervals: u64) {
        self.say(&ToAgent::Stored(intervals));
    }

    /// Sends a message. Failures are ignored here: a lost or stalled agent is detected elsewhere.
    fn say(&self, message: &ToAgent) {
        for socket in &self.sockets {
            let mut socket = socket.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = frame::write(&mut *socket, message, &mut Vec::new());
        }
    }
}

/// Runs an order in a separate process of this machine, to its end. `started` gets the process's number.
///
/// # Errors
/// The process could not be started, or ended before the run did.
pub fn run(
    order: Order,
    requests: Requests,
    attendant: &mut dyn Attendant,
    started: impl FnOnce(u32),
) -> Result<End, Lost> {
    let (child, socket) = Child::start(&[]).map_err(unstarted)?;
    started(child.id());
    run_on(order, requests, attendant, Box::new(child), socket)
}

/// Runs an order in a process that is reached by `socket`, to its end.
///
/// # Errors
/// The process ended before the run did.
pub fn run_on(
    order: Order,
    requests: Requests,
    attendant: &mut dyn Attendant,
    process: Box<dyn Process>,
    socket: UnixStream,
) -> Result<End, Lost> {
    let mut agent = Agent::attach(&requests, process, socket).map_err(unstarted)?;
    agent.line.say(&ToAgent::Hello(Hello::own()));
    agent.line.say(&ToAgent::Run(Box::new(order)));
    agent.attend(&requests, attendant);
    let end = agent.end.take();
    let lost = agent.farewell(end.is_some());
    // Whoever still waits for a reply is told that there is none.
    drop(requests);
    end.ok_or(lost)
}

fn unstarted(error: std::io::Error) -> Lost {
    Lost::failed(format!("cannot start the engine's process: {error}"))
}

/// An agent as its server sees it.
struct Agent {
    process: Box<dyn Process>,
    line: Line,
    /// Commands without a reply yet.
    awaited: BTreeMap<u64, Promise>,
    /// Of the next command.
    number: u64,
    is_open: bool,
    /// Whether traffic is sent.
    sends: bool,
    /// Since when it is to stop.
    stopping: Option<Instant>,
    end: Option<End>,
    /// Why it was killed, if it was.
    killed: Option<String>,
    /// Time without any message, and without any but beats. Time in which this process itself stalled does not count.
    silent_for: Duration,
    still_for: Duration,
}

impl Agent {
    /// Starts a thread that reads the process's messages.
    fn attach(requests: &Requests, process: Box<dyn Process>, here: UnixStream) -> std::io::Result<Self> {
        here.set_write_timeout(Some(WRITE_TIME))?;
        let mut reading = here.try_clone()?;
        let agent = Self {
            process,
            line: Line { sockets: vec![Arc::new(Mutex::new(here))] },
            awaited: BTreeMap::new(),
            number: 0,
            is_open: false,
            sends: false,
            stopping: None,
            end: None,
            killed: None,
            silent_for: Duration::ZERO,
            still_for: Duration::ZERO,
        };
        let said = requests.sender.clone();
        let body = move || {
            let closed = read_all(&mut reading, &said).err();
            let _ = said.send(Inbox::Closed(closed));
        };
        let reader = std::thread::Builder::new().name("eagre-hears".to_owned()).spawn(body);
        match reader {
            Ok(_) => Ok(agent),
            Err(error) => {
                agent.farewell(false);
                Err(error)
            }
        }
    }

    /// Attends the agent until its last message.
    fn attend(&mut self, requests: &Requests, attendant: &mut dyn Attendant) {
        let mut tick = Instant::now();
        loop {
            let next = requests.inbox.recv_timeout(RENEW_EVERY.saturating_sub(tick.elapsed()));
            match next {
                Ok(Inbox::Request(request)) => self.forward(request),
                Ok(Inbox::Said(said)) => {
                    self.silent_for = Duration::ZERO;
                    self.take(said, attendant);
                }
                // Those are of a run on several machines.
                Ok(Inbox::Member(..)) => {}
                Ok(Inbox::Closed(reason)) => {
                    if let Some(reason) = reason {
                        self.kill(format!("the engine's process sent an invalid message: {reason}"));
                    }
                    return;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if tick.elapsed() >= RENEW_EVERY {
                tick = Instant::now();
                self.line.say(&ToAgent::Renew);
                self.forget_unawaited();
                self.look(RENEW_EVERY);
            }
        }
    }

    /// Passes a request on.
    fn forward(&mut self, Request { wanted, promise }: Request) {
        let command = match wanted {
            Wanted::AddStreams(source) => CommandMessage::AddStreams(source),
            Wanted::Say(message) => {
                self.line.say(&message);
                return promise.keep(Ok(Reply::Done));
            }
            Wanted::GiveUp(reason) => {
                self.kill(reason);
                return promise.keep(Ok(Reply::Done));
            }
            Wanted::Command(command) => {
                if matches!(command, Command::Stop | Command::StopAt(_)) {
                    self.stopping = self.stopping.or_else(|| Some(Instant::now()));
                    self.still_for = Duration::ZERO;
                }
                match CommandMessage::of(command) {
                    Some(command) => command,
                    None => {
                        let reason = "streams are added by their source".to_owned();
                        return promise.keep(Err(CommandError::Refused(reason)));
                    }
                }
            }
        };
        self.number += 1;
        self.awaited.insert(self.number, promise);
        self.line.say(&ToAgent::Command { number: self.number, command });
    }

    /// Handles a message of the agent.
    fn take(&mut self, said: FromAgent, attendant: &mut dyn Attendant) {
        if !matches!(said, FromAgent::Beat) {
            self.still_for = Duration::ZERO;
        }
        match said {
            FromAgent::Beat | FromAgent::Hello(_) => {}
            FromAgent::Opened => {
                self.is_open = true;
                attendant.opened();
            }
            FromAgent::Part(said) => {
                match &*said {
                    FromPart::Opened(_) => self.is_open = true,
                    FromPart::Live(live, ..) => self.sends = !live.draining,
                    _ => {}
                }
                attendant.part(*said);
            }
            FromAgent::Clock(clock) => attendant.starts(clock, &self.line),
            FromAgent::NeighboursSilent { port, neighbours } => {
                attendant.neighbours_silent(&port, &neighbours)
            }
            FromAgent::Live(live) => {
                self.sends = !live.draining;
                attendant.live(*live);
            }
            FromAgent::Full(full) => attendant.full((*full).into()),
            FromAgent::Interval(interval) => attendant.interval(*interval),
            FromAgent::Batch(batch) => attendant.batch(*batch),
            FromAgent::Names(names) => attendant.names(*names),
            FromAgent::TrialBegins(begins) => {
                // What is sent now is another trial's.
                self.sends = false;
                attendant.trial_begins(*begins);
            }
            FromAgent::TrialEnded(point) => {
                self.sends = false;
                attendant.trial_ended(*point);
            }
            FromAgent::Reply { number, reply } => {
                if let Some(promise) = self.awaited.remove(&number) {
                    promise.keep(reply.map(Into::into).map_err(Into::into));
                }
            }
            FromAgent::Ended(end) => self.end = Some(*end),
        }
    }

    /// Lets the agent forget replies that are not awaited any more.
    fn forget_unawaited(&mut self) {
        let unawaited = |(number, promise): (&u64, &Promise)| (!promise.is_awaited()).then_some(*number);
        let numbers: Vec<u64> = self.awaited.iter().filter_map(unawaited).collect();
        for number in numbers {
            self.awaited.remove(&number);
            self.line.say(&ToAgent::Forget(number));
        }
    }

    /// Kills a stalled agent. Called every `span` or less often.
    fn look(&mut self, span: Duration) {
        self.silent_for += span;
        self.still_for += span;
        let seconds = |time: Duration| time.as_secs();
        if self.silent_for > SILENCE_MAX {
            self.kill(format!(
                "the engine's process did not respond for {} s and was killed",
                seconds(SILENCE_MAX)
            ));
        } else if self.end.is_none()
            && self.still_for > STANDSTILL_MAX
            && (self.sends || self.stopping.is_some())
        {
            self.kill(format!(
                "the engine stalled for {} s, and its process was killed",
                seconds(STANDSTILL_MAX)
            ));
        } else if !self.is_open && self.stopping.is_some_and(|since| since.elapsed() > GIVING_UP_TIME) {
            self.kill("its ports did not open, and the engine's process was killed".to_owned());
        }
    }

    fn kill(&mut self, reason: String) {
        self.killed.get_or_insert(reason);
        self.process.kill();
    }

    /// Waits for the process, whose ports are free then. Why it was killed, or else how it ended.
    fn farewell(mut self, has_ended: bool) -> Lost {
        let began = Instant::now();
        let patience = if has_ended { FAREWELL_TIME } else { Duration::from_secs(1) };
        loop {
            if let Some(lost) = self.process.ended() {
                return self.killed.map_or(lost, Lost::failed);
            }
            if began.elapsed() > patience {
                self.kill("the engine's process closed its connection and was killed".to_owned());
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// A message with the block that came behind it.
fn attached(mut message: FromAgent, block: Vec<u8>) -> Result<FromAgent, String> {
    match &mut message {
        _ if block.is_empty() => {}
        FromAgent::Part(part) => part.attach(block)?,
        _ => return Err(no_owner(&block)),
    }
    Ok(message)
}

/// Passes an agent's messages on, after the first, which identifies it.
fn read_all(socket: &mut UnixStream, said: &mpsc::Sender<Inbox>) -> Result<(), String> {
    let mut buffer = Vec::new();
    let failed = |error: std::io::Error| error.to_string();
    socket.set_read_timeout(Some(HELLO_TIME)).map_err(failed)?;
    match frame::read(socket, &mut buffer) {
        Ok(Some(FromAgent::Hello(hello))) => hello.refuse_other()?,
        Ok(Some(_)) => return Err("its first message does not identify it".to_owned()),
        Ok(None) => return Ok(()),
        Err(error) => return Err(failed(error)),
    }
    socket.set_read_timeout(None).map_err(failed)?;
    loop {
        match frame::read_with(socket, &mut buffer) {
            Ok(Some((message, block))) => {
                if said.send(Inbox::Said(attached(message, block)?)).is_err() {
                    return Ok(());
                }
            }
            Ok(None) => return Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return Ok(()),
            Err(error) => return Err(failed(error)),
        }
    }
}
