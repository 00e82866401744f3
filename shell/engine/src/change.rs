//! Changing the rate of a running trial.

use crate::trial::Trial;
use profile::plan::StreamPlan;
use sched::Factor;
use units::{Load, Nanos};

/// A change to a running trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Name of the stream, or of a stream with copies for all of them; `None` is all streams.
    pub stream: Option<String>,
    /// What becomes of its rate.
    pub speed: Speed,
}

/// What becomes of a stream's rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speed {
    /// Millionths of what its profile says: 0 holds the stream, 1,000,000 brings it back.
    Share(u32),
    /// A rate of its own.
    Rate(Load),
}

/// A change as workers are told it.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    /// Indices of the streams, ascending; `None` is all.
    pub(crate) streams: Option<Vec<u32>>,
    pub(crate) factor: Factor,
    /// When, on the schedule's time.
    pub(crate) at: Nanos,
}

impl Change {
    /// The orders this change means, or why it can't be made.
    pub(crate) fn orders(&self, trial: &Trial<'_>, at: Nanos) -> Result<Vec<Order>, String> {
        let streams = self.streams(&trial.plan.streams)?;
        let load = match self.speed {
            Speed::Share(ppm) => {
                let streams = trial.with_speed(streams, ppm)?;
                return Ok(vec![Order { streams, factor: Factor::from_ppm(ppm.into()), at }]);
            }
            Speed::Rate(load) => load,
        };
        let all = || (0..trial.streams.len() as u32).collect();
        let indices: Vec<u32> = streams.unwrap_or_else(all);
        let mut orders: Vec<Order> = Vec::new();
        for index in indices {
            let factor = trial.factor(index as usize, load)?;
            match orders.iter_mut().find(|order| order.factor == factor) {
                Some(order) => order.streams.get_or_insert_default().push(index),
                None => orders.push(Order { streams: Some(vec![index]), factor, at }),
            }
        }
        Ok(orders)
    }

    fn streams(&self, plans: &[StreamPlan]) -> Result<Option<Vec<u32>>, String> {
        let Some(name) = &self.stream else { return Ok(None) };
        let is_meant = |plan: &StreamPlan| {
            let copy_of = || plan.name.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('['));
            plan.name == *name || copy_of()
        };
        let found = plans.iter().zip(0..).filter(|(plan, _)| is_meant(plan)).map(|(_, index)| index);
        let found: Vec<u32> = found.collect();
        if found.is_empty() { Err(format!("there is no stream '{name}'")) } else { Ok(Some(found)) }
    }
}

impl Trial<'_> {
    /// Those of `streams` that can be sent at a share of their rate. One that sends as fast as it can is only held or not.
    fn with_speed(&self, streams: Option<Vec<u32>>, ppm: u32) -> Result<Option<Vec<u32>>, String> {
        let paced = |index: &u32| self.streams[*index as usize].load.pace.is_paced();
        if matches!(ppm, 0 | 1_000_000) || (0..self.streams.len() as u32).all(|index| paced(&index)) {
            return Ok(streams);
        }
        let mut streams = streams.unwrap_or_else(|| (0..self.streams.len() as u32).collect());
        streams.retain(paced);
        if streams.is_empty() {
            return Err(
                "what sends as fast as it can has no rate of its own to take a share of; pause it".to_owned()
            );
        }
        Ok(Some(streams))
    }

    /// How many times as fast as its profile says a stream must be to have the rate `load`.
    fn factor(&self, index: usize, load: Load) -> Result<Factor, String> {
        let (stream, plan) = (&self.streams[index], &self.plan.streams[index]);
        let own = stream.load.pace.mean_rate().filter(|own| own.micro() > 0);
        let Some(own) = own else {
            return Err(format!("stream '{}' has no rate of its own that could be changed", plan.name));
        };
        let wanted = load.packets(plan.sizes.mix(), stream.speed_bps);
        let wanted = wanted.ok_or("a running stream's rate is a number; 'max' can't be had")?;
        Ok(Factor::of_rates(wanted, own))
    }
}
