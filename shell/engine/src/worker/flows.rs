//! One worker's sessions on one port: the stack behind the port, what runs on its flows, and the clients who open them.
//!
//! Invariant: what was counted is handed over with every interval; nothing is counted in two.

use super::commands::SessionStep;
use super::detour::{Detour, ServerHops};
use super::flow_sink::FlowSink;
use super::steer::Steer;
use super::tunnels::Tunnels;
use crate::counts::sessions::SessionCounts;
use session::plan::{Carrier, Side};
use session::{Apps, Clients, Counts, Flow, GroupKey, Move};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use tcp::{ConnectError, FlowId, GroupId, HopMove, Inside, Io, Stack, StackCounts, TcpCounts};
use units::Nanos;

/// Sessions opened in one turn by the clients of one entry at most: frames that come in are not kept waiting.
const OPEN_AT_ONCE: u64 = 32;
/// Pairs of addresses and ports tried for one session before it fails.
const TRIES: usize = 64;
/// Flows that may go to another hardware address in one turn.
const MOVED_AT_ONCE: u32 = 4_096;
/// Flows seen to in one turn when the run ends.
const END_AT_ONCE: usize = 64;
/// Maximum time in flight of datagrams of clients that are done.
const UNDER_WAY: Nanos = Nanos::from_millis(100);

/// The clients of one entry.
pub(crate) struct Opening {
    pub(crate) entry: usize,
    pub(crate) clients: Clients,
    /// Of each of the clients' hosts: hardware address to send to for servers' addresses, where its groups have none for all.
    pub(crate) hops: Vec<ServerHops>,
    /// Reported part of the load.
    told: Told,
    /// Whether all its sessions were opened and are over, before the end.
    is_through: bool,
    /// Whether the times of requests that wait at the end are counted.
    counted_waiting: bool,
}

/// Reported part of a load.
#[derive(Debug, Clone, Copy, Default)]
struct Told {
    unopened: u64,
    withheld: u64,
    unsent_requests: u64,
    overdue: u64,
    is_busy: bool,
}

impl Opening {
    pub(crate) fn new(entry: usize, clients: Clients, hops: Vec<ServerHops>) -> Self {
        Self { entry, clients, hops, told: Told::default(), is_through: false, counted_waiting: false }
    }

    /// Finds out whether it is through at `at`, before the end.
    fn look(&mut self, apps: &Apps, at: Nanos) {
        self.is_through = self.clients.is_done(at) && self.clients.active(apps) == 0;
    }
}

/// A worker's state for the sessions of one port.
#[derive(Default)]
pub(crate) struct Local {
    /// Its share of them, if it has one.
    pub(crate) flows: Option<Flows>,
    /// Ways to the workers that own the others, where frames may come to the wrong one.
    pub(crate) steer: Option<Steer>,
    /// Tunnels that sessions of the port are in.
    pub(crate) tunnels: Option<Tunnels>,
}

