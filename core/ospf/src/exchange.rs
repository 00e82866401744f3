//! Exchange over an adjacency: databases are described, LSAs are requested, sent and acknowledged (RFC 2328 sections
//! 10.6 to 10.9 and 13).

use crate::failure::Failure;
use crate::lsa::{
    INITIAL_SEQUENCE, LSA_HEADER, LsaHeader, LsaKey, MAX_AGE, NETWORK, ROUTER, links_to, names,
};
use crate::lsa3;
use crate::neighbour::{Neighbour, NeighbourState};
use crate::packet::{Body, Description, INIT, MASTER, MORE, REQUEST, UPDATE, headers, keys, lsas};
use crate::router::{NetworkType, Router};
use crate::version::Version;
use linkstate::{Outcome, Place, RETRANSMIT};
use std::cmp::Ordering;
use std::net::{IpAddr, Ipv4Addr};
use units::Nanos;

/// Time for which acknowledgments wait for others to be sent with them (section 13.5); shorter than the interval after
/// which LSAs are retransmitted.
const GATHER: Nanos = Nanos::from_millis(300);
/// Update packets that are flooded at once.
const PACKETS_AT_ONCE: usize = 16;
/// LSAs that call this router their own, which are flushed at once.
const STRAYS_MAX: usize = 4_096;

const DESCRIBE: u8 = 2;
const ASK: u8 = 3;
const TELL: u8 = 4;
const ACKNOWLEDGE: u8 = 5;

impl Router {
    /// Takes in a packet of a neighbour that is no Hello packet.
    pub(crate) fn take_exchange(&mut self, now: Nanos, from: IpAddr, id: Ipv4Addr, body: &Body<'_>) {
        let is_it = |one: &Neighbour| match self.config.network {
            NetworkType::PointToPoint => one.id == id,
            NetworkType::Broadcast => one.ip == from && one.id == id,
        };
        let Some(n) = self.neighbours.iter().position(is_it) else { return };
        let counts = &mut self.counts;
        match body {
            Body::Hello(_) => return,
            Body::Description(_) => counts.descriptions.1 += 1,
            Body::Request(_) => counts.requests.1 += 1,
            Body::Update(..) => counts.updates.1 += 1,
            Body::Acknowledgment(_) => counts.acknowledgments.1 += 1,
        }
        if let Body::Description(said) = body {
            return self.take_description(now, n, said);
        }
        if self.neighbours[n].state < NeighbourState::Exchange {
            return;
        }
        match body {
            Body::Request(wanted) => self.answer(now, n, wanted),
            Body::Update(count, bytes) => self.take_update(now, n, *count, bytes),
            Body::Acknowledgment(bytes) => self.take_acknowledgment(n, bytes),
            _ => {}
        }
    }

    /// Starts the exchange with a neighbour: the router claims to be the master, with its own sequence number.
    pub(crate) fn start_exchange(&mut self, now: Nanos, n: usize) {
        let taken = self.neighbours.iter().fold(0u8, |bits, one| bits | one.bit);
        let free = (0..8).map(|bit| 1u8 << bit).find(|bit| taken & bit == 0);
        let Some(bit) = free else { return };
        // Nothing is known any more of what was said in adjacencies that are over.
        if self.neighbours.iter().all(|one| one.state < NeighbourState::Exchange) {
            self.database.clear();
        }
        self.drawn += 1;
        let sequence = random::word(random::key(self.seed), self.drawn) as u32;
        let one = &mut self.neighbours[n];
        one.clear();
        one.state = NeighbourState::ExStart;
        one.bit = bit;
        one.leads = true;
        one.sequence = sequence;
        self.say(now, n, INIT | MORE | MASTER, &[]);
    }

    /// Sends a description, and keeps it to send it again.
    fn say(&mut self, now: Nanos, n: usize, flags: u8, headers: &[u8]) {
        let one = &mut self.neighbours[n];
        let version = self.config.version;
        let (mtu, options, sequence) = (self.mtu, version.options(), one.sequence);
        one.said.clear();
        Description { mtu, options, flags, sequence, headers }.put(version, &mut one.said);
        // The one that follows waits to be asked again.
        one.say_again = if one.leads { now.saturating_add(RETRANSMIT) } else { Nanos::MAX };
        self.say_once_more(n);
    }

