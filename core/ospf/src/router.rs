//! A router on its link: its neighbours, its adjacencies, and its timers (RFC 2328 sections 9 and 10, RFC 5340 section
//! 4).
//!
//! Not here: the exchange over an adjacency (`exchange`); the receiver of a frame (`linkstate::Routers`).

use crate::Mac;
use crate::counts::{LsaCounts, OspfCounts};
use crate::database::{Database, LsaTally};
use crate::failure::Failure;
use crate::lsa::{Link, LinkTo, LsaHeader, LsaKey, OPTION_EXTERNAL, mask};
use crate::neighbour::{Neighbour, NeighbourState, NeighbourView};
use crate::own::{GENERATED, INTERFACE, OWN, Own};
use crate::packet::{Authentication, Body, Hello, Packet, Received, Sender, group_mac};
use crate::routes::{RouteRange, Topology};
use crate::version::Version;
use linkstate::{Flood, Limits, Router as _, RouterHost};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use units::Nanos;

/// Maximum number of neighbours of a router.
const NEIGHBOURS_MAX: usize = 64;
/// Interval of removing neighbours' LSAs that were not refreshed.
const AGE_EVERY: Nanos = Nanos::from_secs(60);
/// Time for which a router tries to flush its LSAs before it leaves.
const LEAVE: Nanos = Nanos::from_secs(3);

/// Discovery of routers on a link (RFC 2328 section 1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkType {
    /// Two routers.
    PointToPoint,
    /// Many, of which one is designated. Routers here have priority 0.
    Broadcast,
}

/// A router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouterConfig {
    /// Name in commands; empty if it has no name.
    pub name: String,
    /// The host it is, by number.
    pub host: usize,
    /// Its version.
    pub version: Version,
    /// Its address: of IPv4 in OSPFv2, of IPv6 in OSPFv3.
    pub local: IpAddr,
    /// Its link-local address, from which it sends in OSPFv3; unspecified in OSPFv2.
    pub link_local: Ipv6Addr,
    /// Its instance on its link, in OSPFv3; 0 in OSPFv2.
    pub instance: u8,
    /// Bits of its network.
    pub prefix_len: u8,
    /// Its identifier.
    pub id: Ipv4Addr,
    /// Its area.
    pub area: Ipv4Addr,
    /// Network type of its link.
    pub network: NetworkType,
    /// Time between its Hello packets, s.
    pub hello_s: u16,
    /// Dead interval, s.
    pub dead_s: u32,
    /// Cost of its link.
    pub cost: u16,
    /// MTU it states; `None` is that of its port.
    pub mtu: Option<u16>,
    /// Whether a neighbour may have another MTU.
    pub any_mtu: bool,
    /// Authentication of its packets; none in OSPFv3.
    pub authentication: Authentication,
    /// The age at which it originates its LSAs again, s.
    pub refresh_s: u16,
    /// Its number among the routers of its entry.
    pub number: u32,
    /// Routes it advertises.
    pub routes: Arc<[RouteRange]>,
    /// Routers behind it.
    pub topology: Option<Topology>,
    /// LSAs of neighbours that are kept to be shown.
    pub keep: u32,
}

impl RouterConfig {
    /// The address that its packets come from, and that those to it alone go to.
    pub fn source(&self) -> IpAddr {
        match self.version {
            Version::V2 => self.local,
            Version::V3 => self.link_local.into(),
        }
    }
}

