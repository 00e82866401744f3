//! Routes that a peer has advertised and not withdrawn, with their attributes, within a limit.
//!
//! Not here: choosing among them, and passing them on: nothing does.
//!
//! Invariant: what a peer can make a session hold is bounded by the number of routes it may keep.

use crate::message::{
    AS_TRANS, ATTRIBUTE_MP_REACH, ATTRIBUTE_MP_UNREACH, AttributeList, PathIds, family, take_long,
    take_route, take_short,
};
use crate::routes::{
    AGGREGATOR, AS_PATH, AS_SEQUENCE, AS_SET, AS4_AGGREGATOR, AS4_PATH, COMMUNITIES, Family, LOCAL_PREF,
    MULTI_EXIT_DISC, NEXT_HOP, ORIGIN, Origin,
};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// A part of an AS path (RFC 4271 section 4.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathSegment {
    /// 1 is a set, 2 a sequence; 3 and 4 are the same of a confederation (RFC 5065 section 3).
    pub kind: u8,
    /// AS numbers.
    pub numbers: Vec<u32>,
}

impl PathSegment {
    /// A set of ASes.
    pub fn set(numbers: Vec<u32>) -> Self {
        Self { kind: AS_SET, numbers }
    }

    /// ASes in their order.
    pub fn sequence(numbers: Vec<u32>) -> Self {
        Self { kind: AS_SEQUENCE, numbers }
    }

    /// ASes that count for a path's length (RFC 4271 section 9.1.2.2, RFC 5065 section 5.3).
    fn hops(&self) -> usize {
        match self.kind {
            AS_SEQUENCE => self.numbers.len(),
            AS_SET => 1,
            _ => 0,
        }
    }
}

/// A peer's attributes of a route. Missing and malformed ones are absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeardAttributes {
    /// Origin.
    pub origin: Option<Origin>,
    /// AS path.
    pub as_path: Vec<PathSegment>,
    /// Next hop, of the route's family.
    pub next_hop: Option<IpAddr>,
    /// Multi-exit discriminator.
    pub med: Option<u32>,
    /// Local preference.
    pub local_pref: Option<u32>,
    /// Communities (RFC 1997).
    pub communities: Vec<u32>,
}

/// A prefix: its address and length, bits.
pub type Prefix = (IpAddr, u8);

/// Identity of a route in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RouteKey {
    /// Its prefix.
    pub prefix: Prefix,
    /// The path identifier, where a prefix can have several paths (RFC 7911).
    pub path_id: Option<u32>,
}

/// Routes of a session.
#[derive(Debug, Clone, Default)]
pub struct Heard {
    most: usize,
    routes: BTreeMap<RouteKey, Arc<HeardAttributes>>,
    left_out: u64,
}

impl Heard {
    /// Keeps `most` routes.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// The routes that are kept, by prefix.
    pub fn routes(&self) -> impl ExactSizeIterator<Item = (&RouteKey, &HeardAttributes)> {
        self.routes.iter().map(|(key, said)| (key, &**said))
    }

    /// Advertisements that found no room.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Takes in what follows the header of an UPDATE message that was read before, so its lengths are right.
    pub(crate) fn take(&mut self, body: &[u8], four_byte_as: bool, ids: PathIds) {
        if self.most == 0 {
            return;
        }
        let mut rest = body;
        let (Some(mut withdrawn), Some(attributes)) = (take_long(&mut rest), take_long(&mut rest)) else {
            return;
        };
        self.withdraw(&mut withdrawn, Family::Ipv4, ids);
        let mut said = HeardAttributes::default();
        let mut reached = None;
        let mut values = [None; 256];
        for (kind, value) in AttributeList(attributes).flatten() {
            // Of one that comes several times, the first counts (RFC 7606 section 3, g).
            let value = *values[usize::from(kind)].get_or_insert(value);
            match kind {
                ATTRIBUTE_MP_UNREACH => {
                    let Some(([high, low, subsequent], mut networks)) = value.split_first_chunk() else {
                        continue;
                    };
                    if let Some(family) = family(*high, *low, *subsequent) {
                        self.withdraw(&mut networks, family, ids);
                    }
                }
                ATTRIBUTE_MP_REACH => {
                    let Some(([high, low, subsequent], mut rest)) = value.split_first_chunk() else {
                        continue;
                    };
                    let (family, hop) = (family(*high, *low, *subsequent), take_short(&mut rest));
                    if let (Some(family), Some(hop), Some((_, networks))) = (family, hop, rest.split_first())
                    {
                        reached = Some((family, address(hop), networks));
                    }
                }
                _ => said.note(kind, value, four_byte_as),
            }
        }
        let is_aggregated = |value: &[u8]| !value.starts_with(&AS_TRANS.to_be_bytes());
        let value = |kind: u8| values[usize::from(kind)];
        // RFC 6793 section 4.2.3: who has aggregated a route without them does not know its AS numbers of four bytes.
        let is_outdated = value(AS4_AGGREGATOR).is_some() && value(AGGREGATOR).is_some_and(is_aggregated);
        if let Some(long) =
            value(AS4_PATH).filter(|_| !four_byte_as && !is_outdated).and_then(|v| path(v, true))
        {
            said.as_path = merged(std::mem::take(&mut said.as_path), long);
        }
        if let Some((family, next_hop, networks)) = reached {
            self.advertise(networks, family, ids, HeardAttributes { next_hop, ..said.clone() });
        }
        if !rest.is_empty() {
            self.advertise(rest, Family::Ipv4, ids, said);
        }
    }