impl Local {
    /// Whether there is nothing to do.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.flows.is_none() && self.steer.is_none() && self.tunnels.is_none()
    }

    /// Processes a burst. `unfinished` has a bit for each frame that the port reports as having its checksum left to a
    /// card, the first one's lowest. Returns a bit for each frame that is not for sessions; `lost` counts frames that
    /// could not be passed on.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        now: Nanos,
        frames: &mut [&[u8]],
        unfinished: u64,
        lost: &mut u64,
    ) -> u64 {
        let mut passed = 0;
        if let Some(tunnels) = &mut self.tunnels {
            let flows = &mut self.flows;
            let offer = &mut |insides: &[Inside<'_>]| receive_inside(flows, now, insides);
            passed = tunnels.receive(now, frames, unfinished, offer, self.steer.as_mut(), lost);
        }
        if let Some(steer) = &mut self.steer {
            for (number, frame) in frames.iter_mut().enumerate() {
                if steer.pass(frame, unfinished >> number & 1 != 0, lost) {
                    *frame = &[];
                    passed |= 1 << number;
                }
            }
            steer.publish();
        }
        let foreign = self.flows.as_mut().map_or(u64::MAX, |flows| flows.receive(now, frames, unfinished));
        foreign & !passed
    }

    /// Takes in what other workers passed on. Returns whether there was anything.
    #[inline]
    pub(crate) fn take_passed(&mut self, now: Nanos) -> bool {
        let Self { flows, steer, tunnels } = self;
        let Some(steer) = steer else { return false };
        if let Some(tunnels) = tunnels {
            return steer.take(|frame, is_unfinished| {
                let mut frames = [frame];
                let unfinished = is_unfinished.into();
                let offer = &mut |insides: &[Inside<'_>]| receive_inside(flows, now, insides);
                if tunnels.receive(now, &mut frames, unfinished, offer, None, &mut 0) == 0
                    && let Some(flows) = flows
                {
                    flows.receive(now, &frames, unfinished);
                }
            });
        }
        let Some(flows) = flows else { return false };
        steer.take(|frame, is_unfinished| _ = flows.receive(now, &[frame], is_unfinished.into()))
    }
}

/// Whether a worker keeps up with the frames that come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crowd {
    /// More came than it took in this turn.
    pub(crate) is_behind: bool,
    /// Timers wait: there are frames that came before they ran out, and have not been looked at.
    pub(crate) holds_timers: bool,
}

impl Crowd {
    /// It keeps up.
    pub(crate) const NONE: Self = Self { is_behind: false, holds_timers: false };
}

/// Progress of the sessions of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Before its end, or with clients that are not through.
    Running,
    /// Flows are being requested to end, from this one on: flows whose other end is external, or clients'.
    Ending { next: u32 },
    /// All of them were requested.
    Ended,
}

/// Role of a group's flows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Role {
    pub(crate) key: GroupKey,
    /// Whether its entry has other applications, too.
    pub(crate) is_mixed: bool,
    /// Whether its side has other hosts, too.
    pub(crate) is_multihomed: bool,
    /// Whether they continue until their clients, who are emulated here too, have ended them.
    pub(crate) follows: bool,
}

/// One worker's sessions on one port.
pub(crate) struct Flows {
    port: usize,
    stack: Stack<Apps>,
    apps: Apps,
    openings: Vec<Opening>,
    /// The groups of this port, by number; `None` are other ports'.
    roles: Vec<Option<Role>>,
    /// UDP servers do not see that their clients are done: time to notify them.
    dismissed_at: Option<Nanos>,
    /// They are being notified: from this flow on they have not been.
    dismissed: Option<u32>,
    /// Rates have changed: from this flow on none was notified.
    retimed: Option<u32>,
    /// Flows whose next hop has moved, and from which one on they were not looked at.
    moving: VecDeque<(HopMove, u32)>,
    /// Which worker this is, of how many.
    share: (usize, usize),
    /// When they end, since the start of traffic.
    end: Nanos,
    stage: Stage,
    /// The last instant seen, since the start of traffic.
    at: Nanos,
    /// The start of traffic, once it is known.
    epoch: Nanos,
    /// When the last frame left, since the start of traffic.
    sent_at: Nanos,
    /// Whether it waits for clients elsewhere until its end: none are opened here.
    waits: bool,
    /// Entries whose servers are here and whose clients another machine of the run has.
    others: Vec<usize>,
    /// Empty counts, to be swapped for full ones.
    spare: (Vec<Counts>, TcpCounts, StackCounts),
}

impl Flows {
    pub(crate) fn new(
        port: usize,
        stack: Stack<Apps>,
        apps: Apps,
        openings: Vec<Opening>,
        roles: Vec<Option<Role>>,
        share: (usize, usize),
        end: Nanos,
        waits: bool,
    ) -> Self {
        let counts = vec![Counts::default(); roles.len()];
        Self {
            port,
            stack,
            apps,
            openings,
            roles,
            dismissed_at: None,
            dismissed: None,
            retimed: None,
            moving: VecDeque::new(),
            share,
            end,
            stage: Stage::Running,
            at: Nanos::ZERO,
            epoch: Nanos::ZERO,
            sent_at: Nanos::ZERO,
            waits,
            others: Vec::new(),
            spare: (counts, TcpCounts::default(), StackCounts::default()),
        }
    }

