//! Messages between a server and an agent: dedicated types, so that neither the engine's commands nor its plans need a form
//! on the wire.
//!
//! Not here: how messages travel (`frame`). Documents of results and snapshots travel as they are.

use crate::part::{FromPart, PartOrder, Peers};
use crate::source::Source;
use api::{Live, Names, Neighbour, Point, WorkerLoad};
use campaign::Part;
use engine::{
    ArrivalsCommand, CaptureCommand, Command, CommandError, EngineError, PingCommand, PingReply,
    ProtocolCommand, RateCommand, RawRow, RawTimes, RemoveCommand, Reply, Speed,
};
use methods::{Attributes, Timing};
use result::{
    IntervalDocument, NewProtocolChange, OverallResult, ProtocolStates, ResultDocument, TotalDocument,
};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;
use units::{BitRate, Layer, Load, Nanos, Pps};

/// Changes with every change of a message.
const SEAM: u32 = 7;

/// Identity of an end. Both ends are one program in one version; another one is refused before it gets any data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    program: String,
    version: String,
    seam: u32,
}

impl Hello {
    /// This program's identity.
    pub fn own() -> Self {
        Self { program: "eagre".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned(), seam: SEAM }
    }

    /// Reason why the other end is refused, if it is.
    pub fn refuse_other(&self) -> Result<(), String> {
        let own = Self::own();
        if *self == own {
            return Ok(());
        }
        let words = |hello: &Self| {
            format!("{} {} (messages of version {})", hello.program, hello.version, hello.seam)
        };
        Err(format!("the other process is {}, and this one {}", words(self), words(&own)))
    }
}

/// From a server to its agent.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToAgent {
    /// The first message.
    Hello(Hello),
    /// The second: what to run.
    Run(Box<Order>),
    /// A command to the running trial; the reply has the same number.
    Command {
        /// Its number.
        number: u64,
        /// The command.
        command: CommandMessage,
    },
    /// Nobody awaits the reply of this number any more.
    Forget(u64),
    /// Facts that all machines of a run know before they start.
    Peers(Box<Peers>),
    /// The server lives.
    Renew,
    /// Send the next counts for the store.
    WantBatch,
    /// Number of intervals in the store.
    Stored(u64),
}

/// From an agent to its server.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromAgent {
    /// The first message.
    Hello(Hello),
    /// The ports are open.
    Opened,
    /// Of a part of a run on several machines.
    Part(Box<FromPart>),
    /// Traffic is about to start, by this clock.
    Clock(Clock),
    /// Neighbours of a port did not reply, and the run continues without them.
    NeighboursSilent {
        /// The port's name.
        port: String,
        /// Their addresses.
        neighbours: Vec<IpAddr>,
    },
    /// Live figures.
    Live(Box<Live>),
    /// The last interval and the totals.
    Full(Box<Full>),
    /// A whole interval for the store.
    Interval(Box<IntervalDocument>),
    /// Data for the store beside whole intervals.
    Batch(Box<Batch>),
    /// The reply to the command of this number.
    Reply {
        /// Its number.
        number: u64,
        /// The outcome.
        reply: Result<ReplyMessage, Unfulfilled>,
    },
    /// Names of the columns of live figures of a campaign's trial, before the first of them.
    Names(Box<Names>),
    /// A trial of a campaign begins.
    TrialBegins(Box<TrialBegins>),
    /// A trial of a campaign has ended, and the store has it.
    TrialEnded(Box<Point>),
    /// The agent lives.
    Beat,
    /// All is over and the ports are closed.
    Ended(Box<End>),
}

/// An agent's order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    /// Where the plan comes from.
    pub source: Source,
    /// Cores for workers. An agent of another machine chooses its cores itself, as many as here.
    pub cores: Vec<usize>,
    /// Time for which the agent sends without a message of its server.
    pub lease: Duration,
    /// Kind of work.
    pub work: Work,
}

/// Use of a plan.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Work {
    /// Send it.
    Run(RunOrder),
    /// Test by it.
    Campaign(Box<CampaignOrder>),
}

impl Work {
    /// The part of a run on several machines.
    pub(crate) fn part(&self) -> Option<&PartOrder> {
        match self {
            Self::Run(run) => run.part.as_ref(),
            Self::Campaign(_) => None,
        }
    }
}

/// Modes of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunOrder {
    /// Whether a client attends the run, see `Session::attended` of the engine.
    pub attended: bool,
    /// Ports whose captures begin switched off.
    pub quiet: Vec<String>,
    /// Whether intervals are stored.
    pub keeps: bool,
    /// The agent's part, of a run on several machines.
    pub part: Option<PartOrder>,
}

