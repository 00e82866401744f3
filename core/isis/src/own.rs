//! The LSPs that a router originates at a level (ISO/IEC 10589 section 7.3.7): its own, LSPs of the routers generated
//! behind it, and fragments with its routes. Each group of them has one sequence number and one age; an LSP is built on
//! demand.

use crate::password::{self, Password};
use crate::pdu::{
    AREAS, Area, HOSTNAME, IPV4_ADDRESSES, IPV6_ADDRESSES, LSP_HEADER, LspHeader, LspId, NLPID_IPV4,
    NLPID_IPV6, PROTOCOLS, SystemId, TE_ROUTER_ID, begin_lsp, finish, finish_lsp, put,
};
use crate::routes::{RouteRange, Topology, put_links, put_prefix, routes_tlv};
use linkstate::{Changes, Originations, Pace, Place, Wish};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use units::Nanos;

/// Time between two instances of an LSP that a router originates, at least.
pub const MIN_LSP_INTERVAL: Nanos = Nanos::from_secs(1);
/// Usual lifetime of an LSP, s (MaxAge of section 7.3.21).
pub const MAX_AGE_S: u16 = 1_200;
/// Usual age at which an LSP is originated again, s (maximumLSPGenerationInterval).
pub const REFRESH_S: u16 = 900;

/// Fragments that a router has for its routes.
const FRAGMENTS_MAX: u32 = 255;

/// The router's own LSP, without its routes.
pub(crate) const OWN: usize = 0;
/// Those of generated routers.
pub(crate) const GENERATED: usize = 1;
/// Those of the first range of routes.
const RANGES: usize = 2;

/// Flags of an LSP (section 9.8): router of level 1, or of both; overload; attached to other areas.
const LEVEL_1: u8 = 1;
const LEVEL_2: u8 = 3;
const OVERLOAD: u8 = 4;
const ATTACHED: u8 = 8;

/// Constant content of LSPs.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) level: u8,
    pub(crate) system: SystemId,
    pub(crate) area: Area,
    pub(crate) hostname: String,
    pub(crate) overload: bool,
    pub(crate) attached: bool,
    /// The address and the network of the link, of each family there is.
    pub(crate) ipv4: Option<(Ipv4Addr, u8)>,
    pub(crate) ipv6: Option<(Ipv6Addr, u8)>,
    pub(crate) has_ipv6: bool,
    pub(crate) te_router_id: Option<Ipv4Addr>,
    pub(crate) lifetime_s: u16,
    pub(crate) refresh: Nanos,
    pub(crate) metric: u32,
    pub(crate) password: Option<Password>,
    /// Bytes of the longest LSP.
    pub(crate) lsp_bytes: usize,
    /// The router's number within its entry.
    pub(crate) number: u32,
    pub(crate) routes: Arc<[RouteRange]>,
    pub(crate) topology: Option<Topology>,
}

/// A link in the router's own LSP: to whom, the number of a pseudonode, what it costs.
pub(crate) type Link = (SystemId, u8, u32);

/// LSPs of a router at a level.
#[derive(Debug)]
pub(crate) struct Own {
    pub(crate) said: Said,
    pub(crate) originations: Originations<u32>,
    /// The first fragment of each range; a range's fragments are consecutive.
    first: Vec<u32>,
    /// The links in the router's own LSP.
    links: Vec<Link>,
    /// Routes for which there are too few fragments.
    pub(crate) unfitting: u64,
}

impl Own {
    pub(crate) fn new(said: Said) -> Self {
        let room = crate::fragment_room(said.lsp_bytes, said.password.as_ref());
        let (mut left, mut unfitting) = (FRAGMENTS_MAX, 0);
        let fragments = said.routes.iter().map(|range| {
            let (all, fit) = (range.fragments(room), range.fragments(room).min(left));
            left -= fit;
            if fit < all {
                unfitting += u64::from(range.count.saturating_sub(fit * range.fitting(room)));
            }
            fit
        });
        let fragments: Vec<u32> = fragments.collect();
        let first = fragments.iter().scan(1, |next, count| {
            let first = *next;
            *next += count;
            Some(first)
        });
        let first = first.collect();
        let generated = said.topology.map_or(0, |topology| topology.routers);
        Self {
            originations: Originations::new(
                Pace {
                    interval: MIN_LSP_INTERVAL,
                    arrival: Nanos::ZERO,
                    spaces_unsent: true,
                    refresh: said.refresh,
                },
                [1, generated].into_iter().chain(fragments),
                GENERATED,
                said.routes.iter().map(RouteRange::is_generated).collect(),
            ),
            first,
            links: Vec::new(),
            unfitting,
            said,
        }
    }

