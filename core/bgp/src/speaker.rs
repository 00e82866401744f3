//! The speakers behind a port, and their peers: connecting, resolving collisions of connections, scheduling updates.
//!
//! Invariant: a peer has two connections at most, one that each side began; when a session is established the other one ends.
//!
//! Which one stays is decided before the peer can take the other for established (RFC 4271 section 6.8, and more, as that alone lets
//! each side establish the session on another connection, and then end the other's). Of the connection that the RFC prefers, the OPEN
//! message is sent, or of the other one, KEEPALIVE: whichever comes first keeps the second from being sent as long as its connection
//! is there. Without both sides' KEEPALIVE on it there is no session on the other connection. So two such sides agree, and one
//! is enough for the peer not to see a session end, but for messages that cross within less than a round trip.

use crate::Mac;
use crate::counts::BgpCounts;
use crate::failure::Failure;
use crate::heard::Heard;
use crate::message::{AddPath, GracefulRestart, Notification, Open};
use crate::routes::{Family, RouteRange};
use crate::session::{Identity, Session, State, Step};
use crate::wires::Wires;
use histogram::Timing;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
pub use tcp::GroupConfig;
use tcp::{End, GroupId, HopMove, Sink, Stack, TcpOptions, Transport};
use units::{Nanos, Tally as _};

/// BGP's TCP port.
pub const PORT: u16 = 179;
/// Maximum unacknowledged bytes: no more are made before the peer accepts them.
const AHEAD: usize = 32 * 1_024;
/// Frames of one poll.
const FRAMES_MAX: usize = 256;
/// Maximum time to close a connection in good order.
const CLOSE_WAIT: Nanos = Nanos::from_secs(2);
/// Local ports of connections: the first, and how many (RFC 6335 section 6).
const LOCAL_PORTS: (u16, u64) = (49_152, 16_384);

/// A peer, and the speaker that talks to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerConfig {
    /// Name in commands; empty if it has no name.
    pub name: String,
    /// Number of the speaker's host.
    pub host: usize,
    /// The host's address.
    pub local: IpAddr,
    /// The peer's.
    pub remote: IpAddr,
    /// Identity of speaker and peer.
    pub identity: Identity,
    /// Whether the peer is to connect; if not, the speaker connects as well.
    pub passive: bool,
    /// Time from a failure to the next attempt.
    pub retry: Nanos,
    /// Routes to advertise.
    pub routes: Arc<[RouteRange]>,
    /// Routes of the peer that are kept, to be shown.
    pub keep: u32,
}

/// The speakers of a port.
#[derive(Debug, Clone)]
pub struct SpeakerConfig {
    /// Hosts: hardware addresses, VLANs, MTU. Options of TCP and of IP's header are set here.
    pub hosts: Vec<GroupConfig>,
    /// Their peers.
    pub peers: Vec<PeerConfig>,
    /// Connections begun in a second, at most.
    pub rate: u32,
    /// Seed of sequence numbers, ports and the spread of attempts.
    pub seed: u64,
}

/// A peer at work.
#[derive(Debug)]
struct Peer {
    config: PeerConfig,
    hop: Option<Mac>,
    /// Its connections.
    lines: Vec<Line>,
    /// When to connect; [`Nanos::MAX`] if there is a connection or the peer is to connect.
    connect_at: Nanos,
    attempts: u32,
    /// When the first attempt began, until there was a session.
    waiting_since: Option<Nanos>,
    /// When the newest session was established.
    established_at: Nanos,
    failure: Option<Failure>,
    /// Whether a command has ended it.
    is_down: bool,
    /// Whether a command has ended its session and there was none since.
    is_restarting: bool,
    /// Until when it is away, restarting.
    back_at: Nanos,
    /// The peer's graceful restart capability in the latest session.
    their_restart: Option<GracefulRestart>,
    /// For each range, the state set by a command.
    said: Vec<Option<bool>>,
    counts: BgpCounts,
}

impl Peer {
    fn note(&mut self, why: Failure) {
        if !self.failure.is_some_and(|before| why.says_less_than(&before)) {
            self.failure = Some(why);
        }
    }
}

/// A connection of a peer.
#[derive(Debug)]
struct Line {
    wire: u32,
    is_ours: bool,
    session: Option<Session>,
    /// Time at which it is abandoned: it is closing.
    end_at: Option<Nanos>,
    /// Why it ends; `None` if another one stays or all ends.
    failure: Option<Failure>,
}

