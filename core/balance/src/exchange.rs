//! The hosts of both sides, the sessions of a script, and the changes of a backend.

use crate::backends::{BackendCounts, Backends};
use crate::clients::{ClientFlow, Clients, Ending, SessionRecord};
use crate::message::Speech;
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use tcp::{FlowId, GroupConfig, GroupId, Sink, Stack, TimeWait, Transport};
use units::Nanos;

/// Sessions opened in one turn: frames that come in are not kept waiting.
const OPEN_AT_ONCE: u64 = 32;
/// Ports tried for a session before it fails.
const TRIES: u32 = 64;
/// Wait for backends to see that the sessions of an exchange have ended.
const LINGER: Nanos = Nanos::from_secs(2);
const SECOND: u64 = 1_000_000_000;

/// A client's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client {
    /// The address.
    pub address: IpAddr,
    /// Number of its group in [`Setup::groups`].
    pub group: u16,
}

/// A backend.
#[derive(Debug, Clone)]
pub struct Backend {
    /// Its address.
    pub address: IpAddr,
    /// Ports it serves.
    pub ports: RangeInclusive<u16>,
    /// Options of its flows.
    pub config: GroupConfig,
}

/// Both sides of a balancer.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Clients; at least one.
    pub clients: Vec<Client>,
    /// Options of their flows, by group.
    pub groups: Vec<GroupConfig>,
    /// Ports they open from.
    pub ports: RangeInclusive<u16>,
    /// The balancer's address and port.
    pub to: SocketAddr,
    /// Carrier of sessions.
    pub transport: Transport,
    /// Requests.
    pub speech: Speech,
    /// Backends, at most 65,535.
    pub backends: Vec<Backend>,
    /// Time for which backends are there before the first session.
    pub warm_up: Nanos,
    /// Wait for a connection, and for a response.
    pub timeout: Nanos,
    /// Seed of all chance.
    pub seed: u64,
}

/// Common property of the sessions of one identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// The client's address; ports differ.
    Source,
    /// The client's address and port.
    Endpoint,
    /// The cookies that the balancer sets; addresses differ where there are several.
    Cookie,
}

/// Short sessions with one request each, repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rounds {
    /// Number of rounds; each begins when all sessions of the one before have ended.
    pub rounds: u32,
    /// Sessions of a round: identities.
    pub sessions: u64,
    /// Sessions opened per second.
    pub rate: u64,
    /// Properties that the sessions of an identity have in common.
    pub identity: Identity,
}

/// Change of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It sends nothing, not even ARP.
    Silent,
    /// Its connections are reset, and new ones refused.
    Reset,
    /// It serves its connections, and refuses new ones.
    Drain,
}

/// Held sessions while a backend goes and comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeScript {
    /// Held sessions.
    pub sessions: u64,
    /// Held sessions opened per second.
    pub rate: u64,
    /// From a response to the next request of a held session.
    pub interval: Nanos,
    /// Short sessions opened per second, of each client in turn, once all sessions are held.
    pub probe_rate: u64,
    /// The change.
    pub change: Change,
    /// Number of the backend.
    pub backend: u16,
    /// From the first short session to the change.
    pub before: Nanos,
    /// From the change to its end.
    pub down: Nanos,
    /// From the end of the change to the end of the exchange.
    pub after: Nanos,
}

/// Sessions and changes of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    /// Short sessions.
    Rounds(Rounds),
    /// Held sessions and a change.
    Change(ChangeScript),
}

/// Instants of a change, and counts at them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeTimes {
    /// When the backend changed.
    pub changed: Option<Nanos>,
    /// When it was as before.
    pub returned: Option<Nanos>,
    /// Sessions that each backend had open when it changed, by the backends' own count.
    pub open: Vec<u64>,
    /// Connections and datagrams to the backend that were refused or got no reply.
    pub contacts: u64,
    /// When the last of them arrived.
    pub last_contact: Option<Nanos>,
}

/// Condition of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    Up,
    Changed(Change),
}

/// A backend at work.
#[derive(Debug)]
struct Host {
    live: Stack<Backends>,
    /// Refuses what is for it while it takes nothing.
    refuser: Stack<Backends>,
    condition: Condition,
}

/// Progress of the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Before the first turn.
    New,
    /// Backends are there, and no sessions.
    WarmUp {
        begun: Nanos,
    },
    Round {
        number: u32,
        begun: Nanos,
    },
    Filling {
        begun: Nanos,
    },
    Watching {
        begun: Nanos,
    },
    Closing {
        begun: Nanos,
    },
    Over,
}