/// A router and its neighbours.
#[derive(Debug)]
pub struct Router {
    pub(crate) config: RouterConfig,
    pub(crate) sender: Sender,
    /// Bytes of the body of the longest packet it sends, and the MTU it states.
    pub(crate) room: usize,
    pub(crate) mtu: u16,
    pub(crate) own: Own,
    pub(crate) flood: Flood,
    pub(crate) database: Database,
    pub(crate) neighbours: Vec<Neighbour>,
    pub(crate) counts: OspfCounts,
    /// Frames to be sent.
    pub(crate) out: Vec<Vec<u8>>,
    /// Headers to be acknowledged together, and when.
    pub(crate) owed: Vec<LsaHeader>,
    pub(crate) acknowledge_at: Nanos,
    /// LSAs that call this router their own and are none of its: they are flushed. Each with when it is sent next.
    pub(crate) strays: BTreeMap<LsaKey, (Nanos, Vec<u8>)>,
    /// Addresses in OSPFv2, identifiers in OSPFv3.
    pub(crate) designated: Ipv4Addr,
    pub(crate) backup: Ipv4Addr,
    /// LSAs flooded in a second, and when more are.
    pub(crate) rate: u32,
    pub(crate) flood_at: Nanos,
    /// When own LSAs are checked again.
    pub(crate) step_at: Nanos,
    /// Whether there ever was a full adjacency: before it, the router's own LSA is not needed.
    pub(crate) was_adjacent: bool,
    /// Whether neighbours know the routes of a range.
    pub(crate) told: Vec<bool>,
    pub(crate) epoch: Nanos,
    pub(crate) seed: u64,
    pub(crate) drawn: u64,
    /// Why a Hello packet was refused, and why an adjacency ended, last.
    refused: Option<Failure>,
    pub(crate) trouble: Option<Failure>,
    pub(crate) first_loss: Option<Failure>,
    begun: Option<Nanos>,
    /// The number of digests at the beginning.
    number_from: u32,
    hello_at: Nanos,
    age_at: Nanos,
    /// Time from the first Hello packet to the first full adjacency.
    set_up: Option<Nanos>,
    is_down: bool,
    /// Until when LSAs are flushed at the end, and whether it has left.
    shut_until: Option<Nanos>,
    has_left: bool,
}

impl linkstate::Router for Router {
    type Config = RouterConfig;
    type Counts = OspfCounts;
    type Failure = Failure;
    type Received<'a> = Received<'a>;

    fn host(config: &RouterConfig) -> usize {
        config.host
    }

    fn new(config: RouterConfig, host: &RouterHost, limits: Limits) -> Self {
        let RouterHost { mac, vlans, mtu } = host.clone();
        let Limits { room, rate, seed } = limits;
        let own = Own::new(&config);
        let (version, stated) = (config.version, config.mtu.unwrap_or(mtu));
        Self {
            sender: Sender {
                mac,
                vlans,
                ip: config.source(),
                router: config.id,
                area: config.area,
                instance: config.instance,
                authentication: config.authentication,
                number: 0,
            },
            room: version.room(mtu.min(stated)) - config.authentication.trailer(),
            mtu: stated,
            flood: Flood::new((0..own.originations.groups()).map(|group| own.originations.count(group))),
            database: Database::new(LsaTally { version, ..LsaTally::default() }, room, config.keep as usize),
            neighbours: Vec::new(),
            counts: OspfCounts::default(),
            out: Vec::new(),
            owed: Vec::new(),
            acknowledge_at: Nanos::MAX,
            strays: BTreeMap::new(),
            designated: Ipv4Addr::UNSPECIFIED,
            backup: Ipv4Addr::UNSPECIFIED,
            rate: rate.max(1),
            flood_at: Nanos::ZERO,
            step_at: Nanos::ZERO,
            was_adjacent: false,
            told: vec![false; config.routes.len()],
            epoch: Nanos::MAX,
            seed,
            drawn: 0,
            refused: None,
            trouble: None,
            first_loss: None,
            begun: None,
            number_from: 0,
            hello_at: Nanos::MAX,
            age_at: Nanos::MAX,
            set_up: None,
            is_down: false,
            shut_until: None,
            has_left: false,
            own,
            config,
        }
    }

