//! The outcome of sessions in the sustain phase (RFC 9411 section 4.3.4), from samples taken every second.
//!
//! Rates and numbers cover that phase alone. Failures cover the whole trial if they are more: a request of the sustain
//! phase may time out after it. Times to set up, to the first and to the last byte cover the whole trial: percentiles
//! of samples can't be added up.

use super::entry;
use super::load::{HOLD, Times};
use crate::outcome::latency;
use methods::{LatencySummary, Objective, SessionLoad, SessionOutcome, TrialOutcome};
use profile::Plan;
use result::{IntervalDocument, ResultDocument, SessionResult, SideResult};

/// Failures of sessions that were never established.
const NEVER: [&str; 4] = ["setup_timeout", "refused", "unreachable", "no_port"];
/// Failures by unexpected resets.
const RESETS: [&str; 2] = ["reset", "refused"];
/// A worker that is busy for more than this share of its time is the limit.
const FULL: f64 = 0.95;
/// Duration of a worker's stall, a tenth of a sample, from which on it may explain a varying rate.
const STALL_NS: u64 = 100_000_000;
/// Reached share, or deviation of the rate, beyond which a result is suspect.
pub(super) const REACHED: f64 = 0.98;
pub(super) const UNEVEN: f64 = 0.05;
/// A trial without figures.
pub(super) const NO_SAMPLE: &str = "the sustain phase has no whole sample: the tester was too slow";
/// Number of samples from which on they are evaluated in pairs: RFC 9411 section 4.3.4 has samples of at most two
/// seconds.
const PAIRED: usize = 4;

/// Counts of a sample, or of several.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Counted {
    seconds: f64,
    attempted: i64,
    established: i64,
    completed: i64,
    failed: i64,
    /// Of these, sessions that were never established.
    never: i64,
    resets: i64,
    requests: i64,
    transactions: i64,
    /// Application bytes, both ways.
    bytes: f64,
    received: f64,
}

impl Counted {
    fn of(seconds: f64, row: &SideResult) -> Self {
        let of = |reasons: &[&str]| {
            reasons.iter().filter_map(|reason| row.failed.get(*reason)).sum::<u64>() as i64
        };
        let received = row.rx_bytes_goodput as f64;
        Self {
            seconds,
            attempted: row.attempted as i64,
            established: row.established as i64,
            completed: row.completed as i64,
            failed: row.failed.values().sum::<u64>() as i64,
            never: of(&NEVER),
            resets: of(&RESETS),
            requests: row.requests as i64,
            transactions: row.transactions as i64,
            bytes: received + row.tx_bytes_goodput as f64,
            received,
        }
    }

    fn add(&mut self, other: &Self) {
        self.seconds += other.seconds;
        self.attempted += other.attempted;
        self.established += other.established;
        self.completed += other.completed;
        self.failed += other.failed;
        self.never += other.never;
        self.resets += other.resets;
        self.requests += other.requests;
        self.transactions += other.transactions;
        self.bytes += other.bytes;
        self.received += other.received;
    }

    /// Counts of another entry in the same time, added.
    fn beside(mut self, other: Self) -> Self {
        let seconds = self.seconds;
        self.add(&other);
        Self { seconds, ..self }
    }

    /// Open sessions: established and not ended.
    fn open(&self) -> i64 {
        self.established - self.completed - (self.failed - self.never)
    }

    /// Sessions that wait for a SYN-ACK.
    fn waiting(&self) -> i64 {
        self.attempted - self.established - self.never
    }
}

/// The sustain phase.
#[derive(Debug, Default)]
pub(super) struct Sustained {
    samples: Vec<Counted>,
    /// Open sessions at each sample's end.
    open: Vec<i64>,
    /// All samples together.
    all: Counted,
    /// All that was counted until its end.
    until: Counted,
}

impl Sustained {
    /// That of the entries of these names together.
    pub(super) fn of(times: &Times, names: &[&str], intervals: &[IntervalDocument]) -> Self {
        let mut sustained = Self::default();
        let mut until = Counted::default();
        for interval in intervals {
            let rows = names.iter().filter_map(|name| interval.sessions.get(*name));
            let of = |row: &SessionResult| Counted::of(interval.interval_s, &row.seen);
            let Some(sample) = rows.map(of).reduce(Counted::beside) else { continue };
            until.add(&sample);
            let to = interval.at_s;
            // A sample begins at a whole second or just after it, and ends likewise.
            let begins = to - sample.seconds >= times.sustain.as_secs_f64() - 1e-3;
            if begins && to <= (times.sustained + HOLD).as_secs_f64() {
                sustained.samples.push(sample);
                sustained.open.push(until.open());
                sustained.all.add(&sample);
                sustained.until = until;
            }
        }
        sustained
    }

