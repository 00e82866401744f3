//! Session counts of a worker.

use session::Counts;
use session::plan::Side;
use tcp::{StackCounts, TcpCounts};

/// Counts of one side of one entry.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionCounts {
    pub(crate) app: Counts,
    /// Of each application of a mix, in its order; empty if there is only one.
    pub(crate) members: Vec<Counts>,
    /// Of each of its hosts, in their order; empty if there is only one.
    pub(crate) hosts: Vec<Counts>,
    pub(crate) tcp: TcpCounts,
    pub(crate) frames: StackCounts,
    /// Sessions that were due and not opened because the worker was too slow: of an interval, how many more.
    pub(crate) unopened: i64,
    /// Sessions that were due and not opened because there were as many as there may be.
    pub(crate) withheld: u64,
    /// Requests that were due and not sent because no session was free: of an interval, how many more.
    pub(crate) unsent_requests: i64,
    /// The same of workers whose sessions are all over, for requests that are sent late, and the number of workers with others.
    pub(crate) overdue: i64,
    pub(crate) busy: i64,
}

impl SessionCounts {
    /// Index of an entry's side in a list of all.
    pub(crate) fn index(entry: usize, side: Side) -> usize {
        2 * entry + usize::from(side == Side::Server)
    }

    /// Adds another worker's.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.app.merge(&other.app);
        self.each_part(other, Counts::merge);
        self.add_rest(other);
    }

    /// Adds a later interval of the same worker.
    pub(crate) fn append(&mut self, later: &Self) {
        self.app.append(&later.app);
        self.each_part(later, Counts::append);
        self.add_rest(later);
    }

    /// Counts that begin anew: the sessions that are open, and nothing else.
    pub(crate) fn carried(&self) -> Self {
        let all = |parts: &[Counts]| parts.iter().map(Counts::carry_on).collect();
        let (members, hosts) = (all(&self.members), all(&self.hosts));
        Self { app: self.app.carry_on(), members, hosts, busy: self.busy, ..Self::default() }
    }

    /// Requests that were due and not sent. Once the sessions of all workers are over, none is due.
    pub(crate) fn unsent(&self) -> i64 {
        self.unsent_requests + if self.busy > 0 { self.overdue } else { 0 }
    }

    /// Adds what one application of a mix, or one host, counted to `parts`, at its place.
    pub(crate) fn add_part(parts: &mut Vec<Counts>, place: usize, counts: &Counts) {
        if parts.len() <= place {
            parts.resize_with(place + 1, Counts::default);
        }
        parts[place].merge(counts);
    }

    fn each_part(&mut self, other: &Self, add: fn(&mut Counts, &Counts)) {
        for (mine, theirs) in [(&mut self.members, &other.members), (&mut self.hosts, &other.hosts)] {
            let all = mine.len().max(theirs.len());
            mine.resize_with(all, Counts::default);
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| add(mine, theirs));
        }
    }

    fn add_rest(&mut self, other: &Self) {
        self.tcp.merge(&other.tcp);
        self.frames.merge(&other.frames);
        self.unopened += other.unopened;
        self.withheld += other.withheld;
        self.unsent_requests += other.unsent_requests;
        self.overdue += other.overdue;
        self.busy += other.busy;
    }

    pub(crate) fn clear(&mut self) {
        self.app.clear();
        self.members.iter_mut().chain(&mut self.hosts).for_each(Counts::clear);
        self.tcp.clear();
        self.frames.clear();
        (self.unopened, self.withheld) = (0, 0);
        (self.unsent_requests, self.overdue, self.busy) = (0, 0, 0);
    }
}
