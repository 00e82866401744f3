//! A run whose ports are of several machines: each has an agent with a part of it, and this end makes them one.
//!
//! All open their ports first. Then each knows the facts of the others' ports and its clock's offset, resolves its neighbours, and is
//! ready; once all are, all get one start. At the end each reports its packets sent, and waits for late packets
//! once all have.
//!
//! Not here: adding up documents (`result::merge`) and sums (`engine::RawTimes`).
//!
//! Invariants: nothing is sent before all are ready. When one is lost, all others are ended at once, unless the profile lets them
//! continue (`load.on_agent_loss`); then the result states what is missing. A load is never moved.

mod clocks;
mod live;

use crate::child::Process;
use crate::clocks::Comparison;
use crate::control::{Control, Inbox, Request, Requests, Wanted, channel};
use crate::figures;
use crate::full::FullView;
use crate::instant;
use crate::joint::Joint;
use crate::loss::{Loss, Snapshot, still};
use crate::lost::Lost;
use crate::message::{Batch, Clock, End, Full, Order, Refusal, RunEnd, ToAgent};
use crate::part::{FromPart, Peers, PortCard};
use crate::process::{Attendant, Line, run_on};
use crate::share::Columns;
use crate::turns::{Turn, Turns};
use ::clocks::Shortest;
use api::Live;
use columns::{FiguresMessage, RowsMessage, Table, Tables};
use engine::{Command, CommandError, RawRow, RawTimes, Reply};
use profile::Plan;
use profile::plan::OnAgentLoss;
use result::merge::Shares;
use result::{AgentResult, IntervalDocument, Named, ResultDocument, TotalDocument};
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use units::Nanos;

/// From when all are ready to the start, beside round trips and the time of crowded machines.
const LEAD_NS: u64 = 500_000_000;
/// From a change of rates to the instant at which all carry it out, beside the same: the message is shorter.
const LEAD_CHANGE_NS: u64 = 200_000_000;
/// The same for a stop, at most: one slow machine does not keep the others sending.
const LEAD_STOP_MAX: Nanos = Nanos::from_secs(3);
/// Interval at which replies of several agents are polled.
const POLL_EVERY: Duration = Duration::from_millis(2);
/// Longest wait for a message.
const WAIT_MAX: Duration = Duration::from_millis(500);
/// Intervals of snapshots, s, by which snapshots of one time are found.
const TICK_S: f64 = 0.1;
/// Intervals of others after which one that has none is late.
const LATE_AFTER: usize = 10;
/// Time in which agents calibrate their clocks and start, s: it counts for their drift.
const BEFORE_START_S: f64 = 2.0;
/// Largest drift of two clocks that were compared once only, parts per million: of quartz crystals, 50 each.
const DRIFT_MAX_PPM: f64 = 100.0;
/// Resolution of clocks of one machine, ns.
const READING_NS: u64 = 1_000;

/// Starts the process of a part; also returns the socket to it.
type Open = Box<dyn FnOnce() -> Result<(Box<dyn Process>, UnixStream), Lost> + Send>;
/// Compares the clock of the machine of a part.
type Compare = Box<dyn Fn() -> Result<Comparison, String> + Send>;

/// One of the machines of a run.
pub struct Member {
    /// Its agent; none for the controller's own machine.
    pub agent: Option<String>,
    /// Which machine it is: several agents of one machine have the same.
    pub machine: String,
    /// Version of its program.
    pub version: String,
    /// Indices of its ports in the plan.
    pub ports: Vec<usize>,
    /// Its order, with its part.
    pub order: Order,
    /// Starts its process.
    pub open: Open,
    /// Compares its clock.
    pub compare: Compare,
}

impl Member {
    /// Its name in reasons.
    fn title(&self) -> String {
        match &self.agent {
            Some(agent) => format!("agent '{agent}'"),
            None => "controller".to_owned(),
        }
    }
}

/// Report of the thread of a member.
#[derive(Debug)]
pub(crate) enum FromMember {
    Compared(Comparison),
    Starts(Clock, Line),
    NeighboursSilent(String, Vec<IpAddr>),
    Batch(Box<Batch>),
    Part(FromPart),
    /// How it ended, and the comparison of its clock after that.
    Ended(Result<End, Lost>, Option<Comparison>),
}

