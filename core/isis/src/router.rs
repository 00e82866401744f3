//! A router on its link: its neighbours, its adjacencies, and its timers (ISO/IEC 10589 sections 8.2 and 8.4).
//!
//! Not here: how LSPs are exchanged (`level`); who receives which frame (`linkstate::Routers`).

use crate::Mac;
use crate::counts::{IsisCounts, LevelCounts};
use crate::database::Database;
use crate::failure::{Failure, Whom};
use crate::level::{Level, Out};
use crate::neighbour::{Neighbour, NeighbourState, NeighbourView};
use crate::own::{Link, Said, protocols};
use crate::password::{self, Password};
use crate::pdu::{
    ALL_LEVEL_1, ALL_LEVEL_2, ALL_SYSTEMS, AREAS, Area, Body, Hello, IPV4_ADDRESSES, IPV6_ADDRESSES,
    LAN_NEIGHBOURS, LSP_MAX, PADDING, PROTOCOLS, Pdu, Received, Sender, SystemId, THREE_WAY, begin_hello,
    finish, put,
};
use crate::routes::{RouteRange, Topology};
use linkstate::{APART, Limits, Router as _, RouterHost};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use units::Nanos;

/// Maximum number of neighbours of a router.
const NEIGHBOURS_MAX: usize = 64;
/// Interval of removing neighbours' LSPs that were not refreshed.
const AGE_EVERY: Nanos = Nanos::from_secs(60);
/// Time for which a router tries to purge its LSPs before it leaves, on a link where they are acknowledged and on a
/// LAN.
const LEAVE: Nanos = Nanos::from_secs(3);
const LEAVE_LAN: Nanos = Nanos::from_millis(1_500);
/// Bytes of LLC before a PDU.
const LLC: usize = 3;
/// Bytes that a frame with LLC has room for.
const FRAME_MAX: usize = 1_500;

/// Levels that a router is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Levels {
    /// Routing in an area.
    One,
    /// Routing between areas.
    Two,
    /// Both.
    Both,
}

impl Levels {
    /// 1 for level 1, 2 for level 2.
    pub fn bits(self) -> u8 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Both => 3,
        }
    }
}

/// Discovery of routers on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkType {
    /// Two routers (RFC 5309).
    PointToPoint,
    /// Many, of which one is designated.
    Broadcast,
}

/// A router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouterConfig {
    /// Name in commands; empty if it has no name.
    pub name: String,
    /// The host it is, by number.
    pub host: usize,
    /// Its address, and the bits of its network.
    pub local: Ipv4Addr,
    /// Bits of its network.
    pub prefix_len: u8,
    /// Its global IPv6 address, if it has one, and the bits of its network.
    pub ipv6: Option<(Ipv6Addr, u8)>,
    /// The address that it has on its link alone, if it forwards IPv6: where the device sends what is for its routes.
    pub link_local: Option<Ipv6Addr>,
    /// Its identifier.
    pub system: SystemId,
    /// Its area.
    pub area: Area,
    /// Its levels.
    pub levels: Levels,
    /// Network type of its link.
    pub network: NetworkType,
    /// Its priority on a LAN.
    pub priority: u8,
    /// Time between its hellos, s.
    pub hello_s: u16,
    /// Holding time announced to neighbours, s.
    pub hold_s: u16,
    /// Metric of its link.
    pub metric: u32,
    /// Bytes of the longest packet on its link; `None` is that of its port.
    pub mtu: Option<u16>,
    /// Whether its hellos are as long as that.
    pub padding: bool,
    /// Dynamic hostname; empty if not advertised.
    pub hostname: String,
    /// Overload bit: no transit traffic.
    pub overload: bool,
    /// Attached bit of its level 1 LSP.
    pub attached: bool,
    /// Traffic engineering router ID (RFC 5305 section 4.3), if advertised.
    pub te_router_id: Option<Ipv4Addr>,
    /// Lifetime of its LSPs, s.
    pub lifetime_s: u16,
    /// Time after which it originates an LSP again, s.
    pub refresh_s: u16,
    /// Authentication of its hellos.
    pub password: Option<Password>,
    /// Authentication of its LSPs and sequence numbers PDUs.
    pub lsp_password: Option<Password>,
    /// Its number among the routers of its entry.
    pub number: u32,
    /// Routes it advertises.
    pub routes: Arc<[RouteRange]>,
    /// Routers behind it.
    pub topology: Option<Topology>,
    /// LSPs of neighbours that are kept to be shown, of each level.
    pub keep: u32,
}