impl Line {
    fn state(&self) -> State {
        match (&self.session, self.end_at) {
            (Some(session), None) => session.state,
            _ => State::Connect,
        }
    }
}

/// The speakers of a port.
#[derive(Debug)]
pub struct Speaker {
    stack: Stack<Wires>,
    wires: Wires,
    peers: Vec<Peer>,
    /// Peers by host, its address and the peer's.
    ends: HashMap<(u16, IpAddr, IpAddr), usize>,
    /// Peers of connections.
    owners: HashMap<u32, usize>,
    rate: u32,
    key: u64,
    /// When traffic starts; [`Nanos::MAX`] until that is known.
    epoch: Nanos,
    /// When a timer of a peer is due, or routes change.
    due: Nanos,
    next_change: Nanos,
    has_begun: bool,
    is_shut: bool,
    /// The first session that was lost: the peer, and why.
    first_loss: Option<(usize, Failure)>,
    /// Time from a peer's first attempt to its first session, ns.
    set_up: Timing,
}

struct Frames<'a>(&'a mut Vec<Vec<u8>>);

impl Sink for Frames<'_> {
    fn frame(&mut self, len: usize) -> Option<&mut [u8]> {
        let Self(frames) = self;
        if frames.len() >= FRAMES_MAX {
            return None;
        }
        frames.push(vec![0; len]);
        frames.last_mut().map(Vec::as_mut_slice)
    }
}

impl Speaker {
    /// Speakers that have not begun.
    ///
    /// # Panics
    /// If a peer is a host's that is not there.
    pub fn new(config: SpeakerConfig) -> Self {
        let host = |host: GroupConfig| GroupConfig {
            // Two SYNs in seven seconds, and another attempt later; what is not acknowledged is found out by the hold time.
            tcp: TcpOptions { syn_retries: 2, ..TcpOptions::default() },
            // Peers that check by the hop limit who is next to them take nothing less (RFC 5082).
            ttl: u8::MAX,
            // Internetwork control (RFC 4271 appendix E).
            tos: 0xc0,
            hop_mac: None,
            ..host
        };
        let hosts = config.hosts.into_iter().map(host).collect();
        let mut stack = Stack::new(random::key(config.seed), config.peers.len(), hosts);
        let mut ends = HashMap::new();
        for (number, peer) in config.peers.iter().enumerate() {
            let group = GroupId(peer.host as u16);
            stack.listen(group, Transport::Tcp, peer.local..=peer.local, PORT..=PORT);
            ends.insert((group.0, peer.local, peer.remote), number);
        }
        let peer = |config: PeerConfig| Peer {
            said: vec![None; config.routes.len()],
            config,
            hop: None,
            lines: Vec::new(),
            connect_at: Nanos::MAX,
            attempts: 0,
            waiting_since: None,
            established_at: Nanos::ZERO,
            failure: None,
            is_down: false,
            is_restarting: false,
            back_at: Nanos::ZERO,
            their_restart: None,
            counts: BgpCounts::default(),
        };
        Self {
            stack,
            wires: Wires::default(),
            peers: config.peers.into_iter().map(peer).collect(),
            ends,
            owners: HashMap::new(),
            rate: config.rate.max(1),
            key: random::other_key(random::key(config.seed)),
            epoch: Nanos::MAX,
            due: Nanos::MAX,
            next_change: Nanos::MAX,
            has_begun: false,
            is_shut: false,
            first_loss: None,
            set_up: Timing::default(),
        }
    }

    /// The peers, in their order.
    pub fn peers(&self) -> impl ExactSizeIterator<Item = &PeerConfig> {
        self.peers.iter().map(|peer| &peer.config)
    }

    /// Counters of all peers.
    pub fn counts(&self) -> BgpCounts {
        let mut sum = BgpCounts::default();
        self.peers.iter().for_each(|peer| sum.tally(&peer.counts));
        sum
    }

    /// Counters of a peer.
    pub fn counts_of(&self, peer: usize) -> &BgpCounts {
        &self.peers[peer].counts
    }

    /// Times from a peer's first attempt to its first session, ns.
    pub fn set_up_times(&self) -> &Timing {
        &self.set_up
    }

    /// Routes that a peer advertises now; `None` without a session.
    pub fn heard(&self, peer: usize) -> Option<&Heard> {
        Some(&self.established_line(peer)?.session.as_ref()?.heard)
    }