/// Parts of a campaign.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CampaignOrder {
    /// Its name.
    pub name: String,
    /// Name of the profile in reports.
    pub profile: String,
    /// The methods.
    pub parts: Vec<Part>,
    /// Times around trials.
    pub timing: Timing,
    /// How frames are made.
    pub attributes: Attributes,
    /// The results store.
    pub store: PathBuf,
    /// The campaign's entry there.
    pub id: String,
}

/// A trial of a campaign that begins.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TrialBegins {
    /// Its number.
    pub number: u64,
    /// Progress of the method, 0 to 1.
    pub fraction: f64,
    /// Trials left, by forecast.
    pub trials_left: u64,
    /// Their duration, s.
    pub left_s: f64,
    /// The method.
    pub part: String,
    /// Label of the trial.
    pub label: String,
}

/// The clock of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// `tsc` or `monotonic`.
    pub source: String,
    /// Ticks per second.
    pub hz: u64,
    /// Bound on the error of its rate, parts per million.
    pub uncertainty_ppm: f64,
    /// Time one reading takes, ns.
    pub read_cost_ns: f64,
}

impl From<os::ClockFacts> for Clock {
    fn from(facts: os::ClockFacts) -> Self {
        Self {
            source: facts.source.to_owned(),
            hz: facts.hz,
            uncertainty_ppm: facts.uncertainty_ppm,
            read_cost_ns: facts.read_cost_ns,
        }
    }
}

/// The last interval and the totals.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Full {
    /// Time since traffic started, s.
    pub at_s: f64,
    /// The last interval.
    pub interval: IntervalDocument,
    /// Since the start.
    pub total: TotalDocument,
    /// Workers.
    pub workers: Vec<WorkerLoad>,
    /// Resolved neighbours.
    pub neighbours: Vec<Neighbour>,
    /// Latencies of all streams since the start.
    pub latency: RawRow,
    /// Of one of several machines, sums of the interval and since the start.
    pub raw: Option<Box<(RawTimes, RawTimes)>>,
}

/// Data for the store beside whole intervals.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Batch {
    /// Time since traffic started, s.
    pub at_s: f64,
    /// Part of it with traffic, s.
    pub seconds: f64,
    /// Counted since the last whole interval; none if that has just ended.
    pub unfinished: Option<IntervalDocument>,
    /// Counted since the start.
    pub total: TotalDocument,
    /// Of one of several machines, sums since the last whole interval and since the start.
    pub raw: Option<Box<(RawTimes, RawTimes)>>,
}

/// How a run ended.
#[derive(Debug, Serialize, Deserialize)]
pub struct RunEnd {
    /// The result.
    pub result: ResultDocument,
    /// Of one of several machines, sums.
    pub raw: Option<Box<RawTimes>>,
    /// Why the agent itself stopped the run, if it did.
    pub stopped: Option<String>,
}

/// How an agent's work ended.
#[derive(Debug, Serialize, Deserialize)]
pub enum End {
    /// A run.
    Run(Box<RunEnd>),
    /// A campaign.
    Campaign(Box<CampaignEnd>),
    /// Refused.
    Refused(Refusal),
}

impl End {
    /// Reason why the order was not carried out.
    pub fn refusal(self) -> Refusal {
        match self {
            Self::Refused(refusal) => refusal,
            Self::Run(_) | Self::Campaign(_) => {
                let reason =
                    "internal error, please report it: the engine's process did other work than it was given";
                Refusal { reason: reason.to_owned(), is_bad_input: false }
            }
        }
    }
}

/// How a campaign ended.
#[derive(Debug, Serialize, Deserialize)]
pub struct CampaignEnd {
    /// In what state.
    pub state: CampaignState,
    /// Why, if it failed.
    pub reason: Option<String>,
    /// Findings, in sentences.
    pub found: Vec<String>,
    /// Whether they found what they look for.
    pub overall: Option<OverallResult>,
    /// The campaign document, JSON.
    pub document: String,
    /// Why the agent itself stopped it, if it did.
    pub stopped: Option<String>,
}

/// Final state of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CampaignState {
    /// To its end.
    Done,
    /// Until it was stopped.
    Interrupted,
    /// Until something failed.
    Failed,
}

/// Why a trial did not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// In words.
    pub reason: String,
    /// Whether the input is at fault, not the machine or the device under test.
    pub is_bad_input: bool,
}

impl From<EngineError> for Refusal {
    fn from(error: EngineError) -> Self {
        Self { reason: error.to_string(), is_bad_input: error.is_bad_input() }
    }
}

