//! Outages of the streams of a trial that are watched for them.

use crate::counts::interval::Interval;
use crate::trial::{Trial, TrialStream};
use measure::{Outage, OutageRule, Outages, Spans};
use result::{OutageResult, OutagesResult};
use sched::Pace;
use units::Nanos;

/// Interval at which workers must hand over what they have sampled.
pub(crate) const GATHER_EVERY: Nanos = Nanos::from_millis(100);

/// The outages of each stream that is watched.
pub(crate) struct TrialOutages {
    /// With the streams' places, in ascending order.
    streams: Vec<(usize, Outages)>,
    /// Time to wait for packets.
    patience: Nanos,
}

impl TrialOutages {
    /// Nothing sent yet.
    pub(crate) fn new(trial: &Trial<'_>) -> Self {
        let all = trial.plan.streams.iter().zip(&trial.streams).enumerate();
        let watched = all.filter_map(|(index, (plan, stream))| {
            let rule = OutageRule::new(plan.outages?, rate(stream));
            Some((index, Outages::new(rule)))
        });
        let streams = if trial.shape.has_samples { watched.collect() } else { Vec::new() };
        Self { streams, patience: trial.plan.drain }
    }

    /// Leaves out what was sent before `at`, and the sampling interval that includes it.
    pub(crate) fn begin(&mut self, at: Nanos) {
        self.streams.iter_mut().for_each(|(_, outages)| outages.begin(at));
    }

    /// Whether a stream is watched.
    pub(crate) fn are_watched(&self) -> bool {
        !self.streams.is_empty()
    }

    /// Adds what a worker sampled.
    pub(crate) fn add(&mut self, interval: &Interval) {
        for (stream, outages) in &mut self.streams {
            interval.samples.of(*stream).for_each(|sample| outages.add(sample));
        }
    }

    /// Judges what was sent so long before `now` that nothing of it is waited for. All that workers have sampled until then is here.
    pub(crate) fn judge(&mut self, now: Nanos) {
        let until = now.since(self.patience);
        self.streams.iter_mut().for_each(|(_, outages)| outages.judge(until));
    }

    /// Judges all: nothing more arrives.
    pub(crate) fn end(&mut self) {
        self.streams.iter_mut().for_each(|(_, outages)| outages.judge(Nanos::MAX));
    }

    /// The row of a stream that is watched, of traffic that started at `epoch`.
    pub(crate) fn row(&self, stream: usize, epoch: Nanos) -> Option<OutagesResult> {
        let place = self.streams.binary_search_by_key(&stream, |(index, _)| *index).ok()?;
        let outages = &self.streams[place].1;
        let row = |outage: Outage| OutageResult {
            from_ns: outage.from.since(epoch).0,
            until_ns: outage.until.map(|until| until.since(epoch).0),
            lost: outage.lost,
        };
        let (total, longest) = outages.times();
        Some(OutagesResult {
            interval_ns: outages.rule().interval().0,
            count: outages.count(),
            total_ns: total.0,
            longest_ns: longest.0,
            last: outages.last().map(row).collect(),
        })
    }
}

/// Arrival times of streams' packets.
#[derive(Clone, Copy)]
pub(crate) struct Instants<'a> {
    /// When the first and the last one did.
    pub(crate) spans: &'a Spans,
    /// When too few did.
    pub(crate) outages: &'a TrialOutages,
    /// When traffic started, on the workers' clock.
    pub(crate) epoch: Nanos,
}

/// Packets per second of a stream, on average; `None` if it takes what there is.
fn rate(stream: &TrialStream) -> Option<f64> {
    match &stream.load.pace {
        Pace::Even(rate) => Some(rate.as_f64()),
        pace => pace.packets_in(Nanos::from_millis(100)).map(|packets| packets as f64 * 10.0),
    }
}
