//! Neighbours of a running trial: changes of hardware addresses are followed, silent neighbours are probed.
//!
//! Workers pass on neighbours' addresses in frames; control decides, and informs all workers. Packets sent to the old
//! address are identified by their numbers: sent before a worker followed, and not arrived when packets to the new one
//! did.
//!
//! Not here: when a neighbour counts as moved ([`neighbour::Follower`]); what of the trial goes there (`trial::follow`).

use crate::trial::Trial;
use crate::worker::commands::{HostEvent, Survey, WorkerCommand};
use crate::worker::detour::Detour;
use neighbour::{Follower, Mac, Move};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use units::Nanos;

/// From when workers followed until packets on their way to the old address have arrived.
const IN_FLIGHT: Nanos = Nanos::from_millis(20);
/// From one survey to the next, and how long packets to the new address are waited for.
const SURVEY_EVERY: Nanos = Nanos::from_millis(50);
const SURVEYED: Nanos = Nanos::from_secs(1);
/// Number of moves of a trial that are reported individually.
const MOVES_MAX: usize = 64;

/// A neighbour that was followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NeighbourMove {
    /// Index of the port.
    pub(crate) port: usize,
    pub(crate) ip: IpAddr,
    pub(crate) from: Mac,
    pub(crate) to: Mac,
    /// Time of detection, since traffic began.
    pub(crate) at: Nanos,
    /// Whether the neighbour was probed.
    pub(crate) was_asked: bool,
    /// Packets of measured streams lost at the old address; `None` if there are none, or if it is unknown.
    pub(crate) lost: Option<u64>,
    /// From when the last packet left that arrived by way of the old address, until packets went to the new one; `None` without such
    /// a packet, and if none was lost.
    pub(crate) took: Option<Nanos>,
}

/// Progress of a stream when all workers were polled.
#[derive(Debug, Default)]
struct Progress {
    /// Of each lane the packets sent when its newest that arrived left.
    lanes: Vec<u64>,
    received: u64,
    /// The number of the next packet of those lanes that are sent here.
    next: Vec<(u8, u32)>,
}

impl Progress {
    /// Packets sent in a lane.
    fn sent(&self, lane: usize) -> u64 {
        let seen = self.lanes[lane];
        let next = self.next.iter().find(|(own, _)| usize::from(*own) == lane);
        next.map_or(seen, |(_, next)| seen + u64::from(next.wrapping_sub(seen as u32)))
    }

    /// Packets missing among those before the newest.
    fn missing(&self) -> u64 {
        self.lanes.iter().sum::<u64>().saturating_sub(self.received)
    }
}

/// Reports of all workers, in order.
#[derive(Debug, Default)]
struct Round {
    reports: usize,
    streams: BTreeMap<u32, Progress>,
    newest: Nanos,
    last: Nanos,
}

impl Round {
    fn add(&mut self, at: Nanos, survey: &Survey) {
        self.reports += 1;
        self.last = self.last.max(at);
        for one in &survey.received {
            let progress = self.streams.entry(one.stream).or_default();
            progress.lanes.resize(one.lanes.len(), 0);
            progress.lanes.iter_mut().zip(&one.lanes).for_each(|(most, seen)| *most = (*most).max(*seen));
            progress.received += one.packets;
            self.newest = self.newest.max(one.newest);
        }
        for (stream, lane, next) in &survey.sent {
            self.streams.entry(*stream).or_default().next.push((*lane, *next));
        }
    }

    /// Packets in `self` that were sent before workers followed, and had not arrived by `later`; and whether later ones
    /// have in every lane.
    fn lost(&self, later: &Self) -> (u64, bool) {
        let (mut lost, mut is_settled) = (0, true);
        for (stream, before) in &self.streams {
            let Some(after) = later.streams.get(stream) else { continue };
            let lanes = 0..before.lanes.len();
            is_settled &=
                lanes.clone().all(|lane| after.lanes[lane] > before.sent(lane) || before.sent(lane) == 0);
            let sent: u64 = lanes.map(|lane| before.sent(lane).max(after.lanes[lane])).sum();
            lost += sent.saturating_sub(after.received).saturating_sub(before.missing());
        }
        (lost, is_settled)
    }
}

/// A move whose packets are still being counted.
#[derive(Debug)]
struct Counting {
    /// Its index among all reported moves.
    place: usize,
    detour: Arc<Detour>,
    /// Reports of workers when they followed.
    before: Round,
    /// Reports since.
    after: Option<Round>,
    /// Time of the next poll, once they have followed.
    next: Nanos,
}

