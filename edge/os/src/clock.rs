//! Nanoseconds on the CLOCK_MONOTONIC scale, read from the processor's time stamp counter where that can be trusted.
//!
//! Not here: wall-clock time, and correction during a run. A clock keeps its rate from calibration to the end, so
//! differences between its instants are never bent by a time daemon; [`TscClock::recheck`] gives its drift.
//!
//! Invariants: copies of one clock agree exactly. Clocks of two processes agree within [`ClockFacts::uncertainty_ppm`]
//! of each other times the time since calibration; [`TscClock::refined`] shrinks that.

use crate::cpu;
use port::{Clock, KernelClock};
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use units::Nanos;

/// Binary digits after the point in [`TscClock::scale`]: rates exact to 4e-15, products far from 128 bits.
const SCALE_BITS: u32 = 48;

/// Readings from which the tightest is taken.
const PAIR_ATTEMPTS: usize = 128;

/// Longest a comparison of two cores' counters may take.
const SKEW_BUDGET: Duration = Duration::from_millis(5);

/// Rounds of a comparison after which a shorter round trip is no longer to be expected.
const SKEW_ROUNDS: u64 = 2_000;

/// The clock of a real run. Copy it to every worker.
#[derive(Debug, Clone, Copy)]
pub struct TscClock {
    base_ticks: u64,
    base_ns: u64,
    /// Nanoseconds per tick, fixed point with [`SCALE_BITS`]; zero: read the kernel's clock every time.
    scale: u64,
    /// Added to each reading: for a clock that is compared with another machine's.
    shift: i64,
    facts: ClockFacts,
}

/// Where time comes from and how good it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockFacts {
    /// `tsc`, or `monotonic` where the counter cannot be trusted.
    pub source: &'static str,
    /// Ticks per second: the measured rate of the counter, or 10⁹.
    pub hz: u64,
    /// Whether the counter runs at one rate through frequency changes and sleep, and the kernel has not rejected it.
    pub invariant: bool,
    /// Bound on the error of the rate against CLOCK_MONOTONIC during calibration, parts per million.
    pub uncertainty_ppm: f64,
    /// Time one reading takes, ns.
    pub read_cost_ns: f64,
}

/// Offset of a clock from CLOCK_MONOTONIC, which a time daemon may have steered meanwhile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockDrift {
    /// Mean rate error since calibration, parts per million; positive if this clock was slow.
    pub ppm: f64,
    /// CLOCK_MONOTONIC minus this clock now, ns.
    pub offset_ns: i64,
}

/// Offset of the counters of several cores from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CoreSkew {
    /// Largest offset found between the first core and another, ns.
    pub max_ns: u64,
    /// Half the round trip between those two cores, ns: an offset below this is none that could be seen.
    pub uncertainty_ns: u64,
    /// Compared cores, besides the first.
    pub compared: usize,
}

impl CoreSkew {
    /// Whether some core is certainly off.
    pub fn is_certain(&self) -> bool {
        self.max_ns > self.uncertainty_ns
    }
}

impl Clock for TscClock {
    #[inline]
    fn now(&self) -> Nanos {
        if self.scale == 0 {
            return Nanos(monotonic_ns().wrapping_add_signed(self.shift));
        }
        Nanos(self.ns_at(ticks()).wrapping_add_signed(self.shift))
    }

    #[inline]
    fn kernel_ns(&self, clock: KernelClock) -> Option<u64> {
        kernel_ns(clock)
    }
}

impl TscClock {
    /// Measures the counter against CLOCK_MONOTONIC for `duration` (20 ms bounds the error at some ppm); sleeps meanwhile.
    ///
    /// Falls back to the kernel's clock immediately if [`tsc_objection`] returns a reason.
    pub fn calibrate(duration: Duration) -> Self {
        if tsc_objection().is_some() {
            return Self::monotonic();
        }
        let start = Pair::tightest();
        thread::sleep(duration.max(Duration::from_millis(1)));
        Self::from_pairs(start, Pair::tightest())
    }

