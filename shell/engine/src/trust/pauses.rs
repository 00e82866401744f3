//! Causes that kept the tester from its work: cores used by other processes, stopped processes, packets that left in
//! bursts.

use super::evidence::Evidence;
use super::findings::Findings;
use crate::sums::{Sums, WorkerTime};
use crate::trial::Trial;
use os::ThreadUsage;
use sched::Pace;
use session::plan::Side;
use units::{Nanos, Pps, count};

/// Share of the time in which a worker wanted its core that it may wait for it without a word.
const WAITED_TOLD: f64 = 0.05;
/// Share above which the result is not valid. Below it, single pauses decide: a device on the same machine takes its share.
const WAITED_MAX: f64 = 0.2;
/// Minimum stall that is reported: at 10,000 packets/s it makes a burst of 100.
const STALL_MAX: Nanos = Nanos::from_millis(10);
/// Share of time spent in pauses that makes a result invalid: 99th percentiles are theirs.
const PAUSED_MAX: f64 = 0.01;
/// Losses count against the device if packets that left late are no more than this share of them: then it lost some for sure, and
/// at a goal of 0.5% loss, what is in doubt moves the load by a quarter of a per cent at most.
const EXPLAINED: f64 = 0.5;
/// Packets of a stream this slow or slower are at least 50 us apart, longer than a turn of the loop takes.
const SLOW: Pps = Pps::new(20_000);
/// Share of such packets that may leave together with the one before.
const BACK_TO_BACK_MAX: f64 = 0.1;
/// Number of back-to-back packets from which on an interval is reported: for fewer, the share is not meaningful.
const BURST_TOLD: u64 = 5;
/// Remedy where other processes use the cores.
pub(super) const FREE_CORES: &str =
    "end what else runs on this machine, or give the tester cores that nothing else uses";
/// Remedy where the process or its machine stalled.
const RUN_AGAIN: &str = "run again while nothing stops or suspends this process and its machine";

/// Main disturbance of the tester: one cause and one remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Disturbance {
    pub(super) reason: String,
    pub(super) remedy: &'static str,
}

/// Worker that was kept from its core.
struct Kept {
    worker: usize,
    time: WorkerTime,
    usage: ThreadUsage,
}

impl Kept {
    /// Time in which the worker wanted its core, ns.
    fn wanted_ns(&self) -> u64 {
        self.usage.run_ns + self.usage.wait_ns + self.time.slept_ns
    }

    fn waited_share(&self) -> f64 {
        self.usage.wait_ns as f64 / self.wanted_ns().max(1) as f64
    }

    fn paused_share(&self) -> f64 {
        self.time.paused_ns as f64 / self.time.total_ns.max(1) as f64
    }

    /// Whether packets left unsent are no wonder: its core was taken from it.
    fn lacks_time(&self) -> bool {
        self.waited_share() > WAITED_TOLD || self.paused_share() > PAUSED_MAX
    }

    fn waited(&self) -> String {
        let [waited, wanted] = [self.usage.wait_ns, self.wanted_ns()].map(|ns| ns as f64 / 1e9);
        format!(
            "worker {} waited {waited:.2} of {wanted:.2} s for its core, which other processes used",
            self.worker
        )
    }

    fn stood_still(&self, in_all_ns: u64) -> String {
        format!(
            "worker {} stalled for {:.1} ms at a time, {:.1} ms in all",
            self.worker,
            self.time.stall_max_ns as f64 / 1e6,
            in_all_ns as f64 / 1e6
        )
    }
}

