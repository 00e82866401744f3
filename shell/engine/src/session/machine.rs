//! Watches the tester's machine during a trial: who else uses its cores, and workers that others keep from theirs, which it moves
//! to idle ones.
//!
//! A thread moves between two instructions like any other that the kernel takes off a core: a worker's loop knows nothing of it.
//!
//! Not here: which moves help (`placement`), what becomes of the verdict (`trust`).

use super::placement::{Move, Placement};
use os::ThreadUsage;
use os::activity::{Activity, CoreTimes, Proc, busy_s};
use result::{CoreMove, MachineResult, ProcessUsage};
use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use units::Nanos;

/// From one look at the cores to the next: twenty of the kernel's ticks.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Looks at cores for one at processes, at least.
const LOOKS_PER_CENSUS: u32 = 5;
/// Looks at processes take at most one part in this many of the time: many testers may be on one machine, each of which looks at all of
/// its processes.
const CENSUS_SHARE: u32 = 500;
/// Names of other processes in a result.
const NAMES_MAX: usize = 5;

/// The threads of a trial.
#[derive(Debug, Clone)]
pub(super) struct TrialThreads {
    /// Of each worker: its number and its core.
    pub(super) workers: Vec<(i32, usize)>,
    /// Of control.
    pub(super) control: i32,
    /// Cores that workers may move to, besides their own.
    pub(super) spare: Vec<usize>,
}

/// Observations of the machine.
#[derive(Debug, Default)]
pub(super) struct WatchedMachine {
    pub(super) machine: MachineResult,
    /// Moves of each worker, on the trial's clock.
    pub(super) moves: Vec<Vec<CoreMove>>,
}

/// A thread that looks at the machine.
pub(super) struct MachineWatcher {
    over: mpsc::Sender<()>,
    thread: JoinHandle<WatchedMachine>,
}

impl MachineWatcher {
    /// Begins to watch `lead` before traffic, which begins in `ahead`. The first look at processes is at once: it takes long where there
    /// are many.
    pub(super) fn begin(threads: TrialThreads, ahead: Nanos, lead: Nanos) -> std::io::Result<Self> {
        let (over, ended) = mpsc::channel();
        let epoch = Instant::now() + Duration::from_nanos(ahead.0);
        let body = move || {
            let activity = Activity::begin(Proc::default(), std::process::id());
            let begins = epoch.checked_sub(Duration::from_nanos(lead.0));
            let early = begins.map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()));
            if !early.is_zero() {
                // If it is over before it began, there is nothing to see.
                let _ = ended.recv_timeout(early);
            }
            let mut watch = Watch::begin(activity, threads, epoch);
            while ended.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                watch.look();
            }
            watch.end()
        };
        Ok(Self { over, thread: std::thread::Builder::new().name("eagre-machine".to_owned()).spawn(body)? })
    }

    /// Observations until now.
    pub(super) fn end(self) -> WatchedMachine {
        drop(self.over);
        self.thread.join().unwrap_or_default()
    }
}

/// Looks at cores until the next one at processes, after one that took `cost`.
fn looks_until_census(cost: Duration) -> u32 {
    let pause = cost.saturating_mul(CENSUS_SHARE).as_nanos().div_ceil(LOOK_EVERY.as_nanos());
    u32::try_from(pause).unwrap_or(u32::MAX).max(LOOKS_PER_CENSUS)
}

struct Watch {
    proc: Proc,
    threads: TrialThreads,
    activity: Activity,
    placement: Placement,
    epoch: Instant,
    begun: (Instant, BTreeMap<usize, CoreTimes>, Nanos),
    load_before: Option<f64>,
    /// At the last look.
    cores: BTreeMap<usize, CoreTimes>,
    usage: Vec<Option<ThreadUsage>>,
    at: Instant,
    looks: u32,
    /// The next look with a look at processes.
    next_census: u32,
    moves: Vec<Vec<CoreMove>>,
}