    /// The clock that reads the kernel's every time.
    pub fn monotonic() -> Self {
        let facts = ClockFacts {
            source: "monotonic",
            hz: 1_000_000_000,
            invariant: tsc_objection().is_none(),
            uncertainty_ppm: 0.0,
            read_cost_ns: 0.0,
        };
        Self { base_ticks: 0, base_ns: monotonic_ns(), scale: 0, shift: 0, facts }.with_read_cost()
    }

    /// The clock that is `by` ns ahead of this one.
    #[must_use]
    pub fn shifted(self, by: i64) -> Self {
        Self { shift: self.shift.saturating_add(by), ..self }
    }

    /// The clock that runs faster by `ppb` parts per 10⁹ from now on, as the one of another machine may; for tests.
    #[must_use]
    pub fn drifting(self, ppb: i64) -> Self {
        let by = i128::from(self.scale) * i128::from(ppb) / 1_000_000_000;
        let scale = u64::try_from(i128::from(self.scale) + by).unwrap_or(self.scale);
        let now = ticks();
        Self { base_ns: self.ns_at(now), base_ticks: now, scale, ..self }
    }

    /// Facts about this clock.
    pub fn facts(&self) -> ClockFacts {
        self.facts
    }

    /// Compares with CLOCK_MONOTONIC over the time since calibration; to be called at the end of a run.
    pub fn recheck(&self) -> ClockDrift {
        if self.scale == 0 {
            return ClockDrift { ppm: 0.0, offset_ns: 0 };
        }
        let end = Pair::tightest();
        let offset_ns = end.ns as i64 - self.ns_at(end.ticks) as i64;
        let elapsed_ns = end.ns.saturating_sub(self.base_ns).max(1);
        ClockDrift { ppm: offset_ns as f64 * 1e6 / elapsed_ns as f64, offset_ns }
    }

    /// A clock with its rate measured over the whole time since this one was calibrated, and no offset now.
    ///
    /// Between two runs it synchronizes the clocks of several processes. Its instants may lie before this clock's, so
    /// it must not replace this one on a worker that is measuring.
    pub fn refined(&self) -> Self {
        if self.scale == 0 {
            return *self;
        }
        let start = Pair { ticks: self.base_ticks, ns: self.base_ns, window_ticks: 0 };
        let end = Pair::tightest();
        Self::from_pairs(Pair { window_ticks: end.window_ticks, ..start }, end)
    }

    /// Compares the counters of `cores` with that of the first, a few ms for each.
    ///
    /// Cores the process may not use are left out; see [`CoreSkew::compared`]. The kernel keeps its own clock in step,
    /// so with that source there is nothing to compare.
    pub fn cores_agree(&self, cores: &[usize]) -> CoreSkew {
        let Some((&first, others)) = cores.split_first() else { return CoreSkew::default() };
        if self.scale == 0 {
            return CoreSkew::default();
        }
        let found: Vec<CoreSkew> = others
            .iter()
            .filter(|&&core| core != first)
            .filter_map(|&core| compare_cores(first, core))
            .map(|(offset, round_trip)| CoreSkew {
                max_ns: self.span_ns(offset),
                uncertainty_ns: self.span_ns(round_trip.div_ceil(2)),
                compared: 1,
            })
            .collect();
        let worst = found.iter().max_by_key(|skew| (skew.is_certain(), skew.max_ns)).copied();
        CoreSkew { compared: found.len(), ..worst.unwrap_or_default() }
    }

    fn from_pairs(start: Pair, end: Pair) -> Self {
        let ticks = end.ticks.saturating_sub(start.ticks);
        let ns = end.ns.saturating_sub(start.ns);
        // A counter that stands still or goes back is none.
        if ticks == 0 || ns == 0 {
            return Self::monotonic();
        }
        let Ok(scale) = u64::try_from((u128::from(ns) << SCALE_BITS) / u128::from(ticks)) else {
            return Self::monotonic();
        };
        let facts = ClockFacts {
            source: "tsc",
            hz: (u128::from(ticks) * 1_000_000_000 / u128::from(ns)) as u64,
            invariant: true,
            uncertainty_ppm: (start.window_ticks + end.window_ticks) as f64 / 2.0 / ticks as f64 * 1e6,
            read_cost_ns: 0.0,
        };
        Self { base_ticks: end.ticks, base_ns: end.ns, scale, shift: 0, facts }.with_read_cost()
    }

