//! Clients of a port, of any protocol: their order and rate, their timers, and the numbers of clients on the way and up.
//!
//! A protocol is a [`Protocol`]: states of one client and their messages. The order of calls is [`take`](Pool::take) and
//! [`poll`](Pool::poll) until all are up, then [`give_up`](Pool::give_up); again both while traffic runs, with commands; then
//! [`release`](Pool::release), and both until [`next_due`](Pool::next_due) is [`Nanos::MAX`].

use crate::{ClientVlans, Mac};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use units::Nanos;

/// Clients that act in one call, so that neither a queue nor a server has more than it can take.
const AT_ONCE: usize = 64;

/// Settings that clients of all protocols have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolConfig {
    /// Number of clients.
    pub clients: u32,
    /// Hardware address of the first; each other has the next.
    pub mac: Mac,
    /// VLANs they are in, outermost first.
    pub vlans: ClientVlans,
    /// Clients that begin in a second, and that leave in one at the end; at least 1.
    pub rate: u32,
    /// Clients that are on their way at a time, at most; at least 1.
    pub outstanding: u32,
    /// For identifiers and the spread of repetitions.
    pub seed: u64,
}

/// One client of a protocol.
pub trait PoolClient: Debug + Clone {
    /// One that has not begun.
    fn new() -> Self;

    /// Whether it is on the way to what it requests.
    fn is_outstanding(&self) -> bool;

    /// Whether it has what it requests.
    fn is_up(&self) -> bool;
}

/// A protocol of clients.
pub trait Protocol: Debug + Default {
    /// Settings of the clients.
    type Config: Debug;
    /// State of one client.
    type Client: PoolClient;
    /// Counters of all clients.
    type Counts: Debug + Default;

    /// Whether clients keep up what they have until it is their turn to leave.
    const ACTS_UNTIL_TURN: bool;

    /// Settings that all protocols have.
    fn common(config: &Self::Config) -> &PoolConfig;

    /// Looks at a received frame; returns whether it was for a client.
    fn take(pool: &mut Pool<Self>, now: Nanos, frame: &[u8]) -> bool;

    /// A client begins.
    fn begin(pool: &mut Pool<Self>, now: Nanos, index: u32);

    /// Does what is due for a client.
    fn act(pool: &mut Pool<Self>, now: Nanos, index: u32);

    /// A client renews what it has at `at`, or requests it if it has nothing; returns whether it will.
    fn renew(pool: &mut Pool<Self>, now: Nanos, index: u32, at: Nanos) -> bool;

    /// A client that is up leaves at `at`.
    fn leave(pool: &mut Pool<Self>, now: Nanos, index: u32, at: Nanos);

    /// A client that is not up ends its attempts.
    fn give_up(pool: &mut Pool<Self>, now: Nanos, index: u32);

    /// Called before each poll.
    fn prepare(_pool: &mut Pool<Self>, _now: Nanos) {}

    /// When there is something to do besides the clients' timers.
    fn next_due(_pool: &Pool<Self>) -> Nanos {
        Nanos::MAX
    }
}

/// Phase of all clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// They begin, and keep what they have.
    Active,
    /// They keep what they have; those without have given up.
    Keeping,
    /// They leave; the next to do so.
    Releasing(u32),
}

/// Clients of a port.
#[derive(Debug)]
pub struct Pool<P: Protocol> {
    pub(crate) config: P::Config,
    pub(crate) clients: Vec<P::Client>,
    pub(crate) counts: P::Counts,
    /// State of the protocol besides the clients.
    pub(crate) shared: P,
    /// Frames that have not been taken.
    pub(crate) outbox: Vec<Vec<u8>>,
    phase: Phase,
    /// When there is something to do for each client; and the clients for which there is, in order.
    due: Vec<Nanos>,
    timers: BTreeSet<(Nanos, u32)>,
    /// Clients that have begun.
    pub(crate) begun: u32,
    /// When the next may begin, or leave.
    next_turn: Nanos,
    outstanding: u32,
    up: u32,
    /// Of `word`.
    pub(crate) key: u64,
    words: u64,
    first_sent: Option<Nanos>,
    last_up: Option<Nanos>,
    /// When the newest client began.
    last_begun: Option<Nanos>,
}

