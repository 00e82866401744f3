//! All PPPoE clients of a port: who begins when, what is due for whom, whom a frame is for, and what becomes of a session.

mod authenticate;
mod discover;
mod link;

use super::client::{Client, Layer, PppoeFailure, PppoeMethod, PppoeTally, State};
use super::negotiation::{REQUESTS_MAX, Step};
use super::packet::{Control, code, protocol};
use crate::ClientVlans;
use crate::frame::{Link, Mac, Packet, Received};
use crate::timing::back_off;
use histogram::Timing;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use units::Nanos;

/// Clients that act in one call, so that neither a queue nor a peer has more than it can take.
const AT_ONCE: usize = 64;
/// Longest payload of PPPoE unless both ends agree on more (RFC 2516 section 7, RFC 4638).
pub(super) const PAYLOAD_MAX: u16 = 1_492;
/// Time until a termination without a reply is repeated, and the number of attempts.
const TERMINATE_AFTER: Nanos = Nanos::from_secs(1);
const TERMINATES_MAX: u8 = 2;
/// Time until a client that would begin anew looks again whether there is room.
const NO_ROOM: Nanos = Nanos::from_millis(100);
/// Characters of a peer's message that are kept.
const MESSAGE_MAX: usize = 120;

/// Settings of a port's clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PppoeConfig {
    /// Number of clients.
    pub clients: u32,
    /// Hardware address of the first; each other has the next.
    pub mac: Mac,
    /// VLANs they are in, outermost first.
    pub vlans: ClientVlans,
    /// Clients that begin in a second, and that end their sessions at the end; at least 1.
    pub rate: u32,
    /// Clients that are on their way at a time, at most; at least 1.
    pub outstanding: u32,
    /// Time until the first repetition of a message. In discovery it doubles each time; in PPP it stays (RFC 1661 section 4.6: 3 s).
    pub retry: Nanos,
    /// Requested service; empty is any.
    pub service: String,
    /// The access concentrator to use; `None` is the first that replies.
    pub ac: Option<String>,
    /// User's name; `{n}` stands for the client's number, from 0, `{outer}` and `{inner}` for its VLANs.
    pub user: String,
    /// Password, `{n}` as above.
    pub password: String,
    /// Methods it proves who it is by, the best first.
    pub methods: Vec<PppoeMethod>,
    /// Longest PPP payload it takes, bytes. More than 1,492 needs an access concentrator with RFC 4638.
    pub mtu: u16,
    /// Whether it requests addresses of name servers (RFC 1877).
    pub dns: bool,
    /// Whether it requests an IPv6 interface identifier.
    pub ipv6: bool,
    /// From one echo request to the next; `None` is never.
    pub keepalive: Option<Nanos>,
    /// Number of echo requests without a reply after which the session is ended.
    pub keepalive_misses: u8,
    /// Circuit identifier that an access node adds to discovery (TR-101 section 3.9.1), `{n}` as above.
    pub circuit_id: Option<String>,
    /// The same.
    pub remote_id: Option<String>,
    /// For identifiers, magic numbers and the spread of repetitions.
    pub seed: u64,
}

