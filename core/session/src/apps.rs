//! The applications of one stack: all programs on its flows, and their counts.
//!
//! Not here: when sessions are opened and from where to where (`load`, `pool`).
//!
//! Invariant: of every group `attempted = completed + failed + active`: a session is counted as attempted once, and once
//! more when it ends.

use crate::app::AnyApp;
use crate::counts::{Counts, Reason};
use crate::express::Express;
use crate::extra::Extras;
use crate::flow::{Common, Ctx, Flag, Flow, Pacers, Place, failure};
use crate::http::Alternative;
use crate::pace::Pacer;
use crate::plan::{AppPlan, AtEnd, Carrier, QuicPlan, RequestLog, SessionPlan, Side};
use crate::quic::QuicSide;
use crate::scale::Scale;
use crate::secure::{Layer, SecureSide};
use crate::tls::{self, TlsFlow};
use crate::tunnel::{Said, Tunnel};
use std::collections::VecDeque;
use tcp::{App, End, FlowId, GroupId, Io};
use units::{Nanos, Pps};

/// Minimum age of a session without received data for it to count as silent.
const SILENCE_MIN: Nanos = Nanos::from_millis(100);
/// Detail of servers' sessions without a client left.
const LEFT: &str = "its client ended or failed, and the end of the session never arrived";
/// Detail of failures found at the end of a run.
const SILENT: &str = "nothing received while the run waited for late replies";

/// Progress of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Its carrier is not established.
    Opening,
    /// TLS shakes hands.
    Securing,
    /// The application is at work.
    Open,
}

/// Which flows belong to a group: one side of one application of one entry, as one of its hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKey {
    /// Index of the entry.
    pub session: usize,
    /// The side.
    pub side: Side,
    /// Index of the application in the entry's mix.
    pub member: usize,
    /// Index among the side's hosts.
    pub host: usize,
}

/// All groups of a profile's entries; a group's number is its position, and the hosts of an application are
/// consecutive. The same on every port and worker.
pub fn groups(plans: &[SessionPlan]) -> Vec<GroupKey> {
    let mut keys = Vec::new();
    for (session, plan) in plans.iter().enumerate() {
        for (side, played) in [(Side::Client, &plan.client), (Side::Server, &plan.server)] {
            let hosts = played.as_ref().map_or(0, |played| played.hosts.len());
            let members = 0..plan.mix.members.len();
            keys.extend(
                members
                    .flat_map(|member| (0..hosts).map(move |host| GroupKey { session, side, member, host })),
            );
        }
    }
    keys
}

/// A session that continues on another flow, between the same two addresses.
#[derive(Debug, Clone, Copy)]
pub struct Move {
    /// The flow it leaves.
    pub from: FlowId,
    /// Its group.
    pub group: GroupId,
    /// Carrier of the other flow.
    pub to: Carrier,
    /// The session stays on its flow, which exchanges addresses with the other one: a connection of QUIC that takes another port.
    pub stays: bool,
}

/// A group at work.
struct Group {
    key: GroupKey,
    common: Common,
    app: AnyApp,
    /// Handles usual events in one go.
    express: Express,
    counts: Counts,
    at_end: AtEnd,
    secure: Option<Box<dyn SecureSide>>,
    quic: Option<Box<dyn QuicSide>>,
    /// Tunnel that clients request first.
    tunnel: Option<Tunnel>,
    /// Whether clients come here because their servers announced it.
    is_alternative: bool,
    /// Sessions there are.
    active: u64,
    /// Bytes of applications before counts were swapped last.
    bytes: u64,
    /// Sessions completed and bytes received before counts were swapped last.
    progress: u64,
    /// Sessions a server has accepted.
    accepted: u64,
    workers: u64,
    worker: u64,
}

/// The applications of one stack.
pub struct Apps {
    groups: Vec<Group>,
    /// Of the clients of each entry, whose applications and hosts share a rate.
    pacers: Vec<Pacers>,
    extras: Extras,
    /// Encryption of the flows, by the place of their extra.
    secured: Vec<Option<Box<TlsFlow>>>,
    /// Sessions waiting to continue on another flow.
    moves: Vec<Move>,
    /// Memory to work in.
    scratch: Vec<u8>,
}

impl std::fmt::Debug for Apps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Apps").field("groups", &self.groups.len()).finish_non_exhaustive()
    }
}