    /// Clients of these entries, whose servers are here, are another machine's.
    pub(crate) fn with_clients_elsewhere(self, others: Vec<usize>) -> Self {
        Self { others, ..self }
    }

    pub(crate) fn port(&self) -> usize {
        self.port
    }

    /// Processes a burst, with a bit in `unfinished` for each frame that the port reports as having its checksum left
    /// to a card. Returns a bit for each frame that is not for these flows, the first one's lowest.
    #[inline]
    pub(crate) fn receive(&mut self, now: Nanos, frames: &[&[u8]], unfinished: u64) -> u64 {
        self.stack.receive_told(now, &mut self.apps, frames, unfinished)
    }

    /// Opens, times and sends what is due. `epoch` is the start of traffic. Returns whether there was anything.
    ///
    #[inline]
    pub(crate) fn turn(&mut self, now: Nanos, epoch: Nanos, load: Crowd, sink: &mut FlowSink<'_>) -> bool {
        if now < epoch {
            return false;
        }
        self.at = now - epoch;
        if self.epoch != epoch {
            self.apps.begin_at(epoch);
        }
        self.epoch = epoch;
        let mut busy = false;
        if self.at < self.end {
            busy |= self.open(now, load.is_behind);
        } else if self.stage != Stage::Ended {
            self.wind_down(now);
            busy = true;
        }
        if self.dismissed_at.is_some_and(|at| at <= now) {
            (self.dismissed_at, self.dismissed) = (None, Some(0));
        }
        if self.dismissed.is_some() {
            self.dismiss_some(now);
            busy = true;
        }
        if let Some(next) = self.retimed {
            self.retimed = self.see_some(now, next, |_, now, apps, flow, io| apps.ask_again(now, flow, io));
            busy = true;
        }
        if let Some((step, next)) = self.moving.front_mut() {
            match self.stack.move_flows(step, *next, MOVED_AT_ONCE) {
                Some(left) => *next = left,
                None => drop(self.moving.pop_front()),
            }
            busy = true;
        }
        if !load.holds_timers && self.stack.next_due() <= now {
            self.stack.turn(now, &mut self.apps);
            busy = true;
        }
        for step in self.apps.take_moves() {
            self.go_on(now, step);
        }
        if self.stack.owes() {
            self.stack.transmit(now, &mut self.apps, sink);
        }
        if sink.flush() {
            self.sent_at = self.at;
            busy = true;
        }
        busy
    }

    /// When the last frame left, since the start of traffic.
    pub(crate) fn sent_at(&self) -> Nanos {
        self.sent_at
    }

    /// Opens the sessions that are due; see [`Clients::poll`].
    #[inline]
    fn open(&mut self, now: Nanos, is_behind: bool) -> bool {
        let mut opened = false;
        for opening in &mut self.openings {
            let numbers = opening.clients.poll(self.at, &self.apps, OPEN_AT_ONCE, is_behind);
            for number in numbers.numbers() {
                opening.open(now, number, &mut self.stack, &mut self.apps, self.share);
                opened = true;
            }
        }
        opened
    }

    /// Continues a session on a flow of another carrier, or with another port.
    fn go_on(&mut self, now: Nanos, step: Move) {
        if step.stays {
            return self.change_port(now, step);
        }
        let (Some(role), Some(ends)) = (self.roles[usize::from(step.group.0)], self.stack.ends(step.from))
        else {
            return;
        };
        let mut flow = None;
        self.stack.with(now, &mut self.apps, step.from, |apps, old, io| flow = apps.leave(now, old, io));
        let opening = self.openings.iter_mut().find(|opening| opening.entry == role.key.session);
        let (Some(flow), Some(opening)) = (flow, opening) else { return };
        let step = (step, role.key.host);
        opening.reopen(now, step, ends, &flow, &mut self.stack, &mut self.apps, self.share);
    }

