//! Routes as a function of their index, and the UPDATE messages that advertise and withdraw them.
//!
//! A range defines the first of its prefixes, their distance and their number; none of them is stored. Or else it has a
//! table that was read from a file. A message is filled with as many as fit when it is due.

use crate::heard::PathSegment;
use crate::message::{
    AS_TRANS, ATTRIBUTE_MP_REACH, ATTRIBUTE_MP_UNREACH, EXTENDED, HEADER, MESSAGE_MAX, put_ip, put_update,
};
use crate::table::{RouteTable, put_prefix};
use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use units::{Flap, Nanos, Schedule};

const WELL_KNOWN: u8 = 0x40;
const OPTIONAL: u8 = 0x80;
const OPTIONAL_TRANSITIVE: u8 = 0xc0;

pub(crate) const ORIGIN: u8 = 1;
pub(crate) const AS_PATH: u8 = 2;
pub(crate) const NEXT_HOP: u8 = 3;
pub(crate) const MULTI_EXIT_DISC: u8 = 4;
pub(crate) const LOCAL_PREF: u8 = 5;
pub(crate) const COMMUNITIES: u8 = 8;
pub(crate) const AGGREGATOR: u8 = 7;
pub(crate) const AS4_PATH: u8 = 17;
pub(crate) const AS4_AGGREGATOR: u8 = 18;
pub(crate) const LARGE_COMMUNITIES: u8 = 32;

/// The type of a path segment whose AS numbers are in no order.
pub(crate) const AS_SET: u8 = 1;
/// The type of one whose AS numbers are in order.
pub(crate) const AS_SEQUENCE: u8 = 2;
/// LOCAL_PREF that is sent to internal peers if none is given.
const LOCAL_PREF_USUAL: u32 = 100;

/// A family of routes: unicast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

impl Family {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Ipv4, Self::Ipv6];

    /// That of an address.
    pub fn of(ip: IpAddr) -> Self {
        if ip.is_ipv4() { Self::Ipv4 } else { Self::Ipv6 }
    }

    /// Bits of an address.
    pub fn bits(self) -> u8 {
        match self {
            Self::Ipv4 => 32,
            Self::Ipv6 => 128,
        }
    }

    /// Address family identifier and subsequent one (RFC 4760 section 6).
    pub(crate) fn identifiers(self) -> [u8; 3] {
        match self {
            Self::Ipv4 => [0, 1, 1],
            Self::Ipv6 => [0, 2, 1],
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
        })
    }
}

/// Where a route comes from (RFC 4271 section 5.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// An interior protocol.
    #[default]
    Igp,
    /// EGP.
    Egp,
    /// Something else.
    Incomplete,
}

impl Origin {
    /// That of an attribute's value.
    pub(crate) fn of(value: &[u8]) -> Option<Self> {
        match value {
            [0] => Some(Self::Igp),
            [1] => Some(Self::Egp),
            [2] => Some(Self::Incomplete),
            _ => None,
        }
    }
}

/// Path attributes of routes (RFC 4271 section 5).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attributes {
    /// Where they come from.
    pub origin: Origin,
    /// Next hop, of the routes' family; `None` is the peer's own address.
    pub next_hop: Option<IpAddr>,
    /// ASes after the peer's own, the nearest first.
    pub as_path: Vec<u32>,
    /// Segments of the path after those: sets of ASes, and what follows them.
    pub path_rest: Vec<PathSegment>,
    /// Whether the path of an external session lacks the peer's own AS.
    pub without_own_as: bool,
    /// MULTI_EXIT_DISC.
    pub med: Option<u32>,
    /// LOCAL_PREF, for internal peers.
    pub local_pref: Option<u32>,
    /// Communities (RFC 1997).
    pub communities: Vec<u32>,
    /// Large communities (RFC 8092).
    pub large_communities: Vec<[u32; 3]>,
}

