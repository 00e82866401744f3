//! Translates a rate command to workers' commands.

use super::commands::{RateCommand, Speed};
use crate::trial::{Trial, TrialStream};
use crate::worker::commands::{RateStep, SessionStep, WorkerCommand};
use profile::plan::{SessionEntry, StreamPlan};
use sched::Factor;
use session::Scale;
use session::plan::OpenRate;
use units::{Load, Nanos, Pps};

/// Millionths in one.
const WHOLE_PPM: u32 = 1_000_000;

impl RateCommand {
    /// Commands of workers at `at` of the schedule's time.
    ///
    /// # Errors
    /// Why the rate can't be set.
    pub(crate) fn steps(&self, trial: &Trial<'_>, at: Nanos) -> Result<Vec<WorkerCommand>, String> {
        let streams = self.streams(trial, at);
        let entries = self.entries(&trial.plan.sessions);
        if let Some(name) = &self.stream
            && streams.as_ref().is_some_and(Vec::is_empty)
            && entries.is_empty()
        {
            return Err(self.unknown(name, &trial.plan.sessions));
        }
        let is_meant =
            streams.as_ref().is_none_or(|streams| !streams.is_empty()) && !trial.streams.is_empty();
        let step = |step| WorkerCommand::SetRate(step);
        match self.speed {
            Speed::Share(ppm) => {
                let mut steps = Vec::new();
                if is_meant {
                    steps.push(step(trial.share(streams, ppm, at, !entries.is_empty())?));
                }
                if !entries.is_empty() {
                    let scale = Scale::new(ppm.into(), WHOLE_PPM.into());
                    steps.push(WorkerCommand::ScaleSessions(SessionStep { entries, scale, at }));
                }
                Ok(steps)
            }
            Speed::Rate(_) if !is_meant => Err("sessions are opened at a rate such as 500/s".to_owned()),
            Speed::Rate(load) => Ok(trial.steps(streams, load, at)?.into_iter().map(step).collect()),
            Speed::Open(_) if entries.is_empty() => {
                Err("streams have a rate such as 2Mpps, 1Gbps or 40%; there are no sessions to open"
                    .to_owned())
            }
            Speed::Open(rate) => {
                let scaled = |entry| {
                    let scale = opened_at(&trial.plan.sessions[entry], rate)?;
                    Ok(WorkerCommand::ScaleSessions(SessionStep { entries: vec![entry], scale, at }))
                };
                entries.into_iter().map(scaled).collect()
            }
        }
    }

    /// Indices of the streams that are meant and were not removed; `None` is all.
    fn streams(&self, trial: &Trial<'_>, at: Nanos) -> Option<Vec<u32>> {
        let is_there = |stream: &TrialStream| stream.is_there(at);
        if self.stream.is_none() && trial.streams.iter().all(is_there) {
            return None;
        }
        let is_meant = |plan: &StreamPlan| self.stream.as_ref().is_none_or(|name| plan.is_called(name));
        let all = trial.plan.streams.iter().zip(&trial.streams).zip(0..);
        let meant = all.filter(|((plan, stream), _)| is_meant(plan) && is_there(stream));
        Some(meant.map(|(_, index)| index).collect())
    }

    /// Indices of the entries of sessions that are meant and whose clients run here.
    fn entries(&self, entries: &[SessionEntry]) -> Vec<usize> {
        let is_meant = |entry: &SessionEntry| {
            let plan = &entry.session;
            plan.client.is_some() && self.stream.as_ref().is_none_or(|name| plan.name == *name)
        };
        entries.iter().enumerate().filter(|(_, entry)| is_meant(entry)).map(|(index, _)| index).collect()
    }

    fn unknown(&self, name: &str, entries: &[SessionEntry]) -> String {
        if entries.iter().any(|entry| entry.session.name == *name) {
            return format!("the clients of sessions '{name}' are external; they determine the rate");
        }
        format!("there is no stream '{name}', and no sessions of that name")
    }
}

