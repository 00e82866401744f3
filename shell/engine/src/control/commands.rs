//! Commands to a running trial, each with one reply: done, or the reason of a failure.
//!
//! [`channel`] makes both ends. The controlling side keeps a [`Control`]; the trial takes its [`Commands`].
//!
//! Invariant: a request gets a reply or is dropped, and a dropped one reads as [`CommandError::Ended`].

use profile::Plan;
use result::{NewProtocolChange, ProtocolAction, ProtocolStates};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::pin::Pin;
#[cfg(unix)]
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll};
use std::time::Duration;
use units::{Load, Nanos, Pps};

/// A command to a running trial.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Change the rate of streams.
    SetRate(RateCommand),
    /// Send more streams. Running streams are not affected.
    AddStreams(NewStreams),
    /// Send some streams no more. Their counters stay.
    RemoveStreams(RemoveCommand),
    /// Set counters to zero: everything that is counted, live and in the result, is counted from then on.
    Clear,
    /// Let packets of watched streams that arrive at a port count as arrived when outages are judged, or not: at first they do.
    CountArrivals(ArrivalsCommand),
    /// Switch the capture of a port on or off. Before traffic starts, this is done first.
    SetCapture(CaptureCommand),
    /// Send echo requests until one gets a reply. Not sent if the caller has gone.
    Ping(PingCommand),
    /// Change what hosts do by themselves: sessions, adjacencies and their routes, leases. Possible before traffic starts, too.
    Protocol(ProtocolCommand),
    /// Return the state of hosts' protocols, with or without the routes and link states that are kept of
    /// neighbours. Also before traffic starts.
    AskProtocols {
        /// Whether with routes.
        routes: bool,
        /// Most of each kind: peers, clients, neighbours, groups.
        limit: usize,
    },
    /// Start at this time of the run's clock: of a run on several machines, once all are ready.
    StartAt(Nanos),
    /// The other machines of the run have sent all: packets of each stream.
    OthersSent(Vec<u64>),
    /// End traffic, wait for late packets, and make the result.
    Stop,
    /// The same at this time since traffic started: packets due before are sent.
    StopAt(Nanos),
}

/// Streams for a running trial: a plan for the same ports, with the trial's seed and no traffic but streams. They begin
/// when workers have them; their times, and the plan's duration, count from then on. With the trial they end at the latest.
#[derive(Debug, Clone)]
pub struct NewStreams(pub Arc<Plan>);

impl PartialEq for NewStreams {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for NewStreams {}

/// Streams to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoveCommand {
    /// Names: each of a stream, or of a stream with copies for all of them. None: all there are.
    pub streams: Vec<String>,
    /// Time since traffic started; `None` is immediately. Packets due before are sent.
    pub at: Option<Nanos>,
}

/// Streams whose arrivals at a port count against outages, or do not: of those that may take another path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrivalsCommand {
    /// Names: each of a stream, or of a stream with copies for all of them.
    pub streams: Vec<String>,
    /// Name of the port.
    pub port: String,
    /// Whether they count.
    pub on: bool,
}

/// A new rate for running streams, and for entries of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateCommand {
    /// Name of the stream, of a stream with copies for all of them, or of an entry of sessions; `None` is all.
    pub stream: Option<String>,
    /// The new rate.
    pub speed: Speed,
    /// Time since traffic started: the same on all machines of a run. `None` is as soon as all workers can have it.
    pub at: Option<Nanos>,
}

/// A change of what hosts do by themselves.
#[derive(Debug, Clone, PartialEq)]
pub struct ProtocolCommand {
    /// The change.
    pub change: NewProtocolChange,
    /// Time since traffic started: the same on all machines of a run. `None` is immediately.
    pub at: Option<Nanos>,
}

impl From<NewProtocolChange> for ProtocolCommand {
    /// Immediately.
    fn from(change: NewProtocolChange) -> Self {
        Self { change, at: None }
    }
}

/// A rate, by itself or as a share of the profile's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speed {
    /// Millionths of the profile's rate: 0 pauses, 1,000,000 resumes. Of an entry of sessions with `open: max`, of its
    /// `concurrent`.
    Share(u32),
    /// A new rate, for streams.
    Rate(Load),
    /// Sessions opened per second, for entries of sessions.
    Open(Pps),
}

impl std::str::FromStr for Speed {
    type Err = String;

    /// `2Mpps`, `40%` of the link, or `500/s` of sessions.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(rate) = profile::document::session_rate(text) {
            return Ok(Self::Open(rate));
        }
        text.parse().map(Self::Rate).map_err(|error: units::QuantityError| error.to_string())
    }
}

