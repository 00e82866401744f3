//! Counters of routers.

use crate::lsa::{BORDER, EXTERNAL, NETWORK, NSSA, OPAQUE_AREA, OPAQUE_DOMAIN, OPAQUE_LINK, ROUTER, SUMMARY};
use crate::lsa3::{
    EXTERNAL as EXTERNAL_3, INTER_AREA_PREFIX, INTER_AREA_ROUTER, INTRA_AREA_PREFIX, LINK,
    NETWORK as NETWORK_3, NSSA as NSSA_3, ROUTER as ROUTER_3, is_reserved,
};
use crate::version::Version;
use units::{Nanos, counters};

counters! {
    /// LSAs by type.
    pub struct LsaCounts {
        /// Of routers (type 1, 0x2001 in OSPFv3).
        pub router: u64,
        /// Of networks (type 2, 0x2002).
        pub network: u64,
        /// Summaries of networks and of border routers (types 3 and 4).
        pub summary: u64,
        /// External ones (type 5, 0x4005).
        pub external: u64,
        /// External ones of a not-so-stubby area (type 7, 0x2007).
        pub nssa: u64,
        /// Opaque ones of a link (type 9).
        pub opaque_link: u64,
        /// Opaque ones of an area (type 10).
        pub opaque_area: u64,
        /// Opaque ones that go everywhere (type 11).
        pub opaque_domain: u64,
        /// Prefixes of other areas (OSPFv3, type 0x2003).
        pub inter_area_prefix: u64,
        /// Routers of other areas (OSPFv3, type 0x2004).
        pub inter_area_router: u64,
        /// Of links (OSPFv3, type 0x0008).
        pub link: u64,
        /// Prefixes of an area (OSPFv3, type 0x2009).
        pub intra_area_prefix: u64,
        /// Of any other type of OSPFv3.
        pub other: u64,
    }
}

impl LsaCounts {
    /// The count of a type; `None` if routers do not take it in.
    pub(crate) fn of(&mut self, version: Version, kind: u16) -> Option<&mut u64> {
        if version == Version::V3 {
            return self.of_v3(kind);
        }
        Some(match kind {
            ROUTER => &mut self.router,
            NETWORK => &mut self.network,
            SUMMARY | BORDER => &mut self.summary,
            EXTERNAL => &mut self.external,
            NSSA => &mut self.nssa,
            OPAQUE_LINK => &mut self.opaque_link,
            OPAQUE_AREA => &mut self.opaque_area,
            OPAQUE_DOMAIN => &mut self.opaque_domain,
            _ => return None,
        })
    }

    /// That of a type of OSPFv3, which takes in those that it does not know as well (RFC 5340 section 4.5.1).
    fn of_v3(&mut self, kind: u16) -> Option<&mut u64> {
        Some(match kind {
            ROUTER_3 => &mut self.router,
            NETWORK_3 => &mut self.network,
            INTER_AREA_PREFIX => &mut self.inter_area_prefix,
            INTER_AREA_ROUTER => &mut self.inter_area_router,
            EXTERNAL_3 => &mut self.external,
            NSSA_3 => &mut self.nssa,
            LINK => &mut self.link,
            INTRA_AREA_PREFIX => &mut self.intra_area_prefix,
            _ if is_reserved(kind) => return None,
            _ => &mut self.other,
        })
    }

    /// Counts one of a type.
    pub(crate) fn add(&mut self, version: Version, kind: u16) {
        self.of(version, kind).into_iter().for_each(|count| *count += 1);
    }

    /// Those of all types.
    pub fn all(&self) -> u64 {
        let opaque = self.opaque_link + self.opaque_area + self.opaque_domain;
        let of_v3 =
            self.inter_area_prefix + self.inter_area_router + self.link + self.intra_area_prefix + self.other;
        self.router + self.network + self.summary + self.external + self.nssa + opaque + of_v3
    }
}

counters! {
    /// Counters of a router, or of all routers of a port.
    pub struct OspfCounts {
        /// Adjacencies that became full.
        pub full: u64,
        /// Full adjacencies that ended, but by the end of the run or by a command.
        pub flaps: u64,
        /// Hello packets sent and received.
        pub hellos: (u64, u64),
        /// Database Description packets sent and received.
        pub descriptions: (u64, u64),
        /// Link State Request packets sent and received.
        pub requests: (u64, u64),
        /// Link State Update packets sent and received.
        pub updates: (u64, u64),
        /// Link State Acknowledgment packets sent and received.
        pub acknowledgments: (u64, u64),
        /// LSAs that were acknowledged to neighbours, and by them.
        pub acknowledged: (u64, u64),
        /// LSAs sent: also those that were sent again.
        pub sent: LsaCounts,
        /// LSAs received: also those that were received again.
        pub received: LsaCounts,
        /// LSAs received that were being flushed.
        pub received_flushed: u64,
        /// LSAs retransmitted because they were not acknowledged in time.
        pub retransmitted: u64,
        /// LSAs that were originated again because they became old.
        pub refreshed: u64,
        /// Own LSAs received in a newer instance than the router's, such as from an earlier run: originated again, or
        /// flushed.
        pub outdated: u64,
        /// Routes advertised.
        pub advertised: u64,
        /// Routes withdrawn.
        pub withdrawn: u64,
        /// When routes were first withdrawn while traffic ran, after it started.
        pub first_withdrawal: Option<Nanos>,
        /// When routes were first advertised while traffic ran, after it started.
        pub first_advertisement: Option<Nanos>,
        /// Hello packets that were refused: of another area or instance, with other times, another mask or other authentication.
        pub mismatched: u64,
        /// Packets that could not be read, and LSAs with a wrong checksum.
        pub malformed: u64,
        /// LSAs for which the database had no room.
        pub left_out: u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_types_are_taken_in_by_ospfv3_alone() {
        let mut counts = LsaCounts::default();
        // With the U bit and without, of a link, of an area and of all areas.
        for kind in [0x0001, 0x200a, 0x4001, 0x8001, 0xa00a, 0xc00b] {
            counts.add(Version::V3, kind);
        }
        assert_eq!((counts.other, counts.all()), (6, 6));
        let reserved = [0x6001, 0xe005].map(|kind| counts.of(Version::V3, kind).is_none());
        let unknown = [0, 6, 8, 12].map(|kind| counts.of(Version::V2, kind).is_none());
        assert_eq!((reserved, unknown), ([true; 2], [true; 4]));
    }
}
