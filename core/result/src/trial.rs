//! Data on a trial as a whole: clock, workers, captures, and confidence in the result.

use crate::Named;
use std::borrow::Cow;

part! {
    /// The clock that stamped the packets.
    pub struct ClockResult {
        /// `tsc`, `monotonic` or `virtual`.
        source: Cow<'static, str> = TEXT;
        /// Ticks per second.
        hz: u64 = HERTZ;
        /// Uncertainty of the rate at calibration, parts per million.
        #[serde(skip_serializing_if = "Option::is_none")]
        uncertainty_ppm: Option<f64> = PPM;
        /// Drift against the system clock during the trial, parts per million.
        #[serde(skip_serializing_if = "Option::is_none")]
        drift_ppm: Option<f64> = PPM;
        /// Duration of one reading, ns.
        #[serde(skip_serializing_if = "Option::is_none")]
        read_cost_ns: Option<f64> = NANOS;
        /// Largest offset observed between two workers' clocks, ns.
        #[serde(skip_serializing_if = "Option::is_none")]
        core_skew_ns: Option<u64> = NANOS;
    }
}

part! {
    /// One of several machines of a run.
    pub struct AgentResult {
        /// Name of the agent; `controller` for the machine of the controller.
        name: String = TEXT;
        /// Version of its program.
        version: String = TEXT;
        /// Its ports, by the profile's names.
        ports: Vec<String> = TEXT;
        /// Number of its workers.
        workers: u64 = COUNT;
        /// How its clock was compared with the controller's: `shared`, if both are one; `exchange`, by times of messages
        /// there and back; `kernel`, by the time daemons of both machines, if these state a smaller error.
        clock: Cow<'static, str> = TEXT;
        /// Its clock minus the controller's before the run, ns.
        offset_ns: i64 = NANOS;
        /// Uncertainty of the offset during the run, ns: half the shortest round trip of messages, or the largest errors that
        /// both kernels state, and the drift.
        uncertainty_ns: u64 = NANOS;
        /// Drift of its clock against the controller's during the run, parts per 10⁹; absent if they are one.
        #[serde(skip_serializing_if = "Option::is_none")]
        drift_ppb: Option<f64> = COUNT;
        /// When its workers began to send, minus the common start, ns.
        #[serde(skip_serializing_if = "Option::is_none")]
        start_error_ns: Option<i64> = NANOS;
        /// Its loss, if it was lost and the run continued on the others (`load.on_agent_loss`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lost: Option<LossResult> = PART;
    }
}

part! {
    /// Loss of a machine of a run that continued on the others: its requested load, and the part that ran.
    pub struct LossResult {
        /// Why it is lost.
        reason: String = TEXT;
        /// Requested duration of traffic, s.
        requested_s: f64 = SECONDS;
        /// Time of its last counts, s since traffic started. All its numbers in the result are of that time.
        ran_s: f64 = SECONDS;
        /// When the controller knew of the loss, s since traffic started. Its traffic had ended by then.
        lost_s: f64 = SECONDS;
        /// Packets that it was to send; absent if a stream of it has neither a rate nor a count.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        requested_packets: Option<u64> = COUNT;
        /// Packets that it had sent at its last counts.
        sent_packets: u64 = COUNT;
    }
}

impl LossResult {
    /// The loss in words.
    pub fn sentence(&self) -> String {
        format!("{}; its load ran for {:.1} s of {:.1} s", self.reason, self.ran_s, self.requested_s)
    }
}

part! {
    /// Counts of simulated links and the simulated device, as opposed to measurements.
    pub struct SimResult {
        /// Frames lost on links.
        lost_on_links: u64 = COUNT;
        /// Frames duplicated on links.
        duplicated: u64 = COUNT;
        /// Frames delayed on links.
        delayed: u64 = COUNT;
        /// Frames in which links flipped a bit.
        corrupted: u64 = COUNT;
        /// Frames delivered after a frame sent later on the same port.
        overtaken: u64 = COUNT;
        /// Frames dropped by the device because its buffer was full.
        dropped_by_device: u64 = COUNT;
        /// Frames the device had no route for.
        no_route: u64 = COUNT;
    }
}