/// Factor on an entry's planned rate for it to open sessions at the rate `wanted`.
fn opened_at(entry: &SessionEntry, wanted: Pps) -> Result<Scale, String> {
    let plan = &entry.session;
    match &plan.load.open {
        OpenRate::Constant(own) if own.micro() > 0 => Ok(Scale::new(wanted.micro(), own.micro())),
        OpenRate::Max => {
            Err(format!("sessions '{}' open as fast as they can; scale or pause them", plan.name))
        }
        _ => Err(format!("sessions '{}' have no constant rate; scale or pause them", plan.name)),
    }
}

impl Trial<'_> {
    /// Streams at a share of their rate. A stream at maximum rate can only be paused or not; `others` states whether
    /// anything else is changed.
    fn share(
        &self,
        streams: Option<Vec<u32>>,
        ppm: u32,
        at: Nanos,
        others: bool,
    ) -> Result<RateStep, String> {
        let factor = Factor::from_ppm(ppm.into());
        let meant = streams.clone().unwrap_or_else(|| (0..self.streams.len() as u32).collect());
        for index in meant.into_iter().filter(|_| ppm > WHOLE_PPM) {
            let own = self.streams[index as usize].load.pace.mean_rate().unwrap_or(Pps::ZERO);
            let wanted = u128::from(own.micro()) * u128::from(ppm) / u128::from(WHOLE_PPM);
            self.fits(index as usize, Pps::from_micro(u64::try_from(wanted).unwrap_or(u64::MAX)))?;
        }
        let paced = |index: &u32| self.streams[*index as usize].load.pace.is_paced();
        if matches!(ppm, 0 | WHOLE_PPM) || (0..self.streams.len() as u32).all(|index| paced(&index)) {
            return Ok(RateStep { streams, factor, at });
        }
        let mut streams = streams.unwrap_or_else(|| (0..self.streams.len() as u32).collect());
        streams.retain(paced);
        if streams.is_empty() && !others {
            return Err(
                "a stream with 'rate: max' has no rate to take a share of; pause it instead".to_owned()
            );
        }
        Ok(RateStep { streams: Some(streams), factor, at })
    }

    /// Streams at a new rate.
    fn steps(&self, streams: Option<Vec<u32>>, load: Load, at: Nanos) -> Result<Vec<RateStep>, String> {
        let mut steps: Vec<RateStep> = Vec::new();
        for index in streams.unwrap_or_else(|| (0..self.streams.len() as u32).collect()) {
            let factor = self.factor(index as usize, load)?;
            match steps.iter_mut().find(|step| step.factor == factor) {
                Some(step) => step.streams.get_or_insert_default().push(index),
                None => steps.push(RateStep { streams: Some(vec![index]), factor, at }),
            }
        }
        Ok(steps)
    }

    /// Factor on a stream's planned rate for it to have the rate `load`.
    fn factor(&self, index: usize, load: Load) -> Result<Factor, String> {
        let (stream, plan) = (&self.streams[index], &self.plan.streams[index]);
        let own = stream.load.pace.mean_rate().filter(|own| own.micro() > 0);
        let Some(own) = own else {
            return Err(format!("stream '{}' has no rate that can be changed", plan.name));
        };
        let wanted = load.packets(plan.sizes.mix(), stream.speed_bps);
        let wanted = wanted.ok_or("a running stream can't change to 'max'; give a rate")?;
        self.fits(index, wanted)?;
        Ok(Factor::of_rates(wanted, own))
    }

    /// Refuses a rate that the link of a stream's port can't carry, if its speed is known: a slip of a unit, which would
    /// send as much as the port takes.
    fn fits(&self, index: usize, wanted: Pps) -> Result<(), String> {
        let (stream, plan) = (&self.streams[index], &self.plan.streams[index]);
        let line = Load::LinkShare(WHOLE_PPM).packets(plan.sizes.mix(), stream.speed_bps);
        let Some(line) = line.filter(|line| line.micro() > 0) else { return Ok(()) };
        // Both rates are rounded.
        if wanted.micro() <= line.micro().saturating_add(line.micro() / 1_000) {
            return Ok(());
        }
        let port = &self.plan.ports[plan.from].name;
        Err(format!(
            "stream '{}' can't send {wanted}: the link of port {port} carries {line} of its packets; 100% is the most, and the port's \
             'speed' declares another",
            plan.name
        ))
    }
}