impl Apps {
    /// The applications of all groups of `plans`, see [`groups`], for worker `worker` of `workers`, which share rates.
    /// `secure` creates the encryption of a group whose plan has it.
    ///
    /// # Panics
    /// If `workers` is 0.
    pub fn new(
        plans: &[SessionPlan],
        worker: usize,
        workers: usize,
        mut secure: impl FnMut(GroupKey) -> Layer,
    ) -> Self {
        assert!(worker < workers, "worker {worker} of {workers}");
        let make = |key: GroupKey| {
            let plan = &plans[key.session];
            let secure = plan.tls.is_some().then(|| secure(key));
            Group::new(plan, key, (worker as u64, workers as u64), secure)
        };
        let pacers = |plan: &SessionPlan| {
            // Workers that never have a session leave all turns to the others.
            let sessions = plan.load.concurrent.into_iter().chain(plan.load.count).min();
            let holders = sessions.unwrap_or(u64::MAX).clamp(1, workers as u64);
            let (worker, holds) = (worker as u64, (worker as u64) < holders);
            let pacer = |rate| match holds {
                true => Pacer::new(rate, worker, holders),
                false => Pacer::new(Pps::ZERO, worker, holders),
            };
            let listed = |log: &RequestLog| match holds {
                true => Pacer::listed(log.times.clone(), worker, holders),
                false => Pacer::listed([].into(), worker, holders),
            };
            let requests = plan.request_log().map(listed).or_else(|| plan.load.request_rate.map(pacer));
            let share = |all: u64| all / holders + u64::from(worker < all % holders);
            let share = |all: u64| if holds { share(all) } else { 0 };
            Pacers {
                requests: if plan.load.late { requests.map(Pacer::keeping) } else { requests },
                closes: plan.load.close_rate.map(pacer),
                left: plan.load.request_count.map(share),
                alternative: Alternative::default(),
            }
        };
        Self {
            groups: groups(plans).into_iter().map(make).collect(),
            pacers: plans.iter().map(pacers).collect(),
            extras: Extras::default(),
            secured: Vec::new(),
            moves: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Says what time it is: the wall clock's, since 1970-01-01 UTC, at instant zero. Without it time begins then.
    pub fn set_clock(&mut self, wall_zero: Nanos) {
        self.groups.iter_mut().for_each(|group| group.app.set_clock(wall_zero));
    }

    /// Traffic starts at this instant: requests of a log count from it.
    pub fn begin_at(&mut self, at: Nanos) {
        let pacers = self.pacers.iter_mut().filter_map(|pacers| pacers.requests.as_mut());
        pacers.for_each(|pacer| pacer.begin_at(at));
    }

    /// The groups, in order of their numbers.
    pub fn keys(&self) -> impl Iterator<Item = GroupKey> + '_ {
        self.groups.iter().map(|group| group.key)
    }

    /// A new session of a client, counted as attempted. The returned flow goes to the stack; if the stack does not
    /// accept it, [`Apps::not_opened`] must be called.
    #[inline]
    pub fn start(&mut self, now: Nanos, group: GroupId, number: u64) -> Flow {
        let mut flow = Flow::new(number, now);
        let group = &mut self.groups[usize::from(group.0)];
        group.counts.alt_svc.opened += u64::from(group.is_alternative);
        group.begin(&mut flow);
        flow
    }

    /// The port at which the servers of an entry have announced HTTP/3 to its clients, if they are to go there.
    #[inline]
    pub fn alternative(&self, session: usize, now: Nanos) -> Option<u16> {
        self.pacers[session].alternative.port(now)
    }

    /// Undoes the start of the last session, which is restarted elsewhere immediately: as if it had not been counted.
    /// Must be called before any other method.
    pub fn take_back(&mut self, group: GroupId) {
        let group = &mut self.groups[usize::from(group.0)];
        group.counts.attempted -= 1;
        group.counts.alt_svc.opened -= u64::from(group.is_alternative);
        group.active -= 1;
    }

    /// The stack had no room for a session, or no address and port was free: it has failed.
    pub fn not_opened(&mut self, group: GroupId) {
        let group = &mut self.groups[usize::from(group.0)];
        group.counts.fail(Reason::NoPort);
        group.active -= 1;
    }

    /// Sessions to continue on another flow, since the last call: each leaves its own ([`Apps::leave`]), and its state
    /// goes to a new one.
    #[inline]
    pub fn take_moves(&mut self) -> Vec<Move> {
        std::mem::take(&mut self.moves)
    }

    /// Ends a flow whose session continues on another: must be called within the stack's `with`. Returns the initial
    /// state of the other flow; `None` if the session has ended meanwhile. If no flow can have it, [`Apps::not_reopened`] must
    /// be called.
    pub fn leave(&mut self, now: Nanos, flow: &mut Flow, io: &mut Io) -> Option<Flow> {
        let had_turn = flow.has(Flag::Turn);
        let next = self.groups[usize::from(io.group().0)].app.leave(&mut self.extras, flow)?;
        if had_turn {
            self.return_turns(now, flow, io.flow(), io.group());
        }
        self.tell(now, flow, io, |app, tls, ctx, flow| match tls {
            Some(tls) => tls::close(app, tls, ctx, flow),
            None => ctx.ask.close = true,
        });
        Some(next)
    }

    /// No flow could have a session that left its own: it has failed.
    pub fn not_reopened(&mut self, group: GroupId, mut flow: Flow) {
        self.lose_redirects(&flow, group);
        self.extras.release(&mut flow);
        self.not_opened(group);
    }

    /// Counts redirects of a session that is over which were not followed.
    fn lose_redirects(&mut self, flow: &Flow, group: GroupId) {
        let agent = self.extras.find_mut(flow).and_then(|extra| extra.agent.as_deref_mut());
        if let Some(agent) = agent.filter(|_| !flow.has(Flag::Stopping)) {
            let counts = &mut self.groups[usize::from(group.0)].counts;
            counts.error_responses += agent.abandon(counts);
        }
    }

    /// A session, or each of its programs, does not need its turn to send a request any more, if it has one: others take these turns.
    fn return_turns(&mut self, now: Nanos, flow: &Flow, id: FlowId, group: GroupId) {
        let group = &self.groups[usize::from(group.0)];
        let pacers = &mut self.pacers[group.key.session];
        let extras = &mut self.extras;
        pacers.give_back(now, id.0, flow, extras, group.common.late);
        if let Some(link) = extras.find_mut(flow).and_then(|extra| extra.quic.take()) {
            for own in link.flows().filter(|own| own.has(Flag::Turn)) {
                pacers.give_back(now, id.0, own, extras, group.common.late);
            }
            extras.find_mut(flow).expect("it had a link").quic = Some(link);
        }
    }

    /// The initial state of a flow that has the addresses which a session's flow leaves, to take in what still comes there.
    pub fn left_behind() -> Flow {
        AnyApp::left_behind()
    }

    /// A session's flow has exchanged its addresses with another one: must be called within the stack's `with`.
    pub fn moved(&mut self, now: Nanos, flow: &mut Flow, io: &mut Io) {
        self.tell(now, flow, io, |_, _, ctx, flow| AnyApp::moved(ctx, flow));
    }

    /// Scales the rate at which an entry's clients send requests and close sessions, relative to the plan, from `at`
    /// on. Returns whether sessions that wait for a turn must request another ([`Apps::ask_again`]).
    pub fn scale(&mut self, session: usize, at: Nanos, scale: Scale) -> bool {
        let Pacers { requests, closes, .. } = &mut self.pacers[session];
        requests.iter_mut().chain(closes).map(|pacer| pacer.scale(at, scale)).count() > 0
    }

    /// Requests of an entry's clients that were due before `now` and not sent: no session was free. Where they are sent late
    /// ([`LoadPlan::late`](crate::plan::LoadPlan::late)) they still wait for one; elsewhere they are left out.
    pub fn unsent_requests(&self, session: usize, now: Nanos) -> u64 {
        let Pacers { requests, left, .. } = &self.pacers[session];
        let Some(pacer) = requests else { return 0 };
        if pacer.keeps() { pacer.kept(now).min(left.unwrap_or(u64::MAX)) } else { pacer.expired(now) }
    }

    /// Whether an entry's clients send requests late that no session was free for, instead of leaving them out.
    pub fn keeps_requests(&self, session: usize) -> bool {
        self.pacers[session].requests.as_ref().is_some_and(Pacer::keeps)
    }

    /// Adds the requests that [`Apps::unsent_requests`] still wait at `now` to `counts`' times from when requests were due, with
    /// the time they have waited so far, unless they are no more than one in a thousand.
    pub fn count_waiting(&self, session: usize, now: Nanos, counts: &mut Counts) {
        let Pacers { requests, left, .. } = &self.pacers[session];
        for (ns, times) in requests.iter().flat_map(|pacer| pacer.waits(now, left.unwrap_or(u64::MAX))) {
            counts.ttfb_due.record_many(ns, times);
            counts.ttlb_due.record_many(ns, times);
        }
    }

    /// Whether a group's clients have sent all requests that their entry is to send.
    pub fn has_asked_all(&self, group: GroupId) -> bool {
        self.pacers[self.groups[usize::from(group.0)].key.session].left == Some(0)
    }

    /// Takes a session's turn away, if it waits for one from before the rate changed, and lets it request another: must be called
    /// within the stack's `with`. One that is woken before that requests another itself.
    pub fn ask_again(&mut self, now: Nanos, flow: &mut Flow, io: &mut Io) {
        self.tell(now, flow, io, |app, _, ctx, flow| {
            if ctx.take_turn_away(flow) {
                app.ask_again(ctx, flow);
            }
        });
    }

    /// Ends a session because the run is over: must be called within the stack's `with`. It ends immediately, or when
    /// its transaction is done. A client that waits for the first data of its server is not reset: it may complete, or
    /// fails ([`Apps::judge_silent`]).
    pub fn stop(&mut self, now: Nanos, flow: &mut Flow, io: &mut Io) {
        let (at_end, patience) = {
            let Group { at_end, common, app, .. } = &self.groups[usize::from(io.group().0)];
            if app.is_gone(flow) {
                return;
            }
            let is_client = common.side == Side::Client;
            (*at_end, if is_client { common.patience.response } else { common.patience.idle })
        };
        flow.set(Flag::Stopping);
        let group = &self.groups[usize::from(io.group().0)];
        let pacers = &mut self.pacers[group.key.session];
        if let Some(pacer) = &mut pacers.requests
            && group.common.side == Side::Client
            && pacers.left != Some(0)
        {
            pacer.expire(now);
        }
        let waits = self.awaits_first_word(flow, io.group());
        self.tell(now, flow, io, |app, tls, ctx, flow| {
            // From here on it says whether anything came after the end.
            if flow.take(Flag::Progress)
                && let Some(patience) = patience
            {
                ctx.wake_at(flow, now.saturating_add(patience));
            }
            if flow.has(Flag::Failed) || flow.has(Flag::Closing) {
                return;
            }
            match (at_end, tls) {
                (AtEnd::Reset, _) if waits => {}
                (AtEnd::Reset, _) => reset_in_time(ctx, flow),
                (AtEnd::Close, Some(tls)) => tls::stop(app, tls, ctx, flow),
                (AtEnd::Close, None) => app.stop(ctx, flow),
            }
        });
    }

    /// Whether a session is not established, or a client's waits for a reply of which nothing has come.
    fn awaits_first_word(&self, flow: &Flow, group: GroupId) -> bool {
        let group = &self.groups[usize::from(group.0)];
        let awaits_reply = || group.common.side == Side::Client && group.app.awaits_reply(flow);
        !flow.has(Flag::Done) && (self.step(flow, group) != Step::Open || awaits_reply())
    }

    /// Progress of a session.
    fn step(&self, flow: &Flow, group: &Group) -> Step {
        if group.common.secured
            && let Some(Some(tls)) = flow.extra().and_then(|place| self.secured.get(place))
        {
            return if tls.is_open() { Step::Open } else { Step::Securing };
        }
        let opens = if group.common.quic { AnyApp::is_opening(flow) } else { flow.state == 0 };
        if opens { Step::Opening } else { Step::Open }
    }

    /// Decides a session's outcome that is still open at the end of the run: must be called within the stack's `with`,
    /// after the wait for late replies. A failed session is over; a session that was requested to stop, and has
    /// received nothing since, has failed. Others are in progress, and stay.
    pub fn judge_silent(&mut self, now: Nanos, flow: &mut Flow, io: &mut Io) {
        let group = &self.groups[usize::from(io.group().0)];
        if group.app.may_wait_in_vain(flow) {
            return self.tell(now, flow, io, |app, _, ctx, flow| app.wait_no_longer(ctx, flow));
        }
        if !flow.has(Flag::Stopping) || flow.elapsed(now) < SILENCE_MIN || group.app.is_gone(flow) {
            return;
        }
        let is_client = group.common.side == Side::Client;
        let reason = match self.step(flow, group) {
            _ if flow.has(Flag::Failed) => flow.reason(),
            _ if flow.has(Flag::Progress) => return,
            Step::Opening => Reason::SetupTimeout,
            Step::Securing => Reason::TlsTimeout,
            Step::Open if is_client && !flow.has(Flag::Done) => Reason::ResponseTimeout,
            Step::Open => Reason::IdleTimeout,
        };
        self.tell(now, flow, io, |_, _, ctx, flow| {
            if !flow.has(Flag::Failed) {
                ctx.counts.detail(SILENT);
            }
            ctx.fail(flow, reason);
        });
    }

    /// Gives a server's session an outcome that is still open at the end of the run although no client of its entry has a
    /// session any more: to be called within the stack's `with`. One that has done all it had to stays.
    pub fn judge_left(&mut self, now: Nanos, flow: &mut Flow, io: &mut Io) {
        if flow.has(Flag::Done) || self.groups[usize::from(io.group().0)].app.is_gone(flow) {
            return;
        }
        let reason = match self.step(flow, &self.groups[usize::from(io.group().0)]) {
            _ if flow.has(Flag::Failed) => flow.reason(),
            Step::Opening => Reason::SetupTimeout,
            Step::Securing => Reason::TlsTimeout,
            Step::Open => Reason::IdleTimeout,
        };
        self.tell(now, flow, io, |_, _, ctx, flow| {
            if !flow.has(Flag::Failed) {
                ctx.counts.detail(LEFT);
            }
            ctx.fail(flow, reason);
        });
    }

    /// Carrier of a group's sessions.
    #[inline]
    pub fn carrier(&self, group: GroupId) -> Carrier {
        self.groups[usize::from(group.0)].common.carrier
    }

    /// Whether a group's sessions are encrypted.
    pub fn is_secured(&self, group: GroupId) -> bool {
        let common = &self.groups[usize::from(group.0)].common;
        common.secured || common.quic
    }

    /// Sessions of a group there are now.
    pub fn active(&self, group: GroupId) -> u64 {
        self.groups[usize::from(group.0)].active
    }

    /// Bytes a group's applications have sent and received since the start.
    pub fn bytes(&self, group: GroupId) -> u64 {
        let group = &self.groups[usize::from(group.0)];
        group.bytes + group.counts.bytes_sent + group.counts.bytes_received
    }

    /// A number that grows as soon as a session of a group completes or receives anything.
    pub fn progress(&self, group: GroupId) -> u64 {
        let group = &self.groups[usize::from(group.0)];
        group.progress + group.counts.completed + group.counts.bytes_received
    }

    /// Whether usual events of a group are handled in one go.
    #[cfg(test)]
    pub(crate) fn has_express(&self, group: GroupId) -> bool {
        !matches!(self.groups[usize::from(group.0)].express, Express::Off)
    }

    /// Counts of a group's sessions since counts were last swapped.
    pub fn counts(&self, group: GroupId) -> &Counts {
        &self.groups[usize::from(group.0)].counts
    }

    /// Swaps what was counted, of all groups in order, for empty counts: the end of an interval.
    ///
    /// # Panics
    /// If there are not as many as there are groups.
    pub fn swap_counts(&mut self, counts: &mut [Counts]) {
        assert_eq!(counts.len(), self.groups.len());
        for (group, counts) in self.groups.iter_mut().zip(counts) {
            counts.clear();
            std::mem::swap(&mut group.counts, counts);
            group.counts.active_max = group.active;
            group.bytes += counts.bytes_sent + counts.bytes_received;
            group.progress += counts.completed + counts.bytes_received;
        }
    }

    /// Flows that need more than their [`Flow`].
    pub fn extras(&self) -> usize {
        self.extras.used()
    }

    /// Lets an application, or the encryption before it, see a flow.
    #[inline]
    fn tell(
        &mut self,
        now: Nanos,
        flow: &mut Flow,
        io: &mut Io,
        tell: impl FnOnce(&mut AnyApp, Option<&mut TlsFlow>, &mut Ctx<'_>, &mut Flow),
    ) {
        let Group { key, common, app, counts, quic, .. } = &mut self.groups[usize::from(io.group().0)];
        let mut ctx = Ctx {
            now,
            number: io.flow().0,
            ecn: io.ecn(),
            hops: io.hops(),
            common,
            counts,
            pacers: &mut self.pacers[key.session],
            extras: &mut self.extras,
            udp: io.is_for_datagrams(),
            alpn: "",
            quic: quic.as_mut(),
            sent: io.sent(),
            scratch: &mut self.scratch,
            ask: Default::default(),
        };
        let tls = if common.secured {
            flow.extra().and_then(|place| self.secured.get_mut(place)?.as_deref_mut())
        } else {
            None
        };
        tell(app, tls, &mut ctx, flow);
        if ctx.common.quic && !ctx.ask.tend {
            AnyApp::settle(&mut ctx, flow);
        }
        let ask = std::mem::take(&mut ctx.ask);
        ask.hand_to(io);
        if let Some(to) = ask.go_on {
            self.moves.push(Move { from: io.flow(), group: io.group(), to, stays: false });
        }
        if ask.moves {
            self.moves.push(Move { from: io.flow(), group: io.group(), to: Carrier::Udp, stays: true });
        }
        if ask.begun {
            self.groups[usize::from(io.group().0)].begin(flow);
        }
        if ask.over {
            // The session of a connection that it has left continues.
            if !self.groups[usize::from(io.group().0)].app.is_gone(flow) {
                self.conclude(now, flow, io.flow(), io.group(), End::Closed);
            }
            AnyApp::set_gone(flow);
        }
    }
}

impl Group {
    fn new(plan: &SessionPlan, key: GroupKey, (worker, workers): (u64, u64), layer: Option<Layer>) -> Self {
        let (secure, quic) = match layer {
            Some(Layer::Tls(side)) => (Some(side), None),
            Some(Layer::Quic(side)) => (None, Some(side)),
            None => (None, None),
        };
        let is_client = key.side == Side::Client;
        let member = &plan.mix.members[key.member];
        let carrier = plan.carrier_of(key.member);
        let options = match quic_plan(plan, key) {
            options if is_client && quic.is_some() => options,
            QuicPlan { datagrams, unidirectional, .. } => {
                QuicPlan { datagrams, unidirectional, ..QuicPlan::default() }
            }
        };
        let app = AnyApp::new(&member.app, key.side, carrier, quic.is_some().then_some(options));
        let common = Common {
            takes_turns: quic.is_none() && app.takes_turns(),
            side: key.side,
            carrier,
            patience: plan.patience,
            up: plan.load.up.filter(|_| is_client),
            verify: plan.verify,
            secured: secure.is_some(),
            quic: quic.is_some(),
            migrate: options.migrate,
            key_update: options.key_update,
            paced: is_client && (plan.load.request_rate.is_some() || plan.load.request_count.is_some()),
            late: is_client
                && plan.load.late
                && (plan.load.request_rate.is_some() || plan.request_log().is_some()),
            follows: is_client && matches!(&member.app, AppPlan::Http(http) if http.alt_svc),
        };
        let played = if is_client { &plan.client } else { &plan.server };
        let has_express = played.as_ref().is_some_and(|played| played.tcp.express)
            && plan.carrier == Carrier::Tcp
            && plan.tunnel.is_none()
            && plan.load.close_rate.is_none()
            && !(common.verify
                || common.secured
                || common.quic
                || common.paced
                || common.late
                || common.follows)
            && common.up.is_none();
        let express = if has_express { Express::of(&app) } else { Express::Off };
        Self {
            key,
            common,
            app,
            express,
            counts: Counts::default(),
            at_end: plan.load.at_end,
            secure,
            quic,
            tunnel: plan.tunnel.as_deref().filter(|_| is_client).map(Tunnel::new),
            is_alternative: is_client && member.is_alternative,
            active: 0,
            bytes: 0,
            progress: 0,
            accepted: 0,
            workers,
            worker,
        }
    }

    /// Counts a session as attempted.
    #[inline]
    fn begin(&mut self, flow: &mut Flow) {
        flow.set(Flag::Counted);
        self.counts.attempted += 1;
        self.active += 1;
        self.counts.active_max = self.counts.active_max.max(self.active);
    }
}

/// How the clients of a group use QUIC.
fn quic_plan(plan: &SessionPlan, key: GroupKey) -> QuicPlan {
    match &plan.mix.members[key.member].app {
        AppPlan::Http(http) => http.quic,
        _ => plan.quic.client,
    }
}

/// Resets a session because the run is over: it did what it should as far as it came.
fn reset_in_time(ctx: &mut Ctx<'_>, flow: &mut Flow) {
    flow.set(Flag::Done);
    flow.set(Flag::Stopped);
    ctx.ask.abort = true;
}

impl Apps {
    /// Processes data for a session that was requested to stop.
    #[cold]
    fn heard_late(&mut self, now: Nanos, flow: &mut Flow, io: &mut Io) {
        flow.set(Flag::Progress);
        let resets = self.groups[usize::from(io.group().0)].at_end == AtEnd::Reset;
        let is_over = flow.has(Flag::Failed) || flow.has(Flag::Done) || flow.has(Flag::Closing);
        if resets && !is_over && !self.awaits_first_word(flow, io.group()) {
            self.tell(now, flow, io, |_, _, ctx, flow| reset_in_time(ctx, flow));
        }
    }

    /// The carrier is open, and the tunnel if there is one: starts the encryption, or the application.
    #[inline]
    fn begin(&mut self, now: Nanos, flow: &mut Flow, io: &mut Io) {
        let group = &mut self.groups[usize::from(io.group().0)];
        let Some(side) = group.secure.as_deref_mut() else {
            self.tell(now, flow, io, |app, _, ctx, flow| app.opened(ctx, flow));
            if flow.has(Flag::Stopping) {
                self.heard_late(now, flow, io);
            }
            return;
        };
        let Group { key, common, counts, .. } = group;
        let pacers = &mut self.pacers[key.session];
        let place = self.extras.place(flow);
        let mut ctx = Ctx {
            now,
            number: io.flow().0,
            ecn: io.ecn(),
            hops: io.hops(),
            common,
            counts,
            pacers,
            extras: &mut self.extras,
            udp: false,
            alpn: "",
            quic: None,
            sent: 0,
            scratch: &mut self.scratch,
            ask: Default::default(),
        };
        let tls = tls::opened(side, &mut ctx, flow);
        ctx.ask.hand_to(io);
        if self.secured.len() <= place {
            self.secured.resize_with(place + 1, || None);
        }
        self.secured[place] = Some(tls);
        if flow.has(Flag::Stopping) {
            self.heard_late(now, flow, io);
        }
    }

    /// Whether a client waits for its tunnel.
    #[inline]
    fn is_tunnelling(&self, flow: &Flow, group: GroupId) -> bool {
        let group = &self.groups[usize::from(group.0)];
        group.tunnel.is_some() && self.step(flow, group) == Step::Opening
    }

    /// Requests a tunnel from a proxy. Its bytes count as the application's.
    #[cold]
    fn ask_for_tunnel(&mut self, now: Nanos, flow: &mut Flow, io: &mut Io) {
        let Group { tunnel, counts, common, .. } = &mut self.groups[usize::from(io.group().0)];
        let bytes = tunnel.as_ref().map_or(0, |tunnel| tunnel.len(flow));
        io.send(bytes);
        counts.bytes_sent += bytes;
        let patience = common.patience.response;
        self.tell(now, flow, io, |_, _, ctx, flow| {
            flow.mark(now);
            ctx.arm(flow, patience);
        });
    }

    /// Reads a proxy's response.
    #[cold]
    fn tunnel_said(&mut self, now: Nanos, flow: &mut Flow, io: &mut Io, data: &[u8]) {
        let mut all = self.extras.unstash(flow);
        all.extend_from_slice(data);
        flow.set(Flag::Progress);
        match Tunnel::read(&all) {
            Said::More => self.extras.stash(flow, &all),
            Said::No(reason, why) => self.tell(now, flow, io, |_, _, ctx, flow| {
                ctx.counts.detail(&why);
                ctx.fail(flow, reason);
            }),
            Said::Open(used) => {
                self.groups[usize::from(io.group().0)].counts.bytes_received += used as u64;
                // The time of the proxy is over; whoever wants to be woken says so.
                flow.unset(Flag::Armed);
                self.begin(now, flow, io);
                if used < all.len() {
                    self.received(now, flow, io, &all[used..]);
                }
            }
        }
    }

    /// A session is over: counts its outcome.
    #[inline]
    fn conclude(&mut self, now: Nanos, flow: &mut Flow, id: FlowId, group: GroupId, end: End) {
        if flow.has(Flag::Turn) {
            self.return_turns(now, flow, id, group);
        }
        if flow.extra().is_some() {
            self.lose_redirects(flow, group);
        }
        let group = &mut self.groups[usize::from(group.0)];
        if !flow.has(Flag::Counted) {
            group.begin(flow);
        }
        group.active -= 1;
        let tls = match group.common.secured {
            true => flow.extra().and_then(|place| self.secured.get_mut(place)?.take()),
            false => None,
        };
        // What TLS itself says at the end need not arrive.
        let end = match (end, tls) {
            (End::Reset, Some(tls)) if tls.is_delivered() => End::ResetAcknowledged,
            (End::Reset, _) if group.app.has_all(flow) => End::ResetAcknowledged,
            // Nor need a server close because its client has.
            (End::IdleTimeout, _) if group.app.is_answered(flow) => End::Closed,
            // A sender of test packets that has left refuses the replies to its last ones.
            (End::Refused, _) if group.app.has_reflected(flow) => End::Closed,
            (end, _) => end,
        };
        let complete = group.app.is_complete(flow, &self.extras, group.common.side, end);
        let udp = group.common.carrier == Carrier::Udp && !group.app.is_by_tcp(flow);
        match failure(flow, end, complete, udp) {
            Some(reason) => {
                group.counts.fail(reason);
                if group.is_alternative {
                    let alternative = &mut self.pacers[group.key.session].alternative;
                    alternative.failed(now, reason, &mut group.counts.alt_svc);
                }
            }
            None => {
                group.counts.completed += 1;
                group.counts.stopped += u64::from(flow.has(Flag::Stopped));
            }
        }
    }

    /// Data arrived that are not what is usually expected.
    #[inline(never)]
    fn received_any(&mut self, now: Nanos, flow: &mut Flow, io: &mut Io, data: &[u8]) {
        if self.is_tunnelling(flow, io.group()) {
            return self.tunnel_said(now, flow, io, data);
        }
        self.tell(now, flow, io, |app, tls, ctx, flow| {
            match tls {
                Some(tls) => tls::received(app, tls, ctx, flow, data),
                None if ctx.common.quic => {
                    app.received(ctx, flow, data);
                    AnyApp::hold(ctx, flow);
                }
                None => {
                    ctx.counts.bytes_received += data.len() as u64;
                    app.received(ctx, flow, data);
                }
            }
            ctx.acknowledge_early(flow, data.len());
        });
        if flow.has(Flag::Stopping) {
            self.heard_late(now, flow, io);
        }
    }

    /// A flow has ended in another way than usual.
    #[inline(never)]
    fn closed_any(&mut self, now: Nanos, flow: &mut Flow, id: FlowId, group: GroupId, end: End) {
        let own = &mut self.groups[usize::from(group.0)];
        if let Some(quic) = &mut own.quic {
            quic.closed(id.0);
        }
        if !own.app.is_gone(flow) {
            if own.common.quic {
                AnyApp::note_lost(&self.extras, flow, &mut own.counts);
            }
            self.conclude(now, flow, id, group, end);
        } else if own.common.secured
            && let Some(tls) = flow.extra().and_then(|place| self.secured.get_mut(place))
        {
            // The next flow with this place begins its own.
            *tls = None;
        }
        self.extras.release(flow);
    }

    /// Writes other bytes than usual.
    #[inline(never)]
    fn fill_any(&mut self, flow: &Flow, group: GroupId, offset: u64, out: &mut [u8]) {
        let before = self.before_tunnel(flow, group);
        let group = &self.groups[usize::from(group.0)];
        let asked = match &group.tunnel {
            Some(tunnel) if offset < before => tunnel.fill(flow, offset, out),
            _ => 0,
        };
        let (offset, out) = (offset.max(before) - before, &mut out[asked..]);
        if out.is_empty() {
            return;
        }
        if group.common.secured {
            let tls = flow.extra().and_then(|place| self.secured.get(place)?.as_deref());
            return tls.map_or((), |tls| tls::fill(tls, offset, out));
        }
        group.app.fill(flow, &self.extras, offset, out);
    }

    /// Bytes before the data in a flow's tunnel.
    #[inline]
    fn before_tunnel(&self, flow: &Flow, group: GroupId) -> u64 {
        self.groups[usize::from(group.0)].tunnel.as_ref().map_or(0, |tunnel| tunnel.len(flow))
    }
}

impl App for Apps {
    type Flow = Flow;

    #[inline]
    fn opened(&mut self, now: Nanos, flow: &mut Flow, io: &mut Io) {
        let group = &mut self.groups[usize::from(io.group().0)];
        if group.app.is_arriving(flow) {
            // It was counted when it was established for the first time.
            if group.tunnel.is_some() {
                return self.ask_for_tunnel(now, flow, io);
            }
            return self.begin(now, flow, io);
        }
        if group.common.side == Side::Server {
            flow.number = group.accepted.wrapping_mul(group.workers).wrapping_add(group.worker) as u32;
            group.accepted += 1;
        }
        if group.common.quic {
            // A session begins with a connection, and is established when hands are shaken.
            return self.tell(now, flow, io, |app, _, ctx, flow| app.opened(ctx, flow));
        }
        if group.common.side == Side::Server {
            group.begin(flow);
        } else {
            group.counts.setup.record(flow.elapsed(now).0);
            if let Some(up) = group.common.up {
                flow.set_up_end(now.saturating_add(up.value(u64::from(flow.number), 0)));
            }
        }
        group.counts.established += 1;
        let Group { express, app, common, counts, .. } = group;
        if express.opened(app, &mut Place { now, common, counts, io }, flow) {
            return;
        }
        if group.tunnel.is_some() {
            return self.ask_for_tunnel(now, flow, io);
        }
        self.begin(now, flow, io);
    }

    #[inline]
    fn received(&mut self, now: Nanos, flow: &mut Flow, io: &mut Io, data: &[u8]) {
        let Group { express, app, common, counts, .. } = &mut self.groups[usize::from(io.group().0)];
        if !express.received(app, &mut Place { now, common, counts, io }, flow, data) {
            self.received_any(now, flow, io, data);
        }
    }

    fn tended(&mut self, now: Nanos, flow: &mut Flow, io: &mut Io) {
        self.tell(now, flow, io, |app, _, ctx, flow| app.tended(ctx, flow));
    }

    #[inline]
    fn finished(&mut self, now: Nanos, flow: &mut Flow, io: &mut Io) {
        if self.is_tunnelling(flow, io.group()) {
            return self.tell(now, flow, io, |_, _, ctx, flow| {
                ctx.fail_softly(flow, Reason::ClosedEarly);
                ctx.ask.close = true;
            });
        }
        self.tell(now, flow, io, |app, tls, ctx, flow| match tls {
            Some(tls) => tls::finished(app, tls, ctx, flow),
            None => app.finished(ctx, flow),
        });
    }

    #[inline]
    fn acknowledged(&mut self, now: Nanos, flow: &mut Flow, io: &mut Io, offset: u64) {
        let Group { express, app, common, counts, .. } = &mut self.groups[usize::from(io.group().0)];
        if express.acknowledged(app, common, counts, flow, offset) {
            return;
        }
        let before = self.before_tunnel(flow, io.group());
        if before > 0 && (offset < before || self.is_tunnelling(flow, io.group())) {
            return;
        }
        let offset = offset - before;
        self.tell(now, flow, io, |app, tls, ctx, flow| match tls {
            Some(tls) => tls::acknowledged(app, tls, ctx, flow, offset),
            None => app.acknowledged(ctx, flow, offset),
        });
        // A message that arrives piece by piece is on its way.
        if flow.has(Flag::Stopping) && flow.unacked > 0 {
            flow.set(Flag::Progress);
        }
    }

    fn woke(&mut self, now: Nanos, flow: &mut Flow, io: &mut Io) {
        flow.unset(Flag::Armed);
        if flow.has(Flag::Failed) && !self.groups[usize::from(io.group().0)].common.quic {
            return;
        }
        if self.is_tunnelling(flow, io.group()) {
            return self.tell(now, flow, io, |_, _, ctx, flow| ctx.fail(flow, Reason::ResponseTimeout));
        }
        self.tell(now, flow, io, |app, tls, ctx, flow| match tls {
            Some(tls) => tls::woke(app, tls, ctx, flow),
            None => app.woke(ctx, flow),
        });
    }

    #[inline]
    fn closed(&mut self, now: Nanos, flow: &mut Flow, id: FlowId, group: GroupId, end: End) {
        let own = &mut self.groups[usize::from(group.0)];
        if !own.express.is_completed(&own.app, flow, end) {
            return self.closed_any(now, flow, id, group, end);
        }
        own.active -= 1;
        own.counts.completed += 1;
        own.counts.stopped += u64::from(flow.has(Flag::Stopped));
    }

    fn unread(&mut self, flow: &mut Flow) -> VecDeque<Vec<u8>> {
        self.extras.find_mut(flow).map(|extra| std::mem::take(&mut extra.datagrams)).unwrap_or_default()
    }

    #[inline]
    fn fill(&mut self, flow: &Flow, group: GroupId, offset: u64, out: &mut [u8]) {
        let own = &self.groups[usize::from(group.0)];
        if !own.express.fill(&own.app, flow, offset, out) {
            self.fill_any(flow, group, offset, out);
        }
    }
}

#[cfg(test)]
mod tests;
