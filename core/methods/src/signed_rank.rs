//! Wilcoxon's signed-rank interval: between which bounds the typical difference of pairs lies, and how sure that is.
//!
//! Rests on one assumption: differences are as likely to lie so far above their centre as below it. Pairs whose order
//! is drawn at random make that true if both sides are alike, regardless of disturbances. A few wild pairs move the
//! interval little, as it is made of ranks.
//!
//! Source: Hollander, Wolfe, Chicken, Nonparametric Statistical Methods, 3rd edition, sections 3.1 to 3.3 (exact distribution,
//! Hodges-Lehmann estimate, Tukey's interval).

use serde::{Deserialize, Serialize};

/// Pairs above which the exact distribution would take seconds.
pub(crate) const PAIRS_MAX: usize = 400;

/// An estimate with its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// The Hodges-Lehmann estimate: the median of the means of all two differences.
    pub estimate: f64,
    /// Smallest difference that the pairs do not contradict; minus infinity of too few pairs.
    pub lower: f64,
    /// Largest difference that the pairs do not contradict; infinity of too few pairs.
    pub upper: f64,
}

/// Smallest number of pairs whose interval has ends if it is to be wrong in a share of `alpha` of all cases at most.
pub(crate) fn pairs_needed(alpha: f64) -> usize {
    (1..=PAIRS_MAX).find(|pairs| 0.5f64.powi(*pairs as i32) <= alpha / 2.0).unwrap_or(PAIRS_MAX)
}

/// The interval that holds the centre of `differences` except in a share of `alpha` of all cases. `None` without differences,
/// and of more than 400.
pub fn bounds(differences: &[f64], alpha: f64) -> Option<Bounds> {
    let n = differences.len();
    if n == 0 || n > PAIRS_MAX || differences.iter().any(|difference| !difference.is_finite()) {
        return None;
    }
    let mut means: Vec<f64> = Vec::with_capacity(n * (n + 1) / 2);
    for (index, one) in differences.iter().enumerate() {
        means.extend(differences[index..].iter().map(|other| (one + other) / 2.0));
    }
    means.sort_unstable_by(f64::total_cmp);
    let (low, high) = (means[(means.len() - 1) / 2], means[means.len() / 2]);
    let estimate = (low + high) / 2.0;
    Some(match critical(n, alpha / 2.0) {
        None => Bounds { estimate, lower: f64::NEG_INFINITY, upper: f64::INFINITY },
        Some(rank) => Bounds { estimate, lower: means[rank], upper: means[means.len() - 1 - rank] },
    })
}

/// The largest rank sum that `n` pairs fall to or below with a probability of at most `tail` if their centre is zero; `None` if
/// none is so unlikely.
fn critical(n: usize, tail: f64) -> Option<usize> {
    let largest = n * (n + 1) / 2;
    // Probability of each rank sum: every rank is in it or not, with equal chances.
    let mut chances = vec![0.0f64; largest + 1];
    chances[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..=rank * (rank + 1) / 2).rev() {
            let with = if sum >= rank { chances[sum - rank] } else { 0.0 };
            chances[sum] = (chances[sum] + with) / 2.0;
        }
    }
    let mut below = 0.0;
    let mut found = None;
    for (sum, chance) in chances.iter().enumerate() {
        below += chance;
        if below > tail {
            break;
        }
        found = Some(sum);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table A.4 of Hollander, Wolfe, Chicken: for n = 10, P(T ≤ 8) = 0.024 and P(T ≤ 3) = 0.005; for n = 20, P(T ≤ 52) = 0.024.
    #[test]
    fn critical_values_are_those_of_the_tables() {
        assert_eq!(critical(10, 0.025), Some(8));
        assert_eq!(critical(10, 0.005), Some(3));
        assert_eq!(critical(20, 0.025), Some(52));
        assert_eq!(critical(5, 0.025), None);
        assert_eq!((pairs_needed(0.05), pairs_needed(0.002)), (6, 10));
    }

    #[test]
    fn the_interval_is_made_of_means_of_two_differences() {
        let found = bounds(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.05).unwrap();
        assert_eq!((found.estimate, found.lower, found.upper), (3.5, 1.0, 6.0));
        let few = bounds(&[1.0, 2.0], 0.05).unwrap();
        assert_eq!((few.estimate, few.lower, few.upper), (1.5, f64::NEG_INFINITY, f64::INFINITY));
        assert_eq!((bounds(&[], 0.05), bounds(&[f64::NAN], 0.05)), (None, None));
        let equal = bounds(&[0.25; 12], 0.01).unwrap();
        assert_eq!((equal.estimate, equal.lower, equal.upper), (0.25, 0.25, 0.25));
    }

    /// Of 2,000 samples with a known centre, about as many intervals miss it as they may.
    #[test]
    fn intervals_hold_the_centre_as_often_as_they_should() {
        let mut missed = 0;
        for sample in 0..2000u64 {
            let key = random::key(sample);
            let draw = |n| (random::word(key, n) >> 11) as f64 / (1u64 << 53) as f64;
            // Heavy tails: one difference in ten is twenty times as far off.
            let differences: Vec<f64> = (0..14)
                .map(|n| {
                    let size = if draw(3 * n) < 0.1 { 20.0 } else { 1.0 };
                    3.0 + size * (draw(3 * n + 1) - 0.5)
                })
                .collect();
            let found = bounds(&differences, 0.05).unwrap();
            missed += u32::from(!(found.lower <= 3.0 && 3.0 <= found.upper));
        }
        assert!((50..=120).contains(&missed), "{missed} of 2000");
    }
}
