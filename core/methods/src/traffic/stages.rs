//! The trials.

use super::TrafficConfig;
use super::row::{Alone, Beside, BurstSize, Together, Treatment};
use crate::bisect::Bisect;
use crate::climb::doubling;
use crate::draft::{Draft, Seen};
use crate::outcome::{GroupOutcome, LatencySummary};
use crate::testbed::Frames;
use crate::text::grouped;
use crate::trial::{ServiceLoad, TrialKind};
use units::{Nanos, quantity};

/// A low load, as a share of the overload, and of what passes of a class.
const LOW_SHARE: f64 = 0.01;
const BESIDE_SHARE: f64 = 0.1;
/// A class waits if its frames wait this number of times longer than at a low load, and longer than this number of frames takes at its
/// rate.
const WAITS_TIMES: f64 = 3.0;
const WAITS_FRAMES: f64 = 3.0;
/// The first burst tried, frames.
const FIRST_BURST: u64 = 4;
/// Rest before a burst, in relation to the time that fills the bucket and empties the queue.
const REST_TIMES: f64 = 1.5;

/// A class of traffic.
#[derive(Debug, Clone)]
pub(super) struct Class {
    pub(super) name: String,
    pub(super) frames: Frames,
    /// Load of overloads, bits/s of frames with FCS.
    pub(super) load_bps: u64,
}

impl Class {
    pub(super) fn frame_bytes(&self) -> f64 {
        self.frames.mean_bytes()
    }

    fn load(&self, bps: f64, burst_bytes: Option<u64>) -> ServiceLoad {
        ServiceLoad {
            stream: self.name.clone(),
            yellow_of: None,
            rate_bps: (bps as u64).max(1),
            burst_bytes,
            frames: Some(self.frames.clone()),
        }
    }

    /// At least one frame in this time.
    fn low_bps(&self, bps: f64, time: Nanos) -> f64 {
        bps.max(self.frame_bytes() * 8.0 / time.as_secs_f64().max(1e-9) * 10.0)
    }
}

fn draft(loads: Vec<ServiceLoad>, duration: Nanos, frames: &Frames, label: String) -> Draft {
    let draft = Draft::special(TrialKind::Services { loads }, duration).label(label);
    Draft { frames: frames.clone(), ..draft }
}

fn group<'a>(seen: &Seen<'a>, name: &str) -> Option<&'a GroupOutcome> {
    seen.outcome.groups.iter().find(|group| group.group == name)
}

/// Difference of the longest and the shortest latency, but for the slowest thousandth, ns.
fn variation(latency: &LatencySummary) -> f64 {
    let most = if latency.p99_9 > 0.0 { latency.p99_9 } else { latency.max };
    (most - latency.min).max(0.0)
}

/// A trial of a class by itself.
#[derive(Debug, Clone, Copy, Default)]
struct Passed {
    seconds: f64,
    sent_bytes: f64,
    bytes: f64,
    lost: u64,
    shortest_ns: f64,
    variation_ns: f64,
}

/// Rate, bucket and queue of a class by itself.
#[derive(Debug, Clone)]
pub(super) struct LimitStage {
    class: Class,
    duration: Nanos,
    asked: usize,
    /// At a low load, under overload, for twice as long; `None`: not to be judged.
    seen: Vec<Option<Passed>>,
}

impl LimitStage {
    pub(super) fn new(class: &Class, duration: Nanos) -> Self {
        Self { class: class.clone(), duration, asked: 0, seen: Vec::new() }
    }

    pub(super) fn next(&mut self) -> Option<Draft> {
        let (class, load) = (&self.class, self.class.load_bps as f64);
        let low = class.low_bps(load * LOW_SHARE, self.duration).min(load);
        let (bps, duration) = match self.asked {
            0 => (low, self.duration),
            1 => (load, self.duration),
            2 => (load, self.duration + self.duration),
            _ => return None,
        };
        self.asked += 1;
        let label = format!("{}: {} for {duration}", class.name, quantity(bps, "bps"));
        Some(draft(vec![class.load(bps, None)], duration, &class.frames, label))
    }

    pub(super) fn take(&mut self, seen: &Seen<'_>) {
        let group = group(seen, &self.class.name).filter(|_| !seen.limited);
        let bytes = self.class.frame_bytes();
        self.seen.push(group.map(|group| Passed {
            seconds: group.sent as f64 / group.achieved.as_f64().max(1e-9),
            sent_bytes: group.sent as f64 * bytes,
            bytes: group.received as f64 * bytes,
            lost: group.lost,
            shortest_ns: group.latency.as_ref().map_or(0.0, |latency| latency.min),
            variation_ns: group.latency.as_ref().map_or(0.0, variation),
        }));
    }