impl Watch {
    fn begin(activity: Activity, threads: TrialThreads, epoch: Instant) -> Self {
        let proc = Proc::default();
        let cores = proc.cores();
        let now = Instant::now();
        let workers: Vec<usize> = threads.workers.iter().map(|(_, core)| *core).collect();
        let allowed = [workers.as_slice(), &threads.spare].concat();
        Self {
            activity,
            placement: Placement::new(&workers, allowed),
            epoch,
            begun: (now, cores.clone(), os::cpu::process_time()),
            load_before: proc.load_average(),
            usage: threads.workers.iter().map(|(thread, _)| ThreadUsage::read(*thread).ok()).collect(),
            cores,
            at: now,
            looks: 0,
            next_census: LOOKS_PER_CENSUS,
            moves: vec![Vec::new(); workers.len()],
            proc,
            threads,
        }
    }

    fn look(&mut self) {
        self.looks += 1;
        if self.looks >= self.next_census {
            let began = Instant::now();
            self.activity.look();
            self.next_census = self.looks.saturating_add(looks_until_census(began.elapsed()));
        }
        let (now, cores) = (Instant::now(), self.proc.cores());
        let usage: Vec<_> =
            self.threads.workers.iter().map(|(thread, _)| ThreadUsage::read(*thread).ok()).collect();
        let span = now.saturating_duration_since(self.at).as_nanos().max(1) as f64;
        let waited = |(now, then): (&Option<ThreadUsage>, &Option<ThreadUsage>)| {
            now.zip(*then).map_or(0.0, |(now, then)| now.since(&then).wait_ns as f64 / span)
        };
        let waited: Vec<f64> = usage.iter().zip(&self.usage).map(waited).collect();
        let share =
            |(core, times): (&usize, &CoreTimes)| Some((*core, times.idle_share(self.cores.get(core)?)?));
        let idle = cores.iter().filter_map(share).collect();
        for change in self.placement.look(&waited, &idle) {
            self.carry_out(change, waited[change.worker], now);
        }
        (self.cores, self.usage, self.at) = (cores, usage, now);
    }

    /// Moves a worker, and control out of its way.
    fn carry_out(&mut self, change: Move, waited_ratio: f64, now: Instant) {
        let Move { worker, from, to } = change;
        // A core that is refused now will be refused again: the placement counts the attempt.
        if os::cpu::pin_thread(self.threads.workers[worker].0, &[to]).is_err() {
            return;
        }
        let workers = self.placement.cores();
        let all = self.threads.workers.iter().map(|(_, core)| core).chain(&self.threads.spare);
        let others: Vec<usize> = all.copied().filter(|core| !workers.contains(core)).collect();
        if !others.is_empty() {
            let _ = os::cpu::pin_thread(self.threads.control, &others);
        }
        let at_s = now.saturating_duration_since(self.epoch).as_secs_f64();
        self.moves[worker].push(CoreMove { at_s, from, to, waited_ratio });
    }

    fn end(mut self) -> WatchedMachine {
        self.activity.look();
        let (begun, cores, own) = &self.begun;
        let span = begun.elapsed().as_secs_f64().max(1e-3);
        let own_s = (os::cpu::process_time() - *own).as_secs_f64();
        let busy = busy_s(cores, &self.proc.cores());
        let top = self.activity.top(NAMES_MAX).into_iter();
        WatchedMachine {
            machine: MachineResult {
                cores: cores.len(),
                load_before: self.load_before,
                load_after: self.proc.load_average(),
                others_cores: (!cores.is_empty()).then(|| ((busy - own_s) / span).max(0.0)),
                others: top.map(|usage| ProcessUsage { name: usage.name, cpu_s: usage.cpu_s }).collect(),
            },
            moves: self.moves,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costly_looks_at_processes_are_rare() {
        assert_eq!(looks_until_census(Duration::from_micros(500)), LOOKS_PER_CENSUS);
        // 10 ms of 5 s.
        assert_eq!(looks_until_census(Duration::from_millis(10)), 25);
        assert_eq!(looks_until_census(Duration::MAX), u32::MAX);
    }
}
