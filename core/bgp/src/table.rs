//! Tables of routes, read from MRT files as route collectors publish them (RFC 6396, TABLE_DUMP_V2).
//!
//! A prefix takes as many bytes as in a message. Prefixes with the same attributes are in groups, and share the file's
//! attributes: so messages are full, and the attributes of a table are stored once.
//!
//! Not here: files of updates (BGP4MP), peers of the collector, next hops (a route is reached by way of its speaker), compression.
//!
//! Invariant: a route that was read has room in a message, and each prefix is there once.

use crate::heard::path;
use crate::message::{AttributeList, take_prefix};
use crate::routes::{
    AS_PATH, AS_SEQUENCE, AS_SET, Attributes, COMMUNITIES, Family, LARGE_COMMUNITIES, MULTI_EXIT_DISC,
    ORIGIN, Origin,
};
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// Bytes of a file, at most.
pub const TABLE_FILE_MAX: usize = 2 << 30;
/// Prefixes of a group, at most: to find one is to pass over those before it.
const GROUP_MAX: usize = 512;

/// Bytes of a record's header (RFC 6396 section 2).
const HEADER: usize = 12;
const TABLE_DUMP_V2: u16 = 13;
const PEER_INDEX_TABLE: u16 = 1;
const RIB_IPV4_UNICAST: u16 = 2;
const RIB_IPV6_UNICAST: u16 = 4;
/// The same with path identifiers (RFC 8050 section 4).
const RIB_IPV4_UNICAST_ADD_PATH: u16 = 8;
const RIB_IPV6_UNICAST_ADD_PATH: u16 = 10;

/// Why a file is no table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadTable {
    /// It is compressed.
    Compressed,
    /// It is larger than [`TABLE_FILE_MAX`].
    TooLarge,
    /// A record extends beyond the end of the file.
    CutOff {
        /// Where the record begins.
        at: usize,
    },
    /// A record does not match its type.
    Malformed {
        /// Where the record begins.
        at: usize,
        /// Description of the error.
        why: &'static str,
    },
    /// No record has routes that can be used.
    Empty,
}

impl fmt::Display for BadTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compressed => f.write_str("is compressed: unpack it first (gunzip, bunzip2, unxz)"),
            Self::TooLarge => write!(f, "is larger than {} GiB", TABLE_FILE_MAX >> 30),
            Self::CutOff { at } => {
                write!(f, "is cut off, or no MRT file: the record at byte {at} ends behind it")
            }
            Self::Malformed { at, why } => write!(f, "the record at byte {at} {why}"),
            Self::Empty => f.write_str("has no IPv4 or IPv6 unicast routes of type TABLE_DUMP_V2 (RFC 6396)"),
        }
    }
}

/// Prefixes with the same attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Group {
    /// The number of its first prefix.
    first: u32,
    /// Where that is in `prefixes`.
    at: u32,
    /// Where its attributes are in `said`, and how long they are.
    said: (u32, u32),
}

/// A table of routes of one family.
#[derive(Clone, PartialEq, Eq)]
pub struct RouteTable {
    family: Family,
    count: u32,
    /// Lengths and bytes, as in messages.
    prefixes: Vec<u8>,
    groups: Vec<Group>,
    /// Attributes, as in messages with AS numbers of four bytes.
    said: Vec<u8>,
}

impl fmt::Debug for RouteTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} routes in {} groups", self.count, self.family, self.groups.len())
    }
}

/// Content of an MRT file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tables {
    /// Tables that are not empty: IPv4 first.
    pub tables: Vec<Arc<RouteTable>>,
    /// Prefixes whose attributes cannot be sent as they are: malformed, too long, or with a path of a confederation.
    pub left_out: u64,
    /// Tables that a later one of their family replaces: BIRD appends one each time.
    pub replaced: u64,
}

/// Routes that were read.
#[derive(Default)]
struct Draft {
    /// Number of the peers' index before them.
    index: u64,
    /// Prefixes that can't be sent.
    left_out: u64,
    /// Prefixes, and the number of their attributes in the order in which these came.
    routes: Vec<((IpAddr, u8), u32)>,
    /// Attributes, and their numbers.
    sets: HashMap<Vec<u8>, u32>,
}