    fn read(frame: &[u8]) -> Option<Received<'_>> {
        Received::read(frame)
    }

    fn is_meant(&self, received: &Received<'_>) -> bool {
        let version = self.config.version;
        let is_for = received.to == version.all_routers() || received.to == self.sender.ip;
        is_for && received.version == version && received.vlans == self.sender.vlans
    }

    fn is_for_others(received: &Received<'_>) -> bool {
        received.to == received.version.all_designated()
    }

    fn take(&mut self, now: Nanos, received: &Received<'_>) {
        let packet = match &received.packet {
            Ok(packet) => packet,
            Err(_) => {
                self.counts.malformed += 1;
                return;
            }
        };
        if self.is_down || self.has_left || self.begun.is_none() || received.from == self.sender.ip {
            return;
        }
        if let Some(why) = self.refuses(received.from, packet) {
            self.counts.mismatched += 1;
            self.refused = Some(why);
            return;
        }
        self.date(now);
        self.take_accepted(now, received, packet);
        let known = self.neighbours.iter_mut().find(|one| one.id == packet.router);
        known.into_iter().for_each(|one| one.digest_number = packet.digest_number());
    }

    fn begin(&mut self, at: Nanos, number_from: u32) {
        self.begun = Some(at);
        self.number_from = number_from;
        self.hello_at = at;
        self.age_at = at.saturating_add(AGE_EVERY);
    }

    fn start(&mut self, epoch: Nanos) {
        self.epoch = epoch;
        self.step_at = Nanos::ZERO;
    }

    fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        if self.begun.is_none_or(|begun| now < begun) {
            return;
        }
        self.date(now);
        self.watch(now);
        if self.hello_at <= now {
            self.say_hello(now);
        }
        self.repeat(now);
        if self.step_at <= now {
            self.step(now);
        }
        self.flood(now);
        if self.acknowledge_at <= now {
            self.acknowledge(now);
        }
        if self.age_at <= now {
            self.database.age(now);
            self.age_at = now.saturating_add(AGE_EVERY);
        }
        if self.shut_until.is_some_and(|until| until <= now || self.is_flushed()) && !self.has_left {
            self.leave(now);
            self.has_left = true;
        }
        frames.append(&mut self.out);
    }

    fn next_due(&self) -> Nanos {
        if !self.out.is_empty() {
            return Nanos::ZERO;
        }
        let Some(begun) = self.begun.filter(|_| !self.has_left) else { return Nanos::MAX };
        let dead = Nanos::from_secs(self.config.dead_s.into());
        let neighbours = self.neighbours.iter().map(|one| one.next_due(dead));
        let strays = self.strays.values().map(|(at, _)| *at);
        let flood =
            match self.full() != 0 && self.flood.next(|group| self.own.originations.count(group)).is_some() {
                true => self.flood_at,
                false => Nanos::MAX,
            };
        let others = [
            self.hello_at,
            self.step_at,
            self.acknowledge_at,
            self.age_at,
            flood,
            self.flood.next_late(),
            self.shut_until.unwrap_or(Nanos::MAX),
        ];
        neighbours.chain(strays).chain(others).min().unwrap_or(Nanos::MAX).max(begun)
    }

    fn is_up(&self) -> bool {
        self.main().is_some_and(|one| one.state == NeighbourState::Full)
    }

    fn is_settled(&self) -> bool {
        let is_mutual = self.is_up() && self.main().is_some_and(|one| one.names_us);
        is_mutual
            && self.own.is_current(self.known_links().as_deref(), self.is_shut())
            && self.flood.is_done(|group| self.own.originations.count(group))
    }

    fn failure(&self) -> Option<Failure> {
        let Some(one) = self.main() else {
            return Some(self.refused.or(self.trouble).unwrap_or(Failure::Nobody));
        };
        if one.state == NeighbourState::Full && one.names_us {
            return None;
        }
        if let Some(is) = one.other_mtu.filter(|_| one.state < NeighbourState::Full) {
            return Some(Failure::Mtu { from: one.ip, is, expected: self.mtu });
        }
        Some(match one.state {
            NeighbourState::Down | NeighbourState::Init => Failure::OneWay(one.ip),
            NeighbourState::TwoWay => Failure::NoDesignated(one.ip),
            state => self.trouble.unwrap_or(Failure::Unfinished(one.ip, state)),
        })
    }

    fn first_loss(&self) -> Option<Failure> {
        self.first_loss
    }

    fn set_up(&self) -> Option<Nanos> {
        self.set_up
    }

    fn is_down(&self) -> bool {
        self.is_down
    }

    fn set(&mut self, now: Nanos, up: bool) -> bool {
        if self.is_down != up || self.shut_until.is_some() {
            return false;
        }
        self.is_down = !up;
        if up {
            self.hello_at = now;
        } else {
            self.leave(now);
        }
        true
    }

    fn set_range(&mut self, range: usize, up: bool) {
        self.own.originations.set_range(range, up);
        self.step_at = Nanos::ZERO;
    }

    fn shut(&mut self, now: Nanos) {
        if self.is_down || self.begun.is_none() {
            self.has_left = true;
        }
        self.shut_until = Some(now.saturating_add(LEAVE));
        self.step_at = Nanos::ZERO;
    }

    fn is_over(&self) -> bool {
        self.has_left && self.out.is_empty()
    }

    fn counts(&self) -> &OspfCounts {
        &self.counts
    }
}