impl Evidence<'_> {
    fn kept(&self) -> impl Iterator<Item = Kept> {
        let workers = self.sums.workers.iter().zip(self.usage).enumerate();
        workers.filter_map(|(worker, (time, usage))| Some(Kept { worker, time: *time, usage: (*usage)? }))
    }

    /// Whether packets or sessions that were due and not begun are no wonder: others used a worker's core.
    pub(super) fn lacks_time(&self) -> bool {
        self.kept().any(|kept| kept.lacks_time())
    }

    /// Share of the time in which a worker wanted its core and others used it.
    pub(super) fn without_core(&self, worker: usize) -> f64 {
        self.kept().find(|kept| kept.worker == worker).map_or(0.0, |kept| kept.waited_share())
    }

    /// Main disturbance of the tester; `None` if there was none.
    pub(super) fn disturbance(&self) -> Option<Disturbance> {
        let worst = |of: fn(&Kept) -> u64| self.kept().max_by_key(of).filter(|kept| of(kept) > 0);
        let waited = worst(|kept| kept.usage.wait_ns);
        let paused = worst(|kept| kept.time.hitches_ns);
        match (waited, paused) {
            // A core that others use makes both. A process that is stopped waits for nothing.
            (Some(waited), Some(paused)) if 2 * waited.usage.wait_ns < paused.time.hitches_ns => {
                let reason = paused.stood_still(paused.time.hitches_ns);
                Some(Disturbance { reason, remedy: RUN_AGAIN })
            }
            (Some(waited), Some(_)) => Some(Disturbance { reason: waited.waited(), remedy: FREE_CORES }),
            (None, Some(paused)) => {
                Some(Disturbance { reason: paused.stood_still(paused.time.hitches_ns), remedy: RUN_AGAIN })
            }
            (_, None) => {
                let held = worst(|kept| kept.time.kept_ns)?;
                let reason = format!(
                    "worker {} was held up {} times, {:.2} ms in all",
                    held.worker,
                    count(held.time.pauses),
                    held.time.kept_ns as f64 / 1e6
                );
                Some(Disturbance { reason, remedy: FREE_CORES })
            }
        }
    }

    /// Workers that were kept from their cores. Packets due meanwhile leave late and in a burst, and arrivals wait.
    pub(super) fn judge_pauses(&self, verdict: &mut Findings) {
        let lost: u64 = self.measured().map(|(sent, got)| sent.saturating_sub(got)).sum();
        let unsent: u64 = self.ends.iter().map(|end| end.unsent).sum();
        for kept in self.kept() {
            let (time, share) = (&kept.time, kept.waited_share());
            let unsent = match unsent {
                0 => String::new(),
                n if kept.lacks_time() => format!("; {} packets due were not sent", count(n)),
                _ => String::new(),
            };
            let late = self.late_packets(&kept);
            let stalled = time.stall_max_ns >= STALL_MAX.0;
            let explains = lost > 0 && late > lost as f64 * EXPLAINED;
            let waited = share > WAITED_TOLD;
            if !(waited || stalled || explains) {
                continue;
            }
            let by_pauses =
                explains || stalled && (kept.paused_share() > PAUSED_MAX || self.a_session_failed());
            let what = match waited {
                true => kept.waited(),
                false => kept.stood_still(if explains { time.hitches_ns } else { time.paused_ns }),
            };
            let bursts = match late as u64 {
                0 => String::new(),
                n => format!("; {} packets due then left late and in bursts", count(n)),
            };
            let blamed = match explains {
                true => format!(", which may be why {} were lost", count(lost)),
                false => String::new(),
            };
            verdict.disturb(by_pauses || share > WAITED_MAX, format!("{what}{bursts}{blamed}{unsent}"));
        }
    }

    /// Estimated number of measured packets due while a worker stalled, or waited for its core for a millisecond or
    /// more. A device or a queue loses at most this number of packets that it would have kept had they come in time.
    fn late_packets(&self, kept: &Kept) -> f64 {
        let late_ns = kept.time.paused_ns.max(kept.time.hitches_ns.min(kept.usage.wait_ns));
        let sent: u64 = self.measured().map(|(sent, _)| sent).sum();
        let share = late_ns as f64 / kept.time.total_ns.max(1) as f64;
        sent as f64 / self.sums.workers.len().max(1) as f64 * share
    }

    /// Packets sent and received of each stream that is measured.
    fn measured(&self) -> impl Iterator<Item = (u64, u64)> {
        let streams = self.trial.streams.iter().zip(&self.sums.sent).zip(&self.sums.arrivals.streams);
        let measured = streams.filter(|((stream, _), _)| stream.is_counted() && stream.to.is_some());
        measured.map(|((_, sent), got)| (*sent, got.counts.received))
    }

    fn a_session_failed(&self) -> bool {
        let failed = |entry| self.sums.sessions(entry, Side::Client).app.failed_in_all() > 0;
        (0..self.trial.plan.sessions.len()).any(failed)
    }

    /// Streams due evenly and so slowly that no two packets should leave together, but many did.
    pub(super) fn judge_bursts(&self, verdict: &mut Findings) {
        // A core that others used is the cause already.
        if self.usage.iter().all(Option::is_none) || self.kept().any(|kept| kept.waited_share() > WAITED_MAX)
        {
            return;
        }
        let mut bursty = bursty(self.trial, self.sums);
        if let Some((index, ratio)) = bursty.next() {
            let more = match bursty.count() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            verdict.disturb(
                true,
                format!(
                    "stream {}{more}: {:.0}% of the packets left back to back although they were due apart; losses and \
                     latencies may come from these bursts",
                    self.trial.plan.streams[index].name,
                    ratio * 100.0
                ),
            );
        }
    }
}

/// Streams of which too many packets left back to back although they were due apart, and what share did.
fn bursty<'a>(trial: &'a Trial<'_>, sums: &'a Sums) -> impl Iterator<Item = (usize, f64)> + 'a {
    let paced = trial.shape.paces_streams;
    trial.streams.iter().enumerate().filter(move |_| paced).filter_map(|(index, stream)| {
        let Pace::Even(rate) = &stream.load.pace else { return None };
        let ratio = sums.pacing[index].back_to_back_ratio()?;
        (rate.as_f64() <= SLOW.as_f64() && ratio > BACK_TO_BACK_MAX && !stream.chained)
            .then_some((index, ratio))
    })
}

/// Disturbances of the tester in the time of `sums`, a part of the trial: marks for charts. The verdict is about the
/// whole.
pub(crate) fn disturbances(trial: &Trial<'_>, sums: &Sums) -> Vec<String> {
    let mut all = Vec::new();
    for (worker, time) in sums.workers.iter().enumerate() {
        if time.stall_max_ns >= STALL_MAX.0 {
            all.push(format!("worker {worker} stalled for {:.1} ms", time.stall_max_ns as f64 / 1e6));
        }
    }
    let bursts = bursty(trial, sums).filter(|(index, _)| sums.pacing[*index].back_to_back >= BURST_TOLD);
    let bursts: Vec<(usize, f64)> = bursts.collect();
    if let Some((index, ratio)) = bursts.first() {
        let name = &trial.plan.streams[*index].name;
        let more = if bursts.len() > 1 { format!(" and {} more", bursts.len() - 1) } else { String::new() };
        all.push(format!("stream {name}{more}: {:.0}% of the packets left back to back", ratio * 100.0));
    }
    all
}