impl Tables {
    /// Reads the first `most` routes of each family of an MRT file, or of `only` one: for each prefix the path of the
    /// collector's first peer. A file may have several tables, each after an index of peers (RFC 6396 section 4.3.1): the last one of a
    /// family counts.
    ///
    /// # Errors
    /// If the file is no MRT file, or has none.
    pub fn read(bytes: &[u8], only: Option<Family>, most: usize) -> Result<Self, BadTable> {
        if [&b"\x1f\x8b"[..], b"BZh", b"\xfd7zXZ"].iter().any(|magic| bytes.starts_with(magic)) {
            return Err(BadTable::Compressed);
        }
        if bytes.len() > TABLE_FILE_MAX {
            return Err(BadTable::TooLarge);
        }
        let mut drafts = [Draft::default(), Draft::default()];
        let (mut index, mut replaced, mut rest) = (0, 0, bytes);
        while !rest.is_empty() {
            let at = bytes.len() - rest.len();
            let (kind, subtype, body) = take_record(&mut rest).ok_or(BadTable::CutOff { at })?;
            let (family, has_identifiers) = match (kind, subtype) {
                (TABLE_DUMP_V2, RIB_IPV4_UNICAST) => (Family::Ipv4, false),
                (TABLE_DUMP_V2, RIB_IPV6_UNICAST) => (Family::Ipv6, false),
                (TABLE_DUMP_V2, RIB_IPV4_UNICAST_ADD_PATH) => (Family::Ipv4, true),
                (TABLE_DUMP_V2, RIB_IPV6_UNICAST_ADD_PATH) => (Family::Ipv6, true),
                (TABLE_DUMP_V2, PEER_INDEX_TABLE) => {
                    index += 1;
                    continue;
                }
                _ => continue,
            };
            let draft = &mut drafts[family as usize];
            if draft.index != index {
                replaced += u64::from(!draft.routes.is_empty());
                *draft = Draft { index, ..Draft::default() };
            }
            if only.is_some_and(|only| only != family) || draft.routes.len() >= most {
                continue;
            }
            let (prefix, attributes) =
                read_rib(body, family, has_identifiers).map_err(|why| BadTable::Malformed { at, why })?;
            match attributes.map(kept) {
                Some(Some(said)) => draft.add(prefix, said),
                Some(None) => draft.left_out += 1,
                // A prefix that no peer of the collector has any more.
                None => {}
            }
        }
        let left_out = drafts.iter().map(|draft| draft.left_out).sum();
        let tables = Family::ALL.into_iter().zip(drafts).filter(|(_, draft)| !draft.routes.is_empty());
        let tables: Vec<_> = tables.map(|(family, draft)| Arc::new(draft.table(family))).collect();
        if tables.is_empty() { Err(BadTable::Empty) } else { Ok(Self { tables, left_out, replaced }) }
    }
}

/// Takes a record: its type, subtype and what follows its header.
fn take_record<'a>(rest: &mut &'a [u8]) -> Option<(u16, u16, &'a [u8])> {
    let (header, after) = rest.split_first_chunk::<HEADER>()?;
    let two = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let len = u32::from_be_bytes([header[8], header[9], header[10], header[11]]);
    let (body, after) = after.split_at_checked(usize::try_from(len).ok()?)?;
    *rest = after;
    Some((two(4), two(6), body))
}

/// A prefix, and the attributes from the first peer; or the error (RFC 6396 sections 4.3.2 and 4.3.4).
type Rib<'a> = ((IpAddr, u8), Option<&'a [u8]>);

fn read_rib(body: &[u8], family: Family, has_identifiers: bool) -> Result<Rib<'_>, &'static str> {
    let (_, mut rest) = body.split_first_chunk::<4>().ok_or("is too short for a sequence number")?;
    let prefix = take_prefix(&mut rest, family).flatten().ok_or("has no prefix of its family")?;
    let (count, mut rest) = rest.split_first_chunk::<2>().ok_or("is too short for a number of entries")?;
    let (mut first, head) = (None, if has_identifiers { 12 } else { 8 });
    for _ in 0..u16::from_be_bytes(*count) {
        let (head, after) = rest.split_at_checked(head).ok_or("has fewer entries than its count")?;
        let len = u16::from_be_bytes([head[head.len() - 2], head[head.len() - 1]]);
        let (attributes, after) =
            after.split_at_checked(len.into()).ok_or("has attributes that end behind it")?;
        first = first.or(Some(attributes));
        rest = after;
    }
    if rest.is_empty() { Ok((prefix, first)) } else { Err("has more bytes than entries") }
}