    /// AS number of a peer: as announced, or else as expected; zero is not known.
    pub fn peer_as(&self, peer: usize) -> u32 {
        let said = self.established_line(peer).and_then(|line| line.session.as_ref()?.theirs());
        said.map_or(self.peers[peer].config.identity.peer_as, |open| open.asn)
    }

    /// Whether a command has taken the session with a peer down.
    pub fn is_down(&self, peer: usize) -> bool {
        self.peers[peer].is_down
    }

    /// A peer's graceful restart capability in the latest session; `None` if not announced, or there was no session.
    pub fn their_restart(&self, peer: usize) -> Option<&GracefulRestart> {
        self.peers[peer].their_restart.as_ref()
    }

    /// Whether a prefix can have several paths in the session with a peer: sent and received ones (RFC 7911).
    pub fn add_path(&self, peer: usize) -> AddPath {
        let session = self.established_line(peer).and_then(|line| line.session.as_ref());
        let ids = session.map(|session| session.path_ids(&self.peers[peer].config.identity));
        let (sent, received) = ids.unwrap_or_default();
        AddPath { send: sent.contains(&true), receive: received.contains(&true) }
    }

    /// A family of routes that a peer with a session takes one path of each prefix of, although more are offered.
    pub fn lacks_paths(&self, peer: usize) -> Option<Family> {
        let identity = &self.peers[peer].config.identity;
        let session = self.established_line(peer)?.session.as_ref()?;
        let (ids, _) = session.path_ids(identity);
        let offers =
            |family: &Family| identity.add_path[*family as usize].send && session.has(identity, *family);
        Family::ALL.into_iter().find(|family| offers(family) && !ids[*family as usize])
    }

    fn established_line(&self, peer: usize) -> Option<&Line> {
        self.peers[peer].lines.iter().find(|line| line.state() == State::Established)
    }

    /// Advertises or withdraws a range of a peer from now on, regardless of its times; routes of a peer without a
    /// session when it has one.
    pub fn set_range(&mut self, peer: usize, range: usize, up: bool) {
        self.peers[peer].said[range] = Some(up);
        (self.next_change, self.due) = (Nanos::ZERO, Nanos::ZERO);
    }

    /// Ends the session with a peer until further notice (RFC 4486: Administrative Shutdown), or lets there be one again. Returns
    /// whether that changes anything.
    pub fn set_peer(&mut self, now: Nanos, number: usize, up: bool) -> bool {
        if self.peers[number].is_down != up || self.is_shut {
            return false;
        }
        let peer = &mut self.peers[number];
        (peer.is_down, peer.connect_at, peer.back_at) = (!up, Nanos::MAX, Nanos::ZERO);
        if up {
            peer.failure = None;
            if !peer.config.passive {
                peer.connect_at = now;
            }
        }
        for line in (0..self.peers[number].lines.len()).filter(|_| !up) {
            self.hang_up(now, number, line, Some(Notification::SHUTDOWN), None);
        }
        self.due = Nanos::ZERO;
        true
    }

    /// Ends the session with a peer as a speaker does that restarts: without a NOTIFICATION, so that a peer that knows graceful restart
    /// keeps its routes (RFC 4724 section 4.2). There is another one when `delay` has passed, or
    /// without it the time from a failure to the next attempt.
    /// Returns whether there was one.
    pub fn restart_peer(&mut self, now: Nanos, number: usize, delay: Option<Nanos>) -> bool {
        if self.state(number) != State::Established || self.is_shut {
            return false;
        }
        let peer = &mut self.peers[number];
        peer.counts.restarts += 1;
        peer.back_at = now.saturating_add(delay.unwrap_or(peer.config.retry));
        peer.connect_at = if peer.config.passive { Nanos::MAX } else { peer.back_at };
        peer.is_restarting = true;
        for line in 0..self.peers[number].lines.len() {
            self.hang_up(now, number, line, None, None);
        }
        true
    }

    /// Sets the hardware address of a peer's next hop. Connections continue if it changes.
    pub fn set_hop(&mut self, peer: usize, mac: Mac) {
        let peer = &mut self.peers[peer];
        if let Some(from) = peer.hop.replace(mac).filter(|from| *from != mac) {
            let (group, remote) = (GroupId(peer.config.host as u16), peer.config.remote);
            let step = HopMove { group, remotes: remote..=remote, from, to: mac };
            self.stack.move_flows(&step, 0, u32::MAX);
        }
    }

