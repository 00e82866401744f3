//! Histograms that take little memory: of sums over many streams, each of which uses few of the buckets.

use crate::Scale;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Buckets up to which a histogram lists them one by one.
const FEW_MAX: usize = 32;

/// A histogram that keeps only the buckets in use while they are few, and after that all from the lowest to the highest in use. It
/// grows as it is added to, so it is for sums, not for a worker's loop.
///
/// How it keeps its counts follows from these alone, so two with the same counts are equal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct SparseHistogram {
    scale: Scale,
    counts: Counts,
    total: u64,
}

/// Counts of buckets. They only grow: few become a range, and a range stays one.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Counts {
    /// At most [`FEW_MAX`] buckets and their counts, none of which is 0, in the order of the buckets.
    Few(Vec<(u16, u32)>),
    /// All counts from the bucket `first` on. Those of the first and the last bucket are not 0.
    Range { first: usize, counts: Vec<u64> },
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
        let (first, counts) = histogram.counts.into_range();
        Self { bits: histogram.scale.bits, first, counts }
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
        let mut counts = Counts::Few(Vec::new());
        (written.first..).zip(written.counts).for_each(|(bucket, count)| counts.add(bucket, count));
        Ok(Self { scale, counts, total })
    }
}

impl Counts {
    fn add(&mut self, bucket: usize, count: u64) {
        if count == 0 {
            return;
        }
        if let Self::Few(few) = self {
            if add_to_few(few, bucket, count) {
                return;
            }
            self.spread();
        }
        if let Self::Range { first, counts } = self {
            let spare = counts.len() / 8;
            cover(first, counts, bucket..bucket + 1, spare);
            counts[bucket - *first] += count;
        }
    }

    /// Becomes a range.
    fn spread(&mut self) {
        if let Self::Few(few) = self {
            let (first, counts) = Self::Few(std::mem::take(few)).into_range();
            *self = Self::Range { first, counts };
        }
    }

    /// The first bucket, and all counts from there on.
    fn into_range(self) -> (usize, Vec<u64>) {
        let few = match self {
            Self::Range { first, counts } => return (first, counts),
            Self::Few(few) => few,
        };
        let (Some((first, _)), Some((last, _))) = (few.first(), few.last()) else { return (0, Vec::new()) };
        let mut counts = vec![0; usize::from(last - first) + 1];
        few.iter().for_each(|(bucket, count)| counts[usize::from(bucket - first)] = u64::from(*count));
        (usize::from(*first), counts)
    }

    /// Buckets with values and their counts, the lowest first.
    fn each(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let (few, first, range) = match self {
            Self::Few(few) => (&few[..], 0, &[][..]),
            Self::Range { first, counts } => (&[][..], *first, &counts[..]),
        };
        let few = few.iter().map(|(bucket, count)| (usize::from(*bucket), u64::from(*count)));
        few.chain((first..).zip(range.iter().copied()).filter(|(_, count)| *count > 0))
    }
}

/// Adds to a bucket's count; whether there is room for it.
fn add_to_few(few: &mut Vec<(u16, u32)>, bucket: usize, count: u64) -> bool {
    let (Ok(bucket), Ok(count)) = (u16::try_from(bucket), u32::try_from(count)) else { return false };
    match few.binary_search_by_key(&bucket, |(bucket, _)| *bucket) {
        Ok(at) => few[at].1.checked_add(count).map(|sum| few[at].1 = sum).is_some(),
        Err(_) if few.len() == FEW_MAX => false,
        Err(at) => {
            few.insert(at, (bucket, count));
            true
        }
    }
}

/// Makes room for some buckets, which are at least one. Where that takes memory, it is enough for `spare` more, and not for twice
/// as many: there can be very many histograms.
fn cover(first: &mut usize, counts: &mut Vec<u64>, buckets: Range<usize>, spare: usize) {
    if counts.is_empty() {
        *first = buckets.start;
    }
    let (start, end) = (buckets.start.min(*first), buckets.end.max(*first + counts.len()));
    let more = end - start - counts.len();
    if more > counts.capacity() - counts.len() {
        counts.reserve_exact(more + spare);
    }
    if start < *first {
        counts.splice(0..0, std::iter::repeat_n(0, *first - start));
        *first = start;
    }
    counts.resize(end - start, 0);
}

