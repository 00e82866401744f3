//! Latencies as Prometheus counts them: in classic buckets with fixed bounds, and in native ones, whose bounds grow by the
//! same factor.
//!
//! Not here: the formats that they are written in.

use engine::Distribution;

/// Bounds of classic buckets, s: of links within a process up to paths around the world.
pub(crate) const BOUNDS: [f64; 24] = [
    1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5,
    1.0, 2.0, 5.0, 10.0, 20.0, 50.0,
];

/// Resolution of native buckets: each bound is 2^(2^-3) times the one below, 9% more.
pub(crate) const SCHEMA: i32 = 3;
const STEPS: f64 = (1 << SCHEMA) as f64;

/// Values in each classic bucket, not those below it, and last those above all bounds. A value counts below a bound if the
/// histogram's bucket that it is in begins there: bounds are off by no more than its width.
pub(crate) fn classic(latency: &Distribution) -> Vec<(f64, u64)> {
    let mut buckets: Vec<(f64, u64)> =
        BOUNDS.iter().copied().chain([f64::INFINITY]).map(|bound| (bound, 0)).collect();
    for (lowest, _, count) in &latency.buckets {
        let seconds = *lowest as f64 / 1e9;
        let place = BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len());
        buckets[place].1 += count;
    }
    buckets
}

/// Values in native buckets.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Native {
    /// Values that are zero.
    pub(crate) zeros: u64,
    /// Index and count of buckets with values, the lowest first. Bucket `i` ends at 2^(i / 2^[`SCHEMA`]) s.
    pub(crate) buckets: Vec<(i32, u64)>,
}

/// Values in native buckets, each by the middle of the histogram's bucket that it is in.
pub(crate) fn native(latency: &Distribution) -> Native {
    let mut native = Native::default();
    for (lowest, highest, count) in &latency.buckets {
        if *highest == 0 {
            native.zeros += count;
            continue;
        }
        let middle = (*lowest as f64 + *highest as f64) / 2e9;
        let index = (middle.log2() * STEPS).ceil() as i32;
        match native.buckets.last_mut() {
            Some((last, known)) if *last == index => *known += count,
            _ => native.buckets.push((index, *count)),
        }
    }
    native
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some() -> Distribution {
        let buckets = vec![
            (0, 0, 2),
            (900, 903, 3),
            (1_000, 1_003, 4),
            (1_990, 2_020, 5),
            (90_000_000_000, 91_000_000_000, 1),
        ];
        Distribution { count: 15, sum_ns: 1e5, buckets }
    }

    #[test]
    fn values_are_in_the_bucket_that_their_bound_closes() {
        let found = classic(&some());
        assert_eq!(found[..3], [(1e-6, 9), (2e-6, 5), (5e-6, 0)]);
        assert_eq!(found.last(), Some(&(f64::INFINITY, 1)));
        assert_eq!(found.iter().map(|(_, count)| count).sum::<u64>(), 15);
    }

    #[test]
    fn native_buckets_have_bounds_that_grow_by_one_factor() {
        let found = native(&some());
        assert_eq!(found.zeros, 2);
        assert_eq!(found.buckets.iter().map(|(_, count)| count).sum::<u64>() + found.zeros, 15);
        for ((index, _), (lowest, highest, _)) in found.buckets.iter().zip(&some().buckets[1..]) {
            let [below, end] = [index - 1, *index].map(|index| 2f64.powf(f64::from(index) / STEPS));
            let middle = (*lowest + *highest) as f64 / 2e9;
            assert!(below < middle && middle <= end, "{below} {middle} {end}");
        }
    }
}
