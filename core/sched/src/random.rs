//! Departures with drawn gaps: [`Pace::Poisson`] and [`Pace::Gaps`].
//!
//! Gap *j* is a function of the seed and *j*, in integers only, so every machine and every worker draws the same. Times
//! are sums: a worker adds up the gaps of the others, too.
//!
//! [`Pace::Poisson`]: crate::Pace::Poisson
//! [`Pace::Gaps`]: crate::Pace::Gaps

use crate::exact::{GAP_SCALE, narrow};
use crate::load::GapOrder;
use std::sync::Arc;
use units::{Nanos, Pps};

/// Draw `index` of `key`.
#[inline(always)]
fn draw(key: u64, index: u64) -> u64 {
    random::word(key, index.wrapping_add(1))
}

/// Initial state of the draws of a seed in loop `round` of a chain. Neighbouring seeds are unrelated.
fn key(seed: u64, round: u64) -> u64 {
    random::mix(seed ^ random::mix(round))
}

/// Bits after the point of the logarithms below.
const LOG_BITS: u32 = 60;
const LN_2: u64 = ln_ratio(2, 1);

/// Reciprocals of the middles of 256 parts of [1, 2), with 32 bits after the point, and their negative logarithms.
static RECIPROCALS: [(u64, u64); 256] = reciprocals();

/// ln(num / den), for a ratio from 1 to 2: 2·artanh((num − den) / (num + den)).
const fn ln_ratio(num: u128, den: u128) -> u64 {
    let z = ((num - den) << LOG_BITS) / (num + den);
    let square = (z * z) >> LOG_BITS;
    let (mut power, mut sum, mut n) = (z, 0, 1);
    while power > 0 {
        sum += power / n;
        power = (power * square) >> LOG_BITS;
        n += 2;
    }
    (2 * sum) as u64
}

const fn reciprocals() -> [(u64, u64); 256] {
    let mut table = [(0, 0); 256];
    let mut i = 0;
    while i < 256 {
        let reciprocal = (1u64 << 41) / (512 + 2 * i as u64 + 1);
        table[i] = (reciprocal, ln_ratio(1 << 32, reciprocal as u128));
        i += 1;
    }
    table
}

/// −ln(`u` / 2^64) with 56 bits after the point, right to 46 of them: exponentially distributed with mean 1 if `u` is
/// evenly distributed. At most 44.4.
#[inline(always)]
fn exponential(u: u64) -> u64 {
    let u = u | 1;
    let zeros = u.leading_zeros();
    let mantissa = u << zeros;
    // mantissa · reciprocal = 1 + r with |r| < 2^-8, 95 bits behind the point.
    let (reciprocal, log) = RECIPROCALS[(mantissa >> 55) as usize & 0xff];
    let r = ((u128::from(mantissa) * u128::from(reciprocal)) as i128 - (1 << 95)) >> (95 - LOG_BITS);
    let r = r as i64;
    let times_r = |n: i64| ((i128::from(n) * i128::from(r)) >> LOG_BITS) as i64;
    // ln(1 + r) = r − r²/2 + r³/3 − r⁴/4 …
    let (half, third, quarter) = (1i64 << (LOG_BITS - 1), (1i64 << LOG_BITS) / 3, 1i64 << (LOG_BITS - 2));
    let ln_1r = r - times_r(times_r(half - times_r(third - times_r(quarter))));
    let ln = u128::from(zeros + 1) * u128::from(LN_2) - (log as i64 + ln_1r).max(0) as u128;
    (ln >> (LOG_BITS - 56)) as u64
}

/// A Poisson process of groups.
#[derive(Debug, Clone)]
pub(crate) struct Poisson {
    seed: u64,
    key: u64,
    index: u64,
    /// Mean gap, ns, with as many bits after the point as leave it 64 in all, at most 32.
    mean: u64,
    /// From mean times draw to 32 bits after the point.
    shift: u32,
    /// When group `index` leaves, ns with 32 bits after the point.
    time: u128,
}

impl Poisson {
    pub(crate) fn new(rate: Pps, group: u32, seed: u64) -> Self {
        let (num, den) = (GAP_SCALE * u128::from(group), u128::from(rate.micro().max(1)));
        let whole_bits = 128 - (num / den).leading_zeros();
        let bits = 32u32.min(64u32.saturating_sub(whole_bits));
        // num has at most 82 bits.
        let mean = narrow((num << bits) / den);
        Self { seed, key: 0, index: 0, mean, shift: 56 + bits - 32, time: 0 }.begun(0)
    }

    /// At its first group, in loop `round` of its chain.
    pub(crate) fn begun(&self, round: u64) -> Self {
        let mut begun = Self { key: key(self.seed, round), index: 0, time: 0, ..*self };
        begun.time = begun.gap(0);
        begun
    }

    #[inline(always)]
    fn gap(&self, index: u64) -> u128 {
        (u128::from(exponential(draw(self.key, index))) * u128::from(self.mean)) >> self.shift
    }

    #[inline(always)]
    pub(crate) fn time(&self) -> u64 {
        narrow(self.time >> 32)
    }

    #[inline(always)]
    pub(crate) fn jump(&mut self, by: u64) {
        for _ in 0..by {
            self.index += 1;
            self.time += self.gap(self.index);
        }
    }
}

/// Gaps from a list.
#[derive(Debug, Clone)]
pub(crate) struct Gaps {
    gaps: Arc<[Nanos]>,
    /// Seed and key of the draws, if they are drawn.
    random: Option<(u64, u64)>,
    /// Whether there is any time in the list.
    moves: bool,
    /// Position in the list, or number of the draw, of the gap after the current packet.
    next: u64,
    time: u64,
}

