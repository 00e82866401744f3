//! Sums of streams in a form that another machine adds to its own: times of groups, whose streams arrive at several machines.
//!
//! Invariant: what follows from added sums is what would follow from all packets, bit by bit.

use crate::observer::View;
use crate::rows;
use crate::sums::Sums;
use crate::trial::Trial;
use histogram::SparseHistogram;
use measure::Counts;
use result::merge::GroupTimes;
use result::{LatencyResult, Named, StreamResult};
use serde::{Deserialize, Serialize};

/// Sums of some streams.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RawRow {
    counts: Counts,
    latency: Option<SparseHistogram>,
    /// Whether all of them are known by signatures.
    is_measured: bool,
}

/// Sums of all streams, and of each row of each group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RawTimes {
    all: RawRow,
    groups: Named<Named<RawRow>>,
}

/// Latencies of some streams, as a histogram.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Distribution {
    /// Values counted.
    pub count: u64,
    /// Their sum, ns.
    pub sum_ns: f64,
    /// Lowest and highest value, ns, and how many there are; only where there are some, the lowest first.
    pub buckets: Vec<(u64, u64, u64)>,
}

impl RawRow {
    fn of(trial: &Trial<'_>, sums: &Sums, members: impl Iterator<Item = usize>) -> Self {
        let mut sum = Self { is_measured: true, ..Self::default() };
        for index in members {
            let (stream, totals) = (&trial.streams[index], &sums.arrivals.streams[index]);
            if !rows::is_counted(stream, totals) {
                continue;
            }
            sum.is_measured &= stream.measured;
            sum.counts.merge(&totals.counts);
            add(&mut sum.latency, totals.latency.as_ref());
        }
        sum
    }

    /// Adds another machine's.
    fn merge(&mut self, other: &Self) {
        self.is_measured &= other.is_measured;
        self.counts.merge(&other.counts);
        add(&mut self.latency, other.latency.as_ref());
    }

    /// Of several machines.
    pub fn sum<'a>(all: impl Iterator<Item = &'a Self>) -> Self {
        let none = Self { is_measured: true, ..Self::default() };
        all.fold(none, |mut sum, row| {
            sum.merge(row);
            sum
        })
    }

    /// Latencies of all of them.
    pub fn latency(&self) -> Option<LatencyResult> {
        rows::latency(&self.counts.latency, self.latency.as_ref()).filter(|_| self.is_measured)
    }

    /// Latencies of all of them as a histogram; `None` if nothing was measured or histograms are not kept.
    pub fn distribution(&self) -> Option<Distribution> {
        let (moments, histogram) = (&self.counts.latency, self.latency.as_ref()?);
        let sum_ns = moments.mean()? * moments.samples as f64;
        Some(Distribution { count: histogram.total(), sum_ns, buckets: histogram.buckets().collect() })
    }

    /// A row with its times, and nothing else.
    fn times(&self) -> StreamResult {
        let counts = Some(&self.counts).filter(|_| self.is_measured);
        StreamResult {
            latency_ns: self.latency(),
            jitter_ns: counts.and_then(|counts| rows::jitter(&counts.delay_change, None)),
            interarrival_ns: counts.and_then(|counts| rows::spread(&counts.interarrival)),
            ..StreamResult::default()
        }
    }
}

fn add(sum: &mut Option<SparseHistogram>, own: Option<&SparseHistogram>) {
    match (sum.as_mut(), own) {
        // Agents of one version have one scale.
        (Some(sum), Some(own)) if sum.scale() == own.scale() => sum.merge(own),
        (None, Some(own)) => *sum = Some(own.clone()),
        _ => {}
    }
}

impl RawTimes {
    fn of(trial: &Trial<'_>, sums: &Sums) -> Self {
        let row = |(name, members): &(String, Vec<u32>)| {
            (name.clone(), RawRow::of(trial, sums, members.iter().map(|member| *member as usize)))
        };
        let groups = trial.plan.groups.iter();
        Self {
            all: RawRow::of(trial, sums, 0..trial.streams.len()),
            groups: groups.map(|group| (group.name.clone(), group.rows.iter().map(row).collect())).collect(),
        }
    }

    /// Of no packets, which changes no sum.
    pub fn none() -> Self {
        Self { all: RawRow::sum(std::iter::empty()), groups: Named::new() }
    }

    /// Of a trial's counts.
    pub(crate) fn of_results(trial: &Trial<'_>, sums: &Sums) -> Option<Self> {
        trial.is_part().then(|| Self::of(trial, sums))
    }

    /// Adds other machines'.
    pub fn sum<'a>(all: impl Iterator<Item = &'a Self>) -> Option<Self> {
        all.cloned().reduce(|mut sum, other| {
            sum.all.merge(&other.all);
            for (name, rows) in &other.groups {
                let own = sum.groups.entry(name.clone()).or_default();
                for (row, raw) in rows {
                    own.entry(row.clone())
                        .or_insert_with(|| RawRow { is_measured: true, ..RawRow::default() })
                        .merge(raw);
                }
            }
            sum
        })
    }

    /// Latencies of all streams.
    pub fn latency(&self) -> Option<LatencyResult> {
        self.all.latency()
    }

    /// Times of each row of each group.
    pub fn groups(&self) -> GroupTimes {
        let rows =
            |rows: &Named<RawRow>| rows.iter().map(|(name, row)| (name.clone(), row.times())).collect();
        self.groups.iter().map(|(name, own)| (name.clone(), rows(own))).collect()
    }
}

impl View<'_> {
    /// Sums of all streams since the start.
    pub fn total_row(&self) -> RawRow {
        RawRow::of(self.trial, self.total, 0..self.trial.streams.len())
    }

    /// Sums of all streams since the last snapshot, of one of several machines.
    pub fn raw_row(&self) -> Option<RawRow> {
        let all = || RawRow::of(self.trial, self.interval, 0..self.trial.streams.len());
        self.trial.is_part().then(all)
    }

    /// Sums since the last snapshot, and since the start, of one of several machines.
    pub fn raw(&self) -> Option<(RawTimes, RawTimes)> {
        let both = || (RawTimes::of(self.trial, self.interval), RawTimes::of(self.trial, self.total));
        self.trial.is_part().then(both)
    }
}
