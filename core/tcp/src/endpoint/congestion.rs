//! Data that may be in flight: slow start and congestion avoidance (RFC 5681), CUBIC (RFC 9438), initial window (RFC
//! 6928), restart after idling, ECN's part (RFC 3168).
//!
//! All arithmetic is on integers, so a run is the same on every machine.

use super::{Endpoint, Env, bit};
use crate::options::Congestion;

/// `ssthresh` before anything was lost.
pub(crate) const UNLIMITED: u16 = u16::MAX;
/// No window is larger than can be announced (RFC 7323 section 2.3).
const LARGEST_WINDOW: u32 = 1 << 30;

/// CUBIC since the last reduction. Times are in 1/1024 s, windows in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Cubic {
    /// Window before the last reduction, or a little less (RFC 9438 section 4.7: fast convergence).
    w_max: u32,
    /// Window before the last reduction.
    cwnd_prior: u32,
    /// The curve being climbed; none until the first acknowledgement after a reduction.
    epoch: Option<Epoch>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Epoch {
    began: u64,
    /// Time to reach `origin`.
    k: u64,
    origin: u32,
    /// Reno's estimated window, in 1/1024 bytes.
    w_est: u64,
    /// Bytes squared that did not add up to a byte of window yet.
    credit: u64,
}

impl Cubic {
    fn reduced(&mut self, cwnd: u32) {
        // RFC 9438 section 4.7: give way to newcomers.
        self.w_max = if cwnd < self.w_max { (u64::from(cwnd) * 17 / 20) as u32 } else { cwnd };
        self.cwnd_prior = cwnd;
        self.epoch = None;
    }

    fn timed_out(&mut self) {
        // RFC 9438 section 4.8: the first curve after a time-out begins where slow start ends.
        (self.w_max, self.epoch) = (0, None);
    }

    /// The window after `acked` bytes.
    fn grown(&mut self, now: u64, rtt: u64, cwnd: u32, mss: u32, acked: u32) -> u32 {
        let (w_max, cwnd_prior) = (self.w_max, self.cwnd_prior);
        let epoch = self.epoch.get_or_insert_with(|| Epoch {
            began: now,
            k: if cwnd < w_max {
                cube_root((u64::from(w_max - cwnd) * 5 / (2 * u64::from(mss))) << 30)
            } else {
                0
            },
            origin: cwnd.max(w_max),
            w_est: u64::from(cwnd) << 10,
            credit: 0,
        });
        let (mss, acked, window) = (u64::from(mss), u64::from(acked), u64::from(cwnd));
        // RFC 9438 section 4.3: alpha is 3 (1 - beta) / (1 + beta), and 1 above the window of the last reduction.
        let step = ((mss * acked) << 10) / window;
        epoch.w_est += if epoch.w_est >> 10 >= u64::from(cwnd_prior) { step } else { step * 9 / 17 };
        let t = now.saturating_sub(epoch.began);
        if epoch.at(t, mss) < epoch.w_est >> 10 {
            return ((epoch.w_est >> 10).min(u64::from(LARGEST_WINDOW)) as u32).max(cwnd);
        }
        let target = epoch.at(t + rtt, mss).clamp(window, window + window / 2);
        epoch.credit += (target - window) * acked;
        let step = epoch.credit / window;
        epoch.credit %= window;
        cwnd.saturating_add(step as u32)
    }
}

impl Epoch {
    /// The curve of RFC 9438 section 4.2: C (t - K)^3 + W_max with C = 0.4 segments per second cubed.
    fn at(&self, t: u64, mss: u64) -> u64 {
        let away = (t.abs_diff(self.k)).min(1 << 17);
        let bytes = (((away * away * away) >> 10) * 2 / 5 * mss) >> 20;
        if t < self.k { u64::from(self.origin).saturating_sub(bytes) } else { u64::from(self.origin) + bytes }
    }
}

