//! When the packets of a script's transmit queue are due. Pure: time is an argument.
//!
//! Invariant: a queue that fell behind by more than [`BEHIND_MAX`] starts anew instead of catching up in one burst.

/// Maximum time behind its schedule that a queue catches up, ns.
const BEHIND_MAX: f64 = 50e6;

/// Source of the gap before a packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Mode {
    /// The rate of the queue, if it has one.
    Queue,
    /// The same gap always, ns.
    Constant(f64),
    /// Exponentially distributed gaps with this mean, ns (a Poisson process).
    Poisson(f64),
    /// Each packet's own delay times this many nanoseconds.
    Delay(f64),
    /// The packet's time on the link, with preamble, FCS and the smallest gap (24 bytes in all), and its delay, all times
    /// this many nanoseconds a byte.
    OnLink(f64),
}

/// The schedule of one queue.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pace {
    /// Layer-2 bits per nanosecond, FCS included; 0 is without limit.
    bits_per_ns: f64,
    /// When the last packet was due, ns.
    last: f64,
    /// When the next one is, once that is known.
    next: Option<f64>,
    drawn: u64,
    key: u64,
}

impl Pace {
    /// A queue without a rate; `seed` decides its random gaps.
    pub(crate) fn new(seed: u64) -> Self {
        Self { key: random::key(seed), ..Self::default() }
    }

    /// Sets the rate, Mbit/s; not a number, 0 or less is none.
    pub(crate) fn set_rate(&mut self, mbit: f64) {
        self.bits_per_ns = if mbit.is_finite() && mbit > 0.0 { mbit / 1_000.0 } else { 0.0 };
    }

    /// Whether packets leave as fast as they come.
    pub(crate) fn is_unlimited(&self, mode: Mode) -> bool {
        mode == Mode::Queue && self.bits_per_ns == 0.0
    }

    /// When a packet of `len` bytes without FCS is due, at `now` (both ns). The same until it was [`taken`](Self::taken).
    pub(crate) fn due(&mut self, mode: Mode, len: u32, delay: f64, now: f64) -> f64 {
        if let Some(next) = self.next {
            return next;
        }
        let len = f64::from(len);
        let gap = match mode {
            Mode::Queue => (len + 4.0) * 8.0 / self.bits_per_ns,
            Mode::Constant(gap) => gap,
            Mode::Poisson(mean) => {
                self.drawn += 1;
                // In (0, 1]: the logarithm of 0 is none.
                let uniform = 1.0 - (random::word(self.key, self.drawn) >> 11) as f64 / (1_u64 << 53) as f64;
                -uniform.ln() * mean
            }
            Mode::Delay(ns) => delay * ns,
            Mode::OnLink(ns) => (len + 24.0 + delay) * ns,
        };
        let mut due = self.last + if gap.is_finite() { gap.max(0.0) } else { 0.0 };
        if self.last == 0.0 || due + BEHIND_MAX < now {
            due = now;
        }
        self.next = Some(due);
        due
    }

    /// The last requested packet has left.
    pub(crate) fn taken(&mut self) {
        if let Some(next) = self.next.take() {
            self.last = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends as a sender that is always there does; returns when packets left.
    fn sent(mode: Mode, mbit: f64, n: usize) -> Vec<f64> {
        let mut pace = Pace::new(1);
        pace.set_rate(mbit);
        let mut now = 1e9;
        let one = |_| {
            now = pace.due(mode, 60, 36.0, now).max(now);
            pace.taken();
            now
        };
        (0..n).map(one).collect()
    }

    #[test]
    fn rates_are_exact_on_the_whole() {
        let times = sent(Mode::Queue, 500.0, 100_001);
        // 64 bytes at 500 Mbit/s.
        assert!((times[100_000] - times[0] - 100_000.0 * 1024.0).abs() < 1.0);
        let times = sent(Mode::OnLink(0.8), 0.0, 11);
        assert!((times[10] - times[0] - 10.0 * 96.0).abs() < 1e-3);
    }

    #[test]
    fn poisson_gaps_have_their_mean_and_deviation() {
        let times = sent(Mode::Poisson(1000.0), 0.0, 100_001);
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / 1e5;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / 1e5;
        assert!((mean - 1000.0).abs() < 15.0, "{mean}");
        assert!((variance.sqrt() - 1000.0).abs() < 30.0, "{variance}");
    }

    #[test]
    fn a_queue_far_behind_starts_anew() {
        let mut pace = Pace::new(1);
        pace.due(Mode::Constant(10.0), 60, 0.0, 1e9);
        pace.taken();
        assert_eq!(pace.due(Mode::Constant(10.0), 60, 0.0, 2e9), 2e9);
        assert_eq!(pace.due(Mode::Constant(10.0), 60, 0.0, 3e9), 2e9, "asked twice, the same");
    }
}