/// Clients and backends of one script.
#[derive(Debug)]
pub struct Exchange {
    setup: Setup,
    script: Script,
    stage: Stage,
    /// Sessions opened in this stage.
    opened: u64,
    /// Identities, or clients, in the order of this round.
    order: Vec<u32>,
    clients: Clients,
    stack: Stack<Clients>,
    apps: Backends,
    hosts: Vec<Host>,
    numbers: HashMap<IpAddr, usize>,
    /// Sessions of each client so far: its next port.
    turns: Vec<u32>,
    /// Sessions that are not established yet, in the order of opening.
    connecting: VecDeque<(Nanos, FlowId, usize)>,
    times: ChangeTimes,
}

/// Takes frames nowhere.
struct Void(Vec<u8>);

impl Sink for Void {
    fn frame(&mut self, len: usize) -> Option<&mut [u8]> {
        self.0.resize(len, 0);
        Some(&mut self.0)
    }
}

impl Exchange {
    /// An exchange at its beginning.
    pub fn new(setup: Setup, script: Script) -> Self {
        let (interval, held) = match &script {
            Script::Rounds(_) => (Nanos::ZERO, 0),
            Script::Change(change) => (change.interval, change.sessions),
        };
        let identity = match &script {
            Script::Rounds(rounds) => Some(rounds.identity),
            Script::Change(_) => None,
        };
        let expected = usize::try_from(held).unwrap_or(usize::MAX).clamp(1_024, 4_000_000);
        let mut groups = setup.groups.clone();
        if identity == Some(Identity::Endpoint) {
            // The same ports are needed in the next round.
            groups.iter_mut().for_each(|group| group.tcp.time_wait = TimeWait::Skip);
        }
        let mut stack = Stack::new(random::word(setup.seed, 1), expected, groups);
        for client in &setup.clients {
            stack.owns(GroupId(client.group), client.address..=client.address);
        }
        let host = |(number, backend): (usize, &Backend)| {
            let made = |turn: u64| {
                let seed = random::word(setup.seed, turn + number as u64);
                let mut stack =
                    Stack::new(seed, expected / setup.backends.len(), vec![backend.config.clone()]);
                stack.owns(GroupId(0), backend.address..=backend.address);
                stack
            };
            let (mut live, refuser) = (made(1 << 20), made(2 << 20));
            let address = backend.address..=backend.address;
            live.listen(GroupId(0), setup.transport, address, backend.ports.clone());
            Host { live, refuser, condition: Condition::Up }
        };
        Self {
            stage: Stage::New,
            opened: 0,
            order: Vec::new(),
            clients: Clients {
                sessions: Vec::new(),
                ended: 0,
                settled: 0,
                speech: setup.speech.clone(),
                jars: Vec::new(),
                keeps_cookies: identity == Some(Identity::Cookie),
                interval,
                timeout: setup.timeout,
            },
            stack,
            apps: Backends { current: 0, counts: vec![BackendCounts::default(); setup.backends.len()] },
            hosts: setup.backends.iter().enumerate().map(host).collect(),
            numbers: setup.backends.iter().zip(0..).map(|(backend, n)| (backend.address, n)).collect(),
            turns: vec![0; setup.clients.len()],
            connecting: VecDeque::new(),
            times: ChangeTimes::default(),
            setup,
            script,
        }
    }

    /// Takes a frame in. `unfinished`: the port reports that its checksum was left to a card. Returns whether it was for
    /// the exchange, or must get no reply.
    pub fn receive(&mut self, now: Nanos, frame: &[u8], unfinished: bool) -> bool {
        let Some(seen) = Destination::of(frame) else { return false };
        let Some(number) = self.numbers.get(&seen.address).copied() else {
            return self.stack.receive_told(now, &mut self.clients, &[frame], unfinished.into()) == 0;
        };
        self.apps.current = number as u16;
        let host = &mut self.hosts[number];
        let is_new = seen.is_new || self.setup.transport == Transport::Udp && seen.is_packet;
        let stack = match host.condition {
            Condition::Up => &mut host.live,
            Condition::Changed(change) => {
                if is_new {
                    self.times.contacts += 1;
                    self.times.last_contact = Some(now);
                }
                match change {
                    Change::Silent => return true,
                    Change::Drain if !is_new => &mut host.live,
                    Change::Reset | Change::Drain => &mut host.refuser,
                }
            }
        };
        stack.receive_told(now, &mut self.apps, &[frame], unfinished.into()) == 0
    }