impl Router {
    pub(crate) fn is_shut(&self) -> bool {
        self.shut_until.is_some()
    }

    /// Announces the shutdown to neighbours immediately: a Hello without neighbours ends adjacencies.
    fn leave(&mut self, now: Nanos) {
        self.neighbours.clear();
        self.flood.forget(u8::MAX);
        self.database.clear();
        self.owed.clear();
        self.strays.clear();
        self.acknowledge_at = Nanos::MAX;
        self.told.fill(false);
        self.elect(now);
        self.say_hello(now);
        self.hello_at = Nanos::MAX;
        self.step_at = Nanos::ZERO;
    }

    /// Bits of the neighbours whose adjacency is full.
    pub(crate) fn full(&self) -> u8 {
        let full = self.neighbours.iter().filter(|one| one.state == NeighbourState::Full);
        full.fold(0, |bits, one| bits | one.bit)
    }

    /// The neighbour that counts: the designated router, or the one with which it got furthest.
    pub(crate) fn main(&self) -> Option<&Neighbour> {
        let furthest = || self.neighbours.iter().max_by_key(|one| one.state);
        self.neighbours.iter().find(|one| one.called == self.designated).or_else(furthest)
    }

    /// Sets the sequence number of digests, derived from the second.
    fn date(&mut self, now: Nanos) {
        let since = self.begun.map_or(Nanos::ZERO, |begun| now.since(begun));
        self.sender.number = self.number_from.saturating_add((since.0 / Nanos::from_secs(1).0) as u32);
    }

    fn take_accepted(&mut self, now: Nanos, received: &Received<'_>, packet: &Packet<'_>) {
        match &packet.body {
            Body::Hello(hello) => self.hear(now, received, packet, hello),
            body => self.take_exchange(now, received.from, packet.router, body),
        }
    }

    /// Why a packet is not of a neighbour of this router (sections 8.2 and 10.5).
    fn refuses(&self, from: IpAddr, packet: &Packet<'_>) -> Option<Failure> {
        let config = &self.config;
        if packet.area != config.area {
            return Some(Failure::Area { from, is: packet.area, expected: config.area });
        }
        if packet.instance != config.instance {
            return Some(Failure::Instance { from, is: packet.instance, expected: config.instance });
        }
        let expected = self.sender.authentication;
        if !packet.is_by(&expected) {
            let (is, expected) = (packet.authentication.0, expected.kind());
            return Some(Failure::Authentication { from, is, expected });
        }
        let known = self.neighbours.iter().find(|one| one.id == packet.router);
        if known.is_some_and(|one| packet.digest_number() < one.digest_number) {
            return Some(Failure::Replayed(from));
        }
        if packet.router == config.id {
            return Some(Failure::SameId(from));
        }
        if config.topology.is_some_and(|topology| topology.number(packet.router).is_some()) {
            return Some(Failure::GeneratedId(from));
        }
        let own_mask = mask(config.prefix_len);
        let has_mask = config.version == Version::V2 && config.network == NetworkType::Broadcast;
        if has_mask && !is_in_network(from, config.local, own_mask) {
            return Some(Failure::OtherNetwork(from));
        }
        let Body::Hello(hello) = &packet.body else { return None };
        if has_mask && hello.mask != own_mask {
            return Some(Failure::Mask { from, is: hello.mask, expected: own_mask });
        }
        if hello.interval_s != config.hello_s {
            let (is, expected) = (hello.interval_s.into(), config.hello_s.into());
            return Some(Failure::HelloInterval { from, is, expected });
        }
        if hello.dead_s != config.dead_s {
            return Some(Failure::DeadInterval { from, is: hello.dead_s, expected: config.dead_s });
        }
        if hello.options & u32::from(OPTION_EXTERNAL) == 0 {
            return Some(Failure::StubArea(from));
        }
        let elects = config.network == NetworkType::PointToPoint && !hello.designated.is_unspecified();
        elects.then_some(Failure::Elects(from))
    }