    fn say_once_more(&mut self, n: usize) {
        self.out.push(self.sender.frame(self.to(n), DESCRIBE, &self.neighbours[n].said));
        self.counts.descriptions.0 += 1;
    }

    /// Takes in a description (section 10.6).
    fn take_description(&mut self, now: Nanos, n: usize, said: &Description<'_>) {
        let one = &mut self.neighbours[n];
        if !self.config.any_mtu {
            one.other_mtu = Some(said.mtu).filter(|mtu| *mtu != self.mtu);
            if said.mtu > self.mtu {
                return;
            }
        }
        if one.state == NeighbourState::Init {
            // It hears the router: it would not begin otherwise.
            one.state = NeighbourState::TwoWay;
            self.elect(now);
        }
        let own = self.config.id;
        let one = &mut self.neighbours[n];
        let this = (said.flags, said.options, said.sequence);
        if one.last == Some(this) && one.state >= NeighbourState::Exchange {
            if !one.leads {
                self.say_once_more(n);
            }
            return;
        }
        match one.state {
            NeighbourState::ExStart => {
                let begins = said.flags & (INIT | MORE | MASTER) == INIT | MORE | MASTER;
                if begins && said.headers.is_empty() && one.id > own {
                    (one.leads, one.sequence, one.last) = (false, said.sequence, Some(this));
                    one.state = NeighbourState::Exchange;
                    one.described = vec![None; self.own.originations.groups()];
                    self.describe(now, n);
                } else if said.flags & (INIT | MASTER) == 0 && said.sequence == one.sequence && one.id < own {
                    one.state = NeighbourState::Exchange;
                    one.described = vec![None; self.own.originations.groups()];
                    self.accept(now, n, said);
                }
            }
            NeighbourState::Exchange => {
                let expected = if one.leads { one.sequence } else { one.sequence.wrapping_add(1) };
                let is_next = (said.flags & MASTER == 0) == one.leads
                    && said.flags & INIT == 0
                    && one.last.is_none_or(|(_, options, _)| options == said.options)
                    && said.sequence == expected;
                if is_next {
                    self.accept(now, n, said);
                } else {
                    self.restart(now, n, Failure::Restarted(self.neighbours[n].ip));
                }
            }
            NeighbourState::Loading | NeighbourState::Full => {
                self.restart(now, n, Failure::Restarted(self.neighbours[n].ip));
            }
            _ => {}
        }
    }

    /// Begins the exchange anew.
    fn restart(&mut self, now: Nanos, n: usize, why: Failure) {
        self.back_to(now, n, NeighbourState::ExStart, why);
        self.start_exchange(now, n);
    }

    /// Processes the next description of an exchange, and sends the next.
    fn accept(&mut self, now: Nanos, n: usize, said: &Description<'_>) {
        self.neighbours[n].last = Some((said.flags, said.options, said.sequence));
        for header in headers(self.config.version, said.headers) {
            if self.counts.received.of(self.config.version, header.key.kind).is_none() {
                return self.restart(now, n, Failure::Restarted(self.neighbours[n].ip));
            }
            self.look_at(now, n, &header);
        }
        let one = &mut self.neighbours[n];
        let has_all = said.flags & MORE == 0;
        if one.leads {
            one.sequence = one.sequence.wrapping_add(1);
            if one.has_described && has_all {
                self.finish(now, n);
            } else {
                self.describe(now, n);
            }
        } else {
            one.sequence = said.sequence;
            self.describe(now, n);
            if has_all && self.neighbours[n].has_described {
                self.finish(now, n);
            }
        }
    }