impl std::fmt::Display for Speed {
    /// As in rate changes of results.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Share(ppm) => write!(f, "{} of the profile's rate", Load::LinkShare(*ppm)),
            Self::Rate(load) => load.fmt(f),
            Self::Open(rate) => f.write_str(&profile::document::print_session_rate(rate)),
        }
    }
}

/// A capture to switch on or off. A capture starts switched on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureCommand {
    /// Name of the port.
    pub port: String,
    /// Whether packets are captured from now on.
    pub on: bool,
}

/// A ping from a host behind a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PingCommand {
    /// Name of the port it is sent from.
    pub port: String,
    /// Name of the host behind the port that sends it; `None` is any.
    pub host: Option<String>,
    /// Source address; `None` is the host's address on the target's network, or else its first of the IP version.
    pub from: Option<IpAddr>,
    /// Target address.
    pub to: IpAddr,
    /// Most echo requests.
    pub attempts: u16,
    /// Time from one request to the next.
    pub timeout: Nanos,
}

/// Target of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ActionOn {
    /// Routes.
    Routes,
    /// Sessions and adjacencies, and virtual routers.
    Sessions,
    /// Sessions that can restart.
    Restarts,
    Clients,
    Link,
    /// Virtual routers.
    Virtual,
}

impl ActionOn {
    /// The hosts it is about, in words.
    pub(crate) fn whose(self) -> &'static str {
        match self {
            Self::Routes => result::hosts_in_words!(any_routing),
            Self::Sessions => result::hosts_in_words!(any_peer),
            Self::Restarts => result::hosts_in_words!(restarting),
            Self::Clients => result::hosts_in_words!(clients),
            Self::Link => result::hosts_in_words!(links),
            Self::Virtual => "virtual routers",
        }
    }

    /// Whether its hosts have names.
    pub(crate) fn has_names(self) -> bool {
        matches!(self, Self::Routes | Self::Sessions | Self::Restarts | Self::Virtual)
    }
}

impl ActionOn {
    /// The target of an action.
    pub(crate) fn of(action: ProtocolAction) -> Self {
        match action {
            ProtocolAction::Advertise | ProtocolAction::Withdraw => Self::Routes,
            ProtocolAction::Up | ProtocolAction::Down => Self::Sessions,
            ProtocolAction::Restart => Self::Restarts,
            ProtocolAction::Renew | ProtocolAction::Release => Self::Clients,
            ProtocolAction::Enable | ProtocolAction::Disable => Self::Link,
            ProtocolAction::Priority => Self::Virtual,
        }
    }
}

/// Reply to a command that was carried out.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Done.
    Done,
    /// The ping is over.
    Ping(PingReply),
    /// Done, for this number of ranges of routes, sessions or clients.
    Changed(u64),
    /// State of the hosts' protocols.
    Protocols(Box<ProtocolStates>),
}

/// Outcome of a ping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PingReply {
    /// Source address.
    pub from: IpAddr,
    /// The neighbour it went through.
    pub via: IpAddr,
    /// Echo requests sent.
    pub sent: u16,
    /// Time from departure to arrival on a worker's clock, or why there is none.
    pub round_trip: Result<Nanos, String>,
}

/// Why a command was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The trial can't do it.
    #[error("{0}")]
    Refused(String),
    /// The trial ended first.
    #[error("the trial has ended")]
    Ended,
}

/// Sends commands to a trial. Clones send to the same one.
#[derive(Debug, Clone)]
pub struct Control {
    messages: mpsc::Sender<Message>,
}

/// The commands a trial gets, in the order they were sent.
#[derive(Debug)]
pub struct Commands {
    messages: mpsc::Receiver<Message>,
    /// Received and not yet carried out.
    waiting: VecDeque<Request>,
    /// For those that have something to be seen to.
    #[cfg(unix)]
    ringer: Ringer,
    /// Whether something has come since the last wait.
    woken: bool,
    /// Whether one of them was [`Command::Stop`]; it holds for later trials too.
    stopped: bool,
}

/// Message to the thread that takes commands.
#[derive(Debug)]
enum Message {
    Request(Request),
    /// A [`Ringer`] was rung.
    #[cfg(unix)]
    Ring,
}

/// Ends the present wait for commands, or the next one. Clones do the same.
#[cfg(unix)]
#[derive(Debug, Clone)]
pub(crate) struct Ringer {
    messages: mpsc::Sender<Message>,
    /// Whether a ring is on its way.
    rung: Arc<AtomicBool>,
}

