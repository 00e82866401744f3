//! The rate limit of a port, enforced where its frames leave: regardless of the schedule, no more is sent.
//!
//! A token bucket. It holds what the limit allows in [`DEPTH`], or one frame if that is more; a frame that is sent is paid
//! for afterwards, so that one longer than the bucket can leave too.
//!
//! Invariant: over any time *t* a worker sends its share of the limit times *t*, and at most one full bucket and the
//! hosts' replies of a moment more.

use units::{Layer, Load, Nanos};

/// Time in which a bucket fills.
const DEPTH: f64 = 10e6;
/// Bits on the wire in addition to a frame with its FCS: preamble, start delimiter and gap.
const L1_BITS: f64 = 160.0;

/// One worker's share of a port's limit. Tokens are packets or bits, as the limit counts.
#[derive(Debug, Clone)]
pub(crate) struct Cap {
    /// Tokens per nanosecond.
    per_ns: f64,
    /// Most tokens.
    depth: f64,
    /// Tokens now; below zero, they are owed.
    tokens: f64,
    at: Nanos,
    per_packet: f64,
    per_byte: f64,
    /// Tokens of the longest frame.
    longest: f64,
}

impl Cap {
    /// The limit `load`, shared by `workers`, on a port whose longest frame is `longest` bytes with FCS. `None` if the
    /// load is none in itself.
    pub(crate) fn new(load: Load, workers: u16, longest: u32) -> Option<Self> {
        let (per_s, per_packet, per_byte) = match load {
            Load::Packets(rate) => (rate.as_f64(), 1.0, 0.0),
            Load::Bits(rate) => (rate.bps as f64, if rate.layer == Layer::L1 { L1_BITS } else { 0.0 }, 8.0),
            Load::LinkShare(_) | Load::Max => return None,
        };
        let per_ns = per_s / 1e9 / f64::from(workers.max(1));
        let longest = per_packet + per_byte * f64::from(longest);
        let depth = (per_ns * DEPTH).max(longest);
        Some(Self { per_ns, depth, tokens: depth, at: Nanos::ZERO, per_packet, per_byte, longest })
    }

    /// Frames of `longest` bytes with FCS may leave, too.
    pub(crate) fn lengthen(&mut self, longest: u32) {
        self.longest = self.longest.max(self.per_packet + self.per_byte * f64::from(longest));
        self.depth = self.depth.max(self.longest);
    }

    /// Also keeps the credit that arrives within [`DEPTH`] beside a frame: a caller that polls rarely would otherwise
    /// lose the credit between the earliest departure of a frame and the poll.
    pub(crate) fn looked_at_seldom(mut self) -> Self {
        self.depth = self.depth.max(self.longest + self.per_ns * DEPTH);
        self
    }

    /// Packets that may leave at `now`.
    #[inline]
    pub(crate) fn room(&mut self, now: Nanos) -> usize {
        self.fill(now);
        (self.tokens / self.longest).max(0.0) as usize
    }

    /// Whether a reply may leave at `now`. Replies may be sent on credit, so that a port at its limit still resolves
    /// neighbours.
    pub(crate) fn may_answer(&mut self, now: Nanos) -> bool {
        self.fill(now);
        self.tokens > -self.depth
    }

    /// Pays for what has left.
    #[inline]
    pub(crate) fn pay(&mut self, packets: u64, bytes: u64) {
        self.tokens -= packets as f64 * self.per_packet + bytes as f64 * self.per_byte;
    }

    #[inline]
    fn fill(&mut self, now: Nanos) {
        let passed = now.since(self.at).0 as f64;
        self.tokens = (self.tokens + passed * self.per_ns).min(self.depth);
        self.at = now.max(self.at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets sent by greedy workers in a second, with packets of `bytes`, polling every `step` ns.
    fn sent(load: &str, workers: u16, bytes: u32, step: u64) -> u64 {
        let cap = Cap::new(load.parse().unwrap(), workers, bytes).unwrap();
        let mut caps = vec![cap; usize::from(workers)];
        let mut packets = 0;
        for now in (0..=1_000_000_000).step_by(step as usize) {
            for cap in &mut caps {
                let n = cap.room(Nanos(now)).min(64) as u64;
                cap.pay(n, n * u64::from(bytes));
                packets += n;
            }
        }
        packets
    }

    #[test]
    fn no_more_leaves_than_the_limit() {
        for (load, workers, bytes, least, most) in [
            ("1kpps", 1, 64, 1_000, 1_011),
            ("1kpps", 4, 64, 990, 1_011),
            ("8Mbps", 1, 1_000, 1_000, 1_011),
            ("8Mbps-L1", 1, 980, 1_000, 1_011),
            ("1pps", 1, 1_518, 1, 2),
            ("1Mpps", 2, 64, 999_000, 1_010_001),
        ] {
            let sent = sent(load, workers, bytes, 10_000);
            assert!((least..=most).contains(&sent), "{load} with {workers} workers: {sent}");
        }
    }

    #[test]
    fn an_answer_is_owed_for_but_not_for_ever() {
        let mut cap = Cap::new("1kpps".parse().unwrap(), 1, 64).unwrap();
        cap.pay(10, 640);
        assert_eq!(cap.room(Nanos::ZERO), 0);
        let answers = (0..100)
            .filter(|_| {
                cap.may_answer(Nanos::ZERO) && {
                    cap.pay(1, 64);
                    true
                }
            })
            .count();
        assert_eq!(answers, 10);
        assert!(cap.may_answer(Nanos::from_millis(5)));
    }

    #[test]
    fn seldom_looks_lose_nothing() {
        let loads =
            [("100pps", 64, 300), ("1kpps", 64, 3_000), ("243200bps", 304, 300), ("8Mbps", 1_000, 3_000)];
        for (load, bytes, allowed) in loads {
            let mut cap = Cap::new(load.parse().unwrap(), 1, 1_518).unwrap().looked_at_seldom();
            let mut packets = 0;
            for now in (0..=3_000_000_000_u64).step_by(7_300_000) {
                while cap.room(Nanos(now)) > 0 {
                    cap.pay(1, bytes);
                    packets += 1;
                }
            }
            // The last look is up to 7.3 ms before the end.
            assert!((allowed - 10..=allowed + 12).contains(&packets), "{load}: {packets}");
        }
    }

    #[test]
    fn a_share_is_no_limit() {
        assert!(Cap::new(Load::Max, 1, 64).is_none());
    }
}
