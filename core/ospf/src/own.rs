//! The LSAs that a router originates (RFC 2328 section 12.4): its own, those of the routers generated behind it, and those of its routes
//! that are no links. Each group of them has one sequence number and one age; an LSA is built when it is asked for.

use crate::lsa::{
    EXTERNAL, FLAG_AREA_BORDER, FLAG_EXTERNAL, INITIAL_SEQUENCE, Link, LsaHeader, LsaKey, MAX_AGE,
    OPTION_EXTERNAL, ROUTER, SUMMARY, put_external, put_lsa, put_router, put_summary,
};
use crate::routes::{RouteKind, RouteRange, Topology};
use linkstate::Place;
use std::net::Ipv4Addr;
use std::sync::Arc;
use units::Nanos;

/// Time between two instances of an LSA, at least (RFC 2328 appendix B).
pub const MIN_LS_INTERVAL: Nanos = Nanos::from_secs(5);
/// Routers take no second instance of an LSA within this time (appendix B).
pub const MIN_LS_ARRIVAL: Nanos = Nanos::from_secs(1);
/// What a transfer adds to the age of an LSA, s.
const TRANSMIT_DELAY_S: u64 = 1;

/// The router's own LSA.
pub(crate) const OWN: usize = 0;
/// Those of generated routers.
pub(crate) const GENERATED: usize = 1;
/// Those of the first range of routes.
const RANGES: usize = 2;

/// LSAs of a router.
#[derive(Debug)]
pub(crate) struct Own {
    id: Ipv4Addr,
    /// The router's number among those of its entry.
    number: u32,
    routes: Arc<[RouteRange]>,
    topology: Option<Topology>,
    groups: Vec<Group>,
    /// The links in the router's own LSA.
    links: Vec<Link>,
    /// Which ranges the LSAs of generated routers have as stub networks, or the router's own if there are none.
    shown: Vec<bool>,
    /// What commands have said of ranges.
    said: Vec<Option<bool>>,
    /// Which ranges were to be up at the last step.
    wanted: Vec<bool>,
    /// When a range's schedule changes something next, after the start of traffic.
    next: Option<Nanos>,
    /// The age at which an LSA is originated again.
    refresh: Nanos,
}

/// LSAs that come and go together.
#[derive(Debug, Clone, Copy)]
struct Group {
    count: u32,
    version: Version,
    /// When this version was originated; `None` until there is a first one.
    originated: Option<Nanos>,
    /// When it was last originated or flushed.
    changed: Nanos,
    /// Whether some of them were sent.
    is_sent: bool,
    /// Whether there is an instance with this sequence number somewhere.
    is_used: bool,
    /// Whether they must be originated again although nothing of them changed: a newer instance is out there.
    is_outdated: bool,
}

/// What a neighbour can know of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) sequence: i32,
    /// Whether they are there; if not, they are flushed.
    pub(crate) is_up: bool,
}

/// What a step changed.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Groups that are to be flooded.
    pub(crate) groups: Vec<usize>,
    /// LSAs that were only refreshed.
    pub(crate) refreshed: u64,
    /// Ranges of routes that came or went.
    pub(crate) ranges: Vec<(usize, bool)>,
}

impl Own {
    pub(crate) fn new(
        id: Ipv4Addr,
        number: u32,
        routes: Arc<[RouteRange]>,
        topology: Option<Topology>,
        refresh: Nanos,
    ) -> Self {
        let generated = topology.map_or(0, |topology| topology.routers);
        let lsas = routes.iter().map(|range| if range.kind.lsa().is_some() { range.count } else { 0 });
        let group = |count| Group {
            count,
            version: Version { sequence: INITIAL_SEQUENCE, is_up: false },
            originated: None,
            changed: Nanos::ZERO,
            is_sent: false,
            is_used: false,
            is_outdated: false,
        };
        Self {
            id,
            number,
            groups: [1, generated].into_iter().chain(lsas).map(group).collect(),
            links: Vec::new(),
            shown: vec![false; routes.len()],
            said: vec![None; routes.len()],
            wanted: vec![false; routes.len()],
            next: None,
            refresh,
            routes,
            topology,
        }
    }

    /// How many groups there are.
    pub(crate) fn groups(&self) -> usize {
        self.groups.len()
    }

    /// How many LSAs a group has.
    pub(crate) fn count(&self, group: usize) -> u32 {
        self.groups[group].count
    }

    pub(crate) fn version(&self, group: usize) -> Version {
        self.groups[group].version
    }

    /// Whether anything of a group can be at others.
    pub(crate) fn is_known(&self, group: usize) -> bool {
        self.groups[group].originated.is_some()
    }

    /// Routes of a range.
    pub(crate) fn routes(&self, range: usize) -> u64 {
        self.routes[range].count.into()
    }

