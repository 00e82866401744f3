//! The groups of a host, and when to send reports.

use super::message::{RECORDS_MAX, RecordType, Reporter, put_record, record_len};
use super::query::{Heard, Query};
use crate::frame::{Mac, Received};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use units::Nanos;
use wire::Vlans;

/// Frames of one call.
const AT_ONCE: usize = 64;
/// Number of times that a change is reported, unless set by a querier (RFC 3376 section 8.1).
const ROBUSTNESS: u8 = 2;
/// Within which a change is reported again (RFC 3376 section 8.11); IGMPv2 and MLDv1 have 10 s.
const AGAIN_WITHIN: Nanos = Nanos::from_secs(1);
const AGAIN_WITHIN_OLD: Nanos = Nanos::from_secs(10);
/// Query interval, unless set by a querier (RFC 3376 section 8.2).
const QUERY_INTERVAL: Nanos = Nanos::from_secs(125);
/// Sources of a group that fit into one record.
pub(super) const SOURCES_MAX: usize = 80;

/// The host that is a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupHost {
    /// Its hardware address.
    pub mac: Mac,
    /// Its VLANs, outermost first.
    pub vlans: Vlans,
    /// Its IPv4 address; unspecified if it has none.
    pub ip: Ipv4Addr,
    /// Its link-local address.
    pub link_local: Ipv6Addr,
    /// Whether it uses only IGMPv2; otherwise IGMPv3, and IGMPv2 with an IGMPv2 querier.
    pub igmp_v2: bool,
    /// Whether it uses only MLDv1; otherwise MLDv2, and MLDv1 with an MLDv1 querier.
    pub mld_v1: bool,
    /// Groups joined or left in a second, at most; at least 1.
    pub rate: u32,
    /// For the spread of reports.
    pub seed: u64,
}

/// A host's membership of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// The group.
    pub group: IpAddr,
    /// Whether it wants all but `sources`; otherwise only those.
    pub exclude: bool,
    /// Of the group's family. All members of many groups can share them.
    pub sources: Arc<[IpAddr]>,
}

/// Counters of sent and received messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupCounts {
    /// Groups joined so far.
    pub joined: u64,
    /// Groups left so far.
    pub left: u64,
    /// Frames with reports sent, including leaves.
    pub reports: u64,
    /// Queries received.
    pub queries: u64,
    /// When the first group was joined while traffic ran, after it started.
    pub first_join: Option<Nanos>,
    /// When the first group was left while traffic ran, after it started.
    pub first_leave: Option<Nanos>,
}

/// Pending report on a group.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Due {
    Nothing,
    /// It was joined; number of reports left.
    Join(u8),
    /// It was left; number of reports left.
    Leave(u8),
    /// Reply to a query.
    Answer,
    /// Reply to a query about these sources, which are wanted.
    AnswerSources(Arc<[IpAddr]>),
}

/// One group.
#[derive(Debug)]
struct Member {
    at: Nanos,
    due: Due,
    exclude: bool,
    sources: Arc<[IpAddr]>,
    /// When it was joined.
    since: Nanos,
}

/// Joins and leaves that wait for their turn.
#[derive(Debug)]
enum Wish {
    Join(Membership),
    Leave(IpAddr),
}

/// The memberships of a host.
#[derive(Debug)]
pub struct GroupMembers {
    host: GroupHost,
    members: BTreeMap<IpAddr, Member>,
    timers: BTreeSet<(Nanos, IpAddr)>,
    wishes: std::collections::VecDeque<Wish>,
    next_wish: Nanos,
    /// Until when a querier of an older version is thought to be there, of IGMP and of MLD.
    older_until: [Nanos; 2],
    robustness: u8,
    counts: GroupCounts,
    /// When traffic started; [`Nanos::MAX`] if it does not run.
    epoch: Nanos,
    key: u64,
    words: u64,
}

impl GroupMembers {
    /// A host without groups.
    pub fn new(host: GroupHost) -> Self {
        Self {
            key: random::key(host.seed),
            host,
            members: BTreeMap::new(),
            timers: BTreeSet::new(),
            wishes: std::collections::VecDeque::new(),
            next_wish: Nanos::ZERO,
            older_until: [Nanos::ZERO; 2],
            robustness: ROBUSTNESS,
            counts: GroupCounts::default(),
            epoch: Nanos::MAX,
            words: 0,
        }
    }

