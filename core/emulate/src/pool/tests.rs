//! A network between clients and their servers, for the tests of all protocols; and clients of a protocol without messages.

use super::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Settings of `clients` clients in VLAN 7.
pub(crate) fn common(clients: u32) -> PoolConfig {
    PoolConfig {
        clients,
        mac: [2, 0, 0, 1, 0, 0],
        vlans: wire::Vlans::from([7]).into(),
        rate: 1_000,
        outstanding: 1_000,
        seed: 7,
    }
}

/// A model of what clients are served by.
pub(crate) trait Serve {
    /// Without loss, frames take up to this much longer than the fastest, and overtake each other.
    const SPREAD: Nanos;

    /// Takes a frame of a client, and adds the replies.
    fn serve(&mut self, now: Nanos, frame: &[u8], replies: &mut Vec<Vec<u8>>);

    /// Adds the frames of each second.
    fn tick(&mut self, _now: Nanos, _frames: &mut Vec<Vec<u8>>) {}
}

/// A frame on its way: its arrival, its place, whether it is for the server.
type Passing = (Nanos, u64, bool, Vec<u8>);

/// Clients and a server over a network that loses, repeats and reorders frames.
pub(crate) struct Network<P: Protocol, S> {
    pub(crate) clients: Pool<P>,
    pub(crate) server: S,
    pub(crate) now: Nanos,
    next_tick: Nanos,
    pub(crate) wire: BinaryHeap<Reverse<Passing>>,
    sent: u64,
    /// Of 1,000 frames, those lost, and those that come twice.
    pub(crate) lost: u64,
    pub(crate) twice: u64,
    pub(crate) outstanding_max: u32,
}

impl<P: Protocol, S: Serve> Network<P, S> {
    pub(crate) fn between(clients: Pool<P>, server: S, lost: u64, twice: u64) -> Self {
        let now = Nanos::from_secs(1_000);
        let wire = BinaryHeap::new();
        Self { clients, server, now, next_tick: now, wire, sent: 0, lost, twice, outstanding_max: 0 }
    }

    fn send(&mut self, to_server: bool, frame: &[u8]) {
        self.sent += 1;
        let word = random::word(99, self.sent);
        if word % 1_000 < self.lost {
            return;
        }
        let spread = if self.lost > 0 { 40_000_000 } else { S::SPREAD.0 };
        for copy in 0..1 + u64::from(word >> 20 & 0x3ff < self.twice) {
            let delay = Nanos(1_000_000 + random::below(random::word(word, copy), spread));
            self.wire.push(Reverse((self.now + delay, self.sent * 2 + copy, to_server, frame.to_vec())));
        }
    }

    pub(crate) fn run_for(&mut self, time: Nanos) {
        let end = self.now + time;
        loop {
            let arrival = self.wire.peek().map_or(Nanos::MAX, |Reverse((at, ..))| *at);
            let next = arrival.min(self.clients.next_due()).min(self.next_tick);
            if next > end {
                self.now = end;
                return;
            }
            self.now = self.now.max(next);
            let (mut replies, mut frames) = (Vec::new(), Vec::new());
            if self.next_tick <= self.now {
                self.next_tick = self.now + Nanos::from_secs(1);
                self.server.tick(self.now, &mut replies);
            }
            while self.wire.peek().is_some_and(|Reverse((at, ..))| *at <= self.now) {
                let Some(Reverse((_, _, to_server, frame))) = self.wire.pop() else { break };
                assert!(crate::may_concern(&frame) || to_server);
                if to_server {
                    self.server.serve(self.now, &frame, &mut replies);
                } else {
                    self.clients.take(self.now, &frame);
                }
            }
            replies.iter().for_each(|frame| self.send(false, frame));
            self.clients.poll(self.now, &mut frames);
            frames.iter().for_each(|frame| self.send(true, frame));
            self.outstanding_max = self.outstanding_max.max(self.clients.outstanding);
        }
    }

    /// Bytes for each client, with those for `holders` entries of `size` bytes: with room that is allocated and not used.
    pub(crate) fn bytes_each(&self, holders: &[(usize, usize)]) -> usize {
        let clients = &self.clients;
        let records =
            clients.clients.capacity() * size_of::<P::Client>() + clients.due.capacity() * size_of::<Nanos>();
        let outbox = clients.outbox.capacity() * size_of::<Vec<u8>>();
        // A B-tree's node holds 11 entries, is at least half full, and has 12 edges at most.
        let tree = |&(entries, entry): &(usize, usize)| entries * (2 * entry + 2 * 8 + 8);
        let timers = tree(&(clients.timers.len(), size_of::<(Nanos, u32)>()));
        (records + outbox + timers + holders.iter().map(tree).sum::<usize>()) / clients.clients.len()
    }
}

/// Clients that are up a second after they have begun, and leave within one.
#[derive(Debug, Default)]
struct Plain;

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Waiting,
    Going,
    Up,
    Leaving,
    Over,
}

impl PoolClient for Step {
    fn new() -> Self {
        Self::Waiting
    }

    fn is_outstanding(&self) -> bool {
        *self == Self::Going
    }

    fn is_up(&self) -> bool {
        *self == Self::Up
    }
}

impl Pool<Plain> {
    fn set(&mut self, index: u32, step: Step, due: Nanos) {
        self.change(index, |client| *client = step);
        self.schedule(index, due);
    }
}

impl Protocol for Plain {
    type Config = PoolConfig;
    type Client = Step;
    type Counts = ();

    const ACTS_UNTIL_TURN: bool = false;

    fn common(config: &PoolConfig) -> &PoolConfig {
        config
    }

    fn take(pool: &mut Pool<Self>, _: Nanos, frame: &[u8]) -> bool {
        frame.first_chunk().and_then(|mac| pool.addressed(*mac, &[7])).is_some()
    }