/// A rate of packets or bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoadMessage {
    /// Millionths of a packet per second.
    MicroPps(u64),
    /// Bits per second of frames.
    BpsL2(u64),
    /// Bits per second on the wire.
    BpsL1(u64),
    /// Millionths of the link's rate.
    LinkShare(u32),
    /// As fast as the port takes.
    Max,
}

impl From<Load> for LoadMessage {
    fn from(load: Load) -> Self {
        match load {
            Load::Packets(rate) => Self::MicroPps(rate.micro()),
            Load::Bits(BitRate { bps, layer: Layer::L2 }) => Self::BpsL2(bps),
            Load::Bits(BitRate { bps, layer: Layer::L1 }) => Self::BpsL1(bps),
            Load::LinkShare(share) => Self::LinkShare(share),
            Load::Max => Self::Max,
        }
    }
}

impl From<LoadMessage> for Load {
    fn from(load: LoadMessage) -> Self {
        match load {
            LoadMessage::MicroPps(micro) => Self::Packets(Pps::from_micro(micro)),
            LoadMessage::BpsL2(bps) => Self::Bits(BitRate { bps, layer: Layer::L2 }),
            LoadMessage::BpsL1(bps) => Self::Bits(BitRate { bps, layer: Layer::L1 }),
            LoadMessage::LinkShare(share) => Self::LinkShare(share),
            LoadMessage::Max => Self::Max,
        }
    }
}

/// A new rate of streams or entries of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SpeedMessage {
    /// Millionths of the profile's rate.
    Share(u32),
    /// A separate rate.
    Rate(LoadMessage),
    /// Millionths of a session opened per second.
    OpenMicro(u64),
}

impl From<Speed> for SpeedMessage {
    fn from(speed: Speed) -> Self {
        match speed {
            Speed::Share(share) => Self::Share(share),
            Speed::Rate(load) => Self::Rate(load.into()),
            Speed::Open(rate) => Self::OpenMicro(rate.micro()),
        }
    }
}

impl From<SpeedMessage> for Speed {
    fn from(speed: SpeedMessage) -> Self {
        match speed {
            SpeedMessage::Share(share) => Self::Share(share),
            SpeedMessage::Rate(load) => Self::Rate(load.into()),
            SpeedMessage::OpenMicro(micro) => Self::Open(Pps::from_micro(micro)),
        }
    }
}

/// A command to a running trial, see `engine::Command`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum CommandMessage {
    SetRate { stream: Option<String>, speed: SpeedMessage, at_ns: Option<u64> },
    AddStreams(Box<Source>),
    RemoveStreams { streams: Vec<String>, at_ns: Option<u64> },
    Clear,
    CountArrivals { streams: Vec<String>, port: String, on: bool },
    SetCapture { port: String, on: bool },
    Ping(PingMessage),
    Protocol { change: NewProtocolChange, at_ns: Option<u64> },
    AskProtocols { routes: bool, limit: usize },
    StartAt { ns: u64 },
    OthersSent { sent: Vec<u64> },
    Stop,
    StopAt { ns: u64 },
}

/// A ping, see `engine::PingCommand`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PingMessage {
    pub port: String,
    pub host: Option<String>,
    pub from: Option<IpAddr>,
    pub to: IpAddr,
    pub attempts: u16,
    pub timeout_ns: u64,
}

impl CommandMessage {
    /// The message of a command; none of streams to add, which travel as the [`Source`] of their plan.
    pub(crate) fn of(command: Command) -> Option<Self> {
        Some(match command {
            Command::AddStreams(_) => return None,
            Command::SetRate(RateCommand { stream, speed, at }) => {
                Self::SetRate { stream, speed: speed.into(), at_ns: at.map(|at| at.0) }
            }
            Command::RemoveStreams(RemoveCommand { streams, at }) => {
                Self::RemoveStreams { streams, at_ns: at.map(|at| at.0) }
            }
            Command::Clear => Self::Clear,
            Command::CountArrivals(ArrivalsCommand { streams, port, on }) => {
                Self::CountArrivals { streams, port, on }
            }
            Command::SetCapture(CaptureCommand { port, on }) => Self::SetCapture { port, on },
            Command::Ping(PingCommand { port, host, from, to, attempts, timeout }) => {
                Self::Ping(PingMessage { port, host, from, to, attempts, timeout_ns: timeout.0 })
            }
            Command::Protocol(ProtocolCommand { change, at }) => {
                Self::Protocol { change, at_ns: at.map(|at| at.0) }
            }
            Command::AskProtocols { routes, limit } => Self::AskProtocols { routes, limit },
            Command::StartAt(at) => Self::StartAt { ns: at.0 },
            Command::OthersSent(sent) => Self::OthersSent { sent },
            Command::Stop => Self::Stop,
            Command::StopAt(at) => Self::StopAt { ns: at.0 },
        })
    }