/// Messages sent and received by all clients of a port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PppoeCounts {
    /// PADI sent, repetitions among them.
    pub initiations: u64,
    /// PADO received by clients in search of an access concentrator.
    pub offers: u64,
    /// Those of them from another access concentrator, or without the service.
    pub passed_over: u64,
    /// PADR sent, repetitions among them.
    pub requests: u64,
    /// PADS received that began a session.
    pub confirmations: u64,
    /// PADT sent.
    pub terminations_sent: u64,
    /// PADT received for sessions here.
    pub terminations_received: u64,
    /// Discovery and PPP messages retransmitted because no reply arrived.
    pub repeated: u64,
    /// Attempts that ended with an error in discovery.
    pub failed_discovery: u64,
    /// Attempts on which LCP came to no end.
    pub failed_link: u64,
    /// Attempts on which the client was not let in.
    pub failed_authentication: u64,
    /// Attempts on which the client got no address.
    pub failed_network: u64,
    /// Attempts that the access concentrator ended.
    pub failed_ended: u64,
    /// Sessions that came up.
    pub sessions: u64,
    /// Sessions that the access concentrator ended.
    pub lost_ended: u64,
    /// Sessions ended because echo requests had no reply.
    pub lost_silent: u64,
    /// Sessions that broke in a new negotiation of an open link.
    pub lost_other: u64,
    /// LCP's Echo-Requests sent.
    pub echo_requests: u64,
    /// Answers to them.
    pub echo_replies: u64,
    /// Echo-Requests of the peer that clients replied to.
    pub echoes_answered: u64,
    /// Packets of protocols, or with codes, that are not known here; they were rejected.
    pub rejected: u64,
    /// Addresses that another client here had.
    pub conflicts: u64,
    /// Time from a client's first PADI to its session with everything it requested.
    pub setup: Timing,
    /// From the first PADI of an attempt to its PADS.
    pub discovery: Timing,
    /// From there until LCP was open.
    pub link: Timing,
    /// Time from there until the client was accepted; not recorded without authentication.
    pub authentication: Timing,
    /// From there until it had its address.
    pub network: Timing,
}

/// A client's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PppoeSession {
    /// The client's number, from 0.
    pub client: u32,
    /// The client's hardware address.
    pub mac: Mac,
    /// The access concentrator's.
    pub ac: Mac,
    /// Its number.
    pub session: u16,
    /// The client's address.
    pub ip: Ipv4Addr,
    /// The peer's address; unspecified if not announced.
    pub peer: Ipv4Addr,
    /// Name servers; unspecified where there is none.
    pub dns: [Ipv4Addr; 2],
    /// The client's interface identifier (RFC 5072), if there is one.
    pub interface: Option<u64>,
    /// Longest PPP payload the peer takes, bytes.
    pub peer_mru: u16,
    /// When it came up.
    pub since: Nanos,
}

/// Phase of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PppoePhase {
    /// It has not begun.
    Waiting,
    /// Looks for an access concentrator, or has requested a session from one.
    Discovery,
    /// LCP.
    Link,
    /// PAP or CHAP.
    Authentication,
    /// IPCP and IPV6CP.
    Network,
    /// It has its address.
    Up,
    /// It ends its session.
    Terminating,
    /// Its attempt failed, or its session was lost; it tries again.
    Pausing,
    /// Has no session, and requests none.
    Down,
}

/// Current state of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PppoeView {
    /// Its number, from 0.
    pub client: u32,
    /// Its hardware address.
    pub mac: Mac,
    /// Phase.
    pub phase: PppoePhase,
    /// Its session; `None` if it is not up.
    pub session: Option<PppoeSession>,
    /// Why its last attempt failed or its last session ended, if one did.
    pub failure: Option<PppoeFailure>,
    /// Its counters so far.
    pub tally: PppoeTally,
}

/// Phase of the clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// They begin.
    Active,
    /// They keep what they have; those without have given up.
    Keeping,
    /// They end their sessions; the next to do so.
    Releasing(u32),
}

/// PPPoE clients of a port.
#[derive(Debug)]
pub struct PppoeClients {
    config: PppoeConfig,
    clients: Vec<Client>,
    /// When each client that has something to do has it.
    timers: BTreeSet<(Nanos, u32)>,
    /// Holder of each address.
    holders: BTreeMap<Ipv4Addr, u32>,
    /// Answers that have not been taken.
    outbox: Vec<Vec<u8>>,
    counts: PppoeCounts,
    phase: Phase,
    /// Clients that have begun.
    begun: u32,
    /// When the next may begin, or end its session.
    next_turn: Nanos,
    outstanding: u32,
    up: u32,
    key: u64,
    words: u64,
    first_sent: Option<Nanos>,
    last_up: Option<Nanos>,
    message: Option<String>,
}

impl PppoeClients {
    /// Clients that have not begun.
    pub fn new(config: PppoeConfig) -> Self {
        Self {
            clients: vec![Client::new(); config.clients as usize],
            timers: BTreeSet::new(),
            holders: BTreeMap::new(),
            outbox: Vec::new(),
            counts: PppoeCounts::default(),
            phase: Phase::Active,
            begun: 0,
            next_turn: Nanos::ZERO,
            outstanding: 0,
            up: 0,
            key: random::key(config.seed),
            words: 0,
            first_sent: None,
            last_up: None,
            message: None,
            config,
        }
    }