    fn withdraw(&mut self, networks: &mut &[u8], family: Family, ids: PathIds) {
        while let Some(Some(key)) = take_route(networks, family, ids) {
            self.routes.remove(&key);
        }
    }

    fn advertise(&mut self, mut networks: &[u8], family: Family, ids: PathIds, said: HeardAttributes) {
        let said = Arc::new(said);
        while let Some(Some(key)) = take_route(&mut networks, family, ids) {
            if self.routes.len() < self.most || self.routes.contains_key(&key) {
                self.routes.insert(key, said.clone());
            } else {
                self.left_out += 1;
            }
        }
    }
}

impl HeardAttributes {
    fn note(&mut self, kind: u8, value: &[u8], four_byte_as: bool) {
        let number = || value.try_into().ok().map(u32::from_be_bytes);
        match kind {
            ORIGIN => self.origin = Origin::of(value),
            AS_PATH => self.as_path = path(value, four_byte_as).unwrap_or_default(),
            NEXT_HOP => self.next_hop = address(value),
            MULTI_EXIT_DISC => self.med = number(),
            LOCAL_PREF => self.local_pref = number(),
            COMMUNITIES => {
                self.communities = value
                    .chunks_exact(4)
                    .map(|four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]))
                    .collect();
            }
            _ => {}
        }
    }
}

/// The first address of a next hop: a link-local one may follow (RFC 2545 section 3).
fn address(bytes: &[u8]) -> Option<IpAddr> {
    if let Some(sixteen) = bytes.first_chunk::<16>() {
        return Some(Ipv6Addr::from(*sixteen).into());
    }
    bytes.try_into().ok().map(|four: [u8; 4]| Ipv4Addr::from(four).into())
}

/// An AS path; `None` if it is cut off.
pub(crate) fn path(mut value: &[u8], four_byte_as: bool) -> Option<Vec<PathSegment>> {
    let (mut segments, width) = (Vec::new(), if four_byte_as { 4 } else { 2 });
    while let Some(([kind, count], rest)) = value.split_first_chunk() {
        let (numbers, rest) = rest.split_at_checked(usize::from(*count) * width)?;
        let number = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
        segments
            .push(PathSegment { kind: *kind, numbers: numbers.chunks_exact(width).map(number).collect() });
        value = rest;
    }
    value.is_empty().then_some(segments)
}