/// Runs the parts of a run to their end, which is that of one run. `plan` is the whole plan.
///
/// # Errors
/// A process could not be started, or ended before the run did.
pub fn run_together(
    members: Vec<Member>,
    plan: &Plan,
    requests: Requests,
    attendant: &mut dyn Attendant,
) -> Result<End, Lost> {
    let mut group = Group::new(&members, plan);
    for (index, member) in members.into_iter().enumerate() {
        let (control, own) = channel();
        let (said, turns) = (requests.sender.clone(), group.turns.clone());
        let body = move || attend(index, member, own, &said, &turns);
        let thread = std::thread::Builder::new().name("eagre-member".to_owned()).spawn(body);
        group.parts[index].control = Some(control);
        if let Err(error) = thread {
            let lost = Lost::failed(format!("cannot start the engine's process: {error}"));
            group.take(index, FromMember::Ended(Err(lost), None), attendant);
        }
    }
    group.attend(&requests, attendant);
    drop(requests);
    group.end()
}

/// The thread of a member.
fn attend(index: usize, member: Member, requests: Requests, said: &mpsc::Sender<Inbox>, turns: &Arc<Turns>) {
    // It renews the leases of the process.
    os::cpu::keep_in_time();
    let say = |said_by: FromMember| drop(said.send(Inbox::Member(index, Box::new(said_by))));
    let Member { machine, order, open, compare, .. } = member;
    let Some(turn) = turns.wait(&machine) else {
        let lost = Lost::failed("it was given up before it started".to_owned());
        return say(FromMember::Ended(Err(lost), None));
    };
    let ended = match open() {
        Ok((mut process, socket)) => match compare() {
            Ok(comparison) => {
                say(FromMember::Compared(comparison));
                let mut ear = Ear { index, said: said.clone(), turn: Some(turn) };
                run_on(order, requests, &mut ear, process, socket)
            }
            Err(reason) => {
                process.kill();
                Err(Lost::failed(reason))
            }
        },
        Err(lost) => Err(lost),
    };
    // A run that failed needs none.
    let after = if matches!(ended, Ok(End::Run(_))) { compare().ok() } else { None };
    say(FromMember::Ended(ended, after));
}

/// Passes the messages of one agent on.
struct Ear {
    index: usize,
    said: mpsc::Sender<Inbox>,
    /// Until its ports are open.
    turn: Option<Turn>,
}

impl Ear {
    fn say(&self, message: FromMember) {
        let _ = self.said.send(Inbox::Member(self.index, Box::new(message)));
    }
}

impl Attendant for Ear {
    fn opened(&mut self) {}

    fn live(&mut self, _: Live) {}

    // Those of a part have another form.
    fn full(&mut self, _: FullView) {}

    fn neighbours_silent(&mut self, port: &str, neighbours: &[IpAddr]) {
        self.say(FromMember::NeighboursSilent(port.to_owned(), neighbours.to_vec()));
    }

    fn part(&mut self, said: FromPart) {
        if matches!(said, FromPart::Opened(_)) {
            self.turn = None;
        }
        self.say(FromMember::Part(said));
    }

    fn starts(&mut self, clock: Clock, line: &Line) {
        self.say(FromMember::Starts(clock, line.clone()));
    }

    fn batch(&mut self, batch: Batch) {
        self.say(FromMember::Batch(Box::new(batch)));
    }
}

/// Knowledge of a part.
#[derive(Default)]
struct Part {
    agent: Option<String>,
    machine: String,
    title: String,
    version: String,
    ports: Vec<usize>,
    columns: Arc<Columns>,
    control: Option<Control>,
    compared: Option<Comparison>,
    compared_after: Option<Comparison>,
    cards: Option<Vec<PortCard>>,
    is_ready: bool,
    clock: Option<(Clock, Line)>,
    late_ns: Option<u64>,
    sent: Option<Vec<u64>>,
    live: Option<(Live, RawRow)>,
    full: Option<Arc<Snapshot>>,
    batch: Option<Batch>,
    intervals: VecDeque<(IntervalDocument, RawTimes)>,
    ended: Option<Result<End, Lost>>,
    /// Its loss, if the others continue.
    loss: Option<Loss>,
}

/// All parts of a run.
struct Group<'a> {
    plan: &'a Plan,
    shares: Arc<Shares>,
    parts: Vec<Part>,
    turns: Arc<Turns>,
    joint: Vec<Joint>,
    /// Steps that all parts have done.
    has_opened: bool,
    has_started: bool,
    /// The common start, by the controller's clock.
    start: Nanos,
    has_stopped: bool,
    /// When all were to stop, since the start.
    stop_at: Option<Nanos>,
    has_sent: bool,
    /// Which part failed first: the others were given up.
    failed: Option<usize>,
    live_tick: i64,
    full_tick: i64,
    /// Shortest delays from one part to another, as they were measured.
    shortest: BTreeMap<(usize, usize), Shortest>,
}

