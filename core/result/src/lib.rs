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
mod bgp;
mod commands;
mod dhcp;
mod document;
mod isis;
mod lacp;
mod lldp;
pub mod merge;
mod multicast;
mod ospf;
mod overall;
mod port;
mod pppoe;
mod session;
mod standing;
mod states;
mod stream;
mod trial;
mod vrrp;

pub use bgp::{AsPathPart, BgpPeerState, BgpResult, BgpRouteState, GracefulRestartState};
pub use commands::{NewProtocolChange, ProtocolAction};
pub use dhcp::{DhcpClientState, DhcpResult, Dhcpv6ClientState, Dhcpv6Result};
pub use document::{IntervalDocument, ResultDocument, TotalDocument};
pub use isis::{IsisLevelCounts, IsisLspState, IsisNeighbourState, IsisResult, IsisRouterState};
pub use lacp::{LacpEndResult, LacpPortState, LacpResult};
pub use lldp::{LldpNeighbourResult, LldpPortState, LldpResult, LldpTlvResult};
pub use multicast::{GroupState, MulticastResult};
pub use numbers::{Counters, Field, Key, Named, Numbers, Presence, Segment, Series, Unit, fields};
pub use ospf::{OspfLsaCounts, OspfLsaState, OspfPacketCounts, OspfResult, OspfRouterState};
pub use overall::Overall;
pub use port::{KernelRxResult, NeighbourMoveResult, PortResult, StampsResult};
pub use pppoe::{PppoeClientState, PppoeResult};
pub use session::{
    AltSvcResult, CompressionResult, CookieResult, DNS_CODES, DNS_EXTRA, GrpcResult, HTTP_CLASSES,
    Http2Result, Http3Result, PartResult, PhaseResult, QuicResult, RedirectResult, SessionResult,
    SideDetails, SideResult, TlsResult, WebsocketResult,
};
pub use standing::{Doubt, Standing};
pub use states::{ProtocolCounts, ProtocolStates};
pub use stream::{
    BY_MARK, DAMAGE, DamageResult, DamagedPlace, EgressResult, JitterResult, LatencyResult, OutageResult,
    OutagesResult, PacingResult, PathResult, ReplayResult, SpreadResult, StreamResult, UndisturbedResult,
};
pub use trial::{
    AchievedPart, AchievedResult, AgentResult, CaptureResult, ClockResult, CoreMove, CriterionResult,
    HoldsResult, LossResult, MachineResult, Meaning, Outcome, OverallResult, ProcessUsage, ProtocolResult,
    RateChange, SimResult, Verdict, WorkerResult,
};
pub use vrrp::{VrrpChangeResult, VrrpResult, VrrpRouterResult, VrrpRouterState};

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};

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

fn written<T: JsonSchema>() -> serde_json::Value {
    schema_settings().into_generator().into_root_schema_for::<T>().to_value()
}

/// JSON Schema of the result document.
pub fn schema() -> serde_json::Value {
    written::<ResultDocument>()
}

/// JSON Schema of the interval document.
pub fn interval_schema() -> serde_json::Value {
    written::<IntervalDocument>()
}