    /// Ranges whose routes are up.
    pub(crate) fn up(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.routes.len()).filter(|range| self.is_up(*range))
    }

    fn is_up(&self, range: usize) -> bool {
        match self.routes[range].kind {
            RouteKind::Internal => self.groups[self.internal()].version.is_up && self.shown[range],
            _ => self.groups[RANGES + range].version.is_up,
        }
    }

    /// The group whose LSAs have internal routes.
    fn internal(&self) -> usize {
        if self.topology.is_some() { GENERATED } else { OWN }
    }

    /// Flags of the router's own LSA.
    fn flags(&self) -> u8 {
        let flag = |range: &RouteRange| match range.kind {
            RouteKind::Internal => 0,
            RouteKind::InterArea => FLAG_AREA_BORDER,
            RouteKind::External1 | RouteKind::External2 => FLAG_EXTERNAL,
        };
        self.routes.iter().fold(0, |flags, range| flags | flag(range))
    }

    /// Lets a range be advertised, or withdraws it, whatever its schedule says.
    pub(crate) fn set_range(&mut self, range: usize, up: bool) {
        self.said[range] = Some(up);
    }

    /// Whether a router is this one, or generated behind it.
    pub(crate) fn is_mine(&self, router: Ipv4Addr) -> bool {
        router == self.id || self.topology.is_some_and(|topology| topology.number(router).is_some())
    }

    /// Where the LSA with a key is, if it is one of these.
    pub(crate) fn find(&self, key: &LsaKey) -> Option<Place> {
        match key.kind {
            ROUTER if key.id != key.router => None,
            ROUTER if key.id == self.id => Some((OWN as u32, 0)),
            ROUTER => Some((GENERATED as u32, self.topology?.number(key.id)?)),
            EXTERNAL | SUMMARY if key.router == self.id => {
                let of_type = |(_, range): &(usize, &RouteRange)| range.kind.lsa() == Some(key.kind);
                let ranges = self.routes.iter().enumerate().filter(of_type);
                ranges
                    .filter_map(|(range, routes)| {
                        Some(((RANGES + range) as u32, routes.index_of(self.number, key.id)?))
                    })
                    .next()
            }
            _ => None,
        }
    }

    /// Appends the LSA at a place, as it is at `now`.
    pub(crate) fn put(&self, now: Nanos, (group, index): Place, out: &mut Vec<u8>) {
        let Group { version, originated, .. } = self.groups[group as usize];
        let since = originated.map_or(0, |at| now.since(at).0 / Nanos::from_secs(1).0);
        let age = match version.is_up {
            true => (since + TRANSMIT_DELAY_S).min(u64::from(MAX_AGE) - 1) as u16,
            false => MAX_AGE,
        };
        let header = |kind, id, router| LsaHeader {
            age,
            options: OPTION_EXTERNAL,
            key: LsaKey { kind, id, router },
            sequence: version.sequence,
            checksum: 0,
            len: 0,
        };
        match (group as usize, self.topology) {
            (OWN, _) => {
                let ranges = self.shown_ranges().filter(|_| self.topology.is_none());
                let stubs = ranges.flat_map(|range| range.stubs(self.number, 0..range.count));
                put_lsa(out, &header(ROUTER, self.id, self.id), |out| {
                    put_router(out, self.flags(), self.links.iter().copied().chain(stubs))
                });
            }
            (GENERATED, Some(topology)) => {
                let id = topology.id(index);
                put_lsa(out, &header(ROUTER, id, id), |out| {
                    put_router(out, 0, topology.links(index, self.id, self.number, self.shown_ranges()))
                });
            }
            _ => {
                let range = &self.routes[group as usize - RANGES];
                let id = range.prefix(self.number, index).unwrap_or(Ipv4Addr::UNSPECIFIED);
                let kind = range.kind.lsa().unwrap_or(EXTERNAL);
                put_lsa(out, &header(kind, id, self.id), |out| match range.kind {
                    RouteKind::InterArea => put_summary(out, range.prefix_len, range.metric),
                    kind => {
                        let is_type_2 = kind == RouteKind::External2;
                        put_external(out, range.prefix_len, is_type_2, range.metric, range.tag)
                    }
                });
            }
        }
    }

    /// The header of the LSA at a place.
    pub(crate) fn header(&self, now: Nanos, place: Place) -> Option<LsaHeader> {
        let mut out = Vec::new();
        self.put(now, place, &mut out);
        LsaHeader::read(&out)
    }

    /// Some of a group were sent.
    pub(crate) fn note_sent(&mut self, group: usize) {
        self.groups[group].is_sent = true;
    }

    /// A newer instance of one of these is out there. It is originated again with a higher number, or flushed with this one.
    pub(crate) fn overtake(&mut self, group: usize, sequence: i32) {
        let group = &mut self.groups[group];
        group.version.sequence = group.version.sequence.max(sequence);
        (group.is_outdated, group.is_used) = (true, true);
    }

    /// Originates, refreshes and flushes what is due. `since` is the time since the start of traffic, `links` are the router's own and
    /// `None` as long as nobody knows it; `is_shut`: all is to be flushed.
    pub(crate) fn step(
        &mut self,
        now: Nanos,
        since: Nanos,
        links: Option<&[Link]>,
        is_shut: bool,
    ) -> Changes {
        let mut changes = Changes::default();
        self.next = None;
        for (range, routes) in self.routes.iter().enumerate() {
            let (is_up, change) = routes.schedule.at(since);
            let said = self.said[range];
            self.wanted[range] = said.unwrap_or(is_up) && !is_shut;
            self.next = self.next.into_iter().chain(change.filter(|_| said.is_none())).min();
        }
        for group in 0..self.groups.len() {
            let (is_wanted, differs) = self.wish(group, links, is_shut);
            let is_internal = group == self.internal();
            let it = &mut self.groups[group];
            if it.due(is_wanted, differs, self.refresh).is_none_or(|due| due > now) {
                continue;
            }
            let was_up = it.version.is_up;
            if is_wanted {
                it.originate(now);
                if group == OWN {
                    self.links = links.unwrap_or_default().to_vec();
                }
                if group >= RANGES && !was_up {
                    changes.ranges.push((group - RANGES, true));
                }
                let is_same = was_up && !differs && !it.is_outdated;
                changes.refreshed += if is_same { it.count.into() } else { 0 };
            } else {
                it.version.is_up = false;
                it.changed = now;
                if group >= RANGES && was_up {
                    changes.ranges.push((group - RANGES, false));
                }
            }
            if is_internal {
                for range in 0..self.routes.len() {
                    let shows = is_wanted && self.shows(range);
                    if std::mem::replace(&mut self.shown[range], shows) != shows {
                        changes.ranges.push((range, shows));
                    }
                }
            }
            self.groups[group].is_outdated = false;
            changes.groups.push(group);
        }
        changes
    }

    /// When a step has something to do; `epoch` is the start of traffic.
    pub(crate) fn next_due(&self, epoch: Nanos, links: Option<&[Link]>, is_shut: bool) -> Nanos {
        let later = self.next.map_or(Nanos::MAX, |at| epoch.saturating_add(at));
        let due = |group: usize| {
            let (is_wanted, differs) = self.wish(group, links, is_shut);
            self.groups[group].due(is_wanted, differs, self.refresh).unwrap_or(Nanos::MAX)
        };
        (0..self.groups.len()).map(due).min().unwrap_or(Nanos::MAX).min(later)
    }
}

