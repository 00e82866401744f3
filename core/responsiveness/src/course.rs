//! A test's course: interval by interval, until goodput is stable and then responsiveness (section "Final Algorithm").
//!
//! Invariant: responsiveness counts probes of the last intervals only, and none from before goodput was stable.

use crate::report::{Confidence, Direction, Interval, Rating, Result};
use crate::{Latency, Parameters, Probe};

/// Counts of an interval.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Its length, s.
    pub seconds: f64,
    /// Octets that came from the server.
    pub from_server: u64,
    /// Octets that the server has.
    pub to_server: u64,
    /// Load-generating connections.
    pub connections: usize,
    /// Probes that ended in it.
    pub probes: Vec<Probe>,
}

/// Stage of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Goodput is not stable yet.
    Goodput,
    /// Goodput is stable, responsiveness is not.
    Responsiveness,
    /// Both are: the test is over.
    Done,
}

/// A test in one direction, or in both at the same time.
#[derive(Debug)]
pub struct Course {
    direction: Direction,
    parameters: Parameters,
    phase: Phase,
    tallies: Vec<Tally>,
    /// Moving averages of goodput, octets/s: from the server and to it.
    averages: Vec<(f64, f64)>,
    /// Responsiveness since goodput is stable.
    rpms: Vec<f64>,
    /// The first interval whose probes count.
    counts_from: usize,
    intervals: Vec<Interval>,
}

impl Course {
    /// A test that begins.
    pub fn new(direction: Direction, parameters: Parameters) -> Self {
        Self {
            direction,
            parameters,
            phase: Phase::Goodput,
            tallies: Vec::new(),
            averages: Vec::new(),
            rpms: Vec::new(),
            counts_from: 0,
            intervals: Vec::new(),
        }
    }

    /// Takes an interval; the stage after it.
    pub fn interval(&mut self, tally: Tally) -> Phase {
        self.tallies.push(tally);
        let average = self.average();
        self.averages.push(average);
        match self.phase {
            Phase::Goodput if self.is_saturated() => {
                self.phase = Phase::Responsiveness;
                self.counts_from = self.tallies.len();
            }
            Phase::Goodput | Phase::Done => {}
            Phase::Responsiveness => {
                self.rpms.extend(self.latency().rpm);
                if is_stable(&self.rpms, &self.parameters) {
                    self.phase = Phase::Done;
                }
            }
        }
        let row = self.row();
        self.intervals.push(row);
        self.phase
    }

    /// The last interval.
    pub fn last(&self) -> Option<&Interval> {
        self.intervals.last()
    }

    /// Goodput of both directions together in the last interval, bits/s.
    pub fn goodput_bps(&self) -> Option<f64> {
        let tally = self.tallies.last()?;
        Some((tally.from_server + tally.to_server) as f64 * 8.0 / tally.seconds)
    }

    /// Octets per second of the last intervals, each way.
    fn average(&self) -> (f64, f64) {
        let last = last(&self.tallies, self.parameters.average_intervals);
        let seconds: f64 = last.iter().map(|tally| tally.seconds).sum();
        let rate = |octets: fn(&Tally) -> u64| last.iter().map(octets).sum::<u64>() as f64 / seconds;
        (rate(|tally| tally.from_server), rate(|tally| tally.to_server))
    }

    fn is_saturated(&self) -> bool {
        let of = |part: fn(&(f64, f64)) -> f64| {
            let values: Vec<f64> = self.averages.iter().map(part).collect();
            is_stable(&values, &self.parameters)
        };
        let down = || of(|average| average.0);
        let up = || of(|average| average.1);
        match self.direction {
            Direction::FromServer => down(),
            Direction::ToServer => up(),
            Direction::Both => down() && up(),
        }
    }

    /// Of the probes that count.
    fn latency(&self) -> Latency {
        let since = &self.tallies[self.counts_from.min(self.tallies.len())..];
        let probes: Vec<Probe> = last(since, self.parameters.average_intervals)
            .iter()
            .flat_map(|tally| tally.probes.iter().copied())
            .collect();
        Latency::of(&probes, self.parameters.trimmed_mean)
    }

    /// The rates of the loaded directions, from octets/s to bits/s.
    fn loaded(&self, rates: (f64, f64)) -> (Option<f64>, Option<f64>) {
        let down = (self.direction != Direction::ToServer).then_some(rates.0 * 8.0);
        let up = (self.direction != Direction::FromServer).then_some(rates.1 * 8.0);
        (down, up)
    }

    fn row(&self) -> Interval {
        let tally = self.tallies.last().cloned().unwrap_or_default();
        let (from_server_bps, to_server_bps) =
            self.loaded((tally.from_server as f64 / tally.seconds, tally.to_server as f64 / tally.seconds));
        let foreign = number_of_foreign(&tally.probes);
        Interval {
            at_s: self.tallies.iter().map(|tally| tally.seconds).sum(),
            connections: tally.connections,
            from_server_bps,
            to_server_bps,
            foreign_probes: foreign,
            loaded_probes: tally.probes.len() - foreign,
            rpm: self.rpms.last().copied().filter(|_| self.tallies.len() > self.counts_from),
        }
    }