/// The neighbours of a running trial.
#[derive(Debug)]
pub(crate) struct Neighbours {
    ports: Vec<Follower>,
    workers: usize,
    epoch: Nanos,
    moves: Vec<NeighbourMove>,
    counting: Vec<Counting>,
    /// Moves so far.
    count: u64,
}

impl Neighbours {
    /// Neighbours of a trial whose traffic starts at `epoch`, with this number of workers.
    pub(crate) fn new(trial: &Trial<'_>, workers: usize, epoch: Nanos) -> Self {
        let follower = |(port, hosts)| {
            let here = trial.known.iter().filter(|known| known.port == port && !known.is_given);
            Follower::new(hosts, epoch, here.map(|known| (known.host, known.ip, known.mac)))
        };
        let ports = trial.hosts.ports.iter().enumerate().map(follower).collect();
        Self { ports, workers, epoch, moves: Vec::new(), counting: Vec::new(), count: 0 }
    }

    /// When there is something to do that workers don't know of.
    pub(crate) fn next_due(&self) -> Nanos {
        let counting = self.counting.iter().map(|one| one.next);
        self.ports.iter().map(Follower::next_due).chain(counting).min().unwrap_or(Nanos::MAX)
    }

    /// Takes in what workers handed over; returns the commands for them. `trial` follows neighbours that have moved.
    pub(crate) fn turn(
        &mut self,
        now: Nanos,
        events: &[HostEvent],
        trial: &mut Cow<'_, Trial<'_>>,
    ) -> Vec<WorkerCommand> {
        let (mut commands, mut moves) = (Vec::new(), Vec::new());
        for event in events {
            match event {
                HostEvent::Claimed { port, at, claim } => {
                    let moved = self.ports[*port].take(*at, &trial.hosts.ports[*port], claim);
                    moves.extend(moved.map(|step| (*port, *at, step)));
                }
                HostEvent::Surveyed { number, at, survey } => self.add(*number, *at, survey),
                HostEvent::Sent { .. } | HostEvent::Received { .. } => {}
            }
        }
        for (port, follower) in self.ports.iter_mut().enumerate() {
            let (frame, late) = follower.poll(now, &trial.hosts.ports[port]);
            moves.extend(late.into_iter().map(|step| (port, now, step)));
            commands.extend(frame.map(|frame| WorkerCommand::SendFrames {
                port,
                frames: [frame].into(),
                tag: None,
            }));
        }
        for (port, at, step) in moves {
            commands.push(self.follow(port, at, &step, trial.to_mut()));
        }
        for one in self.counting.iter_mut().filter(|one| one.next <= now) {
            one.next = Nanos::MAX;
            one.after = Some(Round::default());
            commands.push(WorkerCommand::Survey(one.detour.clone()));
        }
        commands
    }

    /// The moves, in the order of detection, and the number of further ones.
    pub(crate) fn end(self) -> (Vec<NeighbourMove>, u64) {
        let more = self.count - self.moves.len() as u64;
        (self.moves, more)
    }

    fn follow(&mut self, port: usize, at: Nanos, step: &Move, trial: &mut Trial<'_>) -> WorkerCommand {
        let detour = Arc::new(trial.follow(self.count, port, step));
        self.count += 1;
        if self.moves.len() < MOVES_MAX {
            let Move { ip, from, to, was_asked, .. } = *step;
            let at = at.since(self.epoch);
            self.moves.push(NeighbourMove { port, ip, from, to, at, was_asked, lost: None, took: None });
            if !detour.measured.is_empty() {
                let (place, detour) = (self.moves.len() - 1, detour.clone());
                let before = Round::default();
                self.counting.push(Counting { place, detour, before, after: None, next: Nanos::MAX });
            }
        }
        WorkerCommand::Follow(detour)
    }

    /// Takes in a worker's survey.
    fn add(&mut self, number: u64, at: Nanos, survey: &Survey) {
        let Some(index) = self.counting.iter().position(|one| one.detour.number == number) else { return };
        let one = &mut self.counting[index];
        let Some(after) = &mut one.after else {
            one.before.add(at, survey);
            if one.before.reports == self.workers {
                one.next = one.before.last + IN_FLIGHT;
            }
            return;
        };
        after.add(at, survey);
        if after.reports < self.workers {
            return;
        }
        let (lost, is_settled) = one.before.lost(after);
        if !is_settled && at < one.before.last + SURVEYED {
            one.next = at + SURVEY_EVERY;
            return;
        }
        let took = one.before.last.since(one.before.newest);
        let step = &mut self.moves[one.place];
        step.lost = Some(lost);
        step.took = (lost > 0 && one.before.newest > Nanos::ZERO).then_some(took);
        self.counting.swap_remove(index);
    }
}