    /// Looks at an LSA that a neighbour has.
    fn look_at(&mut self, now: Nanos, n: usize, header: &LsaHeader) {
        let wanted = self.neighbours[n].wanted.len();
        if !self.own.is_mine(header.key.router) {
            match self.database.compare(now, header) {
                Some(Ordering::Greater) => drop(self.neighbours[n].wanted.insert(header.key, *header)),
                Some(_) => {}
                None if header.is_flushed() => {}
                None if self.database.has_room(wanted) => {
                    self.neighbours[n].wanted.insert(header.key, *header);
                }
                None => self.counts.left_out += 1,
            }
            return;
        }
        match self.own_place(header) {
            Some(place) => drop(self.meet(now, n, place, header)),
            None if !header.is_flushed() && wanted < STRAYS_MAX => {
                self.neighbours[n].wanted.insert(header.key, *header);
            }
            None => {}
        }
    }

    /// An instance of an own LSA is out there; returns how new it is against the router's (section 13.4).
    fn meet(&mut self, now: Nanos, n: usize, place: Place, header: &LsaHeader) -> Ordering {
        let group = place.0 as usize;
        let Some(own) = self.own.header(now, place) else { return Ordering::Equal };
        let version = self.own.originations.instance(group);
        let order = header.against(&own);
        // What is not there must not be out there, either.
        let is_left = !version.is_up && !header.is_flushed() && header.sequence >= version.sequence;
        if order == Ordering::Greater && version.is_up || is_left {
            self.counts.outdated += 1;
            self.own.originations.overtake(group, header.sequence);
            // What it has is flushed once the adjacency is full, if there is no newer one until then.
            if let Some(described) = self.neighbours[n].described.get_mut(group) {
                *described = described.or(Some(version));
            }
            self.step_at = Nanos::ZERO;
        }
        order
    }

    /// Describes as many own LSAs as fit.
    fn describe(&mut self, now: Nanos, n: usize) {
        let room = (self.room - self.config.version.description()) / LSA_HEADER;
        let mut all = Vec::with_capacity(room * LSA_HEADER);
        let (mut group, mut index) = self.neighbours[n].describe;
        let mut left = room;
        while group < self.own.originations.groups() {
            let version = self.own.originations.instance(group);
            if index >= self.own.originations.count(group) || !version.is_up {
                (group, index) = (group + 1, 0);
                continue;
            }
            if left == 0 {
                break;
            }
            if index == 0 {
                self.neighbours[n].described[group] = Some(version);
            }
            if let Some(header) = self.own.header(now, (group as u32, index)) {
                header.put(&mut all);
            }
            (index, left) = (index + 1, left - 1);
        }
        let one = &mut self.neighbours[n];
        one.describe = (group, index);
        one.has_described = group >= self.own.originations.groups();
        let more = if one.has_described { 0 } else { MORE };
        let flags = more | if one.leads { MASTER } else { 0 };
        self.say(now, n, flags, &all);
    }

    /// Both have described all.
    fn finish(&mut self, now: Nanos, n: usize) {
        let one = &mut self.neighbours[n];
        one.say_again = Nanos::MAX;
        if one.wanted.is_empty() {
            return self.become_full(now, n);
        }
        one.state = NeighbourState::Loading;
        self.ask(now, n);
    }

    /// Asks for what a neighbour has and the router lacks, as much as fits (section 10.9).
    fn ask(&mut self, now: Nanos, n: usize) {
        let room = self.room / REQUEST;
        let one = &mut self.neighbours[n];
        one.asked = one.wanted.keys().take(room).copied().collect();
        let mut body = Vec::with_capacity(room * REQUEST);
        for key in &one.asked {
            body.extend(u32::from(key.kind).to_be_bytes());
            body.extend(key.id.octets());
            body.extend(key.router.octets());
        }
        one.ask_again = now.saturating_add(RETRANSMIT);
        self.out.push(self.sender.frame(self.to(n), ASK, &body));
        self.counts.requests.0 += 1;
    }

    /// Sends the LSAs that a neighbour requested (section 10.7).
    fn answer(&mut self, now: Nanos, n: usize, wanted: &[u8]) {
        let mut places = Vec::new();
        for key in keys(wanted) {
            match self.own.find(&key).filter(|place| self.own.originations.is_originated(place.0 as usize)) {
                Some(place) => places.push(place),
                None => return self.restart(now, n, Failure::BadRequest(self.neighbours[n].ip)),
            }
        }
        self.send_to(now, n, &places);
    }

