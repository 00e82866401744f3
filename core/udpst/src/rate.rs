//! Generation of load: two senders, each with a burst at an interval, and the table of such rates that a server
//! searches in.

/// Octets of the headers of UDP and IPv4. In rates and in the table datagrams are IPv4.
const HEADERS: u32 = 28;
/// IPv6's header is so much longer; its datagrams are so much shorter.
const LONGER: u32 = 20;
/// Octets of IP packets up to 1 Gbit/s: a bit rate of whole megabits needs whole packets only.
const PACKET: u32 = 1250;
const FULL_PACKET: u32 = 1500;
const JUMBO_PACKET: u32 = 9000;
/// The payload, or the addition, has any length up to this one.
const RANDOM: u32 = 1 << 31;
/// Largest datagram, octets of payload.
pub const MOST_PAYLOAD: u32 = JUMBO_PACKET - HEADERS;
/// Most packets of a burst.
const MOST_BURST: u32 = 100;
/// Shortest time between two bursts, µs.
const SHORTEST: u32 = 100;
const LONGEST: u32 = 60_000_000;

/// Rate of load. A sender with an interval of 0 is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rate {
    /// Time between two bursts of the first sender, µs.
    pub interval_1: u32,
    /// Octets of each datagram.
    pub payload_1: u32,
    /// Datagrams of a burst.
    pub burst_1: u32,
    /// The same of the second sender.
    pub interval_2: u32,
    /// Octets of each datagram.
    pub payload_2: u32,
    /// Datagrams of a burst.
    pub burst_2: u32,
    /// Octets of one more datagram after each of its bursts; 0 for none.
    pub addition_2: u32,
}

impl Rate {
    /// Whether it can be sent: a peer may request any rate.
    pub fn can_be_sent(&self) -> bool {
        let interval = |interval: u32| interval == 0 || (SHORTEST..=LONGEST).contains(&interval);
        let payloads = [self.payload_1, self.payload_2, self.addition_2];
        interval(self.interval_1)
            && interval(self.interval_2)
            && self.burst_1.max(self.burst_2) <= MOST_BURST
            && payloads.iter().all(|payload| payload & !RANDOM <= MOST_PAYLOAD)
    }

    /// Octets of payload, given a random number: of this length, or of any up to it.
    pub(crate) fn payload(wanted: u32, random: u32, is_v6: bool) -> u32 {
        let least = crate::LOAD as u32;
        let shorter = if is_v6 { LONGER } else { 0 };
        let most = (wanted & !RANDOM).saturating_sub(shorter).max(least);
        if wanted & RANDOM == 0 { most } else { least + random % (most - least + 1) }
    }

    /// Bits per second at the IP layer over IPv4.
    pub fn bits_per_second(&self) -> u64 {
        let packet = |payload: u32| {
            let most = u64::from((payload & !RANDOM) + HEADERS);
            if payload & RANDOM == 0 { most } else { (most + (crate::LOAD as u64) + u64::from(HEADERS)) / 2 }
        };
        let per_second = |interval: u32, bytes: u64| match interval {
            0 => 0,
            interval => bytes * 8 * 1_000_000 / u64::from(interval),
        };
        let addition = if self.addition_2 == 0 { 0 } else { packet(self.addition_2) };
        per_second(self.interval_1, packet(self.payload_1) * u64::from(self.burst_1))
            + per_second(self.interval_2, packet(self.payload_2) * u64::from(self.burst_2) + addition)
    }
}

/// Rates from the lowest to the highest: a row for each Mbit/s up to 1 Gbit/s, and 100 Mbit/s or more from row to row above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// Datagrams above the usual MTU, beyond 1 Gbit/s.
    pub jumbo: bool,
    /// IP packets of 1,500 octets instead of 1,250.
    pub full_mtu: bool,
}

impl Table {
    /// The last row that rates grow fast to: 1 Gbit/s.
    pub const FAST: usize = 1000;
    /// Rows above it.
    const ABOVE: usize = 152;

    /// Number of rows.
    pub fn rows(self) -> usize {
        Self::FAST + 1 + Self::ABOVE
    }

    /// A row; after the last one, the last.
    pub fn row(self, row: usize) -> Rate {
        let row = row.min(self.rows() - 1);
        if row == 0 {
            // A sign of life: a packet of any length 20 times a second.
            let packet = if self.full_mtu { FULL_PACKET } else { PACKET };
            return Rate { interval_2: 50_000, addition_2: (packet - HEADERS) | RANDOM, ..Rate::default() };
        }
        if row <= Self::FAST { self.slow(row as u32) } else { self.fast((row - Self::FAST) as u32) }
    }

