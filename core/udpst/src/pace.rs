//! When bursts are due, and what is in them.

use crate::rate::Rate;
use units::Nanos;

/// Bursts that are later than this are not made up for: load would come in heaps.
const MOST_LATE: Nanos = Nanos(10_000_000);

/// Equal datagrams that are due now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// Octets of payload of each.
    pub payload: u32,
    /// Number of them.
    pub count: u32,
}

/// Two senders with a burst every so often.
#[derive(Debug, Clone)]
pub struct Pace {
    rate: Rate,
    is_v6: bool,
    next: [Nanos; 2],
    random: u32,
    /// Bursts that were due, and those that were skipped.
    due: u64,
    given_up: u64,
}

impl Pace {
    /// Begins at `now`.
    pub fn new(rate: Rate, is_v6: bool, now: Nanos) -> Self {
        Self { rate, is_v6, next: [now; 2], random: 0x9e37_79b9, due: 0, given_up: 0 }
    }

    /// Goes on with another rate; a sender that was off begins.
    pub fn set(&mut self, rate: Rate, now: Nanos) {
        if rate != self.rate {
            let before = [self.rate.interval_1, self.rate.interval_2];
            let after = [rate.interval_1, rate.interval_2];
            for (place, next) in self.next.iter_mut().enumerate() {
                if before[place] != after[place] {
                    *next = now;
                }
            }
            self.rate = rate;
        }
    }

    /// Bursts due at `now`, in `bursts`.
    pub fn take(&mut self, now: Nanos, bursts: &mut Vec<Burst>) {
        bursts.clear();
        let Rate { interval_1, payload_1, burst_1, interval_2, payload_2, burst_2, addition_2 } = self.rate;
        let first = self.passed(0, interval_1, now);
        let random = self.random();
        let payload = Rate::payload(payload_1, random, self.is_v6);
        push(bursts, Burst { payload, count: first * burst_1 });
        for _ in 0..self.passed(1, interval_2, now) {
            let random = self.random();
            push(bursts, Burst { payload: Rate::payload(payload_2, random, self.is_v6), count: burst_2 });
            let payload = Rate::payload(addition_2, random, self.is_v6);
            push(bursts, Burst { payload, count: u32::from(addition_2 != 0) });
        }
    }

    /// When something is due next.
    pub fn next(&self) -> Nanos {
        let of = |place: usize, interval: u32| if interval == 0 { Nanos::MAX } else { self.next[place] };
        of(0, self.rate.interval_1).min(of(1, self.rate.interval_2))
    }

    /// The share of bursts that were skipped, because their time had passed when this host got to them.
    pub fn given_up_ratio(&self) -> f64 {
        self.given_up as f64 / self.due.max(1) as f64
    }

    /// Bursts of a sender that are due.
    fn passed(&mut self, place: usize, interval: u32, now: Nanos) -> u32 {
        let (step, next) = (u64::from(interval) * 1000, &mut self.next[place]);
        if step == 0 || now < *next {
            return 0;
        }
        let passed = (now.0 - next.0) / step + 1;
        next.0 += passed * step;
        let most = (MOST_LATE.0 / step).max(1);
        self.due += passed;
        self.given_up += passed.saturating_sub(most);
        passed.min(most) as u32
    }

    /// Lengths need no better numbers (xorshift).
    fn random(&mut self) -> u32 {
        let mut next = self.random;
        next ^= next << 13;
        next ^= next >> 17;
        next ^= next << 5;
        self.random = next;
        next
    }
}

/// Equal ones that follow each other are one burst.
fn push(bursts: &mut Vec<Burst>, burst: Burst) {
    match bursts.last_mut() {
        _ if burst.count == 0 => {}
        Some(last) if last.payload == burst.payload => last.count += burst.count,
        _ => bursts.push(burst),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::Table;

    const TABLE: Table = Table { jumbo: false, full_mtu: false };

    /// Bits per second at the IP layer over this number of polls, `step` apart.
    fn sent(rate: Rate, step: u64, looks: u64) -> u64 {
        let (mut pace, mut bursts, mut bytes) = (Pace::new(rate, false, Nanos(0)), Vec::new(), 0);
        for look in 0..looks {
            pace.take(Nanos(look * step), &mut bursts);
            bytes += bursts
                .iter()
                .map(|burst| u64::from(burst.payload + 28) * u64::from(burst.count))
                .sum::<u64>();
            assert!(pace.next() > Nanos(look * step));
        }
        bytes * 8 * 1_000_000_000 / (step * looks)
    }

    #[test]
    fn a_row_is_sent_however_often_somebody_looks() {
        for megabits in [1, 9, 123, 999] {
            for step in [50_000, 100_000, 1_000_000, 7_000_000] {
                let bits = sent(TABLE.row(megabits), step, 2_000_000_000 / step);
                let wanted = megabits as u64 * 1_000_000;
                assert!(bits.abs_diff(wanted) <= wanted / 100, "{megabits} Mbit/s, {step} ns: {bits}");
            }
        }
    }

    #[test]
    fn what_is_too_late_is_given_up() {
        let mut pace = Pace::new(TABLE.row(100), false, Nanos(0));
        let mut bursts = Vec::new();
        pace.take(Nanos(0), &mut bursts);
        assert_eq!((bursts.clone(), pace.given_up_ratio()), (vec![Burst { payload: 1222, count: 1 }], 0.0));
        pace.take(Nanos(1_000_000_000), &mut bursts);
        assert_eq!(bursts, [Burst { payload: 1222, count: 100 }]);
        assert!(pace.given_up_ratio() > 0.98, "{}", pace.given_up_ratio());
    }

    #[test]
    fn another_rate_begins_at_once() {
        let mut pace = Pace::new(TABLE.row(0), false, Nanos(0));
        let mut bursts = Vec::new();
        pace.take(Nanos(0), &mut bursts);
        assert_eq!((bursts.len(), pace.next()), (1, Nanos(50_000_000)));
        pace.set(TABLE.row(10), Nanos(1_000_000));
        pace.take(Nanos(1_000_000), &mut bursts);
        assert_eq!(
            (bursts.clone(), pace.next()),
            (vec![Burst { payload: 1222, count: 1 }], Nanos(2_000_000))
        );
        pace.set(Rate::default(), Nanos(2_000_000));
        assert_eq!(pace.next(), Nanos::MAX);
    }
}