    /// State of the session with a peer.
    pub fn state(&self, peer: usize) -> State {
        self.peers[peer].lines.iter().map(Line::state).max().unwrap_or(State::Idle)
    }

    /// When the session with a peer was established; `None` if there is none.
    pub fn established_at(&self, peer: usize) -> Option<Nanos> {
        (self.state(peer) == State::Established).then(|| self.peers[peer].established_at)
    }

    /// Sessions that are established.
    pub fn established(&self) -> usize {
        (0..self.peers.len()).filter(|peer| self.state(*peer) == State::Established).count()
    }

    /// Why there is no session with a peer; `None` if there is one or nothing has gone wrong so far.
    pub fn failure(&self, peer: usize) -> Option<Failure> {
        self.peers[peer].failure
    }

    /// The first session that was lost: the peer, and why.
    pub fn first_loss(&self) -> Option<(usize, Failure)> {
        self.first_loss
    }

    /// A family of routes that a peer with a session does not exchange, although it has routes for the peer.
    pub fn lacks(&self, peer: usize) -> Option<Family> {
        let config = &self.peers[peer].config;
        let session = self.established_line(peer)?.session.as_ref()?;
        let mut families = config.routes.iter().map(RouteRange::family);
        families.find(|family| !session.has(&config.identity, *family))
    }

    /// Whether each peer has a session and has acknowledged all its routes, or will never have one.
    pub fn is_settled(&mut self) -> bool {
        let wires = &mut self.wires;
        self.peers.iter().all(|peer| {
            let mut up = peer.lines.iter().filter(|line| line.state() == State::Established);
            let is_told = |line: &Line| {
                line.session.as_ref().is_some_and(Session::has_told_all)
                    && wires.at(line.wire).unacknowledged() == 0
            };
            up.next().is_some_and(is_told)
                || peer.is_down
                || peer.failure.is_some_and(|failure| failure.is_lasting())
        })
    }

    /// Begins to connect.
    pub fn begin(&mut self, now: Nanos) {
        self.has_begun = true;
        for (number, peer) in (0..).zip(&mut self.peers) {
            peer.waiting_since = Some(now);
            if !peer.config.passive && !peer.is_down {
                peer.connect_at = now + Nanos(number * 1_000_000_000 / u64::from(self.rate));
            }
        }
        self.due = now;
    }

    /// Traffic starts at `epoch`: routes change at times after it.
    pub fn start(&mut self, epoch: Nanos) {
        self.epoch = epoch;
        self.due = Nanos::ZERO;
        self.next_change = Nanos::ZERO;
    }

    /// Ends all sessions (RFC 4486: Administrative Shutdown).
    pub fn shut(&mut self, now: Nanos) {
        self.is_shut = true;
        for peer in 0..self.peers.len() {
            self.peers[peer].connect_at = Nanos::MAX;
            for line in 0..self.peers[peer].lines.len() {
                self.hang_up(now, peer, line, Some(Notification::SHUTDOWN), None);
            }
        }
    }

    /// Whether no connection is left.
    pub fn is_over(&self) -> bool {
        self.owners.is_empty()
    }

    /// Looks at a received frame; returns whether it was for one of the speakers.
    pub fn take(&mut self, now: Nanos, frame: &[u8]) -> bool {
        let is_mine = self.stack.receive(now, &mut self.wires, &[frame]) == 0;
        if is_mine {
            self.see_to(now);
        }
        is_mine
    }