impl Own {
    /// Whether all groups are as they are to be: nothing waits for its time.
    pub(crate) fn is_current(&self, links: Option<&[Link]>, is_shut: bool) -> bool {
        (0..self.groups.len()).all(|group| {
            let (is_wanted, differs) = self.wish(group, links, is_shut);
            let it = &self.groups[group];
            let is_wanted = is_wanted && it.count > 0;
            it.version.is_up == is_wanted && !it.is_outdated && !(is_wanted && differs)
        })
    }

    /// Whether a range is to be stub networks of routers.
    fn shows(&self, range: usize) -> bool {
        self.wanted[range] && self.routes[range].kind == RouteKind::Internal
    }

    /// Ranges that are stub networks of routers.
    fn shown_ranges(&self) -> impl Iterator<Item = &RouteRange> {
        self.routes.iter().zip(&self.shown).filter(|(_, shown)| **shown).map(|(one, _)| one)
    }

    /// Whether a group is to be there, and with other contents than it has.
    fn wish(&self, group: usize, links: Option<&[Link]>, is_shut: bool) -> (bool, bool) {
        let changes = || self.shown.iter().enumerate().any(|(range, shown)| *shown != self.shows(range));
        let differs = group == self.internal() && changes();
        match group {
            OWN => {
                let has_moved = links.is_some_and(|links| links != self.links);
                (links.is_some() && !is_shut, has_moved || differs)
            }
            GENERATED => (self.topology.is_some() && !is_shut, differs),
            _ => (self.wanted[group - RANGES], false),
        }
    }
}

impl Group {
    /// When this group is to be originated or flushed; `None` if there is nothing to do.
    fn due(&self, is_wanted: bool, differs: bool, refresh: Nanos) -> Option<Nanos> {
        let Version { is_up, sequence } = self.version;
        if self.count == 0 {
            return None;
        }
        if is_wanted {
            let spaced = match self.originated.filter(|_| self.is_sent) {
                Some(at) => {
                    at.saturating_add(MIN_LS_INTERVAL).max(self.changed.saturating_add(MIN_LS_ARRIVAL))
                }
                None => Nanos::ZERO,
            };
            let must = !is_up || differs || self.is_outdated;
            // The last number there is can't be followed by a higher one: it stays until it is flushed (section 12.1.6).
            let refresh =
                self.originated.map(|at| at.saturating_add(refresh)).filter(|_| sequence < i32::MAX);
            return if must { Some(spaced) } else { refresh };
        }
        let must = is_up || self.is_outdated;
        must.then(|| self.changed.saturating_add(if self.is_sent { MIN_LS_ARRIVAL } else { Nanos::ZERO }))
    }

    fn originate(&mut self, now: Nanos) {
        if self.is_used {
            self.version.sequence = self.version.sequence.saturating_add(1);
        }
        self.version.is_up = true;
        self.is_used = true;
        self.originated = Some(now);
        self.changed = now;
    }
}