/// The largest number whose cube is not above `n`.
fn cube_root(n: u64) -> u64 {
    let mut root = 0u64;
    for bit in (0..22).rev() {
        let next = root | 1 << bit;
        if next.checked_pow(3).is_some_and(|cube| cube <= n) {
            root = next;
        }
    }
    root
}

impl Endpoint {
    /// RFC 6928: ten segments or the configured number, fewer for large segments.
    #[inline(always)]
    pub(super) fn initial_window(&self, env: &Env<'_>) -> u32 {
        let (segments, mss) = (u32::from(env.options.initial_window.max(1)), self.room_for_payload());
        (segments * mss).min((2 * mss).max(segments * 1_460)).max(mss)
    }

    /// Congestion window: data that may be in flight.
    #[inline(always)]
    pub(super) fn congestion_window(&self, env: &Env<'_>) -> u32 {
        if env.options.congestion == Congestion::None { u32::MAX } else { self.cwnd }
    }

    /// The slow start threshold in bytes.
    #[inline(always)]
    pub(super) fn threshold(&self) -> u32 {
        if self.ssthresh == UNLIMITED {
            u32::MAX
        } else {
            u32::from(self.ssthresh).saturating_mul(self.room_for_payload())
        }
    }

    /// Grows the window after `acked` bytes were acknowledged while `flight` were in flight.
    #[inline]
    pub(super) fn grow(&mut self, env: &mut Env<'_>, acked: u32, flight: u32) {
        // A window that is not used says nothing about the path (RFC 7661, RFC 9438 section 5.8).
        if self.cwnd < self.threshold() {
            if flight >= self.cwnd / 2 {
                // RFC 5681 section 3.1: at most one segment for each acknowledgement.
                self.cwnd = (self.cwnd + acked.min(self.room_for_payload())).min(LARGEST_WINDOW);
            }
        } else if flight.saturating_add(self.room_for_payload()) > self.cwnd {
            self.avoid_congestion(env, acked);
        }
    }

    #[cold]
    fn avoid_congestion(&mut self, env: &mut Env<'_>, acked: u32) {
        let mss = self.room_for_payload();
        match env.options.congestion {
            Congestion::None => {}
            Congestion::NewReno => {
                let step = u64::from(mss) * u64::from(acked.min(mss)) / u64::from(self.cwnd.max(1));
                self.cwnd = self.cwnd.saturating_add((step as u32).max(1)).min(LARGEST_WINDOW);
            }
            Congestion::Cubic => {
                let (now, rtt, cwnd) =
                    (env.now.0 / 976_563, u64::from(self.srtt >> 3) * 64 / 976_563, self.cwnd.max(1));
                let cubic = self.work(env).cubic.get_or_insert_default();
                self.cwnd = cubic.grown(now, rtt, cwnd, mss, acked).min(LARGEST_WINDOW);
            }
        }
    }

    /// Sets the threshold after a loss or a mark: beta of what was in flight, two segments at least.
    pub(super) fn reduce(&mut self, env: &mut Env<'_>, timed_out: bool) {
        // RFC 5681 section 3.2: what limited transmit sent does not count; it alone goes beyond the window.
        let (flight, cwnd, mss) = (self.flight().min(self.cwnd), self.cwnd, self.room_for_payload());
        let target = match env.options.congestion {
            Congestion::None => return,
            // RFC 5681 section 3.1, equation 4.
            Congestion::NewReno => flight / 2,
            Congestion::Cubic => {
                let cubic = self.work(env).cubic.get_or_insert_default();
                cubic.reduced(cwnd);
                if timed_out {
                    cubic.timed_out();
                }
                // RFC 9438 section 4.6: beta is 0.7.
                (u64::from(flight) * 7 / 10) as u32
            }
        };
        self.ssthresh = (target / mss).clamp(2, u32::from(UNLIMITED) - 1) as u16;
    }

