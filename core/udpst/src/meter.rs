//! Counters of a load's receiver, and its reports to the sender.

use crate::packet::{Load, NONE, Stamp, Status, SubInterval};
use crate::rate::Rate;
use units::Nanos;

/// Numbers that are remembered to distinguish late packets from duplicates.
const REMEMBERED: usize = 32;

/// Counters since the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Receipts {
    /// Packets of load.
    pub datagrams: u64,
    /// Packets that are missing, late, and came again.
    pub errors: [u64; 3],
}

/// Counts of a time.
#[derive(Debug, Clone, Copy)]
struct Counts {
    since: Nanos,
    datagrams: u32,
    bytes: u64,
    errors: [u32; 3],
    /// Least, most, sum, number.
    rise: (u32, u32, u32, u32),
    round_trip: (u32, u32),
}

impl Counts {
    fn from(since: Nanos) -> Self {
        Self { since, datagrams: 0, bytes: 0, errors: [0; 3], rise: (NONE, 0, 0, 0), round_trip: (NONE, 0) }
    }

    fn note_rise(&mut self, rise: u32) {
        let (least, most, sum, number) = &mut self.rise;
        *least = rise.min(*least);
        *most = rise.max(*most);
        *sum = sum.saturating_add(rise);
        *number += 1;
    }

    fn micros(&self, now: Nanos) -> u32 {
        u32::try_from(now.since(self.since).0 / 1000).unwrap_or(u32::MAX)
    }
}

/// Counts load. All instants are of the receiver's clock, since 1970.
#[derive(Debug, Clone)]
pub struct Meter {
    began: Nanos,
    /// Length of an interval of the result.
    length: Nanos,
    trial_length: Nanos,
    trial: Counts,
    interval: Counts,
    whole: (u32, SubInterval),
    /// Highest number that came.
    newest: u32,
    remembered: [u32; REMEMBERED],
    place: usize,
    clock_delta_ms: Option<i32>,
    round_trip_ms: u32,
    round_trip_rise_ms: u32,
    is_shorter: bool,
    answered: Stamp,
    last: Option<Nanos>,
    statuses: u32,
    receipts: Receipts,
    /// Statuses that did not reach the sender.
    missing_statuses: u32,
}

impl Meter {
    /// Begins at `now`, with intervals and trials so long.
    pub fn new(now: Nanos, length: Nanos, trial: Nanos) -> Self {
        Self {
            began: now,
            length,
            trial_length: trial,
            trial: Counts::from(now),
            interval: Counts::from(now),
            whole: (0, SubInterval::default()),
            newest: 0,
            remembered: [0; REMEMBERED],
            place: 0,
            clock_delta_ms: None,
            round_trip_ms: NONE,
            round_trip_rise_ms: NONE,
            is_shorter: false,
            answered: Stamp::default(),
            last: None,
            statuses: 0,
            receipts: Receipts::default(),
            missing_statuses: 0,
        }
    }

    /// Takes a packet in that came at `now`.
    pub fn take(&mut self, load: &Load, now: Nanos) {
        if self.newest == 0 {
            // The clock of the result begins with the first packet.
            (self.began, self.interval.since, self.trial.since) = (now, now, now);
        }
        self.last = Some(now);
        self.receipts.datagrams += 1;
        for counts in [&mut self.trial, &mut self.interval] {
            counts.datagrams = counts.datagrams.saturating_add(1);
            counts.bytes += u64::from(load.payload);
        }
        if self.number(load.number) {
            self.delays(load, now);
        }
    }

    /// Counts a number; whether it is the highest so far.
    fn number(&mut self, number: u32) -> bool {
        let before = self.newest;
        if number > before {
            self.count(0, i64::from(number - before - 1));
            self.newest = number;
        } else if self.remembered.contains(&number) {
            self.count(2, 1);
            return false;
        } else {
            // It was counted as missing.
            self.count(1, 1);
            self.count(0, -1);
        }
        self.remembered[self.place] = number;
        self.place = (self.place + 1) % REMEMBERED;
        number > before
    }

    fn count(&mut self, which: usize, by: i64) {
        for counts in [&mut self.trial, &mut self.interval] {
            let sum = i64::from(counts.errors[which]) + by;
            counts.errors[which] = u32::try_from(sum.max(0)).unwrap_or(u32::MAX);
        }
        let all = &mut self.receipts.errors[which];
        *all = all.saturating_add_signed(by);
    }

