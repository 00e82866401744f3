//! The documents themselves.

use crate::{
    AchievedResult, AgentResult, CaptureResult, ClearedResult, ClockResult, CriterionResult, LatencyResult,
    LossResult, MachineResult, Named, OverallResult, PortResult, ProtocolResult, RateChange, SessionResult,
    SimResult, StreamResult, Verdict, WorkerResult,
};
use std::borrow::Cow;

part! {
    /// Result of a trial.
    pub struct ResultDocument {
        /// `eagre.result/1`.
        schema: Cow<'static, str> = TEXT;
        /// Version of the program.
        version: Cow<'static, str> = TEXT;
        /// Seed of everything random.
        seed: u64 = COUNT;
        /// SHA-256 of the profile's text.
        profile_sha256: String = TEXT;
        /// When traffic started (RFC 3339); a simulated trial has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        started: Option<String> = TEXT;
        /// Duration of traffic, s.
        duration_s: f64 = SECONDS;
        /// Whether it was stopped before its end.
        interrupted: bool = FLAG;
        /// Why a part of the tester failed and ended the run; the numbers are what was counted until then.
        #[serde(skip_serializing_if = "Option::is_none")]
        failure: Option<String> = TEXT;
        /// The clock that stamped the packets.
        clock: ClockResult = PART;
        /// `software`, `hardware-rx`, `hardware`, or `simulated`.
        timestamp_class: Cow<'static, str> = TEXT;
        /// The tester's own share of a latency, measured on an in-process link before the trial.
        #[serde(skip_serializing_if = "Option::is_none")]
        self_latency_ns: Option<LatencyResult> = PART;
        /// Whether the result can be trusted.
        verdict: Verdict = PART;
        /// Share of the requested load that succeeded. Independent of `verdict`.
        #[serde(skip_serializing_if = "Option::is_none")]
        achieved: Option<AchievedResult> = PART.judged();
        /// Outcome of the run as a whole. Decides the exit code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        overall: Option<OverallResult> = PART.judged();
        /// Counts of the simulated links and device in a simulated trial.
        #[serde(skip_serializing_if = "Option::is_none")]
        sim: Option<SimResult> = PART;
        /// Load on the tester's machine from other processes; absent in a simulated trial.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        machine: Option<MachineResult> = PART;
        /// Since when the numbers count, if counters were set to zero during the trial.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cleared: Option<ClearedResult> = PART;
        /// Rate changes during the trial, in order. `requested_pps` keeps the profile's value.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        rate_changes: Vec<RateChange> = PART;
        /// Execution of varying fields: `compiled`, or `interpreted` (much slower) where the system forbids generated
        /// machine code. Absent if nothing varied.
        #[serde(skip_serializing_if = "Option::is_none")]
        field_programs: Option<Cow<'static, str>> = TEXT;
        /// Captures by port.
        #[serde(skip_serializing_if = "Named::is_empty")]
        captures: Named<CaptureResult> = PART.by(&[Key::Port]);
        /// Programs that ran control protocols, in the order of the profile.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        protocols: Vec<ProtocolResult> = PART;
        /// The criteria of the profile.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        criteria: Vec<CriterionResult> = PART.judged();
        /// Ports by name.
        ports: Named<PortResult> = PART.by(&[Key::Port]);
        /// Streams by name.
        streams: Named<StreamResult> = PART.by(&[Key::Stream]);
        /// Sums of streams by group and row, as defined under `groups` of the profile.
        #[serde(skip_serializing_if = "Named::is_empty")]
        groups: Named<Named<StreamResult>> = PART.by(&[Key::Group, Key::Row]);
        /// Sessions by name of the entry under `sessions` of the profile.
        #[serde(skip_serializing_if = "Named::is_empty")]
        sessions: Named<SessionResult> = PART.by(&[Key::Sessions]);
        /// Workers, one for each core.
        workers: Vec<WorkerResult> = PART;
        /// Machines of a run on several, in the order of their workers; absent in a run on one.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        agents: Vec<AgentResult> = PART;
    }
}

impl ResultDocument {
    /// Why captures are not whole, a line for each: what the disk refused. `None` if all are.
    pub fn lost_captures(&self) -> Option<String> {
        let lost = self.captures.iter().filter_map(|(port, capture)| Some((port, capture.error.as_ref()?)));
        let lost: Vec<String> = lost.map(|(port, error)| format!("capture on {port}: {error}")).collect();
        (!lost.is_empty()).then(|| lost.join("\n"))
    }

    /// Time that counts and rates cover, s: all traffic, or since counters were set to zero.
    pub fn counted_s(&self) -> f64 {
        self.cleared.as_ref().map_or(self.duration_s, |cleared| cleared.counted_s)
    }

    /// Which machines were lost while the run continued on the others, and when; `None` if none was.
    pub fn incomplete(&self) -> Option<String> {
        let losses: Vec<String> =
            self.agents.iter().filter_map(|agent| agent.lost.as_ref()).map(LossResult::sentence).collect();
        (!losses.is_empty()).then(|| format!("incomplete: {}", losses.join("; ")))
    }
}

part! {
    /// Counts since the previous interval: one line of a `--jsonl` file.
    pub struct IntervalDocument {
        /// `eagre.interval/1`.
        schema: Cow<'static, str> = TEXT;
        /// End of the interval, s since traffic started.
        at_s: f64 = SECONDS;
        /// Its length, s.
        interval_s: f64 = SECONDS;
        /// Whether sending is over and the tester waits for late packets.
        draining: bool = FLAG;
        /// Disturbances of the tester in this interval: a stalled worker, packets sent back to back.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        disturbances: Vec<String> = TEXT;
        /// Machines of a run on several whose counts of this time are in the next interval.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        late: Vec<String> = TEXT;
        /// Ports by name.
        ports: Named<PortResult> = PART.by(&[Key::Port]);
        /// Streams by name. `lost` is absent: packets in flight at the end of an interval are not lost.
        streams: Named<StreamResult> = PART.by(&[Key::Stream]);
        /// Streams added up, instead of `streams`: the store keeps no rows of each for runs with many.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        all_streams: Option<StreamResult> = PART;
        /// Sums of streams by group and row, as defined under `groups` of the profile.
        #[serde(skip_serializing_if = "Named::is_empty")]
        groups: Named<Named<StreamResult>> = PART.by(&[Key::Group, Key::Row]);
        /// Sessions by name of the entry under `sessions` of the profile.
        #[serde(skip_serializing_if = "Named::is_empty")]
        sessions: Named<SessionResult> = PART.by(&[Key::Sessions]);
    }
}

part! {
    /// Counts since the start of a running trial, or since counters were set to zero.
    pub struct TotalDocument {
        /// Since when they count, if counters were set to zero.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cleared: Option<ClearedResult> = PART;
        /// Ports by name.
        ports: Named<PortResult> = PART.by(&[Key::Port]);
        /// Streams by name. `lost` includes packets in flight.
        streams: Named<StreamResult> = PART.by(&[Key::Stream]);
        /// Sums of streams by group and row.
        #[serde(skip_serializing_if = "Named::is_empty")]
        groups: Named<Named<StreamResult>> = PART.by(&[Key::Group, Key::Row]);
        /// Sessions by name of the entry under `sessions` of the profile.
        #[serde(skip_serializing_if = "Named::is_empty")]
        sessions: Named<SessionResult> = PART.by(&[Key::Sessions]);
    }
}