/// The attributes that are sent, in the order of the file; `None` if they cannot be.
fn kept(attributes: &[u8]) -> Option<Vec<u8>> {
    let (mut said, mut before) = (Vec::new(), attributes);
    let mut list = AttributeList(attributes);
    while let Some(attribute) = list.next() {
        let (kind, _) = attribute.ok()?;
        let whole = &before[..before.len() - list.0.len()];
        before = list.0;
        if matches!(kind, ORIGIN | AS_PATH | MULTI_EXIT_DISC | COMMUNITIES | LARGE_COMMUNITIES) {
            said.extend(whole);
        }
    }
    attributes_of(&said)?.fit().then_some(said)
}

/// Reads attributes; `None` if they are malformed.
fn attributes_of(said: &[u8]) -> Option<Attributes> {
    let mut all = Attributes::default();
    let number = |four: &[u8; 4]| u32::from_be_bytes(*four);
    for attribute in AttributeList(said) {
        let (kind, value) = attribute.ok()?;
        let whole = |size: usize| value.len().is_multiple_of(size).then_some(value.as_chunks::<4>().0);
        match kind {
            ORIGIN => all.origin = Origin::of(value)?,
            MULTI_EXIT_DISC => all.med = Some(number(value.try_into().ok()?)),
            COMMUNITIES => all.communities = whole(4)?.iter().map(number).collect(),
            LARGE_COMMUNITIES => {
                let parts = whole(12)?.as_chunks::<3>().0;
                all.large_communities = parts.iter().map(|three| three.each_ref().map(number)).collect();
            }
            AS_PATH => {
                let segments = path(value, true)?;
                let is_usual = |kind| matches!(kind, AS_SET | AS_SEQUENCE);
                if !segments.iter().all(|part| is_usual(part.kind) && !part.numbers.is_empty()) {
                    return None;
                }
                all.set_path(segments);
            }
            _ => {}
        }
    }
    Some(all)
}

impl Draft {
    fn add(&mut self, prefix: (IpAddr, u8), said: Vec<u8>) {
        let next = self.sets.len() as u32;
        self.routes.push((prefix, *self.sets.entry(said).or_insert(next)));
    }

    fn table(mut self, family: Family) -> RouteTable {
        // The first of each prefix stays.
        self.routes.sort_by_key(|(prefix, _)| *prefix);
        self.routes.dedup_by_key(|(prefix, _)| *prefix);
        self.routes.sort_by_key(|(_, set)| *set);
        let mut sets: Vec<_> = self.sets.into_iter().collect();
        sets.sort_unstable_by_key(|(_, number)| *number);
        let (mut said, mut places) = (Vec::new(), Vec::with_capacity(sets.len()));
        for (set, _) in sets {
            places.push((said.len() as u32, set.len() as u32));
            said.extend(set);
        }
        let (mut prefixes, mut groups) = (Vec::new(), Vec::new());
        for of_set in self.routes.chunk_by(|(_, one), (_, next)| one == next) {
            for part in of_set.chunks(GROUP_MAX) {
                let first = groups.last().map_or(0, |(group, len): &(Group, u32)| group.first + len);
                let group = Group { first, at: prefixes.len() as u32, said: places[part[0].1 as usize] };
                groups.push((group, part.len() as u32));
                part.iter().for_each(|(prefix, _)| put_prefix(&mut prefixes, *prefix));
            }
        }
        let groups = groups.into_iter().map(|(group, _)| group).collect();
        prefixes.shrink_to_fit();
        said.shrink_to_fit();
        RouteTable { family, count: self.routes.len() as u32, prefixes, groups, said }
    }
}

impl RouteTable {
    /// The family of its prefixes.
    pub fn family(&self) -> Family {
        self.family
    }

