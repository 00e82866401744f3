//! All PPPoE clients of a port: who begins when, what is due for whom, whom a frame is for, and what becomes of a session.

mod authenticate;
mod discover;
mod link;

use super::client::{Client, Layer, PppoeFailure, PppoeMethod, PppoeTally, State};
use super::discovery::Pppoe;
use super::negotiation::{REQUESTS_MAX, Step};
use super::packet::{Control, code, protocol};
use crate::frame::{Link, Mac, Received};
use crate::pool::{Holders, Pool, PoolClient, PoolConfig, Protocol};
use crate::timing::back_off;
use histogram::Timing;
use std::net::Ipv4Addr;
use units::Nanos;

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
    /// As for clients of other protocols.
    pub pool: PoolConfig,
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

/// State that all PPPoE clients of a port share.
#[derive(Debug, Default)]
pub struct PppoeProtocol {
    /// Holder of each address.
    holders: Holders<Ipv4Addr>,
    /// Last reason given by an access concentrator.
    message: Option<String>,
}

/// PPPoE clients of a port.
pub type PppoeClients = Pool<PppoeProtocol>;

impl Protocol for PppoeProtocol {
    type Config = PppoeConfig;
    type Client = Client;
    type Counts = PppoeCounts;

    const ACTS_UNTIL_TURN: bool = true;

    fn common(config: &PppoeConfig) -> &PoolConfig {
        &config.pool
    }

    fn take(pool: &mut PppoeClients, now: Nanos, frame: &[u8]) -> bool {
        let Some(Received { from, vlans, packet }) = Received::read(frame) else { return false };
        let Some((discovery, pppoe)) = Pppoe::of(&packet) else { return false };
        let to = frame.first_chunk().and_then(|mac| pool.addressed(*mac, &vlans));
        let Some(index) = to else { return false };
        let is_taken = if discovery {
            pool.discover(now, index, from, &pppoe)
        } else {
            let client = &pool.clients[index as usize];
            let is_its = client.has_session() && client.session == pppoe.session && client.ac == from;
            is_its && pool.hear(now, index, pppoe.payload)
        };
        pool.reschedule(index);
        is_taken
    }

    fn begin(pool: &mut PppoeClients, now: Nanos, index: u32) {
        pool.clients[index as usize].since = now;
        pool.begin(now, index);
        pool.reschedule(index);
    }

    fn act(pool: &mut PppoeClients, now: Nanos, index: u32) {
        pool.act(now, index);
        pool.reschedule(index);
    }

    /// A session that is up needs no renewal.
    fn renew(pool: &mut PppoeClients, now: Nanos, index: u32, at: Nanos) -> bool {
        let is_down = pool.clients[index as usize].state == State::Over;
        if is_down {
            pool.clients[index as usize].failures = 0;
            pool.enter(now, index, State::Pausing, at);
            pool.reschedule(index);
        }
        is_down
    }

    fn leave(pool: &mut PppoeClients, now: Nanos, index: u32, at: Nanos) {
        pool.enter(now, index, State::Leaving, at);
        pool.reschedule(index);
    }

    /// A session that has begun is ended.
    fn give_up(pool: &mut PppoeClients, now: Nanos, index: u32) {
        match pool.clients[index as usize].state {
            State::Up | State::Leaving => {}
            State::Linking | State::Authenticating | State::Networking => {
                pool.enter(now, index, State::Leaving, now);
            }
            _ => pool.rest(now, index),
        }
        pool.reschedule(index);
    }
}

impl PppoeClients {
    /// Clients whose attempts have failed so far and that will try again.
    pub fn pausing(&self) -> u32 {
        self.clients.iter().filter(|client| client.state == State::Pausing).count() as u32
    }

    /// The sessions that are up, by client.
    pub fn sessions(&self) -> impl Iterator<Item = PppoeSession> + '_ {
        (0..self.len()).filter_map(|index| self.session(index))
    }

    /// The client that has the address `ip`.
    pub fn session_of(&self, ip: Ipv4Addr) -> Option<PppoeSession> {
        self.shared.holders.of(&ip).and_then(|index| self.session(index))
    }

    /// Current state of all clients.
    pub fn views(&self) -> impl Iterator<Item = PppoeView> + '_ {
        (0..self.len()).map(|index| {
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

    /// Last reason given by an access concentrator, verbatim.
    pub fn message(&self) -> Option<&str> {
        self.shared.message.as_deref()
    }

    /// Name and password of a client.
    pub fn credentials(&self, client: u32) -> (String, String) {
        let text = |text: &String| self.config.pool.vlans.text(text, client);
        (text(&self.config.user), text(&self.config.password))
    }

    fn session(&self, index: u32) -> Option<PppoeSession> {
        let client = &self.clients[index as usize];
        client.is_up().then(|| PppoeSession {
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
        let client = &self.clients[index as usize];
        if client.is_up() && state != State::Up {
            self.shared.holders.forget(&client.ip, index);
        }
        self.change(index, |client| {
            if client.state != state {
                (client.sent, client.entered) = (0, now);
            }
            (client.state, client.timer) = (state, timer);
        });
    }

    /// Notes when there is something to do for a client.
    fn reschedule(&mut self, index: u32) {
        self.schedule(index, self.clients[index as usize].next_due());
    }

    /// Does what is due for a client.
    fn act(&mut self, now: Nanos, index: u32) {
        let has_room = self.has_room();
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
                State::Pausing if has_room => {
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
        if self.is_releasing() {
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
        let (ip, holders) = (client.ip, &mut self.shared.holders);
        self.counts.conflicts += u64::from(holders.is_of_other(&ip, index));
        holders.put(ip, index);
        if again {
            return;
        }
        let client = &mut self.clients[index as usize];
        client.since = now;
        client.tally.sessions += 1;
        self.counts.sessions += 1;
        self.counts.network.record(now.since(entered).0);
        if self.note_up(now) {
            self.counts.setup.record(now.since(began).0);
        }
    }

    /// Sends a control packet in a client's session.
    fn say(&mut self, index: u32, protocol: u16, packet: Control<'_>) {
        let client = &self.clients[index as usize];
        let link = Link { from: self.mac_of(index), to: client.ac, vlans: &self.config.pool.vlans.of(index) };
        self.outbox.push(link.pppoe_session(client.session, &packet.with_protocol(protocol)));
    }

    /// Keeps what a peer gave as a reason.
    fn note(&mut self, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        let clean: String = text.chars().filter(|one| !one.is_control()).take(MESSAGE_MAX).collect();
        if !clean.trim().is_empty() {
            self.shared.message = Some(clean.trim().to_owned());
        }
    }
}

#[cfg(test)]
mod tests;