/// A router and its neighbours.
#[derive(Debug)]
pub struct Router {
    pub(crate) config: RouterConfig,
    pub(crate) sender: Sender,
    /// Bytes that its hellos are padded to, with LLC.
    mtu: usize,
    pub(crate) levels: Vec<Level>,
    pub(crate) neighbours: Vec<Neighbour>,
    pub(crate) counts: IsisCounts,
    /// Frames to be sent.
    out: Vec<Vec<u8>>,
    epoch: Nanos,
    /// Why a PDU was refused, and why an adjacency ended, last.
    refused: Option<Failure>,
    trouble: Option<Failure>,
    first_loss: Option<Failure>,
    /// Delay of its beginning, so that not all routers send hellos at once.
    delay: Nanos,
    begun: Option<Nanos>,
    hello_at: Nanos,
    age_at: Nanos,
    /// Time from the first hello to all adjacencies.
    set_up: Option<Nanos>,
    is_down: bool,
    was_up: bool,
    /// Until when LSPs are purged at the end, and whether it has left.
    shut_until: Option<Nanos>,
    has_left: bool,
}

impl linkstate::Router for Router {
    type Config = RouterConfig;
    type Counts = IsisCounts;
    type Failure = Failure;
    type Received<'a> = Received<'a>;

    fn host(config: &RouterConfig) -> usize {
        config.host
    }

    fn new(config: RouterConfig, host: &RouterHost, limits: Limits) -> Self {
        let RouterHost { mac, vlans, mtu } = host.clone();
        let Limits { room, rate, seed } = limits;
        let mtu = usize::from(config.mtu.unwrap_or(mtu)).clamp(512, FRAME_MAX);
        let said = |level: u8| Said {
            level,
            system: config.system,
            area: config.area,
            hostname: config.hostname.clone(),
            overload: config.overload,
            attached: config.attached && level == 1,
            te_router_id: config.te_router_id,
            lifetime_s: config.lifetime_s,
            refresh: Nanos::from_secs(config.refresh_s.into()),
            ipv4: Some((config.local, config.prefix_len)),
            ipv6: config.ipv6,
            has_ipv6: config.link_local.is_some(),
            metric: config.metric,
            password: config.lsp_password.clone(),
            lsp_bytes: LSP_MAX.min(mtu - LLC),
            number: config.number,
            routes: config.routes.clone(),
            topology: config.topology,
        };
        let numbers = [1u8, 2].into_iter().filter(|number| config.levels.bits() & number != 0);
        let is_lan = config.network == NetworkType::Broadcast;
        let level = |number| Level::new(said(number), is_lan, (room, config.keep as usize), rate);
        Self {
            sender: Sender { mac, vlans },
            mtu,
            levels: numbers.map(level).collect(),
            neighbours: Vec::new(),
            counts: IsisCounts::default(),
            out: Vec::new(),
            epoch: Nanos::MAX,
            refused: None,
            trouble: None,
            first_loss: None,
            delay: Nanos(random::below(seed, APART.0)),
            begun: None,
            hello_at: Nanos::MAX,
            age_at: Nanos::MAX,
            set_up: None,
            is_down: false,
            was_up: false,
            shut_until: None,
            has_left: false,
            config,
        }
    }