    pub(super) fn found(&self) -> Option<Alone> {
        let [low, short, long] = self.seen[..] else { return None };
        let (Some(low), Some(short), Some(long)) = (low, short, long) else {
            return Some(Alone::unjudged(self.class.load_bps as f64));
        };
        Some(alone(&self.class, low, short, long))
    }
}

fn alone(class: &Class, low: Passed, short: Passed, long: Passed) -> Alone {
    let frame = class.frame_bytes();
    let offered_bps = long.sent_bytes * 8.0 / long.seconds.max(1e-9);
    // Waits beyond the latency of an idle device.
    let shortest = low.shortest_ns.min(short.shortest_ns).min(long.shortest_ns);
    let wait = |passed: Passed| (passed.variation_ns + passed.shortest_ns - shortest) / 1e9;
    let (wait_short, wait_long) = (wait(short), wait(long));
    let seconds = (long.seconds - short.seconds + wait_long - wait_short).max(1e-9);
    let rate = (long.bytes - short.bytes).max(0.0) / seconds;
    let waits = wait_long > WAITS_TIMES * low.variation_ns / 1e9 + WAITS_FRAMES * frame / rate.max(1e-9);
    let treatment = match (long.lost > 0, waits) {
        (_, true) => Treatment::Shaper,
        (true, false) => Treatment::Policer,
        (false, false) => Treatment::Unlimited,
    };
    let found = Alone {
        offered_bps,
        judged: true,
        treatment: Some(treatment),
        idle_ns: Some(low.shortest_ns),
        loss_ratio: Some(long.lost as f64 * frame / long.sent_bytes.max(1.0)),
        ..Alone::default()
    };
    if treatment == Treatment::Unlimited {
        return Alone { rate_bps: Some(offered_bps), ..found };
    }
    // Two frames at either end, and what the device sends in the time by which latencies vary without waiting.
    let noise = 2.0 * frame + rate * low.variation_ns / 1e9;
    let waited = if treatment == Treatment::Shaper { wait_short } else { 0.0 };
    Alone {
        rate_bps: Some(rate * 8.0),
        rate_error_bps: Some(2.0 * noise * 8.0 / seconds),
        bucket_bytes: Some((short.bytes - rate * (short.seconds + waited)).max(0.0)),
        bucket_error_bytes: Some(noise * 4.0),
        queue_bytes: (treatment == Treatment::Shaper).then_some(rate * wait_long),
        queue_is_full: long.lost > 0,
        wait_ns: (treatment == Treatment::Shaper).then_some(wait_long * 1e9),
        ..found
    }
}

/// The longest burst of a class without loss.
#[derive(Debug, Clone)]
pub(super) struct BurstStage {
    class: Class,
    wait: Nanos,
    bisect: Bisect,
    /// Frames of the burst of the trial.
    probe: Option<u64>,
}

impl BurstStage {
    pub(super) fn new(class: &Class, config: &TrafficConfig) -> Self {
        let most = (config.burst_max as f64 / class.frame_bytes()) as u64;
        let most = most.clamp(1, u64::from(u32::MAX));
        let ladder = doubling(FIRST_BURST.min(most), most);
        Self {
            class: class.clone(),
            wait: config.wait,
            bisect: Bisect::new(1, most, 1).within(config.resolution).climbing(ladder),
            probe: None,
        }
    }

    /// The next burst; `alone` is what is known of the class.
    pub(super) fn next(&mut self, alone: Option<&Alone>) -> Option<Draft> {
        // Whatever passes does not lose bursts.
        if alone.is_some_and(|alone| alone.treatment == Some(Treatment::Unlimited)) {
            return None;
        }
        let frames = self.bisect.probe()?;
        self.probe = Some(frames);
        let bytes = frames as f64 * self.class.frame_bytes();
        let refill = alone.map_or(0.0, Alone::refill_s);
        let rest = self.wait.max(Nanos((refill * REST_TIMES * 1e9) as u64));
        let emptied = alone.and_then(|alone| alone.rate_bps).map_or(0.0, |rate| bytes * 8.0 / rate.max(1.0));
        let sent = bytes * 8.0 / self.class.load_bps.max(1) as f64;
        let duration = Nanos(((sent + emptied) * 1e9) as u64) + self.wait;
        // The next burst would begin when the trial ends.
        let bps = bytes * 8.0 / duration.as_secs_f64();
        let load = self.class.load(bps, Some(bytes as u64));
        let label = format!("{}: a burst of {} frames", self.class.name, grouped(frames));
        Some(draft(vec![load], duration, &self.class.frames, label).after(rest).again_after(rest))
    }