    /// Gives a session's flow another of the clients' ports, and its own to a flow that takes in what still comes there. If
    /// none is free it keeps its own.
    #[cold]
    fn change_port(&mut self, now: Nanos, step: Move) {
        let (Some(role), Some(ends)) = (self.roles[usize::from(step.group.0)], self.stack.ends(step.from))
        else {
            return;
        };
        let Some(opening) = self.openings.iter().find(|opening| opening.entry == role.key.session) else {
            return;
        };
        let flow = Apps::left_behind();
        let step = (step, role.key.host);
        let other =
            opening.connect_beside(now, step, ends, &flow, &mut self.stack, &mut self.apps, self.share);
        let Move { from, .. } = step.0;
        if other.is_some_and(|other| self.stack.exchange(from, other)) {
            self.stack.with(now, &mut self.apps, from, |apps, flow, io| apps.moved(now, flow, io));
        }
    }

    /// Tells some more flows that the run is over.
    fn wind_down(&mut self, now: Nanos) {
        let next = match self.stage {
            Stage::Running => {
                for opening in &mut self.openings {
                    opening.look(&self.apps, self.at);
                    opening.clients.stop();
                }
                0
            }
            Stage::Ending { next } => next,
            Stage::Ended => return,
        };
        let next = self.see_some(now, next, |roles, now, apps, flow, io| {
            if !follows(roles, io.group()) {
                apps.stop(now, flow, io);
            }
        });
        self.stage = next.map_or(Stage::Ended, |next| Stage::Ending { next });
    }

    /// Opens sessions of some entries, and sends their requests, at another rate.
    pub(crate) fn scale(&mut self, step: &SessionStep, epoch: Nanos) {
        for opening in self.openings.iter_mut().filter(|opening| step.entries.contains(&opening.entry)) {
            opening.clients.scale(step.at, step.scale);
            if self.apps.scale(opening.entry, epoch.saturating_add(step.at), step.scale) {
                self.retimed = Some(0);
            }
        }
    }

    /// Lets what goes by way of a neighbour that has moved go to its new hardware address.
    pub(crate) fn follow(&mut self, detour: &Detour) {
        for one in &detour.sessions {
            let is_one = one.hops.iter().all(|(_, mac)| *mac == one.hops[0].1);
            for opening in self.openings.iter_mut().filter(|opening| opening.entry == one.entry) {
                if one.side == Side::Client {
                    opening.hops[one.host] = if is_one { Vec::new() } else { one.hops.clone() };
                }
            }
            let own = (one.entry, one.side, one.host);
            for group in groups(&self.roles, |key| (key.session, key.side, key.host) == own) {
                for remotes in &one.remotes {
                    let step = HopMove { group, remotes: remotes.clone(), from: detour.from, to: detour.to };
                    if is_one {
                        self.stack.move_group(&step);
                    }
                    self.moving.push_back((step, 0));
                }
            }
        }
        for (entry, side, tunnel) in &detour.tunnels {
            for group in groups(&self.roles, |key| (key.session, key.side) == (*entry, *side)) {
                self.stack.move_tunnel(group, tunnel.clone());
            }
        }
    }

    /// Emulated clients are done: servers that can't see it are notified once packets in flight have arrived.
    pub(crate) fn dismiss(&mut self, now: Nanos) {
        // When clients elsewhere are done is not known here before the end.
        if self.others.is_empty() && self.roles.iter().flatten().any(|role| role.follows) {
            self.dismissed_at = Some(now.saturating_add(UNDER_WAY));
        }
    }

    /// Notifies some more UDP servers that no more clients will come.
    fn dismiss_some(&mut self, now: Nanos) {
        let Some(next) = self.dismissed else { return };
        self.dismissed = self.see_some(now, next, |roles, now, apps, flow, io| {
            if follows(roles, io.group()) && apps.carrier(io.group()) == Carrier::Udp {
                apps.stop(now, flow, io);
            }
        });
    }

