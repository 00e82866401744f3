//! A level of a router: flooding its LSPs to the device, and receiving the device's (ISO/IEC 10589 section 7.3).
//!
//! On a point-to-point link, both first describe their databases by CSNPs, and LSPs are acknowledged by PSNPs. On a
//! LAN, the designated system sends CSNPs periodically: LSPs missing there are sent again, LSPs missing here are
//! requested by PSNPs.

use crate::counts::IsisCounts;
use crate::database::{Database, body};
use crate::own::{Link, Own, Said};
use crate::password::{self, Password};
use crate::pdu::{
    CSNP_HEADER, ENTRIES, ENTRIES_IN_TLV, LspHeader, LspId, PSNP_HEADER, Pdu, begin_snp, finish, links_to,
    put,
};
use linkstate::{Flood, Outcome, Place, RETRANSMIT};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use units::Nanos;

/// Time for which acknowledgments wait for others to be sent with them; shorter than the interval after which LSPs are
/// retransmitted.
const GATHER: Nanos = Nanos::from_millis(200);
/// Time to wait for LSPs that the device has and may be about to send.
const PATIENCE: Nanos = Nanos::from_millis(500);
/// Minimum time between two transmissions of an LSP, regardless of CSNPs that may have passed it in flight.
const TOO_SOON: Nanos = Nanos::from_millis(300);
/// Maximum number of requests for an LSP.
const ASK_TIMES: u8 = 5;
/// Maximum number of LSPs requested together, and of LSPs to purge together that claim to be this router's.
const WANTED_MAX: usize = 4_096;
const STRAYS_MAX: usize = 4_096;
/// Number of times that a purge is sent.
const PURGE_TIMES: u8 = 4;
/// LSPs that are sent again at once.
const AGAIN_MAX: usize = 256;
/// LSPs that are flooded at once.
const AT_ONCE: usize = 16;
/// Receiver of flooded LSPs: one neighbour represents the link.
const ALL: u8 = 1;

/// A level of a router.
#[derive(Debug)]
pub(crate) struct Level {
    /// 1 or 2, which is its bit as well.
    pub(crate) number: u8,
    pub(crate) own: Own,
    pub(crate) flood: Flood,
    pub(crate) database: Database,
    /// Peer of the database synchronization: the neighbour, or the designated system's circuit.
    pub(crate) with: Option<[u8; 7]>,
    /// LSPs of it that name the router, and whether some do it with narrow metrics alone.
    pub(crate) named: BTreeSet<LspId>,
    pub(crate) has_narrow: bool,
    /// Whether there ever was an adjacency: before it, the router's own LSP is not needed.
    pub(crate) was_adjacent: bool,
    /// Whether what there is is to be described.
    is_to_describe: bool,
    is_lan: bool,
    /// LSPs flooded in a second, and when more are.
    rate: u32,
    flood_at: Nanos,
    /// When own LSPs are checked again.
    pub(crate) step_at: Nanos,
    /// Headers to be acknowledged together, and when.
    owed: Vec<LspHeader>,
    acknowledge_at: Nanos,
    /// LSPs that the device has and that are missing here, with the number of requests, and the time of the next.
    wanted: BTreeMap<LspId, u8>,
    ask_at: Nanos,
    /// LSPs that call this router their own and are none of its: they are purged. Each with when that is sent next, and how often it was.
    strays: BTreeMap<LspId, (Nanos, u8, LspHeader)>,
    /// Whether neighbours know the routes of a range.
    told: Vec<bool>,
}

/// Output.
pub(crate) struct Out<'a> {
    pub(crate) pdus: &'a mut Vec<(u8, Vec<u8>)>,
    pub(crate) counts: &'a mut IsisCounts,
    /// Whether the routes of a router with two levels are counted by this one.
    pub(crate) counts_routes: bool,
    /// The time since the start of traffic, if it has started.
    pub(crate) since: Option<Nanos>,
}