part! {
    /// A capture on a port.
    pub struct CaptureResult {
        /// Files of the capture, oldest first.
        files: Vec<String> = TEXT;
        /// Packets seen.
        seen: u64 = COUNT;
        /// Packets that passed the filter: `captured` + `dropped`.
        matched: u64 = COUNT;
        /// Packets captured.
        captured: u64 = COUNT;
        /// Packets dropped because memory or disk was full.
        dropped: u64 = COUNT;
        /// Captured packets overwritten by newer ones; they are in no file.
        displaced: u64 = COUNT;
        /// Why the capture ended early.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String> = TEXT;
    }
}

part! {
    /// A program that ran control protocols behind a port.
    pub struct ProtocolResult {
        /// Name of the entry.
        name: String = TEXT;
        /// Folder with its configuration and sockets.
        folder: String = TEXT;
        /// Log files with its programs' output.
        logs: Vec<String> = TEXT;
        /// Time from its start until it was up, s.
        #[serde(skip_serializing_if = "Option::is_none")]
        up_after_s: Option<f64> = SECONDS;
        /// Why it ended before the run did.
        #[serde(skip_serializing_if = "Option::is_none")]
        ended: Option<String> = TEXT;
    }
}

part! {
    /// A rate change during a trial.
    pub struct RateChange {
        /// When it took effect, s since traffic started.
        at_s: f64 = SECONDS;
        /// The stream, or the entry of sessions; absent for all.
        #[serde(skip_serializing_if = "Option::is_none")]
        stream: Option<String> = TEXT;
        /// The new rate: `2Mpps`, or `50% of the profile's rate`.
        to: String = TEXT;
    }
}

part! {
    /// Counters of a running trial that were set to zero.
    pub struct ClearedResult {
        /// Number of times.
        times: u64 = COUNT;
        /// When last, s since traffic started.
        at_s: f64 = SECONDS;
        /// Time from then on that counts and rates cover, s.
        counted_s: f64 = SECONDS;
        /// Whether all workers did so at one instant. If not, as many packets as were sent in a moment may be counted
        /// as sent or received and not the other.
        exact: bool = FLAG;
    }
}

part! {
    /// Whether a result can be trusted.
    pub struct Verdict {
        /// Whether the figures can be trusted.
        valid: bool = FLAG;
        /// Whether the tester, and not the device under test, was the limit.
        generator_limited: bool = FLAG;
        /// Whether something on the tester's machine disturbed it: its cores were taken away or it paused.
        #[serde(default)]
        disturbed: bool = FLAG;
        /// Why the result is not valid, why the tester was the limit, or what disturbed it.
        reasons: Vec<String> = TEXT;
        /// Prerequisites of the test that were not met: addresses of clients, control-protocol sessions, packets of the
        /// sender. Also listed in `reasons`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lacks: Vec<String> = TEXT;
        /// Faults other than disturbances of the tester: links that changed state, packets of unknown streams, clocks
        /// that differ. Also listed in `reasons`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        faults: Vec<String> = TEXT;
        /// Notes on figures that are nevertheless valid.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String> = TEXT;
        /// Confidence in single figures, by path: `streams.a.lost`, or `streams.a.latency_ns` for all below it. A
        /// figure without an entry holds; absent if all do.
        #[serde(default, skip_serializing_if = "Named::is_empty")]
        holds: Named<HoldsResult> = PART.by(&[Key::Figure]).judged();
    }
}