#[cfg(unix)]
impl Ringer {
    /// The thread that wakes sees all that the caller did before.
    pub(crate) fn ring(&self) {
        if !self.rung.swap(true, Ordering::AcqRel) {
            let _ = self.messages.send(Message::Ring);
        }
    }
}

/// A reply that is still to come: await it, or block with [`PendingReply::wait`].
#[derive(Debug)]
#[must_use = "the reply reports whether the command was carried out"]
pub struct PendingReply {
    reply: oneshot::Receiver<Result<Reply, CommandError>>,
}

/// A [`PendingReply`] that is awaited.
#[derive(Debug)]
pub struct ReplyFuture {
    reply: oneshot::AsyncReceiver<Result<Reply, CommandError>>,
}

/// A command, and where its reply goes.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) command: Command,
    promise: Promise,
}

/// The other end of a [`PendingReply`]. If it is dropped, the reply reads as [`CommandError::Ended`].
#[derive(Debug)]
pub struct Promise {
    reply: oneshot::Sender<Result<Reply, CommandError>>,
}

/// A pending reply and the end that gives it: to pass commands on to a trial in another process.
pub fn promise() -> (Promise, PendingReply) {
    let (sender, reply) = oneshot::channel();
    (Promise { reply: sender }, PendingReply { reply })
}

impl Promise {
    /// Gives the reply.
    pub fn keep(self, reply: Result<Reply, CommandError>) {
        // Whoever asked may be gone.
        let _ = self.reply.send(reply);
    }

    /// Whether the reply is still awaited.
    pub fn is_awaited(&self) -> bool {
        !self.reply.is_closed()
    }
}

/// Both ends of the way commands take.
pub fn channel() -> (Control, Commands) {
    let (sender, messages) = mpsc::channel();
    let commands = Commands {
        messages,
        waiting: VecDeque::new(),
        #[cfg(unix)]
        ringer: Ringer { messages: sender.clone(), rung: Arc::default() },
        woken: false,
        stopped: false,
    };
    (Control { messages: sender }, commands)
}

impl Control {
    /// Sends a command.
    pub fn request(&self, command: Command) -> PendingReply {
        let (promise, reply) = promise();
        // If the trial is gone, so is the promise.
        let _ = self.messages.send(Message::Request(Request { command, promise }));
        reply
    }

    /// Ends the trial, or the one after if none is running.
    pub fn stop(&self) {
        drop(self.request(Command::Stop));
    }
}

impl Commands {
    /// For a trial without commands.
    pub fn none() -> Self {
        channel().1
    }

    /// A ringer for another thread, to end waits here.
    #[cfg(unix)]
    pub(crate) fn ringer(&self) -> Ringer {
        self.ringer.clone()
    }

    /// Waits for `time` at most: until a command comes or a ringer is rung, unless that was so since the last wait.
    pub(crate) fn wait(&mut self, time: Duration) {
        self.receive();
        if !self.woken
            && !time.is_zero()
            && let Ok(message) = self.messages.recv_timeout(time)
        {
            self.take_in(message);
        }
        self.woken = false;
    }

    /// Whether the trial is to stop.
    pub fn is_stopped(&mut self) -> bool {
        self.receive();
        self.stopped
    }

    /// The requests that have come since.
    pub(crate) fn take(&mut self) -> VecDeque<Request> {
        self.receive();
        std::mem::take(&mut self.waiting)
    }

    /// Those of them that switch captures.
    pub(crate) fn take_captures(&mut self) -> Vec<Request> {
        self.take_those(|command| matches!(command, Command::SetCapture(_)))
    }

    /// Those of them that are about protocols of hosts.
    pub(crate) fn take_protocols(&mut self) -> Vec<Request> {
        self.take_those(|command| matches!(command, Command::Protocol(_) | Command::AskProtocols { .. }))
    }

    /// The common start of the machines of a run, once it has come.
    pub(crate) fn take_start(&mut self) -> Option<Nanos> {
        let start = self.take_those(|command| matches!(command, Command::StartAt(_))).pop()?;
        let Command::StartAt(at) = start.command else { return None };
        start.conclude(Ok(()));
        Some(at)
    }

    fn take_those(&mut self, is_one: impl Fn(&Command) -> bool) -> Vec<Request> {
        let (those, others) = self.take().into_iter().partition(|request| is_one(&request.command));
        self.waiting = others;
        Vec::from(those)
    }

    fn receive(&mut self) {
        while let Ok(message) = self.messages.try_recv() {
            self.take_in(message);
        }
    }

