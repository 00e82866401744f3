//! Loss, order and jitter of a UDP stream. Other than in iperf3, a packet that comes twice does not make up for one that is
//! lost, and what is lost at the end is lost, too.

use units::Nanos;

/// Number of latest packets of which it is known whether they came.
const WINDOW: u64 = 8192;

/// Statistics of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Heard {
    /// Packets that came, each counted once.
    pub packets: u64,
    /// Highest number.
    pub highest: u64,
    /// Packets that came after one with a higher number.
    pub reordered: u64,
    /// Packets that came before.
    pub duplicates: u64,
    /// Mean deviation of the time under way, seconds (RFC 3550 section 6.4.1).
    pub jitter_s: f64,
}

impl Heard {
    /// Packets that did not come, of those up to the highest number.
    pub fn lost(&self) -> u64 {
        self.highest.saturating_sub(self.packets)
    }
}

/// Takes the packets of a stream.
#[derive(Debug, Clone)]
pub struct Arrivals {
    heard: Heard,
    transit: Option<i64>,
    came: Box<[u64; (WINDOW / 64) as usize]>,
}

impl Default for Arrivals {
    fn default() -> Self {
        Self { heard: Heard::default(), transit: None, came: Box::new([0; (WINDOW / 64) as usize]) }
    }
}

impl Arrivals {
    /// Statistics so far.
    pub fn heard(&self) -> Heard {
        self.heard
    }

    /// A packet with this number, or with these low 32 bits of it.
    pub fn take(&mut self, number: u64, wide: bool, sent: Nanos, now: Nanos) {
        let transit = now.0.wrapping_sub(sent.0).cast_signed();
        if let Some(last) = self.transit.replace(transit) {
            let deviation = transit.wrapping_sub(last).unsigned_abs() as f64 / 1e9;
            self.heard.jitter_s += (deviation - self.heard.jitter_s) / 16.0;
        }
        let highest = self.heard.highest;
        let number = if wide {
            number
        } else {
            // The number with these bits that is nearest to the highest one.
            highest.wrapping_add_signed((number as u32).wrapping_sub(highest as u32).cast_signed().into())
        };
        if number > highest {
            // What came a whole window ago says nothing of what is to come.
            for skipped in highest + 1..=number.min(highest.saturating_add(WINDOW)) {
                self.mark(skipped, false);
            }
            self.mark(number, true);
            self.heard.highest = number;
            self.heard.packets += 1;
        } else if number == 0 || highest - number >= WINDOW || self.has(number) {
            self.heard.duplicates += 1;
        } else {
            self.mark(number, true);
            self.heard.packets += 1;
            self.heard.reordered += 1;
        }
    }

    fn has(&self, number: u64) -> bool {
        let at = number % WINDOW;
        self.came[(at / 64) as usize] & (1 << (at % 64)) != 0
    }

    fn mark(&mut self, number: u64, came: bool) {
        let at = number % WINDOW;
        let word = &mut self.came[(at / 64) as usize];
        *word = if came { *word | (1 << (at % 64)) } else { *word & !(1 << (at % 64)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn of(numbers: impl IntoIterator<Item = u64>, wide: bool) -> Heard {
        let mut arrivals = Arrivals::default();
        numbers.into_iter().for_each(|n| arrivals.take(n, wide, Nanos(0), Nanos(0)));
        arrivals.heard()
    }

    #[test]
    fn a_packet_that_comes_twice_does_not_hide_a_loss() {
        let heard = of([1, 2, 2, 4, 4, 6, 5, 5], false);
        assert_eq!((heard.packets, heard.lost(), heard.reordered, heard.duplicates), (5, 1, 1, 3));
    }

    #[test]
    fn numbers_of_32_bits_go_on_behind_their_end() {
        let low = |n: u64| n & 0xffff_ffff;
        let mut arrivals = Arrivals::default();
        for number in [1 << 30, 2 << 30, 3 << 30, (4 << 30) - 1, 4 << 30, (4 << 30) + 1] {
            arrivals.take(low(number), false, Nanos(0), Nanos(0));
        }
        assert_eq!((arrivals.heard().highest, arrivals.heard().packets), ((4 << 30) + 1, 6));
    }

    #[test]
    fn jitter_is_that_of_rfc_3550() {
        let mut arrivals = Arrivals::default();
        arrivals.take(1, true, Nanos(0), Nanos(500));
        arrivals.take(2, true, Nanos(1_000), Nanos(1_500 + 1_600));
        assert!((arrivals.heard().jitter_s - 1.6e-6 / 16.0).abs() < 1e-15);
    }

    proptest! {
        #[test]
        fn each_packet_counts_once(numbers in prop::collection::vec(1u64..6_000, 0..4_000)) {
            let heard = of(numbers.iter().copied(), true);
            let distinct: HashSet<_> = numbers.iter().collect();
            prop_assert_eq!(heard.packets, distinct.len() as u64);
            prop_assert_eq!(heard.packets + heard.duplicates, numbers.len() as u64);
            prop_assert_eq!(heard.highest, numbers.iter().copied().max().unwrap_or(0));
        }

        #[test]
        fn any_numbers_are_taken(numbers in prop::collection::vec(any::<u64>(), 0..50), wide: bool) {
            let heard = of(numbers.iter().copied(), wide);
            prop_assert!(heard.packets + heard.duplicates == numbers.len() as u64);
        }
    }
}