/// Routes with the same attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteRange {
    /// Name in commands; empty if it has no name.
    pub name: String,
    /// The first prefix's address.
    pub first: IpAddr,
    /// Bits of every prefix.
    pub prefix_len: u8,
    /// Prefixes of a peer.
    pub count: u32,
    /// From one prefix to the next, in prefixes.
    pub step: u32,
    /// Whether all peers advertise the same prefixes; if not, each has the next ones.
    pub same: bool,
    /// Path identifier, where a prefix can have several paths (RFC 7911).
    pub path_id: u32,
    /// Path attributes. With a table: next hop, local preference and whether the own AS is prepended; the rest is the
    /// table's.
    pub attributes: Attributes,
    /// Routes of a file, instead of a function of their index: then `first` is the first of them, and all peers advertise the same.
    pub table: Option<Arc<RouteTable>>,
    /// When they are advertised, after the start of traffic; zero is before it.
    pub advertise: Nanos,
    /// When they are withdrawn, after the start of traffic.
    pub withdraw: Option<Nanos>,
    /// Whether they go up and down meanwhile.
    pub flap: Option<Flap>,
}

/// Context of attributes besides their routes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Speaking {
    pub own_as: u32,
    pub is_internal: bool,
    pub four_byte_as: bool,
    /// Whether prefixes have path identifiers.
    pub path_ids: bool,
    /// The peer's own address of the routes' family, if it has one.
    pub own: Option<IpAddr>,
}

impl RouteRange {
    /// The family of its prefixes.
    pub fn family(&self) -> Family {
        Family::of(self.first)
    }

    /// The address of prefix `index` of the peer number `peer`; `None` beyond the last address there is.
    pub fn prefix(&self, peer: u32, index: u32) -> Option<IpAddr> {
        if let Some(table) = &self.table {
            return table.prefix(index).map(|(ip, _)| ip);
        }
        let before = if self.same { 0 } else { u64::from(peer) * u64::from(self.count) };
        let place = u128::from(before + u64::from(index)) * u128::from(self.step);
        units::nth_prefix(self.first, self.prefix_len, place)
    }

    /// Whether its routes are advertised `since` the start of traffic, and when that changes next.
    pub(crate) fn at(&self, since: Nanos) -> (bool, Option<Nanos>) {
        let Self { advertise: from, withdraw: until, flap, .. } = *self;
        Schedule { from, until, again: None, flap }.at(since)
    }

    /// Writes an UPDATE message that advertises or withdraws prefixes of the peer number `peer` from `from` on; returns the first
    /// that is not in it.
    pub(crate) fn put_update(
        &self,
        out: &mut Vec<u8>,
        how: &Speaking,
        peer: u32,
        from: u32,
        advertise: bool,
    ) -> u32 {
        let mut next = from;
        let start = out.len();
        let (said, end) = match self.table.as_ref().filter(|_| advertise) {
            Some(table) => match table.attributes(from) {
                Some((said, end)) => (Cow::Owned(self.with_own(said)), end),
                None => return next,
            },
            None => (Cow::Borrowed(&self.attributes), self.count),
        };
        let mut prefixes = self.prefixes(peer, from).take((end - from) as usize).peekable();
        // Behind them come so many more bytes.
        let before = if how.path_ids { 4 } else { 0 };
        let mut fill = |out: &mut Vec<u8>, behind: usize| {
            let fits = |out: &Vec<u8>, (_, len): &(IpAddr, u8)| {
                out.len() - start + before + 1 + usize::from(len.div_ceil(8)) + behind <= MESSAGE_MAX
            };
            while let Some(prefix) = prefixes.next_if(|prefix| fits(out, prefix)) {
                if how.path_ids {
                    out.extend(self.path_id.to_be_bytes());
                }
                put_prefix(out, prefix);
                next += 1;
            }
        };
        put_update(out, |out| match (self.family(), advertise) {
            (Family::Ipv4, false) => {
                out.extend([0, 0]);
                // Behind the prefixes comes the length of no attributes.
                let at = out.len();
                fill(out, 2);
                put_len(out, at);
                out.extend([0, 0]);
            }
            (Family::Ipv4, true) => {
                out.extend([0, 0, 0, 0]);
                let at = out.len();
                self.put_attributes(out, &said, how);
                put_len(out, at);
                fill(out, 0);
            }
            (Family::Ipv6, _) => {
                out.extend([0, 0, 0, 0]);
                let at = out.len();
                let kind = if advertise { ATTRIBUTE_MP_REACH } else { ATTRIBUTE_MP_UNREACH };
                let mut others = Vec::new();
                if advertise {
                    self.put_attributes(&mut others, &said, how);
                }
                // RFC 7606 section 5.1: the routes come before other attributes.
                out.extend([OPTIONAL | EXTENDED, kind, 0, 0]);
                let value = out.len();
                out.extend(Family::Ipv6.identifiers());
                if advertise {
                    let hop = self.attributes.next_hop.or(how.own);
                    out.push(16);
                    put_ip(out, hop.unwrap_or(std::net::Ipv6Addr::UNSPECIFIED.into()));
                    out.push(0);
                }
                fill(out, others.len());
                put_len(out, value);
                out.extend(&others);
                put_len(out, at);
            }
        });
        next
    }