impl Level {
    pub(crate) fn new(said: Said, is_lan: bool, (room, keep): (usize, usize), rate: u32) -> Self {
        let (number, ranges) = (said.level, said.routes.len());
        let own = Own::new(said);
        Self {
            number,
            flood: Flood::new((0..own.originations.groups()).map(|group| own.originations.count(group))),
            own,
            database: Database::new((), room, keep),
            with: None,
            named: BTreeSet::new(),
            has_narrow: false,
            was_adjacent: false,
            is_to_describe: false,
            is_lan,
            rate: rate.max(1),
            flood_at: Nanos::ZERO,
            step_at: Nanos::ZERO,
            owed: Vec::new(),
            acknowledge_at: Nanos::MAX,
            wanted: BTreeMap::new(),
            ask_at: Nanos::MAX,
            strays: BTreeMap::new(),
            told: vec![false; ranges],
        }
    }

    fn password(&self) -> Option<&Password> {
        self.own.said.password.as_ref()
    }

    /// Whether an LSP or SNP is authenticated as it should be.
    pub(crate) fn check(
        &self,
        pdu: &Pdu<'_>,
    ) -> Result<(), (password::Authentication, password::Authentication)> {
        password::check(pdu, self.password())
    }

    /// Whether an LSP is a purge that could be made without the key.
    pub(crate) fn is_forged(&self, pdu: &Pdu<'_>) -> bool {
        password::is_forged_purge(pdu, self.password())
    }

    /// There is a peer for synchronization, or none any more.
    pub(crate) fn join(&mut self, with: Option<[u8; 7]>, out: &mut Out<'_>) {
        self.forget();
        self.with = with;
        if with.is_none() {
            return;
        }
        self.was_adjacent = true;
        self.is_to_describe = !self.is_lan;
        for group in 0..self.own.originations.groups() {
            match self.own.originations.instance(group).is_up {
                true => self.flood.begin(group),
                false => self.flood.skip(group, self.own.originations.count(group)),
            }
        }
        self.step_at = Nanos::ZERO;
        for range in self.own.originations.up().collect::<Vec<_>>() {
            self.tell(range, true, out);
        }
    }

    /// Forgets all that has to do with a neighbour.
    fn forget(&mut self) {
        self.database.clear();
        self.named.clear();
        self.has_narrow = false;
        self.owed.clear();
        self.acknowledge_at = Nanos::MAX;
        self.wanted.clear();
        self.ask_at = Nanos::MAX;
        self.strays.clear();
        self.told.fill(false);
        self.is_to_describe = false;
        self.flood.forget(u8::MAX);
        for group in 0..self.own.originations.groups() {
            self.flood.skip(group, self.own.originations.count(group));
        }
    }

    /// Neighbours come to know that routes of a range came or went.
    fn tell(&mut self, range: usize, up: bool, out: &mut Out<'_>) {
        if self.with.is_none() || std::mem::replace(&mut self.told[range], up) == up || !out.counts_routes {
            return;
        }
        let (count, counts) = (self.own.routes(range), &mut *out.counts);
        if up {
            counts.advertised += count;
            counts.first_advertisement = counts.first_advertisement.or(out.since);
        } else {
            counts.withdrawn += count;
            counts.first_withdrawal = counts.first_withdrawal.or(out.since);
        }
    }

    /// Whether the neighbour has received everything.
    pub(crate) fn is_told(&self, links: Option<&[Link]>, is_shut: bool) -> bool {
        self.own.is_current(links, is_shut) && self.flood.is_done(|group| self.own.originations.count(group))
    }

    /// Takes in an LSP.
    pub(crate) fn take_lsp(&mut self, now: Nanos, pdu: &Pdu<'_>, header: &LspHeader, out: &mut Out<'_>) {
        *out.counts.received.of(self.number) += 1;
        out.counts.received_purged += u64::from(header.lifetime_s == 0);
        if self.own.is_mine(header.id.system) {
            self.compare_own(now, header, out);
            return self.owe(now, header);
        }
        self.wanted.remove(&header.id);
        match self.database.install(now, header, body(pdu.bytes)) {
            Outcome::Installed => self.note_links(pdu, header),
            Outcome::LeftOut => out.counts.left_out += 1,
            Outcome::Older => return,
            Outcome::Same | Outcome::Unknown => {}
        }
        self.owe(now, header);
    }