    /// Number of them.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The group of a route, and the number of the first one after it.
    fn group(&self, index: u32) -> Option<(&Group, u32)> {
        let at = self.groups.partition_point(|group| group.first <= index).checked_sub(1)?;
        let end = self.groups.get(at + 1).map_or(self.count, |next| next.first);
        (index < end).then(|| (&self.groups[at], end))
    }

    /// Prefixes from a number on.
    pub(crate) fn prefixes(&self, from: u32) -> impl Iterator<Item = (IpAddr, u8)> {
        let group = self.group(from).map(|(group, _)| group);
        let mut rest = group.map_or(&[][..], |group| &self.prefixes[group.at as usize..]);
        let before = group.map_or(0, |group| from - group.first);
        std::iter::from_fn(move || take_prefix(&mut rest, self.family).flatten()).skip(before as usize)
    }

    /// A prefix: its address and length; `None` if there is none.
    pub fn prefix(&self, index: u32) -> Option<(IpAddr, u8)> {
        self.prefixes(index).next()
    }

    /// The file's attributes of a route, and the number of the next one with different attributes.
    pub fn attributes(&self, index: u32) -> Option<(Attributes, u32)> {
        let (Group { said: (at, len), .. }, end) = self.group(index)?;
        Some((attributes_of(&self.said[*at as usize..][..*len as usize])?, end))
    }
}