    /// Prefixes of the peer number `peer` from a number on.
    fn prefixes(&self, peer: u32, from: u32) -> Box<dyn Iterator<Item = (IpAddr, u8)> + '_> {
        match &self.table {
            Some(table) => Box::new(table.prefixes(from)),
            None => Box::new(
                (from..self.count).map_while(move |index| Some((self.prefix(peer, index)?, self.prefix_len))),
            ),
        }
    }

    /// A table's attributes of routes, completed by the own ones.
    fn with_own(&self, said: Attributes) -> Attributes {
        let own = &self.attributes;
        let (next_hop, local_pref, without_own_as) = (own.next_hop, own.local_pref, own.without_own_as);
        Attributes { next_hop, local_pref, without_own_as, ..said }
    }

    /// Writes all attributes but MP_REACH_NLRI, in the order of their types.
    fn put_attributes(&self, out: &mut Vec<u8>, said: &Attributes, how: &Speaking) {
        let origin = match said.origin {
            Origin::Igp => 0,
            Origin::Egp => 1,
            Origin::Incomplete => 2,
        };
        attribute(out, WELL_KNOWN, ORIGIN, &[origin]);
        let own = (!how.is_internal && !said.without_own_as).then_some(how.own_as);
        let path: Vec<u32> = own.into_iter().chain(said.as_path.iter().copied()).collect();
        attribute(out, WELL_KNOWN, AS_PATH, &as_path(&path, &said.path_rest, how.four_byte_as));
        if let Some(IpAddr::V4(hop)) = said.next_hop.or(how.own).filter(|_| self.family() == Family::Ipv4) {
            attribute(out, WELL_KNOWN, NEXT_HOP, &hop.octets());
        }
        if let Some(med) = said.med {
            attribute(out, OPTIONAL, MULTI_EXIT_DISC, &med.to_be_bytes());
        }
        if how.is_internal {
            let value = said.local_pref.unwrap_or(LOCAL_PREF_USUAL);
            attribute(out, WELL_KNOWN, LOCAL_PREF, &value.to_be_bytes());
        }
        if !said.communities.is_empty() {
            let all: Vec<u8> = said.communities.iter().flat_map(|one| one.to_be_bytes()).collect();
            attribute(out, OPTIONAL_TRANSITIVE, COMMUNITIES, &all);
        }
        // RFC 6793 section 4.2.2.
        let mut all = path.iter().chain(said.path_rest.iter().flat_map(|part| &part.numbers));
        if !how.four_byte_as && all.any(|asn| *asn > u16::MAX.into()) {
            attribute(out, OPTIONAL_TRANSITIVE, AS4_PATH, &as_path(&path, &said.path_rest, true));
        }
        if !said.large_communities.is_empty() {
            let all = said.large_communities.iter().flatten().flat_map(|part| part.to_be_bytes());
            attribute(out, OPTIONAL_TRANSITIVE, LARGE_COMMUNITIES, &all.collect::<Vec<u8>>());
        }
    }
}

/// Says that no routes of a family follow (RFC 4724 section 2).
pub(crate) fn put_end_of_rib(out: &mut Vec<u8>, family: Family) {
    put_update(out, |out| match family {
        Family::Ipv4 => out.extend([0; 4]),
        Family::Ipv6 => {
            out.extend([0, 0, 0, 6, OPTIONAL, ATTRIBUTE_MP_UNREACH, 3]);
            out.extend(family.identifiers());
        }
    });
}

/// Writes how many bytes follow `at` into the two before it.
fn put_len(out: &mut [u8], at: usize) {
    let len = (out.len() - at) as u16;
    out[at - 2..at].copy_from_slice(&len.to_be_bytes());
}