    /// Takes in a Hello packet (section 10.5).
    fn hear(&mut self, now: Nanos, received: &Received<'_>, packet: &Packet<'_>, hello: &Hello<'_>) {
        self.counts.hellos.1 += 1;
        // Neighbours on a broadcast network have addresses in OSPFv2 (section 10.5), identifiers in OSPFv3 (RFC 5340 section 4.2.2.1).
        let is_it = |one: &Neighbour| match (self.config.version, self.config.network) {
            (Version::V2, NetworkType::Broadcast) => one.ip == received.from,
            _ => one.id == packet.router,
        };
        let found = self.neighbours.iter().position(is_it);
        let n = match found {
            Some(n) => n,
            None if self.neighbours.len() >= NEIGHBOURS_MAX => return,
            None => {
                self.neighbours.push(Neighbour::new(packet.router, received.from, received.from_mac, 0));
                self.neighbours.len() - 1
            }
        };
        if self.neighbours[n].id != packet.router {
            // It is another router now.
            self.back_to(now, n, NeighbourState::Down, Failure::Restarted(received.from));
        }
        let one = &mut self.neighbours[n];
        (one.id, one.ip, one.mac, one.heard) = (packet.router, received.from, received.from_mac, now);
        (one.priority, one.designated, one.backup) = (hello.priority, hello.designated, hello.backup);
        one.interface = hello.interface;
        one.called = match received.from {
            IpAddr::V4(ip) => ip,
            IpAddr::V6(_) => packet.router,
        };
        if one.state == NeighbourState::Down {
            one.state = NeighbourState::Init;
            // It need not wait for the next one to know that it is heard.
            self.hello_at = now;
        }
        match (hello.names(self.config.id), self.neighbours[n].state) {
            (true, NeighbourState::Init) => self.neighbours[n].state = NeighbourState::TwoWay,
            (false, state) if state > NeighbourState::Init => {
                self.back_to(now, n, NeighbourState::Init, Failure::Forgotten(received.from));
            }
            _ => {}
        }
        self.elect(now);
    }

    /// Determines the designated routers from the neighbours' Hellos: this router can't be one (section 9.4 for
    /// priority 0). Begins and ends adjacencies accordingly (section 10.4).
    pub(crate) fn elect(&mut self, now: Nanos) {
        let before = self.known_links();
        if self.config.network == NetworkType::Broadcast {
            let best = |declares: fn(&Neighbour) -> bool| {
                let able = self
                    .neighbours
                    .iter()
                    .filter(|one| one.state >= NeighbourState::TwoWay && one.priority > 0 && declares(one));
                able.max_by_key(|one| (one.priority, one.id)).map_or(Ipv4Addr::UNSPECIFIED, |one| one.called)
            };
            let designated = best(|one| one.designated == one.called);
            let backup = best(|one| one.backup == one.called && one.designated != one.called);
            (self.designated, self.backup) = (designated, backup);
        }
        for n in 0..self.neighbours.len() {
            let one = &self.neighbours[n];
            let is_wanted = self.config.network == NetworkType::PointToPoint
                || one.called == self.designated
                || one.called == self.backup;
            match (is_wanted, one.state) {
                (true, NeighbourState::TwoWay) => self.start_exchange(now, n),
                (false, state) if state >= NeighbourState::ExStart => {
                    let why = Failure::NoDesignated(one.ip);
                    self.back_to(now, n, NeighbourState::TwoWay, why);
                }
                _ => {}
            }
        }
        if before != self.known_links() {
            self.step_at = Nanos::ZERO;
        }
    }

    /// Takes the adjacency with a neighbour back to an earlier state.
    pub(crate) fn back_to(&mut self, now: Nanos, n: usize, state: NeighbourState, why: Failure) {
        let one = &mut self.neighbours[n];
        let (was_full, bit) = (one.state == NeighbourState::Full, one.bit);
        one.state = state;
        one.bit = 0;
        one.clear();
        self.flood.forget(bit);
        self.trouble = Some(why);
        self.step_at = Nanos::ZERO;
        if was_full && !self.is_shut() {
            self.counts.flaps += 1;
            self.first_loss = self.first_loss.or(Some(why));
        }
        if self.full() == 0 {
            self.told.fill(false);
            self.flood_nothing();
        }
        if state <= NeighbourState::TwoWay {
            self.hello_at = self.hello_at.min(now);
        }
    }