/// Writes a prefix: its length, and as many bytes as that needs (RFC 4271 section 4.3).
pub(crate) fn put_prefix(out: &mut Vec<u8>, (ip, len): (IpAddr, u8)) {
    let bytes = usize::from(len.div_ceil(8));
    out.push(len);
    match ip {
        IpAddr::V4(ip) => out.extend(&ip.octets()[..bytes]),
        IpAddr::V6(ip) => out.extend(&ip.octets()[..bytes]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heard::{Heard, PathSegment};
    use crate::message::{HEADER as MESSAGE_HEADER, MESSAGE_MAX, Message, next_message};
    use crate::routes::{RouteRange, Speaking};
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::net::{Ipv4Addr, Ipv6Addr};
    use units::Nanos;

    fn record(kind: u16, subtype: u16, body: &[u8]) -> Vec<u8> {
        let mut out = vec![0; 4];
        out.extend([kind.to_be_bytes(), subtype.to_be_bytes()].concat());
        out.extend((body.len() as u32).to_be_bytes());
        out.extend(body);
        out
    }

    fn rib(prefix: (IpAddr, u8), entries: &[&[u8]]) -> Vec<u8> {
        let mut body = vec![0; 4];
        put_prefix(&mut body, prefix);
        body.extend((entries.len() as u16).to_be_bytes());
        for said in entries {
            body.extend([0; 6]);
            body.extend((said.len() as u16).to_be_bytes());
            body.extend(*said);
        }
        let subtype = if prefix.0.is_ipv4() { RIB_IPV4_UNICAST } else { RIB_IPV6_UNICAST };
        record(TABLE_DUMP_V2, subtype, &body)
    }

    fn attribute(kind: u8, value: &[u8]) -> Vec<u8> {
        [&[0x50, kind], &(value.len() as u16).to_be_bytes()[..], value].concat()
    }

    fn said(segments: &[(u8, &[u32])], more: &[Vec<u8>]) -> Vec<u8> {
        let segment = |(kind, numbers): &(u8, &[u32])| {
            let head = vec![*kind, numbers.len() as u8];
            [head, numbers.iter().flat_map(|asn| asn.to_be_bytes()).collect()].concat()
        };
        let path: Vec<u8> = segments.iter().flat_map(segment).collect();
        [attribute(ORIGIN, &[2]), attribute(AS_PATH, &path), more.concat()].concat()
    }

    fn four(number: u32, len: u8) -> (IpAddr, u8) {
        let bits = number.checked_shr(32 - u32::from(len)).map_or(0, |bits| bits << (32 - u32::from(len)));
        (Ipv4Addr::from(bits).into(), len)
    }

    fn range(table: &Arc<RouteTable>) -> RouteRange {
        RouteRange {
            name: String::new(),
            first: table.prefix(0).unwrap().0,
            prefix_len: 0,
            count: table.count(),
            step: 1,
            same: true,
            path_id: 1,
            attributes: Attributes::default(),
            table: Some(table.clone()),
            advertise: Nanos::ZERO,
            withdraw: None,
            flap: None,
        }
    }

    #[test]
    fn what_a_file_says_is_read() {
        let first = said(
            &[(2, &[64_999, 4_200_000_000]), (1, &[7, 8])],
            &[
                attribute(MULTI_EXIT_DISC, &[0, 0, 0, 9]),
                attribute(COMMUNITIES, &[0xff, 0xff, 0xff, 1]),
                attribute(3, &[1; 4]),
            ],
        );
        let second = said(&[(2, &[1])], &[]);
        let v6: Ipv6Addr = "2001:db8::".parse().unwrap();
        let file = [
            record(TABLE_DUMP_V2, 1, &[0; 8]),
            rib(four(0x1000_0000, 8), &[&first, &second]),
            rib(four(0x1100_0000, 9), &[&second, &first]),
            // A prefix that is there twice, one that nobody has, one of a confederation, and records of other types.
            rib(four(0x1000_0000, 8), &[&second]),
            rib(four(0x1200_0000, 8), &[]),
            rib(four(0x1300_0000, 8), &[&said(&[(3, &[1])], &[])]),
            record(TABLE_DUMP_V2, 6, &[1]),
            record(16, 4, &[]),
            rib((v6.into(), 32), &[&second]),
        ]
        .concat();
        let read = Tables::read(&file, None, 100).unwrap();
        assert_eq!((read.tables.len(), read.left_out), (2, 1));
        let [ipv4, ipv6] = &read.tables[..] else { panic!() };
        assert_eq!(
            (ipv4.family(), ipv4.count(), ipv6.family(), ipv6.count()),
            (Family::Ipv4, 2, Family::Ipv6, 1)
        );
        assert_eq!(
            (ipv4.prefix(0), ipv4.prefix(1), ipv4.prefix(2)),
            (Some(four(0x1000_0000, 8)), Some(four(0x1100_0000, 9)), None)
        );
        assert_eq!(ipv6.prefix(0), Some((v6.into(), 32)));
        let expected = Attributes {
            origin: Origin::Incomplete,
            as_path: vec![64_999, 4_200_000_000],
            path_rest: vec![PathSegment { kind: 1, numbers: vec![7, 8] }],
            med: Some(9),
            communities: vec![0xffff_ff01],
            ..Attributes::default()
        };
        assert_eq!(ipv4.attributes(0), Some((expected, 1)));
        assert_eq!(ipv4.attributes(1).unwrap().0.as_path, [1]);
        let only = Tables::read(&file, Some(Family::Ipv4), 1).unwrap();
        assert_eq!((only.tables.len(), only.tables[0].count()), (1, 1));
    }

    #[test]
    fn the_last_table_of_a_family_counts() {
        let (index, one) = (record(TABLE_DUMP_V2, PEER_INDEX_TABLE, &[0; 8]), said(&[(2, &[1])], &[]));
        let v6: Ipv6Addr = "2001:db8::".parse().unwrap();
        let (old, new) = (four(0x1000_0000, 8), four(0x1100_0000, 8));
        // An index before each family is no new table of the other one.
        let parts =
            [&index, &rib(old, &[&one]), &index, &rib((v6.into(), 32), &[&one]), &index, &rib(new, &[&one])];
        let file: Vec<u8> = parts.into_iter().flatten().copied().collect();
        let read = Tables::read(&file, None, 1).unwrap();
        let prefixes: Vec<_> = read.tables.iter().map(|table| (table.count(), table.prefix(0))).collect();
        assert_eq!(prefixes, [(1, Some(new)), (1, Some((v6.into(), 32)))]);
        assert_eq!((read.replaced, read.left_out), (1, 0));
    }

    #[test]
    fn what_is_no_table_is_refused_with_its_place() {
        let refused = |bytes: &[u8]| Tables::read(bytes, None, 10).unwrap_err();
        let good = rib(four(0x1000_0000, 8), &[&said(&[(2, &[1])], &[])]);
        assert_eq!(refused(b"\x1f\x8b..."), BadTable::Compressed);
        assert_eq!(refused(&[]), BadTable::Empty);
        assert_eq!(refused(&record(16, 4, &[1])), BadTable::Empty);
        assert_eq!(refused(&good[..good.len() - 1]), BadTable::CutOff { at: 0 });
        assert_eq!(refused(&[&good[..], &[0; 11]].concat()), BadTable::CutOff { at: good.len() });
        let malformed = |body: &[u8]| match refused(
            &[&good[..], &record(TABLE_DUMP_V2, RIB_IPV4_UNICAST, body)].concat(),
        ) {
            BadTable::Malformed { at, why } if at == good.len() => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(malformed(&[0; 3]), "is too short for a sequence number");
        assert_eq!(malformed(&[0, 0, 0, 0, 33, 1, 1, 1, 1, 1, 0, 0]), "has no prefix of its family");
        assert_eq!(malformed(&[0, 0, 0, 0, 8, 1, 0]), "is too short for a number of entries");
        assert_eq!(malformed(&[0, 0, 0, 0, 8, 1, 0, 1, 0]), "has fewer entries than its count");
        assert_eq!(
            malformed(&[0, 0, 0, 0, 8, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]),
            "has attributes that end behind it"
        );
        assert_eq!(malformed(&[0, 0, 0, 0, 8, 1, 0, 0, 9]), "has more bytes than entries");
        let said = BadTable::CutOff { at: 7 }.to_string();
        assert_eq!(said, "is cut off, or no MRT file: the record at byte 7 ends behind it");
    }

    proptest! {
        /// Each route is in one message, with the file's attributes, and withdrawn ones are gone.
        #[test]
        fn a_peer_hears_what_the_file_says(
            routes in prop::collection::vec((any::<u32>(), 0u8..=32, 0u32..40), 1..3_000),
            four_byte_as: bool,
        ) {
            let path = |set: u32| vec![100_000 + set, set + 1];
            let sets: Vec<Vec<u8>> = (0..40).map(|set| said(&[(2, &path(set)), (1, &[5, 70_000])], &[])).collect();
            let file: Vec<u8> = routes.iter().flat_map(|(ip, len, set)| rib(four(*ip, *len), &[&sets[*set as usize]])).collect();
            let mut expected = BTreeMap::new();
            routes.iter().for_each(|(ip, len, set)| { expected.entry(four(*ip, *len)).or_insert(*set); });
            let read = Tables::read(&file, None, usize::MAX).unwrap();
            let table = &read.tables[0];
            prop_assert_eq!((read.left_out, table.count() as usize), (0, expected.len()));
            let (range, mut heard) = (range(table), Heard::new(10_000));
            let how = Speaking { own_as: 65_001, is_internal: false, four_byte_as, path_ids: false, own: "10.0.0.2".parse().ok() };
            let pass = |heard: &mut Heard, advertise| -> Result<(), TestCaseError> {
                let mut next = 0;
                while next < range.count {
                    let mut bytes = Vec::new();
                    let until = range.put_update(&mut bytes, &how, 3, next, advertise);
                    prop_assert!(until > next && bytes.len() <= MESSAGE_MAX);
                    let (message, len) = next_message(&bytes, [false; 2]).unwrap().unwrap();
                    let Message::Update(update) = message else { panic!() };
                    prop_assert_eq!((len, if advertise { update.ipv4 } else { update.withdrawn }), (bytes.len(), until - next));
                    heard.take(&bytes[MESSAGE_HEADER..], four_byte_as, [false; 2]);
                    next = until;
                }
                Ok(())
            };
            pass(&mut heard, true)?;
            let heard_of: BTreeMap<_, _> = heard.routes().map(|(key, said)| (key.prefix, said.clone())).collect();
            prop_assert!(heard_of.keys().eq(expected.keys()));
            for (prefix, set) in &expected {
                // With AS numbers of two bytes they are in AS4_PATH.
                let numbers = std::iter::once(65_001).chain(path(*set)).collect();
                let wanted = [PathSegment { kind: 2, numbers }, PathSegment { kind: 1, numbers: vec![5, 70_000] }];
                prop_assert_eq!(&heard_of[prefix].as_path[..], &wanted[..]);
                prop_assert_eq!((heard_of[prefix].origin, heard_of[prefix].next_hop), (Some(Origin::Incomplete), how.own));
            }
            pass(&mut heard, false)?;
            prop_assert_eq!(heard.routes().len(), 0);
        }
    }
}