impl<'a> Group<'a> {
    fn new(members: &[Member], plan: &'a Plan) -> Self {
        let part = |(member, columns): (&Member, Columns)| Part {
            agent: member.agent.clone(),
            machine: member.machine.clone(),
            title: member.title(),
            version: member.version.clone(),
            ports: member.ports.clone(),
            columns: Arc::new(columns),
            ..Part::default()
        };
        let mut owners = vec![0; plan.ports.len()];
        for (index, member) in members.iter().enumerate() {
            for port in &member.ports {
                if let Some(owner) = owners.get_mut(*port) {
                    *owner = index;
                }
            }
        }
        let columns = Columns::of_all(plan, &owners, members.len());
        let parts: Vec<Part> = members.iter().zip(columns).map(part).collect();
        Self {
            plan,
            shares: Arc::new(shares(plan, &parts, &owners)),
            parts,
            turns: Arc::default(),
            joint: Vec::new(),
            has_opened: false,
            has_started: false,
            start: Nanos::ZERO,
            has_stopped: false,
            stop_at: None,
            has_sent: false,
            failed: None,
            live_tick: 0,
            full_tick: 0,
            shortest: BTreeMap::new(),
        }
    }

    /// Attends the parts until all have ended.
    fn attend(&mut self, requests: &Requests, attendant: &mut dyn Attendant) {
        while self.parts.iter().any(|part| part.ended.is_none()) {
            let patience = if self.joint.is_empty() { WAIT_MAX } else { POLL_EVERY };
            match requests.inbox.recv_timeout(patience) {
                Ok(Inbox::Request(request)) => self.forward(request),
                Ok(Inbox::Member(index, said)) => self.take(index, *said, attendant),
                Ok(Inbox::Said(_) | Inbox::Closed(_)) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let now = self.since_start();
            self.joint.retain_mut(|joint| !joint.poll(&self.shares.ports, now));
        }
        self.flush(true, attendant);
    }

    fn take(&mut self, index: usize, said: FromMember, attendant: &mut dyn Attendant) {
        let Some(part) = self.parts.get_mut(index) else { return };
        match said {
            FromMember::Compared(comparison) => part.compared = Some(comparison),
            FromMember::Starts(clock, line) => part.clock = Some((clock, line)),
            FromMember::NeighboursSilent(port, neighbours) => attendant.neighbours_silent(&port, &neighbours),
            FromMember::Batch(batch) => {
                part.batch = Some(*batch);
                self.publish_batch(attendant);
            }
            FromMember::Part(said) => self.take_part(index, said, attendant),
            FromMember::Ended(ended, compared) => {
                part.compared_after = compared;
                part.ended = Some(ended);
                self.take_end(index, attendant);
            }
        }
        self.go_on(attendant);
    }

    fn take_part(&mut self, index: usize, said: FromPart, attendant: &mut dyn Attendant) {
        let Some(part) = self.parts.get_mut(index) else { return };
        match said {
            FromPart::Opened(cards) => part.cards = Some(cards),
            FromPart::Ready => part.is_ready = true,
            FromPart::Started(late) => part.late_ns = Some(late),
            FromPart::Sent { sent, stopped } => {
                part.sent = Some(sent);
                if stopped {
                    self.stop();
                }
            }
            FromPart::Live(live, raw, figures) => self.take_live(index, *live, *raw, &figures, attendant),
            FromPart::Full(full, rows) => self.take_full(index, *full, *rows, attendant),
            FromPart::Interval(interval, raw) => {
                part.intervals.push_back((*interval, *raw));
                self.flush(false, attendant);
            }
        }
    }

    /// Keeps a part's live figures, if they have some for each of its streams.
    fn take_live(
        &mut self,
        index: usize,
        mut live: Live,
        raw: RawRow,
        figures: &FiguresMessage,
        attendant: &mut dyn Attendant,
    ) {
        let Some(part) = self.parts.get_mut(index) else { return };
        match figures::attach(&mut live, figures, part.columns.streams.len()) {
            Ok(()) => {
                part.live = Some((live, raw));
                self.publish_live(attendant);
            }
            Err(reason) => part.give_up_invalid(&reason),
        }
    }

    /// Keeps a part's snapshot, if it has one row for each of its streams.
    fn take_full(&mut self, index: usize, full: Full, rows: RowsMessage, attendant: &mut dyn Attendant) {
        let Some(part) = self.parts.get_mut(index) else { return };
        match rows.tables(part.columns.streams.len()) {
            Ok(rows) => {
                part.full = Some(Arc::new(Snapshot { full, rows }));
                self.publish_full(attendant);
            }
            Err(reason) => part.give_up_invalid(&reason),
        }
    }

    /// Consequences of the end of a part.
    fn take_end(&mut self, index: usize, attendant: &mut dyn Attendant) {
        match self.parts.get(index).and_then(|part| part.ended.as_ref()) {
            // Its traffic is over before the others': so is the run.
            Some(Ok(End::Run(_))) if !self.has_sent => self.stop(),
            Some(Ok(End::Run(_))) => {}
            Some(Err(lost)) if self.continues_without(index) => {
                let reason = lost.reason.clone();
                self.lose(index, reason, attendant);
            }
            _ if self.failed.is_none() => {
                // If all are lost, the first loss is the reason.
                self.failed = self.parts.iter().position(|part| part.loss.is_some()).or(Some(index));
                self.turns.end();
                for (_, control) in self.active() {
                    control.give_up("another machine of the run failed");
                }
            }
            _ => {}
        }
    }

    /// Whether the run continues without a part that is lost: there must be others.
    fn continues_without(&self, index: usize) -> bool {
        let is_whole = |part: &Part| matches!(part.ended, None | Some(Ok(End::Run(_))));
        let mut others = self.parts.iter().enumerate().filter(|(other, _)| *other != index);
        self.plan.on_agent_loss == OnAgentLoss::Continue
            && self.has_started
            && self.failed.is_none()
            && others.any(|(_, part)| is_whole(part))
    }

    /// Lets the others continue without a part: its last counts stay.
    fn lose(&mut self, index: usize, reason: String, attendant: &mut dyn Attendant) {
        let known = Nanos(os::clock::monotonic_ns().saturating_sub(self.start.0));
        let Some(part) = self.parts.get_mut(index) else { return };
        let reason = named(&part.title, reason);
        attendant.machine_lost(part.agent.as_deref(), &reason);
        let last = (part.full.as_deref(), part.batch.take());
        let loss = Loss::new(reason, known, last, &part.columns, &self.shares.streams);
        part.full = Some(loss.last());
        part.loss = Some(loss);
        if let Some((live, raw)) = &mut part.live {
            still(live);
            *raw = RawRow::sum(std::iter::empty());
        }
    }

    /// Parts that have not ended, with what commands them.
    fn active(&self) -> impl Iterator<Item = (&Part, &Control)> {
        let active = self.parts.iter().filter(|part| part.ended.is_none());
        active.filter_map(|part| Some((part, part.control.as_ref()?)))
    }

    /// Stops all parts, once.
    fn stop(&mut self) {
        if !std::mem::replace(&mut self.has_stopped, true) {
            self.active().for_each(|(_, control)| control.stop());
        }
    }

    /// Lets all continue that have waited for each other.
    fn go_on(&mut self, attendant: &mut dyn Attendant) {
        if self.failed.is_some() {
            return;
        }
        if !self.has_opened && self.parts.iter().all(|part| part.cards.is_some() && part.compared.is_some()) {
            self.has_opened = true;
            self.introduce();
            attendant.opened();
        }
        let is_ready = |part: &Part| part.is_ready && part.clock.is_some();
        if self.has_opened && !self.has_started && self.parts.iter().all(is_ready) {
            self.has_started = true;
            self.start(attendant);
        }
        let has_sent = |part: &Part| part.sent.is_some() || part.ended.is_some();
        if self.has_started && !self.has_sent && self.parts.iter().all(has_sent) {
            self.has_sent = true;
            self.tell_sent();
        }
    }

    /// Gives each part the facts of the others' ports, and the offset of its clock.
    fn introduce(&self) {
        let mut ports = vec![PortCard::default(); self.plan.ports.len()];
        for part in &self.parts {
            for (index, card) in part.ports.iter().zip(part.cards.iter().flatten()) {
                if let Some(port) = ports.get_mut(*index) {
                    *port = card.clone();
                }
            }
        }
        for (part, control) in self.active() {
            let offset_ns = part.compared.map_or(0, |comparison| comparison.offset_ns);
            control.say(ToAgent::Peers(Box::new(Peers { ports: ports.clone(), offset_ns })));
        }
    }

    /// Gives all parts one start.
    fn start(&mut self, attendant: &mut dyn Attendant) {
        let clocks: Vec<&(Clock, Line)> = self.parts.iter().filter_map(|part| part.clock.as_ref()).collect();
        if let Some((clock, _)) = clocks.first() {
            attendant.starts(clock.clone(), &Line::all(clocks.iter().map(|(_, line)| line)));
        }
        let at = Nanos(os::clock::monotonic_ns()) + self.lead(LEAD_NS);
        self.start = at;
        for (_, control) in self.active() {
            drop(control.request(Command::StartAt(at)));
        }
    }

    /// Time for an order to reach all parts before the instant that it names; at least `least`.
    fn lead(&self, least: u64) -> Nanos {
        let trips = self.parts.iter().filter_map(|part| part.compared.map(|compared| compared.round_trip_ns));
        let trip = trips.max().unwrap_or(0);
        let crowd = self
            .parts
            .iter()
            .map(|part| self.parts.iter().filter(|other| other.machine == part.machine).count());
        instant::lead(least, trip, crowd.max().unwrap_or(1))
    }

    /// Time since the common start; zero before it.
    fn since_start(&self) -> Nanos {
        match self.has_started {
            true => Nanos(os::clock::monotonic_ns()).since(self.start),
            false => Nanos::ZERO,
        }
    }

    /// A command with its instant, and when it takes effect: `instant::timed`. One for one machine needs none.
    fn timed(&self, command: Command) -> (Command, Option<Nanos>) {
        if matches!(&command, Command::Protocol(protocol) if protocol.change.port.is_some()) {
            return (command, None);
        }
        let lead = match command {
            // Whoever asks again does not want to wait.
            Command::Stop if self.has_stopped => return (command, None),
            Command::Stop => self.lead(LEAD_CHANGE_NS).min(LEAD_STOP_MAX),
            _ => self.lead(LEAD_CHANGE_NS),
        };
        let start = self.has_started.then_some(self.start);
        let soonest = instant::soonest(Nanos(os::clock::monotonic_ns()), start, lead);
        instant::timed(command, soonest, self.has_started)
    }

    /// Gives each part the number of packets of the others.
    fn tell_sent(&self) {
        let mut all = vec![0u64; self.plan.streams.len()];
        for sent in self.parts.iter().filter_map(|part| part.sent.as_ref()) {
            all.iter_mut().zip(sent).for_each(|(sum, n)| *sum = sum.wrapping_add(*n));
        }
        for (part, control) in self.active() {
            let mut others = all.clone();
            let own = part.sent.iter().flatten();
            others.iter_mut().zip(own).for_each(|(sum, n)| *sum = sum.wrapping_sub(*n));
            drop(control.request(Command::OthersSent(others)));
        }
    }

    /// Passes a request to the parts that it concerns.
    fn forward(&mut self, Request { wanted, promise }: Request) {
        let (command, until) = match wanted {
            Wanted::Command(command) => self.timed(command),
            Wanted::AddStreams(_) => {
                let reason = "streams can't be added to a run on several machines".to_owned();
                return promise.keep(Err(CommandError::Refused(reason)));
            }
            Wanted::Say(_) => return promise.keep(Ok(Reply::Done)),
            Wanted::GiveUp(reason) => {
                self.turns.end();
                self.active().for_each(|(_, control)| control.give_up(&reason));
                return promise.keep(Ok(Reply::Done));
            }
        };
        if let Command::StopAt(at) = &command {
            self.stop_at = Some(self.stop_at.map_or(*at, |other| other.min(*at)));
        }
        self.has_stopped |= matches!(command, Command::Stop | Command::StopAt(_));
        let port = match &command {
            Command::Ping(ping) => Some(&ping.port),
            Command::SetCapture(capture) => Some(&capture.port),
            Command::CountArrivals(arrivals) => Some(&arrivals.port),
            Command::Protocol(protocol) => protocol.change.port.as_ref(),
            _ => None,
        };
        let owner = port.and_then(|port| self.shares.ports.get(port)).copied();
        if let Some(loss) = owner.and_then(|owner| self.parts.get(owner)?.loss.as_ref()) {
            return promise.keep(Err(CommandError::Refused(loss.reason().to_owned())));
        }
        let any = owner.is_none() && matches!(command, Command::Protocol(_) | Command::AskProtocols { .. });
        let meant = self
            .parts
            .iter()
            .enumerate()
            .filter(|(index, part)| part.ended.is_none() && owner.is_none_or(|owner| owner == *index));
        let controls = meant.filter_map(|(_, part)| part.control.as_ref());
        self.joint.push(Joint::send(&command, controls, any, until, promise));
    }

    /// The time, in intervals, that all parts with something to show have reached.
    fn tick<T>(&self, get: fn(&Part) -> Option<&T>, at_s: fn(&T) -> f64) -> Option<i64> {
        let there = self.parts.iter().filter(|part| part.loss.is_none());
        let shown = there.filter(|part| part.ended.is_none() || get(part).is_some());
        let ticks: Option<Vec<i64>> = shown.map(|part| Some(ticks(at_s(get(part)?)))).collect();
        ticks?.into_iter().min()
    }

    fn publish_live(&mut self, attendant: &mut dyn Attendant) {
        let Some(tick) = self.tick(|part| part.live.as_ref(), |(live, _)| live.at_s) else { return };
        if tick > self.live_tick {
            self.live_tick = tick;
            attendant.live(self.live());
        }
    }

    fn publish_full(&mut self, attendant: &mut dyn Attendant) {
        let Some(tick) = self.tick(|part| part.full.as_ref(), |last| last.full.at_s) else { return };
        if tick > self.full_tick && self.parts.iter().all(|part| part.full.is_some()) {
            self.full_tick = tick;
            attendant.full(self.full());
        }
    }

    fn publish_batch(&mut self, attendant: &mut dyn Attendant) {
        if self.parts.iter().any(|part| part.batch.is_none() && part.loss.is_none()) {
            return;
        }
        let last = |part: &mut Part| part.batch.take().or_else(|| part.loss.as_ref().map(Loss::batch));
        let batches: Vec<Batch> = self.parts.iter_mut().filter_map(last).collect();
        let raw: Vec<&(RawTimes, RawTimes)> =
            batches.iter().filter_map(|batch| batch.raw.as_deref()).collect();
        let has_rest = batches.iter().any(|batch| batch.unfinished.is_some());
        let nothing = IntervalDocument::default();
        let unfinished: Vec<Option<&IntervalDocument>> = self
            .parts
            .iter()
            .zip(&batches)
            .map(|(part, batch)| batch.unfinished.as_ref().or(part.nothing_more(&nothing)))
            .collect();
        let rest = groups(raw.iter().map(|(rest, _)| rest));
        let total = groups(raw.iter().map(|(_, total)| total));
        let totals: Vec<_> = batches.iter().map(|batch| &batch.total).collect();
        attendant.batch(Batch {
            at_s: batches.iter().map(|batch| batch.at_s).fold(0.0, f64::max),
            seconds: batches.iter().map(|batch| batch.seconds).fold(0.0, f64::max),
            unfinished: has_rest.then(|| self.shares.interval(&unfinished, rest.as_ref())),
            total: self.shares.total(&totals, total.as_ref()),
            raw: None,
        });
    }

    /// Passes on intervals that all parts have, and at the `end` all.
    fn flush(&mut self, end: bool, attendant: &mut dyn Attendant) {
        loop {
            let longest = self.parts.iter().map(|part| part.intervals.len()).max().unwrap_or(0);
            let waits = |part: &Part| part.intervals.is_empty() && part.ended.is_none();
            if longest == 0 || !end && longest < LATE_AFTER && self.parts.iter().any(waits) {
                return;
            }
            let heads = self.parts.iter().filter_map(|part| part.intervals.front());
            let Some(tick) = heads.map(|(interval, _)| ticks(interval.at_s)).min() else { return };
            let taken: Vec<Option<(IntervalDocument, RawTimes)>> = self
                .parts
                .iter_mut()
                .map(|part| {
                    let is_it =
                        part.intervals.front().is_some_and(|(interval, _)| ticks(interval.at_s) == tick);
                    if is_it { part.intervals.pop_front() } else { None }
                })
                .collect();
            self.note_delays(&taken);
            let times = groups(taken.iter().flatten().map(|(_, raw)| raw));
            let nothing = IntervalDocument::default();
            let intervals: Vec<Option<&IntervalDocument>> = self
                .parts
                .iter()
                .zip(&taken)
                .map(|(part, taken)| {
                    taken.as_ref().map(|(interval, _)| interval).or(part.nothing_more(&nothing))
                })
                .collect();
            attendant.interval(self.shares.interval(&intervals, times.as_ref()));
        }
    }

    /// A snapshot of all parts, whose rows are made for their first reader.
    fn full(&self) -> FullView {
        let last = |part: &Part| Some((part.columns.clone(), part.full.clone()?));
        let parts: Arc<[(Arc<Columns>, Arc<Snapshot>)]> = self.parts.iter().filter_map(last).collect();
        let there = self.parts.iter().filter(|part| part.loss.is_none());
        let at_s = there.filter_map(|part| Some(part.full.as_ref()?.full.at_s)).fold(f64::MAX, f64::min);
        let fulls = || parts.iter().map(|(_, last)| &last.full);
        let full = Full {
            at_s,
            interval: result::merge::interval_head(fulls().map(|full| &full.interval)),
            total: TotalDocument::default(),
            workers: fulls().flat_map(|full| full.workers.iter().copied()).collect(),
            neighbours: fulls().flat_map(|full| full.neighbours.iter().cloned()).collect(),
            latency: RawRow::sum(fulls().map(|full| &full.latency)),
            raw: None,
        };
        let (shares, of_interval) = (self.shares.clone(), parts.clone());
        let interval = move || interval(&shares, &of_interval);
        let shares = self.shares.clone();
        FullView::new(full, interval, move || total(&shares, &parts))
    }

    /// The end of the run.
    fn end(mut self) -> Result<End, Lost> {
        if let Some(index) = self.failed {
            return self.failure(index);
        }
        let parts = std::mem::take(&mut self.parts);
        let stopped_early = || Lost::failed("the controller stopped before the run ended".to_owned());
        // Of a lost part there is no end.
        let mut ends: Vec<Option<RunEnd>> = Vec::new();
        let mut known: Vec<Part> = Vec::new();
        for mut part in parts {
            match part.ended.take() {
                Some(Ok(End::Run(end))) => ends.push(Some(*end)),
                _ if part.loss.is_some() => ends.push(None),
                _ => return Err(stopped_early()),
            }
            known.push(part);
        }
        let any = ends.iter().flatten().next().ok_or_else(stopped_early)?;
        let parts = || known.iter().zip(&ends);
        let raw = || {
            parts().filter_map(|(part, end)| match (end, &part.loss) {
                (Some(end), _) => end.raw.as_deref(),
                (None, loss) => loss.as_ref().and_then(Loss::raw),
            })
        };
        let left = |part: &Part| part.loss.as_ref().map(|loss| loss.result(&any.result));
        let left: Vec<Option<ResultDocument>> = known.iter().map(left).collect();
        let documents = ends.iter().zip(&left);
        let documents: Vec<&ResultDocument> = documents
            .filter_map(|(end, left)| end.as_ref().map(|end| &end.result).or(left.as_ref()))
            .collect();
        let agents =
            known.iter().zip(&documents).map(|(part, document)| agent(self.plan, part, document)).collect();
        let mut result = self.shares.result(&documents, groups(raw()).as_ref(), agents);
        self.tell_clocks(&mut result);
        self.tell_late_stops(&known, &ends, &mut result);
        engine::judge_merged(self.plan, &mut result);
        let stopped = known
            .iter()
            .zip(&ends)
            .find_map(|(part, end)| Some(format!("{}: {}", part.title, end.as_ref()?.stopped.as_ref()?)));
        Ok(End::Run(Box::new(RunEnd { result, raw: None, stopped })))
    }

    /// Adds which machines got the order to stop too late.
    fn tell_late_stops(&self, parts: &[Part], ends: &[Option<RunEnd>], result: &mut ResultDocument) {
        let Some(at) = self.stop_at else { return };
        for (part, end) in parts.iter().zip(ends) {
            let late = end.as_ref().and_then(|end| instant::late_stop(at, &end.result));
            let note = |late: Nanos| {
                let (at_s, ms) = (at.as_secs_f64(), late.as_secs_f64() * 1e3);
                format!("{}: the stop of {at_s:.3} s took effect {ms:.0} ms later by its clock", part.title)
            };
            result.verdict.notes.extend(late.map(note));
        }
    }

    /// The end of a run of which a part failed.
    fn failure(&mut self, index: usize) -> Result<End, Lost> {
        let title = self.parts.get(index).map(|part| part.title.clone()).unwrap_or_default();
        let named = |reason: String| named(&title, reason);
        match self.parts.get_mut(index).and_then(|part| part.ended.take()) {
            Some(Ok(End::Refused(Refusal { reason, is_bad_input }))) => {
                Ok(End::Refused(Refusal { reason: named(reason), is_bad_input }))
            }
            Some(Err(Lost { reason, is_cut_off })) => Err(Lost { reason: named(reason), is_cut_off }),
            _ => Err(Lost::failed(named("it did other work than it was given".to_owned()))),
        }
    }
}

impl Part {
    /// Ends it because of a snapshot that can't be of its streams.
    fn give_up_invalid(&self, reason: &str) {
        let reason = format!("the engine's process sent an invalid snapshot: {reason}");
        self.control.iter().for_each(|control| control.give_up(&reason));
    }