    /// The command, or the source of streams to add.
    pub(crate) fn command(self) -> Result<Command, Box<Source>> {
        Ok(match self {
            Self::AddStreams(source) => return Err(source),
            Self::SetRate { stream, speed, at_ns } => {
                Command::SetRate(RateCommand { stream, speed: speed.into(), at: at_ns.map(Nanos) })
            }
            Self::RemoveStreams { streams, at_ns } => {
                Command::RemoveStreams(RemoveCommand { streams, at: at_ns.map(Nanos) })
            }
            Self::Clear => Command::Clear,
            Self::CountArrivals { streams, port, on } => {
                Command::CountArrivals(ArrivalsCommand { streams, port, on })
            }
            Self::SetCapture { port, on } => Command::SetCapture(CaptureCommand { port, on }),
            Self::Ping(PingMessage { port, host, from, to, attempts, timeout_ns }) => {
                Command::Ping(PingCommand { port, host, from, to, attempts, timeout: Nanos(timeout_ns) })
            }
            Self::Protocol { change, at_ns } => {
                Command::Protocol(ProtocolCommand { change, at: at_ns.map(Nanos) })
            }
            Self::AskProtocols { routes, limit } => Command::AskProtocols { routes, limit },
            Self::StartAt { ns } => Command::StartAt(Nanos(ns)),
            Self::OthersSent { sent } => Command::OthersSent(sent),
            Self::Stop => Command::Stop,
            Self::StopAt { ns } => Command::StopAt(Nanos(ns)),
        })
    }
}

/// Reply to a command that was carried out, see `engine::Reply`.
#[derive(Debug, Serialize, Deserialize)]
pub enum ReplyMessage {
    Done,
    Ping { from: IpAddr, via: IpAddr, sent: u16, round_trip_ns: Result<u64, String> },
    Changed(u64),
    Protocols(Box<ProtocolStates>),
}

impl From<Reply> for ReplyMessage {
    fn from(reply: Reply) -> Self {
        match reply {
            Reply::Done => Self::Done,
            Reply::Ping(PingReply { from, via, sent, round_trip }) => {
                Self::Ping { from, via, sent, round_trip_ns: round_trip.map(|time| time.0) }
            }
            Reply::Changed(changed) => Self::Changed(changed),
            Reply::Protocols(states) => Self::Protocols(states),
        }
    }
}

impl From<ReplyMessage> for Reply {
    fn from(reply: ReplyMessage) -> Self {
        match reply {
            ReplyMessage::Done => Self::Done,
            ReplyMessage::Ping { from, via, sent, round_trip_ns } => {
                Self::Ping(PingReply { from, via, sent, round_trip: round_trip_ns.map(Nanos) })
            }
            ReplyMessage::Changed(changed) => Self::Changed(changed),
            ReplyMessage::Protocols(states) => Self::Protocols(states),
        }
    }
}

/// Why a command was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unfulfilled {
    /// The trial can't do it.
    Refused(String),
    /// The trial ended first.
    Ended,
}

impl From<CommandError> for Unfulfilled {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Refused(reason) => Self::Refused(reason),
            CommandError::Ended => Self::Ended,
        }
    }
}