    /// Opens, times, changes and ends what is due.
    pub fn turn(&mut self, now: Nanos) {
        self.progress(now);
        while self.connecting.front().is_some_and(|(deadline, ..)| *deadline <= now) {
            let Some((_, flow, session)) = self.connecting.pop_front() else { break };
            let record = &self.clients.sessions[session];
            if record.sent > 0 || record.ended.is_some() {
                continue;
            }
            self.stack.with(now, &mut self.clients, flow, |clients, own, io| {
                if own.session() == Some(session) {
                    clients.end(session, now, Ending::Silent);
                    io.abort();
                }
            });
        }
        if self.stack.next_due() <= now {
            self.stack.turn(now, &mut self.clients);
        }
        for (number, host) in (0..).zip(&mut self.hosts) {
            if host.live.next_due() <= now {
                self.apps.current = number;
                host.live.turn(now, &mut self.apps);
            }
        }
    }

    /// Writes frames of the clients into `sink`; returns whether some are left.
    pub fn transmit_clients(&mut self, now: Nanos, sink: &mut impl Sink) -> bool {
        self.stack.owes() && self.stack.transmit(now, &mut self.clients, sink)
    }

    /// Writes frames of the backends into `sink`; returns whether some are left.
    pub fn transmit_backends(&mut self, now: Nanos, sink: &mut impl Sink) -> bool {
        let mut is_left = false;
        for (number, host) in (0..).zip(&mut self.hosts) {
            self.apps.current = number;
            if host.live.owes() {
                is_left |= match host.condition {
                    Condition::Changed(Change::Silent) => {
                        host.live.transmit(now, &mut self.apps, &mut Void(Vec::new()))
                    }
                    _ => host.live.transmit(now, &mut self.apps, sink),
                };
            }
            if host.refuser.owes() {
                is_left |= host.refuser.transmit(now, &mut self.apps, sink);
            }
        }
        is_left
    }

    /// When [`turn`](Self::turn) has something to do next, as far as is known.
    pub fn next_due(&self) -> Nanos {
        let own = match (self.stage, &self.script) {
            (Stage::New, _) => Nanos::ZERO,
            (Stage::WarmUp { begun }, _) => begun + self.setup.warm_up,
            (Stage::Round { begun, .. }, Script::Rounds(rounds)) if self.opened < rounds.sessions => {
                due(begun, self.opened, rounds.rate)
            }
            (Stage::Filling { begun }, Script::Change(change)) if self.opened < change.sessions => {
                due(begun, self.opened, change.rate)
            }
            (Stage::Watching { begun }, Script::Change(change)) => {
                let [changed, returned, over] = change.instants(begun);
                let step = match (self.times.changed, self.times.returned) {
                    (None, _) => changed,
                    (_, None) => returned,
                    _ => over,
                };
                step.min(due(begun, self.opened, change.probe_rate))
            }
            (Stage::Closing { begun }, _) => begun + LINGER,
            (Stage::Over, _) => Nanos::MAX,
            // The last session's end decides.
            _ => Nanos::MAX,
        };
        let hosts = self.hosts.iter().map(|host| host.live.next_due());
        let connecting = self.connecting.front().map(|(deadline, ..)| *deadline);
        hosts.chain(connecting).fold(own.min(self.stack.next_due()), Nanos::min)
    }

    /// Whether the script is over.
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Ends the script early.
    pub fn stop(&mut self, now: Nanos) {
        if !matches!(self.stage, Stage::Closing { .. } | Stage::Over) {
            self.close(now);
        }
    }

    /// All sessions, in the order of opening.
    pub fn sessions(&self) -> &[SessionRecord] {
        &self.clients.sessions
    }

    /// Counts of each backend.
    pub fn backends(&self) -> &[BackendCounts] {
        &self.apps.counts
    }

    /// Instants of the change.
    pub fn times(&self) -> &ChangeTimes {
        &self.times
    }

    /// Held sessions and sessions of the script that are open.
    pub fn open(&self) -> usize {
        self.clients.sessions.len() - self.clients.ended
    }