    /// Lets `see` see some flows, from number `next` on; returns from which one on others are left.
    fn see_some(
        &mut self,
        now: Nanos,
        next: u32,
        see: impl Fn(&[Option<Role>], Nanos, &mut Apps, &mut Flow, &mut Io),
    ) -> Option<u32> {
        let (mut some, mut count) = ([FlowId(0); END_AT_ONCE], 0);
        for (place, flow) in some.iter_mut().zip(self.stack.flows_from(next)) {
            *place = flow;
            count += 1;
        }
        let roles = &self.roles;
        for flow in &some[..count] {
            self.stack.with(now, &mut self.apps, *flow, |apps, flow, io| see(roles, now, apps, flow, io));
        }
        (count == END_AT_ONCE).then(|| some[count - 1].0 + 1)
    }

    /// Whether nothing more will be opened and, before the end, all that was is over.
    pub(crate) fn is_over(&self) -> bool {
        let through =
            |opening: &Opening| opening.clients.active(&self.apps) == 0 && opening.clients.is_done(self.at);
        match self.stage {
            Stage::Ended => true,
            _ => !self.waits && self.openings.iter().all(through),
        }
    }

    /// Whether some of what is due was left for the next turn.
    pub(crate) fn has_more_to_do(&self) -> bool {
        self.stack.owes() || self.dismissed.is_some() || self.retimed.is_some() || !self.moving.is_empty()
    }

    /// When there is something to do next.
    pub(crate) fn next_due(&self, epoch: Nanos) -> Nanos {
        let opening = |opening: &Opening| epoch.saturating_add(opening.clients.deadline(&self.apps));
        let end = if self.stage == Stage::Ended { Nanos::MAX } else { epoch.saturating_add(self.end) };
        let due = self.openings.iter().map(opening).fold(end, Nanos::min);
        due.min(self.stack.next_due()).min(self.dismissed_at.unwrap_or(Nanos::MAX))
    }

    /// Ends at `at`, since the start of traffic.
    pub(crate) fn stop(&mut self, at: Nanos) {
        self.end = self.end.min(at);
    }

    /// Adds what was counted to `sessions`, which has both sides of every entry, and begins anew.
    pub(crate) fn hand_over(&mut self, sessions: &mut [SessionCounts]) {
        let (counts, tcp, frames) = &mut self.spare;
        self.apps.swap_counts(counts);
        for (number, role) in self.roles.iter().enumerate() {
            let Some(Role { key, is_mixed, is_multihomed, .. }) = role else { continue };
            let sum = &mut sessions[SessionCounts::index(key.session, key.side)];
            tcp.clear();
            frames.clear();
            let group = GroupId(number as u16);
            self.stack.swap_counts(group, tcp, frames);
            let counts = &mut counts[number];
            counts.bytes_delivered += match self.apps.carrier(group) {
                _ if self.apps.is_secured(group) => 0,
                // DNS asks over TCP what UDP cut short.
                Carrier::Udp => frames.datagram_bytes_out + tcp.bytes_acknowledged,
                Carrier::Tcp => tcp.bytes_acknowledged,
            };
            sum.app.merge(counts);
            if *is_mixed {
                SessionCounts::add_part(&mut sum.members, key.member, counts);
            }
            if *is_multihomed {
                SessionCounts::add_part(&mut sum.hosts, key.host, counts);
            }
            sum.tcp.merge(tcp);
            sum.frames.merge(frames);
        }
        for opening in &mut self.openings {
            let sum = &mut sessions[SessionCounts::index(opening.entry, Side::Client)];
            let at = self.at.min(Nanos(self.end.0.saturating_sub(1)));
            let instant = self.epoch.saturating_add(at);
            let keeps = self.apps.keeps_requests(opening.entry);
            if self.stage == Stage::Running {
                opening.look(&self.apps, at);
            }
            let unsent = self.apps.unsent_requests(opening.entry, instant);
            let is_over = keeps && opening.is_through;
            let now = Told {
                unopened: opening.clients.missed(at),
                withheld: opening.clients.totals().withheld,
                unsent_requests: if is_over { 0 } else { unsent },
                overdue: if is_over { unsent } else { 0 },
                is_busy: keeps && !is_over,
            };
            let is_first =
                self.stage == Stage::Ended && !std::mem::replace(&mut opening.counted_waiting, true);
            if is_first && now.is_busy {
                self.apps.count_waiting(opening.entry, instant, &mut sum.app);
            }
            let told = opening.told;
            sum.unopened += now.unopened as i64 - told.unopened as i64;
            sum.withheld += now.withheld - told.withheld;
            sum.unsent_requests += now.unsent_requests as i64 - told.unsent_requests as i64;
            sum.overdue += now.overdue as i64 - told.overdue as i64;
            sum.busy += i64::from(now.is_busy) - i64::from(told.is_busy);
            opening.told = now;
        }
    }