    /// Notes whether an LSP of whom the router keeps up with names the router.
    fn note_links(&mut self, pdu: &Pdu<'_>, header: &LspHeader) {
        let Some(with) = self.with else { return };
        if header.id.bytes()[..7] != with {
            return;
        }
        let (wide, narrow) = links_to(pdu, self.own.said.system);
        if wide && header.lifetime_s != 0 {
            self.named.insert(header.id)
        } else {
            self.named.remove(&header.id)
        };
        self.has_narrow = narrow && !wide;
    }

    /// Whether to request a neighbour's LSP: it is unknown or newer than the stored one.
    fn lacks(&self, now: Nanos, header: &LspHeader) -> bool {
        match self.database.compare(now, header) {
            Some(order) => order == Ordering::Greater,
            None => header.lifetime_s != 0 && header.sequence != 0 && self.database.has_room(0),
        }
    }

    /// On a point-to-point link, an LSP is to be acknowledged.
    fn owe(&mut self, now: Nanos, header: &LspHeader) {
        if !self.is_lan {
            self.owed.push(*header);
            self.acknowledge_at = self.acknowledge_at.min(now + GATHER);
        }
    }

    /// Compares a neighbour's header with an LSP of this router.
    fn compare_own(&mut self, now: Nanos, theirs: &LspHeader, out: &mut Out<'_>) {
        let Some(place) = self.own.find(theirs.id) else { return self.compare_stray(now, theirs) };
        let group = place.0 as usize;
        if !self.own.originations.is_used(group) {
            if theirs.lifetime_s != 0 && theirs.sequence != 0 {
                out.counts.outdated += 1;
                self.own.originations.overtake(group, theirs.sequence);
                self.step_at = Nanos::ZERO;
            }
            return;
        }
        let (ours, is_up) = (self.own.header(now, place), self.own.originations.instance(group).is_up);
        if theirs.is_same(&ours) {
            self.flood.acknowledge(place, ALL);
        } else if theirs.is_newer_than(&ours) {
            match !is_up && theirs.lifetime_s == 0 {
                // There it is being purged as well.
                true => {
                    self.flood.acknowledge(place, ALL);
                }
                false => {
                    out.counts.outdated += 1;
                    self.own.originations.overtake(group, theirs.sequence);
                    self.step_at = Nanos::ZERO;
                }
            }
        } else {
            self.again(now, place, out);
        }
    }

    /// The same of one that calls this router its own and is none of its.
    fn compare_stray(&mut self, now: Nanos, theirs: &LspHeader) {
        if theirs.lifetime_s == 0 {
            self.strays.remove(&theirs.id);
        } else if theirs.sequence != 0 && self.strays.len() < STRAYS_MAX {
            let stray = self.strays.entry(theirs.id).or_insert((now, 0, *theirs));
            if theirs.sequence > stray.2.sequence {
                *stray = (now, 0, *theirs);
            }
        }
    }

    /// Sends an LSP again that the neighbour lacks, unless it is under way.
    fn again(&mut self, now: Nanos, place: Place, out: &mut Out<'_>) {
        let sent = self.flood.sent_at(place);
        let is_soon = sent.is_some_and(|at| !self.is_lan || now < at + TOO_SOON);
        if self.flood.is_pending(place) || is_soon {
            return;
        }
        out.counts.retransmitted += 1;
        self.send(now, place, out);
        self.flood.note(now, place, ALL);
    }

    fn send(&self, now: Nanos, place: Place, out: &mut Out<'_>) {
        *out.counts.sent.of(self.number) += 1;
        out.pdus.push((self.number, self.own.build(now, place)));
    }

