//! Counters of routers.

use units::{Nanos, counters};

counters! {
    /// Things counted by level.
    pub struct LevelCounts {
        /// Of level 1.
        pub level_1: u64,
        /// Of level 2.
        pub level_2: u64,
    }
}

impl LevelCounts {
    /// The count of a level.
    pub(crate) fn of(&mut self, level: u8) -> &mut u64 {
        if level == 1 { &mut self.level_1 } else { &mut self.level_2 }
    }

    /// Counts one at each of the levels whose bits are set.
    pub(crate) fn count(&mut self, levels: u8) {
        self.level_1 += u64::from(levels & 1);
        self.level_2 += u64::from(levels >> 1 & 1);
    }

    /// Those of both.
    pub fn all(&self) -> u64 {
        self.level_1 + self.level_2
    }
}

counters! {
    /// Counters of a router, or of all routers of a port.
    pub struct IsisCounts {
        /// Times that a router came to have all its adjacencies.
        pub up: u64,
        /// Times that it lost one, but by the end of the run or by a command.
        pub flaps: u64,
        /// The same by level.
        pub flaps_at: LevelCounts,
        /// Hellos sent and received.
        pub hellos: (u64, u64),
        /// The same by level: hellos of a point-to-point link count at each level they are for.
        pub hellos_at: (LevelCounts, LevelCounts),
        /// Complete sequence numbers PDUs sent and received.
        pub csnps: (LevelCounts, LevelCounts),
        /// Partial sequence numbers PDUs sent and received.
        pub psnps: (LevelCounts, LevelCounts),
        /// LSPs sent: also those that were sent again.
        pub sent: LevelCounts,
        /// LSPs received: also those that were received again.
        pub received: LevelCounts,
        /// LSPs received that were being purged.
        pub received_purged: u64,
        /// LSPs that were sent again because a neighbour did not have them in time.
        pub retransmitted: u64,
        /// LSPs that were originated again because they became old.
        pub refreshed: u64,
        /// Own LSPs received in a newer instance than the router's, such as from an earlier run: originated again, or
        /// purged.
        pub outdated: u64,
        /// Routes advertised.
        pub advertised: u64,
        /// Routes withdrawn.
        pub withdrawn: u64,
        /// When routes were first withdrawn while traffic ran, after it started.
        pub first_withdrawal: Option<Nanos>,
        /// When routes were first advertised while traffic ran, after it started.
        pub first_advertisement: Option<Nanos>,
        /// PDUs that were refused: of another area, another level or other authentication.
        pub mismatched: u64,
        /// PDUs that could not be read, and LSPs with a wrong checksum.
        pub malformed: u64,
        /// LSPs for which the database had no room.
        pub left_out: u64,
    }
}
