//! The clients of one entry as one worker plays them: which sessions to open now, what they run, from where to where.

use crate::apps::{Apps, GroupKey};
use crate::load::{Opener, OpenerTotals, Opening};
use crate::plan::{SessionPlan, Side};
use crate::pool::{Pool, Tuple};
use crate::scale::Scale;
use crate::turns::Turns;
use std::ops::RangeInclusive;
use tcp::GroupId;
use units::Nanos;

/// Sessions that are opened at a time although more frames wait than are taken in: some must begin, even if none ends.
const FEW: u64 = 4;

/// The clients of one entry.
#[derive(Debug)]
pub struct Clients {
    opener: Opener,
    turns: Turns,
    /// For each application of the mix: the group of its first host, followed by the groups of the other hosts.
    members: Vec<(GroupId, Pool)>,
    /// That of an application that clients take where it is announced; it goes to the pairs of the first.
    alternative: Option<GroupId>,
    hosts: u16,
    /// Of this worker's applications, sent and received.
    bytes: Option<u64>,
    ports: RangeInclusive<u16>,
    opened: u64,
    ended: u64,
}

impl Clients {
    /// Those of entry `session`, for worker `worker` of `workers`; `groups` are all there are
    /// ([`groups`](crate::groups)). `None` if the entry's clients are someone else's.
    ///
    /// # Panics
    /// If there are as many workers as in `worker`, or fewer.
    pub fn new(
        plan: &SessionPlan,
        session: usize,
        groups: &[GroupKey],
        worker: usize,
        workers: usize,
    ) -> Option<Self> {
        let hosts = plan.client.as_ref()?.hosts.len() as u16;
        let member = |(index, member): (usize, &crate::plan::Member)| {
            let key = GroupKey { session, side: Side::Client, member: index, host: 0 };
            let place = groups.iter().position(|group| *group == key)?;
            let ports = member.server_ports.as_ref();
            Some((GroupId(place as u16), Pool::new(&plan.clients, &plan.servers, ports, plan.order)))
        };
        let all = &plan.mix.members;
        let own = all.iter().filter(|member| !member.is_alternative).count();
        let weights: Vec<u32> = all[..own].iter().map(|member| member.weight).collect();
        let mut members = all.iter().enumerate().map(member).collect::<Option<Vec<_>>>()?;
        let alternative = members.drain(own..).next().map(|(group, _)| group);
        Some(Self {
            opener: Opener::new(&plan.load, worker as u64, workers as u64),
            turns: Turns::new(&weights, plan.mix.order),
            members,
            alternative,
            hosts,
            bytes: plan.load.bytes.map(|bytes| bytes.div_ceil(workers as u64)),
            ports: plan.clients.ports.clone(),
            opened: 0,
            ended: 0,
        })
    }

    /// The sessions to open at `now`, counted from the start of traffic: at most `most` at a time, the others stay due.
    /// They count as opened: each must be started ([`Apps::start`]) before this is called again.
    ///
    /// If the caller `is_behind`, sessions at a rate are limited to the number ended since the last call, or a few:
    /// sessions that cannot be opened in time stay due, and do not keep open ones waiting until they fail.
    pub fn poll(&mut self, now: Nanos, apps: &Apps, most: u64, is_behind: bool) -> Opening {
        let active = self.active(apps);
        let all_ended = self.opened.saturating_sub(active);
        let ended = all_ended.saturating_sub(self.ended);
        self.opener.ended(now, ended);
        if ended > 0 {
            let progress = self.groups().map(|group| apps.progress(group)).sum();
            self.opener.tried(now, ended, progress);
        }
        self.ended += ended;
        // Without a rate, sessions that end make room for others.
        let most = if is_behind && self.opener.has_rate() { most.min(ended.max(FEW)) } else { most };
        if let Some(limit) = self.bytes
            && self.groups().map(|group| apps.bytes(group)).sum::<u64>() >= limit
        {
            self.opener.stop_at(now);
        }
        if self.has_asked_all(apps) {
            if active > 0 && !self.opener.has_rate() {
                return self.opener.none();
            }
            self.opener.stop_at(now);
        }
        let opening = self.opener.poll(now, active, most);
        self.opened += opening.count;
        opening
    }

    /// Which group session `number` belongs to, and where it goes: the next free pair for which `owned` holds. With `alternative`
    /// ([`Apps::alternative`]) it goes to this port of the server, by HTTP/3.
    pub fn place(
        &mut self,
        number: u64,
        alternative: Option<u16>,
        mut owned: impl FnMut(&Tuple) -> bool,
    ) -> (GroupId, Option<Tuple>) {
        let (first, pool) = &mut self.members[self.turns.pick(number)];
        let other = alternative.zip(self.alternative);
        let moved = |mut tuple: Tuple| {
            if let Some((port, _)) = other {
                tuple.server.set_port(port);
            }
            tuple
        };
        let first = other.map_or(first.0, |(_, group)| group.0);
        let tuple = pool.next(|tuple| owned(&moved(*tuple))).map(|(_, tuple)| moved(tuple));
        (GroupId(first + tuple.map_or(0, |tuple| tuple.host as u16)), tuple)
    }

    fn groups(&self) -> impl Iterator<Item = GroupId> + '_ {
        let firsts = self.members.iter().map(|(first, _)| *first).chain(self.alternative);
        firsts.flat_map(|first| (0..self.hosts).map(move |host| GroupId(first.0 + host)))
    }

    /// Ports of clients from `first` on, each once.
    pub fn ports_from(&self, first: u16) -> impl Iterator<Item = u16> + use<> {
        (first..=*self.ports.end()).chain(*self.ports.start()..first)
    }

    /// All client ports, from the one on that is half of them further than `port`.
    pub fn ports_beyond(&self, port: u16) -> impl Iterator<Item = u16> + use<> {
        let (first, last) = (*self.ports.start(), *self.ports.end());
        let all = u32::from(last.saturating_sub(first)) + 1;
        let beyond = (u32::from(port.saturating_sub(first)) + all / 2) % all;
        self.ports_from(first.saturating_add(beyond as u16))
    }

    /// Whether all requests of the entry are sent. One that a server has not processed is to be sent again, so that this
    /// is final only once no session is left.
    fn has_asked_all(&self, apps: &Apps) -> bool {
        self.groups().next().is_some_and(|group| apps.has_asked_all(group))
    }

    /// Sessions there are now.
    pub fn active(&self, apps: &Apps) -> u64 {
        self.groups().map(|group| apps.active(group)).sum()
    }

    /// When [`Clients::poll`] has something to open next, as far as time alone decides.
    pub fn deadline(&self, apps: &Apps) -> Nanos {
        let active = self.active(apps);
        let waits = active > 0 && !self.opener.has_rate() && self.has_asked_all(apps);
        if waits { Nanos::MAX } else { self.opener.deadline(active) }
    }

    /// Scales the rate of opening relative to the plan, from `at` since the start of traffic on.
    pub fn scale(&mut self, at: Nanos, scale: Scale) {
        self.opener.scale(at, scale);
    }

    /// Opens nothing more.
    pub fn stop(&mut self) {
        self.opener.stop();
    }

    /// Whether nothing more will be opened.
    pub fn is_done(&self, now: Nanos) -> bool {
        self.opener.is_done(now)
    }

    /// Sessions that were due by `now` and neither opened nor withheld yet: what was due when a limit was reached counts,
    /// what would have been due after it does not.
    pub fn missed(&self, now: Nanos) -> u64 {
        self.opener.missed(now)
    }

    /// Totals of the load so far.
    pub fn totals(&self) -> OpenerTotals {
        self.opener.totals()
    }
}