    /// Takes in a CSNP about the LSPs from one to another, or a PSNP.
    pub(crate) fn take_snp(
        &mut self,
        now: Nanos,
        pdu: &Pdu<'_>,
        range: Option<(LspId, LspId)>,
        out: &mut Out<'_>,
    ) {
        let mut seen = BTreeSet::new();
        for theirs in pdu.entries() {
            if self.own.is_mine(theirs.id.system) {
                seen.insert(theirs.id);
                self.compare_own(now, &theirs, out);
            } else if range.is_some() && self.lacks(now, &theirs) && self.wanted.len() < WANTED_MAX {
                self.wanted.entry(theirs.id).or_insert(0);
                // It may be about to send it, and on a LAN another router may ask for it.
                let patience = if self.is_lan { TOO_SOON } else { PATIENCE };
                self.ask_at = self.ask_at.min(now + patience);
            }
        }
        let Some((from, to)) = range else { return };
        let mut repeated = 0;
        for group in 0..self.own.originations.groups() {
            let is_up = self.own.originations.instance(group).is_up;
            if !self.own.originations.is_used(group) {
                continue;
            }
            for index in 0..self.own.originations.count(group) {
                let place = (group as u32, index);
                let id = self.own.id(place);
                if id < from || to < id || seen.contains(&id) {
                    continue;
                }
                if !is_up {
                    // What is purged need not be there.
                    if !self.flood.is_pending(place) {
                        self.flood.acknowledge(place, ALL);
                    }
                } else if repeated < AGAIN_MAX {
                    self.again(now, place, out);
                    repeated += 1;
                }
            }
        }
    }

    /// Sends what is due.
    pub(crate) fn poll(
        &mut self,
        now: Nanos,
        epoch: Nanos,
        links: Option<&[Link]>,
        is_shut: bool,
        out: &mut Out<'_>,
    ) {
        if self.step_at <= now {
            self.step(now, epoch, links, is_shut, out);
        }
        if self.with.is_none() {
            return;
        }
        if std::mem::take(&mut self.is_to_describe) {
            self.describe(now, out);
        }
        self.repeat(now, out);
        self.flood(now, out);
        if self.acknowledge_at <= now {
            self.acknowledge_at = Nanos::MAX;
            let owed = std::mem::take(&mut self.owed);
            self.say(false, &owed, out);
        }
        if self.ask_at <= now {
            self.ask(now, out);
        }
    }

    /// Originates and purges LSPs.
    fn step(&mut self, now: Nanos, epoch: Nanos, links: Option<&[Link]>, is_shut: bool, out: &mut Out<'_>) {
        let since = if epoch < Nanos::MAX { now.since(epoch) } else { Nanos::ZERO };
        let changes = self.own.step(now, since, links, is_shut);
        for group in changes.groups {
            match self.with.is_some() {
                true => self.flood.begin(group),
                false => self.flood.skip(group, self.own.originations.count(group)),
            }
        }
        out.counts.refreshed += changes.refreshed;
        if !is_shut {
            changes.ranges.into_iter().for_each(|(range, up)| self.tell(range, up, out));
        }
        self.step_at = self.own.next_due(epoch, links, is_shut).max(Nanos(now.0 + 1));
    }

    /// Says by CSNPs what there is.
    fn describe(&mut self, now: Nanos, out: &mut Out<'_>) {
        let mut all = BTreeMap::new();
        for group in
            (0..self.own.originations.groups()).filter(|group| self.own.originations.instance(*group).is_up)
        {
            for index in 0..self.own.originations.count(group) {
                let header = self.own.header(now, (group as u32, index));
                all.insert(header.id, header);
            }
        }
        let left = |header: &LspHeader, since_s| u64::from(header.lifetime_s).saturating_sub(since_s) as u16;
        let stored = self.database.headers(now);
        let stored =
            stored.map(|(header, since_s)| LspHeader { lifetime_s: left(header, since_s), ..*header });
        all.extend(stored.map(|header| (header.id, header)));
        let all: Vec<LspHeader> = all.into_values().collect();
        self.say(true, &all, out);
    }

