//! Documents with the results of a trial: the result, its intervals, and the totals of a running trial.
//!
//! A field is defined once, in its struct: name, type, unit, presence and meaning. JSON, JSON Schema and the catalogue
//! of numbers ([`Numbers`]) are derived from it. Not here: constructors. `engine` builds documents from counters;
//! readers deserialize them.
//!
//! Absent means not measured; zero means measured and zero. Byte counts include the FCS. Rates are over the time traffic
//! was sent. A document of an older version may lack fields: they read as absent, or as zero where a field is always
//! present today.
//!
//! Separate because criteria of profiles name these numbers, and many crates read results without knowing the engine.
//! Findings are types of `methods`.

#![forbid(unsafe_code)]

#[macro_use]
mod numbers;
#[macro_use]
mod protocols;
mod commands;
mod document;
pub mod merge;
mod overall;
mod port;
mod session;
mod standing;
mod stream;
mod trial;

pub use commands::{NewProtocolChange, ProtocolAction};
pub use document::{IntervalDocument, ResultDocument, TotalDocument};
pub use numbers::{Counters, Field, Key, Named, Numbers, Presence, Segment, Series, Unit, fields};
pub use overall::Overall;
pub use port::{KernelRxResult, NeighbourMoveResult, PortResult, StampsResult};
pub use protocols::*;
pub use session::{
    AltSvcResult, CompressionResult, CookieResult, DNS_CODES, DNS_EXTRA, GrpcResult, HTTP_CLASSES,
    Http2Result, Http3Result, PartResult, PhaseResult, QuicResult, RedirectResult, SessionResult,
    SideDetails, SideResult, StampResult, TlsResult, WebsocketResult,
};
pub use standing::{Doubt, Standing};
pub use stream::{
    BY_MARK, DAMAGE, DamageResult, DamagedPlace, EgressResult, JitterResult, LatencyResult, OutageResult,
    OutagesResult, PacingResult, PathResult, ReplayResult, SpreadResult, StreamResult, UndisturbedResult,
};
pub use trial::{
    AchievedPart, AchievedResult, AgentResult, CaptureResult, ClearedResult, ClockResult, CoreMove,
    CriterionResult, HoldsResult, LossResult, MachineResult, Meaning, Outcome, OverallResult, ProcessUsage,
    ProtocolResult, RateChange, SimResult, Verdict, WorkerResult,
};

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;

/// Name of the result document's format.
pub const SCHEMA: &str = "eagre.result/1";
/// Name of the interval document's format.
pub const INTERVAL_SCHEMA: &str = "eagre.interval/1";

/// Settings for the JSON Schema of a document as this version writes it: only what it may leave out is optional.
pub fn schema_settings() -> SchemaSettings {
    // A reader fills in what an older document lacks; a writer leaves out nothing but what is not measured.
    let without_default = |schema: &mut Schema| {
        schema.remove("default");
    };
    SchemaSettings::default().for_serialize().with_transform(RecursiveTransform(without_default))
}

/// Reads a document of this crate from a JSON value. It goes through its text: documents are large, and so the program has one reader
/// of them and not another for values.
///
/// # Errors
/// It is no such document.
pub fn read<T: DeserializeOwned>(value: &serde_json::Value) -> serde_json::Result<T> {
    serde_json::from_slice(&serde_json::to_vec(value)?)
}

/// JSON Schema of a document as this version writes it.
pub fn schema_of<T: JsonSchema>() -> serde_json::Value {
    schema_settings().into_generator().into_root_schema_for::<T>().to_value()
}

/// JSON Schema of the result document, as JSON. The test `catalogue` writes it from the types: a program that has the file needs
/// nothing that makes schemas.
pub const RESULT_SCHEMA_TEXT: &str = include_str!("../result.schema.json");
/// JSON Schema of the interval document, as [`RESULT_SCHEMA_TEXT`].
pub const INTERVAL_SCHEMA_TEXT: &str = include_str!("../interval.schema.json");