    pub(super) fn take(&mut self, seen: &Seen<'_>) {
        let Some(frames) = self.probe.take() else { return };
        self.bisect.judge(frames, seen.verdict_if_valid(seen.outcome.lost() == 0));
    }

    pub(super) fn found(&self) -> BurstSize {
        let bytes = |frames: Option<u64>| frames.map(|frames| frames as f64 * self.class.frame_bytes());
        BurstSize {
            frames: self.bisect.passed(),
            bytes: bytes(self.bisect.passed()),
            failed_bytes: bytes(self.bisect.failed_by_dut()),
            limit: self.bisect.limit(),
        }
    }
}

/// All classes at once, each with its part of the overload.
#[derive(Debug, Clone)]
pub(super) struct AllAtOnce {
    classes: Vec<Class>,
    duration: Nanos,
    asked: bool,
}

impl AllAtOnce {
    pub(super) fn new(classes: &[Class], duration: Nanos) -> Self {
        Self { classes: classes.to_vec(), duration, asked: false }
    }

    pub(super) fn next(&mut self) -> Option<Draft> {
        if std::mem::replace(&mut self.asked, true) {
            return None;
        }
        let part = |class: &Class| class.load(class.load_bps as f64 / self.classes.len() as f64, None);
        let loads = self.classes.iter().map(part).collect();
        Some(draft(loads, self.duration, &self.classes[0].frames, "all classes at once".to_owned()))
    }

    /// By class.
    pub(super) fn found(&self, seen: &Seen<'_>) -> Vec<Together> {
        let received = |class: &Class| group(seen, &class.name).map_or(0, |group| group.received) as f64;
        let all: f64 = self.classes.iter().map(received).sum();
        // What waited at the end arrived after that.
        let waited = seen.outcome.groups.iter().filter_map(|group| group.latency.as_ref()).map(variation);
        let seconds = seen.outcome.duration.as_secs_f64() + waited.fold(0.0, f64::max) / 1e9;
        let of = |class: &Class| {
            let bps = |frames: f64, seconds: f64| frames * class.frame_bytes() * 8.0 / seconds.max(1e-9);
            let sent = group(seen, &class.name).map_or(0, |group| group.sent) as f64;
            Together {
                offered_bps: bps(sent, seen.outcome.duration.as_secs_f64()),
                judged: !seen.limited,
                received_bps: (!seen.limited).then(|| bps(received(class), seconds)),
                share: (!seen.limited && all > 0.0).then(|| received(class) / all),
                loss_ratio: (!seen.limited).then(|| 1.0 - received(class) / sent.max(1.0)),
            }
        };
        self.classes.iter().map(of).collect()
    }
}

/// A class at a low load beside all others, which overload the device.
#[derive(Debug, Clone)]
pub(super) struct OneBeside {
    classes: Vec<Class>,
    which: usize,
    duration: Nanos,
    asked: bool,
}

impl OneBeside {
    pub(super) fn new(classes: &[Class], which: usize, duration: Nanos) -> Self {
        Self { classes: classes.to_vec(), which, duration, asked: false }
    }

    /// The trial; `alone` is what is known of the class.
    pub(super) fn next(&mut self, alone: Option<&Alone>) -> Option<Draft> {
        if std::mem::replace(&mut self.asked, true) {
            return None;
        }
        let others = (self.classes.len() - 1) as f64;
        let passes = alone.and_then(|alone| alone.rate_bps).map(|rate| rate * BESIDE_SHARE);
        let load = |(index, class): (usize, &Class)| {
            let all = class.load_bps as f64;
            let low = class.low_bps(passes.unwrap_or(all * LOW_SHARE), self.duration).min(all / 2.0);
            class.load(if index == self.which { low } else { (all - low) / others }, None)
        };
        let loads = self.classes.iter().enumerate().map(load).collect();
        let class = &self.classes[self.which];
        let label = format!("{}: a low load beside the others", class.name);
        Some(draft(loads, self.duration, &class.frames, label))
    }

    pub(super) fn found(&self, seen: &Seen<'_>) -> Beside {
        let class = &self.classes[self.which];
        let group = group(seen, &class.name).filter(|_| !seen.limited);
        let latency = group.and_then(|group| group.latency.as_ref());
        Beside {
            judged: group.is_some(),
            loss_ratio: group.map(GroupOutcome::loss_ratio),
            latency_mean_ns: latency.map(|latency| latency.mean),
            latency_p99_ns: latency.map(|latency| latency.p99),
        }
    }
}