    /// Sends entries by CSNPs about all LSPs, or by PSNPs.
    fn say(&self, is_complete: bool, entries: &[LspHeader], out: &mut Out<'_>) {
        let said = &self.own.said;
        let header = if is_complete { CSNP_HEADER } else { PSNP_HEADER };
        let room = said.lsp_bytes - header - self.password().map_or(0, Password::len);
        let tlv = 2 + ENTRIES_IN_TLV * 16;
        let at_once = (room / tlv * ENTRIES_IN_TLV).max(1);
        let mut from = LspId::FIRST;
        let mut chunks = entries.chunks(at_once).peekable();
        let mut is_first = true;
        while chunks.peek().is_some() || is_complete && is_first {
            is_first = false;
            let some = chunks.next().unwrap_or_default();
            let to = match chunks.peek() {
                Some(_) => some.last().map_or(LspId::LAST, |last| last.id),
                None => LspId::LAST,
            };
            let mut pdu = begin_snp(self.number, said.system, is_complete.then_some((from, to)));
            password::begin(&mut pdu, self.password());
            for some in some.chunks(ENTRIES_IN_TLV) {
                put(&mut pdu, ENTRIES, &some.iter().flat_map(LspHeader::entry).collect::<Vec<u8>>());
            }
            finish(&mut pdu);
            password::sign(&mut pdu, header, self.password());
            let counts = if is_complete { &mut out.counts.csnps } else { &mut out.counts.psnps };
            *counts.0.of(self.number) += 1;
            out.pdus.push((self.number, pdu));
            // The next PDU is about those behind the last of this one.
            from = next_id(to);
        }
    }

    /// Retransmits LSPs that were not acknowledged in time: on a LAN, CSNPs show which.
    fn repeat(&mut self, now: Nanos, out: &mut Out<'_>) {
        if !self.is_lan {
            for _ in 0..AGAIN_MAX {
                let Some((place, _)) = self.flood.late(now) else { break };
                out.counts.retransmitted += 1;
                self.send(now, place, out);
            }
        }
        let mut purged = Vec::new();
        self.strays.retain(|_, (at, times, header)| {
            if *at <= now {
                (*at, *times) = (now + RETRANSMIT, *times + 1);
                purged.push(*header);
            }
            *times < PURGE_TIMES
        });
        for header in purged {
            out.counts.outdated += 1;
            *out.counts.sent.of(self.number) += 1;
            out.pdus.push((self.number, self.own.purge(&header)));
        }
    }

    fn flood(&mut self, now: Nanos, out: &mut Out<'_>) {
        if self.flood_at > now {
            return;
        }
        let mut count = 0u64;
        for _ in 0..AT_ONCE {
            let Some(place) = self.flood.next(|group| self.own.originations.count(group)) else { break };
            self.send(now, place, out);
            self.flood.sent(now, place, ALL);
            count += 1;
        }
        if count > 0 {
            self.flood_at = now + Nanos(count * Nanos::from_secs(1).0 / u64::from(self.rate));
        }
    }

    /// Asks for LSPs that are lacking still.
    fn ask(&mut self, now: Nanos, out: &mut Out<'_>) {
        let lacking = |id: LspId| LspHeader { lifetime_s: 0, id, sequence: 0, checksum: 0 };
        let entries: Vec<LspHeader> =
            self.wanted.keys().map(|id| self.database.find(id).copied().unwrap_or(lacking(*id))).collect();
        self.say(false, &entries, out);
        self.wanted.retain(|_, times| {
            *times += 1;
            *times < ASK_TIMES
        });
        self.ask_at = if self.wanted.is_empty() { Nanos::MAX } else { now + RETRANSMIT };
    }

    /// When something is due.
    pub(crate) fn next_due(&self) -> Nanos {
        if self.with.is_none() {
            return self.step_at;
        }
        let flood = match self.flood.next(|group| self.own.originations.count(group)).is_some() {
            true => self.flood_at,
            false => Nanos::MAX,
        };
        let late = if self.is_lan { Nanos::MAX } else { self.flood.next_late() };
        let strays = self.strays.values().map(|(at, ..)| *at).min().unwrap_or(Nanos::MAX);
        let describe = if self.is_to_describe { Nanos::ZERO } else { Nanos::MAX };
        [self.step_at, self.acknowledge_at, self.ask_at, flood, late, strays, describe]
            .into_iter()
            .min()
            .unwrap_or(Nanos::MAX)
    }
}

/// The identifier after one.
fn next_id(id: LspId) -> LspId {
    let number = u64::from_be_bytes(id.bytes()).saturating_add(1).to_be_bytes();
    let mut entry = [0; 16];
    entry[2..10].copy_from_slice(&number);
    LspHeader::of_entry(&entry).id
}