    /// Sends LSAs to a neighbour, in as many packets as they need.
    fn send_to(&mut self, now: Nanos, n: usize, places: &[Place]) {
        let to = self.to(n);
        let mut places = places.iter().copied().peekable();
        while places.peek().is_some() {
            let mut update = Update::new(self.room);
            while let Some(place) = places.next_if(|place| update.put(self, now, *place)) {
                self.own.originations.note_sent(place.0 as usize);
            }
            self.send_update(to, update);
        }
    }

    fn send_update(&mut self, to: (IpAddr, crate::Mac), update: Update) {
        let body = update.finish();
        let version = self.config.version;
        for (header, ..) in lsas(version, u32::MAX, &body[UPDATE..]) {
            self.counts.sent.add(version, header.key.kind);
        }
        self.counts.updates.0 += 1;
        self.out.push(self.sender.frame(to, TELL, &body));
    }

    /// Floods what is new (section 13.3).
    pub(crate) fn flood(&mut self, now: Nanos) {
        let full = self.full();
        if full == 0 || self.flood_at > now {
            return;
        }
        let (to, mut count) = (self.to_all(), 0u64);
        for _ in 0..PACKETS_AT_ONCE {
            let mut update = Update::new(self.room);
            while let Some(place) = self.flood.next(|group| self.own.originations.count(group)) {
                if !update.put(self, now, place) {
                    break;
                }
                self.flood.sent(now, place, full);
                self.own.originations.note_sent(place.0 as usize);
                count += 1;
            }
            if update.count == 0 {
                break;
            }
            self.send_update(to, update);
        }
        if count > 0 {
            self.flood_at = now + Nanos(count * Nanos::from_secs(1).0 / u64::from(self.rate));
        }
    }

    /// Retransmits packets without a reply in time.
    pub(crate) fn repeat(&mut self, now: Nanos) {
        for n in 0..self.neighbours.len() {
            let one = &mut self.neighbours[n];
            if one.say_again <= now {
                one.say_again = now.saturating_add(RETRANSMIT);
                self.say_once_more(n);
            }
            if self.neighbours[n].ask_again <= now {
                self.ask(now, n);
            }
        }
        let mut late: Vec<Vec<Place>> = vec![Vec::new(); self.neighbours.len()];
        while let Some((place, to)) = self.flood.late(now) {
            for (one, late) in self.neighbours.iter().zip(&mut late) {
                if one.bit & to != 0 {
                    late.push(place);
                }
            }
        }
        for (n, places) in late.into_iter().enumerate() {
            self.counts.retransmitted += places.len() as u64;
            self.send_to(now, n, &places);
        }
        self.flush_strays(now);
    }

    /// Flushes LSAs that call the router their own and are none of its.
    fn flush_strays(&mut self, now: Nanos) {
        if self.strays.values().all(|(at, _)| *at > now) {
            return;
        }
        let mut updates = Vec::new();
        let mut update = Update::new(self.room);
        for (at, lsa) in self.strays.values_mut().filter(|(at, _)| *at <= now) {
            *at = now.saturating_add(RETRANSMIT);
            if !update.put_bytes(lsa) {
                updates.push(std::mem::replace(&mut update, Update::new(self.room)));
                update.put_bytes(lsa);
            }
        }
        updates.push(update);
        let to = self.to_all();
        updates.into_iter().for_each(|update| self.send_update(to, update));
    }

