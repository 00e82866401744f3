//! How well delays between the machines of a run are known.
//!
//! Not here: comparing two clocks (`clocks`).

use super::{Group, READING_NS};
use crate::clocks::Comparison;
use ::clocks::{ErrorRange, Shortest};
use engine::RawTimes;
use result::{AgentResult, IntervalDocument, ResultDocument, StreamResult};
use units::Nanos;

impl Group<'_> {
    /// Notes the shortest delays between parts in an interval, each measured by the part that received.
    pub(super) fn note_delays(&mut self, taken: &[Option<(IntervalDocument, RawTimes)>]) {
        for (name, (from, to)) in &self.shares.streams {
            let Some(to) = to.filter(|to| to != from) else { continue };
            let Some(Some((interval, _))) = taken.get(to) else { continue };
            let delay = interval.streams.get(name).and_then(|row| row.latency_ns.as_ref());
            if let Some(delay) = delay.filter(|delay| delay.samples > 0) {
                let shortest = self.shortest.entry((*from, to)).or_default();
                shortest.add(interval.at_s, interval.interval_s, delay.min as f64);
            }
        }
    }

    /// Adds how well delays between machines are known. Where test packets went both ways, their shortest delays are the better
    /// comparison of the clocks, and delays are corrected by it.
    pub(super) fn tell_clocks(&self, result: &mut ResultDocument) {
        let mut worst: Option<(u64, &'static str)> = None;
        for (name, (from, to)) in &self.shares.streams {
            let Some(to) = to.filter(|to| to != from) else { continue };
            let Some(row) = result.streams.get_mut(name).filter(|row| row.latency_ns.is_some()) else {
                continue;
            };
            let known = self.known(&result.agents, *from, to);
            row.latency_uncertainty_ns = Some(known.uncertainty_ns);
            row.latency_clock = Some(known.method.into());
            correct(row, known.error_ns);
            worst = worst.max(Some((known.uncertainty_ns, known.method)));
        }
        if let Some((ns, method)) = worst {
            let how = match method {
                "kernel" => "the time daemons of their kernels compare their clocks that well",
                Comparison::PACKETS => "test packets that went both ways compare their clocks that well",
                _ => "that is how well their clocks are compared",
            };
            result.verdict.notes.push(format!(
                "one-way latency between machines is known within {}: {how}; round trips and loss do not depend on it",
                Nanos(ns)
            ));
        }
    }

    /// The error of measured delays between two parts, by the best of the methods.
    fn known(&self, agents: &[AgentResult], from: usize, to: usize) -> KnownError {
        let of = |part: usize| {
            agents.get(part).map_or((0, "shared"), |agent| (agent.uncertainty_ns, method(&agent.clock)))
        };
        let (one, other) = (of(from), of(to));
        let uncertainty_ns = one.0.saturating_add(other.0);
        let stated = KnownError { error_ns: 0, uncertainty_ns, method: one.max(other).1 };
        let none = Shortest::default();
        let way = |key: (usize, usize)| self.shortest.get(&key).unwrap_or(&none);
        let bound = uncertainty_ns as f64;
        let packets = ErrorRange::of(way((from, to)), way((to, from)))
            .and_then(|range| range.within(ErrorRange { least_ns: -bound, most_ns: bound }));
        let Some(packets) = packets else { return stated };
        let better = packets.uncertainty_ns().ceil() as u64 + READING_NS;
        if better >= uncertainty_ns {
            return stated;
        }
        KnownError {
            error_ns: packets.middle_ns().round() as i64,
            uncertainty_ns: better,
            method: Comparison::PACKETS,
        }
    }
}

/// The error of delays between two machines.
struct KnownError {
    /// As much too long they were measured, ns.
    error_ns: i64,
    /// Bound on the error of that, ns.
    uncertainty_ns: u64,
    method: &'static str,
}

/// A method's name.
fn method(name: &str) -> &'static str {
    ["exchange", "kernel"].into_iter().find(|known| *known == name).unwrap_or("shared")
}

/// Makes a stream's delays shorter by an error.
fn correct(row: &mut StreamResult, error_ns: i64) {
    let undisturbed = row.undisturbed.as_mut().and_then(|part| part.latency_ns.as_mut());
    for delay in row.latency_ns.iter_mut().chain(undisturbed) {
        let right = |ns: &mut u64| *ns = ns.saturating_add_signed(error_ns.saturating_neg());
        right(&mut delay.min);
        right(&mut delay.max);
        delay.mean = (delay.mean - error_ns as f64).max(0.0);
        let percentiles = [
            &mut delay.p50,
            &mut delay.p90,
            &mut delay.p95,
            &mut delay.p99,
            &mut delay.p99_9,
            &mut delay.p99_99,
        ];
        percentiles.into_iter().flatten().for_each(right);
    }
}
