//! What holds for a trial as a whole: clock, workers, captures, and how far to trust it.

use std::borrow::Cow;

part! {
    /// The clock that stamped the packets.
    pub struct ClockResult {
        /// `tsc`, `monotonic` or `virtual`.
        source: Cow<'static, str> = TEXT;
        /// Ticks per second.
        hz: u64 = HERTZ;
        /// Bound on the rate's error at calibration, parts per million.
        #[serde(skip_serializing_if = "Option::is_none")]
        uncertainty_ppm: Option<f64> = PPM;
        /// Error against the system's clock over the trial, parts per million.
        #[serde(skip_serializing_if = "Option::is_none")]
        drift_ppm: Option<f64> = PPM;
        /// Time one reading takes, ns.
        #[serde(skip_serializing_if = "Option::is_none")]
        read_cost_ns: Option<f64> = NANOS;
        /// Largest offset between two workers' clocks that could be seen, ns.
        #[serde(skip_serializing_if = "Option::is_none")]
        core_skew_ns: Option<u64> = NANOS;
    }
}

part! {
    /// What simulated links and device really did, as opposed to what was measured.
    pub struct SimResult {
        /// Frames lost on links.
        lost_on_links: u64 = COUNT;
        /// Frames delivered once more than sent.
        duplicated: u64 = COUNT;
        /// Frames delayed on links.
        delayed: u64 = COUNT;
        /// Frames delivered after one sent later on the same port.
        overtaken: u64 = COUNT;
        /// Frames dropped by the device because its buffer was full.
        dropped_by_device: u64 = COUNT;
        /// Frames the device had no way for.
        no_route: u64 = COUNT;
    }
}

part! {
    /// A capture on a port.
    pub struct CaptureResult {
        /// The files that are left, oldest first.
        files: Vec<String> = TEXT;
        /// Packets that went past.
        seen: u64 = COUNT;
        /// Those of them that the filter let through: `captured` and `dropped`.
        matched: u64 = COUNT;
        /// Those of them that were taken.
        captured: u64 = COUNT;
        /// Those of them for which memory or disk had no room.
        dropped: u64 = COUNT;
        /// Captured packets that newer ones have displaced, and that are in no file any more.
        displaced: u64 = COUNT;
        /// Why the capture ended early; absent if it did not.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String> = TEXT;
    }
}

part! {
    /// A change of rates while a trial ran.
    pub struct RateChange {
        /// When it took effect, s since traffic started.
        at_s: f64 = SECONDS;
        /// The stream; absent if it was all.
        #[serde(skip_serializing_if = "Option::is_none")]
        stream: Option<String> = TEXT;
        /// The new rate: `2Mpps`, or `50% of the profile's rate`.
        to: String = TEXT;
    }
}

part! {
    /// Whether to believe a result.
    pub struct Verdict {
        /// Whether the figures can be believed.
        valid: bool = FLAG;
        /// Whether the tester, and not the device under test, was the limit.
        generator_limited: bool = FLAG;
        /// Why not valid, or why limited.
        reasons: Vec<String> = TEXT;
    }
}

part! {
    /// A condition and whether it held.
    pub struct CriterionResult {
        /// Path of the value in this document.
        path: String = TEXT;
        /// The bound, as the profile writes it.
        bound: String = TEXT;
        /// The value; absent if it was not measured.
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<f64> = COUNT;
        /// Whether it held. What was not measured did not hold.
        passed: bool = FLAG;
    }
}

part! {
    /// One core that did the work.
    pub struct WorkerResult {
        /// Which; absent in a simulated trial.
        #[serde(skip_serializing_if = "Option::is_none")]
        core: Option<usize> = COUNT;
        /// Share of its time it found something to do.
        busy_ratio: f64 = RATIO;
        /// Processor time it had, s.
        #[serde(skip_serializing_if = "Option::is_none")]
        cpu_s: Option<f64> = SECONDS;
        /// Time something else had its core, s.
        #[serde(skip_serializing_if = "Option::is_none")]
        waited_s: Option<f64> = SECONDS;
        /// Longest time between two turns of its loop, ns.
        stall_max_ns: u64 = NANOS;
    }
}