    /// There is no neighbour to flood to.
    fn flood_nothing(&mut self) {
        for group in 0..self.own.originations.groups() {
            self.flood.skip(group, self.own.originations.count(group));
        }
    }

    /// Full adjacency with a neighbour.
    pub(crate) fn become_full(&mut self, now: Nanos, n: usize) {
        let one = &mut self.neighbours[n];
        one.state = NeighbourState::Full;
        one.full_since = Some(now);
        one.other_mtu = None;
        self.counts.full += 1;
        (self.trouble, self.refused) = (None, None);
        self.set_up = self.set_up.or(self.begun.map(|begun| now.since(begun)));
        for group in 0..self.own.originations.groups() {
            let (version, described) =
                (self.own.originations.instance(group), self.neighbours[n].described.get(group));
            let described = described.copied().flatten();
            let is_news = if version.is_up { described != Some(version) } else { described.is_some() };
            if is_news {
                self.flood.begin(group);
            }
        }
        self.was_adjacent = true;
        self.step_at = Nanos::ZERO;
        for range in self.own.originations.up().collect::<Vec<_>>() {
            self.tell(now, range, true);
        }
    }

    /// Neighbours come to know that routes of a range came or went.
    fn tell(&mut self, now: Nanos, range: usize, up: bool) {
        if self.full() == 0 || std::mem::replace(&mut self.told[range], up) == up {
            return;
        }
        let since = (self.epoch < Nanos::MAX).then(|| now.since(self.epoch));
        let (count, counts) = (self.own.routes(range), &mut self.counts);
        if up {
            counts.advertised += count;
            counts.first_advertisement = counts.first_advertisement.or(since);
        } else {
            counts.withdrawn += count;
            counts.first_withdrawal = counts.first_withdrawal.or(since);
        }
    }

    /// The links in its own LSA; `None` as long as it needs none.
    fn known_links(&self) -> Option<Vec<Link>> {
        self.was_adjacent.then(|| self.links())
    }

    /// Its current links (RFC 2328 section 12.4.1, RFC 5340 section 4.4.3.2). In OSPFv3 they have numbers, and the one
    /// to the network represents its prefix, which is in another LSA.
    fn links(&self) -> Vec<Link> {
        let config = &self.config;
        let (data, stub) = match config.local {
            IpAddr::V4(local) => {
                let mask = mask(config.prefix_len);
                (local, (Ipv4Addr::from(u32::from(local) & u32::from(mask)), mask))
            }
            IpAddr::V6(_) => (Ipv4Addr::from(INTERFACE), (Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED)),
        };
        let cost = config.cost;
        let stub = Link { to: LinkTo::Stub, id: stub.0, data: stub.1, cost, theirs: 0 };
        let link = |to, one: &Neighbour, id| Link { to, id, data, cost, theirs: one.interface };
        let mut full = self.neighbours.iter().filter(|one| one.state == NeighbourState::Full);
        let mut links = Vec::new();
        match config.network {
            NetworkType::PointToPoint => {
                links.extend(full.map(|one| link(LinkTo::Router, one, one.id)));
                links.push(stub);
            }
            NetworkType::Broadcast => {
                let designated = full.find(|one| one.called == self.designated);
                links.push(designated.map_or(stub, |one| link(LinkTo::Transit, one, self.designated)));
            }
        }
        links.extend(self.own.root_link());
        links
    }

    /// Whether all its LSAs are flushed, or there is no neighbour.
    fn is_flushed(&self) -> bool {
        let is_told =
            self.own.is_current(None, true) && self.flood.is_done(|group| self.own.originations.count(group));
        self.full() == 0 || is_told
    }