fn attribute(out: &mut Vec<u8>, flags: u8, kind: u8, value: &[u8]) {
    match u8::try_from(value.len()) {
        Ok(len) => out.extend([flags, kind, len]),
        Err(_) => {
            let [high, low] = (value.len() as u16).to_be_bytes();
            out.extend([flags | EXTENDED, kind, high, low]);
        }
    }
    out.extend(value);
}

/// A path of a sequence, which has no segment if it is empty (RFC 4271 section 5.1.2), and segments after it.
fn as_path(path: &[u32], rest: &[PathSegment], four_byte_as: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let rest = rest.iter().map(|part| (part.kind, &part.numbers[..]));
    for (kind, numbers) in path.chunks(255).map(|numbers| (AS_SEQUENCE, numbers)).chain(rest) {
        out.extend([kind, numbers.len() as u8]);
        for asn in numbers {
            match four_byte_as {
                true => out.extend(asn.to_be_bytes()),
                false => out.extend(u16::try_from(*asn).unwrap_or(AS_TRANS).to_be_bytes()),
            }
        }
    }
    out
}

/// Bytes that attributes may have at most, so that a message has room for prefixes as well.
pub(crate) const ATTRIBUTES_MAX: usize = MESSAGE_MAX - HEADER - 4 - 64;

impl Attributes {
    /// Sets the path to these segments, the nearest ASes first.
    pub fn set_path(&mut self, mut segments: Vec<PathSegment>) {
        let begins_in_order = segments.first().is_some_and(|part| part.kind == AS_SEQUENCE);
        self.as_path = if begins_in_order { segments.remove(0).numbers } else { Vec::new() };
        self.path_rest = segments;
    }

    /// Whether they leave room for prefixes in a message.
    pub fn fit(&self) -> bool {
        let communities = 4 * self.communities.len() + 12 * self.large_communities.len();
        let rest: usize = self.path_rest.iter().map(|part| part.numbers.len() + 1).sum();
        // The path may be there twice, once in each width.
        communities + 2 * 6 * (self.as_path.len() + 1 + rest) + 64 <= ATTRIBUTES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Message, Update, next_message};
    use proptest::prelude::*;

    pub(crate) fn range(first: &str, prefix_len: u8, count: u32) -> RouteRange {
        RouteRange {
            name: String::new(),
            first: first.parse().unwrap(),
            prefix_len,
            count,
            step: 1,
            same: false,
            path_id: 1,
            attributes: Attributes::default(),
            table: None,
            advertise: Nanos::ZERO,
            withdraw: None,
            flap: None,
        }
    }

    fn how(range: &RouteRange) -> Speaking {
        let own = if range.first.is_ipv4() { "10.0.0.2" } else { "2001:db8::2" };
        Speaking {
            own_as: 65_001,
            is_internal: false,
            four_byte_as: true,
            path_ids: false,
            own: own.parse().ok(),
        }
    }

    #[test]
    fn prefixes_follow_each_other() {
        let one = range("16.0.0.0", 24, 100);
        let ip = |text: &str| Some(text.parse::<IpAddr>().unwrap());
        assert_eq!((one.prefix(0, 0), one.prefix(0, 99)), (ip("16.0.0.0"), ip("16.0.99.0")));
        assert_eq!(one.prefix(3, 1), ip("16.1.45.0"));
        assert_eq!(RouteRange { same: true, ..one.clone() }.prefix(3, 1), ip("16.0.1.0"));
        assert_eq!(RouteRange { step: 2, ..one }.prefix(0, 3), ip("16.0.6.0"));
        assert_eq!(range("255.255.255.0", 24, 2).prefix(0, 1), None);
        assert_eq!(range("2001:db8::", 48, 2).prefix(0, 1), ip("2001:db8:1::"));
        assert_eq!(range("0.0.0.0", 0, 1).prefix(0, 0), ip("0.0.0.0"));
        assert_eq!((range("::", 0, 1).prefix(0, 0), range("::", 0, 2).prefix(0, 1)), (ip("::"), None));
    }