impl Gaps {
    pub(crate) fn new(gaps: &Arc<[Nanos]>, order: GapOrder) -> Self {
        let random = match order {
            GapOrder::Sequential => None,
            GapOrder::Random { seed } => Some((seed, 0)),
        };
        let moves = gaps.iter().any(|gap| gap.0 > 0);
        Self { gaps: gaps.clone(), random, moves, next: 0, time: 0 }.begun(0)
    }

    /// At its first packet, in loop `round` of its chain.
    pub(crate) fn begun(&self, round: u64) -> Self {
        let random = self.random.map(|(seed, _)| (seed, key(seed, round)));
        Self { gaps: self.gaps.clone(), random, next: 0, time: 0, ..*self }
    }

    #[inline(always)]
    pub(crate) fn time(&self) -> u64 {
        self.time
    }

    #[inline(always)]
    pub(crate) fn jump(&mut self, by: u64) {
        if !self.moves && by > 0 {
            self.time = u64::MAX;
            return;
        }
        for _ in 0..by {
            let len = self.gaps.len() as u64;
            let place = match self.random {
                Some((_, key)) => ((u128::from(draw(key, self.next)) * u128::from(len)) >> 64) as u64,
                None => self.next,
            };
            self.time = self.time.saturating_add(self.gaps[place as usize].0);
            self.next += 1;
            if self.random.is_none() && self.next == len {
                self.next = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_right_to_forty_six_bits() {
        let edge = [1, 2, 3, 1 << 63, (1 << 63) - 1, u64::MAX, u64::MAX - 1, 0x8080_0000_0000_0000];
        let drawn = (0..100_000).map(|i| draw(7, i) >> (i % 64));
        for u in edge.into_iter().chain(drawn) {
            let u = u | 1;
            let exact = -(u as f64 / 2f64.powi(64)).ln();
            let ours = exponential(u) as f64 / 2f64.powi(56);
            assert!((exact - ours).abs() < 2e-14, "{u}: {exact} {ours}");
        }
        assert_eq!(LN_2 >> 10, (std::f64::consts::LN_2 * 2f64.powi(50)) as u64);
    }

    fn moments(values: impl Iterator<Item = f64>) -> (f64, f64) {
        let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for value in values {
            n += 1.0;
            sum += value;
            squares += value * value;
        }
        (sum / n, (squares / n - (sum / n) * (sum / n)).sqrt())
    }

    /// Gaps of an exponential distribution have a standard deviation equal to their mean.
    #[test]
    fn a_million_gaps_have_the_mean_and_the_deviation_of_the_process() {
        for (rate, seed) in [(1_000, 1), (3_000_000, 2), (50_000_000, u64::MAX)] {
            let poisson = Poisson::new(Pps::new(rate), 1, seed);
            let gaps = (0..1_000_000).map(|i| poisson.gap(i) as f64 / 2f64.powi(32));
            let (mean, deviation) = moments(gaps);
            let wanted = 1e9 / rate as f64;
            assert!((mean / wanted - 1.0).abs() < 0.01, "{mean} {wanted}");
            assert!((deviation / mean - 1.0).abs() < 0.01, "{deviation} {mean}");
        }
    }

    /// Kolmogorov–Smirnov: of n draws, none is further than 1.63/√n from the distribution, in 99 of 100 cases.
    #[test]
    fn gaps_are_exponentially_distributed_and_independent() {
        let key = key(42, 0);
        let n = 200_000u64;
        let mut draws: Vec<f64> = (0..n).map(|i| exponential(draw(key, i)) as f64 / 2f64.powi(56)).collect();
        let lagged = draws.windows(2).map(|w| (w[0] - 1.0) * (w[1] - 1.0)).sum::<f64>() / n as f64;
        assert!(lagged.abs() < 0.01, "neighbours hang together: {lagged}");
        draws.sort_by(f64::total_cmp);
        let worst =
            draws.iter().enumerate().map(|(i, x)| (1.0 - (-x).exp() - (i as f64 + 0.5) / n as f64).abs());
        let worst = worst.fold(0.0, f64::max);
        assert!(worst < 1.63 / (n as f64).sqrt(), "{worst}");
    }

    #[test]
    fn the_slowest_rates_keep_their_mean() {
        for (micro, group) in [(1, 1), (1_000, 1_000), (1, u32::MAX)] {
            let poisson = Poisson::new(Pps::from_micro(micro), group, 5);
            let (mean, _) = moments((0..100_000).map(|i| poisson.gap(i) as f64 / 2f64.powi(32)));
            let wanted = 1e15 * f64::from(group) / micro as f64;
            let wanted = wanted.min(u64::MAX as f64);
            assert!((mean / wanted - 1.0).abs() < 0.02, "{mean} {wanted}");
        }
    }

    #[test]
    fn random_gaps_are_drawn_evenly_from_the_list() {
        let list: Arc<[Nanos]> = [10, 20, 60].map(Nanos).into();
        let mut gaps = Gaps::new(&list, GapOrder::Random { seed: 3 });
        let mut drawn = [0u32; 3];
        for _ in 0..30_000 {
            let before = gaps.time();
            gaps.jump(1);
            let gap = gaps.time() - before;
            drawn[list.iter().position(|g| g.0 == gap).expect("from the list")] += 1;
        }
        assert!(drawn.iter().all(|n| n.abs_diff(10_000) < 300), "{drawn:?}");
    }
}
