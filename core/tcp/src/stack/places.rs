//! Which addresses and ports are served, and which are the stack's own.

use crate::app::GroupId;
use crate::frame::{Addresses, Tags};
use crate::key::{Key, Transport};
use std::net::IpAddr;
use std::ops::RangeInclusive;

/// Addresses of one family.
#[derive(Debug, Clone, Copy)]
enum Range {
    V4(u32, u32),
    V6(u128, u128),
}

impl Range {
    fn new(addresses: &RangeInclusive<IpAddr>) -> Option<Self> {
        match (*addresses.start(), *addresses.end()) {
            (IpAddr::V4(first), IpAddr::V4(last)) => Some(Self::V4(first.into(), last.into())),
            (IpAddr::V6(first), IpAddr::V6(last)) => Some(Self::V6(first.into(), last.into())),
            _ => None,
        }
    }

    /// Whether the own address of a flow (`from`) is in it.
    #[inline]
    fn has(&self, addresses: &Addresses) -> bool {
        match (self, addresses) {
            (Self::V4(first, last), Addresses::V4 { from, .. }) => first <= from && from <= last,
            (Self::V6(first, last), Addresses::V6 { from, .. }) => first <= from && from <= last,
            _ => false,
        }
    }
}

#[derive(Debug)]
struct OwnedRange {
    group: GroupId,
    tags: Tags,
    range: Range,
    /// The served ports; `None` is only owned.
    served: Option<(Transport, u16, u16)>,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Places {
    places: Vec<OwnedRange>,
}

impl Places {
    pub(crate) fn listen(
        &mut self,
        group: GroupId,
        tags: Tags,
        transport: Transport,
        addresses: RangeInclusive<IpAddr>,
        ports: RangeInclusive<u16>,
    ) {
        let served = Some((transport, *ports.start(), *ports.end()));
        self.places.extend(Range::new(&addresses).map(|range| OwnedRange { group, tags, range, served }));
    }

    pub(crate) fn own(&mut self, group: GroupId, tags: Tags, addresses: RangeInclusive<IpAddr>) {
        self.places.extend(Range::new(&addresses).map(|range| OwnedRange {
            group,
            tags,
            range,
            served: None,
        }));
    }

    /// The listener of a flow with `key`.
    #[inline]
    pub(crate) fn listener(&self, key: &Key) -> Option<GroupId> {
        let port = key.local_port();
        let serves = |place: &&OwnedRange| {
            place.served.is_some_and(|(transport, first, last)| {
                transport == key.transport && first <= port && port <= last
            }) && place.tags == key.tags
                && place.range.has(&key.addresses)
        };
        self.places.iter().find(serves).map(|place| place.group)
    }

    /// The owner of address `from`.
    pub(crate) fn owner(&self, addresses: &Addresses, tags: Tags) -> Option<GroupId> {
        let owns = |place: &&OwnedRange| place.tags == tags && place.range.has(addresses);
        self.places.iter().find(owns).map(|place| place.group)
    }
}