part! {
    /// Confidence in a figure. It holds, has bounds, holds for undisturbed packets, is at most what was measured, or
    /// cannot be judged: then there is none of these.
    pub struct HoldsResult {
        /// Whether the measured figure describes the device and the network.
        holds: bool = FLAG;
        /// The true value is at least this.
        #[serde(skip_serializing_if = "Option::is_none")]
        lower: Option<f64> = COUNT;
        /// The true value is at most this.
        #[serde(skip_serializing_if = "Option::is_none")]
        upper: Option<f64> = COUNT;
        /// Share of packets not affected by a pause of the tester. For these the figures under `undisturbed` hold.
        #[serde(skip_serializing_if = "Option::is_none")]
        undisturbed_ratio: Option<f64> = RATIO;
        /// For session times: the measured values are upper bounds, since disturbances only add to them.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        at_most: bool = FLAG;
        /// Why the measured figure does not hold.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String> = TEXT;
        /// Advice to get a figure that holds.
        #[serde(skip_serializing_if = "Option::is_none")]
        remedy: Option<String> = TEXT;
    }
}

impl Verdict {
    /// Records a missing prerequisite of the test: the result is not valid, regardless of disturbances.
    pub fn lack(&mut self, reason: String) {
        self.valid = false;
        self.lacks.push(reason.clone());
        self.reasons.push(reason);
    }
}

part! {
    /// Share of the requested load that succeeded. Streams and entries for which a criterion demands loss or failures
    /// are left out.
    pub struct AchievedResult {
        /// Whether at least half of the sessions that ended, and half of the packets, succeeded.
        success: bool = FLAG;
        /// First line of the summary.
        summary: String = TEXT;
        /// Sessions completed and attempted; absent without sessions.
        #[serde(skip_serializing_if = "Option::is_none")]
        sessions: Option<AchievedPart> = PART;
        /// Packets received and sent of streams to a port of the tester; absent without such streams.
        #[serde(skip_serializing_if = "Option::is_none")]
        packets: Option<AchievedPart> = PART;
    }
}

part! {
    /// Outcome of the run: by the criteria, or without any, by whether most of the load succeeded and losses are known.
    pub struct OverallResult {
        /// `passed`, `failed`, or `cannot_judge`: the tester was disturbed where it matters.
        outcome: Cow<'static, str> = TEXT;
        /// The cause, unless it passed.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String> = TEXT;
        /// Advice to get a result that can be judged.
        #[serde(skip_serializing_if = "Option::is_none")]
        remedy: Option<String> = TEXT;
        /// Number of runs until the outcome could be judged, if more than one.
        #[serde(skip_serializing_if = "Option::is_none")]
        runs: Option<u64> = COUNT;
    }
}

/// Meaning of a large value of a stream's or a session entry's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Much succeeded.
    Success,
    /// Much was lost or failed.
    Failure,
}

impl Meaning {
    /// Meaning of the number at `path` below a stream or an entry; `None` if it is neither.
    pub fn of(path: &str) -> Option<Self> {
        match path {
            "rx" | "completed" | "established" | "transactions" => Some(Self::Success),
            "lost" | "loss_ratio" | "failed_ratio" | "failed_requests_ratio" => Some(Self::Failure),
            _ => path.starts_with("failed.").then_some(Self::Failure),
        }
    }
}

part! {
    /// Sessions or packets requested and achieved.
    pub struct AchievedPart {
        /// Number of sessions or packets requested.
        asked: u64 = COUNT;
        /// Number that succeeded.
        succeeded: u64 = COUNT;
        /// Sessions still in progress at the end; zero for packets.
        unfinished: u64 = COUNT;
        /// `succeeded` / `asked`.
        ratio: f64 = RATIO;
        /// Streams or entries without any success.
        dead: Vec<String> = TEXT;
    }
}

part! {
    /// A criterion and whether it passed.
    pub struct CriterionResult {
        /// Path of the value in this document.
        path: String = TEXT;
        /// The bound, as the profile writes it.
        bound: String = TEXT;
        /// The value; absent if not measured.
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<f64> = COUNT;
        /// Whether it passed. A value that was not measured fails.
        passed: bool = FLAG;
        /// `met`, `not_met`, or `cannot_judge`: a disturbance of the tester could have changed the outcome.
        #[serde(default)]
        outcome: Cow<'static, str> = TEXT;
        /// Why it cannot be judged, and what to do.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String> = TEXT;
    }
}

