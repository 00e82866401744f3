//! Arrival times of frames that the kernel or a network card has stamped, on the workers' clock.
//!
//! A frame without a stamp counts as arrived when the worker took it in, as on ports without stamps.

use super::clocks::Clocks;
use crate::counts::interval::PortCounts;
use measure::Arrival;
use port::{BURST, Burst, Clock, KernelClock};
use units::Nanos;

/// One queue's arrival times.
pub(super) struct Stamped {
    clock: KernelClock,
    clocks: Clocks,
    /// Of each frame of the burst.
    frames: [Nanos; BURST],
    /// Of each arrival.
    arrivals: [Nanos; BURST],
}

impl Stamped {
    /// Stamps are of this clock.
    pub(super) fn new(clock: KernelClock) -> Self {
        Self {
            clock,
            clocks: Clocks::default(),
            frames: [Nanos::ZERO; BURST],
            arrivals: [Nanos::ZERO; BURST],
        }
    }

    /// Reads the stamps of a burst that was taken in at `now`.
    pub(super) fn read<C: Clock>(&mut self, clock: &C, burst: &Burst, now: Nanos, counts: &mut PortCounts) {
        self.clocks.compare(clock, self.clock);
        counts.rx_clock_error_ns = counts.rx_clock_error_ns.max(self.clocks.error_ns);
        for (i, at) in self.frames[..burst.len()].iter_mut().enumerate() {
            let stamp = burst.arrived_ns(i);
            counts.rx_stamped += u64::from(stamp != 0);
            *at = if stamp == 0 { now } else { self.clocks.convert(stamp).min(now) };
        }
    }

    /// When the `i`-th frame arrived.
    pub(super) fn at(&self, i: usize) -> Nanos {
        self.frames[i]
    }

    /// Corrects the latency of arrivals, each of the frame in `places`, which was computed as if all had arrived at `now`. Returns when
    /// they did.
    pub(super) fn correct(
        &mut self,
        arrivals: &mut [Arrival],
        places: &[u8],
        now: Nanos,
        counts: &mut PortCounts,
    ) -> &[Nanos] {
        for ((arrival, place), at) in arrivals.iter_mut().zip(places).zip(&mut self.arrivals) {
            let (sent, arrived) = (now.since(Nanos(arrival.latency)), self.frames[usize::from(*place)]);
            let is_before = arrived.saturating_add(Nanos(self.clocks.error_ns)) < sent;
            counts.rx_before_sent += u64::from(is_before);
            *at = arrived.max(sent);
            arrival.latency = at.since(sent).0;
        }
        &self.arrivals[..arrivals.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_end_where_the_frame_was_stamped() {
        let mut stamped = Stamped::new(KernelClock::REALTIME);
        stamped.frames[..3].copy_from_slice(&[Nanos(900), Nanos(1_000), Nanos(400)]);
        stamped.clocks.error_ns = 50;
        // All were sent at 500 or, the third, at 420; the worker took them in at 1,000.
        let mut arrivals = [500, 500, 580].map(|latency| Arrival { latency, ..Arrival::default() });
        let mut counts = PortCounts::default();
        let at = stamped.correct(&mut arrivals, &[0, 1, 2], Nanos(1_000), &mut counts).to_vec();
        assert_eq!(arrivals.map(|arrival| arrival.latency), [400, 500, 0]);
        assert_eq!((at, counts.rx_before_sent), (vec![Nanos(900), Nanos(1_000), Nanos(420)], 0));
        // Further before than the clocks' error explains.
        let mut arrivals = [Arrival { latency: 400, ..Arrival::default() }];
        stamped.correct(&mut arrivals, &[2], Nanos(1_000), &mut counts);
        assert_eq!((arrivals[0].latency, counts.rx_before_sent), (0, 1));
    }
}