    /// RFC 4271 section 4.3, byte by byte.
    #[test]
    fn an_update_is_written_as_the_rfc_says() {
        let mut one = range("16.0.0.0", 24, 2);
        one.attributes.communities = vec![65_001 << 16 | 7];
        let mut bytes = Vec::new();
        assert_eq!(one.put_update(&mut bytes, &how(&one), 0, 0, true), 2);
        let mut expected = vec![0xff; 16];
        expected.extend([0, 58, 2, 0, 0, 0, 27, 0x40, 1, 1, 0, 0x40, 2, 6, 2, 1, 0, 0, 0xfd, 0xe9]);
        expected.extend([0x40, 3, 4, 10, 0, 0, 2, 0xc0, 8, 4, 0xfd, 0xe9, 0, 7, 24, 16, 0, 0, 24, 16, 0, 1]);
        assert_eq!(bytes, expected);
        let short = Speaking { four_byte_as: false, path_ids: false, own_as: 4_200_000_000, ..how(&one) };
        let mut bytes = Vec::new();
        one.put_update(&mut bytes, &short, 0, 0, true);
        let path = [0x40, 2, 4, 2, 1, 0x5b, 0xa0];
        assert!(bytes.windows(7).any(|part| part == path), "AS_TRANS: {bytes:02x?}");
        let path = [0xc0, AS4_PATH, 6, 2, 1, 0xfa, 0x56, 0xea, 0];
        assert!(bytes.windows(9).any(|part| part == path), "AS4_PATH: {bytes:02x?}");
    }

    /// RFC 4760 section 3, RFC 2545 section 3 and RFC 7606 section 5.1, byte by byte.
    #[test]
    fn ipv6_routes_are_written_as_the_rfc_says() {
        let one = range("2001:db8:1::", 48, 1);
        let (mut bytes, hop) = (Vec::new(), "2001:db8::2".parse::<std::net::Ipv6Addr>().unwrap());
        assert_eq!(one.put_update(&mut bytes, &how(&one), 0, 0, true), 1);
        let mut expected = vec![0, 0, 0, 45, 0x90, ATTRIBUTE_MP_REACH, 0, 28, 0, 2, 1, 16];
        expected.extend(hop.octets());
        expected.extend([0, 48, 0x20, 1, 0x0d, 0xb8, 0, 1]);
        expected.extend([0x40, 1, 1, 0, 0x40, 2, 6, 2, 1, 0, 0, 0xfd, 0xe9]);
        assert_eq!(bytes[HEADER..], expected);
        bytes.clear();
        one.put_update(&mut bytes, &how(&one), 0, 0, false);
        let withdrawn = [0, 2, 1, 48, 0x20, 1, 0x0d, 0xb8, 0, 1];
        assert_eq!(
            bytes[HEADER..],
            [&[0, 0, 0, 14, 0x90, ATTRIBUTE_MP_UNREACH, 0, 10][..], &withdrawn].concat()
        );
    }

    /// Types, flags and values of the attributes of a message.
    fn attributes_of(one: &RouteRange, how: &Speaking) -> Vec<(u8, u8, Vec<u8>)> {
        let (mut bytes, mut all) = (Vec::new(), Vec::new());
        one.put_update(&mut bytes, how, 0, 0, true);
        let len = usize::from(u16::from_be_bytes([bytes[HEADER + 2], bytes[HEADER + 3]]));
        let mut rest = &bytes[HEADER + 4..][..len];
        while let [flags, kind, len, ..] = *rest {
            let (head, len) = match flags & EXTENDED {
                0 => (3, usize::from(len)),
                _ => (4, usize::from(u16::from_be_bytes([rest[2], rest[3]]))),
            };
            all.push((kind, flags & !EXTENDED, rest[head..head + len].to_vec()));
            rest = &rest[head + len..];
        }
        all
    }