    /// Decides the outcome of flows that were requested to end, and received nothing since: the wait for late replies
    /// is over, also that of servers whose clients are not through.
    pub(crate) fn judge_silent(&mut self, now: Nanos, has_clients: bool) {
        // A drain may be shorter than the wait for what is under way.
        if self.dismissed_at.take().is_some() || has_clients || !self.others.is_empty() {
            self.dismissed = Some(0);
        }
        while self.dismissed.is_some() {
            self.dismiss_some(now);
        }
        let mut next = (self.stage == Stage::Ended).then_some(0);
        while let Some(first) = next {
            next = self.see_some(now, first, |roles, now, apps, flow, io| {
                if !follows(roles, io.group()) {
                    apps.judge_silent(now, flow, io);
                }
            });
        }
    }

    /// The entries whose clients are played here, and how many sessions they still have.
    pub(crate) fn clients_left(&self) -> impl Iterator<Item = (usize, u64)> {
        self.openings.iter().map(|opening| (opening.entry, opening.clients.active(&self.apps)))
    }

    /// Gives an outcome to sessions of servers whose clients, of these entries, are all through.
    pub(crate) fn judge_left(&mut self, now: Nanos, through: &[usize]) {
        let mut next = Some(0);
        let others = self.others.clone();
        let is_through = |entry: &usize| through.contains(entry) || others.contains(entry);
        while let Some(first) = next {
            next = self.see_some(now, first, |roles, now, apps, flow, io| {
                let role = roles.get(usize::from(io.group().0)).copied().flatten();
                if role.is_some_and(|role| role.follows && is_through(&role.key.session)) {
                    apps.judge_left(now, flow, io);
                }
            });
        }
    }

    /// Resets some of what is still open, from flow number `next` on; returns from which one on others are left.
    pub(crate) fn reset_some(&mut self, now: Nanos, next: u32) -> Option<u32> {
        self.see_some(now, next, |_, _, _, _, io| io.abort())
    }
}

