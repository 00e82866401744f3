//! The documents themselves.

use crate::{
    CaptureResult, ClockResult, CriterionResult, LatencyResult, Named, PortResult, RateChange, SessionResult,
    SimResult, StreamResult, Verdict, WorkerResult,
};
use std::borrow::Cow;

part! {
    /// What a trial found.
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
        /// How long traffic was sent, s.
        duration_s: f64 = SECONDS;
        /// Whether it was stopped before its end.
        interrupted: bool = FLAG;
        /// The clock that stamped the packets.
        clock: ClockResult = PART;
        /// `software`, `hardware-rx`, `hardware`, or `simulated`.
        timestamp_class: Cow<'static, str> = TEXT;
        /// What the tester itself adds to a latency, measured on an in-process link before the trial.
        #[serde(skip_serializing_if = "Option::is_none")]
        self_latency_ns: Option<LatencyResult> = PART;
        /// Whether to believe it.
        verdict: Verdict = PART;
        /// What really happened to frames in a simulated trial.
        #[serde(skip_serializing_if = "Option::is_none")]
        sim: Option<SimResult> = PART;
        /// Changes of rates while it ran, in their order. `requested_pps` is what the profile says.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        rate_changes: Vec<RateChange> = PART;
        /// How varying fields were written: `compiled`, or `interpreted`, much slower, where the system lets no program make
        /// machine code. Absent if nothing varied.
        #[serde(skip_serializing_if = "Option::is_none")]
        field_programs: Option<Cow<'static, str>> = TEXT;
        /// Captures by port name.
        #[serde(skip_serializing_if = "Named::is_empty")]
        captures: Named<CaptureResult> = PART.by(&[Key::Port]);
        /// Conditions the profile set.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        criteria: Vec<CriterionResult> = PART;
        /// By port name.
        ports: Named<PortResult> = PART.by(&[Key::Port]);
        /// By stream name.
        streams: Named<StreamResult> = PART.by(&[Key::Stream]);
        /// By group and row: streams added up, as the profile's 'groups' say.
        #[serde(skip_serializing_if = "Named::is_empty")]
        groups: Named<Named<StreamResult>> = PART.by(&[Key::Group, Key::Row]);
        /// By name of the profile's entry under 'sessions'.
        #[serde(skip_serializing_if = "Named::is_empty")]
        sessions: Named<SessionResult> = PART.by(&[Key::Sessions]);
        /// The cores that did the work.
        workers: Vec<WorkerResult> = PART;
    }
}

part! {
    /// What happened since the last look: one line of a `--jsonl` file.
    pub struct IntervalDocument {
        /// `eagre.interval/1`.
        schema: Cow<'static, str> = TEXT;
        /// End of the interval, s since traffic started.
        at_s: f64 = SECONDS;
        /// Its length, s.
        interval_s: f64 = SECONDS;
        /// Whether sending is over and late packets are waited for.
        draining: bool = FLAG;
        /// By port name.
        ports: Named<PortResult> = PART.by(&[Key::Port]);
        /// By stream name. `lost` is absent: what is under way at the end of an interval is not lost.
        streams: Named<StreamResult> = PART.by(&[Key::Stream]);
        /// By group and row: streams added up, as the profile's 'groups' say.
        #[serde(skip_serializing_if = "Named::is_empty")]
        groups: Named<Named<StreamResult>> = PART.by(&[Key::Group, Key::Row]);
        /// By name of the profile's entry under 'sessions'.
        #[serde(skip_serializing_if = "Named::is_empty")]
        sessions: Named<SessionResult> = PART.by(&[Key::Sessions]);
    }
}

part! {
    /// What happened since the start, while it runs.
    pub struct TotalDocument {
        /// By port name.
        ports: Named<PortResult> = PART.by(&[Key::Port]);
        /// By stream name. `lost` is what was sent and has not arrived.
        streams: Named<StreamResult> = PART.by(&[Key::Stream]);
        /// By group and row.
        #[serde(skip_serializing_if = "Named::is_empty")]
        groups: Named<Named<StreamResult>> = PART.by(&[Key::Group, Key::Row]);
        /// By name of the profile's entry under 'sessions'.
        #[serde(skip_serializing_if = "Named::is_empty")]
        sessions: Named<SessionResult> = PART.by(&[Key::Sessions]);
    }
}