    /// Traffic starts at `epoch`; [`Nanos::MAX`]: it has ended.
    pub fn start(&mut self, epoch: Nanos) {
        self.epoch = epoch;
    }

    /// Joins a group, in turn. Sources beyond what one record holds are left out.
    pub fn join(&mut self, membership: Membership) {
        self.wishes.push_back(Wish::Join(membership));
    }

    /// Leaves a group, in turn.
    pub fn leave(&mut self, group: IpAddr) {
        self.wishes.push_back(Wish::Leave(group));
    }

    /// Leaves all groups, in turn.
    pub fn leave_all(&mut self) {
        self.wishes.clear();
        let groups = self.groups().collect::<Vec<_>>();
        groups.into_iter().for_each(|group| self.leave(group));
    }

    /// The groups that are joined.
    pub fn groups(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.members
            .iter()
            .filter(|(_, member)| !matches!(member.due, Due::Leave(_)))
            .map(|(group, _)| *group)
    }

    /// The groups that are joined, and since when.
    pub fn memberships(&self) -> impl Iterator<Item = (Membership, Nanos)> + '_ {
        let is_joined = |member: &Member| !matches!(member.due, Due::Leave(_));
        self.members.iter().filter(move |(_, member)| is_joined(member)).map(|(group, member)| {
            let (exclude, sources) = (member.exclude, member.sources.clone());
            (Membership { group: *group, exclude, sources }, member.since)
        })
    }

    /// Whether every membership was reported once.
    pub fn is_settled(&self) -> bool {
        let fresh = |member: &Member| match member.due {
            Due::Join(left) | Due::Leave(left) => left >= self.robustness,
            _ => false,
        };
        self.wishes.is_empty() && !self.members.values().any(fresh)
    }

    /// The host that is a member.
    pub fn host(&self) -> &GroupHost {
        &self.host
    }

    /// Counters of sent and received messages.
    pub fn counts(&self) -> GroupCounts {
        self.counts
    }

    /// When there is something to do; [`Nanos::MAX`] if only a frame or a wish can bring it.
    pub fn next_due(&self) -> Nanos {
        let timer = self.timers.first().map_or(Nanos::MAX, |(at, _)| *at);
        if self.wishes.is_empty() { timer } else { timer.min(self.next_wish) }
    }

    /// Adds the frames that are due, some at a time.
    pub fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        self.grant(now);
        let mut reports = Reports::default();
        let before = frames.len();
        while frames.len() < before + AT_ONCE {
            let Some((at, group)) = self.timers.first().copied().filter(|(at, _)| *at <= now) else { break };
            self.timers.remove(&(at, group));
            self.say(now, group, &mut reports, frames);
        }
        reports.finish(&self.host, frames);
        self.counts.reports += (frames.len() - before) as u64;
    }

    /// Looks at a received frame; returns whether it was a query or a report.
    pub fn take(&mut self, now: Nanos, frame: &[u8]) -> bool {
        let Some(received) = Received::read(frame) else { return false };
        if received.vlans != self.host.vlans || received.from == self.host.mac {
            return false;
        }
        match Heard::read(&received.packet) {
            None => return false,
            Some(Heard::Query(query)) => self.hear(now, &query),
            // RFC 2236 section 3: one report for a group is enough.
            Some(Heard::Report(group)) if self.is_old(now, group.is_ipv4()) => {
                if self.members.get(&group).is_some_and(|member| member.due == Due::Answer) {
                    self.set(group, Due::Nothing, Nanos::MAX);
                }
            }
            Some(Heard::Report(_)) => {}
        }
        true
    }

    fn word(&mut self) -> u64 {
        self.words += 1;
        random::word(self.key, self.words)
    }

    /// An instant within `span` from `now`.
    fn within(&mut self, now: Nanos, span: Nanos) -> Nanos {
        let word = self.word();
        now.saturating_add(Nanos(random::below(word, span.0.max(1))))
    }

    /// Whether the older version is used (RFC 3376 section 7.2.1, RFC 3810 section 8.2.1).
    fn is_old(&self, now: Nanos, is_v4: bool) -> bool {
        let only = if is_v4 { self.host.igmp_v2 } else { self.host.mld_v1 };
        only || now < self.older_until[usize::from(!is_v4)]
    }

    /// Takes wishes at the rate.
    fn grant(&mut self, now: Nanos) {
        let gap = 1_000_000_000 / u64::from(self.host.rate.max(1));
        let earliest = Nanos(now.0.saturating_sub(gap.saturating_mul(AT_ONCE as u64)));
        for _ in 0..AT_ONCE {
            if self.next_wish > now {
                return;
            }
            let Some(wish) = self.wishes.pop_front() else { return };
            // The first one of many waits for nothing, and has nothing to catch up.
            self.next_wish = if self.next_wish < earliest { now } else { self.next_wish };
            self.next_wish = self.next_wish.saturating_add(Nanos(gap));
            match wish {
                Wish::Join(membership) => self.begin(now, membership),
                Wish::Leave(group) => self.end(now, group),
            }
        }
    }

    fn begin(&mut self, now: Nanos, Membership { group, exclude, sources }: Membership) {
        let kin = |ip: &&IpAddr| ip.is_ipv4() == group.is_ipv4();
        let fits = sources.len() <= SOURCES_MAX && sources.iter().all(|ip| kin(&ip));
        let sources =
            if fits { sources } else { sources.iter().filter(kin).take(SOURCES_MAX).copied().collect() };
        if let Some(member) = self.members.get(&group) {
            self.timers.remove(&(member.at, group));
        } else {
            self.counts.joined += 1;
        }
        self.members
            .insert(group, Member { at: Nanos::MAX, due: Due::Nothing, exclude, sources, since: now });
        self.set(group, Due::Join(self.robustness), now);
    }

    fn end(&mut self, now: Nanos, group: IpAddr) {
        let is_joined = self.members.get(&group).is_some_and(|member| !matches!(member.due, Due::Leave(_)));
        if is_joined {
            self.counts.left += 1;
            self.set(group, Due::Leave(self.robustness), now);
        }
    }

    fn set(&mut self, group: IpAddr, due: Due, at: Nanos) {
        let Some(member) = self.members.get_mut(&group) else { return };
        self.timers.remove(&(member.at, group));
        (member.due, member.at) = (due, at);
        if at < Nanos::MAX {
            self.timers.insert((at, group));
        }
    }

    fn hear(&mut self, now: Nanos, query: &Query) {
        self.counts.queries += 1;
        if query.robustness > 0 {
            self.robustness = query.robustness;
        }
        if !query.is_new {
            // RFC 3376 section 8.12: so long after the last such query.
            let interval = Nanos(QUERY_INTERVAL.0 * u64::from(self.robustness));
            self.older_until[usize::from(!query.is_v4)] =
                now.saturating_add(interval).saturating_add(query.within);
        }
        let Some(group) = query.group else { return self.hear_general(now, query) };
        let Some(member) = self.members.get(&group) else { return };
        let due = if query.sources.is_empty() {
            Due::Answer
        } else {
            // RFC 3376 section 5.2, rule 3: those of the sources that are wanted.
            let is_wanted = |ip: &&IpAddr| member.sources.contains(ip) != member.exclude;
            let wanted: Arc<[IpAddr]> =
                query.sources.iter().filter(is_wanted).take(SOURCES_MAX).copied().collect();
            if wanted.is_empty() {
                return;
            }
            Due::AnswerSources(wanted)
        };
        let at = self.within(now, query.within);
        self.answer(group, due, at);
    }

    fn hear_general(&mut self, now: Nanos, query: &Query) {
        let together = self.within(now, query.within);
        let is_old = self.is_old(now, query.is_v4);
        let groups: Vec<IpAddr> =
            self.members.keys().filter(|ip| ip.is_ipv4() == query.is_v4).copied().collect();
        for group in groups {
            // One report has many records, but only one group of an older version.
            let at = if is_old { self.within(now, query.within) } else { together };
            self.answer(group, Due::Answer, at);
        }
    }

    /// Schedules a reply, unless a report is due earlier or a change is not reported yet.
    fn answer(&mut self, group: IpAddr, due: Due, at: Nanos) {
        let Some(member) = self.members.get(&group) else { return };
        let at = match (&member.due, &due) {
            (Due::Join(_) | Due::Leave(_), _) => return,
            (Due::Nothing, _) => at,
            // What is asked of the whole group answers for sources, too.
            (Due::Answer, Due::AnswerSources(_)) => return,
            _ => at.min(member.at),
        };
        self.set(group, due, at);
    }

    /// Says what is due of a group.
    fn say(&mut self, now: Nanos, group: IpAddr, reports: &mut Reports, frames: &mut Vec<Vec<u8>>) {
        let is_old = self.is_old(now, group.is_ipv4());
        let again = self.within(now, if is_old { AGAIN_WITHIN_OLD } else { AGAIN_WITHIN });
        let Some(member) = self.members.get(&group) else { return };
        let (kind, sources) = match (&member.due, member.exclude) {
            (Due::Nothing, _) => return,
            (Due::Join(_), true) => (RecordType::ToExclude, &member.sources),
            (Due::Join(_), false) => (RecordType::Allow, &member.sources),
            (Due::Leave(_), true) => (RecordType::ToInclude, &Arc::default()),
            (Due::Leave(_), false) => (RecordType::Block, &member.sources),
            (Due::Answer, true) => (RecordType::IsExclude, &member.sources),
            (Due::Answer, false) => (RecordType::IsInclude, &member.sources),
            (Due::AnswerSources(sources), _) => (RecordType::IsInclude, sources),
        };
        let leaves = matches!(member.due, Due::Leave(_));
        if self.epoch < Nanos::MAX {
            let at = now.since(self.epoch);
            match member.due {
                // Not what is said again.
                Due::Join(left) if left >= self.robustness => {
                    self.counts.first_join.get_or_insert(at);
                }
                Due::Leave(left) if left >= self.robustness => {
                    self.counts.first_leave.get_or_insert(at);
                }
                _ => {}
            }
        }
        if is_old {
            frames.push(self.host.reporter().single(group, leaves));
        } else {
            reports.add(&self.host, kind, group, sources, frames);
        }
        let left = match member.due {
            Due::Join(left) => left.saturating_sub(1),
            // IGMPv2 says once that it leaves (RFC 2236 section 3).
            Due::Leave(left) if !is_old => left.saturating_sub(1),
            _ => 0,
        };
        match (left, leaves) {
            (0, true) => drop(self.members.remove(&group)),
            (0, false) => self.set(group, Due::Nothing, Nanos::MAX),
            (left, true) => self.set(group, Due::Leave(left), again),
            (left, false) => self.set(group, Due::Join(left), again),
        }
    }
}

