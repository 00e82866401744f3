//! Snapshots of a running trial.

use crate::emulation::Emulation;
use crate::outages::Instants;
use crate::sums::Sums;
use crate::trial::Trial;
use std::net::IpAddr;
use units::Nanos;

/// Receives snapshots of a running trial.
pub trait TrialObserver {
    /// Time from one snapshot to the next.
    fn interval(&self) -> Nanos;

    /// Neighbours of a port did not reply, and the trial continues without them.
    fn neighbours_silent(&mut self, _port: &str, _neighbours: &[IpAddr]) {}

    /// A run on several machines: all is ready here, and the common start is waited for.
    fn ready(&mut self) {}

    /// A run on several machines: by how much workers got the start too late.
    fn started(&mut self, _late: Nanos) {}

    /// A run on several machines: all is sent here, with the packets of each stream. `stopped`: before its end.
    fn part_sent(&mut self, _sent: &[u64], _stopped: bool) {}

    /// Traffic begins at `epoch`, on the workers' clock. Not called in real time, where it could not be called before.
    fn begins(&mut self, _epoch: Nanos) {}

    /// Whether a snapshot is taken now. If not, the next one also has the interval until now.
    fn wants_snapshot(&mut self, _view: &View<'_>) -> bool {
        true
    }

    /// A snapshot of the trial.
    fn snapshot(&mut self, view: &View<'_>);

    /// Whether the observer reads counts of single streams since the last snapshot; evaluated once, before traffic. If not, they
    /// are not kept, and in a [`View`] only totals have streams.
    fn reads_streams(&self) -> bool {
        true
    }

    /// Whether [`keep`](Self::keep) is called; evaluated once, before traffic.
    fn keeps(&self) -> bool {
        false
    }

    /// After each snapshot, and where sending ends: all counts since this last returned true. So an observer has
    /// intervals of any length, which leave nothing out. With `must`, nothing is added to this one any more.
    fn keep(&mut self, _view: &View<'_>, _must: bool) -> bool {
        true
    }
}

/// Current state of a trial.
pub struct View<'a> {
    pub(crate) trial: &'a Trial<'a>,
    /// State of the hosts' protocols.
    pub(crate) emulation: &'a Emulation,
    /// Counted since the last snapshot.
    pub(crate) interval: &'a Sums,
    /// Counted since the start.
    pub(crate) total: &'a Sums,
    /// Arrival times of packets.
    pub(crate) instants: Instants<'a>,
    /// Since traffic started.
    pub(crate) at: Nanos,
    /// Since the last snapshot.
    pub(crate) span: Nanos,
    /// Whether sending has ended and late packets may still arrive.
    pub(crate) draining: bool,
    /// Whether time is real, so that something can disturb the tester.
    pub(crate) is_real: bool,
}

impl View<'_> {
    /// Since traffic started.
    pub fn at(&self) -> Nanos {
        self.at
    }

    /// Since the last snapshot.
    pub fn span(&self) -> Nanos {
        self.span
    }

    /// Duration of traffic.
    pub fn duration(&self) -> Nanos {
        self.trial.plan.duration
    }

    /// Whether sending has ended and late packets may still arrive.
    pub fn is_draining(&self) -> bool {
        self.draining
    }
}