    /// Routes of a range.
    pub(crate) fn routes(&self, range: usize) -> u64 {
        self.said.routes[range].count.into()
    }

    /// Whether a router is this one, or generated behind it.
    pub(crate) fn is_mine(&self, system: SystemId) -> bool {
        system == self.said.system
            || self.said.topology.is_some_and(|topology| topology.number(system).is_some())
    }

    /// Where the LSP with an identifier is, if it is one of these.
    pub(crate) fn find(&self, id: LspId) -> Option<Place> {
        let fragment = u32::from(id.fragment);
        if id.pseudonode != 0 {
            return None;
        }
        if id.system != self.said.system {
            return Some((
                GENERATED as u32,
                self.said.topology?.number(id.system).filter(|_| fragment == 0)?,
            ));
        }
        if fragment == 0 {
            return Some((OWN as u32, 0));
        }
        let holds = |range: &usize| {
            fragment
                .checked_sub(self.first[*range])
                .is_some_and(|at| at < self.originations.count(RANGES + range))
        };
        let range = (0..self.first.len()).find(holds)?;
        Some(((RANGES + range) as u32, fragment - self.first[range]))
    }

    /// The identifier of the LSP at a place.
    pub(crate) fn id(&self, (group, index): Place) -> LspId {
        let (system, fragment) = match (group as usize, self.said.topology) {
            (OWN, _) => (self.said.system, 0),
            (GENERATED, Some(topology)) => (topology.id(index), 0),
            (range, _) => (self.said.system, self.first[range - RANGES] + index),
        };
        LspId { system, pseudonode: 0, fragment: fragment as u8 }
    }

    /// The LSP at a place, as it is at `now`.
    pub(crate) fn build(&self, now: Nanos, place: Place) -> Vec<u8> {
        let instance = self.originations.instance(place.0 as usize);
        let age_s = self.originations.age_s(now, place.0 as usize);
        let lifetime_s = match instance.is_up {
            true => u64::from(self.said.lifetime_s).saturating_sub(age_s).max(1) as u16,
            false => 0,
        };
        let said = &self.said;
        let header = LspHeader { lifetime_s, id: self.id(place), sequence: instance.sequence, checksum: 0 };
        let mut out = self.begin(&header, place.0 as usize == OWN);
        if instance.is_up {
            let (index, room) = (place.1, crate::fragment_room(said.lsp_bytes, said.password.as_ref()));
            match (place.0 as usize, said.topology) {
                (OWN, _) => self.put_own(&mut out),
                (GENERATED, Some(topology)) => self.put_generated(&mut out, topology, index),
                (range, _) => {
                    let range = &said.routes[range - RANGES];
                    let each = range.fitting(room).max(1);
                    range.put(&mut out, said.number, index * each..range.count.min((index + 1) * each));
                }
            }
        }
        self.end(&mut out);
        out
    }

    /// A purge of the LSP with this identifier, with the stored sequence number.
    pub(crate) fn purge(&self, stray: &LspHeader) -> Vec<u8> {
        let mut out = self.begin(&LspHeader { lifetime_s: 0, ..*stray }, false);
        self.end(&mut out);
        out
    }

    fn begin(&self, header: &LspHeader, is_own: bool) -> Vec<u8> {
        let said = &self.said;
        let level = if said.level == 1 { LEVEL_1 } else { LEVEL_2 };
        let bit = |is_set: bool, bit| if is_set && is_own { bit } else { 0 };
        let flags = level | bit(said.overload, OVERLOAD) | bit(said.attached, ATTACHED);
        let mut out = begin_lsp(said.level, header, flags);
        password::begin(&mut out, said.password.as_ref());
        out
    }

    fn end(&self, out: &mut [u8]) {
        finish(out);
        password::sign(out, LSP_HEADER, self.said.password.as_ref());
        finish_lsp(out);
    }

    fn put_names(&self, out: &mut Vec<u8>, hostname: &str) {
        let area = self.said.area.bytes();
        put(out, AREAS, &[&[area.len() as u8], area].concat());
        put(out, PROTOCOLS, self.protocols());
        if !hostname.is_empty() {
            put(out, HOSTNAME, &hostname.as_bytes()[..hostname.len().min(64)]);
        }
    }