/// The path of a peer without AS numbers of four bytes, with those that passed through it (RFC 6793 section 4.2.3).
fn merged(short: Vec<PathSegment>, long: Vec<PathSegment>) -> Vec<PathSegment> {
    let hops = |path: &[PathSegment]| path.iter().map(PathSegment::hops).sum::<usize>();
    // A longer one is not of this path.
    let Some(mut leading) = hops(&short).checked_sub(hops(&long)) else { return short };
    let mut merged: Vec<PathSegment> = Vec::new();
    for mut part in short {
        if leading == 0 && part.hops() > 0 {
            break;
        }
        if part.kind == AS_SEQUENCE {
            part.numbers.truncate(leading);
        }
        leading -= part.hops();
        merged.push(part);
    }
    for part in long {
        match merged.last_mut().filter(|last| last.kind == AS_SEQUENCE && part.kind == AS_SEQUENCE) {
            Some(last) => last.numbers.extend(part.numbers),
            None => merged.push(part),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::HEADER;
    use crate::routes::{Attributes, RouteRange, Speaking};
    use units::Nanos;

    fn range(first: &str, prefix_len: u8, count: u32) -> RouteRange {
        let attributes = Attributes {
            as_path: vec![64_999],
            communities: vec![65_001 << 16 | 7],
            med: Some(5),
            ..Attributes::default()
        };
        RouteRange {
            name: String::new(),
            first: first.parse().unwrap(),
            prefix_len,
            count,
            step: 1,
            same: false,
            path_id: 7,
            attributes,
            table: None,
            advertise: Nanos::ZERO,
            withdraw: None,
            flap: None,
        }
    }

    /// Messages of a speaker read back as they were meant.
    #[test]
    fn what_is_advertised_is_heard_and_forgotten_when_it_is_withdrawn() {
        for (first, own, four_byte_as, path_ids) in [
            ("16.0.0.0", "10.0.0.2", true, false),
            ("16.0.0.0", "10.0.0.2", true, true),
            ("2001:db8::", "2001:db8::2", false, false),
            ("2001:db8::", "2001:db8::2", true, true),
        ] {
            let range = range(first, if own.contains(':') { 48 } else { 24 }, 30);
            let own: Option<IpAddr> = own.parse().ok();
            let how = Speaking { own_as: 65_001, is_internal: false, four_byte_as, path_ids, own };
            let ids = [path_ids; 2];
            let mut heard = Heard::new(20);
            let said = |advertise| {
                let mut out = Vec::new();
                range.put_update(&mut out, &how, 0, 0, advertise);
                out.split_off(HEADER)
            };
            heard.take(&said(true), four_byte_as, ids);
            assert_eq!((heard.routes().len(), heard.left_out()), (20, 10));
            let (key, said_of) = heard.routes().next().unwrap();
            assert_eq!(key.prefix, (range.first, range.prefix_len));
            assert_eq!(key.path_id, path_ids.then_some(7));
            let path = [PathSegment { kind: 2, numbers: vec![65_001, 64_999] }];
            assert_eq!(said_of.as_path, path);
            assert_eq!((said_of.next_hop, said_of.med, said_of.local_pref), (own, Some(5), None));
            assert_eq!(
                (said_of.origin, &said_of.communities[..]),
                (Some(Origin::Igp), &[65_001 << 16 | 7][..])
            );
            heard.take(&said(true), four_byte_as, ids);
            assert_eq!((heard.routes().len(), heard.left_out()), (20, 20), "those that are there find room");
            heard.take(&said(false), four_byte_as, ids);
            assert_eq!(heard.routes().len(), 0);
            let mut none = Heard::new(0);
            none.take(&said(true), four_byte_as, ids);
            assert_eq!((none.routes().len(), none.left_out()), (0, 0));
        }
    }

    fn heard_of(attributes: &[&[u8]]) -> HeardAttributes {
        let attributes = attributes.concat();
        let body = [&[0, 0, 0, attributes.len() as u8][..], &attributes, &[8, 9]].concat();
        let mut heard = Heard::new(1);
        heard.take(&body, false, [false; 2]);
        heard.routes().next().unwrap().1.clone()
    }

    /// RFC 6793 section 4.2.3, by hand: 5 23456 23456 {7 8} from a peer with two bytes, which added its own AS, 5.
    #[test]
    fn numbers_of_four_bytes_come_through_a_peer_with_two() {
        let short = [0x40, 2, 14, 2, 3, 0, 5, 0x5b, 0xa0, 0x5b, 0xa0, 1, 2, 0, 7, 0, 8];
        let long = [0xc0, 17, 20, 2, 2, 0, 1, 0, 1, 0, 1, 0, 2, 1, 2, 0, 0, 0, 7, 0, 0, 0, 8];
        let full = [PathSegment::sequence(vec![5, 65_537, 65_538]), PathSegment::set(vec![7, 8])];
        let as_it_came = [PathSegment::sequence(vec![5, 23_456, 23_456]), PathSegment::set(vec![7, 8])];
        assert_eq!(heard_of(&[&short, &long]).as_path, full);
        // Longer than the path, or cut off: it does not count.
        let longer = [0xc0, 17, 22, 2, 5, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1];
        let cut = [0xc0, 17, 3, 2, 2, 0];
        for other in [&longer[..], &cut] {
            assert_eq!(heard_of(&[&short, other]).as_path, as_it_came);
        }
        // Aggregated by a speaker with two bytes since, or by one with four.
        let aggregator = |asn: [u8; 2]| [&[0xc0, 7, 6][..], &asn, &[10, 0, 0, 1]].concat();
        let as4 = [0xc0, 18, 8, 0, 1, 0, 1, 10, 0, 0, 1];
        assert_eq!(heard_of(&[&short, &aggregator([0, 5]), &long, &as4]).as_path, as_it_came);
        assert_eq!(heard_of(&[&short, &aggregator([0x5b, 0xa0]), &long, &as4]).as_path, full);
        assert_eq!(heard_of(&[&short, &aggregator([0, 5]), &long]).as_path, full);
    }

    #[test]
    fn of_an_attribute_that_comes_twice_the_first_counts() {
        let med = |value: u8| [0x80, 4, 4, 0, 0, 0, value];
        assert_eq!(heard_of(&[&med(7), &med(9)]).med, Some(7));
    }

    #[test]
    fn bits_behind_a_prefix_do_not_count() {
        let mut heard = Heard::new(9);
        heard.take(&[0, 0, 0, 0, 12, 0xff, 0xff, 0], true, [false; 2]);
        let known = |heard: &Heard| heard.routes().map(|(key, _)| key.prefix).collect::<Vec<_>>();
        let network = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(known(&heard), [(network("0.0.0.0"), 0), (network("255.240.0.0"), 12)]);
        heard.take(&[0, 3, 12, 0xff, 0xf0, 0, 0], true, [false; 2]);
        assert_eq!(known(&heard), [(network("0.0.0.0"), 0)]);
    }

    #[test]
    fn a_path_that_is_cut_off_is_none() {
        assert_eq!(path(&[2, 2, 0, 1, 0], false), None);
        assert_eq!(path(&[1, 1, 0, 7], false), Some(vec![PathSegment { kind: 1, numbers: vec![7] }]));
        assert_eq!(path(&[2], false), None);
    }
}