    /// Drops neighbours whose dead interval has expired.
    fn watch(&mut self, now: Nanos) {
        let dead = Nanos::from_secs(self.config.dead_s.into());
        let lost = |one: &Neighbour| one.heard.saturating_add(dead) <= now;
        let mut has_lost = false;
        while let Some(n) = self.neighbours.iter().position(lost) {
            let ip = self.neighbours[n].ip;
            self.back_to(now, n, NeighbourState::Down, Failure::Silent(ip));
            self.neighbours.remove(n);
            has_lost = true;
        }
        if has_lost {
            self.elect(now);
        }
    }

    fn say_hello(&mut self, now: Nanos) {
        self.hello_at = now.saturating_add(Nanos::from_secs(self.config.hello_s.into()));
        let heard: Vec<u8> = self.neighbours.iter().flat_map(|one| one.id.octets()).collect();
        let mut body = Vec::new();
        let hello = Hello {
            mask: mask(self.config.prefix_len),
            interface: INTERFACE,
            interval_s: self.config.hello_s,
            options: self.config.version.options(),
            priority: 0,
            dead_s: self.config.dead_s,
            designated: self.designated,
            backup: self.backup,
            heard: &heard,
        };
        hello.put(self.config.version, &mut body);
        self.counts.hellos.0 += 1;
        let all = self.config.version.all_routers();
        self.out.push(self.sender.frame((all, group_mac(all)), 1, &body));
    }

    /// Originates and flushes LSAs.
    fn step(&mut self, now: Nanos) {
        let since = if self.epoch < Nanos::MAX { now.since(self.epoch) } else { Nanos::ZERO };
        let (links, is_shut) = (self.known_links(), self.is_shut());
        let changes = self.own.step(now, since, links.as_deref(), is_shut);
        let is_heard = self.full() != 0;
        for group in changes.groups {
            match is_heard {
                true => self.flood.begin(group),
                false => self.flood.skip(group, self.own.originations.count(group)),
            }
        }
        self.counts.refreshed += changes.refreshed;
        if !is_shut {
            changes.ranges.into_iter().for_each(|(range, up)| self.tell(now, range, up));
        }
        self.step_at = self.own.next_due(self.epoch, links.as_deref(), is_shut).max(Nanos(now.0 + 1));
    }

    /// Where packets for a neighbour go: on a point-to-point link to all, who are one (section 8.1).
    pub(crate) fn to(&self, n: usize) -> (IpAddr, Mac) {
        match self.config.network {
            NetworkType::PointToPoint => self.to_all(),
            NetworkType::Broadcast => (self.neighbours[n].ip, self.neighbours[n].mac),
        }
    }

    /// Destination of packets to all: a router that is not designated sends to the designated ones.
    pub(crate) fn to_all(&self) -> (IpAddr, Mac) {
        let group = match self.config.network {
            NetworkType::PointToPoint => self.config.version.all_routers(),
            NetworkType::Broadcast => self.config.version.all_designated(),
        };
        (group, group_mac(group))
    }

    /// The neighbour that counts: the designated router, or the one with which it got furthest.
    pub fn neighbour(&self) -> Option<NeighbourView> {
        self.main().map(Neighbour::view)
    }

    /// Whether the adjacency is full and the neighbour's LSAs confirm it.
    pub fn is_mutual(&self) -> bool {
        self.failure().is_none()
    }

    /// The designated router of its network, and the backup: addresses in OSPFv2, identifiers in OSPFv3; unspecified if there is none.
    pub fn designated(&self) -> (Ipv4Addr, Ipv4Addr) {
        (self.designated, self.backup)
    }

    /// The LSAs of its neighbours.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Numbers of stored LSAs, by type.
    pub fn held(&self) -> &LsaCounts {
        &self.database.tally().counts
    }

    /// Router LSAs it originates now: its own, and one of each router generated behind it.
    pub fn originated(&self) -> u64 {
        let there = |group: &usize| self.own.originations.instance(*group).is_up;
        [OWN, GENERATED]
            .iter()
            .filter(|group| there(group))
            .map(|group| u64::from(self.own.originations.count(*group)))
            .sum()
    }
}

/// Whether two addresses of IPv4 are in one network.
fn is_in_network(a: IpAddr, b: IpAddr, mask: Ipv4Addr) -> bool {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (u32::from(a) ^ u32::from(b)) & u32::from(mask) == 0,
        _ => false,
    }
}