    /// RFC 5681 section 4.1: after a silence longer than the time-out, begin as at first.
    #[inline(always)]
    pub(super) fn restart_after_idle(&mut self, env: &mut Env<'_>) {
        if self.cwnd > u32::from(env.options.initial_window) * self.room_for_payload()
            && !self.has(bit::TIMING)
        {
            self.restart_if_idle(env);
        }
    }

    fn restart_if_idle(&mut self, env: &mut Env<'_>) {
        let initial = self.initial_window(env);
        let silence = u64::from(self.clock(env).wrapping_sub(self.timed_at)) << 6;
        if silence > self.time_out(env).0 + (u64::from(self.srtt >> 3) << 6) {
            self.cwnd = initial;
            if self.is_boxed() {
                self.work(env).cubic = None;
            }
        }
    }

    /// RFC 3168 section 6.1.2: an echoed mark counts as a loss, once in a round trip, and is confirmed by CWR.
    pub(super) fn echoed_mark(&mut self, env: &mut Env<'_>) {
        env.counts.ecn_echoes += 1;
        let (una, nxt) = (self.snd_una, self.snd_nxt);
        if self.flight() == 0 {
            return;
        }
        let work = self.work(env);
        if work.recovery.is_some() || work.reduced.is_some_and(|end| super::sequence::before(una, end)) {
            return;
        }
        work.reduced = Some(nxt);
        env.counts.ecn_reductions += 1;
        self.work(env).undo = None;
        self.reduce(env, false);
        self.cwnd = self.cwnd.min(self.threshold());
        self.set(bit::CWR);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1_460;

    #[test]
    fn cube_roots() {
        for (n, root) in
            [(0, 0), (1, 1), (7, 1), (8, 2), (26, 2), (27, 3), (1 << 30, 1 << 10), (1 << 63, 1 << 21)]
        {
            assert_eq!(cube_root(n), root, "{n}");
        }
    }

    /// RFC 9438 section 4.2: the window is W_max again after K = cbrt(W_max (1 - beta) / C) seconds.
    #[test]
    fn cubic_is_back_after_k_seconds() {
        let mut cubic = Cubic::default();
        let before = 1_000 * MSS;
        cubic.reduced(before);
        let mut cwnd = 700 * MSS;
        let k = (300f64 / 0.4).cbrt();
        let (rtt, mut now) = (102, 0u64);
        let mut seen = None;
        for _ in 0..200 {
            // Each round trip all of the window is acknowledged, a segment at a time.
            for _ in 0..cwnd / MSS {
                cwnd = cubic.grown(now, rtt, cwnd, MSS, MSS);
            }
            now += rtt;
            if cwnd >= before && seen.is_none() {
                seen = Some(now as f64 / 1024.0);
            }
        }
        let seen = seen.expect("W_max is reached");
        assert!((seen - k).abs() < 1.5, "after {seen} s instead of {k} s");
        assert!(cwnd > before * 14 / 10, "and passed after that: {cwnd}");
    }

    /// RFC 9438 section 4.3: on short paths CUBIC is not slower than Reno.
    #[test]
    fn cubic_keeps_up_with_reno_on_short_paths() {
        let mut cubic = Cubic::default();
        cubic.reduced(20 * MSS);
        let mut cwnd = 14 * MSS;
        for round in 0..100 {
            for _ in 0..cwnd / MSS {
                cwnd = cubic.grown(round, 1, cwnd, MSS, MSS);
            }
        }
        // 100 ms is nothing to the curve; Reno's way gains about half a segment, then a whole one, per round trip.
        assert!(cwnd > 60 * MSS && cwnd < 130 * MSS, "{}", cwnd / MSS);
    }

    #[test]
    fn cubic_converges_fast() {
        let mut cubic = Cubic::default();
        cubic.reduced(1_000);
        cubic.reduced(800);
        assert_eq!((cubic.w_max, cubic.cwnd_prior), (680, 800));
    }
}