    /// A rate in Mbit/s: the first sender has the most of it in bursts each 100 µs, the second the rest each ms.
    fn slow(self, megabits: u32) -> Rate {
        let packet = if self.full_mtu { FULL_PACKET } else { PACKET };
        // Octets of IP in a millisecond.
        let bytes = megabits * 125;
        let burst_1 = bytes / (packet * 10);
        let rest = bytes - burst_1 * packet * 10;
        let (burst_2, addition) = (rest / packet, rest % packet);
        // Where what is left is too short for a packet, the burst has a packet less and the addition, of two, more.
        let is_short = addition > 0 && addition < HEADERS + crate::LOAD as u32;
        let (burst_2, addition) =
            if is_short { (burst_2, HEADERS + crate::LOAD as u32) } else { (burst_2, addition) };
        Rate {
            interval_1: if burst_1 > 0 { SHORTEST } else { 0 },
            payload_1: if burst_1 > 0 { packet - HEADERS } else { 0 },
            burst_1,
            interval_2: if burst_2 > 0 || addition > 0 { 1000 } else { 0 },
            payload_2: if burst_2 > 0 { packet - HEADERS } else { 0 },
            burst_2,
            addition_2: addition.saturating_sub(HEADERS),
        }
    }

    /// Rows above 1 Gbit/s: larger packets first where they may be, then larger bursts.
    fn fast(self, row: u32) -> Rate {
        // Packets between those that fit a usual MTU and larger ones would overtake each other's fragments: none is in use.
        let larger = (JUMBO_PACKET - PACKET) / 125;
        let (packet, burst) = match (self.jumbo, self.full_mtu) {
            (true, _) if row <= larger => (PACKET + row * 125, 10),
            (true, _) => (JUMBO_PACKET, 10 + row - larger),
            (false, true) => (FULL_PACKET, 8 + row),
            (false, false) => (PACKET, 10 + row),
        };
        Rate {
            interval_1: SHORTEST,
            payload_1: packet - HEADERS,
            burst_1: burst.min(MOST_BURST),
            ..Rate::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables() -> impl Iterator<Item = Table> {
        [(false, false), (false, true), (true, false), (true, true)]
            .into_iter()
            .map(|(jumbo, full_mtu)| Table { jumbo, full_mtu })
    }

    #[test]
    fn a_row_is_a_megabit_up_to_a_gigabit() {
        for table in tables() {
            for row in 1..=1000u64 {
                let bits = table.row(row as usize).bits_per_second();
                assert!(bits.abs_diff(row * 1_000_000) <= 480_000, "{table:?} {row}: {bits}");
            }
        }
        let plain = Table { jumbo: false, full_mtu: false };
        assert!((1..=1000u64).all(|row| plain.row(row as usize).bits_per_second() == row * 1_000_000));
    }

    #[test]
    fn rows_grow_and_can_be_sent() {
        for table in tables() {
            let rates: Vec<u64> = (0..table.rows()).map(|row| table.row(row).bits_per_second()).collect();
            assert!(rates.windows(2).all(|pair| pair[0] <= pair[1]), "{table:?}");
            assert!((0..table.rows()).all(|row| table.row(row).can_be_sent()));
            assert_eq!(table.row(usize::MAX), table.row(table.rows() - 1));
            assert!(rates[table.rows() - 1] >= 10_000_000_000, "{:?}", rates.last());
        }
        assert!(Table { jumbo: true, full_mtu: false }.row(1152).bits_per_second() > 70_000_000_000);
    }

    #[test]
    fn what_no_host_can_send_is_refused() {
        let fine = Table { jumbo: true, full_mtu: false }.row(500);
        assert!(fine.can_be_sent());
        assert!(!Rate { interval_1: 1, ..fine }.can_be_sent());
        assert!(!Rate { interval_2: u32::MAX, ..fine }.can_be_sent());
        assert!(!Rate { burst_1: 101, ..fine }.can_be_sent());
        assert!(!Rate { payload_2: 9001, ..fine }.can_be_sent());
        assert!(!Rate { addition_2: RANDOM | 9001, ..fine }.can_be_sent());
    }

    #[test]
    fn payloads_have_room_for_their_head() {
        assert_eq!(Rate::payload(1222, 5, false), 1222);
        assert_eq!(Rate::payload(1222, 5, true), 1202);
        assert_eq!(Rate::payload(3, 5, true), 32);
        let random: Vec<u32> = (0..5000).map(|n| Rate::payload(1222 | RANDOM, n, false)).collect();
        assert_eq!((random.iter().min(), random.iter().max()), (Some(&32), Some(&1222)));
    }
}