    /// Adds the frames that are due: replies, and messages of clients.
    pub fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        for _ in 0..AT_ONCE {
            if self.next_turn > now || !self.take_turn(now) {
                break;
            }
            // What was late is made up for by one call's messages at most.
            let gap = 1_000_000_000 / u64::from(self.config.rate.max(1));
            let earliest = Nanos(now.0.saturating_sub(gap.saturating_mul(AT_ONCE as u64)));
            self.next_turn = self.next_turn.max(earliest).saturating_add(Nanos(gap));
        }
        for _ in 0..AT_ONCE {
            let Some((_, index)) = self.timers.first().copied().filter(|(due, _)| *due <= now) else {
                break;
            };
            self.act(now, index);
        }
        frames.append(&mut self.outbox);
    }

    /// When there is something to do; [`Nanos::MAX`] if only a frame can bring it.
    pub fn next_due(&self) -> Nanos {
        if !self.outbox.is_empty() {
            return Nanos::ZERO;
        }
        let timer = self.timers.first().map_or(Nanos::MAX, |(due, _)| *due);
        if self.has_turn() { timer.min(self.next_turn) } else { timer }
    }

    /// Looks at a received frame; returns whether it was for a client.
    pub fn take(&mut self, now: Nanos, frame: &[u8]) -> bool {
        let Some(Received { from, vlans, packet: Packet::Pppoe { discovery, pppoe } }) =
            Received::read(frame)
        else {
            return false;
        };
        let to = frame.first_chunk().and_then(|mac| self.number_of(*mac));
        let Some(index) = to.filter(|index| self.config.vlans.are_of(*index, &vlans)) else { return false };
        let is_taken = if discovery {
            self.discover(now, index, from, &pppoe)
        } else {
            let client = &self.clients[index as usize];
            let is_its = client.has_session() && client.session == pppoe.session && client.ac == from;
            is_its && self.hear(now, index, pppoe.payload)
        };
        self.schedule(index);
        is_taken
    }

    /// Whether every client is up.
    pub fn all_up(&self) -> bool {
        self.up == self.config.clients
    }

    /// Clients that are up.
    pub fn up(&self) -> u32 {
        self.up
    }

    /// Clients whose attempts have failed so far and that will try again.
    pub fn pausing(&self) -> u32 {
        self.clients.iter().filter(|client| client.state == State::Pausing).count() as u32
    }

    /// The sessions that are up, by client.
    pub fn sessions(&self) -> impl Iterator<Item = PppoeSession> + '_ {
        (0..self.config.clients).filter_map(|index| self.session(index))
    }

    /// The client that has the address `ip`.
    pub fn session_of(&self, ip: Ipv4Addr) -> Option<PppoeSession> {
        self.holders.get(&ip).and_then(|index| self.session(*index))
    }

    /// Ends all attempts: who is up stays so, the others end what they have begun.
    pub fn give_up(&mut self, now: Nanos) {
        self.phase = Phase::Keeping;
        for index in 0..self.config.clients {
            match self.clients[index as usize].state {
                State::Up | State::Leaving => {}
                State::Linking | State::Authenticating | State::Networking => {
                    self.enter(now, index, State::Leaving, now);
                }
                _ => self.rest(now, index),
            }
            self.schedule(index);
        }
    }

    /// Ends all sessions from now on; done when [`next_due`](Self::next_due) is [`Nanos::MAX`].
    pub fn release(&mut self, now: Nanos) {
        self.give_up(now);
        self.next_turn = now;
        self.phase = Phase::Releasing(0);
    }

    /// Makes clients without a session begin from now on, at their rate. Returns their number.
    pub fn connect_now(&mut self, now: Nanos) -> u64 {
        self.each_in_turn(now, |clients, index, at| {
            let is_down = clients.clients[index as usize].state == State::Over;
            if is_down {
                clients.clients[index as usize].failures = 0;
                clients.enter(now, index, State::Pausing, at);
            }
            is_down
        })
    }

    /// Makes clients that have a session end it from now on, at their rate, and stay without. Returns their number.
    pub fn disconnect_now(&mut self, now: Nanos) -> u64 {
        self.each_in_turn(now, |clients, index, at| {
            let is_up = clients.clients[index as usize].state == State::Up;
            if is_up {
                clients.enter(now, index, State::Leaving, at);
            }
            is_up
        })
    }

    /// Gives clients turns at their rate; returns how many took theirs.
    fn each_in_turn(&mut self, now: Nanos, mut turn: impl FnMut(&mut Self, u32, Nanos) -> bool) -> u64 {
        let gap = 1_000_000_000 / u64::from(self.config.rate.max(1));
        let mut took = 0;
        for index in 0..self.config.clients {
            took += u64::from(turn(self, index, now.saturating_add(Nanos(gap.saturating_mul(took)))));
            self.schedule(index);
        }
        took
    }

    /// Current state of all clients.
    pub fn views(&self) -> impl Iterator<Item = PppoeView> + '_ {
        (0..self.config.clients).map(|index| {
            let client = &self.clients[index as usize];
            PppoeView {
                client: index,
                mac: self.mac_of(index),
                phase: match client.state {
                    State::Waiting => PppoePhase::Waiting,
                    State::Initiating | State::Requesting => PppoePhase::Discovery,
                    State::Linking => PppoePhase::Link,
                    State::Authenticating => PppoePhase::Authentication,
                    State::Networking => PppoePhase::Network,
                    State::Up => PppoePhase::Up,
                    State::Leaving => PppoePhase::Terminating,
                    State::Pausing => PppoePhase::Pausing,
                    State::Over => PppoePhase::Down,
                },
                session: self.session(index),
                failure: client.last_failure,
                tally: client.tally,
            }
        })
    }

    /// Messages sent and received.
    pub fn counts(&self) -> &PppoeCounts {
        &self.counts
    }

    /// Last reason given by an access concentrator, verbatim.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// From the first message of the first client to the last client's first session.
    pub fn set_up_time(&self) -> Option<Nanos> {
        Some(self.last_up?.since(self.first_sent?))
    }

    /// Settings of the clients.
    pub fn config(&self) -> &PppoeConfig {
        &self.config
    }

    /// Name and password of a client.
    pub fn credentials(&self, client: u32) -> (String, String) {
        let text = |text: &String| self.config.vlans.text(text, client);
        (text(&self.config.user), text(&self.config.password))
    }

    fn session(&self, index: u32) -> Option<PppoeSession> {
        let client = &self.clients[index as usize];
        (client.state == State::Up).then(|| PppoeSession {
            client: index,
            mac: self.mac_of(index),
            ac: client.ac,
            session: client.session,
            ip: client.ip,
            peer: client.peer,
            dns: client.dns,
            interface: Some(client.interface).filter(|_| self.config.ipv6 && !client.without_ipv6),
            peer_mru: client.peer_mru,
            since: client.since,
        })
    }

    fn mac_of(&self, index: u32) -> Mac {
        units::Mac::from_number(units::Mac(self.config.mac).number() + u64::from(index)).0
    }

    fn number_of(&self, mac: Mac) -> Option<u32> {
        let number = units::Mac(mac).number().checked_sub(units::Mac(self.config.mac).number())?;
        u32::try_from(number).ok().filter(|number| *number < self.config.clients)
    }

    fn word(&mut self) -> u64 {
        self.words += 1;
        random::word(self.key, self.words)
    }

    /// Whether a client may begin, or end its session, once it is time.
    fn has_turn(&self) -> bool {
        match self.phase {
            Phase::Active => self.begun < self.config.clients && self.outstanding < self.config.outstanding,
            Phase::Keeping => false,
            Phase::Releasing(next) => next < self.config.clients,
        }
    }

    /// The next client begins, or ends its session.
    fn take_turn(&mut self, now: Nanos) -> bool {
        if !self.has_turn() {
            return false;
        }
        let index = if let Phase::Releasing(next) = &mut self.phase {
            let index = *next;
            *next += 1;
            if self.clients[index as usize].state == State::Up {
                self.enter(now, index, State::Leaving, now);
            }
            index
        } else {
            let index = self.begun;
            self.begun += 1;
            if self.first_sent.is_none() {
                (self.first_sent, self.next_turn) = (Some(now), now);
            }
            self.clients[index as usize].since = now;
            self.begin(now, index);
            index
        };
        self.schedule(index);
        true
    }

    /// Makes a client search for an access concentrator.
    fn begin(&mut self, now: Nanos, index: u32) {
        let (uniq, magic) = (self.word() as u32, (self.word() as u32).max(1));
        let client = &mut self.clients[index as usize];
        client.forget();
        (client.uniq, client.magic) = (uniq, magic);
        self.enter(now, index, State::Initiating, now);
    }

    /// Changes a client's state, and when it has something to do in it.
    fn enter(&mut self, now: Nanos, index: u32, state: State, timer: Nanos) {
        let client = &mut self.clients[index as usize];
        let (was_outstanding, was_up) = (client.is_outstanding(), client.state == State::Up);
        if client.state != state {
            (client.sent, client.entered) = (0, now);
        }
        (client.state, client.timer) = (state, timer);
        if was_up && state != State::Up && self.holders.get(&client.ip) == Some(&index) {
            self.holders.remove(&client.ip);
        }
        self.outstanding += u32::from(client.is_outstanding());
        self.outstanding -= u32::from(was_outstanding);
        self.up += u32::from(state == State::Up);
        self.up -= u32::from(was_up);
    }

    /// Notes when there is something to do for a client.
    fn schedule(&mut self, index: u32) {
        let client = &mut self.clients[index as usize];
        let due = client.next_due();
        if due != client.due {
            self.timers.remove(&(client.due, index));
            client.due = due;
            if due < Nanos::MAX {
                self.timers.insert((due, index));
            }
        }
    }

    /// Does what is due for a client.
    fn act(&mut self, now: Nanos, index: u32) {
        let client = &mut self.clients[index as usize];
        if client.timer <= now {
            client.timer = Nanos::MAX;
            match client.state {
                State::Waiting | State::Over => {}
                State::Linking => self.fail(now, index, PppoeFailure::Link),
                State::Networking if client.layers[Layer::Ipcp as usize].step == Step::Opened => {
                    // All that it waits for is a peer that does not reply to IPV6CP.
                    self.go_without_ipv6(now, index);
                }
                State::Networking => self.fail(now, index, PppoeFailure::Network),
                State::Initiating | State::Requesting => self.ask_for_session(now, index),
                State::Authenticating => self.authenticate(now, index),
                State::Up => self.keep_alive(now, index),
                State::Leaving => self.leave(now, index),
                State::Pausing if self.outstanding < self.config.outstanding => {
                    if client.failures == 0 {
                        client.since = now;
                    }
                    self.begin(now, index);
                }
                State::Pausing => client.timer = now.saturating_add(NO_ROOM),
            }
        }
        for layer in Layer::ALL {
            let one = self.clients[index as usize].layer(layer);
            if one.due <= now {
                let effects = one.late();
                self.follow(now, index, layer, effects);
            }
        }
        self.schedule(index);
    }

    /// Time until a message that was sent `sent` times is repeated in discovery.
    fn patience(&mut self, sent: u8) -> Nanos {
        let word = self.word();
        back_off(self.config.retry, sent, word)
    }

    /// When ends that still do not agree never will: each waits for the other, or insists.
    fn deadline(&self, now: Nanos) -> Nanos {
        now.saturating_add(Nanos(self.config.retry.0.saturating_mul(REQUESTS_MAX.into())))
    }

    /// A client terminates its session, until the peer agrees or does not reply.
    fn leave(&mut self, now: Nanos, index: u32) {
        let client = &mut self.clients[index as usize];
        client.layers.iter_mut().for_each(|layer| layer.stop());
        if client.sent >= TERMINATES_MAX {
            self.close(now, index);
            return;
        }
        self.counts.repeated += u64::from(client.sent > 0);
        client.sent += 1;
        client.id = client.id.wrapping_add(1);
        client.timer = now.saturating_add(TERMINATE_AFTER);
        let id = client.id;
        self.say(index, protocol::LCP, Control { code: code::TERMINATE_REQUEST, id, data: &[] });
    }

    /// Ends a session and leaves the client without one.
    fn close(&mut self, now: Nanos, index: u32) {
        if self.clients[index as usize].has_session() {
            self.terminate(index);
        }
        self.rest(now, index);
    }

    /// Leaves a client without a session.
    fn rest(&mut self, now: Nanos, index: u32) {
        self.enter(now, index, State::Over, Nanos::MAX);
        self.clients[index as usize].forget();
    }

    /// Ends an attempt, or a session that was up, and lets the client try again if it may.
    fn fail(&mut self, now: Nanos, index: u32, why: PppoeFailure) {
        let client = &mut self.clients[index as usize];
        let was_up = client.was_up;
        client.last_failure = Some(why);
        let counts = &mut self.counts;
        if client.state == State::Leaving {
            self.rest(now, index);
            return;
        }
        let count = match (was_up, why) {
            (true, PppoeFailure::Ended) => &mut counts.lost_ended,
            (true, PppoeFailure::Silent) => &mut counts.lost_silent,
            (true, _) => &mut counts.lost_other,
            (false, PppoeFailure::Discovery) => &mut counts.failed_discovery,
            (false, PppoeFailure::Link) => &mut counts.failed_link,
            (false, PppoeFailure::Authentication) => &mut counts.failed_authentication,
            (false, PppoeFailure::Network) => &mut counts.failed_network,
            (false, PppoeFailure::Ended | PppoeFailure::Silent) => &mut counts.failed_ended,
        };
        *count += 1;
        client.tally.lost += u32::from(was_up);
        client.tally.failed += u32::from(!was_up);
        client.failures = if was_up { 0 } else { client.failures.saturating_add(1) };
        let (failures, has_session) = (client.failures.max(1), client.has_session());
        if has_session {
            // A peer that has ended the link itself knows (RFC 1661 section 4.1: Terminate-Ack is all it gets).
            if why != PppoeFailure::Ended {
                client.id = client.id.wrapping_add(1);
                let id = client.id;
                self.say(index, protocol::LCP, Control { code: code::TERMINATE_REQUEST, id, data: &[] });
            }
            self.terminate(index);
        }
        let wait = self.patience(failures);
        if matches!(self.phase, Phase::Releasing(_)) {
            self.rest(now, index);
        } else {
            self.enter(now, index, State::Pausing, now.saturating_add(wait));
            self.clients[index as usize].forget();
        }
    }

    /// A client has everything it requested.
    fn come_up(&mut self, now: Nanos, index: u32) {
        let client = &mut self.clients[index as usize];
        let (began, entered, again) = (client.since, client.entered, client.was_up);
        let timer = self.config.keepalive.map_or(Nanos::MAX, |every| now.saturating_add(every));
        self.enter(now, index, State::Up, timer);
        let client = &mut self.clients[index as usize];
        client.exchange = None;
        client.was_up = true;
        (client.failures, client.unanswered) = (0, 0);
        if let Some(other) = self.holders.insert(client.ip, index) {
            self.counts.conflicts += u64::from(other != index);
        }
        if again {
            return;
        }
        client.since = now;
        client.tally.sessions += 1;
        self.counts.sessions += 1;
        self.counts.network.record(now.since(entered).0);
        if self.phase == Phase::Active {
            self.counts.setup.record(now.since(began).0);
            self.last_up = Some(now);
        }
    }

    /// Sends a control packet in a client's session.
    fn say(&mut self, index: u32, protocol: u16, packet: Control<'_>) {
        let client = &self.clients[index as usize];
        let link = Link { from: self.mac_of(index), to: client.ac, vlans: &self.config.vlans.of(index) };
        self.outbox.push(link.pppoe_session(client.session, &packet.with_protocol(protocol)));
    }

    /// Keeps what a peer gave as a reason.
    fn note(&mut self, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        let clean: String = text.chars().filter(|one| !one.is_control()).take(MESSAGE_MAX).collect();
        if !clean.trim().is_empty() {
            self.message = Some(clean.trim().to_owned());
        }
    }
}

#[cfg(test)]
mod tests;