    /// Its share of any interval after it was lost: `nothing`.
    fn nothing_more<'a>(&self, nothing: &'a IntervalDocument) -> Option<&'a IntervalDocument> {
        self.loss.is_some().then_some(nothing)
    }
}

/// A reason with the machine that it is of.
fn named(title: &str, reason: String) -> String {
    if reason.contains(title) { reason } else { format!("{title}: {reason}") }
}

/// The last intervals of all parts as one.
fn interval(shares: &Shares, parts: &[(Arc<Columns>, Arc<Snapshot>)]) -> IntervalDocument {
    let fulls = || parts.iter().map(|(_, last)| &last.full);
    let intervals: Vec<Option<&IntervalDocument>> = fulls().map(|full| Some(&full.interval)).collect();
    let times = groups(fulls().filter_map(|full| full.raw.as_deref()).map(|(rest, _)| rest));
    let streams = tables(parts, |last| &last.rows[0]).streams(shares, false);
    shares.interval_of(&intervals, streams, times.as_ref())
}

/// The same since the start.
fn total(shares: &Shares, parts: &[(Arc<Columns>, Arc<Snapshot>)]) -> TotalDocument {
    let fulls = || parts.iter().map(|(_, last)| &last.full);
    let totals: Vec<_> = fulls().map(|full| &full.total).collect();
    let times = groups(fulls().filter_map(|full| full.raw.as_deref()).map(|(_, total)| total));
    let streams = tables(parts, |last| &last.rows[1]).streams(shares, true);
    shares.total_of(&totals, streams, times.as_ref())
}

