//! Actual evenness of departures.

use histogram::{Histogram, Scale};
use units::Nanos;

/// Departures of one stream compared with their schedule.
///
/// The error of a gap is the difference between the time from one departure to the next and the time the schedule put
/// between them. Two departures in one instant that were due apart are *back to back*.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pacing {
    last_due: Nanos,
    last_departure: Nanos,
    started: bool,
}

/// Gap errors and lateness of the streams that share it. Merging adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacingRecord {
    /// Absolute gap errors, ns.
    pub errors: Histogram,
    /// Gaps of which nothing was left though the schedule had one.
    pub back_to_back: u64,
    /// Longest time from due to departure, ns.
    pub late_max: u64,
}

/// Resolution of gap errors.
const SCALE: Scale = Scale::COARSE;

/// The bucket of the last gap error: errors of a burst are often equal. Initially the first.
#[derive(Debug, Clone, Copy, Default)]
pub struct ErrorBucket {
    error: u64,
    bucket: usize,
}

impl ErrorBucket {
    #[inline(always)]
    fn of(&mut self, error: u64) -> usize {
        if self.error != error {
            *self = Self { error, bucket: SCALE.index(error) };
        }
        self.bucket
    }
}

impl Default for PacingRecord {
    fn default() -> Self {
        Self { errors: Histogram::new(SCALE), back_to_back: 0, late_max: 0 }
    }
}

impl PacingRecord {
    /// Adds another record.
    pub fn merge(&mut self, other: &Self) {
        self.errors.merge(&other.errors);
        self.back_to_back += other.back_to_back;
        self.late_max = self.late_max.max(other.late_max);
    }

    /// Forgets everything recorded.
    pub fn clear(&mut self) {
        self.errors.clear();
        (self.back_to_back, self.late_max) = (0, 0);
    }

    /// Share of gaps that were back to back; `None` if there was no gap.
    pub fn back_to_back_ratio(&self) -> Option<f64> {
        (self.errors.total() > 0).then(|| self.back_to_back as f64 / self.errors.total() as f64)
    }
}

impl Pacing {
    /// Notes that a packet due at `due` left at `departure`. `last` is that of the packet before, of any stream.
    #[inline(always)]
    pub fn departed(
        &mut self,
        due: Nanos,
        departure: Nanos,
        record: &mut PacingRecord,
        last: &mut ErrorBucket,
    ) {
        record.late_max = record.late_max.max(departure.since(due).0);
        if self.started {
            let planned = due.since(self.last_due).0;
            let actual = departure.since(self.last_departure).0;
            record.errors.record_at(last.of(actual.abs_diff(planned)));
            record.back_to_back += u64::from(actual == 0 && planned > 0);
        }
        *self = Self { last_due: due, last_departure: departure, started: true };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_even_train_has_no_error_and_a_stall_shows() {
        let (mut pacing, mut record, mut last) =
            (Pacing::default(), PacingRecord::default(), ErrorBucket::default());
        for i in 0..10 {
            pacing.departed(Nanos(i * 100), Nanos(i * 100 + 30), &mut record, &mut last);
        }
        assert_eq!((record.errors.total(), record.errors.quantile(1.0), record.late_max), (9, Some(0), 30));
        // Packets due at 1000, 1100 and 1200 all leave at 1250.
        for due in [1_000, 1_100, 1_200] {
            pacing.departed(Nanos(due), Nanos(1_250), &mut record, &mut last);
        }
        assert_eq!((record.back_to_back, record.late_max), (2, 250));
        assert_eq!(record.back_to_back_ratio(), Some(2.0 / 12.0));
    }

    #[test]
    fn an_error_has_its_own_bucket_whatever_came_before() {
        let mut last = ErrorBucket::default();
        for error in [0, 0, 7, 7, 100_000, 63, 64, 64, 0, u64::MAX, 5] {
            assert_eq!(last.of(error), SCALE.index(error));
        }
    }
}