impl SparseHistogram {
    /// An empty histogram.
    pub fn new(scale: Scale) -> Self {
        Self { scale, counts: Counts::Few(Vec::new()), total: 0 }
    }

    /// Adds to a bucket's count. Many buckets are cheaper to add to if they were covered.
    pub fn add(&mut self, bucket: usize, count: u64) {
        self.counts.add(bucket, count);
        self.total += count;
    }

    /// Adds another histogram of the same scale.
    ///
    /// # Panics
    /// If the scales differ.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.scale, other.scale, "histograms of different scales can't be merged");
        if let Counts::Range { first, counts } = &other.counts {
            self.counts.spread();
            self.cover(*first..*first + counts.len());
        }
        other.counts.each().for_each(|(bucket, count)| self.counts.add(bucket, count));
        self.total += other.total;
    }

    /// Makes room for some buckets, which are at least one and of which the first and the last will be added to. While there are
    /// few, nothing needs room.
    pub fn cover(&mut self, buckets: Range<usize>) {
        if let Counts::Range { first, counts } = &mut self.counts {
            cover(first, counts, buckets, 0);
        }
    }

    /// Forgets everything counted.
    pub fn clear(&mut self) {
        match &mut self.counts {
            Counts::Few(few) => few.clear(),
            Counts::Range { .. } => self.counts = Counts::Few(Vec::new()),
        }
        self.total = 0;
    }

    /// The scale.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Buckets with values, the lowest first: lowest value, highest value, and how many there are.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.counts.each().map(|(bucket, count)| {
            let lowest = bucket.checked_sub(1).map_or(0, |below| self.scale.highest(below) + 1);
            (lowest, self.scale.highest(bucket), count)
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
        self.counts.each().find_map(|(bucket, count)| {
            seen += count;
            (seen >= rank).then(|| self.scale.highest(bucket))
        })
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
        assert_eq!((sum.quantile(0.5), sum.total()), (None, 0));
        add(&mut sum, &[1_000_000, 1_100_000, 1_000_000]);
        assert!(matches!(&sum.counts, Counts::Few(few) if few.len() == 2) && sum.total() == 3);
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

    #[test]
    fn many_buckets_and_large_counts_become_a_range() {
        let mut many = SparseHistogram::new(Scale::COARSE);
        (0..FEW_MAX).rev().for_each(|n| many.add(3 * n, 1));
        assert!(matches!(many.counts, Counts::Few(_)));
        let mut large = many.clone();
        many.add(3 * FEW_MAX, 1);
        large.add(30, u64::from(u32::MAX));
        for (histogram, buckets, most) in [(many, FEW_MAX + 1, 1), (large, FEW_MAX, 1 << 32)] {
            assert!(matches!(&histogram.counts, Counts::Range { first: 0, .. }));
            assert_eq!(
                (histogram.buckets().count(), histogram.total()),
                (buckets, most + buckets as u64 - 1)
            );
            assert_eq!(histogram.buckets().map(|(_, _, count)| count).max(), Some(most));
            let text = serde_json::to_string(&histogram).unwrap();
            assert_eq!(serde_json::from_str::<SparseHistogram>(&text).unwrap(), histogram);
            let mut sum = SparseHistogram::new(Scale::COARSE);
            sum.merge(&histogram);
            assert_eq!(sum, histogram);
        }
    }

    #[test]
    fn a_range_takes_little_more_memory_than_its_buckets() {
        let room = |histogram: &SparseHistogram| match &histogram.counts {
            Counts::Few(_) => panic!("few"),
            Counts::Range { counts, .. } => (counts.len(), counts.capacity()),
        };
        for upwards in [true, false] {
            let mut added = SparseHistogram::new(Scale::COARSE);
            for n in 0..200 {
                added.add(if upwards { 500 + n } else { 700 - n }, 1);
                if n >= FEW_MAX {
                    let (buckets, memory) = room(&added);
                    assert!(buckets == n + 1 && memory <= buckets + buckets / 8, "{n}: {memory}");
                }
            }
            let mut merged = SparseHistogram::new(Scale::COARSE);
            merged.merge(&added);
            assert_eq!(room(&merged), (200, 200));
            merged.cover(300..801);
            assert_eq!(room(&merged).1, 501);
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