    fn progress(&mut self, now: Nanos) {
        match (self.stage, self.script) {
            (Stage::New, _) => self.stage = Stage::WarmUp { begun: now },
            (Stage::WarmUp { begun }, _) if now < begun + self.setup.warm_up => {}
            (Stage::WarmUp { .. }, Script::Rounds(rounds)) => {
                self.order = (0..u32::try_from(rounds.sessions).unwrap_or(u32::MAX)).collect();
                self.stage = Stage::Round { number: 0, begun: now };
            }
            (Stage::WarmUp { .. }, Script::Change(_)) => {
                self.order = (0..self.setup.clients.len() as u32).collect();
                self.stage = Stage::Filling { begun: now };
            }
            (Stage::Round { number, begun }, Script::Rounds(rounds)) => {
                self.open_due(now, begun, rounds.rate, rounds.sessions, |own, n| {
                    own.open_of_round(now, number, n, rounds);
                });
                // The same ports are free once both ends have closed.
                let are_free = rounds.identity != Identity::Endpoint || self.stack.flows() == 0;
                let is_whole = self.opened >= rounds.sessions && self.open() == 0 && are_free;
                if is_whole && number + 1 >= rounds.rounds {
                    self.close(now);
                } else if is_whole {
                    self.opened = 0;
                    self.shuffle(number.into());
                    self.stage = Stage::Round { number: number + 1, begun: now };
                }
            }
            (Stage::Filling { begun }, Script::Change(change)) => {
                self.open_due(now, begun, change.rate, change.sessions, |own, n| {
                    let client = own.next_client(n);
                    own.open_session(now, client, None, n as u32, 0, true);
                });
                if self.opened >= change.sessions && self.clients.settled >= self.clients.sessions.len() {
                    self.opened = 0;
                    self.stage = Stage::Watching { begun: now };
                }
            }
            (Stage::Watching { begun }, Script::Change(change)) => self.watch(now, begun, &change),
            (Stage::Closing { begun }, _) => {
                let is_seen = self.apps.counts.iter().all(|counts| counts.open == 0);
                if is_seen && self.open() == 0 || now >= begun + LINGER {
                    self.stage = Stage::Over;
                }
            }
            _ => {}
        }
    }

    fn watch(&mut self, now: Nanos, begun: Nanos, change: &ChangeScript) {
        let [changed, returned, over] = change.instants(begun);
        if now >= over && self.times.returned.is_some() {
            self.close(now);
            return;
        }
        if now >= changed && self.times.changed.is_none() {
            self.times.open = self.apps.counts.iter().map(|counts| counts.open).collect();
            self.times.changed = Some(now);
            for session in self.clients.sessions.iter_mut().filter(|session| session.ended.is_none()) {
                session.at_change = session.last.map(|(backend, _)| backend);
            }
            self.begin(now, change);
        }
        if now >= returned && self.times.returned.is_none() {
            self.times.returned = Some(now);
            self.hosts[usize::from(change.backend)].condition = Condition::Up;
        }
        let round = match (self.times.changed, self.times.returned) {
            (None, _) => 0,
            (_, None) => 1,
            _ => 2,
        };
        self.open_due(now, begun, change.probe_rate, u64::MAX, |own, n| {
            let client = own.next_client(n);
            own.open_session(now, client, None, client as u32, round, false);
        });
    }

    /// The backend changes.
    fn begin(&mut self, now: Nanos, change: &ChangeScript) {
        let host = &mut self.hosts[usize::from(change.backend)];
        host.condition = Condition::Changed(change.change);
        if change.change == Change::Drain {
            return;
        }
        self.apps.current = change.backend;
        let flows: Vec<FlowId> = host.live.flows_from(0).collect();
        for flow in flows {
            host.live.with(now, &mut self.apps, flow, |_, _, io| io.abort());
        }
    }

    /// Ends all sessions.
    fn close(&mut self, now: Nanos) {
        let flows: Vec<FlowId> = self.stack.flows_from(0).collect();
        for flow in flows {
            self.stack.with(now, &mut self.clients, flow, |clients, own, io| {
                if let Some(session) = own.session() {
                    clients.end(session, now, Ending::Stopped);
                }
                io.let_sleep();
                io.close();
            });
        }
        self.connecting.clear();
        self.stage = Stage::Closing { begun: now };
    }

    fn open_due(
        &mut self,
        now: Nanos,
        begun: Nanos,
        rate: u64,
        all: u64,
        mut open: impl FnMut(&mut Self, u64),
    ) {
        for _ in 0..OPEN_AT_ONCE {
            if self.opened >= all || due(begun, self.opened, rate) > now {
                return;
            }
            let number = self.opened;
            self.opened += 1;
            open(self, number);
        }
    }

    /// The client of session `n`: each in turn, in another order each time.
    fn next_client(&mut self, n: u64) -> usize {
        let place = (n % self.order.len() as u64) as usize;
        if place == 0 {
            // Held sessions and others count anew.
            self.shuffle(self.clients.sessions.len() as u64);
        }
        self.order[place] as usize
    }

    /// Brings identities or clients into another order: in the same, a balancer that takes turns would look sticky.
    fn shuffle(&mut self, turn: u64) {
        let key = random::word(random::word(self.setup.seed, 3), turn);
        for place in (1..self.order.len()).rev() {
            let other = random::below(random::word(key, place as u64), place as u64 + 1);
            self.order.swap(place, other as usize);
        }
    }