    /// The result so far. If goodput was never stable, responsiveness is that of the last intervals.
    pub fn result(mut self) -> Result {
        if self.phase == Phase::Goodput || self.counts_from >= self.tallies.len() {
            self.counts_from = 0;
        }
        let latency = self.latency();
        let needed = self.parameters.average_intervals;
        let (from_server_bps, to_server_bps) = self.loaded(self.averages.last().copied().unwrap_or_default());
        let all = || self.tallies.iter().flat_map(|tally| tally.probes.iter());
        let foreign = all().filter(|probe| matches!(probe, Probe::Foreign { .. })).count();
        Result {
            direction: self.direction,
            latency,
            rating: latency.rpm.map(Rating::of),
            from_server_bps,
            to_server_bps,
            connections: self.tallies.last().map_or(0, |tally| tally.connections),
            goodput_confidence: Confidence::of(self.phase != Phase::Goodput, self.tallies.len(), needed),
            responsiveness_confidence: Confidence::of(self.phase == Phase::Done, self.rpms.len(), needed),
            seconds: self.tallies.iter().map(|tally| tally.seconds).sum(),
            foreign_probes: foreign,
            loaded_probes: all().count() - foreign,
            unfinished_probes: 0,
            failed_probes: 0,
            late_ms: 0.0,
            limited_by: None,
            failure: None,
            intervals: self.intervals,
        }
    }
}

fn number_of_foreign(probes: &[Probe]) -> usize {
    probes.iter().filter(|probe| matches!(probe, Probe::Foreign { .. })).count()
}

fn last<T>(all: &[T], number: usize) -> &[T] {
    &all[all.len().saturating_sub(number)..]
}

/// Whether the standard deviation of the last values is within the tolerance of the newest one.
fn is_stable(values: &[f64], parameters: &Parameters) -> bool {
    let values = last(values, parameters.average_intervals);
    let Some(current) = values.last().filter(|_| values.len() == parameters.average_intervals) else {
        return false;
    };
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    *current > 0.0 && variance.sqrt() < parameters.tolerance * current
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(mbps: f64, ms: f64) -> Tally {
        let foreign = Probe::Foreign { tcp_ms: ms, tls_ms: Some(ms), http_ms: ms };
        Tally {
            seconds: 1.0,
            from_server: (mbps * 1e6 / 8.0) as u64,
            to_server: 0,
            connections: 3,
            probes: vec![foreign, Probe::Loaded { http_ms: ms }],
        }
    }

    fn course() -> Course {
        Course::new(Direction::FromServer, Parameters::quick())
    }

    #[test]
    fn goodput_must_be_stable_before_responsiveness_counts() {
        let mut course = course();
        // Moving averages: 1, 5.5, 7, 7.75 Mbit/s: far from stable. Then 10, 10, 10, 10.
        let rates = [1.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0];
        let phases: Vec<Phase> = rates.iter().map(|mbps| course.interval(tally(*mbps, 500.0))).collect();
        assert_eq!(phases[..7], [Phase::Goodput; 7], "{phases:?}");
        assert_eq!(
            phases[7],
            Phase::Responsiveness,
            "7.75, 10, 10, 10 deviate by a tenth; 10 four times do not"
        );
        for _ in 0..3 {
            assert_eq!(course.interval(tally(10.0, 60.0)), Phase::Responsiveness);
        }
        assert_eq!(course.interval(tally(10.0, 60.0)), Phase::Done);
        let result = course.result();
        assert_eq!(
            result.latency.rpm.map(f64::round),
            Some(1000.0),
            "none of the slow probes from before count"
        );
        assert_eq!(
            (result.goodput_confidence, result.responsiveness_confidence),
            (Confidence::High, Confidence::High)
        );
        assert_eq!(result.from_server_bps.map(f64::round), Some(10e6));
        assert_eq!((result.to_server_bps, result.rating), (None, Some(Rating::Good)));
        assert_eq!(result.intervals.len(), 12);
        assert!(result.intervals[..8].iter().all(|interval| interval.rpm.is_none()));
        assert_eq!((result.foreign_probes, result.loaded_probes), (12, 12));
    }

    #[test]
    fn a_test_that_ends_early_has_little_confidence() {
        let mut course = course();
        course.interval(tally(1.0, 60.0));
        course.interval(tally(10.0, 60.0));
        let result = course.result();
        assert_eq!(
            (result.goodput_confidence, result.responsiveness_confidence),
            (Confidence::Low, Confidence::Low)
        );
        assert_eq!(result.latency.rpm.map(f64::round), Some(1000.0), "what there is is reported");
    }

    #[test]
    fn goodput_that_never_settles_has_medium_confidence() {
        let mut course = course();
        for number in 0..10 {
            let phase = course.interval(tally(1.5f64.powi(number), 60.0));
            assert_eq!(phase, Phase::Goodput);
        }
        let result = course.result();
        assert_eq!(
            (result.goodput_confidence, result.responsiveness_confidence),
            (Confidence::Medium, Confidence::Low)
        );
    }

    #[test]
    fn both_directions_must_be_stable() {
        let mut course = Course::new(Direction::Both, Parameters::quick());
        for _ in 0..8 {
            assert_eq!(course.interval(tally(10.0, 60.0)), Phase::Goodput, "nothing reaches the server");
        }
        let result = course.result();
        assert_eq!((result.from_server_bps.map(f64::round), result.to_server_bps), (Some(10e6), Some(0.0)));
    }

    #[test]
    fn nothing_at_all_is_no_result() {
        let result = course().result();
        assert_eq!((result.latency.rpm, result.rating, result.connections), (None, None, 0));
        assert_eq!(result.goodput_confidence, Confidence::Low);
    }
}