    /// Whether nothing was measured.
    pub(super) fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Sessions that were opened more than a sample before its end and had no SYN-ACK then: no timeout is that short,
    /// and when the load falls they may still be established.
    fn late(&self) -> i64 {
        let last = self.samples.last().map_or(0, |sample| sample.attempted);
        (self.until.waiting() - last).max(0)
    }

    /// Largest distance of the forwarding rate from its mean, as a share of it. A transaction more or less, which a
    /// sample's edge cuts off, is none.
    fn rate_deviation(&self) -> f64 {
        let mean = self.all.bytes / self.all.seconds;
        if mean <= 0.0 {
            return 0.0;
        }
        let grain = self.all.bytes / self.all.transactions.max(1) as f64;
        let pairs = if self.samples.len() >= PAIRED { 2 } else { 1 };
        let of = |samples: &[Counted]| {
            let seconds: f64 = samples.iter().map(|sample| sample.seconds).sum();
            let bytes: f64 = samples.iter().map(|sample| sample.bytes).sum();
            ((bytes - mean * seconds).abs() - grain).max(0.0) / (mean * seconds)
        };
        self.samples.chunks(pairs).map(of).fold(0.0, f64::max)
    }

    fn open_mean(&self) -> f64 {
        self.open.iter().sum::<i64>() as f64 / self.open.len().max(1) as f64
    }

    fn open_deviation(&self) -> f64 {
        let mean = self.open_mean();
        if mean <= 0.0 {
            return 0.0;
        }
        self.open.iter().map(|open| (*open as f64 - mean).abs() / mean).fold(0.0, f64::max)
    }

    /// Result, without times; `whole` has the same entries over the whole trial. Connections that are `kept` may all
    /// have been opened before the phase.
    pub(super) fn outcome(&self, whole: &[&SessionResult], kept: bool) -> SessionOutcome {
        let all = &self.all;
        let whole_trial = whole
            .iter()
            .map(|entry| Counted::of(0.0, &entry.seen))
            .reduce(Counted::beside)
            .unwrap_or_default();
        let count = |n: i64| n.max(0) as u64;
        let late = self.late();
        let per_second = |n: f64| if all.seconds > 0.0 { n / all.seconds } else { 0.0 };
        let of = if kept { &self.until } else { all };
        let failed = (all.failed + late).max(whole_trial.failed);
        let requests = if all.requests > 0 { all.requests } else { whole_trial.requests };
        SessionOutcome {
            attempted: count(of.attempted),
            established: count(of.established),
            transactions: count((requests + all.never + late).max(failed)),
            transactions_failed: count(failed),
            resets: count(all.resets.max(whole_trial.resets)),
            open_per_s: per_second(all.established as f64),
            concurrent_mean: self.open_mean(),
            concurrent_max: count(self.open.iter().copied().max().unwrap_or(0)),
            transactions_per_s: per_second(all.transactions as f64),
            goodput_bps: per_second(all.received * 8.0),
            rate_deviation: self.rate_deviation(),
            concurrent_deviation: self.open_deviation(),
            ..SessionOutcome::default()
        }
    }
}

/// Adds the outcome of a trial's sessions.
pub(super) fn report(
    outcome: &mut TrialOutcome,
    plan: &Plan,
    load: &SessionLoad,
    document: &ResultDocument,
    intervals: &[IntervalDocument],
) {
    let Ok(entry) = entry::carrying(plan, &load.app.name) else { return };
    let name = &entry.session.name;
    let whole = &document.sessions[name];
    let sustained = Sustained::of(&Times::of(load), &[name], intervals);
    if sustained.is_empty() && !outcome.interrupted {
        outcome.valid = false;
        outcome.reasons.push(NO_SAMPLE.to_owned());
    }
    outcome.drops = whole.seen.failed.iter().map(|(reason, n)| (format!("{name}: {reason}"), *n)).collect();
    let mut sessions = sustained.outcome(&[whole], load.objective != Objective::ConnectionsPerSecond);
    [sessions.setup, sessions.ttfb, sessions.ttlb] = times(whole);
    let asked = load.value as f64;
    let reached = match load.objective {
        Objective::ConnectionsPerSecond => sessions.open_per_s,
        Objective::ConcurrentConnections => sessions.concurrent_mean,
        Objective::TransactionsPerSecond => sessions.transactions_per_s,
        Objective::GoodputBps => sessions.goodput_bps,
    };
    let uneven = reached < asked * REACHED || sessions.rate_deviation > UNEVEN;
    // Sessions that were due and not opened are in the verdict; requests that were not sent, or late, are not.
    if uneven
        && sessions.transactions_failed == 0
        && let Some(why) = own_limit(document)
    {
        outcome.generator_limited = true;
        outcome.reasons.push(format!("sessions {name}: load not reached evenly, and {why}"));
    }
    outcome.sessions = Some(sessions);
}