/// Outcome of a criterion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The figure meets it.
    Met,
    /// The figure does not meet it.
    NotMet,
    /// The figure does not hold, and its bounds do not decide.
    CannotJudge,
}

impl Outcome {
    /// As documents write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::NotMet => "not_met",
            Self::CannotJudge => "cannot_judge",
        }
    }
}

impl CriterionResult {
    /// Outcome of the criterion; in a document of an older version, derived from whether it passed.
    pub fn outcome(&self) -> Outcome {
        match (self.passed, &*self.outcome) {
            (true, _) => Outcome::Met,
            (false, "cannot_judge") => Outcome::CannotJudge,
            (false, _) => Outcome::NotMet,
        }
    }
}

part! {
    /// A worker's move to another core.
    pub struct CoreMove {
        /// When, s since traffic started.
        at_s: f64 = SECONDS;
        /// Old core.
        from: usize = COUNT;
        /// New core.
        to: usize = COUNT;
        /// Share of the preceding interval in which it waited for its core.
        waited_ratio: f64 = RATIO;
    }
}

part! {
    /// Load on the tester's machine from other processes during the trial.
    pub struct MachineResult {
        /// Cores of the machine.
        cores: usize = COUNT;
        /// Load average of the minute before the trial: threads that ran or wanted to.
        #[serde(skip_serializing_if = "Option::is_none")]
        load_before: Option<f64> = COUNT;
        /// Load average of the last minute at its end.
        #[serde(skip_serializing_if = "Option::is_none")]
        load_after: Option<f64> = COUNT;
        /// Average number of cores used by other processes and the kernel.
        #[serde(skip_serializing_if = "Option::is_none")]
        others_cores: Option<f64> = COUNT;
        /// Other processes that used the most processor time, by name.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        others: Vec<ProcessUsage> = PART;
    }
}

part! {
    /// Processor time of processes with one name.
    pub struct ProcessUsage {
        /// Their name.
        name: String = TEXT;
        /// Processor time during the trial, s.
        cpu_s: f64 = SECONDS;
    }
}

part! {
    /// One worker.
    pub struct WorkerResult {
        /// The core it ran on at the end; absent in a simulated trial.
        #[serde(skip_serializing_if = "Option::is_none")]
        core: Option<usize> = COUNT;
        /// Moves to other cores, because other processes used its own.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        moves: Vec<CoreMove> = PART;
        /// Its priority, such as `nice -20`; if it is `normal`, why. Absent in a simulated trial.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        priority: Option<String> = TEXT;
        /// Share of time with work to do.
        busy_ratio: f64 = RATIO;
        /// Processor time used, s.
        #[serde(skip_serializing_if = "Option::is_none")]
        cpu_s: Option<f64> = SECONDS;
        /// Time spent waiting for the core, s.
        #[serde(skip_serializing_if = "Option::is_none")]
        waited_s: Option<f64> = SECONDS;
        /// Longest time between two iterations of the loop, ns.
        stall_max_ns: u64 = NANOS;
        /// Total time of stalls of the loop of 5 ms and longer, s; absent in a simulated trial.
        #[serde(skip_serializing_if = "Option::is_none")]
        paused_s: Option<f64> = SECONDS;
        /// Time slept because nothing was due, s; absent if it never slept.
        #[serde(skip_serializing_if = "Option::is_none")]
        slept_s: Option<f64> = SECONDS;
        /// Longest delay of a wake-up from sleep, ns; absent if it never slept.
        #[serde(skip_serializing_if = "Option::is_none")]
        overslept_max_ns: Option<u64> = NANOS;
    }
}