    fn with_read_cost(mut self) -> Self {
        const READS: u32 = 256;
        let round = || {
            let start = self.now();
            for _ in 0..READS {
                black_box(black_box(&self).now());
            }
            self.now().since(start).0
        };
        let best_ns = (0..8).map(|_| round()).min().unwrap_or(0);
        self.facts.read_cost_ns = best_ns as f64 / f64::from(READS);
        self
    }

    /// An instant before calibration, as a core whose counter lags may read it, counts as calibration itself.
    #[inline]
    fn ns_at(&self, ticks: u64) -> u64 {
        self.base_ns + self.span_ns(ticks.saturating_sub(self.base_ticks))
    }

    #[inline]
    fn span_ns(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.scale)) >> SCALE_BITS) as u64
    }
}

/// Reason against using the processor's counter on this machine; `None` if there is none.
pub fn tsc_objection() -> Option<&'static str> {
    if !cfg!(target_arch = "x86_64") {
        return Some("on this processor the counter is read through the kernel");
    }
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let available =
        std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/available_clocksource");
    objection_in(&cpuinfo, available.ok().as_deref())
}

/// The kernel takes a counter it found unstable off its list of clock sources.
pub(crate) fn objection_in(cpuinfo: &str, available_clocksource: Option<&str>) -> Option<&'static str> {
    if !cpu::has_flag(cpuinfo, "tsc") {
        return Some("it is not known here whether the processor has a steady time stamp counter");
    }
    if !cpu::has_flag(cpuinfo, "constant_tsc") {
        return Some("the time stamp counter changes its rate with the core's frequency");
    }
    if !cpu::has_flag(cpuinfo, "nonstop_tsc") {
        return Some("the time stamp counter stops when the core sleeps");
    }
    if available_clocksource.is_some_and(|list| !list.split_whitespace().any(|source| source == "tsc")) {
        return Some("the kernel found the time stamp counter unstable");
    }
    None
}

/// One instant on both scales.
#[derive(Debug, Clone, Copy)]
struct Pair {
    ticks: u64,
    ns: u64,
    /// Ticks between the readings around the kernel's.
    window_ticks: u64,
}

impl Pair {
    /// The reading least disturbed out of many.
    fn tightest() -> Self {
        let read = || {
            let before = ticks_in_order();
            let ns = monotonic_ns();
            let window_ticks = ticks_in_order().saturating_sub(before);
            Self { ticks: before + window_ticks / 2, ns, window_ticks }
        };
        let mut best = read();
        for _ in 1..PAIR_ATTEMPTS {
            let pair = read();
            if pair.window_ticks < best.window_ticks {
                best = pair;
            }
        }
        best
    }
}

/// Offset of `b`'s counter from `a`'s and the round trip it was seen in, in ticks; `None` if a core is out of reach.
///
/// `a` reads its counter, tosses a ball, `b` reads its own and tosses back, `a` reads again: had both the same count,
/// `b`'s reading lies between. The shortest of many rounds is the most accurate.
fn compare_cores(a: usize, b: usize) -> Option<(u64, u64)> {
    let ball = AtomicU64::new(0);
    let stamp = AtomicU64::new(0);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let pinned = cpu::pin(b).is_ok();
            let mut expected = 1;
            while pinned && !over.load(Ordering::Relaxed) {
                if ball.load(Ordering::Acquire) == expected {
                    stamp.store(ticks_in_order(), Ordering::Relaxed);
                    ball.store(expected + 1, Ordering::Release);
                    expected += 2;
                }
                spin_loop();
            }
        });
        let serve = scope.spawn(|| {
            let best = cpu::pin(a).ok().and_then(|()| serve_rounds(&ball, &stamp));
            over.store(true, Ordering::Relaxed);
            best
        });
        serve.join().ok().flatten()
    })
}