impl<P: Protocol> Pool<P> {
    /// Clients that have not begun.
    pub fn new(config: P::Config) -> Self {
        let common = P::common(&config);
        Self {
            clients: vec![P::Client::new(); common.clients as usize],
            counts: P::Counts::default(),
            shared: P::default(),
            outbox: Vec::new(),
            phase: Phase::Active,
            due: vec![Nanos::MAX; common.clients as usize],
            timers: BTreeSet::new(),
            begun: 0,
            next_turn: Nanos::ZERO,
            outstanding: 0,
            up: 0,
            key: random::key(common.seed),
            words: 0,
            first_sent: None,
            last_up: None,
            last_begun: None,
            config,
        }
    }

    /// Settings of the clients.
    pub fn config(&self) -> &P::Config {
        &self.config
    }

    /// Settings that all protocols have.
    pub fn common(&self) -> &PoolConfig {
        P::common(&self.config)
    }

    /// Messages sent and received.
    pub fn counts(&self) -> &P::Counts {
        &self.counts
    }

    /// Adds the frames that are due, some at a time.
    pub fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        P::prepare(self, now);
        for _ in 0..AT_ONCE {
            if !self.take_turn(now) {
                break;
            }
        }
        for _ in 0..AT_ONCE {
            let Some((_, index)) = self.timers.first().copied().filter(|(due, _)| *due <= now) else {
                break;
            };
            self.schedule(index, Nanos::MAX);
            P::act(self, now, index);
        }
        frames.append(&mut self.outbox);
    }

    /// Looks at a received frame; returns whether it was for a client.
    pub fn take(&mut self, now: Nanos, frame: &[u8]) -> bool {
        P::take(self, now, frame)
    }

    /// Ends all attempts: who is up stays so, the others give up.
    pub fn give_up(&mut self, now: Nanos) {
        self.phase = Phase::Keeping;
        for index in 0..self.len() {
            P::give_up(self, now, index);
        }
    }

    /// Lets all clients leave from now on, at their rate; done when [`next_due`](Self::next_due) is [`Nanos::MAX`].
    pub fn release(&mut self, now: Nanos) {
        self.give_up(now);
        for index in 0..self.len() {
            if !P::ACTS_UNTIL_TURN && self.clients[index as usize].is_up() {
                self.schedule(index, Nanos::MAX);
            }
        }
        (self.phase, self.next_turn) = (Phase::Releasing(0), now);
    }

    /// Makes clients renew what they have from now on, at their rate, or request it if they have nothing. Returns their
    /// number.
    pub fn renew_now(&mut self, now: Nanos) -> u64 {
        self.each_in_turn(now, |pool, index, at| P::renew(pool, now, index, at))
    }

    /// Makes clients that are up leave from now on, at their rate, and stay away. Returns their number.
    pub fn release_now(&mut self, now: Nanos) -> u64 {
        self.each_in_turn(now, |pool, index, at| {
            let is_up = pool.clients[index as usize].is_up();
            if is_up {
                P::leave(pool, now, index, at);
            }
            is_up
        })
    }

    /// When there is something to do; [`Nanos::MAX`] if only a frame can bring it.
    pub fn next_due(&self) -> Nanos {
        if !self.outbox.is_empty() {
            return Nanos::ZERO;
        }
        let timer = self.timers.first().map_or(Nanos::MAX, |(due, _)| *due).min(P::next_due(self));
        if self.has_turn() { timer.min(self.next_turn) } else { timer }
    }

    /// Clients that are up: that have what they request.
    pub fn up(&self) -> u32 {
        self.up
    }

    /// Whether every client is up.
    pub fn all_up(&self) -> bool {
        self.up == self.len()
    }

    /// Clients that began per second, from the first to the last; `None` if fewer than two did, or all at once.
    pub fn begun_per_s(&self) -> Option<f64> {
        let took = self.last_begun?.since(self.first_sent?).as_secs_f64();
        (took > 0.0).then(|| f64::from(self.begun - 1) / took)
    }

    /// From the first message of the first client until the last one came up for the first time.
    pub fn set_up_time(&self) -> Option<Nanos> {
        Some(self.last_up?.since(self.first_sent?))
    }

    pub(crate) fn len(&self) -> u32 {
        self.clients.len() as u32
    }

    pub(crate) fn mac_of(&self, index: u32) -> Mac {
        units::Mac::from_number(units::Mac(self.common().mac).number() + u64::from(index)).0
    }

    pub(crate) fn number_of(&self, mac: Mac) -> Option<u32> {
        let number = units::Mac(mac).number().checked_sub(units::Mac(self.common().mac).number())?;
        u32::try_from(number).ok().filter(|number| *number < self.len())
    }

    /// The client with this hardware address, if a frame in `vlans` can be for it.
    pub(crate) fn addressed(&self, mac: Mac, vlans: &[u16]) -> Option<u32> {
        self.number_of(mac).filter(|index| self.common().vlans.are_of(*index, vlans))
    }

    /// The next random word.
    pub(crate) fn word(&mut self) -> u64 {
        self.words += 1;
        random::word(self.key, self.words)
    }

    /// Whether another client may be on its way.
    pub(crate) fn has_room(&self) -> bool {
        self.outstanding < self.common().outstanding
    }

    pub(crate) fn is_releasing(&self) -> bool {
        matches!(self.phase, Phase::Releasing(_))
    }

    /// Notes that a client came up before traffic started; returns whether it did.
    pub(crate) fn note_up(&mut self, now: Nanos) -> bool {
        let is_set_up = self.phase == Phase::Active;
        if is_set_up {
            self.last_up = Some(now);
        }
        is_set_up
    }

    /// Changes a client, and counts it by its new state.
    pub(crate) fn change(&mut self, index: u32, change: impl FnOnce(&mut P::Client)) {
        let client = &mut self.clients[index as usize];
        self.outstanding -= u32::from(client.is_outstanding());
        self.up -= u32::from(client.is_up());
        change(client);
        self.outstanding += u32::from(client.is_outstanding());
        self.up += u32::from(client.is_up());
    }

    /// Sets when there is something to do for a client.
    pub(crate) fn schedule(&mut self, index: u32, due: Nanos) {
        let was = std::mem::replace(&mut self.due[index as usize], due);
        if was == due {
            return;
        }
        if was < Nanos::MAX {
            self.timers.remove(&(was, index));
        }
        if due < Nanos::MAX {
            self.timers.insert((due, index));
        }
    }

    /// Gives clients turns from now on, at their rate; returns how many took theirs.
    pub(crate) fn each_in_turn(
        &mut self,
        now: Nanos,
        mut turn: impl FnMut(&mut Self, u32, Nanos) -> bool,
    ) -> u64 {
        let gap = self.gap();
        let mut took = 0;
        for index in 0..self.len() {
            took += u64::from(turn(self, index, now.saturating_add(Nanos(gap.saturating_mul(took)))));
        }
        took
    }

    /// From one client's turn to the next, ns.
    fn gap(&self) -> u64 {
        1_000_000_000 / u64::from(self.common().rate.max(1))
    }

    /// Whether a client may begin, or leave, once it is time.
    fn has_turn(&self) -> bool {
        match self.phase {
            Phase::Active => self.begun < self.len() && self.has_room(),
            Phase::Keeping => false,
            Phase::Releasing(next) => next < self.len(),
        }
    }

    /// The next client begins, or leaves, if it may.
    fn take_turn(&mut self, now: Nanos) -> bool {
        if self.next_turn > now || !self.has_turn() {
            return false;
        }
        if self.first_sent.is_none() && self.phase == Phase::Active {
            (self.first_sent, self.next_turn) = (Some(now), now);
        }
        // What was late is made up for by one call's messages at most.
        let gap = self.gap();
        let earliest = Nanos(now.0.saturating_sub(gap.saturating_mul(AT_ONCE as u64)));
        self.next_turn = self.next_turn.max(earliest).saturating_add(Nanos(gap));
        if let Phase::Releasing(next) = &mut self.phase {
            let index = *next;
            *next += 1;
            if self.clients[index as usize].is_up() {
                P::leave(self, now, index, now);
            }
        } else {
            let index = self.begun;
            self.begun += 1;
            self.last_begun = Some(now);
            P::begin(self, now, index);
        }
        true
    }
}

/// Clients by what they have: an address, or a prefix. One that several have belongs to the last.
#[derive(Debug)]
pub(crate) struct Holders<A>(BTreeMap<A, u32>);

impl<A> Default for Holders<A> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<A: Ord> Holders<A> {
    /// The client that has `one`.
    pub(crate) fn of(&self, one: &A) -> Option<u32> {
        self.0.get(one).copied()
    }

    /// Whether another client has `one`.
    pub(crate) fn is_of_other(&self, one: &A, client: u32) -> bool {
        self.of(one).is_some_and(|holder| holder != client)
    }

    /// A client has `one` from now on.
    pub(crate) fn put(&mut self, one: A, client: u32) {
        self.0.insert(one, client);
    }

    /// A client has `one` no more.
    pub(crate) fn forget(&mut self, one: &A, client: u32) {
        if self.of(one) == Some(client) {
            self.0.remove(one);
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
pub(crate) mod tests;