    /// Adds frames that are due.
    pub fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        if !self.has_begun {
            return;
        }
        if now >= self.due {
            self.change_routes(now);
            self.due = self.next_change;
            for peer in 0..self.peers.len() {
                self.poll_peer(now, peer);
            }
        }
        self.stack.turn(now, &mut self.wires);
        self.see_to(now);
        self.stack.transmit(now, &mut self.wires, &mut Frames(frames));
    }

    /// When there is something to do.
    pub fn next_due(&self) -> Nanos {
        if self.stack.owes() { Nanos::ZERO } else { self.due.min(self.stack.next_due()) }
    }

    /// Time for which traffic has been running at `now`: nothing before it starts.
    fn since(&self, now: Nanos) -> Nanos {
        now.since(self.epoch)
    }

    /// Lets sessions send changes, if it is time.
    fn change_routes(&mut self, now: Nanos) {
        if now < self.next_change {
            return;
        }
        let since = self.since(now);
        self.next_change = Nanos::MAX;
        for peer in 0..self.peers.len() {
            let routes = self.peers[peer].config.routes.clone();
            let next = routes.iter().filter_map(|range| range.at(since).1).min();
            if let Some(next) = next.filter(|_| self.epoch < Nanos::MAX) {
                self.next_change = self.next_change.min(self.epoch.saturating_add(next));
            }
            for line in 0..self.peers[peer].lines.len() {
                let Peer { config, lines, said, .. } = &mut self.peers[peer];
                let wire = lines[line].wire;
                if let Some(session) = &mut lines[line].session
                    && session.state == State::Established
                {
                    session.want(&config.identity, &routes, said, since);
                    self.wires.touch(wire);
                }
            }
        }
    }

    /// Connects, and lets sessions send what is due.
    fn poll_peer(&mut self, now: Nanos, number: usize) {
        if self.peers[number].connect_at <= now {
            self.connect(now, number);
        }
        for at in (0..self.peers[number].lines.len()).rev() {
            let Peer { lines, counts, .. } = &mut self.peers[number];
            let line = &mut lines[at];
            if let Some(end_at) = line.end_at {
                if end_at <= now {
                    self.drop_line(now, number, at);
                }
                continue;
            }
            let (wire, mut out) = (line.wire, Vec::new());
            let over = line.session.as_mut().and_then(|session| session.poll(now, counts, &mut out));
            self.say(now, wire, &out);
            if over.is_some() {
                self.hang_up(now, number, at, None, over);
            }
        }
        self.advance(now, number);
        self.due = self.due.min(self.due_of(number));
    }

    fn due_of(&self, number: usize) -> Nanos {
        let peer = &self.peers[number];
        let line = |line: &Line| match (&line.session, line.end_at) {
            (_, Some(end_at)) => end_at,
            (Some(session), None) => session.next_due(),
            (None, None) => Nanos::MAX,
        };
        peer.lines.iter().map(line).fold(peer.connect_at, Nanos::min)
    }

    fn connect(&mut self, now: Nanos, number: usize) {
        let peer = &mut self.peers[number];
        let config = &peer.config;
        peer.connect_at = Nanos::MAX;
        let Some(hop) = peer.hop else {
            return self.failed(now, number, Failure::NoNeighbour);
        };
        peer.attempts += 1;
        peer.counts.connections += 1;
        let word = random::word(self.key ^ now.0, (number as u64) << 32 | u64::from(peer.attempts));
        let port = LOCAL_PORTS.0 + random::below(word, LOCAL_PORTS.1) as u16;
        let group = GroupId(config.host as u16);
        let ends = (SocketAddr::new(config.local, port), SocketAddr::new(config.remote, PORT));
        let wire = self.wires.begin(group.0);
        let flow = self.stack.connect(now, &mut self.wires, group, Transport::Tcp, ends, Some(hop), wire + 1);
        match flow {
            Ok(flow) => {
                self.wires.at(wire).flow = Some(flow);
                self.owners.insert(wire, number);
                let line = Line { wire, is_ours: true, session: None, end_at: None, failure: None };
                self.peers[number].lines.push(line);
            }
            Err(_) => {
                // The port is taken by a connection that has just ended: another one is tried.
                self.wires.forget(wire);
                self.failed(now, number, Failure::Connection(End::Aborted));
            }
        }
    }

    /// Notes why there is no session, and when to try again.
    fn failed(&mut self, now: Nanos, number: usize, why: Failure) {
        let word = random::word(self.key, now.0 ^ number as u64);
        let peer = &mut self.peers[number];
        peer.note(why);
        if !peer.config.passive && !peer.is_down && !self.is_shut {
            // RFC 4271 section 10: between three quarters of it and all.
            let retry = peer.config.retry.0;
            peer.connect_at = now + Nanos(retry - random::below(word, retry / 4 + 1));
            self.due = self.due.min(peer.connect_at);
        }
    }

    /// Sees to all connections to which something happened.
    fn see_to(&mut self, now: Nanos) {
        while let Some(wire) = self.wires.next_touched() {
            let Some(number) = self.owners.get(&wire).copied().or_else(|| self.accept(now, wire)) else {
                continue;
            };
            self.tend(now, number, wire);
            // What became of this connection may be what another one waits for.
            self.advance(now, number);
            self.due = self.due.min(self.due_of(number));
        }
    }

    /// The peer that has opened a connection; an unexpected one ends immediately.
    fn accept(&mut self, now: Nanos, wire: u32) -> Option<usize> {
        let flow = self.wires.at(wire).flow?;
        if self.wires.at(wire).closed.is_some() {
            self.wires.forget(wire);
            return None;
        }
        let group = self.wires.at(wire).group;
        let ends = self.stack.ends(flow);
        let number = ends.and_then(|(own, peer)| self.ends.get(&(group, own.ip(), peer.ip()))).copied();
        let is_free = |number: &usize| {
            let peer = &self.peers[*number];
            !peer.is_down && now >= peer.back_at && peer.lines.iter().all(|line| line.is_ours)
        };
        let Some(number) = number.filter(|number| is_free(number) && !self.is_shut) else {
            self.stack.with(now, &mut self.wires, flow, |_, _, io| io.abort());
            return None;
        };
        self.peers[number].counts.connections += 1;
        self.owners.insert(wire, number);
        let line = Line { wire, is_ours: false, session: None, end_at: None, failure: None };
        self.peers[number].lines.push(line);
        Some(number)
    }

    /// Sees to a connection to which something happened.
    fn tend(&mut self, now: Nanos, number: usize, wire: u32) {
        let place = |peer: &Peer| peer.lines.iter().position(|line| line.wire == wire);
        let Some(mut at) = place(&self.peers[number]) else { return };
        let input = std::mem::take(&mut self.wires.at(wire).input);
        let is_open = self.wires.at(wire).is_open;
        let has_session = self.established_line(number).is_some();
        let Peer { config, lines, .. } = &mut self.peers[number];
        let (who, line) = (config.identity, &mut lines[at]);
        if is_open && line.session.is_none() && line.end_at.is_none() {
            match has_session {
                false => line.session = Some(Session::new(now, config.keep)),
                true => self.hang_up(now, number, at, None, None),
            }
        }
        if let Some(session) = &mut self.peers[number].lines[at].session {
            session.take(&input);
        }
        self.advance(now, number);
        let mut out = Vec::new();
        loop {
            let Peer { lines, counts, .. } = &mut self.peers[number];
            let line = &mut lines[at];
            let (Some(session), None) = (&mut line.session, line.end_at) else { break };
            let step = session.step(now, &who, counts, &mut out);
            self.say(now, wire, &std::mem::take(&mut out));
            match step {
                Step::Nothing => break,
                Step::Taken => {}
                Step::Opened => {
                    self.collide(now, number, at);
                    self.advance(now, number);
                }
                Step::Confirmed => self.advance(now, number),
                Step::Chosen => self.establish(now, number, at),
                Step::Over(why) => self.hang_up(now, number, at, None, Some(why)),
            }
            // Another connection may have ended meanwhile.
            match place(&self.peers[number]) {
                Some(place) => at = place,
                None => return,
            }
        }
        let (is_finished, closed) = (self.wires.at(wire).is_finished, self.wires.at(wire).closed);
        if let Some(end) = closed {
            let line = &mut self.peers[number].lines[at];
            if line.end_at.is_none() && line.failure.is_none() {
                line.failure = Some(if is_finished { Failure::Closed } else { Failure::Connection(end) });
                self.count_flap(number, at);
            }
            self.lose_line(now, number, at);
            return;
        }
        if is_finished && self.peers[number].lines[at].end_at.is_none() {
            self.hang_up(now, number, at, None, Some(Failure::Closed));
        }
        self.tell(now, number, at);
    }

    /// Makes a session send as much as the peer accepts.
    fn tell(&mut self, now: Nanos, number: usize, at: usize) {
        let Peer { config, lines, counts, .. } = &mut self.peers[number];
        let line = &mut lines[at];
        let (wire, None) = (line.wire, line.end_at) else { return };
        let unacknowledged = self.wires.at(wire).unacknowledged();
        let Some(session) = &mut line.session else { return };
        let mut out = Vec::new();
        let room = AHEAD.saturating_sub(unacknowledged);
        let before = (counts.withdrawn, counts.advertised);
        session.tell(&config.identity, &config.routes, counts, &mut out, room);
        if self.epoch < Nanos::MAX {
            let at = now.since(self.epoch);
            if counts.withdrawn > before.0 {
                counts.first_withdrawal.get_or_insert(at);
            }
            if counts.advertised > before.1 {
                counts.first_advertisement.get_or_insert(at);
            }
        }
        self.say(now, wire, &out);
    }

    /// Says something on a connection.
    fn say(&mut self, now: Nanos, wire: u32, bytes: &[u8]) {
        let Some(flow) = self.wires.at(wire).flow.filter(|_| !bytes.is_empty()) else { return };
        if self.wires.at(wire).closed.is_none() {
            self.wires.at(wire).say(bytes);
            self.stack.with(now, &mut self.wires, flow, |_, _, io| io.send(bytes.len() as u64));
        }
    }

    /// Whether of two connections with a peer the RFC prefers this one: that of the side with the higher identifier, or else of the
    /// higher AS number (RFC 4271 section 6.8, RFC 6286 section 2.3).
    fn is_preferred(peer: &Peer, line: &Line, theirs: &Open) -> bool {
        let who = &peer.config.identity;
        line.is_ours == ((who.identifier, who.own_as) > (theirs.identifier, theirs.asn))
    }

    /// The peer's OPEN message has come on a connection. If there is another one as far, the one that is not preferred ends, or the
    /// new one if there is a session already (RFC 4271 section 6.8).
    fn collide(&mut self, now: Nanos, number: usize, at: usize) {
        let peer = &self.peers[number];
        let other = (0..peer.lines.len())
            .find(|other| *other != at && peer.lines[*other].state() >= State::OpenConfirm);
        let theirs = peer.lines[at].session.as_ref().and_then(Session::theirs);
        let (Some(other), Some(theirs)) = (other, theirs) else { return };
        let is_established = peer.lines[other].state() == State::Established;
        if is_established || !Self::is_preferred(peer, &peer.lines[at], theirs) {
            self.hang_up(now, number, at, Some(Notification::COLLISION), None);
        } else if !peer.lines[other].session.as_ref().is_some_and(Session::has_confirmed) {
            self.hang_up(now, number, other, Some(Notification::COLLISION), None);
        }
        // Or else the peer may have a session on the other one meanwhile: it chooses when it has the OPEN message on this one.
    }

    /// Whether a connection must wait: OPEN was sent on another one, which is preferred.
    fn is_held(&self, now: Nanos, number: usize, at: usize) -> bool {
        let peer = &self.peers[number];
        let Some(session) = peer.lines[at].session.as_ref().filter(|session| session.can_wait(now)) else {
            return false;
        };
        let beats = |other: &Line| {
            let is_open = other.end_at.is_none() && other.session.as_ref().is_some_and(Session::has_opened);
            is_open && session.theirs().is_some_and(|theirs| Self::is_preferred(peer, other, theirs))
        };
        peer.lines.iter().enumerate().any(|(other, line)| other != at && beats(line))
    }

    /// Takes each connection with a peer as far as the others let it.
    fn advance(&mut self, now: Nanos, number: usize) {
        for at in 0..self.peers[number].lines.len() {
            let peer = &self.peers[number];
            let is_chosen = |line: &Line| {
                line.end_at.is_none() && line.session.as_ref().is_some_and(Session::has_confirmed)
            };
            let mut others = peer.lines.iter().enumerate().filter(|(other, _)| *other != at);
            let may_open = match peer.lines[at].state() {
                State::Connect => !others.any(|(_, line)| is_chosen(line)),
                State::OpenConfirm => true,
                _ => continue,
            };
            let may_confirm = peer.lines[at].state() == State::OpenConfirm && !self.is_held(now, number, at);
            let Peer { config, lines, counts, is_restarting, .. } = &mut self.peers[number];
            let line = &mut lines[at];
            let (Some(session), None) = (&mut line.session, line.end_at) else { continue };
            let (wire, mut out) = (line.wire, Vec::new());
            if may_open {
                session.open(&config.identity, *is_restarting, counts, &mut out);
            }
            if may_confirm {
                session.confirm(now, counts, &mut out);
            }
            let is_agreed = may_confirm && session.is_confirmed();
            self.say(now, wire, &out);
            if is_agreed {
                self.establish(now, number, at);
            }
        }
    }

    fn establish(&mut self, now: Nanos, number: usize, at: usize) {
        let since = self.since(now);
        let peer = &mut self.peers[number];
        peer.failure = None;
        peer.connect_at = Nanos::MAX;
        peer.established_at = now;
        peer.is_restarting = false;
        peer.counts.established += 1;
        if let Some(waited) = peer.waiting_since.take() {
            self.set_up.record(now.since(waited).0);
        }
        let Peer { config, lines, said, their_restart, .. } = peer;
        if let Some(session) = &mut lines[at].session {
            session.state = State::Established;
            *their_restart = session.theirs().and_then(|open| open.capabilities.restart);
            session.want(&config.identity, &config.routes, said, since);
        }
        self.wires.touch(self.peers[number].lines[at].wire);
        for other in 0..self.peers[number].lines.len() {
            if other != at {
                self.hang_up(now, number, other, Some(Notification::COLLISION), None);
            }
        }
    }

    /// Ends a connection properly. `why` is the NOTIFICATION, if none was sent yet; `failure` the reason why there is
    /// no session.
    fn hang_up(
        &mut self,
        now: Nanos,
        number: usize,
        at: usize,
        why: Option<Notification>,
        failure: Option<Failure>,
    ) {
        if self.peers[number].lines[at].end_at.is_some() {
            return;
        }
        self.peers[number].lines[at].failure = failure;
        self.count_flap(number, at);
        let Peer { lines, counts, .. } = &mut self.peers[number];
        let line = &mut lines[at];
        line.end_at = Some(now + CLOSE_WAIT);
        let (wire, mut out) = (line.wire, Vec::new());
        // Nothing is said on a connection before OPEN.
        let mut session = line.session.as_mut().filter(|session| session.has_opened());
        if let (Some(session), Some(why)) = (&mut session, why) {
            session.end(why, counts, &mut out);
        }
        let has_opened = session.is_some();
        self.say(now, wire, &out);
        if let Some(flow) = self.wires.at(wire).flow {
            let end = |io: &mut tcp::Io| if has_opened { io.close() } else { io.abort() };
            self.stack.with(now, &mut self.wires, flow, |_, _, io| end(io));
        }
        self.due = self.due.min(now + CLOSE_WAIT);
        if let Some(failure) = failure {
            self.peers[number].note(failure);
        }
    }

    fn count_flap(&mut self, number: usize, at: usize) {
        let Peer { lines, counts, is_down, is_restarting, .. } = &mut self.peers[number];
        let line = &lines[at];
        if line.state() == State::Established && !*is_down && !*is_restarting && !self.is_shut {
            counts.flaps += 1;
            self.first_loss = self.first_loss.or(line.failure.map(|why| (number, why)));
        }
    }

    /// Ends a connection whose peer does not.
    fn drop_line(&mut self, now: Nanos, number: usize, at: usize) {
        let wire = self.peers[number].lines[at].wire;
        if let Some(flow) = self.wires.at(wire).flow {
            self.stack.with(now, &mut self.wires, flow, |_, _, io| io.abort());
        }
        // If it is over already, nobody says so any more.
        if self.owners.contains_key(&wire) && self.wires.at(wire).closed.is_none() {
            self.wires.at(wire).closed = Some(End::Aborted);
            self.wires.touch(wire);
        }
    }

    /// Forgets a connection that is closed.
    fn lose_line(&mut self, now: Nanos, number: usize, at: usize) {
        let line = self.peers[number].lines.remove(at);
        self.owners.remove(&line.wire);
        self.wires.forget(line.wire);
        let peer = &self.peers[number];
        if let Some(failure) = line.failure.filter(|_| peer.lines.is_empty()) {
            self.failed(now, number, failure);
        } else if peer.lines.is_empty()
            && peer.connect_at == Nanos::MAX
            && !peer.is_down
            && !peer.is_restarting
            && !self.is_shut
        {
            // The one that should have stayed is gone.
            self.failed(now, number, Failure::Closed);
        }
    }
}

/// Whether a frame may be for a speaker: a segment from or to BGP's port, with its headers in the usual places.
pub fn may_concern(frame: &[u8]) -> bool {
    let pair = |at: usize| frame.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]));
    let mut at = 12;
    while matches!(pair(at), Some(0x8100 | 0x88a8 | 0x9100)) && at < 20 {
        at += 4;
    }
    let (kind, ip) = (pair(at), at + 2);
    let transport = match (kind, frame.get(ip..)) {
        (Some(0x0800), Some([first, ..])) if frame.get(ip + 9) == Some(&6) => {
            ip + usize::from(first & 15) * 4
        }
        (Some(0x86dd), Some(_)) if frame.get(ip + 6) == Some(&6) => ip + 40,
        _ => return false,
    };
    pair(transport) == Some(PORT) || pair(transport + 2) == Some(PORT)
}