impl From<Unfulfilled> for CommandError {
    fn from(error: Unfulfilled) -> Self {
        match error {
            Unfulfilled::Refused(reason) => Self::Refused(reason),
            Unfulfilled::Ended => Self::Ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame;
    use result::ProtocolAction;

    fn sent<T: Serialize + serde::de::DeserializeOwned>(message: &T) -> T {
        let (mut bytes, mut buffer) = (Vec::new(), Vec::new());
        frame::write(&mut bytes, message, &mut buffer).unwrap();
        frame::read(&mut bytes.as_slice(), &mut buffer).unwrap().unwrap()
    }

    #[test]
    fn commands_arrive_as_they_were_sent() {
        let rate_at =
            |speed, at| Command::SetRate(RateCommand { stream: Some("west".to_owned()), speed, at });
        let rate = |speed| rate_at(speed, None);
        let ping = PingCommand {
            port: "west".to_owned(),
            host: None,
            from: Some("2001:db8::1".parse().unwrap()),
            to: "2001:db8::2".parse().unwrap(),
            attempts: 3,
            timeout: Nanos::from_millis(20),
        };
        let protocol = |action, at| {
            let (peers, routes) = (vec!["a".to_owned()], vec!["b".to_owned()]);
            let change = NewProtocolChange { action, peers, routes, ..NewProtocolChange::default() };
            let change = NewProtocolChange { delay_s: Some(0.1), ..change };
            Command::Protocol(ProtocolCommand { change, at })
        };
        let commands = [
            rate(Speed::Share(400_000)),
            rate(Speed::Rate("2.5Gbps-L1".parse().unwrap())),
            rate(Speed::Rate("2.5Gbps".parse().unwrap())),
            rate(Speed::Rate("0.000001pps".parse().unwrap())),
            rate(Speed::Rate(Load::Max)),
            rate(Speed::Rate(Load::LinkShare(1))),
            rate(Speed::Open(Pps::from_micro(3))),
            rate_at(Speed::Share(0), Some(Nanos(u64::MAX))),
            Command::RemoveStreams(RemoveCommand { streams: vec!["a".to_owned()], at: Some(Nanos(9)) }),
            Command::RemoveStreams(RemoveCommand { streams: Vec::new(), at: None }),
            Command::Clear,
            Command::CountArrivals(ArrivalsCommand { streams: Vec::new(), port: "p".to_owned(), on: true }),
            Command::SetCapture(CaptureCommand { port: "p".to_owned(), on: false }),
            Command::Ping(ping),
            protocol(ProtocolAction::Restart, None),
            protocol(ProtocolAction::Disable, Some(Nanos(u64::MAX))),
            Command::AskProtocols { routes: true, limit: usize::MAX },
            Command::StartAt(Nanos(u64::MAX)),
            Command::OthersSent(vec![0, u64::MAX]),
            Command::Stop,
            Command::StopAt(Nanos(u64::MAX)),
        ];
        for command in commands {
            let message =
                ToAgent::Command { number: 4, command: CommandMessage::of(command.clone()).unwrap() };
            let ToAgent::Command { number: 4, command: arrived } = sent(&message) else {
                panic!("{command:?}")
            };
            assert_eq!(arrived.command().ok(), Some(command));
        }
    }

    #[test]
    fn replies_arrive_as_they_were_sent() {
        let ping = |round_trip| {
            let ip = "192.0.2.1".parse().unwrap();
            Reply::Ping(PingReply { from: ip, via: ip, sent: 2, round_trip })
        };
        let states = ProtocolStates::default();
        let replies = [
            Ok(Reply::Done),
            Ok(ping(Ok(Nanos(12)))),
            Ok(ping(Err("no answer".to_owned()))),
            Ok(Reply::Changed(u64::MAX)),
            Ok(Reply::Protocols(Box::new(states))),
            Err(CommandError::Refused("no".to_owned())),
            Err(CommandError::Ended),
        ];
        for reply in replies {
            let message =
                FromAgent::Reply { number: 9, reply: reply.clone().map(Into::into).map_err(Into::into) };
            let FromAgent::Reply { number: 9, reply: arrived } = sent(&message) else { panic!("{reply:?}") };
            assert_eq!(arrived.map(Reply::from).map_err(CommandError::from), reply);
        }
    }

    #[test]
    fn numbers_of_documents_arrive_bit_by_bit() {
        let mut document =
            ResultDocument { seed: u64::MAX, duration_s: 0.1 + 0.2, ..ResultDocument::default() };
        document.clock.uncertainty_ppm = Some(f64::MIN_POSITIVE);
        let end = End::Run(Box::new(RunEnd { result: document.clone(), raw: None, stopped: None }));
        let FromAgent::Ended(arrived) = sent(&FromAgent::Ended(Box::new(end))) else { panic!() };
        let End::Run(run) = *arrived else { panic!() };
        let arrived = run.result;
        assert_eq!(arrived, document);
        assert_eq!(serde_json::to_string(&arrived).unwrap(), serde_json::to_string(&document).unwrap());
        let live = Live { at_s: 1e-310, ..Live::default() };
        let FromAgent::Live(live) = sent(&FromAgent::Live(Box::new(live))) else { panic!() };
        assert!(live.at_s == 1e-310 && live.names.is_none());
    }

    #[test]
    fn another_program_is_refused() {
        assert!(sent(&Hello::own()).refuse_other().is_ok());
        let other = Hello { seam: SEAM + 1, ..Hello::own() };
        assert!(other.refuse_other().unwrap_err().contains(&format!("messages of version {}", SEAM + 1)));
        assert!(Hello { version: "0.0.1".to_owned(), ..Hello::own() }.refuse_other().is_err());
    }
}
