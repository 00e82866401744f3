//! From a rate command to what workers are told.

use super::commands::{RateCommand, Speed};
use crate::trial::Trial;
use crate::worker::commands::RateStep;
use profile::plan::StreamPlan;
use sched::Factor;
use units::{Load, Nanos};

impl RateCommand {
    /// The steps workers take at `at` of the schedule's time.
    ///
    /// # Errors
    /// Why the rate can't be set.
    pub(crate) fn steps(&self, trial: &Trial<'_>, at: Nanos) -> Result<Vec<RateStep>, String> {
        let streams = self.indices(&trial.plan.streams)?;
        let load = match self.speed {
            Speed::Share(ppm) => {
                let streams = trial.paced_at(streams, ppm)?;
                return Ok(vec![RateStep { streams, factor: Factor::from_ppm(ppm.into()), at }]);
            }
            Speed::Rate(load) => load,
        };
        let all = || (0..trial.streams.len() as u32).collect();
        let indices: Vec<u32> = streams.unwrap_or_else(all);
        let mut steps: Vec<RateStep> = Vec::new();
        for index in indices {
            let factor = trial.factor(index as usize, load)?;
            match steps.iter_mut().find(|step| step.factor == factor) {
                Some(step) => step.streams.get_or_insert_default().push(index),
                None => steps.push(RateStep { streams: Some(vec![index]), factor, at }),
            }
        }
        Ok(steps)
    }

    /// Indices of the streams that are meant; `None` is all.
    fn indices(&self, plans: &[StreamPlan]) -> Result<Option<Vec<u32>>, String> {
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
    fn paced_at(&self, streams: Option<Vec<u32>>, ppm: u32) -> Result<Option<Vec<u32>>, String> {
        let paced = |index: &u32| self.streams[*index as usize].load.pace.is_paced();
        if matches!(ppm, 0 | 1_000_000) || (0..self.streams.len() as u32).all(|index| paced(&index)) {
            return Ok(streams);
        }
        let mut streams = streams.unwrap_or_else(|| (0..self.streams.len() as u32).collect());
        streams.retain(paced);
        if streams.is_empty() {
            return Err(
                "a stream with 'rate: max' has no rate to take a share of; pause it instead".to_owned()
            );
        }
        Ok(Some(streams))
    }

    /// How many times as fast as its profile says a stream must be to have the rate `load`.
    fn factor(&self, index: usize, load: Load) -> Result<Factor, String> {
        let (stream, plan) = (&self.streams[index], &self.plan.streams[index]);
        let own = stream.load.pace.mean_rate().filter(|own| own.micro() > 0);
        let Some(own) = own else {
            return Err(format!("stream '{}' has no rate that can be changed", plan.name));
        };
        let wanted = load.packets(plan.sizes.mix(), stream.speed_bps);
        let wanted = wanted.ok_or("a running stream can't change to 'max'; give a rate")?;
        Ok(Factor::of_rates(wanted, own))
    }
}