    fn take_in(&mut self, message: Message) {
        self.woken = true;
        match message {
            // A ring from here on is noticed again.
            #[cfg(unix)]
            Message::Ring => drop(self.ringer.rung.swap(false, Ordering::AcqRel)),
            Message::Request(request) if request.command == Command::Stop => {
                self.stopped = true;
                request.answer(Ok(Reply::Done));
            }
            Message::Request(request) => self.waiting.push_back(request),
        }
    }
}

impl Request {
    pub(crate) fn answer(self, reply: Result<Reply, CommandError>) {
        self.promise.keep(reply);
    }

    /// Says that it is done, or why not.
    pub(crate) fn conclude(self, outcome: Result<(), String>) {
        self.answer(outcome.map(|()| Reply::Done).map_err(CommandError::Refused));
    }

    /// Whether the caller still waits for the reply.
    pub(crate) fn is_awaited(&self) -> bool {
        self.promise.is_awaited()
    }
}

impl PendingReply {
    /// Blocks until the command is carried out or refused.
    ///
    /// # Errors
    /// Why it was not carried out.
    pub fn wait(self) -> Result<Reply, CommandError> {
        self.reply.recv().unwrap_or(Err(CommandError::Ended))
    }

    /// The outcome, if there is one yet.
    pub fn poll(&self) -> Option<Result<Reply, CommandError>> {
        match self.reply.try_recv() {
            Ok(reply) => Some(reply),
            Err(oneshot::TryRecvError::Empty) => None,
            Err(oneshot::TryRecvError::Disconnected) => Some(Err(CommandError::Ended)),
        }
    }
}

impl IntoFuture for PendingReply {
    type Output = Result<Reply, CommandError>;
    type IntoFuture = ReplyFuture;

    fn into_future(self) -> ReplyFuture {
        ReplyFuture { reply: self.reply.into_future() }
    }
}

impl Future for ReplyFuture {
    type Output = Result<Reply, CommandError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.reply).poll(context).map(|reply| reply.unwrap_or(Err(CommandError::Ended)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn capture(port: &str) -> Command {
        Command::SetCapture(CaptureCommand { port: port.to_owned(), on: false })
    }

    #[test]
    fn every_command_is_answered() {
        let (control, mut commands) = channel();
        let (done, refused) = (control.request(capture("west")), control.request(capture("east")));
        let ping = control.clone().request(Command::SetRate(RateCommand {
            stream: None,
            speed: Speed::Share(0),
            at: None,
        }));
        let mut captures = commands.take_captures().into_iter();
        captures.next().unwrap().conclude(Ok(()));
        captures.next().unwrap().conclude(Err("no".to_owned()));
        assert_eq!(done.wait(), Ok(Reply::Done));
        assert_eq!(refused.wait(), Err(CommandError::Refused("no".to_owned())));
        assert_eq!(commands.take().len(), 1, "and forgotten");
        assert_eq!(ping.wait(), Err(CommandError::Ended));
        drop(commands);
        assert_eq!(control.request(Command::Stop).wait(), Err(CommandError::Ended));
    }

    #[test]
    fn a_wait_ends_with_what_comes() {
        let long = Duration::from_secs(60);
        let begun = Instant::now();
        let (control, mut commands) = channel();
        // Before the wait, and also if it was looked at since.
        drop(control.request(capture("west")));
        commands.wait(long);
        let ringer = commands.ringer();
        ringer.ring();
        ringer.ring();
        assert_eq!(commands.take().len(), 1);
        commands.wait(long);
        // One ring is one wake.
        let ended = Instant::now();
        commands.wait(Duration::from_millis(20));
        assert!(ended.elapsed() >= Duration::from_millis(20));
        // During it.
        let (woke, waits) = std::sync::mpsc::channel();
        let late = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            ringer.ring();
            waits.recv().unwrap();
            std::thread::sleep(Duration::from_millis(20));
            drop(control.request(Command::Stop));
        });
        commands.wait(long);
        assert!(!commands.stopped);
        woke.send(()).unwrap();
        commands.wait(long);
        assert!(commands.stopped && begun.elapsed() < long / 2);
        late.join().unwrap();
    }

    #[test]
    fn a_stop_overtakes_and_holds() {
        let (control, mut commands) = channel();
        let waiting = control.request(capture("west"));
        let stop = control.request(Command::Stop);
        assert!(commands.is_stopped() && commands.is_stopped());
        assert_eq!(stop.wait(), Ok(Reply::Done));
        let requests = commands.take();
        assert_eq!((requests.len(), requests[0].is_awaited()), (1, true));
        drop(waiting);
        assert!(!requests[0].is_awaited());
    }
}