fn tables(parts: &[(Arc<Columns>, Arc<Snapshot>)], which: fn(&Snapshot) -> &Table) -> Tables<'_> {
    Tables { parts: parts.iter().map(|(columns, last)| (&columns.streams[..], Some(which(last)))).collect() }
}

/// Times of rows of groups whose streams arrive at several machines.
fn groups<'a>(raw: impl Iterator<Item = &'a RawTimes>) -> Option<result::merge::GroupTimes> {
    RawTimes::sum(raw).map(|sum| sum.groups())
}

/// A time in intervals of snapshots.
fn ticks(at_s: f64) -> i64 {
    (at_s / TICK_S).round() as i64
}

/// Ports, streams and sessions of each part; `owners` are the parts of ports.
fn shares(plan: &Plan, parts: &[Part], owners: &[usize]) -> Shares {
    let part = |port: usize| owners.get(port).copied().unwrap_or(0);
    let names = |members: &[u32]| {
        let names = members.iter().filter_map(|member| plan.streams.get(*member as usize));
        names.map(|stream| stream.name.clone()).collect::<Vec<_>>()
    };
    let rows = |rows: &[(String, Vec<u32>)]| -> Named<Vec<String>> {
        rows.iter().map(|(name, members)| (name.clone(), names(members))).collect()
    };
    Shares {
        parts: parts.iter().map(|part| part.title.clone()).collect(),
        ports: plan.ports.iter().enumerate().map(|(index, port)| (port.name.clone(), part(index))).collect(),
        streams: plan
            .streams
            .iter()
            .map(|stream| (stream.name.clone(), (part(stream.from), stream.to.map(part))))
            .collect(),
        sessions: plan
            .sessions
            .iter()
            .map(|entry| {
                let session = &entry.session;
                let client = session.client.as_ref().map(|side| part(side.port));
                let server = session.server.as_ref().map(|side| part(side.port));
                (session.name.clone(), (client, server))
            })
            .collect(),
        groups: plan.groups.iter().map(|group| (group.name.clone(), rows(&group.rows))).collect(),
    }
}