impl GroupHost {
    fn reporter(&self) -> Reporter<'_> {
        Reporter { mac: self.mac, vlans: &self.vlans, ip: self.ip, link_local: self.link_local }
    }
}

/// Records on their way into frames, of IPv4 and of IPv6.
#[derive(Default)]
struct Reports {
    records: [Vec<u8>; 2],
    numbers: [u16; 2],
}

impl Reports {
    fn add(
        &mut self,
        host: &GroupHost,
        kind: RecordType,
        group: IpAddr,
        sources: &[IpAddr],
        frames: &mut Vec<Vec<u8>>,
    ) {
        let family = usize::from(group.is_ipv6());
        if self.records[family].len() + record_len(group, sources) > RECORDS_MAX {
            self.flush(host, family, frames);
        }
        put_record(&mut self.records[family], kind, group, sources);
        self.numbers[family] += 1;
    }

    fn flush(&mut self, host: &GroupHost, family: usize, frames: &mut Vec<Vec<u8>>) {
        if self.numbers[family] > 0 {
            frames.push(host.reporter().records(family == 0, self.numbers[family], &self.records[family]));
            self.records[family].clear();
            self.numbers[family] = 0;
        }
    }

    fn finish(mut self, host: &GroupHost, frames: &mut Vec<Vec<u8>>) {
        (0..2).for_each(|family| self.flush(host, family, frames));
    }
}

#[cfg(test)]
mod tests;