/// Lets a worker's flows, if it has some, take in frames that were in tunnels; returns a bit for each that is not theirs, the first
/// one's lowest.
fn receive_inside(flows: &mut Option<Flows>, now: Nanos, frames: &[Inside<'_>]) -> u64 {
    flows.as_mut().map_or(u64::MAX, |flows| flows.stack.receive_inside(now, &mut flows.apps, frames))
}

/// The groups of a port that are meant.
fn groups(roles: &[Option<Role>], is_meant: impl Fn(&GroupKey) -> bool) -> impl Iterator<Item = GroupId> {
    let all = (0..).zip(roles).filter_map(|(number, role)| Some((GroupId(number), role.as_ref()?)));
    all.filter(move |(_, role)| is_meant(&role.key)).map(|(group, _)| group)
}

fn follows(roles: &[Option<Role>], group: GroupId) -> bool {
    roles[usize::from(group.0)].is_some_and(|role| role.follows)
}

impl Opening {
    /// Opens session `number`: from the first pair that is not in use, or it has failed.
    #[inline]
    fn open(
        &mut self,
        now: Nanos,
        number: u64,
        stack: &mut Stack<Apps>,
        apps: &mut Apps,
        share: (usize, usize),
    ) {
        let alternative = apps.alternative(self.entry, now);
        let (mut group, mut tuple) = self.place(number, alternative, share);
        for _ in 0..=TRIES {
            let Some(pair) = tuple else { break };
            let flow = apps.start(now, group, number);
            let (ends, hop) = ((pair.client, pair.server), self.hop(pair.host, pair.server.ip()));
            let transport = apps.carrier(group).into();
            match stack.connect(now, apps, group, transport, ends, hop, flow) {
                Ok(_) => return,
                Err(error) => {
                    apps.take_back(group);
                    if error != ConnectError::InUse {
                        break;
                    }
                    (group, tuple) = self.place(number, alternative, share);
                }
            }
        }
        apps.start(now, group, number);
        apps.not_opened(group);
    }

    /// Opens another flow for a session, between the same two addresses; or the session has failed.
    fn reopen(
        &self,
        now: Nanos,
        (step, host): (Move, usize),
        (local, remote): (SocketAddr, SocketAddr),
        flow: &Flow,
        stack: &mut Stack<Apps>,
        apps: &mut Apps,
        share: (usize, usize),
    ) {
        if self.connect_beside(now, (step, host), (local, remote), flow, stack, apps, share).is_none() {
            apps.not_reopened(step.group, flow.clone());
        }
    }

    /// Opens a flow between the same two addresses as another one; none if no port is free.
    fn connect_beside(
        &self,
        now: Nanos,
        (step, host): (Move, usize),
        (local, remote): (SocketAddr, SocketAddr),
        flow: &Flow,
        stack: &mut Stack<Apps>,
        apps: &mut Apps,
        (worker, workers): (usize, usize),
    ) -> Option<FlowId> {
        let hop = self.hop(host, remote.ip());
        // Other sessions have the next ports. Those that several connections of a session take this way, one after the other, are far apart.
        let all = || self.clients.ports_from(local.port());
        // A session of DNS that comes back from TCP takes its own port again.
        let has_connections = step.to == Carrier::Tcp || apps.is_secured(step.group);
        let is_anew = !step.stays && has_connections && step.to == apps.carrier(step.group);
        let apart = if is_anew { all().size_hint().0 * 618 / 1_000 } else { 0 };
        let nearest = (!step.stays).then(|| all().skip(apart).chain(all().take(apart)));
        let furthest = step.stays.then(|| self.clients.ports_beyond(local.port()));
        let ports = nearest.into_iter().flatten().chain(furthest.into_iter().flatten());
        let places = ports.map(|port| SocketAddr::new(local.ip(), port));
        let own = places.filter(|local| workers == 1 || tcp::owner(*local, remote, workers) == worker);
        for local in own.take(TRIES) {
            match stack.connect(now, apps, step.group, step.to.into(), (local, remote), hop, flow.clone()) {
                Ok(other) => return Some(other),
                Err(ConnectError::InUse) => {}
                Err(_) => break,
            }
        }
        None
    }

    /// Which group session `number` belongs to, and where it goes.
    #[inline]
    fn place(
        &mut self,
        number: u64,
        alternative: Option<u16>,
        (worker, workers): (usize, usize),
    ) -> (GroupId, Option<session::Tuple>) {
        self.clients.place(number, alternative, |tuple| {
            workers == 1 || tcp::owner(tuple.client, tuple.server, workers) == worker
        })
    }

    #[inline]
    fn hop(&self, host: usize, server: IpAddr) -> Option<[u8; 6]> {
        let hops = self.hops.get(host).filter(|hops| !hops.is_empty())?;
        hops.iter().find(|(servers, _)| servers.contains(&server)).map(|(_, mac)| *mac)
    }
}