/// Why the tester itself may have missed the load. In virtual time it is never late.
pub(super) fn own_limit(document: &ResultDocument) -> Option<String> {
    if document.clock.source == "virtual" {
        return None;
    }
    if document.workers.iter().any(|worker| worker.busy_ratio > FULL) {
        return Some("the tester's cores were fully busy".to_owned());
    }
    let stall = document.workers.iter().map(|worker| worker.stall_max_ns).max()?;
    (stall > STALL_NS).then(|| format!("a core of the tester stalled for {} ms", stall / 1_000_000))
}

/// Times to set up, to the first and to the last byte, of the whole trial.
pub(super) fn times(whole: &SessionResult) -> [Option<LatencySummary>; 3] {
    let seen = &whole.seen;
    [&seen.setup_ns, &seen.ttfb_ns, &seen.ttlb_ns].map(|times| times.as_ref().map(latency))
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::Named;
    use units::Nanos;

    /// Samples of a second each, with sessions started, established and ended, and bytes received.
    fn intervals(rows: &[(u64, u64, u64, u64)]) -> Vec<IntervalDocument> {
        let one = |(i, (attempted, established, completed, bytes)): (usize, &(u64, u64, u64, u64))| {
            let seen = SideResult {
                attempted: *attempted,
                established: *established,
                completed: *completed,
                requests: *established,
                transactions: *completed,
                rx_bytes_goodput: *bytes,
                ..SideResult::default()
            };
            let web = SessionResult { seen, ..SessionResult::default() };
            IntervalDocument {
                at_s: i as f64 + 1.001,
                interval_s: 1.0,
                sessions: Named::from_iter([("web".to_owned(), web)]),
                ..IntervalDocument::default()
            }
        };
        rows.iter().enumerate().map(one).collect()
    }

    fn times(from: u64, to: u64) -> Times {
        let s = Nanos::from_secs;
        Times { start: s(0), ramp_up: s(from), sustain: s(from), sustained: s(to), end: s(to + 1) }
    }

    #[test]
    fn only_samples_within_the_phase_count() {
        let rows = intervals(&[(5, 5, 0, 1), (10, 10, 10, 100), (10, 10, 10, 110), (9, 9, 9, 9)]);
        let sustained = Sustained::of(&times(1, 3), &["web"], &rows);
        assert_eq!((sustained.samples.len(), sustained.all.established), (2, 20));
        assert_eq!(sustained.open, [5, 5]);
        // 105 on average; a transaction is a twentieth of 210.
        assert_eq!(sustained.rate_deviation(), 0.0);
        assert_eq!(sustained.open_deviation(), 0.0);
    }

    #[test]
    fn sessions_without_an_answer_for_a_second_are_late() {
        let rows = intervals(&[(0, 0, 0, 0), (100, 80, 80, 8), (100, 80, 80, 8), (100, 80, 80, 8)]);
        let sustained = Sustained::of(&times(1, 4), &["web"], &rows);
        assert_eq!((sustained.until.waiting(), sustained.late()), (60, 0));
        let rows = intervals(&[(0, 0, 0, 0), (100, 40, 40, 8), (100, 40, 40, 8), (100, 40, 40, 8)]);
        assert_eq!(Sustained::of(&times(1, 4), &["web"], &rows).late(), 80);
    }

    #[test]
    fn a_rate_that_strays_is_seen() {
        let rows = intervals(&[(100, 100, 100, 1000), (100, 100, 100, 1000), (100, 100, 100, 400)]);
        let deviation = Sustained::of(&times(0, 3), &["web"], &rows).rate_deviation();
        assert!((deviation - 0.49).abs() < 0.01, "{deviation}");
    }
}