    fn open_of_round(&mut self, now: Nanos, round: u32, number: u64, rounds: Rounds) {
        let (clients, identity) = (self.setup.clients.len(), self.order[number as usize] as usize);
        let (client, turn) = match rounds.identity {
            Identity::Source => (identity % clients, None),
            Identity::Endpoint => (identity % clients, Some((identity / clients) as u32)),
            Identity::Cookie => ((identity + round as usize) % clients, None),
        };
        self.open_session(now, client, turn, identity as u32, round, false);
    }

    /// Opens a session from the client's port number `turn`, or its next one that is free.
    fn open_session(
        &mut self,
        now: Nanos,
        client: usize,
        turn: Option<u32>,
        identity: u32,
        round: u32,
        is_held: bool,
    ) {
        let session = self.clients.sessions.len();
        self.clients.sessions.push(SessionRecord {
            client: client as u32,
            identity,
            round,
            is_held,
            opened: now,
            first: None,
            first_at: None,
            at_change: None,
            last: None,
            moved: 0,
            moved_later: 0,
            sent: 0,
            answered: 0,
            ended: None,
        });
        let Client { address, group } = self.setup.clients[client];
        let ports = &self.setup.ports;
        let count = u32::from(ports.end() - ports.start()) + 1;
        for _ in 0..TRIES {
            let place = turn.unwrap_or(self.turns[client]);
            self.turns[client] = self.turns[client].wrapping_add(1);
            let local = SocketAddr::new(address, ports.start() + (place % count) as u16);
            let (group, ends, flow) = (GroupId(group), (local, self.setup.to), ClientFlow::of(session));
            let transport = self.setup.transport;
            match self.stack.connect(now, &mut self.clients, group, transport, ends, None, flow) {
                Ok(flow) => {
                    self.connecting.push_back((now + self.setup.timeout, flow, session));
                    return;
                }
                Err(tcp::ConnectError::InUse) if turn.is_none() => {}
                Err(_) => break,
            }
        }
        self.clients.end(session, now, Ending::Unopened);
    }
}

impl ChangeScript {
    /// When the backend changes, when it is as before, and when the script ends.
    fn instants(&self, begun: Nanos) -> [Nanos; 3] {
        let changed = begun + self.before;
        let returned = changed + self.down;
        [changed, returned, returned + self.after]
    }
}

/// When number `n` of a rate is due.
fn due(begun: Nanos, n: u64, rate: u64) -> Nanos {
    let ns = u128::from(n) * u128::from(SECOND) / u128::from(rate.max(1));
    begun.saturating_add(Nanos(u64::try_from(ns).unwrap_or(u64::MAX)))
}

/// Destination of a frame: of a packet, or the address that ARP or neighbour discovery resolves.
#[derive(Debug, PartialEq, Eq)]
struct Destination {
    address: IpAddr,
    /// Whether it is an IP packet, no request for an address.
    is_packet: bool,
    /// Whether it opens a TCP connection.
    is_new: bool,
}

impl Destination {
    fn of(frame: &[u8]) -> Option<Self> {
        let two = |at: usize| Some(u16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?));
        let v4 = |at: usize| {
            let bytes: [u8; 4] = frame.get(at..at + 4)?.try_into().ok()?;
            Some(IpAddr::V4(Ipv4Addr::from(bytes)))
        };
        let v6 = |at: usize| {
            let bytes: [u8; 16] = frame.get(at..at + 16)?.try_into().ok()?;
            Some(IpAddr::V6(Ipv6Addr::from(bytes)))
        };
        let mut at = 12;
        while matches!(two(at)?, 0x8100 | 0x88a8) {
            at += 4;
        }
        let ip = at + 2;
        let syn = |tcp: usize| frame.get(tcp + 13).is_some_and(|flags| flags & 0x12 == 0x02);
        match two(at)? {
            0x0806 => Some(Self { address: v4(ip + 24)?, is_packet: false, is_new: false }),
            0x0800 => {
                let header = usize::from(frame.get(ip)? & 0xf) * 4;
                let is_new = frame.get(ip + 9) == Some(&6) && syn(ip + header);
                Some(Self { address: v4(ip + 16)?, is_packet: true, is_new })
            }
            0x86dd => {
                let next = *frame.get(ip + 6)?;
                if next == 58 && frame.get(ip + 40) == Some(&135) {
                    return Some(Self { address: v6(ip + 48)?, is_packet: false, is_new: false });
                }
                Some(Self { address: v6(ip + 24)?, is_packet: true, is_new: next == 6 && syn(ip + 40) })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