fn serve_rounds(ball: &AtomicU64, stamp: &AtomicU64) -> Option<(u64, u64)> {
    let deadline = monotonic_ns() + SKEW_BUDGET.as_nanos() as u64;
    let mut best: Option<(u64, u64)> = None;
    for round in 0..SKEW_ROUNDS {
        let before = ticks_in_order();
        ball.store(2 * round + 1, Ordering::Release);
        let mut spins = 0u32;
        while ball.load(Ordering::Acquire) != 2 * round + 2 {
            spins += 1;
            if spins.is_multiple_of(256) && monotonic_ns() > deadline {
                return best;
            }
            spin_loop();
        }
        let after = ticks_in_order();
        let round_trip = after.saturating_sub(before);
        if best.is_none_or(|(_, shortest)| round_trip < shortest) {
            let middle = before + round_trip / 2;
            best = Some((stamp.load(Ordering::Relaxed).abs_diff(middle), round_trip));
        }
    }
    best
}

/// CLOCK_MONOTONIC, ns.
#[inline]
pub fn monotonic_ns() -> u64 {
    // It exists on every Linux.
    kernel_ns(KernelClock::MONOTONIC).unwrap_or(0)
}

/// A clock of the kernel's or of a card, ns; `None` if there is no such clock, or no more.
#[inline]
pub fn kernel_ns(clock: KernelClock) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the kernel to fill; a number without a clock is refused.
    let code = unsafe { libc::clock_gettime(clock.0, &mut time) };
    (code == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The time of day beside CLOCK_MONOTONIC, while a daemon of NTP or PTP keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Synchronized {
    /// CLOCK_MONOTONIC, ns.
    pub monotonic_ns: u64,
    /// CLOCK_REALTIME at the same instant, ns since 1970.
    pub real_ns: u64,
    /// Time between the two readings around it, ns: so much is the pair off at most.
    pub window_ns: u64,
    /// Bound on the error of the time of day, ns: `maxerror` of adjtimex(2), which grows between the daemon's updates.
    pub error_max_ns: u64,
}

/// The kernel's state of synchronization, adjtimex(2); changes nothing. `None` if no daemon keeps the time.
pub fn synchronized() -> Option<Synchronized> {
    // SAFETY: a timex is integers, for which zeros are values; without modes the kernel only fills it.
    let (state, timex) = unsafe {
        let mut timex: libc::timex = std::mem::zeroed();
        (libc::adjtimex(&mut timex), timex)
    };
    if !(0..libc::TIME_ERROR).contains(&state) || timex.status & libc::STA_UNSYNC != 0 {
        return None;
    }
    let pair = || {
        let before = monotonic_ns();
        let real_ns = kernel_ns(KernelClock::REALTIME)?;
        let window_ns = monotonic_ns().saturating_sub(before);
        Some((window_ns, before + window_ns / 2, real_ns))
    };
    let (window_ns, monotonic_ns, real_ns) = (0..8).filter_map(|_| pair()).min()?;
    let error_max_ns = u64::try_from(timex.maxerror).ok()?.saturating_mul(1_000);
    Some(Synchronized { monotonic_ns, real_ns, window_ns, error_max_ns })
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn ticks() -> u64 {
    // SAFETY: every x86_64 processor has RDTSC, and Linux does not forbid it to user space by default.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The counter, read after everything before and before everything after it.
#[cfg(target_arch = "x86_64")]
#[inline]
fn ticks_in_order() -> u64 {
    use core::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: as for `ticks`; LFENCE belongs to SSE2, which every x86_64 processor has.
    unsafe {
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}

/// Without a counter the clock's scale is zero and this is not called; the kernel's time keeps the code whole.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn ticks() -> u64 {
    monotonic_ns()
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn ticks_in_order() -> u64 {
    monotonic_ns()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAGS: &str = "processor\t: 0\nflags\t\t: fpu tsc constant_tsc nonstop_tsc\n";

    #[test]
    fn agrees_with_the_kernel_after_calibration() {
        let clock = TscClock::calibrate(Duration::from_millis(20));
        thread::sleep(Duration::from_millis(50));
        let drift = clock.recheck();
        assert!(drift.ppm.abs() < 200.0, "{drift:?} {:?}", clock.facts());
        // The same without the crate's own arithmetic: the clock lies between two of the kernel's readings.
        let before = monotonic_ns();
        let now = clock.now().0;
        let after = monotonic_ns();
        assert!(before <= now + 15_000 && now <= after + 15_000, "{before} {now} {after}");
    }

    #[test]
    fn never_goes_back() {
        for clock in [TscClock::calibrate(Duration::from_millis(2)), TscClock::monotonic()] {
            let mut last = clock.now();
            for _ in 0..100_000 {
                let now = clock.now();
                assert!(now >= last, "{:?}", clock.facts());
                last = now;
            }
        }
    }

    #[test]
    fn scales_exactly_over_a_year() {
        let start = Pair { ticks: 1_000, ns: 500, window_ticks: 50 };
        let end = Pair { ticks: 1_000 + 50_000_000, ns: 500 + 20_000_000, window_ticks: 50 };
        let clock = TscClock::from_pairs(start, end);
        assert_eq!(clock.facts.hz, 2_500_000_000);
        assert_eq!(clock.facts.uncertainty_ppm, 1.0);
        let year_s = 365 * 86_400;
        let year_later = clock.ns_at(end.ticks + year_s * 2_500_000_000);
        assert!((end.ns + year_s * 1_000_000_000).abs_diff(year_later) < 1_000, "{year_later}");
    }

    #[test]
    fn takes_an_instant_before_calibration_for_calibration() {
        let start = Pair { ticks: 1_000, ns: 500, window_ticks: 0 };
        let clock = TscClock::from_pairs(start, Pair { ticks: 3_000, ns: 1_500, window_ticks: 0 });
        assert_eq!(clock.ns_at(2_990), 1_500);
    }

    #[test]
    fn refuses_a_counter_that_stands_still() {
        let pair = Pair { ticks: 7, ns: 100, window_ticks: 1 };
        assert_eq!(TscClock::from_pairs(pair, Pair { ns: 200, ..pair }).facts().source, "monotonic");
    }

    #[test]
    fn refining_shrinks_the_uncertainty() {
        let clock = TscClock::calibrate(Duration::from_millis(1));
        thread::sleep(Duration::from_millis(30));
        let refined = clock.refined();
        assert_eq!(refined.facts().source, clock.facts().source);
        assert!(refined.recheck().offset_ns.abs() < 10_000);
    }

    #[test]
    fn asks_the_kernel_where_the_counter_is_no_good() {
        assert_eq!(objection_in(FLAGS, None), None);
        assert_eq!(objection_in(FLAGS, Some("tsc kvm-clock \n")), None);
        assert!(objection_in(FLAGS, Some("hpet acpi_pm")).unwrap().contains("unstable"));
        assert!(objection_in("flags : tsc constant_tsc", None).unwrap().contains("stops"));
        assert!(objection_in("flags : tsc", None).unwrap().contains("rate"));
        assert!(objection_in("", None).unwrap().contains("not known"));
    }

    #[test]
    fn reading_is_cheap_and_its_cost_known() {
        let cost_ns = TscClock::calibrate(Duration::from_millis(1)).facts().read_cost_ns;
        assert!(cost_ns > 0.0 && cost_ns < 5_000.0, "{cost_ns}");
    }

    #[test]
    fn cores_of_one_machine_agree() {
        let clock = TscClock::calibrate(Duration::from_millis(5));
        let skew = clock.cores_agree(&cpu::allowed());
        assert!(skew.max_ns <= skew.uncertainty_ns + 1_000, "{skew:?}");
        assert_eq!(clock.cores_agree(&[]), CoreSkew::default());
    }
}