/// A machine in the result.
fn agent(plan: &Plan, part: &Part, document: &ResultDocument) -> AgentResult {
    let before = part.compared.unwrap_or(Comparison::SHARED);
    let after = part.compared_after.unwrap_or(before);
    let moved = after.offset_ns.abs_diff(before.offset_ns);
    let seconds = document.duration_s + BEFORE_START_S;
    // The clock of workers keeps its rate, whatever a time daemon does to the machine's.
    let rate_ppm = document.clock.drift_ppm.or(document.clock.uncertainty_ppm).unwrap_or(0.0).abs();
    let is_shared = before.method == Comparison::SHARED.method;
    let drift_ppm = if part.compared_after.is_none() && !is_shared { DRIFT_MAX_PPM } else { 0.0 };
    let steered = ((rate_ppm + drift_ppm) * seconds * 1e3) as u64;
    let uncertainty = before.uncertainty_ns.max(after.uncertainty_ns) + moved + steered + READING_NS;
    let ports = part.ports.iter().filter_map(|port| plan.ports.get(*port));
    AgentResult {
        name: part.agent.clone().unwrap_or_else(|| "controller".to_owned()),
        version: part.version.clone(),
        ports: ports.map(|port| port.name.clone()).collect(),
        workers: document.workers.len() as u64,
        clock: before.method.into(),
        offset_ns: before.offset_ns,
        uncertainty_ns: uncertainty,
        drift_ppb: (!is_shared && part.compared_after.is_some())
            .then(|| (after.offset_ns - before.offset_ns) as f64 / seconds),
        start_error_ns: part.late_ns.and_then(|late| i64::try_from(late).ok()),
        lost: part.loss.as_ref().map(|loss| loss.document(plan, &part.ports, &document.streams)),
    }
}