    fn delays(&mut self, load: &Load, now: Nanos) {
        let delta = now.0.cast_signed().saturating_sub(load.sent.nanos().0.cast_signed()) / 1_000_000;
        let delta = i32::try_from(delta).unwrap_or(i32::MAX);
        let is_first = self.clock_delta_ms.is_none();
        let least = self.clock_delta_ms.map_or(delta, |least| least.min(delta));
        self.is_shorter |= self.clock_delta_ms != Some(least);
        self.clock_delta_ms = Some(least);
        if !is_first {
            let rise = u32::try_from(delta.saturating_sub(least)).unwrap_or(0);
            self.trial.note_rise(rise);
            self.interval.note_rise(rise);
        }
        // A status is answered by the first packet that names it.
        if load.status_sent == self.answered || load.status_sent == Stamp::default() {
            return;
        }
        self.answered = load.status_sent;
        self.missing_statuses += u32::from(load.missing_statuses.min(u16::MAX - 1));
        let whole = u32::try_from(now.since(load.status_sent.nanos()).0 / 1_000_000).unwrap_or(u32::MAX);
        let round_trip = whole.saturating_sub(load.answered_ms.into());
        if round_trip < self.round_trip_ms {
            (self.round_trip_ms, self.is_shorter) = (round_trip, true);
        }
        let rise = round_trip - self.round_trip_ms;
        self.round_trip_rise_ms = rise;
        let (least, most) = &mut self.interval.round_trip;
        (*least, *most) = (rise.min(*least), rise.max(*most));
    }

    /// Whether something has come.
    pub fn has_begun(&self) -> bool {
        self.newest != 0
    }

    /// Time since something came last, or since the beginning.
    pub fn silence(&self, now: Nanos) -> Nanos {
        now.since(self.last.unwrap_or(self.began))
    }

    /// Rise of the delays in this trial: the mean one-way, and the last round trip's.
    pub fn rises(&self) -> (Option<u32>, Option<u32>) {
        let (_, _, sum, number) = self.trial.rise;
        let mean = (number > 0).then(|| (sum + number / 2) / number.max(1));
        (mean, Some(self.round_trip_rise_ms).filter(|rise| *rise != NONE))
    }

    /// Errors in this trial.
    pub fn errors(&self) -> [u32; 3] {
        self.trial.errors
    }

    /// Total counters.
    pub fn receipts(&self) -> Receipts {
        self.receipts
    }

    /// Statuses that did not reach the sender of load.
    pub fn missing_statuses(&self) -> u32 {
        self.missing_statuses
    }

    /// Shortest round trip, ms.
    pub fn round_trip_ms(&self) -> Option<u32> {
        Some(self.round_trip_ms).filter(|round_trip| *round_trip != NONE)
    }

    /// The status at `now`, with the interval that is over then, if one is; another trial begins. `rate` is a server's.
    pub fn status(&mut self, now: Nanos, rate: Rate, ends: bool) -> Status {
        self.statuses += 1;
        // As exact as trials are long.
        if now.since(self.interval.since).0 + self.trial_length.0 / 2 > self.length.0 {
            self.end_interval(now);
        }
        let trial = self.trial;
        let status = Status {
            ends,
            hears_nothing: self.silence(now) >= Nanos(1_000_000_000),
            number: self.statuses,
            rate,
            interval: self.whole,
            errors: trial.errors,
            clock_delta_ms: self.clock_delta_ms.unwrap_or(0),
            rise: trial.rise,
            round_trip_ms: self.round_trip_ms,
            round_trip_rise_ms: self.round_trip_rise_ms,
            is_shorter: self.is_shorter,
            trial: (trial.micros(now), trial.datagrams, u32::try_from(trial.bytes).unwrap_or(u32::MAX)),
            sent: Stamp::of(now),
            mode: 0,
        };
        (self.trial, self.round_trip_rise_ms, self.is_shorter) = (Counts::from(now), NONE, false);
        status
    }

    /// The last whole interval, and which it is from 1; 0 before there is one.
    pub fn whole(&self) -> (u32, SubInterval) {
        self.whole
    }