    fn begin(pool: &mut Pool<Self>, now: Nanos, index: u32) {
        pool.set(index, Step::Going, now + Nanos::from_secs(1));
    }

    fn act(pool: &mut Pool<Self>, now: Nanos, index: u32) {
        pool.outbox.push(vec![index as u8]);
        match pool.clients[index as usize] {
            Step::Going => {
                pool.note_up(now);
                pool.set(index, Step::Up, now + Nanos::from_secs(10));
            }
            Step::Up => pool.schedule(index, now + Nanos::from_secs(10)),
            _ => pool.set(index, Step::Over, Nanos::MAX),
        }
    }

    fn renew(pool: &mut Pool<Self>, _: Nanos, index: u32, at: Nanos) -> bool {
        let is_over = pool.clients[index as usize] == Step::Over;
        if is_over {
            pool.set(index, Step::Going, at);
        }
        is_over
    }

    fn leave(pool: &mut Pool<Self>, _: Nanos, index: u32, at: Nanos) {
        pool.set(index, Step::Leaving, at);
    }

    fn give_up(pool: &mut Pool<Self>, _: Nanos, index: u32) {
        if !pool.clients[index as usize].is_up() {
            pool.set(index, Step::Over, Nanos::MAX);
        }
    }
}

fn at(seconds: u64) -> Nanos {
    Nanos::from_secs(seconds)
}

/// Runs clients until `end`; returns the frames and when they were sent.
fn run(pool: &mut Pool<Plain>, end: Nanos) -> Vec<(Nanos, u8)> {
    let (mut sent, mut now) = (Vec::new(), Nanos::ZERO);
    while pool.next_due() <= end {
        let mut frames = Vec::new();
        now = now.max(pool.next_due());
        pool.poll(now, &mut frames);
        sent.extend(frames.iter().map(|frame| (now, frame[0])));
    }
    sent
}

#[test]
fn clients_begin_at_the_rate_and_a_few_at_a_time() {
    let mut pool: Pool<Plain> = Pool::new(PoolConfig { rate: 10, outstanding: 4, ..common(6) });
    let sent = run(&mut pool, at(3));
    let ms = Nanos::from_millis;
    // Four begin 100 ms apart; each next one when another is up.
    let up = [ms(1_000), ms(1_100), ms(1_200), ms(1_300), ms(2_000), ms(2_100)];
    assert_eq!(sent, up.into_iter().zip(0..).collect::<Vec<_>>());
    assert_eq!((pool.up(), pool.all_up(), pool.set_up_time()), (6, true, Some(ms(2_100))));
    let rate = pool.begun_per_s().unwrap();
    assert!((rate - 5.0 / 1.1).abs() < 0.01, "{rate}");
}

#[test]
fn what_is_late_is_made_up_for_in_parts() {
    let mut pool: Pool<Plain> = Pool::new(common(1_000));
    pool.poll(at(1), &mut Vec::new());
    assert_eq!(pool.begun, 1);
    // 500 turns later: as many as one call may give.
    pool.poll(at(1) + Nanos::from_millis(500), &mut Vec::new());
    assert_eq!(pool.begun, 1 + AT_ONCE as u32);
}

#[test]
fn clients_leave_and_return_by_command() {
    let mut pool: Pool<Plain> = Pool::new(PoolConfig { rate: 10, ..common(3) });
    run(&mut pool, at(3));
    assert_eq!((pool.release_now(at(3)), pool.up()), (3, 0));
    let sent = run(&mut pool, at(4));
    assert_eq!(sent, [(3_000, 0), (3_100, 1), (3_200, 2)].map(|(at, index)| (Nanos::from_millis(at), index)));
    assert_eq!((pool.release_now(at(4)), pool.renew_now(at(4))), (0, 3));
    run(&mut pool, at(5));
    assert_eq!((pool.up(), pool.next_due()), (3, at(14)));
}

#[test]
fn clients_that_are_up_are_released_and_others_give_up() {
    let mut pool: Pool<Plain> = Pool::new(PoolConfig { rate: 10, ..common(20) });
    run(&mut pool, Nanos::from_millis(1_950));
    assert_eq!((pool.up(), pool.outstanding), (10, 10));
    pool.give_up(at(2));
    assert_eq!((pool.up(), pool.outstanding), (10, 0));
    pool.release(at(2));
    assert_eq!(run(&mut pool, at(60)).len(), 10);
    assert_eq!(
        (pool.up(), pool.next_due(), pool.set_up_time()),
        (0, Nanos::MAX, Some(Nanos::from_millis(1_900)))
    );
}

#[test]
fn frames_are_for_the_client_with_the_address_and_the_vlan() {
    let pool: Pool<Plain> = Pool::new(common(3));
    assert_eq!(pool.addressed([2, 0, 0, 1, 0, 2], &[7]), Some(2));
    assert_eq!(pool.addressed([2, 0, 0, 1, 0, 2], &[8]), None);
    assert_eq!((pool.number_of([2, 0, 0, 1, 0, 3]), pool.number_of([2, 0, 0, 0, 255, 255])), (None, None));
    assert_eq!(pool.mac_of(2), [2, 0, 0, 1, 0, 2]);
}

#[test]
fn what_two_have_belongs_to_the_last() {
    let mut holders = Holders::default();
    holders.put('a', 1);
    assert!(holders.is_of_other(&'a', 2) && !holders.is_of_other(&'a', 1) && !holders.is_of_other(&'b', 1));
    holders.put('a', 2);
    holders.forget(&'a', 1);
    assert_eq!(holders.of(&'a'), Some(2));
    holders.forget(&'a', 2);
    assert_eq!((holders.of(&'a'), holders.len()), (None, 0));
}