    /// Takes in an update (section 13).
    fn take_update(&mut self, now: Nanos, n: usize, count: u32, bytes: &[u8]) {
        let mut at_once = Vec::new();
        let mut taken = 0u32;
        let version = self.config.version;
        for (header, lsa, is_right) in lsas(version, count, bytes) {
            taken += 1;
            let is_known = self.counts.received.of(version, header.key.kind).is_some();
            if !is_right || !is_known {
                self.counts.malformed += u64::from(!is_right);
                continue;
            }
            self.counts.received.add(version, header.key.kind);
            self.counts.received_flushed += u64::from(header.is_flushed());
            if self.own.is_mine(header.key.router) {
                if self.take_own(now, n, &header, lsa) {
                    at_once.push(header);
                }
            } else {
                let outcome = self.database.install(now, &header, &lsa[LSA_HEADER..]);
                if outcome != Outcome::Older {
                    self.note_link(n, &header, lsa);
                }
                match outcome {
                    Outcome::Installed => self.owe(now, header),
                    Outcome::LeftOut => {
                        self.counts.left_out += 1;
                        self.owe(now, header);
                    }
                    Outcome::Same | Outcome::Older | Outcome::Unknown => at_once.push(header),
                }
            }
            let one = &mut self.neighbours[n];
            let is_answer = |wanted: &LsaHeader| header.against(wanted) != Ordering::Less;
            if one.wanted.get(&header.key).is_some_and(is_answer) {
                one.wanted.remove(&header.key);
                one.asked.remove(&header.key);
            }
        }
        self.counts.malformed += u64::from(taken < count);
        if !at_once.is_empty() {
            let to = self.to(n);
            self.send_acknowledgments(to, &at_once);
        }
        let one = &mut self.neighbours[n];
        if one.state == NeighbourState::Loading && one.asked.is_empty() {
            one.ask_again = Nanos::MAX;
            match one.wanted.is_empty() {
                true => self.become_full(now, n),
                false => self.ask(now, n),
            }
        }
    }

    /// Processes an LSA that claims to be the router's own; returns whether it is acknowledged immediately.
    fn take_own(&mut self, now: Nanos, n: usize, header: &LsaHeader, lsa: &[u8]) -> bool {
        let bit = self.neighbours[n].bit;
        let Some(place) = self.own_place(header) else {
            if header.is_flushed() {
                self.end_stray(&header.key);
                return true;
            }
            if self.strays.len() < STRAYS_MAX && !self.strays.contains_key(&header.key) {
                self.counts.outdated += 1;
                let mut flushed = lsa.to_vec();
                flushed[..2].copy_from_slice(&MAX_AGE.to_be_bytes());
                self.strays.insert(header.key, (now, flushed));
            }
            return false;
        };
        match self.meet(now, n, place, header) {
            // It comes back to where it was sent: that acknowledges it (section 13 step 7).
            Ordering::Equal => !self.flood.acknowledge(place, bit),
            Ordering::Greater => !self.own.originations.instance(place.0 as usize).is_up,
            Ordering::Less => {
                self.send_to(now, n, &[place]);
                false
            }
        }
    }

    /// Where an own LSA is. One with the last sequence number is none of these: no newer one can follow it before it is
    /// flushed (section 12.1.6).
    fn own_place(&self, header: &LsaHeader) -> Option<Place> {
        let can_follow = |place: &Place| {
            header.sequence < i32::MAX
                || self.own.originations.instance(place.0 as usize).sequence == i32::MAX
        };
        self.own.find(&header.key).filter(can_follow)
    }

    /// An LSA that is none of this router's has been flushed. If it was in the place of one, that is originated again.
    fn end_stray(&mut self, key: &LsaKey) {
        self.strays.remove(key);
        if let Some((group, _)) = self.own.find(key) {
            self.own.originations.overtake(group as usize, INITIAL_SEQUENCE);
            self.step_at = Nanos::ZERO;
        }
    }