    fn end_interval(&mut self, now: Nanos) {
        let counts = self.interval;
        let none = |least: u32| if least == NONE { 0 } else { least };
        self.whole.0 += 1;
        self.whole.1 = SubInterval {
            datagrams: counts.datagrams,
            bytes: counts.bytes,
            micros: counts.micros(now),
            lost: counts.errors[0],
            reordered: counts.errors[1],
            duplicates: counts.errors[2],
            rise: (none(counts.rise.0), counts.rise.1, counts.rise.2, counts.rise.3),
            round_trip: (none(counts.round_trip.0), counts.round_trip.1),
            at_ms: u32::try_from(now.since(self.began).0 / 1_000_000).unwrap_or(u32::MAX),
        };
        self.interval = Counts::from(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Nanos = Nanos(1_700_000_000_000_000_000);

    fn at(ms: u64) -> Nanos {
        START + Nanos(ms * 1_000_000)
    }

    fn load(number: u32, sent_ms: u64) -> Load {
        Load { number, payload: 1222, sent: Stamp::of(at(sent_ms)), ..Load::default() }
    }

    fn meter() -> Meter {
        Meter::new(START, Nanos(1_000_000_000), Nanos(50_000_000))
    }

    #[test]
    fn loss_order_and_duplicates_are_told_apart() {
        let mut meter = meter();
        for number in [1, 2, 5, 4, 4, 2, 6, 9] {
            meter.take(&load(number, 0), at(1));
        }
        // 3, 7 and 8 are missing.
        assert_eq!(meter.errors(), [3, 1, 2]);
        assert_eq!(meter.receipts(), Receipts { datagrams: 8, errors: [3, 1, 2] });
        let status = meter.status(at(50), Rate::default(), false);
        assert_eq!((status.errors, status.trial.1, status.trial.2), ([3, 1, 2], 8, 8 * 1222));
        assert_eq!(meter.errors(), [0; 3]);
        // What comes behind the trial that missed it is late all the same.
        meter.take(&load(7, 0), at(60));
        assert_eq!((meter.errors(), meter.receipts().errors), ([0, 1, 0], [2, 2, 2]));
    }

    #[test]
    fn delays_rise_over_the_shortest() {
        let mut meter = meter();
        // The sender's clock is 5 ms ahead.
        for (number, sent, came) in [(1, 15, 12), (2, 25, 21), (3, 35, 40)] {
            meter.take(&load(number, sent), at(came));
        }
        let status = meter.status(at(50), Rate::default(), false);
        assert_eq!((status.clock_delta_ms, status.rise), (-4, (0, 9, 9, 2)));
        assert_eq!(meter.rises(), (None, None));
    }

    #[test]
    fn round_trips_leave_out_what_the_sender_waited() {
        let mut meter = meter();
        meter.take(&load(1, 0), at(1));
        let status = meter.status(at(50), Rate::default(), false);
        meter.take(&Load { status_sent: status.sent, answered_ms: 3, ..load(2, 50) }, at(60));
        assert_eq!((meter.round_trip_ms(), meter.rises().1), (Some(7), Some(0)));
        // The same status again says nothing new.
        meter.take(&Load { status_sent: status.sent, answered_ms: 0, ..load(3, 50) }, at(70));
        assert_eq!(meter.round_trip_ms(), Some(7));
        let status = meter.status(at(100), Rate::default(), false);
        assert_eq!((status.round_trip_ms, status.round_trip_rise_ms), (7, 0));
        meter.take(&Load { status_sent: status.sent, answered_ms: 1, ..load(4, 50) }, at(120));
        assert_eq!((meter.round_trip_ms(), meter.rises().1), (Some(7), Some(12)));
    }

    #[test]
    fn intervals_are_whole_statuses() {
        let mut meter = meter();
        meter.take(&load(1, 0), at(0));
        for trial in 1..=45u64 {
            (0..10).for_each(|n| meter.take(&load((trial * 10 + n) as u32, trial * 50), at(trial * 50 - 10)));
            let status = meter.status(at(trial * 50), Rate::default(), false);
            assert_eq!(status.interval.0 as u64, trial / 20, "{trial}");
        }
        let (which, whole) = meter.whole();
        assert_eq!((which, whole.datagrams, whole.micros, whole.at_ms), (2, 200, 1_000_000, 2000));
        assert_eq!((whole.bytes, whole.lost), (200 * 1222, 0));
        assert!(meter.silence(at(3250)) >= Nanos(1_000_000_000));
    }
}