    /// RFC 4271 section 5: which attributes go to which peers, in which order and with which flags.
    #[test]
    fn attributes_are_for_internal_or_external_peers() {
        let mut one = range("16.0.0.0", 24, 1);
        one.attributes = Attributes {
            origin: Origin::Incomplete,
            as_path: vec![7],
            med: Some(5),
            local_pref: Some(300),
            communities: vec![0xffff_ff01],
            large_communities: vec![[1, 2, 3]],
            ..Attributes::default()
        };
        let external = how(&one);
        let internal = Speaking { is_internal: true, ..external };
        let large = [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3].to_vec();
        let common = |path: Vec<u8>, local_pref: Option<u32>| {
            let mut all = vec![(1, 0x40, vec![2]), (2, 0x40, path), (3, 0x40, vec![10, 0, 0, 2])];
            all.push((4, 0x80, vec![0, 0, 0, 5]));
            all.extend(local_pref.map(|value| (5, 0x40, value.to_be_bytes().to_vec())));
            all.extend([(8, 0xc0, vec![0xff, 0xff, 0xff, 1]), (32, 0xc0, large.clone())]);
            all
        };
        let short = vec![2, 1, 0, 0, 0, 7];
        let path = vec![2, 2, 0, 0, 0xfd, 0xe9, 0, 0, 0, 7];
        assert_eq!(attributes_of(&one, &external), common(path, None));
        assert_eq!(attributes_of(&one, &internal), common(short.clone(), Some(300)));
        one.attributes.local_pref = None;
        assert_eq!(attributes_of(&one, &internal), common(short.clone(), Some(100)));
        one.attributes.without_own_as = true;
        assert_eq!(attributes_of(&one, &external), common(short, None));
        // No path at all to an internal peer, and one that takes two segments.
        one.attributes.as_path = Vec::new();
        assert_eq!(attributes_of(&one, &internal)[1], (2, 0x40, vec![]));
        one.attributes.as_path = vec![9; 300];
        let (_, flags, path) = attributes_of(&one, &internal).swap_remove(1);
        assert_eq!((flags, path[..2].to_vec(), path.len()), (0x40, vec![2, 255], 300 * 4 + 4));
        assert_eq!(path[2 + 255 * 4..][..2], [2, 45]);
    }

    proptest! {
        #[test]
        fn every_route_is_in_exactly_one_message(
            v6: bool,
            count in 1u32..9_000,
            prefix_len in 12u8..=32,
            communities in prop::collection::vec(any::<u32>(), 0..300),
            as_path in prop::collection::vec(any::<u32>(), 0..200),
            four_byte_as: bool,
            advertise: bool,
        ) {
            let mut one = range(if v6 { "2001:db8::" } else { "16.0.0.0" }, prefix_len, count);
            one.attributes.communities = communities;
            one.attributes.as_path = as_path;
            prop_assume!(one.attributes.fit() && one.prefix(0, count - 1).is_some());
            let how = Speaking { four_byte_as, path_ids: false, ..how(&one) };
            let (mut next, mut total) = (0, 0);
            while next < count {
                let mut bytes = Vec::new();
                let until = one.put_update(&mut bytes, &how, 0, next, advertise);
                prop_assert!(until > next && bytes.len() <= MESSAGE_MAX);
                let (message, len) = next_message(&bytes, [false; 2]).unwrap().unwrap();
                prop_assert_eq!(len, bytes.len());
                let n = until - next;
                let expected = match (v6, advertise) {
                    (_, false) => Update { withdrawn: n, ..Update::default() },
                    (false, true) => Update { ipv4: n, ..Update::default() },
                    (true, true) => Update { ipv6: n, ..Update::default() },
                };
                prop_assert_eq!(message, Message::Update(expected));
                total += n;
                next = until;
            }
            prop_assert_eq!(total, count);
        }

        #[test]
        fn a_schedule_is_the_same_however_it_is_followed(
            advertise in 0u64..50, down in 1u64..20, up in 1u64..20, last in prop::option::of(60u64..300), at in 0u64..400,
        ) {
            let flap = Flap { every: Nanos(down + up), down: Nanos(down) };
            let one = RouteRange {
                advertise: Nanos(advertise), withdraw: last.map(Nanos), flap: Some(flap), ..range("16.0.0.0", 24, 1)
            };
            let (mut now, mut is_up) = (Nanos::ZERO, false);
            // From change to change: what is said in between is what was said at the last one.
            while now.0 <= at {
                let (said, next) = one.at(now);
                is_up = said;
                match next {
                    Some(next) => {
                        prop_assert!(next > now);
                        now = next;
                    }
                    None => break,
                }
            }
            prop_assert_eq!(one.at(Nanos(at)).0, is_up);
        }
    }

    #[test]
    fn the_end_is_said_for_each_family() {
        for family in Family::ALL {
            let mut bytes = Vec::new();
            put_end_of_rib(&mut bytes, family);
            let said = Update { end_of_rib: Some(family), ..Update::default() };
            assert_eq!(next_message(&bytes, [false; 2]), Some(Ok((Message::Update(said), bytes.len()))));
        }
    }
}