    /// Notes whether a neighbour's LSA names the router: then the adjacency is full on its side, too.
    fn note_link(&mut self, n: usize, header: &LsaHeader, lsa: &[u8]) {
        let (own, body) = (self.config.id, &lsa[LSA_HEADER..]);
        let is_there = !header.is_flushed();
        let (designated, key) = (self.designated, &header.key);
        match (self.config.version, self.config.network, key.kind) {
            (Version::V2, NetworkType::PointToPoint, ROUTER) if key.router == self.neighbours[n].id => {
                self.neighbours[n].names_us = is_there && links_to(body, own);
            }
            (Version::V3, NetworkType::PointToPoint, lsa3::ROUTER) if key.router == self.neighbours[n].id => {
                // It may have several, of which one has the link (RFC 5340 section 4.4.3.2).
                let says_so = is_there && lsa3::links_to(body, own);
                if says_so || key.id.is_unspecified() {
                    self.neighbours[n].names_us = says_so;
                }
            }
            (Version::V2, NetworkType::Broadcast, NETWORK) if key.id == designated => {
                self.note_designated(key.router, is_there && names(body, own));
            }
            (Version::V3, NetworkType::Broadcast, lsa3::NETWORK) if key.router == designated => {
                let is_of_link = |one: &Neighbour| one.id == designated && one.interface == u32::from(key.id);
                if self.neighbours.iter().any(is_of_link) {
                    self.note_designated(designated, is_there && names(body, own));
                }
            }
            _ => {}
        }
    }

    /// The designated router with this identifier lists the router in its network, or not.
    fn note_designated(&mut self, id: Ipv4Addr, names_us: bool) {
        let designated = self.designated;
        let all = self.neighbours.iter_mut();
        for one in all.filter(|one| one.called == designated && one.id == id) {
            one.names_us = names_us;
        }
    }

    /// Owes an acknowledgment, which goes with others.
    fn owe(&mut self, now: Nanos, header: LsaHeader) {
        self.owed.push(header);
        self.acknowledge_at = self.acknowledge_at.min(now.saturating_add(GATHER));
        if self.owed.len() >= self.room / LSA_HEADER {
            self.acknowledge(now);
        }
    }

    /// Sends the acknowledgments that are owed.
    pub(crate) fn acknowledge(&mut self, _: Nanos) {
        self.acknowledge_at = Nanos::MAX;
        let owed = std::mem::take(&mut self.owed);
        if !owed.is_empty() {
            self.send_acknowledgments(self.to_all(), &owed);
        }
    }

    fn send_acknowledgments(&mut self, to: (IpAddr, crate::Mac), all: &[LsaHeader]) {
        for some in all.chunks(self.room / LSA_HEADER) {
            let mut body = Vec::with_capacity(some.len() * LSA_HEADER);
            some.iter().for_each(|header| header.put(&mut body));
            self.counts.acknowledgments.0 += 1;
            self.counts.acknowledged.0 += some.len() as u64;
            self.out.push(self.sender.frame(to, ACKNOWLEDGE, &body));
        }
    }

    /// Takes in acknowledgments (section 13.7).
    fn take_acknowledgment(&mut self, n: usize, bytes: &[u8]) {
        let bit = self.neighbours[n].bit;
        for header in headers(self.config.version, bytes) {
            self.counts.acknowledged.1 += 1;
            let Some(place) = self.own_place(&header) else {
                if header.is_flushed() && self.strays.contains_key(&header.key) {
                    self.end_stray(&header.key);
                }
                continue;
            };
            let version = self.own.originations.instance(place.0 as usize);
            if header.sequence == version.sequence && header.is_flushed() != version.is_up {
                self.flood.acknowledge(place, bit);
            }
        }
    }
}

/// An update that is filled.
#[derive(Debug)]
struct Update {
    body: Vec<u8>,
    count: u32,
    room: usize,
}

impl Update {
    fn new(room: usize) -> Self {
        Self { body: vec![0; UPDATE], count: 0, room }
    }

    /// Appends an LSA if it fits; one that fits no packet goes alone.
    fn put(&mut self, router: &Router, now: Nanos, place: Place) -> bool {
        let before = self.body.len();
        router.own.put(now, place, &mut self.body);
        if self.body.len() > self.room && self.count > 0 {
            self.body.truncate(before);
            return false;
        }
        self.count += 1;
        true
    }

    fn put_bytes(&mut self, lsa: &[u8]) -> bool {
        if self.body.len() + lsa.len() > self.room && self.count > 0 {
            return false;
        }
        self.body.extend(lsa);
        self.count += 1;
        true
    }

    fn finish(mut self) -> Vec<u8> {
        self.body[..UPDATE].copy_from_slice(&self.count.to_be_bytes());
        self.body
    }
}