    fn read(frame: &[u8]) -> Option<Received<'_>> {
        Received::read(frame)
    }

    fn is_meant(&self, received: &Received<'_>) -> bool {
        received.is_for(&self.sender.mac) && received.vlans == self.sender.vlans
    }

    fn take(&mut self, now: Nanos, received: &Received<'_>) {
        let Ok(pdu) = &received.pdu else {
            self.counts.malformed += 1;
            return;
        };
        if self.is_down || self.has_left || self.begun.is_none() || received.from == self.sender.mac {
            return;
        }
        match &pdu.body {
            Body::Hello(hello) => self.hear(now, received.from, pdu, hello),
            Body::Lsp(level, _) | Body::Complete(level, ..) | Body::Partial(level) => {
                self.take_sync(now, received.from, pdu, *level);
            }
        }
    }

    fn begin(&mut self, at: Nanos, _: u32) {
        let at = at + self.delay;
        self.begun = Some(at);
        self.hello_at = at;
        self.age_at = at.saturating_add(AGE_EVERY);
    }

    fn start(&mut self, epoch: Nanos) {
        self.epoch = epoch;
        self.look();
    }

    fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        if self.begun.is_none_or(|begun| now < begun) {
            return;
        }
        self.watch(now);
        if self.hello_at <= now {
            self.say_hello(now);
        }
        let (is_shut, since, last) = (self.is_shut(), self.since(now), self.levels.len() - 1);
        let mut pdus = Vec::new();
        for at in 0..self.levels.len() {
            let links = self.known_links(&self.levels[at]);
            let mut out = Out { pdus: &mut pdus, counts: &mut self.counts, counts_routes: at == last, since };
            self.levels[at].poll(now, self.epoch, links.as_deref(), is_shut, &mut out);
        }
        self.send(pdus);
        if self.age_at <= now {
            self.levels.iter_mut().for_each(|level| level.database.age(now));
            self.age_at = now.saturating_add(AGE_EVERY);
        }
        if self.shut_until.is_some_and(|until| until <= now || self.is_purged()) && !self.has_left {
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
        let neighbours = self.neighbours.iter().map(Neighbour::lost_at);
        let levels = self.levels.iter().map(Level::next_due);
        let others = [self.hello_at, self.age_at, self.shut_until.unwrap_or(Nanos::MAX)];
        neighbours.chain(levels).chain(others).min().unwrap_or(Nanos::MAX).max(begun)
    }

    fn is_up(&self) -> bool {
        self.levels.iter().all(|level| level.with.is_some())
    }

    fn is_settled(&self) -> bool {
        let is_told = |level: &Level| level.is_told(self.known_links(level).as_deref(), self.is_shut());
        self.is_mutual() && self.levels.iter().all(is_told)
    }

    fn failure(&self) -> Option<Failure> {
        let refused = || self.refused.or(self.trouble).unwrap_or(Failure::Nobody);
        self.levels.iter().find_map(|level| {
            let there = || self.neighbours.iter().filter(|one| one.levels & level.number != 0);
            match self.main_at(level.number) {
                Some(_) if !level.named.is_empty() => None,
                Some(one) if level.has_narrow => Some(Failure::Narrow(one.whom())),
                Some(one) => {
                    let refused = self.refused.filter(|why| matches!(why, Failure::Authentication { .. }));
                    Some(refused.unwrap_or(Failure::Unnamed(one.whom(), level.number)))
                }
                None => Some(match there().max_by_key(|one| one.state) {
                    None => refused(),
                    Some(one) if one.state == NeighbourState::Up => Failure::NoDesignated(one.whom()),
                    Some(one) => {
                        match one.padded.filter(|is| usize::from(*is) != self.mtu && self.config.padding) {
                            Some(is) => Failure::Mtu { from: one.whom(), is, expected: self.mtu as u16 },
                            None => Failure::OneWay(one.whom()),
                        }
                    }
                }),
            }
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
        self.levels.iter_mut().for_each(|level| level.own.originations.set_range(range, up));
        self.look();
    }

    fn shut(&mut self, now: Nanos) {
        if self.is_down || self.begun.is_none() {
            self.has_left = true;
        }
        let leave = if self.config.network == NetworkType::Broadcast { LEAVE_LAN } else { LEAVE };
        self.shut_until = Some(now.saturating_add(leave));
        self.look();
    }

    fn is_over(&self) -> bool {
        self.has_left && self.out.is_empty()
    }

    fn counts(&self) -> &IsisCounts {
        &self.counts
    }
}

impl Router {
    /// Own LSPs are checked at once.
    fn look(&mut self) {
        self.levels.iter_mut().for_each(|level| level.step_at = Nanos::ZERO);
    }

    fn is_shut(&self) -> bool {
        self.shut_until.is_some()
    }

    /// Announces the shutdown to neighbours immediately: a hello without neighbours ends adjacencies.
    fn leave(&mut self, now: Nanos) {
        self.neighbours.clear();
        self.review(now, None);
        self.say_hello(now);
        self.hello_at = Nanos::MAX;
    }

    /// The neighbour that counts at a level: the one it has an adjacency with; on a LAN, the designated one of them.
    fn main_at(&self, level: u8) -> Option<&Neighbour> {
        let up = self.neighbours.iter().filter(|one| one.is_up(level));
        match self.config.network {
            NetworkType::PointToPoint => up.into_iter().next(),
            NetworkType::Broadcast => {
                up.filter(|one| one.is_designated()).max_by_key(|one| (one.priority, one.mac))
            }
        }
    }

    /// The neighbour to be shown: one that counts, or the one with which it got furthest.
    pub(crate) fn main(&self) -> Option<&Neighbour> {
        let first = self.levels.iter().rev().find_map(|level| self.main_at(level.number));
        first.or_else(|| self.neighbours.iter().max_by_key(|one| one.state))
    }

    /// Adjacencies by level.
    pub fn adjacencies(&self) -> LevelCounts {
        let mut all = LevelCounts::default();
        let up = self.neighbours.iter().filter(|one| one.state == NeighbourState::Up);
        up.for_each(|one| all.count(one.levels));
        all
    }

    /// Whether the device's LSPs name the router at each of its levels.
    pub fn is_mutual(&self) -> bool {
        self.is_up() && self.levels.iter().all(|level| !level.named.is_empty())
    }

    /// Takes in an LSP or a sequence numbers PDU of a neighbour.
    fn take_sync(&mut self, now: Nanos, from: Mac, pdu: &Pdu<'_>, number: u8) {
        let Some(from) =
            self.neighbours.iter().find(|one| one.mac == from && one.is_up(number)).map(Neighbour::whom)
        else {
            return;
        };
        let since = self.since(now);
        let last = self.levels.len() - 1;
        let Some((at, level)) = self.levels.iter_mut().enumerate().find(|(_, level)| level.number == number)
        else {
            return;
        };
        if level.with.is_none() {
            return;
        }
        if let Err((is, expected)) = level.check(pdu) {
            self.counts.mismatched += 1;
            self.refused = Some(Failure::Authentication { from, is, expected, hello: false });
            return;
        }
        if level.is_forged(pdu) {
            self.counts.mismatched += 1;
            return;
        }
        let mut pdus = Vec::new();
        let mut out = Out { pdus: &mut pdus, counts: &mut self.counts, counts_routes: at == last, since };
        match pdu.body {
            Body::Lsp(_, header) => level.take_lsp(now, pdu, &header, &mut out),
            Body::Complete(_, from, to) => {
                *out.counts.csnps.1.of(number) += 1;
                level.take_snp(now, pdu, Some((from, to)), &mut out);
            }
            _ => {
                *out.counts.psnps.1.of(number) += 1;
                level.take_snp(now, pdu, None, &mut out);
            }
        }
        self.send(pdus);
    }

    fn since(&self, now: Nanos) -> Option<Nanos> {
        (self.epoch < Nanos::MAX).then(|| now.since(self.epoch))
    }

    /// Takes in a hello.
    fn hear(&mut self, now: Nanos, mac: Mac, pdu: &Pdu<'_>, hello: &Hello) {
        let find = |kind| pdu.tlvs().find(|(it, _)| *it == kind).map(|(_, value)| value);
        let ip =
            find(IPV4_ADDRESSES).and_then(|value| value.first_chunk::<4>()).map(|ip| Ipv4Addr::from(*ip));
        let from = Whom { system: hello.system, ip };
        let areas: Vec<Area> = find(AREAS).map(areas).unwrap_or_default();
        let levels = match self.accepts(pdu, hello, from, &areas) {
            Ok(0) => return,
            Ok(levels) => levels,
            Err(why) => {
                self.counts.mismatched += 1;
                self.refused = Some(why);
                return;
            }
        };
        self.counts.hellos.1 += 1;
        self.counts.hellos_at.1.count(levels);
        let is_it = |one: &Neighbour| {
            one.mac == mac && one.system == hello.system && (hello.lan.is_none() || one.levels == levels)
        };
        if hello.lan.is_none() && self.neighbours.first().is_some_and(|one| !is_it(one)) {
            // It is another router now.
            let why = self.neighbours.drain(..).next().map(|one| Failure::Forgotten(one.whom()));
            self.review(now, why);
        }
        let n = match self.neighbours.iter().position(is_it) {
            Some(n) => n,
            None if self.neighbours.len() >= NEIGHBOURS_MAX => return,
            None => {
                self.neighbours.push(Neighbour::new(hello.system, mac, levels));
                self.neighbours.len() - 1
            }
        };
        let named = |macs: &[u8]| macs.chunks_exact(6).any(|mac| mac == self.sender.mac);
        let hears = match hello.lan {
            Some(_) => pdu.tlvs().any(|(kind, value)| kind == LAN_NEIGHBOURS && named(value)),
            None => true,
        };
        let three_way = find(THREE_WAY).filter(|_| hello.lan.is_none());
        let extended = three_way.and_then(|value| value.get(1..5)).and_then(|id| id.first_chunk()).copied();
        let is_padded = find(PADDING).is_some();
        let one = &mut self.neighbours[n];
        let before = one.state;
        (one.ip, one.levels, one.heard, one.hold_s) = (ip, levels, now, hello.hold_s);
        (one.area, one.extended) = (areas.first().copied(), extended);
        one.padded = is_padded.then_some((pdu.bytes.len() + LLC) as u16);
        if let Some((_, priority, circuit)) = hello.lan {
            (one.priority, one.circuit) = (priority, circuit);
        }
        one.state = match three_way {
            Some(value) => after_three_way(before, value),
            None if hears => NeighbourState::Up,
            None => NeighbourState::Initializing,
        };
        one.up_since = one.up_since.filter(|_| one.state == NeighbourState::Up);
        if one.state == NeighbourState::Up {
            one.up_since = one.up_since.or(Some(now));
        }
        if one.state != before {
            // It need not wait for the next one to know that it is heard.
            self.hello_at = now;
        }
        self.review(now, Some(Failure::Forgotten(from)));
    }

    /// The levels at which a hello is one of a neighbour; none is no reason to complain.
    ///
    /// # Errors
    /// Why it is none.
    fn accepts(&mut self, pdu: &Pdu<'_>, hello: &Hello, from: Whom, areas: &[Area]) -> Result<u8, Failure> {
        let config = &self.config;
        if let Err((is, expected)) = password::check(pdu, config.password.as_ref()) {
            return Err(Failure::Authentication { from, is, expected, hello: true });
        }
        if hello.system == config.system {
            return Err(Failure::SameId(from));
        }
        if config.topology.is_some_and(|topology| topology.number(hello.system).is_some()) {
            return Err(Failure::GeneratedId(from));
        }
        if hello.lan.is_some() != (config.network == NetworkType::Broadcast) {
            return Err(Failure::Network { from, lan: hello.lan.is_some() });
        }
        let mut three_way = pdu.tlvs().filter(|(kind, _)| *kind == THREE_WAY && hello.lan.is_none());
        if three_way.next().is_some_and(|(_, value)| !is_for(value, config.system)) {
            return Err(Failure::OneWay(from));
        }
        let own = config.levels.bits();
        let said = hello.lan.map_or(hello.circuit, |(level, ..)| level);
        let is_same_area = areas.contains(&config.area);
        let mut levels = own & said;
        let lacking = own & !hello.circuit;
        if lacking != 0 {
            self.refused = Some(Failure::Level { from, lacks: if lacking & 1 != 0 { 1 } else { 2 } });
        }
        if levels & 1 != 0 && !is_same_area {
            levels &= !1;
            let is = areas.first().copied().unwrap_or(config.area);
            let why = Failure::Area { from, is, expected: config.area };
            if levels == 0 {
                return Err(why);
            }
            self.refused = Some(why);
        }
        match (levels, self.refused) {
            (0, Some(why)) if lacking != 0 => Err(why),
            _ => Ok(levels),
        }
    }

    /// Finds out with whom there is an adjacency that counts, at each level; `why` one may have ended.
    fn review(&mut self, now: Nanos, why: Option<Failure>) {
        let since = self.since(now);
        let (mut pdus, mut lost) = (Vec::new(), 0);
        let last = self.levels.len() - 1;
        for at in 0..self.levels.len() {
            let with = self.main_at(self.levels[at].number).map(|one| match self.config.network {
                NetworkType::Broadcast => one.circuit,
                NetworkType::PointToPoint => {
                    let [a, b, c, d, e, f] = one.system.0;
                    [a, b, c, d, e, f, 0]
                }
            });
            let level = &mut self.levels[at];
            if level.with == with {
                continue;
            }
            lost |= if level.with.is_some() && with.is_none() { level.number } else { 0 };
            let mut out = Out { pdus: &mut pdus, counts: &mut self.counts, counts_routes: at == last, since };
            level.join(with, &mut out);
        }
        if lost != 0 {
            self.was_up = false;
            self.trouble = why;
            if !self.is_shut() && !self.is_down {
                self.counts.flaps += 1;
                self.counts.flaps_at.count(lost);
                self.first_loss = self.first_loss.or(why);
            }
        }
        if self.is_up() && !std::mem::replace(&mut self.was_up, true) {
            self.counts.up += 1;
            (self.trouble, self.refused) = (None, None);
            self.set_up = self.set_up.or(self.begun.map(|begun| now.since(begun)));
        }
        self.send(pdus);
    }

    /// The links in its own LSP at a level; `None` as long as it needs none.
    fn known_links(&self, level: &Level) -> Option<Vec<Link>> {
        level.was_adjacent.then(|| {
            let with = level.with.map(|with| {
                let [a, b, c, d, e, f, pseudonode] = with;
                (SystemId([a, b, c, d, e, f]), pseudonode, self.config.metric)
            });
            let behind = self.config.topology.map(|topology| (topology.id(0), 0, topology.metric));
            with.into_iter().chain(behind).collect()
        })
    }

    /// Whether all its LSPs are purged, or there is no neighbour.
    fn is_purged(&self) -> bool {
        self.levels.iter().all(|level| level.with.is_none() || level.is_told(None, true))
    }

    /// Drops neighbours whose hold time has expired.
    fn watch(&mut self, now: Nanos) {
        while let Some(n) = self.neighbours.iter().position(|one| one.lost_at() <= now) {
            let one = self.neighbours.remove(n);
            let why = Failure::Silent(one.whom(), one.hold_s);
            self.trouble = Some(why);
            self.review(now, Some(why));
        }
    }

    /// Frames around PDUs of levels.
    fn send(&mut self, pdus: Vec<(u8, Vec<u8>)>) {
        let to = |level| match (self.config.network, level) {
            (NetworkType::PointToPoint, _) => ALL_SYSTEMS,
            (_, 1) => ALL_LEVEL_1,
            _ => ALL_LEVEL_2,
        };
        let frames = pdus.iter().map(|(level, pdu)| self.sender.frame(to(*level), pdu));
        self.out.extend(frames);
    }

    fn say_hello(&mut self, now: Nanos) {
        self.hello_at = now.saturating_add(Nanos::from_secs(self.config.hello_s.into()));
        let hello = |lan| Hello {
            circuit: self.config.levels.bits(),
            system: self.config.system,
            hold_s: self.config.hold_s,
            lan,
        };
        let mut pdus = Vec::new();
        match self.config.network {
            NetworkType::PointToPoint => {
                self.counts.hellos_at.0.count(self.config.levels.bits());
                pdus.push((0, self.hello(&hello(None))));
            }
            NetworkType::Broadcast => {
                for level in &self.levels {
                    let circuit = level.with.unwrap_or([0; 7]);
                    let lan = Some((level.number, self.config.priority, circuit));
                    self.counts.hellos_at.0.count(level.number);
                    pdus.push((level.number, self.hello(&hello(lan))));
                }
            }
        }
        self.counts.hellos.0 += pdus.len() as u64;
        self.send(pdus);
    }

    fn hello(&self, hello: &Hello) -> Vec<u8> {
        let config = &self.config;
        let mut out = begin_hello(hello);
        let tlvs_at = out.len();
        password::begin(&mut out, config.password.as_ref());
        let area = config.area.bytes();
        put(&mut out, AREAS, &[&[area.len() as u8], area].concat());
        put(&mut out, PROTOCOLS, protocols(config.link_local.is_some()));
        put(&mut out, IPV4_ADDRESSES, &config.local.octets());
        if let Some(ip) = config.link_local {
            put(&mut out, IPV6_ADDRESSES, &ip.octets());
        }
        match hello.lan {
            Some((level, ..)) => {
                let heard = self.neighbours.iter().filter(|one| one.levels == level).flat_map(|one| one.mac);
                let heard: Vec<u8> = heard.collect();
                heard.chunks(252).for_each(|some| put(&mut out, LAN_NEIGHBOURS, some));
            }
            None => put(&mut out, THREE_WAY, &self.three_way()),
        }
        while config.padding && out.len() + LLC + 2 <= self.mtu {
            let len = (self.mtu - out.len() - LLC - 2).min(255);
            put(&mut out, PADDING, &[0; 255][..len]);
        }
        finish(&mut out);
        password::sign(&mut out, tlvs_at, config.password.as_ref());
        out
    }

    /// State of the router's adjacency with its neighbour, for the neighbour (RFC 5303 section 3.1).
    fn three_way(&self) -> Vec<u8> {
        let one = self.neighbours.first();
        let state = match one.map(|one| one.state) {
            Some(NeighbourState::Up) => 0,
            Some(NeighbourState::Initializing) => 1,
            _ => 2,
        };
        let mut value = vec![state];
        value.extend(CIRCUIT);
        if let Some(one) = one.filter(|one| one.state != NeighbourState::Down) {
            value.extend(one.system.0);
            value.extend(one.extended.unwrap_or_default());
        }
        value
    }

    /// LSPs it originates now: its own, and those for the routers generated behind it, of all levels.
    pub fn originated(&self) -> u64 {
        let of = |level: &Level| {
            let up = (0..level.own.originations.groups())
                .filter(|group| level.own.originations.instance(*group).is_up);
            up.map(|group| u64::from(level.own.originations.count(group))).sum::<u64>()
        };
        self.levels.iter().map(of).sum()
    }

    /// The circuit of the designated system of its LAN; `None` if there is none.
    pub fn designated(&self) -> Option<String> {
        let with = self.levels.iter().rev().find_map(|level| level.with)?;
        let [a, b, c, d, e, f, pseudonode] = with;
        (pseudonode != 0).then(|| format!("{}.{pseudonode:02x}", SystemId([a, b, c, d, e, f])))
    }

    /// The neighbour that counts: the designated system, or the one with which it got furthest.
    pub fn neighbour(&self) -> Option<NeighbourView> {
        self.main().map(Neighbour::view)
    }

    /// All neighbours.
    pub fn neighbours(&self) -> impl Iterator<Item = NeighbourView> {
        self.neighbours.iter().map(Neighbour::view)
    }

    /// Databases of its neighbours' LSPs, with the level.
    pub fn databases(&self) -> impl Iterator<Item = (u8, &Database)> {
        self.levels.iter().map(|level| (level.number, &level.database))
    }

    /// Number of LSPs in them, by level.
    pub fn held(&self) -> LevelCounts {
        let mut held = LevelCounts::default();
        self.databases().for_each(|(level, database)| *held.of(level) += database.len() as u64);
        held
    }

    /// Routes that are not advertised, because LSPs are shorter than those that the profile could know of: on a port with a
    /// smaller MTU.
    pub fn unfitting(&self) -> u64 {
        self.levels.iter().map(|level| level.own.unfitting).max().unwrap_or(0)
    }
}

/// The number of a router's circuit: it has one.
const CIRCUIT: [u8; 4] = [0, 0, 0, 1];

/// Whether a TLV has a state there is, and names the router `own` if it names one: hellos with any other are discarded
/// (RFC 5303 section 3.2).
fn is_for(value: &[u8], own: SystemId) -> bool {
    let is_system = value.get(5..11).is_none_or(|system| system == own.0);
    let is_circuit = value.get(11..15).is_none_or(|circuit| circuit == CIRCUIT);
    is_system && is_circuit && matches!(value.first(), Some(0..=2))
}

/// State of an adjacency after a hello with this TLV (RFC 5303 section 3.2).
fn after_three_way(before: NeighbourState, value: &[u8]) -> NeighbourState {
    match (value.first(), before) {
        // It hears the router.
        (Some(1), _) | (Some(0), NeighbourState::Initializing | NeighbourState::Up) => NeighbourState::Up,
        // It believes in an adjacency of before.
        (Some(0), NeighbourState::Down) => NeighbourState::Down,
        _ => NeighbourState::Initializing,
    }
}

/// The areas of a TLV.
fn areas(mut value: &[u8]) -> Vec<Area> {
    let mut all = Vec::new();
    while let [len, behind @ ..] = value {
        let Some(area) = behind.get(..usize::from(*len)) else { break };
        all.extend(Area::new(area));
        value = &behind[area.len()..];
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_after_a_hello_is_that_of_rfc_5303() {
        use NeighbourState::{Down, Initializing, Up};
        let after = |before| [0, 1, 2].map(|state| after_three_way(before, &[state]));
        assert_eq!(after(Down), [Down, Up, Initializing], "the neighbour is up, initializing, down");
        assert_eq!(after(Initializing), [Up, Up, Initializing]);
        assert_eq!(after(Up), [Up, Up, Initializing]);
    }
}
