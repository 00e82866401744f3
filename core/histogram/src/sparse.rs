//! Histograms that take little memory: of sums over many streams, each of which uses few of the buckets.

use crate::Scale;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A histogram that keeps only the buckets from the lowest to the highest in use. It grows as it is added to, so it is for
/// sums, not for a worker's loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct SparseHistogram {
    scale: Scale,
    /// Bucket of the first count.
    first: usize,
    counts: Vec<u64>,
    total: u64,
}

/// A histogram as it is written: all counts from the first bucket in use on.
#[derive(Serialize, Deserialize)]
struct Written {
    /// Digits of the scale.
    bits: u32,
    first: usize,
    counts: Vec<u64>,
}

impl From<SparseHistogram> for Written {
    fn from(histogram: SparseHistogram) -> Self {
        Self { bits: histogram.scale.bits, first: histogram.first, counts: histogram.counts }
    }
}

impl TryFrom<Written> for SparseHistogram {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let scales = [Scale::FINE, Scale::MEDIUM, Scale::COARSE];
        let scale = scales.into_iter().find(|scale| scale.bits == written.bits).ok_or("unknown scale")?;
        let end = written.first.checked_add(written.counts.len()).ok_or("bucket out of range")?;
        if end > scale.buckets() {
            return Err("bucket out of range");
        }
        let total =
            written.counts.iter().try_fold(0u64, |sum, n| sum.checked_add(*n)).ok_or("count too large")?;
        Ok(Self { scale, first: written.first, counts: written.counts, total })
    }
}

impl SparseHistogram {
    /// An empty histogram.
    pub fn new(scale: Scale) -> Self {
        Self { scale, first: 0, counts: Vec::new(), total: 0 }
    }

    /// Adds to a bucket's count. Many buckets are cheaper to add to if they were covered.
    pub fn add(&mut self, bucket: usize, count: u64) {
        self.cover(bucket..bucket + 1);
        self.counts[bucket - self.first] += count;
        self.total += count;
    }

    /// Adds another histogram of the same scale.
    ///
    /// # Panics
    /// If the scales differ.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.scale, other.scale, "histograms of different scales can't be merged");
        if other.counts.is_empty() {
            return;
        }
        self.cover(other.first..other.first + other.counts.len());
        for (mine, theirs) in self.counts[other.first - self.first..].iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
    }

    /// Makes room for some buckets, which are at least one.
    pub fn cover(&mut self, Range { start: first, end }: Range<usize>) {
        if self.counts.is_empty() {
            self.first = first;
        } else if first < self.first {
            self.counts.splice(0..0, std::iter::repeat_n(0, self.first - first));
            self.first = first;
        }
        if end - self.first > self.counts.len() {
            self.counts.reserve_exact(end - self.first - self.counts.len());
            self.counts.resize(end - self.first, 0);
        }
    }

    /// Forgets everything counted; keeps its memory.
    pub fn clear(&mut self) {
        self.counts.clear();
        self.total = 0;
    }

    /// The scale.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Buckets with values, the lowest first: lowest value, highest value, and how many there are.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let counted = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counted.map(|(index, count)| {
            let bucket = self.first + index;
            let lowest = bucket.checked_sub(1).map_or(0, |below| self.scale.highest(below) + 1);
            (lowest, self.scale.highest(bucket), *count)
        })
    }

    /// Values counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The smallest bucket end that at least a share `q` (0 to 1) of the values does not exceed; `None` if empty.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let rank = ((q * self.total as f64).ceil() as u64).clamp(1, self.total.max(1));
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Some(self.scale.highest(self.first + index));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CEILING_BITS, Histogram};
    use proptest::prelude::*;

    fn add(to: &mut SparseHistogram, values: &[u64]) {
        values.iter().for_each(|value| to.add(Scale::COARSE.index(*value), 1));
    }

    #[test]
    fn it_keeps_what_is_in_use() {
        let mut sum = SparseHistogram::new(Scale::COARSE);
        assert_eq!((sum.quantile(0.5), sum.counts.len()), (None, 0));
        add(&mut sum, &[1_000_000, 1_100_000]);
        assert!(sum.counts.len() < 8 && sum.total() == 2);
        sum.clear();
        assert_eq!((sum.quantile(1.0), sum.total()), (None, 0));
    }

    #[test]
    fn a_damaged_one_is_refused() {
        let read = |text: &str| serde_json::from_str::<SparseHistogram>(text);
        assert_eq!(read(r#"{"bits": 6, "first": 2, "counts": [1, 2]}"#).unwrap().total(), 3);
        for wrong in [
            r#"{"bits": 7, "first": 2, "counts": [1]}"#,
            r#"{"bits": 6, "first": 1023, "counts": [1, 1]}"#,
            r#"{"bits": 6, "first": 18446744073709551615, "counts": [1]}"#,
            r#"{"bits": 6, "first": 0, "counts": [18446744073709551615, 1]}"#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        /// For any values added in any order, it equals a histogram with all buckets.
        #[test]
        fn it_is_a_histogram(parts in proptest::collection::vec(
            proptest::collection::vec(0u64..1 << CEILING_BITS, 0..20), 0..6)) {
            let mut all = Histogram::new(Scale::COARSE);
            let (mut added, mut merged) = (SparseHistogram::new(Scale::COARSE), SparseHistogram::new(Scale::COARSE));
            for values in &parts {
                values.iter().for_each(|value| all.record(*value));
                add(&mut added, values);
                let mut part = SparseHistogram::new(Scale::COARSE);
                add(&mut part, values);
                // As another machine's, which has been written and read.
                let part: SparseHistogram = serde_json::from_str(&serde_json::to_string(&part).unwrap()).unwrap();
                merged.merge(&part);
            }
            prop_assert_eq!(&added, &merged);
            prop_assert_eq!(added.total(), all.total());
            prop_assert_eq!(added.buckets().map(|(_, _, count)| count).sum::<u64>(), all.total());
            for value in parts.iter().flatten() {
                prop_assert!(added.buckets().any(|(lowest, highest, _)| (lowest..=highest).contains(value)));
            }
            for q in [0.0, 0.1, 0.5, 0.99, 1.0] {
                prop_assert_eq!(added.quantile(q), all.quantile(q));
            }
        }
    }
}