    fn protocols(&self) -> &'static [u8] {
        protocols(self.said.has_ipv6)
    }

    fn put_own(&self, out: &mut Vec<u8>) {
        let said = &self.said;
        self.put_names(out, &said.hostname);
        if let Some(id) = said.te_router_id {
            put(out, TE_ROUTER_ID, &id.octets());
        }
        put_links(out, &self.links);
        if let Some((ip, len)) = said.ipv4 {
            put(out, IPV4_ADDRESSES, &ip.octets());
            put_network(out, ip.into(), len, said.metric);
        }
        if let Some((ip, len)) = said.ipv6 {
            put(out, IPV6_ADDRESSES, &ip.octets());
            put_network(out, ip.into(), len, said.metric);
        }
    }

    fn put_generated(&self, out: &mut Vec<u8>, topology: Topology, number: u32) {
        let said = &self.said;
        let hostname = match said.hostname.is_empty() {
            true => String::new(),
            false => format!("{:.50}-{number}", said.hostname),
        };
        self.put_names(out, &hostname);
        topology.put_links(out, number, said.system);
        for range in self.originations.shown().map(|range| &said.routes[range]) {
            range.put(out, said.number, topology.share(number, range.count));
        }
    }

    /// The header of the LSP at a place.
    pub(crate) fn header(&self, now: Nanos, place: Place) -> LspHeader {
        let lsp = self.build(now, place);
        LspHeader::of_lsp(&lsp).unwrap_or(LspHeader {
            lifetime_s: 0,
            id: self.id(place),
            sequence: 0,
            checksum: 0,
        })
    }

    /// Originates, refreshes and purges LSPs that are due. `since` is the time since the start of traffic, `links` are
    /// the router's own and `None` before any adjacency; `is_shut`: purge all.
    pub(crate) fn step(
        &mut self,
        now: Nanos,
        since: Nanos,
        links: Option<&[Link]>,
        is_shut: bool,
    ) -> Changes {
        let mut changes = Changes::default();
        self.originations.follow(since, is_shut, self.said.routes.iter().map(|range| &range.schedule));
        for group in 0..self.originations.groups() {
            let wish = self.wish(group, links, is_shut);
            if self.originations.step(now, group, wish, &mut changes) && wish.is_wanted && group == OWN {
                self.links = links.unwrap_or_default().to_vec();
            }
        }
        changes
    }

    /// When a step has something to do; `epoch` is the start of traffic.
    pub(crate) fn next_due(&self, epoch: Nanos, links: Option<&[Link]>, is_shut: bool) -> Nanos {
        let due = |group: usize| self.originations.due(group, self.wish(group, links, is_shut));
        (0..self.originations.groups()).map(due).fold(self.originations.next_change(epoch), Nanos::min)
    }

    /// Whether all groups are as they are to be: nothing waits for its time.
    pub(crate) fn is_current(&self, links: Option<&[Link]>, is_shut: bool) -> bool {
        let is_current = |group| self.originations.is_current(group, self.wish(group, links, is_shut));
        (0..self.originations.groups()).all(is_current)
    }

    /// How a group is to be.
    fn wish(&self, group: usize, links: Option<&[Link]>, is_shut: bool) -> Wish {
        let (is_wanted, differs) = match group {
            OWN => (links.is_some(), links.is_some_and(|links| links != self.links)),
            GENERATED => (self.said.topology.is_some(), self.originations.shows_others(group)),
            _ => return Wish { is_wanted: self.originations.wants(group), differs: false },
        };
        Wish { is_wanted: is_wanted && !is_shut, differs }
    }
}

/// The protocols a router forwards (RFC 1195, RFC 5308 section 4).
pub(crate) fn protocols(has_ipv6: bool) -> &'static [u8] {
    if has_ipv6 { &[NLPID_IPV4, NLPID_IPV6] } else { &[NLPID_IPV4] }
}

/// Appends the network of the link.
fn put_network(out: &mut Vec<u8>, ip: IpAddr, len: u8, metric: u32) {
    let network = match ip {
        IpAddr::V4(ip) => {
            IpAddr::V4((u32::from(ip) & u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0)).into())
        }
        IpAddr::V6(ip) => {
            IpAddr::V6((u128::from(ip) & u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0)).into())
        }
    };
    let mut value = Vec::new();
    put_prefix(&mut value, (network, len), metric, false, false);
    put(out, routes_tlv(&network), &value);
}
