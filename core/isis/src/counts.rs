//! Counters of routers.

use std::ops::AddAssign;
use units::Nanos;

/// Things counted by level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LevelCounts {
    /// Of level 1.
    pub level_1: u64,
    /// Of level 2.
    pub level_2: u64,
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

impl AddAssign<&Self> for LevelCounts {
    fn add_assign(&mut self, other: &Self) {
        self.level_1 += other.level_1;
        self.level_2 += other.level_2;
    }
}

/// Counters of a router, or of all routers of a port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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

impl AddAssign<&Self> for IsisCounts {
    fn add_assign(&mut self, other: &Self) {
        let add = |a: &mut (u64, u64), b: (u64, u64)| *a = (a.0 + b.0, a.1 + b.1);
        let first = |a: Option<Nanos>, b: Option<Nanos>| a.into_iter().chain(b).min();
        self.up += other.up;
        self.flaps += other.flaps;
        self.flaps_at += &other.flaps_at;
        add(&mut self.hellos, other.hellos);
        for (both, others) in [
            (&mut self.hellos_at, &other.hellos_at),
            (&mut self.csnps, &other.csnps),
            (&mut self.psnps, &other.psnps),
        ] {
            both.0 += &others.0;
            both.1 += &others.1;
        }
        self.sent += &other.sent;
        self.received += &other.received;
        self.received_purged += other.received_purged;
        self.retransmitted += other.retransmitted;
        self.refreshed += other.refreshed;
        self.outdated += other.outdated;
        self.advertised += other.advertised;
        self.withdrawn += other.withdrawn;
        self.first_withdrawal = first(self.first_withdrawal, other.first_withdrawal);
        self.first_advertisement = first(self.first_advertisement, other.first_advertisement);
        self.mismatched += other.mismatched;
        self.malformed += other.malformed;
        self.left_out += other.left_out;
    }
}
