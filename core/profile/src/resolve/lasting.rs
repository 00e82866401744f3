//! Checks that there is enough time for requested counts: packets, loops of captures, flows, sessions.

use super::Resolver;
use crate::plan::{Pattern, SessionEntry, StreamPlan};
use session::plan::OpenRate;
use units::{BitRate, Layer, Load, Nanos, Pps, count};

/// Streams of a kind that are warned of at most.
const WARNED_MAX: usize = 5;

impl Resolver<'_> {
    /// Warns of streams with a rate above the declared speed of their port.
    fn warn_of_too_fast(&mut self, streams: &[StreamPlan]) {
        let line = |stream: &StreamPlan| {
            let speed = self.ports.get(stream.from)?.speed_bps?;
            let pps = |load: Load| load.packets(stream.sizes.mix(), speed).map(Pps::micro);
            let (wanted, line) = (pps(stream.rate)?, pps(Load::LinkShare(1_000_000))?);
            // Both rates are rounded.
            (wanted > line.saturating_add(line / 1_000)).then_some(speed)
        };
        let fast = streams.iter().filter_map(|stream| Some((stream, line(stream)?))).take(WARNED_MAX);
        let warnings = fast.map(|(stream, bps)| {
            let (name, port) = (&stream.name, &self.ports[stream.from].name);
            // A link's speed needs no layer.
            let speed = BitRate { bps, layer: Layer::L2 };
            format!(
                "stream {name}: its rate, {}, with preambles and gaps is more than the {speed} of port {port}, which are 100%: it \
                 will not send all",
                stream.rate
            )
        });
        let warnings: Vec<String> = warnings.collect();
        self.warnings.extend(warnings);
    }

    /// Warns of streams and entries that can't reach their requested counts by the end of `duration`.
    pub(super) fn warn_of_too_much(
        &mut self,
        streams: &[StreamPlan],
        sessions: &[SessionEntry],
        duration: Nanos,
    ) {
        let default = match self.overrides.duration.is_none() && !self.reading.has("load.duration") {
            true => format!("{duration}, the default of 'load.duration'"),
            false => format!("the {duration} that traffic lasts"),
        };
        let late = |stream: &&StreamPlan| {
            let speed = self.ports.get(stream.from).and_then(|port| port.speed_bps);
            stream.duration.is_none() && time_of(stream, speed).is_some_and(|time| time > duration)
        };
        let late: Vec<&StreamPlan> = streams.iter().filter(late).collect();
        if let Some(first) = late.first() {
            let speed = self.ports.get(first.from).and_then(|port| port.speed_bps);
            let time = time_of(first, speed).unwrap_or(duration);
            let more = if late.len() > 1 {
                format!(", and {} more streams likewise", late.len() - 1)
            } else {
                String::new()
            };
            self.warnings.push(format!(
                "stream {}: its {} packets take {}, longer than {default}: it will not send all{more}",
                first.name,
                count(first.count.unwrap_or(0)),
                rounded(time)
            ));
        }
        self.warn_of_too_fast(streams);
        for key in ["ramp_up", "ramp_down", "multiply"] {
            if sessions.is_empty() && self.reading.has(&format!("load.{key}")) {
                self.warnings.push(format!("load.{key}: applies to sessions only, and there are none"));
            }
        }
        for stream in streams.iter().filter(|stream| stream.start_delay >= duration).take(WARNED_MAX) {
            self.warnings.push(format!(
                "stream {}: it starts after {}, and not within {default}: it will send nothing",
                stream.name, stream.start_delay
            ));
        }
        let cut = |stream: &&StreamPlan| {
            let end = stream.duration.map(|time| stream.start_delay.saturating_add(time));
            stream.start_delay < duration && end.is_some_and(|end| end > duration)
        };
        for stream in streams.iter().filter(cut).take(WARNED_MAX) {
            self.warnings.push(format!(
                "stream {}: its {} from {} on end after {default}: it will send for {} of them",
                stream.name,
                stream.duration.unwrap_or_default(),
                stream.start_delay,
                duration.since(stream.start_delay)
            ));
        }
        for entry in sessions {
            if entry.session.client.is_some() && entry.session.load.start_delay >= duration {
                self.warnings.push(format!(
                    "sessions {}: they start after {}, and not within {default}: none will be opened",
                    entry.session.name, entry.session.load.start_delay
                ));
                continue;
            }
            let load = &entry.session.load;
            let (Some(asked), OpenRate::Constant(rate)) = (load.count, &load.open) else { continue };
            let time = after(asked.saturating_sub(1), *rate).saturating_add(load.start_delay);
            if time > duration && entry.session.client.is_some() {
                self.warnings.push(format!(
                    "sessions {}: {} sessions take {} to open, longer than {default}: not all will be opened",
                    entry.session.name,
                    count(asked),
                    rounded(time)
                ));
            }
        }
    }
}

fn rounded(time: Nanos) -> Nanos {
    let unit = if time.0 > 10_000_000_000 { 100_000_000 } else { 1_000_000 };
    Nanos(time.0.div_ceil(unit).saturating_mul(unit))
}

/// When packet `number`, from 0, leaves at a rate.
pub(super) fn after(number: u64, rate: Pps) -> Nanos {
    let nanos = u128::from(number) * 1_000_000_000_000_000 / u128::from(rate.micro().max(1));
    Nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// From the start of traffic to a stream's last packet, if its number of packets and its times are known.
fn time_of(stream: &StreamPlan, speed_bps: Option<u64>) -> Option<Nanos> {
    let last = stream.count?.checked_sub(1)?;
    let rate =
        || stream.rate.packets(stream.sizes.mix(), speed_bps.unwrap_or(0)).filter(|rate| *rate > Pps::ZERO);
    let time = match &stream.pattern {
        Pattern::Continuous | Pattern::Bursts { .. } | Pattern::Poisson { .. } => after(last, rate()?),
        Pattern::Captured { times, period } => {
            let n = times.len().max(1) as u64;
            let loops = Nanos(period.0.saturating_mul(last / n));
            loops.saturating_add(*times.get((last % n) as usize)?)
        }
        Pattern::Interleaved { places, of, mix } => {
            let n = places.len().max(1) as u64;
            let rate = stream.rate.packets(*mix, speed_bps.unwrap_or(0)).filter(|rate| *rate > Pps::ZERO);
            after((last / n).saturating_mul(*of).saturating_add(*places.get((last % n) as usize)?), rate?)
        }
        Pattern::Flows { offsets, rate, flows: Some(flows), loops: (times, period), .. } => {
            let loops = Nanos(period.0.saturating_mul(times.saturating_sub(1)));
            loops.saturating_add(after(flows.saturating_sub(1), *rate)).saturating_add(*offsets.last()?)
        }
        _ => return None,
    };
    Some(time.saturating_add(stream.start_delay))
}
